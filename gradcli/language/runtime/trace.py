"""What ``--trace`` shows: each statement that ran, and the values it left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.limits.step_budget import brief
from gradcli.language.syntax.source import Source

LINES = 1000
"""The most lines of one trace."""
WIDTH = 40
"""Columns of the statement; a longer one is cut."""


def tracer(source: Source, write: Callable[[str], Any]) -> Callable[..., None]:
    """A function of a statement's offset and the names and values it left; bounded in lines."""
    left = LINES

    def show(start: int, *left_behind: Any) -> None:
        nonlocal left
        if left <= 0:
            return
        left -= 1
        line = source.place(start)[0]
        end = source.text.find("\n", start)
        text = source.text[start : end if end >= 0 else len(source.text)].strip()
        text = text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
        values = [
            f"{name}{' = ' if name and name != 'returns' else ' '}{_value(value)}".strip()
            for name, value in zip(left_behind[::2], left_behind[1::2], strict=True)
            if value is not None or name
        ]
        write(f"{line:>4} | {text:<{WIDTH}}  {'   '.join(values)}".rstrip() + "\n")
        if not left:
            write(f"     | the trace ends here: {LINES:,} lines are shown\n")

    return show


def _value(value: Any) -> str:
    if isinstance(value, Tensor):
        array = value.array
        shape = f"[{', '.join(map(str, array.shape))}]" if array.shape else ""
        if array.size > 6 or value.dtype.is_complex:
            return brief(value)
        entries = ", ".join(brief(entry) for entry in array.ravel().tolist())
        return f"{value.dtype.name}{shape} {f'[{entries}]' if shape else entries}"
    return brief(value)
