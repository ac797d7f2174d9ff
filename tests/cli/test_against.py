"""``gradcli check --against``: hand-derived gradients, right ones and those with usual mistakes."""

import json
import shlex

import numpy as np
import pytest

from tests.support.families import family

RIGHT = [
    'check "sum(2*x^2)" --x 1,2,3 --against "4*x"',
    'check "x^2*y" --x 2 --y 3 --against x="2*x*y" --against y="x^2"',
    'check "sum(x)" --x 1,2 --against 1',
    'check "sum(relu(x))" --x -1,0,2 --against "where(x > 0, 1.0, 0.0)"',
    'check "sum(abs(x))" --x -1,0,2 --against "where(x < 0, -1.0, 1.0)"',  # any slope at a kink
    'check "sum(x^3)" --x 0.1,1,2 --dtype float32 --against "3*x^2"',
    'check "x^n" --x 2 --n 3 --wrt x --against "3*x^2"',
    'check "max(x, 0)" --x 1 --against 1',
    # numbers are the gradient at this point alone
    'check "sum(x^2)" --x 1,2 --against 2,4',
    'check "sum(x^2)" --x 1,2 --against "x=[2, 4]"',
    'check "sum(A*A)" --A 1,2;3,-4 --against "2,4;6,-8"',
    # of a matrix that has to be symmetric
    'check "sum(eigvalsh(A)^2)" --A 4,1;1,3 --against "2*A"',
    'check "sum(linalg.eigvalsh(A)^2)" --A 4,1;1,3 --against "2*A"',
    'check "sum(linalg.eigvalsh(Z)^2)" --Z "4,1+2j;1-2j,3" --against "2*Z"',
    'check "2*sum(log(diagonal(cholesky(A))))" --A 4,1;1,3 --against "inv(A)"',
    'check "2*sum(log(diagonal(linalg.cholesky(A))))" --A 4,1;1,3 --against "inv(A)"',
]


@family("line", RIGHT)
def test_what_is_right_agrees(cli, line):
    done = cli(*shlex.split(line))
    assert done.code == 0 and "agrees" in done.out and "disagrees" not in done.out, done.out


@family("formula, said, nearby", [
    ("2*x", "agrees at this point and at 4 of 4 nearby", [4, 4]),
    ("where(x < 3.02, 2*x, x)", "disagrees elsewhere, agrees at this point and at 3 of 4", [3, 4]),
    ("where(x == 3, 2*x, x)", "agrees at this point by chance", [0, 4]), ("6", "agrees", None),
])  # fmt: skip
def test_where_a_formula_agrees_is_told(cli, formula, said, nearby):
    line = ["check", "x^2", "--x", "3", "--against", formula]
    assert f"--against for x: {said}" in cli(*line).out
    assert cli(*line, "--json").json["against"]["x"].get("nearby") == nearby


HIDDEN = [
    ("tanh(x)", "1e-9", "1-tanh(x)^2", "1+tanh(x)"), ("x^2", "1e-12", "2*x", "2*x + x^2"),
    ("exp(-x)", "800", "-exp(-x)", "exp(-x)"), ("sin(x)", "3", "cos(x)", "cos(x) + 1e-6*x*(x-3)"),
    ("x^3", "4", "3*x^2", "3*x^2 + sin(pi*x)*(x > 5)"), ("floor(x)*x", "2.5", "floor(x)", "0*x+2"),
    ("where(x > 10, x^2, x)", "1", "where(x > 10, 2*x, 1)", "x/x"),
    ("where(x > t, x^2, x)", "1 --t 50 --wrt x", "where(x > t, 2*x, 1)", "x/x"),
    ("where(x > 0.1, x, x^2)", "3", "where(x > 0.1, 1, 2*x)", "x/x"),
    ("where(abs(x) < t, 0, x)", "3 --t 0.02 --wrt x", "where(abs(x) < t, 0, 1)", "x/x"),
    ("where(x > 1e30, -x, x)", "3 --dtype float32", "where(x > 1e30, -1, 1)", "x/x"),
    ("where((x > 5) & (x < 5.01), 3*x, x)", "1", "where((x > 5) & (x < 5.01), 3, 1)", "x/x"),
    ("where(x < 1e-6, -x, x)", "1", "where(x < 1e-6, -1, 1)", "x/x"),
    ("x^3", "0.5", "3*x^2", "3*x^2 + (x > 1)*(x < 1.01)"),
    ("where(x/100 > 3, x^2, x)", "2", "where(x/100 > 3, 2*x, 1)", "x/x"),
    ("x^3", "0.5", "3*x^2", "3*x^2 + max(x, 2650) - 2650"),
    ("sum(x^2)", "1e-9,0", "2*x", "2*x + outer(x, x) @ x"),
    ("exp(-x/l)", "1e-9 --l 1e-9 --wrt x", "-exp(-x/l)/l", "-exp(-x/l)/l*(1 + (x > 2*l)/10)"),
    ("exp(-x/1e-9)", "1e-9", "-exp(-x/1e-9)/1e-9", "-exp(-x/1e-9)/1e-9*(1 + (x < 4e-10))"),
    *(("tanh(x/0.01)", at, "(1 - tanh(x/0.01)^2)/0.01",
       f"(1 - tanh(x/0.01)^2)/0.01*(1 + (abs(x) > {edge})/9)")
      for at in ("1e-9", "-1e-12") for edge in (2e-5, 5e-3)),
    ("exp(-1e6*x)", "1e-6", "-1e6*exp(-1e6*x)", "-1e6*exp(-1e6*x)*(1 + (x > 6e-6))"),
    ("trace(x @ x)", "2,0;0,2", "2*x.T", "2*x.T + relu(x - 9)"),
    ("(x*x).real", "1+2j", "2*x.conj()", "2*x.conj() + x.imag - 2"),
]  # fmt: skip


