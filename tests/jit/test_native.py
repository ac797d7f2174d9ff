"""Machine code: what generated Python gives, to the last bit; its limits; when it is made."""

from __future__ import annotations

import re
import signal
import threading

import numpy as np
import pytest

import gradcli
from gradcli.jit import program as module
from gradcli.jit.ir import NotTraceable
from gradcli.jit.program import Generated
from gradcli.language.runtime.run import Limits, prepare
from tests.jit.programs import Writer
from tests.jit.test_programs import EULER, PROGRAMS, leaves_of

pytest.importorskip("llvmlite")
from gradcli.jit.native import Native


@pytest.fixture(autouse=True)
def in_float64():
    before = gradcli.get_default_dtype()
    gradcli.set_default_dtype(gradcli.float64)
    yield
    gradcli.set_default_dtype(before)


def made(text: str, **values: float) -> tuple[Generated, list[float]]:
    program = prepare(text, "file")
    leaves = leaves_of({n: v for n, v in values.items() if program.takes(n)})
    by = [name for name, leaf in leaves.items() if leaf.requires_grad]
    return Generated(program, leaves, by, forward=False), [leaves[n].item() for n in by]


def of_arithmetic(seed: int) -> str:
    """A random program without the functions of which NumPy has its own last digit."""
    text = re.sub(r"\b(sin|cos|tanh|exp|atan)\(", "g(", Writer(seed).text())
    text = re.sub(r"w\[[^\]]*\]", "y", text)
    text = (
        re.sub(r"z\[[^\]]*\] [+-]?=", "z =", text).replace("zeros(4)", "x").replace("z.sum()", "z")
    )
    return "def g(v):\n    return v / (1 + v * v)\n" + re.sub(r"z\[[^\]]*\]", "z", text)


def test_random_programs_are_equal_bit_by_bit():
    ran = 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        values = {"x": rng.uniform(-1, 1), "y": rng.uniform(-1, 1)}
        try:
            generated, args = made(of_arithmetic(seed), **values)
            native = Native(generated.program, generated.pairs)
        except NotTraceable:
            continue
        want = generated.run(*args)
        found = native.run(args, 10_000, None)
        assert (want is None) == (found is None)
        if want is not None:
            ran += 1
            assert found == (want[0], *want[1])
    assert ran > 10


@pytest.mark.parametrize(
    "name", ["euler", "while", "break", "nested", "nested while", "newton", "swap", "time", "item"]
)
def test_programs_agree(name):
    generated, args = made(PROGRAMS[name], k=0.7, y0=2.0, steps=100)
    value, grads = generated.run(*args)
    found = Native(generated.program, generated.pairs).run(args, 100_000, None)
    np.testing.assert_allclose(found, (value, *grads), rtol=1e-15)


def test_long_runs_become_machine_code(monkeypatch):
    monkeypatch.setattr(module, "PAYS", 20_000)
    generated, args = made(EULER, k=0.7, y0=2.0, steps=30_000)
    short, _ = made(EULER, k=0.7, y0=2.0, steps=300)
    short.run(*args)
    assert short._native is None
    want = generated.run(*args)
    assert generated._native is not None and generated.run(*args) == want
    generated._native = None
    assert generated.run(*args) == want


def test_what_goes_wrong_ends_the_run():
    for text, code in (
        ("s = k\nfor i in range(5):\n    s = s / (i - 3)\ns", "1/0"),
        ("s = k\nfor i in range(600):\n    s = exp(s)\ns", "overflow"),
        ("n = 1\nfor i in range(90):\n    n = n * 2\nk * n", "a large whole number"),
        ("n = 1\nfor i in range(3):\n    n = n * 4294967296\nk * n", "2**64, which is 0 there"),
        ("n = max(1, 0.5)\nfor i in range(50):\n    n = n * 3\nk * n", "as it is no float"),
        ("s = k\nwhile s > 0:\n    s = s + 1\ns", "steps"),
    ):
        generated, args = made(text, k=1.5)
        assert Native(generated.program, generated.pairs).run(args, 5000, None) is None, code
    generated, args = made(EULER, k=0.7, y0=2.0, steps=100_000)
    native = Native(generated.program, generated.pairs)
    assert native.run(args, 200_000, 500_000) is None  # 800 kB of saved values
    assert native.run(args, 200_000, 4_000_000) is not None


def test_what_is_slow_to_compile_stays_generated():
    sides = "    if s > {0}:\n        s = s / 3\n    else:\n        n = n * 3 % 7\n"
    turns = "".join(map(sides.format, range(80)))
    generated, _ = made(f"n = 1\ns = k\nfor i in range(10):\n{turns}s * n", k=0.5)
    with pytest.raises(NotTraceable, match="quick to compile"):
        Native(generated.program, generated.pairs)


def test_a_signal_ends_it():
    generated, args = made("s = k\nwhile s > 0:\n    s = s * 1.0\ns", k=1.5)
    generated.limits = Limits(steps=10**15, memory=None)

    class Enough(Exception):
        pass

    def ring(number, frame):
        raise Enough

    before = signal.signal(signal.SIGUSR1, ring)
    timer = threading.Timer(0.3, signal.pthread_kill, (threading.get_ident(), signal.SIGUSR1))
    try:
        native = Native(generated.program, generated.pairs)
        timer.start()
        with pytest.raises(Enough):  # days before the limit of steps
            native.run(args, 10**15, None)
    finally:
        timer.cancel()
        signal.signal(signal.SIGUSR1, before)
