"""Shapes of what indexes, joins and rearranges: for the Unifier, by operator.

Each function takes the Unifier, the step and the shapes that it reads (dimensions by number, None
for size 1) and gives the shape of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

from gradcli.ops.dims import normal_dim, normal_dims
from gradcli.ops.errors import Fault
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.expr import sizes
from gradcli.symbolic.program.steps import Step
from gradcli.symbolic.unsupported import at, no_closed_form

Shape = tuple[Any, ...]
SHAPES: dict[str, Callable[[Any, Step, list[Shape]], Shape]] = {}
"""The shape rule of an operator whose declaration does not say it."""


def shape_rule(*names: str) -> Callable:
    """Register the shape rule of the operators of these names."""

    def keep(rule: Callable) -> Callable:
        SHAPES.update(dict.fromkeys(names, rule))
        return rule

    return keep


def is_entrywise(name: str) -> bool:
    """Whether an operator works entry by entry, with broadcasting."""
    return name in OPERATORS and OPERATORS[name].entrywise


def reduces(name: str) -> bool:
    """Whether an operator joins entries along dimensions, all of them where none is said."""
    op = OPERATORS.get(name)
    return op is not None and op.params.get("dim", 0) is None and not op.moves


@cache
def core_of(name: str, part: int = 0) -> tuple[list[str], str] | None:
    """The core dimensions of an operator: of inv ``(["nn"], "nn")``; None without any.

    ``part`` is which of several results is asked for.
    """
    core = OPERATORS[name].core if name in OPERATORS else ""
    if not core:
        return None
    taken, kept = (x[1:-1].split(")(") for x in core.replace(",", "").split("->"))
    return taken, kept[part]


def items(index: Any, rank: int) -> list[Any]:
    """One entry for every axis of an index: a number, a slice, or None for a new axis.

    Raises a fault (E0701) for masks and index arrays, and for more indices than axes.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    for p in parts:
        if isinstance(p, bool) or not (
            p is None or p is Ellipsis or isinstance(p, slice) or _whole(p) is not None
        ):
            raise no_closed_form("indexing with a mask or with an array of numbers")
    given = sum(p is not None and p is not Ellipsis for p in parts)
    if given > rank:
        raise no_closed_form(f"indexing {rank} dimensions {given} times")
    if Ellipsis not in parts:
        parts.append(Ellipsis)
    at = parts.index(Ellipsis)
    parts[at : at + 1] = [slice(None)] * (rank - given)
    return [p if p is None or isinstance(p, slice) else _whole(p) for p in parts]


def listed(value: Any) -> Sequence[Any]:
    """A parameter that is one value or several, as several."""
    return value if isinstance(value, tuple | list) else (value,)


def _whole(value: Any) -> int | None:
    try:
        return value.__index__()
    except (AttributeError, TypeError):
        return None


@shape_rule("getitem")
def _getitem(u: Any, s: Step, inner: list[Shape]) -> Shape:
    found: list[Any] = []
    left = iter(inner[0])
    for p in items(s.params["index"], len(inner[0])):
        if p is None:
            found.append(None)
            continue
        d = next(left)
        if isinstance(p, slice):
            try:
                found.append(_sliced(u, s, d, p))
            except ValueError as why:
                raise no_closed_form(f"a slice with {why}", u.source, s.node) from None
        elif d is not None:
            u.least.append((d, p + 1, 0) if p >= 0 else (d, 0, -p))
        elif p not in (0, -1):
            raise no_closed_form("an index outside a dimension of size 1", u.source, s.node)
    return tuple(found)


