"""The budget of steps: when a run counts as long, whatever the process holds."""

from __future__ import annotations

from itertools import islice

import pytest

from gradcli.language.limits import step_budget
from gradcli.language.limits.step_budget import PORTION, tokens
from gradcli.ops.errors import LimitFault


class Long(Exception):
    pass


@pytest.mark.parametrize("held", [0, 1 << 20, 400 << 20, 900 << 20])
def test_a_run_is_long_after_so_many_steps_in_a_large_process_too(held, monkeypatch):
    monkeypatch.setattr(step_budget, "peak", lambda: held)

    def long():
        raise Long

    for steps, after in ((3000, 2000), (10**6, 2000), (2100, 2000), (10**5, 33)):
        taken, budget = 0, tokens(steps, 2 << 30, long, after)
        with pytest.raises(Long):
            while next(budget):
                taken += 1
        assert taken == after
    assert all(islice(tokens(2060, 2 << 30, long, 2001), 2000))


def test_a_run_ends_where_the_process_holds_too_much_between_its_steps(monkeypatch):
    limit = 64 << 20
    monkeypatch.setattr(step_budget, "peak", lambda: limit)
    monkeypatch.setattr(step_budget, "held", lambda base, allowed: limit + grown)
    grown, budget = 0, tokens(10**6, limit)
    assert all(islice(budget, 2 * PORTION))
    grown = 1
    with pytest.raises(LimitFault, match="the limit is 64 MiB") as caught:
        assert all(islice(budget, 2 * PORTION))
    assert caught.value.code == "E0602"
