"""Windows that slide over the last dimensions: what convolutions and pooling look through."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from inspect import signature
from numbers import Integral
from types import FunctionType
from typing import Any

import numpy as np

from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.errors import RuntimeFault, bad_shape, bad_type, bad_value
from gradcli.ops.indexing import Apart
from gradcli.ops.memory_budget import charge_shape

Sizes = int | Sequence[int]


def in_rows(input: Any) -> Any:
    """``input`` laid out in rows, as what is made of it will be."""
    if input.__class__ is Tensor and not input.array.flags.c_contiguous:
        return input.contiguous()
    return input


def each(value: Any, rank: int, name: str) -> tuple[int, ...]:
    """A size for each spatial dimension. Raises TypeFault (E0303) for what is no whole number."""
    if value.__class__ is int:
        return (value,) * rank
    sizes = (value,) if isinstance(value, Integral) else tuple(value)
    if not all(isinstance(n, int | np.integer) for n in sizes) or isinstance(value, bool):
        raise bad_type(f"{name} must be a whole number or several, not {value!r}")
    if len(sizes) == 1:
        return sizes * rank
    if len(sizes) != rank:
        said = (
            f"expected {name} to be a single integer value or a list of {rank} values to match the "
            f"convolution dimensions, but got {name}={list(sizes)}"
        )
        raise bad_value(f"{name} must be one number or {rank}, got {list(sizes)}", torch=said)
    return sizes


def check_sizes(name: str, input: Any, rank: int, full: int | None = None) -> None:
    """Raise RuntimeFault (E0301) unless ``input`` is ``(N, C, sizes)`` or ``(C, sizes)``.

    Of these, N alone may be 0; with ``full``, whatever stands before that dimension.
    """
    shape = input.shape
    full = -rank - 1 if full is None else full
    if not 1 <= len(shape) - rank <= 2 or 0 in shape[full:]:
        raise bad_shape(
            f"{name + '1d: ' if rank == 1 else ''}Expected {rank + 1}D or {rank + 2}D (batch mode) "
            f"tensor with optional 0 dim batch size for input, but got:{list(shape)}"
        )


def not_samples(rank: int, input: Any) -> RuntimeFault:
    """The error of an input that has neither ``rank`` dimensions nor those of samples before."""
    said = f"Expected {rank}D or {rank + 1}D (batch mode) tensor with possibly 0 batch size and"
    given = list(input.shape)
    return bad_shape(f"{said} other non-zero dimensions for input, but got: {given}")


def check_positive(**options: tuple[int, ...]) -> None:
    """Raise RuntimeFault (E0304) for a stride, a dilation or groups of which one is not above 0."""
    for name, given in options.items():
        if min(given) < 1:
            said = "dilation should be greater than zero" if name == "dilation" else None
            raise bad_value(f"non-positive {name} is not supported", torch=said)


def windows(
    input: Any, kernel: tuple, stride: tuple, dilation: tuple, first: bool = False
) -> tuple[Any, tuple]:
    """``(N, C, out..., kernel...)``: the entries under the kernel at each place.

    The kernel's dimensions come ``first`` where asked: ``(N, C, kernel..., out...)``.
    """
    sizes = tuple(input.shape[-len(kernel) :])
    index, out = places(sizes, kernel, stride, dilation, first)
    charge_shape((*input.shape[: -len(kernel)], *out, *kernel))
    return _O["getitem"](in_rows(input), index), out


@functools.lru_cache(maxsize=64)
def places(
    sizes: tuple, kernel: tuple, stride: tuple, dilation: tuple, first: bool
) -> tuple[tuple, tuple]:
    """The index that takes the windows of the last dimensions, and how many there are."""
    rank = len(kernel)
    check_positive(stride=stride, dilation=dilation)
    index: list[Any] = [Ellipsis]
    out = []
    for i, (n, k, s, d) in enumerate(zip(sizes, kernel, stride, dilation, strict=True)):
        reach = d * (k - 1) + 1
        if n < reach:
            size, wide = (" x ".join(map(str, v)) for v in (sizes, kernel))
            said = f"Calculated padded input size per channel: ({size}). Kernel size: ({wide})."
            raise bad_shape(f"{said} Kernel size can't be greater than actual input size")
        count = (n - reach) // s + 1
        out.append(count)
        charge_shape((count, k))
        grid = np.arange(count)[:, None] * s + np.arange(k) * d
        shape = [1] * (2 * rank)
        shape[i + rank * first], shape[i + rank * (not first)] = count, k
        index.append((grid.T if first else grid).reshape(shape))
    apart = all(s >= d * (k - 1) + 1 for k, s, d in zip(kernel, stride, dilation, strict=True))
    return Apart(index) if apart else tuple(index), tuple(out)


_SIZES = {1: "L", 2: "H, W", 3: "D, H, W"}


def in_ranks(
    function: Callable[..., Any], *ranks: int, more: str = "", doc: str = "", **bound: Any
) -> list[Any]:
    """``function`` with its ``_rank`` bound to each of ``ranks``: ``_pool`` as ``pool1d``, ...

    Where its name has the 1d already, it stands there: ``_conv1d_input`` as ``conv2d_input``. With
    ``more`` behind the names, another docstring and other ``bound`` options they are further forms.
    """
    shown, code = signature(function), function.__code__
    free = [p for p in shown.parameters.values() if p.name[0] != "_"]
    first, doc = function.__name__.strip("_"), doc or function.__doc__ or ""
    first = (first if "1d" in first else f"{first}1d") + more
    made: list[Any] = []
    for rank in ranks:
        name = first.replace("1d", f"{rank}d")
        one: Any = FunctionType(code, function.__globals__, name, function.__defaults__)
        one.__qualname__ = name
        one.__kwdefaults__ = {**(function.__kwdefaults__ or {}), **bound, "_rank": rank}
        one.__doc__ = doc.replace("SIZES", _SIZES[rank]).replace("1d", f"{rank}d")
        one.__signature__ = shown.replace(parameters=free)
        one.__annotations__ = {k: v for k, v in function.__annotations__.items() if k[0] != "_"}
        made.append(one)
    return made
