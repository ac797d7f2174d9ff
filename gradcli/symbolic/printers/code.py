"""Closed forms as complete functions for NumPy, PyTorch and JAX: value and derivative in one.

Parts that both use are computed once. What a library has no function for becomes a small function
above; its name begins with an underscore, which no variable of the language does.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gradcli.language.runtime.run import Program
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax import printer as p
from gradcli.ops.errors import RuntimeFault, ValueFault
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.emit.slices import size_text
from gradcli.symbolic.expr.sizes import is_plain, solved
from gradcli.symbolic.expr.sizes import names as names_of
from gradcli.symbolic.printers.formula import FREE, TRANSPOSES, Formula
from gradcli.symbolic.printers.library_names import has_call, index_text, library_call, value_text
from gradcli.symbolic.program.let import fresh_names
from gradcli.symbolic.program.steps import COMPARISON, MOST_TERMS, Step
from gradcli.symbolic.shapes.declarations import Declaration
from gradcli.symbolic.unsupported import NO_CLOSED_FORM, too_large

TARGETS = {"numpy": ("numpy", "np"), "torch": ("torch", "torch"), "jax": ("jax.numpy", "jnp")}
SPECIAL = {
    "numpy": "from scipy import special", "torch": "from torch import special",
    "jax": "from jax.scipy import special",
}  # fmt: skip
_SIGNS = {
    op.name for op in OPERATORS.values()
    if op.entrywise and op.infix and library_call("numpy", op.name, {}, 0) == op.infix
}  # fmt: skip
LIGHT = frozenset((*_SIGNS, "neg", "getitem", *TRANSPOSES))
"""Operators that may well be written twice."""
_SPECIAL = re.compile(r"(?<![\w.])special\.")
Piece = tuple[str, int]


def function_text(
    target: str, program: Program, derivatives: Mapping[str, str], order: int,
    declared: Mapping[str, Declaration], title: str, constants: Mapping[str, Any] | None = None,
) -> str:  # fmt: skip
    """The source of a module with one function ``f`` of all variables.

    target        "numpy", "torch" or "jax"
    derivatives   expressions by variable, as ``Result.derivatives`` has them
    constants     arrays by the names that stand for them in the expressions

    Raises ValueFault (E0907) for another target, E0701 for an operator that has no counterpart and
    for a sum that is too long.
    """
    if target not in TARGETS:
        raise ValueFault(
            "E0907", f"--code {target}: no such target", help=f"one of {', '.join(TARGETS)}"
        )
    sums = (node for node in n.walk(program.names.module) if isinstance(node, n.Sum))
    if any(len(total.order) > MOST_TERMS for total in sums):
        raise too_large()
    formula = Formula([program, *derivatives.values()], declared, light=LIGHT)
    wrt = list(derivatives)
    return _Writer(target, formula, wrt, order, declared, title, constants or {}).text()


class _Writer:
    def __init__(
        self, target: str, formula: Formula, wrt: Sequence[str], order: int,
        declared: Mapping[str, Declaration], title: str, constants: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.formula = formula
        self.constants = constants
        self.declared = declared
        self.title = title
        known = {
            name for d in declared.values() for size in d.dims for name in names_of(size or "")
        }
        self.params = [k for k in declared if k not in constants]
        self.params += sorted(formula.names() - known - declared.keys())
        self.torch = target == "torch"
        self.target = target
        self.typed = f", dtype={self.params[0]}.dtype" if self.torch and self.params else ""
        taken = {*self.params, *constants, *formula.names()}
        module, alias = TARGETS[target]
        self.alias = alias = _free(alias, taken)
        self.imports = [f"import {module}" if alias == module else f"import {module} as {alias}"]
        self.math = _free("math", taken)
        self.uses_math = False
        self.special = _free("special", taken)
        self.uses_special = False
        self.helpers: dict[str, str] = {}
        self.pieces: list[Piece] = []
        self.plain: list[bool] = []
        taken |= {self.alias, self.math, self.special, "f"}
        self.results = ["value", *self._result_names(wrt, order)]
        for i, name in enumerate(self.results):
            self.results[i] = _free(name, taken)
            taken.add(self.results[i])
        self.locals = formula.letters(taken)
        self.decompositions: dict[tuple, str] = {}
        self.fresh = fresh_names({*taken, *self.locals.values()})
        self.computed: dict[int, str] = {}  # the first result of each step, as a name for it
        for name, root in zip(self.results, formula.roots, strict=True):
            if formula.steps[root].op not in FREE:
                self.computed.setdefault(root, name)

    @staticmethod
    def _result_names(wrt: Sequence[str], order: int) -> list[str]:
        if len(wrt) == 1 and order == 1:
            return ["gradient"]
        head = "d" if order == 1 else f"d{order}"
        return [f"{head}_{k.replace(',', '_')}" for k in wrt]

    # -- the module ------------------------------------------------------------------------------

    def text(self) -> str:
        """The whole source."""
        body = self.body()
        imports = [f"import math as {self.math}".removesuffix(" as math")] if self.uses_math else []
        lines = [*imports, *([""] if imports else []), *self.imports]
        if self.uses_special:
            known_as = "" if self.special == "special" else f" as {self.special}"
            lines.append(SPECIAL[self.target] + known_as)
        lines.append("")
        for source in self.helpers.values():
            lines += ["", *self.qualified(source).splitlines(), ""]
        lines += ["", f"def f({', '.join(self.params)}):", *(f"    {x}".rstrip() for x in body)]
        return "\n".join(lines) + "\n"

    def body(self) -> list[str]:
        """The docstring and the statements."""
        formula = self.formula
        lines: list[str] = []
        decomposed = Counter((s.op, s.inputs) for s in formula.steps if "part" in s.params)
        for i, step in enumerate(formula.steps):
            piece, plain = self.step(step)
            whole = (step.op, step.inputs)
            if decomposed[whole] > 1:  # once for all its parts
                call, _, part = piece[0].rpartition("[")
                if whole not in self.decompositions:
                    self.decompositions[whole] = next(self.fresh)
                    lines.append(f"{self.decompositions[whole]} = {call}")
                piece = (f"{self.decompositions[whole]}[{part}", p.POSTFIX)
            name = self.locals.get(i) or (None if plain else self.computed.get(i))
            if name is not None:
                lines.append(f"{name} = {piece[0]}")
                piece = (name, p.ATOM)
            self.pieces.append(piece)
            self.plain.append(plain)
        for name, root in zip(self.results, formula.roots, strict=True):
            if self.pieces[root][0] != name:
                lines.append(f"{name} = {self.full(root)}")
        read = self.formula.names()
        sizes = [f"{d} = {where}" for d, where in self.sizes() if d in read]
        fixed = [f"{k} = {self.array(x)}" for k, x in self.constants.items() if k in read]
        return [*self.docstring(), *fixed, *sizes, *lines, f"return {', '.join(self.results)}"]

    def array(self, constant: Any) -> str:
        """An array of the program, to the last digit."""
        numbers = re.sub(r"\b(inf|nan)\b", rf"{self.alias}.\1", repr(constant.tolist()))
        if not self.torch:
            return f"{self.alias}.array({numbers})"
        like = f", dtype={self.params[0]}.dtype" if constant.dtype.kind == "f" else ""
        return f"{self.alias}.tensor({numbers}{like}, device={self.params[0]}.device)"

    def full(self, root: int) -> str:
        """A result. A plain number becomes what the library returns."""
        text = self.pieces[root][0]
        if self.plain[root]:
            make = "as_tensor" if self.torch else "asarray"
            return f"{self.alias}.{make}(float({text}){self.typed})"
        return text

    def docstring(self) -> list[str]:
        """What goes in and out, with shapes."""
        width = max((len(k) for k in self.params), default=0)
        kinds = {k: _kind(d) for k, d in self.declared.items()}
        said = [f"{k:<{width}}   {kinds.get(k, 'size')}" for k in self.params]
        results = ", ".join(
            f"{name}: {_shape(self.formula.dims[r])}"
            for name, r in zip(self.results, self.formula.roots, strict=True)
        )
        title = self.title.replace("\\", "\\\\").replace('"""', "'''")
        return [f'"""{title}', "", *said, "", f"Returns {results}.", '"""']

    def sizes(self) -> list[tuple[str, str]]:
        """Where each named dimension is read from."""
        found: dict[str, str] = {}
        for name, d in self.declared.items():
            for axis, size in enumerate(d.dims):
                if size.isidentifier() and size not in self.declared:
                    found.setdefault(size, f"{name}.shape[{axis}]")
        for name, d in self.declared.items():
            for axis, size in enumerate(d.dims):
                solution = None if is_plain(size) else solved(size, 0)
                if solution is not None and solution[0] not in self.declared:
                    more = -solution[1]
                    found.setdefault(
                        solution[0], f"{name}.shape[{axis}] {'-' if more > 0 else '+'} {abs(more)}"
                    )
        return list(found.items())

    # -- steps -----------------------------------------------------------------------------------

    def step(self, s: Step) -> tuple[Piece, bool]:
        """The text of a step with its tightness, and whether it is a plain Python number."""
        if s.op == "name":
            return (s.value, p.ATOM), s.value not in self.declared
        if s.op == "number":
            value = s.node.value  # type: ignore[attr-defined]
            return (repr(value), p.SIGN if value < 0 else p.ATOM), True
        if s.op == "size":
            return (f"({size_text(str(s.value)).key})", p.ATOM), True
        if s.op == "constant":
            return (f"{self.alias}.{s.value}", p.POSTFIX), True
        if s.op in ("eye", "ones", "zeros"):
            return (self.made(s), p.POSTFIX), False
        if s.op == "getitem":
            inner = self.at(s.inputs[0], p.POSTFIX)
            return (f"{inner}[{index_text(s.params['index'])}]", p.POSTFIX), False
        plain = all(self.plain[k] for k in s.inputs)
        rank = max((self.formula.rank(k) for k in s.inputs), default=0)
        if s.op in TRANSPOSES and rank < 2:
            return self.pieces[s.inputs[0]], plain
        if s.op in TRANSPOSES and rank == 2:
            return (f"{self.at(s.inputs[0], p.POSTFIX)}.T", p.POSTFIX), plain
        if s.op in ("add_scaled", "addcmul"):
            return self.scaled_sum(s), plain
        if s.op == "neg":
            return ("-" + self.at(s.inputs[0], p.SIGN), p.SIGN), plain
        call = library_call(self.target, s.op, s.params, rank)
        if plain and (name := _of_math(s)):
            self.uses_math = True
            return (f"{self.math}.{name}({self.at(s.inputs[0])})", p.POSTFIX), True
        if call is None:
            raise self.missing(s)
        if call in p.BINARY or call in COMPARISON:
            return self.infix(call, s.inputs), plain
        return self.called(call, s), False

    def called(self, call: str, s: Step) -> Piece:
        """A step by its call in the library."""
        if call.startswith("def "):
            name = call[len("def ") : call.index("(")]
            self.helpers[name] = call
            params = {**OPERATORS[s.op].params, **s.params}
            call = f"{name}({', '.join([*_places(s), *map(value_text, params.values())])})"
        elif "{" not in call:
            call = f"{call}({', '.join(_places(s))})"
        call = call.replace("{*}", ", ".join(_places(s)))
        return self.qualified(call).format(*[self.argument(k) for k in s.inputs]), p.POSTFIX

    def qualified(self, text: str) -> str:
        """A text with the names by which the libraries are imported."""
        self.uses_special = self.uses_special or bool(_SPECIAL.search(text))
        for package in re.findall(r"(?<![\w.])((?:jax\.)?scipy\.\w+)\.", text):
            if f"import {package}" not in self.imports:
                self.imports.append(f"import {package}")
        text = re.sub(r"\b(np|torch)\.", f"{self.alias}.", text)
        return _SPECIAL.sub(f"{self.special}.", text)

    def missing(self, s: Step) -> Exception:
        """The fault (E0701) for a function that the library does not have."""
        how = " with these parameters" if has_call(self.target, s.op) else ""
        others = [t for t in TARGETS if t != self.target and has_call(t, s.op)]
        said = f"`{s.op}`{how} has no counterpart in {self.target}"
        mend = f"--code {others[0]} has one" if others else None
        return RuntimeFault(NO_CLOSED_FORM, said, help=mend)

    def argument(self, k: int) -> str:
        """An argument; PyTorch's functions take no plain numbers."""
        text = self.at(k)
        if self.torch and self.plain[k]:
            return f"{self.alias}.as_tensor({text}{self.typed})"
        return text

    def at(self, k: int, asked: int = p.TEST) -> str:
        """The text of a step, in brackets where its place asks for them."""
        return _tight(*self.pieces[k], asked)

    def infix(self, op: str, inputs: Sequence[int]) -> Piece:
        """``a op b``."""
        if op in COMPARISON:
            a, b = (self.at(k, p.SUM) for k in inputs)
            return f"({a} {op} {b})", p.ATOM
        own, left, right, sign = p.BINARY[op]
        return f"{self.at(inputs[0], left)}{sign}{self.at(inputs[1], right)}", own

    def scaled_sum(self, s: Step) -> Piece:
        """``a + k*b`` or ``a + k*b*c``."""
        params = {**OPERATORS[s.op].params, **s.params}
        scale = params["alpha" if s.op == "add_scaled" else "value"]
        own, left, right, plus = p.BINARY["+"]
        inner, _, other, times = p.BINARY["*"]
        factors = [self.at(k, other) for k in s.inputs[1:]]
        if scale != 1:
            factors.insert(0, f"({scale!r})" if scale < 0 else repr(scale))
        elif len(factors) == 1:
            inner, factors = self.pieces[s.inputs[1]][1], [self.pieces[s.inputs[1]][0]]
        product = times.join(factors)
        return f"{self.at(s.inputs[0], left)}{plus}{_tight(product, inner, right)}", own

    def made(self, s: Step) -> str:
        """``eye(n)``, ``ones(n)`` and ``zeros(n)``, of the variables' type in PyTorch."""
        sizes = ", ".join(s.value)
        if s.op != "eye" and len(s.value) > 1:
            sizes = f"({sizes})"
        like = f"{self.typed}, device={self.params[0]}.device" if self.typed else ""
        return f"{self.alias}.{s.op}({sizes}{like})"


def _free(name: str, taken: Collection[str]) -> str:
    """A name, with underscores behind it where it is taken."""
    while name in taken:
        name += "_"
    return name


def _of_math(s: Step) -> str | None:
    """The function of Python's ``math`` for an operator that NumPy has too, of one number."""
    name = "fabs" if s.op == "abs" else s.op
    call = library_call("numpy", s.op, s.params, 0) or ""
    known = len(s.inputs) == 1 and call.startswith("np.") and "(" not in call
    return name if known and hasattr(math, name) else None


def _places(s: Step) -> list[str]:
    return [f"{{{i}}}" for i in range(len(s.inputs))]


def _tight(text: str, own: int, asked: int) -> str:
    return f"({text})" if own < asked else text


def _kind(d: Declaration) -> str:
    kind, *words = str(Declaration(d.rank, (), tuple(d.traits))).split()
    return " ".join([kind, *([_shape(d.dims)] if d.dims else []), *words])


def _shape(dims: Sequence[str | None]) -> str:
    return f"({', '.join(d or '1' for d in dims)}{',' if len(dims) == 1 else ''})"
