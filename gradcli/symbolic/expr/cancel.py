"""What goes away in a product: an inverse beside its matrix, conditions that exclude each other.

And roots of numbers: what can be taken out of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isqrt
from typing import Any

from gradcli.symbolic.expr.base import HALF, ONE, Base, base, labels_of


def inverses_cancelled(merged: Mapping[tuple[Base, tuple], Fraction], bound: set) -> list | None:
    """The factors with one inv(U) @ U or U @ inv(U) carried out; None where there is none.

    Of U = A @ B the factors may stand there by themselves.
    """
    for (b, idx), e in merged.items():
        if b.name != "inv" or len(idx) != 2 or e != 1 or idx[0] == idx[1]:
            continue
        ((core, _),) = b.args[0].terms.items()
        core = core[0][0]
        patterns: list[tuple] = [((core, labels_of(core.dims), ONE),)]
        if core.kind == "sum" and len(core.args[0].terms) == 1:
            patterns += [m for m, c in core.args[0].terms.items() if c == 1]
        for pattern in patterns:
            found = _cancelled(merged, bound, (b, idx), core, pattern)
            if found is not None:
                return found
    return None


def _cancelled(
    merged: Mapping[tuple[Base, tuple], Fraction], bound: set, inverse: tuple, core: Base,
    pattern: tuple,
) -> list | None:  # fmt: skip
    """The factors with inv(U) beside a pattern's, which are U, carried out; None without any."""
    _, idx = inverse
    if any(e != 1 for _, _, e in pattern):
        return None
    for here, end in ((1, 0), (0, 1)):  # what is symmetric is matched turned, too
        x = idx[here]
        first = core.dims[end], end
        found = _matched(merged, pattern, first, x) if x in bound else None
        if found is None:
            continue
        used, names = found
        far = names.pop((core.dims[here], here))
        del names[first]
        gone = {inverse, *used}
        rest = [(*f, e) for f, e in merged.items() if f not in gone]
        inner = {x, *names.values()}
        if far in inner or not inner <= bound or any(inner & set(f[1]) for f in rest):
            continue
        if idx[1 - here] in inner:
            continue
        bound -= inner
        return [*rest, (base("delta", "", (), (x[0], x[0])), (idx[1 - here], far), ONE)]
    return None


def _matched(
    merged: Mapping[tuple[Base, tuple], Fraction], pattern: tuple, first: tuple, x: tuple
) -> tuple[list, dict] | None:
    """Factors that are a pattern's, and what its labels are there; ``first`` of them is ``x``."""
    waiting: list[tuple[list, dict, list]] = [([], {first: x}, list(pattern))]
    while waiting:
        used, names, left = waiting.pop()
        if not left:
            return used, names
        one = next((f for f in left if any(k in names for k in f[1])), left[0])
        rest = [f for f in left if f is not one]
        for key, e in merged.items():
            if key[0] is not one[0] or e != 1 or key in used:
                continue
            turns = [key[1]]
            if "symmetric" in key[0].traits and len(key[1]) == 2:
                turns.append(key[1][::-1])
            for at in turns:
                if all(names.get(k, y) == y for k, y in zip(one[1], at, strict=True)):
                    more = dict(zip(one[1], at, strict=True))
                    if len(more) == len(set(at)) == len(at):
                        waiting.append(([*used, key], {**names, **more}, rest))
    return None


