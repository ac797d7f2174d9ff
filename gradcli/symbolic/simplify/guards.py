"""What conditions say about the product that they stand in.

    where(x == 0, 0, log(where(x == 0, 1, y)))   where(x == 0, 0, log(y))
    where(x <= 1, min(max(x, 0), 1), 0)   where(x <= 1, max(x, 0), 0)

Each holds wherever the derivative is defined: what stands beside a condition that does not hold is
not taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.algebra import in_each_term
from gradcli.symbolic.expr.elementwise import LOG_SHARES, SHARES, applied, indicator
from gradcli.symbolic.expr.identities import ORDERS
from gradcli.symbolic.simplify.relations import is_call

MOST_ROUNDS = 12
"""Changes of one term."""


@v.remembered
@in_each_term
def unguarded(m: v.Monomial, c: Fraction) -> v.Tensor:
    """What conditions settle settled: each term rearranged as long as one says something."""
    whole = v.Tensor({m: c})
    for _ in range(MOST_ROUNDS):
        new = _assumed(m, c)
        if new is None:
            break
        whole = new
        if len(whole.terms) != 1:
            break
        ((m, c),) = whole.terms.items()
    return whole


def _assumed(m: v.Monomial, c: Fraction) -> v.Tensor | None:
    """The other factors where a condition of the term holds."""
    for b, idx, _ in m:
        if not is_call(b, "where"):
            continue
        rest = [f for f in m if f[:2] != (b, idx)]
        found = _under(rest, b, idx)
        if found is not None:
            whole = [(b, idx, v.ONE)]
            front = v.product(whole, c, ())
            if v.bound_of(m):  # single factors in place: labels that are summed over stay so
                parts = _in_place(found)
                return None if parts is None else v.product(
                    [*whole, *parts[0]], c * parts[1], v.bound_of(m)
                )  # fmt: skip
            for f in found:
                front = v.mul(front, f if isinstance(f, v.Tensor) else v.factor(*f))
            return front
    return None


def _in_place(found: Sequence[Any]) -> tuple[list, Fraction] | None:
    factors: list = []
    number = v.ONE
    for f in found:
        if not isinstance(f, v.Tensor):
            factors.append(f)
            continue
        single = v.as_factor(f) if f.terms else f
        if len(single.terms) != 1:
            return (factors, Fraction(0)) if not f.terms else None
        ((m, c),) = single.terms.items()
        factors += m
        number *= c
    return factors, number


def _under(rest: Sequence[tuple], b: v.Base, idx: tuple) -> list | None:
    """Factors beside an indicator, those that change as tensors; None where none does."""
    own = v.labels_of(b.dims)
    forms: dict[v.Base, v.Tensor] = {}
    for other in v.bases_of(v.Tensor({tuple(rest): v.ONE})):
        if other.dims != b.dims and b.dims:
            continue
        new = _known(other, own, b, forms)
        if new is not None:
            forms[other] = new
    if not forms:
        return None
    found: list = []
    changed = False
    for f, at, e in rest:
        if f in forms and (at == idx or not b.dims) and not is_step_of(b, f):
            changed = True
            found += _at_labels(forms[f], at, Fraction(e))
        else:
            found.append((f, at, e))
    return found if changed else None


def _at_labels(t: v.Tensor, at: tuple, e: Fraction) -> list:
    """A power of a tensor over its own labels put at others: as factors where those are summed."""
    if not any(x[1] < 0 for x in at) or not t.terms:
        return [v.power(v.place(t, at), e)]
    ((m, c),) = v.as_factor(v.power(t, e)).terms.items()
    return [v.number(c), *((b, tuple(at[x[1]] for x in i), k) for b, i, k in m)]


def _known(other: v.Base, own: tuple, b: v.Base, forms: dict) -> v.Tensor | None:
    """A base over its own labels where an indicator is 1; None where that says nothing."""
    if is_call(other, "where") and other.args[0] == b.args[0]:
        return v.number(int(other.args[1].number() == b.args[1].number()))
    if other.kind not in ("sum", "call") or is_call(other, *SHARES, *LOG_SHARES):
        return None
    side = _side(other, b)
    if side is not None:
        return side
    if not any(f in forms and (at == own or not b.dims) for a in other.args for m in a.terms
               for f, at, _ in m):  # fmt: skip
        return None
    args = [_replaced(a, own if b.dims else None, forms) for a in other.args]
    if other.kind == "sum":
        return args[0]
    if other.name == "where":
        return indicator(args[0], bool(args[1].number()))
    return applied(other.name, args)


def _replaced(t: v.Tensor, own: tuple | None, forms: dict) -> v.Tensor:
    """A body with the bases that are known replaced where they stand at these labels."""
    found = []
    for m, c in t.terms.items():
        kept = [f for f in m if f[0] not in forms or (own is not None and f[1] != own)]
        term = v.product(kept, c, v.bound_of(m)) if not v.bound_of(m) else None
        if term is None:
            moved = _in_place([
                new for f in m
                for new in ([f] if f in kept else _at_labels(forms[f[0]], f[1], Fraction(f[2])))
            ])  # fmt: skip
            found.append(v.Tensor({m: c}) if moved is None else v.product(
                moved[0], c * moved[1], v.bound_of(m)
            ))  # fmt: skip
            continue
        for f in m:
            if f not in kept:
                term = v.mul(term, v.power(v.place(forms[f[0]], f[1]), Fraction(f[2])))
        found.append(term)
    return v.add(*found)


def _side(other: v.Base, b: v.Base) -> v.Tensor | None:
    """The larger or smaller of two values that an indicator compares."""
    if is_step_of(b, other):
        return other.args[0]
    test = v.sole(b.args[0])
    if not is_call(other, "maximum", "minimum") or test is None or not is_call(test[0], *ORDERS):
        return None
    left, right = (v.place(a, test[1]) for a in test[0].args)
    above = (ORDERS[test[0].name] > 0) == bool(b.args[1].number())  # left is the larger one
    most = other.name == "maximum"
    if other.args == (left, right) or other.args == (right, left):
        return left if above == most else right
    first, bound = other.args
    if bound != right or above != most or (sole := v.sole(first)) is None:
        return None
    clamped, at, c = sole  # min(max(u, 0), 1) where u <= 1 is max(u, 0)
    if c != 1 or not is_call(clamped, "minimum" if most else "maximum"):
        return None
    low, high = clamped.args[1].number(), right.number()
    fits = low is not None and high is not None and (low >= high if most else low <= high)
    return first if fits and v.place(clamped.args[0], at) == left else None


def is_step_of(b: v.Base, ramp: v.Base) -> bool:
    """Whether a base is the indicator of u > 0, and ``ramp`` max(u, 0)."""
    if not is_call(ramp, "relu", "maximum") or not is_call(b, "where") or not b.args[1].number():
        return False
    zero = v.number(0)
    if ramp.name == "maximum" and ramp.args[1] != zero:
        return False
    return any(b.args[0] == applied(name, (ramp.args[0], zero)) for name in ("gt", "ge"))
