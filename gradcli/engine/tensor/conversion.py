"""Tensors as something else: other element types and devices, Python numbers, NumPy arrays, text.

``x.to(float64)``, ``x.double()``, ``x.item()``, ``x.tolist()``, ``x.numpy()``, ``repr(x)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.dtypes import DType
from gradcli.engine.grad_mode import mode, shown_inside, transformed
from gradcli.engine.graph.own_passes import own_edge
from gradcli.engine.source_location import warn, warn_once
from gradcli.engine.undo_log import note_write, undo
from gradcli.ops import OPERATORS
from gradcli.ops.dims import format_order, suggested_format
from gradcli.ops.errors import RuntimeFault, TypeFault, ValueFault, bad_argument, bad_type
from gradcli.ops.torch_messages import not_a


def no_array() -> RuntimeFault:
    """The error of asking for the array of a value of a transform."""
    said = "Cannot access data pointer of Tensor that doesn't have storage"
    mend = "compute with tensors; a custom Function's forward may use arrays"
    return RuntimeFault("E0412", said, help=mend)


def _as(name: str, dtype: Any) -> Any:
    def method(self: Any, *, memory_format: Any = None) -> Any:
        return self.to(dtype, memory_format=memory_format)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"As {dtype.name}."
    return method


def tell_of_lost_parts(given: DType, wanted: DType) -> None:
    """Warn, once, that imaginary parts are lost where complex numbers become real ones."""
    if given.kind == 3 and 0 < wanted.kind < 3:
        warn_once("Casting complex values to real discards the imaginary part")


def warn_of_float() -> None:
    """Warn that a number which ``float`` makes leads no gradient. Not of ``int``: there it is 0."""
    warn(
        "float() of a tensor gives a number, and no gradient or tangent comes back: compute with "
        "the tensor, or write x.detach()"
    )


class Conversions:
    """The part of Tensor that converts."""

    __slots__ = ()
    array: Any
    dtype: dtypes.DType
    device: Any
    shape: Any

    def to(
        self,
        *wanted: Any,
        dtype: Any = None,
        device: Any = None,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: Any = None,
    ) -> Any:
        """This tensor with another element type; itself where that changes nothing.

        Takes a dtype, a device, both, or another tensor to be like.
        """
        if memory_format is not None and memory_format.__class__ is not dtypes.Layout:
            raise not_a("torch.memory_format", "to", "memory_format", 1, memory_format)
        first, *flags = wanted or (None,)
        if wanted and device is not None:
            raise _no_overload(wanted)
        if first is None or _is_device(first):
            device = device if first is None else first
            if flags:  # ``to(device, dtype, non_blocking, copy)``
                second = flags.pop(0)
                if isinstance(second, bool | Conversions) or None is not dtype is not second:
                    raise _no_overload(wanted)
                dtype = dtype if second is None else second
        elif dtype is not None:
            raise _no_overload(wanted)
        else:
            dtype = first.dtype if isinstance(first, Conversions) else first
        flags += (non_blocking, copy)[len(flags) :]
        if len(flags) > 2 or any(flag.__class__ is not bool for flag in flags):
            raise _no_overload(wanted)
        if device is not None and str(device) not in (self.device, f"{self.device}:0"):
            if not isinstance(device, str | int | dtypes.Device) or device is True:
                raise not_a("torch.device", "to", "device", 1, device)
            mend = "use cpu, or install gradcli[cuda]"
            raise RuntimeFault("E0905", f"no device {str(device)!r} here", help=mend)
        if isinstance(dtype, str):
            raise dtypes.no_device_name(dtype)
        target = self.dtype if dtype is None else dtypes.to_dtype(dtype)
        tell_of_lost_parts(self.dtype, target)
        found: Any = self if target is self.dtype else OPERATORS["cast"](self, target.numpy)
        if memory_format is not None and memory_format is not dtypes.preserve_format:
            format_order(memory_format, len(self.shape))
            lies = getattr(found, "own_array", None)  # a value of a transform is laid out anew
            turned = lies is None or suggested_format(lies()) != memory_format.name
            if flags[1] or turned or found is not self:
                return OPERATORS["clone"](found, memory_format)
        return OPERATORS["clone"](self) if flags[1] and found is self else found

    def type(self, dtype: Any = None) -> Any:
        """The same as ``to``; without a dtype, the name of this tensor's type."""
        if isinstance(dtype, type) and issubclass(dtype, Conversions):
            dtype = dtypes.get_default_dtype()
        if isinstance(dtype, str) and not dtypes.is_name(dtype):
            raise bad_argument(f"invalid type: {dtype!r}")
        if isinstance(dtype, Conversions):
            raise bad_type("dtype must be a type, str, or dtype object")
        if dtype is not None:
            return self.to(dtypes.to_dtype(dtype))
        return f"gradcli.{self.dtype.scalar_name}Tensor"

    def type_as(self, other: Any) -> Any:
        """This tensor with another tensor's element type."""
        return self.to(other.dtype)

    float = _as("float", dtypes.float32)
    double = _as("double", dtypes.float64)
    long = _as("long", dtypes.int64)
    int = _as("int", dtypes.int32)
    bool = _as("bool", dtypes.bool_)
    half = _as("half", dtypes.float16)
    short = _as("short", dtypes.int16)
    char = _as("char", dtypes.int8)
    byte = _as("byte", dtypes.uint8)
    cfloat = _as("cfloat", dtypes.complex64)
    cdouble = _as("cdouble", dtypes.complex128)

    def __reversed__(self) -> Any:
        return OPERATORS["flip"](self, (0,)) if self.shape else self

    def to_sparse(  # int and bool are methods here
        self,
        sparse_dim: int | None = None,  # type: ignore[valid-type]
        *,
        layout: Any = None,
        blocksize: Any = None,
        dense_dim: int | None = None,  # type: ignore[valid-type]
    ) -> Any:
        """This tensor: every tensor has strides here, and a layout changes no entry."""
        return self

    def to_dense(
        self,
        dtype: Any = None,
        *,
        masked_grad: bool | None = None,  # type: ignore[valid-type]
    ) -> Any:
        """This tensor, which is dense."""
        return self if dtype is None else self.to(dtype)


