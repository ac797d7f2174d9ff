"""The field's sample cases: every one that is supported equals its known form, at no greater cost.

The known forms are evaluated by NumPy with the few functions that they use, not by gradcli.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cost import cost

from gradcli.ops.errors import Fault
from gradcli.symbolic import diff

PLACE = Path(__file__).parents[2].parent / "shared" / "cases" / "closed_forms.json"
SUPPORTED = 53
COMPACT = 53


def sigmoid(u: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-u))


def softmax(u: np.ndarray) -> np.ndarray:
    top = np.exp(u - u.max())
    return top / top.sum()


NUMPY = [
    "sin",
    "cos",
    "tan",
    "exp",
    "log",
    "sqrt",
    "tanh",
    "where",
    "outer",
    "diag",
    "eye",
    "dot",
    "sum",
    "trace",
    "abs",
    "einsum",
]
NAMES = {
    name: getattr(np, name)
    for name in NUMPY
} | {
    "sigmoid": sigmoid, "softmax": softmax, "norm": np.linalg.norm, "max": np.maximum,
    "ones": lambda *n: np.ones(n), "inv": np.linalg.inv, "det": np.linalg.det,
}  # fmt: skip


def cases() -> list[dict]:
    return json.loads(PLACE.read_text()) if PLACE.exists() else []


def declared(case: dict) -> dict[str, str]:
    found = {}
    for name, words in case["vars"].items():
        kind, *rest = words.split()
        rank = {"scalar": 0, "vector": 1, "matrix": 2}[kind]
        sizes = ":" + ",".join(rest[:rank]) if rank else ""
        found[name] = " ".join([kind + sizes, *rest[rank:]])
    return found


def point(case: dict, rng: np.random.Generator) -> dict:
    values = {}
    for name, words in case["vars"].items():
        kind, *rest = words.split()
        rank = {"scalar": 0, "vector": 1, "matrix": 2}[kind]
        low, high = case.get("range", {}).get(name, (0.3, 0.9))
        x = rng.uniform(low, high, tuple(case["dims"][d] for d in rest[:rank]))
        if "spd" in rest:
            x = x @ x.T + np.eye(len(x))
        elif "symmetric" in rest:
            x = x + x.T
        values[name] = x
    return values


@pytest.mark.skipif(not PLACE.exists(), reason=f"no sample cases at {PLACE}")
def test_every_case() -> None:
    supported, compact, long = [], [], []
    for case in cases():
        key = case["id"]
        try:
            result = diff(case["expr"], case["wrt"], order=case["order"], declared=declared(case))
        except Fault as fault:
            assert fault.code == "E0701", f"{key}: {fault}"
            continue
        supported.append(key)
        text = result.text
        assert result.checked is not None and result.checked["max_rel_error"] < 1e-8
        rng = np.random.default_rng(7)
        for _ in range(3):
            values = point(case, rng)
            want = eval(case["expected"], {**NAMES, **case["dims"], **values})
            got = result.evaluate(**values, **case["dims"])
            assert got.shape == np.shape(want), f"{key}: {text}"
            assert np.allclose(got, want, rtol=1e-9, atol=1e-12), f"{key}: {text}"
        (compact if cost(text) <= case["ops"] else long).append(f"{key}: {text}")
    assert len(supported) >= SUPPORTED, supported
    assert len(compact) >= COMPACT, long
