"""Programs of single numbers as machine code, by llvmlite (the extra ``native``).

The structured program becomes LLVM's intermediate representation: a slot of the stack for each
value, basic blocks for branches and loops, and a growing array for whatever backward loops read.
What an instruction computes is the Python expression that ``emit`` has for it, so that both have
the same operations in the same order; functions are those of the C library, as ``math``'s are.
The run ends with a code:

    0 done   1 left to the engine (a domain error)   2 no more steps   3 interrupted   4 no memory

Every 65,536 turns of loops it lets other threads run, and the handlers of signals: Ctrl-C and time
limits end it there.
"""

from __future__ import annotations

import ast
import ctypes
import ctypes.util
import functools
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from gradcli.engine import dtypes
from gradcli.jit.control import (
    EXACT,
    Block,
    Branch,
    Check,
    Loop,
    Scalar,
    Step,
    Structured,
    named,
    walk,
)
from gradcli.jit.emit_control import ControlEmitter
from gradcli.jit.ir import Instruction, NotTraceable, Value
from gradcli.jit.loops import in_loops

_TYPES = {"d": "double", "i": "i64", "b": "i1"}
_COMPARED = {
    ast.Lt: ("olt", "slt"), ast.LtE: ("ole", "sle"), ast.Gt: ("ogt", "sgt"),
    ast.GtE: ("oge", "sge"), ast.Eq: ("oeq", "eq"), ast.NotEq: ("une", "ne"),
}  # fmt: skip

_POLL = """
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyErr_CheckSignals()

define internal i32 @poll() noinline cold {
  %thread = call ptr @PyEval_SaveThread()
  call void @PyEval_RestoreThread(ptr %thread)
  %raised = call i32 @PyErr_CheckSignals()
  ret i32 %raised
}"""

LARGE = 1 << 18
"""Lines of a text times stacks (and a few) from which LLVM takes seconds, which nothing ends."""

Register = tuple[str, str]
"""A kind (d, i or b) and what stands for the value in the text."""


class NotNative(NotTraceable):
    """A program has something that machine code is not made for."""


