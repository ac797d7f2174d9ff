"""What a node saved, under the names that PyTorch gives it: ``y.grad_fn._saved_result``.

They are properties of an operator's node classes (a ``__getattr__`` would slow every attribute of
every node), looked up only when asked for. A name stands for an input, the result, a parameter of
the call or the shape of an input; which one it is follows from the operator's declaration.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.engine.dtypes import dtype_of
from gradcli.engine.graph.node import Freed, Node, freed, more, verify
from gradcli.engine.graph.torch_names import facts_of, shown_edges, shown_name
from gradcli.engine.tensor.storage import Meta
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.ops.operator import Operator, is_number

if TYPE_CHECKING:
    from gradcli.engine.record.saved_tensor_hooks import SavedTensor

_SAVED = "_saved_"
_OPERANDS = ("self", "other")
_properties: dict[str, property] = {}


def saved_properties(op: Operator) -> dict[str, Any]:
    """What an operator's node class has for this: a property for every name that one of its nodes
    may have, and a ``__dir__`` that shows those that the node has."""
    words = {*_OPERANDS, _result(op), *op.params, *op.node.get("saved", ()), "self_sym_sizes"}
    for operands in op.node.get("operands", {}).values():
        words.update(operands)
    for word in words:
        name = _SAVED + word
        if name not in _properties:
            _properties[name] = property(partial(by_name, name))
    found: dict[str, Any] = {_SAVED + word: _properties[_SAVED + word] for word in words}
    for word in (*_OPERANDS, _result(op), *op.node.get("operands", {}).get("", ())):
        found["_raw" + _SAVED + word] = property(partial(_raw, _SAVED + word))
    return found | {"__dir__": _attributes}


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
    if word == _result(node.op):
        extra = more(node)
        if extra.out_meta is None:
            extra.out_meta = Meta()
        verify(node, -1, extra.out_meta)
        result = wrap(node.saved[-1], node.dtype, node)
        result.meta = Meta(extra.out_meta.version)
        return result
    always = facts_of(node).get("saved", {})
    if word in always:
        return always[word]
    operands = _operands(node)
    if word in operands:
        return _operand(node, operands.index(word))
    if word.endswith("_sym_sizes"):
        return tuple(node.edges[0].shape)
    value = node.extra.params[word]
    if isinstance(value, np.ndarray):
        return _tensor(value)
    if word.startswith("dim"):  # PyTorch shows them without a sign
        if isinstance(value, tuple | list):
            return tuple(v % 2**64 for v in value)
        if value is not None:
            return (value % 2**64,) if "dims" in facts_of(node) else value % 2**64
    return value


def _raw(name: str, node: Node) -> SavedTensor:
    """The saved tensor ``name`` as the node keeps it. Raises AttributeError."""
    word = name.removeprefix(_SAVED)
    if name not in saved_names(node):
        raise AttributeError(f"{type(node).__name__!r} object has no attribute '_raw{name}'")
    from gradcli.engine.record.saved_tensor_hooks import SavedTensor

    if word == _result(node.op):
        return SavedTensor(node, len(node.op.inputs), node)
    place = _operands(node).index(word)
    return SavedTensor(node, place, node.edges[place])


def saved_names(node: Node) -> list[str]:
    """The names of what a node saves, sorted: what ``dir(y.grad_fn)`` shows of it."""
    op, own = node.op, {e for e in node.edges if e is not None}
    if not op.inputs or not own.issuperset(e for e in shown_edges(node) if e is not None):
        return []  # of a function that is composed of operators it would be what the last one has
    read = {"out" if n == op.by_result else n for names in op.reads for n in names}
    words = {w for w, n in zip(_operands(node), op.inputs, strict=False) if n in read}
    if "out" in read:
        words.add(_result(op))
    words.update(facts_of(node).get("saved", ()))
    words.update(n for n in op.params if n in read)
    if "shape" in read and op.arity == 1:
        words.add("self_sym_sizes")
    return sorted(_SAVED + w for w in words)


def _result(op: Operator) -> str:
    return str(op.node.get("result", "result"))


def _operands(node: Node) -> tuple[str, ...]:
    """PyTorch's words for the operands, in our order."""
    words = facts_of(node).get("operands", {})
    result: tuple[str, ...] = words.get(shown_name(node)) or words.get("", _OPERANDS)
    return result


def _operand(node: Node, place: int) -> Any:
    if node.only == 1 and "turns" in facts_of(node):
        place = 1 - place  # 2*x: Python asks x, so that the number is the other
    value = node.saved[place] if node.saved else None
    if value is None:
        return None
    if is_number(value):
        return value if _operands(node)[1:] == ("exponent",) else _tensor(value)
    if isinstance(value, Plain):
        if value.meta is not None:
            verify(node, place, value)
        return value
    return _tensor(value)


def _tensor(value: Any) -> Tensor:
    array = np.asarray(value)
    return wrap(array, dtype_of(array))
