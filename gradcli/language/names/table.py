"""The names that a program can reach. Nothing else exists for it.

``NAMES`` holds functions and constants by bare name, ``CALLED`` further functions. ``namespace``
gives what ``import torch``, ``import numpy`` and ``import math`` bring under a prefix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradcli.engine import dtypes
from gradcli.functions import methods
from gradcli.functions.index import found
from gradcli.functions.lazy_table import LazyTable
from gradcli.language.names import builtins, functions
from gradcli.language.type_names import EXCEPTIONS

if TYPE_CHECKING:
    from gradcli.language.names.namespaces import Namespace

CONSTANTS = {
    "pi": 3.141592653589793, "e": 2.718281828459045, "inf": float("inf"), "nan": float("nan"),
}  # fmt: skip


def _late(path: str) -> Any:
    """What ``builtins.LATE`` says: an attribute of a module."""
    module, _, name = path.partition(".")
    return getattr(import_module(f"gradcli.language.names.{module}"), name)


_OPERATORS_FIRST = ("gather", "cholesky")
_AS_FUNCTIONS = ("pad",)
"""Those that only torch.nn.functional has, whose function has their required parameters."""


def _bare_names() -> LazyTable:
    operators = methods.public_operators()
    created = functions.created()
    table: dict[str, Any] = {name: created[name] for name in (
        "tensor", "ones", "zeros", "full", "eye", "arange", "linspace", "as_tensor", "rand",
        "randn", "randint", "manual_seed", "no_grad", "enable_grad", "set_grad_enabled",
        "inference_mode",
    )}  # fmt: skip
    table.update(CONSTANTS)
    table.update({d.name: d for d in dtypes.ALL if d.name != "bool"})
    table["double"] = dtypes.float64
    table["Tensor"] = created["tensor"]
    table.update(builtins.TABLE)
    sources = {
        **{name: (operators.__getitem__, name) for name in operators if name not in _AS_FUNCTIONS},
        # With PyTorch's optional parameters; gather(x, indices) here is the operator's own order,
        # and cholesky(A) is of (A + A.T)/2, which differences confirm, not of one triangle.
        **{name: (methods.COMPOSED.__getitem__, name)
           for name in methods.COMPOSED if name in operators and name not in _OPERATORS_FIRST},
        **{name: (found, f"overloads.{name}") for name in ("numel", "is_tensor")},
        **{name: (lambda name: _late("exceptions.KINDS")[name], name) for name in EXCEPTIONS},
        **{name: (_late, path) for name, path in builtins.LATE.items()},
    }  # fmt: skip
    return LazyTable(sources, lambda source: source[0](source[1]), table)


NAMES = _bare_names()


class _Called(Mapping[str, Any]):
    """Functions by bare name; those of PyTorch's packages are loaded when another is not found.

    Where packages share a name, the bare one is the function of the first of ``_PACKAGES`` that has
    it: ``svd(A)`` is ``torch.linalg.svd(A)``.
    """

    _PACKAGES = ("linalg", "nn.functional", "fft", "special")

    def __init__(self, near: Mapping[str, Any]) -> None:
        self._near = near
        self._whole: dict[str, Any] | None = None

    def _all(self) -> dict[str, Any]:
        if self._whole is None:
            from gradcli.language.names import namespaces  # few programs need another name

            found = {n: f for n, f in functions.later().items() if n not in NAMES}
            for package in reversed(self._PACKAGES):
                table = namespaces.package(package)
                found.update({n: f for n, f in table.items() if n not in NAMES and callable(f)})
            self._whole = {**found, **self._near}
        return self._whole

    def __getitem__(self, name: str) -> Any:
        return self._near[name] if name in self._near else self._all()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._near or name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


CALLED: Mapping[str, Any] = _Called(LazyTable(
    {name: name for name in methods.COMPOSED if name not in NAMES},
    methods.COMPOSED.__getitem__,
    {name: function for name, function in functions.created().items() if name not in NAMES},
))  # fmt: skip
"""Functions by bare names that are theirs only where they are called: ``t(A)``, but ``sin(t)``."""
_made: dict[str, Namespace] = {}


def function(name: str) -> Any:
    """What a bare name stands for where it is called."""
    return NAMES[name] if name in NAMES else CALLED[name]


def namespace(module: str) -> Mapping[str, Any] | None:
    """What ``import module`` gives, by dotted name; None for a module that is not known."""
    from gradcli.language.names import namespaces  # a single expression imports nothing

    root, _, rest = module.partition(".")
    if root not in namespaces.MAKERS:
        return None
    if root not in _made:
        _made.setdefault(root, namespaces.MAKERS[root](NAMES))
    return _made[root].below(rest) if rest else _made[root]
