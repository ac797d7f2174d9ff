"""PyTorch's words for refusals that many operators share; read where an error is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.ops.errors import (
    IndexFault,
    OverflowFault,
    RuntimeFault,
    TypeFault,
    ValueFault,
    bad_dtype,
    bad_shape,
    bad_type,
)

SCALARS = {
    "float32": "Float", "float64": "Double", "float16": "Half", "int64": "Long", "int32": "Int",
    "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool",
    "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip
"""What PyTorch's messages call the element types."""


def sizes_differ(*shapes: tuple[Any, ...]) -> str | None:
    """Of two shapes that do not broadcast: the last dimension that differs. None where they do."""
    if len(shapes) < 2:
        return None
    a, b = shapes[:2]
    for back in range(1, min(len(a), len(b)) + 1):
        if a[-back] != b[-back] and 1 not in (a[-back], b[-back]):
            return (
                f"The size of tensor a ({a[-back]}) must match the size of tensor b ({b[-back]}) "
                f"at non-singleton dimension {max(len(a), len(b)) - back}"
            )
    return None


def no_broadcast(shapes: Sequence[Any], name: str = "", **facts: Any) -> RuntimeFault:
    """The error of shapes that do not broadcast, which ``name`` was given."""
    shown = " and ".join(str(tuple(shape)) for shape in shapes)
    said = f"{name}{': ' * bool(name)}shapes {shown} do not broadcast"
    return bad_shape(said, **{"torch": sizes_differ(*shapes), **facts})


_LINALG = frozenset(
    ("inv", "det", "solve", "cholesky", "qr", "svd", "svdvals", "eig", "eigvals", "logdet",
     "slogdet", "norm", "lu", "matrix_exp")
)  # fmt: skip
_TITLES = {"norm": "vector_norm", "logabsdet": "slogdet", "detsign": "slogdet", "svdvals": "svd",
           "eigvalsh": "eigh"}  # fmt: skip


def needs_floats(name: str, dtype: str) -> str:
    """Of an operator that computes nothing with whole numbers; ``dtype`` is what it was given."""
    if name in ("var", "std"):
        return "std and var only support floating point and complex dtypes"
    title = _TITLES.get(name, name).removesuffix("_parts").removesuffix("_compact")
    if title == "eigh":
        return f"\"linalg_eigh_cpu\" not implemented for '{dtype}'"
    if name in _LINALG or title in _LINALG:
        return f"linalg.{title}: Expected a floating point or complex tensor as input. Got {dtype}"
    return (
        f"{name}(): could not infer output dtype. Input dtype must be either a floating point or "
        f"complex dtype. Got: {dtype}"
    )


def types_differ(name: str, x: Any, y: Any) -> RuntimeFault:
    """The error of a product of two element types, which PyTorch does not bring together."""
    a, b = x.dtype, y.dtype
    names = a.scalar_name, b.scalar_name
    if name == "dot" and not x.ndim == y.ndim == 1:
        said = f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors"
    elif name == "dot" or (name == "matmul" and x.ndim == y.ndim == 1):
        said = (
            f"dot : expected both vectors to have same dtype, but found {names[0]} and {names[1]}"
        )
    elif name == "heaviside":
        said = "heaviside is not yet implemented for tensors with different dtypes."
    elif x.ndim > 2 and y.ndim > 2:
        said = f"expected scalar type {names[0]} but found {names[1]}"
    elif y.ndim == 1:
        said = (
            f"addmv input tensors must have the same dtype, but got {names[1]}, {names[0]}, and "
            f"{names[1]}"
        )
    else:
        said = f"expected m1 and m2 to have the same dtype, but got: {a.c_name} != {b.c_name}"
    wider = b if a.kind < b.kind or (a.kind == b.kind and a.itemsize < b.itemsize) else a
    message = f"the two sides of a product have one dtype, these are {a.name} and {b.name}"
    mend = f"write .to({wider!r}) behind the other side"
    return bad_dtype(message, help=mend, operands=((0, a.name), (1, b.name)), torch=said)


