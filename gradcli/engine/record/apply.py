"""Applying an operator to Tensors: promote, charge, compute, record.

This is the general way, which every operator can take; the commonest have a shorter one, see
``fast_path``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.grad_mode import current, mode
from gradcli.engine.graph.node import EMPTY, Extra, Node, more, placed_number
from gradcli.engine.graph.view_edges import Severed
from gradcli.engine.record.composite import in_float32
from gradcli.engine.record.dtype_checks import refused
from gradcli.engine.record.index_writes import stamp_index, writes
from gradcli.engine.record.rule_compiler import node_class
from gradcli.engine.record.whole_numbers import computed_whole
from gradcli.engine.source_location import mark
from gradcli.engine.tensor.conj_view import ConjView, flipped
from gradcli.engine.tensor.storage import ARGUMENT, Meta, Slots
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.engine.undo_log import owner_of
from gradcli.ops.dims import copied, in_rows, laid_as
from gradcli.ops.errors import Fault, RuntimeFault, TypeFault, UnwrittenFault, ValueFault, bad_type
from gradcli.ops.memory_budget import LARGE, budget, charge, charge_broadcast
from gradcli.ops.operator import OPERATORS, Operator, is_complex, is_number, plain_number
from gradcli.ops.shape import count
from gradcli.ops.torch_messages import needs_floats, no_broadcast, not_a, too_big, types_differ

_new = object.__new__
NUMBERS = frozenset((float, int, complex, bool))
"""The classes of plain Python numbers."""
MISFITS = (ValueError, TypeError, IndexError, OverflowError, np.exceptions.AxisError)
"""What NumPy raises of operands that do not fit."""
QUIET = (RuntimeWarning, FloatingPointError)
"""What NumPy raises of 1/0 and the like where a user's later filter or ``np.seterr`` has it so."""


def apply(op: Operator, args: Sequence[Any], params: dict[str, Any]) -> Tensor:
    """``op`` on values of which at least one is a Tensor.

    Raises RuntimeFault or TypeFault for shapes and types that do not fit (E03xx), LimitFault where
    the result would be too large.
    """
    inputs: list[Any] = [
        a if a.__class__ is Tensor or a.__class__ in NUMBERS else as_input(op, a) for a in args
    ]
    if params:
        for name, value in params.items():
            if isinstance(value, Slots):
                if not isinstance(value, Plain):  # a batch of indices, of numbers that have none
                    batch: Any = value
                    result: Tensor = batch.__gradcli_apply__(op, tuple(args), params)
                    return result
                params[name] = value.array
            elif value.__class__ is complex:  # of the operands' type: no parameter makes one
                params[name] = dtypes.meeting(*inputs).entry(value)
    first: Any = inputs[0] if inputs else None
    if op.halves and through_float32(op, inputs):
        found: Tensor = in_float32(lambda *w: apply(op, w, params), op.grad_name, *inputs)
        return found
    held = False
    if op.kind == "linear":
        if isinstance(first, ConjView):
            held = op.moves == "view"  # of what memory holds, then
        elif first.__class__ is Tensor and not first.array.ndim:
            first.own_array()  # what may be a view shares memory, which a number has not
    raw = [first.own_array()] if held else _promoted(op, inputs)
    if budget.on:
        _charge(op, raw, params)
    try:
        array = op.compute(*raw, **params)
    except QUIET:
        with np.errstate(all="ignore"):
            array = op.compute(*raw, **params)
    except Fault:
        raise
    except MISFITS as fault:
        raise explained(op, raw, fault) from None
    if held:
        return _of_memory(op, first, params, array)
    if op.rows and np.ndim(array) > 1:
        array = in_rows(array)
    elif op.entrywise and len(inputs) > 1 and np.ndim(array) > 1:
        given: list[Any] = [getattr(a, "array", a) for a in inputs if a.__class__ not in NUMBERS]
        if not all(x.flags.c_contiguous for x in given[:-1]):
            array = laid_as(array, *given)
    return finish(op, inputs, params, array, raw)


