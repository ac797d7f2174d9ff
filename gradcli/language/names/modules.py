"""``torch.nn``, ``torch.nn.init`` and ``torch.nn.utils`` for programs.

Programs have no classes, so they use the modules that exist: ``nn.Sequential(nn.Linear(2, 8),
nn.Tanh())``. Each is a subclass of the Python module that checks the arguments of its calls; its
attributes join the attribute tables when the class is first used.

Each table imports what it holds when a program first asks for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.limits.sizes import SHORT, Lazy, as_list, check_nested
from gradcli.language.names import argument_checks, attributes
from gradcli.ops.errors import TypeFault

_READ = (
    "weight", "bias", "training", "running_mean", "running_var", "num_batches_tracked",
    "in_features", "out_features", "weight_ih", "weight_hh", "bias_ih", "bias_hh",
)  # fmt: skip
_CALLED = (
    "zero_grad", "train", "eval", "requires_grad_", "double", "float", "half", "cpu", "to",
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "reset_parameters", "reset_running_stats", "apply",
)  # fmt: skip
_LISTED = (
    "parameters", "named_parameters", "buffers", "named_buffers", "children", "named_children",
    "modules", "named_modules",
)  # fmt: skip
_OF_LISTS = ("append", "extend", "insert", "pop")
_LEFT_OUT = frozenset(("Module", "ModuleDict", "ParameterDict"))  # classes and dictionaries


def _option(value: Any) -> Any:
    """An argument of a layer: numbers, short lists of them, words, tensors, other layers."""
    kind = value.__class__
    if kind is range or kind is Lazy:
        value = as_list(value)
    if kind is list or kind is tuple:
        check_nested(value, SHORT)
    return argument_checks.checked_option(value)


def _made(kind: Any) -> type:
    """``kind`` for programs: its calls are looked at, its attributes are in the tables."""

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        kind.__init__(
            self, *map(_option, args), **{key: _option(value) for key, value in options.items()}
        )

    def __call__(self: Any, *args: Any, **options: Any) -> Any:
        name = kind.__name__
        return kind.__call__(
            self, *[_input(a, name) for a in args],
            **{key: _input(value, name) for key, value in options.items()},
        )  # fmt: skip

    body = {
        "__init__": __init__, "__call__": __call__, "__module__": kind.__module__,
        "__gradcli_layer__": True,  # it prints as itself; one that holds others is walked over
    }  # fmt: skip
    made = type(kind.__name__, (kind,), body)
    attributes.CALL[made] = {
        **{name: getattr(kind, name) for name in _CALLED if hasattr(kind, name)},
        **{name: _as_list(getattr(kind, name)) for name in _LISTED},
        **{name: getattr(kind, name) for name in _OF_LISTS if hasattr(kind, name)},
    }
    attributes.READ[made] = _READ
    return made


def _input(value: Any, name: str) -> Any:
    """What a layer computes on: a tensor, or a tuple of them such as the state of an LSTM."""
    if value.__class__ is tuple:
        check_nested(value, SHORT)
        return tuple([argument_checks.checked_data(v, name) for v in value])
    return value if value is None else argument_checks.checked_data(value, name)


def _as_list(walk: Callable) -> Callable:
    """A method that walks a module, as a list: generators are not part of the language."""

    def call(self: Any) -> list:
        return list(walk(self))

    call.__name__ = walk.__name__
    return call


def _constructor(name: str) -> Callable:
    def make(*args: Any, **options: Any) -> Any:
        return _kind(name)(*args, **options)

    make.__name__ = name
    make.__module__ = __name__
    make.__gradcli_kind__ = lambda: _kind(name)  # type: ignore[attr-defined]
    return make


@functools.cache
def _kind(name: str) -> type:
    from gradcli import nn

    return _made(getattr(nn, name))


def _parameter(data: Any, requires_grad: bool = True) -> Any:
    from gradcli.nn.parameter import Parameter

    if not isinstance(data, Tensor):
        raise TypeFault(
            "E0303", "a Parameter is made of a tensor", help="write nn.Parameter(torch.tensor(...))"
        )
    return Parameter(data, requires_grad)


def _parameters() -> type:
    from gradcli.nn.parameter import Parameter

    return Parameter


_parameter.__name__ = "Parameter"
_parameter.__gradcli_kind__ = _parameters  # type: ignore[attr-defined]


@functools.cache
def nn() -> dict[str, Any]:
    """``torch.nn``: its layers and losses by name."""
    from gradcli.nn.modules import HOME

    table = {name: _constructor(name) for name in HOME if name not in _LEFT_OUT}
    return {**table, "Parameter": _parameter}


def _checked(function: Callable) -> Callable:
    """A function of ``nn.utils`` or ``nn.init``: lists of tensors and numbers."""

    def call(*args: Any, **options: Any) -> Any:
        return function(
            *map(_option, args), **{key: _option(value) for key, value in options.items()}
        )

    call.__name__ = function.__name__
    call.__module__ = __name__
    return call


@functools.cache
def init() -> dict[str, Any]:
    """``torch.nn.init``."""
    from gradcli.nn import init as face

    return {name: _checked(getattr(face, name)) for name in face.__all__}


@functools.cache
def utils() -> dict[str, Any]:
    """``torch.nn.utils``."""
    from gradcli.nn import utils as face

    return {name: _checked(getattr(face, name)) for name in face.__all__}
