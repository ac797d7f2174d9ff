"""kron(A, B) of square matrices: its inverse and its determinant from those of A and B.

inv(kron(A, B))       kron(inv(A), inv(B))
det(kron(A, B))       det(A)**m * det(B)**n     with n rows in A, m in B
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gradcli.symbolic.expr import selectors
from gradcli.symbolic.expr import tensor as v

Matrix = tuple[v.Tensor, v.Label, v.Label]


class Kronecker(NamedTuple):
    """The factors of c*kron(A, B) over the labels a and b.

    number   c
    left     A with its row and column label; right: B with its own
    whole    the dimension of the product
    """

    number: v.Tensor
    left: Matrix
    right: Matrix
    whole: str

    def joined(self, left: v.Tensor, right: v.Tensor, a: v.Label, b: v.Label) -> v.Tensor:
        """kron(left, right) over labels a and b, the two over this one's labels."""
        (_, i, j), (_, p, q) = self.left, self.right
        t = v.distribute(left, right)
        for end, labels in ((a, (i, p)), (b, (j, q))):
            base = selectors.join(self.whole, labels[0][0], labels[1][0])
            t = v.contract(v.distribute(t, v.factor(base, (end, *labels))), labels)
        return t


def kronecker(t: v.Tensor, a: v.Label, b: v.Label) -> Kronecker | None:
    """A tensor over two labels as c*kron(A, B) of square matrices; None where it is none."""
    if len(t.terms) != 1:
        return None
    ((m, c),) = t.terms.items()
    joins = {f[1][0]: f for f in m if f[0].kind == "join" and f[2] == 1}
    if set(joins) != {a, b} or sum(f[0].kind == "join" for f in m) != 2:
        return None
    (_, i, p), (_, j, q) = joins[a][1], joins[b][1]
    if len({i, j, p, q}) < 4 or i[0] != j[0] or p[0] != q[0]:
        return None
    parts: tuple[list, list] = [], []
    scalars = []
    for f in m:
        if f[0].kind == "join":
            continue
        if not f[1]:
            scalars.append(f)
        else:
            (parts[0] if set(f[1]) & {i, j} else parts[1]).append(f)
    used = [{x for f in part for x in f[1]} for part in parts]
    if used[0] & used[1] or not {i, j} <= used[0] or not {p, q} <= used[1]:
        return None
    if any(x[1] >= 0 for labels in used for x in labels):
        return None
    made: list[Any] = []
    for part, ends in zip(parts, ((i, j), (p, q)), strict=True):
        names = {x: v.fresh(x[0]) for x in ends}
        moved = [(f, tuple(names.get(x, x) for x in idx), e) for f, idx, e in part]
        made.append((v.product(moved, v.ONE, v.bound_of(moved)), *names.values()))
    return Kronecker(v.product(scalars, c, ()), made[0], made[1], a[0])
