"""Joining tensors: cat along a dimension they have, stack along a new one; zeros around by pad."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from gradcli.ops.conversion import clone
from gradcli.ops.cupy_compat import zeros
from gradcli.ops.declaration.batching import Batch
from gradcli.ops.dims import copied, in_format, in_rows, normal_dim, suggested_format
from gradcli.ops.errors import ValueFault, bad_shape, bad_size
from gradcli.ops.indexing import getitem
from gradcli.ops.kinds import linear
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import Operator


def _join(*xs: Any, dim: int = 0) -> Any:
    if not xs:
        raise ValueFault(
            "E0306",
            "cat needs at least one tensor",
            help="write cat([a, b])",
            torch="torch.cat(): expected a non-empty list of Tensors",
        )
    axis = normal_dim(dim, np.ndim(xs[0])) if all(map(np.ndim, xs)) else 0
    try:
        return _formatted(np.concatenate(xs, axis=axis), xs)
    except ValueError:
        shapes = ", ".join(str(tuple(np.shape(x))) for x in xs[:6])
        said = f"cannot join shapes {shapes} along dimension {dim}"
        mend = "all other sizes must agree, and a 0-d tensor needs stack"
        raise bad_shape(said, help=mend, operands=_sizes(xs), torch=_odd_one(xs, axis)) from None


def _formatted(found: Any, xs: Sequence[Any]) -> Any:
    """``found``, joined of ``xs``: with the channels innermost where all of them have them so."""
    if found.ndim in (4, 5) and (wanted := suggested_format(xs[0])) != "contiguous_format":
        same = all(suggested_format(x) == wanted for x in xs)
        return in_format(found, wanted if same else "contiguous_format")
    return in_rows(found)


def _odd_one(xs: Sequence[Any], axis: int) -> str | None:
    """PyTorch's words for the first tensor that does not fit the first of all."""
    first = np.shape(xs[0])
    for i, x in enumerate(xs):
        shape = np.shape(x)
        if not shape:
            return f"zero-dimensional tensor (at position {i}) cannot be concatenated"
        if len(shape) != len(first):
            return f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
        for d, (want, got) in enumerate(zip(first, shape, strict=True)):
            if want != got and d != axis:
                return (
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {want} "
                    f"but got size {got} for tensor number {i} in the list."
                )
    return None


def _sizes(xs: Sequence[Any]) -> tuple[tuple[int, str], ...]:
    return tuple((i, f"shape {tuple(np.shape(x))}") for i, x in enumerate(xs[:6]))


def _part(g: Any, shapes: Sequence[Any], index: int, dim: int) -> Any:
    axis = normal_dim(dim, len(shapes[0]))
    ends = _ends(shapes, axis)
    where = (slice(None),) * axis + (slice(ends[index], ends[index + 1]),)
    return getitem(g, where)


_latest: tuple[Any, int, list[Any]] = ((), 0, [])


def _ends(shapes: Sequence[Any], axis: int) -> list[Any]:
    """0, and where each part ends. One part after the other is asked for: the sums are kept."""
    global _latest
    known, at, ends = _latest
    if known is not shapes or at != axis:
        ends = [*accumulate((s[axis] for s in shapes), initial=0)]
        _latest = shapes, axis, ends
    return ends


# ---- Under vmap: the batch is the first dimension ---------------------------------------------


