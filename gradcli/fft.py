"""``gradcli.fft``: discrete Fourier transforms under PyTorch's names."""

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.functions.fft import *  # noqa: F403
from gradcli.functions.fft import __all__ as __all__
