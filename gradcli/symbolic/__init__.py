"""Closed forms: ``diff`` writes a derivative as an expression, traced from the operators' rules.

    closed_form              diff itself
    directional_derivative   in a direction; by symmetric matrices as such
    path_diff                of a program, along the path that given values take
    series, roots            Taylor series; where a formula is zero
    verify                   every answer against the numeric engine
    kinks, symmetry          what is said of a point without a derivative; S.T for S
    program   a text as a flat list of steps       shapes     declared and inferred shapes
    trace     steps and rules run on symbols       expr       symbolic tensors by index
    simplify  the shortest of many equal forms     emit       back to the language
    printers  LaTeX, NumPy, PyTorch, JAX           rule_printing  an operator's rule as text

Nothing here is loaded before it is used.
"""

from __future__ import annotations

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli._lazy import lazily

_HOMES = {
    "diff": "closed_form", "Result": "closed_form", "diff_program": "path_diff",
    "rule_text": "rule_printing", "partial_text": "rule_printing",
    "parse_declaration": "shapes.declarations", "Declaration": "shapes.declarations",
    "directional": "directional_derivative", "structured": "directional_derivative",
    "zeros": "roots", "taylor": "series",
}  # fmt: skip

__getattr__ = lazily(__name__, {name: f"gradcli.symbolic.{home}" for name, home in _HOMES.items()})

__all__ = [
    "Declaration", "Result", "diff", "diff_program", "directional", "parse_declaration",
    "rule_text", "structured", "taylor", "zeros",
]  # fmt: skip
