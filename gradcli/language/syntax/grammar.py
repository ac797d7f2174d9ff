"""The text of the grammar, and what identifies it.

The tables in ``tables.py`` belong to one text, which they name by its digest. Where the grammar
that is found differs (somebody edits it), ``parser.load_tables`` builds the tables anew; where none
can be read, the saved tables are used.
"""

from __future__ import annotations

from zlib import crc32

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


def digest(grammar: str) -> tuple[int, int]:
    """The CRC-32 of a grammar's text and its length in bytes."""
    data = grammar.encode()
    return crc32(data), len(data)
