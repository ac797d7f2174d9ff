"""Job: the program, variables and options of one command, and its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.cli import output, watchdog
from gradcli.cli.arguments import Variables, no_choice
from gradcli.cli.inputs import execute, limits, load, need_scalar, read_seconds, read_source
from gradcli.display.expression import Expression
from gradcli.engine import Tensor
from gradcli.engine.creation import generator as random
from gradcli.engine.grad_mode import mode
from gradcli.language.limits.sizes import OUTPUT_LIMIT
from gradcli.language.runtime.run import MAX_DEPTH, Outcome
from gradcli.ops.errors import LimitFault, RuntimeFault
from gradcli.ops.memory_budget import charge_shape

if TYPE_CHECKING:
    from gradcli.display.findings import Diagnosis
    from gradcli.display.graphs import Graph


DERIVATIVES = {"grad": "grads", "vjp": "grads", "jac": "jacobians", "hess": "hessians"}
"""Commands that give one by each variable, and where in JSON."""
_CALLED = {
    "grads": "gradient by", "jacobians": "Jacobian by", "hessians": "second derivative by",
    "hvp": "product for", "value": "value", "tangent": "tangent",
}  # fmt: skip
"""What warnings call a result, by its place in JSON."""


def _finite(value: Any) -> bool:
    return bool(np.isfinite(output.array_of(value)).all())


class Job(Expression):
    """One command's work on one expression: program, leaves, options, results.

    ``asked`` holds the command's parameters by name; those that a command does not have keep
    their defaults. The program runs once per call of ``result``, on the leaves or on values put
    in for some.
    """

    def __init__(self, variables: Variables, asked: Mapping[str, Any]) -> None:
        self.digits = output.read_precision(asked.get("precision"))
        self.json, self.format = asked.get("json", False), asked.get("format")
        self.of = asked.get("of")
        self.nan = asked.get("nan", "allow")
        if self.nan not in ("warn", "allow", "error"):
            raise no_choice("--nan", self.nan, ("warn", "allow", "error"))
        output.check_colour(asked.get("color"))
        self.fixed: dict[str, Any] = {}  # values that are no tensors: a session has such
        self.load(variables, asked)
        self.drawn = random.snapshot()
        if asked.get("wrt") is not None:
            self.fix(self.wanted)

    def load(self, variables: Variables, asked: Mapping[str, Any]) -> None:
        """Read the program and its variables, and begin to watch over the limits."""
        self.bounds = limits(
            asked["max_steps"], asked["max_mem"],
            asked.get("max_depth", MAX_DEPTH), asked.get("max_output", OUTPUT_LIMIT),
        )  # fmt: skip
        seconds, memory = read_seconds(asked["timeout"]), self.bounds.memory or 0
        if asked.get("file") not in (None, "-"):
            watchdog.start(seconds, memory)  # a pipe that nobody writes to is a file as well
        source, mode = read_source(asked.get("expression"), asked.get("pieces"), asked.get("file"))
        watchdog.start(seconds, memory)
        self.program, self.leaves, self.wanted = load(
            source, mode, variables, asked.get("given"), asked.get("vars"), asked.get("dtype"),
            asked.get("rng"), asked.get("device", "cpu"), asked.get("wrt"),
            memory=self.bounds.memory, fill=asked.get("fill"),
        )  # fmt: skip

    def fix(self, wanted: Sequence[str]) -> None:
        """Make plain values of the variables that nothing is differentiated by.

        They can be parameters then: the 3 of ``norm(x, p)``. A program that differentiates itself
        keeps its leaves.
        """
        for name, leaf in self.leaves.items():
            if name not in wanted and not self.program.differentiates:
                leaf.requires_grad_(False)

    def run(
        self, long: Callable[[], Any] | None = None, put_in: Mapping[str, Any] | None = None
    ) -> tuple[Tensor, Outcome]:
        """The value at the given variables, and everything else that the run left.

        ``long`` is called where the run turns out to be long (see ``Program.run``); ``put_in`` are
        other values of variables.
        """
        with self.anew():
            values = {**self.fixed, **self.leaves, **(put_in or {})}
            return execute(self.program, values, self.bounds, self.of, long)

    @property
    def names(self) -> Mapping[str, Any]:
        """What the tensors of a graph may be called."""
        return self.leaves

    def redraw(self) -> None:
        random.restore(self.drawn)

    def unusual(self, parts: Sequence[tuple[str, str, Any, str]]) -> list[str]:
        """Warnings about results that are not finite, as ``--nan`` has them.

        warn: with the operation that the first one comes from; allow: none. Raises Fault (E0501)
        under ``--nan error``. In a long text nobody looks for it unless asked to (``doctor``).
        """
        warnings = [
            f"the {_CALLED[kind]} {name}".rstrip() + " is not finite"
            for (kind, _, name), value in ((p[0].partition("."), p[2]) for p in parts)
            if self.nan != "allow" and kind in _CALLED and not _finite(value)
        ]
        if not warnings:
            return []
        fault = None if self.long else self.cause()
        if self.nan == "error":
            if fault is not None:
                fault.help = f"{fault.help}; or --nan allow"
                raise fault
            raise RuntimeFault("E0501", warnings[0], help="--nan allow accepts it")
        if fault is None:
            return warnings
        line, column = fault.source.place(fault.labels[0][0]) if fault.labels else (0, 0)
        place = f" (line {line}, column {column})" if line else ""
        return [f"{warnings[0]}: {fault.message}{place}", *warnings[1:]]

    def examine(self) -> list[Diagnosis]:
        """Where the first NaN or infinity comes from, on the random numbers of this job's run."""
        from gradcli.display.findings import examine  # needed only where a result is not finite

        with self.anew():
            return examine(self.program, {**self.fixed, **self.leaves}, self.bounds, self.of)

    def cause(self) -> Diagnosis | None:
        """The one of these diagnoses to name where there is room for one."""
        found = self.examine()
        return next((f for f in found if f.reaches), found[0]) if found else None

    def result(self, put_in: Mapping[str, Any], long: Callable[[], Any] | None = None) -> Any:
        """The value with some variables replaced: the expression as a function."""
        return self.run(long, put_in)[0]

    def graph(self, values: bool, scalar: bool = False) -> Graph:
        """The graph of a run; with ``values`` what is known of them and of their gradients.

        ``scalar``: the result has to be one (E0403).
        """
        from gradcli.display.graphs import graph_of, watch_gradients  # for what shows graphs

        mode.annotate = True
        value, outcome = self.run()
        mode.annotate = False
        if scalar:
            need_scalar(value, self.program)
        grads = None
        if values and value.edge is not None and value.array.size == 1:
            grads = watch_gradients(value)
            value.backward(retain_graph=True)  # type: ignore[attr-defined]
        return graph_of(value, {**self.names, **outcome.variables}, values=values, grads=grads)

    def _no_derivative(self) -> str:
        """Why there is none of this program."""
        kinds = " and ".join(sorted({leaf.dtype.name for leaf in self.leaves.values()}))
        if not kinds:
            return "there is no derivative: the program has no variable"
        one, many = f"is {kinds}, which has", f"are {kinds}, which have"
        return f"{', '.join(self.leaves)} {one if len(self.leaves) == 1 else many} no derivative"

    def emit(
        self, command: str, parts: Sequence[tuple[str, str, Any, str]],
        extra: Mapping[str, Any] | None = None, warnings: Sequence[str] = (), value: Any = None,
    ) -> str:  # fmt: skip
        """Write results, first the ``value``, in the form that the options ask for: gives that."""
        parts = parts if value is None else [("value", "value", value, ""), *parts]
        entries = sum(np.size(output.array_of(value)) for _, _, value, _ in parts)
        form = self.format or ("json" if self.json else "text")
        warnings = [*warnings, *self.unusual(parts)]
        try:
            charge_shape((entries, output.EACH.get(form, 0)), 1)
        except LimitFault as fault:
            fault.message = f"to write the result as {form}: {fault.message}"
            raise
        form = output.form_of(self.json, self.format)
        if len(parts) == 1 and command in DERIVATIVES:
            extra = {DERIVATIVES[command]: {}, **(extra or {})}
            warnings = [*warnings, self._no_derivative()]
        output.emit(command, form, parts, self.digits, extra, warnings)
        return form
