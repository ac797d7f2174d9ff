"""Writes to views, whatever was recorded when: what PyTorch does, case by case (view_cases.py)."""

from __future__ import annotations

import pytest

import gradcli
from tests.engine.tensor.view_cases import CASES, MODES, outcome
from tests.support.oracles import load

RECORD = load("views")
# PyTorch fails in backward where a number was written through an expanded view; gradcli does not.
APART = {("enable_grad", "enable_grad", "computed", "expand", "zero_")}


def test_the_recording_is_of_these_cases():
    assert RECORD["made_with"]["torch"] == "2.13.0"
    assert len(RECORD["cases"]) == len(CASES)


@pytest.mark.parametrize("made", MODES)
@pytest.mark.parametrize("written", MODES)
def test_a_view_is_made_and_written_to(made, written):
    differ = []
    for case, place in zip(CASES, RECORD["cases"], strict=True):
        if case[:2] != (made, written) or case in APART:
            continue
        got, want = outcome(gradcli, case), RECORD["outcomes"][place]
        if got != want:
            differ.append(f"{case}\n  PyTorch {want}\n  here    {got}")
    assert not differ, "\n".join(differ)
