"""Relations between functions that run over a whole sum: squares, angles, exponentials.

Each change is an identity wherever both sides are defined, and is offered as a candidate: whether
it is used is decided by the length of the text.
"""

from __future__ import annotations

from fractions import Fraction

from gradcli.symbolic import calls
from gradcli.symbolic import value as v
from gradcli.symbolic.algebra import inside_groups, replaced
from gradcli.symbolic.calls import applied

_ONE = Fraction(1)


def is_call(b: v.Base, *names: str) -> bool:
    """Whether a base is a call of one of these operators."""
    return b.kind == "call" and b.name in names


def call(name: str, like: v.Base, labels: tuple, argument: v.Tensor | None = None) -> list:
    """A call with the argument of another call, as factors at its labels."""
    made = applied(name, (like.args[0] if argument is None else argument,))
    terms = list(made.terms.items())
    if len(terms) != 1 or terms[0][1] != 1 or len(terms[0][0]) != 1:
        b, idx = (
            v.base("call", name, like.args if argument is None else (argument,), like.dims),
            labels,
        )
        return [(b, idx, _ONE)]
    b, idx, e = terms[0][0][0]
    at = {(d, k): x for k, (d, x) in enumerate(zip(like.dims, labels, strict=True))}
    return [(b, tuple(at[x] for x in idx), e)]


# ---- Squares and angles --------------------------------------------------------------------------


