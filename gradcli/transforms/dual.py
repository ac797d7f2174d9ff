"""A value that carries its tangent, and the pushforward of every operator: forward mode.

A ``Dual`` answers the operators' protocol: the primal is computed by the operator, the tangent by
the operator's kind (``ops.push_forward``) from the same rule that reverse mode reads. Primals and
tangents may be Tensors, so that forward mode is itself recorded (forward over reverse), and Duals
of a lower level, so that it nests; the level keeps the perturbations of nested calls apart.

A dual that has views, or is written to, has its tangent in memory of its own, laid out like the
primal's, so that a view of the primal is a view of the tangent. What shares memory with a tensor
that is written to with a dual becomes a dual too: see ``Dual.admit``.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from gradcli.engine.custom_function.context import Context
from gradcli.engine.custom_function.node import FunctionNode, call, pulled_by
from gradcli.engine.grad_mode import (
    current,
    enable_grad,
    mode,
    next_number,
    no_grad,
    outside_inference,
    pushing,
    transformed,
)  # fmt: skip
from gradcli.engine.graph.level_detach import within
from gradcli.engine.graph.node import more
from gradcli.engine.graph.own_passes import made_by
from gradcli.engine.record.apply import through_float32
from gradcli.engine.record.composite import bottom, in_float32, version_of
from gradcli.engine.tensor.conversion import warn_of_float
from gradcli.engine.tensor.storage import References, Slots
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.ops.errors import RuntimeFault, UnwrittenFault
from gradcli.ops.operator import OPERATORS
from gradcli.ops.read import push_forward
from gradcli.transforms import memory
from gradcli.transforms.func_checks import no_real_tangent
from gradcli.transforms.levels import running
from gradcli.transforms.memory import (
    GIVEN,
    ROOT,
    movable,
    moved,
    note_promoted,
    put_back,
    zeros_beside,
)
from gradcli.transforms.reverse import accumulate_gradients, gradients
from gradcli.transforms.tracer import Layer, chain_of, paired, shares, snapshot, store, tensors_of
from gradcli.transforms.tree import over

MADE = "_gradcli_made"
"""Attribute: the number that a node would have that was made with the dual, in a transform."""


class Dual(Layer):
    """A primal with a tangent of its shape."""

    __slots__ = ()
    batch = False
    primal = Layer.content
    tangent: Any = Slots.edge  # type: ignore[attr-defined]

    def __init__(self, primal: Any, tangent: Any, level: int) -> None:
        self.primal = primal
        self.tangent = tangent
        self.__gradcli_rank__ = level
        self.aliases = None
        if level in running.values:
            running.values[level].note(self)
        if transformed.by:
            self.__dict__[MADE] = transformed.number()

    def components(self) -> tuple:
        """The primal and the tangent."""
        return self.primal, self.tangent

    def around(self, content: Any) -> Dual:
        """Another primal with the same tangent; not with memory that may be written to."""
        tangent = self.tangent if self.aliases is None else OPERATORS["clone"](self.tangent)
        return Dual(content, tangent, self.__gradcli_rank__)

    def over(self, change: Callable[[Any], Any]) -> Dual:
        """The dual of the changed primal and the changed tangent."""
        primal = change(self.primal)
        with self.recorded([self.primal]):
            return Dual(primal, change(self.tangent), self.__gradcli_rank__)

    def recorded(self, primals: Sequence[Any]) -> Any:
        """A context in which the tangent is computed: ``linearize`` records it under ``no_grad``.

        Forward mode knows no ``no_grad``, and what ``linearize`` gives is read from a graph. Where
        ``primals`` are in one, of a transform inside or around, it notes what that may not see.
        """
        level = self.__gradcli_rank__
        if level not in running.linear or mode.grad:
            return nullcontext()
        if any(t.edge is not None for p in primals for t in tensors_of(p)):
            running.linear[level] = True
        return enable_grad()

    def __gradcli_apply__(self, op: Any, args: tuple, params: dict) -> Any:
        level = self.__gradcli_rank__
        primals, tangents = _split(args, level)
        if level not in pushing:
            return op(*primals, **params)
        if op.halves == "many" and through_float32(op, primals):
            return in_float32(lambda *w: op(*w, **params), "", *args)
        linear = op.kind == "linear" and tangents[0] is not None
        out = op(*primals, **params)
        if not getattr(getattr(out, "dtype", None), "differentiable", True):
            return out
        if linear and shares(out, primals[0]):
            return args[0]._view(op, out, params)
        if current().inference:  # which knows no tangents but those of views
            return out
        _unshare(args, primals, tangents)
        with self.recorded(primals):
            tangent = push_forward(op, _met(op, primals, out), tangents, out, params)
            if tangent is None and op.recorded and op.kind == "constant":
                tangent = OPERATORS["zeros_like"](out)  # a step has a tangent, as it has a gradient
            tangent = _in_type(tangent, out)
        for arg in args:
            if tangent is not None and is_dual(arg, level) and arg.aliases is not None:
                # Not the memory of a tangent that may be written to.
                tangent = OPERATORS["clone"](tangent) if shares(tangent, arg.tangent) else tangent
        return _joined(out, tangent, level)

    def __gradcli_function__(self, definition: Any, args: tuple, made: Any = None) -> Any:
        """A custom function, by its own jvp."""
        level = self.__gradcli_rank__
        primals, _ = _split(args, level)
        made = over(lambda v: v.primal if is_dual(v, level) else v, made)
        if level not in pushing:
            return call(definition, tuple(primals), made=made)
        if level in running.linear:  # what jvp gives need not be linear: at each push
            running.linear[level] = True
        start = next_number()
        ctx = Context()
        result = call(definition, tuple(primals), ctx=ctx, made=made)
        several = isinstance(result, tuple)
        outputs = result if several else (result,)
        if getattr(definition, "jvp", None) is None:
            raise UnwrittenFault(
                "E0412",
                "You must implement the jvp function for custom autograd.Function to use it with "
                "forward mode AD.",
                help="write @staticmethod def jvp(ctx, *tangents): ...",
            )
        sources = [_source(out, args, primals, level) for out in outputs]
        for source in sources:
            if source is not None:
                source.own()  # what shares its memory has a tangent that shares the tangent's
        _check_later(outputs, start, level)
        pushed = _by_jvp(definition, ctx, args, primals, outputs, level)
        joined = [
            _placed(out, t, source, args, primals, level)
            for out, t, source in zip(outputs, pushed, sources, strict=True)
        ]
        return tuple(joined) if several else joined[0]

    # -- views and writes ------------------------------------------------------------------------

    def own(self) -> None:
        """Have the tangent in memory of its own, laid out like the primal's."""
        if self.aliases is None:
            (tangent,) = zeros_beside([self.primal], self.tangent)
            with enable_grad():  # only the memory changes, whoever asks for a view
                store(tangent, self.tangent)
            for new, old in paired(tangent, self.tangent):
                if old.edge is not None and not old.edge.leaf and new.shape == old.shape:
                    new.edge = old.edge  # one place, also where its own memory comes late
            self.tangent = tangent
            self.aliases = References.of(self)

    def take_tangent(self) -> None:
        """Let the tangent be that of a dual which is written to: the user's own where that is laid
        out like the primal, so that he sees the writes, else a copy that is."""
        self.__dict__[ROOT] = None  # what the caller's tensor is to it has no tangent
        primal, tangent = bottom(self.primal), bottom(self.tangent)
        around, batches = list(chain_of(self.primal)), list(chain_of(self.tangent))
        if not isinstance(tangent, Tensor):
            return  # traced values have no memory
        levels = [v.__gradcli_rank__ for v in batches if v.batch]
        if len(levels) == len(batches) and levels == [v.__gradcli_rank__ for v in around]:
            if _alike(primal, tangent):
                self.aliases = References.of(self)
            else:
                self.own()

    def note_given(self) -> None:
        """Note where in the graph begins what is computed from a tangent that is in it itself."""
        given = self.tangent
        if any(t.edge is not None for t in tensors_of(given)):
            with enable_grad():
                self.tangent = OPERATORS["reshape"](given, given.shape)
            self.__dict__[GIVEN] = self.tangent, given
            nodes = running.given.setdefault(self.__gradcli_rank__, weakref.WeakSet())
            for t in tensors_of(self.tangent):
                if t.edge is not None:
                    nodes.add(t.edge)
                    more(t.edge).params["begins"] = True

    def given(self) -> Any:
        """The tangent: the object that ``make_dual`` was given where it is that.

        A later write to the primal writes to it. In memory of its own it is where it was in a
        graph.
        """
        alias, given = self.__dict__.get(GIVEN, (None, None))
        if alias is self.tangent:
            return given
        before = self.tangent
        alone = not any(isinstance(part, Layer) for part in self.components())
        if self.aliases is None:
            self.own()
            if alone:
                self.tangent.edge = before.edge
        return self.tangent

    def _view(self, op: Any, primal: Any, params: dict) -> Any:
        with outside_inference():
            self.own()
        with self.recorded([self.primal]):
            tangent = op(self.tangent, **params)
        return self.note_view(Dual(primal, tangent, self.__gradcli_rank__))

    def write(self, value: Any) -> None:
        """Write a primal and a tangent; what has none is constant, its tangent zero.

        Inference mode knows no tangents: there, as in PyTorch, the one that was stays.
        """
        level = self.__gradcli_rank__
        parts: tuple = value.components() if is_dual(value, level) else (value, 0)
        primal, tangent = parts
        if level not in pushing or current().inference:
            store(self.primal, primal)
            return
        self.own()
        if is_dual(tangent, level):  # what is written to was that of the value
            tangent = OPERATORS["clone"](tangent.primal)
        store(self.primal, primal)
        with self.recorded([self.primal]):
            store(self.tangent, tangent)

    def admit(self, target: Any, data: Any = None) -> None:
        """Make a dual of ``target`` and of all that shares its memory, with tangents of zero.

        The objects stay the same, so that every name for one of them has the tangent:

            y = zeros(2); v = y[1:]; v += d     v and y are duals of d's level

        Raises RuntimeFault (E0412) where there is ``.data`` of them, but for the ``data`` that is
        written to: a transform inside of the level made it, and it would have the tangent too.
        """
        members = movable(target, self)
        level = self.__gradcli_rank__
        tangents = zeros_beside(members, self.tangent)
        aliases = References()
        outer = getattr(memory.memory_of(target).meta, "outer", None)
        inside = not self._innermost()
        metas = (t.meta for member in members for t in tensors_of(member)) if inside else ()
        shown = (v for m in metas for v in References(getattr(m, "shown", ())).alive())
        if any(v is not data for v in shown):
            raise memory.no_data("what there is `.data` of")
        if outer is not None and inside:  # of ``.data``: what that is of has one too
            if len(members) > 1 or isinstance(target, Layer):
                raise memory.no_data("a view of `.data`")
            if not is_dual(outer, level):
                self.admit(outer, target)
            tangents = [data_within(outer.tangent, made_by(None))]
        for member, primal, tangent in zip(members, moved(members), tangents, strict=True):
            member.__class__ = Dual
            member.__init__(primal, tangent, level)
            member.aliases = aliases
            aliases.note(member)
            if len(aliases) > 1:
                member.__dict__[ROOT] = members[0]
            note_promoted(member, primal, level)

    # -- what it is ------------------------------------------------------------------------------

    @property
    def shape(self) -> Any:
        """The primal's shape, which its tangent has too."""
        return self.primal.shape

    def each_of(self, function: Callable, args: tuple, options: dict) -> Any:
        """``function``, for each element where there is a batch inside, else NotImplemented."""
        inner = getattr(self.primal, "each_of", None)
        return NotImplemented if inner is None else inner(function, args, options)

    def put_at(self, target: Any, index: Any, value: Any) -> None:
        """``target[index] = value`` where part of the index is this: its primal is what counts."""
        target[self._primals(index)] = value

    def pick_from(self, source: Any, index: Any) -> Any:
        """``source[index]`` where part of the index is this: its primal is what counts."""
        return source[self._primals(index)]

    def _primals(self, index: Any) -> tuple:
        return tuple(
            _split(index if isinstance(index, tuple) else (index,), self.__gradcli_rank__)[0]
        )

    def __gradcli_grad__(self, *asked: Any) -> tuple:
        return gradients(*asked)

    def __gradcli_backward__(self, *asked: Any) -> None:
        accumulate_gradients(*asked)

    def __gradcli_like__(self, create: Callable, *value: Any, **options: Any) -> Any:
        return create(self.primal, *value, **options)

    def detach(self) -> Any:
        """The primal alone, outside the graph."""
        return self.primal.detach()

    @property
    def data(self) -> Any:
        """The primal alone, in the same memory; in a transform that was given it, without graph."""
        level, made = self.__gradcli_rank__, self.__dict__.get(MADE, 0)
        inside = transformed.by[running.dual.get(level, 0) :]
        home = next((t for t in reversed(inside) if t.since is not None and (
            t.level == level or made > t.since or t.is_given(self))), None)  # fmt: skip
        if home is None or home.level == level:
            return self.primal.data if level in running.dual else data_within(self.primal, home)
        self.own()
        return _alone(self.over(lambda part: data_within(part, home)))

    @data.setter
    def data(self, value: Any) -> None:
        self.primal.data = value.primal if is_dual(value, self.__gradcli_rank__) else value

    def _innermost(self) -> bool:
        """Whether nothing but the level of this tangent, and maps, runs inside of it."""
        level = self.__gradcli_rank__
        inner = [t for t in transformed.by[running.dual.get(level, 0) :] if t.since is not None]
        return not inner or inner[-1].level == level

    # -- in ``forward_ad.dual_level``, and where its level ended, a dual is a tensor like others ---

    def _as_primal(self) -> bool:
        """Whether what is no operator is the primal's: not in the function that ``jvp`` runs."""
        level = self.__gradcli_rank__
        return level in running.dual or level not in pushing

    @property
    def grad(self) -> Any:  # type: ignore[override]
        """The primal's gradient, after ``backward()`` in a dual level."""
        return self.primal.grad if self._as_primal() else None

    @grad.setter
    def grad(self, value: Any) -> None:
        self.primal.grad = value

    @grad.deleter
    def grad(self) -> None:
        self.primal.grad = None

    @property
    def array(self) -> Any:
        """The primal's numbers, which a pass adds to where this is a gradient."""
        return self.primal.array

    @array.setter
    def array(self, numbers: Any) -> None:
        self.primal.array = numbers

    def _meta(self) -> Any:
        return bottom(self)._meta()

    @property
    def _base(self) -> Any:
        """That of the primal, with its tangent where it has one."""
        base, root = self.primal._base, self.__dict__.get(ROOT)
        return base if root is None or root.primal is not base else root

    def note_view(self, view: Layer) -> Any:
        """``view``, noted to share this value's memory."""
        view.__dict__[ROOT] = self.__dict__.get(ROOT, self)
        return super().note_view(view)

    def _require(self, requires_grad: bool) -> Any:
        tensor: Any = self.primal if self._as_primal() else super()
        tensor._require(requires_grad)
        return self

    def register_hook(self, hook: Callable) -> Any:
        """As Layer's; where its level has ended, the primal's."""
        running_on = self.__gradcli_rank__ in pushing
        return super().register_hook(hook) if running_on else self.primal.register_hook(hook)

    def retain_grad(self) -> None:
        """The primal's, in a dual level."""
        if not self._as_primal():
            return super().retain_grad()
        self.primal.retain_grad()
        running.hooked.append(self.frozen())

    def _leave_graph(self) -> Any:
        """Have no tangent, and no graph, from here on. Raises RuntimeFault (E0409) for a view."""
        primal = self.primal
        if not self._innermost():
            primal._leave_graph(), self.tangent._leave_graph()
            return self
        if self.__gradcli_rank__ in running.dual:
            primal._leave_graph()
        elif ROOT in self.__dict__:  # of the caller's tensor, whose graph a write would not reach
            return super()._leave_graph()
        if len(list(self.sharing())) > 1:  # views of it keep their tangents
            (self.tangent,) = zeros_beside([primal], self.tangent)
        else:
            put_back(self, primal)
        return self

    def __float__(self) -> float:
        warn_of_float()
        return float(self.primal)

    def __repr__(self) -> str:
        if self.__gradcli_rank__ in running.dual:
            from gradcli.engine.printing import with_tail  # most commands print no tensor

            return with_tail(repr(self.primal), f"tangent={self.tangent}")
        return super().__repr__() if self.__gradcli_rank__ in pushing else repr(self.primal)


