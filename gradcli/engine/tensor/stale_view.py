"""Views whose memory was written to where the graph does not follow: see ``graph.view_edges``."""

from __future__ import annotations

from typing import Any

from gradcli.engine.grad_mode import mode, no_grad
from gradcli.engine.graph.view_edges import Stale
from gradcli.engine.tensor.storage import Slots
from gradcli.engine.tensor.tensor import Tensor

_quiet: Any = no_grad()
_ordinary: Any = Tensor
place_of: Any = Slots.edge.__get__  # type: ignore[attr-defined]
"""The place in the graph of any tensor, a stale one's too."""


class StaleView(Tensor):
    """A view whose place in the graph is asked for in vain: what would be recorded is refused.

    A class of its own, so that recording asks nothing of the edges of all other tensors.
    """

    __slots__ = ()

    @property
    def edge(self) -> Any:
        """Its place. Raises RuntimeFault (E0409) where gradients are recorded."""
        edge = place_of(self)
        return edge.origin if mode.grad else edge

    @edge.setter
    def edge(self, edge: Any) -> None:
        Slots.edge.__set__(self, edge)  # type: ignore[attr-defined]

    def __reduce_ex__(self, protocol: Any) -> Any:
        function, (_, *rest), *state = super().__reduce_ex__(protocol)
        return (function, (Tensor, *rest), *state)

    requires_grad = property(lambda self: True, _ordinary.requires_grad.fset)
    # What records nothing.
    data = property(_quiet(_ordinary.data.fget), _quiet(_ordinary.data.fset))
    grad = property(_quiet(_ordinary.grad.fget), _quiet(_ordinary.grad.fset))
    output_nr = property(_quiet(_ordinary.output_nr.fget))
    __repr__ = __str__ = _quiet(_ordinary.__repr__)


StaleView.__name__, StaleView.__qualname__, StaleView.__module__ = "Tensor", "Tensor", "gradcli"


def cut(view: Tensor) -> None:
    """``view`` ends here: its memory was written to, and it cannot follow."""
    if view.__class__ is not StaleView:
        view.edge = Stale(view)
        if view.__class__ is Tensor:
            view.__class__ = StaleView
