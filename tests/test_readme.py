"""What the README shows is what the tool prints."""

from __future__ import annotations

import io
import pathlib
import shlex

from gradcli.cli.main import run
from gradcli.engine import dtypes
from tests.support.families import family
from tests.support.recorded import difference

ROOT = pathlib.Path(__file__).resolve().parents[1]


def shown():
    """Each ``$ gradcli ...`` of the README with the output printed below it."""
    lines = (ROOT / "README.md").read_text().splitlines()
    found = []
    for i, line in enumerate(lines):
        if line.startswith("    $ gradcli"):
            output = []
            for following in lines[i + 1 :]:
                text = following.strip() and not following.startswith("    ")
                if text or following.startswith("    $"):
                    break
                output.append(following[4:])
            found.append((line[6:], "\n".join(output).strip()))
    return found


def test_the_readme_shows_runs():
    assert len(shown()) >= 4


@family("command, output", shown())
def test_shown_output_is_printed(command, output, capsys):
    before = dtypes.get_default_dtype()
    run(shlex.split(command)[1:])
    dtypes.set_default_dtype(before)
    captured = capsys.readouterr()
    assert not difference((captured.out + captured.err).strip(), output)


def test_the_session_runs(capsys, monkeypatch, tmp_path):
    """The inputs after ``> `` show the lines below them, among others."""
    block = (ROOT / "README.md").read_text().partition("the same, live.")[2].partition("## ")[0]
    lines = [line[4:] for line in block.splitlines() if line.startswith("    ")]
    typed = "".join(f"{line[2:]}\n" for line in lines if line.startswith("> "))
    wanted = [line for line in lines if not line.startswith("> ")]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    before = dtypes.get_default_dtype()
    run(["repl", "--no-config"])
    dtypes.set_default_dtype(before)
    captured = capsys.readouterr()
    assert len(wanted) > 4
    for line in wanted:
        assert line in captured.out + captured.err, line
