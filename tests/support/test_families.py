"""What a family of cases promises: every case runs, and every failure is told."""

from __future__ import annotations

import pytest

import gradcli
from tests.support.families import family


def test_every_case_runs_and_every_failure_is_told():
    ran = []

    @family("a, b", [(1, 1), (1, 2), (2, 2), (3, 4), (5, 5)])
    def check(a, b):
        ran.append((a, b))
        gradcli.set_default_dtype(gradcli.float16)
        if a == 3:
            with pytest.raises(ValueError):
                pass
        assert a == b

    with pytest.raises(BaseExceptionGroup) as caught:
        check()
    assert len(ran) == 5
    assert gradcli.get_default_dtype() is gradcli.float32
    said = str(caught.value)
    assert said.startswith("2 of 5 cases fail") and "(1, 2): " in said and "(3, 4): " in said
    assert [f.__notes__ for f in caught.value.exceptions] == [["case: (1, 2)"], ["case: (3, 4)"]]


@pytest.fixture
def fixed():
    return 10


@family("number", range(6), by=lambda number: "odd" if number % 2 else "even", long=[7])
def test_groups_and_fixtures(fixed, number):
    assert fixed == 10


def test_each_group_was_one_test():
    marks = test_groups_and_fixtures.pytestmark[0].args[1]
    assert [p.id for p in marks] == ["even", "odd", "long"]
    assert [m.name for m in marks[-1].marks] == ["long"]


def test_a_family_without_cases_is_refused():
    with pytest.raises(AssertionError, match="checks nothing"):
        family("a", [])(lambda a: None)
