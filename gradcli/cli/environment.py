"""``gradcli doctor --env``: what a bug report needs to say of the installation."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys

PACKAGES = (
    "numpy", "scipy", "lark", "typer", "rich", "prompt_toolkit", "matplotlib", "tensorboard",
    "distributed", "python-flint", "cupy-cuda12x", "torch",
)  # fmt: skip


def report() -> list[tuple[str, str]]:
    """Versions, the machine, the streams and the settings of the environment by name."""
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
