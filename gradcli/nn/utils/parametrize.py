"""``gradcli.nn.utils.parametrize``: a parameter computed from another by modules.

    layer.weight            is computed:  parametrization(original), each time it is read
    layer.parametrizations.weight.original   is the parameter that is learnt

As in PyTorch, the layer's class becomes a subclass of its own, ``ParametrizedLinear``, on which
the parametrised names are properties.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ContextDecorator, suppress
from copy import deepcopy
from typing import Any

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.grad_mode import no_grad
from gradcli.engine.tensor.tensor import Tensor
from gradcli.nn.modules.container import ModuleDict, ModuleList
from gradcli.nn.modules.module import Module
from gradcli.nn.parameter import Parameter
from gradcli.ops.errors import bad_argument, bad_value

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization",
           "remove_parametrizations", "transfer_parametrizations_and_params",
           "type_before_parametrizations"]  # fmt: skip


class _Kept(threading.local):
    """The values computed inside ``cached()``, by list; how many of these blocks are entered."""

    def __init__(self) -> None:
        self.blocks = 0
        self.values: dict[ParametrizationList, Any] = {}


KEPT = _Kept()


class cached(ContextDecorator):
    """``with cached():`` a parametrised name is computed once, the first time it is read."""

    def __enter__(self) -> None:
        KEPT.blocks += 1

    def __exit__(self, *_fault: object) -> None:
        KEPT.blocks -= 1
        if not KEPT.blocks:
            KEPT.values.clear()


class ParametrizationList(ModuleList):
    """The modules that a parameter passes through, and what the first of them is given.

    That is ``original``, or ``original0``, ``original1``, ... where the ``right_inverse`` of the
    first module gives several. Raises ValueFault (E0304) where that gives anything but tensors,
    and, unless ``unsafe``, where dtype or shape are not those of ``tensor``.
    """

    def __init__(self, modules: list[Module], tensor: Any, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        start = tensor
        if hasattr(modules[0], "right_inverse"):
            with no_grad(), suppress(NotImplementedError):
                start = self._inverse(tensor)
        self.is_tensor = isinstance(start, Tensor)
        held = start if isinstance(start, Sequence) else (start,)
        if not all(isinstance(v, Tensor) for v in held):
            said = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...)."
            raise bad_argument(f"{said} Got {type(start).__name__}")
        like = tensor.detach()  # of the old shape
        if self.is_tensor:
            if start.dtype is not tensor.dtype:
                said = "When `right_inverse` outputs one tensor, it may not change the dtype"
                raise bad_argument(f"{said}: {tensor.dtype} to {start.dtype}")
            with no_grad():  # the same one stays, for an optimizer that has it
                tensor.set_(start)
            held = (tensor,)
        for place, value in enumerate(held):
            name = "original" if self.is_tensor else f"original{place}"
            if not isinstance(tensor, Parameter):
                self.register_buffer(name, value)
            elif self.is_tensor:
                self.register_parameter(name, tensor)
            else:
                self.register_parameter(name, Parameter(value, tensor.requires_grad))
        self.ntensors = len(held)
        if not unsafe:
            with no_grad():
                _alike(_FORWARD, self(), like)

    def originals(self) -> list[Any]:
        """The parameters or buffers that are kept."""
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{place}") for place in range(self.ntensors)]

    def forward(self) -> Any:
        """The value that the parametrised name has."""
        value = self[0](*self.originals())
        for module in self._modules_applied()[1:]:
            value = module(value)
        return value

    def _modules_applied(self) -> list[Module]:
        """All inside but ``parametrizations``, where an original is computed itself."""
        return [module for name, module in self._modules.items() if name.isdigit()]

    def _inverse(self, value: Any) -> Any:
        for module in reversed(self._modules_applied()):
            if not hasattr(module, "right_inverse"):
                said = f"parametrization {type(module).__name__} does not implement right_inverse."
                raise bad_value(said)
            value = module.right_inverse(value)
        return value

    def assign(self, value: Any) -> None:
        """Make ``value`` what the name has, by the modules' ``right_inverse``.

        Raises RuntimeFault (E0304) where a module has none, and ValueFault (E0304) where it gives
        another number of tensors or another dtype.
        """
        with no_grad():
            value = self._inverse(value)
            held = [value] if self.is_tensor else list(value)
            if len(held) != self.ntensors:
                said = f"a sequence of tensors of length {self.ntensors}, got {len(held)}."
                raise bad_argument(f"'right_inverse' must return {said}")
            for original, new in zip(self.originals(), held, strict=True):
                if original.dtype is not new.dtype:
                    said = f"has dtype {new.dtype}, the original {original.dtype}"
                    raise bad_argument(f"The tensor assigned {said}")
                original.set_(new)


_FORWARD = (
    "A parametrization",
    "Registering a parametrization may not change the {} of the tensor, unless the `unsafe` flag "
    "is enabled: it is {}, and becomes {}",
)
_INVERSE = (
    "parametrization.right_inverse",
    "The tensor returned by parametrization.right_inverse must have the same {} as the module's, "
    "unless the `unsafe` flag is enabled: that is {}, not {}",
)


def _alike(said: tuple[str, str], found: Any, tensor: Any) -> None:
    if not isinstance(found, Tensor):
        raise bad_argument(f"{said[0]} must return a tensor. Got {type(found).__name__}.")
    for fact in ("dtype", "shape"):
        old, new = getattr(tensor, fact), getattr(found, fact)
        if old != new:
            raise bad_argument(said[1].format(fact, old, new))


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
        if not KEPT.blocks:
            return wrapped()
        if wrapped not in KEPT.values:
            KEPT.values[wrapped] = wrapped()
        return KEPT.values[wrapped]

    def put(self: Module, value: Any) -> None:
        wrapped = self._modules["parametrizations"][name]
        KEPT.values.pop(wrapped, None)
        wrapped.assign(value)

    return property(get, put)


def _not_pickled(_module: Module) -> Any:
    said = "Serialization of parametrized modules is only supported through state_dict()"
    raise bad_value(said, help="save module.state_dict()")


def _copied(module: Module, memo: dict[int, Any]) -> Module:
    copied: Module = memo.setdefault(id(module), object.__new__(type(module)))
    vars(copied).update(deepcopy(vars(module), memo))
    return copied


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let ``module.tensor_name`` be computed: ``parametrization(original)``; again: after it.

    Where the parametrization has ``right_inverse``, the original starts as the right inverse of the
    parameter, or as several tensors, which ``forward`` then takes. The parametrization trains where
    the module does.

    Raises ValueFault (E0304) for a name that is neither parameter nor buffer, and, unless
    ``unsafe``, where the dtype or the shape would change.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        wrapped = module._modules["parametrizations"][tensor_name]
        if not unsafe:
            with no_grad():
                value = wrapped()
                made = parametrization(value)
                _alike(_FORWARD, made, value)
                if hasattr(parametrization, "right_inverse"):
                    start = parametrization.right_inverse(made)
                    _alike(_INVERSE, start, value)
        wrapped.append(parametrization)
        wrapped.unsafe |= unsafe
        return module
    held = next((h for h in (module._parameters, module._buffers) if tensor_name in h), None)
    if held is None:
        said = f"a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        raise bad_argument(f"Module '{module}' does not have {said}")
    wrapped = ParametrizationList([parametrization], held[tensor_name], unsafe)
    del held[tensor_name]
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
        kind = type(module)
        body: dict[str, Any] = {"__getstate__": _not_pickled}
        if not hasattr(kind, "__deepcopy__"):
            body["__deepcopy__"] = _copied
        module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), body)
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = wrapped
    return module


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Let ``to_module`` compute what ``from_module`` does, from the same originals.

    That is all that it computes, or ``tensor_name`` alone. Modules and parameters are shared.
    """
    if not is_parametrized(from_module):
        return to_module
    held = from_module._modules["parametrizations"]
    for name in list(held) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in held[name]:
            register_parametrization(to_module, name, parametrization)
        made = to_module._modules["parametrizations"][name]
        for place, original in enumerate(held[name].originals()):
            setattr(made, "original" if made.is_tensor else f"original{place}", original)
    return to_module


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make the name a plain parameter again: as computed, or (False) as the original is.

    Raises ValueFault (E0304) for a name without parametrization, and (False) for several
    originals.
    """
    if not is_parametrized(module, tensor_name):
        raise bad_argument(f"Module {module} does not have a parametrization on {tensor_name}")
    held = module._modules["parametrizations"]
    wrapped = held[tensor_name]
    original = wrapped.originals()[0]
    if leave_parametrized and wrapped.is_tensor:
        with no_grad():
            original.set_(wrapped())
    elif leave_parametrized:
        value = wrapped()
        original = Parameter(value) if value.requires_grad else value
    elif not wrapped.is_tensor:
        said = "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is"
        raise bad_argument(f"{said} parametrized in terms of a sequence of tensors.")
    delattr(type(module), tensor_name)
    del held[tensor_name]
    if not len(held):
        module.__class__ = type(module).__bases__[0]
        del module.parametrizations
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    return module
