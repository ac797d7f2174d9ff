"""Every function that a program can call, with what is known of it: the table of ``gradcli ops``.

Of an operator its declaration says all. A function composed of operators has what those have that
it calls, which are read from its code.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import FunctionType, ModuleType
from typing import Any

import gradcli.surface as surface
from gradcli.engine.record.captures import cells_of, codes_of
from gradcli.functions import index, methods
from gradcli.ops.operator import OPERATORS, Operator

PACKAGES = ("linalg", "nn.functional", "fft", "special", "masked")
FACTS = ("derivative", "second", "forward", "batching", "closed_form")
_OURS = ("gradcli.functions", "gradcli.masked", "gradcli.ops.einsum")
_NODE = re.compile(r"\w+Backwards?\d?$")


@dataclass(frozen=True)
class Entry:
    """A name, where it stands, and what it has."""

    name: str
    prefixed: str
    family: str
    kind: str
    doc: str
    derivative: bool
    second: bool
    forward: bool
    batching: bool
    closed_form: bool
    aliases: tuple[str, ...] = ()


def entries(known: bool = True) -> list[Entry]:
    """The table: operators in order of declaration, then functions by family.

    Without ``known`` nothing is said of what they have, and nothing is loaded to find it.
    """
    find = _of_operators if known else lambda *_: (False, False, False, False, False)
    found: dict[str, Entry] = {}
    seen: dict[int, str] = {}
    for op in OPERATORS.values():
        if op.public:
            seen[id(op)] = op.name
            facts = find({op.name}, False)
            found[op.name] = Entry(
                op.name, f"torch.{op.name}", op.family, op.kind, op.doc, *facts, op.aliases
            )
    for name, function, prefix in _functions():
        inner = _unwrapped(function)
        if _operator(inner) is not None or inspect.isclass(inner):
            continue
        if id(inner) in seen:  # a further name
            first = found.get(seen[id(inner)])
            if first is not None and prefix == "torch" and name not in found:
                named = (*first.aliases, name)
                found[first.name] = replace(first, aliases=tuple(dict.fromkeys(named)))
            continue
        own = name if name not in found else f"{prefix}.{name}".removeprefix("torch.")
        if name in found and prefix == "torch":  # an operator with PyTorch's optional parameters
            seen[id(inner)] = name
            continue
        seen[id(inner)] = own
        doc = (inspect.getdoc(function) or "").partition("\n")[0]
        family = getattr(inspect.unwrap(inner), "__module__", "").rpartition(".")[2] or prefix
        facts = find(*_called_by(inner))
        if "no derivative" in (inspect.getdoc(function) or "").lower():
            facts = (False, False, False, facts[3], False)
        found[own] = Entry(own, f"{prefix}.{name}", family, "function", doc, *facts)
    return list(found.values())


def _functions() -> Iterator[tuple[str, Any, str]]:
    for name, function in methods.COMPOSED.items():
        yield name, function, "torch"
    for package in PACKAGES:
        module = importlib.import_module(f"gradcli.{package}")
        for name in sorted(module.__all__):
            function = getattr(module, name)
            if callable(function):
                yield name, function, f"torch.{package}"
    for name in index.LATER:
        yield name, getattr(surface, name), "torch"
    made = ("gradcli.functions", "gradcli.engine.creation")
    for name in surface.__all__:
        function = getattr(surface, name)
        inner = _unwrapped(function)
        gives = getattr(inner, "__annotations__", {}).get("return")
        if gives in ("Tensor", "Any") and inner.__module__.startswith(made):
            yield name, function, "torch"


def _unwrapped(function: Any) -> Any:
    """What a decorator was put on; a function made of another one has a name of its own."""
    while getattr(getattr(function, "__wrapped__", None), "__name__", None) == getattr(
        function, "__name__", ""
    ):
        function = function.__wrapped__
    return function


def _operator(function: Any) -> Operator | None:
    """The operator, where a function is its short way."""
    if isinstance(function, Operator):
        return function
    own = hasattr(function, "checked")
    return OPERATORS.get(getattr(function, "__name__", "")) if own else None


def _called_by(function: Any) -> tuple[set[str], bool]:
    """The operators that a function's code names, those of what it calls included.

    And whether it names a node of the graph: then a result of signs alone is recorded, too.
    """
    names: set[str] = set()
    node = False
    work, seen = [function], set()
    while work:
        value = _unwrapped(work.pop())
        if id(value) in seen:
            continue
        seen.add(id(value))
        op = _operator(value)
        if op is not None:
            names.add(op.name)
        if op is not None or not isinstance(value, FunctionType):
            continue
        cells = [held for _, held in cells_of(value) if held is not None]
        names.update(c for c in cells if isinstance(c, str) and c in OPERATORS)
        work += [c for c in cells if isinstance(c, FunctionType | Operator)]
        work += [value.__wrapped__] if hasattr(value, "__wrapped__") else []
        for code in codes_of(value.__code__):
            words = [c for c in code.co_consts if isinstance(c, str)]
            node = node or any(_NODE.match(w) for w in words)
            names.update(w for w in words if w in OPERATORS)
            named = [value.__globals__.get(word) for word in code.co_names]
            inside = [m for m in named if isinstance(m, ModuleType) and "gradcli" in m.__name__]
            named += [getattr(m, word, None) for m in inside for word in code.co_names]
            work += [
                f for f in named
                if _operator(f) or str(getattr(f, "__module__", "")).startswith(_OURS)
            ]  # fmt: skip
    return names, node


def _of_operators(names: set[str], node: bool) -> tuple[bool, bool, bool, bool, bool]:
    """``FACTS`` of what is composed of these operators.

    A rule is itself made of operators, so that there is a second derivative where there is a first
    one. There is a closed form if there are arguments for which symbols pass through; another call
    may have none (``norm`` of order 0). ``tests/functions/test_samples.py`` measures all of these.
    """
    from gradcli.symbolic.trace import trace as trace  # registers what operators do to symbols
    from gradcli.symbolic.trace.symbol import OPERATION
    from gradcli.transforms.batch_rules import rule_of

    given = [OPERATORS[name] for name in names]
    derivative = node or any(op.recorded for op in given)
    forward = derivative and all(op.kind != "general" or op.jvp is not None for op in given)
    closed = derivative and all(
        op.name in OPERATION or op.formula is not None or (op.entrywise and op.public)
        for op in given
    )  # fmt: skip
    batched = bool(given or node) and all(rule_of(op) is not None for op in given)
    return derivative, derivative, forward, batched, closed
