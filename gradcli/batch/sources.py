"""Where rows come from: the lines of a stream, cut into chunks; ``arrays`` has the other source.

A chunk is what is sent to whoever computes: the number of its first row, how many rows there are,
and their lines, or a slice of every array. Cuts may fall anywhere: no row depends on its chunk.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any, BinaryIO

import numpy as np

from gradcli.batch.lines import Lines, count_of
from gradcli.ops.errors import ValueFault

LARGEST = 1 << 20
"""Bytes of a chunk of lines, unless one line is longer."""


class Chunk:
    """Following rows: ``data`` is bytes, a line each, or arrays by name.

    ``seal`` tells what was read of the input until its end, where that is to be known.
    """

    __slots__ = ("count", "data", "first", "seal")

    def __init__(
        self, first: int, count: int, data: bytes | dict[str, np.ndarray], seal: str = ""
    ) -> None:
        self.first = first
        self.count = count
        self.data = data
        self.seal = seal


class LineSource:
    """Rows from lines. A CSV's first line is its header; ``columns`` are the names in it.

    Raises ValueFault (E0925) for a CSV without a header.
    """

    def __init__(self, stream: BinaryIO, form: str) -> None:
        self.form = form
        self.lines = Lines(stream)
        self.total = size_of(stream)
        self.rows = 0
        self.sealing: Any = None
        self.header: bytes | None = None
        while form == "csv" and self.header is None:
            while not self.lines.pending and not self.lines.ended:
                self.lines.read()
            if not self.lines.pending:
                raise ValueFault(
                    "E0925", "the CSV is empty: it has no header",
                    help="the first line names the columns: id,a,b",
                )  # fmt: skip
            self.header = self.lines.take(1) or None

    def seal(self) -> None:
        """From now on note in each chunk what was read until its end."""
        self.sealing = hashlib.blake2b(self.header or b"", digest_size=16)

    @property
    def ended(self) -> bool:
        """Whether nothing more comes."""
        return self.lines.ended and not self.lines.pending

    @property
    def pending(self) -> bool:
        """Whether a chunk can be cut at once."""
        return self.lines.pending

    @property
    def done(self) -> float:
        """The share of the input that was taken; 0 where its size is not known."""
        return self.lines.taken / self.total if self.total else 0.0

    def wants(self) -> bool:
        """Whether reading more now would make a larger chunk."""
        return not self.lines.ended and self.lines.held < LARGEST

    def read(self) -> None:
        """Wait for more lines."""
        self.lines.read()

    def cut(self, size: int) -> Chunk | None:
        """The next rows, in some ``size`` bytes; None where only blank lines were left."""
        data = self.lines.take(1 if self.lines.few else min(size, LARGEST))
        if not data:
            return None
        chunk = Chunk(self.rows + 1, count_of(data), data)
        self.rows += chunk.count
        if self.sealing is not None:
            self.sealing.update(data + b"\n")
            chunk.seal = self.sealing.hexdigest()
        return chunk

    def skip(self, rows: int, seal: str) -> bool:
        """Pass over rows; False where the input was another one then."""
        while rows:
            while not self.lines.pending:
                if self.lines.ended:
                    return False
                self.lines.read()
            data = self.lines.take(LARGEST)
            if count_of(data) > rows:
                at = -1
                for _ in range(rows):
                    at = data.find(b"\n", at + 1)
                self.lines.back(data[at + 1 :])
                data = data[:at]
            if data:
                self.sealing.update(data + b"\n")
                self.rows += count_of(data)
                rows -= count_of(data)
        return not seal or bool(self.sealing.hexdigest() == seal)


def file_hash(path: str) -> str:
    """What a file holds, as a hash."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def size_of(stream: BinaryIO) -> int:
    """The size of a regular file, 0 of anything else."""
    import stat

    try:
        found = os.fstat(stream.fileno())
    except (OSError, AttributeError):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
