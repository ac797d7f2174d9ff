"""Less to do in programs with control flow: equal and dead instructions, and what a loop repeats.

Nothing here changes a rounding (see ``simplify``). What may raise an error stays, and so do loops,
whose turns the step budget counts.
"""

from __future__ import annotations

from typing import Any

from gradcli.jit import scalars
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
    made,
    read_instead,
    walk,
)
from gradcli.jit.emit import is_arithmetic, math_function
from gradcli.jit.ir import Instruction, Value
from gradcli.jit.simplify import _Simplifier


class _Nested(_Simplifier):
    """A simplifier of one block, which knows what the blocks around it have."""

    def __init__(self, around: _Nested | None = None) -> None:
        self.done: list[Any] = []
        self.replaced: dict[Value, Any] = {} if around is None else around.replaced
        self.seen: dict[tuple, Value] = {} if around is None else dict(around.seen)
        self.repeats: dict[Value, Any] = {} if around is None else dict(around.repeats)

    def add(self, ins: Instruction) -> None:
        """Take over one instruction; of Python's operations equal ones are shared, no more."""
        if ins.op.__class__ is not Scalar:
            super().add(ins)
            return
        ins.args = tuple([self.now(a) for a in ins.args])
        if ins.op in scalars.IN_ORDER:
            self.done.append(ins)
        else:
            self._emit(ins)


def optimize(program: Structured) -> None:
    """Simplify a program in place."""
    block = program.block
    _simplified(block, None)
    _alive(block)
    _hoisted(block, set(program.inputs))


def _simplified(block: Block, around: _Nested | None) -> None:
    work = _Nested(around)
    for node in block.nodes:
        kind = node.__class__
        if kind is Instruction:
            work.add(node)
            continue
        read_instead(node, work.now)
        for inner in blocks_of(node):
            _simplified(inner, work)
        if kind is Loop:
            node.stop = work.now(node.stop)
        work.done.append(node)
    block.nodes = work.done
    block.results = [work.now(v) for v in block.results]


def _alive(block: Block) -> None:
    """Drop what nobody reads."""
    source: dict[Value, Any] = {}
    ways: dict[Value, list[Any]] = {}
    for node in walk(block):
        ways.update(joins(node))
        for v in made(node):
            source.setdefault(v, node)
    needed: set[Value] = set()
    stack: list[Any] = list(block.results)
    for node in walk(block):
        if node.__class__ is Check:
            stack.append(node.test)
        elif node.__class__ is Branch:
            if any(n.__class__ in (Check, Step, Loop) or _raises(n)
                   for b in node.blocks() for n in walk(b)):  # fmt: skip
                stack.append(node.test)
        elif node.__class__ is Loop and node.backward is None:
            stack += [*(node.bounds or ()), node.stop]
            if node.test is not None:
                stack += node.test.results
        elif node.__class__ is Loop and _works(node):
            stack += node.bounds or ()
        elif _raises(node):
            stack += node.args
    while stack:
        v = stack.pop()
        if v.__class__ is not Value or v in needed:
            continue
        needed.add(v)
        node = source.get(v)
        stack += ways.get(v, ())
        if node.__class__ is Instruction:
            stack += node.args
        elif node.__class__ is Branch:
            stack.append(node.test)
        elif node.__class__ is Loop and v is not node.index and node.backward is not None:
            stack += node.bounds or ()
    _dropped(block, needed)


def _raises(node: Any) -> bool:
    """Whether an instruction may raise an error that is the program's own."""
    if node.__class__ is not Instruction:
        return False
    op = node.op
    return op.raises if op.__class__ is Scalar else op.kind == "general"


def _works(node: Loop) -> bool:
    """Whether a loop does something besides what it gives."""
    return any(_raises(inner) for b in node.blocks() for inner in walk(b))


def _dropped(block: Block, needed: set[Value]) -> None:
    kept = []
    for node in block.nodes:
        kind = node.__class__
        if kind is Instruction:
            if node.out not in needed and not _raises(node):
                continue
        elif kind is Branch:
            places = [i for i, v in enumerate(node.outs) if v in needed]
            node.outs = [node.outs[i] for i in places]
            for inner in node.blocks():
                inner.results = [inner.results[i] for i in places]
                _dropped(inner, needed)
            if not node.outs and not any(b.nodes for b in node.blocks()):
                continue
        elif kind is Loop:
            places = [
                i for i, (p, v) in enumerate(zip(node.carried, node.outs, strict=True))
                if p in needed or v in needed
            ]  # fmt: skip
            node.carried = [node.carried[i] for i in places]
            node.outs = [node.outs[i] for i in places]
            node.initial = [node.initial[i] for i in places]
            node.body.results = [node.body.results[i] for i in places]
            for inner in node.blocks():
                _dropped(inner, needed)
            if node.backward is not None and not node.carried and not _works(node):
                continue
        kept.append(node)
    block.nodes = kept


def _on_floats(op: Any) -> bool:
    """Whether a loop whose turns would all compute this on a number computes it first."""
    return is_arithmetic(op) or (math_function(op) is not None and op.domain == "all x")


def _hoisted(block: Block, visible: set[Value]) -> None:
    """Move what every turn of a loop would compute alike in front of it, innermost loops first.

    ``visible`` are the values that are there where the block begins: what a forward loop computes
    is not, in the backward one.
    """
    visible = set(visible)
    kept: list[Any] = []
    for node in block.nodes:
        if node.__class__ is Branch:
            for inner in node.blocks():
                _hoisted(inner, visible)
        elif node.__class__ is Loop:
            own = {*node.carried, *([] if node.index is None else [node.index])}
            for inner in node.blocks():
                _hoisted(inner, visible | own)
                stays = []
                for ins in inner.nodes:
                    fixed = (
                        ins.__class__ is Instruction and not ins.out.shape
                        and ins.op.__class__ is not Scalar and _on_floats(ins.op)
                        and all(a in visible or a.const is not None for a in ins.inputs())
                    )  # fmt: skip
                    if fixed:
                        visible.add(ins.out)
                        kept.append(ins)
                    else:
                        stays.append(ins)
                inner.nodes = stays
            visible.update(node.outs)
        kept.append(node)
        if node.__class__ is not Loop:
            visible.update(made(node))
    block.nodes = kept
