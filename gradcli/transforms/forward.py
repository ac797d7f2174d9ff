"""Forward mode: a value that carries its tangent, and the pushforward of every operator.

A ``Dual`` answers the operators' protocol: the primal is computed by the operator, the tangent by
the operator's kind (``ops.push_forward``) from the same rule that reverse mode reads. Primals and
tangents may be Tensors, so that forward mode is itself recorded (forward over reverse), and Duals
of a lower level, so that it nests; the level keeps the perturbations of nested calls apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.creation import as_tensor
from gradcli.engine.functions import flatten
from gradcli.engine.methods import extreme_method, sizes_method
from gradcli.ops.core import OPERATORS, push_forward
from gradcli.ops.errors import RuntimeFault, TypeFault

_levels = itertools.count(2)  # above Tensor's rank


class Dual:
    """A primal with a tangent (None: zero)."""

    __slots__ = ("__gradcli_rank__", "primal", "tangent")
    __array_priority__ = 2000

    def __init__(self, primal: Any, tangent: Any, level: int) -> None:
        self.primal = primal
        self.tangent = tangent
        self.__gradcli_rank__ = level

    def __gradcli_apply__(self, op: Any, args: tuple, params: dict) -> Any:
        level = self.__gradcli_rank__
        own = [a.__class__ is Dual and a.__gradcli_rank__ == level for a in args]
        primals = [a.primal if mine else a for a, mine in zip(args, own, strict=True)]
        tangents = [a.tangent if mine else None for a, mine in zip(args, own, strict=True)]
        out = op(*primals, **params)
        tangent = push_forward(op, primals, tangents, out, params)
        if tangent is None:
            return out
        if tangent.shape != out.shape:
            tangent = OPERATORS["expand"](tangent, tuple(out.shape))
        return Dual(out, tangent, level)

    @property
    def shape(self) -> Any:
        return self.primal.shape

    @property
    def ndim(self) -> int:
        return len(self.primal.shape)

    @property
    def dtype(self) -> Any:
        return self.primal.dtype

    @property
    def T(self) -> Any:
        return OPERATORS["reverse_dims"](self)

    @property
    def mT(self) -> Any:
        return OPERATORS["mT"](self)

    def item(self) -> Any:
        return self.primal.item()

    def __bool__(self) -> bool:
        return bool(self.primal)

    def __float__(self) -> float:
        return float(self.primal)

    def __len__(self) -> int:
        return len(self.primal)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self.primal)))

    def __getitem__(self, index: Any) -> Any:
        from gradcli.engine.methods import plain_index

        return OPERATORS["getitem"](self, plain_index(index))

    def __getattr__(self, name: str) -> Any:
        """Tensor's methods by name, through the operators: ``x.sum(0)``."""
        op = OPERATORS.get(name)
        if op is None:
            raise AttributeError(name)
        return lambda *args, **params: op(self, *args, **params)

    def __neg__(self) -> Any:
        return OPERATORS["neg"](self)

    def __abs__(self) -> Any:
        return OPERATORS["abs"](self)

    def __repr__(self) -> str:
        return f"Dual({self.primal!r}, tangent={self.tangent!r})"


def _install() -> None:
    pairs = {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow",
        "matmul": "matmul", "mod": "remainder", "floordiv": "floor_divide",
    }  # fmt: skip
    for word, name in pairs.items():
        op = OPERATORS[name]
        setattr(Dual, f"__{word}__", lambda self, other, op=op: op(self, other))
        setattr(Dual, f"__r{word}__", lambda self, other, op=op: op(other, self))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Dual, f"__{name}__", lambda self, other, op=OPERATORS[name]: op(self, other))
    Dual.__hash__ = object.__hash__
    # Methods whose arguments are not their operator's: as Tensor has them.
    for word, name in (
        ("reshape", "reshape"), ("view", "reshape"), ("expand", "expand"), ("permute", "permute"),
        ("repeat", "tile"),
    ):  # fmt: skip
        setattr(Dual, word, sizes_method(OPERATORS[name]))
    Dual.flatten = Dual.ravel = flatten
    Dual.where = lambda self, condition, other: OPERATORS["where"](condition, self, other)
    Dual.t = lambda self: OPERATORS["mT"](self) if self.ndim == 2 else self
    Dual.dim = lambda self: self.ndim
    Dual.numel = lambda self: self.primal.numel()
    Dual.size = lambda self, dim=None: self.shape if dim is None else self.shape[dim]
    Dual.max, Dual.min = extreme_method("max"), extreme_method("min")


_install()


def jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    """The value of ``function(*primals)`` and its derivative in the direction ``tangents``.

    One pass forward, no graph. Shapes of tangents are those of the primals; the result's tangent
    has the result's shape. Raises RuntimeFault (E0301) where shapes differ.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([1.0, 2.0])
        >>> gradcli.func.jvp(lambda x: (x * x).sum(), (x,), (gradcli.tensor([1.0, 0.0]),))
        (tensor(5.), tensor(2.))
    """
    if len(primals) != len(tangents):
        raise TypeFault("E0302", f"{len(primals)} primals but {len(tangents)} tangents")
    level = next(_levels)
    duals = []
    for primal, tangent in zip(primals, tangents, strict=True):
        primal, tangent = _value(primal), _value(tangent)
        if primal.shape != tangent.shape:
            raise RuntimeFault(
                "E0301",
                f"a tangent has shape {tuple(tangent.shape)}, its primal {tuple(primal.shape)}",
                help="a tangent has its primal's shape",
            )
        duals.append(Dual(primal, tangent, level))
    out = function(*duals)
    if out.__class__ is Dual and out.__gradcli_rank__ == level:
        return out.primal, out.tangent
    out = _value(out)
    return out, OPERATORS["zeros_like"](out)


def _value(value: Any) -> Any:
    return value if isinstance(value, Tensor | Dual) else as_tensor(value)
