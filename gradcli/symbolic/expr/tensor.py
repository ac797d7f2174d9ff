"""Symbolic tensors: sums of products in index notation, and the arithmetic of them.

    a tensor    a sum of terms, each a rational coefficient times a product
    a product   factors base^exponent[labels], for example  2 * A[n0, m-1] * x[m-1]

So ``@``, elementwise ``*``, ``sum``, ``trace``, ``outer``, ``.T`` and broadcasting are one thing. A
free label that a term does not mention is broadcast over. Factors that are summed over completely
are a scalar base; products of scalars therefore commute and merge like numbers. A term is in its
normal form: factors merged and sorted, summed labels named in one way, deltas carried out. Work is
counted (``spend``), so that every rearrangement ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.expr import selectors, sizes, spectral
from gradcli.symbolic.expr.base import (
    HALF,
    MOST_TERMS,
    ONE,
    Base,
    Label,
    Monomial,
    Tensor,
    bases_of,
    bases_within,
    common,
    digits,
    fresh,
    fresh_sum,
    groups_of,
    hidden,
    in_decimals,
    is_hidden,
    known,
    labels_of,
    limited,
    order,
    refuse_hidden,
    remembered,
    reset,
    sole,
    spend,
)
from gradcli.symbolic.expr.base import base as interned
from gradcli.symbolic.expr.cancel import implied, inverses_cancelled, rooted, triangles_met
from gradcli.symbolic.expr.identities import POSITIVE
from gradcli.symbolic.unsupported import no_value, too_large

__all__ = [
    "HALF", "ONE", "UNIT", "ZERO", "Base", "Label", "Monomial", "Tensor", "add", "as_factor",
    "base", "bases_of", "bases_within", "before_join", "bound_of", "content", "contract", "delta",
    "distribute", "factor", "factor_scaled", "fresh", "groups_of", "has_delta", "hidden",
    "is_hidden", "is_positive", "known", "labels_of", "limited", "mul", "number", "order", "place",
    "power", "product", "refuse_hidden", "relabel", "remembered", "renamed", "reset", "scale",
    "settled", "size", "sole", "spend", "through_join",
]  # fmt: skip

# ---- Summed labels: what they tie together, and one way of naming them ---------------------------


def components(factors: Sequence[tuple]) -> tuple[list[list[tuple]], list[tuple]]:
    """Factors tied only by summed labels, group by group, and all the others.

    The first are the scalars in a product: groups without a free label.
    """
    groups: list[tuple[set, list[tuple]]] = []
    rest = []
    for f in factors:
        bound = {x for x in f[1] if x[1] < 0}
        if not bound:
            rest.append(f)
            continue
        joined: tuple[set, list[tuple]] = (bound, [f])
        apart = []
        for group in groups:
            if group[0] & bound:
                joined = (joined[0] | group[0], [*group[1], *joined[1]])
            else:
                apart.append(group)
        groups = [*apart, joined]
    closed = []
    for _, members in groups:
        if any(x[1] >= 0 for f in members for x in f[1]):
            rest.extend(members)
        else:
            closed.append(members)
    return closed, rest


def canonical(factors: Sequence[tuple]) -> Any:
    """The factors sorted, with their summed labels renamed to -1, -2, ... in a fixed way.

    Labels are told apart by where they occur, round by round, each looking one factor further;
    those that stay alike are interchangeable, or so nearly that no more than a simplification is
    missed.
    """
    colours: dict[tuple[str, int], Any] = {}
    pairs = False
    for _, idx, _ in factors:
        pairs = pairs or len(idx) == 2
        for x in idx:
            if x[1] < 0:
                colours[x] = 0
    if colours:
        names = _names(factors, colours) if len(colours) > 1 else {x: (x[0], -1) for x in colours}
        factors = [
            (b, _ordered(b, tuple([names.get(x, x) for x in idx])) if idx else idx, e)
            for b, idx, e in factors
        ]
    elif pairs:
        factors = [(b, _ordered(b, idx), e) for b, idx, e in factors]
    return in_order(factors)


def in_order(factors: Sequence[tuple]) -> Any:
    """The factors sorted: by the bases as they came, where each hangs, and how high it is."""
    if len(factors) < 2:
        return tuple(factors)
    return tuple(sorted(factors, key=_place))


def _place(f: tuple) -> tuple:
    return f[0].serial, f[1], -f[2]


def _ordered(b: Any, idx: tuple) -> tuple:
    if len(idx) == 2 and (b.kind == "delta" or "symmetric" in b.traits):
        return idx if idx[0] <= idx[1] else (idx[1], idx[0])
    return idx


def _names(factors: Sequence[tuple], colours: dict) -> dict:
    rank = _refined(factors, colours)
    while len(set(rank.values())) < len(rank):
        # Labels that look alike: set one apart, and look again.
        alike = [v for v in rank.values() if sum(1 for w in rank.values() if w == v) > 1]
        least = min(alike)
        chosen = max(x for x, v in rank.items() if v == least)
        rank = {x: 2 * v + (1 if v == least and x != chosen else 0) for x, v in rank.items()}
        rank = _refined(factors, rank)
    placed = sorted(rank, key=lambda x: (rank[x], x[0]))
    return {x: (x[0], -1 - i) for i, x in enumerate(placed)}


def _refined(factors: Sequence[tuple], rank: dict) -> dict:
    for _ in range(len(rank) + 1):
        seen: dict[tuple, list] = {x: [] for x in rank}
        for b, idx, e in factors:
            symmetric = b.kind == "delta" or "symmetric" in b.traits
            around = tuple((0, x[1], x[0]) if x[1] >= 0 else (1, rank[x], x[0]) for x in idx)
            if symmetric:
                around = tuple(sorted(around))
            for i, x in enumerate(idx):
                if x[1] < 0:
                    seen[x].append((b.serial, 0 if symmetric else i, e, around))
        signs = {x: (rank[x], x[0], tuple(sorted(seen[x]))) for x in rank}
        places = {sign: i for i, sign in enumerate(sorted(set(signs.values())))}
        new = {x: places[signs[x]] for x in rank}
        if len(set(new.values())) == len(set(rank.values())):
            return new
        rank = new
    return rank


# ---- Terms in their normal form ------------------------------------------------------------------

ZERO = Tensor({})
UNIT = Tensor({(): ONE})
SMALL = 1000
"""A number below one over this is no fraction to multiply a sum with, but a decimal."""


def _along_one_side(kind: str, name: Any) -> bool:
    """Whether a function of a symmetric matrix is not symmetric: cholesky, softmax in rows."""
    op = OPERATORS.get(name.removesuffix("0")) if isinstance(name, str) else None
    if kind == "matrix":
        return op is None or not op.transposes
    return op is not None and "dim" in op.params


def base(
    kind: str, name: Any, args: tuple = (), dims: tuple = (), traits: frozenset = frozenset()
) -> Base:
    """The base of that description; symmetric where all that it is made of is."""
    made = interned(kind, name, args, dims, traits)
    if args and not made.examined:
        made.examined = True
        if len(dims) == 2 and dims[0] == dims[1] and not _along_one_side(kind, name):
            turn = {(dims[0], 0): (dims[0], 1), (dims[0], 1): (dims[0], 0)}
            if all(relabel(a, turn) == add(a) for a in args):
                made.traits |= {"symmetric"}
    return made


def number(value: Any) -> Tensor:
    """The tensor of a rational number."""
    value = Fraction(value)
    return Tensor({(): value}) if value else ZERO


def factor(b: Base, labels: tuple[Label, ...] = (), exponent: Any = 1) -> Tensor:
    """One factor as a tensor."""
    return product([(b, labels, exponent)], ONE, ())


def factor_scaled(b: Base, labels: tuple[Label, ...], c: Fraction) -> Tensor:
    """One factor times a number as a tensor."""
    return product([(b, labels, ONE)], c, ())


def size(dimension: str) -> Tensor:
    """The size of a dimension as a number: itself where the dimension is known by its size."""
    if dimension.isdigit():
        return number(int(dimension))
    if dimension.isidentifier():
        return factor(base("size", dimension))
    parts = []
    for names, c in sizes.terms(dimension).items():
        parts.append(product([(base("size", k), (), ONE) for k in names], Fraction(c), ()))
    return add(*parts)


def delta(a: Label, b: Label) -> Tensor:
    """1 where two labels agree, else 0."""
    return product([(base("delta", "", (), (a[0], a[0])), (a, b), ONE)], ONE, ())


def product(
    factors: Iterable[tuple[Base, tuple[Label, ...], Fraction]],
    coefficient: Fraction,
    summed: Iterable[Label],
) -> Tensor:
    """A normal term: factors merged, deltas carried out, what is summed completely made a scalar.

    ``summed`` names the labels that are summed over, so that one which drops out leaves a size.
    """
    bound = set(summed)
    merged: dict[tuple[Base, tuple[Label, ...]], Any] = {}
    deltas, inverses, choices, picked, numbers = [], False, 0, False, False
    roots = False
    for b, idx, e in factors:
        kind = b.kind
        if len(idx) == 2 and idx[0] > idx[1] and (kind == "delta" or "symmetric" in b.traits):
            idx = (idx[1], idx[0])
        key = (b, idx)
        have = merged.get(key)
        if have is not None:
            e = have + e
            roots = roots or (kind == "sum" and len(b.args[0].terms) == 1 and e.denominator == 1)
        if e.__class__ is not int and e.denominator == 1:
            # Whole exponents are plain numbers: they hash fast.
            e = e.numerator  # type: ignore[assignment]
        merged[key] = e
        if kind in _PLAIN:
            continue
        if kind == "call":
            choices += b.name == "where"
        elif kind == "delta":
            deltas.append(key)
        elif kind == "matrix":
            inverses = True
        elif kind == "number":
            numbers = True
        elif kind in selectors.KINDS:
            picked = True
            merged[key] = min(e, 1) if e < 1 and e.denominator == 1 else 1  # zeros and ones
    spend(len(merged) + 1 + digits(coefficient))
    if roots:
        squared = _squared(merged)
        if squared is not None:
            return product(squared[0], coefficient * squared[1], bound)
    if deltas:
        carried = _carried(merged, deltas, bound)
        if carried is not None:
            return product(carried, coefficient, bound)
    if inverses:
        found = inverses_cancelled(merged, bound)
        if found is None:
            found = triangles_met(merged, bound)
            if found == []:
                return ZERO
        if found is not None:
            return product(found, coefficient, bound)
        spectral_found = spectral.met(merged, bound)
        if spectral_found is not None:
            return product(spectral_found[0], coefficient * spectral_found[1], bound)
    if picked:
        placed = selectors.placed(merged, bound)
        if placed is not None:
            return product(placed[0], coefficient, bound) if placed[1] else ZERO
    if choices > 1:
        gone = implied(merged)
        if gone is False:
            return ZERO
        if gone is not None:
            rest = [(*f, e) for f, e in merged.items() if f != gone]
            return product(rest, coefficient, bound)
    if bound:
        used = {x for (_, idx), e in merged.items() if e for x in idx}
        numbers = True
        for label in bound - used:
            if label[0].isdigit():
                coefficient *= int(label[0])
            else:
                ((whole, c),) = as_factor(size(label[0])).terms.items()
                coefficient *= c
                for f, at, e in whole:
                    merged[f, at] = merged.get((f, at), 0) + e
    if choices or numbers:
        flat, coefficient = _flat(merged, coefficient)
    else:
        flat = [(b, idx, e) for (b, idx), e in merged.items() if e]
    if not coefficient:
        return ZERO
    if not bound and not any(x[1] < 0 for _, idx, _ in flat for x in idx):
        return Tensor({in_order(flat): coefficient})
    return _closed(flat, coefficient, picked)


def _squared(merged: Mapping) -> tuple[list, Fraction] | None:
    """The factors with products that stood under a root taken apart: sqrt(a/b)**2 is a/b."""
    found, number, changed = [], ONE, False
    for (b, idx), e in merged.items():
        if b.kind == "sum" and len(b.args[0].terms) == 1 and e and e.denominator == 1:
            ((m, c),) = b.args[0].terms.items()
            if not bound_of(m) and set(idx) == {x for f in m for x in (idx[k[1]] for k in f[1])}:
                changed = True
                number *= c ** int(e)
                found += [(f, tuple(idx[x[1]] for x in i), k * e) for f, i, k in m]
                continue
        found.append((b, idx, e))
    return (found, number) if changed else None


_PLAIN = frozenset(("name", "sum", "constant", "size", "reduce"))
"""Kinds of bases that need no look beyond their exponents."""


def _flat(merged: Mapping, coefficient: Fraction) -> tuple[list[tuple], Fraction]:
    """The factors that are left, whole powers of numbers in the coefficient."""
    flat = []
    for (b, idx), e in merged.items():
        if b.kind == "number" and (e >= 1 or e < 0):
            whole = e.numerator // e.denominator
            coefficient *= Fraction(b.name) ** whole
            e -= whole
        if e and b.kind == "call" and b.name == "where":
            e = 1  # an indicator: 0 or 1
        if e:
            flat.append((b, idx, e))
    return flat, coefficient


def _carried(merged: dict, deltas: list, bound: set[Label]) -> list | None:
    """The factors with one delta carried out; None where all that are left have free labels.

    Then the factors over such a delta have the first of its labels: diag(u).
    """
    for b, idx in deltas:
        if (b, idx) not in merged:
            continue
        gone = idx[1] if idx[1] in bound else idx[0] if idx[0] in bound else None
        if idx[0] == idx[1] or gone is not None:
            del merged[b, idx]
            rest = [(c, i, e) for (c, i), e in merged.items()]
            if idx[0] != idx[1]:
                stay = idx[0] if gone == idx[1] else idx[1]
                bound.discard(gone)
                rest = [(c, tuple(stay if x == gone else x for x in i), e) for c, i, e in rest]
            return rest
        merged[b, idx] = 1
        for c, i in [f for f in merged if f[1] == (idx[1],)]:
            e = merged.pop((c, i))
            have = merged.get((c, (idx[0],)), 0) + e
            merged[c, (idx[0],)] = have.numerator if have.denominator == 1 else have
    return None


def _closed(flat: list[tuple], coefficient: Fraction, picked: bool) -> Tensor:
    """A term with its completely summed parts as scalar bases."""
    closed, done = components(flat)
    for group in closed:
        one = selectors.component(group) if picked else None
        body = Tensor({canonical(one[0] if one else group): ONE})
        done.append((base("sum", "", (body,)), (), one[1] if one else 1))
    scalars = [b for b, idx, _ in done if not idx]
    if closed and len(set(scalars)) < len(scalars):
        return product(done, coefficient, bound_of(done))
    return Tensor({canonical(done): coefficient})


def renamed(factors: Monomial) -> list[tuple[Base, tuple[Label, ...], Fraction]]:
    """The factors with summed labels that nothing else uses."""
    names: dict[Label, Label] = {}
    found = []
    for b, idx, e in factors:
        for x in idx:
            if x[1] < 0 and x not in names:
                names[x] = fresh_sum(x[0])
        found.append((b, tuple([names.get(x, x) for x in idx]) if names else idx, e))
    return found


def bound_of(factors: Iterable[tuple]) -> set[Label]:
    """The summed labels among factors."""
    return {x for _, idx, _ in factors for x in idx if x[1] < 0}


def add(*tensors: Tensor) -> Tensor:
    """The sum, like terms collected, groups that stand alone in it opened."""
    if len(tensors) == 1 and not any(_alone(m) for m in tensors[0].terms):
        return tensors[0]
    terms: dict[Monomial, Fraction] = {}
    spend(len(tensors))
    for t in tensors:
        for m, c in t.terms.items():
            if _alone(m):
                for inner, k in place(m[0][0].args[0], m[0][1]).terms.items():
                    _collect(terms, inner, c * k)
            else:
                _collect(terms, m, c)
    return Tensor(terms)


def _collect(terms: dict[Monomial, Fraction], m: Monomial, c: Fraction) -> None:
    have = terms.get(m)
    if have is None:
        terms[m] = c
        return
    total = have + c
    if total:
        terms[m] = total
    else:
        del terms[m]


def _alone(m: Monomial) -> bool:
    """Whether a product is one group and nothing else: added, it is opened."""
    return (
        len(m) == 1
        and m[0][2] == 1
        and m[0][0].kind == "sum"
        and len(m[0][0].args[0].terms) > 1
        and all(x[1] >= 0 for x in m[0][1])
    )


def relabel(t: Tensor, names: Mapping[Label, Label]) -> Tensor:
    """The tensor with free labels renamed; two may be renamed to one (a diagonal)."""
    if not names:
        return t
    used = {x for m in t.terms for _, idx, _ in m for x in idx}
    moves = {x: y for x, y in names.items() if x in used and x != y}
    if not moves:
        return t
    get = moves.get
    merges = len({get(x, x) for x in used}) < len(used)
    found = []
    for m, c in t.terms.items():
        moved = [(b, tuple([get(x, x) for x in idx]) if idx else idx, e) for b, idx, e in m]
        if merges or any(b.kind == "delta" for b, _, _ in m):
            found.append(product(moved, c, bound_of(m)))
        else:  # nothing meets that was apart: the term stays as normal as it is
            found.append(Tensor({canonical(moved): c}))
    return add(*found)


def place(body: Tensor, labels: tuple[Label, ...]) -> Tensor:
    """A tensor over local labels with these put in their place."""
    return relabel(body, {(x[0], i): x for i, x in enumerate(labels)})


def scale(t: Tensor, c: Any) -> Tensor:
    """The tensor times a number."""
    if c is ONE or c == 1:
        return t
    if c == -1:
        return Tensor({m: -k for m, k in t.terms.items()})
    found = {m: k * c for m, k in t.terms.items()} if c else {}
    spend(sum(map(digits, found.values())))
    return Tensor(found) if found else ZERO


def content(t: Tensor) -> Fraction:
    """What the coefficients share, see ``common``.

    Beside a small decimal number, ``u + 1e-5``, the largest coefficient: that one becomes 1. A sum
    over 5 entries counts as 5 means, so that ``5*x - sum(x)`` is 5 times ``x - mean(x)``.
    """
    values = list(t.terms.values())
    if len(values) > 1:
        free = t.free()
        if any(x[0].isdigit() for x in free):
            values = [c * _averaged(m, free) for m, c in t.terms.items()]
        if lcm(*(v.denominator for v in values)) >= SMALL and not in_decimals():
            return max(abs(v) for v in values)
    return common(values)


def _averaged(m: Monomial, free: Iterable[Label]) -> int:
    """Over how many entries a product sums where others in its sum have a label."""
    own = {x for _, idx, _ in m for x in idx}
    missing = [x[0] for x in free if x not in own and x[0].isdigit()]
    count = 1
    if missing:
        summed = {x[0] for x in own if x[1] < 0}
        for b, _, _ in m:
            if b.kind == "sum" and len(b.args[0].terms) == 1:
                summed |= {x[0] for x in bound_of(next(iter(b.args[0].terms)))}
        for size in missing:
            count *= int(size) if size in summed else 1
    return count


def settled(
    kind: str, name: str, args: tuple[Tensor, ...], labels: tuple[Label, ...], make: bool = True
) -> Any:
    """(base, labels): a base over tensors or its transpose, as it came first, and where to put it.

    Without ``make`` only a base that exists already, else None.
    """
    locals_ = {x: (x[0], i) for i, x in enumerate(labels)}
    inner = tuple(relabel(a, locals_) for a in args)
    dims = tuple(x[0] for x in labels)
    if known(kind, name, inner, dims):
        return base(kind, name, inner, dims), labels
    if len(labels) == 2 and dims[0] == dims[1]:
        turn = {(dims[0], 0): (dims[0], 1), (dims[0], 1): (dims[0], 0)}
        turned = tuple(relabel(a, turn) for a in inner)
        if known(kind, name, turned, dims):
            return base(kind, name, turned, dims), labels[::-1]
    return (base(kind, name, inner, dims), labels) if make else None


def as_factor(t: Tensor, signed: bool = False) -> Tensor:
    """A sum as a single factor: its content in front, and of u and -u the one that came first.

    ``signed`` keeps the sign inside (what stands under a root).
    """
    if not t.terms or (len(t.terms) == 1 and not bound_of(next(iter(t.terms)))):
        return t
    c = content(t)
    labels = tuple(t.free())
    body = t if c == 1 else scale(t, 1 / c)
    found = settled("sum", "", (body,), labels, make=False)
    if found is None and not signed:
        opposite = scale(body, -1)
        negative = all(c.numerator < 0 for c in body.terms.values())
        found = settled("sum", "", (opposite,), labels, make=negative)
        if found is not None:
            c = -c
    found = found or settled("sum", "", (body,), labels)
    return product([(*found, ONE)], c, ())


# ---- Arithmetic ----------------------------------------------------------------------------------


def contract(t: Tensor, labels: Iterable[Label]) -> Tensor:
    """The sum over free labels; a term that does not mention one is multiplied by its size."""
    names = {x: fresh_sum(x[0]) for x in labels}
    found = []
    for m, c in t.terms.items():
        simple = _summed_group(m, names)
        if simple is not None:
            found.append(scale(simple, c))
            continue
        moved = [(b, tuple(names.get(x, x) for x in idx), e) for b, idx, e in m]
        found.append(product(moved, c, bound_of(m) | set(names.values())))
    return add(*found)


def _summed_group(m: Monomial, names: Mapping[Label, Label]) -> Tensor | None:
    """The sum over a group that alone has the label, where it is short: sum(x - mean(x)) is 0."""
    if len(names) != 1:
        return None
    (label,) = names
    here = [f for f in m if label in f[1]]
    if len(here) != 1 or here[0][0].kind != "sum" or here[0][2] != 1 or bound_of(here):
        return None
    b, idx, _ = here[0]
    if len(b.args[0].terms) < 2:
        return None
    whole = contract(place(b.args[0], idx), [label])
    if len(whole.terms) > 1:
        return None
    rest = [f for f in m if f is not here[0]]
    return distribute(product(rest, ONE, bound_of(rest)), whole)


def has_delta(t: Tensor) -> bool:
    """Whether a term holds a delta."""
    return any(b.kind == "delta" for m in t.terms for b, _, _ in m)


def mul(a: Tensor, b: Tensor) -> Tensor:
    """The product. A sum stays a group, except where it holds a delta: that one is distributed."""
    na, nb = a.number(), b.number()
    if na is not None:
        return scale(b, na)
    if nb is not None:
        return scale(a, nb)
    if len(a.terms) > 1 and not has_delta(a):
        a = as_factor(a)
    if len(b.terms) > 1 and not has_delta(b):
        b = as_factor(b)
    return distribute(a, b)


def distribute(a: Tensor, b: Tensor) -> Tensor:
    """The product, every term by every term."""
    if len(a.terms) * len(b.terms) > 20 * MOST_TERMS:
        raise too_large()
    found = []
    for m1, c1 in a.terms.items():
        first = renamed(m1)
        for m2, c2 in b.terms.items():
            factors = [*first, *renamed(m2)]
            c = c2 if c1 is ONE else c1 if c2 is ONE else c1 * c2
            found.append(product(factors, c, bound_of(factors)))
    return add(*found)


def through_join(
    tensors: Sequence[Tensor], change: Callable[[list[Tensor]], Tensor]
) -> Tensor | None:
    """What is done entry by entry to a joined axis, done before: exp(flatten(X)).

    None where the tensors do not all consist of entries that one join brings into a row.
    """
    found = before_join(tensors)
    if found is None:
        return None
    b, labels, bodies = found
    return contract(distribute(change(bodies), factor(b, labels)), labels[1:])


def before_join(
    tensors: Sequence[Tensor],
) -> tuple[Base, tuple[Label, Label, Label], list[Tensor]] | None:
    """The join that brings entries of tensors into a row, its labels, and what they were before."""
    joins = {f[:2] for t in tensors for m in t.terms for f in m if f[0].kind == "join"}
    if not joins or len({(b, idx[0]) for b, idx in joins}) > 1:
        return None
    b, (k, *_) = next(iter(joins))
    i, j = fresh(b.dims[1]), fresh(b.dims[2])
    bodies = []
    for t in tensors:
        parts = []
        for m, c in t.terms.items():
            here = [f for f in m if f[0] is b and f[1][0] == k]
            rest = [f for f in m if f not in here]
            labels = {x for f in rest for x in f[1] if x[1] >= 0}
            own = {x for f in here for x in f[1][1:] if x[1] < 0}
            if len(here) == 1 and not labels and len(own) == 2:
                names = dict(zip(here[0][1][1:], (i, j), strict=True))
                moved = [(f, tuple(names.get(x, x) for x in idx), e) for f, idx, e in rest]
                parts.append(product(moved, c, bound_of(moved)))
            elif not here and not labels:
                parts.append(product(rest, c, bound_of(rest)))
            else:
                return None
        bodies.append(add(*parts))
    return b, (k, i, j), bodies


def power(t: Tensor, e: Fraction) -> Tensor:
    """The tensor to a rational power, entry by entry. Raises a fault for 0 to a negative power."""
    if e == 1:
        return t
    if e == 0:
        return UNIT
    if any(b.kind == "join" for m in t.terms for b, _, _ in m):
        joined = through_join([t], lambda bodies: power(bodies[0], e))
        if joined is not None:
            return joined
    if not t.terms:
        if e < 0:
            raise no_value("a division by zero")
        return ZERO
    single = t if len(t.terms) == 1 else as_factor(t, e.denominator > 1)
    ((m, c),) = single.terms.items()
    if bound_of(m):
        b, labels = settled("sum", "", (Tensor({m: ONE}),), tuple(Tensor({m: ONE}).free()))
        m = ((b, labels, ONE),)
    if e < 0 and any(b.kind in selectors.KINDS for b, _, _ in m):
        raise no_value("a division by zero")
    if e.denominator == 1:
        whole = e.numerator
        number = c if c == 1 or whole == 1 else c**whole
        return product([(b, i, k * whole) for b, i, k in m], number, ())
    inner: list = []
    even: list = []
    found: list = []
    for b, i, k in m:
        if is_positive(b, k):
            found.append((b, i, k * e))
        elif k.denominator == 1 and not k.numerator % 2:
            even.append((b, i, k))
        else:
            inner.append((b, i, k))
    if c < 0 and not inner:  # nowhere a value, but that is for the check to say
        inner, even = even, []
    if c < 0 and len(inner) == 1 and inner[0][0].kind == "sum" and inner[0][2] == 1:
        b, i, _ = inner[0]
        flipped = base("sum", "", (scale(b.args[0], -1),), b.dims)
        inner, c = [(flipped, i, ONE)], -c
    if c < 0 or len(inner) > 1:
        group = Tensor({canonical(inner): Fraction(-1 if c < 0 else 1)})
        inner = [(*settled("sum", "", (group,), tuple(group.free())), ONE)]
        c = abs(c)
    found += [(b, i, k * e) for b, i, k in inner]
    for b, i, k in even:  # sqrt(x**2) is abs(x)
        found.append((*settled("call", "abs", (factor(b, i),), tuple(sorted(set(i)))), k * e))
    roots, plain = rooted(c, e)
    return product([*found, *roots], plain, ())


def is_positive(b: Base, exponent: Fraction = ONE) -> bool:
    """Whether base^exponent is surely positive on the domain of the expression."""
    if b.kind in ("constant", "number", "size") or exponent.denominator > 1:
        return True
    if b.kind in selectors.KINDS:
        return b.kind != "below"  # of what is summed over them, something is left
    if b.kind == "name":
        return "positive" in b.traits
    if b.kind == "matrix" and b.name == "det":
        return all("spd" in f.traits for m in b.args[0].terms for f, _, _ in m)
    if b.kind == "call":
        return b.name in POSITIVE
    if b.kind == "sum":
        body = b.args[0]
        return all(
            c > 0 and all(is_positive(f, k) or (k.denominator == 1 and k % 2 == 0) for f, _, k in m)
            for m, c in body.terms.items()
        ) and (() in body.terms or len(body.terms) == 1)
    return False
