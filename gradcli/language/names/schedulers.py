"""``torch.optim.lr_scheduler`` for programs.

A learning rate can become arbitrarily large without a loop (``gamma**epoch``), so whole numbers
become floats before they grow.

The table imports what it holds when a program first asks for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.limits.sizes import SHORT, Lazy, as_list, check_nested
from gradcli.language.names import attributes
from gradcli.language.names.calling import named
from gradcli.language.type_names import a_value
from gradcli.ops.errors import bad_type

_BITS = 64


def _small(value: Any) -> Any:
    """A number that does not grow without bound when it is multiplied again and again."""
    return float(value) if value.__class__ is int and value.bit_length() > _BITS else value


def _rate_of(function: Callable) -> Callable:
    """A function of the program that gives rates. Raises TypeFault (E0303) for what is none."""

    def call(number: Any) -> Any:
        rate = function(number)
        rate = rate.item() if rate.__class__ is Tensor else rate
        if not isinstance(rate, int | float):
            said = f"lr_lambda should give a number, got {a_value(rate)}"
            raise bad_type(said, help="write lambda epoch: 0.95**epoch")
        return _small(rate)

    return call


def _option(value: Any) -> Any:
    """An argument of a scheduler: numbers, words, functions, schedulers, short lists of them."""
    kind = value.__class__
    if kind is range or kind is Lazy:
        value = as_list(value)
    if kind is Tensor:
        return value.item()
    if isinstance(value, list | tuple):
        check_nested(value, SHORT)
        return [_option(v) if not isinstance(v, list | tuple) else v for v in value]
    if callable(value) and kind not in attributes.CALL:
        return _rate_of(value)
    return _small(value)


def _bounded(scheduler: Any) -> None:
    for group in scheduler.optimizer.param_groups:
        group["lr"] = _small(group["lr"])


def _step(kind: Any) -> Callable:
    def step(self: Any, *args: Any, **options: Any) -> None:
        kind.step(self, *map(_option, args), **{k: _option(v) for k, v in options.items()})
        _bounded(self)

    return step


def _constructor(kind: Any, name: str) -> Callable:
    code = kind.__init__.__code__
    order = code.co_varnames[1 : code.co_argcount]
    place = order.index("gamma") if "gamma" in order else None

    def make(*args: Any, **options: Any) -> Any:
        given = list(map(_option, args))
        options = {k: _option(v) for k, v in options.items()}
        if place is not None and len(given) > place and given[place].__class__ is int:
            given[place] = float(given[place])  # a power of it would be computed to the last digit
        if options.get("gamma").__class__ is int:
            options["gamma"] = float(options["gamma"])
        made = kind(*given, **options)
        _bounded(made)
        return made

    return named(make, name, kind)


@functools.cache
def lr_scheduler() -> dict[str, Callable]:
    """``torch.optim.lr_scheduler``: schedulers by name, without the class to derive from."""
    from gradcli.optim import lr_scheduler as face

    made = {}
    for name in face.__all__:
        kind = getattr(face, name)
        if kind is face.LRScheduler:
            continue
        attributes.CALL[kind] = {
            "get_last_lr": lambda self: list(self.get_last_lr()),
            "step": _step(kind),
        }
        attributes.READ[kind] = ("last_epoch",)
        made[name] = _constructor(kind, name)
    return made
