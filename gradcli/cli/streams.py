"""The standard streams as a caller may leave them: closed, on a full disk, a pipe nobody reads.

A descriptor that is closed at the start is opened on the null device, so that no file that is
opened later can take its number; standard output for reading, so that writing to it fails with an
error of the system (bad file descriptor), which is reported like a full disk.
"""

from __future__ import annotations

import io
import os
import stat
import sys

TYPE_CHECKING = False  # see main
if TYPE_CHECKING:
    from typing import Any, BinaryIO, TextIO

    from gradcli.ops.errors import ValueFault


class _Told(io.TextIOWrapper):
    """Standard error, where what it does not take is lost: no reason to lose the result too."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            discard(2)
            return len(text)


class _Whole(io.BufferedWriter):
    """Standard output without a buffer (PYTHONUNBUFFERED), all of what is written.

    A raw file takes what a full disk has room for and leaves the rest to its caller, and text
    streams do not look.
    """

    def write(self, data: Any) -> int:
        taken = super().write(data)
        self.flush()
        return taken


def secure() -> None:
    """Make both output streams exist, and give a closed input a descriptor that is not reused."""
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    elif isinstance(raw := getattr(sys.stdout, "buffer", None), io.RawIOBase):
        kept = sys.stdout.encoding, sys.stdout.errors  # sys.__stdout__ keeps the file open
        sys.stdout = io.TextIOWrapper(_Whole(raw), *kept, write_through=True)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    elif sys.stderr.__class__ is io.TextIOWrapper:
        said = sys.stderr  # sys.__stderr__ keeps it open
        sys.stderr = _Told(said.buffer, said.encoding, said.errors, line_buffering=True)


def discard(number: int) -> None:
    """Send what is still buffered for descriptor ``number`` nowhere: its reader is gone."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)


def flush() -> OSError | None:
    """Write out both output streams; gives what went wrong on standard output, if it matters.

    A pipe whose reader left does not: what the reader did not want is no error. Nor is there
    anywhere to report what standard error could not take.
    """
    problem: OSError | None = None
    try:
        sys.stdout.flush()
    except OSError as fault:
        discard(1)
        problem = None if isinstance(fault, BrokenPipeError) else fault
    except ValueError:  # a stream that a caller in the same process closed
        pass
    try:
        sys.stderr.flush()
    except OSError:
        discard(2)
    except ValueError:
        pass
    return problem


def unwritable(problem: OSError) -> ValueFault:
    """The error of a result that standard output does not take: E0911."""
    from gradcli.ops.errors import ValueFault

    said = f"the result cannot be written: {problem.strerror or problem}"
    mend = "look at where the output goes: a full disk, a closed stream"
    return ValueFault("E0911", said, help=mend)


def opened(path: str) -> BinaryIO:
    """A file to read; a named pipe that nobody writes to is told of after a second."""
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        return open(path, "rb")
    import threading  # for pipes only

    from gradcli.language.diagnostics.render import inert

    said = f"waiting for somebody to write to the named pipe {inert(path)}\n"
    told = threading.Timer(1.0, sys.stderr.write, (said,))
    told.daemon = True
    told.start()
    try:
        return open(path, "rb")
    finally:
        told.cancel()
        told.join()  # no other thread may run while workers are forked


def standard_input() -> TextIO:
    """Standard input. Raises ValueFault (E0904) where it is closed."""
    if sys.stdin is None:
        from gradcli.ops.errors import ValueFault

        raise ValueFault("E0904", "cannot read standard input: it is closed")
    return sys.stdin
