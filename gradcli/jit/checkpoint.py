"""Checkpoints of a loop: its state now and then, from which its turns are run again backwards.

The forward loop keeps its state every ``spacing`` turns, and where there would be too many of them
drops every other one and doubles the spacing: so the number of turns need not be known. Backwards,
the turns between two checkpoints are run again from the earlier one, this time saving what the
backward loop reads.

``sqrt`` keeps about as many states as there are turns between two of them. ``revolve:K`` keeps K,
and splits the turns between two of them further by the binomial schedule of Griewank and Walther
(Algorithm 799, 2000), so that memory stays what it is and the number of repetitions is smallest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

FIRST = 16
"""Turns between two checkpoints at first; a revolving segment of so many is run at once."""


def keep(states: list, turn: int, spacing: int, state: tuple, most: int | None) -> int:
    """Keep the state before a turn, at most ``most`` of them (None: as for sqrt); the spacing."""
    if len(states) >= (2 * spacing if most is None else most):
        del states[1::2]
        spacing *= 2
    if not turn % spacing:
        states.append(state)
    return spacing


def segments(
    states: list, turns: int, spacing: int, advance: Callable[..., tuple] | None, most: int
) -> Iterator[tuple[int, int, tuple]]:
    """The segments of a loop from the last to the first: first turn, end, state before the first.

    ``advance(first, end, state)`` runs turns and gives the state after them; with it, segments are
    split until they are short, with ``most`` states kept at a time.
    """
    end = turns
    while states:
        state = states.pop()
        first = len(states) * spacing
        if advance is None:
            yield first, end, state
        else:
            # What the segments behind this one had kept is free for it.
            free = max(1, most - len(states) - 1)
            work = [(first, end, state, free)]
            while work:
                low, high, state, spare = work.pop()
                if high - low <= FIRST:
                    yield low, high, state
                    continue
                middle = low + split(high - low, spare)
                work.append((low, middle, state, spare))
                work.append((middle, high, advance(low, middle, state), max(1, spare - 1)))
        end = first


def split(turns: int, spare: int) -> int:
    """How many of so many turns to go on before the next state is kept, with ``spare`` to keep."""
    units = -(-turns // FIRST)
    rounds = 1
    while math.comb(spare + rounds, spare) < units:
        rounds += 1
    # Of the part behind, as many turns as one state less can turn back in as many rounds.
    behind = min(math.comb(spare + rounds - 1, spare - 1), units - 1)
    return FIRST * max(1, units - behind) if units > 1 else turns
