"""Taylor series: coefficients are formulas of the point, traced like any other.

The derivatives are closed forms, each checked; the point is put in for the variable, and what comes
out is compared with the derivative's value there. At a kink there is no series.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from gradcli.language.runtime.run import Program, prepare
from gradcli.language.syntax import nodes as n
from gradcli.ops.declaration.infix import is_comparison
from gradcli.ops.errors import Fault
from gradcli.ops.operator import OPERATORS, Operator
from gradcli.symbolic.closed_form import diff
from gradcli.symbolic.emit import tree as w
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.identities import QUOTIENTS
from gradcli.symbolic.program.steps import steps_of
from gradcli.symbolic.roots import NO_ANSWER, no_answer
from gradcli.symbolic.shapes.declarations import Declaration
from gradcli.symbolic.shapes.inference import infer
from gradcli.symbolic.simplify.search import forms
from gradcli.symbolic.trace.symbol import Symbol
from gradcli.symbolic.trace.trace import primal
from gradcli.symbolic.verify import Draws, evaluate

MOST_SHARED = 6
"""The highest power of x - a that is looked for in a denominator."""


def divided(
    program: Program, name: str, order: int, around: str, known: Mapping[str, Declaration]
) -> tuple[list[w.Text], float] | None:
    """The coefficients of a quotient that has a limit at the point, and the error of its sides.

    None where the program is no quotient, or has a pole there.
    """

    root = steps_of(program)[-1]
    if root.op != "div":
        return None
    declared = dict(known)
    sides: list = []
    error = 0.0
    try:
        texts = [value_text(program, known, place) for place in root.inputs]
        if name not in texts[1]:
            return None
        below: list[str] = []
        for most in (order + 1, order + MOST_SHARED):
            found = taylor(texts[1], name, min(most, MOST_TERMS), around, declared)
            below, error = found.coefficients, found.max_rel_error
            if any(c != "0" for c in below[:2]):
                break
        shared = next((k for k, c in enumerate(below) if c != "0"), None)
        if not shared or order + shared > MOST_TERMS:
            return None
        found = taylor(texts[0], name, order + shared, around, declared)
        above, error = found.coefficients, max(error, found.max_rel_error)
    except Fault:
        return None
    if any(c != "0" for c in above[:shared]):
        return None
    for k in range(order + 1):
        parts = [f"({above[k + shared]})"]
        for j, side in enumerate(sides):
            if shared + k - j < len(below):
                parts.append(f"({side.key})*({below[shared + k - j]})")
        whole = f"({' - '.join(parts)})/({below[shared]})"
        sides.append(scaled(whole, name, around, known, Fraction(1)))
    return sides, error


MOST_TERMS = 20
SHORT = 12
"""Operations up to which a coefficient is given as a formula."""


class Series(NamedTuple):
    """A Taylor polynomial.

    text          the polynomial, an expression of the language
    coefficients  of (x - a)**0, (x - a)**1, ... as expressions
    remainder     the order of what is left, ``O(x**4)``
    max_rel_error how far coefficients are from the derivatives at the point
    """

    text: str
    coefficients: list[str]
    remainder: str
    max_rel_error: float
    name: str
    around: str

    def record(self) -> dict[str, Any]:
        """The series as plain data."""
        return {
            "variable": self.name, "around": self.around, "polynomial": self.text,
            "coefficients": self.coefficients, "max_rel_error": self.max_rel_error,
        }  # fmt: skip


def taylor(
    expression: str | Program, name: str, order: int, around: str = "0",
    declared: Mapping[str, str | Declaration] | None = None,
) -> Series:  # fmt: skip
    """The Taylor polynomial of a scalar expression in one scalar variable.

    around  the point: a number, a constant expression (``pi/2``), or the name of a scalar

    Raises RuntimeFault: E0704 where there is no series at this point, E0701 where a derivative
    has no closed form.

    Example:
        >>> taylor("exp(x)", "x", 3).text
        '1 + x + x**2/2 + x**3/6'
    """
    if not 0 <= order <= MOST_TERMS:
        raise no_answer(f"a series of order {order}", f"an order from 0 to {MOST_TERMS}")
    program = prepare(expression) if isinstance(expression, str) else expression
    result = diff(program, name, declared=declared)
    known = result.declared
    if known[name].rank:
        raise no_answer(f"a series in {name}, which is a {known[name]}", "only of a scalar")
    point = prepare(around)
    if name in point.checked.outer:
        raise no_answer(f"a series around a point that depends on {name}")
    known = {**known, **{k: Declaration(0) for k in point.free}}
    try:
        sides, error = _derived(program, result, name, order, around, known)
    except Fault as fault:
        found = divided(program, name, order, around, known)
        if found is None:
            raise fault from None
        sides, error = found
    return _assembled(sides, name, around, point, error)


def _derived(
    program: Program, result: Any, name: str, order: int, around: str,
    known: Mapping[str, Declaration],
) -> tuple[list[w.Text], float]:  # fmt: skip
    """The coefficients by the derivatives at the point, and how far they are from the engine's."""
    text = value_text(program, known)
    point = prepare(around)
    sides: list[w.Text] = []
    error = 0.0
    for k in range(order + 1):
        if k == 1:
            text = result.text
        elif k:
            moves = name in prepare(text).checked.outer
            text = diff(text, name, declared=known).text if moves else "0"
        try:
            at = scaled(text, name, around, known, Fraction(1))
            sides.append(scaled(text, name, around, known, Fraction(1, factorial(k))))
        except Fault as fault:
            if fault.code == NO_ANSWER:
                raise
            raise no_answer(f"no series around {around}: {fault.message}") from None
        error = max(error, _off(at, prepare(text) if k else program, name, point, known))
    return sides, error


