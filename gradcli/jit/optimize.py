"""Less to do in programs with control flow: what nobody reads is not computed.

What may raise an error stays, and so do loops, whose turns the step budget counts.
"""

from __future__ import annotations

from typing import Any

from gradcli.jit.control import Block, Branch, Check, Loop, Step, Structured, joins, made, walk
from gradcli.jit.ir import Instruction, Value


def optimize(program: Structured) -> None:
    """Drop what nobody reads, in place."""
    block = program.block
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
    return node.__class__ is Instruction and node.raises


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
