"""Writing in place: ``x += y``, ``x.mul_(2)``, ``x[i] = v``.

The tensor keeps its memory and gets a new node; the version counter, which views and detached twins
share, goes up, so that a node which saved the old value can tell.

    before   x --edge--> A          after x.mul_(y)   x --edge--> mul --> A
                                                                   `----> y
"""

from __future__ import annotations

import contextlib
import weakref
from typing import Any

import numpy as np

from gradcli.engine.dtypes import dtype_of, float16
from gradcli.engine.grad_mode import current, inference_mode, mode, transformed
from gradcli.engine.graph.level_detach import following
from gradcli.engine.graph.node import AccumulateGrad, keeps_result, more
from gradcli.engine.graph.torch_names import shown_name
from gradcli.engine.graph.view_edges import BrokenOff, output_name, refusal
from gradcli.engine.record.apply import QUIET, apply, record
from gradcli.engine.record.captures import refuse_captured
from gradcli.engine.record.composite import bottom, called, in_graph, runs_once
from gradcli.engine.record.index_writes import count_write
from gradcli.engine.record.whole_numbers import held
from gradcli.engine.tensor.conj_view import in_memory
from gradcli.engine.tensor.conversion import tell_of_lost_parts
from gradcli.engine.tensor.stale_view import LateView, StaleView, cut, follow_later, place_of
from gradcli.engine.tensor.storage import ARGUMENT, Meta, Version
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.engine.undo_log import note_write, owner_of, undo
from gradcli.ops.conversion import without_bounds
from gradcli.ops.dims import unraveled
from gradcli.ops.errors import RuntimeFault, bad_dtype, bad_type
from gradcli.ops.indexing import Apart, is_basic, write
from gradcli.ops.memory_budget import LARGE, budget, charge_shape
from gradcli.ops.operator import OPERATORS, Operator
from gradcli.ops.torch_messages import kind_of, no_cast, no_room


def write_result(target: Tensor, op: Operator, *others: Any, **params: Any) -> Tensor:
    """``target`` becomes ``op(target, *others, **params)``, in its own memory; returns ``target``.

    Raises RuntimeFault: E0408 (a leaf that requires grad), E0409 (entries that share memory), E0301
    and E0309 (the result does not fit the target).
    """
    if transformed.by:
        refuse_captured(target)
    elif _written_shortly(target, op, others, params):
        return target
    for operand in (*others, target):  # the target in Tensor.abs_(what stands for one)
        if getattr(operand, "__gradcli_rank__", 0) > 1:
            result: Tensor = operand.__gradcli_write__(target, op, others, params)
            return result
    check_writable(target, others)
    old = _before_write(target)
    if mode.saving:
        _keep_apart(old)  # a hook gets what will still be there
    params = {**op.params, **params}
    result, before = apply(op, (old, *others), params), old.edge
    if before is not target.edge and result.edge is not None:
        # A second gradient goes by hooks of a view.
        more(result.edge).past = (target.edge, *result.edge.edges[1:])
        for value in (old, *getattr(result.edge.saved, "entries", ())):
            if getattr(value, "edge", None) is before:
                value.edge = target.edge
    if result.array.shape != target.array.shape:
        room = target.array.shape
        raise no_room(room, result.array.shape, operands=((0, f"shape {room}"),))
    if op.arity == 1 and result.dtype.kind == 2 < target.dtype.kind:
        mend = f"write x = x.{op.name}()"
        raise bad_dtype(f"In-place {op.name} is not supported for complex tensors.", help=mend)
    if result.dtype.kind > target.dtype.kind:
        raise no_cast(result.dtype, target.dtype, "write x = x * y, or make x a float tensor first")
    saved = () if mode.saving or result.edge is None else result.edge.saved or ()
    if any(getattr(value, "meta", None) is old.meta for value in saved):  # also in another type
        _keep_apart(old)
    if result.dtype is not target.dtype:
        name = None if result.edge is None else shown_name(result.edge)
        result = result.to(target.dtype)
        if result.edge is not None:
            more(result.edge).params["called"] = name
    if mode.saving:  # an operand may be what is written to
        note_write(target.own_array())
    try:
        np.copyto(target.own_array(), in_memory(target, result.array), casting="unsafe")
        return _after_write(target, result, before)
    except BaseException:
        _break_off(target, result)
        raise


