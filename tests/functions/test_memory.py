"""What would not fit is refused by its charge: every function, of tensors expanded far past it.

The samples of PyTorch's operator tests, where one size after the other is a hundred times what the
limit allows, or all together are; what NumPy really allocated is counted by ``tracemalloc``.
"""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import gradcli
from gradcli.ops.errors import Fault
from gradcli.ops.memory_budget import put_back, set_budget
from tests.functions.test_samples import CASES, array, function, made
from tests.support.families import family

LIMIT = 8 << 20
HUGE = 100 * LIMIT // 8
"""Numbers of a hundred times the limit."""


def shapes(value: Any) -> Iterator[list[int]]:
    """The shapes of the tensors in the JSON of arguments."""
    if isinstance(value, list):
        for part in value:
            yield from shapes(part)
    elif isinstance(value, dict) and "shape" in value:
        yield value["shape"]
    elif isinstance(value, dict):
        yield from shapes(list(value.get("items", {}).values()))


def expanded(value: Any, size: Callable[[int], int]) -> Any:
    """Arguments from JSON, their tensors one number each, expanded to other sizes."""
    if isinstance(value, list):
        return [expanded(part, size) for part in value]
    if not isinstance(value, dict):
        return value
    if "items" in value:
        return {k: expanded(part, size) for k, part in value["items"].items()}
    if "shape" not in value:
        return made(value)
    given = array(value)
    number = given.flat[0] if given.size else given.dtype.type(0)
    one = gradcli.tensor(max(number, 0) if given.dtype.kind == "i" else number)
    return one.to(gradcli.tensor(given).dtype).expand(
        [n if n < 2 else size(n) for n in given.shape]
    )


def larger(arguments: Any) -> Iterator[Callable[[int], int]]:
    """How the sizes of arguments become large: each alone, and all."""
    given = list(shapes(arguments))
    sizes = {n for shape in given for n in shape if n > 1}
    for chosen in (*({n} for n in sizes), *([sizes] if len(sizes) > 1 else [])):
        rank, count = max((sum(n in chosen for n in s), math.prod(s)) for s in given)
        times = math.ceil((HUGE / max(1, count)) ** (1 / rank))
        yield lambda n, chosen=chosen, times=times: n * times if n in chosen else n


@family("name", CASES)
def test_what_would_not_fit_takes_no_memory(name):
    arguments = CASES[name][len(CASES[name]) // 2][0]
    for size in itertools.islice(larger(arguments), 4):
        before = set_budget(LIMIT)
        tracemalloc.start()
        try:
            first, *others = expanded(arguments, size)
            function(name)(first, *others[0], **others[1])
        except Fault:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            put_back(before)
        assert peak < 1.5 * LIMIT, ([size(n) for n in next(shapes(arguments))], peak)
