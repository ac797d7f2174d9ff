"""What start-up loads: guarded by name, because time cannot be guarded in a test."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.families import family

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


def test_importing_gradcli_loads_nothing_and_its_first_name_numpy():
    assert not loaded("import gradcli") & (HEAVY | {"numpy", "gradcli.engine", "gradcli.cli"})
    modules = loaded("import gradcli; gradcli.tensor")
    assert {"numpy", "gradcli.engine"} <= modules
    assert not modules & (
        HEAVY | {"typer", "gradcli.language", "gradcli.transforms", "gradcli.cli"}
    )


@family("argv", [["--help"], ["--version"], []])
def test_what_needs_no_numbers_loads_no_numpy(argv):
    modules = loaded(f"from gradcli.cli.main import run; run({argv!r})")
    assert not modules & (HEAVY | {"numpy", "typer", "gradcli.engine"})


def test_the_first_name_brings_all_and_a_wrong_one_is_told():
    """By each way that Python asks a module for names."""
    shown = "print(sorted(dir(g)) == sorted(set(dir(g)) | set(g.__all__)), g.pi, g.nn.__name__)"
    for first in ("g.sin", "dir(g)", "from gradcli import *", "from gradcli import nn", "g.vmap"):
        done = subprocess.run(
            [sys.executable, "-c", f"import gradcli as g\n{first}\n{shown}\ng.tensro"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.stdout == "True 3.141592653589793 gradcli.nn\n", first
        assert "no attribute 'tensro'. Did you mean: 'tensor'?" in done.stderr


@pytest.mark.parametrize("given", [None, "20"])
def test_waiting_threads_sleep_soon_unless_the_user_says_when(given, monkeypatch):
    monkeypatch.delenv("OPENBLAS_THREAD_TIMEOUT", raising=False)
    if given is not None:
        monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", given)
    code = (
        "import os, sys\nfrom gradcli.cli.main import main\n"
        f"assert os.environ.get('OPENBLAS_THREAD_TIMEOUT') == {given!r}\n"
        "try:\n    main(['--version'])\nexcept SystemExit:\n    pass\n"
        "assert 'numpy' not in sys.modules\nprint(os.environ['OPENBLAS_THREAD_TIMEOUT'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == (given or "16")


@family(
    "argv, also",
    [
        (
            ["grad", "2*dot(x,x)", "--x", "0,1,2,3"],
            {
                "json",
                "csv",
                "gradcli.symbolic",
                "gradcli.batch",
                "gradcli.functions.scatter",
                "gradcli.engine.custom_function",
                "gradcli.engine.record.saved_tensor_hooks",
            },
        ),
        (["eval", "sin(x)", "--x", "1"], {"json", "gradcli.symbolic", "gradcli.transforms"}),
        (["run", "-e", "print(1)"], {"json", "gradcli.symbolic", "gradcli.transforms"}),
        (["minimize", "x*x", "--x", "1"], {"json", "gradcli.symbolic", "gradcli.transforms"}),
        (
            ["grad", "x*sni(x)", "--x", "1"],
            {"json", "gradcli.symbolic", "gradcli.language.diagnostics.codes"},
        ),
        (["ops"], {"gradcli.symbolic"}),
    ],
)
def test_a_command_loads_only_what_it_needs(argv, also):
    modules = loaded(f"from gradcli.cli.main import run; run({argv!r})")
    assert "typer" in modules
    assert not modules & (HEAVY | also)
