"""The layout in memory of what windows, padding and resampling read."""

from __future__ import annotations

from typing import Any

from gradcli.engine.tensor.tensor import Tensor


def in_rows(input: Any) -> Any:
    """``input`` laid out in rows, as what is made of it will be."""
    if input.__class__ is Tensor and not input.array.flags.c_contiguous:
        return input.contiguous()
    return input
