"""inv, det and logdet of symbols: bases over a square argument.

The inverse of a product of square matrices splits, that of a diagonal is taken entry by entry, and
what is left is the inverse of one base. ``tensor.product`` cancels inv(U) @ U.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from gradcli.symbolic.expr import selectors
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.elementwise import powered
from gradcli.symbolic.trace.operations import apart, matmul, mul
from gradcli.symbolic.trace.symbol import OPERATION, Symbol, operation
from gradcli.symbolic.unsupported import no_closed_form, no_value

Matrix = tuple[v.Tensor, v.Label, v.Label]


class Kronecker(NamedTuple):
    """The factors of c*kron(A, B) of square matrices over the labels a and b.

    Its inverse is kron(inv(A), inv(B))/c, its determinant that of both to powers.

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


def square(x: Symbol, name: str) -> tuple[v.Tensor, v.Label, v.Label]:
    """A square matrix over two fresh labels. Raises a fault (E0701) for anything else."""
    if len(x.axes) != 2 or None in x.axes or x.axes[0][0] != x.axes[1][0]:  # type: ignore[index]
        raise no_closed_form(f"`{name}` of what is no square matrix")
    v.refuse_hidden(x.tensor.free(), name)
    dimension = x.axes[0][0]  # type: ignore[index]
    a, b = v.fresh(dimension), v.fresh(dimension)
    names = dict(zip(x.axes, (a, b), strict=True))
    if x.axes[0] == x.axes[1]:
        raise no_closed_form(f"`{name}` of a diagonal")
    return v.relabel(x.tensor, names), a, b  # type: ignore[arg-type]


def inverse(t: v.Tensor, a: v.Label, b: v.Label) -> v.Tensor:
    """inv(t) over the labels of t."""
    if not t.terms:
        raise no_value("the inverse of zero")
    if len(t.terms) == 1:
        ((m, c),) = t.terms.items()
        found = _diagonal(m, c, a, b) or _split(m, c, a, b)
        if found is not None:
            return found
    both = kronecker(t, a, b)
    if both is not None:
        whole = both.joined(inverse(*both.left), inverse(*both.right), a, b)
        return v.mul(v.power(both.number, Fraction(-1)), whole)
    if not {a, b} <= set(t.free()):
        raise no_value("the inverse of a matrix with equal rows or columns")
    front, rest = _scalars(t)
    ((m, c),) = v.as_factor(rest).terms.items()
    if len(m) != 1 or m[0][2] != 1:
        labels = tuple(sorted((a, b)))
        base, places = v.settled("sum", "", (v.Tensor({m: Fraction(1)}),), labels)
        m = ((base, places, Fraction(1)),)
    core, places, _ = m[0]
    inner = v.factor(core, tuple((x[0], i) for i, x in enumerate(places)))
    made = v.base("matrix", "inv", (inner,), (a[0], a[0]))
    turned = tuple(b if x == a else a for x in places[::-1])
    return v.mul(v.power(front, Fraction(-1)), v.factor_scaled(made, turned, 1 / c))


def _scalars(t: v.Tensor) -> tuple[v.Tensor, v.Tensor]:
    """(s, r) with t = s*r, where s holds the scalars that all terms share."""
    if len(t.terms) != 1:
        return v.UNIT, t
    ((m, c),) = t.terms.items()
    front = [f for f in m if not f[1]]
    rest = [f for f in m if f[1]]
    if not front or not rest:
        return v.UNIT, t
    return v.product(front, Fraction(1), ()), v.product(rest, c, v.bound_of(rest))


def _diagonal(m: v.Monomial, c: Fraction, a: v.Label, b: v.Label) -> v.Tensor | None:
    """The inverse of c*diag(u)."""
    if not any(f[0].kind == "delta" and set(f[1]) == {a, b} for f in m):
        return None
    rest = [f for f in m if f[0].kind != "delta"]
    if any(len(f[1]) > 1 for f in rest):
        return None
    u = v.product(rest, c, ())
    return v.mul(v.power(u, Fraction(-1)), v.delta(a, b))


def _split(m: v.Monomial, c: Fraction, a: v.Label, b: v.Label) -> v.Tensor | None:
    """The inverse of a product of square matrices: theirs, in reverse order."""
    scalars = [f for f in m if not f[1]]
    left = [f for f in m if f[1]]
    if any(len(i) != 2 or e != 1 or i[0][0] != a[0] or i[1][0] != a[0] for _, i, e in left):
        return None
    if len(left) == 1 and left[0][0].name == "inv" and left[0][0].kind == "matrix":
        core = left[0][0].args[0]
        found = v.place(core, tuple(b if x == a else a for x in left[0][1][::-1]))
        return v.mul(v.power(v.product(scalars, c, ()), Fraction(-1)), found)
    if len(left) < 2:
        return None
    at, path = a, [a]
    rest = list(left)
    while rest:
        here = [f for f in rest if at in f[1]]
        if len(here) != 1:
            return None
        rest.remove(here[0])
        i = here[0][1]
        at = i[1] if i[0] == at else i[0]
        path.append(at)
    if at != b or len(set(path)) != len(path):
        return None
    names = {a: b, b: a}
    found = v.power(v.product(scalars, c, ()), Fraction(-1))
    factors: list = []
    for core, idx, _ in left:
        p, q = (names.get(x, x) for x in idx)
        inner = v.factor(core, ((a[0], 0), (a[0], 1)))
        if core.kind == "matrix" and core.name == "inv":
            ((whole, one),) = v.place(core.args[0], (q, p)).terms.items()
            if one != 1:
                return None
            factors += whole
        else:
            factors.append((v.base("matrix", "inv", (inner,), (a[0], a[0])), (q, p), Fraction(1)))
    return v.mul(found, v.product(factors, Fraction(1), v.bound_of(factors)))


