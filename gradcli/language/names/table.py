"""What a program can reach: one table of names, one of attributes. Nothing else exists for it.

``NAMES`` holds functions and constants by bare name, ``CALLED`` further functions. ``namespace``
gives what ``import torch``, ``import numpy`` and ``import math`` bring under a prefix.
``attribute`` finds methods and attributes by the type of the value, again from fixed tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gradcli.engine import dtypes, grad_mode
from gradcli.engine.backward.gradient_edges import GradientEdge, Handles
from gradcli.engine.creation import factories, sampling
from gradcli.engine.creation.generator import Generator
from gradcli.engine.dtypes import finfo, iinfo
from gradcli.engine.graph.node import AccumulateGrad, Handle, Node
from gradcli.engine.named_tuples import Extremes, Range, Results
from gradcli.engine.tensor.attributes import Size, Storage
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions import overloads
from gradcli.language.names import argument_checks, builtins, isinstance_types, namespaces
from gradcli.ops.errors import TypeFault
from gradcli.ops.operator import OPERATORS

CONSTANTS = {
    "pi": 3.141592653589793,
    "e": 2.718281828459045,
    "inf": float("inf"),
    "nan": float("nan"),
}


def _bare_names() -> dict[str, Any]:
    table: dict[str, Any] = dict(overloads.public_operators())
    for name in ("tensor", "ones", "zeros", "full", "eye", "arange", "linspace", "as_tensor"):
        table[name] = getattr(factories, name)
    for name in ("rand", "randn", "randint", "manual_seed"):
        table[name] = getattr(sampling, name)
    for name in ("numel", "is_tensor"):
        table[name] = getattr(overloads, name)
    # With PyTorch's optional parameters; gather(x, indices) here is the operator's own order.
    rich = namespaces.composed()
    table.update({n: f for n, f in rich.items() if n in table and n != "gather"})
    for name in ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode"):
        table[name] = getattr(grad_mode, name)
    table.update(CONSTANTS)
    table.update({d.name: d for d in dtypes.ALL if d.name != "bool"})
    table["double"] = dtypes.float64
    table["Tensor"] = factories.tensor
    table.update(builtins.TABLE)
    table["isinstance"] = isinstance_types.is_instance
    return table


NAMES: dict[str, Any] = _bare_names()
CALLED: dict[str, Any] = {
    name: function
    for name, function in {**namespaces.composed(), **namespaces.created()}.items()
    if name not in NAMES
}
"""Functions by bare names that are theirs only where they are called: ``t(A)``, but ``sin(t)``."""
_MAKERS = {
    "torch": namespaces.torch, "gradcli": namespaces.torch, "numpy": namespaces.numpy,
    "math": namespaces.math,
}  # fmt: skip
_made: dict[str, namespaces.Namespace] = {}


def function(name: str) -> Any:
    """What a bare name stands for where it is called."""
    return NAMES[name] if name in NAMES else CALLED[name]


def namespace(module: str) -> Mapping[str, Any] | None:
    """What ``import module`` gives, by dotted name; None for a module that is not known."""
    root, _, rest = module.partition(".")
    if root not in _MAKERS:
        return None
    if root not in _made:
        _made[root] = _MAKERS[root](NAMES)
    return _made[root].below(rest) if rest else _made[root]


# ---- Attributes ----------------------------------------------------------------------------------

_TENSOR_READ = [
    "shape", "ndim", "dtype", "device", "requires_grad", "is_leaf", "grad_fn", "grad", "data", "T",
    "mT", "mH", "real", "imag", "retains_grad", "output_nr", "is_cuda", "layout", "itemsize",
    "nbytes",
]  # fmt: skip
_TENSOR_CALL = [
    "size", "dim", "numel", "element_size", "is_floating_point", "is_contiguous", "stride",
    "nelement", "storage_offset", "is_complex", "is_signed", "is_inference", "half", "short",
    "char", "byte", "cfloat", "cdouble", "new", "new_tensor", "new_zeros", "new_ones", "new_full",
    "new_empty", "uniform_", "normal_", "bernoulli", "bernoulli_", "multinomial",
    "exponential_", "random_", "unfold", "swapdims", "swapdims_", "t_",
    "requires_grad_", "backward", "detach", "detach_", "retain_grad", "register_hook",
    "register_post_accumulate_grad_hook", "untyped_storage",
    "item", "tolist", "to", "type", "type_as", "float",
    "double", "long", "int", "bool", "conj", "cpu", "reshape", "view", "expand", "permute",
    "repeat", "flatten", "ravel", "t", "max", "min", "where", "zero_", "fill_", "copy_",
    "contiguous",
]  # fmt: skip


def _tensor_methods() -> dict[str, Any]:
    table = {name: getattr(Tensor, name) for name in _TENSOR_CALL if hasattr(Tensor, name)}
    table["tolist"] = argument_checks.to_list
    for op in OPERATORS.values():
        for name in (op.name, *op.aliases):
            for spelled in (name, f"{name}_"):
                method = getattr(Tensor, spelled, None)
                if callable(method) and not spelled.startswith("_"):
                    table.setdefault(spelled, method)
    for name in namespaces.composed():
        for spelled in (name, f"{name}_"):
            method = getattr(Tensor, spelled, None)
            if callable(method):
                table.setdefault(spelled, method)
    return table


WITHHELD = {
    "numpy": "tensors are the only arrays here; x.tolist() gives numbers",
    "data_ptr": "x.is_contiguous(), x.stride() and x.storage_offset() say how entries lie",
    "metadata": "a node's notes are a dictionary; keep them in a list of your own",
    "astype": "write x.to(torch.float32)",
    "param_groups": "an optimizer's groups are dictionaries; make another optimizer instead",
    "state_dict": "an optimizer's state is a dictionary",
    "getattr": "write the attribute: x.grad_fn",
    "setattr": "write the assignment: x.grad = None",
    "hasattr": "write the attribute: x.grad_fn",
    "type": "x.dtype is a tensor's element type; isinstance(x, torch.Tensor) asks",
}
"""Names that a tutorial may use and no program can, with what to write instead."""
READ: dict[type, tuple[str, ...]] = {
    Tensor: tuple(_TENSOR_READ),
    Node: ("next_functions",),
    AccumulateGrad: ("next_functions", "variable"),
    GradientEdge: ("node", "output_nr"),
    Extremes: ("values", "indices"),
    Range: ("min", "max"),
    dtypes.DType: ("is_floating_point", "is_complex", "itemsize"),
    Generator: ("device",),
    dtypes.Device: ("type", "index"),
    finfo: ("bits", "eps", "min", "max", "tiny", "smallest_normal", "resolution", "dtype"),
    iinfo: ("bits", "min", "max", "dtype"),
    float: ("real", "imag"),
    complex: ("real", "imag"),
}
"""Attributes that are read, by type (subclasses of Node count as Node)."""

_GENERATOR = ("manual_seed", "initial_seed", "seed", "get_state", "set_state")
CALL: dict[type, dict[str, Any]] = {
    Tensor: _tensor_methods(),
    Size: {"numel": Size.numel, **builtins.TUPLE_METHODS},
    Node: {"name": Node.name, "register_hook": Node.register_hook,
           "register_prehook": Node.register_prehook},
    AccumulateGrad: {
        "name": AccumulateGrad.name, "register_hook": AccumulateGrad.register_hook,
        "register_prehook": AccumulateGrad.register_prehook,
    },
    Handle: {"remove": Handle.remove},
    Handles: {"remove": Handles.remove},
    list: builtins.LIST_METHODS,
    tuple: builtins.TUPLE_METHODS,
    str: builtins.STRING_METHODS,
    Generator: {name: getattr(Generator, name) for name in _GENERATOR},
    Storage: {"nbytes": Storage.nbytes, "size": Storage.size},
    float: {"is_integer": float.is_integer},
}  # fmt: skip
"""Methods, by type."""

WRITE: dict[type, tuple[str, ...]] = {Tensor: ("grad", "requires_grad", "data")}
"""Attributes that may be assigned, by type."""


_CONTEXT = (
    "save_for_backward", "save_for_forward", "mark_dirty", "mark_non_differentiable",
    "set_materialize_grads",
)  # fmt: skip


def function_record(words: tuple[str, ...], *methods: Any) -> Any:
    """What a custom Function of a program is; its attributes join the tables when one is made.

    ``words`` are its name and the names of its methods.
    """
    from gradcli.engine.custom_function.context import Context
    from gradcli.engine.custom_function.function import Function, FunctionRecord
    from gradcli.engine.custom_function.function import function_record as record

    if FunctionRecord not in CALL:
        CALL[FunctionRecord] = {"apply": FunctionRecord.apply}
        CALL[Context] = {word: getattr(Context, word) for word in _CONTEXT}
        READ[Context] = ("saved_tensors", "needs_input_grad")
        OWN.add(Context)
    name, *called = words
    given = dict(zip(called, methods, strict=True))
    if "vmap" in given:
        from gradcli.transforms.batched import VmapInfo

        READ[VmapInfo] = VmapInfo._fields
    return record(name, given.pop("forward"), given.pop("backward", Function.backward), **given)


OWN: set[type] = set()
"""Types whose instances take any further attribute: the ctx of a custom Function."""


def _family(value: Any) -> type:
    kind = value.__class__
    if kind in CALL:
        return kind
    if isinstance(value, Tensor):  # a Parameter
        return Tensor
    if isinstance(value, Node):
        return AccumulateGrad if kind is AccumulateGrad else Node
    if isinstance(value, Results):
        return Range if kind is Range else Extremes
    return float if kind is np.float64 else kind


def attribute(value: Any, name: str) -> Any:
    """``value.name`` as the tables have it. Raises TypeFault (E0204), with the nearest name."""
    own = getattr(type(value), "__gradcli_node__", None)
    if own is not None:  # the node of a custom Function: in PyTorch it is ctx
        value = own(value)
        if name in value.ctx.__dict__:
            return value.ctx.__dict__[name]
        if name in READ[value.ctx.__class__]:
            return getattr(value.ctx, name)
    kind = _family(value)
    if getattr(value, "__gradcli_rank__", 0) and kind not in CALL:
        return _of_stand_in(value, name)
    method = CALL.get(kind, {}).get(name)
    if method is not None:
        if kind is Tensor:
            method = argument_checks.gated_method(name, method, None)
        return lambda *args, **options: method(value, *args, **options)
    if name in WITHHELD:
        raise TypeFault("E0204", f"programs cannot use `{name}`", help=WITHHELD[name])
    if name in READ.get(kind, ()):
        return getattr(value, name)
    if kind in OWN and name in value.__dict__:
        return value.__dict__[name]
    raise unknown_attribute(kind, name)


def _of_stand_in(value: Any, name: str) -> Any:
    """An attribute of what stands for a tensor inside a transform: a tangent, a batch."""
    if name in READ[Tensor]:
        return getattr(value, name)
    method = getattr(value, name, None) if name in CALL[Tensor] else None
    if method is None:
        raise unknown_attribute(Tensor, name)
    return lambda *args, **options: method(
        *map(argument_checks.light, args),
        **{k: argument_checks.light(v) for k, v in options.items()},
    )


def unknown_attribute(kind: type, name: str) -> TypeFault:
    """The error for an attribute that is not in the tables."""
    from gradcli.language.diagnostics.articles import a_kind
    from gradcli.language.diagnostics.foreign_names import ATTRIBUTES, OF_LISTS
    from gradcli.language.diagnostics.render import closest

    near = closest(name, attributes_of(kind))
    mend = f"did you mean `{near}`?" if near else None
    if kind.__name__ in ("function", "builtin_function_or_method", "Operator"):
        mend = "to use what it gives, call it first: x.sum().item()"
    elif kind is list:
        mend = OF_LISTS.get(name, mend)
    elif kind is Tensor or mend is None:
        mend = ATTRIBUTES.get(name, mend)
    return TypeFault("E0204", f"{a_kind(kind.__name__)} has no attribute `{name}`", help=mend)


def attributes_of(kind: type) -> Iterator[str]:
    """The names that ``attribute`` knows for a type."""
    yield from CALL.get(kind, {})
    yield from READ.get(kind, ())


def set_attribute(value: Any, name: str, new: Any) -> None:
    """``value.name = new``, for the few attributes one may write. Raises TypeFault (E0204)."""
    if name in WRITE.get(_family(value), ()):
        if name == "data" and not isinstance(new, Tensor):
            from gradcli.language.diagnostics.articles import a_value

            raise TypeFault("E0303", f"data must be a tensor, got {a_value(new)}")
        setattr(value, name, new)
        return
    if value.__class__ in OWN and name not in attributes_of(value.__class__):
        value.__dict__[name] = new
        return
    if name in attributes_of(_family(value)):
        raise TypeFault("E0204", f"attribute `{name}` cannot be assigned")
    raise unknown_attribute(_family(value), name)