def _of_primal(name: str, always: bool = False) -> Callable[..., Any]:
    """A method that is the primal's, ``always`` or where ``_as_primal`` says so, else Layer's."""

    def method(self: Dual, *args: Any, **options: Any) -> Any:
        tensor = self.primal if always or self._as_primal() else super(Dual, self)
        return getattr(tensor, name)(*args, **options)

    method.__name__, method.__doc__ = name, f"As Tensor's ``{name}``, of the primal."
    return method


for _name in ("numpy", "data_ptr", "storage", "untyped_storage", "__deepcopy__", "__reduce_ex__"):
    setattr(Dual, _name, _of_primal(_name))
for _name in ("item", "tolist", "__bool__", "__int__", "__format__"):  # numbers
    setattr(Dual, _name, _of_primal(_name, always=True))


def is_dual(value: Any, level: int) -> bool:
    """Whether ``value`` carries a tangent of this level."""
    return value.__class__ is Dual and value.__gradcli_rank__ == level


def _alike(primal: Tensor, tangent: Tensor) -> bool:
    """Whether two tensors of one shape lie alike in memories of one size."""
    if not primal.array.size:
        return True
    return (
        primal.dtype is tangent.dtype
        and primal.is_conj() == tangent.is_conj()
        and primal.stride() == tangent.stride()
        and primal.storage_offset() == tangent.storage_offset()
        and primal.untyped_storage().nbytes() == tangent.untyped_storage().nbytes()
    )


