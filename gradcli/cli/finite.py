"""Where a NaN or an infinity in a result comes from: the program is run once more and watched.

Loaded only when a result is not finite and ``--nan`` is not ``allow``.
"""

from __future__ import annotations

import math
from typing import Any

from gradcli.cli.inputs import Job
from gradcli.engine import Tensor, creation
from gradcli.engine.anomaly import detect_anomaly
from gradcli.engine.doctor import Finding, first_nonfinite, first_nonfinite_gradient
from gradcli.language import nodes as n
from gradcli.ops.errors import Fault, RuntimeFault

_WHY = {
    ("log", "negative"): "log of a negative number",
    ("log", "zero"): "log of zero",
    ("log2", "negative"): "log of a negative number",
    ("log10", "negative"): "log of a negative number",
    ("log1p", "negative"): "log1p of a number below -1",
    ("sqrt", "negative"): "sqrt of a negative number",
    ("sqrt", "zero"): "the slope of sqrt at zero",
    ("reciprocal", "zero"): "one over zero",
    ("asin", "positive"): "asin of a number above 1",
    ("acos", "positive"): "acos of a number above 1",
    ("exp", "positive"): "exp of a large number",
}


def find(job: Job) -> Fault | None:
    """The fault (E0501) that explains why a result is not finite; None where nothing is found."""
    leaves = {}
    for name, leaf in job.leaves.items():
        if isinstance(leaf, Tensor) and leaf.dtype.differentiable:
            given = leaf.detach().clone()
            if not _finite(given):
                return _given(name, job)
            leaf = given.requires_grad_()
        leaves[name] = leaf
    with detect_anomaly():
        outcome = job.program.run(leaves, limits=job.bounds)
    value = outcome.variables.get(job.of) if job.of else outcome.value
    if not isinstance(value, Tensor):
        value = creation.as_tensor(value) if isinstance(value, float) else None
    if value is None or value.edge is None:
        return None
    found = first_nonfinite(value)
    backward = False
    if found is None and value.array.size == 1:
        found, backward = first_nonfinite_gradient(value), True
    return None if found is None else _fault(found, backward, job)


def _finite(x: Tensor) -> bool:
    import numpy as np

    return bool(np.isfinite(x.array).all())


def _given(name: str, job: Job) -> Fault:
    fault = RuntimeFault(
        "E0501", f"`{name}` was given as a number that is not finite", help="or --nan allow"
    )
    place = job.program.checked.outer.get(name)
    if place is not None:
        fault.source = job.program.source  # type: ignore[attr-defined]
        fault.labels = [(place.start, place.end, "", True)]  # type: ignore[attr-defined]
    return fault


def _fault(found: Finding, backward: bool, job: Job) -> Fault:
    kind = "NaN" if _is_nan(found.value) else "an infinite number"
    operand = next((o for o in found.operands if o is not None), None)
    reason = _WHY.get((found.operator, _sign(operand)))
    if found.operator == "div" and len(found.operands) == 2 and found.operands[1] == 0:
        reason = "division by zero"
    what = "the gradient of " if backward and reason is None else ""
    fault = RuntimeFault("E0501", f"{reason or what + found.operator} gives {kind}")
    node = _node(found, job)
    said = _where(found, node, job)
    if node is not None:
        fault.source = job.program.source  # type: ignore[attr-defined]
        fault.labels = [(node.start, node.end, said, True)]  # type: ignore[attr-defined]
        said = ""
    way = "backward" if backward else "forward"
    fault.notes = (*([said] if said else []), f"{kind} appears first here, on the {way} pass")
    fault.help = "keep the values away from this edge (clamp, where), or --nan allow"
    return fault


def _is_nan(value: Any) -> bool:
    return value != value


def _sign(value: Any) -> str:
    if not isinstance(value, int | float) or math.isnan(value):
        return ""
    return "zero" if value == 0 else "negative" if value < 0 else "positive"


def _node(found: Finding, job: Job) -> n.Node | None:
    """The part of the program that the operation stands in."""
    if found.place is None:
        return None
    return job.program.node_at(found.place[1])


def _where(found: Finding, node: n.Node | None, job: Job) -> str:
    """``x - 2 is -1 at index 0; 1 of 4 elements``."""
    texts: list[str] = []
    source = job.program.source.text
    if isinstance(node, n.Call):
        args = node.args
        if isinstance(node.func, n.Attribute) and len(args) < len(found.operands):
            args = (node.func.value, *args)
        texts = [source[a.start : a.end] for a in args]
    elif isinstance(node, n.Binary):
        texts = [source[a.start : a.end] for a in (node.left, node.right)]
    parts = [
        f"{text} is {value:.6g}"
        for text, value in zip(texts, found.operands, strict=False)
        if isinstance(value, int | float) and not text.replace(".", "").isdigit()
    ]
    said = ", ".join(parts)
    if found.index:
        index = ", ".join(map(str, found.index))
        said += f"{' ' if said else ''}at index {index}; {found.count} of {found.size} elements"
    return said
