"""The field's sample cases and our own identities: right, and no longer than the known form.

The known forms are evaluated by NumPy with the few functions that they use, not by gradcli. Our own
stand in identities.json; record_identities.py checks them by differences and counts their cost.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gradcli.symbolic import diff
from tests.symbolic.cost import cost
from tests.symbolic.record_identities import point, value

PLACE = Path(__file__).parents[2].parent / "shared" / "cases" / "closed_forms.json"
OWN = Path(__file__).parent / "identities.json"


def cases(place: Path = PLACE) -> list[dict]:
    return json.loads(place.read_text("utf-8")) if place.exists() else []


def declared(case: dict) -> dict[str, str]:
    found = {}
    for name, words in case["vars"].items():
        kind, *rest = words.split()
        rank = {"scalar": 0, "vector": 1, "matrix": 2}[kind]
        sizes = ":" + ",".join(rest[:rank]) if rank else ""
        found[name] = " ".join([kind + sizes, *rest[rank:]])
    return found


@pytest.mark.skipif(not PLACE.exists(), reason=f"no sample cases at {PLACE}")
def test_every_sample() -> None:
    right, long = judged(cases())
    assert right == 66
    assert len(long) <= 4, long


def test_every_sixth_of_our_own_identities() -> None:
    right, long = judged(cases(OWN)[::6])
    assert right == 72
    assert len(long) <= 1, long


@pytest.mark.long
def test_our_own_identities() -> None:
    right, long = judged(cases(OWN))
    assert right == 429
    assert len(long) <= 6, long


def judged(known: list[dict]) -> tuple[int, list[str]]:
    """How many cases are right, and those that are longer than the known form."""
    right, long = 0, []
    for case in known:
        key = case["id"]
        result = diff(case["expr"], case["wrt"], order=case["order"], declared=declared(case))
        text = result.text
        assert result.checked is not None and result.checked["max_rel_error"] < 1e-8
        rng = np.random.default_rng(7)
        for _ in range(3):
            values = point(case, rng)
            want = value(case["expected"], case, values)
            got = result.evaluate(**values, **case["dims"])
            assert got.shape == np.shape(want), f"{key}: {text}"
            assert np.allclose(got, want, rtol=1e-9, atol=1e-11), f"{key}: {text}"
        right += 1
        if cost(text) > case["ops"]:
            long.append(f"{key}: {text} for {case['expected']}")
    return right, long
