"""How a node pulls a cotangent back: its operator's rules, assembled once for each operator.

Each operator gets node classes of its own, named as PyTorch names them, the first time it is
recorded; their ``pull`` and ``step`` are written out from the operator's rules, so that the
backward pass runs no loop over names. ``pull_recorded`` reads the same rules with Tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from gradcli.engine.dtypes import DType
from gradcli.engine.grad_mode import mode
from gradcli.engine.graph.node import Freed, Node, Part, freed, result_at, verify
from gradcli.engine.record.cotangents import cast, fit
from gradcli.engine.record.index_writes import verify_index, writes
from gradcli.engine.record.piecewise_linear import leading
from gradcli.engine.record.saved_values import saved_properties
from gradcli.ops.comparison import all_finite
from gradcli.ops.declaration.counting import Count, Counted
from gradcli.ops.dims import laid_as
from gradcli.ops.operator import OPERATORS, Operator, is_number
from gradcli.ops.read import on_arrays

_classes: dict[tuple[Any, ...], type[Node]] = {}


def node_class(op: Operator, numbers: tuple[bool, ...], is_complex: bool = False) -> type[Node]:
    """The node class for an operator; ``numbers`` marks inputs that are plain Python numbers."""
    key = (op.name, numbers, is_complex)
    found = _classes.get(key)
    if found is None:
        masks = op.masks
        if masks:  # before anyone can have a node of the class
            mode.branches = True
        if op.variadic:
            rule: Any = op.rules[0]
            pull, step = partial(_variadic_pull, on_arrays(rule)), None
        else:
            pull, step = assemble(op, numbers, is_complex)
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
                "numbers": numbers,
                "is_complex": is_complex,
                "pull_recorded": None,
                "held": {},
                "masks": masks,
                "weighs": bool(op.vanishes),
                **saved_properties(op),
            },
        )
        found = _classes.setdefault(key, found)  # of two threads' classes the first one stays
    return found


def assemble(
    op: Operator, numbers: tuple[bool, ...], is_complex: bool, careful: Any = None
) -> tuple[Any, ...]:
    """Write out ``pull`` and ``step`` for one operator: its rules applied to its saved arrays.

    ``careful(node, i, g, r, choices)`` mends a cotangent that is not finite: see
    ``untaken_branches``.

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
                arrived[e0] = arrived.pop(e0) + r if e0 in arrived else r
            ...

    A sum whose first operand nothing else refers to is written into that, by NumPy.
            if gone is not None and saved: node.saved = gone
    """
    scope = _scope(op, numbers, on_arrays)
    scope.update(careful=careful, all_finite=all_finite)
    terms = _terms(op, numbers, is_complex, tensors=False)
    several = numbers.count(False) > 1
    lines = ["def pull(node, g):", *_reading(op, numbers, "node.saved")]
    if several:
        lines.append(f"    return {_for_edges(terms, numbers)}")
    else:
        lines.append(f"    return {terms.get(numbers.index(False))}")
    lines.append(f"def step(node, g, arrived, gone{', choices' * (careful is not None)}):")
    # An entrywise one that saves nothing is never freed; of the others a write in place may be.
    frees = bool(_saved(op, numbers)) or not op.entrywise
    if frees:
        lines.append("    saved = node.saved")
        lines.append("    if saved.__class__ is Freed: raise freed(node)")
    lines += _reading(op, numbers, "saved")
    pad = "    "
    for i, term in terms.items():
        if several:
            lines.append(f"    if e{i} is not None:")
            pad = "        "
        lines.append(f"{pad}r = {term}")
        if careful is not None:
            lines.append(f"{pad}if not all_finite(r): r = careful(node, {i}, g, r, choices)")
        if not op.entrywise:
            lines.append(f"{pad}if r.shape != e{i}.shape: r = fit(r, e{i}.shape)")
        elif several:  # its cotangents have the result's shape: see the operators' tests
            lines.append(f"{pad}if node.shape != e{i}.shape: r = fit(r, e{i}.shape)")
        lines.append(f"{pad}if node.dtype is not e{i}.dtype: r = cast(r, e{i}.dtype)")
        lines.append(f"{pad}arrived[e{i}] = arrived.pop(e{i}) + r if e{i} in arrived else r")
    if frees:
        lines.append("    if gone is not None and saved: node.saved = gone")
    exec("\n".join(lines), scope)
    return scope["pull"], scope["step"]


def _assemble_recorded(
    op: Operator, numbers: tuple[bool, ...], is_complex: bool
) -> Callable[..., Any]:
    """Write out ``pull(node, g, wrap)`` on Tensors: the same rules, their cotangents recorded."""
    scope = _scope(op, numbers, lambda rule: rule)
    lines = ["def pull(node, g, wrap):", *_reading(op, numbers, "node.saved")]
    if "out" in _saved(op, numbers):
        lines.append(
            "    out = None if v_out is None else wrap(v_out, node.dtype, result_at(node))"
        )
    terms = _terms(op, numbers, is_complex, tensors=True)
    lines.append(f"    return {_for_edges(terms, numbers)}")
    exec("\n".join(lines), scope)
    result: Callable[..., Any] = scope["pull"]
    return result


def held(node: Any) -> float:
    """What the rules of a node hold at most, with what they give, in arrays: like the result where
    it works entry by entry, else like all inputs."""
    op, cls = node.op, node.__class__
    if op.__class__ is Part or (op.kind == "bilinear" and not op.entrywise):
        return 2.0 if node.dtype is not None and node.dtype.is_complex else 1.0  # conjugates
    params = () if node.extra is None else node.extra.params.values()
    edges = [e for e in node.edges if e is not None]
    mixed = any(e.dtype is not None and e.dtype.is_complex for e in (node, *edges))
    smaller = [None if e is None else op.entrywise and e.shape != node.shape for e in node.edges]
    if smaller.count(True) > 1:  # which together are as large as the result
        smaller = [None if s is None else False for s in smaller]
    numbers = [p if isinstance(p, float | int | str) else None for p in params]
    key = (node.shape == (), mixed, *smaller, *numbers)
    known = cls.held.get(key)
    if known is None:
        if len(cls.held) > 50:  # parameters that are computed
            cls.held.clear()
        known = cls.held[key] = _held(node, np.dtype(complex if mixed else float), smaller)
    most: float = max([k + n for k, n in enumerate(known)], default=0.0)
    return most


def _held(node: Any, dtype: np.dtype[Any], smaller: Sequence[Any]) -> list[float]:
    """The arrays of ``dtype`` that the rules of a node's edges hold at most, each alone: they are
    called to be counted. ``smaller`` tells which inputs were broadcast."""
    op, cls = node.op, node.__class__
    found = []
    scope = _scope(op, cls.numbers, lambda rule: rule)
    scope["turned"] = lambda value: _conj(value).named()
    scope["p"] = op.params if node.extra is None else node.extra.params
    scope |= {f"e{i}": e for i, e in enumerate(node.edges)}
    terms = _terms(op, cls.numbers, cls.is_complex, tensors=True)
    for i, edge in enumerate(node.edges):
        if edge is None:
            continue
        count = Count(dtype)
        shape = node.shape if op.entrywise else edge.shape
        for n, number, less in zip(op.inputs, cls.numbers, smaller, strict=True):
            scope[f"v_{n}"] = 2.0 if number else Counted(count, shape, not less)
        reduced = "keepdim" in op.params
        given = dtype if node.dtype.is_complex else np.dtype(float)
        scope["g"] = scope["out"] = Counted(count, node.shape, not reduced, dtype=given)
        most = 1.0
        with suppress(Exception):  # what asks for more than shapes
            made = eval(terms[i], scope)
            most = max(count.most, count.now)
            del made
        found.append(most)
    return found


def _scope(op: Operator, numbers: tuple[bool, ...], reading: Callable[..., Any]) -> dict[str, Any]:
    """The names that the written text uses; ``reading`` makes of a rule what it calls."""
    scope: dict[str, Any] = {
        "verify": verify, "conj": _conj, "fit": fit, "cast": cast, "Freed": Freed, "freed": freed,
        "nothing": (None,) * (len(op.inputs) + 1), "writes": writes, "verify_index": verify_index,
        "laid_as": laid_as, "turned": _conj, "result_at": result_at,
        "mT": OPERATORS["mT"].compute if reading is on_arrays else OPERATORS["mT"],
    }  # fmt: skip
    for i, rule in enumerate(op.rules):
        if rule is not None and not numbers[i]:
            scope[f"r{i}"] = reading(rule)
    return scope


def _for_edges(terms: dict[int, str], numbers: tuple[bool, ...]) -> str:
    """The text of a tuple with a cotangent, or None, for each edge."""
    given = (f"None if e{i} is None else {terms[i]}" if i in terms else "None" for i in
             range(len(numbers)))  # fmt: skip
    return f"({', '.join(given)},)"


def _conj(value: Any) -> Any:
    if hasattr(value, "__gradcli_rank__"):  # not a view, as a tensor's conj() gives
        return OPERATORS["conj"](value)
    # NumPy's function makes a double of a Python number, which widens what it meets.
    return value.conjugate() if is_number(value) else value.conj()


def _saved(op: Operator, numbers: tuple[bool, ...]) -> set[str]:
    """What the rules of the inputs that are no numbers read of what a node saved."""
    return {n for i, names in enumerate(op.saves) if not numbers[i] for n in names}


def _reading(op: Operator, numbers: tuple[bool, ...], saved: str) -> list[str]:
    """The lines that take what a node ``saved`` apart, and check what it holds."""
    used, lines = _saved(op, numbers), []
    if used:
        # Where only an input whose rule reads nothing needs a gradient nothing was saved.
        none = any(not names for i, names in enumerate(op.saves) if op.rules[i] and not numbers[i])
        parts = ", ".join(f"v_{n}" for n in op.inputs)
        lines.append(f"{parts}, v_out = {saved}{' or nothing' * none}")
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
    if op.by_index:
        lines.append("if writes: verify_index(node)")
    lines.append(f"{', '.join(f'e{i}' for i in range(len(numbers)))}, = node.edges")
    return [f"    {line}" for line in lines]


def _terms(
    op: Operator, numbers: tuple[bool, ...], is_complex: bool, tensors: bool
) -> dict[int, str]:
    """The texts of the inputs' cotangents, on saved Tensors or on their arrays."""
    return {
        i: _term(op, i, numbers, is_complex, tensors)
        for i, rule in enumerate(op.rules)
        if rule is not None and not numbers[i]
    }


