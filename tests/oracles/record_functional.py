"""Record torch.autograd.functional, for tests/transforms/test_functional.py.

Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_functional
Writes tests/oracles/functional.json.gz. ``build`` takes the library as an argument and is what the
test runs too.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.oracles import save


def one(lib: Any, x: Any) -> Any:
    return (x**3).sum() * x[0]


def vector(lib: Any, x: Any) -> Any:
    return lib.stack([x[0] * x[1], lib.sin(x[0]), x[1] ** 2])


def two(lib: Any, x: Any, y: Any) -> Any:
    return (x * x * y).sum() + lib.exp(y[0])


def pair(lib: Any, x: Any, y: Any) -> Any:
    return x * y, (x + 2 * y).sum()


def unused(lib: Any, x: Any, y: Any) -> Any:
    return (x * x).sum()


def fixed(lib: Any, x: Any) -> Any:
    return lib.ones(1, dtype=lib.float64)


def straight(lib: Any, x: Any) -> Any:
    return (2 * x).sum()


def some(lib: Any, x: Any, y: Any) -> Any:
    return x * x[0], (x * y).sum(), lib.ones(2, dtype=lib.float64)


def bowl(lib: Any, x: Any, y: Any) -> Any:
    return (x**3 * y**3).sum() + lib.sin(x).prod()


def apart(lib: Any, x: Any, y: Any) -> Any:
    return (x**3).sum() + y.sum()


def square(lib: Any, x: Any) -> Any:
    return (x * x).sum()


def branch(lib: Any, x: Any) -> Any:
    return x**3 if x[0] > 0 else -x


A, B = [0.3, 0.7], [1.1, -0.4]
# name: transform, function, inputs, v (None: not given), options
CASES: dict[str, tuple] = {
    "jacobian": ("jacobian", vector, [A], None, {}),
    "jacobian of a scalar": ("jacobian", one, [A], None, {}),
    "jacobian two in": ("jacobian", two, [A, B], None, {}),
    "jacobian two in two out": ("jacobian", pair, [A, B], None, {}),
    "jacobian graph": ("jacobian", vector, [A], None, {"create_graph": True}),
    "jacobian unused": ("jacobian", unused, [A, B], None, {}),
    "jacobian fixed": ("jacobian", fixed, [A], None, {}),
    "hessian": ("hessian", one, [A], None, {}),
    "hessian two in": ("hessian", two, [A, B], None, {}),
    "hessian unused": ("hessian", unused, [A, B], None, {}),
    "hessian straight": ("hessian", straight, [A], None, {}),
    "vjp": ("vjp", vector, [A], [[1.0, 2.0, 3.0]], {}),
    "vjp of a scalar": ("vjp", one, [A], None, {}),
    "vjp two in two out": ("vjp", pair, [A, B], [B, 2.0], {}),
    "vjp graph": ("vjp", vector, [A], [[1.0, 2.0, 3.0]], {"create_graph": True}),
    "jvp": ("jvp", vector, [A], [B], {}),
    "jvp two in two out": ("jvp", pair, [A, B], [B, A], {}),
    "jvp unused": ("jvp", unused, [A, B], [B, A], {}),
    "hvp": ("hvp", one, [A], [B], {}), "hvp two in": ("hvp", two, [A, B], [B, A], {}),
    "vhp": ("vhp", one, [A], [B], {}), "vhp two in": ("vhp", two, [A, B], [B, A], {}),
    "vhp straight": ("vhp", straight, [A], [B], {}),
    "vectorize branch": ("jacobian", branch, [A], None, {"vectorize": True}),
}  # fmt: skip
GRAPH, ROWS, STRICT = {"create_graph": True}, {"vectorize": True}, {"strict": True}
FORWARD = {"vectorize": True, "strategy": "forward-mode"}
OUTER = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}
STRAIT = (one, vector, pair, bowl)  # every output hangs on every input


def _add(transform: str, functions: tuple, v: dict, options: tuple) -> None:
    for number, option in enumerate(options):
        for f in functions:
            if "strict" not in option or f in STRAIT:
                inputs = [A] if f in (one, vector, fixed, straight) else [A, B]
                case = (transform, f, inputs, v.get(f), option)
                CASES[f"{transform} {f.__name__} {number}"] = case


_add("jacobian", (vector, one, pair, fixed, some, unused), {}, (
    ROWS, ROWS | GRAPH, FORWARD, STRICT, GRAPH,
))  # fmt: skip
_add("hessian", (one, straight, unused, bowl, apart), {}, (
    GRAPH, ROWS, ROWS | GRAPH, OUTER, STRICT, STRICT | GRAPH,
))  # fmt: skip
_add("vjp", (pair, bowl), {pair: [B, 2.0]}, (GRAPH, STRICT))
BOTH = {f: [B, A] for f in (pair, bowl, apart, unused)}
_add("jvp", (pair, bowl, unused), BOTH, (GRAPH, STRICT))
for _name in ("vhp", "hvp"):
    _add(_name, (bowl, apart, unused), BOTH, (GRAPH, STRICT, STRICT | GRAPH))
REFUSED: dict[str, tuple] = {
    "strict output": ("jacobian", fixed, [A], None, {"strict": True}),
    "strict input": ("jacobian", unused, [A, B], None, {"strict": True}),
    "strict vjp output": ("vjp", fixed, [A], [[1.0]], {"strict": True}),
    "strict vjp input": ("vjp", unused, [A, B], None, {"strict": True}),
    "strict vjp graph": ("vjp", straight, [A], None, {"strict": True, "create_graph": True}),
    "strict jvp output": ("jvp", fixed, [A], [B], {"strict": True}),
    "strict jvp input": ("jvp", unused, [A, B], [A, B], {"strict": True}),
    "strict jvp graph": ("jvp", straight, [A], [B], {"strict": True, "create_graph": True}),
    "strict jacobian graph": (
        "jacobian", straight, [A], None, {"strict": True, "create_graph": True},
    ),
    "strict hessian output": ("hessian", fixed, [A], None, {"strict": True}),
    "strict hessian linear": ("hessian", straight, [A], None, {"strict": True}),
    "strict hessian input": ("hessian", unused, [A, B], None, {"strict": True}),
    "strict hessian apart": ("hessian", apart, [A, B], None, {"strict": True}),
    "strict hessian graph": ("hessian", square, [A], None, {"strict": True, "create_graph": True}),
    "strict vhp output": ("vhp", fixed, [A], [B], {"strict": True}),
    "strict vhp linear": ("vhp", straight, [A], [B], {"strict": True}),
    "strict vhp input": ("vhp", unused, [A, B], [A, B], {"strict": True}),
    "strict vhp graph": ("vhp", square, [A], [B], {"strict": True, "create_graph": True}),
    "strict hvp output": ("hvp", fixed, [A], [B], {"strict": True}),
    "strict hvp linear": ("hvp", straight, [A], [B], {"strict": True}),
    "strict hvp input": ("hvp", unused, [A, B], [A, B], {"strict": True}),
    "strict hvp graph": ("hvp", square, [A], [B], {"strict": True, "create_graph": True}),
    "hvp not a scalar": ("hvp", vector, [A], [B], {}),
    "hessian of a pair": ("hessian", pair, [A, B], None, {}),
    "vhp without v": ("vhp", one, [A], None, {}),
    "v of another size": ("vjp", vector, [A], [[1.0, 2.0]], {}),
    "v of another length": ("vjp", pair, [A, B], [B], {}),
    "v is needed": ("vjp", vector, [A], None, {}),
    "not a scalar": ("hessian", vector, [A], None, {}),
}  # fmt: skip


def build(lib: Any, case: tuple) -> Any:
    """The transform's result."""
    name, function, inputs, v, options = case

    def made(values: list) -> Any:
        tensors = tuple(lib.tensor(x, dtype=lib.float64) for x in values)
        return tensors if len(inputs) > 1 else tensors[0]

    given = {} if v is None else {"v": made(v)}
    transform = getattr(lib.autograd.functional, name)
    result = transform(lambda *xs: function(lib, *xs), made(inputs), **given, **options)
    return _detached(result) if options == OUTER else result


def _detached(tree: Any) -> Any:
    """PyTorch leaves forward mode over reverse in a graph that nobody asked for."""
    return tuple(map(_detached, tree)) if isinstance(tree, tuple | list) else tree.detach()


def plain(result: Any) -> Any:
    """Nested tuples of tensors as JSON."""
    if isinstance(result, tuple | list):  # PyTorch gives lists where it vectorizes
        return {"parts": [plain(part) for part in result]}
    return {
        "data": result.detach().tolist(),
        "shape": list(result.shape),
        "requires_grad": result.requires_grad,
    }


def main() -> None:
    import torch

    found = [{"name": n, "result": plain(build(torch, c))} for n, c in CASES.items()]
    for name, case in REFUSED.items():
        try:
            build(torch, case)
        except (RuntimeError, TypeError, ValueError) as error:
            found.append({"name": name, "message": str(error)})
    head = {
        "made_with": {"torch": torch.__version__.partition("+")[0]},
        "script": "tests/oracles/record_functional.py",
    }
    lines = ",\n".join(json.dumps(case) for case in found)
    save("functional", json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