def _break_off(target: Tensor, *others: Any) -> None:
    """After a write that an interrupt, or want of memory, broke off: whoever saved ``target`` sees
    it, and a gradient through what was to be recorded is an error."""
    target._meta().version.bump()
    if target.dtype.kind < 2:
        count_write(target.own_array())
    edges = tuple([bottom(v).edge for v in (target, *others) if in_graph(v)])
    if current().grad and edges:
        root = target if target.meta.base is None else target.meta.base
        for tensor in (root, target, *views_of(root)):
            tensor.edge = BrokenOff(tensor, edges)


def _keep_apart(old: Tensor) -> None:
    """Keep what a target was, which a rule reads, outside the memory that is written to."""
    old.array = old.own_array().copy()
    then, old.meta.version = old.meta.version.number, Version()
    old.meta.version.number = then


def _written_shortly(
    target: Tensor, op: Operator, others: tuple[Any, ...], params: dict[str, Any]
) -> bool:
    """Write ``op(target, *others, **params)`` where nothing is recorded and nobody else looks on.

    That is what a training step does to its parameters. False where the long way is needed, and
    where that has something to say against the write.
    """
    dtype, x = target.dtype, target.array
    if not _is_alone(target) or not op.entrywise or len(params) != len(op.params):
        return False
    for value in params.values():
        if value.__class__ is not float and value.__class__ is not int:
            return False
    recorded = target.edge is not None
    raw = []
    for other in others:
        kind = other.__class__
        if kind is Tensor:
            if other.dtype is not dtype:
                return False
            recorded = recorded or other.edge is not None
            raw.append(other.array)
        elif kind is float or kind is int:
            raw.append(other)
        else:
            return False
    if current().grad and recorded:
        return False
    if budget.on and x.size > LARGE:
        return False
    try:
        found = op.compute(x, *raw, **params)
    except (ValueError, OverflowError, *QUIET):
        return False
    if found.shape != x.shape or found.dtype != x.dtype:
        return False
    if undo.on:
        note_write(x)
    target._meta().version.bump()  # first, since an interrupt may come between
    x[...] = found
    return True


def _is_alone(target: Tensor) -> bool:
    """Whether ``target`` is an ordinary array that no other tensor sees a write to."""
    meta, x = target.meta, target.array
    if meta is not None and (
        meta.base is not None or meta.inference or _twins(target)
        or (meta.views and any(view() is not None for view in meta.views))
    ):  # fmt: skip
        return False
    if current().inference or not target.dtype.quick or x.__class__ is not np.ndarray:
        return False
    return bool(x.flags.c_contiguous and x.flags.writeable)


def _put_shortly(target: Tensor, index: Any, value: Any) -> bool:
    """``put_item`` where nothing is recorded and nobody else looks on, as ``_written_shortly``."""
    kind = value.__class__
    if target.edge is not None or not _is_alone(target):
        return False
    if kind is Tensor:
        raw, x = value.array, target.array
        if value.dtype is not target.dtype or (value.edge is not None and current().grad):
            return False
        if raw.__class__ is not np.ndarray or np.may_share_memory(x, raw):
            return False
    elif kind is float or kind is int:
        raw = target.dtype.entry(value)
    else:
        return False
    if undo.on:
        note_write(target.array, index if is_basic(index) and index is not Ellipsis else None)
    version = target._meta().version
    version.bump()  # first, since an interrupt may come between
    try:
        write(target.array, index, raw)
    except Exception:
        version.number -= 1
        raise
    return True


