"""``gradcli repl``: the language live, on a terminal and on a pipe."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gradcli.cli import options
from gradcli.cli.options import option
from gradcli.cli.repl.settings import Settings, WrongSetting
from gradcli.cli.repl.start import configured, start
from gradcli.language.diagnostics.render import closest
from gradcli.ops.errors import ValueFault

NoConfig = Annotated[bool, option("--no-config", "Neither read config.toml nor keep a history.")]
MaxSteps = Annotated[int | None, option("--max-steps", "Loop turns and calls allowed.", "N")]
MaxMem = Annotated[str | None, option("--max-mem", "Memory allowed.", "SIZE")]
Timeout = Annotated[float | None, option("--timeout", "Seconds for a statement; 0: any.", "S")]
Color = Annotated[str | None, option("--color", "auto, always or never.")]


def repl(
    ctx: typer.Context, dtype: options.DType = None, rng: options.Rng = None,
    precision: options.Precision = None, color: Color = None, no_config: NoConfig = False,
    max_steps: MaxSteps = None, max_mem: MaxMem = None, timeout: Timeout = None,
) -> int:  # fmt: skip
    """A line is a statement or an expression, and variables stay; :help shows the commands.

    Example: gradcli repl
    """
    settings, folder = configured(no_config)
    asked = {
        "dtype": dtype, "precision": precision, "color": color, "max_steps": max_steps,
        "max_mem": max_mem, "timeout": timeout,
    }  # fmt: skip
    for name, value in asked.items():
        if value is not None:
            _override(settings, name, value)
    return start(settings, folder, rng, ctx.obj.given)


def _override(settings: Settings, name: str, value: Any) -> None:
    """An option counts before the configuration file. Raises ValueFault (E0907)."""
    try:
        settings.set(name, str(value))
    except WrongSetting as wrong:
        near = closest(wrong.word, wrong.choices) if wrong.word else None
        help = f"did you mean {near}?" if near else wrong.help.removeprefix(":set ")
        raise ValueFault("E0907", f"--{wrong.message}", help=help) from None
