"""``?name``: what a name stands for here: its signature, rule, shape and an example."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from gradcli.cli.commands.ops import facts, rows_of
from gradcli.cli.repl.session import LAST_BUT_ONE, Session
from gradcli.display.values import show_value
from gradcli.engine import Tensor
from gradcli.engine.grad_mode import no_grad
from gradcli.language.diagnostics.render import did_you_mean
from gradcli.language.limits.sizes import Lazy
from gradcli.language.limits.step_budget import FILE
from gradcli.language.names.attributes import CALL, READ
from gradcli.language.names.mappings import Set
from gradcli.language.names.records import ClassRecord, record_of
from gradcli.language.names.table import CALLED, CONSTANTS, NAMES, namespace
from gradcli.language.type_names import a_value
from gradcli.ops.errors import ValueFault
from gradcli.ops.operator import OPERATORS

WIDTH = 12
WIDEST = 60
"""Columns of a value in one line."""


def describe(session: Session, name: str) -> str:
    """What ``name`` is: a variable, an operator, a function, a method, an attribute.

    Raises ValueFault (E0907) with the nearest name.
    """
    name = name.strip()
    holder, dot, last = name.rpartition(".")
    if name in session.variables and name != LAST_BUT_ONE:
        return _variable(session, name)
    if name in CONSTANTS:
        return f"{name} = {CONSTANTS[name]!r}"
    by_name = {n: op for op in OPERATORS.values() for n in (op.name, *op.aliases)}
    of_tensor = holder == "Tensor" or isinstance(session.variables.get(holder), Tensor)
    if dot and of_tensor and last in READ[Tensor]:
        return _rows([(name, "an attribute of tensors"), *_doc(getattr(Tensor, last, None))])
    if last in by_name:
        return _operator(by_name[last])
    found = NAMES.get(last) or CALLED.get(last) or (CALL[Tensor].get(last) if dot else None)
    if found is not None:
        return _rows([(signature(last, found), ""), *_doc(found)])
    modules = session.program.names.modules if session.program is not None else {}
    first, _, path = holder.partition(".")
    table = namespace(".".join(filter(None, (modules.get(first, ""), path)))) if dot else None
    if table is not None and last in table:
        return _rows([(signature(last, table[last]), ""), *_doc(table[last])])
    known = [*session.variables, *NAMES, *CALLED, *by_name]
    mend = did_you_mean(name, known, ":vars shows the variables, :ops the operators")
    raise ValueFault("E0907", f"nothing is called {name} here", help=mend)


def signature(name: str, function: Any) -> str:
    """``name(parameters)`` as a program calls it."""
    op = getattr(function, "operator", None) or OPERATORS.get(name)
    if isinstance(function, FunctionType) and function.__code__.co_filename == FILE:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        return f"{name}({', '.join(n.removeprefix('v_') for n in names)})"
    try:
        plain = getattr(function, "__wrapped__", function)
        shown = inspect.signature(plain).replace(return_annotation=inspect.Signature.empty)
        parameters = [p.replace(annotation=p.empty) for p in shown.parameters.values()]
        parameters = [p for p in parameters if not p.name.startswith("_") and p.name != "self"]
        text = str(shown.replace(parameters=parameters))
    except (TypeError, ValueError):
        text = "(...)"
    if op is not None and ("*" in text or text == "(...)"):
        return str(op.signature())
    return f"{name}{text}"


@no_grad()  # a view that nothing may be recorded of is shown, too
def brief(value: Any) -> str:
    """A value in a few columns."""
    if isinstance(value, Tensor):
        if value.array.size > 6 or value.array.ndim > 1:
            return f"from {value.array.min():.4g} to {value.array.max():.4g}" if (
                value.array.size and value.array.dtype.kind in "fiu"
            ) else ""  # fmt: skip
        return show_value(value.detach().cpu().array)
    text = repr(value) if isinstance(value, str | int | float | complex) else ""
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."


def kind(value: Any) -> str:
    """What a value is, with its shape and element type where it has those."""
    if isinstance(value, Tensor):
        shape = f"[{', '.join(map(str, value.array.shape))}]" if value.array.shape else ""
        return f"{value.dtype.name}{shape}"
    if isinstance(value, FunctionType):
        return "function"
    if isinstance(value, list | tuple | dict | Set):
        return f"{type(value).__name__.lower()} of {len(value)}"
    if isinstance(value, ClassRecord):
        return "class"
    own = record_of(value)
    if own is not None:
        return own.__name__
    return value.kind.partition(" ")[0] if isinstance(value, Lazy) else type(value).__name__


@no_grad()
def standing(value: Any) -> str:
    """The place of a tensor in the graph, and whether it has a gradient."""
    if not isinstance(value, Tensor) or not value.requires_grad:
        return ""
    edge = value.edge
    name, kept = ("leaf", True) if edge.leaf else (edge.name(), value.retains_grad)
    return name + (", with grad" if kept and value.grad is not None else "")


def _variable(session: Session, name: str) -> str:
    value = session.variables[name]
    if isinstance(value, FunctionType):
        rows = [(signature(name, value), "a function of this session")]
        text = _source(session, name)
        return _rows(rows) + (f"\n{text}" if text else "")
    plain = not isinstance(value, Tensor | ClassRecord) and record_of(value) is None
    rows = [(name, a_value(value) if plain else kind(value))]
    for label, text in (("value", brief(value)), ("graph", standing(value))):
        if text:
            rows.append((label, text))
    if isinstance(value, Tensor) and value.requires_grad and "with grad" in standing(value):
        rows.append(("grad", brief(value.grad) or kind(value.grad)))
    return _rows(rows)


def _source(session: Session, name: str) -> str:
    for line in reversed(session.lines):
        if f"def {name}" in line.text or f"{name} =" in line.text:
            return line.text
    return ""


def _operator(op: Any) -> str:
    shown = facts(op)
    return _rows(rows_of({**shown, "example": shown["example"].replace("gradcli ", ":", 1)}))


def _doc(function: Any) -> list[tuple[str, str]]:
    described = callable(function) or isinstance(function, property)
    doc = inspect.getdoc(function) if described else None
    return [("", line) for line in (doc or "").split("\n\n")[0].splitlines()]


def _rows(rows: list[tuple[str, str]]) -> str:
    width = max((len(label) for label, text in rows if text), default=0)
    return "\n".join(f"{label:<{max(width, WIDTH)}} {text}".rstrip() for label, text in rows)
