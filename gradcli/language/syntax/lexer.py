"""Text -> tokens: names, numbers, signs, strings, and the line structure of a program.

Names, numbers, signs and keywords are those that the grammar declares; they come with its tables.
What the grammar cannot say is done here: indentation, lines joined by brackets or a backslash,
comments, and strings, whose f-form is taken apart so that the parser sees the expressions in it as
any others.

The lexer does not raise. At the first thing it cannot read it stops with a token of kind ``ERROR``
and keeps the failure: the parser raises it when it gets there, so that the first mistake of the
text is the one that is reported.
"""

from __future__ import annotations

import functools
import itertools
import re
from array import array
from collections.abc import Callable
from typing import Any

from gradcli.language.syntax.failures import Kind, SyntaxFailure
from gradcli.language.syntax.source import Source
from gradcli.language.syntax.strings import field_end, unescape

ERROR = -1
"""The kind of the token at which the lexer gave up; no state of the parser accepts it."""

NESTING_LIMIT = 1000
"""How deep brackets nest."""

INDENT_LIMIT = 100
"""How deep blocks nest (CPython's own limit)."""

LONG_SUM = 1 << 13
"""How many characters have to be left for a long sum; it is one with half of them."""
_WINDOW = 1 << 16
_LONG_TERM = 1 << 10
_ALIKE = 16
"""Terms that differ in their numbers only are read as one where there are so many of them."""

LONG_LIST = 1 << 10
"""How many characters have to be left for a list of numbers that is read as one."""

OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = {")": "(", "]": "[", "}": "{"}

# Keywords of Python that the language leaves out, and operators of other languages. What to write
# instead stands in ``diagnostics/lexical.py``.
FORBIDDEN_WORDS = frozenset(("async", "await"))
FORBIDDEN_SIGNS = frozenset((":=", "&&", "||", "<>", "=>", "=<", "^="))
STRING_PREFIXES = frozenset(("r", "u", "b", "f", "br", "rb", "fr", "rf"))

_REST = r"|(\n)|(\#[^\n]*)|(\\\n))?"


class Tokens:
    """The tokens of one source as parallel lists.

    source, text          the source and its text
    kinds, starts, ends   for each token the number of its terminal and its offsets
    values                by index, for strings and f-string parts: what they hold
    failure               why the last token is of kind ERROR, or None
    compact               whether a long sum was read by its different terms, or a long list of
                          numbers as one
    """

    __slots__ = ("compact", "ends", "failure", "kinds", "source", "starts", "text", "values")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.kinds: list[int] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.values: dict[int, Any] = {}
        self.failure: SyntaxFailure | None = None
        self.compact = False

    def add(self, kind: int, start: int, end: int) -> None:
        """Appends one token."""
        self.kinds.append(kind)
        self.starts.append(start)
        self.ends.append(end)

    def word(self, token: int) -> str:
        """The text of a token."""
        return self.text[self.starts[token] : self.ends[token]]


