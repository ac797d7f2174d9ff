"""``gradcli check --against``: a gradient that was worked out by hand, and what is wrong with it.

The given gradient is a formula, numbers or a file. A formula is also tried at points nearby and at
farther ones: what explains the difference at one of them by chance does not do so at all, and where
the given point is tiny, huge or whole, terms vanish there that are wrong. Numbers are the gradient
at the given point alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.cli import inputs
from gradcli.cli.job import Job
from gradcli.cli.trial_points import (
    Point,
    full,
    given_values,
    or_none,
    samples_farther,
    samples_nearby,
    symmetric_parts,
    turned,
)
from gradcli.display.mistakes import Mistake, Part, Parts, Sample, close, diagnose
from gradcli.display.values import show_value
from gradcli.language.diagnostics.render import did_you_mean
from gradcli.language.runtime.run import Program, prepare
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.source import Source
from gradcli.language.values.arrays import from_json
from gradcli.ops.errors import Fault, ValueFault
from gradcli.ops.operator import OPERATORS
from gradcli.transforms.check import tolerance

SHOWN = 6
"""Up to how many numbers a point is shown."""
ROUNDINGS = 16
"""How many times the estimate of what a value is rounded by two may be apart."""
MOST_PARTS = 60
MOST_EDITS = 400
_NUMBERS = re.compile(r"[-+\d.eE,;\s\[\]]*\d[-+\d.eE,;\s\[\]]*")
_NAMED = re.compile(r"\s*([A-Za-z]\w*)\s*=(?!=)(.*)", re.DOTALL)


class Edit(NamedTuple):
    """A change to a formula that makes it right."""

    kind: str
    start: int
    end: int
    text: str

    def made_in(self, formula: str) -> str:
        """The formula with the change."""
        return formula[: self.start] + self.text + formula[self.end :]


class Finding(NamedTuple):
    """What is to be said of the gradient that was given by one variable.

    rounded        whether some entries agree but for what they are rounded by
    first, worst   the entries; None where the shapes differ
    nearby         at how many of the points nearby it agrees, and at how many it was tried
    farther        the same of points farther away
    counter        one of these points at which it does not agree, and an entry there
    signed         where it agrees but at farther points where variables have other signs: those
    held           other variables, where it does not agree with other values of them
    """

    name: str
    given: Any
    right: Any
    agrees: bool
    rounded: bool
    first: tuple[int, ...] | None
    worst: tuple[int, ...] | None
    differing: int
    nearby: tuple[int, int]
    farther: tuple[int, int]
    counter: tuple[Sample, tuple[int, ...]] | None
    signed: list[str]
    held: list[str]
    mistake: Mistake | None
    edit: Edit | None
    formula: str | None


# -- what was given --------------------------------------------------------------------------------


def formulas(job: Job, given: Sequence[str]) -> dict[str, str]:
    """The formulas of ``--against`` by variable. Raises ValueFault (E0907, E0910)."""
    found: dict[str, str] = {}
    for item in given:
        named = _NAMED.fullmatch(item)
        if named is not None:
            name, text = named[1], named[2]
        elif len(job.wanted) == 1:
            name, text = job.wanted[0], item
        else:
            example = " ".join(f'--against {w}="..."' for w in job.wanted[:2])
            raise ValueFault(
                "E0907", f"--against {item}: there are {len(job.wanted)} variables", help=example
            )
        _known(job, name, f"--against {item}")
        if name in found:
            raise ValueFault("E0909", f"--against gives {name} twice", help="give each once")
        found[name] = text
    return found


def _known(job: Job, name: str, said: str) -> None:
    if name not in job.wanted:
        mend = did_you_mean(name, job.wanted, f"by {', '.join(job.wanted) or 'nothing'}")
        raise ValueFault("E0910", f"{said}: there is no gradient by {name}", help=mend)


def from_file(job: Job, file: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The formulas, or the arrays, that a file holds by variable.

    A JSON object has an entry for each variable, or is what ``gradcli grad --json`` writes.
    """
    kind = os.path.splitext(file)[1].lower()
    if kind == ".grad":
        return formulas(job, [inputs.read_text(file)]), {}
    if kind != ".json":
        dtype = next(iter(job.leaves.values())).dtype
        found = inputs.read_flag("against-file", f"@{file}", dtype)
    else:
        found = inputs.from_json("--against-file", file)
        if isinstance(found, dict) and isinstance(found.get("grads"), dict):
            found = found["grads"]
    if not isinstance(found, dict) or "data" in found:
        if len(job.wanted) != 1:
            raise ValueFault(
                "E0907", f"--against-file {file} holds one array, there are {len(job.wanted)} "
                "variables", help="choose one with --wrt NAME, or give a JSON object",
            )  # fmt: skip
        found = {job.wanted[0]: found}
    if kind != ".json":
        return {}, found
    arrays = {}
    for name, value in found.items():
        _known(job, name, f"--against-file {file}")
        try:
            arrays[name] = from_json(value)
        except (ValueError, TypeError, OverflowError):
            raise ValueFault("E0904", f"--against-file {file}: {name} is no array") from None
    return {}, arrays


