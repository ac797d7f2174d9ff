"""A text as the REPL takes it: whether it is complete, prompts in it, its statements in turn."""

from __future__ import annotations

import functools
import re
from typing import Literal

from gradcli.language.diagnostics.parsing import parse
from gradcli.language.diagnostics.render import SyntaxFault
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault

_PROMPT = re.compile(r"\s*(?:>>>|In \[\d+\]:)(?: |$)", re.MULTILINE)
_MORE = re.compile(r"[ \t]*(?:\.\.\.:?|\.\.\.\.+:)(?: |$)")
_QUESTION = re.compile(
    r"\?\s*([^\n]*)|([A-Za-z_][\w.]*)\s*\?|help(?:\(\s*([A-Za-z_][\w.]*)?\s*\))?"
)
_JOINED = ("else", "elif", "except", "finally")
"""What goes on with the block before it, at the same indentation."""


def without_prompts(text: str) -> str:
    """A pasted session without its ``>>>``, ``...`` and ``In [3]:`` prompts and without what it
    printed; a text that begins with no prompt as it is.

    >>> without_prompts(">>> x = 2\\n>>> x\\n2")
    'x = 2\\nx'
    """
    if not _PROMPT.match(text):
        return text
    kept: list[str] = []
    inside = False
    for line in text.split("\n"):
        first = _PROMPT.match(line)
        more = _MORE.match(line) if inside else None
        if first or more:
            kept.append(line[(first or more).end() :])  # type: ignore[union-attr]
        inside = bool(first or more)  # else it is empty, or what a statement printed
    return "\n".join(kept)


def question(text: str) -> str | None:
    """The name that ``?name``, ``name?`` or ``help(name)`` asks about; None where a text asks
    nothing.

    >>> question("sin?"), question("? x.sum"), question("help(x)"), question("x = 1  # why?")
    ('sin', 'x.sum', 'x', None)
    """
    found = _QUESTION.fullmatch(text.strip())
    return None if found is None else found[1] or found[2] or found[3] or ""


INDENT = 4
_OPENERS = re.compile(r"(if|elif|else|for|while|try|except|with)\b")


def next_indent(line: str) -> int:
    """The columns that the editor indents the line after ``line`` by."""
    return _columns(line) + INDENT * line.rstrip().endswith(":")


def _columns(line: str) -> int:
    return len(line) - len(line.lstrip())


def reindented(before: list[str], line: str) -> str:
    """A line as it was typed behind the indentation that the editor gave it.

    Who types the spaces, too, means them from the margin; ``else`` and the like go to the ``if``.

    >>> reindented(["def f(x):"], "        return x"), reindented(["if a:", "    b"], "    else:")
    ('    return x', 'else:')
    """
    given = next_indent(before[-1])
    typed = _columns(line) - given
    text = line.lstrip()
    open_blocks: list[int] = []
    for one in filter(str.strip, before):
        columns = _columns(one)
        open_blocks = [c for c in open_blocks if c < columns] + [columns]
    fits = typed > open_blocks[-1] if before[-1].rstrip().endswith(":") else typed in open_blocks
    if typed > 0 and fits:
        return " " * typed + text
    if typed == 0 and (word := re.match(r"\w*", text)) and word[0] in _JOINED:
        for one in reversed(before):
            if one.strip() and _columns(one) <= given and _OPENERS.match(one.lstrip()):
                return " " * _columns(one) + text
    return line


def is_command(text: str) -> bool:
    """Whether a text is no statement, but a command or a question."""
    return text.lstrip()[:1] == ":" or question(text) is not None


def unfinished(text: str) -> Literal["", "line", "block", "bracket", "string"]:
    """What goes on after ``text``; empty where it is complete, and Enter runs it.

    An empty line ends a block, as at Python's own prompt, and an open bracket, which may be a slip.
    A text with a mistake in it is complete: the mistake is to be told.
    """
    last = text[text.rfind("\n") + 1 :]
    if text.endswith("\\") or last.lstrip().startswith("@"):  # a decorator
        return "line"
    if last.strip() and "\n" in text and (last[0] in " \t" or last.rstrip().endswith(":")):
        return "block"
    try:
        _parsed(text)
    except SyntaxFault as fault:
        if not fault.incomplete:
            return ""
        if fault.code == "E0119":
            return "string"
        return "bracket" if last.strip() else ""
    except Fault:
        return ""
    return ""


@functools.lru_cache(maxsize=1)
def _parsed(text: str) -> n.Module:
    """The tree of a line or block, which is asked for twice: is it complete, then what it says."""
    return parse(Source(text), compact=True)


def begins_anew(pending: str, line: str) -> bool:
    """Whether ``line`` is a statement after the block ``pending`` and no part of it.

    On a pipe no empty line has to end a block.
    """
    if not line.strip() or line[0] in " \t#)]}":
        return False
    word = re.match(r"\w*", line)
    if word is not None and word[0] in _JOINED:
        return False
    try:
        _parsed(pending)
    except Fault:
        return False
    return True


def units(source: Source, mode: str = "line") -> list[n.Module]:
    """The statements of a text, those on one line together; raises as ``parse`` does."""
    try:
        module = _parsed(source.text) if mode == "line" else parse(source, mode, True)
    except SyntaxFault as fault:
        fault.source = source
        raise
    found: list[list[n.Statement]] = []
    for statement in module.body:
        if found and source.text.find("\n", found[-1][-1].end, statement.start) < 0:
            found[-1].append(statement)
        else:
            found.append([statement])
    return [n.Module(tuple(body), body[0].start, body[-1].end) for body in found]
