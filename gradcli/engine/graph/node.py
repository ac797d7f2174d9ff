"""The graph that backward walks: nodes, leaves, and how a node pulls a cotangent back.

    x (leaf) --.
                mul --> y --> sin --> z          tensors point at nodes through ``Tensor.edge``,
    w (leaf) --'                                 nodes point at nodes through ``Node.edges``

A function with several results has a port for each, which is a node in the graph too: a tensor or a
node points at the ``Output``, the Output at the function's node.

    x --> split --> Output 0 --> ...      the cotangents of all outputs meet in one ``Cotangents``
               `--> Output 1 --> ...      on their way back to the node

A node never holds its own output Tensor (that would be a cycle); where a rule reads ``out`` it
keeps the raw array. How a node pulls a cotangent back is in ``pulling``.
"""

from __future__ import annotations

import itertools
import re
import weakref
from _thread import RLock
from collections.abc import Callable, Mapping, Sequence, Set
from operator import attrgetter
from sys import _getframe
from types import CodeType
from typing import Any, ClassVar

from gradcli.engine.dtypes import CPU, DType
from gradcli.engine.grad_mode import STRIDE, current, mode, refuse_node_hook
from gradcli.engine.graph.own_passes import in_own_passes
from gradcli.engine.graph.torch_names import dressed, shown_edges, shown_name, with_namespace
from gradcli.engine.source_location import Placed, here, noted, of, outside, told
from gradcli.ops.errors import RuntimeFault


def placed_number() -> Placed:
    """A sequence number that knows the line of the user's program: see ``State.placed``."""
    number = Placed(current().number())
    number.place = here()
    number.cause = getattr(mode.inspect, "running", None)
    return number


sharing = RLock()
"""Held for what several threads may change on a leaf, a node or a tensor that they share: a
gradient that is added to, hooks, a Meta or an Extra that is made when first needed."""


EMPTY: tuple[()] = ()
"""``Node.saved`` of a node whose rules read nothing: such a node can run backward twice."""


class Extra:
    """What few nodes have: parameters, hooks, kept gradients, versions, a place in the source."""

    # No slots: what nearly all of them lack stands once, on the class.
    shapes: tuple[tuple[int, ...], ...] | None = None
    hooks: dict[int, Callable[..., Any]] | None = None  # tensor hooks on the output
    pre_hooks: dict[int, Callable[..., Any]] | None = None
    post_hooks: dict[int, Callable[..., Any]] | None = None  # of a leaf: after accumulation
    node_hooks: dict[int, Callable[..., Any]] | None = None  # those of a leaf's AccumulateGrad
    kept: Kept | None = None
    earlier: Any = None  # of a change of shape in place: the node before, if it has hooks
    versions: tuple[int, ...] | None = None
    index_versions: tuple[int, ...] | None = None
    out_meta: Any = None
    out_edge: Any = None  # a weak reference to where the result is, a view that was written to
    past: Any = None  # of a write to such a view: the edges by that, if not the node's own
    since = 0  # where a pass ended that met choices and was recorded: its first node's number
    columns: tuple[int, ...] = ()  # the matrices among the inputs that lie by columns
    rested = False  # of a leaf that was turned off once
    before: Any = None  # of a leaf: a weak reference to what it was in another shape

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        self.params = {} if params is None else params


class Kept:
    """Where retain_grad() of a tensor that is no leaf stores its gradient, that of a ``node``."""

    __slots__ = ("grad", "node")

    def __init__(self, node: Node) -> None:
        self.grad: Any = None
        self.move(node)

    def move(self, node: Node) -> None:
        """Keep the gradient of this ``node`` from now on."""
        self.node, more(node).kept = weakref.ref(node), self


