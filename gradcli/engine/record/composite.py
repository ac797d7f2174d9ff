"""A composed result shown under the one name that PyTorch's own node has."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine.dtypes import float16, float32, float64
from gradcli.engine.grad_mode import mode, no_grad, transformed
from gradcli.engine.graph.node import Lasting, hooked, more
from gradcli.engine.graph.torch_names import shown_name, shown_view
from gradcli.engine.tensor.tensor import Plain, Tensor, own_meta
from gradcli.ops.dims import in_columns, in_format, in_rows, laid_as, suggested_format
from gradcli.ops.errors import RuntimeFault
from gradcli.ops.operator import OPERATORS

_FREED = frozenset(
    f"{name}Backward{number}"
    for number, names in enumerate((
        "Max Min Sort Topk Kthvalue Mode Median Nanmedian Cummax Cummin Gather Index IndexSelect "
        "Take MaskedSelect Scatter IndexFill IndexCopy IndexPut Put MaskedScatter ScatterReduce "
        "IndexReduce NllLoss NllLoss2D FftR2C ReflectionPad1D ReflectionPad2D ReflectionPad3D "
        "ReplicationPad1D ReplicationPad2D ReplicationPad3D MaxPool2DWithIndices AdaptiveMaxPool2D "
        "MaxPool3DWithIndices AdaptiveMaxPool3D FractionalMaxPool2D FractionalMaxPool3D Addcdiv "
        "AdaptiveAvgPool2D AdaptiveAvgPool3D Sgn",
        "Median Nanmedian Scatter IndexFill",
        "Div",
    ))
    for name in names.split()
)  # fmt: skip
"""Nodes that save an input or places in PyTorch, and are freed with those."""


def called(
    value: Any, name: str, *inputs: Any, leads: Any = None, view: bool = False, turned: bool = False
) -> Any:
    """``value``, whose node now shows as ``name``; what is no recorded Tensor is left alone, and a
    target that was written to where nothing is recorded.

    PyTorch has one node where gradcli composes several operators (``addcdiv`` is a sum of a
    quotient): the last of them carries the name, and points at the nodes of ``inputs`` where any
    are given: what its own kernel computes of these, but for a ``view``, is none of what it was
    composed of; one operator that takes them in another order has them ``turned``. Numbers among
    them have no place in PyTorch's node; None holds a place. ``leads`` is an input to which the
    gradient still leads where the slope does not change with it, or several, of which the first
    recorded one counts: see ``piecewise_linear``.
    """
    edge = None
    if isinstance(value, Plain):
        edge = value.edge
        if inputs and value.meta is not None and not view:
            of_its_own(value)
    if edge is not None and not edge.leaf and mode.grad:
        params = more(edge).params
        params["called"] = name
        params.pop("viewed", None)
        if turned:
            params["turned"] = True
        if name in _FREED:
            runs_once(value)
        for lead in leads if leads.__class__ is tuple else (leads,):
            if isinstance(lead, Plain) and lead.edge is not None:
                params["backward"] = f"{name[:-1]}Backward0", lead.edge
                break
        if inputs:
            params["called_on"] = tuple(
                [None if i is None else i.edge for i in inputs if i is None or isinstance(i, Plain)]
            )
    return value


def in_float32(function: Any, name: str, *operands: Any, **options: Any) -> Any:
    """``function`` of halves as PyTorch's kernels compute it: rounded once, nothing overflows."""
    wide = [v.to(float32) if getattr(v, "dtype", None) is float16 else v for v in operands]
    found = function(*wide, **options)
    edge = found.edge if isinstance(found, Plain) else None
    viewed = None if edge is None else shown_view(edge)
    name = name if viewed is None else shown_name(edge)
    rounded = called(found.to(float16), name, *operands)
    if viewed is not None:
        more(rounded.edge).params["viewed"] = viewed
    return rounded


def in_double(x: Any) -> Any:
    """``x``, of halves or singles in double precision: their powers overflow, or are 0."""
    return x.to(float64) if x.dtype in (float16, float32) else x


