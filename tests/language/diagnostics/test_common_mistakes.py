"""What learners paste and mistype: each gets its own message, at the exact place, with what to
write instead."""

from __future__ import annotations

import pytest

import gradcli
from gradcli.language.diagnostics.codes import CODES
from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from tests.support.families import family

# text with the marked part between «», code, a part of the help
PASTED = [
    ("with «open»('a') as f: pass", "E0201", "--x @file.csv"),
    ("y = «eval»('1')", "E0201", "def f(x)"),
    ("y = «ctg»(x)", "E0201", "1/tan(x)"),
    ("y = «input»()", "E0201", "by a flag"),
    ("y = «true»", "E0202", "write True"),
    ("y = «null»", "E0202", "write None"),
    ("y = «NaN»", "E0202", "write nan"),
    ("y = «F».relu(1)", "E0202", "import torch.nn.functional as F"),
    ("import torch.nn as nn\ny = «nn.Quantizer»(3, 4)", "E0204", "x @ W.T + b"),
    ("import «os»", "E0139", "torch, numpy"),
    ("from torch import «*»", "E0137", "import torch"),
    ("«retrun» 3", "E0125", "`return`"),
    ("«whlie» x: pass", "E0125", "`while`"),
    ("«improt» torch", "E0125", "`import`"),
    ("«asert» x", "E0125", "`assert`"),
    ("y = «lamda» z: z", "E0125", "`lambda`"),
    ("if x: pass\n«esle»:\n    pass", "E0125", "`else`"),
    ("y = x «nto» in [1]", "E0125", "`not`"),
    ("«elsif» x: pass", "E0125", "`elif`"),
    ("for i «=» 1:3", "E0125", "range(start, stop)"),
    ("for (i «=» 0; i < 3; i++) { }", "E0125", "for i in range(start, stop):"),
    ("for i in 1:3«:» pass", "E0125", "range(1, 3)"),
    ("while (x > 0) «{» x = x - 1 }", "E0140", "indent"),
    ("def f(x) «{» return x }", "E0140", "indent"),
    ("f(x) «:=» x**2", "E0118", "f = lambda x"),
    ("if (n «:=» 3): pass", "E0118", "a line of its own"),
    ("f = lambda x: «return» x", "E0108", "leave out `return`"),
    ("f = lambda x:« »\n    x", "E0108", "def"),
    ("y = «if» x: 3 else: 4", "E0108", "a if test else b"),
    ("if x: y = 1 «else»: y = 2", "E0123", "a if test else b"),
    ("y = [i for i in [1] if i «else» 2]", "E0108", "the choice first"),
    ("y = sin «x»", "E0102", "sin(x)"),
    ("y = sin«²»(x)", "E0113", "sin(x)**2"),
    ("y = 1 «000»", "E0102", "1000"),
    ("print(x) «print»(x)", "E0102", "a new line"),
    ("y = 3 «z» = 4", "E0102", "a new line"),
    ("y = 3 + «4i»", "E0111", "4j"),
    ("y = «1e»", "E0111", "1e3"),
    ("y = «1.5f»", "E0111", "write 1.5"),
    ("y = x.«__class__»", "E0112", "type(x)"),
    ("y = x.«__dict__»", "E0112", "not part of the language"),
    ("sin(«_x»=2)", "E0112", "no such parameter"),
    ("class C(«A, B»):\n    x = 1", "E0130", "nn.Module"),
    ("class C:\n    «x[0] = 1»", "E0130", "into __init__"),
    ("try:\n    y = 1\n«except»:\n    y = 2\nexcept ValueError:\n    y = 3", "E0131", "after"),
    ("try:\n    y = 1\n«z» = 2", "E0131", "except ValueError:"),
    ("x = 1\n«finally»:\n    y = 1", "E0131", "the `try`"),
    ("@no_grad()\n«x» = 2", "E0132", "under it"),
    ("def f(a, **b, «c»): pass", "E0146", "the order is"),
    ("def f(a, «*»): pass", "E0146", "the order is"),
    ("sum(«x for x in y», 2)", "E0135", "(x for x in items)"),
    ("«return 3»", "E0160", "print(...)"),
    ("«break»", "E0161", "while or for"),
]  # fmt: skip
RUNNING = [
    ("y = 2(x + 1)", "E0303", "an int cannot be called", "2*(x + 1)"),
    ("y = None + 1", "E0303", "`+` cannot take None and an int", None),
    ("y = 'a' < 1", "E0303", "`<` cannot compare a string and an int", None),
    ("y = [1] + (1,)", "E0303", "`+` cannot join a list and a tuple", None),
    ("for i in 3: pass", "E0303", "cannot loop over an int", "range(n)"),
    ("y = x.reshpe", "E0204", "a tensor has no attribute `reshpe`", "did you mean"),
    ("def f(a): return a\nf()", "E0302", "missing 1 required", "f(a) is defined at line 1"),
    ("a, b = 3", "E0303", "an int cannot be taken apart", None),
]


def fault(text: str) -> Fault:
    x = gradcli.tensor([1.0, 2.0], requires_grad=True) * 1
    with pytest.raises(Fault) as caught:
        prepare(text, "file").run({"x": x})
    assert caught.value.code in CODES
    return caught.value


@family("marked, code, mend", PASTED)
def test_pasted(marked, code, mend):
    start, end = marked.index("«"), marked.index("»") - 1
    if marked[start + 1 : end + 1] == " ":
        marked = marked.replace("« »", "«»")
    found = fault(marked.replace("«", "").replace("»", ""))
    assert (found.code, found.start, found.end) == (code, start, end), found.message
    assert mend in found.help


@family("text, code, said, mend", RUNNING)
def test_running(text, code, said, mend):
    found = fault(text)
    assert found.code == code and said in found.message
    assert mend is None or mend in found.help


def test_unknown_names_are_shown_together(tmp_path, capsys):
    from gradcli.cli.main import run

    file = tmp_path / "a.grad"
    file.write_text("y = sni(1) + aa\nz = bb + y\nw = cc + dd + ee + ff\n")
    assert run(["run", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.count("error[E0201]") == 1 and said.count("error[E0202]") == 4
    assert "`ff`" not in said and said.index("`aa`") < said.index("`bb`")


def test_json_has_all_mistakes(capsys):
    import json

    from gradcli.cli.main import run

    assert run(["eval", "-e", "y = 2 +* 3", "-e", "z = 3x", "-e", "z", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert [e["code"] for e in found["errors"]] == ["E0101", "E0111"]
    assert found["error"] == found["errors"][0] and found["ok"] is False
    assert run(["eval", "log(x)", "--json"]) == 2
    assert [e["code"] for e in json.loads(capsys.readouterr().out)["errors"]] == ["E0202"]
