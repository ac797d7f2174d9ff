"""The budget of steps: when a run counts as long, whatever the process holds."""

from __future__ import annotations

from itertools import islice

import pytest

from gradcli.language.limits import step_budget
from gradcli.language.limits.step_budget import tokens


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
