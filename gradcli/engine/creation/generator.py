"""Random numbers: PyTorch's own sequence, so that a seeded program draws the same numbers.

PyTorch's generator on the CPU is the 32-bit Mersenne twister (Matsumoto and Nishimura, 1998), which
NumPy has too. How its words become uniform numbers is PyTorch's; normal numbers come from uniform
ones by the method of Box and Muller (1958), in PyTorch's order.
"""

from __future__ import annotations

import math
import os
from _thread import RLock
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from gradcli.engine.dtypes import CPU, Device, uint8
from gradcli.engine.tensor.tensor import wrap
from gradcli.ops.errors import RuntimeFault, ValueFault, bad_type


def fused(a: Any, b: Any, c: Any) -> Any:
    """``a*b + c`` for a finite array of float32 or float64; ``b`` and ``c`` are taken as its type.

    For float32, float64 holds the product. For float64 the error of the product is found by
    splitting the factors in halves (Dekker, 1971) and added last.

    Example:
        >>> import numpy as np
        >>> float(fused(np.array([0.1]), 10.0, -1.0)[0])
        5.551115123125783e-17
        >>> x = np.array([0.1], np.float32)
        >>> float(fused(x, 10.0, -1.0)[0]), float((x * np.float32(10.0) - 1.0)[0])
        (1.4901161193847656e-08, 0.0)
    """
    if a.dtype.char == "f":
        b, c = (v if isinstance(v, np.ndarray) else np.float32(v) for v in (b, c))
        return (a.astype(np.float64) * b + c).astype(np.float32)
    if isinstance(b, float) and abs(b) > 2.0**990:  # its halves would overflow
        found: np.ndarray = fused(a, b * 2.0**-28, c * 2.0**-28) * 2.0**28
        return found
    product = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(np.float64(b))
    error = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)
    total = product + c
    part = total - product
    return total + (error + ((product - (total - part)) + (c - part)))


def _halves(x: Any) -> tuple[Any, Any]:
    """Two numbers of half the digits whose sum is x (Veltkamp)."""
    scaled = x * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - x)
    return high, x - high


BLOCK = 16
"""Numbers come in blocks: u1 from the first half, u2 from the second."""
_PIECE = 1 << 14  # numbers at once: what a step makes stays in the cache
_f = np.float32
_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_LN2 = (0.693359375, -2.12194440e-4)  # a part with few digits, and the rest
_SINE = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COSINE = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_QUARTER = (0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)  # pi/4 in three parts


