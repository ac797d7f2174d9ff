"""What can be asked of a tensor without touching its numbers: shape, element type, memory."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.source_location import warn
from gradcli.engine.undo_log import owner_of
from gradcli.ops.dims import some_dim
from gradcli.ops.errors import bad_dtype, bad_type
from gradcli.ops.torch_messages import not_a

_new = tuple.__new__


class Size(tuple[Any, ...]):
    """A shape that prints as PyTorch's: ``gradcli.Size([2, 3])``."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        """The size of ``sizes``. Raises TypeFault (E0303) for what is no whole number."""
        whole: list[int] = []
        for n in sizes:
            try:
                whole.append(int(operator.index(n)))
            except TypeError:
                raise bad_type(
                    f"torch.Size() takes an iterable of 'int' (item {len(whole)} is "
                    f"'{type(n).__name__}')",
                    help="write torch.Size([2, 3])",
                ) from None
        return tuple.__new__(Size, whole)

    def __repr__(self) -> str:
        return f"gradcli.Size({list(self)})"

    def __add__(self, other: tuple[Any, ...]) -> Size:
        if not isinstance(other, tuple):
            given = type(other).__name__
            raise bad_type(f"can only concatenate tuple (not {given}) to gradcli.Size")
        return tuple.__new__(Size, tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        if not isinstance(other, tuple):  # Python extends a list by it then
            return NotImplemented
        return tuple.__new__(Size, tuple.__add__(other, self))

    def __mul__(self, times: Any) -> Size:
        return tuple.__new__(Size, tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return tuple.__new__(Size, found) if isinstance(index, slice) else found

    def numel(self) -> int:
        """How many entries a tensor of this shape has."""
        return math.prod(self)


def placed(array: Any) -> tuple[Any, Any]:
    """The memory that ``array`` lies in, and its place there: None where it is a copy, alone."""
    whole = owner_of(array)
    if not isinstance(whole, np.ndarray) or not whole.flags.aligned:
        return np.array(array)[()], None
    flat = whole.ravel("K")  # a copy where it has gaps, in whatever order its axes lie
    first = whole.__array_interface__["data"][0]
    if flat.__array_interface__["data"][0] != first:
        return np.array(array)[()], None
    start = array.__array_interface__["data"][0] - first
    return flat, (array.shape, array.dtype, start, array.strides)


def at_place(whole: Any, place: Any) -> Any:
    """The array at a place that ``placed`` tells, in that memory or in a copy of it."""
    if place is None:
        return whole
    shape, dtype, start, strides = place
    return np.ndarray(shape, dtype, whole.ravel("A").view(np.uint8), start, strides)


def twin(array: Any, memo: dict[Any, Any]) -> Any:
    """A copy of ``array``, within the one copy of its memory that ``memo`` holds."""
    whole, place = placed(array)
    if place is not None:
        key = "twin", whole.__array_interface__["data"][0]
        _, whole = memo.setdefault(key, (whole, whole.copy()))
    return at_place(whole, place)


class Storage:
    """The memory that a tensor and its views share."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray) -> None:
        self.array: np.ndarray = owner_of(array)

    def __deepcopy__(self, memo: dict[Any, Any]) -> Storage:
        out = copy.copy(self)
        out.array = owner_of(twin(self.array, memo))
        return out

    def data_ptr(self) -> int:
        """The address of its first byte."""
        return int(self.array.__array_interface__["data"][0])

    def nbytes(self) -> int:
        """How many bytes it has."""
        return self.array.nbytes

    size = __len__ = nbytes

    def entries(self, dtype: dtypes.DType) -> np.ndarray:
        """As many entries of a type as it has room for, in the order in which they lie there."""
        flat = self.array.ravel(order="K").view(np.uint8)
        return flat[: flat.size - flat.size % dtype.itemsize].view(dtype.numpy)


class TypedStorage(Storage):
    """The same memory, counted in entries of one type."""

    __slots__ = ("dtype",)

    def __init__(self, array: np.ndarray, dtype: dtypes.DType) -> None:
        super().__init__(array)
        self.dtype = dtype

    def size(self) -> int:
        """How many entries it has."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def entries(self, dtype: dtypes.DType) -> np.ndarray:
        """Its entries. Raises RuntimeFault (E0309) where another type than its own is asked for."""
        if dtype is not self.dtype:
            said = f"Expected a Storage of type {dtype.scalar_name} or an UntypedStorage"
            raise bad_dtype(f"{said}, but got {self.dtype.scalar_name}")
        return super().entries(dtype)

    def __getitem__(self, index: Any) -> Any:
        return self.entries(self.dtype)[index].tolist()

    def tolist(self) -> list[Any]:
        """All entries, as they lie there."""
        return self[:]  # type: ignore[no-any-return]


class Facts:
    """The part of Tensor that answers such questions."""

    __slots__ = ()
    array: np.ndarray
    own_array: Callable[[], np.ndarray]
    dtype: dtypes.DType
    if not TYPE_CHECKING:  # to be read alone, in half the time of a function
        dtype = property(operator.attrgetter("_dtype"), doc="The element type.")

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return _new(Size, self.array.shape)

    def size(self, dim: int | None = None) -> Size | int:
        """The shape, or the size of one dimension."""
        if dim is None:
            return self.shape
        return int(self.array.shape[some_dim(dim, self.array.ndim)])

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.array.ndim

    @property
    def device(self) -> Any:
        """Where the numbers are: ``cpu`` or ``cuda:0``; equal to its name."""
        if isinstance(self.array, np.ndarray | np.generic):
            return dtypes.CPU
        return dtypes.Device(f"cuda:{self.array.device.id}")

    def dim(self) -> int:
        """The number of dimensions."""
        return self.array.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of entries."""
        return self.array.size

    nelement = numel

    @property
    def is_cuda(self) -> bool:
        """Whether the numbers are in the memory of a GPU."""
        return not isinstance(self.array, np.ndarray | np.generic)

    is_cpu = property(lambda self: not self.is_cuda, doc="Whether the numbers are not there.")
    is_sparse = property(lambda self: False, doc="Whether entries are stored sparsely: never.")

    def get_device(self) -> int:
        """The number of the GPU, -1 for the CPU."""
        array: Any = self.array
        return int(array.device.id) if self.is_cuda else -1

    @property
    def layout(self) -> Any:
        """How entries lie in memory: always with strides."""
        return dtypes.strided

    @property
    def itemsize(self) -> int:
        """Bytes per entry."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all entries."""
        return self.array.size * self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first entry."""
        return int(self.own_array().__array_interface__["data"][0])

    def untyped_storage(self) -> Storage:
        """The memory that this tensor shares with its views."""
        return Storage(self.own_array())

    def storage(self) -> TypedStorage:
        """``untyped_storage()`` as entries of this tensor's type."""
        return TypedStorage(self.own_array(), self.dtype)

    def is_set_to(self, tensor: Any) -> bool:
        """Whether another tensor shows the same entries of the same memory, in the same shape."""
        if not isinstance(tensor, Facts):
            raise not_a("Tensor", "is_set_to", "tensor", 1, tensor)
        one, other = self.own_array(), tensor.own_array()
        here = (a.__array_interface__["data"][0] for a in (one, other))
        return one.shape == other.shape and one.strides == other.strides and len({*here}) == 1

    @property
    def volatile(self) -> bool:
        """False: how graphs were turned off before ``no_grad``."""
        warn("volatile was removed (Variable.volatile is always False)")
        return False

    def is_complex(self) -> bool:
        """Whether entries are complex numbers."""
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether entries may be negative."""
        return self.dtype.is_signed

    def element_size(self) -> int:
        """Bytes per entry."""
        return self.dtype.itemsize

    def is_floating_point(self) -> bool:
        """Whether entries are real floating-point numbers."""
        return self.dtype.is_floating_point

    def is_contiguous(self, *, memory_format: Any = None) -> bool:
        """Whether entries lie in memory in row order, without gaps.

        With ``channels_last`` for images, the channels innermost.
        """
        array = self.array
        if memory_format is None:
            return bool(array.flags.c_contiguous)
        rank = {dtypes.channels_last: 4, dtypes.channels_last_3d: 5}.get(memory_format, 0)
        if not rank and not isinstance(memory_format, dtypes.Layout):
            raise not_a("torch.memory_format", "is_contiguous", "memory_format", 1, memory_format)
        if rank:
            inner = (0, *range(2, rank), 1)
            return bool(array.ndim == rank and array.transpose(inner).flags.c_contiguous)
        return bool(array.flags.c_contiguous)

    def stride(self) -> tuple[int, ...]:
        """Steps between neighbours along each dimension, in entries."""
        return tuple(s // self.dtype.itemsize for s in self.array.strides)


Size.__module__ = "gradcli"  # what type(x.shape) shows: where users find it
