"""Sums taken together again: factors that are summed over, inverses around a sum, logarithms.

    X.T @ u - s*X.T @ p           X.T @ (u - s*p)
    inv(U) - inv(U) @ X @ inv(U)  inv(U) @ (U - X) @ inv(U)
    u - log(sum(exp(u)))          log_softmax(u)

Each is an identity wherever both sides are defined, and is offered as a candidate: whether it is
used is decided by the length of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.algebra import (
    common,
    in_each_group,
    in_each_term,
    inside_groups,
    opened,
    replaced,
)
from gradcli.symbolic.expr.elementwise import SHARES, applied, log_shares
from gradcli.symbolic.simplify.relations import is_call, rewrites

MOST_TERMS = 12
"""Terms of a sum in which factors that are summed over are looked for."""
MOST_OPENED = 4
"""Terms that a scalar product may be multiplied out to."""
Factor = tuple[v.Base, tuple[v.Label, ...], Any]


def sums_shared(t: v.Tensor, most: int = 9, last: bool = False) -> v.Tensor:
    """Terms that share factors which are summed over, as one product with a group.

    most   how many such factors are taken out, each with further summed labels
    last   the first of them is looked for from the last one on
    """
    return inside_groups(t, lambda u: _shared(u, most, last))


def _shared(t: v.Tensor, most: int, last: bool) -> v.Tensor:
    for _ in range(4):
        new = _shared_once(t, most, last) if 1 < len(t.terms) <= MOST_TERMS else None
        if new is None:
            return t
        t = new
    return t


def _pattern(f: Factor, kept: frozenset[v.Label]) -> tuple | None:
    """A factor with the summed labels that are not in ``kept`` left blank; None without any."""
    b, idx, e = f
    if b.kind == "delta" or not any(x[1] < 0 and x not in kept for x in idx):
        return None
    return b, tuple(None if x[1] < 0 and x not in kept else x for x in idx), e


def _shared_once(t: v.Tensor, most: int, last: bool) -> v.Tensor | None:
    """The terms with the one factor that most of them have taken together."""
    if sum(any(x[1] < 0 for f in m for x in f[1]) for m in t.terms) < 2:
        return None
    terms = [(list(m), c) for m, c in t.sorted()]
    counts: dict[tuple, int] = {}
    for m, _ in terms:
        for pattern in dict.fromkeys(_pattern(f, frozenset()) for f in m):
            if pattern is not None:
                counts[pattern] = counts.get(pattern, 0) + 1
    anchors = [p for p in counts if counts[p] > 1]
    for anchor in sorted(anchors[::-1] if last else anchors, key=lambda p: -counts[p]):
        here: list = []
        others: list = []
        for m, c in terms:
            has = any(_pattern(f, frozenset()) == anchor for f in m)
            (here if has else others).append((m, c))
        found = _taken(here, anchor, most)
        if found is not None:
            rest = [v.Tensor({tuple(m): c}) for m, c in others]
            return v.add(found, *rest)
    return None


def _taken(terms: Sequence[tuple[list[Factor], Any]], anchor: tuple, most: int) -> v.Tensor | None:
    """Terms that share a factor with a summed label as one product; None where that is none."""
    parts = [list(m) for m, _ in terms]
    open_: frozenset[v.Label] = frozenset()
    front: list[Factor] = []
    for k in range(most):
        aligned = _aligned(parts, open_, None if k else anchor)
        if aligned is None:
            break
        parts, shared, new = aligned
        front.append(shared)
        open_ |= new
    if not front:
        return None
    both = [f for f in parts[0] if all(x[1] >= 0 for x in f[1]) and f[0].kind != "delta"]
    for f in both:
        if all(f in m for m in parts):
            front.append(f)
            for m in parts:
                m.remove(f)
    if any(f[0].kind == "delta" for m in parts for f in m):
        return None
    rest = [v.product(m, c, v.bound_of(m)) for m, (_, c) in zip(parts, terms, strict=True)]
    if len({x for r in rest for x in r.free()}) > 2:
        return None  # no matrix: only an einsum could say it
    scalars, left = common(v.add(*rest), below=False)
    whole = v.distribute(v.product(front, v.ONE, ()), v.mul(scalars, v.as_factor(left)))
    return v.contract(whole, sorted(open_))


def _aligned(
    parts: Sequence[list[Factor]], kept: frozenset[v.Label], anchor: tuple | None
) -> tuple[list[list[Factor]], Factor, frozenset[v.Label]] | None:
    """The terms with a factor that all have taken out, its summed labels free and the same."""
    for f in parts[0]:
        pattern = _pattern(f, kept)
        if pattern is None or len(set(f[1])) < len(f[1]) or anchor not in (None, pattern):
            continue
        partners = [next((g for g in m if _pattern(g, kept) == pattern), None) for m in parts]
        if None in partners or any(len(set(g[1])) < len(g[1]) for g in partners if g):
            continue
        both = zip(f[1], pattern[1], strict=True)
        labels = tuple(x if k is not None else v.fresh(x[0]) for x, k in both)
        moved = []
        for m, g in zip(parts, partners, strict=True):
            assert g is not None
            names = dict(zip(g[1], labels, strict=True))
            left = [h for h in m if h is not g]
            moved.append([(b, _sorted(b, [names.get(x, x) for x in i]), e) for b, i, e in left])
        return moved, (f[0], labels, f[2]), frozenset(labels) - frozenset(f[1])
    return None


def _sorted(b: v.Base, labels: list[v.Label]) -> tuple[v.Label, ...]:
    if len(labels) == 2 and "symmetric" in b.traits and labels[0] > labels[1]:
        labels.reverse()
    return tuple(labels)


def groups_kept(t: v.Tensor) -> v.Tensor | None:
    """A group less a scalar, where only what is left of it stands after multiplying out.

    The second derivative of ``sum(softmax(x)*u)`` holds ``u[i] + u[j] - 2*m`` with
    ``m = dot(softmax(x), u)``: the sum of the groups ``u - m`` of the first one, in which m, that
    cancels where u is large, does not stand.
    """
    flat = None
    for b in v.groups_of(t):
        body = b.args[0]
        if not b.dims or not any(m and not any(f[1] for f in m) for m in body.terms):
            continue
        leads = [m[0] for m in body.terms if len(m) == 1 and len(m[0][1]) == len(b.dims)]
        if not leads:
            continue
        lead = max(leads, key=lambda f: f[2])
        c = body.terms[lead,]
        flat = flat or opened(t)
        found = []
        for m, k in flat.terms.items():
            f = next((f for f in m if f[0] is lead[0] and f[2] == lead[2]), None)
            if f is None or any(x[1] < 0 for x in f[1]):
                found.append(v.Tensor({m: k}))
                continue
            names = dict(zip(lead[1], f[1], strict=True))
            at = tuple(names[d, i] for i, d in enumerate(b.dims))
            left = [g for g in m if g is not f]
            bound = v.bound_of(left)
            rest = v.Tensor({m: -k for m, k in body.terms.items() if m != (lead,)})
            found.append(v.product([*left, (b, at, v.ONE)], k / c, bound))
            found.append(v.distribute(v.product(left, k / c, bound), v.place(rest, at)))
        other = v.add(*found)
        if len(other.terms) < len(flat.terms):
            return other
    return None


# ---- Inverses ------------------------------------------------------------------------------------


def inverses_met(t: v.Tensor) -> v.Tensor:
    """inv(U) as inv(U) @ U @ inv(U), and the identity as U @ inv(U), beside terms that hold more.

    So ``inv(X + A) - inv(X + A) @ X @ inv(X + A)`` is ``inv(X + A) @ A @ inv(X + A)``.
    """
    for b in v.bases_of(t):
        if b.name != "inv" or len(b.dims) != 2:
            continue
        counts = {m: sum(f[0] is b and f[2] == 1 for f in m) for m in t.terms}
        core = v.place(b.args[0], v.labels_of(b.dims))
        ((m, _),) = core.terms.items()
        if m[0][0].kind != "sum" or len(m[0][0].args[0].terms) < 2:
            continue
        most = max(counts.values())
        if most not in (1, 2):
            continue
        found, changed = [], False
        for m, c in t.terms.items():
            one = next((f for f in m if f[0] is b or f[0].kind == "delta"), None)
            unit = one is not None and one[0].kind == "delta"
            if one is None or counts[m] != most - 1 or unit is not (most == 1):
                found.append(v.Tensor({m: c}))
                continue
            changed = True
            found.append(_around(b, [f for f in m if f is not one], one[1], c, unit))
        if changed:
            return v.add(*found)
    return t


def _around(
    b: v.Base, rest: list[Factor], ends: tuple[v.Label, ...], c: Any, unit: bool
) -> v.Tensor:
    """c*rest*inv(U) with U put between it and its like; of a delta, U @ inv(U)."""
    found = []
    ((m, scalar),) = b.args[0].terms.items()
    core, places, _ = m[0]
    p, q = v.fresh(b.dims[0]), v.fresh(b.dims[0])
    if unit:
        p = ends[0]
    at = tuple((p, q)[x[1]] for x in places)
    for inner, k in v.place(core.args[0], at).terms.items():
        factors = [*rest, (b, (q, ends[1]), v.ONE), *v.renamed(inner)]
        if not unit:
            factors.append((b, (ends[0], p), v.ONE))
        names = {x: (x[0], -x[1] - 5000) for x in ((q,) if unit else (p, q))}
        factors = [(f, tuple(names.get(x, x) for x in i), e) for f, i, e in factors]
        found.append(v.product(factors, c * k * scalar, v.bound_of(factors)))
    return v.add(*found)


# ---- Scalar products -----------------------------------------------------------------------------


def products_opened(t: v.Tensor) -> v.Tensor:
    """dot(x, x/norm(x) - y) as norm(x) - dot(x, y), and all multiplied out."""

    def change(b: v.Base) -> v.Tensor | None:
        if b.kind != "sum" or b.dims or len(b.args[0].terms) != 1:
            return None
        ((m, _),) = b.args[0].terms.items()
        groups = [f for f in m if f[0].kind == "sum" and len(f[0].args[0].terms) > 1]
        if len(groups) != 1 or groups[0][2] != 1 or not v.bound_of(m):
            return None
        found = opened(b.args[0])
        return found if len(found.terms) <= MOST_OPENED else None

    found = inside_groups(t, lambda u: replaced(u, change))
    return t if found == t else opened(found)


@in_each_group
def products_joined(t: v.Tensor) -> v.Tensor:
    """dot(x, u) - dot(x, y) as dot(x, u - y)."""
    apart: dict[v.Monomial, Any] = {}
    rest = []
    for m, c in t.terms.items():
        sums = [f for f in m if f[0].kind == "sum" and not f[1] and len(f[0].args[0].terms) == 1]
        if len(sums) != 1 or sums[0][2] != 1:
            rest.append(v.Tensor({m: c}))
            continue
        ((body, k),) = sums[0][0].args[0].terms.items()
        left = [f for f in m if f is not sums[0]]
        apart[(*(v.renamed(body) if v.bound_of(left) else body), *left)] = c * k
    if not 1 < len(apart) <= MOST_TERMS:
        return t
    found = _shared(v.Tensor(apart), 9, False)
    if len(found.terms) == len(apart):
        return t
    closed = [v.product(m, c, v.bound_of(m)) for m, c in found.terms.items()]
    return v.add(*closed, *rest)


# ---- Logarithms ----------------------------------------------------------------------------------


@rewrites("log")
@in_each_group
def logs_joined(t: v.Tensor) -> v.Tensor:
    """log(u) - log(w) as log(u/w)."""
    logs = [
        (m, c) for m, c in t.sorted()
        if len(m) == 1 and is_call(m[0][0], "log") and m[0][2] == 1 and not v.bound_of(m)
    ]  # fmt: skip
    for m, c in logs:
        for k, d in logs:
            if c > 0 and d == -c:
                u, w = (v.place(f[0][0].args[0], f[0][1]) for f in (m, k))
                quotient = v.mul(u, v.power(w, v.number(-1).terms[()]))
                whole = v.scale(applied("log", (quotient,)), c)
                return v.add(t, v.Tensor({m: -c, k: -d}), whole)
    return t


# ---- Logarithms of shares ------------------------------------------------------------------------


@rewrites("exp", "log")
def logs_of_shares(t: v.Tensor) -> v.Tensor:
    """u - log(sum(exp(u))) as log_softmax(u); shares over which is summed are 1."""
    found = inside_groups(t, log_shares)
    return t if found == t else _shares_summed(found)


def shares_summed(t: v.Tensor) -> v.Tensor:
    """All multiplied out, with 1 for the sum of shares."""

    def change(b: v.Base) -> v.Tensor | None:
        if b.kind != "sum" or b.dims or len(b.args[0].terms) != 1:
            return None
        found = _shares_summed(b.args[0])
        return None if found == b.args[0] else found

    return replaced(_shares_summed(opened(t)), change)


@in_each_term
def _shares_summed(m: v.Monomial, c: Any) -> v.Tensor:
    factors = list(m)
    for f in m:
        b, idx, e = f
        if is_call(b, *SHARES[:2]) and e == 1:
            over = idx[-1 if b.name == "softmax" else 0]
            if over[1] < 0 and sum(g[1].count(over) for g in factors) == 1:
                factors.remove(f)
    return v.product(factors, c, v.bound_of(factors))
