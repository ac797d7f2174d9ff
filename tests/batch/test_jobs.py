"""Jobs of any kind: each line its own expression and command, each error its own."""

from __future__ import annotations

import io
import json

from gradcli.batch.jobs import JobTask
from gradcli.batch.lines import LineSource
from gradcli.batch.outputs import open_output
from gradcli.batch.session import Serial, run_session
from gradcli.batch.workers import Processes
from gradcli.cli.main import run
from gradcli.language.runtime.run import Limits
from tests.support.families import family


def raw(lines, executor=None, limits=None, dtype=None):
    text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    out = io.BytesIO()
    source = LineSource(io.BytesIO(text.encode()), "jobs")
    task = JobTask(limits or Limits(), dtype)
    run_session(source, task, executor or Serial(), open_output("jsonl", None, (), False, out))
    return out.getvalue().decode()


def jobs(*lines, **options):
    return [json.loads(line) for line in raw(lines, **options).splitlines()]


def data(record):
    return record["data"]


def test_the_commands():
    grad, value, jac, hess, diff, second = jobs(
        {"id": 1, "expr": "a*x^2", "vars": {"a": 2, "x": 3, "unused": 4}, "wrt": "x"},
        {"expr": "norm(x)", "vars": {"x": [3, 4]}, "command": "eval"},
        {"expr": "a*x^2", "vars": {"a": 2, "x": [1, 2]}, "command": "jac", "wrt": ["x"]},
        {"expr": "x*y^2", "vars": {"x": 2, "y": 3}, "command": "hess"},
        {"expr": "x.T @ A @ x", "command": "diff", "wrt": "x",
         "vars": {"x": "vector", "A": "matrix"}},
        {"expr": "x^3", "command": "diff", "order": 2, "vars": {"x": 2}},
    )  # fmt: skip
    assert grad["row"] == 1 and grad["id"] == 1 and grad["ok"] and grad["command"] == "grad"
    assert data(grad["value"]) == 18 and list(grad["grads"]) == ["x"]
    assert grad["notes"] == ["not used: unused"] and grad["warnings"] == []
    assert data(value["value"]) == 5 and "grads" not in value
    assert data(jac["jacobians"]["value"]["x"]) == [[4, 0], [0, 8]]
    assert data(hess["hessians"]["x"]["y"]) == 6 and data(hess["hessians"]["y"]["y"]) == 4
    assert diff["derivatives"] == {"x": "(A + A.T) @ x"} and diff["checked"]["points"] == 3
    assert second["order"] == 2 and data(second["values"]["x"]) == 12


def test_a_job_is_what_the_command_gives(capsys):
    for command, text, x in (
        ("grad", "sin(x)*y^2", 2), ("eval", "x/y", 2), ("diff", "sin(x)*y^2", 2),
        ("diff", "y*erfcx(x)", 1e8), ("diff", "y*(1 - cos(x))/x^2", 1e-9), ("diff", "abs(x*y)", 0),
        ("diff", "sqrt(x)*y", -1),
    ):  # fmt: skip
        assert run([command, text, "--x", str(x), "--y", "3", "--json"]) == 0
        alone = json.loads(capsys.readouterr().out)
        (job,) = jobs({"expr": text, "vars": {"x": x, "y": 3}, "command": command})
        assert {k: v for k, v in job.items() if k not in ("row", "id")} == alone


