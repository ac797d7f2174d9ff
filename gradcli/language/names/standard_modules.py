"""What programs have of Python's modules: collections, copy, functools, itertools, random, time,
typing and warnings.

Each gives the few names that tutorials use, within the limits of a run; nothing is imported of the
modules that could reach outside. Iterators take steps from the budget as they are walked over.
"""

from __future__ import annotations

import copy as python_copy
import functools as python_functools
import itertools as python_itertools
import time as python_time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from gradcli.engine.grad_mode import mode
from gradcli.language.limits.sizes import (
    WALKED,
    Defaulting,
    Lazy,
    as_list,
    check_length,
    counted,
    filling,
    nested_size,
    take_steps,
)
from gradcli.language.names import attributes, calling, context_managers, mappings, settings
from gradcli.language.names.calling import named
from gradcli.language.names.exceptions import ErrorValue
from gradcli.language.names.showing import show
from gradcli.language.type_names import a_value
from gradcli.ops.errors import bad_argument, bad_type
from gradcli.ops.memory_budget import step

# ---- collections ---------------------------------------------------------------------------------


def _ordered(values: Any = (), /, **more: Any) -> OrderedDict:
    return OrderedDict(mappings.dictionary(values, **more))


def _with_default(factory: Any = None, values: Any = (), /, **more: Any) -> Defaulting:
    make = None if factory is None else calling.called(factory, "what defaultdict takes")
    return Defaulting(make, mappings.dictionary(values, **more))


def _counter(values: Any = (), /) -> Counter:
    made: Counter = Counter()
    if isinstance(values, dict):
        made.update(values)
        return made
    for item in filling(made, counted(values)):
        made[mappings.key(item)] += 1
    return made


class Queue:
    """``collections.deque``, over a list: CPython frees nested ones of its own by recursion."""

    __slots__ = ("held", "longest")

    def __init__(self, values: Any = (), maxlen: Any = None) -> None:
        self.longest = None if maxlen is None else int(maxlen)
        self.held: list[Any] = []
        for item in as_list(values):
            self.append(item)

    def append(self, item: Any) -> None:
        """At the right end; from the left end goes what is too many."""
        self.held.append(item)
        if self.longest is not None and len(self.held) > self.longest:
            self.popleft()
        check_length(len(self.held), copied=False)

    def appendleft(self, item: Any) -> None:
        """At the left end; from the right end goes what is too many."""
        self.held.insert(0, item)
        take_steps(len(self.held))
        if self.longest is not None and len(self.held) > self.longest:
            self.held.pop()

    def pop(self) -> Any:
        """From the right end."""
        return self.held.pop()

    def popleft(self) -> Any:
        """From the left end."""
        take_steps(len(self.held))
        return self.held.pop(0)

    def extend(self, values: Any) -> None:
        """Several at the right end."""
        for item in as_list(values):
            self.append(item)

    def clear(self) -> None:
        """All away."""
        self.held.clear()

    def __len__(self) -> int:
        return len(self.held)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.held)

    def __getitem__(self, index: Any) -> Any:
        return self.held[index]

    def __repr__(self) -> str:
        end = "" if self.longest is None else f", maxlen={self.longest}"
        return f"deque({show(self.held, True)}{end})"


def collections() -> dict[str, Any]:
    """``collections``."""
    methods = ("append", "appendleft", "pop", "popleft", "extend", "clear")
    attributes.CALL[Queue] = {name: getattr(Queue, name) for name in methods}
    WALKED.update((Queue, Counter))
    return {
        "OrderedDict": named(_ordered, "OrderedDict", OrderedDict),
        "defaultdict": named(_with_default, "defaultdict", Defaulting),
        "Counter": named(_counter, "Counter", Counter),
        "deque": named(lambda values=(), maxlen=None: Queue(values, maxlen), "deque", Queue),
    }


# ---- copy ----------------------------------------------------------------------------------------


def _copied(value: Any) -> Any:
    if isinstance(value, list | tuple | dict | mappings.Set):
        check_length(len(value))
    _refuse_runs(value)
    arrays = mode.rebinds and hasattr(value, "__gradcli_rank__")  # whose copies share no memory
    return python_copy.deepcopy(value) if arrays else python_copy.copy(value)


def _deep(value: Any) -> Any:
    """``copy.deepcopy``: of lists, tensors, layers and records; functions stay what they are."""
    if isinstance(value, list | tuple | dict):
        nested_size(value, 100_000, cycles=True)
    _refuse_runs(value)
    step()
    return python_copy.deepcopy(value)


