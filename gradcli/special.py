"""``gradcli.special``: special functions under PyTorch's names."""

from __future__ import annotations

from gradcli.functions import arithmetic, reductions
from gradcli.functions.overloads import public_operators

__all__ = [
    "bessel_j0", "bessel_j1", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit",
    "expm1", "gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "log1p", "log_ndtr",
    "log_softmax", "logcumsumexp", "logit", "logsumexp", "modified_bessel_i0",
    "modified_bessel_i1", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round", "sinc",
    "softmax", "xlog1py", "xlogy", "zeta",
]  # fmt: skip

_names = public_operators()
bessel_j0, bessel_j1, i0, i0e, i1, i1e = (
    _names[name] for name in ("bessel_j0", "bessel_j1", "i0", "i0e", "i1", "i1e")
)
digamma = psi = _names["digamma"]
entr, erf, erfc, erfcx, erfinv = (
    _names[name] for name in ("entr", "erf", "erfc", "erfcx", "erfinv")
)
exp2, expit, expm1, log1p, sinc = (
    _names[name] for name in ("exp2", "expit", "expm1", "log1p", "sinc")
)
gammainc, gammaincc, gammaln, zeta = (
    _names[name] for name in ("gammainc", "gammaincc", "gammaln", "zeta")
)
log_ndtr, logsumexp, ndtr, ndtri, xlogy, xlog1py = (
    _names[name] for name in ("log_ndtr", "logsumexp", "ndtr", "ndtri", "xlogy", "xlog1py")
)
modified_bessel_i0, modified_bessel_i1 = i0, i1
log_softmax, softmax = reductions.log_softmax, reductions.softmax
round = arithmetic.round
logcumsumexp, polygamma = reductions.logcumsumexp, arithmetic.polygamma

logit, multigammaln = arithmetic.logit, arithmetic.mvlgamma
