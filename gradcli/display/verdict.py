"""Whether a gradient is right: every entry beside differences, then all of it in other ways.

The one verdict of ``gradcli check`` and of a check among jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from gradcli.display.agreements import agreements, by_complex_step
from gradcli.display.expression import Expression, adjoint, cut_by, symmetrizes, tried
from gradcli.display.mistakes import close
from gradcli.engine import Tensor, dtypes
from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.grad_mode import no_grad
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import RuntimeFault
from gradcli.transforms.check import Slope, by_axes, hidden, slope, tolerance, turns, wavers


class Entries:
    """The entries of the gradients beside differences.

    worst     the largest relative difference of those that agree
    compared  how many agree with differences, and ``stepped`` with complex steps alone
    small     how many are, like their differences, as good as 0 beside the values around
    notes     what is said of the others
    casts     whether any was compared in the precision that the program casts to
    kinks     the slopes on both sides of the others, by variable and place
    unit      what slopes are counted in
    also      the relative difference to each further way that was gone

    ``value`` is the expression's; ``plain`` gives it as a function of one variable.
    """

    def __init__(
        self, job: Expression, value: Tensor, plain: Callable[[str], Callable[..., Any]]
    ) -> None:
        self.job, self.value, self.plain = job, value.item(), plain
        self.symmetrizes = symmetrizes(value)
        self.worst, self.compared, self.small, self.stepped = 0.0, 0, 0, 0
        self.casts = False
        self.unit = 0.0
        self.notes: list[str] = []
        self.also: dict[str, float] = {}
        self.kinks: dict[str, dict[tuple[int, ...], tuple[float, float]]] = {}
        self.hiding = _hides(job)  # a cast, too, hides from a complex step what the rules miss

    def examine(
        self, found: Sequence[Any], share: AbstractContextManager[Any] | None = None
    ) -> None:
        """Look at the gradients by all that is wanted. Raises RuntimeFault (E0410) for wrong ones.

        ``share`` limits the time in which a closed form is looked for.
        """
        for name, g in zip(self.job.wanted, found, strict=True):
            self._compare(name, g)
        if self.compared + self.small and not (self.notes or self.casts or self.job.long):
            self.also = agreements(self.job, found, self.unit, share or nullcontext())

    def _compare(self, name: str, g: Any) -> None:
        job = self.job
        rules, x = np.asarray(g.array), np.array(job.leaves[name].detach().array)
        function, exact = _number(self.plain(name)), _in_float64(job, name)
        coarse, halved = _cast_to(job, x.dtype), None
        if self.symmetrizes and all(close(a, adjoint(a), tolerance(x.dtype)) for a in (x, rules)):
            halved = _of_symmetric_part(function)
        if axes := x.dtype.kind == "c":
            halved = halved and by_axes(halved, rules, x)[0]
            function, rules, x = by_axes(function, rules, x)
        unit = _unit(function, x, self.value)
        self.unit = max(self.unit, unit)
        function, exact = _counted(function, unit), exact and _counted(exact, unit)
        for place in np.ndindex(x.shape):
            rule = float(rules[place]) / unit
            seen, unseen = _by_differences(rule, function, exact, x, place, self.value / unit)
            fine = x.dtype
            if coarse and not _agrees(rule, seen, fine):  # steps that the cast does not round away
                wide = tried(slope, function, x.astype(coarse), place)
                if wide is not None and _agrees(rule, wide, coarse):
                    seen, unseen, fine, self.casts = wide, False, np.dtype(coarse), True
            if halved and not _agrees(rule, seen, fine):  # linalg.cholesky reads one triangle
                both = tried(slope, _counted(halved, unit), x, place)
                if both is not None and _agrees(rule, both, fine):
                    seen, unseen = both, False
            if self.hiding and seen.kind == "smooth" and _agrees(rule, seen, fine):
                with no_grad():
                    if wavers(function, x.astype(fine), place, rule):
                        seen = seen._replace(kind="unsettled")
            where = _where(name, place, axes)
            if unseen and not _agrees(rule, seen, fine):
                self.notes.append(
                    f"{where}: not compared: a value of {self.value:.3g} is rounded to more than a "
                    "small step changes"
                )
            elif seen.kind == "smooth" and _agrees(rule, seen, fine):
                off = abs(rule - seen.value) / (abs(rule) or 1.0)
                if off <= tolerance(fine):
                    self.worst, self.compared = max(self.worst, off), self.compared + 1
                else:
                    self.small += 1
            elif (
                _unsettled(rule, seen)
                or not (seen.kind == "kink" or _leaps(rule, seen) or coarse or self.hiding)
            ) and _steps_agree(job, name, place, rule, unit, axes, fine):
                self.stepped += 1
                rule, seen = rule * unit, _in_ones(seen, unit)
                said = f"see {seen.value:.3g}" if seen.kind == "smooth" else _SEEN[seen.kind]
                said = _SEEN["unsettled"] if _unsettled(rule, seen) else said
                self.notes.append(
                    f"{where}: differences {said}; a complex step agrees with {rule:.10g}"
                )
            else:
                with no_grad():
                    if seen.kind == "smooth" and turns(function, x, place, rule):
                        seen = seen._replace(kind="unsettled")
                seen = _in_ones(seen, unit)
                self.notes.append(_verdict(job, where, rule * unit, seen, unit))
                low, high = sorted((seen.left, seen.right))
                self.kinks.setdefault(name, {})[place[: g.array.ndim]] = low, high


def _by_differences(
    rule: float, function: Any, exact: Any, x: Any, place: tuple[int, ...], value: float
) -> tuple[Any, bool]:
    """What differences say of one entry, and whether rounding hides what the rule says.

    By ``exact``, the function in float64, where there is one: but a verdict against the rule is
    that of the asked dtype.
    """
    at = float(x[place])
    with no_grad():
        if exact is not None:
            seen = tried(slope, exact, x.astype(np.float64), place)
            if seen is not None:
                unseen = hidden(rule, seen, value, at, np.float64)
                if unseen or _agrees(rule, seen, x.dtype):
                    return seen, unseen
        seen = slope(function, x, place)
        return seen, exact is None and hidden(rule, seen, value, at, x.dtype)


def _unit(function: Any, x: Any, value: float) -> float:
    """What values and slopes are counted in: 1, or a power of ten where the function is smaller
    around ``x``, so that its slopes are not all as good as 0. Values that are what larger ones are
    rounded by, and 0 but for that, change as much over next to no step."""
    by = max(1.0, float(np.abs(x).max(initial=0.0)))

    def values(*steps: float) -> list[float]:
        with no_grad():
            found = [tried(function, (x + step).astype(x.dtype)) for step in steps]
        return [v for v in found if v is not None and np.isfinite(v)]

    most = max(map(abs, [value, *values(by, -by)]))
    if not 0.0 < most < 1.0:
        return 1.0
    eps = float(np.finfo(x.dtype).eps)
    near = values(*(16 * eps * by * k for k in (-3, -2, -1, 1, 2, 3)))
    if most < eps**0.5 and np.ptp([value, *near]) > 1e-3 * most:
        return 1.0
    return 10.0 ** np.floor(np.log10(max(most, 1e-300)))


def _counted(function: Any, unit: float) -> Any:
    return function if unit == 1.0 else lambda x: function(x) / unit


def _in_ones(seen: Slope, unit: float) -> Slope:
    value, left, right = (v * unit for v in (seen.value, seen.left, seen.right))
    return seen._replace(value=value, left=left, right=right)


def _of_symmetric_part(function: Any) -> Any:
    return lambda x: function((x + adjoint(x)) / 2)


def _number(function: Any) -> Any:
    return lambda x: as_tensor(function(as_tensor(x))).item()


def _in_float64(job: Expression, name: str) -> Any:
    """The value as a function of one variable, computed in float64; None where it is anyway.

    Differences of values that are rounded to fewer digits say next to nothing of a small slope.
    """
    floats = {k: v for k, v in job.leaves.items() if v.dtype.is_floating_point}
    if all(leaf.dtype is dtypes.float64 for leaf in floats.values()):
        return None
    others = {k: leaf.detach().to(dtypes.float64) for k, leaf in floats.items()}
    return _number(lambda x: job.result({**others, name: x}))


def _agrees(rule: float, seen: Slope, dtype: Any) -> bool:
    """Whether the slope is the rules', or those of a kink's two sides are on both sides of it."""
    if seen.kind == "kink":
        low, high = sorted((seen.left, seen.right))
        return low - 1e-3 * abs(low) <= rule <= high + 1e-3 * abs(high)
    off = abs(rule - seen.value) / max(1.0, abs(seen.value))
    return seen.kind == "smooth" and off <= tolerance(dtype)


def _unsettled(rule: float, seen: Slope) -> bool:
    """Whether the differences at no step say what the slope is."""
    near = abs(rule - seen.value) <= seen.doubt * abs(seen.value)
    return seen.kind == "unsettled" or (seen.kind == "smooth" and near)


def _leaps(rule: float, seen: Slope) -> bool:
    """Whether the value jumps by more than the rules' slope, however steep at a pole, explains."""
    return seen.kind == "jump" and abs(rule) < 0.01 * max(abs(seen.left), abs(seen.right))


