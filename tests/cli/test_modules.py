"""What start-up loads: guarded by name, because time cannot be guarded in a test."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    "lark", "rich", "scipy", "prompt_toolkit", "sympy", "matplotlib", "cupy", "pydantic", "torch",
    "jax", "dask", "hypothesis", "pytest",
}  # fmt: skip


def loaded(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after ``code``."""
    shown = "import sys; sys.stdout.write('\\n' + ' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{shown}"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("\n")[2].split())


def test_importing_gradcli_loads_numpy_and_nothing_heavy():
    modules = loaded("import gradcli")
    assert "numpy" in modules
    assert not modules & (
        HEAVY | {"typer", "gradcli.language", "gradcli.transforms", "gradcli.cli"}
    )


@pytest.mark.parametrize(
    ("argv", "also"),
    [
        (
            ["grad", "2*dot(x,x)", "--x", "0,1,2,3"],
            {"json", "csv", "gradcli.symbolic", "gradcli.batch"},
        ),
        (["eval", "sin(x)", "--x", "1"], {"json", "gradcli.symbolic", "gradcli.transforms"}),
        (["run", "-e", "print(1)"], {"json", "gradcli.symbolic", "gradcli.transforms"}),
        (["minimize", "x*x", "--x", "1"], {"json", "gradcli.symbolic", "gradcli.transforms"}),
        (["grad", "x*sni(x)", "--x", "1"], {"json", "gradcli.symbolic", "gradcli.language.codes"}),
        (["ops"], {"gradcli.symbolic"}),
    ],
)
def test_a_command_loads_only_what_it_needs(argv, also):
    modules = loaded(f"from gradcli.cli.main import run; run({argv!r})")
    assert "typer" in modules
    assert not modules & (HEAVY | also)
