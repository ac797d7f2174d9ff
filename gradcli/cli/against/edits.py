"""One small change to a formula that makes it the gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gradcli.cli.against.differences import apart_at
from gradcli.cli.against.parts import called_name, ends_in_axis
from gradcli.cli.against.point import Point, full, or_none
from gradcli.cli.against.trial_points import samples_farther, symmetric_parts, turned
from gradcli.cli.job import Job
from gradcli.display.mistakes import Sample, close
from gradcli.language.runtime.run import Program, prepare
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.source import Source

MOST_EDITS = 400
# Kinds of mistakes; that some are names of operators is chance.
WORDS = {
    "factor": "a factor", "sign": "the sign of one term", "power": "the wrong power",
    "index": "off by an index", "axis": "the wrong axis", "exchanged": "two variables exchanged",
    "transpose": "a transpose", "function": "another function", "term": "a term too many",
    "sum": "a missing sum",
}  # fmt: skip


class Edit(NamedTuple):
    """A change to a formula that makes it right."""

    kind: str
    start: int
    end: int
    text: str

    def made_in(self, formula: str) -> str:
        """The formula with the change."""
        return formula[: self.start] + self.text + formula[self.end :]


def mending_edit(
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
            apart = [s for s in far if apart_at(job, name, s, changed, 10 * enough) is not None]
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
    called = called_name(parent) if isinstance(parent, n.Call) else ""
    if isinstance(parent, n.Subscript | n.Slice) or called in ("roll", "narrow"):
        return "index"
    axis = isinstance(parent, n.Keyword) and parent.name in ("dim", "axis")
    if isinstance(parent, n.Call) and parent.args[-1:] == (node,):
        axis = ends_in_axis(called, len(parent.args))
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
