"""``out=``: the result of any function written into a tensor that is given, by PyTorch's rules."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from gradcli.engine.dtypes import DType, promote
from gradcli.engine.grad_mode import current, no_grad
from gradcli.engine.graph.node import AccumulateGrad
from gradcli.engine.named_tuples import Results
from gradcli.engine.record.composite import in_graph
from gradcli.engine.record.inplace import overlap
from gradcli.engine.source_location import warn
from gradcli.engine.tensor.tensor import Plain, Tensor
from gradcli.ops.errors import (
    Fault,
    RuntimeFault,
    TypeFault,
    UnwrittenFault,
    bad_dtype,
    bad_type,
    bad_value,
)
from gradcli.ops.operator import OPERATORS, Operator
from gradcli.ops.torch_messages import no_cast, no_room

TARGET: ContextVar[Plain | None] = ContextVar("target", default=None)
"""The ``out`` that is to be written: random numbers are drawn in the order of its memory."""


def into(
    out: Any, function: Callable[..., Any], args: tuple[Any, ...], options: dict[Any, Any]
) -> Any:
    """``function(*args, **options)`` written into ``out``, a tensor or a tuple of tensors.

    ``out`` keeps its dtype and takes the result's shape: silently where it was empty or the
    function ``resizes``, else with a warning. Raises RuntimeFault (E0405) where something requires
    a gradient, (E0309) for a dtype that is not as ``may_be`` says, (E0301) where ``out`` is an
    argument and would have to grow, (E0409) where ``out`` and an argument share some entries or
    views share memory that would have to grow, TypeFault (E0303) where ``out`` is no tensor,
    (E0302) where the function takes none.
    """
    name = str(getattr(function, "__name__", None) or getattr(function, "name", "this"))
    targets = out if isinstance(out, tuple | list) else (out,)
    _refuse_traced(name, (*args, *options.values(), *targets))
    for target in targets or (out,):
        if not isinstance(target, Plain):
            raise bad_type(f"out must be a tensor, got {type(target).__name__}")
    operands: list[Any] = []
    for value in args:
        operands += value if isinstance(value, list | tuple) else (value,)
    given = (*operands, *options.values(), *targets)
    follows = current().grad and any(isinstance(v, Tensor) and in_graph(v) for v in given)
    rule, apart = _declared(function, "out", "same"), _declared(function, "apart", False)
    computes = rule == "any"  # in the dtype of out: of whole numbers too it is a sum that is cut
    if rule == "none":
        raise TypeFault("E0302", f"{name}() got an unexpected keyword argument 'out'")
    op = getattr(function, "operator", function)
    if not isinstance(op, Operator) or op.entrywise or op.moves or apart:
        for target in targets:
            overlap(target, *operands, apart=apart)
    rule = rule if options.get("dtype") is None else "same"
    if options.get("as_tuple"):
        raise bad_value(f"{name} does not support the out kwarg when as_tuple is True")
    if rule == "real":
        rule = "wider" if args[0].dtype.is_complex else "same"
    if rule == "any":
        options["dtype"] = targets[0].dtype
    first: Any = args[0] if args else None
    wide = targets[0].dtype
    if rule == "deeper" and first.dtype.kind > 1 and promote(first.dtype, wide) is wide:
        args = (first.to(wide), *args[1:])
    with no_grad():
        before = TARGET.set(targets[0])
        try:
            result = function(*args, **options)
        finally:
            TARGET.reset(before)
        parts = result if isinstance(result, tuple) else (result,)
        pairs = zip(targets, parts, strict=False)
        if follows and (computes or any(in_graph(t) or p.dtype.differentiable for t, p in pairs)):
            said = f"{name}(): functions with out=... arguments don't support automatic"
            said += " differentiation, but one of the arguments requires grad."
            raise RuntimeFault("E0405", said, help="leave out= away, or detach() the arguments")
        places = getattr(result, "fields", ()) or ["result"] * len(parts)
        if "indices" in places:  # of a function whose other results may be wider
            rule = "same"
        if isinstance(out, tuple | list) and not isinstance(result, tuple):
            kind = type(out).__name__
            raise bad_type(f"argument 'out' must be Tensor, not {kind}")
        if len(parts) != len(targets):
            raise bad_type(f"out has {len(targets)} tensors, the result has {len(parts)}")
        for place, target, part in zip(places, targets, parts, strict=True):
            if not _FITS[rule](part.dtype, target.dtype):
                said = _declared(function, "misfit", _OF_BYTES if rule == "bytes" else "")
                said = said.replace("{name}", name).replace("{part}", place)
                raise _misfit(rule, part.dtype, target.dtype, said)
            grows = target.shape != part.shape and getattr(OPERATORS.get(name), "entrywise", False)
            if grows and any(target is v for v in operands):
                raise no_room(target.shape, part.shape)
        for target, part in zip(targets, parts, strict=True):
            silent = _declared(function, "resizes", False)
            _write(target, part, _declared(function, "copied", False), silent)
    if isinstance(result, Results):
        return type(result)(targets)
    return None if isinstance(result, tuple) else out  # as PyTorch for what splits


def _refuse_traced(name: str, values: tuple[Any, ...]) -> None:
    """A write into ``out`` would lose what a transform follows."""
    traced = [v for v in values if getattr(v, "__gradcli_rank__", 0) > 1]
    if any(v.batch for v in traced):
        said = f"vmap: Batching rule not implemented for aten::{name}.out; the fallback path"
        mend = "take the result of the function"
        raise RuntimeFault("E0414", f"{said} doesn't work on out= or view ops", help=mend)
    if traced:
        raise UnwrittenFault(
            "E0414",
            "the out= function would lose what a transform follows: forward AD takes the result of "
            "the function",
        )


_FITS: dict[str, Callable[[DType, DType], bool]] = {
    "same": lambda made, given: made is given,
    "kind": lambda made, given: made.kind == given.kind,
    **dict.fromkeys(("wider", "deeper", "joined"), lambda made, given: made.kind <= given.kind),
    "bytes": lambda made, given: given.name in ("bool", "uint8"),
    "any": lambda made, given: True,
    "real numbers": lambda made, given: not given.is_complex,
}
"""Whether a result of one dtype may be written into an ``out`` of another, by the rule's name."""