def no_room(room: Sequence[int], shape: Sequence[int], **more: Any) -> RuntimeFault:
    """The error of an in-place write whose result has another shape than its target."""
    return bad_shape(
        f"output with shape {list(room)} doesn't match the broadcast shape {list(shape)}",
        help="an in-place write cannot grow its target; write x = x + y",
        **more,
    )


def no_cast(made: Any, given: Any, help: str) -> RuntimeFault:
    """The error of a result of dtype ``made`` that is written to a tensor of dtype ``given``."""
    said = "result type {} can't be cast to the desired output type {}"
    return bad_dtype(
        said.format(made.name, given.name),
        help=help,
        torch=said.format(made.scalar_name, given.scalar_name),
    )


def too_long() -> ValueFault:
    """The error of a whole number beyond int64."""
    return ValueFault("E0303", "Overflow when unpacking long long", help="write it as a float")


def too_big(value: int) -> OverflowFault:
    """The error of a whole number that 64 bits do not hold, with a sign or without."""
    said = "can't convert negative int to unsigned" if value < 0 else "int too big to convert"
    return OverflowFault("E0303", said, help="write it as a float")


def appears_twice(dims: Sequence[int]) -> str:
    """Of a dimension that is named more than once."""
    first = next(d for i, d in enumerate(dims) if d in dims[:i])
    return f"dim {first} appears multiple times in the list of dims"


def kind_of(value: Any) -> str:
    """The class of a value, as PyTorch names it in its errors."""
    cls = type(value)
    return f"numpy.{cls.__name__}" if cls.__module__ == "numpy" else cls.__name__


def not_a(
    wanted: str, name: str, argument: str, position: int | None, value: Any,
    help: str | None = None,
) -> TypeFault:  # fmt: skip
    """The error of an argument of another kind than the one wanted; at None it is named alone."""
    at = "" if position is None else f" (position {position})"
    text = f"{name}(): argument {argument!r}{at} must be"
    said = f"{name}(): {argument} must be {_SPOKEN.get(wanted, wanted)}, not {type(value).__name__}"
    mend = help or _HELP.get(wanted)
    return bad_type(said, help=mend, torch=f"{text} {wanted}, not {kind_of(value)}")


_SPOKEN = {
    "Tensor": "a tensor", "int": "a whole number", "Number": "a plain number",
    "tuple of Tensors": "a list of tensors",
}  # fmt: skip
NO_DERIVATIVE = "no derivative by a parameter is known: --wrt the others, or give x.item()"
"""The help for a variable that stands where an operator takes a number."""
_HELP = {"Tensor": "tensor([...]) makes a tensor of a list, from_numpy(x) of an array"}


def nothing_largest(name: str, dim: Any) -> RuntimeFault | IndexFault:
    """The error of an extreme of no entries."""
    dim = None if dim == () else dim
    if dim is None:
        said = f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
        if not name.startswith("arg"):
            said += " Specify the reduction dim with the 'dim' argument."
    else:
        said = f"{name}(): Expected reduction dim {dim} to have non-zero size."
    cls = RuntimeFault if dim is None and not name.startswith("arg") else IndexFault
    return cls("E0308", "an empty tensor has no largest or smallest entry", torch=said)


NO_MASK = "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."


def no_difference(dtypes: Sequence[Any], count: int) -> str | None:
    """Of a subtraction of ``count`` inputs, the Tensors among them of these element types."""
    if all(d.kind for d in dtypes):
        return None
    if len(dtypes) == count and not any(d.kind for d in dtypes):
        return (
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    return f"Subtraction, the `-` operator, with a bool tensor is not supported. {NO_MASK}"


def not_one_dtype(dtypes: Sequence[Any], count: int) -> str | None:
    """Of a comparison of two Tensors of different element types."""
    if len(dtypes) < 2 or dtypes[0] is dtypes[1]:
        return None
    return f"{dtypes[0].scalar_name} did not match {dtypes[1].scalar_name}"