def set_item(target: Tensor, index: Any, value: Any, **known: Any) -> Tensor:
    """``target[index] = value``, recorded where either side is in the graph; returns ``target``.

    What is ``known``: ``one_number`` tells that every entry gets it: then some may share their
    memory. ``computed`` tells that ``value`` was computed of ``target``, for all of which it
    stands: so does its node. ``name`` is PyTorch's for the node of the write.
    """
    if transformed.by:
        refuse_captured(target)
    elif target.__class__ is Tensor and _put_shortly(target, index, value):
        return target
    if getattr(value, "__gradcli_rank__", 0) > 1:
        value.__gradcli_put__(target, index)
    elif isinstance(target, Plain):
        put_item(target, index, value, **known)
    else:
        target[index] = value
    return target


def put_item(
    target: Tensor, index: Any, value: Any, one_number: bool = False, computed: bool = False,
    name: str | None = None,
) -> None:  # fmt: skip
    """``set_item`` of a value that has no level, wherever the target comes from."""
    part = index is not Ellipsis and is_basic(index)
    try:
        check_writable(target, (value,), through_view=part)
    except RuntimeFault:
        if part:  # what is wrong with the index comes first
            OPERATORS["getitem"].compute(target.own_array(), index)
        raise
    if (part or index is Ellipsis) and isinstance(value, Plain):
        written = target.own_array()[index]
        # A value that is spread over more entries has none that is written before it is read.
        if isinstance(written, np.ndarray) and written.size == np.size(value.array):
            if mode.rebinds:
                value = read_first(target, value)
            else:
                _refuse_overlap(written.squeeze(), value.own_array().squeeze())
    if part and share_memory(target.own_array()):
        # A part may well be written to, and whoever reads the memory sees it.
        set_item(apply(OPERATORS["getitem"], (target,), {"index": index}), Ellipsis, value)
        return
    # A number at some places is what those hold, whoever shares their memory; not so in a graph.
    here = index is not Ellipsis and isinstance(value, int | float | complex) and not target.edge
    old = _before_write(target, one_number or here, index if part else None)
    kind = value.__class__
    if kind in (np.float64, np.complex128):  # NumPy's numbers that are Python's too
        value = value.item()
        kind = value.__class__
    plain = (kind is float or kind is int) and not 0 <= value < 128  # every type holds the others
    # An assignment to float16 makes what it does not hold inf, as in PyTorch.
    if kind is complex or (plain and (target.dtype is not float16 or one_number)):
        value = target.dtype.entry(value)
    raw = value
    if isinstance(value, Plain):
        raw = value.array
        tell_of_lost_parts(value.dtype, target.dtype)
    if not isinstance(value, int | float | bool | complex | Plain):
        if not isinstance(value, list | np.ndarray | np.generic):
            said = f"can't assign a {kind_of(value)} to a gradcli.{target.dtype.scalar_name}Tensor"
            raise bad_type(said, help="a tensor or a number can stand on the right")
        value = wrap(found := np.asarray(value), dtype_of(found))
        raw = value.array
    elif isinstance(raw, np.generic):  # NumPy refuses a number out of range, and wraps an array
        raw = np.asarray(raw)
    if target.dtype.kind == 1 and isinstance(raw, np.ndarray) and current().exact:
        held("put", raw.astype(target.dtype.numpy), without_bounds(raw, target.dtype.numpy))
    written = False
    try:
        write(target.own_array(), index, in_memory(target, raw))
        written = True
        twin = target._alias(value.edge if computed else None)
        if twin.edge is None and current().grad and target.dtype.differentiable:
            record(OPERATORS["put"], [old, value], {"index": index, "onward": False}, twin)
            if name is not None:
                called(twin, name)
            if index is not Ellipsis:
                runs_once(twin)
        _after_write(target, twin, old.edge)
    except BaseException as fault:
        if written or not isinstance(fault, Exception):  # else it was refused
            _break_off(target, value)
        raise


def overtake(target: Tensor) -> None:
    """After ``target`` came to be another view of its memory: other views read the base anew, and
    those that cannot follow end here."""
    base = target if target.meta.base is None else target.meta.base
    for twin in _twins(base):
        _overtaken(twin)
    if base.edge is None:
        _overtaken(base)
        return
    for view in views_of(base):
        if view.meta.made is not None:
            cut(view)
        elif (view is not target or not current().grad) and not (_is_leaf(view) or _is_leaf(base)):
            if not transformed.by and view.__class__ in (Tensor, LateView):
                follow_later(view, base._alias(base.edge))
            else:
                _read_again(view, base)


