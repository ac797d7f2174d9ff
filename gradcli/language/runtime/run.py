"""Compile and run a program: ``prepare`` gives a ``Program``, ``Program.run`` executes it.

A Fault that leaves ``run`` has a place in the source, marks under the operands and the chain of
calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from contextvars import copy_context
from types import CellType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcli.engine.dtypes import default_dtype, float64
from gradcli.engine.grad_mode import current, restore
from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.compile.resolve import Checked, check
from gradcli.language.diagnostics.parsing import parse
from gradcli.language.diagnostics.render import did_you_mean
from gradcli.language.limits.sizes import OUTPUT_LIMIT
from gradcli.language.names.table import NAMES
from gradcli.language.runtime.walk import DEEPEST, walked
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import ValueFault
from gradcli.ops.memory_budget import no_collection, set_budget

if TYPE_CHECKING:
    from gradcli.language.runtime.generated import Generated

MAX_STEPS = 10_000_000
MAX_MEMORY = 2 << 30
MAX_DEPTH = 500
MOST_DEPTH = 900
"""The deepest that calls may nest at all: Python's own stack ends soon after."""
MOST_TERMS = 64
"""Up to so many different terms of a long sum code is made of each once."""
LONG = 1500
"""Statements from which a text is walked with the collector at rest: it would go through all that
is recorded again and again."""


class Limits:
    """What one run may use.

    steps    turns of loops and calls of functions
    memory   bytes; None for no limit
    depth    calls inside calls
    output   characters printed
    """

    __slots__ = ("depth", "memory", "output", "steps")

    def __init__(
        self, steps: int = MAX_STEPS, memory: int | None = MAX_MEMORY, depth: int = MAX_DEPTH,
        output: int = OUTPUT_LIMIT,
    ) -> None:  # fmt: skip
        self.steps = steps
        self.memory = memory
        self.depth = min(depth, MOST_DEPTH)
        self.output = output


class Outcome(NamedTuple):
    """What a run left: the value of the last expression statement, and every variable by name."""

    value: Any
    variables: dict[str, Any]


class Program:
    """A checked text, ready to run. ``origins`` may say where an input came from (``--x``).

    A ``formula``, which the command line takes on one line, mixes whole numbers and floats in
    products, as closed forms do: ``where(x > 0, 1, 0) @ w``. A program refuses that, as PyTorch.

    names   the checked text: which names it takes and gives, and its statements; of a long sum the
            different terms only, of a long list of numbers its value
    differentiates  whether the text may call ``backward`` or a transform itself
    cells           of a session: its variables, which its functions share with its statements
    rebinds         whether single numbers are as Python's own: unless the text differentiates,
                    makes tensors or writes to them by a method, or imports torch
    """

    __slots__ = (
        "_walks", "_whole", "cells", "differentiates", "formula", "generated", "names", "origins",
        "rebinds",
    )  # fmt: skip

    def __init__(
        self, checked: Checked, formula: bool = True, whole: Callable[[], Checked] | None = None
    ) -> None:
        self.names = checked
        self._whole = whole
        self.formula = formula
        self.origins: dict[str, str] = {}
        self._walks = True
        self.cells: dict[str, CellType] | None = None
        self.differentiates = any(word in checked.source.text for word in _PASSES)
        self.rebinds = not (checked.uses_torch or checked.says_torch or _makes_tensors(checked))
        self.generated: Generated | None = None

    @property
    def checked(self) -> Checked:
        """The checked text with every term and item; read again where a sum or list is long."""
        if self._whole is not None:
            self.names, self._whole = self._whole(), None
        return self.names

    @property
    def modes(self) -> dict[str, bool]:
        """The modes of the engine that it runs in: see ``engine.grad_mode``.

        Where a number may be NumPy's as well as Python's own, it stays in the graph where NumPy's
        would become Python's: ``x.item()``.
        """
        arrays = self.rebinds and self.names.uses_numpy
        mixes = self.formula or arrays
        return {"mixes": mixes, "rebinds": self.rebinds, "arrays": arrays, "exact": True}

    @property
    def source(self) -> Source:
        """The text."""
        return self.names.source

    @property
    def free(self) -> list[str]:
        """The names that have to be given."""
        return self.names.free

    def takes(self, name: str) -> bool:
        """Whether a value for ``name`` would be used: the text reads it and does not define it."""
        return name in self.names.outer

    def result(self, outcome: Outcome, of: str | None = None) -> Any:
        """What a run computed: the variable ``of``, the last expression, or else what the last line
        assigned; None where there is neither. Raises ValueFault (E0910)."""
        if of is not None:
            if of not in outcome.variables:
                said = f"--of {of}: the program leaves no variable of that name"
                raise ValueFault("E0910", said, help=did_you_mean(of, outcome.variables, None))
            return outcome.variables[of]
        if outcome.value is None and self.names.last_assigned:
            return outcome.variables.get(self.names.last_assigned)
        return outcome.value

    def differentiated(self, outcome: Outcome) -> Any:
        """The variable that a text differentiates itself, which it means where it ends without a
        value; None where there is none."""
        for statement in reversed(self.names.module.body if self.differentiates else ()):
            call = statement.value if isinstance(statement, n.ExprStmt) else None
            func = call.func if isinstance(call, n.Call) else None
            root = func.value if isinstance(func, n.Attribute) and func.name == "backward" else None
            if isinstance(root, n.Name) and root.id in outcome.variables:
                return outcome.variables[root.id]
        return None

    def node_at(self, line: int) -> n.Node | None:
        """The tree node that a line number of generated code stands for, after a run."""
        return None if self.generated is None else self.generated.node_at(line)

    def run(
        self, values: Mapping[str, Any], *, limits: Limits | None = None,
        write: Callable[[str], Any] | None = None, keep: frozenset[str] | None = frozenset(),
        trace: Callable[[str], Any] | None = None, watch: Callable[..., Any] | None = None,
        lasting: bool = False, twice: bool = True, instead: Callable[[Any, Any], Any] | None = None,
        long: Callable[[], Any] | None = None,
    ) -> Outcome:  # fmt: skip
        """Execute on ``values``; printed text goes to ``write`` (dropped without one).

        ``trace`` is given a line for each statement that ran, with what it left. ``watch`` is
        called after each statement with its offset and the names and values that it left. ``twice``
        lets a fault of the backward pass be looked into by a second, silent run.

        What the program sets for its thread (the default dtype, print options) is put back when it
        ends, unless ``lasting``: a session goes on with it.

        ``instead`` is given each function of the language that the program calls, and what is
        called for it, and gives what is called. ``long`` is called once where the run takes
        thousands of steps: what it raises ends the run.

        Tensors assigned to the names in ``keep`` (None: to any name) keep their gradients.
        Raises Fault: what the program did wrong, with ``source``, ``labels`` and ``notes``.
        """
        limits = limits or Limits()
        if trace is not None:
            from gradcli.language.runtime.trace import tracer  # needed by --trace only

            watch = tracer(self.source, trace)
        own = {*self.names.bound, *self.names.shared}
        inputs = tuple(n for n in values if self.takes(n) or n in own)
        if self._walks and not (keep is None or keep or watch or instead or lasting or self.cells):
            found = self._walked({name: values[name] for name in inputs}, limits)
            self._walks = bool(self.names.sums) and found is not None
            if found is not None:
                return found
        read = self.checked if instead or self.names.sums > MOST_TERMS else self.names
        if self.generated is None or self.generated.checked is not read:
            from gradcli.language.runtime.generated import Generated  # most expressions need none

            self.generated = Generated(read)
        value, variables = self.generated.run(
            self, values, inputs, limits, write=write, keep=keep, watch=watch, lasting=lasting,
            twice=twice and self.differentiates, instead=instead, long=long,
        )  # fmt: skip
        return Outcome(value, variables)

    def _walked(self, inputs: Mapping[str, Any], limits: Limits) -> Outcome | None:
        """A run of a text without control flow (see ``walk``); None for others."""
        # The collector's own pace costs a short text less than one pass over all that is new.
        long = len(self.names.module.body) > LONG

        def work() -> tuple | None:
            restore(current().replaced(**self.modes))
            set_budget(limits.memory)
            return walked(self.names, inputs, limits.steps if limits.depth > DEEPEST else 0)

        with np.errstate(all="ignore"), no_collection() if long else nullcontext():
            found = copy_context().run(work)  # which an interrupt leaves, too
        return None if found is None else Outcome(*found)