def named(function: Any, name: str, doc: str | None) -> Any:
    """``function``, one of several that are made alike, under a name and with a docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def reshaped(out: Any, input: Any) -> Any:
    """``out``, made of ``input`` by ``reshape``: it shows as a view, an alias or a copy."""
    if not isinstance(out, Plain) or out.edge is None:
        return out
    if out.meta is None:
        return called(out, "UnsafeViewBackward0")
    return out if input.array.flags.c_contiguous else called(out, "ReshapeAliasBackward0")


def rowwise(value: Any) -> Any:
    """``value``, a new result, laid out in rows, inside tangents and batches too."""
    if isinstance(value, Plain) and value.array.flags.c_contiguous:
        return value
    for part, _ in parts_of(value):
        if not part.array.flags.c_contiguous:
            of_its_own(part).array = in_rows(part.own_array())
    return value


def columnwise(value: Any) -> Any:
    """``value``, new matrices, laid out in columns, inside tangents and batches too."""
    for part, _ in parts_of(value):
        of_its_own(part).array = in_columns(part.own_array())
    return value


def laid_like(value: Any, like: Any) -> Any:
    """``value``, a new result, laid out as ``like``, inside tangents and batches too."""
    for (part, _), (given, batches) in zip(parts_of(value), parts_of(like), strict=False):
        if given.array.size:  # each element of a batch as it lies alone
            one = np.broadcast_to(given.array[(0,) * batches], part.array.shape)
            part.array = laid_as(part.array, one)
    return value


def parts_of(value: Any) -> list[tuple[Any, int]]:
    """The Tensors that a value is made of, primals and tangents, and how many batches each has."""
    found, work = [], [(value, 0)]
    while work:
        value, batches = work.pop()
        if isinstance(value, Plain):
            found.append((value, batches))
        elif hasattr(value, "content"):
            work.append((value.content, batches + value.batch))
            work.append((getattr(value, "tangent", None), batches))
    return found


def formatted(value: Any, *inputs: Any, gapless: bool = False, lone: bool = False) -> Any:
    """``value``, a new result of a layer, laid out as PyTorch's are: as the images in ``inputs``.

    The channels lie innermost where they do so in an input, else the result lies in rows; for
    ``gapless`` see ``suggested_format``. ``lone`` is for an image without a batch.
    """
    at = (None if lone else ...,)
    if not isinstance(value, Plain):
        alone = [p.array[(0,) * n][at] for x in inputs for p, n in parts_of(x) if p.array.size]
        formats = (suggested_format(x, gapless or lone) for x in alone)
        return value if any(f.startswith("channels") for f in formats) else rowwise(value)
    for x in inputs:
        format = suggested_format(x.array[at], gapless or lone) if isinstance(x, Plain) else ""
        if format.startswith("channels") and value.array.ndim == x.array.ndim:
            value.array = in_format(value.own_array()[at], format)[0 if lone else ...]
            value.meta = own_meta()
            return value
    return rowwise(value)


def runs_once(value: Any) -> Any:
    """``value``, whose node is freed after backward, as PyTorch's is, though it saves no tensor."""
    edge = value.edge if isinstance(value, Plain) else None
    if edge is not None and not edge.saved:
        edge.saved = tuple(edge.saved) or (None, None, None)
        if edge.step is not None and edge.op.entrywise:  # which is for such as are never freed
            edge.__class__ = _without_step(edge.__class__)
    return value


@functools.cache
def _without_step(cls: type) -> type:
    return type(cls.__name__, (cls,), {"__slots__": (), "__module__": cls.__module__, "step": None})


def lasting(value: Any) -> Any:
    """``value``, a step of a composed function whose node in PyTorch saves none: never freed."""
    if isinstance(value, Plain) and value.edge is not None:
        value.edge.saved = Lasting(value.edge.saved)
    return value


def by_element(function: Any) -> Any:
    """A function that looks at numbers: in a batch it runs once for each element."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        for value in (*args, *options.values()):
            each = getattr(value, "each_of", None)
            if each is not None and (found := each(call, args, options)) is not NotImplemented:
                return found
        return function(*args, **options)

    return call


def of_no_batch(function: Any) -> Any:
    """A function whose result has as many entries as the numbers say: refused inside ``vmap``."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        transformed.taken += 1
        return function(*(_of_no_batch(function, a) for a in args), **options)

    return call


