"""Emission: a program as the text of a Python function, and the function.

Single float64 numbers are Python floats and ``math`` functions, which raise where NumPy would give
an infinity or NaN; the caller then runs eagerly. A ``math`` function may differ from NumPy's in the
last digit, so whatever decides something (a comparison, a rounding) is computed with NumPy's: no
branch goes the other way. Arrays are NumPy, written into operands that nobody reads again where
they are large.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.tensor.attributes import Size
from gradcli.jit.blocks import Group, run, schedule
from gradcli.jit.ir import Instruction, Pack, Program, Value, type_of
from gradcli.jit.scalars import power
from gradcli.ops.declaration.infix import MIRRORED, by_sign
from gradcli.ops.operator import Operator

SCOPE = "gradcli.generated"
"""The module that generated code says it is: NumPy's warnings are silent there, as in the rest."""

_IN_PLACE = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}
_INFIX = {
    op.compute: sign for sign, op in by_sign().items() if sign in _IN_PLACE or sign in MIRRORED
}
_LARGE = 8192
"""Entries from which a result is written into an operand that is not needed any more."""

_POWERS = {
    2: "{0} * {0}", 3: "{0} * {0} * {0}", 0.5: "sqrt({0})", -1: "1.0 / {0}",
    -2: "1.0 / ({0} * {0})", -0.5: "1.0 / sqrt({0})",
}  # fmt: skip

_CALLED = re.compile(r"\b(sqrt|fabs|exp|log1p)\(")
_SAME = frozenset(("sqrt", "fabs"))
"""Functions of math with NumPy's own last digit."""


def math_function(op: Operator) -> Callable[..., float] | None:
    """The function of ``math`` that computes an operator on floats, or None."""
    if op.kind != "elementwise" or op.params or "jump" in op.edges or op.name == "pow":
        return None
    return getattr(math, op.name, None)


def is_arithmetic(op: Operator) -> bool:
    """Whether an operator on numbers is one of + - * / or as cheap."""
    return op.infix in _IN_PLACE or op.name in ("neg", "square")


def scalar_kind(value: Any) -> str:
    """``f`` for what is a Python float in the text, ``b`` for a bool, else the empty string."""
    if value.__class__ is not Value:
        return "f" if value.__class__ in (float, int) else "b" if value.__class__ is bool else ""
    if value.shape:
        return ""
    return "f" if value.dtype is dtypes.float64 else "b" if value.dtype is dtypes.bool_ else ""


def decides(op: Operator) -> bool:
    """Whether an operator's result jumps: a last digit of its operands must not differ."""
    return (op.kind == "constant" and op.name not in ("zeros_like", "ones_like")) or (
        "jump" in op.edges
    )


