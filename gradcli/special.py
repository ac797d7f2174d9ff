"""``gradcli.special``: special functions under PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# ruff: noqa: F822  (most of __all__ are operators, taken by name)
from gradcli.engine.record.out import with_out
from gradcli.functions import arithmetic, reductions
from gradcli.functions.methods import public_operators

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv",
    "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "log1p",
    "log_ndtr", "log_softmax", "logcumsumexp", "logit", "logsumexp", "modified_bessel_i0",
    "modified_bessel_i1", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "sinc", "softmax",
    "spherical_bessel_j0", "xlog1py", "xlogy", "zeta",
]  # fmt: skip

if TYPE_CHECKING:  # the operators, by the names above

    def __getattr__(name: str) -> Any: ...


_names = public_operators()
globals().update({name: _names[name] for name in __all__ if name in _names})
modified_bessel_i0, modified_bessel_i1 = _names["i0"], _names["i1"]
log_softmax, softmax = reductions.log_softmax, reductions.softmax
round, logcumsumexp = with_out(arithmetic.round), with_out(reductions.logcumsumexp)
polygamma, logit = with_out(arithmetic.polygamma), with_out(arithmetic.logit)
multigammaln = with_out(arithmetic.mvlgamma)
