"""gradcheck: the gradient against central differences, entry by entry, and which entry is off.

Everything is compared as real functions of real numbers: a complex result is its real and its
imaginary part, and the gradient of one by a complex entry is the slope along the real axis plus 1j
times that along the imaginary one, as backward has it.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import gradcli.engine as engine
from gradcli.engine import dtypes
from gradcli.engine.creation.sampling import drawn
from gradcli.engine.custom_function.function import Function
from gradcli.engine.grad_mode import enable_grad
from gradcli.engine.source_location import warn
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.ops.errors import (
    AssertionFault,
    AttributeFault,
    RuntimeFault,
    TypeFault,
    ValueFault,
    bad_argument,
)
from gradcli.ops.operator import OPERATORS
from gradcli.transforms.forward import tangents_of
from gradcli.transforms.reverse import jacobians_of
from gradcli.transforms.vmap import over_rows


class GradcheckFault(RuntimeFault):
    """The derivative that the rules give is not the one that differences give."""


GradcheckFault.__name__ = GradcheckFault.__qualname__ = "GradcheckError"  # PyTorch's name of it
GradcheckFault.__module__ = "gradcli.autograd.gradcheck"


def _wrong(said: str, help: str | None = None, cause: RuntimeError | None = None) -> GradcheckFault:
    fault = GradcheckFault("E0410", said, help=help)
    fault.__cause__ = cause
    return fault


def _mismatch(got: Sequence[Any], wanted: Sequence[Any]) -> Iterator[tuple[int, Any, Any]]:
    """The tensors of two lists that are not close, as ``(place, got, wanted)``."""
    for place, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if not np.allclose(a.detach().array, b.detach().array, rtol=1e-5, atol=1e-8):
            yield place, a, b


def _several(values: Any) -> Sequence[Any]:
    return values if isinstance(values, tuple | list) else (values,)


class Slope(NamedTuple):
    """What differences say of one entry, and the slopes on its two sides.

    ``kind`` is ``"smooth"``, ``"kink"`` (the sides differ), ``"jump"``, ``"edge"`` (no value on one
    side) or ``"unsettled"`` (no two steps agree). ``doubt`` is how far, relatively, the value may
    be off.
    """

    value: float
    kind: str
    left: float
    right: float
    doubt: float = 0.0


_ENOUGH = {8: 1e-6, 4: 1e-3, 2: 5e-2}


def tolerance(dtype: Any) -> float:
    """How far differences may be from a derivative, relative to it or to 1, in a dtype."""
    return _ENOUGH[np.finfo(dtype).dtype.itemsize]


def hidden(rule: float, seen: Slope, value: float, at: float, dtype: Any) -> bool:
    """Whether a function's ``value`` at an entry ``at`` is rounded to so few digits of its dtype
    that the differences ``seen`` cannot tell the derivative ``rule`` from another."""
    noise = float(np.finfo(dtype).eps) ** (2 / 3) * abs(value) / max(1.0, abs(at))
    return seen.kind in ("smooth", "unsettled") and abs(rule - seen.value) <= 2 * noise


def by_axes(
    function: Callable[[np.ndarray], float], rules: np.ndarray, x: np.ndarray
) -> tuple[Callable[[np.ndarray], float], np.ndarray, np.ndarray]:
    """A function of complex numbers, its gradient and a point, as those of real ones: each entry's
    real and imaginary part stand along a last axis, as slopes have them in backward's gradient."""
    gradient, point = (np.stack([a.real, a.imag], axis=-1) for a in (rules, x))
    return lambda r: function((r[..., 0] + 1j * r[..., 1]).astype(x.dtype)), gradient, point


