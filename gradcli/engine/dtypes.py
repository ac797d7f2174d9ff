"""Element types under PyTorch's names, and PyTorch's promotion between them.

A tensor with dimensions decides within its kind (bool < int < float < complex); 0-d tensors and
Python numbers only raise the kind. So float32 vector * float64 scalar stays float32, and an int
tensor * 2.5 becomes the default float type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from math import inf
from operator import index as as_index
from typing import Any

import numpy as np

from gradcli.ops.errors import RuntimeFault, TypeFault, ValueFault, bad_dtype
from gradcli.ops.operator import plain_number
from gradcli.ops.torch_messages import SCALARS


class DType:
    """One element type; ``gradcli.float32`` and the like are the only instances."""

    __slots__ = ("itemsize", "kind", "name", "numpy", "quick")

    def __init__(self, name: str) -> None:
        self.name = name
        self.numpy = np.dtype(name)
        self.itemsize = self.numpy.itemsize
        self.kind = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}[self.numpy.kind]
        self.quick = self.kind == 2 and name != "float16"
        """Real floating point: arithmetic among equals needs no promotion, conjugation, check."""

    def __repr__(self) -> str:
        return f"gradcli.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    @property
    def family(self) -> str:
        """``"bool"``, ``"int"``, ``"half"``, ``"float"`` or ``"complex"``; half is float16."""
        return ("bool", "int", "half" if self.itemsize == 2 else "float", "complex")[self.kind]

    @property
    def computed(self) -> DType:
        """The type in which PyTorch's kernels compute and hold numbers: float32 for halves."""
        return float32 if self is float16 else self

    @property
    def scalar_name(self) -> str:
        """What PyTorch's messages call it: ``"Float"``, ``"Long"``."""
        return SCALARS[self.name]

    @property
    def c_name(self) -> str:
        """What PyTorch's C++ calls it, where that shows in messages."""
        return _C_NAMES[self.name]

    @property
    def is_floating_point(self) -> bool:
        """Whether entries are real floating-point numbers."""
        return self.kind == 2

    @property
    def is_signed(self) -> bool:
        """Whether entries may be negative."""
        return self.numpy.kind not in "ub"

    @property
    def is_complex(self) -> bool:
        """Whether entries are complex numbers."""
        return self.kind == 3

    @property
    def differentiable(self) -> bool:
        """Whether a tensor of this type may require a gradient."""
        return self.kind >= 2

    def entry(self, value: Any) -> Any:
        """A Python number as an entry of this type: 2.7 is 2 among whole numbers.

        Raises RuntimeFault (E0309) where there is no room for it; unsigned types count -1 from the
        top.
        """
        if not self.kind:
            return bool(value)
        fits = True
        if value.__class__ is complex and self.kind < 3:
            fits, value = not value.imag, value.real
        if self.kind == 1:
            low, high = bounds(self)
            fits = fits and (low if value.__class__ is float else low or -high) <= value <= high
        elif self.kind == 2 and self.itemsize < 8:
            fits = fits and not bounds(self)[1] < abs(value) < inf
        elif self is complex64:
            fits = all(not bounds(float32)[1] < abs(v) < inf for v in (value.real, value.imag))
        if not fits:
            held = _HELD.get(self.name, self.c_name)
            said = f"value cannot be converted to type {held} without overflow"
            raise bad_dtype(said, help="write a number that the element type can hold")
        if self.kind == 1:
            return self.wrapped(int(value))
        return float(np.float16(value)) if self is float16 else value

    def wrapped(self, value: int) -> int:
        """A whole number as its last bits in a type of whole numbers."""
        low, high = bounds(self)
        return int((value - low) % (high - low + 1) + low)


_DEVICES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, "
    "mps, meta, hpu, mtia, privateuseone"
)


