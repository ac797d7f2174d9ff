"""A field of a batch row as a value: what JSON holds, or the text of a cell.

Every fault names the field, and repeats no more of a stranger's text than fits on a line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.language.diagnostics.render import inert
from gradcli.language.runtime.run import Limits, constant
from gradcli.language.values.arrays import from_lists
from gradcli.language.values.flags import read_value
from gradcli.ops.errors import Fault, LimitFault, ValueFault

CONSTANT_STEPS = 10_000
"""The most steps of a constant expression in a field."""
_PLAIN = 1e308
"""Numbers below this are float64, whatever their digits."""
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
        if kind is str:
            return self.text(name, value)
        plain = (kind is float or kind is int) and self.dtype == "float64"
        if plain and -_PLAIN < value < _PLAIN:
            return np.float64(value)  # the commonest by far
        if value is None or (kind is dict and value.keys() != {"re", "im"}):
            what = "null" if value is None else "an object"
            mend = 'write a number, nested lists, or a string such as "1,2;3,4"'
            raise ValueFault("E0923", f"{name}: {what} is not a value", help=mend)
        return self.array(name, value) if kind is list else self.array(name, [value])[0]

    def too_large(self, name: str) -> Fault:
        """The fault (E0923) of a number that the dtype cannot hold."""
        mend = 'write "Infinity" for infinity'
        return ValueFault("E0923", f"{name}: a number is too large for {self.dtype}", help=mend)

    def array(self, name: str, value: list) -> Any:
        """Nested lists as an array. Raises Fault (E0923)."""
        try:
            found = from_lists(value)
        except OverflowError:
            raise self.too_large(name) from None
        except ValueError as wrong:
            raise self.wrong_list(name, str(wrong)) from None
        own = self.own(found.dtype.kind)
        if found.dtype.kind == "b" or found.dtype == own:
            return found
        with np.errstate(over="ignore"):
            result = found.astype(own)
        if np.any(np.isinf(result) & np.isfinite(found)):
            raise self.too_large(name)
        return result

    def own(self, kind: str) -> np.dtype:
        """The dtype of the fields, for numbers of a kind."""
        return np.result_type(self.numpy, np.complex64) if kind == "c" else self.numpy

    def wrong_list(self, name: str, what: str) -> Fault:
        """The fault (E0923) of nested lists that are no array of numbers."""
        mend = 'like [[1, 2], [3, 4]], with "NaN", "Infinity" and "-Infinity" where needed'
        return ValueFault("E0923", f"{name}: the list {what}", help=mend)


def shown(text: str) -> str:
    """A name or text of the row's, cut and made harmless, for a message."""
    return f"`{inert(text[:NAME_LIMIT])}{'...' if len(text) > NAME_LIMIT else ''}`"