class Node:
    """One recorded operation. ``saved`` holds an entry per input, then the raw output."""

    # ``code`` and ``lasti``, where the user's program was, only where tensors are saved.
    __slots__ = ("__weakref__", "code", "dtype", "edges", "extra", "lasti", "saved", "seq", "shape")
    code: CodeType
    lasti: int
    dtype: DType
    edges: tuple[Any, ...]  # nodes, None for what needs no gradient
    extra: Any  # an Extra, or None: who reads it knows which
    saved: Any  # a tuple, or what stands for it: Freed, Packed, the Store of a custom function
    seq: int
    shape: tuple[int, ...]
    op: Any  # an Operator, or a Part of what no operator made
    pull: Callable[[Any, Any], Any]
    step: Callable[..., None] | None = None  # written out for operators
    careful: Callable[..., None]  # that which looks for branches not taken, where there is a step
    only: int | None = None  # the one input that is a tensor: pull returns its cotangent alone
    masks = False  # chooses between branches
    weighs = False  # is a product or quotient
    number = 0  # which output of its function this is
    leaf = False  # the end of the graph
    foreign = False  # ``pull`` runs a function of the user's
    outputs: Any = None  # of a node with several: shape and dtype of each, None for no tensor
    ports: dict[int, Any] | None = None  # of such a node: weak references to its Outputs

    def __init__(
        self, edges: tuple[Any, ...], dtype: Any, shape: tuple[int, ...] = (), extra: Any = None
    ) -> None:
        self.edges, self.dtype, self.shape, self.extra = edges, dtype, shape, extra
        self.saved = EMPTY
        self.seq = current().number()

    @property
    def origin(self) -> Node:
        """The function's own node: what ``grad_fn`` shows."""
        return self

    def name(self) -> str:
        """PyTorch's name of the node, for example ``"MulBackward0"``."""
        return with_namespace(shown_name(self))

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that the inputs came from, with output numbers; (None, 0) for constants."""
        edges = shown_edges(self)
        ends = (None if e is None else e.origin for e in edges)
        return tuple(
            (None, 0) if n is None else (dressed(n), e.number)
            for n, e in zip(ends, edges, strict=True)
        )

    def port(self, number: int) -> Node:
        """The graph's edge for output ``number``: this node, or one Output of several."""
        if self.ports is None:
            return self
        reference = self.ports.get(number)
        found = None if reference is None else reference()
        if found is None:
            shape, dtype = self.outputs[number]
            found = Output(self, number, len(self.outputs), shape, dtype)
            self.ports[number] = weakref.ref(found)
        return found

    @property
    def _input_metadata(self) -> tuple[Any, ...]:
        """Shape, element type and place of each of the node's outputs: its backward's inputs."""
        from gradcli.engine.named_tuples import results  # a few programs ask

        made = [(self.shape, self.dtype)] if self.outputs is None else self.outputs
        return tuple(
            results(
                "TensorMetadata", shape=o[0], dtype=o[1], device=CPU,
                is_nested_tensor=False, is_cpp_nested_tensor=False,
            )
            for o in made if o is not None
        )  # fmt: skip

    def _sequence_nr(self) -> int:
        return int(self.seq) // STRIDE

    @property
    def metadata(self) -> Any:
        """Room for the user's own notes on this node."""
        with sharing:
            extra = more(self)
        return extra.params.setdefault("metadata", {})

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after this node ran.

        The hook may replace grad_inputs.
        """
        refuse_node_hook()
        return hooked(self, "post_hooks", in_own_passes(hook, self))

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before this node runs; it may replace them."""
        refuse_node_hook()
        return hooked(self, "pre_hooks", in_own_passes(hook, self))

    def __repr__(self) -> str:
        return f"<{shown_name(self)} object at {id(self):#x}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Raises TypeError: a copy would leave the graph."""
        raise TypeError(f"cannot pickle '{shown_name(self)}' object")


class Part:
    """What stands in an Operator's place on nodes that no operator made: a name, and no rule."""

    __slots__ = ("kind", "name", "params")
    inputs: tuple[str, ...] = ()
    rules: tuple[Callable[..., Any] | None, ...] = ()
    variadic = True
    entrywise = False
    batching = None
    dtypes: str | None = None
    node: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.params: dict[str, Any] = {}


