"""The stub file that editors complete from says what the package has, no more and no less."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradcli
from tests import build_stubs

USE = """
import gradcli as torch
x = torch.tensor([1.0], requires_grad=True)
reveal_type(x.sin().sum(0, keepdim=True))
reveal_type(torch.add(x, 2.0, alpha=3))
reveal_type(2 * x + 1)
x.sinn()
"""


def stub():
    return ast.parse(build_stubs.FILE.read_text("utf-8"))


def test_the_file_is_what_the_script_writes():
    again = "run python -m tests.build_stubs"
    assert build_stubs.FILE.read_text("utf-8") == build_stubs.text(), again


def test_no_parameter_is_named_twice():
    """Python's own compiler refuses that, its parser does not."""
    compile(build_stubs.FILE.read_text("utf-8"), str(build_stubs.FILE), "exec")


def test_every_function_and_method_is_in_it_and_is_there():
    module = {n.name for n in stub().body if isinstance(n, ast.FunctionDef)}
    (tensor,) = (n for n in stub().body if isinstance(n, ast.ClassDef))
    methods = {n.name for n in tensor.body if isinstance(n, ast.FunctionDef)}
    methods |= {n.target.id for n in tensor.body if isinstance(n, ast.AnnAssign)}
    assert {"sin", "add", "where", "erf", "cummax", "tensor", "zeros", "einsum"} <= module
    assert {"sin", "add_", "backward", "masked_fill_", "T", "grad", "quantile"} <= methods
    assert all(callable(getattr(gradcli, name)) for name in module)
    assert all(hasattr(gradcli.Tensor, name) for name in methods)
    assert (Path(gradcli.__file__).parent / "py.typed").exists()


@pytest.mark.long
def test_a_type_checker_reads_it(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    (tmp_path / "use.py").write_text(USE, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", "use.py"], cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(Path(gradcli.__file__).parents[1])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.count('Revealed type is "gradcli.Tensor"') == 3
    assert 'has no attribute "sinn"; maybe "sin"' in done.stdout
    assert "Found 1 error in 1 file" in done.stdout
