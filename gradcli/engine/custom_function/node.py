"""The node of a custom function: running forward, placing its outputs, calling its backward.

Forward runs with recording off, on the user's own tensors. Backward is given Tensors; under
``create_graph=True`` it is recorded, so a backward written with tensor operations has derivatives
of any order. The meaning of every corner (a returned input, writes in place, missing gradients) is
PyTorch's.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any

import numpy as np

from gradcli.engine.custom_function.context import OF_NODE, Context, Store
from gradcli.engine.grad_mode import current, mode, restore, transformed, unrecorded
from gradcli.engine.graph.node import EMPTY, Cotangents, Extra, Node, Part, more, placed_number
from gradcli.engine.graph.torch_names import with_namespace
from gradcli.engine.graph.view_edges import FUNCTION, Severed
from gradcli.engine.record import inplace
from gradcli.engine.record.apply import share_memory
from gradcli.engine.record.cotangents import cast
from gradcli.engine.record.inplace import check_writable, edge_before_write, settle, take_into_base
from gradcli.engine.source_location import mark, warn
from gradcli.engine.tensor.stale_view import place_of
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.ops.errors import RuntimeFault, TypeFault, UnwrittenFault, bad_type
from gradcli.ops.operator import OPERATORS

_OPERATION = Part("function", "function")
_NO_DTYPE: Any = None


class FunctionNode(Node):
    """The node of one call of a custom function. Its edges are those of the tensor arguments."""

    __slots__ = ("arguments", "ctx", "definition", "fixed", "inside", "outputs", "ports", "shown")
    op = _OPERATION
    only = None
    foreign = True

    def __init__(
        self, definition: Any, ctx: Context, edges: tuple[Any, ...], arguments: tuple[Any, ...]
    ) -> None:
        mode.foreign = True
        self.definition = definition
        self.ctx = ctx
        self.edges = edges
        # For each argument of the call its shape and dtype, something false for what is no tensor.
        self.arguments = arguments
        self.outputs: list[Any] = []  # shape and dtype of each, None for what is no tensor
        self.ports: Any = None
        self.inside = bool(transformed.by)  # of a transform: PyTorch has another class there
        self.fixed: frozenset[int] = frozenset()  # outputs that have no derivative and no zeros
        self.shown: Any = None  # a weak reference to the ShownNode that a user holds
        self.saved = EMPTY
        state = current()
        self.seq = placed_number() if state.placed else state.number()
        self.shape = ()
        self.dtype = next((e.dtype for e in edges if e is not None), _NO_DTYPE)
        self.extra = None

    def name(self) -> str:
        """The function's name and Backward."""
        named = getattr(self.definition, "node_name", None)
        own = f"{self.definition.__name__}{'Generated' * self.inside}Backward"
        return with_namespace(named or own)

    def apply(self, *gradients: Any) -> Any:
        """What the user's backward makes of gradients of the outputs."""
        return pulled_by(self.definition, self.ctx, list(gradients))

    def dressed(self) -> ShownNode:
        """What the user sees of it: the same as long as someone holds it."""
        found = None if self.shown is None else self.shown()
        if found is None:
            found = object.__new__(shown_class(self.name().rpartition(":")[2]))
            object.__setattr__(found, "_gradcli_node", self)
            self.shown = weakref.ref(found)
        return found

    @staticmethod
    def pull(node: FunctionNode, g: Any) -> tuple[Any, ...]:
        """The user's backward: cotangents of the outputs to those of the tensor arguments."""
        parts = g.parts if g.__class__ is Cotangents else (g,) * len(node.outputs)
        ctx = node.ctx
        if (node.extra or Extra).past and ctx._gradcli_node() is None:  # a copy, see ``result_at``
            ctx._gradcli_node = weakref.ref(node)
        zeros = [ctx._gradcli_materialize and i not in node.fixed for i in range(len(parts))]
        given = list(map(_as_given, parts, node.outputs, zeros))
        before = current()
        result = pulled_by(node.definition, node.ctx, given)
        restore(before)  # modes that it leaves set hold for no node after it
        return _checked(node, list(result) if isinstance(result, tuple) else [result])


def pulled_by(definition: Any, ctx: Any, given: list[Any]) -> Any:
    """What the user's backward makes of gradients, which it may be given in one list."""
    if getattr(definition, "boxed_grads_call", False):
        return definition.backward(ctx, given)
    return definition.backward(ctx, *given)