# -- the comparison --------------------------------------------------------------------------------


def compare(
    job: Job, right: Mapping[str, Any], texts: Mapping[str, str], arrays: Mapping[str, Any],
    kinks: Mapping[str, Mapping[tuple[int, ...], tuple[float, float]]],
) -> list[Finding]:  # fmt: skip
    """What there is to say of each given gradient; ``right`` are the checked ones.

    ``kinks`` are the slopes on both sides where those differ: any between them is right.
    """
    names = [*texts, *arrays]
    numbers = {
        k: inputs.read_flag("against", text, job.leaves[k].dtype, files=False)
        for k, text in texts.items() if _NUMBERS.fullmatch(text)
    }  # fmt: skip
    texts = {k: text for k, text in texts.items() if k not in numbers}
    arrays = {**arrays, **numbers}
    programs = {name: _prepared(job, text, name) for name, text in texts.items()}
    floats = [k for k, v in job.leaves.items() if v.dtype.differentiable]
    here = Point(job, given_values(job, floats))
    given = {k: here.value(programs[k]) for k in texts} | {
        k: np.asarray(v) for k, v in arrays.items()
    }
    given = {name: full(value, right[name]) for name, value in given.items()}
    beside = everywhere = far = []
    # What the other variables are shall not look like numbers that belong into the formula, and
    # the gradient given may be theirs.
    if texts and not arrays:
        symmetric = symmetric_parts(job, floats)
        beside = samples_nearby(job, programs, names, symmetric)
        everywhere = samples_nearby(job, programs, floats, symmetric) or beside
        far = samples_farther(job, programs, names, symmetric)
    others = {name: here.by(job.program, name) for name in floats}
    samples = [Sample(here.numbers(), {**others, **{k: right[k] for k in names}}, given)]
    samples += everywhere
    return [
        _finding(name, job, samples, beside, far, programs, kinks.get(name, {}), texts.get(name))
        for name in names
    ]  # fmt: skip


