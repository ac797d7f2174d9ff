"""The example programs and data files that come with the tool."""

from __future__ import annotations

import os

_HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = (
    os.path.join(_HERE, "..", "examples"),  # in the wheel
    os.path.join(_HERE, "..", "..", "examples"),  # in a checkout
)


def listed() -> dict[str, str]:
    """The files by their names, ``newton.grad``."""
    for folder in FOLDERS:
        if os.path.isdir(folder):
            names = sorted(name for name in os.listdir(folder) if not name.endswith(".out"))
            return {name: os.path.normpath(os.path.join(folder, name)) for name in names}
    return {}


def packaged(file: str) -> str | None:
    """The file of the tool that ``examples/newton.grad`` means where there is no such folder."""
    folder, name = os.path.split(file)
    return listed().get(name) if folder == "examples" and not os.path.exists(file) else None
