"""Curves as text: where the dots are, what is cut, what is said beside the axes."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.display.plot import bounds, save_curves, show_curves


def canvas(text):
    """The rows between the axes."""
    return [line.partition("|")[2] for line in text.split("\n")[1:-2]]


def test_a_rising_line_fills_the_diagonal():
    x = np.linspace(0, 1, 50)
    rows = canvas(show_curves(x, [("x", x)], width=10, height=10, ascii=True))
    assert [row.find("*") for row in rows] == list(range(9, -1, -1))


def test_neighbours_are_joined_and_gaps_stay_open():
    steps = canvas(show_curves([0, 1, 2, 3], [("f", [0, 0, 9, 9])], width=4, height=10, ascii=True))
    assert all("*" in row for row in steps)
    values = [0, 0, np.nan, 9, np.inf]
    gap = canvas(show_curves(range(5), [("f", values)], width=5, height=10, ascii=True))
    assert [row for row in gap if row.strip()] == ["   *", "**"]


def test_braille_holds_eight_dots():
    text = show_curves([0, 1], [("f", [0, 1])], width=1, height=1)
    (row,) = text.split("\n")[1:-2]
    assert row[-1] in map(chr, range(0x2801, 0x2900))
    assert text.split("\n")[0] == "f"


def test_labels():
    lines = show_curves([-1, 0, 3], [("f", [-2.5, 0, 1000])], width=20, height=5).split("\n")
    assert lines[1].split()[0] == "1000" and lines[5].split()[0] == "-2.5"
    assert lines[-1].split() == ["-1", "3"]
    assert len({line.find("│") for line in lines[2:5]}) == 1


def test_a_pole_does_not_flatten_the_rest():
    x = np.linspace(-1, 1, 400)
    low, high, cut = bounds(1 / x)
    assert cut and high < 100 and low > -100
    assert bounds(np.sin(x))[2] is False
    assert bounds(np.array([np.nan, np.inf])) == (0.0, 1.0, False)
    low, high, _ = bounds(np.full(5, 3.0))
    assert low < 3 < high
    assert "(cut at a pole)" in show_curves(x, [("1/x", 1 / x)]).split("\n")[0]


def test_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    x = np.arange(0, 10, 0.1)
    for ending in ("png", "svg"):
        path = tmp_path / f"p.{ending}"
        save_curves(str(path), "x", x, [("sin(x) $", np.sin(x)), ("d/dx", np.cos(x))])
        assert path.stat().st_size > 1000
    with pytest.raises(ValueError):
        save_curves(str(tmp_path / "p.doc"), "x", x, [("f", x)])
