"""Element types that an operator is not for, in PyTorch's words.

NumPy orders complex numbers and subtracts truths; PyTorch refuses both, since what comes out is
seldom what was meant. ``PICKY`` is asked first, so that other operators pay nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.errors import Fault, RuntimeFault, UnwrittenFault

_KERNEL = '"{0}" not implemented for {1!r}'
_NO_MASK = "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
_TRUTHS, _ORDER, _WHOLE = (0,), (3,), (0, 1, 3)
_OF_TRUTHS = {
    "neg": f"Negation, the `-` operator, on a bool tensor is not supported. {_NO_MASK}",
    "relu": "Boolean inputs not supported for relu",
}
_OF_COMPLEX = {
    "maximum": "maximum not implemented for complex tensors.",
    "minimum": "minimum not implemented for complex tensors.",
    "argmax": "argmax(): does not support complex input",
    "argmin": "argmin(): does not support complex input",
    "argsort": " Sort does not support complex dtypes on CPU",
    "heaviside": "heaviside is not yet implemented for complex tensors.",
}
_UNWRITTEN = {
    "floor": "floor is not supported for complex inputs",
    "ceil": "ceil is not supported for complex inputs",
    "trunc": "trunc is not supported for complex inputs",
    "signbit": "signbit is not implemented for complex tensors.",
    "clamp": "clamp is not supported for complex types",
    "relu": "clamp is not supported for complex types",
    "sign": "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
    "torch.sgn instead.",
}
_KERNELS = {
    "lt": ("lt_cpu", _ORDER), "le": ("le_cpu", _ORDER), "gt": ("gt_cpu", _ORDER),
    "ge": ("ge_cpu", _ORDER), "amax": ("max_values_cpu", _ORDER),
    "amin": ("min_values_cpu", _ORDER), "floor": ("floor_vml_cpu", _TRUTHS),
    "ceil": ("ceil_vml_cpu", _TRUTHS), "round": ("round_vml_cpu", (0, 3)),
    "floor_divide": ("div_floor_cpu", (0, 3)), "remainder": ("remainder_cpu", (0, 3)),
    "fmod": ("fmod_cpu", (0, 3)),
    "frac": ("frac_cpu", _WHOLE), "erf": ("erf_vml_cpu", _ORDER),
    "lgamma": ("lgamma_vml_cpu", _ORDER), "erfinv": ("erfinv_vml_cpu", _ORDER),
    "argcummax": ("cummax_cpu", _ORDER), "argcummin": ("cummin_cpu", _ORDER),
    "atan2": ("atan2_cpu", _ORDER), "hypot": ("hypot_cpu", _ORDER), "logit": ("logit_cpu", _ORDER),
    "softmax": ("softmax_lastdim_kernel_impl", _WHOLE), "abs": ("abs_cpu", _TRUTHS),
    "log_softmax": ("log_softmax_lastdim_kernel_impl", _WHOLE), "elu": ("elu_cpu", _WHOLE),
    "leaky_relu": ("leaky_relu_cpu", _WHOLE), "softplus": ("softplus_cpu", _WHOLE),
    "logsigmoid": ("log_sigmoid_cpu", _WHOLE), "dot": ("dot", _TRUTHS),
}  # fmt: skip
PICKY = frozenset(("sub", "isclose", *_OF_TRUTHS, *_OF_COMPLEX, *_UNWRITTEN, *_KERNELS))
"""The names of operators that are not for every element type."""


def refused(name: str, inputs: Sequence[Any]) -> Fault | None:
    """The error of an operator of ``PICKY`` given an element type that it is not for."""
    dtypes = [v.dtype for v in inputs if isinstance(v, Tensor)]
    kinds = {d.kind for d in dtypes}
    if name == "sub":
        return _no_difference(dtypes, len(inputs)) if 0 in kinds else None
    if name == "isclose":
        if len(dtypes) < 2 or dtypes[0] is dtypes[1]:
            return None
        names = [d.scalar_name for d in dtypes]
        said = f"{names[0]} did not match {names[1]}"
        return RuntimeFault("E0309", said, help=f"write other.to({dtypes[0]!r})")
    if 0 in kinds and len(kinds) == 1 and name in _OF_TRUTHS:
        return _fault(RuntimeFault, name, "bool", _OF_TRUTHS[name])
    if 3 in kinds and name in _OF_COMPLEX:
        return _fault(RuntimeFault, name, "complex", _OF_COMPLEX[name])
    if 3 in kinds and name in _UNWRITTEN:
        return _fault(UnwrittenFault, name, "complex", _UNWRITTEN[name])
    kernel, wrong = _KERNELS.get(name, ("", ()))
    highest = max(dtypes, key=lambda d: d.kind, default=None)
    if highest is None or highest.kind not in wrong:
        return None
    if any(v.__class__ is float or (highest.kind == 0 and v.__class__ is int) for v in inputs):
        return None  # a number raises the kind of what is computed
    return _fault(UnwrittenFault, name, highest.name, _KERNEL.format(kernel, highest.scalar_name))


def _no_difference(dtypes: Sequence[Any], count: int) -> Fault:
    if len(dtypes) == count and all(d.kind == 0 for d in dtypes):
        said = (
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    else:
        said = f"Subtraction, the `-` operator, with a bool tensor is not supported. {_NO_MASK}"
    return _fault(RuntimeFault, "sub", "bool", said)


def _fault(cls: type[Fault], name: str, dtype: str, said: str) -> Fault:
    help = "write x.float() first" if dtype != "complex" else "take x.abs(), x.real or x.imag"
    return cls("E0309", f"{name} is not for {dtype} tensors", help=help, torch=said)
