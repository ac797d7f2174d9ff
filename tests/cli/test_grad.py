"""``gradcli grad`` and ``gradcli eval``: results, forms of output, variables, errors."""

from __future__ import annotations

import io
from itertools import product

import numpy as np
import pytest

from tests.support.families import family

SIGMOID = ("sum(sigmoid(W @ x + b)**2)", "--W", "0.1,0.2;-0.3,0.4", "--x", "-1,2", "--b", "0,0")


def test_the_main_job(process):
    done = process("grad", "2*dot(x,x)", "--x", "0,1,2,3")
    assert (done.code, done.err) == (0, "")
    assert done.out == "value  28\nd/dx   [0, 4, 8, 12]\n"


def test_agrees_with_pytorch(cli):
    """Figures from PyTorch 2.13.0 (CPU, float64)."""
    found = cli("grad", *SIGMOID, "--json").json
    assert found["schema"] == 1 and found["ok"] is True and found["command"] == "grad"
    assert abs(found["value"]["data"] - 0.8928744311685104) < 1e-12
    expected = {
        "W": [[-0.28085449564632214, 0.5617089912926443], [-0.2811522912293345, 0.562304582458669]],
        "x": [-0.056260237804168126, 0.16863181562099822],
        "b": [0.28085449564632214, 0.2811522912293345],
    }
    for name, values in expected.items():
        assert found["grads"][name]["dtype"] == "float64"
        np.testing.assert_allclose(found["grads"][name]["data"], values, rtol=0, atol=1e-12)


def test_human_output_is_aligned(cli):
    done = cli("grad", *SIGMOID, "--wrt", "W,b")
    assert done.out == (
        "value  0.8928744\n"
        "d/dW   [[-0.2808545,  0.5617090],\n"
        "        [-0.2811523,  0.5623046]]\n"
        "d/db   [0.2808545, 0.2811523]\n"
    )


def test_precision(cli):
    assert cli("eval", "2/3", "--precision", "full").out == "value  0.6666666666666666\n"
    assert cli("eval", "2/3", "--precision", "3").out == "value  0.667\n"
    assert cli("eval", "2/3", "--precision", "lots").code == 2


def test_retain_keeps_an_intermediate_gradient(cli):
    done = cli("grad", "h = x + 1; (h - 2*x)^2", "--x", "3", "--retain", "h")
    assert done.out == "value  4\nd/dx   4   (leaf)\nd/dh   -4  kept\n"
    found = cli("grad", "h = x + 1; (h - 2*x)^2", "--x", "3", "--retain", "all", "--json").json
    assert found["retained"]["h"]["grad"]["data"] == -4.0
    assert found["retained"]["h"]["value"]["data"] == 4.0
    assert found["grads"]["x"]["data"] == 4.0
    assert cli("grad", "x^2", "--x", "3", "--retain", "h").code == 2


def test_power_sign_binds_like_python(cli):
    assert cli("eval", "-x^2", "--x", "-3").out == "value  -9\n"
    assert cli("eval", "2^3^2").out == "value  512\n"


def test_a_result_past_64_bits_is_told(cli):
    done = cli("eval", "2**62 + 2**62")
    assert done.code == 1 and "the result is a whole number past 64 bits" in done.err


def test_a_result_that_is_a_list_keeps_its_graph(cli):
    found = cli("jac", "[x[0]*2, x[1]*x[0]]", "--x", "1,2", "--json").json["jacobians"]
    assert found["x"]["data"] == [[2.0, 0.0], [2.0, 1.0]]


@family(
    "text, shape, data",
    [
        ("5", [], 5.0),
        ("5,", [1], [5.0]),
        ("0,1,2,3", [4], [0.0, 1.0, 2.0, 3.0]),
        ("1,2;3,4", [2, 2], [[1.0, 2.0], [3.0, 4.0]]),
        ("2x2:1,2,3,4", [2, 2], [[1.0, 2.0], [3.0, 4.0]]),
        ("[[1,2],[3,4]]", [2, 2], [[1.0, 2.0], [3.0, 4.0]]),
        ("0:1:0.25", [4], [0.0, 0.25, 0.5, 0.75]),
        ("pi/4", [], 0.7853981633974483),
        ("-1e3", [], -1000.0),
    ],
)
def test_value_forms(cli, text, shape, data):
    value = cli("eval", "x", "--x", text, "--json").json["value"]
    assert (value["shape"], value["data"], value["dtype"]) == (shape, data, "float64")


