"""Every transform with every operator of the table: the ways to one derivative agree.

jvp is the vjp read forwards        vmap is a stack of single calls
jacfwd is jacrev                    hessian is jacfwd of jacrev, and jacrev of jacrev
vmap(grad) is a stack of grads      grad through vmap is the grad of the sum of single calls
jvp under vmap is a stack of jvps   vmap under jvp too
"""

from __future__ import annotations

import numpy as np
import pytest

import gradcli as torch
from gradcli import func
from gradcli.ops import OPERATORS
from gradcli.ops.errors import Fault
from tests.ops.rows import weights
from tests.ops.table import ROWS
from tests.support.families import family


def first_real(row):
    """The first small case of real numbers, with its parameters; None where there is none."""
    for place, case in enumerate(row.cases):
        arrays = row.arguments(place)
        shapes = [a.size for i, a in enumerate(arrays) if i in row.wrt and hasattr(a, "size")]
        real = not any(np.iscomplexobj(a) for a in arrays) and "complex" not in str(case.params)
        if real and shapes and 0 < max(shapes) <= 30 and min(shapes) > 0:
            return place
    return None


NAMES = [
    name
    for name, row in ROWS.items()
    if row.wrt and first_real(row) is not None and "complex" not in row.result
]


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


class Setting:
    """One operator at one point: ``whole`` of its inputs, and ``loss``, a number of them."""

    def __init__(self, name):
        row = ROWS[name]
        place = first_real(row)
        arrays = row.arguments(place)
        params = row.cases[place].params
        self.wrt = [i for i in row.wrt if isinstance(arrays[i], np.ndarray)]
        self.points = tuple(torch.tensor(arrays[i]) for i in self.wrt)

        def whole(*values):
            full = [torch.tensor(a) if isinstance(a, np.ndarray) else a for a in arrays]
            for i, value in zip(self.wrt, values, strict=True):
                full[i] = value
            return OPERATORS[name](*full, **params)

        self.whole = whole
        out = whole(*self.points)
        self.weights = torch.tensor(weights(out.shape, 0).astype(out.dtype.numpy))
        self.loss = lambda *values: (whole(*values) * self.weights).sum()
        self.along = tuple(torch.tensor(weights(p.shape, 3 + i)) for i, p in enumerate(self.points))
        self.stacks = tuple(torch.stack([p, p * 1.01]) for p in self.points)
        self.argnums = tuple(range(len(self.points)))

    def at(self, i):
        return tuple(s[i] for s in self.stacks)


def flat(tree):
    """The numbers of a nested result in one array."""
    if isinstance(tree, tuple | list):
        return np.concatenate([flat(t) for t in tree]) if tree else np.zeros(0)
    return np.asarray(tree.detach().numpy()).reshape(-1)


def agree(one, other, rtol=1e-9):
    one, other = flat(one), flat(other)
    size = np.max(np.abs(other[np.isfinite(other)]), initial=1e-3)
    np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * size)


def stacked(results):
    return [flat(r) for r in results]


@family("name", NAMES)
def test_jvp_is_vjp_read_forwards(name):
    s = Setting(name)
    value, tangent = func.jvp(s.whole, s.points, s.along)
    out, pull = func.vjp(s.whole, *s.points)
    agree(value, out, 1e-14)
    agree(func.linearize(s.whole, *s.points)[1](*s.along), tangent)
    product = sum((g * t).sum() for g, t in zip(pull(s.weights), s.along, strict=True))
    agree((tangent * s.weights).sum(), product)


@family("name", NAMES)
def test_jacobians_and_hessians_agree(name):
    s = Setting(name)
    agree(func.jacfwd(s.whole, s.argnums)(*s.points), func.jacrev(s.whole, s.argnums)(*s.points))
    hessian = func.hessian(s.loss, s.argnums)(*s.points)
    reverse = func.jacrev(func.jacrev(s.loss, s.argnums), s.argnums)(*s.points)
    agree(hessian, reverse, 1e-8)
    forward = func.jacfwd(func.jacfwd(s.loss, s.argnums), s.argnums)(*s.points)
    agree(forward, reverse, 1e-8)


