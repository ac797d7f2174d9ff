"""Run a checked program as Python code made of its tree."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Mapping
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from gradcli.engine.creation import generator as random
from gradcli.engine.grad_mode import current, restore
from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.compile.lower import lower
from gradcli.language.compile.resolve import Checked
from gradcli.language.limits.sizes import running_steps
from gradcli.language.limits.step_budget import FILE
from gradcli.language.names import identity, printing, settings, showing
from gradcli.language.runtime.scope import adopted, scope_of
from gradcli.language.runtime.walk import walked
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import LimitFault
from gradcli.ops.memory_budget import no_collection, put_back, set_budget


class Generated:
    """The code of one program, made for each choice of inputs, and its runs."""

    __slots__ = ("checked", "codes")

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.codes: dict[tuple, tuple[Any, list[n.Node], dict[str, Any]]] = {}

    def node_at(self, line: int) -> n.Node | None:
        """The tree node that a line number of the code stands for, after a run."""
        for _, places, _ in self.codes.values():
            if 0 < line <= len(places):
                return places[line - 1]
        return None

    @property
    def places(self) -> list[n.Node]:
        """The tree nodes by line number of the code that was made last."""
        return next(reversed(self.codes.values()))[1]

    def run(
        self, program: Any, values: Mapping[str, Any], inputs: tuple[str, ...], limits: Any, *,
        write: Callable[[str], Any] | None, keep: frozenset[str] | None,
        watch: Callable[..., Any] | None, lasting: bool, twice: bool,
        instead: Callable[[Any, Any], Any] | None, long: Callable[[], Any] | None,
    ) -> tuple[Any, dict[str, Any]]:  # fmt: skip
        """The value and the variables by name; as ``Program.run`` of ``program``."""
        code, places, constants = self._compiled(
            inputs, keep, watch is not None, program.cells is not None
        )  # fmt: skip
        scope = scope_of(
            constants, limits, write or printing.nowhere, self._summed, instead, long
        )  # fmt: skip
        if watch is not None:
            scope["h_trace"] = watch
        exec(code, scope)
        arguments = [adopted(values[name], scope) for name in inputs]
        main = scope.get("main")
        if main is None:
            given = dict(zip(inputs, arguments, strict=True))
            main, arguments = _sharing(scope, program.cells, given), []
        steps, before = running_steps.get(), current()
        restore(before.replaced(**program.modes))
        if current().arrays:
            settings.arrays_lead()  # a variable may be meant as an array
        spelling = showing.spelled_torch.set(self.checked.says_torch)
        numbers = identity.begin()
        again = _Again(values, limits, keep) if twice else None
        running_steps.set(scope["h_budget"])
        budget = set_budget(limits.memory, scope["h_tick"])
        try:
            # 1/0 and log(0) are values here, not warnings.
            with np.errstate(all="ignore"):
                value, local = main(*arguments)
            if lasting:  # set_grad_enabled(False) holds for what follows in the session
                before = before.replaced(enabled=current().enabled, inference=current().inference)
        except OSError:
            raise  # only printing can raise it: what is wrong is the stream, not the program
        except Exception as fault:
            from gradcli.language.diagnostics.runtime import placed  # needed after an error only

            if again is not None and hasattr(fault, "places"):
                fault = again.with_places(program, fault)
            raise placed(fault, program, places) from None
        finally:
            put_back(budget)
            showing.spelled_torch.reset(spelling)
            identity.end(numbers)
            settings.put_back(keep=lasting)
            restore(before)
            running_steps.set(steps)
        variables = {name[2:]: v for name, v in local.items() if name.startswith("v_")}
        return value, variables

    def _summed(self, node: n.Sum, given: Callable[[], dict[str, Any]]) -> Any:
        """A long sum of the variables that ``given`` gives; None where it cannot be computed at
        once."""
        with contextlib.suppress(NameError):  # of a variable without a value: its term says so
            found = walked(self.checked, given(), body=(n.ExprStmt(node),))
            return None if found is None else found[0]

    def _compiled(self, *key: Any) -> Any:
        """The code, its places and its constants, as ``_compile`` makes them, once."""
        if key not in self.codes:
            with no_collection():
                self.codes[key] = self._compile(*key)
        return self.codes[key]

    def _compile(
        self, inputs: tuple[str, ...], keep: frozenset[str] | None, watched: bool, shares: bool
    ) -> tuple[Any, list[n.Node], dict[str, Any]]:
        problem = ""
        # Lists that became loops may be what nests too deeply.
        for in_place in (True, False) if self.checked.in_place else (True,):
            tree, places, constants = lower(
                self.checked, inputs, keep, watched, in_place, shares
            )  # fmt: skip
            try:
                with warnings.catch_warnings():
                    # CPython's guesses about generated code; what is wrong shows when it runs.
                    warnings.simplefilter("ignore", SyntaxWarning)
                    return compile(tree, FILE, "exec"), places, constants
            except (RecursionError, SyntaxError, MemoryError) as fault:
                problem = type(fault).__name__
        said = f"the program nests too deeply to be compiled ({problem})"
        raise LimitFault("E0604", said, help="split it into functions or simpler statements")


def _sharing(
    scope: dict[str, Any], cells: dict[str, CellType], values: Mapping[str, Any]
) -> FunctionType:
    """``main`` of generated code, whose variables are these cells, by name; of those that it says
    only what ``values`` gives has a value."""
    code = next(c for c in scope["shared"].__code__.co_consts if isinstance(c, CodeType))
    taken = []
    for variable in code.co_freevars:
        name = variable[2:]
        taken.append(cell := cells.setdefault(name, CellType()))
        if name in values:
            cell.cell_contents = values[name]
        else:
            with contextlib.suppress(ValueError):  # it may have none
                del cell.cell_contents
    return FunctionType(code, scope, "main", None, tuple(taken))


class _Again:
    """How a run began, so that a fault of the backward pass can be looked into by a second run."""

    __slots__ = ("began", "drawn", "keep", "limits", "values")

    def __init__(self, values: Mapping[str, Any], limits: Any, keep: Any) -> None:
        self.began = time.monotonic()
        self.drawn = random.snapshot()
        self.values = [(name, value, _entries(value)) for name, value in values.items()]
        self.limits, self.keep = limits, keep

    def with_places(self, program: Any, fault: Exception) -> Exception:
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
