"""Operators defined by a formula of others: the formula's derivative, written out as rules.

The formula is called once with values that write down what is done to them. The rules of the
operators it names, read forward over these lines, give its own: the text of a function, in which
what is computed twice stands once and what is not needed not at all. For ``sqrt(x*x + eps)``::

    def rule(t, x, out):
        return t * ((x + x) / (2.0 * out))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.ops.declaration.infix import put_signs_once
from gradcli.ops.operator import Operator
from gradcli.ops.read import on_arrays, push_forward


class Line:
    """A value of a formula: an input or parameter by name, or an operator of other values."""

    __slots__ = ("args", "lines", "name", "op", "params")
    __gradcli_rank__ = 500

    def __init__(
        self,
        lines: dict[Any, Line],
        name: str = "",
        op: Operator | None = None,
        args: Sequence[Any] = (),
        params: dict[str, Any] | None = None,
    ) -> None:
        self.lines = lines
        self.name = name
        self.op = op
        self.args = tuple(args)
        self.params = params or {}

    def __gradcli_apply__(self, op: Operator, args: Sequence[Any], params: dict[str, Any]) -> Line:
        if not op.entrywise:
            raise TypeError(f"a formula works entry by entry, which {op.name} does not")
        if op.infix == "*" and 1.0 in args:
            factor: Line = args[1 - args.index(1.0)]
            return factor
        known = (op.name, *(a if isinstance(a, Line) else (a.__class__, a) for a in args),
                 *params.items())  # fmt: skip
        if known not in self.lines:
            self.lines[known] = Line(self.lines, "", op, args, params)
        return self.lines[known]

    def written(self, call: str) -> str:
        """The line as Python: ``call`` is a sign or what stands before the brackets."""
        args = [a.name if isinstance(a, Line) else repr(a) for a in self.args]
        if not call[0].isalpha() and len(args) == 2:
            return f"{args[0]} {call} {args[1]}"
        params = (v.name if isinstance(v, Line) else repr(v) for v in self.params.values())
        args += [f"{n}={v}" for n, v in zip(self.params, params, strict=True)]
        return f"{call}({', '.join(args)})"


def traced(op: Operator) -> tuple[list[Line], list[Line], Line]:
    """A formula's inputs and parameters, its lines in order of computation, and the last of them.

    Raises TypeError where the formula names an operator that does not work entry by entry.
    """
    # Here all operators are declared. Lines are keys of dicts: a formula says eq(x, y).
    put_signs_once(Line, without=("__eq__", "__ne__"))
    lines: dict[Any, Line] = {}
    given = [Line(lines, name) for name in (*op.inputs, *op.params)]
    assert op.formula is not None
    out = op.formula(*given)
    if not isinstance(out, Line) or out.op is None:
        raise TypeError(f"{op.name}: its formula has to compute something of its inputs")
    return given, list(lines.values()), out


def derive(op: Operator) -> tuple[Callable[..., Any], list[Callable[..., Any] | None]]:
    """What ``op.formula`` computes on arrays, and its rule by each input (None: constant in it)."""
    given, steps, out = traced(op)
    compute = _function(op.name, given, out)
    out.name = "out"
    rules = [_rule(given, x, steps, out) for x in given[: op.arity]]
    return on_arrays(compute), rules


def _rule(
    given: Sequence[Line], x: Line, steps: Sequence[Line], out: Line
) -> Callable[..., Any] | None:
    """The rule by one input: forward mode over the lines, so that a choice is one of slopes.

    What no choice divides is a slope first, by which t is multiplied once: of several multiples of
    t, which may cancel, one may overflow.
    """
    t = Line(out.lines, "t")
    tangents: dict[Any, Any] = {x: 1.0}
    multiples: set[Line] = set()  # lines whose tangents are multiples of t
    for line in steps:
        found = [tangents.get(a) if isinstance(a, Line) else None for a in line.args]
        if line.op is None or all(tangent is None for tangent in found):
            continue
        if line.op.masks or not multiples.isdisjoint(line.args):
            multiples.add(line)
            slopes = zip(line.args, found, strict=True)
            found = [v if v is None or a in multiples else t * v for a, v in slopes]
        if line.op.kind == "linear" and None in found:
            # A transpose by one input is the multiple of it that an entrywise operator takes.
            i = next(i for i, tangent in enumerate(found) if tangent is not None)
            known = {**line.op.params, **line.params, "g": found[i]}
            rule = line.op.rules[i]
            assert rule is not None
            pushed = rule(*(known[n] for n in line.op.reads[i]))
        else:
            pushed = push_forward(line.op, line.args, found, line, line.params)
        if pushed is not None:
            tangents[line] = pushed
    if out not in tangents:
        return None
    result = tangents[out] if out in multiples else t * tangents[out]
    return _function("rule", [t, *given, out], result, only_needed=True)


def _function(
    name: str, given: Sequence[Line], result: Line, only_needed: bool = False
) -> Callable[..., Any]:
    """A Python function that computes ``result`` of what is ``given``."""
    needed = {result}
    waiting = [result]
    while waiting:
        line = waiting.pop()
        if line in given:
            continue
        for a in (*line.args, *line.params.values()):
            if isinstance(a, Line) and a not in needed:
                needed.add(a)
                waiting.append(a)
    own = [line for line in result.lines.values() if line in needed and line not in given]
    scope: dict[str, Any] = {"__name__": __name__}
    read = [a for line in own for a in (*line.args, *line.params.values()) if isinstance(a, Line)]
    body: list[str] = []
    for line in own:
        assert line.op is not None
        scope[line.op.name] = line.op
        text = line.written(line.op.infix or line.op.name)
        if read.count(line) > 1:
            line.name = f"v{len(body)}"
            body.append(f"    {line.name} = {text}")
        else:  # NumPy writes a result into what nothing else refers to
            line.name = f"({text})" if line.op.infix else text
    taken = [line.name for line in given if line in needed or line.name == "t" or not only_needed]
    exec("\n".join([f"def {name}({', '.join(taken)}):", *body, f"    return {result.name}"]), scope)
    found: Callable[..., Any] = scope[name]
    return found
