"""Options and forms of calls that the recorded tables leave out: each with PyTorch's numbers.

A row is a call, the weighted sum of its result, and the derivative of that sum along a direction,
0 where the result has no graph, as PyTorch 2.13 gives them on the same inputs. Indented lines go on
with the row above them.
"""

from __future__ import annotations

import math
import re

import numpy as np

import gradcli as torch
from gradcli.func import jvp
from tests.support.families import family

SHAPES = {
    "v": (3,), "w": (3,), "m": (3, 3), "r": (3, 4), "b": (2, 3, 3), "t": (6, 6), "q": (2, 2, 3, 4),
    "p": (12, 4),
}  # fmt: skip
CALLS = """
torch.addcmul(i, i, i, value=2.0) | -0.755 | 0
L.solve(b, b[..., 0]) | -0.948 | 2.97088725667e-17
L.solve_ex(m, v)[0] | -0.896907781625 | -0.823238118723
torch.einsum('ij,jk->ik', m[:, :1], m) | -2.285447966 | -4.333109961
torch.einsum('...ij,...j', b, b[:1, 0]) | 3.390593349 | -1.724579186
torch.einsum('ij,jk', m[:, :1], r) | -5.458224396 | 3.854919491
torch.einsum('bij,bjk->bik', b[:1], b) | -11.137812393 | -3.016179408
torch.atan2(input=v, other=w) | -2.50113567303 | -0.67392804989
torch.sub(v, other=w) | 0.963968 | -0.192898
torch.where(condition=v > 0, input=v, other=w) | -0.826968 | 1.02403
torch.pow(v * v + 1, exponent=w) | 0.777363600833 | 0.299842832154
torch.addcdiv(v, tensor1=v, tensor2=w) | -0.549694804379 | 1.95530683058
torch.lerp(v, end=w, weight=0.3) | -0.1540304 | 0.8928294
torch.cov(m, fweights=i + 1, aweights=torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64))
    | 1.87716261112 | -2.31356181103
torch.cat([m, m, m]).fill_diagonal_(2.0, wrap=True) | 5.81827 | -2.892388
torch.triangular_solve(r[:3], m.tril(), upper=False).solution | 8.78221031676 | 35.0121786331
torch.triangular_solve(m, b).solution | 53.2894108909 | -663.547652327
torch.triangular_solve(m, b, transpose=True).cloned_coefficient | 7.570142 | -9.963085
torch.ormqr(*torch.geqrf(m.detach()), m, left=False) | 3.68733095781 | -3.43142988542
torch.ormqr(*torch.geqrf(m.detach()), m, transpose=True) | 0.729853297573 | 2.66953534341
torch.ormqr(*torch.geqrf(m.detach()), m, left=False, transpose=True) | 1.19506572749 | 2.55288422792
L.svd(r, full_matrices=True)[1] | 0.98962027047 | -0.489870050622
L.tensorsolve(m.reshape(3, 3, 1), m[:, :1], dims=(0,)) | -1961.70318363 | -5740.53626094
torch.take_along_dim(m, i) | -0.186723 | 0.986883
torch.take_along_dim(m, i[:, None], 1) | 0.641778 | 0.058522
torch.take_along_dim(m[:1], i[:, None] % 1, 0) | 0.937558 | -3.193331
m.scatter(0, torch.tensor([], dtype=torch.int64), w[:0]) | -4.45802 | 0.862271
m.scatter_add(1, torch.zeros(0, 3, dtype=torch.int64), m[:0]) | -4.45802 | 0.862271
torch.tensordot(m[:, :1], r, ([1], [0])) | -5.458224396 | 3.854919491
torch.tensordot(v, w, ([0], [0])) | 0.003869232 | -0.001049688
r.split_with_sizes([1, 3], 1)[1] | -1.554502 | 2.314233
r.put(i, v) | -1.777942 | -3.529449
torch.put(r, i, v, accumulate=True) | -2.06336 | -4.259374
torch.rot90(m, 4) | -4.45802 | 0.862271
torch.quantile(m, torch.tensor([0.2, 0.7], dtype=torch.float64), keepdim=True)
    | 0.4856918 | -0.3067888
torch.quantile(m, torch.tensor([0.2, 0.7], dtype=torch.float64), dim=1, keepdim=True)
    | -0.1260824 | -0.0087002
torch.segment_reduce(m, 'sum', lengths=torch.tensor([2, 1]), initial=1.5) | -1.738091 | 3.134524
torch.segment_reduce(m, 'mean', lengths=torch.tensor([2, 1]), initial=1.5) | -1.4227085 | 2.445078
torch.segment_reduce(m, 'prod', lengths=torch.tensor([2, 1]), initial=1.5)
    | -1.3528676505 | 1.323434124
torch.segment_reduce(m, 'max', lengths=torch.tensor([2, 1]), initial=0.1) | -0.797397 | 1.463896
torch.istft(torch.stft(r.reshape(-1), 4, 2, window=r[0] * r[0] + 1, return_complex=True), 4, 2,
    window=torch.ones(4, dtype=torch.float64), length=16) | -2.38859057736 | -2.1845200007
torch.istft(torch.stft(r.reshape(-1), 4, 2, window=r[0] * r[0] + 1, return_complex=True), 4, 2,
    window=torch.ones(4, dtype=torch.float64)) | -3.28097080504 | -3.31523727183
torch.stft(r, 4, 1, 2, window=w[:2], center=False, return_complex=True,
    align_to_window=True).abs() | -0.233577574278 | 0.791577972867
m[[[0, 1], [2, 2]]] | -0.496911 | -0.520564
m[:, [i[2], i[1]]] | 0.090314 | 0.165691
m[torch.tensor([True, False, True])] * 2 | -5.482604 | 4.06356
(torch.manual_seed(3), F.gumbel_softmax(m, 0.7, hard=True))[1] | -1.693 | 0.0235993545176
F.scaled_dot_product_attention(q, q[:, :1], q[:, 1:], enable_gqa=True)
    | -11.9334635516 | 29.4586413158
F.scaled_dot_product_attention(q, q, q, m > 0) | 10.6933843407 | 15.4357666354
F.scaled_dot_product_attention(q, q, q, is_causal=True, scale=0.4) | 16.7937734434 | 18.3303910817
F.mse_loss(v, w, weight=w * w) | 0.00201817798431 | -0.00203572167825
F.l1_loss(v, w, weight=w * w) | 0.00278874064578 | -0.00186684224896
F.huber_loss(v, w, weight=w * w, delta=0.3) | 0.0002677131856 | -0.000379019604
F.gaussian_nll_loss(m, m.T, v * v + 1) | 0.00194293862739 | 0.000529334050029
F.gaussian_nll_loss(m, m.T, (v * v + 1)[:, None], full=True) | 0.00561869276021 | 0.000529334050029
F.triplet_margin_loss(m, m.T, m + w, swap=True, margin=5.0) | 0.0213251134025 | 0.00333598732039
F.triplet_margin_with_distance_loss(m, m.T, m + w, swap=True, margin=5.0)
    | 0.0213251134025 | 0.00333598732039
F.ctc_loss(r[:, None].log_softmax(-1), torch.tensor([1, 2]), [3], [2])
    | 0.00516080474627 | -0.000275239207373
F.ctc_loss(b.transpose(0, 1).log_softmax(-1), torch.tensor([1, 2, 1]), [3, 3], [2, 1])
    | 0.00214866821606 | 0.00171278853511
F.max_pool2d(b[:, None], 2, 1, 1, dilation=2) | 0.361018 | 0.278031
F.max_pool2d(b[:, None], 2, 2, 1, ceil_mode=True) | -1.500763 | 1.614225
F.max_pool1d(b, 2, 1, 1, dilation=3) | -0.529097 | -0.873147
F.fractional_max_pool2d(b[:, None], 2, output_ratio=(0.7, 0.7),
    _random_samples=torch.full((2, 1, 2), 0.4, dtype=torch.float64)) | -0.473086 | 1.171592
F.lp_pool2d(b[:, None] * b[:, None], 3.0, 2, 1) | -0.917116447173 | 1.26479111904
F.adaptive_avg_pool2d(b[:, None], 1) | 0.0933066666667 | 0.063628
F.interpolate(b[:, None], size=(2, 5), mode='bicubic', align_corners=True)
    | -1.45823228125 | 0.65367784375
F.upsample_bilinear(b[:, None], (5, 4)) | -4.0560615 | 4.19911516667
F.upsample_nearest(b[:, None], (5, 4)) | -7.663579 | 6.459477
F.grid_sample(b[:, None], torch.tanh(b[:, :, :2])[:, None], align_corners=True,
    padding_mode='reflection') | 0.356810144338 | -0.0666379349173
F.grid_sample(b[:, None], torch.tanh(b[:, :, :2])[:, None], mode='bicubic',
    padding_mode='border', align_corners=False) | -0.1829462647 | 0.286740838221
F.grid_sample(b[:, None], torch.tanh(b[:, :, :2])[:, None], mode='nearest', align_corners=False)
    | -0.670989 | 1.091434
F.multilabel_margin_loss(m, torch.tensor([[0, 1, -1], [2, -1, 0], [-1, 0, 1]]))
    | 0.00330044444444 | -0.000339111111111
F.embedding_bag(i, r, torch.tensor([0, 0, 1]), mode='max') | -0.924375 | -1.965127
F.embedding_bag(i, r, torch.tensor([0, 2]), mode='sum', per_sample_weights=w, padding_idx=-1)
    | 0.113643478 | 2.103065011
F.multi_head_attention_forward(q[0].reshape(3, 2, 4), q[0].reshape(3, 2, 4), q[1].reshape(3, 2, 4),
    4, 2, p, p[:, 0], r[:1, None], r[1:2, None], True, 0.0, r.T @ r, r[2], training=False)[0]
    | -14.5828203532 | 16.5976266039
F.multi_head_attention_forward(q[0].reshape(3, 2, 4), q[0].reshape(3, 2, 4), q[1].reshape(3, 2, 4),
    4, 2, p, p[:, 0], None, None, False, 0.0, r.T @ r, r[2], training=False,
    attn_mask=torch.stack([m, m.T, m * 2, m * m]))[0] | 12.947243531 | -15.9833791598
torch.masked_scatter(m, m > 0, r) | -3.027498 | 1.018688
torch.slice_scatter(r, v[:, None], 1, 2, 3) | 1.445336 | -4.987173
torch.logsumexp(m * 1e6, 1) | 445943 | 481197
torch.renorm(r, 2, 0, 0.5) | -0.253247947402 | -1.66183962835
torch.cdist(m, r[:, :3], 1.0) | 1.038763 | 3.207813
torch.roll(m, torch.tensor(1), 1) | 0.330071 | 3.171226
m.roll((-2,), []) | 2.406505 | -0.472395
torch.cross(m, m.T, dim=1) | -0.312598882 | 1.053803163
torch.float_power(v * v + 1, w) | 0.777363600833 | 0.299842832154
torch.trapezoid(r, m[0, :1].expand(4) * torch.arange(4), dim=1) | -0.155905568 | 0.504999483
nn.RMSNorm(4, dtype=torch.float64)(r * r) | -0.232332646571 | -0.0388744494081
nn.AvgPool1d((2,))(b) | 0.0716215 | -1.421926
nn.BatchNorm1d(4, momentum=None, dtype=torch.float64)(r) | 0.262084897445 | -0.886336293742
(torch.manual_seed(5), nn.Bilinear(3, 4, 2, dtype=torch.float64)(m, r))[1]
    | -0.231006034935 | 0.244752722744
torch.tensordot(m, r, torch.tensor([[1], [0]])) | -2.361623481 | 2.459591748
F.normalize(m, dim=(0, 1)) | -1.99747536174 | -0.743385716856
nn.utils.clip_grad_norm_([], 1.0) + v | 0.13516 | 0.83496
L.tensorsolve(m.reshape(3, 1, 3), m[:, :1].reshape(3, 1), dims=(0,))
    | -1961.70318363 | -5740.53626094
nn.init.sparse_(torch.empty(4, 3), 0.5).eq(0).sum(0) | 1.48 | 0
(lambda s: torch.autograd.grad(torch.slogdet(s)[1], s)[0].nan_to_num(3.0, 5.0, -7.0))
    (torch.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)) | 10.316 | 0
"""


