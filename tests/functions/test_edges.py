"""Values and gradients at special values, against what PyTorch gave."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import gradcli
from tests.functions import edge_calls
from tests.functions.edge_table import APART, compared, evaluate, function, situations
from tests.support.families import family
from tests.support.oracles import ORACLES

CALLS = situations()


def read(name: str) -> dict[str, dict[str, np.ndarray]]:
    with np.load(ORACLES / f"{name}.npz") as file:
        about = json.loads(str(file["about"]))
        arrays = {name: file[name] for name in file.files if name != "about"}
    assert about["made_with"]["torch"] == "2.13.0"
    found: dict[str, dict[str, np.ndarray]] = {}
    for key, (name, start, shape) in about["index"].items():
        call, _, part = key.rpartition("|")
        size = int(np.prod(shape, dtype=int))
        found.setdefault(call, {})[part] = arrays[name][start : start + size].reshape(shape)
    return found


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_values_and_gradients_are_pytorchs_but_for_what_is_said():
    recorded = read("edges")
    assert list(recorded) == list(CALLS)
    used: set[int] = set()
    faults, numbers = [], 0
    with np.errstate(all="ignore"):
        for key, (text, arrays, slopes) in CALLS.items():
            got = evaluate(gradcli, text, arrays, slopes)
            for part, want in recorded[key].items():
                numbers += want.size
                if part not in got and not want.any():
                    continue  # no derivative, where PyTorch has one of zeros
                apart, reasons = compared(key, part, got[part], want, arrays)
                used |= reasons
                if apart.any() and text.startswith("torch.inner"):
                    # BLAS adds in any order: what is known is bounded by the terms' absolute sum.
                    terms = evaluate(gradcli, text, tuple(map(np.abs, arrays)), slopes)[part]
                    apart &= ~(np.abs(got[part] - want) <= 4 * np.finfo(want.dtype).eps * terms)
                if apart.any():
                    faults.append(f"{key} {part}: {np.argwhere(apart)[:4].tolist()}")
    assert not faults, "\n".join(faults)
    assert numbers > 150_000
    assert used == set(range(len(APART))), "a reason that nothing needs"


@pytest.mark.filterwarnings("ignore")
def test_calls_at_the_edges_give_what_pytorch_gives_to_the_second_derivative():
    recorded = read("edge_calls")
    used, faults = set(), []
    for i, (x, texts) in enumerate(edge_calls.CALLS):
        for text in texts:
            want = recorded.pop(f"{i} {text}")
            with np.errstate(all="ignore"):
                got = edge_calls.evaluate(gradcli, text, x)
            for part in want:
                if edge_calls.same(part, got.get(part, np.zeros_like(want[part])), want[part]):
                    continue
                reasons = [
                    k for k, (calls, parts, _) in enumerate(edge_calls.APART)
                    if re.search(calls, text) and re.fullmatch(parts, part)
                ]  # fmt: skip
                used.update(reasons)
                if not reasons:
                    faults.append(f"{text} {part}: {got.get(part)}, not {want[part]}")
    assert not faults, "\n".join(faults)
    assert not recorded and used == set(range(len(edge_calls.APART)))


@family("key", [k for k in CALLS if k.endswith("float64")])
def test_a_number_alone_is_an_entry_of_many(key):
    text, arrays, slopes = CALLS[key]
    if arrays[0].ndim != 1 or "prelu(x, y" in text:
        pytest.skip("along a dimension, or one weight for all")
    with np.errstate(all="ignore"):
        whole = evaluate(gradcli, text, arrays, slopes)
        # Some entries, of another function others.
        for i in range(len(text) % 5, len(arrays[0]), 11 if len(arrays) > 1 else 5):
            alone = evaluate(gradcli, text, tuple(np.asarray(a[i]) for a in arrays), slopes)
            for part, value in alone.items():
                assert value.shape == ()
                np.testing.assert_allclose(value, whole[part][i], rtol=1e-12, err_msg=f"{text} {i}")


@family("key", [k for k in CALLS if k.endswith("float32") and len(CALLS[k][1]) == 1])
def test_the_tangent_of_a_number_alone_is_that_of_an_entry(key):
    """And has its dtype: zeros beside a number are no float64."""
    text, (array,), _ = CALLS[key]
    if array.ndim != 1:
        pytest.skip("along a dimension")
    call = function(gradcli, text, "x")

    def tangent(x):
        try:
            return gradcli.func.jvp(call, (x,), (gradcli.ones_like(x),))[1].numpy()
        except NotImplementedError:
            pytest.skip("no forward derivative")

    with np.errstate(all="ignore"):
        whole = tangent(gradcli.tensor(array))
        for i in range(len(text) % 6, len(array), 6):
            alone = tangent(gradcli.tensor(array[i]))
            assert alone.shape == () and alone.dtype == whole.dtype
            np.testing.assert_allclose(alone, whole[i], rtol=1e-5, err_msg=f"{text} {array[i]}")


@family("key", [k for k in CALLS if k.endswith("float64") and CALLS[k][2]])
def test_the_tangent_is_the_gradient_where_entries_stand_alone(key):
    """Infinity times a slope of 0 on the way is in neither."""
    text, arrays, _ = CALLS[key]
    if arrays[0].ndim != 1 or "prelu(x, y" in text:
        pytest.skip("along a dimension, or one weight for all")
    call = function(gradcli, text, "xy"[: len(arrays)])
    leaves = [gradcli.tensor(a, requires_grad=True) for a in arrays]
    with np.errstate(all="ignore"):
        out = call(*leaves)
        for i, x in enumerate(leaves):
            if not out.requires_grad:
                continue
            ones = gradcli.ones_like(x)
            (want,) = gradcli.autograd.grad(out, x, ones, retain_graph=True, materialize_grads=True)
            try:
                one = lambda v, i=i: call(*leaves[:i], v, *leaves[i + 1 :])  # noqa: E731
                _, found = gradcli.func.jvp(one, (x,), (ones,))
            except NotImplementedError:
                pytest.skip("no forward derivative")
            np.testing.assert_allclose(found.detach(), want, rtol=1e-9, err_msg=text)
