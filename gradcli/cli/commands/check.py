"""``gradcli check``: the gradient against central differences, entry by entry.

``--against`` holds a gradient that was worked out by hand against both.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from gradcli.cli import inputs, options, output, runner
from gradcli.cli.agreements import agreements, by_complex_step
from gradcli.cli.commands.grad import cut_by, gradients
from gradcli.cli.job import Job, tried
from gradcli.cli.options import option
from gradcli.display.values import show_value
from gradcli.engine import dtypes
from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.grad_mode import no_grad
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import RuntimeFault
from gradcli.transforms.check import Slope, by_axes, hidden, slope, tolerance, turns, wavers

Against = Annotated[
    list[str] | None,
    option("--against", "Your own gradient: 4*x, or x=4*x for each variable.", "GRADIENT"),
]
AgainstFile = Annotated[
    str | None, option("--against-file", "The same from .csv, .npy, .json, .grad.", "FILE")
]


@options.command(*options.EVERYTHING)
def check(
    job: Job, wrt: options.Wrt = None, against: Against = None, against_file: AgainstFile = None,
    run_by: runner.Runner = "auto",
) -> None:  # fmt: skip
    """Example: gradcli check "sum(sigmoid(W @ x)**2)" --W "1,2;3,4" --x 1,-1"""
    runner.checked(run_by)
    value = job.value()
    inputs.need_scalar(value, job.program)
    found = gradients(value, [job.leaves[n] for n in job.wanted], None)
    given = _given(job, against, against_file)
    parts = [("value", "value", value, "")]
    seen = _Entries(job, run_by, value.item())
    for name, g in zip(job.wanted, found, strict=True):
        parts.append((f"grads.{name}", f"d/d{name}", g, ""))
        seen.compare(name, g)
    comparable = seen.compared + seen.small and not (seen.notes or seen.casts or job.long)
    also = agreements(job, found, seen.unit) if comparable else {}
    record: dict[str, Any] = {
        "checked": {
            "compared": seen.compared + seen.stepped, "max_rel_error": seen.worst,
            "notes": seen.notes, "also": also,
        }
    }  # fmt: skip
    findings = []
    if given is not None:
        from gradcli.cli.against import compare, lines_of, record_of
        from gradcli.display.records import tensor_record

        right = {n: np.asarray(g.array) for n, g in zip(job.wanted, found, strict=True)}
        findings = compare(job, right, given[0], given[1], seen.kinks)
        record["against"] = {
            f.name: record_of(f, lambda a: tensor_record(a, str(a.dtype))) for f in findings
        }
    if job.emit("check", parts, record) == "text":
        said = f"agrees with central differences: worst relative difference {seen.worst:.1e}"
        if seen.small:
            slopes = f"{seen.small} slope{'s are' if seen.small > 1 else ' is'} too small for"
            none = f"nothing was compared: {slopes} central differences"
            said = f"{said}; {slopes} them" if seen.compared else none
        elif seen.stepped and not seen.compared:
            said = "agrees with complex steps"
        elif not seen.compared:
            said = "nothing was compared" + ("" if seen.notes else ": there is no entry to move")
        if also:
            said += f"\nalso: {', '.join(also)}"
        lines = [*seen.notes, said]
        for finding in findings:
            lines += lines_of(finding, lambda v: show_value(v, job.digits))
        output.write("\n".join(lines) + "\n")
    if not all(finding.agrees for finding in findings):
        raise typer.Exit(1)


class _Entries:
    """The entries of the gradients beside differences.

    worst     the largest relative difference of those that agree
    compared  how many agree with differences, and ``stepped`` with complex steps alone
    small     how many are, like their differences, as good as 0 beside the values around
    notes     what is said of the others
    casts     whether any was compared in the precision that the program casts to
    kinks     the slopes on both sides of the others, by variable and place
    unit      what slopes are counted in
    """

    def __init__(self, job: Job, run_by: str, value: float) -> None:
        self.job, self.run_by, self.value = job, run_by, value
        self.worst, self.compared, self.small, self.stepped = 0.0, 0, 0, 0
        self.casts = False
        self.unit = 0.0
        self.notes: list[str] = []
        self.kinks: dict[str, dict[tuple[int, ...], tuple[float, float]]] = {}
        self.hiding = _hides(job)  # a cast, too, hides from a complex step what the rules miss

    def compare(self, name: str, g: Any) -> None:
        """Look at every entry of the gradient by one variable. Raises RuntimeFault (E0410)."""
        job = self.job
        plain = job.function(name)
        many = self.run_by == "auto" and 2 * g.array.size > runner.WARM
        if many or self.run_by == "generated":
            plain = runner.generated(job, [name], "value") or plain
        rules, x = np.asarray(g.array), np.array(job.leaves[name].detach().array)
        function, exact, coarse = _number(plain), _in_float64(job, name), _cast_to(job, x.dtype)
        if axes := x.dtype.kind == "c":
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


def _given(job: Job, against: list[str] | None, file: str | None) -> Any:
    """The gradients to hold against: formulas and arrays by variable; None for none."""
    if not against and file is None:
        return None
    from gradcli.cli.against import formulas, from_file  # needed by --against alone

    texts = formulas(job, against or ())
    more, arrays = ({}, {}) if file is None else from_file(job, file)
    texts = {**more, **texts}
    return texts, {name: array for name, array in arrays.items() if name not in texts}


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


def _number(function: Any) -> Any:
    return lambda x: as_tensor(function(as_tensor(x))).item()


def _in_float64(job: Job, name: str) -> Any:
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
    job: Job, name: str, place: tuple, rule: float, unit: float, axes: bool, dtype: Any
) -> bool:
    """Whether a complex step, which sees what turns too fast for differences, gives the rule's."""
    found = None if axes else by_complex_step(job, name, place)
    if found is None:
        return False
    return abs(rule - found / unit) <= tolerance(dtype) * max(1.0, abs(found / unit))


def _hides(job: Job) -> str | None:
    """What in the program takes values off the graph."""
    found = next(filter(None, map(cut_by, n.walk(job.program.names.module))), None)
    return found or next(filter(("no_grad", "tensor").__contains__, _names(job)), None)


def _cast_to(job: Job, dtype: Any) -> Any:
    """The type of fewest digits that the program may cast to; None where ``dtype`` has no more."""
    casts: dict[str, Any] = dict.fromkeys(("half", "float16"), np.float16)
    casts |= dict.fromkeys(("float", "float32"), np.float32)
    found = [casts[name] for name in _names(job) if name in casts]
    least = max(found, key=lambda t: np.finfo(t).eps, default=dtype)
    return least if np.finfo(least).eps > np.finfo(dtype).eps else None


def _names(job: Job) -> list[str]:
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


def _verdict(job: Job, where: str, rule: float, seen: Slope, unit: float) -> str:
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
