"""Who may import whom, as the design has it: the contracts of pyproject.toml hold, without cycles.

A contract speaks of packages. Two modules of one package that import each other can only be read,
loaded and tested together, also where one of them does so inside a function: so no cycle is left.
"""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator

from importlinter.cli import lint_imports

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = "gradcli"


def test_import_contracts_are_kept(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    said = capsys.readouterr().out
    assert status == 0, said
    assert "0 broken" in said


def modules() -> dict[str, pathlib.Path]:
    """The files of the package by module name."""
    found = {}
    for path in (ROOT / PACKAGE).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def for_types_alone(node: ast.AST) -> bool:
    """Whether this is ``if TYPE_CHECKING:``."""
    test = node.test if isinstance(node, ast.If) else None
    return getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"


def import_statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import that can run, also inside a function."""
    work = [tree]
    while work:
        node = work.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif for_types_alone(node):
            work += node.orelse
        else:
            work += (n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr))


def imported(name: str, path: pathlib.Path, known: dict[str, pathlib.Path]) -> set[str]:
    """The modules of the package that one of them imports."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for statement in import_statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(statement, ast.Import):
            found.update(alias.name for alias in statement.names)
            continue
        base = statement.module or ""
        if statement.level:
            above = package.split(".")[: len(package.split(".")) - statement.level + 1]
            base = ".".join([*above, base] if base else above)
        for alias in statement.names:
            part = f"{base}.{alias.name}"
            found.add(part if part in known else base)
    return (found & known.keys()) - {name}


def cyclic(graph: dict[str, set[str]]) -> set[str]:
    """The vertices that lie on a cycle: those that reach themselves."""
    found = set()
    for start in graph:
        seen: set[str] = set()
        work = list(graph[start])
        while work:
            vertex = work.pop()
            if vertex not in seen:
                seen.add(vertex)
                work += graph[vertex]
        if start in seen:
            found.add(start)
    return found


def test_no_module_imports_itself_by_way_of_others():
    known = modules()
    graph = {name: imported(name, path, known) for name, path in known.items()}
    assert len(graph) > 300
    assert sum(map(len, graph.values())) > 1000
    assert sorted(cyclic(graph)) == []


def test_a_cycle_is_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert cyclic(graph) == {"b", "c"}
    text = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\nelse:\n    import b\n"
    )
    text += "def f():\n    from . import c\n"
    assert {ast.unparse(s) for s in import_statements(ast.parse(text))} == {
        "from typing import TYPE_CHECKING", "import b", "from . import c",
    }  # fmt: skip
