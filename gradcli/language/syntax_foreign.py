"""What is said of forms of Python that the language leaves out, of forms of other languages, and of
keywords with a slip in them. One function a mistake, which returns a fault or None."""

from __future__ import annotations

import re

from .check_faults import class_refused, decorator_refused
from .diagnostics import SyntaxFault, closest
from .syntax_place import BLOCK_WORDS, Place, is_function, line_end, statement_before

OPERATORS = frozenset(
    "+ - * / // % ** ^ @ == != < > <= >= = += -= *= /= //= %= **= @= and or not in is".split()  # noqa: SIM905
)
SIGN_OPERATORS = OPERATORS - {"and", "or", "not", "in", "is"}
LATE_WORDS = {
    "elsif": "elif",
    "elseif": "elif",
    "elsIf": "elif",
    "foreach": "for",
    "function": "def",
    "func": "def",
    "fn": "def",
    "fun": "def",
    "until": "while not",
    "repeat": "while",
    "procedure": "def",
    "sub": "def",
    "using": "import",
    "include": "import",
    "require": "import",
}
KEYWORDS = (
    "if", "elif", "else", "while", "for", "def", "return", "lambda", "import", "from", "with",
    "assert", "class", "print",
)  # fmt: skip
JOINING = ("not", "and", "or", "in", "is", "if", "else", "for")
DECLARATIONS = ("let", "var", "const", "float", "int", "double", "auto", "local")


def foreign_forms(p: Place) -> SyntaxFault | None:
    """Forms of Python that the language leaves out, and words of other languages."""
    for form in (_lost_words, _foreign_words, _generators, _annotations):
        if (fault := form(p)) is not None:
            return fault
    return None


def _lost_words(p: Place) -> SyntaxFault | None:
    """Decorators, classes, and an ``else`` that belongs to no ``if``."""
    at_start = p.at == p.first
    if p.word == "@" and at_start:
        return decorator_refused(p.work, p.start, line_end(p))
    if p.word in ("else", "elif") and at_start:
        owner = statement_before(p)
        if owner in ("for", "while") and p.word == "else":
            return p.fault(
                "E0142", "`else` after a loop is not part of the language",
                help="set a flag in the loop and test it after",
            )  # fmt: skip
        return p.fault(
            "E0108", f"`{p.word}` without an `if`",
            help="line it up with the `if` that it belongs to",
        )  # fmt: skip
    if p.head == "class" and p.first < p.at:
        return class_refused(p.work, p.work.starts[p.first], p.end)
    if p.word == "if" and p.before == "else":
        return _marked(p, "E0125", "`else if` is written `elif`", "write `elif`", p.at - 1, p.end)
    return None


def _foreign_words(p: Place) -> SyntaxFault | None:
    """A word at the start of a line, and another after it: ``elsif x``, ``print x``, ``let x``."""
    if not (p.starts_operand and p.kind_of(p.at - 1) == "NAME" and p.at - 1 == p.first):
        return None
    stop = p.work.ends[p.first]
    if p.head in LATE_WORDS:
        wanted = LATE_WORDS[p.head]
        said = f"`{p.head}` is written `{wanted}`"
        return _marked(p, "E0125", said, f"write `{wanted}`", p.first, stop)
    if p.head in ("match", "switch", "case"):
        said = f"`{p.head}` is not part of the language"
        return _marked(p, "E0136", said, "write if ... elif ... else", p.first, stop)
    if p.head == "print":
        mend = f"write print({p.source.text[p.start : line_end(p)]})"
        return _marked(p, "E0102", "`print` is a function", mend, p.first, stop)
    if p.head in DECLARATIONS and p.name == "NAME":
        mend = f"leave out `{p.head}`: {p.word} = ..."
        return _marked(p, "E0102", "variables are not declared", mend, p.first, stop)
    return None


def _marked(p: Place, code: str, said: str, mend: str, token: int, stop: int) -> SyntaxFault:
    """A fault whose mark begins at a token before the place."""
    return SyntaxFault(code, said, p.source, p.work.starts[token], stop, help=mend)


def _generators(p: Place) -> SyntaxFault | None:
    if p.word == "for" and p.opener >= 0 and p.text_of(p.opener) == "(" and not p.wants_operand:
        return p.fault(
            "E0135",
            "generators are not part of the language",
            "in round brackets this is a generator",
            others=[(p.work.starts[p.opener], p.work.ends[p.opener], "")],
            help="write a list: [ ... for ... in ... ]",
        )
    return None


def _annotations(p: Place) -> SyntaxFault | None:
    """Types after a colon; a keyword with a slip in it may look like a name with one."""
    if p.word != ":" or p.wants_operand:
        return None
    parameter = p.head == "def" and p.opener >= 0 and p.kind_of(p.at - 1) == "NAME"
    variable = p.head not in BLOCK_WORDS and p.opener < 0 and p.kind_of(p.at - 1) == "NAME"
    if variable and (slip := misspelled(p)) is not None:
        return slip
    if parameter or variable:
        return p.fault(
            "E0141", "type annotations are not part of the language",
            help=f"leave out `:` and the type of `{p.before}`",
        )  # fmt: skip
    return None


