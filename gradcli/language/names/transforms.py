"""``torch.func``, ``torch.autograd.functional``, ``torch.utils.checkpoint`` and ``torch.optim``.

What takes functions of the program. The functions that a transform returns check their arguments as
all functions of the tables do; calls of the program's functions take steps from the budget.

Each table imports what it holds when a program first asks for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradcli.language.limits.sizes import SHORT, Lazy, as_list, check_nested, counted
from gradcli.language.names import attributes
from gradcli.language.names.calling import checking, is_function, named, plain
from gradcli.ops.errors import bad_type


def argument(value: Any) -> Any:
    """An argument of a transform or of what it gives: tensors, numbers, lists of them."""
    kind = value.__class__
    if kind is range or kind is Lazy:
        return as_list(value)
    if kind is list or kind is tuple:
        check_nested(value, SHORT)
    elif kind is str:
        raise bad_type("a transformed function takes tensors and numbers, not a string")
    return value


def _option(value: Any) -> Any:
    """The same where it may be a word, such as a strategy."""
    return value if isinstance(value, str) else argument(value)


def _guarded(function: Callable, name: str) -> Callable:
    """``function``, which gradcli made, with its arguments looked at, and those of its results."""
    look = checking(function, argument)
    return named(lambda *args, **options: _results(look(*args, **options), name), name)


def _results(result: Any, name: str) -> Any:
    if result.__class__ is tuple:
        return tuple(_results(part, name) for part in result)
    if is_function(result):
        return _guarded(result, name)
    return result


def _of_function(transform: Callable, name: str) -> Callable:
    """A transform: its first argument is a function, whatever else it takes is looked at."""

    def call(function: Any = None, *args: Any, func: Any = None, **options: Any) -> Any:
        function = func if function is None else function
        if not is_function(function):
            said = f"{name} takes a function first, got a {type(function).__name__}"
            raise bad_type(said, help=f"write {name}(f, ...) with a function f, not its value f(x)")
        options = {k: _option(v) for k, v in options.items()}
        result = transform(plain(function), *map(argument, args), **options)
        return _results(result, name)

    return named(call, name)


@functools.cache
def func() -> dict[str, Callable]:
    """``torch.func``."""
    from gradcli import func as face
    from gradcli.nn.functional_call import functional_call, stack_module_state

    return {
        **{name: _of_function(getattr(face, name), name) for name in face.__all__},
        "functional_call": _checked_call(functional_call),
        "stack_module_state": _checked_call(stack_module_state),
    }


def _checked_call(function: Callable) -> Callable:
    """A function of modules and dictionaries."""

    def call(module: Any, *args: Any, **options: Any) -> Any:
        modules = as_list(module) if isinstance(module, list | tuple) else [module]
        for one in modules:
            if not getattr(one, "__gradcli_layer__", False):
                raise bad_type(f"{function.__name__} takes a module first", help="model, params, x")
        return function(module, *args, **options)

    return named(call, function.__name__)


@functools.cache
def functional() -> dict[str, Callable]:
    """``torch.autograd.functional``."""
    from gradcli.autograd import functional as face

    return {name: _of_function(getattr(face, name), name) for name in face.__all__}


@functools.cache
def autograd() -> dict[str, Callable]:
    """What ``torch.autograd`` has beside Function, grad and backward."""
    from gradcli.transforms.check import gradcheck, gradgradcheck

    checks: dict[str, Callable] = {"gradcheck": gradcheck, "gradgradcheck": gradgradcheck}
    return {name: _of_function(check, name) for name, check in checks.items()}


@functools.cache
def checkpoints() -> dict[str, Callable]:
    """``torch.utils.checkpoint``."""
    from gradcli.utils.checkpoint import checkpoint
    from gradcli.utils.checkpoint import checkpoint_sequential as sequential

    def checkpoint_sequential(
        functions: Any, segments: Any, input: Any, use_reentrant: Any = None
    ) -> Any:
        steps = [plain(f) for f in counted(functions)]
        for step in steps:
            if not is_function(step):
                said = "checkpoint_sequential takes a list of functions or layers"
                raise bad_type(said, help="write checkpoint_sequential([f, g], 2, x)")
        if segments.__class__ is not int:
            raise bad_type("the number of segments is a whole number")
        return sequential(steps, min(segments, len(steps) or 1), input, use_reentrant=use_reentrant)

    return {
        "checkpoint": _of_function(checkpoint, "checkpoint"),
        "checkpoint_sequential": checkpoint_sequential,
    }


@functools.cache
def optim() -> dict[str, Callable]:
    """``torch.optim``: optimizers by name; what they give has ``step`` and ``zero_grad``."""
    from gradcli import optim as face

    made = {}
    for name in face.__all__:
        kind = getattr(face, name)
        if isinstance(kind, type) and issubclass(kind, face.Optimizer) and kind is not (
            face.Optimizer
        ):  # fmt: skip
            attributes.CALL[kind] = {
                name: getattr(kind, name)
                for name in ("step", "zero_grad", "state_dict", "load_state_dict",
                             "add_param_group")
                if hasattr(kind, name)
            }  # fmt: skip
            attributes.READ[kind] = ("param_groups", "defaults", "state")
            made[name] = named(checking(kind, _option), name, kind)
    return made
