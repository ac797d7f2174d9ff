"""A long sum of few different terms, added in the order in which they stand there.

Terms that are alike but for their numbers are computed at once where what they do is entrywise:
along a first axis, with an entry for each of them.
"""

from __future__ import annotations

import itertools
import math
import operator
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.engine.creation import factories
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions import overloads
from gradcli.language.names import builtins
from gradcli.language.syntax import nodes as n

_BLOCK = 1 << 16
"""How many entries of a long sum are added at a time."""
_MOST = 1 << 20
"""Blocks may be short where all different terms together have no more entries than these."""
_PLAIN = 1e30
"""Numbers below this are finite in all of these."""
_WIDE = ("float64", "float32")


class Apart(Exception):
    """Terms that have to be computed one by one."""


class _Rows(NamedTuple):
    """The value of a part of the terms: a list of numbers, or a Tensor along whose first axis they
    lie."""

    values: list[Any] | Tensor


class Together:
    """Computes the terms that one tree with columns stands for.

    value     computes a node without columns
    binary    the functions of the signs
    deepest   how deep trees may nest
    function  the function of a name for so many arguments; None where it is not entrywise
    """

    def __init__(
        self, value: Callable[[Any], Any], binary: dict[str, Callable[[Any, Any], Any]],
        function: Callable[[str, int], Callable[..., Any] | None], deepest: int,
    ) -> None:  # fmt: skip
        self.value, self.binary, self.function, self.deepest = value, binary, function, deepest

    def run(self, root: n.Expr, count: int) -> Any:
        """The values of the ``count`` terms: a Tensor with one more axis, or a list of numbers.

        Raises Apart where they cannot be computed at once.
        """
        self.count = count
        self.like: Any = None  # the first Tensor: all have its shape and dtype
        self.columns: set[int] = set()
        for node in reversed([*n.walk(root)]):
            below = any(id(child) in self.columns for child in n.children(node))
            if below or node.__class__ is n.Column:
                self.columns.add(id(node))
        found = self.part(root, 0).values
        like: Any = self.like
        if found.__class__ is Tensor and (
            found.dtype is not like.dtype or found.shape != (count, *like.shape)
        ):
            raise Apart
        return found

    def part(self, node: Any, depth: int) -> Any:
        """The value of a node: ``_Rows`` where columns are in it."""
        if id(node) not in self.columns:
            return self.value(node)
        kind, depth = node.__class__, depth + 1
        if depth > self.deepest:
            raise Apart
        if kind is n.Column:
            return _Rows(node.values)
        if kind is n.Subscript and id(node.value) not in self.columns:
            return self.entries(self.value(node.value), node.index, depth)
        if kind is n.Unary and node.op == "-":
            return self.made(operator.neg, [self.part(node.operand, depth)], True)
        if kind is n.Binary:
            # A rule may know more of a written exponent than of a Tensor's.
            anywhere = node.op in "+-*/"
            sides = [self.part(node.left, depth), self.part(node.right, depth)]
            return self.made(self.binary[node.op], sides, anywhere)
        if kind is n.Compare and len(node.ops) == 1 and node.ops[0] in self.binary:
            sides = [self.part(node.left, depth), self.part(node.rights[0], depth)]
            return self.made(self.binary[node.ops[0]], sides, True)
        if kind is n.Call and node.func.__class__ is n.Name and not node.keywords:
            function = self.function(node.func.id, len(node.args))
            if function is not None:
                args = [self.part(arg, depth) for arg in node.args]
                return self.made(function, args, False)
        raise Apart

    def entries(self, x: Any, index: Any, depth: int) -> _Rows:
        """Entries of a Tensor, by whole numbers of which some stand in columns."""
        places = index.items if index.__class__ is n.Tuple else (index,)
        found = [self.part(one, depth) for one in places]
        at = [one.values if one.__class__ is _Rows else [one] for one in found]
        if x.__class__ is not Tensor or not all(i.__class__ is int for one in at for i in one):
            raise Apart
        rows = x[tuple(at)]
        self.alike(rows[0])
        return _Rows(rows)

    def alike(self, term: Tensor) -> None:
        """Look whether a Tensor has the shape and dtype of the others. Raises Apart."""
        self.like = term if self.like is None else self.like
        if term.dtype is not self.like.dtype or term.shape != self.like.shape:
            raise Apart

    def made(self, function: Callable[..., Any], args: Sequence[Any], anywhere: bool) -> _Rows:
        """``function`` of parts; a column of numbers may stand ``anywhere`` beside a Tensor."""
        held = [a.values if a.__class__ is _Rows else a for a in args]
        if not any(one.__class__ is Tensor for one in held):
            rows = [x if x.__class__ is list else itertools.repeat(x, self.count) for x in held]
            return _Rows([*map(function, *rows)])
        for arg in args:
            if arg.__class__ is Tensor:
                self.alike(arg)
        dtype = self.like.dtype
        if dtype.name not in _WIDE:
            raise Apart
        for i, one in enumerate(held):
            if one.__class__ is list:
                if not anywhere or not all(map(_fits, one)):
                    raise Apart
                held[i] = _column(one, dtype, self.like.ndim)
        return _Rows(function(*held))