def _charge(op: Operator, raw: Sequence[Any], params: dict[str, Any]) -> None:
    """Account for what ``op`` is about to hold. Raises LimitFault (E0602)."""
    holds = op.complex_holds if any(map(is_complex, raw)) else op.holds
    if op.entrywise:
        each = 1 if op.dtypes == "compare" else max([4, *(getattr(r, "itemsize", 0) for r in raw)])
        charge_broadcast(*(np.shape(r) for r in raw), itemsize=math.ceil(holds * each))
        return
    held = sum([getattr(r, "nbytes", 8) for r in raw])
    if not held:  # a stack of no matrices: their masks are as large as those of one
        held = max([8 * math.prod(np.shape(r)[-2:]) for r in raw], default=0)
    if held > 8 * LARGE:
        most = math.ceil(holds * held)
        if "keepdim" in op.params:  # what is expanded takes time, if no memory
            most = max(most, held * (0 in raw[0].strides))
            most += held // max(1, count(raw[0].shape, params.get("dim")))
        charge(most)


def through_float32(op: Operator, inputs: Sequence[Any]) -> bool:
    """Whether ``op`` computes these in float32 and rounds to halves once: see ``op.halves``."""
    if dtypes.float16 not in [getattr(a, "dtype", None) for a in inputs]:
        return False
    if op.halves == "many":
        some = math.prod(inputs[0].shape) > dtypes.bounds(dtypes.float16)[1]
    else:
        some = op.halves == "all" or any(
            a.__class__ in NUMBERS or not (a.dtype is dtypes.float16 or a.ndim) for a in inputs
        )
    return some and dtypes.meeting(*inputs) is dtypes.float16


def finish(
    op: Operator, inputs: Sequence[Any], params: dict[str, Any], array: Any, raw: Sequence[Any]
) -> Tensor:
    """The Tensor of what ``op`` computed from ``raw``, recorded where an input needs a gradient."""
    if array.dtype.kind in "iu":
        if current().exact:
            computed_whole(op, array, raw, params)
        if array.dtype == np.uint64:  # what NumPy adds bytes up in
            array = array.astype(np.int64)
    out = wrap(array, dtypes.dtype_of(array))
    if op.kind == "linear" and (array is raw[0] or getattr(array, "base", None) is not None):
        note_view(out, inputs[0])
    return _recorded(op, inputs, params, out, raw)


def _recorded(
    op: Operator, inputs: Sequence[Any], params: dict[str, Any], out: Tensor, raw: Sequence[Any]
) -> Tensor:
    # A view of what was made in inference mode is such a tensor too, which no graph leads to.
    if op.recorded and out.dtype.kind >= 2 and current().grad and not out.is_inference():
        record(op, inputs, params, out, raw)
    return out


def _of_memory(op: Operator, x: Tensor, params: dict[str, Any], array: Any) -> Tensor:
    """The result of an operator that moves entries, which gave ``array`` of the memory of ``x``."""
    out = wrap(array, dtypes.dtype_of(array))
    if out.dtype.is_complex is not x.dtype.is_complex and not op.compute(np.array(1j)):
        return apply(op, (flipped_view(x),), params)  # a conjugate has the same real part
    if not _share(array, x.own_array()):
        out.array = flipped(array)
    else:
        out.__class__ = ConjView
        share_memory(out, x)
    return _recorded(op, (x,), params, out, ())


def flipped_view(x: Tensor) -> Tensor:
    """The conjugates of complex ``x``, the negatives of real: a view, computed when it is read."""
    if x._flips:
        out = wrap(x.own_array(), x.dtype)
    else:
        out = x._alias()
        out.__class__ = ConjView
    share_memory(out, x)
    return _recorded(OPERATORS["conj" if x.dtype.is_complex else "neg"], (x,), {}, out, ())


