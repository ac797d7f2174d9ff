"""What is said where the words do not make a sentence; loaded only when that happens.

``unexpected`` is called where the parser cannot go on. It knows the tokens on both sides and can
ask the tables which kinds of token would have been accepted; from these it finds the mistake that
people make at such a place.
"""

from __future__ import annotations

from typing import Any

from .diagnostics import SyntaxFault
from .notation import primed, side_by_side
from .syntax_foreign import (
    DECLARATIONS,
    OPERATORS,
    SIGN_OPERATORS,
    choices,
    foreign_forms,
    loops,
    misspelled,
    stars,
)
from .syntax_place import BLOCK_WORDS, Place, is_function

OPERAND = 'expected a number, a name or "("'


def unexpected(parser: Any, work: Any, states: list[int], at: int) -> SyntaxFault:
    """The fault for the token ``at``, which no rule accepts where the parser stands."""
    place = Place(parser, work, states, at)
    for look in (
        _layout, foreign_forms, loops, choices, stars, _equals, _missing_colon, _keywords,
        misspelled, _missing_operand, _missing_operator, _other,
    ):  # fmt: skip
        fault = look(place)
        if fault is not None:
            return fault
    raise AssertionError("the last look always finds a fault")


def _layout(p: Place) -> SyntaxFault | None:
    """A block without a body, or a body without a block."""
    if p.accepts("_INDENT"):
        header = p.first - 1
        while header and p.kind_of(header - 1) not in ("_NEWLINE", "_INDENT", "_DEDENT"):
            header -= 1
        word = p.text_of(header)
        others = (
            [(p.work.starts[header], p.work.ends[header], "the block begins here")] if word else []
        )
        start = p.start
        if p.name == "_DEDENT" and not p.text_of(p.at + 1):
            start = max(0, min(start, len(p.source.text) - 1))
        return SyntaxFault(
            "E0123",
            f"the block after `{word}` is empty",
            p.source,
            p.work.starts[header] if p.name == "$END" else start,
            p.work.ends[header] if p.name == "$END" else max(p.end, start + 1),
            "" if p.name == "$END" else "expected an indented line",
            others=() if p.name == "$END" else others,
            help="indent the lines of the block, or write `pass`",
            incomplete=p.name == "$END",
        )
    if p.name == "_INDENT":
        return p.fault(
            "E0123", "this line is indented for no reason", help="line it up with the line above"
        )
    return None


def _equals(p: Place) -> SyntaxFault | None:
    """``=`` where a comparison is meant, or inside an expression."""
    if p.word != "=":
        return None
    before = p.kind_of(p.at - 1) if p.at else ""
    if before.startswith("`") and before.strip("`").isalpha() and not p.opener >= 0:
        word = before.strip("`")
        if word not in ("True", "False", "None"):
            return _reserved(p, p.at - 1)
    if before.strip("`") in SIGN_OPERATORS or not p.at or p.at == p.first:
        return None
    help = "to compare, write `==`"
    if p.head in DECLARATIONS:
        help = f"leave out `{p.head}`"
    return p.fault("E0104", "`=` assigns and cannot stand here", help=help)


def _missing_colon(p: Place) -> SyntaxFault | None:
    """The line of an ``if``, a loop or a ``def`` that ends without its colon."""
    if p.head not in BLOCK_WORDS or not p.accepts("`:`") or p.opener >= 0:
        return None
    starts = ("then", "do", "return", "pass", "break", "continue", "assert")
    if not (p.at_line_end or p.before == "else" or p.word in starts):
        return None
    last = p.work.ends[p.at - 1]
    if p.word in ("then", "do"):
        return p.fault("E0103", f"`{p.word}` is written `:`", help="write `:`")
    return SyntaxFault(
        "E0103",
        f"a colon is missing after `{p.head}`",
        p.source,
        last,
        last + 1,
        'expected ":"',
        help=f"write {p.source.text[p.work.starts[p.first] : last]}:",
    )