class Writer:
    """The text of one program in LLVM's representation."""

    def __init__(self, program: Structured, pairs: dict[Block, Block]) -> None:
        self.program = program
        self.forward = {back: block for block, back in pairs.items()}
        self.texts = ControlEmitter(program, pairs)
        self.texts.names = self.names = named(program)
        self.texts.folds = set()
        self.slots: dict[str, str] = {}
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.stacks: list[str] = []
        self.pushed: dict[Any, str] = {}
        self.count = 0
        self.loops: dict[Loop, int] = {}
        self.called: set[str] = set()
        self.looped = in_loops(program.block)
        self.by_name = {name: v for v, name in self.names.items()}
        self.reversed = {
            n.backward for n in walk(program.block) if n.__class__ is Loop and n.backward
        }

    # -- lines and slots -------------------------------------------------------------------------

    def say(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def fresh(self, letter: str = "t") -> str:
        self.count += 1
        return f"{letter}.{self.count}"

    def computed(self, text: str) -> str:
        """A new register for an instruction."""
        name = f"%{self.fresh()}"
        self.say(f"{name} = {text}")
        return name

    def added(self, slot: str, by: Any, sign: str = "add") -> str:
        """Add to (or ``sub``) the whole number in a slot; what it is then."""
        now = self.computed(f"load i64, ptr {slot}")
        now = self.computed(f"{sign} i64 {now}, {by}")
        self.say(f"store i64 {now}, ptr {slot}")
        return now

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def slot(self, name: str, kind: str) -> str:
        """The slot of a variable."""
        if name not in self.slots:
            self.slots[name] = kind
            self.entry.append(f"  %{name} = alloca {_TYPES[kind]}")
        return f"%{name}"

    def kind(self, v: Value) -> str:
        found = {dtypes.float64: "d", dtypes.int64: "i", dtypes.bool_: "b"}.get(v.dtype)
        if v.shape or found is None:
            raise NotNative("arrays")
        return found

    def load(self, v: Value) -> Register:
        kind = self.kind(v)
        slot = self.slot(self.names[v], kind)
        return kind, self.computed(f"load {_TYPES[kind]}, ptr {slot}")

    def store(self, v: Value, value: Register) -> None:
        kind = self.kind(v)
        word = self.cast(value, kind)
        self.say(f"store {_TYPES[kind]} {word}, ptr {self.slot(self.names[v], kind)}")

    def operand(self, a: Any) -> Register:
        """A value, or a number as it stands."""
        if a is None:
            raise NotNative("a variable that may not be set")
        if a.__class__ is Value:
            if a in self.names:
                return self.load(a)
            if a.shape:
                raise NotNative("arrays")
            a = a.const.item()
        if a.__class__ is bool:
            return "b", str(int(a))
        if a.__class__ is int:
            if abs(a) > EXACT:
                raise NotNative("a large whole number")
            return "i", str(a)
        return "d", _double(a)

    def cast(self, value: Register, kind: str) -> str:
        """A number as one of another kind."""
        have, word = value
        if have == kind:
            return word
        if kind == "b":
            if have == "d":
                return self.computed(f"fcmp une double {word}, {_double(0.0)}")
            return self.computed(f"icmp ne i64 {word}, 0")
        if have == "b":
            word = self.computed(f"zext i1 {word} to i64")
        if kind == "i":
            if have == "d":
                raise NotNative("a float where a whole number is needed")
            return word
        return self.computed(f"sitofp i64 {word} to double")

    def alike(self, a: Register, b: Register) -> tuple[str, str, str]:
        """Two numbers as floats where one of them is, else as whole numbers."""
        kind = "d" if "d" in (a[0], b[0]) else "i"
        return kind, self.cast(a, kind), self.cast(b, kind)

    def leave(self, test: str, code: int) -> None:
        """End the run with a code where a test holds."""
        away, on = self.fresh("away"), self.fresh("on")
        self.say(f"br i1 {test}, label %{away}, label %{on}")
        self.label(away)
        self.say(f"store i32 {code}, ptr %code")
        self.say("br label %exit")
        self.label(on)

    def leave_unless(self, test: str) -> None:
        """Leave the run to the engine where a test does not hold."""
        self.leave(self.computed(f"xor i1 {test}, 1"), 1)

    def bound(self, word: str, test: str, most: float) -> None:
        """Leave the run to the engine where a float is larger than allowed, or NaN."""
        self.called.add("declare double @fabs(double)")
        size = self.computed(f"call double @fabs(double {word})")
        self.leave_unless(self.computed(f"fcmp {test} double {size}, {_double(most)}"))

    # -- expressions -----------------------------------------------------------------------------

    def expression(self, text: str) -> Register:
        """The Python expression of an instruction."""
        return self.term(ast.parse(text, mode="eval").body)

    def term(self, node: Any) -> Register:
        kind = node.__class__
        if kind is ast.Constant:
            return self.operand(node.value)
        if kind is ast.Name:
            if node.id in self.by_name:
                return self.load(self.by_name[node.id])
            return self.operand(self.texts.scope[node.id])
        if kind is ast.BinOp:
            return self.binary(node)
        if kind is ast.UnaryOp:
            have, word = self.term(node.operand)
            if node.op.__class__ is ast.Not:
                test = self.cast((have, word), "b")
                return "b", self.computed(f"xor i1 {test}, 1")
            if node.op.__class__ is ast.UAdd:
                return (have, word) if have != "b" else ("i", self.cast((have, word), "i"))
            if have == "d":
                return "d", self.computed(f"fneg double {word}")
            return "i", self.computed(f"sub i64 0, {self.cast((have, word), 'i')}")
        if kind is ast.Compare and len(node.ops) == 1:
            return self.compared(node)
        if kind is ast.BoolOp:
            words = [self.cast(self.term(v), "b") for v in node.values]
            word = words[0]
            for other in words[1:]:
                sign = "and" if node.op.__class__ is ast.And else "or"
                word = self.computed(f"{sign} i1 {word}, {other}")
            return "b", word
        if kind is ast.IfExp:
            return self.chosen(
                self.cast(self.term(node.test), "b"),
                lambda: self.term(node.body), lambda: self.term(node.orelse),
            )  # fmt: skip
        if kind is ast.Call and node.func.__class__ is ast.Name and not node.keywords:
            return self.call(node.func.id, node.args)
        raise NotNative("such an expression")

    def chosen(self, test: str, yes: Callable, no: Callable) -> Register:
        """One of two values; only one of them is computed."""
        names = [self.fresh(w) for w in ("yes", "no", "end")]
        self.say(f"br i1 {test}, label %{names[0]}, label %{names[1]}")
        results, marks = [], []
        for name, side in zip(names, (yes, no), strict=False):
            self.label(name)
            results.append(side())
            marks.append(len(self.lines))
            self.say(f"br label %{names[2]}")
        kinds = {kind for kind, _ in results}
        kind = kinds.pop() if len(kinds) == 1 else "d" if "d" in kinds else "i"
        slot = self.slot(self.fresh("c"), kind)
        for place, mark in reversed(list(enumerate(marks))):
            rest, self.lines = self.lines[mark:], self.lines[:mark]
            self.say(f"store {_TYPES[kind]} {self.cast(results[place], kind)}, ptr {slot}")
            self.lines += rest
        self.label(names[2])
        return kind, self.computed(f"load {_TYPES[kind]}, ptr {slot}")

    def binary(self, node: ast.BinOp) -> Register:
        a, b = self.term(node.left), self.term(node.right)
        op: Any = node.op.__class__
        if op is ast.Div:
            x, y = self.cast(a, "d"), self.cast(b, "d")
            self.leave(self.computed(f"fcmp oeq double {y}, {_double(0.0)}"), 1)
            return "d", self.computed(f"fdiv double {x}, {y}")
        kind, x, y = self.alike(a, b)
        if op is ast.Mult and kind == "i":  # of two below 2**53: it may turn round past 2**63
            symbol = "@llvm.smul.with.overflow.i64"
            self.called.add(f"declare {{i64, i1}} {symbol}(i64, i64)")
            both = self.computed(f"call {{i64, i1}} {symbol}(i64 {x}, i64 {y})")
            self.leave(self.computed(f"extractvalue {{i64, i1}} {both}, 1"), 1)
            return "i", self.computed(f"extractvalue {{i64, i1}} {both}, 0")
        if op in (ast.Add, ast.Sub, ast.Mult):
            sign = op.__name__[:3].lower()  # as LLVM calls it
            word = f"f{sign} double" if kind == "d" else f"{sign} i64"
            return kind, self.computed(f"{word} {x}, {y}")
        if op not in (ast.Mod, ast.FloorDiv) or kind == "d":
            raise NotNative("such an operation")
        self.leave(self.computed(f"icmp eq i64 {y}, 0"), 1)
        rest = self.computed(f"srem i64 {x}, {y}")
        # Python rounds towards minus infinity, C towards zero.
        apart = self.computed(f"xor i64 {rest}, {y}")
        signs = self.computed(f"icmp slt i64 {apart}, 0")
        some = self.computed(f"icmp ne i64 {rest}, 0")
        mend = self.computed(f"and i1 {signs}, {some}")
        if op is ast.Mod:
            more = self.computed(f"add i64 {rest}, {y}")
            return "i", self.computed(f"select i1 {mend}, i64 {more}, i64 {rest}")
        whole = self.computed(f"sdiv i64 {x}, {y}")
        less = self.computed(f"sub i64 {whole}, 1")
        return "i", self.computed(f"select i1 {mend}, i64 {less}, i64 {whole}")

    def compared(self, node: ast.Compare) -> Register:
        a, b = self.term(node.left), self.term(node.comparators[0])
        ordered, signed = _COMPARED.get(node.ops[0].__class__, ("", ""))
        if not ordered:
            raise NotNative("such a comparison")
        kind, x, y = self.alike(a, b)
        word = f"fcmp {ordered} double" if kind == "d" else f"icmp {signed} i64"
        return "b", self.computed(f"{word} {x}, {y}")

    def call(self, name: str, given: list) -> Register:
        args = [self.term(a) for a in given]
        function = self.texts.scope.get(name)
        if name == "power" and any(kind == "d" for kind, _ in args):  # what raises is not finite
            function = math.pow
        symbol = getattr(function, "__name__", "")
        if symbol and function is getattr(math, symbol, None) and _of_libm(symbol):
            words = ", ".join(f"double {self.cast(a, 'd')}" for a in args)
            self.called.add(f"declare double @{symbol}({', '.join(['double'] * len(args))})")
            found = self.computed(f"call double @{symbol}({words})")
            self.bound(found, "olt", math.inf)
            return "d", found
        first = args[0] if args else ("", "")
        if name in ("float", "bool") and len(args) == 1:
            kind = "d" if name == "float" else "b"
            return kind, self.cast(first, kind)
        if name == "bounded":
            if first[0] != "d":
                return "i", self.bounded(self.cast(first, "i"))
            self.bound(first[1], "olt", float(EXACT))  # it stands for a whole number, or may
            return first
        if name == "whole" and first[0] == "d":
            self.bound(first[1], "ole", float(EXACT))
            return "i", self.computed(f"fptosi double {first[1]} to i64")
        if name in ("max", "min") and len(args) == 2 and args[0][0] == args[1][0] != "b":
            kind, x = args[0]
            y = args[1][1]
            sign = "gt" if name == "max" else "lt"
            word = f"fcmp o{sign} double" if kind == "d" else f"icmp s{sign} i64"
            test = self.computed(f"{word} {y}, {x}")
            type_ = _TYPES[kind]
            return kind, self.computed(f"select i1 {test}, {type_} {y}, {type_} {x}")
        raise NotNative(f"a call of {name}")

    def bounded(self, word: str) -> str:
        over = self.computed(f"icmp sgt i64 {word}, {EXACT}")
        under = self.computed(f"icmp slt i64 {word}, {-EXACT}")
        self.leave(self.computed(f"or i1 {over}, {under}"), 1)
        return word

    # -- nodes -----------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        """The nodes of a block, between taking off the stacks and putting on them."""
        source = self.forward.get(block)
        if source is not None:
            for v, now in reversed(list(zip(source.saves, block.restored, strict=True))):
                self.store(now, self.pop((source, v), self.kind(v)))
        for node in block.nodes:
            self.node(node)
        for v in block.saves:
            self.push((block, v), self.load(v))

    def node(self, node: Any) -> None:
        kind = node.__class__
        if kind is Instruction:
            self.instruction(node)
        elif kind is Branch:
            self.branch(node)
        elif kind is Loop and node.backward is None:
            self.loop(node)
        elif kind is Loop:
            self.backward(node)
        elif kind is Step:
            self.step()
        elif kind is Check:
            self.leave_unless(self.cast(self.operand(node.test), "b"))

    def instruction(self, ins: Instruction) -> None:
        if ins.op.__class__ is Scalar:
            text = ins.op.text.format(*(self.texts.operand(a) for a in ins.args))
        else:
            if any(a.shape for a in ins.inputs()) or ins.out.shape:
                raise NotNative("arrays")
            found = self.texts.on_numbers(ins)
            if found is None:
                raise NotNative(f"{ins.op.name}, which NumPy has to compute")
            text = found
        self.store(ins.out, self.expression(text))

    def yields(self, outs: Sequence[Value], results: Sequence[Any]) -> None:
        """Give variables their new values, all at once."""
        given = [self.operand(v) for v in results]
        for out, value in zip(outs, given, strict=True):
            self.store(out, value)

    def branch(self, node: Branch) -> None:
        test = self.cast(self.operand(node.test), "b")
        yes, no, end = (self.fresh(w) for w in ("then", "else", "end"))
        self.say(f"br i1 {test}, label %{yes}, label %{no}")
        for name, block in ((yes, node.then), (no, node.orelse)):
            self.label(name)
            self.block(block)
            self.yields(node.outs, block.results)
            self.say(f"br label %{end}")
        self.label(end)

    def step(self) -> None:
        """Take a step from the budget, and look whether the run is to end."""
        left = self.added("%steps", 1, "sub")
        self.leave(self.computed(f"icmp slt i64 {left}, 0"), 2)
        self.beat()

    def beat(self) -> None:
        """Count a turn; now and then, look whether the run is to end."""
        turn = self.computed(f"and i64 {self.added('%beats', 1)}, 65535")
        poll, on = self.fresh("poll"), self.fresh("on")
        self.say(f"br i1 {self.computed(f'icmp eq i64 {turn}, 0')}, label %{poll}, label %{on}")
        self.label(poll)
        self.leave(self.computed(f"icmp ne i32 {self.computed('call i32 @poll()')}, 0"), 3)
        self.say(f"br label %{on}")
        self.label(on)

    def turns(self, node: Loop) -> str:
        return self.slot(f"turns.{self.loops.setdefault(node, len(self.loops))}", "i")

    def loop(self, node: Loop) -> None:
        self.yields(node.carried, node.initial)
        turns = self.turns(node)
        self.say(f"store i64 0, ptr {turns}")
        head, body, end = (self.fresh(w) for w in ("head", "body", "end"))
        at = ""
        if node.bounds is not None:
            start, stop, step = (self.cast(self.operand(b), "i") for b in node.bounds)
            at = self.slot(self.fresh("at"), "i")
            self.say(f"store i64 {start}, ptr {at}")
        self.say(f"br label %{head}")
        self.label(head)
        if node.bounds is not None:
            now = self.computed(f"load i64, ptr {at}")
            up = self.computed(f"icmp slt i64 {now}, {stop}")
            down = self.computed(f"icmp sgt i64 {now}, {stop}")
            rising = self.computed(f"icmp sgt i64 {step}, 0")
            test = self.computed(f"select i1 {rising}, i1 {up}, i1 {down}")
            self.say(f"br i1 {test}, label %{body}, label %{end}")
            self.label(body)
            self.step()
            assert node.index is not None
            self.store(node.index, ("i", now))
            self.say(f"store i64 {self.computed(f'add i64 {now}, {step}')}, ptr {at}")
        else:
            self.step()
            assert node.test is not None
            self.block(node.test)
            test = self.cast(self.operand(node.test.results[0]), "b")
            self.say(f"br i1 {test}, label %{body}, label %{end}")
            self.label(body)
        self.added(turns, 1)
        self.block(node.body)
        ends = None if node.stop is False else self.cast(self.operand(node.stop), "b")
        self.yields(node.carried, node.body.results)
        self.say(f"br label %{head}" if ends is None else
                 f"br i1 {ends}, label %{end}, label %{head}")  # fmt: skip
        self.label(end)
        self.yields(node.outs, node.carried)
        count = self.computed(f"load i64, ptr {turns}")
        if node.turns:
            self.leave(self.computed(f"icmp eq i64 {count}, 0"), 1)
        if node in self.reversed and node.body in self.looped and self.nested(node):
            self.push((node, "turns"), ("i", count))

    def nested(self, node: Loop) -> bool:
        """Whether a loop stands in a block that may run more than once."""
        return any(n is node for b in self.looped for n in b.nodes)

    def backward(self, node: Loop) -> None:
        source: Any = node.backward
        self.yields(node.carried, node.initial)
        if self.nested(source):
            count = self.pop((source, "turns"), "i")[1]
        else:
            count = self.computed(f"load i64, ptr {self.turns(source)}")
        left = self.slot(self.fresh("left"), "i")
        self.say(f"store i64 {count}, ptr {left}")
        head, body, end = (self.fresh(w) for w in ("head", "body", "end"))
        if source.bounds is not None:
            bounds: Any = node.bounds
            start, _, step = (self.cast(self.operand(b), "i") for b in bounds)
        self.say(f"br label %{head}")
        self.label(head)
        now = self.computed(f"load i64, ptr {left}")
        test = self.computed(f"icmp sgt i64 {now}, 0")
        self.say(f"br i1 {test}, label %{body}, label %{end}")
        self.label(body)
        self.beat()
        now = self.added(left, 1, "sub")
        if source.bounds is not None and node.index is not None:
            far = self.computed(f"mul i64 {now}, {step}")
            self.store(node.index, ("i", self.computed(f"add i64 {start}, {far}")))
        self.block(node.body)
        self.yields(node.carried, node.body.results)
        self.say(f"br label %{head}")
        self.label(end)
        self.yields(node.outs, node.carried)

    # -- stacks ----------------------------------------------------------------------------------

    def stack(self, key: Any) -> str:
        if key not in self.pushed:
            name = f"stack.{len(self.stacks)}"
            self.stacks.append(name)
            self.pushed[key] = name
            self.entry += [
                f"  %{name} = alloca ptr", f"  store ptr null, ptr %{name}",
                f"  %{name}.n = alloca i64", f"  store i64 0, ptr %{name}.n",
                f"  %{name}.cap = alloca i64", f"  store i64 0, ptr %{name}.cap",
            ]  # fmt: skip
        return self.pushed[key]

    def push(self, key: Any, value: Register) -> None:
        name = self.stack(key)
        kind = "d" if value[0] == "d" else "i"
        word = self.cast(value, kind)
        n = self.computed(f"load i64, ptr %{name}.n")
        cap = self.computed(f"load i64, ptr %{name}.cap")
        grow, on = self.fresh("grow"), self.fresh("on")
        self.say(f"br i1 {self.computed(f'icmp eq i64 {n}, {cap}')}, label %{grow}, label %{on}")
        self.label(grow)
        twice = self.computed(f"mul i64 {cap}, 2")
        more = self.computed(f"add i64 {twice}, 64")
        room = self.added("%room", self.computed(f"sub i64 {more}, {cap}"), "sub")
        self.leave(self.computed(f"icmp slt i64 {room}, 0"), 4)
        held = self.computed(f"load ptr, ptr %{name}")
        size = self.computed(f"mul i64 {more}, 8")
        held = self.computed(f"call ptr @realloc(ptr {held}, i64 {size})")
        self.leave(self.computed(f"icmp eq ptr {held}, null"), 4)
        self.say(f"store ptr {held}, ptr %{name}")
        self.say(f"store i64 {more}, ptr %{name}.cap")
        self.say(f"br label %{on}")
        self.label(on)
        held = self.computed(f"load ptr, ptr %{name}")
        place = self.computed(f"getelementptr i64, ptr {held}, i64 {n}")
        self.say(f"store {_TYPES[kind]} {word}, ptr {place}")
        self.say(f"store i64 {self.computed(f'add i64 {n}, 1')}, ptr %{name}.n")

    def pop(self, key: Any, kind: str) -> Register:
        name = self.stack(key)
        n = self.added(f"%{name}.n", 1, "sub")
        held = self.computed(f"load ptr, ptr %{name}")
        place = self.computed(f"getelementptr i64, ptr {held}, i64 {n}")
        stored = "d" if kind == "d" else "i"
        found = stored, self.computed(f"load {_TYPES[stored]}, ptr {place}")
        return kind, self.cast(found, kind)

    # -- the whole -------------------------------------------------------------------------------

    def text(self) -> str:
        """The module."""
        program = self.program
        for i, v in enumerate(program.inputs):
            place = self.computed(f"getelementptr double, ptr %given, i64 {i}")
            self.store(v, ("d", self.computed(f"load double, ptr {place}")))
        self.block(program.block)
        if len(self.lines) * (32 + len(self.stacks)) > LARGE:
            raise NotNative("more lines and stacks than are quick to compile")
        for i, v in enumerate(program.block.results):
            word = self.cast(self.operand(v), "d")
            place = self.computed(f"getelementptr double, ptr %found, i64 {i}")
            self.say(f"store double {word}, ptr {place}")
        self.say("br label %exit")
        self.label("exit")
        for name in self.stacks:
            self.say(f"call void @free(ptr {self.computed(f'load ptr, ptr %{name}')})")
        self.say(f"ret i32 {self.computed('load i32, ptr %code')}")
        head = (
            "define i32 @program(ptr %given, ptr %found, i64 %most, i64 %entries) {\n"
            "entry:\n  %code = alloca i32\n  store i32 0, ptr %code\n"
            "  %steps = alloca i64\n  store i64 %most, ptr %steps\n"
            "  %room = alloca i64\n  store i64 %entries, ptr %room\n"
            "  %beats = alloca i64\n  store i64 0, ptr %beats\n"
        )
        declared = [*sorted(self.called), "declare ptr @realloc(ptr, i64)",
                    "declare void @free(ptr)", _POLL]  # fmt: skip
        body = "\n".join([*self.entry, *self.lines])
        return "\n".join(declared) + f"\n\n{head}{body}\n}}\n"


def _double(number: float) -> str:
    """A float as LLVM reads it: by its bits."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


@functools.cache
def _of_libm(symbol: str) -> bool:
    """Whether a function of ``math`` is the C library's of that name."""
    library = ctypes.util.find_library("m")
    # Python has its own gamma and lgamma; gamma in C is the logarithm of it.
    return library is not None and "gamma" not in symbol and hasattr(ctypes.CDLL(library), symbol)


@functools.cache
def _target() -> Any:
    """What code is made for. Raises ImportError without llvmlite."""
    import llvmlite.binding as llvm  # an extra, slow to load

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    library = ctypes.util.find_library("m")
    if library:
        llvm.load_library_permanently(library)
    for name in ("PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_CheckSignals"):
        llvm.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    return llvm.Target.from_default_triple()


class Native:
    """A structured program as machine code. Raises NotNative; ImportError without llvmlite."""

    def __init__(self, program: Structured, pairs: dict[Block, Block]) -> None:
        text = Writer(program, pairs).text()
        machine = _target().create_target_machine(opt=2)  # the compiler takes it over
        import llvmlite.binding as llvm

        module = llvm.parse_assembly(text)
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        pointer, whole = ctypes.c_void_p, ctypes.c_int64
        kind = ctypes.PYFUNCTYPE(ctypes.c_int32, pointer, pointer, whole, whole)
        self._function = kind(self._engine.get_function_address("program"))
        self._given = ctypes.c_double * len(program.inputs)
        self._found = ctypes.c_double * len(program.block.results)

    def run(self, args: Sequence[float], steps: int, memory: int | None) -> tuple | None:
        """The results; None where the engine has to run. Raises what a signal handler raises."""
        found = self._found()
        entries = (1 << 60) if memory is None else memory // 8
        code = self._function(self._given(*args), found, steps, entries)
        return None if code else tuple(found)
