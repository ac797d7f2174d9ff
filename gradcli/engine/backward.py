"""The backward pass: from outputs to leaves, once over the graph, without recursion.

Nodes run from the youngest to the oldest (PyTorch's order: a node has a higher sequence number than
all it depends on), a leaf's AccumulateGrad as soon as its last contribution is there. What every
rule would otherwise repeat is done here: summing a broadcast cotangent back to the input's shape,
expanding a too-small one, casting to the input's dtype, projecting complex to real.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.branches import CHOSEN, taken
from gradcli.engine.graph import AccumulateGrad, Cotangents, Freed, Node, Part, freed, pull_recorded
from gradcli.engine.modes import mode
from gradcli.engine.naming import called
from gradcli.engine.places import warn
from gradcli.engine.tensor import Tensor, wrap
from gradcli.ops.core import OPERATORS
from gradcli.ops.errors import Fault, RuntimeFault, TypeFault

_by_age = attrgetter("seq")
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
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    gradients = _weights(grad_tensors, tensors)
    if create_graph and not mode.warned_of_cycle:
        mode.warned_of_cycle = True
        warn(_CYCLE)
    if inputs is not None:
        targets = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        found = grad(tensors, targets, gradients, retain_graph, create_graph, allow_unused=True)
        for target, g in zip(targets, found, strict=True):
            if g is not None:
                _accumulate(target.edge, g if create_graph else g.array, create_graph)
        return
    roots, cotangents = start(tensors, gradients, create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    run(roots, cotangents, keep, create_graph, None)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
    is_grads_batched: bool = False,
) -> tuple[Tensor | None, ...]:
    """Gradients of ``outputs`` by ``inputs``, as new tensors; no ``grad`` is touched.

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
    outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    grad_outputs = _weights(grad_outputs, outputs)
    if is_grads_batched:
        keep = create_graph if retain_graph is None else retain_graph
        return _batched(
            outputs, inputs, grad_outputs, keep, create_graph,
            bool(allow_unused), materialize_grads,
        )  # fmt: skip
    roots, cotangents = start(outputs, grad_outputs, create_graph)
    for i, t in enumerate(inputs):
        if t.edge is None:
            raise RuntimeFault(
                "E0404",
                f"input {i} does not require grad",
                help="set requires_grad=True before the computation uses it",
            )
    wanted: dict[Node, Any] = {t.edge: None for t in inputs}
    keep = create_graph if retain_graph is None else retain_graph
    run(roots, cotangents, keep, create_graph, wanted)
    results = []
    for i, t in enumerate(inputs):
        found = wanted[t.edge]
        if found is None and materialize_grads:
            found = np.zeros(t.array.shape, t.dtype.numpy)[()]
        elif found is None and not allow_unused:
            raise RuntimeFault(
                "E0406",
                f"One of the differentiated Tensors (input {i}) appears to not have been used "
                "in the graph.",
                help="Set allow_unused=True if this is the desired behavior.",
            )
        results.append(
            wrap(found, t.dtype) if found is not None and not isinstance(found, Tensor) else found
        )
    return tuple(results)


def _weights(given: Any, tensors: list) -> list:
    """A weight or None for each of ``tensors``, from None, one tensor or a sequence."""
    if given is None:
        return [None] * len(tensors)
    given = list(given) if isinstance(given, tuple | list) else [given]
    if len(given) != len(tensors):
        raise RuntimeFault(
            "E0301",
            f"got {len(tensors)} tensors and {len(given)} gradients",
            help="give one gradient for each tensor, None where a scalar needs none",
        )
    return given


