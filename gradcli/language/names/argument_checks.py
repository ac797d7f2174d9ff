"""Checks of the arguments with which a program calls the functions of the name table.

An operator would compute on whatever array NumPy can make of an argument: of a range of 10**12
numbers, of a list that contains itself, of a string. So every call converts its arguments first:
lists become tensors once their size is known, and what is not a number is refused. A call on
tensors and numbers costs one look at each type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import zip_longest
from sys import modules
from types import FunctionType
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation import factories
from gradcli.engine.grad_mode import mode
from gradcli.engine.record.arguments import UNSAID, parameters_of
from gradcli.engine.record.face import unchecked
from gradcli.engine.record.fast_path import of_numbers
from gradcli.engine.record.out import into
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.functions.index import HOMES
from gradcli.language.limits.sizes import (
    LIST_LIMIT,
    SHORT,
    TENSOR_BYTES,
    Lazy,
    as_list,
    check_length,
    check_nested,
)
from gradcli.language.names import builtins
from gradcli.language.names.calling import named
from gradcli.language.type_names import a_value
from gradcli.ops.errors import bad_argument, bad_type
from gradcli.ops.memory_budget import charge
from gradcli.ops.operator import OPERATORS, PARAM_ALIASES, Operator

_PLAIN = frozenset((Tensor, float))
_LISTS = frozenset((list, tuple))
_HEAVY = frozenset((*_LISTS, range, Lazy))
_COMPOSED = frozenset(f"gradcli.functions.{module}" for module in HOMES if module != "overloads")
_ALIASES = {alias: op for op in OPERATORS.values() for alias in (op.name, *op.aliases)}


def checked_option(value: Any) -> Any:
    """an argument that is not data: a list among shapes and dimensions is short."""
    kind = value.__class__
    if kind in _HEAVY:
        return check_nested(value if kind is not Lazy else as_list(value), SHORT)
    if kind is int and value.bit_length() > 64:
        return float(value)
    if kind is FunctionType:  # float, int and bool stand for element types
        return TYPES.get(value, value)
    return value


TYPES: dict[Any, dtypes.DType] = {
    builtins.TABLE["float"]: dtypes.float64, builtins.TABLE["int"]: dtypes.int64,
    builtins.TABLE["bool"]: dtypes.bool_,
}  # fmt: skip
"""What Python's own types mean as an element type."""


def checked_data(value: Any, name: str) -> Any:
    """An argument that an operator computes on. Raises TypeFault (E0303) for what is no number."""
    kind = value.__class__
    if kind in _PLAIN:
        return value
    if kind is int:
        return float(value) if value.bit_length() > 63 else value
    if kind in _HEAVY:
        return tensor_of(value)
    if isinstance(value, str) or (callable(value) and not rank_of(value)):
        said = f"{name} cannot take a {'string' if isinstance(value, str) else 'function'}"
        raise bad_type(said, help="it takes tensors, numbers and lists of numbers")
    return builtins.number(value)


def tensor_of(value: Any) -> Tensor:
    """A list of numbers as a tensor, its size known first; gradients lead to the tensors in it."""
    lists = bounded_lists(value)
    return stacked(lists) if holds_traced(lists) else factories.tensor(lists)


def stacked(lists: Any, whole: bool = False) -> Any:
    """Nested lists of numbers and of tensors of one shape, joined; those of one entry count as
    numbers, unless they stay ``whole``.
    """
    shape, entries = [], [lists]
    while entries and all(one.__class__ in _LISTS for one in entries):
        shape.append(len(entries[0]))
        if any(len(one) != shape[-1] for one in entries):
            break
        entries = [entry for one in entries for entry in one]
    if any(one.__class__ in _LISTS for one in entries):
        return factories.tensor(lists)  # which says what is ragged
    parts = [entry if rank_of(entry) else factories.as_tensor(entry) for entry in entries]
    if not whole:
        parts = [one.reshape(()) if isinstance(one, Tensor) and one.numel() == 1 else one
                 for one in parts]  # fmt: skip
    joined = OPERATORS["stack"](*parts)
    return joined if len(shape) == 1 else OPERATORS["reshape"](joined, (*shape, *joined.shape[1:]))


def rank_of(value: Any) -> int:
    """More than 0 for a tensor, and for what stands for one."""
    return getattr(value, "__gradcli_rank__", 0)


def holds_traced(value: Any) -> bool:
    """Whether a value, or an entry of nested lists, has a gradient or a tangent to come back to."""
    return holds(value, lambda one: one.requires_grad if isinstance(one, Plain) else rank_of(one))


