"""What ``:set`` changes, and the file that a session begins from.

``config.toml`` in the folder that ``typer.get_app_dir("gradcli")`` names holds the same settings
under the same names; the history stands beside it. Nothing here needs numbers: the prompt is there
before they are loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple


class WrongSetting(ValueError):
    """A setting that there is not, or a value that it does not take.

    ``word`` may be a slip of one of ``choices``; else ``help`` says what to write.
    """

    def __init__(
        self, message: str, help: str, word: str = "", choices: Iterable[str] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.help = help
        self.word = word
        self.choices = tuple(choices)


def app_dir() -> str:
    """``typer.get_app_dir("gradcli")``, without the time that importing Typer takes."""
    if sys.platform.startswith("win"):
        return os.path.join(os.environ.get("APPDATA") or os.path.expanduser("~"), "gradcli")
    if sys.platform == "darwin":
        return os.path.join(os.path.expanduser("~/Library/Application Support"), "gradcli")
    home = os.environ.get("XDG_CONFIG_HOME", os.path.expanduser("~/.config"))
    return os.path.join(home, "gradcli")


class Setting(NamedTuple):
    """One setting: what it is for, its default, and how its text is read and checked."""

    name: str
    default: Any
    doc: str
    read: Callable[[str, str], Any]
    choices: tuple[str, ...] = ()


def _wrong(name: str, text: str, wanted: str) -> WrongSetting:
    return WrongSetting(f"{name} {text}: {wanted}", f":set {name} {SETTINGS[name].default}")


def _choice(name: str, text: str) -> str:
    choices = SETTINGS[name].choices
    if text not in choices:
        said = f"{name} {text}: no such choice"
        raise WrongSetting(said, f"one of {', '.join(choices)}", text, choices)
    return text


def _digits(name: str, text: str) -> int | str:
    if text in ("full", "auto"):
        return text
    if text.isdecimal() and 1 <= int(text) <= 17:
        return int(text)
    raise _wrong(name, text, "1 to 17, full, or auto")


def _count(name: str, text: str) -> int:
    try:
        number = int(text.replace("_", "").replace(",", ""))
    except ValueError:
        number = 0
    if number < 1:
        raise _wrong(name, text, "a whole number above 0")
    return number


def _depth(name: str, text: str) -> int:
    number = _count(name, text)
    if number > 900:
        raise _wrong(name, text, "1 to 900")
    return number


def _seconds(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e9:
        raise _wrong(name, text, "seconds, 0 for no limit")
    return number


def _size(name: str, text: str) -> str:
    digits = text[:-1] if text[-1:].upper() in "KMGT" and text else text
    try:
        fine = 0 < float(digits) < float("inf")
    except ValueError:
        fine = False
    if not fine:
        raise _wrong(name, text, "a size such as 512M or 2G")
    return text


_ALL = (
    Setting("precision", "auto", "digits shown: 1 to 17, full, auto", _digits),
    Setting("dtype", "float64", "what numbers are", _choice, ("float64", "float32", "float16")),
    Setting("color", "auto", "auto, always or never", _choice, ("auto", "always", "never")),
    Setting("keys", "emacs", "emacs or vi", _choice, ("emacs", "vi")),
    Setting("history", 10_000, "lines of history kept", _count),
    Setting("max_steps", 10_000_000, "loop turns and calls of a statement", _count),
    Setting("max_depth", 500, "calls inside calls", _depth),
    Setting("max_output", 16 << 20, "characters that a statement may print", _count),
    Setting("max_mem", "2G", "memory of a statement", _size),
    Setting("timeout", 60.0, "seconds for a statement; 0: no limit", _seconds),
)
SETTINGS: dict[str, Setting] = {setting.name: setting for setting in _ALL}


class Settings:
    """The values of a session's settings.

    ``chosen`` are the names of those that somebody set: an ``import torch`` leaves a dtype that was
    asked for alone.
    """

    def __init__(self) -> None:
        self.values = {name: setting.default for name, setting in SETTINGS.items()}
        self.chosen: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def set(self, name: str, text: str) -> Any:
        """Change a setting by its text. Raises WrongSetting."""
        name = name.replace("-", "_")
        if name not in SETTINGS:
            raise unknown_setting(name)
        self.values[name] = value = SETTINGS[name].read(name, text)
        self.chosen.add(name)
        return value

    def load(self, path: str) -> list[str]:
        """Read a configuration file; gives what is wrong in it, a line each. No file is fine."""
        try:
            with open(path, "rb") as f:
                import tomllib  # few have such a file

                table: Mapping[str, Any] = tomllib.load(f)
        except FileNotFoundError:
            return []
        except OSError as problem:
            return [f"{path}: {problem.strerror}"]
        except (ValueError, RecursionError) as problem:
            return [f"{path}: {problem}"]
        wrong = []
        for name, value in table.items():
            try:
                if isinstance(value, bool | list | dict):
                    raise WrongSetting(f"{name}: a number or a text is wanted", "")
                self.set(name, str(value))
            except WrongSetting as fault:
                wrong.append(
                    f"{path}: {fault.message}" + (f" ({fault.help})" if fault.help else "")
                )
        return wrong


def unknown_setting(name: str) -> WrongSetting:
    """The error of a setting that there is not."""
    said = f"there is no setting {name}"
    return WrongSetting(said, f"one of {', '.join(SETTINGS)}", name, SETTINGS)
