"""Cross products: what they are made of, two products of rotated vectors, by their name again.

    cross(u, v)[i]  =  u[i+1]*v[i+2] - u[i+2]*v[i+1]        indices modulo 3

So the derivatives of a cross product, which are cross products too, read like what was written.
"""

from __future__ import annotations

from fractions import Fraction

from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.algebra import inside_groups
from gradcli.symbolic.expr.base import Label

_Side = tuple[tuple[v.Base, Fraction], ...]

MOST_NESTED = 4
"""How deep cross products are looked for in each other."""


def crossed(t: v.Tensor) -> v.Tensor:
    """Pairs of terms that make a cross product as one, in groups first."""
    for _ in range(MOST_NESTED):
        before = t
        t = inside_groups(t, _pairs_crossed)
        if t == before:
            break
    return inside_groups(t, _joined)


def _joined(t: v.Tensor) -> v.Tensor:
    """cross(u, x) - cross(x, w) as cross(u + w, x)."""
    groups: dict[tuple, list] = {}
    for m, c in t.sorted():
        f = next((f for f in m if f[0].kind == "call" and f[0].name == "cross"), None)
        if f is None or f[2] != 1:
            continue
        rest = tuple(g for g in m if g is not f)
        left, right = f[0].args
        for shared, other, sign in ((right, left, c), (left, right, -c)):
            key = (rest, f[1], shared.key)
            groups.setdefault(key, []).append((m, shared, v.scale(other, sign)))
    terms = dict(t.terms)
    extra = []
    for (rest, idx, _), members in groups.items():
        if len(members) < 2 or not all(m in terms for m, _, _ in members):
            continue
        for m, _, _ in members:
            del terms[m]
        whole = v.add(*(other for _, _, other in members))
        if whole.terms:
            number = v.content(whole)
            args = (v.scale(whole, 1 / number), members[0][1])
            if all(c < 0 for c in args[0].terms.values()):
                args = (members[0][1], v.scale(args[0], -1))
            one = [*rest, (v.base("call", "cross", args, (idx[0][0],)), idx, v.ONE)]
            extra.append(v.product(one, number, v.bound_of(one)))
    return v.add(v.Tensor(terms), *extra) if extra or len(terms) < len(t.terms) else t


def turns(t: v.Tensor) -> bool:
    """Whether a tensor holds rotations of three entries."""
    return any(b.kind == "roll" and b.dims[0] == "3" for b in v.bases_of(t))


def _pairs_crossed(t: v.Tensor) -> v.Tensor:
    for label in sorted({x for m in t.terms for _, idx, _ in m for x in idx if x[0] == "3"}):
        seen: dict[tuple, tuple[v.Monomial, Fraction]] = {}
        terms = dict(t.terms)
        extra = []
        for m, c in t.sorted():
            found = _sides(m, label)
            if found is None:
                continue
            rest, one, two = found
            partner = seen.get((frozenset(rest), two, one))
            if partner is None or partner[1] != -c:
                seen[frozenset(rest), one, two] = m, c
                continue
            del seen[frozenset(rest), two, one]
            if c < 0:  # cross(u, v) rather than -cross(v, u)
                one, two, c = two, one, -c
            dims = (label[0],)
            args = tuple(v.product([(b, ((*dims, 0),), e) for b, e in side], v.ONE, ())
                         for side in (one, two))  # fmt: skip
            whole = [*rest, (v.base("call", "cross", args, dims), (label,), v.ONE)]
            extra.append(v.product(whole, c, v.bound_of(whole)))
            del terms[m], terms[partner[0]]
        if extra:
            t = v.add(v.Tensor(terms), *extra)
    return t


def _sides(m: v.Monomial, label: Label) -> tuple[list, _Side, _Side] | None:
    """What stands one entry on from a label, and two, and all the rest; None where that is more."""
    places, rolls = _places(m, label)
    sides: tuple[list, list] = ([], [])
    rest = []
    for part in _parts([f for f in m if f not in rolls]):
        touched = {x for _, idx, _ in part for x in idx if x in places}
        if len(touched) == 1 and label not in touched:
            (at,) = touched
            vectors, offset = _vectors(part, at)
            offset = (offset + places[at]) % 3
            if offset and vectors is not None:
                sides[offset - 1].extend(vectors)
                continue
        elif touched == {label} and len(part) == 1 and part[0][1] == (label,):
            vectors, offset = _vectors(part, label)
            if offset and vectors is not None:
                sides[offset - 1].extend(vectors)
                continue
        if touched - {label}:
            return None
        rest += part
    if not all(sides):
        return None
    one, two = (tuple(sorted(side, key=lambda f: (f[0].serial, f[1]))) for side in sides)
    return rest, one, two


def _places(m: v.Monomial, label: Label) -> tuple[dict[Label, int], list]:
    """How many entries on labels are from one that rotations lead to them, and those rotations."""
    places = {label: 0}
    left = [f for f in m if f[0].kind == "roll" and f[0].dims[0] == "3" and f[2] == 1]
    used: list = []
    while True:
        known = [f for f in left if f[1][0] in places or f[1][1] in places]
        if not known:
            return places, used
        for b, (i, j), _ in known:
            if i in places:
                places[j] = (places[i] - b.name) % 3
            else:
                places[i] = (places[j] + b.name) % 3
        used += known
        left = [f for f in left if f not in known]


def _parts(factors: list) -> list[list]:
    """Factors by the summed labels that hold them together."""
    parts: list[tuple[set, list]] = []
    for f in factors:
        labels = {x for x in f[1] if x[1] < 0}
        met = [p for p in parts if p[0] & labels]
        parts = [p for p in parts if p not in met]
        parts.append((labels.union(*(p[0] for p in met)), [*(g for p in met for g in p[1]), f]))
    return [part for _, part in parts]


def _vectors(part: list, at: Label) -> tuple[list | None, int]:
    """Factors over one label as vectors, and how many entries on those stand; None where not so."""
    if any(x[1] >= 0 and x != at for _, idx, _ in part for x in idx):
        return None, 0
    if all(len(idx) == 1 for _, idx, _ in part):
        if len(part) == 1 and part[0][2] == 1:
            found = _unrolled(part[0][0])
            if found is not None:
                return [(found[0], v.ONE)], found[1]
        return [(b, e) for b, _, e in part], 0
    local = (at[0], 0)
    moved = [(b, tuple(local if x == at else x for x in idx), e) for b, idx, e in part]
    body = v.product(moved, v.ONE, v.bound_of(moved))
    return [(v.base("sum", "", (body,), (at[0],)), v.ONE)], 0


def _unrolled(b: v.Base) -> tuple[v.Base, int] | None:
    """u and k where a group is u rotated by k entries in all its terms: roll(x, 1) - roll(a, 1)."""
    if b.kind != "sum" or b.dims != ("3",):
        return None
    local = ("3", 0)
    terms, offsets = [], set()
    for m, c in b.args[0].terms.items():
        places, rolls = _places(m, local)
        rest = [f for f in m if f not in rolls]
        ends = {x for _, idx, _ in rest for x in idx if x in places}
        if len(ends) != 1 or local in ends:
            return None
        (end,) = ends
        offsets.add(places[end])
        moved = [(k, tuple(local if x == end else x for x in idx), e) for k, idx, e in rest]
        terms.append(v.product(moved, c, v.bound_of(moved)))
    whole = list(v.as_factor(v.add(*terms)).terms.items())
    if len(offsets) != 1 or len(whole) != 1 or whole[0][1] != 1 or len(whole[0][0]) != 1:
        return None
    return whole[0][0][0][0], offsets.pop()
