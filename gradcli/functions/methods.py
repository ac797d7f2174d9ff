"""What Tensor has as methods: one table; each is made, or its module loaded, at its first use.

The operators by their names, as written out by ``fast_path``; over them the composed functions,
which have PyTorch's optional parameters; over them what a method takes otherwise than the function
(``x.reshape(2, 3)``); and for each that has one its form that writes in place, ``x.exp_()``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from gradcli.engine.creation import factories
from gradcli.engine.dtypes import DType, bool_, contiguous_format, int64, preserve_format
from gradcli.engine.record.apply import flipped_view
from gradcli.engine.record.arguments import Anything, Operand, is_size
from gradcli.engine.record.composite import reshaped
from gradcli.engine.record.face import face
from gradcli.engine.record.fast_path import FUNCTIONS, dispatched, function, method
from gradcli.engine.record.inplace import check_writable
from gradcli.engine.tensor.attributes import Storage
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.functions import bitwise, in_place
from gradcli.functions.index import HOMES, LATER, LATER_METHODS, found
from gradcli.functions.lazy_table import LazyTable
from gradcli.functions.subscripts import delete_item, get_item, put_item
from gradcli.ops.declaration.infix import METHODS as SIGN_METHODS
from gradcli.ops.declaration.infix import MIRRORED, by_sign
from gradcli.ops.dims import normal_dim, suggested_format
from gradcli.ops.errors import AttributeFault, TypeFault, bad_dim, bad_dtype, bad_size, bad_value
from gradcli.ops.operator import OPERATORS, Operator
from gradcli.ops.torch_messages import not_a

_OF_SIZES = {"size", "shape", "dims", "repeats"}
"""Names of the sizes of a method, which are given there in one tuple."""


def sizes_method(op: Callable, strict: bool = False) -> Callable:
    """view(2, 3) and view((2, 3)) alike; ``strict`` as Python calls it: of whole numbers alone."""

    def method(self: Tensor, *sizes: Any, **params: Any) -> Any:
        for name in params.keys() & _OF_SIZES:
            if sizes:
                raise TypeFault(
                    "E0302", f"{op.__name__}() got multiple values for argument {name!r}"
                )
            if strict and not isinstance(params[name], tuple | list):
                raise not_a("tuple of ints", op.__name__, name, 1, params[name])
            sizes = (params.pop(name),)
        if not sizes and not params:
            said = f'{op.__name__}() missing 1 required positional arguments: "size"'
            raise TypeFault("E0302", said, help="() is the size of a single number")
        if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
            sizes = tuple(sizes[0])
        if strict:
            for size in sizes:
                plain = size.__class__ is int and not size >> 63
                if not (plain or is_size(size) or isinstance(size, DType)):
                    raise not_a("tuple of ints", op.__name__, "size", 1, size)
        return op(self, tuple(sizes), **params) if sizes or not params else op(self, **params)

    method.__name__ = method.__qualname__ = op.__name__
    method.of_sizes = op  # type: ignore[attr-defined]
    return method


def reshape(input: Tensor, shape: Any = ()) -> Tensor:
    """The entries in another shape; a view where the strides allow one."""
    return reshaped(FUNCTIONS["reshape"](input, shape), input)


def view(self: Tensor, shape: Any = (), *, dtype: DType | None = None) -> Tensor:
    """The same memory in another shape, or its bits read as another ``dtype``.

    Raises RuntimeFault (E0306) where that needs a copy.
    """
    if dtype is not None or (shape and isinstance(shape[0], DType)):
        return _reread(self, shape[0] if dtype is None else dtype)
    if not isinstance(self, Plain):  # Tensor.view, called with what stands for one
        return self.view(shape)
    out = FUNCTIONS["reshape"](self, shape)
    memory = self.own_array()
    if memory.ndim and memory.size and not np.may_share_memory(out.own_array(), memory):
        raise bad_size(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return out


def _reread(x: Tensor, dtype: DType) -> Tensor:
    """The bits of a tensor as numbers of another type, which have no derivative by the first."""
    if x._flips:
        if dtype is x.dtype:
            return FUNCTIONS["reshape"](x, tuple(x.shape))  # type: ignore[no-any-return]
        kind = "conjugate view tensors" if x.is_complex() else "tensors with negative bit set"
        said = f"gradcli.Tensor.view is not supported for {kind} when converting to a different"
        raise bad_size(f"{said} dtype.", help="write x.resolve_conj().resolve_neg()")
    own, size = x.dtype.itemsize, dtype.itemsize
    steps, words = _stride(x), f"{x.dtype.scalar_name} as {dtype.scalar_name}"
    wrong = ""
    if own != size and not x.ndim:
        wrong = "self.dim() cannot be 0"
    elif own != size and steps[-1] != 1:
        wrong = f"self.stride(-1) must be 1, but got {steps[-1]}"
    elif size > own:
        times = size // own
        parts = {"self.size(-1)": x.shape[-1], "self.storage_offset()": _storage_offset(x)}
        parts |= {f"self.stride({d})": step for d, step in enumerate(steps[:-1])}
        odd = next((name for name, n in parts.items() if n % times), None)
        wrong = f"{odd} must be divisible by {times}, but got {parts[odd]}" if odd else ""
    if wrong:
        first, comma, got = wrong.partition(", but got ")
        mend = "clone() it first" if x.ndim else "unsqueeze(0) it first"
        raise bad_size(f"{first} to view {words} (different element sizes){comma}{got}", help=mend)
    out = x.detach()  # as in PyTorch, where such a view has no base
    out.array, out._dtype = out.array.view(dtype.numpy), dtype
    return out


def repeat(input: Tensor, repeats: Sequence[int] = ()) -> Tensor:
    """The tensor repeated along each dimension. Raises RuntimeFault (E0306) for too few of them."""
    shape = tuple(input.shape)
    if len(repeats) < len(shape):
        said = "Number of dimensions of repeat dims can not be smaller than number of dimensions of"
        raise bad_size(f"{said} tensor", help="x.tile(...) takes fewer")
    sizes = (1,) * (len(repeats) - len(shape)) + shape
    if repeats and min(repeats) < 0:
        wanted = [r * n for r, n in zip(repeats, sizes, strict=True)]
        raise bad_size(f"Trying to create tensor with negative dimension {min(wanted)}: {wanted}")
    return FUNCTIONS["tile"](input, tuple(repeats))


def _where(self: Tensor, condition: Any, other: Operand) -> Tensor:
    return FUNCTIONS["where"](condition, self, other)


def _like(make: Callable) -> Callable:
    def method(
        self: Tensor, *size: Any, dtype: Any = None, device: Any = None, **options: Any
    ) -> Tensor:
        options |= {"dtype": self.dtype if dtype is None else dtype, "device": device}
        if not isinstance(self, Plain):  # Tensor.new_zeros(x, 3) inside a transform
            made: Tensor = getattr(self, f"new_{make.__name__}")(*size, **options)
            return made
        return make(*size, **options)

    return method


def _new(self: Tensor, *data: Any, size: Any = None, device: Any = None) -> Tensor:
    return factories.typed(self.dtype, "new")(*(data if size is None else size), device=device)


def _set(
    self: Tensor, source: Anything = None, storage_offset: int = 0, size: Any = None,
    stride: Any = None,
) -> Tensor:  # fmt: skip
    """Take the memory of ``source``, a tensor or a storage; or, of none, no entries.

    ``size`` and ``stride`` say how to see it. A leaf remains one, with its hooks; what was
    computed has no gradient from here (E0405). Raises RuntimeFault (E0309) for a tensor of another
    dtype.
    """
    if source is None:
        source = factories.empty(0, dtype=self.dtype)
    given = source
    if isinstance(source, Storage):
        source = wrap(source.entries(self.dtype), self.dtype)
        size = tuple(source.shape) if size is None else size
    if not isinstance(source, Plain):
        raise not_a("Tensor", "set_", "source", 1, source)
    if source.dtype is not self.dtype:
        raise bad_dtype(f"Could not set tensor of type {source.dtype.c_name} to another")
    if size is not None:
        if stride is None:
            stride = factories.empty(tuple(size)).stride()
        whole = wrap(source.untyped_storage().entries(self.dtype), self.dtype)
        source = found("strided.as_strided")(whole, size, stride, storage_offset)
    check_writable(self, (source,))
    held = source if source._flips is self._flips else flipped_view(source)  # the memory alone
    self.data = held
    self._meta().version.bump()
    if self.edge is None or not self._is_leaf:
        from gradcli.engine.custom_function.function import without_derivative

        # No gradient leads from here to what either was computed from.
        asks = given if self.edge is None else self
        said = "derivative for set_ is not implemented"
        self.edge = without_derivative(self, (asks,), "set_", "NotImplemented", said).edge
    else:
        self._outgrow(always=True)
    return self


def _contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    if self.is_contiguous(memory_format=memory_format):
        return self
    if memory_format is preserve_format:
        raise bad_value("preserve memory format is unsupported by the contiguous operator")
    return self.clone(memory_format=memory_format or contiguous_format)


def _conjugate_transpose(self: Any) -> Any:
    if len(self.shape) not in (0, 2):
        said = f"matrices (2-D tensors). Got {self.ndim}-D tensor."
        mend = "For batches of matrices, consider using tensor.mH"
        raise bad_dim(f"tensor.H is only supported on {said}", help=mend)
    return self.mH


def _stride(self: Tensor, dim: int | None = None) -> Any:
    array = self.own_array()
    if not array.size and 0 in array.strides:  # NumPy gives some arrays without entries such
        array = np.empty([n or 1 for n in array.shape], array.dtype)
    steps = tuple(s // self.dtype.itemsize for s in array.strides)
    return steps if dim is None else steps[normal_dim(dim, len(steps))]


def _storage_offset(self: Tensor) -> int:
    return (self.data_ptr() - self.untyped_storage().data_ptr()) // self.dtype.itemsize


def _resize_as(self: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    if memory_format is preserve_format:
        memory_format = suggested_format(other.own_array())
    return found("strided.resize_")(self, tuple(other.shape), memory_format=memory_format)


def _compare(op: Operator) -> Callable:
    compute = op.compute

    def method(self: Tensor, other: Any) -> Any:
        kind = other.__class__
        dtype = self.dtype  # in others PyTorch first writes the number as one of theirs
        plain = (kind is int or kind is float) if dtype.quick else (kind is int and dtype is int64)
        if plain and not self.array.ndim:
            return wrap(compute(self.array, other), bool_)
        if kind is not Tensor and not in_place.is_value(other):
            return NotImplemented
        return FUNCTIONS[op.name](self, other)

    return method


def of_values(function: Callable) -> Callable:
    """A sign's function: of anything else Python asks the other operand's own method."""

    def method(self: Tensor, other: Any) -> Any:
        return function(self, other) if in_place.is_value(other) else NotImplemented

    return method


def _commuted(op: Callable, word: str) -> Callable:
    def method(self: Tensor, other: Any) -> Any:
        if not hasattr(self, "__gradcli_rank__"):
            raise not_a("Tensor", f"__r{word}__", "self", 0, self)
        return op(other, self) if in_place.is_value(other) else NotImplemented

    return method


def _signs() -> dict[str, Callable]:
    """Python's operators: ``x + y``, ``2 - x``, ``x += y``, ``x < y``, ``x & y``."""
    found: dict[str, Callable] = {}
    for sign, op in by_sign().items():
        if sign in MIRRORED:
            found[f"__{op.name}__"] = _compare(op)
            continue
        word = SIGN_METHODS[sign]
        if op.dtypes == "keep":  # & | ^ are those of truths and of bits
            bits = getattr(bitwise, f"bitwise_{word}")
            found |= _of_bits(word, bits)
            continue
        steps = op.kind == "constant"
        found[f"__{word}__"] = of_values(FUNCTIONS[op.name]) if steps else method(op, symbol=True)
        found[f"__r{word}__"] = _commuted(op, word) if steps else method(op, reverse=True)
        if op.entrywise:
            found[f"__i{word}__"] = in_place.augmented(op)
    for word, name in (("lshift", "left_shift"), ("rshift", "right_shift")):
        found |= _of_bits(word, getattr(bitwise, f"bitwise_{name}"))
    return found


