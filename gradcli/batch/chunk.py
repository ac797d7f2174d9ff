"""What is sent to whoever computes. Cuts may fall anywhere: no row depends on its chunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

LARGEST = 1 << 20
"""Bytes of a chunk of lines, unless one line is longer."""


class Crowded(Exception):
    """What the rows of a chunk read and give are more numbers than are held at once: its halves are
    to be computed instead."""


@dataclass(eq=False, slots=True)
class Chunk:
    """Following rows: the number of the first, how many, and their data.

    data   bytes, a line each, or arrays (rows, ...) by name
    seal   what was read of the input until its end, as a hash, where that is to be known
    """

    first: int
    count: int
    data: bytes | dict[str, np.ndarray]
    seal: str = ""

    def each(self, verdict: Any) -> dict[int, Any]:
        """The same verdict for every row: none is computed."""
        return {self.first + i: verdict for i in range(self.count)}

    def halves(self) -> list[Chunk]:
        """The chunk as two; only the second tells what was read until its end."""
        middle = self.count // 2
        low: bytes | dict[str, np.ndarray]
        high: bytes | dict[str, np.ndarray]
        if isinstance(self.data, bytes):
            lines = self.data.split(b"\n")
            low, high = b"\n".join(lines[:middle]), b"\n".join(lines[middle:])
        else:
            low = {name: a[:middle] for name, a in self.data.items()}
            high = {name: a[middle:] for name, a in self.data.items()}
        rest = Chunk(self.first + middle, self.count - middle, high, self.seal)
        return [Chunk(self.first, middle, low), rest]
