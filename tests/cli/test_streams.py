"""Standard streams that are closed, full or not read: a documented exit code and one message."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.families import family

GRAD = ("grad", "x^2", "--x", "3")
FULL = Path("/dev/full")


def shell(words: str, wheel: Path, cwd: Path) -> subprocess.CompletedProcess:
    """Run a line of the shell in which ``gradcli`` is this version's."""
    line = words.replace("gradcli", f"{sys.executable} -m gradcli")
    env = {**os.environ, "PYTHONPATH": str(wheel)}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, cwd=cwd, env=env,
        timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.skipif(not FULL.exists(), reason="the system has no /dev/full")
@family(
    "words",
    ["grad x^2 --x 3", "ops", "--help", "run -e 'print(1)'", "grad x^2 --x 3 --format npy"],
    long=["grad x^2 --x 3 --json", "diff x^2 --json", "grad --help", "why E0301", "nothing --json"],
)
def test_a_full_disk_is_one_message(words, wheel, tmp_path):
    done = shell(f"gradcli {words} > /dev/full", wheel, tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error[E0911]: the result cannot be written: No space left")
    assert len(done.stderr.splitlines()) == 2


@family(
    "words",
    ["eval x --x 0:20000:1 --json", "eval x --x 0:20000:1 --format npy", "run many.grad",
     "batch x --csv many.csv"],
    long=["eval x --x 0:20000:1 --format csv", "grad 'sum(x)' --x 0:20000:1 --precision full",
          "ops", "help language", "repl < many.grad"],
)  # fmt: skip
def test_a_disk_that_fills_part_way_is_one_message_without_a_buffer_too(words, wheel, tmp_path):
    (tmp_path / "many.grad").write_text("for i in range(2000):\n    print(i)\n\n2 * ones(2000)\n")
    (tmp_path / "many.csv").write_text("x\n" + "1\n" * 2000)
    for before in ("PYTHONUNBUFFERED=", "PYTHONUNBUFFERED=1"):
        done = shell(f"(ulimit -f 1; {before} gradcli {words} > out)", wheel, tmp_path)
        assert done.returncode == 1
        assert "error[E0911]: the result cannot be written: " in done.stderr


@pytest.mark.parametrize("words", ["grad x^2 --x 3", "grad x^2 --x 3 --json"])
def test_a_closed_output_is_one_message(words, wheel, tmp_path):
    done = shell(f"gradcli {words} >&-", wheel, tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error[E0911]: the result cannot be written: Bad file descr")


@pytest.mark.parametrize(
    ("words", "code"),
    [("grad x^2 --x 3", 0), ("eval -", 2), ("grad x^2 --x @-", 2), ("batch x^2 --csv -", 2),
     ("repl", 2)],
)  # fmt: skip
def test_a_closed_input_matters_only_where_it_is_read(words, code, wheel, tmp_path):
    done = shell(f"gradcli {words} <&-", wheel, tmp_path)
    assert done.returncode == code
    assert done.stderr == ("" if code == 0 else (
        "error[E0904]: cannot read standard input: it is closed\n"
    ))  # fmt: skip


def test_where_errors_cannot_be_written_the_exit_code_is_right(wheel, tmp_path):
    for words, code in (("grad x^2 --x 3 >&- 2>&-", 1), ("grad 'x^' --x 3 2>&-", 2)):
        done = shell(f"gradcli {words}", wheel, tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


@pytest.mark.parametrize("words", ["ops", "run -e 'while True: print(1)'"])
def test_a_reader_that_leaves_is_no_error(words, wheel, tmp_path):
    done = shell(f"gradcli {words} | head -1", wheel, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


def test_an_interrupt_while_modules_are_imported_leaves_at_once(wheel, tmp_path):
    """From the first line of the program on, whatever is being imported."""
    code = (
        "from gradcli.__main__ import program\nimport sys\n"
        "try: sys.stderr.write('.'); sys.stderr.flush()\n"
        "except KeyboardInterrupt: sys.exit(130)\nprogram()"
    )
    for turn in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", code, *GRAD], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(wheel)},
        )  # fmt: skip
        assert process.stderr.read(1) == b"."
        time.sleep(0.001 + 0.018 * turn)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        assert process.returncode in (0, 130), said
        assert said == b""


@pytest.mark.parametrize("module", ["gradcli.cli.main", "gradcli.cli.commands.eval", "numpy"])
def test_ctrl_c_in_a_callback_of_the_import_system_is_not_dropped(module):
    code = (
        "import os, signal, sys, weakref\nfrom gradcli.__main__ import program\n"
        "class Finder:\n"
        "    def find_spec(self, name, *args):\n"  # what a callback raises, Python ignores
        f"        if name == {module!r}:\n"
        "            weakref.ref(Finder(), lambda _: os.kill(os.getpid(), signal.SIGINT))\n"
        "sys.meta_path.insert(0, Finder())\nsys.argv = ['gradcli', 'eval', 'x', '--x', '1,2']\n"
        "program()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_warning_that_nobody_takes_costs_no_result(wheel, tmp_path):
    words = [sys.executable, "-m", "gradcli", "eval", "x", "--x", "nan", "--nan", "warn"]
    env = {**os.environ, "PYTHONPATH": str(wheel)}
    reading, writing = os.pipe()
    os.close(reading)
    with open("/dev/full", "wb") as full, open(writing, "wb") as left:
        for told in (full, left):
            done = subprocess.run(
                words, stdout=subprocess.PIPE, stderr=told, cwd=tmp_path, env=env, timeout=60
            )
            assert (done.returncode, done.stdout) == (0, b"value  nan\n")


def test_what_waits_for_the_end_of_the_process_gets_it(wheel, tmp_path):
    thread = "lambda: (threading.main_thread().join(), print('end'))"
    for waiting in (
        "import atexit; atexit.register(print, 'end')",
        f"import threading; threading.Thread(target={thread}).start()",
    ):
        code = f"{waiting}\nfrom gradcli.cli.main import program\nprogram()"
        done = subprocess.run(
            [sys.executable, "-c", code, *GRAD], capture_output=True, text=True, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(wheel)}, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.endswith("end\n") and "d/dx" in done.stdout


def test_cells_that_overflow_are_errors_as_flags_are(cli, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,1e999\n")
    (tmp_path / "b.csv").write_text("x\ninf\n")
    (tmp_path / "c.json").write_text('{"data": [1, 1e999]}')
    done = cli("grad", "sum(x)", "--x", "@a.csv")
    assert done.code == 2
    assert "a.csv line 3, column 2 is too large for float64" in done.err
    assert "1e999 is too large for float64" in cli("eval", "sum(x)", "--x", "@c.json").err
    assert cli("eval", "sum(x)", "--x", "@b.csv").out == "value  inf\n"
