"""An answer is checked before it is shown: at random points, against the numeric engine's gradient.

Points are drawn from a fixed seed, from ranges that most domains meet (log and sqrt need positive
numbers, asin small ones); a draw at which the expression or its gradient is not finite is thrown
away. Dimensions get small sizes, all different, so that a wrong transpose cannot pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice, repeat
from typing import Any

import numpy as np

from gradcli.engine.backward.api import grad
from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.dtypes import default_dtype, float64
from gradcli.engine.grad_mode import enable_grad
from gradcli.language.runtime.run import Program, prepare
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.printer import unparse
from gradcli.ops.errors import Fault
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.expr.sizes import is_plain, names, value
from gradcli.symbolic.program.lookup import called_by_name
from gradcli.symbolic.shapes.declarations import Declaration
from gradcli.symbolic.shapes.inference import Shapes

POINTS = 3
TOLERANCE = 1e-8
_TRIES, _FEW = 80, 9
_RANGES = ((-1.6, 1.6), (0.3, 1.7), (0.05, 0.95), (1.1, 2.6), (-0.9, 0.9), (0.5, 4.0))
_FIRST = ((-1.6, 1.6), (-1.7, -0.3), (0.3, 1.7))
"""Ranges of the first draws: a rule that holds for positive numbers only cannot pass."""
_SMALL = (3, 4, 2, 5, 6, 7)
_OTHER = ((4, 3, 5, 2, 6, 7), (5, 4, 3, 2, 6, 7), (2, 3, 4, 5, 6, 7))
"""Sizes to try next: ``inv(X.T @ X)`` needs more rows than columns."""
_NEAR = (1e-9, -3e-9, 7e-9)
"""How much further points lie at which a derivative that is no rounding is nearly the same."""
_STEEPEST = 1000.0
"""How many times as much, relatively, a derivative may change there: as exp(-x) at 1000."""
_APART = 0.01
"""How far from what may be a root, relatively or beside 0, it is looked at again."""
_CERTAIN = 1e-13
"""How far the rounding of a point may move the engine's derivative, where formulas are judged."""
DOMAIN = ("E0304",)
"""Faults of what has no value at a point: the inverse of a singular matrix."""
_MORE = 12
_WIDE = ((2.0, 4.0), (-4.0, -2.0), (4.0, 12.0), (-12.0, -4.0), (1.0, 40.0), (-40.0, -1.0))
"""How many points ``Points.wide`` draws, and the ranges for the numbers of one variable."""
_FAR = tuple((s * x, True, 15.0) for x in (40.0, 400.0, 1500.0, 1e8, 1e-8) for s in (1, -1))
_FAR += tuple((s * x, False, 15.0) for x in (40.0, 400.0, 1e-8) for s in (1, -1))
_FAR += ((1500.0, True, 0.003),)
"""Sizes of numbers; whether all variables have such, or those that one differentiates by and each
of them: ``x - z`` is small of equal ones; and by how much they differ at most: of products of
numbers that lie so close together no share is all."""
TOLD = tuple((x, True, 15.0) for x in (0.0, 25.0, -25.0, 250.0, -250.0))
"""Sizes that only the form chosen is judged at: at 40 differences from 1 have no digits left, at
400 squares overflow in the engine too."""
LARGEST = 8
"""A dimension declared larger than this is checked at a smaller size."""


@contextmanager
def double() -> Iterator[None]:
    """Within this block literals and ``eye(n)`` are float64, and NumPy is silent."""
    with default_dtype(float64), np.errstate(all="ignore"):
        yield


