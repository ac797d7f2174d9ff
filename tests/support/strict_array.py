"""An array that behaves as CuPy's does towards NumPy, and refuses what CuPy refuses.

It holds its numbers in a NumPy array that nobody else can see. NumPy's functions reach it through
the two protocols (``__array_ufunc__``, ``__array_function__``), as they reach a CuPy array. Refused
with TypeError:

* implicit conversion to a NumPy array (``np.asarray(x)``, ``np.array(x)``, a function without
  dispatch);
* arithmetic, joining or writing together with a NumPy array that has dimensions; an index made of
  one;
* a ufunc's methods other than ``outer``; functions and keywords that CuPy's namesake does not have.

A reduction to one number gives a 0-d StrictArray, never a NumPy scalar. Python numbers and NumPy
scalars are taken. Where this text and CuPy differ, it is stricter.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

# NumPy functions that CuPy has too, of those that an operator could want.
FUNCTIONS = frozenset(re.findall(r"\w+", """
    all amax amin any arange argmax argmin argsort atleast_1d broadcast_arrays broadcast_to clip
    concatenate copy copyto count_nonzero cross cumprod cumsum diag diagonal diff dot einsum
    empty_like expand_dims flip full_like imag inner isclose kron matmul max may_share_memory mean
    min moveaxis nan_to_num ndim nonzero norm ones_like outer permute_dims prod ravel real repeat
    reshape roll rot90 round searchsorted shape shares_memory size sort squeeze stack std sum
    swapaxes take take_along_axis tensordot tile trace transpose tril triu unique var vdot where
    zeros_like cholesky det eigh eigvalsh eye fft ifft inv qr slogdet solve svd
"""))  # fmt: skip
# Keywords of NumPy's that CuPy's function of the same name does not take.
REFUSED_KEYWORDS = {
    name: {"initial", "where"}
    for name in ("max", "min", "amax", "amin", "sum", "prod", "all", "any", "mean")
} | {
    "take_along_axis": set(),
    "var": {"where", "mean", "correction"},
    "std": {"where", "mean", "correction"},
}
MISSING_UFUNCS = frozenset(("spacing", "isnat", "vecdot", "matvec", "vecmat"))


def refused(what: str) -> TypeError:
    return TypeError(f"a device array does not allow {what}")


def _out(value: Any) -> Any:
    """Results go back into strict arrays; shapes, sizes and truths stay what they are."""
    if isinstance(value, np.ndarray):
        return StrictArray._of(value)
    if isinstance(value, np.generic):
        return StrictArray._of(np.asarray(value))
    if isinstance(value, tuple | list):
        # CuPy gives plain tuples where NumPy names the parts.
        return (list if isinstance(value, list) else tuple)(_out(v) for v in value)
    return value


def _in(value: Any) -> Any:
    """The NumPy value behind an argument; arrays from the other side are refused."""
    if isinstance(value, StrictArray):
        return value._data
    if isinstance(value, np.ndarray) and value.ndim:
        raise refused("a NumPy array beside it")
    if isinstance(value, tuple | list):
        return type(value)(_in(v) for v in value)
    return value


class StrictArray(NDArrayOperatorsMixin):
    """See the module's text. ``StrictArray(data)`` copies; ``get()`` copies back."""

    __slots__ = ("__weakref__", "_data")
    __array_priority__ = 100
    device = SimpleNamespace(id=0)
    base = None  # CuPy's views name theirs

    def __init__(self, data: Any) -> None:
        self._data = np.array(data)

    @classmethod
    def _of(cls, data: np.ndarray) -> StrictArray:
        made = object.__new__(cls)
        made._data = data
        return made

    def get(self) -> np.ndarray:
        return self._data.copy()

    # -- what is refused, and the protocols ------------------------------------------------------

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise refused("implicit conversion to a NumPy array")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method not in ("__call__", "outer"):
            raise refused(f"{ufunc.__name__}.{method}")
        if ufunc.__name__ in MISSING_UFUNCS:
            raise refused(ufunc.__name__)
        given = kwargs.pop("out", None)
        kwargs = {k: _in(v) for k, v in kwargs.items()}
        if given is not None:
            if not all(isinstance(o, StrictArray) for o in given):
                raise refused("a NumPy array as out")
            kwargs["out"] = tuple(o._data for o in given)
        result = getattr(ufunc, method)(*map(_in, inputs), **kwargs)
        return given[0] if given is not None else _out(result)

    def __array_function__(self, func: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        name = func.__name__
        if name == "asarray" and kwargs.keys() <= {"like"}:  # NumPy's array moved to the device
            return StrictArray(args[0])
        if name not in FUNCTIONS or not func.__module__.startswith("numpy"):
            raise refused(f"numpy.{name}")
        extra = REFUSED_KEYWORDS.get(name, set()) & kwargs.keys()
        if extra:
            raise refused(f"numpy.{name}({', '.join(sorted(extra))}=...)")
        if name == "where" and not isinstance(args[0], StrictArray):
            raise refused("a condition from the other side")
        if name == "argsort" and kwargs.get("kind") not in (None, "stable"):
            raise refused("that kind of sort")
        result = func(*map(_in, args), **{k: _in(v) for k, v in kwargs.items()})
        if name in ("ndim", "shape", "size", "may_share_memory", "shares_memory"):
            return result
        return _out(result)

    # -- what an array is ------------------------------------------------------------------------

    shape = property(lambda self: self._data.shape)
    dtype = property(lambda self: self._data.dtype)
    ndim = property(lambda self: self._data.ndim)
    size = property(lambda self: self._data.size)
    itemsize = property(lambda self: self._data.itemsize)
    nbytes = property(lambda self: self._data.nbytes)
    strides = property(lambda self: self._data.strides)
    flags = property(lambda self: self._data.flags)
    T = property(lambda self: _out(self._data.T))
    real = property(lambda self: _out(self._data.real))
    imag = property(lambda self: _out(self._data.imag))

    def __getattr__(self, name: str) -> Any:
        if name in ("all", "any", "astype", "conj", "copy", "cumsum", "max", "mean", "min", "prod",
            "ravel",
                    "reshape", "squeeze", "sum", "swapaxes", "transpose"):  # fmt: skip
            method = getattr(self._data, name)
            return lambda *args, **kwargs: _out(method(*map(_in, args), **kwargs))
        raise AttributeError(name)

    def item(self) -> Any:
        return self._data.item()

    def tolist(self) -> Any:
        return self._data.tolist()

    def __getitem__(self, index: Any) -> Any:
        return _out(self._data[_in(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._data[_in(index)] = _in(value)

    def scatter_add(self, index: Any, values: Any) -> None:
        """CuPy's own name for adding where an entry may be named more than once."""
        np.add.at(self._data, _in(index), _in(values))

    def __len__(self) -> int:
        return len(self._data)

    def __bool__(self) -> bool:
        return bool(self._data)

    def __float__(self) -> float:
        return float(self._data)

    def __int__(self) -> int:
        return int(self._data)

    def __complex__(self) -> complex:
        return complex(self._data)

    def __index__(self) -> int:
        return self._data.__index__()

    def __repr__(self) -> str:
        return f"StrictArray({self._data!r})"
