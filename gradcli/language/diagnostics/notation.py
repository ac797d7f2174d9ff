"""Help for mathematical notation: bars of norms, primes and T of transposes, implicit products.

Loaded after a syntax error.
"""

from __future__ import annotations

import re

_BY_SIGN = "matrices multiply by @"


def between_bars(bars: str, before: str, after: str) -> str | None:
    """What to write for ``||x||`` and ``|x|``, where the bars open what ends in such bars.

    before, after   the text around the bars, in their line

    Example:
        >>> between_bars("||", "", "A @ x - b||^2")
        'a norm is norm(A @ x - b), its square norm(A @ x - b)**2'
    """
    if before and before[-1] not in "+-*/^@(,[=<>:;%":
        return None
    inner, closed, _ = after.partition("\n")[0].partition(bars)
    inner = inner.strip()
    if not closed or not inner:
        return None
    if bars == "|":
        return f"an absolute value is abs({inner})"
    return f"a norm is norm({inner}), its square norm({inner})**2"


def primed(before: str, after: str) -> str | None:
    """What to write for ``x'``: a quote right after a name or a closing bracket.

    Example:
        >>> primed("2*x", "*y")
        'the transpose of x is x.T, and matrices multiply by @: x.T @ A @ x'
    """
    found = re.search(r"([^\W\d]\w*|[)\]])$", before)
    if found is None or after[:1] == "(":
        return None
    name = _named(found[1])
    return f"the transpose of {name} is {name}.T, and {_BY_SIGN}: x.T @ A @ x"


def side_by_side(base: str, sign: str, left: str, right: str, after: str = "") -> str | None:
    """What to write for matrices without a sign between them: ``A X``, ``x^T A x``.

    base, sign   what stands before ``left``, for a T that is an exponent
    after        what stands after ``right``

    Example:
        >>> side_by_side("", "", "A", "X"), side_by_side("", "", "a", "x")
        ('for a product of matrices write A @ X, entry by entry A*X', None)
        >>> side_by_side("x", "^", "T", "A", "x")
        'the transpose of x is x.T, and matrices multiply by @: x.T @ A @ x'
    """
    if not right.isidentifier():
        return None
    if left == "T" and sign in ("^", "**") and (name := _named(base)):
        last = f" @ {after}" if after.isidentifier() else ""
        return f"the transpose of {name} is {name}.T, and {_BY_SIGN}: {name}.T @ {right}{last}"
    if (left[:1].isupper() or right[:1].isupper()) and (name := _named(left)):
        return f"for a product of matrices write {name} @ {right}, entry by entry {name}*{right}"
    return None


def _named(word: str) -> str:
    """A name, or what stands for a bracket that closes here; empty for anything else."""
    return {")": "(...)", "]": "[...]"}.get(word, word if word.isidentifier() else "")
