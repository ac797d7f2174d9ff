"""No derivative is made up: by every input and every number of every call, as differences give it.

A number in a call is made a variable: a leaf, a dual, a batch, a symbol. What is found is the
derivative, or an error; a zero or a missing graph where differences find a slope is the worst
fault.
"""

from __future__ import annotations

import ast
import itertools
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import gradcli
from gradcli.ops import OPERATORS
from gradcli.ops.errors import Fault
from gradcli.symbolic import diff
from tests.functions import function_table, parameters
from tests.ops.table import ROWS
from tests.support.families import family

VECTOR = np.array([0.7, -1.2, 0.35])
MATRIX = np.array([[0.5, -1.0, 0.3], [1.2, 0.4, -0.7], [0.2, 0.9, 1.4]])
CALLS = {
    **function_table.CALLS,
    **{
        text: SimpleNamespace(
            text=text, given={}, draws={"x": None, "m": None}, arrays=lambda: [VECTOR, MATRIX]
        )
        for text in parameters.CALLS
    },
}
# A clamp that PyTorch leaves out of the gradient, and a matrix that is symmetric by assumption.
CONVENTION = ("gaussian_nll", "eigh", "hermitian=True")


@pytest.fixture(autouse=True)
def double():
    gradcli.set_default_dtype(gradcli.float64)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    gradcli.set_default_dtype(gradcli.float32)


def total(out):
    out = next(v for v in out) if isinstance(out, tuple) else out
    return out.sum() if out.ndim else out


def by_leaf(f, v):
    x = gradcli.tensor(v, requires_grad=True)
    out = f(x)
    if not out.requires_grad:
        return 0.0
    return gradcli.autograd.grad(out, x, allow_unused=True, materialize_grads=True)[0].item()


def by_dual(f, v):
    return gradcli.func.jvp(f, (gradcli.tensor(v),), (gradcli.tensor(1.0),))[1].item()


def by_dual_of_leaf(f, v):
    return gradcli.func.grad(lambda x: gradcli.func.jvp(f, (x,), (x * 0 + 1.0,))[0])(
        gradcli.tensor(v)
    ).item()


def in_a_batch(f, v):
    return gradcli.func.vmap(gradcli.func.grad(f))(gradcli.tensor([v, v]))[0].item()


def in_a_batch_forward(f, v):
    def one(a):
        return gradcli.func.jvp(f, (a,), (gradcli.ones_like(a),))[1]

    return gradcli.func.vmap(one)(gradcli.tensor([v, v]))[0].item()


WAYS = (by_leaf, by_dual, by_dual_of_leaf, in_a_batch, in_a_batch_forward,
        lambda f, v: gradcli.func.jacfwd(f)(gradcli.tensor(v)).item())  # fmt: skip


def made_up(f, value, turn=None):
    """What is wrong of the derivative of f at a number: by a leaf, by a dual and by one of the
    other ways of asking for it, in turn, or by all of them.
    """
    try:
        ends = [float(np.asarray(total(f(value + h)).detach().numpy())) for h in (1e-5, -1e-5)]
    except (Fault, TypeError):
        return [], 0  # no number of that kind: a size, a dimension
    want = (ends[0] - ends[1]) / 2e-5
    if not abs(want) < 1e3:
        return [], 0  # a jump
    wrong, asked = [], 0
    for way in WAYS if turn is None else (*WAYS[:2], WAYS[2 + turn % 4]):
        try:
            got = way(lambda x: total(f(x)), value)
        except Fault:
            continue  # refused
        asked += 1
        if not np.isclose(got, want, rtol=1e-4, atol=1e-4):
            wrong.append((way.__name__, got, want))
    return wrong, asked


