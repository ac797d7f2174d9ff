"""Random numbers: PyTorch's own sequence, so that a seeded program prints the same numbers.

PyTorch's generator on the CPU is the Mersenne twister of 32 bits (Matsumoto and Nishimura, 1998),
which NumPy has too. How its words become numbers is PyTorch's:

    uniform   float32: the low 24 bits of a word, float64: the low 53 bits of two words
    normal    fewer than 16: pairs by Box and Muller from float64, the second of a pair kept
              16 or more: blocks of 16, u1 from the first eight, u2 from the last eight;
              a last block that is not full is drawn again for the last 16 places
    integers  a word modulo the range

The state is one for the process, as PyTorch's is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.engine.fused import fused
from gradcli.engine.gaussian import BLOCK, box_muller
from gradcli.ops.errors import RuntimeFault

drawn: list[Any] = []
"""How random tensors are made inside each running vmap, outermost first."""
_MASK24, _MASK53 = (1 << 24) - 1, (1 << 53) - 1


def system_seed() -> int:
    """A seed that nobody knows beforehand."""
    import os

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
        self.bits = np.random.MT19937()
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> Generator:
        """Start afresh: the same seed gives the same numbers."""
        self.bits._legacy_seeding(seed & 0xFFFFFFFF)
        self.started = seed
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
        from gradcli.engine.dtypes import CPU

        return CPU

    def get_state(self) -> Any:
        """All that it knows, as a tensor of bytes: the words, the place among them, the half."""
        from gradcli.engine.dtypes import uint8
        from gradcli.engine.tensor import wrap

        state = self.bits.state["state"]
        waiting = math.nan if self.waiting is None else self.waiting
        parts = (
            state["key"].astype(np.uint32), np.array([state["pos"], self.started], np.int64),
            np.array([waiting], np.float64),
        )  # fmt: skip
        return wrap(np.concatenate([part.view(np.uint8) for part in parts]), uint8)

    def set_state(self, new_state: Any) -> Generator:
        """Go back to what ``get_state`` gave. Raises RuntimeFault (E0303) for other tensors."""
        array = np.ascontiguousarray(new_state.array)
        if array.dtype != np.uint8 or array.shape != (624 * 4 + 24,):
            raise RuntimeFault("E0303", "expected a state that get_state() gave")
        place, started = array[-24:-8].view(np.int64).tolist()
        (waiting,) = array[-8:].view(np.float64).tolist()
        if not 0 <= place <= 624:  # NumPy would read beyond the words
            raise RuntimeFault("E0303", "expected a state that get_state() gave")
        key = array[:-24].view(np.uint32)
        self.bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": place}}
        self.waiting, self.started = (None if math.isnan(waiting) else waiting), started
        return self

    def words(self, count: int) -> np.ndarray:
        """``count`` words of 32 bits."""
        return np.asarray(self.bits.random_raw(count), np.uint64)

    def uniform(self, count: int, wide: bool, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        """Numbers in [low, high): float64 where ``wide``, else float32."""
        if wide:
            pairs = self.words(2 * count).reshape(-1, 2)
            joined = (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]
            found = (joined & np.uint64(_MASK53)).astype(np.float64) * 2.0**-53
        else:
            kept = self.words(count) & np.uint64(_MASK24)
            found = kept.astype(np.float32) * np.float32(2.0**-24)
            low, high = np.float32(low), np.float32(high)
        return found if low == 0 and high == 1 else fused(found, high - low, low)

    def normal(self, count: int, wide: bool, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
        """Numbers of that mean and standard deviation: float64 where ``wide``, else float32."""
        if count < BLOCK:
            found = np.array([self._one() for _ in range(count)], np.float64)
        else:
            flat = self.uniform(count, wide)
            whole = count - count % BLOCK
            found = box_muller(flat[:whole])
            if whole < count:
                found = np.concatenate((found, flat[whole:]))
                found[-BLOCK:] = box_muller(self.uniform(BLOCK, wide))
        if mean or std != 1:
            found = fused(found, std, mean)
        return found if wide else found.astype(np.float32)

    def _one(self) -> float:
        if self.waiting is not None:
            value, self.waiting = self.waiting, None
            return value
        angle, size = self.uniform(2, True).tolist()
        radius, angle = math.sqrt(-2.0 * math.log1p(-size)), 2.0 * math.pi * angle
        self.waiting = radius * math.sin(angle)
        return radius * math.cos(angle)

    def integers(self, low: int, high: int, count: int) -> np.ndarray:
        """Whole numbers from ``low`` up to but without ``high``."""
        span = high - low
        if span < 1 << 32:
            return (self.words(count) % np.uint64(span)).astype(np.int64) + low
        pairs = self.words(2 * count).reshape(-1, 2)
        wide = (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]
        return (wide % np.uint64(span)).astype(np.int64) + low

    def permutation(self, count: int) -> np.ndarray:
        """The numbers below ``count`` in a random order: Fisher and Yates, from the front."""
        order = list(range(count))
        for i, word in enumerate(self.words(max(0, count - 1)).tolist()):
            j = i + word % (count - i)
            order[i], order[j] = order[j], order[i]
        return np.array(order, np.int64)


_generator: Generator | None = None
_later: int | None = None  # the seed to start from once a number is asked for


def manual_seed(seed: int) -> Any:
    """Start the random numbers afresh: the same seed gives the same numbers, PyTorch's."""
    global _generator
    _generator = Generator(seed=seed)
    return _generator


def seed_when_asked(seed: int | None) -> None:
    """Start afresh from ``seed`` (None: from the system's) with the next number that is drawn.

    Costs nothing where none is, unlike ``manual_seed``.
    """
    global _generator, _later
    _generator, _later = None, seed


def snapshot() -> Any:
    """What ``restore`` needs so that the numbers drawn from now on come again."""
    global _later
    if _generator is None:
        if _later is None:
            _later = system_seed()
        return _later
    return _generator.started, _generator.bits.state, _generator.waiting


def restore(state: Any) -> None:
    """Go back to a ``snapshot``; one taken before any number was drawn is a seed."""
    global _generator, _later
    if isinstance(state, int):
        _generator, _later = None, state
    else:
        seed, bits, waiting = state
        _generator = Generator(seed=seed)
        _generator.bits.state = bits
        _generator.waiting = waiting


def generator() -> Generator:
    """The process's generator; seeded by the system where nobody seeded it."""
    global _generator
    if _generator is None:
        _generator = Generator(seed=system_seed() if _later is None else _later)
    return _generator
