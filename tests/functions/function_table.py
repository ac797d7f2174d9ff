"""Calls of composed functions: a text, which runs under PyTorch and under gradcli, and its inputs.

``torch`` and ``F`` are the library, ``x y z w b`` random float64 tensors of the shapes given, ``i``
and ``j`` whole numbers, ``m`` a mask. ``tests/oracles/record_functions.py`` records what PyTorch
gives: value, gradients and second derivatives, each checked by differences.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.functions import linalg_table
from tests.ops.rows import Draw


@dataclass(frozen=True)
class Call:
    """One call; ``draws`` by name, ``given`` arrays that are not differentiated by."""

    text: str
    draws: dict[str, Draw]
    given: dict[str, Any] = field(default_factory=dict)
    order: int = 2
    convention: bool = False  # PyTorch leaves a part of the gradient out on purpose
    single: bool = False  # PyTorch rounds a constant to float32

    def arrays(self) -> list[np.ndarray]:
        """The float inputs, in order of their names in ``draws``."""
        return [draw.make(f"{self.text}/{name}") for name, draw in self.draws.items()]

    def function(self, lib: Any) -> Any:
        """The call as a function of the float inputs, with ``lib`` gradcli or PyTorch."""
        scope = {
            "torch": lib,
            "F": lib.nn.functional,
            **{name: lib.tensor(np.asarray(v)) for name, v in self.given.items()},
        }
        return eval(f"lambda {', '.join(self.draws)}: {self.text}", scope)


def call(
    text: str, *, order: int = 2, given: dict | None = None, convention: bool = False,
    single: bool = False, **shapes: Any,
) -> Call:  # fmt: skip
    """``x=(2, 3)`` draws from -2 to 2; ``x=((2, 3), 0.1, 0.9)`` between other bounds."""
    draws = {
        name: Draw(*s) if s and isinstance(s[0], tuple) else Draw(s) for name, s in shapes.items()
    }
    return Call(text, draws, given or {}, order, convention, single)


ROW, CLASSES = (4, 3), {"i": [0, 2, 1, 2]}
AWAY = ((7,), -2.0, 2.0, (-1.0, -0.5, 0.0, 0.5, 1.0))
WIDE = ((9,), -5.0, 5.0, (-3.0, -0.5, 0.0, 0.5, 3.0, 1.0))
UNIT = ((4, 3), 0.1, 0.9)

ACTIVATIONS = (
    *(call(f"F.{name}(x)", x=AWAY) for name in (
        "relu", "relu6", "hardtanh", "softplus", "silu", "mish", "gelu", "selu", "celu", "elu",
        "softsign", "tanhshrink", "logsigmoid", "leaky_relu", "sigmoid", "tanh")),
    *(call(f"F.{name}(x)", x=WIDE) for name in (
        "hardswish", "hardshrink", "softshrink", "relu6")),
    call("F.hardsigmoid(x)", x=WIDE, order=1, single=True),
    call("F.gelu(x, approximate='tanh')", x=AWAY), call("F.celu(x, 0.7)", x=AWAY, single=True),
    call("F.elu(x, 1.5)", x=AWAY),
    call("F.hardtanh(x, -0.3, 0.9)", x=((7,), -2.0, 2.0, (-0.3, 0.9))),
    call("F.softplus(x, beta=3, threshold=4)", x=AWAY),
    call("F.threshold(x, 0.2, 20)", x=((7,), -2.0, 2.0, (0.2,))),
    call("F.glu(x, 0)", x=(4, 3)), call("F.softmin(x, dim=1)", x=ROW),
    call("F.softmax(x, dim=0)", x=ROW), call("F.log_softmax(x, dim=-1)", x=ROW),
    call("F.prelu(x, w)", x=((2, 3, 2), -2, 2, (0.0,)), w=(3,)),
    call("F.prelu(x, w)", x=AWAY, w=(1,)), call("F.rrelu(x)", x=AWAY),
    call("F.dropout(x, 0.4, training=False)", x=ROW),
)  # fmt: skip
LOSSES = (
    *(call(f"F.{name}(x, y, reduction={r!r})", x=ROW, y=ROW)
      for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
      for r in ("mean", "sum", "none")),
    call("F.smooth_l1_loss(x, y, beta=0.3)", x=ROW, y=ROW),
    call("F.huber_loss(x, y, delta=0.3)", x=ROW, y=ROW),
    call("F.binary_cross_entropy(x, y)", x=UNIT, y=UNIT, order=1),
    call("F.binary_cross_entropy(x, b, w, reduction='sum')", x=UNIT, order=1,
        given={"b": [[0.0, 1, 1]] * 4, "w": [0.5, 2.0, 1.0]}),
    call("F.binary_cross_entropy_with_logits(x, y)", x=ROW, y=UNIT),
    call("F.binary_cross_entropy_with_logits(x, y, w, reduction='sum', pos_weight=b)", x=ROW,
        y=UNIT, given={"w": [0.5, 2.0, 1.0], "b": [1.5, 0.7, 1.0]}),
    *(call(f"F.nll_loss(x, i, reduction={r!r})", x=ROW, given=CLASSES)
      for r in ("mean", "sum", "none")),
    call("F.nll_loss(x, i, b, ignore_index=2)", x=ROW, given={**CLASSES, "b": [0.5, 2.0, 1.0]}),
    call("F.nll_loss(x, i)", x=(2, 3, 4), given={"i": [[0, 1, 2, 0], [1, 1, 2, 0]]}),
    *(call(f"F.cross_entropy(x, i, reduction={r!r})", x=ROW, given=CLASSES)
      for r in ("mean", "sum", "none")),
    call("F.cross_entropy(x, i, weight=b, label_smoothing=0.2)", x=ROW,
        given={**CLASSES, "b": [0.5, 2.0, 1.0]}),
    call("F.cross_entropy(x, i, ignore_index=2, label_smoothing=0.1)", x=ROW, given=CLASSES),
    call("F.cross_entropy(x, i, reduction='sum', label_smoothing=0.3)", x=ROW, given=CLASSES),
    call("F.cross_entropy(x, i, reduction='none', label_smoothing=0.3)", x=ROW, given=CLASSES),
    call("F.cross_entropy(x, F.softmax(y, 1))", x=ROW, y=ROW),
    call("F.cross_entropy(x, F.softmax(y, 1), weight=b, label_smoothing=0.2)", x=ROW, y=ROW,
        given={"b": [0.5, 2.0, 1.0]}),
    call("F.cross_entropy(x, i)", x=(3,), given={"i": 1}),
    call("F.cross_entropy(x, i, weight=b)", x=(2, 3, 4),
        given={"i": [[0, 1, 2, 0], [1, 1, 2, 0]], "b": [0.5, 2.0, 1.0]}),
    *(call(f"F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction={r!r})", x=ROW, y=ROW)
      for r in ("batchmean", "sum", "none", "mean")),
    call("F.kl_div(x, y, log_target=True)", x=ROW, y=ROW),
    call("F.hinge_embedding_loss(x, b)", x=ROW, given={"b": [[1.0, -1, 1]] * 4}),
    call("F.margin_ranking_loss(x, y, b, margin=0.3)", x=(4,), y=(4,), given={"b": [1., -1, 1, 1]}),
    call("F.soft_margin_loss(x, b)", x=ROW, given={"b": [[1.0, -1, 1]] * 4}),
    call("F.triplet_margin_loss(x, y, z)", x=ROW, y=ROW, z=ROW),
    call("F.triplet_margin_loss(x, y, z, margin=3, p=1.0, swap=True)", x=ROW, y=ROW, z=ROW),
    call("F.cosine_embedding_loss(x, y, b, margin=0.1)", x=ROW, y=ROW, given={"b": [1., -1, 1, 1]}),
    call("F.cosine_similarity(x, y)", x=ROW, y=ROW),
    call("F.cosine_similarity(x, y, dim=0)", x=ROW, y=ROW),
    call("F.pairwise_distance(x, y)", x=ROW, y=ROW),
    call("F.poisson_nll_loss(x, y)", x=ROW, y=((4, 3), 0.5, 4.0)),
    call("F.poisson_nll_loss(x, y, log_input=False, full=True)", x=UNIT, y=((4, 3), 1.2, 4.0)),
    call("F.gaussian_nll_loss(x, y, z, full=True)", x=ROW, y=ROW, z=((4, 3), 0.5, 2.0)),
    call("F.multilabel_soft_margin_loss(x, b, w)", x=ROW, w=(3,), given={"b": [[0.0, 1, 1]] * 4}),
    *(call(f"F.multi_margin_loss(x, i, p={p})", x=ROW, given=CLASSES, order=1) for p in (1, 2)),
)  # fmt: skip
LAYERS = (
    call("F.linear(x, w, b)", x=ROW, w=(2, 3), b=(2,)), call("F.linear(x, w)", x=(3,), w=(2, 3)),
    call("F.linear(x, w, b)", x=(2, 4, 3), w=(2, 3), b=(2,)),
    call("F.bilinear(x, y, w, b)", x=(4, 3), y=(4, 2), w=(2, 3, 2), b=(2,)),
    call("F.normalize(x)", x=ROW), call("F.normalize(x, p=1.0, dim=0)", x=ROW),
    call("F.layer_norm(x, (3,), w, b)", x=ROW, w=(3,), b=(3,)),
    call("F.layer_norm(x, (4, 3))", x=(2, 4, 3)),
    call("F.rms_norm(x, (3,), w)", x=ROW, w=(3,)), call("F.rms_norm(x, (3,), eps=0.1)", x=ROW),
    call("F.batch_norm(x, None, None, w, b, training=True)", x=ROW, w=(3,), b=(3,)),
    call("F.batch_norm(x, y, z, w, b)", x=(2, 3, 2), w=(3,), b=(3,),
        given={"y": [0.5, 0.1, -0.3], "z": [0.5, 2.0, 1.0]}),
    call("F.instance_norm(x)", x=(2, 3, 4)), call("F.group_norm(x, 2, w, b)", x=(2, 4, 3), w=(4,),
        b=(4,)),
    call("F.embedding(i, x)", x=(5, 2), given={"i": [[1, 4], [4, 0]]}),
    call("F.embedding(i, x, padding_idx=-1)", x=(5, 2), given={"i": [[1, 4], [4, 0]]},
        convention=True),
    call("F.scaled_dot_product_attention(x, y, z)", x=(2, 3, 4), y=(2, 5, 4), z=(2, 5, 3)),
    call("F.scaled_dot_product_attention(x, y, z, is_causal=True)", x=(3, 2), y=(3, 2), z=(3, 2)),
    call("F.scaled_dot_product_attention(x, y, z, attn_mask=m, scale=0.7)", x=(2, 2), y=(3, 2),
        z=(3, 2), given={"m": [[True, False, True], [True, True, True]]}),
)  # fmt: skip
CONVOLUTION = (
    call("F.conv1d(x, w, b)", x=(2, 3, 6), w=(4, 3, 3), b=(4,)),
    call("F.conv1d(x, w, stride=2, padding=1)", x=(3, 6), w=(4, 3, 3)),
    call("F.conv1d(x, w, padding='same', dilation=2)", x=(1, 2, 6), w=(2, 2, 3)),
    call("F.conv2d(x, w, b)", x=(2, 2, 4, 5), w=(3, 2, 2, 3), b=(3,)),
    call("F.conv2d(x, w, stride=(2, 1), padding=(1, 2), groups=2)", x=(1, 4, 4, 4), w=(2, 2, 3, 2)),
    call("F.conv2d(x, w, dilation=2, padding='valid')", x=(1, 1, 5, 5), w=(1, 1, 2, 2)),
    call("F.conv3d(x, w)", x=(1, 1, 3, 3, 3), w=(2, 1, 2, 2, 2)),
    call("F.conv_transpose1d(x, w, b, stride=2, padding=1, output_padding=1)", x=(2, 3, 4),
        w=(3, 2, 3), b=(2,)),
    call("F.conv_transpose2d(x, w, stride=2, groups=2)", x=(1, 4, 3, 3), w=(4, 1, 2, 2)),
    call("F.conv_transpose2d(x, w, dilation=2, padding=1)", x=(1, 2, 3, 3), w=(2, 1, 2, 2)),
    call("F.max_pool1d(x, 2)", x=(2, 2, 6)), call("F.max_pool1d(x, 3, 2, 1)", x=(2, 2, 6)),
    call("F.max_pool2d(x, 2)", x=(1, 2, 4, 4)),
    call("F.max_pool2d(x, (2, 3), stride=2, padding=(1, 1), ceil_mode=True)", x=(1, 2, 5, 6)),
    call("F.max_pool2d(x, 2, dilation=2, return_indices=True)[0]", x=(1, 2, 5, 5)),
    call("F.avg_pool1d(x, 2)", x=(2, 2, 6)), call("F.avg_pool2d(x, 2)", x=(1, 2, 4, 4)),
    call("F.avg_pool2d(x, 3, 2, 1)", x=(1, 2, 5, 5)),
    call("F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)", x=(1, 2, 5, 5)),
    call("F.avg_pool2d(x, 2, 2, ceil_mode=True)", x=(1, 2, 5, 5)),
    call("F.avg_pool2d(x, 2, divisor_override=3)", x=(1, 2, 4, 4)),
    call("F.adaptive_avg_pool1d(x, 3)", x=(2, 2, 7)),
    call("F.adaptive_avg_pool2d(x, (2, 3))", x=(1, 2, 5, 4)),
    call("F.adaptive_max_pool1d(x, 2)", x=(2, 2, 5)),
    call("F.adaptive_max_pool2d(x, 2)", x=(1, 2, 4, 5)),
    call("F.pad(x, (1, 2))", x=ROW), call("F.pad(x, (1, -1, 2, 0), value=3.0)", x=ROW),
    *(call(f"F.pad(x, (2, 1), mode={m!r})", x=(2, 2, 4)) for m in (
        "reflect", "replicate", "circular")),
    call("F.pad(x, (1, 2, 2, 1), mode='reflect')", x=(1, 2, 4, 3)),
    call("F.unfold(x, 2, padding=1, stride=2)", x=(1, 2, 4, 4)),
    call("F.pixel_shuffle(x, 2)", x=(1, 8, 2, 3)),
    call("F.interpolate(x, scale_factor=2)", x=(1, 2, 3)),
    call("F.interpolate(x, size=(5, 3))", x=(1, 2, 3, 4)),
    call("F.interpolate(x, scale_factor=(1.2, 2.4), mode='bilinear')", x=(1, 2, 3, 4)),
    call("F.interpolate(x, size=(2, 6), mode='bilinear', align_corners=True, antialias=True)",
         x=(1, 2, 4, 4)),
    call("F.interpolate(x, scale_factor=(1.3, 2.3))", x=(1, 2, 3, 4)),
    call("F.interpolate(x, scale_factor=1.2, mode='trilinear')", x=(1, 2, 2, 3, 2)),
)  # fmt: skip
POSITIVE = ((3, 4), 0.3, 2.0)
STATISTICS = (
    *(call(f"torch.{name}(x, {d})[0]", x=ROW) for name in ("cummax", "cummin", "sort", "median",
        "mode") for d in (0, 1)),
    call("torch.kthvalue(x, 2, dim=0, keepdim=True)[0]", x=ROW),
    call("torch.topk(x, 2, dim=0, largest=False)[0]", x=ROW),
    call("torch.logcumsumexp(x, 1)", x=ROW), call("torch.logcumsumexp(5 * x, 0)", x=ROW),
    call("torch.cumprod(x, 1)", x=ROW), call("torch.median(x)", x=ROW),
    call("torch.quantile(x, 0.3)", x=ROW), call("torch.quantile(x, 0.3, dim=0)", x=ROW),
    call("torch.quantile(x, torch.tensor([0.0, 0.35, 1.0], dtype=torch.float64), dim=1)", x=ROW),
    call("torch.quantile(x, torch.tensor([0.2, 0.5], dtype=torch.float64), 1, True)", x=(2, 3, 4)),
    *(call(f"torch.quantile(x, 0.3, dim=-1, interpolation={how!r})", x=ROW)
      for how in ("lower", "higher", "midpoint", "nearest")),
    call("torch.nanquantile(torch.where(m, x, float('nan')), 0.6, dim=1)", x=ROW,
        given={"m": np.arange(12).reshape(4, 3) % 5 != 1}),
    call("torch.nanmean(torch.where(m, x, float('nan')), dim=1)", x=ROW,
        given={"m": np.arange(12).reshape(4, 3) % 5 != 1}),
    call("torch.nanmedian(torch.where(m, x, float('nan')), dim=1)[0]", x=ROW,
        given={"m": np.arange(12).reshape(4, 3) % 5 != 1}),
    call("torch.cov(x)", x=ROW), call("torch.cov(x, correction=0)", x=(5,)),
    call("torch.corrcoef(x)", x=ROW), call("torch.logaddexp2(x, y)", x=ROW, y=(3,)),
    call("torch.ldexp(x, i)", x=(3,), given={"i": [1, 2, 3]}),
    call("torch.renorm(x, 2, 0, 1.0)", x=ROW, order=1),
    call("torch.cumulative_trapezoid(x, y, dim=1)", x=ROW, y=ROW),
    call("torch.trapezoid(x, dx=0.3)", x=ROW), call("torch.std_mean(x, dim=1)[0]", x=ROW),
    call("torch.dist(x, y, 3)", x=ROW, y=ROW), call("torch.cdist(x, y)", x=ROW, y=(2, 3),
        order=1),
    call("torch.nansum(x, 1)", x=ROW),
)  # fmt: skip
PLACING = (
    call("torch.diag(x)", x=(3,)), call("torch.diag(x, 1)", x=(3,)), call("torch.diag(x, -1)",
        x=ROW),
    call("torch.diag_embed(x, 1)", x=(2, 3)), call("torch.diag_embed(x, -2, 0, 2)", x=(2, 3)),
    call("torch.diagonal(x, 1, 0, 2)", x=(2, 3, 4)), call("torch.diagonal(x, -1)", x=(3, 3)),
    call("torch.diagflat(x)", x=(2, 2)),
    call("torch.addr(x, y, z, beta=0.5, alpha=2)", x=(3, 2), y=(3,), z=(2,)),
    call("torch.addbmm(x, y, z)", x=(2, 2), y=(3, 2, 4), z=(3, 4, 2)),
    call("torch.matrix_power(x, 3)", x=(3, 3)), call("torch.matrix_power(x, -2)", x=(2, 2)),
    call("torch.index_put(x, (i,), y, accumulate=True)", x=ROW, y=(3, 3), given={"i": [0, 2, 0]}),
    call("torch.index_put(x, (i,), y)", x=ROW, y=(2, 3), given={"i": [0, 2]}),
    call("x.masked_scatter(m, y)", x=(4,), y=(4,), given={"m": [True, False, True, True]}),
    call("torch.select_scatter(x, y, 1, 2)", x=ROW, y=(4,)),
    call("torch.slice_scatter(x, y, 0, 1, 4, 2)", x=ROW, y=(2, 3)),
    call("torch.diagonal_scatter(x, y, 1)", x=(3, 3), y=(2,)),
    *(call(f"x.scatter_reduce(0, i, y, {r!r}, include_self={s})", x=(3,), y=(4,),
        given={"i": [0, 2, 0, 0]}) for r in ("sum", "mean") for s in (True, False)),
    call("x.unfold(0, 3, 2)", x=(7,)), call("x.unfold(1, 2, 1)", x=(2, 3, 2)),
    call("torch.atleast_3d(x)", x=ROW), call("torch.hsplit(x, 3)[1]", x=ROW),
    call("torch.kron(x, y)", x=(2, 2), y=(2, 3)), call("torch.cross(x, y, dim=1)", x=ROW, y=ROW),
    call("torch.tensordot(x, y, dims=2)", x=(2, 3, 4), y=(3, 4, 2)),
    call("torch.einsum('...ij,jk->...ik', x, y)", x=(2, 2, 3), y=(3, 2)),
    call("torch.einsum('bi,bj', x, y)", x=(2, 3), y=(2, 2)),
    call("torch.einsum('i...,i...->...', x, y)", x=(2, 3), y=(2, 3)),
    call("torch.einsum('ii->i', x)", x=(3, 3)), call("torch.einsum('ij->', x)", x=(2, 3)),
    call("torch.einsum('ij,jk,kl->il', x, y, z)", x=(2, 3), y=(3, 2), z=(2, 2)),
    call("torch.baddbmm(x, y, z)", x=(2, 2, 2), y=(2, 2, 3), z=(2, 3, 2)),
    call("torch.addcdiv(x, y, z, value=0.3)", x=(3,), y=(3,), z=((3,), 0.5, 2)),
    call("torch.lerp(x, y, z)", x=(3,), y=(3,), z=(3,)),
)  # fmt: skip
SPECIAL = (
    call("torch.special.xlog1py(x, y)", x=POSITIVE, y=POSITIVE),
    call("torch.special.xlogy(x, y)", x=POSITIVE, y=POSITIVE),
    call("torch.special.logit(x, eps=0.2)", x=(((5,), 0.05, 0.95, (0.2, 0.8)))),
    call("torch.special.multigammaln(x, 3)", x=((4,), 2.0, 4.0), order=1),
    call("torch.special.logsumexp(x, 1)", x=ROW), call("torch.special.softmax(x, 1)", x=ROW),
    call("torch.special.erf(x) + torch.special.expit(y)", x=(3,), y=(3,)),
)  # fmt: skip


def _real(text: str, **shapes: Any) -> Call:
    """A Fourier transform, seen through its real and imaginary parts."""
    return call(f"torch.view_as_real(({text}).resolve_conj())", **shapes)


FFT = (
    _real("torch.fft.fft(x)", x=(5,)), _real("torch.fft.fft(x, 4, 0, 'ortho')", x=(6, 2)),
    _real("torch.fft.ifft(x, 7, norm='forward')", x=(5,)), _real("torch.fft.rfft(x)", x=(2, 5)),
    _real("torch.fft.rfft(x, 6, 0)", x=(4, 2)), _real("torch.fft.ihfft(x)", x=(5,)),
    call("torch.fft.irfft(torch.complex(x, y))", x=(4,), y=(4,)),
    call("torch.fft.irfft(torch.complex(x, y), 5, norm='ortho')", x=(2, 4), y=(2, 4)),
    call("torch.fft.hfft(torch.complex(x, y), 6)", x=(4,), y=(4,)),
    _real("torch.fft.fft2(torch.complex(x, y))", x=(3, 4), y=(3, 4)),
    _real("torch.fft.fftn(x, (2, 3, 4))", x=(2, 3, 3)), _real("torch.fft.rfft2(x)", x=(3, 4)),
    call("torch.fft.irfft2(torch.complex(x, y))", x=(3, 4), y=(3, 4)),
    _real("torch.fft.ifft2(torch.complex(x, y), (2, 2))", x=(3, 4), y=(3, 4)),
    call("torch.fft.fftshift(x, 1)", x=(3, 4)), call("torch.fft.ifftshift(x)", x=(3, 5)),
    call("torch.fft.irfftn(torch.fft.rfftn(x), s=(3, 5))", x=(3, 5)),
)  # fmt: skip

CALLS = {
    f"{c.text} {' '.join(str(d.shape) for d in c.draws.values())}": c
    for c in (
        *ACTIVATIONS,
        *LOSSES,
        *LAYERS,
        *CONVOLUTION,
        *STATISTICS,
        *PLACING,
        *SPECIAL,
        *FFT,
        *linalg_table.calls(call),
    )
}
