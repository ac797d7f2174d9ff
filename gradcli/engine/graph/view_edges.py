"""Views that the graph does not follow: made, or overtaken by a write, where nothing was recorded.

    with no_grad():
        v = x[0]            v --> Severed        requires grad as x does; its gradient goes nowhere
        v.mul_(2)           v --> Stale          whose gradient would be ambiguous: an error

As in PyTorch, where such a view asks its base whether it requires grad and has no node of its own.
"""

from __future__ import annotations

from typing import Any

from gradcli.engine.graph.node import Node, Part, next_number
from gradcli.ops.errors import RuntimeFault


class Severed(Node):
    """The end of the graph at a view that was made where nothing was recorded."""

    __slots__ = ()
    op = Part("severed", "severed")
    leaf = True
    origin = None  # type: ignore[assignment]  # shows as (None, 0): there is no node

    def __init__(self, view: Any) -> None:
        self.edges = ()
        self.saved = ()
        self.seq = next_number()
        self.shape = view.array.shape
        self.dtype = view.dtype
        self.extra = None

    @staticmethod
    def pull(node: Node, g: Any) -> tuple[()]:
        """Nothing: the gradient ends here."""
        return ()


class Stale(Severed):
    """The place of a view whose memory was written to where nothing was recorded."""

    __slots__ = ("made",)
    leaf = False

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        edge, made = view.edge, view.meta.made
        self.made = f"Output 0 of {view_name(edge)}" if made == "several" else made

    def name(self) -> str:
        """PyTorch prints it so."""
        return "Invalid"

    @property
    def origin(self) -> Node:  # type: ignore[override]
        """There is none. Raises RuntimeFault (E0409)."""
        raise refusal(self.made, "its base or another view of its base has been modified inplace")

    @staticmethod
    def pull(node: Node, g: Any) -> tuple[()]:
        """Raises RuntimeFault (E0409)."""
        return node.origin  # type: ignore[return-value]  # raises


def view_name(edge: Any) -> str:
    """What made a view, without the word for its derivative: ``Unbind``."""
    return "a function" if edge is None else edge.name().partition("Backward")[0]


def refusal(made: str, what: str) -> RuntimeFault:
    """The error of a write near a view that was ``made`` in a mode, or by a function of several."""
    if made in ("no_grad", "inference"):
        now = "with grad mode enabled" if made == "no_grad" else "in normal mode"
        return RuntimeFault(
            "E0409",
            f"A view was created in {made} mode and {what} {now}. Given that this use case is "
            "ambiguous and error-prone, it is forbidden.",
            help=f"put both the view and the write inside {made}"
            f"{'()' if made == 'no_grad' else '_mode()'}, or both outside",
        )
    return RuntimeFault(
        "E0409",
        f"{made} is a view and {what}. This view is the output of a function that returns multiple "
        "views. Such functions do not allow the output views to be modified inplace.",
        help="replace the write by an out-of-place operation, or write to the base by index",
        torch=f"{made} is a view and {what}. This view is the output of a function that returns "
        "multiple views. Such functions do not allow the output views to be modified inplace. You "
        "should replace the inplace operation by an out-of-place one.",
    )
