"""Recorded texts, compared with their numbers parsed.

The last digit of what a program prints depends on the processor, by which NumPy chooses its loops
and the order of its sums. So words and layout of two texts must be equal, and numbers nearly:

    0.8415         rounded: within one unit of the last digit, in as many places
    6.514801025    full length, seven significant digits or more in one of the two texts: within
                   1e-6 of it for numbers of float32, 1e-12 for others; the widths may differ
    0.5, 1e-05     fewer than three digits after the point: as of full length
    3, 3., nan     whole numbers, NaN and infinities are words
"""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np

_NUMBER = re.compile(
    r"(?P<blanks> *)(?P<sign>[-+]?)(?<![\w.])"
    r"(?P<size>(?:\d+\.\d+|\d+\.?(?=e[-+]?\d))(?:e[-+]?\d+)?)"
    r"(?:(?=j\b)|(?!\w|\.\d))"
)
_ROUNDED = 3  # digits after the point
_FULL = 7  # significant digits
_SINGLE, _DOUBLE = Decimal("1e-6"), Decimal("1e-12")


def difference(got: str, recorded: str) -> str:
    """Where ``got`` says something else than ``recorded``; empty where it does not.

    Example:
        >>> difference("loss 0.4235", "loss 0.4234")
        ''
        >>> difference("loss 0.4236", "loss 0.4234")
        'line 1: 0.4236, recorded 0.4234'
    """
    lines, wanted = got.split("\n"), recorded.split("\n")
    for n, (line, want) in enumerate(zip(lines, wanted, strict=False), 1):
        if line != want and (found := _line_difference(line, want)):
            return f"line {n}: {found}"
    if len(lines) != len(wanted):
        return f"{len(lines)} lines, recorded {len(wanted)}"
    return ""


def _line_difference(line: str, want: str) -> str:
    pairs = list(zip(_NUMBER.finditer(line), _NUMBER.finditer(want), strict=False))
    texts = [_NUMBER.sub("\0", text) for text in (line, want)]
    if any(_full(a["size"], b["size"]) and a[0] != b[0] for a, b in pairs):
        texts = [re.sub(" +", " ", text) for text in texts]  # columns as wide as their numbers
    if texts[0] != texts[1]:
        return f"{line!r}, recorded {want!r}"
    for a, b in pairs:
        if a[0] != b[0] and not _alike(a, b):
            return f"{a[0].strip()}, recorded {b[0].strip()}"
    return ""


def _alike(a: re.Match, b: re.Match) -> bool:
    x, y = (Decimal(m["sign"] + m["size"]) for m in (a, b))
    if ("+" in (a["sign"], b["sign"])) and "" in (a["sign"], b["sign"]):
        return False
    if _full(a["size"], b["size"]):
        near = _SINGLE if _single(a["size"], b["size"]) else _DOUBLE
        if bool(a["blanks"]) == bool(b["blanks"]) and abs(x - y) <= near * abs(y):
            return True
    places = [len(m["size"].partition("e")[0].partition(".")[2]) for m in (a, b)]
    if places[0] != places[1] or places[0] < _ROUNDED or ("e" in a["size"]) != ("e" in b["size"]):
        return False
    widths = [len(m[0]) if x or y else len(m["blanks"] + m["size"]) for m in (a, b)]
    unit = max(Decimal(1).scaleb(v.as_tuple().exponent) for v in (x, y))
    return abs(x - y) <= unit and (widths[0] == widths[1] or len(a[0]) == len(b[0]))


def _full(a: str, b: str) -> bool:
    """Whether numbers print in full, or are too short to tell."""
    return any(
        len(Decimal(size).as_tuple().digits) >= _FULL
        or len(size.partition("e")[0].partition(".")[2]) < _ROUNDED
        for size in (a, b)
    )


def _single(a: str, b: str) -> bool:
    """Whether both are numbers of float32, as Python writes them or as NumPy does."""
    with np.errstate(over="ignore", under="ignore"):
        singles = [np.float32(size) for size in (a, b)]
    return all(float(s) == float(size) for s, size in zip(singles, (a, b), strict=True)) or all(
        Decimal(str(s)) == Decimal(size) for s, size in zip(singles, (a, b), strict=True)
    )