def sizes_of(
    shapes: Shapes, small: Sequence[int] = _SMALL
) -> tuple[dict[str, int], dict[str, int]]:
    """The size of every dimension to check at, and those of the numbered ones that were shrunk."""
    dims: list[str] = []
    for d in shapes.declarations.values():
        dims += [x for x in d.dims if x not in dims]
    dims += [x for x in sorted(shapes.sizes) if x not in dims]
    made = [x for x in dims if not is_plain(x)]
    dims = [x for x in dims if is_plain(x)]
    for x in [*made, *shapes.least]:
        dims += [k for k in sorted(names(x)) if k not in dims]
    sizes: dict[str, int] = {}
    shrunk: dict[str, int] = {}
    for x in dims:
        if x.isdigit() and (int(x) <= LARGEST or shapes.rigid):
            sizes[x] = int(x)
    free = [s for s in small if s not in sizes.values()] or list(small)
    for x in dims:
        if x not in sizes:
            sizes[x] = free.pop(0) if len(free) > 1 else free[0]
            if x.isdigit():
                shrunk[x] = sizes[x]
    least = dict.fromkeys(made, 1) | shapes.least
    for _ in range(_TRIES):  # until every index is inside
        short = next((x for x, k in least.items() if not (value(x, sizes) or 0) >= k), None)
        if short is None or short.isdigit():
            break
        sizes[min(names(short), key=lambda k: sizes[k])] += 1
    sizes |= {x: value(x, sizes) or 0 for x in made}
    return sizes, shrunk


_FACTOR, _STEP, _BITS = 6364136223846793005, 1442695040888963407, 2**64 - 1


class Draws:
    """Random numbers that are the same everywhere (``numpy.random`` takes 10 ms to import)."""

    __slots__ = ("state",)

    def __init__(self, seed: int) -> None:
        self.state = seed

    def random(self) -> float:
        """A number from 0 to 1: 53 bits of a linear congruential generator (Knuth's MMIX)."""
        self.state = (self.state * _FACTOR + _STEP) & _BITS
        return (self.state >> 11) / 2**53

    def integers(self, high: int) -> int:
        """A whole number below ``high``."""
        return int(self.random() * high)

    def uniform(self, low: float, high: float, shape: tuple[int, ...] = ()) -> np.ndarray:
        """An array of numbers between two."""
        numbers = [low + (high - low) * self.random() for _ in range(math.prod(shape))]
        return np.array(numbers, dtype=np.float64).reshape(shape)


