"""Names of Python, PyTorch and NumPy that the language does not have, and what to write instead.

Tables only; loaded after such a name was used.
"""

from __future__ import annotations

_FILES = "programs read and write no files: give data by a flag, --x @file.csv, and print results"
_CODE = "programs run no text as code: define a function, def f(x): return x**2"
_LOOK = "values are not looked into; type(x), getattr(x, name) and isinstance are there"

FUNCTIONS = {
    "open": _FILES, "load": _FILES, "save": _FILES, "loadtxt": _FILES, "savetxt": _FILES,
    "read_csv": _FILES, "fromfile": _FILES, "from_file": _FILES, "tofile": _FILES,
    "input": "give the value by a flag: --x VALUE",
    "eval": _CODE, "exec": _CODE, "compile": _CODE,
    "dir": _LOOK, "vars": _LOOK, "globals": _LOOK, "locals": _LOOK,
    "frozenset": "write set(...)", "reduce": "write from functools import reduce",
    "complex": "write a + b*1j",
    "hex": "write the number as it is",
    "exit": "leave it out: a program ends at its last line",
    "quit": "leave it out: a program ends at its last line",
    "tr": "write trace(A)", "Tr": "write trace(A)", "lg": "write log10(x)", "sqr": "write x**2",
    "square_root": "write sqrt(x)", "tg": "write tan(x)", "ctg": "write 1/tan(x)",
    "cot": "write 1/tan(x)", "sec": "write 1/cos(x)", "csc": "write 1/sin(x)",
    "array": "write tensor([1, 2, 3])",
    "Variable": "write from torch.autograd import Variable, or tensor(x, requires_grad=True)",
    "Parameter": "write tensor(x, requires_grad=True)",
    "println": "write print(x)", "printf": 'write print(f"{x:.3f}")',
    "echo": "write print(x)", "disp": "write print(x)", "length": "write len(x)",
    "size": "write len(x), or x.shape",
}  # fmt: skip
"""By the name of a function that was called."""

VALUES = {
    "true": "True", "TRUE": "True", "Ture": "True", "Treu": "True", "false": "False",
    "FALSE": "False", "Flase": "False", "null": "None", "nil": "None", "none": "None",
    "NULL": "None", "undefined": "None", "NaN": "nan", "NAN": "nan", "Inf": "inf", "Infinity":
    "inf", "infinity": "inf", "PI": "pi", "Pi": "pi",
}  # fmt: skip
"""Words for values that are spelled differently here."""

IMPORTS = {
    "np": "import numpy as np", "numpy": "import numpy", "torch": "import torch",
    "math": "import math", "nn": "import torch.nn as nn", "F": "import torch.nn.functional as F",
}  # fmt: skip
"""Prefixes of snippets whose import was not copied."""

ELSEWHERE = frozenset(
    ("linalg", "special", "functional", "jnp", "jax", "lax", "scipy", "sympy", "tf", "sp", "cp")
)
"""Prefixes of functions that are here under their bare names."""

SHORT = frozenset(("F", "nn", "sp", "cp", "tf", "lax"))
"""Prefixes that may well be a variable's name."""

_LAYER = "write the layer out: x @ W.T + b, and a loss as mean((y - t)**2)"
_STEP = "write the step out: with no_grad(): w -= 0.1*w.grad"

MODULES = {"optim": _STEP, "nn": _LAYER, "utils": "programs hold their data in tensors",
           "random": "write rand(3), randn(3) or randint(0, 9, (3,))"}  # fmt: skip
"""Parts of modules that are not there, by their last name."""

ATTRIBUTES = {
    "numpy": "a tensor is already an array of numbers; .detach() cuts it off the graph",
    "cuda": "choose the device on the command line: --device cuda",
    "cpu": "choose the device on the command line: --device cpu",
    "format": 'write f"{x:.4f}"',
    "sort": "write y = sorted(x) for a list",
    "replace": "strings are for print; they know upper, lower, strip, split and join",
    "append": "lists grow, nothing else does: collect in a list, then stack(list) or cat(list)",
    "zero_grad": "write x.grad = None",
    "step": _STEP, "parameters": "keep the parameters in a list: [W, b]",
    "length": "write len(x)", "astype": "write x.to(float32)",
   
}  # fmt: skip
"""By the name of an attribute that no value of the language has, or not the one it was asked of."""


# What people ask of a list in other languages and libraries; some are names of operators, too.
OF_LISTS = {
    "push": "write x.append(3)", "add": "write x.append(3)", "size": "write len(x)",
    "length": "write len(x)", "shape": "tensor(x).shape has one; a list has len(x)",
    "sum": "write sum(x)", "max": "write max(x)", "min": "write min(x)",
    "mean": "write sum(x)/len(x)", "tolist": "it is a list already",
    "map": "write [f(v) for v in x]", "join": "write ', '.join(x)",
    "backward": "sum the list: sum(x).backward()",
}  # fmt: skip
"""By the name of an attribute that was asked of a list."""


def module_help(dotted: str) -> str | None:
    """What to write instead of ``torch.optim.SGD``: by the part that is missing."""
    for part in dotted.split("."):
        if part in MODULES:
            return MODULES[part]
    return FUNCTIONS.get(dotted.rpartition(".")[2])
