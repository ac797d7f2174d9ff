"""Bases of zeros and ones: entries, slices, reversed and rotated axes, triangles.

Indexing is a product with one of these, so that derivatives need nothing new:

    entry k        e[j]        1 where j = k                x[k]      sum of e[j]*x[j]
    slice (s, t)   S[i, j]     1 where j = s + t*i          x[s::t]   S @ x
    flip           J[i, j]     1 where i + j is the last    flip(x)   J @ x
    roll s         R[i, j]     1 where i = j + s, cyclic    roll(x)   R @ x
    below k        T[i, j]     1 where j <= i + k           cumsum(x) T @ x, tril(A) T*A
    join           V[k, i, j]  1 where k = i*m + j          flatten(X), x.reshape(n, m)

An index below 0 counts from the end. Along a dimension with a name it is taken for granted that
every index is inside, and that indices from both ends mean different entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from gradcli.symbolic.expr import sizes
from gradcli.symbolic.expr.base import ONE, Base, Label, base, fresh_sum

KINDS = frozenset(("entry", "slice", "flip", "roll", "below", "join"))
Factors = list[tuple[Base, tuple[Label, ...], Any]]


def entry(dimension: str, k: int) -> Base:
    """The vector with 1 at k."""
    if dimension.isdigit():
        k %= int(dimension)
    return base("entry", k, (), (dimension,))


def part(short: str, long: str, start: int | str, step: int = 1) -> Base:
    """The matrix that takes a slice of a dimension."""
    if isinstance(start, str) and start.lstrip("-").isdigit():
        start = int(start)
    if long.isdigit() and isinstance(start, int):
        start %= int(long)
    return base("slice", (start, step), (), (short, long))


def flip(dimension: str) -> Base:
    """The matrix that reverses a dimension."""
    return base("flip", "", (), (dimension, dimension), frozenset(("symmetric",)))


def roll(dimension: str, shift: int) -> Base:
    """The matrix that moves entries round."""
    if dimension.isdigit():
        shift %= int(dimension)
    return base("roll", shift, (), (dimension, dimension))


def below(rows: str, columns: str, k: int) -> Base:
    """The matrix with ones on and below diagonal k."""
    return base("below", k, (), (rows, columns))


def join(whole: str, rows: str, columns: str) -> Base:
    """The map from two dimensions to the one that they are joined to."""
    return base("join", "", (), (whole, rows, columns))


def placed(
    merged: Mapping[tuple[Base, tuple[Label, ...]], Any], bound: set[Label]
) -> tuple[Factors, bool] | None:
    """Factors with one such base carried out, and whether they are not zero; None if none can be.

    ``bound`` loses labels that are summed away and gains those of entries that were set apart.
    """
    if any(e < 0 and key[0].kind in KINDS for key, e in merged.items()):
        return None  # a quotient on its way to be multiplied again
    users: dict[Label, list[tuple[Base, tuple[Label, ...]]]] = {}
    for key, e in merged.items():
        for x in set(key[1]) if e else ():
            users.setdefault(x, []).append(key)
    for key, e in merged.items():
        if key[0].kind == "entry" and e:
            found = _entry(key, merged, users[key[1][0]], bound)
            if found is not None:
                return found
    for key, e in merged.items():
        if e and key[0].kind in ("slice", "flip", "roll") and key[1][0] != key[1][1]:
            joined = _pair(key, merged, users, bound)
            if joined is not None:
                return joined
    for key, e in merged.items():
        if e and key[0].kind == "join":
            joined = _join(key, merged, users, bound)
            if joined is not None:
                return joined
    return None


def _join(
    key: tuple, merged: Mapping, users: Mapping[Label, list[tuple]], bound: set[Label]
) -> tuple[Factors, bool] | None:
    """Two of these that meet are deltas; one that is summed over alone is 1."""
    b, (k, i, j) = key
    if k in bound and len(users[k]) == 1:
        bound.discard(k)
        return _without(merged, key), True
    inner = i != j and i in bound and j in bound
    if inner and len(users[i]) == len(users[j]) == 1:
        bound -= {i, j}
        return _without(merged, key), True
    for other in users[k]:
        if other[0] is b and other != key:
            pairs = [(x, y) for x, y in zip((i, j), other[1][1:], strict=True) if x != y]
            return [*_without(merged, other), *(_delta(x, y) for x, y in pairs)], True
    if inner and len(users[i]) == len(users[j]) == 2:
        for other in users[i]:
            if other[0] is b and other != key and other[1][1:] == (i, j):
                bound -= {i, j}
                return [*_without(merged, key, other), _delta(k, other[1][0])], True
    return None


def _without(merged: Mapping, *gone: tuple) -> Factors:
    return [(*key, e) for key, e in merged.items() if key not in gone]


def _entry(
    key: tuple, merged: Mapping, users: list[tuple], bound: set[Label]
) -> tuple[Factors, bool] | None:
    """What happens at an entry's label: another entry, a slice, or factors that each get their own.

    x[j]*y[j]*e[j] is x[k]*y[k], with e[j] in front where j is not summed over.
    """
    b, (label,) = key
    others = [u for u in users if u != key]
    for other in others:
        if other[0].kind == "entry":
            return [], False  # two entries of one label differ, or they were merged
        if other[0].kind == "delta":
            far = other[1][1] if other[1][0] == label else other[1][0]
            return [*_without(merged, other), (b, (far,), ONE)], True
        if other[0].kind in ("slice", "flip", "roll") and other[1][0] != other[1][1]:
            axis = other[1].index(label)
            moved = _through(other[0], axis, b.name)
            if moved is None:
                continue
            if moved is False:
                return [], False
            rest = _without(merged, other)
            return [
                *rest,
                (entry(other[0].dims[1 - axis], moved), (other[1][1 - axis],), ONE),
            ], True
    places = sum(u[1].count(label) for u in others)
    if label in bound:
        if not places:
            bound.discard(label)
            return _without(merged, key), True
        if places == 1:
            return None
    elif not places:
        return None
    rest = _without(merged, *others, *([key] if label in bound else []))
    bound.discard(label)
    for other in others:
        idx = []
        for x in other[1]:
            if x == label:
                x = fresh_sum(x[0])
                bound.add(x)
                rest.append((b, (x,), ONE))
            idx.append(x)
        rest.append((other[0], tuple(idx), merged[other]))
    return rest, True


def _through(b: Base, axis: int, k: int) -> int | bool | None:
    """Where an entry of one axis of a slice, flip or roll is on the other; False: nowhere."""
    if b.kind == "flip":
        return -1 - k
    if b.kind == "roll":
        return k + b.name if axis == 1 else k - b.name
    start, step = b.name
    if not isinstance(start, int):
        return None
    rest = _number(sizes.plus(sizes.plus(b.dims[1], b.dims[0], -1), start, -1))
    if axis == 0:
        if k >= 0:
            found = start + step * k
            return found if start >= 0 or found < 0 else None
        return k - rest if step == 1 and start >= 0 and rest is not None else None
    if (k < 0) != (start < 0):
        if k < 0 and step == 1 and rest is not None:
            return k + rest if k + rest < 0 else False
        return None
    if k < start or (k - start) % step:
        return False
    found = (k - start) // step
    return False if b.dims[0].isdigit() and found >= int(b.dims[0]) else found


def _number(size: str) -> int | None:
    return int(size) if size.lstrip("-").isdigit() else None


def _pair(
    key: tuple, merged: Mapping, users: Mapping[Label, list[tuple]], bound: set[Label]
) -> tuple[Factors, bool] | None:
    """Two of these that meet at a summed label and nothing else does: one; alone there, ones."""
    for axis in (0, 1):
        x = key[1][axis]
        here = users[x]
        if x in bound and len(here) == 1 and (axis == 1 or key[0].kind != "slice"):
            bound.discard(x)
            return _without(merged, key), True
        if x not in bound or len(here) != 2:
            continue
        other = here[0] if here[1] == key else here[1]
        if other[0].kind != key[0].kind or other[1][0] == other[1][1]:
            continue
        far = other[1].index(x)
        if axis == far == 1 and _disjoint(key[0], other[0]):
            return [], False
        found = _met(key, axis, other, far)
        if found is not None:
            bound.discard(x)
            return [*_without(merged, key, other), found], True
    return None


def _disjoint(one: Base, two: Base) -> bool:
    """Whether two slices of one dimension have nothing in common."""
    if one.kind != "slice" or (one.dims[1].isdigit() and two.name[1] != one.name[1]):
        return False
    for a, b in ((one, two), (two, one)):
        start, step = a.name
        if (
            step == b.name[1] == 1
            and not str(start).startswith("-")
            and not str(b.name[0]).startswith("-")
        ):
            end = sizes.plus(a.dims[0], start)
            if sizes.never_negative(sizes.plus(str(b.name[0]), end, -1)):
                return True
    return False


def _met(one: tuple, i: int, two: tuple, j: int) -> tuple[Base, tuple[Label, ...], Fraction] | None:
    b, c = one[0], two[0]
    left, right = one[1][1 - i], two[1][1 - j]
    if b.kind == "flip":
        return _delta(left, right)
    if b.kind == "roll":
        # R(s)[i, j] is R(-s)[j, i]: both read towards the label where they meet
        first = b.name if i == 1 else -b.name
        second = c.name if j == 0 else -c.name
        total = first + second
        if total == 0 or (left[0].isdigit() and total % int(left[0]) == 0):
            return _delta(left, right)
        return roll(left[0], total), (left, right), ONE
    if b is c and i == j == 1:
        return _delta(left, right)
    if i != j:  # a slice of a slice
        (outer, at), (inner, to) = ((b, left), (c, right)) if i == 1 else ((c, right), (b, left))
        start, step = inner.name
        further, stride = outer.name
        if isinstance(start, int) and isinstance(further, int) and further >= 0:
            place = start + step * further
            if start >= 0 or place < 0:
                return part(at[0], to[0], place, step * stride), (at, to), ONE
    return None


def _delta(a: Label, b: Label) -> tuple[Base, tuple[Label, ...], Fraction]:
    return base("delta", "", (), (a[0], a[0])), (a, b), ONE


def component(group: list[tuple]) -> tuple[list[tuple], Any] | None:
    """An entry of a power as the power of an entry: (the factors, the exponent), else None."""
    rest = [f for f in group if f[0].kind != "entry"]
    if len(rest) != 1 or rest[0][2] == 1 or len(group) != 1 + len(set(rest[0][1])):
        return None
    b, idx, e = rest[0]
    return [*(f for f in group if f[0].kind == "entry"), (b, idx, 1)], e
