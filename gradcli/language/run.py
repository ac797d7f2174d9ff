"""Running a program: compile, give it its names and limits, and turn what goes wrong into faults.

``prepare`` makes a ``Program`` of a text; ``Program.run`` executes it on values. A fault that comes
out has a place in the user's text, the operands' shapes under it, and the chain of calls.
"""

from __future__ import annotations

import itertools
import operator
import time
import warnings
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from gradcli.engine.modes import mode
from gradcli.language import builtins, names, settings, text
from gradcli.language import nodes as n
from gradcli.language.bounds import contains, item, iterate, pair, turns
from gradcli.language.budget import FILE, tokens
from gradcli.language.check import Checked, check
from gradcli.language.gate import gated, gated_method
from gradcli.language.lower import lower
from gradcli.language.parser import parse
from gradcli.language.source import Source
from gradcli.ops.errors import LimitFault
from gradcli.ops.limits import set_budget

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
    ) -> Outcome:
        """Execute on ``values``; printed text goes to ``write`` (dropped without one).

        ``trace`` is given a line for each statement that ran, with what it left. ``watch`` is
        called after each statement with its offset and the names and values that it left. ``twice``
        lets a fault of the backward pass be looked into by a second, silent run.

        What the program sets for the process (the default dtype, print options) is put back when it
        ends, unless ``lasting``: a session goes on with it.

        ``instead`` is given each function of the language that the program calls, and what is
        called for it, and gives what is called.

        Tensors assigned to the names in ``keep`` (None: to any name) keep their gradients.
        Raises Fault: what the program did wrong, with ``source``, ``labels`` and ``notes``.
        """
        limits = limits or Limits()
        inputs = tuple(n for n in values if self.takes(n) or n in self.checked.bound)
        if trace is not None:
            from gradcli.language.trace import tracer

            watch = tracer(self.source, trace)
        key = (inputs, keep, watch is not None)
        if key not in self._cache:
            tree, places, constants = lower(self.checked, inputs, keep, watch is not None)
            try:
                with warnings.catch_warnings():
                    # CPython's guesses about generated code; what is wrong shows when it runs.
                    warnings.simplefilter("ignore", SyntaxWarning)
                    code = compile(tree, FILE, "exec")
            except (RecursionError, SyntaxError, MemoryError) as fault:
                raise LimitFault(
                    "E0604",
                    f"the program nests too deeply to be compiled ({type(fault).__name__})",
                    help="split it into functions or simpler statements",
                ) from None
            self._cache[key] = code, places, constants
        code, places, constants = self._cache[key]
        scope = _scope(constants, limits, write or _nowhere, instead)
        if watch is not None:
            scope["h_trace"] = watch
        exec(code, scope)
        arguments = [_adopted(values[name], scope) for name in inputs]
        before = turns.steps, mode.grad, mode.inference
        began = time.monotonic()
        turns.steps = scope["h_budget"]
        set_budget(limits.memory)
        try:
            # 1/0 and log(0) are values here, not warnings.
            with np.errstate(all="ignore"):
                value, local = scope["main"](*arguments)
        except Exception as fault:
            from gradcli.language.faults import placed

            if twice and hasattr(fault, "places"):
                from gradcli.language import graph_faults

                if time.monotonic() - began < graph_faults.TWICE and graph_faults.incomplete(fault):
                    fault = graph_faults.again(self, values, fault, limits, keep)
            raise placed(fault, self, places) from None
        finally:
            set_budget(None)
            settings.put_back(keep=lasting)
            turns.steps, mode.grad, mode.inference = before
        variables = {name[2:]: v for name, v in local.items() if name.startswith("v_")}
        return Outcome(value, variables)


def prepare(source: Source | str, mode: str = "line") -> Program:
    """Parse and check a text. ``mode`` is "line" (``^`` is power) or "file" (valid Python only)."""
    if isinstance(source, str):
        source = Source(source)
    return Program(check(source, parse(source, mode)))


def _nowhere(_text: str) -> None:
    """Where printed text goes that nobody asked for."""


def _too_deep(depth: int) -> Callable:
    def refuse() -> None:
        raise LimitFault(
            "E0606", f"calls nest deeper than {depth}",
            help="use a loop, or see that the recursion ends; --max-depth N raises the limit",
        )  # fmt: skip

    return refuse


_OF_THE_RUN = ("h_budget", "h_tick", "h_steps", "h_down", "h_up", "h_deep", "g_print")


