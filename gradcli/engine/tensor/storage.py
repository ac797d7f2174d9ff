"""What few tensors have besides numbers: a version counter, views, a kept gradient."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradcli.engine.graph.node import Kept, sharing
from gradcli.engine.source_location import Place, here

if TYPE_CHECKING:
    from gradcli.engine.tensor.tensor import Tensor


class Slots:
    """The layout of a Tensor, which the values inside transforms have too, under other names.

    A tensor that is written to with a value that carries a tangent has to carry one from then on,
    wherever it is referred to: the object becomes one of the other class, for which Python asks
    that their layouts agree. Attributes of the user's (``w.main_grad = g``) are in its
    ``__dict__``, which Python makes when one is set.
    """

    __slots__ = ("__dict__", "__weakref__", "_begun", "_dtype", "array", "edge", "meta")

    # Set on what is made inside transforms alone: when the innermost one around it had begun.
    _begun: int

    def __dir__(self) -> list[str]:
        """The names that are there: of slots, those that something was put in."""
        return [n for n in super().__dir__() if n not in Slots.__slots__ or hasattr(self, n)]


class Version:
    """Counts writes to one piece of memory; views and detached twins share it."""

    __slots__ = ("begun", "number", "place", "twins")

    def __init__(self) -> None:
        self.number = 0
        # Of memory that was made inside transforms: when the innermost had begun, or later.
        self.begun: int | None = None
        self.place: Place | None = None  # of the last write
        # Where one was detached: the bases of all views, which see a write to any of them.
        self.twins: References | None = None

    def bump(self) -> None:
        """One more write, by the line of the user's program that is running."""
        self.number += 1
        self.place = here()

    def add_twin(self, base: Tensor, twin: Tensor) -> None:
        """Note a tensor that was detached from ``base``, or from a view of it."""
        if self.twins is None:
            self.twins = References.of(base)
        self.twins.note(twin)


class References(list["weakref.ref[Any]"]):
    """Tensors that are here for as long as something else refers to them."""

    room = 16
    shown: Any  # of a batch that a write made of what was none: in batches, and what that was

    @classmethod
    def of(cls, *tensors: Any) -> References:
        """References to these."""
        return cls(map(weakref.ref, tensors))

    def alive(self) -> Iterator[Any]:
        """Those that are still referred to."""
        return (v for v in (reference() for reference in self) if v is not None)

    def note(self, tensor: Any) -> None:
        """Add one more; those that are gone make room."""
        if len(self) >= self.room:
            with sharing:
                known = len(self)  # another thread may add to the end meanwhile
                self[:known] = [v for v in self[:known] if v() is not None]
                self.room = max(16, 2 * len(self))
        self.append(weakref.ref(tensor))


ARGUMENT = "argument"
"""``Meta.made`` of what a transform differentiates by, where that is no leaf of the graph."""


class Meta:
    """What few tensors have."""

    __slots__ = (
        "base", "former", "grad", "kept", "made", "outer", "overtaken", "resting", "shown",
        "version", "views",
    )  # fmt: skip
    inference = False
    counted = True  # whether writes outside inference mode are possible, and have a version
    former: Any  # of a view whose base, or which itself, was given other memory: the base it had
    overtaken: bool  # of a view whose memory was written to while nothing there required a gradient
    outer: Any  # of ``x.data`` that is still in the graph of a transform around: x
    resting: Any  # of a leaf that was turned off: the end of the graph that it was
    shown: References  # of what there is such ``data`` of: all of them

    def __init__(self, version: Version | None = None) -> None:
        self.version = version or Version()
        self.base: Tensor | None = None
        self.grad: Tensor | None = None
        self.kept: Kept | None = None
        # For a view that may not be written to where the graph is recorded: how it was made.
        self.made: str | None = None
        self.views: References | None = None  # the tensors that share memory

    def add_view(self, view: Tensor) -> None:
        """Note one more tensor that shares this one's memory."""
        if self.views is None:
            with sharing:
                self.views = self.views or References()
        self.views.note(view)

    def add_data(self, data: Tensor) -> None:
        """Note one more ``x.data`` of this tensor that is still in the graph of a transform."""
        with sharing:
            if not hasattr(self, "shown"):
                self.shown = References()
        self.shown.note(data)


class InferenceMeta(Meta):
    """That of a tensor made in inference mode, and of its views: no graph may touch it.

    What is detached from it outside is ``counted``, its views are not.
    """

    __slots__ = ("counted",)
    inference = True

    def __init__(self, version: Version | None = None, counted: bool = False) -> None:
        super().__init__(version)
        self.counted = counted
