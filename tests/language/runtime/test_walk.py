"""Texts without control flow: the first run walks the tree, and nobody can tell."""

from __future__ import annotations

import math
import random
import sys
import tracemalloc

import numpy as np
import pytest

import gradcli
from gradcli.language.runtime.run import Limits, prepare
from gradcli.language.syntax.failures import SyntaxFailure
from gradcli.language.syntax.nodes import Sum, walk
from gradcli.language.syntax.parser import parse
from gradcli.ops.errors import Fault
from tests.support.families import family

LINES = ["y = y * x", "y = sin(y) + 0.5 * pi", "n = 3", "z = -y / n", "y = max(z, y) ** 2 % 7"]


def both(text: str, at: object = 0.5) -> list:
    """What a walked run and one of generated code leave."""
    found = []
    for walks in (True, False):
        program = prepare(text, "file")
        program._walks = program._walks and walks
        gradcli.manual_seed(0)
        x = gradcli.tensor(at, dtype=gradcli.float64, requires_grad=True)
        try:
            outcome = program.run({"x": x})
        except Fault as fault:
            found.append((str(fault), fault.labels, program.generated))
            continue
        outcome.value.backward()
        found.append((outcome.value, x.grad, outcome.variables, program.generated))
    return found


def test_values_gradients_and_variables_are_the_same():
    walked, compiled = both("\n".join(["y = x", *LINES * 30, "y * z"]))
    assert not walked[-1] and compiled[-1]
    assert walked[0].item() == compiled[0].item() and walked[1].item() == compiled[1].item()
    assert {k: float(v) for k, v in walked[2].items()} == {
        k: float(v) for k, v in compiled[2].items()
    }


@family("line", [
     "y = y + unknown", "y = 1 / (n - 3)", "y = y @ y", "y = sin(y, 2)", "y = [y][0] + sinn(y)",
     "y = 9 ** 9 ** 9"],
)  # fmt: skip
def test_errors_are_those_of_generated_code(line):
    walked, compiled = both("\n".join(["y = x", *LINES * 30, line, "y"]))
    assert walked[:2] == compiled[:2]
    assert walked[-1].codes.keys() == compiled[-1].codes.keys()


@family("line", ["y += 1", "y, z = z, y", "y = [y][0]", "print(n)", "y.sum()"])
def test_what_is_more_than_computing_is_left_to_generated_code(line):
    walked, compiled = both("\n".join(["y = x", *LINES * 30, line, "y * 1"]))
    assert walked[-1] and walked[0].item() == compiled[0].item()


def test_the_second_run_is_of_generated_code():
    program = prepare("\n".join(["y = x", *LINES * 30, "y * z"]), "file")
    first, second = (program.run({"x": gradcli.tensor(0.5)}).value.item() for _ in range(2))
    assert first == second and program.generated


# ---- A long sum, of which each different term is read and computed once --------------------------

TERMS = ["x", "1", "sin(x)", "-x**2", "1e-3*x", "(x + 2)*3", "0.1", "x / 3", "-+x", "1_0"]


def long_sum(rng: random.Random, *more: str) -> str:
    terms = [*more, *rng.sample(TERMS, 4)]
    signs = rng.choice([["+"], ["-"], [" + ", " - ", "+"]])
    text = ""
    while len(text) < 9000:
        text += rng.choice(terms) + rng.choice(signs)
    return text + "x"


@family("seed", range(5))
def test_a_long_sum_is_the_one_that_stands_there(seed):
    rng = random.Random(seed)
    text = long_sum(rng, *["sum(x)", "3*sum(x)"] * (seed % 2))
    forms = ["{}", "sum({})", "y = {}\ny * 2", "2 * -({}) / 3", "[{}, x][0]"]
    text = rng.choice(["sum({})"] if seed % 2 else forms).format(text)
    walked, compiled = both(text, rng.choice([0.5, [0.25, 4.0]])) if "sum" in text else both(text)
    assert walked[0].item() == compiled[0].item()
    gradcli.testing.assert_close(walked[1], compiled[1], rtol=1e-12, atol=0)


