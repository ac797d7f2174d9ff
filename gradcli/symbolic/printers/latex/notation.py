"""LaTeX notation: names, numbers, factors and products, and how mathematics writes each operator.

A product is a list of factors, so that a scalar in it can move to the front, a sign out of it, and
equal matrices side by side become a power. How a function is written stands on its operator's
declaration (``Operator.latex``); one with neither that nor a method of the writer, and whose
parameters are not numbers, has no notation (E0701).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from gradcli.ops import OPERATORS
from gradcli.ops.errors import RuntimeFault
from gradcli.symbolic.expr import sizes
from gradcli.symbolic.unsupported import NO_CLOSED_FORM

ROW, SUM, SIGN, ENTRIES, PRODUCT, POWER, ATOM = range(7)
"""How tightly a text holds together: an argument, a sum, a signed term, ``a \\odot b``, ..."""
NUMBER, CONSTANT, SCALAR, OPEN, TENSOR = range(5)
"""What a factor is; one that is OPEN is a scalar that takes what follows it for a part of it."""

_GREEK = frozenset((
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi",
    "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi",
    "Omega",
))  # fmt: skip
_ALSO = {"lam": "lambda", "lamb": "lambda", "eps": "varepsilon", "epsilon": "varepsilon"}
_MARKS = {(False, False): "", (True, False): "^{-1}", (False, True): r"^{\top}"}
_BOTH = r"^{-\top}"


class Factor:
    """A factor of a product: its text and tightness, its kind, and how it turns.

    base        for a power of a matrix the text below the exponent
    inverse     whether the exponent is -1
    turned      whether it is a transpose
    symmetric   whether it is its own transpose
    merges      whether a neighbour equal to it makes it a square
    """

    __slots__ = ("base", "inverse", "kind", "level", "merges", "symmetric", "text", "turned")

    def __init__(
        self, text: str, kind: int, level: int = ATOM, *, base: str | None = None,
        inverse: bool = False, turned: bool = False, symmetric: bool = False,
        merges: bool = False,
    ) -> None:  # fmt: skip
        self.text = text
        self.kind = kind
        self.level = level
        self.base = base if base is not None else text if level >= ATOM else grouped(text)
        self.inverse = inverse
        self.turned = turned
        self.symmetric = symmetric
        self.merges = merges

    def marked(self, inverse: bool, turned: bool) -> Factor:
        """The same base as it is, inverted, transposed or both."""
        mark = _MARKS.get((inverse, turned), _BOTH)
        return Factor(
            self.base + mark, self.kind, POWER if mark else ATOM, base=self.base, inverse=inverse,
            turned=turned, symmetric=self.symmetric, merges=self.merges,
        )  # fmt: skip

    def transposed(self) -> Factor:
        """The transpose, without a double one."""
        return self if self.symmetric else self.marked(self.inverse, not self.turned)

    def inverted(self) -> Factor:
        """The inverse."""
        return self.marked(not self.inverse, self.turned)


def joined(factors: Iterable[Factor]) -> tuple[str, int]:
    """A product's text and tightness: numbers first, then scalars, then the others in order."""
    ordered = sorted(factors, key=lambda f: min(f.kind, SCALAR) + (f.kind == TENSOR))
    parts: list[Factor] = []
    for _, run in groupby(ordered, key=lambda f: (f.text, f.merges)):
        same = list(run)
        if len(same) > 1 and same[0].merges and not same[0].turned:
            power = f"{'-' if same[0].inverse else ''}{len(same)}"
            same = [Factor(f"{same[0].base}^{{{power}}}", same[0].kind, POWER)]
        parts += same
    if len(parts) == 1 and parts[0].kind != OPEN:
        return parts[0].text, parts[0].level
    if len(parts) > 1 and parts[0].kind == NUMBER and parts[0].text == "1":
        del parts[0]
    said = ""
    for place, f in enumerate(parts):
        last = place == len(parts) - 1
        text = grouped(f.text) if f.level < PRODUCT or (f.kind == OPEN and not last) else f.text
        said = beside(said, text) if said else text
    return said, parts[0].level if len(parts) == 1 and parts[0].level > PRODUCT else PRODUCT


class Piece(NamedTuple):
    """The text of a step without its sign, how tightly it holds, its sign, and its factors."""

    text: str
    level: int
    negative: bool = False
    factors: Sequence[Factor] | None = None

    @classmethod
    def product(cls, factors: Sequence[Factor], negative: bool = False) -> Piece:
        """The piece that a list of factors makes."""
        return cls(*joined(factors), negative, factors)

    @classmethod
    def open(cls, text: str) -> Piece:
        """A scalar that takes what follows it for a part of it, a sum or a choice."""
        return cls(text, SUM, False, [Factor(text, OPEN, PRODUCT)])

    def shown(self, asked: int) -> str:
        """The text with its sign, in brackets where it is looser than asked."""
        text = f"-{self.text}" if self.negative else self.text
        level = min(SIGN, self.level) if self.negative else self.level
        return grouped(text) if level < asked else text

    def body(self, asked: int) -> str:
        """The text without its sign."""
        return grouped(self.text) if self.level < asked else self.text


