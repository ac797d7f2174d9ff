"""The parser against Python's own, against Lark's, and at its limits."""

from __future__ import annotations

import ast
import itertools
import subprocess
import sys
import warnings
from functools import cache
from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gradcli.language.diagnostics.explain import EXPLANATIONS
from gradcli.language.diagnostics.parsing import parse
from gradcli.language.diagnostics.render import SyntaxFault
from gradcli.language.syntax import build_tables, grammar, tables
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax import parser as driver
from gradcli.language.syntax.failures import Kind, SyntaxFailure
from gradcli.language.syntax.lexer import ERROR, Lexer
from gradcli.language.syntax.parser import Parser
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault, LimitFault
from tests.language.generators.texts import AUGMENT, BINARY, COMPARE, Writer
from tests.language.syntax.python_trees import flat_ours, flat_python
from tests.support.families import family

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")


def expression(text: str, mode: str = "line") -> n.Expr:
    """The one expression in a text."""
    return parse(text, mode).body[0].value


def ours(text: str):
    """Our flat tree, or None where the text is refused."""
    try:
        return flat_ours(parse(text, "file"))
    except Fault:
        return None


def pythons(text: str):
    """Python's flat tree, or None where the text is refused."""
    try:
        return flat_python(text)
    except SyntaxError:
        return None


# ---- Against Python ------------------------------------------------------------------------------


@family("seed", range(6))
def test_expressions_are_read_as_python_reads_them(seed):
    """Accepted or refused alike, the same tree, and the same places."""
    writer, taken = Writer(seed), 0
    for _ in range(100):
        text = writer.expression(4).strip()
        expected = pythons(text)
        assert ours(text) == expected, text
        taken += expected is not None
    assert taken > 50


@family("seed", range(6))
def test_programs_are_read_as_python_reads_them(seed):
    writer, taken = Writer(1000 + seed), 0
    for _ in range(50):
        text = writer.program(3)
        expected = pythons(text)
        assert ours(text) == expected, text
        taken += expected is not None
    assert taken > 25


@family("seed", range(4))
def test_every_text_that_is_accepted_is_valid_python(seed):
    """Token soups: whatever we take, Python takes and reads alike."""
    writer, taken = Writer(2000 + seed), 0
    for _ in range(600):
        text = writer.soup()
        tree = ours(text)
        if tree is not None:
            taken += 1
            assert tree == pythons(text), text
    assert taken > 10


@settings(derandomize=True, max_examples=150)
@example("\\\n")
@example("x \\\n")
@given(st.text(alphabet="xy12.e()[]:,=+-*/@<>! \n'\"\\f{}_jif#;", max_size=25))
def test_any_accepted_text_is_valid_python(text):
    tree = ours(text)
    if tree is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert tree == pythons(text)


SIGNS = (*BINARY, *COMPARE, "and", "or")


@family("first, second", list(itertools.product(SIGNS, SIGNS)))
def test_precedence_of_every_pair(first, second):
    for text in (
        f"a {first} b {second} c",
        f"-a {first} b {second} -c",
        f"not a {first} b {second} c",
        f"a {first} (b {second} c)",
        f"a {first} b if c {second} d else e",
    ):
        assert ours(text) == pythons(text), text


@family("sign", AUGMENT)
def test_augmented_assignment(sign):
    assert ours(f"x[i] {sign} y, z") == pythons(f"x[i] {sign} y, z")


@family(
    "text",
    [
        "with (a, b): x",
        "with ((a, b)): x",
        "with (a,): x",
        "with (a, b) as c: x",
        "with (): x",
        "with (a): x",
        "a, = b = [c, (d, e)] = f",
        "x[:, None, ...] = 1; x[()] += 2;",
        "if a:\n\n  # deep\n      # deeper\n  b\n# out\nelif c: d\nelse: e",
        "def f(a, b=1,): return\n\n\n",
        "x = (1 +\n  2) + \\\n  3",
        "'''doc'''\nx = 'a' \"b\" f'{c}' 'd'",
        "for i, in x: pass",
        "for x[i].y in z: break",
        "[a for (a, b), c in d if e if f for g in h]",
        "lambda: (lambda x, y=1: x)(lambda: 2)",
        "from torch import (sin, cos as c,)",
        "x.grad.T[0](1)(y=2).z",
        "a if b else c if d else e",
        "not a == b",
        "a < b == c is not d not in e",
        "- + - x ** - y ** z",
        "f'''{a\n+ b}'''",
        "f'{x:>8.3e}{y = :+d}{{}}'",
        "f'{f(x, k=[1, 2][0])}'",
    ],
)
def test_forms(text):
    assert ours(text) is not None
    assert ours(text) == pythons(text)


def test_a_function_class():
    text = (
        "class Cube(torch.autograd.Function):\n"
        "    'x**3'\n\n"
        "    @staticmethod\n    def forward(ctx, x):\n        return x**3\n\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g\n"
    )
    (cube,) = parse(text, "file").body
    assert (cube.name, cube.base) == ("Cube", "torch.autograd.Function")
    assert [one.name for one in cube.method("forward").params] == ["ctx", "x"]
    assert type(cube.method("backward").body[0]) is n.Return
    assert text[cube.method("backward").start :].startswith("def backward")
    ast.parse(text)


