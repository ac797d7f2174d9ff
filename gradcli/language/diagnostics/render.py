"""SyntaxFault and Diagnostic, and how an error is printed: code, message, source line, marks, help.

    error[E0101]: two operators in a row
       --> <expr>:1:4
       1 | 2 +* 3
         |    ^ expected a number, a name or "("
       help: remove one of the operators

Only printable characters of the source reach the screen: an error message must not be able to move
the cursor, so control, invisible and direction-changing characters are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault

Label = tuple[int, int, str, bool]
"""(start, end, text, primary): what to mark in the source, and what to say beside the mark."""

LINE_WIDTH = 96
"""The most columns of one source line that are shown; longer ones are cut around the marks."""

MESSAGE_LENGTH = 600
"""The most characters of a message, a note or a help that are shown."""

_COLOURS = {"error": "\x1b[1;31m", "place": "\x1b[34m", "help": "\x1b[36m", "bold": "\x1b[1m"}
_PLAIN = "\x1b[0m"


class SyntaxFault(Fault, ValueError):
    """The text is not in the language.

    source, start, end   where the mistake is
    labels               all marks, the primary one first
    incomplete           True where more text could mend it (an open bracket, a block without a
                         body); a REPL then asks for another line
    further              mistakes of the same kind after this one, already found
    """

    source: Source
    start: int
    end: int
    labels: list[Label]

    def __init__(
        self, code: str, message: str, source: Source, start: int, end: int, label: str = "", *,
        others: Sequence[tuple[int, int, str]] = (), help: str | None = None,
        notes: tuple[str, ...] = (), incomplete: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(code, message, help=help, notes=notes)
        located(self, source, start, end, label)
        self.labels += [(*other, False) for other in others]
        self.incomplete = incomplete
        self.further: list[SyntaxFault] = []


def located(fault: Any, source: Source, start: int, end: int, label: str = "") -> Any:
    """The same fault, with the place in a source that it is about."""
    fault.source, fault.start, fault.end = source, start, end
    fault.labels = [(start, end, label, True)]
    return fault


class Diagnostic(NamedTuple):
    """One error, ready to be shown.

    code      stable identifier, ``"E0101"``
    message   what is wrong, one line
    source    the Source that the labels point into, or None
    labels    marks, see ``Label``; the first primary one gives the place
    notes     further sentences
    help      what to write instead
    """

    code: str
    message: str
    source: Source | None = None
    labels: Sequence[Label] = ()
    notes: Sequence[str] = ()
    help: str | None = None

    @classmethod
    def of(cls, fault: Fault) -> Diagnostic:
        """The diagnostic of a fault; with a place where the fault knows one."""
        source = getattr(fault, "source", None)
        labels = getattr(fault, "labels", ()) if source is not None else ()
        return cls(fault.code, fault.message, source, labels, fault.notes, fault.help)

    def primary(self) -> Label | None:
        """The label that says where the error is."""
        first = self.labels[0] if self.labels else None
        return next((label for label in self.labels if label[3]), first)

    def to_json(self) -> dict[str, Any]:
        """The error object of ``--json``: code, message, help and span (1-based, end exclusive)."""
        place = self.primary()
        span = None
        if self.source is not None and place is not None:
            names = ("line", "column", "end_line", "end_column")
            span = dict(zip(names, self.source.span(place[0], place[1]), strict=True))
        return {
            "code": self.code,
            "message": _clipped(self.message),
            "help": None if self.help is None else _clipped(self.help),
            "span": span,
        }

    def render(self, colour: bool = False) -> str:
        """The text of the diagnostic, without a newline at its end."""

        def paint(what: str, text: str) -> str:
            return _COLOURS[what] + text + _PLAIN if colour else text

        said = inert(_clipped(self.message))
        head = paint("error", f"error[{self.code}]") + paint("bold", f": {said}")
        lines = [head]
        place = self.primary()
        if self.source is not None and place is not None:
            lines += self._excerpt(self.source, place, paint)
        lines += [f"   note: {_indented(_clipped(note), 9)}" for note in self.notes]
        if self.help:
            lines.append("   " + paint("help", "help:") + f" {_indented(_clipped(self.help), 9)}")
        return "\n".join(lines)

    def _excerpt(self, source: Source, place: Label, paint: Any) -> list[str]:
        """The place, and each source line that has a mark."""
        line, column = source.place(place[0])
        lines = []
        if source.name:
            lines.append("   " + paint("place", "-->") + f" {inert(source.name)}:{line}:{column}")
        by_line: dict[int, list[Label]] = {}
        for label in self.labels:
            by_line.setdefault(source.place(label[0])[0], []).append(label)
        gutter = len(str(max(by_line)))
        for number in sorted(by_line):
            shown, marks = _marked_line(source, by_line[number], paint)
            lines.append(f"   {paint('place', f'{number:>{gutter}} |')} {shown}".rstrip())
            lines += [f"   {paint('place', ' ' * gutter + ' |')} {mark}" for mark in marks]
        return lines


def _clipped(text: str) -> str:
    """A message without a user's endless name or text in it."""
    return text if len(text) <= MESSAGE_LENGTH else f"{text[:MESSAGE_LENGTH]} ..."


