"""Errors in the words of the REPL: ``:set timeout 120`` where a command says ``--timeout``."""

from __future__ import annotations

import re
from collections.abc import Callable

from gradcli.ops.errors import Fault

_NO_VALUE = re.compile(r"add --(\w+) VALUE, or stay symbolic with gradcli diff")
_LIMITS = re.compile(
    r"--(max-steps|max-depth|max-output|max-mem|timeout|dtype|precision)(?: (\S*[^\s;,.)]))?"
)
_COMMANDS = re.compile(
    r"\bgradcli (diff|jac|hess|ops|why|grad|doctor|check|plot|graph|explain|minimize|eval|jvp|vjp"
    r"|hvp|help)\b"
)


def _setting(found: re.Match[str]) -> str:
    value = found[2]
    return f":set {found[1].replace('-', '_')}" + (f" {value}" if value else "")


_WORDS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (_NO_VALUE, r"set it first, \1 = 2.5, or stay symbolic with :diff"),
    (
        re.compile(r"give data by a flag, --x @file.csv, and print results"),
        "x = @file.csv reads one, and :save writes the session",
    ),
    (re.compile(r"give the value by a flag: --x VALUE"), "assign it: x = 2.5"),
    (re.compile(r"--([A-Za-z]) (@\S+[^\s;,.)])"), r"\1 = \2"),
    (re.compile(r"for example --(\w+) (\S+)"), r"for example \1 = \2"),
    (re.compile(r"load numbers from a data file \(--x @file.csv\)"), "begin with :load FILE"),
    (re.compile(r", or --cotangent (\S+) \(vector-Jacobian product\)"), ", or :vjp"),
    (
        re.compile(r", or give --cotangent \(vector-Jacobian product\)"),
        ", or :vjp --cotangent VALUE",
    ),
    (_LIMITS, _setting),
    (_COMMANDS, r":\1"),
)


def in_session(fault: Fault) -> Fault:
    """The fault, its help and notes in the words of the REPL."""
    if fault.help:
        fault.help = translated(fault.help)
    fault.notes = tuple(translated(note) for note in fault.notes)
    return fault


def translated(text: str) -> str:
    """A text that speaks of options and commands, in the words of the REPL.

    >>> translated("--max-steps N raises the limit")
    ':set max_steps N raises the limit'
    >>> translated("sum(...) it, or use gradcli jac")
    'sum(...) it, or use :jac'
    """
    for pattern, instead in _WORDS:
        text = pattern.sub(instead, text)
    return text
