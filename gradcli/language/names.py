"""What a program can reach: one table of names, one of attributes. Nothing else exists for it.

``NAMES`` holds functions and constants by bare name. ``NAMESPACES`` holds what ``import torch``,
``import numpy`` and ``import math`` give under a prefix: the same functions, and PyTorch's meaning
where it differs on a bare name (``max(a, b)`` is elementwise, ``torch.max(x)`` PyTorch's).
``attribute`` finds methods and attributes by the type of the value, again from fixed tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradcli import engine
from gradcli.engine import creation, dtypes, functions, modes
from gradcli.engine.graph import AccumulateGrad, Handle, Node
from gradcli.engine.methods import Extremes
from gradcli.engine.tensor import Size, Tensor
from gradcli.language import builtins, gate
from gradcli.ops.core import OPERATORS
from gradcli.ops.errors import TypeFault

CONSTANTS = {
    "pi": 3.141592653589793,
    "e": 2.718281828459045,
    "inf": float("inf"),
    "nan": float("nan"),
}

_SPREAD = {"std": "std", "var": "var", "mean": "mean", "prod": "prod", "norm": "norm"}


def _created(name: str) -> Callable:
    return getattr(creation, name)


def _bare_names() -> dict[str, Any]:
    table: dict[str, Any] = dict(functions.public_operators())
    for name in ("tensor", "ones", "zeros", "full", "eye", "arange", "linspace", "rand", "randn",
                 "randint", "as_tensor", "manual_seed"):  # fmt: skip
        table[name] = _created(name)
    for name in ("numel", "is_tensor", "allclose", "equal"):
        table[name] = getattr(functions, name)
    for name in ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode"):
        table[name] = getattr(modes, name)
    table.update(CONSTANTS)
    table.update({d.name: d for d in dtypes.ALL if d.name != "bool"})
    table["double"] = dtypes.float64
    table["Tensor"] = creation.tensor
    table.update(builtins.TABLE)
    return table


def _torch() -> dict[str, Any]:
    table = dict(NAMES)
    for name in builtins.PYTHON_ONLY:
        table.pop(name, None)
    table.update(
        max=functions.torch_max, min=functions.torch_min, sum=OPERATORS["sum"],
        abs=Tensor.abs, pow=Tensor.pow, round=OPERATORS["round"], all=OPERATORS["all"],
        any=OPERATORS["any"], float=dtypes.float32, int=dtypes.int32, bool=dtypes.bool_,
        long=dtypes.int64, from_numpy=creation.as_tensor, Tensor=Tensor,
    )  # fmt: skip
    from gradcli.engine.function import Function

    table["autograd.Function"] = Function
    table["autograd.grad"] = engine.grad
    table["autograd.backward"] = engine.backward
    for name in ("relu", "softmax", "log_softmax", "sigmoid", "tanh", "softplus", "elu",
                 "leaky_relu", "logsigmoid", "softsign", "hardtanh"):  # fmt: skip
        table[f"nn.functional.{name}"] = NAMES[name]
    for name in ("norm",):
        table[f"linalg.{name}"] = NAMES[name]
    return table


def _numpy() -> dict[str, Any]:
    table = dict(NAMES)
    table.update(array=creation.tensor, max=functions.torch_max, min=functions.torch_min,
                 sum=OPERATORS["sum"], abs=Tensor.abs)  # fmt: skip
    table["linalg.norm"] = NAMES["norm"]
    return table


def _math() -> dict[str, Any]:
    wanted = (
        "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 "
        "log10 log1p sqrt cbrt hypot floor ceil trunc pow isnan isinf isfinite pi e inf nan prod"
    )
    return {name: NAMES[name] for name in wanted.split()}


NAMES: dict[str, Any] = _bare_names()
_MAKERS = {"torch": _torch, "gradcli": _torch, "numpy": _numpy, "math": _math}
_made: dict[str, dict[str, Any]] = {}


def namespace(module: str) -> dict[str, Any] | None:
    """What ``import module`` gives, by dotted name; None for a module that is not known."""
    if module in _MAKERS and module not in _made:
        _made[module] = _MAKERS[module]()
    if module in _made:
        return _made[module]
    root, _, rest = module.partition(".")
    if rest and root in _MAKERS:
        inner = {
            name.removeprefix(f"{rest}."): value
            for name, value in (namespace(root) or {}).items()
            if name.startswith(f"{rest}.")
        }
        return inner or None
    return None


# ---- Attributes ----------------------------------------------------------------------------------

_TENSOR_READ = [
    "shape", "ndim", "dtype", "device", "requires_grad", "is_leaf", "grad_fn", "grad", "data", "T",
    "mT", "real", "imag", "retains_grad",
]  # fmt: skip
_TENSOR_CALL = [
    "size", "dim", "numel", "element_size", "is_floating_point", "is_contiguous", "stride",
    "requires_grad_", "backward", "detach", "detach_", "retain_grad", "register_hook",
    "register_post_accumulate_grad_hook", "item", "tolist", "to", "type", "type_as", "float",
    "double", "long", "int", "bool", "conj", "cpu", "reshape", "view", "expand", "permute",
    "repeat", "flatten", "ravel", "t", "max", "min", "where", "zero_", "fill_", "copy_",
    "contiguous",
]  # fmt: skip


def _tensor_methods() -> dict[str, Any]:
    table = {name: getattr(Tensor, name) for name in _TENSOR_CALL}
    table["tolist"] = gate.to_list
    for op in OPERATORS.values():
        for name in (op.name, *op.aliases):
            for spelled in (name, f"{name}_"):
                method = getattr(Tensor, spelled, None)
                if callable(method) and not spelled.startswith("_"):
                    table.setdefault(spelled, method)
    return table


READ: dict[type, tuple[str, ...]] = {
    Tensor: tuple(_TENSOR_READ),
    Node: ("next_functions",),
    AccumulateGrad: ("next_functions", "variable"),
    Extremes: ("values", "indices"),
    float: ("real", "imag"),
    complex: ("real", "imag"),
}
"""Attributes that are read, by type (subclasses of Node count as Node)."""

CALL: dict[type, dict[str, Any]] = {
    Tensor: _tensor_methods(),
    Size: {"numel": Size.numel, **builtins.TUPLE_METHODS},
    Node: {"name": Node.name, "register_hook": Node.register_hook,
           "register_prehook": Node.register_prehook},
    Handle: {"remove": Handle.remove},
    list: builtins.LIST_METHODS,
    tuple: builtins.TUPLE_METHODS,
    str: builtins.STRING_METHODS,
    float: {"is_integer": float.is_integer},
}  # fmt: skip
"""Methods, by type."""

WRITE: dict[type, tuple[str, ...]] = {Tensor: ("grad", "requires_grad", "data")}
"""Attributes that may be assigned, by type."""


def function_record(name: str, forward: Any, backward: Any) -> Any:
    """What a custom Function of a program is; its attributes join the tables when one is made."""
    from gradcli.engine.context import Context
    from gradcli.engine.function import FunctionRecord
    from gradcli.engine.function import function_record as record

    if FunctionRecord not in CALL:
        CALL[FunctionRecord] = {"apply": FunctionRecord.apply}
        words = "save_for_backward mark_dirty mark_non_differentiable set_materialize_grads"
        CALL[Context] = {word: getattr(Context, word) for word in words.split()}
        READ[Context] = ("saved_tensors", "needs_input_grad")
        OWN.add(Context)
    return record(name, forward, backward)


OWN: set[type] = set()
"""Types whose instances take any further attribute: the ctx of a custom Function."""


def _family(value: Any) -> type:
    kind = value.__class__
    if kind in CALL:
        return kind
    if isinstance(value, Node):
        return AccumulateGrad if kind is AccumulateGrad else Node
    return float if kind is np.float64 else kind


def attribute(value: Any, name: str) -> Any:
    """``value.name`` as the tables have it. Raises TypeFault (E0204), with the nearest name."""
    kind = _family(value)
    method = CALL.get(kind, {}).get(name)
    if method is not None:
        if kind is Tensor:
            method = gate.gated_method(name, method, None)
        return lambda *args, **options: method(value, *args, **options)
    if name in READ.get(kind, ()):
        return getattr(value, name)
    if kind in OWN and name in value.__dict__:
        return value.__dict__[name]
    raise unknown_attribute(kind, name)


def unknown_attribute(kind: type, name: str) -> TypeFault:
    """The error for an attribute that is not in the tables."""
    from gradcli.language.diagnostics import closest

    near = closest(name, attributes_of(kind))
    what = "tensor" if kind is Tensor else "function" if callable(kind) and kind.__name__ in (
        "function", "Operator") else kind.__name__  # fmt: skip
    return TypeFault(
        "E0204",
        f"a {what} has no attribute `{name}`",
        help=f"did you mean `{near}`?" if near else None,
    )


def attributes_of(kind: type) -> Iterator[str]:
    """The names that ``attribute`` knows for a type."""
    yield from CALL.get(kind, {})
    yield from READ.get(kind, ())


def set_attribute(value: Any, name: str, new: Any) -> None:
    """``value.name = new``, for the few attributes one may write. Raises TypeFault (E0204)."""
    if name in WRITE.get(value.__class__, ()):
        if name == "data" and not isinstance(new, Tensor):
            raise TypeFault("E0303", f"data must be a tensor, got a {type(new).__name__}")
        setattr(value, name, new)
        return
    if value.__class__ in OWN and name not in attributes_of(value.__class__):
        value.__dict__[name] = new
        return
    if name in attributes_of(_family(value)):
        raise TypeFault("E0204", f"attribute `{name}` cannot be assigned")
    raise unknown_attribute(_family(value), name)
