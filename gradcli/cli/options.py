"""The options that several commands share, declared once, and how a command takes them.

A command that works on an expression is a function of a ``Job`` and of its own options only::

    @options.command(options.TEXT, options.VALUES, options.SHOWN, options.LIMITS)
    def jac(job, wrt: options.Wrt = None): ...

The groups come before and after its own options in ``--help``; their values are the Job's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from gradcli.cli import inputs
from gradcli.cli.job import Job
from gradcli.engine.grad_mode import unchanged
from gradcli.language.limits.sizes import OUTPUT_LIMIT
from gradcli.language.runtime.run import MAX_DEPTH, MAX_STEPS


def option(
    name: str, help: str, metavar: str | None = None, also: str | None = None, **more: Any
) -> Any:
    """An option of a command, as Typer declares it; ``also`` is another name for it."""
    return typer.Option(*filter(None, (name, also)), help=help, metavar=metavar, **more)


Pieces = Annotated[list[str] | None, option("-e", "A piece of the text; may be repeated.", "TEXT")]
Wrt = Annotated[str | None, option("--wrt", "Differentiate by these only: x or W,b.", "NAMES")]
DType = Annotated[str | None, option("--dtype", "float64 (default), float32 or float16.")]
Rng = Annotated[int | None, option("--rng", "Seed of the random numbers.", "SEED")]
Json = Annotated[bool, option("--json", "One JSON object on standard output.")]
Precision = Annotated[str | None, option("--precision", "Digits to show (default 7).", "N|full")]
Color = Annotated[str, option("--color", "auto, always or never.")]
Nan = Annotated[str, option("--nan", "At a NaN or inf: warn (default), allow or error.")]

Group = dict[str, tuple[Any, Any]]
"""Parameter names with their declaration and default."""


def entry(
    name: str, help: str, metavar: str | None = None, default: Any = None, kind: Any = str,
    **more: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """An option of a group: of the kind of its default, or of ``kind`` where it may be left out."""
    wanted = kind | None if default is None else type(default)
    return Annotated[wanted, option(name, help, metavar, **more)], default


def _limit(name: str, help: str, metavar: str, default: Any) -> tuple[Any, Any]:
    """A limit, which the environment sets as well: ``GRADCLI_MAX_STEPS``."""
    return entry(
        name, help, metavar, default, envvar="GRADCLI" + name[1:].replace("-", "_").upper()
    )


_EXPRESSION = typer.Argument(
    metavar="EXPRESSION", help="What to compute; `-` reads standard input."
)
TEXT: Group = {
    "expression": (Annotated[str | None, _EXPRESSION], None),
    "pieces": (Pieces, None),
    "file": entry("-f", "Read a program file.", "FILE", also="--file"),
    "of": entry("--of", "The result: this variable.", "NAME"),
}
VALUES: Group = {
    "given": entry("--set", "A variable whose name is an option's.", "NAME=VALUE", kind=list[str]),
    "vars": entry("--vars", "Variables from a JSON object.", "FILE.json"),
    "dtype": (DType, None),
    "rng": (Rng, None),
    "device": entry("--device", "cpu or cuda.", default="cpu"),
}
SHOWN: Group = {
    "json": (Json, False),
    "format": entry("--format", "text, json, csv or npy."),
    "precision": (Precision, None),
    "color": (Color, "auto"),
}
LIMITS: Group = {
    "max_steps": _limit("--max-steps", "Loop turns and calls allowed.", "N", MAX_STEPS),
    "max_depth": _limit("--max-depth", "Calls inside calls allowed, at most 900.", "N", MAX_DEPTH),
    "max_output": _limit("--max-output", "Characters that prints may write.", "N", OUTPUT_LIMIT),
    "max_mem": _limit("--max-mem", "Memory allowed: 512M, 2G.", "SIZE", inputs.DEFAULT_MEMORY),
    "timeout": _limit("--timeout", "Seconds allowed; 0: no limit.", "S", 60.0),
}


def command(
    *groups: Group, alone: str | None = None, fill: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function of a Job and its own options into what Typer takes.

    The first group stands before the function's own options, the others after. Where the function
    itself declares a parameter of a group, its declaration counts.

    ``alone`` names a flag of its own with which there is no expression, and no Job (None).
    ``fill`` is the value of a variable that has none, where there is one such.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        hints = get_type_hints(function, include_extras=True)
        own = list(inspect.signature(function).parameters.values())[1:]
        own_declared = {p.name: (hints[p.name], p.default) for p in own}
        declared: Group = {}
        for group in (groups[0], own_declared, *groups[1:]):
            for name, entry in group.items():
                declared.setdefault(name, own_declared.get(name, entry))

        def run(ctx: typer.Context, **asked: Any) -> Any:
            with unchanged():
                job = None
                if alone and asked[alone]:
                    ctx.obj.alone = f"{ctx.command_path} --{alone}"
                    for name, _ in ctx.obj.given:
                        raise ctx.obj.refused(name)
                else:
                    given = {**asked, "fill": fill}
                    job = ctx.obj.job(given) or Job(ctx.obj, given)
                return function(job, **{name: asked[name] for name in own_declared})

        run.__doc__ = function.__doc__
        return taking(declared)(run)

    return decorate


def taking(declared: Group) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a function of keywords the signature that Typer reads; a context is one of them where
    the command takes variables."""

    def decorate(run: Any) -> Callable[..., Any]:
        context = {"ctx": (typer.Context, inspect.Parameter.empty)}
        every = {**(context if "ctx" in inspect.signature(run).parameters else {}), **declared}
        run.__signature__ = inspect.Signature([
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default
            )
            for name, (kind, default) in every.items()
        ])  # fmt: skip
        run.__annotations__ = {name: kind for name, (kind, _) in every.items()}
        return run

    return decorate


EVERYTHING = (TEXT, VALUES, SHOWN, LIMITS)