def _of_bits(word: str, bits: Callable) -> dict[str, Callable]:
    """``x & y``, ``True & x`` and ``x &= y``."""
    return {
        f"__{word}__": of_values(bits), f"__r{word}__": _commuted(bits, word),
        f"__i{word}__": in_place.rebound(of_values(in_place.rewritten(bits))),
    }  # fmt: skip


_Source = tuple[Callable, *tuple[Any, ...]]
"""What makes a method: a function, and what it is called with."""


def _of_operators() -> dict[str, _Source]:
    """The operators as methods, each with the form that writes in place where it has one."""
    table: dict[str, _Source] = {}
    for op in OPERATORS.values():
        if not op.public or op.variadic:
            continue
        written: _Source | None = None
        if in_place.writes(op):
            written = (in_place.of_operator, op)
        elif op.entrywise and op.infix:  # x.lt_(y): numbers 0 and 1
            written = (_rewritten, op.name)
        for name in (op.name, *op.aliases):
            if name not in vars(Tensor):  # real is a property
                table[name] = (FUNCTIONS.__getitem__, op.name)
                if written is not None:
                    table[f"{name}_"] = written
    table.update({f"{name}_": (_rewritten, name) for name in ("logical_not", "tril", "triu")})
    return table


def _rewritten(name: str) -> Callable:
    return in_place.rewritten(FUNCTIONS[name])