def _refuse_runs(value: Any) -> None:
    if hasattr(value, "gi_frame") or value.__class__ is Lazy:
        raise bad_type(
            f"{a_value(value)} cannot be copied", help="make a list of it first",
            torch=f"cannot pickle '{type(value).__name__}' object",
        )  # fmt: skip


def copy() -> dict[str, Any]:
    """``copy``."""
    return {"copy": named(_copied, "copy"), "deepcopy": named(_deep, "deepcopy")}


# ---- functools -----------------------------------------------------------------------------------


def _partial(function: Any, /, *args: Any, **options: Any) -> Any:
    call = calling.called(function, "what partial takes")

    def applied(*more: Any, **others: Any) -> Any:
        return call(*args, *more, **{**options, **others})

    return named(applied, getattr(function, "__name__", "partial"))


def _reduced(function: Any, values: Any, *first: Any) -> Any:
    return python_functools.reduce(
        calling.called(function, "what reduce takes"), counted(values), *first
    )


def _wraps(wrapped: Any) -> Callable:
    def renamed(function: Any) -> Any:
        if calling.of_program(function):
            function.__name__ = getattr(wrapped, "__name__", function.__name__)
        return function

    return named(renamed, "wraps")


def _remembered(function: Any = None, maxsize: Any = None) -> Any:
    """``lru_cache`` and ``cache``: nothing is dropped; what it keeps is the run's."""
    if not callable(function):
        return lambda function: _remembered(function)
    call = calling.called(function, "what lru_cache takes")
    kept: dict = {}

    def cached(*args: Any, **options: Any) -> Any:
        # Of equal numbers each has a gradient of its own.
        edges = [id(a.edge) for a in args if getattr(a, "edge", None) is not None]
        place = mappings.key((*args, *sorted(options.items()), *edges))
        if place not in kept:
            kept[place] = call(*args, **options)
        return kept[place]

    cached.__name__ = getattr(function, "__name__", "cached")
    cached.__gradcli_method__ = True  # type: ignore[attr-defined]
    return cached


def functools() -> dict[str, Any]:
    """``functools``."""
    return {
        "partial": named(_partial, "partial"), "reduce": named(_reduced, "reduce"),
        "wraps": named(_wraps, "wraps"), "lru_cache": named(_remembered, "lru_cache"),
        "cache": _remembered,
    }  # fmt: skip


# ---- itertools -----------------------------------------------------------------------------------


def _lazy(name: str, make: Callable[..., Iterator[Any]], whole: bool = False) -> Callable:
    """An iterator of ``itertools`` over values that take steps; ``whole`` reads them first."""

    def call(*values: Any, **options: Any) -> Lazy:
        read = as_list if whole else counted
        walked = [
            v if isinstance(v, int | float | str | None) or callable(v) else read(v) for v in values
        ]
        walked = [calling.plain(v) for v in walked]
        if whole:  # each item that it gives is as long as this
            check_length(options.get("repeat", 1) * max(1, len(values)))
        return Lazy(name, make(*walked, **options), values)

    return named(call, name)


def _chained(values: Any) -> Lazy:
    return Lazy("chain", (item for one in counted(values) for item in counted(one)), (values,))


def itertools() -> dict[str, Any]:
    """``itertools``; endless ones end with the steps of the run."""
    face = python_itertools
    table: dict[str, Any] = {name: _lazy(name, getattr(face, name)) for name in (
        "chain", "count", "cycle", "islice", "accumulate", "zip_longest", "pairwise",
        "takewhile", "dropwhile", "starmap", "repeat",
    )}  # fmt: skip
    for name in ("product", "permutations", "combinations"):
        table[name] = _lazy(name, getattr(face, name), whole=True)
    return {**table, "chain.from_iterable": _chained}


# ---- random --------------------------------------------------------------------------------------


_of_the_run = settings.Drawing("random", Random)


def _seeded(number: Any = None) -> None:
    if not isinstance(number, int | float | str | None):
        raise bad_type("a seed is a whole number", help="random.seed(0)")
    _of_the_run().seed(0 if number is None else number)


def _chosen(values: Any) -> Any:
    return _of_the_run().choice(values if values.__class__ is range else as_list(values))


def _several(values: Any, weights: Any = None, *, k: int = 1) -> list:
    check_length(k)
    take_steps(16 * k)
    return _of_the_run().choices(as_list(values), weights, k=k)


