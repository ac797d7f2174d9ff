"""The graph that backward walks: nodes, leaves, and how a node pulls a cotangent back.

    x (leaf) --.
                mul --> y --> sin --> z          tensors point at nodes through ``Tensor.edge``,
    w (leaf) --'                                 nodes point at nodes through ``Node.edges``

A function with several results has a port for each, which is a node in the graph too: a tensor or a
node points at the ``Output``, the Output at the function's node.

    x --> split --> Output 0 --> ...      the cotangents of all outputs meet in one ``Cotangents``
               `--> Output 1 --> ...      on their way back to the node

A node never holds its own output Tensor (that would be a cycle); where a rule reads ``out`` it
keeps the raw array. Each operator gets node classes of its own, named as PyTorch names them, the
first time it is recorded; their ``pull`` is assembled from the operator's rules, so that the
backward pass runs no loop over names.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine.dtypes import DType
from gradcli.engine.modes import mode
from gradcli.engine.names import shown_edges, shown_name
from gradcli.engine.places import here, of, told
from gradcli.ops.core import Operator, is_number, on_arrays
from gradcli.ops.errors import RuntimeFault

next_number = itertools.count().__next__
"""Sequence numbers: a node is always younger than the nodes it points at."""


EMPTY: tuple = ()
"""``Node.saved`` of a node whose rules read nothing: such a node can run backward twice."""


class Extra:
    """What few nodes have: parameters, hooks, kept gradients, versions, a place in the source."""

    __slots__ = (
        "hooks", "kept", "node_hooks", "out_meta", "params", "post_hooks", "pre_hooks", "shapes",
        "versions",
    )  # fmt: skip

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self.shapes: tuple | None = None
        self.hooks: dict[int, Callable] | None = None  # tensor hooks on the output
        self.pre_hooks: dict[int, Callable] | None = None
        self.post_hooks: dict[int, Callable] | None = None  # of a leaf: after accumulation
        self.node_hooks: dict[int, Callable] | None = None  # those of a leaf's AccumulateGrad
        self.kept: Kept | None = None
        self.versions: tuple | None = None
        self.out_meta: Any = None

    @property
    def watched(self) -> bool:
        """Whether anything looks at the cotangent that arrives here."""
        return bool(self.hooks or self.pre_hooks or self.kept is not None)


class Kept:
    """Where retain_grad() of a tensor that is no leaf stores its gradient."""

    __slots__ = ("grad",)

    def __init__(self) -> None:
        self.grad: Any = None


class Node:
    """One recorded operation. ``saved`` holds an entry per input, then the raw output."""

    # ``code`` and ``lasti``, where the user's program was, only where tensors are saved.
    __slots__ = (
        "__weakref__", "code", "dtype", "edges", "extra", "lasti", "saved", "seq", "shape",
    )  # fmt: skip
    op: Operator
    pull: Callable[[Node, Any], Any]
    only: int | None = None  # the one input that is a tensor: pull returns its cotangent alone
    masks = False  # chooses between branches
    number = 0  # which output of its function this is

    @property
    def origin(self) -> Node:
        """The function's own node: what ``grad_fn`` shows."""
        return self

    def name(self) -> str:
        """PyTorch's name of the node, for example ``"MulBackward0"``."""
        return shown_name(self)

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that the inputs came from, with output numbers; (None, 0) for constants."""
        edges = shown_edges(self)
        return tuple((None, 0) if e is None else (e.origin, e.number) for e in edges)

    @property
    def metadata(self) -> dict:
        """Room for the user's own notes on this node."""
        extra = more(self)
        return extra.params.setdefault("metadata", {})

    def register_hook(self, hook: Callable) -> Handle:
        """Call ``hook(grad_inputs, grad_outputs)`` after this node ran.

        The hook may replace grad_inputs.
        """
        extra = more(self)
        extra.post_hooks = extra.post_hooks or {}
        return Handle(extra.post_hooks, hook)

    def register_prehook(self, hook: Callable) -> Handle:
        """Call ``hook(grad_outputs)`` before this node runs; it may replace them."""
        extra = more(self)
        extra.pre_hooks = extra.pre_hooks or {}
        return Handle(extra.pre_hooks, hook)

    def __getattr__(self, name: str) -> Any:
        """What the node saved, under PyTorch's names: ``y.grad_fn._saved_self``.

        Raises AttributeError for what it does not save, RuntimeFault (E0401) once it is freed.
        """
        from gradcli.engine.saved import by_name

        return by_name(self, name)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


class Part:
    """What stands in an Operator's place on nodes that no operator made: a name, and no rule."""

    __slots__ = ("kind", "name", "params")
    inputs: tuple = ()
    rules: tuple = ()
    variadic = True
    entrywise = False

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.params: dict[str, Any] = {}


