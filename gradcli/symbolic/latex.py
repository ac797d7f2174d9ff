"""Closed forms in LaTeX: scalars italic, vectors and matrices bold, nothing beyond amsmath.

Products of scalars are written side by side; entry by entry on tensors they are ``\\odot``, and a
power entry by entry is ``x^{\\odot 2}``. A choice is a ``cases`` environment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradcli.language import nodes as n
from gradcli.language.run import Program
from gradcli.symbolic.code_tables import index_text
from gradcli.symbolic.formula import Formula
from gradcli.symbolic.program import Step
from gradcli.symbolic.shapes import Declaration

ROW, SUM, SIGN, ENTRIES, PRODUCT, POWER, ATOM = range(7)
Piece = tuple[str, int]

_GREEK = frozenset((
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi",
    "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi",
    "Omega",
))  # fmt: skip
_ALSO = {"lam": "lambda", "lamb": "lambda", "eps": "varepsilon", "epsilon": "varepsilon"}
_FUNCTIONS = {
    "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "sinh": r"\sinh", "cosh": r"\cosh",
    "tanh": r"\tanh", "asin": r"\arcsin", "acos": r"\arccos", "atan": r"\arctan", "log": r"\log",
    "log2": r"\log_{2}", "log10": r"\log_{10}", "sigmoid": r"\sigma", "maximum": r"\max",
    "minimum": r"\min", "fmax": r"\max", "fmin": r"\min", "amax": r"\max", "amin": r"\min",
    "det": r"\det", "logdet": r"\log\det", "trace": r"\operatorname{tr}", "gamma": r"\Gamma",
}  # fmt: skip
_SQUARED = frozenset(("sin", "cos", "tan", "sinh", "cosh", "tanh"))
_COMPARED = {"lt": "<", "le": r"\le", "gt": ">", "ge": r"\ge", "eq": "=", "ne": r"\ne"}
_BRACKETS = {
    "abs": (r"\left\lvert ", r" \right\rvert"), "floor": (r"\left\lfloor ", r" \right\rfloor"),
    "ceil": (r"\left\lceil ", r" \right\rceil"),
}  # fmt: skip


def result_latex(result: Any, let: bool = True) -> str:
    """A Result's formulas; several, or one with names, as an aligned block."""
    parts = [(name, latex(text, result.declared, let)) for name, text in result.derivatives.items()]
    if len(parts) == 1 and not parts[0][1][1]:
        return parts[0][1][0]
    lines = []
    for name, (formula, bindings) in parts:
        front = f"{symbol_of_derivative(name, result)} &= " if len(parts) > 1 else "& "
        where = [f"& {a} = {b}" for a, b in bindings]
        if where:
            where[0] = r"& \quad\text{where } " + where[0][2:]
        lines += [front + formula, *where]
    body = " \\\\\n".join(lines)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


def symbol_of_derivative(key: str, result: Any, along: Mapping[str, str] | None = None) -> str:
    """``\\frac{\\partial f}{\\partial x}`` with the variable as the formula writes it.

    In a direction ``\\mathrm{D} f[v]``; ``along`` has its name for each variable.
    """
    names = key.split(",")
    order = result.order
    if along:
        ways = [symbol(d, result.declared[x].rank) for x, d in along.items()]
        power = "" if order == 1 else f"^{{{order}}}"
        return rf"\mathrm{{D}}{power} f\left[{', '.join(ways)}\right]"
    top = r"\partial f" if order == 1 else rf"\partial^{{{order}}} f"
    symbols = [symbol(x, result.declared[x].rank if x in result.declared else 0) for x in names]
    if len(names) == 1 and order > 1:
        return rf"\frac{{{top}}}{{\partial {symbols[0]}^{{{order}}}}}"
    below = r" \, ".join(rf"\partial {s}" for s in symbols)
    return rf"\frac{{{top}}}{{{below}}}"


def latex(
    expression: str | Program, declared: Mapping[str, Declaration], let: bool = True
) -> tuple[str, list[tuple[str, str]]]:
    """An expression in LaTeX, and what its names stand for.

    Raises a fault (E0701) for an operator that has no notation here.
    """
    formula = Formula([expression], declared, let)
    return _Writer(formula, declared).run()