def loops(p: Place) -> SyntaxFault | None:
    """Counting loops of other languages."""
    if p.head != "for":
        return None
    if (p.word == "=" and p.opener < 0) or (p.word in ("=", ";") and p.text_of(p.first + 1) == "("):
        name = next((w for w in map(p.text_of, range(p.first + 1, p.at)) if w.isalpha()), "i")
        return p.fault(
            "E0125", "a loop counts over a range", help=f"write for {name} in range(start, stop):"
        )
    line = p.source.text[p.work.starts[p.first] : line_end(p)]
    bounds = _RANGE.match(line) if len(line) < 200 else None
    if p.word == ":" and bounds:
        within = ", ".join(part.strip() for part in bounds[2].split(":"))
        return p.fault(
            "E0125", "a range is not written with `:`",
            help=f"write {bounds[1]} in range({within}):",
        )  # fmt: skip
    return None


_RANGE = re.compile(r"(for .+?) in ([^:\[\]()]+(?::[^:\[\]()]+){1,2}):")


def choices(p: Place) -> SyntaxFault | None:
    """``if`` and ``else`` where an expression stands, and statements in a lambda."""
    text = p.source.text
    if p.word == "if" and p.before in ("=", "return", "(", ","):
        return p.fault(
            "E0108", "`if` cannot begin a value", help="a choice is written `a if test else b`"
        )
    if p.word == "else" and p.opener >= 0 and not p.wants_operand:
        return p.fault(
            "E0108",
            "a test at the end of a list has no `else`",
            help="put the choice first: [a if test else b for x in items]",
        )
    if p.word == "else" and p.head in ("if", "elif") and not p.wants_operand:
        return p.fault(
            "E0123", "`else` stands on a line of its own", help="or write y = a if test else b"
        )
    words = range(p.first, p.at)
    if p.before == ":" and any(p.text_of(t) == "lambda" for t in words):
        if p.word in ("return", "print", "assert", "pass", "if", "for", "while"):
            body = text[p.end : line_end(p)].strip()
            mend = f"leave out `return`: lambda ...: {body}" if p.word == "return" else (
                "a function of several steps is written with def"
            )  # fmt: skip
            return p.fault("E0108", "a lambda holds one expression", help=mend)
        if p.at_line_end:
            return p.fault(
                "E0108", "a lambda holds one expression, on its line",
                help="a function of several lines is written with def",
            )  # fmt: skip
    return None


def misspelled(p: Place) -> SyntaxFault | None:
    """A keyword with a slip of the finger: ``retrun x``, ``esle:``, ``x nto in y``."""
    near = None
    token = p.at - 1
    if token == p.first and p.kind_of(token) == "NAME":
        known: tuple[str, ...] = ()
        if p.starts_operand:
            known = KEYWORDS
        elif p.word == ":":
            known = ("else",)
        near = closest(p.before, known) if len(p.before) > 1 else None
    elif p.kind_of(token) == p.name == "NAME" and p.text_of(p.at + 1) in (":", ","):
        near = closest(p.before, ("lambda",))
    if near is None:
        token = p.at
        if p.name != "NAME" or p.wants_operand or len(p.word) < 2 or p.at == p.first:
            return None
        after = p.kind_of(p.at + 1)  # between two values stands an operator
        if after not in ("NAME", "NUMBER", "`in`", "`not`") or is_function(p.word):
            return None
        near = closest(p.word, JOINING)
    if near is None:
        return None
    return SyntaxFault(
        "E0125",
        f"`{p.text_of(token)}` is no word of the language",
        p.source,
        p.work.starts[token],
        p.work.ends[token],
        help=f"did you mean `{near}`?",
    )


def stars(p: Place) -> SyntaxFault | None:
    """``*args``, ``**options`` and ``import *``."""
    alone = p.text_of(p.at + 1) in (",", ")")
    if p.word in ("*", "/") and p.head in ("def", "lambda") and p.accepts("NAME") and alone:
        return p.fault(
            "E0137",
            f"`{p.word}` in a list of parameters is not part of the language",
            help="leave it out: every argument may be given by position or by name",
        )
    if p.word not in ("*", "**") or p.before in SIGN_OPERATORS - {"="}:
        return None
    if p.before == "import":
        return p.fault(
            "E0137",
            "`import *` is not part of the language",
            help="import the module and write its prefix: import torch",
        )
    if p.before in ("", "(", "[", ",", "=", "lambda") and (p.wants_operand or p.accepts("NAME")):
        after = p.kind_of(p.at + 1) in ("NAME", "`[`", "`(`")
        first_of_all = (
            p.at == p.first and p.opener < 0 and "," not in p.source.text[p.start : line_end(p)]
        )
        if after and not first_of_all:
            return p.fault(
                "E0137",
                "star forms are not part of the language",
                help="write the arguments one by one, or pass a list",
            )
    return None
