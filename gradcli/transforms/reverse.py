"""Reverse-mode transforms of functions: grad, vjp, jacobian, hessian, hvp.

Functions take and give Tensors. Each transform makes its own leaves, so the caller's tensors are
neither changed nor left with a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import engine
from gradcli.engine import Tensor
from gradcli.engine.creation import as_tensor
from gradcli.engine.dtypes import get_default_dtype
from gradcli.engine.modes import enable_grad
from gradcli.ops.core import OPERATORS
from gradcli.ops.errors import RuntimeFault
from gradcli.ops.limits import charge_shape


def leaf_of(value: Any, create_graph: bool = False) -> Tensor:
    """A tensor to differentiate by: ``value`` outside its graph, or a link to it (create_graph)."""
    t = as_tensor(value)
    if not t.dtype.differentiable:
        t = t.to(get_default_dtype())
    if create_graph and t.edge is not None:
        return OPERATORS["clone"](t)
    return t.detach().requires_grad_()


def value_and_vjp(
    function: Callable[..., Tensor], primals: Sequence[Any], create_graph: bool = False
) -> tuple[Tensor, list[Tensor], Callable[[Any], tuple[Tensor, ...]]]:
    """The value, the leaves it was computed from, and a function from cotangents to gradients."""
    leaves = [leaf_of(p, create_graph) for p in primals]
    with enable_grad():
        out = function(*leaves)
    if not isinstance(out, Tensor):
        out = as_tensor(out)

    def pull(cotangent: Any) -> tuple[Tensor, ...]:
        if out.edge is None:
            return tuple(OPERATORS["zeros_like"](t) for t in leaves)
        return engine.grad(
            out, leaves, cotangent, retain_graph=True, create_graph=create_graph,
            allow_unused=True, materialize_grads=True,
        )  # fmt: skip

    return out, leaves, pull


def vjp(function: Callable[..., Tensor], *primals: Any) -> tuple[Tensor, Callable]:
    """The value of ``function(*primals)``, and its vector-Jacobian product as a function."""
    out, _, pull = value_and_vjp(function, primals)
    return out.detach(), pull


def grad(function: Callable[..., Tensor], argnums: int | Sequence[int] = 0) -> Callable:
    """The function that gives the gradient of a scalar-valued ``function`` by argument ``argnums``.

    Nests: ``grad(grad(f))`` is the second derivative. Raises RuntimeFault (E0403) where the value
    is no scalar.

    Example:
        >>> import gradcli
        >>> gradcli.func.grad(gradcli.func.grad(lambda x: x**3))(gradcli.tensor(2.0))
        tensor(12.)
    """

    def gradient(*args: Any) -> Any:
        which = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        linked = [as_tensor(a) for a in args]
        create = any(linked[i].edge is not None for i in which)

        def partial(*chosen: Tensor) -> Tensor:
            full = list(args)
            for i, t in zip(which, chosen, strict=True):
                full[i] = t
            return function(*full)

        out, _, pull = value_and_vjp(partial, [linked[i] for i in which], create)
        if out.array.shape != ():
            raise RuntimeFault(
                "E0403",
                f"grad needs a scalar-valued function, this one gave shape {tuple(out.shape)}",
                help="reduce with sum(), or use jacobian",
            )
        found = pull(None)
        return found[0] if isinstance(argnums, int) else found

    return gradient


def jacobian(function: Callable[..., Tensor], primals: Any, create_graph: bool = False) -> Any:
    """All partial derivatives: shape of the result + shape of the input, one per input.

    One backward pass per entry of the result. A tuple of inputs gives a tuple of Jacobians.
    """
    several = isinstance(primals, tuple | list)
    out, leaves, pull = value_and_vjp(function, primals if several else (primals,), create_graph)
    shape = tuple(out.array.shape)
    rows: list[list[Tensor]] = [[] for _ in leaves]
    for leaf in leaves:
        charge_shape((*shape, *leaf.array.shape), leaf.dtype.itemsize)
    for i in range(out.array.size):
        seed = np.zeros(out.array.size, out.dtype.numpy)
        seed[i] = 1
        for row, g in zip(rows, pull(engine.wrap(seed.reshape(shape), out.dtype)), strict=True):
            row.append(g)
    result = tuple(_assembled(row, shape, leaf) for row, leaf in zip(rows, leaves, strict=True))
    return result if several else result[0]


def _assembled(row: list[Tensor], shape: tuple, leaf: Tensor) -> Tensor:
    full = (*shape, *leaf.array.shape)
    if not row:
        return engine.wrap(np.zeros(full, leaf.dtype.numpy), leaf.dtype)
    return OPERATORS["reshape"](OPERATORS["stack"](*row), full)


def hessian(function: Callable[..., Tensor], primal: Any, create_graph: bool = False) -> Tensor:
    """The second derivatives of a scalar-valued function of one tensor: shape + shape."""
    return jacobian(lambda x: grad(function)(x), primal, create_graph)


def hvp(function: Callable[..., Tensor], primal: Any, vector: Any) -> tuple[Tensor, Tensor]:
    """The value and the Hessian times ``vector``, by reverse over reverse: no Hessian is formed."""
    out, leaves, _ = value_and_vjp(function, (primal,), create_graph=False)
    with enable_grad():
        (g,) = engine.grad(
            out, leaves, create_graph=True, allow_unused=True, materialize_grads=True
        )
    if g.edge is None:
        return out.detach(), OPERATORS["zeros_like"](leaves[0])
    (product,) = engine.grad(
        g, leaves, as_tensor(vector), allow_unused=True, materialize_grads=True
    )
    return out.detach(), product