def _is_device(value: Any) -> bool:
    return isinstance(value, dtypes.Device) or (
        isinstance(value, str) and value.partition(":")[0] in ("cpu", "cuda")
    )


def _no_overload(given: tuple[Any, ...]) -> TypeFault:
    shown = ", ".join(type(g).__name__ for g in given)
    said = f"to() received an invalid combination of arguments - got ({shown})"
    mend = "x.to(dtype), x.to(device, dtype) or x.to(other), then non_blocking and copy"
    return TypeFault("E0302", said, help=mend)


class Numbers:
    """The part of Tensor that gives its numbers away.

    What stands for a tensor inside a transform is a Tensor to ``isinstance``, but none of these.
    """

    __slots__ = ()
    array: Any
    own_array: Callable[[], Any]
    _alias: Callable[[], Any]
    is_leaf: Any
    requires_grad: Any
    unbind: Any
    __getitem__: Any
    dtype: DType
    edge: Any
    detach: Any

    def _numbers(self) -> Any:
        """The array, with whose numbers Python goes on: a trace takes note of that."""
        if transformed.by:
            transformed.taken += 1
        return self.array

    def item(self) -> Any:
        """The one entry as a Python number. Raises RuntimeFault (E0310) for more or fewer."""
        if self.array.size != 1:
            said = f"a Tensor with {self.array.size} elements cannot be converted to Scalar"
            mend = "index one entry, or reduce with sum() or mean()"
            raise RuntimeFault("E0310", said, help=mend)
        return self._numbers().item()

    def tolist(self) -> Any:
        """The entries as nested lists of Python numbers; a plain number when 0-d."""
        return self._numbers().tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The array, sharing memory. Raises RuntimeFault (E0404) for a tensor in the graph.

        ``force`` gives the array of such a tensor too, as does the absence of recording: under
        ``no_grad`` and in the forward of a custom function. Raises RuntimeFault (E0412) where it
        is recorded inside a transform that differentiates, which could not see what becomes of it.
        """
        if transformed.by and mode.grad and any(t.since is not None for t in transformed.by):
            raise no_array()
        if self.requires_grad and not force and mode.grad:
            said = "Can't call numpy() on Tensor that requires grad."
            raise RuntimeFault("E0404", f"{said} Use tensor.detach().numpy() instead.")
        self._numbers()
        result: np.ndarray = self.own_array()
        if undo.on and result.flags.writeable:
            note_write(result)  # nobody is told what becomes of it
        return result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype, copy=copy)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What NumPy's ``np.sin(x)`` made, as a tensor; truths are bytes, as in PyTorch."""
        out: Any = self._alias()
        out.array = np.asarray(array, np.uint8) if array.dtype == bool else array
        out._dtype = dtypes.dtype_of(out.array)
        return out

    def __bool__(self) -> bool:
        if self.array.size != 1:
            count = "more than one value" if self.array.size else "no values"
            said = f"Boolean value of Tensor with {count} is ambiguous"
            raise RuntimeFault("E0310", said, help="write (x > 0).all() or (x > 0).any()")
        return bool(self._numbers())

    def is_nonzero(self) -> bool:
        """Whether its one number is not 0. Raises RuntimeFault (E0310) for more of them."""
        return bool(self)

    def _number(self) -> Any:
        if self.array.size != 1:
            said = "only one element tensors can be converted to Python scalars"
            mend = f"this one has {self.array.size}: index one entry, or reduce with sum()"
            raise ValueFault("E0310", said, help=mend)
        return self._numbers().item()

    def __float__(self) -> float:
        if mode.grad and self.requires_grad:
            warn_of_float()
        return float(self._real("double"))

    def __int__(self) -> int:
        return int(self._real("int64_t"))

    def _real(self, wanted: str) -> Any:
        number = self._number()
        if number.imag:
            said = f"value cannot be converted to type {wanted} without overflow"
            raise RuntimeFault("E0310", said, help="take x.real, x.imag or x.abs()")
        return number.real

    def __complex__(self) -> complex:
        if mode.grad and self.requires_grad:
            warn_of_float()
        return complex(self._number())

    def __index__(self) -> int:
        if self.dtype.kind > 1 or self.array.size != 1:
            said = "only integer tensors of a single element can be converted to an index"
            raise TypeFault("E0310", said)
        return int(self._numbers().item())

    def __len__(self) -> int:
        if not self.array.ndim:
            raise TypeFault("E0310", "len() of a 0-d tensor")
        return int(self.array.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if not self.array.ndim:
            raise TypeFault("E0310", "iteration over a 0-d tensor")
        if mode.rebinds and self.array.ndim == 1:  # a number is read when its turn comes
            return map(self.__getitem__, range(len(self)))
        return iter(self.unbind(0))

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, Numbers | int | float | complex | np.generic | np.ndarray):
            said = "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            raise RuntimeFault("E0303", f"{said}{type(value)}.")
        sought = value._numbers() if isinstance(value, Numbers) else value
        return bool((self._numbers() == sought).any())

    def __format__(self, spec: str) -> str:
        if not self.array.ndim:
            return format(self.item(), spec)
        if spec:
            said = "a format such as :.4f needs a single number, not a tensor with dimensions"
            raise bad_type(said, torch="unsupported format string passed to Tensor.__format__")
        return repr(self)

    def __repr__(self) -> str:
        from gradcli.engine.printing import format_tensor  # most commands print no tensor

        node = own_edge(self.edge, self)
        transformed.shown += 1
        if transformed.by and self.edge is not None:
            return shown_inside(repr(self.detach()), {})
        return format_tensor(
            self._numbers(),
            self.dtype.name,
            default_dtype=dtypes.get_default_dtype().name,
            requires_grad=node is not None,
            grad_fn=None if node is None or node.leaf else node.name().rpartition("::")[2],
        )

    __str__ = __repr__
