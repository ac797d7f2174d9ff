"""Which results are views, of what, and how they lie in memory: as PyTorch 2.13 has them."""

from __future__ import annotations

from typing import Any

import gradcli
from gradcli.nn import functional
from tests.support.families import family

# The shape of the base (None: no view), whether a conjugate is yet to be taken, and the strides.
RESULTS: dict[str, tuple[tuple | None, bool, tuple]] = {
    "torch.fft.ifft(x)": ((2, 3, 8), True, (24, 8, 1)),
    "torch.fft.ihfft(x)": ((2, 3, 5), True, (15, 5, 1)),
    "torch.fft.ihfftn(x, dim=(-1,))": ((2, 3, 5), True, (15, 5, 1)),
    "torch.fft.ifft2(x)": (None, False, (24, 8, 1)),
    "torch.fft.fftn(x.mT, dim=(1, 2), s=(4, 5))": (None, False, (20, 5, 1)),
    "torch.fft.irfft(x[:1].expand(4, 3, 8))": (None, False, (42, 14, 1)),
    "torch.fft.rfftn(x.mT, s=(9,))": (None, False, (40, 5, 1)),
    "F.avg_pool1d(x, 2)": ((2, 3, 1, 4), False, (12, 4, 1)),
    "F.avg_pool1d(x[0], 2)": ((3, 1, 4), False, (4, 1)),
    "F.max_pool1d(x, 2)": (None, False, (12, 4, 1)),
    "F.max_pool1d(g, 2)": ((2, 3, 1, 4), False, (12, 4, 1)),
    "F.max_pool1d(x, 2, return_indices=True)[1]": ((2, 3, 1, 4), False, (12, 4, 1)),
    "F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2)": (
        (2, 3, 8, 1), False, (24, 8, 1),
    ),
    "F.adaptive_avg_pool1d(x, 4)": ((2, 3, 1, 4), False, (12, 4, 1)),
    "F.adaptive_max_pool1d(x, 4)": ((2, 3, 1, 4), False, (12, 4, 1)),
    "F.interpolate(x, size=4, mode='area')": ((2, 3, 1, 4), False, (12, 4, 1)),
    "F.bilinear(x[:, :, 0], x[:, :, 1], x.new_ones(5, 3, 3))": ((2, 5), False, (5, 1)),
    "torch.linalg.multi_dot([m[0], m, m])": ((1, 4), False, (1,)),
    "torch.linalg.multi_dot([m[0], m, m[0]])": ((1, 1), False, ()),
    "torch.inner(m, m)": ((4, 4), False, (4, 1)),
    "torch.linalg.cond(m)": ((1,), False, ()),
    "torch.repeat_interleave(x, 2, dim=1)": ((2, 3, 2, 8), False, (48, 8, 1)),
    "torch.repeat_interleave(x, torch.tensor([2, 1]), dim=0)": (None, False, (24, 8, 1)),
    "torch.svd(torch.complex(m, m))[2]": ((4, 4), True, (4, 1)),
    "torch.linalg.cholesky(torch.complex(m @ m.T + 9 * m.new_ones(4).diag(), 0 * m), upper=True)": (
        None, False, (1, 4),
    ),
    "m.T.repeat(1, 1)": (None, False, (4, 1)),
    "m.T.put(torch.tensor([1]), m[0, :1])": (None, False, (1, 4)),
    "x.mT[:, [0, 2]]": (None, False, (6, 3, 1)),
    "x.mT[..., None, [0, 1], :]": (None, False, (6, 6, 3, 1)),
    "x.permute(1, 2, 0)[1, :, [0, 1]]": (None, False, (2, 1)),
    "m.T[:, [3, 0]]": (None, False, (2, 1)),
    "torch.rot90(x.mT, 4)": (None, False, (24, 3, 1)),
}  # fmt: skip


def _given() -> dict[str, Any]:
    draw = gradcli.Generator().manual_seed(0)
    x = gradcli.randn(2, 3, 8, generator=draw, dtype=gradcli.float64)
    m = gradcli.randn(4, 4, generator=draw, dtype=gradcli.float64)
    return {"torch": gradcli, "F": functional, "x": x, "m": m, "g": x.clone().requires_grad_()}


@family("text", RESULTS)
def test_results_are_the_views_that_pytorchs_are(text: str) -> None:
    base, conjugate, strides = RESULTS[text]
    out = eval(text, _given())
    assert out._is_view() is (base is not None)
    assert base is None or tuple(out._base.shape) == base
    assert (out.is_conj(), out.stride()) == (conjugate, strides)


def test_gradients_with_memory_of_their_own_share_none_and_lie_in_rows() -> None:
    given = _given()
    x, g = given["x"], given["g"]
    bias = x[0].clone().requires_grad_()
    normed = functional.layer_norm(x[0], (3, 8), bias, bias)
    slope = gradcli.ones_like(normed)
    (found,) = gradcli.autograd.grad(functional.layer_norm(x[0], (3, 8), None, bias), bias, slope)
    assert found.data_ptr() != slope.data_ptr()
    (found,) = gradcli.autograd.grad(normed.sum(), bias)
    assert found.is_contiguous()
    (found,) = gradcli.autograd.grad(g.mean(), g, create_graph=True)
    assert found.stride() == (24, 8, 1)
    weight = gradcli.ones(3, 2, 2, dtype=gradcli.float64, requires_grad=True)
    total = functional.conv_transpose1d(g, weight).sum()
    (found,) = gradcli.autograd.grad(total, weight, create_graph=True)
    assert found.stride() == (4, 2, 1)
    image = x.reshape(1, 4, 2, 6).clone().requires_grad_()
    (found,) = gradcli.autograd.grad(functional.channel_shuffle(image, 4).sum(), image)
    assert found.is_contiguous()