class AccumulateGrad(Node):
    """The end of the graph at a leaf: it owns the leaf's gradient."""

    __slots__ = ("grad", "owner", "rows")

    op = Part("leaf", "leaf")
    leaf = True
    dtype: Any  # that of the gradient, None for any

    def __init__(self, owner: Any) -> None:
        self.grad: Any = None
        self.owner: Callable[[], Any] = weakref.ref(owner)
        self.rows = owner.array.flags.c_contiguous  # so will its gradient lie in memory
        super().__init__((), owner.dtype, owner.array.shape)

    def name(self) -> str:
        """PyTorch's name of it."""
        return "torch::autograd::AccumulateGrad"

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook((), grad_outputs)`` after the gradient was added."""
        refuse_node_hook()
        return hooked(self, "node_hooks", hook)

    @property
    def variable(self) -> Any:
        """The leaf, or None once the user let go of it."""
        return self.owner()


class Cotangents:
    """The cotangents of a node with several outputs, a place for each; None where none arrived."""

    __slots__ = ("parts",)
    shape = ()  # that of a node with several outputs: the pass sees nothing to fit

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def __add__(self, other: Cotangents) -> Cotangents:
        return Cotangents(
            [
                b if a is None else a if b is None else a + b
                for a, b in zip(self.parts, other.parts, strict=True)
            ]
        )


class AtInputs(tuple[Any, ...]):
    """Cotangents of a composed function's inputs, past its other operators."""

    __slots__ = ()


class Output(Node):
    """One output of a node that has several; hooks on it are the hooks of that result."""

    __slots__ = ("count", "node", "number")
    op = Part("output", "output")
    only = 0

    def __init__(
        self, node: Node, number: int, count: int, shape: tuple[int, ...], dtype: DType
    ) -> None:
        super().__init__((node,), dtype, shape)
        self.node, self.number, self.count = node, number, count

    @staticmethod
    def pull(node: Output, g: Any) -> Cotangents:
        """``g`` in its place among the cotangents of all outputs."""
        parts: list[Any] = [None] * node.count
        parts[node.number] = g
        return Cotangents(parts)

    @property
    def origin(self) -> Node:
        """The node whose output this is."""
        return self.node

    def name(self) -> str:
        """The name of the function's node."""
        return self.node.name()


class RemovableHandle:
    """Removes a registered hook, or what was registered with it; also usable in ``with``."""

    __slots__ = ("hooks", "id")
    _numbers = itertools.count()

    def __init__(self, hooks: dict[int, Any], hook: Any, first: bool = False) -> None:
        mode.watching = True
        self.hooks = hooks
        self.id = next(self._numbers)
        later = list(hooks) if first else ()
        hooks[self.id] = hook
        for number in later:
            hooks[number] = hooks.pop(number)

    def hooks_dict_ref(self) -> dict[int, Any]:
        """The hooks that this one is among."""
        return self.hooks

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        self.hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


RemovableHandle.__module__ = "gradcli.utils.hooks"  # what type(x) shows: where users find it


def hooked(node: Node, kind: str, hook: Callable[..., Any]) -> RemovableHandle:
    """Register a hook among those of ``kind``, a name in Extra."""
    with sharing:
        extra = more(node)
        hooks = getattr(extra, kind)
        if hooks is None:
            hooks = {}
            setattr(extra, kind, hooks)
    if isinstance(node, Output) and node.node.ports:  # hooks run where its tensor is gone, too
        node.node.ports[node.number] = lambda: node
    return RemovableHandle(hooks, hook)


def more(node: Node) -> Extra:
    """The node's Extra, made when first needed; of a node that others may know, with ``sharing``
    held."""
    extra: Extra | None = node.extra
    if extra is None:
        extra = node.extra = Extra()
    return extra


def keeps_result(node: Node) -> bool:
    """Whether a node reads its result again from what it saved, and no hook packed it: then a
    write to the result is to be seen. To look at a packed one would unpack it.
    """
    saved = node.saved
    kept = getattr(saved, "entries", saved)
    return bool(kept) and hasattr(kept[-1], "shape")


def result_at(node: Node) -> Node:
    """Where the graph has the result that a node saved: of a write to a view there, while it is;
    later at the node alone, on the way by what hooks the view had."""
    extra: Any = node.extra or Extra
    found: Node | None = None if extra.out_edge is None else extra.out_edge()
    if found is not None or extra.past is None:
        return found or node
    return copied(node, edges=extra.past)


def copied(node: Node, **changes: Any) -> Node:
    """A node like ``node`` but for ``changes``, which nothing points at."""
    state: Any = object.__reduce_ex__(node, 2)
    make, kind, (_, slots), *_ = state
    found: Node = make(*kind)
    for name, value in (slots | changes).items():
        setattr(found, name, value)
    return found


