"""How many arrays a rule holds at a time: it is called once with values that only count them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.ops.declaration.infix import METHODS, put_signs
from gradcli.ops.operator import Operator


class Count:
    """Arrays that are held now, and that were at most: those that a rule is given not with them."""

    __slots__ = ("most", "now")

    def __init__(self) -> None:
        self.now = self.most = 0.0


class Counted:
    """Stands for an array in a rule, which is held as long as it would be.

    ``size`` is 1, and 0 of what is reduced; ``owns`` is how much of its memory is its own.
    """

    __slots__ = ("count", "owns", "shape", "size")
    __gradcli_rank__ = 500

    def __init__(self, count: Count, shape: Any, size: float = 1, owns: float = 0) -> None:
        if not hasattr(Counted, "__add__"):
            put_signs(Counted)  # here, where all operators are declared
        self.count, self.shape, self.size, self.owns = count, shape, size, owns
        count.now += owns

    def __del__(self) -> None:
        self.count.now -= self.owns

    def __gradcli_apply__(
        self, op: Operator, args: Sequence[Any], params: dict[str, Any]
    ) -> Counted:
        count, given = self.count, [a for a in args if isinstance(a, Counted)]
        whole = max(given, key=lambda a: a.size)
        size = whole.size
        # NumPy writes the result of a sign into an operand that nothing else refers to: into any
        # of a sum or product, else into the first. Not where one is expanded, but for a number,
        # which must not be the first: NumPy's own numbers are no arrays.
        either = op.infix in ("+", "*") and getattr(args[0], "shape", None) != ()
        into = args if either else args[:1] if op.infix in METHODS else ()
        into = args if op.name == "neg" else into
        alike = size > 0 and all(a.size == size or a.shape == () for a in given)
        spared = alike and any(isinstance(a, Counted) and a.owns == size for a in into)
        holds = op.holds / 8 if op.dtypes == "compare" else op.holds
        count.most = max(count.most, count.now + (holds - spared) * size)
        if "keepdim" in op.params:
            return Counted(count, whole.shape, 0)
        return Counted(count, whole.shape, size, min(holds, 1.0) * size)
