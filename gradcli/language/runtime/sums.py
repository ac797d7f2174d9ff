"""A long sum of a few different terms, added in the order in which they stand there."""

from __future__ import annotations

import itertools
from array import array
from typing import Any

from gradcli.engine.creation import factories
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions import overloads
from gradcli.language.names import builtins

_BLOCK = 1 << 16
"""How many entries of a long sum are added at a time."""
_PLAIN = 1e30
"""Numbers below this are finite in all of these."""
_WIDE = ("float64", "float32")  # half precision is added up in single by cumsum


def in_order(terms: list[Any], order: array[int]) -> Any:
    """The sum of many terms, one after the other, as ``+`` and ``-`` would have it.

    terms  the values of the different terms: Tensors and Python's numbers
    order  for each term of the sum which of them it is, ``~`` of that where it is subtracted
    """
    total = terms[order[0]]
    rest = itertools.islice(order, 1, None)
    while total.__class__ is not Tensor and (i := next(rest, None)) is not None:
        total = builtins.add(total, terms[i]) if i >= 0 else total - terms[~i]
    like: Any = next((term for term in terms if term.__class__ is Tensor), None)
    entries = 0 if like is None else _BLOCK // max(1, like.numel())
    if entries < 2 * len(terms) or like.dtype.name not in _WIDE or not all(
        abs(term) < _PLAIN if term.__class__ is not Tensor
        else term.dtype is like.dtype and term.shape == like.shape
        for term in terms
    ):  # fmt: skip
        for i in rest:
            total = builtins.add(total, terms[i]) if i >= 0 else total - terms[~i]
        return total
    # Few different ones: gathered from one tensor, and added by cumsum, which keeps the order.
    shape, dtype = like.shape, like.dtype
    each = overloads.stack([
        term if term.__class__ is Tensor else factories.full(shape, term, dtype=dtype)
        for term in terms
    ])  # fmt: skip
    while block := list(itertools.islice(rest, entries)):
        chosen = each[[i if i >= 0 else ~i for i in block]]
        if min(block) < 0:
            signs = factories.tensor([1.0 if i >= 0 else -1.0 for i in block], dtype=dtype)
            chosen = chosen * signs.reshape(-1, *[1] * like.ndim)
        total = overloads.cat([total[None], chosen]).cumsum(0)[-1]
    return total