def test_imports():
    body = parse("import torch as t, numpy.linalg; from math import pi, e as euler").body
    assert [(type(one).__name__, one.module) for one in body] == [
        ("Import", "torch"),
        ("Import", "numpy.linalg"),
        ("FromImport", "math"),
    ]
    assert body[0].alias == "t"
    assert body[2].names == (("pi", None), ("e", "euler"))


# ---- What Python does not have -------------------------------------------------------------------


@family(
    "caret, stars",
    [("-x^2", "-x**2"), ("2^-x", "2**-x"), ("a^b**c^d", "a**b**c**d"), ("2*x^2*y", "2*x**2*y")],
)
def test_caret_is_power_in_lines(caret, stars):
    assert n.same(expression(caret), expression(stars))
    with pytest.raises(SyntaxFault) as caught:
        parse(caret, "file")
    assert caught.value.code == "E0115"


def test_operator_signs_know_their_place():
    tree = expression("ab + c**d")
    assert (tree.op_start, tree.op_end) == (3, 4)
    assert (tree.right.op_start, tree.right.op_end) == (6, 8)


# ---- Limits --------------------------------------------------------------------------------------


@family(
    "text, count",
    [
        ("x+" * 10_000 + "x", 20_003),
        ("-" * 10_000 + "x", 10_003),
        ("not " * 4_000 + "x", 4_003),
        ("2**" * 2_000 + "x", 4_003),
        ("a if b else " * 2_000 + "c", 6_003),
        ("lambda: " * 4_000 + "c", 4_003),
        ("(" * 1000 + "x" + ")" * 1000, 3),
        ("[" * 1000 + "]" * 1000, 1002),
        ("f" + "(x)" * 2_000, 4_003),
        ("x" + ".T" * 4_000, 4_003),
        ("a<" * 4_000 + "b", 4_004),
        ("a and " * 4_000 + "b", 4_004),
        ("x = 1\n" * 2_000, 6_001),
        ("a = " * 4_000 + "1", 4_003),
        ("if a: b\n" + "elif c: d\n" * 1_000, 4_005),
    ],
)
def test_long_and_deep_texts(text, count):
    """Read, walked, compared and freed without recursion."""
    tree, again = parse(text), parse(text)
    assert sum(1 for _ in n.walk(tree)) == count
    assert n.same(tree, again)
    assert not n.same(tree, parse("other"))
    del tree, again


def test_nesting_limits():
    with pytest.raises(LimitFault) as caught:
        parse("(" * 1001 + "x" + ")" * 1001)
    assert (caught.value.code, caught.value.start) == ("E0604", 1000)
    blocks = "".join("  " * depth + "if x:\n" for depth in range(101))
    assert parse(blocks[: blocks.rindex("if")].rstrip() + " y\n")
    with pytest.raises(LimitFault):
        parse(blocks + "  " * 101 + "y\n")


@pytest.mark.parametrize("text", ["-+" * 130_000 + "x", "not " * 251_000 + "x"])
def test_operators_that_wait_for_their_operand(text):
    with pytest.raises(LimitFault, match="operators nest deeper than 250,000") as caught:
        parse(text)
    assert caught.value.code == "E0604"


def test_source_limit():
    assert Source("x" * (1 << 20))
    with pytest.raises(LimitFault) as caught:
        Source("x" * ((1 << 20) + 1), "big.grad")
    assert caught.value.code == "E0603"
    with pytest.raises(LimitFault):
        Source("é" * ((1 << 19) + 1))


@family(
    "text",
    [
        "'" + r"\n" * 100_000 + "'",
        "'" + r"\'" * 100_000 + "'",
        "'a' " * 30_000,
        "f'" + "{{" * 100_000 + "'",
        "f'" + "{x}" * 20_000 + "'",
        "f'a' " * 30_000,
        "'" + "\\\n" * 100_000 + "'",
        "1" + "_1" * 2_000,
        "\n \t# note" * 50_000,
    ],
)
def test_long_strings_are_read_in_one_pass(text):
    """Each would take minutes if every piece looked at the rest of the text again."""
    assert parse(text) is not None


def test_errors_in_long_texts_are_quick():
    for text in ("-" * 50_000, "x+" * 30_000, "(" * 900 + "x+" * 20_000, "a if b else " * 9_000):
        with pytest.raises(SyntaxFault):
            parse(text)


# ---- Trees ---------------------------------------------------------------------------------------


def test_nodes_are_immutable():
    node = expression("x + 1")
    with pytest.raises(AttributeError):
        node.op = "-"
    with pytest.raises(AttributeError):
        node.extra = 1
    with pytest.raises(AttributeError):
        del node.left
    assert not hasattr(node, "__dict__")


