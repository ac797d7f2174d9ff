"""What is said of names that nobody gave a meaning. Loaded only when there is one."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from gradcli.language.diagnostics.foreign_names import ELSEWHERE, FUNCTIONS, IMPORTS, VALUES
from gradcli.language.diagnostics.render import SyntaxFault, closest
from gradcli.language.names.table import CALLED, CONSTANTS, NAMES, WITHHELD, namespace
from gradcli.language.syntax import nodes as n

if TYPE_CHECKING:
    from gradcli.language.compile.resolve import Checked

MOST = 5
"""The most mistakes that one run shows, the first included."""


def unknown(
    checked: Checked, node: n.Name, given: Collection[str], known: Sequence[str]
) -> SyntaxFault:
    """The fault (E0201, E0202) for a name that has no meaning."""
    name = node.id

    def fault(code: str, message: str, label: str = "", **more: str) -> SyntaxFault:
        return SyntaxFault(code, message, checked.source, node.start, node.end, label, **more)

    if name in VALUES:
        return fault("E0202", f"no value for `{name}`", help=f"write {VALUES[name]}")
    if name in IMPORTS and (namespace(name) is not None or name not in checked.called):
        bare = _bare(checked, node) or "sin(x)"
        return fault(
            "E0202", f"`{name}` is not imported",
            help=f"write `{IMPORTS[name]}` first, or the bare name: {bare}",
        )  # fmt: skip
    if name in ELSEWHERE and (bare := _bare(checked, node)) is not None:
        return fault(
            "E0202", f"`{name}` is not imported", help=f"write the bare name: {bare}"
        )  # fmt: skip
    if name in checked.called:
        if name in WITHHELD or name in FUNCTIONS:
            return fault(
                "E0201", f"programs cannot use `{name}`",
                help=WITHHELD.get(name) or FUNCTIONS[name],
            )  # fmt: skip
        near = closest(name, [k for k in (*NAMES, *CALLED) if k not in CONSTANTS] + [*known])
        mend = (
            f"did you mean `{near}`? (all: gradcli ops)" if near else "all functions: gradcli ops"
        )
        return fault("E0201", f"unknown function `{name}`", help=mend)
    near = closest(name, known) or closest(name, NAMES)
    if len(name) == 1:  # one letter is near to every other: only its other case is a slip
        near = next((k for k in known if k != name and k.lower() == name.lower()), None)
    have = f"given: {', '.join(sorted(given))}" if given else ""
    mend = f"add --{name} VALUE, or stay symbolic with gradcli diff"
    return fault(
        "E0202", f"no value for `{name}`", have,
        help=f"did you mean `{near}`? Or {mend}" if near else mend,
    )  # fmt: skip


def _bare(checked: Checked, node: n.Name) -> str | None:
    """The last of the names after a prefix, where the language has it: ``norm`` of linalg.norm."""
    dotted = re.match(r"(?:\s*\.\s*[^\W\d]\w*)+", checked.source.text[node.end :])
    last = dotted[0].rpartition(".")[2].strip() if dotted else ""
    return last if last in NAMES or last in CALLED else None