def rewrite(target: Tensor) -> Tensor:
    """``target`` written with what it holds: a new node, a new version, the same numbers."""
    check_writable(target, ())
    meta = target._meta()
    base = target if meta.base is None else meta.base
    if current().grad and base.edge is not None:
        settle(base, called(OPERATORS["clone"](base), "CopyBackwards").edge)
        take_into_base(base)
    meta.version.bump()
    return target


def check_writable(target: Tensor, others: tuple[Any, ...], through_view: bool = False) -> None:
    """Raise RuntimeFault (E0408, E0409, E0415) where ``target`` may not be written to.

    ``others`` are the operands of the write.
    """
    if target.meta is not None and not target.meta.counted and not current().inference:
        said = "Inplace update to inference tensor outside InferenceMode is not allowed."
        mend = "You can make a clone to get a normal tensor before doing inplace update."
        more = "See https://github.com/pytorch/rfcs/pull/17 for more details."
        raise RuntimeFault("E0415", said, help=mend, torch=f"{said}{mend}{more}")
    if not current().grad:
        return
    base = None if target.meta is None else target.meta.base
    argument = _of_argument(target)
    root = target if base is None else base
    if mode.watching:  # what the target is the data of may be one
        argument = argument or _of_argument(getattr(root.meta, "outer", None))
    leaf = "a leaf Variable that requires grad is being used in an in-place operation."
    if argument or (base is None and target.edge.__class__ is AccumulateGrad):
        told = f"a view of {leaf}" if through_view or base is not None else None
        mend = "write x = x + 1, or change it inside no_grad()"
        raise RuntimeFault("E0408", leaf, help=mend, torch=told)
    if base is None:
        return
    recorded = any(map(in_graph, (base, target, *others)))
    if recorded and target.meta.made is not None:
        raise refusal(target.meta.made, output_name(place_of(target)), "is being modified inplace")
    if base.edge is not None and not isinstance(base.own_array(), np.ndarray):
        said = "on this device an in-place write to a view of a tensor in the graph is not recorded"
        mend = "write to the base by index (x[0] = v), or build the new tensor with where or cat"
        raise RuntimeFault("E0409", said, help=mend)
    rested = base.edge is None and target.edge is not None  # turned off since
    if rested or AccumulateGrad in (base.edge.__class__, target.edge.__class__):
        mend = "write to a clone() of the leaf, or change it inside no_grad()"
        raise RuntimeFault("E0408", f"a view of {leaf}", help=mend)
    if recorded and share_memory(base.own_array()):
        raise written_twice()  # the graph follows a write to all of such a base alone


def _of_argument(tensor: Any) -> bool:
    """Whether a tensor is what a transform differentiates by, or a view of it that is recorded."""
    meta = getattr(tensor, "meta", None)
    if meta is None or meta.base is None:
        return meta is not None and meta.made == ARGUMENT
    return meta.made is None and meta.base.meta.made == ARGUMENT


def overlap(target: Tensor, *others: Any, apart: bool = False) -> None:
    """Raise RuntimeFault (E0409) where a write would read, elsewhere, what it has written.

    In the same place too where ``apart``: entries that an index names are written to others.
    """
    for other in others if isinstance(target, Plain) else ():
        if isinstance(other, Plain) and (apart or other is not target):
            _refuse_overlap(target.array, other.array, apart)


def read_first(target: Any, value: Any, apart: bool = False) -> Any:
    """``value``, which is about to be written to ``target``: in a program without tensors a copy
    where they share memory, as NumPy reads all of it first. Raises RuntimeFault (E0409)."""
    if not mode.rebinds:
        overlap(target, value, apart=apart)
    elif value is not target and isinstance(value, Plain) and isinstance(target, Plain):
        shared = owner_of(target.own_array()) is owner_of(value.own_array())
        return OPERATORS["clone"](value) if shared else value
    return value