def draw(
    declarations: Mapping[str, Declaration], sizes: Mapping[str, int],
    rng: Draws | np.random.Generator,
    usual: tuple[float, float] | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """One point: an array for every variable, from ``usual`` where that range is given."""
    values = {}
    fixed = usual
    if usual is None:
        usual = _RANGES[rng.integers(len(_RANGES))]
    for name, d in declarations.items():
        if fixed is None and rng.random() >= 0.6:
            low, high = _RANGES[rng.integers(len(_RANGES))]
        else:
            low, high = usual
        if "positive" in d.traits:
            low, high = 0.3, max(high, 0.9)
        x = rng.uniform(low, high, tuple(sizes[k] for k in d.dims))
        if "spd" in d.traits:
            x = x @ x.T + len(x) * np.eye(len(x))
        elif "symmetric" in d.traits:
            x = (x + x.T) / 2
        values[name] = np.asarray(x, dtype=np.float64)
    return values


def _may_be_singular(name: str) -> bool:
    """Whether a function has no value, or no slope, at singular matrices."""
    op = called_by_name(name)
    return name == "slogdet" or (op is not None and "det(x)" in op.domain) or name == "det"


class Points:
    """Points of an expression's domain with the numeric derivatives, found when first needed."""

    def __init__(self, program: Program, shapes: Shapes) -> None:
        self.program = program
        self.shapes = shapes
        self.sizes, self.shrunk = sizes_of(shapes)
        self.delicate = any(map(_may_be_singular, program.names.called))
        self.strict = self.delicate  # keep away from det(A) == 0 too
        self.values: dict[tuple[str, ...], tuple[list[tuple[dict, np.ndarray]], dict]] = {}
        self.checked = POINTS
        """At how many points the formulas were checked, at least."""
        self.lost: dict[tuple[str, ...], list[float]] = {}
        """Numbers about which the formula chosen loses its digits (see ``Kept``)."""
        self.elsewhere: list[tuple[int, str]] = []
        """What is said of borders at which the engine has another slope, by order."""

    def at(self, path: tuple[str, ...]) -> list[tuple[dict, np.ndarray]]:
        """Three points with the derivative by the variables of ``path``, one after the other."""
        if path not in self.values:
            self.values[path] = self._found(path), self.sizes
        found, self.sizes = self.values[path]
        return found

    def _found(self, path: tuple[str, ...]) -> list[tuple[dict, np.ndarray]]:
        """Points at the usual sizes; where a matrix may be singular at those, soon at others."""
        ways = self._ways()
        few = _FEW if self.delicate and not self.shrunk else _TRIES
        found = self._first_of(ways, path, few)
        if len(found) < POINTS and few < _TRIES:
            found = self._first_of([self.sizes] if found else ways, path)
        if not found and self.strict:
            self.strict = False
            found = self._first_of(ways, path)
        return found

    def _ways(self) -> list[dict[str, int]]:
        """The sizes, then others to try."""
        ways = [self.sizes]
        if not self.shrunk:
            orders = _OTHER if self.delicate else _OTHER[:1]
            others = (sizes_of(self.shapes, order)[0] for order in orders)
            ways += [sizes for sizes in others if sizes != self.sizes]
        return ways

    def _first_of(
        self, ways: Sequence[dict[str, int]], path: tuple[str, ...], tries: int = _TRIES,
        certain: bool = False,
    ) -> list[tuple[dict, np.ndarray]]:  # fmt: skip
        """Points at the first sizes that have some."""
        usual = self.sizes
        for sizes in ways:
            self.sizes = sizes
            rng, ranges = Draws(20240229), islice(chain(_FIRST, repeat(None)), tries)
            points = (draw(self.shapes.declarations, sizes, rng, usual) for usual in ranges)
            if found := self._among(points, path, certain):
                return found
        self.sizes = usual
        return []

    def _among(
        self, points: Iterable[dict], path: tuple[str, ...], certain: bool,
        answer: Program | None = None,
    ) -> list[tuple[dict, np.ndarray]]:  # fmt: skip
        """Those of the points that have a derivative: three at most, or all where an answer has
        a value too."""
        found: list[tuple[dict, np.ndarray]] = []
        with double():
            for point in points:
                exact = self.numeric(point, path)
                if exact is None or not np.max(abs(exact), initial=0.0) < 1e150:  # nor NaN
                    continue
                first = self.delicate and not found  # a rank too small is so at every point
                if first and not self._certain(point, exact, path, TOLERANCE):
                    continue
                if certain and not self._certain(point, exact, path):
                    continue
                if answer and np.isinf(worst(answer, [(point, exact)], self.sizes)[0]):
                    continue
                found.append((point, exact))
                if len(found) == POINTS and not answer:
                    break
        return found

    def wide(self, path: tuple[str, ...], answer: Program) -> list[tuple[dict, np.ndarray]]:
        """Points of larger numbers at which an answer has a value, and the engine's derivative is
        no rounding: at those of ``at`` its conditions may take the same branch each time.
        """
        rng = Draws(20240301)
        points: list[dict] = [{} for _ in range(_MORE)]
        for point in points:
            for name, d in self.shapes.declarations.items():
                point |= draw({name: d}, self.sizes, rng, _WIDE[rng.integers(len(_WIDE))])
        return self._among(points, path, True, answer)

    def far(
        self, path: tuple[str, ...], sizes: Sequence[tuple[float, bool, float]] = _FAR
    ) -> list[tuple[float, dict, np.ndarray | None]]:
        """How large, points of such numbers, and the derivative where the engine has one.

        Matrices are large in points of their own: what they are multiplied with is large there.
        """
        found = []
        usual, beside = (self.at(path)[i][0] for i in (0, -1))  # the last: no numbers near 0
        ranks = {k: len(d.dims) for k, d in self.shapes.declarations.items() if not d.traits}
        with double():
            for most in sorted({1, *ranks.values()} - {0}):
                every = {k for k in usual if ranks.get(k, most + 1) <= most}
                some = sorted(every.intersection(path))
                parts = [some, *([k] for k in some)] if len(some) > 1 else [some]
                parts = [part for part in parts if 0 < len(part) < len(every)]
                for size, whole, most_apart in sizes:
                    spread = max(min(0.01 * size, most_apart), -most_apart)  # no overflow
                    for large in [sorted(every)] if whole else parts:
                        point = dict(usual if whole else beside)
                        point |= {k: size + spread * usual[k] for k in large}
                        exact = self.numeric(point, path)
                        if abs(size) > 1 or exact is not None:  # no edge of the domain
                            found.append((size, point, exact))
        return found

    def steady(self, path: tuple[str, ...]) -> list[tuple[dict, np.ndarray]]:
        """The points at which the engine's derivative is no rounding: std of equal numbers is.

        Where matrices are inverted, those far from singular ones, if there are any.
        """
        known = self.at(path)
        if self.delicate and (found := self._first_of(self._ways(), path, certain=True)):
            return found
        with double():
            return [
                (point, exact) for point, exact in known
                if self._certain(point, exact, path, TOLERANCE / 10)
            ]  # fmt: skip

    def _certain(
        self, point: Mapping[str, np.ndarray], exact: np.ndarray, path: tuple[str, ...],
        within: float = _CERTAIN,
    ) -> bool:  # fmt: skip
        """Whether the derivative is straight near a point but for the last digits.

        What bends it over so short a way is the rounding of the terms that it adds: where those
        cancel, that may be more than its own size tells.
        """
        ahead, back = (
            self.numeric({k: a * (1 + by) for k, a in point.items()}, path) for by in (1e-8, -1e-8)
        )
        if ahead is None or back is None:
            return False
        bent = np.max(np.abs(ahead - 2 * exact + back), initial=0.0)
        return bool(bent <= within * max(np.max(np.abs(exact), initial=0.0), 1e-3))

    def numeric(self, point: Mapping[str, np.ndarray], path: Sequence[str]) -> np.ndarray | None:
        """The engine's derivative at a point, or None where there is none."""
        sizes = {k: self.sizes[k] for k in self.shapes.sizes}
        return numeric(self.program, point, sizes, path, self.strict)


def numeric(
    program: Program, point: Mapping[str, Any], sizes: Mapping[str, int], path: Sequence[str],
    strict: bool = False, along: Mapping[str, str] | None = None,
) -> np.ndarray | None:  # fmt: skip
    """The engine's derivative by the variables of ``path`` in turn, or None where there is none.

    ``strict`` counts a value of 0 as none. ``along`` names the direction of each of them: then it
    is the derivative along that line.
    """
    given: dict[str, Any] = {k: as_tensor(a) for k, a in point.items()} | dict(sizes)
    try:
        if along:
            leaves = [as_tensor(0.0).requires_grad_()] * len(path)
            given |= {k: given[k] + leaves[0] * given[d] for k, d in along.items()}
            given = {k: x for k, x in given.items() if program.takes(k)}
        else:
            leaves = [given[name].requires_grad_() for name in path]
        with enable_grad():
            value = as_tensor(program.run(given).value)
        if not np.isfinite(value.array).all():
            return None
        if strict and (abs(value.array) < 1e-9).all():
            return None
        return _vjps(value, leaves)
    except Fault as fault:
        if fault.code in ("E0204", "E0301", "E0302", "E0303", "E0306"):
            raise
        return None


def settled(
    program: Program, answer: Program, got: np.ndarray, point: Mapping[str, np.ndarray],
    sizes: Mapping[str, int], path: Sequence[str], along: Mapping[str, str] | None = None,
) -> tuple[np.ndarray, bool, np.ndarray | None]:  # fmt: skip
    """The value of ``answer`` at a point, of which it gives ``got``; and whether that is in doubt.

    Where rounding explains how far the engine's entries are apart, or the formula overflows, they
    are the engine's, if those hardly change a little further; else there is doubt. The last is the
    engine's value where it is another one: at a kink both choose a slope.
    """
    with double():
        exact = numeric(program, point, sizes, path, along=along)
        if exact is None or exact.shape != got.shape:
            exact = np.full(got.shape, np.nan)
        rounded = prepare(_rounded(answer))
        # What cancels to 0 is a root where the value further off is more than rounding, and has no
        # digits where it is 0 at other points.
        further = {k: np.where(a == 0, _APART, a * (1 + _APART)) for k, a in point.items()}
        other = {k: Draws(13).uniform(0.3, 1.7, np.shape(a)) for k, a in point.items()}
        try:
            error = abs(evaluate(rounded, point, sizes) - got) * (_EPSILON / _ROUNDING)
            lost = (got != 0) | (abs(evaluate(answer, further, sizes)) <= 100 * error)
            lost &= ~(abs(evaluate(answer, other, sizes)) <= _NOTHING)
        except Fault:
            return got, False, None
        lost &= _lost(answer, rounded, got, point, sizes, _LOST * abs(got).max(initial=0.0))
        near = _close(got, exact)
        over = not near.all() and _overflows(answer, point, sizes)
        spoiled = ~near & (over | ~np.isfinite(got) | (abs(got - exact) <= 100 * error))
        engine, confirmed = spoiled.copy(), np.zeros(got.shape, bool)
        rng = Draws(17)
        least = float(any((a == 0).any() for a in point.values()))  # a slope of 0 is not 0 beside 0
        for by in _NEAR if spoiled.any() else ():
            ways = {k: by * rng.uniform(0.5, 1.5, np.shape(a)) for k, a in point.items()}
            near_by = {k: np.where(a == 0, ways[k], a * (1 + ways[k])) for k, a in point.items()}
            again = numeric(program, near_by, sizes, path, along=along)
            if again is not None:  # beyond a border, as below 0 of x**0.5, there is no number
                steep = _STEEPEST * abs(by)
                engine &= _close(again, exact, least, steep) | np.isnan(again)
                confirmed |= ~np.isnan(again)
        engine &= confirmed
    doubt = ~engine & (lost | (over & ~near))
    if engine.any():
        return np.where(engine, exact, got), bool(doubt.any()), None
    other = abs(exact - got).max(initial=0.0) > 1e-6 * max(abs(exact).max(initial=0.0), 1e-3)
    return got, bool(doubt.any()), exact if other and not doubt.any() else None


def _close(one: np.ndarray, exact: np.ndarray, least: float = 0.0, more: float = 0.0) -> np.ndarray:
    """The entries that are another's to six digits, or by ``more``, of ``least`` at least: no NaN
    is."""
    return abs(one - exact) <= (1e-6 + more) * np.maximum(abs(exact), least)


def _vjps(value: Any, leaves: Sequence[Any]) -> np.ndarray:
    """The derivative of a recorded value by one leaf after the other: a pass for each entry."""
    shape = value.array.shape
    values = [value]
    for leaf in leaves[:-1]:
        none = as_tensor(np.zeros(leaf.array.shape))
        slopes = []
        for one, seed in _entries(values):
            g = None
            if one.edge is not None:
                (g,) = grad(one, leaf, seed, create_graph=True, allow_unused=True)
            slopes.append(none if g is None else g)
        values = slopes
        shape += leaf.array.shape
    leaf = leaves[-1]
    rows = []
    for one, seed in _entries(values):
        leaf.grad = None
        if one.edge is not None:
            one.backward(seed, retain_graph=True)
        rows.append(np.zeros(leaf.array.shape) if leaf.grad is None else leaf.grad.array)
    return np.array(rows, dtype=np.float64).reshape((*shape, *leaf.array.shape))


def _entries(values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Every tensor with a weight that chooses one of its entries, for each of them."""
    for one in values:
        for seed in np.eye(one.array.size):
            yield one, as_tensor(seed.reshape(one.array.shape))


def worst(
    answer: Program, points: Sequence[tuple[dict, np.ndarray]], sizes: Mapping[str, int]
) -> tuple:
    """(largest relative difference, value written, value computed) of an answer over points.

    A value of another shape counts as an infinite difference; no value at all as one of None.
    """
    most: tuple = (0.0, None, None)
    for point, exact in points:
        try:
            got = evaluate(answer, point, sizes)
        except Fault as fault:
            if fault.code in DOMAIN:  # an inverse beside a determinant that is 0 everywhere
                return np.inf, None, None
            return np.inf, np.zeros(0), exact  # shapes do not fit: as wrong as an answer can be
        if got.shape != exact.shape:
            return np.inf, got, exact
        if not exact.size:
            continue
        off = abs(got - exact)
        scale = max(float(abs(exact).max()), 1e-3)
        difference = float(off.max()) / scale
        if not difference <= most[0]:
            place = np.unravel_index(
                int(np.argmax(np.where(np.isnan(off), np.inf, off))), off.shape
            )
            difference = difference if difference == difference else np.inf
            most = (difference, float(got[place]), float(exact[place]))
            if difference == np.inf:
                return most
    return most


def agreeing(
    options: Sequence[Text], small: Sequence[Text], known: Sequence[tuple[dict, np.ndarray]],
    sizes: Mapping[str, int],
) -> tuple[Text, tuple]:  # fmt: skip
    """The first text that agrees at these points, and by how much; if none does, the first.

    ``small`` are the texts as they can be evaluated at ``sizes``.
    """
    pairs = zip(options, small, strict=True)
    tried = ((text, worst(prepare(one.key), known, sizes)) for text, one in pairs)
    first = next(tried)
    return next((found for found in chain([first], tried) if found[1][0] <= TOLERANCE), first)


def unspoiled(
    answer: Program, known: Sequence[tuple[dict, np.ndarray]], sizes: Mapping[str, int]
) -> list[tuple[dict, np.ndarray]]:
    """The points at which rounding does not explain how far an answer is from the engine."""
    rounded = prepare(_rounded(answer))
    found = []
    for point, exact in known:
        with suppress(Fault):
            got = evaluate(answer, point, sizes)
            error = abs(evaluate(rounded, point, sizes) - got) * (_EPSILON / _ROUNDING)
            scale = max(abs(exact).max(initial=0.0), 1e-3)
            if got.shape != exact.shape or 100 * error.max(initial=0.0) <= TOLERANCE * scale:
                found.append((point, exact))
    return found


class Kept:
    """What an answer keeps of its digits at points far from 1.

    wrong  at how many it is finite and says something else than the engine or, where that has no
           value, has lost its digits
    count  at how many it is finite and right
    sound  at how many of those what no condition chooses there is finite as well: elsewhere it may
           be chosen
    tails  its entries at those that are too small to be rounded: ``1 - sigmoid(40)`` is 0
    lost   the sizes of the numbers at which it has lost its digits to rounding, or has no value
           where the engine or the function has one. Of numbers smaller than ``doubted`` the engine
           may have lost the same digits: there its agreement proves nothing
    """

    __slots__ = ("count", "lost", "sound", "tails", "wrong")

    @property
    def worth(self) -> tuple[int, int, int, int]:
        """What to compare: first how many points are right, then how many are sound, last how
        many are not wrong."""
        return self.count, self.sound, -self.wrong, self.tails

    def __init__(
        self, answer: Program, far: Sequence[tuple[float, dict, np.ndarray | None]],
        sizes: Mapping[str, int], doubted: float = 1.0,
    ) -> None:  # fmt: skip
        self.wrong = self.count = self.sound = self.tails = 0
        branches = [prepare(unparse(one)) for one in _branches(answer)]
        self.lost: list[float] = []
        rounded: Program | None = None
        for size, point, exact in far:
            try:
                got = evaluate(answer, point, sizes)
            except Fault:
                continue
            known = exact is not None and np.isfinite(exact).all()
            if not np.isfinite(got).all():
                if known or (size and exact is not None and np.isnan(got).any()):
                    self.lost.append(size)
                continue
            lost = exact is None or not alike(got, exact, size)
            if lost or abs(size) < doubted:  # the engine may have lost the same digits
                rounded = rounded or prepare(_rounded(answer))
                if _lost(answer, rounded, got, point, sizes, _allowed(got, size)).any():
                    self.lost.append(size)
                elif not known:
                    lost = False
            self.wrong += lost
            if not lost:
                self.count += 1
                self.sound += all(np.isfinite(evaluate(b, point, sizes)).all() for b in branches)
                self.tails += int(((got != 0) & (abs(got) < _TAIL)).sum())


_TAIL = 1e-17
"""Below this is no difference of numbers near 1."""
_LOST, _NOTHING = 1e-6, 1e-9
"""A relative error that has cost an answer its digits; an absolute one that is none."""
_LEAST = float(np.finfo(np.float64).tiny)
_EPSILON = float(np.finfo(np.float64).eps)
_ROUNDING = 1e-12
"""How far each operation is put off to see what its own rounding does to the result."""


def _allowed(exact: np.ndarray, size: float) -> np.ndarray:
    """By how much derivatives at numbers of a size may be off: sums of those are rounded."""
    return _LOST * abs(exact) + max(_NOTHING, 10 * _EPSILON * abs(size))


def alike(one: np.ndarray, exact: np.ndarray, size: float) -> bool:
    """Whether a derivative at numbers of a size is that of the engine, but for rounding."""
    return one.shape == exact.shape and bool((abs(one - exact) <= _allowed(exact, size)).all())


def _operations(answer: Program) -> list[Any]:
    """The operations of an answer's text, the outer before the inner; none on indices, nor any of
    what is compared."""
    root = answer.checked.module.body[-1].value  # type: ignore[attr-defined]
    nodes = [*n.walk(root)]
    exact = [one.index if type(one) is n.Subscript else one for one in nodes
             if type(one) in (n.Subscript, n.Compare)]  # fmt: skip
    whole = {id(part) for one in exact for part in n.walk(one)}
    return [one for one in nodes if type(one) in (n.Binary, n.Call) and id(one) not in whole]


def _branches(answer: Program) -> list[Any]:
    """What an answer's ``where`` choose from."""
    calls = [one for one in n.walk(answer.checked.module) if type(one) is n.Call]
    return [arg for one in calls if type(one.func) is n.Name and one.func.id == "where"
            for arg in one.args[1:] if type(arg) is not n.Number]  # fmt: skip


def _overflows(
    answer: Program, point: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> bool:  # fmt: skip
    """Whether an operation of an answer leaves the range of numbers at a point: gives an infinite
    one, or one so small that it has fewer digits."""
    with suppress(Fault):
        for one in _operations(answer):
            made = abs(evaluate(prepare(unparse(one)), point, sizes))
            if np.isinf(made).any() or ((made > 0) & (made < _LEAST)).any():
                return True
    return False


def _rounded(answer: Program) -> str:
    """An answer's text with the result of every operation put off by some 1e-12 of itself.

    What that changes in the value is thousands of times what rounding in float64 does to it, also
    where that leaves 0: ``x/tanh(x) - 1`` at 1e-8.
    """
    root = answer.checked.module.body[-1].value  # type: ignore[attr-defined]
    rng = Draws(7)
    operations = {id(one) for one in _operations(answer)}

    def put_off(one: n.Node, new: Any) -> n.Node:
        if id(one) not in operations:
            return new
        off = 1 + _ROUNDING * (rng.random() + 0.5) * (-1) ** rng.integers(2)
        return n.Binary("*", new, n.Number(off, repr(off)))

    return unparse(n.rewritten(root, put_off))


def _lost(
    answer: Program, rounded: Program, got: np.ndarray, point: Mapping[str, np.ndarray],
    sizes: Mapping[str, int], allowed: Any,
) -> np.ndarray:  # fmt: skip
    """Where rounding costs an answer its digits at a point, more than that of the point does."""
    rng = Draws(11)
    beside = {k: a * (1 + _ROUNDING * rng.uniform(-1.5, 1.5, a.shape)) for k, a in point.items()}
    try:
        off = abs(evaluate(rounded, point, sizes) - got)
        own = abs(evaluate(answer, beside, sizes) - got)
    except Fault:
        return np.zeros(got.shape, dtype=bool)
    return (off * (_EPSILON / _ROUNDING) > allowed) & ~(off < 100 * own.max(initial=0.0))


def evaluate(answer: Program, values: Mapping[str, Any], sizes: Mapping[str, int]) -> np.ndarray:
    """The value of an answer's text, with dimensions that it names bound to numbers."""
    given: dict[str, Any] = {}
    for name in answer.names.outer:
        if name in values:
            given[name] = as_tensor(values[name])
        elif name in sizes:
            given[name] = sizes[name]
    with double():
        return np.asarray(as_tensor(answer.run(given).value).detach().array, dtype=np.float64)