@family("term", [
     "unknown", "1/(3-3)", "x @ x", "sin(x, 2)", "sinn(x)", "9 ** 9 ** 9", "x.sum(2)", "rand(2)[0]",
     "x[0]", "x.exp_()", "[x][0]", "(lambda: x)()", "torch.rand(1)", "x[True]",
     "torch.nn.functional.relu(x, True)", "torch.exp(x, out=x)"],
)  # fmt: skip
def test_what_is_special_in_a_long_sum_is_left_to_generated_code(term):
    walked, compiled = both(long_sum(random.Random(1), term))
    assert walked[:2] == compiled[:2]


def test_a_long_sum_in_single_precision_is_added_up_in_it():
    x = gradcli.tensor(0.1, dtype=gradcli.float32)
    total = sum([x] * 9000, gradcli.zeros((), dtype=gradcli.float32))
    assert prepare("+".join(["x"] * 9000)).run({"x": x}).value.item() == total.item()


def test_a_term_that_is_told_to_write_by_a_number_is_computed_each_time():
    term, x = "torch.nn.functional.elu(x, 1.0, 1)", gradcli.tensor(-1.0)
    found = prepare("import torch\n" + "+".join([term] * 300)).run({"x": x}).value
    y = gradcli.tensor(-1.0)
    total = gradcli.nn.functional.elu(y, 1.0, True)
    for _ in range(299):
        total = total + gradcli.nn.functional.elu(y, 1.0, True)
    assert found.item() == pytest.approx(total.item(), rel=1e-6)


@family("term", ["x y", "x / if", "lambda", "sin(x", "2x", "x)", "1__0", "x if x", "'", "sin(x]"])
def test_mistakes_in_a_long_sum_are_those_of_the_whole_text(term):
    text = f"{long_sum(random.Random(2))}+{term}+{long_sum(random.Random(3))}"
    with pytest.raises(SyntaxFailure) as brief:
        parse(text, compact=True)
    with pytest.raises(SyntaxFailure) as whole:
        parse(text)
    assert str(brief.value) == str(whole.value)


FUNCTION = """
import torch
import math as m
from torch import cos
k = 2
def f(v):
    "Twice the sum, and a little more."
    w = k * v.sum()
    return w + g(v)
def g(v):
    return v.mean() / k
h = lambda v: v * k
k = 3
"""