def _steps_agree(
    job: Expression, name: str, place: tuple, rule: float, unit: float, axes: bool, dtype: Any
) -> bool:
    """Whether a complex step, which sees what turns too fast for differences, gives the rule's."""
    found = None if axes else by_complex_step(job, name, place)
    if found is None:
        return False
    return abs(rule - found / unit) <= tolerance(dtype) * max(1.0, abs(found / unit))


def _hides(job: Expression) -> str | None:
    """What in the program takes values off the graph."""
    found = next(filter(None, map(cut_by, n.walk(job.program.names.module))), None)
    return found or next(filter(("no_grad", "tensor").__contains__, _names(job)), None)


def _cast_to(job: Expression, dtype: Any) -> Any:
    """The type of fewest digits that the program may cast to; None where ``dtype`` has no more."""
    casts: dict[str, Any] = dict.fromkeys(("half", "float16"), np.float16)
    casts |= dict.fromkeys(("float", "float32"), np.float32)
    found = [casts[name] for name in _names(job) if name in casts]
    least = max(found, key=lambda t: np.finfo(t).eps, default=dtype)
    return least if np.finfo(least).eps > np.finfo(dtype).eps else None


def _names(job: Expression) -> list[str]:
    return [
        node.id if isinstance(node, n.Name) else node.name
        for node in n.walk(job.program.names.module) if isinstance(node, n.Name | n.Attribute)
    ]  # fmt: skip


