"""Settings, completion and colours, without a terminal."""

import pytest
import typer

from gradcli.cli.repl.completion import completions
from gradcli.cli.repl.highlighting import highlighted
from gradcli.cli.repl.session import Session
from gradcli.cli.repl.settings import SETTINGS, Settings, WrongSetting, app_dir
from tests.support.families import family


@pytest.mark.parametrize("home", [None, "/somewhere"])
def test_the_folder_is_typers(monkeypatch, home):
    if home is None:
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CONFIG_HOME", home)
    assert app_dir() == typer.get_app_dir("gradcli")


@family("name, good, bad", [
    ("precision", ["1", "17", "full", "auto"], ["0", "18", "x", ""]),
    ("dtype", ["float32"], ["int32", "float"]), ("color", ["never"], ["yes"]),
    ("keys", ["vi", "emacs"], ["nano"]), ("max_steps", ["5", "1_000"], ["0", "-1", "1.5"]),
    ("max_depth", ["900"], ["901"]), ("max_mem", ["512M", "1e9"], ["much", "-1G", "infG", "nan"]),
    ("timeout", ["0", "1.5"], ["-1", "nan", "inf", "soon"]), ("history", ["10"], ["none"]),
    ("max_output", ["10"], ["0"]),
])  # fmt: skip
def test_settings_take_what_they_say(name, good, bad):
    settings = Settings()
    for text in good:
        settings.set(name, text)
    for text in bad:
        with pytest.raises(WrongSetting):
            settings.set(name, text)
    assert name in settings.chosen


def test_every_setting_was_tried():
    assert len(SETTINGS) == 10


def test_a_configuration_that_is_wrong_is_told_line_by_line(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('timeout = 5\nprecision = "x"\ncolour = "never"\n[keys]\na = 1\n')
    settings = Settings()
    wrong = settings.load(str(path))
    assert settings["timeout"] == 5 and len(wrong) == 3 and "colour" in wrong[1]
    path.write_text("timeout = = 5")
    assert len(settings.load(str(path))) == 1
    assert not settings.load(str(tmp_path / "none.toml"))


def test_completions_by_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("1")
    (tmp_path / "dir").mkdir()
    session = Session()
    list(session.feed("import torch\nmine = tensor([1.])\ndef helper(a, b=2):\n    return a\n"))

    def offered(before):
        return {c.text: c for c in completions(session, before)}

    assert offered("x = min")["mine"].said == "float64[1]" or offered("x = min")["mine"].said
    assert offered("help")["helper"].said == "helper(a, b)"
    assert {"sin", "sinh"} <= set(offered("2*si")) and offered("2*si")["sin"].said == "sin(x)"
    assert "while" in offered("whi") and offered("p")["pi"].said == "3.141593"
    assert {"grad", "grad_fn"} <= set(offered("mine.gr")) and not offered("nothing.x")
    assert "softplus" in offered("torch.nn.functional.softp") and "Linear" in offered("torch.nn.L")
    assert set(offered(":mi")) == {"minimize"} and "vi" in offered(":set keys v")
    assert set(offered("x = @d")) == set(offered(":load d")) == {"data.csv", "dir/"}
    assert offered("x = @d")["data.csv"].length == 1 and not offered("x = @no/where")
    assert "undo" in offered(":help un") and not offered("1 + ")


@family("text", [
    "x = sin(2) # c", "def f(a):\n    return f'{a:.3f}'  # f(", ":grad x^2", "?sin", "1 +* $ 'abc",
    '"""open\nstring', "", "\n\n", "é = 3", "x = 'a' \"b\"", "if True: pass",
])  # fmt: skip
def test_colours_change_no_text(text):
    pieces = highlighted(text)
    assert "".join(piece for _, piece in pieces) == text
    assert all(piece for _, piece in pieces)
