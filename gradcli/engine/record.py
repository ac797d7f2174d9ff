"""Applying an operator to Tensors: promote, charge, compute, record.

``apply`` is the general way. ``unary_method`` and ``binary_method`` build the short ways that
Tensor's own operators and methods take for the common case (floating tensors of one dtype, or one
and a Python number); whatever does not fit falls back to ``apply``. Cost per operation is decided
here: each line of a short way is there because measuring said so.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from sys import _getframe
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.graph import EMPTY, Node, more, next_number
from gradcli.engine.memory import InferenceMeta
from gradcli.engine.modes import mode
from gradcli.engine.outputs import into
from gradcli.engine.places import mark, outside, own
from gradcli.engine.pulling import node_class
from gradcli.engine.tensor import Tensor, wrap
from gradcli.ops import limits
from gradcli.ops.core import Operator, is_number
from gradcli.ops.errors import Fault, RuntimeFault, TypeFault

_budget = limits.budget
_LARGE = limits.LARGE
_new = object.__new__
_NUMBERS = frozenset((float, int, complex, bool))


def apply(op: Operator, args: Sequence[Any], params: dict[str, Any]) -> Tensor:
    """``op`` on values of which at least one is a Tensor.

    Raises RuntimeFault or TypeFault for shapes and types that do not fit (E03xx), LimitFault where
    the result would be too large.
    """
    inputs = [a if a.__class__ in _NUMBERS else _as_input(op, a) for a in args]
    if op.params:
        for name, value in params.items():
            if isinstance(value, Tensor):
                params[name] = value.array
    raw = _promoted(op, inputs)
    if _budget.on:
        if op.entrywise:
            limits.charge_broadcast(*(np.shape(r) for r in raw))
        else:
            limits.charge_shape((sum(np.size(r) for r in raw),))
    try:
        array = op.compute(*raw, **params)
    except Fault:
        raise
    except (ValueError, TypeError, IndexError, OverflowError, np.exceptions.AxisError) as fault:
        raise explained(op, raw, fault) from None
    out = wrap(array, dtypes.dtype_of(array))
    if op.kind == "linear" and (array is raw[0] or getattr(array, "base", None) is not None):
        note_view(out, inputs[0])
    if mode.grad and op.recorded and out.dtype.kind >= 2:
        if op.dtypes == "promote" or op.dtypes == "float":
            inputs = [_as_computed(a, r) for a, r in zip(inputs, raw, strict=True)]
        _record(op, inputs, params, out)
    return out


def _as_computed(value: Any, raw: Any) -> Any:
    """An input in the element type it was computed with, where a rule could read it as wider."""
    if not isinstance(value, Tensor) or raw is value.array:
        return value
    if np.result_type(value.array.dtype, raw.dtype) == raw.dtype:
        return value
    return wrap(raw, dtypes.dtype_of(raw), value.edge)


def note_view(out: Tensor, source: Any) -> None:
    """Where a result shares its input's memory: one version counter, and the base for writes."""
    if isinstance(source, Tensor) and np.may_share_memory(out.array, source.array):
        meta = source._meta()
        out.meta = meta.__class__(meta.version)
        base = out.meta.base = source if meta.base is None else meta.base
        out.meta.made = meta.made if mode.grad else "inference" if mode.inference else "no_grad"
        if not mode.grad and base.edge is not None and out.dtype.kind >= 2:
            from gradcli.engine.severed import Severed

            out.edge = Severed(out)
        views = base.meta.views
        if views is None:
            views = base.meta.views = {}
        key = id(out)
        views[key] = weakref.ref(out, lambda _: views.pop(key, None))


def _as_input(op: Operator, value: Any) -> Any:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray):
        return wrap(value, dtypes.dtype_of(value))
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, float | int | complex):
        return value
    raise TypeFault(
        "E0303",
        f"{op.name} cannot take a {type(value).__name__}",
        help="it takes tensors, arrays and numbers; tensor([...]) makes a tensor of a list",
    )


