"""Sums of choices as one tree of conditions, the smallest one.

    where(z < 1, where(z < 0, 0, z - 1), 0) + where(z < 0, -1, 0)
    where(z < 0, -1, where(z < 1, z - 1, 0))

The terms are worked out in every cell that their conditions make (``cells``); then the tree that
asks the least to tell apart the cells in which they differ is looked for. Two bounds on either side
of 0 are one condition, ``abs(u) <= c``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from gradcli.ops.errors import Fault
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.algebra import in_terms, inside_groups
from gradcli.symbolic.expr.base import in_decimals, terminates
from gradcli.symbolic.expr.elementwise import applied, indicator
from gradcli.symbolic.simplify.coincidence import may_coincide
from gradcli.symbolic.simplify.piecewise import Cells, TooMany, has_pieces, is_strict, meeting
from gradcli.symbolic.simplify.recognise import is_call_of_condition
from gradcli.symbolic.simplify.relations import is_call


@v.remembered
def by_cases(t: v.Tensor, whole: bool = False, plainly: bool = False) -> v.Tensor:
    """The tensor with the terms that share labels and have several conditions as one tree.

    With ``whole`` terms without a condition too, where they hold a max or min of these labels; with
    ``plainly`` conditions on a max or min stay as they are.
    """
    return inside_groups(t, lambda u: _by_cases(u, whole, plainly))


def _by_cases(t: v.Tensor, whole: bool, plainly: bool) -> v.Tensor:
    groups: dict[Any, list[tuple]] = {}
    rest: list[v.Tensor] = []
    for m, c in t.terms.items():
        places = {f[1] for f in m if is_call(f[0], "where")}
        places.discard(())
        if not any(is_call(f[0], "where") for f in m) or len(places) > 1:
            rest.append(v.Tensor({m: c}))
            continue
        idx = next(iter(places), ())
        bound = sum(x[1] < 0 for x in idx)
        if (bound and bound < len(idx)) or len(set(idx)) < len(idx):
            rest.append(v.Tensor({m: c}))
            continue
        key = tuple(x[0] for x in idx) if bound else idx
        groups.setdefault((bool(bound), key), []).append((m, c, idx))
    least = 2
    if whole and len(groups) == 1:
        ((bound, idx),) = groups
        for plain in rest if not bound else ():
            ((m, c),) = plain.terms.items()
            if any(f[1] == idx and has_pieces([v.factor(f[0], f[1])]) for f in m):
                groups[bound, idx].append((m, c, idx))
                least = 1
        rest = [u for u in rest if (*next(iter(u.terms.items())), idx) not in groups[bound, idx]]
    for (bound, _), terms in groups.items():
        made = None
        if len({_asked(f[0]) for m, _, _ in terms for f in m if is_call(f[0], "where")}) >= least:
            made = _as_tree(terms, bound, plainly)
        rest += [v.Tensor({m: c}) for m, c, _ in terms] if made is None else [made]
    return v.add(*rest)


def _asked(b: v.Base) -> Any:
    """What an indicator asks; ``y > x`` asks the same as ``x > y``, unless these may be one."""
    if not is_call_of_condition(b, "gt"):
        return b.args[0]
    ((test, at, _),) = next(iter(b.args[0].terms))
    if has_pieces(test.args):
        return b.args[0]
    return frozenset(a.key for a in test.args), at


def _as_tree(terms: Sequence[tuple], bound: bool, plainly: bool) -> v.Tensor | None:
    """Terms as one tree of choices; None where that cannot be found."""
    idx = terms[0][2]
    at = tuple(v.fresh(x[0]) for x in idx) if bound else idx
    cells = Cells(tuple(x[0] for x in idx), plainly)
    parts = []
    for m, c, labels in terms:
        names = dict(zip(labels, at, strict=True)) if bound else {}
        conditions = [f for f in m if is_call(f[0], "where")]
        factors = [
            (b, tuple(names.get(x, x) for x in i), e) for b, i, e in m if not is_call(b, "where")
        ]
        left = v.bound_of(m) - set(labels) if bound else v.bound_of(m)
        parts.append((conditions, factors, c, left))
    # A diagonal matrix of choices is one factor.
    shared = [f for f in parts[0][1] if f[0].kind == "delta"]
    shared = [f for f in shared if all(f in p[1] for p in parts)]
    split = [(p[0], v.product([f for f in p[1] if f not in shared], p[2], p[3])) for p in parts]
    try:
        made = _Tree(cells, split, at).made()
    except (TooMany, Fault):
        return None
    if shared and made.terms:
        made = v.distribute(v.product(shared, v.ONE, ()), v.as_factor(made))
    return v.contract(made, at) if bound else made


class _Tree:
    """The smallest tree of conditions for terms, each a list of conditions and what they choose."""

    def __init__(self, cells: Cells, parts: Sequence[tuple], at: tuple) -> None:
        self.cells = cells
        self.parts = parts
        self.at = at
        self.best: dict[frozenset, tuple] = {}
        self.leaves: list[v.Tensor] = []
        self.tests: list[tuple[v.Tensor, int, set[int]]] = []

    def made(self) -> v.Tensor:
        """The sum as a tensor. Raises TooMany where there are too many cells."""
        walked = self.cells.walk(self.leaf)
        whole = list(self.cells.all())
        for path in whole:
            leaf = next(x for part, x in walked if part.items() <= path.items())
            self.leaves.append(leaf)
        for place in range(len(self.cells.signs)):
            yes = {i for i, path in enumerate(whole) if path[place]}
            test = self.cells.indicator(place, True)
            self.tests.append((test, _weight(test), yes))
        self.tests += self.between(whole)
        found = self.tensor(frozenset(range(len(whole))))
        several = [x for x in self.leaves if len(x.terms) > 1]
        if not several or len({x.key for x in self.leaves if x.terms}) > 1:
            return found
        self.leaves = [v.UNIT if x.terms else x for x in self.leaves]
        self.best = {}
        return v.distribute(v.as_factor(several[0]), self.tensor(frozenset(range(len(whole)))))

    def leaf(self, path: dict[int, bool]) -> v.Tensor:
        """The sum in one cell. Raises Undecided."""
        taken = []
        for conditions, rest in self.parts:
            if all(
                self.cells.truth(b.args[0], path) == bool(b.args[1].number())
                for b, _, _ in conditions
            ):
                taken.append(rest)
        found = []
        for rest in taken:
            forms: dict[v.Base, v.Tensor] = {}
            for b in v.bases_of(rest):
                if b.dims == self.cells.dims or not b.dims:
                    forms |= self.cells.forms(
                        v.factor(b, self.cells.own[: len(b.dims)]), path, True
                    )
            found.append(self.cells.put(rest, forms, self.at) if forms else rest)
        return v.add(*found)

    def between(self, whole: Sequence[dict[int, bool]]) -> list[tuple]:
        """-c <= u and u <= c as one condition each."""
        found = []
        signs = self.cells.signs
        for i, one in enumerate(signs):
            for j, two in enumerate(signs[:i]):
                if one.d is None or two.d is None:
                    continue
                for up in (True, False):
                    for same in (True, False):
                        a = one.d if up else v.scale(one.d, -1)
                        b = two.d if same else v.scale(two.d, -1)
                        c = v.scale(v.add(a, b), Fraction(1, 2))
                        if len(c.terms) != 1 or not all(map(_positive, c.terms.items())):
                            continue
                        u = v.add(a, v.scale(c, -1))
                        if len(u.terms) >= max(len(a.terms), len(b.terms)):
                            continue  # abs(x - 3) <= 3 rounds a tiny x away
                        sides = ((one, up), (two, same))
                        leaves_out = (is_strict(s.condition()) == (s.up == up) for s, up in sides)
                        name = "lt" if all(leaves_out) else "le"
                        test = applied(name, (applied("abs", (u,)), c))
                        yes = {
                            k for k, path in enumerate(whole) if path[i] == up and path[j] == same
                        }
                        found.append((indicator(test, True), _weight(test), yes))
        return found

    def tensor(self, cells: frozenset) -> v.Tensor:
        """The tree for some cells as a tensor."""
        done: list[v.Tensor] = []
        waiting = [(cells, v.UNIT)]
        self.search(cells)
        while waiting:
            here, front = waiting.pop()
            _, test = self.best[here]
            if test is None:
                leaf = self.leaves[min(here)]
                done.append(v.distribute(leaf, v.place(front, self.at)) if leaf.terms else v.ZERO)
                continue
            mark, _, yes = self.tests[test]
            ((m, _),) = mark.terms.items()
            other = indicator(m[0][0].args[0], not m[0][0].args[1].number())
            waiting.append((here - yes, v.mul(front, v.place(other, m[0][1]))))
            waiting.append((here & yes, v.mul(front, mark)))
        return v.add(*done)

    def search(self, cells: frozenset) -> None:
        """Fill in the smallest tree for some cells and all that it needs."""
        waiting = [cells]
        while waiting:
            here = waiting[-1]
            if here in self.best:
                waiting.pop()
                continue
            if len({self.leaves[i].key for i in here}) == 1:
                self.best[here] = (_weight(self.leaves[min(here)]), None)
                continue
            splits = []
            missing = []
            for k, (_, cost, yes) in enumerate(self.tests):
                sides = (here & yes, here - yes)
                if all(sides):
                    missing += [x for x in sides if x not in self.best]
                    splits.append((k, cost, sides))
            if missing:
                waiting += missing
                continue
            self.best[here] = min(
                ((cost + 1 + sum(self.best[x][0] for x in sides), k) for k, cost, sides in splits)
            )


def _positive(term: tuple) -> bool:
    m, c = term
    return c > 0 and not v.bound_of(m) and all(v.is_positive(b, Fraction(e)) for b, _, e in m)


def _weight(t: v.Tensor) -> int:
    """About how many operations a tensor is written with."""
    inner: dict[v.Base, int] = {}
    for b in v.bases_of(t):
        if b.kind == "sum" or b.kind == "call":
            shown = b.args[:1] if is_call(b, "where") else b.args
            inner[b] = (b.kind == "call" and b.name != "where") + sum(
                _terms(a, inner) for a in shown
            )
    return _terms(t, inner)


def _terms(t: v.Tensor, inner: dict[v.Base, int]) -> int:
    total = max(len(t.terms) - 1, 0)
    for m, c in t.terms.items():
        total += max(len(m) - 1, 0) + (abs(c.numerator) != 1 and bool(m))
        total += c.denominator != 1 and not (in_decimals() and terminates(c))
        total += sum(inner.get(b, 0) + (e not in (1, -1)) for b, _, e in m)
    return total


def choices_met(t: v.Tensor) -> v.Tensor:
    """[b > a] as [not a > b] where both stand: one choice, which says nothing of ties.

    Where ties are told by [a == b], it is 1 - [a > b] - [a == b].
    """
    wheres = [b for b in v.bases_of(t) if is_call(b, "where")]
    first: dict[Any, v.Base] = {}
    turned: dict[v.Base, v.Tensor] = {}
    for b in (b for name in ("eq", "gt") for b in wheres if is_call_of_condition(b, name)):
        ((m, _),) = b.args[0].terms.items()
        test, at, _ = m[0]
        sides = tuple(a.key for a in test.args)
        equal = first.get((frozenset(sides), at))
        if test.name == "gt" and equal is None and has_pieces(test.args):
            left, right = test.args
            both, _ = meeting(left, right, lambda x, y: not may_coincide(x, y), "")
            if both is None or both.terms:
                continue  # they are equal at more than single points
        key = (frozenset(sides) if test.name == "eq" else sides[::-1], at)
        known = first.get(key)
        if known is None:
            first.setdefault((key[0] if test.name == "eq" else sides, at), b)
        elif test.name == "eq":
            turned[b] = _instead(b, known, bool(b.args[1].number()))
        elif b.args[1].number() == 1:
            turned[b] = _instead(b, known, False)
            if equal is not None:
                turned[b] = v.add(turned[b], v.scale(_instead(b, equal, True), -1))
    if not turned:
        return t

    def change(m: v.Monomial, c: Fraction) -> v.Tensor:
        made: list[tuple[list, Fraction]] = [([], c)]
        for f in m:
            ways = turned[f[0]].terms.items() if f[0] in turned else [((f,), v.ONE)]
            # Put at f's labels by hand: ``place`` would name the summed ones among them anew.
            each = [([(b, f[1], e) for b, _, e in n], by) for n, by in ways]
            made = [([*one, *n], k * by) for one, k in made for n, by in each]
        return v.add(*(v.product(one, k, v.bound_of(m)) for one, k in made))

    return in_terms(t, change)


def _instead(b: v.Base, other: v.Base, holds: bool) -> v.Tensor:
    """The indicator of another one's condition at the labels of b."""
    args = (other.args[0], v.number(int(holds)))
    return v.factor(v.base("call", "where", args, b.dims), v.labels_of(b.dims))
