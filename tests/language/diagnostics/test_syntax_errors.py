"""Syntax errors: the code, the exact place, the words; and how a diagnostic is drawn."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcli.language.diagnostics.codes import CODES
from gradcli.language.diagnostics.parsing import parse
from gradcli.language.diagnostics.render import Diagnostic, SyntaxFault, closest, inert, located
from gradcli.language.runtime.run import prepare
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault, TypeFault
from tests.language.generators.texts import Writer
from tests.support.families import family


def fault_of(text: str, mode: str = "line") -> Fault:
    """What the parser says of a text."""
    with pytest.raises(Fault) as caught:
        parse(Source(text), mode)
    return caught.value


# text with the marked part between two «», code, and a part of the message
MARKED = [
    ("2 +«*» 3", "E0101", "two operators in a row"),
    ("x = «=» y", "E0101", "two operators"),
    ("x + «=» 3", "E0101", "two operators"),
    ("a < «>» b", "E0101", "two operators"),
    ("2 «x»", "E0102", "an operator is missing before `x`"),
    ("x «sin»(y)", "E0102", "an operator is missing"),
    ("'a' «x»", "E0102", "an operator is missing"),
    ("f(a «b»)", "E0102", "an operator is missing"),
    ("x = 3 «4»", "E0102", "an operator is missing"),
    ("«print» x", "E0102", "`print` is a function"),
    ("«let» x = 3", "E0102", "not declared"),
    ("if x«\n»  y", "E0103", "a colon is missing after `if`"),
    ("while x > 1«\n»  y", "E0103", "a colon is missing after `while`"),
    ("def f(x)«\n»  y", "E0103", "a colon is missing after `def`"),
    ("def f(x)« »return x", "E0103", "a colon is missing after `def`"),
    ("for i in range(3)«\n»  y", "E0103", "a colon is missing after `for`"),
    ("if x: y\nelse« »y", "E0103", "a colon is missing after `else`"),
    ("if x «then» y", "E0103", "`then` is written `:`"),
    ("if x «=» 3:\n  y", "E0104", "`=` assigns"),
    ("while x «=» 3:\n  y", "E0104", "`=` assigns"),
    ("(x «=» 3)", "E0104", "`=` assigns"),
    ("f(a.b «=» 3)", "E0104", "`=` assigns"),
    ("x += y «=» 3", "E0104", "`=` assigns"),
    ("x «+»", "E0107", "stops after `+`"),
    ("x is «not»", "E0107", "stops after `not`"),
    ("(x «*»)", "E0107", "stops after `*`"),
    ("x+«+»", "E0107", "stops after `+`"),
    ("x «=»", "E0107", "stops after `=`"),
    ("«assert»", "E0107", "stops after `assert`"),
    ("«*» 3", "E0107", "nothing stands to the left of `*`"),
    ("f(«==» 3)", "E0107", "nothing stands to the left of `==`"),
    ("x if y«\n»", "E0108", "needs an `else`"),
    ("f(«,»)", "E0108", "did not expect `,`"),
    ("import«\n»", "E0108", "did not expect the end of the line"),
    ("from torch«\n»", "E0108", "did not expect the end of the line"),
    ("x not «y»", "E0108", "did not expect `y`"),
    ("with x as «3»: y", "E0108", "did not expect `3`"),
    ("«else»: x", "E0108", "`else` without an `if`"),
    ("x\n«elif» y: z", "E0108", "`elif` without an `if`"),
    ("«f(x)» = 2", "E0109", "cannot assign to a call"),
    ("«2» = x", "E0109", "cannot assign to a number"),
    ("«x + 1» = 2", "E0109", "cannot assign to an expression"),
    ("a, «b*c» = d", "E0109", "cannot assign to an expression"),
    ("a, [b, («True», c)] = d", "E0109", "cannot assign to `True`"),
    ("«a, b» += d", "E0109", "cannot assign to a tuple"),
    ("for «f()» in x: y", "E0109", "cannot assign to a call"),
    ("[a for «f()» in x]", "E0109", "cannot assign to a call"),
    ("«elsif» x: y", "E0125", "`elsif` is written `elif`"),
    ("if x:\n  y\n«else if» z:\n  w", "E0125", "written `elif`"),
    ("«function» f(x): y", "E0125", "`function` is written `def`"),
    ("class F(Function):\n  «x = 3»", "E0130", "cannot stand in a Function"),
    ("class F(Function):\n  «def setup(x): y»", "E0130", "the method `setup`"),
    ("class F(Function):\n  «generate_vmap_rule = 1»", "E0130", "cannot stand in a Function"),
    ("class F(Function):\n  «generate_vmap_rule = x = True»", "E0130", "cannot stand"),
    ("class F(Function):\n  def vmap(i, d, x): x\n  «def vmap»(i, d, x): x", "E0146", "method"),
    ("«class F(Function):»\n  def backward(ctx, g): x", "E0130", "has no forward"),
    ("class F(Function):\n  @«once»\n  def forward(ctx): x", "E0132", "cannot stand here"),
    ("«async» def f(): x", "E0134", "`async`"),
    ("x = «await» y", "E0134", "`await`"),
    ("«match» x:\n  case 1: y", "E0136", "`match`"),
    ("from torch import «*»", "E0137", "`import *`"),
    ("import «os»", "E0139", "cannot import `os`"),
    ("import torch, «os.path» as p", "E0139", "cannot import `os.path`"),
    ("from «scipy» import linalg", "E0139", "cannot import `scipy`"),
    ("«lambda» = 3", "E0145", "`lambda` is a word"),
    ("def «in»(x): y", "E0145", "`in` is a word"),
    ("x.«is»", "E0145", "`is` is a word"),
    ("f(a=1, «2»)", "E0146", "after a named one"),
    ("f(a=1, «a»=2)", "E0146", "argument `a` stands here twice"),
    ("def f(x, «x»): y", "E0146", "parameter `x` stands here twice"),
    ("lambda x=1, «y»: x", "E0146", "`y` needs a default"),
]


@family("marked, code, words", MARKED)
def test_syntax_errors(marked, code, words):
    start, end = marked.index("«"), marked.index("»") - 1
    text = marked.replace("«", "").replace("»", "")
    fault = fault_of(text)
    assert (fault.code, fault.start, fault.end) == (code, start, end), fault.message
    assert words in fault.message
    assert fault.code in CODES


def test_the_first_mistake_is_told():
    assert fault_of("x = = 3\ny = 007").code == "E0101"
    assert fault_of("x = 007\ny = = 3").code == "E0110"
    assert fault_of("class Net(A, B):\n    def __init__(self): pass").code == "E0130"


@family(
    "text, incomplete",
    [
        ("f(x,", True),
        ("if x:", True),
        ("def f(x):\n", True),
        ("'''abc", True),
        ("class F(Function):", True),
        ("x +", False),
        ("x = )", False),
        ("'abc", False),
        ("2 x", False),
    ],
)
def test_whether_more_text_could_mend_it(text, incomplete):
    assert fault_of(text).incomplete is incomplete


@family("code", [code for code, entry in CODES.items() if entry[2] and code < "E016"])
def test_each_code_has_an_example_that_makes_it(code):
    title, explanation, example = CODES[code]
    assert title and explanation.endswith((".", "..."))
    assert fault_of(example, "file").code == code


# ---- How it is drawn -----------------------------------------------------------------------------


def drawn(text: str, name: str = "<expr>") -> str:
    """The diagnostic for a text that is refused."""
    with pytest.raises(Fault) as caught:
        parse(Source(text, name))
    return Diagnostic.of(caught.value).render()


def test_one_mark():
    assert drawn("2 +* 3") == (
        "error[E0101]: two operators in a row\n"
        "   --> <expr>:1:4\n"
        "   1 | 2 +* 3\n"
        '     |    ^ expected a number, a name or "("\n'
        "   help: remove one of the operators"
    )


def test_several_marks_on_a_line():
    source = Source("\n\ny = tanh(W @ x) + 1", "net.grad")
    labels = [
        (13, 14, "", True),
        (11, 12, "W: (3, 4)       from --W", False),
        (15, 16, "x: (3,)   from --x", False),
    ]
    shown = Diagnostic(
        "E0301",
        "cannot multiply W @ x: inner sizes 4 and 3 differ",
        source,
        labels,
        help="W.T @ x works: (4, 3) @ (3,) -> (4,)",
    )
    assert shown.render() == (
        "error[E0301]: cannot multiply W @ x: inner sizes 4 and 3 differ\n"
        "   --> net.grad:3:12\n"
        "   3 | y = tanh(W @ x) + 1\n"
        "     |          - ^ - x: (3,)   from --x\n"
        "     |          W: (3, 4)       from --W\n"
        "   help: W.T @ x works: (4, 3) @ (3,) -> (4,)"
    )
    assert shown.to_json() == {
        "code": "E0301",
        "message": "cannot multiply W @ x: inner sizes 4 and 3 differ",
        "help": "W.T @ x works: (4, 3) @ (3,) -> (4,)",
        "span": {"line": 3, "column": 12, "end_line": 3, "end_column": 13},
    }


def test_marks_on_several_lines():
    text = "\n" * 6 + "loss.backward()\nx = 1\nloss.backward()"
    labels = [(28, 32, "needs them again", True), (6, 10, "the first run freed the values", False)]
    shown = Diagnostic(
        "E0401", "backward() already ran", Source(text, "a.grad"), labels, ["a note"]
    )
    assert shown.render() == (
        "error[E0401]: backward() already ran\n"
        "   --> a.grad:9:1\n"
        "   7 | loss.backward()\n"
        "     | ---- the first run freed the values\n"
        "   9 | loss.backward()\n"
        "     | ^^^^ needs them again\n"
        "   note: a note"
    )


def test_line_numbers_are_aligned():
    text = "a\n" * 8 + "b\nc"
    shown = Diagnostic(
        "E0100", "m", Source(text), [(16, 17, "x", True), (18, 19, "y", False)]
    ).render()
    assert "    9 | b\n      | ^ x\n   10 | c\n      | - y" in shown


def test_a_span_over_lines_marks_its_first_line():
    shown = Diagnostic("E0100", "m", Source("f(a,\n  b)"), [(0, 9, "here", True)]).render()
    assert "   1 | f(a,\n     | ^^^^ here" in shown


def test_without_a_source():
    assert Diagnostic("E0901", "bad", help="good\nbetter").render() == (
        "error[E0901]: bad\n   help: good\n         better"
    )
    assert Diagnostic("E0901", "bad").to_json()["span"] is None


def test_a_long_line_is_cut_around_the_mark():
    text = "a + " * 500 + "2 x" + " + b" * 500
    lines = drawn(text).split("\n")
    assert lines[1] == "   --> <expr>:1:2003"
    assert max(map(len, lines)) < 120
    shown, marks = lines[2], lines[3]
    assert shown.startswith("   1 | ...") and shown.endswith("...")
    assert shown[marks.index("^")] == "x"


def test_an_endless_name_is_cut_wherever_it_is_said():
    name = "a" * 20_000
    shown = Diagnostic("E0202", name, notes=(name,), help=name)
    assert len(shown.render()) < 2000 and len(shown.to_json()["help"]) < 700


def test_tabs_and_wide_letters_keep_the_marks_in_place():
    lines = drawn("'\u4e2d\u6587' 2").split("\n")
    assert lines[2] == "   1 | '\u4e2d\u6587' 2"
    assert lines[3].startswith("     | ------ ^ ")
    lines = drawn("if a:\n\tb c").split("\n")
    assert lines[2:4] == ["   2 |     b c", "     |     - ^ expected an operator"]


def test_nothing_of_the_source_reaches_the_screen_as_a_command():
    shown = drawn("'\x1b[2J\u202e\x07' \u200b x", "evil\x1b]0;name\n")
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert "\\x1b[2J\\u202e\\x07" in shown
    assert "evil\\x1b]0;name\\x0a:1:" in shown
    fault = TypeFault("E0300", "bad \x1b[31m name", help="not \x9b this")
    assert all(char.isprintable() or char == "\n" for char in Diagnostic.of(fault).render())
    assert inert("a\tb\nc") == "a\\x09b\\x0ac"


def test_colour_changes_nothing_but_colours():
    import re

    fault = fault_of("f(a=1, 2)")
    plain, coloured = Diagnostic.of(fault).render(), Diagnostic.of(fault).render(colour=True)
    assert "\x1b[" in coloured and "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_any_fault_can_be_given_a_place():
    fault = located(TypeFault("E0300", "no"), Source("ab cd"), 3, 5, "this")
    assert "   1 | ab cd\n     |    ^^ this" in Diagnostic.of(fault).render()


def test_syntax_faults_are_value_errors():
    assert isinstance(fault_of("2 x"), SyntaxFault | ValueError)


# ---- Whatever is typed ---------------------------------------------------------------------------


@given(st.text(max_size=40))
def test_any_text_gives_a_tree_or_a_diagnostic(text):
    try:
        parse(text)
    except Fault as fault:
        shown = Diagnostic.of(fault)
        assert all(char.isprintable() or char == "\n" for char in shown.render())
        span = shown.to_json()["span"]
        assert (span["line"], span["column"]) <= (span["end_line"], span["end_column"])


@family("seed", range(4))
def test_mutated_programs_give_a_tree_or_a_diagnostic(seed):
    writer, rng = Writer(7000 + seed), random.Random(seed)
    codes = set()
    for _ in range(400):
        text = list(writer.program(2))
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text))
            text[at : at + rng.randint(0, 3)] = rng.choice(
                [
                    "",
                    "(",
                    ")",
                    "'",
                    '"',
                    "f'",
                    "{",
                    "\n",
                    "    ",
                    "\t",
                    "=",
                    ":",
                    "else ",
                    "é",
                    "\\",
                ]
            )
        try:
            parse("".join(text), rng.choice(("file", "line")))
        except Fault as fault:
            codes.add(fault.code)
            assert fault.code in CODES
            assert Diagnostic.of(fault).render()
    assert len(codes) > 8


# ---- Did you mean --------------------------------------------------------------------------------


@family(
    "word, expected",
    [
        ("sni", "sin"),
        ("Sin", "sin"),
        ("tourch", "torch"),
        ("sigmod", "sigmoid"),
        ("sofmtax", "softmax"),
        ("logsumexpp", "logsumexp"),
        ("jsn", "json"),
        ("x", None),
        ("qqq", None),
        ("cosinus", None),
    ],
)
def test_closest(word, expected):
    known = ["sin", "sinh", "cos", "sigmoid", "softmax", "torch", "logsumexp", "json", "y", "dot"]
    assert closest(word, known) == expected


@family(
    "text, message, mend",
    [
        ("ones(2).sum(dmi=0)", "sum() got an unexpected keyword", "did you mean `dim`?"),
        ("sum(ones(2), dmi=0)", "sum has no parameter 'dmi'", "did you mean `dim`?"),
        ("sum(ones(2), foo=0)", "sum has no parameter 'foo'", "its parameters: dim, keepdim"),
        ("cumsum(ones(2))", "missing 1 required", "its parameters: input, dim, dtype"),
        ("f = lambda a, bcd=2: a\nf()", "f() missing 1 required", "f(a, bcd) is defined at line 1"),
        ("f = lambda a, bcd=2: a\nf(1, bdc=2)", "f() got an unexpected", "did you mean `bcd`?"),
        ("len = 3\nlen([1])", "an int cannot be called", "line 1 made `len` a value"),
        ("[1, 2] + 3", "`+` cannot join", "[...] + [x]"),
        ("'a' + 1", "`+` cannot join", "str(x)"),
        ("[1][4]", "out of range", "len(x) - 1"),
        ("a, b = 1, 2, 3", "too many values", "as many names"),
        ("ones(2).backward(retain=True)", "backward() got", "retain_graph"),
    ],
)
def test_what_to_write_instead(text, message, mend):
    with pytest.raises(Fault) as caught:
        prepare(text, "file").run({})
    assert message in caught.value.message
    assert mend in caught.value.help


@family("text, mend", [
        ("||x||^2", "a norm is norm(x), its square norm(x)**2"),
        ("2*||A @ x - b||^2", "a norm is norm(A @ x - b), its square norm(A @ x - b)**2"),
        ("|x| + y", "an absolute value is abs(x)"),
        ("a || b", "write `or`; an absolute value is abs(x)"),
        ("x'*A*x", "the transpose of x is x.T, and matrices multiply by @: x.T @ A @ x"),
        ("(A @ x)' * y", "the transpose of (...) is (...).T, and matrices multiply by @: "
         "x.T @ A @ x"),
        ("x'*A*x + y'*x", "the transpose of x is x.T, and matrices multiply by @: x.T @ A @ x"),
        ("x^T A x", "the transpose of x is x.T, and matrices multiply by @: x.T @ A @ x"),
        ("x^T y", "the transpose of x is x.T, and matrices multiply by @: x.T @ y"),
        ("trace(A X)", "for a product of matrices write A @ X, entry by entry A*X"),
        ("W x + b", "for a product of matrices write W @ x, entry by entry W*x"),
        ("(A + B) X", "for a product of matrices write (...) @ X, entry by entry (...)*X"),
        ("a x", "write a*x, or put a comma between them"),
        ("2 X", "write 2*X, or put a comma between them"),
        ("f('a, b)", "add ' before the end of the line"),
    ],
)  # fmt: skip
def test_the_notation_of_papers(text, mend):
    assert fault_of(text).help == mend


@family(
    "text, message, mend",
    [
        ("y = F.relu(x)", "`F` is not imported", "or the bare name: relu"),
        ("y = functional.relu(x)", "`functional` is not imported", "write the bare name: relu"),
        ("jnp.exp(x)", "`jnp` is not imported", "write the bare name: exp"),
        ("linalg*x", "no value for `linalg`", "add --linalg VALUE"),
        ("tr(x)", "programs cannot use `tr`", "write trace(A)"),
        ("x.transpose()", "transpose() missing", "the transpose is x.T"),
        ("transpose(x)", "transpose() missing", "the transpose is x.T"),
    ],
)
def test_names_of_other_places(text, message, mend):
    from gradcli.engine.creation.factories import tensor

    with pytest.raises(Fault) as caught:
        prepare(text).run({"x": tensor([1.0, 2.0])})
    assert message in caught.value.message
    assert mend in caught.value.help
