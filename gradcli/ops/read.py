"""How a rule is read: as a partial derivative, forward on tangents, and on bare arrays."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradcli.ops.dims import unreduce
from gradcli.ops.operator import OPERATORS, Operator, is_complex, is_number, parameters


def partial(op: Operator, index: int, given: Mapping[str, Any]) -> Any:
    """The partial derivative of an elementwise operator by input ``index``, from its rule."""
    rule = op.rules[index]
    assert rule is not None
    if op.scaled[index]:
        given = {**given, "t": 1.0}
    return rule(*(given[name] for name in op.reads[index]))


def push_forward(
    op: Operator, args: Sequence[Any], tangents: Sequence[Any], out: Any, params: Mapping[str, Any]
) -> Any:
    """The tangent of ``out = op(*args, **params)``: forward mode, read off the operator's kind.

    ``tangents`` holds one tangent or None (zero) per input. Returns a tangent, or None for zero.
    Every value may be of any reading: the arithmetic here dispatches like a rule's.
    """
    if op.kind == "constant" or all(t is None for t in tangents):
        return None
    zeros = OPERATORS["zeros_like"]
    if op.kind == "linear":
        if any(t is None for t in tangents):
            tangents = [
                t if t is not None else zeros(a) if not is_number(a) else 0.0 if a.imag == 0 else 0j
                for t, a in zip(tangents, args, strict=True)
            ]  # a number, which widens no dtype, for a number
        return op(*tangents, **params)
    given = dict(op.params, **params)
    given.update(zip(op.inputs, args, strict=False))
    given["out"] = out
    if op.jvp is not None:
        for name, tangent, arg in zip(op.inputs, tangents, args, strict=True):
            zero = 0.0 if op.entrywise else zeros(arg)
            given["t" + name] = zero if tangent is None else tangent
        return op.jvp(*(given[name] for name in parameters(op.jvp)))
    if op.kind == "reduction":
        dim, keepdim = given["dim"], given["keepdim"]
        given["out"] = unreduce(out, args[0].shape, dim, keepdim)
    total = None
    for i, tangent in enumerate(tangents):
        if tangent is None or op.rules[i] is None:
            continue
        if op.kind == "bilinear":
            term = op(*(tangent if j == i else a for j, a in enumerate(args)), **params)
        else:
            # Of a real result of complex numbers (abs, norm) the rule says where it grows.
            grows = is_complex(tangent) and not is_complex(out)
            along = OPERATORS["conj"](tangent) if grows else tangent
            term = _times_slope(op, i, given, along)
            if op.kind == "reduction":
                term = OPERATORS["sum"](term, dim, keepdim)
            term = OPERATORS["real"](term) if grows else term
        total = term if total is None else total + term
    return total


def _times_slope(op: Operator, index: int, given: dict[str, Any], tangent: Any) -> Any:
    """The tangent times the partial derivative by input ``index``, or by each of its entries."""
    rule, reads, scaled = op.rules[index], op.reads[index], op.scaled[index]
    if op.slope is not None:
        rule, reads = op.slope, parameters(op.slope)
        scaled = reads[0] == "t"
    assert rule is not None
    if scaled:
        given["t"] = tangent
    found = rule(*(given[name] for name in reads))
    return found if scaled else tangent * found


_array_scopes: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
"""By the id of a rule's globals: these, so that no others get their id, and those for arrays."""


def on_arrays(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The same rule for arrays alone: in its globals each operator is the bare computation.

    The code is shared, so there is still one rule; only the names it looks up differ. A rule that
    says ``cos(x)`` then calls NumPy's function without asking what ``x`` is, which on small arrays
    costs as much as the cosine.
    """
    scope = _array_scope(rule.__globals__)
    return types.FunctionType(
        rule.__code__, scope, rule.__name__, rule.__defaults__, rule.__closure__
    )


def _array_scope(names: dict[str, Any]) -> dict[str, Any]:
    if id(names) not in _array_scopes:
        scope = dict(names)
        _array_scopes[id(names)] = names, scope  # before filling: modules name each other
        for name, value in names.items():
            if isinstance(value, Operator):
                scope[name] = _computation(value)
            elif isinstance(value, types.FunctionType) and value.__module__.startswith(__package__):
                scope[name] = on_arrays(value)
    return _array_scopes[id(names)][1]


def _computation(op: Operator) -> Callable[..., Any]:
    """What an operator computes, callable as the operator is: parameters have their defaults."""
    compute = op.compute
    if not op.params:
        return compute
    defaults = tuple(op.params.values())
    made = types.FunctionType(
        compute.__code__, compute.__globals__, op.name, defaults, compute.__closure__
    )
    if op.variadic:
        made.__defaults__, made.__kwdefaults__ = None, op.params
    return made
