"""The inside of strings: escapes, and the fields of f-strings."""

from __future__ import annotations

import re

from gradcli.language.syntax.failures import SyntaxFailure
from gradcli.language.syntax.source import Source

SIMPLE_ESCAPES = {
    "\n": "", "\\": "\\", "'": "'", '"': '"',
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
}  # fmt: skip
HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}
_HEX = frozenset("0123456789abcdefABCDEF")

WIDTH_LIMIT = 1000
"""The largest width or precision in a format: a width is how much output one number makes."""
_SPEC = re.compile(r"(?s:.?[<>=^])?[-+ ]?#?([0-9]{0,5})[,_]?(?:\.([0-9]{1,5}))?[bdeEfFgGosxX%]?")
"""A format: fill and alignment, sign, #, width, grouping, precision and kind, each for some."""


def unescape(source: Source, start: int, end: int) -> str:
    """The string that ``start:end`` of the source stands for; raises SyntaxFailure."""
    text, parts, pos = source.text, [], start
    while True:
        slash = text.find("\\", pos, end)
        if slash < 0:
            parts.append(text[pos:end])
            return "".join(parts)
        parts.append(text[pos:slash])
        char = text[slash + 1]
        pos = slash + 2
        if char in SIMPLE_ESCAPES:
            parts.append(SIMPLE_ESCAPES[char])
        elif char in HEX_ESCAPES:
            pos += HEX_ESCAPES[char]
            digits = text[slash + 2 : min(pos, end)]
            code = int(digits, 16) if digits and _HEX.issuperset(digits) else -1
            if len(digits) < HEX_ESCAPES[char] or not 0 <= code <= 0x10FFFF:
                raise SyntaxFailure("unknown_escape", source, slash, min(pos, end))
            parts.append(chr(code))
        elif char in "01234567":
            while pos < min(end, slash + 4) and text[pos] in "01234567":
                pos += 1
            parts.append(chr(int(text[slash + 1 : pos], 8)))
        else:  # Python keeps the backslash of most others, and warns; here they are refused
            raise SyntaxFailure("unknown_escape", source, slash, pos)


def field_end(
    source: Source, brace: int, close: int
) -> tuple[int, tuple[str, str | None, str], int]:
    """Splits the field of an f-string that opens at ``brace``, before ``close``.

    Returns where the expression stops; the format, the text to show for ``{x=}`` (else None) and
    the conversion (``r`` or ``s``, or an empty text); and the offset after the closing brace.
    """
    text = source.text
    depth, pos, quote = "", brace + 1, ""  # the brackets that are open, innermost last
    shown: str | None = None
    while pos < close:
        char = text[pos]
        if quote:
            if char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += char
        elif char in ")]}" and depth and (char != "}" or depth[-1] == "{"):
            depth = depth[:-1]
        elif (
            char == "}"
            or (char == ":" and not depth)
            or (char == "!" and text[pos + 1] != "=" and not depth)
        ):
            break
        elif char in "=!<>" and text[pos + 1] == "=":
            pos += 1
        elif char == "=" and not depth and text[pos - 1] not in "<>":
            after = pos + 1
            while after < close and text[after] in " \t\n":
                after += 1
            if after < close and text[after] in ":}!":
                stop, shown, pos = pos, text[brace + 1 : after], after
                continue
        pos += 1
    else:
        raise SyntaxFailure("unclosed_field", source, brace, brace + 1)
    if shown is None:
        stop = pos
    if not text[brace + 1 : stop].strip():
        raise SyntaxFailure("empty_field", source, brace, pos + 1)
    conversion = ""
    if text[pos] == "!":
        conversion = text[pos + 1]
        if conversion not in "rs" or text[pos + 2] not in ":}":
            raise SyntaxFailure("field_conversion", source, pos, pos + 2)
        pos += 2
    if text[pos] == "}":
        return stop, ("", shown, conversion), pos + 1
    end = text.find("}", pos, close)
    nested = text.find("{", pos, close)
    if 0 <= nested < end:
        raise SyntaxFailure("bad_format", source, nested, end + 1)
    if end < 0:
        raise SyntaxFailure("unclosed_field", source, brace, brace + 1)
    spec = text[pos + 1 : end]
    if not good_spec(spec):
        raise SyntaxFailure("bad_format", source, pos + 1, end)
    return stop, (spec, shown, conversion), end + 1


def good_spec(spec: str) -> bool:
    """Whether a format is one for numbers and plain text, of a bounded width.

    >>> good_spec(">8.3e"), good_spec("r"), good_spec("99999d")
    (True, False, False)
    """
    found = _SPEC.fullmatch(spec)
    if found is None or not spec.isprintable():
        return False
    return all(int(width or "0") <= WIDTH_LIMIT for width in found.groups())