def variables(text):
    """The numbers of a call, each with the call in which it is ``p_``; none inside a tensor."""
    tree = ast.parse(text, mode="eval")
    new = [n for n in ast.walk(tree) if isinstance(n, ast.Call)
           and getattr(n.func, "attr", "") == "tensor"]  # fmt: skip
    hidden = {id(n) for call in new for n in ast.walk(call)}
    for node in ast.walk(tree):
        number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
        if number and id(node) not in hidden:
            start = text.encode()[: node.col_offset].decode()
            end = text.encode()[node.end_col_offset :].decode()
            yield float(node.value), f"{start}p_{end}"


TURNS = itertools.count()


@family("name", CALLS)
def test_no_call_makes_up_a_derivative(name):
    call = CALLS[name]
    if any(word in call.text for word in CONVENTION):
        pytest.skip("the gradient is a convention")
    scope = {
        "torch": gradcli, "F": gradcli.nn.functional,
        **{key: gradcli.tensor(np.asarray(v)) for key, v in call.given.items()},
        **{k: gradcli.tensor(a) for k, a in zip(call.draws, call.arrays(), strict=True)},
    }  # fmt: skip
    for value, text in variables(call.text):
        code = compile(text, "<call>", "eval")

        def f(x, code=code):
            gradcli.manual_seed(1)
            return eval(code, {**scope, "p_": x})

        wrong, _ = made_up(f, value, next(TURNS))
        assert not wrong, text


def test_no_operator_makes_up_a_derivative_by_a_parameter():
    asked = 0
    for row in ROWS.values():
        op, case = OPERATORS[row.name], row.cases[0]
        arrays = [gradcli.tensor(a) if isinstance(a, np.ndarray) else a for a in row.arguments(0)]
        for name, value in {**op.params, **case.params}.items():
            if type(value) in (int, float):

                def f(x, op=op, name=name, arrays=arrays, case=case):
                    return op(*arrays, **{**case.params, name: x})

                wrong, _ = made_up(f, float(value))
                assert not wrong, (row.name, name)
                asked += 1
    assert asked > 30


@family("name", [n for n, r in ROWS.items() if OPERATORS[n].kind != "constant"])
def test_no_operator_drops_an_input(name):
    """Every input, differentiated by or not in the table, has the slope of differences."""
    row, op = ROWS[name], OPERATORS[name]
    for place, case in enumerate(row.cases[:4]):
        arrays = row.arguments(place)
        floats = [i for i, a in enumerate(arrays) if isinstance(a, np.ndarray)
                  and a.dtype.kind == "f" and a.size]  # fmt: skip
        for i in floats:

            def f(x, i=i, arrays=arrays, case=case):
                given = [gradcli.tensor(a) if isinstance(a, np.ndarray) else a for a in arrays]
                given[i] = given[i] + x  # all entries move together
                return op(*given, **case.params)

            out = f(0.0)
            if out.dtype.kind < 2 or out.is_complex():
                continue
            wrong, _ = made_up(f, 0.0, next(TURNS))
            assert not wrong, (name, place, i)


@family("text", [
        "elu(x, a)", "leaky_relu(x, a)", "clamp(x, -a, a)", "polygamma(a, x)", "norm(x, a)",
        "zeta(a, x)", "gammainc(a, x)", "gammaincc(a, x)", "std(x, correction=a)", "logit(x, a)",
        "round(x, decimals=a)", "nan_to_num(x, a)", "addcmul(x, x, x, a)", "lerp(x, x*2, a)",
        "add(x, x, alpha=a)", "threshold(x, a, a)", "softplus(x, a)", "hardtanh(x, -a, a)",
        "pad(x, (1, 1), value=a)", "quantile(x, a)", "huber_loss(x, x*2, delta=a)",
    ],
)  # fmt: skip
def test_symbols_as_parameters(text):
    """A closed form by a parameter is right, checked by differences, or there is none."""
    try:
        found = diff(text, "a", declared={"x": "vector:n", "a": "scalar"})
    except Fault:
        return
    assert found.checked["max_rel_error"] <= 1e-8
    assert found.text != "0"