def grouped(text: str) -> str:
    """A text in brackets that grow with it."""
    return rf"\left({text}\right)"


def beside(left: str, right: str) -> str:
    """Two factors; a dot where figures would run together."""
    figures = right[:1].isdigit() or (left[-1:].isdigit() and right.startswith(r"\frac{"))
    return f"{left} \\cdot {right}" if figures else f"{left} {right}"


def below(text: str, index: str) -> str:
    """A text with an index; one that has an index already goes into a group first."""
    return f"{{{text}}}_{{{index}}}" if "_" in text else f"{text}_{{{index}}}"


def symbol(name: str, rank: int) -> str:
    """A variable: bold where it is a vector or a matrix, Greek letters by their names.

    Example:
        >>> symbol("mu_1", 0), symbol("x", 1)
        ('\\\\mu_{1}', '\\\\mathbf{x}')
    """
    head, _, under = name.partition("_")
    if not under and head[-1:].isdigit() and head.rstrip("0123456789"):
        stem = head.rstrip("0123456789")
        head, under = stem, head[len(stem) :]
    greek = _ALSO.get(head, head) if head in _ALSO or head in _GREEK else None
    if greek is not None:
        shown = rf"\boldsymbol{{\{greek}}}" if rank else rf"\{greek}"
    elif len(head) == 1:
        shown = rf"\mathbf{{{head}}}" if rank else head
    else:
        shown = rf"\mathbf{{{head}}}" if rank else rf"\mathit{{{head}}}"
    under = under.strip("_").replace("_", r"\_")
    return f"{shown}_{{{under}}}" if under else shown


def size(text: str) -> str:
    """A size: a name, a number, or sums and products of them."""
    said = ""
    for names, number in sizes.terms(text).items():
        parts = [symbol(k, 0) if k.isidentifier() else _halved(k) for k in names]
        front = [] if abs(number) == 1 and parts else [str(abs(number))]
        sign = (" - " if number < 0 else " + ") if said else "-" if number < 0 else ""
        said += sign + " ".join([*front, *parts])
    return said or "0"


def _halved(name: str) -> str:
    inner, _, step = name[2:-1].rpartition(")//")
    return rf"\left\lfloor ({inner})/{step} \right\rfloor"


def numeral(value: Any) -> str:
    """A number as a person writes it."""
    if value == float("inf"):
        return r"\infty"
    if value == -float("inf"):
        return r"-\infty"
    text = repr(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        text = text.removesuffix(".0")
    mantissa, e, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if e else text


def listed(values: Any) -> str:
    """One or several whole numbers, with commas."""
    return ",".join(map(str, values if isinstance(values, tuple | list) else (values,)))


def word(name: str) -> str:
    """A name in upright letters."""
    return r"\operatorname{" + name.replace("_", r"\_") + "}"


def parameters(op: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a step, those that were not given as the operator has them."""
    known = OPERATORS[op].params if op in OPERATORS else {}
    return {**known, **given}


def head(name: str, given: Mapping[str, Any], rank: int) -> str | None:
    """What stands before a function's arguments, or a text with ``{x}`` for the argument.

    As the operator's declaration has it, else its name in upright letters; parameters that neither
    mentions, and that are not the usual ones, stand below it. None where there is no notation.
    """
    op = OPERATORS.get(name)
    if op is None:
        return word(name) if name == "diag" else None
    params = {**op.params, **given}
    if callable(op.latex):
        return op.latex(params, rank)
    by_entry = op.entrywise and (not op.params or op.kind == "elementwise")
    if not (op.latex or op.core or by_entry or "keepdim" in params):
        return None
    text = op.latex or word(name)
    marks = []
    for key, value in params.items():
        if "{" + key + "}" in text:
            text = text.replace("{" + key + "}", numeral(value))
        elif key in ("dim", "dims"):
            marks += [rf"\mathrm{{dim}}\,{listed(value)}"] if value is not None and rank > 1 else []
        elif key != "keepdim" and value != op.params[key]:
            if not isinstance(value, int | float):
                return None
            marks.append(rf"\mathrm{{{key}}}\,{numeral(value)}")
    return text + (f"_{{{', '.join(marks)}}}" if marks else "")


def spreads(name: str) -> bool:
    """Whether a function takes several arguments entry by entry: vectors broadcast to matrices."""
    return name in OPERATORS and OPERATORS[name].entrywise and OPERATORS[name].arity > 1


def power_before(name: str) -> str | None:
    r"""The name of a function whose powers stand before the argument: ``\sin^2(x)``.

    These are the functions of one number that LaTeX has a name for, inverse ones apart:
    ``\arcsin^{-1}`` says nothing.
    """
    op = OPERATORS.get(name)
    if op is None or not op.entrywise or op.arity > 1 or not isinstance(op.latex, str):
        return None
    known = re.fullmatch(r"\\((?!arc)[a-z]+)", op.latex)
    return op.latex if known is not None and known[1] not in _GREEK else None


def no_notation(op: str, how: str = "") -> RuntimeFault:
    """The fault (E0701) for an operator that mathematics has no short word for."""
    mend = "without --latex the formula is written in the language"
    return RuntimeFault(NO_CLOSED_FORM, f"`{op}`{how} has no notation in LaTeX", help=mend)