def _finding(
    name: str, job: Job, samples: Sequence[Sample], beside: Sequence[Sample],
    far: Sequence[Sample], programs: Mapping[str, Program],
    kinks: Mapping[tuple[int, ...], tuple[float, float]], text: str | None,
) -> Finding:  # fmt: skip
    given, right = samples[0].given[name], samples[0].right[name]
    dtype = job.leaves[name].array.dtype
    enough = tolerance(dtype)
    if text is not None:  # computed like the gradient itself, not typed to a few digits
        enough = min(enough, float(np.finfo(dtype).eps) ** 0.5)
    first = worst = None
    differing, rounded = right.size, False
    if given.shape == right.shape:
        off, rounded = _off(job, name, samples[0], programs.get(name), enough)
        for place, (low, high) in kinks.items():
            slack = 1e-3 * max(abs(low), abs(high))  # they are differences
            if low - slack <= given[place] <= high + slack:
                off[place] = 0.0
        wrong = np.argwhere(off)
        differing = len(wrong)
        if differing:
            first = tuple(map(int, wrong[0]))
            worst = tuple(map(int, np.unravel_index(int(np.argmax(off)), off.shape)))
    others = () if differing else (*far, *beside)
    apart = [_apart(job, name, s, programs.get(name), 10 * enough) for s in others]
    farther, near = (
        (sum(place is None for place in places), len(places))
        for places in (apart[: len(far)], apart[len(far) :])
    )
    counters = [(s, at) for s, at in zip(others, apart, strict=True) if at is not None]
    counter = min(counters, key=lambda c: len(turned(job, c[0].point)), default=None)
    signed = [] if counter is None else turned(job, counter[0].point)
    if all(turned(job, sample.point) for sample in far):
        signed = []
    agrees = not differing and (counter is None or bool(signed)) and given.shape == right.shape
    held = []
    if agrees and beside:
        moved = any(
            None is not _apart(job, name, s, programs.get(name), 10 * enough) for s in samples[1:]
        )
        held = [k for k in samples[0].right if moved and k not in programs]
    if counter is not None and not agrees:
        samples = [samples[0], _whole(job, counter[0]), *samples[1:]]
    mistake = edit = None
    if not agrees:
        mistake = diagnose(name, samples, _parts(job, name, samples, text), enough)
        if text is not None:
            edit = _edit(job, name, programs[name], samples, enough)
        known = mistake is not None and mistake.kind != "shape"
        if not known and (edit is None or edit.kind != "transpose"):
            mistake = _symmetric(job, name, programs) or mistake
        vague = mistake is None or mistake.kind == "shape" or " is off by " in mistake.said
        if vague and edit is not None:
            mistake = Mistake(edit.kind, _WORDS[edit.kind])
    return Finding(
        name, given, right, agrees, rounded, first, worst, differing, near, farther, counter,
        signed, held, mistake, edit, text,
    )  # fmt: skip


def _whole(job: Job, sample: Sample) -> Sample:
    """A sample with the gradients by all variables."""
    point = Point(job, sample.point)
    return sample._replace(right={k: point.by(job.program, k) for k in sample.point})


def _apart(
    job: Job, name: str, sample: Sample, program: Program | None, enough: float
) -> tuple[int, ...] | None:
    """The entry of the given gradient that is off most at a point; None where all agree."""
    if sample.given[name].shape != sample.right[name].shape:
        return ()
    off, _ = _off(job, name, sample, program, enough)
    return tuple(map(int, np.unravel_index(int(np.argmax(off)), off.shape))) if off.any() else None


def _off(
    job: Job, name: str, sample: Sample, program: Program | None, enough: float
) -> tuple[Any, bool]:
    """How far, relatively, the entries of the given gradient are off; 0 for those that agree.

    And whether some agree only since what the two are rounded by explains the difference. Numbers,
    which have no ``program``, have as many digits as the largest of them.
    """
    given, right = sample.given[name], sample.right[name]
    sizes = np.abs(right)
    if program is None:
        sizes = np.maximum(sizes, 1e-3 * sizes.max(initial=0.0))
    with np.errstate(all="ignore"):
        apart = np.abs(given - right)
        off = np.where(apart == 0, 0.0, apart / sizes)
    off = np.where(np.isnan(off), np.inf, np.where(off <= enough, 0.0, off))
    most = max(float(np.abs(v).max(initial=1.0)) for v in (right, sample.point[name]))
    digits = np.finfo(np.result_type(right.dtype, np.float32)).eps ** 0.5  # more are never rounded
    rounded = (off > 0) & ((apart <= digits * most) | (off <= tolerance(right.dtype)))
    if rounded.any():
        much = Point(job, sample.point).rounding(job.program, name, program)
        rounded &= apart <= ROUNDINGS * much
    return np.where(rounded, 0.0, off), bool(rounded.any())


