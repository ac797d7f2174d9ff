"""``plot``: the value and the derivative over a range, as text, data or a picture."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import math

import pytest


def table(cli, *words):
    done = cli("plot", *words, "--format", "csv")
    assert done.code == 0, done.err
    header, *rows = csv.reader(io.StringIO(done.out))
    return header, [[float(cell) for cell in row] for row in rows]


def test_sine_and_its_gradient(cli):
    header, rows = table(cli, "sin(x)", "--x", "0:10:0.1")
    assert header == ["x", "value", "d/dx"] and len(rows) == 100
    for x, value, slope in rows:
        assert value == pytest.approx(math.sin(x), abs=1e-12)
        assert slope == pytest.approx(math.cos(x), abs=1e-12)


def test_the_text_has_a_panel_for_each(cli):
    done = cli("plot", "sin(x)", "--x", "0:10:0.1", "--ascii")
    first, second = done.out.split("\n\n")
    assert first.startswith("sin(x)\n") and second.startswith("d/dx\n")
    assert first.count("*") > 64 and done.out.isascii()
    done = cli("plot", "sin(x)", "--x", "0:10:0.1")
    assert any(0x2800 < ord(c) < 0x2900 for c in done.out)


def test_each_point_takes_its_own_branch(cli):
    text = "y = x\nwhile y < 4: y = y*2\ny if x > 1 else -y"
    _, rows = table(cli, text, "--x", "0.5,1.5,3,5")
    assert [row[1:] for row in rows] == [[-4, -8], [6, 4], [6, 2], [5, 1]]


def test_which_variable(cli):
    _, rows = table(cli, "sum(a)*t", "--a", "1,2", "--t", "0:3", "--over", "t")
    assert [row[1] for row in rows] == [0, 3, 6]
    done = cli("plot", "a*x", "--a", "1", "--x", "2")
    assert done.code == 2 and "give a range: --x 0:10:0.1" in done.err
    assert cli("plot", "a*x", "--a", "1", "--x", "0:3", "--over", "a").code == 2
    assert cli("plot", "x*1.0", "--x", "int:1,2").code == 2


def test_a_result_with_entries_is_refused(cli):
    done = cli("plot", "x*a", "--x", "0:3", "--a", "1,2", "--over", "x")
    assert done.code == 1 and "error[E0403]" in done.err and "shape (2,)" in done.err


@pytest.mark.parametrize("x", ["inf", "nan", "1,inf,3"])
def test_an_axis_is_finite(cli, x):
    done = cli("plot", "x", "--x", x)
    assert done.code == 2 and "E0910" in done.err and "warning" not in done.err


def test_no_value_at_all_is_an_error(cli):
    done = cli("plot", "sqrt(-1 - x**2)", "--x", "0:1:0.1")
    assert done.code == 1 and "E0501" in done.err and "each of the 10 points" in done.err
    assert cli("plot", "sqrt(x)", "--x", "-1:1:0.1").code == 0


def test_json(cli):
    record = json.loads(cli("plot", "1/x", "--x=-1,0,1", "--json").out)
    assert record["points"]["x"]["data"] == [-1, 0, 1]
    assert record["value"]["data"] == [-1, "Infinity", 1]
    assert record["grads"]["x"]["data"] == [-1, "-Infinity", -1]


def test_a_picture(cli, tmp_path):
    path = tmp_path / "sin.svg"
    done = cli("plot", "sin(x)", "--x", "0:10:0.1", "--out", str(path))
    if importlib.util.find_spec("matplotlib") is None:
        assert done.code == 1 and "pip install gradcli[plot] (.png, .svg, " in done.err
    else:
        assert done.code == 0 and "<svg" in path.read_text()
        assert cli("plot", "x", "--x", "0:3", "--out", str(tmp_path / "p.doc")).code == 2


def test_a_graph_for_tensorboard(cli, tmp_path):
    done = cli("graph", "2*dot(x,x)", "--x", "0,1,2", "--tensorboard", str(tmp_path / "runs"))
    if importlib.util.find_spec("tensorboard") is None:
        assert done.code == 1 and "pip install gradcli[tensorboard]" in done.err
    else:
        assert done.code == 0 and "3 nodes written" in done.err
        assert list((tmp_path / "runs").iterdir())


def test_a_range_is_picked(cli):
    out = cli("plot", "log(x)", "--json").json
    assert min(out["points"]["x"]["data"]) > 0 and max(out["points"]["x"]["data"]) == 5
    out = cli("plot", "a*x^2", "--a", "2", "--json").json["points"]["x"]["data"]
    assert (out[0], out[-1]) == (-5, 5)
    out = cli("plot", "x^2", "--x", "3", "--json").json["points"]["x"]["data"]
    assert (out[0], out[-1]) == (-2, 8)
    out = cli("plot", "a*x", "--a", "1", "--x", "2", "--over", "x", "--json").json
    assert out["points"]["x"]["data"][0] == -3
    assert cli("plot", "x*y").code == 2
