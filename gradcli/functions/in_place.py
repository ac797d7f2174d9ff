"""Methods that write in place: ``x.add_(y)``, ``x += y``, ``x.clamp_(0, 1)``, ``x.t_()``.

An operator that works entry by entry writes its result to its first input. What is composed of
several is computed first and then written, and the graph runs through what was computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.grad_mode import current, inference_mode, no_grad
from gradcli.engine.graph.node import more, registered
from gradcli.engine.record.apply import flipped_view
from gradcli.engine.record.arguments import Operand
from gradcli.engine.record.composite import called, in_graph
from gradcli.engine.record.dtype_checks import of_truths, one_filling, one_number, same_dtype
from gradcli.engine.record.inplace import (
    check_writable,
    edge_before_write,
    overlap,
    overtake,
    read_first,
    rewrite,
    set_item,
    write_result,
)
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.functions.arithmetic import factor, has_truths
from gradcli.functions.index import found
from gradcli.functions.subscripts import plain_index, written
from gradcli.ops.errors import RuntimeFault, TypeFault, UnwrittenFault, bad_dtype, bad_type
from gradcli.ops.operator import OPERATORS, Operator, is_number
from gradcli.ops.torch_messages import no_cast, no_room, not_a, too_big


def writes(op: Operator) -> bool:
    """Whether an operator has a method that writes its result in place."""
    if op.dtypes == "keep":  # relu, floor; not isnan, whose results are truths, nor casts
        return op.kind == "elementwise" or (op.kind == "constant" and op.entrywise and op.recorded)
    return op.entrywise and op.dtypes in ("float", "promote")


def of_operator(op: Operator) -> Callable[..., Tensor]:
    """``x.op_(...)``."""

    def method(self: Tensor, *args: Any, **params: Any) -> Tensor:
        bound, params = op.bind((self, *args), params)
        overlap(self, *bound[1:])
        return write_result(self, op, *bound[1:], **params)

    method.declared = op  # type: ignore[attr-defined]
    return method


def augmented(op: Operator) -> Callable:
    """``x += y``."""

    def method(self: Tensor, other: Any) -> Tensor:
        if not is_value(other):
            return NotImplemented  # Python says that += is not for these two
        return write_result(self, op, read_first(self, other))

    return rebound(method)


def rebound(write: Callable) -> Callable:
    """``x += y`` by what writes it, where the mode does not give a number another value."""

    def method(self: Any, other: Any) -> Any:
        # Python takes x + y then.
        number = current().rebinds and not self.ndim and not _of_array(self)
        return NotImplemented if number else write(self, other)

    return method


def _of_array(value: Any) -> bool:
    """Whether what has no dimensions is a view of what has some: none is that an index reads."""
    if getattr(value, "aliases", True) is None:  # of a layer, whose content may be one all the same
        return False
    while hasattr(value, "content"):
        value = value.content
    return value._base is not None and value._base.ndim > value.ndim


def is_value(other: Any) -> bool:
    """Whether an operand of a sign, ``x + other``, is a tensor, an array or a number.

    Raises OverflowFault (E0303) for a whole number that 64 bits do not hold.
    """
    if other.__class__ is int and not (-(2**63) <= other < 2**64 or current().mixes):
        raise too_big(other)
    return hasattr(other, "__gradcli_rank__") or isinstance(
        other, int | float | complex | np.ndarray | np.generic
    )


def rewritten(function: Callable, by_index: bool = False) -> Callable[..., Tensor]:
    """``x.f_(...)``: what ``f`` gives, written to ``x``; the graph runs through ``f`` alone.

    ``by_index`` tells that entries of a source are written where an index says.
    """

    def method(self: Tensor, *args: Any, **options: Any) -> Tensor:
        if not isinstance(self, Plain):
            return getattr(self, f"{function.__name__}_")(*args, **options)
        given = [a for v in args for a in (v if isinstance(v, tuple | list) else (v,))]
        others = [a for a in given if isinstance(a, Plain) and (a.ndim or not by_index)]
        if not (by_index and any(a.dtype is dtypes.bool_ for a in others)):
            overlap(self, *others, apart=by_index)
        before = wrap(self.array.copy(), self.dtype, edge_before_write(self))
        try:
            result = function(before, *args, **options)
        except UnwrittenFault as fault:
            check_writable(self, ())
            raise (None if by_index else _wrong_result(self, args)) or fault from None
        if result is before:  # a write all the same: hooks from before are not those of now
            word = function.__name__.title().replace("_", "")
            result = called(OPERATORS["clone"](before), f"{word}Backward1")
        operator: Any = getattr(function, "operator", None)
        if getattr(operator, "dtypes", 0) == "compare":
            for a in (before, *others):  # whose slopes are 0, not missing
                if in_graph(a) and a.dtype is self.dtype:
                    result = result + OPERATORS["drawn"](a, numbers=np.zeros(()))
            name = f"{operator.name.capitalize()}Backward{len(others)}"
            result = called(result, name, before, *others)
        if options.get("dtype") and result.dtype is not self.dtype:
            said = f"input tensor dtype {self.dtype.c_name} and output tensor dtype"
            raise bad_dtype(f"Bad in-place call: {said} {result.dtype.c_name} should match")
        if result.dtype.kind > self.dtype.kind:
            raise _other_type(self, result.dtype)
        if result.__class__ is not Tensor:  # what stands for one in a transform
            return set_item(self, Ellipsis, result)
        if result.array.shape != self.array.shape:
            raise no_room(self.array.shape, result.array.shape)
        before.edge = self.edge  # to which a second gradient goes, by hooks of a view
        return set_item(self, Ellipsis, result, computed=True)

    method.declared = function  # type: ignore[attr-defined]
    return method


def _other_type(target: Tensor, dtype: dtypes.DType) -> RuntimeFault:
    return no_cast(dtype, target.dtype, "make the tensor a float tensor first")


def _wrong_result(target: Tensor, others: tuple) -> RuntimeFault | None:
    """What PyTorch finds first of a write in place: sizes, then the type of the result."""
    tensors = [v for v in others if isinstance(v, Plain)]
    shape = np.broadcast_shapes(target.array.shape, *(t.array.shape for t in tensors))
    if shape != target.array.shape:
        return no_room(target.array.shape, shape)
    high = max((t.dtype for t in tensors), key=lambda d: d.kind, default=target.dtype)
    return _other_type(target, high) if high.kind > target.dtype.kind else None


_TURNED_NAMES = {"t": "T", "swapaxes": "Transpose", "swapdims": "Transpose"}


def turned(name: str, function: Callable) -> Callable:
    """``x.t_()``: the same memory seen in another shape, under the same name.

    Recorded whatever the mode is, since the node of x is that of another shape.
    """
    shown = _TURNED_NAMES.get(name, "".join(word.capitalize() for word in name.split("_")))

    def method(self: Tensor, *args: Any, **options: Any) -> Tensor:
        if not isinstance(self, Plain):
            return getattr(self, f"{name}_")(*args, **options)
        self._refuse_captured()
        check_writable(self, ())
        meta = self._meta()
        before = self._alias(self.edge)
        before.meta = meta
        leaf = self._is_leaf
        with no_grad() if leaf else inference_mode(False):
            seen = function(before, *args, **options)
        self.array = seen.own_array()
        if not leaf:
            old, self.edge = self.edge, seen.edge
            if old is not seen.edge and (registered(old, "hooks") or registered(old, "kept")):
                more(seen.edge).earlier = old
            # PyTorch numbers the forms in place after the others.
            dim = [*args, *options.values(), None][0]
            form = 3 + (dim is not None) + isinstance(dim, tuple | list)
            called(self, f"{shown}Backward{form if name == 'squeeze' else 1}")
        elif self.edge is not None:
            self._outgrow()
        meta.version.bump()
        overtake(self)
        return self

    method.declared = function  # type: ignore[attr-defined]
    return method


def _with_alpha(name: str) -> Callable:
    op, scaled = OPERATORS[name], OPERATORS["add_scaled"]

    def method(self: Tensor, other: Operand, *, alpha: Any = 1) -> Tensor:
        overlap(self, other)
        if alpha.__class__ is not int or alpha != 1:
            alpha = factor("alpha", alpha, self, other)
        if alpha == 1 or (name == "sub" and has_truths(self, other)):
            return write_result(self, op, other)
        write_result(self, scaled, other, alpha=alpha if name == "add" else -alpha)
        return written(self, f"{name.capitalize()}Backward0")

    return method


def _zero(self: Tensor) -> Tensor:
    return set_item(self, Ellipsis, 0, one_number=True, name="ZeroBackward0")


def _fill(self: Tensor, value: Operand) -> Tensor:
    one_number(value)
    name = f"FillBackward{3 if isinstance(value, Plain) else 2}"
    return set_item(self, Ellipsis, value, one_number=True, name=name)


def _copy(self: Tensor, other: Operand, non_blocking: bool = False) -> Tensor:
    if other is self and 0 in self.array.strides:
        return rewrite(self)  # one place in memory may not be written twice, but this changes none
    overlap(self, flipped_view(other) if getattr(other, "_flips", False) else other)
    if isinstance(other, Plain) and other.array.ndim > self.array.ndim:
        raise no_room(self.shape, other.shape)
    return set_item(self, Ellipsis, other, name="CopyBackwards")


def _masked_fill(self: Tensor, mask: Tensor, value: Operand) -> Tensor:
    if getattr(mask, "__gradcli_rank__", 1) > 1:
        return set_item(self, Ellipsis, self.masked_fill(mask, value))
    of_truths("masked_fill_", mask, mask.dtype.c_name)
    overlap(self, mask)
    one_filling(value, "masked_fill_")
    if isinstance(value, Plain):
        self.dtype.entry(value.item())  # which raises where it does not fit
    name = f"MaskedFillBackward{int(isinstance(value, Plain))}"
    return set_item(self, plain_index(mask.expand(self.shape)), value, name=name)


def _addcmul(self: Tensor, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    return of_operator(OPERATORS["addcmul"])(self, tensor1, tensor2, value=value)


def _addcdiv(self: Tensor, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """``addcdiv``, written in place: only the quotient's node reads anything."""
    if self.dtype is dtypes.float16 or self._is_view():
        return rewritten(found("arithmetic.addcdiv"))(self, tensor1, tensor2, value=value)
    overlap(self, tensor1, tensor2)
    found("arithmetic.refuse_whole_quotient")(tensor1, tensor2)
    first = tensor1 if value == 1 else dtypes.meeting(tensor1, tensor2).entry(value) * tensor1
    write_result(self, OPERATORS["add"], first / tensor2)
    return written(self, "AddcdivBackward0", tensor1, tensor2)