def _sampled(values: Any, k: int) -> list:
    check_length(k)
    take_steps(16 * k)
    return _of_the_run().sample(values if values.__class__ is range else as_list(values), k)


def _shuffled(values: Any) -> None:
    if not isinstance(values, list):
        raise bad_type(f"shuffle takes a list, got {a_value(values)}")
    take_steps(16 * len(values))
    _of_the_run().shuffle(values)


def _drawn(name: str) -> Callable:
    def call(*args: Any) -> Any:
        return getattr(_of_the_run(), name)(*args)

    return named(call, name)


def random() -> dict[str, Any]:
    """``random``: Python's own sequences."""
    drawn = ("random", "uniform", "randint", "randrange", "gauss", "normalvariate")
    table = {name: _drawn(name) for name in drawn}
    own = {"seed": _seeded, "choice": _chosen, "choices": _several, "sample": _sampled,
           "shuffle": _shuffled}  # fmt: skip
    return {**table, **{name: named(function, name) for name, function in own.items()}}


# ---- time, typing, warnings ----------------------------------------------------------------------


def time() -> dict[str, Any]:
    """``time``: clocks that say how long something took; nothing waits."""

    def now() -> float:
        return python_time.perf_counter()

    def sleep(seconds: Any) -> None:
        if not isinstance(seconds, int | float) or seconds > 1:
            raise bad_argument("a program waits one second at most", help="leave it out")

    return {
        "time": named(now, "time"), "perf_counter": now, "monotonic": now, "process_time": now,
        "sleep": sleep,
    }  # fmt: skip


_TYPES = (
    "Any", "Callable", "Dict", "Iterable", "Iterator", "List", "NamedTuple", "Optional", "Sequence",
    "Set", "Tuple", "Type", "Union",
)  # fmt: skip


def typing() -> dict[str, Any]:
    """``typing``: names for annotations, which are read and not computed."""
    return {name: name for name in _TYPES}


class Caught:
    """``warnings.catch_warnings``; with ``record`` the warnings of the block are in a list."""

    __slots__ = ("inner", "list", "record")

    def __init__(self, record: Any = False, **_options: Any) -> None:
        self.record = bool(record)

    def __enter__(self) -> Any:
        import warnings

        self.inner = warnings.catch_warnings(record=True)
        self.list = self.inner.__enter__()
        warnings.simplefilter("always")
        return Warned(self.list) if self.record else None

    def __exit__(self, *fault: Any) -> None:
        self.inner.__exit__(*fault)


class Warned:
    """The warnings of a block."""

    __slots__ = ("found",)

    def __init__(self, found: Any) -> None:
        self.found = found

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Any]:
        return (Warning_(one) for one in self.found)

    def __getitem__(self, index: Any) -> Any:
        return Warning_(self.found[index])


class Warning_:
    """One warning: its message and category."""

    __slots__ = ("category", "message")

    def __init__(self, found: Any) -> None:
        from gradcli.language.names.exceptions import KINDS, ErrorKind

        kind = KINDS.get(found.category.__name__) or ErrorKind(found.category)
        self.category = kind
        self.message = ErrorValue(kind, (str(found.message),), str(found.message))


WARNING = 1000
"""How many turns of a loop a warning takes: it may be a line on the terminal."""
LONGEST_WARNING = 500
"""The most characters of a warning that are shown."""


def warnings() -> dict[str, Any]:
    """``warnings``: those of the tool, and of the program."""
    context_managers.CONTEXTS.add(Caught)
    WALKED.add(Warned)
    attributes.READ[Warning_] = ("category", "message")

    def warn(message: Any, category: Any = None, stacklevel: Any = 1) -> None:
        import warnings as python_warnings

        kind = getattr(category, "python", UserWarning)
        text = message if isinstance(message, str) else "a warning"
        step(WARNING)
        if isinstance(kind, type) and issubclass(kind, Warning):
            shown = "".join(char if char.isprintable() else " " for char in text[:LONGEST_WARNING])
            python_warnings.warn(shown, kind, stacklevel=2)

    def ignored(*_args: Any, **_options: Any) -> None:
        return

    return {
        "catch_warnings": named(lambda **options: Caught(**options), "catch_warnings"),
        "simplefilter": named(ignored, "simplefilter"), "filterwarnings": ignored,
        "resetwarnings": ignored, "warn": warn,
    }  # fmt: skip
