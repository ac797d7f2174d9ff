"""Tokens -> tree: the LALR driver.

The tables say for each state and kind of token whether to shift or by which rule to reduce; a
reduction calls the function of ``actions`` that builds the node. Everything lies on lists, so a
chain of 100,000 terms or signs needs no more of Python's stack than one term does.

Most reductions in an expression only rename (a factor is a product is a sum is ...). Where such a
run ends depends only on the state below, the nonterminal and the next token; it is followed once
and remembered.

``diagnostics.parsing`` has the same two functions for texts of a user: they raise errors with
messages.
"""

from __future__ import annotations

import functools
from typing import Any

from gradcli.language.syntax import actions, grammar
from gradcli.language.syntax.failures import SyntaxFailure
from gradcli.language.syntax.lexer import Lexer, Tokens
from gradcli.language.syntax.nodes import Module
from gradcli.language.syntax.source import Source
from gradcli.language.syntax.tables import TABLES

MOST_OPEN = 250_000
"""Symbols that wait for what comes behind them: signs before a value, powers of powers."""
MOST_STATEMENTS = 100_000
"""The most statements of one program."""


def parse(source: Source | str, mode: str = "line", compact: bool = False) -> Module:
    """The tree of a program or of one line.

    source   a Source, or its text
    mode     ``"line"`` for one-liners, flag values and the REPL, where ``^`` is power;
             ``"file"`` for programs, which are valid Python
    compact  whether a sum of thousands of characters may be a ``Sum`` instead of a ``Binary``, and
             a list of numbers as long a ``Data`` instead of a ``List``

    Raises ``SyntaxFailure`` where the text is not in the language or passes a limit.

    >>> parse("2*dot(x, x)").body[0].value
    <Binary '*' 0:11>
    """
    if isinstance(source, str):
        source = Source(source)
    return shared_parser().parse(source, mode, compact)


@functools.cache
def shared_parser() -> Parser:
    """The parser of the grammar at hand, made on first use."""
    return Parser(load_tables())


def load_tables() -> dict[str, Any]:
    """The tables for the grammar at hand: those of ``tables.py`` where they belong to its text."""
    text = grammar.read_grammar()
    if text is None or TABLES["digest"] == grammar.digest(text):
        return TABLES
    # Loads Lark, which takes longer than all else at start-up: only where the grammar was edited.
    from gradcli.language.syntax.build_tables import build

    return build(text)


