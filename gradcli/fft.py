"""``gradcli.fft``: discrete Fourier transforms under PyTorch's names."""

from gradcli.functions.fft import *  # noqa: F403
from gradcli.functions.fft import __all__ as __all__
