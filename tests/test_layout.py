"""The folders: none grows into a drawer, and tests stand where the code stands."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.families import family

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "gradcli"
FOLDERS = sorted({path.parent for path in PACKAGE.rglob("*.py")})
MOST = 25
"""Modules of one folder, ``__init__`` not counted."""


@family("folder", FOLDERS)
def test_a_folder_is_small_enough_to_be_read(folder):
    modules = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= MOST, modules


@family("folder", FOLDERS)
def test_a_folder_says_what_it_is_for(folder):
    text = (folder / "__init__.py").read_text("utf-8")
    assert text.startswith('"""')


def test_tests_stand_where_the_code_stands():
    """A folder of tests is named after a folder of the package, or serves all of them."""
    shared = {"support", "oracles", "benchmarks", "behaviours", "attacks", "generators"}
    for folder in (ROOT / "tests").rglob("*/"):
        inside = folder.relative_to(ROOT / "tests")
        if "__pycache__" in inside.parts or shared & set(inside.parts):
            continue
        assert (PACKAGE / inside).is_dir(), f"tests/{inside} mirrors nothing"


def test_no_test_edits_the_path():
    edit = re.compile(r"sys\.path(\.|\[| *\+?= )")
    for path in (ROOT / "tests").rglob("*.py"):
        assert not edit.search(path.read_text("utf-8")), path