def slope(function: Callable[[np.ndarray], float], x: np.ndarray, place: tuple) -> Slope:
    """The derivative of a scalar function by one entry of x, from differences alone.

    A step of the usual size decides where both sides agree there; elsewhere (fast oscillation, a
    kink, a jump, a pole) ever smaller ones do: the central difference that changes least is taken.
    Where those find a jump, or no value, the number's last digits may still lie on one side of it.
    """
    enough = tolerance(x.dtype)
    info = np.finfo(x.dtype)
    base = float(function(x))
    here = abs(float(x[place]))
    usual = _usual(x.dtype, here)
    near = _sides(function, x, place, usual, base)
    if near.gap <= 1e-3 * near.scale:
        again = _sides(function, x, place, usual / 2, base)
        if abs(again.central - near.central) <= 0.1 * enough * near.scale:
            return Slope(again.central, "smooth", again.left, again.right)
    steps = [usual * 10.0**-k for k in range(-1, 7 if x.dtype.itemsize == 8 else 3)]
    least = 0.1 * usual * min(1.0, here)
    while least and steps[-1] > least:  # beside a small number, steps relative to it
        steps.append(steps[-1] / 10)
    found = [_sides(function, x, place, step, base) for step in steps]
    seen = _settled(found, steps, base, info, enough)
    if seen.kind == "kink" or (seen.kind == "smooth" and seen.doubt <= enough):
        return seen
    spacing = float(np.spacing(x.dtype.type(here)))
    steps = [spacing * 10.0**k for k in range(6, -1, -1)]
    found = [_sides(function, x, place, step, base) for step in steps]
    last = _settled(found, steps, base, info, enough)
    worse = seen.kind == "smooth" and seen.doubt < last.doubt
    return last if last.kind == "smooth" and not worse else seen


def _usual(dtype: Any, here: float) -> float:
    """The step of the usual size beside a number."""
    return float(np.finfo(dtype).eps) ** (1 / 3) * max(1.0, abs(here))


def turns(
    function: Callable[[np.ndarray], float], x: np.ndarray, place: tuple, rule: float
) -> bool:
    """Whether steps so short that ``rule`` says a small change of the value see what it says."""
    base = float(function(x))
    step = 1e-3 * abs(base / rule) if rule else 0.0
    seen = _sides(function, x, place, step, base)
    return abs(seen.central - rule) <= 0.1 * abs(rule)


def wavers(
    function: Callable[[np.ndarray], float], x: np.ndarray, place: tuple, rule: float
) -> bool:
    """Whether some shorter steps see another slope than ``rule``, by more than what the last
    digits of the value can hide: over the usual one a fast small wave has none."""
    base, here = float(function(x)), float(x[place])
    spacing = float(np.spacing(x.dtype.type(abs(here))))
    usual = _usual(x.dtype, here)
    steps = [step for step in (spacing * 10.0**k for k in range(8)) if step < usual]
    found = [_sides(function, x, place, step, base) for step in steps]
    noise = max(abs(found[0].left - rule), abs(found[0].right - rule)) * spacing
    noise, enough = max(noise, float(np.finfo(x.dtype).eps) * abs(base)), tolerance(x.dtype)
    return any(
        abs(sides.central - rule) > enough * max(sides.floor, abs(rule)) + 8 * noise / step
        for step, sides in zip(steps, found, strict=True)
    )