class ShownNode(Node):
    """A FunctionNode as its user sees it: in PyTorch the node is ctx, and has what was left there.

    The engine's own attributes keep their names on the node that this stands for, whatever a user
    calls his: ``ctx.shape``, ``ctx.seq``, ``ctx.saved``.
    """

    __slots__ = ("_gradcli_node",)
    op = _OPERATION

    def __getattribute__(self, name: str) -> Any:
        node = _NODE_OF(self)
        own = node.ctx.__dict__
        if name in own and name not in _FIXED:
            return own[name]
        if name == "__class__":
            return type(self)
        if name in _PUBLIC or name[:2] == "__":
            return getattr(node, name)
        try:
            return getattr(node.ctx, name)
        except AttributeError:
            said = f"{node.name()!r} object has no attribute {name!r}"
            raise AttributeError(said, name=name, obj=self) from None

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_NODE_OF(self).ctx, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_NODE_OF(self).ctx, name)

    def __dir__(self) -> list[str]:
        return sorted({*_PUBLIC, *dir(_NODE_OF(self).ctx)})

    def __repr__(self) -> str:
        return f"<gradcli.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    def __gradcli_node__(self) -> FunctionNode:
        """The node of the graph."""
        result: FunctionNode = _NODE_OF(self)
        return result


Context.register(ShownNode)
_NODE_OF: Any = ShownNode._gradcli_node.__get__  # type: ignore[attr-defined]
_FIXED = frozenset(("metadata", "next_functions", "saved_tensors"))
_PUBLIC = OF_NODE | {"outputs"}


@functools.lru_cache(maxsize=256)
def shown_class(name: str) -> type[ShownNode]:
    """A class for a function's nodes, so that ``type(y.grad_fn)`` prints as PyTorch's does."""
    return type(name, (ShownNode,), {"__slots__": (), "__module__": "gradcli.autograd.function"})


def _as_given(part: Any, output: Any, materialize: bool) -> Tensor | None:
    if part is None:
        if output is None or not materialize:
            return None
        shape, dtype = output
        return wrap(np.zeros(shape, dtype.numpy)[()], dtype)
    return part if isinstance(part, Tensor) else wrap(part, output[1])


def _checked(node: FunctionNode, result: list[Any]) -> tuple[Any, ...]:
    """The gradients that backward returned, one for each edge, in its shape and element type."""
    name, expected = node.name(), len(node.arguments)
    while len(result) > expected and result[-1] is None:
        result.pop()
    if len(result) != expected:
        said = f"function {name} returned an incorrect number of gradients (expected {expected},"
        mend = "return one gradient for each argument of forward, None for those without"
        raise RuntimeFault("E0411", f"{said} got {len(result)})", help=mend)
    pulled: list[Any] = []
    for position, (r, is_tensor) in enumerate(zip(result, node.arguments, strict=True)):
        if not is_tensor:
            if r is not None:
                said = f"function {name} returned a gradient different than None at position"
                said += f" {position + 1}, but the corresponding forward input was not a Variable"
                raise RuntimeFault("E0411", said, help="return None there")
            continue
        edge = node.edges[len(pulled)]
        if r is not None and not isinstance(r, Tensor):
            said = f"expected Variable or None (got {type(r).__name__})"
            mend = "backward returns tensors; tensor(2.0) makes one of a number"
            raise RuntimeFault("E0411", said, help=mend)
        if r is not None and edge is not None:  # else hooks alone see it
            r = _fitted(r, edge, not is_tensor[1].is_complex, name, len(pulled))
        pulled.append(r if r is None or mode.grad else r.array)
    return tuple(pulled)


def _fitted(r: Tensor, edge: Node, real: bool, name: str, index: int) -> Tensor:
    have, want = r.array.shape, edge.shape
    if have != want:
        lead = len(have) - len(want)
        if lead < 0 or any(n not in (1, m) for n, m in zip(want, have[lead:], strict=True)):
            said = f"Function {name} returned an invalid gradient at index {index} - got"
            said += f" {list(have)} but expected shape compatible with {list(want)}"
            mend = "a gradient has the shape of the input it belongs to"
            raise RuntimeFault("E0411", said, help=mend)
        r = OPERATORS["sum_to"](r, want)
    if r.dtype.is_complex and real:
        said = f"Function {name} returned a {r.dtype} gradient at index {index}, but its input is"
        said += " real: Expected isFloatingType(grad.scalar_type()) || (input_is_complex"
        mend = "return its real part, g.real, or have the forward take complex numbers"
        raise RuntimeFault("E0411", f"{said} == grad_is_complex) to be true", help=mend)
    return cast(r, edge.dtype)  # type: ignore[no-any-return]


