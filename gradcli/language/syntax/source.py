"""A text that somebody wrote: its name, its lines, and where in it an offset lies.

Every position in the language is an offset in characters, 0-based and end-exclusive, into the text
of one ``Source``. Lines end at a newline and nowhere else (``str.splitlines`` would also break at
U+2028).
"""

from __future__ import annotations

from gradcli.ops.errors import LimitFault

SOURCE_LIMIT = 1 << 20
"""The largest source that is read, in bytes of UTF-8 (1 MiB)."""


class Source:
    """One text and its name.

    text   the program or expression; line ends become ``\\n``, a byte order mark is dropped
    name   what diagnostics call it: a file name, or ``"<expr>"``

    Raises ``LimitFault`` E0603 where the text is larger than 1 MiB.

    >>> Source("y = x\\r\\nz = y").span(6, 7)
    (2, 1, 2, 2)
    """

    __slots__ = ("name", "text")

    def __init__(self, text: str, name: str = "<expr>") -> None:
        size = len(text)
        if size <= SOURCE_LIMIT < 4 * size and not text.isascii():
            size = len(text.encode("utf-8", "surrogatepass"))
        if size > SOURCE_LIMIT:
            mend = "split the program, or load numbers from a data file (--x @file.csv)"
            raise LimitFault("E0603", f"{name} is larger than the limit of 1 MiB", help=mend)
        text = text.removeprefix("\ufeff")
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.text = text
        self.name = name

    def __repr__(self) -> str:
        return f"Source({self.name!r}, {len(self.text)} characters)"

    def place(self, offset: int) -> tuple[int, int]:
        """The 1-based (line, column) of an offset."""
        line_start = self.text.rfind("\n", 0, offset) + 1
        return self.text.count("\n", 0, offset) + 1, offset - line_start + 1

    def span(self, start: int, end: int) -> tuple[int, int, int, int]:
        """The 1-based (line, column, end_line, end_column) of ``start:end``, end exclusive."""
        return (*self.place(start), *self.place(max(start, end)))

    def line_bounds(self, offset: int) -> tuple[int, int]:
        """The offsets of the first character of the line that holds ``offset`` and of its end."""
        first = self.text.rfind("\n", 0, offset) + 1
        last = self.text.find("\n", offset)
        return first, len(self.text) if last < 0 else last
