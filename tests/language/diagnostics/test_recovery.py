"""Several syntax errors in one run, where the statements' limits are certain."""

from __future__ import annotations

import pytest

from gradcli.language.diagnostics.parsing import parse
from gradcli.language.diagnostics.recovery import further
from gradcli.language.diagnostics.render import SyntaxFault
from tests.support.families import family


def codes(text):
    with pytest.raises(SyntaxFault) as caught:
        parse(text, "file")
    faults = [caught.value, *further(caught.value)]
    return [(f.code, f.source.place(f.start)[0]) for f in faults]


def test_each_statement_has_its_own():
    text = "x = 2 +* 3\ny = 1\nif y = 3:\n    z = 2\nw = 3x\nprint(y)\nclass A(B, C):\n    q = 1\n"
    assert [line for _, line in codes(text)] == [1, 3, 5, 7]


def test_a_block_goes_with_its_head():
    text = "class A(B, C):\n    def f(self):\n        x = 1\n    z = 2\ny = 2 +\n"
    assert [line for _, line in codes(text)] == [1, 5]


@family(
    "text",
    ["x = (1 + \ny = 2 +* 3\n", "x = 'abc\ny = 2 +* 3\n", "x = 2 +* 3", "x = 2 +* 3\ny = 1\n"],
)
def test_no_echoes(text):
    assert len(codes(text)) == 1


def test_a_run_shows_them(tmp_path, capsys):
    from gradcli.cli.main import run

    file = tmp_path / "a.grad"
    file.write_text("x = 2 +* 3\ny = 1\nz = 3x\n")
    assert run(["run", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.count("error[E01") == 2 and "a.grad:1:" in said and "a.grad:3:" in said