def _rewritten_function(path: str) -> Callable:
    return in_place.rewritten(found(path), path.partition(".")[0] in ("indexing", "scatter"))


def _turned(name: str) -> Callable:
    return in_place.turned(name, COMPOSED[name] if name in COMPOSED else FUNCTIONS[name])


def _of_functions() -> dict[str, _Source]:
    """The composed functions as methods, and those that write in place what they give."""
    table: dict[str, _Source] = {}
    for module, home in HOMES.items():
        names = home.methods
        for name, own in home.functions():
            if own in names:
                table[name] = (found, f"{module}.{own}")
        for name in names:
            if name.endswith("_"):
                own = home.aliases.get(name[:-1], name[:-1])
                table[name] = (_rewritten_function, f"{module}.{own}")
    return table


def _own() -> dict[str, _Source]:
    """What a method takes otherwise than the function of its name, or what has no function."""
    expand = (_with_sizes, "expand")
    return {
        **{op.name: (_with_sizes, op.name) for op in OPERATORS.values() if op.sizes},
        **{f"new_{name}": (_like, getattr(factories, name))
           for name in ("zeros", "ones", "full", "empty", "tensor")},
        "mT": (_swapped,),
        "T": (lambda: property(FUNCTIONS["reverse_dims"], doc="All dimensions in reverse order."),),
        "broadcast_to": expand, "expand": expand,
        "reshape": (sizes_method, reshape), "view": (sizes_method, view),
        "sum_to_size": (lambda path: sizes_method(found(path)), "reductions.sum_to_size"),
        "max": (_extreme, "max"), "min": (_extreme, "min"),
        "put_": (_rewritten_function, "scatter.put"), "__pos__": (found, "arithmetic.positive"),
        "new_empty_strided": (lambda: _like(found("strided.empty_strided")),),
        **{path.rpartition(".")[2]: (found, path) for path in (
            "overloads.flatten", "overloads.slogdet", "scatter.unfold", "counting.fill_diagonal_",
            "strided.resize_", "strided.dim_order",
        )},
    }  # fmt: skip


