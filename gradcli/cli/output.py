"""Results on standard output, as text, JSON, CSV or NPY, and errors on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.cli import watchdog
from gradcli.cli.arguments import no_choice, noted
from gradcli.display.values import show_rows, show_value
from gradcli.engine import Tensor
from gradcli.language.diagnostics.render import Diagnostic, inert
from gradcli.ops.errors import Fault, LimitFault, ValueFault

FORMATS = ("text", "json", "csv", "npy")
EACH = {"text": 8, "json": 64, "csv": 48}
"""Bytes that an entry takes while it is written."""


def form_of(as_json: bool, form: str | None) -> str:
    """The output form from its two options. Raises ValueFault (E0907)."""
    watchdog.stop()
    form = form or ("json" if as_json else "text")
    if form not in FORMATS:
        raise no_choice("--format", form, FORMATS)
    if as_json and form != "json":
        raise ValueFault("E0907", f"--json and --format {form} exclude each other")
    return form


def read_precision(text: str | None) -> int | str | None:
    """``--precision``: a number of digits, or full. Raises ValueFault (E0907)."""
    if text is None or text == "full":
        return text
    if text.isdecimal() and 1 <= int(text) <= 17:
        return int(text)
    mend = "did you mean full?" if text[:1] in ("f", "F") else "7 digits without it"
    raise ValueFault("E0907", f"--precision {text}: 1 to 17, or full", help=mend)


def array_of(value: Any) -> Any:
    """The numbers of a result, in the computer's own memory."""
    return value.detach().cpu().array if isinstance(value, Tensor) else value


def emit(
    command: str, form: str, parts: Sequence[tuple[str, str, Any, str]],
    precision: int | str | None, extra: Mapping[str, Any] | None = None,
    warnings: Sequence[str] = (),
) -> None:  # fmt: skip
    """Write a result.

    ``parts`` are (place in the JSON object such as "value" or "grads.x", label, value, note); one
    without a label stands in JSON only.
    """
    if form != "json":
        for warning in warnings:
            warn(warning)
    tables = [p for p in parts if p[0] != "value"] or list(parts)
    if form == "text":
        rows = [
            (label, _shown(array_of(value), precision), note)
            for _, label, value, note in parts
            if label
        ]
        write(show_rows(rows if any(r[2] for r in rows) else [r[:2] for r in rows]) + "\n")
    elif form == "json":
        write_record(command, warnings, **{**_results(parts), **(extra or {})})
    elif form == "csv":
        from gradcli.display.records import csv_text, write_csv  # not needed for text

        if len(tables) == 1:
            write(csv_text(array_of(tables[0][2])))
        else:
            rows_out: list[list[Any]] = [["name", "index", "value"]]
            for place, _, value, _ in parts:
                rows_out += _entries(place.rpartition(".")[2], array_of(value))
            write(write_csv(rows_out))
    else:
        from gradcli.display.records import write_npy  # not needed for text

        if len(tables) != 1:
            raise ValueFault(
                "E0907", "--format npy writes one array", help="choose it with --wrt NAME"
            )
        sys.stdout.flush()
        write_npy(sys.stdout.buffer, array_of(tables[0][2]))


def _shown(array: Any, precision: int | str | None) -> str:
    """Numbers for a reader: the sign of a zero is noise, except in full."""
    if precision != "full" and array.dtype.kind == "f":
        array = array + 0.0
    return show_value(array, precision)


def _entries(name: str, array: Any) -> list[list[Any]]:
    return [
        [name, " ".join(map(str, place)), array[place].item() if array.ndim else array.item()]
        for place in np.ndindex(array.shape)
    ]


def write_record(command: str, warnings: Sequence[str] | None = (), **found: Any) -> None:
    """Write what a command found as one JSON object, with what there is to warn of.

    ``warnings`` is None where nothing is computed.
    """
    from gradcli.display.records import dump_json  # not needed for text

    record = {"schema": 1, "ok": True, "command": command, **found}
    if warnings is not None:
        record["warnings"] = [*noted, *warnings]
    write(dump_json(record) + "\n")


def _results(parts: Sequence[tuple[str, str, Any, str]]) -> dict[str, Any]:
    from gradcli.display.records import tensor_record  # not needed for text

    result: dict[str, Any] = {}
    for place, _, value, _ in parts:
        *path, last = place.split(".")
        holder = result
        for step in path:
            holder = holder.setdefault(step, {})
        holder[last] = tensor_record(array_of(value), value.dtype.name)
    return result


def write(text: str) -> None:
    """Results go to standard output."""
    sys.stdout.write(text)


def warn(message: object) -> None:
    """A warning goes to standard error, in one line that no terminal acts on."""
    sys.stderr.write(f"warning: {inert(str(message))}\n")


def inert_writer(stream: Any) -> Callable[[str], Any]:
    """A program's prints onto a stream, with all spelled out that a terminal could act on."""

    def write_inert(text: str) -> None:
        if not text.replace("\n", "").isprintable():
            text = "\n".join(
                "\t".join(inert(part) for part in line.split("\t")) for line in text.split("\n")
            )
        stream.write(text)

    return write_inert


def complain(fault: Fault, as_json: bool) -> int:
    """Show a fault; gives the exit code that it means."""
    watchdog.stop()
    code = exit_code(fault)
    found = [fault]
    if fault.code[:3] in ("E01", "E02"):
        from gradcli.language.diagnostics.recovery import further  # for texts with errors only

        found += further(fault)
    # What could not be written to standard output cannot be reported there either.
    if as_json and fault.code != "E0911":
        from gradcli.display.records import dump_json  # not needed for text

        errors = [Diagnostic.of(one).to_json() for one in found]
        record = {"schema": 1, "ok": False, "error": errors[0], "errors": errors}
        sys.stdout.write(dump_json(record) + "\n")
    else:
        said = [Diagnostic.of(one).render(colour(sys.stderr)) + "\n" for one in found]
        sys.stderr.write("\n".join(said))
    return code


def exit_code(fault: Fault) -> int:
    """1 the mathematics failed, 2 the words were wrong, 3 a limit."""
    if isinstance(fault, LimitFault) or fault.code.startswith("E06"):
        return 3
    words = fault.code[:3] in ("E01", "E02", "E09")
    return 2 if words and fault.code not in ("E0999", "E0905", "E0911") else 1


def colour(stream: Any, wanted: str = "auto") -> bool:
    """Whether this stream is a terminal that wants colour; ``wanted`` where ``--color`` is not."""
    chosen = _choice()
    wanted = wanted if chosen == "auto" else chosen
    if wanted != "auto":
        return wanted == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(stream.isatty())


COLOURS = ("auto", "always", "never")


def check_colour(wanted: str | None) -> None:
    """``--color``. Raises ValueFault (E0907)."""
    if wanted is not None and wanted not in COLOURS:
        raise no_choice("--color", wanted, COLOURS)


def _choice() -> str:
    """``--color``, read from the arguments: an error may come before they are parsed."""
    for i, arg in enumerate(sys.argv):
        if arg.startswith("--color="):
            return arg.partition("=")[2]
        if arg == "--color" and i + 1 < len(sys.argv):
            return sys.argv[i + 1]
    return "auto"
