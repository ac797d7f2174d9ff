"""The short ways of the commonest operators: floating tensors of one dtype, or one and a number.

``unary_method`` and ``binary_method`` build what Tensor's own operators and methods are;
``short_function`` the free functions. Whatever does not fit falls back to ``record.apply``. What an
operation costs is decided here: each line is there because measuring said so.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import _getframe
from typing import Any

import numpy as np

from gradcli.engine.grad_mode import current, mode
from gradcli.engine.graph.node import EMPTY, next_number
from gradcli.engine.record.apply import NUMBERS, apply, explained, stamp
from gradcli.engine.record.out import into
from gradcli.engine.record.rule_compiler import node_class
from gradcli.engine.source_location import outside, theirs
from gradcli.engine.tensor.storage import InferenceMeta
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops import memory_budget
from gradcli.ops.operator import Operator
from gradcli.ops.torch_messages import not_a

_budget = memory_budget.budget
_LARGE = memory_budget.LARGE
_new = object.__new__


def has_short_way(op: Operator) -> bool:
    """Whether ``unary_method`` or ``binary_method`` can stand for the operator."""
    if op.params or op.variadic or op.kind == "constant" or op.arity > 2:
        return False
    alone = op.dtypes == "keep" and op.arity == 1 and op.kind == "elementwise"  # relu, abs
    return alone or op.dtypes == "float" or op.dtypes == "promote"


def short_function(op: Operator) -> Callable[..., Any]:
    """The short way as a free function: ``sin(x)``, with PyTorch's ``out=``."""
    if op.arity == 1:
        unary = unary_method(op, depth=2)

        def function(input: Any, *, out: Any = None) -> Any:
            return unary(input) if out is None else into(out, function, (input,), {})

    elif op.torch[1] != "other":
        binary = binary_method(op, depth=2)
        second = op.torch[1]

        def function(input: Any, other: Any = None, *, out: Any = None, **named: Any) -> Any:
            if other is None and named.keys() == {second}:
                other = named.pop(second)
            if named:
                name = next(iter(named))
                raise TypeError(f"{op.name}() got an unexpected keyword argument {name!r}")
            if other is None:
                raise TypeError(f"{op.name}() missing 1 required positional argument: {second!r}")
            return binary(input, other) if out is None else into(out, function, (input, other), {})

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
        if edge is None:
            out.edge = None
            return _marked(out) if mode.inferring else out
        if not current().plain:
            return _in_a_mode(out, op, (input,))
        if cls is None:
            cls = node_class(op, (False,))
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
            if code.co_filename not in theirs:
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
                memory_budget.charge_broadcast(x.shape, y.shape)
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
            if ex is None and ey is None:
                out.edge = None
                return _marked(out) if mode.inferring else out
            if not current().plain:
                return _in_a_mode(out, op, (input, other))
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
                if code.co_filename not in theirs:
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
            if edge is None:
                out.edge = None
                return _marked(out) if mode.inferring else out
            if not current().plain:
                return _in_a_mode(out, op, (other, input) if reverse else (input, other))
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
                    if code.co_filename not in theirs:
                        frame = outside(frame)
                        code = frame.f_code
                    node.code = code
                    node.lasti = frame.f_lasti
            else:
                node.saved = EMPTY
            out.edge = node
            return out
        if kind in _ARRAYS or isinstance(other, Tensor):
            return apply(op, (other, input) if reverse else (input, other), {})
        if getattr(other, "__gradcli_rank__", 0):
            return op(other, input) if reverse else op(input, other)
        if symbol or reverse:
            return NotImplemented
        raise not_a("Tensor", op.name, "other", 1, other)

    return method


def _marked(out: Tensor) -> Tensor:
    """A result that no graph leads to, marked where inference mode is on."""
    if current().inference:
        out.meta = InferenceMeta()
    return out


def _in_a_mode(out: Tensor, op: Operator, args: tuple) -> Tensor:
    """The result of an operation on what requires a gradient, where the state is not plain."""
    state = current()
    if state.grad:
        return apply(op, args, {})
    out.edge = None
    if state.inference:
        out.meta = InferenceMeta()
    return out


_ARRAYS = frozenset((np.ndarray, bool, complex, np.float64, np.float32, np.int64, np.bool_))


_NO_OPERANDS = frozenset((str, list, tuple, dict, set))


def _elsewhere(op: Operator, *args: Any) -> Any:
    """The operator on values of which the first is no Tensor; numbers give a number."""
    for i, value in enumerate(args):
        if value is None or value.__class__ in _NO_OPERANDS:
            argument = ("input", "exponent" if op.name == "pow" else "other")[i]
            raise not_a("Tensor", op.name, argument, i + 1, value)
    out = op(*args)
    if all(a.__class__ in NUMBERS for a in args) and isinstance(out, np.generic | np.ndarray):
        return out.item()
    return out