def _sliced(u: Any, s: Step, d: Any, p: slice) -> Any:
    """The dimension of a slice of one."""
    if p == slice(None) or d is None:
        if p != slice(None) and slice(*p.indices(1)) != slice(0, 1, 1):
            raise no_closed_form("an empty slice", u.source, s.node)
        return d
    low, high = p.start or 0, p.stop
    if isinstance(low, str) or isinstance(high, str):
        size = sizes.extent(u.size(d) or "?", *_ends(p))[0] if high or u.size(d) else None
        if size is None:
            raise no_closed_form("a slice to the end of an unknown size", u.source, s.node)
        return None if size == "1" else u.new(size)
    u.least.append((d, low + 1 if low >= 0 else 0, -low if low < 0 else 0))
    if high is not None:
        u.least.append((d, high if high >= 0 else 0, -high if high < 0 else 0))
    known = u.size(d)
    size = sizes.extent(known or "d", *_ends(p))[0]
    if known is None and "d" in sizes.names(size):
        found = sizes.terms(size)
        if set(found) <= {("d",), ()}:
            return u.moved(d, found.get((), 0))
        return u.later(("slice", d, *_ends(p)))
    if size == "0":
        raise no_closed_form("an empty slice", u.source, s.node)
    return None if size == "1" else u.new(size)


def _ends(p: slice) -> tuple[Any, Any, Any]:
    return p.start, p.stop, p.step


@shape_rule("put")
def _put(u: Any, s: Step, inner: list[Shape]) -> Shape:
    place = _getitem(u, s, inner[:1])
    for a, b in zip(place[::-1], inner[1][::-1], strict=False):
        if a is not None and b is not None:
            u.join(a, b, s)
    return inner[0]


@shape_rule("stack")
def _stack(u: Any, s: Step, inner: list[Shape]) -> Shape:
    first = list(_alike(u, s, inner))
    place = normal_dim(s.params.get("dim", 0), len(first) + 1)
    many = len(inner)
    return (*first[:place], None if many == 1 else u.new(str(many)), *first[place:])


def _alike(u: Any, s: Step, inner: list[Shape]) -> Shape:
    if len({len(x) for x in inner}) != 1:
        raise u.wrong(s, f"{s.op} needs tensors of one rank", s.inputs)
    for other in inner[1:]:
        for a, b in zip(inner[0], other, strict=True):
            u.meet(a, b, s)
    return inner[0]


@shape_rule("cat")
def _cat(u: Any, s: Step, inner: list[Shape]) -> Shape:
    rank = len(inner[0])
    if not rank:
        raise u.wrong(s, "cat needs vectors or matrices; stack joins numbers", s.inputs)
    axis = normal_dim(s.params.get("dim", 0), rank)
    _alike(u, s, [x[:axis] + x[axis + 1 :] for x in inner])
    parts = [x[axis] for x in inner]
    if len(parts) == 1:
        return inner[0]
    return (*inner[0][:axis], u.later(("cat", *parts)), *inner[0][axis + 1 :])


@shape_rule("flip", "roll", "tril", "triu")
def _same(u: Any, s: Step, inner: list[Shape]) -> Shape:
    return inner[0]


@shape_rule("cumsum")
def _cumsum(u: Any, s: Step, inner: list[Shape]) -> Shape:
    normal_dim(s.params.get("dim", 0), len(inner[0]))
    return inner[0]


@shape_rule("squeeze")
def _squeeze(u: Any, s: Step, inner: list[Shape]) -> Shape:
    dims = normal_dims(s.params.get("dim"), len(inner[0]))
    return tuple(d for i, d in enumerate(inner[0]) if d is not None or i not in dims)


@shape_rule("unsqueeze")
def _unsqueeze(u: Any, s: Step, inner: list[Shape]) -> Shape:
    place = normal_dim(s.params.get("dim", 0), len(inner[0]) + 1)
    return (*inner[0][:place], None, *inner[0][place:])


@shape_rule("pad")
def _pad(u: Any, s: Step, inner: list[Shape]) -> Shape:
    shape = list(inner[0])
    for axis, (low, high) in widths(s.params.get("pad"), len(shape)).items():
        if shape[axis] is None:
            shape[axis] = u.new(sizes.plus(sizes.plus("1", low), high))
        else:
            more = sizes.plus(low, high)
            shape[axis] = (
                u.moved(shape[axis], int(more)) if more.lstrip("-").isdigit()
                else u.later(("cat", shape[axis], u.new(more)))
            )  # fmt: skip
    return tuple(shape)


