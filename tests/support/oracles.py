"""Reading and writing the values that other programs computed: ``tests/oracles/NAME.json.gz``.

Compressed without a time stamp, so that the same text gives the same bytes. To look inside::

    gunzip -c tests/oracles/operators.json.gz | less
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

ORACLES = Path(__file__).parents[1] / "oracles"


def load(name: str) -> Any:
    """The record ``name`` of ``tests/oracles``."""
    return json.loads(gzip.decompress((ORACLES / f"{name}.json.gz").read_bytes()))


def save(name: str, text: str) -> None:
    """Write the record ``name``: ``text`` is JSON, with a case a line so that lines compare."""
    json.loads(text)
    (ORACLES / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
