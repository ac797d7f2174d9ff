"""What a program asked on its way, in its own words: ``b.norm() < 1000 held 9 times``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.printer import unparse
from gradcli.ops.declaration.infix import MIRRORED
from gradcli.symbolic.program.steps import COMPARISON


class Condition:
    """A question that the program asked: its text, its line, and the answers in order."""

    __slots__ = ("answers", "line", "node", "text")

    def __init__(self, text: str, line: int, node: n.Node | None) -> None:
        self.text = text
        self.line = line
        self.node = node
        self.answers: list[bool] = []

    def __str__(self) -> str:
        held = sum(self.answers)
        last = self.answers[-1]
        if held == len(self.answers) or (held == len(self.answers) - 1 and not last and held):
            return self.text if held == 1 and last else f"{self.text} held {_times(held)}"
        if not held:
            times = len(self.answers)
            return f"{self.text} did not hold" + (f" {_times(times)}" if times > 1 else "")
        return f"{self.text} held {held} of {len(self.answers)} times"

    def record(self) -> dict[str, Any]:
        """The condition as plain data."""
        return {
            "condition": self.text, "line": self.line, "held": sum(self.answers),
            "asked": len(self.answers),
        }  # fmt: skip


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def conditions_text(conditions: Sequence[Condition]) -> str:
    """``valid while b.norm() < 1000 held 9 times and b.sum() > 0``; "" without conditions."""
    if not conditions:
        return ""
    return "valid while " + " and ".join(map(str, conditions))


def words(node: n.Node, op: str) -> str:
    """What was asked, as the program says it."""
    if isinstance(node, n.Compare):
        sides = [node.left, *node.rights]
        for i, sign in enumerate(node.ops):  # Python turns 0 < x into x > 0
            turned = isinstance(sides[i], n.Number)
            if COMPARISON.get(MIRRORED.get(sign, sign) if turned else sign) == op:
                return f"{unparse(sides[i])} {sign} {unparse(sides[i + 1])}"
        return unparse(node)
    if not isinstance(node, n.Expr):
        parts = (getattr(node, name, None) for name in ("test", "iter", "value"))
        node = next((part for part in parts if part), node)
    text = unparse(node) if isinstance(node, n.Expr) else "a value"
    return f"{text} {op}" if op.startswith("==") else text