def _where(name: str, place: tuple, axes: bool = False) -> str:
    along = (" along the real axis", " along the imaginary axis")[place[-1]] if axes else ""
    entry = tuple(map(int, place[:-1] if axes else place))
    return f"d/d{name}" + (f" at entry {entry}" if entry else "") + along


_SEEN = {
    "jump": "find a jump", "edge": "find no value on one side", "unsettled": "settle at no step",
}  # fmt: skip


def _verdict(job: Expression, where: str, rule: float, seen: Slope, unit: float) -> str:
    """What is said of an entry that is not comparable. Raises RuntimeFault (E0410) for a wrong one.

    At a kink the rules take a slope between those of the two sides.
    """
    if seen.kind == "kink" and _agrees(rule, seen, np.float64):
        size = 10.0 ** np.ceil(np.log10(max(abs(seen.left), abs(seen.right))))
        digits = int(-np.log10(max(seen.doubt * unit / size, 1e-12)))
        left, right = (round(v / size, digits) * size + 0.0 for v in (seen.left, seen.right))
        return (
            f"{where}: a kink, {left:.6g} on the left and {right:.6g} on the right; "
            f"the rules take {rule:.6g}"
        )
    said, help = f"{seen.value:.10g} by differences", "try a point nearby, and float64"
    hiding = _hides(job)
    if seen.kind == "smooth" and hiding is not None:
        help = f"`{hiding}` takes a value off the graph: the rules see a constant there"
    elif seen.kind in ("jump", "edge"):
        said = f"differences {_SEEN[seen.kind]}"
    elif seen.kind == "kink":
        said = f"{seen.left:.10g} on the left and {seen.right:.10g} on the right by differences"
        help = "at a kink both may be right: move the point a little"
    elif _unsettled(rule, seen):
        said = f"differences {_SEEN['unsettled']}: it turns too fast, or has no bound"
        help = "float64, or a smaller argument, leaves more digits"
    raise RuntimeFault("E0410", f"{where} is {rule:.10g} by the rules; {said}", help=help)
