"""Views whose memory was written to: those that the graph does not follow (``graph.view_edges``),
and those whose new place is yet to be made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.engine.grad_mode import mode, no_grad
from gradcli.engine.graph.view_edges import Stale
from gradcli.engine.tensor.conj_view import ConjView
from gradcli.engine.tensor.storage import Slots
from gradcli.engine.tensor.tensor import Tensor

_quiet: Any = no_grad()
_ordinary: Any = Tensor
place_of: Any = Slots.edge.__get__  # type: ignore[attr-defined]
"""The place in the graph of any tensor, a stale one's too."""
put_at: Any = Slots.edge.__set__  # type: ignore[attr-defined]
"""Set it, and leave the tensor's class as it is."""


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
        put_at(self, edge)
        ordinary: Any = ConjView if self._flips else Tensor
        self.__class__ = ordinary

    def __reduce_ex__(self, protocol: Any) -> Any:
        function, (_, *rest), *state = super().__reduce_ex__(protocol)
        return (function, (Tensor, *rest), *state)

    requires_grad = property(lambda self: True, _ordinary.requires_grad.fset)
    is_leaf = property(lambda self: place_of(self).origin)  # raises, whatever is recorded
    # What records nothing.
    data = property(_quiet(_ordinary.data.fget), _quiet(_ordinary.data.fset))
    grad = property(_quiet(_ordinary.grad.fget), _quiet(_ordinary.grad.fset))
    output_nr = property(_quiet(_ordinary.output_nr.fget))
    _backward_hooks = property(_quiet(_ordinary._backward_hooks.fget))
    requires_grad_ = _quiet(_ordinary.requires_grad_)
    __repr__ = __str__ = _quiet(_ordinary.__repr__)


class StaleConjView(StaleView, ConjView):
    """Such a view that is the conjugate or negative of what its memory holds."""

    __slots__ = ()
    _turned: type = StaleView


StaleView._turned = StaleConjView
_STALE: Any = {Tensor: StaleView, ConjView: StaleConjView}


class LateView(Tensor):
    """A view that reads its base anew when its place in the graph is asked for, and not before.

    The nodes of views are then as old as in PyTorch, which hooks see. Of many views most are held
    by what the graph saves alone, and nobody asks them: were all of them to follow each write at
    once, a loop that writes would take quadratic time.
    """

    __slots__ = ()
    read_again: Callable[[Tensor, Tensor], None]  # of ``record.inplace``, which is above

    @property
    def edge(self) -> Any:
        """Its place, from now on an ordinary tensor's."""
        base = place_of(self)
        if isinstance(base, Tensor):  # no other thread was here meanwhile
            LateView.read_again(self, base)
        return place_of(self)

    @edge.setter
    def edge(self, edge: Any) -> None:
        put_at(self, edge)
        self.__class__ = _ordinary


for _kind in (StaleView, StaleConjView, LateView):
    _kind.__name__, _kind.__qualname__, _kind.__module__ = "Tensor", "Tensor", "gradcli"


def follow_later(view: Tensor, base: Tensor) -> None:
    """``view``, of class Tensor or LateView, is to read its entries from ``base`` as that is."""
    put_at(view, base)
    view.__class__ = LateView


def cut(view: Tensor) -> None:
    """``view`` ends here: its memory was written to, and it cannot follow."""
    if view.__class__ not in _STALE.values():
        view.edge = Stale(view)
        view.__class__ = _STALE.get(view.__class__, view.__class__)
