"""What functions of matrices make of what they meet: orthogonal vectors, matrices that commute.

V.T @ V, V @ V.T          eye           eigenvectors of a symmetric A; U and V' of a matrix in part
V @ diag(f(l)) @ V.T      f(A)          l its eigenvalues: A, inv(A), sqrtm(A), exp and log
U @ diag(s) @ V'          A             s its singular values
A @ pinv(A) @ A           A             and pinv(A) @ A @ pinv(A)
sum(D[a, b]*G[b, a])      f'(A) @ G     D a derivative of f(A), G a function of A
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.expr.base import HALF, ONE, Base, Tensor, base, fresh_sum, sole

Key = tuple[Base, tuple]
Met = tuple[list, Fraction]
_EIGENVECTORS, _LEFT, _RIGHT = ("eigh_parts", 1), ("svd_parts", 0), ("svd_parts", 2)
_ORTHONORMAL = (_EIGENVECTORS, _LEFT, _RIGHT, ("qr_parts", 0))
_POWERS = {Fraction(-1): "inv", HALF: "sqrtm"}
_CALLS = {"exp": "matrix_exp", "log": "logm"}


def met(merged: Mapping[Key, Any], bound: set) -> Met | None:
    """The factors with one such product carried out, and a number; None where there is none."""
    for key, e in merged.items():
        b = key[0]
        if b.kind != "matrix" or e != 1:
            continue
        found = None
        if len(b.args) > 1:
            found = _commuted(merged, bound, key)
        elif b.name in _ORTHONORMAL:
            found = _vectors(merged, bound, key)
        elif b.name == "pinv":
            found = _projected(merged, bound, key)
        if found is not None:
            return found
    return None


def _users(merged: Mapping[Key, Any], x: Any) -> list[Key]:
    return [k for k, e in merged.items() if e and x in k[1]]


def _without(merged: Mapping[Key, Any], gone: list[Key], *more: tuple) -> list:
    return [*((*k, e) for k, e in merged.items() if k not in gone), *more]


def _delta(x: Any, y: Any) -> tuple:
    return base("delta", "", (), (x[0], y[0])), (x, y), ONE


# ---- Orthogonal vectors --------------------------------------------------------------------------


def _vectors(merged: Mapping[Key, Any], bound: set, key: Key) -> Met | None:
    """Vectors beside themselves, or beside the values that belong to them."""
    b, idx = key
    along = 0 if b.name != _RIGHT else 1  # over this axis each vector has length 1
    square = b.dims[0] == b.dims[1] and b.name != ("qr_parts", 0)
    for axis in (along, 1 - along) if square else (along,):
        x = idx[axis]
        both = _users(merged, x)
        if x in bound and len(both) == 2 and idx.count(x) == 1:
            other = both[0] if both[1] == key else both[1]
            if other[0] is b and merged[other] == 1 and other[1][axis] == x:
                end = other[1][1 - axis]
                if end != x:
                    bound.discard(x)
                    return _without(merged, both, _delta(idx[1 - axis], end)), ONE
    return _rebuilt(merged, bound, key)


def _rebuilt(merged: Mapping[Key, Any], bound: set, key: Key) -> Met | None:
    """Values between the vectors that belong to them: the matrix, or a function of it."""
    b, idx = key
    if b.name not in (_EIGENVECTORS, _LEFT):
        return None
    k = idx[1]
    near = _users(merged, k)
    if k not in bound or len(near) != 3 or idx[0] == k:
        return None
    left = [f for f in near if f != key]
    name = _EIGENVECTORS if b.name == _EIGENVECTORS else _RIGHT
    axis = 1 if name == _EIGENVECTORS else 0
    for other, middle in (left, left[::-1]):
        if other[0].name != name or other[0].args != b.args or merged[other] != 1:
            continue
        if other[1][axis] != k or other[1][1 - axis] == k:
            continue
        function = _function_of(middle, merged[middle], b, "svdvals" if axis == 0 else "eigvalsh")
        if function is None:
            continue
        ends = idx[0], other[1][1 - axis]
        if isinstance(function, str):
            (own,) = b.args
            made = base("matrix", function, (own,), b.dims, frozenset(("symmetric",)))
            bound.discard(k)
            return _without(merged, near, (made, ends, ONE)), ONE
        ((m, c),) = function.terms.items()
        if any(x[1] < 0 for f in m for x in f[1]):
            return None
        bound.discard(k)
        moved = [(f, tuple(ends[x[1]] for x in i), e) for f, i, e in m]
        return _without(merged, near, *moved), c
    return None


def _function_of(middle: Key, e: Any, vectors: Base, values: str) -> Tensor | str | None:
    """The name of f where a factor is f of the values; the matrix itself where f(x) is x."""
    b = middle[0]
    if b.kind == "matrix" and b.name == values and b.args == vectors.args:
        if e == 1:
            (found,) = vectors.args
            return found if len(found.terms) == 1 else None
        return _POWERS.get(Fraction(e)) if values == "eigvalsh" and _single(vectors) else None
    if b.kind == "call" and e == 1 and b.name in _CALLS and values == "eigvalsh":
        core, _, c = sole(b.args[0]) or (None, (), 0)
        if core is not None and c == 1 and core.kind == "matrix" and core.name == values:
            return _CALLS[b.name] if core.args == vectors.args else None
    return None


def _single(b: Base) -> bool:
    """Whether a base is over a single factor, as every inverse is."""
    found = sole(b.args[0])
    return found is not None and found[2] == 1


# ---- The pseudoinverse ---------------------------------------------------------------------------


def _projected(merged: Mapping[Key, Any], bound: set, key: Key) -> Met | None:
    """pinv(A) @ A @ pinv(A) and A @ pinv(A) @ A."""
    b, idx = key
    if not _single(b):
        return None
    ((m, _),) = b.args[0].terms.items()
    core, places, _ = m[0]
    for f, at in merged:
        if f is not core or merged[f, at] != 1 or len(at) != 2:
            continue
        row, column = (at[[p[1] for p in places].index(i)] for i in (0, 1))
        # P[j, i] beside A[i, j']: summed over i, or over j
        for met_at, open_a, open_p in ((0, column, idx[0]), (1, row, idx[1])):
            x = (row, column)[met_at]
            if x != idx[1 - met_at] or x not in bound or len(_users(merged, x)) != 2:
                continue
            for third, end in merged:
                if merged[third, end] != 1 or (third, end) in ((f, at), key) or len(end) != 2:
                    continue
                if third is b:  # P A P
                    y, z = end[met_at], end[1 - met_at]
                    if y != open_a or y not in bound or len(_users(merged, y)) != 2:
                        continue
                    ends = (open_p, z) if met_at == 0 else (z, open_p)
                    rest = _without(merged, [key, (f, at), (third, end)], (b, ends, ONE))
                elif third is core:  # A P A
                    other = [end[[p[1] for p in places].index(i)] for i in (0, 1)]
                    y, z = other[1 - met_at], other[met_at]
                    if y != open_p or y not in bound or len(_users(merged, y)) != 2:
                        continue
                    new = (z, open_a) if met_at == 0 else (open_a, z)
                    put = tuple(new[p[1]] for p in places)
                    rest = _without(merged, [key, (f, at), (third, end)], (core, put, ONE))
                else:
                    continue
                bound -= {x, y}
                return rest, ONE
    return None


# ---- Derivatives along matrices ------------------------------------------------------------------


def _commuted(merged: Mapping[Key, Any], bound: set, key: Key) -> Met | None:
    """A derivative of f(A) summed with what commutes with A: f'(A) at its other two labels.

    D[a, b, i, j] is symmetric: that along E summed with G is that along G summed with E.
    """
    b, idx = key
    if len(b.args) < 2 or OPERATORS[b.name].arity - 1 == len(b.args):
        return None
    slope = b.args[-1]
    if len(slope.terms) != 1:
        return None
    ((m, c),) = slope.terms.items()
    inner = {x: fresh_sum(x[0]) for f in m for x in f[1] if x[1] < 0}
    for (p, q), (r, s) in (((0, 1), (2, 3)), ((2, 3), (0, 1))):
        a, z = idx[p], idx[q]
        chain = _chain(merged, key, z, a)
        if chain is None or not {a, z} <= bound:
            continue
        # sum of D[a, z, i, j]*G[z, a] is (f'(A) @ G)[j, i]
        ends = idx[s], z if chain else idx[r]
        moved = [(f, tuple(inner[x] if x in inner else ends[x[1]] for x in i), e) for f, i, e in m]
        turned = [(f, tuple(idx[r] if x == a else x for x in i), ONE) for f, i in chain]
        bound.discard(a)
        bound |= set(inner.values())
        return _without(merged, [key, *chain], *moved, *turned), c
    return None


def _chain(merged: Mapping[Key, Any], key: Key, start: Any, end: Any) -> list[Key] | None:
    """Functions of the same matrix whose product leads from one label to another; [] at once."""
    found: list[Key] = []
    at = start
    while at != end:
        users = [k for k in _users(merged, at) if k != key and k not in found]
        if len(users) != 1 or not _commutes(users[0][0], users[0][1], key[0], at):
            return None
        if merged[users[0]] != 1:
            return None
        found.append(users[0])
        at = users[0][1][1] if users[0][1][0] == at else users[0][1][0]
    return found if len(_users(merged, end)) == (1 if not found else 2) else None


def _commutes(f: Base, idx: tuple, along: Base, at: Any) -> bool:
    """Whether a factor, read from the label ``at``, is the matrix that ``along`` is of, or a
    function of it."""
    if len(idx) != 2 or idx[0] == idx[1]:
        return False
    forward = idx[0] == at or "symmetric" in f.traits
    own = along.args[0]
    op = OPERATORS.get(f.name) if f.kind == "matrix" else None
    if op is not None and op.transposes and f.args[0] == own:
        return forward
    b, labels, c = sole(own) or (None, (), 0)
    if c != 1 or b is not f:
        return False
    return "symmetric" in f.traits or (labels[0][1] == 0) == (idx[0] == at)