@family("text, vars, verdict", [
    ("x^3", {"x": 2}, True),
    ("x.half()*y", {"x": 0.3, "y": 2}, True),
    ("(x + 1e16 - 1e16)*y", {"x": 0.3, "y": 2}, True),
    ("sin(1e6*x)", {"x": 1e8}, True),
    ("sum(x^2)", {"x": [1e8, 1]}, True),
    ("abs(z)^2", {"z": "1+2j"}, True),
    ("sum(linalg.cholesky(A))", {"A": "4,1;1,3"}, True),
    ("sum(linalg.eigvalsh(A)**2)*sum(A.detach())", {"A": "4,1;1,3"}, False),
    ("abs(x)", {"x": 0}, None),
    ("x*y.detach()", {"x": 2, "y": 3}, False),
    ("floor(x) + x", {"x": 2}, False),
    ("sqrt(x)", {"x": 0}, False),
    ("log(x)", {"x": -1}, False),
    ("sum(x*x.detach())", {"x": [1, 2]}, False),
    ("x*randn(3).sum()", {"x": 2}, True),
    ("print(x)", {"x": 2}, "E0314"),
    ("x*1j", {"x": 2}, "E0403"),
    ("(x*1j).detach()", {"x": 2}, "E0403"),
    ("x*x", {"x": [1, 2]}, "E0403"),
])  # fmt: skip
def test_the_verdict_of_a_check_is_that_of_the_command(text, vars, verdict, capsys):
    (job,) = jobs({"expr": text, "vars": vars, "command": "check"})
    flags = [word for name, value in vars.items() for word in (f"--{name}", str(value).strip("[]"))]
    code = run(["check", text, *flags, "--json"])
    alone = json.loads(capsys.readouterr().out)
    if isinstance(verdict, str):
        assert code and alone["error"]["code"] == job["error"]["code"] == verdict
    elif verdict is False:
        assert code and alone["error"]["code"] == "E0410" and job["agrees"] is False
        assert job["differs"] == [alone["error"]["message"]] and job["max_rel_error"] is None
    else:
        alone = alone["checked"]
        assert (True if alone["compared"] else None) is verdict is job["agrees"]
        assert alone["compared"] == job["compared"] and alone["notes"] == job.get("notes", [])
        if "rand" not in text:
            assert alone["max_rel_error"] == job["max_rel_error"]


PARTS = ("value", "grads", "jacobians", "hessians")


@family("program, dtype", [
    ("import torch\nx*y + 0.1", None),
    ("import torch\ntorch.tensor(0.1)*x*y", None),
    ("import torch\nx*y + 0.1", "float64"),
    ("import torch\nx*y + torch.tensor(0.1)", "float64"),
    ("x*y + 0.1", "float32"),
    ("q = x*y\nq.backward()", None),
    ("q = x*y\nq.backward()\ny.grad + x", None),
    ("q = x*y\nq.backward()\nx.grad.item()*y.grad.item()*1.0", None),
    ("(x*1j).detach()*y.requires_grad", None),
    ("sqrt(x - x)*y", None),
    ("x*y*randn(2).sum() + rand(1).sum()*x", None),
])  # fmt: skip
def test_rows_and_jobs_are_what_the_commands_give(program, dtype, tmp_path, capsys):
    vars = {"x": 0.3, "y": 2.5}
    file, rows, out = (tmp_path / name for name in ("p.py", "rows.jsonl", "out.jsonl"))
    file.write_text(program)
    rows.write_text(json.dumps(vars) + "\n")
    more = [] if dtype is None else ["--dtype", dtype]
    for command in ("grad", "eval", "jac", "hess"):
        run([command, "-f", str(file), "--x", "0.3", "--y", "2.5", "--json", *more])
        alone = json.loads(capsys.readouterr().out)
        (job,) = jobs({"program": program, "vars": vars, "command": command}, dtype=dtype)
        found = [(job, {k: job[k] for k in PARTS if k in job})]
        if "jacobians" in job:
            found[0][1]["jacobians"] = job["jacobians"]["value"]
        if "hessians" in job:
            found[0][1]["hessians"] = {
                a if a == b else f"{a},{b}": t
                for a, row in job["hessians"].items() for b, t in row.items()
            }  # fmt: skip
        for const in (False, True) if command in ("grad", "eval") else ():
            rows.write_text(json.dumps({"x": 0.3} if const else vars) + "\n")
            words = [*more, *(["--const", "y=2.5"] if const else [])]
            words += ["--no-grad"] if command == "eval" else []
            run(["batch", "-f", str(file), "--jsonl", str(rows), "-o", str(out), "--executor",
                 "serial", "--quiet", *words])  # fmt: skip
            row = json.loads(out.read_text())
            if const and "grads" in row:
                row["grads"]["y"] = alone["grads"]["y"]
            found.append((row, {k: row[k] for k in PARTS if k in row}))
        for record, parts in found:
            if not alone["ok"]:
                assert record["error"]["code"] == alone["error"]["code"]
            elif "rand" in program:
                assert parts["value"] == found[0][1]["value"]
            else:
                assert parts == {k: alone[k] for k in PARTS if k in alone}, command
                said = [w.partition(":")[0] for w in alone["warnings"] if "finite" in w]
                assert command == "eval" or said == [w for w in job["warnings"] if "finite" in w]


