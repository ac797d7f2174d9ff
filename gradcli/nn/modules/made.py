"""Modules that are a function of ``nn.functional`` and its options: a table, not classes.

Each row of a table says a module's name, the function that it calls, its options in order with
their defaults (``...`` for one that has to be given), and how its repr shows them.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from gradcli.nn.modules.module import Module


def in_ranks(base: type[Module], name: str, doc: str, **facts: Any) -> list[Any]:
    """The classes ``name1d``, ``name2d`` and ``name3d``: ``base`` with ``rank`` and ``facts``."""
    body = {"__module__": base.__module__, **facts}
    return [
        type(f"{name}{n}d", (base,), {**body, "rank": n, "__doc__": doc.format(rank=n, **facts)})
        for n in (1, 2, 3)
    ]


def module_of(
    home: str, name: str, function: Callable, shown: str = "", inputs: int = 1,
    check: Callable[[Any], None] | None = None, /, **options: Any,
) -> type[Module]:  # fmt: skip
    """A class ``name`` that calls ``function(*inputs, **options)``.

    ``shown`` is the repr's inside with options in braces; ``inplace`` shows itself where it is set.
    ``check`` looks at the options of a new module.
    """
    signature = Signature(
        [
            Parameter(
                key, Parameter.POSITIONAL_OR_KEYWORD,
                default=Parameter.empty if default is ... else default,
            )
            for key, default in options.items()
        ]
    )  # fmt: skip

    def __init__(self: Module, *args: Any, **given: Any) -> None:
        Module.__init__(self)
        try:
            bound = signature.bind(*args, **given)
        except TypeError as fault:
            raise TypeError(f"{name}.__init__() {fault}") from None
        bound.apply_defaults()
        for key, value in bound.arguments.items():
            if key.endswith("weight"):  # those of classes move with the module
                self.register_buffer(key, value)
            else:
                setattr(self, key, value)
        if check is not None:
            check(self)

    def forward(self: Module, *values: Any) -> Any:
        if len(values) != inputs:
            raise TypeError(f"{name}.forward() takes {inputs} tensors, got {len(values)}")
        return function(*values, **{key: getattr(self, key) for key in options})

    def extra_repr(self: Module) -> str:
        text = shown.format(**{key: getattr(self, key) for key in options})
        if getattr(self, "inplace", False):
            text += ", inplace=True" if text else "inplace=True"
        return text

    doc = f"``functional.{function.__name__}`` as a module."
    body = {"__init__": __init__, "forward": forward, "extra_repr": extra_repr}
    for method in body.values():
        method.__qualname__ = f"{name}.{method.__name__}"
    forward.__doc__ = function.__doc__
    extra_repr.__doc__ = "The options."
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return type(name, (Module,), {**body, "__doc__": doc, "__module__": home})
