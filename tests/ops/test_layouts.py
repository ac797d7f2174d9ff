"""Every operator on arrays of more entries than NumPy's buffers hold, however they lie in memory.

NumPy reads what is not contiguous in buffers of 8192 entries, and chooses its loops by shapes and
strides. So the value, the gradients and the tangent of a view (in columns, reversed, with gaps,
spread from one row) are held against those of contiguous pieces of it, or of a copy where it
cannot be cut; the cotangent and the directions lie in memory as the operands do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import gradcli
from gradcli.ops import OPERATORS
from tests.ops.rows import Draw, weights
from tests.ops.table import ROWS
from tests.support.families import family

MANY = 8193
THIRD = MANY // 3
FLAT, TALL, WIDE, EVEN = (MANY,), (MANY, 1), (1, MANY), (THIRD, 3)
# Products of many entries stay in the floats where each is about 1, and recurrences where below.
BOUNDS = {"prod": (0.99, 1.01), "prod_others": (0.99, 1.01), "cumprod": (0.99, 1.01),
          "recurrence": (-0.9, 0.9)}  # fmt: skip
EACH_ONCE, OFTEN = np.arange(MANY) * 5 % MANY, np.arange(MANY) * 7 % 50
# Of what has neither a dimension to go along nor matrices: parameters, and the operands' shapes.
MOVES: dict[str, tuple[tuple[Any, ...], ...]] = {
    "reshape": (({"shape": WIDE}, TALL), ({"shape": FLAT}, EVEN)),
    "expand": (({"shape": (2, MANY, 3)}, TALL), ({"shape": (2, MANY)}, WIDE)),
    "sum_to": (({"shape": (THIRD, 1)}, EVEN), ({"shape": (3,)}, EVEN)),
    "transpose": (({}, EVEN), ({}, TALL)),
    "reverse_dims": (({}, EVEN), ({}, TALL)),
    "mT": (({}, EVEN), ({}, WIDE)),
    "permute": (({"dims": (1, 2, 0)}, (3, 911, 3)),),
    "squeeze": (({}, TALL), ({"dim": 0}, WIDE)),
    "unsqueeze": (({"dim": 1}, EVEN),),
    "flip": (({}, EVEN), ({"dims": 0}, TALL)),
    "roll": (({"shifts": 5}, EVEN), ({"shifts": 5, "dims": 1}, WIDE)),
    "tile": (({"repeats": (2, 2)}, EVEN),),
    "unfold": (({"dim": 1, "size": 3, "step": 2}, WIDE), ({"size": 2, "step": 1}, TALL)),
    "diagonal": (({}, (2, 100, 90)),),
    "undiagonal": (({"shape": (2, 100, 4100)}, (2, 100)),),
    "tril": (({"diagonal": 1}, (100, 90)),),
    "triu": (({"diagonal": -1}, (100, 90)),),
    "getitem": (({"index": EACH_ONCE}, TALL), ({"index": (EACH_ONCE[:, None], 0)}, TALL),
        ({"index": (0, OFTEN)}, WIDE), ({"index": (slice(None, None, 2), slice(1, 3))}, EVEN)),
    "scatter": (({"shape": FLAT, "index": EACH_ONCE}, FLAT),
        ({"shape": (50,), "index": OFTEN}, FLAT), ({"shape": (50, 1), "index": OFTEN}, TALL),
        ({"shape": (50,), "index": OFTEN[:, None]}, TALL)),
    "put": (({"index": EACH_ONCE}, FLAT, FLAT), ({"index": EACH_ONCE}, TALL, TALL),
        ({"index": (slice(None), 1)}, EVEN, (THIRD,))),
    "gather": (({"indices": OFTEN[:, None], "dim": 0}, TALL),
        ({"indices": OFTEN[None], "dim": 1}, WIDE)),
    "ungather": (({"indices": OFTEN[:, None], "shape": (50, 1), "dim": 0}, TALL),
        ({"indices": OFTEN[None], "shape": (1, 50), "dim": 1}, WIDE)),
    "cat": (({"dim": 1}, TALL, TALL), ({"dim": 0}, WIDE, WIDE)),
    "stack": (({"dim": 0}, TALL, TALL), ({"dim": -1}, EVEN, EVEN)),
    "pad": (({"pad": (1, 2)}, EVEN), ({"pad": (0, 1, 2, 0)}, WIDE)),
    "prod_others": (({}, (3, THIRD)),),
    "matmul": (({}, EVEN, (3, 2)), ({}, WIDE, TALL), ({}, EVEN, (3,)), ({}, (3, THIRD), EVEN)),
    "solve": (({}, (1025, 3, 3), (1025, 3, 2)),),
    "dot": (({}, FLAT, FLAT),),
    "outer": (({}, (THIRD,), (3,)),),
    "trace": (({}, (100, 90)),),
    "contract": (({"labels": "ij,jk->ki"}, EVEN, (3, 2)), ({"labels": "ij,ij->j"}, EVEN, EVEN),
        ({"labels": "ij,i->j"}, EVEN, (THIRD,)), ({"labels": "ij,ji->"}, WIDE, TALL)),
}  # fmt: skip


# What takes entries or matrices one by one, slowly: so many matrices, or one shape of the entries.
SLOW = {"logm": 9, "logm_along": 9, "sqrtm": 99, "solve_sylvester": 99, "gammainc_slope": 1}


def rows(array: np.ndarray) -> gradcli.Tensor:
    return gradcli.tensor(array.copy())


def in_columns(array: np.ndarray) -> gradcli.Tensor:
    return gradcli.from_numpy(np.asfortranarray(array))


def reversed_(array: np.ndarray) -> gradcli.Tensor:
    back = (slice(None, None, -1),) * array.ndim
    return gradcli.from_numpy(array[back].copy())[back]


def with_gaps(array: np.ndarray) -> gradcli.Tensor:
    wide = np.zeros([2 * n + 1 for n in array.shape], array.dtype)
    inner = wide[(slice(1, None, 2),) * array.ndim]
    inner[...] = array
    return gradcli.from_numpy(inner)


def spread(array: np.ndarray) -> gradcli.Tensor:
    """Of equal rows, in the memory of one."""
    return gradcli.tensor(array[:1]).expand(array.shape)


Layout = Callable[[np.ndarray], gradcli.Tensor]
LAYOUTS: tuple[Layout, ...] = (in_columns, reversed_, with_gaps, spread)


def filled(name: str, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """Operands as the first case of the table that has no plain number has them, in these
    shapes.
    """
    row = ROWS[name]
    place = next(i for i, case in enumerate(row.cases)
                 if all(not isinstance(a, int | float) for a in row.arguments(i)))  # fmt: skip
    found = []
    for i, (argument, shape) in enumerate(zip(row.cases[place].args, shapes, strict=True)):
        if isinstance(argument, Draw):
            low, high = BOUNDS.get(name, (argument.low, argument.high))
            argument = replace(argument, shape=shape, low=low, high=high)
            found.append(argument.make(row.seed(place, i)))
        else:
            found.append(np.resize(np.asarray(argument), shape))
    return found


def large(name: str) -> Iterator[tuple[dict[str, Any], list[np.ndarray], int | None]]:
    """Parameters and operands of many entries, and along which dimension these may be cut."""
    op, row = OPERATORS[name], ROWS[name]
    params, operands = row.cases[0].params, row.arguments(0)
    if name in MOVES:
        for params, *shapes in MOVES[name]:
            yield params, filled(name, shapes), None
    elif op.entrywise:
        for shape in (TALL, WIDE, EVEN)[: SLOW.get(name)]:
            numbers = {k: v for k, v in params.items() if not isinstance(v, np.ndarray)}
            arrays = filled(name, [shape] * len(operands))
            yield numbers, arrays, shape.index(max(shape))
    elif "dim" in op.params:
        for shape, dim in ((TALL, 0), (WIDE, 1), (TALL, 1), (EVEN, 1), (EVEN, 0)):
            arrays = filled(name, [shape] * len(operands))
            yield {**params, "dim": dim}, arrays, None if shape[dim] == max(shape) else 0
    else:
        count = SLOW.get(name, 1025)
        yield params, filled(name, [(count, *np.shape(a)[-2:]) for a in operands]), 0


def readings(
    name: str, params: dict[str, Any], given: list[np.ndarray], along: list[np.ndarray], lay: Layout
) -> list[np.ndarray]:
    """The value, the gradient by each operand and the tangent, all given laid out in this way.

    ``along`` are the directions of the operands, and the cotangent.
    """
    wrt = ROWS[name].wrt

    def function(*operands: Any) -> Any:
        return OPERATORS[name](*operands, **params)

    def moved(*points: Any) -> Any:
        return function(*(points[wrt.index(i)] if i in wrt else a for i, a in enumerate(operands)))

    operands, directions = (
        [lay(a) if a.ndim else rows(a) for a in arrays] for arrays in (given, along)
    )
    if not wrt:
        return [function(*operands).numpy()]
    points = tuple(operands[i] for i in wrt)
    found = [*gradcli.func.jvp(moved, points, tuple(directions[i] for i in wrt))]
    operands = [a.requires_grad_(i in wrt) for i, a in enumerate(operands)]
    leaves = [operands[i] for i in wrt]
    found += gradcli.autograd.grad(function(*operands), leaves, directions[-1])
    return [f.detach().numpy() for f in found]


def wanted(
    name: str, params: dict[str, Any], given: list[np.ndarray], along: list[np.ndarray],
    axis: int | None,
) -> list[np.ndarray]:  # fmt: skip
    """The same of contiguous copies: of pieces, one after the other, where they may be cut."""
    if axis is None:
        return readings(name, params, given, along, rows)
    pieces = [[np.array_split(a, 2, axis)[half] for a in (*given, *along)] for half in (0, 1)]
    found = [readings(name, params, p[: len(given)], p[len(given) :], rows) for p in pieces]
    return [np.concatenate(parts, axis) for parts in zip(*found, strict=True)]


def check(
    name: str, params: dict[str, Any], given: list[np.ndarray], axis: int | None, lay: Layout
) -> None:
    """The readings of operands laid out so are those of contiguous ones."""
    if lay is spread:
        given = [np.broadcast_to(a[:1], a.shape) for a in given]
    value = OPERATORS[name](*given, **params)
    along = [
        weights(a.shape, i, a.dtype.kind == "c").astype(a.dtype)
        for i, a in enumerate((*given, value))
    ]
    if lay is spread:
        along = [np.broadcast_to(a[:1], a.shape) if a.ndim else a for a in along]
    want = wanted(name, params, given, along, axis)
    for got, to_be in zip(readings(name, params, given, along, lay), want, strict=True):
        assert got.dtype == to_be.dtype
        size = np.max(np.abs(to_be[np.isfinite(to_be)]), initial=0.1)
        np.testing.assert_allclose(got, to_be, rtol=1e-12, atol=1e-12 * size)


EVERY = [(name, turn) for turn, name in enumerate(ROWS)]


@family("name, turn", EVERY, by=lambda name, turn: OPERATORS[name].kind,
        long=[(name, turn + more) for name, turn in EVERY for more in (1, 2, 3)])  # fmt: skip
def test_large_views_are_their_copies_and_wholes_their_pieces(name, turn):
    for place, (params, given, axis) in enumerate(large(name)):
        check(name, params, given, axis, LAYOUTS[(turn + place) % len(LAYOUTS)])
