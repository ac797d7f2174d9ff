"""The context managers of ``with``: gradient modes, saved-tensor hooks, handles, dual levels.

``CONTEXTS`` holds the types that ``with`` accepts; a type joins when its table is made. A value of
another type is refused before its ``__enter__`` is looked up. What a program sets here ends with
the block, or with the program.

Each table imports what it holds when a program first asks for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradcli.engine import grad_mode
from gradcli.engine.backward.gradient_edges import Handles
from gradcli.engine.graph.node import RemovableHandle
from gradcli.language.names import argument_checks, attributes, settings
from gradcli.language.names.calling import called, is_function, plain
from gradcli.language.names.records import Entered, Instance
from gradcli.language.type_names import a_value
from gradcli.ops.errors import TypeFault, bad_type

SWITCHES = ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode")
CONTEXTS: set[type] = {*(getattr(grad_mode, name) for name in SWITCHES), RemovableHandle, Handles}


def context(value: Any) -> Any:
    """``value``, where it may stand in a ``with``. Raises TypeFault (E0164)."""
    if value.__class__ in CONTEXTS:
        return value
    if value.__class__ is Instance and value.record.method("__enter__") is not None:
        return Entered(value)
    said, mend = a_value(value), None
    if value.__class__ is type and value in CONTEXTS:
        said, mend = value.__name__, f"write with {value.__name__}():"
    raise TypeFault("E0164", f"`with` cannot take {said}", help=mend or TAKES)


def decorate(decorator: Any, function: Any) -> Any:
    """``@decorator`` over a function or a class: a gradient mode, or any function.

    Raises TypeFault (E0303) for what cannot be called.
    """
    switches = {getattr(grad_mode, name) for name in SWITCHES}
    if decorator.__class__ in switches or (decorator.__class__ is type and decorator in switches):
        made = decorator(plain(function))
        made.__name__ = getattr(function, "__name__", "")
        made.__gradcli_method__ = True  # it may be a method, as what it holds may
        return made
    return called(decorator, "a decorator")(function)


TAKES = (
    "it takes no_grad() and the other gradient switches, hooks on saved tensors, the handle of a "
    "hook, detect_anomaly() or dual_level()"
)


def _function(value: Any, name: str) -> Callable:
    if not is_function(value):
        mend = "write lambda t: t for a hook that changes nothing"
        raise bad_type(f"{name} must be a function, got {a_value(value)}", help=mend)
    return value


@functools.cache
def saving() -> dict[str, Callable]:
    """The contexts of ``torch.autograd.graph``."""
    from gradcli.engine.record import saved_tensor_hooks as face

    def saved_tensors_hooks(pack_hook: Any, unpack_hook: Any) -> Any:
        return face.saved_tensors_hooks(
            _function(pack_hook, "pack_hook"), _function(unpack_hook, "unpack_hook")
        )

    def disable_saved_tensors_hooks(error_message: Any) -> Any:
        if not isinstance(error_message, str):
            raise bad_type(f"error_message is a string, not {a_value(error_message)}")
        return face.disable_saved_tensors_hooks(error_message)

    def save_on_cpu(pin_memory: Any = False, device_type: Any = "cuda") -> Any:
        return face.save_on_cpu()

    def allow_mutation_on_saved_tensors() -> Any:
        return face.allow_mutation_on_saved_tensors()

    made = (saved_tensors_hooks, disable_saved_tensors_hooks, save_on_cpu,
            allow_mutation_on_saved_tensors)  # fmt: skip
    CONTEXTS.update(getattr(face, function.__name__) for function in made)
    kind = face.allow_mutation_on_saved_tensors
    attributes.CALL[kind] = {"clear": kind.clear}
    return {function.__name__: function for function in made}


@functools.cache
def anomaly() -> dict[str, Any]:
    """Anomaly mode, and the gradient switches under ``torch.autograd``."""
    from gradcli.engine.backward import anomaly as face

    def set_detect_anomaly(mode: Any, check_nan: Any = True) -> Any:
        settings.undone("anomaly", _anomaly_of_now(face))
        return face.set_detect_anomaly(bool(mode), bool(check_nan))

    def detect_anomaly(check_nan: Any = True) -> Any:
        return face.detect_anomaly(bool(check_nan))

    CONTEXTS.update((face.detect_anomaly, face.set_detect_anomaly))
    switches = {name: getattr(grad_mode, name) for name in SWITCHES}
    return {"detect_anomaly": detect_anomaly, "set_detect_anomaly": set_detect_anomaly, **switches}


def _anomaly_of_now(face: Any) -> Callable[[], None]:
    on, check_nan = face.is_anomaly_enabled(), face.is_anomaly_check_nan_enabled()
    return lambda: face.set_detect_anomaly(on, check_nan)


@functools.cache
def forward_ad() -> dict[str, Any]:
    """``torch.autograd.forward_ad``."""
    from gradcli.autograd import forward_ad as face

    def make_dual(tensor: Any, tangent: Any, level: Any = None) -> Any:
        return face.make_dual(
            argument_checks.checked_data(tensor, "make_dual"),
            argument_checks.checked_data(tangent, "make_dual"),
        )

    def unpack_dual(tensor: Any, level: Any = None) -> Any:
        return face.unpack_dual(argument_checks.checked_data(tensor, "unpack_dual"))

    def enter_dual_level() -> int:
        level = face.enter_dual_level()
        settings.undone("dual level", face.leave)
        return level

    def exit_dual_level(level: Any = None) -> None:
        face.exit_dual_level(level=level)

    CONTEXTS.add(face.dual_level)
    attributes.READ[face.UnpackedDualTensor] = face.UnpackedDualTensor._fields
    return {
        "make_dual": make_dual, "unpack_dual": unpack_dual, "dual_level": face.dual_level,
        "enter_dual_level": enter_dual_level, "exit_dual_level": exit_dual_level,
    }  # fmt: skip
