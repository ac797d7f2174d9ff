"""Values from files and standard input: data, sized before it is held, and never unpickled."""

from __future__ import annotations

import io
import json
import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest

from gradcli.display.records import dump_json, tensor_record, write_npy
from gradcli.language.values.flags import read_value
from gradcli.language.values.reader import ValueFormFault
from gradcli.ops.errors import LimitFault
from tests.support.families import family

F = np.float64


def same(value: object, expected: object) -> None:
    expected = np.asarray(expected)
    assert isinstance(value, np.generic if expected.ndim == 0 else np.ndarray)
    assert value.dtype == expected.dtype
    assert value.shape == expected.shape
    np.testing.assert_array_equal(value, expected)


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6.0).reshape(2, 3))
    np.save(tmp_path / "f.npy", np.asfortranarray(np.arange(6).reshape(2, 3)))
    np.save(tmp_path / "swapped.npy", np.array([1.5, 2.5], dtype=">f4"))
    np.save(tmp_path / "z.npy", np.array([1j]))
    np.save(tmp_path / "scalar.npy", np.array(4))
    np.savez(tmp_path / "two.npz", x=np.arange(3.0), y=np.eye(2))
    np.savez_compressed(tmp_path / "one.npz", w=np.arange(3))
    (tmp_path / "m.csv").write_text("1,2\n3,4\n\n# end\n5,6\n")
    (tmp_path / "h.csv").write_text('\ufefft,"y,z",2020\r\n0,1,2\r\n3,4,5\r\n', encoding="utf-8")
    (tmp_path / "col.csv").write_text("1\n2\n3")
    (tmp_path / "row.csv").write_text("1;2;nan\n")
    (tmp_path / "c.txt").write_text("1 2\n 3   4\n")
    (tmp_path / "l.txt").write_text("[[1, 2],\n [3, 4]]\n")
    (tmp_path / "t.tsv").write_text("a\tb\n1\t2\n")
    (tmp_path / "v.json").write_text('[[1, "NaN"], [3, 4]]')
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@a.npy", np.arange(6.0).reshape(2, 3)),
        ("@f.npy", np.arange(6.0).reshape(2, 3)),
        ("int:@f.npy", np.arange(6).reshape(2, 3)),
        ("3x2:@a.npy", np.arange(6.0).reshape(3, 2)),
        ("@swapped.npy", [1.5, 2.5]),
        ("@z.npy", np.array([1j])),
        ("@scalar.npy", F(4)),
        ("@two.npz:x", np.arange(3.0)),
        ("@two.npz:y", np.eye(2)),
        ("@one.npz", np.arange(3.0)),
        ("@m.csv", [[1.0, 2], [3, 4], [5, 6]]),
        ("@m.csv:1", [2.0, 4, 6]),
        ("@m.csv:-1", [2.0, 4, 6]),
        ("@h.csv", [[0.0, 1, 2], [3, 4, 5]]),
        ("@h.csv:t", [0.0, 3]),
        ("@h.csv:y,z", [1.0, 4]),
        ("@h.csv:2020", [2.0, 5]),
        ("@h.csv:0", [0.0, 3]),
        ("@col.csv", [1.0, 2, 3]),
        ("@row.csv", [1, 2, np.nan]),
        ("@c.txt", [[1.0, 2], [3, 4]]),
        ("@l.txt", [[1.0, 2], [3, 4]]),
        ("@t.tsv", [[1.0, 2]]),
        ("@t.tsv:b", [2.0]),
        ("@v.json", [[1, np.nan], [3, 4]]),
        ("float32:@m.csv:0", np.array([1, 3, 5], np.float32)),
    ],
)
def test_files(folder, text, expected):
    same(read_value(text, base_dir=str(folder)), expected)


def test_absolute_paths(folder):
    same(read_value(f"@{folder / 'col.csv'}"), [1.0, 2, 3])


