"""What a function that a transform runs may not write to: the tensors that it captures.

``func.grad`` and its like make values of their own of a function's arguments. A tensor that the
function finds elsewhere (in its closure, among its module's names, in an object that it belongs to)
is shared with everybody else, so that a write to it would leave a trace of the transform there.
PyTorch refuses such a write, and so does this.

Nothing is looked for before the first write: most functions have none.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from gradcli.engine.grad_mode import Transform, transformed
from gradcli.engine.record.composite import bottom, is_batch
from gradcli.engine.tensor.storage import ARGUMENT, Slots
from gradcli.engine.tensor.tensor import Plain, Tensor
from gradcli.ops.errors import RuntimeFault

_MOST = 2000
"""How many values are looked at: enough for the names of a function and of those that it calls."""


def refuse_captured(target: Any) -> None:
    """Raise RuntimeFault (E0412) where a function of a transform writes to what it captures."""
    if not transformed.by:
        return
    transformed.taken += 1  # a trace has no instruction for what is not refused
    while (outer := getattr(getattr(target, "meta", None), "outer", None)) is not None:
        target = outer  # what it is the data of
    for transform in reversed(transformed.by):
        own = any(_same_memory(target, t, own=True) for t in transform.arguments)
        if own:
            _refuse_followed(transform, target)
        elif _made_inside(transform, target):
            return
        # What was detached from an argument is that, though the same memory is captured too.
        given = own or any(_same_memory(target, t) for t in transform.arguments)
        function = transform.function
        if function is not None and any(_same_memory(target, t, given) for t in captured(function)):
            said = "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted"
            said += " to call in-place operation that would mutate a captured Tensor."
            mend = "make the tensor an argument of the function, or write to a clone() of it"
            raise RuntimeFault("E0412", said, help=mend)
        if own:
            return


Tensor._refuse_captured = refuse_captured


def _made_inside(transform: Transform, target: Any) -> bool:
    """Whether ``target`` was computed in what runs: the function gave it a name, as ``self.h``."""
    if transform.since is None:
        return False
    if transform.level is not None and getattr(target, "__gradcli_rank__", 1) >= transform.level:
        return True
    base = bottom(target)
    edge = base.edge if base.meta is None or base.meta.base is None else base.meta.base.edge
    return edge is not None and not edge.leaf and edge.seq in transform.so_far()


def _refuse_followed(transform: Transform, target: Any) -> None:
    """Refuse a write to an argument in whose memory is one that a transform differentiates by:
    that has its place in graphs around, and its tangent, from before."""
    for t in transform.arguments if transform.level is None else ():
        linked = t.meta is not None and t.meta.made == ARGUMENT
        dual = t is not bottom(t) and not is_batch(t)
        around = linked or (dual and getattr(bottom(t).edge, "leaf", False))
        if around and _same_memory(target, t) and not _same_memory(target, t, own=True):
            said = "a write to an argument in the memory of one that is differentiated by"
            raise RuntimeFault("E0412", said, help="write to a clone() of it")


def _same_memory(target: Any, other: Any, own: bool = False) -> bool:
    """Whether ``target`` is ``other`` or a view of it; or, unless ``own``, a detached twin."""
    if target is other:
        return True
    if not (isinstance(target, Plain) and isinstance(other, Plain)):
        aliases = None if isinstance(target, Plain) else target.aliases
        same = aliases is not None and aliases is getattr(other, "aliases", None)
        if own or same:
            return same
        target, other = bottom(target), bottom(other)
    meta, its = target.meta, other.meta
    if meta is None or its is None:
        return False
    return meta.base is other or (meta.version is its.version and not own)


def captured(function: Any) -> Iterator[Any]:
    """The tensors, and what stands for one, that a function can reach by its names.

    Not those in lists and dicts, or in a tuple that an object has: the function may have put them
    there itself. What it lent to a module is not captured for that, but where it has it from such a
    list or dict.
    """
    work: list[Any] = [function]
    seen: set[int] = set()
    lent = {id(value) for value in transformed.lent}
    while work and len(seen) < _MOST:
        value = work.pop()
        if id(value) in seen or isinstance(value, type | ModuleType | str | int | float):
            continue
        seen.add(id(value))
        if isinstance(value, Slots):
            yield value
        elif isinstance(value, FunctionType):
            work += _names(value)
        elif isinstance(value, MethodType):
            work += [value.__self__, value.__func__]
        elif isinstance(value, functools.partial):
            work += [value.func, *value.args, *value.keywords.values()]
        elif hasattr(value, "__dict__"):
            for held in vars(value).values():  # a module has dicts of parameters, buffers, modules
                parts: Any = held.values() if isinstance(held, dict) else (held,)
                parts = (p for p in parts if lent or not isinstance(p, tuple))
                work += [part for part in parts if id(part) not in lent]
        elif isinstance(value, tuple):  # as of ``def outer(*a)``
            work += value
        elif lent and isinstance(value, dict | list):
            parts = value.values() if isinstance(value, dict) else value
            yield from (part for part in parts if id(part) in lent)


def _names(function: FunctionType) -> Iterator[Any]:
    """What the names in a function's text, that of functions inside included, stand for."""
    if (function.__module__ or "").partition(".")[0] == "gradcli":  # a transform of another one
        yield from (v for _, v in cells_of(function) if callable(v))
        return
    yield from (v for _, v in cells_of(function))
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    names = function.__globals__
    for code in codes_of(function.__code__):
        yield from (names[name] for name in code.co_names if name in names)


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of all functions inside."""
    work = [code]
    while work:
        one = work.pop()
        yield one
        work += [part for part in one.co_consts if isinstance(part, CodeType)]


def cells_of(function: FunctionType) -> Iterator[tuple[CellType, Any]]:
    """The cells of a function's closure that have a content, and that."""
    for cell in function.__closure__ or ():
        try:
            yield cell, cell.cell_contents
        except ValueError:  # not assigned yet
            continue