def _lerp(self: Tensor, end: Tensor, weight: Operand) -> Tensor:
    if not is_number(weight):
        return rewritten(found("arithmetic.lerp"))(self, end, weight)
    same_dtype(self, end, "expected dtype {} for `end` but got dtype {}")
    overlap(self, end)
    return write_result(self, OPERATORS["lerp_number"], end, weight=weight)


def _div(self: Tensor, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode is None:
        overlap(self, other)
        return write_result(self, OPERATORS["div"], other)
    return rewritten(found("arithmetic.div"))(self, other, rounding_mode=rounding_mode)


def _float_power(self: Tensor, exponent: Operand) -> Tensor:
    wide = any(v.__class__ is complex or getattr(v, "is_complex", bool)() for v in (self, exponent))
    needed = dtypes.complex128 if wide else dtypes.float64
    if self.dtype is not needed:
        said = f"has dtype {self.dtype.scalar_name} but the operation's result requires dtype"
        raise bad_dtype(f"the base given to float_power_ {said} {needed.scalar_name}")
    return rewritten(found("arithmetic.float_power"))(self, exponent)


def _mapped(name: str, self: Tensor, others: tuple, function: Callable) -> Tensor:
    for other in others:
        if not isinstance(other, Plain):
            raise not_a("Tensor", name, "other", 1, other)
    if any(in_graph(t) for t in (self, *others)):
        said = f"Can't call {name}() on Variable that requires grad."
        raise RuntimeFault("E0404", f"{said} Use var.detach().{name}() instead.")
    for other in others:
        if other.dtype is not self.dtype:
            kinds = (f"torch.{t.dtype.scalar_name}Tensor" for t in (self, other))
            raise TypeFault("E0309", "{}: expected {} for 'other' (got {})".format(name, *kinds))
    given = [t.expand(self.shape).reshape(-1).tolist() for t in (self, *others)]
    found = [function(*entries) for entries in zip(*given, strict=True)]
    for value in found:
        if not is_number(value):
            raise bad_type(f"must be a number, not {type(value).__name__}")
    numbers = np.array(found, self.dtype.numpy).reshape(self.shape)
    return self.copy_(wrap(numbers, self.dtype))


def _apply(self: Tensor, callable: Callable) -> Tensor:
    """Each entry as ``callable`` makes it of the Python number that lies there."""
    return _mapped("apply_", self, (), callable)


def _map(self: Tensor, other: Tensor, function: Callable) -> Tensor:
    """Each entry as ``function`` makes it of the two Python numbers that lie there."""
    return _mapped("map_", self, (other,), function)


def _map2(self: Tensor, x: Tensor, y: Tensor, function: Callable) -> Tensor:
    """Each entry as ``function`` makes it of the three Python numbers that lie there."""
    return _mapped("map2_", self, (x, y), function)


METHODS: dict[str, Callable] = {
    "add_": _with_alpha("add"), "sub_": _with_alpha("sub"), "subtract_": _with_alpha("sub"),
    "div_": _div, "divide_": _div, "true_divide_": _div, "addcdiv_": _addcdiv, "lerp_": _lerp,
    "addcmul_": _addcmul, "float_power_": _float_power,
    "zero_": _zero, "fill_": _fill, "copy_": _copy, "masked_fill_": _masked_fill,
    "apply_": _apply, "map_": _map, "map2_": _map2,
}  # fmt: skip
"""Writes of which none is what the function of the name gives, written."""
