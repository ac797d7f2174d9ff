"""Forward mode: a value that carries its tangent, and the pushforward of every operator.

A ``Dual`` answers the operators' protocol: the primal is computed by the operator, the tangent by
the operator's kind (``ops.push_forward``) from the same rule that reverse mode reads. Primals and
tangents may be Tensors, so that forward mode is itself recorded (forward over reverse), and Duals
of a lower level, so that it nests; the level keeps the perturbations of nested calls apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.engine.custom_function.context import Context
from gradcli.engine.custom_function.node import call
from gradcli.engine.grad_mode import enable_grad, no_grad
from gradcli.ops.errors import RuntimeFault, TypeFault
from gradcli.ops.operator import OPERATORS
from gradcli.ops.read import push_forward
from gradcli.transforms.tracer import Operand, as_value, levels
from gradcli.transforms.tree import flatten, unflatten


class Dual(Operand):
    """A primal with a tangent (None: zero)."""

    __slots__ = ("__gradcli_rank__", "primal", "tangent")

    def __init__(self, primal: Any, tangent: Any, level: int) -> None:
        self.primal = primal
        self.tangent = tangent
        self.__gradcli_rank__ = level

    def __gradcli_apply__(self, op: Any, args: tuple, params: dict) -> Any:
        level = self.__gradcli_rank__
        primals, tangents = _split(args, level)
        out = op(*primals, **params)
        tangent = push_forward(op, primals, tangents, out, params)
        return _joined(out, tangent, level)

    def __gradcli_function__(self, definition: Any, args: tuple) -> Any:
        """A custom function: its own jvp, or its backward read forwards."""
        level = self.__gradcli_rank__
        primals, tangents = _split(args, level)
        result = call(definition, tuple(primals))
        several = isinstance(result, tuple)
        outputs = result if several else (result,)
        if getattr(definition, "jvp", None) is not None:
            pushed = _by_jvp(definition, primals, tangents, outputs)
        else:
            pushed = _by_backward(definition, primals, tangents)
        joined = tuple(_joined(o, t, level) for o, t in zip(outputs, pushed, strict=True))
        return joined if several else joined[0]

    def become(self, other: Any) -> Dual:
        """Take over another value's place: what a write in place does."""
        mine = other.__class__ is Dual and other.__gradcli_rank__ == self.__gradcli_rank__
        self.primal = other.primal if mine else other
        self.tangent = other.tangent if mine else None
        return self

    @property
    def shape(self) -> Any:
        """The primal's shape, which its tangent has too."""
        return self.primal.shape

    @property
    def dtype(self) -> Any:
        """The primal's dtype."""
        return self.primal.dtype

    @property
    def array(self) -> Any:
        """The numbers, for what is decided by them and has no derivative."""
        return self.primal.array

    def each_of(self, function: Callable, args: tuple, options: dict) -> Any:
        """``function``, for each element where there is a batch inside, else NotImplemented."""
        inner = getattr(self.primal, "each_of", None)
        return NotImplemented if inner is None else inner(function, args, options)

    @property
    def requires_grad(self) -> bool:
        """Whether the primal is recorded for a gradient."""
        return self.primal.requires_grad

    def detach(self) -> Any:
        """The primal alone, outside the graph."""
        return self.primal.detach()

    def item(self) -> Any:
        """The primal's number, without its tangent."""
        return self.primal.item()

    def tolist(self) -> Any:
        """The primal's numbers in nested lists, without its tangent."""
        return self.primal.tolist()

    def __bool__(self) -> bool:
        return bool(self.primal)

    def __float__(self) -> float:
        return float(self.primal)

    def __int__(self) -> int:
        return int(self.primal)

    def __format__(self, spec: str) -> str:
        return format(self.primal, spec)

    def __repr__(self) -> str:
        return f"{self.primal!r}"[:-1] + f", tangent={self.tangent!r})"


def is_dual(value: Any, level: int) -> bool:
    """Whether ``value`` carries a tangent of this level."""
    return value.__class__ is Dual and value.__gradcli_rank__ == level


def _split(args: Sequence[Any], level: int) -> tuple[list, list]:
    own = [is_dual(a, level) for a in args]
    primals = [a.primal if mine else a for a, mine in zip(args, own, strict=True)]
    return primals, [a.tangent if mine else None for a, mine in zip(args, own, strict=True)]


def _joined(out: Any, tangent: Any, level: int) -> Any:
    if tangent is None:
        return out
    if tuple(tangent.shape) != tuple(out.shape):
        tangent = OPERATORS["expand"](tangent, tuple(out.shape))
    return Dual(out, tangent, level)


