"""The errors that gradcli raises: one stable code each, and the built-in type PyTorch would raise.

A caller in Python can write ``except RuntimeError`` as in a PyTorch tutorial; the command line
shows the same error as a diagnostic with the user's own source line. ``gradcli why CODE``
explains a code.
"""

from __future__ import annotations

from functools import partial


class Fault(Exception):
    """Something that the user can mend.

    code      stable identifier such as ``"E0301"``
    message   what is wrong, in the user's own names; no trailing full stop
    help      what to write instead, or None
    operands  ``(index, text)`` pairs that describe the operator's operands, by position; a front
              end that knows the source underlines each one
    notes     further sentences, in order
    torch     what PyTorch says, to the letter, where its words are often printed or searched for

    In Python ``str(fault)`` is PyTorch's text or else the message, so that a tutorial prints what
    it prints elsewhere. The message, the notes, the help and the code stand below it in a
    traceback, as the notes of the exception.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        help: str | None = None,
        operands: tuple[tuple[int, str], ...] = (),
        notes: tuple[str, ...] = (),
        torch: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help
        self.operands = operands
        self.notes = notes
        self.torch = torch

    def __str__(self) -> str:
        return self.torch or self.message

    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]  # PEP 678: only read
        """What Python's traceback prints below the error (PEP 678)."""
        own = [self.message] if self.torch else []
        shown = [f"note: {note}" for note in (*own, *self.notes)]
        if self.help:
            shown.append(f"help: {self.help}")
        return [*shown, f"code: {self.code}"]

    def add_note(self, note: str) -> None:
        """One more sentence."""
        self.notes = (*self.notes, note)


class RuntimeFault(Fault, RuntimeError):
    """The operation cannot be carried out on these values (shapes, graph, state)."""


class TypeFault(Fault, TypeError):
    """A value of the wrong kind was given."""


class ValueFault(Fault, ValueError):
    """A value of the right kind but outside what the operation takes."""


class IndexFault(Fault, IndexError):
    """An index or a dimension is out of range."""


class AttributeFault(Fault, AttributeError):
    """A value has no attribute of that name."""


class KeyFault(Fault, KeyError):
    """A dictionary has no such key."""


class OverflowFault(Fault, OverflowError):
    """A number is too large for its type."""


class LinAlgFault(RuntimeFault):
    """A matrix does not have what was asked for; ``linalg.LinAlgError``."""


class AssertionFault(Fault, AssertionError):
    """What PyTorch asserts of an argument does not hold."""


class UnwrittenFault(Fault, NotImplementedError):
    """What is not written: a kernel for a type, a method that the user's own class has to have."""


class LimitFault(Fault, RuntimeError):
    """A limit on time, memory, steps, nesting or output was reached."""


bad_type = partial(TypeFault, "E0303")
"""The error of a value of the wrong kind."""
bad_dim = partial(RuntimeFault, "E0305")
"""The error of a dimension that there is not, or that is named twice."""
bad_size = partial(RuntimeFault, "E0306")
"""The error of a size that the entries do not fill."""
bad_argument = partial(ValueFault, "E0304")
"""``bad_value`` where PyTorch looks in Python, and not in a kernel: a ValueError."""
bad_shape = partial(RuntimeFault, "E0301")
"""The error of shapes that do not fit."""
bad_value = partial(RuntimeFault, "E0304")
"""The error of a value that the function does not take."""
bad_dtype = partial(RuntimeFault, "E0309")
"""The error of an element type that does not fit."""

# A tutorial that prints ``type(e).__name__``, and a traceback, name the built-in type.
for _fault in (
    RuntimeFault, TypeFault, ValueFault, IndexFault, AssertionFault, UnwrittenFault, AttributeFault,
    KeyFault, OverflowFault,
):  # fmt: skip
    _fault.__name__ = _fault.__qualname__ = _fault.__bases__[1].__name__
    _fault.__module__ = "builtins"
LinAlgFault.__name__ = LinAlgFault.__qualname__ = "_LinAlgError"
LinAlgFault.__module__ = "gradcli.functions.linalg"