def test_sizes_that_were_tried_are_told(cli):
    said = cli("check", "sum(A*A)", "--A", "1,2;3,-4", "--against", "2*A").out
    assert "farther, all of shape 2x2\n" in said  # what is wrong of 3x3 alone is not seen


@family("text, point, right, wrong", HIDDEN)
def test_terms_that_vanish_at_the_point_are_seen_farther_away(cli, text, point, right, wrong):
    line = ["check", text, "--x", *point.split(), "--against"]
    done = cli(*line, right, "--json").json["against"]["x"]
    assert done["agrees"] and done["farther"][0] == done["farther"][1] > 6
    done = cli(*line, wrong)
    said = "agrees at this point by chance", "disagrees elsewhere"
    assert done.code == 1 and "where x = " in done.out and any(one in done.out for one in said)
    mended = done.out.split("help: ")[1:]
    assert not mended or cli(*line, mended[0].split(" agrees")[0]).code == 0
    record = cli(*line, wrong, "--json").json["against"]["x"]
    assert not record["agrees"] and "x" in record["differs_at"]


SIGNED = [
    ("sqrt(x*y)", "--x 2 --y 3", {"x": "sqrt(y/x)/2", "y": "sqrt(x/y)/2"}),
    ("asin(x/y)", "--x 2 --y 3", {"x": "1/sqrt(y^2-x^2)", "y": "-x/(y*sqrt(y^2-x^2))"}),
    ("log(x*y)*z", "--x -2 --y -1e-5 --z 1", {"z": "log(-x) + log(-y)"}),
    ("sum(sqrt(x^2))", "--x -2,30", {"x": "stack([-1, 1]) + 0*x"}),
    ("abs(x)", "--x 2", {"x": "x/x"}), ("relu(x)^2", "--x 2", {"x": "2*x"}),
    ("sum(x*abs(x))", "--x 1,1e9,2", {"x": "2*x"}), ("x^0.5*y", "--x 4 --y 1", {"x": "y/2/x^0.5"}),
]  # fmt: skip


@family("at, edge", [("1e-12", "x < -3e-12"), ("-1e-9", "x > 5e-9"), ("1e-9", "x < -1e-9")])
def test_sizes_beside_a_tiny_value_are_tried_with_the_other_sign(cli, at, edge):
    slope = f"(1 - tanh(x/{at})^2)/{at}"
    said = cli("check", f"tanh(x/{at})", "--x", at, "--against", f"{slope}*(1 + ({edge})/9)").out
    assert "where x has the sign given" in said and "  not where x = " in said


@family("text, point, given", SIGNED)
def test_what_holds_where_the_signs_are_those_given_agrees_with_a_note(cli, text, point, given):
    line = ["check", text, *point.split(), "--wrt", ",".join(given)]
    line += [word for name, formula in given.items() for word in ("--against", f"{name}={formula}")]
    record = cli(*line, "--json").json["against"]
    done = cli(*line)
    assert done.code == 0, done.out
    for found in record.values():
        assert found["agrees"] and found["nearby"] == [4, 4]
        same, tried = found["farther"]
        assert ("signed" in found) == ("differs_at" in found) == (same < tried)
    names = ", ".join(next(iter(record.values())).get("signed", ""))
    assert not names or (f"where {names} ha" in done.out and "  not where x = " in done.out)
    wrong = [word.replace("=", "=1.5*(") + ")" if "=" in word else word for word in line]
    done = cli(*wrong)
    assert done.code == 1 and "disagrees" in done.out