def symbol(name: str, rank: int) -> str:
    """A variable: bold where it is a vector or a matrix, Greek letters by their names.

    Example:
        >>> symbol("mu_1", 0), symbol("x", 1)
        ('\\\\mu_{1}', '\\\\mathbf{x}')
    """
    head, _, below = name.partition("_")
    if not below and head[-1:].isdigit() and head.rstrip("0123456789"):
        stem = head.rstrip("0123456789")
        head, below = stem, head[len(stem) :]
    greek = _ALSO.get(head, head) if head in _ALSO or head in _GREEK else None
    if greek is not None:
        shown = rf"\boldsymbol{{\{greek}}}" if rank else rf"\{greek}"
    elif len(head) == 1:
        shown = rf"\mathbf{{{head}}}" if rank else head
    else:
        shown = rf"\mathbf{{{head}}}" if rank else rf"\mathit{{{head}}}"
    below = below.strip("_").replace("_", r"\_")
    return f"{shown}_{{{below}}}" if below else shown


class _Writer:
    def __init__(self, formula: Formula, declared: Mapping[str, Declaration]) -> None:
        self.formula = formula
        self.pieces: list[Piece] = []
        letters = formula.letters({*declared, *formula.names()})
        self.names = {i: symbol(x, formula.rank(i)) for i, x in letters.items()}

    def run(self) -> tuple[str, list[tuple[str, str]]]:
        """The formula and its names."""
        bindings = []
        for i, step in enumerate(self.formula.steps):
            piece = self.step(i, step)
            if i in self.names:
                bindings.append((self.names[i], piece[0]))
                piece = (self.names[i], ATOM)
            self.pieces.append(piece)
        return self.pieces[self.formula.roots[0]][0], bindings

    def at(self, i: int, asked: int = ROW) -> str:
        """A step's text, in brackets where it is looser than asked."""
        text, own = self.pieces[i]
        return _grouped(text) if own < asked else text

    def step(self, i: int, s: Step) -> Piece:
        """The text of a step and how tightly it holds together."""
        if s.op == "name":
            return symbol(s.value, self.formula.rank(i)), ATOM
        if s.op == "number":
            return _numeral(s.node), ATOM
        if s.op == "constant":
            return (r"\pi" if s.value == "pi" else r"\mathrm{e}"), ATOM
        if s.op in ("eye", "ones", "zeros"):
            return _made(s), ATOM
        method: Callable | None = getattr(self, f"do_{s.op}", None)
        if method is not None:
            return method(s)
        if s.op in _COMPARED:
            a, b = s.inputs
            return f"{self.at(a, SUM)} {_COMPARED[s.op]} {self.at(b, SUM)}", ROW
        if s.op in _BRACKETS:
            left, right = _BRACKETS[s.op]
            return left + self.at(s.inputs[0]) + right, ATOM
        return self.called(s)

    def called(self, s: Step) -> Piece:
        """A function with its arguments in brackets."""
        word = s.op.replace("_", r"\_")
        head = _FUNCTIONS.get(s.op, rf"\operatorname{{{word}}}")
        if s.params.get("dim") is not None:
            head += rf"_{{\mathrm{{dim}}\,{_listed(s.params['dim'])}}}"
        return head + _grouped(", ".join(self.at(k) for k in s.inputs)), ATOM

    # -- arithmetic ------------------------------------------------------------------------------

    def do_add(self, s: Step) -> Piece:
        a, b = s.inputs
        right = self.at(b, SUM)
        return f"{self.at(a, SUM)} + {_grouped(right) if right.startswith('-') else right}", SUM

    def do_sub(self, s: Step) -> Piece:
        a, b = s.inputs
        return f"{self.at(a, SUM)} - {self.at(b, ENTRIES)}", SUM

    def do_neg(self, s: Step) -> Piece:
        return f"-{self.at(s.inputs[0], ENTRIES)}", SIGN

    def first(self, i: int, asked: int) -> tuple[str, str]:
        """A first factor: its sign, which may stand in front of the product, and the rest."""
        text, own = self.pieces[i]
        if own == SIGN and text.startswith("-"):
            inner = self.formula.steps[i]
            if inner.op == "neg":
                return "-", self.at(inner.inputs[0], asked)
        return "", self.at(i, asked)

    def do_mul(self, s: Step) -> Piece:
        a, b = s.inputs
        entries = bool(self.formula.rank(a) and self.formula.rank(b))
        level = ENTRIES if entries else PRODUCT
        sign, left = self.first(a, level)
        right = self.at(b, level)
        text = rf"{left} \odot {right}" if entries else _beside(left, right)
        return sign + text, SIGN if sign else level

    def do_div(self, s: Step) -> Piece:
        a, b = s.inputs
        if self.formula.rank(b):
            sign, top = self.first(a, ENTRIES)
            return rf"{sign}{top} \oslash {self.at(b, POWER)}", SIGN if sign else ENTRIES
        sign, top = self.first(a, ROW)
        return rf"{sign}\frac{{{top}}}{{{self.at(b)}}}", SIGN if sign else PRODUCT

    def do_reciprocal(self, s: Step) -> Piece:
        if self.formula.rank(s.inputs[0]):
            return self.raised(s.inputs[0], "-1")
        return rf"\frac{{1}}{{{self.at(s.inputs[0])}}}", PRODUCT

    def do_pow(self, s: Step) -> Piece:
        a, b = s.inputs
        below, exponent = self.formula.steps[a], self.formula.steps[b]
        if (
            below.op in _SQUARED and exponent.op == "number" and a not in self.names
            and isinstance(exponent.node.value, int) and exponent.node.value > 1
            and not self.formula.rank(a)
        ):  # fmt: skip
            head = _FUNCTIONS[below.op]
            inside = _grouped(self.at(below.inputs[0]))
            return f"{head}^{{{exponent.node.value}}}{inside}", ATOM
        return self.raised(a, self.at(b))

    def raised(self, i: int, exponent: str) -> Piece:
        """A power; of a tensor, entry by entry."""
        mark = r"\odot " if self.formula.rank(i) else ""
        return f"{self.at(i, ATOM)}^{{{mark}{exponent}}}", POWER

    def do_square(self, s: Step) -> Piece:
        return self.raised(s.inputs[0], "2")

    def do_sqrt(self, s: Step) -> Piece:
        return rf"\sqrt{{{self.at(s.inputs[0])}}}", ATOM

    def do_cbrt(self, s: Step) -> Piece:
        return rf"\sqrt[3]{{{self.at(s.inputs[0])}}}", ATOM

    def do_rsqrt(self, s: Step) -> Piece:
        return rf"\frac{{1}}{{\sqrt{{{self.at(s.inputs[0])}}}}}", PRODUCT

    def do_exp(self, s: Step) -> Piece:
        if self.formula.rank(s.inputs[0]):
            return r"\exp" + _grouped(self.at(s.inputs[0])), ATOM
        return rf"\mathrm{{e}}^{{{self.at(s.inputs[0])}}}", POWER

    def do_exp2(self, s: Step) -> Piece:
        return rf"2^{{{self.at(s.inputs[0])}}}", POWER

    def do_where(self, s: Step) -> Piece:
        c, a, b = (self.at(k) for k in s.inputs)
        rows = rf"{a} & \text{{if }} {c} \\ {b} & \text{{otherwise}}"
        return rf"\begin{{cases}} {rows} \end{{cases}}", ATOM

    def do_logical_and(self, s: Step) -> Piece:
        return rf"{self.at(s.inputs[0], SUM)} \land {self.at(s.inputs[1], SUM)}", ROW

    def do_logical_or(self, s: Step) -> Piece:
        return rf"{self.at(s.inputs[0], SUM)} \lor {self.at(s.inputs[1], SUM)}", ROW

    def do_logical_not(self, s: Step) -> Piece:
        return rf"\lnot {self.at(s.inputs[0], ATOM)}", ROW

    def do_clone(self, s: Step) -> Piece:
        return self.pieces[s.inputs[0]]

    # -- matrices --------------------------------------------------------------------------------

    def do_matmul(self, s: Step) -> Piece:
        a, b = s.inputs
        sign, left = self.first(a, PRODUCT)
        if self.formula.rank(a) == 1:
            sign, left = "", self.turned(a)
        return sign + _beside(left, self.at(b, PRODUCT)), SIGN if sign else PRODUCT

    do_dot = do_matmul

    def do_outer(self, s: Step) -> Piece:
        return _beside(self.at(s.inputs[0], PRODUCT), self.turned(s.inputs[1])), PRODUCT

    def turned(self, i: int) -> str:
        """The transpose; of an inverse, with one exponent."""
        text = self.at(i, ATOM)
        s = self.formula.steps[i]
        if s.op == "inv" and i not in self.names:
            return f"{self.at(s.inputs[0], ATOM)}^{{-\\top}}"
        return rf"{text}^{{\top}}"

    def do_reverse_dims(self, s: Step) -> Piece:
        if self.formula.rank(s.inputs[0]) < 2:
            return self.pieces[s.inputs[0]]
        return self.turned(s.inputs[0]), POWER

    do_mT = do_reverse_dims

    def do_inv(self, s: Step) -> Piece:
        return f"{self.at(s.inputs[0], ATOM)}^{{-1}}", POWER

    def do_solve(self, s: Step) -> Piece:
        return _beside(
            f"{self.at(s.inputs[0], ATOM)}^{{-1}}", self.at(s.inputs[1], PRODUCT)
        ), PRODUCT

    def do_undiagonal(self, s: Step) -> Piece:
        return r"\operatorname{diag}" + _grouped(self.at(s.inputs[0])), ATOM

    do_diagonal = do_undiagonal

    def do_norm(self, s: Step) -> Piece:
        p = s.params.get("p", 2)
        rank = self.formula.rank(s.inputs[0])
        mark = "" if p in (2, "fro", None) else rf"_{{{_numeral_of(p)}}}"
        if s.params.get("dim") is not None:
            inner = "" if p in (2, "fro", None) else f"{_numeral_of(p)}, "
            mark = rf"_{{{inner}\mathrm{{dim}}\,{s.params['dim']}}}"
        elif not mark and rank == 2:
            mark = "_{F}"
        return rf"\left\lVert {self.at(s.inputs[0])} \right\rVert{mark}", ATOM

    def do_sum(self, s: Step) -> Piece:
        (i,) = s.inputs
        rank = self.formula.rank(i)
        if s.params.get("dim") is not None or not 0 < rank < 3:
            return self.called(s)
        used = {k.value for k in self.formula.steps if k.op == "name"}
        free = [x for x in "ijklmnpq" if x not in used][:rank]
        index = ",".join(free)
        return rf"\sum_{{{index}}} {self.at(i, ATOM)}_{{{index}}}", SUM

    def do_einsum(self, s: Step) -> Piece:
        labels = str(s.params.get("labels") or s.params.get("equation") or s.value or "")
        where = labels.replace("->", r" \to ")
        inside = _grouped(", ".join(self.at(k) for k in s.inputs))
        return rf"\operatorname{{einsum}}_{{{where}}}{inside}", ATOM

    do_contract = do_einsum

    def do_getitem(self, s: Step) -> Piece:
        inner = self.at(s.inputs[0], ATOM)
        inner = f"{{{inner}}}" if "_" in inner else inner  # one index below another
        return f"{inner}_{{{index_text(s.params['index'])}}}", ATOM

    def do_stack(self, s: Step) -> Piece:
        if s.params.get("dim", 0) or self.formula.rank(s.inputs[0]) > 1:
            return self.called(s)
        rows = []
        for i in s.inputs:
            inner = self.formula.steps[i]
            whole = inner.op == "stack" and not inner.params.get("dim", 0) and i not in self.names
            if self.formula.rank(i):
                rows.append(
                    " & ".join(self.at(k) for k in inner.inputs) if whole else self.turned(i)
                )
            else:
                rows.append(self.at(i))
        body = r" \\ ".join(rows)
        return rf"\begin{{pmatrix}} {body} \end{{pmatrix}}", ATOM

    def do_cat(self, s: Step) -> Piece:
        if s.params.get("dim", 0):
            return self.called(s)
        rows = r" \\ ".join(self.at(i) for i in s.inputs)
        return rf"\begin{{pmatrix}} {rows} \end{{pmatrix}}", ATOM

    def do_pad(self, s: Step) -> Piece:
        inner = _grouped(self.at(s.inputs[0]))
        return rf"\operatorname{{pad}}_{{{', '.join(map(str, s.params['pad']))}}}{inner}", ATOM

    def do_tril(self, s: Step) -> Piece:
        k = s.params.get("diagonal", 0)
        head = rf"\operatorname{{{s.op}}}" + (f"_{{{k}}}" if k else "")
        return head + _grouped(self.at(s.inputs[0])), ATOM

    do_triu = do_tril

    def do_roll(self, s: Step) -> Piece:
        head = rf"\operatorname{{roll}}_{{{s.params.get('shifts', 1)}}}"
        return head + _grouped(self.at(s.inputs[0])), ATOM


def _grouped(text: str) -> str:
    return rf"\left({text}\right)"


def _beside(left: str, right: str) -> str:
    """Two factors; a dot where figures would run together."""
    figures = right[:1].isdigit() or (left[-1:].isdigit() and right.startswith(r"\frac{"))
    return f"{left} \\cdot {right}" if figures else f"{left} {right}"


def _made(s: Step) -> str:
    sizes = r" \times ".join(symbol(d, 0) if d.isidentifier() else d for d in s.value)
    letter = {"eye": "I", "ones": "1", "zeros": "0"}[s.op]
    return rf"\mathbf{{{letter}}}_{{{sizes}}}"


def _numeral(node: n.Node) -> str:
    return _numeral_of(node.value)  # type: ignore[attr-defined]


def _numeral_of(value: Any) -> str:
    if value == float("inf"):
        return r"\infty"
    text = repr(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        text = text.removesuffix(".0")
    mantissa, e, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if e else text


def _listed(dim: Any) -> str:
    dims: Sequence[Any] = dim if isinstance(dim, tuple | list) else (dim,)
    return ",".join(map(str, dims))
