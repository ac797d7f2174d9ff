"""The same calls on the engine: what runs where a function is not compiled, and the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np

from gradcli.engine import Tensor
from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.grad_mode import current, set_grad_enabled
from gradcli.engine.tensor.tensor import constant
from gradcli.transforms import forward, func, reverse
from gradcli.transforms.tree import over


def with_tensors(function: Callable) -> Callable:
    """``function`` with tensors in place of the numbers and arrays among its results."""
    return lambda *args: over(_as_result, function(*args))


def _as_result(found: Any) -> Any:
    if isinstance(found, np.ndarray | np.generic):
        return constant(found.copy())
    return constant(found) if isinstance(found, Number) else found


def _tensor(given: Any) -> Tensor:
    return given if isinstance(given, Tensor) else constant(given)


def plain(value: Any, tensors: bool) -> Any:
    """A result as a number, an array or (``tensors``) a Tensor, with memory of its own.

    A value of a transform around stays one.
    """
    value = as_tensor(value)
    value = (value if value.__gradcli_rank__ > 1 else value.detach()).clone()
    if tensors:
        return value
    array = np.asarray(value.array)
    if array.shape:
        return array
    return array.item() if array.dtype in (np.float64, np.bool_) else array[()]


def value(function: Callable, args: list, tensors: bool) -> Any:
    """The function's value; of tensors it may have a graph, where the function makes one."""
    with set_grad_enabled(tensors and current().grad):
        result = function(*map(_tensor, args))

    def found(v: Any) -> Any:
        return v if tensors and getattr(v, "grad_fn", None) else plain(v, tensors)

    return over(found, result)


def _by_floats(function: Callable, args: Sequence[Any]) -> tuple[Callable, list[int], list[Tensor]]:
    """The function of those arguments that have derivatives, and which they are."""
    given = [_tensor(a) for a in args]
    places = [i for i, t in enumerate(given) if t.dtype.differentiable]

    def by(*values: Any) -> Any:
        full = list(given)
        for i, v in zip(places, values, strict=True):
            full[i] = v
        return function(*full)

    return by, places, [given[i] for i in places]


def gradient(function: Callable, args: list, tensors: bool) -> tuple:
    """The value and the gradient by each argument."""
    by, places, primals = _by_floats(function, args)
    out, _, pull = reverse.value_and_vjp(by, primals)
    reverse.scalar_only(out)
    grads: list = [None] * len(args)
    for i, g in zip(places, pull(None), strict=True):
        grads[i] = plain(g, tensors)
    return plain(out, tensors), tuple(grads)


def hessian(function: Callable, args: list, tensors: bool) -> Any:
    """The second derivatives: one array, or a tuple of tuples of blocks."""
    primals = [_tensor(a) for a in args]

    def gradient_by(i: int) -> Callable:
        def by(*values: Any) -> Any:
            out, _, pull = reverse.value_and_vjp(function, values, True)
            reverse.scalar_only(out)
            return pull(None)[i]

        return by

    blocks = tuple(
        tuple(plain(h, tensors) for h in reverse.jacobian(gradient_by(i), tuple(primals)))
        for i in range(len(primals))
    )
    return blocks[0][0] if len(primals) == 1 else blocks


def jacobian(function: Callable, args: list, tensors: bool) -> Any:
    """The first derivatives: one array, or a tuple with one for each argument."""
    found = reverse.jacobian(function, tuple(_tensor(a) for a in args))
    blocks = tuple(plain(block, tensors) for block in found)
    return blocks[0] if len(args) == 1 else blocks


def jvp(function: Callable, args: list, tensors: bool) -> tuple:
    """The value and its tangent."""
    given = tuple(_tensor(a) for a in args)
    half = len(given) // 2
    found, tangent = forward.jvp(function, given[:half], given[half:])
    return tuple(over(lambda v: plain(v, tensors), tree) for tree in (found, tangent))


def hvp(function: Callable, args: list, tensors: bool) -> tuple:
    """The value and the Hessian times the vectors."""
    given = [_tensor(a) for a in args]
    half = len(given) // 2
    out, leaves, _ = reverse.value_and_vjp(function, given[:half])
    reverse.scalar_only(out)
    grads = reverse.pull_back([out], leaves, [None], True)
    products = reverse.pull_back(grads, leaves, given[half:], False)
    return plain(out, tensors), tuple(plain(p, tensors) for p in products)


RUN: dict[str, Callable] = {
    "value": value, "gradient": gradient, "hessian": hessian, "jacobian": jacobian, "jvp": jvp,
    "hvp": hvp,
}  # fmt: skip


# ---- Inside a transform, of which the results are values -----------------------------------------


def _gradient_inside(function: Callable, inputs: tuple) -> tuple:
    by, places, primals = _by_floats(function, inputs)
    found, out = func.grad_and_value(by, tuple(range(len(places))))(*primals)
    grads = dict(zip(places, found, strict=True))
    return out, tuple(grads.get(i) for i in range(len(inputs)))


def _jvp_inside(function: Callable, inputs: tuple) -> tuple:
    given, half = _by_floats(function, inputs)[2], len(inputs) // 2
    return func.jvp(function, tuple(given[:half]), tuple(given[half:]))


def _hvp_inside(function: Callable, inputs: tuple) -> tuple:
    (out, _), (_, products) = _jvp_inside(lambda *at: _gradient_inside(function, at), inputs)
    return out, products


def _table_inside(jacobian: Callable) -> Callable:
    def table(function: Callable, inputs: tuple) -> Any:
        by, places, primals = _by_floats(function, inputs)
        return jacobian(by, tuple(range(len(places))) if len(inputs) > 1 else 0)(*primals)

    return table


INSIDE: dict[str, Callable] = {
    "gradient": _gradient_inside, "hessian": _table_inside(func.hessian),
    "jacobian": _table_inside(func.jacrev), "jvp": _jvp_inside, "hvp": _hvp_inside,
}  # fmt: skip
