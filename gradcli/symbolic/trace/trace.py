"""Tracing: the steps run on symbols, and every operator's own rule pushes the derivative forward.

The variable's tangent is a delta over hidden labels, so that one pass gives the derivative by all
of its entries, with the variable's axes after the result's. The rules are those of ``gradcli.ops``,
read by ``push_forward`` exactly as forward mode reads them; no derivative is written down here.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

from gradcli.ops.errors import Fault
from gradcli.ops.operator import OPERATORS
from gradcli.ops.read import push_forward
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.elementwise import indicator
from gradcli.symbolic.program.steps import Step, of_truths
from gradcli.symbolic.shapes.inference import Shapes
from gradcli.symbolic.trace import indexing as indexing  # registers indexing and joining
from gradcli.symbolic.trace import indicators as indicators  # registers where, comparisons
from gradcli.symbolic.trace import matrices as matrices  # registers inv, det, solve
from gradcli.symbolic.trace import operations
from gradcli.symbolic.trace import reshaping as reshaping  # registers reshape and tile
from gradcli.symbolic.trace import spectral as spectral  # registers decompositions
from gradcli.symbolic.trace.symbol import Symbol, as_symbol, inside_a_rule, ties
from gradcli.symbolic.unsupported import at, no_closed_form


def derivative(
    steps: Sequence[Step], shapes: Shapes, wrt: str, source: Any, detached: Container[int] = ()
) -> tuple[v.Tensor, tuple]:
    """The derivative of the last step by a variable: a tensor over labels 0, 1, ..., their sizes.

    ``detached`` holds the steps that a program took out of the graph.

    Raises a fault (E0701) where an operator has no closed form, with its place.
    """
    primals: list[Symbol] = []
    tangents: list[Symbol | None] = []
    truths: list[bool] = []
    ties.wrt = wrt
    for i, (step, shape) in enumerate(zip(steps, shapes.of, strict=True)):
        try:
            primal, tangent = _step(step, shape, shapes, wrt, primals, tangents, truths)
        except Fault as fault:
            raise at(fault, source, step.node) from None
        primals.append(primal)
        tangents.append(None if i in detached else tangent)
    out, tangent = primals[-1], tangents[-1]
    dims = tuple(a[0] if a is not None else "1" for a in out.axes)
    whole = (*dims, *shapes.declarations[wrt].dims)
    if tangent is None:
        return v.ZERO, whole
    names = {a: (a[0], i) for i, a in enumerate(tangent.axes) if a is not None}
    for i, d in enumerate(shapes.declarations[wrt].dims):
        names[v.hidden(d, i)] = (d, len(dims) + i)
    return v.relabel(tangent.tensor, names), whole


def primal(
    steps: Sequence[Step], shapes: Shapes, place: int | None = None,
    known: Callable[[str, list[Symbol]], Symbol | None] = lambda op, args: None,
) -> tuple[v.Tensor, tuple]:  # fmt: skip
    """The value of the last step, or of that at ``place``: a tensor over labels 0, 1, ..., and
    their sizes. ``known`` is asked first for what an operator makes of its arguments."""
    primals: list[Symbol] = []
    truths: list[bool] = []
    for step, shape in zip(steps, shapes.of, strict=True):
        found = known(step.op, [primals[i] for i in step.inputs])
        if found is None:
            none = [None] * len(primals)
            found, _ = _step(step, shape, shapes, "", primals, none, truths)
        else:
            truths.append(False)
        primals.append(found)
        if len(primals) - 1 == place:
            break
    out = primals[-1]
    names = {a: (a[0], i) for i, a in enumerate(out.axes) if a is not None}
    return v.relabel(out.tensor, names), tuple("1" if a is None else a[0] for a in out.axes)


def _step(
    step: Step, shape: tuple, shapes: Shapes, wrt: str, primals: list, tangents: list,
    truths: list[bool],
) -> tuple[Symbol, Symbol | None]:  # fmt: skip
    """The value of a step and its tangent. To ``truths`` is added whether it is a truth value."""
    test = of_truths(step, truths, shape)
    truths.append(bool(test))
    if step.op == "name":
        if step.value in shapes.sizes:
            return Symbol(v.size(step.value)), None
        return variable(step.value, shapes, wrt)
    if step.op == "number":
        return as_symbol(step.value), None
    if step.op == "size":
        return Symbol(v.size(str(step.value))), None
    if step.op == "constant":
        return Symbol(v.factor(v.base("constant", step.value))), None
    if step.op in ("eye", "ones", "zeros"):
        axes: tuple[Any, ...] = tuple(None if d is None else v.fresh(d) for d in shape)
        if step.op == "eye":
            return Symbol(v.delta(axes[0], axes[1]), axes), None
        return Symbol(v.UNIT if step.op == "ones" else v.ZERO, axes), None
    args = [primals[i] for i in step.inputs]
    for k, i in enumerate(step.inputs):
        if truths[i] and not test and (step.op, k) != ("where", 0):  # a number
            args[k] = Symbol(indicator(args[k].tensor, True), args[k].axes)
    tans = [tangents[i] for i in step.inputs]
    params = dict(step.params)
    part, _ = params.pop("part", None), params.pop("square", None)
    name = test or step.op
    if name == "diag":
        name = "undiagonal" if len(args[0].axes) == 1 else "diagonal"
        params = {"shape": args[0].shape * 2} if name == "undiagonal" else {}
    op = OPERATORS[name]
    out = op(*args, **params)
    alone = OPERATORS.get(op.parts[part].partition("(")[0]) if part is not None else None
    if alone is not None:  # a part that is an operator of its own: svd(X)[1]
        op, part, out = alone, None, alone(*args)
    tangent = None
    if any(t is not None for t in tans):
        ties.seen.clear()
        with inside_a_rule():
            if op.kind == "general" and op.slope is not None and all(t is None for t in tans[:-1]):
                tangent = op(*args[:-1], tans[-1])  # linear in its last input
            else:
                try:
                    tangent = push_forward(op, args, tans, out, params)
                except TypeError:  # a rule that needs sizes as numbers
                    raise no_closed_form(f"the derivative of `{op.name}`") from None
        step.ties = (step.ties or frozenset()) | ties.seen
        if part is not None:
            tangent = None if tangent is None else tangent.__gradcli_parts__[part]
        elif tangent is not None and len(tangent.axes) < len(out.axes):
            tangent = operations.expand(tangent, out.shape)
    return out if part is None else out.__gradcli_parts__[part], tangent


def variable(name: str, shapes: Shapes, wrt: str) -> tuple[Symbol, Symbol | None]:
    """The symbol of a variable, and its tangent where it is the one differentiated by."""
    declared = shapes.declarations[name]
    axes = tuple(v.fresh(d) for d in declared.dims)
    symbol = Symbol(v.factor(v.base("name", name, (), declared.dims, declared.traits), axes), axes)
    if name != wrt:
        return single(symbol), None
    seed = v.UNIT
    for i, a in enumerate(axes):
        seed = v.distribute(seed, v.delta(a, v.hidden(a[0], i)))
    return single(symbol), single(Symbol(seed, axes))


def single(x: Symbol) -> Symbol:
    """A variable's dimensions of size 1 as axes that broadcast: its only entries."""
    t, axes = x.tensor, list(x.axes)
    for i, a in enumerate(axes):
        if a is not None and a[0] == "1":
            t = indexing.entry_of(t, a, 0)
            axes[i] = None
    return Symbol(t, tuple(axes))