class Device(str):
    """Where numbers are: a name such as ``"cpu"`` or ``"cuda:0"``, or ``type`` and ``index``."""

    __slots__ = ()

    def __new__(cls, type: str, index: int | None = None) -> Device:
        """The device of that name. Raises RuntimeFault (E0905) for one that PyTorch has not."""
        if not isinstance(type, str | int):
            raise TypeFault("E0303", f"device(): type must be a str, not {type!r}", help="'cpu'")
        if index is not None and as_index(index) < 0:
            raise RuntimeFault("E0905", "Device index must not be negative")
        kind, colon, number = str(type).partition(":")
        if kind not in _DEVICES.split(", "):
            raise no_device_name(str(type))
        if colon and (number != str(int(number)) if number.isdecimal() else True):
            raise RuntimeFault("E0905", f"Invalid device string: '{type}'", help=f"{kind}:0")
        return super().__new__(cls, type if index is None else f"{type}:{index}")

    def __repr__(self) -> str:
        return f"device(type='{self.type}'{f', index={self.index}' if ':' in self else ''})"

    @property
    def type(self) -> str:
        """``"cpu"`` or ``"cuda"``."""
        return self.partition(":")[0]

    @property
    def index(self) -> int | None:  # type: ignore[override]  # PyTorch's name for it
        """The number of the device, where it has one."""
        return int(self.partition(":")[2]) if ":" in self else None

    def __enter__(self) -> Device:
        """Tensors are made there inside ``with``. Raises RuntimeFault (E0905) unless it is cpu."""
        if self.type != "cpu":
            raise RuntimeFault("E0905", f"no tensors are made on {self!s} by with", help="cpu")
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to take back."""


CPU = Device("cpu")


class Layout:
    """How entries lie in memory. A name that functions accept: here they lie as NumPy has them."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"gradcli.{self.name}"

    def __reduce__(self) -> str:
        return self.name


strided = Layout("strided")
contiguous_format, preserve_format, channels_last, channels_last_3d = (
    Layout(_name)
    for _name in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
)

float64 = double = DType("float64")
float32 = DType("float32")
float16 = half = DType("float16")
int64 = long = DType("int64")
int32 = DType("int32")
int16 = short = DType("int16")
int8 = DType("int8")
uint8 = DType("uint8")
bool_ = DType("bool")
complex64 = cfloat = DType("complex64")
complex128 = cdouble = DType("complex128")

