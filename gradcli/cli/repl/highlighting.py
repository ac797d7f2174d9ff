"""Colours for a line: the lexer's tokens, by what they are."""

from __future__ import annotations

import re
from collections.abc import Collection

from gradcli.language.names.table import CALLED, NAMES
from gradcli.language.syntax.parser import shared_parser
from gradcli.language.syntax.source import Source

LONGEST = 100_000
"""Characters up to which a text has colours: it is read anew with each key."""
_COMMENT = re.compile(r"#[^\n]*")


def highlighted(text: str, variables: Collection[str] = ()) -> list[tuple[str, str]]:
    """The pieces of a text with the names of their styles; together they are the text.

    What the lexer cannot read is left plain from there on.

    >>> highlighted("sin(2)")
    [('operator', 'sin'), ('', '('), ('number', '2'), ('', ')')]
    """
    if len(text) > LONGEST:
        return [("", text)]
    begin = 0
    pieces: list[tuple[str, str]] = []
    if (command := re.match(r"\s*:\w*|\s*\?", text)) is not None:
        begin = command.end()
        pieces.append(("command", text[:begin]))
    lexer = shared_parser().lexer
    kind = lexer.kind
    strings = (kind[k] for k in ("STRING", "FSTRING_START", "FSTRING_TEXT", "FSTRING_END"))
    words = (number for word, number in lexer.literals.items() if word.isalpha())
    styles = {**dict.fromkeys(words, "keyword"), **dict.fromkeys(strings, "string")}
    styles[kind["NUMBER"]] = "number"
    tokens = lexer.lex(Source(" " * begin + text[begin:]), "line")
    pos = begin
    for token, start, end in zip(tokens.kinds, tokens.starts, tokens.ends, strict=True):
        if end <= start or start < pos or token < 0:
            continue
        style, word = styles.get(token), text[start:end]
        if token == kind["NAME"] and (word in NAMES or word in CALLED) and word not in variables:
            style = "operator"
        if style is None:
            continue
        pieces += _plain(text[pos:start])
        pieces.append((style, word))
        pos = end
    return [*pieces, *_plain(text[pos:])]


def _plain(text: str) -> list[tuple[str, str]]:
    """A text between tokens: comments in it are all that has a colour."""
    found = []
    pos = 0
    for comment in _COMMENT.finditer(text):
        found += [("", text[pos : comment.start()]), ("comment", comment[0])]
        pos = comment.end()
    found.append(("", text[pos:]))
    return [piece for piece in found if piece[1]]
