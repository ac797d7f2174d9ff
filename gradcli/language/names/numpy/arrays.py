"""NumPy's arrays in programs: ``np.array(...)``, ``x.numpy()``.

An array is a tensor that records nothing, computes by NumPy's own rules and prints as NumPy prints;
it shares its memory with the tensor that it came from, and may be given wherever a tensor may. An
operation that a tensor takes part in is the tensor's. What an operation makes is charged before.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.grad_mode import mode
from gradcli.engine.record.apply import note_view
from gradcli.engine.record.inplace import views_of
from gradcli.engine.record.whole_numbers import bound, fits, held, in_floats, largest
from gradcli.engine.tensor.tensor import Tensor, marked, wrap
from gradcli.engine.undo_log import note_write, undo
from gradcli.functions.bitwise import IN_FLOATS
from gradcli.language.limits.sizes import as_list, check_nested
from gradcli.language.names import argument_checks, attributes, settings
from gradcli.language.names.builtins import set_item
from gradcli.language.names.calling import named
from gradcli.language.names.numpy.meanings import MEANINGS
from gradcli.language.names.records import TypeName
from gradcli.language.type_names import a_value
from gradcli.ops.conversion import without_bounds
from gradcli.ops.declaration.infix import METHODS as SIGNS
from gradcli.ops.errors import Fault, bad_type
from gradcli.ops.memory_budget import charge
from gradcli.ops.operator import OPERATORS


class NumpyArray(Tensor):
    """An array: a tensor outside every graph that behaves as ``numpy.ndarray`` does."""

    __slots__ = ()
    of_numpy = True

    def __repr__(self) -> str:
        return repr(self.array)

    def __str__(self) -> str:
        return str(self.array)

    def __format__(self, spec: str) -> str:
        return format(self.array, spec)

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self.array)))

    def __getitem__(self, index: Any) -> Any:
        return array_of(self.array[_index(index)], (self,))

    def __setitem__(self, index: Any, value: Any) -> None:
        if _leads(self, value):
            self[index] = value
        else:
            raw = as_numpy(value)
            if isinstance(raw, np.ndarray) and self.array.dtype.kind in "iu":
                raw = _converted(raw, self.array.dtype)
            self._written(self.array.__setitem__, _index(index), raw)

    def _written(self, write: Callable, *args: Any, **options: Any) -> Any:
        """What ``write`` gives, which writes to the array: a session can take it back, and whoever
        saved the array sees it."""
        if undo.on:
            note_write(self.array)
        found = write(*args, **options)
        self._meta().version.bump()
        return found

    __hash__ = Tensor.__hash__


class ElementType:
    """``a.dtype``: prints as NumPy's, and equals ``np.float64`` and the type's name."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: dtypes.DType) -> None:
        self.dtype = dtype

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ElementType):
            return self.dtype is other.dtype
        return named_type(other) is self.dtype

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.dtype.name

    def __repr__(self) -> str:
        return f"dtype('{self.dtype.name}')"


def array_of(found: Any, sources: Iterable[Any] = ()) -> Any:
    """What NumPy computed of ``sources``, or a function of tensors, as a value of the program; what
    shares memory with an array among them is a view of it."""
    if found.__class__ is Tensor:
        found = np.asarray(found.numpy())[()]
    if isinstance(found, tuple | list):
        parts = [array_of(one, sources) for one in found]
        return parts if isinstance(found, list) else tuple(parts)
    if not isinstance(found, np.ndarray | np.generic):
        return found
    if found.dtype == np.uint64 and largest(found) < 1 << 63:
        found = found.astype(np.int64)  # what NumPy adds bytes up in
    if found.dtype.kind not in "biufc":
        raise bad_type("arrays of programs hold numbers", help="np.array([1.0, 2.0])")
    out = object.__new__(NumpyArray)
    out.array, out._dtype, out.edge, out.meta = found, dtypes.dtype_of(found), None, None
    if mode.marking:
        marked(out)
    for source in sources:
        if source.__class__ is NumpyArray:
            note_view(out, source)
    return out


def _leads(a: NumpyArray, value: Any) -> bool:
    """Whether an array that ``value`` is about to be written to leads gradients from now on, as in
    a program without tensors; it is a tensor then, and so are those that share its memory."""
    if not (mode.rebinds and argument_checks.holds_traced(value)):
        return False
    settings.arrays_lead()
    base = a if a.meta is None or a.meta.base is None else a.meta.base
    for one in (base, a, *views_of(base)):
        if one.__class__ is NumpyArray:
            one.__class__ = Tensor  # type: ignore[assignment]
    return True


