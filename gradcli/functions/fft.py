"""``gradcli.functions.fft``: discrete Fourier transforms under PyTorch's names.

``n`` pads with zeros or cuts; ``norm`` is ``"backward"`` (the inverse divides by n), ``"forward"``
or ``"ortho"``. Gradients follow PyTorch's convention for complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation.factories import finish, sizes_of
from gradcli.engine.record.composite import called, named, parts_of
from gradcli.engine.record.face import face
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.engine.record.out import may_be
from gradcli.engine.tensor.tensor import Tensor, own_meta
from gradcli.functions.arithmetic import conj
from gradcli.ops.dims import in_order, normal_dim, normal_dims, some_dim
from gradcli.ops.errors import bad_dim, bad_dtype, bad_shape, bad_value
from gradcli.ops.fft import OTHER
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS
from gradcli.ops.torch_messages import not_a

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2",
    "rfftfreq", "rfftn",
]  # fmt: skip


def _norm(norm: str | None) -> str:
    if norm not in (None, "backward", "forward", "ortho"):
        raise bad_value(f'Invalid normalization mode: "{norm}"', help="backward, forward or ortho")
    return norm or "backward"


def _sized(input: Any, n: int | None, dim: int) -> Any:
    """``input`` with ``n`` entries along a dimension: cut, or followed by zeros."""
    axis = some_dim(dim, len(input.shape))
    size = input.shape[axis]
    n = size if n is None else n
    if n < 1:
        raise bad_value(f"Invalid number of data points ({n}) specified")
    if n < size:
        return _O["getitem"](input, (slice(None),) * axis + (slice(0, n),))
    after = [0, 0] * (len(input.shape) - 1 - axis) + [0, n - size]
    return OPERATORS["pad"](input, after) if n > size else input


def _floating(input: Any) -> Any:
    """Whole numbers count as floats. Raises RuntimeFault (E0309) for float16."""
    if input.dtype is dtypes.float16:
        raise bad_dtype("Unsupported dtype Half", help="write x.float()")
    return input if input.dtype.kind > 1 else input.to(dtypes.get_default_dtype())


def _transform(input: Any, n: int | None, dim: int, norm: str | None, inverse: bool) -> Any:
    input = _sized(_floating(input), n, dim)
    scale = _norm(norm)
    whole = input.dtype.is_complex
    if inverse and not whole:  # a view, whose conjugate is yet to be taken
        return conj(_transform(input, None, dim, OTHER[scale], False))
    found = _laid(_O["fourier"](_complex(input), dim, inverse, scale), input, dim)
    return found if whole else called(found, "FftR2CBackward0", input)


def _laid(out: Any, input: Any, dim: int | Sequence[int], last: int | None = None) -> Any:
    """``out``, a new result, in memory as PyTorch has it: the transformed dimensions innermost.

    Else they lie there as those of ``input`` do; ``last`` is the innermost in any case.
    """
    for part, batches in parts_of(out) if out.ndim else ():
        inner, steps = normal_dims(dim, out.ndim), input.stride()
        order = sorted(range(out.ndim), key=lambda d: (d == last, d in inner, -steps[d]))
        order = [*range(batches), *(d + batches for d in order)]
        part.array, part.meta = in_order(part.array, order), own_meta()
    return out


def _complex(input: Any) -> Any:
    """Real numbers as complex ones."""
    if input.dtype.is_complex:
        return input
    wide = dtypes.complex128 if input.dtype is dtypes.float64 else dtypes.complex64
    return _O["cast"](input, wide.numpy)


def fft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """The discrete Fourier transform along a dimension.

    Example:
        >>> import gradcli
        >>> gradcli.functions.fft.fft(gradcli.tensor([1.0, 0.0, 0.0]))
        tensor([1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _transform(input, n, dim, norm, False)


def ifft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """The inverse of ``fft``."""
    return _transform(input, n, dim, norm, True)


def rfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """``fft`` of real numbers: the first half, which says all."""
    if input.dtype.is_complex:
        kind = input.dtype.scalar_name
        raise bad_dtype(f"rfft expects a real input tensor, but got {kind}", help="use fft")
    input = _sized(_floating(input), n, dim)
    axis = normal_dim(dim, input.ndim)
    part = (*(slice(None),) * axis, slice(0, input.shape[axis] // 2 + 1))
    half = _O["getitem"](fft(input, None, dim, norm), part)
    return called(_laid(half, input, dim), "FftR2CBackward0", input)


def _of_half(transform: Callable[..., Any], name: str, doc: str) -> Any:
    def of_half(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        axis = some_dim(dim, len(input.shape))
        n = 2 * (input.shape[axis] - 1) if n is None else n
        if n < 1:
            raise bad_value(f"Invalid number of data points ({n}) specified")
        half = _complex(_sized(_floating(input), n // 2 + 1, axis))
        tail = _O["getitem"](half, (*(slice(None),) * axis, slice(1, (n + 1) // 2)))
        whole = _O["cat"](half, _O["conj"](_O["flip"](tail, (axis,))), dim=axis)
        found = _O["real"](transform(whole, n, axis, norm))
        return called(_laid(found, half, axis), "FftC2RBackward0")

    return named(of_half, name, doc)


irfft = _of_half(
    ifft, "irfft",
    "The inverse of ``rfft``: real numbers, ``n`` of them (an even number if left out).",
)  # fmt: skip
hfft = _of_half(
    fft, "hfft", "The transform of a signal whose other half is its mirror image: real numbers."
)


def ihfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """The inverse of ``hfft``."""
    if input.dtype.is_complex:
        raise bad_dtype(f"ihfft expects a real input tensor, but got {input.dtype.scalar_name}")
    return conj(rfft(input, n, dim, OTHER[_norm(norm)]))


Sizes = int | Sequence[int] | None


def _places(input: Any, s: Sizes, dim: Any, half: str = "") -> list[tuple[int | None, int]]:
    """Each dimension to transform with its size."""
    rank = len(input.shape)
    s = (s,) if isinstance(s, int) else s
    if dim is None:
        dims = tuple(range(rank)) if s is None else tuple(range(rank - len(s), rank))
    else:
        several = dim if isinstance(dim, tuple | list) else (dim,)
        dims = tuple(some_dim(d, len(input.shape)) for d in several)
        if len(set(dims)) < len(dims):
            raise bad_dim("FFT dims must be unique")
    if s is not None and len(s) > rank:
        raise bad_shape(
            f"Got shape with {len(s)} values but input tensor only has {rank} dimensions."
        )
    sizes: Sequence[int | None] = [None] * len(dims) if s is None else list(s)
    if len(sizes) != len(dims):
        raise bad_value("When given, dim and shape arguments must have the same length")
    if half and not dims:
        raise bad_value(f"{half} must transform at least one axis")
    places = [(None if n == -1 else n, d) for n, d in zip(sizes, dims, strict=True)]
    whole = dict(enumerate(input.shape)) | {d: n for n, d in places if n is not None and n > 0}
    charge_shape(tuple(whole.values()))  # before any is transformed: rfftn's result at least
    return places


def _fitted(input: Any, places: Sequence[tuple[int | None, int]]) -> Any:
    """``input`` with so many entries along each dimension."""
    for n, d in places:
        input = _sized(_floating(input), n, d)
    return input


def _of_all(last: Callable[..., Any], before: Callable[..., Any], doc: str) -> Any:
    """``last`` along the last of several dimensions, ``before`` along the others before it."""
    half = last is not before  # of real numbers, of whose spectrum half is given

    def of_all(input: Any, s: Sizes = None, dim: Any = None, norm: str | None = None) -> Any:
        places = _places(input, s, dim, of_all.__name__ * half)
        dims, n = [d for _, d in places], places[-1][0] if half else None
        if n is not None:
            places[-1] = max(1, n // 2 + 1), dims[-1]
        out = input = _complex(_fitted(input, places))
        for d in dims[:-1] if half else dims:
            out = before(out, None, d, norm)
        if half:
            return _laid(last(out, n, dims[-1], norm), input, dims, dims[-1])
        return _laid(out, input, dims) if dims else called(_O["clone"](out), "FftC2CBackward0")

    return named(of_all, f"{last.__name__}n", doc)


fftn = _of_all(fft, fft, "``fft`` along several dimensions, all if none are named.")
ifftn = _of_all(ifft, ifft, "The inverse of ``fftn``.")
irfftn = _of_all(irfft, ifft, "The inverse of ``rfftn``.")
hfftn = _of_all(
    hfft, fft, "``hfft`` along the last of several dimensions, ``fft`` along the others."
)


def rfftn(input: Any, s: Sizes = None, dim: Any = None, norm: str | None = None) -> Any:
    """``rfft`` along the last of several dimensions, ``fft`` along the others."""
    if input.dtype.is_complex:
        kind = input.dtype.scalar_name
        raise bad_dtype(f"rfftn expects a real-valued input tensor, but got {kind}")
    places = _places(input, s, dim, "rfftn")
    *others, axis = [d for _, d in places]
    input = _fitted(input, places)
    out = rfft(input, None, axis, norm)
    for d in others:
        out = fft(out, None, d, norm)
    return called(_laid(out, input, [*others, axis], axis), "FftR2CBackward0", input)


def ihfftn(input: Any, s: Sizes = None, dim: Any = None, norm: str | None = None) -> Any:
    """The inverse of ``hfftn``."""
    places = _places(input, s, dim, "ihfftn")
    *others, axis = [d for _, d in places]
    out = half = ihfft(_fitted(input, places), None, axis, norm)
    for d in others:
        out = ifft(out.resolve_conj(), None, d, norm)
    return _laid(out, half, others) if others else out


def _in_two(function: Callable[..., Any], doc: str) -> Any:
    def of_two(input: Any, s: Sizes = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:
        if dim is None:
            raise not_a("tuple of ints", of_two.__name__, "dim", 3, dim)
        return function(input, s, dim, norm)

    return named(of_two, f"{function.__name__[:-1]}2", doc)


fft2 = _in_two(fftn, "``fft`` along the last two dimensions.")
ifft2 = _in_two(ifftn, "The inverse of ``fft2``.")
rfft2 = _in_two(rfftn, "``fft2`` of real numbers: the half that says all.")
irfft2 = _in_two(irfftn, "The inverse of ``rfft2``.")
hfft2 = _in_two(hfftn, "``hfftn`` along the last two dimensions.")
ihfft2 = _in_two(ihfftn, "The inverse of ``hfft2``.")


def _shifting(name: str, doc: str, more: int) -> Any:
    def shifted(input: Any, dim: Any = None) -> Any:
        dims = normal_dims(dim, len(input.shape))
        if dim == () or dim == []:
            raise bad_value("`shifts` required")
        return _O["roll"](input, tuple((input.shape[d] + more) // 2 for d in dims), dims)

    return named(shifted, name, doc)


fftshift = _shifting("fftshift", "The frequency 0 moved to the middle.", 0)
ifftshift = _shifting("ifftshift", "The inverse of ``fftshift``.", 1)


def _frequencies(transform: Callable[..., Any], steps: Callable[[int], np.ndarray]) -> Any:
    def of_entries(
        n: int, d: float = 1.0, *, dtype: Any = None, requires_grad: bool = False,
        device: Any = None, layout: Any = None, pin_memory: Any = False,
    ) -> Tensor:  # fmt: skip
        charge_shape(sizes_of((n,), name))
        target = dtypes.get_default_dtype() if dtype is None else dtypes.to_dtype(dtype)
        if target.kind < 2:
            raise bad_dtype(f"{name} requires a floating point or complex dtype")
        return finish((steps(n) / (n * d)).astype(target.numpy), target, requires_grad, device)

    name = f"{transform.__name__}freq"
    doc = f"The frequencies of ``{transform.__name__}``'s entries for samples ``d`` apart."
    return named(of_entries, name, doc)


fftfreq = _frequencies(fft, lambda n: (np.arange(n) + n // 2) % max(n, 1) - n // 2)
rfftfreq = _frequencies(rfft, lambda n: np.arange(n // 2 + 1))


for _name in __all__:
    _copied = _name not in ("ifft", "ihfft")
    may_be("none" if "shift" in _name else "kind", globals()[_name], copied=_copied)
    globals()[_name] = face(globals()[_name])
