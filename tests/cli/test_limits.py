"""The limits of a run, as options: what is said when one is reached, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from gradcli.cli import watchdog
from tests.support.families import family
from tests.support.processes import started

STUCK = "err = 0.31\nwhile err > 1e-9:\n    err = err * 1.0\n"


def test_an_endless_loop_shows_its_condition(cli):
    done = cli("run", "-e", STUCK, "--max-steps", "1000")
    assert done.code == 3
    assert "error[E0601]: the loop passed 1,000 steps" in done.err
    assert "2 | while err > 1e-9:\n     | ^^^^^ err: 0.31, 0.31, 0.31 (not changing)" in done.err
    assert "help: --max-steps N" in done.err


def test_the_last_values_of_a_changing_condition(cli):
    done = cli("run", "-e", "n = 0\nwhile n >= 0: n = n + 1\n", "--max-steps", "1000")
    assert "n: 998, 999, 1000" in done.err
    assert "not changing" not in done.err


def test_recursion_goes_as_deep_as_it_says(cli):
    text = "def f(n): return 0 if n == 1 else 1 + f(n - 1)\nprint(f({}))"
    assert cli("run", "-e", text.format(500)).out == "499\n"
    done = cli("run", "-e", text.format(501))
    assert done.code == 3 and "error[E0606]: calls nest deeper than 500" in done.err
    assert cli("run", "-e", text.format(20), "--max-depth", "20").code == 0
    assert cli("run", "-e", text.format(21), "--max-depth", "20").code == 3
    assert cli("run", "-e", text.format(850), "--max-depth", "900").out == "849\n"
    assert cli("run", "-e", "1", "--max-depth", "5000").code == 2


def test_recursion_through_keywords_lambdas_and_methods(cli):
    for text in (
        "def f(n): return 0 if n == 1 else 1 + f(n=n - 1)\nprint(f(n=500))",
        "f = lambda n: 0 if n == 1 else 1 + f(n - 1)\nprint(f(500))",
    ):
        assert cli("run", "-e", text).out == "499\n"


def test_returning_gives_the_depth_back(cli):
    text = "def f(x):\n    if x > 0: return x\nfor i in range(2000): f(i); f(-i)\nprint(f(3))"
    assert cli("run", "-e", text).out == "3\n"


def test_output_is_bounded(cli):
    done = cli("run", "-e", "while True: print('x'*100)", "--max-output", "1000")
    assert done.code == 3 and "E0607" in done.err and len(done.out) <= 1000


@family("option", ["--max-steps", "--max-depth", "--max-output"])
def test_a_limit_is_a_positive_number(cli, option):
    assert cli("run", "-e", "1", option, "0").code == 2


def test_every_limit_stands_in_help(cli):
    done = cli("run", "--help")
    for option in ("--max-steps", "--max-depth", "--max-output", "--max-mem", "--timeout"):
        assert option in done.out


def test_prints_are_inert(cli):
    done = cli("run", "-e", "print('a\\x1b[31mb\\rc\\x9b\\u202e\\tz')\nprint('\\ud800')")
    assert done.code == 0
    assert done.out == "a\\x1b[31mb\\x0dc\\x9b\\u202e\tz\n\\ud800\n"


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize(
    "text", ["x = 1.0\nwhile True: x = x + 1", "w = ones(1500, 1500)\nwhile True: w = w @ w * 1e-3"]
)
def test_ctrl_c_stops_at_once(process, wheel, tmp_path, text):
    words = [sys.executable, "-m", "gradcli", "run", "-e", "print('ready')\n" + text]
    env = {**os.environ, "PYTHONPATH": str(wheel), "PYTHONUNBUFFERED": "1"}
    with started(words, cwd=tmp_path, env=env) as worker:
        assert worker.stdout.readline() == b"ready\n"
        time.sleep(0.3)
        worker.send_signal(signal.SIGINT)
        _, err = worker.communicate(timeout=20)  # it would never end by itself
        assert worker.returncode == 130
        assert b"Traceback" not in err


def test_memory_is_watched_between_checks(process):
    done = process("run", "-e", "l = []\nwhile True: l.append(ones(60000))", "--max-mem", "200M")
    assert done.code == 3 and "E0602" in done.err


PEAK = """
import os, subprocess, sys
process = subprocess.Popen([sys.executable, "-m", "gradcli", *sys.argv[1:]], stdin=-3)
_, status, used = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), used.ru_maxrss)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak in KiB, by wait4")
def test_memory_is_watched_inside_a_call():
    """The work of an FFT, six times its input, and tables that grow are allocated in one call."""

    def peak(*words: str) -> tuple[int, int]:
        done = subprocess.run([sys.executable, "-c", PEAK, *words], capture_output=True, text=True)
        code, used = done.stdout.splitlines()[-1].split()
        assert code != "3" or "E0602" in done.stderr, done.stderr
        return int(code), int(used) << 10

    code, used = peak("eval", "sum(fft(rand(4000000)).abs())", "--max-mem", "120M")
    base = peak("eval", "1")[1]
    assert code == 3 and used - base < 1.1 * (120 << 20)
    for words in (
        ("run", "-e", "set(range(4*10**6))"), ("jac", "x*x", "--x", "ones(4500)"),
        ("run", "-e", "dict(zip(range(10**8), range(10**8)))"),
        ("run", "-e", "from collections import Counter\nCounter(range(10**8))"),
        ("run", "-e", "x = [0]*(5*10**6)\ny = tuple(x)\nz = [*x]"),
    ):  # fmt: skip
        code, used = peak(*words, "--max-mem", "90M")
        assert code == 3 and used - base < 1.1 * (90 << 20), words


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts pages that are touched")
@family("text", ["sum(x*x)", "sum(cumsum(x, 0))", "sum(logcumsumexp(x, 0))", "amax(x*x, 0)"])
def test_what_just_fits_is_computed(process, text):
    """40 MB and a little: a sum needs no array beside the one that it adds up."""
    done = process("eval", text, "--x", "zeros(5*10**6)", "--max-mem", "45M")
    assert done.code == 0, done.err


