"""``gradcli.autograd.gradcheck``: gradients against differences, under PyTorch's names."""

from gradcli.transforms.check import GradcheckFault as GradcheckError
from gradcli.transforms.check import gradcheck, gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
