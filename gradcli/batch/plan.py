"""An expression over rows of one signature: a tree of its paths, each compiled once.

Rows of one signature have the same variables in the same shapes and dtypes. Control flow that
depends on their values makes a tree: an inner node asks the rows a question, a leaf has the code of
one path.

    if x > 0:  y = log(x)              x > 0 ?  --yes-->  code of log(x)
    else:      y = x*x                          --no--->  code of x*x

A node is explored when the first row comes to it. Whether a row is computed by its path's code or
by the engine depends on the row alone (its signature, its path, its result), so the output is the
same to the last bit however the rows are cut into blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gradcli.jit.ir import NotTraceable
from gradcli.jit.rows import PathCode, RowCode, path_of
from gradcli.ops.memory_budget import within

MOST_NODES = 4096
"""Nodes of a tree; it is forgotten and grown again past that."""
MOST_NUMBERS = 1 << 24
"""Numbers that a path may compute for one row; more is the engine's, who asks before it takes."""


@dataclass(eq=False, slots=True)
class _Node:
    """A question with two branches, or a path; neither until a row came here."""

    guard: RowCode | None = None
    branches: dict[bool, _Node] = field(default_factory=dict)
    path: PathCode | None = None


class Part(NamedTuple):
    """Rows of one path (None: all) and their results: the value first, then the gradients."""

    rows: np.ndarray | None
    outputs: list[np.ndarray]


@dataclass(eq=False)
class Plan:
    """A function of one row's variables, over arrays of rows.

    function   of tensors; gives the value
    wanted     which variables to differentiate by; None: the value only
    cotangent  weights of a result that is no scalar
    most       numbers that a result and its gradients may have
    memory     bytes that a row may take
    """

    function: Callable[..., Any]
    wanted: Sequence[int] | None
    cotangent: Any
    most: int
    memory: int
    _root: _Node = field(default_factory=_Node)
    _nodes: int = 0

    def results(
        self, columns: Sequence[np.ndarray], count: int, watch: Callable[[int], object],
        hold: Callable[[int], object],
    ) -> tuple[list[Part], np.ndarray]:  # fmt: skip
        """The results of the rows, and which rows are left for the engine.

        columns  an array (rows, ...) for each variable
        watch    is told the row that is traced, and -1 when that is done
        hold     is told how many numbers come to be held
        """
        if self._nodes > MOST_NODES:
            self._root, self._nodes = _Node(), 0
        parts: list[Part] = []
        left: list[np.ndarray] = []
        work: list[tuple[_Node, np.ndarray | None, tuple[bool, ...]]]
        work = [(self._root, None, ())]
        while work:
            node, rows, taken = work.pop()
            if node.guard is None and node.path is None:
                example = 0 if rows is None else int(rows[0])
                watch(example)
                failed = self._explore(node, [c[example] for c in columns], taken)
                watch(-1)
                if failed:  # the next row shows what the path is
                    left.append(np.array([example]))
                    if len(rest := _some(rows, count)[1:]):
                        work.append((node, rest, taken))
                    continue
            number = count if rows is None else len(rows)
            mine = columns if number == count else [c[rows] for c in columns]
            if node.path is not None:
                hold(number * sum(math.prod(shape) for shape, _ in node.path.outputs))
                self._run(node.path, mine, rows, number, parts, left)
                continue
            assert node.guard is not None
            try:
                answer = node.guard(mine, number)[0].reshape(number).astype(bool)
            except (Exception, NotTraceable):  # the engine gives the exact error
                left.append(_some(rows, number))
                continue
            for side in (False, True):
                chosen = _some(rows, number)[answer == side]
                if len(chosen):
                    child = node.branches.setdefault(side, _Node())
                    work.append((child, chosen, (*taken, side)))
        empty = np.empty(0, np.int64)
        return parts, np.concatenate(left) if left else empty

    def _explore(self, node: _Node, row: list[Any], taken: tuple[bool, ...]) -> bool:
        """Follow the path of a row from ``node``, unless the row itself fails there: True then."""
        with within(self.memory):
            path = path_of(self.function, row, self.wanted, self.cotangent, taken)
        if path.failed:
            return True
        if path.code is not None:
            numbers = sum(math.prod(shape) for shape, _ in path.outputs)
            if numbers > self.most or path.nbytes > min(self.memory, 8 * MOST_NUMBERS):
                path.code = None
        for guard, side in path.guards:
            if guard is None:
                path.code = None
                break
            node.guard = guard
            node = node.branches[side] = _Node()
            self._nodes += 1
        node.path = path
        self._nodes += 1
        return False

    def _run(
        self, path: PathCode, columns: Sequence[np.ndarray], rows: np.ndarray | None, count: int,
        parts: list[Part], left: list[np.ndarray],
    ) -> None:  # fmt: skip
        """Add the results of rows (None: all) of one path, or the rows to those that are left."""
        if path.code is not None:
            try:
                outputs = path.code(columns, count)
            except NotTraceable:
                path.code = None
            except Exception:  # of one row perhaps: each alone, the engine for those that fail
                if count > 1:
                    each = _some(rows, count)
                    for i in range(count):
                        alone = [c[i : i + 1] for c in columns]
                        self._run(path, alone, each[i : i + 1], 1, parts, left)
                    return
            else:
                good = _finite(outputs[1:] if path.chooses else (), count)
                if path.adds:
                    good &= _finite(outputs, count) | ~_finite(columns, count)
                if good.all():
                    parts.append(Part(rows, outputs))
                    return
                rows = _some(rows, count)
                if good.any():
                    parts.append(Part(rows[good], [x[good] for x in outputs]))
                rows = rows[~good]
        left.append(_some(rows, count))


def _some(rows: np.ndarray | None, count: int) -> np.ndarray:
    return np.arange(count) if rows is None else rows


def _finite(arrays: Sequence[np.ndarray], count: int) -> Any:
    """In which rows every number of the arrays is finite."""
    good = np.ones(count, bool)
    for g in arrays:
        if g.dtype.kind == "f":
            good &= np.isfinite(g).reshape(count, -1).all(axis=1)
    return good
