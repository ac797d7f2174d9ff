"""The options that several commands share, declared once."""

from __future__ import annotations

from typing import Annotated

import typer

Expression = Annotated[
    str | None,
    typer.Argument(metavar="EXPRESSION", help="What to compute; `-` reads standard input."),
]
Pieces = Annotated[
    list[str] | None,
    typer.Option("-e", metavar="TEXT", help="A piece of the text; may be repeated."),
]
File = Annotated[
    str | None, typer.Option("-f", "--file", metavar="FILE", help="Read a program file.")
]
Of = Annotated[str | None, typer.Option("--of", metavar="NAME", help="The result: this variable.")]
Wrt = Annotated[
    str | None,
    typer.Option("--wrt", metavar="NAMES", help="Differentiate by these only: x or W,b."),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A variable whose name is an option's."),
]
Vars = Annotated[
    str | None, typer.Option("--vars", metavar="FILE.json", help="Variables from a JSON object.")
]
DType = Annotated[
    str | None, typer.Option("--dtype", help="float64 (default), float32 or float16.")
]
Rng = Annotated[
    int | None, typer.Option("--rng", metavar="SEED", help="Seed of the random numbers.")
]
Device = Annotated[str, typer.Option("--device", help="cpu or cuda.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Format = Annotated[str | None, typer.Option("--format", help="text, json, csv or npy.")]
Precision = Annotated[
    str | None, typer.Option("--precision", metavar="N|full", help="Digits to show (default 7).")
]
Color = Annotated[str, typer.Option("--color", help="auto, always or never.")]
MaxSteps = Annotated[
    int, typer.Option("--max-steps", metavar="N", help="Loop turns and calls allowed.")
]
MaxMem = Annotated[str, typer.Option("--max-mem", metavar="SIZE", help="Memory allowed: 512M, 2G.")]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="S", help="Seconds allowed; 0: no limit.")
]
Nan = Annotated[
    str, typer.Option("--nan", help="warn (default), allow or error, where a result is NaN.")
]