def _refuse_overlap(written: Any, read: Any, apart: bool = False) -> None:
    if (
        np.may_share_memory(written, read)
        and (apart or not _same_places(written, read))
        and dense(written)
        and dense(read)
    ):
        which = "some elements of the input tensor and the written-to tensor refer to"
        raise _shared_memory(which)


def _shared_memory(which: str) -> RuntimeFault:
    said = f"unsupported operation: {which} a single memory location"
    cure = "Please clone() the tensor before performing the operation."
    return RuntimeFault("E0409", said, help=cure, torch=f"{said}. {cure}")


def _same_places(a: Any, b: Any) -> bool:
    if a.shape != b.shape:
        return False
    if a.strides != b.strides and any(
        s != t and n != 1 for n, s, t in zip(a.shape, a.strides, b.strides, strict=True)
    ):
        return False
    return a is b or a.__array_interface__["data"][0] == b.__array_interface__["data"][0]


def dense(a: Any) -> bool:
    """Whether entries fill their memory without gaps, in whatever order of dimensions."""
    step = a.itemsize
    for stride, n in sorted(zip(a.strides, a.shape, strict=True)):
        if n != 1:
            if stride != step:
                return False
            step *= n
    return True


def written_twice() -> RuntimeFault:
    """The error of a write where several entries lie in one place."""
    return _shared_memory("more than one element of the written-to tensor refers to")


def _before_write(target: Tensor, one_number: bool = False, index: Any = None) -> Tensor:
    """What the target was: its memory, graph place and version before the write.

    ``one_number`` everywhere may be written where entries share memory, too. ``index`` is where it
    is written, if that is a basic index.
    """
    array = target.own_array()
    shared = share_memory(array)
    if not array.flags.writeable and array.base is not None:
        # NumPy protects what diagonal and expand give, PyTorch does not. Memory that its owner
        # protects stays so.
        with contextlib.suppress(ValueError):
            array.setflags(write=True)
    if not array.flags.writeable or (shared and not one_number):
        raise written_twice()
    if undo.on:
        note_write(array, index)
    old = target._alias(edge_before_write(target))
    old.meta = Meta(target._meta().version)
    return old


def edge_before_write(target: Tensor) -> Any:
    """Where in the graph comes from what ``target`` holds, which is about to be written to.

    A write to a view passes by hooks of the view, by the function that gave a pure one, and by what
    ``as_strided`` was given, which need not show all that it shows.
    """
    edge = target.edge
    base = target.meta.base if target.meta is not None else None
    if base is None or base.edge is None or edge is None or not current().grad:
        return edge
    begins = edge.extra is not None and "begins" in edge.extra.params  # no user's, and no way past
    if (mode.watching and not begins) or edge.foreign or _leads_elsewhere(edge, base.edge):
        old = target._alias(edge)
        _read_again(old, base)
        return old.edge
    return edge


def _leads_elsewhere(edge: Any, end: Any) -> bool:
    """Whether between a view and its base there is an ``as_strided`` of other entries."""
    while edge is not None and edge is not end and edge.edges:
        if edge.extra is not None and "elsewhere" in edge.extra.params:
            return True
        edge = edge.edges[0]
    return False


def share_memory(array: Any) -> bool:
    """Whether some entries lie in one place: those of ``expand``, or of windows that overlap."""
    if array.flags.c_contiguous or array.size < 2:
        return False
    reach = 0
    for step, n in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True)):
        if n > 1:
            if step < reach + array.itemsize:
                return not step or np.unique(addresses(array)).size < array.size
            reach += step * (n - 1)
    return False


