"""How a node pulls a cotangent back: its operator's rules, assembled once for each operator.

Each operator gets node classes of its own, named as PyTorch names them, the first time it is
recorded; their ``pull`` is written out from the operator's rules, so that the backward pass runs no
loop over names. ``pull_recorded`` reads the same rules with Tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine.dtypes import DType
from gradcli.engine.graph import Node, Part, verify
from gradcli.ops.core import Operator, is_number, on_arrays

_classes: dict[tuple, type[Node]] = {}


def node_class(op: Operator, numbers: tuple[bool, ...], is_complex: bool = False) -> type[Node]:
    """The node class for an operator; ``numbers`` marks inputs that are plain Python numbers."""
    key = (op.name, numbers, is_complex)
    found = _classes.get(key)
    if found is None:
        pull = _variadic_pull if op.variadic else _assemble_pull(op, numbers, is_complex)
        found = type(
            op.grad_name,
            (Node,),
            {
                "__slots__": (),
                "__module__": __name__,
                "op": op,
                "pull": staticmethod(pull),
                "only": numbers.index(False) if numbers.count(False) == 1 else None,
                "masks": op.name in _MASKS,
            },
        )
        _classes[key] = found
    return found


_MASKS = frozenset(("where", "maximum", "minimum", "fmax", "fmin", "relu", "clamp"))


def _assemble_pull(op: Operator, numbers: tuple[bool, ...], is_complex: bool) -> Callable:
    """Write out ``pull(node, g)`` for one operator: its rules applied to its saved arrays.

    For ``mul`` of two tensors the text is::

        def pull(node, g):
            x, y, out = node.saved
            if x is not None and x.meta is not None: verify(node, 0, x)
            if y is not None and y.meta is not None: verify(node, 1, y)
            e0, e1 = node.edges
            return None if e0 is None else r0(g, y.array), None if e1 is None else r1(g, x.array)
    """
    scope: dict[str, Any] = {"verify": verify, "conj": np.conj}
    used = {n for i, names in enumerate(op.saves) if not numbers[i] for n in names}
    lines = ["def pull(node, g):"]
    many = numbers.count(False) > 1
    if used:
        saved = "node.saved"
        if any(not names for i, names in enumerate(op.saves) if op.rules[i] and not numbers[i]):
            # Where only such an input needs a gradient nothing was saved.
            saved, scope["nothing"] = "node.saved or nothing", (None,) * (len(op.inputs) + 1)
        lines.append(f"    {', '.join(f'v_{n}' for n in op.inputs)}, v_out = {saved}")
    for i, n in enumerate(op.inputs):
        if n in used and not numbers[i]:
            guard = "" if not many else f"v_{n} is not None and "
            lines.append(f"    if {guard}v_{n}.meta is not None: verify(node, {i}, v_{n})")
    if "out" in used:
        lines.append(
            "    if node.extra is not None and node.extra.out_meta is not None: "
            "verify(node, -1, node.extra.out_meta)"
        )
    if any(n in op.params or n in ("index", "shapes") for names in op.reads for n in names):
        lines.append("    p = node.extra.params")
    terms = []
    if many or any("shape" in names for names in op.reads):
        lines.append(f"    {', '.join(f'e{i}' for i in range(len(numbers)))}, = node.edges")
    for i, rule in enumerate(op.rules):
        if numbers[i] or (rule is None and not many):
            if many:
                terms.append("None")
            continue
        if rule is None:
            terms.append("None")
            continue
        scope[f"r{i}"] = on_arrays(rule)
        words = []
        for n in op.reads[i]:
            if n in ("g", "t"):
                turned = is_complex and (op.scaled[i] or op.kind == "general")
                words.append("conj(g)" if turned else "g")
            elif n == "out":
                words.append("v_out")
            elif n == "shape":
                words.append(f"e{i}.shape")
            elif n in op.inputs:
                j = op.inputs.index(n)
                word = f"v_{n}" if numbers[j] else f"v_{n}.array"
                words.append(f"conj({word})" if is_complex and op.kind == "bilinear" else word)
            else:
                words.append(f"p[{n!r}]")
        term = f"r{i}({', '.join(words)})"
        if op.kind == "elementwise" and not op.scaled[i]:
            term = f"g * conj({term})" if is_complex else f"g * {term}"
        elif is_complex and op.kind in ("elementwise", "general"):
            term = f"conj({term})"
        terms.append(f"None if e{i} is None else {term}" if many else term)
    lines.append(f"    return {', '.join(terms)}")
    exec("\n".join(lines), scope)
    return scope["pull"]


def _variadic_pull(node: Node, g: Any) -> tuple:
    rule, names = node.op.rules[0], node.op.reads[0]
    given = dict(node.extra.params, g=g, shapes=node.extra.shapes)
    pulled = []
    for i, edge in enumerate(node.edges):
        given["index"] = i
        pulled.append(None if edge is None else rule(*(given[n] for n in names)))
    return tuple(pulled)


def pull_recorded(node: Node, g: Any, wrap: Callable[[Any, DType, Node], Any]) -> tuple:
    """The same rules read with Tensors, so that the gradient is itself recorded.

    ``wrap`` turns the saved raw output back into a Tensor attached to its own node: without that
    attachment the second derivative of exp or tanh would be silently wrong.
    """
    op = node.op
    if op.__class__ is Part:  # not made of rules: it reads what it is given
        pulled = node.pull(node, g)
        return pulled if node.only is None else (pulled,)
    if op.variadic:
        return _variadic_pull(node, g)
    is_complex = node.dtype.is_complex
    given: dict[str, Any] = dict(node.extra.params) if node.extra is not None else {}
    given["g"] = given["t"] = g
    if node.saved:
        for i, (n, value) in enumerate(zip(op.inputs, node.saved, strict=False)):
            if value is not None:
                number = is_number(value)
                if not number and value.meta is not None:
                    verify(node, i, value)
                if is_complex and op.kind == "bilinear":
                    value = value.conjugate() if number else value.conj()
            given[n] = value
        if any("out" in names for names in op.reads):
            if node.extra is not None and node.extra.out_meta is not None:
                verify(node, -1, node.extra.out_meta)
            given["out"] = wrap(node.saved[-1], node.dtype, node)
    pulled = []
    for i, (rule, edge) in enumerate(zip(op.rules, node.edges, strict=True)):
        if rule is None or edge is None:
            pulled.append(None)
            continue
        given["shape"] = edge.shape
        if is_complex and (op.scaled[i] or op.kind == "general"):
            # A vjp without conjugates is right for holomorphic operators when both ends are turned.
            term = rule(*(g.conj() if n in ("g", "t") else given[n] for n in op.reads[i])).conj()
        else:
            term = rule(*(given[n] for n in op.reads[i]))
            if op.kind == "elementwise" and not op.scaled[i]:
                if is_complex:
                    term = term.conjugate() if is_number(term) else term.conj()
                term = g * term
        pulled.append(term)
    return tuple(pulled)