def _symmetric(job: Job, name: str, programs: Mapping[str, Program]) -> Mistake | None:
    """A formula that holds for a symmetric matrix alone: ``2*A @ x`` for ``x @ A @ x``."""
    if name not in programs:
        return None
    values = given_values(job, [k for k, v in job.leaves.items() if v.dtype.differentiable])
    for matrix, value in values.items():
        if value.ndim != 2 or value.shape[0] != value.shape[1]:
            continue
        try:
            found = []
            for seed in range(2):
                x = value + seed
                point = Point(job, {**values, matrix: (x + x.T) / 2})
                given = point.value(programs[name])
                found.append(close(given, point.by(job.program, name), 1e-6))
        except Fault:
            continue
        if all(found):
            said = f"a transpose: it holds for a symmetric {matrix} only"
            return Mistake("transpose", f"{said} (2*{matrix} for {matrix} + {matrix}.T?)")
    return None


# Kinds of mistakes; that some are names of operators is chance.
_WORDS = {
    "factor": "a factor", "sign": "the sign of one term", "power": "the wrong power",
    "index": "off by an index", "axis": "the wrong axis", "exchanged": "two variables exchanged",
    "transpose": "a transpose", "function": "another function", "term": "a term too many",
    "sum": "a missing sum",
}  # fmt: skip


def _prepared(job: Job, text: str, name: str) -> Program:
    program = prepare(Source(text, f"--against {name}"))
    program.names.require({*job.leaves, *job.fixed})
    return program


# -- parts of the expression, for the diagnosis ----------------------------------------------------


def _parts(job: Job, name: str, samples: Sequence[Sample], formula: str | None) -> Parts:
    """Values and gradients of the expression's parts and variants, computed when asked for."""
    points = {id(s): Point(job, s.point) for s in samples}
    text = job.program.source.text
    parts = Parts(formula, [], [], [], [], [], [])

    def value(program: Program) -> Part:
        return lambda s: or_none(points[id(s)].value, program)

    def gradient(program: Program) -> Part:
        return lambda s: or_none(points[id(s)].gradient, program, name)

    def pulled(program: Program) -> Part:
        return lambda s: or_none(points[id(s)].gradient, program, name, s.given[name])

    def add(table: Any, shown: str, kind: Callable[[Program], Part], changed: str) -> None:
        program = or_none(prepare, Source(changed))
        if program is not None:
            table.append((shown, kind(program)))

    seen: set[str] = set()
    for count, (start, node, is_term) in enumerate(_subexpressions(job.program)):
        if count >= MOST_PARTS:
            break
        shown = text[node.start : node.end]
        before, after = text[: node.start], text[node.end :]
        if not isinstance(node, n.Name) or node.id == name:
            add(parts.constant, shown, gradient, f"{before}({shown}).detach(){after}")
        for inner in _operands(node):
            u = text[inner.start : inner.end]
            said = f"{shown} by {u}" if u != name else shown
            passed = f"{before}(({u}) + (({shown}) - ({u})).detach()){after}"
            add(parts.through, said, gradient, passed)
        if shown in seen:
            continue
        seen.add(shown)
        part = text[:start] + shown
        add(parts.values, shown, value, part)
        if is_term:
            add(parts.gradients, shown, gradient, part)
        if not isinstance(node, n.Name):
            add(parts.pulled, shown, pulled, part)
    for change, changed in _other_axes(job.program):
        add(parts.axes, change, gradient, changed)
    return parts


def _operands(node: n.Node) -> list[n.Node]:
    """What a part is computed from, where it could be a function of it entry by entry."""
    if isinstance(node, n.Call):
        bound = [node.func.value] if isinstance(node.func, n.Attribute) else []
        return [*bound, *node.args[:1]]
    if isinstance(node, n.Binary) and node.op not in "+-":  # of a sum these are terms
        return [side for side in (node.left, node.right) if not isinstance(side, n.Number)]
    return []


