"""Makes the parser's tables from the grammar: ``python -m gradcli.language.syntax.build_tables``.

Lark turns ``grammars/gradcli.lark`` into LALR(1) tables; this file renumbers them (so that the same
grammar always gives the same bytes), drops what the parser does not need, and writes them down as
one Python literal in ``tables.py``. Building takes a tenth of a second and loads Lark, reading the
saved tables takes a millisecond: so Lark is imported here, inside the function, and nowhere else.
"""

from __future__ import annotations

from typing import Any

from gradcli.language.syntax.grammar import digest, read_grammar

FORMAT = 1
"""The layout of the tables; a change here makes older ones stale."""

TABLES_HEADER = '''"""The parser's LALR tables.

Generated: python -m gradcli.language.syntax.build_tables

format        the layout of this table (build_tables.FORMAT)
digest        CRC-32 and length of the grammar's text
lark          the version of Lark that made it
terminals     what each kind of token is: a name, or the sign or keyword itself between backquotes
literals      sign or keyword -> kind
patterns      terminal -> regular expression
rules         (nonterminal, length, action, kept): the number of symbols a rule takes off the stack,
              what it builds, and ((position, is_list), ...) of the symbols that the action is given
states        per state ((step, kinds), ...): each character of ``kinds`` is a kind plus 48; a step
              of 0 or more shifts to that state, a negative one reduces by rule -step - 1
gotos         per state (nonterminal, state, nonterminal, state, ...)
start, final  the first state, and the one in which the end of the text is accepted
"""

'''


def lark_parser(grammar: str, lexer: Any = None) -> Any:
    """Lark's own LALR parser for the grammar; ``lexer`` is a Lark lexer class to feed it with."""
    from lark import Lark  # see the top of the file
    from lark.lexer import Lexer

    class NoLexer(Lexer):  # type: ignore[misc]
        """Stands where Lark wants a lexer; gradcli has its own."""

        def __init__(self, _conf: Any) -> None:
            pass

        def lex(self, lexer_state: Any, parser_state: Any = None) -> Any:
            return iter(())

    return Lark(grammar, parser="lalr", lexer=lexer or NoLexer, start="module")


def build(grammar: str) -> dict[str, Any]:
    """The tables for a grammar's text, as described in the head of ``tables.py``."""
    import lark  # see the top of the file

    parser = lark_parser(grammar)
    table = parser.parser.parser._parse_table
    literals, patterns = {}, {}
    for terminal in parser.terminals:
        if terminal.pattern.type == "str":
            literals[terminal.name] = terminal.pattern.value
        else:
            patterns[terminal.name] = terminal.pattern.value

    # Kinds: in the order of their names or signs, the end of the text last.
    names = {
        name for row in table.states.values() for name in row if name.isupper() or name == "$END"
    }
    shown = {name: f"`{literals[name]}`" if name in literals else name for name in names}
    ordered = sorted(names, key=lambda name: (name == "$END", shown[name]))
    kind = {name: number for number, name in enumerate(ordered)}

    rules = sorted(parser.rules, key=_rule_key)
    origins = sorted({str(rule.origin.name) for rule in rules})
    nonterminal = {name: number for number, name in enumerate(origins)}
    number_of = {id(rule): number for number, rule in enumerate(rules)}
    by_key = {_rule_key(rule): number for number, rule in enumerate(rules)}

    # States: in the order in which a walk from the start meets them.
    start = table.start_states["module"]
    state_number = {start: 0}
    queue = [start]
    for state in queue:
        for name in sorted(table.states[state]):
            step, target = table.states[state][name]
            if step.name == "Shift" and target not in state_number:
                state_number[target] = len(queue)
                queue.append(target)

    states, gotos = [], []
    for state in queue:
        steps: dict[int, list[int]] = {}
        jumps: list[int] = []
        for name in sorted(table.states[state]):
            step, target = table.states[state][name]
            if name in nonterminal:
                jumps += [nonterminal[name], state_number[target]]
            elif step.name == "Shift":
                steps.setdefault(state_number[target], []).append(kind[name])
            else:
                rule = number_of.get(id(target))
                rule = by_key[_rule_key(target)] if rule is None else rule
                steps.setdefault(-1 - rule, []).append(kind[name])
        states.append(
            tuple(
                (step, "".join(chr(48 + one) for one in sorted(kinds)))
                for step, kinds in sorted(steps.items())
            )
        )
        gotos.append(tuple(jumps))

    return {
        "format": FORMAT,
        "digest": digest(grammar),
        "lark": lark.__version__,
        "terminals": tuple(shown[name] for name in ordered),
        "literals": {
            text: kind[name] for name, text in sorted(literals.items(), key=lambda i: i[1])
        },
        "patterns": dict(sorted(patterns.items())),
        "rules": tuple(_rule_row(rule, nonterminal) for rule in rules),
        "states": tuple(states),
        "gotos": tuple(gotos),
        "start": 0,
        "final": state_number[table.end_states["module"]],
    }


def _rule_key(rule: Any) -> tuple[str, str, str]:
    shape = " ".join(str(symbol.name) for symbol in rule.expansion)
    return str(rule.origin.name), str(rule.alias or ""), shape


def _rule_row(
    rule: Any, nonterminal: dict[str, int]
) -> tuple[int, int, str | None, tuple[tuple[int, bool], ...]]:
    """One rule for the driver.

    The action is the name of a function of ``actions``, ``"*"`` for the helper rules that Lark
    makes of a repetition (they collect a flat list), or None where the rule is only its single
    child.
    """
    kept = tuple(
        (place, symbol.name.startswith("__") and not symbol.is_term)
        for place, symbol in enumerate(rule.expansion)
        if rule.options.keep_all_tokens or not (symbol.is_term and symbol.filter_out)
    )
    origin = str(rule.origin.name)
    if origin.startswith("__"):
        action: str | None = "*"
    elif rule.alias or not rule.options.expand1:
        action = str(rule.alias or origin)
    else:
        assert len(rule.expansion) == 1, f"{rule}: an unnamed ?rule must have one symbol"
        action = None
    return nonterminal[origin], len(rule.expansion), action, kept


def render(tables: dict[str, Any]) -> str:
    """The text of ``tables.py`` for these tables."""
    lines = [TABLES_HEADER, "# ruff: noqa\n# fmt: off\nTABLES = {\n"]
    for key, value in tables.items():
        if isinstance(value, tuple) and key in ("rules", "states", "gotos"):
            lines.append(f"{key!r}: (\n{_packed([repr(row) for row in value])}),\n")
        else:
            lines.append(f"{key!r}: {value!r},\n")
    return "".join(lines) + "}\n"


def _packed(rows: list[str]) -> str:
    """Rows beside each other, in lines of at most 100 columns where a row is not longer."""
    lines = [""]
    for row in (f"{row}," for row in rows):
        short = row.replace(", ", ",")
        if lines[-1] and len(lines[-1]) + len(short) > 100:
            lines.append("")
        lines[-1] += short
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