def _split(args: Sequence[Any], level: int) -> tuple[list, list]:
    own = [is_dual(a, level) for a in args]
    primals = [
        a.primal if mine else a.item() if isinstance(a, np.generic) else a
        for a, mine in zip(args, own, strict=True)
    ]  # NumPy's numbers count as Python's, which widen no tangent
    return primals, [a.tangent if mine else None for a, mine in zip(args, own, strict=True)]


def _is_recorded(primals: list, tangents: list) -> bool:
    """Whether a graph may save one of the values."""
    values = (v for v in (*primals, *tangents) if isinstance(v, Tensor))
    return any(isinstance(v, Layer) or v.edge is not None for v in values)


def _unshare(args: Sequence[Any], primals: list, tangents: list, kept: Sequence[Any] = ()) -> None:
    """Copy tangents, but of ``kept``: a later write to one is none to what a graph saves of it."""
    for i, (arg, tangent) in enumerate(zip(args, tangents, strict=True)):
        held = (
            tangent is None or arg.aliases is None or any(shares(out, primals[i]) for out in kept)
        )
        if not held and _is_recorded(primals, tangents):
            tangents[i] = snapshot(tangent, write=False)


def _met(op: Any, primals: Sequence[Any], out: Any) -> Sequence[Any]:
    """The primals in the type of floats that ``op`` computed in: rules are for that alone."""
    if op.kind != "elementwise" or op.dtypes not in ("float", "promote") or out.is_complex():
        return primals
    return [a.to(out.dtype) if isinstance(a, Tensor) and not a.is_complex() else a for a in primals]


