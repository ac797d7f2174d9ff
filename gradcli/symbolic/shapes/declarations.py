"""Declarations of variables: kind, sizes and properties, as text and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.language.names.table import CONSTANTS
from gradcli.ops.errors import RuntimeFault, ValueFault, bad_shape
from gradcli.symbolic.expr.sizes import terms as size_terms
from gradcli.symbolic.expr.sizes import text as size_text
from gradcli.symbolic.unsupported import at, no_closed_form, no_value

KINDS = {"scalar": 0, "vector": 1, "matrix": 2, "tensor": 3}
MOST_RANK = 4
TRAITS = {"symmetric": ("symmetric",), "spd": ("symmetric", "spd"), "positive": ("positive",)}


class Declaration:
    """A variable's kind, its dimensions by name or size (() where not said), and its traits."""

    __slots__ = ("dims", "rank", "traits")

    def __init__(self, rank: int, dims: tuple[str, ...] = (), traits: tuple[str, ...] = ()) -> None:
        self.rank = rank
        self.dims = dims
        self.traits = frozenset(traits)

    @classmethod
    def of_shape(cls, shape: Sequence[int]) -> Declaration:
        """The declaration that a value of this shape makes. Raises a fault (E0701) above rank 4."""
        if len(shape) > MOST_RANK:
            raise no_closed_form(f"a tensor of more than {MOST_RANK} dimensions")
        return cls(len(shape), tuple(str(s) for s in shape))

    def __str__(self) -> str:
        kind = ("scalar", "vector", "matrix", "tensor", "tensor")[self.rank]
        words = [t for t in ("spd", "symmetric", "positive") if t in self.traits]
        if "spd" in words:
            words.remove("symmetric")
        return " ".join([kind + (":" + ",".join(self.dims) if self.dims else ""), *words])


def declares(text: str) -> bool:
    """Whether a text begins as a declaration does, and not as a value."""
    head = text.partition(":")[0].split()
    return bool(head) and head[0] in KINDS


def parse_declaration(text: str) -> Declaration:
    """Read ``scalar``, ``vector``, ``vector:n``, ``matrix:n,m``, then symmetric, spd, positive.

    Raises ValueFault (E0901) for anything else.

    Example:
        >>> str(parse_declaration("matrix:n,n spd"))
        'matrix:n,n spd'
    """
    words = text.split()
    head, _, sizes = words[0].partition(":") if words else ("", "", "")
    if head not in KINDS:
        raise _unreadable(text, f"`{head}` is not a kind of variable")
    rank = KINDS[head]
    dims = tuple(d.strip() for d in sizes.split(",")) if sizes else ()
    try:
        dims = tuple(size_text(size_terms(d)) for d in dims)
    except ValueError:
        raise _unreadable(text, "a size is a name or a whole number above 0") from None
    if any(d == "0" or "-" in d.rstrip("0123456789")[:-1] or d.startswith("-") for d in dims):
        raise _unreadable(text, "a size is a name or a whole number above 0")
    if head == "tensor":
        if not 2 < len(dims) <= MOST_RANK:
            raise _unreadable(text, f"a tensor has 3 to {MOST_RANK} sizes: tensor:n,m,p")
        rank = len(dims)
    if dims and len(dims) != rank:
        raise _unreadable(text, f"a {head} has {rank} size{'s' * (rank != 1)}, not {len(dims)}")
    traits: list[str] = []
    for word in words[1:]:
        if word not in TRAITS:
            raise _unreadable(text, f"`{word}` is not a property")
        traits += TRAITS[word]
    if "symmetric" in traits and (rank != 2 or len(set(dims)) > 1):
        raise _unreadable(text, "only a square matrix is symmetric")
    return Declaration(rank, dims, tuple(traits))


def declared_as(given: Mapping[str, str | Declaration] | None) -> dict[str, Declaration]:
    """Declarations by name, those that are texts read.

    Raises E0701 for names such as ``e``: formulas, and what is printed of them, have the number.
    """
    for name in given or {}:
        if name in CONSTANTS:
            raise no_value(f"`{name}` is a number in formulas, not a variable")
    return {
        k: d if isinstance(d, Declaration) else parse_declaration(d)
        for k, d in (given or {}).items()
    }


def sizes_at(declared: Mapping[str, Declaration], values: Mapping[str, Any]) -> dict[str, int]:
    """The sizes that values of declared variables give to dimensions.

    Raises ValueFault (E0912) for a value of another shape than declared, or than another's says.
    """
    sizes: dict[str, int] = {}
    for name in (k for k in values if k in declared):
        kind, shape = declared[name], np.shape(values[name])
        fits = kind.rank == len(shape) and all(
            size == (int(dim) if dim.isdigit() else sizes.setdefault(dim, size))
            for dim, size in zip((d or "1" for d in kind.dims), shape, strict=False)
        )
        if not fits:
            raise ValueFault("E0912", f"{name} is a {kind}, and its value has shape {shape}")
    return sizes


def _unreadable(text: str, why: str) -> ValueFault:
    return ValueFault(
        "E0901", f"{text!r} declares no variable: {why}",
        help="scalar, vector, vector:n, matrix or matrix:n,m, tensor:n,m,p, "
        "then symmetric, spd or positive",
    )  # fmt: skip


def conflict(
    message: str, source: Any, node: Any, other: Any = None, said: str = "", help: str | None = None
) -> RuntimeFault:
    """A contradiction of shapes (E0301) with its place and the other one."""
    fault = at(bad_shape(message, help=help), source, node)
    if other is not None and source is not None:
        fault.labels.append((other.start, other.end, said, False))
    return fault
