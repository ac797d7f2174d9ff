"""Making tensors: from data, filled, and ranges; ``sampling`` makes those of random numbers.

``layout`` and ``pin_memory`` are taken for PyTorch's sake: numbers lie in one way here.

Every size is charged against the memory budget before anything is allocated.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation import errors as words
from gradcli.engine.creation import generator as random
from gradcli.engine.dtypes import DType, dtype_of, to_dtype
from gradcli.engine.record.arguments import UNSAID, Number
from gradcli.engine.record.composite import by_element, named, primal
from gradcli.engine.source_location import warn
from gradcli.engine.tensor.attributes import Size, Storage, TypedStorage
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.ops.dims import copied, format_order, in_format, told_apart
from gradcli.ops.errors import (
    OverflowFault,
    RuntimeFault,
    TypeFault,
    UnwrittenFault,
    ValueFault,
    bad_argument,
    bad_dtype,
    bad_shape,
    bad_type,
    bad_value,
)
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS, refuse_derivative
from gradcli.ops.torch_messages import not_a

FUNCTIONS = (
    "arange as_tensor asarray empty empty_like eye from_numpy frombuffer full full_like linspace "
    "logspace ones ones_like scalar_tensor tensor tril_indices triu_indices zeros zeros_like"
)
"""What ``gradcli`` has of this module."""


def tensor(
    data: Any, *, dtype: Any = None, requires_grad: bool = False, device: Any = None,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A leaf made of a copy of ``data``: a number, nested lists, an array or a Tensor.

    Python floats become the default dtype (float32), whole numbers int64, booleans bool; arrays
    keep theirs. Raises ValueFault (E0303) for ragged lists, TypeFault for what is no number.

    Example:
        >>> import gradcli
        >>> gradcli.tensor([[1.0, 2.0], [3.0, 4.0]]).shape
        gradcli.Size([2, 2])
    """
    wanted = None if dtype is None else to_dtype(dtype)
    if isinstance(data, Storage):  # whose memory it is
        typed = isinstance(data, TypedStorage)
        target = wanted or (dtypes.get_default_dtype() if typed else dtypes.int64)
        return finish(data.entries(target), target, requires_grad, device)
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, write x.detach().clone(), or x.clone() where a "
            "gradient is to come back: tensor(x) gives none"
        )
        if not isinstance(data, Plain):  # in a transform
            return OPERATORS["clone"](data.detach()).to(wanted or data.dtype)
        array, found = data.array, data.dtype
    elif isinstance(data, np.ndarray | np.generic):
        array, found = data, dtype_of(data)
    else:
        array, found = _from_lists(data, wanted)
        if wanted is not None and wanted is not found:
            _check_range(array, wanted)
    target = wanted or found
    array = copied(np.asarray(array), target.numpy)
    return finish(array[()] if not array.ndim else array, target, requires_grad, device)


def _check_range(array: Any, target: DType) -> None:
    """Raise RuntimeFault (E0303) where whole numbers have no room for an entry, and TypeFault where
    real ones have none for an imaginary part."""
    if array.dtype.kind == "c" and 0 < target.kind < 3:
        raise TypeFault("E0309", f"complex numbers are no {target.name}", help="take their .real")
    if target.kind == 1 and array.size:
        try:
            for extreme in (array.min(), array.max()):
                target.entry(extreme.item())
        except RuntimeFault:
            raise words.does_not_hold(target.name) from None


_PYTHONS = frozenset((float, int, bool, complex))
"""The classes of Python's own numbers."""


def _from_lists(data: Any, wanted: DType | None = None) -> tuple[np.ndarray, DType]:
    if _is_sequence(data):
        data, cut, kinds = _plain(data)
        if cut:
            warn(
                "tensor() of tensors copies their numbers, and no gradient comes back: write "
                "stack([x, y])"
            )
    else:
        kinds = None
    try:
        array = np.array(data)
    except (ValueError, OverflowError):
        raise words.no_data(data, wanted) from None
    kind = array.dtype.kind
    if kinds is not None and array.dtype != np.uint64:
        return array, kinds
    # NumPy makes floats of whole numbers on both sides of 2**63.
    if not array.size or (kind == "f" and words.has_floats(data)):
        return array, dtypes.get_default_dtype()
    own = {"b": dtypes.bool_, "i": dtypes.int64, "c": dtypes.number_dtype(1j)}.get(kind)
    if own is not None:
        return array, own
    fault = words.no_data(data, wanted)
    if not words.of_wide_numbers(data, fault, wanted is not None and wanted.kind != 1):
        raise fault
    return np.array(data, np.float64), dtypes.get_default_dtype()