def _settled(
    found: list[_Sides], steps: list[float], base: float, info: Any, enough: float
) -> Slope:
    """What the differences over falling ``steps`` say together."""
    last, before = found[-1], found[-2]
    if not np.isfinite(last.gap):
        return Slope(last.central, "edge", last.left, last.right)
    noise = 8 * info.eps * max(1.0, abs(base)) / steps[-1]
    if last.gap > 1e-3 * last.scale + 2 * noise and last.gap > 0.3 * before.gap:
        if _as_high([sides.gap for sides in found], steps):
            return Slope(last.central, "jump", last.left, last.right)
        # What a long sum is rounded by may pass for a kink at two steps, never at three.
        if all(abs(last.gap - s.gap) <= 0.1 * last.gap + 2 * noise for s in found[-3:-1]):
            return Slope(last.central, "kink", last.left, last.right, noise)
    # Relative to the slope: beside a pole those of too large steps are small, and change little.
    # Where the sides are far apart the central difference may stand still at a pole: lgamma at 0.
    changes = [
        abs(b.central - a.central) / b.scale if b.gap <= 0.5 * b.scale else np.inf
        for a, b in itertools.pairwise(found)
    ]
    # What the value is rounded by counts, too: over steps that it does not see nothing changes.
    off = [
        c + info.eps * abs(base) / (step * sides.scale)
        for c, step, sides in zip(changes, steps[1:], found[1:], strict=True)
    ]
    best = int(np.argmin([c if np.isfinite(c) else np.inf for c in off]))
    wide, chosen = found[best : best + 2]
    doubt = 10 * off[best]
    kind = "smooth" if doubt <= max(1e-2, 100 * enough) else "unsettled"
    slopes = [abs(sides.central) for sides in found]
    if kind == "unsettled" and slopes[-1] > noise and _as_high(slopes, steps):
        kind = "jump"  # with the value in its middle: the sides are as steep
    # What a tenth of the step mends is a hundredth of what is left wrong.
    value = chosen.central + (chosen.central - wide.central) / 99
    return Slope(value, kind, chosen.left, chosen.right, doubt)


def _as_high(slopes: list[float], steps: list[float]) -> bool:
    """Whether the value rises by as much over the last steps, however short they are."""
    heights = [step * slope for step, slope in zip(steps[-3:], slopes[-3:], strict=True)]
    return max(heights) <= 1.01 * min(heights)


_HUGE = 1e8


class _Sides(NamedTuple):
    left: float
    right: float
    central: float
    floor: float = 1.0  # slopes below it are as good as 0

    @property
    def gap(self) -> float:
        """How far the slopes of the two sides are apart."""
        return abs(self.right - self.left)

    @property
    def scale(self) -> float:
        """What differences of slopes are compared with."""
        return max(self.floor, abs(self.central))


def _sides(function: Callable, x: np.ndarray, place: tuple, step: float, base: float) -> _Sides:
    here = x[place]
    ends = []
    for shifted in (here + x.dtype.type(step), here - x.dtype.type(step)):
        x[place] = shifted
        ends.append((float(x[place]) - float(here), float(function(x))))
    x[place] = here
    # Steps beside a huge number are huge: what is bounded has next to no slope over them.
    floor = min(1.0, abs(base / float(here)) or 1.0) if abs(here) > _HUGE else 1.0
    (ahead, high), (behind, low) = ends  # the steps as the dtype has rounded them
    if not ahead or not behind:
        return _Sides(np.nan, np.nan, np.nan)
    return _Sides(
        (low - base) / behind, (high - base) / ahead, (high - low) / (ahead - behind), floor
    )


def _differences(
    values: Callable[[], Sequence[np.ndarray]], x: np.ndarray, eps: float
) -> list[np.ndarray]:
    """The slope of each of ``values()`` by every entry of ``x``, which is changed in place."""
    at = values()
    columns: list[list[np.ndarray]] = [[] for _ in at]
    steps = (eps, 1j * eps) if np.iscomplexobj(x) else (eps,)
    for place in np.ndindex(x.shape):
        here = x[place]
        slopes = []
        for step in steps:
            x[place] = here + step
            up = [np.array(v) for v in values()]
            x[place] = here - step
            down = values()
            _same_kind(at, up)
            _same_kind(at, down)
            slopes.append([(a - b) / (2 * eps) for a, b in zip(up, down, strict=True)])
        x[place] = here
        for column, *parts in zip(columns, *slopes, strict=True):
            column.append(_complex(parts))
    return [
        _table(column, np.shape(value), x.shape) for column, value in zip(columns, at, strict=True)
    ]


