"""The journal of a batch: what was computed, so that a run that was killed can be continued.

A file that is only appended to. After a line that says what it is come records, each with its kind,
its length and a checksum over its content:

    kind (1 byte)  length (8)  CRC-32 (4)  content

    H   JSON: what the batch is (input, program, options), and a hash of all that decides its output
    B   a block of rows: JSON, a newline, and the bytes that go to the output
    E   the end: JSON with the totals

A record is whole or it is not there: a torn tail is cut off, and what it held is computed again.
Records are handed to the system at once, so they outlive the process; the disk is told to keep them
(fsync) once a second and at the end, so a loss of power costs at most the last second's work.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, BinaryIO

from gradcli.batch.encode import Result
from gradcli.batch.outputs import lock
from gradcli.language.diagnostics.render import inert
from gradcli.ops.errors import ValueFault

MAGIC = b"gradcli batch journal 1\n"
FSYNC_SECONDS = 1.0
_HEAD = 13


class Journal:
    """A journal that is written to.

    what     the batch in words, for ``status``
    deciding everything that decides the output, for the hash

    Raises ValueFault (E0927) for a journal that exists where ``resume`` is False, for one of
    another batch, and for a file that is no journal; (E0904) for one that cannot be opened.
    """

    def __init__(
        self, path: str, resume: bool, what: Mapping[str, Any], deciding: Mapping[str, Any]
    ) -> None:
        self.path = path
        self.replaying = False
        self.rows = 0
        self.seal = ""
        text = json.dumps(deciding, sort_keys=True)
        head = {**what, "deciding": deciding, "hash": hashlib.sha256(text.encode()).hexdigest()}
        try:
            self.file = open(path, "a+b")  # noqa: SIM115
        except OSError as problem:
            raise ValueFault(
                "E0904", f"cannot open the journal {path}: {problem.strerror or problem}"
            ) from None
        try:
            lock(self.file)
        except BlockingIOError:
            said = f"another run is writing to the journal {path}"
            raise ValueFault("E0927", said, help="wait until it has ended") from None
        size = self.file.seek(0, os.SEEK_END)
        if size and not resume:
            mend = "--resume continues it; remove it to start again"
            raise ValueFault("E0927", f"the journal {path} exists already", help=mend)
        self._blocks: list[tuple[int, int]] = []
        if size:
            self._continue(head)
        if not self.file.tell():
            self.file.write(MAGIC)
            self._record(b"H", json.dumps(head).encode())
        self.sync()
        _sync_folder(path)

    def _continue(self, head: dict[str, Any]) -> None:
        """Find the whole records, cut off what is torn, and see that they are of this batch."""
        self.file.seek(0)
        found = _read(self.file, self.path)
        if found.head is not None:
            self._compare(found.head, head)
        self._blocks = found.blocks
        if found.last is not None:
            self.rows = found.last["first"] + found.last["count"] - 1
            self.seal = found.last["seal"]
        self.file.truncate(found.end if found.head is not None else 0)
        self.file.seek(0, os.SEEK_END)

    def _compare(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        """Raises ValueFault (E0927) where the journal is of another batch."""
        if old.get("hash") == new["hash"]:
            return
        before, now = old.get("deciding", {}), new["deciding"]
        differ = [name for name in now if before.get(name) != now[name]]
        said = "; ".join(
            f"{name} was {_short(before.get(name))}, is {_short(now[name])}"
            if name != "input" else "the input has changed"
            for name in differ
        )  # fmt: skip
        message = f"the journal {self.path} is of another batch: {said or 'other options'}"
        mend = "resume with the same input and options, or remove the journal to start again"
        raise ValueFault("E0927", message, help=mend)

    def append(self, result: Result) -> None:
        """Add a block. Raises OSError where the disk is full."""
        meta = {
            "first": result.first, "count": result.count, "records": result.records,
            "failed": result.failed, "seal": result.seal, "body": len(result.body),
        }  # fmt: skip
        content = b"".join((json.dumps(meta).encode(), b"\n", result.body, result.errors))
        self._record(b"B", content)
        if time.monotonic() - self._synced > FSYNC_SECONDS:
            self.sync()

    def _record(self, kind: bytes, content: bytes) -> None:
        head = kind + len(content).to_bytes(8, "little")
        head += zlib.crc32(content, zlib.crc32(head)).to_bytes(4, "little")
        self.file.write(head)
        self.file.write(content)
        self.file.flush()

    def sync(self) -> None:
        """Have the disk keep what was written."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self._synced = time.monotonic()

    def replay(self) -> Iterator[Result]:
        """The results that the journal held when it was opened."""
        self.replaying = True
        for at, after in self._blocks:  # another file of this name would give up the lock
            self.file.seek(at + _HEAD)
            yield _result_of(self.file.read(after - at - _HEAD))
        self.replaying = False

    def close(self, summary: Any) -> None:
        """Note the end."""
        self._record(b"E", json.dumps(asdict(summary)).encode())
        self.sync()
        self.file.close()


