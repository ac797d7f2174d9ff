"""Anomaly mode and the search for the first value that is not finite."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import gradcli as torch
from gradcli.autograd import Function, detect_anomaly, set_detect_anomaly
from gradcli.engine.backward.anomaly import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    place_of,
)
from gradcli.engine.backward.nan_search import first_nonfinite, first_nonfinite_gradient
from gradcli.ops.errors import Fault

pytestmark = pytest.mark.filterwarnings(
    "ignore:Anomaly Detection", "ignore:(?s).*Error detected in"
)
inf, nan = float("inf"), float("nan")


def leaf(data):
    return torch.tensor(data, requires_grad=True)


def test_the_first_nan_is_named_with_its_place():
    x = leaf([4.0, 0.0])
    with detect_anomaly():
        line = inspect.currentframe().f_lineno + 1
        y = torch.sqrt(x)
        with pytest.raises(RuntimeError) as fault:
            (y * 0).sum().backward()
    assert fault.value.code == "E0501"
    assert fault.value.message == (
        "Function 'SqrtBackward0' returned nan values in its 0th output."
    )
    code, found = fault.value.place
    assert (code.co_filename, found) == (__file__, line)
    assert fault.value.notes == (
        f"the forward call of SqrtBackward0 is in {__file__}, line {line}",
    )
    assert x.grad is None


def test_warnings_tell_of_the_forward_calls():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return torch.sqrt(g * 0) * 2

    x = leaf([1.0])
    outside = torch.sqrt(x * 0)
    with pytest.warns(UserWarning) as told, pytest.raises(RuntimeError), detect_anomaly():
        (outside * 0).sum().backward()
    assert ["No forward pass information" in str(w.message) for w in told] == [False, True]
    with pytest.warns(UserWarning) as told, pytest.raises(RuntimeError), detect_anomaly():
        (g,) = torch.autograd.grad(Twice.apply(x * 1).sum(), x, leaf(1.0), create_graph=True)
        (g * 0).sum().backward()
    said = [str(w.message) for w in told]
    assert said[0].startswith("Anomaly Detection has been enabled.")
    assert "Error detected in SqrtBackward0" in said[1] and "sqrt(g * 0)" in said[1]
    assert "Previous calculation was induced by TwiceBackward" in said[2]
    assert "Twice.apply(x * 1)" in said[2]


def _raises(*gone):
    raise ValueError("no")


def _turns_to_nan(inputs, outputs):
    return tuple(None if g is None else g * nan for g in inputs)


@pytest.mark.parametrize(("register", "named"), [
    (lambda x, y: x.register_hook(_raises), "AccumulateGrad"),
    (lambda x, y: x.register_post_accumulate_grad_hook(_raises), "AccumulateGrad"),
    (lambda x, y: y.grad_fn.next_functions[0][0].register_prehook(_raises), "AccumulateGrad"),
    (lambda x, y: y.register_hook(_raises), "ExpBackward0"),
    (lambda x, y: y.register_hook(lambda g: torch.ones(7)), "ExpBackward0"),
    (lambda x, y: y.grad_fn.register_hook(_raises), "ExpBackward0"),
    (lambda x, y: y.grad_fn.register_prehook(_raises), "ExpBackward0"),
    (lambda x, y: y.grad_fn.register_hook(_turns_to_nan), "ExpBackward0"),
])  # fmt: skip
def test_hooks_are_looked_at_with_the_node_that_they_belong_to(register, named):
    x = leaf([1.0])
    with pytest.warns(UserWarning) as told, detect_anomaly():
        y = x.exp()
        register(x, y)
        with pytest.raises((ValueError, RuntimeError)):
            (y * 3).sum().backward()
    assert [named in str(w.message) for w in told] == [False, True]


def test_a_pass_inside_another_is_told_of_with_the_outer_one():
    class Starts(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                inner = leaf([0.0])
                inner.exp().sum().backward()  # which ends, and leaves the outer one running
                (inner.log() * 0).sum().backward()
            return g

    with pytest.warns(UserWarning) as told, detect_anomaly(), pytest.raises(RuntimeError) as raised:
        Starts.apply(leaf([1.0])).sum().backward()
    names = ["Anomaly Detection", "LogBackward", "induced by StartsBackward", "StartsBackward"]
    for said, name in zip(told, names, strict=True):
        assert name in str(said.message)
    assert "log" in inspect.getsource(raised.value.place[0])


def test_where_warnings_are_errors_the_fault_says_it():
    class Refusing(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ValueError("no")

    for made in (lambda x: Refusing.apply(x), lambda x: torch.sqrt(x * 0) * 0):
        with detect_anomaly(), warnings.catch_warnings():
            warnings.filterwarnings("error", "Error detected in")
            with pytest.raises((ValueError, RuntimeError)) as raised:
                made(leaf([1.0])).sum().backward()
        assert "Error detected in" in raised.value.__notes__[0]


def test_an_infinity_is_no_nan():
    x = leaf([0.0])
    with detect_anomaly():
        torch.sqrt(x).sum().backward()
    assert x.grad.tolist() == [inf]


def test_which_output():
    x, y = leaf([1.0]), leaf([0.0])
    with detect_anomaly(), pytest.raises(RuntimeError, match="nan values in its 1th output"):
        (x * (y / y) * 0 + torch.pow(torch.tensor([2.0]), y / y)).sum().backward()


def test_places_are_noted_only_while_the_mode_is_on():
    x = leaf([1.0])
    assert place_of((x * 2).grad_fn) is None
    with detect_anomaly():
        for made in (x * 2, x * x, torch.sin(x), x.sum(), x.reshape(1, 1)):
            assert place_of(made.grad_fn)[0] is inspect.currentframe().f_code
    assert place_of((x * 2).grad_fn) is None


def test_a_program_of_the_language_keeps_its_own_line_numbers():
    scope = {"torch": torch, "x": leaf([0.0])}
    source = "\n" * 6 + "y = (torch.sqrt(x) * 0).sum()\ny.backward()\n"
    with detect_anomaly(), pytest.raises(RuntimeError) as fault:
        exec(compile(source, "<gradcli program>", "exec"), scope)
    code, line = fault.value.place
    assert (code.co_filename, line) == ("<gradcli program>", 7)
    assert fault.value.notes == ()


def test_other_errors_of_backward_have_the_place_too():
    x = leaf([1.0])
    with detect_anomaly(check_nan=False):
        y = x * 1
        z = torch.sin(y)
        line = inspect.currentframe().f_lineno - 1
        y.add_(1)
        with pytest.raises(Fault) as fault:
            z.sum().backward()
    assert fault.value.code == "E0402"
    assert fault.value.place[1] == line


def test_custom_functions_are_looked_at():
    class Bad(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * nan

    with detect_anomaly(), pytest.raises(RuntimeError, match="'BadBackward' returned nan"):
        Bad.apply(leaf([1.0])).sum().backward()


def test_the_switch():
    assert not is_anomaly_enabled() and is_anomaly_check_nan_enabled()
    set_detect_anomaly(True)
    assert is_anomaly_enabled()
    assert is_anomaly_check_nan_enabled()
    set_detect_anomaly(False)
    assert not is_anomaly_enabled()
    with set_detect_anomaly(True, check_nan=False):
        assert is_anomaly_enabled()
        assert not is_anomaly_check_nan_enabled()
        with detect_anomaly():
            assert is_anomaly_check_nan_enabled()
        assert not is_anomaly_check_nan_enabled()
    assert not is_anomaly_enabled()


def test_the_first_on_the_way_forward():
    x = leaf([[1.0, 4.0], [0.0, -1.0]])
    y = (torch.log(x) * 3 + 1).sum()
    found = first_nonfinite(y)
    assert found.operator == "log"
    assert found.index == (1, 0)
    assert found.value == -inf
    assert (found.count, found.size) == (2, 4)
    assert found.operands == (0.0,)
    assert found.input is None
    assert first_nonfinite((x * x).sum()) is None
    assert first_nonfinite(torch.tensor(nan)) is None


SEVERAL = (
    "torch.aminmax(x / 0)[0]", "torch.var_mean(x.log())[0]", "torch.std_mean(x.log())[1]",
    "torch.slogdet(x.outer(x) / 0)[1]", "torch.frexp(x / 0)[0].sum()", "x.log().max(0)[0]",
    "x.log().sort()[0].sum()", "x.log().split(1)[0].sum()", "x.log().unbind()[0]", "Twice(x)[1]",
)  # fmt: skip


class Twice(Function):
    """Two results, one of them not finite."""

    @staticmethod
    def forward(ctx, x):
        return x * 2, x.log().sum()

    @staticmethod
    def backward(ctx, g, h):
        return g * 2


@pytest.mark.parametrize("text", SEVERAL)
def test_one_of_several_results_is_followed(text):
    x = leaf([-1.0, 2.0])
    found = first_nonfinite(eval(text, {"torch": torch, "x": x, "Twice": Twice.apply}))
    assert found.reaches and not np.isfinite(found.value)
    assert found.operator in ("log", "div", "output")


def test_operands_of_two_and_of_numbers():
    x, y = leaf([1.0, 0.0]), leaf([2.0, 0.0])
    found = first_nonfinite((x / y).sum())
    assert np.isnan(found.value)
    assert found.operands == (0.0, 0.0)
    assert first_nonfinite((1 / x).sum()).index == (1,)
    z = leaf([1.0, nan])
    given = first_nonfinite(z * 2)
    assert (given.operator, given.index) == ("leaf", (1,))


def test_a_value_that_was_not_kept_is_computed_again():
    x = leaf([1.0, 800.0])
    found = first_nonfinite(((x * 1).exp() + 1).sum())
    assert found.operator == "exp"
    assert found.operands == (800.0,)
    assert found.value == inf


def test_the_first_on_the_way_back():
    x = leaf([4.0, 0.0])
    y = (torch.sqrt(x) * 3).sum()
    found = first_nonfinite_gradient(y)
    assert (found.operator, found.value, found.index) == ("sqrt", inf, (1,))
    assert found.operands == (0.0,)
    assert found.cotangent == 3.0
    assert found.input == 0
    assert x.grad is None
    y.backward()  # the graph is still there
    assert first_nonfinite_gradient((x * x).sum()) is None
    assert first_nonfinite_gradient(torch.ones(1)) is None


def test_places_reach_the_findings():
    x = leaf([0.0])
    with detect_anomaly():
        y = torch.log(x)
    assert first_nonfinite(y).place == place_of(y.grad_fn)
    assert first_nonfinite_gradient(y).place == place_of(y.grad_fn)


def test_where_warnings_are_errors_the_operation_is_named_on_stderr(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with detect_anomaly():
            warnings.simplefilter("error")
            x = torch.zeros(1, requires_grad=True)
            with pytest.raises(RuntimeError, match="nan values"):
                (x**0.5 * 0).backward()
    assert "UserWarning: Error detected in PowBackward0" in capsys.readouterr().err
