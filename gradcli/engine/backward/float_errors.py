"""NumPy's floating-point errors ignored for a while, at a tenth of what ``np.errstate`` costs.

    before = ignore()
    try:
        ...
    finally:
        restore(before)

``np.errstate`` works out the same value of NumPy's context variable each time that it is entered;
here it is worked out once, and the variable found by looking at what a block changes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any

import numpy as np


def _functions() -> tuple[Callable[[], Any], Callable[[Any], object]]:
    outside = copy_context()
    with np.errstate(all="ignore"):
        inside = copy_context()
    changed = [name for name in inside if outside.get(name) is not inside[name]]
    if len(changed) == 1:
        return partial(changed[0].set, inside[changed[0]]), changed[0].reset
    # A NumPy that keeps them elsewhere.
    return partial(np.seterr, all="ignore"), lambda before: np.seterr(**before)


ignore, restore = _functions()
"""``ignore()`` gives what ``restore`` takes; they nest, and hold for the calling thread or task."""
