"""A field of a batch row as a value: what JSON holds, or the text of a cell.

Every fault names the field, and repeats no more of a stranger's text than fits on a line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.language.diagnostics.render import inert
from gradcli.language.runtime.run import Limits, constant
from gradcli.language.values.flags import read_value
from gradcli.language.values.reader import MAX_NESTING
from gradcli.ops.errors import Fault, LimitFault, ValueFault

CONSTANT_STEPS = 10_000
"""The most steps of a constant expression in a field."""
NAME_LIMIT = 40
"""How much of a field's name or of a cell an error message repeats."""


class Fields:
    """How fields become values.

    wanted     whether a name is a variable; other fields stay unread
    dtype      of values that name none
    max_bytes  the most that one value may take
    """

    __slots__ = ("dtype", "max_bytes", "numpy", "wanted")

    def __init__(self, wanted: Callable[[str], bool], dtype: str, max_bytes: int) -> None:
        self.wanted = wanted
        self.dtype = dtype
        self.max_bytes = max_bytes
        self.numpy = np.dtype(dtype)

    def text(self, name: str, text: str) -> object:
        """The value that a text describes. Raises Fault that names the variable."""
        try:
            return read_value(
                text, dtype=self.dtype, allow_files=False, max_bytes=self.max_bytes,
                evaluate=self.constant,
            )  # fmt: skip
        except Fault as fault:
            said = "" if len(text) > NAME_LIMIT or not text.strip() else f": {shown(text)}"
            notes = () if isinstance(fault, LimitFault) else fault.notes
            kind = LimitFault if isinstance(fault, LimitFault) else ValueFault
            raise kind(
                fault.code, f"{name}: {fault.message}{said}", help=fault.help, notes=notes
            ) from None
        except MemoryError:
            raise LimitFault("E0602", f"{name}: there is not enough memory for it") from None

    def constant(self, text: str) -> Any:
        """The value of a constant expression, ``pi/4`` or ``randn(3)``. Raises Fault."""
        try:
            return constant(text, Limits(steps=CONSTANT_STEPS, memory=self.max_bytes))
        except LimitFault:
            raise
        except Fault as fault:
            # A word is what a field mostly holds where this fails: no flag gives it a value.
            word = text.strip().isidentifier()
            said = "not a number" + ("" if word else f": {fault.message}")
            raise ValueFault("E0901", said, help=None if word else fault.help) from None

    def json(self, name: str, value: Any) -> object:
        """The value that a JSON field holds. Raises Fault."""
        kind = value.__class__
        if kind is float or kind is int:
            return self.number(name, value)
        if kind is str:
            return self.text(name, value)
        if kind is bool:
            return np.bool_(value)
        if kind is list:
            return self.array(name, value)
        if kind is dict and value.keys() == {"re", "im"}:
            return self.complexes(name, [value])[0]
        what = "null" if value is None else "an object"
        mend = 'write a number, nested lists, or a string such as "1,2;3,4"'
        raise ValueFault("E0923", f"{name}: {what} is not a value", help=mend)

    def number(self, name: str, value: Any) -> object:
        """A JSON number in the dtype of the fields. Raises Fault (E0923) for one too large."""
        try:
            value = float(value)
        except OverflowError:
            value = float("inf")
        if value - value == 0 and self.dtype == "float64":
            return np.float64(value)
        with np.errstate(over="ignore"):
            found = self.numpy.type(value)
        if not np.isfinite(found):  # JSON has no infinity, so the digits were too many
            raise self.too_large(name)
        return found

    def complexes(self, name: str, items: list) -> Any:
        """Numbers of which some are complex, ``{"re": 1, "im": 2}``, as a batch writes them."""
        if any(item.__class__ is dict and item.keys() != {"re", "im"} for item in items):
            raise self.wrong_list(name, "holds more than numbers")
        pairs = [[v["re"], v["im"]] if v.__class__ is dict else [v, 0] for v in items]
        if any(part.__class__ is dict for pair in pairs for part in pair):
            raise self.wrong_list(name, "holds a complex number of complex parts")
        parts: Any = self.array(name, pairs)
        if parts.ndim != 2 or parts.dtype.kind != "f":
            raise self.wrong_list(name, "holds a part of a complex number that is no number")
        found = np.empty(len(items), np.result_type(parts, np.complex64))
        found.real, found.imag = parts[:, 0], parts[:, 1]
        return found

    def too_large(self, name: str) -> Fault:
        """The fault (E0923) of a number that the dtype cannot hold."""
        mend = 'write "Infinity" for infinity'
        return ValueFault("E0923", f"{name}: a number is too large for {self.dtype}", help=mend)

    def array(self, name: str, value: list) -> object:
        """Nested lists as an array, a level at a time."""
        shape = []
        items: list[Any] = [value]
        while items and items[0].__class__ is list:
            size = len(items[0])
            if any(item.__class__ is not list or len(item) != size for item in items):
                raise self.wrong_list(name, "has rows that differ in length")
            shape.append(size)
            if len(shape) > MAX_NESTING:
                raise self.wrong_list(name, f"nests deeper than {MAX_NESTING}")
            items = [inner for item in items for inner in item]
        kinds = set(map(type, items))
        if kinds == {bool}:
            return np.array(items).reshape(shape)
        if list in kinds:
            raise self.wrong_list(name, "has rows that differ in length")
        if dict in kinds:
            return self.complexes(name, items).reshape(shape)
        if not kinds <= {int, float, str}:
            raise self.wrong_list(name, "holds more than numbers")
        try:
            numbers = [_WORDS[item] if item.__class__ is str else float(item) for item in items]
        except KeyError:
            raise self.wrong_list(name, "holds text that is no number") from None
        except OverflowError:
            raise self.too_large(name) from None
        found = np.array(numbers, dtype=np.float64)
        with np.errstate(over="ignore"):
            result = found.astype(self.numpy)
        # An infinity that no word asked for had too many digits.
        asked = sum(item in ("Infinity", "-Infinity") for item in items) if str in kinds else 0
        if np.count_nonzero(np.isinf(result)) > asked:
            raise self.too_large(name)
        return result.reshape(shape)

    def wrong_list(self, name: str, what: str) -> Fault:
        """The fault (E0923) of nested lists that are no array of numbers."""
        mend = 'like [[1, 2], [3, 4]], with "NaN", "Infinity" and "-Infinity" where needed'
        return ValueFault("E0923", f"{name}: the list {what}", help=mend)


_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def shown(text: str) -> str:
    """A name or text of the row's, cut and made harmless, for a message."""
    return f"`{inert(text[:NAME_LIMIT])}{'...' if len(text) > NAME_LIMIT else ''}`"
