"""``doctor`` and ``grad --doctor``: the first NaN or infinity, forward and backward."""

from __future__ import annotations

import json

from tests.support.families import family

CASES = [
    # text, values, forward finding, backward finding
    ("sum(log(x - 2))", {"x": "1,5"}, ("log of a negative number", 5), None),
    ("sum(sqrt(x))", {"x": "4,0"}, None, ("the slope of sqrt at zero", 5)),
    ("y = x - 1\ny / (x - x)", {"x": "3"}, ("division by zero", 1), ("the slope of a quotient", 1)),
    ("x**y", {"x": "0", "y": "0.5"}, None, ("the slope of a power below 1 at zero", 1)),
    ("sum(x*x)", {"x": "1e200,1"}, ("mul of values too large", 5), None),
    ("exp(x) - 1", {"x": "1000"}, ("exp of a large number", 1), ("the slope of exp", 1)),
    ("logdet(A)", {"A": "-1,0;0,1"}, ("logdet of a matrix", 1), None),
    ("std(x)", {"x": "1,"}, ("std of fewer than two entries", 1), ("the gradient of std", 1)),
    ("a = log(x)\nb = a - a\nb", {"x": "0"}, ("log of zero", 5), None),
    ("y = sqrt(x)", {"x": "0"}, None, ("the slope of sqrt at zero", 5)),
]


@family("text, values, forward, backward", CASES)
def test_names_the_first_of_each_pass(cli, text, values, forward, backward):
    flags = [word for name, value in values.items() for word in (f"--{name}", value)]
    done = cli("doctor", text, *flags, "--json")
    assert done.code == 1 and not done.err
    record = json.loads(done.out)
    assert record["ok"] and not record["healthy"]
    found = {f["pass"]: f for f in record["findings"]}
    for way, wanted in (("forward", forward), ("backward", backward)):
        if wanted is None:
            assert way == "backward" or way not in found
            continue
        assert wanted[0] in found[way]["message"]
        assert found[way]["span"]["column"] == wanted[1]
        assert found[way]["help"]


def test_the_text_has_place_operands_and_cure(cli):
    done = cli("doctor", "y = 2*x\nsum(log(y - 2) * x)", "--x", "3,0.5,1")
    assert done.code == 1
    forward, backward = done.out.split("\n\n")
    assert forward == (
        "error[E0501]: log of a negative number gives NaN\n"
        "   --> <expr>:2:5\n"
        "   2 | sum(log(y - 2) * x)\n"
        "     |     ^^^^^^^^^^ y - 2 is -1 at index 1; 2 of 3 elements\n"
        "   note: NaN appears first here, on the forward pass\n"
        "   help: keep the argument above 0: clamp(x, min=1e-12), or softplus(x) where x may be "
        "anything"
    )
    assert "^^^^^^^^^^^^^^ log(y - 2) is nan, x is 0.5 at index 1" in backward
    assert "mend what the forward pass finds first" in backward


def test_health(cli):
    done = cli("doctor", "sum(x*x)", "--x", "1,2")
    assert (done.code, done.err) == (0, "")
    assert done.out == "healthy: no NaN and no infinity, neither forward nor backward\n"
    assert json.loads(cli("doctor", "x*x", "--x", "2", "--json").out)["healthy"]
    assert "error[E0910]" in cli("doctor", "x*x", "--x", "2", "--of", "y").err


def test_the_environment_as_json(cli):
    assert "numpy" in cli("doctor", "--env", "--json").json["env"]
    assert "numpy" in cli("doctor", "--env").out


def test_a_branch_not_taken_is_not_the_cause(cli):
    text = "sum(where(x > 0, x*log(x), 0))"
    done = cli("doctor", text, "--x", "0,1,4")
    assert done.code == 0
    assert "the result is finite all the same" in done.out
    # The cause is the one that the result got its NaN from, though it came later.
    done = cli("doctor", text + " + sqrt(x[1] - 2)", "--x", "0,1,4")
    assert done.code == 1 and "sqrt of a negative number gives NaN" in done.out
    assert "log of zero" not in done.out


def test_a_result_with_entries_is_looked_at_backward_too(cli):
    done = cli("doctor", "sqrt(x)", "--x", "0,1")
    assert done.code == 1 and "the slope of sqrt at zero gives an infinite number" in done.out
    assert cli("doctor", "sqrt(x)", "--x", "1,2").out.startswith("healthy")


def test_programs_are_watched_as_they_run(cli, tmp_path):
    program = tmp_path / "p.grad"
    program.write_text(
        "w = tensor([1.0, 2.0], requires_grad=True)\n"
        "for i in range(5):\n"
        "    loss = (w / (3 - i)).sum()\n"
        "    loss.backward()\n"
        "print(w.grad)\n"
    )
    done = cli("doctor", "-f", str(program))
    assert done.code == 1
    assert "   3 |     loss = (w / (3 - i)).sum()\n     |             ^^^^^^^^^^^" in done.out
    assert "w is 1, 3 - i is 0 at index 0; 2 of 2 elements" in done.out
    assert "on the forward pass" in done.out and "on the backward pass" in done.out


def test_values_without_a_graph_are_found_by_their_statement(cli):
    done = cli("doctor", "-e", "w = tensor([1.0, -2.0])", "-e", "z = log(w)", "-e", "sum(x)*2",
               "--x", "1")  # fmt: skip
    assert "error[E0501]: z is NaN" in done.out
    assert "2 | z = log(w)\n     | ^^^^^^^^^^ at index 1; 1 of 2 elements" in done.out
    assert done.code == 0, "the result does not hang on it"


def test_an_infinite_number_to_begin_a_search_with_is_meant(cli):
    assert cli("doctor", "-e", "best = inf", "-e", "min(best, x)", "--x", "1").code == 0


def test_a_given_nan_is_named(cli):
    done = cli("doctor", "sum(x)", "--x", "1,nan")
    assert done.code == 1 and "`x` was given as a number that is not finite" in done.out
    assert "at index 1; 1 of 2 elements" in done.out


def test_grad_with_the_doctor(cli):
    done = cli("grad", "sum(sqrt(x))", "--x", "4,0", "--doctor")
    assert done.code == 0 and done.out == "value  2\nd/dx   [0.25, inf]\n"
    assert "the slope of sqrt at zero gives an infinite number" in done.err
    done = cli("grad", "sum(sqrt(x))", "--x", "4,0", "--doctor", "--json")
    assert json.loads(done.out)["findings"][0]["operator"] == "sqrt" and not done.err
    done = cli("grad", "sum(sqrt(x))", "--x", "4,1", "--doctor")
    assert (done.code, done.err) == (0, "")


def test_the_same_random_numbers_are_looked_at(cli):
    for seed in range(5):
        found = json.loads(
            cli(
                "doctor", "sum(log(x*rand(3)[0] - 0.5))", "--x", "1", "--json", "--rng", str(seed)
            ).out
        )["findings"]
        value = cli("eval", "x*rand(3)[0] - 0.5", "--x", "1", "--rng", str(seed)).out
        shown = float(value.split()[1])
        assert bool(found) == (shown <= 0)
        if found:
            assert abs(found[0]["operands"][0] - shown) < 1e-6
    # Unseeded too, an expression is one function: differences agree with the gradient.
    assert cli("check", "sum(x*randn(3))", "--x", "randn(3)").code == 0
