"""``gradcli example``: the programs and data files that come with the tool."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcli.cli import inputs, output
from gradcli.cli.examples import listed
from gradcli.cli.options import option
from gradcli.display.values import show_rows
from gradcli.language.diagnostics.render import did_you_mean
from gradcli.ops.errors import ValueFault


def example(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One of them.")] = None,
    run: Annotated[bool, option("--run", "Run it instead of printing it.")] = False,
) -> int:
    """Example: gradcli example newton --run"""
    files = listed()
    if name is None:
        output.write(show_rows([(known, _about(path)) for known, path in files.items()]) + "\n")
        return 0
    found = files.get(name) or files.get(f"{name}.grad")
    if found is None:
        names = [*files, *(file.removesuffix(".grad") for file in files)]
        help = did_you_mean(name, names, "all of them: gradcli example")
        raise ValueFault("E0907", f"no example {name}", help=help)
    if not run:
        output.write(inputs.read_text(found))
        return 0
    if not found.endswith(".grad"):
        raise ValueFault("E0907", f"{name} holds data", help=f"gradcli example {name} prints it")
    from gradcli.cli.main import run as command

    return command(["run", found])


def _about(path: str) -> str:
    """The first comment of a program."""
    if not path.endswith(".grad"):
        return ""
    lines = inputs.read_text(path).splitlines()
    return next((line[2:] for line in lines if line.startswith("# ")), "")
