"""Where two formulas may be equal: on a whole region, or at isolated points only."""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.ops.declaration.infix import is_comparison
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.expr import selectors
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.identities import PIECEWISE

_PARTLY = frozenset((*selectors.KINDS, "delta", "reduce"))
"""Bases that are 0 in places: cumsum(x, 0) and x agree in their first entry."""


def may_coincide(a: v.Tensor, b: v.Tensor) -> bool:
    """Whether two formulas may be equal on more than isolated points: one is made of pieces."""
    if any(_apart(u, other) for u, other in ((a, b), (b, a))):
        return False
    below = [v.bases_of(t) for t in (a, b)]
    if any(_extreme(t) for t in (a, b)):
        return True
    names = [{x.name for x in found if x.kind == "name"} for found in below]
    dims = [x[0] for x in {*a.free(), *b.free()}]
    if len(set(dims)) < len(dims) and names[0] & names[1]:
        return True  # A and A.T agree on the diagonal
    entries = bool(a.free() or b.free())  # else all is summed: 0 at isolated points only
    if not any(
        (x.kind in _PARTLY and entries) or (x.kind == "call" and x.name in PIECEWISE)
        or (x.kind == "call" and x.name == "abs" and len(x.dims) == len(dims))
        for found in below for x in found
    ):  # fmt: skip
        return False
    return not names[0] or not names[1] or bool(names[0] & names[1])


def in_order(t: v.Tensor) -> int:
    """1 or -1 where a vector is in ascending or descending order, such as eigenvalues; else 0."""
    sole = v.sole(t)
    if sole is None or sole[0].kind != "matrix" or len(sole[1]) != 1:
        return 0
    b, (label,), c = sole
    op = OPERATORS.get(b.name)
    return 0 if op is None or label[1] < 0 else op.sorted if c > 0 else -op.sorted


def end_of_sorted(a: v.Tensor, b: v.Tensor) -> v.Tensor | None:
    """Where a, in ascending or descending order, is b, its first or last entry: a single 1."""
    if not in_order(a) or b.free():
        return None
    (label,) = a.free()
    for place in (0, -1):
        one = v.factor(selectors.entry(label[0], place), (label,))
        if v.contract(v.distribute(a, one), [label]) == b:
            return one
    return None


def _extreme(t: v.Tensor) -> v.Base | None:
    """The base of a tensor that is the largest or smallest entry of something."""
    b, _, c = v.sole(t) or (None, (), 0)
    return b if b is not None and c == 1 and b.kind == "reduce" and b.name != "prod" else None


def marks_one(t: v.Tensor, gone: Sequence[v.Label]) -> bool:
    """Whether a tensor has a single 1 over these labels: where an entry is the largest."""
    b, idx, c = v.sole(t) or (None, (), 0)
    if b is None or c != 1 or b.kind != "call":
        return False
    if b.name == "where":
        inner = v.place(b.args[0], idx) if b.args[1].number() else v.ZERO
        return bool(inner.terms) and marks_one(inner, gone)
    if b.name != "eq" or not gone:
        return False
    for side, whole in (b.args, b.args[::-1]):
        found = _extreme(side)
        if found is not None and not _ties(whole):
            kept = {idx[x[1]] for x in side.free()}
            return set(gone) == set(idx) - kept
    return False


def _ties(t: v.Tensor) -> bool:
    """Whether entries may be equal on more than isolated points: by symmetry, or some are 0."""
    for b in v.bases_of(t):
        if b.kind in _PARTLY or "symmetric" in b.traits:
            return True
        if b.kind == "call" and (b.name in PIECEWISE or is_comparison(b.name)):
            return True  # min(x, 1) is 1 at many entries
    labels = t.free()
    if len(labels) != 2 or labels[0][0] != labels[1][0]:
        return False
    one, two = labels
    return v.relabel(t, {one: two, two: one}) == v.add(t)


def _apart(a: v.Tensor, b: v.Tensor) -> bool:
    """Whether a is a length and b is 0, with a variable in what is measured that is added to it.

    norm(relu(x) - y) is 0 at isolated y only.
    """
    if b.terms or len(a.terms) != 1:
        return False
    ((m, _),) = a.terms.items()
    if len(m) != 1 or m[0][0].kind != "sum" or len(m[0][0].args[0].terms) != 1:
        return False
    ((inner, _),) = m[0][0].args[0].terms.items()
    if len(inner) != 1 or inner[0][0].kind != "sum" or inner[0][2] != 2:
        return False
    terms = inner[0][0].args[0].terms
    alone = [k[0][0] for k in terms if len(k) == 1 and k[0][0].kind == "name" and k[0][2] == 1]
    return any(sum(b in v.bases_of(v.Tensor({k: v.ONE})) for k in terms) == 1 for b in alone)
