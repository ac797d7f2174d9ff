"""Makes the parser's tables from the grammar: ``python -m gradcli.language.syntax.build_tables``.

Lark turns ``grammars/gradcli.lark`` into LALR(1) tables; this file renumbers them (so that the same
grammar always gives the same bytes), drops what the parser does not need, and writes them down as
one Python literal in ``tables.py``. Building takes a tenth of a second and loads Lark, reading the
saved tables takes a millisecond: so Lark is imported here, inside the function, and nowhere else.

    format      the layout of the tables
    digest      CRC-32 and length of the grammar's text
    lark        the version of Lark that made them
    terminals   what each kind of token is: a name, or the sign or keyword itself between backquotes
    literals    sign or keyword -> kind
    patterns    terminal -> regular expression
    rules       (nonterminal, action, shapes): the shapes of its rules with spaces between them, a
                letter for each symbol that the rule takes off the stack: ``s`` is given to the
                action, ``l`` is a list whose items are given, ``.`` is left out
    sets        sets of kinds, each kind as the character of its number plus 48
    shifts      kind -> the state that a token of it shifts to almost everywhere
    states      per state (set, step, set, step, set, ...): kinds of the first set shift to their
                state in ``shifts``; for those of the others, a step of 0 or more shifts to that
                state, a negative one reduces by rule -step - 1
    gotos       nonterminal -> the state that follows it almost everywhere
    exceptions  (state, nonterminal) -> the state that follows there instead
    final       the state in which the end of the text is accepted; 0 is the first one
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain, groupby
from typing import Any

from gradcli.language.syntax.grammar import digest, read_grammar

FORMAT = 2
"""The layout of the tables; a change here makes older ones stale."""

TABLES_HEADER = '''"""The parser's LALR tables; the head of ``build_tables.py`` says what they hold.

Generated: python -m gradcli.language.syntax.build_tables
"""

# ruff: noqa
# fmt: off
TABLES = {
'''

Jumps = dict[tuple[int, int], int]
"""(state, number of a symbol) -> the state after it."""


def lark_parser(grammar: str, lexer: Any = None) -> Any:
    """Lark's own LALR parser for the grammar; ``lexer`` is a Lark lexer class to feed it with."""
    from lark import Lark  # see the top of the file
    from lark.lexer import Lexer

    class NoLexer(Lexer):
        """Stands where Lark wants a lexer; gradcli has its own."""

        def __init__(self, _conf: Any) -> None:
            pass

        def lex(self, lexer_state: Any, parser_state: Any = None) -> Any:
            return iter(())

    return Lark(grammar, parser="lalr", lexer=lexer or NoLexer, start="module")


def build(grammar: str) -> dict[str, Any]:
    """The tables for a grammar's text, as described in the head of this file."""
    import lark  # see the top of the file

    parser = lark_parser(grammar)
    table = parser.parser.parser._parse_table
    literals: dict[str, str] = {}
    patterns: dict[str, str] = {}
    for terminal in parser.terminals:
        found = literals if terminal.pattern.type == "str" else patterns
        found[terminal.name] = terminal.pattern.value

    # Kinds: in the order of their names or signs, the end of the text last.
    names = {name for row in table.states.values() for name in row if name.isupper()} | {"$END"}
    shown = {name: f"`{literals[name]}`" if name in literals else name for name in names}
    ordered = sorted(names, key=lambda name: (name == "$END", shown[name]))
    kind = {name: number for number, name in enumerate(ordered)}

    rules = sorted(parser.rules, key=_rule_key)
    origins = sorted({str(rule.origin.name) for rule in rules})
    nonterminal = {name: number for number, name in enumerate(origins)}
    rows = [
        (nonterminal[origin], action, " ".join(map(_shape, alike)))
        for (origin, action), alike in groupby(rules, _origin_and_action)
    ]
    state_number = _state_numbers(table)
    return {
        "format": FORMAT,
        "digest": digest(grammar),
        "lark": lark.__version__,
        "terminals": tuple(shown[name] for name in ordered),
        "literals": {
            text: kind[name] for name, text in sorted(literals.items(), key=lambda i: i[1])
        },
        "patterns": dict(sorted(patterns.items())),
        "rules": tuple(rows),
        **_automaton(table, state_number, kind, nonterminal, rules),
        "final": state_number[table.end_states["module"]],
    }


def _state_numbers(table: Any) -> dict[Any, int]:
    """Lark's states, numbered in the order in which a walk from the start meets them."""
    queue = [table.start_states["module"]]
    number = {queue[0]: 0}
    for state in queue:
        for name in sorted(table.states[state]):
            step, target = table.states[state][name]
            if step.name == "Shift" and target not in number:
                number[target] = len(queue)
                queue.append(target)
    return number


