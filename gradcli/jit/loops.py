"""Derivatives of programs with control flow: reverse and forward mode over blocks.

Reverse mode walks a block backwards, as ``derive.pull_back`` walks a tape. What a branch reads from
outside has a cotangent in both of its sides. A loop turns the other way round: the cotangents of
what it carries are carried from the last turn to the first, and so are the sums of what arrives at
values from outside.

What the backward turn of a loop reads of the forward one is saved by it, a stack for each value
(``Block.saves``), and there again under another name (``Block.restored``). What a few cheap
operations make of saved values is computed again instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.jit import derive, scalars
from gradcli.jit.control import (
    Block,
    Branch,
    Loop,
    Scalar,
    Structured,
    blocks_of,
    joins,
    made,
    operands,
    read_instead,
    reads,
    walk,
)
from gradcli.jit.emit import is_arithmetic
from gradcli.jit.ir import Instruction, Value
from gradcli.jit.trace import Trace

_MOVES = (scalars.PICK, scalars.PUT, scalars.APPEND, scalars.AT)
"""Python's operations that have a derivative."""


def active_values(program: Structured) -> set[Value]:
    """The values that have a derivative by the inputs."""
    active = {v for v in program.inputs if v.dtype.differentiable}
    while True:
        before = len(active)
        for node in walk(program.block):
            if node.__class__ is Instruction:
                if node.op in _MOVES:
                    if any(a.__class__ is Value and a in active for a in node.args):
                        active.add(node.args[0] if node.op is scalars.APPEND else node.out)
                elif derive.is_active(node, active):
                    active.add(node.out)
            for out, ways in joins(node):
                if out.dtype.differentiable and any(
                    w.__class__ is Value and w in active for w in ways
                ):
                    active.add(out)
        if len(active) == before:
            return active


def homes(block: Block) -> dict[Value, Block]:
    """The block that each value is defined in; what a loop carries belongs to its body."""
    found: dict[Value, Block] = {}
    stack = [block]
    while stack:
        inner = stack.pop()
        for node in inner.nodes:
            found.update(dict.fromkeys(made(node), inner))
            if node.__class__ is Loop:
                there = (*node.carried, node.index)
                found.update((v, node.body) for v in there if v is not None)
            stack += blocks_of(node)
    return found


def zero_of(value: Value, trace: Trace) -> Any:
    """The zero cotangent of a value."""
    if not value.shape and value.dtype is dtypes.float64:
        return 0.0
    return trace.constant(np.zeros(value.shape, value.dtype.numpy)[()])


def like(value: Value) -> Value:
    """A new value of the same type."""
    example = np.ones(value.shape, value.dtype.numpy)[()]
    made = Value(value.trace, value.shape, value.dtype, example=example)
    if value in value.trace.numbers:
        value.trace.numbers.add(made)
        made.example = made.example.item()
    return made


@dataclass(eq=False, repr=False, slots=True)
class _Scope:
    """The cotangents that have arrived in one block that is walked backwards."""

    block: Block
    parent: _Scope | None
    loop: bool = False
    local: dict[Value, Any] = field(default_factory=dict)
    sums: dict[Value, Value] = field(default_factory=dict)
    buffers: dict[Value, Value] = field(default_factory=dict)

    def made(self) -> list[Any]:
        """What makes the buffers: it comes first."""
        return [buffer.source for buffer in self.buffers.values()]