def test_value_forms_with_a_type(cli):
    assert cli("eval", "x", "--x", "int:3", "--json").json["value"]["dtype"] == "int64"
    assert cli("eval", "x", "--x", "bool:true", "--json").json["value"]["data"] is True
    assert cli("eval", "x", "--x", "float32:1,2", "--json").json["value"]["dtype"] == "float32"
    assert (
        cli("grad", "x*2", "--x", "1", "--dtype", "float32", "--json").json["value"]["dtype"]
        == "float32"
    )


def test_complex_values_take_the_asked_precision(cli):
    for text, kind in (
        ("1+2j", "complex64"), ("2x1:1,2j", "complex64"), ("2x1:complex128:1,2j", "complex128"),
        ("1x1:double:1", "float64"),
    ):  # fmt: skip
        done = cli("eval", "x", "--x", text, "--dtype", "float32", "--json")
        assert done.json["value"]["dtype"] == kind, text
    done = cli("eval", "x", "--x", "1+1e39j", "--dtype", "float32")
    assert done.code == 2 and "too large for complex64" in done.err


@pytest.mark.filterwarnings("always:float:UserWarning")
def test_what_is_taken_off_the_graph_is_said(cli):
    for text, by in (("float(p)*x", "float"), ("p.item()*x", "item"), ("p.detach()*x", "detach")):
        for command in ("grad", "vjp"):
            done = cli(command, text, "--p", "2", "--x", "3")
            said = f"the gradient by p is 0: `{by}` takes it off the graph\n"
            if by == "float":  # where the gradient by p is not 0, too
                said = "float() of a tensor gives a number, and no gradient or tangent comes back: "
                said += "compute with the tensor, or write x.detach()\n"
                done = cli(command, f"{text} + p", "--p", "2", "--x", "3")
            assert done.err == f"warning: {said}"
        done = cli("check", text, "--p", "2", "--x", "3")
        assert done.code == 1 and f"help: `{by}` takes a value off the graph" in done.err
    assert not cli("grad", "p*x + p.item()", "--p", "2", "--x", "3").err


def test_values_from_files(cli, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1.0, 2.0]))
    np.savez(tmp_path / "all.npz", a=np.array([3.0, 4.0]))
    (tmp_path / "t.csv").write_text("time,height\n0,1\n1,4\n")
    assert cli("eval", "sum(x)", "--x", "@x.npy").out == "value  3\n"
    assert cli("eval", "sum(x)", "--x", "@all.npz:a").out == "value  7\n"
    assert cli("eval", "x", "--x", "@t.csv:height").out == "value  [1, 4]\n"
    (tmp_path / "v.json").write_text('{"x": [1, 2], "a": "pi"}')
    assert cli("eval", "x*a", "--vars", "v.json", "--precision", "3").out == "value  [3.14, 6.28]\n"
    (tmp_path / "v.json").write_text('{"x": [1, 1e400]}')
    done = cli("eval", "x", "--vars", "v.json")
    assert done.code == 2 and "1e400 is too large for float64" in done.err
    for nothing in ("null", "[1, null]", '{"data": [[1], [null]]}'):
        (tmp_path / "v.json").write_text(f'{{"x": {nothing}}}')
        done = cli("eval", "x", "--vars", "v.json")
        assert done.code == 2 and "E0904" in done.err and "write NaN" in done.err
    (tmp_path / "v.json").write_text('{"x": [true, false]}')
    assert cli("eval", "x", "--vars", "v.json").out == "value  [True, False]\n"
    records = {
        '{"data": [], "shape": [0, 3]}': "value  [] shape (0, 3)\n",
        '{"data": [{"re": 1, "im": 2}, 3]}': "value  [1+2j, 3+0j]\n",
    }
    for record, shown in records.items():
        (tmp_path / "v.json").write_text(f'{{"x": {record}}}')
        (tmp_path / "r.json").write_text(record)
        assert cli("eval", "x", "--vars", "v.json").out == shown
        assert cli("eval", "x", "--x", "@r.json").out == shown
    for wrong in ('[1, "1e400"]', "[1, null]", "[true, 2]", '["1_0"]', '[{"re": 1}]'):
        (tmp_path / "v.json").write_text(f'{{"x": {wrong}}}')
        (tmp_path / "r.json").write_text(f'{{"data": {wrong}}}')
        assert cli("eval", "x", "--vars", "v.json").code == 2
        assert cli("eval", "x", "--x", "@r.json").code == 2
    (tmp_path / "v.json").write_text('{"x": [1, 1e39]}')
    for given in (("--vars", "v.json"), ("--x", "1e39"), ("--x", "pi,2e38*2")):
        assert cli("eval", "x", *given).code == 0
        done = cli("eval", "x", *given, "--dtype", "float32")
        assert done.code == 2 and "a number is too large for float32" in done.err