def _in_type(tangent: Any, out: Any) -> Any:
    """``tangent`` in the element type of ``out``, which constants may have made wider."""
    have, want = getattr(tangent, "dtype", None), getattr(out, "dtype", None)
    if have is want or have is None or want is None or (have.is_complex and not want.is_complex):
        return tangent
    return tangent.to(want)


def _joined(out: Any, tangent: Any, level: int) -> Any:
    if tangent is None:
        return out
    if tuple(tangent.shape) != tuple(out.shape):
        tangent = OPERATORS["expand"](tangent, tuple(out.shape))
    return Dual(out, tangent, level)


# ---- Custom functions ----------------------------------------------------------------------------


def _source(out: Any, args: Sequence[Any], primals: Sequence[Any], level: int) -> Any:
    """The dual whose memory the output of a custom function has, None where there is none."""
    if not isinstance(out, Tensor):
        return None
    return next(
        (a for a, p in zip(args, primals, strict=True) if is_dual(a, level) and shares(out, p)),
        None,
    )


def _by_jvp(
    definition: Any, ctx: Context, args: Sequence[Any], primals: list, outputs: tuple, level: int
) -> tuple:
    """The function's own jvp; ``ctx`` is that of its forward, but where that saw other levels."""
    if any(isinstance(p, Layer) for p in primals):
        ctx = Context()
        result = outputs if len(outputs) != 1 else outputs[0]
        if definition.setup_context is None:
            result = definition.forward(ctx, *primals)
        else:
            with no_grad():  # as forward was run
                definition.setup_context(ctx, tuple(primals), result)
        ctx._gradcli_placed(result if isinstance(result, tuple) else (result,))
    tangents = _split(args, level)[1]
    _unshare(args, primals, tangents, [out for out in outputs if isinstance(out, Tensor)])
    if ctx._gradcli_materialize:
        tangents = [
            OPERATORS["zeros_like"](p)
            if t is None and isinstance(p, Tensor) and p.dtype.differentiable
            else t
            for p, t in zip(primals, tangents, strict=True)
        ]
    versions = [version_of(t) for t in tangents]
    ctx._gradcli_pushing = True
    try:
        pushed = definition.jvp(ctx, *tangents)
    finally:
        ctx._gradcli_pushing = False
        ctx._gradcli_pushed(True)
    pushed = pushed if isinstance(pushed, tuple) else (pushed,)
    name, fixed = definition.__name__, ctx._gradcli_fixed
    if len(pushed) != len(outputs):
        raise _refused(
            f"A jvp function returned an incorrect number of forward gradients: {name} has "
            f"{len(outputs)} outputs, its jvp gave {len(pushed)}"
        )
    for i, (out, t) in enumerate(zip(outputs, pushed, strict=True)):
        follows = isinstance(out, Tensor) and out.dtype.differentiable and i not in fixed
        if not follows and t is not None:
            raise _refused(
                f"Function's jvp returned a forward gradient at position {i}, but the "
                "corresponding forward output is not a differentiable Variable. You should return "
                "None at that position instead."
            )
        fits = isinstance(t, Tensor) and t.dtype.differentiable and t.shape == out.shape
        if follows and not fits:
            given = (t.dtype, tuple(t.shape)) if isinstance(t, Tensor) else type(t).__name__
            raise _refused(
                f"the jvp of {name} must return floats of shape {tuple(out.shape)}, got {given}",
                "return one forward gradient for each output, in its shape",
            )
        if follows:
            no_real_tangent(out, t)
        for arg, p, given, version in zip(args, primals, tangents, versions, strict=True):
            if is_dual(arg, level) and p is out and version_of(given) == version:
                raise _refused(f"{_IN_PLACE} modifying the forward mode gradients inplace. {_THEN}")
            if is_dual(arg, level) and p is out and t is not given:
                raise _refused(f"{_IN_PLACE} returning the forward mode gradients as-is. {_THEN}")
    return pushed