_PASSES = ("backward", "grad", "jac", "hess", "vjp", "vhp", "hvp")
"""One of these stands in every text that runs a backward pass."""


def _makes_tensors(checked: Checked) -> bool:
    """Whether a text names what makes tensors, writes to them or differentiates: no variable, no
    comment, and nothing of its own ``self``."""
    words = (*_PASSES, "tensor")
    if not checked.implied.keys().isdisjoint(("torch", "nn", "F")):
        return True
    if not re.search(rf"{'|'.join(words)}|\w_\b|inplace", checked.source.text):
        return False
    said: set[str] = set()
    own: set[str] = set()
    for one in n.walk(checked.module):
        if isinstance(one, n.FunctionClass):
            return True
        of = one.value if isinstance(one, n.Attribute) else None
        if isinstance(one, n.Def) or (isinstance(of, n.Name) and of.id == "self"):
            own.add(one.name)  # type: ignore[attr-defined]
        elif isinstance(one, n.Attribute | n.Keyword):
            said.add(one.name or "")
    said -= own
    writes = (name[-1:] == "_" != name[:1] and hasattr(Tensor, name) for name in said)
    return "inplace" in said or any(writes) or any(
        any(word in name for word in words) and not hasattr(np, name)
        for name in {*said, *checked.outer} if name in NAMES or hasattr(Tensor, name)
    )  # fmt: skip


def prepare(source: Source | str, mode: str = "line") -> Program:
    """Parse and check a text. ``mode`` is "line" (``^`` is power) or "file" (valid Python only)."""
    text = Source(source) if isinstance(source, str) else source

    def read(compact: bool = False) -> Checked:
        with no_collection():
            return check(text, parse(text, mode, compact))

    checked = read(compact=True)
    return Program(checked, mode == "line", read if checked.sums or checked.data else None)


def constant(text: str, limits: Limits) -> Any:
    """The value of a constant expression, ``pi/4`` or ``randn(3)``, in float64. Raises Fault."""
    with default_dtype(float64):
        found = prepare(Source(text, "")).run({}, limits=limits).value
    return found.detach().numpy() if isinstance(found, Tensor) else found