@family(
    "term",
    ["x[0]", "sin(x[1])", "x[0]*x[-1]", "x.sum()", "x[1:].sum(dim=0, keepdim=True)[0]", "x.T @ x",
     "x[None, ..., 0].reshape(1, 1)[0, 0]", "torch.sum(x, dim=0)", "m.pi*cos(x[0])", "f(x)",
     "g(x[0])*f(2*x)", "x[{}]*x[0]", "f(x*{})", "{}*x.prod()", "torch.exp(x[1] / {})",
     "torch.nn.functional.relu(x[0])", "torch.nn.functional.celu(x[0], 2.0)", "x[-k]",
     "x.detach()[0]*x[{}]", "h(x[{}])*h(x[2])",
     "x[{}].item()*x[0]", "outer(x, x)[{}, 2]", "outer(x, x)[2, {}]*x[{}]/{}", "-x[None][0, -{}]",
     "x[{}]*x[{}]**2/(x[3]+{})", "sum(outer(x, x)[{}])", "dot(outer(x, x)[{}], x)",
     "m.sqrt({})*x[1]"],
)  # fmt: skip
def test_what_only_computes_is_walked_in_a_long_sum(term):
    text = "+".join(term.replace("{}", str(i % 20)) for i in range(1, 1 + 9000 // len(term)))
    at = np.linspace(0.25, 1, 20 if "{}" in term else 3)
    walked, compiled = both(f"{FUNCTION}y = {text}\ny", at)
    assert not walked[-1] and walked[2].keys() == compiled[2].keys()
    gradcli.testing.assert_close(walked[0], compiled[0], rtol=1e-12, atol=0)
    gradcli.testing.assert_close(walked[1], compiled[1], rtol=1e-12, atol=0)


@family(
    "lines",
    ["def f(v, w=2):\n    return v * w", "def f(v):\n    if v: return v\n    return -v",
     "y = 1\ndef f(v):\n    y = y + v\n    return y", "def f(v):\n    return f(v)",
     "def f(v):\n    e = e * v\n    return e", "def f(v):\n    e = 2\n    return e * v",
     "def f(v):\n    v += 1\n    return v", "def f(v):\n    print(v)\n    return v",
     "f = 3\ndef f(v):\n    return v\nf = 2", "from torch import rand as f",
     "from torch import rand as sin\ndef f(v):\n    return sin(1) * v", "f = lambda v=1: v",
     "f = lambda v: v.add_(1)",
     "def f(v):\n    v", "def f(v):\n    return [v, 1][0]", "def f(v, w):\n    return v",
     "def f(v):\n    def h(w): return w\n    return h(v)", "def f(v):\n    yield v",
     "@torch.no_grad()\ndef f(v):\n    return v", "k = [1]\ndef f(v):\n    k[0] = 2\n    return v"],
)  # fmt: skip
def test_other_functions_are_left_to_generated_code(lines):
    walked, compiled = both(f"import torch\n{lines}\n" + "+".join(["f(x)"] * 2000))
    assert str(walked[:2]) == str(compiled[:2]) and walked[-1]


def test_calls_in_a_long_sum_stay_within_the_limits():
    text = "def f(v):\n    return v\n" + "+".join(["f(x)"] * 2000)
    for limits in (Limits(steps=1000), Limits(depth=0)):
        with pytest.raises(Fault):
            prepare(text, "file").run({"x": gradcli.tensor(1.0)}, limits=limits)


ALIKE = ["{}*x", "sin(x/{})", "(x - {})**2", "-exp(-{}*x)/({}+x)", "hypot({}*x, x)", "{}",
         "2.0**{}", "x**{}", "maximum(x, {})", "where(x > {}, x, 1)", "sin({})*x",
         "{}/x"]  # fmt: skip


@family("seed", range(4))
def test_terms_that_differ_in_numbers_are_what_each_of_them_is(seed):
    rng = random.Random(seed)
    parts, text = rng.sample(ALIKE, 4), ""
    while len(text) < 9000:
        numbers = [
            rng.choice([f"{rng.randint(1, 99)}", f"{rng.uniform(0.5, 9):.3g}"]) for _ in "ab"
        ]
        text += rng.choice(parts).format(*numbers) + rng.choice("+-")
    at = rng.choice([0.5, [0.25, 4.0], [[0.5], [3.0]]])
    walked, compiled = both(f"sum({text}x)", at)
    assert not walked[-1]
    # A subtraction of all but equal values leaves what the order of the additions rounded.
    gradcli.testing.assert_close(walked[0], compiled[0], rtol=1e-13, atol=0)
    gradcli.testing.assert_close(walked[1], compiled[1], rtol=1e-10, atol=0)


@family(
    "term",
    ["abs({}j)*x", "x[{}]", "x@{}", "x*{}e400", "x/(3-{})*(1//0)", "sum({}*x, {})", "x.T*{}"],
)
def test_what_is_special_in_terms_alike_but_for_numbers_is_left_to_generated_code(term):
    text = "+".join(term.replace("{}", str(i)) for i in range(1, 500))
    walked, compiled = both(text)
    assert str(walked[:2]) == str(compiled[:2])


def test_a_number_that_is_none_is_found_among_terms_that_differ_in_numbers():
    text = "+".join(f"x*{i}" for i in [*range(1, 2000), "007"])
    with pytest.raises(SyntaxFailure) as brief:
        parse(text + "+x", compact=True)
    assert text[brief.value.start :] == "007"


@family(
    "text, value",
    [
        ("x" + "*x" * 50_000, 1.0),
        ("-+-" * 20_000 + "-x" + "+x" * 5000, 4999.0),
        ("x" + " - x/2" * 20_000, -9999.0),
        ("7" + "*x - 2" * 3, 1.0),
    ],
)
def test_a_long_chain_is_walked(text, value):
    program = prepare(text)
    found = program.run({"x": gradcli.tensor(1.0, dtype=gradcli.float64)}).value
    assert program.generated is None and found.item() == value


UNITS = ["x", "sin(x)+x*2", "sin({0}*x)", "{0}*x+x**2/{0}.5+(x-{0})**3"]


@family("unit", UNITS)
def test_a_long_text_is_read_and_differentiated_in_few_calls(unit):
    k = np.arange(1, (1 << 18) // (len(unit.format(*["99999"] * 3)) + 1))
    text = "+".join(map(unit.format, k))
    calls: list = []
    sys.settrace(lambda frame, *_: calls.append(None))
    try:
        program = prepare(text)
        x = gradcli.tensor(0.5, dtype=gradcli.float64, requires_grad=True)
        program.run({"x": x}).value.backward()
    finally:
        sys.settrace(None)
    assert len(calls) < 4 * len(k) + 20_000  # one or two for each number of a term
    each = {"x": 1, "s": math.cos(0.5) + 2, "i": k * np.cos(k / 2),
            "0": k + 1 / (k + 0.5) + 3 * (0.5 - k) ** 2.0}["xsi0"[UNITS.index(unit)]]  # fmt: skip
    assert x.grad.item() == pytest.approx(np.sum(each * (k > 0)), rel=1e-9)
    (sum_,) = [node for node in walk(program.names.module) if isinstance(node, Sum)]
    assert len(sum_.terms) == len(set(unit.split("+")))  # what the memory goes by


@family(
    "term",
    ["x[0]", "sin(x[1])", "x[0]*x[1]", "x.sum()", "f(x)", "h(x[0])", "torch.sin(x).sum()",
     "x[0]*{}", "sin(x[{}]*{})"],
)  # fmt: skip
def test_a_long_sum_of_what_only_computes_takes_few_calls_and_bytes(term):
    size = 1 << 17
    text = "+".join(term.replace("{}", str(i % 1000)) for i in range(size // (len(term) + 1)))
    x = gradcli.tensor(np.linspace(0, 1, 1000), requires_grad=True)

    def run() -> None:
        prepare(f"{FUNCTION}{text}", "file").run({"x": x}).value.backward()

    calls: list = []
    run()  # modules are loaded
    sys.settrace(lambda frame, *_: calls.append(None))
    try:
        run()
    finally:
        sys.settrace(None)
    assert len(calls) < 8_000
    tracemalloc.start()
    try:
        run()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * size


# ---- Code of a text with a long sum: its terms, and where they go wrong --------------------------

X, NUMBERS = "x+" * 4500, "".join(f"{i}*x-" for i in range(1500))
PROGRAMS = [
    f"print(1);{X}ones(3)+ones(4)",
    f"{X}ones(3)-{X}ones(4)+{X}x",
    f"{X}  [1][7]  + {X}x",
    f"{X}(2*(ones(3)@ones(4)))+{X}x",
    f"{NUMBERS}{NUMBERS}[1,2][3000*x]+{NUMBERS}x",
    f"for i in range(3):\n  y={NUMBERS}i*x\n  print(y)\ny",
    f"g=lambda i: {NUMBERS}i*x\nprint([g(i) for i in range(3)])\ng(1)",
    f"def f(a):\n  print(a)\n  return ones(a)[2]\nprint(2)\n{NUMBERS}f(7)-{X}f(2)+{X}x",
    f"print(0)\n{X}zz+{X}x\nzz=1",
    f"s=[0]\ndef f(a):\n  s[0]+=1\n  return a*s[0]\n{'f(x)+' * 1500}{'f(x)-' * 1500}x",
    f"print(rand(1).sum()+{'rand(1)-' * 1200}x)\nif x>0:\n  y={'[' * 3}{X}x{']' * 3}\ny[0][0][0]",
    f"print(2)\n{X}{''.join(f'ones({i})+' for i in range(1, 200))}x",
]  # fmt: skip


@pytest.mark.parametrize("text", PROGRAMS, ids=range(len(PROGRAMS)))
def test_code_of_a_long_sum_does_what_that_of_the_whole_text_does(text):
    found = []
    for whole in (False, True):
        program = prepare(text, "file")
        assert program.names.sums
        if whole:
            assert not program.checked.sums
        gradcli.manual_seed(0)
        x = gradcli.tensor(0.5, dtype=gradcli.float64, requires_grad=True)
        printed: list[str] = []
        try:
            value = program.run({"x": x}, write=printed.append).value
        except Fault as fault:
            found.append((str(fault), fault.help, fault.labels, fault.notes, printed))
        else:
            value.sum().backward()
            found.append((value.tolist(), x.grad.item(), printed))
    assert found[0] == found[1]


def test_code_of_a_long_sum_holds_each_different_term_once():
    program = prepare(f"print(1)\n{X}ones(3)+ones(4)", "file")
    with pytest.raises(Fault):
        program.run({"x": gradcli.tensor(0.5)})
    assert len(program.generated.places) < 40