def _keywords(p: Place) -> SyntaxFault | None:
    """A word of the language used as a name."""
    if not (p.name.startswith("`") and p.word.isalpha()):
        return None
    if p.text_of(p.at + 1) == "=" and not p.starts_operand:
        return _reserved(p, p.at)
    if p.accepts("NAME") and not p.wants_operand:
        return _reserved(p, p.at)
    return None


def _reserved(p: Place, token: int) -> SyntaxFault:
    word = p.text_of(token)
    better = {"lambda": "lam", "in": "inputs", "is": "index", "as": "a", "pass": "passed"}
    return SyntaxFault(
        "E0145",
        f"`{word}` is a word of the language and cannot be a name",
        p.source,
        p.work.starts[token],
        p.work.ends[token],
        help=f"choose another name, for example `{better.get(word, word + '_')}`",
    )


def _missing_operand(p: Place) -> SyntaxFault | None:
    """An operator without a value beside it."""
    if not p.wants_operand or p.starts_operand:
        return None
    adjacent = p.at and p.work.ends[p.at - 1] == p.start
    if p.before in OPERATORS and p.word in OPERATORS:
        joined = p.before + p.word
        if joined in OPERATORS and not adjacent:
            help = f"write `{joined}` without a space"
        elif joined in ("===", "!=="):
            help = f"write `{joined[:2]}`"
        else:
            help = "remove one of the operators"
        return p.fault("E0101", "two operators in a row", OPERAND, help=help)
    if p.word in OPERATORS and p.word not in ("not", "+", "-"):
        return p.fault(
            "E0107",
            f"nothing stands to the left of `{p.word}`",
            OPERAND,
            help=f"remove `{p.word}`, or put a value before it",
        )
    if p.before in OPERATORS or p.before in ("return", "assert", "if", "while", "elif", "lambda"):
        start, end = p.work.starts[p.at - 1], p.work.ends[p.at - 1]
        twin = p.at > 1 and p.before in "+-" and p.work.word(p.at - 2) == p.before
        return SyntaxFault(
            "E0107",
            f"the expression stops after `{p.before}`",
            p.source,
            start,
            end,
            OPERAND + " on its right",
            help=f"to count up or down, write x {p.before}= 1"
            if twin
            else f"add a value after `{p.before}`",
        )
    return p.fault("E0108", f"did not expect {p.found()}", OPERAND, help=_written(p))


def _missing_operator(p: Place) -> SyntaxFault | None:
    """Two values side by side."""
    if not p.starts_operand or not p.accepts("`*`") or p.at == p.first:
        return None
    begin = p.work.starts[p.at - 1]
    left = p.before if len(p.before) < 30 else "..."
    if p.name == "NUMBER" and p.kind_of(p.at - 1) == "NUMBER" and p.word.isdigit():
        return p.fault(
            "E0102", f"an operator is missing before {p.found()}", "expected an operator",
            others=[(begin, p.work.ends[p.at - 1], "")],
            help=f"write {p.before}{p.word} as one number, or put a comma between them",
        )  # fmt: skip
    if p.opener < 0 and p.head != "lambda" and _new_statement(p):
        return p.fault(
            "E0102", f"an operator or a line end is missing before {p.found()}",
            help=f"begin a new line before {p.found()}",
        )  # fmt: skip
    if p.kind_of(p.at - 1) == "NAME" and p.name in ("NAME", "NUMBER") and is_function(p.before):
        return p.fault(
            "E0102", f"the argument of `{p.before}` stands in brackets", "expected an operator",
            others=[(begin, p.work.ends[p.at - 1], "")], help=f"write {p.before}({p.word})",
        )  # fmt: skip
    simple = p.name in ("NAME", "NUMBER") and p.kind_of(p.at - 1) in (
        "NAME",
        "NUMBER",
        "`)`",
        "`]`",
    )
    if p.text_of(p.at + 1) == "(":
        simple = False
    around = (p.text_of(p.at + k) for k in (-3, -2, -1, 0, 1))
    notation = side_by_side(*around)
    if p.name == "STRING" and p.word[:1] == "'" and p.start == p.work.ends[p.at - 1]:
        notation = primed(p.source.text[: p.start], p.source.text[p.start + 1 :])
    if p.word == "not":
        help = "write `and not`, `not in` or `!=`"
    elif notation is not None:
        help = notation
    elif simple and left not in (")", "]"):
        help = f"write {left}*{p.word}, or put a comma between them"
    elif simple:
        help = f"write {left}*{p.word}"
    else:
        help = "put an operator or a comma between them"
    return p.fault(
        "E0102",
        f"an operator is missing before {p.found()}",
        "expected an operator",
        others=[(begin, p.work.ends[p.at - 1], "")] if p.before else [],
        help=help,
    )


