"""Errors of the backward pass in the user's text: E0401, E0402 and those of anomaly mode.

E0401 and E0402 have two more places besides the call of ``backward()``: where a value was saved,
and the write or the earlier pass that made it useless. The engine knows places as instructions of
generated code, whose line numbers are the numbers of tree nodes. A call through the name table
hides its place from the engine. Where one is missing, the program runs once more with the place of
every node recorded (``again``); only the error of that run is kept.
"""

from __future__ import annotations

from typing import Any

from gradcli.engine.backward.anomaly import noted_places
from gradcli.engine.graph.node import AccumulateGrad
from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import Fault

TWICE = 5.0
"""Seconds: a run that took longer is not run again."""


def incomplete(fault: Exception) -> bool:
    """Whether the fault says that a value was saved, but not where."""
    places = getattr(fault, "places", {})
    return "saved" in places and places["saved"] is None


def again(
    program: Any, values: list[tuple[str, Any, Any]], fault: Any, limits: Any, keep: Any
) -> Any:
    """``fault`` as it comes out of a second run with all places noted; itself if it does not.

    ``values`` are the inputs: name, value, and the entries it had where they were kept.
    """
    copies: dict[str, Any] = {}
    for name, value, entries in values:
        if isinstance(value, Tensor):
            if not value._is_leaf or (entries is None and value._version):
                return fault
            leaf = value.edge.__class__ is AccumulateGrad
            value = value.detach().clone()  # type: ignore[attr-defined]
            if entries is not None:
                value.array[...] = entries
            value.requires_grad_(leaf)
        elif not isinstance(value, _FIXED):
            return fault  # a list or a function of an earlier run may have changed
        copies[name] = value
    try:
        with noted_places():
            program.run(copies, limits=limits, keep=keep, twice=False)
    except Fault as found:
        return found if found.code == fault.code else fault
    return fault


_FIXED = (int, float, complex, str, bool, type(None))


def explain(found: Any, places: list[n.Node], codes: set[int], source: Any) -> None:
    """Give a placed fault the labels of its other places, and the words of the user's text.

    ``places`` are the tree nodes by line number, ``codes`` the ids of this program's code objects.
    """
    known = getattr(found, "places", None)
    if known is None:
        code, line = found.place
        _recorded(found, _node_of(code, line, places, codes))
        return
    nodes = {
        role: None if place is None else _node_of(place.code, place.line, places, codes)
        for role, place in known.items()
    }
    if found.code == "E0402":
        _changed(found, nodes["saved"], nodes["changed"], source)
    else:
        _freed(found, nodes["saved"], nodes["freed"], source)


def _node_of(code: Any, line: int, places: list[n.Node], codes: set[int]) -> n.Node | None:
    return places[line - 1] if id(code) in codes and 0 < line <= len(places) else None


def _recorded(found: Any, call: n.Node | None) -> None:
    """In anomaly mode: which call of the forward pass the fault belongs to."""
    spans = [label[:2] for label in found.labels]
    if call is not None and (call.start, call.end) not in spans:
        found.labels = [*found.labels, (call.start, call.end, "the forward call", False)]


def _text(node: Any, source: Any) -> str:
    text = " ".join(source.text[node.start : node.end].split())
    return text if len(text) <= 40 else f"{text[:37]}..."


def _changed(found: Any, saved: n.Node | None, write: n.Node | None, source: Any) -> None:
    then, now = found.versions
    if write is None and saved is None:
        return
    target = _target(write)
    name = "a value" if target is None else f"`{_text(target, source)}`"
    by = found.message.partition("saved by ")[2].partition(",")[0]
    said = by if saved is None else f"`{_text(saved, source)}`"
    found.message = f"{name} changed after {said} saved it"
    labels = []
    if write is not None:
        labels.append((write.start, write.end, f"version {now}", True))
        found.start, found.end = write.start, write.end
    else:
        labels += [label for label in found.labels if label[3]]
    if saved is not None:
        what = name.strip("`") if target is not None and _reads(saved, target) else "it"
        labels.append((saved.start, saved.end, f"saved {what}, version {then}", False))
    found.labels = labels
    found.help = _instead(write, target, source) or found.help


def _instead(write: n.Node | None, target: n.Node | None, source: Any) -> str | None:
    """What to write instead of a write in place."""
    if target is None:
        return None
    text = _text(target, source)
    if isinstance(write, n.AugAssign) and isinstance(target, n.Name):
        return f"write {text} = {text} {write.op} {_text(write.value, source)}"
    func = write.func if isinstance(write, n.Call) else None
    if isinstance(func, n.Attribute) and func.name.endswith("_"):
        call = _text(write, source).replace(f".{func.name}(", f".{func.name[:-1]}(", 1)
        return f"write {text} = {call}"
    whole: n.Node = target.value if isinstance(target, n.Subscript) else target
    return f"write {_text(whole, source)} = {_text(whole, source)}.clone() before it"


def _target(write: n.Node | None) -> n.Node | None:
    """What a write in place wrote to."""
    if isinstance(write, n.AugAssign):
        return write.target
    if isinstance(write, n.Assign) and isinstance(write.targets[0], n.Subscript):
        return write.targets[0].value
    if isinstance(write, n.Subscript):
        return write.value
    if isinstance(write, n.Call) and isinstance(write.func, n.Attribute):
        return write.func.value
    return None


def _reads(node: n.Node, target: n.Node) -> bool:
    return isinstance(target, n.Name) and any(
        isinstance(x, n.Name) and x.id == target.id for x in n.walk(node)
    )


def _freed(found: Any, saved: n.Node | None, first: n.Node | None, source: Any) -> None:
    if first is None:
        return
    found.message = f"{_verb(first)} already ran on this graph"
    by = ""
    if saved is not None:
        by = f" by `{_text(saved, source)}` (line {source.place(saved.start)[0]})"
    start, end, _, _ = found.labels[0]
    label = (first.start, first.end, f"the first run freed the values saved{by}", False)
    found.labels = [(start, end, "needs them again", True), label]
    call = _text(first, source)
    if (first.start, first.end) == (start, end):  # the same line of a loop
        found.labels = [(start, end, f"{label[2]}; the second needs them again", True)]
    if call.endswith(")"):
        inside = "" if call.endswith("()") else ", "
        found.help = f"make the first call {call[:-1]}{inside}retain_graph=True)"


def _verb(call: n.Node) -> str:
    func = call.func if isinstance(call, n.Call) else None
    if isinstance(func, n.Attribute):
        return f"{func.name}()"
    return f"{func.id}()" if isinstance(func, n.Name) else "backward()"
