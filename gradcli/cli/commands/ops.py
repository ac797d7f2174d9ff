"""``gradcli ops``: operators and functions by family, or one of them with what is known of it."""

from __future__ import annotations

from dataclasses import asdict
from textwrap import wrap
from typing import Annotated, Any

import typer

from gradcli.cli import options, output
from gradcli.cli.operator_table import FACTS, Entry, entries
from gradcli.cli.options import option
from gradcli.language.diagnostics.render import did_you_mean
from gradcli.ops.errors import ValueFault
from gradcli.ops.operator import OPERATORS, Operator


def ops(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One operator.")] = None,
    kind: Annotated[str | None, option("--kind", "Only of a kind: linear ...")] = None,
    search: Annotated[str | None, option("--search", "Only where this is said.")] = None,
    count: Annotated[bool, option("--count", "How many names have what.")] = False,
    json: options.Json = False,
) -> None:
    """Example: gradcli ops tanh"""
    if name is None:
        _table(kind, search, count, json)
        return
    found = find(name)
    if isinstance(found, Operator):
        shown = facts(found)
    else:
        shown = asdict(found) | {"aliases": ", ".join(found.aliases)}
    if json:
        return output.write_record("ops", None, operator=shown)
    if isinstance(found, Operator):
        rows = rows_of(shown)
    else:
        rows = [(found.name, found.doc), ("as in PyTorch", found.prefixed), ("has", _having(found))]
    output.write("".join(f"{label:<22} {text}\n" for label, text in rows))


def rows_of(shown: dict[str, Any]) -> list[tuple[str, str]]:
    """The ``facts`` of an operator in rows, each with its label; the signature is that of the
    first."""
    labels = ("derivative", "saves", "domain", "edges", "aliases", "example")
    rows = [(label, shown[label]) for label in labels if shown[label]]
    return [(shown["signature"], shown["doc"]), *rows]


def _having(entry: Entry) -> str:
    return ", ".join(_LABELS[fact] for fact in FACTS if getattr(entry, fact)) or "a value alone"


_LABELS = dict(zip(FACTS, (
    "derivative", "second derivative", "forward mode", "batching", "closed form",
), strict=True))  # fmt: skip


def find(name: str) -> Operator | Entry:
    """What has a name or alias. Raises ValueFault (E0907) with the nearest."""
    listed = {n: entry for entry in entries() for n in (entry.prefixed, entry.name)}
    shown = [op for op in OPERATORS.values() if op.public or op.name not in listed]
    by_name: dict[str, Any] = {n: op for op in shown for n in (op.name, *op.aliases)}
    if name in by_name:
        return by_name[name]
    for whole in (name, f"torch.{name}", name.replace("F.", "torch.nn.functional.", 1)):
        if whole in listed:
            entry = listed[whole]
            return by_name.get(entry.name, entry)
    mend = did_you_mean(name, {**by_name, **listed}, "all: gradcli ops")
    raise ValueFault("E0907", f"no operator {name}", help=mend)


def facts(op: Operator) -> dict[str, Any]:
    """What there is to say about an operator, all of it from its declaration."""
    from gradcli.symbolic import rule_text  # slow to load, not for the list

    saved = sorted({n for names in op.saves for n in names})
    return {
        "name": op.name, "signature": op.signature(), "family": op.family, "kind": op.kind,
        "doc": f"{op.doc} ({op.kind})",
        "derivative": "zero wherever it exists" if op.kind == "constant" else rule_text(op),
        "saves": ", ".join(saved) if saved else ("" if op.kind == "constant" else "nothing"),
        "domain": op.domain, "edges": op.edges, "aliases": ", ".join(op.aliases),
        "example": example(op),
    }  # fmt: skip


def example(op: Operator) -> str:
    """A command that runs the operator, from its declaration; empty where no call reaches it."""
    if op.example:
        text, *flags = op.example.split(" --")
    elif op.core:
        scalar = op.core.endswith("()")
        text = f"{op.name}(A)" if scalar else f"sum({op.name}(A))"
        flags = ['A "2,1;1,3"']
    else:
        text, flags = f"{op.name}({', '.join(op.inputs)})", [f"{n} 0.5" for n in op.inputs]
    if not op.public and not op.example:
        return ""
    command = "eval" if op.kind == "constant" else "grad"
    return " ".join([f'gradcli {command} "{text}"', *(f"--{flag}" for flag in flags)])


def _table(kind: str | None, search: str | None, count: bool, as_json: bool) -> None:
    listed = entries(count or as_json)
    kinds = sorted({entry.kind for entry in listed})
    if kind is not None and kind not in kinds:
        mend = did_you_mean(kind, kinds, f"kinds are {', '.join(kinds)}")
        raise ValueFault("E0907", f"no kind {kind}", help=mend)
    word = (search or "").lower()
    listed = [
        entry for entry in listed
        if kind in (None, entry.kind)
        and word in " ".join((entry.name, *entry.aliases, entry.family, entry.doc)).lower()
    ]  # fmt: skip
    if not listed:
        raise ValueFault("E0907", f"no operator says {search}", help="all: gradcli ops")
    if count:
        _count(listed, as_json)
        return
    families: dict[str, list[Entry]] = {}
    for entry in listed:
        families.setdefault(entry.family, []).append(entry)
    if as_json:
        named = {f: [e.name for e in members] for f, members in families.items()}
        operators = [asdict(entry) for entry in listed]
        return output.write_record("ops", None, families=named, operators=operators)
    lines = []
    for family, members in families.items():
        lines.append(f"{family}")
        if search:
            lines += [f"    {entry.name:<28} {entry.doc}" for entry in members] + [""]
            continue
        names = " ".join(entry.name for entry in members)
        lines += [*wrap(names, 91, initial_indent=" " * 4, subsequent_indent=" " * 4), ""]
    lines.append("gradcli ops NAME shows an operator's rule, domain and an example.")
    output.write("\n".join(lines) + "\n")


def _count(listed: list[Entry], as_json: bool) -> None:
    counted = {"names": sum(1 + len(entry.aliases) for entry in listed), "functions": len(listed)}
    counted |= {f: sum(getattr(entry, f) for entry in listed) for f in FACTS}
    if as_json:
        return output.write_record("ops", None, count=counted)
    labels = {"names": "names", "functions": "functions", **_LABELS}
    lines = [f"{labels[key]:<20} {number:>5}" for key, number in counted.items()]
    output.write("\n".join(lines) + "\n")
