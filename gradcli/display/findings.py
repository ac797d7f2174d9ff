"""Where a NaN or an infinity in a program comes from, in words and with its place in the text.

    error[E0501]: log of a negative number gives NaN
       --> <expr>:1:5
       1 | sum(log(x - 2))
         |     ^^^^^^^^^^ x - 2 is -1 at index 0; 1 of 4 elements
       note: NaN appears first here, on the forward pass
       help: keep the argument above 0: clamp(x, min=1e-12), or softplus(x) where x may be anything

The program runs once more, watched: every statement that leaves a value that is not finite, every
backward pass it calls for, and at the end the graph of its result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.engine import Tensor
from gradcli.engine.backward.nan_search import (
    Finding,
    GradientFound,
    first_nonfinite,
    first_nonfinite_gradient,
    stop_at_nonfinite,
)
from gradcli.language.diagnostics.render import Diagnostic
from gradcli.language.runtime.run import Limits, Program
from gradcli.language.syntax import nodes as n
from gradcli.ops.declaration.cures import LATER
from gradcli.ops.errors import RuntimeFault
from gradcli.ops.operator import OPERATORS


class Diagnosis(RuntimeFault):
    """A value or a gradient that is not finite (E0501), as a fault with its place.

    backward   whether it appeared on the backward pass
    finding    the engine's ``Finding``; None where only the statement is known
    value      the entry itself
    reaches    whether the result is not finite because of it
    """

    def __init__(self, message: str, value: Any, backward: bool, finding: Finding | None) -> None:
        super().__init__("E0501", message)
        self.value = value
        self.backward = backward
        self.finding = finding
        self.reaches = finding.reaches if finding is not None else True
        self.source: Any = None
        self.labels: list = []


def examine(
    program: Program, leaves: Mapping[str, Any], limits: Limits, of: str | None = None
) -> list[Diagnosis]:
    """The first value that is not finite going forward, and the first gradient going backward.

    ``leaves`` are the variables; they are copied, so that nothing of the caller's changes. ``of``
    names the result where it is not the last expression. Raises what the program raises.

    Example:
        >>> import gradcli
        >>> from gradcli.language.runtime.run import Limits, prepare
        >>> x = gradcli.tensor([3.0, 0.0], requires_grad=True)
        >>> for found in examine(prepare("sum(sqrt(x)) + log(x[1])"), {"x": x}, Limits()):
        ...     print(found.message)
        log of zero gives -inf
        the slope of log at zero gives an infinite number
    """
    given = {}
    for name, leaf in leaves.items():
        if isinstance(leaf, Tensor) and leaf.dtype.differentiable:
            leaf = OPERATORS["clone"](leaf.detach())
            if not _finite(leaf.array):
                return [_given(name, leaf.array, program)]
            leaf.requires_grad_()
        given[name] = leaf
    if program.names.sums and _healthy(program, given, limits, of):
        return []
    watcher = _Watcher()
    value = back = None
    with stop_at_nonfinite():
        try:
            outcome = program.run(given, limits=limits, watch=watcher)
            value = program.result(outcome, of)
        except GradientFound as stop:
            back = stop.finding
    forward = watcher.finding
    if isinstance(value, Tensor) and value.edge is not None:
        found = first_nonfinite(value)
        if found is not None and (found.reaches or forward is None):
            forward = found
        if back is None:
            back = first_nonfinite_gradient(value)
    if isinstance(value, Tensor) and _finite(value.array) and forward is not None:
        forward.reaches = False
    said = []
    if isinstance(forward, Finding):
        said.append(_diagnosis(forward, False, program))
    elif forward is not None:
        said.append(forward.diagnosis(program))
    if back is not None:
        said.append(_diagnosis(back, True, program))
    return said


def _healthy(program: Program, given: Mapping[str, Any], limits: Limits, of: str | None) -> bool:
    """Whether a text is healthy where its long sums are computed by their different terms."""
    outcome = program.run(given, limits=limits)
    value = program.result(outcome, of)
    if not program.names.sums or not isinstance(value, Tensor) or not _finite(value.array):
        return False
    return value.edge is None or (
        first_nonfinite(value) is None and first_nonfinite_gradient(value) is None
    )


def text_of(found: list[Diagnosis], colour: bool = False) -> str:
    """The diagnoses one below the other."""
    return "\n\n".join(Diagnostic.of(f).render(colour) for f in found)


def record_of(said: Diagnosis) -> dict[str, Any]:
    """A diagnosis for ``--json``: error object, pass, and what is known of the operation."""
    record = Diagnostic.of(said).to_json()
    record["pass"] = "backward" if said.backward else "forward"
    record["reaches_result"] = said.reaches
    record["value"] = said.value
    finding = said.finding
    if finding is not None:
        operands = [v if isinstance(v, int | float) else None for v in finding.operands]
        record |= {
            "operator": finding.operator, "index": list(finding.index), "operands": operands,
            "count": finding.count, "size": finding.size,
        }  # fmt: skip
    return record


@dataclass(eq=False)
class _Statement:
    """A statement that left a value that is not finite, without a graph that says where."""

    start: int
    name: str
    array: Any
    reaches: bool = True

    def diagnosis(self, program: Program) -> Diagnosis:
        """In words, under the statement."""
        _, value, spread = _first(self.array)
        what = self.name if self.name not in ("", "returns") else "the value"
        said = Diagnosis(f"{what} is {_named(value)}", value, False, None)
        said.reaches = self.reaches
        text = program.source.text
        line = text.find("\n", self.start)
        end = self.start + len(text[self.start : line if line >= 0 else len(text)].rstrip())
        said.source, said.labels = program.source, [(self.start, end, spread, True)]
        said.notes = (_noted(value, False, self.reaches),)
        said.help = "values with a gradient are followed to the operation: requires_grad=True"
        return said


class _Watcher:
    """Called after every statement with what it left; keeps the first that is not finite."""

    def __init__(self) -> None:
        self.finding: Finding | _Statement | None = None

    def __call__(self, start: int, *left: Any) -> None:
        if self.finding is not None:
            return
        for name, value in zip(left[::2], left[1::2], strict=True):
            # An infinite number of Python's is mostly meant: the start of a search for a minimum.
            if value.__class__ is float and math.isnan(value):
                self.finding = _Statement(start, name, np.float64(value))
            elif isinstance(value, Tensor) and not _finite(value.array):
                self.finding = first_nonfinite(value) or _Statement(start, name, value.array)


def _finite(array: Any) -> bool:
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def _first(array: Any) -> tuple[tuple, Any, str]:
    """Index and value of the first entry that is not finite, and how many there are, in words."""
    bad = ~np.isfinite(array)
    if not np.ndim(array):
        return (), array.item(), ""
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    return index, array[index].item(), _spread(index, int(bad.sum()), array.size)


def _spread(index: tuple, count: int, size: int) -> str:
    return f"at index {', '.join(map(str, index))}; {count} of {size} elements"


def _named(value: Any) -> str:
    if value != value:
        return "NaN"
    return str(value) if isinstance(value, float) and value < 0 else "an infinite number"


def _noted(value: Any, backward: bool, reaches: bool) -> str:
    way = "backward" if backward else "forward"
    said = f"{_named(value)} appears first here, on the {way} pass"
    return said if reaches else f"{said}; the result is finite all the same"


def _given(name: str, array: Any, program: Program) -> Diagnosis:
    _, value, spread = _first(array)
    said = Diagnosis(f"`{name}` was given as a number that is not finite", value, False, None)
    place = program.names.outer.get(name)
    if place is not None:
        said.source = program.source
        said.labels = [(place.start, place.end, spread, True)]
    said.help = "give finite numbers"
    return said


def _diagnosis(found: Finding, backward: bool, program: Program) -> Diagnosis:
    why, cure = reason(found.operator, found.operands, backward)
    if why is None:
        why = f"the gradient of {found.operator}" if backward else found.operator
    verb = "gives" if found.operator != "leaf" else "is"
    message = f"{why} {verb} {_named(found.value)}"
    said = Diagnosis(message, found.value, backward, found)
    node = program.node_at(found.place[1]) if found.place is not None else None
    where = _operands(found, node, program)
    if node is not None:
        said.source, said.labels = program.source, [(node.start, node.end, where, True)]
        where = ""
    said.notes = (*([where] if where else ()), _noted(found.value, backward, found.reaches))
    said.help = cure
    return said


def _operands(found: Finding, node: n.Node | None, program: Program) -> str:
    """``x - 2 is -1 at index 0; 1 of 4 elements``."""
    texts: list[str] = []
    source = program.source.text
    if isinstance(node, n.Call):
        args = node.args
        if isinstance(node.func, n.Attribute) and len(args) < len(found.operands):
            args = (node.func.value, *args)
        texts = [source[a.start : a.end] for a in args]
    elif isinstance(node, n.Binary):
        texts = [source[a.start : a.end] for a in (node.left, node.right)]
    parts = [
        f"{text} is {value:.6g}"
        for text, value in zip(texts, found.operands, strict=False)
        if isinstance(value, int | float) and not text.replace(".", "").isdigit()
    ]
    said = ", ".join(parts)
    if found.index:
        spread = _spread(found.index, found.count, found.size)
        said += f"{' ' if said else ''}{spread}"
    return said


def reason(operator: str, operands: tuple[Any, ...], backward: bool) -> tuple[str | None, str]:
    """Why, in a few words (None where nothing is known), and the usual cure.

    ``operands`` are the values at the place, None where one is not known; ``operator`` is ``leaf``
    for a number that was given.

    >>> reason("log", (-1.0,), backward=False)[0]
    'log of a negative number'
    >>> reason("div", (2.0, 0.0), backward=False)[0]
    'division by zero'
    """
    if backward and any(isinstance(v, float) and not math.isfinite(v) for v in operands):
        return None, "an operand is not finite already: mend what the forward pass finds first"
    if operator == "leaf":
        return None if backward else "a number that was given", "give a finite number"
    op = OPERATORS.get(operator)
    known = all(isinstance(v, int | float) and not math.isnan(v) for v in operands)
    sums = op is not None and op.infix in ("+", "-", "*")
    if known and any(math.isinf(v) for v in operands) and not sums:
        return f"{operator} of an infinite number", LATER
    edge = "where() and clamp() keep values away from an edge"
    if op is None:
        return None, edge
    given = dict(zip(op.inputs, operands, strict=False))
    for when, why, cure in op.cures:
        if why.startswith("the slope of") is not backward:
            continue
        if not when or (known and len(operands) == op.arity and eval(when, {}, given)):
            return why.format(op=operator), cure.format(op=operator)
    if backward:
        return None, reason(operator, operands, False)[1]
    asked = f"{operator} asks for {op.domain}; where() and clamp() keep values away from it"
    return None, edge if op.domain == "all x" else asked
