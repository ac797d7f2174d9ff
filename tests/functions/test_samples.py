"""Samples of PyTorch's own operator tests: value, gradient, and all other ways to either.

Forward mode is reverse mode, the second derivative a difference of first ones, ``vmap`` a stack of
calls, strides show in nothing, the closed form is the gradient's number, and both names of a
function in an expression are the function.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli import func
from gradcli.autograd import forward_ad
from gradcli.cli.operator_table import entries
from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from gradcli.symbolic import diff
from tests.oracles.record_samples import tensors
from tests.support.families import family
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
            f.detach().resolve_conj().numpy().astype(want.dtype), want, rtol=wide, atol=wide
        )


def dual(value: Any, tangents: dict) -> Any:
    if isinstance(value, list):
        return [dual(v, tangents) for v in value]
    if isinstance(value, dict):
        return {k: dual(v, tangents) for k, v in value.items()}
    if id(value) not in tangents:
        return value
    return forward_ad.make_dual(value.detach(), tangents[id(value)])


@family("name", CASES)
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


def replaced(value: Any, new: dict) -> Any:
    if isinstance(value, list):
        return [replaced(v, new) for v in value]
    if isinstance(value, dict):
        return {k: replaced(v, new) for k, v in value.items()}
    return new.get(id(value), value)


def wave(x: Any, phase: float, speed: float = 1.0) -> Any:
    """Fixed numbers in the shape of a tensor."""
    return gradcli.tensor(np.sin(speed * np.arange(x.numel()) + phase).reshape(x.shape)).to(x.dtype)


class Sample:
    """A recorded call as a function of its float64 leaves, and as a number of them."""

    def __init__(self, name: str, arguments: list) -> None:
        self.given, self.call = made(arguments), function(name)
        self.leaves = [t for t in tensors(self.given) if t.requires_grad]
        self.outs = self.of(*self.leaves)
        self.live = [k for k, out in enumerate(self.outs) if out.requires_grad]

    def of(self, *leaves: Any) -> list:
        """The results that are no whole numbers."""
        new = {id(x): v for x, v in zip(self.leaves, leaves, strict=True)}
        first, args, options = replaced(self.given, new)
        return [t for t in tensors(self.call(first, *args, **options)) if t.dtype.kind > 1]

    def loss(self, *leaves: Any) -> Any:
        outs = self.of(*leaves)
        return sum((outs[k] * wave(outs[k], 1.5)).sum() for k in self.live)

    def slopes(self, leaves: list, **options: Any) -> list:
        taken = gradcli.autograd.grad(self.loss(*leaves), leaves, allow_unused=True, **options)
        return [gradcli.zeros_like(x) if g is None else g
                for g, x in zip(taken, leaves, strict=True)]  # fmt: skip


def samples(name: str) -> list[Sample]:
    """The samples of real float64 numbers that have a gradient, each of them."""
    kinds = (gradcli.float64,)
    found = [Sample(name, arguments) for arguments, _, grads in CASES[name] if grads]
    return [s for s in found if all(t.dtype in kinds for t in (*s.leaves, *s.outs))]


SHARE = 6
"""The usual run looks at one name in so many; ``-m long`` at all of them."""
NAMES = list(CASES)
SOME = family("name", NAMES[::SHARE], long=[name for i, name in enumerate(NAMES) if i % SHARE])
KINKED = {"nn.functional.cosine_embedding_loss": "a target is compared with 1 and -1"}
"""Functions whose samples stand on a kink, where differences are no derivative."""
ALONE = {
    "native_batch_norm": "writes running statistics, which a batch would share",
    "nn.functional.batch_norm": "writes running statistics, which a batch would share",
    "nn.functional.instance_norm": "writes running statistics, which a batch would share",
}
"""Functions that ``vmap`` refuses for some sample, as PyTorch does."""
IN_MEMORY = ("as_strided_copy", "as_strided")
"""Functions of the memory that a tensor lies in."""
OF_ONE_TRIANGLE = ("cholesky", "linalg.cholesky", "linalg.cholesky_ex")
"""Functions of symmetric matrices: they read one triangle, and their gradient is symmetric."""


@SOME
def test_second_derivatives_are_differences_of_first_ones(name):
    for s in samples(name):
        if name in KINKED or (name == "linalg.norm" and not any(x.any() for x in s.leaves)):
            continue
        along = [wave(x, 2.0) for x in s.leaves]
        other = [wave(x, 0.5, 3.0) for x in s.leaves]
        if name in OF_ONE_TRIANGLE:
            other = [x + x.mT for x in other]
        first = s.slopes(s.leaves, create_graph=True)
        total = sum((g * d).sum() for g, d in zip(first, along, strict=True))
        second = [None] * len(s.leaves)
        if total.requires_grad:
            second = gradcli.autograd.grad(total, s.leaves, allow_unused=True)
        found = sum(_product(w, g) for w, g in zip(other, second, strict=True) if g is not None)
        step = 1e-6
        ends = []
        for sign in (step, -step):
            moved = [(x.detach() + sign * w).requires_grad_()
                     for x, w in zip(s.leaves, other, strict=True)]  # fmt: skip
            slopes = s.slopes(moved)
            ends.append(sum(_product(d, g) for d, g in zip(along, slopes, strict=True)))
        assert found == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-5)


@SOME
def test_vmap_is_a_stack_of_calls(name):
    for s in samples(name):
        if name in IN_MEMORY:
            continue
        stacks = [gradcli.stack([x.detach(), x.detach() * 1.01]) for x in s.leaves]
        try:
            found = func.vmap(lambda *leaves, s=s: tuple(s.of(*leaves)))(*stacks)
        except RuntimeError as fault:
            assert name in ALONE and "in place" in str(fault)
            continue
        for b in range(2):
            for f, w in zip(found, s.of(*(x[b] for x in stacks)), strict=True):
                np.testing.assert_allclose(f[b].numpy(), w.numpy(), rtol=1e-9, atol=1e-9)


@SOME
def test_strides_show_in_nothing(name):
    for s in samples(name):
        if name in IN_MEMORY:
            continue
        odd = [gradcli.from_numpy(np.repeat(x.detach().numpy()[..., None], 2, -1))[..., 0]
               for x in s.leaves]  # fmt: skip
        odd = [x.requires_grad_() for x in odd]
        for f, w in zip(s.of(*odd), s.outs, strict=True):
            np.testing.assert_allclose(f.detach(), w.detach(), rtol=1e-12, atol=1e-12)
        for f, w in zip(s.slopes(odd), s.slopes(s.leaves), strict=True):
            np.testing.assert_allclose(f.numpy(), w.numpy(), rtol=1e-9, atol=1e-9)


def expression(s: Sample, name: str) -> str | None:
    """The call as text, its leaves x0, x1 and so on; None where another tensor is in it."""
    names = {id(x): f"x{i}" for i, x in enumerate(s.leaves)}

    def text(value: Any) -> str:
        if isinstance(value, gradcli.Tensor):
            return names[id(value)]
        if isinstance(value, list):
            return f"[{', '.join(map(text, value))}]"
        if value is None or isinstance(value, bool | int | float | str):
            return repr(value)
        raise KeyError

    try:
        first, args, options = s.given
        parts = [text(v) for v in (first, *args)]
        return f"{name}({', '.join(parts + [f'{k}={text(v)}' for k, v in options.items()])})"
    except KeyError:
        return None


LISTED = {e.prefixed.removeprefix("torch."): e for e in entries()}


@SOME
def test_both_names_of_a_function_in_an_expression_are_the_function(name):
    if name not in LISTED:
        return
    own = LISTED[name].name
    for s in samples(name)[:1]:
        for called in {own, LISTED[name].prefixed} - {"cholesky"}:  # (A + A.T)/2 in a formula
            text = expression(s, called)
            if text is None:
                continue
            given = {f"x{i}": x for i, x in enumerate(s.leaves)}
            found = [t for t in tensors(prepare(text).run(given).value) if t.dtype.kind > 1]
            for f, w in zip(found, s.outs, strict=True):
                np.testing.assert_allclose(f.detach(), w.detach(), rtol=1e-12, atol=1e-12)


ONE_OF_SOME = {
    **dict.fromkeys(("diag", "lerp", "resolve_conj"), "other arguments have no form"),
    **dict.fromkeys(("cdist", "nn.functional.pdist"), "a norm of order 0"),
    **dict.fromkeys(("corrcoef", "nanmean", "nn.functional.group_norm", "unfold_copy"),
                    "of some shapes only"),
    **dict.fromkeys(("cholesky", "linalg.cholesky", "logdet"), "of no definite matrix"),
    **dict.fromkeys(("nn.functional.pad", "constant_pad_nd", "nan_to_num", "linalg.norm"),
                    "of more than two numbers, of infinities"),
    **dict.fromkeys(
        ("as_strided_copy", "block_diag", "column_stack", "combinations", "diagonal_scatter",
         "nn.functional.adaptive_max_pool1d", "ravel", "repeat_interleave"),
        "arrays of places, or another shape of a matrix"),
    **dict.fromkeys(("masked.mean", "masked.normalize", "masked.std", "masked.var"),
                    "a keyword that forms do not take"),
    **dict.fromkeys(("linalg.householder_product", "linalg.solve_triangular", "ormqr",
                     "nn.functional.gaussian_nll_loss", "nn.functional.glu"),
                    "a step that looks at numbers"),
}  # fmt: skip
"""Where the samples and the table do not say the same of closed forms, and why."""
SHAPES = {0: "scalar", 1: "vector:{}", 2: "matrix:{},{}"}


@family("name", NAMES[:: 2 * SHARE], long=[n for i, n in enumerate(NAMES) if i % (2 * SHARE)])
def test_the_closed_form_is_the_gradients_number(name):
    forms = set()
    for s in samples(name):
        text = expression(s, f"torch.{name}")
        flat = all(x.ndim < 3 and x.numel() and x.any() for x in s.leaves)
        first, args, options = s.given
        if text is None or not flat or isinstance(s.call(first, *args, **options), tuple | list):
            continue
        declared = {f"x{i}": SHAPES[x.ndim].format(*x.shape) for i, x in enumerate(s.leaves)}
        numbers = {f"x{i}": x.detach().numpy() for i, x in enumerate(s.leaves)}
        wanted = gradcli.autograd.grad(s.outs[0].sum(), s.leaves, allow_unused=True)
        for i, want in enumerate(wanted):
            try:
                form = diff(f"sum({text})", f"x{i}", declared=declared)
            except Fault:
                forms.add(False)  # there is none
                break
            forms.add(True)
            want = np.zeros(s.leaves[i].shape) if want is None else want.numpy()
            found = np.broadcast_to(form.evaluate(**numbers), want.shape)
            np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-9)
    listed = LISTED.get(name)
    if forms and listed is not None:
        assert listed.closed_form is (True in forms) or name in ONE_OF_SOME


def _product(x: Any, y: Any) -> float:
    return float(np.sum(np.conj(x.detach().numpy()) * y.resolve_conj().detach().numpy()).real)


def test_the_table_says_that_they_have_derivatives():
    listed = {n: e for e in entries() for n in (e.name, e.prefixed.removeprefix("torch."))}
    unread = {"positive", "resolve_conj", "view_as"}  # they name no operator
    for name, kept in CASES.items():
        if name in listed and name not in unread and any(grads for _, _, grads in kept):
            assert listed[name].derivative or listed[name].kind == "constant", name