def of_tensor(x: Any) -> Any:
    """``x.numpy()``: shares the tensor's memory. Raises RuntimeFault (E0404) in a graph."""
    return array_of(np.asarray(x.numpy()))


def tensor_of(x: Any) -> Tensor:
    """``torch.from_numpy(x)``: shares the array's memory. Raises TypeFault (E0303)."""
    if x.__class__ is not NumpyArray:
        if isinstance(x, Tensor):
            return x
        raise bad_type(f"expected np.ndarray (got {type(x).__name__})")
    return wrap(x.array, x.dtype)


def as_numpy(value: Any) -> Any:
    """An argument as NumPy takes it. Raises RuntimeFault (E0404) for a tensor in a graph."""
    if value.__class__ is NumpyArray:
        return value.array
    if isinstance(value, Tensor):
        try:
            return np.asarray(value.numpy())
        except Fault as fault:
            fault.help = "write np.array([x, y]) of what is computed, or begin with torch.zeros(2)"
            raise
    if value.__class__ in (list, tuple, range):
        values = check_nested(as_list(value))
        charge(sum(8 * one.array.size for one in values if isinstance(one, Tensor)))
        return np.asarray([as_numpy(v) for v in values]) if values else np.asarray([])
    if isinstance(value, bool | int | float | complex | None):
        return float(value) if value.__class__ is int and value.bit_length() > 63 else value
    raise bad_type(f"arrays are made of numbers, not of {a_value(value)}")


def argument(value: Any) -> Any:
    """An argument as NumPy takes it. Whole numbers in a list may be a shape or axes, and arrays of
    several shapes are to be joined: both stay apart."""
    if isinstance(value, str):
        return value
    if value.__class__ not in (list, tuple):
        return as_numpy(value)
    parts = tuple(map(as_numpy, check_nested(value)))
    apart = all(isinstance(one, int) for one in parts) or len(set(map(np.shape, parts))) > 1
    charge(sum(one.nbytes for one in parts if isinstance(one, np.ndarray)))
    return parts if apart else np.asarray(parts)


def _index(index: Any) -> Any:
    if index.__class__ is tuple:
        return tuple(_index(part) for part in index)
    if isinstance(index, slice) or index is None or index is ...:
        return index
    return as_numpy(index)


def element_type(dtype: Any) -> Any:
    """What ``dtype=`` names. Raises TypeFault (E0303) where it names nothing."""
    found = named_type(dtype)
    if found is None:
        raise bad_type("dtype is np.float32, np.int64 and the like")
    return found


def named_type(dtype: Any) -> Any:
    """The same; None where it names nothing."""
    if isinstance(dtype, ElementType):
        return dtype.dtype
    if isinstance(dtype, str):
        return next((d for d in dtypes.ALL if d.name == dtype), None)
    if isinstance(dtype, dtypes.DType):
        return dtype
    try:
        return argument_checks.TYPES.get(dtype)
    except TypeError:
        return None


def options_of(options: dict[str, Any]) -> dict[str, Any]:
    """Keywords as NumPy takes them."""
    found = {}
    for name, value in options.items():
        if name == "dtype" and value is not None:
            found[name] = element_type(value).numpy
        elif name == "out":
            if value.__class__ is not NumpyArray:
                raise bad_type("out= is an array", help="np.add(a, 1, out=a)")
            found[name] = value.array
        else:
            found[name] = argument(value)
    return found


_GROWING: dict[str, Any] = {
    name: op
    for op in OPERATORS.values() if op.grows
    for name in (op.name, *op.aliases)
} | dict.fromkeys(("diff", "ptp", "round", "vecdot", "matvec", "vecmat", "polyval"))  # fmt: skip
"""Functions whose whole numbers may lose bits, with the operators that they are."""
_OF_SIGNS = {
    "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift",
}  # fmt: skip
"""NumPy's names of what Python's methods of signs do, where they differ."""


