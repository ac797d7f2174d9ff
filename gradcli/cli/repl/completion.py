"""What can stand at a place of a line: names, attributes after a dot, commands, files."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gradcli.cli.repl import commands
from gradcli.cli.repl.describing import kind, signature
from gradcli.cli.repl.session import LAST_BUT_ONE, Session
from gradcli.cli.repl.settings import SETTINGS
from gradcli.engine import Tensor
from gradcli.engine.graph.node import Node
from gradcli.language.names.attributes import CALL, READ, attributes_of
from gradcli.language.names.table import CALLED, CONSTANTS, NAMES, namespace
from gradcli.language.syntax.parser import shared_parser

MOST = 400
"""Names offered at once."""
_DOTTED = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*)\.(\w*)$")
_WORD = re.compile(r"[A-Za-z_]\w*$")
_FILE = re.compile(r"(?:^|[\s=])@(\S*)$")
_COMMAND = re.compile(r"\s*:(\w*)$")
_GIVEN = re.compile(r"\s*:(\w+)\s+(.*)$", re.DOTALL)


class Completion(NamedTuple):
    """A text for the last ``length`` characters before the cursor, and what it is."""

    text: str
    length: int
    said: str


def completions(session: Session, before: str) -> list[Completion]:
    """What may follow ``before``, the text up to the cursor."""
    line = before.rpartition("\n")[2]
    if (found := _COMMAND.match(line)) is not None:
        return _commands(found[1])
    if (found := _FILE.search(line)) is not None:
        return list(_files(found[1]))
    given = _GIVEN.match(line)
    if given is not None and (special := _of_command(session, given[1], given[2])) is not None:
        return special
    if (found := _DOTTED.search(line)) is not None:
        return list(_attributes(session, found[1], found[2]))
    found = _WORD.search(line)
    return list(_names(session, found[0])) if found is not None else []


def _of_command(session: Session, command: str, rest: str) -> list[Completion] | None:
    """What a command is given, where that is no expression."""
    name, _, value = rest.partition(" ")
    if command == "set":
        if value or rest.endswith(" "):
            word = value.strip()
            choices = SETTINGS[name].choices if name in SETTINGS else ()
            return [Completion(c, len(word), "") for c in choices if c.startswith(word)]
        return [
            Completion(setting, len(name), SETTINGS[setting].doc)
            for setting in SETTINGS if setting.startswith(name)
        ]  # fmt: skip
    if command in ("load", "save"):
        return list(_files(rest.rpartition(" ")[2]))
    if command == "help" and not value:
        return [*_commands(name), *_names(session, name)]
    return None


def _commands(word: str) -> list[Completion]:
    known = [name for name in commands.names() if name.startswith(word)]
    return [Completion(name, len(word), commands.ALL[name].doc) for name in known]


def _files(path: str) -> Iterable[Completion]:
    folder, name = os.path.split(path)
    try:
        with os.scandir(os.path.expanduser(folder) or ".") as entries:
            found = sorted((e.name, e.is_dir()) for e in entries)
    except OSError:
        return
    for entry, is_folder in found:
        if entry.startswith(name) and (name or not entry.startswith(".")) and entry.isprintable():
            yield Completion(entry + "/" * is_folder, len(name), "folder" if is_folder else "")


def _attributes(session: Session, holder: str, word: str) -> Iterable[Completion]:
    first, *rest = holder.split(".")
    modules = session.program.names.modules if session.program is not None else {}
    if first in modules and first not in session.variables:
        table = namespace(".".join([modules[first], *rest]))
        for name in sorted(table or ()):
            if name.startswith(word):
                yield Completion(name, len(word), _said(name, (table or {})[name]))
        return
    value = session.variables.get(first)
    for step in rest:
        if not isinstance(value, Tensor) or step not in READ[Tensor]:
            return
        with warnings.catch_warnings():  # of a gradient that no tensor has
            warnings.simplefilter("ignore")
            value = getattr(value, step)
    if value is None:
        return
    family = Tensor if isinstance(value, Tensor) else type(value)
    if isinstance(value, Node) and family not in CALL:
        family = Node
    for name in sorted(set(attributes_of(family))):
        if name.startswith(word) and (word.startswith("_") or not name.startswith("_")):
            method = CALL.get(family, {}).get(name)
            yield Completion(name, len(word), "" if method is None else _said(name, method))


def _names(session: Session, word: str) -> Iterable[Completion]:
    seen = set()
    for name, value in session.variables.items():
        if name.startswith(word) and name not in ("_", LAST_BUT_ONE):
            seen.add(name)
            function = callable(value) and not isinstance(value, Tensor)
            said = signature(name, value) if function else ""
            yield Completion(name, len(word), said or kind(value))
    tables: tuple[Mapping[str, Any], ...] = (NAMES, CALLED)
    known = sorted({k for table in tables for k in table if k.startswith(word)} - seen)
    for name in known[:MOST]:
        found = NAMES.get(name, CALLED.get(name))
        yield Completion(name, len(word), _said(name, found))
    for keyword in sorted(shared_parser().lexer.literals):
        if keyword.isalpha() and keyword.startswith(word) and keyword not in seen:
            yield Completion(keyword, len(word), "")


def _said(name: str, value: Any) -> str:
    if name in CONSTANTS:
        return f"{CONSTANTS[name]:.7g}"
    return signature(name, value) if callable(value) else ""
