"""``gradcli.nn.utils.parametrize``: a parameter computed from another by modules.

    layer.weight            is computed:  parametrization(original), each time it is read
    layer.parametrizations.weight.original   is the parameter that is learnt

As in PyTorch, the layer's class becomes a subclass of its own, ``ParametrizedLinear``, on which
the parametrised names are properties.
"""

from __future__ import annotations

import threading
from typing import Any

from gradcli.engine.grad_mode import no_grad
from gradcli.nn.modules.container import ModuleDict, ModuleList
from gradcli.nn.modules.module import Module
from gradcli.nn.parameter import Parameter
from gradcli.ops.errors import ValueFault

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization",
           "remove_parametrizations", "type_before_parametrizations"]  # fmt: skip


class _Kept(threading.local):
    """The values computed inside ``cached()``, by list; how many of these blocks are entered."""

    def __init__(self) -> None:
        self.blocks = 0
        self.values: dict[ParametrizationList, Any] = {}


_kept = _Kept()


class cached:
    """``with cached():`` a parametrised name is computed once, the first time it is read."""

    def __enter__(self) -> None:
        _kept.blocks += 1

    def __exit__(self, *_fault: object) -> None:
        _kept.blocks -= 1
        if not _kept.blocks:
            _kept.values.clear()


class ParametrizationList(ModuleList):
    """The original parameter, and the modules that it passes through."""

    def __init__(self, modules: list[Module], original: Any) -> None:
        super().__init__(modules)
        if isinstance(original, Parameter):
            self.register_parameter("original", original)
        else:
            self.register_buffer("original", original)

    def forward(self) -> Any:
        """The value that the parametrised name has."""
        value = self.original
        for module in self:
            value = module(value)
        return value

    def assign(self, value: Any) -> None:
        """Make ``value`` what the name has, by the modules' ``right_inverse``."""
        with no_grad():
            for module in reversed(list(self)):
                inverse = getattr(module, "right_inverse", None)
                value = value if inverse is None else inverse(value)
            self.original.copy_(value)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module, or that name of it, is computed from other parameters."""
    held = module._modules.get("parametrizations")
    if held is None:
        return False
    return len(held) > 0 if tensor_name is None else tensor_name in held


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had at first."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def _property(name: str) -> property:
    def get(self: Module) -> Any:
        wrapped = self._modules["parametrizations"][name]
        if not _kept.blocks:
            return wrapped()
        if wrapped not in _kept.values:
            _kept.values[wrapped] = wrapped()
        return _kept.values[wrapped]

    def put(self: Module, value: Any) -> None:
        wrapped = self._modules["parametrizations"][name]
        _kept.values.pop(wrapped, None)
        wrapped.assign(value)

    return property(get, put)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let ``module.tensor_name`` be computed: ``parametrization(original)``; again: after it.

    Where the parametrization has ``right_inverse``, the original starts as the right inverse of the
    parameter. Raises ValueFault (E0304) for a name that is neither parameter nor buffer, and where
    the shape would change.
    """
    if is_parametrized(module, tensor_name):
        module._modules["parametrizations"][tensor_name].append(parametrization)
        return module
    held = next((h for h in (module._parameters, module._buffers) if tensor_name in h), None)
    if held is None:
        raise ValueFault(
            "E0304",
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'",
        )
    original = held[tensor_name]
    if hasattr(parametrization, "right_inverse"):
        with no_grad():
            start = parametrization.right_inverse(original)
        original = Parameter(start, original.requires_grad) if start is not original else start
    wrapped = ParametrizationList([parametrization], original)
    with no_grad():
        shape = wrapped().shape
    if not unsafe and shape != held[tensor_name].shape:
        raise ValueFault(
            "E0304",
            "Registering a parametrization may not change the shape of the tensor, unless "
            f"`unsafe` flag is enabled: {held[tensor_name].shape} became {shape}",
        )
    del held[tensor_name]
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
        kind = type(module)
        module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), {})
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = wrapped
    return module


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make the name a plain parameter again: as computed, or (False) as the original is."""
    held = module._modules["parametrizations"]
    wrapped = held[tensor_name]
    with no_grad():
        if leave_parametrized:
            wrapped.original.copy_(wrapped())
    delattr(type(module), tensor_name)
    del held[tensor_name]
    if not len(held):
        module.__class__ = type(module).__bases__[0]
        del module.parametrizations
    module.register_parameter(tensor_name, wrapped.original)
    return module
