"""``gradcli doctor``: where the first NaN or infinity comes from, forward and backward."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from gradcli.cli import options, output, watchdog
from gradcli.cli.job import Job
from gradcli.cli.options import option
from gradcli.display.findings import record_of, text_of
from gradcli.display.values import show_rows

Env = Annotated[bool, option("--env", "Versions and settings instead, for a bug report.")]


@options.command(
    options.TEXT, options.VALUES, {k: options.SHOWN[k] for k in ("json", "color")}, options.LIMITS,
    alone="env",
)  # fmt: skip
def doctor(job: Job, env: Env = False, json: options.Json = False) -> None:
    """Example: gradcli doctor "sum(where(x > 0, x*log(x), 0))" --x 0,1,4"""
    if env:
        rows = report()
        if json:
            return output.write_record("doctor", env=dict(rows))
        return output.write(show_rows(rows) + "\n")
    found = job.examine()
    healthy = not any(f.reaches for f in found)
    watchdog.stop()
    if json:
        output.write_record("doctor", healthy=healthy, findings=[record_of(f) for f in found])
    elif found:
        output.write(text_of(found, output.colour(sys.stdout)) + "\n")
    else:
        output.write("healthy: no NaN and no infinity, neither forward nor backward\n")
    if not healthy:
        raise typer.Exit(1)


PACKAGES = (
    "numpy", "scipy", "lark", "typer", "rich", "prompt_toolkit", "matplotlib", "tensorboard",
    "distributed", "python-flint", "cupy-cuda12x", "torch",
)  # fmt: skip


def report() -> list[tuple[str, str]]:
    """Versions, the machine, the streams and the settings of the environment by name."""
    import importlib.metadata  # this and what follows is needed by --env alone
    import platform

    from gradcli import __version__
    from gradcli.cli.repl.settings import app_dir

    rows = [
        ("gradcli", __version__),
        ("python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("system", f"{platform.system()} {platform.release()} {platform.machine()}"),
        ("cores", str(os.cpu_count())),
    ]
    for name in PACKAGES:
        try:
            rows.append((name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            continue
    rows.append(("blas", _blas()))
    terminal = [n for n, s in (("stdin", sys.stdin), ("stdout", sys.stdout)) if s and s.isatty()]
    rows.append(("terminal", f"{' and '.join(terminal) or 'none'}, TERM={os.environ.get('TERM')}"))
    rows.append(("encoding", str(getattr(sys.stdout, "encoding", None))))
    config = os.path.join(app_dir(), "config.toml")
    rows.append(("config", f"{config}{'' if os.path.exists(config) else ' (none)'}"))
    for name, value in sorted(os.environ.items()):
        if name.startswith(("GRADCLI_", "OPENBLAS_", "OMP_NUM")) or name == "NO_COLOR":
            rows.append((name, value))
    return rows


def _blas() -> str:
    import numpy as np

    found = np.show_config(mode="dicts")
    blas = (found or {}).get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()
