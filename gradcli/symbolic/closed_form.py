"""diff: the closed form of a derivative, checked before it is given."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from gradcli.language.compile.resolve import Checked
from gradcli.language.diagnostics.render import did_you_mean
from gradcli.language.runtime.run import Program, prepare
from gradcli.language.syntax.printer import unparse
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault, RuntimeFault, ValueFault
from gradcli.ops.memory_budget import no_collection
from gradcli.symbolic.borders import with_borders
from gradcli.symbolic.emit.slices import size_text
from gradcli.symbolic.emit.tree import Text, called, numeral
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.base import decimals
from gradcli.symbolic.expr.identities import PIECEWISE
from gradcli.symbolic.expr.sizes import known_from
from gradcli.symbolic.expr.sizes import names as names_of
from gradcli.symbolic.kinks import kinks
from gradcli.symbolic.program.steps import Step, steps_of, writes_decimals
from gradcli.symbolic.shapes.declarations import Declaration, declared_as, sizes_at
from gradcli.symbolic.shapes.inference import Shapes, infer
from gradcli.symbolic.simplify.search import forms, forms_at
from gradcli.symbolic.symmetry import reread, retraced, without_symmetry
from gradcli.symbolic.trace.trace import derivative
from gradcli.symbolic.unsupported import WITHHELD, as_reals, no_closed_form
from gradcli.symbolic.verify import (
    DOMAIN,
    TOLD,
    TOLERANCE,
    Kept,
    Points,
    agreeing,
    double,
    evaluate,
    numeric,
    settled,
    unspoiled,
    worst,
)  # fmt: skip

MOST_ORDER = 8
_MOST_PASSES = 1000
"""Derivatives that take the engine more passes are those of the formula alone."""


class Result:
    """Closed forms, and how they were checked.

    derivatives  variable (or "x,y" for a mixed one) -> one whole expression of the language
    assumed      shapes that were not declared in full, by variable
    checked      {"points": 3, "max_rel_error": ...}, or None where the check was turned off;
                 with "loses_digits_near" the sizes of numbers that spoil a formula (see ``Kept``)
    costs        the number of operations of each expression
    program      what was differentiated, and how often (``order``)
    declared     the shape of every variable
    conditions   for a traced program: what has to hold on the way (see ``path``)
    constants    its arrays that have no short formula, by the names that stand for them
    kinks        where what was differentiated has no derivative, and what was chosen there
    along        the name of the direction of each variable, where it is a derivative along a line
    """

    __slots__ = (
        "_read", "_sizes", "along", "assumed", "checked", "conditions", "constants", "costs",
        "declared", "derivatives", "kinks", "order", "program",
    )  # fmt: skip

    def __init__(
        self, answers: Mapping[str, Text], assumed: dict[str, str],
        checked: dict[str, Any] | None, declared: Mapping[str, Declaration], program: Program,
        order: int,
    ) -> None:  # fmt: skip
        self.derivatives = {k: t.key for k, t in answers.items()}
        self.costs = {k: t.cost for k, t in answers.items()}
        self.assumed = assumed
        self.checked = checked
        self.declared = dict(declared)
        self.program = program
        self.order = order
        self.conditions: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.kinks: list[str] = []
        self.along: Mapping[str, str] = {}
        self._sizes = {k: d.dims for k, d in declared.items()}
        self._read: dict[str, Program] = {}  # texts that were evaluated

    @property
    def text(self) -> str:
        """The expression where there is one derivative; else a line ``d/dx  ...`` for each."""
        if len(self.derivatives) == 1:
            return next(iter(self.derivatives.values()))
        width = max(map(len, self.derivatives))
        return "\n".join(f"d/d{k:<{width}}  {t}" for k, t in self.derivatives.items())

    @property
    def sizes(self) -> set[str]:
        """The names that stand for sizes of dimensions in the formulas."""
        return {name for dims in self._sizes.values() for d in dims for name in names_of(d)}

    def label(self, key: str) -> str:
        """What stands in front of a formula: ``d/dx``, ``d2/dx2``, ``d2/dxdy``, ``along x = v``."""
        order = self.order
        if self.along:
            often = {1: "", 2: "twice "}.get(order, f"{order} times ")
            return f"{often}along " + ", ".join(f"{k} = {d}" for k, d in self.along.items())
        if order == 1:
            return f"d/d{key}"
        names = key.split(",")
        below = f"d{key}{order}" if len(names) == 1 else "".join(f"d{n}" for n in names)
        return f"d{order}/{below}"

    def evaluate(self, **values: Any) -> Any:
        """The derivative at values of the variables, as an array; a dict where there are several.

        Sizes that the expression names (``eye(n)``) are taken from the values' shapes. Raises
        ValueFault (E0912) for a value of another shape than the variable has.
        """
        given, sizes = self._at(values)
        found = self._evaluated(given, sizes)
        return next(iter(found.values())) if len(found) == 1 else found

    def settled(self, **values: Any) -> tuple[dict[str, Any], list[str], list[str], dict[str, Any]]:
        """The derivatives at values of the variables; those of which a formula has no value there
        or loses its digits, so that their value is the numeric engine's; those that may have lost
        theirs; and the engine's values of those of which it has another one, at a kink.

        Raises as ``evaluate``.
        """
        given, sizes = self._at(values)
        lost: list[str] = []
        doubtful: list[str] = []
        others: dict[str, Any] = {}
        if not self.declared.keys() <= given.keys():  # the engine needs all of them
            return self._evaluated(given, sizes), lost, doubtful, others
        found: dict[str, Any] = {}
        for key in self.derivatives:
            path = key.split(",") if "," in key and not self.along else [key] * self.order
            try:
                found[key] = got = self._value(key, given, sizes)
            except Fault as fault:  # det(A)*inv(A).T at a singular matrix
                exact = None
                if fault.code in DOMAIN:
                    with double():
                        exact = numeric(self.program, given, sizes, path, along=self.along)
                if exact is None or not np.isfinite(exact).all():
                    raise
                found[key] = exact
                lost.append(key)
                continue
            if got.size > _MOST_PASSES * (1 if self.along else given[path[-1]].size):
                continue
            answer = self._read[self.derivatives[key]]
            better, doubt, other = settled(
                self.program, answer, got, given, sizes, path, self.along
            )
            if better is not got:
                found[key] = better
                lost.append(key)
            if doubt:
                doubtful.append(key)
            if other is not None:
                others[key] = other
        return found, lost, doubtful, others

    def undefined(self, **values: Any) -> bool:
        """Whether what was differentiated is NaN at values of the variables."""
        try:
            return bool(np.isnan(evaluate(self.program, *self._at(values))).any())
        except Fault:
            return False

    def _evaluated(self, given: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
        return {key: self._value(key, given, sizes) for key in self.derivatives}

    def _value(self, key: str, given: Mapping[str, Any], sizes: Mapping[str, int]) -> np.ndarray:
        text = self.derivatives[key]
        if text not in self._read:
            self._read[text] = prepare(text)
        return evaluate(self._read[text], given, sizes)

    def _at(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
        """The values of the variables, and the sizes that they give to dimensions."""
        values = {**self.constants, **values}
        sizes = known_from(sizes_at(self.declared, values))
        for k, x in values.items():
            if k in self._sizes or np.ndim(x):
                continue
            if sizes.setdefault(k, int(x)) != x and self.program.takes(k):
                raise ValueFault("E0912", f"{k} is a size, {sizes[k]}, and its value is {x}")
        return {k: as_reals(k, x) for k, x in values.items() if k in self._sizes}, sizes

    @property
    def latex(self) -> str:
        """The formula in LaTeX, without dollar signs; several as lines of an aligned block."""
        # Loaded late: most answers are printed in the language.
        from gradcli.symbolic.printers.latex.writer import result_latex

        return result_latex(self)

    def code(self, target: str = "numpy") -> str:
        """A module for "numpy", "torch" or "jax": one function that gives value and derivative."""
        # Loaded late: most answers are printed in the language.
        from gradcli.symbolic.printers.code import function_text

        by = " and ".join(self.derivatives)
        last = unparse(self.program.checked.module.body[-1])
        last = last if len(last) < 80 else f"{last[:76]} ..."
        what = "its derivative" if self.order == 1 else f"its derivative of order {self.order}"
        return function_text(
            target, self.program, self.derivatives, self.order, self.declared,
            f"{last} and {what} by {by}.", self.constants,
        )  # fmt: skip

    def diff(self, wrt: str | Sequence[str] | None = None, *, order: int = 1) -> Result:
        """The derivative of this (single) derivative."""
        if len(self.derivatives) != 1:
            raise ValueFault(
                "E0907", "there are several derivatives to differentiate", help="choose with wrt"
            )
        return diff(self.text, wrt, order=order, declared=self.declared)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex}$"

    def _repr_html_(self) -> str:
        from html import escape

        return "".join(
            f"<div><code>{escape(self.label(k))} = {escape(t)}</code></div>"
            for k, t in self.derivatives.items()
        )

    def __repr__(self) -> str:
        return f"Result({self.derivatives!r})"


def check_order(order: int) -> None:
    """Raise ValueFault (E0901) for an order that no derivative is taken to."""
    if not 1 <= order <= MOST_ORDER:
        raise ValueFault("E0901", f"order {order} is not between 1 and {MOST_ORDER}")


def diff(
    expression: str | Source | Checked | Program, wrt: str | Sequence[str] | None = None, *,
    order: int = 1, declared: Mapping[str, str | Declaration] | None = None, check: bool = True,
) -> Result:  # fmt: skip
    """The closed form of the derivative of an expression by variables, by all without ``wrt``.

    expression  a one-line text (assignments before it are traced through), or a checked Program
    wrt         a name, "x,y", or a sequence of names
    order       1, 2, ...: with several variables the mixed ones too, under keys such as "x,y";
                as many names as the order are one mixed derivative, in sequence
    declared    shapes by name, "matrix:n,n spd"; what is missing is inferred, see ``assumed``. By
                what is declared in full and not in the expression the derivative is zero
    check       compare every answer with the numeric gradient at three random points

    Shape of a derivative: the result's, then the variable's. Raises RuntimeFault E0701 where there
    is no closed form yet, E0702 where the check failed, E0301 where shapes contradict each other.

    Example:
        >>> diff("x.T @ A @ x", "x").text
        '(A + A.T) @ x'
    """
    check_order(order)
    if isinstance(expression, Checked):
        expression = Program(expression)
    program = expression if isinstance(expression, Program) else prepare(expression)
    checked = program.checked if program.names.data else program.names
    shaped = declared_as(declared)
    v.reset()
    steps = steps_of(program, checked)
    shapes = infer(steps, {k: d for k, d in shaped.items() if program.takes(k)}, program.source)
    there = shapes.declarations.keys() | shapes.sizes
    absent = {k: d for k, d in shaped.items() if k not in there and d.rank == len(d.dims)}
    names = names_in(wrt, list(shapes.declarations), absent)
    points = Points(program, shapes)
    answers: dict[str, Text] = {}
    error, lost, lower = 0.0, set[float](), set[str]()
    with decimals(writes_decimals(checked)), no_collection():
        for path in _paths(names, order, wrt is not None):
            if absent.keys() & set(path):
                by = [absent[k] if k in absent else shapes.declarations[k] for k in path]
                text, off = _nothing(shapes, by), 0.0
            else:
                text, off = _along(path, program, steps, shapes, points, check, lower)
            answers[_key(path)] = text
            error = max(error, off)
            lost.update(points.lost.get(tuple(path), ()))
    v.reset()
    known = shapes.declarations | absent
    result = Result(answers, shapes.assumed, None, known, program, order)
    result.kinks = kinks(steps, names, lower, order, points.elsewhere)
    if check:
        result.checked = how_checked(points.checked, error, lost, result.kinks)
    return result


def how_checked(
    points: int, error: float, lost: Iterable[float], told: Sequence[str]
) -> dict[str, Any]:
    """The record of a check; of numbers that spoil a formula 0 is not one where the notes tell that
    there is no value."""
    kink = any((" = 0" in words or " is 0" in words) and "taken as" not in words for words in told)
    spoiled = sorted({size for size in lost if size or not kink})
    found = {"points": points, "max_rel_error": error}
    return found | {"loses_digits_near": spoiled} if spoiled else found


def _paths(names: Sequence[str], order: int, chosen: bool) -> list[tuple[str, ...]]:
    """By what to differentiate in turn: as many names as the order are taken in sequence."""
    if chosen and order > 1 and len(names) == order:
        return [tuple(names)]
    return list(combinations_with_replacement(names, order))


def _key(path: Sequence[str]) -> str:
    return path[0] if len(set(path)) == 1 else ",".join(path)


def _nothing(shapes: Shapes, by: Sequence[Declaration]) -> Text:
    """The derivative by variables of which one is not there: zeros of the shape that it has."""
    dims = [d or "1" for d in (*shapes.of[-1], *(x for d in by for x in d.dims))]
    return called("zeros", *map(size_text, dims)) if dims else numeral(0)


def names_in(
    wrt: str | Sequence[str] | None, known: Sequence[str], absent: Collection[str] = (),
    what: str = "expression", mend: str | None = None,
) -> list[str]:  # fmt: skip
    """The variables to differentiate by. Raises ValueFault (E0902) for one that is not known.

    ``absent`` are declared variables that do not stand in the expression; ``mend`` is what to do
    where there is none.
    """
    if wrt is None and not known:
        raise ValueFault("E0902", "there is no variable to differentiate by", help=mend)
    wrt = known if wrt is None else wrt
    names = [x.strip() for x in wrt.split(",")] if isinstance(wrt, str) else list(wrt)
    for name in names:
        if name not in known and name not in absent:
            help = did_you_mean(name, known, f"its variables: {', '.join(known) or 'none'}", "`{}`")
            raise ValueFault("E0902", f"`{name}` is not a variable of this {what}", help=help)
    return names


def _along(
    path: Sequence[str], program: Program, steps: list[Step], shapes: Shapes, points: Points,
    check: bool, lower: set[str],
) -> tuple[Text, float]:  # fmt: skip
    """The derivative by one variable after the other, each time of the simplest form.

    Those of every order are added to ``lower``.
    """
    text = Text(program.names.module, 0)  # type: ignore[arg-type]
    error = 0.0
    given, shapes = shapes, without_symmetry(shapes, path)
    source, known = program.source, shapes
    for depth, name in enumerate(path, 1):
        v.reset()
        if depth > 1:
            steps, known, source = reread(text, shapes)
        tensor, dims = derivative(steps, known, name, source)
        if check:
            both = forms_at(tensor, dims, points.shrunk)
            text, error = _confirmed(*both, points, tuple(path[:depth]))
        else:
            text = forms(tensor, dims)[0]
        lower.add(text.key)
    if shapes is not given:
        return _rewritten(text, error, given, points if check else None, path)
    return text, error


def _rewritten(
    text: Text, error: float, shapes: Shapes, points: Points | None, path: Sequence[str]
) -> tuple[Text, float]:
    """A text in its simplest form with all that was declared; as it is where it has none."""
    try:
        tensor, dims = retraced(text, shapes)
        if points is None:
            again, off = forms(tensor, dims)[0], error
        else:
            again, off = _confirmed(*forms_at(tensor, dims, points.shrunk), points, tuple(path))
    except Fault:
        return text, error
    return (again, off) if again.cost <= text.cost else (text, error)


def _confirmed(
    options: Sequence[Text], small: Sequence[Text], points: Points, path: tuple[str, ...]
) -> tuple[Text, float]:
    """The shortest text that agrees with the engine at all points. Raises E0702 if none does."""
    known = points.at(path)
    if not known:
        raise no_closed_form("an expression for which no point of its domain was found to check at")
    more = []
    if _BRANCHES.search(options[0].key):
        more = points.wide(path, prepare(small[0].key))
    known, used = [*known, *more], known
    found = agreeing(options, small, known, points.sizes)
    if found[1][0] > TOLERANCE:
        used = points.steady(path)
        if not used:
            raise no_closed_form(
                "an expression whose derivative is all rounding where it was checked"
            )
        found = agreeing(options, small, [*used, *more], points.sizes)
    if found[1][0] > TOLERANCE and found[1][1] is not None:
        used = unspoiled(prepare(small[0].key), known, points.sizes)
        if not used:
            raise no_closed_form("an expression whose formula is all rounding where it was checked")
        found = agreeing(options, small, used, points.sizes)
    points.checked = min(points.checked, len(used))
    if found[1][0] <= TOLERANCE:
        turned = with_borders(found[0], options, small, known, points, path)
        options, small, borders, apart = turned
        points.elsewhere += apart
        return _lasting(found[1][0], options, small, [*known, *borders], points, path)
    if found[1][1] is None:
        raise no_closed_form("an expression whose formula has no value where it could be checked")
    raise withheld(*found, path)


_BRANCHES = re.compile(rf"\b(max|min|clamp|{'|'.join(sorted(PIECEWISE))})\(")
"""What has pieces of which usual points may see one only; abs has two that they see."""
_LOSES = re.compile(r"/|\b(exp|log|sinh|cosh|tanh|sigmoid|softmax|softmax0|(di|poly)gamma)\(")


def _lasting(
    error: float, options: Sequence[Text], small: Sequence[Text], known: Sequence[tuple],
    points: Points, path: tuple[str, ...],
) -> tuple[Text, float]:  # fmt: skip
    """The first text, or one at most twice as long that keeps its value at large and at tiny
    arguments where the text overflows or cancels: ``6/cosh(x)**4 - 4/cosh(x)**2`` for
    ``(6 - 4*cosh(x)**2)/cosh(x)**4``.

    Of those that do one as long that keeps what others round to 0: ``sigmoid(-x)``
    for ``1 - sigmoid(x)``.
    """
    text = options[0]
    if not _LOSES.search(text.key):
        return text, error
    far = points.far(path)
    sign = text.cost <= 8  # of a short text: -sigmoid(-x) for sigmoid(x) - 1
    best, answer = (text, error), prepare(small[0].key)
    most = Kept(answer, far, points.sizes)
    for other, checkable in zip(options, small, strict=True):
        if other.cost > 2 * text.cost + 1:
            break
        if most.sound == len(far) and other.cost > text.cost + sign:
            break
        if "einsum(" in other.key and "einsum(" not in text.key:
            continue  # arrays of more dimensions
        lasting = prepare(checkable.key)
        lasts = Kept(lasting, far, points.sizes)
        equal = lasts.worth > most.worth and other.cost <= text.cost + sign
        if equal or lasts.worth[:2] > most.worth[:2]:
            off = worst(lasting, known, points.sizes)[0]
            if off <= TOLERANCE:
                best, answer, most = (other, off), lasting, lasts
    told = Kept(answer, points.far(path, TOLD), points.sizes, doubted=100.0)
    points.lost[path] = most.lost + told.lost
    return best


def withheld(text: Text, off: Sequence[Any], path: Sequence[str]) -> RuntimeFault:
    """The fault (E0702) for a formula that is wrong, with both values (see ``verify.worst``)."""
    where = ",".join(path)
    said = (
        f"the closed form by {where} disagrees with the numeric gradient and is withheld: "
        f"{_shown(off[1])} by the formula, {_shown(off[2])} by the engine"
    )
    mend = "gradcli grad gives the gradient at numbers; please report this expression"
    mend += ", unless it reads a clock or draws random numbers"
    return RuntimeFault(WITHHELD, said, help=mend, notes=(f"the formula was {text.key}",))


def _shown(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else f"a value of shape {value.shape}"
