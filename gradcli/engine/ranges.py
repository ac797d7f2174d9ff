"""``finfo`` and ``iinfo``: what numbers an element type holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.ops.errors import TypeFault


class finfo:
    """The range and the precision of a floating-point type; the default dtype's without one.

    Raises TypeFault (E0309) for a type of whole numbers.

    Example:
        >>> import gradcli
        >>> finfo(gradcli.float32).eps
        1.1920928955078125e-07
    """

    def __init__(self, type: Any = None) -> None:
        of = dtypes.get_default_dtype() if type is None else dtypes.to_dtype(type)
        if of.kind < 2:
            raise TypeFault(
                "E0309", f"gradcli.finfo() requires a floating point input type, got {of.name}",
                help="iinfo() says the range of whole numbers",
            )  # fmt: skip
        real = np.empty(0, of.numpy).real.dtype
        info = np.finfo(real)
        self.bits = info.bits
        self.dtype = real.name
        self.eps, self.min, self.max = float(info.eps), float(info.min), float(info.max)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = float(info.resolution)

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        shown = ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        return f"finfo({shown}, dtype={self.dtype})"


class iinfo:
    """The range of a type of whole numbers. Raises TypeFault (E0309) for another.

    Example:
        >>> import gradcli
        >>> iinfo(gradcli.int8).max
        127
    """

    def __init__(self, type: Any) -> None:
        of = dtypes.to_dtype(type)
        if of.kind != 1:
            raise TypeFault(
                "E0309", f"gradcli.iinfo() requires an integer input type, got {of.name}",
                help="finfo() says the range of floating-point numbers",
            )  # fmt: skip
        info = np.iinfo(of.numpy)
        self.bits, self.min, self.max, self.dtype = info.bits, info.min, info.max, of.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