def _after_write(target: Tensor, result: Tensor, before: Any) -> Tensor:
    """``target`` takes the place in the graph of ``result``; ``before`` is that of what it was."""
    meta = target._meta()
    meta.version.bump()
    if target.dtype.kind < 2:
        count_write(target.array)
    edge = result.edge
    if edge is not None:
        settle(target, edge)
        if keeps_result(edge):
            extra = more(edge)
            # Of a view the count alone: through its base the node would hold itself.
            extra.out_meta = meta if meta.base is None else Meta(meta.version)
            extra.versions = (*(extra.versions or (0,) * len(edge.saved))[:-1], meta.version.number)
    root = target if meta.base is None else meta.base
    if current().grad:
        take_into_base(target, onward=before is not None and before in target.edge.edges)
        if edge is not None and root is not target and not getattr(edge.op, "by_index", None):
            more(edge).out_edge = weakref.ref(target.edge)
    elif root is not target or meta.views:
        _overtaken(root)
    if mode.watching:
        _tell_of_data(root)
    for twin in _twins(root):
        _overtaken(twin)
    return target


def count_unseen_write(target: Tensor) -> None:
    """Note a write that was not recorded."""
    meta = target._meta()
    meta.version.bump()
    root = target if meta.base is None else meta.base
    for base in (root, *_twins(root)):
        _overtaken(base)


def _tell_of_data(root: Tensor) -> None:
    """After a write inside nested transforms to the memory of ``root``: for those around the
    innermost, ``x`` and ``x.data`` are one; for that one, each stays what it was."""
    done, work = {id(root)}, [root]

    def follow(tensor: Any, written: Tensor) -> None:
        tensor = bottom(tensor)  # it may have been written to with a tangent since
        base = tensor if tensor._meta().base is None else tensor.meta.base
        edge = following(tensor.edge, written.edge)
        if id(base) not in done and edge is not tensor.edge:
            tensor.edge = edge
            take_into_base(tensor)
            done.add(id(base))
            work.append(base)

    while work:
        root = work.pop()
        if (outer := getattr(root.meta, "outer", None)) is not None:
            follow(outer, root)
        for member in (root, *views_of(root)):
            for reference in getattr(member.meta, "shown", ()):
                if (data := reference()) is not None:
                    follow(data, member)


def _twins(root: Tensor) -> list[Tensor]:
    """What ``root`` was detached from, and that from it, where it has views: these see a write."""
    found = []
    for reference in root.meta.version.twins or ():
        twin: Any = bottom(reference())  # it may have been written to with a tangent since
        if twin is not None and twin is not root and twin.meta is not None and twin.meta.views:
            found.append(twin)
    return found


def _overtaken(base: Tensor) -> None:
    """After a write that was not recorded, the views of ``base`` read it anew, or cannot."""
    off, views = base.edge is None, views_of(base)
    if off and (base._flips or all(map(_is_leaf, views))):
        for view in views:
            view.meta.overtaken = True
        return
    if off:  # taken out of the graph since: gradients end here, or at the leaf that it may become
        meta = base._meta()
        meta.resting = getattr(meta, "resting", None) or AccumulateGrad(base)
        base = base._alias(meta.resting)
    for view in views:
        if not (off and _is_leaf(view)):
            _renew(view, base)


def _renew(view: Tensor, base: Tensor) -> None:
    """After a write, a view in the graph reads ``base`` anew, or cannot."""
    if view.meta.made is not None:
        cut(view)
    elif view.edge is not None:
        _read_again(view, base)


Tensor._renew = _renew


def _is_leaf(tensor: Tensor) -> bool:
    edge = place_of(tensor) if isinstance(tensor, StaleView) else tensor.edge  # which raises
    return edge is None or edge.__class__ is AccumulateGrad


def views_of(base: Tensor) -> list[Tensor]:
    """The views of ``base`` that are still referred to."""
    found = [reference() for reference in getattr(base.meta, "views", None) or ()]
    # One that has no meta was laid out anew since: it is a view no more.
    return [view for view in found if view is not None and view.meta is not None]


def settle(target: Tensor, edge: Any) -> None:
    """Give ``target`` a new node, whose gradient ``retain_grad()`` keeps: that is the tensor's."""
    kept = target.meta.kept if target.meta is not None else None
    if kept is not None and edge is not None:
        if (node := kept.node()) is not None:
            node.extra.kept = None
        kept.move(edge)
    target.edge = edge


