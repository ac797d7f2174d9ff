"""The attributes and methods of values in a program, by the type of the value: fixed tables.

Nothing else exists for a program. A type that is loaded only when a program asks for it (a layer,
an optimizer, the ctx of a custom Function) joins the tables then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.backward.gradient_edges import GradientEdge, Handles
from gradcli.engine.creation import sampling
from gradcli.engine.creation.generator import Generator
from gradcli.engine.dtypes import finfo, iinfo
from gradcli.engine.grad_mode import mode
from gradcli.engine.graph.node import AccumulateGrad, Node, RemovableHandle
from gradcli.engine.named_tuples import Results
from gradcli.engine.tensor.attributes import Size, Storage
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions import methods
from gradcli.functions.index import LATER_METHODS
from gradcli.language.names import argument_checks, builtins, identity, mappings, settings
from gradcli.language.names.calling import checking, own_name
from gradcli.language.names.exceptions import UnknownAttribute
from gradcli.language.names.texts import STRING_METHODS
from gradcli.language.type_names import a_value
from gradcli.ops.errors import TypeFault, bad_type
from gradcli.ops.operator import OPERATORS

# What programs may read and call is a decision about safety, not a fact of an operator.
_TENSOR_READ = [
    "shape", "ndim", "dtype", "device", "requires_grad", "is_leaf", "grad_fn", "grad", "data", "T",
    "mT", "mH", "real", "imag", "retains_grad", "output_nr", "is_cuda", "layout", "itemsize",
    "nbytes", "_version", "_base", "names", "is_sparse", "is_quantized",
]  # fmt: skip
_TENSOR_CALL = [
    "size", "dim", "numel", "element_size", "is_floating_point", "is_contiguous", "stride",
    "nelement", "storage_offset", "is_complex", "is_signed", "is_inference", "half", "short",
    "char", "byte", "cfloat", "cdouble", "new", "new_tensor", "new_zeros", "new_ones", "new_full",
    "new_empty", "requires_grad_", "backward", "detach", "detach_", "retain_grad", "register_hook",
    "register_post_accumulate_grad_hook", "untyped_storage", "item", "tolist", "to", "type",
    "type_as", "float", "double", "long", "int", "bool", "cpu", "view", "repeat", "flatten", "max",
    "min", "zero_", "copy_", "contiguous", "_is_view", *(m.__name__ for m in sampling.METHODS),
]  # fmt: skip


def _numpy(x: Any, force: Any = False) -> Any:
    """``x.numpy()``: an array that prints as NumPy's."""
    arrays = import_module("gradcli.language.names.numpy.arrays")  # few programs have arrays
    return arrays.of_tensor(x.detach() if force else x)


def _copied(x: Any) -> Any:
    """``x.copy()`` of an array. Raises UnknownAttribute (E0204) in a text of tensors."""
    if not mode.rebinds:
        raise UnknownAttribute(Tensor, "copy")
    return OPERATORS["clone"](x)


def _recast(x: Any, dtype: Any) -> Any:
    """``x.astype(dtype)`` of an array, another one; E0204 in a text of tensors."""
    if not mode.rebinds:
        raise TypeFault("E0204", "programs cannot use `astype`", help=WITHHELD["astype"])
    arrays = import_module("gradcli.language.names.numpy.arrays")
    return OPERATORS["clone"](x).to(arrays.element_type(dtype))


OF_ARRAYS: dict[str, Any] = {"copy": _copied, "astype": _recast}
"""Methods of tensors that stand for arrays, in texts without tensors."""
NUMBERS = {"item": argument_checks.to_number, "tolist": argument_checks.to_list}
"""Methods that give Python's numbers."""


def _tensor_methods() -> dict[str, Any]:
    table = {
        name: methods.METHODS[name] if name in methods.METHODS else getattr(Tensor, name)
        for name in _TENSOR_CALL
        if hasattr(Tensor, name)
    }
    table |= NUMBERS
    table["data_ptr"] = identity.data_pointer
    table["numpy"] = _numpy
    table |= OF_ARRAYS
    operators = (name for op in OPERATORS.values() for name in (op.name, *op.aliases))
    for base in (*operators, *methods.COMPOSED, *LATER_METHODS, "put", "slogdet", "resize_as"):
        for name in (base, f"{base}_"):  # and in place
            method = methods.METHODS.get(name) or getattr(Tensor, name, None)
            if callable(method) and not name.startswith("_"):
                table.setdefault(name, method)
    return table