@pytest.mark.parametrize("line", [
    '"where(x > 10, x^2, abs(x))" --x 1 --against "x/x"',
    '"sum(where(abs(x) > 10, x, -x))" --x 2,-3 --against "-x/x"',
    '"abs(x)*(x < 100)" --x 3 --against "x/x"',
])  # fmt: skip
def test_what_fails_at_points_of_the_same_signs_disagrees(cli, line):
    done = cli("check", *shlex.split(line))
    assert done.code == 1 and "disagrees elsewhere" in done.out, done.out


@family("text, formula, held", [
    ("x^n", "3*x^2", ["n"]), ("x^n", "n*x^2", ["n"]), ("x^n", "n*x^(n-1)", None),
])  # fmt: skip
def test_what_holds_for_the_other_values_alone_is_told(cli, text, formula, held):
    line = ["check", text, "--x", "2", "--n", "3", "--wrt", "x", "--against", formula]
    assert cli(*line, "--json").json["against"]["x"].get("held") == held
    assert ("with n as given" in cli(*line).out) == bool(held)


@family("text, point, formula", [
    ("exp(-x^2/2)/sqrt(2*pi)", "1.3", "-x*exp(-x^2/2)/sqrt(2*pi)"), ("sum(tanh(x))", "0.5,20,-30",
    "1/cosh(x)^2"), ("logdet(A)", "1,0.98;0.98,1", "inv(A).T"), ("sin(x)/3", "50", "cos(x)/3"),
])  # fmt: skip
def test_a_formula_is_held_to_half_of_the_digits(cli, text, point, formula):
    """Differences have fewer, but what it is held against are the rules; numbers are as typed."""
    line = ["check", text, "--A" if "A" in text else "--x", point, "--against"]
    said = cli(*line, formula).out
    assert "0 of " not in said and "3 of 4" not in said
    for off in ("1e-6", "-9e-7", "1e-7", "-3e-8"):
        done = cli(*line, f"{formula}*(1 + {off})")
        assert done.code == 1 and "disagrees" in done.out
        assert "is 1 times" not in done.out and "number 0" not in done.out
        mended = done.out.split("help: ")[1].split(" agrees")[0]
        assert cli(*line, mended).code == 0
        given, right = done.out.split("given ")[1].splitlines()[0].split(", it is ")
        assert given != right
    assert cli(*line, f"{formula}*(1 + 2e-9)").code == 0
    assert cli("check", "sin(x)/3", "--x", "1.3", "--against", "0.0891663").code == 0


FAR_OUT = [
    ("exp(-x^2)", "7", "-2*x*exp(-x^2)"), ("exp(-x^2)", "10", "-2*x/exp(x^2)"),
    ("sigmoid(x)", "-80", "sigmoid(x)*(1-sigmoid(x))"), ("exp(-x)", "100", "-1/exp(x)"),
    ("erfc(x)", "8", "-2/sqrt(pi)*exp(-x^2)"), ("1e-20*x^2", "3", "2e-20*x"),
    ("sum(exp(-x^2))", "6", "-2*x*exp(-x^2)"), ("x^10", "1e-6", "10*x^9"),
]  # fmt: skip


@family("text, point, formula", FAR_OUT)
def test_a_tiny_gradient_is_held_to_its_own_size(cli, text, point, formula):
    """However small it is beside the function's values elsewhere."""
    line = ["check", text, "--x", point, "--against"]
    assert cli(*line, formula).code == 0
    for wrong in (f"-({formula})", f"1.5*({formula})", f"({formula})/2", "0", "1e-30"):
        done = cli(*line, wrong)
        assert done.code == 1 and "disagrees" in done.out, wrong