def _is_sequence(value: Any) -> bool:
    """Whether its entries are entries of a tensor: a list, or what is read as one is."""
    kind = value.__class__
    if kind in _PYTHONS or isinstance(value, list | tuple):
        return kind not in _PYTHONS
    if isinstance(value, str | bytes | dict | Tensor) or hasattr(value, "__array__"):
        return False
    return hasattr(value, "__len__") and hasattr(value, "__getitem__")


def _plain(data: Any) -> tuple[list[Any], bool, DType | None]:
    """Nested lists with 0-d Tensors among the numbers replaced by their values; iterative.

    And whether one of these tensors requires a gradient or may have a tangent, and the type that
    the entries meet in where some have a type of their own: tensors, arrays and NumPy's numbers.
    """
    out: list[Any] = []
    cut = False
    own: set[DType] = set()
    kinds = set()
    work = [(data, out, 1)]
    while work:
        source, target, depth = work.pop()
        if depth > 64:
            raise ValueFault("E0303", "a tensor has at most 64 dimensions")
        for value in map(source.__getitem__, range(len(source))):
            if value is source:
                raise bad_type("new(): self-referential lists are incompatible")
            if _is_sequence(value):
                target.append([])
                work.append((value, target[-1], depth + 1))
            else:
                kind = value.__class__
                if kind in _PYTHONS:
                    kinds.add(kind)
                elif isinstance(value, Tensor):
                    if value.numel() != 1:
                        raise words.several_entries()
                    cut = cut or value.requires_grad or not isinstance(value, Plain)
                    own.add(value.dtype)
                    value = value.item()
                elif isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "?biufc":
                    own.add(dtype_of(value))
                target.append(value)
    if not own:
        return out, cut, None
    return out, cut, functools.reduce(
        dtypes.promote, (*own, *(dtypes.number_dtype(kind()) for kind in kinds))
    )  # fmt: skip


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares memory with ``array``: a write to one shows in the other."""
    if not isinstance(array, np.ndarray):
        raise bad_type(f"expected np.ndarray (got {type(array).__name__})")
    if array.strides and min(array.strides) < 0:
        said = "At least one stride in the given numpy array is negative, and tensors with negative"
        said += " strides are not currently supported. (You can probably work around this by making"
        raise bad_argument(f"{said} a copy of your array  with array.copy().) ")
    kind = dtype_of(array)
    if any(step % kind.itemsize for step in array.strides):
        raise bad_argument(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy "
            "array to reallocate the memory."
        )
    if not array.flags.writeable:
        warn("The given NumPy array is not writable: neither is the tensor. Give array.copy().")
    return wrap(array, kind)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """``data`` as a tensor, sharing memory where that is possible."""
    if device is not None:
        result: Tensor = as_tensor(data, dtype).to(device=device)
        return result
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray) and (dtype is None or to_dtype(dtype).numpy == data.dtype):
        return from_numpy(data)
    return tensor(data, dtype=dtype)


def sizes_of(sizes: tuple[Any, ...], name: str = "") -> tuple[int, ...]:
    """The shape that a creator was given, as numbers or in one tuple.

    ``name`` is the creator's, for the message. Raises RuntimeFault or TypeFault for what is none.
    """
    given = sizes
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        sizes = tuple(sizes[0])
    shape = []
    for n in sizes:
        try:
            if n.__class__ is bool or (n.__class__ is int and n >> 63 not in (0, -1)):
                raise words.no_size(name, given, n)
            shape.append(n.__index__())
        except (AttributeError, TypeError):
            raise words.no_size(name, given, n) from None
    if len(shape) > 64:
        raise bad_shape(f"a tensor has at most 64 dimensions, got {len(shape)}")
    if shape and (min(shape) < 1 or math.prod(shape) >> 59):
        if min(shape) < 0:
            raise words.negative(name, shape)
        if math.prod(n or 1 for n in shape) >> 59:
            raise words.too_large(shape)
    return tuple(shape)


def shape_of(sizes: tuple[Any, ...], size: Any, name: str) -> tuple[int, ...]:
    """The shape that ``name(2, 3)``, ``name((2, 3))`` or ``name(size=(2, 3))`` asks for.

    Raises TypeFault (E0302) where it is given twice or not at all.
    """
    if size is not None and sizes:
        raise TypeFault("E0302", f"{name}() got multiple values for argument 'size'")
    if size is None and not sizes:
        said = f'{name}() missing 1 required positional arguments: "size"'
        raise TypeFault("E0302", said, help=f"{name}(()) has no dimensions")
    if size is not None and not isinstance(size, list | tuple):
        raise TypeFault(
            "E0302", f"{name}(): argument 'size' must be tuple of ints, not {type(size).__name__}"
        )
    return sizes_of(sizes if size is None else (size,), name)


def requiring(out: Tensor, wanted: Any) -> Tensor:
    """``out`` as a leaf that requires a gradient. Raises RuntimeFault (E0404) for whole numbers."""
    try:
        return out._require(wanted)
    except RuntimeFault as fault:
        if fault.torch:
            fault.torch = "Only Tensors of floating point and complex dtype can require gradients"
        raise


def finish(array: Any, dtype: DType, requires_grad: bool, device: Any = None) -> Tensor:
    """A tensor around a new array, on its device, as a leaf where that was asked for."""
    out = wrap(array, dtype)
    if device is not None:
        out = out.to(device=device)
    return out if requires_grad is False else requiring(out, requires_grad)


def refuse_kinds(kinds: str, kernel: str, dtype: DType) -> None:
    """Raise UnwrittenFault (E0309) for a dtype of ``kinds``, by the name of PyTorch's kernel."""
    if dtype.family in kinds:
        said = f'"{kernel}" not implemented for {dtype.scalar_name!r}'
        raise UnwrittenFault("E0309", said, help="give another dtype")


