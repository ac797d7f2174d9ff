"""What mathematics calls each operator: a head to stand before its arguments in brackets.

An operator that is neither here nor a method of the writer has no notation: E0701 says so. A
parameter is either in the head or is one that only the default of has a notation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradcli.ops import OPERATORS
from gradcli.ops.errors import RuntimeFault
from gradcli.symbolic.latex_text import listed, numeral
from gradcli.symbolic.unsupported import NO_CLOSED_FORM

Head = str | Callable[[Mapping[str, Any], int], str | None]


def word(name: str) -> str:
    """A name in upright letters."""
    return rf"\operatorname{{{name}}}"


def parameters(op: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a step, those that were not given as the operator has them."""
    known = OPERATORS[op].params if op in OPERATORS else {}
    return {**known, **given}


def _along(head: str) -> Head:
    """A function along a dimension; of a vector there is only one."""

    def entry(params: Mapping[str, Any], rank: int) -> str:
        dim = params.get("dim")
        return head if dim is None or rank < 2 else rf"{head}_{{\mathrm{{dim}}\,{listed(dim)}}}"

    return entry


def _spread(head: str) -> Head:
    """A variance, with its correction where that is not 1."""

    def entry(params: Mapping[str, Any], rank: int) -> str:
        marks = []
        if params.get("dim") is not None and rank > 1:
            marks.append(rf"\mathrm{{dim}}\,{listed(params['dim'])}")
        if params.get("correction", 1) != 1:
            marks.append(rf"\mathrm{{correction}}\,{numeral(params['correction'])}")
        return head + (f"_{{{', '.join(marks)}}}" if marks else "")

    return entry


def _rolled(params: Mapping[str, Any], rank: int) -> str:
    mark = listed(params["shifts"])
    if params["dims"] is not None and rank > 1:
        mark += rf", \mathrm{{dim}}\,{listed(params['dims'])}"
    return rf"\operatorname{{roll}}_{{{mark}}}"


def _flipped(params: Mapping[str, Any], rank: int) -> str:
    if params["dims"] is None or rank < 2:
        return word("flip")
    return rf"\operatorname{{flip}}_{{\mathrm{{dim}}\,{listed(params['dims'])}}}"


def _slope(params: Mapping[str, Any], rank: int) -> str:
    n = params["n"]
    return word("sinc") + ("'" if n == 1 else f"^{{({n})}}")


def _pinv(params: Mapping[str, Any], rank: int) -> str | None:
    return word("pinv") if params["rtol"] is None and not params["atol"] else None


def _triangle(name: str) -> Head:
    return lambda p, rank: word(name) + (f"_{{{p['diagonal']}}}" if p["diagonal"] else "")


HEADS: dict[str, Head] = {
    "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "sinh": r"\sinh", "cosh": r"\cosh",
    "tanh": r"\tanh", "asin": r"\arcsin", "acos": r"\arccos", "atan": r"\arctan",
    "asinh": word("arsinh"), "acosh": word("arcosh"), "atanh": word("artanh"), "log": r"\log",
    "log2": r"\log_{2}", "log10": r"\log_{10}", "sigmoid": r"\sigma", "logsigmoid": r"\log\sigma",
    "maximum": r"\max", "minimum": r"\min", "fmax": r"\max", "fmin": r"\min",
    "det": r"\det", "logdet": r"\log\det", "trace": word("tr"), "adjugate": word("adj"),
    "detsign": r"\operatorname{sign}\det", "matrix_exp": word("expm"), "cholesky": word("chol"),
    "eigvalsh": r"\boldsymbol{\lambda}", "svdvals": r"\boldsymbol{\sigma}", "pinv": _pinv,
    "gamma": r"\Gamma", "lgamma": r"\log\Gamma", "digamma": r"\psi", "zeta": r"\zeta",
    "polygamma": lambda p, rank: rf"\psi^{{({p['n']})}}",
    "gammainc": "P", "gammaincc": "Q", "erf": word("erf"), "erfc": word("erfc"),
    "erfcx": word("erfcx"), "erfinv": r"\operatorname{erf}^{-1}", "ndtr": r"\Phi",
    "ndtri": r"\Phi^{-1}", "log_ndtr": r"\log\Phi", "i0": "I_{0}", "i1": "I_{1}",
    "bessel_j0": "J_{0}", "bessel_j1": "J_{1}", "bessel_i": lambda p, rank: f"I_{{{p['n']}}}",
    "bessel_j": lambda p, rank: f"J_{{{p['n']}}}", "sinc": word("sinc"), "sinc_slope": _slope,
    "i0e": word("i0e"), "i1e": word("i1e"),
    "bessel_ie": lambda p, rank: rf"\operatorname{{ie}}_{{{p['n']}}}",
    "sign": word("sign"), "round": word("round"), "trunc": word("trunc"), "frac": word("frac"),
    "entr": word("entr"), "logit": word("logit"), "softplus": word("softplus"),
    "softsign": word("softsign"), "relu": word("relu"), "atan2": word("atan2"),
    "heaviside": word("heaviside"), "logaddexp": word("logaddexp"), "imag": r"\operatorname{Im}",
    "real": r"\operatorname{Re}", "signbit": word("signbit"), "isnan": word("isnan"),
    "isinf": word("isinf"), "isfinite": word("isfinite"),
    "leaky_relu": lambda p, rank: (
        rf"\operatorname{{LeakyReLU}}_{{{numeral(p['negative_slope'])}}}"
    ),
    "elu": lambda p, rank: rf"\operatorname{{ELU}}_{{{numeral(p['alpha'])}}}",
    "softmax": _along(word("softmax")), "log_softmax": _along(r"\log\operatorname{softmax}"),
    "logsumexp": _along(word("logsumexp")), "mean": _along(word("mean")),
    "prod": _along(word("prod")), "amax": _along(r"\max"), "amin": _along(r"\min"),
    "all": _along(word("all")), "any": _along(word("any")), "argmax": _along(r"\arg\max"),
    "argmin": _along(r"\arg\min"), "count_nonzero": _along(word("nnz")),
    "cumsum": _along(word("cumsum")), "sum": _along(word("sum")),
    "var": _spread(word("var")), "std": _spread(word("std")),
    "roll": _rolled, "flip": _flipped, "tril": _triangle("tril"), "triu": _triangle("triu"),
    "diag": word("diag"), "diagonal": word("diag"),
}  # fmt: skip

ENTRYWISE = frozenset((
    "maximum", "minimum", "fmax", "fmin", "atan2", "heaviside", "logaddexp", "zeta", "gammainc",
    "gammaincc",
))  # fmt: skip
"""Functions of several arguments, entry by entry: vectors among matrices are spread."""
SQUARED = frozenset(("sin", "cos", "tan", "sinh", "cosh", "tanh", "log"))
"""Functions whose powers stand before the argument."""
COMPARED = {"lt": "<", "le": r"\le", "gt": ">", "ge": r"\ge", "eq": "=", "ne": r"\ne"}
BRACKETS = {
    "abs": (r"\left\lvert ", r" \right\rvert"), "floor": (r"\left\lfloor ", r" \right\rfloor"),
    "ceil": (r"\left\lceil ", r" \right\rceil"),
}  # fmt: skip


def no_notation(op: str, how: str = "") -> RuntimeFault:
    """The fault (E0701) for an operator that mathematics has no short word for."""
    return RuntimeFault(
        NO_CLOSED_FORM, f"`{op}`{how} has no notation in LaTeX",
        help="without --latex the formula is written in the language",
    )  # fmt: skip
