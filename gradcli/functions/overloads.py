"""Free functions whose call differs from their operator's: joins, extremes, questions.

The same names as PyTorch's. What is not here is an operator and is called directly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.dtypes import DType, int64, meeting, promote
from gradcli.engine.grad_mode import current, mode
from gradcli.engine.named_tuples import results
from gradcli.engine.record.arguments import UNSAID, Kept
from gradcli.engine.record.composite import named, reshaped
from gradcli.engine.record.fast_path import FUNCTIONS
from gradcli.engine.record.multi_output import joined
from gradcli.engine.record.out import may_be
from gradcli.engine.tensor.attributes import Size
from gradcli.engine.tensor.tensor import Plain, Tensor
from gradcli.ops.dims import normal_dim
from gradcli.ops.einsum import einsum as by_letters
from gradcli.ops.errors import ValueFault, bad_argument, bad_dim, bad_dtype, bad_value
from gradcli.ops.torch_messages import no_broadcast, not_a


def _tensors(name: str, tensors: Any) -> list:
    if not isinstance(tensors, list | tuple):
        raise not_a("tuple of Tensors", name, "tensors", 1, tensors, f"write {name}([a, b])")
    return [t if getattr(t, "__gradcli_rank__", 0) else as_tensor(t) for t in tensors]


def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Tensors joined along a dimension they have."""
    given = _tensors("cat", tensors)
    sized = [t for t in given if tuple(t.shape) != (0,)]
    if sized and len(sized) < len(given) and sized[0].shape:
        # PyTorch of old had no other empty tensors: one of shape (0,) joins anything.
        empty = list(sized[0].shape)
        empty[normal_dim(dim, len(empty))] = 0
        given = [t.reshape(empty) if tuple(t.shape) == (0,) else t for t in given]
    return FUNCTIONS["cat"](*given, dim=dim if sized else 0)  # of nothing, along any dimension


