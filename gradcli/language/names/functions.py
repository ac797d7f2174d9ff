"""The functions of the Python face that programs have, by name."""

from __future__ import annotations

from typing import Any

from gradcli.engine import dtypes, grad_mode
from gradcli.engine.creation import factories, sampling

_WITHHELD = ("from_numpy", "frombuffer", "seed")
"""What shares memory with Python's objects, and what the system decides."""


def later() -> dict[str, Any]:
    """The functions of the Python face whose modules are loaded with their first use."""
    from gradcli import surface  # with all packages: few programs need another name

    table = {n: getattr(surface, n) for n in surface.LATER_IN_PROGRAMS}
    return {n: f for n, f in table.items() if callable(f) and not isinstance(f, type)}


def created() -> dict[str, Any]:
    """What makes tensors, and what asks about modes."""
    homes = (factories, sampling, grad_mode)
    table = {name: getattr(home, name) for home in homes for name in home.FUNCTIONS.split()}
    kept = {name: function for name, function in table.items() if name not in _WITHHELD}
    return {**kept, "finfo": dtypes.finfo, "iinfo": dtypes.iinfo}
