"""``np.random`` of programs: NumPy's own sequences, from the seed of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.language.limits.sizes import check_nested
from gradcli.language.names import settings
from gradcli.language.names.calling import named
from gradcli.language.names.numpy.arrays import NumpyArray, argument, array_of, as_numpy
from gradcli.ops.memory_budget import charge

_of_the_run = settings.Drawing("numpy random", np.random.RandomState)


def _seeded(seed: Any = None) -> None:
    _of_the_run().seed(0 if seed is None else seed)


def _drawn(name: str, sizes: str) -> Callable:
    """A function of ``np.random``; ``sizes`` is its parameter for a shape, or empty where all
    arguments are one."""

    def call(*args: Any, **options: Any) -> Any:
        given = args if not sizes else [options.get(sizes, args[-1] if len(args) > 1 else 1)]
        shape = [n for one in given for n in (one if isinstance(one, tuple | list) else (one,))]
        charge(8 * int(np.prod([n for n in shape if isinstance(n, int)] or [1], dtype=float)))
        options = {k: argument(v) for k, v in options.items()}
        return array_of(getattr(_of_the_run(), name)(*map(argument, args), **options))

    return named(call, name)


def _shuffled(values: Any) -> None:
    if values.__class__ is list:
        check_nested(values)
        _of_the_run().shuffle(values)
    elif values.__class__ is NumpyArray:
        values._written(_of_the_run().shuffle, values.array)
    else:
        _of_the_run().shuffle(as_numpy(values))


def random_table() -> dict[str, Any]:
    """``np.random``: NumPy's own sequences."""
    sized = ("normal", "uniform", "randint", "choice", "binomial", "poisson", "exponential")
    table: dict[str, Any] = {name: _drawn(name, "size") for name in sized}
    table.update({name: _drawn(name, "") for name in ("rand", "randn", "random", "permutation")})
    return {**table, "seed": _seeded, "shuffle": _shuffled}