def _scope(
    constants: Mapping[str, Any], limits: Limits, write: Callable,
    instead: Callable[[Any, Any], Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The globals of a generated module: helpers, constants, and no builtins at all."""
    budget = tokens(limits.steps, limits.memory)
    depth = [False, *[True] * limits.depth]
    scope: dict[str, Any] = dict(_HELPERS)
    scope["__builtins__"] = {}
    scope["h_budget"] = budget
    scope["h_tick"] = budget.__next__
    scope["h_steps"] = lambda items: itertools.compress(items, budget)
    scope["h_down"] = depth.pop
    scope["h_up"] = depth.append
    scope["h_deep"] = _too_deep(limits.depth)
    scope["g_print"] = show = text.printer(write, limits.output)
    for name, value in constants.items():
        if value.__class__ is tuple and value and value[0] == "method":
            value = _caller(value[1], value[2])
        elif value.__class__ is tuple and value and value[0] == "function":
            called = show if value[1] is _PRINT else gated(value[1], value[2])
            value = called if instead is None else instead(value[1], called)
        elif value.__class__ not in _NUMBERS:
            called = show if value is _PRINT else gated(value)
            value = called if instead is None else instead(value, called)
        scope[name] = value
    return scope


_NUMBERS = frozenset((float, int, str, bool, complex))


def _adopted(value: Any, scope: dict[str, Any]) -> Any:
    """A function that an earlier run defined works within the limits of this one."""
    if isinstance(value, FunctionType) and value.__code__.co_filename == FILE:
        value.__globals__.update({name: scope[name] for name in _OF_THE_RUN})
    return value


_methods: dict[tuple[str, int | None], Callable] = {}


def _caller(name: str, count: int | None) -> Callable:
    """``value.name(...)``: the tensor's method straight away, others through the tables."""
    key = (name, count)
    if key not in _methods:
        _methods[key] = _made_caller(name, count)
    return _methods[key]


def _made_caller(name: str, count: int | None) -> Callable:
    method = names.CALL[names.Tensor].get(name)
    attribute = names.attribute
    tensor = names.Tensor if method is not None else None
    if count == 0:

        def call(value: Any) -> Any:
            return method(value) if value.__class__ is tensor else attribute(value, name)()

    elif count == 1:
        checked = method and gated_method(name, method, 1)

        def call(value: Any, first: Any) -> Any:
            if value.__class__ is tensor:
                return checked(value, first)
            return attribute(value, name)(first)

    else:
        checked = method and gated_method(name, method, None)

        def call(value: Any, /, *args: Any, **options: Any) -> Any:
            if value.__class__ is tensor:
                return checked(value, *args, **options)
            return attribute(value, name)(*args, **options)

    return call


def _keywords(function: Any) -> Any:
    """What to call with keywords that carry generated names, as the program's functions have."""
    if isinstance(function, FunctionType) and function.__code__.co_filename == FILE:
        return function

    def call(*args: Any, **options: Any) -> Any:
        return function(*args, **{name[2:]: value for name, value in options.items()})

    return call


def _cut(value: Any, part: slice) -> Any:
    if value.__class__ is list or value.__class__ is tuple:
        builtins.grown(len(value))
    return value[part]


def _comparing(compare: Callable) -> Callable:
    def compared(a: Any, b: Any) -> Any:
        if a.__class__ in _LISTS:
            pair(a, b)
        return compare(a, b)

    return compared


_LISTS = frozenset((list, tuple))


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
    "h_append": builtins.LIST_METHODS["append"],
    "h_attribute": names.attribute,
    "h_concat": _concat,
    "h_cut": _cut,
    "h_divide_by": operator.itruediv,
    "h_eq": _comparing(operator.eq),
    "h_fail": _fail,
    "h_field": text.field,
    "h_floor_by": operator.ifloordiv,
    "h_ge": _comparing(operator.ge),
    "h_gt": _comparing(operator.gt),
    "h_in": contains,
    "h_item": item,
    "h_iterate": iterate,
    "h_keep": _keep,
    "h_keywords": _keywords,
    "h_le": _comparing(operator.le),
    "h_locals": locals,
    "h_lt": _comparing(operator.lt),
    "h_matmul_by": operator.imatmul,
    "h_modulo": builtins.modulo,
    "h_modulo_by": builtins.modulo,
    "h_multiply": builtins.multiply,
    "h_multiply_by": builtins.multiply_by,
    "h_ne": _comparing(operator.ne),
    "h_not_in": lambda item, box: not contains(item, box),
    "h_power": builtins.power,
    "h_power_by": builtins.power_by,
    "h_record": names.function_record,
    "h_repr": lambda value: text.show(value, True),
    "h_set_attribute": names.set_attribute,
    "h_set_item": builtins.set_item,
    "h_slice": slice,
    "h_sub_from": operator.isub,
}

_PRINT = names.NAMES["print"] = text.printer(_nowhere)
names.NAMES["str"] = text.show
