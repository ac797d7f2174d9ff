"""Characters, numbers, strings, brackets and indentation; each refusal with its code and place."""

# ruff: noqa: RUF001 -- characters that look alike are tested here

from __future__ import annotations

import pytest

from gradcli.language.diagnostics.parsing import parse
from gradcli.language.diagnostics.render import SyntaxFault
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.lexer import Lexer
from gradcli.language.syntax.source import Source
from gradcli.language.syntax.strings import good_spec
from gradcli.language.syntax.tables import TABLES
from tests.support.families import family


def kinds(text: str, mode: str = "line") -> list[str]:
    """The tokens of a text: signs and keywords as they are, others by their names."""
    tokens = Lexer(TABLES).lex(Source(text), mode)
    return [TABLES["terminals"][kind].strip("`") if kind >= 0 else "ERROR" for kind in tokens.kinds]


def refused(text: str, mode: str = "line") -> tuple[str, str]:
    """The code of the refusal and the text under its mark."""
    source = Source(text)
    with pytest.raises(SyntaxFault) as caught:
        parse(source, mode)
    return caught.value.code, source.text[caught.value.start : caught.value.end]


def test_tokens():
    assert kinds("x = 2*sin(y) # why") == [
        "NAME", "=", "NUMBER", "*", "NAME", "(", "NAME", ")", "_NEWLINE", "$END",
    ]  # fmt: skip
    assert kinds("a//=b**-c!=d") == [
        "NAME", "//=", "NAME", "**", "-", "NAME", "!=", "NAME", "_NEWLINE", "$END",
    ]  # fmt: skip
    assert kinds("") == ["$END"]


def test_indentation_makes_blocks():
    text = "if a:\n\n    b\n  # a note counts for nothing\n    if c:\n\td\ne"
    with pytest.raises(SyntaxFault):  # a tab that is as deep as nothing above it
        parse(text)
    assert kinds("if a:\n  b\n  if c:\n      d\ne\n").count("_INDENT") == 2
    assert kinds("if a:\n  b\n  if c:\n      d\ne\n").count("_DEDENT") == 2
    assert kinds("if a:\n  b\n  if c:\n      d")[-5:] == [
        "NAME", "_NEWLINE", "_DEDENT", "_DEDENT", "$END",
    ]  # fmt: skip


def test_lines_that_go_on():
    assert kinds("f(a,\n  # note\n\n b)").count("_NEWLINE") == 1
    assert kinds("a + \\\n   b").count("_NEWLINE") == 1
    assert kinds("\n\n  \n# only notes\n") == ["$END"]


def test_a_line_may_be_pushed_to_the_right():
    assert len(parse("   x = 1\n   y = 2").body) == 2
    assert refused("   x = 1\n   y = 2", "file") == ("E0123", "   ")


def test_line_ends_and_byte_order_mark():
    assert Source("\ufeffa\r\nb\rc").text == "a\nb\nc"
    assert len(parse("a\r\nb\rc").body) == 3
    assert refused("a = 1\u2028b = 2")[0] == "E0114"


def test_places_in_a_source():
    source = Source("ab\ncd\n\nefg")
    assert source.span(0, 2) == (1, 1, 1, 3)
    assert source.span(4, 8) == (2, 2, 4, 2)


@family("text", [
        "0", "7", "00", "1_000", "0xFF", "0b11", "0o17", "1.5", ".5", "2.", "1e5", "1E-5", "1.e+3", 
        "2j", "2.5e-1J", "1_0.0_1", "0x_f", "01.5", "9e999", "1_0j",
    ],
)  # fmt: skip
def test_numbers_are_pythons(text):
    node = parse(text).body[0].value
    expected = eval(text)  # a literal of this test
    assert type(node.value) is type(expected)
    assert repr(node.value) == repr(expected)
    assert node.text == text