def _subexpressions(program: Program) -> Iterator[tuple[int, n.Node, bool]]:
    """The parts of the statements, the largest first: where the statement begins, the part, and
    whether it is a term of a sum."""
    for statement in program.checked.module.body:
        if not isinstance(statement, n.ExprStmt | n.Assign):
            continue
        yield statement.start, statement.value, False
        for node in n.walk(statement.value):
            terms = isinstance(node, n.Binary) and node.op in "+-"
            for child in n.children(node):
                if isinstance(node, n.Call) and child is node.func and isinstance(child, n.Name):
                    continue
                child = child.value if isinstance(child, n.Keyword) else child
                if isinstance(child, n.Binary | n.Call | n.Unary | n.Subscript | n.Name) or (
                    isinstance(child, n.Attribute) and child.name in ("T", "mT")
                ):
                    yield statement.start, child, terms


def _called(node: n.Call) -> str:
    """The name of what is called, a function's or a method's."""
    return getattr(node.func, "id", getattr(node.func, "name", ""))


def _ends_in_axis(name: str, count: int) -> bool:
    """Whether the last of so many arguments of a function is an axis without a name."""
    op = OPERATORS.get({"max": "amax", "min": "amin", "sort": "argsort"}.get(name, name))
    if op is None or count <= op.arity:
        return False
    return list(op.params)[count - op.arity - 1 : count - op.arity] in (["dim"], ["dims"])


def _other_axes(program: Program) -> Iterator[tuple[str, str]]:
    """The program's text with one axis changed, and what was changed."""
    text = program.source.text
    for node in n.walk(program.checked.module):
        if not isinstance(node, n.Call):
            continue
        called = _called(node)
        numbers = [k.value for k in node.keywords if k.name in ("dim", "axis")]
        if _ends_in_axis(called, len(node.args)):
            numbers.append(node.args[-1])
        for number in numbers:
            if not isinstance(number, n.Number):
                continue
            for other in range(4):
                if other != number.value:
                    changed = f"{text[: number.start]}{other}{text[number.end :]}"
                    yield f"axis {other} in {called}, not {number.text}", changed


# -- one change that makes a formula right ---------------------------------------------------------


def _edit(
    job: Job, name: str, program: Program, samples: Sequence[Sample], enough: float
) -> Edit | None:
    """The first small change to the formula that gives the gradient at every point."""
    points = [Point(job, s.point) for s in samples]
    symmetric, with_signs = symmetric_parts(job, [name]), None
    for count, edit in enumerate(_edits(job, program)):
        if count >= MOST_EDITS:
            break
        changed = or_none(prepare, Source(edit.made_in(program.source.text)))
        if changed is None:
            continue
        with np.errstate(all="ignore"):
            values = (or_none(p.value, changed) for p in points)
            if not all(
                v is not None and close(full(v, s.right[name]), s.right[name], enough)
                for v, s in zip(values, samples, strict=True)
            ):
                continue
            far = samples_farther(job, {name: changed}, [name], symmetric)
            apart = [s for s in far if _apart(job, name, s, changed, 10 * enough) is not None]
        if not apart:
            return edit
        if with_signs is None and all(turned(job, s.point) for s in apart):
            with_signs = edit
    return with_signs


# What people take for one another: a list of slips, not of facts.
_TWINS = {
    "sin": ("cos",), "cos": ("sin",), "sinh": ("cosh",), "cosh": ("sinh",), "exp": ("log", "expm1"),
    "log": ("log2", "log10", "exp"), "sum": ("mean",), "mean": ("sum",), "tanh": ("tan",),
    "tan": ("tanh",), "sigmoid": ("tanh",), "max": ("min",), "min": ("max",),
}  # fmt: skip