def _check_later(outputs: Sequence[Any], start: int, level: int) -> None:
    """Have the nodes of custom functions behind ``outputs``, made since ``start``, checked."""
    found = [t.edge for out in outputs if isinstance(out, Tensor) for t in tensors_of(out)]
    seen = set()
    while found:
        edge = found.pop()
        node = getattr(edge, "node", edge)  # one output of several
        if node is None or node in seen or node.seq < start:
            continue
        seen.add(node)
        found += node.edges
        if isinstance(node, FunctionNode):
            node.definition = _Checked(node, level)


class _Checked:
    """A custom function at a node inside a level of tangents.

    A gradient there has its tangent from the transpose of the function's jvp, in the place of its
    backward's derivative: these are one only where the backward is that transpose. In a direction v
    that is checked: <backward(g), v> is <g, jvp(v)>.
    """

    boxed_grads_call = False

    def __init__(self, node: FunctionNode, level: int) -> None:
        self.definition, self.level = node.definition, level
        self.arguments, self.edges = node.arguments, node.edges
        self.__name__ = node.definition.__name__

    def __getattr__(self, name: str) -> Any:
        return getattr(self.definition, name)

    def backward(self, ctx: Any, *given: Any) -> Any:
        """The user's. Raises RuntimeFault (E0412) where the numbers differ."""
        found = pulled_by(self.definition, ctx, list(given))
        if self.level in running.pulling:
            along, edges = [], iter(self.edges)
            for argument in self.arguments:
                along.append(_direction(argument, next(edges)) if argument else None)
            returned = found if isinstance(found, tuple) else (found,)
            one, most = _product(returned, along)
            other, size = _product(given, self.pushed(ctx, along))
            most = (size + most) * np.finfo(np.asarray(other).dtype).eps ** 0.6
            if np.any(np.isfinite(most) & (np.abs(one - other) > most)):
                said = f"the backward of {self.__name__} is not the transpose of its jvp, so that a"
                mend = "take the derivative of the gradient in reverse mode: jacrev, vjp, grad"
                said += " tangent of its gradient is not known"
                raise RuntimeFault("E0412", said, help=mend)
        return found

    def pushed(self, ctx: Any, along: list) -> tuple:
        """What the user's jvp makes of a direction."""
        ctx._gradcli_pushing = True
        try:
            with no_grad():
                found = self.definition.jvp(ctx, *along)
        finally:
            ctx._gradcli_pushing = False
        return found if isinstance(found, tuple) else (found,)