def test_a_value_in_an_expression_is_refused_before_it_is_made(process):
    done = process("eval", "sum(x)", "--x", "rand(10**6)", "--max-mem", "5M")
    assert done.code == 3 and "refusing to allocate" in done.err


def test_a_limit_is_told_once(monkeypatch, capsys):
    """The thread that ends what does not stop says nothing of a computation that did."""
    ended = []
    monkeypatch.setattr("gradcli.cli.watchdog.os._exit", ended.append)
    for running in (True, False):
        monkeypatch.setattr("gradcli.cli.watchdog._watch.running", running)
        watchdog._end("E0602]: too much", "less")
    assert ended == [3] and capsys.readouterr().err.count("E0602") == 1


def test_cycles_that_a_program_leaves_are_collected(process):
    """Each turn leaves 8 MB in a list that holds itself: 800 MB, were they all kept."""
    text = "for i in range(100):\n    a = [ones(1000, 1000)]\n    a.append(a)\nprint(i)"
    done = process("run", "-e", text, "--max-mem", "500M")
    assert (done.code, done.out) == (0, "99\n"), done.err


def test_more_memory_than_a_machine_can_name_is_no_limit(piped):
    done = piped("plot", "x^2", "--json", GRADCLI_MAX_MEM="1e99G")
    assert done.code == 0 and not done.err


def test_a_call_that_holds_the_clock_up_ends(process):
    done = process(
        "run", "-e", "while True: y = ones(2000, 2000) @ ones(2000, 2000)", "--timeout", "0.2"
    )
    assert done.code == 3 and "E0608" in done.err


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signal to hold up")
def test_what_holds_the_clock_up_for_long_is_ended_soon_after_the_limit(wheel):
    code = """if True:
        import signal, time
        from gradcli.cli import watchdog
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # as one long call would
        print(time.monotonic(), flush=True)
        watchdog.start(0.2)
        time.sleep(20)
    """
    words, env = [sys.executable, "-c", code], {**os.environ, "PYTHONPATH": str(wheel)}
    with started(words, env=env) as stuck:
        began = float(stuck.stdout.readline())
        assert stuck.wait(timeout=20) == 3
    assert time.monotonic() - began < 1.5


def test_a_program_from_a_pipe_that_nobody_writes_to(cli, tmp_path):
    os.mkfifo(tmp_path / "program")
    assert cli("run", "program", "--timeout", "0.3").code == 3


