"""Complex numbers in every function that has them: derivatives by differences, off the real axis.

The arguments lie on both sides of the branch cuts; parameters (``alpha``, ``weight``) are complex.
"""

from __future__ import annotations

import re

import numpy as np

import gradcli as torch
from gradcli.autograd import gradcheck, gradgradcheck
from tests.support.families import family

Z = 1 + 2j
OF_A_MATRIX = """
L.cholesky(H) | L.cholesky(H, upper=True) | torch.cholesky_inverse(L.cholesky(H))
torch.cholesky_solve(B, L.cholesky(H)) | L.inv(A) | L.det(A) | L.slogdet(A)[1] | L.slogdet(A)[0]
torch.logdet(H).real | L.solve(A, B) | L.solve(A, B.mT, left=False)
L.solve_triangular(A.tril(), B, upper=False)
L.solve_triangular(A.triu(), B.mT, upper=True, left=False) | L.pinv(A[:, :2]) | L.norm(A)
L.matrix_norm(A, 'nuc') | L.matrix_norm(A, 2) | L.matrix_norm(A, 1) | L.matrix_norm(A, -2)
L.svdvals(A[:, :2]) | L.svd(A[:, :2], full_matrices=False)[0].abs() | L.eigvalsh(H)
L.eigh(H)[1].abs() | L.eigvals(A).abs().sum() | L.qr(A[:, :2])[0].abs() | L.qr(A)[1].abs()
L.lu(A)[1] | L.lu_factor(A)[0] | torch.matrix_exp(A / 3) | torch.matrix_power(A, -2) | L.cond(A)
torch.kron(A, B.conj()) | torch.addmm(B, A, B, beta=2j, alpha=Z) | torch.einsum('ij,jk->ik', A, B)
torch.addmv(v, A, w, alpha=Z, beta=1j) | torch.addr(A, v, w, alpha=Z, beta=1j) | torch.tril(A, -1)*Z
torch.fft.fft2(A) | A.trace()
"""
OF_VECTORS = """
torch.stft(v.real, 2, 1, window=w[:2]) | torch.stft(v, 2, 1, window=w[:2].real)
torch.istft(torch.stft(v.real, 2, 1, window=Z + w[:2]), 2, 1, window=w[1:], return_complex=True)
abs(v) | torch.angle(v) | torch.sgn(v) | v.conj() * Z | torch.polar(v.abs(), v.angle()) | v**w
v**2.5 | Z**v | 2**v | (v*w).sqrt() | torch.rsqrt(v) | torch.log(v) | torch.log1p(v) | torch.log2(v)
torch.exp(v) | torch.exp2(v) | torch.expm1(v) | torch.tan(v) | torch.tanh(v*w) | torch.asin(3*v)
torch.acos(3*v) | torch.atan(3*v) | torch.asinh(3*v) | torch.acosh(3*v) | torch.atanh(3*v)
torch.sigmoid(v*w) | torch.sinc(v) | v.var() | v.std() * Z | v.prod() | v.cumprod(0) * w.cumsum(0)
v.logcumsumexp(0) | v.logsumexp(0) | torch.lerp(v, w, 0.3 + 0.1j) | torch.lerp(v, w, v)
torch.addcmul(v, v, w, value=Z) | torch.addcdiv(v, v, w, value=Z) | v/w | torch.dist(v, w, 3)
torch.fft.ifft(v) | torch.fft.irfft(v) | torch.fft.hfft(v) | torch.view_as_real(v)
torch.complex(v.real, v.imag*2) | v.index_add(0, torch.tensor([0, 2]), w[:2], alpha=1j)
torch.add(v, w, alpha=Z) | torch.rsub(v, w, alpha=Z) | v.clone().mul_(Z).add_(w, alpha=Z)
v.clone().addcmul_(v, w, value=Z).div_(Z).pow_(2) | (v*1).acosh_() | torch.vdot(v, w) * Z
torch.outer(v, w.conj()) | L.vector_norm(v/w, 3) | L.cross(v, w) | L.vecdot(v, w)
F.pad(v, (1, 1), value=Z) | F.conv1d(v.reshape(1, 1, 3), w.reshape(1, 1, 3), padding=1)
"""


def calls(text):
    return [call.strip() for line in text.strip().splitlines() for call in line.split("|")]


def draw(rng, *shape):
    array = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return torch.tensor(array, requires_grad=True)


@family("call", [*calls(OF_A_MATRIX), *calls(OF_VECTORS)])
def test_derivatives_by_differences(call):
    rng = np.random.default_rng(5)
    scope = {"torch": torch, "L": torch.linalg, "F": torch.nn.functional, "Z": Z}
    names = {"A": (3, 3), "B": (3, 2), "v": (3,), "w": (3,)}
    inputs = {name: draw(rng, *shape) for name, shape in names.items()}
    text = call.replace("H", "A") if "(H" in call else call
    used = [n for n in names if re.search(rf"\b{n}\b", text)]

    def f(*values):
        given = {**inputs, **dict(zip(used, values, strict=True))}
        if "(H" in call:
            given["H"] = given["A"] @ given["A"].mH + 2 * torch.eye(3)
        return eval(call, {**scope, **given})

    given = [inputs[n] for n in used]
    assert used
    assert gradcheck(f, given, check_forward_ad=True)
    assert "A" in used or gradgradcheck(f, given)
