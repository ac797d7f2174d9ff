"""What PyTorch shows of an operator's node, where that does not follow: ``Operator.node``.

    name        of several names the node's, by how the operator was called
    operands    its words for saved operands, by the node's name; "" for all other names
    result      its word for the saved result
    saved       numbers that it always shows
    parts       what it shows of an index
    words       its words for parameters of the call
    dims        a saved dimension is shown as one of several
    turns       of a number and a tensor it takes the tensor first
    edges       those of its node
    views       the shape of what its node is a view of: its hooks see the gradient of that alone
    backward    of an operator that is linear between its kinks, the node of its recorded gradient,
                which leads to the input: see ``engine.record.piecewise_linear``
    saves_result  to its result instead
    dense       its gradient has memory of its own, where the rule gives a view
    columns     of a matrix that lies by columns its gradient does, too

A node says how the operator was called: ``shape`` of the result, ``edges``, ``extra.params``, and
``only``, the one input that is a Tensor where the other is a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def _params(node: Any) -> dict[str, Any]:
    return node.extra.params if node.extra is not None else {}


def by_dim(plain: str, along: str, several: str | None = None) -> Callable[[Any], str]:
    """Names by whether a reduction takes all entries, one dimension or several."""

    def name(node: Any) -> str:
        dim = _params(node).get("dim")
        if dim is None:
            return plain
        return several if several is not None and isinstance(dim, tuple | list) else along

    return name


def _rank(node: Any, at: int) -> int:
    """The rank of an operand of a product, of a constant as the other one tells it."""
    own, other, out = node.edges[at], node.edges[1 - at], len(node.shape)
    if own is not None or other is None:
        return out if own is None else len(own.shape)
    rank = len(other.shape)
    return 1 if rank > out else out + (rank == 1)


def of_product(node: Any) -> str:
    """PyTorch's node of a product, by the ranks of its operands."""
    if not node.shape:
        return "DotBackward0"
    left, right = _rank(node, 0), _rank(node, 1)
    if max(left, right) > 2:
        return "UnsafeViewBackward0"  # PyTorch folds the stack, multiplies and unfolds it
    if len(node.shape) == 2:
        return "MmBackward0"
    return "MvBackward0" if right == 1 else "SqueezeBackward4"


def product_viewed(node: Any) -> tuple[int, ...] | None:
    """The shape of the product that PyTorch's node shows a view of; None where it is no view."""
    if of_product(node) not in ("SqueezeBackward4", "UnsafeViewBackward0"):
        return None
    left, right, out = _rank(node, 0), _rank(node, 1), tuple(node.shape)
    if 1 in (left, right):
        return (1, *out) if right == 2 else (math.prod(out),)
    inner = 1 if right == 2 else 2
    return out if left == 2 else (math.prod(out[:-inner]), *out[-inner:])


def of_index(node: Any) -> str:
    """PyTorch's node of an index: that of the last part that does something."""
    index = _params(node).get("index", ())
    if isinstance(index, slice):
        return "SliceBackward0"
    parts = index if isinstance(index, tuple) else (index,)
    if any(hasattr(p, "dtype") for p in parts):
        return "IndexBackward0"
    # Each part is an operation of its own in PyTorch; the last one that does something names the
    # result.
    for part in reversed(parts):
        if isinstance(part, int):
            return "SelectBackward0"
        if isinstance(part, slice) and part != slice(None):
            return "SliceBackward0"
        if part is None:
            return "UnsqueezeBackward0"
    return "AliasBackward0"


OF_INDEX = ("dim", "end", "index", "indices", "start", "step")
"""PyTorch's words for an index and its parts."""


def index_parts(node: Any) -> dict[str, Any]:
    """What PyTorch's node of an index shows of it, where there is one for all of its parts."""
    index = _params(node).get("index", ())
    parts = index if isinstance(index, tuple) else (index,)
    acting = [i for i, p in enumerate(parts) if p.__class__ is not slice or p != slice(None)] or [0]
    if all(hasattr(parts[i], "dtype") for i in acting):
        return {"indices": tuple(p if hasattr(p, "dtype") else None for p in parts)}
    dim, part = acting[0], parts[acting[0]]
    if len(acting) > 1 or part is Ellipsis:
        return {}
    if part is None:
        return {"dim": dim}
    if not isinstance(part, slice):
        return {"dim": dim, "index": part % 2**64}
    end = 2**63 - 1 if part.stop is None else part.stop % 2**64
    return {"dim": dim, "start": (part.start or 0) % 2**64, "end": end, "step": part.step or 1}


def _summed(node: Any) -> set[str]:
    left, _, out = _params(node).get("labels", "").partition("->")
    return set(left) - {",", *out}


def of_einsum(node: Any) -> str:
    """PyTorch's einsum ends in a view of a matrix product, or in a product of entries."""
    return "ViewBackward0" if _summed(node) else "MulBackward0"


def einsum_viewed(node: Any) -> tuple[int, ...] | None:
    """As ``product_viewed``: what is summed keeps a dimension until then."""
    summed = len(_summed(node))
    return (*node.shape, *(1,) * summed) if summed else None


OF_PRODUCT = {
    "DotBackward0": ("self", "tensor"), "MvBackward0": ("self", "vec"),
    "MmBackward0": ("self", "mat2"), "BmmBackward0": ("self", "mat2"),
    "UnsafeViewBackward0": (), "SqueezeBackward4": (),
}  # fmt: skip
"""What PyTorch calls the operands of its products."""


def tensor_first(node: Any) -> Any:
    """The edges of a node that takes a tensor and a number in this order: Python asks x of 2*x."""
    return node.edges if node.only is None else (node.edges[node.only], None)


def tensors_alone(node: Any) -> Any:
    """The edges of a node that has no place for a number."""
    return node.edges if node.only is None else node.edges[node.only : node.only + 1]


def of_write(node: Any) -> Any:
    """The edges of ``put``: the number of a fill has no place."""
    number = node.edges[1] is None and _params(node).get("called") in _OF_NUMBERS
    return node.edges[:1] if number else node.edges


_OF_NUMBERS = ("FillBackward2", "IndexFillBackward0", "MaskedFillBackward0", "ZeroBackward0")


def of_choice(node: Any) -> Any:
    """The edges of ``where``: the condition has no place."""
    return node.edges[1:]
