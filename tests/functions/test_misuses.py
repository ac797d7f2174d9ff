"""A wrong call raises what PyTorch raises for it, and says something of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent)]

from misuses import MISUSES, raised  # noqa: E402

import gradcli  # noqa: E402

RECORD = json.loads((Path(__file__).parents[1] / "oracles" / "misuses.json").read_text("utf-8"))


def test_the_recording_is_of_these_lines():
    assert RECORD["made_with"]["torch"] == "2.13.0"
    assert list(RECORD["cases"]) == MISUSES
    assert len(MISUSES) > 500


@pytest.mark.filterwarnings("ignore")
def test_each_raises_what_pytorch_raises():
    differ = [
        f"{line}: PyTorch {want}, here {got}"
        for line, want in RECORD["cases"].items()
        if (got := raised(gradcli, line)) != want
    ]
    assert not differ, "\n".join(differ)
