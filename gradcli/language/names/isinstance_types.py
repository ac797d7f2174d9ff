"""``isinstance`` and ``type`` of the language, and the types that programs can name."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation import factories
from gradcli.engine.grad_mode import mode
from gradcli.engine.graph.node import Node
from gradcli.engine.tensor.attributes import Size
from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.limits.sizes import Lazy
from gradcli.language.names import argument_checks, builtins, namespaces, printing
from gradcli.language.names.exceptions import ErrorKind, ErrorValue, error_is
from gradcli.language.names.mappings import Set, dictionary, set_of
from gradcli.language.names.records import OBJECT, ClassRecord, TypeName, record_of
from gradcli.ops.errors import bad_type

KINDS: dict[Any, type] = {
    **{builtins.TABLE[kind.__name__]: kind for kind in (float, int, bool, list, tuple)},
    dictionary: dict, set_of: Set,
    **{argument_checks.with_checks(make): Tensor for make in (factories.tensor, Tensor)},
    namespaces.size: Size, Node: Node, printing.string: str,
}  # fmt: skip
KIND_NAMES = {
    Tensor: "gradcli.Tensor", Size: "gradcli.Size", Set: "set", dtypes.DType: "gradcli.dtype",
    dtypes.Device: "gradcli.device",
}  # fmt: skip
"""What types print as that Python calls otherwise."""


def shown_as(function: Any, kind: type) -> None:
    """Let a function that stands for a type print as that type does."""
    function.__gradcli_shown__ = f"<class '{KIND_NAMES.get(kind) or kind.__name__}'>"


for _function, _kind in KINDS.items():
    if _function is not _kind:
        shown_as(_function, _kind)


_names: dict[tuple[type, str], TypeName] = {}


def type_of(value: Any) -> Any:
    """``type(value)``: what the program calls by that name, so that ``type(x) is float`` holds."""
    if value.__class__ is ErrorValue:
        return value.kind
    record = record_of(value)
    if record is not None:
        return record
    own = getattr(type(value), "__gradcli_made_by__", None)
    if own is not None:
        return own()
    kind = value.__class__
    for name, known in reversed(KINDS.items()):
        if known is kind:
            return name
    if kind.__name__ == "Parameter":
        from gradcli.language.names.modules import parameter  # only where there is one

        return parameter
    # Of a node it is the name that PyTorch gives it.
    name = value.kind.partition(" ")[0] if kind is Lazy else type(value).__name__
    return _names.setdefault((kind, name), TypeName(kind, name, KIND_NAMES.get(kind, name)))


def is_instance(value: Any, kinds: Any) -> bool:
    """Whether ``value`` is of a type, or of one of several in a tuple. Raises TypeFault (E0303)."""
    for kind in kinds if kinds.__class__ is tuple else (kinds,):
        if isinstance(kind, ErrorKind):
            if value.__class__ is ErrorValue and error_is(value, kind):
                return True
            continue
        if isinstance(kind, ClassRecord):
            record = record_of(value)
            if record is not None and record.derives(kind):
                return True
            continue
        if kind is OBJECT:
            return True
        known = KINDS.get(kind) if callable(kind) else None
        if isinstance(kind, TypeName):
            known = kind.kind
        if known is None and hasattr(kind, "__gradcli_kind__"):  # a layer: nn.Linear
            known = kind.__gradcli_kind__()
        if known is None:
            mend = "torch.Tensor, float, int, bool, str, list or tuple, or a class"
            raise bad_type("isinstance needs a type, or several in a tuple", help=mend)
        found = isinstance(value, known)
        if mode.rebinds and hasattr(value, "__gradcli_rank__"):  # what it is in Python
            if hasattr(known, "of_numpy"):  # np.ndarray, which np.float64 is none of
                found = value.ndim > 0 or (found and isinstance(value.array, np.ndarray))
            elif known is float and hasattr(value, "of_numpy"):
                found = isinstance(value.array, float)
            elif known is float:
                found = not value.ndim and value.dtype.kind == 2
        if found:
            return True
    return False


def is_subclass(record: Any, kind: Any) -> bool:
    """``issubclass`` of the program's own classes."""
    if not isinstance(record, ClassRecord):
        raise bad_type("issubclass takes a class of the program first")
    return record.derives(kind)