class Reverse:
    """The gradient of a program's result by its inputs."""

    def __init__(self, program: Structured, trace: Trace) -> None:
        self.program = program
        self.trace = trace
        self.active = active_values(program)
        self.home = homes(program.block)
        self.pairs: dict[Block, Block] = {}

    def gradient(self) -> Structured:
        """The program that gives the result and its gradients."""
        program, trace = self.program, self.trace
        (y,) = program.block.results
        trace.tape = []
        top = _Scope(program.block, None)
        if y.__class__ is Value and y in self.active:
            self.arrive(top, y, trace.constant(np.ones((), y.dtype.numpy)[()]))
            self.block(top)
        grads = [
            zero_of(v, trace) if (g := self.taken(top, v)) is None else g for v in program.inputs
        ]
        nodes = [*program.block.nodes, *top.made(), *trace.tape]
        return Structured(program.inputs, Block(nodes, [y, *grads]))

    # -- cotangents --------------------------------------------------------------------------------

    def owns(self, scope: _Scope, v: Value) -> bool:
        return scope.parent is None or self.home.get(v) is scope.block

    def arrived(self, scope: Any, v: Value) -> Any:
        """What has arrived at a value so far, seen from a scope; None for nothing."""
        if v in scope.local:
            return scope.local[v]
        if self.owns(scope, v):
            return None
        if scope.loop:
            carried = like(v)
            scope.sums[v] = scope.local[v] = carried
            return carried
        assert scope.parent is not None  # it would own the value
        return self.arrived(scope.parent, v)

    def arrive(self, scope: _Scope, v: Value, g: Any) -> None:
        """Add a cotangent to what has arrived at a value."""
        have = self.arrived(scope, v)
        scope.local[v] = g if have is None else have + g

    # -- the walk ----------------------------------------------------------------------------------

    def block(self, scope: _Scope) -> None:
        """Walk the nodes of a scope's block backwards."""
        for node in reversed(scope.block.nodes):
            kind = node.__class__
            if kind is Instruction:
                if node.op is scalars.APPEND and node.args[0] in self.active:
                    g = self.trace.note(scalars.POP, (self.buffer(scope, node.args[0]),),
                                        like(node.args[0]))  # fmt: skip
                    item = node.args[1]
                    if item.__class__ is Value and item in self.active:
                        self.arrive(scope, item, g)
                elif node.out in self.active and node.op is not scalars.LIST:
                    g = self.taken(scope, node.out)
                    if g is not None:
                        self.instruction(scope, node, g)
            elif kind is Branch:
                self.branch(scope, node)
            elif kind is Loop:
                self.loop(scope, node)

    def instruction(self, scope: _Scope, ins: Instruction, g: Any) -> None:
        if ins.op is scalars.PICK or ins.op is scalars.AT:  # added to a buffer for all entries
            vector, index = ins.args
            self.trace.note(scalars.ADD_AT, (self.buffer(scope, vector), index, g), like(g))
            return
        if ins.op is scalars.PUT:
            vector, index, value = ins.args
            if value.__class__ is Value and value in self.active:
                self.arrive(scope, value, self.trace.note(scalars.PICK, (g, index), like(value)))
            if vector in self.active:
                rest = self.trace.note(scalars.PUT, (g, index, 0.0), like(vector))
                self.arrive(scope, vector, rest)
            return
        for a, r in derive.cotangents(self.trace, ins, g, self.active):
            self.arrive(scope, a, r)

    def buffer(self, scope: _Scope, vector: Value) -> Value:
        """The list of the cotangents of a vector's entries, or of a list's items."""
        owner = scope
        while not self.owns(owner, vector) and owner.parent is not None:
            owner = owner.parent
        buffer = owner.buffers.get(vector)
        if buffer is None:
            grows = vector.source is not None and vector.source.op is scalars.LIST
            op, size = (scalars.COTANGENTS, vector) if grows else (scalars.BUFFER, vector.shape[0])
            buffer = owner.buffers[vector] = self.trace.note(op, (size,), like(vector))
            self.trace.tape.pop()
        return buffer

    def taken(self, scope: _Scope, v: Value) -> Any:
        """All that has arrived at a value of a scope's own; None for nothing."""
        g = scope.local.pop(v, None)
        if v in scope.buffers:
            found = self.trace.note(scalars.FROM_BUFFER, (scope.buffers[v], v.dtype.name), like(v))
            g = found if g is None else g + found
        return g

    def inside(self, block: Block, parent: _Scope, loop: bool) -> tuple[_Scope, list]:
        """Begin a block of the backward program."""
        outer = self.trace.tape
        self.trace.tape = []
        return _Scope(block, parent, loop), outer

    def ended(self, scope: _Scope, outer: list) -> Block:
        """End it."""
        done = Block([*scope.made(), *self.trace.tape])
        self.trace.tape = outer
        self.pairs[scope.block] = done
        return done

    def branch(self, scope: _Scope, node: Branch) -> None:
        given = [self.taken(scope, out) for out in node.outs]
        if all(g is None for g in given) and not self.appended(node):
            return
        sides = []
        for block in node.blocks():
            inner, outer = self.inside(block, scope, False)
            for g, result in zip(given, block.results, strict=True):
                if g is not None and result.__class__ is Value and result in self.active:
                    self.arrive(inner, result, g)
            self.block(inner)
            sides.append((inner, self.ended(inner, outer)))
        reached = {v: None for inner, _ in sides for v in inner.local if not self.owns(inner, v)}
        outs = []
        for v in reached:
            base = self.arrived(scope, v)
            for inner, block in sides:
                block.results.append(inner.local.get(v, zero_of(v, self.trace)
                                                     if base is None else base))  # fmt: skip
            out = like(v)
            outs.append(out)
            scope.local[v] = out
        self.trace.tape.append(Branch(node.test, sides[0][1], sides[1][1], outs))

    def loop(self, scope: _Scope, node: Loop) -> None:
        given = {i: g for i, out in enumerate(node.outs)
                 if (g := self.taken(scope, out)) is not None}  # fmt: skip
        chosen = self.useful(node, set(given))
        if not chosen and not self.appended(node):
            return
        inner, outer = self.inside(node.body, scope, True)
        carried = [like(node.carried[i]) for i in chosen]
        for i, g in zip(chosen, carried, strict=True):
            result = node.body.results[i]
            if result.__class__ is Value and result in self.active:
                self.arrive(inner, result, g)
        self.block(inner)
        values = [node.carried[i] for i in chosen]
        results = [self.taken(inner, v) for v in values]
        initial = [given.get(i) for i in chosen]
        for v, arriving in inner.sums.items():
            values.append(v)
            carried.append(arriving)
            results.append(inner.local[v])
            initial.append(self.arrived(scope, v))
        results, initial = (
            [zero_of(v, self.trace) if g is None else g for v, g in zip(values, found, strict=True)]
            for found in (results, initial)
        )
        outs = [like(v) for v in values]
        body = self.ended(inner, outer)
        body.results = results
        back = Loop(node.bounds, node.index, None, carried, initial, body, outs, backward=node)
        self.trace.tape.append(back)
        for v, out in zip(inner.sums, outs[len(chosen) :], strict=True):
            scope.local[v] = out
        for i, out in zip(chosen, outs, strict=False):
            start = node.initial[i]
            if start.__class__ is Value and start in self.active:
                self.arrive(scope, start, out)

    def useful(self, node: Loop, chosen: set[int]) -> list[int]:
        """Which of the carried values reach those that a cotangent arrives at."""
        places = {v: i for i, v in enumerate(node.carried)}
        appended = self.appended(node)
        while True:
            needed = {v for i in chosen if (v := node.body.results[i]).__class__ is Value}
            needed |= appended
            for inner in reversed(node.body.nodes):
                nodes = [inner, *(m for b in blocks_of(inner) for m in walk(b))]
                if any(v in needed for m in nodes for v in made(m)):
                    needed.update(v for m in nodes for v in operands(m) if v.__class__ is Value)
            more = {places[v] for v in needed if v in places and v in self.active}
            if more <= chosen:
                return sorted(i for i in chosen if node.carried[i] in self.active)
            chosen |= more

    def appended(self, node: Any) -> set[Any]:
        """What a loop or a branch appends to lists that have a derivative, and the lists."""
        return {
            v for block in node.blocks() for ins in walk(block)
            if ins.__class__ is Instruction and ins.op is scalars.APPEND
            and ins.args[0] in self.active for v in ins.args
        }  # fmt: skip


