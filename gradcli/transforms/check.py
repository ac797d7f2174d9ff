"""gradcheck: the gradient against central differences, entry by entry, and which entry is off."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.grad_mode import no_grad
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.errors import RuntimeFault
from gradcli.transforms.func import jacfwd
from gradcli.transforms.reverse import jacobian


class GradcheckFault(RuntimeFault):
    """The derivative that the rules give is not the one that differences give."""


GradcheckFault.__name__ = GradcheckFault.__qualname__ = "GradcheckError"  # PyTorch's name of it
GradcheckFault.__module__ = "gradcli.autograd.gradcheck"


def numeric_jacobian(
    function: Callable, inputs: Sequence[Any], which: int, eps: float
) -> np.ndarray:
    """Central differences of every result entry by every entry of input ``which``."""
    arrays = [np.array(as_tensor(t).array) for t in inputs]
    x = arrays[which]
    columns = []
    with no_grad():
        for place in np.ndindex(x.shape):
            here = x[place]
            values = []
            for shifted in (here + eps, here - eps):
                x[place] = shifted
                values.append(np.array(as_tensor(function(*map(as_tensor, arrays))).array))
            x[place] = here
            columns.append((values[0] - values[1]) / (2 * eps))
    out_shape = columns[0].shape if columns else ()
    table = np.stack(columns, axis=-1) if columns else np.zeros((*out_shape, 0))
    return table.reshape((*out_shape, *x.shape))


class Slope(NamedTuple):
    """What differences say of one entry, and the slopes on its two sides.

    ``kind`` is ``"smooth"``, ``"kink"`` (the sides differ), ``"jump"``, ``"edge"`` (no value on one
    side) or ``"unsettled"`` (no two steps agree).
    """

    value: float
    kind: str
    left: float
    right: float


_ENOUGH = {8: 1e-6, 4: 1e-3, 2: 5e-2}


def tolerance(dtype: Any) -> float:
    """How far differences may be from a derivative, relative to it or to 1, in a float dtype."""
    return _ENOUGH[np.dtype(dtype).itemsize]


def slope(function: Callable[[np.ndarray], float], x: np.ndarray, place: tuple) -> Slope:
    """The derivative of a scalar function by one entry of x, from differences alone.

    A step of the usual size decides where both sides agree there; elsewhere (fast oscillation, a
    kink, a jump) ever smaller ones do: the central difference that changes least is taken.
    """
    enough = tolerance(x.dtype)
    info = np.finfo(x.dtype)
    base = float(function(x))
    size = max(1.0, abs(float(x[place])))
    usual = float(info.eps) ** (1 / 3) * size
    near = _sides(function, x, place, usual, base)
    if near.gap <= 1e-3 * near.scale:
        again = _sides(function, x, place, usual / 2, base)
        if abs(again.central - near.central) <= 0.1 * enough * near.scale:
            return Slope(again.central, "smooth", again.left, again.right)
    steps = [usual * 10.0**-k for k in range(-1, 5 if x.dtype.itemsize == 8 else 2)]
    least = 0.1 * usual * abs(float(x[place])) / size
    while least and steps[-1] > least:  # beside a small number, steps relative to it
        steps.append(steps[-1] / 10)
    found = [_sides(function, x, place, step, base) for step in steps]
    last, before = found[-1], found[-2]
    if not np.isfinite(last.gap):
        return Slope(last.central, "edge", last.left, last.right)
    noise = 8 * info.eps * max(1.0, abs(base)) / steps[-1]
    if last.gap > 1e-3 * last.scale + 2 * noise and last.gap > 0.3 * before.gap:
        heights = [step * sides.gap for step, sides in zip(steps[-3:], found[-3:], strict=True)]
        if max(heights) - min(heights) <= 0.01 * max(heights):
            return Slope(last.central, "jump", last.left, last.right)
        if abs(last.gap - before.gap) <= 0.1 * last.gap + 2 * noise:
            return Slope(last.central, "kink", last.left, last.right)
    changes = [abs(b.central - a.central) for a, b in itertools.pairwise(found)]
    best = int(np.argmin([c if np.isfinite(c) else np.inf for c in changes]))
    chosen = found[best + 1]
    settled = changes[best] <= max(1e-3, 10 * enough) * chosen.scale
    return Slope(chosen.central, "smooth" if settled else "unsettled", chosen.left, chosen.right)


class _Sides(NamedTuple):
    left: float
    right: float
    central: float

    @property
    def gap(self) -> float:
        """How far the slopes of the two sides are apart."""
        return abs(self.right - self.left)

    @property
    def scale(self) -> float:
        """What differences of slopes are compared with."""
        return max(1.0, abs(self.central))


def _sides(function: Callable, x: np.ndarray, place: tuple, step: float, base: float) -> _Sides:
    here = x[place]
    ends = []
    for shifted in (here + x.dtype.type(step), here - x.dtype.type(step)):
        x[place] = shifted
        ends.append((float(x[place]) - float(here), float(function(x))))
    x[place] = here
    (ahead, high), (behind, low) = ends  # the steps as the dtype has rounded them
    if not ahead or not behind:
        return _Sides(np.nan, np.nan, np.nan)
    return _Sides((low - base) / behind, (high - base) / ahead, (high - low) / (ahead - behind))


def _outputs(function: Callable, inputs: Sequence[Any]) -> list[Callable]:
    """A function for each result that may have a gradient, ``function`` itself for a single one."""
    with no_grad():
        found = function(*[as_tensor(t).detach() for t in inputs])
    if not isinstance(found, tuple | list):
        return [function]
    return [
        lambda *xs, number=number: function(*xs)[number]
        for number, value in enumerate(found)
        if isinstance(value, Tensor) and value.dtype.differentiable
    ]


def gradcheck(
    func: Callable,
    inputs: Any,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    *,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    **others: Any,
) -> bool:
    """Whether the gradient of ``func`` agrees with central differences at ``inputs``.

    Inputs should be float64; every result is checked, by reverse mode and, where
    ``check_forward_ad``, by forward mode. PyTorch's other options (``fast_mode``, ``nondet_tol``)
    are accepted: every entry is compared in any case. Raises RuntimeFault (E0410) naming the worst
    entry and both values, or returns False where ``raise_exception`` is False.
    """
    _known(others)
    inputs = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    at = [as_tensor(t).detach() for t in inputs]
    floats = [i for i, t in enumerate(at) if t.dtype.is_floating_point]
    for function in _outputs(func, inputs):
        ways = []
        if check_backward_ad:
            ways.append(jacobian(function, tuple(at)))
        if check_forward_ad:
            forward = jacfwd(function, tuple(floats))(*at)
            ways.append(dict(zip(floats, forward, strict=True)))
        for i in floats:
            numeric = numeric_jacobian(function, at, i, eps)
            for found in ways:
                fault = _compared(np.asarray(found[i].detach().array), numeric, i, atol, rtol)
                if fault is not None and raise_exception:
                    raise fault
                if fault is not None:
                    return False
    return True


def _known(options: dict[str, Any]) -> None:
    unknown = options.keys() - {
        "nondet_tol", "check_undefined_grad", "check_grad_dtypes", "check_batched_grad",
        "check_batched_forward_grad", "fast_mode", "masked", "check_sparse_nnz",
    }  # fmt: skip
    if unknown:
        raise TypeError(f"gradcheck() got an unexpected keyword argument {min(unknown)!r}")


def _compared(
    analytic: np.ndarray, numeric: np.ndarray, number: int, atol: float, rtol: float
) -> GradcheckFault | None:
    off = np.abs(analytic - numeric) - (atol + rtol * np.abs(numeric))
    if not off.size or (np.nanmax(off) <= 0 and not np.isnan(off).any()):
        return None
    place = np.unravel_index(int(np.argmax(np.where(np.isnan(off), np.inf, off))), off.shape)
    return GradcheckFault(
        "E0410",
        f"the gradient by input {number} is off at entry {tuple(map(int, place))}: "
        f"{analytic[place]:.10g} by the rules, {numeric[place]:.10g} by differences",
        help="look for a write through .data or .numpy(), a kink, or a wrong backward",
    )


def gradgradcheck(func: Callable, inputs: Any, grad_outputs: Any = None, **options: Any) -> bool:
    """``gradcheck`` of the gradient itself (second order), weighted by ``grad_outputs`` or by fixed
    numbers."""
    from gradcli import engine
    from gradcli.engine.grad_mode import enable_grad
    from gradcli.ops.operator import OPERATORS

    options.pop("gen_non_contig_grad_outputs", None)
    inputs = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    given = grad_outputs if isinstance(grad_outputs, tuple | list) else [grad_outputs]
    pieces = _outputs(func, inputs)
    given = list(given) + [None] * (len(pieces) - len(given))
    for function, weight in zip(pieces, given, strict=True):

        def first(*xs: Any, function: Callable = function, weight: Any = weight) -> Any:
            leaves = [x if x.edge is not None else x.detach().requires_grad_() for x in xs]
            with enable_grad():
                out = function(*leaves)
                found = engine.grad(
                    out, leaves, _weights(out) if weight is None else weight.detach(),
                    create_graph=True, allow_unused=True, materialize_grads=True,
                )  # fmt: skip
                return OPERATORS["cat"](*(g.reshape(-1) for g in found))

        if not gradcheck(first, inputs, **options):
            return False
    return True


def _weights(out: Tensor) -> Tensor:
    from gradcli.engine.tensor.tensor import wrap

    numbers = np.cos(np.arange(out.array.size, dtype=np.float64)).reshape(out.array.shape)
    return wrap(numbers.astype(out.dtype.numpy), out.dtype)
