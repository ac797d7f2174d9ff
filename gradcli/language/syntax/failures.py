"""What the lexer, the parser and the builders of nodes raise: structured, and without a message.

``gradcli.language.diagnostics`` turns a failure into the error that a user reads, so that
parsing a text without a mistake loads no explanation.
"""

from __future__ import annotations

from typing import Any, Literal

from gradcli.language.syntax.source import Source

Kind = Literal[
    # the lexer
    "unknown_character", "foreign_operator", "caret_in_file", "python_keyword", "glued_number",
    "joined_to_nothing", "unclosed_bracket", "unmatched_bracket", "deep_brackets", "deep_blocks",
    "mixed_tabs", "unaligned_dedent",
    "unterminated_string", "bytes_literal", "unknown_escape",
    "comment_in_field", "lone_brace", "unclosed_field", "empty_field",
    "field_conversion", "bad_format",
    # the parser
    "unexpected_token", "too_many_statements", "deep_operators",
    # the builders of nodes
    "bad_target", "bad_number", "unknown_module", "duplicate_name", "default_order",
    "argument_order", "parameter_order", "class_bases", "class_member", "incomplete_class",
    "decorator", "special_name", "bare_generator", "bare_except",
]  # fmt: skip
"""The mistakes that syntax knows, by the stage that finds them."""


class SyntaxFailure(Exception):
    """A text that is not in the language.

    kind        the mistake
    source      the text
    start, end  the offsets of what is wrong
    details     further facts that the explanation of this kind takes, by name
    unclosed    a bracket before ``start`` that the text never closes, or None: it may explain
                what was found after it
    """

    def __init__(self, kind: Kind, source: Source, start: int, end: int, **details: Any) -> None:
        super().__init__(kind, start, end)
        self.kind = kind
        self.source = source
        self.start = start
        self.end = end
        self.details = details
        self.unclosed: SyntaxFailure | None = None
