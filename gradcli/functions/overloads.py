"""Free functions whose call differs from their operator's: joins, extremes, pieces, questions.

The same names as PyTorch's. What is not here is an operator and is called directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.named_tuples import results
from gradcli.engine.record.composite import reshaped
from gradcli.engine.record.fast_path import FUNCTIONS, function
from gradcli.engine.tensor.attributes import Size
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.dims import normal_dim
from gradcli.ops.einsum import einsum as by_letters
from gradcli.ops.errors import RuntimeFault, TypeFault
from gradcli.ops.operator import OPERATORS
from gradcli.ops.torch_messages import not_a

HIDDEN = frozenset(
    ("put", "scatter", "ungather", "prod_others", "reverse_dims", "undiagonal", "getitem", "cast",
     "mT", "cat", "stack", "tile", "adjugate_along", "adjugate_along_two", "contract", "detsign",
     "logabsdet", "bessel_i", "bessel_ie", "bessel_j", "sinc_slope", "gammainc_slope",
     "zeta_slope",
     "fourier", "argcummax", "argcummin", "eigh_parts", "eig_parts", "svd_parts",
     "qr_parts", "lu_compact", "eigvals", "lerp_number")
)  # fmt: skip
"""Operators that are reached by syntax, by a method or through a function below."""


def _tensors(name: str, tensors: Any) -> list:
    if isinstance(tensors, Tensor):
        return list(tensors)
    if not isinstance(tensors, list | tuple):
        raise not_a("tuple of Tensors", name, "tensors", 1, tensors, f"write {name}([a, b])")
    return [t if getattr(t, "__gradcli_rank__", 0) else as_tensor(t) for t in tensors]


def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Tensors joined along a dimension they have."""
    given = _tensors("cat", tensors)
    # PyTorch of old had no other empty tensors: they join anything.
    joined = [t for t in given if tuple(t.shape) != (0,)]
    return FUNCTIONS["cat"](*(joined if joined else given), dim=dim)


