"""Explanations of the lexer's failures: characters, numbers, brackets, indentation and strings.

One function for each kind of SyntaxFailure, by the offsets of the mistake.
"""

# ruff: noqa: RUF001 -- characters that look alike are what this file is about

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.language.diagnostics.notation import between_bars, primed
from gradcli.language.diagnostics.render import SyntaxFault, located
from gradcli.language.syntax.lexer import CLOSERS, INDENT_LIMIT, NESTING_LIMIT, OPENERS
from gradcli.language.syntax.parser import MOST_OPEN
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault, LimitFault

Where = tuple[Source, int, int]
"""The source and the offsets of a mistake."""
Explanation = Callable[..., Fault]
"""Of the place and the details of a SyntaxFailure."""


def plain(code: str, message: str, help: str, label: str = "", **more: Any) -> Explanation:
    """The explanation of a mistake that is the same wherever it stands."""

    def fault(at: Where) -> SyntaxFault:
        return SyntaxFault(code, message, *at, label, help=help, **more)

    return fault


# ---- Characters ----------------------------------------------------------------------------------

# What people paste from papers and word processors, and how it is written here.
ELSEWHERE = {
    "×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "−": "-", "–": "-", "—": "-",
    "≤": "<=", "≥": ">=", "≠": "!=", "→": "=", "←": "=", "“": '"', "”": '"', "„": '"',
    "‘": "'", "’": "'", "π": "pi", "∞": "inf", "√": "sqrt(x)", "∑": "sum(x)", "∏": "prod(x)",
    "²": "**2", "³": "**3", "⁻": "**-", "½": "0.5", "°": "*pi/180", "∧": "and", "∨": "or",
    "¬": "not", "∈": "in", "ᵀ": ".T", "ℓ": "l", "∂": "d", "∇": "grad", "，": ",", "（": "(",
    "）": ")", "…": "...", "\u00a0": "a space", "\u3000": "a space", "\u2009": "a space",
}  # fmt: skip
GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "eps", "ζ": "zeta",
    "η": "eta", "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lam", "μ": "mu",
    "ν": "nu", "ξ": "xi", "ο": "omicron", "ρ": "rho", "σ": "sigma", "τ": "tau",
    "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma",
    "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Σ": "Sigma", "Φ": "Phi",
    "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
SIGNS = {
    ":=": ("E0118", "`:=` is not part of the language", "assign on a line of its own"),
    "&&": ("E0117", "`&&` is not an operator", "write `and`"),
    "||": ("E0117", "`||` is not an operator", "write `or`; an absolute value is abs(x)"),
    "<>": ("E0117", "`<>` is not an operator", "write `!=`"),
    "=>": ("E0117", "`=>` is not an operator", "write `>=`; a function is `lambda x: x**2`"),
    "=<": ("E0117", "`=<` is not an operator", "write `<=`"),
    "^=": ("E0115", "`^=` is not an operator", "write x **= 2"),
    "!": ("E0117", "`!` is not an operator", "write `not x`; a factorial is factorial(x)"),
    "$": ("E0114", "`$` is not part of the language", "in a shell, quote the expression: 'x + 1'"),
    "?": ("E0114", "`?` is not part of the language", "a choice is written `a if test else b`"),
    "`": ("E0114", "a backquote is not part of the language", "remove it"),
    "async": ("E0134", "`async` is not part of the language", "write a plain function"),
    "await": ("E0134", "`await` is not part of the language", "call the function"),
}  # fmt: skip


def sign(at: Where) -> SyntaxFault:
    """An operator of another language, or an operator or keyword of Python but not of this one."""
    source, start, end = at
    code, message, help = SIGNS[source.text[start:end]]
    first = source.line_bounds(start)[0]
    before = source.text[first:start].strip()
    if source.text[start] == "|":
        help = between_bars(source.text[start:end], before, source.text[end:]) or help
    elif source.text[start:end] == ":=" and before.endswith(")") and before[:1].isalpha():
        name, _, params = before[:-1].partition("(")
        help = f"to define a function, write {name} = lambda {params}: ..."
    return SyntaxFault(code, message, *at, help=help)