def _same_kind(at: Sequence[np.ndarray], moved: Sequence[np.ndarray]) -> None:
    """Raise AssertionFault where results depend on an entry in other ways than by their values."""
    for what in ("shape", "dtype"):
        for a, b in zip(at, moved, strict=True):
            if getattr(a, what) != getattr(b, what):
                said = f"Expected `fn` to return outputs with the same {what} when inputs are"
                said += f" perturbed, but got {getattr(b, what)} and {getattr(a, what)}"
                mend = "check the function on each side of where it changes"
                raise AssertionFault("E0410", said, help=mend)


def _complex(slopes: Sequence[np.ndarray]) -> np.ndarray:
    """The slope along the real axis alone, or with that along the imaginary one."""
    return slopes[0] if len(slopes) == 1 else slopes[0] + 1j * slopes[1]


def _table(columns: list[np.ndarray], out: tuple, shape: tuple) -> np.ndarray:
    table = np.stack(columns, axis=-1) if columns else np.zeros((*out, 0))
    return table.reshape((*out, *shape))


class Part(NamedTuple):
    """A result that may have a gradient, as a real tensor; ``which`` output, and what of it."""

    tensor: Tensor
    which: int
    said: str


_REAL = "While considering the real part of complex outputs only, "
_IMAGINARY = "While considering the imaginary part of complex outputs only, "


def _parts(result: Any) -> list[Part]:
    """Results that may have a gradient, as real tensors: of a complex one both parts."""
    found: list[Part] = []
    for i, value in enumerate(_several(result)):
        if not hasattr(value, "__gradcli_rank__"):
            said = f"gradcheck needs a function that returns tensors, got {type(value).__name__}"
            raise AttributeFault("E0303", said)
        if isinstance(value, Tensor) and value.dtype.differentiable:
            if value.dtype.is_complex:
                found += [Part(value.imag, i, _IMAGINARY), Part(value.real, i, _REAL)]
            else:
                found.append(Part(value, i, ""))
    return found


def _leaves(inputs: Sequence[Any]) -> tuple[list, list[int]]:
    """The inputs with leaves in the places of those that require a gradient, and which those are.

    A leaf has memory of its own, in which an entry can be moved.
    """
    which = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    full = list(inputs)
    for i in which:
        array = inputs[i].array
        if array.size > 1 and any(
            s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)
        ):
            said = f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs"
            mend = "call .contiguous() on the input before passing it to gradcheck"
            raise RuntimeFault("E0303", f"{said} that are non-overlapping", help=mend)
        if inputs[i].dtype not in (dtypes.float64, dtypes.complex128):
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex."
            )
        full[i] = wrap(np.array(array), inputs[i].dtype).requires_grad_()
    if not which:
        raise ValueFault(
            "E0404",
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True.",
        )
    return full, which


def _backward(func: Callable, full: list, which: list[int]) -> list[list[np.ndarray]]:
    """For each part of the result its Jacobians, by a pass for each of its entries."""
    leaves = [full[i] for i in which]

    def pull(ends: Sequence[Tensor], weights: Sequence[Tensor]) -> Sequence[Tensor]:
        if not ends[0].requires_grad:
            return [OPERATORS["zeros_like"](leaf.detach()) for leaf in leaves]
        found: tuple[Tensor, ...] = engine.grad(
            ends, leaves, weights, retain_graph=True, materialize_grads=True
        )
        return found

    tables = jacobians_of([part.tensor for part in _parts(func(*full))], leaves, pull)
    return [[np.asarray(table.array) for table in row] for row in tables]


def _forward(func: Callable, full: list, which: list[int]) -> list[list[np.ndarray]]:
    """The same by forward mode, a column for each entry of an input."""
    columns: list[list[Any]] = [[] for _ in which]
    at = [full[i].detach() for i in which]
    result = _of_some(func, full, which)
    shapes = [part.tensor.shape for part in _parts(func(*full))]
    for column, x in zip(columns, at, strict=True):
        for place in np.ndindex(x.shape):
            slopes = []
            for step in (1, 1j) if x.dtype.is_complex else (1,):
                direction = np.zeros(x.shape, x.dtype.numpy)
                direction[place] = step
                along = [wrap(direction, x.dtype) if v is x else OPERATORS["zeros_like"](v)
                         for v in at]  # fmt: skip
                pushed = _parts(tangents_of(result, at, along))
                slopes.append([np.asarray(p.tensor.detach().array) for p in pushed])
            column.append([_complex(parts) for parts in zip(*slopes, strict=True)])
    return [
        [_table([c[k] for c in column], tuple(shape), tuple(x.shape))
         for column, x in zip(columns, at, strict=True)]
        for k, shape in enumerate(shapes)
    ]  # fmt: skip


