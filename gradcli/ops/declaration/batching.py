"""How an operator works on a whole batch: what ``vmap`` reads from the declaration.

The batch is the first dimension of every value that has one, and all else moves by one. A rule
takes the operator, the batch's arguments and the parameters, and gives the result with the batch in
front. It may say NotImplemented; the operator then runs once for each element.

An operator that works entry by entry needs no rule, and most reductions and operators along a
dimension get theirs here, from their parameters; the others state it as ``batching``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from gradcli.ops.dims import Every, normal_dim, normal_dims
from gradcli.ops.operator import OPERATORS, Operator


class Batch(Protocol):
    """The arguments of a call: ``values`` with the batch in front where ``own`` says there is one.

    ``args`` are the arguments as one element sees them, ``ranks`` their numbers of dimensions,
    ``count`` the size of the batch.
    """

    args: list[Any]
    values: list[Any]
    own: list[bool]
    ranks: list[int]
    count: int

    def full(self, i: int) -> Any:
        """Argument ``i`` with the batch in front, repeated where it is the same for all."""


Rule = Callable[[Operator, Batch, dict[str, Any]], Any]


def rule_of(op: Operator) -> Rule | None:
    """The rule as declared, or by the kind and the parameters; None where there is none."""
    if op.batching is not None or "dim" not in op.params or op.variadic:
        return op.batching
    joins = op.kind == "reduction" or (op.params["dim"] is None and op.kind == "linear")
    return reduced if joins else along


def reduced(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Reductions over any dimensions."""
    x, rank, dim = batch.values[0], batch.ranks[0], params["dim"]
    kind = Every if dim is None or isinstance(dim, Every) else tuple
    dims = kind(d + 1 for d in normal_dims(dim, rank) or (0,))
    if not rank:
        keep = {"keepdim": False} if "keepdim" in params else {}
        return op(OPERATORS["reshape"](x, (batch.count, 1)), **{**params, "dim": dims, **keep})
    return op(x, **{**params, "dim": dims})


def along(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Operators along one dimension; with None they work on all entries in order."""
    x, rank = batch.values[0], batch.ranks[0]
    dim = params["dim"]
    if not rank or dim is None:
        normal_dims(dim, rank)
        flat = OPERATORS["reshape"](x, (batch.count, math.prod(x.shape[1:])))
        keep = {"keepdim": False} if "keepdim" in params else {}
        found = op(flat, **{**params, "dim": 1, **keep})
        ones = not rank or params.get("keepdim", False)
        return OPERATORS["reshape"](found, (batch.count,) + (1,) * rank) if ones else found
    if not isinstance(dim, int):
        return NotImplemented
    return op(x, **{**params, "dim": normal_dim(dim, rank) + 1})


def lined_up(batch: Batch) -> list[Any]:
    """The values with sizes of 1 behind the batch, so that their leading dimensions broadcast."""
    rank = max(batch.ranks)
    values = list(batch.values)
    for i, mine in enumerate(batch.own):
        if mine and batch.ranks[i] < rank:
            shape = tuple(values[i].shape)
            ones = (1,) * (rank - batch.ranks[i])
            values[i] = OPERATORS["reshape"](values[i], (shape[0], *ones, *shape[1:]))
    return values


def vectors(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Operators on the last dimension, whatever stands before it."""
    return op(batch.values[0], **params) if batch.ranks[0] else NotImplemented


def matrices(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Operators on the last two dimensions, whose leading ones broadcast."""
    return op(*lined_up(batch), **params) if min(batch.ranks) >= 2 else NotImplemented
