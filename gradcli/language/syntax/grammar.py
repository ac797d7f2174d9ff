"""Where the grammar and its tables come from at run time.

The tables in ``tables.py`` belong to one grammar text, which they name by a digest. Where the
grammar that is found says something else (somebody edits it), the tables are built anew in memory;
where no grammar can be read, the saved ones are trusted.
"""

from __future__ import annotations

from typing import Any

GRAMMAR = "gradcli.lark"


def read_grammar() -> str | None:
    """The text of the grammar: from the checkout (``grammars/`` beside the package) or from the
    installed package (``gradcli/grammars/``); None where there is neither."""
    package = __file__.replace("\\", "/").rsplit("/", 3)[0]
    for folder in (package.rsplit("/", 1)[0] + "/grammars/", package + "/grammars/"):
        try:
            with open(folder + GRAMMAR, encoding="utf-8", newline="") as file:
                return file.read().replace("\r\n", "\n")
        except OSError:
            continue
    return None


def load_tables() -> dict[str, Any]:
    """The tables for the grammar at hand; Lark is loaded only where the saved ones are stale."""
    saved: dict[str, Any] | None
    try:
        from gradcli.language.syntax.tables import TABLES as saved
    except ImportError:
        saved = None
    text = read_grammar()
    if text is None:
        if saved is None:
            raise ImportError("gradcli is incomplete: neither tables.py nor grammars/gradcli.lark")
        return saved
    from zlib import crc32

    data = text.encode()
    if saved is not None and saved["digest"] == (crc32(data), len(data)):
        return saved
    from gradcli.language.syntax.build_tables import build

    return build(text)