def _term(op: Operator, i: int, numbers: tuple[bool, ...], is_complex: bool, tensors: bool) -> str:
    # A vjp without conjugates is right for holomorphic operators when both ends are turned.
    turned = is_complex and (op.scaled[i] or op.kind in ("reduction", "general"))
    words = []
    for n in op.reads[i]:
        if n in ("g", "t"):
            words.append("turned(g)" if turned else "g")
        elif n == "out" or n == op.by_result:
            words.append("out" if tensors else "v_out")
        elif n == "shape":
            words.append(f"e{i}.shape")
        elif n in op.inputs:
            plain = tensors or numbers[op.inputs.index(n)]
            word = f"v_{n}" if plain else f"v_{n}.array"
            words.append(f"turned({word})" if is_complex and op.kind == "bilinear" else word)
        else:
            words.append(f"p[{n!r}]")
    term = f"r{i}({', '.join(words)})"
    if op.node.get("columns"):
        # (g @ y.T).T is y @ g.T: the other input's rule, where the gradient is to lie by columns.
        g, y = (words[op.reads[i].index(n)] for n in ("g", op.inputs[1 - i]))
        other = f"r{1 - i}(mT({g}), mT({y}), e{i}.shape[::-1])"
        alone = f"mT(r1({y}, {g}, e1.shape[::-1]))" if i else term  # of a vector: outer(g, x).T
        other = f"fit({other}, (*e{i}.shape[:-2], *e{i}.shape[:-3:-1]))"  # sums lie in rows
        columns = f"(mT({other}) if len(node.shape) > 1 else {alone})"
        term = f"({columns} if node.extra is not None and {i} in node.extra.columns else {term})"
    if op.kind == "elementwise" and not op.scaled[i]:
        term = f"g * conj({term})" if is_complex else f"g * {term}"
    elif turned:
        term = f"conj({term})"
    dense = op.node.get("dense")
    if tensors:
        return f"({term}).contiguous()" if dense else term
    if dense:
        whole = "(r := {}).base is None and r.flags.c_contiguous"
        return f"(r if {whole.format(term)} else r.copy())"
    # A product lies in the order of its first factor, in PyTorch g.
    if op.entrywise and op.kind in ("elementwise", "bilinear") and not op.masks:
        laid = "g.ndim > 1 and not g.flags.c_contiguous and g.strides[-1]"
        return f"(laid_as(r := {term}, g, r) if {laid} else {term})"
    return term


