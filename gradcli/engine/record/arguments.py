"""What the parameters of PyTorch's functions take, and the functions as Python calls them.

``torch.maximum(x, 2)`` is refused: PyTorch declares a Tensor there. What is declared stands on the
function: the annotation of a parameter, or of an operator ``numbers``, the inputs that may be plain
numbers. Where an annotation is Any, the name of the parameter says it, which means the same in all
of PyTorch's functions: ``input`` and ``index`` are tensors, ``dim`` is a whole number or several. A
form in place is declared by the function whose result it writes, its ``declared``.

``face`` makes the function with those checks, PyTorch's ``out=`` and NumPy's names. A call in order
costs one look at the class of each argument; what does not pass this is looked at more closely.
Composed functions, rules and programs of the language call the functions themselves, which take
numbers for tensors.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType
from typing import Any, TypeAlias

import numpy as np

from gradcli.engine.dtypes import DType, Layout, number_dtype
from gradcli.engine.record.out import into
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.ops.errors import AttributeFault, Fault, bad_type
from gradcli.ops.operator import PARAM_ALIASES, Operator, plain_number
from gradcli.ops.torch_messages import kind_of, not_a, too_big, too_long


class Source:
    """Gives ``linecache`` the text of a written function."""

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, name: str) -> str:
        """The text."""
        return self.text


ABSENT: Any = type("absent", (), {"__repr__": lambda self: "..."})()
"""Stands for an argument that was not given and has no default."""

UNSAID: Any = type("unsaid", (), {"__repr__": lambda self: "..."})()
"""The default of an argument that may be left out, but not be None: ``prod(x)``."""

Number: TypeAlias = Any
"""The annotation of a plain number, or a tensor of one."""

Operand: TypeAlias = Any
"""The annotation of a tensor or a plain number."""

Required: TypeAlias = int
"""The annotation of a whole number that Python's calls have to give; a program may leave it out."""

Kept: TypeAlias = bool
"""The annotation of a ``keepdim`` that is given with a ``dim`` alone, which left out is None."""

Order: TypeAlias = Any
"""The annotation of the order of a norm: a number or a name."""

Asked: TypeAlias = Any
"""The annotation of a tensor that PyTorch's own Python asks: what is none lacks an attribute."""

Sized: TypeAlias = Any
"""The annotation of a tensor that it asks for its size, which arrays have, and do not call."""

Anything: TypeAlias = Any
"""The annotation of what the function looks at itself."""

_ALIASES = {
    "Asked": ("Tensor", "asked"),
    "Sized": ("Tensor", "asked", "sized"),
    "Required": ("int",),
    "Kept": ("bool",),
    "Operand": ("Tensor", "Number"),
    "Order": ("Number", "str"),
    "Sequence[Any]": ("Sequence[Tensor]",),
    "Sizes": ("int", "Sequence[int]"),
}

_BY_NAME: dict[str, str] = {
    name: kind
    for kind, names in {
        "Tensor": (
            "self input tensor other x x1 x2 y a b A B LU pivots mat mat1 mat2 vec vec1 vec2 "
            "batch1 batch2 tensor1 tensor2 mask index indices src source values condition "
            "abs angle real imag tau LD input2 LU_data LU_pivots L grid input1 "
            "target targets log_probs anchor positive negative query key theta logits"
        ),
        "Tensor | None": "sorter weights aweights fweights weight bias running_mean running_var "
        "window prepend append bias_k bias_v attn_mask pos_weight offsets per_sample_weights",
        "Sequence[Tensor]": "tensors matrices",
        "Number": "alpha beta value min max correction negative_slope start step base end "
        "fill_value dx",
        "int | Sequence[int]": "dim dims size shape shifts",
        "int": "diagonal offset dim0 dim1 decimals n",
        "float": "rtol atol eps nan",
        "float | None": "posinf neginf",
        "DType": "dtype",
        "Layout": "memory_format",
        "Layout | None": "layout",
        "bool | None": "pin_memory",
    }.items()
    for name in names.split()
}
"""What a parameter takes by its name, where nothing else is declared."""

