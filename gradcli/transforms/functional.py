"""``gradcli.autograd.functional``: derivatives of a function at a point, with PyTorch's calls.

Inputs and results are one Tensor or a tuple of Tensors, and the answers are nested alike. With
``create_graph`` the answer can be differentiated again; ``strict`` makes an error (E0405, E0406) of
a result that does not depend on an input, which otherwise counts as zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.backward.api import as_flag, gradients, real_only
from gradcli.engine.grad_mode import enable_grad, transformed
from gradcli.engine.record.composite import bottom
from gradcli.ops.operator import OPERATORS
from gradcli.transforms.dual import Dual
from gradcli.transforms.func import forward_jacobian, vectorized_jacobians
from gradcli.transforms.functional_checks import (
    as_tuple,
    bent,
    check_forward,
    differentiable,
    direction,
    filled,
    known_strategy,
    not_strict,
    one_number,
    scalar,
    strict_graph,
)
from gradcli.transforms.reverse import jacobians_of, leaf_of


def _leaves(values: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    """Tensors to differentiate by; with create_graph they stay in the caller's graph.

    As in PyTorch, views or leaves, so that a function which writes into its argument is refused.
    """
    return tuple(v if v.requires_grad else v.requires_grad_() for v in _apart(values, create_graph))


def _apart(values: Sequence[Tensor], create_graph: bool) -> Iterator[Tensor]:
    """Tensors in their own graph, and with their tangents, with ``create_graph``; or constants.

    PyTorch drops the tangent of what does not require grad, and derivatives come out as 0.
    """
    kept = (create_graph and (v.requires_grad or isinstance(v, Dual)) for v in values)
    return (v.view(v.shape) if k else v.detach() for k, v in zip(kept, values, strict=True))


def _along(
    v: Any, like: Sequence[Tensor], several: bool, name: str, create_graph: bool,
    of: str = "input to the user-provided function is",
) -> tuple[Tensor, ...]:  # fmt: skip
    """A direction; 1 where none is given, of one number."""
    if v is None:
        return one_number(like, f"the {of} a single Tensor with a single element")
    return tuple(_apart(direction(v, like, several, name), create_graph))


def _done(values: Sequence[Tensor], create_graph: bool, several: bool) -> Any:
    found = tuple(v if create_graph else v.detach() for v in values)
    return found if several else found[0]


def _called(func: Callable, inputs: Sequence[Tensor], name: str, strict: bool) -> tuple:
    before, transformed.differentiated = transformed.differentiated, True
    try:
        found = func(*inputs)
    finally:
        transformed.differentiated = before
    several, outputs = as_tuple(found, "outputs of the user-provided function", name)
    if strict:
        differentiable(outputs)
    return several, outputs


def _by(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], weights: Sequence[Any], create_graph: bool
) -> tuple[Tensor | None, ...]:
    """Gradients of those outputs that have a graph, in ``vmap`` an error; None where none lead."""
    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if bottom(o).requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    by, weighted = [o for o, _ in pairs], [w for _, w in pairs]
    return gradients(by, list(inputs), weighted, True, as_flag(create_graph), allow_unused=True)


def vjp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``func(*inputs)`` and the product of ``v`` with the Jacobian there.

    ``v`` has the shapes of the result; None where that is one number.
    """
    with enable_grad():
        several, given = as_tuple(inputs, "inputs", "vjp")
        leaves = _leaves(given, create_graph)
        many, outputs = _called(func, leaves, "vjp", strict)
        of = "user-provided function returns"
        weights = _along(v, outputs, many, "vjp", create_graph, of)
        found = filled(_by(outputs, leaves, weights, create_graph), leaves, strict, "The output")
        strict_graph(found, strict, create_graph, "jacobian")
    return _done(outputs, create_graph, many), _done(found, create_graph, several)


def jvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``func(*inputs)`` and the product of the Jacobian there with ``v``.

    Computed by differentiating the backward pass by its cotangent. ``v`` has the shapes of the
    inputs; None where there is one input of one number.
    """
    with enable_grad():
        several, given = as_tuple(inputs, "inputs", "jvp")
        leaves = _leaves(given, create_graph)
        along = _along(v, leaves, several, "jvp", create_graph)
        many, outputs = _called(func, leaves, "jvp", strict)
        found = _pushed(outputs, leaves, along, create_graph, strict, "The output")
        strict_graph(found, strict, create_graph, "jacobian")
    return _done(outputs, create_graph, many), _done(found, create_graph, many)


def _pushed(
    outputs: Sequence[Tensor], leaves: Sequence[Tensor], along: Sequence[Tensor],
    create_graph: bool, strict: bool, what: str,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The Jacobian times a direction: the derivative of the backward pass by its cotangent."""
    weights = [leaf_of(OPERATORS["zeros_like"](o.detach()), False, ()) for o in outputs]
    back = filled(_by(outputs, leaves, weights, True), leaves, strict, what)
    return filled(_by(back, weights, along, create_graph), weights, strict, "The gradient")


