"""The signs of the operators, as Python has them: which sign and which method stands for which.

``infix`` of a declaration is the sign; classes that take part in arithmetic get their methods here.
"""

from __future__ import annotations

from threading import RLock

from gradcli.ops.operator import OPERATORS, Operator

METHODS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
    "@": "matmul", "&": "and", "|": "or", "^": "xor",
}  # fmt: skip
"""Python's names of the methods for a sign: ``__add__``, ``__radd__``, ``__iadd__``."""
MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The comparison that holds with both sides exchanged."""


def by_sign() -> dict[str, Operator]:
    """Every operator that has a sign, by it."""
    return {op.infix: op for op in OPERATORS.values() if op.infix}


def is_comparison(name: str) -> bool:
    """Whether the operator of a name compares two values: ``==``, ``<`` ..."""
    op = OPERATORS.get(name)
    return op is not None and op.infix in MIRRORED


def put_signs(cls: type) -> None:
    """Give a class the methods of all signs, and the reflected ones: each applies the operator.

    Those before one operand stay the class's own where it has them.
    """
    for word, name in (("neg", "neg"), ("abs", "abs"), ("invert", "logical_not")):
        if f"__{word}__" not in vars(cls):
            setattr(cls, f"__{word}__", lambda self, op=OPERATORS[name]: op(self))
    setattr(cls, "__pos__", lambda self: self)  # noqa: B010
    for sign, op in by_sign().items():
        word = METHODS.get(sign, op.name)
        setattr(cls, f"__{word}__", lambda self, other, op=op: op(self, other))
        if sign in METHODS:
            setattr(cls, f"__r{word}__", lambda self, other, op=op: op(other, self))


_signed: set[type] = set()
_signing = RLock()


def put_signs_once(cls: type, without: tuple[str, ...] = ()) -> None:
    """``put_signs`` at the first call for a class, less these: other threads wait for all of it.

    For a class that takes its signs when it is first used, since it stands before the operators.
    """
    if cls not in _signed:
        with _signing:
            if cls not in _signed:
                put_signs(cls)
                for name in without:
                    delattr(cls, name)
                _signed.add(cls)