# ---- Forward mode --------------------------------------------------------------------------------


class Forward:
    """A program with the tangents of its values in one direction."""

    def __init__(self, program: Structured, trace: Trace) -> None:
        self.program = program
        self.trace = trace
        self.active = active_values(program)

    def along(self, tangents: dict[Value, Any]) -> Structured:
        """The program that gives the result and its tangent, given those of the inputs."""
        (y,) = self.program.block.results
        nodes = self.nodes(self.program.block.nodes, tangents)
        end = tangents.get(y, 0.0) if y.__class__ is Value else 0.0
        return Structured(self.program.inputs, Block(nodes, [y, end]))

    def nodes(self, nodes: list, tangents: dict[Value, Any]) -> list:
        """Nodes with the operations on tangents after each of them; adds to ``tangents``."""
        outer, self.trace.tape = self.trace.tape, []
        for node in nodes:
            kind = node.__class__
            if kind is Branch:
                self.branch(node, tangents)
            elif kind is Loop:
                self.loop(node, tangents)
            else:
                self.trace.tape.append(node)
                if kind is Instruction and (node.out in self.active or (
                    node.op is scalars.APPEND and node.args[0] in self.active
                )):  # fmt: skip
                    self.instruction(node, tangents)
        done, self.trace.tape = self.trace.tape, outer
        return done

    def instruction(self, ins: Instruction, tangents: dict[Value, Any]) -> None:
        if ins.op is scalars.LIST:
            tangents[ins.out] = self.trace.note(ins.op, (), like(ins.out))
            return
        if ins.op is scalars.APPEND:
            held, item = ins.args
            along = self._tangent(item, ins.out, tangents)
            self.trace.note(ins.op, (tangents[held], along), like(ins.out))
            return
        if ins.op in _MOVES:
            vector, index, *value = ins.args
            along = [self._tangent(v, v, tangents) if v.__class__ is Value else 0.0
                     for v in (vector, *value)]  # fmt: skip
            tangents[ins.out] = self.trace.note(
                ins.op, (along[0], index, *along[1:]), like(ins.out)
            )
            return
        pushed = derive.push([ins], {
            a: tangents[a] for a in ins.inputs() if a in tangents and tangents[a] is not None
        }).get(ins.out)  # fmt: skip
        if pushed is not None:
            tangents[ins.out] = pushed

    def _tangent(self, value: Any, of: Value, tangents: dict[Value, Any]) -> Any:
        if value is None:
            return None
        t = tangents.get(value) if value.__class__ is Value else None
        return zero_of(of, self.trace) if t is None else t

    def branch(self, node: Branch, tangents: dict[Value, Any]) -> None:
        chosen = [i for i, v in enumerate(node.outs) if v in self.active]
        sides = []
        for block in node.blocks():
            inner = dict(tangents)
            nodes = self.nodes(block.nodes, inner)
            along = [self._tangent(block.results[i], node.outs[i], inner) for i in chosen]
            sides.append(Block(nodes, [*block.results, *along]))
        outs = list(node.outs)
        for i in chosen:
            tangents[node.outs[i]] = like(node.outs[i])
            outs.append(tangents[node.outs[i]])
        self.trace.tape.append(Branch(node.test, sides[0], sides[1], outs))

    def loop(self, node: Loop, tangents: dict[Value, Any]) -> None:
        chosen = [i for i, v in enumerate(node.carried) if v in self.active]
        carried, initial, outs = list(node.carried), list(node.initial), list(node.outs)
        inner = dict(tangents)
        for i in chosen:
            inner[node.carried[i]] = t = like(node.carried[i])
            carried.append(t)
            initial.append(self._tangent(node.initial[i], t, tangents))
            tangents[node.outs[i]] = like(node.outs[i])
            outs.append(tangents[node.outs[i]])
        nodes = self.nodes(node.body.nodes, inner)
        results = list(node.body.results)
        results += [self._tangent(results[i], node.carried[i], inner) for i in chosen]
        self.trace.tape.append(Loop(node.bounds, node.index, node.test, carried, initial,
            Block(nodes, results), outs, node.stop, turns=node.turns))  # fmt: skip


