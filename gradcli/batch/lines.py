"""The lines of a byte stream in chunks, as it comes in: what is there can be taken at once.

Lines end at ``\\n`` and nowhere else; a byte order mark at the start and blank lines are left out.
A line past ``LINE_LIMIT`` stands as ``TOO_LONG``, which no reader takes for a row.
"""

from __future__ import annotations

import sys
from typing import BinaryIO

import numpy as np

LINE_LIMIT = 16 << 20
"""The longest line that is read, in bytes without its newline."""
READ = 1 << 20
"""How many bytes are asked for at once."""
TOO_LONG = b"\xff\x00\xff"


class Lines:
    """Bytes in, whole lines out.

    >>> import io
    >>> lines = Lines(io.BytesIO(b"x,y\\n\\n1,2\\n3"))
    >>> while not lines.ended: lines.read()
    >>> lines.take(1), lines.take(100), lines.pending
    (b'x,y', b'1,2\\n3', False)
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.ended = False
        self.taken = 0  # bytes of the stream that were handed out, for progress
        self._buffer = bytearray()
        self._whole = 0  # where the last whole line in the buffer ends
        self._first = True
        self._dropping = False

    @property
    def pending(self) -> bool:
        """Whether a whole line can be taken."""
        return self._whole > 0

    @property
    def held(self) -> int:
        """Bytes that can be taken."""
        return self._whole

    @property
    def few(self) -> bool:
        """Whether there are so few lines that somebody may be waiting for the answer to each."""
        return self._whole < 4096 and self._buffer.count(b"\n", 0, self._whole) <= 8

    def read(self) -> None:
        """Read what is there, waiting for the first byte of it."""
        data = getattr(self.stream, "read1", self.stream.read)(READ)
        if not data:
            self.ended = True
            if self._buffer[self._whole :]:
                self._buffer += b"\n"
            self._whole = len(self._buffer)
            return
        if self._first:
            self._first = False
            data = data.removeprefix(b"\xef\xbb\xbf")
        if self._dropping:
            end = data.find(b"\n")
            if end < 0:
                return
            data, self._dropping = data[end:], False
        start = len(self._buffer)
        self._buffer += data
        at = self._buffer.rfind(b"\n", start)
        if at >= 0:
            if at - self._whole > LINE_LIMIT:
                self._shorten(at)
                at = self._buffer.rfind(b"\n")
            self._whole = at + 1
        if len(self._buffer) - self._whole > LINE_LIMIT + 1:  # one more may be a carriage return
            del self._buffer[self._whole :]
            self._buffer += TOO_LONG
            self._dropping = True

    def _shorten(self, end: int) -> None:
        """Replace lines past the limit among those that end now."""
        fresh = bytes(self._buffer[self._whole : end])
        lines = [
            TOO_LONG if len(line.removesuffix(b"\r")) > LINE_LIMIT else line
            for line in fresh.split(b"\n")
        ]
        self._buffer[self._whole : end] = b"\n".join(lines)

    def take(self, size: int) -> bytes:
        """Whole lines of some ``size`` bytes, one at least; without blank ones, so maybe none."""
        end = self._whole
        if end > size:
            end = self._buffer.rfind(b"\n", 0, size) + 1 or self._buffer.find(b"\n") + 1
        with memoryview(self._buffer) as held:
            data = bytes(held[: max(end - 1, 0)])
        del self._buffer[:end]
        self._whole -= end
        self.taken += end
        if data and not data[:1].isspace() and data[-1:] != b"\n":
            codes = np.frombuffer(data, np.uint8)
            after = codes[np.flatnonzero(codes == 10) + 1]  # a blank line begins with white space
            if not (after <= 32).any():
                return data
        return b"\n".join([line for line in data.split(b"\n") if line.strip()])

    def back(self, data: bytes) -> None:
        """Take lines back that ``take`` gave last."""
        self._buffer[:0] = data + b"\n"
        self._whole += len(data) + 1

    def can_wait(self) -> bool:
        """Whether the system can say when the stream has something to read."""
        if sys.platform == "win32":
            return False
        try:
            self.stream.fileno()
        except (OSError, AttributeError):
            return False
        return True


def count_of(data: bytes) -> int:
    """How many lines ``take`` gave."""
    if not data:
        return 0
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10)) + 1


def text_of(line: bytes) -> str | None:
    """A line as text, bytes that are not UTF-8 as lone surrogates; None for one too long."""
    if line == TOO_LONG:
        return None
    return line.removesuffix(b"\r").decode("utf-8", "surrogateescape")
