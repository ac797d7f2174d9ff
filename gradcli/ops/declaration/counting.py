"""How many arrays a rule holds at a time: it is called once with values that only count them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.declaration.infix import METHODS, put_signs_once
from gradcli.ops.operator import Operator


class Count:
    """Arrays that are held now, and that were at most: those that a rule is given not with them."""

    __slots__ = ("dtype", "most", "now")

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.now = self.most = 0.0


class Counted:
    """Stands for an array in a rule, which is held as long as it would be.

    ``size`` is 1, and 0 of what is reduced; ``owns`` is how much of its memory is its own, in
    arrays of the count's ``dtype``: complex, where its own may be real.
    """

    __slots__ = ("count", "dtype", "free", "owns", "shape", "size")
    __gradcli_rank__ = 500

    def __init__(
        self, count: Count, shape: Any, size: float = 1, owns: float = 0, dtype: Any = None
    ) -> None:
        put_signs_once(Counted)  # here, where all operators are declared
        self.count, self.shape, self.size, self.owns = count, shape, size, owns
        self.dtype = dtype or count.dtype
        self.free = True  # to be written into
        count.now += owns

    def named(self) -> Counted:
        """The same as a rule's argument: whose name keeps it as long as the rule is computed."""
        self.free = False
        return self

    def __del__(self) -> None:
        self.count.now -= self.owns

    def __gradcli_apply__(
        self, op: Operator, args: Sequence[Any], params: dict[str, Any]
    ) -> Counted:
        count, given = self.count, [a for a in args if isinstance(a, Counted)]
        whole = max(given, key=lambda a: (a.size, a.dtype.itemsize))
        size, dtype = whole.size, whole.dtype
        each = size * dtype.itemsize / count.dtype.itemsize
        # NumPy writes the result of a sign into an operand that nothing else refers to: into any
        # of a sum or product, else into the first, that of a power or remainder into none. Not
        # where one is expanded, but for a number, which must not be the first: NumPy's own numbers
        # are no arrays.
        either = op.infix in ("+", "*") and getattr(args[0], "shape", None) != ()
        into = args if either else args[:1] if op.infix in INTO_THE_FIRST else ()
        into = args if op.name == "neg" else into
        alike = size > 0 and all(a.size == size or a.shape == () for a in given)
        spared = alike and any(isinstance(a, Counted) and a.free and a.owns == each for a in into)
        product = op.kind == "bilinear" and not op.entrywise  # that charges its result itself
        holds = 1.0 if product else op.complex_holds if dtype.kind == "c" else op.holds
        holds /= dtype.itemsize if op.dtypes == "compare" else 1
        count.most = max(count.most, count.now + (holds - spared) * each)
        if "keepdim" in op.params:
            return Counted(count, whole.shape, 0, dtype=dtype)
        if op.out == "real" and dtype.kind == "c":
            dtype, each = np.dtype(float), each / 2
        return Counted(count, whole.shape, size, min(holds, 1.0) * each, dtype)


INTO_THE_FIRST = METHODS.keys() - {"%", "**", "@"}