def _swapped() -> property:
    turn = FUNCTIONS["mT"]

    def mT(self: Tensor) -> Tensor:
        """The last two dimensions exchanged."""
        return turn(self) if self.ndim else self  # type: ignore[no-any-return]

    return property(mT)


def _with_sizes(name: str) -> Callable:
    return sizes_method(FUNCTIONS[name])


def _extreme(name: str) -> Callable:
    return found("sorting.extreme_method")(name)


def later(name: str) -> Any:
    """The function of a name of ``LATER``."""
    return found(LATER[name])


def _call(source: _Source) -> Any:
    return source[0](*source[1:])


@cache
def as_method(name: str) -> Any:
    """A method as Python calls it."""
    made = METHODS[name]
    if hasattr(made, "of_sizes"):
        return sizes_method(made.of_sizes, True)
    return made if isinstance(made, property) else face(made, name, method=True)


class _Unmade:
    """Stands on Tensor for a method until it is first looked up."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, value: Tensor | None, owner: type) -> Any:
        found = as_method(self.name)
        type.__setattr__(Tensor, self.name, found)  # no user's change
        return found.__get__(value, owner)


class _UnmadeProperty(_Unmade):
    """The same of a property, which nobody may set."""

    __slots__ = ()

    def __set__(self, value: Tensor, given: Any) -> None:
        raise AttributeFault("E0404", f"attribute {self.name!r} of a tensor is not writable")


TURNED = frozenset(f"{name}_" for home in HOMES.values() for name in (*home.turned, "squeeze"))
"""Methods in place that change the shape and not the entries."""
METHODS: Mapping[str, Any] = LazyTable(
    {
        **_of_operators(), **_of_functions(), **_own(),
        **{name: (_turned, name[:-1]) for name in TURNED},
        **{name: (later, name) for name in LATER_METHODS},
    },
    _call,
    {
        "__invert__": bitwise.invert,
        "__getitem__": get_item, "__setitem__": put_item, "__delitem__": delete_item,
        "__neg__": FUNCTIONS["neg"],
        "__abs__": FUNCTIONS["abs"], "repeat": sizes_method(repeat), "where": _where,
        "stride": _stride, "new": _new, "set_": _set, "resize_as_": _resize_as,
        "storage_offset": _storage_offset, "contiguous": _contiguous,
        "H": property(_conjugate_transpose, doc="The conjugate transpose of a matrix."),
        **{name: getattr(Tensor, name)
           for name in ("is_contiguous", "to_dense", "to_sparse", "type_as")},
        **in_place.METHODS, **_signs(),
    },
)  # fmt: skip
"""Every method by name. Where several have one, the later is PyTorch's method."""
for _name in METHODS:
    _kind = _UnmadeProperty if _name in ("T", "mT", "mH", "H") else _Unmade
    setattr(Tensor, _name, METHODS[_name] if _name.startswith("__") else _kind(_name))
