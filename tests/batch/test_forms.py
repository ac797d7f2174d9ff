"""Rows from every form of file, results to every form; the same bytes without pyarrow."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from gradcli.batch import columns as columns_module
from gradcli.batch.arrays import ArraySource, array_source, open_arrays
from gradcli.batch.encode import _csv_block
from gradcli.batch.outputs import Output
from gradcli.cli.main import run
from gradcli.ops.errors import Fault
from tests.support.batches import output_of

rng = np.random.default_rng(3)
N = 500
TABLE = {"a": rng.uniform(1, 3, N), "b": rng.uniform(0, 1, N), "t": rng.uniform(0, 5, N)}
EXPECTED = TABLE["a"] * np.exp(-TABLE["b"] * TABLE["t"])


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = ["id,a,b,t"]
    rows = zip(*(v.tolist() for v in TABLE.values()), strict=True)
    text += [f"r{i},{a!r},{b!r},{t!r}" for i, (a, b, t) in enumerate(rows)]
    (tmp_path / "in.csv").write_text("\n".join(text) + "\n")
    np.savez(tmp_path / "in.npz", **TABLE)
    np.savez_compressed(tmp_path / "packed.npz", **TABLE)
    np.save(tmp_path / "in.npy", np.stack(list(TABLE.values()), 1))
    kinds = [(n, float) for n in TABLE]
    np.save(tmp_path / "named.npy", np.array(list(zip(*TABLE.values(), strict=True)), kinds))
    return tmp_path


def batch(*words):
    return run(["batch", "a*exp(-b*t)", *words, "--quiet", "--workers", "1"])


def test_every_form_gives_the_same_bytes(files):
    inputs = [("--csv", "in.csv"), ("--npz", "in.npz"), ("--npz", "packed.npz"),
              ("--npy", "in.npy", "--columns", "a,b,t"), ("--npy", "named.npy")]  # fmt: skip
    found = []
    for i, words in enumerate(inputs):
        assert batch(*words, "--wrt", "a,b", "-o", f"{i}.csv", "--executor", "serial") == 0
        found.append((files / f"{i}.csv").read_bytes())
    assert set(found) == {found[0]} and found[0].startswith(b"value,d_a,d_b\n")
    table = np.loadtxt(io.BytesIO(found[0]), delimiter=",", skiprows=1)
    np.testing.assert_allclose(table[:, 0], EXPECTED)
    np.testing.assert_allclose(table[:, 2], -TABLE["a"] * TABLE["t"] * table[:, 1])


def test_outputs(files):
    for form in ("npz", "npy", "jsonl", "csv"):
        assert batch("--csv", "in.csv", "--wrt", "b", "--id", "id", "-o", f"out.{form}") == 0
    archive = np.load(files / "out.npz")
    table = np.load(files / "out.npy")
    assert set(archive) == {"value", "d_b", "id"} and table.dtype.names == ("id", "value", "d_b")
    records = [json.loads(line) for line in (files / "out.jsonl").read_text().splitlines()]
    lines = (files / "out.csv").read_text().splitlines()
    assert lines[0] == "id,value,d_b" and lines[3].split(",")[0] == "r2"
    for i in (0, 17, N - 1):
        exact = archive["value"][i]
        assert exact == table["value"][i] == records[i]["value"]["data"]
        assert exact == float(lines[i + 1].split(",")[1])
        assert archive["id"][i] == table["id"][i] == records[i]["id"] == f"r{i}"
    assert not list(files.glob("*partial")) and not list(files.glob("*.errors.jsonl"))


def test_parquet(files):
    pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    vectors = {**TABLE, "v": np.arange(2.0 * N).reshape(N, 2).tolist()}
    pq.write_table(pa.table(vectors), files / "in.parquet")
    assert batch("--parquet", "in.parquet", "-o", "out.parquet", "--wrt", "a") == 0
    found = pq.read_table(files / "out.parquet")
    np.testing.assert_allclose(found["value"].to_numpy(), EXPECTED)
    assert run(["batch", "sum(v)*a", "--parquet", "in.parquet", "-o", "v.npz", "--quiet"]) == 0
    assert np.load(files / "v.npz")["d_v"].shape == (N, 2)
    assert run(["batch", "sum(v)*a", "--parquet", "in.parquet", "-o", "v.parquet", "--quiet"]) == 0
    assert pq.read_table(files / "v.parquet")["d_v"][3].as_py() == [TABLE["a"][3]] * 2
    odd = {"x": [1.5, None], "when": pa.array([1, 2], pa.timestamp("s")), "s": [[1], [1, 2]],
           "k": pa.array([2, 3]).dictionary_encode(), "flag": [True, False]}  # fmt: skip
    pq.write_table(pa.table(odd), files / "odd.parquet")
    words = ["--parquet", "odd.parquet", "-o", "odd.csv", "--quiet"]
    assert run(["batch", "x*k if flag else k", *words]) == 0
    assert (files / "odd.csv").read_text() == "value,d_x,d_k\n3.0,2.0,1.5\n3.0,0.0,1.0\n"
    assert run(["batch", "x*sum(s)", *words]) == 2 and run(["batch", "when", *words]) == 2


def test_failed_rows_in_tables(files, capsys):
    text = 'id,x,y\n=1+1,1,2\n"@b",oops,2\nc,3,4\n'
    (files / "bad.csv").write_text(text)
    words = ["batch", "x*y", "--csv", "bad.csv", "--id", "id", "--wrt", "x", "--quiet"]
    assert run([*words, "-o", "out.csv"]) == 1
    assert (files / "out.csv").read_text() == (
        "id,value,d_x\n'=1+1,2.0,2.0\n'@b,nan,nan\nc,12.0,4.0\n"
    )
    (error,) = map(json.loads, (files / "out.csv.errors.jsonl").read_text().splitlines())
    assert error["row"] == 2 and error["id"] == "@b" and error["error"]["code"] == "E0901"
    assert run([*words, "-o", "out.npz"]) == 1
    found = np.load(files / "out.npz")
    assert np.isnan(found["value"]).tolist() == [False, True, False]
    assert found["id"].tolist() == ["=1+1", "@b", "c"]
    (files / "bad.csv").write_text("id,x,y\nc,3,4\n")
    assert run([*words, "-o", "out.csv"]) == 0
    assert not (files / "out.csv.errors.jsonl").exists()


def test_only_the_nan_part_of_a_complex_number_is_nan_in_a_table(files, capsys):
    np.savez("c.npz", x=np.array([complex("1+nanj"), complex("nan-infj"), complex("2-0j")]))
    assert run(["batch", "x", "--npz", "c.npz", "--no-grad", "-o", "o.npz", "--quiet"]) == 0
    assert np.load("o.npz")["value"].astype(str).tolist() == ["(1+nanj)", "(nan-infj)", "(2-0j)"]
    words = ["--npy", "in.npy", "--columns", "a,a", "--no-grad", "--quiet"]
    assert run(["batch", "a", *words]) == 2
    pytest.importorskip("pyarrow")
    for text in ("x", "[x.real, x.real][:0]"):
        words = ["--npz", "c.npz", "--no-grad", "-o", "o.parquet", "--quiet"]
        assert (
            run(["batch", text, *words]) == 1 and "Parquet has no place" in capsys.readouterr().err
        )


def test_vectors_in_cells(files):
    (files / "v.csv").write_text('x,y\n"[1,2]",2\n"3,4",1\n')
    assert run(["batch", "sum(x*x)*y", "--csv", "v.csv", "-o", "v2.csv", "--quiet"]) == 0
    assert (files / "v2.csv").read_text() == (
        'value,d_x,d_y\n10.0,"[4.0, 8.0]",5.0\n25.0,"[6.0, 8.0]",25.0\n'
    )
    assert run(["batch", "sum(x*x)*y", "--csv", "v.csv", "-o", "v.npy", "--quiet"]) == 0
    assert np.load(files / "v.npy")["d_x"].tolist() == [[4, 8], [6, 8]]
    (files / "w.jsonl").write_text('{"x": [1, 2]}\n{"x": [1]}\n{"x": [3, 4]}\n')
    assert run(["batch", "sum(x*x)", "--jsonl", "w.jsonl", "-o", "w.npz", "--quiet"]) == 1
    assert np.isnan(np.load(files / "w.npz")["d_x"][1]).all()
    assert "E0912" in (files / "w.npz.errors.jsonl").read_text()


def test_rows_that_fit_no_table_are_told_in_order(files):
    """The first row that succeeds decides, wherever it stands in its block."""
    (files / "v.csv").write_text('n,x\na,oops\nb,"[1,2]"\nc,3\nd,"[3,4]"\ne,1+2j\nf,\ng,5\n')
    words = ["batch", "x*2", "--csv", "v.csv", "--id", "n", "--no-grad", "--quiet"]
    for form in ("npz", "npy", "parquet"):
        if form == "parquet":
            pytest.importorskip("pyarrow")
        assert run([*words, "-o", f"v.{form}"]) == 1
        lines = (files / f"v.{form}.errors.jsonl").read_text().splitlines()
        errors = [json.loads(line) for line in lines]
        assert [e["id"] for e in errors] == list("acefg")
        assert [e["error"]["code"] for e in errors] == ["E0901"] + ["E0912"] * 2 + [
            "E0901",
            "E0912",
        ]
    found = np.load(files / "v.npz")
    assert found["value"].tolist()[1::2][:2] == [[2, 4], [6, 8]] and found["value"].shape == (7, 2)
    (files / "w.jsonl").write_text('{"x": 1}\n{"x": 2}\n{"x": "1+1j"}\n{"x": [3]}\n{"x": 4}\n')
    assert run(["batch", "x", "--jsonl", "w.jsonl", "--no-grad", "--where", "sum(abs(x)) != 1",
                "-o", "w.npy", "--quiet"]) == 1  # fmt: skip
    said = (files / "w.npy.errors.jsonl").read_text().splitlines()
    assert [json.loads(line)["row"] for line in said] == [3, 4]
    (files / "n.jsonl").write_text('{"n": "int:9007199254740993"}\n{"n": "int:7"}\n')
    assert run(["batch", "n", "--jsonl", "n.jsonl", "--no-grad", "-o", "n.npy", "--quiet"]) == 1
    assert np.isnan(np.load(files / "n.npy")["value"]).tolist() == [True, False]


def numbers():
    found = [
        rng.normal(size=300), rng.integers(0, 2**63, 300).astype(np.uint64).view(np.float64),
        10.0 ** rng.uniform(-7, 18, 300), np.rint(rng.normal(size=100) * 1e6),
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e10, 1e-4, 9999999999.5, 5e-324, 1e16, 1e22],
    ]  # fmt: skip
    return np.concatenate(found)


def test_a_number_has_the_same_text_without_pyarrow(monkeypatch):
    pytest.importorskip("pyarrow")
    columns = [numbers(), numbers()[::-1].copy()]
    with_arrow = _csv_block(columns)
    monkeypatch.setattr(columns_module, "_arrow", [None])
    assert _csv_block(columns) == with_arrow
    assert with_arrow.splitlines()[0].split(b",")[0] == repr(columns[0][0].item()).encode()


CELLS = ["1", "1.", "-.5", "+1", " 1", "1 ", "nan", "-inf", "1e999", "0x10", "1_0", "", "--1",
         '"1,2"', "pi/4", "int:3", "1e-400", "-0", "00012", "a,b", "\u0661", "\x00", "1\r",
         "9007199254740993", "0.1", "1e5"]  # fmt: skip


def test_cells_mean_the_same_without_pyarrow(monkeypatch):
    rows = [f"{cell},{i},note" for i, cell in enumerate(CELLS)]
    plain = [f"{i / 7!r},{i},note" for i in range(90)]
    texts = ["\n".join(["x,y,n", *part]) + "\n" for part in (plain, rows, plain + rows + plain)]
    texts.append(texts[0].replace("\n", "\r\n"))
    texts.append("x,y,n\n\n1,2,n\n \n3,4,n\n")
    first = [output_of("x*y", text, "csv")[0] for text in texts]
    monkeypatch.setattr(columns_module, "_arrow", [None])
    assert [output_of("x*y", text, "csv")[0] for text in texts] == first
    assert first[0] == first[3]
    whole = [json.loads(line)["ok"] for line in first[1].splitlines()]
    alone = [
        json.loads(output_of("x*y", f"x,y,n\n{row}\n", "csv")[0])["ok"] for row in rows
    ]  # fmt: skip
    assert whole == alone and len(whole) == len(CELLS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_written_to_as_it_is(files):
    os.mkfifo(files / "pipe")
    reader = os.open(files / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert batch("--csv", "in.csv", "--wrt", "a", "-o", "pipe", "--format", "csv") == 0
    assert os.read(reader, 1 << 16).startswith(b"value,d_a\n")
    os.close(reader)
    assert not (files / "pipe").is_file() and not (files / "pipe.gradcli-partial").exists()


def test_arrays_are_cut_anywhere():
    for size in (1, 100, 10_000, 1 << 20):
        source = array_source(TABLE)
        assert isinstance(source, ArraySource)
        parts = []
        while not source.ended:
            parts.append(source.cut(size))
        assert [p.first for p in parts] == list(np.cumsum([1, *(p.count for p in parts)])[:-1])
        assert (np.concatenate([p.data["a"] for p in parts]) == TABLE["a"]).all()
    source = array_source(TABLE)
    assert source.skip(123, "") and source.cut(1 << 20).first == 124


def test_what_all_arrays_of_a_file_unpack_to_is_bounded(files):
    np.savez_compressed(files / "packed.npz", a=np.ones(3), b=np.ones(3))
    open_arrays("npz", "packed.npz", [], 48)
    with pytest.raises(Fault, match=r"refusing to allocate 24 bytes"):
        open_arrays("npz", "packed.npz", [], 47)


def test_files_that_are_no_rows(files):
    np.save(files / "object.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez(files / "lengths.npz", a=np.ones(3), b=np.ones(4))
    (files / "text.npz").write_text("no archive")
    (files / "begun.npy").write_bytes(b"PK\003\004")
    np.savez_compressed(files / "locked.npz", a=np.ones(3))
    packed = (files / "locked.npz").read_bytes()
    (files / "locked.npz").write_bytes(
        packed.replace(b"PK\001\002-\003-\0\0", b"PK\001\002-\003-\0\1")
    )
    np.save(files / "whole.npy", np.ones((3, 3)))
    whole = (files / "whole.npy").read_bytes()
    for i, shape in enumerate((b"(10000", b"(9**9,)", b"(-3, 3)", b"(3, 30)", b"[[(3,3)")):
        (files / f"broken{i}.npy").write_bytes(whole.replace(b"(3, 3)", shape))
        with pytest.raises(Fault, match="its header") as caught:
            open_arrays("npy", f"broken{i}.npy", ["a", "b", "c"])
        assert caught.value.code == "E0904" and " at 0x" not in str(caught.value)
    with zipfile.ZipFile(files / "twice.npz", "w") as archive:
        for name in ("a.npy", "a"):
            archive.writestr(name, whole)
    for form, name, code in (
        ("npy", "in.npy", "E0926"), ("npy", "object.npy", "E0904"), ("npz", "text.npz", "E0904"),
        ("npz", "lengths.npz", "E0926"), ("npy", "missing.npy", "E0904"), ("npz", "-", "E0907"),
        ("npz", os.devnull, "E0904"), ("npy", "begun.npy", "E0904"),
        ("npz", "locked.npz", "E0904"), ("npz", "twice.npz", "E0904"),
    ):  # fmt: skip
        with pytest.raises(Fault) as caught:
            open_arrays(form, name, None)
        assert caught.value.code == code, name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--csv", "in.csv", "--npz", "in.npz"], "exclude each other"), ([], "--csv FILE"),
        (["--csv", "in.csv", "--format", "xml"], "--format xml"),
        (["--csv", "in.csv", "--format", "npz"], "writes a file"),
        (["--csv", "in.csv", "--halt", "soon"], "--halt soon"),
        (["--csv", "in.csv", "--resume"], "--resume needs --journal"),
        (["--csv", "in.csv", "--resume", "--journal", "j"], "--resume needs -o"),
        (["--csv", "in.csv", "--scheduler", "a:1"], "--executor dask"),
        (["--csv", "in.csv", "--executor", "slurm"], "--executor slurm"),
        (["--csv", "in.csv", "--const", "a"], "--const NAME=VALUE"),
        (["--csv", "in.csv", "--progress", "loud"], "--progress loud"),
        (["--csv", "empty.csv"], "no header"), (["--csv", "in.csv", "--wrt", "q"], "'q'"),
        (["--jobs", "in.csv", "--wrt", "a"], "does not go with --jobs"),
        (["--csv", "in.csv", "--b", "2"], "takes its variables from the rows"),
        (["--csv", "in.csv", "-o", "./in.csv"], "are one file"),
        (["--csv", "in.csv", "-o", "o", "--journal", "o"], "are one file"),
        (["--csv", "in.csv", "--timeout", "-1"], "seconds, 0 or more"),
        (["--csv", "in.csv", "--no-grad", "--wrt", "a"], "--no-grad excludes"),
        (["--npz", "in.npz", "--columns", "a,b,t"], "the columns of --npy"),
        (["--npy", "named.npy", "--columns", "a,b,t"], "names already"),
        (["--csv", "in.csv", "--where", "a > 0", "--const", "q=1"], "'q'"),
    ],
)  # fmt: skip
def test_wrong_words_are_one_error(files, capsys, words, said):
    (files / "empty.csv").write_text("")
    assert batch(*words) == 2
    captured = capsys.readouterr()
    assert said in captured.err and captured.out == ""


def test_an_empty_jsonl_is_good_and_so_are_no_rows(files, capsys):
    (files / "empty.jsonl").write_text("")
    (files / "head.csv").write_text("a,b,t\n")
    assert batch("--jsonl", "empty.jsonl") == 0 and batch("--csv", "head.csv", "-o", "o.npz") == 0
    assert np.load(files / "o.npz")["value"].shape == (0,)


def test_an_unknown_suffix_is_told():
    from gradcli.batch.outputs import form_of

    with pytest.warns(UserWarning, match="o.xyz: the suffixes are .jsonl, .csv,"):
        assert form_of("o.xyz", None) == "jsonl"
    assert form_of("o.xyz", "csv") == "csv" and form_of("/dev/null", None) == "jsonl"


def test_halting():
    from gradcli.batch.session import Halt

    rows = "".join(f'{{"x": {"null" if i % 10 == 9 else i}}}\n' for i in range(400))
    for when, records in (("never", 400), ("first", 10), ("5%", 100), ("50%", 400)):
        found, summary = output_of("x^2", rows, halt=Halt(when))
        lines = found.splitlines()
        assert len(lines) == records == summary.records and summary.halted == (records < 400)
        assert not summary.halted or json.loads(lines[-1])["ok"] is False
    found, _ = output_of("x^2", rows, output="csv", halt=Halt("first"))
    assert found.splitlines()[-1] == "nan,nan" and len(found.splitlines()) == 11


def test_progress_as_json(files, capsys):
    assert run(["batch", "a*b*t", "--csv", "in.csv", "-o", "o.csv", "--progress", "json"]) == 0
    last = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert last["rows"] == N and last["finished"] is True and last["done"] == 1.0


def test_two_runs_to_one_file_are_not_mixed(files):
    pytest.importorskip("fcntl")
    first = Output("csv", "out.csv", [], False)
    words = ["batch", "a", "--csv", "in.csv", "-o", "out.csv"]
    second = subprocess.run([sys.executable, "-m", "gradcli", *words], capture_output=True)
    assert second.returncode == 2
    assert b"cannot write out.csv: another run is writing it" in second.stderr
    first.finish()
    assert batch("--csv", "in.csv", "-o", "out.csv") == 0


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="this system has no links")
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_link_is_not_written_through(files, link, capsys):
    link("in.csv", "out.csv.gradcli-partial")
    before = (files / "in.csv").read_bytes()
    assert batch("--csv", "in.csv", "-o", "out.csv") == 2
    assert "cannot write out.csv" in capsys.readouterr().err
    assert (files / "in.csv").read_bytes() == before and not (files / "out.csv").exists()


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="this system has no links")
def test_the_output_goes_where_a_link_leads(files):
    for target in ("in.csv.copy", "new.csv"):  # one that is there, one that is not
        (files / "in.csv.copy").write_text("old")
        os.symlink(target, "out.csv")
        assert batch("--csv", "in.csv", "-o", "out.csv") == 0
        assert os.path.islink("out.csv") and (files / target).read_text().startswith("value,")
        os.unlink("out.csv")
