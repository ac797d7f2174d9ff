"""Where in the user's program something happened: what saved a value, what overwrote it.

A place is a code object and an instruction in it, never a frame, which would keep a caller's
variables alive. Every operator that saves a tensor leaves one on its node (the short ways of
``record`` by themselves, the others through ``mark``), every write in place one on the version
counter, every backward pass one on what it freed. The line is worked out when an error names it.
"""

from __future__ import annotations

import itertools
import warnings
from sys import _getframe
from types import CodeType
from typing import Any, TypeVar

import numpy as np

from gradcli.ops.errors import Fault

_Fault = TypeVar("_Fault", bound=Fault)

PROGRAM = "<gradcli program>"
"""The file name in frames of a program of the language; its front end translates the lines."""

_OWN = (__file__.rpartition("engine")[0], np.__file__.rpartition("__init__")[0])
"""The files of gradcli, and those of NumPy, whose ``errstate`` wraps functions of gradcli."""


class Place:
    """An instruction of a code object."""

    __slots__ = ("code", "lasti")

    def __init__(self, code: CodeType, lasti: int) -> None:
        self.code = code
        self.lasti = lasti

    @property
    def line(self) -> int:
        """The line in the code's file; in a program, the number of the tree node."""
        positions = itertools.islice(self.code.co_positions(), self.lasti // 2, None)
        return next(positions, (None,))[0] or int(self.code.co_firstlineno)

    @property
    def in_program(self) -> bool:
        """Whether this is a program of the language."""
        return self.code.co_filename == PROGRAM

    def __str__(self) -> str:
        import linecache  # only where an error is shown

        line = self.line
        text = linecache.getline(self.code.co_filename, line).strip()
        return f"{self.code.co_filename}, line {line}" + (f": {text}" if text else "")


class Placed(int):
    """A sequence number that knows where its node was recorded; see ``anomaly``."""

    place: Place | None
    cause: Any  # the node whose backward recorded this one, None in the forward pass


theirs: set[str] = set()
_ours: set[str] = set()
"""The files, as far as code was met, that are not gradcli's own, and those that are."""


def outside(frame: Any) -> Any:
    """The innermost frame from ``frame`` on that is not gradcli's own, or the outermost."""
    while (name := frame.f_code.co_filename) not in theirs:
        if name not in _ours:
            (_ours if name.startswith(_OWN) else theirs).add(name)
        elif (caller := frame.f_back) is None:
            break
        else:
            frame = caller
    return frame


def here() -> Place | None:
    """Where the user's program is now: the innermost frame outside gradcli's own files."""
    frame = outside(_getframe(1))
    inside = frame.f_code.co_filename not in theirs
    return None if inside else Place(frame.f_code, frame.f_lasti)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn the user of something, at the line of the user's program."""
    level, frame = 1, _getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


_ALWAYS = False
SAID: set[str] = set()
"""The texts of ``warn_once`` that were said in this process."""


def set_warn_always(b: bool) -> None:
    """Whether a warning that is given once is given every time, as in tests of programs."""
    global _ALWAYS
    _ALWAYS = bool(b)


def is_warn_always_enabled() -> bool:
    """Whether ``set_warn_always`` is on."""
    return _ALWAYS


def warn_once(text: str) -> None:
    """``warn`` of what is worth one mention in a process, unless ``set_warn_always``."""
    if _ALWAYS or text not in SAID:
        SAID.add(text)
        warn(text)


def mark(node: Any) -> None:
    """Note on a node that saves tensors where the user's program is."""
    frame = outside(_getframe(3))
    node.code, node.lasti = frame.f_code, frame.f_lasti


def of(node: Any) -> Place | None:
    """Where a node was recorded, as far as that is known."""
    number = node.origin.seq
    if number.__class__ is Placed:
        return number.place
    return noted(node)


def noted(value: Any) -> Place | None:
    """The place that a value has as its ``code`` and ``lasti``, where that is the user's."""
    code = getattr(value, "code", None)
    if code is None or code.co_filename.startswith(_OWN):
        return None
    return Place(code, value.lasti)


def told(fault: _Fault, **places: Place | None) -> _Fault:
    """``fault`` with the places that it is about; those in Python files become notes."""
    fault.places = places  # type: ignore[attr-defined]  # for the command line
    for role, place in places.items():
        if place is not None and not place.in_program:
            fault.notes = (*fault.notes, f"{role}: {place}")
    return fault
