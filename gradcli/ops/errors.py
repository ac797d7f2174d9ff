"""The errors that gradcli raises: one stable code each, and the built-in type PyTorch would raise.

A caller in Python can write ``except RuntimeError`` as in a PyTorch tutorial; the command line
shows the same error as a diagnostic with the user's own source line. ``gradcli why CODE``
explains a code.
"""

from __future__ import annotations


class Fault(Exception):
    """Something that the user can mend.

    code      stable identifier such as ``"E0301"``
    message   what is wrong, in the user's own names; no trailing full stop
    help      what to write instead, or None
    operands  ``(index, text)`` pairs that describe the operator's operands, by position; a front
              end that knows the source underlines each one
    notes     further sentences, in order
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        help: str | None = None,
        operands: tuple[tuple[int, str], ...] = (),
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help
        self.operands = operands
        self.notes = notes

    def __str__(self) -> str:
        text = f"{self.message} [{self.code}]"
        for note in self.notes:
            text += f"\nnote: {note}"
        return f"{text}\nhelp: {self.help}" if self.help else text


class RuntimeFault(Fault, RuntimeError):
    """The operation cannot be carried out on these values (shapes, graph, state)."""


class TypeFault(Fault, TypeError):
    """A value of the wrong kind was given."""


class ValueFault(Fault, ValueError):
    """A value of the right kind but outside what the operation takes."""


class IndexFault(Fault, IndexError):
    """An index or a dimension is out of range."""


class UnwrittenFault(Fault, NotImplementedError):
    """A method that the user's own class has to have."""


class LimitFault(Fault, RuntimeError):
    """A limit on time, memory, steps, nesting or output was reached."""


# A tutorial that prints ``type(e).__name__``, and a traceback, name the built-in type.
for _fault in (RuntimeFault, TypeFault, ValueFault, IndexFault, UnwrittenFault):
    _fault.__name__ = _fault.__qualname__ = _fault.__bases__[1].__name__
    _fault.__module__ = "builtins"
