"""Functions of a matrix of symbols: decompositions, roots, logarithms, the pseudoinverse.

Each is a base over its argument. What cancels, orthogonal vectors and functions of one matrix that
commute, stands in ``expr.spectral``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.sizes import smaller
from gradcli.symbolic.trace.matrices import square
from gradcli.symbolic.trace.operations import apart
from gradcli.symbolic.trace.symbol import OPERATION, Symbol, in_a_rule, operation
from gradcli.symbolic.unsupported import no_closed_form


class Parts(Symbol):
    """What a decomposition gives: several formulas, of which a step takes one."""

    __slots__ = ("__gradcli_parts__",)

    def __init__(self, parts: Sequence[Symbol]) -> None:
        super().__init__(v.ZERO)
        self.__gradcli_parts__ = tuple(parts)


Symbol.__gradcli_packed__ = staticmethod(Parts)  # type: ignore[attr-defined]


def _whole(t: v.Tensor, a: v.Label, b: v.Label) -> tuple[v.Tensor, v.Label, v.Label]:
    """The matrix as it is. Raises a fault (E0701) where all of its rows or columns are one."""
    if not {a, b} <= set(t.free()):
        raise no_closed_form("a function of a matrix with equal rows or columns")
    return t, a, b


def _function(name: str, x: Symbol) -> Symbol:
    """A function that turns with its square argument: f(x.T) is f(x).T."""
    t, a, b = _whole(*square(x, name))
    found, places = v.settled("matrix", name, (t,), (a, b))
    return Symbol(v.factor(found, places), (a, b))


def _along(name: str, *given: Symbol) -> Symbol:
    """A derivative along a matrix: a base over the two labels of each, which is linear.

    Its last argument is the derivative of the function itself, for what commutes with x.
    """
    *fixed, y = given
    inner = [_whole(*square(x, name)) for x in fixed]
    args = [v.relabel(t, {a: (a[0], 0), b: (b[0], 1)}) for t, a, b in inner]
    if args[0] == args[-1]:
        slope: Any = OPERATORS[name].slope
        f = slope(fixed[0])
        args.append(v.relabel(f.tensor, {x: (x[0], i) for i, x in enumerate(f.axes)}))
    y = apart(y)
    if None in y.axes or len(y.axes) != 2:
        raise no_closed_form(f"`{name}` of what is no square matrix")
    i, j = y.axes
    a, b = v.fresh(i[0]), v.fresh(j[0])  # type: ignore[index]
    made = v.base("matrix", name, tuple(args), (a[0], b[0], a[0], b[0]))
    along = v.factor(made, (a, b, i, j))  # type: ignore[arg-type]
    return Symbol(v.contract(v.distribute(along, y.tensor), [i, j]), (a, b))  # type: ignore[list-item]


for _op in list(OPERATORS.values()):
    if _op.slope is not None and _op.kind == "general":
        operation(_op.name)(partial(_along, _op.name))
    elif _op.transposes and _op.core == "(n,n)->(n,n)" and _op.name not in OPERATION:
        operation(_op.name)(partial(_function, _op.name))


def _symmetric(x: Symbol, name: str, any_matrix: bool = True) -> tuple[v.Tensor, str]:
    """A matrix over the labels 0 and 1; one that is not symmetric counts as (x + x.T)/2."""
    t, a, b = _whole(*square(x, name))
    turned = v.relabel(t, {a: b, b: a})
    whole = t if turned == v.add(t) else v.scale(v.add(t, turned), Fraction(1, 2))
    if whole is not t and not any_matrix:
        raise no_closed_form(f"`{name}` of what is not declared or seen to be symmetric")
    return v.relabel(whole, {a: (a[0], 0), b: (b[0], 1)}), a[0]


def _made(name: Any, t: v.Tensor, *dims: str) -> Symbol:
    axes = tuple(v.fresh(d) for d in dims)
    return Symbol(v.factor(v.base("matrix", name, (t,), dims), axes), axes)


@operation("cholesky")
def cholesky(x: Symbol) -> Symbol:
    """The factor of a symmetric matrix; another one counts as (x + x.T)/2."""
    t, n = _symmetric(x, "cholesky")
    return _made("cholesky", t, n, n)


operation("eigvalsh")(lambda x: _made("eigvalsh", *_symmetric(x, "eigvalsh")))


@operation("eigh_parts")
def eigh(x: Symbol, checked: bool = False) -> Symbol:
    """Eigenvalues and eigenvectors of a symmetric matrix."""
    t, n = _symmetric(x, "eigh", in_a_rule())
    return Parts([_made("eigvalsh", t, n), _made(("eigh_parts", 1), t, n, n)])


def _matrix(x: Symbol, name: str) -> tuple[v.Tensor, str, str]:
    """A matrix over the labels 0 and 1, and its sizes."""
    x = apart(x)
    if len(x.axes) != 2 or None in x.axes:
        raise no_closed_form(f"`{name}` of what is no matrix")
    v.refuse_hidden(x.tensor.free(), name)
    local: Any = {a: (a[0], i) for i, a in enumerate(x.axes) if a is not None}
    (m, _), (n, _) = local
    _whole(x.tensor, *local)
    return v.relabel(x.tensor, local), m, n


@operation("svdvals")
def svdvals(x: Symbol) -> Symbol:
    """The singular values."""
    t, m, n = _matrix(x, "svdvals")
    return _made("svdvals", t, smaller(m, n))


@operation("svd_parts")
def svd(x: Symbol, checked: bool = False) -> Symbol:
    """U, the singular values and V'."""
    t, m, n = _matrix(x, "svd")
    k = smaller(m, n)
    vectors = _made(("svd_parts", 0), t, m, k), _made(("svd_parts", 2), t, k, n)
    return Parts([vectors[0], _made("svdvals", t, k), vectors[1]])


@operation("qr_parts")
def qr(x: Symbol) -> Symbol:
    """Q and R of a matrix that is not wide."""
    t, m, n = _matrix(x, "qr")
    return Parts([_made(("qr_parts", 0), t, m, n), _made(("qr_parts", 1), t, n, n)])


@operation("pinv")
def pinv(x: Symbol, rtol: float | None = None, atol: float = 0.0) -> Symbol:
    """The pseudoinverse, of a transpose the transposed one."""
    if rtol is not None or atol:
        raise no_closed_form("`pinv` with a tolerance")
    t, m, n = _matrix(x, "pinv")
    turned = v.relabel(t, {(m, 0): (m, 1), (n, 1): (n, 0)})
    if v.known("matrix", "pinv", (turned,), (m, n)):
        found = _made("pinv", turned, m, n)
        return Symbol(found.tensor, found.axes[::-1])
    return _made("pinv", t, n, m)
