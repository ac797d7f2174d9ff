"""``gradcli.autograd.forward_ad``: forward mode by dual numbers, under PyTorch's names.

with fwAD.dual_level():
    x = fwAD.make_dual(primal, tangent)
    y = f(x)
    value, derivative = fwAD.unpack_dual(y)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gradcli.transforms  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine import Tensor
from gradcli.engine.grad_mode import current, pushing, transformed
from gradcli.engine.tensor.storage import References
from gradcli.engine.tensor.tensor import Plain
from gradcli.ops.errors import RuntimeFault, bad_shape, bad_type
from gradcli.transforms.dual import Dual, is_dual
from gradcli.transforms.func_checks import floating, no_real_tangent
from gradcli.transforms.levels import running
from gradcli.transforms.memory import demote
from gradcli.transforms.reverse import lifted

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual",
           "unpack_dual"]  # fmt: skip


class UnpackedDualTensor(NamedTuple):
    """A value and its derivative in the direction of the tangents (None: it has none)."""

    primal: Tensor
    tangent: Tensor | None


def __getattr__(name: str) -> int:
    """``_current_level``: the number of the level that is on, or -1."""
    if name == "_current_level":
        return len(running.dual) - 1
    raise AttributeError(f"module 'gradcli.autograd.forward_ad' has no attribute {name!r}")


def enter_dual_level() -> int:
    """Begin forward mode; returns the level. ``dual_level`` also ends it."""
    if running.dual:
        raise RuntimeFault(
            "E0414", "Nested forward mode AD is not supported at the moment",
            help="func.jvp nests: jvp(lambda x: jvp(f, (x,), (v,))[1], ...)",
        )  # fmt: skip
    running.values[running.begin_dual()] = References()
    return len(running.dual) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """End forward mode: tangents are forgotten. Raises RuntimeFault (E0414) where none began."""
    if not running.dual or level not in (None, len(running.dual) - 1):
        raise RuntimeFault(
            "E0414", "Trying to exit a forward AD level but no level was entered or an inner one is"
        )
    demote(running.dual.popitem()[0])


def leave() -> None:
    """End forward mode if it is on."""
    while running.dual:
        demote(running.dual.popitem()[0])


class dual_level:
    """Forward mode inside a ``with``: there, and only there, dual tensors have tangents.

    Example:
        >>> import gradcli as torch
        >>> with dual_level():
        ...     x = make_dual(torch.tensor(3.0), torch.tensor(1.0))
        ...     unpack_dual(x * x).tangent
        tensor(6.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


def _check_level(level: int | None) -> None:
    if level not in (None, 0):
        raise RuntimeFault("E0414", "Nested forward mode AD is not supported at the moment")


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """``tensor`` with a tangent of its shape; a write to it writes to both.

    A view of it in inference mode, which knows no tangents. Raises RuntimeFault: E0414 (outside a
    level), E0301.

    TypeFault (E0303) for what is no tensor.
    """
    if not running.dual:
        raise RuntimeFault(
            "E0414",
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first.",
            help="put it inside `with forward_ad.dual_level():`",
        )
    _check_level(level)
    for value in (tensor, tangent):
        if not isinstance(value, Tensor):
            raise bad_type(f"make_dual takes tensors, got {type(value).__name__}")
    for name, value in (("primal", tensor), ("tangent", tangent)):
        floating(name, (value,))
    if current().inference:
        return tensor.view(tensor.shape)
    if is_dual(tensor, max(running.dual)):
        raise RuntimeFault("E0414", "the tensor has a tangent at this level already")
    if is_dual(tangent, max(running.dual)):
        raise RuntimeFault(
            "E0414",
            "Trying to set a forward gradient that has a forward gradient at the same level. This "
            "is not supported.",
            help="make the dual of unpack_dual(tangent).primal",
        )
    if tuple(tensor.shape) != tuple(tangent.shape):
        raise bad_shape(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}."
        )
    no_real_tangent(tensor, tangent)
    primal = tensor.view(tensor.shape) if isinstance(tensor, Plain) else tensor
    if isinstance(tensor, Plain) and isinstance(tangent, Plain) and tensor.array.base is not None:
        size = tensor.untyped_storage().nbytes() // tensor.element_size()
        if size * tangent.element_size() != tangent.untyped_storage().nbytes():
            # In memory like the primal's: as_strided may see more of that than the primal shows.
            room = tangent.new_zeros(size)
            room = room.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
            tangent = room.copy_(tangent)
    made = Dual(primal, lifted(tangent, running.vmaps), max(running.dual))
    made.note_given()
    made.take_tangent()
    return made


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent: None outside the level, in inference mode, for a plain tensor.

    Raises TypeFault (E0303) for what is no tensor.
    """
    _check_level(level)
    if running.dual and not isinstance(tensor, Tensor):
        raise bad_type(f"unpack_dual takes a tensor, got {type(tensor).__name__}")
    at = max(running.dual, default=_of_another_thread(tensor))
    if at is None:
        return UnpackedDualTensor(tensor.primal if isinstance(tensor, Dual) else tensor, None)
    tangent = None
    if is_dual(tensor, at):
        tangent = None if current().inference else tensor.given()
        tensor = tensor.primal
    primal = tensor.view(tensor.shape) if isinstance(tensor, Plain) else tensor
    return UnpackedDualTensor(primal, tangent)


def _of_another_thread(tensor: Any) -> int | None:
    """The level of a value whose tangent is of one that is on in another thread."""
    level: int = tensor.__gradcli_rank__ if isinstance(tensor, Dual) else 0
    here = {transform.level for transform in transformed.by}
    return level if level in pushing and level not in here else None
