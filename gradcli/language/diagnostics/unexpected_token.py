"""The explanation of a token that the parser did not expect.

It is found from the tokens on both sides and from the kinds of token that the tables would have
accepted: the mistake that people make at such a place.
"""

from __future__ import annotations

import re
from typing import Any

from gradcli.language.diagnostics.lexical import Where
from gradcli.language.diagnostics.notation import between_bars, primed, side_by_side
from gradcli.language.diagnostics.render import SyntaxFault, closest
from gradcli.language.names.table import CONSTANTS, NAMES
from gradcli.language.syntax.lexer import Tokens
from gradcli.language.syntax.parser import Parser

BLOCK_WORDS = frozenset((
    "if", "elif", "else", "while", "for", "def", "with", "class", "try", "except", "finally",
))  # fmt: skip


class Place:
    """Where the parser stopped: the tokens around it, as words."""

    def __init__(self, parser: Parser, tokens: Tokens, states: list[int], at: int) -> None:
        self.parser, self.tokens, self.states, self.at = parser, tokens, states, at
        self.names = parser.tables["terminals"]
        self.source = tokens.source
        self.start, self.end = tokens.starts[at], tokens.ends[at]
        self.name = self.kind_of(at)
        self.word = self.text_of(at)
        self.before = self.text_of(at - 1) if at else ""
        kinds, first = tokens.kinds, at
        ends = {self.names.index(name) for name in ("_NEWLINE", "_INDENT", "_DEDENT", "`;`")}
        while first and kinds[first - 1] not in ends:
            first -= 1
        self.first = first  # the first token of this statement
        self.head = self.text_of(first)
        self.opener = self._opener()

    def kind_of(self, token: int) -> str:
        """The terminal of a token: a name in capitals, or the sign or keyword between
        backquotes."""
        kind = self.tokens.kinds[token]
        return self.names[kind] if kind >= 0 else "ERROR"

    def text_of(self, token: int) -> str:
        """The text of a token; empty for those that are only layout or that do not exist."""
        if not 0 <= token < len(self.tokens.kinds):
            return ""
        layout = self.kind_of(token) in ("_NEWLINE", "_INDENT", "_DEDENT", "$END")
        return "" if layout else self.tokens.word(token)

    def _opener(self) -> int:
        """The token of the innermost open bracket of this statement, or -1."""
        opens = {self.names.index(name) for name in ("`(`", "`[`", "`{`")}
        closes = {self.names.index(name) for name in ("`)`", "`]`", "`}`")}
        kinds, depth = self.tokens.kinds, 0
        for token in range(self.at - 1, self.first - 1, -1):
            kind = kinds[token]
            if kind in closes:
                depth += 1
            elif kind in opens:
                if not depth:
                    return token
                depth -= 1
        return -1

    def accepts(self, name: str) -> bool:
        """Whether a token of this kind could stand here: follows the reductions it would cause on a
        copy of the top of the stack."""
        if name not in self.names:
            return False
        kind = self.names.index(name)
        parser, left = self.parser, len(self.states)
        fresh: list[int] = []
        for _ in range(500):
            step = parser.row(fresh[-1] if fresh else self.states[left - 1]).get(kind)
            if step is None:
                return False
            if step >= 0:
                return True
            nonterminal, length, _ = parser.rules[~step]
            used = min(length, len(fresh))
            del fresh[len(fresh) - used :]
            left -= length - used
            fresh.append(parser.goto(fresh[-1] if fresh else self.states[left - 1], nonterminal))
        return True

    @property
    def wants_operand(self) -> bool:
        """Whether an expression may begin here."""
        return self.accepts("NUMBER")

    @property
    def at_line_end(self) -> bool:
        """Whether the line, or the whole text, ends here."""
        return self.name in ("_NEWLINE", "$END")

    @property
    def starts_operand(self) -> bool:
        """Whether the token found is one that an expression begins with."""
        return self.name in ("NAME", "NUMBER", "STRING", "FSTRING_START") or self.word in (
            "True", "False", "None", "lambda", "not", "...", "(", "[", "{",
        )  # fmt: skip

    def found(self) -> str:
        """The token in words."""
        if self.name == "_NEWLINE":
            return "the end of the line"
        if self.name in ("$END", "_DEDENT"):
            return "the end of the " + ("text" if self.name == "$END" else "block")
        if self.name in ("STRING", "FSTRING_START"):
            return "a string"
        if self.name.startswith(("FIELD", "FSTRING")):
            return "the end of the field"
        return f"`{self.word}`"

    def fault(
        self, code: str, message: str, label: str = "", *, token: int | None = None, **more: Any
    ) -> SyntaxFault:
        """A fault at a token, the one found unless another is given; of layout, one column."""
        token = self.at if token is None else token
        start, end = self.tokens.starts[token], self.tokens.ends[token]
        if self.kind_of(token) in ("_NEWLINE", "$END", "_DEDENT"):
            end = start + 1
        return SyntaxFault(code, message, self.source, start, end, label, **more)


