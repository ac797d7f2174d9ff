"""Transforms that take a function and give a function: ``gradcli.func``, with torch.func's calls.

Arguments and results may be nested tuples, lists and dicts of tensors. Every transform here may
stand inside every other: grad in vmap, jvp in grad, jacfwd of jacrev.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import engine
from gradcli.engine.grad_mode import enable_grad
from gradcli.ops.errors import RuntimeFault
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS
from gradcli.transforms.forward import jvp
from gradcli.transforms.reverse import (
    detached,
    jacobians_of,
    leaf_of,
    pull_back,
    reaches_further,
    recording,
    scalar_only,
)
from gradcli.transforms.tracer import as_value
from gradcli.transforms.tree import flatten, over, unflatten
from gradcli.transforms.vmap import vmap

Argnums = int | tuple[int, ...]


class _Run:
    """One evaluation of a function, ready to be pulled back by some of its arguments."""

    def __init__(self, function: Callable, args: Sequence[Any], argnums: Argnums, has_aux: bool):
        which = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        outer = recording()
        found, self.shape = flatten(tuple(args[i] for i in which))
        self.leaves = [leaf_of(v, outer) for v in found]
        full = list(args)
        for i, chosen in zip(which, unflatten(self.leaves, self.shape), strict=True):
            full[i] = chosen
        with enable_grad():
            result = function(*full)
        self.aux = None
        if has_aux:
            result, self.aux = result
        outputs, self.out_shape = flatten(result)
        self.outputs = [as_value(o) for o in outputs]
        self.create = outer and reaches_further(self.outputs, self.leaves)
        self.single = isinstance(argnums, int)

    def pull(self, cotangents: Sequence[Any]) -> list:
        return pull_back(self.outputs, self.leaves, cotangents, self.create)

    def arranged(self, gradients: list) -> Any:
        """Gradients nested as the arguments are."""
        tree = unflatten(gradients, self.shape)
        return tree[0] if self.single else tree

    def settled(self, tree: Any) -> Any:
        """Results of the function as the caller gets them."""
        return tree if self.create else over(detached, tree)

    def value(self) -> Any:
        return self.settled(unflatten(self.outputs, self.out_shape))


def grad_and_value(function: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """The function that gives the gradient of a scalar-valued ``function``, and its value.

    With ``has_aux`` the function gives ``(value, aux)`` and the result is
    ``(gradient, (value, aux))``. Raises RuntimeFault (E0403) where the value is no scalar.
    """

    def both(*args: Any, **kwargs: Any) -> tuple:
        run = _Run(lambda *a: function(*a, **kwargs), args, argnums, has_aux)
        if run.out_shape is not None:
            raise RuntimeFault(
                "E0403",
                "grad needs a function that gives one number, this one gave several values",
                help="reduce them to one, or give (value, aux) and has_aux=True",
            )
        scalar_only(run.outputs[0])
        gradient = run.arranged(run.pull([None]))
        return gradient, (run.value(), run.settled(run.aux)) if has_aux else run.value()

    return both


def grad(function: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """The function that gives the gradient of a scalar-valued ``function`` by argument ``argnums``.

    Nests: ``grad(grad(f))`` is the second derivative. Raises RuntimeFault (E0403) where the value
    is no scalar.

    Example:
        >>> import gradcli
        >>> gradcli.func.grad(gradcli.func.grad(lambda x: x**3))(gradcli.tensor(2.0))
        tensor(12.)
    """
    both = grad_and_value(function, argnums, has_aux)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def vjp(function: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """The value of ``function(*primals)``, and its vector-Jacobian product as a function.

    That function takes a cotangent for each result and gives a tuple: a gradient for each primal.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([1.0, 2.0])
        >>> value, pull = gradcli.func.vjp(lambda x: x * x, x)
        >>> pull(gradcli.tensor([1.0, 10.0]))
        (tensor([ 2., 40.]),)
    """
    run = _Run(function, primals, tuple(range(len(primals))), has_aux)

    def pull(*cotangents: Any) -> tuple:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        return run.arranged(run.pull(flatten(given)[0]))

    return (run.value(), pull, run.settled(run.aux)) if has_aux else (run.value(), pull)


def jacrev(function: Callable, argnums: Argnums = 0, *, has_aux: bool = False) -> Callable:
    """The function that gives the Jacobian by reverse mode: one pass for each entry of the result.

    A Jacobian has the result's shape and then the argument's.

    Example:
        >>> import gradcli
        >>> gradcli.func.jacrev(lambda x: x * x)(gradcli.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        run = _Run(lambda *a: function(*a, **kwargs), args, argnums, has_aux)
        found = []
        for number, out in enumerate(run.outputs):

            def pull(weights: Any, number: int = number) -> list:
                outputs = [run.outputs[number]]
                return pull_back(outputs, run.leaves, [weights], run.create)

            found.append(run.arranged(jacobians_of(out, run.leaves, pull)))
        result = unflatten(found, run.out_shape)
        return (result, run.settled(run.aux)) if has_aux else result

    return jacobian


def jacfwd(function: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """The function that gives the Jacobian by forward mode, all directions in one pass.

    Example:
        >>> import gradcli
        >>> gradcli.func.jacfwd(lambda x: x * x)(gradcli.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        which = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        leaves, shape = flatten(tuple(args[i] for i in which))
        leaves = [as_value(v) for v in leaves]
        aux: list = []

        def along(*tangents: Any) -> Any:
            def chosen(*values: Any) -> Any:
                full = list(args)
                for i, part in zip(which, unflatten(list(values), shape), strict=True):
                    full[i] = part
                return function(*full, **kwargs)

            found = jvp(chosen, tuple(leaves), tangents, has_aux=has_aux)
            aux[:] = found[2:]
            return found[1]

        per_leaf = []
        for k, leaf in enumerate(leaves):
            size = int(np.prod(tuple(leaf.shape), dtype=np.int64))
            charge_shape((size, size), leaf.dtype.itemsize)
            basis = engine.wrap(
                np.eye(size, dtype=leaf.dtype.numpy).reshape(size, *leaf.shape), leaf.dtype
            )
            others = [OPERATORS["zeros_like"](v) for v in leaves]

            def column(t: Any, k: int = k, others: list = others) -> Any:
                return along(*(t if j == k else z for j, z in enumerate(others)))

            columns = vmap(column, out_dims=-1)(basis)
            per_leaf.append(over(lambda c, leaf=leaf: _shaped(c, leaf), columns))
        outputs, out_shape = flatten(per_leaf[0])
        rows = [flatten(tree)[0] for tree in per_leaf]
        found = []
        for i in range(len(outputs)):
            tree = unflatten([row[i] for row in rows], shape)
            found.append(tree[0] if isinstance(argnums, int) else tree)
        result = unflatten(found, out_shape)
        return (result, aux[0]) if has_aux else result

    return jacobian


def _shaped(columns: Any, leaf: Any) -> Any:
    """The last dimension, that of the directions, in the argument's shape."""
    return OPERATORS["reshape"](columns, (*columns.shape[:-1], *leaf.shape))


def hessian(function: Callable, argnums: Argnums = 0) -> Callable:
    """The function that gives the second derivatives: forward mode over reverse mode.

    Example:
        >>> import gradcli
        >>> gradcli.func.hessian(lambda x: (x**3).sum())(gradcli.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(function, argnums), argnums)
