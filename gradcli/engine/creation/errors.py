"""The errors of making tensors: what is no data, sizes that are none, devices that are not there.

Read only where something is wrong. PyTorch first reads the sizes off the first entries, then looks
at the kind of every entry, then at the lengths of all rows; what it meets first is what it names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.engine.dtypes import DType
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.errors import Fault, RuntimeFault, TypeFault, ValueFault, bad_type
from gradcli.ops.torch_messages import kind_of, too_long

_NUMBERS = (bool, int, float, complex, np.generic)


def no_data(data: Any, wanted: DType | None = None) -> Fault:
    """The error of what no tensor can be made of, ``wanted`` the dtype that was asked for."""
    if isinstance(data, str | bytes):
        return _text(data)
    sizes, first = [], data
    while _is_row(first):
        sizes.append(len(first))
        if not len(first):
            break
        first = first[0]
    if isinstance(first, str):
        said = "cannot make a tensor of text"
        mend = "give numbers or nested lists"
        return ValueFault("E0303", said, help=mend, torch="too many dimensions 'str'")
    return _wrong_entry(data, wanted) or _wrong_row(data, sizes) or too_long()


def _unmade(cls: type[Fault], value: Any, said: str) -> Fault:
    made = f"cannot make a tensor of a {type(value).__name__}"
    return cls("E0303", made, help="give numbers or nested lists", torch=said)


def _text(value: str | bytes) -> Fault:
    return _unmade(TypeFault, value, f"new(): invalid data type {type(value).__name__!r}")


def _wrong_entry(data: Any, wanted: DType | None) -> Fault | None:
    work = [data]
    while work:
        value = work.pop()
        if isinstance(value, list | tuple):
            work.extend(reversed(value))
        elif isinstance(value, str):
            return _text(value)
        elif isinstance(value, Tensor):
            if value.numel() != 1:
                return several_entries()
        elif not isinstance(value, (*_NUMBERS, np.ndarray)):
            name = kind_of(value)
            if wanted is None:
                return _unmade(RuntimeFault, value, f"Could not infer dtype of {name}")
            said = f"must be real number, not {name}" if wanted.differentiable else (
                f"{name!r} object cannot be interpreted as an integer"
            )  # fmt: skip
            return _unmade(TypeFault, value, said)
    return None


def several_entries() -> ValueFault:
    """The error of tensors with several entries in a list."""
    return ValueFault(
        "E0303",
        "the tensors in a list have to be single numbers",
        help="stack([x, y]) joins tensors of one shape, and keeps their gradients",
        torch="only one element tensors can be converted to Python scalars",
    )


def _is_row(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _wrong_row(data: Any, sizes: Sequence[int]) -> Fault | None:
    message = "the rows of nested lists must have one length"
    help = "pad the short ones, or use a list"
    work = [(data, 0)]
    while work:
        value, depth = work.pop()
        row = _is_row(value)
        if depth == len(sizes):
            if row:
                text = "only 0-dimensional arrays can be converted to Python scalars"
                if isinstance(value, np.ndarray):
                    return bad_type(message, help=help, torch=text)
                text = f"'{type(value).__name__}' object cannot be interpreted as an integer"
                if has_floats(data):
                    text = f"must be real number, not {type(value).__name__}"
                return bad_type(message, help=help, torch=text)
        elif not row:
            return bad_type(message, help=help, torch="not a sequence")
        elif len(value) != sizes[depth]:
            text = f"expected sequence of length {sizes[depth]} at dim {depth} (got {len(value)})"
            return ValueFault("E0303", message, help=help, torch=text)
        else:
            rows = value[:1] if isinstance(value, np.ndarray) else reversed(value)
            work.extend((v, depth + 1) for v in rows)
    return None


def has_floats(data: Any) -> bool:
    """Whether a number in nested lists, or the number itself, is a float or complex."""
    work = [data]
    while work:
        value = work.pop()
        if isinstance(value, list | tuple):
            work.extend(value)
        elif isinstance(value, float | complex):
            return True
    return False


def of_wide_numbers(data: Any, fault: Fault, floats: bool) -> bool:
    """Whether nothing is wrong but whole numbers beyond int64, where ``floats`` are made of them
    or are among them."""
    return fault.message == too_long().message and (floats or has_floats(data))


def does_not_hold(dtype: str) -> RuntimeFault:
    """The error of a whole number that a smaller type has no room for."""
    said = f"value cannot be converted to type {dtype} without overflow"
    return RuntimeFault("E0303", said, help="take a wider dtype, such as int64")


def no_size(name: str, sizes: Sequence[Any], wrong: Any) -> TypeFault:
    """The error of a size that is no whole number."""
    if len(sizes) == 1:
        said = f"{name}(): argument 'size' (position 1) must be tuple of ints, not {kind_of(wrong)}"
    else:
        said = None
    return bad_type(
        f"a size must be a whole number, got {wrong!r}", help="write zeros(2, 3)", torch=said
    )


def negative(name: str, shape: Sequence[int]) -> RuntimeFault:
    """The error of a negative size."""
    wrong = next(n for n in shape if n < 0)
    said = f"Trying to create tensor with negative dimension {wrong}: {list(shape)}"
    if name == "zeros":
        said = "zeros: Dimension size must be non-negative."
    elif name == "eye":
        said = f"{'n' if wrong == shape[0] else 'm'} must be greater or equal to 0, got {wrong}"
    elif name == "linspace":
        said = "number of steps must be non-negative"
    return RuntimeFault("E0303", f"a size cannot be negative: {wrong}", torch=said)


def too_large(shape: Sequence[int]) -> RuntimeFault:
    """The error of more bytes than a number of 64 bits counts."""
    said = f"Storage size calculation overflowed with sizes={list(shape)}"
    return RuntimeFault("E0303", said)


def no_tensor(name: str, value: Any) -> TypeFault:
    """The error of ``zeros_like`` and the like for what is no tensor."""
    return bad_type(
        f"{name} needs a tensor, got {type(value).__name__}",
        help="tensor([...]) makes a tensor of a list",
        torch=f"{name}(): argument 'input' (position 1) must be Tensor, not {kind_of(value)}",
    )
