"""A wrong call raises what PyTorch raises for it, and says what PyTorch says."""

from __future__ import annotations

import re

import pytest

import gradcli
import gradcli.functions.linalg
from tests.functions.misuses import MISUSES, raised
from tests.functions.statements import OWN_WORDS, RARE, STATEMENTS, refusal
from tests.support.families import family
from tests.support.oracles import load

pytestmark = pytest.mark.filterwarnings("ignore")
RECORD = load("misuses")
# Signatures of C++ and counts of arguments: Python says these here, in its own words.
OF_BINDING = re.compile(
    r"invalid combination|takes no keyword|unexpected keyword|missing \d|argument .* must be|"
    r"positional argument|no arguments"
)


def spoken(said: list[str]) -> list[str]:
    return [said[0], said[1].replace("gradcli", "torch")]


def test_the_recording_is_of_these_lines():
    assert RECORD["made_with"]["torch"] == "2.13.0"
    assert list(RECORD["cases"]) == MISUSES
    listed = [*STATEMENTS, *(line for lines in OWN_WORDS.values() for line in lines)]
    assert list(RECORD["statements"]) == listed
    assert len(MISUSES) > 500
    assert len(STATEMENTS) > 400


def test_each_raises_what_pytorch_raises():
    differ = [
        f"{line}: PyTorch {want}, here {got}"
        for line, (want, _) in RECORD["cases"].items()
        if (got := raised(gradcli, line)[0]) != want
    ]
    assert not differ, "\n".join(differ)


def begins(said: list[str], whole: list[str]) -> bool:
    """Whether a refusal is PyTorch's, or what its text begins with: its rule without the sizes."""
    return said[0] == whole[0] and len(said[1]) > 20 and whole[1].startswith(said[1].rstrip("."))


def test_each_says_what_pytorch_says_or_begins_so():
    differ = [
        f"{line}:\n  PyTorch {want[1]}\n  here {got[1]}"
        for line, want in RECORD["cases"].items()
        if line not in RARE
        and not OF_BINDING.search(want[1])
        and (got := spoken(raised(gradcli, line))) != want
        and not begins(got, want)
    ]
    assert not differ, "\n".join(differ)
    assert len(RARE) < 80


def test_common_statements_are_refused_in_pytorchs_words():
    differ = [
        f"{line}:\n  PyTorch {want}\n  here {got}"
        for line in STATEMENTS
        if (got := spoken(refusal(gradcli, line))) != (want := RECORD["statements"][line])
    ]
    assert not differ, "\n".join(differ)


@family("reason", OWN_WORDS)
def test_what_is_listed_as_different_differs(reason):
    lines = OWN_WORDS[reason]
    said = {line: spoken(refusal(gradcli, line)) for line in lines}
    assert not [line for line in lines if said[line] == RECORD["statements"][line]]
    if "takes more" not in reason and "slot" not in reason:
        assert not [line for line in lines if said[line][0] == "nothing"]


def test_an_error_of_a_matrix_is_caught_by_its_own_name():
    assert issubclass(gradcli.functions.linalg.LinAlgError, RuntimeError)
    with pytest.raises(gradcli.functions.linalg.LinAlgError, match="singular") as fault:
        gradcli.functions.linalg.inv(gradcli.zeros(2, 2))
    assert type(fault.value).__name__ == "_LinAlgError"
    with pytest.raises(gradcli.functions.linalg.LinAlgError, match="order 2"):
        gradcli.functions.linalg.cholesky(gradcli.ones(2, 2))


def test_a_singular_matrix_among_others():
    both = gradcli.stack([gradcli.zeros(2, 2), 2 * gradcli.eye(2)])
    inverse, info = gradcli.functions.linalg.inv_ex(both)
    assert info.tolist() == [1, 0]
    assert inverse[1].tolist() == [[0.5, 0], [0, 0.5]]
    assert gradcli.isnan(inverse[0]).all()
    assert gradcli.functions.linalg.cond(gradcli.zeros(2, 2), 1).item() == float("inf")


@family(
    "line, said",
    [
        ("torch.linalg.lu_solve(q, torch.tensor([0, 1]).int(), q)", "must all be greater or equal"),
        ("torch.linalg.lu_solve(q, torch.tensor([1, 3]).int(), q)", "must all be smaller or equal"),
        ("torch.linalg.ldl_solve(q, torch.tensor([0, 1]), q)", "|pivot| >= 1"),
        ("torch.linalg.ldl_solve(q, torch.tensor([1, -3]), q)", "|pivot| <= LD.size(-2)"),
        ("torch.lu_unpack(q, torch.tensor([1, 2]))", "a contiguous tensor of torch.int32 dtype"),
        ("b.index_fill_(0, i, 1j)", "Converting complex Scalar to non-complex type"),
        ("torch.Size([2, 1.5])", "takes an iterable of 'int' (item 1 is 'float')"),
    ],
)
def test_numbers_that_a_call_does_not_take(line, said):
    assert said in raised(gradcli, line)[1]
