"""Running a program: compile, give it its names and limits, and turn what goes wrong into faults.

``prepare`` makes a ``Program`` of a text; ``Program.run`` executes it on values. A fault that comes
out has a place in the user's text, the operands' shapes under it, and the chain of calls.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from gradcli.language import builtins, names, text
from gradcli.language import nodes as n
from gradcli.language.check import Checked, check
from gradcli.language.lower import lower
from gradcli.language.parser import parse
from gradcli.language.source import Source
from gradcli.ops.errors import LimitFault
from gradcli.ops.limits import set_budget

FILE = "<gradcli program>"
MAX_STEPS = 10_000_000
MAX_MEMORY = 2 << 30


class Limits:
    """What one run may use: steps (loop turns and calls) and bytes of memory."""

    __slots__ = ("memory", "steps")

    def __init__(self, steps: int = MAX_STEPS, memory: int | None = MAX_MEMORY) -> None:
        self.steps = steps
        self.memory = memory


class Outcome:
    """What a run left: the value of the last expression statement, and every variable by name."""

    __slots__ = ("value", "variables")

    def __init__(self, value: Any, variables: dict[str, Any]) -> None:
        self.value = value
        self.variables = variables


class Program:
    """A checked text, ready to run. ``origins`` may say where an input came from (``--x``)."""

    __slots__ = ("_cache", "checked", "origins")

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.origins: dict[str, str] = {}
        self._cache: dict[tuple, tuple[Any, list[n.Node], dict[str, Any]]] = {}

    @property
    def source(self) -> Source:
        """The text."""
        return self.checked.source

    @property
    def free(self) -> list[str]:
        """The names that have to be given."""
        return self.checked.free

    def takes(self, name: str) -> bool:
        """Whether a value for ``name`` would be used: the text reads it and does not define it."""
        return name in self.checked.outer

    def run(
        self,
        values: Mapping[str, Any],
        *,
        limits: Limits | None = None,
        write: Callable[[str], Any] | None = None,
        keep: frozenset[str] | None = frozenset(),
    ) -> Outcome:
        """Execute on ``values``; printed text goes to ``write`` (dropped without one).

        Tensors assigned to the names in ``keep`` (None: to any name) keep their gradients.
        Raises Fault: what the program did wrong, with ``source``, ``labels`` and ``notes``.
        """
        limits = limits or Limits()
        inputs = tuple(n for n in values if self.takes(n) or n in self.checked.bound)
        key = (inputs, keep)
        if key not in self._cache:
            tree, places, constants = lower(self.checked, inputs, keep)
            try:
                code = compile(tree, FILE, "exec")
            except (RecursionError, SyntaxError, MemoryError) as fault:
                raise LimitFault(
                    "E0604",
                    f"the program nests too deeply to be compiled ({type(fault).__name__})",
                    help="split it into functions or simpler statements",
                ) from None
            self._cache[key] = code, places, constants
        code, places, constants = self._cache[key]
        scope = _scope(constants, limits.steps, write or _nowhere)
        exec(code, scope)
        set_budget(limits.memory)
        try:
            # 1/0 and log(0) are values here, not warnings.
            with np.errstate(all="ignore"):
                value, local = scope["main"](*(values[name] for name in inputs))
        except Exception as fault:
            from gradcli.language.faults import placed

            raise placed(fault, self, places) from None
        finally:
            set_budget(None)
        variables = {name[2:]: v for name, v in local.items() if name.startswith("v_")}
        return Outcome(value, variables)


def prepare(source: Source | str, mode: str = "line") -> Program:
    """Parse and check a text. ``mode`` is "line" (``^`` is power) or "file" (valid Python only)."""
    if isinstance(source, str):
        source = Source(source)
    return Program(check(source, parse(source, mode)))


def _nowhere(_text: str) -> None:
    """Where printed text goes that nobody asked for."""


def _exhausted(steps: int) -> Iterator[bool]:
    raise LimitFault(
        "E0601", f"the program passed {steps:,} steps (turns of loops and calls of functions)",
        help="--max-steps N raises the limit",
    )  # fmt: skip
    yield True


def _scope(constants: Mapping[str, Any], steps: int, write: Callable) -> dict[str, Any]:
    """The globals of a generated module: helpers, constants, and no builtins at all."""
    budget = itertools.chain(itertools.repeat(True, steps), _exhausted(steps))
    scope: dict[str, Any] = dict(_HELPERS)
    scope["__builtins__"] = {}
    scope["h_tick"] = budget.__next__
    scope["h_steps"] = lambda items: itertools.compress(items, budget)
    show = text.printer(write)
    for name, value in constants.items():
        if value.__class__ is tuple and value and value[0] == "method":
            value = _caller(value[1], value[2])
        scope[name] = show if name == "g_print" else value
    return scope


def _caller(name: str, count: int | None) -> Callable:
    """``value.name(...)``: the tensor's method straight away, others through the tables."""
    method = names.CALL[names.Tensor].get(name)
    attribute = names.attribute
    tensor = names.Tensor if method is not None else None
    if count == 0:

        def call(value: Any) -> Any:
            return method(value) if value.__class__ is tensor else attribute(value, name)()

    elif count == 1:

        def call(value: Any, first: Any) -> Any:
            if value.__class__ is tensor:
                return method(value, first)
            return attribute(value, name)(first)

    else:

        def call(value: Any, *args: Any, **options: Any) -> Any:
            if value.__class__ is tensor:
                return method(value, *args, **options)
            return attribute(value, name)(*args, **options)

    return call


def _invoke(function: Any, /, *args: Any, **options: Any) -> Any:
    """Call with keywords a function that may be the program's own."""
    code = getattr(function, "__code__", None)
    if code is not None and code.co_filename == FILE:
        options = {f"v_{name}": value for name, value in options.items()}
    return function(*args, **options)


def _keep(value: Any) -> Any:
    if value.__class__ is names.Tensor and value.grad_fn is not None:
        value.retain_grad()
    return value


def _fail(message: Any = None) -> None:
    raise AssertionError("" if message is None else text.show(message))


def _concat(*pieces: str) -> str:
    builtins.grown(sum(map(len, pieces)), "string")
    return "".join(pieces)


_HELPERS: dict[str, Any] = {
    "h_add": builtins.add,
    "h_add_to": builtins.add_to,
    "h_append": list.append,
    "h_attribute": names.attribute,
    "h_concat": _concat,
    "h_divide_by": operator.itruediv,
    "h_fail": _fail,
    "h_field": text.field,
    "h_floor_by": operator.ifloordiv,
    "h_invoke": _invoke,
    "h_keep": _keep,
    "h_iterate": builtins.iterate,
    "h_locals": locals,
    "h_matmul_by": operator.imatmul,
    "h_modulo": builtins.modulo,
    "h_modulo_by": builtins.modulo,
    "h_multiply": builtins.multiply,
    "h_multiply_by": builtins.multiply_by,
    "h_power": builtins.power,
    "h_power_by": builtins.power_by,
    "h_repr": lambda value: text.show(value, True),
    "h_set_attribute": names.set_attribute,
    "h_set_item": builtins.set_item,
    "h_slice": slice,
    "h_sub_from": operator.isub,
}

names.NAMES["print"] = text.printer(_nowhere)
names.NAMES["str"] = text.show
