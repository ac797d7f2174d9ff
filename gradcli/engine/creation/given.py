"""``out=`` of the functions that make tensors: a tensor that is given, filled in its own dtype."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradcli.engine.creation.factories import requiring
from gradcli.engine.dtypes import to_dtype
from gradcli.engine.record.out import into
from gradcli.engine.tensor.tensor import Plain, Tensor
from gradcli.ops.errors import bad_dtype

LINES = ("arange", "inclusive_range", "linspace", "logspace")
"""What makes one line of numbers: an ``out`` with as many entries keeps its shape."""


def filling(create: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """``create`` that takes ``out=`` too: its numbers are made in the dtype of that tensor.

    ``out`` takes the shape of the result, silently but for ``arange``. A line of numbers takes the
    shape of an ``out`` with as many entries. Raises RuntimeFault (E0309) for a
    ``dtype`` that is another, (E0409) for a part of other memory, TypeFault (E0303) for no tensor.

    Example:
        >>> import gradcli
        >>> x = gradcli.empty(3, dtype=gradcli.float64)
        >>> gradcli.ones(3, out=x) is x
        True
    """

    @functools.wraps(create)
    def made(*args: Any, out: Any = None, **options: Any) -> Tensor:
        if out is None:
            return create(*args, **options)
        if isinstance(out, Plain):
            asked = options.pop("dtype", None) or out.dtype
            if to_dtype(asked) is not out.dtype:
                raise bad_dtype(
                    f"dtype {to_dtype(asked).name} does not match dtype of out parameter "
                    f"({out.dtype.name})",
                    help="leave dtype= away",
                )
            if create.__name__ != "normal" or len(args) > 2 or "size" in options:
                options["dtype"] = out.dtype  # else tensors that are given have one
        wanted = options.pop("requires_grad", False)

        @functools.wraps(create)  # whose name errors say
        def shaped(*args: Any, **options: Any) -> Tensor:
            made: Any = create(*args, **options)
            if create.__name__ in LINES and made.numel() == getattr(out, "numel", int)():
                made = made.reshape(out.shape)
            return made  # type: ignore[no-any-return]

        shaped.resizes = create.__name__ != "arange"  # type: ignore[attr-defined]
        into(out, shaped, args, options)
        return out if wanted is False else requiring(out, wanted)

    return made
