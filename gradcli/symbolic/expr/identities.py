"""What the declarations of the operators say of functions: parity, sign, squares, quotients.

Read once from ``gradcli.ops``, by the operator's name, as bases of formulas have it.
"""

from __future__ import annotations

from gradcli.ops.operator import OPERATORS

ODD = frozenset(op.name for op in OPERATORS.values() if op.parity == "odd")
EVEN = frozenset(op.name for op in OPERATORS.values() if op.parity == "even")
POSITIVE = frozenset(op.name for op in OPERATORS.values() if op.positive)
PIECEWISE = frozenset(op.name for op in OPERATORS.values() if op.breaks and op.parity != "even")
"""Functions of pieces, of which two may be equal on a whole interval; abs alone may not."""
SQUARES = {op.name: op.square for op in OPERATORS.values() if op.square is not None}
"""f -> (g, a, b) where f**2 is a + b*g**2: sin, cos, sinh and cosh."""
QUOTIENTS = {op.name: op.quotient for op in OPERATORS.values() if op.quotient is not None}
"""f -> (g, h) where f is g/h: tan and tanh."""
ORDERS = {op.name: 1 if op.infix[0] == ">" else -1 for op in OPERATORS.values()
          if op.infix[:1] in ("<", ">")}  # fmt: skip
"""Comparisons of size: 1 where the left side is the larger one, else -1."""