def _computed(function: Callable, *values: Any, **options: Any) -> Any:
    """What NumPy computes. Raises ValueFault (E0314) where whole numbers have lost bits."""
    name = function.__name__.strip("_")
    name = _OF_SIGNS.get(name, name)
    op, bits, out = _GROWING.get(name), IN_FLOATS.get(name), options.get("out")
    if name not in _GROWING and bits is None:
        return function(*values, **options)
    many = op.arity if op else 2 if bits else getattr(function, "nin", 1)
    given = [np.asarray(v) if v.__class__ is tuple else v for v in values[:many]]
    if out is not None:
        given = [np.copy(v) if np.may_share_memory(v, out) else v for v in given]
    found = function(*values, **options)
    if not isinstance(found, np.ndarray | np.generic) or found.dtype.kind not in "iu":
        return found
    sizes = [*map(np.size, given)]
    if op and fits(bound(op, [*map(largest, given)], sizes, options), found.dtype):
        return found
    if bits:
        held(name, found, bits(*given))
    else:
        rest = {k: v for k, v in options.items() if k not in ("dtype", "out")}
        held(name, found, function(*map(in_floats, given), *values[many:], **rest))
    return found


def _charged(values: list[Any]) -> None:
    """Account for what arguments may be broadcast to."""
    shapes = [
        v.shape if isinstance(v, np.ndarray) else (sum(map(np.size, v)),)
        for v in values if isinstance(v, np.ndarray | tuple)
    ]  # fmt: skip
    if shapes:
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            shape = max(shapes, key=np.prod)
        charge(8 * int(np.prod(shape, dtype=float)))


def is_traced(value: Any) -> bool:
    """Whether a value is a tensor, or stands for one: what a gradient may be asked of."""
    return value.__class__ is not NumpyArray and argument_checks.rank_of(value) > 0


def _holds_traced(value: Any) -> bool:
    """Whether a value is traced, or a list of such; in a list of lists too."""
    value = check_nested(value) if value.__class__ in (list, tuple) else value
    return argument_checks.holds(value, is_traced)


def _are_arrays(given: tuple) -> bool:
    """Whether arguments are arrays and lists, and no tensors or numbers alone."""
    arrays = any(v.__class__ in (NumpyArray, list, tuple, range) for v in given)
    return arrays and not any(map(_holds_traced, given))


def by_numpy(function: Callable, otherwise: Any = None) -> Callable:
    """``np.name``: NumPy's own for arrays and lists, ``otherwise`` for tensors and numbers."""

    def call(*args: Any, **options: Any) -> Any:
        if otherwise is not None and not _are_arrays((*args, *options.values())):
            found = otherwise(*args, **options)
            truth = found.__class__ is bool and function not in (np.allclose, np.array_equal)
            return array_of(np.bool_(found)) if truth else found  # `~` of it is no -1 or -2
        values = [*map(argument, args)]
        _charged(values)
        given = options_of(options)
        if "out" not in options:
            return array_of(_computed(function, *values, **given), args)
        options["out"]._written(_computed, function, *values, **given)
        return options["out"]

    return named(call, getattr(function, "__name__", "array"))


def of_arrays(function: Callable) -> Callable:
    """``np.name`` by a function of tensors, which of arrays and lists makes arrays."""

    def call(*args: Any, **options: Any) -> Any:
        if not _are_arrays((*args, *options.values())):
            return function(*args, **options)
        with dtypes.default_dtype(dtypes.float64):  # NumPy's of whole numbers and of lists
            return array_of(function(*args, **options), args)

    return named(call, function.__name__)


METHODS = """
    sum mean std var min max argmin argmax prod cumsum cumprod reshape ravel flatten transpose
    squeeze copy all any round clip argsort nonzero trace swapaxes diagonal
"""


def fitting(found: Any, values: Any) -> Any:
    """``found``, which has ``values`` in another type. Raises ValueFault (E0314) for lost bits."""
    dtype = found.dtype
    other = isinstance(values, np.ndarray | np.generic) and values.dtype != dtype
    if other and dtype.kind in "iu" and not fits(largest(values), dtype):
        held("astype", found, without_bounds(values, dtype))
    return found


def _converted(values: Any, dtype: np.dtype) -> Any:
    return fitting(values.astype(dtype), values)


def _method(name: str) -> Callable:
    def call(self: NumpyArray, *args: Any, **options: Any) -> Any:
        values = [*map(argument, args)]
        _charged([self.array, *values])
        method = getattr(self.array.__class__, name)
        return array_of(_computed(method, self.array, *values, **options_of(options)), (self,))

    return named(call, name)


