"""Dimensions as callers name them: from 0, or from the end when negative; one, several, or all."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.errors import IndexFault, TypeFault, bad_argument, bad_dim, bad_shape, bad_value
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS
from gradcli.ops.torch_messages import appears_twice

Dims = int | Sequence[int] | None


class Every(tuple[int, ...]):
    """All dimensions of each element of a batch: a rule that knows None takes them for that."""


def in_rows(x: Any) -> Any:
    """``x`` as PyTorch lays out a new array in memory: row after row; a copy where it is not so."""
    if x.flags.c_contiguous:
        return x
    charge_shape(x.shape, x.itemsize)
    return x.copy()


def in_columns(x: Any) -> Any:
    """Matrices as LAPACK, and so PyTorch, gives them: column after column in memory."""
    return np.swapaxes(in_rows(np.swapaxes(x, -1, -2)), -1, -2) if np.ndim(x) > 1 else x


def copied(x: Any, dtype: Any = None) -> Any:
    """A copy of ``x``, or its numbers in another ``dtype``, that lies in memory as ``x`` does.

    What is expanded lies where nothing tells it apart, as PyTorch puts it.
    """
    found = x.astype(dtype or x.dtype, "K")
    steps = tuple(map(abs, x.strides))
    return in_order(found, told_apart([steps], x.shape)) if 0 in steps else found


def laid_as(found: Any, *operands: Any) -> Any:
    """``found``, computed entry by entry, as PyTorch lays it out: in the order of its operands.

    Where they differ the first decides that tells two dimensions apart; NumPy takes rows then.
    """
    shape = found.shape
    rank = len(shape)
    steps = []
    for x in operands:
        given = zip(x.shape, x.strides, strict=True)
        steps.append((0,) * (rank - x.ndim) + tuple(
            0 if n == 1 != wanted else step
            for (n, step), wanted in zip(given, shape[rank - x.ndim :], strict=True)
        ))  # fmt: skip
    return in_order(found, told_apart(steps, shape))


def told_apart(steps: Any, shape: Any) -> list[int]:
    """The dimensions of a ``shape``, outermost first, by what their ``steps`` are in operands."""
    rank = len(shape)
    order = list(range(rank))[::-1]  # from the innermost
    for i in range(1, rank):
        here = i
        for k in range(i - 1, -1, -1):
            inside = _inside(order[here], order[k], steps, shape)
            if inside:
                order[here], order[k] = order[k], order[here]
                here = k
            elif inside is False:
                break
    return order[::-1]


def _inside(a: int, b: int, steps: Sequence[Sequence[int]], shape: Sequence[int]) -> bool | None:
    """Whether dimension ``a`` lies inside ``b`` in memory; None where nothing tells."""
    for strides in steps:
        if not strides[a] or not strides[b]:
            continue
        if strides[a] != strides[b]:
            return strides[a] < strides[b]
        if shape[a] < shape[b]:
            return True
    return None


def in_order(found: Any, order: Sequence[int], exact: bool = False) -> Any:
    """``found`` with the dimensions in memory in such an order, outermost first; a copy where it is
    not so: to the last stride where ``exact``, else but for dimensions of size 1."""
    step = found.itemsize
    for d in reversed(order):
        if found.strides[d] != step and (exact or found.shape[d] != 1):
            return copied_in(order, found)
        step *= max(found.shape[d], 1)
    return found


def copied_in(order: Sequence[int], x: Any) -> Any:
    """A copy of ``x`` with the dimensions in memory in such an order, outermost first."""
    places = sorted(range(x.ndim), key=order.__getitem__)
    return x.transpose(order).copy("C").transpose(places)


def format_order(memory_format: Any, rank: int) -> Any:
    """The dimensions of a memory format as they lie in memory, the outermost first.

    Raises TypeFault (E0304) for what is none, RuntimeFault (E0301) for channels last of another
    rank.
    """
    name = getattr(memory_format, "name", memory_format)
    if name not in ("contiguous_format", "channels_last", "channels_last_3d"):
        if name == "preserve_format":
            raise bad_value("preserve_format names no order of its own here")
        raise TypeFault("E0304", f"a memory format is wanted, not {type(memory_format).__name__}")
    wanted = {"channels_last": 4, "channels_last_3d": 5}.get(name, rank)
    if wanted != rank:
        raise bad_shape(f"required rank {wanted} tensor to use {name} format")
    return (0, *range(2, rank), 1) if name.startswith("channels") else range(rank)


def suggested_format(x: Any, gapless: bool = False) -> str:
    """The memory format in which PyTorch's layers take ``x`` to lie, by its strides.

    ``gapless`` looks first at what lies so without gaps, where dimensions of size 1 have no say.
    """
    rank, steps = x.ndim, x.strides
    if gapless and 4 <= rank <= 5:
        name = "channels_last" if rank == 4 else "channels_last_3d"
        turned = x.transpose(format_order(name, rank))
        if x.flags.c_contiguous or turned.flags.c_contiguous:
            return "contiguous_format" if x.flags.c_contiguous else name
    if not 4 <= rank <= 5 or steps[1] > steps[-1] or not steps[1]:
        return "contiguous_format"
    least = 0
    for d in (1, *range(rank - 1, 1, -1), 0):
        if not x.shape[d] or steps[d] < least or (d == 0 and least == steps[1]):
            return "contiguous_format"
        least = steps[d] * x.shape[d]
    return "channels_last" if rank == 4 else "channels_last_3d"


def in_format(x: Any, memory_format: Any) -> Any:
    """``x`` in a memory format, to the last stride; a copy where it is not so."""
    return in_order(x, format_order(memory_format, x.ndim), exact=True)


class _Memory:
    """What NumPy makes an array of: one that keeps ``base`` alive."""

    __slots__ = ("__array_interface__", "base")

    def __init__(self, facts: dict[str, Any], base: Any) -> None:
        self.__array_interface__, self.base = facts, base


def strided_view(x: Any, shape: Sequence[int], strides: Sequence[int], start: int = 0) -> Any:
    """A view from ``start`` bytes into ``x``: also one without entries, of which NumPy's own
    indexing does not keep where it begins."""
    if x.flags.c_contiguous and 0 not in shape:
        with contextlib.suppress(ValueError):  # it reaches beyond, as the place of no entries may
            return np.ndarray(shape, x.dtype, x, start, strides)
    facts = x.__array_interface__
    first, protected = facts["data"]
    owned = isinstance(x.base, np.ndarray) and x.base.flags.writeable  # else protected for good
    facts["data"] = first + start, protected and not owned and 0 not in shape
    facts |= {"shape": tuple(shape), "strides": tuple(strides)}
    return np.asarray(_Memory(facts, x))


def unraveled(flat: Any, shape: Sequence[int]) -> tuple[Any, ...]:
    """The index in each dimension of ``shape`` of flat indices, which are an array of any shape.

    ``np.unravel_index`` gives other ones for arrays of more than its buffer's 8192 entries that
    end in a dimension of 1 (NumPy 2.4), but never for a line of them.
    """
    return tuple(i.reshape(flat.shape) for i in np.unravel_index(flat.reshape(-1), shape))


def normal_dim(dim: int, ndim: int) -> int:
    """``dim`` counted from 0. Raises IndexFault (E0305) when a tensor of ``ndim`` has no such
    one.
    """
    if dim.__class__ is not int:
        dim = whole_number(dim)
    rank = max(ndim, 1)
    if not -rank <= dim < rank:
        if not -(2**63) <= dim < 2**63:
            raise bad_argument("Overflow when unpacking long long", help="count from the end by -1")
        raise IndexFault(
            "E0305",
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got "
            f"{dim})",
        )
    return dim % rank


def whole_number(value: object, what: str = "a dimension") -> int:
    """What counts something (``what``) given as any kind of whole number.

    Raises TypeFault (E0305) for anything else.
    """
    if not isinstance(value, bool | np.bool_) and getattr(value, "shape", ()) == ():
        index = getattr(value, "__index__", None)
        if index is not None and getattr(getattr(value, "dtype", None), "kind", 1) in (1, "i", "u"):
            return int(index())
    said = f"{what} must be a whole number, not {type(value).__name__}"
    raise TypeFault("E0305", said, help="count from 0, or from the end with -1")


def some_dim(dim: int, ndim: int) -> int:
    """``normal_dim`` of a tensor that has dimensions. Raises IndexFault (E0305) for a number."""
    place = normal_dim(dim, ndim)
    if not ndim:
        raise IndexFault("E0305", f"Dimension specified as {dim} but tensor has no dimensions")
    return place


def normal_dims(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions that ``dim`` names, counted from 0: None means all of them."""
    if dim is None:
        return tuple(range(ndim))
    if dim.__class__ is tuple and len(dim) == 1 and ndim:
        return (normal_dim(dim[0], ndim),)
    if not isinstance(dim, tuple | list):
        if getattr(dim, "ndim", 0) and hasattr(dim, "tolist"):
            return normal_dims(dim.tolist(), ndim)
        return (normal_dim(dim, ndim),)[: 1 if ndim else 0]  # type: ignore[arg-type]
    dims = tuple(normal_dim(d, ndim) for d in dim)
    if len(set(dims)) != len(dims):
        raise bad_dim(f"dimension {dim} appears twice", torch=appears_twice(dims))
    return dims if dims and ndim else tuple(range(ndim))


def named_dims(dim: Dims, ndim: int) -> tuple[int, ...]:
    """``normal_dims`` where an empty list names no dimension, and not all as in a reduction."""
    return () if isinstance(dim, tuple | list) and not len(dim) else normal_dims(dim, ndim)


def unreduce(g: Any, shape: Sequence[int], dim: Dims, keepdim: bool) -> Any:
    """Put the reduced dimensions back as ones, so that ``g`` broadcasts against ``shape``."""
    if keepdim or dim is None:
        return g
    kept = list(shape)
    for d in (dim,) if dim.__class__ is int and shape else normal_dims(dim, len(shape)):
        kept[d] = 1
    if isinstance(g, np.ndarray | np.generic):
        return g.reshape(kept)
    return OPERATORS["reshape"](g, tuple(kept))
