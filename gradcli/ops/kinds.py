"""The kinds of operator: each says how one derivative rule is read in reverse and forward mode.

kind         what the rule gives               reverse (vjp)            forward (jvp)
elementwise  the partial, or t times it        g * conj(partial)        sum of t * partial
linear       the transpose                     T(g)                     op(t, ...)
bilinear     the transpose by each input       T_i(g, the other)        op(t, y) + op(x, t)
constant     nothing, or zeros (``step``)      no edge, or zeros        zero
general      its own vjp and jvp               vjp_i(g, ...)            jvp(t..., ...)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.ops.declaration.batching import matrices
from gradcli.ops.declaration.infix import MIRRORED
from gradcli.ops.dims import unreduce
from gradcli.ops.operator import OPERATORS, Operator, defaults_of, inputs_of, parameters


def elementwise(
    name: str, compute: Callable[..., Any], *rules: Callable[..., Any] | None, **info: Any
) -> Operator:
    """Declare an operator that works entry by entry, with broadcasting; one rule per input.

    A rule is the partial derivative, ``lambda x: cos(x)``, or, where that is cheaper or more exact,
    the tangent's image, ``lambda t, y: t / y``. None marks an input with no derivative.
    """
    return Operator("elementwise", name, compute, rules, **info)


def linear(
    name: str, compute: Callable[..., Any], *rules: Callable[..., Any] | None, **info: Any
) -> Operator:
    """Declare an operator that is linear in its inputs together; rules are the transposes."""
    info.setdefault("dtypes", "promote" if len(rules) > 1 else "keep")
    return Operator("linear", name, compute, rules, **info)


def bilinear(
    name: str, compute: Callable[..., Any], *rules: Callable[..., Any], **info: Any
) -> Operator:
    """Declare an operator linear in each of two inputs; rules are the transposes by each."""
    info.setdefault("dtypes", "promote")
    info.setdefault("vanishes", "xy")
    return Operator("bilinear", name, compute, rules, **info)


def constant(name: str, compute: Callable[..., Any], **info: Any) -> Operator:
    """Declare an operator whose derivative is zero wherever it exists: no edge in the graph."""
    info.setdefault("dtypes", "compare" if info.get("infix") in MIRRORED else "keep")
    inputs = inputs_of(compute) or ("xy" if "infix" in info else "x")
    return Operator("constant", name, compute, (None,) * len(inputs), **info)


def step(name: str, compute: Callable[..., Any], **info: Any) -> Operator:
    """Declare a constant that has a node in the graph all the same, as in PyTorch.

    Its derivative is zero too, but the zeros arrive: ``x.floor().sum().backward()`` is no error.
    """
    info.setdefault("dtypes", "keep")
    info.setdefault("kink", "where {op} of {0} jumps: derivative taken as 0")
    rules = (lambda g: OPERATORS["zeros_like"](g),) * len(inputs_of(compute) or "x")
    return Operator("constant", name, compute, rules, **info)


def general(
    name: str, compute: Callable[..., Any], *rules: Callable[..., Any] | None, **info: Any
) -> Operator:
    """Declare an operator with its own vjp per input and its own jvp (``jvp=``).

    Without a parameter ``dim`` it is one of matrices.
    """
    if "dim" not in defaults_of(compute):
        info = {
            "dtypes": "promote" if len(rules) > 1 else "inexact", "batching": matrices, **info
        }  # fmt: skip
    return Operator("general", name, compute, rules, **info)


def reduction(
    name: str, compute: Callable[..., Any], slope: Callable[..., Any], **info: Any
) -> Operator:
    """Declare an operator that joins the entries of x along dimensions, by one slope.

    ``slope(x, out, dim, ...)`` is the derivative of the result by each entry of x, with x's shape;
    ``out`` reaches it with the reduced dimensions put back as 1. Where its first parameter is t, it
    gives t times that. Among the parameters have to be ``dim`` and ``keepdim``.
    """
    reads = parameters(slope)
    scaled = reads[0] == "t"
    # Written out, so that a rule's parameters are what it saves and its names can be rebound.
    back = "unreduce({}, shape, dim, keepdim)"
    given = ", ".join(back.format({"t": "g"}.get(n, n)) if n in ("t", "out") else n for n in reads)
    taken = ", ".join(("g", *(n for n in (*reads, "shape", *defaults_of(compute)) if n != "t")))
    taken = ", ".join(dict.fromkeys(taken.split(", ")))
    body = f"slope({given})" if scaled else f"{back.format('g')} * slope({given})"
    rule = eval(f"lambda {taken}: {body}", {"slope": slope, "unreduce": unreduce})
    return Operator("reduction", name, compute, (rule,), slope=slope, rows=True, **info)


class _Formula(Operator):
    """A composite of which nobody has asked yet what its formula computes, or its derivative."""

    def __getattr__(self, name: str) -> Any:
        if name not in ("compute", "rules", "recorded"):
            raise AttributeError(name)
        from gradcli.ops.declaration.formula import derive  # few programs use any composite

        made, rules = derive(self)
        self.__class__ = Operator  # type: ignore[assignment]
        if not hasattr(self, "compute"):
            self.compute = made
        self.read_rules(rules)
        return getattr(self, name)


def composite(
    name: str,
    formula: Callable[..., Any],
    compute: Callable[..., Any] | None = None,
    *rules: Callable[..., Any],
    **info: Any,
) -> Operator:
    """Declare an elementwise operator by a formula of other operators, parameters and all.

    Its derivative, closed form, LaTeX and code follow. ``compute`` may stand beside the formula
    where that is faster or more exact, and behind it the rules of its inputs.
    """
    return _Formula("elementwise", name, compute, rules, formula=formula, **info)
