"""Compile and run a program: ``prepare`` gives a ``Program``, ``Program.run`` executes it.

A Fault that leaves ``run`` has a place in the source, marks under the operands and the chain of
calls.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.engine.creation import generator as random
from gradcli.engine.grad_mode import mode
from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.compile.lower import lower
from gradcli.language.compile.resolve import Checked, check
from gradcli.language.diagnostics.parsing import parse
from gradcli.language.limits.sizes import running_steps
from gradcli.language.limits.step_budget import FILE
from gradcli.language.names import identity, settings, showing
from gradcli.language.runtime import text
from gradcli.language.runtime.scope import adopted, nowhere, scope_of
from gradcli.language.runtime.walk import STATEMENTS, walked
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import LimitFault
from gradcli.ops.memory_budget import no_collection, set_budget

MAX_STEPS = 10_000_000
MAX_MEMORY = 2 << 30
MAX_DEPTH = 500
MOST_DEPTH = 900
"""The deepest that calls may nest at all: Python's own stack ends soon after."""


class Limits:
    """What one run may use.

    steps    turns of loops and calls of functions
    memory   bytes; None for no limit
    depth    calls inside calls
    output   characters printed
    """

    __slots__ = ("depth", "memory", "output", "steps")

    def __init__(
        self,
        steps: int = MAX_STEPS,
        memory: int | None = MAX_MEMORY,
        depth: int = MAX_DEPTH,
        output: int = text.OUTPUT_LIMIT,
    ) -> None:
        self.steps = steps
        self.memory = memory
        self.depth = min(depth, MOST_DEPTH)
        self.output = output


class Outcome:
    """What a run left: the value of the last expression statement, and every variable by name."""

    __slots__ = ("value", "variables")

    def __init__(self, value: Any, variables: dict[str, Any]) -> None:
        self.value = value
        self.variables = variables


class Program:
    """A checked text, ready to run. ``origins`` may say where an input came from (``--x``).

    A ``formula``, which the command line takes on one line, mixes whole numbers and floats in
    products, as closed forms do: ``where(x > 0, 1, 0) @ w``. A program refuses that, as PyTorch.

    names   the checked text: which names it takes and gives, and its statements; of a long sum the
            different terms only
    """

    __slots__ = ("_cache", "_passes", "_walks", "_whole", "formula", "names", "origins")

    def __init__(
        self, checked: Checked, formula: bool = True, whole: Callable[[], Checked] | None = None
    ) -> None:
        self.names = checked
        self._whole = whole
        self.formula = formula
        self.origins: dict[str, str] = {}
        self._walks = checked.sums or len(checked.module.body) >= STATEMENTS
        self._passes = any(word in checked.source.text for word in _PASSES)
        self._cache: dict[tuple, tuple[Any, list[n.Node], dict[str, Any]]] = {}

    @property
    def checked(self) -> Checked:
        """The checked text with every term of its sums; read again where there is a long one."""
        if self._whole is not None:
            self.names, self._whole = self._whole(), None
        return self.names

    @property
    def source(self) -> Source:
        """The text."""
        return self.names.source

    @property
    def free(self) -> list[str]:
        """The names that have to be given."""
        return self.names.free

    @property
    def differentiates(self) -> bool:
        """Whether the text may call ``backward`` or a transform itself."""
        return self._passes

    def takes(self, name: str) -> bool:
        """Whether a value for ``name`` would be used: the text reads it and does not define it."""
        return name in self.names.outer

    def node_at(self, line: int) -> n.Node | None:
        """The tree node that a line number of generated code stands for, after a run."""
        for _, places, _ in self._cache.values():
            if 0 < line <= len(places):
                return places[line - 1]
        return None

    def run(
        self,
        values: Mapping[str, Any],
        *,
        limits: Limits | None = None,
        write: Callable[[str], Any] | None = None,
        keep: frozenset[str] | None = frozenset(),
        trace: Callable[[str], Any] | None = None,
        watch: Callable[..., Any] | None = None,
        lasting: bool = False,
        twice: bool = True,
        instead: Callable[[Any, Any], Any] | None = None,
        long: Callable[[], Any] | None = None,
    ) -> Outcome:
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
        inputs = tuple(n for n in values if self.takes(n) or n in self.names.bound)
        if self._walks and not (keep is None or keep or watch or instead or lasting):
            found = self._walked({name: values[name] for name in inputs}, limits)
            self._walks = self.names.sums and found is not None
            if found is not None:
                return found
        code, places, constants = self._compiled(inputs, keep, watch is not None)
        scope = scope_of(constants, limits, write or nowhere, instead, long)
        if watch is not None:
            scope["h_trace"] = watch
        exec(code, scope)
        arguments = [adopted(values[name], scope) for name in inputs]
        before = running_steps.get(), mode.grad, mode.inference, mode.mixes
        mode.mixes = self.formula
        spelling = showing.spelled_torch.set(self.checked.says_torch)
        numbers = identity.begin()
        again = _Again(values, limits, keep) if twice and self._passes else None
        running_steps.set(scope["h_budget"])
        set_budget(limits.memory, scope["h_tick"])
        try:
            # 1/0 and log(0) are values here, not warnings.
            with np.errstate(all="ignore"):
                value, local = scope["main"](*arguments)
            if lasting:  # set_grad_enabled(False) holds for what follows in the session
                before = before[0], mode.grad, mode.inference, before[3]
        except OSError:
            raise  # only printing can raise it: what is wrong is the stream, not the program
        except Exception as fault:
            from gradcli.language.diagnostics.runtime import placed  # needed after an error only

            if again is not None and hasattr(fault, "places"):
                fault = again.with_places(self, fault)
            raise placed(fault, self, places) from None
        finally:
            set_budget(None)
            showing.spelled_torch.reset(spelling)
            identity.end(numbers)
            settings.put_back(keep=lasting)
            steps, mode.grad, mode.inference, mode.mixes = before
            running_steps.set(steps)
        variables = {name[2:]: v for name, v in local.items() if name.startswith("v_")}
        return Outcome(value, variables)

    def _walked(self, inputs: Mapping[str, Any], limits: Limits) -> Outcome | None:
        """The first run of a long text without control flow (see ``walk``); None for others."""
        mixes, mode.mixes = mode.mixes, self.formula
        set_budget(limits.memory)
        try:
            with np.errstate(all="ignore"), no_collection():
                found = walked(self.names, inputs)
        finally:
            set_budget(None)
            mode.mixes = mixes
        return None if found is None else Outcome(*found)

    def _compiled(self, inputs: tuple[str, ...], keep: frozenset[str] | None, watched: bool) -> Any:
        """The code, its places and its constants for these inputs, made once."""
        key = (inputs, keep, watched)
        if key not in self._cache:
            with no_collection():
                self._cache[key] = self._compile(*key)
        return self._cache[key]

    def _compile(
        self, inputs: tuple[str, ...], keep: frozenset[str] | None, watched: bool
    ) -> tuple[Any, list[n.Node], dict[str, Any]]:
        problem = ""
        # Lists that became loops may be what nests too deeply.
        for in_place in (True, False) if self.checked.in_place else (True,):
            tree, places, constants = lower(self.checked, inputs, keep, watched, in_place)
            try:
                with warnings.catch_warnings():
                    # CPython's guesses about generated code; what is wrong shows when it runs.
                    warnings.simplefilter("ignore", SyntaxWarning)
                    return compile(tree, FILE, "exec"), places, constants
            except (RecursionError, SyntaxError, MemoryError) as fault:
                problem = type(fault).__name__
        raise LimitFault(
            "E0604", f"the program nests too deeply to be compiled ({problem})",
            help="split it into functions or simpler statements",
        )  # fmt: skip


