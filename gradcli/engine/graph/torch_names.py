"""What a node is called where PyTorch has several names for one operator.

Looked up only when a name is shown, so that recording pays nothing: the operator, its parameters
and the shapes around the node say which of the names it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OF_CPP = frozenset(("CopyBackwards", "CopySlices", "Error", "Identity", "NotImplemented"))
"""Nodes whose name has that of a namespace, as has a leaf's."""


def with_namespace(shown: str) -> str:
    """The whole name of a node that shows under its last part."""
    return f"torch::autograd::{shown}" if shown in _OF_CPP else shown


def facts_of(node: Any) -> Mapping[str, Any]:
    """What PyTorch shows of the node of an operator, where the rest does not say it."""
    op = getattr(node, "op", None)  # a leaf's AccumulateGrad has none
    return getattr(op, "node", None) or {}  # a Part of several has none


def shown_name(node: Any) -> str:
    """PyTorch's name of a node, for example ``"SumBackward1"`` for a sum along a dimension."""
    extra = node.extra
    if extra is not None and "called" in extra.params:  # composed of several operators
        return str(extra.params["called"])
    special = facts_of(node).get("name")
    return type(node).__name__ if special is None else str(special(node))


def operand_words(node: Any) -> tuple[str, ...]:
    """PyTorch's words for the operands, in our order."""
    words = facts_of(node).get("operands", {})
    result: tuple[str, ...] = words.get(shown_name(node), words.get("", ("self", "other")))
    return result


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
    params = {} if node.extra is None else node.extra.params
    if "written" in params:  # one node with what it wrote
        base, made = params["written"]
        return (base, *(() if made is None else shown_edges(made.origin)[1:]))
    if "called_on" in params:
        return params["called_on"]
    shown = facts_of(node).get("edges")
    return node.edges if shown is None else shown(node)


def shown_view(node: Any) -> tuple[int, ...] | None:
    """The shape of what a node shows a view of, where another operator made it; else None."""
    params = {} if node.extra is None else node.extra.params
    views = None if "called" in params else facts_of(node).get("views")
    found: tuple[int, ...] | None = params.get("viewed") if views is None else views(node)
    return found
