"""Which parts of the source an error underlines: the operands, each with where it came from.

A label says an operand's shape and its origin: the flag that gave it, the line that computed it, or
for a parameter what the caller passed. Loaded only when something went wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.language import nodes as n
from gradcli.ops.errors import Fault

Label = tuple[int, int, str, bool]
SHORT = 24
"""The longest text of an operand that stands in a message instead of its shape."""


class Frame:
    """One open call: the node that ran in it, and the function (or module) it belongs to."""

    __slots__ = ("holder", "node")

    def __init__(self, node: n.Node, holder: n.Node) -> None:
        self.node = node
        self.holder = holder


def labels(fault: Fault, frames: Sequence[Frame], program: Any, said: str = "") -> list[Label]:
    """The primary mark with ``said``, then one for each operand that the fault knows."""
    node = frames[-1].node
    text = program.source.text
    found = []
    for index, words in fault.operands:
        operand = _operand(node, index, program)
        if operand is not None:
            name = f"{operand.id}: " if isinstance(operand, n.Name) else ""
            origin = _origin(operand, frames, program)
            start, end = operand.start, operand.end
            found.append((start, end, f"{name}{words}{origin and '   from ' + origin}", False))
    start, end = _primary(node, text) if found else (node.start, node.end)
    if isinstance(node, n.While | n.Def):
        # The head says enough: the body may be long.
        end = start + len("while") if isinstance(node, n.While) else text.index(":", start)
    return [(start, end, said, True), *found]


def in_own_words(fault: Fault, node: n.Node, text: str) -> None:
    """Put the operands as they are written into a message that names only their shapes."""
    sides = _sides(node)
    if sides is None or len(fault.operands) != 2:
        return
    left, right = (text[x.start : x.end] for x in sides)
    if max(len(left), len(right)) > SHORT or "\n" in left + right:
        return
    shapes = [words.removeprefix("shape ") for _, words in fault.operands]
    written = " ".join(text[node.start : node.end].split())
    word, colon, rest = fault.message.partition(": ")
    if fault.message.startswith(f"cannot multiply {shapes[0]} @ {shapes[1]}:"):
        fault.message = f"cannot multiply {written}: {rest}"
        side = {"transposing the left side works:": 0, "transposing the right side works:": 1}
        for start, which in side.items():
            if fault.help and fault.help.startswith(start):
                parts = [left, right]
                parts[which] = _turned(parts[which], sides[which])
                fault.help = f"{' @ '.join(parts)} works:{fault.help.removeprefix(start)}"
    elif colon and rest.startswith("shapes ") and word.isidentifier():
        fault.message = f"{written}: {rest}"


def _sides(node: n.Node) -> tuple[n.Node, n.Node] | None:
    """The two sides of an operator's sign."""
    if isinstance(node, n.Binary):
        return node.left, node.right
    if isinstance(node, n.AugAssign):
        return node.target, node.value
    if isinstance(node, n.Compare) and len(node.rights) == 1:
        return node.left, node.rights[0]
    return None


def _turned(written: str, node: n.Node) -> str:
    simple = isinstance(node, n.Name | n.Call | n.Attribute | n.Subscript)
    if written.endswith(".T"):
        return written.removesuffix(".T")
    return f"{written}.T" if simple else f"({written}).T"


def _primary(node: n.Node, text: str) -> tuple[int, int]:
    """Where the main mark stands when operands have marks of their own."""
    if isinstance(node, n.Binary):
        return node.op_start, node.op_end
    if isinstance(node, n.Call):
        func = node.func
        start = func.end - len(func.name) if isinstance(func, n.Attribute) else func.start
        return start, func.end
    if isinstance(node, n.AugAssign):
        start = text.find(node.op.rstrip("=") + "=", node.target.end)
        return start, start + len(node.op.rstrip("=")) + 1
    if isinstance(node, n.Compare) and len(node.rights) == 1:
        start = text.find(node.ops[0].split()[0], node.left.end)
        return start, start + len(node.ops[0])
    return node.start, node.end


