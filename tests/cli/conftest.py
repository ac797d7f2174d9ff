"""How the command line is run in tests: in this process, or as a process on the built wheel."""

from __future__ import annotations

import io
import json
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

from gradcli.cli import watchdog
from gradcli.cli.main import run
from gradcli.engine import dtypes

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Done:
    """What a run left: exit code, standard output, standard error."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> dict:
        """Standard output through a strict reader: one object, no NaN."""

        def refuse(word: str) -> None:
            raise AssertionError(f"{word} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    """Run a command in this process, in an empty folder: ``cli("grad", "x^2", "--x", "3")``."""
    monkeypatch.chdir(tmp_path)
    before = dtypes.get_default_dtype()

    def call(*args: str) -> Done:
        watchdog.keep_process()  # that of the tests
        code = run(list(args))
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    yield call
    watchdog.keep_process(False)
    dtypes.set_default_dtype(before)


@pytest.fixture
def piped(cli, monkeypatch):
    """Run a command in this process, its standard input given: ``piped("repl", stdin="1\\n")``."""

    def call(*args: str, stdin: str | bytes = "", **env: str) -> Done:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        with monkeypatch.context() as m:
            m.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
            for name, value in env.items():
                m.setenv(name, value)
            return cli(*args)

    return call


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> pathlib.Path:
    """The wheel as it would be installed: built, unpacked, byte-compiled in its own folder."""
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (built,) = target.glob("*.whl")
    site = target / "site"
    with zipfile.ZipFile(built) as archive:
        archive.extractall(site)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(site)], check=True)
    return site


@pytest.fixture
def process(wheel, tmp_path):
    """Run a command as a process on the wheel, away from the checkout."""

    def call(*args: str, stdin: str | bytes | None = None, **env: str) -> Done:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [sys.executable, "-m", "gradcli", *args],
            input=data if data is not None else b"",
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(wheel), **env},
            timeout=120,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call