attributes.CALL[NumpyArray] = {
    **{name: _method(name) for name in METHODS.split()},
    "astype": lambda self, dtype: array_of(_converted(self.array, element_type(dtype).numpy)),
    "sort": lambda self, axis=-1: self._written(self.array.sort, axis),
    "tolist": argument_checks.to_list, "item": lambda self, *at: self.array.item(*at),
    "fill": lambda self, value: self.__setitem__(Ellipsis, value),
    "view": lambda self: array_of(self.array.view(), (self,)),
    "dot": by_numpy(np.dot, MEANINGS["dot"]),
}  # fmt: skip


def _put(*_: Any) -> None:
    raise bad_type("put() of an array that leads gradients", help="write a[i] = v")


WRITES: dict[str, Callable] = {
    "fill": lambda a, value: set_item(a, ..., value),
    "sort": lambda a, axis=-1: set_item(a, ..., MEANINGS["sort"](a, axis)),
    "put": _put,
}
"""Methods that write to an array, where it leads gradients."""


def method_of(value: Any, name: str) -> Callable:
    """A method of an array that leads gradients, where that of a tensor is something else."""
    meaning = MEANINGS[name] if name in MEANINGS else OPERATORS[f"a{name}"]  # max and min
    function = argument_checks.with_checks(meaning)
    if name == "transpose":
        return lambda *axes: function(value, (axes[0] if len(axes) == 1 else axes) or None)
    return partial(function, value)


ATTRIBUTES: dict[str, Callable[[NumpyArray], Any]] = {
    "shape": lambda a: tuple(a.array.shape), "ndim": lambda a: a.array.ndim,
    "size": lambda a: a.array.size, "dtype": lambda a: ElementType(a.dtype),
    "T": lambda a: array_of(a.array.T, (a,)), "real": lambda a: array_of(a.array.real, (a,)),
    "imag": lambda a: array_of(a.array.imag, (a,)), "nbytes": lambda a: a.array.nbytes,
    "itemsize": lambda a: a.array.itemsize,
}  # fmt: skip


def _operator(name: str, function: Callable, turned: bool = False) -> Callable:
    plain = getattr(Tensor, name, None)

    def apply(self: NumpyArray, *others: Any) -> Any:
        if any(map(_holds_traced, others)):
            others = tuple(argument_checks.checked_data(other, name) for other in others)
            return NotImplemented if plain is None else plain(self, *others)
        values = [self.array, *map(as_numpy, others)]
        _charged(values)
        return array_of(_computed(function, *(values[::-1] if turned else values)))

    return named(apply, name)


def _in_place(function: Callable, name: str) -> Callable:
    into = getattr(np, _OF_SIGNS.get(name, name))

    def apply(self: NumpyArray, other: Any) -> Any:
        if isinstance(self.array, np.generic):
            return NotImplemented  # a number does not change: what has its name is a new one
        if _leads(self, other):
            return function(self, argument_checks.checked_data(other, "an array"))
        raw = as_numpy(other)
        if self.array.dtype.kind in "iu" and (name != "matmul" or np.ndim(raw) > 1):
            self._written(_computed, into, self.array, raw, out=self.array)
        else:
            self.array = self._written(function, self.array, raw)
        return self

    return apply


_COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")
_TWO_SIDED = (*SIGNS.values(), "lshift", "rshift")
for _word in (*_TWO_SIDED, *_COMPARED, "neg", "pos", "abs", "invert"):
    _function = getattr(operator, f"__{_word}__")
    setattr(NumpyArray, f"__{_word}__", _operator(f"__{_word}__", _function))
    if _word in _TWO_SIDED:
        _back = f"__r{_word}__"
        setattr(NumpyArray, _back, _operator(_back, _function, turned=True))
        setattr(NumpyArray, f"__i{_word}__", _in_place(getattr(operator, f"__i{_word}__"), _word))


def attribute(a: NumpyArray, name: str) -> Any:
    """``a.name``. Raises UnknownAttribute (E0204)."""
    if name in ATTRIBUTES:
        return ATTRIBUTES[name](a)
    method = attributes.CALL[NumpyArray].get(name)
    if method is None:
        raise attributes.UnknownAttribute(NumpyArray, name, "numpy.ndarray")
    return lambda *args, **options: method(a, *args, **options)


NDARRAY = TypeName(NumpyArray, "ndarray", "numpy.ndarray")
"""``np.ndarray``."""
NumpyArray.__gradcli_get__ = attribute  # type: ignore[attr-defined]
NumpyArray.__gradcli_made_by__ = staticmethod(lambda: NDARRAY)  # type: ignore[attr-defined]