def full(
    size: Sequence[int], fill_value: Any, *, dtype: Any = None, requires_grad: bool = False,
    device: Any = None, layout: Any = None, pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """A tensor of shape ``size`` with one value everywhere."""
    shape = sizes_of((size,) if isinstance(size, int) else (tuple(size),))
    refuse_derivative("full", fill_value=fill_value)
    if isinstance(fill_value, Tensor | np.generic):
        fill_value = fill_value.item()
    if not isinstance(fill_value, int | float | complex):
        raise not_a("Number", "full", "fill_value", 2, fill_value)
    target = dtypes.number_dtype(fill_value) if dtype is None else to_dtype(dtype)
    charge_shape(shape, target.itemsize)
    fill_value = target.entry(fill_value)
    return finish(np.full(shape, fill_value, target.numpy)[()], target, requires_grad, device)


def scalar_tensor(s: Any, **options: Any) -> Tensor:
    """A number as a tensor without dimensions, of the default dtype unless another is given."""
    if not isinstance(s, int | float | complex | np.generic | Tensor):
        raise not_a("Number", "scalar_tensor", "s", 1, s)
    options["dtype"] = options.get("dtype") or dtypes.get_default_dtype()
    return full((), s, **options)


def _filled(name: str, doc: str, value: int) -> Any:
    def create(
        *sizes: Any, size: Any = None, dtype: Any = None, requires_grad: bool = False,
        device: Any = None, layout: Any = None, pin_memory: Any = False,
    ) -> Tensor:  # fmt: skip
        shape = shape_of(sizes, size, create.__name__)
        target = dtypes.get_default_dtype() if dtype is None else to_dtype(dtype)
        charge_shape(shape, target.itemsize)
        make = np.ones if value else np.zeros
        return finish(make(shape, target.numpy)[()], target, requires_grad, device)

    return named(create, name, doc)


ones = _filled("ones", "A tensor of ones: ``ones(2, 3)``.", 1)
zeros = _filled("zeros", "A tensor of zeros: ``zeros(2, 3)``.", 0)


def eye(
    n: int, m: int = UNSAID, *, dtype: Any = None, requires_grad: bool = False,
    device: Any = None, layout: Any = None, pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """The identity matrix, or its n by m part."""
    shape = sizes_of((n, n if m is UNSAID or m is None else m), "eye")
    target = dtypes.get_default_dtype() if dtype is None else to_dtype(dtype)
    charge_shape(shape, target.itemsize)
    return finish(np.eye(*shape, dtype=target.numpy), target, requires_grad, device)


def arange(
    start: Any = UNSAID, end: Any = UNSAID, step: Any = 1, *, dtype: Any = None,
    requires_grad: bool = False, device: Any = None, layout: Any = None, pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """``start, start + step, ...`` up to but without ``end``; one argument counts from 0."""
    if end is UNSAID:
        start, end = UNSAID, start
    if end is UNSAID:
        raise TypeError("arange() missing 1 required positional argument: 'end'")
    start = 0 if start is UNSAID else start
    refuse_derivative("arange", start=start, end=end, step=step)
    start, end, step = (v.item() if isinstance(v, Tensor) else v for v in (start, end, step))
    if any(isinstance(v, complex) for v in (start, end, step)):
        raise bad_dtype("value cannot be converted to type double without overflow")
    whole = all(isinstance(v, int) for v in (start, end, step))
    if any(isinstance(v, int) and not -(2**63) <= v < 2**64 for v in (start, end, step)):
        raise OverflowFault("E0303", "int too big to convert", help="write it as a float")
    inferred = dtypes.int64 if whole else dtypes.get_default_dtype()
    target = inferred if dtype is None else to_dtype(dtype)
    if not math.isfinite(start) or not math.isfinite(end):
        raise RuntimeFault("E0303", f"unsupported range: {start} -> {end}")
    signed = step > 0 or step < 0  # NaN is neither
    if target is dtypes.int64 and signed:
        start, end, step = (target.entry(v) for v in (start, end, step))
        if not step:  # PyTorch finds it later than a step that was given as 0
            raise ValueFault("E0303", "step must be nonzero")
    if not signed or (end - start) * step < 0:
        said = "upper bound and lower bound inconsistent with step sign"
        mend = f"from {start} to {end} needs a {'positive' if end > start else 'negative'} step"
        raise RuntimeFault("E0303", said if signed else "step must be nonzero", help=mend)
    refuse_kinds("bool complex", "arange_cpu", target)
    count = -((start - end) // step) if target is dtypes.int64 else math.ceil((end - start) / step)
    if count >> 59:
        raise RuntimeFault("E0303", "invalid size, possible overflow?")
    charge_shape((count,), target.itemsize)
    if target.kind < 2:
        start, step = dtypes.int64.entry(start), dtypes.int64.entry(step)
    # NumPy's arange adds up a step that was rounded: of -1, 1, 0.1 it makes no 0.
    numbers = start + step * np.arange(count)
    return finish(numbers.astype(target.numpy), target, requires_grad, device)


def inclusive_range(start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> Tensor:
    """``start, start + step, ...`` up to ``end``, which is one of them: ``torch.range``."""
    warn("range() is deprecated: arange() has the numbers up to its end, without it")
    if end is None:
        start, end = 0, start
    options["dtype"] = options.get("dtype") or dtypes.get_default_dtype()
    if step and (end - start) * step >= 0:
        end = start + (math.floor((end - start) / step) + 1) * step
    return arange(start, end, step, **options)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:  # fmt: skip
    """``obj`` as a tensor; shares memory where ``copy`` is not True. Raises ValueFault (E0303).

    A tensor stays in its graph, its copy too, unless ``requires_grad`` is False. Bytes of other
    memory (bytearray, memoryview) are read by ``frombuffer``, without a dtype as the default one.
    """
    if not isinstance(obj, Tensor | np.ndarray | np.generic):
        with contextlib.suppress(TypeError):
            obj = memoryview(obj)
    if isinstance(obj, memoryview):
        kind = dtype or dtypes.get_default_dtype()
        obj = frombuffer(obj, dtype=kind, requires_grad=bool(requires_grad))
    out = as_tensor(obj, dtype, device)
    shares = out is obj or (isinstance(obj, np.ndarray) and np.may_share_memory(out.array, obj))
    if copy and shares:
        out = out.clone()
    elif copy is False and not shares:
        said = "can't alias arbitrary sequence into a tensor."
        if isinstance(obj, Tensor):
            kinds = obj.dtype.scalar_name, out.dtype.scalar_name
            said = f"can't alias tensor with dtype '{kinds[0]}' into dtype '{kinds[1]}'."
        if isinstance(obj, np.generic):
            raise RuntimeFault("E0303", "can't alias NumPy scalars.")
        raise ValueFault("E0303", said)
    if requires_grad is None:  # a copy that no_grad cut from its graph is a leaf that requires one
        requires_grad = isinstance(obj, Tensor) and obj.requires_grad
    if requires_grad:
        return out if out.requires_grad else requiring(out, True)
    return out.detach() if out.requires_grad else out


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """The memory of ``buffer`` from the byte ``offset`` on as a vector of ``count`` numbers.

    Memory that may not be written to is copied, with a warning. Raises ValueFault (E0303) where
    there are not as many bytes or ``buffer`` is no memory.

    Example:
        >>> import array
        >>> import gradcli
        >>> gradcli.frombuffer(array.array("d", [1.0, 2.0]), dtype=gradcli.float64, offset=8)
        tensor([2.], dtype=gradcli.float64)
    """
    target = to_dtype(dtype)
    try:
        buffer = memoryview(buffer)
    except TypeError:
        said = "object does not implement Python buffer protocol."
        raise ValueFault("E0303", said, help="tensor(x) reads lists") from None
    if not buffer.c_contiguous:
        raise bad_value("could not retrieve buffer from object", help="give memory without gaps")
    size, item = buffer.nbytes, target.itemsize
    for wrong, said in (
        (not size or not count,
         f"both buffer length ({size}) and count ({count}) must not be 0"),
        (not 0 <= offset < size,
         f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
         f"({size} bytes) minus 1"),
        (count > 0 and offset + count * item > size,
         f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must not "
         f"be greater than actual buffer length ({size} bytes)"),
        (count < 0 and (size - offset) % item,
         f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple "
         f"of element size ({item})"),
    ):  # fmt: skip
        if wrong:
            raise ValueFault("E0303", said)
    numbers = np.frombuffer(buffer, target.numpy, count, offset)
    if not numbers.flags.writeable:
        warn("The given buffer is not writable: the tensor has a copy of it.")
        numbers = numbers.copy()
    return finish(numbers, target, requires_grad, None)


@by_element
def linspace(
    start: Number | Tensor, end: Number | Tensor, steps: int, *, dtype: Any = None,
    requires_grad: bool = False,
    device: Any = None, layout: Any = None, pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included."""
    refuse_derivative("linspace", start=start, end=end)
    (count,) = sizes_of((steps,), "linspace")
    start, end, target = _line("linspace", start, end, 0.0, dtype)
    charge_shape((count,), target.itemsize)
    start, end = _bounds(start, end, target)
    step, half = (end - start) / (count - 1) if count > 1 else 0.0, count // 2
    with np.errstate(all="ignore"):
        numbers = np.arange(count) * step + start
        if count > 1:  # from both ends, as PyTorch does: between infinities lies NaN
            numbers[half:] = end - step * np.arange(count - 1 - half, -1, -1)
        numbers = numbers.astype(target.numpy)
    return finish(numbers, target, requires_grad, device)


def _line(name: str, start: Any, end: Any, more: Any, dtype: Any) -> tuple[Any, Any, DType]:
    """Both ends of a line as numbers, and its type: it holds them, and ``more``."""
    ranks = [getattr(v, "ndim", 0) for v in (start, end)]
    if any(ranks):
        raise bad_shape(
            f"{name} only supports 0-dimensional start and end tensors, but got start with "
            f"{ranks[0]} dimension(s) and end with {ranks[1]} dimension(s)."
        )
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    inferred = dtypes.number_dtype(start + end + more)
    target = inferred if dtype is None else to_dtype(dtype)
    refuse_kinds("bool", f"{name}_cpu", target)
    if inferred.is_complex and not target.is_complex:
        raise bad_dtype(
            f"torch.{name}(): inferred dtype {inferred.c_name} can't be safely cast to passed "
            f"dtype {target.scalar_name}"
        )
    return start, end, target


def _bounds(start: Any, end: Any, target: DType) -> tuple[Any, Any]:
    """Both bounds in the dtype of the numbers between them: 4.3 of whole ones is 4."""
    return (target.entry(start), target.entry(end)) if target.kind < 2 else (start, end)


@by_element
def logspace(
    start: Number | Tensor, end: Number | Tensor, steps: int, base: float = 10.0, *,
    dtype: Any = None,
    requires_grad: bool = False, device: Any = None, layout: Any = None, pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """``steps`` numbers from ``base**start`` to ``base**end``, evenly spaced in their logarithm."""
    refuse_derivative("logspace", start=start, end=end, base=base)
    start, end, target = _line("logspace", start, end, base + 0.0, dtype)
    wide = "float64" if target.kind < 3 else "complex128"
    powers = linspace(*_bounds(start, end, target), steps, dtype=wide).array
    return finish((base**powers).astype(target.numpy), target, requires_grad, device)


def memory_order(x: Any) -> list[int]:
    """The dimensions of a tensor as its entries lie in memory, in which PyTorch fills it."""
    x = primal(x)
    steps = x.own_array().strides if isinstance(x, Plain) else ()
    return told_apart([steps] * bool(steps), x.shape)


def laid(
    draw: Callable[[tuple[int, ...]], Tensor], x: Any, memory_format: Any = None, *,
    written: bool = False, apart: Callable[[tuple[int, ...]], Tensor] | None = None,
    fixed: bool = False,
) -> Tensor:  # fmt: skip
    """What ``draw`` gives for the shape of ``x``, drawn in the order of its memory, or as asked.

    ``apart`` draws where the entries do not lie in rows; what is ``written`` to lies in them only
    without gaps. For batches see ``beneath``, which what is ``fixed`` does without.
    """

    def filled(x: Any) -> Any:
        x = primal(x)
        kept = memory_format in (None, dtypes.preserve_format)
        order = memory_order(x) if kept else list(format_order(memory_format, len(x.shape)))
        sized = [d for d in order if x.shape[d] != 1]
        gaps = written and isinstance(x, Plain) and not x.own_array().flags.c_contiguous
        of = apart if apart is not None and (gaps or sized != sorted(sized)) else draw
        if order == sorted(order):
            return of(tuple(x.shape))
        numbers = of(tuple(x.shape[d] for d in order))
        back = np.argsort(order).tolist()
        if isinstance(numbers, Plain):
            return wrap(numbers.array.transpose(back), numbers.dtype)  # of its own, and no view
        return numbers.permute(*back)

    found: Tensor = filled(x) if fixed else beneath(x, filled, written)
    return found


def beneath(x: Any, draw: Callable[[Any], Any], written: bool = False) -> Any:
    """What ``draw`` gives for ``x`` as it lies in memory below all vmaps, as those say of it.

    Where one draws different numbers, that is the whole batch, else one element: a new one that
    lies in rows where the numbers are to be ``written`` to all. Raises RuntimeFault (E0414) for
    different numbers to be written to what is no batch.
    """
    x, inside = primal(x), random.drawing.get()
    lying, around, own = x, inside, written
    while around is not None and around.randomness != "error":
        lying = primal(lying)
        batched, shape = lying.__gradcli_rank__ == around.level, tuple(lying.shape)
        if around.randomness == "different":
            if own and not batched:
                said = "vmap: Cannot ask for different inplace randomness on an unbatched tensor."
                said += " This will appear like same randomness."
                mend = "draw into a value that is mapped over, x.new_empty(3) for example"
                raise RuntimeFault("E0414", said, help=mend)
            wide = around.size, *shape
            lying = lying.content if batched else OPERATORS["expand"](lying, wide)
        elif batched:
            own, lying = False, wrap(np.empty(shape), lying.dtype) if written else lying.content[0]
        around = around.outer

    def make(_shape: tuple[int, ...]) -> Any:
        before = random.drawing.set(None)
        try:
            return draw(lying)
        finally:
            random.drawing.reset(before)

    return draw(x) if inside is None else inside.of(make, tuple(x.shape))


def like(make: Any, drawn: Any = None) -> Any:
    """The form of a creator that takes a tensor for the shape and the dtype: ``ones_like``.

    It lies in memory as ``input`` does; random numbers are ``drawn`` so where that is not in rows.
    In a batch they are as ``vmap`` says of them, not a batch itself.
    """

    def create(
        input: Tensor, *value: Any, dtype: Any = None, requires_grad: bool = False,
        device: Any = None, memory_format: Any = None, **named: Any,
    ) -> Any:  # fmt: skip
        rank = getattr(input, "__gradcli_rank__", 0)
        if not isinstance(input, Plain) and not (drawn and rank > 1):
            if rank > 1:
                named |= {"requires_grad": requires_grad, "memory_format": memory_format}
                return input.__gradcli_like__(create, *value, dtype=dtype, device=device, **named)
            raise words.no_tensor(create.__name__, input)
        named.update(dtype=input.dtype if dtype is None else dtype, device=device)

        def of(shape: tuple[int, ...], make: Any = make) -> Tensor:
            return make(shape, *value, **named)  # type: ignore[no-any-return]

        apart = drawn and (lambda shape: of(shape, drawn))
        made = laid(of, input, memory_format, apart=apart, fixed=drawn is None)
        return made if requires_grad is False else requiring(made, requires_grad)

    doc = f"``{make.__name__}`` with the shape and the dtype of ``input``."
    return named(create, f"{make.__name__}_like", doc)


def empty(
    *sizes: Any, size: Any = None, dtype: Any = None, requires_grad: bool = False,
    device: Any = None, layout: Any = None, pin_memory: Any = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor to be written to: zeros, so that nothing uninitialised is ever read."""
    made: Tensor = zeros(shape_of(sizes, size, "empty"), dtype=dtype, device=device)
    if memory_format is not None:
        made.array = in_format(made.array, memory_format)
    return made if requires_grad is False else requiring(made, requires_grad)


full_like, empty_like, zeros_like, ones_like = map(like, (full, empty, zeros, ones))


def complex_of(real: Tensor, imag: Tensor) -> Tensor:
    """A complex tensor from its parts; ``gradcli.complex``. Raises RuntimeFault (E0309)."""
    if isinstance(real, Tensor) and isinstance(imag, Tensor):
        check_parts(real, imag)
    made: Tensor = OPERATORS["of_parts"](real, imag)
    return made


def check_parts(first: Any, second: Any, kernel: str = "", help: str | None = None) -> None:
    """Raise RuntimeFault (E0309) unless both are floats of one dtype, which ``kernel`` takes."""
    kinds = first.dtype.scalar_name, second.dtype.scalar_name
    if first.dtype.kind != 2 or second.dtype.kind != 2:
        said = "Expected both inputs to be Half, Float or Double tensors but got {} and {}"
        raise bad_dtype(said.format(*kinds))
    if kernel:
        refuse_kinds("half", kernel, first.dtype)
    if kinds[0] != kinds[1]:
        said = "Expected object of scalar type {} but got scalar type {} for second argument"
        raise bad_dtype(said.format(*kinds), help=help)


def _half_indices(places: Any, said: str) -> Any:
    def create(
        row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None,
        layout: Any = None, pin_memory: Any = False,
    ) -> Tensor:  # fmt: skip
        for name, n in (("row", row), ("col", col)):
            if n < 0:
                raise bad_value(f"{name} must be non-negative, got{n}")
        charge_shape((3, row, col))
        target = dtypes.int64 if dtype is None else to_dtype(dtype)
        if target not in (dtypes.int64, dtypes.int32):
            refuse_kinds("bool int float complex", places.__name__, target)
        return finish(
            np.stack(places(row, offset, col)).astype(target.numpy), target, False, device
        )

    doc = f"The places on and {said} a diagonal, as two rows of indices."
    return named(create, places.__name__, doc)


tril_indices = _half_indices(np.tril_indices, "below")
triu_indices = _half_indices(np.triu_indices, "above")


def typed(dtype: DType, name: str) -> Any:
    """The old constructor of one dtype: ``IntTensor([1, 2])``, or of a shape, ``IntTensor(2)``."""

    doc = f"A {dtype.name} tensor of data, or of a shape."
    return _Typed(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "gradcli"})


class _Typed(type):
    """Classes that make tensors of one dtype, and that have these as their instances."""

    dtype: DType

    def __call__(cls, *data: Any, device: Any = None) -> Any:
        if device is not None and (kind := dtypes.Device(device).type) != "cpu":
            raise RuntimeFault(
                "E0905",
                f"legacy constructor expects device type: cpu but device type: {kind} was passed",
                help="write tensor(x, device=...)",
            )
        if data and all(isinstance(d, int) for d in data):
            return zeros(*data, dtype=cls.dtype)
        if len(data) == 1 and isinstance(data[0], Size):
            return zeros(data[0], dtype=cls.dtype)
        if len(data) > 1:
            raise TypeFault("E0302", f"{cls.__name__} takes data or sizes, got {len(data)} values")
        # A program's arrays of NumPy are read as lists are.
        if data and isinstance(data[0], Tensor) and type(data[0]).__name__ != "NumpyArray":
            if device is not None:
                form = "new of the form tensor.new"
                if cls.__name__ != "new":
                    form = "constructor of the form torch.Tensor"
                raise bad_value(
                    f"Legacy tensor {form}(tensor, device=device) is not supported.",
                    help="write tensor(x) or as_tensor(x)",
                )
            if data[0].dtype is not cls.dtype and cls.__name__ != "Tensor":
                said = f"expected a {cls.dtype.name} tensor (got {data[0].dtype.name})"
                raise TypeFault("E0309", said, help=f"write x.to({cls.dtype!r})")
            return data[0][...]  # an alias: of its memory, and in its graph
        if data and (isinstance(data[0], float | dict | set) or data[0] is None):
            said = f"new(): data must be a sequence (got {type(data[0]).__name__})"
            raise bad_type(said, help="write tensor(x), or give whole numbers as sizes")
        if data and isinstance(data[0], np.ndarray):
            return as_tensor(data[0], cls.dtype)  # of its memory, where the dtype is the same
        return tensor(data[0] if data else [], dtype=cls.dtype)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype is cls.dtype


def _constructor(cls: type[Tensor], *data: Any, device: Any = None) -> Tensor:
    """A tensor of data, or of a shape, in the default dtype: PyTorch's typed constructor."""
    result: Tensor = typed(dtypes.get_default_dtype(), "Tensor")(*data, device=device)
    if cls is not Tensor:
        result = result.resolve_conj().resolve_neg()
        result.__class__ = cls
    return result


Tensor.__new__ = staticmethod(_constructor)  # type: ignore[method-assign, assignment]

TYPED = {
    name: typed(dtype, name)
    for name, dtype in (
        ("FloatTensor", dtypes.float32), ("DoubleTensor", dtypes.float64),
        ("HalfTensor", dtypes.float16), ("LongTensor", dtypes.int64), ("IntTensor", dtypes.int32),
        ("ShortTensor", dtypes.int16), ("CharTensor", dtypes.int8), ("ByteTensor", dtypes.uint8),
        ("BoolTensor", dtypes.bool_),
    )
}  # fmt: skip
"""PyTorch's typed constructors by name."""
