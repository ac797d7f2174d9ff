"""The lines of a byte stream as it comes in: what is there is split, nothing waits for more.

Lines end at ``\\n`` and nowhere else; a ``\\r`` before it, a byte order mark at the start and blank
lines are left out. Bytes that are not UTF-8 pass as lone surrogates, so that they spoil their own
line only. A line past ``LINE_LIMIT`` is given as None.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

LINE_LIMIT = 16 << 20
"""The longest line that is read, in bytes without its newline."""
BLOCK = 1 << 16
"""How many bytes are asked for at once."""


class Splitter:
    """Bytes in, whole lines out.

    >>> split = Splitter()
    >>> split.push(b"x,y\\r\\n1,"), split.push(b"2\\n\\n3"), split.end()
    (['x,y'], ['1,2'], ['3'])
    """

    __slots__ = ("_first", "_long", "_parts", "_size")

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # the line that has not ended yet
        self._size = 0
        self._long = False  # it is past the limit already, and its bytes are dropped
        self._first = True

    def push(self, data: bytes) -> list[str | None]:
        """The lines that end within ``data``."""
        first, *rest = data.split(b"\n")
        self._grow(first)
        found = []
        for piece in rest:
            found += self._ended()
            self._grow(piece)
        return found

    def end(self) -> list[str | None]:
        """The last line, where no newline ends it."""
        return self._ended() if self._size else []

    def _grow(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > LINE_LIMIT + 1:  # one more may be a carriage return
            self._long = True
            self._parts.clear()
        elif piece:
            self._parts.append(piece)

    def _ended(self) -> list[str | None]:
        line = b"".join(self._parts)
        long = self._long
        self._parts, self._size, self._long = [], 0, False
        if line[-1:] == b"\r":
            line = line[:-1]
        if self._first:
            self._first = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if long or len(line) > LINE_LIMIT:
            return [None]
        text = line.decode("utf-8", "surrogateescape")
        return [text] if text and not text.isspace() else []


def lines_of(stream: BinaryIO) -> Iterator[str | None]:
    """Every line of ``stream``, each as soon as it is there."""
    split = Splitter()
    read = getattr(stream, "read1", stream.read)
    while data := read(BLOCK):
        yield from split.push(data)
    yield from split.end()
