"""``gradcli ops``: the operators by family, or one operator with its rule."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gradcli.cli import options, output
from gradcli.display.records import dump_json
from gradcli.language.diagnostics.render import closest
from gradcli.ops.errors import ValueFault
from gradcli.ops.operator import OPERATORS, Operator


def ops(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One operator.")] = None,
    json: options.Json = False,
) -> None:
    """Example: gradcli ops tanh"""
    if name is None:
        _list(json)
        return
    found = find(name)
    if json:
        output.write(
            dump_json({"schema": 1, "ok": True, "command": "ops", "operator": facts(found)}) + "\n"
        )
        return
    shown = facts(found)
    width = 22
    lines = [f"{shown['signature']:<{width}} {shown['doc']}"]
    for label in ("derivative", "saves", "domain", "edges", "aliases", "example"):
        if shown[label]:
            lines.append(f"{label:<{width}} {shown[label]}")
    output.write("\n".join(lines) + "\n")


def find(name: str) -> Operator:
    """The operator of a name or alias. Raises ValueFault (E0907) with the nearest."""
    by_name = {n: op for op in OPERATORS.values() for n in (op.name, *op.aliases)}
    if name not in by_name:
        near = closest(name, by_name)
        raise ValueFault(
            "E0907",
            f"no operator {name}",
            help=f"did you mean {near}?" if near else "all: gradcli ops",
        )
    return by_name[name]


def facts(op: Operator) -> dict[str, Any]:
    """What there is to say about an operator, all of it from its declaration."""
    from gradcli.symbolic import rule_text  # slow to load, not for the list

    saved = sorted({n for names in op.saves for n in names})
    return {
        "name": op.name,
        "signature": op.signature(),
        "family": op.family,
        "kind": op.kind,
        "doc": f"{op.doc} ({op.kind})",
        "derivative": "zero wherever it exists" if op.kind == "constant" else rule_text(op),
        "saves": ", ".join(saved) if saved else ("" if op.kind == "constant" else "nothing"),
        "domain": op.domain,
        "edges": op.edges,
        "aliases": ", ".join(op.aliases),
        "example": example(op),
    }


def example(op: Operator) -> str:
    """A command that runs the operator, from its declaration; empty where no call reaches it."""
    if op.example:
        text, *flags = op.example.split(" --")
    else:
        text, flags = f"{op.name}({', '.join(op.inputs)})", [f"{n} 0.5" for n in op.inputs]
    if not op.public and not op.example:
        return ""
    command = "eval" if op.kind == "constant" else "grad"
    return " ".join([f'gradcli {command} "{text}"', *(f"--{flag}" for flag in flags)])


def _list(as_json: bool) -> None:
    families: dict[str, list[Operator]] = {}
    for op in OPERATORS.values():
        if op.public:
            families.setdefault(op.family, []).append(op)
    if as_json:
        table = {family: [op.name for op in members] for family, members in families.items()}
        output.write(
            dump_json({"schema": 1, "ok": True, "command": "ops", "families": table}) + "\n"
        )
        return
    lines = []
    for family, members in families.items():
        lines.append(f"{family}")
        line = "   "
        for op in members:
            if len(line) + len(op.name) > 90:
                lines.append(line)
                line = "   "
            line += f" {op.name}"
        lines += [line, ""]
    lines.append("gradcli ops NAME shows an operator's rule, domain and an example.")
    output.write("\n".join(lines) + "\n")
