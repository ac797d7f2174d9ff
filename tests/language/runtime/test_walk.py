"""Texts without control flow: the first run walks the tree, and nobody can tell."""

from __future__ import annotations

import pytest

import gradcli
from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault

LINES = ["y = y * x", "y = sin(y) + 0.5 * pi", "n = 3", "z = -y / n", "y = max(z, y) ** 2 % 7"]


def both(text: str) -> list:
    """What a walked run and one of generated code leave."""
    found = []
    for ran in (False, True):
        program = prepare(text, "file")
        program._ran = ran
        x = gradcli.tensor(0.5, requires_grad=True)
        try:
            outcome = program.run({"x": x})
        except Fault as fault:
            found.append((str(fault), fault.labels, program.generated))
            continue
        outcome.value.backward()
        found.append((outcome.value, x.grad, outcome.variables, program.generated))
    return found


def test_values_gradients_and_variables_are_the_same():
    walked, compiled = both("\n".join(["y = x", *LINES * 30, "y * z"]))
    assert not walked[-1] and compiled[-1]
    assert walked[0].item() == compiled[0].item() and walked[1].item() == compiled[1].item()
    assert {k: float(v) for k, v in walked[2].items()} == {
        k: float(v) for k, v in compiled[2].items()
    }


@pytest.mark.parametrize(
    "line",
    ["y = y + unknown", "y = 1 / (n - 3)", "y = y @ y", "y = sin(y, 2)", "y = [y][0] + sinn(y)",
     "y = 9 ** 9 ** 9"],
)  # fmt: skip
def test_errors_are_those_of_generated_code(line):
    walked, compiled = both("\n".join(["y = x", *LINES * 30, line, "y"]))
    assert walked[:2] == compiled[:2]
    assert walked[-1].codes.keys() == compiled[-1].codes.keys()


@pytest.mark.parametrize("line", ["y += 1", "y, z = z, y", "y = [y][0]", "print(n)", "y.sum()"])
def test_what_is_more_than_computing_is_left_to_generated_code(line):
    walked, compiled = both("\n".join(["y = x", *LINES * 30, line, "y * 1"]))
    assert walked[-1] and walked[0].item() == compiled[0].item()


def test_the_second_run_is_of_generated_code():
    program = prepare("\n".join(["y = x", *LINES * 30, "y * z"]), "file")
    first, second = (program.run({"x": gradcli.tensor(0.5)}).value.item() for _ in range(2))
    assert first == second and program.generated.codes
