"""The gradients that ``--against`` and ``--against-file`` give, by variable."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from gradcli.cli import inputs
from gradcli.cli.job import Job
from gradcli.language.diagnostics.render import did_you_mean
from gradcli.language.values.arrays import from_json
from gradcli.ops.errors import ValueFault

_NAMED = re.compile(r"\s*([A-Za-z]\w*)\s*=(?!=)(.*)", re.DOTALL)


def formulas(job: Job, given: Sequence[str]) -> dict[str, str]:
    """The formulas of ``--against`` by variable. Raises ValueFault (E0907, E0910)."""
    found: dict[str, str] = {}
    for item in given:
        named = _NAMED.fullmatch(item)
        if named is not None:
            name, text = named[1], named[2]
        elif len(job.wanted) == 1:
            name, text = job.wanted[0], item
        else:
            example = " ".join(f'--against {w}="..."' for w in job.wanted[:2])
            raise ValueFault(
                "E0907", f"--against {item}: there are {len(job.wanted)} variables", help=example
            )
        _known(job, name, f"--against {item}")
        if name in found:
            raise ValueFault("E0909", f"--against gives {name} twice", help="give each once")
        found[name] = text
    return found


def _known(job: Job, name: str, said: str) -> None:
    if name not in job.wanted:
        mend = did_you_mean(name, job.wanted, f"by {', '.join(job.wanted) or 'nothing'}")
        raise ValueFault("E0910", f"{said}: there is no gradient by {name}", help=mend)


def from_file(job: Job, file: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The formulas, or the arrays, that a file holds by variable.

    A JSON object has an entry for each variable, or is what ``gradcli grad --json`` writes.
    """
    kind = os.path.splitext(file)[1].lower()
    if kind == ".grad":
        return formulas(job, [inputs.read_text(file)]), {}
    if kind != ".json":
        dtype = next(iter(job.leaves.values())).dtype
        found = inputs.read_flag("against-file", f"@{file}", dtype)
    else:
        found = inputs.from_json("--against-file", file)
        if isinstance(found, dict) and isinstance(found.get("grads"), dict):
            found = found["grads"]
    if not isinstance(found, dict) or "data" in found:
        if len(job.wanted) != 1:
            raise ValueFault(
                "E0907", f"--against-file {file} holds one array, there are {len(job.wanted)} "
                "variables", help="choose one with --wrt NAME, or give a JSON object",
            )  # fmt: skip
        found = {job.wanted[0]: found}
    if kind != ".json":
        return {}, found
    arrays = {}
    for name, value in found.items():
        _known(job, name, f"--against-file {file}")
        try:
            arrays[name] = from_json(value)
        except (ValueError, TypeError, OverflowError):
            raise ValueFault("E0904", f"--against-file {file}: {name} is no array") from None
    return {}, arrays