_PASSES = ("backward", "grad", "jac", "hess", "vjp", "vhp", "hvp")
"""One of these stands in every text that runs a backward pass."""


class _Again:
    """How a run began, so that a fault of the backward pass can be looked into by a second run."""

    __slots__ = ("began", "drawn", "keep", "limits", "values")

    def __init__(self, values: Mapping[str, Any], limits: Limits, keep: Any) -> None:
        self.began = time.monotonic()
        self.drawn = random.snapshot()
        self.values = [(name, value, _entries(value)) for name, value in values.items()]
        self.limits, self.keep = limits, keep

    def with_places(self, program: Program, fault: Exception) -> Exception:
        """``fault``, or itself with more places from a second, silent run."""
        from gradcli.language.diagnostics import backward  # needed after an error only

        late = time.monotonic() - self.began > backward.TWICE
        if late or not backward.incomplete(fault):
            return fault
        after = random.snapshot()
        random.restore(self.drawn)  # the same numbers, and so the same branches
        try:
            return backward.again(program, self.values, fault, self.limits, self.keep)
        finally:
            random.restore(after)


SMALL = 4096
"""Up to this many entries an input is copied, should the run write to it and be run again."""


def _entries(value: Any) -> Any:
    """The entries of a small tensor as they are now; else None."""
    if value.__class__ is Tensor and value.array.size <= SMALL:
        return value.array.copy()
    return None


def prepare(source: Source | str, mode: str = "line", before: Program | None = None) -> Program:
    """Parse and check a text. ``mode`` is "line" (``^`` is power) or "file" (valid Python only).

    ``before`` is the session's program before this one, whose imports go on.
    """
    text = Source(source) if isinstance(source, str) else source
    earlier = before.checked if before else None

    def read(sums: bool = False) -> Checked:
        with no_collection():
            return check(text, parse(text, mode, sums), earlier)

    checked = read(sums=True)
    return Program(checked, mode == "line", read if checked.sums else None)