def value_text(
    program: Program, declared: Mapping[str, Declaration], place: int | None = None
) -> str:
    """The program's value, or that of one of its steps, as one expression."""
    v.reset()
    steps = steps_of(program)
    shapes = infer(steps, declared, program.source)
    t, dims = _evaluated(steps, shapes, {}, place)
    if dims:
        raise no_answer("a series of more than a scalar")
    return forms(t, dims)[0].key


def scaled(
    text: str, name: str, around: str, known: Mapping[str, Declaration], by: Fraction
) -> w.Text:
    """A formula at the point, times a number."""
    v.reset()
    program = prepare(f"{name} = {around}\n{text}")
    steps = steps_of(program)
    shapes = infer(steps, {k: d for k, d in known.items() if k != name}, program.source)
    t, dims = _evaluated(steps, shapes, {"kinks": True})
    return forms(v.scale(t, by), dims)[0]


_TURNS = {"sin": (0, 1, 0, -1), "cos": (1, 0, -1, 0)}
"""Values at 0, 1, 2 and 3 quarter turns."""


def _evaluated(
    steps: list, shapes: Any, options: Mapping[str, bool], place: int | None = None
) -> tuple[v.Tensor, tuple]:
    """The value of steps; sin and cos at quarter turns are numbers, kinks are refused."""

    def known(op: str, args: list[Symbol]) -> Symbol | None:
        if options.get("kinks") and op in OPERATORS and _breaks(OPERATORS[op], args):
            said = f"no series at this point: `{op}` has a kink or a step there"
            raise no_answer(said, "choose another point with --around")
        return _turn(op, args)

    found, dims = primal(steps, shapes, place, known)
    return found, tuple(d for d in dims if d != "1")


def _breaks(op: Operator, args: list[Symbol]) -> bool:
    """Whether two pieces of a function meet at these arguments."""
    if op.breaks == "ties" or is_comparison(op.name):
        return args[0].tensor == args[1].tensor
    numbers = [a.number() for a in args]
    x = numbers[0]
    if x is None or not op.breaks or op.breaks == "condition":
        return False
    if op.breaks == "multiples":
        y = numbers[1]
        return y is not None and y != 0 and (x / y).denominator == 1
    if op.breaks in ("whole", "half"):
        return x.denominator == (1 if op.breaks == "whole" else 2)
    return x in map(Fraction, op.breaks.split())


def _turn(op: str, args: list[Symbol]) -> Symbol | None:
    """A sine, a cosine or their quotient at whole multiples of pi/2, where it is defined."""
    top, below = QUOTIENTS.get(op, (op, None))
    sole = v.sole(args[0].tensor) if top in _TURNS and not args[0].axes else None
    if sole is not None and sole[0].kind == "constant" and sole[0].name == "pi":
        quarters = 2 * sole[2]
        if quarters.denominator == 1:
            k = int(quarters) % 4
            unit = 1 if below is None else _TURNS[below][k]
            return Symbol(v.number(Fraction(_TURNS[top][k], unit))) if unit else None
    return None


