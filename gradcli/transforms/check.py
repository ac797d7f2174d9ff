"""gradcheck: the gradient against central differences, entry by entry, and which entry is off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.grad_mode import no_grad
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.errors import RuntimeFault
from gradcli.transforms.func import jacfwd
from gradcli.transforms.reverse import jacobian


class GradcheckFault(RuntimeFault):
    """The derivative that the rules give is not the one that differences give."""


GradcheckFault.__name__ = GradcheckFault.__qualname__ = "GradcheckError"  # PyTorch's name of it
GradcheckFault.__module__ = "gradcli.autograd.gradcheck"


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


def _outputs(function: Callable, inputs: Sequence[Any]) -> list[Callable]:
    """A function for each result that may have a gradient, ``function`` itself for a single one."""
    with no_grad():
        found = function(*[as_tensor(t).detach() for t in inputs])
    if not isinstance(found, tuple | list):
        return [function]
    return [
        lambda *xs, number=number: function(*xs)[number]
        for number, value in enumerate(found)
        if isinstance(value, Tensor) and value.dtype.differentiable
    ]


def gradcheck(
    func: Callable,
    inputs: Any,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    *,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    **others: Any,
) -> bool:
    """Whether the gradient of ``func`` agrees with central differences at ``inputs``.

    Inputs should be float64; every result is checked, by reverse mode and, where
    ``check_forward_ad``, by forward mode. PyTorch's other options (``fast_mode``, ``nondet_tol``)
    are accepted: every entry is compared in any case. Raises RuntimeFault (E0410) naming the worst
    entry and both values, or returns False where ``raise_exception`` is False.
    """
    _known(others)
    inputs = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    at = [as_tensor(t).detach() for t in inputs]
    floats = [i for i, t in enumerate(at) if t.dtype.is_floating_point]
    for function in _outputs(func, inputs):
        ways = []
        if check_backward_ad:
            ways.append(jacobian(function, tuple(at)))
        if check_forward_ad:
            forward = jacfwd(function, tuple(floats))(*at)
            ways.append(dict(zip(floats, forward, strict=True)))
        for i in floats:
            numeric = numeric_jacobian(function, at, i, eps)
            for found in ways:
                fault = _compared(np.asarray(found[i].detach().array), numeric, i, atol, rtol)
                if fault is not None and raise_exception:
                    raise fault
                if fault is not None:
                    return False
    return True


def _known(options: dict[str, Any]) -> None:
    unknown = options.keys() - {
        "nondet_tol", "check_undefined_grad", "check_grad_dtypes", "check_batched_grad",
        "check_batched_forward_grad", "fast_mode", "masked", "check_sparse_nnz",
    }  # fmt: skip
    if unknown:
        raise TypeError(f"gradcheck() got an unexpected keyword argument {min(unknown)!r}")


def _compared(
    analytic: np.ndarray, numeric: np.ndarray, number: int, atol: float, rtol: float
) -> GradcheckFault | None:
    off = np.abs(analytic - numeric) - (atol + rtol * np.abs(numeric))
    if not off.size or (np.nanmax(off) <= 0 and not np.isnan(off).any()):
        return None
    place = np.unravel_index(int(np.argmax(np.where(np.isnan(off), np.inf, off))), off.shape)
    return GradcheckFault(
        "E0410",
        f"the gradient by input {number} is off at entry {tuple(map(int, place))}: "
        f"{analytic[place]:.10g} by the rules, {numeric[place]:.10g} by differences",
        help="look for a write through .data or .numpy(), a kink, or a wrong backward",
    )


def gradgradcheck(func: Callable, inputs: Any, grad_outputs: Any = None, **options: Any) -> bool:
    """``gradcheck`` of the gradient itself (second order), weighted by ``grad_outputs`` or by fixed
    numbers."""
    from gradcli import engine
    from gradcli.engine.grad_mode import enable_grad
    from gradcli.ops.operator import OPERATORS

    options.pop("gen_non_contig_grad_outputs", None)
    inputs = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    given = grad_outputs if isinstance(grad_outputs, tuple | list) else [grad_outputs]
    pieces = _outputs(func, inputs)
    given = list(given) + [None] * (len(pieces) - len(given))
    for function, weight in zip(pieces, given, strict=True):

        def first(*xs: Any, function: Callable = function, weight: Any = weight) -> Any:
            leaves = [x if x.edge is not None else x.detach().requires_grad_() for x in xs]
            with enable_grad():
                out = function(*leaves)
                found = engine.grad(
                    out, leaves, _weights(out) if weight is None else weight.detach(),
                    create_graph=True, allow_unused=True, materialize_grads=True,
                )  # fmt: skip
                return OPERATORS["cat"](*(g.reshape(-1) for g in found))

        if not gradcheck(first, inputs, **options):
            return False
    return True


def _weights(out: Tensor) -> Tensor:
    from gradcli.engine.tensor.tensor import wrap

    numbers = np.cos(np.arange(out.array.size, dtype=np.float64)).reshape(out.array.shape)
    return wrap(numbers.astype(out.dtype.numpy), out.dtype)