def line_end(p: Place) -> int:
    """The end of the source line on which the token stands, without trailing spaces."""
    first, last = p.source.line_bounds(p.start)
    return first + len(p.source.text[first:last].rstrip())


def is_function(word: str) -> bool:
    """Whether the language has a function of this name."""
    return word in NAMES and word not in CONSTANTS


OPERATORS = frozenset((
    "+", "-", "*", "/", "//", "%", "**", "^", "@", "&", "|", "<<", ">>", "==", "!=", "<", ">", "<=",
    ">=", "=", "+=", "-=", "*=", "/=", "//=", "%=", "**=", "@=", "&=", "|=", "<<=", ">>=", "and",
    "or", "not", "in", "is",
))  # fmt: skip
SIGN_OPERATORS = OPERATORS - {"and", "or", "not", "in", "is"}
LATE_WORDS = {
    "elsif": "elif", "elseif": "elif", "elsIf": "elif", "foreach": "for", "function": "def",
    "func": "def", "fn": "def", "fun": "def", "until": "while not", "repeat": "while",
    "procedure": "def", "sub": "def", "using": "import", "include": "import", "require": "import",
}  # fmt: skip
KEYWORDS = (
    "if", "elif", "else", "while", "for", "def", "return", "lambda", "import", "from", "with",
    "assert", "class", "print",
)  # fmt: skip
JOINING = ("not", "and", "or", "in", "is", "if", "else", "for")
DECLARATIONS = ("let", "var", "const", "float", "int", "double", "auto", "local")


def _lost_words(p: Place) -> SyntaxFault | None:
    """What a decorator, a class and a ``try`` need, and an ``else`` that belongs to nothing."""
    at_start = p.at == p.first
    if at_start and p.accepts("`@`") and not p.accepts("NUMBER"):
        message = f"a decorator stands before a function or class, not before {p.found()}"
        mend = "write def under it, or f = decorator(f) after the function"
        return p.fault("E0132", message, help=mend)
    if p.accepts("`except`") and not p.accepts("NUMBER") and at_start:
        mend = "write except ValueError: under it"
        return p.fault("E0131", "a `try` needs an `except` or a `finally`", help=mend)
    if p.word in ("except", "finally") and at_start:
        mend = "line it up with the `try` that it belongs to"
        return p.fault("E0131", f"`{p.word}` without a `try`", help=mend)
    if p.word in ("else", "elif") and at_start:
        mend = "line it up with the `if` that it belongs to"
        return p.fault("E0108", f"`{p.word}` without an `if`", help=mend)
    if p.head == "class" and p.first < p.at and p.word != "{" and not p.accepts("`:`"):
        return p.fault("E0130", f"did not expect {p.found()} in the head of a class",
                       help="write class Net(nn.Module):")  # fmt: skip
    if p.word == "if" and p.before == "else":
        said, start = "`else if` is written `elif`", p.tokens.starts[p.at - 1]
        return SyntaxFault("E0125", said, p.source, start, p.end, help="write `elif`")
    return None


def _foreign_words(p: Place) -> SyntaxFault | None:
    """A word at the start of a line, and another after it: ``elsif x``, ``print x``, ``let x``."""
    if not (p.starts_operand and p.kind_of(p.at - 1) == "NAME" and p.at - 1 == p.first):
        return None
    if p.head in LATE_WORDS:
        wanted = LATE_WORDS[p.head]
        said = f"`{p.head}` is written `{wanted}`"
        return p.fault("E0125", said, token=p.first, help=f"write `{wanted}`")
    if p.head in ("match", "switch", "case"):
        said = f"`{p.head}` is not part of the language"
        return p.fault("E0136", said, token=p.first, help="write if ... elif ... else")
    if p.head == "print":
        mend = f"write print({p.source.text[p.start : line_end(p)]})"
        return p.fault("E0102", "`print` is a function", token=p.first, help=mend)
    if p.head in DECLARATIONS and p.name == "NAME":
        mend = f"leave out `{p.head}`: {p.word} = ..."
        return p.fault("E0102", "variables are not declared", token=p.first, help=mend)
    return None