def call(
    definition: Any, args: tuple[Any, ...], options: dict[str, Any] | None = None,
    ctx: Context | None = None, made: Any = None,
) -> Any:  # fmt: skip
    """Run ``definition.forward`` on ``args`` and record it as one node; ``ctx`` is to be its ctx,
    and ``made``, where it is given, what forward would give.

    ``definition`` has ``__name__``, ``forward``, ``backward`` and ``setup_context`` (None where
    forward takes ctx itself).
    """
    if transformed.by and definition.setup_context is None:
        said = "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp,"
        said += " jacrev, ...), it must override the setup_context staticmethod."
        mend = "let forward(*args) take no ctx, and save in setup_context(ctx, inputs, output)"
        raise RuntimeFault("E0412", said, help=mend)
    args = _bound(definition, args, options or {})
    chosen: Any = max(args, key=_rank, default=None)
    if _rank(chosen) > 1:
        if not hasattr(chosen, "__gradcli_function__"):
            said = f"the custom function {definition.__name__} works on tensors, not on a"
            mend = "write it with operators, or give it numbers"
            raise bad_type(f"{said} {type(chosen).__name__}", help=mend)
        return chosen.__gradcli_function__(definition, args, made)
    tensors = [a for a in args if isinstance(a, Tensor)]
    edges = past = tuple([t.edge for t in tensors])
    pushing = ctx is not None  # whoever gave ctx runs jvp next
    ctx = Context() if ctx is None else ctx
    ctx.needs_input_grad = tuple([isinstance(a, Tensor) and a.edge is not None for a in args])
    recording = current().enabled and any(ctx.needs_input_grad)  # in inference mode too

    def computed() -> Any:
        if definition.setup_context is None:
            return definition.forward(ctx, *args)
        found = definition.forward(*args) if made is None else made
        definition.setup_context(ctx, args, found)
        return found

    result = unrecorded(computed)
    outputs = list(result) if isinstance(result, tuple) else [result]
    node = None
    if recording:
        if ctx._gradcli_dirty and mode.watching:  # past the hooks of a view that was written to
            dirty = {id(t) for t in ctx._gradcli_dirty}
            edges = tuple(
                edge_before_write(t) if id(t) in dirty else e
                for e, t in zip(edges, tensors, strict=True)
            )
        arguments = [(a.array.shape, a.dtype) if isinstance(a, Tensor) else None for a in args]
        node = FunctionNode(definition, ctx, edges, tuple(arguments))
        if edges != past:
            more(node).past = past
        ctx._gradcli_node = weakref.ref(node)
    outputs = _wrapped(node, ctx, outputs, tensors, definition)
    if not pushing:
        ctx._gradcli_pushed(bool(transformed.by or transformed.dual))
    return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def _rank(value: Any) -> float:
    return getattr(value, "__gradcli_rank__", 0)