def registered(node: Any, kind: str) -> Any:
    """Where the ``kind``, "hooks" or "kept", of a tensor at ``node`` is; None where there is none.

    A change of shape in place leaves hooks and a kept gradient with the node that had them.
    """
    while node is not None and node.extra is not None:
        if getattr(node.extra, kind) is not None:
            return node
        node = node.extra.earlier
    return None


class Lasting(tuple[Any, ...]):
    """``Node.saved`` that no pass lets go of: numbers and constants alone."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


class Freed:
    """``Node.saved`` after a backward pass let go of the values: it knows where that was begun."""

    __slots__ = ("code", "lasti")

    def __init__(self) -> None:
        frame = outside(_getframe(3))
        self.code, self.lasti = frame.f_code, frame.f_lasti

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
        torch="Trying to backward through the graph a second time (or directly access saved "
        "tensors after they have already been freed). Saved intermediate values of the graph are "
        "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need "
        "to backward through the graph a second time or if you need to access saved tensors after "
        "calling backward.",
    )
    return told(fault, saved=of(node), freed=noted(node.saved))


def verify(node: Node, place: int, value: Any) -> None:
    """Check that a saved value has not been written to, or detached, since. Raises E0402.

    ``value`` is a saved Tensor, or for the output (place -1) the Meta that its tensor got later.
    """
    version = (value if place == -1 else value.meta).version
    versions = node.extra.versions if node.extra is not None else None
    then = versions[place] if versions else 0
    if version.number != then:
        kind = "the result" if place == -1 else f"operand {place + 1}"
        made: Any = (node.shape, node.dtype, node)
        if place != -1:  # a tangent may have been written to it since
            made = (value.shape, value.dtype, getattr(value, "edge", None))
        what = f"{kind} of {node.op.name} (shape {list(made[0])})"
        raise changed(what, node, version, then, made)
    if place != -1 and getattr(value, "edge", value) is None:
        edge = node.edges[place]
        if edge is not None and not edge.leaf:
            raise RuntimeFault(
                "E0402",
                "Trying to use a saved tensor that has been detached in-place, i.e. with "
                ".detach_(). This is not supported, please use out-of-place `.detach()` instead",
            )


def changed(
    what: str, node: Node, version: Any, then: int,
    tensor: tuple[tuple[int, ...], DType, Node | None],
) -> RuntimeFault:  # fmt: skip
    """The error of reading a saved value that was written to after version ``then``.

    ``tensor`` is what was saved: its shape, element type and place in the graph.
    """
    shape, dtype, edge = tensor
    known = f"[gradcli.{dtype.scalar_name}Tensor {list(shape)}]"
    if edge is not None and not edge.leaf:
        made = re.sub("Backward0?(?=[0-9]?$)", "", edge.name())  # Sum1 of SumBackward1
        known += f", which is output {edge.number} of {made},"
    hint = (
        "the backtrace further above shows the operation that failed to compute its gradient. The "
        "variable in question was changed in there or anywhere later. Good luck!"
        if mode.inspect is not None
        else "enable anomaly detection to find the operation that failed to compute its gradient, "
        "with torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    fault = RuntimeFault(
        "E0402",
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {what}, saved by {node.name()}, is at version {version.number}; expected "
        f"version {then} instead",
        help="write a = a + 1 instead of a += 1, or change a clone()",
        torch="one of the variables needed for gradient computation has been modified by an "
        f"inplace operation: {known} is at version {version.number}; expected version {then} "
        f"instead. Hint: {hint}",
    )
    fault.versions = then, version.number  # type: ignore[attr-defined]  # for the command line
    return told(fault, saved=of(node), changed=version.place)


by_age = attrgetter("seq")


def collect(roots: Sequence[Node], cut: Set[Node] = frozenset()) -> list[Node]:
    """All nodes and leaves behind ``roots``, youngest first; none of ``cut``, nor what is behind
    those."""
    order = list(roots) if len(roots) == 1 else list(set(roots))
    seen: set[Node | None] = {None, *order, *cut}
    for node in order:  # which grows
        for edge in node.edges:
            if edge not in seen:
                seen.add(edge)
                order.append(edge)
    order.sort(key=by_age, reverse=True)
    return order