@family(
    "left, right, alike",
    [
        ("1", "1.0", False),
        ("1e3", "1000.0", True),
        ("0xff", "255", True),
        ("True", "1", False),
        ("x+y", "( x ) +  y", True),
        ("f(a, b)", "f(a, b, c)", False),
        ("f(a=1)", "f(b=1)", False),
        ("x[1:]", "x[:1]", False),
        ("'a' 'b'", "'ab'", True),
        ("x", "x; x", False),
    ],
)
def test_same(left, right, alike):
    assert n.same(parse(left), parse(right)) is alike


def test_walk_is_in_source_order():
    starts = [one.start for one in n.walk(expression("a if b else f(c, k=d)[e:f2]"))]
    assert starts == sorted(starts)


# ---- The tables ----------------------------------------------------------------------------------


def test_tables_are_fresh():
    text = grammar.read_grammar()
    built = build_tables.build(text)
    built["lark"] = tables.TABLES["lark"]  # another version of Lark makes the same tables
    assert built == tables.TABLES
    with open(tables.__file__, encoding="utf-8") as file:
        assert file.read() == build_tables.render(tables.TABLES)
    assert driver.load_tables() is tables.TABLES


def test_the_grammar_has_no_conflicts():
    import logging

    from lark import logger

    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        build_tables.lark_parser(grammar.read_grammar())
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert not [line for line in said if "conflict" in line.lower()]


def test_an_edited_grammar_is_built_anew(monkeypatch):
    edited = grammar.read_grammar().replace('"lambda"', '"fun"')
    monkeypatch.setattr(grammar, "read_grammar", lambda: edited)
    parser = Parser(driver.load_tables())
    assert type(parser.parse(Source("fun x: x"), "line").body[0].value) is n.Lambda
    monkeypatch.setattr(grammar, "read_grammar", lambda: None)
    assert driver.load_tables() is tables.TABLES


def loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter holds after ``code``."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


def test_a_text_without_a_mistake_loads_no_explanation():
    modules = loaded("from gradcli.language.diagnostics.parsing import parse; parse('x+1')")
    assert not modules & {"lark", "json", "difflib", "unicodedata"}
    explanations = {"explain", "lexical", "constraints", "unexpected_token", "codes", "notation"}
    assert not modules & {f"gradcli.language.diagnostics.{name}" for name in explanations}


def test_syntax_alone_loads_no_diagnostics():
    modules = loaded(
        "from gradcli.language.syntax import formatter, parser\n"
        "from gradcli.language.syntax.failures import SyntaxFailure\n"
        "try: parser.parse('2 +* 3')\n"
        "except SyntaxFailure: pass"
    )
    assert not {name for name in modules if name.startswith("gradcli.language.diagnostics")}


def test_a_failure_is_structured():
    with pytest.raises(SyntaxFailure) as caught:
        driver.parse("f(a=1, a=2)")
    failure = caught.value
    assert (failure.kind, failure.start, failure.end) == ("duplicate_name", 7, 10)
    assert failure.details == {"what": "argument", "name": "a", "first": 2}


def test_every_kind_of_failure_has_an_explanation():
    assert sorted(EXPLANATIONS) == sorted(get_args(Kind))


@cache
def larks():
    """Lark's own LALR parser over the same grammar, fed with kinds of tokens."""
    from lark import Token
    from lark.lexer import Lexer as LarkLexer

    names: dict[str, str] = {}

    class Feed(LarkLexer):
        """Hands on the kinds that our lexer found."""

        def __init__(self, _conf):
            pass

        def lex(self, text):
            for name in text.split():
                yield Token(name, name)

    parser = build_tables.lark_parser(grammar.read_grammar(), Feed)
    for terminal in parser.terminals:
        if terminal.pattern.type == "str":
            names[f"`{terminal.pattern.value}`"] = terminal.name
    return parser, names


@family("seed", range(3))
def test_lark_accepts_the_same_texts(seed):
    """Our driver, with its short cuts, takes what Lark's takes; only the checks after parsing
    refuse more."""
    from lark import UnexpectedInput

    parser, names = larks()
    shown = tables.TABLES["terminals"]
    lexer, writer, counts = Lexer(tables.TABLES), Writer(3000 + seed), {True: 0, False: 0}
    makers = (writer.soup, lambda: writer.program(2), lambda: writer.expression(3).strip())
    late = ("E0109", "E0110", "E0130", "E0132", "E0139", "E0146")
    for number in range(240):
        text = makers[number % 3]()
        tokens = lexer.lex(Source(text), "file")
        if tokens.kinds[-1] == ERROR:
            continue
        kinds = [shown[kind] for kind in tokens.kinds[:-1]]
        try:
            parser.parse(" ".join(names.get(kind, kind) for kind in kinds))
            accepted = True
        except UnexpectedInput:
            accepted = False
        try:
            parse(text, "file")
            taken = True
        except SyntaxFault as fault:
            taken = fault.code in late and accepted
        counts[accepted] += 1
        assert taken is accepted, text
    assert min(counts.values()) > 25