WITHHELD = {"astype": "write x.to(torch.float32); an array of NumPy has it"}
"""Names that a tutorial may use and no program can, with what to write instead."""
READ: dict[type, tuple[str, ...]] = {
    Tensor: tuple(_TENSOR_READ), Node: ("next_functions", "metadata"),
    AccumulateGrad: ("next_functions", "variable", "metadata"), GradientEdge: ("node", "output_nr"),
    Results: (),
    dtypes.DType: ("is_floating_point", "is_complex", "itemsize"), Generator: ("device",),
    dtypes.Device: ("type", "index"),
    finfo: ("bits", "eps", "min", "max", "tiny", "smallest_normal", "resolution", "dtype"),
    iinfo: ("bits", "min", "max", "dtype"), float: ("real", "imag"), complex: ("real", "imag"),
}  # fmt: skip
"""Attributes that are read, by type (subclasses of Node count as Node)."""

_OF_NODES = ("name", "register_hook", "register_prehook")
_GENERATOR = ("manual_seed", "initial_seed", "seed", "get_state", "set_state")
CALL: dict[type, dict[str, Any]] = {
    Tensor: _tensor_methods(), Size: {"numel": Size.numel, **builtins.TUPLE_METHODS},
    **{kind: {name: getattr(kind, name) for name in _OF_NODES} for kind in (Node, AccumulateGrad)},
    RemovableHandle: {"remove": RemovableHandle.remove}, Handles: {"remove": Handles.remove},
    list: builtins.LIST_METHODS, tuple: builtins.TUPLE_METHODS, str: STRING_METHODS,
    dict: mappings.DICT_METHODS, mappings.Set: mappings.SET_METHODS, mappings.View: {},
    Generator: {name: getattr(Generator, name) for name in _GENERATOR},
    Storage: {"nbytes": Storage.nbytes, "size": Storage.size},
    float: {"is_integer": float.is_integer},
}  # fmt: skip
"""Methods, by type."""

WRITE: dict[type, tuple[str, ...]] = {Tensor: ("grad", "requires_grad", "data")}
"""Attributes that may be assigned, by type."""

OWN: set[type] = set()
"""Types whose instances take any further attribute: the ctx of a custom Function."""


def _family(value: Any) -> type:
    kind = value.__class__
    if kind in CALL:
        return kind
    if isinstance(value, dict):
        return dict
    if Tensor in kind.__mro__:  # a Parameter; a batch is an instance, too, with methods of its own
        return Tensor
    if isinstance(value, Node):
        return AccumulateGrad if kind is AccumulateGrad else Node
    if isinstance(value, Results):
        return Results
    return float if kind is np.float64 else kind


_SAVED = re.compile(r"_(?:raw_)?saved_[a-z0-9_]+")


def attribute(value: Any, name: str) -> Any:
    """``value.name`` as the tables have it. Raises UnknownAttribute (E0204)."""
    lookup = getattr(type(value), "__gradcli_get__", None)
    if lookup is not None:
        return lookup(value, name)
    if name in settings.OTHERWISE and not mode.arrays:
        settings.plain_tensor(value, name)
    if name in settings.INSTEAD and mode.arrays and hasattr(value, "__gradcli_rank__"):
        arrays = import_module("gradcli.language.names.numpy.arrays")  # few programs have arrays
        if name in settings.WRITING:
            return partial(arrays.WRITES[name], value)
        if not hasattr(value, "of_numpy"):
            return value.numel() if name == "size" else arrays.method_of(value, name)
    own = getattr(type(value), "__gradcli_node__", None)
    said = ""
    if own is not None:  # the node of a custom Function: in PyTorch it is ctx
        said = own(value).name()
        value = own(value)
        if name in value.ctx.__dict__:
            return value.ctx.__dict__[name]
        if name in READ[value.ctx.__class__]:
            return getattr(value.ctx, name)
        if name == "name":
            return lambda: said
    kind = _family(value)
    if getattr(value, "__gradcli_rank__", 0) and kind not in CALL:
        return _of_stand_in(value, name)
    method = CALL.get(kind, {}).get(name)
    if method is not None and (mode.rebinds or method is not OF_ARRAYS.get(name)):
        if kind is Tensor:
            method = argument_checks.method_with_checks(name, method, None)
        return lambda *args, **options: method(value, *args, **options)
    if name == "__name__" and callable(value):
        shown = getattr(value, "__gradcli_shown__", "")
        if shown:  # <class 'float'>
            return shown[8:-2].rpartition(".")[2]
        return own_name(value, "function")
    if issubclass(kind, Node) and _SAVED.fullmatch(name) and hasattr(value, name):
        return getattr(value, name)
    if name in WITHHELD:
        raise TypeFault("E0204", f"programs cannot use `{name}`", help=WITHHELD[name])
    if name in READ.get(kind, ()):
        return getattr(value, name)
    if kind in OWN and name in value.__dict__ and name[:1] != "_":
        return value.__dict__[name]
    if isinstance(value, Results) and name in value.fields:
        return tuple.__getitem__(value, value.fields.index(name))
    raise UnknownAttribute(kind, name, said)


