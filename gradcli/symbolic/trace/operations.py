"""What the operators do to symbols: arithmetic, products, sums, extremes and shapes, by index.

Nothing here knows a derivative. An operator that is not here is an elementwise call or has no
closed form. The largest and smallest entries and products over axes are bases over a body,
which has local labels of the axes that stay and labels from ``GONE`` on for those reduced.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from gradcli.ops.dims import normal_dim, normal_dims
from gradcli.symbolic.expr import elementwise, selectors
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.elementwise import applied, share
from gradcli.symbolic.simplify.coincidence import in_order, marks_one
from gradcli.symbolic.trace.symbol import (
    Symbol,
    aligned,
    as_symbol,
    call,
    dimension_of,
    in_a_rule,
    operation,
    ties,
)
from gradcli.symbolic.unsupported import no_closed_form

# ---- Arithmetic ----------------------------------------------------------------------------------


def _entrywise(combine: Callable[[v.Tensor, v.Tensor], v.Tensor]) -> Any:
    """What makes one of two tensors over common labels, where axes broadcast."""

    def combined(x: Symbol, y: Symbol) -> Symbol:
        (a, b), axes = aligned((x, y))
        return Symbol(combine(a, b), axes)

    return combined


# A difference is a sum with a coefficient, a quotient a product with an exponent.
add = operation("add")(_entrywise(v.add))
sub = operation("sub")(lambda x, y: add(x, -y))
operation("neg")(lambda x: -x)
mul = operation("mul", "along")(_entrywise(v.mul))
div = operation("div")(_entrywise(lambda a, b: v.mul(a, v.power(b, Fraction(-1)))))


@operation("add_scaled")
def add_scaled(x: Symbol, y: Symbol, alpha: Any = 1) -> Symbol:
    """x + alpha*y, for a number or a scalar alpha."""
    return add(x, mul(as_symbol(alpha), y))


operation("addcmul")(lambda x, y, z, value=1: add_scaled(x, mul(y, z), value))


@operation("pow")
def pow(x: Symbol, y: Symbol) -> Symbol:
    """An exponent of the base where y is one number of modest size, else a call."""
    exponent = y.number()
    if exponent is not None and abs(exponent) < 10**6 and exponent.denominator < 100:
        if not y.axes:
            return Symbol(v.power(x.tensor, exponent), x.axes)
        return _entrywise(lambda a, _: v.power(a, exponent))(x, y)
    return _entrywise(elementwise.powered)(x, y)


def _power(exponent: Fraction) -> Any:
    return lambda x: Symbol(v.power(x.tensor, exponent), x.axes)


operation("sqrt")(_power(Fraction(1, 2)))
operation("rsqrt")(_power(Fraction(-1, 2)))
operation("square")(_power(Fraction(2)))
operation("reciprocal")(_power(Fraction(-1)))
operation("conj", "real")(lambda x: x)
operation("clone")(lambda x, memory_format: x)
operation("zeros_like")(lambda x: Symbol(v.ZERO, x.axes))
operation("ones_like")(lambda x: Symbol(v.UNIT, x.axes))

# ---- Sums and products ---------------------------------------------------------------------------


def _reduced(x: Symbol, dim: Any, keepdim: bool) -> tuple[list[Any], Any]:
    """The labels that a reduction runs over, and the axes that it leaves."""
    dims = normal_dims(dim, len(x.axes))
    gone = [x.axes[d] for d in dims if x.axes and x.axes[d] is not None]
    if keepdim:
        return gone, tuple(None if i in dims else a for i, a in enumerate(x.axes))
    return gone, tuple(a for i, a in enumerate(x.axes) if i not in dims)


def apart(x: Symbol) -> Symbol:
    """The symbol with distinct, fresh labels (a diagonal may use one twice)."""
    if not x.axes:
        return x
    names = {a: v.fresh(a[0]) for a in x.axes if a is not None}
    axes = tuple([None if a is None else names[a] for a in x.axes])
    return Symbol(v.relabel(x.tensor, names), axes)


@operation("sum")
def sum(x: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
    """The labels of the dimensions are summed over: all dimensions where ``dim`` is None."""
    gone, axes = _reduced(x, dim, keepdim)
    if in_a_rule() and marks_one(x.tensor, gone):
        ties.seen.add("one")
        return Symbol(v.UNIT, axes)
    return Symbol(v.contract(x.tensor, gone), axes)


@operation("mean")
def mean(x: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
    """The sum divided by the sizes that it runs over."""
    gone, axes = _reduced(x, dim, keepdim)
    found = v.contract(x.tensor, gone)
    for label in gone:
        found = v.mul(found, v.power(v.size(label[0]), Fraction(-1)))
    return Symbol(found, axes)


def _count(labels: Sequence[Any]) -> v.Tensor:
    """How many entries these labels run over."""
    return functools.reduce(v.mul, (v.size(label[0]) for label in labels), v.UNIT)


centred = operation("centred")(lambda x, dim=None: sub(x, mean(x, dim, True)))


@operation("var")
def var(x: Symbol, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Symbol:
    """The mean square distance from the mean, over n - correction."""
    total = sum(_power(Fraction(2))(centred(x, dim)), dim, keepdim)
    return div(total, sub(Symbol(_count(_reduced(x, dim, False)[0])), as_symbol(correction)))


operation("std")(lambda x, **options: _power(Fraction(1, 2))(var(x, **options)))


@operation("norm")
def norm(x: Symbol, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Symbol:
    """The root of a sum of squares, for p = 1 a sum of abs; see ``p_norm``."""
    if p in (2, "fro", None):
        return _power(Fraction(1, 2))(sum(_power(Fraction(2))(x), dim, keepdim))
    if p == 1:
        return sum(call("abs", [x]), dim, keepdim)
    return p_norm(x, p, dim, keepdim)


@operation("logsumexp")
def logsumexp(x: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
    """log(sum(exp(x))), as written: the printers find its name again."""
    return call("log", [sum(call("exp", [x]), dim, keepdim)])


@operation("softmax")
def softmax(x: Symbol, dim: Any = -1) -> Symbol:
    """exp(x)/sum(exp(x)), by its name."""
    found = share("softmax", x.tensor, (x.axes[dim],))
    if found is None:
        return call("exp", [log_softmax(x, dim)])
    return Symbol(found, x.axes)


@operation("log_softmax")
def log_softmax(x: Symbol, dim: Any = -1) -> Symbol:
    """x - logsumexp(x), by its name."""
    found = share("log_softmax", x.tensor, (x.axes[dim],))
    return add(x, -logsumexp(x, dim, True)) if found is None else Symbol(found, x.axes)


def _broadcast(left: tuple, right: tuple) -> tuple:
    """Leading axes of both, with one label where they meet."""
    rank = max(len(left), len(right))
    one, two = ((None,) * (rank - len(t)) + t for t in (left, right))
    return tuple(b if a is None else a for a, b in zip(one, two, strict=True))


@operation("matmul")
def matmul(x: Symbol, y: Symbol) -> Symbol:
    """The product of matrices and vectors; leading dimensions broadcast.

    Raises a fault (E0701) for scalars and for inner sizes that differ.
    """
    if not x.axes or not y.axes:
        raise no_closed_form("a product of scalars by @")
    x, y = apart(x), apart(y)
    left, right = x.axes[-1], y.axes[-2 if len(y.axes) > 1 else 0]
    lead = x.axes[:-2] if len(x.axes) > 1 else ()
    if len(y.axes) > 2:
        same: dict = {}
        front = y.axes[:-2]
        for i in range(1, min(len(lead), len(front)) + 1):
            if lead[-i] is not None and front[-i] is not None:
                same[front[-i]] = lead[-i]
        y = Symbol(v.relabel(y.tensor, same), tuple(same.get(a, a) for a in y.axes))
        lead = _broadcast(lead, y.axes[:-2])
    axes = (
        *lead, *(x.axes[-2:-1] if len(x.axes) > 1 else ()),
        *(y.axes[-1:] if len(y.axes) > 1 else ()),
    )  # fmt: skip
    if left is None or right is None:
        return Symbol(v.mul(x.tensor, y.tensor), axes)
    if left[0] != right[0]:
        raise no_closed_form(f"a product over dimensions {left[0]} and {right[0]}")
    joined = v.mul(x.tensor, v.relabel(y.tensor, {right: left}))
    return Symbol(v.contract(joined, [left]), axes)


@operation("dot")
def dot(x: Symbol, y: Symbol) -> Symbol:
    """The sum of products entry by entry."""
    (a, b), axes = aligned((x, y))
    return Symbol(v.contract(v.mul(a, b), [x for x in axes if x is not None]))


@operation("outer")
def outer(x: Symbol, y: Symbol) -> Symbol:
    """x[i]*y[j]: the labels of both, side by side."""
    x, y = apart(x), apart(y)
    return Symbol(v.mul(x.tensor, y.tensor), (*x.axes, *y.axes))


@operation("trace")
def trace(x: Symbol) -> Symbol:
    """The sum over the diagonal. Raises a fault (E0701) for a matrix that is not square."""
    x = apart(x)
    a, b = x.axes
    if a is None or b is None or a[0] != b[0]:
        raise no_closed_form("the trace of a matrix that is not square")
    return Symbol(v.contract(v.relabel(x.tensor, {b: a}), [a]))


# ---- Shapes --------------------------------------------------------------------------------------


operation("reverse_dims")(lambda x: x.T)
operation("mT")(lambda x: transpose(x, -2, -1))


@operation("transpose")
def transpose(x: Symbol, dim0: int = -2, dim1: int = -1) -> Symbol:
    """Two axes exchanged; the formula stays, as labels name its entries."""
    axes = list(x.axes)
    if axes:
        i, j = normal_dim(dim0, len(axes)), normal_dim(dim1, len(axes))
        axes[i], axes[j] = axes[j], axes[i]
    return Symbol(x.tensor, tuple(axes))


@operation("permute")
def permute(x: Symbol, dims: Any = ()) -> Symbol:
    """Axes in another order; the formula stays, as labels name its entries."""
    return Symbol(x.tensor, tuple(x.axes[d] for d in normal_dims(dims, len(x.axes))))


@operation("expand")
def expand(x: Symbol, shape: Any = ()) -> Symbol:
    """Axes of size 1 get a label that the terms do not mention: broadcasting."""
    lead = len(shape) - len(x.axes)
    axes: list[Any] = []
    for i, entry in enumerate(shape):
        have = x.axes[i - lead] if i >= lead else None
        dimension = None if have is not None or entry == -1 else dimension_of(entry)
        axes.append(have if dimension is None else v.fresh(dimension))
    return Symbol(x.tensor, tuple(axes))


@operation("squeeze")
def squeeze(x: Symbol, dim: Any = None) -> Symbol:
    """Without axes of size 1, or without those among ``dim``."""
    dims = normal_dims(dim, len(x.axes))
    return Symbol(
        x.tensor, tuple(a for i, a in enumerate(x.axes) if a is not None or i not in dims)
    )


@operation("unsqueeze")
def unsqueeze(x: Symbol, dim: int = 0) -> Symbol:
    """With an axis of size 1 at ``dim``."""
    place = normal_dim(dim, len(x.axes) + 1)
    return Symbol(x.tensor, (*x.axes[:place], None, *x.axes[place:]))


@operation("diagonal")
def diagonal(x: Symbol) -> Symbol:
    """The diagonals of the last two axes: both get one label.

    Raises a fault (E0701) where the sizes differ.
    """
    x = apart(x)
    a, b = x.axes[-2:]
    if a is None or b is None or a[0] != b[0]:
        raise no_closed_form("the diagonal of a matrix that is not square")
    return Symbol(v.relabel(x.tensor, {b: a}), (*x.axes[:-2], a))


@operation("undiagonal")
def undiagonal(x: Symbol, shape: Any = ()) -> Symbol:
    """A vector on the diagonal: times delta. Raises a fault (E0701) for any other shape."""
    x = apart(x)
    if len(x.axes) != 1 or x.axes[0] is None or shape[0] != shape[1]:
        raise no_closed_form("a diagonal matrix that is not square")
    a: Any = x.axes[0]
    other = v.fresh(a[0])
    return Symbol(v.mul(x.tensor, v.delta(a, other)), (a, other))


GONE = 700
"""The first of the local labels that a body is reduced over."""


def _end_of_sorted(name: str, x: Symbol, gone: list[Any]) -> v.Tensor | None:
    """The largest or smallest of values in order, such as eigenvalues: the first or last entry."""
    way = in_order(x.tensor)
    if not way or len(gone) != 1 or name not in ("amax", "amin"):
        return None
    picked = selectors.entry(gone[0][0], -1 if (way > 0) == (name == "amax") else 0)
    return v.contract(v.distribute(x.tensor, v.factor(picked, (gone[0],))), gone)


def _over(name: str, x: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
    """The largest or smallest entry, or the product, over dimensions.

    An extreme is x itself where it is the same along all of them, a product then a power.
    """
    x = apart(x)
    gone, axes = _reduced(x, dim, keepdim)
    end = _end_of_sorted(name, x, gone)
    if end is not None:
        return Symbol(end, axes)
    before = v.before_join([x.tensor]) if len(gone) == 1 else None
    if before is not None and before[1][0] == gone[0]:  # of all entries, in whatever order
        _, labels, (body,) = before
        x, gone = Symbol(body, x.axes), list(labels[1:])
    free = x.tensor.free()
    v.refuse_hidden(free, name)
    missing = [label for label in gone if label not in free]
    if name == "prod" and missing:  # of one entry n times
        x = Symbol(elementwise.powered(x.tensor, _count(missing)), x.axes)
        free = x.tensor.free()
    gone = [label for label in gone if label in free]
    if not gone:
        return Symbol(x.tensor, axes)
    stay = [label for label in free if label not in gone]
    local = {label: (label[0], i) for i, label in enumerate(stay)}
    local |= {label: (label[0], GONE + i) for i, label in enumerate(gone)}
    body = v.relabel(x.tensor, local)
    base = v.base("reduce", name, (body,), tuple(label[0] for label in stay))
    return Symbol(v.factor(base, tuple(stay)), axes)


operation("amax")(functools.partial(_over, "amax"))
operation("amin")(functools.partial(_over, "amin"))


@operation("prod")
def prod(x: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
    """Raises a fault (E0701) over several dimensions where one stays."""
    if 1 < len(normal_dims(dim, len(x.axes))) < len(x.axes):
        raise no_closed_form("`prod` over several dimensions, with one that stays")
    return _over("prod", x, dim, keepdim)


# The product over what is left out: right where that is not 0.
operation("prod_others")(lambda x: div(prod(x, -1, True), x))


def p_norm(x: Symbol, p: Any, dim: Any, keepdim: bool) -> Symbol:
    """The p-norm for p other than 1 and 2."""
    size = call("abs", [x])
    if p in (float("inf"), float("-inf")):
        return _over("amax" if p > 0 else "amin", size, dim, keepdim)
    if isinstance(p, str) or p == 0:
        raise no_closed_form(f"`norm` with p = {p}")
    exponent = Fraction(repr(p))
    return _power(1 / exponent)(sum(_power(exponent)(size), dim, keepdim))


# ---- Special functions of whole orders -----------------------------------------------------------


@operation("polygamma")
def polygamma(x: Symbol, n: int = 1) -> Symbol:
    """The derivative of order n of digamma."""
    return Symbol(applied("polygamma", [v.number(n), x.tensor]), x.axes)


def _bessel(family: str, first: str, second: str, sign: int) -> None:
    """A family by the names of its orders 0 and 1, and the sign of its recurrence."""

    @operation(family)
    def bessel(x: Symbol, n: int = 0) -> Symbol:
        """I(n+1) = I(n-1) - 2n/x*I(n), J(n+1) = 2n/x*J(n) - J(n-1): DLMF 10.29.1, 10.6.1."""
        low, high = applied(first, [x.tensor]), applied(second, [x.tensor])
        if not n:
            return Symbol(low, x.axes)
        for k in range(1, n):
            step = v.scale(v.mul(v.power(x.tensor, Fraction(-1)), high), 2 * k * sign)
            low, high = high, v.add(v.scale(low, -sign), step)
        return Symbol(high, x.axes)


_bessel("bessel_i", "i0", "i1", -1)
_bessel("bessel_ie", "i0e", "i1e", -1)
_bessel("bessel_j", "bessel_j0", "bessel_j1", 1)


@operation("sinc_slope")
def sinc_slope(x: Symbol, n: int = 1, unit: float = math.pi) -> Symbol:
    """x*f(n) + n*f(n-1) is the derivative of order n of sin(unit*x)/unit, for f = sinc or j0."""
    scale = v.UNIT if unit == 1 else v.factor(v.base("constant", "pi"))
    angle = v.mul(scale, x.tensor)
    waves = [applied("sin", [angle]), applied("cos", [angle])]
    found = applied("spherical_bessel_j0" if unit == 1 else "sinc", [x.tensor])
    for k in range(1, n + 1):
        wave = v.scale(waves[k % 2], (1, 1, -1, -1)[k % 4])
        top = v.add(v.mul(v.power(scale, Fraction(k - 1)), wave), v.scale(found, -k))
        found = v.mul(v.power(x.tensor, Fraction(-1)), top)
    return Symbol(found, x.axes)
