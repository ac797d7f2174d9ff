"""Parsing for a user: the failures of ``syntax`` become errors with a message, a help and marks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from gradcli.language.syntax import parser
from gradcli.language.syntax.failures import SyntaxFailure
from gradcli.language.syntax.nodes import Module
from gradcli.language.syntax.source import Source


def parse(source: Source | str, mode: str = "line", compact: bool = False) -> Module:
    """The tree of a program or of one line, as ``parser.parse`` gives it.

    Raises ``SyntaxFault`` (E01xx) where the text is not in the language and ``LimitFault`` (E0603,
    E0604) where it is too long or nests too deep.
    """
    with explained():
        return parser.parse(source, mode, compact)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Where a ``SyntaxFailure`` of the block is raised as the Fault that explains it."""
    try:
        yield
    except SyntaxFailure as failure:
        # The explanations are long: only a text with a mistake loads them.
        from gradcli.language.diagnostics.explain import explain

        raise explain(failure) from None
