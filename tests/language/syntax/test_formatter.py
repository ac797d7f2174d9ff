"""The canonical form: comments kept, the same tree, and formatting it again changes nothing."""

from __future__ import annotations

import io
import pathlib
import random
import tokenize

import pytest

from gradcli.language.diagnostics.parsing import parse
from gradcli.language.syntax.formatter import formatted
from gradcli.language.syntax.printer import unparse
from tests.language.generators.programs import Generator
from tests.language.generators.typed_programs import Typed
from tests.support.families import family

EXAMPLES = sorted((pathlib.Path(__file__).resolve().parents[3] / "examples").glob("*.grad"))

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
    "if a: # x\n    b\nelif (c # y\n  or d):\n    e\n": (
        "if a:  # x\n    b\n# y\nelif c or d:\n    e\n"
    ),
    "def f():\n    a\n    # of f\n  # of f, too far left\n\n\n\n# of the rest\nb\n": (
        "def f():\n    a\n    # of f\n# of f, too far left\n\n\n# of the rest\nb\n"
    ),
    "while a:\n  if b:\n    c\n    # of if\n  # of while\n# of all": (
        "while a:\n    if b:\n        c\n        # of if\n    # of while\n# of all\n"
    ),
    "if a: b; c # both\n": "if a:\n    b\n    c  # both\n",
    "class F(Function): # head\n  'what it is' # doc\n  # first\n  @staticmethod # mark\n"
    "  def forward(ctx, a): return a\n  # second\n  @staticmethod\n"
    "  def backward(ctx, g): return g\n  # end\n": (
        "class F(Function):  # head\n    'what it is'  # doc\n    # first\n"
        "    @staticmethod  # mark\n"
        "    def forward(ctx, a):\n        return a\n    # second\n    @staticmethod\n"
        "    def backward(ctx, g):\n        return g\n    # end\n"
    ),
    "class F(Function):\n  generate_vmap_rule = True # all at once\n\n  @staticmethod\n"
    "  def jvp(ctx, t): return t\n  @staticmethod\n  def forward(ctx, a): return a\n": (
        "class F(Function):\n    generate_vmap_rule = True  # all at once\n\n    @staticmethod\n"
        "    def jvp(ctx, t):\n        return t\n    @staticmethod\n"
        "    def forward(ctx, a):\n        return a\n"
    ),
    "class F(Function):\n  def forward(ctx, a): return a\n"
    "  def backward(ctx, g): return g\n  # last\n  generate_vmap_rule = False\nF\n": (
        "class F(Function):\n    @staticmethod\n    def forward(ctx, a):\n        return a\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g\n    # last\n"
        "    generate_vmap_rule = False\nF\n"
    ),
}  # fmt: skip


@family("text", FORMS)
def test_form(text):
    assert formatted(text, "line") == FORMS[text]


@family("text", FORMS)
def test_formatting_again_changes_nothing(text):
    once = formatted(text, "line")
    assert formatted(once, "file") == once


@family("path", EXAMPLES)
def test_examples_keep_their_meaning_and_comments(path):
    text = path.read_text()
    once = formatted(text)
    assert formatted(once) == once
    assert unparse(parse(once, "file")) == unparse(parse(text, "file"))
    assert once.count("#") == text.count("#")


def commented(text, rng):
    """A program with comments and empty lines put in anywhere, inside brackets too."""
    lines = []
    for number, line in enumerate(text.split("\n")):
        if rng.random() < 0.1:
            lines.append(" " * rng.choice((0, 3, 4, 8)) + f"# own {number}")
        if rng.random() < 0.1:
            lines += [""] * rng.randint(1, 4)
        pick = rng.random()
        if pick < 0.1 and line.strip():
            line += f"  # end {number}"
        elif pick < 0.2 and "'" not in line and "(" in line:
            at = line.index("(") + 1
            line = f"{line[:at]}  # in {number}\n   {line[at:]}"
        lines.append(line)
    return "\n".join(lines)


def comments(text):
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sorted(token.string for token in tokens if token.type == tokenize.COMMENT)


def fuzz(seed, count):
    rng = random.Random(seed)
    generators = (Generator(seed), Typed(seed))
    for _ in range(count):
        text = commented(rng.choice(generators).program(), rng)
        once = formatted(text)
        assert formatted(once) == once, text
        assert unparse(parse(once, "file")) == unparse(parse(text, "file")), text
        assert comments(once) == comments(text), text


def test_comments_anywhere_are_kept():
    fuzz(3, 40)


@pytest.mark.long
def test_comments_anywhere_are_kept_in_many_programs():
    fuzz(4, 10_000)
