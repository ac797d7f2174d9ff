"""Trees written out again: the same tree, few brackets, at any depth."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gradcli.language.diagnostics.parsing import parse
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.printer import unparse
from gradcli.ops.errors import Fault
from tests.language.generators.texts import BINARY, COMPARE, Writer
from tests.support.families import family


@family("seed", range(4))
def test_round_trip_of_random_texts(seed):
    writer, taken = Writer(5000 + seed), 0
    for number in range(200):
        text = writer.program(3) if number % 2 else writer.expression(4).strip()
        try:
            tree = parse(text, "file")
        except Fault:
            continue
        taken += 1
        written = unparse(tree)
        assert n.same(parse(written, "file"), tree), (text, written)
        assert unparse(parse(written)) == written
    assert taken > 60


names = st.sampled_from(["x", "y", "f", "loss"]).map(n.Name)
leaves = st.one_of(
    names,
    st.integers(0, 10**6).map(lambda value: n.Number(value, str(value))),
    st.floats(0, 1e9).map(lambda value: n.Number(value, repr(value))),
    st.text(max_size=6).map(n.String),
    st.sampled_from([True, False, None, ...]).map(n.Literal),
)


def _compound(inner: st.SearchStrategy) -> st.SearchStrategy:
    tuples = st.lists(inner, min_size=2, max_size=3).map(tuple)
    any_number = st.lists(inner, max_size=3).map(tuple)
    params = st.lists(inner, max_size=2).map(
        lambda defaults: tuple(n.Param(f"p{i}", one) for i, one in enumerate(defaults))
    )
    clause = st.builds(n.Clause, names, inner, st.lists(inner, max_size=2).map(tuple))
    maybe = st.one_of(st.none(), inner)
    texts = st.text(alphabet="ab {}'\"\\\n\t\x1bé", min_size=1, max_size=5).map(n.String)
    fields = st.builds(
        n.FormatPart,
        st.builds(n.Binary, st.sampled_from(BINARY), names, names),
        st.sampled_from(["", ".3f", ">8"]),
        st.none(),
    )
    return st.one_of(
        st.builds(n.Binary, st.sampled_from(BINARY), inner, inner),
        st.builds(n.Unary, st.sampled_from(["-", "+", "not"]), inner),
        st.builds(
            lambda left, ops, rights: n.Compare(left, ops, rights[: len(ops)]),
            inner,
            st.lists(st.sampled_from(COMPARE), min_size=1, max_size=2).map(tuple),
            tuples,
        ),
        st.builds(n.BoolOp, st.sampled_from(["and", "or"]), tuples),
        st.builds(n.Conditional, inner, inner, inner),
        st.builds(
            lambda func, args, value: n.Call(func, args, (n.Keyword("k", value),)),
            inner,
            any_number,
            inner,
        ),
        st.builds(n.Attribute, inner, st.just("T")),
        st.builds(n.Subscript, inner, st.one_of(inner, st.builds(n.Slice, maybe, maybe, maybe))),
        any_number.map(n.Tuple),
        any_number.map(n.List),
        st.builds(n.Lambda, params, inner),
        st.builds(n.ListComp, inner, st.lists(clause, min_size=1, max_size=2).map(tuple)),
        st.tuples(texts, fields, texts).map(n.FString),
    )


@given(st.recursive(leaves, _compound, max_leaves=25))
def test_round_trip_of_any_tree(tree):
    assert n.same(parse(unparse(tree)).body[0].value, tree)


@family(
    "text, written",
    [
        ("(2*(x^2)) + (y)", "2*x**2 + y"),
        ("a-(b-c)-(d*e)", "a - (b - c) - d*e"),
        ("((a**b))**(c**d)", "(a**b)**c**d"),
        ("-(x**2)", "-x**2"),
        ("(-x)**2", "(-x)**2"),
        ("x.T @ (A @ x)", "x.T @ (A @ x)"),
        ("(x @ A) @ x / 2", "x @ A @ x/2"),
        ("not (a and b)", "not (a and b)"),
        ("(not a) and b", "not a and b"),
        ("(a < b) < c", "(a < b) < c"),
        ("(lambda x: (x))(1)", "(lambda x: x)(1)"),
        ("x[(1, 2)]", "x[1, 2]"),
        ("x[1 :, ..., : : 2]", "x[1:, ..., ::2]"),
        ("x = (a, b)", "x = a, b"),
        ("return_ = f((a, b))", "return_ = f((a, b))"),
        ("2 .T", "(2).T"),
        ("'a' 'b'", "'ab'"),
        ('f"{x:.3f} \\"{y=}\\""', "f'{x:.3f} \"{y=}\"'"),
        ("f'{f\"{a}\"}'", "f'{f\"{a}\"}'"),
        ("f'''{d[\"a\"]}'''", "f\"{d['a']}\""),
        ("with ((a, b)): pass", "with ((a, b)):\n    pass"),
        ("if a: b\nelse:\n  if c: d\n  else: e", "if a:\n    b\nelif c:\n    d\nelse:\n    e"),
        ("for i , in x: y ; z", "for i, in x:\n    y\n    z"),
        ("def f ( x,y = 1 ) : return", "def f(x, y=1):\n    return"),
    ],
)
def test_how_it_looks(text, written):
    assert unparse(parse(text)) == written


def test_a_function_class():
    text = (
        "class Cube(Function):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        return x**3\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g"
    )
    assert unparse(parse(text)) == text


def test_a_function_class_with_all_it_may_hold():
    text = (
        "class Cube(Function):\n"
        "    generate_vmap_rule = False\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g\n"
        "    @staticmethod\n    def forward(x):\n        return x**3\n"
        "    @staticmethod\n    def setup_context(ctx, inputs, output):\n        pass\n"
        "    @staticmethod\n    def vmap(info, dims, x):\n        return x, 0\n"
        "    @staticmethod\n    def jvp(ctx, t):\n        return t"
    )
    assert unparse(parse(text)) == text
    assert not n.same(parse(text), parse(text.replace("False", "True")))


@family(
    "text",
    [
        "x + " * 4_000 + "x",
        "-" * 4_000 + "x",
        "x**" * 4_000 + "x",
        "(" * 1000 + "x - 1" + ")*2" * 1000,
        "f" + "(x)" * 2_000,
        "a if b else " * 2_000 + "c",
        "if a:\n    b\n" + "elif c:\n    d\n" * 1_000,
    ],
)
def test_long_and_deep_trees(text):
    tree = parse(text)
    assert n.same(parse(unparse(tree)), tree)


def test_parts_of_trees():
    (statement,) = parse("x = (1, 2)").body
    assert unparse(statement) == "x = 1, 2"
    assert unparse(statement.value) == "(1, 2)"
    assert unparse(parse("f(a=1)").body[0].value.keywords[0]) == "a=1"