def _bound(definition: Any, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments in their places; with setup_context those left out have forward's defaults."""
    if definition.setup_context is None and not options:
        return args
    import inspect  # takes as long to load as much of the engine

    if definition.setup_context is None:
        named = inspect.signature(definition.forward).parameters.values()
        names = [p.name for p in named if p.kind < p.VAR_POSITIONAL][1:]
        return _placed_by_name(names, args, options)
    try:
        given = inspect.signature(definition.forward).bind(*args, **options)
    except (TypeError, ValueError):
        if options:
            raise
        return args
    given.apply_defaults()
    if given.kwargs:
        fault = UnwrittenFault if transformed.by else TypeFault
        raise fault("E0302", "NYI: kwarg-only Tensor args", help="let forward take them by place")
    return given.args


def _placed_by_name(
    names: list[str], args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[Any, ...]:
    """``args`` and behind them ``options`` in the order of ``names``, without a gap."""
    places = {name: place for place, name in enumerate(names)}
    wrong = ""
    for name in options:
        if name not in places:
            wrong = f"got an unexpected keyword argument '{name}'"
        elif places[name] < len(args):
            wrong = f"got multiple values for argument '{name}'"
    rest = [] if wrong else names[len(args) : 1 + max(places[name] for name in options)]
    for name in rest:
        if name not in options:
            wrong = f"missing required argument: '{name}' (position {places[name]})"
    if wrong:
        raise TypeFault("E0302", f"forward() {wrong}")
    return args + tuple(options[name] for name in rest)


def _wrapped(
    node: FunctionNode | None,
    ctx: Context,
    outputs: list[Any],
    inputs: list[Tensor],
    definition: Any,
) -> list[Any]:
    """The outputs with their places in the graph, and what was saved put away."""
    given = {id(t) for t in inputs}
    dirty = {id(t): t for t in ctx._gradcli_dirty}
    tensors = {i: t for i, t in enumerate(outputs) if isinstance(t, Tensor)}
    for written in ctx._gradcli_dirty:
        written._meta().version.bump()
    if dirty and dirty.keys() - map(id, tensors.values()):
        said = "Some elements marked as dirty during the forward method were not returned as"
        raise RuntimeFault("E0412", f"{said} output.", help="return what you gave to mark_dirty()")
    fixed = {i for i, t in tensors.items() if not t.dtype.differentiable}
    if ctx._gradcli_fixed:
        ctx._gradcli_placed(outputs)
        fixed.update(ctx._gradcli_fixed)
    kept: set[int] = set()
    if definition.setup_context is not None:
        kept.update(map(id, (*ctx._gradcli_to_save, *ctx._gradcli_for_forward)))
        kept &= given - dirty.keys()
    if node is not None:
        node.outputs = [
            (t.array.shape, t.dtype) if isinstance(t, Tensor) else None for t in outputs
        ]
        if len(outputs) != 1:
            node.ports = {}
        elif not tensors:
            return outputs
        else:
            node.shape, node.dtype = node.outputs[0]
        if not ctx._materialize_non_diff_grads:
            node.fixed = frozenset(fixed)
    pure = vars(ctx).get("_is_pure_view", False)
    if pure and (len(outputs) > 1 or len(inputs) > 1):
        raise RuntimeFault(
            "E0412",
            "Pure view custom Function can only have one input Tensor and one output Tensor. Open "
            "an issue if you need to support more.",
        )
    made: dict[int, tuple[int, Tensor]] = {}
    results = list(outputs)
    # What was written to comes first: its views follow it, and then have places of their own.
    ordered = sorted(tensors, key=lambda i: id(tensors[i]) not in dirty) if dirty else tensors
    for number in ordered:
        t = tensors[number]
        flows = node is not None and number not in fixed
        if id(t) in kept and (flows or not t.requires_grad):
            said = "An input that has been returned as-is as output is being saved for backward."
            said += " This is not supported if you override setup_context."
            mend = "return and save a view of the input, x.view_as(x), or set up ctx in forward"
            raise RuntimeFault("E0412", said, help=mend)
        out = _placed(node, number, t, id(t) in given, id(t) in dirty, flows, len(outputs))
        if out.meta is not None and out.meta.base is not None and id(t) not in dirty:
            if not pure:
                alone = node is None or len(tensors.keys() - fixed) < 2
                out.meta.made = FUNCTION if alone else "several"
            elif out.edge.__class__ is not Severed:  # else made where nothing is recorded
                out.meta.made = None
        if flows and out is t:
            made[id(t)] = (number, out)
        results[number] = out
    to_save, ctx._gradcli_dirty = ctx._gradcli_to_save, ()  # whose place is at ctx's node: a cycle
    if node is not None:
        ctx._gradcli_to_save = ()
        node.saved = Store(to_save, made)
        mark(node)
    return results


def _placed(
    node: Any, number: int, t: Tensor, is_input: bool, is_dirty: bool, flows: bool, count: int
) -> Tensor:
    """One output as the caller gets it: itself, or for a returned input a view of it."""
    if is_dirty and is_input:
        if not flows:
            return t if t.edge is None else t.detach()
        check_writable(t, ())
        if inplace.share_memory(t.own_array()):
            raise inplace.written_twice()
        if t.meta.base is not None and count > 1:
            said = "If your Function modifies inplace an input that is a view of another Tensor,"
            said += " your Function cannot return more than one Tensor."
            mend = "give the function x.clone(), or return the written tensor alone"
            raise RuntimeFault("E0412", said, help=mend)
        settle(t, node.port(number))
        t.grad = None  # PyTorch forgets what was kept
        take_into_base(t)
        return t
    if is_dirty and flows and t._is_view():
        said = "ctx.mark_dirty() received a tensor that was not an input."
        raise RuntimeFault("E0412", said, help="mark the inputs that forward wrote to")
    if is_dirty:
        warn(
            "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, "
            "there is no need to pass it to mark_dirty()."
        )
    if is_input and not flows and t.edge is not None:
        return t.detach()
    if is_input:
        source, t = t, t._alias()
        share_memory(t, source)
    if flows:
        t.edge = node.port(number)
    elif not isinstance(place_of(t), Severed):  # a view of what requires grad does too
        t.edge = None
    return t
