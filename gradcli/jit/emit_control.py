"""Emission of programs with control flow: the text of one flat Python function.

    for i3 in compress(range(0, n, 1), budget):     a turn takes a token of the step budget
        s4_(p1)                                     what the backward turn reads
        v3 = p1 - (v0 * p1)                         a value that is read once stands in its reader
        p1 = v3                                     what the next turn begins with
    for r5 in reversed(s4): ...                     the backward loop

Single numbers are Python's. Stacks of an outermost loop hold floats as an array, eight bytes each;
those of an inner loop are lists, one for each run of it, which become arrays where they are long.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import compress, repeat
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.jit import scalars
from gradcli.jit.checkpoint import FIRST, keep, segments
from gradcli.jit.control import (
    Block,
    Branch,
    Check,
    Loop,
    Scalar,
    Step,
    Structured,
    blocks_of,
    joins,
    named,
    operands,
    reads,
    walk,
)
from gradcli.jit.emit import _INFIX, SCOPE, Emitter, decides, math_function, scalar_kind
from gradcli.jit.ir import Instruction, Value, type_of

DEEP = 12
"""How deep operations stand inside each other in one line."""
LONG = 64
"""Entries from which the stack of an inner loop becomes an array."""


def packed(stack: list) -> Any:
    """The stack of an inner loop, as an array where it is long and holds floats."""
    return array("d", stack) if len(stack) > LONG else stack


class ControlEmitter(Emitter):
    """The text of one structured program."""

    def __init__(
        self, program: Structured, pairs: dict[Block, Block], checkpoint: int | None = None
    ) -> None:
        self.program: Any = program
        self.nodes = list(walk(program.block))
        self.names = named(program)
        self.forward = {back: block for block, back in pairs.items()}
        self.checkpoint = checkpoint  # states to keep; 0 as many as for sqrt; None saves all
        self.saving = True  # whether blocks save what backward ones read
        self.again = False  # whether turns are run again, which takes no steps
        self.scope: dict[str, Any] = {
            "keep": keep, "segments": segments, "forever": repeat(True),
            "__name__": SCOPE, "f64": np.float64, "np": np, "compress": compress, "array": array,
            "packed": packed, **scalars.HELPERS,
        }  # fmt: skip
        self.lines: list[str] = []
        self.constants: dict[Value, str] = {}
        self.exact = self._exact()
        self.last = {}
        self.owned = set()
        self.folded: dict[Value, str] = {}
        self.depths: dict[Value, int] = {}
        self.stacks: dict[Block, list[tuple[str, Any]]] = {}
        self.inner: dict[Loop, list[str]] = {}
        self.counts: dict[Loop, str] = {}
        self.pad = 1
        self.saved: set[Value] = set()
        self.numbers = program.inputs[0].trace.numbers
        self._loops = [n for n in self.nodes if n.__class__ is Loop]
        self._read = self._readers()
        self._plan_stacks()
        # Which stacks hold nothing but floats.
        self.floats = {
            name: v.__class__ is Value and not v.shape and v.dtype is dtypes.float64
            and not (v.source is not None and v.source.op.__class__ is Scalar)
            for mine in self.stacks.values() for name, v in mine
        }  # fmt: skip
        self.folds = self._foldable()
        for loop in self._loops:
            for out, p in zip(loop.outs, loop.carried, strict=True):
                self.names[out] = self.names[p]
        self.kept = self._checkpointed()
        self.lists = {
            ins.args[0] for ins in self.nodes
            if ins.__class__ is Instruction and ins.op is scalars.PICK
            and (scalar_kind(ins.out) or ins.out.dtype is dtypes.int64)
            and (ins.args[0] in set(program.inputs) or ins.args[0].const is not None)
        }  # fmt: skip

    # -- what is known before the text -----------------------------------------------------------

    def _exact(self) -> set[Value]:
        """The values that a decision depends on, through branches and loops."""
        found: set[Value] = set()
        nodes = self.nodes

        def add(values: Any) -> None:
            found.update(v for v in values if v.__class__ is Value)

        for node in nodes:
            kind = node.__class__
            if kind is Branch or kind is Check:
                add([node.test])
            elif kind is Loop:
                add([*(node.bounds or ()), node.stop, *(node.test.results if node.test else ())])
            elif kind is Instruction:
                jumps = node.op.decides if node.op.__class__ is Scalar else decides(node.op)
                if jumps:
                    add(node.args)
        while True:
            before = len(found)
            for node in reversed(nodes):
                kind = node.__class__
                if kind is Instruction and (node.out in found or (
                    node.op is scalars.APPEND and node.args[0] in found
                )):  # fmt: skip
                    add(node.args)
                for out, ways in joins(node):
                    if out in found:
                        add(ways)
            if len(found) == before:
                return found

    def _readers(self) -> dict[Value, list[Any]]:
        """Who reads a value: nodes, and blocks whose results or stacks have it."""
        found: dict[Value, list[Any]] = {}

        def read_by(reader: Any, values: Any) -> None:
            for v in values:
                if v.__class__ is Value:
                    found.setdefault(v, []).append(reader)

        block = self.program.block
        read_by(block, block.results)
        for node in self.nodes:
            read_by(node, reads(node))
            if node.__class__ is Loop:
                read_by(node.body, [node.stop])
            for inner in blocks_of(node):
                read_by(inner, inner.results)
                self.saved.update(inner.saves)
        return found

    def _plan_stacks(self) -> None:
        """Names for the stacks of every loop, and which loops count their turns."""
        stack: list[tuple[Block, Loop | None]] = [(self.program.block, None)]
        order = []
        while stack:
            block, loop = stack.pop()
            order.append((block, loop))
            for node in block.nodes:
                if node.__class__ is Branch:
                    stack += [(b, loop) for b in node.blocks()]
                elif node.__class__ is Loop and node.backward is None:
                    stack += [(b, node) for b in node.blocks()]
        backward = {
            n.backward for n in self.nodes if n.__class__ is Loop and n.backward is not None
        }
        number = 0
        for block, loop in reversed(order):  # inner loops first
            mine = self.stacks[block] = []
            if loop is not None:
                for v in block.saves:
                    mine.append((f"s{number}", v))
                    number += 1
            for node in block.nodes:
                if node.__class__ is not Loop or node.backward is not None:
                    continue
                if node.turns or (node in backward and not self.stacks[node.body] and (
                    node.bounds is None or node.stop is not False)):  # fmt: skip
                    self.counts[node] = f"n{number}"
                    number += 1
                if loop is None:
                    continue
                inner = list(self.inner.get(node, ()))
                if node in self.counts and node in backward:
                    inner.append(self.counts[node])
                for name in inner:
                    mine.append((f"s{number}", name))
                    number += 1
            if loop is not None:
                self.inner.setdefault(loop, []).extend(name for name, _ in mine)

    def _checkpointed(self) -> dict[Loop, str]:
        """The loops that keep their state now and then, each with its number."""
        if self.checkpoint is None:
            return {}
        own = [n for n in self.program.block.nodes if n.__class__ is Loop]
        backward = {n.backward for n in own if n.backward is not None}
        return {n: str(i) for i, n in enumerate(own) if n in backward and self.inner.get(n)}

    def _single(self, ins: Instruction) -> bool:
        """Whether every operand stands once in the text of an instruction."""
        op = ins.op
        if op.__class__ is Scalar:
            return op is not scalars.PICK and op not in scalars.IN_ORDER
        if ins.out.shape or any(a.shape for a in ins.inputs()):
            return False
        return op.compute in _INFIX or op.name == "neg" or (
            math_function(op) is not None and not op.params)  # fmt: skip

    def _foldable(self) -> set[Value]:
        """The numbers that are read once, by an instruction or a test of the same block."""
        found: set[Value] = set()
        blocks = [self.program.block, *(b for node in self.nodes for b in blocks_of(node))]
        for block in blocks:
            mine = set(map(id, block.nodes))
            for node in block.nodes:
                if node.__class__ is not Instruction or node.out.shape:
                    continue
                if node.op.__class__ is Scalar and not self._single(node):
                    continue
                readers = self._read.get(node.out, [])
                if len(readers) != 1 or node.out in self.saved:
                    continue
                (reader,) = readers
                if reader.__class__ is Branch:
                    if id(reader) in mine and reader.test is node.out:
                        found.add(node.out)
                elif reader.__class__ is Instruction and id(reader) in mine:
                    if self._single(reader):
                        found.add(node.out)
                elif reader is block and any(loop.test is block for loop in self._loops):
                    found.add(node.out)
        return found

    # -- the text --------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """One line, at the present indentation."""
        self.lines.append(f"{'    ' * self.pad}{text}")

    @contextmanager
    def inside(self, opening: str) -> Iterator[None]:
        """A statement that begins with this line, and the lines in it."""
        self.say(opening)
        self.pad += 1
        first = len(self.lines)
        yield
        if len(self.lines) == first:
            self.say("pass")
        self.pad -= 1

    def text(self) -> str:
        """The whole function."""
        program: Any = self.program
        given = ", ".join([*(self.names[v] for v in program.inputs), "budget"])
        self.lines.append(f"def program({given}):")
        if any(n.__class__ is Step for n in self.nodes):
            self.say("tick = budget.__next__")
        for v in program.inputs:
            if v in self.lists:
                self.say(f"{self.names[v]}_ = {self.names[v]}.tolist()")
        self.block(program.block)
        words = []
        for v in program.block.results:
            word = self.operand(v)
            plain = v.__class__ is not Value or scalar_kind(v)
            words.append(word if plain else f"np.array({word})")
        self.say(f"return ({', '.join(words)},)\n")
        return "\n".join(self.lines)

    def entries(self, v: Value) -> str:
        """The list of a vector's entries."""
        if v in self.names:
            return f"{self.names[v]}_"
        return self.bind(f"c{len(self.scope)}", v.const.tolist())

    def block(self, block: Block) -> None:
        """The nodes of a block."""
        stacks = self.stacks.get(block, ()) if self.saving else ()
        pushes = {v: name for name, v in stacks if v.__class__ is Value}
        inner = {name: stack for stack, name in stacks if name.__class__ is str}
        for node in block.nodes:
            kind = node.__class__
            outs: list[Value] = []
            if kind is Instruction:
                self.instruction(node)
                outs = [node.out]
            elif kind is Branch:
                self.branch(node)
                outs = node.outs
            elif kind is Loop:
                self.loop(node)
                outs = node.outs
            for v in outs:
                if v in pushes:
                    self.say(f"{pushes[v]}_({self.names[v]})")
            if kind is Loop:
                names = [*self.inner.get(node, ()), *([self.counts[node]] if node in self.counts
                                                      else [])]  # fmt: skip
                for name in names if node.backward is None else ():
                    if name in inner:
                        whole = name[0] == "n" or not self.floats.get(name)
                        word = name if whole else f"packed({name})"
                        self.say(f"{inner[name]}_({word})")
            elif kind is Step:
                if not self.again:
                    self.say("tick()")
            elif kind is Check:
                self.say(f"if not {self.operand(node.test)}: raise Discard")

    def operand(self, a: Any, wrapped: bool = False) -> str:
        """An argument, with what is computed in its place.

        A Python number stays one where NumPy's function is called: it may tell them apart.
        """
        wrapped = wrapped and not (a.__class__ is Value and a in self.numbers)
        if a.__class__ is Value and a in self.folded:
            word = f"({self.folded[a]})"
            if wrapped and scalar_kind(a):
                return f"f64({word})" if scalar_kind(a) == "f" else f"np.bool_({word})"
            return word
        return super().operand(a, wrapped)

    def instruction(self, ins: Instruction) -> None:
        """A line for an instruction, or a part of the line of its reader."""
        mark = len(self.lines)
        op = ins.op
        if op.__class__ is Scalar:
            words = [self.operand(a) for a in ins.args]
            if op is scalars.PICK and ins.args[0] in self.lists:
                word = f"{self.entries(ins.args[0])}[{words[1]}]"
            elif op is scalars.PICK and not scalar_kind(ins.out):  # a number of NumPy's
                word = f"{words[0]}[{words[1]}]"
            else:
                word = op.text.format(*words)
            if op is scalars.ADD_AT or op is scalars.APPEND:
                self.say(word)
                return
        else:
            word = self.word(0, ins)
        for i in range(mark, len(self.lines)):
            self.lines[i] = "    " * (self.pad - 1) + self.lines[i]
        if not word:
            return
        if ins.out in self.folds:
            depth = 1 + max([self.depths[a] for a in ins.args if a in self.folded], default=0)
            if depth < DEEP:
                self.folded[ins.out] = word
                self.depths[ins.out] = depth
                return
        name = self.names[ins.out]
        if word != name:
            note = "" if scalar_kind(ins.out) == "f" else f"  # {type_of(ins.out)}"
            self.say(f"{name} = {word}{note}")

    def yields(self, block: Block, outs: list[Value]) -> None:
        """Give what leaves a block the names that it has outside, all at once."""
        pairs = []
        for out, v in zip(outs, block.results, strict=True):
            word = "None" if v is None else self.operand(v)
            if word != self.names[out]:
                pairs.append((self.names[out], word, v))
        written: set[str] = set()
        clash = False
        for name, word, _ in pairs:
            clash = clash or word in written
            written.add(name)
        if clash:
            self.say(f"{', '.join(n for n, _, _ in pairs)} = {', '.join(w for _, w, _ in pairs)}")
        else:
            for name, word, _ in pairs:
                self.say(f"{name} = {word}")

    def branch(self, node: Branch) -> None:
        """An if statement."""
        test = self.operand(node.test)
        for word, block in ((f"if {test}:", node.then), ("else:", node.orelse)):
            with self.inside(word):
                self.restore(block)
                self.block(block)
                self.yields(block, node.outs)

    def restore(self, block: Block) -> None:
        """At the beginning of a backward side of a branch: what the forward one saved."""
        source = self.forward.get(block)
        if source is None:
            return
        values = dict(zip(source.saves, block.restored, strict=True))
        for stack, v in reversed(self.stacks.get(source, ())):
            name = v if v.__class__ is str else self.names[values[v]]
            self.say(f"{name} = {stack}.pop()")

    def loop(self, node: Loop) -> None:
        """A for or while statement, or one that goes backwards over what such a one saved."""
        for p, v in zip(node.carried, node.initial, strict=True):
            word = "None" if v is None else self.operand(v)
            if word != self.names[p]:
                self.say(f"{self.names[p]} = {word}")
        if node in self.kept:
            self.saving = False
            self.forward_turns(node, self.opening(node))
            self.saving = True
        elif node.backward in self.kept:
            self.segments(node)
        elif node.backward is not None:
            self.backward_turns(node, self.head_of_backward(node))
        else:
            self.new_stacks(node, self.pad == 1)
            self.forward_turns(node, self.opening(node))
        if node.turns and node.backward is None:
            self.say(f"if not {self.counts[node]}: raise Discard")

    def new_stacks(self, node: Loop, outer: bool) -> None:
        """Empty stacks for one run of a loop."""
        for name in self.inner.get(node, ()) if self.saving else ():
            # An array for the floats of a loop that stands in no other.
            empty = 'array("d")' if outer and self.floats[name] else "[]"
            self.say(f"{name} = {empty}")
            self.say(f"{name}_ = {name}.append")

    def forward_turns(self, node: Loop, opening: str, again: bool = False) -> None:
        """The turns of a forward loop; ``again`` from a checkpoint, where all of them are known."""
        count = None if again else self.counts.get(node)
        kept = None if again else self.kept.get(node)
        if count:
            self.say(f"{count} = 0")
        if kept:
            self.say(f"kc_{kept}, km_{kept}, kd_{kept} = [], 0, {FIRST}")
        with self.inside(opening):
            if node.test is not None and not again:
                self.block(node.test)
                (test,) = node.test.results
                if test is not True:
                    self.say(f"if not {self.operand(test)}: break")
            if kept:
                state, most = self.state(node), self.checkpoint or None
                words = f"kc_{kept}, km_{kept}, kd_{kept}, {state}, {most}"
                self.say(f"if not km_{kept} % kd_{kept}: kd_{kept} = keep({words})")
                self.say(f"km_{kept} += 1")
            if count:
                self.say(f"{count} += 1")
            for name, v in self.stacks.get(node.body, ()) if self.saving else ():
                if v.__class__ is Value and any(v is p for p in (*node.carried, node.index)):
                    self.say(f"{name}_({self.names[v]})")
            self.block(node.body)
            self.yields(node.body, node.carried)
            if node.stop is not False and not again:
                self.say(f"if {self.operand(node.stop)}: break")

    def backward_turns(self, node: Loop, opening: str) -> None:
        """The turns of a backward loop."""
        with self.inside(opening):
            self.block(node.body)
            self.yields(node.body, node.carried)

    def state(self, node: Loop) -> str:
        """What a loop carries, as a tuple."""
        return f"({''.join(f'{self.names[p]}, ' for p in node.carried)})"

    def segments(self, node: Loop) -> None:
        """The backward loop of one that kept its state now and then."""
        source: Any = node.backward
        number = self.kept[source]
        state = self.state(source)
        self.say(f"kend_{number} = {state}")
        part = f"{self.range(source)}[kf_{number}:ke_{number}]" if source.bounds is not None else (
            f"range(kf_{number}, ke_{number})")  # fmt: skip
        index = self.names[source.index] if source.index is not None else "_"
        advance = "None"
        if self.checkpoint:
            advance = f"advance_{number}"
            with self.inside(f"def {advance}(kf_{number}, ke_{number}, state):"):
                if source.carried:
                    self.say(f"{state} = state")
                self.saving, self.again = False, True
                self.forward_turns(source, f"for {index} in {part}:", True)
                self.saving, self.again = True, False
                self.say(f"return {state}")
        words = f"kc_{number}, km_{number}, kd_{number}, {advance}, {self.checkpoint}"
        with self.inside(f"for kf_{number}, ke_{number}, state in segments({words}):"):
            if source.carried:
                self.say(f"{state} = state")
            self.new_stacks(source, True)
            self.again = True
            self.forward_turns(source, f"for {index} in {part}:", True)
            self.again = False
            self.backward_turns(node, self.head_of_backward(node, part))
        if source.carried:
            self.say(f"{state} = kend_{number}")

    def range(self, node: Any) -> str:
        """The call of range that a loop goes over."""
        start, stop, step = node.bounds
        words = [self.operand(v) for v in (start, stop, step)]
        if words[2] == "1":
            words = words[1:2] if words[0] == "0" else words[:2]
        return f"range({', '.join(words)})"

    def opening(self, node: Any) -> str:
        """The first line of a forward loop."""
        if node.bounds is None:
            return f"for _ in {'forever' if self.again else 'budget'}:"
        index = self.names[node.index]
        if self.again:
            return f"for {index} in {self.range(node)}:"
        return f"for {index} in compress({self.range(node)}, budget):"

    def head_of_backward(self, node: Loop, segment: str = "") -> str:
        """The first line of a backward loop; ``segment``: the turns it goes back over."""
        source: Any = node.backward
        values = dict(zip(source.body.saves, node.body.restored, strict=True))
        names, over = [], []
        for stack, v in self.stacks[source.body]:
            names.append(v if v.__class__ is str else self.names[values[v]])
            over.append(f"reversed({stack})")
        index = node.index
        inside = [node.body.results, *(operands(n) for n in walk(node.body))]
        if index is not None and any(v is index for part in inside for v in part):
            part = segment or self.range(node)
            if source.stop is not False and not segment:
                turns = self.counts.get(source) or f"len({over[0][9:-1]})"
                part += f"[:{turns}]"
            names.append(self.names[index])
            over.append(f"reversed({part})")
        if not over:
            count = self.counts.get(source)
            if segment:
                return f"for _ in {segment}:"
            return f"for _ in range({count}):" if count else f"for _ in {self.range(node)}:"
        if len(over) == 1:
            return f"for {names[0]} in {over[0]}:"
        return f"for {', '.join(names)} in zip({', '.join(over)}):"


def build(
    program: Structured, pairs: dict[Block, Block], checkpoint: int | None = None
) -> tuple[Callable[..., tuple], str]:
    """The function that a structured program is, and its text.

    ``checkpoint``: how many states a loop keeps instead of all that its backward turns read; 0 as
    many as for ``sqrt``, None to save all.
    """
    emitter = ControlEmitter(program, pairs, checkpoint)
    text = emitter.text()
    exec(compile(text, "<gradcli.program>", "exec"), emitter.scope)
    return emitter.scope["program"], text
