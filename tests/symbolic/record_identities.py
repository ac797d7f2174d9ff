"""Check every identity of identities.json by central differences, and write its cost beside it.

Run with NumPy alone:  PYTHONPATH=. python tests/symbolic/record_identities.py [new.json ...]
The expressions and the forms expected are evaluated as Python, with the functions below; gradcli
takes no part. New cases are appended in the format of the field's samples (``expr``, ``vars``,
``dims``, ``wrt``, ``order``, ``expected``); ``ops`` and ``ops_cse`` are counted here. A form that
is not the derivative ends the run.
"""

from __future__ import annotations

import ast
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.symbolic.cost import cost

HERE = Path(__file__).parent


def logsumexp(u: np.ndarray, dim: int | None = None) -> np.ndarray:
    top = u.max(axis=dim, keepdims=True)
    found = np.log(np.exp(u - top).sum(axis=dim, keepdims=True)) + top
    return found.squeeze(axis=dim) if dim is not None else found.reshape(())[()]


def softmax(u: np.ndarray, dim: int = -1) -> np.ndarray:
    top = np.exp(u - u.max(axis=dim, keepdims=True))
    return top / top.sum(axis=dim, keepdims=True)


def norm(x: np.ndarray, p: float = 2, dim: int | None = None, keepdim: bool = False) -> np.ndarray:
    if p == np.inf:
        return np.max(np.abs(x), axis=dim, keepdims=keepdim)
    return np.sum(np.abs(x) ** p, axis=dim, keepdims=keepdim) ** (1 / p)


def over(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A reduction with the language's parameters."""
    return lambda x, dim=None, keepdim=False: function(x, axis=dim, keepdims=keepdim)


def pad(x: np.ndarray, widths: tuple[int, ...]) -> np.ndarray:
    pairs = list(zip(widths[::2], widths[1::2], strict=True))[::-1]
    return np.pad(x, [(0, 0)] * (np.ndim(x) - len(pairs)) + pairs)


def normal(x: float) -> float:
    """The distribution function of the standard normal distribution."""
    return (1 + math.erf(x / math.sqrt(2))) / 2


def digamma(x: float) -> float:
    """The logarithmic derivative of Gamma: by its recurrence, then its asymptotic series."""
    found = 0.0
    while x < 10:
        found, x = found - 1 / x, x + 1
    y = 1 / (x * x)
    return (
        found + math.log(x) - 1 / (2 * x) - y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y / 240)))
    )


ALIKE = [
    "sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "cosh", "sinh", "where", "outer", "diag",
    "eye", "dot", "trace", "abs", "sign", "einsum", "kron", "tril", "triu", "inf", "stack",
    "cumsum", "flip", "roll", "reshape",
]  # fmt: skip
NAMES = {name: getattr(np, name) for name in ALIKE} | {
    "atan": np.arctan, "asin": np.arcsin, "acos": np.arccos, "flatten": np.ravel,
    "matrix_power": np.linalg.matrix_power, "lgamma": np.vectorize(math.lgamma),
    "digamma": np.vectorize(digamma), "ndtr": np.vectorize(normal),
    "sigmoid": lambda u: 1 / (1 + np.exp(-u)), "softmax": softmax,
    "logsumexp": logsumexp, "log_softmax": lambda u, dim=-1: np.log(softmax(u, dim)),
    "norm": norm, "max": np.maximum, "min": np.minimum, "relu": lambda u: np.maximum(u, 0),
    "ones": lambda *n: np.ones(n), "zeros": lambda *n: np.zeros(n), "inv": np.linalg.inv,
    "det": np.linalg.det, "logdet": lambda x: np.log(np.linalg.det(x)),
    "slogdet": np.linalg.slogdet, "solve": np.linalg.solve, "pi": np.pi, "e": np.e,
    "var": lambda x, dim=None: np.var(x, axis=dim, ddof=1),
    "std": lambda x, dim=None: np.std(x, axis=dim, ddof=1),
    "sum": over(np.sum), "mean": over(np.mean), "prod": over(np.prod), "amax": over(np.max),
    "amin": over(np.min), "clamp": np.clip, "pad": pad, "cat": np.concatenate,
    "softplus": lambda x: np.logaddexp(x, 0), "unsqueeze": np.expand_dims,
}  # fmt: skip