@family("name", NAMES)
def test_vmap_is_a_stack_of_single_calls(name):
    s = Setting(name)
    mapped = func.vmap(s.whole)(*s.stacks)
    agree(mapped, [s.whole(*s.at(i)) for i in range(2)], 1e-12)
    moved = func.vmap(s.whole, in_dims=-1, out_dims=-1)(*(x.movedim(0, -1) for x in s.stacks))
    agree(moved.movedim(-1, 0), mapped, 1e-12)


@family("name", NAMES)
def test_grad_and_vmap_go_in_any_order(name):
    s = Setting(name)
    grad = func.grad(s.loss, s.argnums)
    inside = func.vmap(grad)(*s.stacks)
    for k in range(len(s.points)):
        agree(inside[k], [grad(*s.at(i))[k] for i in range(2)])
    outside = func.grad(lambda *x: func.vmap(s.loss)(*x).sum(), s.argnums)(*s.stacks)
    agree(outside, inside)


@family("name", NAMES)
def test_jvp_and_vmap_go_in_any_order(name):
    s = Setting(name)
    along = tuple(torch.stack([t, t * -0.5]) for t in s.along)

    def pushed(*values):
        half = len(values) // 2
        return func.jvp(s.whole, values[:half], values[half:])[1]

    single = [pushed(*s.at(i), *(t[i] for t in along)) for i in range(2)]
    agree(func.vmap(pushed)(*s.stacks, *along), single)
    agree(func.jvp(func.vmap(s.whole), s.stacks, along)[1], single)


@family("name", NAMES)
def test_second_derivatives_under_vmap(name):
    s = Setting(name)
    hessian = func.hessian(s.loss)
    mapped = func.vmap(lambda *x: hessian(*x))(*s.stacks)
    agree(mapped, [hessian(*s.at(i)) for i in range(2)], 1e-8)


TYPES = (torch.bool, torch.int64, torch.float16, torch.float32)
MIXED = [o for o in OPERATORS.values() if o.kind == "elementwise" and o.arity == 2 and any(o.rules)]


@pytest.mark.parametrize("op", MIXED, ids=lambda op: op.name)
def test_forward_meets_operands_of_other_types_as_reverse_does(op):
    """No digit is lost to the type of the other operand, and no truth refused that answers."""
    x = torch.tensor([0.7, 0.4], dtype=torch.float64)
    for dtype in TYPES:
        other = torch.tensor([0.9, 1.3]).to(dtype)
        for function in (lambda x, o=other: op(x, o), lambda x, o=other: op(o, x)):
            leaf = x.clone().requires_grad_()
            try:
                (want,) = torch.autograd.grad(function(leaf).sum(), leaf)
            except Fault:
                continue
            found = func.jvp(function, (x,), (torch.ones_like(x),))[1]
            np.testing.assert_allclose(found, want, rtol=1e-12, err_msg=f"{dtype}")


def mixed(array, seed):
    """Copies of an array, all but the first with numbers that operators take by themselves."""
    rng = np.random.default_rng(seed)
    found = [array]
    for number in (0.0, np.inf, np.nan, 1e17):
        whole, one = np.full_like(array, number), array.copy()
        one.flat[rng.integers(one.size)] = number
        found += [whole, one]
    tied = np.full_like(array, array.flat[0])
    return [*found, tied, -array]


@family("name", NAMES)
def test_an_element_of_a_batch_does_not_depend_on_others(name):
    s = Setting(name)
    grad = func.grad(s.loss, s.argnums)
    elements = list(zip(*(mixed(p.numpy(), i) for i, p in enumerate(s.points)), strict=True))
    for ask in (s.whole, grad, lambda *x: func.jvp(grad, x, s.along)[1]):
        known = []
        for element in elements:
            try:
                known.append((element, flat(ask(*map(torch.tensor, element)))))
            except Fault:
                continue  # a singular matrix
        stacks = [
            torch.tensor(np.stack(column)) for column in zip(*(e for e, _ in known), strict=True)
        ]
        try:
            found = func.vmap(ask)(*stacks)
        except Fault as fault:
            assert fault.code == "E0414", name  # its shape depends on the numbers
            continue
        parts = found if isinstance(found, tuple) else (found,)
        for i, (_, wanted) in enumerate(known):
            np.testing.assert_allclose(
                flat(tuple(part[i] for part in parts)), wanted, rtol=1e-9 if i else 1e-12,
                atol=1e-9 * np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0),
            )  # fmt: skip
