"""gradcheck: the gradient against central differences, entry by entry, and which entry is off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.engine.creation import as_tensor
from gradcli.engine.modes import no_grad
from gradcli.ops.errors import RuntimeFault
from gradcli.transforms.reverse import jacobian


def numeric_jacobian(
    function: Callable, inputs: Sequence[Any], which: int, eps: float
) -> np.ndarray:
    """Central differences of every result entry by every entry of input ``which``."""
    arrays = [np.array(as_tensor(t).array) for t in inputs]
    x = arrays[which]
    columns = []
    with no_grad():
        for place in np.ndindex(x.shape):
            here = x[place]
            values = []
            for shifted in (here + eps, here - eps):
                x[place] = shifted
                values.append(np.array(as_tensor(function(*map(as_tensor, arrays))).array))
            x[place] = here
            columns.append((values[0] - values[1]) / (2 * eps))
    out_shape = columns[0].shape if columns else ()
    table = np.stack(columns, axis=-1) if columns else np.zeros((*out_shape, 0))
    return table.reshape((*out_shape, *x.shape))


def gradcheck(
    function: Callable,
    inputs: Any,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Whether the gradient of ``function`` agrees with central differences at ``inputs``.

    Inputs should be float64. Raises RuntimeFault (E0410) naming the worst entry and both values, or
    returns False where ``raise_exception`` is False.
    """
    inputs = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    exact = jacobian(function, tuple(as_tensor(t).detach() for t in inputs))
    for i, found in enumerate(exact):
        if not as_tensor(inputs[i]).dtype.is_floating_point:
            continue
        analytic = np.asarray(found.detach().array)
        numeric = numeric_jacobian(function, [as_tensor(t).detach() for t in inputs], i, eps)
        off = np.abs(analytic - numeric) - (atol + rtol * np.abs(numeric))
        if off.size and not (np.nanmax(off) <= 0 and not np.isnan(off).any()):
            if not raise_exception:
                return False
            place = np.unravel_index(
                int(np.argmax(np.where(np.isnan(off), np.inf, off))), off.shape
            )
            raise RuntimeFault(
                "E0410",
                f"the gradient by input {i} is off at entry {tuple(map(int, place))}: "
                f"{analytic[place]:.10g} by the rules, {numeric[place]:.10g} by differences",
                help="look for a write through .data or .numpy(), a kink, or a wrong backward",
            )
    return True


def gradgradcheck(function: Callable, inputs: Any, **options: Any) -> bool:
    """``gradcheck`` of the gradient itself (second order), weighted by fixed numbers."""
    from gradcli import engine

    inputs = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)

    def first(*xs: Any) -> Any:
        leaves = [x if x.edge is not None else x.detach().requires_grad_() for x in xs]
        from gradcli.engine.modes import enable_grad

        with enable_grad():
            out = function(*leaves)
            weights = np.cos(np.arange(out.array.size, dtype=np.float64)).reshape(out.array.shape)
            found = engine.grad(
                out, leaves, engine.wrap(weights.astype(out.dtype.numpy), out.dtype),
                create_graph=True, allow_unused=True, materialize_grads=True,
            )  # fmt: skip
            from gradcli.ops.core import OPERATORS

            return OPERATORS["cat"](*(g.reshape(-1) for g in found))

    return gradcheck(first, inputs, **options)