def _edits(job: Job, program: Program) -> Iterator[Edit]:
    """Small changes to a formula, the likeliest first."""
    module = program.checked.module
    text = program.source.text
    known = {**job.leaves}
    nodes = [(node, parent) for parent in n.walk(module) for node in n.children(parent)]
    for node, _parent in nodes:
        if isinstance(node, n.Unary) and node.op == "-":
            yield Edit("sign", node.start, node.operand.start, "")
    top = module.body[-1]
    if len(module.body) == 1 and isinstance(top, n.ExprStmt):
        whole = text[top.start : top.end]
        sums = isinstance(top.value, n.Binary) and top.value.op in "+-"
        yield Edit("sign", top.start, top.end, f"-({whole})" if sums else f"-{whole}")
    for node, parent in nodes:
        if isinstance(node, n.Number):
            kind = _kind_of_number(node, parent)
            for value in _other_numbers(node):
                yield Edit(kind, node.start, node.end, value)
    for node, _parent in nodes:
        if isinstance(node, n.Binary):
            left, right = (text[side.start : side.end] for side in (node.left, node.right))
            swap = {"+": "-", "-": "+", "*": "/", "/": "*"}.get(node.op)
            if swap is not None:
                kind = "sign" if node.op in "+-" else "factor"
                yield Edit(kind, node.op_start, node.op_end, swap)
            if node.op in ("*", "/"):
                yield Edit("factor", node.start, node.end, left)
                if node.op == "*":
                    yield Edit("factor", node.start, node.end, right)
            if node.op in ("+", "-"):
                yield Edit("term", node.start, node.end, left)
            if node.op == "@":
                yield Edit("transpose", node.start, node.end, f"({right}) @ ({left})")
        if isinstance(node, n.Call) and isinstance(node.func, n.Name):
            for twin in _TWINS.get(node.func.id, ()):
                yield Edit("function", node.func.start, node.func.end, twin)
        if isinstance(node, n.Attribute) and node.name in ("T", "mT"):
            yield Edit("transpose", node.value.end, node.end, "")
    for node, parent in nodes:
        if isinstance(node, n.Name) and node.id in known:
            shown = text[node.start : node.end]
            for other, leaf in known.items():
                if other != node.id and leaf.array.shape == known[node.id].array.shape:
                    yield Edit("exchanged", node.start, node.end, other)
            if known[node.id].array.ndim == 2 and not isinstance(parent, n.Attribute):
                yield Edit("transpose", node.start, node.end, f"{shown}.T")
            for power in ("**2", "**3"):
                yield Edit("power", node.start, node.end, f"{shown}{power}")
            yield Edit("sign", node.start, node.end, f"(-{shown})")
        if isinstance(node, n.Call):
            shown = text[node.start : node.end]
            yield Edit("power", node.start, node.end, f"{shown}**2")
            func = node.func.id if isinstance(node.func, n.Name) else ""
            if func in ("cumsum", "cumprod") and node.args:
                u = text[node.args[0].start : node.args[0].end]
                back = f"flip({func}(flip({u}, 0), 0), 0)"
                yield Edit("index", node.start, node.end, back)
        if isinstance(node, n.Call | n.Name) and not isinstance(parent, n.Call):
            yield Edit("factor", node.start, node.end, f"(2*{text[node.start : node.end]})")


def _kind_of_number(node: n.Number, parent: n.Node) -> str:
    if isinstance(parent, n.Binary) and parent.op in ("**", "^") and parent.right is node:
        return "power"
    called = _called(parent) if isinstance(parent, n.Call) else ""
    if isinstance(parent, n.Subscript | n.Slice) or called in ("roll", "narrow"):
        return "index"
    axis = isinstance(parent, n.Keyword) and parent.name in ("dim", "axis")
    if isinstance(parent, n.Call) and parent.args[-1:] == (node,):
        axis = _ends_in_axis(called, len(parent.args))
    return "axis" if axis else "factor"