def take_into_base(target: Tensor, onward: bool = False) -> None:
    """Where a view, or a tensor that has views, was written to: the base and all views follow.

    ``onward`` tells that what was written was computed from what stood there.
    """
    meta = target.meta
    if meta.base is not None or meta.views:
        _rebase(target, target if meta.base is None else meta.base, onward)


def _rebase(target: Tensor, base: Tensor, onward: bool) -> None:
    """After a write, the base takes in the view that was written, and all views read from it anew.

    before  base --> A              after  base --> put --> A
            view --> getitem --> A                    `---> mul --> getitem --> A
            view.mul_(2)                   view --> getitem --> put
    """
    if base.edge is None and target.edge is None:
        _overtaken(base)
        return
    if target is not base:
        one_node = base.edge, target.edge
        written, whole = _held(target._alias(target.edge)), _held(base._alias(base.edge))
        if paired := written.dtype.is_complex is not whole.dtype.is_complex:
            written, whole = _as_parts(written), _as_parts(whole)
        room = _indexed(whole, written)
        found = room._alias()
        places = {"index": places_in(written, room), "onward": onward}
        record(OPERATORS["put"], [room, written], places, found)
        found = found if room is whole else _reshaped(found, ())
        if paired and base.dtype.is_complex:
            found = _of_parts(found)
        found = called(_flipped(found) if base._flips else found, "CopySlices")
        if found.edge is not None:
            more(found.edge).params["written"] = one_node
        settle(base, runs_once(found).edge)
    now = base._alias(base.edge)
    for view in views_of(base):
        if view.meta.made is not None:
            cut(view)
        elif not transformed.by and view.__class__ in (Tensor, LateView):
            follow_later(view, now)
        else:
            _read_again(view, now)


def _held(x: Tensor) -> Tensor:
    """What the memory of ``x`` holds, as recorded from ``x``."""
    return _flipped(x) if x._flips else x


def _flipped(x: Tensor) -> Tensor:
    """The conjugates or negatives of ``x`` as recorded, around the same memory."""
    out = wrap(x.own_array(), x.dtype)
    record(OPERATORS["conj" if x.dtype.is_complex else "neg"], [x], {}, out)
    return out


@inference_mode(False)
def _read_again(view: Tensor, base: Tensor) -> None:
    """A new place for ``view``, which reads its entries from ``base`` as that is now, recorded even
    where nothing else is: parts of complex numbers first, conjugates and negatives last."""
    source, found = base, wrap(view.own_array(), view.dtype)
    turns = base._flips is not view._flips
    if paired := view.dtype.is_complex is not base.dtype.is_complex:
        source, found, turns = _as_parts(_held(base)), _as_parts(found), view._flips
    if (turns or paired) and _same_places(found.array, source.own_array()):
        found = source
    else:
        whole = _indexed(source, found)
        try:
            record(OPERATORS["getitem"], [whole], {"index": places_in(found, whole)}, found)
        except RuntimeFault:
            if paired:
                raise
            record_entries(found, whole)
        called(found, "AsStridedBackward0")
    if paired and view.dtype.is_complex:
        found = _of_parts(found)
    settle(view, (_flipped(found) if turns else found).edge)


LateView.read_again = staticmethod(_read_again)


def record_entries(out: Tensor, input: Tensor) -> None:
    """Record ``out`` as entries picked from ``input``.

    As in PyTorch it is a function of what ``input`` shows, and entries that lie elsewhere in memory
    are none of it. Where several entries of ``input`` lie in one place, each has a share in it.
    """
    charge_shape((10 * input.array.size + 4 * out.array.size,))  # places, sorted and counted
    here, there = addresses(input.own_array()), addresses(out.array)
    known, first, places, counts = np.unique(
        here, return_index=True, return_inverse=True, return_counts=True
    )
    at, seen = np.searchsorted(known, there), np.isin(there, known)
    if known.size == here.size and seen.all():
        source = input if input.ndim else OPERATORS["reshape"](input, (1,))
        where = unraveled(first[at], source.shape)
    else:
        shares = counts[places.reshape(here.shape)].astype(input.dtype.numpy)
        # A last place, of which nothing is known, stands for all that lies elsewhere.
        shape = (known.size + 1,)
        source = OPERATORS["scatter"](
            input / wrap(shares, input.dtype), shape, places.reshape(here.shape)
        )
        where = (np.where(seen, at, known.size),)
    apart = np.unique(there).size == there.size and known.size == here.size
    record(OPERATORS["getitem"], [source], {"index": Apart(where) if apart else where}, out)
    if out.edge is not None and not seen.all():
        more(out.edge).params["elsewhere"] = True