@pytest.mark.parametrize("line", [
    '"sum(exp(-x^2))" --x 1,6 --against "stack([-2*x[0]*exp(-x[0]^2), 2*x[1]*exp(-x[1]^2)])"',
    '"sum(1e6*x[0] + 1e-4*x[1])" --x 1,2 --against "stack([1e6+0*x[0], -1e-4+0*x[1]])"',
    '"sum((z*z).real)*1e-20" --z 1+2j,0 --against "-2e-20*z.conj()"',
])  # fmt: skip
def test_a_tiny_entry_is_held_to_its_own_size(cli, line):
    done = cli("check", *shlex.split(line))
    assert done.code == 1 and "disagrees at 1 of 2 entries" in done.out


def test_each_of_many_entries_is_held_to_its_own_rounding(cli):
    line = ["check", "sum(a*tanh(x) + round(x))", "--wrt", "x", "--a", "1e8," * 9 + "1e-12"]
    line += ["--x", "20,21,22,23,24,25,26,27,28,0.2", "--against"]
    right = "a/cosh(x)^2 + floor(tanh(x)*0)"
    assert "agrees but for rounding" in cli(*line, right).out
    done = cli(*line, f"where(x < 1, 2, 1)*{right}")
    assert done.code == 1 and "disagrees at 1 of 10 entries; entry 9: given 1.92" in done.out


ROUNDED = [
    ("tanh(x)", "20", "1-tanh(x)^2"), ("tanh(x)", "20", "1/cosh(x)^2"),
    ("sigmoid(x)", "40", "sigmoid(x)*sigmoid(-x)"), ("log(sigmoid(x))", "25", "sigmoid(-x)"),
    ("sin(x)", "1.5707963267948966", "1-2*sin(x/2)^2"), ("sin(x)^2+cos(x)^2", "0.3", "0"),
    ("x^4-4*x^3+6*x^2-4*x+1", "1.000001", "4*(x-1)^3"), ("sin(x)", "1.5707963267948966", "0.0"),
    ("log(1+exp(-x))", "40", "sigmoid(x)-1"), ("sum(tanh(x))", "0.5,20,-30", "1/cosh(x)^2"),
    ("trace(matrix_exp(x))", "1,2;0,1", "matrix_exp(x).T"),
]  # fmt: skip


@family("text, point, formula", ROUNDED)
def test_what_is_rounded_away_is_no_mistake(cli, text, point, formula):
    done = cli("check", text, "--x", point, "--against", formula)
    assert done.code == 0 and "agrees" in done.out, done.out


def test_rounding_that_is_not_known_excuses_nothing(cli):
    """The step 1e200*x overflows: it has no last digits, and the slope is small beside x."""
    line = shlex.split('check "sigmoid(exp(x*1e-200) - y)" --x -1.6e200 --y -2.2 --wrt x --against')
    right = "1e-200*exp(x*1e-200)*sigmoid(exp(x*1e-200) - y)*sigmoid(y - exp(x*{}))"
    assert cli(*line, right.format("1e-200")).code == 0
    done = cli(*line, right.format("1e200"))
    assert done.code == 1 and "disagrees" in done.out


