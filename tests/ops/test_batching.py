"""Under vmap an operator works on the whole batch at once, as its declaration says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.record import fast_path
from gradcli.ops import OPERATORS
from gradcli.transforms.batch_rules import rule_of
from tests.ops.table import ROWS
from tests.support.families import family

ROW_BY_ROW = {
    "put": "a write is done by the batch itself",
    "drawn": "the numbers are a parameter, which has no batch",
}
"""Operators that run once for each element, and why."""
rng = np.random.default_rng(3)
SYMMETRIC = np.stack([a @ a.T + np.eye(3) for a in rng.normal(size=(4, 3, 3))])
VECTORS, COLUMNS = rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 2))
CALLS: list[tuple[str, Any, tuple]] = [
    ("inv", None, (SYMMETRIC,)),
    ("det", None, (SYMMETRIC,)),
    ("logdet", None, (SYMMETRIC,)),
    ("logabsdet", None, (SYMMETRIC,)),
    ("adjugate", None, (SYMMETRIC,)),
    ("cholesky", None, (SYMMETRIC,)),
    ("solve", None, (SYMMETRIC, VECTORS)),
    ("solve", None, (SYMMETRIC, COLUMNS)),
    ("roll", {"shifts": 1}, (COLUMNS,)),
    ("roll", {"shifts": (1, 2), "dims": (0, 1)}, (COLUMNS,)),
    ("roll", {"shifts": -1, "dims": 0}, (COLUMNS,)),
    ("pad", {"pad": (1, 2)}, (COLUMNS,)),
    ("pad", {"pad": (1, 0, 0, 2)}, (COLUMNS,)),
    ("fourier", {"dim": 0}, (COLUMNS,)),
    ("fourier", {"inverse": True, "norm": "ortho"}, (COLUMNS,)),
    ("contract", {"labels": "ij,jk->ik"}, (SYMMETRIC, COLUMNS)),
    ("contract", {"labels": "i,i->"}, (VECTORS, VECTORS)),
    ("tile", {"repeats": (2, 3)}, (VECTORS,)),
    ("tile", {"repeats": 2}, (COLUMNS,)),
    ("cumsum", {"dim": 0}, (COLUMNS,)),
    ("argcummax", {"dim": 0}, (COLUMNS,)),
    ("running_largest", {"dim": 0}, (COLUMNS,)),
    ("norm", {"p": 3, "dim": 0}, (COLUMNS,)),
    ("eigvalsh", None, (SYMMETRIC,)),
    ("prod", {"dim": 0}, (COLUMNS,)),
]


def counted(op: Any, monkeypatch: pytest.MonkeyPatch) -> list:
    calls: list = []
    compute = op.compute

    def counting(*args: Any, **params: Any) -> Any:
        calls.append(args)
        return compute(*args, **params)

    monkeypatch.setattr(op, "compute", counting)
    monkeypatch.setattr(fast_path, "_calls", {})  # a written function has the computation itself
    return calls


@pytest.mark.parametrize(("name", "params", "arrays"), CALLS, ids=lambda v: str(v)[:40])
def test_one_computation_for_the_whole_batch(name, params, arrays, monkeypatch):
    op, params = OPERATORS[name], params or {}
    wanted = np.stack([op(*row, **params) for row in zip(*arrays, strict=True)])
    calls = counted(op, monkeypatch)
    out = gradcli.func.vmap(lambda *xs: op(*xs, **params))(*map(gradcli.tensor, arrays))
    assert len(calls) == 1
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-12, atol=1e-12)
    if len(arrays) > 1:  # one side the same for all
        for shared in range(2):
            dims = tuple(None if i == shared else 0 for i in range(2))
            given = [a[0] if i == shared else a for i, a in enumerate(arrays)]
            wanted = np.stack([
                op(*(a if i == shared else a[k] for i, a in enumerate(given)), **params)
                for k in range(4)
            ])  # fmt: skip
            calls.clear()
            out = gradcli.func.vmap(lambda *xs: op(*xs, **params), dims)(
                *map(gradcli.tensor, given)
            )
            assert len(calls) == 1
            np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_einsum_runs_batched(monkeypatch):
    calls = [counted(OPERATORS[name], monkeypatch) for name in ("contract", "matmul")]
    x, y = gradcli.tensor(SYMMETRIC), gradcli.tensor(COLUMNS)
    out = gradcli.func.vmap(lambda a, b: gradcli.einsum("ij,jk->ik", a, b))(x, y)
    assert sum(map(len, calls)) == 1
    np.testing.assert_allclose(out.numpy(), SYMMETRIC @ COLUMNS, rtol=1e-12)


def test_every_operator_has_a_rule_or_a_reason():
    without = {name for name, op in OPERATORS.items() if rule_of(op) is None}
    assert without == ROW_BY_ROW.keys()


@family("name", [n for n in ROWS if n not in ROW_BY_ROW])
def test_a_batch_is_its_elements_side_by_side(name):
    """Each case of the operator's table, on three shifted copies of its arguments."""
    row, op = ROWS[name], OPERATORS[name]
    for place in range(len(row.cases)):
        params = row.cases[place].params
        args = row.arguments(place)
        own = [i for i, a in enumerate(args) if isinstance(a, np.ndarray) and a.dtype.kind in "fc"]
        if not own:
            continue
        stacks = [
            np.stack([a * f for f in (1.0, 0.99, 1.01)]) if i in own else a
            for i, a in enumerate(args)
        ]
        wanted = [
            op(*(gradcli.tensor(s[k]) if i in own else gradcli.tensor(s)
                 if isinstance(s, np.ndarray) else s for i, s in enumerate(stacks)), **params)
            for k in range(3)
        ]  # fmt: skip
        given = [gradcli.tensor(s) if isinstance(s, np.ndarray) else s for s in stacks]
        dims = tuple(0 if i in own else None for i in range(len(given)))
        out = gradcli.func.vmap(lambda *xs, p=params: op(*xs, **p), dims)(*given)
        np.testing.assert_allclose(
            out.numpy(), np.stack([w.numpy() for w in wanted]), rtol=1e-10, atol=1e-12,
            err_msg=f"{name} {params}",
        )  # fmt: skip