class Lexer:
    """Reads sources by one set of tables; keep one and call ``lex`` for each text."""

    def __init__(self, tables: dict[str, Any]) -> None:
        names = tables["terminals"]
        self.literals: dict[str, int] = tables["literals"]
        self.kind = {name: number for number, name in enumerate(names)}
        self.signs: dict[str, list[str]] = {}  # by their first character, the longest first
        for sign in sorted({*self.literals, *FORBIDDEN_SIGNS}, key=len, reverse=True):
            if not sign.isalpha():
                self.signs.setdefault(sign[0], []).append(sign)
        patterns = tables["patterns"]
        # Every alternative may be left out, so the pattern matches anywhere.
        self.patterns: dict[str, str] = patterns
        before = [self.kind[name] for name in ("_NEWLINE", "_INDENT", "_DEDENT")]
        before += [self.literals[sign] for sign in ("(", "[", ",", "=", "return", ";", ":")]
        self.before_sum = frozenset(before)
        ends = (*(self.kind[name] for name in ("NAME", "DUNDER", "NUMBERS")),
                *(self.literals[sign] for sign in CLOSERS))  # fmt: skip
        self.before_index = frozenset(ends)
        self.match: Callable[[str, int, int], re.Match[str]] = re.compile(
            rf"[ \t]*(?:({patterns['NAME']}|{patterns['DUNDER']})|({patterns['NUMBER']})" + _REST
        ).match  # type: ignore[assignment]

    @functools.cached_property
    def term(self) -> re.Pattern[str]:
        """A term of a sum, without strings and line ends, and the sign behind it; or all there
        is."""
        # Each as long as it can be: a shorter one is never followed by what may follow.
        number, name = (rf"(?>{self.patterns[kind]})" for kind in ("NUMBER", "NAME"))
        plain = r"[^()\[\]{}'\"#\\\n;]"
        inner = rf"[(\[]{plain}*+[)\]]"
        for _ in range(3):  # brackets in brackets; reading the term finds those that do not match
            inner = rf"[(\[](?:{plain}|{inner})*+[)\]]"
        value = rf"(?:{number}|(?:{name}|(?=\(){inner})(?:\.{name}|{inner})*+)"
        operand = rf"(?:[-+~][ \t]*+)*+{value}"
        operator = r"[ \t]*+(?:\*\*?|//?|[%@^])[ \t]*+"
        sign = r"[ \t]*+[+-](?![=>])"
        return re.compile(rf"([ \t]*+{operand}(?:{operator}{operand})*+{sign})|(?s:.+)")

    @functools.cached_property
    def literal(self) -> re.Pattern[str]:
        """A number in a term for which another may stand: a plain one, and no written exponent."""
        no_exponent = "".join(rf"(?<!{re.escape(sign)}{more})" for sign in ("**", "^")
                              for more in ("", " ", "-"))  # fmt: skip
        value = r"(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,9})?"
        return re.compile(rf"(?<![\w.]){no_exponent}(?!0[0-9]){value}(?![\w.])")

    @functools.cached_property
    def numbers(self) -> Callable[[str, int, int], re.Match[str] | None]:
        """Matches a list of numbers as JSON writes them, or of such lists, three deep at most."""
        number = r"-?(?>0|[1-9][0-9]{0,299})(?>\.[0-9]{0,299})?(?>[eE][+-]?[0-9]{1,9})?"
        item, space = rf"(?>{number})", r"[ \t\n]*+"
        for _ in range(3):
            nested = rf"\[{space}{item}{space}(?:,{space}{item}{space})*+\]"
            item = rf"(?>{number}|{nested})"
        return re.compile(nested).match

    def lex(self, source: Source, mode: str = "line", compact: bool = False) -> Tokens:
        """The tokens of a source; ``mode`` is ``"line"``, where ``^`` is power, or ``"file"``.

        With ``compact`` a long sum is read by its different terms (``_Scan.long_sum``), and a long
        list of numbers as one (``_Scan.long_list``).
        """
        tokens = Tokens(source)
        scan = _Scan(self, source, mode, tokens)
        if compact:
            scan.sums_until = len(source.text) - LONG_SUM
            scan.lists_until = len(source.text) - LONG_LIST
        try:
            if (null := source.text.find("\0")) >= 0:  # in a string or a comment, too
                raise scan.failure("unknown_character", null, null + 1)
            scan.run(0, len(source.text), False)
            scan.finish()
        except SyntaxFailure as failure:
            tokens.failure = failure
            tokens.add(ERROR, failure.start, failure.end)
        return tokens


@functools.cache
def _closing(mark: str) -> Callable[[str, int, int], re.Match[str] | None]:
    """Matches what follows an opening quote up to the closing one, on the same line for a single
    one. A backslash takes the next character along, a line end too."""
    quote = mark[0]
    plain, inner = rf"[^{quote}\\\n]*+", r"\\."
    if len(mark) == 3:
        plain, inner = rf"[^{quote}\\]*+", rf"\\.|{quote}(?!{quote}{quote})"
    return re.compile(rf"(?s){plain}(?:(?:{inner}){plain})*+{mark}").match