def _off(
    at: w.Text, of: Program, name: str, point: Program, known: Mapping[str, Declaration]
) -> float:
    """How far the formula at the point is from what it is ``of``, evaluated there by the engine."""
    rng = Draws(11)
    worst = 0.0
    for _ in range(3):
        values = {
            k: np.float64(rng.uniform(0.4, 1.6))
            for k, d in known.items()
            if k != name and not d.rank
        }
        here = np.float64(evaluate(point, values, {}))
        try:
            exact = float(evaluate(of, {**values, name: here}, {}))
        except Fault:
            exact = float("nan")
        if not np.isfinite(exact):
            said = f"no series around {here:g}: a derivative is not finite there"
            raise no_answer(said, "choose another point with --around")
        got = float(evaluate(prepare(at.key), values, {}))
        # sin(pi) is 1e-16 in floating point and 0 here: compared on the formula's own scale.
        beside = float(evaluate(of, {**values, name: here + 0.1}, {}))
        scale = max(abs(exact), abs(beside) if np.isfinite(beside) else 0.0)
        worst = max(worst, abs(got - exact) / max(scale, 1e-3))
    if not worst < 1e-8:
        raise no_answer("a coefficient disagrees with the derivative at this point")
    return worst


def _assembled(sides: list[w.Text], name: str, around: str, point: Program, error: float) -> Series:
    step = _step_from(name, point)
    parts: list[tuple[int, w.Text]] = []
    shown: list[str] = []
    for k, side in enumerate(sides):
        if side.cost > SHORT and not prepare(side.key).free:
            side = w.numeral(float(evaluate(prepare(side.key), {}, {})))
        shown.append(side.key)
        if side.key == "0":
            continue
        parts.append(_term(side, w.raised(step, Fraction(k)) if k else None))
    order = len(sides)
    text = _in_order(parts) if parts else w.numeral(0)
    left = w.raised(step, Fraction(order)).key
    return Series(text.key, shown, f"O({left})", error, name, around)


def _in_order(parts: list[tuple[int, w.Text]]) -> w.Text:
    """A sum with its terms in the order given."""
    sign, found = parts[0]
    if sign < 0:  # -(x - a), as the other terms are powers of x - a
        bare = isinstance(found.node, n.Binary) and found.node.op == "-"
        found = w.Text(n.Unary("-", found.node), found.cost + 1) if bare else w.negated(found)
    for sign, part in parts[1:]:
        found = w.binary("+" if sign > 0 else "-", found, part)
    return found


def _step_from(name: str, point: Program) -> w.Text:
    """``x - a``; x itself around 0."""
    (statement,) = point.checked.module.body
    assert isinstance(statement, n.ExprStmt)
    a = statement.value
    x = w.name(name)
    if isinstance(a, n.Number) and a.value == 0:
        return x
    if isinstance(a, n.Unary) and a.op == "-" and isinstance(a.operand, n.Number):
        return w.binary("+", x, w.Text(a.operand, 0))
    return w.binary("-", x, w.Text(a, 0))


def _term(side: w.Text, factor: w.Text | None) -> tuple[int, w.Text]:
    """A coefficient times a power: its sign, and the product."""
    number = _fraction(side.node)
    if number is not None and factor is not None:
        return (1 if number > 0 else -1), w.scaled(abs(number), [factor], [])
    opposite = w.negated(side)
    sign = 1
    if opposite.cost < side.cost or _starts_below_zero(side.node):
        sign, side = -1, opposite
    if factor is None:
        return sign, side
    quotient = side.node
    if isinstance(quotient, n.Binary) and quotient.op == "/":
        top, below = quotient.left, w.Text(quotient.right, 0)
        if n.is_number(top, 1):
            return sign, w.binary("/", factor, below)
        return sign, w.binary("/", w.binary("*", w.Text(top, side.cost - 1), factor), below)
    return sign, w.binary("*", side, factor)


def _starts_below_zero(node: Any) -> bool:
    """Whether a product starts with a number below 0."""
    while isinstance(node, n.Binary) and node.op in ("*", "/"):
        node = node.left
    return isinstance(node, n.Number) and node.value < 0  # type: ignore[operator]


def _fraction(node: Any) -> Fraction | None:
    """The value of a number, or of a quotient of two whole ones."""
    if isinstance(node, n.Number) and not isinstance(node.value, complex):
        return Fraction(repr(node.value))
    if isinstance(node, n.Unary) and node.op == "-":
        inner = _fraction(node.operand)
        return None if inner is None else -inner
    if isinstance(node, n.Binary) and node.op == "/":
        a, b = _fraction(node.left), _fraction(node.right)
        return None if a is None or b is None else a / b
    return None