def _of_some(func: Callable, full: list, which: Sequence[int]) -> Callable[..., tuple]:
    """The results of ``func`` by the inputs ``which``; the others are constants."""
    constants = [v.detach() if isinstance(v, Tensor) else v for v in full]

    def result(*values: Any) -> tuple:
        given = list(constants)
        for i, value in zip(which, values, strict=True):
            given[i] = value
        return tuple(_differentiable(func(*given)))

    return result


def gradcheck(
    func: Callable,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    **others: Any,
) -> bool:
    """Whether the gradient of ``func`` agrees with central differences at ``inputs``.

    By the inputs that require a gradient, which should be float64 or complex128; whatever else the
    function takes is passed on. Every result is checked, by reverse mode and, where
    ``check_forward_ad``, by forward mode; that backward gives the same twice (but for
    ``nondet_tol``), is linear in its cotangent, and takes none at all. PyTorch's other options
    (``fast_mode``) are accepted: every entry is compared in any case. Raises RuntimeFault (E0410)
    naming the worst entry and both values, or returns False where ``raise_exception`` is False;
    ValueFault (E0404) where no input requires a gradient, AssertionFault where there is nothing to
    check.
    """
    _known(others)
    for asked, wanted, text in (
        (True, check_forward_ad or check_backward_ad,
         "Expected at least one of check_forward_ad or check_backward_ad to be True"),
        (check_batched_grad, check_backward_ad,
         "Setting check_batched_grad=True requires check_backward_ad to be True"),
        (check_batched_forward_grad, check_forward_ad,
         "Setting check_batched_forward_grad=True requires check_forward_ad to be True"),
    ):  # fmt: skip
        if asked and not wanted:
            raise AssertionFault("E0304", text)
    full, which = _leaves(_several(inputs))
    with enable_grad():
        made = _parts(func(*full))
    forward = check_forward_ad and bool(made)  # no results have no tangents
    for fault in itertools.chain(
        _faults(func, full, which, made, (eps, atol, rtol), check_backward_ad, forward),
        _of_backward(func, full, which, nondet_tol, check_undefined_grad)
        if check_backward_ad
        else (),
        _of_tangents(func, full, which) if forward and check_undefined_grad else (),
        _of_batches(func, full, which, check_batched_grad, forward and check_batched_forward_grad),
    ):
        if raise_exception:
            raise fault
        return False
    return True


def _faults(
    func: Callable, full: list, which: list[int], made: list[Part], limits: tuple,
    backward: bool, forward: bool,
) -> Iterator[GradcheckFault]:  # fmt: skip
    eps, atol, rtol = limits
    with enable_grad():
        ways = [(_backward, "Jacobian mismatch")] if backward else []
        if forward:
            ways.append((_forward, "Jacobian computed with forward mode mismatch"))
        follow = any(part.tensor.requires_grad for part in made)
        if not follow:
            said = "Numerical gradient for function expected to be zero"
            ways = [(way, said) for way, _ in ways]

        def values() -> list[np.ndarray]:
            return [np.asarray(part.tensor.detach().array) for part in _parts(func(*full))]

        numeric = [_differences(values, full[i].array, eps) for i in which]
        for way, said in ways:
            tables = way(func, full, which)
            for place, i in enumerate(which):
                for part, table, wanted in zip(made, tables, numeric[place], strict=True):
                    if follow and not part.tensor.requires_grad:
                        continue
                    where = f"{part.said}{said} for output {part.which} with respect to input {i}"
                    fault = _compared(table[place], wanted, where, atol, rtol)
                    if fault is not None:
                        yield fault