def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Tensors of one shape joined along a new dimension."""
    return FUNCTIONS["stack"](*_tensors("stack", tensors), dim=dim)


def _extreme(name: str) -> Any:
    def extreme(input: Any, dim: Tensor | int = UNSAID, keepdim: Kept = False) -> Any:
        input = as_value(input)
        if dim is not UNSAID and dim is not None:
            return getattr(input, name)(dim, keepdim)
        return getattr(input, name)() if isinstance(input, Plain) else FUNCTIONS[f"a{name}"](input)

    forms = f"``{name}(x)``, ``{name}(x, dim)`` with indices, ``{name}(x, other)``"
    return named(extreme, f"torch_{name}", f"{forms}: as PyTorch overloads it.")


torch_max, torch_min = _extreme("max"), _extreme("min")


def as_value(x: Any) -> Any:
    """``x``, or a tensor of it where it is a list, an array or a number."""
    return x if getattr(x, "__gradcli_rank__", 0) else as_tensor(x)


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Dimensions from ``start_dim`` to ``end_dim`` joined into one."""
    input = as_value(input)
    input = FUNCTIONS["clone"](input) if mode.rebinds else input  # NumPy's is a copy
    shape = tuple(input.shape)
    first, last = normal_dim(start_dim, len(shape)), normal_dim(end_dim, len(shape))
    if not shape:
        return FUNCTIONS["reshape"](input, (1,))
    if first > last:
        raise bad_dim("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    size = math.prod(shape[first : last + 1]) if 0 in shape else -1
    joined = (*shape[:first], size, *shape[last + 1 :])
    return reshaped(FUNCTIONS["reshape"](input, joined), input)


def einsum(equation: Any = "", *operands: Any) -> Any:
    """The sum over a product of tensors, by letters: ``einsum("ij,j->i", A, x)``.

    Numbers below 52 may stand for letters, a list behind each tensor and one for the result:
    ``einsum(A, [0, 1], x, [1], [0])``. Raises ValueFault (E0304) for another number.
    """
    if operands and isinstance(operands[0], list | tuple) and not isinstance(equation, str):
        equation, operands = _lettered(equation, *operands)
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    if not operands:
        said = (
            "einsum(): must specify the equation string and at least one operand, or at least one"
        )
        raise ValueFault("E0302", f"{said} operand and its subscripts list")
    values = [as_value(x) for x in operands]
    if len({x.dtype for x in values}) > 1:
        values = _in_one_type(equation, values)
    if len(values) > 1 and values[0].dtype.kind < 2 and _sums_one(str(equation)):
        values = [v.to(int64) for v in values]
    return by_letters(equation, *values)


def _sums_one(equation: str) -> bool:
    """Whether a letter of one operand alone is summed over: of whole numbers that is an int64."""
    left, arrow, out = equation.partition("->")
    if not arrow:  # then those that are there once are kept
        out = "".join(c for c in left if left.count(c) == 1)
    letters = [c for part in left.split(",") for c in set(part) - set(out) if c.isalpha()]
    return any(letters.count(c) == 1 for c in letters)


def _in_one_type(equation: Any, values: list) -> list:
    """Operands of several types in the one they meet in, 0-d or not.

    Raises RuntimeFault (E0309) where products of two of them are summed, as PyTorch's kernels do.
    """
    left, arrow, out = str(equation).replace(".", "").partition("->")
    parts = left.split(",")
    for letter in set() if current().mixes else set(left) - set(out if arrow else ""):
        held = [v for v, part in zip(values, parts, strict=False) if letter in part]
        kinds = dict.fromkeys(v.dtype.scalar_name for v in held)
        if letter.isalpha() and len(kinds) > 1:
            first, other, *_ = kinds
            raise bad_dtype(f"expected scalar type {first} but found {other}")
    met = reduce(promote, (v.dtype for v in values))
    return [v.to(met) for v in values]


def _lettered(*given: Any) -> tuple[str, tuple]:
    """The equation and the tensors of what came with lists of numbers behind each tensor."""
    lists = list(given[1::2]) + ([given[-1]] if len(given) % 2 else [])
    words = ["".join("..." if n is Ellipsis else _letter(n) for n in places) for places in lists]
    tensors = given[: len(given) // 2 * 2 : 2]
    left = ",".join(words[: len(tensors)])
    return (f"{left}->{words[-1]}" if len(given) % 2 else left), tensors


def _letter(n: int) -> str:
    if not 0 <= n < len(ascii_letters):
        said = f"is not within the valid range [0, {len(ascii_letters)})"
        raise bad_argument(f"einsum(): subscript in subscript list {said}")
    return (ascii_uppercase + ascii_lowercase)[n]


def slogdet(input: Any) -> tuple:
    """The sign of the determinant and the logarithm of its size; the sign is constant."""
    input = as_value(input)
    size, sign = FUNCTIONS["logabsdet"](input), FUNCTIONS["detsign"](input)
    sign, size = joined("LinalgSlogdetBackward0", (sign, size), input)
    return results("slogdet", sign=sign, logabsdet=size)


def numel(input: Any) -> int:
    """The number of entries."""
    return as_value(input).numel()


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a Tensor, or stands for one inside a transform."""
    return isinstance(obj, Tensor) or getattr(obj, "__gradcli_rank__", 0) > 1


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that those shapes broadcast to. Raises RuntimeFault (E0301) where they do not."""
    sizes = [(s,) if isinstance(s, int) else s for s in shapes]
    for size in sizes:
        if not isinstance(size, tuple | list):
            said = "Input shapes should be of type ints, a tuple of ints, or a list of ints"
            raise bad_value(f"{said}, got {size}")
    if any(n < 0 for size in sizes for n in size):
        raise bad_argument("Attempting to broadcast a dimension with negative length!")
    try:
        return Size(np.broadcast_shapes(*sizes))
    except ValueError:
        mend = "sizes must agree from the right, or be 1"
        raise no_broadcast(sizes, help=mend, torch=None) from None


def result_type(tensor1: object, tensor2: object) -> DType:
    """The dtype that an operation on two values gives."""
    return meeting(tensor1, tensor2)


may_be("joined", cat, stack, apart=True)
may_be("wider", torch_max, torch_min)
may_be("none", flatten, einsum)