def _as_computed(value: Any, raw: Any, whole: bool) -> Any:
    """An input in the element type it was computed with, where a rule could read it as wider.

    With ``whole`` also as narrower: the squares of whole numbers would wrap around, and a logarithm
    would have the digits of a half. A later write to them is noticed as one to the input.
    """
    if not isinstance(value, Plain) or raw.dtype == value.dtype.numpy:
        return value
    kind = raw.dtype.kind
    if whole and kind in "fc" and (value.dtype.kind < 2 or kind == value.array.dtype.kind):
        out = wrap(raw, dtypes.dtype_of(raw), value.edge)
        out.meta = value._meta()
        return out
    if np.result_type(value.array.dtype, raw.dtype) == raw.dtype:
        return value
    return wrap(raw, dtypes.dtype_of(raw), value.edge)


def note_view(out: Tensor, source: Any) -> None:
    """Where a result shares its input's memory: one version counter, and the base for writes.

    A number of a program without tensors has no memory that an array could share.
    """
    if isinstance(source, Plain) and _share(out.array, source.array):
        if out.array.ndim > source.array.ndim == 0 and out.array.size == 1 and mode.rebinds:
            base = source._base
            if base is None or not base.ndim:
                out.array = out.array.copy()
                return
        share_memory(out, source)


def share_memory(out: Tensor, source: Tensor) -> None:
    """Note that ``out`` is a view of ``source``, or of the same base."""
    meta = source._meta()
    own = out.meta = meta.__class__(meta.version)
    base = own.base = source if meta.base is None else meta.base
    state = current()
    made = None if meta.made is ARGUMENT else meta.made
    own.made = made if state.grad else "inference" if state.inference else "no_grad"
    if not state.grad and base.edge is not None and out.dtype.kind >= 2 and not own.inference:
        out.edge = Severed(out, base.edge)
    base.meta.add_view(out)


def _share(view: Any, source: Any) -> bool:
    """Whether an operator's result shares memory with the array that it was made of.

    NumPy names the owner of a view's memory, which decides nearly every case at once.
    """
    owner = getattr(view, "base", None)
    if view is source or (
        owner is not None and (owner is source or owner is getattr(source, "base", None))
    ):
        return True
    if isinstance(view, np.ndarray) and not view.size:  # of which NumPy says that it shares none
        return owner_of(view) is owner_of(source)
    return bool(np.may_share_memory(view, source))


def as_input(op: Operator, value: Any) -> Any:
    """``value`` as a Tensor or a Python number. Raises TypeFault (E0303) for anything else."""
    if isinstance(value, Plain):
        return value
    if isinstance(value, np.ndarray):
        return wrap(value, dtypes.dtype_of(value))
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, float | int | complex):
        return plain_number(value)
    raise not_a("Tensor", op.name, "other", 1, value)


def _promoted(op: Operator, inputs: list[Any]) -> list[Any]:
    """The raw arrays, cast to where PyTorch's promotion says they meet."""
    policy = op.dtypes
    first = inputs[0] if inputs else None
    if first.__class__ is Tensor and (
        first.dtype.quick
        or ((first.dtype.kind > 2 or policy == "keep" or policy == "promote") and not op.refuses)
    ):
        dtype = first.dtype
        raw = [first.array]
        for a in inputs[1:]:
            if a.__class__ is not Tensor or a.dtype is not dtype:
                break
            raw.append(a.array)
        else:  # all of one type, which holds for nearly every call
            return _counted(op, raw) if dtype is dtypes.bool_ and mode.rebinds else raw
    if op.refuses:
        fault = refused(op, inputs)
        if fault is not None:
            raise fault
    if policy == "keep" or policy == "inexact":
        raw = [a.array if isinstance(a, Plain) else a for a in inputs]
        if policy == "inexact" and isinstance(inputs[0], Plain) and inputs[0].dtype.kind < 2:
            said = needs_floats(op.name, inputs[0].dtype.scalar_name)
            raise (UnwrittenFault if said.startswith('"') else RuntimeFault)(
                "E0309",
                f"{op.name}() needs a floating point tensor, got {inputs[0].dtype.name}",
                help="write x.float() or x.double(), or give the numbers a decimal point",
                torch=said,
            )
        return raw
    if (
        op.one_dtype
        and not current().mixes
        and not (is_number(inputs[0]) or is_number(inputs[1]))
        and inputs[0].dtype is not inputs[1].dtype
    ):
        raise types_differ(op.name, inputs[0], inputs[1])
    judged = inputs[1:] if policy == "where" else inputs
    target = dtypes.result_type(
        (dtypes.number_dtype(a), 0) if is_number(a) else (a.dtype, 2 if a.array.ndim else 1)
        for a in judged
    )
    if policy == "float" and target.kind < 2:
        of_numpy = all(is_number(a) or hasattr(a, "of_numpy") for a in inputs)
        target = dtypes.float64 if of_numpy else dtypes.get_default_dtype()
    raw = []
    for a in inputs:
        if is_number(a):
            if policy == "where" and raw:
                a = target.numpy.type(target.computed.entry(a))
            elif (
                a.__class__ is int
                and target.kind == 1
                and (op.wraps or not raw)
                and (-(2**63) <= a < 2**63)
                and not current().exact
            ):
                a = target.wrapped(a)
            raw.append(a)
        elif a.dtype is target or (policy == "where" and not raw):
            raw.append(a.array)
        else:
            raw.append(copied(a.array, target.numpy))
    return _counted(op, raw) if target is dtypes.bool_ and mode.rebinds else raw


