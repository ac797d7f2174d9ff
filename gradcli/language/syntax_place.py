"""Where the parser stopped: the tokens around it as words, and what could have stood there."""

from __future__ import annotations

from typing import Any

from .diagnostics import SyntaxFault
from .source import Source

BLOCK_WORDS = frozenset(("if", "elif", "else", "while", "for", "def", "with", "class"))


class Place:
    """Where the parser stopped: the tokens around it, as words."""

    def __init__(self, parser: Any, work: Any, states: list[int], at: int) -> None:
        self.parser, self.work, self.states, self.at = parser, work, states, at
        self.names = parser.tables["terminals"]
        self.source: Source = work.source
        self.start, self.end = work.starts[at], work.ends[at]
        self.name = self.kind_of(at)
        self.word = self.text_of(at)
        self.before = self.text_of(at - 1) if at else ""
        kinds, first = work.kinds, at
        ends = {self.names.index(name) for name in ("_NEWLINE", "_INDENT", "_DEDENT", "`;`")}
        while first and kinds[first - 1] not in ends:
            first -= 1
        self.first = first  # the first token of this statement
        self.head = self.text_of(first)
        self.opener = self._opener()

    def kind_of(self, token: int) -> str:
        """The terminal of a token: a name in capitals, or the sign or keyword between
        backquotes."""
        kind = self.work.kinds[token]
        return self.names[kind] if kind >= 0 else "ERROR"

    def text_of(self, token: int) -> str:
        """The text of a token; empty for those that are only layout or that do not exist."""
        if not 0 <= token < len(self.work.kinds):
            return ""
        layout = self.kind_of(token) in ("_NEWLINE", "_INDENT", "_DEDENT", "$END")
        return "" if layout else self.work.word(token)

    def _opener(self) -> int:
        """The token of the innermost open bracket of this statement, or -1."""
        opens = {self.names.index(name) for name in ("`(`", "`[`")}
        closes = {self.names.index(name) for name in ("`)`", "`]`")}
        kinds, depth = self.work.kinds, 0
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
        parser, left, fresh = self.parser, len(self.states), []
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
            "True", "False", "None", "lambda", "not", "...", "(", "[",
        )  # fmt: skip

    def found(self) -> str:
        """The token in words."""
        if self.name == "_NEWLINE":
            return "the end of the line"
        if self.name in ("$END", "_DEDENT"):
            return "the end of the " + ("text" if self.name == "$END" else "block")
        if self.name == "_INDENT":
            return "an indented line"
        if self.name in ("STRING", "FSTRING_START"):
            return "a string"
        if self.name.startswith(("FIELD", "FSTRING")):
            return "the end of the field"
        return f"`{self.word}`"

    def fault(self, code: str, message: str, label: str = "", **more: Any) -> SyntaxFault:
        """A fault at the token found; an empty place is marked one column wide."""
        end = self.end
        if self.name in ("_NEWLINE", "$END", "_DEDENT"):
            end = self.start + 1
        return SyntaxFault(code, message, self.source, self.start, end, label, **more)


def line_end(p: Place) -> int:
    """The end of the source line on which the token stands, without trailing spaces."""
    first, last = p.source.line_bounds(p.start)
    return first + len(p.source.text[first:last].rstrip())


def statement_before(p: Place) -> str:
    """The first word of the statement before this one, in the same block."""
    depth, token = 0, p.at - 1
    while token >= 0:
        kind = p.kind_of(token)
        if kind == "_DEDENT":
            depth += 1
        elif kind == "_INDENT":
            depth -= 1
            if depth < 0:
                return ""
        elif not depth and p.text_of(token) in BLOCK_WORDS:
            before = p.kind_of(token - 1) if token else "_NEWLINE"
            if before in ("_NEWLINE", "_INDENT", "_DEDENT"):
                return p.text_of(token)
        token -= 1
    return ""


def is_function(word: str) -> bool:
    """Whether the language has a function of this name."""
    from .names import CONSTANTS, NAMES

    return word in NAMES and word not in CONSTANTS
