"""What the losses refuse: dtypes and shapes that no loss can be meant for, in PyTorch's words."""

from __future__ import annotations

from typing import Any

from gradcli.engine.dtypes import int64
from gradcli.engine.source_location import warn
from gradcli.functions.indexing import broadcast_tensors
from gradcli.ops.errors import UnwrittenFault, ValueFault, bad_dtype, bad_shape


def of_one_size(input: Any, target: Any) -> Any:
    """The two broadcast, with a warning, where their shapes differ."""
    if tuple(input.shape) == tuple(target.shape):
        return input, target
    warn(
        _differ(input, target, ". This will likely lead to incorrect results due to broadcasting.")
    )
    return broadcast_tensors(input, target)


def _differ(input: Any, target: Any, so: str) -> str:
    said = f"Using a target size ({target.shape}) that is different to the input size"
    return f"{said} ({input.shape}){so} Please ensure they have the same size."


def check_weights(input: Any, weight: Any) -> None:
    """Raise ValueFault (E0301) unless there is a weight for each entry, or none at all."""
    if weight is not None and tuple(weight.shape) != tuple(input.shape):
        raise ValueFault("E0301", "Weights and input must have the same size.")


def check_probabilities(input: Any, target: Any) -> None:
    """Raise where ``binary_cross_entropy`` is given targets of another shape or dtype.

    ValueFault (E0301) for the shape, RuntimeFault (E0309) for the dtype.
    """
    if tuple(input.shape) != tuple(target.shape):
        raise ValueFault("E0301", _differ(input, target, " is deprecated."))
    if input.dtype is not target.dtype:
        said = f"Found dtype {target.dtype.scalar_name} but expected {input.dtype.scalar_name}"
        raise bad_dtype(said, help=f"write target.to({input.dtype!r})")
    check_floating(input, "binary_cross_entropy", True)


def check_classes(input: Any, target: Any) -> Any:
    """The targets of ``nll_loss`` as int64: bytes would be masks where they index.

    Raises where they are no classes, or not one for each row. RuntimeFault: E0309 for the dtype,
    E0301 for dimensions; ValueFault (E0301) for sizes.
    """
    if input.dtype.kind < 2:
        raise _not_for_whole(input, "log_softmax_lastdim_kernel_impl")
    rows = target.shape[0] if target.ndim else 0
    if input.ndim >= 2 and input.shape[0] != rows:
        said = f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({rows})."
        raise ValueFault("E0301", said, help="the target has a class number for each row")
    if input.ndim == 1 and target.ndim and rows != 1:
        said = f"For 1D input, 1D target must have size 1, but got target size: {rows}"
        raise ValueFault("E0301", said)
    if input.shape == target.shape and input.ndim > 1:
        said = "Expected floating point type for target with class probabilities, got"
        raise bad_dtype(f"{said} {target.dtype.scalar_name}")
    if input.ndim <= 2 and target.ndim > 1:
        raise bad_shape("0D or 1D target tensor expected, multi-target not supported")
    if target.dtype.name not in ("int64", "uint8"):
        said = f"expected target dtype to be Long or Byte, but got {target.dtype.scalar_name}"
        raise bad_dtype(said, help="write target.long()")
    return target if target.dtype is int64 else target.long()


def _not_for_whole(input: Any, kernel: str) -> UnwrittenFault:
    return UnwrittenFault(
        "E0309",
        f"this needs a floating point tensor, got {input.dtype.name}",
        help="write x.float()",
        torch=f'"{kernel}" not implemented for {input.dtype.scalar_name!r}',
    )


def check_floating(input: Any, kernel: str, real: bool = False) -> None:
    """Raise UnwrittenFault (E0309) for whole numbers, and complex ones where it has to be real."""
    if input.dtype.kind < 2 or (real and input.dtype.is_complex):
        raise _not_for_whole(input, kernel)