def refused(text: str, **options: object) -> ValueFormFault:
    with pytest.raises(ValueFormFault) as caught:
        read_value(text, **options)
    fault = caught.value
    assert fault.code == "E0904"
    assert text[fault.start : fault.end].startswith("@")
    return fault


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ("@b.npy", "there is no file b.npy", "did you mean @"),
        ("@nowhere/b.npy", "there is no file nowhere/b.npy", "there is no folder"),
        ("@", "the file name is missing", "@points.csv"),
        ("@http://host/a.npy", "URLs are not read", None),
        ("@file:///etc/passwd.csv", "URLs are not read", None),
        ("@prog.py", "this kind of file is not read", "npy, npz, csv"),
        ("@folder.csv", "not a regular file", None),
        ("@a.npy:x", "no parts to name", None),
        ("@two.npz", "holds 2 items", "x, y"),
        ("@two.npz:z", "has no array z", "it has x, y"),
        ("@m.csv:t", "has no column t", "columns 0 to 1"),
        ("@h.csv:x", "has no column x", "it has t, y,z, 2020"),
        ("@m.csv:9", "has no column 9", None),
        ("@twins.csv:x", "has several columns x", "index"),
        ("@a\0b.csv", "it cannot be opened", None),
        ("@bad.csv", "bad.csv line 3, column 2 is not a number", "nan"),
        ("@gap.csv", "gap.csv line 1, column 2 is empty", "nan"),
        ("@slip.csv", "slip.csv line 1, column 2 is not a number", None),
        ("@ragged.csv", "ragged.csv line 2 has 1 item; the first has 2", None),
        ("@empty.csv", "holds no numbers", None),
        ("@latin.csv", "line 2 is not UTF-8", None),
        ("@ragged.json", "row 2 has 1 item", None),
        ("@deep.json", "nest deeper", None),
        ("@not.npy", "is not an NPY file", None),
        ("@not.npz", "is not a sound NPZ file", None),
    ],
)
def test_troubles_with_files(folder, text, message, help):
    (folder / "folder.csv").mkdir()
    (folder / "bad.csv").write_text("x,y\n1,2\n3,four\n")
    (folder / "gap.csv").write_text("1,,2\n")
    (folder / "twins.csv").write_text("x,x\n1,2\n")
    (folder / "slip.csv").write_text("1,2o\n3,4\n")
    (folder / "ragged.csv").write_text("1,2\n3\n")
    (folder / "empty.csv").write_text("\n# nothing\n")
    (folder / "latin.csv").write_bytes(b"1\n\xe9\n")
    (folder / "ragged.json").write_text("[[1,2],[3]]")
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "not.npy").write_text("hello, world")
    (folder / "not.npz").write_text("hello, world")
    fault = refused(text, base_dir=str(folder))
    assert message in fault.message
    assert help is None or help in fault.help
    assert fault.message.isprintable()


@pytest.mark.parametrize(
    "first",
    [
        "1,NA", "NA,1", "#N/A,1", "None,null", "true,false", "$5,$6", "12%,13%", "1/2,5", "-,?",
        "2024-10-12,5", "1:30,5", "(5),2", "'5,2", "\u22125,2", '"1,5",2', "1+2j,3", '"1"2,3',
        "1.#INF,2",
    ],
)  # fmt: skip
def test_a_first_row_of_slips_is_not_taken_for_a_header(tmp_path, first):
    (tmp_path / "t.csv").write_text(f"{first}\n3,4\n")
    fault = refused("@t.csv", base_dir=str(tmp_path))
    assert "line 1, column" in fault.message and "is not a number" in fault.message
    (tmp_path / "t.csv").write_text(f"count,25%\n3,4\n{first}\n")
    assert "line 3, column" in refused("@t.csv", base_dir=str(tmp_path)).message