def _result_of(content: bytes) -> Result:
    line, _, rest = content.partition(b"\n")
    meta = json.loads(line)
    failed = [(place, row) for place, row in meta["failed"]]
    size = meta["body"]
    return Result(
        meta["first"], meta["count"], meta["records"], failed, rest[:size], rest[size:],
        meta["seal"],
    )  # fmt: skip


class _Found:
    """What a journal holds: its head, where its blocks begin and end, the last of them, totals of
    all, how it ended, and where its whole records end."""

    def __init__(self) -> None:
        self.head: dict[str, Any] | None = None
        self.blocks: list[tuple[int, int]] = []
        self.last: dict[str, Any] | None = None
        self.records = self.failed = self.end = 0
        self.state = "unfinished"


def _read(file: BinaryIO, path: str) -> _Found:
    """What a journal holds, to its first record that is not whole. Raises ValueFault (E0927)."""
    found, size = _Found(), os.fstat(file.fileno()).st_size
    start = file.read(len(MAGIC))
    if not MAGIC.startswith(start):
        raise ValueFault("E0927", f"{path} is no journal of a batch", help="choose another file")
    found.end = at = len(start)
    while True:
        head = file.read(_HEAD)
        length = int.from_bytes(head[1:9], "little")
        if len(head) < _HEAD or head[:1] not in (b"H", b"B", b"E") or length > size - at - _HEAD:
            return found
        content = file.read(length)
        if zlib.crc32(content, zlib.crc32(head[:9])) != int.from_bytes(head[9:], "little"):
            return found
        said = json.loads(content.partition(b"\n")[0])
        found.end = at + _HEAD + length
        if head[:1] == b"H":
            found.head = said
        elif head[:1] == b"B":
            found.blocks.append((at, found.end))
            found.last, found.state = said, "unfinished"
            found.records += said["records"]
            found.failed += len(said["failed"])
        else:
            found.state = "halted" if said["halted"] else "finished"
        at = found.end


def _sync_folder(path: str) -> None:
    """Have the disk keep that there is a file of this name."""
    with contextlib.suppress(OSError):  # not on Windows
        folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def _short(value: Any) -> str:
    text = inert(json.dumps(value))
    return text if len(text) <= 60 else text[:57] + "..."


def status(path: str) -> dict[str, Any]:
    """What a journal says of its batch.

    ``state`` is finished, halted or unfinished; ``torn`` counts the bytes of a torn tail. Raises
    ValueFault (E0904, E0927) for what cannot be read, or is no journal.
    """
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe may have no writer
            raise OSError(errno.EINVAL, "it is no regular file")
        with open(path, "rb") as file:
            found = _read(file, path)
            size = os.fstat(file.fileno()).st_size
    except OSError as problem:
        raise ValueFault("E0904", f"cannot read {path}: {problem.strerror}") from None
    rows = 0 if found.last is None else found.last["first"] + found.last["count"] - 1
    head = {k: v for k, v in (found.head or {}).items() if k != "deciding"}
    return {
        "state": found.state, "rows": rows, "records": found.records, "failed": found.failed,
        "blocks": len(found.blocks), **head, "torn": size - found.end,
    }  # fmt: skip
