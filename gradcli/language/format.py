"""A program in canonical form, with its comments: what ``gradcli fmt`` prints.

The printer writes each line anew from the tree; comments and empty lines, which the tree does not
have, are put back by their offsets. A comment on a line of its own stays before the statement that
followed it, one at the end of a line stays there, one inside brackets moves before its statement.
"""

from __future__ import annotations

from typing import Any

from gradcli.language import nodes as n
from gradcli.language import parser, printer
from gradcli.language.source import Source

EMPTY_LINES = 2
"""The most empty lines in a row that are kept; 1 inside a block."""


def formatted(source: Source | str, mode: str = "file") -> str:
    """The program in canonical form, ending in a newline; raises as ``parse`` does.

    >>> formatted("y=x^2 # square", "line")
    'y = x**2  # square\\n'
    """
    if isinstance(source, str):
        source = Source(source)
    module = parser.parse(source, mode)
    return _Writer(source, _comments(source, mode)).program(module)


def _comments(source: Source, mode: str) -> list[tuple[int, str]]:
    """The comments by offset: each ``#`` that stands in no string."""
    tools = parser._tools()
    tokens = tools.lexer.lex(source, mode)
    kind = tools.lexer.kind
    strings = []
    opened = []
    for number, start, end in zip(tokens.kinds, tokens.starts, tokens.ends, strict=True):
        if number == kind["STRING"]:
            strings.append((start, end))
        elif number == kind["FSTRING_START"]:
            opened.append(start)
        elif number == kind["FSTRING_END"]:
            strings.append((opened.pop(), end))
    strings.sort()
    strings.append((len(source.text) + 1, len(source.text) + 1))
    found = []
    at, next_string = source.text.find("#"), 0
    while at >= 0:
        while strings[next_string][1] <= at:
            next_string += 1
        if strings[next_string][0] <= at:
            at = source.text.find("#", strings[next_string][1])
            continue
        end = source.text.find("\n", at)
        end = len(source.text) if end < 0 else end
        found.append((at, source.text[at:end].rstrip()))
        at = source.text.find("#", end)
    return found


class _Writer:
    """Writes statements in order, and before each what stood before it."""

    def __init__(self, source: Source, comments: list[tuple[int, str]]) -> None:
        self.text = source.text
        self.comments = comments
        self.next = 0
        self.last = 0  # where the source was read up to
        self.lines: list[str] = []

    def program(self, module: n.Module) -> str:
        """All lines."""
        work: list[Any] = [(s, 0) for s in reversed(module.body)]
        while work:
            item, depth = work.pop()
            if isinstance(item, n.Statement):
                work += reversed(self.parts(item, depth))
            else:
                self.head(*item, depth)
        self.before(len(self.text) + 1, 0)
        while self.lines and not self.lines[-1]:
            self.lines.pop()
        return "\n".join(self.lines) + "\n" if self.lines else ""

    def parts(self, node: n.Statement, depth: int) -> list[Any]:
        """A statement as the lines of its own and the statements under them."""
        if type(node) is n.FunctionClass:
            found: list[Any] = [
                ((f"class {node.name}({node.base}):", node.start, node.start + 5), depth)
            ]
            for method in sorted((node.forward, node.backward), key=lambda m: m.start):
                found.append((("@staticmethod", method.start, method.start), depth + 1))
                found.append((method, depth + 1))
            return found
        found = []
        start = node.start
        for pieces, body in printer._STATEMENTS[type(node)](node):
            text = printer._write(pieces)
            if body is None:
                return [((text, node.start, node.end), depth)]
            found.append(((text + ":", start, body[0].start if body else node.end), depth))
            found += [(s, depth + 1) for s in body]
            start = body[-1].end if body else node.end
        return found

    def head(self, text: str, start: int, end: int, depth: int) -> None:
        """One line, the comments before it and the one at its end."""
        margin = printer.INDENT * depth
        self.before(start, depth)
        first_line = self.text.find("\n", start, end)
        tail = []
        while self.next < len(self.comments) and self.comments[self.next][0] < end:
            at, comment = self.comments[self.next]
            self.next += 1
            if text.endswith(":") and self.text.count("\n", at, end) >= 1 and self._after_colon(at):
                tail.append(comment)
            elif self._own_line(at) and text.endswith(":") and first_line >= 0:
                self.next -= 1
                break
            else:
                self.lines.append(margin + comment)
        line_end = self.text.find("\n", end)
        line_end = len(self.text) if line_end < 0 else line_end
        if self.next < len(self.comments) and not text.endswith(":"):
            at, comment = self.comments[self.next]
            if at <= line_end and not self.text[end:at].strip(" \t;)]"):
                tail.append(comment)
                self.next += 1
        self.lines.append(margin + text + "".join(f"  {comment}" for comment in tail[:1]))
        self.lines += [margin + comment for comment in tail[1:]]
        self.last = end

    def _after_colon(self, at: int) -> bool:
        line = self.text.rfind("\n", 0, at) + 1
        return self.text[line:at].rstrip().endswith(":")

    def _own_line(self, at: int) -> bool:
        line = self.text.rfind("\n", 0, at) + 1
        return not self.text[line:at].strip()

    def before(self, start: int, depth: int) -> None:
        """The comments and empty lines between the last line and ``start``."""
        margin = printer.INDENT * depth
        while self.next < len(self.comments) and self.comments[self.next][0] < start:
            at, comment = self.comments[self.next]
            self.next += 1
            self.gap(at, depth)
            self.lines.append(margin + comment)
            self.last = at + len(comment)
        self.gap(min(start, len(self.text)), depth)

    def gap(self, to: int, depth: int) -> None:
        """Empty lines that stood before ``to``, as many as are kept."""
        between = self.text[self.last : to] if to > self.last else ""
        count = between.count("\n") - 1
        if self.lines and count > 0 and not between.strip(" \t\n;)]"):
            self.lines += [""] * min(count, 1 if depth else EMPTY_LINES)
