"""``gradcli.nn.utils``: clipping gradients, and parameters as one vector."""

from __future__ import annotations

from collections.abc import Generator, Iterable

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli._lazy import lazily
from gradcli.engine import Tensor
from gradcli.engine.creation.factories import tensor
from gradcli.engine.grad_mode import no_grad
from gradcli.engine.source_location import warn
from gradcli.ops import OPERATORS as _O
from gradcli.ops.errors import RuntimeFault, bad_type, bad_value

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "get_total_norm", "parameters_to_vector", "vector_to_parameters",
]  # fmt: skip


def _listed(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grads(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """The norm of the tensors as if they were one vector. Raises RuntimeFault (E0501)."""
    from gradcli.functions.overloads import stack

    tensors = _listed(tensors)
    if not tensors:
        return tensor(0.0)
    norms = stack([_O["norm"](t, float(norm_type)) for t in tensors])
    total = _O["norm"](norms, float(norm_type))
    if error_if_nonfinite and not abs(total.item()) < float("inf"):
        said = f"The total norm of order {norm_type} for gradients from `parameters` is non-finite"
        raise RuntimeFault("E0501", f"{said}, so it cannot be clipped.")
    return total


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
    error_if_nonfinite: bool = False, foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """Scale all gradients so that their norm, as one vector, is at most ``max_norm``.

    Returns the norm before.

    Example:
        >>> import gradcli as torch
        >>> x = torch.tensor([3.0, 4.0], requires_grad=True)
        >>> (x * x / 2).sum().backward()
        >>> clip_grad_norm_([x], 1.0), x.grad
        (tensor(5.), tensor([0.6000, 0.8000]))
    """
    given, parameters = parameters, _listed(parameters)
    if not parameters and isinstance(given, Generator):  # it is used up: a mistake, unlike ()
        warn("`parameters` is an empty generator, no gradient clipping will occur.")
    total = get_total_norm(_grads(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor,
    foreach: bool | None = None,
) -> None:  # fmt: skip
    """Scale all gradients by ``max_norm / total_norm``, where that is below 1."""
    factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
    for grad in _grads(parameters):
        grad.mul_(factor)


clip_grad_norm = clip_grad_norm_


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Every entry of every gradient to between ``-clip_value`` and ``clip_value``.

    Raises RuntimeFault (E0304) where there is no gradient.
    """
    clip_value, grads = float(clip_value), _grads(parameters)
    if not grads:
        raise bad_value("Expected a list of gradients that is not empty")
    with no_grad():
        for grad in grads:
            grad.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All entries of all parameters in one vector; gradients flow through."""
    from gradcli.functions.overloads import cat

    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give the parameters the entries of a vector, in order.

    Raises TypeFault (E0303) for what is no tensor.
    """
    if not isinstance(vec, Tensor):
        raise bad_type(f"expected gradcli.Tensor, but got: {type(vec)}")
    start = 0
    for p in parameters:
        count = p.numel()
        p.data = vec[start : start + count].view(tuple(p.shape)).data
        start += count


__getattr__ = lazily(__name__, {"parametrizations": "", "parametrize": ""})
