"""How a node pulls a cotangent back: its operator's rules, assembled once for each operator.

Each operator gets node classes of its own, named as PyTorch names them, the first time it is
recorded; their ``pull`` and ``step`` are written out from the operator's rules, so that the
backward pass runs no loop over names. ``pull_recorded`` reads the same rules with Tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine.dtypes import DType
from gradcli.engine.fitting import cast, fit
from gradcli.engine.graph import Freed, Node, Part, freed, verify
from gradcli.engine.saved import saved_properties
from gradcli.ops.core import Operator, is_number, on_arrays

_classes: dict[tuple, type[Node]] = {}


def node_class(op: Operator, numbers: tuple[bool, ...], is_complex: bool = False) -> type[Node]:
    """The node class for an operator; ``numbers`` marks inputs that are plain Python numbers."""
    key = (op.name, numbers, is_complex)
    found = _classes.get(key)
    if found is None:
        if op.variadic:
            pull, step = _variadic_pull, None
        else:
            pull, step = _assemble(op, numbers, is_complex)
        found = type(
            op.grad_name,
            (Node,),
            {
                "__slots__": (),
                "__module__": __name__,
                "op": op,
                "pull": staticmethod(pull),
                "step": None if step is None else staticmethod(step),
                "only": numbers.index(False) if numbers.count(False) == 1 else None,
                "masks": op.name in _MASKS,
                **saved_properties(op),
            },
        )
        _classes[key] = found
    return found


_MASKS = frozenset(("where", "maximum", "minimum", "fmax", "fmin", "relu", "clamp"))


def _assemble(op: Operator, numbers: tuple[bool, ...], is_complex: bool) -> tuple:
    """Write out ``pull`` and ``step`` for one operator: its rules applied to its saved arrays.

    ``pull(node, g)`` gives the inputs' cotangents, ``step(node, g, arrived, gone)`` does all that a
    pass does with a node when nobody looks on. Each operator having its own text lets the
    interpreter specialise every read of it. For ``mul`` of two tensors it is::

        def pull(node, g):
            v_x, v_y, v_out = node.saved
            if v_x is not None and v_x.meta is not None: verify(node, 0, v_x)
            if v_y is not None and v_y.meta is not None: verify(node, 1, v_y)
            e0, e1, = node.edges
            return None if e0 is None else r0(g, v_y.array), ...
        def step(node, g, arrived, gone):
            saved = node.saved
            if saved.__class__ is Freed: raise freed(node)
            v_x, v_y, v_out = saved
            ...
            if e0 is not None:
                r = r0(g, v_y.array)
                if node.shape != e0.shape: r = fit(r, e0.shape)
                if node.dtype is not e0.dtype: r = cast(r, e0.dtype)
                arrived[e0] = arrived[e0] + r if e0 in arrived else r
            ...
            if gone is not None and saved: node.saved = gone
    """
    scope: dict[str, Any] = {
        "verify": verify, "conj": np.conj, "fit": fit, "cast": cast, "Freed": Freed, "freed": freed,
        "nothing": (None,) * (len(op.inputs) + 1),
    }  # fmt: skip
    terms: dict[int, str] = {}
    for i, rule in enumerate(op.rules):
        if rule is not None and not numbers[i]:
            scope[f"r{i}"] = on_arrays(rule)
            terms[i] = _term(op, i, numbers, is_complex)
    unpacks, checks = _reading(op, numbers)
    tensors = [i for i, number in enumerate(numbers) if not number]
    checks.append(f"{', '.join(f'e{i}' for i in range(len(numbers)))}, = node.edges")
    lines = ["def pull(node, g):"]
    if unpacks:
        lines.append(f"    {unpacks.format('node.saved')}")
    lines += [f"    {line}" for line in checks]
    if len(tensors) == 1:
        lines.append(f"    return {terms.get(tensors[0])}")
    else:
        given = [f"None if e{i} is None else {terms[i]}" if i in terms else "None" for i in
                 range(len(numbers))]  # fmt: skip
        lines.append(f"    return {', '.join(given)},")
    lines.append("def step(node, g, arrived, gone):")
    # An entrywise one that saves nothing is never freed; of the others a write in place may be.
    frees = bool(unpacks) or not op.entrywise
    if frees:
        lines.append("    saved = node.saved")
        lines.append("    if saved.__class__ is Freed: raise freed(node)")
    if unpacks:
        lines.append(f"    {unpacks.format('saved')}")
    lines += [f"    {line}" for line in checks]
    for i, term in terms.items():
        if len(tensors) > 1:
            lines.append(f"    if e{i} is not None:")
        pad = "        " if len(tensors) > 1 else "    "
        lines.append(f"{pad}r = {term}")
        if not op.entrywise:
            lines.append(f"{pad}if r.shape != e{i}.shape: r = fit(r, e{i}.shape)")
        elif len(tensors) > 1:  # its cotangents have the result's shape: see the operators' tests
            lines.append(f"{pad}if node.shape != e{i}.shape: r = fit(r, e{i}.shape)")
        lines.append(f"{pad}if node.dtype is not e{i}.dtype: r = cast(r, e{i}.dtype)")
        lines.append(f"{pad}arrived[e{i}] = arrived[e{i}] + r if e{i} in arrived else r")
    if frees:
        lines.append("    if gone is not None and saved: node.saved = gone")
    exec("\n".join(lines), scope)
    return scope["pull"], scope["step"]


def _reading(op: Operator, numbers: tuple[bool, ...]) -> tuple[str, list[str]]:
    """The text that takes a node's saved values apart, and that which checks what it holds."""
    used = {n for i, names in enumerate(op.saves) if not numbers[i] for n in names}
    unpacks, lines = "", []
    if used:
        unpacks = f"{', '.join(f'v_{n}' for n in op.inputs)}, v_out = {{}}"
        if any(not names for i, names in enumerate(op.saves) if op.rules[i] and not numbers[i]):
            # Where only such an input needs a gradient nothing was saved.
            unpacks += " or nothing"
    for i, n in enumerate(op.inputs):
        if n in used and not numbers[i]:
            guard = f"v_{n} is not None and " if numbers.count(False) > 1 else ""
            lines.append(f"if {guard}v_{n}.meta is not None: verify(node, {i}, v_{n})")
    if "out" in used:
        lines.append(
            "if node.extra is not None and node.extra.out_meta is not None: "
            "verify(node, -1, node.extra.out_meta)"
        )
    if any(n in op.params or n in ("index", "shapes") for names in op.reads for n in names):
        lines.append("p = node.extra.params")
    return unpacks, lines


def _term(op: Operator, i: int, numbers: tuple[bool, ...], is_complex: bool) -> str:
    """The text of input ``i``'s cotangent."""
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
            word = f"v_{n}" if numbers[op.inputs.index(n)] else f"v_{n}.array"
            words.append(f"conj({word})" if is_complex and op.kind == "bilinear" else word)
        else:
            words.append(f"p[{n!r}]")
    term = f"r{i}({', '.join(words)})"
    if op.kind == "elementwise" and not op.scaled[i]:
        return f"g * conj({term})" if is_complex else f"g * {term}"
    return f"conj({term})" if is_complex and op.kind in ("elementwise", "general") else term


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