_OF_BYTES = "{name} only supports bool tensor for result, got: {given}"


ONE_SCALAR = "expected scalar_type {made} but found {given}"


def may_be(
    rule: str, *functions: Any, apart: bool = False, misfit: str = "", copied: bool = False
) -> None:
    """Declare which dtype the ``out`` of ``functions`` may have: the result's alone without this.

    A "wider" one, which "joined" says too, with another error; a "deeper" one, in which floats are
    computed; one of its "kind"; "bytes" for truths; "any", in which they compute; one of any "real
    numbers"; or "none": there is no ``out``; "real", where complex numbers give real ones, is
    "wider" of these and "same" of others. ``apart`` tells that it has to lie apart from what they
    read, for they do not write where they read. ``misfit`` is PyTorch's own sentence about another
    dtype: ``safely`` makes one.
    ``copied`` tells that PyTorch copies a result there: an ``out`` that grows lies in rows.
    """
    for function in functions:
        function.out, function.apart, function.misfit = rule, apart, misfit
        function.copied = copied


def safely(of: str, part: str = "result") -> str:
    """What PyTorch's decompositions say of an ``out`` of another dtype, for ``misfit``.

    ``{name}`` in it stands for the function, ``{part}`` for the place of the result.
    """
    said = "{of}: Expected {part} to be safely castable from {made} dtype, but got {part} with "
    return said.replace("{of}", of).replace("{part}", part) + "dtype {given}"


def has_out(function: Any) -> bool:
    """Whether ``out=`` may be given; of functions of layers and losses only where declared."""
    layers = ".functions.nn." in (getattr(function, "__module__", None) or "")
    return bool(_declared(function, "out", "none" if layers else "same") != "none")


def _declared(function: Any, fact: str, default: Any) -> Any:
    while function is not None:
        declared = getattr(getattr(function, "operator", function), fact, None)
        if declared:
            return declared
        function = getattr(function, "__wrapped__", None)
    return default


def _misfit(rule: str, made: DType, given: DType, said: str) -> Fault:
    help = f"give an out of dtype {made.name}"
    if said:
        names = {"made": made.scalar_name, "given": given.scalar_name}
        kinds = {"made_c": made.c_name, "given_c": given.c_name}
        return bad_dtype(said.format(**names, **kinds), help=help)
    if rule != "same":
        if rule == "joined":
            said = "torch.cat(): input types can't be cast to the desired output type "
            return TypeFault("E0309", f"{said}{given.scalar_name}", help=help)
        return no_cast(made, given, help)
    said = "Expected out tensor to have dtype {}, but got {} instead"
    torch = said.format(made.c_name, given.c_name)
    return bad_dtype(said.format(made.name, given.name), help=help, torch=torch)


def _write(target: Tensor, part: Tensor, in_rows: bool, silent: bool) -> None:
    if target.shape != part.shape:
        if target.numel() and not silent:
            warn(
                "An output with one or more elements was resized since it had shape "
                f"{list(target.shape)}, which does not match the required output shape "
                f"{list(part.shape)}. This behavior is deprecated, and in a future PyTorch release "
                "outputs will not be resized unless they have zero elements. You can explicitly "
                "reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0)."
            )
        version = target._meta().version
        then = version.number
        edge = target.edge
        grows = edge.__class__ is AccumulateGrad and target._base is None
        try:
            if grows:  # what may not be said of a leaf by resize_()
                target.edge = None
            target.resize_(tuple(part.shape))
        finally:
            target.edge = edge
        version.number = then  # it is one write
        order = np.argsort(np.negative(part.array.strides), kind="stable")
        # What is no permutation of rows is a view: out lies in rows.
        if not in_rows and part.array.transpose(order).flags.c_contiguous:
            rows = target.array.reshape([part.shape[d] for d in order])
            target.array = rows.transpose(np.argsort(order))
        if grows:
            target._outgrow()
    target.copy_(part)
