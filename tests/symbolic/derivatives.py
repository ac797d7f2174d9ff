"""Derivatives that several tests look at, each worked out once; and how long SymPy's are."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from gradcli.symbolic import diff
from gradcli.symbolic.closed_form import Result
from tests.support.oracles import load
from tests.symbolic.cost import cost


@functools.cache
def derivative(text: str, wrt: str) -> Result:
    """``diff`` of a text by one variable."""
    return diff(text, wrt)


def longer_than_sympys(known: Sequence[tuple[str, str]]) -> list[str]:
    """The derivatives, of (text, variable), with more operations than ``sympy.simplify`` leaves."""
    simplified = {(text, wrt): peer for text, wrt, peer in load("simplified")["cases"]}
    found = []
    for text, wrt in known:
        ours, peer = derivative(text, wrt).text, simplified[text, wrt]
        if cost(ours) > cost(peer):
            found.append(f"{text}: {ours} ({cost(ours)}), sympy {peer} ({cost(peer)})")
    return found
