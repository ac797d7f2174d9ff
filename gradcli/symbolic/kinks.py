"""Where a function has no derivative: what a closed form says there, in words.

Either the formula takes a value there, the numeric engine's, or it holds elsewhere only; then the
engine's choice is told too. Places are named by the user's own expressions.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.printer import unparse
from gradcli.symbolic.program.steps import Step

LONGEST = 40
_TAKEN = "at {0} = 0: derivative of {op} taken as 0"
_JUMPS = "where {op} of {0} jumps: derivative taken as 0"
_TIES = "where {0} = {1}: the formula leaves ties of {op} out (gradcli grad {choice})"
_SHARED = (
    "where largest entries of {0} tie: the formula leaves them out (gradcli grad shares evenly)"
)
_LENGTH = "at {0} = 0: {op} has no derivative (gradcli grad takes 0)"

KINKS = {
    "abs": _TAKEN, "relu": _TAKEN,
    "leaky_relu": "at {0} = 0: derivative of leaky_relu taken as the negative slope",
    "hardtanh": "at {0} = -1 and 1: derivative of hardtanh taken as 0",
    "clamp": "where {0} meets a bound: derivative of clamp taken as 1",
    "maximum": _TIES.replace("{choice}", "splits them in half"),
    "minimum": _TIES.replace("{choice}", "splits them in half"),
    "fmax": _TIES.replace("{choice}", "takes the first"),
    "fmin": _TIES.replace("{choice}", "takes the first"),
    "amax": _SHARED, "amin": _SHARED.replace("largest", "smallest"),
    "where": "where {0} changes: derivative of the side that is taken",
    "std": "where {0} is constant: std has no derivative (gradcli grad takes 0)",
    "prod": "where an entry of {0} is 0: the formula divides by it (gradcli grad is exact)",
    "sign": _JUMPS, "floor": _JUMPS, "ceil": _JUMPS, "round": _JUMPS, "trunc": _JUMPS,
    "heaviside": _JUMPS, "floor_divide": _JUMPS,
    "sinc": "at {0} = 0: the formula divides by it (gradcli grad is exact)",
    "frac": "where {0} is whole: derivative of frac taken as 1",
    "remainder": "where remainder of {0} jumps: derivative of its smooth pieces",
    "fmod": "where fmod of {0} jumps: derivative of its smooth pieces",
    "hypot": "at {0} = {1} = 0: hypot has no derivative (gradcli grad takes 0)",
    "atan2": "at {0} = {1} = 0: atan2 has no derivative (gradcli grad takes 0)",
}  # fmt: skip
_NORMS = {1: "where an entry of {0} is 0: derivative of abs taken as 0"}


_CANCELS = frozenset(("abs", "norm", "std", "hypot"))
_ROUGH = re.compile(
    r"\b(abs|sign|norm|std|hypot|sqrt|rsqrt|where|heaviside)\(|[<>]|/ *[^\d. ]|\*\*-"
)


def kinks(steps: Sequence[Step], wrt: Container[str], answers: Iterable[str]) -> list[str]:
    """What is to be known of the kinks of a formula by these variables, each once.

    ``answers`` are its derivatives: a length whose square alone matters leaves nothing there that
    could have a kink.
    """
    moving: list[bool] = []
    found: dict[str, None] = {}
    squared = _squared_only(steps)
    rough = any(_ROUGH.search(answer) for answer in answers)
    for place, s in enumerate(steps):
        moving.append(
            s.value in wrt if s.op == "name" else any(moving[i] for i in s.inputs)
        )  # fmt: skip
        smooth = s.op in _CANCELS and (not rough or place in squared)
        words = _words(s) if moving[-1] and not smooth else None
        if words is not None:
            places = [_place(steps[i].node) for i in s.inputs]
            found[words.format(*places, op=_NAMES.get(s.op, s.op))] = None
    return list(found)


def _squared_only(steps: Sequence[Step]) -> set[int]:
    """The lengths of which only powers above 1 are used: those have no kink."""
    users: dict[int, list[bool]] = {}
    for s in steps:
        power = steps[s.inputs[1]] if s.op == "pow" else None
        high = s.op == "square" or (
            power is not None and power.op == "number" and power.value > 1
        )  # fmt: skip
        for k, i in enumerate(s.inputs):
            users.setdefault(i, []).append(high and k == 0)
    return {
        i for i, uses in users.items()
        if all(uses) and steps[i].op in ("norm", "hypot") and steps[i].params.get("p", 2) == 2
    }  # fmt: skip


_NAMES = {"maximum": "max", "minimum": "min"}


def _words(s: Step) -> str | None:
    if s.op in _NAMES and s.ties is not None and "left" not in s.ties:
        if "both" in s.ties:
            return KINKS[s.op].replace("{1}:", "{1} at isolated points:")
        if "kept" in s.ties:
            return None
    words = KINKS.get(s.op)
    p = s.params.get("p", 2) if s.op == "norm" else None
    if p in (float("inf"), float("-inf")):
        words = _SHARED
    if words is not None and "tie:" in words:
        return None if s.ties is not None and "one" not in s.ties else words
    if s.op != "norm":
        return words
    return _NORMS.get(p, _LENGTH)


def _place(node: n.Node) -> str:
    """An expression in the user's words; where it is long or none, what it is."""
    text = unparse(node) if isinstance(node, n.Expr) else ""
    if isinstance(node, n.Binary | n.Compare) and len(text) <= LONGEST:
        return f"({text})" if isinstance(node, n.Binary) and node.op in "+-" else text
    return text if 0 < len(text) <= LONGEST else "its argument"