@family(
    "text, code, marked",
    [
        ("007", "E0110", "007"),
        ("1__0", "E0110", "1__0"),
        ("1_", "E0110", "1_"),
        ("1_000_", "E0110", "1_000_"),
        ("0b12", "E0110", "0b12"),
        ("0x", "E0111", "0x"),
        ("1.2.3", "E0110", "1.2.3"),
        ("2 + 3x*y", "E0111", "3x"),
        ("2e", "E0111", "2e"),
        ("3 + 2pi", "E0111", "2pi"),
        ("1if x else y", "E0111", "1if"),
        ("1_000x", "E0110", "1_000x"),
        ("9" * 5000, "E0110", "9" * 5000),
        ("0x" + "f" * 5000, "E0110", "0x" + "f" * 5000),
    ],
)
def test_malformed_numbers(text, code, marked):
    assert refused(text) == (code, marked)


@family(
    "text, code, marked",
    [
        ("x.__dict__", "E0112", "__dict__"),
        ("for __ in x: y", "E0112", "__"),
        ("_0", "E0112", "_0"),
        ("ｓin(x)", "E0113", "ｓin"),
        ("xé + 1", "E0113", "xé"),
        ("é", "E0113", "é"),
        ("2*α", "E0113", "α"),
        ("x²", "E0113", "²"),
        ("a × b", "E0113", "×"),
        ("a\u00a0+ b", "E0113", "\u00a0"),
        ("a\x00", "E0114", "\x00"),
        ("'a\x00'", "E0114", "\x00"),
        ("a  # \x00", "E0114", "\x00"),
        ("a\x1b[31m", "E0114", "\x1b"),
        ("a\f", "E0114", "\f"),
        ("a\u202eb", "E0114", "\u202e"),
        ("a $ b", "E0114", "$"),
        ("a ? b : c", "E0114", "?"),
        ("`a`", "E0114", "`"),
        ("a && b", "E0117", "&&"),
        ("a || b", "E0117", "||"),
        ("!a", "E0117", "!"),
        ("a!", "E0117", "!"),
        ("a <> b", "E0117", "<>"),
        ("a => b", "E0117", "=>"),
        ("f(n := 3)", "E0118", ":="),
        ("a ^= 2", "E0115", "^="),
        ("a + \\ b", "E0124", "\\"),
        ("a \\", "E0124", "\\"),
    ],
)
def test_characters_that_are_refused(text, code, marked):
    assert refused(text) == (code, marked)


@family(
    "text, help",
    [
        ("2*α", "write alpha"),
        ("x²", "write **2"),
        ("a × b", "write *"),
        ("π*r", "write pi"),
        ("ｓin(x)", "write sin"),
        ("3x", "write 3*x"),
        ("007", "write 7"),
        ("n!", "write `not x`; a factorial is factorial(x)"),
    ],
)
def test_what_to_write_instead(text, help):
    with pytest.raises(SyntaxFault) as caught:
        parse(text)
    assert caught.value.help == help


def test_caret_by_mode():
    assert parse("x^2")
    assert refused("x^2", "file") == ("E0115", "^")


@family(
    "text, code, marked",
    [
        ("f(a, (b, c)", "E0105", "("),
        ("x = [1, 2\ny = 3\nz = 4", "E0105", "["),
        ("a = (1 +\nb = 2", "E0105", "("),
        ("a)", "E0106", ")"),
        ("(a]", "E0106", "]"),
        ("f'{(a}'", "E0105", "("),
    ],
)
def test_brackets(text, code, marked):
    assert refused(text) == (code, marked)


def test_an_open_bracket_is_marked_where_it_opens():
    with pytest.raises(SyntaxFault) as caught:
        parse("f(a) + (b, (c)")
    assert (caught.value.start, caught.value.incomplete) == (7, True)
    with pytest.raises(SyntaxFault) as caught:
        parse("(a, [b)")
    assert caught.value.labels == [(6, 7, "expected `]`", True), (4, 5, "opened here", False)]


