"""Gives Tensor the composed functions as methods, and their forms that write in place.

Loaded after ``methods``, which installs the operators: where both have a name, the function with
PyTorch's optional parameters is the method, and Python's own operator (``x + y``) keeps the short
way of the operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation import factories
from gradcli.engine.grad_mode import mode
from gradcli.engine.graph.node import AccumulateGrad
from gradcli.engine.record.composite import called, reshaped
from gradcli.engine.record.inplace import set_item, write_result
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.functions import (
    arithmetic,
    bitwise,
    copies,
    counting,
    matrices,
    products,
    reductions,
    reshaping,
    scatter,
    sorting,
    statistics,
    strided,
)
from gradcli.functions.operator_methods import overlap, plain_index, sizes_method
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import RuntimeFault, UnwrittenFault
from gradcli.ops.operator import OPERATORS, is_number, refuse_derivative

COMPOSED = (
    arithmetic, reductions, products, bitwise, reshaping, sorting, counting, statistics, scatter,
    strided, matrices, copies,
)  # fmt: skip
"""The modules of functions that are composed of operators."""
_REWRITTEN = (
    "clamp_min", "clamp_max", "nan_to_num", "copysign", "masked_fill", "scatter",
    "scatter_add", "index_add", "index_copy", "index_fill", "tril", "triu", "round", "deg2rad",
    "rad2deg", "floor_divide", "logical_not", "cumsum", "cumprod", "index_put",
    "masked_scatter", "scatter_reduce", "renorm", "ldexp", "addmm", "addmv", "addr", "addbmm",
    "baddbmm", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "float_power",
    "trunc", "frac", "fix", "sign", "sgn", "eq", "ne", "lt", "le", "gt", "ge", "gcd", "lcm",
    "logical_and", "logical_or", "logical_xor", "bitwise_left_shift", "bitwise_right_shift",
)  # fmt: skip
_TURNED = ("squeeze", "unsqueeze", "t", "transpose", "swapaxes", "swapdims")


def _with_alpha(name: str) -> Callable:
    op, scaled = OPERATORS[name], OPERATORS["add_scaled"]

    def method(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
        overlap(self, other)
        if alpha.__class__ is not int:
            refuse_derivative(f"{name}_", alpha=alpha)
        if alpha == 1:
            return write_result(self, op, other)
        write_result(self, scaled, other, alpha=alpha if name == "add" else -alpha)
        return called(self, f"{name.capitalize()}Backward0")

    return method


def _rewritten(function: Callable) -> Callable:
    """``x.f_(...)``: what ``f`` gives, written to ``x``; the graph runs through ``f`` alone."""

    def method(self: Tensor, *args: Any, **options: Any) -> Tensor:
        before = wrap(self.array.copy(), self.dtype, self.edge)
        try:
            result = function(before, *args, **options)
        except UnwrittenFault as fault:
            raise _no_room(self, args) or fault from None
        if result.dtype.kind > self.dtype.kind:
            raise _other_type(self, result.dtype)
        if result.__class__ is not Tensor:  # what stands for one in a transform
            set_item(self, Ellipsis, result)
            return self
        node = result.edge
        set_item(self, Ellipsis, result)
        is_view = self.meta is not None and self.meta.base is not None
        if node is not None and not is_view:
            self.edge = node
        return self

    return method


def _other_type(target: Tensor, dtype: dtypes.DType) -> RuntimeFault:
    return RuntimeFault(
        "E0309",
        f"result type {dtype.name} can't be cast to the desired output type {target.dtype.name}",
        help="make the tensor a float tensor first",
        torch=f"result type {dtype.scalar_name} can't be cast to the desired output type "
        f"{target.dtype.scalar_name}",
    )


def _no_room(target: Tensor, others: tuple) -> RuntimeFault | None:
    """What PyTorch finds first of a write in place: sizes, then the type of the result."""
    tensors = [v for v in others if isinstance(v, Tensor)]
    shape = np.broadcast_shapes(target.array.shape, *(t.array.shape for t in tensors))
    if shape != target.array.shape:
        return RuntimeFault(
            "E0301",
            f"output with shape {list(target.array.shape)} doesn't match the broadcast shape "
            f"{list(shape)}",
            help="an in-place write cannot grow its target",
        )
    high = max((t.dtype for t in tensors), key=lambda d: d.kind, default=target.dtype)
    return _other_type(target, high) if high.kind > target.dtype.kind else None


def _sharing(method: Callable) -> Callable:
    """A view of a 0-d tensor shares its memory too: its number gets memory first."""

    def shared(self: Tensor, *args: Any, **options: Any) -> Any:
        if not self.array.ndim:
            self.own_array()
        return method(self, *args, **options)

    shared.__name__ = shared.__qualname__ = method.__name__
    shared.__doc__ = method.__doc__
    return shared


def _named_reshape(reshape: Callable) -> Callable:
    def method(self: Tensor, *shape: Any, **options: Any) -> Tensor:
        return reshaped(reshape(self, *shape, **options), self)

    method.__name__ = method.__qualname__ = "reshape"
    method.__doc__ = reshape.__doc__
    return method


def _turned(function: Callable) -> Callable:
    """``x.t_()``: the same memory seen in another shape, under the same name."""

    def method(self: Tensor, *args: Any) -> Tensor:
        if mode.grad and self.edge.__class__ is AccumulateGrad:
            raise RuntimeFault(
                "E0408",
                "a leaf Variable that requires grad is being used in an in-place operation.",
                help="write x = x.t(), or change it inside no_grad()",
            )
        seen = function(wrap(self.own_array(), self.dtype, self.edge), *args)
        self.array, self.edge = seen.array, seen.edge
        return self

    return method


def _masked_fill(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    if not isinstance(mask, Tensor) and hasattr(mask, "__gradcli_rank__"):
        set_item(self, Ellipsis, self.masked_fill(mask, value))
        return self
    set_item(self, plain_index(mask.expand(self.shape)), value)
    is_view = self.meta is not None and self.meta.base is not None
    return self if is_view else called(self, "MaskedFillBackward0")


def _like(make: Callable) -> Callable:
    def method(
        self: Tensor, *size: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None
    ) -> Tensor:
        return make(
            *size, dtype=self.dtype if dtype is None else dtype, requires_grad=requires_grad
        )

    return method


def _new(self: Tensor, *data: Any) -> Tensor:
    return factories.typed(self.dtype, "new")(*data)


def _stride(self: Tensor, dim: int | None = None) -> Any:
    steps = tuple(s // self.dtype.itemsize for s in self.own_array().strides)
    return steps if dim is None else steps[normal_dim(dim, len(steps))]


def _storage_offset(self: Tensor) -> int:
    array = base = self.own_array()
    while isinstance(base.base, np.ndarray):
        base = base.base
    start, first = (a.__array_interface__["data"][0] for a in (array, base))
    return (start - first) // self.dtype.itemsize


def _kin(op: str) -> Callable:
    function = OPERATORS[op]
    return lambda self, *args, **options: function(self, *args, **options)


def install() -> None:
    """Put everything on Tensor. Called once, when the engine is loaded."""
    for module in COMPOSED:
        for function in module.BOTH:
            setattr(Tensor, function.__name__, function)
        for name, function in module.ALIASES.items():
            setattr(Tensor, name, function)
    for name in ("add", "sub"):
        setattr(Tensor, f"{name}_", _with_alpha(name))
    Tensor.addcdiv_, Tensor.lerp_ = _addcdiv, _lerp
    for name in (*_REWRITTEN, "pow", "clamp", "clip"):
        setattr(Tensor, f"{name}_", _rewritten(getattr(Tensor, name)))
    Tensor.swapdims = Tensor.swapaxes
    for name in ("view", "reshape", "unsqueeze", "squeeze", "expand", "flatten", "t"):
        setattr(Tensor, name, _sharing(getattr(Tensor, name)))
    Tensor.broadcast_to = Tensor.expand
    Tensor.reshape = _named_reshape(Tensor.reshape)
    for name in _TURNED:
        setattr(Tensor, f"{name}_", _turned(getattr(Tensor, name)))
    Tensor.masked_fill_ = _masked_fill
    for name, make in (("zeros", factories.zeros), ("ones", factories.ones),
                       ("full", factories.full), ("empty", factories.empty),
                       ("tensor", factories.tensor)):  # fmt: skip
        setattr(Tensor, f"new_{name}", _like(make))
    Tensor.new = _new
    Tensor.stride, Tensor.storage_offset = _stride, _storage_offset
    for word, function in (("and", bitwise.bitwise_and), ("or", bitwise.bitwise_or),
                           ("xor", bitwise.bitwise_xor), ("lshift", bitwise.bitwise_left_shift),
                           ("rshift", bitwise.bitwise_right_shift)):  # fmt: skip
        setattr(Tensor, f"__{word}__", function)
        setattr(Tensor, f"__r{word}__", lambda self, other, f=function: f(self, other))
    Tensor.__invert__ = bitwise.bitwise_not
    Tensor.tile = sizes_method(OPERATORS["tile"])
    Tensor.fill_diagonal_ = counting.fill_diagonal_
    Tensor.logsumexp = _kin("logsumexp")
    Tensor.unfold = scatter.unfold


def _addcdiv(self: Tensor, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """``addcdiv``, written in place: only the quotient's node reads anything."""
    first = tensor1 if value == 1 else value * tensor1
    return called(write_result(self, OPERATORS["add"], first / tensor2), "AddcdivBackward0")


def _lerp(self: Tensor, end: Any, weight: Any) -> Tensor:
    if is_number(weight):
        return write_result(self, OPERATORS["lerp_number"], end, weight=weight)
    return called(write_result(self, OPERATORS["add"], weight * (end - self)), "LerpBackward1")


def functions() -> dict[str, Any]:
    """What the module ``gradcli`` offers beside the operators."""
    table: dict[str, Any] = {}
    for module in COMPOSED:
        for function in (*module.BOTH, *module.ALONE):
            table[function.__name__] = function
        table.update(module.ALIASES)
    table["swapdims"] = OPERATORS["transpose"]
    return table


install()
