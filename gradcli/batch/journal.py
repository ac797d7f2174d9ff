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

import hashlib
import json
import os
import time
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from gradcli.batch.encode import Result
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
        head = {
            **what, "deciding": deciding, "hash": hashlib.sha256(text.encode()).hexdigest(),
        }  # fmt: skip
        try:
            self.file = open(path, "a+b")  # noqa: SIM115
        except OSError as problem:
            raise ValueFault(
                "E0904", f"cannot open the journal {path}: {problem.strerror}"
            ) from None
        self._lock()
        size = self.file.seek(0, os.SEEK_END)
        if size and not resume:
            raise ValueFault(
                "E0927", f"the journal {path} exists already",
                help="--resume continues it; remove it to start again",
            )  # fmt: skip
        self._blocks: list[tuple[int, int]] = []
        if size:
            self._continue(head)
        if not size or not self._blocks_begin:
            self.file.truncate(0)
            self.file.write(MAGIC)
            self._record(b"H", json.dumps(head).encode())
        self._synced = time.monotonic()
        self.sync()

    def _lock(self) -> None:
        try:
            import fcntl  # not on Windows
        except ImportError:
            return
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueFault(
                "E0927",
                f"another run is writing to the journal {self.path}",
                help="wait until it has ended",
            ) from None

    def _continue(self, head: dict[str, Any]) -> None:
        """Find the whole records, cut off what is torn, and see that they are of this batch."""
        self._blocks_begin = 0
        self.file.seek(0)
        start = self.file.read(len(MAGIC))
        if not MAGIC.startswith(start):
            raise ValueFault(
                "E0927", f"{self.path} is no journal of a batch", help="choose another file"
            )
        end = len(MAGIC)
        for kind, content, at, after in _records(self.file):
            if kind == b"H":
                self._compare(json.loads(content), head)
                self._blocks_begin = after
            elif kind == b"B":
                meta = json.loads(content.partition(b"\n")[0])
                self._blocks.append((at, after))
                self.rows = meta["first"] + meta["count"] - 1
                self.seal = meta["seal"]
            end = after
        self.file.truncate(end)
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
        raise ValueFault(
            "E0927", f"the journal {self.path} is of another batch: {said or 'of another version'}",
            help="resume with the same input and options, or remove the journal to start again",
        )  # fmt: skip

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
        with open(self.path, "rb") as file:
            for at, after in self._blocks:
                file.seek(at + _HEAD)
                yield _result_of(file.read(after - at - _HEAD))
        self.replaying = False

    def close(self, summary: Any) -> None:
        """Note the end."""
        totals = {
            "rows": summary.rows, "records": summary.records, "failed": summary.failed,
            "halted": summary.halted,
        }  # fmt: skip
        self._record(b"E", json.dumps(totals).encode())
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


def _records(file: Any) -> Iterator[tuple[bytes, bytes, int, int]]:
    """The whole records from where the file stands: kind, content, and where they begin and end."""
    size = os.fstat(file.fileno()).st_size
    while True:
        at = file.tell()
        head = file.read(_HEAD)
        if len(head) < _HEAD or head[:1] not in (b"H", b"B", b"E"):
            return
        length = int.from_bytes(head[1:9], "little")
        if length > size - at - _HEAD:
            return
        content = file.read(length)
        if zlib.crc32(content, zlib.crc32(head[:9])) != int.from_bytes(head[9:], "little"):
            return
        yield head[:1], content, at, file.tell()


def _short(value: Any) -> str:
    text = inert(json.dumps(value))
    return text if len(text) <= 60 else text[:57] + "..."


def status(path: str) -> dict[str, Any]:
    """What a journal says of its batch.

    ``state`` is finished, halted or unfinished; ``torn`` counts the bytes of a torn tail. Raises
    ValueFault (E0904, E0927) for what cannot be read, or is no journal.
    """
    try:
        file = open(path, "rb")  # noqa: SIM115
    except OSError as problem:
        raise ValueFault("E0904", f"cannot read {path}: {problem.strerror}") from None
    with file:
        start = file.read(len(MAGIC))
        if not MAGIC.startswith(start):
            raise ValueFault("E0927", f"{path} is no journal of a batch")
        found: dict[str, Any] = {
            "state": "unfinished", "rows": 0, "records": 0, "failed": 0, "blocks": 0,
        }  # fmt: skip
        end = len(start)
        for kind, content, _, after in _records(file):
            end = after
            if kind == b"H":
                head = json.loads(content)
                found.update({k: v for k, v in head.items() if k not in ("deciding",)})
            elif kind == b"B":
                meta = json.loads(content.partition(b"\n")[0])
                found["rows"] = meta["first"] + meta["count"] - 1
                found["records"] += meta["records"]
                found["failed"] += len(meta["failed"])
                found["blocks"] += 1
                found["state"] = "unfinished"
            else:
                found["state"] = "halted" if json.loads(content)["halted"] else "finished"
        found["torn"] = os.fstat(file.fileno()).st_size - end
    return found