@pytest.mark.parametrize("first", ["count,25%", "x,1990", "(m),$", "none of it,b", "x_1,#"])
def test_a_first_row_with_a_name_is_a_header(tmp_path, first):
    (tmp_path / "t.csv").write_text(f"# a comment\n{first}\n3,4\n")
    same(read_value("@t.csv", base_dir=str(tmp_path)), [[3.0, 4.0]])


def test_files_can_be_forbidden(folder):
    for text in ("@a.npy", "@-", "int:@m.csv"):
        refused(text, base_dir=str(folder), allow_files=False, stdin=io.StringIO("1"))


def test_unreadable_and_special_files(folder):
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.csv")
        assert "not a regular file" in refused("@pipe.csv", base_dir=str(folder)).message
    assert "\\x1b" in refused("@\x1b[31m.csv", base_dir=str(folder)).message


def test_sizes_of_files_are_checked_first(folder):
    for text in ("@a.npy", "@two.npz:x", "@m.csv"):
        with pytest.raises(LimitFault) as caught:
            read_value(text, base_dir=str(folder), max_bytes=10)
        assert caught.value.code == "E0602"


# -- hostile headers ----------------------------------------------------------------------------


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    body = header.encode("latin-1")
    width = 2 if version[0] == 1 else 4
    return b"\x93NUMPY" + version + len(body).to_bytes(width, "little") + body + data


CANARY = []


class Trap:
    def __reduce__(self):
        return (CANARY.append, (1,))


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<U9999999', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f99', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '|V8', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "1," * 99 + "), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "9" * 99 + ",), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': __import__('os').getcwd(), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': {1: 1}, }",
        "{'descr': '<f8', 'fortran_order': 2, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1or 1,), }",
        "(" * 9000,
        "-" * 9000 + "1",
        "",
        "x" * 20_000,
    ],
)
def test_headers_that_lie(tmp_path, header, recwarn):
    (tmp_path / "a.npy").write_bytes(npy(header, b"\0" * 8))
    refused("@a.npy", base_dir=str(tmp_path))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", npy(header, b"\0" * 8))
    refused("@a.npz", base_dir=str(tmp_path))
    assert not recwarn.list  # Python says nothing of how a stranger writes


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_array_that_stands_twice(tmp_path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for body in (b"\0" * 8, b"\1" * 8):
            archive.writestr("x.npy", npy(header, body))
    refused("@a.npz:x", base_dir=str(tmp_path))


def test_a_header_that_claims_too_much(tmp_path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }"
    (tmp_path / "a.npy").write_bytes(npy(header))
    with pytest.raises(LimitFault):
        read_value("@a.npy", base_dir=str(tmp_path))


@pytest.mark.parametrize("version", [b"\x02\x00", b"\x03\x00"])
def test_later_versions_of_the_format(tmp_path, version):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }"
    (tmp_path / "a.npy").write_bytes(npy(header, np.array([2.5]).tobytes(), version))
    same(read_value("@a.npy", base_dir=str(tmp_path)), [2.5])


def test_bools_are_true_or_false_whatever_the_bytes(tmp_path):
    header = "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }"
    (tmp_path / "a.npy").write_bytes(npy(header, b"\x00\x01\x02"))
    same(read_value("@a.npy", base_dir=str(tmp_path)), [0.0, 1, 1])


