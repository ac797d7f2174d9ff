"""The cost rule by which closed forms are compared: one for every operation, names free.

Counted on Python's own parse of the text, so that it owes nothing to the writer that it judges.
"""

from __future__ import annotations

import ast


def cost(text: str) -> int:
    """Operations in a text: + - * / ** @, calls, ``.T``, comparisons, minus on a non-literal."""
    total = 0
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.UnaryOp):
            total += not isinstance(node.operand, ast.Constant)
        elif isinstance(node, ast.Compare):
            total += len(node.ops)
        elif isinstance(node, ast.BinOp | ast.Call | ast.Attribute):
            total += 1
    return total
