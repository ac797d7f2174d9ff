"""What a node saved, under the names that PyTorch gives it: ``y.grad_fn._saved_result``.

They are properties of an operator's node classes (a ``__getattr__`` would slow every attribute of
every node), looked up only when asked for. A name stands for an input, the result, a parameter of
the call or the shape of an input; which one it is follows from the operator's declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.engine.graph.node import Freed, Node, freed, more, verify
from gradcli.engine.graph.torch_names import facts_of, operand_words, shown_edges, shown_name
from gradcli.engine.tensor.storage import Meta
from gradcli.engine.tensor.tensor import Plain, constant, wrap
from gradcli.ops.declaration.node_names import OF_INDEX
from gradcli.ops.operator import Operator, is_number

if TYPE_CHECKING:
    from gradcli.engine.record.saved_tensor_hooks import SavedTensor

_SAVED = "_saved_"
_OURS = frozenset((
    "atol", "dtype", "index", "indices", "inverse", "labels", "memory_format", "norm", "numbers",
    "once", "onward", "rtol", "shape",
))  # fmt: skip
"""Parameters that PyTorch's nodes have not, or have in another form."""
_UNSIGNED = ("diagonal", "dim", "shifts")
_properties: dict[str, property] = {}


def saved_properties(op: Operator) -> dict[str, Any]:
    """What an operator's node class has for this: a property for every name that one of its nodes
    may have, and a ``__dir__`` that shows those that the node has."""
    tensors = {"self", "other", _result(op)}.union(*op.node.get("operands", {}).values())
    words = tensors.union(op.params, op.node.get("saved", ()), ("self_sym_sizes",))
    words.update(OF_INDEX if op.by_index else op.node.get("words", {}).values())
    found: dict[str, Any] = {}
    for name in (_SAVED + word for word in words):
        found[name] = _properties.setdefault(name, property(partial(by_name, name)))
    for word in tensors:
        found["_raw" + _SAVED + word] = property(partial(_raw, _SAVED + word))
    return found | {"__dir__": _attributes}


def _attributes(node: Node) -> list[str]:
    have = set(saved_names(node))
    return [a for a in object.__dir__(node) if _SAVED not in a or a.removeprefix("_raw") in have]


def by_name(name: str, node: Node) -> Any:
    """The saved value ``name`` of a node. Raises AttributeError, RuntimeFault (E0401: freed)."""
    known = saved_names(node)
    if name not in known:
        saves = f"; it has {', '.join(known)}" if known else ""
        raise AttributeError(f"{type(node).__name__!r} object has no attribute {name!r}{saves}")
    word = name.removeprefix(_SAVED)
    operands = operand_words(node)
    if node.saved.__class__ is Freed and word in (*operands, _result(node.op)):
        raise freed(node)
    if word == _result(node.op):
        extra = more(node)
        if extra.out_meta is None:
            extra.out_meta = Meta()
        verify(node, -1, extra.out_meta)
        result = wrap(node.saved[-1], node.dtype, node)
        result.meta = Meta(extra.out_meta.version)
        return result
    always = _always(node)
    if word in always:
        return always[word]
    if word in operands:
        return _operand(node, _place(node, word))
    if word.endswith("_sym_sizes"):
        return tuple(shown_edges(node)[0].shape)
    own = {w: n for n, w in facts_of(node).get("words", {}).items()}
    value = node.extra.params[own.get(word, word)]
    if isinstance(value, np.ndarray):
        return constant(value)
    if word.startswith(_UNSIGNED) and value is not None:  # PyTorch shows them without a sign
        many = value if isinstance(value, tuple | list) else (value,)
        unsigned = tuple(v % 2**64 for v in many)
        return unsigned if many is value or "dims" in facts_of(node) else unsigned[0]
    return value


def _always(node: Node) -> Mapping[str, Any]:
    """What a node shows that it need not save: constants, and the parts of an index."""
    facts = facts_of(node)
    found: Mapping[str, Any] = facts["parts"](node) if "parts" in facts else facts.get("saved", {})
    if "indices" in found:
        return {"indices": tuple(i if i is None else constant(i) for i in found["indices"])}
    return found


def _raw(name: str, node: Node) -> SavedTensor:
    """The saved tensor ``name`` as the node keeps it. Raises AttributeError."""
    from gradcli.engine.record.saved_tensor_hooks import SavedTensor

    word = name.removeprefix(_SAVED)
    if name not in saved_names(node):
        raise AttributeError(f"{type(node).__name__!r} object has no attribute '_raw{name}'")
    if word == _result(node.op):
        return SavedTensor(node, len(node.op.inputs), node)
    place = _place(node, word)
    return SavedTensor(node, place, node.edges[place])


def saved_names(node: Node) -> list[str]:
    """The names of what a node saves, sorted: what ``dir(y.grad_fn)`` shows of it."""
    op, shown, facts = node.op, shown_edges(node), facts_of(node)
    params = node.extra.params if node.extra is not None else {}
    if not op.inputs or any(e is not None and e not in node.edges for e in shown):
        return []  # of a function that is composed of operators it would be what the last one has
    read = {"out" if n == op.by_result else n for names in op.reads for n in names}
    # The last operator of a composed function may have operands that the function has not.
    composed = "called" in params and shown_name(node) not in facts.get("operands", ())
    given = params.get("called_on", ()) if composed else node.edges
    words = {
        w
        for w, n, e in zip(operand_words(node), op.inputs, node.edges, strict=False)
        if n in read and e in given and not (composed and e is None)
    }
    if any("out" in names for names, e in zip(op.saves, node.edges, strict=False) if e is not None):
        words.add(_result(op))
    words.update(() if composed else _always(node))
    held = {n: facts.get("words", {}).get(n, n) for n in op.params if n not in _OURS}
    if params.get("dim", 0) in (None, ()) and (composed or "name" in facts):
        held.pop("dim"), held.pop("keepdim", None)  # a node of its own reduces all
    words.update(w for n, w in held.items() if not (composed and n == "alpha"))
    if "shape" in read and op.arity == 1 and "self" not in words and given:
        words.add("self_sym_sizes")
    return sorted(_SAVED + w for w in words)


def _result(op: Operator) -> str:
    return str(op.node.get("result", "result"))


def _place(node: Node, word: str) -> int:
    """Which saved value an operand is: of 2*x, where Python asks x, the number is the other."""
    place = operand_words(node).index(word)
    return 1 - place if node.only == 1 and "turns" in facts_of(node) else place


def _operand(node: Node, place: int) -> Any:
    value = node.saved[place] if node.saved else None
    if isinstance(value, Plain):
        if value.meta is not None:
            verify(node, place, value)
        return value
    exponent = is_number(value) and operand_words(node)[1:] == ("exponent",)
    return value if value is None or exponent else constant(value)
