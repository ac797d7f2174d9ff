"""What tangents and batches have in common: Tensor's operators and methods, through the operators.

A subclass answers the operators' protocol (``__gradcli_rank__`` and ``__gradcli_apply__``); this
one gives it the ways in which a program reaches them: ``x + y``, ``x.sum(0)``, ``x[1]``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from gradcli.engine import Tensor, dtypes
from gradcli.engine.creation import factories
from gradcli.engine.creation.factories import as_tensor
from gradcli.functions import methods, scatter
from gradcli.functions.operator_methods import plain_index, sizes_method
from gradcli.functions.overloads import flatten
from gradcli.functions.sorting import extreme_method
from gradcli.ops.infix import METHODS as SIGN_METHODS
from gradcli.ops.infix import by_sign, put_signs
from gradcli.ops.operator import OPERATORS, Operator

levels = itertools.count(2).__next__
"""Numbers for nested transforms, above Tensor's rank: the innermost is the highest."""


METHODS: dict[str, Callable] = {
    **{f.__name__: f for module in methods.COMPOSED for f in module.BOTH},
    **{name: f for module in methods.COMPOSED for name, f in module.ALIASES.items()},
}  # fmt: skip
"""Methods that are composed of operators: what operators can do, they can."""


class Operand:
    """A value that stands for a Tensor inside a transformed function."""

    __slots__ = ()
    __array_priority__ = 2000

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def T(self) -> Any:
        """All dimensions in reverse order."""
        return OPERATORS["reverse_dims"](self)

    @property
    def mT(self) -> Any:
        """The last two dimensions exchanged."""
        return OPERATORS["mT"](self)

    @property
    def mH(self) -> Any:
        """The conjugate transpose of the last two dimensions."""
        return self.mT.conj()

    @property
    def real(self) -> Any:
        """The real part; what is real is itself."""
        return OPERATORS["real"](self) if self.dtype.is_complex else self

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return OPERATORS["imag"](self)

    def dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    def numel(self) -> int:
        """The number of entries."""
        total = 1
        for n in self.shape:
            total *= n
        return total

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of one dimension."""
        return self.shape if dim is None else self.shape[dim]

    def is_floating_point(self) -> bool:
        """Whether the entries are real floating-point numbers."""
        return self.dtype.is_floating_point

    def t(self) -> Any:
        """The transpose of a matrix; a vector and a scalar are themselves."""
        return OPERATORS["mT"](self) if self.ndim == 2 else self

    def where(self, condition: Any, other: Any) -> Any:
        """Entries of this value where the condition holds, else those of ``other``."""
        return OPERATORS["where"](condition, self, other)

    def to(self, dtype: Any) -> Any:
        """The value in another dtype; itself where it has that already."""
        target = dtypes.to_dtype(dtype)
        return self if target is self.dtype else OPERATORS["cast"](self, target.numpy)

    def type_as(self, other: Any) -> Any:
        """The value in the dtype of another."""
        return self.to(other.dtype)

    def float(self) -> Any:
        """The value as float32."""
        return self.to(dtypes.float32)

    def double(self) -> Any:
        """The value as float64."""
        return self.to(dtypes.float64)

    def long(self) -> Any:
        """The value as int64."""
        return self.to(dtypes.int64)

    def contiguous(self) -> Any:
        """Itself: how the memory lies is not seen here."""
        return self

    def is_complex(self) -> bool:
        """Whether the entries are complex numbers."""
        return self.dtype.is_complex

    def new_full(self, size: Any, fill_value: Any) -> Any:
        """A plain Tensor of this dtype with one number in every place."""
        return factories.full(size, fill_value, dtype=self.dtype)

    def new_zeros(self, *size: Any) -> Any:
        """A plain Tensor of zeros of this dtype."""
        return factories.zeros(*size, dtype=self.dtype)

    def new_ones(self, *size: Any) -> Any:
        """A plain Tensor of ones of this dtype."""
        return factories.ones(*size, dtype=self.dtype)

    def new_tensor(self, data: Any) -> Any:
        """A plain Tensor of this dtype from data."""
        return factories.tensor(data, dtype=self.dtype)

    def unfold(self, dimension: int, size: int, step: int) -> Any:
        """All windows of a size along a dimension, as a last dimension."""
        return scatter.unfold(self, dimension, size, step)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, index: Any) -> Any:
        return OPERATORS["getitem"](self, plain_index(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.become(OPERATORS["put"](self, value, plain_index(index)))

    def __getattr__(self, name: str) -> Any:
        """Tensor's methods by name, ``x.sum(0)``; after ``x.add_(y)`` the result is x."""
        function = METHODS.get(name) or OPERATORS.get(name)
        if function is not None:
            return lambda *args, **params: function(self, *args, **params)
        short = name[:-1] if name.endswith("_") else ""
        function = METHODS.get(short) or OPERATORS.get(short)
        if function is None:
            raise AttributeError(name)
        return lambda *args, **params: self.become(function(self, *args, **params))

    def __neg__(self) -> Any:
        return OPERATORS["neg"](self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return OPERATORS["abs"](self)

    def __invert__(self) -> Any:
        return OPERATORS["logical_not"](self)

    __hash__ = object.__hash__


def _augmented(op: Operator) -> Callable:
    return lambda self, other: self.become(op(self, other))


_SIZES = {
    "reshape": "reshape", "view": "reshape", "expand": "expand", "permute": "permute",
    "repeat": "tile",
}  # fmt: skip
put_signs(Operand)
for _sign, _op in by_sign().items():
    if _sign in SIGN_METHODS:
        setattr(Operand, f"__i{SIGN_METHODS[_sign]}__", _augmented(_op))
for _word, _name in _SIZES.items():
    setattr(Operand, _word, sizes_method(OPERATORS[_name]))
Operand.flatten = Operand.ravel = flatten
Operand.max, Operand.min = extreme_method("max"), extreme_method("min")


def as_value(value: Any) -> Any:
    """``value`` where it is a Tensor or stands for one, else a Tensor of it."""
    return value if isinstance(value, Tensor | Operand) else as_tensor(value)
