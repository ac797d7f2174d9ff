"""A long sum whose terms are added one by one: which of its different terms is next."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from gradcli.language.names import builtins
from gradcli.language.syntax import nodes as n


class Turn:
    """Where in a long sum its terms are being added one by one."""

    __slots__ = ("node", "position")

    def __init__(self, node: n.Sum) -> None:
        self.node = node
        self.position = 0


def turns(node: n.Sum) -> Iterator[tuple[Turn, int, int]]:
    """For each term in turn which of the different ones it is, and which of its rows."""
    turn = Turn(node)
    ends = [*itertools.accumulate(node.counts)]
    for turn.position, i in enumerate(node.order):
        row = i if i >= 0 else ~i
        at = bisect_right(ends, row)
        yield turn, at, row - ends[at] + node.counts[at]


def one_more(total: Any, turn: Turn, value: Any) -> Any:
    """The sum and one more term."""
    if total is None:
        return value
    if turn.node.order[turn.position] < 0:
        return total - value
    return builtins.add(total, value)