class Parser:
    """A parser for one set of tables; the tables' rows are unpacked when a text first needs
    them."""

    def __init__(self, tables: dict[str, Any]) -> None:
        self.tables = tables
        self.lexer = Lexer(tables)
        self.rows: list[dict[int, int] | None] = [None] * len(tables["states"])
        self.rules = [
            (nonterminal, len(shape), _builder(action, shape))
            for nonterminal, action, shapes in tables["rules"]
            for shape in shapes.split(" ")
        ]
        self.leaps: dict[tuple[int, int, int], int] = {}

    def row(self, state: int) -> dict[int, int]:
        """What a state does on each kind of token: shift to a state, or reduce by rule -step -
        1."""
        row = self.rows[state]
        if row is None:
            sets, shifts = self.tables["sets"], self.tables["shifts"]
            usual, *others = self.tables["states"][state]
            row = {ord(c) - 48: shifts[ord(c) - 48] for c in sets[usual]}
            for step, number in zip(others[::2], others[1::2], strict=True):
                row.update((ord(char) - 48, step) for char in sets[number])
            self.rows[state] = row  # whole, since other threads take it as it stands
        return row

    def goto(self, state: int, nonterminal: int) -> int:
        """The state after a nonterminal."""
        found: int | None = self.tables["exceptions"].get((state, nonterminal))
        return self.tables["gotos"][nonterminal] if found is None else found

    def leap(self, below: int, nonterminal: int, kind: int) -> int:
        """The state that stands on ``below`` once all renaming of ``nonterminal`` before a token of
        this kind is done."""
        state = self.goto(below, nonterminal)
        while True:
            step = self.row(state).get(kind, 0)
            if step >= 0:
                break
            origin, _length, build = self.rules[~step]
            if build is not None:
                break
            state = self.goto(below, origin)
        self.leaps[below, nonterminal, kind] = state
        return state

    def parse(self, source: Source, mode: str, compact: bool = False) -> Module:
        """As the module's ``parse``, for a Source."""
        return self.tree(self.lexer.lex(source, mode, compact), mode)

    def tree(self, tokens: Tokens, mode: str) -> Module:
        """The tree of what was read in a mode; raises as ``parse`` does."""
        if len(tokens.kinds) > MOST_STATEMENTS:
            self._count(tokens)
        try:
            return self._run(tokens)
        except SyntaxFailure as failure:
            if tokens.compact:  # the whole text says best what is wrong with it
                return self.parse(tokens.source, mode)
            late = tokens.failure
            if late is not None and late is not failure and late.kind == "unclosed_bracket":
                failure.unclosed = late
            raise

    def _count(self, tokens: Tokens) -> None:
        kind = self.lexer.kind
        count = tokens.kinds.count(kind["_NEWLINE"]) + tokens.kinds.count(kind["`;`"])
        if count > MOST_STATEMENTS:
            raise SyntaxFailure("too_many_statements", tokens.source, 0, 0)

    def _run(self, tokens: Tokens) -> Module:
        kinds, starts, ends = tokens.kinds, tokens.starts, tokens.ends
        rows, rules, leaps = self.rows, self.rules, self.leaps
        final = self.tables["final"]
        states = [0]
        values: list[Any] = [None]
        begins: list[int] = [0]
        stops: list[int] = [0]
        at = 0
        kind = kinds[0]
        state = states[0]
        while True:
            row = rows[state] or self.row(state)
            step = row.get(kind)
            if step is None:
                if state == final:
                    module: Module = values[-1]
                    return module
                if kind < 0 and tokens.failure is not None:
                    raise tokens.failure
                raise SyntaxFailure(
                    "unexpected_token", tokens.source, starts[at], ends[at],
                    parser=self, tokens=tokens, states=states, at=at,
                )  # fmt: skip
            if step >= 0:
                state = step
                states.append(state)
                values.append(at)
                begins.append(starts[at])
                stops.append(ends[at])
                if len(states) > MOST_OPEN:
                    raise SyntaxFailure("deep_operators", tokens.source, starts[at], ends[at])
                at += 1
                kind = kinds[at]
                continue
            nonterminal, length, build = rules[~step]
            if length == 1:
                if build is not None:
                    values[-1] = build(tokens, begins[-1], stops[-1], values[-1:])
                states.pop()
            elif length:
                value = build(tokens, begins[-length], stops[-1], values[-length:])
                cut = 1 - length
                del values[cut:], begins[cut:], states[-length:]
                stop = stops[-1]
                del stops[cut:]
                values[-1] = value
                stops[-1] = stop
            else:
                begins.append(starts[at])
                stops.append(starts[at])
                values.append(build(tokens, starts[at], starts[at], []))
            below = states[-1]
            state = leaps.get((below, nonterminal, kind), -1)
            if state < 0:
                state = self.leap(below, nonterminal, kind)
            states.append(state)


def _builder(action: str | None, shape: str) -> Any:
    """The function ``(tokens, start, end, symbols) -> value`` for one rule; see build_tables."""
    if action is None:
        return None
    kept = [(place, letter == "l") for place, letter in enumerate(shape) if letter != "."]
    places = [place for place, _ in kept]
    if action == "*":  # a repetition: collects one flat list, and goes on with the one it has
        if kept[:1] == [(0, True)]:
            rest = places[1:]

            def extend(_tokens: Tokens, _start: int, _end: int, symbols: list[Any]) -> list[Any]:
                found: list[Any] = symbols[0]
                for place in rest:
                    found.append(symbols[place])
                return found

            return extend
        return lambda _tokens, _start, _end, symbols: [symbols[place] for place in places]

    build = getattr(actions, action)
    if "l" not in shape:
        if len(places) == len(shape):
            return build
        return lambda tokens, start, end, symbols: build(
            tokens, start, end, [symbols[place] for place in places]
        )

    def flatten(tokens: Tokens, start: int, end: int, symbols: list[Any]) -> Any:
        flat: list[Any] = []
        for place, is_list in kept:
            if is_list:
                flat += symbols[place]
            else:
                flat.append(symbols[place])
        return build(tokens, start, end, flat)

    return flatten
