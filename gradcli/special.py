"""``gradcli.special``: special functions under PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py

# ruff: noqa: F822  (most of __all__ are operators, taken by name)
from gradcli.engine.record.face import face
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
globals().update({name: face(_names[name]) for name in __all__ if name in _names})
modified_bessel_i0, modified_bessel_i1 = face(_names["i0"]), face(_names["i1"])
log_softmax = face(reductions.log_softmax, method=True)  # no out=
softmax = face(reductions.softmax, method=True)
round, logcumsumexp = face(arithmetic.round), face(reductions.logcumsumexp)
polygamma, logit = face(arithmetic.polygamma), face(arithmetic.logit)
multigammaln = face(arithmetic.mvlgamma)