def box_muller(uniform: Any) -> None:
    """Turn uniform numbers in [0, 1), a multiple of ``BLOCK``, into normal ones in their place.

    Example:
        >>> import numpy as np
        >>> numbers = np.full(16, 0.5)
        >>> box_muller(numbers)
        >>> numbers[:2].round(4).tolist()
        [-1.1774, -1.1774]
    """
    transform = _in_single if uniform.dtype == _f else _in_double
    for start in range(0, uniform.size, _PIECE):
        piece = uniform[start : start + _PIECE]
        piece[:] = transform(piece.reshape(-1, 2, BLOCK // 2)).reshape(-1)


def _in_double(blocks: Any) -> Any:
    radius = np.sqrt(-2.0 * np.log(1.0 - blocks[:, 0]))
    angle = 2.0 * np.pi * blocks[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def _in_single(blocks: Any) -> Any:
    radius = np.sqrt(_f(-2) * _log(_f(1) - blocks[:, 0]))
    sine, cosine = _sine_and_cosine(_f(2 * np.pi) * blocks[:, 1])
    return np.stack([radius * cosine, radius * sine], axis=1)


def _polynomial(coefficients: tuple[Any, ...], x: Any) -> Any:
    y = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        y = fused(y, x, c)
    return y


def _log(x: Any) -> Any:
    """The natural logarithm of float32 numbers in (0, 1]."""
    fraction, exponent = np.frexp(x)
    low = fraction < _f(np.sqrt(0.5))
    exponent = exponent.astype(_f) - low
    x = np.where(low, (fraction - _f(1)) + fraction, fraction - _f(1))
    square = x * x
    y = _polynomial(_LOG, x) * x
    y = fused(y, square, exponent * _f(_LN2[1]))
    y = fused(square, -0.5, y)
    return fused(exponent, _LN2[0], x + y)


def _sine_and_cosine(x: Any) -> tuple[Any, Any]:
    """Of float32 angles in [0, 2 pi)."""
    eighth = ((x * _f(4 / np.pi)).astype(np.int32) + 1) & ~1
    for part in _QUARTER:
        x = fused(eighth.astype(_f), -part, x)
    square = x * x
    even = _polynomial(_COSINE, square) * square
    even = fused(even, square, -(square * _f(0.5))) + _f(1)
    odd = fused(_polynomial(_SINE, square) * square, x, x)
    straight = (eighth & 2) == 0
    sine, cosine = np.where(straight, odd, even), np.where(straight, even, odd)
    return (np.where(eighth & 4, -sine, sine), np.where((eighth - 2) & 4, cosine, -cosine))


class Drawing(NamedTuple):
    """How random tensors are made inside vmap: ``of(make, shape)``, by what vmap says of them."""

    of: Callable[[Callable[[tuple[int, ...]], Any], tuple[int, ...]], Any]
    randomness: str  # "error", "same" or "different"
    level: int = 0
    size: int = 0  # of the vmap
    outer: Any = None  # the Drawing of the vmap around it


drawing: ContextVar[Drawing | None] = ContextVar("drawing", default=None)
"""How random tensors are made inside the innermost vmap that this thread runs; None outside."""
_MASK24, _MASK53 = (1 << 24) - 1, (1 << 53) - 1


_alone = RLock()
"""Held while a generator draws or is set: threads share the process's, as in PyTorch."""


def system_seed() -> int:
    """A seed that nobody knows beforehand."""
    return int.from_bytes(os.urandom(4), "little")


class Generator:
    """A twister with the half of a pair of normals that waits to be used.

    Example:
        >>> import gradcli
        >>> g = gradcli.Generator().manual_seed(7)
        >>> gradcli.equal(gradcli.rand(2, generator=g), gradcli.rand(2, generator=g))
        False
    """

    def __init__(self, device: Any = "cpu", *, seed: int = 67280421310721) -> None:
        if (kind := Device(device).type) not in ("cpu", "cuda"):  # they are drawn on the CPU
            raise RuntimeFault("E0905", f"{kind.upper()} device type not an accelerator.")
        self.bits = np.random.MT19937()
        self.manual_seed(seed)

    def __repr__(self) -> str:
        return f"<gradcli._C.Generator object at {id(self):#x}>"

    def manual_seed(self, seed: int) -> Generator:
        """Start afresh: the same seed gives the same numbers."""
        if not isinstance(seed, int):
            said = f"manual_seed expected a long, but got {type(seed).__name__}"
            raise RuntimeFault("E0303", said)
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueFault("E0303", "Overflow when unpacking long long")
        with _alone:
            self.bits._legacy_seeding(seed & 0xFFFFFFFF)
            self.started = seed % (1 << 64)
            self.waiting: float | None = None
        return self

    def seed(self) -> int:
        """Start from a seed that the system gives, and return it."""
        return self.manual_seed(system_seed()).started

    def initial_seed(self) -> int:
        """The seed that the numbers started from."""
        return self.started

    @property
    def device(self) -> Any:
        """Where it draws: the CPU."""
        return CPU

    def get_state(self) -> Any:
        """All that it knows, as a tensor of bytes: the words, the place among them, the half."""
        with _alone:
            state, started, waiting = self.bits.state["state"], self.started, self.waiting
        parts = (
            state["key"].astype(np.uint32), np.array([state["pos"], started], np.uint64),
            np.array([math.nan if waiting is None else waiting], np.float64),
        )  # fmt: skip
        return wrap(np.concatenate([part.view(np.uint8) for part in parts]), uint8)

    def set_state(self, new_state: Any) -> Generator:
        """Go back to what ``get_state`` gave. Raises RuntimeFault (E0303) for other tensors."""
        array = np.ascontiguousarray(new_state.array)
        if array.dtype != np.uint8:
            raise bad_type("RNG state must be a torch.ByteTensor")
        if array.shape != (size := 624 * 4 + 24,):
            said = f"Expected a CPUGeneratorImplState of size {size} but found the input RNG state"
            mend = "give what get_state() gave, in one dimension"
            raise RuntimeFault("E0303", f"{said} size to be {array.size}", help=mend)
        place, started = array[-24:-8].view(np.uint64).tolist()
        (waiting,) = array[-8:].view(np.float64).tolist()
        if not 0 <= place <= 624:  # NumPy would read beyond the words
            raise RuntimeFault("E0303", "expected a state that get_state() gave")
        key = array[:-24].view(np.uint32)
        with _alone:
            self.bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": place}}
            self.waiting, self.started = (None if math.isnan(waiting) else waiting), started
        return self

    def clone_state(self) -> Generator:
        """Another generator, which draws from now on what this one draws."""
        return Generator().set_state(self.get_state())

    __copy__ = clone_state

    def words(self, count: int) -> np.ndarray:
        """``count`` words of 32 bits."""
        with _alone:
            return np.asarray(self.bits.random_raw(count), np.uint64)

    def uniform(self, count: int, wide: bool, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        """Numbers in [low, high): float64 where ``wide``, else float32."""
        if count <= _PIECE:
            return self._uniform(count, wide, low, high)
        found = np.empty(count, np.float64 if wide else np.float32)
        with _alone:
            for start in range(0, count, _PIECE):
                piece = found[start : start + _PIECE]
                piece[:] = self._uniform(piece.size, wide, low, high)
        return found

    def _uniform(self, count: int, wide: bool, low: Any, high: Any) -> np.ndarray:
        if wide:
            pairs = self.words(2 * count).reshape(-1, 2)
            joined = (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]
            found = (joined & np.uint64(_MASK53)).astype(np.float64) * 2.0**-53
        else:
            kept = self.words(count) & np.uint64(_MASK24)
            found = kept.astype(np.float32) * np.float32(2.0**-24)
            low, high = np.float32(low), np.float32(high)
        result: np.ndarray = found if low == 0 and high == 1 else fused(found, high - low, low)
        return result

    def normal(self, count: int, wide: bool, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
        """Numbers of that mean and standard deviation: float64 where ``wide``, else float32."""
        if count < BLOCK:
            return self.normals_in_pairs(count, wide, mean, std)
        with _alone:
            found = self.uniform(count, wide)
            last = self.uniform(BLOCK, wide) if count % BLOCK else None
        box_muller(found[: count - count % BLOCK])
        if last is not None:
            box_muller(last)
            found[-BLOCK:] = last
        return self._scaled(found, wide, mean, std)

    @staticmethod
    def _scaled(found: np.ndarray, wide: bool, mean: float, std: float) -> np.ndarray:
        if mean or std != 1:
            finite = math.isfinite(mean) and math.isfinite(std)
            for start in range(0, found.size, _PIECE):
                piece = found[start : start + _PIECE]
                piece[:] = fused(piece, std, mean) if finite else piece * std + mean
        return found if wide else found.astype(np.float32, copy=False)

    def normals_in_pairs(
        self, count: int, wide: bool, mean: float = 0.0, std: float = 1.0
    ) -> np.ndarray:
        """Normal numbers as PyTorch draws few, or entries apart in memory: two of two uniform ones.

        The second of a pair waits for the next call.
        """
        if not count:
            return np.empty(0, np.float64 if wide else np.float32)
        with _alone:
            first = [] if self.waiting is None else [self.waiting]
            angle, size = self.uniform(2 * ((count - len(first) + 1) // 2), True).reshape(-1, 2).T
            radius, angle = np.sqrt(-2.0 * np.log1p(-size)), 2.0 * np.pi * angle
            pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
            found = np.concatenate([first, pairs.reshape(-1)])
            self.waiting = float(found[count]) if found.size > count else None
        return self._scaled(found[:count], wide, mean, std)

    def integers(self, low: int, high: int, count: int, narrow: bool = False) -> np.ndarray:
        """Whole numbers from ``low`` up to but without ``high``.

        Of 64 bits where there are many, which skews them less, unless ``narrow``.
        """
        span = high - low
        if narrow or span < 1 << 28:
            return (self.words(count) % np.uint64(span)).astype(np.int64) + low
        pairs = self.words(2 * count).reshape(-1, 2)
        wide: np.ndarray = (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]
        if span < 1 << 64:
            wide = wide % np.uint64(span) + np.int64(low).astype(np.uint64)
        return wide.view(np.int64)

    def permutation(self, count: int) -> np.ndarray:
        """The numbers below ``count`` in a random order: Fisher and Yates, from the front."""
        order = np.arange(count)
        entries = memoryview(order.data)  # read and written as Python's integers
        with _alone:
            for start in range(0, count - 1, _PIECE):
                words = self.words(min(_PIECE, count - 1 - start)).tolist()
                for i, word in enumerate(words, start):
                    j = i + word % (count - i)
                    entries[i], entries[j] = entries[j], entries[i]
        return order


class _Default(Generator):
    """The process's generator, whichever that is when it is asked."""

    def __init__(self) -> None:
        """Nothing of its own: no number is drawn, and none seeded."""

    def __getattribute__(self, name: str) -> Any:
        return getattr(generator() if name[:2] != "__" else super(), name)


_Default.__name__ = "Generator"
default_generator = _Default()
_generator: Generator | None = None
_later: int | None = None  # the seed to start from once a number is asked for


def manual_seed(seed: int) -> Any:
    """Start the random numbers afresh: the same seed gives the same numbers, PyTorch's."""
    global _generator
    _generator = found = Generator(seed=int(seed))
    return found


def seed_when_asked(seed: int | None) -> None:
    """Start afresh from ``seed`` (None: from the system's) with the next number that is drawn.

    Costs nothing where none is, unlike ``manual_seed``.
    """
    global _generator, _later
    with _alone:
        _generator, _later = None, seed


def snapshot() -> Any:
    """What ``restore`` needs so that the numbers drawn from now on come again."""
    global _later
    with _alone:
        if _generator is None:
            if _later is None:
                _later = system_seed()
            return _later
        return _generator.started, _generator.bits.state, _generator.waiting


def restore(state: Any) -> None:
    """Go back to a ``snapshot``; one taken before any number was drawn is a seed."""
    global _generator
    if isinstance(state, int):
        seed_when_asked(state)
    else:
        seed, bits, waiting = state
        found = Generator(seed=seed)
        found.bits.state = bits
        found.waiting = waiting
        _generator = found


def generator(given: Generator | None = None) -> Generator:
    """The one ``given``, or the process's; seeded by the system where nobody seeded it.

    Raises TypeFault (E0303) for what is no generator.
    """
    global _generator
    if given is not None:
        if not isinstance(given, Generator):
            raise bad_type(f"generator must be a Generator, not {type(given).__name__}")
        return given
    found = _generator
    if found is None:
        with _alone:
            found = _generator
            if found is None:
                found = _generator = Generator(seed=system_seed() if _later is None else _later)
    return found
