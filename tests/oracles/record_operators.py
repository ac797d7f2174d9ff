"""Record PyTorch's values and derivatives for every row of the operator table.

Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_operators
Writes tests/oracles/operators.json.gz. The calls come from tests/ops/table.py, which needs neither
torch nor gradcli. For each case: the arguments, the value, and to third order (where PyTorch goes
that far) the derivatives of weighted sums, as ``rows.derivatives`` computes them. Every derivative
is checked by central differences of the level before it, and the slope at each kink against the
row; a mismatch ends the run.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np

from tests.ops.rows import concrete, derivatives, differences, weights
from tests.ops.table import ROWS
from tests.support.oracles import save


def plain(array: Any) -> Any:
    """Nested lists that JSON can hold: complex numbers as pairs, NaN and the infinities as text."""
    if isinstance(array, int | float):
        return {"number": array}
    array = np.asarray(array)
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], axis=-1)
    flat = [
        str(v) if isinstance(v, float) and not np.isfinite(v) else v for v in array.ravel().tolist()
    ]
    return {"shape": list(array.shape), "data": flat}


def call(torch: Any, expression: str, params: dict, names: str = "xyz") -> Any:
    """The expression as a function of its arguments."""
    scope = {"torch": torch, "F": torch.nn.functional, "np": np, **params}
    return eval(f"lambda {', '.join(names)}: {expression}", scope)


def _defaults(row: Any) -> dict:
    params: dict[str, Any] = {
        "keepdim": False, "dim": None, "correction": 1, "p": 2, "alpha": 1.0,
            "negative_slope": 0.01,
        "value": 1, "beta": 1.0, "threshold": 20.0,
        "min": None, "max": None, "dims": None, "dim0": -2, "dim1": -1, "diagonal": 0,
            "descending": False,
    }  # fmt: skip
    if row.name in ("softmax", "log_softmax", "argsort"):
        params["dim"] = -1
    if row.name in ("cumsum", "cumprod", "logcumsumexp"):
        params["dim"] = 0
    return params


def checked(what: str, function: Any, arrays: list, wrt: tuple[int, ...], levels: list) -> None:
    """Compare every order with central differences of the order before it."""
    import torch

    for order in range(1, len(levels)):

        def before(*shifted: Any, order: int = order) -> float:
            found = derivatives(torch, function, shifted, wrt, order - 1)[-1]
            return sum(
                float(np.sum(np.conj(weights(f.shape, order - 1, f.dtype.kind == "c")) * f).real)
                for f in found
            )

        step = 2e-3
        for i, got in zip(wrt, levels[order], strict=True):
            want = differences(before, arrays, i, step)
            if not np.allclose(
                got, want, rtol=2e-6, atol=2e-6 * (1 + np.max(np.abs(want), initial=0))
            ):
                raise SystemExit(f"{what}: order {order} by {i}: {got} is not {want}")


def _record(row: Any, place: int) -> dict | None:
    import torch

    expression = row.expression(place)
    if expression is None:
        return None
    arrays = row.arguments(place)
    function = call(
        torch, expression, {**_defaults(row), **row.cases[place].params}, "xyz"[: len(arrays)]
    )
    wrt = tuple(i for i in row.wrt if isinstance(arrays[i], np.ndarray))
    levels = derivatives(torch, function, arrays, wrt, row.order if wrt else 0)
    checked(f"{row.name} case {place}", function, arrays, wrt, levels)
    return {
        "op": row.name, "case": place, "args": [plain(a) for a in arrays],
        "dtype": levels[0][0].dtype.name,
        "levels": [[plain(a) for a in level] for level in levels],
    }  # fmt: skip


def _kinks(row: Any) -> None:
    """Stop where PyTorch's slope at a kink is not the row's, or is where the row says it
    differs.
    """
    import torch

    for kink in row.kinks:
        arrays = [concrete(a) for a in kink.args]
        function = call(torch, row.torch, {**_defaults(row), **kink.params}, "xyz"[: len(arrays)])
        leaves = [
            torch.tensor(a, dtype=torch.float64, requires_grad=True)
            if isinstance(a, np.ndarray)
            else a
            for a in arrays
        ]
        out = function(*leaves)
        wrt = [leaves[i] for i in row.wrt if isinstance(arrays[i], np.ndarray)]
        found = torch.autograd.grad(
            out, wrt, torch.ones_like(out), allow_unused=True, materialize_grads=True
        )
        same = np.allclose(
            out.detach().numpy(), kink.value, rtol=1e-13, atol=0, equal_nan=True
        ) and all(
            np.allclose(f.numpy(), g, rtol=1e-13, atol=0, equal_nan=True)
            for f, g in zip(found, kink.grads, strict=True)
        )
        if same != (kink.torch == "same"):
            raise SystemExit(f"{row.name}: PyTorch gives {out} and {found} at {kink}")


def main() -> None:
    import torch

    torch.set_default_dtype(torch.float64)
    problems = []
    cases = []
    for row in ROWS.values():
        if row.torch is None:
            continue
        places = [partial(_record, row, place) for place in range(len(row.cases))]
        for work in (*places, partial(_kinks, row)):
            try:
                case = work()
            except (SystemExit, Exception) as fault:
                problems.append(f"{row.name}: {type(fault).__name__} {str(fault)[:600]}")
                continue
            if case is not None:
                cases.append(case)
    if problems:
        raise SystemExit("\n".join(problems))
    record = {
        "made_with": {"torch": torch.__version__.partition("+")[0], "numpy": np.__version__},
        "script": "tests/oracles/record_operators.py",
        "cases": cases,
    }
    head = {k: v for k, v in record.items() if k != "cases"}
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    text = json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n"
    save("operators", text)
    print(f"{len(cases)} cases, {len(text)} bytes")


if __name__ == "__main__":
    main()