def test_a_data_file_cannot_name_other_files(cli, tmp_path):
    """P9: what stands inside a data file may come from a stranger."""
    (tmp_path / "secret.csv").write_text("42\n")
    (tmp_path / "v.json").write_text('{"x": "@secret.csv"}')
    done = cli("eval", "x", "--vars", "v.json")
    assert done.code == 2 and "42" not in done.out + done.err
    assert cli("eval", "x", "--x", "@secret.csv").out == "value  42\n"


def test_value_from_standard_input(piped):
    assert piped("eval", "sum(x)", "--x", "@-", stdin="1,2,3\n").out == "value  6\n"
    assert piped("eval", "-", "--x", "4", stdin="x^2").out == "value  16\n"


def test_random_values_repeat_with_a_seed(cli):
    one = cli("eval", "x", "--x", "randn(3)", "--rng", "0").out
    assert one == cli("eval", "x", "--x", "randn(3)", "--rng", "0").out
    assert one != cli("eval", "x", "--x", "randn(3)", "--rng", "1").out


def test_pieces_and_set(cli):
    done = cli("grad", "-e", "h = x*2", "-e", "h*json", "--x", "3", "--set", "json=5", "--wrt", "x")
    assert done.out == "value  30\nd/dx   10\n"


def test_program_file(cli, tmp_path):
    (tmp_path / "p.grad").write_text("y = 1.0\nfor i in range(3):\n    y = y*x\nz = y + 1\ny\n")
    assert cli("grad", "-f", "p.grad", "--x", "2").out == "value  8\nd/dx   12\n"
    assert cli("grad", "-f", "p.grad", "--x", "2", "--of", "z").out == "value  9\nd/dx   12\n"
    done = cli("grad", "-f", "p.grad", "--x", "2", "--of", "w")
    assert done.code == 2 and "--of w" in done.err


def test_cotangent(cli):
    done = cli("grad", "x^2", "--x", "1,2,3", "--cotangent", "1,0,2")
    assert done.out == "value  [1, 4, 9]\nd/dx   [2, 0, 12]\n"
    assert cli("grad", "x^2", "--x", "1,2,3", "--cotangent", "1,0").code == 2
    done = cli("grad", "x^2", "--x", "1,2,3")
    assert (
        done.code == 1 and "E0403" in done.err and "^^^" in done.err and "--cotangent" in done.err
    )


def test_csv_and_npy(cli, process):
    assert cli("grad", "dot(x,x)", "--x", "1,2", "--format", "csv").out == "2.0\n4.0\n"
    both = cli("grad", "a*b", "--a", "2", "--b", "3", "--format", "csv").out
    assert both == "name,index,value\nvalue,,6.0\na,,3.0\nb,,2.0\n"
    assert cli("grad", "x", "--x", "1", "--format", "xml").code == 2


def test_npy_is_read_back(wheel, tmp_path):
    import os
    import subprocess
    import sys

    for unbuffered in ("", "1"):
        done = subprocess.run(
            [sys.executable, "-m", "gradcli", "grad", "dot(x,x)", "--x", "1,2", "--format", "npy"],
            env={**os.environ, "PYTHONPATH": str(wheel), "PYTHONUNBUFFERED": unbuffered},
            capture_output=True, check=True, cwd=tmp_path,
        )  # fmt: skip
        assert np.load(io.BytesIO(done.stdout)).tolist() == [2.0, 4.0]


def test_not_finite_is_a_string_in_json(cli):
    found = cli("grad", "sum(exp(x))", "--x", "1000,1", "--json").json
    assert found["value"]["data"] == "Infinity"
    assert found["warnings"]