def holds(value: Any, test: Callable[[Any], Any]) -> bool:
    """Whether a test is true of a value that is no number, or of one in nested lists."""
    work = [value]
    while work:
        one = work.pop()
        if one.__class__ in _LISTS:
            work += one
        elif one.__class__ not in _NUMBERS and test(one):
            return True
    return False


def bounded_lists(value: Any) -> Any:
    """What may be made a tensor of: nested lists of bounded size, ranges written out."""
    kind = value.__class__
    if kind is range or kind is Lazy:
        return as_list(value)
    if kind in _HEAVY:
        check_nested(value)
        if any(item.__class__ is range for item in value):
            value = [as_list(item) if item.__class__ is range else item for item in value]
    return value


def _operator(function: Any) -> Operator | None:
    return function if isinstance(function, Operator) else getattr(function, "operator", None)


@cache
def with_checks(function: Any, count: int | None = None) -> Any:
    """``function`` of a table with its arguments looked at; ``count`` where a call has so many.

    Functions that look at their arguments themselves pass unchanged.
    """
    special = _special(function)
    if special is not None:
        return special
    module = getattr(function, "__module__", "") or ""
    if module in _COMPOSED or getattr(function, "checked", False):
        function = unchecked(function)  # programs may give numbers for tensors
    op = None if module in _COMPOSED else _operator(function)
    if op is not None:
        return _operator_with_checks(function, op, count)
    if (
        callable(function)
        and module.startswith("gradcli.")
        and not module.startswith("gradcli.language")
        and not isinstance(function, type)
    ):
        return composed(function)
    return function


def _operator_with_checks(function: Any, op: Operator, count: int | None) -> Callable:
    name = op.name
    arity = 1 << 30 if op.variadic else op.arity
    call = slow = _any_arguments(function, op, arity)
    if count == 1 and arity == 1:

        def unary(x: Any) -> Any:
            return function(x) if x.__class__ is Tensor else slow(x)

        call = unary
    elif count == 2:

        def binary(x: Any, y: Any) -> Any:
            if x.__class__ is Tensor and y.__class__ in _PLAIN:
                return function(x, y)
            return slow(x, y)

        call = binary
    return named(call, name)


def _parameter_names(function: Any) -> tuple[str, ...]:
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else ()


def _numpy_names(function: Any) -> dict[str, str]:
    """What NumPy calls parameters of a function otherwise: ``axis`` is ``dim``."""
    names = _parameter_names(function)
    return {a: name for a, name in PARAM_ALIASES.items() if name in names and a not in names}


def _any_arguments(function: Any, op: Operator, arity: int) -> Callable:
    name = op.name
    inputs = frozenset((*op.inputs, *op.torch))
    renamed = _numpy_names(function)
    in_floats = op.dtypes == "float"

    def call(*args: Any, out: Any = None, **options: Any) -> Any:
        if out is not None:
            return into(out, call, args, options)
        args = tuple(
            [checked_data(a, name) if i < arity else checked_option(a) for i, a in enumerate(args)]
        )
        if options:
            _refuse_as_python(op, name, args, options)
        options = {
            _torch_name(renamed, k, v): checked_data(v, name) if k in inputs else checked_option(v)
            for k, v in options.items()
        }
        for value in (*args[:arity], *(options[k] for k in inputs & options.keys())):
            if value.__class__ is Tensor or value.__class__ not in _NUMBERS:
                return function(*args, **options)
        # Numbers alone: the operator itself, because Tensor's methods need a tensor.
        if in_floats and (options or bool in map(type, args)):  # NumPy's of truths are float16
            args = (*map(_counted, args[:arity]), *args[arity:])
            options = {k: _counted(v) if k in inputs else v for k, v in options.items()}
        result = op(*args, **options)
        single = getattr(result, "ndim", 1) == 0
        return of_numbers(op, result, args, options) if single else result

    return named(call, name)


_NUMBERS = frozenset((float, int, complex, bool))


def _counted(value: Any) -> Any:
    return float(value) if value.__class__ is bool else value


def _torch_name(renamed: dict[str, str], name: str, value: Any) -> str:
    """PyTorch's name for an option that NumPy may have named. Raises ValueFault (E0304) for an
    empty axis, along which NumPy reduces nothing and PyTorch everything."""
    if name == "axis" and mode.arrays and value.__class__ in (tuple, list) and not value:
        raise bad_argument("an empty axis reduces nothing", help="leave it out, or say which")
    return renamed.get(name, name)


