"""``isinstance`` of the language, and the types that programs can name."""

from __future__ import annotations

from typing import Any

from gradcli.engine.creation import factories
from gradcli.engine.tensor.attributes import Size
from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.names import argument_checks, builtins, namespaces
from gradcli.ops.errors import TypeFault

KINDS: dict[Any, type] = {
    **{builtins.TABLE[kind.__name__]: kind for kind in (float, int, bool, list, tuple)},
    argument_checks.with_checks(Tensor): Tensor,
    argument_checks.with_checks(factories.tensor): Tensor,
    namespaces.size: Size,
}  # fmt: skip


def is_instance(value: Any, kinds: Any) -> bool:
    """Whether ``value`` is of a type, or of one of several in a tuple. Raises TypeFault (E0303)."""
    for kind in kinds if kinds.__class__ is tuple else (kinds,):
        known = KINDS.get(kind) if callable(kind) else None
        if known is None and hasattr(kind, "__gradcli_kind__"):  # a layer: nn.Linear
            known = kind.__gradcli_kind__()
        if known is None:
            raise TypeFault(
                "E0303", "isinstance needs a type, or several in a tuple",
                help="torch.Tensor, float, int, bool, str, list or tuple",
            )  # fmt: skip
        if isinstance(value, known):
            return True
    return False
