"""Views that the graph does not follow: made, or overtaken by a write, where nothing was recorded.

    with no_grad():
        v = x[0]            v --> Severed        requires grad as x does; its gradient goes nowhere
        v.mul_(2)           v --> Stale          whose gradient would be ambiguous: an error

As in PyTorch, where such a view asks its base whether it requires grad and has no node of its own.
"""

from __future__ import annotations

from typing import Any

from gradcli.engine.graph.node import AccumulateGrad, Node, Part
from gradcli.ops.errors import RuntimeFault


class Severed(Node):
    """The end of the graph at a view that was made where nothing was recorded; ``viewed`` is where
    its base is."""

    __slots__ = ("viewed",)
    op = Part("severed", "severed")
    leaf = True
    origin = None  # type: ignore[assignment]  # shows as (None, 0): there is no node

    def __init__(self, view: Any, viewed: Node | None = None) -> None:
        super().__init__((), view.dtype, view.array.shape)
        self.viewed = viewed

    @staticmethod
    def pull(node: Node, g: Any) -> tuple[()]:
        """Nothing: the gradient ends here."""
        return ()


FUNCTION = "function"
"""``Meta.made`` of a view that a custom Function returned. Others are "several" for a view that
came with others, "no_grad" and "inference" for the mode in which it was made."""


class Stale(Severed):
    """The place of a view whose memory was written to where nothing was recorded."""

    __slots__ = ("made", "number", "own", "source")
    leaf = False

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self.made = view.meta.made
        self.source, self.number = output_name(view.edge), getattr(view.edge, "number", 0)
        # Of a leaf: what it is again where its base leaves the graph.
        self.own = view.edge if view.edge.__class__ is AccumulateGrad else None

    def name(self) -> str:
        """PyTorch prints it so."""
        return "Invalid"

    @property
    def origin(self) -> Node:  # type: ignore[override]
        """There is none. Raises RuntimeFault (E0409)."""
        what = "its base or another view of its base has been modified inplace"
        raise refusal(self.made, self.source, what)

    @staticmethod
    def pull(node: Node, g: Any) -> tuple[()]:
        """Raises RuntimeFault (E0409)."""
        return node.origin  # type: ignore[return-value]  # raises


class BrokenOff(Severed):
    """The place of a tensor whose memory a write in place was broken off at: any pass from there
    to where its numbers, before or after, came from is an error."""

    __slots__ = ()
    leaf = False
    name, pull = Stale.name, staticmethod(Stale.pull)

    def __init__(self, tensor: Any, edges: tuple[Node | None, ...]) -> None:
        super().__init__(tensor)
        self.edges = edges

    @property
    def origin(self) -> Node:  # type: ignore[override]
        """There is none. Raises RuntimeFault (E0402)."""
        said = "a write in place was broken off here: the numbers and the graph may differ"
        raise RuntimeFault("E0402", said, help="compute the tensor again")


def output_name(edge: Any) -> str | None:
    """Which output of what a view is, without the word for its derivative: ``Output 1 of Unbind``.

    Of a view that went stale, what it was before; None where nothing was recorded.
    """
    if edge.__class__ is Stale:
        return edge.source
    if edge is None or edge.leaf:
        return None
    return f"Output {edge.number} of {edge.name().rpartition('Backward')[0]}"


_REASONS = {
    "several": "This view is the output of a function that returns multiple views. Such functions "
    "do not allow the output views to be modified inplace.",
    FUNCTION: "This view was created inside a custom Function (or because an input was returned "
    "as-is) and the autograd logic to handle view+inplace would override the custom backward "
    "associated with the custom Function, leading to incorrect gradients. This behavior is "
    "forbidden.",
}
_CURES = {
    "several": "You should replace the inplace operation by an out-of-place one.",
    FUNCTION: "You can fix this by cloning the output of the custom Function.",
}


def refusal(made: str, source: str | None, what: str) -> RuntimeFault:
    """The error of a write near a view that was ``made`` in a mode, or is an output: ``source``."""
    if made in ("no_grad", "inference"):
        now = "with grad mode enabled" if made == "no_grad" else "in normal mode"
        block = made if made == "no_grad" else "inference_mode"
        view = "A view was" if source is None else f"{source} is a view of a view which was"
        said = (
            f"{view} created in {made} mode and {what} {now}. Given that this use case is "
            "ambiguous and error-prone, it is forbidden."
        )
        return RuntimeFault(
            "E0409", said,
            help=f"put both the view and the write inside {block}(), or both outside",
            torch=f"{said} You can clarify your code by moving both the view and the inplace "
            f"either both inside the {block} block (if you don't want the inplace to be tracked) "
            "or both outside (if you want the inplace to be tracked).",
        )  # fmt: skip
    begin = f"{source} is a view and {what}."
    if source is None:
        begin = f"A view was created in no_grad mode and {what} with grad mode enabled."
    return RuntimeFault(
        "E0409",
        f"{begin} {_REASONS[made]}",
        help=_CURES[made],
        torch=f"{begin} {_REASONS[made]} {_CURES[made]}",
    )