def test_a_name_twice_is_one_and_what_is_complex_says_so():
    square, complex_one, lost = jobs(
        {"expr": "sum(v*v)", "vars": {"v": [1, 2]}, "command": "check", "wrt": "v,v"},
        {"expr": "x+1j*z", "vars": {"x": 1, "z": "2j"}, "command": "jac"},
        {"expr": "z*1e308*10", "vars": {"z": "1+2j"}, "command": "eval"},
    )
    assert lost["warnings"] == ["the value is not finite"]
    assert square["agrees"] and square["compared"] == 2
    by_x, by_z = complex_one["warnings"]
    assert "by x, which is real, this is the real part" in by_x
    assert "by z, which is complex, these are gradients of the real part" in by_z


def test_grading():
    answers = {
        "x + x": True, "2.0*x": True, "2*x + 1e-3": False, "x*x": False, "2*abs(x)": False,
        "2*sqrt(x)^2": False, "4*x/2": True,
    }  # fmt: skip
    found = jobs(*({"command": "check", "expr": e, "against": "2*x"} for e in answers))
    assert [r["agrees"] for r in found] == list(answers.values())
    assert all(r["ok"] for r in found) and "x" in found[2]["differs_at"]
    derivative, wrong, at, fault = jobs(
        {"command": "check", "expr": "2*x*cos(x^2)", "against": "sin(x^2)", "order": 1},
        {"command": "check", "expr": "cos(x^2)", "against": "sin(x^2)", "order": 1},
        {"command": "check", "expr": "sum(x)", "against": "x[0] + x[1]", "vars": {"x": [1, 2]}},
        {"command": "check", "expr": "x", "against": "log(-1 - x^2)"},
    )
    assert derivative["agrees"] and not wrong["agrees"] and at["agrees"]
    assert fault["error"]["code"] == "E0910"
    gradient, kink, rounded, complexes = jobs(
        {"command": "check", "expr": "x^3", "vars": {"x": 2}},
        {"command": "check", "expr": "abs(x)", "vars": {"x": 0}},
        {"command": "check", "expr": "sum(x^2)", "vars": {"x": [1e8, 1]}},
        {"command": "check", "expr": "abs(z)^2", "vars": {"z": "1+2j"}},
    )
    assert gradient["agrees"] and gradient["compared"] == 1 and gradient["max_rel_error"] < 1e-6
    assert kink["agrees"] is None and kink["compared"] == 0
    assert complexes["agrees"] and complexes["compared"] == 2
    assert rounded["agrees"] and rounded["compared"] == 1  # of 1e16 nothing is seen beside 1


POISON = {
    '{"expr": "x +", "vars": {"x": 1}}': "E0107",
    '{"expr": "sni(x)", "vars": {"x": 1}}': "E0201",
    '{"expr": "x*y", "vars": {"x": 1}}': "E0202",
    '{"expr": "x", "vars": {"x": "@/etc/passwd"}}': "E0904",
    '{"expr": "x", "vars": {"x": 1}, "command": "gard"}': "E0923",
    '{"exp": "x"}': "E0923",
    '{"expr": "x", "program": "x"}': "E0923",
    '{"expr": 3}': "E0923",
    '{"expr": "x", "vars": [1]}': "E0923",
    '{"expr": "x", "wrt": 3}': "E0923",
    '{"expr": "x", "vars": {"x": 1}, "wrt": ""}': "E0923",
    '{"expr": "x", "vars": {"x": 1}, "command": "eval", "wrt": "y"}': "E0923",
    '{"expr": "x", "order": 2}': "E0923",
    '{"expr": "x", "command": "check", "order": 2}': "E0923",
    '{"expr": "x", "command": "diff", "order": 0}': "E0923",
    '{"expr": "x", "command": "check", "against": 3}': "E0923",
    '{"expr": "x", "command": ["grad"]}': "E0923",
    '{"expr": "x", "vars": {"x": 1}, "command": "hess", "wrt": "z"}': "E0910",
    '{"expr": "x", "vars": {"x": [1, 2]}}': "E0403",
    '{"expr": "ones(100000, 100000)*x", "vars": {"x": 1}}': "E0602",
    '{"program": "y = x\\nwhile y > 0: y = y + 1\\ny", "vars": {"x": 1}}': "E0601",
    "[1, 2]": "E0920",
    '{"expr": "x"': "E0920",
    '{"expr": "x", "expr": "y"}': "E0924",
}


