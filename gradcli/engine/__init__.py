"""The engine: Tensor, the graph behind it, and the backward pass over that graph.

Each floor imports only those below it; the three on top know nothing of each other.

    custom_function  a forward and a backward of the user's own as one node
    creation         tensors of data, filled, ranges, random numbers
    backward         asking for gradients, the walk over the graph, hooks, anomaly mode
    record           applying an operator to Tensors, node classes, saved values, writing in place
    tensor           Tensor, its attributes, conversions and storage
    graph            nodes, their names, views that the graph does not follow
    dtypes           element types and promotion       grad_mode        no_grad and the like
    printing         text, as PyTorch prints           source_location  lines of the user's program
    named_tuples     results of several tensors

It knows arrays, never text to parse or screens. Tensor's methods are bound in ``functions``.
"""

import gradcli.ops  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.backward.api import backward, grad
from gradcli.engine.creation import factories as _constructor  # noqa: F401  (bound to Tensor)
from gradcli.engine.tensor.attributes import Size
from gradcli.engine.tensor.tensor import Tensor, wrap

__all__ = ["Size", "Tensor", "backward", "grad", "wrap"]