def _variadic_pull(rule: Any, node: Node, g: Any) -> tuple[Any, ...]:
    names = node.op.reads[0]
    given = dict(node.extra.params, g=g, shapes=node.extra.shapes)
    pulled = []
    for i, edge in enumerate(node.edges):
        given["index"] = i
        pulled.append(None if edge is None else rule(*[given[n] for n in names]))
    return tuple(pulled)


def pull_recorded(node: Node, g: Any, wrap: Callable[[Any, DType, Node], Any]) -> tuple[Any, ...]:
    """The same rules read with Tensors, so that the gradient is itself recorded.

    ``wrap`` turns the saved raw output back into a Tensor attached to its own node: without that
    attachment the second derivative of exp or tanh would be silently wrong.
    """
    op = node.op
    if op.__class__ is Part:  # not made of rules: it reads what it is given
        pulled = node.pull(node, g)
        return pulled if node.only is None else (pulled,)
    if op.variadic:
        return _variadic_pull(op.rules[0], node, g)
    cls: Any = node.__class__
    pull = cls.pull_recorded
    if pull is None:  # few operators are differentiated twice: written out when one is
        pull = _assemble_recorded(op, cls.numbers, cls.is_complex)
        cls.pull_recorded = staticmethod(pull)
    result: tuple[Any, ...] = pull(node, g, wrap)
    extra = node.extra
    composed = None if extra is None else extra.params.get("backward")
    if composed is not None:
        return leading(result, *composed)
    name = op.node.get("backward")
    if name is None:
        return result
    return leading(result, name, node if op.node.get("saves_result") else node.edges[0])
