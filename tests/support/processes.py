"""Commands started by tests: they hear Ctrl-C, and none is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any


def _hear_ctrl_c() -> None:
    # Who runs the tests in the background of a shell has Ctrl-C ignored, and so would the command.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def started(words: Sequence[str], **options: Any) -> Iterator[subprocess.Popen]:
    """A process with pipes and in a session of its own; at the end the session is killed."""
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, preexec_fn=_hear_ctrl_c, **options,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