def test_unknown_function_names_the_place(cli):
    done = cli("grad", "x*sni(x)", "--x", "1")
    assert done.code == 2
    assert "error[E0201]: unknown function `sni`" in done.err
    assert "   1 | x*sni(x)\n     |   ^^^\n" in done.err
    assert "`sin`" in done.err


def test_bad_sizes_label_both_operands(cli):
    done = cli("grad", "sum(W @ x)", "--W", "3x4:" + ",".join("1" * 12), "--x", "1,2,3")
    assert done.code == 1 and "E0301" in done.err
    assert "W: shape (3, 4)   from --W" in done.err
    assert "x: shape (3,)   from --x" in done.err
    assert "(4, 3) @ (3,)" in done.err


def test_a_mistyped_option_is_no_variable(cli):
    done = cli("grad", "x^2", "--jsn", "3")
    assert done.code == 2 and "E0902" in done.err and "--json" in done.err


def test_missing_value(cli):
    done = cli("grad", "a*x + b", "--a", "1", "--x", "2")
    assert done.code == 2 and "E0202" in done.err and "no value for `b`" in done.err


def test_bad_value_has_carets(cli):
    done = cli("grad", "sum(x)", "--x", "0,1,2o,3")
    assert done.code == 2 and "E0901" in done.err and "20" in done.err
    assert "0,1,2o,3\n     |     ^^" in done.err


def test_errors_as_json(cli):
    done = cli("grad", "x*sni(x)", "--x", "1", "--json")
    assert done.code == 2 and done.err == ""
    error = done.json["error"]
    assert done.json["ok"] is False and error["code"] == "E0201"
    assert error["span"] == {"line": 1, "column": 3, "end_line": 1, "end_column": 6}


def test_variables_by_integer_have_no_derivative(cli):
    assert cli("grad", "x*y", "--x", "int:3", "--y", "2").out == "value  6\nd/dy   3\n"
    assert cli("grad", "x*y", "--x", "int:3", "--y", "2", "--wrt", "x").code == 2


def test_constants_until_a_flag_takes_the_name(cli):
    assert cli("eval", "e", "--precision", "4").out == "value  2.718\n"
    assert cli("grad", "e*x", "--e", "3", "--x", "2").out == "value  6\nd/de   2\nd/dx   3\n"


def test_limits(cli):
    done = cli("eval", "ones(100000, 100000)")
    assert done.code == 3 and "E0602" in done.err and "--max-mem" in done.err
    done = cli("eval", "-e", "while True: pass", "--max-steps", "1000")
    assert done.code == 3 and "E0601" in done.err


def test_timeout_ends_a_long_computation(cli):
    done = cli("eval", "-e", "while True: pass", "--timeout", "0.2", "--max-steps", "1000000000")
    assert done.code == 3 and "E0608" in done.err


def test_cuda_without_cupy(cli):
    done = cli("grad", "x", "--x", "1", "--device", "cuda")
    assert done.code == 1 and "CuPy" in done.err


def test_show_adds_the_programs_variables(cli):
    done = cli("grad", "h = x + 1; (h - 2*x)^2", "--x", "3", "--show", "h")
    assert done.out == "value  4\nd/dx   4\nh      4\n" and done.err == ""
    shown = cli("grad", "h = x + 1; (h - 2*x)^2", "--x", "3", "--show", "h", "--json").json
    assert shown["shown"]["h"]["value"]["data"] == 4.0
    done = cli("grad", "hello = x + 1; hello^2", "--x", "3", "--show", "helo")
    assert done.code == 2 and "did you mean hello?" in done.err


@family(
    "option, given, meant",
    [
        ("--dtype", "flaot32", "float32"),
        ("--format", "jsno", "json"),
        ("--nan", "eror", "error"),
        ("--color", "nevr", "never"),
        ("--device", "cud", "cuda"),
    ],
)
def test_a_mistyped_choice_gets_the_nearest(cli, option, given, meant):
    done = cli("grad", "x^2", "--x", "3", option, given)
    assert done.code == 2 and "E0907" in done.err and f"did you mean {meant}?" in done.err


