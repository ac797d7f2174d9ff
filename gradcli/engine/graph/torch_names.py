"""What a node is called where PyTorch has several names for one operator.

Looked up only when a name is shown, so that recording pays nothing: the operator, its parameters
and the shapes around the node say which of the names it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def shown_name(node: Any) -> str:
    """PyTorch's name of a node, for example ``"SumBackward1"`` for a sum along a dimension."""
    extra = node.extra
    if extra is not None and "called" in extra.params:  # composed of several operators
        return str(extra.params["called"])
    op = getattr(node, "op", None)  # a leaf's AccumulateGrad has none
    special = None if op is None else _SPECIAL.get(op.name)
    return type(node).__name__ if special is None else special(node)


_dressed: dict[tuple[type, str], type] = {}


def dressed(node: Any) -> Any:
    """``node``, its class the one that PyTorch's name has: for who asks ``type(y.grad_fn)``.

    Found when a node is first looked at, so that recording pays nothing.
    """
    own = getattr(node, "dressed", None)
    if own is not None:  # the node of a custom function
        return own()
    name, cls = shown_name(node), type(node)
    if cls.__name__ != name and not node.number:
        made = _dressed.get((cls, name))
        if made is None:
            body = {"__slots__": (), "__module__": cls.__module__}
            made = _dressed.setdefault((cls, name), type(name, (cls,), body))
        node.__class__ = made
    return node


def shown_edges(node: Any) -> Any:
    """A node's edges as PyTorch shows them: what its own node has no place for is left out."""
    edges = node.edges
    op = getattr(node, "op", None)
    if op is None:
        return edges
    if node.extra is not None and "called_on" in node.extra.params:
        return node.extra.params["called_on"]
    if op.name == "where":  # the condition has no place; nor has the number of masked_fill
        filled = shown_name(node) == "MaskedFillBackward0"
        return edges[2:] if filled and edges[1] is None else edges[1:]
    only = node.only
    if only is not None and len(edges) == 2:
        if op.name in _ONE_TENSOR and shown_name(node) != "SubBackward0":
            return edges[only : only + 1]
        if op.name in _COMMUTES:  # 2*x: Python asks x
            return (edges[only], None)
    return edges


_ONE_TENSOR = frozenset(("sub", "pow", "remainder"))
_COMMUTES = frozenset(("add", "mul"))


def _params(node: Any) -> Any:
    return node.extra.params if node.extra is not None else {}


def _by_dim(plain: str, along: str, several: str | None = None) -> Callable[[Any], str]:
    def name(node: Any) -> str:
        dim = _params(node).get("dim")
        if dim is None:
            return plain
        return several if several is not None and isinstance(dim, tuple | list) else along

    return name


def _matmul(node: Any) -> str:
    if not node.shape:
        return "DotBackward0"
    if len(node.shape) == 2:
        return "MmBackward0"
    if len(node.shape) > 2:
        return "UnsafeViewBackward0"  # PyTorch folds the stack, multiplies and unfolds it
    left, right = node.edges
    by_matrix = len(left.shape) == 2 if left is not None else right is None or len(right.shape) == 1
    return "MvBackward0" if by_matrix else "SqueezeBackward4"


def _index(node: Any) -> str:
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


def _contract(node: Any) -> str:
    """PyTorch's einsum ends in a view of a matrix product, or in a product of entries."""
    left, _, out = _params(node).get("labels", "").partition("->")
    return "MulBackward0" if set(left) - {","} <= set(out) else "ViewBackward0"


_SPECIAL: dict[str, Callable[[Any], str]] = {
    "contract": _contract,
    "real": lambda node: "SelectBackward0",  # of the two columns of view_as_real
    "imag": lambda node: "SelectBackward0",
    "sum": _by_dim("SumBackward0", "SumBackward1"),
    "mean": _by_dim("MeanBackward0", "MeanBackward1"),
    "prod": _by_dim("ProdBackward0", "ProdBackward1"),
    "squeeze": _by_dim("SqueezeBackward0", "SqueezeBackward1", "SqueezeBackward2"),
    # ``only`` is the one input that is a tensor where the other is a number.
    "sub": lambda node: "RsubBackward1" if node.only == 1 else "SubBackward0",
    "pow": lambda node: f"PowBackward{ {0: 0, None: 1, 1: 2}[node.only] }",
    # PyTorch divides a number by multiplying it with the reciprocal.
    "div": lambda node: "MulBackward0" if node.only == 1 else "DivBackward0",
    "remainder": lambda node: "RemainderBackward0" if node.only == 0 else "RemainderBackward1",
    "matmul": _matmul,
    "getitem": _index,
}
