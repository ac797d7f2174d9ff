"""Closed forms: ``diff`` writes a derivative as an expression, traced from the operators' rules.

    program     a text as a flat list of steps
    shapes      declared and inferred shapes (unify: their sizes)
    spelled     functions composed of operators, as the operators that they call
    symbol      values that build formulas; operations, calls: what operators do to them
                (indexing, joining, matrices, reductions, specials: further ones)
    base, terms, value    symbolic tensors in index notation (dummies: summed labels)
    trace       the derivative, by the rules of gradcli.ops
    simplify    the search for the shortest of many forms of equal value, within a budget:
                algebra (factors, groups), recognise and relations (named functions),
                normal and arrangements (one fraction; multivariate: its polynomials)
    write       back to the language (contraction: matrix products, collect: common factors)
    text        the answer's tree and its cost (tree: its nodes; gather: shorter products)
    derive      diff itself
    check       every answer against the numeric engine
    rules       an operator's rule as text
    let         names for what stands twice (formula: what the printers read)
    latex       LaTeX (latex_spread: products, broadcasting; latex_entries: by indices;
                latex_joined: blocks; latex_tables: heads; latex_text: factors)
    code        functions for NumPy, PyTorch and JAX (code_tables: their names)
    path        a program's run as straight-line steps (follow, path_methods: how it is run;
                pathdiff: its derivative, checked)
    variants    derivatives in a direction, and by symmetric matrices as such
    questions   zeros (polynomial: exact ones); series: Taylor series

Nothing here is loaded before it is used.
"""

from __future__ import annotations

from typing import Any

_HOMES = {
    "diff": "derive", "Result": "derive", "rule_text": "rules", "partial_text": "rules",
    "parse_declaration": "shapes", "Declaration": "shapes", "diff_program": "pathdiff",
    "directional": "variants", "structured": "variants", "zeros": "questions", "taylor": "series",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a part when it is first used."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"gradcli.symbolic.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'gradcli.symbolic' has no attribute {name!r}")


__all__ = [
    "Declaration", "Result", "diff", "diff_program", "directional", "parse_declaration",
    "rule_text", "structured", "taylor", "zeros",
]  # fmt: skip
