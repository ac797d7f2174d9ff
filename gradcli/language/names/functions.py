"""The functions of the Python face that programs have, by name."""

from __future__ import annotations

from typing import Any

from gradcli.engine import dtypes, grad_mode
from gradcli.engine.creation import factories, sampling

_CREATED = (
    "tensor", "as_tensor", "ones", "zeros", "full", "empty", "eye", "arange", "linspace",
    "logspace", "ones_like", "zeros_like", "full_like", "empty_like", "tril_indices",
    "triu_indices", "asarray",
)  # fmt: skip
_MODES = (
    "no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "is_grad_enabled",
    "is_inference_mode_enabled",
)  # fmt: skip

_DRAWN = (
    "rand", "randn", "randint", "randperm", "normal", "rand_like", "randn_like", "bernoulli",
    "multinomial", "poisson", "manual_seed", "initial_seed", "get_rng_state", "set_rng_state",
)  # fmt: skip


def later() -> dict[str, Any]:
    """The functions of the Python face whose modules are loaded with their first use."""
    from gradcli import surface  # with all packages: few programs need another name

    table = {n: getattr(surface, n) for n in surface.LATER_IN_PROGRAMS}
    return {n: f for n, f in table.items() if callable(f) and not isinstance(f, type)}


def created() -> dict[str, Any]:
    """What makes tensors, and what asks about modes."""
    table = {name: getattr(factories, name) for name in _CREATED}
    table.update({name: getattr(sampling, name) for name in _DRAWN})
    table.update(finfo=dtypes.finfo, iinfo=dtypes.iinfo)
    table.update({name: getattr(grad_mode, name) for name in _MODES})
    return table