def _of_no_batch(function: Any, value: Any) -> Any:
    """``value``, or any of its batch where all are the same: see ``Batched.alike``."""
    inner = value
    while inner.__class__ is not Tensor and hasattr(inner, "content"):
        if not inner.batch:
            inner = inner.content
            continue
        value = inner = inner.alike()
        if value is None and function.__annotations__["return"] == "bool":
            said = f"vmap: Batching rule not implemented for aten::{function.__name__}, whose"
            mend = "(x == y).all() is a result for each element"
            raise RuntimeFault("E0414", f"{said} result is no tensor", help=mend)
        if value is None:
            raise dynamic_shape(f"{function.__name__}()")
    return value


def dynamic_shape(what: str) -> RuntimeFault:
    """The error of an operation inside ``vmap`` whose result every element has in its own shape."""
    return RuntimeFault(
        "E0414",
        "vmap: We do not support batching operators that can output dynamic shape. Attempting to "
        f"batch over {what}",
        help="choose entry by entry with where(); or write a loop instead of vmap",
    )


def bottom(value: Any) -> Any:
    """The Tensor inside tangents and batches; ``value`` itself where it stands for none."""
    while not isinstance(value, Plain) and hasattr(value, "content"):
        value = value.content
    return value


def primal(value: Any) -> Any:
    """``value`` without its tangents: in forward mode the values alone lie in memory."""
    while not getattr(value, "batch", True):
        value = value.content
    return value


def version_of(value: Any) -> int:
    """How often the memory of a value was written to: an inference tensor's too."""
    meta = getattr(bottom(value), "meta", None)  # what is traced has none
    return 0 if meta is None else int(meta.version.number)


def in_graph(value: Any) -> bool:
    """Whether a graph leads to ``value``: its own, or that of a transform around."""
    return getattr(bottom(value), "edge", None) is not None


def watch(value: Any, hook: Callable[[Any], Any]) -> None:
    """Have ``hook`` called with the gradient of a result, whichever transform asks for it."""
    if not isinstance(value, Plain):
        if value.requires_grad:
            value.register_hook(hook)
    elif value.edge is not None:
        hooked(value.edge, "hooks", hook)


def untracked(value: Any) -> Any:
    """``value`` out of the graph but with its tangents: what PyTorch computes in ``no_grad``."""
    if isinstance(value, Plain):
        return value.detach()
    with no_grad():  # in which the graph that ``linearize`` reads tangents from goes on
        return OPERATORS["clone"](value)


def is_batch(value: Any) -> bool:
    """Whether whole numbers are a batch inside ``vmap``, which a function cannot look at at once.

    It then calls itself for each element: ``value.each_of(function, args, options)``.
    """
    return value.__class__ is not Tensor and getattr(value, "batch", False)


def of_numbers_too(function: Any) -> Any:
    """A function along a dimension, of a 0-d tensor too: that counts as one of a single entry."""

    @functools.wraps(function)
    def call(input: Any, *args: Any, **options: Any) -> Any:
        if getattr(input, "shape", None) != ():
            return function(input, *args, **options)
        found = function(input.reshape(1), *args, **options)
        given = [a for a in (input, *args, *options.values()) if isinstance(a, Plain)]
        given = [a for a in given if a.dtype.differentiable]
        if getattr(found, "__gradcli_rank__", 0):
            return _as_number(found, given)
        return type(found)(_as_number(v, given) for v in found)

    return call


def _as_number(value: Any, inputs: list[Any]) -> Any:
    """``value``, of a single entry, without its dimension: it shows as the node that made it."""
    name = shown_name(value.edge) if isinstance(value, Plain) and value.edge is not None else ""
    return called(of_its_own(value.reshape(())), name, *inputs)


def one_of_several(value: Any, name: str) -> Any:
    """``value``, a view that came with others: it shows as ``name`` and refuses writes in place
    that are recorded. Its tangent, which ``linearize`` records, follows them."""
    meta = getattr(bottom(value), "meta", None)
    if meta is not None and meta.base is not None:
        meta.made = meta.made or "several"
    return called(value, name)


def of_its_own(value: Any) -> Any:
    """``value``, no longer counted as a view: the tensor whose memory it has is not kept.

    What a node saved of that tensor goes on to see writes.
    """
    meta = value.meta if isinstance(value, Plain) else None
    if meta is not None and (base := meta.base) is not None:
        base.meta.views[:] = [view for view in base.meta.views if view() is not value]
        value.meta = meta.__class__(meta.version)
    return value