def _braces(p: Place) -> SyntaxFault | None:
    """``if (x) {``: blocks of other languages."""
    words = (*BLOCK_WORDS, *LATE_WORDS)
    if p.word == "{" and p.head in words and not p.wants_operand:
        mend = "end the line with `:` and indent the lines under it"
        return p.fault("E0140", "blocks are not written in braces", help=mend)
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
    line = p.source.text[p.tokens.starts[p.first] : line_end(p)]
    bounds = _RANGE.match(line) if len(line) < 200 else None
    colon = p.at if p.word == ":" else p.at - 1
    if p.text_of(colon) == ":" and bounds:
        within = ", ".join(part.strip() for part in bounds[2].split(":"))
        said = "a range is not written with `:`"
        mend = f"write {bounds[1]} in range({within}):"
        return p.fault("E0125", said, token=colon, help=mend)
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
        mend = "put the choice first: [a if test else b for x in items]"
        return p.fault("E0108", "a test at the end of a list has no `else`", help=mend)
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
            mend = "a function of several lines is written with def"
            return p.fault("E0108", "a lambda holds one expression, on its line", help=mend)
    return None


def misspelled(p: Place) -> SyntaxFault | None:
    """A keyword with a slip of the finger: ``retrun x``, ``esle:``, ``x nto in y``."""
    near = None
    token = p.at - 1
    if token == p.first and p.kind_of(token) == "NAME":
        near = closest(p.before, KEYWORDS) if p.starts_operand and len(p.before) > 1 else None
    elif p.at_line_end and p.before == ":" and p.at - 2 == p.first:
        token = p.first  # esle:
        known = ("else", "try", "finally", "except")
        near = closest(p.head, known) if p.kind_of(token) == "NAME" else None
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
    said = f"`{p.text_of(token)}` is no word of the language"
    return p.fault("E0125", said, token=token, help=f"did you mean `{near}`?")


def stars(p: Place) -> SyntaxFault | None:
    """``import *``, and a star where nothing is taken apart."""
    if p.head == "*" and p.first < p.at and not p.wants_operand and p.opener < 0:
        mend = "remove `*`, or put a value before it"
        return p.fault("E0107", "nothing stands to the left of `*`", token=p.first, help=mend)
    if p.word not in ("*", "**") or p.before in SIGN_OPERATORS - {"="}:
        return None
    if p.before == "import":
        mend = "import the module and write its prefix: import torch"
        return p.fault("E0137", "`import *` is not part of the language", help=mend)
    if p.before in ("", "(", "[", ",", "=", "lambda") and (p.wants_operand or p.accepts("NAME")):
        after = p.kind_of(p.at + 1) in ("NAME", "`[`", "`(`")
        first_of_all = (
            p.at == p.first and p.opener < 0 and "," not in p.source.text[p.start : line_end(p)]
        )
        if after and not first_of_all:
            mend = "it stands in a call, a list or a tuple: f(*values), [*values]"
            return p.fault("E0137", "a starred value cannot stand here", help=mend)
    return None


OPERAND = 'expected a number, a name or "("'


