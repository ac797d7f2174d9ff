"""Memory that values of one level more need: beside that of the values they are made of.

A value that is written to with one of a higher level (a tangent it lacks, a batch it is not part
of) becomes one itself, and so does whatever shares its memory. The objects stay the same, so that
every name for one of them sees the write:

    y = zeros(2); v = y[1:]; v += d        y and v are duals of d's level from here on
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.engine import Tensor
from gradcli.engine.grad_mode import enable_grad, end_pushing
from gradcli.engine.graph.node import AccumulateGrad
from gradcli.engine.record.apply import note_view
from gradcli.engine.record.composite import bottom
from gradcli.engine.record.inplace import check_writable, share_memory, views_of
from gradcli.engine.tensor.conj_view import ConjView
from gradcli.engine.tensor.stale_view import StaleConjView, StaleView, place_of
from gradcli.engine.tensor.storage import References, Slots, Version
from gradcli.engine.tensor.tensor import Plain, wrap
from gradcli.ops.errors import RuntimeFault
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS
from gradcli.transforms.levels import running
from gradcli.transforms.tracer import (
    Layer,
    chain_of,
    memory_of,
    operands_of,
    rank_of,
    store,
    tensors_of,
)

ROOT = "_gradcli_root"
"""Attribute of a view: the dual that it is a view of."""
GIVEN = "_gradcli_given"
"""Attribute: the tangent that stands for one that was given in a graph, and that one."""
_MOVABLE = (Tensor, ConjView, StaleView, StaleConjView)
_new = object.__new__
_SLOTS = [getattr(Slots, name) for name in Slots.__slots__ if not name.startswith("__")]


def sharing(value: Any) -> list:
    """All that shares the memory of ``value``, itself among them; a base before its views."""
    if isinstance(value, Layer):
        return list(value.sharing())
    base = memory_of(value)
    views = None if base.meta is None else base.meta.views
    return [base, *(views.alive() if views else ())]


def movable(target: Any, value: Any) -> list:
    """All that shares the memory of ``target``, about to be written to with ``value``.

    Raises RuntimeFault where it may not be written to, or cannot become what it has to.
    """
    if isinstance(target, Plain):
        check_writable(target, (value,))
    duals = running.duals(value.__gradcli_rank__)
    inside = {id(dual.content) for dual in duals}  # which have tangents of their own already
    members = [member for member in sharing(target) if id(member) not in inside]
    for member in members:
        _ = isinstance(member, Plain) and member.edge  # a late view's is made before it moves
        if isinstance(member, Plain) and member.__class__ not in _MOVABLE:
            said = f"a {member.__class__.__name__} is written to with a value of a transform"
            raise RuntimeFault("E0409", said, help="write to a clone() of it")
    if value.batch and hasattr(memory_of(target).meta, "outer"):
        raise no_data("`.data`")
    return members


def no_data(what: str) -> RuntimeFault:
    """The error of a write that what it is the data of could not follow."""
    said = f"{what} is written to with a value of a transform around"
    return RuntimeFault("E0412", said, help="write to a clone() of it")


def zeros_beside(members: Sequence[Any], like: Any) -> list:
    """Zeros for each of ``members``, that share memory with each other as the members do.

    Strides are the members' too, so that what is a view of a member is a view of its zeros. They
    are batches where the members are, and where ``like`` is: what will be written there.
    """
    wanted = {v.__gradcli_rank__: v for v in operands_of(like) if v.batch}
    paths = [{v.__gradcli_rank__: v for v in chain_of(member) if v.batch} for member in members]
    arrays = [bottom(member).own_array() for member in members]
    if not all(isinstance(array, np.ndarray) for array in arrays):
        return [OPERATORS["zeros_like"](member) for member in members]
    bounds = [np.lib.array_utils.byte_bounds(array) for array in arrays]
    low, high = min(b[0] for b in bounds), max(b[1] for b in bounds)
    item = max(array.itemsize for array in arrays)
    extent = -(-(high - low) // item) * item or item
    laid = []
    largest = extent
    for own, array in zip(paths, arrays, strict=True):
        levels = sorted({**wanted, **own}.items())
        sizes = [batch.count for _, batch in levels]
        inner = iter(zip(array.shape, array.strides, strict=True))
        dims = [next(inner) if level in own else (batch.count, 0) for level, batch in levels]
        strides, far = [], extent
        for n, stride in dims:
            strides.append(stride or far)
            far *= 1 if stride else n
        for n, stride in inner:
            # An expanded primal is the same along a dimension, its tangent need not be; but what is
            # a view of another member is one there too.
            spread = not stride and len(members) == 1
            strides.append(far if spread else stride)
            far *= n if spread else 1
        laid.append((sizes, levels, strides))
        largest = max(largest, far)
    charge_shape((largest,), 1)
    memory = np.zeros(largest, np.uint8)
    found = []
    aliases: dict[int, References] = {}
    root = None
    if len(members) > 1 and not isinstance(members[0], Plain):
        dtype = bottom(members[0]).dtype  # nobody is sure to be alive of whom all are views
        root = wrap(memory.view(dtype.numpy), dtype)
    for member, own, array, (sizes, levels, strides) in zip(
        members, paths, arrays, laid, strict=True
    ):
        start = array.__array_interface__["data"][0] - low
        shape = (*sizes, *array.shape[len(own) :])
        zeros = np.ndarray(shape, array.dtype, memory, start, strides)
        tangent: Any = wrap(zeros, bottom(member).dtype)
        if root is None:
            root = tangent
        else:
            note_view(tangent, root)
        if bottom(member)._flips:
            tangent.__class__ = ConjView
        for level, batch in levels:
            tangent = batch.around(tangent)
            tangent.aliases = aliases.setdefault(level, References())
            tangent.aliases.note(tangent)
        found.append(tangent)
    return found


def moved(members: Sequence[Any]) -> list:
    """New objects in the places of ``members``, which are free to become something else."""
    new = {id(member): copy_slots(member, _new(member.__class__)) for member in members}
    aliases = References.of(*new.values())
    for old, value in zip(members, new.values(), strict=True):
        if isinstance(old, Layer):
            value.aliases = aliases
        elif value.meta is not None:
            if value.meta.base is not None:
                value.meta.base = new[id(value.meta.base)]
            views = views_of(value)
            for view in views:
                if id(view) not in new:
                    view.meta.base = value
            if views:
                value.meta.views[:] = [weakref.ref(new.get(id(view), view)) for view in views]
    return list(new.values())


def copy_slots(source: Any, target: Any) -> Any:
    """``target``, an object of the same class, with all that ``source`` holds."""
    for slot in _SLOTS:
        try:
            slot.__set__(target, slot.__get__(source))
        except AttributeError:  # a batch has no tangent
            continue
    return target


def put_back(value: Any, was: Any) -> None:
    """Let ``value`` be what ``was`` is, with the attributes that the user has set on it."""
    value.__class__ = was.__class__
    copy_slots(was, value)
    value.__dict__.pop(ROOT, None), value.__dict__.pop(GIVEN, None)


def note_promoted(value: Any, was: Any, level: int) -> None:
    """Note what a value was before a write made it one of ``level``: it will be that again."""
    running.promoted.setdefault(level, []).append((weakref.ref(value), was))


class _Left(Version):
    """That of the memory that a value had before a write made a batch of it: what was detached from
    the value shows that, and the batch would not see a write there."""

    __slots__ = ()

    def bump(self) -> None:
        """Raise RuntimeFault (E0412)."""
        raise no_data("what was detached from a tensor that")


def leave(was: Any, left: bool = True) -> None:
    """Refuse writes to the memory of ``was``, a value that is a batch now; or no more."""
    for tensor in tensors_of(was):
        meta = tensor._meta()
        for data in (tensor, *References(getattr(meta, "shown", ())).alive()):
            data._meta().version.__class__ = _Left if left else Version


def show_written(value: Any) -> None:
    """After a write to a batch that a write made of what was none: write to the memory that it had,
    which others may see, the first of its values, for they are all the same."""
    held = getattr(value.aliases, "shown", ())
    whole = {id(bottom(was)) for _, was in held}
    for batch, was in held:
        # A view has the memory of its base, which is written to itself; so has an expanded one.
        tensor = bottom(was)
        base = tensor.meta and tensor.meta.base
        if id(base) not in whole and not share_memory(tensor.own_array()):
            leave(was, False)
            with enable_grad():
                store(was, batch.content[0])
            leave(was)


def _without(value: Any, level: int) -> Any:
    """``value`` without the tangent or the batch of one level."""
    if value.__gradcli_rank__ == level:
        return value.content
    return value.over(lambda part: _without(part, level)) if isinstance(value, Layer) else value


def demote(level: int) -> None:
    """Where a level ends: what is part of it by a write, and lives on, is what it was before.

    So are all values of a level of ``forward_ad``: a program goes on with them as plain tensors.
    With the numbers that were written, in the memory that it had: without tangents, and of a batch
    the first, for only batches whose values are all the same are written to what is none.
    """
    running.hooked = [v for v in (_without(v, level) for v in running.hooked) if rank_of(v) > 1]
    running.given.pop(level, None)
    end_pushing((level,))
    alive = []
    seen: set[int] = set()
    promoted = [(reference(), was) for reference, was in running.promoted.pop(level, ())]
    for _, was in promoted:
        leave(was, False)
    for value, was in (*promoted, *((dual, None) for dual in running.duals(level))):
        if isinstance(value, Layer) and value.__gradcli_rank__ == level and id(value) not in seen:
            seen.add(id(value))
            alive.append((value, value.content if was is None else was))
    running.values.pop(level, None)
    back = {id(was): value for value, was in alive}
    for value, was in alive:
        put_back(value, was)

    def renew(references: list[weakref.ref] | None) -> None:
        if references:
            found = [reference() for reference in references]
            references[:] = [weakref.ref(back.get(id(v), v)) for v in found if v is not None]

    for value, was in alive:
        if isinstance(value, Layer):
            renew(value.aliases)
            continue
        edge = place_of(value)
        if edge.__class__ is AccumulateGrad and edge.owner() is was:
            edge.owner = weakref.ref(value)
        meta = value.meta
        if meta is not None:
            meta.base = back.get(id(meta.base), meta.base)
            renew(meta.views)
            if meta.base is not None:
                renew(meta.base.meta.views)
            for view in views_of(value):
                view.meta.base = value
    for noted in running.promoted.values():  # what it was may be so by a level around this one
        for i, (reference, was) in enumerate(noted):
            if id(reference()) in back:
                noted[i] = weakref.ref(back[id(reference())]), was
