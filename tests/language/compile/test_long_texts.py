"""What making code of a long text costs, in nodes and bytes."""

from __future__ import annotations

import ast
import tracemalloc

import gradcli
from gradcli.language.compile import resolve
from gradcli.language.compile.lower import Name, lower
from gradcli.language.compile.resolve import LONG, check
from gradcli.language.runtime.run import prepare
from gradcli.language.syntax.parser import parse
from gradcli.language.syntax.source import Source
from tests.support.families import family


def made(text: str) -> ast.Module:
    """The code of a text in x."""
    source = Source(text)
    return lower(check(source, parse(source, "file")), ("x",))[0]


def test_named_arguments_are_not_compared_each_with_each():
    names = [f"a{i}" for i in range(300)]
    given = ", ".join(f"{name}=x" for name in names)
    for text in (f"dict({given})", f"dict(**{{'b': 1}}, {given}, **{{'c': 1}})"):
        found = [node.arg for node in ast.walk(made(text)) if isinstance(node, ast.keyword)]
        assert not any(found), text
        value = prepare(text).run({"x": 1.0}).value
        assert [name for name in value if name not in "bc"] == names


@family("link", [".T", "[0]", " * x", " @ x", ".sin()"])
def test_a_chain_is_lowered_from_its_inner_end(link):
    count = 5000
    source = Source("x" + link * count)
    checked = check(source, parse(source, "file"))
    lower(checked, ("x",))  # what is made on first use
    tracemalloc.start()
    lower(checked, ("x",))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak / count < 600


def test_code_of_a_long_text_has_no_tests_for_tensors():
    line = "    y = y * x\n"
    counts = []
    for text in ("", "#" * LONG):
        found = made(f"y = x\nfor i in range(2):\n{line}{text}\n")
        counts.append(sum(type(node) is Name for node in ast.walk(found)))
    assert counts[1] < counts[0]


@family("link", [".T", "[0:]", ".sin()", "[...].cos()"])
def test_a_chain_in_a_long_text_is_walked(link, monkeypatch):
    text = "x" + link * 300
    found = []
    for long in (10, LONG):
        monkeypatch.setattr(resolve, "LONG", long)
        program = prepare(text)
        value = program.run({"x": gradcli.tensor([0.5, 2.0])}).value
        found.append((value.tolist(), program.generated is None))
    assert found[0][0] == found[1][0]
    assert [walked for _, walked in found] == [True, False]
