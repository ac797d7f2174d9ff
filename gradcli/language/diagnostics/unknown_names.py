"""Explanations of names and attributes that do not exist: the nearest one, or what to write."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.diagnostics.foreign_names import (
    ATTRIBUTES,
    ELSEWHERE,
    FUNCTIONS,
    IMPORTS,
    OF_LISTS,
    VALUES,
    module_help,
)
from gradcli.language.diagnostics.render import SyntaxFault, closest, did_you_mean
from gradcli.language.names.attributes import WITHHELD, attributes_of
from gradcli.language.names.exceptions import UnknownAttribute
from gradcli.language.names.table import CALLED, CONSTANTS, NAMES, namespace
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault

MOST = 5
"""The most mistakes that one run shows, the first included."""


def unknown(
    source: Source, node: n.Name, called: bool, given: Collection[str], known: Sequence[str]
) -> SyntaxFault:
    """The fault (E0201, E0202) for a name that has no meaning.

    called   whether the program calls it as a function
    given    the names that have values
    known    those and the names that the program binds
    """
    name = node.id

    def fault(code: str, message: str, label: str = "", help: str | None = None) -> SyntaxFault:
        return SyntaxFault(code, message, source, node.start, node.end, label, help=help)

    if name in VALUES:
        return fault("E0202", f"no value for `{name}`", help=f"write {VALUES[name]}")
    if name in IMPORTS and (namespace(name) is not None or not called):
        shown = _bare(source, node) or "sin(x)"
        return fault(
            "E0202", f"`{name}` is not imported",
            help=f"write `{IMPORTS[name]}` first, or the bare name: {shown}",
        )  # fmt: skip
    if name in ELSEWHERE and (bare := _bare(source, node)) is not None:
        return fault("E0202", f"`{name}` is not imported", help=f"write the bare name: {bare}")
    if called:
        if name in WITHHELD or name in FUNCTIONS:
            return fault(
                "E0201", f"programs cannot use `{name}`", help=WITHHELD.get(name) or FUNCTIONS[name]
            )
        near = closest(name, [k for k in (*NAMES, *CALLED) if k not in CONSTANTS] + [*known])
        return fault(
            "E0201", f"unknown function `{name}`",
            help=f"did you mean `{near}`? (all: gradcli ops)" if near else
            "all functions: gradcli ops",
        )  # fmt: skip
    near = closest(name, known) or closest(name, NAMES)
    if len(name) == 1:  # one letter is near to every other: only its other case is a slip
        near = next((k for k in known if k != name and k.lower() == name.lower()), None)
    have = f"given: {', '.join(sorted(given))}" if given else ""
    mend = f"add --{name} VALUE, or stay symbolic with gradcli diff"
    said = f"no value for `{name}`"
    return fault("E0202", said, have, help=f"did you mean `{near}`? Or {mend}" if near else mend)


def not_in_module(
    source: Source, node: n.Attribute, prefix: str, module: str, dotted: str
) -> SyntaxFault:
    """The fault (E0204, E0206) for ``prefix.dotted`` of a module that has no such value."""

    def fault(code: str, message: str, help: str) -> SyntaxFault:
        return SyntaxFault(code, message, source, node.start, node.end, help=help)

    if namespace(f"{module}.{dotted}") is not None:
        return fault(
            "E0206", f"`{dotted}` is a module, not a value",
            f"write `import {module}.{dotted} as {node.name[0].upper()}` on top",
        )  # fmt: skip
    last = node.name
    if last in WITHHELD:
        return fault("E0204", f"programs cannot use `{last}`", WITHHELD[last])
    near = None if last in FUNCTIONS else closest(dotted, namespace(module) or ())
    mend = f"did you mean `{prefix}.{near}`?" if near else module_help(f"{module}.{dotted}")
    return fault("E0204", f"`{prefix}` has no `{dotted}` here", mend or "all names: gradcli ops")


def _bare(source: Source, node: n.Name) -> str | None:
    """The last of the names after a prefix, where the language has it: ``norm`` of linalg.norm."""
    dotted = re.match(r"(?:\s*\.\s*[^\W\d]\w*)+", source.text[node.end :])
    last = dotted[0].rpartition(".")[2].strip() if dotted else ""
    return last if last in NAMES or last in CALLED else None


def name_help(fault: Fault, frames: list, program: Any) -> str | None:
    """What to write for a name without a value (E0203): its nearest, or where it comes from."""
    found = _NO_VALUE.search(fault.message) if fault.code == "E0203" else None
    if found is None:
        return None
    name, holder = found[1], frames[-1].holder
    if isinstance(holder, n.Def) and name in program.names.bound:
        return (
            f"`{name}` is assigned in {holder.name}, so it is a name of its own there: "
            f"give it as a parameter and return it"
        )
    near = closest(name, program.names.bound)
    return f"did you mean `{near}`?" if near and len(name) > 1 else None


_NO_VALUE = re.compile(r"no value yet for '(\w+)'")


def attribute_help(fault: UnknownAttribute) -> str | None:
    """What to write instead of an attribute that a value does not have (E0204)."""
    kind, name = fault.kind, str(fault.name)
    mend = did_you_mean(name, attributes_of(kind), None, "`{}`")
    if kind.__name__ in ("function", "builtin_function_or_method", "Operator"):
        return "to use what it gives, call it first: x.sum().item()"
    if kind is list:
        return OF_LISTS.get(name, mend)
    if kind is Tensor or mend is None:
        return ATTRIBUTES.get(name, mend)
    return mend