def joined(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Elements joined along a dimension, which is one further on in the batch."""
    rank = batch.ranks[0]
    if len(set(batch.ranks)) != 1 or not rank:
        return NotImplemented
    parts = [batch.full(i) for i in range(len(batch.values))]
    return op(*parts, dim=normal_dim(params["dim"], rank) + 1)


def stacked(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Elements stacked along a new dimension of each."""
    if len(set(batch.ranks)) != 1:
        return NotImplemented
    parts = [batch.full(i) for i in range(len(batch.values))]
    return op(*parts, dim=normal_dim(params["dim"], batch.ranks[0] + 1) + 1)


def padded(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Each element padded at its last dimensions."""
    fits = len(params["pad"]) <= 2 * batch.ranks[0]  # else the error is about one element
    return op(batch.values[0], params["pad"]) if fits else NotImplemented


cat = linear(
    "cat",
    _join,
    lambda g, shapes, index, dim: _part(g, shapes, index, dim),
    inputs=("tensors",),
    variadic=True,
    dtypes="promote",
    aliases=("concat", "concatenate"),
    numpy="np.concatenate([{*}], {dim})",
    pytorch="torch.cat([{*}], {dim})",
    doc="Tensors joined along a dimension they have.",
    example="sum(cat([x, y])**2) --x 1,2 --y 3,4",
    batching=joined,
    public=False,
    moves="copy",
)


def _stack(*xs: Any, dim: int = 0) -> Any:
    shapes = {tuple(np.shape(x)) for x in xs}
    if len(shapes) != 1:
        raise bad_shape(
            "stack needs tensors of one shape, got "
            f"{', '.join(map(str, sorted(shapes))) or 'none'}",
            help="cat joins tensors whose sizes differ along the joined dimension",
            operands=_sizes(xs),
            torch="stack expects a non-empty TensorList"
            if not xs
            else next(
                (
                    "stack expects each tensor to be equal size, but got "
                    f"{list(np.shape(xs[0]))} at entry 0 and {list(np.shape(x))} at entry {i}"
                    for i, x in enumerate(xs)
                    if np.shape(x) != np.shape(xs[0])
                ),
                None,
            ),
        )
    shape = shapes.pop()
    axis = normal_dim(dim, len(shape) + 1)
    if 4 <= len(shape) <= 5 and axis < len(shape):  # joined, then split: the channels stay inside
        joined = _formatted(np.concatenate(xs, axis=axis), xs)
        return joined.reshape(*shape[:axis], len(xs), *shape[axis:])
    return in_rows(np.stack(xs, axis=axis))


stack = linear(
    "stack",
    _stack,
    lambda g, shapes, index, dim: getitem(
        g, (slice(None),) * normal_dim(dim, len(shapes[0]) + 1) + (index,)
    ),
    inputs=("tensors",),
    variadic=True,
    dtypes="promote",
    doc="Tensors of one shape joined along a new dimension.",
    numpy="np.stack([{*}], {dim})",
    example="sum(stack([x, y])**2) --x 1,2 --y 3,4",
    batching=stacked,
    public=False,
    moves="copy",
)


def _widths(pad: Sequence[int], rank: int) -> list[tuple[int, int]]:
    """(before, behind) of each dimension. Raises RuntimeFault (E0306) for pairs that do not fit."""
    given = [int(n) for n in pad]
    if len(given) % 2 or len(given) > 2 * rank or min(given, default=0) < 0:
        said = f"pad {tuple(given)} does not fit a tensor with {rank} dimension{'s' * (rank != 1)}"
        mend = "a pair (before, behind) of whole numbers for each dimension, the last one first"
        raise bad_size(said, help=mend)
    pairs = list(zip(given[::2], given[1::2], strict=True))[::-1]
    return [(0, 0)] * (rank - len(pairs)) + pairs


def _pad(x: Any, pad: Sequence[int] = ()) -> Any:
    widths = _widths(pad, np.ndim(x))
    if not any(pad):
        return copied(x)
    shape = [n + a + b for n, (a, b) in zip(np.shape(x), widths, strict=True)]
    charge_shape(shape, x.itemsize)
    out = zeros(x, shape)
    out[tuple(slice(a, a + n) for n, (a, _) in zip(np.shape(x), widths, strict=True))] = x
    return out


def _unpad(g: Any, shape: Sequence[int], pad: Sequence[int]) -> Any:
    widths = _widths(pad, len(shape))
    return getitem(g, tuple(slice(a, a + n) for n, (a, _) in zip(shape, widths, strict=True)))


pad = linear(
    "pad",
    _pad,
    lambda g, shape, pad: clone(_unpad(g, shape, pad)),
    grad_name="ConstantPadNdBackward0",
    node={"dense": True},
    doc="Zeros put around: (before, behind) for the last dimension, then for the one before it.",
    example="sum(pad(x, (1, 0))*y) --x 1,2 --y 1,2,3",
    batching=padded,
)