@family(
    "text, code, marked",
    [
        ("if a:\n\tb\n        c", "E0122", "        "),
        ("if a:\n        b\n\tc", "E0122", "\t"),
        ("if a:\n    b\n  c", "E0123", "  "),
        ("a\n  b", "E0123", "  "),
        ("if a:\nb", "E0123", "b"),
        ("if a:", "E0123", "if"),
    ],
)
def test_indentation_that_is_refused(text, code, marked):
    assert refused(text, "file") == (code, marked)


def test_tabs_alone_are_fine():
    assert parse("if a:\n\tb\n\tif c:\n\t\td\n", "file")


# ---- Strings -------------------------------------------------------------------------------------


@family("text", [
        "'a'", '"a\'b"', "'a\\'b'", "'\\n\\t\\\\\\x41\\u00e9\\U0001F600\\101\\0'", "r'\\d'",
        "'''a\nb'''", "'a\\\nb'", "'a' \"b\" r'\\c'", "''", "''''''", "'''a'b''c'''", "u'x'",
        "R'\\'", '"""a\\"""b"""', "'\\\\'", "'#'", "'\u00e9\u4e2d'",
    ],
)  # fmt: skip
def test_strings_are_pythons(text):
    try:
        expected = eval(text)  # a literal of this test
    except SyntaxError:
        assert refused(text)[0] == "E0119"
        return
    assert parse(text).body[0].value.value == expected


@family(
    "text, code, marked",
    [
        ("x + 'abc", "E0119", "'"),
        ("'abc\ny'", "E0119", "'"),
        ("'''abc", "E0119", "'''"),
        ("'abc\\'", "E0119", "'"),
        ("b'a'", "E0120", "b'"),
        ("Rb'a'", "E0120", "Rb'"),
        (r"'a\q'", "E0120", r"\q"),
        (r"'\x4'", "E0120", r"\x4"),
        (r"'\N{DIGIT ONE}'", "E0120", r"\N"),
        (r"'\U00110000'", "E0120", r"\U00110000"),
        ("f'{a'", "E0121", "{"),
        ("f'a}'", "E0121", "}"),
        ("f'{ }'", "E0121", "{ }"),
        ("f'{a!a}'", "E0121", "!a"),
        ("f'{a:{b}}'", "E0121", "{b}"),
        ("f'{a:zz}'", "E0121", "zz"),
        ("f'{a:9999999}'", "E0121", "9999999"),
        ("f'''{a # b\n}'''", "E0121", "# b"),
        ("f'{a b}'", "E0102", "b"),
        ("f'{a +}'", "E0107", "+"),
        ("f'{lambda: 1}'", "E0108", ": 1}"),
        ("f'{a.__b}'", "E0112", "__b"),
    ],
)
def test_strings_that_are_refused(text, code, marked):
    assert refused(text) == (code, marked)


def test_parts_of_an_fstring():
    text = "f'a{{b}} {x + 1:>8.3e}\\n{loss=:.4f}{ y = }'"
    parts = parse(text).body[0].value.parts
    assert [type(part) for part in parts] == [
        n.String, n.FormatPart, n.String, n.FormatPart, n.FormatPart,
    ]  # fmt: skip
    assert parts[0].value == "a{b} "
    assert (parts[1].spec, parts[1].text) == (">8.3e", None)
    assert text[parts[1].value.start : parts[1].value.end] == "x + 1"
    assert text[parts[1].start : parts[1].end] == "{x + 1:>8.3e}"
    assert parts[2].value == "\n"
    assert (parts[3].spec, parts[3].text) == (".4f", "loss=")
    assert (parts[4].spec, parts[4].text) == ("", " y = ")


@family(
    "spec",
    ["", ".4f", ">8.3e", "d", "+d", "*^10", "08.2f", ",", "_", ".0%", "g", "#x", "<5s", " .2f"],
)
def test_formats_of_numbers(spec):
    assert good_spec(spec)


@family("spec", ["r", "!r", "1001", ".1001f", ".f", "%Y", "c", "n", "5.2.1"])
def test_other_formats(spec):
    assert not good_spec(spec)
