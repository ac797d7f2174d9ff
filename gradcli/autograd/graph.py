"""``gradcli.autograd.graph``: nodes, edges and hooks on what is saved, under PyTorch's names."""

from gradcli.engine.backward.gradient_edges import (
    GradientEdge,
    get_gradient_edge,
    increment_version,
    register_multi_grad_hook,
)
from gradcli.engine.graph.node import Node
from gradcli.engine.record.saved_tensor_hooks import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu",
    "saved_tensors_hooks",
]  # fmt: skip
