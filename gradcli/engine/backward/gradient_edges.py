"""Places in the graph as values: gradient edges, and hooks on several tensors' gradients."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from gradcli.engine import grad_mode
from gradcli.engine.graph.node import Node, Output, RemovableHandle
from gradcli.engine.graph.torch_names import dressed
from gradcli.engine.record.composite import bottom
from gradcli.engine.record.inplace import count_unseen_write
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.errors import AssertionFault, IndexFault, RuntimeFault, bad_argument


class GradientEdge(NamedTuple):
    """A node and which of its outputs: what ``autograd.grad`` takes in a tensor's place."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that ``tensor`` would be differentiated through.

    Raises RuntimeFault (E0404) where it requires no gradient, AssertionFault (E0405) for a view
    that was made where nothing was recorded.
    """
    if not tensor.requires_grad:
        said = "It is not possible to get the gradient edge for a Tensor that does not require"
        mend = "start from a leaf with requires_grad=True"
        raise RuntimeFault("E0404", f"{said} gradients", help=mend)
    edge = bottom(tensor).edge
    if edge.origin is None:
        raise AssertionFault("E0405", "Expected gradient function to be set")
    # An Output lives as long as someone points at it: the token does.
    token = edge if isinstance(edge, Output) else None
    return GradientEdge(dressed(edge.origin), edge.number, token)


def edge_of(value: Tensor | GradientEdge) -> Node | None:
    """The graph's own edge of a tensor or a gradient edge. Raises IndexFault (E0305)."""
    if isinstance(value, GradientEdge):
        own = getattr(type(value.node), "__gradcli_node__", None)
        node = value.node if own is None else own(value.node)
        count = 1 if node.outputs is None else len(node.outputs)
        if not 0 <= value.output_nr < count:
            said = f"a gradient edge names output {value.output_nr} of {node.name()}, which has"
            raise IndexFault("E0305", f"{said} {count}", help="write get_gradient_edge(y)")
        return node.port(value.output_nr)
    if not hasattr(value, "edge"):
        said = f"expected a Tensor or a GradientEdge, but got {type(value).__name__}"
        mend = "outputs and inputs are tensors, or what get_gradient_edge gives"
        raise RuntimeFault("E0303", said, help=mend)
    result: Node | None = value.edge
    return result


def _has_tangent(gradient: Any) -> bool:
    while gradient is not None and not hasattr(gradient, "tangent"):
        gradient = getattr(gradient, "content", None)
    return gradient is not None


def increment_version(tensor: Any) -> None:
    """Count a write unseen by autograd to ``tensor``, or to each of several; else raises E0302."""
    several = isinstance(tensor, Iterable) and not isinstance(tensor, Tensor)
    for t in tensor if several else (tensor,):
        if not isinstance(t, Tensor):
            said = f"increment_version takes tensors, not a {type(t).__name__}"
            raise RuntimeFault("E0302", said, help="give a tensor, or a list of them")
        if not t.is_inference():
            count_unseen_write(t)


class Handles(RemovableHandle):
    """Removes several hooks at once; also usable in ``with``."""

    def __repr__(self) -> str:
        return f"<gradcli.autograd.graph._MultiHandle object at {id(self):#x}>"

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Take the hooks away."""
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> Handles:
    """Call ``fn`` once in every backward pass that reaches ``tensors``.

    ``mode="all"``: with the list of their gradients, None where one is not reached, after the last
    of them, all of which have to require a gradient; ``"any"``: with the first gradient that is
    there. Raises ValueFault (E0304), AssertionFault (E0404).
    """
    if mode not in ("all", "any"):
        raise bad_argument(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        tensors = [t for t in tensors if t.requires_grad]
    elif not all(t.requires_grad and bottom(t).edge.origin for t in tensors):
        said = "Expected gradient function to be set: one of the tensors requires no gradient"
        raise AssertionFault("E0404", said, help="leave out the tensors that require none")
    state: dict[str, Any] = {"pass": None}
    # Those of now: a tensor that is written to later has another.
    edges = [bottom(t).edge for t in tensors]
    nodes = [weakref.ref(edge.origin or edge) for edge in edges]

    def hook_of(place: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            now = grad_mode.mode.passing
            if state["pass"] is not now:
                state["pass"] = now
                state["grads"] = [None] * len(nodes)
                state["left"] = sum(node() in now for node in nodes) if mode == "all" else 1
            if not state["left"]:
                return
            state["left"] -= 1
            state["grads"][place] = grad
            if not state["left"]:
                shown = [g for g in state["grads"] if _has_tangent(g)]
                versions = [g._version for g in shown]
                fn(state["grads"] if mode == "all" else grad)
                if versions != [g._version for g in shown]:
                    said = "a hook of several tensors wrote to a gradient that has a tangent"
                    raise RuntimeFault("E0412", said, help="write y.register_hook(lambda g: g * 2)")

        return hook

    return Handles([t.register_hook(hook_of(i)) for i, t in enumerate(tensors)])
