"""Asking for gradients: ``backward`` and ``grad``, what they take and what they give back."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from gradcli.engine.backward.gradient_edges import GradientEdge, edge_of
from gradcli.engine.backward.hooks import deliver, outgrown, shown_places
from gradcli.engine.backward.traverse import WHOLE, Cut, at_inputs, no_history, run
from gradcli.engine.dtypes import DType, dtype_of
from gradcli.engine.grad_mode import mode, refuse_in_transform, transformed
from gradcli.engine.graph.node import Cotangents, Freed, Node, freed
from gradcli.engine.graph.own_passes import ENDED, is_around, own_edge
from gradcli.engine.graph.torch_names import shown_edges
from gradcli.engine.graph.view_edges import Severed
from gradcli.engine.record.rule_compiler import pull_recorded
from gradcli.engine.source_location import warn_once
from gradcli.engine.tensor.attributes import Size
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.ops.errors import (
    RuntimeFault,
    TypeFault,
    bad_argument,
    bad_dtype,
    bad_shape,
    bad_type,
    bad_value,
)
from gradcli.ops.operator import OPERATORS

_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of ``tensors``, weighted by ``grad_tensors``, to the leaves' ``grad``.

    A weight has its tensor's shape; None is 1 and does for a tensor of one entry. With ``inputs``
    only those receive. Raises RuntimeFault: E0403 (no weight for several entries), E0401 (ran
    before), E0405 (no graph), E0301 (weights that do not fit).

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([1.0, 2.0], requires_grad=True)
        >>> gradcli.autograd.backward([x.sum(), x * x], [None, gradcli.ones(2)])
        >>> x.grad
        tensor([3., 5.])
    """
    _refuse_in_transform()
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning, stacklevel=2,
        )  # fmt: skip
        if grad_tensors is not None:
            raise RuntimeFault(
                "E0302",
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`.",
            )
        grad_tensors = grad_variables
    tensors = _listed(tensors)
    gradients = _weights(grad_tensors, tensors)
    keep = as_flag(create_graph if retain_graph is None else retain_graph)
    create_graph = as_flag(create_graph)
    if create_graph:
        warn_once(_CYCLE)
    wanted = targets = None
    if inputs is not None:
        targets = _listed(inputs.values() if isinstance(inputs, dict) else inputs)
        if not targets:
            mend = "leave it out to accumulate into every leaf"
            raise bad_value("`inputs` argument to `backward()` cannot be empty.", help=mend)
    for value in (*tensors, *gradients, *(targets or ())):
        if getattr(value, "__gradcli_rank__", 0) > 1:  # with a tangent
            value.__gradcli_backward__(tensors, gradients, keep, create_graph, targets)
            return
    roots, cotangents = start(tensors, gradients, create_graph)
    if targets is not None:
        wanted = dict.fromkeys(_edges(targets))
        for target in targets:
            if isinstance(target, Tensor) and not target._is_leaf:
                target.retain_grad()  # for good, as in PyTorch
    run(roots, cotangents, keep, create_graph, wanted, wanted is not None)


def as_flag(value: Any) -> bool:
    """An option that is on or off, as 1 and 0 are. Raises TypeError for what is no such number."""
    return value if value.__class__ is bool else bool(index(value))


def _refuse_in_transform() -> None:
    refuse_in_transform(
        "backward() called inside a functorch transform. This is not supported, please use "
        "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
        "transforms.",
        "write func.grad(f) in the place of f(x).backward()",
    )


def _backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradient of this tensor by every leaf to the leaves' ``grad``.

    ``gradient`` is the cotangent: needed, with this tensor's shape, unless there is one entry.
    Raises RuntimeFault: E0403 (no cotangent for several entries), E0401 (ran before), E0405 (no
    graph).
    """
    edge = self.edge
    if create_graph is not False or inputs is not None or edge is None or edge.__class__ is Severed:
        backward([self], gradient, retain_graph, create_graph, inputs=inputs)
        return
    # The usual call, in as few steps as may be.
    if transformed.by:
        _refuse_in_transform()
    if gradient is None:
        g = _implicit(self, edge)
    elif (
        gradient.__class__ is Tensor and gradient.dtype is edge.dtype
        and gradient.array.shape == edge.shape
    ):  # fmt: skip
        g = gradient.array
    else:
        (gradient,) = _weights(gradient, [self])
        g = _implicit(self, edge) if gradient is None else _given(gradient, 0, edge, False)
    run((edge,), (g,), retain_graph is not None and as_flag(retain_graph), False, None)


_backward.__name__, _backward.__qualname__ = "backward", "Tensor.backward"
Tensor.backward = _backward


def _applied(self: Node, *gradients: Tensor | None) -> Any:
    """What the node makes of the cotangents of its outputs, one for each: a leaf's adds its own.

    Raises TypeFault (E0302, E0303), RuntimeFault (E0301).
    """
    expected = 1 if self.outputs is None else len(self.outputs)
    if len(gradients) != expected:
        raise TypeFault("E0302", f"expected {expected} arguments, got {len(gradients)} instead")
    for i, one in enumerate(gradients):
        if one is not None and not hasattr(one, "__gradcli_rank__"):
            raise TypeFault("E0303", f"argument {i} is not a Variable")
    own = getattr(type(self), "__gradcli_node__", None)  # of a custom function
    node = self if own is None else own(self)
    if node.saved.__class__ is Freed and own is None:
        raise freed(node)
    g: Any = gradients[0] if node.ports is None else Cotangents(list(gradients))
    if node.leaf:
        deliver(node, g if g is None else _given(g, 0, node, mode.grad), mode.grad, alone=True)
        return ()
    if own is None and all(one is None for one in gradients):
        shown: Any = [None] * len(shown_edges(node))
    elif (shown := at_inputs(node, g)) is None:
        pulled = pull_recorded(node, g, wrap)
        shown = [None if place is None else pulled[place] for place in shown_places(node)]
    return shown[0] if len(shown) == 1 else tuple(shown)


Node.__call__ = _applied  # type: ignore[method-assign]


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor] | dict[Any, Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Gradients of ``outputs`` by ``inputs``, as new tensors; no ``grad`` is touched,
    whatever ``only_inputs`` says. A tuple of them, or a dict where ``inputs`` is one.

    ``grad_outputs`` weights the outputs (needed where one has several entries); with
    ``is_grads_batched`` its first dimension counts sets of weights, and so does that of the
    gradients. Raises RuntimeFault: E0404 (an input requires no grad), E0406 (an input was not used;
    ``allow_unused=True`` gives None).

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor(3.0, requires_grad=True)
        >>> gradcli.autograd.grad(x * x, x)
        (tensor(6.),)
    """
    if isinstance(inputs, dict):
        named = grad(
            outputs, list(inputs.values()), grad_outputs, retain_graph, create_graph, only_inputs,
            allow_unused, is_grads_batched, materialize_grads,
        )  # fmt: skip
        return dict(zip(inputs, named, strict=True))
    outputs, inputs = _listed(outputs), _listed(inputs)
    if not inputs:
        raise RuntimeFault("E0404", "`inputs` argument to `grad()` cannot be empty.")
    if materialize_grads and allow_unused is False:
        raise bad_argument(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False.",
            help="leave allow_unused out",
        )
    grad_outputs = _weights(grad_outputs, outputs)
    keep = as_flag(create_graph if retain_graph is None else retain_graph)
    create_graph = as_flag(create_graph)
    as_flag(materialize_grads if allow_unused is None else allow_unused)
    asked = outputs, inputs, grad_outputs, keep, create_graph, allow_unused, materialize_grads
    if is_grads_batched:
        return _batched(*asked)
    return tuple(
        r.detach() if getattr(getattr(r, "edge", None), "constant", False) else r
        for r in gradients(*asked)
    )


def gradients(
    outputs: list[Any], inputs: list[Any], grad_outputs: list[Any], keep: bool, create_graph: bool,
    allow_unused: bool | None, materialize_grads: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """``grad`` of checked arguments; what may not be differentiated again is in the graph."""
    asked = outputs, inputs, grad_outputs, keep, create_graph, allow_unused, materialize_grads
    for value in (*outputs, *inputs, *grad_outputs):
        if getattr(value, "__gradcli_rank__", 0) > 1:  # a tangent or a batch
            answer: tuple[Tensor | None, ...] = value.__gradcli_grad__(*asked)
            return answer
    if transformed.by or ENDED.data:
        for values, error in (outputs, no_history), (inputs, no_graph):
            for i, value in enumerate(values):
                if own_edge(edge_of(value), value) is None:
                    raise error(i)
    found = _towards(inputs, *start(outputs, grad_outputs, create_graph), keep, create_graph)
    results = []
    # One array is one tensor, be it a weight or the gradient of an input that is given twice.
    known = {id(w.array): w for w in grad_outputs if isinstance(w, Tensor)}
    for i, (edge, g) in enumerate(found):
        if g is None and materialize_grads:
            g = _zeros(inputs[i], edge, create_graph)
        r = known.get(id(g))
        if r is None:
            r = _delivered(g, edge, i, allow_unused)
            if isinstance(g, np.ndarray):  # a view of a weight is as that is
                r._require(any(_views(g, w) for w in grad_outputs))
            if r is not None:
                known[id(g)] = r
        results.append(r)
    return tuple(results)


def _views(g: np.ndarray, w: Any) -> bool:
    return w is not None and w.requires_grad and np.may_share_memory(g, w.array)


def _zeros(value: Any, edge: Any, create_graph: bool) -> Tensor:
    """The gradient of an input that was not used."""
    if isinstance(value, GradientEdge):
        raise bad_value("materialize_grads cannot be used when the given input is a GradientEdge")
    g = wrap(np.zeros(edge.shape, edge.dtype.numpy)[()], edge.dtype)
    return g._require(True) if create_graph else g


def _towards(
    inputs: Sequence[Any], roots: Sequence[Node], cotangents: Sequence[Any],
    keep: bool, create_graph: bool, cut: Cut = WHOLE, batches: bool = False,
) -> list[tuple[Node, Any]]:  # fmt: skip
    """What arrives at each input: its node and the gradient, None where nothing came."""
    edges = _edges(inputs)
    # A view made where nothing is recorded has no place of its own that a gradient reaches.
    wanted: dict[Node, Any] = dict.fromkeys(
        e for e in edges if e.__class__ is not Severed and not is_around(e, roots)
    )
    run(roots, cotangents, keep, create_graph, wanted, batches=batches, cut=cut)
    return [(e, wanted.get(e)) for e in edges]


def grad_of_all(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], weights: Sequence[Any],
    create_graph: bool, cut: Cut, batches: bool,
) -> list[Any]:  # fmt: skip
    """``grad`` for a transform that has run its function: by whatever leads to ``inputs``, up to
    ``cut``.

    The graph is kept; None for an input that nothing arrives at. With ``batches`` a weight may be
    many, a value of ``vmap``, and so is then what arrives.
    """
    begin = start(outputs, weights, create_graph or batches)
    found = _towards(inputs, *begin, True, create_graph, cut, batches)
    return [_delivered(g, edge, 0, True) for edge, g in found]


def _edges(inputs: Sequence[Any]) -> list[Node]:
    """The places in the graph of tensors that gradients are asked for. Raises E0404."""
    edges: list[Any] = [edge_of(t) for t in inputs]
    for i, edge in enumerate(edges):
        if edge is None:
            raise no_graph(i)
    return edges


def no_graph(i: int) -> RuntimeFault:
    """The error of an input ``i`` that is in no graph."""
    return RuntimeFault(
        "E0404",
        f"input {i} does not require grad",
        help="set requires_grad=True before the computation uses it",
        torch="One of the differentiated Tensors does not require grad",
    )


def unused(i: int) -> RuntimeFault:
    """The error of an input ``i`` that nothing was computed from."""
    return RuntimeFault(
        "E0406",
        f"The differentiated Tensor at index {i} appears to not have been used in the "
        "graph. Set allow_unused=True if this is the desired behavior.",
    )


def _delivered(g: Any, edge: Node, i: int, allow_unused: bool | None) -> Any:
    """One gradient as ``grad`` hands it out; input ``i`` that was not used raises E0406."""
    if g is None and edge.extra is not None and edge.extra.before is not None:
        before = edge.extra.before()
        if before is not None:  # a graph leads there
            raise outgrown(before.shape, edge.shape)
    if g is None and not allow_unused:
        raise unused(i)
    return g if g is None or isinstance(g, Tensor) else wrap(g, edge.dtype or dtype_of(g))


_ONE = (Tensor, GradientEdge)


def _listed(values: Any) -> list[Any]:
    one = isinstance(values, _ONE) or hasattr(values, "__gradcli_rank__")
    return [values] if one else list(values)


def _weights(given: Any, tensors: list[Any]) -> list[Any]:
    """A weight or None for each of ``tensors``, from None, one tensor or a sequence."""
    if given is None:
        return [None] * len(tensors)
    weights = list(given) if isinstance(given, tuple | list) else [given]
    for w in weights:
        if w is not None and not hasattr(w, "__gradcli_rank__"):
            said = f"gradients can be either Tensors or None, but got {type(w).__name__}"
            raise bad_type(said, help="tensor(...) makes a tensor of it")
    if len(weights) < len(tensors):
        mend = "give one gradient for each tensor, None where a scalar needs none"
        raise bad_shape(f"got {len(tensors)} tensors and {len(weights)} gradients", help=mend)
    return weights[: len(tensors)]


def _batched(
    outputs: list[Any], inputs: list[Any], weights: list[Any], keep: bool, create_graph: bool,
    allow_unused: bool | None, materialize_grads: bool,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """One pass for each set of weights, the gradients stacked."""
    shapes = [tuple(v.shape if isinstance(v, Tensor) else _edges([v])[0].shape) for v in outputs]
    sizes = {tuple(getattr(w, "shape", ())[:1]) for w in weights}
    mend = "stack the sets of weights along a new first dimension"
    if len(sizes) != 1 or sizes & {(), (0,)}:
        said = "with is_grads_batched=True every grad_output needs a first dimension of one size, "
        implied = any(w is None and not s for w, s in zip(weights, shapes, strict=True))
        raise (bad_argument if implied else bad_shape)(f"{said}at least 1", help=mend)
    for i, (want, w) in enumerate(zip(shapes, weights, strict=True)):
        if tuple(w.shape[1:]) != want:
            raise bad_shape(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                "match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{i}] has a shape of {Size(w.shape)} and output[{i}] has a shape "
                f"of {Size(want)}.",
                help=mend,
            )
    ((count,),) = sizes
    found = [
        grad(
            outputs, inputs, [w[i] for w in weights], keep or i < count - 1, create_graph,
            allow_unused=allow_unused or materialize_grads,
        )
        for i in range(count)
    ]  # fmt: skip
    results = [None if g[0] is None else OPERATORS["stack"](*g) for g in zip(*found, strict=True)]
    if materialize_grads:  # one for all sets, as in PyTorch
        for i, g in enumerate(results):
            results[i] = _zeros(inputs[i], edge_of(inputs[i]), create_graph) if g is None else g
    return tuple(results)


def start(
    tensors: Sequence[Tensor | GradientEdge], gradients: Sequence[Any], create_graph: bool
) -> tuple[list[Node], list[Any]]:
    """The nodes where a pass begins and the cotangents that it begins with, checked."""
    roots, cotangents = [], []
    for i, (t, g) in enumerate(zip(tensors, gradients, strict=True)):
        edge = edge_of(t)
        if edge is None or edge.__class__ is Severed:
            raise no_history(i)
        g = _implicit(t, edge) if g is None else _given(g, i, edge, create_graph)
        if create_graph and not isinstance(g, Tensor):
            g = wrap(g, dtype_of(g))
        roots.append(edge)
        cotangents.append(g)
    return roots, cotangents


def real_only(dtype: DType) -> None:
    """Raise RuntimeFault (E0403) where a complex result has no cotangent to begin with."""
    if dtype.is_complex:
        said = f"grad can be implicitly created only for real scalar outputs but got {dtype}"
        mend = "take the real part, the imaginary part or abs() first"
        raise RuntimeFault("E0403", said, help=mend)


def not_scalar(shape: Sequence[int], help: str | None = None) -> RuntimeFault:
    """The error of an output of several entries without a cotangent."""
    said = "grad can be implicitly created only for scalar outputs"
    shown = f"{said}; this one has shape {tuple(shape)}"
    return RuntimeFault("E0403", shown, help=help, torch=said)


def _implicit(t: Tensor | GradientEdge, edge: Node) -> Any:
    """The cotangent that a scalar begins with: 1."""
    if edge.shape and math.prod(edge.shape) != 1:
        mend = "y.sum().backward(), or y.backward(gradient=v) with v of y's shape"
        raise not_scalar(edge.shape, mend)
    array = t.array if isinstance(t, Tensor) else None
    dtype = _dtype(edge, array)
    real_only(dtype)
    if array is None or isinstance(array, np.ndarray | np.generic):
        return np.ones(edge.shape, dtype.numpy) if edge.shape else dtype.numpy.type(1)
    return np.ones_like(array)


def _dtype(edge: Node, array: Any) -> DType:
    """The element type of what a pass begins at; ``array`` is for a leaf whose gradient has any."""
    known: DType | None = edge.dtype
    return dtype_of(array) if known is None else known


def _given(g: Tensor, place: int, edge: Node, create_graph: bool) -> Any:
    """A cotangent of the user's, in the shape and the element type of what it weights."""
    if g.array.shape != edge.shape:
        raise bad_shape(
            f"Mismatch in shape: grad_output[{place}] has a shape of {Size(g.array.shape)} and "
            f"output[{place}] has a shape of {Size(edge.shape)}.",
            help="the cotangent has the shape of the tensor it weights",
        )
    dtype = _dtype(edge, g.array)
    if g.dtype.is_complex is not dtype.is_complex:
        raise bad_dtype(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{place}] has a dtype of {g.dtype} and output[{place}] "
            f"has a dtype of {dtype}."
        )
    if not create_graph:
        return g.array if g.dtype is dtype else g.array.astype(dtype.numpy)
    return g if g.dtype is dtype else g.to(dtype)