class Emitter:
    """The text of one program, line by line."""

    def __init__(self, program: Program) -> None:
        self.program: Any = program
        self.names = program.names()
        self.scope: dict[str, Any] = {"f64": np.float64, "np": np, "__name__": SCOPE}
        self.lines: list[str] = []
        self.blocks: list[str] = []
        self.constants: dict[Value, str] = {}
        self.exact = self._deciding()
        self.last: dict[Value, int] = {}
        self.owned: set[Value] = set()
        self.steps: list[Any] = schedule(program.instructions)  # type: ignore[assignment]
        for place, step in enumerate(self.steps):
            for ins in step.everything() if isinstance(step, Group) else (step,):
                for a in ins.inputs():
                    self.last[a] = place
        self.last.update(dict.fromkeys(program.results(), len(self.steps)))
        given = ", ".join(self.names[v] for v in (*program.inputs, *program.captures))
        self.head = f"def program({given}):"

    def _deciding(self) -> set[Value]:
        """The values that a decision depends on."""
        found: set[Value] = set()
        for ins in reversed(self.program.instructions):
            if ins.out in found or decides(ins.op):
                found.update(ins.inputs())
        return found

    def text(self) -> str:
        """The whole function."""
        for whole, entries in self.program.unpacked.items():
            names = _listed([self.names[v] for v in entries])
            flat = "" if len(whole.shape) == 1 else ".reshape(-1)"
            self.lines.append(f"    {names} = {self.names[whole]}{flat}.tolist()")
        for place, step in enumerate(self.steps):
            if step.__class__ is Group:
                self.group(place, step)
            else:
                word = self.word(place, step)
                if word:  # else it took lines of its own
                    self.lines.append(f"    {self.names[step.out]} = {word}  # {type_of(step.out)}")
        self.lines.append(f"    return {self._returned()}\n")
        return "\n".join([*self.blocks, self.head, *self.lines])

    def group(self, place: int, group: Group) -> None:
        """A function of one block, before this one, and the call that runs it on all of them."""
        size = math.prod(group.shape)
        name = f"block{len(self.blocks)}"
        outs = [i.out for i in group.instructions if self.last.get(i.out, -1) > place]
        own = {i.out for i in group.instructions}
        arrays: dict[Value, str] = {}
        numbers: dict[Value, str] = {}
        for ins in group.everything():
            for a in ins.inputs():
                if a.shape and a not in own:
                    arrays[a] = self.operand(a)
                elif not a.shape and a in self.names:
                    numbers[a] = self.names[a]
        inner = Block(self, group, outs)
        lines = inner.lines()
        given = [*arrays.values(), *(self.names[v] for v in outs)]
        head = ", ".join(["low", "high", "t", *given, *numbers.values()])
        totals = [f"{inner.word(i.args[0])}.sum()" for i in group.sums]
        self.blocks.append("\n".join([
            f"def {name}({head}):",
            *(f"    {word} = {word}[low:high]" for word in given),
            *lines,
            f"    return {_listed(totals)}\n",
        ]))  # fmt: skip
        for v in outs:
            dtype = self.bind(v.dtype.name, v.dtype.numpy)
            self.lines.append(f"    {self.names[v]} = np.empty({tuple(v.shape)!r}, {dtype})")
        words = [f"{word}.reshape(-1)" for word in given] + list(numbers.values())
        self.scope["run_blocks"] = run
        call = f"run_blocks({name}, {size}, {inner.most}, {_listed(words)}, {len(group.sums)})"
        if not group.sums:
            self.lines.append(f"    {call}")
            return
        totals = [self.names[i.out] for i in group.sums]
        self.lines.append(f"    {_listed(totals)} = {call}")
        for ins, word in zip(group.sums, totals, strict=True):
            if ins.op.name == "mean":
                self.lines.append(f"    {word} = {word} / {size}")

    def bind(self, base: str, thing: Any) -> str:
        """A global name of the text for ``thing``."""
        name = base
        while name in self.scope and self.scope[name] is not thing:
            name += "_"
        self.scope[name] = thing
        return name

    def operand(self, a: Any, wrapped: bool = False) -> str:
        """An argument; ``wrapped``: a Python number of the text as NumPy's."""
        if a.__class__ is Value and a in self.names:
            name = self.names[a]
            if wrapped and scalar_kind(a):
                return f"f64({name})" if scalar_kind(a) == "f" else f"np.bool_({name})"
            return name
        if a.__class__ is Value:
            if scalar_kind(a):
                number = a.const.item()
                word = self.literal(number)
                return f"f64({word})" if wrapped and number.__class__ is float else word
            if a not in self.constants:
                self.constants[a] = self.bind(f"c{len(self.constants)}", a.const)
            return self.constants[a]
        return self.literal(a)

    def literal(self, value: Any) -> str:
        """A parameter or a number."""
        if _plain(value):
            word = repr(tuple(value) if value.__class__ is Size else value)
            return f"({word})" if word[0] == "-" else word
        if value.__class__ is float:
            return self.bind("nan" if value != value else "inf" if value > 0 else "ninf", value)
        if isinstance(value, np.dtype):
            return self.bind(value.name, value)
        return self.bind(f"c{len(self.scope)}", value)

    def word(self, place: int, ins: Instruction) -> str:
        """The expression that computes an instruction."""
        kind = scalar_kind(ins.out)
        kinds = [scalar_kind(a) for a in ins.args]
        if kind and all(kinds):
            word = self.on_numbers(ins)
            if word is not None:
                return word
        elif kind or ins.out.shape or ins.out.dtype.quick:
            word = self._on_arrays(place, ins)
            if word is not None:
                return f"float({word})" if kind == "f" else f"bool({word})" if kind else word
        return self._call(ins, kind)

    def _call(self, ins: Instruction, kind: str) -> str:
        """The operator's computation, called."""
        words = [self.operand(a, wrapped=not ins.fails) for a in ins.args]
        words += [f"{n}={self.literal(p)}" for n, p in ins.params.items()]
        call = f"{self.bind(ins.op.name + '_', ins.op.compute)}({', '.join(words)})"
        return f"float({call})" if kind == "f" else f"bool({call})" if kind == "b" else call

    def on_numbers(self, ins: Instruction) -> str | None:
        """The expression on Python floats and bools, or None where NumPy has to be called."""
        op = ins.op
        if scalar_kind(ins.out) == "b" and (is_arithmetic(op) or op.name == "add_scaled"):
            return None  # True + True is 2 in Python
        words = [self.operand(a) for a in ins.args]
        sign = _INFIX.get(op.compute)
        if sign is not None:
            return f"{words[0]} {sign} {words[1]}"
        if op.python:
            called = _CALLED.findall(op.python)
            if not _SAME.issuperset(called) and ins.out in self.exact:
                return None
            for name in called:
                self.scope[name] = getattr(math, name)
            return op.python.format(*words)
        if op.name == "pow":
            if ins.fails:
                return f"{self.bind('power', power)}({', '.join(words)})"
            y = ins.args[1]
            if y.__class__ in (int, float) and y in _POWERS:
                self.scope["sqrt"] = math.sqrt
                return _POWERS[y].format(words[0])
            if ins.out not in self.exact:
                return f"{self.bind('pow', math.pow)}({', '.join(words)})"
            return None
        if op.name in ("add_scaled", "addcmul"):
            scale = ins.params.get("alpha", ins.params.get("value"))
            if op.name == "add_scaled":
                return f"{words[0]} + {self.literal(scale)} * {words[1]}"
            first = words[1] if scale == 1 else f"{self.literal(scale)} * {words[1]}"
            return f"{words[0]} + {first} * {words[2]}"
        if op.name == "cast" and scalar_kind(ins.args[0]) == "f":
            return words[0] if ins.out.dtype is dtypes.float64 else f"{words[0]} != 0"
        function = math_function(op)
        if function is not None and (function is math.sqrt or ins.out not in self.exact):
            return f"{self.bind(op.name, function)}({', '.join(words)})"
        return None

    def _on_arrays(self, place: int, ins: Instruction) -> str | None:
        op, out = ins.op, ins.out
        if len(ins.args) > 1 and not any(a.__class__ is Value and a.dtype.quick for a in ins.args):
            return None
        words = [self.operand(a) for a in ins.args]
        sign = _INFIX.get(op.compute)
        target = self._target(place, ins)
        if sign is not None:
            if target and sign in _IN_PLACE:
                return f"np.{_IN_PLACE[sign]}({words[0]}, {words[1]}, {target})"
            return f"{words[0]} {sign} {words[1]}"
        if isinstance(op.compute, np.ufunc):
            words += [target] if target else []
            return f"{self.bind(op.name, op.compute)}({', '.join(words)})"
        x = ins.args[0]
        if scalar_kind(x):
            return None
        if op.name == "neg":
            return f"np.negative({words[0]}, {target})" if target else f"-{words[0]}"
        if op.name == "pow" and ins.args[1].__class__ in (int, float):
            y = ins.args[1]
            simple = y in (2, 3, -1) or (y == -2 and x.dtype is not dtypes.float16)
            return _POWERS[y].format(words[0]) if simple else None
        if op.name == "where" and out.dtype is dtypes.float64 and out.shape:
            return f"np.where({', '.join(words)})"
        if op.name == "relu":
            return f"np.maximum(0, {words[0]}{', ' + target if target else ''})"
        if op.name == "sum" and ins.params["dim"] is None and not ins.params["keepdim"]:
            return f"{words[0]}.sum()"
        if op.name == "reshape":
            return f"{words[0]}.reshape({tuple(out.shape)!r})"
        if op.name in ("mT", "reverse_dims") and len(out.shape) == 2:
            return f"{words[0]}.T"
        if op.name == "matmul":
            a, b = x.shape, ins.args[1].shape
            if a[-1] != 1 and a[-1] == b[-2 if len(b) > 1 else 0]:
                return f"{words[0]} @ {words[1]}"
        if op.name == "dot" and x.shape == ins.args[1].shape and len(x.shape) == 1:
            return f"{words[0]}.dot({words[1]})"
        if op.name == "getitem":
            text = _index_text(ins.params["index"])
            if text is not None and (out.shape or scalar_kind(out)):
                return f"{words[0]}[{text}]"
        if op.name == "scatter" and out.dtype is x.dtype and out.shape:
            text = _index_text(ins.params["index"])
            if text is not None and out.dtype.quick:
                name, dtype = self.names[out], self.bind(out.dtype.name, out.dtype.numpy)
                self.lines.append(f"    {name} = np.zeros({tuple(out.shape)!r}, {dtype})")
                self.lines.append(f"    {name}[{text}] = {words[0]}")
                return ""
        return None

    def _target(self, place: int, ins: Instruction) -> str:
        """The name of a large operand that this program owns and reads here for the last time."""
        out = ins.out
        if math.prod(out.shape) < _LARGE:
            return ""
        for a in ins.inputs():
            alike = a.shape == out.shape and a.dtype is out.dtype
            if alike and a in self.owned and self.last[a] == place:
                self.owned.discard(a)
                return self.names[a]
        return ""

    def own(self) -> None:
        """Find the arrays that are computed here, are nobody's view and have no view."""
        for ins in self.program.instructions:
            if is_fresh(ins) and ins.op.name not in ("sum", "mean"):
                self.owned.add(ins.out)
            else:
                self.owned.difference_update(ins.inputs())

    def _returned(self) -> str:
        words, given = [], set()
        by_out = {ins.out: ins for ins in self.program.instructions}
        for v in self.program.outputs:
            if v.__class__ is Pack:
                dtype = "float" if v.values[0].dtype is dtypes.float64 else "bool"
                shape = "" if len(v.shape) == 1 else f".reshape({tuple(v.shape)!r})"
                listed = f"[{', '.join(self.operand(e) for e in v.values)}]"
                words.append(f"np.array({listed}, {dtype}){shape}")
                continue
            word = self.operand(v)
            kind = scalar_kind(v)
            if kind == "b":
                word = f"bool({word})"
            elif not kind:
                if v.source is None or v in given or not is_fresh(by_out[v]):
                    word = f"np.array({word})"
                word += "" if v.shape else "[()]"
            given.add(v)
            words.append(word)
        return f"({', '.join(words)},)"


