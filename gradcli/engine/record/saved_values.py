"""What a node saved, under the names that PyTorch gives it: ``y.grad_fn._saved_result``.

They are properties of an operator's node classes (a ``__getattr__`` would slow every attribute of
every node), looked up only when asked for. A name stands for an input, the result, a parameter of
the call or the shape of an input; which one it is follows from the operator's declaration, and
where PyTorch calls an operand something of its own, from the table below.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gradcli.engine.dtypes import dtype_of
from gradcli.engine.graph.node import Freed, Node, freed, verify
from gradcli.engine.graph.torch_names import shown_name
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.ops.operator import Operator, is_number

_SAVED = "_saved_"
_OPERANDS = {"self": 0, "other": 1}
# By PyTorch's name of the node: what it calls its operands.
_OWN_NAMES = {
    "PowBackward0": {"self": 0, "exponent": 1},
    "PowBackward1": {"self": 0, "exponent": 1},
    "PowBackward2": {"self": 0, "exponent": 1},
    "WhereBackward0": {"condition": 0},
    "MaskedFillBackward0": {"mask": 0},
    "DotBackward0": {"self": 0, "tensor": 1},
    "MvBackward0": {"self": 0, "vec": 1},
    "MmBackward0": {"self": 0, "mat2": 1},
    "BmmBackward0": {"self": 0, "mat2": 1},
    "LinalgDetBackward0": {"A": 0},
    "LinalgSolveExBackward0": {"A": 0, "B": 1},
}
_RESULTS = frozenset(("result", "inverse", "L"))
_PLAIN_NUMBERS = frozenset(("PowBackward0", "PowBackward2"))
"""Nodes that keep a number as it is; others keep a tensor of it."""


_ALL_OPERANDS = {w for table in (_OPERANDS, *_OWN_NAMES.values()) for w in table}
_properties: dict[str, property] = {}


def saved_properties(op: Operator) -> dict[str, Any]:
    """What an operator's node class has for this: a property for every name that one of its nodes
    may have, and a ``__dir__`` that shows those that the node has."""
    words = {*_ALL_OPERANDS, *_RESULTS, *op.params, "alpha", "self_sym_sizes"} if op.inputs else ()
    for word in words:
        name = _SAVED + word
        if name not in _properties:
            _properties[name] = property(partial(by_name, name))
    return {_SAVED + word: _properties[_SAVED + word] for word in words} | {"__dir__": _attributes}


def _attributes(node: Node) -> list[str]:
    have = set(saved_names(node))
    return [a for a in object.__dir__(node) if not a.startswith(_SAVED) or a in have]


def by_name(name: str, node: Node) -> Any:
    """The saved value ``name`` of a node. Raises AttributeError, RuntimeFault (E0401: freed)."""
    known = saved_names(node)
    if name not in known:
        saves = f"; it has {', '.join(known)}" if known else ""
        raise AttributeError(f"{type(node).__name__!r} object has no attribute {name!r}{saves}")
    word = name.removeprefix(_SAVED)
    if node.saved.__class__ is Freed:
        raise freed(node)
    if word in _RESULTS:
        if node.extra is not None and node.extra.out_meta is not None:
            verify(node, -1, node.extra.out_meta)
        return wrap(node.saved[-1], node.dtype, node)
    if word == "exponent" and node.op.name == "square":
        return 2
    place = _places(node).get(word)
    if place is not None:
        return _operand(node, place)
    if word == "alpha":
        return 1
    if word.endswith("_sym_sizes"):
        return tuple(node.edges[0].shape)
    value = node.extra.params[word]
    return (value,) if word == "dim" and _takes_several(node) and isinstance(value, int) else value


def saved_names(node: Node) -> list[str]:
    """The names of what a node saves, sorted: what ``dir(y.grad_fn)`` shows of it."""
    op = node.op
    if not op.inputs:
        return []
    read = {n for names in op.reads for n in names}
    words = {w for w, i in _places(node).items() if i < len(op.inputs) and op.inputs[i] in read}
    if "out" in read:
        words.add({"inv": "inverse", "cholesky": "L"}.get(op.name, "result"))
    if op.name in ("add", "sub"):
        words.add("alpha")
    if op.name == "square":
        words.add("exponent")
    words.update(n for n in op.params if n in read)
    if "shape" in read and op.arity == 1:
        words.add("self_sym_sizes")
    return sorted(_SAVED + w for w in words)


def _places(node: Node) -> dict[str, int]:
    """PyTorch's words for the operands, by their place among ours."""
    return _OWN_NAMES.get(shown_name(node), _OPERANDS)


def _operand(node: Node, place: int) -> Any:
    if node.only is not None and node.op.name in ("mul", "div") and node.only == 1:
        place = 1 - place  # 2*x: Python asks x, so that the number is the other
    value = node.saved[place] if node.saved else None
    if value is None:
        return None
    if is_number(value):
        return value if shown_name(node) in _PLAIN_NUMBERS else _tensor(value)
    if isinstance(value, Tensor):
        if value.meta is not None:
            verify(node, place, value)
        return value
    return _tensor(value)


def _tensor(value: Any) -> Tensor:
    array = np.asarray(value)
    return wrap(array, dtype_of(array))


def _takes_several(node: Node) -> bool:
    return node.op.name in ("sum", "mean", "amax", "amin", "logsumexp")