def _indexed(base: Tensor, view: Tensor) -> Tensor:
    """``base``; a number of which ``view`` shows several entries as one that an index can name."""
    shape = base.own_array().shape
    return base if shape or view.own_array().size == 1 else _reshaped(base, (1,))


def _reshaped(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    out = wrap(x.own_array().reshape(shape), x.dtype)
    record(OPERATORS["reshape"], [x], {"shape": shape}, out)
    return out


def _as_parts(x: Tensor) -> Tensor:
    """Real numbers as they are, complex ones as a last dimension of two: in the memory of ``x``."""
    if not x.dtype.is_complex:
        return x
    parts: Tensor = OPERATORS["stack"](OPERATORS["real"](x), OPERATORS["imag"](x), dim=-1)
    parts.array = x.own_array()[..., None].view(parts.array.dtype)
    return called(parts, "ViewAsRealBackward0", x)  # type: ignore[no-any-return]


def _of_parts(parts: Tensor) -> Tensor:
    """The complex numbers of two parts along the last dimension."""
    pick = OPERATORS["getitem"]
    halves = [pick(parts, (Ellipsis, i)) for i in (0, 1)]
    made: Tensor = called(OPERATORS["of_parts"](*halves), "ViewAsComplexBackward0", parts)
    return made


def places_in(view: Tensor, base: Tensor) -> tuple[Any, ...]:
    """The index that reads the entries of ``view`` from ``base``.

    Raises RuntimeFault (E0409) where ``base`` has come to show less: see ``as_strided_``.
    """
    if not base.own_array().ndim:
        return (None,) * view.ndim
    seen, known = view.own_array(), base.own_array()
    steps = zip(seen.shape, seen.strides, known.shape, known.strides, strict=False)
    # Dimensions of which both repeat one memory, as those of batches do: row by row.
    rows = [k for k, (n, s, m, t) in enumerate(steps) if n == m > 1 and s == t == 0]
    first = (*(0 if k in rows else slice(None) for k in range(max(rows, default=-1) + 1)), ...)
    seen, known, sizes = seen[first], known[first], seen.shape
    try:
        places: Any = unraveled(_positions(seen, known), known.shape)
    except ValueError:
        said = "a view shows entries of its base's memory that the base no longer shows"
        mend = "clone() the view before as_strided_() of its base"
        raise RuntimeFault("E0409", said, help=mend) from None
    if rows:
        places = [np.expand_dims(place, rows) for place in places]
        for k in rows:
            places.insert(k, np.indices(sizes, sparse=True)[k])
        places = (*np.broadcast_arrays(*places),)
    return places if share_memory(seen) else Apart(places)


def _positions(view: np.ndarray, base: np.ndarray) -> np.ndarray:
    """For each entry of ``view`` its place in the flattened ``base``, by their addresses."""
    here = addresses(view)
    if base.flags.c_contiguous:
        return np.asarray((here - base.__array_interface__["data"][0]) // base.itemsize)
    there = addresses(base).ravel()
    order = np.argsort(there)
    places = np.searchsorted(there, here, sorter=order).clip(max=there.size - 1)
    found: np.ndarray = order[places]
    if not np.array_equal(there[found], here):
        raise ValueError
    return found


def addresses(array: np.ndarray) -> np.ndarray:
    """Where each entry lies in memory."""
    start = np.asarray(array.__array_interface__["data"][0])
    steps: Any = np.indices(array.shape, sparse=True)
    return np.asarray(sum((i * s for i, s in zip(steps, array.strides, strict=True)), start))