def jacobian(
    func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """All first derivatives: for each result and input a tensor of the result's and input's shape.

    ``strategy`` is ``"reverse-mode"`` (a pass for each entry of the result; with ``vectorize`` one
    for many) or ``"forward-mode"`` (one pass in all directions of the inputs, with ``vectorize``).
    Raises AssertionFault (E0303) for another strategy, RuntimeFault (E0303) for ``strict`` with
    ``vectorize`` or with forward mode, UnwrittenFault (E0303) for forward mode that is not
    vectorised or that should have a graph, for which there is ``func.jacfwd``.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([1.0, 2.0])
        >>> gradcli.autograd.functional.jacobian(lambda x: x * x, x)
        tensor([[2., 0.],
                [0., 4.]])
    """
    known_strategy(strategy)
    if strategy == "forward-mode":
        check_forward("jacobian", strict, vectorize, create_graph)
    several, given = as_tuple(inputs, "inputs", "jacobian")
    if strategy == "forward-mode":
        return _forward(func, given, several)
    with enable_grad():
        leaves = _leaves(given, create_graph)
        many, outputs = _called(func, leaves, "jacobian", strict and not vectorize)
        if strict and vectorize:
            raise not_strict("jacobian", "`vectorized=True`", "`vectorized=False`")
        if vectorize:
            table = vectorized_jacobians(outputs, leaves, create_graph)
            return _nested(table, many, several, create_graph)

        def pull(ends: Sequence[Any], rows: Sequence[Any]) -> Sequence[Any]:
            found = filled(_by(ends, leaves, rows, create_graph), leaves, strict, what)
            strict_graph(found, strict, create_graph, "jacobian")
            return found

        table = []
        for number, out in enumerate(outputs):
            what = f"Output {number}"
            if out.requires_grad:
                real_only(out.dtype)
            table += jacobians_of([out], leaves, pull)
    return _nested(table, many, several, create_graph)


def _nested(table: list[list], many: bool, several: bool, create_graph: bool) -> Any:
    found = tuple(_done(row, create_graph, several) for row in table)
    return found if many else found[0]


def _forward(func: Callable, given: tuple, several: bool) -> Any:
    def checked(*points: Any) -> Any:
        result = func(*points)
        as_tuple(result, "outputs of the user-provided function", "jacobian")
        return result

    which = tuple(range(len(given))) if several else 0
    found = forward_jacobian(checked, which, False, "error", False)(*given)
    return _listed(found) if several else found


def _listed(tree: Any) -> Any:
    return [_listed(part) for part in tree] if isinstance(tree, tuple) else tree


def hessian(
    func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """All second derivatives of a function of one number, nested input by input.

    ``vectorize`` and ``outer_jacobian_strategy`` are about the derivative of the gradient, as in
    ``jacobian``, and raise as it does.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([1.0, 2.0])
        >>> gradcli.autograd.functional.hessian(lambda x: (x**3).sum(), x)
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    several, _ = as_tuple(inputs, "inputs", "hessian")
    known_strategy(outer_jacobian_strategy)
    one = scalar(func, "hessian", strict)
    if outer_jacobian_strategy == "forward-mode":
        check_forward("hessian", strict, vectorize, create_graph)

    def gradient(*args: Tensor) -> Any:
        # A tangent goes with a view, not with a constant.
        views = (v if v.requires_grad else v.view(v.shape).requires_grad_() for v in args)
        found = jacobian(one, (*views,), create_graph=True)
        if strict:
            bent(found)
        return found if several else found[0]

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def vhp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``func(*inputs)``, one number, and the product of ``v`` with the Hessian there."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``func(*inputs)``, one number, and the product of the Hessian there with ``v``.

    As ``vhp``, for the Hessian is symmetric, by the way of ``jvp``: hooks may tell them apart.
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str, func: Callable, inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    with enable_grad():
        several, given = as_tuple(inputs, "inputs", name)
        leaves = _leaves(given, create_graph)
        along = _along(v, leaves, several, name, create_graph)
        _, outputs = _called(scalar(func, name, strict, as_given=True), leaves, name, strict)
        first = filled(_by(outputs, leaves, [None], True), leaves, strict, "The output")
        if strict:
            bent(first)
        if name == "hvp":
            found = _pushed(first, leaves, along, create_graph, strict, "The jacobian")
        else:
            found = filled(_by(first, leaves, along, create_graph), leaves, strict, "The jacobian")
        strict_graph(found, strict, create_graph, "hessian")
    return _done(outputs, create_graph, False), _done(found, create_graph, several)