def method_with_checks(name: str, method: Callable, count: int | None) -> Callable:
    """A method of Tensor with its arguments looked at."""
    if count == 0:
        return method
    special = _special(method)
    if special is not None:
        return special
    if method.__module__ in _COMPOSED and _parameter_names(method)[:1] != ("self",):
        return with_checks(method)
    op = _ALIASES.get(name.rstrip("_")) if name != "where" else None
    inputs = op.arity - 1 if op is not None and not op.variadic else 0
    renamed = _numpy_names(method)

    def call(self: Any, *args: Any, **options: Any) -> Any:
        if not options and all(a.__class__ in _PLAIN for a in args):
            return _done(method(self, *args), name, args)
        args = tuple(
            [checked_data(a, name) if i < inputs else checked_option(a) for i, a in enumerate(args)]
        )
        options = {_torch_name(renamed, k, v): checked_option(v) for k, v in options.items()}
        return _done(method(self, *args, **options), name, args)

    if count != 1:
        return call

    def one(self: Any, first: Any) -> Any:
        if first.__class__ in _PLAIN:
            return method(self, first)
        return call(self, first)

    return one


def _done(result: Any, name: str, args: tuple) -> Any:
    if result is NotImplemented:
        raise bad_type(f"{name} cannot take {a_value(args[0])}")
    return result


# ---- Functions whose result is larger than their arguments ---------------------------------------


def _parting(pieces: Callable[[int, Any], int], function: Callable) -> Callable:
    look, name = composed(function), function.__name__
    first, *sizes = _parameter_names(function)

    def call(*args: Any, **options: Any) -> Any:
        given = {**dict(zip((first, *sizes), args, strict=False)), **options}
        x = checked_data(given.get(first), name)
        size = next((given[k] for k in sizes if k in given and k != "dim"), 1)
        if isinstance(size, int) and size < 1 and name != "unbind":
            raise bad_argument(f"{name}: the size is {size}", help="give 1 or more")
        most = max(getattr(x, "shape", ()) or (0,))
        charge(TENSOR_BYTES * check_length(pieces(most, size)))
        return look(*args, **options)

    return named(call, name)


def _making(function: Callable) -> Callable:
    """Functions that make a tensor of data."""
    name = function.__name__

    def call(data: Any = (), *args: Any, **options: Any) -> Any:
        data = bounded_lists(data)
        for key, value in options.items():
            options[key] = checked_option(value)
        return function(data, *[checked_option(a) for a in args], **options)

    return named(call, name)


