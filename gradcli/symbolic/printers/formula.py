"""What the printers read: one or several expressions as one list of steps, shared parts once.

A step is that of ``program``: an operator with its inputs and parameters; its shape goes with it.
However the user wrote it (``A.t()``, ``A.T``, ``torch.sin``) is one operator here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from gradcli.language.runtime.run import Program, prepare
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.printer import unparse
from gradcli.ops import OPERATORS
from gradcli.symbolic.expr.sizes import names as names_of
from gradcli.symbolic.program.let import chosen, names_for
from gradcli.symbolic.program.steps import COUNTED, CREATION, Step, of_truths, steps_of
from gradcli.symbolic.shapes.declarations import Declaration
from gradcli.symbolic.shapes.inference import infer, sizes_in

FREE = frozenset(("name", "number", "constant", "size"))
TRANSPOSES = ("reverse_dims", "mT")


def _symmetrizes(op: str) -> bool:
    return op in OPERATORS and OPERATORS[op].symmetrizes


class Formula:
    """Steps with their shapes, the results among them, and the parts that are worth a name.

    steps    each after those it reads
    dims     the dimensions of each step, by name or number (None: size 1)
    roots    the steps that are results
    named    the steps to be given a name, inner ones first

    Names are given to save a reader operations; with ``light``, the operators that take a computer
    no time, to save it the others: results that are computed then stand for themselves too. In code
    the first expression is what the user wrote, whose matrices are not known to be symmetric.
    """

    __slots__ = ("_place", "_typed", "declared", "dims", "named", "roots", "steps")

    def __init__(
        self, expressions: Sequence[str | Program], declared: Mapping[str, Declaration],
        let: bool = True, light: Collection[str] | None = None,
    ) -> None:  # fmt: skip
        self.declared = declared
        self.steps: list[Step] = []
        self.dims: list[tuple[str | None, ...]] = []
        self.roots: list[int] = []
        self._place: dict[tuple, int] = {}
        self._typed: list[bool] = []  # whether a step has the type of variables, as no number has
        programs = [prepare(x) if isinstance(x, str) else x for x in expressions]
        found = [(program, steps_of(program)) for program in programs]
        symmetric = {k for k, d in declared.items() if "symmetric" in d.traits}
        for _, steps in found[1:]:  # a derivative writes out what it takes the half of
            symmetric |= {unparse(steps[s.inputs[0]].node) for s in steps if _symmetrizes(s.op)}
        for program, steps in found:
            shapes = infer(steps, declared, program.source, printed=True)
            where: list[int] = []
            truths: list[bool] = []
            for step, dims in zip(steps, shapes.of, strict=True):
                inputs = tuple(where[i] for i in step.inputs)
                written = _symmetrizes(step.op) and light is not None and not self.roots
                if written and unparse(steps[step.inputs[0]].node) not in symmetric:
                    inputs = (self._half(inputs[0], step.node),)
                test = of_truths(step, truths, dims)
                if light is not None and not test:
                    inputs = self._counted(step, inputs, [truths[i] for i in step.inputs])
                truths.append(bool(test))
                value = None if step.value is COUNTED else step.value  # its inputs are numbers now
                copy = Step(step.op, step.node, inputs, step.params, value)
                where.append(self._kept(copy, dims))
            self.roots.append(where[-1])
        costs = [0 if s.op in FREE else 1 for s in self.steps]
        for i, s in enumerate(self.steps):
            if s.op == "neg" and self.steps[s.inputs[0]].op == "number":
                costs[i] = 0
            if s.op in ("eye", "ones", "zeros"):
                costs[i] = 1
        children = [s.inputs for s in self.steps]
        roots = set(self.roots)
        if light is not None:
            costs = [c if s.op in light else 2 * c for s, c in zip(self.steps, costs, strict=True)]
            self.named = chosen(children, costs, self.roots, roots, roots, 2)
        else:
            self.named = chosen(children, costs, self.roots, roots) if let else []

    def _kept(self, s: Step, dims: tuple[str | None, ...]) -> int:
        """The place of a step, which is there once."""
        key = (s.op, s.inputs, repr(sorted(s.params.items())), repr(s.value), dims)
        if key not in self._place:
            self._place[key] = len(self.steps)
            self.steps.append(s)
            self.dims.append(dims)
            typed = s.op in CREATION or (s.op == "name" and s.value in self.declared)
            self._typed.append(typed or any(self._typed[i] for i in s.inputs))
        return self._place[key]

    def _counted(
        self, step: Step, inputs: Sequence[int], truths: Sequence[bool]
    ) -> tuple[int, ...]:
        """The inputs of a step, the truth values among them as numbers: of truths alone libraries
        add to a truth and compute functions in few digits."""
        adds = step.op in OPERATORS and OPERATORS[step.op].of_truths
        beside = any(self._typed[i] for i, truth in zip(inputs, truths, strict=True) if not truth)
        if not any(truths) or (adds and beside):
            return tuple(inputs)
        one, zero = (
            self._kept(Step("number", n.Number(x, str(x)), value=Fraction(x)), ()) for x in (1, 0)
        )
        return tuple([
            self._kept(Step("where", step.node, (i, one, zero)), self.dims[i])
            if truth and (step.op, k) != ("where", 0) else i
            for k, (i, truth) in enumerate(zip(inputs, truths, strict=True))
        ])  # fmt: skip

    def _half(self, i: int, node: n.Node) -> int:
        """The place of (x + x.T)/2."""
        dims = self.dims[i]
        turned = self._kept(Step("mT", node, (i,)), dims)
        total = self._kept(Step("add", node, (i, turned)), dims)
        two = self._kept(Step("number", n.Number(2, "2"), value=Fraction(2)), ())
        return self._kept(Step("div", node, (total, two)), dims)

    def rank(self, i: int) -> int:
        """The number of dimensions of a step."""
        return len(self.dims[i])

    def letters(self, taken: Collection[str]) -> dict[int, str]:
        """Names for the steps that are worth one, none of them taken."""
        return names_for(self.named, [self.steps[i].op for i in self.named], taken)

    def names(self) -> set[str]:
        """Every name in the expressions."""
        sizes = {name for s in self.steps for d in sizes_in(s) for name in names_of(d)}
        return sizes | {s.value for s in self.steps if s.op == "name"}
