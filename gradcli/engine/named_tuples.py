"""Results of several tensors that print under PyTorch's names: ``torch.return_types.max(...)``."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any


class Results(tuple[Any, ...]):
    """A tuple whose places have names, made by the function ``name``; its text is PyTorch's."""

    fields: tuple[str, ...] = ()
    name: str

    def __new__(cls, places: Iterable[Any], name: str) -> Results:
        out = super().__new__(cls, places)
        out.name = name
        return out

    def __repr__(self) -> str:
        places = ",\n".join(f"{f}={v!r}" for f, v in zip(self.fields, self, strict=True))
        return f"gradcli.return_types.{self.name}(\n{places})"

    __str__ = __repr__


class Extremes(Results):
    """``(values, indices)`` along a dimension: of max, min, sort, topk and the like."""

    fields = ("values", "indices")
    values = property(lambda self: self[0], doc="The entries.")
    indices = property(lambda self: self[1], doc="Where they stand; the first where several do.")


class Range(Results):
    """``(min, max)``."""

    fields = ("min", "max")
    min = property(lambda self: self[0], doc="The smallest entry.")
    max = property(lambda self: self[1], doc="The largest entry.")


class _ReturnType(type):
    """The classes of ``return_types``, which have the results of one function as instances."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Results) and value.name == cls.__name__


class _ReturnTypes:
    """``return_types.max``: a class of what the function ``max`` gives, for ``isinstance``."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("_"):
            raise AttributeError(name)
        return _ReturnType(name, (), {})


return_types = _ReturnTypes()
_made: dict[tuple[str, ...], type[Results]] = {}


def results(name: str, **places: Any) -> Results:
    """A tuple of ``places`` by name, which prints as PyTorch's ``return_types.name``.

    Example:
        >>> results("linalg_slogdet", sign=1.0, logabsdet=0.5).sign
        1.0
    """
    fields = tuple(places)
    kind = _made.get(fields)
    if kind is None:
        body: dict[str, Any] = {"fields": fields}
        for i, field in enumerate(fields):
            body[field] = property(itemgetter(i), doc="A place of the tuple.")
        kind = _made.setdefault(fields, type("Results", (Results,), body))
    return kind(places.values(), name)