def _few(most: int, size: Any) -> int:
    return -(-most // size) if isinstance(size, int) and size > 0 else min(most, LIST_LIMIT)


def _sections(most: int, sections: Any) -> int:
    return sections if isinstance(sections, int) else 1


def to_list(x: Tensor) -> Any:
    """``x.tolist()``, its length known first."""
    if not is_kept(x) or not x.ndim:
        check_length(x.array.size)
        charge(32 * x.array.size)
        return to_number(x) if is_kept(x) else x.tolist()
    items = as_list(OPERATORS["reshape"](x, (-1,)))
    for size in x.shape[:0:-1]:
        items = [items[i : i + size] for i in range(0, len(items), max(1, size))]
    return items


def is_kept(x: Any) -> bool:
    """Whether a number of ``x`` stays in its graph where it becomes Python's own: in a text of
    NumPy's arrays, which knows of no graph."""
    return mode.arrays and holds_traced(x)


def to_number(x: Any, *at: Any) -> Any:
    """``x.item()``; with a place, which NumPy's has, in texts of arrays."""
    if at and mode.arrays:
        x = x[at] if len(at) > 1 else OPERATORS["reshape"](x, (-1,))[at[0]]
    elif at or not is_kept(x) or x.numel() != 1:
        return x.item(*at)
    return OPERATORS["clone"](OPERATORS["reshape"](x, ())) if is_kept(x) else x.item()


def _gather(x: Any, indices: Any, dim: Any = 0) -> Any:
    """``gather`` makes as many entries as there are indices; PyTorch has ``dim`` before those."""
    if dim.__class__ is Tensor:
        indices, dim = dim, indices
    if indices.__class__ is Tensor:
        charge(8 * indices.array.size)
    return OPERATORS["gather"](
        checked_data(x, "gather"), checked_option(indices), checked_option(dim)
    )


_BOUNDED: dict[tuple[str, str], Callable[[Callable], Callable]] = {
    ("reshaping", "split"): partial(_parting, _few),
    ("reshaping", "chunk"): partial(_parting, min),
    ("reshaping", "unbind"): partial(_parting, lambda most, _: most),
    ("reshaping", "tensor_split"): partial(_parting, _sections),
    **{("factories", name): _making for name in ("tensor", "as_tensor")},
    ("overloads", "is_tensor"): lambda function: function,
}
"""By module and name: what bounds the size of a result, which no operator's declaration says."""


def _special(function: Any) -> Callable | None:
    if getattr(function, "operator", function) is OPERATORS["gather"]:
        return _gather
    if function is Tensor:
        return _making(Tensor)
    module, name = getattr(function, "__module__", None) or "", getattr(function, "__name__", "")
    bounded = _BOUNDED.get((module.rpartition(".")[2], name))
    own = bounded is not None and getattr(modules[module], name, None) is function
    return bounded(function) if bounded is not None and own else None


# Names of parameters, of which a few are names of operators, too.
DATA = frozenset(
    ("input", "other", "tensor1", "tensor2", "end", "exponent", "mat1", "mat2", "mat",
     "vec", "vec1", "vec2", "batch1", "batch2", "x", "y", "x1", "x2", "a", "b", "target",
     "src", "source", "mask", "condition", "real", "imag", "abs", "tensor", "anchor",
     "positive", "negative", "weight", "bias", "query", "key", "value", "running_mean",
     "running_var", "A", "B")
)  # fmt: skip
SEQUENCES = frozenset(("tensors", "matrices", "operands"))
_VARIADIC = 0x04


def composed(function: Callable) -> Callable:
    """``function`` with its arguments looked at."""
    code = getattr(function, "__wrapped__", function).__code__
    order = code.co_varnames[: code.co_argcount]
    rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if (
        code.co_flags & _VARIADIC
    ) else ""  # fmt: skip
    name = function.__name__
    leading = bool(order) and order[0] in DATA
    renamed = _numpy_names(function)

    def call(*args: Any, out: Any = None, **options: Any) -> Any:
        if out is not None:
            return into(out, call, args, options)
        each = "input" if rest in SEQUENCES and len(args) > len(order) + 1 else rest
        given = [_seen(order[i] if i < len(order) else each, a, name) for i, a in enumerate(args)]
        if options:
            _refuse_as_python(function, name, given, options)
        options = {_torch_name(renamed, k, v): _seen(k, v, name) for k, v in options.items()}
        if leading and given and given[0].__class__ in _NUMBERS:
            return _of_numbers(function, order, given, options)
        return function(*given, **options)

    call.__name__ = name
    call.__wrapped__ = function  # type: ignore[attr-defined]
    if hasattr(function, "dtype"):  # x.type(torch.LongTensor)
        call.dtype = function.dtype  # type: ignore[attr-defined]
    return call


def _refuse_as_python(function: Any, name: str, given: Sequence[Any], options: dict) -> None:
    """Raise TypeFault (E0303) for what Python's function refuses: keepdim without a dim, a None.

    NumPy's names have NumPy's meaning: ``keepdims`` needs no ``axis``.
    """
    takes = parameters_of(function, name)
    if takes is not None:
        values = takes.bind(tuple(given), options)
        doubtful = {n for n in options if n == "keepdim" or options[n] is None}
        takes.check({n: v for n, v in values.items() if n in doubtful or v is UNSAID})


def _seen(name: str, value: Any, function: str) -> Any:
    if name in SEQUENCES:
        return _composed_tensors(value, function)
    if name in DATA and value is not None and not isinstance(value, str):
        return checked_data(value, function)
    return checked_option(value)


def _composed_tensors(values: Any, function: str) -> Any:
    """A list of tensors, or one of them where the function takes several."""
    if values.__class__ not in _HEAVY:
        return checked_data(values, function)
    values = as_list(values)
    charge(sum([v.array.size * 8 if v.__class__ is Tensor else 8 for v in values]))
    for i, value in enumerate(values):
        if value.__class__ is not Tensor:
            check_nested(value) if value.__class__ in _HEAVY else checked_data(value, function)
            values[i] = value if rank_of(value) else tensor_of(value)
    return values


def _of_numbers(function: Callable, order: tuple, given: list, options: dict) -> Any:
    """The call with a number first: a tensor of it among tensors, else a number comes out."""
    named = [*zip(order, given, strict=False), *options.items()]
    among = [k in DATA for k, v in named if rank_of(v)]
    if any(among):
        given[0] = factories.tensor(given[0])
        return function(*given, **options)
    make = factories.tensor if among else _exact  # a tensor for a bound: clamp(2, x)
    given = [
        make(v) if k in DATA and v.__class__ in _NUMBERS else v
        for k, v in zip_longest(order[: len(given)], given)
    ]
    options = {
        k: make(v) if k in DATA and v.__class__ in _NUMBERS else v for k, v in options.items()
    }
    result = function(*given, **options)
    number = not among and isinstance(result, Tensor) and not result.ndim
    return result.item() if number and not holds_traced(result) else result


def _exact(value: Any) -> Any:
    """A number as a 0-d tensor that holds all of it."""
    dtype = {float: dtypes.float64, complex: dtypes.complex128}.get(
        value.__class__, dtypes.number_dtype(value)
    )
    return wrap(np.asarray(value, dtype.numpy)[()], dtype)
