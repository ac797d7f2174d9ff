"""What a name that is called stands for: an operator, a function composed of operators, or none."""

from __future__ import annotations

import functools
from typing import Any

from gradcli.language.compile.resolve import Checked
from gradcli.language.names.table import CALLED, NAMES, namespace
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import Fault
from gradcli.ops.operator import OPERATORS, Operator


def composed_function(checked: Checked, func: n.Node, name: str) -> Any:
    """What a composed function's name stands for; None where it is not known."""
    if isinstance(func, n.Name):
        if func.id in checked.imported:
            return checked.imported[func.id]
    elif held := checked.in_module(func):
        found = namespace(checked.modules[held[0].id])
        return None if found is None else found.get(held[1])
    return NAMES.get(name) or CALLED.get(name)


@functools.lru_cache(maxsize=1)
def _by_name(count: int) -> dict[str, Operator]:
    """The operators by their names and aliases, when there are so many."""
    found: dict[str, Operator] = {}
    for op in OPERATORS.values():
        for known in (op.name, *op.aliases):
            found.setdefault(known, op)
    return found


def called_by_name(name: str) -> Operator | None:
    """The operator of a name, or of an alias."""
    return _by_name(len(OPERATORS)).get(name)


def not_imported(checked: Checked, func: n.Node) -> tuple[Fault, bool] | None:
    """The fault for ``np`` of ``np.sum`` where nobody imported it, and whether it is sure.

    None where what stands before the dot is no prefix of a module; ``F`` may be a variable.
    """
    inner = func
    while isinstance(inner, n.Attribute):
        inner = inner.value
    if inner is func or not isinstance(inner, n.Name) or inner.id not in checked.outer:
        return None
    # Loaded late: these explain a fault.
    from gradcli.language.diagnostics.foreign_names import ELSEWHERE, IMPORTS, SHORT

    if inner.id not in ELSEWHERE and inner.id not in IMPORTS:
        return None
    from gradcli.language.diagnostics.unknown_names import unknown

    called = inner.id in checked.called
    return unknown(checked.source, inner, called, (), ()), inner.id not in SHORT
