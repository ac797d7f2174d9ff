"""``gradcli.linalg``: decompositions, norms and equations under PyTorch's names."""

from gradcli.functions.linalg import *  # noqa: F403
from gradcli.functions.linalg import __all__ as __all__
