"""What all nodes of the tree share: a place in the source, and that nothing can be assigned."""

from __future__ import annotations

put = object.__setattr__
"""How a node's own ``__init__`` sets its slots."""


class Node:
    """What all nodes share: a place in the source, and that nothing can be assigned."""

    __slots__ = ("end", "start")
    fields: tuple[str, ...] = ()
    data: tuple[str, ...] = ()

    start: int
    end: int

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot delete {name!r}")

    def __repr__(self) -> str:
        shown = "".join(f" {getattr(self, name)!r}" for name in self.data)
        return f"<{type(self).__name__}{shown} {self.start}:{self.end}>"


class Statement(Node):
    """A step of a program."""

    __slots__ = ()


class Expr(Node):
    """Something that has a value."""

    __slots__ = ()