def _by_jvp(definition: Any, primals: list, tangents: list, outputs: tuple) -> tuple:
    ctx = Context()
    if definition.setup_context is None:
        definition.forward(ctx, *primals)
    else:
        result = outputs if len(outputs) != 1 else outputs[0]
        definition.setup_context(ctx, tuple(primals), result)
    pushed = definition.jvp(ctx, *tangents)
    return pushed if isinstance(pushed, tuple) else (pushed,)


def _by_backward(definition: Any, primals: list, tangents: list) -> tuple:
    """backward(v) is linear in v; its transpose, applied to the tangents, is the pushforward."""
    from gradcli.transforms.reverse import (
        leaf_of,
        pull_back,
        reaches_further,
        recording,
        tensors_of,
    )

    outer = recording()
    with enable_grad():
        moved = [i for i, t in enumerate(tangents) if t is not None]
        inputs = list(primals)
        for i in moved:
            inputs[i] = leaf_of(primals[i])
        result = call(definition, tuple(inputs))
        outputs = result if isinstance(result, tuple) else (result,)
        flows = [i for i, o in enumerate(outputs) if getattr(o, "requires_grad", False)]
        weights = [leaf_of(OPERATORS["zeros_like"](outputs[i].detach())) for i in flows]
        found = pull_back([outputs[i] for i in flows], [inputs[i] for i in moved], weights, True)
        pushed: list = [None] * len(outputs)
        linked = [k for k, g in enumerate(found) if g.requires_grad]
        if linked:
            back_from = [found[k] for k in linked]
            along = [tangents[moved[k]] for k in linked]
            own = [*weights, *(inputs[i] for i in moved)]
            further = reaches_further(back_from, own)
            further = further or any(t.edge is not None for v in along for t in tensors_of(v))
            back = pull_back(back_from, weights, along, outer and further)
            for i, t in zip(flows, back, strict=True):
                pushed[i] = t
    return tuple(pushed)


def jvp(
    function: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: bool = False,
) -> tuple:
    """The value of ``function(*primals)`` and its derivative in the direction ``tangents``.

    One pass forward, no graph. Shapes of tangents are those of the primals; the result's tangent
    has the result's shape. With ``has_aux`` the function gives ``(value, aux)``, and aux comes
    third. Raises RuntimeFault (E0301) where shapes differ.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([1.0, 2.0])
        >>> gradcli.func.jvp(lambda x: (x * x).sum(), (x,), (gradcli.tensor([1.0, 0.0]),))
        (tensor(5.), tensor(2.))
    """
    at, shape = flatten(tuple(primals))
    along, _ = flatten(tuple(tangents))
    if len(at) != len(along):
        raise TypeFault("E0302", f"{len(at)} primals but {len(along)} tangents")
    level = levels()
    duals = []
    for primal, tangent in zip(at, along, strict=True):
        primal, tangent = as_value(primal), as_value(tangent)
        if tuple(primal.shape) != tuple(tangent.shape):
            raise RuntimeFault(
                "E0301",
                f"a tangent has shape {tuple(tangent.shape)}, its primal {tuple(primal.shape)}",
                help="a tangent has its primal's shape",
            )
        duals.append(Dual(primal, tangent, level))
    result = function(*unflatten(duals, shape))
    aux = None
    if has_aux:
        result, aux = result
    outputs, form = flatten(result)
    values, pushed = [], []
    for out in outputs:
        if is_dual(out, level):
            values.append(out.primal)
            pushed.append(out.tangent)
        else:
            values.append(as_value(out))
            pushed.append(OPERATORS["zeros_like"](values[-1]))
    found = unflatten(values, form), unflatten(pushed, form)
    return (*found, _without(aux, level)) if has_aux else found


def linearize(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of ``function(*primals)``, and the linear function of tangents that it is nearby.

    Example:
        >>> import gradcli
        >>> value, push = gradcli.func.linearize(lambda x: x * x, gradcli.tensor(3.0))
        >>> value, push(gradcli.tensor(1.0)), push(gradcli.tensor(2.0))
        (tensor(9.), tensor(6.), tensor(12.))
    """

    def push(*tangents: Any) -> Any:
        return jvp(function, primals, tangents)[1]

    leaves, shape = flatten(tuple(primals))
    with no_grad():
        value = function(*unflatten([as_value(v).detach() for v in leaves], shape))
    return value, push


def _without(tree: Any, level: int) -> Any:
    leaves, shape = flatten(tree)
    return unflatten([t.primal if is_dual(t, level) else t for t in leaves], shape)