_CLASSES: Mapping[str, tuple[type, ...]] = {
    "Tensor": (Tensor,),
    "Number": (float, int, complex, bool),
    "int": (int,),
    "bool": (bool,),
    "float": (float, int, bool),
    "str": (str,),
    "DType": (DType,),
    "Layout": (Layout,),
    "None": (NoneType,),
}
"""The classes of nearly all arguments, by what is declared."""


def whole_or_along(name: str, dim: Any, keepdim: Any) -> Any:
    """The ``dim`` of a reduction, None where it was left out.

    Raises TypeFault (E0303) for a ``keepdim`` without one.
    """
    if dim is not UNSAID and dim is not None:
        return dim
    if keepdim:
        raise _without_dim(name)
    return None


def _without_dim(name: str) -> Fault:
    return bad_type(f"{name}() takes keepdim with a dim alone", help=f"write {name}(0, True)")


def _rank(value: Any) -> int:
    return getattr(value, "__gradcli_rank__", 0)


def _single(value: Any, kinds: tuple[int, ...] = (0, 1, 2, 3)) -> bool:
    """Whether a tensor stands for one number; of what stands for a tensor nobody knows."""
    rank = _rank(value)
    single = rank == 1 and not value.ndim and value.edge is None
    return rank > 1 or (single and value.dtype.kind in kinds)


def is_whole(value: Any) -> bool:
    """Whether ``value`` is a whole number, or a tensor of one."""
    whole = isinstance(value, int | np.integer) and value.__class__ is not bool
    return whole or _single(value, (1,))


def is_size(value: Any) -> bool:
    """Whether ``value`` is a whole number of 64 bits, or a tensor or an array of one entry."""
    if isinstance(value, np.ndarray):
        return not value.ndim and value.dtype.kind in "iu"
    if value.__class__ is Tensor and value.numel() == 1:
        return bool(value.dtype.kind == 1)
    return is_whole(value) and (value.__class__ is not int or -(2**63) <= value < 2**63)


_TAKES: Mapping[str, Callable[[Any], bool]] = {
    "Tensor": lambda v: _rank(v) > 0,
    "Number": lambda v: isinstance(v, int | float | complex | np.generic) or _single(v),
    "int": is_whole,
    "bool": lambda v: isinstance(v, bool) or _rank(v) > 1,
    "float": lambda v: (
        isinstance(v, int | float | np.floating | np.integer | np.bool_) or _single(v)
    ),
    **dict.fromkeys(("asked", "sized"), lambda v: False),
    "str": lambda v: isinstance(v, str),
    "DType": lambda v: isinstance(v, DType) or any(v is c for c in _CLASSES["Number"]),
    "Layout": lambda v: v.__class__ is Layout,
    "None": lambda v: v is None,
    "Sequence[int]": lambda v: isinstance(v, list | tuple) and all(map(is_size, v)),
    "Sequence[Tensor]": lambda v: isinstance(v, list | tuple) and all(_rank(t) for t in v),
}
"""Whether a value is what is declared, looked at closely."""

_NONE: Mapping[str, Any] = {}
_SAID = {
    "Sequence[int]": "tuple of ints", "Sequence[Tensor]": "tuple of Tensors",
    "DType": "torch.dtype", "Layout": "torch.memory_format",
}  # fmt: skip
"""What PyTorch's errors call these."""
_NUMPY = {
    "axis": "dim", "keepdims": "keepdim", "a": "input", "x": "input", "x1": "input", "x2": "other",
    "split_size": "split_size_or_sections", "from": "low", "to": "high", "rcond": "rtol",
    "sections": "indices_or_sections", "indices": "indices_or_sections", "input2": "tau",
    "tensor_indices_or_sections": "indices_or_sections", "test_element": "test_elements",
}  # fmt: skip
"""NumPy's names of parameters, which PyTorch takes too, and its own; what a method calls one."""


def _bounds(kinds: tuple[str, ...]) -> tuple[float, float]:
    """The least and the largest whole number that an argument may be."""
    if "int" not in kinds and "Number" not in kinds:
        return -math.inf, math.inf
    return -(2**63), 2 ** (63 if "int" in kinds else 64) - 1