# ---- What the backward turns read ----------------------------------------------------------------


def save(program: Structured, pairs: dict[Block, Block]) -> None:
    """Find what blocks inside loops have to save, and let the backward ones read that instead."""
    there = {b for node in walk(program.block) for b in blocks_of(node)}
    backward = there & set(pairs.values())
    if not backward:
        return
    home = homes(program.block)
    looped = in_loops(program.block)
    indices = {
        n.index: n for n in walk(program.block) if n.__class__ is Loop and n.index is not None
    }
    needed: dict[Block, dict[Value, None]] = {}

    def need(v: Any) -> None:
        if v.__class__ is Value and v in home and home[v] in looped and home[v] not in backward:
            needed.setdefault(home[v], {})[v] = None

    for block in backward:
        for node in block.nodes:
            for v in reads(node):
                need(v)
        for v in block.results:
            need(v)
    again: dict[Value, Instruction] = {}
    sources = {n.out: n for n in walk(program.block) if n.__class__ is Instruction}
    order = {v: i for i, node in enumerate(walk(program.block)) for v in made(node)}
    values = sorted((v for s in needed.values() for v in s), key=order.__getitem__, reverse=True)
    # From the last to the first: what is computed again asks for its operands instead.
    for v in values:
        ins = sources.get(v)
        if ins is None or ins.op.__class__ is Scalar or not is_arithmetic(ins.op) or v.shape:
            continue
        inputs = [a for a in ins.inputs() if a.const is None]
        if all(
            a not in home or home[a] not in looped or a in needed.get(home[a], ())
            or a in indices for a in inputs
        ):  # fmt: skip
            again[v] = ins
            for a in inputs:
                need(a)
    instead: dict[Value, Any] = {}
    for block, wanted in needed.items():
        back = pairs[block]
        kept = [v for v in wanted if v not in again and v not in indices]
        block.saves = kept
        back.restored = [like(v) for v in kept]
        instead.update(zip(kept, back.restored, strict=True))
    for block, wanted in needed.items():
        first = sorted((v for v in wanted if v in again), key=order.__getitem__)
        nodes: list[Any] = []
        for v in first:
            ins = again[v]
            out = like(v)
            out.source = Instruction(ins.op, ins.args, ins.params, out, ins.recorded)
            instead[v] = out
            nodes.append(out.source)
        pairs[block].nodes[:0] = nodes
    for block in backward:
        _replace(block, instead)


def in_loops(block: Block) -> set[Block]:
    """The blocks that may run more than once."""
    found: set[Block] = set()
    stack = [(block, False)]
    while stack:
        inner, looped = stack.pop()
        if looped:
            found.add(inner)
        for node in inner.nodes:
            stack += [(b, looped or node.__class__ is Loop) for b in blocks_of(node)]
    return found


def _replace(block: Block, instead: dict[Value, Any]) -> None:
    """Let the nodes of a block itself read other values."""

    def now(v: Any) -> Any:
        return instead.get(v, v) if v.__class__ is Value else v

    for node in block.nodes:
        read_instead(node, now)
    block.results = [now(v) for v in block.results]
