"""Write ``gradcli/__init__.pyi``: what an editor completes, made from the functions themselves.

Run after a function or a method changed:  python -m tests.build_stubs
``text()`` gives the file's text; a test compares it with the file.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import gradcli
from gradcli import surface
from gradcli.engine.dtypes import DType
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions.methods import METHODS
from gradcli.ops.operator import Operator

FILE = Path(gradcli.__file__).with_suffix(".pyi")
HEAD = '''"""What gradcli offers, for editors; written by tests.build_stubs."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradcli import autograd as autograd
from gradcli import cuda as cuda
from gradcli import fft as fft
from gradcli import func as func
from gradcli import linalg as linalg
from gradcli import masked as masked
from gradcli import nn as nn
from gradcli import optim as optim
from gradcli import random as random
from gradcli import return_types as return_types
from gradcli import special as special
from gradcli import symbolic as symbolic
from gradcli import testing as testing
from gradcli import transforms as transforms
from gradcli import utils as utils
from gradcli.engine.dtypes import DType as dtype
from gradcli.engine.dtypes import Device as device
from gradcli.engine.tensor.attributes import Size as Size
from gradcli.engine.grad_mode import enable_grad as enable_grad
from gradcli.engine.grad_mode import inference_mode as inference_mode
from gradcli.engine.grad_mode import no_grad as no_grad
from gradcli.engine.grad_mode import set_grad_enabled as set_grad_enabled
from gradcli.engine.creation.generator import Generator as Generator

