"""Forward mode as transforms of functions: jvp and linearize, by values that carry tangents."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradcli.engine.grad_mode import (
    Transform,
    begin_pushing,
    enable_grad,
    mode,
    outside_inference,
    transforming,
)
from gradcli.engine.graph.node import more
from gradcli.engine.record.composite import version_of
from gradcli.ops.errors import RuntimeFault, bad_shape
from gradcli.ops.operator import OPERATORS
from gradcli.transforms.dual import Dual, is_dual
from gradcli.transforms.func_checks import (
    drawn,
    floating,
    like,
    no_real_tangent,
    pair,
    primals_and_tangents,
    tensors,
)
from gradcli.transforms.levels import next_level, running
from gradcli.transforms.memory import demote
from gradcli.transforms.reverse import (
    batches_seen,
    finished,
    leaf_of,
    lifted,
    pull_back,
    reaches_further,
    without_leaves,
)
from gradcli.transforms.tracer import lasting, operands_of, overlaps, rank_of, tensors_of
from gradcli.transforms.tree import flatten, over, unflatten


def jvp(
    func: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple:
    """The value of ``func(*primals)`` and its derivative in the direction ``tangents``.

    One pass forward, no graph. Shapes of tangents are those of the primals; the result's tangent
    has the result's shape. With ``has_aux`` the function gives ``(value, aux)``, and aux comes
    third. Raises RuntimeFault (E0301) where shapes differ, (E0309) for a complex tangent of a real
    primal; with ``strict`` (E0405) where a result does not depend on the primals, which otherwise
    has a tangent of zeros.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([1.0, 2.0])
        >>> gradcli.func.jvp(lambda x: (x * x).sum(), (x,), (gradcli.tensor([1.0, 0.0]),))
        (tensor(5.), tensor(2.))
    """
    at, along, shape = primals_and_tangents(primals, tangents)
    level = next_level()
    _check_tangents(at, along)
    # Tangents that writes could bring together are batches alike.
    batches = {v.__gradcli_rank__ for t in along for v in operands_of(t) if v.batch}
    around = [vmap for vmap in running.vmaps if vmap.level in batches]
    duals = [Dual(p, lifted(t, around), level) for p, t in zip(at, along, strict=True)]
    by = Transform(func, duals, level, records=True)
    try:
        begin_pushing((level,))
        with transforming(by):
            for dual in duals:
                dual.take_tangent()
            found = _pushed(func, unflatten(duals, shape), level, strict, has_aux)
            tensors(flatten(found[0])[0], "jvp(f, primals, tangents)")
    finally:
        demote(level)
    made = by.so_far()
    value, *further = over(lambda v: without_leaves(v, made), found)
    # As in PyTorch a value is a view of what the function gave, and so is a primal in aux.
    own = {id(p) for p in at}
    further = over(lambda v: _viewed(v) if id(v) in own else v, further)
    return over(_viewed, value), *further


def _viewed(value: Any) -> Any:
    return OPERATORS["getitem"](value, ...)


def _check_tangents(at: Sequence[Any], along: Sequence[Any]) -> None:
    for primal, tangent in zip(at, along, strict=True):
        if tuple(primal.shape) != tuple(tangent.shape):
            own, given = list(primal.shape), list(tangent.shape)
            said = f"a tangent has shape {tuple(given)}, its primal {tuple(own)}"
            told = "Trying to set a forward gradient that has a different size than that of the"
            told += f" original Tensor, this is not supported. Tensor is of size {own} while the"
            told += f" given forward gradient is of size {given}."
            raise bad_shape(said, help="a tangent has its primal's shape", torch=told)
        no_real_tangent(primal, tangent)


@contextlib.contextmanager
def _dual_level() -> Iterator[int]:
    """A level of dual numbers, which are no transform: a Function whose forward takes ctx can be
    asked, ``forward_ad`` sees the level, and ``detach_()`` is out of the levels around it too."""
    level = running.begin_dual()
    try:
        yield level
    finally:
        del running.dual[level]
        demote(level)


def dual_numbers(func: Callable[..., Any], at: Sequence[Any], along: Sequence[Any]) -> tuple:
    """The value and the tangent of ``func(*at)`` by dual numbers, which is no transform: the
    function may write to what it captures."""
    with _dual_level() as level, outside_inference():
        duals = [Dual(p, t, level) for p, t in zip(at, along, strict=True)]
        return _pushed(func, duals, level, False, False)


def tangents_of(func: Callable[..., Any], at: Sequence[Any], along: Sequence[Any]) -> Any:
    """The tangent of ``func(*at)`` by dual numbers."""
    return dual_numbers(func, at, along)[1]


def _pushed(function: Callable, duals: Any, level: int, strict: bool, has_aux: bool) -> tuple:
    """Values, and their tangents; what is no tensor goes through as it is."""
    result = over(lasting, function(*duals))
    aux = None
    if has_aux:
        result, aux = pair(result, "jvp(f, primals, tangents)")
    outputs, form = flatten(result)
    values, pushed = [], []
    for out in outputs:
        if is_dual(out, level):
            values.append(out.primal)
            pushed.append(out.tangent)
            continue
        if strict:
            raise RuntimeFault(
                "E0405",
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True.",
            )
        values.append(out)
        pushed.append(OPERATORS["zeros_like"](out) if rank_of(out) else out)
    found = unflatten(values, form), unflatten(pushed, form)
    aux = over(lambda t: t.primal if is_dual(t, level) else t, aux)
    return (*found, aux) if has_aux else found


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of ``func(*primals)``, and the linear function of tangents that it is nearby.

    The function runs once, but for one that writes to what it has computed with, or that hides a
    part under ``no_grad`` from an enclosing transform: it runs at each push. Raises RuntimeFault
    (E0301, E0302) for tangents that do not fit.

    Example:
        >>> import gradcli
        >>> value, push = gradcli.func.linearize(lambda x: x * x, gradcli.tensor(3.0))
        >>> value, push(gradcli.tensor(1.0)), push(gradcli.tensor(2.0))
        (tensor(9.), tensor(6.), tensor(12.))
    """
    outer = mode.grad
    at, shape = flatten(tuple(primals))
    floating("primal", at)
    around = batches_seen(func, at)
    along = [leaf_of(OPERATORS["ones_like"](p), around=around) for p in at]
    versions = [version_of(p) for p in at]
    with _dual_level() as level, outside_inference():
        running.linear[level] = False
        try:
            duals = [Dual(p, t, level) for p, t in zip(at, along, strict=True)]
            value, pushed = _pushed(func, unflatten(duals, shape), level, False, False)
        finally:
            silenced = running.linear.pop(level)
    results, form = flatten(pushed)
    ends = [t for t in results if rank_of(t)]
    with outside_inference(), enable_grad():
        # Linear in ``along``, so what it is pulled back to, as a function of the weights, has the
        # pushforward for a derivative.
        around = batches_seen(func, [*at, *ends])  # one for all, whatever batch the function found
        weights = [leaf_of(OPERATORS["ones_like"](t), around=around) for t in ends]
        back: list = []
        try:
            back = pull_back(ends, along, weights, True)
        except RuntimeFault as fault:
            if fault.code not in ("E0402", "E0407", "E0414"):  # a checkpoint that runs anew
                raise
    for end in (t.edge for g in back for t in tensors_of(g) if t.edge is not None):
        more(end).since = 0  # a factor of 0 is the function's own here, no branch not taken
    own = [*along, *weights]
    further = outer and reaches_further(back, own)
    # A reverse transform in the function leaves values with the graph of its own leaves.
    value = over(lambda v: without_leaves(v, range(0), own), value)
    # Not to be read from the graph: what was written to since, or has more in it than the caller
    # will differentiate.
    again = not back or silenced
    for leaf in own:
        finished(leaf)

    def push(*tangents: Any) -> Any:
        given, nested = flatten(tuple(tangents))
        if nested != shape:
            raise RuntimeFault(
                "E0302",
                f"Expected the tangents {drawn(nested)} to have the same argspec as the primals "
                f"{drawn(shape)}",
            )
        like(at, given)
        if again:
            if versions != [version_of(p) for p in at]:
                said = "linearize has to run the function again for these tangents, and its"
                mend = "have the function write to x.clone()"
                raise RuntimeFault("E0402", f"{said} argument was written to since", help=mend)
            pushed = tangents_of(lambda *leaves: func(*unflatten(list(leaves), shape)), at, given)
        else:
            tracked = any(t.edge is not None for v in given for t in tensors_of(v))
            create = mode.grad and (further or tracked)
            found = pull_back(back, weights, given, create)  # 0 in floats, of a result without
            cast = iter([g.to(t.dtype) for g, t in zip(found, ends, strict=True)])
            pushed = unflatten([next(cast) if rank_of(t) else t for t in results], form)

        def apart(result: Any) -> Any:
            """A result in memory of its own: no write to it changes a tangent or another."""
            given.append(OPERATORS["clone"](result) if overlaps(result, given) else result)
            return given[-1]

        return over(apart, pushed)

    return value, push
