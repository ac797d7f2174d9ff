"""Whole numbers bit by bit, and what they have in common: ``bitwise_and``, ``<<``, ``gcd``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation.factories import refuse_kinds
from gradcli.engine.grad_mode import current, mode
from gradcli.engine.record.arguments import Operand
from gradcli.engine.record.composite import by_element, named
from gradcli.engine.record.out import may_be
from gradcli.engine.record.whole_numbers import held
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.ops.dims import laid_as
from gradcli.ops.errors import TypeFault, bad_type
from gradcli.ops.operator import OPERATORS as O
from gradcli.ops.torch_messages import no_broadcast, not_a

_KERNELS = {"bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift"}


def _as_bits(value: Any, target: dtypes.DType) -> Any:
    """Whole numbers as their last bits. Raises ValueFault (E0314) for more bits, in a text."""
    if value.__class__ is int:
        found = target.wrapped(value)
    elif value.__class__ is bool or value.dtype == target.numpy:
        return value
    else:
        found = value.astype(target.numpy)
    if current().exact:
        held("int", np.array(found, target.numpy), value)
    return found


IN_FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "left_shift": lambda x, y: x * 2.0 ** np.minimum(np.float64(y), 900),
    "lcm": lambda x, y: np.abs(x / np.maximum(np.gcd(x, y), 1) * y),
}
"""What functions that may lose bits and take no floats give of whole numbers, in floats."""


def _bits(ufunc: Any, name: str, sign: str, logic: str = "") -> Any:
    in_floats = IN_FLOATS.get(ufunc.__name__.strip("_"))

    def of_bits(input: Operand, other: Operand) -> Any:
        if logic and all(v is True or v is False or getattr(v, "dtype", 0) is dtypes.bool_
                         for v in (input, other)):  # fmt: skip
            return O[logic](input, other)
        return of_numbers(input, other)

    @by_element
    def of_numbers(input: Any, other: Any) -> Any:
        operands = [v.item() if isinstance(v, np.generic) else v for v in (input, other)]
        for i, value in enumerate(operands):
            if not isinstance(value, int | float | complex | Tensor | np.ndarray):
                raise not_a("Tensor", name, ("input", "other")[i], i + 1, value)
        pair = [v.array if isinstance(v, Plain) else v for v in operands]
        target = dtypes.meeting(*operands)
        if target.kind == 1:
            pair = [_as_bits(v, target) for v in pair]
        shapes = [np.shape(p) for p in pair]
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            raise no_broadcast(shapes, name) from None
        kinds = "half float complex" if logic else "bool half float complex"
        refuse_kinds(kinds, f"{_KERNELS.get(name, name)}_cpu", target)
        found = np.asarray(ufunc(*pair)).astype(target.numpy)
        if in_floats is not None and current().exact:
            held(name, found, in_floats(*pair))
        return wrap(laid_as(found, *map(np.asarray, pair))[()], target)

    if sign == name:  # a function alone
        of_bits.__annotations__.clear()
    return named(of_bits, name, f"``input {sign} other``, bit by bit; of booleans, the logic.")


def _lcm(x: Any, y: Any) -> Any:
    kind = np.result_type(x, y)
    # Of narrow types PyTorch takes the sign in int32, before the upper bits go.
    return np.abs(np.lcm(x, y, dtype=np.int32 if kind.itemsize < 4 else kind))


bitwise_and = _bits(np.bitwise_and, "bitwise_and", "&", "logical_and")
bitwise_or = _bits(np.bitwise_or, "bitwise_or", "|", "logical_or")
bitwise_xor = _bits(np.bitwise_xor, "bitwise_xor", "^", "logical_xor")
bitwise_left_shift = _bits(np.left_shift, "bitwise_left_shift", "<<")
bitwise_right_shift = _bits(np.right_shift, "bitwise_right_shift", ">>")
gcd = _bits(np.gcd, "gcd", "gcd")
lcm = _bits(_lcm, "lcm", "lcm")


def bitwise_not(input: Any) -> Any:
    """``~input``: every bit turned; of booleans, the opposite."""
    if input.dtype is dtypes.bool_:
        return O["logical_not"](input)
    return _turned(input)


@by_element
def _turned(input: Any) -> Any:
    refuse_kinds("half float complex", "bitwise_not_cpu", input.dtype)
    return wrap(np.invert(input.array), input.dtype)


def invert(input: Any) -> Any:
    """``~x``: ``bitwise_not``. Raises TypeFault (E0309) where there are no bits."""
    if input.dtype.kind > 1:
        said = "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        raise TypeFault("E0309", said)
    if mode.rebinds and input.dtype is dtypes.bool_ and not input.ndim:
        said = "~ of a truth is -1 or -2 in Python, and the other truth in NumPy"
        raise bad_type(said, help="write not a > 0, or logical_not(a > 0)")
    return bitwise_not(input)


may_be(
    "wider", bitwise_and, bitwise_or, bitwise_xor, bitwise_left_shift, bitwise_right_shift, gcd, lcm
)
