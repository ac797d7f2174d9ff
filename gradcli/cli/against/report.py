"""What ``gradcli check --against`` says of a given gradient, in words and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.cli.against.comparison import NUMBERS, Finding
from gradcli.display.values import show_value

SHOWN = 6
"""Up to how many numbers a point is shown."""


def lines_of(found: Finding, show: Callable[[Any], str]) -> list[str]:
    """The finding in words."""
    head = f"--against for {found.name}"
    if found.agrees:
        but = " but for rounding" if found.rounded else ""
        where = f", with {', '.join(found.held)} as given" if found.held else ""
        if found.signed:
            where += f", where {', '.join(found.signed)} {_HAVE[len(found.signed) == 1]} given"
        lines = [f"{head}: agrees{but} at this point{_tried(found)}{where}"]
        return [*lines, f"  not {_elsewhere(found, show)}"] if found.signed else lines
    lines = []
    if found.first is not None and found.worst is not None:
        where = _entry(found.given, found.right, found.first, show)
        many = f" at {found.differing} of {found.right.size} entries" if found.right.ndim else ""
        lines.append(f"{head}: disagrees{many}; {where}")
        if found.worst != found.first:
            lines.append(f"  worst: {_entry(found.given, found.right, found.worst, show)}")
    elif found.counter is not None and (found.nearby[0] or not found.nearby[1]):
        lines.append(f"{head}: disagrees elsewhere, agrees at this point{_tried(found)}")
    elif found.counter is not None:
        lines.append(f"{head}: agrees at this point by chance, and at none of those nearby")
    else:
        lines.append(f"{head}: has the wrong shape")
    if found.counter is not None:
        lines.append(f"  {_elsewhere(found, show)}")
    if found.mistake is not None:
        lines.append(f"  looks like {found.mistake.said}")
    if found.edit is not None and found.formula is not None:
        start, end = found.edit.start, found.edit.end
        if "\n" not in found.formula:
            lines.append(f"    {found.formula}")
            lines.append(f"    {' ' * start}{'^' * max(1, end - start)}")
        lines.append(f"  help: {found.edit.made_in(found.formula).strip()} agrees")
    return lines


_HAVE = ("have the signs", "has the sign")


def _tried(found: Finding) -> str:
    """At how many other points a formula agrees."""
    if found.formula is None or NUMBERS.fullmatch(found.formula):
        return ""
    counts = zip((found.nearby, found.farther), ("nearby", "farther"), strict=True)
    said = [f"at {same} of {tried} {where}" for (same, tried), where in counts if tried]
    if not said:
        return "; no other point could be tried"
    size = "x".join(map(str, found.right.shape))
    return f" and {', '.join(said)}{f', all of shape {size}' if size else ''}"


def _elsewhere(found: Finding, show: Callable[[Any], str]) -> str:
    """The point at which a formula does not agree, where it is small, and what it gives there."""
    assert found.counter is not None
    sample, place = found.counter
    said = _entry(sample.given[found.name], sample.right[found.name], place, show)
    if sum(v.size for v in sample.point.values()) > SHOWN:
        return said
    at = ", ".join(f"{k} = {show_value(v, 'full')}" for k, v in sample.point.items())
    return f"where {at}: {said}"


def _entry(
    all_given: Any, all_right: Any, place: tuple[int, ...], show: Callable[[Any], str]
) -> str:
    at = f"entry {place if len(place) > 1 else place[0]}: " if place else ""
    both = [all_given[place], all_right[place]]
    given, right = map(show, both)
    if given == right:
        given, right = (show_value(v, "full") for v in both)
    return f"{at}given {given}, it is {right}"


def record_of(found: Finding, tensor: Callable[[Any], Any]) -> dict[str, Any]:
    """The finding for ``--json``."""
    record: dict[str, Any] = {"agrees": found.agrees, "given": tensor(found.given)}
    if found.nearby[1]:
        record["nearby"] = list(found.nearby)
    if found.farther[1]:
        record["farther"] = list(found.farther)
    if found.held:
        record["held"] = found.held
    if found.signed:
        record["signed"] = found.signed
    if found.counter is not None:
        record["differs_at"] = {k: tensor(v) for k, v in found.counter[0].point.items()}
    if not found.agrees:
        record["first"] = None if found.first is None else list(found.first)
        record["worst"] = None if found.worst is None else list(found.worst)
        record["kind"] = None if found.mistake is None else found.mistake.kind
        record["message"] = None if found.mistake is None else found.mistake.said
        if found.edit is not None and found.formula is not None:
            record["suggestion"] = found.edit.made_in(found.formula)
    return record