Tensor.__gradcli_apply__ = staticmethod(dispatched)  # type: ignore[attr-defined]
Tensor.begin()


@cache
def public_operators() -> Mapping[str, Any]:
    """Operators by the names that a user calls them by, aliases included."""
    public = [op for op in OPERATORS.values() if op.public]
    by_name = {name: op for op in public for name in (op.name, *op.aliases)}
    sources: dict[str, Any] = dict(by_name)
    sources.update({path.rpartition(".")[2]: path for path in (
        "overloads.cat", "overloads.stack", "overloads.flatten", "overloads.einsum",
        "overloads.slogdet", "reshaping.split", "reshaping.chunk", "reshaping.unbind",
        "scatter.diag", "scatter.diag_embed",
    )}, concat="overloads.cat")  # fmt: skip
    return LazyTable(sources, _public, dict.fromkeys(("tile", "repeat"), OPERATORS["tile"]))


@cache
def _public(source: Operator | str) -> Any:
    if isinstance(source, str):
        return found(source)
    return source if source.variadic else function(source)


COMPOSED: Mapping[str, Any] = LazyTable(
    {name: f"{module}.{own}" for module, home in HOMES.items() for name, own in home.functions()},
    found,
    {},
)
"""What the module ``gradcli`` offers beside the operators."""
