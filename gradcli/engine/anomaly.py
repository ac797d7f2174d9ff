"""Anomaly mode: name the operation whose gradient is NaN, and where it was called.

While the mode is on, every recorded node notes the line of the user's program that made it: its
sequence number is then a ``Placed`` one, which remembers the line and is otherwise a number. The
rest of the time recording pays nothing for this.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gradcli.engine import function, graph, record
from gradcli.engine.graph import Node
from gradcli.engine.modes import _Switch, mode
from gradcli.engine.tensor import Tensor
from gradcli.ops.errors import Fault, RuntimeFault

PROGRAM = "<gradcli program>"
"""The file name in frames of a program of the language; its front end translates the lines."""

_PACKAGE = __name__.partition(".")[0] + "."


class Placed(int):
    """A sequence number with the code object and the line that recorded the node."""

    code: Any
    line: int


def _next_placed() -> Placed:
    number = Placed(graph.next_number())
    frame = sys._getframe(1)
    while frame is not None and _is_own(frame):
        frame = frame.f_back
    number.code, number.line = (None, 0) if frame is None else (frame.f_code, frame.f_lineno)
    return number


def _is_own(frame: Any) -> bool:
    name = frame.f_globals.get("__name__", "")
    return frame.f_code.co_filename != PROGRAM and name.startswith(_PACKAGE)


def place_of(node: Node) -> tuple[Any, int] | None:
    """The code object and line that recorded ``node``, where anomaly mode was on; else None."""
    number = node.origin.seq
    return (number.code, number.line) if number.__class__ is Placed and number.code else None


class _Anomaly:
    """Looks at every step of backward, for ``mode.inspect``."""

    def __init__(self, check_nan: bool) -> None:
        self.check_nan = check_nan

    def look(self, node: Node, g: Any, pulled: tuple) -> None:
        """Raise RuntimeFault (E0501) where one of the node's gradients has a NaN."""
        if not self.check_nan:
            return
        for number, r in enumerate(pulled):
            raw = r.array if isinstance(r, Tensor) else r
            if isinstance(raw, np.ndarray | np.generic) and np.isnan(raw).any():
                fault = RuntimeFault(
                    "E0501",
                    f"Function '{node.name()}' returned nan values in its {number}th output.",
                    help="look at the values that went into it; where() and clamp() keep a value "
                    "away from the edge",
                )
                self.explain(node, fault)
                raise fault

    def explain(self, node: Node, fault: Fault) -> None:
        """Give an error of backward the place of the forward call: ``fault.place``, and a note."""
        place = place_of(node)
        if place is None or hasattr(fault, "place"):
            return
        fault.place = place
        code, line = place
        if code.co_filename != PROGRAM:
            fault.notes = (
                *fault.notes,
                f"the forward call of {node.name()} is in {code.co_filename}, line {line}",
            )


def _switch(looker: _Anomaly | None) -> None:
    mode.inspect = looker
    record.next_number = graph.next_number if looker is None else _next_placed
    function.next_number = record.next_number


def _looker() -> Any:
    return mode.inspect


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return mode.inspect.__class__ is _Anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaN."""
    return is_anomaly_enabled() and mode.inspect.check_nan


class detect_anomaly(_Switch):
    """Inside, backward stops at the first NaN, and errors say where the forward call was.

    Forward has to run inside too for its places to be known. Raises RuntimeFault (E0501).

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([0.0], requires_grad=True)
        >>> with gradcli.autograd.detect_anomaly():
        ...     y = (gradcli.sqrt(x) * 0).sum()
        ...     try:
        ...         y.backward()
        ...     except RuntimeError as error:
        ...         print(error.message)
        Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__()
        self.looker: _Anomaly | None = _Anomaly(check_nan)

    def __enter__(self) -> None:
        self.previous.append(mode.inspect)
        _switch(self.looker)

    def __exit__(self, *exc: object) -> None:
        _switch(self.previous.pop())


class set_detect_anomaly(detect_anomaly):
    """Switch anomaly mode on or off at once; as a context manager, until its end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(check_nan)
        if not mode:
            self.looker = None
        self.previous = [_looker()]
        _switch(self.looker)

    def __enter__(self) -> None:
        if not self.previous:
            self.previous.append(_looker())
        _switch(self.looker)