def unexpected_token(
    _where: Where, parser: Parser, tokens: Tokens, states: list[int], at: int
) -> SyntaxFault:
    """The fault for the token ``at``, which no rule accepts where the parser stands."""
    place = Place(parser, tokens, states, at)
    for look in (
        _layout, _lost_words, _foreign_words, _braces, loops, choices, stars, _equals,
        _missing_colon, _keywords, misspelled, _missing_operand, _missing_operator, _other,
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
        said = f"the block after `{word}` is empty"
        mend = "indent the lines of the block, or write `pass`"
        if p.name == "$END":
            return p.fault("E0123", said, token=header, help=mend, incomplete=True)
        begins = (p.tokens.starts[header], p.tokens.ends[header], "the block begins here")
        start = p.start
        if p.name == "_DEDENT" and not p.text_of(p.at + 1):
            start = max(0, min(start, len(p.source.text) - 1))
        return SyntaxFault(
            "E0123", said, p.source, start, max(p.end, start + 1), "expected an indented line",
            others=[begins] if word else [], help=mend,
        )  # fmt: skip
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
    last = p.tokens.ends[p.at - 1]
    if p.word in ("then", "do"):
        return p.fault("E0103", f"`{p.word}` is written `:`", help="write `:`")
    said = f"a colon is missing after `{p.head}`"
    mend = f"write {p.source.text[p.tokens.starts[p.first] : last]}:"
    return SyntaxFault("E0103", said, p.source, last, last + 1, 'expected ":"', help=mend)


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
    said = f"`{word}` is a word of the language and cannot be a name"
    mend = f"choose another name, for example `{better.get(word, word + '_')}`"
    return p.fault("E0145", said, token=token, help=mend)


def _missing_operand(p: Place) -> SyntaxFault | None:
    """An operator without a value beside it."""
    if not p.wants_operand or p.starts_operand:
        return None
    adjacent = p.at and p.tokens.ends[p.at - 1] == p.start
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
        bars = None
        if p.word == "|":
            first = p.source.line_bounds(p.start)[0]
            before = p.source.text[first : p.start].strip()
            bars = between_bars("|", before, p.source.text[p.end :])
        mend = bars or f"remove `{p.word}`, or put a value before it"
        return p.fault("E0107", f"nothing stands to the left of `{p.word}`", OPERAND, help=mend)
    if p.before in OPERATORS or p.before in ("return", "assert", "if", "while", "elif", "lambda"):
        said, wanted = f"the expression stops after `{p.before}`", OPERAND + " on its right"
        mend = f"add a value after `{p.before}`"
        if p.at > 1 and p.before in "+-" and p.tokens.word(p.at - 2) == p.before:
            mend = f"to count up or down, write x {p.before}= 1"
        return p.fault("E0107", said, wanted, token=p.at - 1, help=mend)
    return p.fault("E0108", f"did not expect {p.found()}", OPERAND, help=_written(p))


def _missing_operator(p: Place) -> SyntaxFault | None:
    """Two values side by side."""
    if not p.starts_operand or not p.accepts("`*`") or p.at == p.first:
        return None
    mark = [(p.tokens.starts[p.at - 1], p.tokens.ends[p.at - 1], "")]
    said, wanted = f"an operator is missing before {p.found()}", "expected an operator"
    left = p.before if len(p.before) < 30 else "..."
    if p.name == "NUMBER" and p.kind_of(p.at - 1) == "NUMBER" and p.word.isdigit():
        mend = f"write {p.before}{p.word} as one number, or put a comma between them"
        return p.fault("E0102", said, wanted, others=mark, help=mend)
    if p.opener < 0 and p.head != "lambda" and _new_statement(p):
        said = f"an operator or a line end is missing before {p.found()}"
        return p.fault("E0102", said, help=f"begin a new line before {p.found()}")
    if p.kind_of(p.at - 1) == "NAME" and p.name in ("NAME", "NUMBER") and is_function(p.before):
        said = f"the argument of `{p.before}` stands in brackets"
        return p.fault("E0102", said, wanted, others=mark, help=f"write {p.before}({p.word})")
    simple = p.name in ("NAME", "NUMBER") and p.text_of(p.at + 1) != "("
    simple = simple and p.kind_of(p.at - 1) in ("NAME", "NUMBER", "`)`", "`]`")
    around = (p.text_of(p.at + k) for k in (-3, -2, -1, 0, 1))
    notation = side_by_side(*around)
    if p.name == "STRING" and p.word[:1] == "'" and p.start == p.tokens.ends[p.at - 1]:
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
    return p.fault("E0102", said, wanted, others=mark if p.before else [], help=help)


def _new_statement(p: Place) -> bool:
    """Whether what follows looks like a statement of its own: ``y = 4``, ``print(y)``."""
    if p.name != "NAME":
        return False
    return p.text_of(p.at + 1) == "=" or (p.word == "print" and p.text_of(p.at + 1) == "(")


_FORMS = {
    "for": "write for x in range(3):", "def": "write def f(x):", "while": "write while x > 0:",
    "with": "write with no_grad():", "import": "write import torch",
    "from": "write from torch import sin", "assert": "write assert x > 0",
    "class": "write class Net(nn.Module):", "lambda": "write lambda x: x**2",
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
        said = "a conditional expression needs an `else`"
        return p.fault("E0108", said, 'expected "else"', help="write a if test else b")
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