def _marked_line(source: Source, labels: list[Label], paint: Any) -> tuple[str, list[str]]:
    """A source line as shown, and the lines of marks and label texts under it."""
    first, last = source.line_bounds(labels[0][0])
    text = source.text[first:last]
    centre = next((label for label in labels if label[3]), labels[0])
    text, offset, before = _cut(text, centre[0] - first, min(centre[1], last) - first)
    cells = [_cell(char) for char in text]
    columns = [len(before)]
    for _, width in cells:
        columns.append(columns[-1] + width)

    spans = []
    for start, end, words, primary in labels:
        low = min(max(start - first - offset, 0), len(text))
        high = min(max(min(end, last) - first - offset, low), len(text))
        spans.append((columns[low], max(columns[high], columns[low] + 1), inert(words), primary))
    spans.sort(key=lambda span: (span[0], span[1]))
    row: dict[int, str] = {}
    for low, high, _, primary in sorted(
        spans, key=lambda span: span[3]
    ):  # primary marks last, on top
        for column in range(low, high):
            row[column] = paint("error", "^") if primary else paint("place", "-")
    marks = "".join(row.get(column, " ") for column in range(max(row) + 1))

    said = [span for span in spans if span[2]]
    if said and said[-1] == spans[-1]:
        marks += " " + said.pop()[2]
    below = [" " * low + words for low, _, words, _ in reversed(said)]
    after = "..." if offset + len(text) < last - first else ""
    return before + "".join(shown for shown, _ in cells) + after, [marks, *below]


def _cut(text: str, low: int, high: int) -> tuple[str, int, str]:
    """The part of a long line around ``low:high``: (part, its offset, what to show before it)."""
    if len(text) <= LINE_WIDTH:
        return text, 0, ""
    high = min(high, low + LINE_WIDTH * 3 // 4)
    start = max(0, min((low + high - LINE_WIDTH) // 2, len(text) - LINE_WIDTH))
    return text[start : start + LINE_WIDTH], start, "..." if start else ""


def _cell(char: str) -> tuple[str, int]:
    """A character of the source as shown, and how many columns that takes."""
    if char == "\t":
        return "    ", 4
    if " " <= char <= "~":
        return char, 1
    if not char.isprintable() and char != "\u3000":
        shown = _escaped(char)
        return shown, len(shown)
    from unicodedata import combining, east_asian_width  # large tables, not needed for ASCII

    if combining(char):
        return char, 0
    return char, 2 if east_asian_width(char) in "WF" else 1


def _escaped(char: str) -> str:
    code = ord(char)
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def inert(text: str) -> str:
    """A text with everything that a terminal could act on escaped; the newline too.

    >>> inert("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _indented(text: str, columns: int) -> str:
    return ("\n" + " " * columns).join(inert(line) for line in text.split("\n"))


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that ``word`` is most likely a slip of, or None where none is near.

    Near is: no more than a third of the letters changed, left out, added or swapped with a
    neighbour. A letter written twice, or once instead of twice, comes first.

    >>> closest("sni", ["sin", "cos", "sinh"])
    'sin'
    """
    best: tuple[int, int, int, str] | None = None
    if len(word) > 64:  # nobody's slip, and the distance takes the square of the length
        return None
    low = word.lower()
    allowed = (len(word) + 1) // 3
    for candidate in candidates:
        if candidate == word or abs(len(candidate) - len(word)) > allowed:
            continue
        far = _distance(low, candidate.lower(), allowed)
        if far <= allowed:
            other = sum(a != b for a, b in zip(word[:1], candidate, strict=False))
            doubled = far == 1 and _once(low) == _once(candidate.lower())
            length = 0 if doubled else abs(len(candidate) - len(word)) + 1
            rank = (far, length, other, candidate)
            if best is None or rank < best:
                best = rank
    return best[3] if best else None


def did_you_mean(
    word: str, candidates: Iterable[str], otherwise: str | None, form: str = "{}"
) -> str | None:
    """The help that names the candidate closest to ``word``, as ``form`` has it, or another."""
    near = closest(word, candidates)
    return otherwise if near is None else f"did you mean {form.format(near)}?"


def _once(word: str) -> list[str]:
    """The letters of a word, those that repeat once."""
    return [letter for letter, _ in groupby(word)]


def _distance(a: str, b: str, limit: int) -> int:
    """How many single slips lie between two words; more than ``limit`` is not counted exactly."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return row[-1]