ALL = (float64, float32, float16, int64, int32, int16, int8, uint8, bool_, complex64, complex128)
BY_NAME = {d.name: d for d in ALL} | {
    "double": float64, "float": float32, "half": float16, "long": int64, "int": int32,
    "short": int16, "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip
_C_NAMES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "int64": "long int",
    "int32": "int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char",
    "bool": "bool", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip
_HELD = {"int64": "int64_t", "int16": "int16_t", "int8": "int8_t", "uint8": "uint8_t"}
"""The same where a number has to fit."""
BY_TENSOR = {f"{SCALARS[d.name]}Tensor": d for d in ALL}
"""Dtypes by the names of PyTorch's typed tensors, which ``x.type()`` gives."""


@cache
def bounds(dtype: DType) -> tuple[Any, Any]:
    """The least and the greatest number of a real type."""
    if dtype.kind < 2:
        info = np.iinfo(dtype.numpy if dtype.kind else np.uint8)
        return int(info.min), int(info.max) if dtype.kind else 1
    return float(np.finfo(dtype.numpy).min), float(np.finfo(dtype.numpy).max)


_BY_NUMPY = {d.numpy: d for d in ALL}
_BY_TYPE = {float: float64, int: int64, bool: bool_, complex: complex128}

_default: ContextVar[DType] = ContextVar("default dtype", default=float32)


def get_default_dtype() -> DType:
    """The type of a tensor made from Python floats: float32 unless this thread changed it."""
    return _default.get()


def set_default_dtype(dtype: Any) -> None:
    """Set the type of tensors made from Python floats, in this thread. Raises TypeFault (E0309)."""
    dtype = to_dtype(dtype)
    if not dtype.is_floating_point:
        said = "only floating-point types are supported as the default type"
        raise TypeFault("E0309", f"{said}, not {dtype}", help="use float32 or float64", torch=said)
    _default.set(dtype)


@contextmanager
def default_dtype(dtype: DType) -> Iterator[None]:
    """A block in which tensors made from Python floats have this type."""
    before = _default.get()
    _default.set(dtype)
    try:
        yield
    finally:
        _default.set(before)


def is_name(text: str) -> bool:
    """Whether text names a dtype as ``x.type()`` does."""
    return text.rpartition(".")[2] in BY_TENSOR


def no_device_name(text: str) -> RuntimeFault:
    """The error of ``x.to("foo")``."""
    said = f"Expected one of {_DEVICES} device type at start of device string: "
    wrong = f"{text!r} is no device; a dtype is written without quotes"
    said += text.partition(":")[0]
    return RuntimeFault("E0905", wrong, help="one of cpu, cuda", torch=said)


def to_dtype(dtype: Any) -> DType:
    """The DType for a DType, a name, a Python type or a NumPy type. Raises TypeFault (E0309)."""
    if dtype.__class__ is DType:
        return dtype
    if isinstance(dtype, str):
        name = dtype.rpartition(".")[2]
        found = BY_NAME.get(name) or BY_TENSOR.get(name)
        if found is not None:
            return found
    if dtype.__class__ is type and dtype in _BY_TYPE:
        return _BY_TYPE[dtype]
    typed = getattr(dtype, "dtype", None)
    if typed.__class__ is DType and callable(dtype):  # a typed constructor, such as DoubleTensor
        return typed
    typed = dtype if isinstance(dtype, type | np.dtype | str) else object
    try:
        return _BY_NUMPY[np.dtype(typed)]
    except (TypeError, ValueError, KeyError):
        shown = f"a {type(dtype).__name__}" if callable(dtype) else repr(dtype)
        raise TypeFault(
            "E0309", f"{shown} is not a dtype", help=f"one of {', '.join(d.name for d in ALL)}"
        ) from None


def dtype_of(array: Any) -> DType:
    """The DType of a NumPy (or CuPy) array or scalar. Raises TypeFault for strings and objects."""
    try:
        return _BY_NUMPY[array.dtype]
    except KeyError:
        kind = f"numpy.{array.dtype.type.__name__}"
        said = f"can't convert np.ndarray of type {kind}. The only supported types are: "
        said += f"{', '.join(_TAKEN)}, and bool."
        wrong = f"cannot make a tensor of {array.dtype} entries"
        if not array.dtype.isnative:
            said = "given numpy array has byte order different from the native byte order."
            raise ValueFault("E0309", wrong, help="write a.astype(float)", torch=said) from None
        raise TypeFault("E0309", wrong, help="numbers and booleans only", torch=said) from None


_TAKEN = (
    "float64", "float32", "float16", "complex64", "complex128", "int64", "int32", "int16", "int8",
    "uint64", "uint32", "uint16", "uint8",
)  # fmt: skip
"""What PyTorch takes of NumPy's types, in the order of its message."""


def number_dtype(value: Any) -> DType:
    """The DType that a Python number counts as."""
    kind = value.__class__
    if kind is float:
        return _default.get()
    if kind is bool:
        return bool_
    if kind is int:
        return int64
    if isinstance(value, np.generic):
        return number_dtype(value.item())
    if isinstance(value, int | float):
        return number_dtype(plain_number(value))
    if not isinstance(value, complex):
        raise TypeFault("E0303", f"a {kind.__name__} is no number")
    return complex128 if _default.get() is float64 else complex64


def promote(a: DType, b: DType) -> DType:
    """The smallest type that both turn into, kind by kind."""
    if a is b:
        return a
    if a.kind != b.kind:
        high, low = (a, b) if a.kind > b.kind else (b, a)
        return complex128 if low is float64 else high  # only complex numbers are above it
    return _BY_NUMPY[np.promote_types(a.numpy, b.numpy)]


def result_type(operands: Iterable[tuple[DType, int]]) -> DType:
    """The type that operands of (dtype, rank) meet in.

    Rank 2 has dimensions, 1 is 0-d, 0 a number.
    """
    by_rank: list[DType | None] = [None, None, None]
    for dtype, rank in operands:
        have = by_rank[rank]
        by_rank[rank] = dtype if have is None else promote(have, dtype)
    low = _raise_kind(by_rank[1], by_rank[0])
    return _raise_kind(by_rank[2], low) or _default.get()


def meeting(*values: Any) -> DType:
    """The type that tensors, arrays and Python numbers meet in."""
    return result_type(
        (number_dtype(v), 0)
        if isinstance(v, np.generic) or not hasattr(v, "dtype")
        else (to_dtype(v.dtype), 2 if v.ndim else 1)
        for v in values
    )


def _raise_kind(strong: DType | None, weak: DType | None) -> DType | None:
    if strong is None or weak is None:
        return strong or weak
    if weak.kind <= strong.kind:
        return strong
    if weak.kind == 3 and strong.kind == 2:
        return complex128 if strong is float64 else complex64
    return weak


def _no_text(dtype: Any) -> DType:
    """The DType for a type. Raises TypeFault (E0309) for the name of one."""
    if isinstance(dtype, str):
        raise TypeFault("E0309", f"a dtype is wanted here, not {dtype!r}", help="write float32")
    return to_dtype(dtype)


def promote_types(type1: Any, type2: Any) -> DType:
    """The smallest dtype that two turn into: ``promote_types(int32, float16)`` is float16."""
    return promote(_no_text(type1), _no_text(type2))


def can_cast(from_: Any, to: Any) -> bool:
    """Whether a conversion keeps the kind of number: integers may become floats, not back."""
    return _no_text(from_).kind <= _no_text(to).kind


# What type(x.dtype) and type(x.device) show: where users find them.
DType.__module__ = Device.__module__ = "gradcli"
DType.__name__ = DType.__qualname__ = "dtype"
Device.__name__ = Device.__qualname__ = "device"


_OTHER = "gradcli.{0}() requires {1} input type. Use gradcli.{2} to handle 'gradcli.{0}'"


class finfo:
    """The range and the precision of a floating-point type; the default dtype's without one.

    Raises TypeFault (E0309) for a type of whole numbers.

    Example:
        >>> import gradcli
        >>> finfo(gradcli.float32).eps
        1.1920928955078125e-07
    """

    def __init__(self, type: Any = None) -> None:
        of = get_default_dtype() if type is None else _no_text(type)
        if of.kind < 2:
            mend = "iinfo() says the range of whole numbers"
            raise TypeFault("E0309", _OTHER.format("finfo", "a floating point", "iinfo"), help=mend)
        real = np.empty(0, of.numpy).real.dtype
        info = np.finfo(real)
        self.bits = info.bits
        self.dtype = real.name
        self.eps, self.min, self.max = float(info.eps), float(info.min), float(info.max)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = float(info.resolution)

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        shown = ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        return f"finfo({shown}, dtype={self.dtype})"


class iinfo:
    """The range of a type of whole numbers. Raises TypeFault (E0309) for another.

    Example:
        >>> import gradcli
        >>> iinfo(gradcli.int8).max
        127
    """

    def __init__(self, type: Any) -> None:
        of = _no_text(type)
        if of.kind != 1:
            mend = "finfo() says the range of floating-point numbers"
            raise TypeFault("E0309", _OTHER.format("iinfo", "an integer", "finfo"), help=mend)
        info = np.iinfo(of.numpy)
        self.bits, self.min, self.max, self.dtype = info.bits, info.min, info.max, of.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
