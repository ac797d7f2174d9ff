"""Anomaly mode: name the operation whose gradient is NaN, and where it was called.

While the mode is on, every recorded node notes the line of the user's program that made it: its
sequence number is then a ``Placed`` one, which remembers the line and is otherwise a number. The
rest of the time recording pays nothing for this.
"""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np

from gradcli.engine.grad_mode import mode
from gradcli.engine.graph.node import Node
from gradcli.engine.source_location import PROGRAM, Placed, warn
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.errors import Fault, RuntimeFault
from gradcli.ops.torch_messages import not_a


def place_of(node: Node) -> tuple[Any, int] | None:
    """The code object and line that recorded ``node``, where anomaly mode was on; else None."""
    number = node.origin.seq
    if number.__class__ is not Placed or number.place is None:
        return None
    return number.place.code, number.place.line


class _Anomaly:
    """Looks at every step of backward, for ``mode.inspect``."""

    def __init__(self, check_nan: bool) -> None:
        self.check_nan = check_nan
        self.running: Node | None = None  # whose backward runs, and may record

    def look(self, node: Node, g: Any, pulled: tuple[Any, ...]) -> None:
        """Raise RuntimeFault (E0501) where one of the node's gradients has a NaN."""
        if not self.check_nan:
            return
        for number, r in enumerate(pulled):
            raw = r.array if isinstance(r, Tensor) else r
            if isinstance(raw, np.ndarray | np.generic) and np.isnan(raw).any():
                raise self._nan(node, number)

    def _nan(self, node: Node, number: int) -> RuntimeFault:
        """The error of a NaN. Not made where it is raised: a frame that knows the error, which
        knows the frame, would keep what the user's frames hold until the next collection."""
        return RuntimeFault(
            "E0501",
            f"Function '{node.name()}' returned nan values in its {number}th output.",
            help="look at the values that went into it; where() and clamp() keep a value "
            "away from the edge",
        )

    def explain(self, node: Node, fault: Exception) -> None:
        """Warn of the node that an error of backward came from, with the place of its forward call.

        A fault of gradcli's own gets the place too: ``fault.place``, and a note.
        """
        place = place_of(node)
        _tell(fault, f"Error detected in {node.name()}.", "caused the error", place)
        if place is None:
            return
        cause = node.origin.seq.cause  # type: ignore[attr-defined]  # of a Placed number
        while cause is not None:
            said = f"\n\nPrevious calculation was induced by {cause.name()}."
            _tell(fault, said, "induced the previous calculation", place_of(cause))
            cause = getattr(cause.origin.seq, "cause", None)
        if not isinstance(fault, Fault) or hasattr(fault, "place"):
            return
        code, line = place
        fault.place = place  # type: ignore[attr-defined]
        if code.co_filename != PROGRAM:
            fault.notes = (
                *fault.notes,
                f"the forward call of {node.name()} is in {code.co_filename}, line {line}",
            )


def _tell(fault: Exception, said: str, what: str, place: tuple[Any, int] | None) -> None:
    """Warn of a node, with the line of its forward call; a program's errors show that in theirs.

    Where the caller made warnings errors, it is shown all the same, and ``fault`` takes it as a
    note: it is what has to be seen.
    """
    if place is None:
        said += (
            " No forward pass information available. Enable detect anomaly during forward pass for "
            "more information."
        )
    elif place[0].co_filename == PROGRAM:
        return
    else:
        frame = traceback.FrameSummary(place[0].co_filename, place[1], place[0].co_name)
        text = "".join(traceback.format_list([frame]))
        said += f" Traceback of forward call that {what}:\n{text}"
    try:
        warn(said)
    except Warning as raised:
        fault.add_note(str(raised))
        traceback.print_exception(type(raised), raised, None)


def _switch(looker: _Anomaly | None) -> None:
    mode.inspect = looker
    mode.placed = looker is not None


class noted_places:
    """Inside, every node notes where the user's program recorded it; nothing else changes."""

    def __enter__(self) -> None:
        mode.placed = True

    def __exit__(self, *exc: object) -> None:
        mode.placed = mode.inspect is not None


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return mode.inspect.__class__ is _Anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaN; also that which is not on."""
    return not is_anomaly_enabled() or mode.inspect.check_nan


class detect_anomaly:
    """Inside, backward stops at the first NaN, and warnings say where the forward call was.

    Forward has to run inside too for its places to be known. Raises RuntimeFault (E0501).

    Example:
        >>> import warnings
        >>> import gradcli
        >>> x = gradcli.tensor([0.0], requires_grad=True)
        >>> with warnings.catch_warnings(action="ignore"), gradcli.autograd.detect_anomaly():
        ...     y = (gradcli.sqrt(x) * 0).sum()
        ...     try:
        ...         y.backward()
        ...     except RuntimeError as error:
        ...         print(error.message)
        Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.looker: _Anomaly | None = _Anomaly(check_nan)
        self.previous = mode.inspect
        if type(self) is detect_anomaly:
            warn(
                "Anomaly Detection has been enabled. This mode will increase the runtime and "
                "should only be enabled for debugging."
            )

    def __enter__(self) -> None:
        _switch(self.looker)

    def __exit__(self, *exc: object) -> None:
        _switch(self.previous)


class set_detect_anomaly(detect_anomaly):
    """Switch anomaly mode on or off at once; as a context manager, until its end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(check_nan)
        for place, (name, value) in enumerate((("enabled", mode), ("check_nan", check_nan)), 1):
            if not isinstance(value, bool):
                raise not_a("bool", "set_anomaly_enabled", name, place, value)
        if not mode:
            self.looker = None
        _switch(self.looker)
