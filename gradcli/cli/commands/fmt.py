"""``gradcli fmt``: a program in canonical form."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from gradcli.cli import inputs, options, output, watchdog
from gradcli.language.diagnostics.parsing import explained
from gradcli.language.syntax.formatter import formatted
from gradcli.ops.memory_budget import no_collection

Text = Annotated[
    str | None, typer.Argument(metavar="FILE|TEXT", help="A program; `-` reads standard input.")
]
OPTIONS: options.Group = {
    "text": (Text, None),
    "pieces": options.TEXT["pieces"],
    "color": options.SHOWN["color"],
    **{name: options.LIMITS[name] for name in ("max_mem", "timeout")},
}


@options.taking(OPTIONS)
def fmt(
    text: str | None, pieces: list[str] | None, color: str, max_mem: str, timeout: float
) -> None:
    """Example: gradcli fmt "y=x^2; (2*(y))" """
    output.check_colour(color)
    watchdog.start(inputs.read_seconds(timeout), inputs.read_size(max_mem))
    is_file = text is not None and (os.path.isfile(text) or text.endswith(".grad"))
    given = (None, text) if is_file else (text, None)
    source, mode = inputs.read_source(given[0], pieces, given[1])
    with explained(), no_collection():
        text = formatted(source, mode)
    watchdog.stop()
    output.inert_writer(sys.stdout)(text)