def squares_exchanged(t: v.Tensor, gone: str, stays: str, sign: int) -> v.Tensor | None:
    """Every gone**2 as 1 + sign*stays**2 (sinh**2: stays**2 - 1); None where there is none."""
    found = []
    changed = False
    for m, c in t.terms.items():
        whole = v.UNIT
        kept = []
        for b, i, e in m:
            if is_call(b, gone) and e >= 2 and e.denominator == 1 and not v.bound_of([(b, i, e)]):
                changed = True
                other = call(stays, b, i)
                square = v.product([(*f[:2], Fraction(2)) for f in other], _ONE, ())
                if gone == "sinh":
                    unit = v.add(square, v.number(-1))
                else:
                    unit = v.add(v.UNIT, v.scale(square, sign))
                for _ in range(int(e) // 2):
                    whole = v.distribute(whole, unit)
                if e % 2:
                    kept.append((b, i, _ONE))
            else:
                kept.append((b, i, e))
        found.append(v.distribute(v.product(kept, c, v.bound_of(m)), whole))
    return v.add(*found) if changed else None


_UNDER_ROOTS = {
    "sin": (1, -1, "cos", 2), "cos": (1, -1, "sin", 2), "tan": (1, 1, "cos", -2),
    "tanh": (1, -1, "cosh", -2), "sinh": (1, 1, "cosh", 2), "cosh": (-1, 1, "sinh", 2),
}  # fmt: skip
"""f -> a, b, g, k where a + b*f**2 is g**k."""


def roots_named(t: v.Tensor) -> v.Tensor:
    """sqrt(1 - tanh(u)**2) as 1/cosh(u), sqrt(1 - cos(u)**2) as abs(sin(u))."""

    def change(u: v.Tensor) -> v.Tensor:
        found = []
        for m, c in u.terms.items():
            kept, term = [], v.UNIT
            for b, i, e in m:
                square = _square(b) if e.denominator > 1 and b.kind == "sum" else None
                if square is None or v.bound_of([(b, i, e)]):
                    kept.append((b, i, e))
                else:
                    term = v.mul(term, v.power(v.place(square, i), e))
            found.append(v.mul(v.product(kept, c, v.bound_of(kept)), term))
        return v.add(*found)

    return inside_groups(t, change, True)


def _square(b: v.Base) -> v.Tensor | None:
    """The one square that a group of 1 and another square is; None where it is none."""
    terms = dict(b.args[0].terms)
    unit = terms.pop((), None)
    if len(terms) != 1:
        return None
    ((m, c),) = terms.items()
    f, i, e = m[0]
    if len(m) > 1 or e != 2 or not is_call(f, *_UNDER_ROOTS):
        return None
    *wanted, name, k = _UNDER_ROOTS[f.name]
    if wanted != [unit, c]:
        return None
    return v.product([(*g[:2], g[2] * k) for g in call(name, f, i)], _ONE, ())


def double_angles(t: v.Tensor) -> list[v.Tensor]:
    """sin*cos as sin(2u)/2, cos**2 - sin**2 and 2*cos**2 - 1 as cos(2u); hyperbolic ones too.

    The other way too: 1 - cos(2u) as 2*sin(u)**2.
    """
    seen = {t.key}
    forms = []
    for changes in (
        (_doubled_squares,),
        (_doubled_products,),
        (_doubled_squares, _doubled_products, _doubled_products),
        (_halved,),
    ):
        found = t
        for change in changes:
            found = inside_groups(found, change)
        if found.key not in seen:
            seen.add(found.key)
            forms.append(found)
    return forms


_PAIRS = {"sin": "cos", "sinh": "cosh"}


def _doubled_products(t: v.Tensor) -> v.Tensor:
    found = []
    for m, c in t.terms.items():
        factors = {(b, i): e for b, i, e in m}
        extra: list[tuple] = []
        for b, i, e in m:
            if not is_call(b, *_PAIRS) or e.denominator != 1 or v.bound_of([(b, i, e)]):
                continue
            other = call(_PAIRS[b.name], b, i)[0][:2]
            if factors.get(other) == e:
                del factors[other], factors[b, i]
                c = c / 2 ** int(e) if e > 0 else c * 2 ** int(-e)
                extra += [(*f[:2], f[2] * e) for f in call(b.name, b, i, v.scale(b.args[0], 2))]
        whole = [(b, i, e) for (b, i), e in factors.items()]
        found.append(v.product([*whole, *extra], c, v.bound_of(m)))
    return v.add(*found)


_SQUARES = {
    "cos": ("sin", -1, Fraction(-1, 2), 1), "cosh": ("sinh", 1, Fraction(-1, 2), 1),
    "sin": (None, 0, Fraction(-1, 2), -1), "sinh": (None, 0, Fraction(1, 2), 1),
}  # fmt: skip
"""f -> its partner with the ratio of the partner's square, that of a plain 1, and the sign.

cos**2 - sin**2 is cos(2u), cos**2 - 1/2 half of it.
"""


def _doubled_squares(t: v.Tensor) -> v.Tensor:
    terms = dict(t.terms)
    extra = []
    for m, c in t.terms.items():
        for b, i, e in m:
            if m not in terms or e != 2 or not is_call(b, *_SQUARES) or v.bound_of([(b, i, e)]):
                continue
            partner, ratio, unit, sign = _SQUARES[b.name]
            rest = [f for f in m if f[:2] != (b, i)]
            half = _ONE / 2
            other = next(iter(v.product(rest, _ONE, v.bound_of(rest)).terms))
            wanted = c * unit
            if partner is not None:
                square = [*rest, (*call(partner, b, i)[0][:2], e)]
                candidate = next(iter(v.product(square, _ONE, v.bound_of(rest)).terms))
                if terms.get(candidate) == c * ratio:
                    other, wanted, half = candidate, c * ratio, _ONE
            if terms.get(other) == wanted:
                del terms[m], terms[other]
                name = "cos" if b.name in ("sin", "cos") else "cosh"
                angle = call(name, b, i, v.scale(b.args[0], 2))
                extra.append(v.product([*rest, *angle], c * half * sign, v.bound_of(m)))
    return v.add(v.Tensor(terms), *extra) if extra else t


_HALVES = {("cos", -1): ("sin", 1), ("cos", 1): ("cos", 1), ("cosh", -1): ("sinh", -1),
           ("cosh", 1): ("cosh", 1)}  # fmt: skip
"""f and sign -> g and sign where 1 + sign*f(2u) is 2*sign*g(u)**2."""


def _halved(t: v.Tensor) -> v.Tensor:
    terms = dict(t.terms)
    extra = []
    for m, c in t.terms.items():
        for b, i, e in m:
            if m not in terms or e != 1 or not is_call(b, "cos", "cosh") or v.bound_of([(b, i, e)]):
                continue
            if any(k.denominator > 1 or k.numerator % 2 for k in b.args[0].terms.values()):
                continue
            rest = [f for f in m if f[:2] != (b, i)]
            ((other, _),) = v.product(rest, _ONE, v.bound_of(rest)).terms.items()
            if abs(terms.get(other, 0)) != abs(c):
                continue
            whole = terms[other]
            name, sign = _HALVES[b.name, 1 if whole == c else -1]
            half = [(*f[:2], f[2] * 2) for f in call(name, b, i, v.scale(b.args[0], _ONE / 2))]
            extra.append(v.product([*rest, *half], 2 * sign * whole, v.bound_of(m)))
            del terms[m], terms[other]
    return v.add(v.Tensor(terms), *extra) if extra else t


# ---- Exponentials --------------------------------------------------------------------------------


def hyperbolic(t: v.Tensor) -> v.Tensor:
    """c*exp(u) + c*exp(-u) as 2*c*cosh(u), with a minus as 2*c*sinh(u)."""
    terms = dict(t.terms)
    extra = []
    for m, c in list(terms.items()):
        for b, i, e in m:
            if m not in terms or not is_call(b, "exp") or e != 1 or v.bound_of(m):
                continue
            rest = [f for f in m if f[:2] != (b, i)]
            other = next(iter(v.product([*rest, (b, i, -_ONE)], _ONE, ()).terms))
            d = terms.get(other)
            if d is not None and abs(d) == abs(c):
                made = v.base("call", "cosh" if d == c else "sinh", b.args, b.dims)
                extra.append(v.product([*rest, (made, i, _ONE)], 2 * c, ()))
                del terms[m], terms[other]
    return v.add(v.Tensor(terms), *extra) if extra else t


def balanced(t: v.Tensor) -> v.Tensor:
    """Groups such as exp(2*u) - 1 as 2*exp(u)*sinh(u), with a plus as 2*exp(u)*cosh(u)."""

    def change(b: v.Base) -> v.Tensor | None:
        if b.kind != "sum" or len(b.args[0].terms) != 2:
            return None
        (m1, c1), (m2, c2) = b.args[0].sorted()
        if abs(c1) != abs(c2):
            return None
        ratio = v.product([*m1, *((f, i, -e) for f, i, e in m2)], _ONE, ())
        m = next(iter(ratio.terms), ())  # none where two conditions exclude each other
        if len(m) != 1 or not is_call(m[0][0], "exp") or v.bound_of([*m1, *m2]):
            return None
        exp, idx, k = m[0]
        if k < 0:
            (m1, c1), (m2, c2), k = (m2, c2), (m1, c1), -k
        half = v.scale(exp.args[0], Fraction(k) / 2)
        name = "cosh" if c1 == c2 else "sinh"
        middle = [*m2, (exp, idx, Fraction(k) / 2), *call(name, exp, idx, half)]
        return v.product(middle, 2 * c1, ())

    return replaced(t, change)


def powers_joined(t: v.Tensor) -> v.Tensor:
    """x**a*x**b as x**(a + b)."""

    def change(u: v.Tensor) -> v.Tensor:
        found = []
        for m, c in u.terms.items():
            same: dict[tuple, list] = {}
            for f in m:
                if is_call(f[0], "pow") and f[2].denominator == 1 and not v.bound_of([f]):
                    same.setdefault((f[0].args[0].key, f[1]), []).append(f)
            term = v.Tensor({m: c})
            for (_, idx), group in same.items():
                if len(group) > 1:
                    ((left, k),) = term.terms.items()
                    exponent = v.add(*(v.scale(b.args[1], e) for b, _, e in group))
                    made = calls.powered(group[0][0].args[0], exponent)
                    rest = v.product([f for f in left if f not in group], k, v.bound_of(m))
                    term = v.distribute(rest, v.place(made, idx))
                    if len(term.terms) != 1:
                        break
            found.append(term)
        return v.add(*found)

    return inside_groups(t, change)


def powers_named(t: v.Tensor) -> v.Tensor:
    """exp(y*log(x)) as x**y."""

    def change(b: v.Base) -> v.Tensor | None:
        if not is_call(b, "exp") or len(b.args[0].terms) != 1:
            return None
        ((m, c),) = b.args[0].terms.items()
        logs = [f for f in m if is_call(f[0], "log") and f[2] == 1]
        if len(logs) != 1 or v.bound_of(m):
            return None
        rest = v.product([f for f in m if f is not logs[0]], c, ())
        under = v.place(logs[0][0].args[0], logs[0][1])
        labels = tuple((d, i) for i, d in enumerate(b.dims))
        return v.factor(v.base("call", "pow", (under, rest), b.dims), labels)

    return replaced(t, change)


def logarithms_named(t: v.Tensor) -> v.Tensor:
    """log(1 + exp(u)) as softplus(u), log(exp(u) + exp(w)) as logaddexp(u, w)."""

    def change(b: v.Base) -> v.Tensor | None:
        if not is_call(b, "log") or len(b.args[0].terms) != 2:
            return None
        powers = [_exponent(m) for m, c in b.args[0].sorted() if c == 1]
        if len(powers) != 2 or None in powers:
            return None
        one, two = sorted(powers, key=lambda u: not u.terms)
        labels = tuple((d, i) for i, d in enumerate(b.dims))
        if not two.terms:
            return v.factor(v.base("call", "softplus", (one,), b.dims), labels)
        return v.factor(v.base("call", "logaddexp", (one, two), b.dims), labels)

    return replaced(t, change)


def _exponent(m: v.Monomial) -> v.Tensor | None:
    """u where a product is exp(u), 0 where it is 1."""
    if not m:
        return v.ZERO
    if not all(is_call(b, "exp") for b, _, _ in m) or v.bound_of(m):
        return None
    return v.add(*(v.scale(v.place(b.args[0], i), e) for b, i, e in m))
