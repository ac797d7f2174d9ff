"""The methods of strings, and the two older ways to format: ``"{}".format(x)`` and ``"%d" % x``.

Fields of ``format`` are names and numbers only: no attribute and no item of a value is looked up,
and widths are bounded as in f-strings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gradcli.language.limits.sizes import as_list, check_length, take_steps
from gradcli.language.names.showing import field
from gradcli.language.syntax.strings import WIDTH_LIMIT, good_spec
from gradcli.language.type_names import a_value
from gradcli.ops.errors import IndexFault, KeyFault, TypeFault, bad_argument, bad_type

_FIELD = re.compile(r"\{\{|\}\}|\{([^{}!:]*)(?:!([a-z]))?(?::([^{}]*))?\}|[{}]")
_PERCENT = re.compile(r"%(?:%|([-+ 0#]*)(\d*)(?:\.(\d+))?([a-zA-Z])|)")


def formatted(text: str, /, *args: Any, **named: Any) -> str:
    """``text.format(*args, **named)``, of plain fields.

    Raises ValueFault (E0304) for a field that is none, IndexFault and KeyFault for one without a
    value.
    """
    count = 0
    pieces: list[str] = []
    size = 0
    last = 0
    for found in _FIELD.finditer(text):
        pieces.append(text[last : found.start()])
        last = found.end()
        whole, name = found[0], found[1]
        if whole in ("{{", "}}"):
            pieces.append(whole[0])
        elif name is None:
            raise bad_argument(f"`{whole}` stands alone in a format", help="write {{ or }}")
        else:
            if not name:
                name = str(count)
                count += 1
            value = _value(name, args, named)
            spec = found[3] or ""
            if not good_spec(spec) or found[2] not in (None, "r", "s"):
                said = f"the format `{whole[:40]}` is not one for numbers and plain text"
                mend = f"formats look like .4f, >8 or d, with a width of at most {WIDTH_LIMIT}"
                raise bad_argument(said, help=mend)
            pieces.append(field(value, spec, found[2] or ""))
        size += len(pieces[-1]) + len(pieces[-2])
        check_length(size, "string")
    pieces.append(text[last:])
    check_length(size + len(pieces[-1]), "string")
    return "".join(pieces)


def _value(name: str, args: tuple, named: dict[str, Any]) -> Any:
    if name.isascii() and name.isdigit():
        if len(name) > 4 or int(name) >= len(args):
            raise IndexFault(
                "E0304", f"the format has no value for field {name[:8]}",
                help="give a value for each pair of braces",
                torch=f"Replacement index {name} out of range for positional args tuple",
            )  # fmt: skip
        return args[int(name)]
    if not name.isidentifier():
        said = f"a field of a format is a name or a number, got `{name[:40]}`"
        mend = 'write f"{x.shape}", or give the value a name: "{s}".format(s=x.shape)'
        raise bad_argument(said, help=mend)
    if name not in named:
        raise KeyFault("E0304", f"the format has no value for field {name}", torch=repr(name))
    return named[name]


def percent(text: str, values: Any) -> str:
    """``text % values``. Raises TypeFault and ValueFault for values that do not fit."""
    given = list(values) if values.__class__ is tuple else [values]
    place = 0
    pieces: list[str] = []
    last = size = 0
    for found in _PERCENT.finditer(text):
        pieces.append(text[last : found.start()])
        last = found.end()
        if found[0] == "%%":
            pieces.append("%")
        else:
            kind = found[4]
            if kind is None or kind not in "sdiufFeEgGrxXo":
                said = f"`{text[found.start() : found.end() + 1]}` is no format"
                raise bad_argument(said, help='write "%d", "%.3f" or "%s"; for the character %, %%')
            if place >= len(given):
                message = "there are fewer values than formats"
                raise TypeFault("E0304", message, torch="not enough arguments for format string")
            pieces.append(_percent(given[place], found[1], found[2], found[3], kind))
            place += 1
        size += len(pieces[-1]) + len(pieces[-2])
        check_length(size, "string")
    if place < len(given) and not isinstance(values, dict):
        told = "not all arguments converted during string formatting"
        raise TypeFault("E0304", "there are more values than formats", torch=told)
    pieces.append(text[last:])
    return "".join(pieces)


def _percent(value: Any, flags: str, width: str, digits: str | None, kind: str) -> str:
    for number in (width, digits or ""):
        if len(number) > 5 or int(number or 0) > WIDTH_LIMIT:
            raise bad_argument(f"a width of {number[:8]}; the limit is {WIDTH_LIMIT}")
    if kind in "sr":
        value, kind = field(value, "", kind), "s"
    else:
        if hasattr(value, "__gradcli_rank__"):
            value = value.item()
        if not isinstance(value, int | float):
            said = "a real number" if kind not in "xXo" else "an integer"
            told = f"%{kind} format: {said} is required, not {type(value).__name__}"
            raise bad_type(f"%{kind} takes a number, got {a_value(value)}", torch=told)
        if kind in "diu":
            value = int(value)
    point = f".{digits}" if digits is not None else ""
    return f"%{flags}{width}{point}{kind}" % (value,)


# ---- Methods -------------------------------------------------------------------------------------


def _join(separator: str, parts: Any) -> str:
    parts = as_list(parts)
    check_length(
        len(separator) * len(parts) + sum(len(p) for p in parts if isinstance(p, str)), "string"
    )
    return separator.join(parts)


def _padded(method: Callable[..., str]) -> Callable[..., str]:
    def pad(text: str, width: Any, *fill: Any) -> str:
        if isinstance(width, int):
            check_length(max(width, 0), "string")
        return method(text, width, *fill)

    return pad


def _replaced(text: str, old: Any, new: Any, count: Any = -1) -> str:
    if not isinstance(old, str) or not isinstance(new, str):
        raise bad_type("replace takes two strings", help='x.replace("a", "b")')
    take_steps(len(text))
    if len(new) > len(old):
        found = text.count(old) if old else len(text) + 1
        check_length(len(text) + found * (len(new) - len(old)), "string")
    return text.replace(old, new, count)


def _plain(method: Callable) -> Callable:
    def call(text: str, *args: Any) -> Any:
        take_steps(len(text))
        return method(text, *args)

    return call


def _split(text: str, sep: Any = None, maxsplit: Any = -1) -> list[str]:
    take_steps(16 * len(text))
    return text.split(sep, maxsplit)


_PLAIN = (
    "upper", "lower", "strip", "lstrip", "rstrip", "startswith", "endswith", "title", "capitalize",
    "swapcase", "count", "find", "rfind", "index", "isdigit", "isalpha", "isalnum", "isspace",
    "isupper", "islower", "splitlines", "partition", "rpartition", "removeprefix", "removesuffix",
    "rsplit",
)  # fmt: skip
STRING_METHODS: dict[str, Callable] = {
    **{name: _plain(getattr(str, name)) for name in _PLAIN},
    **{name: _padded(getattr(str, name)) for name in ("ljust", "rjust", "center", "zfill")},
    "join": _join, "split": _split, "replace": _replaced, "format": formatted,
}  # fmt: skip