def _new_statement(p: Place) -> bool:
    """Whether what follows looks like a statement of its own: ``y = 4``, ``print(y)``."""
    if p.name != "NAME":
        return False
    return p.text_of(p.at + 1) == "=" or (p.word == "print" and p.text_of(p.at + 1) == "(")


_FORMS = {
    "for": "write for x in range(3):", "def": "write def f(x):", "while": "write while x > 0:",
    "with": "write with no_grad():", "import": "write import torch",
    "from": "write from torch import sin", "assert": "write assert x > 0",
    "class": "write class F(Function):", "lambda": "write lambda x: x**2",
    "pass": "`pass` stands alone on its line",
    "break": "`break` stands alone on its line",
    "continue": "`continue` stands alone on its line",
}  # fmt: skip
"""How a statement is written, by its first word."""


def _written(p: Place) -> str | None:
    """What to write instead of what was not expected."""
    if p.before == ".":
        return "one dot is enough" if p.word == "." else "write a name after the dot: x.sum()"
    if p.word in (",", ";") and p.before in (p.word, "(", "[", ""):
        return f"leave the `{p.word}` out"
    if p.word == "]" and p.before == "[" and p.opener > p.first:
        return "an index stands between the brackets: x[0]"
    if p.word == ":" and p.opener >= 0 and p.text_of(p.opener) == "[":
        return "a slice has at most three parts: x[begin:end:step]"
    if p.before == ":" and p.word in ("if", "for", "while", "def", "with", "class"):
        return "begin a new line, moved in, after the `:`"
    return _FORMS.get(p.head)


def _other(p: Place) -> SyntaxFault:
    """Anything else: what was found, and what could have stood there."""
    if p.at_line_end and p.accepts("`else`") and not p.accepts("NUMBER") and not p.accepts("`:`"):
        return p.fault(
            "E0108",
            "a conditional expression needs an `else`",
            'expected "else"',
            help="write a if test else b",
        )
    wanted = []
    if p.wants_operand:
        wanted.append('a number, a name or "("')
    elif p.accepts("NAME"):
        wanted.append("a name")
    if p.accepts("`*`"):
        wanted.append("an operator")
    for sign in (")", "]", ":", ",", "=", "(", "in", "import", "else"):
        known = (sign in "(=" and p.accepts("`*`")) or (sign == "(" and p.wants_operand)
        if p.accepts(f"`{sign}`") and len(wanted) < 4 and not known:
            wanted.append(f'"{sign}"')
    if p.accepts("_NEWLINE") and p.opener < 0:
        wanted.append("the end of the line")
    if p.accepts("FIELD_END"):
        wanted.append('"}"')
    if not wanted and p.accepts("`if`"):
        wanted.append("a statement")
    label = "expected " + (
        " or ".join((", ".join(wanted[:-1]), wanted[-1])) if len(wanted) > 1 else "".join(wanted)
    )
    return p.fault(
        "E0108", f"did not expect {p.found()}", label if wanted else "", help=_written(p)
    )
