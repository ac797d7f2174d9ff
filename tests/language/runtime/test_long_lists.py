"""Long lists of numbers are read as one value, and nobody can tell."""

from __future__ import annotations

from gradcli.language.compile.resolve import check
from gradcli.language.runtime.run import Program, prepare
from gradcli.language.syntax.failures import SyntaxFailure
from gradcli.language.syntax.lexer import LONG_LIST
from gradcli.language.syntax.nodes import walk
from gradcli.language.syntax.parser import parse
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault
from gradcli.symbolic.closed_form import diff
from tests.support.families import family

COUNT = LONG_LIST // 2
ROW = ["0", "-0.0", "1.", "-2.5e-3", "1e999", "12345678901234567890123", "1E+2", "-7"]
WHOLE = f"[{','.join(ROW * (COUNT // 16))}]"
ROWS = f"[{', '.join(['[1, 2.5]'] * (COUNT // 4))}]"
BLOCKS = "[ " + ",\n".join(["[[1],[-2]]"] * (COUNT // 4)) + " ]"


def parse_of(text, compact):
    try:
        module = parse(text, "file", compact)
    except SyntaxFailure as failure:
        return failure.kind, failure.start, failure.end
    return [repr(node) for node in walk(module)]


def ran(text, compact):
    source = Source(text)
    try:
        program = Program(check(source, parse(source, "file", compact)), False)
    except SyntaxFailure as failure:
        return failure.kind, failure.start, failure.end
    assert program.names.data is compact
    try:
        return repr(program.run({}).value)
    except Fault as fault:
        return str(fault), fault.labels


@family("text", [
    WHOLE, ROWS, BLOCKS, f"a = {WHOLE}; len(a)", f"[x[0] for x in {ROWS}]", f"{WHOLE}[3]",
    f"[1, {WHOLE}, 'a']", f"def f(): return {ROWS}\nf()[0].append(1)\nf()[0]",
    f"tensor({ROWS})[1] + tensor([1, 2, 3])", f"tensor([{WHOLE}, [1]])", f"f'{{{WHOLE}}}'",
])  # fmt: skip
def test_a_long_list_of_numbers_is_the_one_that_stands_there(text):
    assert ran(text, True) == ran(text, False)


@family("odd", ["007", "1__0", "1_0", "2j", "[[[1]]]", "1 2", "1;", "2x", "", "1]", "+1", "# 1\n1"])
def test_what_is_more_than_a_list_of_numbers_is_read_as_ever(odd):
    text = f"[{'1,' * COUNT}{odd},1]"
    assert parse_of(text, True) == parse_of(text, False)


@family("text", [f"{WHOLE} = 1", f"x{WHOLE} +", f"x = {WHOLE} y"])
def test_mistakes_beside_a_long_list_are_those_of_the_whole_text(text):
    mistake = parse_of(text, True)
    assert mistake == parse_of(text, False) and isinstance(mistake, tuple)


def test_a_closed_form_sees_the_numbers():
    program = prepare(f"sum(x[{[0, 1] * (COUNT // 2)}])")
    assert program.names.data
    assert diff(program, "x", declared={"x": "vector:2"}).text == f"stack({[COUNT // 2] * 2})"
