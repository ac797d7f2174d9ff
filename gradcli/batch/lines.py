"""Rows from the lines of a byte stream, as it comes in: what is there can be cut off at once.

Lines end at ``\\n`` and nowhere else; a byte order mark at the start and blank lines are left out.
A line past ``LINE_LIMIT`` stands as ``TOO_LONG``, which no reader takes for a row.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from typing import Any, BinaryIO

import numpy as np

from gradcli.batch.chunk import LARGEST, Chunk
from gradcli.ops.errors import ValueFault

LINE_LIMIT = 16 << 20
"""The longest line that is read, in bytes without its newline."""
ENDLESS = 64
"""How many times as long a line is taken for one without an end, such as /dev/zero has."""
READ = 1 << 20
"""How many bytes are asked for at once."""
TOO_LONG = b"\xff\x00\xff"


class LineSource:
    """Rows from lines. A CSV's first line is its header.

    Raises ValueFault (E0925) for a CSV without a header, or with an endless one, and in ``read``
    (E0922) for a line without an end.

    >>> import io
    >>> source = LineSource(io.BytesIO(b"x,y\\n1,2\\n3"), "csv")
    >>> while not source.over: source.read()
    >>> source.header, source.cut(100).data, source.cut(100).data, source.ended
    (b'x,y', b'1,2', b'3', True)
    """

    def __init__(self, stream: BinaryIO, form: str) -> None:
        self.stream = stream
        self.form = form
        self.rows = 0
        self.over = False  # the stream has ended
        self.header: bytes | None = None
        self._buffer = bytearray()
        self._whole = 0  # where the last whole line in the buffer ends
        self._first = True
        self._dropping = 0  # bytes left out of a line past the limit
        self._taken, self._total = 0, _size_of(stream)
        self._sealing: Any = None
        while form == "csv" and self.header is None:
            while not self.pending and not self.over:
                self.read()
                if self._dropping:
                    said = f"the first line is longer than {LINE_LIMIT >> 20} MiB"
                    mend = "a CSV begins with a header, the names of its columns: id,a,b"
                    raise ValueFault("E0925", said, help=mend)
            if not self.pending:
                mend = "the first line names the columns: id,a,b"
                raise ValueFault("E0925", "the CSV is empty: it has no header", help=mend)
            self.header = self._take(1) or None

    def seal(self) -> None:
        """From now on note in each chunk what was read until its end."""
        self._sealing = hashlib.blake2b(self.header or b"", digest_size=16)

    @property
    def pending(self) -> bool:
        """Whether a chunk can be cut at once."""
        return self._whole > 0

    @property
    def ended(self) -> bool:
        """Whether nothing more comes."""
        return self.over and not self._whole

    @property
    def done(self) -> float:
        """The share of the input that was taken; 0 where its size is not known."""
        return self._taken / self._total if self._total else 0.0

    def wants(self) -> bool:
        """Whether reading more now would make a larger chunk."""
        return not self.over and self._whole < LARGEST

    def can_wait(self) -> bool:
        """Whether the system can say when the stream has something to read."""
        if sys.platform == "win32":
            return False
        try:
            self.stream.fileno()
        except (OSError, AttributeError):
            return False
        return True

    def read(self) -> None:
        """Read what is there, waiting for the first byte of it."""
        data = getattr(self.stream, "read1", self.stream.read)(READ)
        if not data:
            self.over = True
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
                self._dropping += len(data)
                most = ENDLESS * LINE_LIMIT
                if self._dropping > most:
                    said = f"the input has a line longer than {most >> 20} MiB"
                    raise ValueFault("E0922", said, help="rows stand in lines of their own")
                return
            data, self._dropping = data[end:], 0
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
            self._dropping = LINE_LIMIT

    def _shorten(self, end: int) -> None:
        """Replace lines past the limit among those that end now."""
        fresh = bytes(self._buffer[self._whole : end])
        lines = [
            TOO_LONG if len(line.removesuffix(b"\r")) > LINE_LIMIT else line
            for line in fresh.split(b"\n")
        ]
        self._buffer[self._whole : end] = b"\n".join(lines)

    def _take(self, size: int) -> bytes:
        """Whole lines of some ``size`` bytes, one at least; without blank ones, so maybe none."""
        end = self._whole
        if end > size:
            end = self._buffer.rfind(b"\n", 0, size) + 1 or self._buffer.find(b"\n") + 1
        with memoryview(self._buffer) as held:
            data = bytes(held[: max(end - 1, 0)])
        del self._buffer[:end]
        self._whole -= end
        self._taken += end
        if data and not data[:1].isspace() and data[-1:] != b"\n":
            codes = np.frombuffer(data, np.uint8)
            after = codes[np.flatnonzero(codes == 10) + 1]  # a blank line begins with white space
            if not (after <= 32).any():
                return data
        return b"\n".join([line for line in data.split(b"\n") if line.strip()])

    def cut(self, size: int) -> Chunk | None:
        """The next rows, in some ``size`` bytes; None where only blank lines were left.

        Where there are few, somebody may be waiting for the answer to each: one row then.
        """
        few = self._whole < 4096 and self._buffer.count(b"\n", 0, self._whole) <= 8
        data = self._take(1 if few else min(size, LARGEST))
        return self._chunk(data) if data else None

    def _chunk(self, data: bytes) -> Chunk:
        newlines = np.count_nonzero(np.frombuffer(data, np.uint8) == 10)
        chunk = Chunk(self.rows + 1, int(newlines) + 1, data)
        self.rows += chunk.count
        if self._sealing is not None:
            self._sealing.update(data + b"\n")
            chunk.seal = self._sealing.hexdigest()
        return chunk

    def skip(self, rows: int, seal: str) -> bool:
        """Pass over rows; False where the input was another one then."""
        found = ""
        while self.rows < rows:
            while not self.pending:
                if self.over:
                    return False
                self.read()
            data = self._take(LARGEST)
            lines = data.split(b"\n")
            extra = lines[rows - self.rows :]
            if extra:
                back = b"\n".join(extra) + b"\n"
                self._buffer[:0] = back
                self._whole += len(back)
                data = b"\n".join(lines[: rows - self.rows])
            if data:
                found = self._chunk(data).seal
        return not seal or found == seal


def file_hash(path: str) -> str:
    """What a file holds, as a hash."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text_of(line: bytes) -> str | None:
    """A line as text, bytes that are not UTF-8 as lone surrogates; None for one too long."""
    if line == TOO_LONG:
        return None
    return line.removesuffix(b"\r").decode("utf-8", "surrogateescape")


def _size_of(stream: BinaryIO) -> int:
    """The size of a regular file, 0 of anything else."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, AttributeError):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
