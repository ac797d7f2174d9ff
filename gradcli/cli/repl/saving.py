"""``:save``: the statements that worked, as a program that runs and gives the same values."""

from __future__ import annotations

import os
import re
import tempfile

from gradcli.cli.repl.session import LAST_BUT_ONE, Line, Session
from gradcli.engine.dtypes import float32, float64
from gradcli.language.diagnostics.parsing import explained
from gradcli.language.syntax import parser
from gradcli.language.syntax.formatter import formatted
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault, ValueFault

_RANDOM = re.compile(
    r"rand|normal|bernoulli|poisson|dropout|multinomial|nn\.|uniform|exponential_|init"
)


def program(session: Session) -> str:
    """The session as the text of a program file.

    ``^`` becomes ``**``; a value that a later line calls ``_`` or ``__`` gets a name. Where the
    default dtype is not what a program begins with, or changed on the way, it is set as it was.
    """
    texts = _named(session.lines)
    written = [_in_file(text, line.mode) for text, line in zip(texts, session.lines, strict=True)]
    uses_torch = session.program is not None and session.program.names.uses_torch
    lines = _with_dtypes(written, session.lines, uses_torch)
    sets = lines != written
    if sets and not uses_torch:
        lines = _with_dtypes(written, session.lines, True)
    imported = any(re.search(r"^import torch$", text, re.MULTILINE) for text in written)
    head = ["import torch\n"] if sets and written[:1] != ["import torch\n"] else []
    if isinstance(session.seed, int) and any(_RANDOM.search(text) for text in written):
        # The seed is torch's where that is imported.
        prefix = "torch." if head or imported else ""
        first = written[:1] == ["import torch\n"]
        lines.insert(first, f"{prefix}manual_seed({session.seed})\n")
    return "".join([*head, *lines])


def _with_dtypes(written: list[str], lines: list[Line], uses_torch: bool) -> list[str]:
    """The texts, with the default dtype set wherever a program's would be another."""
    current = float32 if uses_torch else float64  # with which a program begins
    texts = []
    for i, (text, line) in enumerate(zip(written, lines, strict=True)):
        if line.dtype is not current and not text.startswith("import "):
            current = line.dtype
            texts.append(f"torch.set_default_dtype(torch.{current.name})\n")
        texts.append(text)
        if "set_default_dtype(" in text and i + 1 < len(lines):
            current = lines[i + 1].dtype
    return texts


def _in_file(text: str, mode: str) -> str:
    if mode == "file":
        return text if text.endswith("\n") else f"{text}\n"
    with explained():
        return formatted(text, "line")


def _named(lines: list[Line]) -> list[str]:
    """The texts, with names for the values that are read as the last ones."""
    texts = [line.text for line in lines]
    made: list[int] = []  # lines with a value, so far
    names: dict[int, str] = {}
    taken = set(re.findall(r"[A-Za-z]\w*", "\n".join(texts)))
    for i, line in enumerate(lines):
        for word, back in ((LAST_BUT_ONE, 2), ("_", 1)):
            places = _places(texts[i], line.mode, word) if word in texts[i] else []
            if not places or len(made) < back:
                continue
            source = made[-back]
            if source not in names:
                names[source] = next(f"out{k}" for k in range(1, 10**6) if f"out{k}" not in taken)
                taken.add(names[source])
            for start, end in reversed(places):
                texts[i] = texts[i][:start] + names[source] + texts[i][end:]
        if line.shown:
            made.append(i)
    for i, name in names.items():
        start = parser.parse(Source(texts[i]), lines[i].mode).body[-1].start
        texts[i] = f"{texts[i][:start]}{name} = {texts[i][start:]}"
    return texts


def _places(text: str, mode: str, word: str) -> list[tuple[int, int]]:
    """Where ``word`` stands as a name; nowhere in a line that assigns it."""
    lexer = parser.shared_parser().lexer
    tokens = lexer.lex(Source(text), mode)
    name = lexer.kind["NAME"]
    found = [
        (start, end)
        for kind, start, end in zip(tokens.kinds, tokens.starts, tokens.ends, strict=True)
        if kind == name and text[start:end] == word
    ]
    return [] if any(re.match(r"\s*(=(?!=)|in\b|,)", text[end:]) for _, end in found) else found


def save(session: Session, path: str) -> int:
    """Write the session's program; gives its number of statements. Raises ValueFault (E0904)."""
    try:
        written = program(session)
    except Fault as fault:
        raise ValueFault("E0904", f"cannot write the session: {fault.message}") from None
    try:
        target = os.path.realpath(path)  # a link stays one
        folder = os.path.dirname(target)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=folder, prefix=".gradcli-", delete=False
        ) as f:
            f.write(written)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(f.name, 0o666 & ~mask)
        os.replace(f.name, target)
    except OSError as problem:
        raise ValueFault("E0904", f"cannot write {path}: {problem.strerror}") from None
    return len(session.lines)
