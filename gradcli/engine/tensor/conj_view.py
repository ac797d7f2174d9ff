"""Conjugates that are yet to be taken: PyTorch's views with a conjugate or negative bit.

    x           memory  1+2j
    x.conj()    the same memory, read as 1-2j
    x.conj().imag       the memory of x.imag, 2, read as -2

As they have one memory, a write to any of them is seen by the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.graph.node import Node
from gradcli.engine.tensor.attributes import Size
from gradcli.engine.tensor.storage import Slots
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.ops.errors import RuntimeFault

_held: Any = Slots.array  # type: ignore[attr-defined]


def flipped(values: Any) -> Any:
    """The conjugates of complex numbers, the negatives of real ones."""
    return np.conj(values) if values.dtype.kind == "c" else np.negative(values)


def in_memory(x: Tensor, value: Any) -> Any:
    """What the memory of ``x`` has to hold for ``x`` to be ``value``, an array or a number."""
    return flipped(np.asarray(value, x.dtype.numpy)) if x._flips else value


class ConjView(Tensor):
    """A tensor that is the conjugate of what its memory holds, or, where real, the negative.

    ``array`` is computed at each reading, and read-only: who writes does so to ``own_array()``.
    An array that is assigned becomes the memory.
    """

    __slots__ = ()
    _flips = True
    _turned: type = Tensor

    @property
    def array(self) -> Any:
        """The numbers."""
        found = flipped(_held.__get__(self))
        if found.__class__ is np.ndarray:
            found.flags.writeable = False
        return found

    @array.setter
    def array(self, memory: Any) -> None:
        _held.__set__(self, memory)

    def own_array(self) -> Any:
        """The memory, which holds the conjugates or negatives."""
        return _held.__get__(self)

    def _alias(self, edge: Node | None = None) -> Tensor:
        out = wrap(self.own_array(), self.dtype, edge)
        out.__class__ = ConjView
        return out

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """A copy with ``force``. Raises RuntimeFault (E0404): no array shares such memory."""
        if force:
            return np.array(self.array)
        super().numpy()  # raises where the tensor is in the graph
        word, cure = ("conjugate", "conj") if self.dtype.is_complex else ("negative", "neg")
        raise RuntimeFault(
            "E0404",
            f"Can't call numpy() on Tensor that has {word} bit set. Use "
            f"tensor.resolve_{cure}().numpy() instead.",
        )

    # What the memory alone tells.

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return tuple.__new__(Size, self.own_array().shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self.own_array().ndim)

    dim = Tensor.dim

    def numel(self) -> int:
        """The number of entries."""
        return int(self.own_array().size)

    def is_contiguous(self, *, memory_format: Any = None) -> bool:
        """Whether entries lie in memory in row order, without gaps."""
        return wrap(self.own_array(), self.dtype).is_contiguous(memory_format=memory_format)


ConjView.__name__, ConjView.__qualname__, ConjView.__module__ = "Tensor", "Tensor", "gradcli"
Tensor._turned = ConjView
