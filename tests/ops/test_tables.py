"""What is known of an operator stands on its declaration, not in tables by name elsewhere."""

from __future__ import annotations

import ast
from pathlib import Path

import gradcli
from gradcli.ops import OPERATORS

PACKAGE = Path(gradcli.__file__).parent
MOST = 20  # each has its reason beside it


def tables() -> list[str]:
    """Module-level assignments outside ops with three or more operators' names as strings."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] == "ops":
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            target = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            texts = {n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant)
                     and isinstance(n.value, str)}  # fmt: skip
            if target != "__all__" and len(texts & OPERATORS.keys()) >= 3:
                found.append(f"{path.relative_to(PACKAGE)}: {target}")
    return found


def test_few_tables_are_keyed_by_operators():
    found = tables()
    assert len(found) <= MOST, "\n".join(found)


def names_tested(folder: str) -> list[str]:
    """Comparisons with an operator's name: ``op.name == "where"``, ``op.name in ("add",)``."""
    found = []
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            asked = isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute)
            if not asked or not ast.unparse(node.left).endswith("op.name"):
                continue
            texts = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
            if texts & OPERATORS.keys():
                found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}")
    return found


def test_no_operator_is_known_by_name_below_the_language():
    assert names_tested("jit"), "the search finds those that generated code is written for"
    assert not [line for folder in ("engine", "functions", "transforms", "nn", "optim")
                for line in names_tested(folder)]  # fmt: skip