class _Undefined(Function):
    """The identity, whose backward gives no gradient."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        """The same numbers."""
        return value.clone()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> None:
        """Nothing."""


def _of_backward(
    func: Callable, full: list, which: list[int], nondet_tol: float, undefined: bool
) -> Iterator[GradcheckFault]:
    """What is wrong with a backward whose numbers are right."""
    leaves = [full[i] for i in which]
    with enable_grad():
        outputs = _requiring(func(*full))

        def pulled(weights: Callable[[Tensor], Tensor], through: Sequence[int] = ()) -> list[Any]:
            ends = [_Undefined.apply(v) if i in through else v for i, v in enumerate(outputs)]
            weighted = [weights(v) for v in ends]
            return list(engine.grad(ends, leaves, weighted, retain_graph=True, allow_unused=True))

        if not outputs:
            return
        first, again = pulled(_weights), pulled(_weights)
        for a, b in zip(first, again, strict=True):
            if a is not None and np.any(np.abs(a.array - b.array) > nondet_tol):
                yield _wrong(
                    "Backward is not reentrant, i.e., running backward with same input and "
                    "grad_output multiple times gives different values, although analytical "
                    "gradient matches numerical gradient. The tolerance for nondeterminism was "
                    f"{nondet_tol}."
                )
        if any(g is not None and np.any(g.array) for g in pulled(OPERATORS["zeros_like"])):
            yield _wrong("backward not multiplied by grad_output")
        if not undefined:
            return
        for through in {(*range(len(outputs)),), *((i,) for i in range(len(outputs)))}:
            cause: RuntimeError | None = None
            try:
                zeros = pulled(OPERATORS["zeros_like"], through)
                wrong = any(g is not None and np.any(g.array) for g in zeros)
            except RuntimeError as fault:
                cause, wrong = fault, True
            if wrong:
                warn(
                    "Backwards compatibility: New undefined gradient support checking feature is "
                    "enabled by default, but it may break existing callers of this function. If "
                    "this is true for you, you can call this function with "
                    '"check_undefined_grad=False" to disable the feature'
                )
                yield _wrong(
                    "Expected backward function to handle undefined output grads. Please look at "
                    "'Notes about undefined output gradients' in "
                    "'tools/autograd/derivatives.yaml'",
                    "a hook, or a backward, may be given None",
                    cause,
                )


def _of_tangents(func: Callable, full: list, which: list[int]) -> Iterator[GradcheckFault]:
    """What is wrong with a forward mode that treats no tangent otherwise than one of zeros."""
    at = [full[i].detach() for i in which]
    along = [_weights(v).detach() for v in at]
    for place, i in enumerate(which):
        zeros = [t * 0 if k == place else t for k, t in enumerate(along)]
        wanted = tangents_of(_of_some(func, full, which), at, zeros)
        rest = [k for k in range(len(which)) if k != place]
        if not rest:
            continue
        some = _of_some(func, full, [which[k] for k in rest])
        got = tangents_of(some, [at[k] for k in rest], [along[k] for k in rest])
        for number, a, b in _mismatch(got, wanted):
            yield _wrong(
                f"Mismatch in tangent values for output with index: {number} when input: {i} has "
                f"an undefined tangent value. Got: {a} but expected: {b}",
                "a jvp may be given no tangent for an input",
            )


def _of_batches(
    func: Callable, full: list, which: list[int], backward: bool, forward: bool
) -> Iterator[GradcheckFault]:
    """What is wrong where two cotangents, or two tangents, go through at once."""
    leaves = [full[i] for i in which]
    with enable_grad():
        outputs = _requiring(func(*full))
        for number, out in enumerate(outputs if backward else ()):

            def pulled(weight: Tensor, out: Tensor = out, batched: bool = False) -> list[Any]:
                return list(engine.grad(
                    [out], leaves, [weight], retain_graph=True, allow_unused=True,
                    materialize_grads=True, is_grads_batched=batched,
                ))  # fmt: skip

            rows = [_weights(out).detach(), _weights(out).detach() * 0.5 + 1]
            yield from _same_at_once(
                lambda rows, pulled=pulled: pulled(rows, batched=True), pulled, rows, number
            )
    for i in which if forward else ():

        def pushed(tangent: Any, i: int = i) -> list[Any]:
            return list(tangents_of(_of_some(func, full, [i]), [full[i].detach()], [tangent]))

        rows = [_weights(full[i]).detach(), _weights(full[i]).detach() * 0.5 + 1]
        at_once = lambda rows, pushed=pushed: over_rows(pushed, [rows])  # noqa: E731
        yield from _same_at_once(at_once, pushed, rows, i)


def _same_at_once(
    at_once: Callable, one: Callable, rows: list[Tensor], number: int
) -> Iterator[GradcheckFault]:
    expected = [OPERATORS["stack"](*found, dim=0) for found in zip(*map(one, rows), strict=True)]
    try:
        got = at_once(OPERATORS["stack"](*rows, dim=0))
    except RuntimeError as fault:
        yield _wrong(f"While computing batched gradients, got: {fault}", cause=fault)
        return
    for i, a, b in _mismatch(got, expected):
        yield _wrong(
            f"For output {number} and input {i}: gradcheck or gradgradcheck failed while testing "
            f"batched gradient computation.\n\nGot:\n{a}\n\nExpected:\n{b}",
            "the function, or its backward, treats the entries of a batch as one",
        )


def numerical_jacobian(
    fn: Callable[[Any], Any], inputs: Any, target: Any = None, eps: float = 1e-3,
    grad_out: float = 1.0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The Jacobians of the first result of ``fn(inputs)`` by each input that requires a gradient,
    or by those of ``target``, from differences: a row for each entry of the input.

    An old function of PyTorch, which warns of its end. Raises ValueFault (E0304) for another
    ``grad_out`` than 1.
    """
    _deprecated("get_numerical_jacobian", grad_out)

    def first() -> list[np.ndarray]:
        return [np.asarray(_several(fn(inputs))[0].detach().array)]

    return tuple(
        _rows(_differences(first, t.own_array(), eps)[0], t)
        for t in _requiring(inputs if target is None else target)
    )


def analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobians of ``output`` by each input that requires a gradient, from backward passes,
    laid out as those of ``numerical_jacobian``.

    And whether a second time gives the same to ``nondet_tol``, whether shapes fit, and whether
    dtypes do. Raises ValueFault (E0304) for a complex output, or another ``grad_out`` than 1.
    """
    _deprecated("get_analytical_jacobian", grad_out)
    if output.dtype.is_complex:
        raise bad_argument(
            "Expected output to be non-complex. get_analytical_jacobian no longer supports "
            "functions that return complex outputs."
        )
    leaves = _requiring(inputs)
    which = list(range(len(leaves)))
    (first,), (again,) = (_backward(lambda *_: output, leaves, which) for _ in range(2))
    same = all(np.all(np.abs(a - b) <= nondet_tol) for a, b in zip(first, again, strict=True))
    return tuple(map(_rows, first, leaves)), same, True, True


def _differentiable(values: Any) -> list[Any]:
    return [v for v in _several(values) if hasattr(v, "dtype") and v.dtype.differentiable]


def _requiring(values: Any) -> list[Tensor]:
    return [t for t in _several(values) if isinstance(t, Tensor) and t.requires_grad]


def _rows(table: np.ndarray, by: Tensor) -> Tensor:
    """A derivative, laid out as results by inputs, as a matrix with a row for each input."""
    return wrap(np.ascontiguousarray(table.reshape((-1, by.numel())).T), by.dtype)


def _deprecated(name: str, grad_out: float) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are "
        "deprecating it and it will be removed in a future version of PyTorch. If you have a "
        "specific use for this or feature request for this to be a stable API, please file us an "
        "issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning, stacklevel=3,
    )  # fmt: skip
    if grad_out != 1.0:
        said = f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0."
        raise bad_argument(said)


def _known(options: dict[str, Any]) -> None:
    unknown = options.keys() - {"check_grad_dtypes", "check_sparse_nnz", "fast_mode", "masked"}
    if unknown:
        raise TypeError(f"gradcheck() got an unexpected keyword argument {min(unknown)!r}")


def _compared(
    analytic: np.ndarray, numeric: np.ndarray, where: str, atol: float, rtol: float
) -> GradcheckFault | None:
    off = np.abs(analytic - numeric) - (atol + rtol * np.abs(numeric))
    if not off.size or (np.nanmax(off) <= 0 and not np.isnan(off).any()):
        return None
    place = np.unravel_index(int(np.argmax(np.where(np.isnan(off), np.inf, off))), off.shape)
    return _wrong(
        f"{where}: the gradient is off at entry {tuple(map(int, place))}: "
        f"{analytic[place]:.10g} by the rules, {numeric[place]:.10g} by differences",
        "look for a write through .data or .numpy(), a kink, or a wrong backward",
    )


def gradgradcheck(
    func: Callable, inputs: Any, grad_outputs: Any = None, *,
    gen_non_contig_grad_outputs: bool = False, check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True, **options: Any,
) -> bool:  # fmt: skip
    """``gradcheck`` of the gradient itself (second order), by the inputs and by its weights.

    ``grad_outputs`` weight the results; without them random numbers do. The second order is taken
    by reverse mode, by forward mode or by both. Raises TypeFault (E0404) where no result requires a
    gradient.
    """
    if options.get("check_undefined_grad", True) and not check_rev_over_rev:
        raise AssertionFault(
            "E0304", "Setting check_undefined_grad=True requires check_rev_over_rev to be True"
        )
    options.update(check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev)
    inputs = tuple(_several(inputs))

    def results(values: Sequence[Any]) -> list[Tensor]:
        return [v for v in _differentiable(func(*values)) if v.requires_grad]

    made = results(inputs)
    wanted = [isinstance(v, Tensor) and v.requires_grad for v in inputs]
    if any(wanted) and not made:
        said = "gradgradcheck needs a function whose result requires a gradient"
        mend = "there is no first derivative whose derivative could be checked"
        raise TypeFault("E0404", said, help=mend)
    if grad_outputs is None:
        grad_outputs = [_random_weights(out, gen_non_contig_grad_outputs) for out in made]

    def gradient(*values: Any) -> tuple:
        given, along = values[: len(inputs)], values[len(inputs) :]
        leaves = [
            v if v.requires_grad else v.requires_grad_()  # forward mode takes leaves off the graph
            for v, leaf in zip(given, wanted, strict=False)
            if leaf
        ]
        found = engine.grad(
            results(given), leaves, along,
            create_graph=True, allow_unused=True, materialize_grads=True,
        )  # fmt: skip
        return tuple(found)

    return gradcheck(gradient, (*inputs, *_several(grad_outputs)), **options)


def _random_weights(out: Tensor, apart: bool) -> Tensor:
    """As PyTorch draws them: ``apart`` every second one of twice as many."""
    *lead, last = out.shape or (1,)
    step = 2 if apart and out.numel() > 1 else 1
    numbers = drawn("uniform", (*lead, last * step), out.dtype, None, -1, 1)[..., step - 1 :: step]
    return numbers.reshape(out.shape).requires_grad_()


def _weights(out: Tensor) -> Tensor:
    angles = np.arange(out.array.size, dtype=np.float64).reshape(out.array.shape)
    numbers = np.cos(angles) + (1j * np.sin(angles + 1) if out.dtype.is_complex else 0)
    return wrap(numbers.astype(out.dtype.numpy), out.dtype).requires_grad_()