def widths(given: Any, rank: int) -> dict[int, tuple[str, str]]:
    """How much is put before and behind, by axis: pairs from the last axis on."""
    texts = [str(x) for x in listed(given)]
    if len(texts) % 2 or len(texts) > 2 * rank or any(x.startswith("-") for x in texts):
        raise no_closed_form("pad with negative widths, or with more pairs than dimensions")
    return {
        rank - 1 - i: (texts[2 * i], texts[2 * i + 1])
        for i in range(len(texts) // 2)
        if (texts[2 * i], texts[2 * i + 1]) != ("0", "0")
    }


@shape_rule("expand")
def _expand(u: Any, s: Step, inner: list[Shape]) -> Shape:
    wanted = listed(s.params["shape"])
    lead = len(wanted) - len(inner[0])
    if lead < 0:
        raise u.wrong(s, f"expand to {len(wanted)} dimensions", s.inputs)
    found = []
    for i, size in enumerate(wanted):
        d = inner[0][i - lead] if i >= lead else None
        if size not in (1, -1):
            new = u.new(str(size))
            if d is not None:
                u.join(d, new, s)
            d = new
        found.append(d)
    return tuple(found)


Group = tuple[list[int], list[int]]


def matched(have: Sequence[str], wanted: Sequence[str | None]) -> list[Group]:
    """The dimensions of a reshape in groups of places: those joined or split, those that stay.

    Sizes as texts; None is the one that -1 asks for. Raises a fault (E0701) where dimensions are
    joined and split at once.
    """
    groups: list[Group] = []
    i, k, last = 0, 0, len(have)
    while k < len(wanted):
        asked = wanted[k]
        if asked is None:  # what the others leave
            after = len(wanted) - k - 1
            if list(have[last - after :] if after else []) == list(wanted[k + 1 :]):
                groups.append((list(range(i, last - after)), [k]))
                i, k = last - after, k + 1
                continue
            break
        ends = [j for j in range(i + 1, last + 1) if _whole_size(have[i:j]) == asked]
        if ends:
            groups.append((list(range(i, ends[0])), [k]))
            i, k = ends[0], k + 1
            continue
        known = wanted[k : wanted.index(None)] if None in wanted else wanted[k:]
        parts = [
            k + j for j in range(1, len(known) + 1)
            if i < last and _whole_size(known[:j]) == have[i]
        ]  # fmt: skip
        if not parts:
            break
        groups.append(([i], list(range(k, parts[0]))))
        i, k = i + 1, parts[0]
    if (i, k) != (last, len(wanted)):
        left, right = list(range(i, last)), list(range(k, len(wanted)))
        if len(left) != 1 and len(right) != 1:
            raise no_closed_form("a reshape that joins and splits dimensions at once")
        groups.append((left, right))
    return groups


def _whole_size(parts: Sequence[Any]) -> str:
    total = "1"
    for part in parts:
        total = sizes.times(total, part)
    return total


@shape_rule("reshape")
def _reshape(u: Any, s: Step, inner: list[Shape]) -> Shape:
    have = [d for d in inner[0] if d is not None]
    given = listed(s.params["shape"])
    wanted = [_wanted(u, size) for size in given]
    asked = [d for d, size in zip(wanted, given, strict=True) if not _is_one(size)]
    texts = [_token(u, getattr(size, "dims", (d,))) if d is not None else None
             for d, size in zip(wanted, given, strict=True) if not _is_one(size)]  # fmt: skip
    found: list[Any] = []
    try:
        groups = matched([_token(u, (d,)) for d in have], texts)
    except Fault as fault:
        raise at(fault, u.source, s.node) from None
    for here, there in groups:
        left, right = [have[i] for i in here], [asked[k] for k in there]
        if len(left) == 1 and len(right) == 1:
            if right[0] is not None:
                u.join(left[0], right[0], s)
            found.append(left[0])
        elif len(right) == 1:
            found.append(_joined_dimension(u, s, left, right[0]))
        else:
            found += _split_dimension(u, s, left, right)
    order = iter(found)
    return tuple(None if _is_one(size) else next(order) for size in given)


def _token(u: Any, dims: Sequence[int]) -> str:
    """The size of dimensions together, those without a name by their number."""
    return _whole_size([u.size(d) or f"d{u.root(d)}" for d in dims])


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


def _wanted(u: Any, size: Any) -> Any:
    """A size of a reshape as a dimension; None for -1."""
    if isinstance(size, int):
        return None if size == -1 else u.new(str(size))
    dims = getattr(size, "dims", None)
    if dims is None:
        return u.new(str(size))
    return dims[0] if len(dims) == 1 else u.later(("product", *dims))


def _joined_dimension(u: Any, s: Step, left: list, right: Any) -> Any:
    """The dimension that others are joined to."""
    sizes_known = [u.size(d) for d in left]
    if not left:
        raise no_closed_form("a reshape to a size that is not 1", u.source, s.node)
    if all(k is not None and k.isdigit() for k in sizes_known):
        made = u.new(str(prod(int(k) for k in sizes_known)))
    else:
        made = u.later(("product", *left))
    if right is not None:
        u.join(made, right, s)
    return made


def _split_dimension(u: Any, s: Step, left: list, right: list) -> list:
    """The dimensions that one is split into."""
    known = [None if d is None else u.size(d) for d in right]
    if None in right:
        whole = u.size(left[0])
        rest = [k or "" for d, k in zip(right, known, strict=True) if d is not None]
        if whole is None or not all(k.isdigit() for k in (whole, *rest)):
            raise no_closed_form("a reshape with -1 beside others", u.source, s.node)
        right[right.index(None)] = u.new(str(int(whole) // max(prod(map(int, rest)), 1)))
    u.join(_joined_dimension(u, s, right, None), left[0], s)
    return right


@shape_rule("tile")
def _tile(u: Any, s: Step, inner: list[Shape]) -> Shape:
    repeats = listed(s.params["repeats"])
    if len(repeats) != len(inner[0]):
        raise no_closed_form("`tile` with new dimensions", u.source, s.node)
    found = []
    for d, k in zip(inner[0], repeats, strict=True):
        new = u.new(str(k))
        found.append(
            d if _is_one(k) else new if d is None else _joined_dimension(u, s, [new, d], None)
        )
    return tuple(found)


@shape_rule("sum_to")
def _sum_to(u: Any, s: Step, inner: list[Shape]) -> Shape:
    wanted = listed(s.params.get("shape", ()))
    kept = inner[0][len(inner[0]) - len(wanted) :]
    for d, size in zip(kept, wanted, strict=True):
        if d is not None and size != 1:
            u.join(d, u.new(str(size)), s)
    return tuple(None if size == 1 else d for d, size in zip(kept, wanted, strict=True))


def rank_of(s: Step, inner: list[int | None]) -> int | None:
    """The rank of what one of these gives, None where it is not known yet."""
    first = inner[0] if inner else None
    if s.op == "stack":
        known = [r for r in inner if r is not None]
        return known[0] + 1 if known else None
    if s.op == "cat":
        return max((r for r in inner if r is not None), default=None)
    if first is None:
        return None
    if s.op == "getitem":
        parts = s.params["index"] if isinstance(s.params["index"], tuple) else (s.params["index"],)
        picked, new = (_whole(p) is not None for p in parts), (p is None for p in parts)
        return max(0, first - sum(picked) + sum(new))
    if s.op == "unsqueeze":
        return first + 1
    if s.op in ("expand", "sum_to", "reshape"):
        return len(listed(s.params.get("shape", ())))
    return first


def rank_needed(s: Step) -> int:
    """How many dimensions an index asks for at least."""
    parts = s.params["index"] if isinstance(s.params["index"], tuple) else (s.params["index"],)
    return sum(p is not None and p is not Ellipsis for p in parts)