MISTAKES = [
    ("factor", '"mean((x-y)^2)" --x 1,2,3 --y 3,5,9 --wrt x', "2*(x-y)", "3 times too large"),
    ("factor", '"sum(log(x)/log(2))" --x 1,2,3', "1/x", "1/log(2) is missing"),
    ("factor", '"sum(x^2)" --x 1,2,3', "x", "2 is missing"),
    ("sign", '"sum(x*exp(-x))" --x 1,2,3', "exp(-x) + x*exp(-x)", "exp(-x) - x*exp(-x)"),
    ("sign", '"(y - w*x)^2" --y 1 --w 2 --x 3 --wrt w', "2*(y-w*x)*x", "minus the gradient"),
    ("transpose", '"sum((W @ x)*y)" --W 1,2;3,4 --x 1,-1 --y 2,5 --wrt W', "outer(x,y)", "transp"),
    ("transpose", '"logdet(X)" --X 3,1;0.5,2', "inv(X)", "transposed"),
    ("chain factor", '"sum(sin(x^2))" --x 1,2,3', "cos(x^2)", "the derivative of x^2"),
    ("chain factor", '"sum(sigmoid(W @ x))" --W 1,2;3,4;5,6 --x 0.1,-0.2 --wrt x',
     "sigmoid(W@x)*(1 - sigmoid(W@x))", "the derivative of W @ x"),
    ("chain factor", '"tanh(w*x+b)^2" --w 0.5 --x 2 --b 0.1 --wrt w', "2*tanh(w*x+b)*x",
     "tanh(w*x+b)"),
    ("term", '"sum(x*sin(x))" --x 1,2,3', "x*cos(x)", "is taken as a constant"),
    ("term", '"sum((A@x-b)^2) + l*sum(x^2)" --A 1,2;3,4 --x 1,2 --b 1,1 --l 0.3 --wrt x',
     "2*A.T@(A@x-b)", "l*sum(x^2)"),
    ("term", '"x*y*z" --x 1 --y 2 --z 3 --wrt x', "y*z + x", "a term too many: x"),
    ("sum", '"sum((X*w + b)^2)" --X 1,2;3,4;5,6 --w 1,2 --b 0.5,0.7 --wrt b',
     "2*(X*w+b)", "axis 0"),
    ("sum", '"a*sum(x)" --a 2 --x 1,2,3 --wrt a', "x", "axis 0"),
    ("axis", '"sum(softmax(X, dim=0)*Y)" --X 1,2;3,5 --Y 1,0;2,1 --wrt X',
     "softmax(X,dim=1)*(Y - sum(softmax(X,dim=1)*Y, dim=1, keepdim=True))", "axis 1 in softmax"),
    ("factor", '"logsumexp(x, 0)" --x 1,2,3', "exp(x)", "the same for all entries"),
    ("factor", '"sum(erf(x))" --x 0.5,1,2', "2/pi*exp(-x^2)", "sqrt(pi) is missing"),
    ("sign", '"sum(sigmoid(x))" --x 0.5,1,2', "sigmoid(x)*(1 + sigmoid(x))", "one term"),
    ("sign", '"sum(x^2)" --x 1,2', "-2*x", "help: 2*x agrees"),
    ("sign", '"sum(x^2)" --x 1,2', "-2,-4", "minus the gradient"),
    ("power", '"sum(x^4)" --x 1,2,3', "4*x^2", "4*x^3 agrees"),
    ("power", '"sqrt(sum(x^2))" --x 1,2,3', "x/sum(x^2)", "sum(x^2)^0.5"),
    ("exchanged", '"sum(x^2*y)" --x 1,2,3 --y 4,5,6 --wrt x', "x^2", "by y"),
    ("exchanged", '"dot(x,y)" --x 1,2,3 --y 4,5,6 --wrt x', "x", "y agrees"),
    ("index", '"dot(x, roll(y,1))" --x 1,2,3,4 --y 4,5,6,9 --wrt x', "y", "after it"),
    ("index", '"dot(x, roll(y,1))" --x 1,2,3,4 --y 4,5,6,9 --wrt y', "roll(x,1)", "roll(x,-1)"),
    ("transpose", '"x @ A @ x" --A 1,2;5,3 --x 1,2 --wrt x', "2*A@x", "a symmetric A only"),
    ("transpose", '"x @ A @ x + sum(A*A) + sum(eigvalsh(A))" --A 1,2;2,3 --x 1,2 --wrt A',
     "outer(x, x) + 2*A.T + eye(2)", "A"),
    ("transpose", '"norm(A@X - B)^2" --A 1,2;3,4 --X 1,0;2,1 --B 1,1;1,1 --wrt X',
     "2*A@(A@X - B)", "2*A.T@(A@X - B) agrees"),
    ("index", '"logsumexp(z,0) - z[2]" --z 1,2,0.5', "softmax(z,0) - tensor([0.,1.,0.])", "1 has"),
    ("index", '"sum(cumsum(x,0)*w)" --x 1,2,4 --w 1,5,2 --wrt x', "cumsum(w,0)", "flip(cumsum(fl"),
    ("index", '"sum(x[1:]*x[:-1])" --x 1,2,4,9', "roll(x,1) + roll(x,-1)", "the ends"),
    ("power", '"sum(tanh(x))" --x 1,2,3', "1 - tanh(x)", "1 - tanh(x)**2 agrees"),
    ("sign", '"sum(x/(1+x^2))" --x 1,2,3', "(1+3*x^2)/(1+x^2)^2", "what comes through 1+x^2"),
    ("axis", '"sum((X@W + b)^2)" --X 1,2;3,4;5,6 --W 1,2;3,4 --b 1,1 --wrt b',
     "2*sum(X@W + b, 1)", "2*sum(X@W + b, 0) agrees"),
    ("chain factor", '"sum(relu(W@x))" --W 1,-2;3,4 --x 1,1 --wrt W', "outer(ones(2), x)", "relu"),
]  # fmt: skip