def spread(seed, shape):
    """Numbers between -2 and 2 that differ."""
    n = np.arange(math.prod(shape))
    return np.round(np.cos(1.7 * n + seed) * (1 + 0.01 * n), 3).reshape(shape)


def rows():
    for row in re.split(r"\n(?! )", CALLS.strip()):
        call, value, slope = " ".join(row.split()).rsplit(" | ", 2)
        yield call, float(value), float(slope)


@family("call, value, slope", rows())
def test_value_and_slope_are_pytorchs_in_both_modes(call, value, slope):
    code = compile(call, "<call>", "eval")
    names = [name for name in SHAPES if name in code.co_names]
    scope = {"torch": torch, "F": torch.nn.functional, "L": torch.linalg, "nn": torch.nn}
    scope["i"] = torch.tensor([2, 0, 1])

    def weighted(*values):
        out = eval(code, {**scope, **dict(zip(names, values, strict=True))})
        return (out * torch.tensor(spread(11, tuple(out.shape)))).sum()

    places = list(SHAPES)
    arrays = [spread(places.index(name), SHAPES[name]) for name in names]
    along = [spread(23 + places.index(name), SHAPES[name]) for name in names]
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    out = weighted(*leaves)
    assert math.isclose(out.item(), value, rel_tol=1e-9, abs_tol=1e-9)
    assert out.requires_grad is (slope != 0)
    if slope:
        found = torch.autograd.grad(out, leaves, materialize_grads=True)
        back = sum(float((g.numpy() * d).sum()) for g, d in zip(found, along, strict=True))
        assert math.isclose(back, slope, rel_tol=1e-9, abs_tol=1e-9)
        given = tuple(map(torch.tensor, arrays))
        tangent = jvp(weighted, given, tuple(map(torch.tensor, along)))[1]
        assert math.isclose(tangent.item(), slope, rel_tol=1e-9, abs_tol=1e-9)
