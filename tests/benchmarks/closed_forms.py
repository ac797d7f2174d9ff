"""Closed forms, each checked by the engine: samples against an import, scalars against SymPy.

Run as ``python -m tests.benchmarks.closed_forms`` it prints the seconds that one process takes for
all identities, imports of ``gradcli.symbolic`` included, those of NumPy not.
"""

from __future__ import annotations

import json
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np  # noqa: F401 (its import is the peer)

OWN = pathlib.Path(__file__).parents[1] / "symbolic" / "identities.json"
SAMPLES = pathlib.Path(__file__).parents[2].parent / "shared" / "cases" / "closed_forms.json"
SCALARS = [
    "x**5", "sqrt(x**2 + 1)", "(x + 1)/(x - 1)", "(x - 1)**2*(x + 2)**3", "sin(x)/x", "tan(x)**2",
    "sqrt(sin(x))", "x**2*exp(-x)", "1/(1 + exp(-x))", "x*log(x)", "log((1 + x)/(1 - x))",
    "x*atan(x)", "log(cosh(x))", "x**x", "x**2/(1 + x)", "cos(x)/(1 - sin(x))", "exp(x)/(1 + x)",
    "log(tan(x))", "atan(sqrt(x))", "(x**2 + 1)**5/(x - 1)**3",
]  # fmt: skip
ROUNDS = 5


def declared(case: dict) -> dict[str, str]:
    """A case's declarations as the command line takes them."""
    found = {}
    for name, words in case["vars"].items():
        kind, *rest = words.split()
        rank = {"scalar": 0, "vector": 1, "matrix": 2}[kind]
        sizes = ":" + ",".join(rest[:rank]) if rank else ""
        found[name] = " ".join([kind + sizes, *rest[rank:]])
    return found


def place() -> pathlib.Path:
    """The field's 66 samples where they are at hand, else our own identities."""
    return SAMPLES if SAMPLES.exists() else OWN


def all_of_them() -> float:
    """Seconds for all cases of the file in this process, from importing to the printed text."""
    cases = json.loads(place().read_text("utf-8"))
    start = time.perf_counter()
    from gradcli.symbolic import diff

    for case in cases:
        str(diff(case["expr"], case["wrt"], order=case["order"], declared=declared(case)).text)
    return time.perf_counter() - start


def identities() -> tuple[float, float, float]:
    """All samples in one process against ``import numpy``, both from a cold start."""
    pairs = []
    for _ in range(ROUNDS):
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.closed_forms"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import numpy"], check=True)
        pairs.append((float(done.stdout), time.perf_counter() - start))
    own, other = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    return own, other, statistics.median(a / b for a, b in pairs)


def scalars() -> tuple[float, float, float] | None:
    """Twenty textbook derivatives against SymPy's simplify; None where SymPy is missing."""
    try:
        import sympy
    except ImportError:
        return None
    from gradcli.symbolic import diff

    x = sympy.Symbol("x", real=True)
    diff("x*sin(x)", "x")  # what is imported once is not what is measured
    sympy.simplify(sympy.diff(x * sympy.sin(x), x))
    pairs = []
    for text in SCALARS:
        start = time.perf_counter()
        str(diff(text, "x").text)
        middle = time.perf_counter()
        str(sympy.simplify(sympy.diff(sympy.sympify(text, locals={"x": x}), x)))
        pairs.append((middle - start, time.perf_counter() - middle))
    own, other = (sum(p[i] for p in pairs) for i in (0, 1))
    return own, other, own / other


if __name__ == "__main__":
    print(all_of_them())