class AccumulateGrad(Node):
    """The end of the graph at a leaf: it owns the leaf's gradient."""

    __slots__ = ("grad", "owner")

    op = Part("leaf", "leaf")

    def __init__(self, owner: Any) -> None:
        self.grad: Any = None
        self.owner = weakref.ref(owner)
        self.shape = owner.array.shape
        self.dtype = owner.dtype
        self.edges = ()
        self.saved = ()
        self.seq = next_number()
        self.extra: Extra | None = None

    def register_hook(self, hook: Callable) -> Handle:
        """Call ``hook((), grad_outputs)`` after the gradient was added."""
        extra = more(self)
        extra.node_hooks = extra.node_hooks or {}
        return Handle(extra.node_hooks, hook)

    @property
    def variable(self) -> Any:
        """The leaf, or None once the user let go of it."""
        return self.owner()


class Cotangents:
    """The cotangents of a node with several outputs, a place for each; None where none arrived."""

    __slots__ = ("parts",)
    shape = ()  # that of a node with several outputs: the pass sees nothing to fit

    def __init__(self, parts: list) -> None:
        self.parts = parts

    def __add__(self, other: Cotangents) -> Cotangents:
        return Cotangents(
            [
                b if a is None else a if b is None else a + b
                for a, b in zip(self.parts, other.parts, strict=True)
            ]
        )


class Output(Node):
    """One output of a node that has several; hooks on it are the hooks of that result."""

    __slots__ = ("node", "number")
    op = Part("output", "output")
    only = 0

    def __init__(self, node: Node, number: int, count: int, shape: tuple, dtype: DType) -> None:
        self.node = node
        self.number = number
        self.edges = (node,)
        self.saved = EMPTY
        self.seq = next_number()
        self.shape = shape
        self.dtype = dtype
        self.extra = None
        more(self).params = {"count": count}

    @staticmethod
    def pull(node: Output, g: Any) -> Cotangents:
        """``g`` in its place among the cotangents of all outputs."""
        parts = [None] * node.extra.params["count"]
        parts[node.number] = g
        return Cotangents(parts)

    @property
    def origin(self) -> Node:
        """The node whose output this is."""
        return self.node

    def name(self) -> str:
        """The name of the function's node."""
        return self.node.name()


class Handle:
    """Removes a registered hook; also usable in ``with``."""

    __slots__ = ("hooks", "number")
    _numbers = itertools.count()

    def __init__(self, hooks: dict[int, Callable], hook: Callable) -> None:
        mode.watching = True
        self.hooks = hooks
        self.number = next(self._numbers)
        hooks[self.number] = hook

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        self.hooks.pop(self.number, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def more(node: Node) -> Extra:
    """The node's Extra, made when first needed."""
    if node.extra is None:
        node.extra = Extra()
    return node.extra


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


class Freed:
    """``Node.saved`` after a backward pass let go of the values: it knows which pass."""

    __slots__ = ("place",)

    def __init__(self) -> None:
        self.place = here()

    def __bool__(self) -> bool:
        return False


def freed(node: Node) -> RuntimeFault:
    """The error of reading what a backward pass let go of."""
    fault = RuntimeFault(
        "E0401",
        "Trying to backward through the graph a second time (or directly access saved tensors "
        f"after they have already been freed): the first run freed the values saved by "
        f"{node.name()}",
        help="make the first call backward(retain_graph=True)",
    )
    return told(fault, saved=of(node), freed=node.saved.place)


def verify(node: Node, place: int, value: Any) -> None:
    """Check that a saved value has not been written to since it was saved. Raises E0402.

    ``value`` is a saved Tensor, or for the output (place -1) the Meta that its tensor got later.
    """
    version = (value if place == -1 else value.meta).version
    versions = node.extra.versions if node.extra is not None else None
    then = versions[place] if versions else 0
    if version.number != then:
        kind = "the result" if place == -1 else f"operand {place + 1}"
        shape = list(node.shape if place == -1 else value.array.shape)
        raise changed(f"{kind} of {node.op.name} (shape {shape})", node, version, then)


def changed(what: str, node: Node, version: Any, then: int) -> RuntimeFault:
    """The error of reading a saved value that was written to after version ``then``."""
    fault = RuntimeFault(
        "E0402",
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {what}, saved by {node.name()}, is at version {version.number}; expected "
        f"version {then} instead",
        help="write a = a + 1 instead of a += 1, or change a clone()",
    )
    fault.versions = then, version.number
    return told(fault, saved=of(node), changed=version.place)
