"""Making tensors: from data, filled, ranges and random numbers.

Every size is charged against the memory budget before anything is allocated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.dtypes import DType, dtype_of, to_dtype
from gradcli.engine.tensor import Tensor, wrap
from gradcli.ops.errors import RuntimeFault, TypeFault, ValueFault
from gradcli.ops.limits import charge_shape


def tensor(
    data: Any, *, dtype: Any = None, requires_grad: bool = False, device: Any = None
) -> Tensor:
    """A leaf made of a copy of ``data``: a number, nested lists, an array or a Tensor.

    Python floats become the default dtype (float32), whole numbers int64, booleans bool; arrays
    keep theirs. Raises ValueFault (E0303) for ragged lists, TypeFault for what is no number.

    Example:
        >>> import gradcli
        >>> gradcli.tensor([[1.0, 2.0], [3.0, 4.0]]).shape
        gradcli.Size([2, 2])
    """
    wanted = None if dtype is None else to_dtype(dtype)
    if isinstance(data, Tensor):
        array, found = data.array, data.dtype
    elif isinstance(data, np.ndarray | np.generic):
        array, found = data, dtype_of(data)
    else:
        array, found = _from_lists(data)
    target = wanted or found
    array = np.array(array, dtype=target.numpy)
    out = wrap(array[()] if not array.ndim else array, target)
    return out.requires_grad_() if requires_grad else out


def _from_lists(data: Any) -> tuple[np.ndarray, DType]:
    if isinstance(data, list | tuple):
        data = _plain(data)
    try:
        array = np.array(data)
    except ValueError:
        raise ValueFault(
            "E0303",
            "the rows of nested lists must have one length",
            help="pad the short ones, or use a list",
        ) from None
    except OverflowError:
        raise RuntimeFault(
            "E0303", "Overflow when unpacking long", help="write it as a float"
        ) from None
    kind = array.dtype.kind
    if kind == "f" or not array.size:
        return array, dtypes.get_default_dtype()
    if kind == "c":
        return array, dtypes.number_dtype(1j)
    if kind == "b":
        return array, dtypes.bool_
    if kind == "i":
        return array, dtypes.int64
    if kind in "uO":
        raise RuntimeFault("E0303", "Overflow when unpacking long", help="write it as a float")
    raise TypeFault(
        "E0303",
        f"cannot make a tensor of a {type(data).__name__}",
        help="give numbers or nested lists",
    )


def _plain(data: list | tuple) -> list:
    """Nested lists with 0-d Tensors among the numbers replaced by their values; iterative."""
    out: list = []
    work = [(data, out, 1)]
    while work:
        source, target, depth = work.pop()
        if depth > 64:
            raise ValueFault("E0303", "a tensor has at most 64 dimensions")
        for value in source:
            if isinstance(value, list | tuple):
                target.append([])
                work.append((value, target[-1], depth + 1))
            else:
                target.append(value.tolist() if isinstance(value, Tensor) else value)
    return out


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares memory with ``array``: a write to one shows in the other."""
    if not isinstance(array, np.ndarray):
        raise TypeFault("E0303", f"expected an ndarray, got {type(array).__name__}")
    return wrap(array, dtype_of(array))


def as_tensor(data: Any, dtype: Any = None) -> Tensor:
    """``data`` as a tensor, sharing memory where that is possible."""
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray) and (dtype is None or to_dtype(dtype).numpy == data.dtype):
        return from_numpy(data)
    return tensor(data, dtype=dtype)


def _shape(sizes: tuple) -> tuple[int, ...]:
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        sizes = tuple(sizes[0])
    shape = []
    for n in sizes:
        try:
            shape.append(n.__index__())
        except (AttributeError, TypeError):
            raise TypeFault(
                "E0303", f"a size must be a whole number, got {n!r}", help="write zeros(2, 3)"
            ) from None
        if shape[-1] < 0:
            raise RuntimeFault("E0303", f"a size cannot be negative: {n}")
    return tuple(shape)


