"""The walk-through of CONTRIBUTING.md, performed in a copy: one declaration and one row."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT.joinpath("CONTRIBUTING.md").read_text("utf-8")
DECLARATION, ROW = re.findall(r"```python\n(.*?)```", GUIDE, re.S)
COMMANDS = [
    shlex.split(line.removeprefix("gradcli "))
    for line in re.findall(r"```console\n(.*?)```", GUIDE, re.S)[0].splitlines()
]
WANTED = {
    "eval": ["3.082207"],
    "grad": ["3.082207", "0.9733285"],
    "hess": ["0.2721655", "0.05237828"],  # 0.5/(x**2 + 0.5)**1.5
    "jvp": ["0.9733285"],
    "diff": ["x", "checked at 3 points"],
    "explain": ["softabs(x, eps=0.5) = 3.082207", "dy/dx = x/y = 0.9733285"],
    "graph": ["softabs %0 eps=0.5"],
    "ops": ["softabs(x, eps=0.001)", "x/out", "A smooth abs(x)"],
    "run": ["tensor([1.2247, 2.1213])"],
}
"""Numbers and words that each command's output has to have."""
MORE = {"--latex": [r"\frac{", r"\sqrt{2 x^{2} + 1}"], "numpy": ["return np.sqrt("],
        "torch": ["return torch.sqrt("], "jax": ["return jnp.sqrt("]}  # fmt: skip


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and its operator tests, with the declaration and the row of the guide added."""
    root = tmp_path_factory.mktemp("copy")
    for name in ("gradcli", "grammars", "tests/ops", "tests/oracles", "tests/support"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("tests/__init__.py", "tests/conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    family = root / "gradcli/ops/arithmetic.py"
    text = family.read_text("utf-8")
    imports = "from gradcli.ops.kinds import "
    assert imports in text
    family.write_text(text.replace(imports, f"{imports}composite, ") + "\n" + DECLARATION, "utf-8")
    table = root / "tests/ops/table.py"
    text = table.read_text("utf-8")
    assert "ARITHMETIC = (\n" in text
    table.write_text(
        text.replace("ARITHMETIC = (\n", f"ARITHMETIC = (\n    {ROW.strip()},\n"), "utf-8"
    )
    return root


ALL = """
import contextlib, io, json, sys
from gradcli.cli.main import run

found = []
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(words)
    found.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(found))
"""
"""A program that runs commands one after another: what they say, and how they end."""


def run(copy: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=copy, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(copy)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_command_knows_the_new_operator(copy):
    found = json.loads(run(copy, "-c", ALL, json.dumps(COMMANDS)))
    for words, (code, out, err) in zip(COMMANDS, found, strict=True):
        assert code == 0, (words, err)
        for part in MORE[words[-1]] if words[-1] in MORE else WANTED[words[0]]:
            assert part in out, words


TESTED = """
import numpy as np
from tests.ops import test_operators

np.seterr(all="ignore")
test_operators.test_every_operator_has_a_row_and_every_row_an_operator()
for name, test in vars(test_operators).items():
    cases = [case for case in getattr(test, "cases", ()) if "softabs" in case]
    for case in cases:
        test.check(*case)
    if cases:
        print("PASSED", name)
"""
"""A program that runs the cases of the new operator alone."""


def test_the_table_tests_the_new_operator(copy):
    passed = re.findall(r"PASSED (\w+)", run(copy, "-c", TESTED))
    for test in (
        "test_three_orders_against_differences",
        "test_gradcheck_to_second_order",
        "test_forward_equals_reverse_and_reverse_over_forward",
        "test_dtypes_are_kept",
        "test_a_node_keeps_what_its_rules_name_and_is_freed_when_it_keeps_something",
    ):
        assert test in passed