def test_a_batch_says_that_it_waits_for_a_named_pipe(process, wheel, tmp_path):
    os.mkfifo(tmp_path / "rows")
    words = [sys.executable, "-m", "gradcli", "batch", "2*x", "--csv", "rows"]
    env = {**os.environ, "PYTHONPATH": str(wheel)}
    with started(words, cwd=tmp_path, env=env) as waiting:
        said = waiting.stderr.readline()
        assert said == b"waiting for somebody to write to the named pipe rows\n"
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(timeout=20) == 130
    os.mkfifo(tmp_path / "journal")
    assert "no regular file" in process("batch", "status", "journal").err


def test_what_writing_a_result_takes_is_known_before(cli):
    for form, code in (("text", 0), ("json", 3), ("csv", 3)):
        done = cli("eval", "ones(400, 1000)", "--format", form, "--max-mem", "18M")
        assert done.code == code, done.err
        assert ("as " + form + ": refusing to allocate" in done.err) == bool(code)


def test_check_does_without_a_closed_form_that_takes_too_long(cli, monkeypatch):
    def endless(*_args):
        while True:
            pass

    monkeypatch.setattr("gradcli.display.agreements._closed_form", endless)
    done = cli("check", "x^2", "--x", "3", "--timeout", "1")
    assert done.code == 0
    assert "also: forward mode, Richardson differences, complex step\n" in done.out


def test_functions_of_a_session_work_within_the_limits_of_each_line(piped):
    lines = "def f(n): return 0 if n == 0 else 1 + f(n - 1)\n\nf(400)\nf(600)\nf(400)\n"
    done = piped("repl", stdin=lines)
    assert done.out == "400\n400\n" and done.code == 1 and "E0606" in done.err
    assert "calls nest deeper than 500" in done.err


def test_limits_may_come_from_the_environment(piped):
    endless = "while True: pass"
    done = piped("run", "-e", endless, GRADCLI_MAX_STEPS="1000")
    assert done.code == 3 and "passed 1,000 steps" in done.err
    done = piped("run", "-e", endless, "--max-steps", "500", GRADCLI_MAX_STEPS="1000")
    assert "passed 500 steps" in done.err


def test_a_limit_of_the_command_has_no_place_in_a_value(cli):
    loop = "sum([sum(ones(100, 100)) for i in range(99_000)])"
    done = cli("eval", "x*y", "--x", "2", "--y", loop, "--timeout", "0.05")
    assert done.code == 3 and done.err.startswith("error[E0608]") and "|" not in done.err
    done = cli("eval", "x", "--x", "sum([i for i in range(10**6)])")
    # From Python 3.12 on a comprehension has no frame: the place is that of its variable.
    place = "^^^" if sys.version_info < (3, 12) else "^"
    assert done.code == 3 and place in done.err and "--max-steps" not in done.err


@family("seconds", ["-1", "nan", "inf"])
def test_a_timeout_is_a_number_of_seconds(cli, seconds):
    assert cli("eval", "1", "--timeout", seconds).code == 2


def test_a_for_loop_shows_its_variable(cli):
    done = cli("run", "-e", "for i in range(100000): x = i*2", "--max-steps", "500")
    assert "the loop passed 500 steps" in done.err and "i: 497, 498, 499" in done.err


def test_a_program_has_so_many_functions(cli):
    text = "\n".join(f"def f{i}(): return {i}" for i in range(2001))
    done = cli("run", "-e", text)
    assert done.code == 3 and "E0604" in done.err and "2,000 functions" in done.err


@pytest.mark.parametrize("form", ["[1 {}]", "{{1 {}}}", "{{1: 1 {}}}", "sum(1 {})"])
def test_a_comprehension_has_so_many_clauses(cli, form):
    assert cli("run", "-e", form.format("for i in [1] " * 2000)).code == 0
    done = cli("run", "-e", form.format("for i in [1] " * 2001))  # 50,000 crashed the compiler
    assert done.code == 3 and "E0604" in done.err and "each `for` counted" in done.err


def test_a_chain_has_so_many_comparisons(cli):
    chain = "<".join(["x"] * 1001)
    assert cli("eval", f"{chain} < x", "--x", "1").code == 3
    assert cli("eval", f"1.0*({chain})", "--x", "1").out == "value  0\n"


