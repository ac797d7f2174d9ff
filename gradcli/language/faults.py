"""What went wrong while a program ran, as a fault with a place.

The traceback's innermost frame of generated code gives a line number, which is the number of a tree
node (see ``lower``). Python's own exceptions become faults with a stable code; an operator's fault
keeps its code and has its operands underlined, each with its shape and where it came from.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

from gradcli.engine.tensor import Tensor
from gradcli.language import nodes as n
from gradcli.language.diagnostics import closest
from gradcli.language.names import CALLED, NAMES
from gradcli.ops.errors import Fault, LimitFault, RuntimeFault, TypeFault, ValueFault

_CODES: dict[type, tuple[str, type[Fault]]] = {
    ZeroDivisionError: ("E0311", ValueFault),
    OverflowError: ("E0312", ValueFault),
    AssertionError: ("E0313", ValueFault),
    IndexError: ("E0307", ValueFault),
    UnboundLocalError: ("E0203", ValueFault),
    NameError: ("E0203", ValueFault),
    AttributeError: ("E0204", TypeFault),
    TypeError: ("E0303", TypeFault),
    ValueError: ("E0304", ValueFault),
}


def placed(fault: Exception, program: Any, places: list[n.Node]) -> Fault:
    """``fault`` as a Fault that knows its place in ``program``, its operands and its callers."""
    from gradcli.language.run import FILE

    frames = []
    own = None  # the run's globals; a function of an earlier line of a REPL has others
    step = fault.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename == FILE and (own is None or step.tb_frame.f_globals is own):
            own = step.tb_frame.f_globals
            position = next(itertools.islice(code.co_positions(), step.tb_lasti // 2, None))
            frames.append((position[0] or 1, code.co_name))
        step = step.tb_next
    found = fault if isinstance(fault, Fault) else _translated(fault)
    if not frames or getattr(found, "source", None) is not None:
        return found
    node = places[frames[-1][0] - 1]
    source = program.source
    start, end = node.start, node.end
    labels = []
    if isinstance(node, n.Binary) and found.operands:
        start, end = node.op_start, node.op_end
    for index, said in found.operands:
        operand = _operand(node, index)
        if operand is not None:
            name = f"{operand.id}: " if isinstance(operand, n.Name) else ""
            origin = _origin(operand, program)
            labels.append((operand.start, operand.end, f"{name}{said}{origin}", False))
    said = ""
    if isinstance(node, n.While):
        end = start + len("while")
        if getattr(found, "code", "") == "E0601":
            said = _turns(node, getattr(found, "turns", []))
            found.message = found.message.replace("the program passed", "the loop passed")
    found.source = source
    found.start, found.end = start, end
    found.labels = [(start, end, said, True), *labels]
    if found.help is None:
        found.help = _keyword_help(found, node, program)
    calls = tuple(
        f"called at line {source.place(places[line - 1].start)[0]}"
        + (f", in {name.removeprefix('v_')}" if name != "main" else "")
        for line, name in reversed(frames[:-1][-6:])
    )
    if calls:
        found.notes = (*found.notes, *calls)
    return found


def _turns(loop: n.While, turns: list[dict[str, str]]) -> str:
    """The last values that a loop's condition read: ``err: 0.31, 0.31 (not changing)``."""
    said = []
    for name in dict.fromkeys(x.id for x in n.walk(loop.test) if isinstance(x, n.Name)):
        values = [turn[name] for turn in turns if name in turn][-3:]
        if values:
            still = " (not changing)" if len(values) > 1 and len(set(values)) == 1 else ""
            said.append(f"{name}: {', '.join(values)}{still}")
    return "; ".join(said[:4]) or ("the condition never changes" if turns else "")


_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")


def _keyword_help(fault: Fault, node: n.Node, program: Any) -> str | None:
    """The parameter that a wrong keyword was meant to be."""
    found = _UNEXPECTED.search(fault.message)
    if found is None or not isinstance(node, n.Call) or not isinstance(node.func, n.Name):
        return None
    known: list[str] = []
    for statement in n.walk(program.checked.module):
        if isinstance(statement, n.Def) and statement.name == node.func.id:
            known = [param.name for param in statement.params]
    if not known:
        code = getattr({**NAMES, **CALLED}.get(node.func.id), "__code__", None)
        known = [*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]] if code else []
    if not known:
        return None
    near = closest(found[1], known)
    return f"did you mean `{near}`?" if near else f"its parameters: {', '.join(known)}"


def _operand(node: n.Node, index: int) -> n.Node | None:
    if isinstance(node, n.Binary):
        return (node.left, node.right)[index] if index < 2 else None
    if isinstance(node, n.Subscript):
        return node.value if index == 0 else None
    if isinstance(node, n.AugAssign):
        return (node.target, node.value)[index] if index < 2 else None
    if isinstance(node, n.Call):
        args: tuple[n.Node, ...] = node.args
        if isinstance(node.func, n.Attribute) and (
            not isinstance(node.func.value, n.Name) or len(args) <= index
        ):
            args = (node.func.value, *args)
        return args[index] if index < len(args) else None
    return None


def _origin(operand: n.Node, program: Any) -> str:
    if not isinstance(operand, n.Name):
        return ""
    if operand.id in program.origins:
        return f"   from {program.origins[operand.id]}"
    bound = program.checked.bound.get(operand.id)
    if bound is not None and bound.start < operand.start:
        return f"   from line {program.source.place(bound.start)[0]}"
    return ""


def _translated(fault: Exception) -> Fault:
    """Python's own exception in the language's words."""
    if isinstance(fault, RecursionError):
        return LimitFault(
            "E0606",
            "functions call each other, or lists nest, too deeply",
            help="use a loop; --max-depth N says how deep calls may nest, 900 at most",
        )
    if isinstance(fault, MemoryError):
        return LimitFault("E0602", "there is not enough memory for this")
    message = str(fault)
    if len(message) > 300:
        message = f"{message[:300]} ..."
    message = re.sub(r"\b(?:main\.<locals>\.)?v_(\w+)", r"\1", message).replace("<locals>.", "")
    message = message.replace("cannot access local variable", "no value yet for").replace(
        "cannot access free variable", "no value yet for"
    )
    for kind in type(fault).__mro__:
        if kind in _CODES:
            code, made = _CODES[kind]
            if kind is TypeError and "argument" in message:
                code = "E0302"
            return made(code, _said(kind, message), help=_MENDS.get(kind))
    return RuntimeFault("E0303", message or type(fault).__name__)


def _said(kind: type, message: str) -> str:
    if kind is ZeroDivisionError:
        return "division by zero"
    if kind is OverflowError:
        return "the number is too large for a float"
    if kind is AssertionError:
        return f"assertion failed: {message}" if message else "assertion failed"
    if kind in (NameError, UnboundLocalError):
        return message.partition(" where it is not")[0].partition(" in enclosing")[0]
    return message.replace("'Tensor'", "a tensor")


_MENDS = {
    ZeroDivisionError: "numbers divide as in Python; a tensor divided by 0 gives inf",
    OverflowError: "work with floats or tensors where numbers grow this large",
    UnboundLocalError: "assign it before this line, on every path that leads here",
    NameError: "assign it before this line, on every path that leads here",
}


def is_tensor(value: Any) -> bool:
    """Whether a value of the language is a tensor."""
    return isinstance(value, Tensor)
