"""``gradcli.autograd.graph``: nodes, edges and hooks on what is saved, under PyTorch's names."""

import gradcli.transforms  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.backward.gradient_edges import (
    GradientEdge,
    get_gradient_edge,
    increment_version,
    register_multi_grad_hook,
)
from gradcli.engine.custom_function.context import Context
from gradcli.engine.graph import node as _graph
from gradcli.engine.record.saved_tensor_hooks import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)


class _Nodes(type):
    def __subclasscheck__(cls, kind: type) -> bool:
        return kind is cls or issubclass(kind, _graph.Node | Context)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _graph.Node | Context)


class Node(metaclass=_Nodes):
    """What every node of a graph is an instance of, and the ``ctx`` of a custom function.

    Example:
        >>> import gradcli
        >>> x = gradcli.ones(2, requires_grad=True)
        >>> isinstance((2 * x).grad_fn, Node)
        True
    """


__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu",
    "saved_tensors_hooks",
]  # fmt: skip