def _promoted(op: Operator, inputs: list) -> list:
    """The raw arrays, cast to where PyTorch's promotion says they meet."""
    policy = op.dtypes
    if policy == "keep" or policy == "inexact":
        raw = [a.array if isinstance(a, Tensor) else a for a in inputs]
        if policy == "inexact" and isinstance(inputs[0], Tensor) and inputs[0].dtype.kind < 2:
            raise RuntimeFault(
                "E0309",
                f"{op.name}() needs a floating point tensor, got {inputs[0].dtype.name}",
                help="write x.float() or x.double(), or give the numbers a decimal point",
            )
        return raw
    judged = inputs[1:] if policy == "where" else inputs
    target = dtypes.result_type(
        (dtypes.number_dtype(a), 0) if is_number(a) else (a.dtype, 2 if a.array.ndim else 1)
        for a in judged
    )
    if policy == "float" and target.kind < 2:
        target = dtypes.get_default_dtype()
    raw = []
    for a in inputs:
        if is_number(a):
            raw.append(target.numpy.type(a) if policy == "where" and raw else a)
        elif a.dtype is target or (policy == "where" and not raw):
            raw.append(a.array)
        else:
            raw.append(a.array.astype(target.numpy))
    return raw


def _record(op: Operator, inputs: list, params: dict[str, Any], out: Tensor) -> None:
    edges = []
    recorded = False
    for i, a in enumerate(inputs):
        edge = None
        if isinstance(a, Tensor) and (op.variadic or op.rules[i] is not None):
            edge = a.edge
            recorded = recorded or edge is not None
        edges.append(edge)
    if not recorded:
        return
    numbers = () if op.variadic else tuple(is_number(a) for a in inputs)
    node = _new(node_class(op, numbers, out.dtype.is_complex))
    if node.masks:
        mode.branches = True
    node.edges = tuple(edges)
    node.seq = next_number()
    node.shape = out.array.shape
    node.dtype = out.dtype
    node.extra = None
    node.saved = EMPTY
    if not op.variadic:
        wanted = {n for n, e in zip(op.saves, edges, strict=True) if e is not None for n in n}
        if wanted:
            node.saved = (
                *(a if n in wanted else None for n, a in zip(op.inputs, inputs, strict=True)),
                out.array if "out" in wanted else None,
            )
            stamp(node, inputs)
            mark(node)
            if mode.saving:
                from gradcli.engine.saving import Packed

                node.saved = Packed(node)
    if op.params:
        more(node).params = params
    if op.variadic:
        more(node).shapes = tuple(
            np.shape(a.array) if isinstance(a, Tensor) else () for a in inputs
        )
    out.edge = node


def stamp(node: Node, inputs: Sequence[Any]) -> None:
    """Note the versions of saved tensors that have been written to before; 0 needs no note."""
    numbers = []
    for a, kept in zip(inputs, node.saved, strict=False):
        meta = a.meta if isinstance(a, Tensor) else None
        if meta is not None and meta.inference and kept is a:
            raise saves_inference()
        numbers.append(0 if meta is None else meta.version.number)
    if any(numbers):
        more(node).versions = (*numbers, 0)


def saves_inference() -> RuntimeFault:
    """The error of a graph that needs a tensor made in inference mode."""
    return RuntimeFault(
        "E0415",
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
        "inference mode in computation tracked by autograd.",
        help="make a clone to get a normal tensor, or use no_grad() instead of inference_mode()",
    )


def explained(op: Operator, raw: Sequence[Any], fault: Exception) -> RuntimeFault:
    """NumPy's complaint in the words of the user's operands."""
    shapes = [tuple(np.shape(r)) for r in raw]
    if len(shapes) > 1:
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            shown = " and ".join(str(s) for s in shapes)
            return RuntimeFault(
                "E0301",
                f"{op.name}: shapes {shown} do not broadcast",
                help="sizes must agree from the right, or be 1",
                operands=tuple((i, f"shape {s}") for i, s in enumerate(shapes)),
            )
    return RuntimeFault("E0303", f"{op.name}: {fault}")