def _batched(
    outputs: list, inputs: list, weights: list, keep: bool, create_graph: bool,
    allow_unused: bool, materialize_grads: bool,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """One pass for each set of weights, the gradients stacked."""
    sizes = {
        np.shape(w.array if isinstance(w, Tensor) else w)[:1] for w in weights if w is not None
    }
    if len(sizes) != 1 or () in sizes:
        raise RuntimeFault(
            "E0301",
            "with is_grads_batched=True every grad_output needs a first dimension of one size",
            help="stack the sets of weights along a new first dimension",
        )
    ((count,),) = sizes
    if not count:
        raise RuntimeFault(
            "E0301", "is_grads_batched=True needs at least one set of weights, got none"
        )
    found = [
        grad(
            outputs, inputs, [None if w is None else w[i] for w in weights],
            keep or i < count - 1, create_graph, allow_unused, materialize_grads,
        )
        for i in range(count)
    ]  # fmt: skip
    stack = OPERATORS["stack"]
    return tuple(None if g[0] is None else stack(*g) for g in zip(*found, strict=True))


def start(
    tensors: Sequence[Tensor], gradients: Sequence[Any], create_graph: bool
) -> tuple[list[Node], list[Any]]:
    """The nodes where a pass begins and the cotangents that it begins with, checked."""
    roots, cotangents = [], []
    for t, g in zip(tensors, gradients, strict=True):
        if t.edge is None:
            raise RuntimeFault(
                "E0405",
                "element 0 of tensors does not require grad and does not have a grad_fn",
                help="make a leaf with requires_grad=True, and compute outside no_grad()",
            )
        shape = t.array.shape
        if g is None:
            if t.array.size != 1:
                raise RuntimeFault(
                    "E0403",
                    "grad can be implicitly created only for scalar outputs; this one has shape "
                    f"{tuple(shape)}",
                    help="y.sum().backward(), or y.backward(gradient=v) with v of y's shape",
                )
            if t.dtype.is_complex:
                raise RuntimeFault(
                    "E0403",
                    "grad can be implicitly created only for real scalar outputs but got "
                    f"{t.dtype.name}",
                    help="take the real part, the imaginary part or abs() first",
                )
            on_host = isinstance(t.array, np.ndarray | np.generic)
            g = np.ones(shape, t.dtype.numpy)[()] if on_host else np.ones_like(t.array)
        else:
            given = g.array.shape if isinstance(g, Tensor) else np.shape(g)
            if given != shape:
                raise RuntimeFault(
                    "E0301",
                    f"Mismatch in shape: grad_output has a shape of {list(given)} and output has a "
                    f"shape of {list(shape)}.",
                    help="the cotangent has the shape of the tensor it weights",
                )
            if not isinstance(g, Tensor):
                g = np.asarray(g, t.dtype.numpy)[()]
            elif not create_graph:
                g = g.array if g.dtype is t.dtype else g.array.astype(t.dtype.numpy)
            elif g.dtype is not t.dtype:
                g = g.to(t.dtype)
        if create_graph and not isinstance(g, Tensor):
            g = wrap(g, t.dtype)
        roots.append(t.edge)
        cotangents.append(g)
    return roots, cotangents


def collect(roots: Sequence[Node]) -> list[Node]:
    """All nodes and leaves behind ``roots``, youngest first."""
    seen = set(roots)
    stack = list(seen)
    order: list[Node] = []
    while stack:
        node = stack.pop()
        order.append(node)
        for edge in node.edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                stack.append(edge)
    order.sort(key=_by_age, reverse=True)
    return order


def _only_towards(wanted: dict, order: list[Node]) -> tuple[list[Node], set[Node]]:
    """The nodes that a wanted input lies behind, and those that must run to reach it."""
    runs: set[Node] = set()
    for node in reversed(order):
        if any(e in runs or e in wanted for e in node.edges if e is not None):
            runs.add(node)
    return [node for node in order if node in runs or node in wanted], runs


def run(
    roots: Sequence[Node],
    cotangents: Sequence[Any],
    keep: bool,
    recorded: bool,
    wanted: dict | None,
) -> None:
    """One pass. Gradients go to the leaves, or, with ``wanted``, into that dict's places alone."""
    order = collect(roots)
    arrived: dict[Node, Any] = {}
    for root, g in zip(roots, cotangents, strict=True):
        have = arrived.get(root)
        arrived[root] = g if have is None else have + g
    gone = None if keep else Freed()  # what is put in the place of saved values
    before = mode.grad
    mode.grad = recorded
    try:
        with np.errstate(all="ignore"):
            careful = mode.branches and any(node.masks for node in order)
            if recorded or wanted is not None or careful or mode.watching or mode.inspect:
                _walk(order, roots, arrived, gone, recorded, wanted, careful)
            else:
                _walk_plain(order, arrived, gone)
    finally:
        mode.grad = before


def _walk_plain(order: list[Node], arrived: dict[Node, Any], gone: Freed | None) -> None:
    """The pass where nobody looks on: no hooks, nothing recorded, all leaves wanted.

    The order in which leaves receive their sums cannot be seen then, so they simply come last.
    """
    pop = arrived.pop
    get = arrived.get
    for node in order:
        g = pop(node, None)
        if g is None:
            continue
        if node.__class__ is AccumulateGrad:
            _accumulate(node, g, False)
            continue
        saved = node.saved
        if saved.__class__ is Freed:
            _refuse_again(node)
        only = node.only
        if only is not None:
            r = node.pull(node, g)
            edge = node.edges[only]
            if r.shape != edge.shape:
                r = fit(r, edge.shape)
            if node.dtype is not edge.dtype:
                r = cast(r, edge.dtype)
            have = get(edge)
            arrived[edge] = r if have is None else have + r
        else:
            for edge, r in zip(node.edges, node.pull(node, g)):  # noqa: B905 (strict= costs)
                if r is None:  # no edge there, or a custom Function that gave nothing
                    continue
                if r.shape != edge.shape:
                    r = fit(r, edge.shape)
                if node.dtype is not edge.dtype:
                    r = cast(r, edge.dtype)
                have = get(edge)
                arrived[edge] = r if have is None else have + r
        if gone is not None and saved:
            node.saved = gone


def _waits(order: list[Node], roots: Sequence[Node], wanted: dict | None) -> dict[Node, int]:
    """How many contributions each leaf has to wait for."""
    waits: dict[Node, int] = {}
    for edge in (*roots, *(e for node in order for e in node.edges)):
        if edge.__class__ is AccumulateGrad and (wanted is None or edge in wanted):
            waits[edge] = waits.get(edge, 0) + 1
    return waits


def _walk(
    order: list[Node],
    roots: Sequence[Node],
    arrived: dict[Node, Any],
    gone: Freed | None,
    recorded: bool,
    wanted: dict | None,
    careful: bool,
) -> None:
    """The pass with everything: hooks, recording, wanted inputs, branches not taken."""
    runs = None
    if wanted is not None:
        order, runs = _only_towards(wanted, order)
    waits = _waits(order, roots, wanted)
    for root in roots:
        if root in waits:
            waits[root] -= 1
            if not waits[root]:
                _arrive_at_leaf(root, arrived.pop(root), recorded, wanted)
    for node in order:
        if node.__class__ is AccumulateGrad:
            continue
        g = arrived.pop(node, None)
        pulled = _pull_watched(node, g, gone, recorded, wanted, runs, careful)
        for edge, r in zip(node.edges, pulled, strict=True):
            if edge is None or (runs is not None and not (edge in runs or edge in wanted)):
                continue
            if r is not None:
                if r.shape != edge.shape:
                    r = fit(r, edge.shape)
                if node.dtype is not edge.dtype:
                    r = cast(r, edge.dtype)
                have = arrived.get(edge)
                arrived[edge] = r if have is None else have + r
            if edge in waits:
                waits[edge] -= 1
                if not waits[edge]:
                    total = arrived.pop(edge, None)
                    if total is not None:
                        _arrive_at_leaf(edge, total, recorded, wanted)


def _pull_watched(
    node: Node,
    g: Any,
    gone: Freed | None,
    recorded: bool,
    wanted: dict | None,
    runs: set[Node] | None,
    careful: bool,
) -> tuple:
    """One node's cotangents, with its hooks run and its saved values released."""
    nothing = (None,) * len(node.edges)
    if g is None:
        return nothing
    extra = node.extra
    if extra is not None and extra.watched:
        g = _before(node, g, recorded)
    if wanted is not None:
        if node in wanted:
            wanted[node] = g
        if node not in runs:
            return nothing
    inspect = mode.inspect
    try:
        if node.saved.__class__ is Freed:
            _refuse_again(node)
        if recorded:
            pulled = pull_recorded(node, g, wrap)
        elif node.only is not None:
            one = (node.pull(node, g),)
            pulled = (*nothing[: node.only], *one, *nothing[node.only + 1 :])
        else:
            pulled = node.pull(node, g)
    except Fault as fault:
        if inspect is not None:
            inspect.explain(node, fault)
        raise
    if careful and node.op.kind in CHOSEN:
        pulled = taken(node, g, pulled)
    if inspect is not None:
        inspect.look(node, g, pulled)
    if extra is not None and extra.post_hooks:
        pulled = _after(node, pulled, g, recorded)
    if gone is not None and node.saved:
        node.saved = gone
    return pulled


def fit(r: Any, shape: tuple[int, ...]) -> Any:
    """A cotangent in its input's shape: sums undo broadcasting, a too-small one is expanded."""
    if len(r.shape) > len(shape) or any(
        n == 1 != m for n, m in zip(shape[::-1], r.shape[::-1], strict=False)
    ):
        r = OPERATORS["sum_to"](r, shape)
    return r if r.shape == shape else OPERATORS["expand"](r, shape)


def cast(r: Any, dtype: dtypes.DType) -> Any:
    """A cotangent in its input's element type; a real input takes the real part."""
    if r.__class__ is Cotangents:
        return r
    if isinstance(r, Tensor):
        if r.dtype is dtype:
            return r
        if r.dtype.is_complex and not dtype.is_complex:
            r = OPERATORS["real"](r)
        return r.to(dtype)
    if r.dtype.kind == "c" and not dtype.is_complex:
        r = r.real
    return r if r.dtype == dtype.numpy else r.astype(dtype.numpy)


def _refuse_again(node: Node) -> None:
    """Raise E0401, unless the node is a custom Function: that one looks at its saved tensors."""
    if node.op.__class__ is not Part:
        raise freed(node)


def _as_tensor(g: Any, node: Node) -> Tensor:
    return g if isinstance(g, Tensor) else wrap(g, dtypes.dtype_of(g))


def _before(node: Node, g: Any, recorded: bool) -> Any:
    """Tensor hooks, then node pre-hooks, then the kept gradient: PyTorch's order."""
    extra = node.extra
    for hook in list((extra.hooks or {}).values()):
        g = _replaced(hook(_as_tensor(g, node)), g, node, recorded)
    for hook in list((extra.pre_hooks or {}).values()):
        result = hook(_shown(g, node))
        if result is not None:
            g = _replaced_all(result, g, node, recorded)
    if extra.kept is not None:
        kept = _as_tensor(g, node)
        extra.kept.grad = kept if extra.kept.grad is None else extra.kept.grad + kept
    return g


def _after(node: Node, pulled: tuple, g: Any, recorded: bool) -> tuple:
    given = tuple(
        None if r is None or e is None else _as_tensor(r, e)
        for r, e in zip(pulled, node.edges, strict=True)
    )
    for hook in list(node.extra.post_hooks.values()):
        result = hook(given, _shown(g, node))
        if result is not None:
            given = result if isinstance(result, tuple) else (result,)
    return tuple(t if t is None or recorded else t.array for t in given)


def _shown(g: Any, node: Node) -> tuple:
    """The cotangents of all outputs, as hooks see them."""
    if g.__class__ is not Cotangents:
        return (_as_tensor(g, node),)
    return tuple(None if part is None else _as_tensor(part, node) for part in g.parts)


def _replaced_all(result: Any, g: Any, node: Node, recorded: bool) -> Any:
    """What a node's pre-hook gave back, for one output or for several."""
    if g.__class__ is not Cotangents:
        return _replaced(result[0] if isinstance(result, tuple) else result, g, node, recorded)
    return Cotangents([t if t is None or recorded else t.array for t in result])


def _replaced(result: Any, g: Any, node: Node, recorded: bool) -> Any:
    if result is None:
        return g
    if not isinstance(result, Tensor):
        raise TypeFault(
            "E0407",
            f"a hook must return a Tensor or None, got {type(result).__name__}",
            help="return the new gradient, or nothing",
        )
    if result.array.shape != node.shape:
        raise RuntimeFault(
            "E0407",
            f"a hook returned shape {tuple(result.array.shape)} for a gradient of shape "
            f"{tuple(node.shape)}",
        )
    return result if recorded else result.array


def _arrive_at_leaf(leaf: AccumulateGrad, total: Any, recorded: bool, wanted: dict | None) -> None:
    extra = leaf.extra
    if extra is not None and extra.hooks:
        for hook in list(extra.hooks.values()):
            total = _replaced(hook(_as_tensor(total, leaf)), total, leaf, recorded)
    if wanted is not None:
        wanted[leaf] = total
        return
    _accumulate(leaf, total, recorded)
    if extra is not None and extra.post_hooks:
        owner = leaf.variable
        for hook in list(extra.post_hooks.values()):
            hook(owner)


def _accumulate(leaf: Any, total: Any, recorded: bool) -> None:
    """Store or add. The buffer is the leaf's own, so what may alias another value is copied."""
    have = leaf.grad
    if recorded:
        # A gradient of its own, as in PyTorch: what is done to x.grad is not done to the graph.
        leaf.grad = (
            called(OPERATORS["clone"](total), "CopyBackwards") if have is None else have + total
        )
        return
    if have is None:
        if not isinstance(total, np.generic):
            total = total.copy()
        leaf.grad = wrap(total, leaf.dtype)
    elif isinstance(have.array, np.ndarray):
        have.array += total
        if have.meta is not None:
            have.meta.version.bump()
    else:
        have.array = have.array + total
