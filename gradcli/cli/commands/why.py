"""``gradcli why``: what an error code means, with an example."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcli.cli import options, output
from gradcli.language.diagnostics.codes import CODES
from gradcli.language.diagnostics.render import did_you_mean
from gradcli.ops.errors import ValueFault


def why(
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code in brackets: E0301.")],
    json: options.Json = False,
) -> None:
    """Example: gradcli why E0301"""
    name = code.upper().strip("[]")
    if name not in CODES:
        mend = did_you_mean(name, CODES, "codes look like E0301")
        raise ValueFault("E0907", f"no error code {code}", help=mend)
    title, explanation, example = CODES[name]
    if json:
        found = {"code": name, "title": title, "explanation": explanation, "example": example}
        return output.write_record("why", None, **found)
    body = "\n".join(f"    {line}" for line in example.splitlines())
    output.write(f"{name}: {title}\n\n{explanation}\n\nExample:\n\n{body}\n")