def has_short_way(op: Operator) -> bool:
    """Whether ``unary_method`` or ``binary_method`` can stand for the operator."""
    promotes = op.dtypes == "float" or op.dtypes == "promote"
    return promotes and op.arity < 3 and not (op.params or op.variadic or op.kind == "constant")


def short_function(op: Operator) -> Callable[..., Any]:
    """The short way as a free function: ``sin(x)``, with PyTorch's ``out=``."""
    if op.arity == 1:
        unary = unary_method(op, depth=2)

        def function(input: Any, *, out: Any = None) -> Any:
            return unary(input) if out is None else into(out, function, (input,), {})

    else:
        binary = binary_method(op, depth=2)

        def function(input: Any, other: Any, *, out: Any = None) -> Any:
            return binary(input, other) if out is None else into(out, function, (input, other), {})

    return standing_for(op, function)


def standing_for(op: Operator, function: Callable) -> Callable:
    """``function``, which does nothing but ``op``, with the operator's name and ``operator``."""
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.doc
    function.operator = op  # type: ignore[attr-defined]
    return function


def unary_method(op: Operator, depth: int = 1) -> Callable[[Tensor], Tensor]:
    """The short way for an operator of one floating tensor; ``depth`` as in ``binary_method``."""
    compute = op.compute
    cls = None
    saves = op.saves[0]
    save_x, save_out = "x" in saves, "out" in saves
    masks = op.name in ("relu",)

    def method(input: Any) -> Any:
        nonlocal cls
        if input.__class__ is not Tensor:
            return _elsewhere(op, input)
        x = input.array
        dtype = input.dtype
        if not dtype.quick or (_budget.on and x.size > _LARGE):
            return apply(op, (input,), {})
        array = compute(x)
        out = _new(Tensor)
        out.array = array
        out.dtype = dtype
        out.meta = None
        edge = input.edge
        if edge is None or not mode.grad:
            out.edge = None
            if mode.inference:
                out.meta = InferenceMeta()
            return out
        if cls is None:
            cls = node_class(op, (False,))
            mode.branches = mode.branches or masks
        node = _new(cls)
        node.edges = (edge,)
        node.seq = next_number()
        node.shape = array.shape
        node.dtype = dtype
        node.extra = None
        if save_x or save_out:
            node.saved = (input if save_x else None, array if save_out else None)
            if save_x and input.meta is not None:
                stamp(node, (input,))
            frame = _getframe(depth)
            code = frame.f_code
            if own[code.co_filename]:
                frame = outside(frame)
                code = frame.f_code
            node.code = code
            node.lasti = frame.f_lasti
        else:
            node.saved = EMPTY
        out.edge = node
        return out

    return method


