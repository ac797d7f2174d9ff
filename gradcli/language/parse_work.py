"""What all reductions work with: the source, its tokens, and the way to refuse."""

from __future__ import annotations

from typing import Any

from . import nodes as n
from .lexer import Tokens
from .source import Source


class Work:
    """One parse: the source and its tokens."""

    __slots__ = ("ends", "kinds", "source", "starts", "text", "values")

    def __init__(self, source: Source, tokens: Tokens) -> None:
        self.source = source
        self.text = source.text
        self.kinds = tokens.kinds
        self.starts = tokens.starts
        self.ends = tokens.ends
        self.values = tokens.values

    def word(self, token: int) -> str:
        """The text of a token."""
        return self.text[self.starts[token] : self.ends[token]]


def refuse(what: str, work: Work, *details: Any) -> Exception:
    """The fault that ``check_faults`` makes under the name ``what``; loaded only where needed."""
    from . import check_faults

    return getattr(check_faults, what)(work, *details)


def check_target(w: Work, target: n.Expr) -> None:
    """Refuses what cannot be assigned to."""
    waiting = [target]
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if kind is n.Tuple or kind is n.List:
            waiting.extend(reversed(one.items))
        elif kind is not n.Name and kind is not n.Subscript and kind is not n.Attribute:
            raise refuse("bad_target", w, one, "assign")
