"""Indexing, joining, reversing and running sums of symbols: products with selectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.ops.dims import normal_dim, normal_dims
from gradcli.symbolic.expr import selectors, sizes
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.shapes.rules import items, listed, widths
from gradcli.symbolic.trace.operations import apart, expand
from gradcli.symbolic.trace.operations import sum as total
from gradcli.symbolic.trace.symbol import Symbol, aligned, operation
from gradcli.symbolic.unsupported import no_closed_form


def selected(x: v.Tensor, base: v.Base, labels: tuple[v.Label, ...], *gone: v.Label) -> v.Tensor:
    """A tensor times a selector, summed over labels; every term by itself."""
    return v.contract(v.distribute(x, v.factor(base, labels)), gone)


def entry_of(x: v.Tensor, label: v.Label, k: int) -> v.Tensor:
    """Entry k along a label."""
    return selected(x, selectors.entry(label[0], k), (label,), label)


@operation("getitem")
def getitem(x: Symbol, index: Any = ()) -> Symbol:
    """x[index]: a number picks an entry, a slice a part, None adds an axis of size 1.

    Raises a fault (E0701) where the size of a slice is not known.
    """
    x = apart(x)
    t: v.Tensor = x.tensor
    axes: list = []
    left = iter(x.axes)
    for p in items(index, len(x.axes)):
        if p is None:
            axes.append(None)
            continue
        label = next(left)
        if isinstance(p, slice):
            t, label = _slice(t, label, p)
            axes.append(label)
        elif label is not None:
            t = entry_of(t, label, p)
    return Symbol(t, tuple(axes))


def _slice(t: v.Tensor, label: Any, p: slice) -> tuple[v.Tensor, Any]:
    if label is None or p == slice(None):
        return t, label
    try:
        size, start = sizes.extent(label[0], p.start, p.stop, p.step)
    except ValueError as why:
        raise no_closed_form(f"a slice with {why}") from None
    if size == label[0]:
        return t, label
    if size == "1":
        return entry_of(t, label, _numbered(start, label[0])), None
    new = v.fresh(size)
    return selected(t, selectors.part(size, label[0], start, p.step or 1), (new, label), label), new


@operation("put")
def put(x: Symbol, value: Symbol, index: Any = (), onward: bool = False) -> Symbol:
    """x - what is there + what is put there."""
    x = apart(x)
    old = getitem(x, index=index)
    new = expand(value, old.shape) if value.axes != old.axes else value
    (a, b), axes = aligned((old, new))
    t, left = v.add(b, v.scale(a, -1)), iter(axes)
    whole: list[Any] = []
    labels = iter(x.axes)
    for p in items(index, len(x.axes)):
        if p is None:
            next(left)
            continue
        label = next(labels)
        here = next(left) if isinstance(p, slice) else None
        if label is None or p == slice(None):
            whole.append(here)
            continue
        far = v.fresh(label[0])
        whole.append(far)
        if not isinstance(p, slice):
            t = v.distribute(t, v.factor(selectors.entry(label[0], p), (far,)))
            continue
        size, start = sizes.extent(label[0], p.start, p.stop, p.step)
        if here is None:
            t = v.distribute(
                t, v.factor(selectors.entry(label[0], _numbered(start, label[0])), (far,))
            )
        elif size == label[0]:
            whole[-1] = here
        else:
            t = selected(t, selectors.part(size, label[0], start, p.step or 1), (here, far), here)
    (a, b), axes = aligned((x, Symbol(t, tuple(whole))))
    return Symbol(v.add(a, b), axes)


@operation("stack")
def stack(*xs: Symbol, dim: int = 0) -> Symbol:
    """Each tensor times the entry of its place along a new axis, and these added."""
    tensors, axes = aligned([Symbol(x.tensor, (*x.axes,)) for x in xs])
    place = normal_dim(dim, len(axes) + 1)
    if len(xs) == 1:
        return Symbol(tensors[0], (*axes[:place], None, *axes[place:]))
    label = v.fresh(str(len(xs)))
    parts = [
        v.distribute(t, v.factor(selectors.entry(label[0], k), (label,)))
        for k, t in enumerate(tensors)
    ]
    return Symbol(v.add(*parts), (*axes[:place], label, *axes[place:]))


@operation("cat")
def cat(*xs: Symbol, dim: int = 0) -> Symbol:
    """Each tensor with zeros around it along the axis, and these added.

    Raises a fault (E0701) for an axis of size 1 that stands behind sizes without a number.
    """
    axis = normal_dim(dim, len(xs[0].axes))
    if len(xs) == 1:
        return xs[0]
    parts = [apart(x) for x in xs]
    long = "0"
    for x in parts:
        long = sizes.plus(long, _extent(x, axis))
    others = [Symbol(x.tensor, x.axes[:axis] + x.axes[axis + 1 :]) for x in parts]
    tensors, axes = aligned(others)
    label = v.fresh(long)
    start, found = "0", []
    for x, t in zip(parts, tensors, strict=True):
        found.append(_embedded(t, x.axes[axis], label, start))
        start = sizes.plus(start, _extent(x, axis))
    return Symbol(v.add(*found), (*axes[:axis], label, *axes[axis:]))


def _embedded(t: v.Tensor, here: Any, label: v.Label, start: str) -> v.Tensor:
    """A tensor with zeros around it along an axis."""
    if here is None:
        if not start.isdigit():
            if sizes.plus(label[0], start, -1) != "1":
                raise no_closed_form("joining a single entry behind dimensions without a number")
            start = "-1"
        return v.distribute(t, v.factor(selectors.entry(label[0], int(start)), (label,)))
    return selected(t, selectors.part(here[0], label[0], start), (here, label), here)


@operation("pad")
def pad(x: Symbol, pad: Sequence[int] = ()) -> Symbol:
    """Zeros around a tensor: its axes as parts of longer ones."""
    x = apart(x)
    t, axes = x.tensor, list(x.axes)
    for axis, (low, high) in widths(pad, len(axes)).items():
        here = axes[axis]
        label = v.fresh(sizes.plus(sizes.plus(here[0] if here else "1", low), high))
        t, axes[axis] = _embedded(t, here, label, low), label
    return Symbol(t, tuple(axes))


@operation("sum_to")
def sum_to(x: Symbol, shape: Sequence[int] = ()) -> Symbol:
    """The sum over axes that broadcasting had added or stretched from size 1."""
    lead = len(x.axes) - len(shape)
    found = total(x, tuple(range(lead)), False) if lead else x
    for i, size in enumerate(shape):
        if size == 1:
            found = total(found, i, True)
    return found


@operation("flip")
def flip(x: Symbol, dims: Any = None) -> Symbol:
    """A product with the matrix that reverses, along each of the dimensions."""
    x = apart(x)
    t, axes = x.tensor, list(x.axes)
    for d in normal_dims(dims, len(axes)):
        label = axes[d] if axes else None
        if label is not None:
            new = axes[d] = v.fresh(label[0])
            t = selected(t, selectors.flip(label[0]), (new, label), label)
    return Symbol(t, tuple(axes))


@operation("roll")
def roll(x: Symbol, shifts: Any = 1, dims: Any = None) -> Symbol:
    """A product with the matrix that moves entries round, along each of the dimensions.

    Raises a fault (E0701) for a matrix without a dimension given.
    """
    dims = None if dims == () else dims
    if dims is None and len(x.axes) > 1:
        raise no_closed_form("`roll` of a flattened matrix (give a dimension)")
    x = apart(x)
    t, axes = x.tensor, list(x.axes)
    for shift, d in zip(listed(shifts), normal_dims(dims, len(axes)), strict=True):
        label = axes[d]
        if label is None or not shift or (label[0].isdigit() and shift % int(label[0]) == 0):
            continue
        new = axes[d] = v.fresh(label[0])
        t = selected(t, selectors.roll(label[0], int(shift)), (new, label), label)
    return Symbol(t, tuple(axes))


def _triangle(x: Symbol, k: int, turned: bool) -> Symbol:
    """Zeros above a diagonal, a product with ones on and below it; ``turned``, of the transpose."""
    x = apart(x)
    a, b = x.axes[-2:]
    if a is None or b is None:
        raise no_closed_form("a triangle of a matrix with a dimension of size 1")
    if turned:
        a, b = b, a
    return Symbol(v.distribute(x.tensor, v.factor(selectors.below(a[0], b[0], k), (a, b))), x.axes)


operation("tril")(lambda x, diagonal=0: _triangle(x, diagonal, False))
operation("triu")(lambda x, diagonal=0: _triangle(x, -diagonal, True))


@operation("cumsum")
def cumsum(x: Symbol, dim: int = 0) -> Symbol:
    """Running sums: a product with the matrix of ones on and below the diagonal."""
    if not x.axes:
        return x
    x = apart(x)
    d = normal_dim(dim, len(x.axes))
    label = x.axes[d]
    if label is None:
        return x
    new = v.fresh(label[0])
    t = selected(x.tensor, selectors.below(label[0], label[0], 0), (new, label), label)
    return Symbol(t, (*x.axes[:d], new, *x.axes[d + 1 :]))


def _numbered(start: int | str, size: str) -> int:
    """A place by its number, from the end where only that is known: n - 1 of n is -1.

    Raises a fault (E0701) for a place that has none, such as m of n.
    """
    if isinstance(start, int) or start.lstrip("-").isdigit():
        return int(start)
    beyond = sizes.plus(start, size, -1)
    if beyond.lstrip("-").isdigit():
        return int(beyond)
    raise no_closed_form(f"one entry at {start} of {size}")


def _extent(x: Symbol, axis: int) -> str:
    """The size of an axis."""
    label = x.axes[axis]
    return "1" if label is None else label[0]
