"""A program in canonical form, with its comments: what ``gradcli fmt`` prints.

The printer writes each line anew from the tree. Comments and empty lines, which the tree does not
have, are put back by the logical lines of the source: those that end where a line ends outside all
brackets. A comment after such a line stays after it; one inside it moves before it; one on a line
of its own stays where it is, in the block that it is indented like.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from gradcli.language.syntax import nodes as n
from gradcli.language.syntax import parser, printer
from gradcli.language.syntax.lexer import Tokens
from gradcli.language.syntax.source import Source

EMPTY_LINES = 2
"""The most empty lines in a row that are kept; 1 inside a block."""


def formatted(source: Source | str, mode: str = "file") -> str:
    """The program in canonical form, ending in a newline; raises as ``parse`` does.

    >>> formatted("y=x^2 # square", "line")
    'y = x**2  # square\\n'
    """
    if isinstance(source, str):
        source = Source(source)
    shared = parser.shared_parser()
    lexer = shared.lexer
    tokens = lexer.lex(source, mode)
    module = shared.tree(tokens, mode)
    layout = [lexer.kind[name] for name in ("_NEWLINE", "_INDENT", "_DEDENT", "$END")]
    lines = _Lines(source.text, tokens, layout)
    printed = _printed(module, lines)
    comments = _comments(source.text, tokens, lexer.kind)
    return _Writer(source.text, lines, comments).program(printed)


class _Lines:
    """The logical lines of a text by their first offset and the end of their last token."""

    def __init__(self, text: str, tokens: Tokens, layout: list[int]) -> None:
        self.text = text
        self.starts: list[int] = []
        self.ends: list[int] = []
        fresh = True
        for kind, start, end in zip(tokens.kinds, tokens.starts, tokens.ends, strict=True):
            if kind in layout:
                fresh = True
            elif fresh:
                self.starts.append(start)
                self.ends.append(end)
                fresh = False
            else:
                self.ends[-1] = max(self.ends[-1], end)

    def at(self, offset: int) -> int:
        """The number of the line that holds an offset, or of the last before it."""
        return max(0, bisect_right(self.starts, offset) - 1)

    def after(self, offset: int) -> int:
        """The number of the first line that begins at an offset or after it."""
        return bisect_left(self.starts, offset)

    def column(self, offset: int) -> int:
        """How far to the right an offset stands."""
        begin = self.text.rfind("\n", 0, offset) + 1
        return len(self.text[begin:offset].expandtabs(8))


def _comments(text: str, tokens: Tokens, kind: dict[str, int]) -> list[tuple[int, str]]:
    """The comments by offset: each ``#`` that stands in no string."""
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
    strings.append((len(text) + 1, len(text) + 1))
    found = []
    at, next_string = text.find("#"), 0
    while at >= 0:
        while strings[next_string][1] <= at:
            next_string += 1
        if strings[next_string][0] <= at:
            at = text.find("#", strings[next_string][1])
            continue
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        found.append((at, text[at:end].rstrip()))
        at = text.find("#", end)
    return found


def _printed(module: n.Module, lines: _Lines) -> list[tuple[str, int, int]]:
    """What is printed, line by line: the text, the logical line it comes from, its depth."""
    found: list[tuple[str, int, int]] = []
    work: list[tuple[n.Statement | str, int, int]] = [(s, 0, 0) for s in reversed(module.body)]
    while work:
        item, line, depth = work.pop()
        if isinstance(item, str):
            found.append((item, line, depth))
        elif isinstance(item, n.FunctionClass):
            work += reversed(_record(item, lines, depth))
        else:
            work += reversed(_statement(item, lines, depth))
    return found


def _statement(node: n.Statement, lines: _Lines, depth: int) -> list[tuple[Any, int, int]]:
    """A statement as its own lines and the statements under them."""
    found: list[tuple[Any, int, int]] = []
    for decorator in getattr(node, "decorators", ()):
        text = printer._write([("@"), (decorator, printer.TEST)])
        found.append((text, lines.at(decorator.start), depth))
    line = lines.at(node.start)
    for pieces, body in printer._STATEMENTS[type(node)](node):
        text = printer._write(pieces)
        if body is None:
            return [(text, line, depth)]
        found.append((f"{text}:", line, depth))
        found += [(s, 0, depth + 1) for s in body]
        line = lines.after(body[-1].end)  # an elif or else begins a line
    return found


