"""How an operator works on a whole batch: as its declaration says (``ops.batching``).

An operator that works entry by entry needs no more than dimensions that meet, and element types as
one element sees them: a batch of single numbers is no vector.
"""

from __future__ import annotations

from typing import Any

from gradcli.engine import dtypes
from gradcli.ops.declaration import batching
from gradcli.ops.operator import OPERATORS, Operator, is_number


def rule_of(op: Operator) -> batching.Rule | None:
    """The rule for ``op``, or None."""
    return _entrywise if op.entrywise else batching.rule_of(op)


def _entrywise(op: Operator, split: Any, params: dict) -> Any:
    split.values = _met(op, split, max(split.ranks))
    return op(*batching.lined_up(split), **params)


def _met(op: Operator, split: Any, rank: int) -> list:
    """The values, where a batch of single numbers may not decide the element type: cast to it."""
    values = list(split.values)
    if op.dtypes not in ("promote", "float", "where") or len(values) < 2:
        return values
    if not rank and all(split.own):  # vectors of single numbers, which meet as those do
        return values
    judged = range(1 if op.dtypes == "where" else 0, len(values))
    found = []
    for i in judged:
        a = split.args[i]
        if is_number(a):
            found.append((dtypes.number_dtype(a), 0))
        elif hasattr(a, "dtype") and isinstance(a.dtype, dtypes.DType):
            found.append((a.dtype, 2 if split.ranks[i] else 1))
        else:
            return values
    target = dtypes.result_type(found)
    for i in judged:
        scalar = split.own[i] and not split.ranks[i]
        if scalar and values[i].dtype is not target and target.kind >= values[i].dtype.kind:
            values[i] = OPERATORS["cast"](values[i], target.numpy)
    return values
