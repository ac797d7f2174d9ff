"""When a text is complete, and what a pasted session is without its prompts."""

from gradcli.cli.repl.splitting import begins_anew, unfinished, units, without_prompts
from gradcli.language.syntax.source import Source
from tests.support.families import family


@family("text", [
    "x", "x = 1", "f(1,\n2)", "def f(x):\n    return x\n", "for i in x: y", "1 +* 2", "x)", "",
    "if x:\n    y\nelse:\n    z\n", 's = """a\nb"""', "x = 1  # (", "s = '('", "if x: y", "'abc",
    "x = [1,\n",
])  # fmt: skip
def test_complete(text):
    assert not unfinished(text)


@family("text", [
    "f(1,", "def f(x):", "def f(x):\n    return x", "if x:\n    y\nelse:", "x = [1,\n2,",
    "x = \\", 's = """a', 's = """a\n\nb\n\n',
    "class F(Function):\n    @staticmethod", "@no_grad()",
])  # fmt: skip
def test_not_complete(text):
    assert unfinished(text)


def test_pasted_prompts():
    python = ">>> def f(x):\n...     return x*2\n...\n>>> f(3)\n6\n>>> y = 1\n"
    assert without_prompts(python) == "def f(x):\n    return x*2\n\nf(3)\ny = 1"
    ipython = "In [1]: x = 2\n\nIn [2]: for i in range(2):\n   ...:     x += i\n   ...: \n\n"
    ipython += "In [3]: x\nOut[3]: 3\n"
    assert without_prompts(ipython) == "x = 2\nfor i in range(2):\n    x += i\n\nx"
    assert without_prompts("x = 1\n... y") == "x = 1\n... y"
    example = 'def f(x):\n    """Twice.\n\n    >>> f(1)\n    2\n    """\n    return 2*x'
    assert without_prompts(example) == example


def test_blocks_on_a_pipe_end_where_a_statement_begins():
    block = "def f(x):\n    return x"
    assert begins_anew(block, "f(3)") and begins_anew(block, "y = 1")
    assert not begins_anew(block, "    y") and not begins_anew(block, "")
    assert not begins_anew("if x:\n    y", "else:") and not begins_anew("f(1,", "y)")


def test_statements_on_one_line_belong_together():
    parts = units(Source("a = 1; b = 2\nc = [1,\n2]; d = 3\ndef f():\n    pass\n"))
    assert [len(part.body) for part in parts] == [2, 2, 1]