__version__: str
'''
_GIVEN = frozenset((
    "autograd", "cuda", "fft", "func", "linalg", "masked", "nn", "optim", "random", "return_types",
    "special", "symbolic", "transforms", "utils", "dtype", "device", "Generator", "Size", "Tensor",
    "enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "annotations",
))  # fmt: skip
_NUMBER = "Tensor | _float"
_KINDS = {
    "dim": "Any", "dims": "Any", "keepdim": "_bool", "dtype": "Any", "requires_grad": "_bool",
    "p": "Any",
}  # fmt: skip
_RESULTS = {
    "tuple": "tuple[Tensor, ...]", "bool": "_bool", "_builtins.bool": "_bool", "int": "_int",
    "float": "_float", "None": "None", "Tensor": "Tensor", "dtype": "dtype", "str": "str",
    "tuple[int, ...]": "tuple[_int, ...]", "Size": "Size",
}  # fmt: skip
_SEVERAL = frozenset((
    "aminmax", "atleast_1d", "broadcast_tensors", "cummax", "cummin", "kthvalue", "max",
    "meshgrid", "min", "mode", "nanmedian", "sort", "topk", "unique",
))  # fmt: skip


def text() -> str:
    """The stub file."""
    for name in surface.LATER:  # those loaded with their first use
        getattr(gradcli, name)
    lines = [HEAD, *_constants(), "", *_tensor(), ""]
    for name, value in sorted(vars(gradcli).items()):
        if _offered(name, value) and callable(value) and not isinstance(value, type):
            lines.append(_function(name, value))
    return "\n".join(lines) + "\n"


def _offered(name: str, value: Any) -> bool:
    ours = name not in _GIVEN and not name.startswith("_") and not keyword.iskeyword(name)
    return ours and not isinstance(value, ModuleType)


def _constants() -> Iterator[str]:
    # The module's own bool, int and float are element types.
    yield "from builtins import bool as _bool, float as _float, int as _int\n"
    for name, value in sorted(vars(gradcli).items()):
        if _offered(name, value) and not callable(value):
            kind = "dtype" if isinstance(value, DType) else (
                "_float" if isinstance(value, float) else "Any"
            )  # fmt: skip
            yield f"{name}: {kind}"


def _tensor() -> Iterator[str]:
    yield "class Tensor:"
    yield "    def __init__(self, *data: Any) -> None: ..."
    seen: dict[str, Any] = {}
    for kind in reversed(Tensor.__mro__[:-1]):
        seen.update(vars(kind))
    seen.update(METHODS)
    for name, value in sorted(seen.items()):
        if isinstance(value, property) and value.fset is not None:
            yield f"    {name}: {_property(name, value)}"
        elif isinstance(value, property):
            yield "    @property"
            yield f"    def {name}(self) -> {_property(name, value)}: ..."
        elif isinstance(value, FunctionType | Operator) and _shown(name):
            yield f"    {_function(name, value, method=True)}"


def _shown(name: str) -> bool:
    if name in ("__new__", "__init__", "__getattr__", "__array__", "__reduce_ex__"):
        return False
    return not name.startswith("_") or (name.startswith("__") and "gradcli" not in name)


def _property(name: str, value: property) -> str:
    given = getattr(value.fget, "__annotations__", {}).get("return", "Any")
    given = "Tensor" if hasattr(value.fget, "operator") else given
    known = {"Tensor": "Tensor", "bool": "_bool", "int": "_int", "Size": "Size", "DType": "dtype",
             "Tensor | None": "Tensor | None", "Any": "Any", "Node | None": "Any"}  # fmt: skip
    return known.get(given, "Tensor" if name in ("T", "mT", "H", "mH", "real", "imag") else "Any")


def _function(name: str, value: Any, method: bool = False) -> str:
    function = inspect.unwrap(value)
    parts = list(_parameters(function, method))
    if name in ("__eq__", "__ne__"):
        return f"def {name}(self, other: Any) -> Tensor: ...  # type: ignore[override]"
    if name.startswith("__") and "*params" in " ".join(parts) and name != "__abs__":
        parts = ["self", "other: Any"]
    created = (value.__module__ or "").startswith("gradcli.engine.creation")
    filled = "out" in (getattr(value, "__kwdefaults__", None) or ())
    wrapped = hasattr(value, "__wrapped__") and (filled or not created)
    if not method and (wrapped or "more" in _names(function)):
        if not any(p.startswith("*") for p in parts):
            parts.append("*")
        rest = [p for p in parts if p.startswith("**") and created]
        parts = [*(p for p in parts if not p.startswith("**")), "out: Any = ...", *rest]
    return f"def {name}({', '.join(parts)}) -> {_result(name, function, method)}: ..."


def _names(function: Any) -> Any:
    return inspect.signature(function).parameters if isinstance(function, FunctionType) else ()


def _parameters(function: Any, method: bool) -> Iterator[str]:
    op = getattr(function, "operator", None)
    if op is not None and "more" in _names(function):
        function = op  # which binds what the function leaves to it
    if isinstance(function, Operator):
        if function.variadic:
            yield f"*{function.inputs[0]}: Any"
        names = function.inputs if not function.variadic else ()
        words = ("input", "other") if len(names) < 3 else ("input", *names[1:])
        for i, _ in enumerate(names):
            yield "self" if method and not i else f"{words[i]}: {_NUMBER}"
        for name, default in function.params.items():
            yield f"{name}: {_KINDS.get(name, 'Any')} = {_default(default)}"
        return
    star = False
    for i, p in enumerate(inspect.signature(function).parameters.values()):
        if method and not i:
            yield "*self: Any" if p.kind is p.VAR_POSITIONAL else "self"
            continue
        if method and p.name == "out":
            continue  # PyTorch's methods have none
        if p.kind is p.KEYWORD_ONLY and not star:
            star = True
            yield "*"
        star = star or p.kind is p.VAR_POSITIONAL
        lead = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        default = "" if p.default is p.empty else f" = {_default(p.default)}"
        kind = "Any" if p.default is None else _KINDS.get(p.name, "Any")
        name = "input" if p.name == "self" else p.name  # the function of a method
        yield f"{lead}{name}: {kind}{default}"


def _default(value: Any) -> str:
    plain = value is None or isinstance(value, bool | int | str)
    return repr(value) if plain else "..."


def _result(name: str, function: Any, method: bool) -> str:
    if name in _SEVERAL:
        return "Any"
    if name in ("__len__", "__index__", "__hash__", "__int__", "numel", "nelement", "dim", "ndim"):
        return "_int"
    fixed = {"__bool__": "_bool", "__float__": "_float", "__repr__": "str", "__format__": "str",
             "__iter__": "Iterator[Tensor]", "item": "Any", "tolist": "Any", "numpy": "Any",
             "size": "Any", "stride": "Any", "backward": "None", "__contains__": "_bool",
             "__setitem__": "None"}  # fmt: skip
    if name in fixed:
        return fixed[name]
    given = getattr(function, "__annotations__", {}).get("return", "Any")
    return _RESULTS.get(given, "Tensor" if given == "Any" else "Any")


def main() -> None:
    """Write the file."""
    FILE.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
