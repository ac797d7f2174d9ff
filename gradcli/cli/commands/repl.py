"""``gradcli repl``: the language live, on a terminal and on a pipe."""

from __future__ import annotations

from typing import Any

import typer

from gradcli.cli import options
from gradcli.cli.options import entry
from gradcli.cli.repl.settings import Settings, WrongSetting
from gradcli.cli.repl.start import configured, start
from gradcli.language.diagnostics.render import closest
from gradcli.ops.errors import ValueFault

OPTIONS: options.Group = {
    "dtype": (options.DType, None),
    "rng": (options.Rng, None),
    "precision": (options.Precision, None),
    "color": entry("--color", "auto, always or never."),
    "no_config": entry(
        "--no-config", "Neither read config.toml nor keep a history.", default=False
    ),
    "max_steps": entry("--max-steps", "Loop turns and calls allowed.", "N", kind=int),
    "max_mem": entry("--max-mem", "Memory allowed.", "SIZE"),
    "timeout": entry("--timeout", "Seconds for a statement; 0: any.", "S", kind=float),
}
"""Those that are not set leave a setting as the configuration file has it."""


@options.taking(OPTIONS)
def repl(ctx: typer.Context, no_config: bool, rng: int | None, **asked: Any) -> int:
    """A line is a statement or an expression, and variables stay; :help shows the commands.

    Example: gradcli repl
    """
    settings, folder = configured(no_config)
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