def binary_method(
    op: Operator, reverse: bool = False, depth: int = 1, symbol: bool = False
) -> Callable[[Tensor, Any], Any]:
    """The short way for an operator of two tensors of one floating dtype, or of one and a number.

    ``reverse`` builds the method for a number on the left (``2 - x``), ``symbol`` Python's own
    (``x - 2``), which lets the other side try what it cannot take. ``depth`` counts the calls from
    here to the user's program: 2 where another function of gradcli does the calling.
    """
    compute = op.compute
    entrywise = op.entrywise
    left, right = op.saves
    x_for_x, y_for_x, out_for_x = "x" in left, "y" in left, "out" in left
    x_for_y, y_for_y, out_for_y = "x" in right, "y" in right, "out" in right
    any_saved = bool(left or right)
    both = with_number = None
    # With a number on one side only the tensor's own rule saves.
    keeps = bool(right if reverse else left)
    keep_self = y_for_y if reverse else x_for_x
    keep_out = out_for_y if reverse else out_for_x

    def method(input: Any, other: Any) -> Any:
        nonlocal both, with_number
        if input.__class__ is not Tensor:
            return _elsewhere(op, input, other)
        dtype = input.dtype
        kind = other.__class__
        if kind is Tensor:
            x = input.array
            y = other.array
            if other.dtype is not dtype or not dtype.quick or reverse:
                return apply(op, (other, input) if reverse else (input, other), {})
            if entrywise and _budget.on and x.size * y.size > _LARGE:
                limits.charge_broadcast(x.shape, y.shape)
            try:
                array = compute(x, y)
            except ValueError as fault:
                raise explained(op, (x, y), fault) from None
            out = _new(Tensor)
            out.array = array
            out.dtype = dtype
            out.meta = None
            ex = input.edge
            ey = other.edge
            if (ex is None and ey is None) or not mode.grad:
                out.edge = None
                if mode.inference:
                    out.meta = InferenceMeta()
                return out
            if both is None:
                both = node_class(op, (False, False))
            node = _new(both)
            node.edges = (ex, ey)
            node.seq = next_number()
            node.shape = array.shape
            node.dtype = dtype
            node.extra = None
            if any_saved:
                node.saved = (
                    input if (x_for_x and ex is not None) or (x_for_y and ey is not None) else None,
                    other if (y_for_x and ex is not None) or (y_for_y and ey is not None) else None,
                    array
                    if (out_for_x and ex is not None) or (out_for_y and ey is not None)
                    else None,
                )
                if input.meta is not None or other.meta is not None:
                    stamp(node, (input, other))
                frame = _getframe(depth)
                code = frame.f_code
                if own[code.co_filename]:
                    frame = outside(frame)
                    code = frame.f_code
                node.code = code
                node.lasti = frame.f_lasti
            else:
                node.saved = EMPTY
            out.edge = node
            return out
        if kind is float or kind is int:
            x = input.array
            if not dtype.quick or (_budget.on and x.size > _LARGE):
                return apply(op, (other, input) if reverse else (input, other), {})
            try:
                array = compute(other, x) if reverse else compute(x, other)
            except OverflowError as fault:
                raise explained(op, (x, other), fault) from None
            out = _new(Tensor)
            out.array = array
            out.dtype = dtype
            out.meta = None
            edge = input.edge
            if edge is None or not mode.grad:
                out.edge = None
                if mode.inference:
                    out.meta = InferenceMeta()
                return out
            if with_number is None:
                with_number = node_class(op, (True, False) if reverse else (False, True))
            node = _new(with_number)
            node.edges = (None, edge) if reverse else (edge, None)
            node.seq = next_number()
            node.shape = array.shape
            node.dtype = dtype
            node.extra = None
            if keeps:
                kept = input if keep_self else None
                left_right = (other, kept) if reverse else (kept, other)
                node.saved = (*left_right, array if keep_out else None)
                if input.meta is not None:
                    stamp(node, left_right)
                if keep_self or keep_out:
                    frame = _getframe(depth)
                    code = frame.f_code
                    if own[code.co_filename]:
                        frame = outside(frame)
                        code = frame.f_code
                    node.code = code
                    node.lasti = frame.f_lasti
            else:
                node.saved = EMPTY
                if mode.annotate:
                    more(node).params = {"number": other}
            out.edge = node
            return out
        if kind in _ARRAYS or isinstance(other, Tensor):
            return apply(op, (other, input) if reverse else (input, other), {})
        if getattr(other, "__gradcli_rank__", 0):
            return op(other, input) if reverse else op(input, other)
        if symbol or reverse:
            return NotImplemented
        raise TypeFault(
            "E0303",
            f"{op.name}(): argument 'other' must be a tensor or a number, not {kind.__name__}",
            help="tensor([...]) makes a tensor of a list",
        )

    return method


_ARRAYS = frozenset((np.ndarray, bool, complex, np.float64, np.float32, np.int64, np.bool_))


def _elsewhere(op: Operator, *args: Any) -> Any:
    """The operator on values of which the first is no Tensor; numbers give a number."""
    out = op(*args)
    if all(a.__class__ in _NUMBERS for a in args) and isinstance(out, np.generic | np.ndarray):
        return out.item()
    return out
