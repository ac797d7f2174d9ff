"""P2, P3 and P8 at the command line: hostile texts, rows and sessions end in a documented way."""

from __future__ import annotations

import pytest

from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from tests.language.attacks.targets import OUTSIDE
from tests.support.families import family

TEXTS = [t for texts in OUTSIDE.values() for t in texts if "\x00" not in t and len(t) < 50_000]
LIMITS = ("--max-steps", "3000", "--max-mem", "64M", "--timeout", "60")


def wrong(done):
    """What is wrong with an answer, or nothing."""
    said = done.out + done.err
    loud = [c for c in said if not c.isprintable() and c not in "\n\t"]
    unknown = done.code not in (0, 1, 2, 3)
    return unknown or loud or "Traceback" in said or "E0999" in said or "stumbled" in said


def reads_x(text):
    try:
        return prepare(text).takes("x")
    except Fault:
        return False


@family("command", ["eval", "grad", "run", "minimize", "check", "graph", "explain"])
def test_texts(cli, command):
    at = len(command)  # another part of the corpus for each
    for text in TEXTS[at::23]:
        given = ("--x", "1,2") if reads_x(text) else ()
        done = cli(command, "-e", text, *LIMITS, *given)
        assert not wrong(done), (text[:200], done.code, done.err[:500])


ROWS = {
    "giant row": b'{"x": [' + b"1," * 300_000 + b'1]}\n{"x": 1}\n',
    "long text": b'{"x": "' + b"a" * 3_000_000 + b'"}\n{"x": 2}\n',
    "deep": b'{"x": ' + b"[" * 50_000 + b"]" * 50_000 + b'}\n{"x": 2}\n',
    "seventy dimensions": b'{"x": ' + b"[" * 70 + b"1" + b"]" * 70 + b'}\n{"x": 2}\n',
    "long number": b'{"x": ' + b"9" * 100_000 + b'}\n{"x": 1e999}\n{"x": NaN}\n{"x": 2}\n',
    "no text": bytes(range(256)) * 9 + b'\n{"x": 2}\n',
    "zeros": b"\x00" * 10_000 + b'\n{"x": 2}\n',
    "many keys": ("{" + ",".join(f'"k{i}": 1' for i in range(20_000)) + ', "x": 1}\n').encode(),
    "ids": b'{"x": 2, "id": "=1+1"}\n{"x": 3, "id": "\\u001b[31m"}\n{"x": 4, "id": "\\ud800"}\n',
    "values": b'{"x": "@/etc/passwd"}\n{"x": "ones(10**9)"}\n{"x": "[0]*10**9"}\n'
    b'{"x": "10**10**8"}\n{"x": "0:1:1e-18"}\n{"x": "1000000x1000000:1"}\n'
    b'{"x": "while 1: pass"}\n{"x": {}}\n{"x": 2}\n',
    "not objects": b'[]\n1\n"a"\nnull\n{}\n{"x": 2',
}


@pytest.mark.parametrize("data", ROWS.values(), ids=ROWS)
def test_rows(cli, tmp_path, data):
    file = tmp_path / "rows.jsonl"
    file.write_bytes(data)
    done = cli("batch", "x*x", "--jsonl", str(file), "--max-mem", "64M", "--timeout", "5")
    assert not wrong(done), done.err[:500]
    assert len(done.out.splitlines()) == len([line for line in data.split(b"\n") if line.strip()])


def test_a_session(process):
    leaving = ("quit()", "exit()")  # what a user of Python leaves with
    text = "\n\n".join(t for t in TEXTS[::7] if len(t) < 500 and t not in leaving)
    done = process(
        "repl", "--timeout", "1", "--max-mem", "64M", "--max-steps", "2000",
        stdin=f"x = tensor([1.0, 2.0])\n{text}\n\nprint('the end')\n".encode("utf-8", "replace"),
    )  # fmt: skip
    assert not wrong(done), done.err[-500:]
    assert done.out.endswith("the end\n")
