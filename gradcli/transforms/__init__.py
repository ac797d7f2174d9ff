"""Transforms of functions: derivatives as functions of their own.

reverse   grad, vjp, jacobian, hessian, hvp     forward   jvp
check     gradcheck against central differences
"""

from gradcli.transforms.check import gradcheck, gradgradcheck
from gradcli.transforms.forward import jvp
from gradcli.transforms.reverse import grad, hessian, hvp, jacobian, vjp

__all__ = ["grad", "gradcheck", "gradgradcheck", "hessian", "hvp", "jacobian", "jvp", "vjp"]