def _finish(array: Any, dtype: DType, requires_grad: bool) -> Tensor:
    out = wrap(array, dtype)
    return out.requires_grad_() if requires_grad else out


def full(size: Any, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of shape ``size`` with one value everywhere."""
    shape = _shape((size,) if isinstance(size, int) else (tuple(size),))
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    target = dtypes.number_dtype(fill_value) if dtype is None else to_dtype(dtype)
    charge_shape(shape, target.itemsize)
    return _finish(np.full(shape, fill_value, target.numpy)[()], target, requires_grad)


def _filled(value: int) -> Any:
    def create(*size: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
        shape = _shape(size)
        target = dtypes.get_default_dtype() if dtype is None else to_dtype(dtype)
        charge_shape(shape, target.itemsize)
        make = np.ones if value else np.zeros
        return _finish(make(shape, target.numpy)[()], target, requires_grad)

    create.__name__ = "ones" if value else "zeros"
    create.__doc__ = f"A tensor of {create.__name__}: ``{create.__name__}(2, 3)``."
    return create


ones = _filled(1)
zeros = _filled(0)


def eye(n: int, m: int | None = None, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """The identity matrix, or its n by m part."""
    shape = _shape((n, n if m is None else m))
    target = dtypes.get_default_dtype() if dtype is None else to_dtype(dtype)
    charge_shape(shape, target.itemsize)
    return _finish(np.eye(*shape, dtype=target.numpy), target, requires_grad)


def arange(
    start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """``start, start + step, ...`` up to but without ``end``; one argument counts from 0."""
    if end is None:
        start, end = 0, start
    start, end, step = (v.item() if isinstance(v, Tensor) else v for v in (start, end, step))
    if step == 0 or (end - start) * step < 0:
        raise RuntimeFault(
            "E0303",
            "upper bound and lower bound inconsistent with step sign"
            if step
            else "step must be nonzero",
            help=f"from {start} to {end} needs a {'positive' if end > start else 'negative'} step",
        )
    whole = all(isinstance(v, int) for v in (start, end, step))
    target = (
        (dtypes.int64 if whole else dtypes.get_default_dtype())
        if dtype is None
        else to_dtype(dtype)
    )
    charge_shape((max(0, -(-(end - start) // step)),), target.itemsize)
    return _finish(np.arange(start, end, step).astype(target.numpy), target, requires_grad)


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included."""
    (count,) = _shape((steps,))
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    target = dtypes.get_default_dtype() if dtype is None else to_dtype(dtype)
    charge_shape((count,), target.itemsize)
    return _finish(np.linspace(start, end, count).astype(target.numpy), target, requires_grad)


_generator: np.random.Generator | None = None


def manual_seed(seed: int) -> None:
    """Start the random numbers afresh: the same seed gives the same numbers."""
    global _generator
    _generator = np.random.default_rng(seed)


def _random() -> np.random.Generator:
    global _generator
    if _generator is None:
        _generator = np.random.default_rng()
    return _generator


def rand(*size: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Random numbers, uniform in [0, 1)."""
    shape = _shape(size)
    target = dtypes.get_default_dtype() if dtype is None else to_dtype(dtype)
    charge_shape(shape)
    return _finish(
        np.asarray(_random().random(shape)).astype(target.numpy)[()], target, requires_grad
    )


def randn(*size: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Random numbers, normal with mean 0 and variance 1."""
    shape = _shape(size)
    target = dtypes.get_default_dtype() if dtype is None else to_dtype(dtype)
    charge_shape(shape)
    numbers = np.asarray(_random().standard_normal(shape))
    return _finish(numbers.astype(target.numpy)[()], target, requires_grad)


def randint(low: int, high: int, size: Any, *, dtype: Any = None) -> Tensor:
    """Random whole numbers from ``low`` up to but without ``high``."""
    shape = _shape((tuple(size),))
    target = dtypes.int64 if dtype is None else to_dtype(dtype)
    charge_shape(shape)
    return wrap(np.asarray(_random().integers(low, high, shape)).astype(target.numpy)[()], target)