class Parameters:
    """The parameters of a function, and what each takes."""

    __slots__ = (
        "aliases", "alone", "defaults", "kept", "kinds", "method", "name", "named", "order",
        "shown",
    )  # fmt: skip

    order: tuple[str, ...]
    named: tuple[str, ...]
    """Those that are given by name alone."""
    defaults: dict[str, Any]
    aliases: dict[str, str]
    """Further names of some."""
    kinds: dict[str, tuple[str, ...]]
    """What is declared for each; nothing of those that take anything."""
    alone: bool
    """Whether of numbers alone there is a tensor."""
    kept: bool
    """Whether keepdim is given with a dim alone."""

    def __init__(self, name: str, method: bool) -> None:
        self.name = name
        self.method = method
        self.aliases = {}
        self.kept = False
        self.shown: dict[str, str] = {}  # what PyTorch calls some

    def bind(self, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        """The values by name. Raises TypeError as a call does."""
        args, options = self._older(args, options)
        if len(args) > len(self.order):
            count = len(self.order)
            raise TypeError(
                f"{self.name}() takes {count} positional argument{'s' * (count != 1)} but "
                f"{len(args)} were given"
            )
        values = {**dict.fromkeys((*self.order, *self.named), ABSENT), **self.defaults}
        values.update(zip(self.order, args, strict=False))
        given = set(self.order[: len(args)])
        for name, value in options.items():
            own = name if name in values else self.aliases.get(name) or _NUMPY.get(name, name)
            if own not in values:
                raise TypeError(f"{self.name}() got an unexpected keyword argument {name!r}")
            if own in given:
                raise TypeError(f"{self.name}() got multiple values for argument {own!r}")
            given.add(own)
            values[own] = value
        return values

    def _older(
        self, args: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """A call in PyTorch's older order, factors among the tensors: ``add(x, alpha, y)``."""
        more = max(len(args) - len(self.order), 0)
        at = (1,) if "beta" not in self.named else (1, 2) if self.method else (0, 2)
        places = dict(zip(at[:more], self.factors, strict=False))
        known = more == len(places) and options.keys().isdisjoint(self.factors)
        newer = self.name.startswith(("rsub", "subtract"))  # which take numbers alone so
        if not more or not known or (newer and _rank(args[-1])):
            return args, options
        if any(_rank(args[i]) and not _single(args[i]) for i in places):
            return args, options
        tensors = tuple(a for i, a in enumerate(args) if i not in places)
        return tensors, {**{name: args[i] for i, name in places.items()}, **options}

    @property
    def factors(self) -> list[str]:
        """The factors, which may stand among the tensors too."""
        return [n for n in ("beta", "alpha", "value") if n in self.named]

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise TypeError for what is missing, TypeFault (E0303) for a value of another kind."""
        missing = next((name for name, value in values.items() if value is ABSENT), None)
        if missing is not None:
            name = self.shown.get(missing, missing)
            raise TypeError(f"{self.name}() missing 1 required positional argument: {name!r}")
        for place, (name, value) in enumerate(values.items()):
            kinds = self.kinds.get(name, ())
            if not kinds or value is self.defaults.get(name, ABSENT):
                continue
            ordinary = value.__class__ in _classes(kinds)
            if not ordinary and not any(_TAKES[kind](value) for kind in kinds):
                raise self.wrong(name, place, value)
            if value.__class__ is int:
                least, most = _bounds(kinds)
                if not least <= value <= most:
                    raise too_long() if "int" in kinds else too_big(value)
        if self.kept and values.get("dim") is UNSAID is not values.get("keepdim", UNSAID):
            raise _without_dim(self.name)
        first = self.order[0] if self.order else ""
        if (
            first in values
            and self.kinds.get(first) == ("Tensor", "Number")
            and not any(
                _rank(v) for name, v in values.items() if "Tensor" in self.kinds.get(name, ())
            )
        ):
            raise self.wrong(first, 0, values[first])

    def ordinary(self, values: Mapping[str, Any]) -> list[tuple[str, type]]:
        """Those of checked arguments whose class alone says that they are what is declared."""
        found = []
        for name, value in values.items():
            kinds, kind = self.kinds.get(name, ()), value.__class__
            if not kinds or (kind is not int and kind in _classes(kinds)):
                found.append((name, kind))
        return found

    def wrong(self, name: str, place: int, value: Any) -> Fault:
        """The error of one argument."""
        kinds = self.kinds.get(name, ())
        if "asked" in kinds and not ("sized" in kinds and hasattr(value, "size")):
            words = f"{kind_of(value)!r} object has no attribute 'size'"
            return AttributeFault("E0303", words, help=f"{self.name}() takes a tensor here")
        wanted = " or ".join(_SAID.get(k, k) for k in kinds if k != "None")
        wanted = "Tensor" if "Tensor" in kinds else wanted
        if kinds[0] == "Sequence[Tensor]" and isinstance(value, list | tuple):
            at, item = next((i, v) for i, v in enumerate(value) if not _rank(v))
            said = f"expected Tensor as element {at} in argument {place}, but got {kind_of(item)}"
            return bad_type(said, help=f"write {self.name}([a, b]) of tensors")
        position = None if name in self.named else place + (not self.method)
        return not_a(wanted, self.name, self.shown.get(name, name), position, value)

    def test(self, name: str, scope: dict[str, Any]) -> str:
        """A condition of Python that holds where an argument needs a closer look.

        ``scope`` takes the classes that it names.
        """
        kinds = self.kinds.get(name, ())
        if not kinds:
            return "" if name in self.defaults else f"{name} is ABSENT"
        if name == self.order[0] and kinds == ("Tensor", "Number"):
            kinds = ("Tensor",)  # of numbers alone nothing is computed
        classes = set(_classes(kinds))
        if name in self.defaults and self.defaults[name].__class__ is not tuple:
            classes.add(self.defaults[name].__class__)
        words = sorted(c.__name__ for c in classes)
        word = "_".join(words)
        scope[word or "ANY"] = frozenset(classes) if len(words) != 1 else classes.pop()
        test = f"{name}.__class__ {'is not' if len(words) == 1 else 'not in'} {word or 'ANY'}"
        if "Tensor" in kinds:
            test = f"({test} and not isinstance({name}, Plain))"
        if "int" in kinds or "Number" in kinds:
            within = f"{_bounds(kinds)[0]} <= {name} <= {_bounds(kinds)[1]}"
            test = f"({test} or {name}.__class__ is int and not {within})"
        if "Sequence[int]" in kinds:
            some = f"{name}[0].__class__ is int is {name}[-1].__class__"
            return f"({test} and not ({name}.__class__ is tuple and {name} and {some}))"
        if "Sequence[Tensor]" in kinds:
            return f"not all_tensors({name})"
        return test


@cache
def _classes(kinds: tuple[str, ...]) -> frozenset[type]:
    return frozenset(c for kind in kinds for c in _CLASSES.get(kind, ()))


@cache
def _kinds(annotation: Any, name: str, optional: bool = True) -> tuple[str, ...]:
    """What an annotation declares; what the name does where it is Any.

    By its name alone nothing that has to be given is None.
    """
    if not isinstance(annotation, str) or annotation == "Any":
        annotation = _BY_NAME.get(name, "object")
        annotation = annotation if optional else annotation.removesuffix(" | None")
    kinds = tuple(k for part in annotation.split(" | ") for k in _ALIASES.get(part, (part,)))
    return kinds if all(kind in _TAKES for kind in kinds) else ()


@cache
def parameters_of(
    function: Any, name: str, method: bool = False, strict: bool = True
) -> Parameters | None:
    """What a function or an operator takes, ``inplace`` if ``strict``; None if code is silent."""
    inner: Any = inspect.unwrap(function)
    op = inner if isinstance(inner, Operator) else getattr(inner, "operator", None)
    if op is not None:
        return _of_operator(op, name, method)
    code = getattr(inner, "__code__", None)
    if code is None or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return None
    return _of_code(inner, name, method, strict)


class _ByName(dict[str, tuple[str, ...]]):
    """What is declared for parameters; what the name of any other does."""

    def get(self, name: str, default: Any = ()) -> tuple[str, ...]:
        return self[name] if name in self else _kinds("Any", name)


@cache
def of_any_number(function: Any, name: str) -> Parameters:
    """What a function takes of which the code does not say how many arguments it has."""
    found = _of_code(inspect.unwrap(function), name, False)
    found.kinds = _ByName(found.kinds)
    return found


def _of_code(inner: Any, name: str, method: bool, strict: bool = True) -> Parameters:
    code = inner.__code__
    found = Parameters(name, method)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    found.order = names[: code.co_argcount]
    defaults = inner.__defaults__ or ()
    optional = found.order[len(found.order) - len(defaults) :]
    found.defaults = dict(zip(optional, defaults, strict=True))
    found.defaults.update(inner.__kwdefaults__ or ())
    if not strict and "inplace" in names:
        found.order = tuple([n for n in found.order if n != "inplace"])
        del found.defaults["inplace"]
    found.named = tuple(n for n in names[code.co_argcount :] if n != "out" and n[0] != "_")
    hints = inner.__annotations__
    found.kinds = {n: _kinds(hints.get(n), n, n in found.defaults) for n in names}
    if "Tensor" in found.kinds.get("dim", ()):  # of max and min
        found.aliases["other"] = "dim"
    for n in [n for n in found.order if hints.get(n) == "Required"]:
        del found.defaults[n]
    if hints.get("keepdim") == "Kept":
        found.kept, before = True, found.defaults["dim"]
        found.kinds["dim"] += ("None",) * (before is None)
        found.defaults.update(dim=UNSAID, keepdim=UNSAID)
    found.alone = getattr(getattr(getattr(inner, "short", None), "operator", None), "alone", False)
    return found


def _of_operator(op: Operator, name: str, method: bool) -> Parameters | None:
    if op.variadic:
        return None
    found = Parameters(name, method)
    inputs = ("input", "other")[: op.arity] if op.arity < 3 else op.inputs
    found.order = (*inputs, *op.params)
    found.named = ()
    found.aliases = {alias: n for alias, n in PARAM_ALIASES.items() if n in op.params}
    found.aliases.update(zip(op.torch, inputs, strict=False))
    found.shown = dict(zip(inputs, op.torch, strict=False))
    found.defaults = {n: v for n, v in op.params.items() if n not in op.required.split()}
    found.alone = op.alone
    found.kinds = {
        name: ("Tensor", "Number") if letter in op.numbers else ("Tensor",)
        for name, letter in zip(inputs, op.inputs, strict=True)
    }
    for name, default in op.params.items():
        kind = "Sequence[int]" if name == op.sizes else "Any"
        found.kinds[name] = _kinds("bool" if default.__class__ is bool else kind, name)
    return found


def _plain(value: Any, kinds: tuple[str, ...] | None) -> Any:
    """Python's number, of one of NumPy and of a tensor of one where no tensor is declared."""
    if kinds and "Sequence[int]" in kinds and isinstance(value, list | tuple):
        return (list if value.__class__ is list else tuple)(_plain(v, ("int",)) for v in value)
    alone = kinds and "Tensor" not in kinds and value.__class__ in (Tensor, np.ndarray)
    return value.item() if alone or isinstance(value, np.generic) else plain_number(value)


def looked_at(
    function: Any,
    takes: Parameters,
    values: dict[str, Any],
    out: Any = None,
    named: Mapping[str, Any] = _NONE,
    more: tuple[Any, ...] = (),
) -> Any:
    """A call with those arguments, each looked at.

    ``named`` came with names that it does not have, ``more`` behind all others.
    """
    if named or more:
        order = takes.order if more else ()
        given = {n: v for n, v in values.items() if v is not takes.defaults.get(n, ABSENT)}
        given = {n: v for n, v in given.items() if n not in order}
        values = takes.bind((*[values[n] for n in order], *more), {**given, **named})
    if takes.alone and all(values[n].__class__ in _CLASSES["Number"] for n in takes.order[:2]):
        first, value = takes.order[0], values[takes.order[0]]
        dtype = number_dtype(value)
        values = {**values, first: wrap(dtype.numpy.type(value), dtype)}
    takes.check(values)
    if takes.kept:
        values = {n: (None, False)[n == "keepdim"] if v is UNSAID else v for n, v in values.items()}
    values = {n: _plain(v, takes.kinds.get(n)) for n, v in values.items()}
    args = tuple([values[n] for n in takes.order])
    options = {n: values[n] for n in takes.named}
    return function(*args, **options) if out is None else into(out, function, args, options)
