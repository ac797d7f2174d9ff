"""Puts the operators on Tensor: ``x + y``, ``x.sum(0)``, ``x[1]``, ``x.add_(y)``.

Operators of one or two tensors get the short way of ``record``; all others go through the operator
itself, so that a method and the function of the same name cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine.backward.node_values import raw
from gradcli.engine.record.apply import apply
from gradcli.engine.record.composite import called, runs_once
from gradcli.engine.record.fast_path import FUNCTIONS, method
from gradcli.engine.record.inplace import rewrite, set_item, write_result
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions.overloads import flatten
from gradcli.functions.sorting import extreme_method
from gradcli.ops.declaration.infix import METHODS, MIRRORED, by_sign
from gradcli.ops.errors import IndexFault, RuntimeFault, TypeFault
from gradcli.ops.indexing import is_basic
from gradcli.ops.operator import OPERATORS, Operator

# Methods whose operator does not read as a method of its first input.
_NO_METHOD = frozenset(
    ("cat", "stack", "put", "scatter", "ungather", "prod_others", "reverse_dims", "undiagonal",
     "getitem", "where", "cast", "mT", "real", "imag", "lerp_number")
)  # fmt: skip


def plain_index(index: Any) -> Any:
    """An index as NumPy takes it: Tensors become arrays, lists of numbers become arrays.

    Raises IndexFault (E0307) for floats and other things that index nothing.
    """
    if isinstance(index, tuple):
        return tuple(_plain_part(p) for p in index)
    return _plain_part(index)


def _from_stand_in(index: Any) -> Any:
    """The part of an index that stands for a tensor inside a transform, or None."""
    for part in index if isinstance(index, tuple) else (index,):
        if getattr(part, "__gradcli_rank__", 0) > 1:
            return part
    return None


def _plain_part(part: Any) -> Any:
    if part is None or part is Ellipsis or part.__class__ is int:
        return part
    if isinstance(part, slice):
        return slice(*(_bound(b) for b in (part.start, part.stop, part.step)))
    if isinstance(part, Tensor):
        array = part.array
        if part.dtype.kind > 1:
            raise _no_index(f"a {part.dtype.name} tensor")
        return int(array) if part.dtype.kind == 1 and not array.ndim else np.asarray(array)
    if isinstance(part, bool | np.bool_):
        return np.asarray(part)
    if isinstance(part, np.integer):
        return int(part)
    if isinstance(part, list | np.ndarray | range):
        array = np.asarray([p.item() if isinstance(p, Tensor) else p for p in part]) \
            if isinstance(part, list) else np.asarray(part)  # fmt: skip
        if not array.size:
            return array.astype(np.int64)
        if array.dtype.kind not in "bui":
            raise _no_index("a list of other things than whole numbers")
        return array
    raise _no_index(f"a {type(part).__name__}", type(part).__name__)


def _bound(bound: Any) -> int | None:
    if bound is None or bound.__class__ is int:
        return bound
    try:
        return bound.__index__()
    except AttributeError:
        raise _no_index(f"a {type(bound).__name__} in a slice") from None


def _no_index(what: str, kind: str = "") -> IndexFault:
    said = None
    if "tensor" in what:
        said = "tensors used as indices must be long, int, byte or bool tensors"
    elif kind:
        said = (
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {kind})"
        )
    return IndexFault(
        "E0307",
        f"{what} cannot index a tensor",
        help="use whole numbers, slices, None, ..., integer or boolean tensors",
        torch=said,
    )


def _getitem(self: Tensor, index: Any) -> Any:
    kind = index.__class__
    if kind is not int and kind is not Tensor and kind is not slice:
        part = _from_stand_in(index)
        if part is not None:
            return part.pick_from(self, index)
    index = plain_index(index)
    out = FUNCTIONS["getitem"](self, index)
    if out.edge is None or index.__class__ is int or is_basic(index):
        return out
    return runs_once(out)


def _setitem(self: Tensor, index: Any, value: Any) -> None:
    part = _from_stand_in(index)
    if part is not None:
        part.put_at(self, index, value)
        return
    index = plain_index(index)
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(p, np.ndarray) for p in parts):
        set_item(self, index, value)
        _written(self, "IndexPutBackward0")
    elif all(p is Ellipsis or isinstance(p, slice) for p in parts) and _everything(self, parts):
        set_item(self, Ellipsis, value)
        _written(self, "CopyBackwards" if np.ndim(raw(value)) else "FillBackward3")
    else:
        set_item(self, index, value)


def _everything(x: Tensor, parts: tuple) -> bool:
    """Whether slices leave nothing of ``x`` out: PyTorch writes to x itself then."""
    slices = [p for p in parts if p is not Ellipsis]
    front = len(parts) - parts.index(Ellipsis) - 1 if Ellipsis in parts else 0
    sizes = list(x.array.shape)
    reach = sizes[: len(slices) - front] + (sizes[len(sizes) - front :] if front else [])
    return all(s.indices(n) == (0, n, 1) for s, n in zip(slices, reach, strict=False))


def sizes_method(op: Callable) -> Callable:
    """view(2, 3) and view((2, 3)) alike."""

    def method(self: Tensor, *sizes: Any, **params: Any) -> Any:
        if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
            sizes = tuple(sizes[0])
        return op(self, tuple(sizes), **params) if sizes or not params else op(self, **params)

    return method


def overlap(target: Tensor, *others: Any) -> None:
    """Raise RuntimeFault (E0409) where a write would read, elsewhere, what it has written."""
    if target.meta is None:
        return
    for other in others:
        if (
            isinstance(other, Tensor)
            and other.meta is not None
            and other.meta.version is target.meta.version
            and not _same_places(target.array, other.array)
            and _dense(target.array)
            and _dense(other.array)
            and np.may_share_memory(target.array, other.array)
        ):
            raise RuntimeFault(
                "E0409",
                "unsupported operation: some elements of the input tensor and the written-to "
                "tensor refer to a single memory location.",
                help="Please clone() the tensor before performing the operation.",
            )


def _same_places(a: Any, b: Any) -> bool:
    if a.shape != b.shape or a.strides != b.strides:
        return False
    return a is b or a.__array_interface__["data"] == b.__array_interface__["data"]


def _dense(a: Any) -> bool:
    """Whether entries fill their memory without gaps, in whatever order of dimensions."""
    step = a.itemsize
    for stride, n in sorted(zip(a.strides, a.shape, strict=True)):
        if n != 1:
            if stride != step:
                return False
            step *= n
    return True


def _in_place(op: Operator) -> Callable:
    def method(self: Tensor, *args: Any, **params: Any) -> Tensor:
        bound, params = op.bind((self, *args), params)
        overlap(self, *bound[1:])
        return write_result(self, op, *bound[1:], **params)

    return method


def _augmented(op: Operator) -> Callable:
    def method(self: Tensor, other: Any) -> Tensor:
        try:
            overlap(self, other)
            return write_result(self, op, other)
        except TypeFault:
            if other is None or isinstance(other, str | list | tuple | dict | set):
                return NotImplemented  # Python says that += is not for these two
            raise

    return method


def _commuted(op: Operator) -> Callable:
    def method(self: Tensor, other: Any) -> Any:
        return op(other, self)

    return method


def _view(self: Tensor, *sizes: Any) -> Tensor:
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        sizes = tuple(sizes[0])
    out = FUNCTIONS["reshape"](self, tuple(sizes))
    if self.array.ndim and self.array.size and not np.may_share_memory(out.array, self.array):
        raise RuntimeFault(
            "E0306",
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
        )
    return out


def _repeat(self: Tensor, *repeats: Any) -> Tensor:
    """The tensor repeated along each dimension. Raises RuntimeFault (E0306) for too few of them."""
    if len(repeats) == 1 and isinstance(repeats[0], tuple | list):
        repeats = tuple(repeats[0])
    if len(repeats) < self.array.ndim:
        raise RuntimeFault(
            "E0306",
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor",
            help="x.tile(...) takes fewer",
        )
    sizes = (1,) * (len(repeats) - self.array.ndim) + self.array.shape
    if repeats and min(repeats) < 0:
        shape = [r * n for r, n in zip(repeats, sizes, strict=True)]
        raise RuntimeFault(
            "E0306", f"Trying to create tensor with negative dimension {min(shape)}: {shape}"
        )
    return FUNCTIONS["tile"](self, tuple(repeats))


def _one_more(self: Tensor, dim: int) -> Tensor:
    """A dimension of size 1 put in at ``dim``."""
    return FUNCTIONS["unsqueeze"](self, dim)


def _exchanged(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    return FUNCTIONS["transpose"](self, dim0, dim1)


def _t(self: Tensor) -> Tensor:
    if self.array.ndim > 2:
        raise RuntimeFault(
            "E0305",
            f"t() expects a tensor with <= 2 dimensions, but self is {self.array.ndim}D",
            help="x.mT exchanges the last two",
        )
    # PyTorch gives a vector a node of its own here too.
    turned = FUNCTIONS["mT"](self) if self.array.ndim == 2 else FUNCTIONS["reverse_dims"](self)
    return called(turned, "TBackward0")


def _where(self: Tensor, condition: Any, other: Any) -> Tensor:
    return FUNCTIONS["where"](condition, self, other)


def _contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    return self if self.is_contiguous() else self.clone()


def _conjugate_transpose(self: Any) -> Any:
    if len(self.shape) not in (0, 2):
        raise RuntimeFault(
            "E0305",
            "tensor.H is only supported on matrices (2-D tensors). Got "
            f"{len(self.shape)}-D tensor.",
            help="For batches of matrices, consider using tensor.mH",
        )
    return self.t().conj()


def _zero(self: Tensor) -> Tensor:
    set_item(self, Ellipsis, 0, True)
    return _written(self, "ZeroBackward0")


def _fill(self: Tensor, value: Any) -> Tensor:
    set_item(self, Ellipsis, value, True)
    return _written(self, "FillBackward2")


def _copy(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    if src is self and 0 in self.array.strides:
        return rewrite(self)  # one place in memory may not be written twice, but this changes none
    overlap(self, src)
    set_item(self, Ellipsis, src)
    return _written(self, "CopyBackwards")


def _written(self: Tensor, name: str) -> Tensor:
    """``self`` after a write, named as PyTorch names it; a view's write is its base's."""
    is_view = self.meta is not None and self.meta.base is not None
    return self if is_view else called(self, name)


def install() -> None:
    """Give Tensor its operators and methods."""
    Tensor.__gradcli_apply__ = staticmethod(apply)
    for op in OPERATORS.values():
        if op.name in _NO_METHOD or op.variadic:
            continue
        for name in (op.name, *op.aliases):
            setattr(Tensor, name, FUNCTIONS[op.name])
            if op.dtypes in ("float", "promote") or op.name in (
                "relu",
                "abs",
                "floor",
                "ceil",
                "round",
            ):
                setattr(Tensor, f"{name}_", _in_place(op))
    for sign, op in by_sign().items():
        if sign in MIRRORED:
            setattr(Tensor, f"__{op.name}__", _compare(op))
            continue
        if op.dtypes == "keep":  # & | ^ of truths: those of bits are the methods
            continue
        word = METHODS[sign]
        steps = op.kind == "constant"
        forward = FUNCTIONS[op.name] if steps else method(op, symbol=True)
        reverse = _commuted(op) if steps else method(op, reverse=True)
        setattr(Tensor, f"__{word}__", forward)
        setattr(Tensor, f"__r{word}__", reverse)
        if op.entrywise:
            setattr(Tensor, f"__i{word}__", _augmented(op))
    Tensor.T = property(FUNCTIONS["reverse_dims"], doc="All dimensions in reverse order.")
    Tensor.mT = property(FUNCTIONS["mT"], doc="The last two dimensions exchanged.")
    Tensor.__neg__ = Tensor.neg
    Tensor.__pos__ = lambda self: self
    Tensor.__abs__ = Tensor.abs
    Tensor.__getitem__ = _getitem
    Tensor.__setitem__ = _setitem
    Tensor.reshape = sizes_method(FUNCTIONS["reshape"])
    Tensor.view = _view
    Tensor.expand = sizes_method(FUNCTIONS["expand"])
    Tensor.permute = sizes_method(FUNCTIONS["permute"])
    Tensor.repeat = _repeat
    Tensor.flip = sizes_method(FUNCTIONS["flip"])
    Tensor.unsqueeze = _one_more
    Tensor.transpose = Tensor.swapaxes = _exchanged
    _one_more.__name__ = _one_more.__qualname__ = "unsqueeze"
    _exchanged.__name__ = _exchanged.__qualname__ = "transpose"
    Tensor.flatten = flatten
    Tensor.t = _t
    Tensor.max = extreme_method("max")
    Tensor.min = extreme_method("min")
    Tensor.where = _where
    Tensor.zero_ = _zero
    Tensor.fill_ = _fill
    Tensor.copy_ = _copy
    Tensor.contiguous = _contiguous
    Tensor.H = property(_conjugate_transpose, doc="The conjugate transpose of a matrix.")


def _compare(op: Operator) -> Callable:
    compute = op.compute

    def method(self: Tensor, other: Any) -> Any:
        kind = other.__class__
        if kind is not float and kind is not int and kind is not Tensor and other is None:
            return NotImplemented
        if not self.array.ndim and (kind is float or kind is int) and self.dtype.kind < 3:
            return _truth(compute(self.array, other))
        if isinstance(other, str | list | tuple):
            return NotImplemented
        return op(self, other)

    return method


def _truth(value: Any) -> Tensor:
    from gradcli.engine.dtypes import bool_
    from gradcli.engine.tensor.tensor import wrap

    return wrap(value, bool_)


install()