def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Tensors of one shape joined along a new dimension."""
    return FUNCTIONS["stack"](*_tensors("stack", tensors), dim=dim)


def torch_max(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """``max(x)``, ``max(x, dim)`` with indices, ``max(x, other)``: as PyTorch overloads it."""
    input = as_value(input)
    if dim is not None or isinstance(input, Tensor):
        return input.max(dim, keepdim)
    return FUNCTIONS["amax"](input)


def torch_min(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """``min(x)``, ``min(x, dim)`` with indices, ``min(x, other)``: as PyTorch overloads it."""
    input = as_value(input)
    if dim is not None or isinstance(input, Tensor):
        return input.min(dim, keepdim)
    return FUNCTIONS["amin"](input)


def as_value(x: Any) -> Any:
    """``x``, or a tensor of it where it is a list, an array or a number."""
    return x if getattr(x, "__gradcli_rank__", 0) else as_tensor(x)


def diag(x: Any) -> Any:
    """A vector as a diagonal matrix; of a matrix, its diagonal."""
    x = as_value(x)
    if len(x.shape) == 1:
        n = x.shape[0]
        return FUNCTIONS["undiagonal"](x, (n, n))
    if len(x.shape) != 2:
        raise RuntimeFault(
            "E0301", f"diag needs a vector or a matrix, got {len(x.shape)} dimensions"
        )
    return FUNCTIONS["diagonal"](x)


def diag_embed(x: Any) -> Any:
    """Matrices with x's last dimension on their diagonals."""
    x = as_value(x)
    return FUNCTIONS["undiagonal"](x, (*x.shape, x.shape[-1]))


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Dimensions from ``start_dim`` to ``end_dim`` joined into one."""
    input = as_value(input)
    shape = tuple(input.shape)
    first, last = normal_dim(start_dim, len(shape)), normal_dim(end_dim, len(shape))
    if not shape:
        return FUNCTIONS["reshape"](input, (1,))
    if first > last:
        raise RuntimeFault(
            "E0305", "flatten() has invalid args: start_dim cannot come after end_dim"
        )
    if first == last:
        return input
    joined = (*shape[:first], -1, *shape[last + 1 :])
    return reshaped(FUNCTIONS["reshape"](input, joined), input)


def split(x: Any, size: int | Sequence[int], dim: int = 0) -> tuple:
    """Pieces along a dimension: of one size (the last may be shorter), or of the sizes given."""
    axis, n = _along("split", as_value(x), dim)
    if isinstance(size, int):
        if size < 0 or (not size and n):
            raise RuntimeFault(
                "E0306",
                f"split expects a size above 0, got {size}",
                torch=f"split expects split_size be non-negative, but got split_size={size}"
                if size
                else "split_size can only be 0 if dimension size is 0, but got dimension size of "
                f"{n}",
            )
        sizes = [min(size, n - i) for i in range(0, n, size)] if n else [0]
    else:
        sizes = list(size)
    if sum(sizes) != n:
        raise RuntimeFault(
            "E0306",
            f"split sizes {sizes} do not add up to {n}",
            torch=f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's "
            f"size at dimension {axis}), but got split_sizes={sizes}",
        )
    pieces, start = [], 0
    for s in sizes:
        pieces.append(FUNCTIONS["getitem"](x, (slice(None),) * axis + (slice(start, start + s),)))
        start += s
    return tuple(pieces)


def chunk(x: Any, chunks: int, dim: int = 0) -> tuple:
    """At most ``chunks`` pieces of equal size along a dimension."""
    _, n = _along("chunk", as_value(x), dim)
    if not isinstance(chunks, int):
        raise TypeFault("E0303", f"chunk needs a whole number, got {type(chunks).__name__}")
    if chunks < 1:
        raise RuntimeFault("E0306", f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return split(x, max(1, -(-n // chunks)), dim)


def _along(name: str, x: Any, dim: int) -> tuple[int, int]:
    """A dimension counted from 0, and its size. Raises RuntimeFault (E0305) for a 0-d tensor."""
    if not len(x.shape):
        raise RuntimeFault(
            "E0305", f"{name} expects at least a 1-dimensional tensor", help="x.reshape(1) has one"
        )
    axis = normal_dim(dim, len(x.shape))
    return axis, x.shape[axis]


def unbind(x: Any, dim: int = 0) -> tuple:
    """The slices along a dimension, without it."""
    axis, _ = _along("unbind", as_value(x), dim)
    return tuple(
        FUNCTIONS["getitem"](x, (slice(None),) * axis + (i,)) for i in range(x.shape[axis])
    )


def einsum(equation: str, *operands: Any) -> Any:
    """The sum over a product of tensors, by letters: ``einsum("ij,j->i", A, x)``."""
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    return by_letters(equation, *(as_value(x) for x in operands))


def slogdet(input: Any) -> tuple:
    """The sign of the determinant and the logarithm of its size; the sign is constant."""
    input = as_value(input)
    size = FUNCTIONS["logabsdet"](input)
    return results("slogdet", sign=FUNCTIONS["detsign"](input), logabsdet=size)


def numel(input: Any) -> int:
    """The number of entries."""
    return as_value(input).numel()


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a Tensor, or stands for one inside a transform."""
    return isinstance(obj, Tensor) or getattr(obj, "__gradcli_rank__", 0) > 1


def equal(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors have one shape and the same entries."""
    return x.shape == y.shape and bool(np.all(x.array == y.array))


def allclose(x: Tensor, y: Tensor, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    """Whether all entries agree to within atol + rtol*abs(y)."""
    return bool(np.allclose(x.array, y.array, rtol=rtol, atol=atol))


def public_operators() -> dict[str, Any]:
    """Operators by the names that a user calls them by, aliases included."""
    names: dict[str, Any] = {}
    for op in OPERATORS.values():
        if op.name not in HIDDEN:
            found = op if op.variadic else function(op)
            for name in (op.name, *op.aliases):
                names[name] = found
    for own in (cat, stack, diag, diag_embed, flatten, split, chunk, unbind, einsum, slogdet):
        names[own.__name__] = own
    names["concat"] = cat
    names["tile"] = names["repeat"] = OPERATORS["tile"]
    return names


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that those shapes broadcast to. Raises RuntimeFault (E0301) where they do not."""
    sizes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    try:
        return Size(np.broadcast_shapes(*sizes))
    except ValueError:
        raise RuntimeFault(
            "E0301", f"shapes {' and '.join(map(str, sizes))} do not broadcast",
            help="sizes must agree from the right, or be 1",
        ) from None  # fmt: skip