def test_pickles_are_never_opened(tmp_path):
    np.save(tmp_path / "o.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "o.npz", x=np.array([Trap()], dtype=object))
    (tmp_path / "raw.npy").write_bytes(pickle.dumps(Trap()))
    for name in ("o.npy", "o.npz", "raw.npy"):
        fault = refused(f"@{name}", base_dir=str(tmp_path))
        assert ("pickle" in fault.message) == name.startswith("o")
    assert CANARY == []


def test_a_small_archive_that_unpacks_to_much(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        header = "{'descr': '|u1', 'fortran_order': False, 'shape': (10000000,), }"
        archive.writestr("x.npy", npy(header, bytes(10_000_000)))
    assert os.path.getsize(tmp_path / "a.npz") < 20_000
    with pytest.raises(LimitFault):
        read_value("@a.npz", base_dir=str(tmp_path), max_bytes=1_000_000)


def test_a_packed_array_is_held_once(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.arange(1 << 24, dtype=np.int32))
    tracemalloc.start()
    try:
        value = read_value("@a.npz", base_dir=str(tmp_path), dtype="int32")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert value[-1] == (1 << 24) - 1 and peak < 1.2 * value.nbytes


def test_mutated_archives(tmp_path):
    rng = np.random.default_rng(44)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=np.arange(20.0), y=np.eye(3))
    write_npy(plain := io.BytesIO(), np.arange(9.0))
    for sound, name in ((plain.getvalue(), "m.npy"), (buffer.getvalue(), "m.npz:x")):
        for _ in range(150):
            data = bytearray(sound)
            for place in rng.integers(0, len(data), int(rng.integers(1, 6))):
                data[place] = rng.integers(256)
            (tmp_path / name[:5]).write_bytes(data[: int(rng.integers(1, len(data) + 1))])
            try:
                value = read_value(f"@{name}", base_dir=str(tmp_path), max_bytes=1 << 20)
            except (ValueFormFault, LimitFault) as fault:
                assert fault.code in ("E0904", "E0602")
            else:
                assert value.dtype.kind in "fc"


# -- standard input -----------------------------------------------------------------------------


@family(
    "content, text, expected",
    [
        ("5\n", "@-", F(5)),
        ("0,1,2,3\n", "@-", [0.0, 1, 2, 3]),
        ("1,2;3,4", "@-", [[1.0, 2], [3, 4]]),
        ("1\n2\n3\n", "@-", [1.0, 2, 3]),
        ("1 2 3\n", "@-", [1.0, 2, 3]),
        ("1,2\n3,4\n", "@-", [[1.0, 2], [3, 4]]),
        ("x,y\n1,2\n3,4\n", "@-:y", [2.0, 4]),
        ("[[1,2],[3,4]]", "@-", [[1.0, 2], [3, 4]]),
        ('["Infinity", 1]', "@-", [np.inf, 1]),
        ('{"data": [[1, "NaN"]], "shape": [1, 2], "dtype": "float64"}', "@-", [[1, np.nan]]),
        ('{"schema": 1, "ok": true, "value": {"data": 4}}', "@-", F(4)),
        ("1,2", "int:@-", np.array([1, 2])),
    ],
)
def test_standard_input(content, text, expected):
    same(read_value(text, stdin=io.StringIO(content)), expected)
    same(read_value(text, stdin=io.BytesIO(content.encode())), expected)
    wrapped = io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + content.encode()), encoding="ascii")
    same(read_value(text, stdin=wrapped), expected)


@family("content", [
        "", "  \n", "0,1,2o,3", "apple", "1,2;3", "[1,[2]]", "[" * 100_000, '{"data": ' * 100_000,
        "{}", '{"data": [[1],[2,3]]}', '{"data": "x"}', '{"value": 3}', '{"data": {"re": 1}}', "pi",
        '{"data": ' + "9" * 5000 + "}", "1,2\n3", "__import__('os')",
    ],
)  # fmt: skip
def test_standard_input_that_is_no_value(content):
    refused("@-", stdin=io.StringIO(content), evaluate=lambda _: pytest.fail("data was evaluated"))


def test_standard_input_is_bounded_and_optional():
    refused("@-")
    refused("@-", stdin=io.BytesIO(b"\xff"))
    with pytest.raises(LimitFault):
        read_value("@-", stdin=io.StringIO("1," * 100), max_bytes=50)


def test_a_record_reads_back():
    value = np.array([[1.5, np.nan], [-np.inf, 0.1]])
    text = dump_json(tensor_record(value))
    same(read_value("@-", stdin=io.StringIO(text)), value)
    assert json.loads(text)["shape"] == [2, 2]