def _counted(op: Operator, truths: list[Any]) -> list[Any]:
    """The truths of numbers as whole numbers, as Python adds them; those of arrays stay so.

    Raises TypeFault (E0303) where the numbers may be NumPy's, whose sum is a truth.
    """
    if not op.of_truths or any(map(np.ndim, truths)):
        return truths
    if mode.arrays and all(truths) and op.of_truths != "logical_and":  # else both say the same
        said = "two truths are 2 in Python, True in NumPy, and these may be either"
        raise bad_type(said, help="write int(a > 0) + int(b > 0), or a > 0 or b > 0")
    return [np.int64(one) for one in truths]


def record(
    op: Operator, inputs: Sequence[Any], params: dict[str, Any], out: Tensor,
    raw: Sequence[Any] = (),
) -> None:  # fmt: skip
    """Make the node of ``out = op(*inputs, **params)``, where an input needs a gradient.

    ``inputs`` are Tensors and Python numbers, ``raw`` what was computed with in their place.
    """
    edges = [None if a.__class__ in NUMBERS else a.edge for a in inputs]
    variadic = op.variadic
    if not variadic and None in op.rules:
        edges = [None if rule is None else e for rule, e in zip(op.rules, edges, strict=True)]
    for edge in edges:
        if edge is not None:
            break
    else:
        return
    numbers = () if variadic else tuple([a.__class__ in NUMBERS for a in inputs])
    node = _new(node_class(op, numbers, out.dtype.kind == 3))
    state = current()
    node.edges = tuple(edges)
    node.seq = placed_number() if state.placed else state.number()
    node.shape = out.array.shape
    node.dtype = out.dtype
    node.saved = EMPTY
    if op.params:
        node.extra = Extra(params)
        if writes and op.by_index:
            stamp_index(node)
    else:
        node.extra = None
    if op.node.get("columns"):
        note_columns(node, *[a.array for a in inputs])
    if variadic:
        more(node).shapes = tuple(np.shape(a.array) if isinstance(a, Plain) else () for a in inputs)
    else:
        wanted: tuple[Any, ...] = ()
        for names, edge in zip(op.saves, edges, strict=True):
            if edge is not None and names:
                wanted = names if not wanted else (*wanted, *names)
        if wanted:
            _save(op, node, inputs, raw, wanted, out)
        if state.annotate and any(numbers):
            more(node).params["constants"] = {i: inputs[i] for i, one in enumerate(numbers) if one}
    out.edge = node


def note_columns(node: Node, *operands: Any) -> None:
    """Note which of a product's matrices lie by columns: their gradients shall, too."""
    for i, x in enumerate(operands):
        if x.ndim == 2 and x.flags.f_contiguous and not x.flags.c_contiguous:
            more(node).columns += (i,)


