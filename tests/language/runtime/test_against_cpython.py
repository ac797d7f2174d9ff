"""Every valid program is valid Python and means the same: random programs, run both ways.

CPython runs a program over the Python face (the language's name table as its globals), gradcli runs
it as text. Printed text, gradients and the kind of error are compared. The second half mutates
programs: whatever the text, only faults come out, in bounded time.
"""

from __future__ import annotations

import pathlib
import random
import time

import numpy as np
import pytest

import gradcli
from gradcli.engine.custom_function.function import Function
from gradcli.engine.grad_mode import mode
from gradcli.language.names.builtins import PYTHON_ONLY
from gradcli.language.names.printing import printer
from gradcli.language.names.table import NAMES
from gradcli.language.runtime.run import Limits, prepare
from gradcli.ops.errors import Fault
from tests.language.generators.programs import Generator
from tests.language.generators.typed_programs import Typed

# PyTorch's advice about create_graph and the .grad of a value that is no leaf.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

EXAMPLES = sorted((pathlib.Path(__file__).resolve().parents[3] / "examples").glob("*.grad"))
PYTHON = {
    "ZeroDivisionError": "E0311",
    "OverflowError": "E0312",
    "AssertionError": "E0313",
    "IndexError": "E0307",
    "TypeError": "E0303",
    "ValueError": "E0304",
    "UnboundLocalError": "E0203",
    "NameError": "E0203",
    "AttributeError": "E0204",
}


def leaves():
    return {
        "p": gradcli.tensor([0.5, -1.25, 2.0], dtype=gradcli.float64, requires_grad=True),
        "q": gradcli.tensor([1.5, 0.25, -0.75], dtype=gradcli.float64, requires_grad=True),
    }


def both(text):
    """(printed, gradients, code of the error or None) by CPython and by gradcli."""
    found = []
    for run in (by_python, by_gradcli):
        given, printed = leaves(), []
        code = run(text, given, printed.append)
        grads = [None if t.grad is None else t.grad.tolist() for t in given.values()]
        found.append(("".join(printed), grads, code))
    return found


def by_python(text, given, write):
    try:
        with np.errstate(all="ignore"):
            face = {name: f for name, f in NAMES.items() if name not in PYTHON_ONLY}
            names = {**face, "Function": Function, **given, "print": printer(write)}
            names["__name__"] = "__main__"
            exec(compile(text, "twin", "exec"), names)
    except Exception as problem:
        return getattr(problem, "code", None) or PYTHON[type(problem).__name__]
    finally:
        mode.grad = True
    return None


def by_gradcli(text, given, write):
    try:
        prepare(text, "file").run(given, write=write)
    except Fault as fault:
        return fault.code
    return None


def compare(generator, count):
    finished = 0
    for _ in range(count):
        text = generator.program()
        python, own = both(text)
        assert own == python, text
        finished += own[2] is None
    assert finished > count * 0.6  # most programs run to their end


@pytest.fixture(autouse=True)
def _float64():
    before = gradcli.get_default_dtype()
    gradcli.set_default_dtype(gradcli.float64)
    yield
    gradcli.set_default_dtype(before)


def test_programs_print_and_differentiate_as_under_cpython():
    compare(Generator(4), 50)


@pytest.mark.long
def test_many_programs_print_and_differentiate_as_under_cpython():
    compare(Generator(5), 5000)


def test_typed_programs_print_and_differentiate_as_under_cpython():
    compare(Typed(6), 50)


@pytest.mark.long
def test_many_typed_programs_print_and_differentiate_as_under_cpython():
    compare(Typed(7), 20_000)


# ---- Mutation ------------------------------------------------------------------------------------

PIECES = (
    "try: ",
    "except: ",
    "finally: ",
    "raise ",
    "yield ",
    "class A: ",
    "@no_grad()\n",
    "*",
    "**{}",
    "{",
    "del ",
    "nonlocal ",
    "super()",
    "f'{x!r}'",
    "__init__",
    "(",
    ")",
    "[",
    "]",
    ":",
    ",",
    "=",
    "==",
    "+",
    "**",
    "*",
    "-",
    "/",
    "@",
    ".",
    "\n",
    "    ",
    "\t",
    "#",
    "'",
    '"',
    "f'{",
    "}",
    "\\",
    "0",
    "1e999",
    "10**9",
    "-1",
    "None",
    "True",
    "lambda: ",
    "def f(): ",
    "for i in ",
    "while True: ",
    "if ",
    "else",
    "return ",
    "in",
    "not ",
    "and",
    "is",
    "x",
    "p",
    "print",
    "range",
    "len",
    "sum",
    "ones",
    "[0]*",
    "'a'*",
    "__class__",
    "_",
    "\u00e9",
    "\uff58",
    "\x00",
    "\x1b",
    "\u2028",
    "torch",
    "import ",
    "class ",
    "yield",
    "backward",
    ".grad",
    ".T",
    "[None]",
    "[::0]",
    "[:]",
    "no_grad()",
    "p.sum()",
    "str(",
    "1j",
    "nan",
    "inf",
)


def mutated(text, rng):
    """The text with one to three things cut out, put in, doubled or exchanged."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.choice((1, 1, 2, 5, 20)))
        pick = rng.random()
        if pick < 0.3:
            text = text[:at] + text[end:]
        elif pick < 0.7:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        elif pick < 0.85:
            text = text[:end] + text[at:end] + text[end:]
        else:
            other = rng.randrange(len(text) + 1)
            text = text[:at] + text[other : other + end - at] + text[end:]
    return text


def fuzz(seed, count):
    """Mutants of the examples and of generated programs: a fault or an end, within a second."""
    rng = random.Random(seed)
    generator = Generator(seed)
    corpus = [path.read_text() for path in EXAMPLES if path.stat().st_size < 1500]
    corpus += [generator.program() for _ in range(60)]
    typed = Typed(seed)
    corpus += [typed.program() for _ in range(60)]
    slowest = 0.0
    for _ in range(count):
        text = mutated(rng.choice(corpus), rng)
        begin = time.process_time()
        try:
            limits = Limits(steps=300, memory=64 << 20, output=100_000)
            prepare(text, "file").run(leaves(), limits=limits)
        except Fault as fault:
            assert fault.code.startswith("E0"), text
        slowest = max(slowest, time.process_time() - begin)
        assert slowest < 5, text


def test_mutants_give_faults():
    fuzz(7, 250)


@pytest.mark.long
def test_many_mutants_give_faults():
    fuzz(8, 100_000)  # twice as many would take ten minutes of a quiet core
