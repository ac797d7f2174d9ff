"""Record what PyTorch prints, for tests/engine/test_printing.py.

Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_printing
Writes tests/oracles/printing.json.gz. The inputs are either nested lists or a recipe for
``numpy.random.default_rng(seed)``, rebuilt in the test by this file's own ``build``; torch is
imported in ``main`` only, so that the test needs none.
"""

from __future__ import annotations

import json

import numpy as np

from tests.support.oracles import save

DTYPES = (
    "float32", "float64", "float16", "complex64", "complex128",
    "int64", "int32", "int16", "int8", "uint8", "bool",
)  # fmt: skip
SHAPES = (
    [], [1], [2], [3], [7], [13], [30], [100], [1, 1], [2, 3], [3, 2], [5, 9], [20, 3], [2, 2, 2],
    [3, 1, 4], [2, 3, 4], [2, 1, 2, 3], [1, 2, 1, 2, 3], [2, 2, 2, 1, 2, 2],
)  # fmt: skip
LARGE = (
    [1001], [4000], [34, 34], [7, 200], [200, 7], [2, 600], [600, 2], [11, 11, 11], [1, 2, 999],
    [8, 1, 9, 20],
)  # fmt: skip
SPECIALS = (
    float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, 0.5, 1e-5, 1e-4, 9.99e-5, 1e8,
    1.0001e8, 123456.0, 99999.5, 1e4, 1000.0, 1e20, 1e-20, 3.0, 0.1, -2.25, 0.99995, 0.99994,
)  # fmt: skip
STYLES = ("normal", "whole", "tiny", "huge", "wide", "thousand", "uniform", "specials", "zeros")
FUNCTIONS = ("MulBackward0", "AddBackward0", "NllLossBackward0", "UnsafeViewBackward0" * 4)
OPTIONS = (
    {}, {"profile": "default"}, {"profile": "short"}, {"profile": "full"}, {"precision": 2},
    {"precision": 8}, {"precision": 0}, {"threshold": 5}, {"threshold": 5, "edgeitems": 1},
    {"threshold": 0, "edgeitems": 2}, {"edgeitems": 0}, {"edgeitems": 0, "threshold": 3},
    {"linewidth": 20}, {"linewidth": 40}, {"linewidth": 200}, {"sci_mode": True},
    {"sci_mode": False}, {"profile": "short", "sci_mode": True, "linewidth": 60},
    {"profile": "full", "precision": 1}, {"linewidth": 1, "threshold": 10},
)  # fmt: skip


def _reals(rng: np.random.Generator, style: str, shape: tuple[int, ...]) -> np.ndarray:
    if style == "normal":
        return rng.standard_normal(shape)
    if style == "whole":
        return rng.integers(-200, 200, shape).astype(np.float64)
    if style == "tiny":
        return rng.standard_normal(shape) * 1e-6
    if style == "huge":
        return rng.standard_normal(shape) * 1e4
    if style == "wide":
        return rng.standard_normal(shape) * 10.0 ** rng.integers(-7, 4, shape)
    if style == "thousand":
        return rng.integers(1, 1002, shape) * 1.0 + rng.integers(0, 2, shape) * 0.5
    if style == "uniform":
        return rng.random(shape)
    if style == "specials":
        return np.asarray(rng.choice(np.array(SPECIALS), shape))
    return np.zeros(shape) * rng.choice(np.array([1.0, -1.0]), shape)


def build(case: dict) -> np.ndarray:
    """The NumPy array that a recorded case prints."""
    dtype = np.dtype(case["dtype"])
    if "data" in case:
        data = [complex(*item) for item in case["data"]] if dtype.kind == "c" else case["data"]
        return np.array(data, dtype=dtype).reshape(case["shape"])
    rng = np.random.default_rng(case["seed"])
    shape = tuple(case["shape"])
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape), dtype=dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        spread = 10 ** int(rng.integers(1, 6))
        low, high = max(int(info.min), -spread), min(int(info.max), spread)
        return np.asarray(rng.integers(low, high, shape), dtype=dtype)
    real = _reals(rng, case["style"], shape)
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.kind == "c":
            full = np.empty(shape, dtype=np.complex128)
            full.real, full.imag = real, _reals(rng, case["style"], shape)
            return np.asarray(full, dtype=dtype)
        return np.asarray(real, dtype=dtype)


