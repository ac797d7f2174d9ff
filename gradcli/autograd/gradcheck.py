"""``gradcli.autograd.gradcheck``: gradients against differences, under PyTorch's names."""

import gradcli.transforms  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.transforms.check import GradcheckFault as GradcheckError
from gradcli.transforms.check import analytical_jacobian as get_analytical_jacobian
from gradcli.transforms.check import gradcheck, gradgradcheck
from gradcli.transforms.check import numerical_jacobian as get_numerical_jacobian

__all__ = [
    "GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "gradcheck",
    "gradgradcheck",
]  # fmt: skip
