"""vmap: a function of one value as a function of many, at array speed."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradcli.engine.creation import generator as random
from gradcli.engine.grad_mode import Transform, transforming
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import RuntimeFault, ValueFault
from gradcli.ops.memory_budget import charge_shape, step
from gradcli.ops.operator import OPERATORS
from gradcli.ops.reduction import moveaxis
from gradcli.transforms.batched import SAME, Batched, batch_of, is_batched
from gradcli.transforms.func_checks import mapped_outputs
from gradcli.transforms.levels import Vmap, next_level, running
from gradcli.transforms.memory import demote
from gradcli.transforms.tracer import as_value, lasting, rank_of
from gradcli.transforms.tree import flatten, is_tree, over, parts_of, unflatten


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """``func`` for every entry along a dimension of its arguments at once.

    in_dims    the dimension of each argument that is mapped over, or None for one that is the same
               for all; one number for all arguments, or a tuple with an entry for each. Arguments
               by name are the same for all
    out_dims   where the dimension goes in each result
    randomness what random numbers drawn inside are: an "error", the "same" for all, or "different"
    chunk_size how many entries to work on at a time: less memory at once; None for all

    Nests, and goes with grad, jvp and the others in any order. Inside, a condition cannot depend on
    a mapped value (E0414): use ``where``. Raises ValueFault (E0303) for dimensions that do not fit.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> gradcli.func.vmap(lambda row: row @ row)(x)
        tensor([ 5., 25.])
        >>> gradcli.func.vmap(gradcli.func.grad(lambda row: row @ row))(x)
        tensor([[2., 4.],
                [6., 8.]])
    """

    _check_randomness(randomness)
    if chunk_size is not None and chunk_size < 1:
        raise ValueFault(
            "E0303", f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})"
        )

    @functools.wraps(func, updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if not isinstance(in_dims, int | tuple):
            raise _unfit(
                "in_dims",
                "expected `in_dims` to be int or a (potentially nested) tuple matching the "
                f"structure of inputs, got: {type(in_dims)}.",
            )
        leaves, shape = flatten(args)
        if not args:
            raise _unfit(
                "in_dims",
                "got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
                "function with no inputs. The latter is unsupported.",
            )
        dims = _for_each(in_dims, args, "in_dims")
        count = _size(leaves, dims)
        if chunk_size is not None:
            one = functools.partial(vmap(func, in_dims, out_dims, randomness), **kwargs)
            state = random.generator().get_state() if randomness == "same" else None
            return _by_chunks(one, leaves, shape, dims, count, out_dims, chunk_size, state)
        with mapping(count, randomness) as level:
            batches = [
                v if dim is None else batch_of(v, dim, level)
                for v, dim in zip(leaves, dims, strict=True)
            ]
            with transforming(Transform(None, level=level)):
                result = over(lasting, func(*unflatten(batches, shape), **kwargs))
            outputs, out_shape = flatten(result)
            where = _for_each(out_dims, result, "out_dims", one=out_shape is None)
            mapped_outputs(outputs, where, func)
            found = [_whole(o, level, count, dim) for o, dim in zip(outputs, where, strict=True)]
        return unflatten(found, out_shape)

    return mapped


def over_rows(function: Callable, rows: Sequence[Any], randomness: str = "error") -> Any:
    """``function`` of every row of ``rows`` at once, results along a first dimension.

    For the directions or cotangents of another transform: the function knows nothing of a batch,
    so a write of what has become one to what was none is no error.
    """
    count = rows[0].shape[0]
    with mapping(count, randomness, internal=True) as level:
        outputs, shape = flatten(function(*(Batched(row, level) for row in rows)))
        return unflatten([_whole(out, level, count, 0) for out in outputs], shape)


def _check_randomness(randomness: str) -> None:
    if randomness not in ("error", "same", "different"):
        raise RuntimeFault(
            "E0303", "Only allowed values for randomness are 'error', 'different', or 'same'. "
            f"Got {randomness}",
        )  # fmt: skip


@contextlib.contextmanager
def mapping(count: int, randomness: str, internal: bool = False) -> Iterator[int]:
    """A level for values that are ``count`` side by side, until the end of the ``with``."""
    _check_randomness(randomness)
    level = next_level()
    vmaps, drawing = running.vmaps, random.drawing.get()
    try:
        running.vmaps = [
            *vmaps,
            Vmap(level, count, lambda value: Batched(value, level, SAME), internal),
        ]
        random.drawing.set(_drawing(randomness, level, count))
        running.randomness[level] = randomness
        yield level
    finally:
        running.vmaps = vmaps
        random.drawing.set(drawing)
        running.randomness.pop(level, None)
        demote(level)


def _drawing(randomness: str, level: int, count: int) -> random.Drawing:
    """How a random tensor of a shape is made inside this vmap, and inside those around it."""
    outer = random.drawing.get()

    def draw(make: Callable, shape: tuple) -> Any:
        if randomness == "error":
            said = "vmap: called random operation while in randomness error mode."
            mend = 'vmap(f, randomness="same") or "different" says what is wanted'
            raise RuntimeFault("E0414", said, help=mend)
        full = (count, *shape) if randomness == "different" else shape
        drawn = make(full) if outer is None else outer.of(make, full)
        return Batched(drawn, level) if randomness == "different" else drawn

    return random.Drawing(draw, randomness, level, count, outer)


def _by_chunks(
    one: Callable, leaves: list, shape: Any, dims: list, count: int, out_dims: Any, size: int,
    state: Any,
) -> Any:  # fmt: skip
    """The mapped function on so many entries at a time, the results joined.

    Each chunk draws its random numbers from ``state``, where that is given.
    """
    charge_shape((-(-count // size), 400), 1)  # each call makes a few small tensors at least
    parts = []
    for start in range(0, count or 1, size):
        step()
        if state is not None:
            random.generator().set_state(state)
        cut = [
            v if d is None else v.narrow(d, start, min(size, count - start))
            for v, d in zip(leaves, dims, strict=True)
        ]
        parts.append(one(*unflatten(cut, shape)))
    columns = [flatten(part)[0] for part in parts]
    out_shape = flatten(parts[0])[1]
    where = _for_each(out_dims, parts[0], "out_dims", one=out_shape is None)
    joined = [
        column[0] if dim is None else OPERATORS["cat"](*column, dim=dim)
        for column, dim in zip(zip(*columns, strict=True), where, strict=True)
    ]
    return unflatten(joined, out_shape)


def _for_each(dims: Any, values: Any, what: str, one: bool = False) -> list:
    """A dimension or None for every leaf of ``values``."""
    pairs = [(dims, values)]
    found = []
    while pairs:
        dim, value = pairs.pop()
        if not is_tree(value):
            if one and dim.__class__ is tuple and len(dim) == 1:
                dim = dim[0]
            if dim is not None and dim.__class__ is not int:
                raise _not_dims(what, dim)
            found.append(dim)
            continue
        parts = parts_of(value)
        if dim is None or dim.__class__ is int:
            inner = [dim] * len(parts)
        elif isinstance(dim, dict) and isinstance(value, dict) and dim.keys() == value.keys():
            inner = [dim[name] for name in value]
        elif not isinstance(dim, dict) and dim.__class__ is value.__class__:
            inner = list(dim)
        else:
            raise _not_dims(what, dim)
        if len(inner) != len(parts):
            raise _unfit(
                what,
                f"{what} is not compatible with the structure of {_WHOSE[what]}: it has "
                f"{len(inner)} entries for {len(parts)} values",
            )
        pairs += list(zip(inner, parts, strict=True))[::-1]
    return found


_WHOSE = {"in_dims": "`inputs`", "out_dims": "`outputs`"}


def _not_dims(what: str, dim: Any) -> ValueFault:
    if not isinstance(dim, tuple | list | dict):
        return _unfit(
            what,
            f"`{what}` must be an int, None or a python collection of ints representing where in "
            f"{_WHOSE[what]} the vmapped dimension is, got {dim!r}",
        )
    return _unfit(
        what, f"{what} is not compatible with the structure of {_WHOSE[what]}: {dim!r} is in it"
    )


def _unfit(what: str, message: str) -> ValueFault:
    return ValueFault(
        "E0303", f"vmap: {message}", help=f"{what} is one number, or nested as the values are"
    )


def _size(values: list, dims: list) -> int:
    sizes = set()
    for value, dim in zip(values, dims, strict=True):
        if dim is not None:
            if not rank_of(value):
                said = f"Got in_dim={dim} for an input but the input is of type {type(value)}. We"
                said += " cannot vmap over non-Tensor arguments, please use None as the respective"
                raise _unfit("in_dims", f"{said} in_dim")
            rank = len(value.shape)
            if not -rank <= dim < rank:
                said = f"Got in_dim={dim} for some input, but that input is a Tensor of"
                said += f" dimensionality {rank} so expected in_dim to satisfy -{rank} <= in_dim <"
                raise _unfit("in_dims", f"{said} {rank}.")
            sizes.add(value.shape[dim])
    if not sizes:
        raise _unfit("in_dims", "Expected at least one Tensor to vmap over")
    if len(sizes) > 1:
        said = "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes"
        mend = "in_dims=None leaves an argument the same for all"
        raise ValueFault("E0303", f"{said} {sorted(sizes)} for the mapped dimension", help=mend)
    return sizes.pop()


def _whole(out: Any, level: int, count: int, dim: int | None) -> Any:
    """A result with the mapped dimension where it belongs."""
    if not is_batched(out, level):
        if dim is None:
            return out
        out = as_value(out)
        value = OPERATORS["expand"](out, (count, *out.shape))
    else:
        if dim is None and (same := out.alike()) is not None:
            return same
        if dim is None:
            said = "vmap: the function can not return a BatchedTensor when out_dim is None: the"
            said += " result differs along the mapped dimension"
            raise ValueFault("E0303", said, help="give the dimension where it goes")
        value = out.value
    place = normal_dim(dim, len(value.shape))
    if is_batched(out, level) and out.given and out.given[1] == place:
        return out.given[0]
    return value if place == 0 else moveaxis(value, 0, place)