def of_matrix(name: str, t: v.Tensor, a: v.Label, b: v.Label) -> v.Tensor:
    """det, logdet, logabsdet or detsign of a tensor over two labels: a scalar base."""
    if name in ("det", "logdet", "logabsdet") and len(t.terms) == 1:
        ((m, c),) = t.terms.items()
        if c == 1 and len(m) == 1:
            base, _, e = m[0]
            if base.kind == "delta":
                return v.UNIT if name == "det" else v.ZERO
            if base.kind == "matrix" and base.name == "inv" and e == 1:
                inner = of_matrix(name, base.args[0], (a[0], 0), (a[0], 1))
                return v.power(inner, Fraction(-1)) if name == "det" else v.scale(inner, -1)
    if name in ("det", "logdet", "logabsdet"):
        both = kronecker(t, a, b)
        if both is not None and both.number.number() == 1:
            return _of_kronecker(name, both)
    local = v.relabel(t, {a: (a[0], 0), b: (b[0], 1)})
    turned = v.relabel(t, {a: (a[0], 1), b: (b[0], 0)})
    if not v.known("matrix", name, (local,), ()) and v.known("matrix", name, (turned,), ()):
        local = turned
    return v.factor(v.base("matrix", name, (local,)))


def _of_kronecker(name: str, both: Kronecker) -> v.Tensor:
    """det, or the logarithm of its size, of kron(A, B): of which each is at home in both factors.

    Of logarithms that of the absolute value is taken: det(A) < 0 and det(B) < 0 may go together.
    """
    found = []
    for (t, a, b), (_, i, _) in ((both.left, both.right), (both.right, both.left)):
        count = v.size(i[0])
        if name == "det":
            found.append(powered(of_matrix(name, t, a, b), count))
        else:
            found.append(v.mul(count, of_matrix("logabsdet", t, a, b)))
    return v.mul(*found) if name == "det" else v.add(*found)


def _stack(name: str, x: Symbol) -> Symbol:
    """An inverse or a determinant of each matrix of a stack."""
    x = apart(x)
    labels: Any = x.axes
    free = x.tensor.free()
    if None in labels or labels[-1][0] != labels[-2][0] or any(map(v.is_hidden, free)):
        raise no_closed_form(f"`{name}` of what are no square matrices")
    if not set(labels) <= set(free):
        raise no_closed_form(f"`{name}` of a matrix that is repeated, or has equal rows or columns")
    local = v.relabel(x.tensor, {a: (a[0], i) for i, a in enumerate(labels)})
    axes = tuple(v.fresh(a[0]) for a in (labels if name == "inv" else labels[:-2]))
    made = v.base("matrix", name, (local,), tuple(a[0] for a in axes))
    return Symbol(v.factor(made, axes), axes)


@operation("inv")
def inv(x: Symbol) -> Symbol:
    """The inverse. Raises a fault (E0701) for what is no square matrix."""
    if len(x.axes) > 2:
        return _stack("inv", x)
    t, a, b = square(x, "inv")
    return Symbol(inverse(t, a, b), (a, b))


def _determinant(name: str, x: Symbol) -> Symbol:
    return _stack(name, x) if len(x.axes) > 2 else Symbol(of_matrix(name, *square(x, name)))


for _name in ("det", "logdet", "logabsdet", "detsign"):
    operation(_name)(partial(_determinant, _name))


@operation("adjugate")
def adjugate(x: Symbol) -> Symbol:
    """det(x)*inv(x), which holds where x is regular."""
    scale = OPERATION["det"](x)
    return mul(Symbol(scale.tensor, (*scale.axes, None, None)), inv(x))


operation("solve")(lambda x, y: matmul(inv(x), y))


@operation("contract")
def contract(x: Symbol, y: Symbol, labels: str = "") -> Symbol:
    """One step of an einsum: letters that meet are one label, what is not kept is summed."""
    left, _, out = labels.partition("->")
    names: dict[str, Any] = {}
    tensors = []
    for s, letters in zip((x, y), left.split(","), strict=True):
        moved = {}
        for letter, axis in zip(letters, s.axes, strict=True):
            if axis is None:
                raise no_closed_form("einsum over a dimension of size 1")
            label = names.setdefault(letter, v.fresh(axis[0]))
            if label[0] != axis[0]:
                raise no_closed_form(f"einsum over dimensions {label[0]} and {axis[0]}")
            if axis in moved:
                raise no_closed_form("einsum of a diagonal")
            moved[axis] = label
        tensors.append(v.relabel(s.tensor, moved))
    gone = [label for letter, label in names.items() if letter not in out]
    return Symbol(v.contract(v.mul(*tensors), gone), tuple(names[c] for c in out))