def _listed(words: list[str]) -> str:
    """A tuple of these."""
    return f"({', '.join(words)}{',' * (len(words) == 1)})"


class Block:
    """The lines of a group's function: buffers are used again as soon as nobody reads them."""

    def __init__(self, emitter: Emitter, group: Group, outs: list[Value]) -> None:
        self.emitter, self.group = emitter, group
        self.names = {i.out: emitter.names[i.out] for i in group.instructions}
        self.outs = set(outs)
        self.free: list[int] = []
        self.most = 0
        self.held: dict[Value, int] = {}
        self.last = {a: n for n, i in enumerate(group.instructions) for a in i.inputs()}
        self.last.update((i.args[0], len(group.instructions)) for i in group.sums)

    def word(self, a: Any) -> str:
        own = a.__class__ is Value and a in self.names
        return self.names[a] if own else self.emitter.operand(a)

    def lines(self) -> list[str]:
        """One or two lines for each instruction."""
        found = []
        for place, ins in enumerate(self.group.instructions):
            out = self.names[ins.out]
            call = self._ufunc(ins)
            done = [a for a in ins.inputs() if a in self.held and self.last[a] == place]
            if call is None:
                word = self._computed(ins)
                line = f"{out}[:] = {word}" if ins.out in self.outs else f"{out} = {word}"
            else:
                function, words = call
                target = out
                if ins.out not in self.outs:
                    target = f"t[{self._buffer(ins.out, done)}]"
                text = f"np.{function}({', '.join([*words, target])})"
                line = text if target == out else f"{out} = {text}"
            for a in dict.fromkeys(done):
                if a in self.held:
                    self.free.append(self.held.pop(a))
            found.append(f"    {line}  # {ins.op.name}")
        return found

    def _buffer(self, value: Value, done: list[Value]) -> int:
        if done and done[0] in self.held:  # in place
            number = self.held.pop(done[0])
        elif self.free:
            number = self.free.pop()
        else:
            number = self.most
            self.most += 1
        self.held[value] = number
        return number

    def _ufunc(self, ins: Instruction) -> tuple[str, list[str]] | None:
        """A function of NumPy with an output, and its arguments; None where there is no such."""
        op = ins.op
        if ins.out.dtype is not dtypes.float64:
            return None
        words = [self.word(a) for a in ins.args]
        sign = _INFIX.get(op.compute)
        if sign in _IN_PLACE:
            return _IN_PLACE[sign], words
        if isinstance(op.compute, np.ufunc) and hasattr(np, op.compute.__name__):
            return op.compute.__name__, words
        if op.name == "neg":
            return "negative", words
        if op.name == "pow" and ins.args[1].__class__ in (int, float) and ins.args[1] == 2:
            return "multiply", [words[0], words[0]]
        if op.name == "relu":
            return "maximum", ["0", words[0]]
        if op.name == "reciprocal":
            return "divide", ["1.0", words[0]]
        return None

    def _computed(self, ins: Instruction) -> str:
        words = [self.word(a) for a in ins.args]
        sign = _INFIX.get(ins.op.compute)
        if sign is not None:
            return f"{words[0]} {sign} {words[1]}"
        words += [f"{n}={self.emitter.literal(p)}" for n, p in ins.params.items()]
        name = self.emitter.bind(ins.op.name + "_", ins.op.compute)
        return f"{name}({', '.join(words)})"


