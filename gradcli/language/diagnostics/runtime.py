"""Exceptions of a running program as Faults with a place in the source.

The innermost frame of generated code in the traceback gives a line number, which is the number of a
tree node (see ``compile.lower``). Python's own exceptions become Faults with a stable code; a Fault
of an operator keeps its code and gets marks under its operands, each with its shape and origin.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from inspect import signature, unwrap
from typing import Any, NamedTuple

from gradcli.engine.record.captures import codes_of
from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.diagnostics.render import closest
from gradcli.language.diagnostics.unknown_names import attribute_help, name_help
from gradcli.language.limits.step_budget import FILE
from gradcli.language.names.attributes import CALL
from gradcli.language.names.calling import own_names, without_addresses
from gradcli.language.names.exceptions import UnknownAttribute
from gradcli.language.names.long_sums import Turn
from gradcli.language.names.showing import show
from gradcli.language.names.table import CALLED, NAMES, namespace
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.parser import parse, shared_parser
from gradcli.language.syntax.source import Source
from gradcli.language.type_names import a_type
from gradcli.ops.errors import Fault, LimitFault, RuntimeFault, TypeFault, ValueFault, bad_argument
from gradcli.ops.operator import OPERATORS

Label = tuple[int, int, str, bool]
SHORT = 24
"""The longest text of an operand that stands in a message instead of its shape."""


class Frame(NamedTuple):
    """One open call: the node that ran in it, and the function (or module) it belongs to."""

    node: n.Node
    holder: n.Node


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
        if isinstance(node.func, n.Attribute) and not program.names.in_module(node.func):
            operands = (node.func.value, *operands)
        elif operands and isinstance(operands[0], n.List | n.Tuple) and len(operands) == 1:
            operands = operands[0].items  # cat([a, b])
    return operands[index] if index < len(operands) else None


# ---- Where a value came from ---------------------------------------------------------------------


def _origin(operand: n.Node, frames: Sequence[Frame], program: Any) -> str:
    """``--x``, ``line 3`` or an empty text; follows parameters up the chain of calls."""
    checked, source = program.names, program.source
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
        if isinstance(node, n.Def | n.Lambda | n.ClassDef | n.FunctionClass):
            continue
        targets: Sequence[n.Node] = ()
        start = node.end
        if isinstance(node, n.Assign):
            targets = node.targets
        elif isinstance(node, n.For):
            targets, start = (node.target,), node.iter.end
        elif isinstance(node, n.Comprehension):
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


_UNASSIGNED = "assign it before this line, on every path that leads here"
_CODES: dict[type, tuple[str, type[Fault], str | None]] = {
    ZeroDivisionError: ("E0311", ValueFault,
        "numbers divide as in Python; a tensor divided by 0 gives inf"),
    OverflowError: ("E0312", ValueFault,
        "work with floats or tensors where numbers grow this large"),
    AssertionError: ("E0313", ValueFault, None),
    IndexError: ("E0307", ValueFault, "the items of a list x stand at 0 to len(x) - 1"),
    KeyError: ("E0307", ValueFault,
        "`key in d` asks before, d.get(key, 0) takes another value instead"),
    UnboundLocalError: ("E0203", ValueFault, _UNASSIGNED),
    NameError: ("E0203", ValueFault, _UNASSIGNED), AttributeError: ("E0204", TypeFault, None),
    TypeError: ("E0303", TypeFault, None), ValueError: ("E0304", ValueFault, None),
}  # fmt: skip
"""Of Python's own exceptions the code, the fault that they become, and what to write instead."""


def placed(fault: Exception, program: Any, places: list[n.Node]) -> Fault:
    """``fault`` as a Fault that knows its place in ``program``, its operands and its callers."""
    frames = _frames(fault, places, program.source)
    found = fault if isinstance(fault, Fault) else _translated(fault, frames)
    found.message = without_addresses(found.message)
    if isinstance(found, UnknownAttribute):
        found.help = attribute_help(found)
    if not frames or getattr(found, "source", None) is not None:
        return found
    if found.code == "E0606" and isinstance(frames[-1].node, n.Def | n.Lambda) and len(frames) > 1:
        frames.pop()  # the call that went too deep says more than the function it entered
    node = frames[-1].node
    said = ""
    if found.code == "E0601":
        watched = _watched(node, program.names.module)
        if watched is not None:
            said = _turns(watched, getattr(found, "turns", []))
            found.message = found.message.replace("the program passed", "the loop passed")
    found.source = program.source  # type: ignore[attr-defined]
    found.labels = labels(found, frames, program, said)  # type: ignore[attr-defined]
    found.start, found.end = found.labels[0][:2]  # type: ignore[attr-defined]
    in_own_words(found, node, program.source.text)
    if name := n.called(node):
        found.message = found.message.replace("<lambda>()", f"{name}()")
    if found.help is None or found.code == "E0302":
        found.help = call_help(found, node, program) or found.help
    hint = next((help for word, help in _HINTS if word in found.message), None)
    found.help = name_help(found, frames, program) or found.help or hint
    if hasattr(found, "places") or hasattr(found, "place"):
        from gradcli.language.diagnostics.backward import explain  # for faults of a graph

        explain(found, places, _codes_of(fault), program.source)
    found.notes = (*found.notes, *_chain(frames, program))
    return found


