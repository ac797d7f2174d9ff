"""Every operator over an array that refuses what CuPy refuses: forward, backward and second order.

``NOT_YET`` is the whole list of what does not run there, with the reason. It may only shrink: an
entry that works fails the run too.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradcli
from gradcli.engine import wrap
from gradcli.engine.dtypes import dtype_of
from gradcli.ops import OPERATORS
from tests.ops.rows import weights
from tests.ops.table import ROWS
from tests.support.families import family
from tests.support.strict_array import StrictArray

NOT_YET: dict[str, str] = dict.fromkeys(("eig_parts", "eigvals"), "CuPy has no eig")


def strict(array):
    return wrap(StrictArray(array), dtype_of(array))


def plain(array):
    return array.get() if isinstance(array, StrictArray) else np.asarray(array)


def on_device(value):
    """Index arrays among the parameters live where the tensor lives."""
    if isinstance(value, np.ndarray):
        return StrictArray(value)
    if isinstance(value, tuple):
        return tuple(on_device(v) for v in value)
    return value


def outcome(name, place, make, move=lambda value: value):
    """Value, gradients and second derivatives of one case, as plain arrays."""
    row = ROWS[name]
    arrays = row.arguments(place)
    params = {k: move(v) for k, v in row.cases[place].params.items()}
    args = [make(a) if isinstance(a, np.ndarray) else a for a in arrays]
    leaves = [args[i].requires_grad_() for i in row.wrt if isinstance(arrays[i], np.ndarray)]
    out = OPERATORS[name](*args, **params)
    found = [out]
    if leaves:
        w = make(weights(out.shape, 0).astype(out.dtype.numpy))
        first = gradcli.autograd.grad(out, leaves, w, create_graph=True)
        found += first
        linked = [g for g in first if g.requires_grad]
        if linked:
            ws = [make(weights(g.shape, 1).astype(g.dtype.numpy)) for g in linked]
            found += [
                g
                for g in gradcli.autograd.grad(linked, leaves, ws, allow_unused=True)
                if g is not None
            ]
        again = OPERATORS[name](*args, **params)
        again.backward(w)
        found += [t.grad for t in leaves]
    return found


def failure(name):
    """What stands in the way of one operator, or None."""
    for place in range(len(ROWS[name].cases)):
        want = outcome(name, place, gradcli.tensor)
        try:
            got = outcome(name, place, strict, on_device)
        except Exception as fault:
            return f"case {place}: {type(fault).__name__}: {str(fault).splitlines()[0]}"
        for g, w in zip(got, want, strict=True):
            if not isinstance(g.array, StrictArray):
                return f"case {place}: a result left the device"
            np.testing.assert_allclose(plain(g.array), plain(w.array), rtol=1e-14, atol=1e-14)
    return None


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@family("name", ROWS, by=lambda name: OPERATORS[name].kind)
def test_the_operator_runs_on_the_device(name):
    reason = failure(name)
    if name in NOT_YET:
        assert reason is not None, f"{name} works now: take it off NOT_YET"
    else:
        assert reason is None, reason


def test_the_stand_in_refuses():
    x = StrictArray([1.0, 2.0])
    for call in (lambda: np.asarray(x), lambda: np.array(x), lambda: x + np.ones(2),
        lambda: np.ones(2) * x,
                 lambda: np.concatenate([x, np.ones(2)]), lambda: np.add.at(x, 0, 1.0),
                     lambda: np.max(x, initial=0),
                 lambda: x.__setitem__(0, np.ones(1)), lambda: x[np.array([0])],
                     lambda: np.linalg.pinv(x)):  # fmt: skip
        with pytest.raises(TypeError):
            call()
    assert isinstance(np.sum(x), StrictArray)
    assert np.sum(x).shape == ()
    assert isinstance(np.float64(2) * x, StrictArray)
    assert (x + 1).get().tolist() == [2, 3]


def test_a_scalar_loss_needs_no_array_from_the_host():
    x, w = (
        strict(np.array([1.0, 2.0, 3.0])).requires_grad_(),
        strict(np.array([4.0, 5.0, 6.0])).requires_grad_(),
    )
    (gradcli.sin(x) * w).sum().backward()
    assert isinstance(x.grad.array, StrictArray)
    np.testing.assert_allclose(plain(x.grad.array), np.cos([1, 2, 3]) * [4, 5, 6])
    (x.mean() * w.sum() + (x @ w)).backward()
    assert isinstance(w.grad.array, StrictArray)


def test_accumulated_gradients_are_no_aliases():
    x, y = (strict(np.array([1.0, 2.0])).requires_grad_() for _ in range(2))
    (x + y).backward(strict(np.array([1.0, 1.0])))
    (x * 1).backward(strict(np.array([5.0, 5.0])))
    assert plain(x.grad.array).tolist() == [6, 6]
    assert plain(y.grad.array).tolist() == [1, 1]


def test_the_device_is_named():
    x = strict(np.array([1.0]))
    assert x.device == "cuda:0"
    assert x.tolist() == [1.0]
    assert x.item() == 1.0
