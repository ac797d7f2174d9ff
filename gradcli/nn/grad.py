"""``gradcli.nn.grad``: the gradients of convolutions by their input and by their weight.

Both are functions of tensors that can be differentiated in turn.
"""

from __future__ import annotations

from typing import Any

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.backward.api import grad
from gradcli.engine.creation.factories import zeros
from gradcli.engine.grad_mode import enable_grad
from gradcli.engine.record.composite import in_graph
from gradcli.functions.nn import convolution
from gradcli.functions.nn.windows import Sizes, in_ranks

__all__ = [
    "conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input",
    "conv3d_weight",
]  # fmt: skip


def _pulled(rank: int, by: int, args: tuple, cotangent: Any, options: tuple) -> Any:
    """The cotangent of ``args[by]``, a convolution's input or weight."""
    convolve = getattr(convolution, f"conv{rank}d")
    others = (args[1 - by], cotangent)
    with enable_grad():
        out = convolve(*args, None, *options)
        recorded = any(in_graph(v) for v in others)
        (found,) = grad(out, args[by], cotangent, create_graph=recorded)
    return found


def _conv1d_input(
    input_size: Any, weight: Any, grad_output: Any, stride: Sizes = 1, padding: Any = 0,
    dilation: Sizes = 1, groups: int = 1, *, _rank: int,
) -> Any:  # fmt: skip
    """The gradient of ``conv1d`` by its input, which has the size ``input_size``."""
    input = zeros(tuple(input_size), dtype=weight.dtype, requires_grad=True)
    options = stride, padding, dilation, groups
    return _pulled(_rank, 0, (input, weight), grad_output, options)


def _conv1d_weight(
    input: Any, weight_size: Any, grad_output: Any, stride: Sizes = 1, padding: Any = 0,
    dilation: Sizes = 1, groups: int = 1, *, _rank: int,
) -> Any:  # fmt: skip
    """The gradient of ``conv1d`` by its weight, which has the size ``weight_size``."""
    weight = zeros(tuple(weight_size), dtype=input.dtype, requires_grad=True)
    options = stride, padding, dilation, groups
    return _pulled(_rank, 1, (input, weight), grad_output, options)


conv1d_input, conv2d_input, conv3d_input = in_ranks(_conv1d_input, 1, 2, 3)
conv1d_weight, conv2d_weight, conv3d_weight = in_ranks(_conv1d_weight, 1, 2, 3)
