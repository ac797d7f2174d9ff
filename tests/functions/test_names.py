"""Names of PyTorch that are left out: what CONTRIBUTING.md says of them is so."""

from __future__ import annotations

import re
from pathlib import Path

import gradcli
from gradcli.cli.operator_table import entries

TEXT = Path(__file__).resolve().parents[2].joinpath("CONTRIBUTING.md").read_text("utf-8")


def there(name: str) -> bool:
    found = gradcli
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is not None or hasattr(gradcli.Tensor, name)


def test_what_is_said_to_be_left_out_is_not_there():
    part = TEXT.partition("## Names of PyTorch that are left out")[2].partition("And these")[0]
    rows = [line.split("|") for line in part.splitlines() if line.startswith("| `")]
    names = [n for _, names, why, _ in rows for n in re.findall(r"`([^`]+)`", names) if why.strip()]
    assert len(names) == 15
    listed = {n for e in entries(False) for n in (e.name, e.prefixed, *e.aliases)}
    for name in names:
        assert not there(name) and name not in listed, name
