"""The cells of ``cells/*.py`` by name, and how one is run: as a notebook would, output caught.

A cell starts at a line ``# %% name`` and sees ``torch``, ``np`` and what it defines itself; what it
imports of PyTorch (``import torch.nn as nn``) is imported of the library it runs under. Under
PyTorch (``tests/oracles/record_behaviours.py``) and under gradcli (``test_behaviours.py``) the same
text runs; what it prints must be the same, with ``gradcli.`` for ``torch.`` and the addresses of
objects blanked. An exception that a cell does not catch prints the built-in type it is.

Nothing here imports gradcli or PyTorch.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

CELLS = Path(__file__).parent / "cells"


def cells(paths: Iterable[Path] = ()) -> dict[str, str]:
    """Every cell's text under ``"file: name"``, of ``paths`` or of all files here."""
    found = {}
    for path in paths or sorted(CELLS.glob("*.py")):
        for part in re.split(r"(?m)^# %% ", path.read_text(encoding="utf-8"))[1:]:
            name, _, text = part.partition("\n")
            key = f"{path.stem}: {name}"
            if key in found:
                raise ValueError(f"two cells are named {key}")
            found[key] = text.strip() + "\n"
    return found


def spelled(text: str, library: str) -> str:
    """``text`` with what it imports of PyTorch imported of ``library``."""
    return re.sub(r"(?m)^(\s*)(import|from) torch\b", rf"\1\2 {library}", text)


def printed(torch: Any, text: str) -> str:
    """What ``text`` prints when ``torch`` is the library it uses."""
    text = spelled(text, torch.__name__)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(text, "<cell>", "exec"), {"torch": torch, "np": np, "__name__": "cell"})
        except Exception as fault:
            print("raises", builtin_type(fault))
    return plain(out.getvalue())


def builtin_type(fault: BaseException) -> str:
    """The built-in exception that ``except`` would catch ``fault`` by."""
    return next(c.__name__ for c in type(fault).__mro__ if getattr(builtins, c.__name__, 0) is c)


def plain(text: str) -> str:
    """``text`` with the two things that may differ made alike."""
    return re.sub(r"0x[0-9a-f]+", "0x...", text.replace("gradcli.", "torch."))