def _record(node: n.FunctionClass, lines: _Lines, depth: int) -> list[tuple[Any, int, int]]:
    """A custom Function; what else it holds is taken from the text."""
    head = lines.at(node.start)
    found: list[tuple[Any, int, int]] = [(f"class {node.name}({node.base}):", head, depth)]
    next_line = head + 1
    for method in node.methods:
        line = lines.at((method.decorators or (method,))[0].start)
        marks = [k for k in range(next_line, line) if lines.text[lines.starts[k]] == "@"]
        for k in range(next_line, marks[0] if marks else line):
            found.append((lines.text[lines.starts[k] : lines.ends[k]], k, depth + 1))
        found.append(("@staticmethod", marks[-1] if marks else line, depth + 1))
        found.append((method, 0, depth + 1))
        next_line = lines.after(method.end)
    for k in range(next_line, lines.after(node.end)):
        found.append((lines.text[lines.starts[k] : lines.ends[k]], k, depth + 1))
    return found


class _Writer:
    """Writes the lines in order, and before each what stood before it."""

    def __init__(self, text: str, lines: _Lines, comments: list[tuple[int, str]]) -> None:
        self.text = text
        self.source = lines
        self.comments = comments
        self.next = 0
        self.last = 0  # where the source was read up to
        self.columns = [0]  # of the open blocks
        self.lines: list[str] = []

    def program(self, printed: list[tuple[str, int, int]]) -> str:
        """All lines."""
        after_head = False
        for i, (text, line, depth) in enumerate(printed):
            start, end = self.source.starts[line], self.source.ends[line]
            if i == 0 or printed[i - 1][1] != line:
                self.between(start, end, depth, after_head)
                del self.columns[depth:]
                self.columns += [self.source.column(start)] * (depth + 1 - len(self.columns))
            tail = ""
            if i + 1 == len(printed) or printed[i + 1][1] != line:
                tail = self.tail(end)
                self.last = max(self.last, end)
            self.lines.append(printer.INDENT * depth + text + tail)
            after_head = text.endswith(":")
        self.between(len(self.text) + 1, len(self.text) + 1, 0, False)
        while self.lines and not self.lines[-1]:
            self.lines.pop()
        return "\n".join(self.lines) + "\n" if self.lines else ""

    def tail(self, end: int) -> str:
        """The comment after a logical line that ends at ``end``."""
        if self.next < len(self.comments):
            at, comment = self.comments[self.next]
            if self.text.find("\n", end, at) < 0:
                self.next += 1
                self.last = at + len(comment)
                return f"  {comment}"
        return ""

    def between(self, start: int, end: int, depth: int, after_head: bool) -> None:
        """The comments before a logical line and inside it, and the empty lines before them."""
        while self.next < len(self.comments) and self.comments[self.next][0] < start:
            at, comment = self.comments[self.next]
            self.next += 1
            inner = self.block(self.source.column(at), depth)
            self.gap(at, inner, after_head)
            after_head = False
            self.lines.append(printer.INDENT * inner + comment)
            self.last = at + len(comment)
        self.gap(min(start, len(self.text)), depth, after_head)
        while self.next < len(self.comments) and self.comments[self.next][0] < end:
            self.lines.append(printer.INDENT * depth + self.comments[self.next][1])
            self.next += 1

    def block(self, column: int, depth: int) -> int:
        """The depth of a comment: of the next line, or of a block around the last line that the
        comment is indented like."""
        for inner in range(len(self.columns) - 1, depth, -1):
            if self.columns[inner] <= column:
                return inner
        return depth

    def gap(self, to: int, depth: int, after_head: bool) -> None:
        """Empty lines that stood before ``to``, as many as are kept."""
        between = self.text[self.last : to] if to > self.last else ""
        count = between.count("\n") - 1
        if self.lines and count > 0 and not after_head:
            self.lines += [""] * min(count, 1 if depth else EMPTY_LINES)