def test_a_poison_job_costs_only_itself():
    good = '{"expr": "x^2", "vars": {"x": 3}}'
    lines = [line + "\n" for bad in POISON for line in (good, bad)] + [good + "\n"]
    found = jobs(*lines, limits=Limits(steps=1000))
    codes = [None if r["ok"] else r["error"]["code"] for r in found]
    expected = [code for bad in POISON for code in (None, POISON[bad])]
    if codes[1:-1:2] != expected[1::2]:
        wrong = [(bad, c) for (bad, want), c in zip(POISON.items(), codes[1::2], strict=True)
                 if c != want]  # fmt: skip
        raise AssertionError(wrong)
    assert codes == [*expected, None]
    assert all(data(r["value"]) == 9 for r in found[::2])


def test_what_a_closed_form_draws_is_its_own():
    drawn = {"program": "import random\nrandom.random()*x", "vars": {"x": 2}}
    text = "import random\nrandom.seed(3)\nq = random.random()\nx*x"
    seeds = {"program": text, "vars": {"x": 2}, "command": "diff"}
    assert data(jobs(seeds, drawn)[1]["value"]) == data(jobs(drawn)[0]["value"])


def test_the_same_bytes_from_processes():
    lines = [
        {"id": i, "expr": ["x^2", "sin(x)*y", "x+", "randn(3) @ v"][i % 4],
         "vars": {"x": i, "y": 2, "v": [1, 2, 3]}}
        for i in range(400)
    ]  # fmt: skip
    alone = raw(lines)
    assert raw(lines, Processes(2)) == alone
    assert len({json.loads(line)["value"]["data"] for line in alone.splitlines()[3::4]}) == 100


def test_jobs_from_the_command(tmp_path, capsys):
    file = tmp_path / "jobs.jsonl"
    file.write_text('{"id": "a", "expr": "x^2", "vars": {"x": 3}}\n{"id": "b", "expr": "1+"}\n')
    assert run(["batch", "--jobs", str(file)]) == 1
    captured = capsys.readouterr()
    assert [json.loads(line)["id"] for line in captured.out.splitlines()] == ["a", "b"]
    assert captured.err == "2 jobs, 1 failed\n"
    assert run(["batch", "--jobs", str(file), "-o", str(tmp_path / "o.csv")]) == 2
    assert "JSON lines" in capsys.readouterr().err


@family("text", ["\x1b[31m", "[/red]", "=1+1", "\u202e"])
def test_what_a_job_says_is_inert(text):
    found = raw([{"id": text, "expr": "x", text: 1}, {"expr": text}, {"expr": "x", "vars": {
        text: 1, "x": 2}}])  # fmt: skip
    assert all(" " <= c <= "~" for c in found.replace("\n", ""))


@family("job", [
    {"expr": "sum(x^3)", "vars": {"x": [1.0] * 1000}, "command": "hess"},
    {"expr": "x*x", "vars": {"x": [1.0] * 1000}, "command": "jac"},
    {"expr": "ones(200000)*x", "vars": {"x": 2}, "command": "eval"},
])  # fmt: skip
def test_a_derivative_and_its_record_take_no_more_memory_than_a_run_may(job):
    small = {"expr": "x*x", "vars": {"x": 2}, "command": "hess"}
    before, row, after = jobs(small, job, small, limits=Limits(memory=10 << 20))
    assert row["error"]["code"] == "E0602" and before["ok"] and after["ok"]