@family(
    "text",
    ["norm(x, p)", "sum(add(x, x, alpha=p))", "sum(elu(-x, p))", "sum(var(x, correction=p))"],
)
def test_no_derivative_by_a_parameter_is_made_up(cli, text):
    """PyTorch refuses too: a parameter must be a number, not a tensor that requires grad."""
    given = ("--x", "1,2", "--p", "1.5")
    refused = cli("grad", text, *given)
    assert refused.code == 1 and "must be a plain number" in refused.err
    assert "--wrt" in refused.err
    value = cli("eval", text, *given, "--json").json["value"]["data"]
    by_x = cli("grad", text, *given, "--wrt", "x", "--json").json
    assert by_x["value"]["data"] == value
    moved = cli("jvp", text, *given, "--along", "x=1,0", "--json").json
    assert moved["tangent"]["data"] == pytest.approx(by_x["grads"]["x"]["data"][0])
    number = cli("grad", text.replace("p)", "1.5)").replace("=p", "=1.5"), *given[:2], "--json")
    assert number.json["grads"]["x"]["data"] == by_x["grads"]["x"]["data"]


def test_no_derivative_by_an_order_is_made_up(cli):
    given = ("--x", "1,2", "--n", "1")
    refused = cli("grad", "sum(polygamma(n, x))", *given)
    assert refused.code == 1 and "n must be a whole number, not Tensor" in refused.err
    found = cli("grad", "sum(polygamma(n, x))", *given, "--wrt", "x", "--json").json
    assert found["value"]["data"] == pytest.approx(np.pi**2 / 3 - 1)


def test_leaves_that_the_program_makes(cli, tmp_path):
    file = tmp_path / "own.grad"
    file.write_text("x = tensor(2.0, requires_grad=True)\nw = ones(2, requires_grad=True)\n"
                    "h = w.sum()\ny = x**2 * h * a\n")  # fmt: skip
    done = cli("grad", "-f", str(file), "--a", "3")
    assert done.out == "value  24\nd/da   8\nd/dx   24\nd/dw   [12, 12]\n"
    done = cli("grad", "-f", str(file), "--a", "3", "--json", "--retain", "h")
    assert set(done.json["grads"]) == {"a", "x", "w"} and "h" in done.json["retained"]
    assert "sets x itself" in cli("grad", "-f", str(file), "--a", "3", "--wrt", "x").err
    file.write_text("import torch\nx = torch.tensor(2.0, requires_grad=True)\ny = x**3\n"
                    "y.backward()\nprint(x.grad)\n")  # fmt: skip
    done = cli("grad", "-f", str(file))
    assert done.out == "value  8\nd/dx   12\n" and done.err == "tensor(12.)\n"


@family("names, command", product(["", ",", " , "], ["grad", "check", "jac"]))
def test_wrt_without_a_name_is_refused(cli, command, names):
    done = cli(command, "x*x", "--x", "2", "--wrt", names)
    assert done.code == 2 and "E0910" in done.err


def test_why_there_is_no_derivative_is_said(cli):
    for command, place in (("grad", "grads"), ("jac", "jacobians"), ("hess", "hessians")):
        done = cli(command, "n*m", "--n", "int:3", "--m", "bool:1")
        said = "n, m are bool and int64, which have no derivative"
        assert (done.out, done.err) == ("value  3\n", f"warning: {said}\n")
        found = cli(command, "n*m", "--n", "int:3", "--m", "bool:1", "--json").json
        assert found[place] == {} and found["warnings"] == [said]
    assert "the program has no variable" in cli("vjp", "2 + 1").err
    assert "nothing is recorded" in cli("explain", "2*n", "--n", "int:3").out


def test_second_derivatives_by_a_complex_variable_need_a_direction(cli):
    text, at = "abs(z)**2*x**2", ("--z", "1+2j", "--x", "2")
    done = cli("hess", text, *at)
    assert done.code == 1 and "`z` is complex" in done.err and "gradcli hvp" in done.err
    assert "d2/dx2  10" in cli("hess", text, *at, "--wrt", "x").out
    assert "0+8j" in cli("hvp", text, *at, "--along", "z=1j").out


def test_a_json_file_is_read_whole_or_not_at_all(cli, tmp_path):
    file = tmp_path / "v.json"
    file.write_text('{"x": 1, "x": 2}')
    done = cli("eval", "x", "--vars", "v.json")
    assert done.code == 2 and "E0924" in done.err and "'x' stands twice" in done.err
    file.write_text('{"x": 1}' + " " * (4 << 20) + "}")  # what follows was never looked at
    done = cli("eval", "x", "--vars", "v.json")
    assert done.code == 2 and "larger than 4 MiB" in done.err
