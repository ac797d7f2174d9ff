"""Control flow in a program: blocks of instructions, branches and loops, as a tree.

A block is a list of nodes: instructions, branches and loops. Values are single-assignment, so what
a name stands for after a branch or in a loop is a value of its own:

    branch  outs[i] is then.results[i] or orelse.results[i]
    loop    carried[i] is initial[i] at first, then body.results[i] of the turn before; outs[i] is
            what carried[i] is when the loop has ended

A result or an initial value may be a value, a number, or None where the variable is not set on that
way: who reads it then runs eagerly and gets the error. A loop that is left by ``break`` ends after
the turn in which ``stop`` is true. ``Scalar`` are Python's own operations on numbers, which have no
derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradcli.jit.ir import Instruction, Value, line_of, shown, type_of

EXACT = 1 << 53
"""Whole numbers in generated code stay below this; a larger one is left to the engine."""


class Scalar:
    """An operation of Python's on numbers, by the text that computes it.

    decides   whether its result jumps, so that its operands need the engine's own last digit
    raises    whether it may raise an error: it is computed even where nobody reads the result
    """

    __slots__ = ("decides", "name", "raises", "text")
    recorded = variadic = entrywise = False
    kind = "scalar"
    params: dict[str, Any] = {}  # noqa: RUF012  # never written
    edges = moves = python = ""
    neutral = None
    rules = saves = ()

    def __init__(self, name: str, text: str, decides: bool = False, raises: bool = False) -> None:
        self.name = name
        self.text = text
        self.decides = decides
        self.raises = raises


@dataclass(eq=False, repr=False, slots=True)
class Block:
    """Nodes in order, and the values that leave the block.

    saves     what each run of the block puts on stacks, for its backward run
    restored  in the backward block: the same values, there again
    """

    nodes: list[Any]
    results: list[Any] = field(default_factory=list)
    saves: list[Value] = field(default_factory=list)
    restored: list[Value] = field(default_factory=list)


@dataclass(eq=False, repr=False, slots=True)
class Branch:
    """``if test: then else: orelse``."""

    test: Any
    then: Block
    orelse: Block
    outs: list[Any]

    def blocks(self) -> list[Block]:
        """The blocks inside."""
        return [self.then, self.orelse]


@dataclass(eq=False, repr=False, slots=True)
class Loop:
    """``for index in range(*bounds)``, or ``while`` the result of ``test``.

    stop     a value of the body: whether the loop ends after this turn; False where it never does
    backward the loop whose turns this one goes through from the last to the first; its index and
             the values that it saved are then there again
    turns    whether it has to turn at least once: else the engine runs
    """

    bounds: tuple | None
    index: Value | None
    test: Block | None
    carried: list[Value]
    initial: list[Any]
    body: Block
    outs: list[Value]
    stop: Any = False
    backward: Loop | None = None
    turns: bool = False

    def blocks(self) -> list[Block]:
        """The blocks inside."""
        return [self.body] if self.test is None else [self.test, self.body]


class Step:
    """A token of the step budget, taken where the program enters a function."""

    __slots__ = ()


@dataclass(eq=False, repr=False, slots=True)
class Check:
    """A test that has to hold; where it does not, the program runs eagerly."""

    test: Any


@dataclass(eq=False, repr=False, slots=True)
class Structured:
    """A program with control flow: parameters, a block, results."""

    inputs: list[Value]
    block: Block

    def __str__(self) -> str:
        names = named(self)
        given = ", ".join(f"{names[v]}: {type_of(v)}" for v in self.inputs)
        lines = [f"program({given})"]
        _write(self.block, names, "  ", lines)
        lines.append(f"  return {_several(self.block.results, names)}")
        return "\n".join(lines)


def walk(block: Block) -> Iterator[Any]:
    """Every node of a block and of the blocks inside, in the order in which they run."""
    stack = [iter(block.nodes)]
    while stack:
        for node in stack[-1]:
            yield node
            if inside := blocks_of(node):
                stack += [iter(inner.nodes) for inner in reversed(inside)]
                break
        else:
            stack.pop()


def blocks_of(node: Any) -> list[Block]:
    """The blocks inside a node."""
    return node.blocks() if node.__class__ is Branch or node.__class__ is Loop else []


def reads(node: Any) -> list[Any]:
    """What a node reads outside the blocks in it."""
    if node.__class__ is Instruction:
        return list(node.args)
    if node.__class__ is Branch or node.__class__ is Check:
        return [node.test]
    return [*(node.bounds or ()), *node.initial] if node.__class__ is Loop else []


def read_instead(node: Any, now: Callable[[Any], Any]) -> None:
    """Let a node read ``now(v)`` for each v that it reads outside the blocks in it."""
    if node.__class__ is Instruction:
        node.args = tuple([now(a) for a in node.args])
    elif node.__class__ is Branch or node.__class__ is Check:
        node.test = now(node.test)
    elif node.__class__ is Loop:
        node.initial = [now(v) for v in node.initial]
        if node.bounds is not None:
            node.bounds = tuple([now(b) for b in node.bounds])


def operands(node: Any) -> list[Any]:
    """What a node itself reads, and the results of the blocks inside it."""
    results = [v for inner in blocks_of(node) for v in inner.results]
    return [*reads(node), *results, *([node.stop] if node.__class__ is Loop else [])]


def joins(node: Any) -> Iterator[tuple[Value, list[Any]]]:
    """The values that a branch or a loop joins others to, each with all that it may be."""
    if node.__class__ is Branch:
        for out, *ways in zip(node.outs, node.then.results, node.orelse.results, strict=True):
            yield out, ways
    elif node.__class__ is Loop:
        parts = zip(node.carried, node.outs, node.initial, node.body.results, strict=True)
        for carried, out, *ways in parts:
            yield carried, ways
            yield out, [carried, *ways]


def made(node: Any) -> list[Value]:
    """The values that a node defines, those that are there in its blocks included."""
    if node.__class__ is Instruction:
        return [node.out]
    if node.__class__ is Branch:
        return node.outs
    if node.__class__ is Loop:
        return [*node.carried, *node.outs, *([node.index] if node.index is not None else [])]
    return []


def named(program: Structured) -> dict[Value, str]:
    """A name for every value: x for inputs, p for what a loop carries, i for its index, else v."""
    found = {v: f"x{i}" for i, v in enumerate(program.inputs)}
    count = 0
    for node in walk(program.block):
        carried = set(node.carried) if node.__class__ is Loop else ()
        for v in made(node):
            letter = "p" if v in carried else "v"
            if node.__class__ is Loop and v is node.index:
                letter = "i"
            found[v] = f"{letter}{count}"
            count += 1
        for v in [v for block in blocks_of(node) for v in block.restored]:
            found[v] = f"r{count}"
            count += 1
    return found


def _several(values: Sequence[Any], names: dict[Value, str]) -> str:
    return ", ".join("unset" if v is None else shown(v, names) for v in values)


def _write(block: Block, names: dict[Value, str], pad: str, lines: list[str]) -> None:
    """The nodes of a block as lines; what it puts on its stacks or takes off them stands first."""
    for word, values in (("save", block.saves), ("restore", block.restored)):
        if values:
            lines.append(f"{pad}{word} {_several(values, names)}")
    for node in block.nodes:
        if node.__class__ is Instruction:
            lines.append(f"{pad}{line_of(node, names)}")
        elif node.__class__ is Check:
            lines.append(f"{pad}check {shown(node.test, names)}")
        elif node.__class__ is Branch:
            outs = ", ".join(names[v] for v in node.outs)
            lines.append(f"{pad}{f'{outs} = ' if outs else ''}if {shown(node.test, names)}")
            _inner(node.then, names, pad, lines)
            lines.append(f"{pad}else")
            _inner(node.orelse, names, pad, lines)
        elif node.__class__ is Loop:
            lines.append(f"{pad}{_head(node, names)}")
            if node.test is not None:
                _write(node.test, names, f"{pad}  ", lines)
                lines.append(f"{pad}  test {shown(node.test.results[0], names)}")
            _inner(node.body, names, pad, lines)
            if node.stop is not False:
                lines.append(f"{pad}  break if {shown(node.stop, names)}")


def _inner(block: Block, names: dict[Value, str], pad: str, lines: list[str]) -> None:
    _write(block, names, f"{pad}  ", lines)
    if block.results:
        lines.append(f"{pad}  yield {_several(block.results, names)}")


def _head(node: Loop, names: dict[Value, str]) -> str:
    """The first line of a loop."""
    words = [f"{', '.join(names[v] for v in node.outs)} ="] if node.outs else []
    forward = "while" if node.bounds is None else "for"
    words.append(forward if node.backward is None else "backward")
    if node.index is not None:
        words.append(names[node.index])
    if node.bounds is not None:
        words.append(f"in range({_several(node.bounds, names)})")
    state = [
        f"{names[v]} = {_several([a], names)}"
        for v, a in zip(node.carried, node.initial, strict=True)
    ]
    return " ".join([*words, *([f"with {', '.join(state)}"] if state else [])])
