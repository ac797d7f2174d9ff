"""Writes to views, whatever was recorded when: what PyTorch does, case by case (view_cases.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcli
from tests.behaviours.snippets import cells, printed
from tests.engine.tensor.view_cases import CASES, MODES, outcome
from tests.support.oracles import load
from tests.support.recorded import difference

RECORD = load("views")
CELLS = cells([Path(__file__).with_name("storage_cells.py")])
STORAGE = load("storage")["cases"]
# PyTorch fails in backward where a number was written through an expanded view; gradcli does not.
APART = {("enable_grad", "enable_grad", "computed", "expand", "zero_")}


def test_the_recording_is_of_these_cases():
    assert RECORD["made_with"]["torch"] == "2.13.0"
    assert len(RECORD["cases"]) == len(CASES)


def test_the_recording_is_of_these_cells():
    assert list(STORAGE) == list(CELLS)


@pytest.mark.parametrize("name", CELLS)
def test_prints_what_pytorch_prints(name):
    assert not difference(printed(gradcli, CELLS[name]), STORAGE[name])


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


@pytest.mark.parametrize("view", [
    lambda x: gradcli.unsqueeze(x, 0), lambda x: gradcli.reshape(x, (1,)), gradcli.flatten,
    gradcli.squeeze,
    lambda x: gradcli.broadcast_to(x, (1,)), gradcli.atleast_2d, lambda x: gradcli.permute(x, ()),
    lambda x: gradcli.movedim(x, 0, 0), lambda x: gradcli.transpose(x, 0, 0), lambda x: x.T,
    lambda x: x[None], lambda x: x[...], lambda x: x[()], lambda x: x.expand(1),
    lambda x: x.expand_as(gradcli.zeros(1)), lambda x: x.view(1),
    lambda x: x.as_strided((1,), (1,)),
])  # fmt: skip
@pytest.mark.parametrize("number", [lambda: gradcli.tensor(3.0), lambda: gradcli.ones(3).sum()])
def test_a_view_of_a_number_shares_its_memory(view, number):
    x = number()
    view(x).zero_()
    assert x.item() == 0
    leaf = gradcli.tensor(2.0, requires_grad=True)
    y = leaf * 1
    view(y).mul_(3)
    y.backward()
    assert (y.item(), leaf.grad.item()) == (6, 3)


def test_a_write_to_an_empty_view_of_a_number_changes_nothing():
    x = gradcli.tensor(1.5, requires_grad=True)
    y = x * x
    v = y.unsqueeze(0)
    v[:-1].fill_(3)
    empty = v[1:]
    v.mul_(2)
    (y + v.sum() + empty.sum()).backward()
    assert (y.item(), x.grad.item()) == (4.5, 12)


def test_reversed_is_a_tensor():
    x = gradcli.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert reversed(x).tolist() == [[3, 4], [1, 2]]
    assert reversed(gradcli.tensor(2.0)).item() == 2


def test_a_mask_of_more_dimensions_than_the_tensor():
    x = gradcli.zeros(2, 2)
    mask = gradcli.ones(2, 2, 1).bool()
    with pytest.raises(IndexError, match="too many indices"):
        x[mask]
    with pytest.raises(IndexError, match="too many indices"):
        x[mask] = 1
