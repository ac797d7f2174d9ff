"""How a program's values become text: ``print``, ``str``, ``repr`` and the fields of formats."""

from __future__ import annotations

import re
import sys
from collections import Counter, OrderedDict
from contextvars import ContextVar
from types import GeneratorType
from typing import Any

import numpy as np

from gradcli.engine.grad_mode import mode
from gradcli.engine.graph.node import Node
from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.limits.sizes import OUTPUT_LIMIT, Defaulting, nested_size, take_steps
from gradcli.language.names.calling import own_name
from gradcli.language.names.exceptions import KINDS as ERRORS
from gradcli.language.names.exceptions import ErrorValue
from gradcli.language.names.identity import identity
from gradcli.language.names.mappings import Set, View
from gradcli.language.names.records import Bound, ClassRecord, Instance
from gradcli.language.type_names import a_value
from gradcli.ops.errors import LimitFault, bad_argument, bad_type

SHOWN = 1_000_000
"""The most items of nested lists that are written out at once."""
spelled_torch: ContextVar[bool] = ContextVar("spelled torch", default=False)
"""Whether types print as PyTorch's: ``torch.float64`` in a program that imports torch."""


def show(value: Any, inside: bool = False) -> str:
    """``str(value)``, or its ``repr`` inside a list; NumPy scalars look like Python's numbers."""
    if mode.arrays and value.__class__ is Tensor:  # an array or a number, as the text has it
        value = value.array if value.array.ndim else value.array.item()
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in _HOLDERS:
        return _nested(value)
    if value is None or isinstance(value, str | bool | int | float | complex):
        return repr(value) if inside else str(value)
    if value.__class__ is Instance:
        return repr(value) if inside else str(value)
    if value.__class__ is ErrorValue:
        return _error(value, inside)
    written = getattr(value, "__gradcli_shown__", None)
    if written is not None:
        return _spelled(written)
    shown = hasattr(value, "__gradcli_rank__") or hasattr(value, "__gradcli_layer__")
    named = not (shown or isinstance(value, Node) or hasattr(value, "__gradcli_type__"))
    if callable(value) and named:
        if value.__class__ is Bound:
            return f"<bound method {own_name(value)}>"
        name = own_name(value)
        if hasattr(value, "__gradcli_kind__"):  # a layer, an optimizer
            kind = value.__gradcli_kind__()
            return _spelled(f"<class '{kind.__module__}.{kind.__qualname__}'>")
        return f"<function {name or 'lambda'}>"
    if value.__class__ is GeneratorType:
        return f"<generator object {own_name(value)}>"
    if value.__class__.__repr__ is object.__repr__:
        return f"<{type(value).__name__}>"  # no address
    text = repr(value) if inside else str(value)
    if " at 0x" in text and not shown:
        text = _ADDRESS.sub(f" at 0x{identity(value):x}", text)
    return _spelled(text)


def _spelled(text: str) -> str:
    return text.replace("gradcli.", "torch.") if spelled_torch.get() else text


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def _error(value: ErrorValue, inside: bool) -> str:
    if isinstance(value.kind, ClassRecord):
        for name in ("__repr__",) if inside else ("__str__", "__repr__"):
            method = value.kind.method(name)
            if method is not None and name == ("__repr__" if inside else "__str__"):
                return str(method(value))
    if inside:
        return f"{value.kind.__name__}({', '.join(show(one, True) for one in value.args)})"
    if value.text is not None:
        return value.text
    if len(value.args) == 1:
        return show(value.args[0], value.kind is ERRORS["KeyError"])
    return show(value.args) if value.args else ""


_HOLDERS = frozenset((list, tuple, dict, OrderedDict, Defaulting, Counter, View, Set))
_OPENINGS: dict[type, tuple[str, str]] = {
    list: ("[", "]"), tuple: ("(", ")"), dict: ("{", "}"), Set: ("{", "}"),
    Counter: ("Counter({", "})"),
}  # fmt: skip


def _brackets(item: Any) -> tuple[str, str]:
    kind = type(item)
    if kind in _OPENINGS:
        if kind is Set and not len(item):
            return "set(", ")"
        if kind is Counter and not item:
            return "Counter(", ")"
        opening, closing = _OPENINGS[kind]
        return opening, ",)" if kind is tuple and len(item) == 1 else closing
    if kind is View:
        front = "odict" if isinstance(item.held, OrderedDict) else "dict"
        return f"{front}_{item.kind}([", "])"
    if kind is Defaulting:
        return f"defaultdict({show(item.default_factory)}, {{", "})"
    if not item:
        return "OrderedDict(", ")"
    return ("OrderedDict({", "})") if sys.version_info >= (3, 12) else ("OrderedDict([", "])")


def _items(item: Any) -> list[tuple[Any, Any]]:
    """What is written of a list or dictionary: (key, value) where there are keys, else (_NOTHING,
    value)."""
    kind = type(item)
    if kind is OrderedDict and sys.version_info < (3, 12):
        return [(_NOTHING, pair) for pair in item.items()]
    if isinstance(item, Counter):
        return item.most_common()
    if isinstance(item, dict):
        return list(item.items())
    return [(_NOTHING, one) for one in item]


_NOTHING = object()


def _nested(value: Any) -> str:
    """A list, tuple or dictionary, iteratively: a program may nest one as deep as it likes."""
    take_steps(16 * nested_size(_plain(value), SHOWN, cycles=True))  # each item is written out
    pieces: list[str] = []
    work: list[Any] = [(value, False)]
    around: list[int] = []  # the lists that are being written, outermost first
    size = 0
    while work:
        item, ready = work.pop()
        if ready:
            piece = item
            if piece in _CLOSINGS:
                around.pop()
        elif type(item) in _HOLDERS:
            opening, closing = _brackets(item)
            if len(around) < 1000 and id(item) in around:
                piece = f"{opening}...{closing[-1]}"
            else:
                around.append(id(item))
                work.append((closing, True))
                inner = _items(item)
                for i in range(len(inner) - 1, -1, -1):
                    name, one = inner[i]
                    work.append((one, False))
                    if name is not _NOTHING:
                        work += [(": ", True), (name, False)]
                    if i:
                        work.append((", ", True))
                piece = opening
        else:
            piece = show(item, True)
        size += len(piece)
        if size > OUTPUT_LIMIT or len(work) > 1_000_000:
            raise LimitFault("E0607", "this list is too long, or too deep, to print")
        pieces.append(piece)
    return "".join(pieces)


_CLOSINGS = frozenset(("]", ")", ",)", "}", "})", "])"))


def _plain(value: Any) -> Any:
    """What ``nested_size`` can look into."""
    return list(value) if type(value) in (View, Set) else value


def field(value: Any, spec: str, conversion: str = "") -> str:
    """One field of an f-string, with a format that the parser has checked.

    conversion  ``r`` for the value's repr, ``s`` for its text, else an empty text
    """
    if conversion:
        value = show(value, conversion == "r")
    if not spec:
        # A 0-d tensor in a field is its number, as in PyTorch.
        if hasattr(value, "of_numpy") or (hasattr(value, "__gradcli_rank__") and not mode.arrays):
            return _spelled(format(value))
        return show(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | bool | int | float | complex) or hasattr(value, "__gradcli_rank__"):
        try:
            return format(value, spec)
        except ValueError as fault:
            raise bad_argument(
                f"the format {spec!r} does not fit: {fault}", torch=str(fault)
            ) from None
    raise bad_type(
        f"the format {spec!r} needs a number, got {a_value(value)}",
        torch=f"unsupported format string passed to {type(value).__name__}.__format__",
    )  # fmt: skip
