"""Where a formula is zero.

Zeros of a quotient of polynomials are found in exact arithmetic and counted by Sturm's theorem;
those of other formulas are bracketed on a stated interval. Every zero is put in again before it is
given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import RuntimeFault
from gradcli.symbolic import polynomial as poly
from gradcli.symbolic.program.steps import steps_of
from gradcli.symbolic.unsupported import as_reals
from gradcli.symbolic.verify import evaluate

NO_ANSWER = "E0704"
SAMPLES = 2000


def no_answer(message: str, help: str | None = None) -> RuntimeFault:
    """The fault (E0704) for a question that cannot be answered of this formula."""
    return RuntimeFault(NO_ANSWER, message, help=help)


class Zeros(NamedTuple):
    """The zeros of a formula, and how sure they are.

    points     the zeros in increasing order
    exact      each as a Fraction where it is one, else None
    residuals  the formula's value at each
    interval   where they were looked for; None for the whole line
    everywhere whether the formula is zero identically
    """

    points: list[float]
    exact: list[Fraction | None]
    residuals: list[float]
    interval: tuple[float, float] | None
    everywhere: bool = False

    @property
    def method(self) -> str:
        """How they were found, in words."""
        if self.everywhere:
            return "zero everywhere"
        if self.interval is None:
            return "all real zeros: a polynomial, counted by Sturm's theorem"
        low, high = self.interval
        step = (high - low) / SAMPLES
        return (
            f"bracketed in [{low:g}, {high:g}]: zeros closer together than {step:.2g} may be missed"
        )

    def record(self) -> dict[str, Any]:
        """The zeros as plain data."""
        return {
            "points": self.points, "exact": [None if x is None else str(x) for x in self.exact],
            "residuals": self.residuals, "everywhere": self.everywhere,
            "interval": None if self.interval is None else list(self.interval),
        }  # fmt: skip


def zeros(
    text: str, name: str, values: Mapping[str, Any] | None = None,
    interval: tuple[float, float] | None = None,
) -> Zeros:  # fmt: skip
    """Where a scalar formula of one scalar variable is zero, each zero checked by substitution.

    text      the formula
    name      the variable
    values    of the other variables
    interval  look only here; without one, polynomials everywhere and others in [-10, 10]

    Raises RuntimeFault (E0704) where another variable has no value or the formula is no scalar.

    Example:
        >>> zeros("3*x**2 - 12", "x").points
        [-2.0, 2.0]
    """
    values = {k: as_reals(k, x) for k, x in (values or {}).items() if k != name}
    program = prepare(text)
    missing = [k for k in program.free if k != name and k not in values]
    if missing:
        raise no_answer(
            f"zeros in {name}: {missing[0]} has no value", f"give it: --{missing[0]} VALUE"
        )

    def f(x: float) -> float:
        found = evaluate(program, {**values, name: np.float64(x)}, {})
        if found.shape:
            raise no_answer(f"zeros of a value of shape {tuple(found.shape)}")
        return float(found)

    f(0.5)
    quotient = poly.quotient_of(steps_of(program), name, values)
    if quotient is not None:
        return _of_polynomial(*quotient, f, interval)
    low, high = interval or (-10.0, 10.0)
    points = [x for x in _bracketed(f, low, high) if _is_zero(f, x)]
    points = [_rounded(f, x) for x in points]
    exact = [Fraction(x) if x.is_integer() and f(x) == 0 else None for x in points]
    return Zeros(points, exact, [f(x) for x in points], (low, high))


def _rounded(f: Callable[[float], float], x: float) -> float:
    """A short number next to x where the formula is no larger."""
    short = round(x, 9) + 0.0
    return short if abs(f(short)) <= abs(f(x)) else x


def _of_polynomial(
    top: list[Fraction], below: list[Fraction], f: Callable[[float], float],
    interval: tuple[float, float] | None,
) -> Zeros:  # fmt: skip
    if not top:
        return Zeros([], [], [], interval, True)
    top = poly.divided(top, poly.gcd(top, below))[0]
    roots = poly.real_roots(top)
    if interval is not None:
        roots = [r for r in roots if interval[0] <= r[0] <= interval[1]]
    roots = [r for r in roots if _is_zero(f, r[0])]
    return Zeros([r[0] for r in roots], [r[1] for r in roots], [f(r[0]) for r in roots], interval)


def _is_zero(f: Callable[[float], float], x: float) -> bool:
    """Whether the formula is zero at x but for rounding, judged by its values nearby."""
    here = abs(f(x))
    step = 1e-5 * max(1.0, abs(x))
    near = max(abs(f(x - step)), abs(f(x + step)))
    return here <= 1e-300 or (np.isfinite(near) and here <= 1e-6 * near)


def _bracketed(f: Callable[[float], float], low: float, high: float) -> list[float]:
    """Zeros by sampling: changes of sign by Brent's method, and lows that touch zero."""
    from scipy.optimize import brentq

    xs = np.linspace(low, high, SAMPLES + 1)
    ys = np.array([f(float(x)) for x in xs])
    found: list[float] = []
    for i in range(len(xs)):
        if ys[i] == 0:
            if not (i and ys[i - 1] == 0):
                found.append(float(xs[i]))
            continue
        if i and np.isfinite(ys[i - 1 : i + 1]).all() and ys[i - 1] * ys[i] < 0:
            found.append(float(brentq(f, xs[i - 1], xs[i], xtol=1e-15, rtol=8.9e-16)))
        touched = _touching(f, xs[i - 1 : i + 2], ys[i - 1 : i + 2]) if 0 < i < SAMPLES else None
        if touched is not None:
            found.append(touched)
    return sorted(found)


def _touching(f: Callable[[float], float], xs: np.ndarray, ys: np.ndarray) -> float | None:
    """A zero without a change of sign: where the size is lowest in the middle and falls to 0."""
    from scipy.optimize import minimize_scalar

    size = np.abs(ys)
    if not np.isfinite(size).all() or size[1] > min(size[0], size[2]):
        return None
    if size[0] == size[1] == size[2]:  # a step: abs'
        return None
    if ys[0] * ys[1] <= 0 or ys[1] * ys[2] <= 0:
        return None
    lowest = minimize_scalar(
        lambda x: abs(f(x)), bounds=(xs[0], xs[2]), method="bounded", options={"xatol": 1e-12}
    )
    return float(lowest.x) if abs(lowest.fun) <= 1e-10 * max(size[0], size[2]) else None
