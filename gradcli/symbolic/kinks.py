"""Where a function has no derivative: what a closed form says there, in words.

Either the formula takes the numeric engine's value at such a point, or it holds elsewhere only and
the engine's choice is added. The sentences stand on the operators' declarations (``kink``); points
are given by the user's expressions.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.printer import unparse
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.program.steps import Step

LONGEST = 40
_DIVIDES = re.compile(r"/ *[^\d. ]|\*\*-")
_ROUGH = re.compile(
    rf"\b(abs|sign|norm|std|hypot|sqrt|rsqrt|where|heaviside)\(|[<>]|{_DIVIDES.pattern}"
)
_UNIT = re.compile(r"(?:\bsign|/[^+]*\b(?:norm|hypot|abs|std))\(([^()]*)")
"""The slope of a length, and of what: to the first parenthesis."""


def kinks(
    steps: Sequence[Step], wrt: Container[str], answers: Iterable[str], order: int,
    elsewhere: Iterable[tuple[int, str]] = (),
) -> list[str]:  # fmt: skip
    """What is to be known of the kinks of a formula by these variables, each once.

    ``answers`` are its derivatives, those of lower orders too: a length whose square alone matters
    leaves nothing there that could have a kink. ``elsewhere`` is said of borders where the engine
    has another slope, unless it is told already that the formula holds beside kinks only.
    """
    moving: list[bool] = []
    found: dict[str, None] = {}
    squared = _squared_only(steps)
    rough = any(_ROUGH.search(answer) for answer in answers)
    whole = not any(_DIVIDES.search(answer) for answer in answers)
    written = [
        unparse(steps[i].node) for s in steps if _is_length(s.op) or s.op == "sign"
        for i in s.inputs
    ]  # fmt: skip
    units = {unit for answer in answers for unit in _UNIT.findall(answer)}
    own = all(any(text.startswith(unit) for text in written) for unit in units)
    lost = "" if own else " ".join(answers)
    made = _made_of_several(steps)
    for s in steps:
        moving.append(s.value in wrt if s.op == "name" else any(moving[i] for i in s.inputs))
    decided = [any(moving[i] for i in _deciding(s)) for s in steps]
    chosen = zip(steps, decided, strict=True)
    pieces = {id(s.node) for s, here in chosen if here and s.op == "where"} & made
    for place, s in enumerate(steps):
        smooth = _is_length(s.op) and (not rough or place in squared)
        words = (_words(s) or _lost(steps, s, lost)) if decided[place] and not smooth else None
        if words is not None and (
            (order < 2 and ": second derivative" in words) or ("divides by it" in words and whole)
        ):
            words = None
        if words is not None and id(s.node) in pieces and s.op != "where":
            told = "has no derivative" in words or (order > 1 and "second derivative" in words)
            words = words if told else None  # the pieces of its function are told
        if words is not None and not (" tie:" in words and _sorted(steps[s.inputs[0]])):
            places = [_place(_given(steps, s, i)) for i in s.inputs]
            if isinstance(s.node, n.Call) and id(s.node) in made:  # which looks at values itself
                name = unparse(s.node.func)
                if s.op == "where":
                    places[0] = f"the piece of {name}"
                elif steps[s.inputs[0]].node is s.node:
                    places[0] = f"the argument of {s.op} in {name}"
            if "{0} = {1} = 0" in words:
                numbers = [steps[i].value for i in s.inputs if steps[i].op == "number"]
                if any(numbers):  # beside one that is not 0 there is no such point
                    continue
                places = [
                    p for p, i in zip(places, s.inputs, strict=True) if steps[i].op != "number"
                ]
                places = [" = ".join(dict.fromkeys(places))]
                words = words.replace("{0} = {1}", "{0}")
            words = words.replace(":", f"{_along(s)}:", 1) if words != _AN_ENTRY else words
            found[words.format(*places, op=_NAMES.get(s.op, s.op))] = None
    if not any("the formula" in words or "has no derivative" in words for words in found):
        found |= {words: None for depth, words in elsewhere if depth == order}
    return list(found)


def _made_of_several(steps: Sequence[Step]) -> set[int]:
    """The calls, by identity, of functions composed of several operators."""
    ops: dict[int, set[str]] = {}
    for s in steps:
        if isinstance(s.node, n.Call):
            ops.setdefault(id(s.node), set()).add(s.op)
    return {node for node, found in ops.items() if len(found) > 1}


def _along(s: Step) -> str:
    """Along which dimensions a reduction of some sees its argument."""
    dims = s.params.get("dim")
    if dims in (None, ()) or s.op not in OPERATORS or OPERATORS[s.op].kind != "reduction":
        return ""
    return f" along dim {dims}" if isinstance(dims, int) else f" along dims {dims}"


def _deciding(s: Step) -> Sequence[int]:
    """The steps that decide where a step has kinks: of a choice, its condition."""
    between = s.op not in OPERATORS or OPERATORS[s.op].breaks in ("", "ties", "multiples")
    return s.inputs if between else s.inputs[:1]


def _lost(steps: Sequence[Step], s: Step, answers: str) -> str | None:
    """What is said of a root that ``answers`` have as a length: sqrt(x**2) is abs(x)."""
    power = steps[s.inputs[1]] if s.op == "pow" else None
    if (
        not answers
        or s.op not in ("sqrt", "pow")
        or (power is not None and power.op == "number" and not 0 < power.value < 1)
    ):
        return None
    own = f"sqrt({unparse(steps[s.inputs[0]].node)})"
    return None if own in answers else "at {0} = 0: {op} has no derivative"


def _sorted(s: Step) -> bool:
    """Whether a step gives values in order, which says itself where they are equal."""
    return s.op in OPERATORS and bool(OPERATORS[s.op].sorted)


def _given(steps: Sequence[Step], s: Step, i: int) -> n.Node:
    """What the user wrote as an argument of a step, which a composed function may have made."""
    while steps[i].node is s.node and steps[i].inputs:
        i = steps[i].inputs[0]
    return steps[i].node


def _is_length(name: str) -> bool:
    """Whether an operator measures how far its argument is from 0: abs, norm, std, hypot."""
    return name in OPERATORS and OPERATORS[name].parity == "even" and bool(OPERATORS[name].kink)


def _squared_only(steps: Sequence[Step]) -> set[int]:
    """The lengths of which only powers above 1 are used: those have no kink."""
    users: dict[int, list[bool]] = {}
    for s in steps:
        power = steps[s.inputs[1]] if s.op == "pow" else None
        high = s.op == "square" or (power is not None and power.op == "number" and power.value > 1)
        for k, i in enumerate(s.inputs):
            users.setdefault(i, []).append(high and k == 0)
    return {
        i for i, uses in users.items()
        if all(uses) and steps[i].op in ("norm", "hypot") and steps[i].params.get("p", 2) == 2
    }  # fmt: skip


_NAMES = {"maximum": "max", "minimum": "min"}
_AN_ENTRY = "where an entry of {0} is 0: derivative of abs taken as 0"
"""What the 1-norm has, a sum of absolute values."""


def _words(s: Step) -> str | None:
    words = OPERATORS[s.op].kink if s.op in OPERATORS else ""
    if s.op in _NAMES and s.ties is not None and "left" not in s.ties:
        if "both" in s.ties:
            return words.replace("{1}:", "{1} at isolated points:")
        if "kept" in s.ties:
            return None
    p = s.params.get("p", 2) if s.op == "norm" else 2
    if p in (float("inf"), float("-inf")):
        words = OPERATORS["amax"].kink
    elif p == 1:
        words = _AN_ENTRY
    if "tie:" in words and s.ties is not None and "one" not in s.ties:
        return None
    return words or None


def _place(node: n.Node) -> str:
    """An expression in the user's words; where it is long or none, what it is."""
    text = unparse(node) if isinstance(node, n.Expr) else ""
    if isinstance(node, n.Binary | n.Compare) and len(text) <= LONGEST:
        return f"({text})" if isinstance(node, n.Binary) and node.op in "+-" else text
    return text if 0 < len(text) <= LONGEST else "its argument"