def recipes() -> list[dict]:
    """Every case, without its text."""
    cases: list[dict] = []

    def add(**case: object) -> None:
        cases.append({"default_dtype": "float32", "options": {}, **case})

    rng = np.random.default_rng(2013)
    seed = 0
    for dtype in DTYPES:
        floating = np.dtype(dtype).kind in "fc"
        for shape in SHAPES + LARGE:
            for style in rng.choice(STYLES, 2, replace=False) if floating else ("",):
                seed += 1
                add(dtype=dtype, shape=shape, seed=seed, style=str(style))
    for options in OPTIONS:
        for dtype in ("float32", "float64", "int64", "complex64", "bool", "float16"):
            for _ in range(3):
                seed += 1
                pool = SHAPES if options.get("profile") == "full" else SHAPES + LARGE
                shape = pool[int(rng.integers(len(pool)))]
                style = str(rng.choice(STYLES))
                add(dtype=dtype, shape=shape, seed=seed, style=style, options=options)
    for dtype in DTYPES:
        for shape in ([0], [0, 3], [2, 0], [1, 0, 2], [0, 0]):
            for default in ("float32", "float64"):
                add(dtype=dtype, shape=shape, data=[], default_dtype=default)
    for tail in ({"requires_grad": True}, *({"grad_fn": name} for name in FUNCTIONS)):
        for dtype in ("float32", "float64", "complex64", "complex128"):
            for default in ("float32", "float64"):
                for shape in ([], [6], [3, 7], [2, 2, 2], [40], [1200], [0]):
                    seed += 1
                    extra = {"seed": seed, "style": "normal"} if shape != [0] else {"data": []}
                    add(dtype=dtype, shape=shape, default_dtype=default, **extra, **tail)
    for value in SPECIALS:
        for dtype in ("float32", "float64"):
            add(dtype=dtype, shape=[], data=[value])
            add(dtype=dtype, shape=[2], data=[value, 2.5])
            add(dtype=dtype, shape=[3], data=[value, 1.0, -0.0])
        add(dtype="complex64", shape=[2], data=[[value, 1.5], [2.0, value]])
        add(dtype="complex128", shape=[], data=[[2.0, value]])
    for shape in ([1000], [6, 6, 6, 6], [5, 5, 5, 5, 5]):  # nothing to leave out
        seed += 1
        add(dtype="float32", shape=shape, seed=seed, style="normal")
    extremes = [
        [5e-324, 1.7976931348623157e308], [2.5e-310], [1e-100, 1e100], [1e16 + 2, 1.0],
        [1000.0, 1.0], [1000.0, 0.9999], [100000000.0, 100000.0], [-0.0], [-102.4, 0.1024],
        [9999.99995], [0.00005], [65504.0, 65.5], [2.5, 3.5, -0.5], [0.125], [1e15, 123456789012.5],
    ]  # fmt: skip
    for values in extremes:
        for options in ({}, {"sci_mode": False}, {"sci_mode": True}):
            add(dtype="float64", shape=[len(values)], data=values, options=options)
    for dtype in ("int64", "int32", "int16", "int8", "uint8"):
        info = np.iinfo(dtype)
        add(dtype=dtype, shape=[2], data=[int(info.min), int(info.max)])
    return cases


def main() -> None:
    """Print every case with PyTorch and write the file."""
    import torch

    cases = recipes()
    for case in cases:
        torch.set_default_dtype(getattr(torch, case["default_dtype"]))
        torch.set_printoptions(profile="default")
        torch.set_printoptions(**case["options"])
        tensor = torch.from_numpy(np.array(build(case)))
        if case.get("requires_grad"):
            tensor.requires_grad_()
        text = str(tensor)
        if "grad_fn" in case:
            # Any node will do: the name is all that is printed, and it is laid out by its length.
            made = type(case["grad_fn"], (), {})()
            text = _print_with(tensor, made)
        case["text"] = text.replace("torch.", "gradcli.")
    record = {
        "made_with": {"torch": torch.__version__.split("+")[0], "numpy": np.__version__},
        "script": "tests/oracles/record_printing.py",
        "cases": cases,
    }
    lines = ",\n".join(json.dumps(case) for case in cases)
    head = json.dumps({key: record[key] for key in ("made_with", "script")})[:-1]
    save("printing", f'{head}, "cases": [\n{lines}\n]}}\n')
    print(f"{len(cases)} cases")


def _print_with(tensor: object, node: object) -> str:
    """What PyTorch prints for `tensor` had `node` made it."""
    import torch

    class Named(torch.Tensor):
        grad_fn = node

    Named.__name__ = "tensor"  # a subclass opens its text with its own name
    with torch._C.DisableTorchFunctionSubclass():
        return str(tensor.as_subclass(Named))


if __name__ == "__main__":
    main()