def _operand(node: n.Node, index: int, program: Any) -> n.Node | None:
    """The part of ``node`` that is the operator's operand number ``index``."""
    operands: Sequence[n.Node] = _sides(node) or ()
    if isinstance(node, n.Subscript):
        operands = (node.value,)
    elif isinstance(node, n.Assign) and isinstance(node.targets[0], n.Subscript):
        operands = (node.targets[0], node.value)
    elif isinstance(node, n.Call):
        # einsum's equation and a reduction's name are no operands.
        operands = [arg for arg in node.args if not isinstance(arg, n.String)]
        if isinstance(node.func, n.Attribute) and not _of_module(node.func, program):
            operands = (node.func.value, *operands)
        elif operands and isinstance(operands[0], n.List | n.Tuple) and len(operands) == 1:
            operands = operands[0].items  # cat([a, b])
    return operands[index] if index < len(operands) else None


def _of_module(func: n.Attribute, program: Any) -> bool:
    """Whether ``torch.dot`` or ``t.dot``, where t is an imported module."""
    inner: n.Node = func
    while isinstance(inner, n.Attribute):
        inner = inner.value
    checked = program.checked
    return (
        isinstance(inner, n.Name)
        and inner.id in checked.modules
        and id(inner) not in checked.variables
    )


# ---- Where a value came from ---------------------------------------------------------------------


def _origin(operand: n.Node, frames: Sequence[Frame], program: Any) -> str:
    """``--x``, ``line 3`` or an empty text; follows parameters up the chain of calls."""
    checked, source = program.checked, program.source
    level = len(frames) - 1
    use = operand
    for _ in range(len(frames)):
        if not isinstance(use, n.Name):
            return f"line {source.place(use.start)[0]}" if use is not operand else ""
        holder = frames[level].holder
        found = _bound(use, holder, checked.module)
        if found is None:
            return program.origins.get(use.id, "")
        if not isinstance(found, n.Param):
            return f"line {source.place(found.start)[0]}"
        passed = None
        if isinstance(holder, n.Def | n.Lambda) and found in holder.params and level:
            passed = _passed(found, holder, frames[level - 1].node)
        if passed is None:
            return ""
        use, level = passed, level - 1
    return ""


def _bound(use: n.Name, holder: n.Node, module: n.Module) -> n.Node | None:
    """What gave ``use`` its value: the last binding before it in the innermost scope that has one.

    Scopes are the function that ran and those it was written in.
    """
    scopes: list[n.Node] = [
        one for one in n.walk(module)
        if isinstance(one, n.Def | n.Lambda) and one.start <= use.start < one.end
    ]  # fmt: skip
    if holder is not module and holder not in scopes:
        scopes.append(holder)
    for scope in (*reversed(scopes), module):
        last = None
        for binding, valid_from in _bindings(scope):
            if binding.id == use.id and valid_from <= use.start:
                last = binding
        if last is not None:
            return last
        for param in getattr(scope, "params", ()):
            if param.name == use.id:
                return param
    return None


def _bindings(scope: n.Node) -> list[tuple[n.Name, int]]:
    """The names that a scope's own statements assign, with the offset from which each counts."""
    found = []
    work = list(getattr(scope, "body", ())) if not isinstance(scope, n.Lambda) else [scope.body]
    while work:
        node = work.pop()
        if isinstance(node, n.Def | n.Lambda | n.FunctionClass):
            continue
        targets: Sequence[n.Node] = ()
        start = node.end
        if isinstance(node, n.Assign):
            targets = node.targets
        elif isinstance(node, n.For):
            targets, start = (node.target,), node.iter.end
        elif isinstance(node, n.ListComp):
            targets, start = tuple(c.target for c in node.clauses), node.start
        elif isinstance(node, n.With):
            targets, start = tuple(i.target for i in node.items if i.target), node.start
        for target in targets:
            found += [(name, start) for name in n.walk(target) if isinstance(name, n.Name)]
        work += n.children(node)
    found.sort(key=lambda pair: pair[0].start)
    return found


def _passed(param: n.Param, holder: Any, call: n.Node) -> n.Node | None:
    """What a call gave for a parameter; its default, where the call leaves it out."""
    if not isinstance(call, n.Call):
        return None
    for keyword in call.keywords:
        if keyword.name == param.name:
            return keyword.value
    index = holder.params.index(param)
    if isinstance(call.func, n.Attribute):
        return None  # apply(...) of a Function, or a hook: what is passed is not written here
    return call.args[index] if index < len(call.args) else param.default
