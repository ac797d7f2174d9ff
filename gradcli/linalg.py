"""``gradcli.linalg``: decompositions, norms and equations under PyTorch's names."""

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.functions.linalg import *  # noqa: F403
from gradcli.functions.linalg import __all__ as __all__