def point(case: dict, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random values for the variables of a case, with the properties that they are said to have."""
    values = {}
    for name, words in case["vars"].items():
        kind, *rest = words.split()
        rank = {"scalar": 0, "vector": 1, "matrix": 2}[kind]
        low, high = case.get("range", {}).get(name, (0.3, 0.9))
        x = rng.uniform(low, high, tuple(case["dims"][d] for d in rest[:rank]))
        if rank == 2 and len(set(rest[:2])) == 1:
            x = x + np.eye(len(x))
        if "spd" in rest:
            x = x @ x.T + np.eye(len(x))
        elif "symmetric" in rest:
            x = x + x.T
        values[name] = x
    return values


def value(text: str, case: dict, values: dict) -> np.ndarray:
    """A text of the language evaluated as Python."""
    return np.asarray(eval(text, {**NAMES, **case["dims"], **values}), dtype=float)


def differences(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray, step: float) -> np.ndarray:
    """The derivative of f at x by central differences of fourth order; x's axes come last."""
    parts = []
    for place in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[place] = step
        parts.append((8 * (f(x + e) - f(x - e)) - f(x + 2 * e) + f(x - 2 * e)) / (12 * step))
    return np.moveaxis(np.array(parts), 0, -1).reshape((*np.shape(parts[0]), *x.shape))


def derivative(case: dict, values: dict) -> np.ndarray:
    """The derivative that a case asks for, from values of its expression."""

    def level(order: int) -> Callable[[np.ndarray], np.ndarray]:
        if not order:
            return lambda x: value(case["expr"], case, {**values, case["wrt"]: x})
        inner = level(order - 1)
        return lambda x: differences(inner, x, 2e-3 if order < case["order"] else 3e-3)

    return level(case["order"])(values[case["wrt"]])


def shared_cost(text: str) -> int:
    """The cost where every subexpression is counted once."""
    tree = ast.parse(text, mode="eval")
    known = [x for x in ast.walk(tree) if isinstance(x, ast.expr)]
    gone = {id(y) for x in known if isinstance(x, ast.Subscript) for y in ast.walk(x.slice)}
    parts = {ast.unparse(x) for x in known if id(x) not in gone}
    total = 0
    for part in parts:
        node = ast.parse(part, mode="eval").body
        below = [node.value] if isinstance(node, ast.Subscript) else ast.iter_child_nodes(node)
        inner = [ast.unparse(x) for x in below if isinstance(x, ast.expr)]
        total += cost(part) - sum(cost(x) for x in inner)
    return total


def check(case: dict) -> None:
    """Stop where the form expected is not the derivative."""
    rng = np.random.default_rng(11)
    for _ in range(2):
        values = point(case, rng)
        want = value(case["expected"], case, values)
        got = derivative(case, values)
        if got.shape != want.shape or not np.allclose(got, want, rtol=2e-5, atol=2e-6):
            off = np.max(np.abs(got - want)) if got.shape == want.shape else "another shape"
            raise SystemExit(f"{case['id']}: {case['expected']} is not the derivative ({off})")


def main() -> None:
    place = HERE / "identities.json"
    cases = json.loads(place.read_text("utf-8")) if place.exists() else []
    for name in sys.argv[1:]:
        new = json.loads(Path(name).read_text("utf-8"))
        known = {c["id"] for c in new}
        cases = [c for c in cases if c["id"] not in known] + new
    for case in cases:
        check(case)
        case["ops"] = cost(case["expected"])
        case["ops_cse"] = shared_cost(case["expected"])
    lines = ",\n".join(json.dumps(c) for c in cases)
    place.write_text(f"[\n{lines}\n]\n", "utf-8")
    print(f"{len(cases)} identities hold")


if __name__ == "__main__":
    main()
