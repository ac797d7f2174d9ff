"""Parts and variants of an expression, of which a diagnosis asks the values and gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradcli.cli.against.point import Point, or_none
from gradcli.cli.job import Job
from gradcli.display.mistakes import Part, Parts, Sample
from gradcli.language.runtime.run import Program, prepare
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.source import Source
from gradcli.ops.operator import OPERATORS

MOST_PARTS = 60


def parts_of(job: Job, name: str, samples: Sequence[Sample], formula: str | None) -> Parts:
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


def called_name(node: n.Call) -> str:
    """The name of what is called, a function's or a method's."""
    return getattr(node.func, "id", getattr(node.func, "name", ""))


def ends_in_axis(name: str, count: int) -> bool:
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
        called = called_name(node)
        numbers = [k.value for k in node.keywords if k.name in ("dim", "axis")]
        if ends_in_axis(called, len(node.args)):
            numbers.append(node.args[-1])
        for number in numbers:
            if not isinstance(number, n.Number):
                continue
            for other in range(4):
                if other != number.value:
                    changed = f"{text[: number.start]}{other}{text[number.end :]}"
                    yield f"axis {other} in {called}, not {number.text}", changed