def _save(
    op: Operator, node: Node, inputs: Sequence[Any], raw: Sequence[Any], wanted: tuple[Any, ...],
    out: Tensor,
) -> None:  # fmt: skip
    """Keep on ``node`` what its rules will read, and note where and in which version."""
    if raw and (op.dtypes == "promote" or op.dtypes == "float"):
        whole = op.kind != "bilinear"
        inputs = [_as_computed(a, r, whole) for a, r in zip(inputs, raw, strict=True)]
    kept = [a if n in wanted else None for n, a in zip(op.inputs, inputs, strict=True)]
    node.saved = (*kept, out.array if "out" in wanted else None)
    for a in inputs:
        if a.__class__ not in NUMBERS and a.meta is not None:
            stamp(node, inputs)
            break
    mark(node)
    if current().saving:
        # Few programs set such hooks: the others do without the module.
        from gradcli.engine.record.saved_tensor_hooks import Packed

        node.saved = Packed(node).packed(node)
        if "out" in wanted and out.meta is None:  # what hooks keep sees writes to the result
            out.meta, node.extra.out_meta = Meta(node.extra.out_meta.version), None


def stamp(node: Node, inputs: Sequence[Any]) -> None:
    """Note the versions of saved tensors that have been written to before; 0 needs no note."""
    numbers = []
    for a, kept in zip(inputs, node.saved, strict=False):
        meta = a.meta if isinstance(a, Plain) else None
        if meta is not None and meta.inference and kept is a:
            raise saves_inference()
        numbers.append(0 if meta is None else meta.version.number)
    if mode.rebinds and any(map(_may_change, node.saved)):
        node.saved = tuple([
            wrap(a.array.copy(), a.dtype, a.edge) if _may_change(a) else a for a in node.saved
        ])  # fmt: skip
        given = zip(numbers, inputs, node.saved, strict=False)
        numbers = [n if kept is a else 0 for n, a, kept in given]  # nobody wrote to a copy
    if any(numbers):
        more(node).versions = (*numbers, 0)


def _may_change(saved: Any) -> bool:
    """Whether a saved value is a part of an array of a program without tensors, or was written to:
    what is written there next, row by row, shall leave what was saved as it is."""
    meta = getattr(saved, "meta", None)
    return meta is not None and not saved._flips and (meta.base is not None or meta.version.number)


def saves_inference() -> RuntimeFault:
    """The error of a graph that needs a tensor made in inference mode."""
    said = "Inference tensors cannot be saved for backward. Please do not use Tensors created in"
    said += " inference mode in computation tracked by autograd."
    told = f"{said} To work around this, you can make a clone to get a normal tensor and use it in"
    told += " autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
    mend = "make a clone to get a normal tensor, or use no_grad() instead of inference_mode()"
    return RuntimeFault("E0415", said, help=mend, torch=told)


def explained(op: Operator, raw: Sequence[Any], fault: Exception) -> Fault:
    """NumPy's complaint in the words of the user's operands."""
    shapes = [tuple(np.shape(r)) for r in raw]
    if len(shapes) > 1:
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            operands = tuple((i, f"shape {s}") for i, s in enumerate(shapes))
            mend = "sizes must agree from the right, or be 1"
            return no_broadcast(shapes, op.name, help=mend, operands=operands)
    if "slice step" in str(fault):
        return ValueFault("E0307", str(fault), help="leave it out, or take a step above 0")
    if isinstance(fault, OverflowError):
        for number in raw:
            if number.__class__ is int and not -(1 << 63) <= number < 1 << 63:
                return too_big(number)
        held = next(r.dtype for r in raw if r.__class__ is not int)
        said = f"value cannot be converted to type {held}_t without overflow"
        return RuntimeFault("E0309", f"{op.name}: {fault}", torch=said)
    of_kinds = fault.__class__ is TypeError and "ufunc" not in str(fault)
    return (TypeFault if of_kinds else RuntimeFault)("E0303", f"{op.name}: {fault}")