class _Scan:
    """The state of one reading: where the brackets and the blocks stand that are still open."""

    def __init__(self, lexer: Lexer, source: Source, mode: str, tokens: Tokens) -> None:
        self.lexer = lexer
        self.source = source
        self.text = source.text
        self.mode = mode
        self.tokens = tokens
        self.brackets: list[int] = []  # offsets of the open ones
        self.indents: list[tuple[int, int]] = [(0, 0)]  # (columns, characters) of each open block
        self.sums_from, self.sums_until = 0, -1  # where a long sum may begin
        self.lists_until = -1  # and until where a long list of numbers

    def failure(self, kind: Kind, start: int, end: int, **details: Any) -> SyntaxFailure:
        """The failure for what stands at ``start:end``."""
        return SyntaxFailure(kind, self.source, start, end, **details)

    def run(self, pos: int, stop: int, field: bool) -> None:
        """Reads ``pos:stop``; ``field`` where that is the expression in a field of an f-string."""
        text, tokens, brackets = self.text, self.tokens, self.brackets
        match, literals = self.lexer.match, self.lexer.literals
        name_kind, number_kind = self.lexer.kind["NAME"], self.lexer.kind["NUMBER"]
        dunder_kind = self.lexer.kind["DUNDER"]
        newline = self.lexer.kind["_NEWLINE"]
        layout = (newline, self.lexer.kind["_INDENT"], self.lexer.kind["_DEDENT"])
        kinds, starts, ends = tokens.kinds, tokens.starts, tokens.ends
        line_start = not field
        while True:
            if line_start:
                pos = self.indentation(pos, stop)
                line_start = False
            if self.sums_from <= pos <= self.sums_until and (
                not kinds or kinds[-1] in self.lexer.before_sum
            ):
                pos = self.long_sum(pos, stop)
            found = match(text, pos, stop)
            group = found.lastindex
            pos = found.end()
            if group == 1:
                word = found[1]
                after = text[pos : pos + 1]
                if after > "\x7f" and (after.isalnum() or after.isidentifier()):
                    raise self.failure("unknown_character", pos, pos + 1)
                if after and after in "'\"" and word.lower() in STRING_PREFIXES:
                    pos = self.string(pos - len(word), pos, stop)
                    continue
                kind = literals.get(word, name_kind)
                if kind == name_kind and word in FORBIDDEN_WORDS:
                    raise self.failure("python_keyword", pos - len(word), pos)
                if word[:2] == "__":
                    kind = dunder_kind
                kinds.append(kind)
                starts.append(pos - len(word))
                ends.append(pos)
                continue
            if group == 2:
                after, next_one = text[pos : pos + 1], text[pos + 1 : pos + 2]
                if after.isalnum() or after == "_" or (after == "." and next_one.isdigit()):
                    raise self.failure("glued_number", found.start(2), pos)
                kinds.append(number_kind)
                starts.append(found.start(2))
                ends.append(pos)
                continue
            if group == 3:  # the end of a line
                if not brackets and not field:
                    if kinds and kinds[-1] not in layout:
                        tokens.add(newline, pos - 1, pos)
                    line_start = True
                continue
            if group is not None:  # a comment, or a joined line
                if field:
                    raise self.failure("comment_in_field", pos - len(found[group]), pos)
                if pos >= stop and found[group][0] == "\\":
                    raise self.failure("joined_to_nothing", pos - len(found[group]), pos - 1)
                continue
            if pos >= stop:
                return
            if text[pos] in "'\"":
                pos = self.string(pos, pos, stop)
                continue
            if (
                pos <= self.lists_until and text[pos] == "["
                and not (kinds and kinds[-1] in self.lexer.before_index)
                and (end := self.long_list(pos, stop))
            ):  # fmt: skip
                starts.append(pos)
                pos = end
                ends.append(pos)
                continue
            kind, length = self.sign(pos, stop)
            kinds.append(kind)
            starts.append(pos)
            pos += length
            ends.append(pos)

    def long_sum(self, pos: int, stop: int) -> int:
        """Reads the long sum that begins at ``pos``, if one does, but for its last term; returns
        where to go on.

        The terms are told apart by their text, and only the first of those that are alike but for
        their numbers is taken to pieces: LONG_SUM, which holds the order of the terms, then the
        tokens of each such term, separated by _NEXT_TERM, then _SUM_END. A NUMBER token for which
        the others have other numbers holds them all.
        """
        find = self.lexer.term.findall
        pieces: list[str] = []  # terms, each with white space and the sign behind it
        at = pos
        while True:  # a window at a time: what is no term costs the rest of its window
            window = min(stop, at + (_WINDOW if pieces else LONG_SUM))
            found = find(self.text, at, window)
            if found and not found[-1]:
                found.pop()
            if found and window < stop:
                found.pop()  # it may be cut off
            at += sum(map(len, found))
            pieces += found
            if at + _LONG_TERM < window or window == stop:
                break
        if at - pos < LONG_SUM // 2:
            self.sums_from = at
            return pos

        number: dict[str, int] = {}
        known = {
            piece: number.setdefault(piece[:-1].strip(" \t"), len(number))
            for piece in dict.fromkeys(pieces)
        }
        starts = [*itertools.accumulate(map(len, pieces), initial=pos)]
        first = dict(zip(reversed(pieces), reversed(starts[:-1]), strict=True))
        begin: list[int] = []  # of each different term; others differ in white space or sign
        for piece, term in known.items():
            if term == len(begin):
                begin.append(first[piece] + len(piece) - len(piece.lstrip()))
        groups = self.alike([*number])
        place = [0] * len(number)
        for i, term in enumerate(term for terms, _ in groups for term in terms):
            place[term] = i
        places = {piece: place[term] for piece, term in known.items()}
        order = array("i", map(places.__getitem__, pieces))
        minus = {piece for piece in known if piece[-1] == "-"}
        if minus:
            for i, piece in enumerate(pieces[:-1], 1):
                if piece in minus:
                    order[i] = ~order[i]
        self.sums_from = at

        tokens, kind = self.tokens, self.lexer.kind
        tokens.compact = True
        tokens.values[len(tokens.kinds)] = order
        texts = [*number]
        mark = kind["LONG_SUM"]
        for terms, columns in groups:
            start = begin[terms[0]]
            tokens.add(mark, start, start)
            mark = kind["_NEXT_TERM"]
            token = len(tokens.kinds)
            self.run(start, start + len(texts[terms[0]]), True)
            for offset, column in columns:
                token = tokens.starts.index(start + offset, token)
                tokens.values[token] = column
        end = at - len(pieces[-1]) + len(pieces[-1][:-1].rstrip())
        tokens.add(kind["_SUM_END"], end, end)
        return at - 1

    def long_list(self, pos: int, stop: int) -> int:
        """Adds the kind NUMBERS and the value of the list of numbers at ``pos``; returns its end,
        or 0 where it is none, or short."""
        tokens, kind = self.tokens, self.lexer.kind
        found = self.lexer.numbers(self.text, pos, stop)
        if found is None or found.end() - pos < LONG_LIST:
            return 0
        import json  # texts of kilobytes only

        tokens.compact = True
        tokens.values[len(tokens.kinds)] = json.loads(re.sub(r"\.(?![0-9])", ".0", found[0]))
        tokens.kinds.append(kind["NUMBERS"])
        return found.end()

    def alike(self, texts: list[str]) -> list[tuple[list[int], list[tuple[int, list[str]]]]]:
        """Puts the terms together that are alike but for their numbers.

        Returns for each such group which terms are in it, and for each number in its first term
        that is not the same in all of them the offset there and what stands in its place.
        """
        literal, joined = self.lexer.literal, "\n".join(texts)
        shapes = literal.sub("#", joined).split("\n")
        groups: dict[str, list[int]] = {}
        for i, shape in enumerate(shapes):
            groups.setdefault(shape, []).append(i)
        counts = {shape: shape.count("#") for shape in groups}
        numbers = literal.findall(joined)
        ends = [*itertools.accumulate(map(counts.__getitem__, shapes))]
        found: list[tuple[list[int], list[tuple[int, list[str]]]]] = []
        for shape, terms in groups.items():
            count = counts[shape]
            if len(terms) < _ALIKE or not count:
                found += [([term], []) for term in terms]
                continue
            offsets = [m.start() for m in literal.finditer(texts[terms[0]])]
            columns = [[numbers[ends[term] - count + i] for term in terms] for i in range(count)]
            places = zip(offsets, columns, strict=True)
            found.append((terms, [one for one in places if len(set(one[1])) > 1]))
        return found

    def sign(self, pos: int, stop: int) -> tuple[int, int]:
        """The kind and the length of the sign at ``pos``; opens and closes brackets."""
        text, brackets = self.text, self.brackets
        sign = text[pos]
        if sign in OPENERS:
            brackets.append(pos)
            if len(brackets) > NESTING_LIMIT:
                raise self.failure("deep_brackets", pos, pos + 1)
        elif sign in CLOSERS:
            opener = brackets[-1] if brackets else None
            if opener is None or text[opener] != CLOSERS[sign]:
                raise self.failure("unmatched_bracket", pos, pos + 1, opener=opener)
            brackets.pop()
        for known in self.lexer.signs.get(sign, ()):
            if text.startswith(known, pos, stop):
                break
        else:
            raise self.failure("unknown_character", pos, pos + 1)
        if known in FORBIDDEN_SIGNS:
            raise self.failure("foreign_operator", pos, pos + 2)
        if sign == "^" and self.mode == "file":
            raise self.failure("caret_in_file", pos, pos + 1)
        return self.lexer.literals[known], len(known)

    def indentation(self, pos: int, stop: int) -> int:
        """Reads the white space that begins a line, past empty lines; returns where the line's text
        begins."""
        text, tokens = self.text, self.tokens
        while True:
            begin = pos
            while pos < stop and text[pos] in " \t":
                pos += 1
            if pos >= stop:
                return pos
            if text[pos] == "#":
                pos = text.find("\n", pos)
                if pos < 0:
                    return stop
            if text[pos] != "\n":
                break
            pos += 1

        characters = columns = pos - begin
        if columns and "\t" in text[begin:pos]:
            columns = len(text[begin:pos].expandtabs(8))
        indents = self.indents
        if not tokens.kinds and self.mode == "line":
            indents[0] = (columns, characters)  # a one-liner may be pushed to the right as a whole
        top = indents[-1]
        if (columns, characters) == top:
            return pos
        if columns > top[0]:
            if characters <= top[1]:
                raise self.failure("mixed_tabs", begin, pos)
            if len(indents) > INDENT_LIMIT:
                raise self.failure("deep_blocks", pos, pos + 1)
            indents.append((columns, characters))
            tokens.add(self.lexer.kind["_INDENT"], begin, pos)
            return pos
        while columns < indents[-1][0]:
            indents.pop()
            tokens.add(self.lexer.kind["_DEDENT"], pos, pos)
            if not indents:
                break
        if not indents or columns != indents[-1][0]:
            raise self.failure("unaligned_dedent", begin, pos)
        if characters != indents[-1][1]:
            raise self.failure("mixed_tabs", begin, pos)
        return pos

    def finish(self) -> None:
        """The end of the text: closes the last line and the blocks; refuses an open bracket."""
        if self.brackets:
            raise self.failure("unclosed_bracket", self.brackets[-1], self.brackets[-1] + 1)
        tokens, kind, size = self.tokens, self.lexer.kind, len(self.text)
        if tokens.kinds and tokens.kinds[-1] not in (kind["_NEWLINE"], kind["_DEDENT"]):
            tokens.add(kind["_NEWLINE"], size, size)
        for _ in self.indents[1:]:
            tokens.add(kind["_DEDENT"], size, size)
        tokens.add(kind["$END"], size, size)

    # ---- Strings --------------------------------------------------------------------------------

    def string(self, start: int, quote: int, stop: int) -> int:
        """Reads the string whose prefix begins at ``start`` and whose quote stands at ``quote``;
        returns where it ends."""
        text = self.text
        prefix = text[start:quote].lower()
        mark = text[quote]
        if text.startswith(mark * 3, quote, stop):
            mark *= 3
        if "b" in prefix:
            raise self.failure("bytes_literal", start, quote + 1)
        first = quote + len(mark)
        found = _closing(mark)(text, first, stop)
        if found is None:
            raise self.failure("unterminated_string", start, first)
        end, raw = found.end(), "r" in prefix
        close = end - len(mark)
        tokens, kind = self.tokens, self.lexer.kind
        if "f" in prefix:
            # One inside another has another quote, of which there are four.
            self.fstring(start, first, close, end, raw)
            return end
        tokens.values[len(tokens.kinds)] = self.plain(first, close, raw)
        tokens.add(kind["STRING"], start, end)
        return end

    def plain(self, start: int, end: int, raw: bool) -> str:
        """The text of ``start:end`` with its escapes replaced, unless it is raw."""
        if raw or "\\" not in self.text[start:end]:
            return self.text[start:end]
        return unescape(self.source, start, end)

    def fstring(self, start: int, first: int, close: int, end: int, raw: bool) -> None:
        """The tokens of an f-string whose text is ``first:close``."""
        text, tokens, kind = self.text, self.tokens, self.lexer.kind
        tokens.add(kind["FSTRING_START"], start, first)
        pos = first
        piece = ""
        begin = pos
        while True:
            brace = pos
            while brace < close and text[brace] not in "{}":
                brace += 1
            piece += self.plain(pos, brace, raw)
            if brace < close and text[brace : brace + 2] in ("{{", "}}") and brace + 1 < close:
                piece += text[brace]
                pos = brace + 2
                continue
            if piece:
                tokens.values[len(tokens.kinds)] = piece
                tokens.add(kind["FSTRING_TEXT"], begin, brace)
            if brace >= close:
                break
            if text[brace] == "}":
                raise self.failure("lone_brace", brace, brace + 1)
            stop, form, pos = field_end(self.source, brace, close)
            tokens.add(kind["FIELD_START"], brace, brace + 1)
            outer, self.brackets = self.brackets, []
            self.run(brace + 1, stop, True)
            if self.brackets:
                raise self.failure("unclosed_bracket", self.brackets[-1], self.brackets[-1] + 1)
            self.brackets = outer
            tokens.values[len(tokens.kinds)] = form
            tokens.add(kind["FIELD_END"], stop, pos)
            piece = ""
            begin = pos
        tokens.add(kind["FSTRING_END"], close, end)