def test_values_of_flags_and_files_count_against_the_memory_limit(cli, tmp_path):
    import numpy as np

    np.save(tmp_path / "a.npy", np.ones(200_000))
    (tmp_path / "a.csv").write_text("\n".join(["1.5"] * 200_000))
    for given in ("@a.npy", "@a.csv", "0:200000:1", "ones(200000)", "0:200000:0.99999"):
        done = cli("eval", "sum(x)", "--x", given, "--max-mem", "1M")
        assert done.code == 3, given
        assert done.err.startswith("error[E0602]"), given
        assert cli("eval", "sum(x)", "--x", given, "--max-mem", "20M").code == 0, given
    done = cli("eval", "sum(ones(200000))", "--max-mem", "1M")
    size = done.err.partition("--max-mem ")[2].split()[0]
    assert cli("eval", "sum(ones(200000))", "--max-mem", size).code == 0
    both = cli("eval", "sum(x*y)", "--x", "@a.npy", "--y", "@a.npy", "--max-mem", "2M")
    assert both.code == 3


def test_what_is_held_for_all_rows_of_a_batch_counts_against_the_memory_limit(cli, tmp_path):
    import numpy as np

    (tmp_path / "x.csv").write_text("x\n1\n")
    np.save(tmp_path / "a.npy", np.ones(200_000))
    np.savez_compressed(tmp_path / "packed.npz", x=np.ones(100_000), y=np.ones(100_000))
    rows, const = ("--csv", "x.csv"), ("--const", "a=ones(100000)")
    for words in (
        ("x", "--npz", "packed.npz"), ("a*x", *rows, "--const", "a=@a.npy"),
        ("a*x", *rows, "--const", "a=ones(200000)"),
        ("a*b*x", *rows, *const, "--const", "b=@a.npy"),
        ("a*x", *rows, *const, "--cotangent", "ones(100000)"),
    ):  # fmt: skip
        done = cli("batch", *words, "--max-mem", "1500K")
        assert done.code == 3 and "E0602" in done.err, words


def test_what_texts_of_elements_take_is_refused_before(cli):
    text = "print(ones(*[2]*17))"  # no axis is long enough to be cut
    for size, code in (("8M", 3), ("40M", 0)):
        done = cli("run", "-e", text, "--max-mem", size)
        assert done.code == code and ("refusing" in done.err) == (code == 3)


def test_what_sorting_takes_is_refused_before(cli):
    for text in ("isin(x, x)", "unique_consecutive(x)"):
        for size, code in (("2M", 3), ("10M", 0)):
            done = cli("eval", "-e", "x=zeros(100000)", "-e", text, "--max-mem", size)
            assert done.code == code and ("refusing" in done.err) == (code == 3), text


def test_what_a_file_takes_to_be_read_is_refused_before(cli, tmp_path):
    import numpy as np

    np.save(tmp_path / "a.npy", np.ones(200_000))
    for words in (("diff", "sum(x)"), ("vjp", "2*x", "--x", "1"), ("jvp", "x", "--x", "1")):
        option = {"diff": "--x", "vjp": "--cotangent", "jvp": "--along"}[words[0]]
        done = cli(*words, option, "@a.npy" if words[0] != "jvp" else "x=@a.npy", "--max-mem", "1M")
        assert done.code == 3 and "refusing to allocate" in done.err, words
    columns = np.ones((400, 500), order="F")
    for array in (columns, np.ones(200_000, ">f8"), np.ones(200_000, "f4")):
        np.save(tmp_path / "a.npy", array)  # to be turned into rows, bytes turned, doubles: a copy
        for size, code in (("2M", 3), ("4M", 0)):
            done = cli("eval", "sum(x)", "--x", "@a.npy", "--max-mem", size)
            assert done.code == code and ("refusing" in done.err) == (code == 3), array.dtype
    (tmp_path / "wide.csv").write_text(",".join(["1.5"] * 100_000))  # eleven times that as texts
    done = cli("eval", "sum(x)", "--x", "@wide.csv", "--max-mem", "8M")
    assert done.code == 3 and "refusing to allocate 8.39 MiB" in done.err
    assert cli("eval", "sum(x)", "--x", "@wide.csv", "--max-mem", "16M").code == 0