def _frames(fault: BaseException, places: list[n.Node], source: Source) -> list[Frame]:
    """The open calls of the program, outermost first; a comprehension is part of its function."""
    frames: list[Frame] = []
    own = None  # the run's globals; a function of an earlier line of a REPL has others
    step = fault.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename == FILE and (own is None or step.tb_frame.f_globals is own):
            own = step.tb_frame.f_globals
            position = next(itertools.islice(code.co_positions(), step.tb_lasti // 2, None))
            node = _of_turn(places[(position[0] or 1) - 1], step.tb_frame.f_locals, source)
            if frames and (code.co_name == "<listcomp>" or code.co_varnames[:1] == ("items",)):
                frames[-1] = Frame(node, frames[-1].holder)
            elif code.co_name == "main" or not frames:
                frames.append(Frame(node, places[0]))
            else:
                frames.append(Frame(node, places[code.co_firstlineno - 1]))
        step = step.tb_next
    return frames


def _of_turn(node: n.Node, variables: Mapping[str, Any], source: Source) -> n.Node:
    """What a node of a long sum stands for in the term that was being added."""
    for turn in variables.values():
        if turn.__class__ is not Turn or not any(one is node for one in n.walk(turn.node)):
            continue
        begin, text = turn.node.start, source.text
        pieces = shared_parser().lexer.term.finditer(text, begin)
        start, end = next(itertools.islice(pieces, turn.position, None)).span()
        written = text[start : end - 1].rstrip()
        (line,) = parse(Source(" " * start + written)).body  # which keeps the place
        term: Any = line.value  # type: ignore[attr-defined]
        if node is not turn.node:
            like = next(one for one in turn.node.terms if any(x is node for x in n.walk(one)))
            return [*n.walk(term)][[id(x) for x in n.walk(like)].index(id(node))]
        sign = text[start - 1]
        left = node.replace(end=len(text[: start - 1].rstrip()))
        return n.Binary(sign, left, term, start - 1, start, begin, term.end)  # type: ignore[arg-type]
    return node


SHOWN = 4
"""How many calls are shown at each end of a long chain."""
WIDTH = 40
"""The most characters of a call that are shown."""


def _chain(frames: list[Frame], program: Any) -> list[str]:
    """The calls that led to the last frame, innermost first; the same call over and over is one
    line, and of many lines the middle is left out."""
    lines: list[tuple[str, int]] = []
    methods = {
        id(method): f"{one.name}.{method.name}"
        for one in n.walk(program.names.module)
        if isinstance(one, n.FunctionClass | n.ClassDef)
        for method in one.methods
    } if len(frames) > 1 else {}  # fmt: skip
    for frame in reversed(frames[:-1]):
        line = _call_line(frame, program.source, methods)
        if lines and lines[-1][0] == line:
            lines[-1] = line, lines[-1][1] + 1
        else:
            lines.append((line, 1))
    shown = [line if count == 1 else f"{line}   ({count} times)" for line, count in lines]
    if len(lines) > 2 * SHOWN:
        left_out = sum(count for _, count in lines[SHOWN:-SHOWN])
        shown[SHOWN:-SHOWN] = [f"... {left_out:,} more calls ..."]
    return shown


def _call_line(frame: Frame, source: Any, methods: dict[int, str]) -> str:
    """``called at line 5, in g: f(w, x)``."""
    node, holder = frame.node, frame.holder
    where = ""
    if isinstance(holder, n.Def):
        where = f", in {methods.get(id(holder), holder.name)}"
    elif isinstance(holder, n.Lambda):
        where = ", in a lambda"
    text = " ".join(source.text[node.start : node.end].split())
    text = text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."
    return f"called at line {source.place(node.start)[0]}{where}: {text}"


def _codes_of(fault: BaseException) -> set[int]:
    """The ids of the code objects of the program that the fault left: its own and its functions'.

    By id, because code objects of different programs with the same text are equal.
    """
    step = fault.__traceback__
    while step is not None and step.tb_frame.f_code.co_filename != FILE:
        step = step.tb_next
    return set() if step is None else {id(code) for code in codes_of(step.tb_frame.f_code)}


def _watched(node: n.Node, module: n.Module) -> n.Node | None:
    """What says how a loop goes on: the condition of a while, the variable of a for."""
    if isinstance(node, n.While):
        return node.test
    for loop in n.walk(module):
        if isinstance(loop, n.For) and loop.iter is node:
            return loop.target
    return None


def _turns(watched: n.Node, turns: list[dict[str, str]]) -> str:
    """The last values that a loop's condition read: ``err: 0.31, 0.31 (not changing)``."""
    said = []
    for name in dict.fromkeys(x.id for x in n.walk(watched) if isinstance(x, n.Name)):
        values = [turn[name] for turn in turns if name in turn][-3:]
        if values:
            still = " (not changing)" if len(values) > 1 and len(set(values)) == 1 else ""
            said.append(f"{name}: {', '.join(values)}{still}")
    return "; ".join(said[:4]) or ("the condition never changes" if turns else "")


def _translated(fault: Exception, frames: list[Frame]) -> Fault:
    """Python's own exception in the language's words."""
    if isinstance(fault, RecursionError):
        return _stack_full(len(frames))
    if isinstance(fault, MemoryError):
        return LimitFault("E0602", "there is not enough memory for this")
    key = fault.args[0] if isinstance(fault, KeyError) and fault.args else ""
    message = str(fault) if isinstance(key, str) else show(key, True)
    if len(message) > 300:
        message = f"{message[:300]} ..."
    if isinstance(fault, KeyError) and " " in message and message[:1] in "'\"":
        return bad_argument(str(fault.args[0]))  # a sentence
    message = re.sub(r"\b[A-Z]\w*\.(?=\w+\(\))", "", own_names(message))
    message = message.replace("cannot access local variable", "no value yet for").replace(
        "cannot access free variable", "no value yet for"
    )
    for kind in type(fault).__mro__:
        if issubclass(kind, Exception) and kind in _CODES:
            code, made, mend = _CODES[kind]
            if kind is TypeError and "argument" in message:
                code = "E0302"
            if kind is OverflowError and _OUT_OF_BOUNDS.search(message):
                mend = "convert the tensor first: x.float()"
            if "values to unpack" in message:
                mend = "as many names on the left as there are values on the right"
            if "__init__()" in message:
                message = message.replace("__init__()", f"{_called(frames)}()")
            for pattern, said, help in _SENTENCES:
                found = pattern.search(message)
                if found:  # of types, and of operators
                    words = [a_type(w) if w.isidentifier() else w for w in found.groups()]
                    return made("E0303", said.format(*words), help=help)
            return made(code, _said(kind, message), help=mend)
    return RuntimeFault("E0303", message or type(fault).__name__)


_HINTS = (
    ("takes 0 positional", "call it without arguments, or give it a parameter: def f(x):"),
    ("required positional argument", "give what is missing, in its place or as name=value"),
    ("positional argument", "leave out what is too many, or give it a parameter"),
    ("None has no attribute", "gradients are None until backward() ran; print() gives None"),
    ("None", "a function without `return` gives None, as do print() and list.append()"),
    ("invalid literal for int", "int() reads whole numbers; float() reads others"),
    ("convert string to float", "write numbers with a point: float('3.5')"),
    ("cannot be called", "leave out the brackets; to multiply, write *"),
    ("a string", "float(text) reads a number; f\"{x}\" writes one into a text"),
    ("a list", "tensor([1.0, 2.0]) computes with every entry at once"),
    ("float NaN", "isnan(x) asks before"),
)  # fmt: skip
"""What to write instead, by a word of the message."""


def _called(frames: list[Frame]) -> str:
    """The name of what the program called last: ``Linear`` of ``nn.Linear(3)``."""
    func = getattr(frames[-1].node, "func", None) if frames else None
    return getattr(func, "name", None) or getattr(func, "id", None) or "it"


def _stack_full(calls: int) -> LimitFault:
    """Python's own stack ended before the run's limit of calls did."""
    if calls < 50:
        return LimitFault(
            "E0606", "lists, functions or hooks nest too deeply", help="use a loop, and flat lists"
        )
    return LimitFault(
        "E0606",
        f"calls nest too deeply: {calls} of them, some through hooks, Functions, transforms or "
        "lists with a lambda in them, which take more of the stack",
        help="use a loop, or see that the recursion ends",
    )


_OUT_OF_BOUNDS = re.compile(r"integer (-?\d+) out of bounds for (\w+)")


def _said(kind: type, message: str) -> str:
    if kind is ZeroDivisionError:
        return "division by zero"
    if kind is KeyError:
        return f"there is no key {message}"
    if kind is OverflowError and (of := _OUT_OF_BOUNDS.search(message)):
        return f"{of[1]} is out of bounds for {of[2]}"
    if kind is OverflowError:
        return "the number is too large for a float"
    if kind is AssertionError:
        return f"assertion failed: {message}" if message else "assertion failed"
    if kind in (NameError, UnboundLocalError):
        return message.partition(" where it is not")[0].partition(" in enclosing")[0]
    return message.replace("'Tensor'", "a tensor")


_SENTENCES = (
    (re.compile(r"^'(\w+)' object cannot be interpreted as an integer"),
     "a whole number is needed here, got {}", "int(x) makes a whole number of a number"),
    (re.compile(r"^int\(\) argument must be .* not '(\w+)'"),
     "a whole number cannot be made of {}", "give a number, or a text of digits"),
    (re.compile(r"^float\(\) argument must be .* not '(\w+)'"),
     "a number cannot be made of {}", "give a number, or a text of digits"),
    (re.compile(r"^'(\w+)' object is not iterable"),
     "a list is needed here, got {}", "write [a, b], or a tensor"),
    (re.compile(r"^'(\w+)' object has no attribute '\w+'$"),
     "{} cannot stand here", "it takes tensors, numbers and lists of numbers"),
    (re.compile(r"^type (\w+) doesn't define __round__"),
     "{} cannot be rounded", "round takes a number or a tensor"),
    (re.compile(r"^bad operand type for abs\(\): '(\w+)'"),
     "{} has no absolute value", "abs takes a number or a tensor"),
    (re.compile(r"^can't multiply sequence by non-int of type '(\w+)'"),
     "lists and strings are repeated by a whole number, not by {}",
     "tensor([...]) * 2.0 multiplies each entry"),
    (re.compile(r"^'(\w+)' object is not callable$"), "{} cannot be called", None),
    (re.compile(r"^unsupported operand type\(s\) for (\S+): '(\w+)' and '(\w+)'"),
     "`{}` cannot take {} and {}", None),
    (re.compile(r"^bad operand type for unary (\S): '(\w+)'"), "`{}` cannot take {}", None),
    (re.compile(r"^'(\S+)' not supported between instances of '(\w+)' and '(\w+)'"),
     "`{}` cannot compare {} and {}", None),
    (re.compile(r"^'(\w+)' object is not subscriptable"), "{} has no items to index", None),
    (re.compile(r"^'(\w+)' object does not support item assignment"),
     "the items of {} cannot be changed", None),
    (re.compile(r'^can only concatenate (\w+) \(not "(\w+)"\)'), "`+` cannot join {} and {}", None),
    (re.compile(r"^cannot unpack non-iterable (\w+) object"),
     "{} cannot be taken apart into several names", None),
)  # fmt: skip
"""Python's sentences about a value of the wrong type: what is said instead, and what to write."""


# ---- Calls that do not match the called function -------------------------------------------------

_NAMELESS = ("self", "args", "options", "given")
_UNEXPECTED = re.compile(r"(?:unexpected keyword argument|has no parameter) '(\w+)'")
_WRONG_COUNT = re.compile(r"missing \d+ required|takes .*positional arguments?")
_OTHER_WORDS = {
    "learning_rate": "lr", "axis": "dim", "keepdims": "keepdim", "rate": "lr",
    "epochs": "max_iter", "decay": "weight_decay", "size": "shape",
}  # fmt: skip
"""PyTorch's words for what is called otherwise elsewhere."""
_JOINED = re.compile(r"`\+` cannot join (an? \w+) and (an? \w+)")


def call_help(fault: Fault, node: n.Node, program: Any) -> str | None:
    """What to write instead of what stands at ``node``, where the fault and the text tell."""
    if isinstance(node, n.Binary):
        return _join_help(fault.message)
    if not isinstance(node, n.Call):
        return None
    if fault.message.endswith("cannot be called"):
        return _hidden(node, program) or _product_help(node, program.source.text)
    keyword = _UNEXPECTED.search(fault.message)
    if keyword is None and not _WRONG_COUNT.search(fault.message):
        return None
    func = node.func
    name = func.id if isinstance(func, n.Name) else getattr(func, "name", "")
    if name == "transpose" and not keyword and len(node.args) == isinstance(func, n.Name):
        return "the transpose is x.T; x.transpose(0, 1) exchanges two dimensions"
    known, said = _parameters(node.func, program)
    if not known:
        return None
    near = None
    if keyword:
        other = _OTHER_WORDS.get(keyword[1])
        near = closest(keyword[1], known) or (other if other in known else None)
    if near is None and fault.help is not None:
        return None
    return f"did you mean `{near}`?" if near else said


def _parameters(func: n.Node, program: Any) -> tuple[list[str], str]:
    """The parameters of what is called, and a sentence that names them."""
    if isinstance(func, n.Name):
        for statement in n.walk(program.names.module):
            if (own := _defined(statement, func.id)) is not None:
                known = [param.name for param in own.params]
                place = program.source.place(statement.start)[0]
                return known, f"{func.id}({', '.join(known)}) is defined at line {place}"
        outer = program.names.imported.get(func.id)
        known = _of_table(outer or {**NAMES, **CALLED}.get(func.id))
        rule = OPERATORS.get(func.id)
        known = [*dict.fromkeys([*known, *getattr(rule, "params", ())])] or _of_table(rule)
    elif isinstance(func, n.Attribute):
        found = _from_module(func, program)
        if hasattr(found, "of_numpy"):  # which no method or operator of that name is
            known = _of_table(unwrap(found))
        else:
            known = _of_table(CALL[Tensor].get(func.name)) or _of_table(OPERATORS.get(func.name))
            known = known or _of_table(found)
    else:
        known = []
    known = [name for name in known if name != "self"]
    return known, f"its parameters: {', '.join(known)}"


def _defined(statement: n.Node, name: str) -> n.Def | n.Lambda | None:
    """The function that a statement gives a name."""
    if isinstance(statement, n.Def) and statement.name == name:
        return statement
    if isinstance(statement, n.Assign) and isinstance(statement.value, n.Lambda):
        names = [t.id for t in statement.targets if isinstance(t, n.Name)]
        return statement.value if name in names else None
    return None


def _from_module(func: n.Attribute, program: Any) -> Any:
    """What ``torch.optim.SGD`` stands for, where a module was imported under that name."""
    root, _, rest = n.dotted_text(func).partition(".")
    table = namespace(program.names.modules.get(root, ""))
    try:
        return None if table is None else table[rest]
    except KeyError:
        return None


def _of_table(function: Any) -> list[str]:
    """The parameters of a function of the tables."""
    kind = getattr(function, "__gradcli_kind__", None)
    if kind is not None:  # a layer, an optimizer: those of the class
        for base in kind().__mro__:
            if "__init__" in vars(base):
                known = [k for k in signature(base.__init__).parameters if k not in _NAMELESS]
                if known:
                    return known
    code = getattr(function, "__code__", None)
    if code is not None:
        return [*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
    return [*getattr(function, "inputs", ()), *getattr(function, "params", ())]


def _hidden(node: n.Call, program: Any) -> str | None:
    """A function of the tables whose name the program took for a value."""
    if not isinstance(node.func, n.Name) or node.func.id not in {**NAMES, **CALLED}:
        return None
    place = program.names.bound.get(node.func.id)
    if place is None:
        return None
    line = program.source.place(place.start)[0]
    return f"line {line} made `{node.func.id}` a value: choose another name there"


def _product_help(node: n.Call, text: str) -> str | None:
    """``2(x + 1)`` is read as a call; what is meant is a product."""
    if len(node.args) != 1 or isinstance(node.func, n.Attribute):
        return None
    left, inner = (text[one.start : one.end] for one in (node.func, node.args[0]))
    return f"to multiply, write {left}*({inner})" if len(left + inner) < 60 else "multiply with *"


def _join_help(message: str) -> str | None:
    """``[1, 2] + 3`` and ``'a' + 1``."""
    found = _JOINED.search(message)
    if found is None:
        return None
    if "a string" in found.groups():
        return 'write str(x) for the text of a value, or f"{x}"'
    return "tensor([...]) + x adds to each item; [...] + [x] makes the list longer"
