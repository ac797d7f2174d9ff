"""Element types that an operator is not for, in PyTorch's words: ``Operator.refuses``.

NumPy orders complex numbers and subtracts truths; PyTorch refuses both, since what comes out is
seldom what was meant.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.engine.dtypes import bool_, complex64, complex128, meeting
from gradcli.engine.tensor.tensor import Plain
from gradcli.ops.errors import Fault, RuntimeFault, UnwrittenFault, ValueFault, bad_dtype, bad_shape
from gradcli.ops.operator import Operator


def refused(op: Operator, inputs: Sequence[Any]) -> Fault | None:
    """The error of an operator given an element type that it is not for; None where it takes it."""
    dtypes = [v.dtype for v in inputs if isinstance(v, Plain)]
    if callable(op.refuses):
        given = [*dtypes, *(bool_ for v in inputs if v.__class__ is bool)]
        said = op.refuses(given, len(inputs))
        return None if said is None else _fault(RuntimeFault, op, dtypes, said)
    highest = meeting(*(v for v in inputs if isinstance(v, Plain))) if dtypes else None
    if highest is not None and any(v.__class__ is complex for v in inputs):
        highest = complex128 if highest.name in ("float64", "complex128") else complex64
    if highest is None or op.refuses is None:
        return None
    for kinds, said in op.refuses.items():
        if highest.family not in kinds.split():
            continue
        cls: type[Fault] = RuntimeFault
        if isinstance(said, tuple):
            cls, said = said
        if " " not in said:  # the name of PyTorch's kernel
            numbers = {v.__class__ for v in inputs} & ({float} if highest.kind else {float, int})
            whole = op.neutral is not None and inputs[-1].__class__ is bool  # x**True is x
            if highest.kind < 2 and (numbers or whole):
                return None  # PyTorch has another way for numbers
            if not _broadcast(inputs):
                return None  # PyTorch looks at the shapes first
            cls, said = UnwrittenFault, f'"{said}" not implemented for {highest.scalar_name!r}'
        return _fault(cls, op, dtypes, said.replace("{}", highest.scalar_name))
    return None


def _broadcast(inputs: Sequence[Any]) -> bool:
    try:
        np.broadcast_shapes(*(v.shape for v in inputs if isinstance(v, Plain)))
    except ValueError:
        return False
    return True


def _fault(cls: type[Fault], op: Operator, dtypes: Sequence[Any], said: str) -> Fault:
    kinds = {d.kind for d in dtypes}
    if "did not match" in said:
        return cls("E0309", said, help=f"write other.to({dtypes[0]!r})")
    dtype = "complex" if 3 in kinds else "bool" if 0 in kinds else dtypes[0].name
    help = "take x.abs(), x.real or x.imag" if 3 in kinds else "write x.float() first"
    return cls("E0309", f"{op.name} is not for {dtype} tensors", help=help, torch=said)


def computed_whole(op: Operator, found: Any, given: Sequence[Any], params: dict[str, Any]) -> None:
    """Raise ValueFault (E0314) where whole numbers ``found`` of ``given`` have lost bits."""
    if not op.grows:
        return
    if not found.ndim and op.infix and op.kind != "elementwise":  # Python's are exact, and fast
        if op.compute(*[g.item() if hasattr(g, "item") else g for g in given]) != found.item():
            raise _lost(op.name, found)
        return
    if fits(bound(op, [*map(largest, given)], [*map(np.size, given)], params), found.dtype):
        return
    if op.without_bounds is not None:
        same = op.without_bounds(*given, **params)
    else:
        same = op.compute(*map(in_floats, given), **params)
    held(op.name, found, same)


def in_floats(value: Any) -> Any:
    """Arrays of whole numbers as those of floats; numbers stay as they are."""
    return np.float64(value) if getattr(value, "dtype", _PLAIN).kind in "iu" else value


_PLAIN = np.dtype(float)
_PLACES = {
    "dim", "keepdim", "axis", "keepdims", "dtype", "out", "shape", "labels",
    "memory_format",
}  # fmt: skip
"""Parameters that say where and in which type is added up, and not what."""


def fits(most: float, dtype: np.dtype) -> bool:
    """Whether a type of whole numbers has room for all, below 0 too, whose size is at most that."""
    return dtype.kind == "i" and most < 1 << (8 * dtype.itemsize - 1)


def largest(value: Any) -> Any:
    """The largest size of the numbers of an array; infinity where that is not known at once."""
    if not isinstance(value, np.ndarray | np.generic):
        return abs(value) if value.__class__ in (int, bool, float) else math.inf
    if value.dtype.kind == "c":
        return math.inf
    return max(abs(value.max().item()), abs(value.min().item())) if value.size else 0


def bound(op: Operator, most: Sequence[Any], sizes: Sequence[int], params: Any) -> Any:
    """What the size of whole numbers that ``op`` gives does not pass, where that of its operands
    does not pass ``most``; infinity where that is not known at once."""
    if callable(op.grows):
        return op.grows(*most)
    summed = [1] * len(sizes) if op.entrywise else sizes
    if op.kind == "bilinear" and params.keys() <= _PLACES:
        return math.prod(most) * math.prod(summed)
    if op.kind == "linear" and params.keys() <= _PLACES:
        return sum(map(operator.mul, most, summed))
    return math.inf


def held(name: str, found: Any, same: Any) -> None:
    """Raise ValueFault (E0314) where the type of whole numbers ``found`` has no room for them.

    ``same`` are these computed in floats: what differs by more than rounding has lost bits.
    """
    least = 2.0 ** (8 * found.dtype.itemsize - 1)
    if not (abs(np.asarray(same, np.float64) - found) <= least).all():
        raise _lost(name, found)


def _lost(name: str, found: Any) -> ValueFault:
    said = f"{name}() of these numbers is past {8 * found.dtype.itemsize} bits"
    return ValueFault("E0314", said, help="compute in floats: x.double(), 2.0**40")


def of_truths(function: str, mask: Any, shown: str) -> None:
    """Raise RuntimeFault (E0309) for a mask of other numbers, of the type that is ``shown``."""
    if mask.dtype is not bool_:
        said = f"{function} only supports boolean masks, but got mask with dtype {shown}"
        raise bad_dtype(said, help="write mask.bool()")


def one_filling(value: Any, name: str) -> None:
    """Raise RuntimeFault (E0301) for several values where the function takes one."""
    rank = len(getattr(value, "shape", ()))
    if rank:
        raise bad_shape(
            f"{name} only supports a 0-dimensional value tensor, but got tensor with "
            f"{rank} dimension(s).",
            help="masked_scatter writes several values",
        )


def one_number(value: Any) -> None:
    """Raise RuntimeFault (E0301) for several values that are to fill a tensor."""
    if getattr(value, "ndim", 0):
        raise bad_shape(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} "
            "dimensions.",
            help="copy_() writes several values",
        )


def same_dtype(input: Any, source: Any, said: str = "expected scalar type {} but found {}") -> None:
    """Raise RuntimeFault (E0309) where the second has another element type than the first.

    ``said`` is PyTorch's sentence, with places for the two types.
    """
    if getattr(source, "dtype", input.dtype) is not input.dtype:
        types = input.dtype.scalar_name, source.dtype.scalar_name
        mend = "write source.to(x.dtype): {}, not {}".format(*types)
        raise bad_dtype(said.format(*types), help=mend)


def one_type(input: Any, values: Any) -> None:
    """Raise RuntimeFault (E0309) where what is written by index has another element type."""
    same_dtype(
        input, values, "Index put requires the source and destination dtypes match, got {} for the "
        "destination and {} for the source.",
    )  # fmt: skip