def character(at: Where) -> SyntaxFault:
    """A character that begins nothing in the language."""
    source, start, end = at
    text = source.text
    char = text[start]
    if char in SIGNS:
        return sign(at)
    if char == "\\":
        said = "a backslash must be the last character of its line"
        help = "remove it; inside brackets a line goes on by itself"
        return SyntaxFault("E0124", said, *at, help=help)
    if char in ELSEWHERE:
        help = f"write {ELSEWHERE[char]}"
        if ELSEWHERE[char].startswith("**") and text[end : end + 1] == "(":
            low = _word(text, max(0, start - 1))[0]
            help = f"write {text[low:start]}(x){ELSEWHERE[char]}"
        shown = f"`{char}`" if char > "\u3000" or char.isprintable() else "a special space"
        return SyntaxFault("E0113", f"{shown} is not part of the language", *at, help=help)
    low, high = _word(text, start)
    word = text[low:high]
    if char == "_":
        plain = word.strip("_")
        names = f"rename it, for example to `{plain}`" if plain[:1].isalpha() else (
            "write `_` alone for a value that is not used"
        )  # fmt: skip
        if word.startswith("__") and low and text[low - 1] == ".":
            names = "what a value is made of is not part of the language"
        elif word.startswith("__import__"):
            names = "write import torch, import numpy or import math"
        return SyntaxFault(
            "E0112", f"the name `{word}` begins with an underscore", source, low, high, help=names
        )
    if char.isalnum() or char.isidentifier():
        plain = "".join(GREEK.get(one, one) for one in word)
        ascii_word = plain if plain.isascii() else _folded(word)
        help = f"write {ascii_word}" if ascii_word else "names are made of a-z, A-Z, 0-9 and _"
        said = f"the name `{word}` is not ASCII"
        return SyntaxFault("E0113", said, source, low, high, help=help)
    shown = f"`{char}`" if char.isprintable() else f"the character U+{ord(char):04X}"
    return SyntaxFault("E0114", f"{shown} is not part of the language", *at, help="remove it")


def _word(text: str, at: int) -> tuple[int, int]:
    """The bounds of the word around ``at``, letters of any script included."""
    low = high = at
    while low and (text[low - 1].isalnum() or text[low - 1] == "_"):
        low -= 1
    while high < len(text) and (text[high].isalnum() or text[high] == "_"):
        high += 1
    return low, max(high, at + 1)


def _folded(word: str) -> str:
    """The word in ASCII letters where it has such a form (full-width or accented letters), else
    ''."""
    from unicodedata import normalize  # large tables, not needed for ASCII

    plain = "".join(char for char in normalize("NFKD", word) if char.isascii())
    return plain if len(plain) >= len(word) and plain.isidentifier() and plain[0] != "_" else ""


def number(at: Where) -> SyntaxFault:
    """A number with letters or another number stuck to it."""
    source, start, end = at
    text = source.text
    high = _word(text, end)[1]
    digits, rest = text[start:end], text[end:high]
    if digits.replace(".", "").isdigit() and rest[:1].isalpha() and rest.isascii():
        if rest in ("if", "else", "for", "in", "is", "and", "or", "not"):
            help = f"put a space: {digits} {rest}"
        elif digits.endswith("."):
            help = f"write {digits}0*{rest}, or ({digits}0).{rest}"
        else:
            help = f"write {digits}*{rest}"
            if rest in ("i", "I"):
                help += f", or {digits}j for an imaginary number"
            elif rest in ("e", "E"):
                help += f", or an exponent: {digits}e3"
            elif rest in ("f", "F", "L", "l", "u", "d"):
                help = f"write {digits}"
        said = f"`{digits}{rest}`: a number and a name without an operator"
        return SyntaxFault("E0111", said, source, start, high, help=help)
    while high < len(text) and (text[high].isalnum() or text[high] in "._"):
        high += 1
    return bad_number((source, start, high))


def bad_number(at: Where) -> SyntaxFault:
    """A number that is written in no known way."""
    source, start, end = at
    text = source.text[start:end]
    shown = text if len(text) <= 40 else text[:20] + "..." + text[-10:]
    if len(text) > 1000:
        why, help = "is too long", "write it as a power, or with an exponent: 1e300"
    elif text.isdigit():
        why, help = "begins with a zero", f"write {text.lstrip('0') or '0'}"
    elif "_" in text:
        why, help = "has an underscore that is not between two digits", "write 1_000_000"
    else:
        why, help = "is not a number", "numbers look like 2, 0.5, 1e-3, 0xff or 2j"
    return SyntaxFault("E0110", f"`{shown}` {why}", *at, help=help)


# ---- Brackets and lines --------------------------------------------------------------------------