def is_fresh(ins: Instruction) -> bool:
    """Whether the result is an array of its own, and no view of an argument."""
    if ins.op.kind != "linear":
        return True
    return ins.op.name in ("add", "sub", "neg", "add_scaled", "lerp_number", "sum", "mean")


def _plain(value: Any) -> bool:
    cls = value.__class__
    if cls in (tuple, list, Size):
        return all(_plain(part) for part in value)
    if cls is slice:
        return all(_plain(part) for part in (value.start, value.stop, value.step))
    if cls is float:
        return math.isfinite(value)
    return value is None or value is Ellipsis or cls in (int, bool, str)


def _index_text(index: Any) -> str | None:
    """A basic index as it stands between brackets, or None."""
    words = []
    for part in index if index.__class__ is tuple else (index,):
        if part.__class__ is slice and _plain(part):
            step = "" if part.step is None else f":{part.step}"
            start, stop = ("" if end is None else end for end in (part.start, part.stop))
            words.append(f"{start}:{stop}{step}")
        elif part.__class__ is int or part is None or part is Ellipsis:
            words.append("..." if part is Ellipsis else repr(part))
        else:
            return None
    return ", ".join(words) or None


def build(program: Program) -> tuple[Callable[..., tuple], str]:
    """The function that a program is, and its text."""
    emitter = Emitter(program)
    emitter.own()
    text = emitter.text()
    exec(compile(text, "<gradcli.compile>", "exec"), emitter.scope)
    return emitter.scope["program"], text