def _direction(argument: Any, edge: Any) -> Any:
    """A tangent in no special direction; zeros for what nothing is differentiated by."""
    shape, dtype = argument
    if not dtype.differentiable:
        return None
    places = np.arange(1, 1 + math.prod(shape), dtype=np.float64).reshape(shape)
    if edge is None:
        places *= 0
    return wrap((np.sin(places) * (1 - 0.5j if dtype.is_complex else 1)).astype(dtype.numpy), dtype)


def _product(cotangents: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The real part of the sum of all products, and of their sizes, for each element of batches."""
    total: Any = 0.0
    size: Any = 0.0
    for g, t in zip(cotangents, tangents, strict=False):
        if isinstance(g, Tensor) and t is not None:
            parts = np.conj(bottom(g).array) * bottom(t).array
            own = tuple(range(-max(len(g.shape), len(t.shape)), 0))
            total, size = total + parts.real.sum(own), size + np.abs(parts).sum(own)
    return total, size


def data_within(value: Any, transform: Any) -> Any:
    """``value`` in the same memory, out of the graph of this transform alone."""
    if not isinstance(value, Layer):
        return value._alias(within(value.edge, transform))._data_of(value)
    if not value.batch:
        value.own()
    return _alone(value.over(lambda part: data_within(part, transform)))


def _alone(value: Any) -> Any:
    """``value``, which shares memory, and not what is written to it at higher levels."""
    value.aliases = References.of(value)
    return value


_IN_PLACE = "An inplace custom Function is not"
_THEN = (
    "If the forward is modifying an input inplace, then the jvp function must modify the "
    "corresponding gradient inplace and return it as-is."
)


def _refused(said: str, help: str | None = None) -> RuntimeFault:
    return RuntimeFault("E0411", said, help=help)


def _placed(
    out: Any, t: Any, source: Any, args: Sequence[Any], primals: Sequence[Any], level: int
) -> Any:
    """One output with its tangent: an input that was written to, a view of one, or a new value."""
    if t is None:
        return out
    written = next((a for a, p in zip(args, primals, strict=True) if p is out), None)
    if written is not None:
        if not is_dual(written, level):  # it has no tangent yet
            store(written, Dual(snapshot(out), t, level))
        return written
    if source is None:
        return _joined(out, t, level)
    if t is source.tangent or not shares(t, source.tangent):
        viewed = bottom(source.tangent)._is_view()
        which = "" if not bottom(t)._is_view() or t is source.tangent else (
            " of the same base as the given grad input" if viewed else " of the given grad input"
        )  # fmt: skip
        raise _refused(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is "
            f"not returning a view{which}."
        )
    return source.note_view(Dual(out, t, level))
