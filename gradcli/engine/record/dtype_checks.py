"""Element types that an operator is not for, in PyTorch's words: ``Operator.refuses``.

NumPy orders complex numbers and subtracts truths; PyTorch refuses both, since what comes out is
seldom what was meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.engine.dtypes import bool_, complex64, complex128, meeting
from gradcli.engine.tensor.tensor import Plain
from gradcli.ops.errors import Fault, RuntimeFault, UnwrittenFault, bad_dtype, bad_shape
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