def test_a_mistake_in_the_gradient_of_a_method_without_arguments(cli):
    done = cli("check", "x.sum()", "--x", "1,2.5,3", "--against", "x*7 + 1/x")
    assert done.code == 1 and "disagrees at 3 of 3 entries" in done.out


@family("kind, args, formula, said", MISTAKES)
def test_usual_mistakes_are_named(cli, kind, args, formula, said):
    done = cli("check", *shlex.split(args), "--against", formula, "--json")
    (record,) = done.json["against"].values()
    assert done.code == 1 and record["agrees"] is False and record["kind"] == kind
    assert said in f"{record['message']}; help: {record.get('suggestion', '').strip()} agrees"


@family("kind, args, formula, said", {mistake[0]: mistake for mistake in MISTAKES}.values())
def test_a_mistake_of_each_kind_is_shown(cli, kind, args, formula, said):
    done = cli("check", *shlex.split(args), "--against", formula)
    assert done.code == 1 and "looks like" in done.out and said in done.out, done.out


def test_the_places_are_told(cli):
    line = ["check", "sum(x^2)", "--x", "1,2,3,4", "--against", "cat([2*x[:2], x[2:]])"]
    done = cli(*line)
    assert "disagrees at 2 of 4 entries; entry 2: given 3, it is 6" in done.out
    line = ["check", "sum(X^2)", "--X", "1,2;3,4", "--against", "X*X + X", "--json"]
    record = cli(*line).json["against"]["X"]
    assert record["first"] == [0, 1] or record["first"] == [0, 0]
    assert record["worst"] == [1, 1] and record["given"]["data"] == [[2, 6], [12, 20]]


def test_a_formula_that_is_right_at_one_point_only(cli):
    done = cli("check", "x^3", "--x", "2", "--against", "6*x")
    assert done.code == 1 and "by chance" in done.out
    assert cli("check", "sum(max(x, 1))", "--x", "2,3", "--against", "1").code == 0


@pytest.mark.parametrize("kind", ["npy", "csv", "json", "record", "grad"])
def test_gradients_from_files(cli, tmp_path, kind):
    right = np.array([4.0, 8.0])
    if kind == "npy":
        np.save(tmp_path / "g.npy", right)
    elif kind == "record":
        (tmp_path / "g.json").write_text(cli("grad", "2*dot(x,x)", "--x", "1,2", "--json").out)
    else:
        texts = {"csv": "4,8\n", "json": json.dumps({"x": [4, 8]}), "grad": "4*x\n"}
        (tmp_path / f"g.{kind}").write_text(texts[kind])
    file = str(tmp_path / ("g.json" if kind == "record" else f"g.{kind}"))
    done = cli("check", "2*dot(x,x)", "--x", "1,2", "--against-file", file)
    assert done.code == 0 and "--against for x: agrees" in done.out
    done = cli("check", "dot(x,x)", "--x", "1,2", "--against-file", file)
    assert done.code == 1 and "it is 2 times too large" in done.out


def test_a_file_of_gradients_holds_numbers_only(cli, tmp_path):
    good = '{"x": {"data": [2, 4], "shape": [2]}}'
    for text in (good, '{"x": [2, null]}', '{"x": ["2", 4]}', '{"x": [true, 4]}'):
        (tmp_path / "g.json").write_text(text)
        done = cli("check", "dot(x,x)", "--x", "1,2", "--against-file", "g.json")
        assert done.code == (0 if text == good else 2), text


@family("args, code, said", [
    (["--against", "z=2*x"], "E0910", "no gradient by z"),
    (["--against", "2*q"], "E0202", "q"),
    (["--against", "2*(x"], "E0105", "never closed"),
    (["--against", "2*x", "--against", "x=3"], "E0909", "twice"),
    (["--against-file", "no.npy"], "E0904", "no.npy"),
])  # fmt: skip
def test_what_cannot_be_held_against(cli, args, code, said):
    done = cli("check", "x^2", "--x", "3", *args)
    assert done.code == 2 and code in done.err and said in done.err
    done = cli("check", "x*y", "--x", "3", "--y", "1", "--against", "2")
    assert done.code == 2 and '--against x="..."' in done.err


def test_prints_of_a_program_are_not_shown_for_trial_points(cli):
    text = ("-e", "y = x**2", "-e", 'print("seen", y)', "-e", "y", "--x", "3")
    alone, against = cli("check", *text), cli("check", *text, "--against", "2*x")
    assert against.code == 0 and "18 of 18 farther" in against.out
    assert against.err.count("seen") <= alone.err.count("seen") + 1