def _automaton(
    table: Any, state_number: dict[Any, int], kind: dict[str, int], nonterminal: dict[str, int],
    rules: list[Any],
) -> dict[str, Any]:  # fmt: skip
    """What the states do: ``sets``, ``shifts``, ``states``, ``gotos`` and ``exceptions``."""
    rule_number = {_rule_key(rule): number for number, rule in enumerate(rules)}
    shifts: Jumps = {}
    gotos: Jumps = {}
    steps: list[dict[int, list[int]]] = [defaultdict(list) for _ in state_number]
    for state, number in state_number.items():
        for name, (step, target) in sorted(table.states[state].items()):
            if name in nonterminal:
                gotos[number, nonterminal[name]] = state_number[target]
            elif step.name == "Shift":
                shifts[number, kind[name]] = state_number[target]
            else:
                steps[number][-1 - rule_number[_rule_key(target)]].append(kind[name])
    usual_shifts, other_shifts = _usual(shifts, len(kind))
    usual_gotos, other_gotos = _usual(gotos, len(nonterminal))
    for (number, one), target in other_shifts.items():
        steps[number][target].append(one)
    plain: list[list[int]] = [[] for _ in state_number]
    for number, one in shifts.keys() - other_shifts.keys():
        plain[number].append(one)

    sets: dict[str, int] = {}

    def numbered(kinds: list[int]) -> int:
        return sets.setdefault("".join(chr(48 + one) for one in sorted(kinds)), len(sets))

    states = [
        (numbered(usual), *chain(*((step, numbered(row[step])) for step in sorted(row))))
        for usual, row in zip(plain, steps, strict=True)
    ]
    return {
        "sets": tuple(sets), "shifts": usual_shifts, "states": tuple(states),
        "gotos": usual_gotos, "exceptions": other_gotos,
    }  # fmt: skip


def _usual(jumps: Jumps, symbols: int) -> tuple[tuple[int, ...], Jumps]:
    """For each symbol the state that most often follows it, and the jumps that lead elsewhere."""
    counts: list[Counter[int]] = [Counter() for _ in range(symbols)]
    for (_, symbol), target in jumps.items():
        counts[symbol][target] += 1
    usual = tuple(max(count, key=lambda t: (count[t], -t), default=-1) for count in counts)
    return usual, {key: jumps[key] for key in sorted(jumps) if usual[key[1]] != jumps[key]}


def _rule_key(rule: Any) -> tuple[str, str, str]:
    shape = " ".join(str(symbol.name) for symbol in rule.expansion)
    return str(rule.origin.name), str(rule.alias or ""), shape


def _origin_and_action(rule: Any) -> tuple[str, str | None]:
    """What a rule makes, and how.

    The action is the name of a function of ``actions``, ``"*"`` for the helper rules that Lark
    makes of a repetition (they collect a flat list), or None where the rule is only its single
    child.
    """
    origin = str(rule.origin.name)
    if origin.startswith("__"):
        return origin, "*"
    if rule.alias or not rule.options.expand1:
        return origin, str(rule.alias or origin)
    assert len(rule.expansion) == 1, f"{rule}: an unnamed ?rule must have one symbol"
    return origin, None


def _shape(rule: Any) -> str:
    """A letter for each symbol of a rule, as in ``rules``."""
    kept = rule.options.keep_all_tokens
    return "".join(
        "." if symbol.is_term and symbol.filter_out and not kept
        else "l" if symbol.name.startswith("__") and not symbol.is_term
        else "s"
        for symbol in rule.expansion
    )  # fmt: skip


def render(tables: dict[str, Any]) -> str:
    """The text of ``tables.py`` for these tables."""
    lines = [TABLES_HEADER]
    for key, value in tables.items():
        if isinstance(value, dict):
            lines.append(
                f"{key!r}: {{\n{_packed([f'{k!r}: {v!r}' for k, v in value.items()])}}},\n"
            )
        elif isinstance(value, tuple):
            lines.append(f"{key!r}: (\n{_packed([repr(item) for item in value])}),\n")
        else:
            lines.append(f"{key!r}: {value!r},\n")
    return "".join(lines) + "}\n"


def _packed(rows: list[str]) -> str:
    """Rows beside each other, in lines of at most 100 columns where a row is not longer."""
    lines = [""]
    for row in (f"{row},".replace(", ", ",") for row in rows):
        if lines[-1] and len(lines[-1]) + len(row) > 100:
            lines.append("")
        lines[-1] += row
    return "\n".join(lines) + "\n"


def main() -> None:
    """Rewrites ``tables.py`` from the grammar in the checkout."""
    grammar = read_grammar()
    if grammar is None:
        raise SystemExit("no grammar found: grammars/gradcli.lark should stand beside the package")
    with open(__file__.replace("build_tables", "tables"), "w", encoding="utf-8") as out:
        out.write(render(build(grammar)))


if __name__ == "__main__":
    main()
