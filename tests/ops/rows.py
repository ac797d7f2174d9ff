"""What a row of the operator table is, and what is computed from it: inputs and derivatives.

Nothing here imports gradcli or PyTorch. The library under test is passed in, so that one function
computes the derivatives by gradcli in the tests and by PyTorch in ``tests/oracles``: both offer
``tensor`` and ``autograd.grad`` under the same names.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Draw:
    """Random numbers of a shape between two bounds, at least ``gap`` away from the points named."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    avoid: tuple[float, ...] = ()
    complex: bool = False
    gap: float = 0.15

    def make(self, seed: str) -> np.ndarray:
        rng = np.random.default_rng(zlib.crc32(seed.encode()))
        x = self._part(rng)
        return np.asarray(x + 1j * self._part(rng)) if self.complex else x

    def _part(self, rng: np.random.Generator) -> np.ndarray:
        x = np.round(rng.uniform(self.low, self.high, self.shape), 3)
        for kink in self.avoid:
            near = np.abs(x - kink) < self.gap
            x = np.where(near, kink + np.where(x >= kink, self.gap, -self.gap) * 2, x)
        return np.asarray(x)


@dataclass(frozen=True)
class Number:
    """A plain Python number in place of a tensor."""

    value: float | int


@dataclass(frozen=True)
class Case:
    """One call: ``args`` are Draws, Numbers or nested lists, ``params`` the keyword parameters.

    ``torch`` replaces the row's expression; None says that PyTorch has no such call.
    """

    args: tuple
    params: dict[str, Any] = field(default_factory=dict)
    torch: str | None = ""


@dataclass(frozen=True)
class Kink:
    """A point where the derivative is a convention: arguments, value and gradient by each tensor.

    ``torch`` is ``"same"``, or says why gradcli differs there on purpose; the recording script
    checks which of the two it is.
    """

    args: tuple
    value: Any
    grads: tuple
    params: dict[str, Any] = field(default_factory=dict)
    torch: str = "same"


@dataclass(frozen=True)
class Row:
    """One operator.

    ``torch``   expression over x, y, z (the arguments), the parameters, ``torch``, ``F`` and ``np``
    ``saves``   names that a node keeps when every tensor argument requires a gradient
    ``wrt``     the arguments to differentiate by; empty for an operator without derivative
    ``order``   how often it can be differentiated in PyTorch (gradcli: always three times)
    ``result``  the result's dtype where it is not that of the arguments
    ``apart``   why the 0-d or the empty case is not there
    """

    name: str
    cases: tuple[Case, ...]
    torch: str | None
    saves: tuple[str, ...] = ()
    wrt: tuple[int, ...] = (0,)
    order: int = 3
    kinks: tuple[Kink, ...] = ()
    result: str = ""
    elementwise: bool = False
    apart: str = ""

    def seed(self, place: int, argument: int) -> str:
        return f"{self.name}/{place}/{argument}"

    def arguments(self, place: int) -> list[Any]:
        """The arrays and numbers of case ``place``."""
        return [concrete(a, self.seed(place, i)) for i, a in enumerate(self.cases[place].args)]

    def expression(self, place: int) -> str | None:
        own = self.cases[place].torch
        return self.torch if own == "" else own


def concrete(argument: Any, seed: str = "") -> Any:
    if isinstance(argument, Draw):
        return argument.make(seed)
    if isinstance(argument, Number):
        return argument.value
    return np.asarray(argument)


def weights(shape: Sequence[int], level: int, is_complex: bool = False) -> np.ndarray:
    """Fixed numbers that make a scalar of a result: no two alike, none zero."""
    n = np.arange(int(np.prod(shape, dtype=int)), dtype=np.float64)
    w = np.cos(1.3 * n + level) + 0.1 * (level + 2)
    return (w + 1j * np.sin(0.7 * n + level) if is_complex else w).reshape(tuple(shape))


def to_numpy(t: Any) -> np.ndarray:
    """A tensor's numbers, by way of lists: PyTorch's lazy conjugates and zeros have no array."""
    name = str(t.dtype).rpartition(".")[2]
    if getattr(t, "_is_zerotensor", bool)():
        return np.zeros(tuple(t.shape), name)
    return np.array(t.detach().tolist(), dtype=name).reshape(tuple(t.shape))


def derivatives(
    lib: Any, function: Callable[..., Any], arrays: Sequence[Any], wrt: Sequence[int], order: int
) -> list[list[np.ndarray]]:
    """The value, then per order the derivatives by the inputs ``wrt`` of the weighted sum of all
    before.

    ``[value]``, ``[d f.w0]``, ``[d (first).w1]``, ... with ``lib`` gradcli or torch.
    """
    tensors = [
        a if isinstance(a, int | float) else lib.tensor(a, requires_grad=i in wrt)
        for i, a in enumerate(arrays)
    ]
    out = function(*tensors)
    levels = [[to_numpy(out)]]
    current = [out]
    leaves = [tensors[i] for i in wrt]
    for level in range(order):
        connected = [t for t in current if t.requires_grad]
        if connected:
            current = list(lib.autograd.grad(
                connected, leaves, [_weight(lib, t, level) for t in connected],
                create_graph=True, allow_unused=True, materialize_grads=True,
            ))  # fmt: skip
        else:
            current = [lib.zeros(tuple(t.shape), dtype=t.dtype) for t in leaves]
        levels.append([to_numpy(t) for t in current])
    return levels


def _weight(lib: Any, t: Any, level: int) -> Any:
    array = to_numpy(t)
    return lib.tensor(weights(array.shape, level, array.dtype.kind == "c").astype(array.dtype))


def differences(
    function: Callable, arrays: Sequence[Any], which: int, step: float, result: tuple[int, ...] = ()
) -> np.ndarray:
    """Central differences, to fourth order, of a real function by entries of one array.

    The function gives an array of shape ``result``, which comes after the shape of the array.

    By a complex entry: the derivative by its real part plus i times that by its imaginary part,
    which is PyTorch's convention for the gradient of a real value.
    """
    arrays = [np.array(a) if isinstance(a, np.ndarray) else a for a in arrays]
    x = arrays[which]
    out = np.zeros(x.shape + result, x.dtype)
    for place in np.ndindex(x.shape):
        here = x[place]
        for unit in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
            at = []
            for k in (2, 1, -1, -2):
                x[place] = here + k * step * unit
                at.append(function(*arrays))
            out[place] += (-at[0] + 8 * at[1] - 8 * at[2] + at[3]) / (12 * step) * unit
        x[place] = here
    return out