def _other_numbers(node: n.Number) -> list[str]:
    value = node.value
    if isinstance(value, int):
        found = [value + 1, value - 1, 2 * value, -value]
        texts = [str(v) for v in found if v != value]
        half = str(value // 2) if value % 2 == 0 else f"{value}/2"
        return [*texts, half, f"1/{value}"] if value else texts
    if isinstance(value, float):
        return [f"{v:.12g}" for v in (2 * value, value / 2, -value, 1 - value)]
    return []


# -- what is shown ---------------------------------------------------------------------------------


def lines_of(found: Finding, show: Callable[[Any], str]) -> list[str]:
    """The finding in words."""
    head = f"--against for {found.name}"
    if found.agrees:
        but = " but for rounding" if found.rounded else ""
        where = f", with {', '.join(found.held)} as given" if found.held else ""
        if found.signed:
            where += f", where {', '.join(found.signed)} {_HAVE[len(found.signed) == 1]} given"
        lines = [f"{head}: agrees{but} at this point{_tried(found)}{where}"]
        return [*lines, f"  not {_elsewhere(found, show)}"] if found.signed else lines
    lines = []
    if found.first is not None and found.worst is not None:
        where = _entry(found.given, found.right, found.first, show)
        many = f" at {found.differing} of {found.right.size} entries" if found.right.ndim else ""
        lines.append(f"{head}: disagrees{many}; {where}")
        if found.worst != found.first:
            lines.append(f"  worst: {_entry(found.given, found.right, found.worst, show)}")
    elif found.counter is not None and (found.nearby[0] or not found.nearby[1]):
        lines.append(f"{head}: disagrees elsewhere, agrees at this point{_tried(found)}")
    elif found.counter is not None:
        lines.append(f"{head}: agrees at this point by chance, and at none of those nearby")
    else:
        lines.append(f"{head}: has the wrong shape")
    if found.counter is not None:
        lines.append(f"  {_elsewhere(found, show)}")
    if found.mistake is not None:
        lines.append(f"  looks like {found.mistake.said}")
    if found.edit is not None and found.formula is not None:
        start, end = found.edit.start, found.edit.end
        if "\n" not in found.formula:
            lines.append(f"    {found.formula}")
            lines.append(f"    {' ' * start}{'^' * max(1, end - start)}")
        lines.append(f"  help: {found.edit.made_in(found.formula).strip()} agrees")
    return lines


_HAVE = ("have the signs", "has the sign")


def _tried(found: Finding) -> str:
    """At how many other points a formula agrees."""
    if found.formula is None or _NUMBERS.fullmatch(found.formula):
        return ""
    counts = zip((found.nearby, found.farther), ("nearby", "farther"), strict=True)
    said = [f"at {same} of {tried} {where}" for (same, tried), where in counts if tried]
    return f" and {', '.join(said)}" if said else "; no other point could be tried"


def _elsewhere(found: Finding, show: Callable[[Any], str]) -> str:
    """The point at which a formula does not agree, where it is small, and what it gives there."""
    assert found.counter is not None
    sample, place = found.counter
    said = _entry(sample.given[found.name], sample.right[found.name], place, show)
    if sum(v.size for v in sample.point.values()) > SHOWN:
        return said
    at = ", ".join(f"{k} = {show_value(v, 'full')}" for k, v in sample.point.items())
    return f"where {at}: {said}"


def _entry(
    all_given: Any, all_right: Any, place: tuple[int, ...], show: Callable[[Any], str]
) -> str:
    at = f"entry {place if len(place) > 1 else place[0]}: " if place else ""
    both = [all_given[place], all_right[place]]
    given, right = map(show, both)
    if given == right:
        given, right = (show_value(v, "full") for v in both)
    return f"{at}given {given}, it is {right}"


def record_of(found: Finding, tensor: Callable[[Any], Any]) -> dict[str, Any]:
    """The finding for ``--json``."""
    record: dict[str, Any] = {"agrees": found.agrees, "given": tensor(found.given)}
    if found.nearby[1]:
        record["nearby"] = list(found.nearby)
    if found.farther[1]:
        record["farther"] = list(found.farther)
    if found.held:
        record["held"] = found.held
    if found.signed:
        record["signed"] = found.signed
    if found.counter is not None:
        record["differs_at"] = {k: tensor(v) for k, v in found.counter[0].point.items()}
    if not found.agrees:
        record["first"] = None if found.first is None else list(found.first)
        record["worst"] = None if found.worst is None else list(found.worst)
        record["kind"] = None if found.mistake is None else found.mistake.kind
        record["message"] = None if found.mistake is None else found.mistake.said
        if found.edit is not None and found.formula is not None:
            record["suggestion"] = found.edit.made_in(found.formula)
    return record
