"""The canonical form: comments kept, the same tree, and formatting it again changes nothing."""

from __future__ import annotations

import pathlib

import pytest

from gradcli.language.format import formatted
from gradcli.language.parser import parse
from gradcli.language.printer import unparse

EXAMPLES = sorted((pathlib.Path(__file__).resolve().parents[2] / "examples").glob("*.grad"))

FORMS = {
    "y=x^2+1": "y = x**2 + 1\n",
    "a=1;b = 2 # both": "a = 1\nb = 2  # both\n",
    "# first\n\n\n\n\ny=1\n# last\n": "# first\n\n\ny = 1\n# last\n",
    "if x : # why\n  # inside\n  y=1 # one\nelse : # or\n  y=2\n": (
        "if x:  # why\n    # inside\n    y = 1  # one\nelse:  # or\n    y = 2\n"
    ),
    "s = '# no comment' # yes\n": "s = '# no comment'  # yes\n",
    "s = f'{x} # no' # yes\n": "s = f\"{x} # no\"  # yes\n",
    "l = [1, # one\n     2] # two\n": "# one\nl = [1, 2]  # two\n",
    "def f(a,b = 2):\n\n    return a\n\n\n\n\nf( 1 )\n": "def f(a, b=2):\n    return a\n\n\nf(1)\n",
    "#!/usr/bin/env gradcli\nx=1": "#!/usr/bin/env gradcli\nx = 1\n",
    "": "",
    "# only": "# only\n",
}  # fmt: skip


@pytest.mark.parametrize("text", FORMS)
def test_form(text):
    assert formatted(text, "line") == FORMS[text]


@pytest.mark.parametrize("text", FORMS)
def test_formatting_again_changes_nothing(text):
    once = formatted(text, "line")
    assert formatted(once, "file") == once


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_keep_their_meaning_and_comments(path):
    text = path.read_text()
    once = formatted(text)
    assert formatted(once) == once
    assert unparse(parse(once, "file")) == unparse(parse(text, "file"))
    assert once.count("#") == text.count("#")
