"""Transforms of functions: derivatives as functions of their own.

    func         grad, vjp, jacrev, jacfwd, hessian: torch.func's, a function for a function
    functional   jacobian, hessian, vjp, jvp, hvp, vhp: torch.autograd.functional's, and its checks
    reverse      what both stand on; jacobian and vjp at a point
    forward      jvp, linearize              vmap            vmap
    check        gradcheck against central differences

Tangents (``Dual``) and batches (``Batched``) are values that take part in the operators' protocol:

    tracer       what both have in common; writing in place
    dual         tangents                    batched         batches; batch_rules
    memory       what gains a tangent or a batch by a write in place, and what shares its memory
    levels       the numbers that tell nested transforms apart, and what runs in each thread
"""

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.transforms.check import gradcheck, gradgradcheck
from gradcli.transforms.forward import jvp
from gradcli.transforms.func import grad, vjp
from gradcli.transforms.reverse import jacobian
from gradcli.transforms.vmap import vmap

__all__ = ["grad", "gradcheck", "gradgradcheck", "jacobian", "jvp", "vjp", "vmap"]
