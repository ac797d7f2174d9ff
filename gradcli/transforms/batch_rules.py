"""How an operator works on a whole batch: the batch is the first dimension, all else moves by one.

A rule takes the operator, the split arguments and the parameters, and gives the result with the
batch in front. It may say NotImplemented; the operator then runs once for each element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine import Tensor, dtypes
from gradcli.ops.dims import normal_dim, normal_dims
from gradcli.ops.indexing import is_basic
from gradcli.ops.operator import OPERATORS, Operator, is_number

_LAST = frozenset(
    (
        "mT",
        "diagonal",
        "tril",
        "triu",
        "eigh_parts",
        "eigvalsh",
        "eig_parts",
        "eigvals",
        "svd_parts",
        "svdvals",
        "qr_parts",
        "lu_compact",
        "pinv",
        "matrix_exp",
    )
)  # work on the last two dimensions


def rule_of(op: Operator) -> Callable | None:
    """The rule for ``op``, or None."""
    if op.entrywise:
        return _entrywise
    return _RULES.get(op.name)


def _entrywise(op: Operator, split: Any, params: dict) -> Any:
    rank = max(split.ranks)
    values = _met(op, split, rank)
    for i, mine in enumerate(split.own):
        lead = rank - split.ranks[i]
        if mine and lead:
            shape = tuple(values[i].shape)
            ones = (1,) * lead
            values[i] = OPERATORS["reshape"](values[i], (shape[0], *ones, *shape[1:]))
    return op(*values, **params)


def _met(op: Operator, split: Any, rank: int) -> list:
    """The values, where a batch of single numbers may not decide the element type: cast to it."""
    values = list(split.values)
    if op.dtypes not in ("promote", "float", "where") or len(values) < 2 or not rank:
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


def _reduced(op: Operator, split: Any, params: dict) -> Any:
    """Reductions over any dimensions."""
    x, rank = split.values[0], split.ranks[0]
    if not rank:
        keep = {"keepdim": False} if "keepdim" in params else {}
        return op(OPERATORS["reshape"](x, (split.count, 1)), **{**params, "dim": 1, **keep})
    dim = params["dim"]
    dims = tuple(d + 1 for d in normal_dims(dim, rank))
    return op(x, **{**params, "dim": dims})


def _along(op: Operator, split: Any, params: dict) -> Any:
    """Operators along one dimension; with None they work on all entries in order."""
    x, rank = split.values[0], split.ranks[0]
    dim = params["dim"]
    if not rank:
        flat = OPERATORS["reshape"](x, (split.count, 1))
        keep = {"keepdim": False} if "keepdim" in params else {}
        found = op(flat, **{**params, "dim": 1, **keep})
        return OPERATORS["reshape"](found, (split.count,))
    if dim is None:
        keep = params.get("keepdim", False)
        flat = OPERATORS["reshape"](x, (split.count, -1))
        found = op(flat, **{**params, "dim": 1, **({"keepdim": False} if keep else {})})
        return OPERATORS["reshape"](found, (split.count,) + (1,) * rank) if keep else found
    if not isinstance(dim, int):
        return NotImplemented
    return op(x, **{**params, "dim": normal_dim(dim, rank) + 1})


def _last_two(op: Operator, split: Any, params: dict) -> Any:
    return op(split.values[0], **params) if split.ranks[0] >= 2 else NotImplemented


def _reshape(op: Operator, split: Any, params: dict) -> Any:
    shape = params["shape"]
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if -1 in shape:
        # Found by the operator itself on one element, so that its errors are about that.
        shape = tuple(np.empty(tuple(split.args[0].shape)).reshape(shape).shape)
    return op(split.values[0], shape=(split.count, *shape))


def _expand(op: Operator, split: Any, params: dict) -> Any:
    x, rank, shape = split.values[0], split.ranks[0], tuple(params["shape"])
    lead = len(shape) - rank
    if lead < 0:
        return NotImplemented
    own = tuple(x.shape)
    x = OPERATORS["reshape"](x, (own[0], *((1,) * lead), *own[1:]))
    return op(x, shape=(split.count, *shape))


def _sum_to(op: Operator, split: Any, params: dict) -> Any:
    x, shape = split.values[0], tuple(params["shape"])
    lead = split.ranks[0] - len(shape)
    if lead > 0:
        x = OPERATORS["sum"](x, dim=tuple(range(1, lead + 1)))
    return op(x, shape=(split.count, *shape))


def _transpose(op: Operator, split: Any, params: dict) -> Any:
    rank = split.ranks[0]
    if not rank:
        return split.values[0]
    moved = {name: normal_dim(params[name], rank) + 1 for name in ("dim0", "dim1")}
    return op(split.values[0], **moved)


def _permute(op: Operator, split: Any, params: dict) -> Any:
    dims = tuple(params["dims"])
    if len(dims) != split.ranks[0]:
        return NotImplemented
    moved = (0, *(d + 1 for d in normal_dims(dims, len(dims))))
    return op(split.values[0], dims=moved)


def _reverse_dims(op: Operator, split: Any, params: dict) -> Any:
    return OPERATORS["permute"](split.values[0], dims=(0, *range(split.ranks[0], 0, -1)))


def _squeeze(op: Operator, split: Any, params: dict) -> Any:
    dims = normal_dims(params["dim"], split.ranks[0])
    return op(split.values[0], dim=tuple(d + 1 for d in dims)) if dims else split.values[0]


def _unsqueeze(op: Operator, split: Any, params: dict) -> Any:
    return op(split.values[0], dim=normal_dim(params["dim"], split.ranks[0] + 1) + 1)


def _flip(op: Operator, split: Any, params: dict) -> Any:
    dims = normal_dims(params["dims"], split.ranks[0])
    return op(split.values[0], dims=tuple(d + 1 for d in dims)) if dims else split.values[0]


def _undiagonal(op: Operator, split: Any, params: dict) -> Any:
    return op(split.values[0], shape=(split.count, *params["shape"]))


def _in_front(index: Any) -> Any:
    """The index behind the batch dimension; None where NumPy would move dimensions about."""
    parts = index if isinstance(index, tuple) else (index,)
    if is_basic(index):
        return (slice(None), *parts)
    # An integer counts as an index array beside one; arrays that do not stand side by side move.
    arrays = [i for i, p in enumerate(parts) if isinstance(p, int) or hasattr(p, "dtype")]
    if arrays != list(range(arrays[0], arrays[-1] + 1)):
        return None
    return (slice(None), *parts)


def _getitem(op: Operator, split: Any, params: dict) -> Any:
    index = _in_front(params["index"])
    return NotImplemented if index is None else op(split.values[0], index=index)


def _scatter(op: Operator, split: Any, params: dict) -> Any:
    index = _in_front(params["index"])
    if index is None:
        return NotImplemented
    return op(split.values[0], shape=(split.count, *params["shape"]), index=index)


def _gather(op: Operator, split: Any, params: dict) -> Any:
    rank = split.ranks[0]
    if not rank:
        return NotImplemented
    indices = params["indices"]
    indices = np.asarray(indices.array if isinstance(indices, Tensor) else indices)
    moved = {
        "indices": np.broadcast_to(indices, (split.count, *indices.shape)),
        "dim": normal_dim(params["dim"], rank) + 1,
        "once": params["once"],
    }
    if "shape" in params:
        moved["shape"] = (split.count, *params["shape"])
    return op(split.values[0], **moved)


def _join(op: Operator, split: Any, params: dict) -> Any:
    rank = max(split.ranks) + (op.name == "stack")
    if len(set(split.ranks)) != 1 or not rank:
        return NotImplemented
    parts = [split.full(i) for i in range(len(split.values))]
    return op(*parts, dim=normal_dim(params["dim"], rank) + 1)


def _matmul(op: Operator, split: Any, params: dict) -> Any:
    a, b = split.ranks
    if not a or not b:
        return NotImplemented
    reshape = OPERATORS["reshape"]
    x, y = split.values
    inner = (split.args[0].shape[-1], split.args[1].shape[-2 if b > 1 else 0])
    if inner[0] != inner[1]:
        return NotImplemented  # for the operator's own error, about one element
    rank = max(a, b, 2)

    def matrices(value: Any, mine: bool, own: int, vector: str) -> Any:
        shape = tuple(value.shape)
        front, rest = (shape[:1], shape[1:]) if mine else ((), shape)
        if own == 1:
            rest = (1, *rest) if vector == "row" else (*rest, 1)
        return reshape(value, (*front, *((1,) * (rank - len(rest)) if mine else ()), *rest))

    x = matrices(x, split.own[0], a, "row")
    y = matrices(y, split.own[1], b, "column")
    out = op(x, y)
    shape = list(out.shape)
    if b == 1:
        shape.pop()
    if a == 1:
        shape.pop(-1 if b == 1 else -2)
    return reshape(out, tuple(shape)) if len(shape) != len(out.shape) else out


def _dot(op: Operator, split: Any, params: dict) -> Any:
    if split.ranks != [1, 1] or split.args[0].shape[0] != split.args[1].shape[0]:
        return NotImplemented
    return OPERATORS["sum"](split.values[0] * split.values[1], dim=-1)


def _outer(op: Operator, split: Any, params: dict) -> Any:
    if split.ranks != [1, 1]:
        return NotImplemented
    unsqueeze = OPERATORS["unsqueeze"]
    return unsqueeze(split.values[0], -1) * unsqueeze(split.values[1], -2)


def _trace(op: Operator, split: Any, params: dict) -> Any:
    if split.ranks[0] != 2:
        return NotImplemented
    return OPERATORS["sum"](OPERATORS["diagonal"](split.values[0]), dim=-1)


def _own_last(op: Operator, split: Any, params: dict) -> Any:
    return op(split.values[0], **params) if split.ranks[0] else NotImplemented


_RULES: dict[str, Callable] = {
    **dict.fromkeys(
        ("sum", "mean", "var", "std", "norm", "amax", "amin", "logsumexp", "all", "any",
         "count_nonzero"), _reduced,
    ),
    **dict.fromkeys(
        ("prod", "softmax", "log_softmax", "cumsum", "argmax", "argmin", "argsort"), _along
    ),
    **dict.fromkeys(_LAST, _last_two),
    "prod_others": _own_last, "reshape": _reshape, "expand": _expand, "sum_to": _sum_to,
    "transpose": _transpose, "permute": _permute, "reverse_dims": _reverse_dims,
    "squeeze": _squeeze, "unsqueeze": _unsqueeze, "flip": _flip, "undiagonal": _undiagonal,
    "getitem": _getitem, "scatter": _scatter, "gather": _gather, "ungather": _gather,
    "cat": _join, "stack": _join, "matmul": _matmul, "dot": _dot, "outer": _outer, "trace": _trace,
}  # fmt: skip