def _check_name(name: Any, function: str, example: str) -> None:
    """Raise TypeFault (E0303) for what is no name that a program can write."""
    if not isinstance(name, str) or name[:2] == "__":
        said = f"{function} takes a name in quotes"
        raise bad_type(said, help=f"{function}(x, {example})")


def named_attribute(value: Any, name: Any, *default: Any) -> Any:
    """``getattr(value, name, default)``: by the same tables, of names that a program can write."""
    _check_name(name, "getattr", '"grad_fn"')
    try:
        return attribute(value, name)
    except AttributeError:
        if not default:
            raise
        return default[0]


def has_attribute(value: Any, name: Any) -> bool:
    """``hasattr(value, name)``."""
    return named_attribute(value, name, _MISSING) is not _MISSING


_MISSING = object()


def set_named_attribute(value: Any, name: Any, new: Any) -> None:
    """``setattr(value, name, new)``."""
    _check_name(name, "setattr", '"grad", None')
    set_attribute(value, name, new)


def delete_attribute(value: Any, name: str) -> None:
    """``del value.name``: a field of what the program made. Raises TypeFault (E0204)."""
    _check_name(name, "delattr", '"grad"')
    remove = getattr(type(value), "__gradcli_del__", None)
    if remove is not None:
        remove(value, name)
    elif name == "grad" and _family(value) is Tensor:
        value.grad = None
    elif value.__class__ in OWN and name[:1] != "_" and name in value.__dict__:
        del value.__dict__[name]
    else:
        raise TypeFault("E0204", f"attribute `{name}` cannot be deleted")


def _of_stand_in(value: Any, name: str) -> Any:
    """An attribute of what stands for a tensor inside a transform: a tangent, a batch."""
    if name in READ[Tensor]:
        return getattr(value, name)
    given = OF_ARRAYS.get(name) or (mode.arrays and NUMBERS.get(name))
    if given:
        return lambda *args: given(value, *args)
    method = getattr(value, name, None) if name in CALL[Tensor] else None
    if method is None:
        raise UnknownAttribute(Tensor, name)
    return checking(method, argument_checks.checked_option)


def attributes_of(kind: type) -> Iterator[str]:
    """The names that ``attribute`` knows for a type."""
    yield from CALL.get(kind, {})
    yield from READ.get(kind, ())


def set_attribute(value: Any, name: str, new: Any) -> None:
    """``value.name = new``, for the few attributes one may write. Raises TypeFault (E0204)."""
    store = getattr(type(value), "__gradcli_set__", None)
    if store is not None:
        store(value, name, new)
        return
    if name in WRITE.get(_family(value), ()):
        if name == "data" and not isinstance(new, Tensor):
            raise bad_type(f"data must be a tensor, got {a_value(new)}")
        setattr(value, name, new)
        return
    if value.__class__ in OWN and name[:1] != "_" and name not in attributes_of(value.__class__):
        value.__dict__[name] = new
        return
    if name in attributes_of(_family(value)):
        raise TypeFault("E0204", f"attribute `{name}` cannot be assigned")
    raise UnknownAttribute(_family(value), name)