def _fits(number: Any) -> bool:
    """Whether a number is none that signs refuse beside a Tensor."""
    return number.__class__ is not int or number.bit_length() < 64


def _column(values: list[Any] | np.ndarray, dtype: Any, ndim: int) -> Tensor:
    """Numbers along the first axis, with as many axes after it. Raises OverflowError."""
    return factories.tensor(np.array(values, dtype.name).reshape(-1, *[1] * ndim))


def in_order(terms: list[Any], counts: Sequence[int], order: array[int]) -> Any:
    """The sum of many terms, one after the other, as ``+`` and ``-`` would have it.

    terms   the values of the different terms: Tensors and Python's numbers; of several that are
            alike a list of them, or a Tensor along whose first axis they lie
    counts  how many each of ``terms`` stands for
    order   for each term of the sum which of them it is, ``~`` of that where it is subtracted
    """
    whole = _joined(terms, counts)
    each: list[Any] = []
    for term, count in zip(terms, counts, strict=True):
        if term.__class__ is list:
            each += term
        elif count == 1:
            each.append(term)
        else:
            each += term.unbind(0) if whole is None else [whole] * count
    total: Any = None
    done = 0
    for done, i in enumerate(order, 1):  # noqa: B007 - where the rest begins
        at = i if i >= 0 else ~i
        term = each[at] if each[at] is not whole or whole is None else whole[at]
        if total is None:
            total = term
        else:
            total = builtins.add(total, term) if i >= 0 else total - term
        if whole is not None and total.__class__ is Tensor:
            break
    if whole is None:
        return total
    if not total.ndim:
        total = total.expand(whole.shape[1:])
    # The rest is gathered from one tensor, and added by cumsum, which keeps the order.
    entries = max(1, _BLOCK // max(1, whole[0].numel()))
    for start in range(done, len(order), entries):
        block = np.array(order[start : start + entries])
        chosen = whole[factories.tensor(np.where(block < 0, ~block, block), dtype="int64")]
        if block.min() < 0:
            chosen = chosen * _column(np.where(block < 0, -1.0, 1.0), whole.dtype, whole.ndim - 1)
        total = overloads.cat([total[None], chosen]).cumsum(0)[-1]
    return total


def _joined(terms: list[Any], counts: Sequence[int]) -> Tensor | None:
    """All different terms along the first axis of one Tensor, those of no dimension expanded; None
    where they differ in kind, or are too large to be gathered many times."""
    shapes = {
        (t.shape if count == 1 else t.shape[1:], t.dtype)
        for t, count in zip(terms, counts, strict=True) if t.__class__ is Tensor
    }  # fmt: skip
    if len(shapes) == 2:
        shapes = {kind for kind in shapes if kind[0] or len({dtype for _, dtype in shapes}) > 1}
    numbers = [x for t in terms if t.__class__ is not Tensor
               for x in (t if t.__class__ is list else (t,))]  # fmt: skip
    if len(shapes) != 1 or not all(abs(x) < _PLAIN and _fits(x) for x in numbers):
        return None
    ((shape, dtype),) = shapes
    size, different = math.prod(shape), sum(counts)
    few = _BLOCK // max(1, size) >= 2 * different or size * different <= _MOST
    if dtype.name != "float64" or not few:  # cumsum adds up others in double precision
        return None
    parts = []
    for term, count in zip(terms, counts, strict=True):
        if term.__class__ is not Tensor:
            given = term if term.__class__ is list else [term]
            parts.append(_column(given, dtype, len(shape)).expand(len(given), *shape))
        else:
            rows = term[None] if count == 1 else term
            ones = (1,) * (len(shape) + 1 - rows.ndim)  # of numbers beside tensors
            parts.append(rows.reshape(-1, *ones).expand(-1, *shape) if ones else rows)
    return overloads.cat(parts)
