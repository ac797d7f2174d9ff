"""Samples of PyTorch's own operator tests: value, gradient, and forward mode against reverse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.autograd import forward_ad
from gradcli.cli.operator_table import entries
from tests.oracles.record_samples import tensors
from tests.support.oracles import load

CASES = load("samples")["cases"]


def function(name: str) -> Any:
    """What PyTorch's test calls: a function of a package, else a method."""
    found: Any = gradcli
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        found = None
    if found is None or isinstance(found, gradcli.dtype):
        return lambda x, *args, **options: getattr(x, name)(*args, **options)
    return found


def made(value: Any) -> Any:
    """An argument from JSON."""
    if isinstance(value, list):
        return [made(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "items" in value:
        return {k: made(v) for k, v in value["items"].items()}
    if "name" in value:
        return getattr(gradcli, value["name"])
    if "number" in value:
        return float(value["number"])
    return gradcli.tensor(array(value), requires_grad=value["grad"])


def array(value: dict) -> np.ndarray:
    dtype = np.dtype(value["dtype"])
    data = [float(v) if isinstance(v, str) else v for v in value["data"]]
    if dtype.kind == "c":
        return np.array(data, float).view(np.complex128).astype(dtype).reshape(value["shape"])
    return np.array(data, dtype).reshape(value["shape"])


def close(found: list, wanted: list, tolerance: float = 1e-8) -> None:
    assert len(found) == len(wanted)
    for f, w in zip(found, wanted, strict=True):
        want = array(w)
        assert tuple(f.shape) == want.shape
        wide = 1e-2 if want.dtype == np.float16 else 1e-5 if want.dtype.itemsize < 8 else tolerance
        np.testing.assert_allclose(
            f.detach().numpy().astype(want.dtype), want, rtol=wide, atol=wide
        )


def dual(value: Any, tangents: dict) -> Any:
    if isinstance(value, list):
        return [dual(v, tangents) for v in value]
    if isinstance(value, dict):
        return {k: dual(v, tangents) for k, v in value.items()}
    if id(value) not in tangents:
        return value
    return forward_ad.make_dual(value.detach(), tangents[id(value)])


@pytest.mark.parametrize("name", CASES)
def test_value_gradient_and_forward_mode(name):
    call = function(name)
    for arguments, values, grads in CASES[name]:
        given = made(arguments)
        found = tensors(call(given[0], *given[1], **given[2]))
        close(found, values)
        outs = [t for t in found if t.requires_grad]
        leaves = [t for t in tensors(given) if t.requires_grad]
        if not grads:
            continue
        weights = [
            gradcli.tensor(np.cos(np.arange(t.numel()) + 1.0).reshape(t.shape)).to(t.dtype)
            for t in outs
        ]
        taken = gradcli.autograd.grad(outs, leaves, weights, allow_unused=True)
        taken = [gradcli.zeros_like(x) if g is None else g
                 for g, x in zip(taken, leaves, strict=True)]  # fmt: skip
        close(taken, grads)
        # The same number by tangents: the weights times the pushforward.
        pushed = {id(x): gradcli.tensor(np.sin(np.arange(x.numel()) + 2.0).reshape(x.shape))
                  .to(x.dtype) for x in leaves}  # fmt: skip
        with forward_ad.dual_level():
            moved = dual(given, pushed)
            again = tensors(call(moved[0], *moved[1], **moved[2]))
            along = [forward_ad.unpack_dual(t).tangent for t in again]
        along = [t for t, f in zip(along, found, strict=True) if f.requires_grad]
        one = sum(_product(w, t) for w, t in zip(weights, along, strict=True) if t is not None)
        two = sum(_product(g, pushed[id(x)]) for g, x in zip(taken, leaves, strict=True))
        if all(t.dtype in (gradcli.float64, gradcli.complex128) for t in (*outs, *leaves)):
            assert one == pytest.approx(two, rel=1e-6, abs=1e-6), arguments


def _product(x: Any, y: Any) -> float:
    return float(np.sum(np.conj(x.detach().numpy()) * y.detach().numpy()).real)


def test_the_table_says_that_they_have_derivatives():
    listed = {n: e for e in entries() for n in (e.name, e.prefixed.removeprefix("torch."))}
    unread = {"positive", "resolve_conj", "view_as"}  # they name no operator
    for name, kept in CASES.items():
        if name in listed and name not in unread and any(grads for _, _, grads in kept):
            assert listed[name].derivative or listed[name].kind == "constant", name
