"""Subscripts of tensors: ``x[index]`` and ``x[index] = value``."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.backward.node_values import raw
from gradcli.engine.dtypes import uint8
from gradcli.engine.grad_mode import mode
from gradcli.engine.record.composite import called, runs_once
from gradcli.engine.record.dtype_checks import one_type
from gradcli.engine.record.fast_path import FUNCTIONS
from gradcli.engine.record.inplace import read_first, set_item
from gradcli.engine.source_location import warn
from gradcli.engine.tensor.storage import Slots
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.ops.errors import Fault, IndexFault, TypeFault
from gradcli.ops.indexing import is_basic
from gradcli.ops.torch_messages import too_long


def plain_index(index: Any) -> Any:
    """An index as NumPy takes it: Tensors become arrays, lists of numbers become arrays.

    Raises IndexFault (E0307) for floats and other things that index nothing.
    """
    if isinstance(index, tuple) or (index.__class__ is list and _stands_for_tuple(index)):
        while len(index) > 1 and index[-1] is ... and type(...) in map(type, index[:-1]):
            index = index[:-1]  # one at the end after another stands for nothing
        return tuple(_plain_part(p) for p in index)
    return _plain_part(index)


_PARTS = (list, tuple, range, np.ndarray, slice, Tensor, type(...), type(None))


def _stands_for_tuple(index: list[Any]) -> bool:
    """Whether a list is read as one index for each dimension: PyTorch's rule, not NumPy's."""
    return not mode.rebinds and len(index) < 32 and any(isinstance(p, _PARTS) for p in index)


def _from_stand_in(index: Any) -> Any:
    """The part of an index that stands for a tensor inside a transform, or None."""
    for part in index if isinstance(index, tuple | list) else (index,):
        if getattr(part, "__gradcli_rank__", 0) > 1:
            return part
    return None


_KNOWN = frozenset((int, type(None)))
SHORT = ("int8", "int16")
"""Element types of tensors that index as a number alone."""


def byte_mask(index: Tensor) -> Any:
    """The mask that a tensor of bytes is as an index, with a warning: masks of old were bytes."""
    warn("indexing with dtype uint8 is deprecated, use a mask of dtype bool instead")
    return np.asarray(index._numbers(), bool)


def _plain_part(part: Any) -> Any:
    if part is None or part is Ellipsis or part.__class__ is int:
        return part
    if isinstance(part, slice):
        bounds = part.start, part.stop, part.step
        if _KNOWN.issuperset([b.__class__ for b in bounds]):
            return part
        return slice(*map(_bound, bounds))
    if isinstance(part, Plain):
        array = part._numbers()
        if part.dtype.kind > 1 or (part.ndim and part.dtype.name in SHORT):
            raise no_index(f"a {part.dtype.name} tensor")
        if part.dtype is uint8:
            return byte_mask(part)
        return int(array) if part.dtype.kind == 1 and not array.ndim else np.asarray(array)
    if isinstance(part, bool | np.bool_):
        return np.asarray(part)
    if isinstance(part, np.integer):
        return int(part)
    if isinstance(part, list | tuple | np.ndarray | range):
        if isinstance(part, list | tuple):
            part = [p._numbers() if isinstance(p, Plain) else p for p in part]
        array = np.asarray(part)
        if not array.size:
            return array.astype(np.int64)
        if array.dtype.kind not in "bui":
            text = {"U": "str", "S": "bytes"}.get(array.dtype.kind, "")
            raise no_index("a list of other things than whole numbers", text)
        return array if array.ndim or array.dtype == np.bool_ else int(array)
    raise no_index(f"a {type(part).__name__}", type(part).__name__)


def _bound(bound: Any) -> int | None:
    if bound is None or bound.__class__ is int:
        return bound
    try:
        return bound.__index__()
    except AttributeError:
        said = f"slice indices must be integers or None, not {type(bound).__name__}"
        raise TypeFault("E0307", said, help="round it first, as in x[int(start):]") from None


def no_index(what: str, kind: str = "") -> Fault:
    """The error of what cannot index a tensor."""
    said = None
    mend = "use whole numbers, slices, None, ..., integer or boolean tensors"
    if kind in ("str", "bytes"):
        told = f"new(): invalid data type '{kind}'"
        return TypeFault("E0307", f"{what} cannot index a tensor", help=mend, torch=told)
    if "tensor" in what:
        said = "tensors used as indices must be long, int, byte or bool tensors"
    elif kind:
        said = (
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {kind})"
        )
    return IndexFault("E0307", f"{what} cannot index a tensor", help=mend, torch=said)


def get_item(self: Tensor, index: Any) -> Any:
    """``self[index]``."""
    kind = index.__class__
    if kind is not int and kind is not Tensor and kind is not slice:
        part = _from_stand_in(index)
        if part is not None:
            return part.pick_from(self, index)
    index = plain_index(index)
    if index.__class__ is tuple and (steps := numbers_first(index, self.ndim)) is not None:
        self, index = FUNCTIONS["getitem"](self, steps[0]), steps[1]
    out = FUNCTIONS["getitem"](self, index)
    if index.__class__ is not int and not is_basic(index):
        return runs_once(out)
    return wrap(out.array.copy(), out.dtype, out.edge) if reads_number(out, index) else out


def reads_number(out: Any, index: Any) -> bool:
    """Whether ``out``, read by an index, is no view, as none of Python's numbers is; by ``...`` an
    array without dimensions is read."""
    parts = index if index.__class__ is tuple else (index,)
    return not out.ndim and mode.rebinds and not any(part is Ellipsis for part in parts)


def numbers_first(
    parts: tuple[Any, ...], rank: int
) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """An index in two steps, where NumPy and PyTorch differ: its numbers, then all the rest.

    NumPy counts a number as an index array beside one, and where they stand apart has the picked
    dimension first: ``zeros(2, 3, 4)[0, :, [1, 1]]`` is (2, 3) there, (3, 2) here. An Ellipsis that
    stands for none of the ``rank`` dimensions keeps index arrays apart there, and not here.
    """
    picks = [i for i, p in enumerate(parts) if p.__class__ is int or isinstance(p, np.ndarray)]
    if not picks or picks[-1] - picks[0] < len(picks):
        return None
    full = [p for p in parts if p is not ...]
    taken = [p.ndim if isinstance(p, np.ndarray) and p.dtype == np.bool_ else 1
             for p in full if p is not None]  # fmt: skip
    if len(full) < len(parts) and sum(taken) == rank:
        return numbers_first(tuple(full), rank) or ((...,), tuple(full))
    if len({parts[i].__class__ is int for i in picks}) < 2:
        return None
    numbers: list[Any] = []
    for part in parts:
        if isinstance(part, np.ndarray):
            numbers += [slice(None)] * (part.ndim if part.dtype == np.bool_ else 1)
        elif part is not None:
            numbers.append(slice(None) if isinstance(part, slice) else part)
    return tuple(numbers), tuple(p for p in parts if p.__class__ is not int)


def put_item(self: Tensor, index: Any, value: Any) -> None:
    """``self[index] = value``.

    An entry that the index names more than once keeps the last value, and the gradient goes to that
    value alone: see ``index_put``.
    """
    part = _from_stand_in(index)
    if part is not None:
        part.put_at(self, index, value)
        return
    if value.__class__ is int and not -(2**63) <= value < 2**63:
        raise too_long()
    if index is False:
        return
    copies = index is True  # another dtype, too; not what stands in a tuple or is a tensor
    index = plain_index(index)
    if index.__class__ is tuple and (steps := numbers_first(index, self.ndim)) is not None:
        self, index = FUNCTIONS["getitem"](self, steps[0]), steps[1]
    parts = index if isinstance(index, tuple) else (index,)
    picks = [p for p in parts if isinstance(p, np.ndarray)]
    if picks:
        if isinstance(value, Slots):
            source: Any = value
            mask, *more = picks
            fills = not more and mask.dtype == np.bool_ and mask.ndim and source.numel() == 1
            if not (fills or copies) or (source.is_complex() and not self.is_complex()):
                if source.dtype is not self.dtype:  # a shape that does not fit comes first
                    set_item(self.detach().clone(), index, source.detach())
                if not mode.rebinds:  # as NumPy casts
                    one_type(self, value)  # what fills a mask is cast to what is there
                if not any(p.__class__ is int for p in parts):
                    value = read_first(self, value, apart=True)
        one_truth = all(p.dtype == np.bool_ and not p.ndim for p in picks)  # written by a view
        set_item(self, index, value, name="CopySlices" if one_truth else "IndexPutBackward0")
    elif all(p is Ellipsis or isinstance(p, slice) for p in parts) and _everything(self, parts):
        name = "CopyBackwards" if np.ndim(raw(value)) or not self.ndim else "FillBackward3"
        set_item(self, Ellipsis, value, name=name)
    else:
        set_item(self, index, value)


def delete_item(self: Tensor, index: Any) -> None:
    """Raises TypeFault (E0307)."""
    raise TypeFault("E0307", "Tensor does not support deleting items")


def _everything(x: Tensor, parts: tuple) -> bool:
    """Whether slices leave nothing of ``x`` out: PyTorch writes to x itself then."""
    slices = [p for p in parts if p is not Ellipsis]
    if len(slices) > x.array.ndim:
        return False
    front = len(parts) - parts.index(Ellipsis) - 1 if Ellipsis in parts else 0
    sizes = list(x.array.shape)
    reach = sizes[: len(slices) - front] + (sizes[len(sizes) - front :] if front else [])
    return all(s.indices(n) == (0, n, 1) for s, n in zip(slices, reach, strict=False))


def written(self: Tensor, name: str, *others: Any) -> Tensor:
    """``self`` after a write, named as PyTorch names it, composed of ``others`` too; a view's write
    is its base's."""
    if not isinstance(self, Plain) or (self.meta is not None and self.meta.base is not None):
        return self
    before = self.edge.edges[0] if others and mode.grad and self.edge is not None else None
    return called(self, name, *others and (wrap(self.array, self.dtype, before), *others))
