"""What a function that a transform runs may not write to: the tensors that it captures.

``func.grad`` and its like make values of their own of a function's arguments. A tensor that the
function finds elsewhere (in its closure, among its module's names, in a list) is shared with
everybody else, so that a write to it would leave a trace of the transform there. PyTorch refuses
such a write, and so does this: what a function may write to is what it was given, and what was made
while it ran. That is known by a mark, which tensors have that are made inside transforms.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from gradcli.engine.grad_mode import Transform, transformed
from gradcli.engine.record.composite import bottom, is_batch
from gradcli.engine.tensor.storage import ARGUMENT, Slots
from gradcli.engine.tensor.tensor import Plain, Tensor
from gradcli.ops.errors import RuntimeFault

_MOST = 2000
"""How many values are looked at: enough for the names of a function and of those that it calls."""


def refuse_captured(target: Any, numbers: bool = True) -> None:
    """Raise RuntimeFault (E0412) where a function of a transform writes to what it captures: its
    ``numbers``, or its place in the graph alone."""
    if not transformed.by:
        return
    transformed.taken += 1  # a trace has no instruction for what is not refused
    own = bottom(target)
    while (outer := getattr(getattr(target, "meta", None), "outer", None)) is not None:
        target = outer  # what it is the data of
    version = bottom(target)._meta().version
    base = own if own._meta().base is None else own.meta.base
    for place, transform in reversed([*enumerate(transformed.by)]):
        if transform.function is None or transform.holds(version.begun):
            continue
        if any(_is_of(target, argument) for argument in transform.arguments):
            if numbers:
                _refuse_followed(transform, target, version)
        # What was detached from an argument is that, though the same memory is captured too.
        elif not (_is_from(transform, base) and _in_memory(transform.arguments, version)):
            raise _mutates()
        if numbers:
            _refuse_given(transform, version, any(t.since for t in transformed.by[:place]))


def _mutates() -> RuntimeFault:
    said = "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call "
    said += "in-place operation that would mutate a captured Tensor."
    mend = "make the tensor an argument of the function, or write to a clone() of it"
    return RuntimeFault("E0412", said, help=mend)


def _is_from(transform: Transform, tensor: Tensor) -> bool:
    """Whether the object that stands for some memory was made inside."""
    recorded = tensor.edge is not None and not tensor.edge.leaf
    return transform.holds(tensor.edge.seq if recorded else getattr(tensor, "_begun", None))


def _in_memory(values: Iterable[Any], version: Any) -> bool:
    metas = (bottom(value).meta for value in values)
    return any(meta is not None and meta.version is version for meta in metas)


Tensor._refuse_captured = refuse_captured


def _refuse_followed(transform: Transform, target: Any, version: Any) -> None:
    """Refuse a write to an argument in whose memory is one that a transform differentiates by:
    that has its place in graphs around, and its tangent, from before."""
    for t in transform.arguments if transform.level is None else ():
        linked = t.meta is not None and t.meta.made == ARGUMENT
        dual = t is not bottom(t) and not is_batch(t)
        around = linked or (dual and getattr(bottom(t).edge, "leaf", False))
        if around and _in_memory((t,), version) and not _is_of(target, t):
            said = "a write to an argument in the memory of one that is differentiated by"
            raise RuntimeFault("E0412", said, help="write to a clone() of it")


def _refuse_given(transform: Transform, version: Any, nested: bool) -> None:
    """Refuse a write to an argument in reverse mode that is captured too: graphs and tangents
    around would have to follow under the captured name, those of the transform not."""
    if transform.level is not None:
        return
    for t in captured(transform.function, deep=True):
        outside = nested or t is not bottom(t) or t.edge is not None
        if outside and _in_memory((t,), version) and not _is_from(transform, bottom(t)):
            raise _mutates()


def _is_of(target: Any, argument: Any) -> bool:
    """Whether ``target`` is an argument or a view of it, inside levels of further transforms."""
    while True:
        if target is argument:
            return True
        if isinstance(target, Plain):
            base = None if target.meta is None else target.meta.base
            return base is not None and base is argument
        if target.aliases is not None and target.aliases is getattr(argument, "aliases", None):
            return True
        target = target.content


def captured(function: Any, deep: bool = False) -> Iterator[Any]:
    """The tensors, and what stands for one, that a function can reach by its names; those in lists
    and dicts only if ``deep``."""
    work: list[Any] = [function]
    seen: set[int] = set()
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
                work += held.values() if isinstance(held, dict) else (held,)
        elif isinstance(value, tuple):  # as of ``def outer(*a)``
            work += value
        elif deep and isinstance(value, dict | list | set):
            work += value.values() if isinstance(value, dict) else value


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