def triangles_met(merged: Mapping[tuple[Base, tuple], Any], bound: set) -> list | None:
    """What a Cholesky factor L of S makes of what it meets; [] where the product is 0.

    Below a mask of the other triangle its diagonal is left; L @ L.T is S, inv(L).T @ inv(L) inv(S).
    """
    lower = [k for k, e in merged.items() if e and len(k[1]) == 2 and _is_lower(k[0])]
    for b, idx in lower:
        i, k = idx
        for other, at in merged:
            if other.kind == "below" and set(at) == {i, k} and i != k:
                rest = [(*f, e) for f, e in merged.items() if f != (other, at)]
                if at == idx and other.name >= 0:
                    return rest
                if at == (k, i) and other.name <= 0:
                    delta = (base("delta", "", (), (i[0], i[0])), (i, k), ONE)
                    return [] if other.name < 0 else [*rest, delta]
        inverse = b.name == "inv"
        core = next(iter(b.args[0].terms))[0][0] if inverse else b
        whole = list(core.args[0].terms.items())
        met, far = (i, k) if inverse else (k, i)
        if merged[b, idx] != 1 or met not in bound or len(whole) != 1 or whole[0][1] != 1:
            continue
        if len(whole[0][0]) != 1 or whole[0][0][0][2] != 1:
            continue
        for other, at in lower:
            if other is not b or at == idx or at[0 if inverse else 1] != met:
                continue
            if sum(f[1].count(met) for f in merged) != 2 or merged[other, at] != 1:
                continue
            rest = [(*f, e) for f, e in merged.items() if f not in ((b, idx), (other, at))]
            places = (far, at[1] if inverse else at[0])
            symmetric = whole[0][0][0][0]
            if inverse:
                symmetric = base("matrix", "inv", core.args, b.dims, frozenset(("symmetric",)))
            bound.discard(met)
            return [*rest, (symmetric, places, ONE)]
    return None


def _is_lower(b: Base) -> bool:
    """Whether a base is a Cholesky factor, or the inverse of one."""
    if b.kind != "matrix":
        return False
    if b.name == "inv":
        ((core, *_), *_) = next(iter(b.args[0].terms))
        return core.kind == "matrix" and core.name == "cholesky"
    return b.name == "cholesky"


def implied(merged: Mapping[tuple[Base, tuple], Fraction]) -> tuple[Base, tuple] | bool | None:
    """A condition that another one implies: u != v, not v > u beside u > v; False: they exclude it.

    None where there is no such pair. What implies another is a comparison at the same labels; a
    condition of any kind excludes its opposite.
    """
    asked: dict[Any, Base] = {}
    seen: dict[Any, tuple[str, bool, tuple, Any]] = {}
    for b, idx in merged:
        if b.kind != "call" or b.name != "where":
            continue
        if asked.setdefault((b.args[0].key, idx), b) is not b:
            return False
        inner = list(b.args[0].terms)
        if len(inner) != 1 or len(inner[0]) != 1 or inner[0][0][0].kind != "call":
            continue
        test, at, _ = inner[0][0]
        if test.name not in ("gt", "lt", "eq"):
            continue
        sides = frozenset(a.key for a in test.args)
        holds = bool(b.args[1].number())
        first = test.args[test.name == "lt"].key  # what is the larger one
        mine = (test.name, holds, (b, idx), first)
        other = seen.setdefault((sides, at, idx), mine)
        if other is mine:
            continue
        for (one, yes, _, top), (two, also, place, high) in ((mine, other), (other, mine)):
            if one != "eq" and yes and (two == "eq" or top != high):
                return False if also else place
    return None


def rooted(c: Fraction, e: Fraction) -> tuple[list, Fraction]:
    """c**e for positive c: what is left under the root, and the number in front."""
    plain = c ** int(e.numerator // e.denominator)
    rest = e - e.numerator // e.denominator
    top, below = _roots(c.numerator, rest), _roots(c.denominator, rest)
    if rest == HALF and below[1] != 1:  # 1/sqrt(2) is sqrt(2)/2
        left = [(base("number", n), (), HALF) for n in (top[1] * below[1],) if n != 1]
        return left, plain * Fraction(top[0], below[0] * below[1])
    left = []
    if top[1] != 1:
        left.append((base("number", top[1]), (), rest))
    if below[1] != 1:
        left.append((base("number", below[1]), (), -rest))
    return left, plain * Fraction(top[0], below[0])


def _roots(n: int, e: Fraction) -> tuple[int, int]:
    """n**e as a whole number in front of a smaller one under the root."""
    if e != HALF or n > 10**12:
        return 1, n
    if isqrt(n) ** 2 == n:
        return isqrt(n), 1
    front = 1
    d = 2
    while d * d <= n and d < 1000:
        while n % (d * d) == 0:
            n //= d * d
            front *= d
        d += 1
    return front, n