def unclosed(at: Where) -> SyntaxFault:
    """A bracket that the text never closes."""
    source, start, _ = at
    opener = source.text[start]
    said, help = f"`{opener}` is never closed", f"add `{OPENERS[opener]}`"
    return SyntaxFault("E0105", said, *at, help=help, incomplete=True)


def closer(at: Where, opener: int | None) -> SyntaxFault:
    """A closing bracket that closes nothing, or the wrong bracket, which is at ``opener``."""
    source, start, _ = at
    sign = source.text[start]
    if opener is None:
        help = f"remove it, or add `{CLOSERS[sign]}` before it"
        return SyntaxFault("E0106", f"`{sign}` closes nothing", *at, help=help)
    opened = source.text[opener]
    wanted = OPENERS[opened]
    return SyntaxFault(
        "E0106", f"`{sign}` cannot close `{opened}`", *at, f"expected `{wanted}`",
        others=[(opener, opener + 1, "opened here")], help=f"write `{wanted}` here",
    )  # fmt: skip


def _nested(what: str, limit: int) -> Explanation:
    """A function for brackets or blocks that nest deeper than the limit."""

    def fault(at: Where) -> LimitFault:
        message = f"{what} nest deeper than {limit:,}"
        made = LimitFault("E0604", message, help="name an inner part and use the name")
        located(made, *at)
        return made

    return fault


def dedent(at: Where) -> SyntaxFault:
    """A line that is indented like none of the blocks around it."""
    source, start, end = at
    said = "this line is indented like no line above it"
    help = "line it up with the block that it belongs to"
    return SyntaxFault("E0123", said, source, start, max(end, start + 1), help=help)


# ---- Strings -------------------------------------------------------------------------------------


def unterminated(at: Where) -> SyntaxFault:
    """A string without its closing quote."""
    source, start, end = at
    text = source.text
    quote = text[start:end].lstrip("rRuUfFbB")
    lines = len(quote) == 3  # it may go on
    help = f"add {quote} at its end" if lines else f"add {quote} before the end of the line"
    if quote == "'":
        help = primed(text[: end - 1], text[end:]) or help
    return SyntaxFault("E0119", "the string is never closed", *at, help=help, incomplete=lines)


def escape(at: Where) -> SyntaxFault:
    """A backslash sequence that stands for nothing."""
    source, start, end = at
    said = f"`{source.text[start:end]}` stands for no character"
    help = "write \\\\ for a backslash, or put r before the string"
    return SyntaxFault("E0120", said, *at, help=help)


EXPLANATIONS: dict[str, Explanation] = {
    "unknown_character": character, "foreign_operator": sign,
    "caret_in_file": plain("E0115", "`^` is a power in one-liners only",
        "write `**` in a program file", "Python reads this as exclusive or"),
    "python_keyword": sign, "glued_number": number, "bad_number": bad_number,
    "joined_to_nothing": plain("E0101", "the backslash joins the next line, and there is none",
        "remove the backslash", incomplete=True),
    "unclosed_bracket": unclosed, "unmatched_bracket": closer,
    "deep_brackets": _nested("brackets", NESTING_LIMIT),
    "deep_blocks": _nested("blocks", INDENT_LIMIT),
    "deep_operators": _nested("operators", MOST_OPEN),
    "mixed_tabs": plain("E0122", "tabs and spaces are mixed in the indentation",
        "indent with four spaces everywhere"),
    "unaligned_dedent": dedent, "unterminated_string": unterminated,
    "bytes_literal": plain("E0120", "bytes are not part of the language",
        "leave out the b for a string; for numbers, write a list"),
    "unknown_escape": escape,
    "comment_in_field": plain("E0121", "f-string: a comment or a backslash inside a field",
        "compute the value before, and name it"),
    "lone_brace": plain("E0121", "f-string: `}` closes nothing", "write }} for the character }"),
    "unclosed_field": plain("E0121", "f-string: `{` is never closed",
        "add }, write {{ for the character {, or use the other kind of quote inside"),
    "empty_field": plain("E0121", "f-string: an empty field", "put a name between the braces"),
    "field_conversion": plain("E0121", "f-string: `!` conversions are not part of the language",
        "leave out the `!` part"),
    "bad_format": plain("E0121", "f-string: this format is not one for numbers",
        "formats look like .4f, 10.3e, >8 or d, with a width of at most 1000 and no braces"),
}  # fmt: skip
"""By the kind of a SyntaxFailure."""
