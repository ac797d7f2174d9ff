"""A batch of values that a function sees as one: the value of ``vmap``.

A ``Batched`` answers the operators' protocol. Its ``value`` has the batch in its first dimension,
which ``shape`` and every parameter of an operator leave out. How an operator works on the whole
batch at once stands in ``batch_rules``; one without a rule there runs once for each element, and
the results are stacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.engine import Tensor
from gradcli.engine.custom_function.node import call
from gradcli.engine.named_tuples import Extremes, Results
from gradcli.engine.tensor.attributes import Size
from gradcli.functions.operator_methods import plain_index
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import RuntimeFault
from gradcli.ops.memory_budget import step
from gradcli.ops.operator import OPERATORS
from gradcli.ops.reduction import moveaxis
from gradcli.transforms.batch_rules import rule_of
from gradcli.transforms.forward import Dual
from gradcli.transforms.tracer import Operand, as_value

randomness: dict[int, str] = {}
"""What each running vmap says of random numbers, by level; no two threads share a level."""


class VmapInfo(NamedTuple):
    """What a custom function's own ``vmap`` is told."""

    batch_size: int
    randomness: str


class Batched(Operand):
    """``size`` values side by side."""

    __slots__ = ("__gradcli_rank__", "value")

    def __init__(self, value: Any, level: int) -> None:
        self.value = value
        self.__gradcli_rank__ = level

    def __gradcli_apply__(self, op: Any, args: tuple, params: dict) -> Any:
        level = self.__gradcli_rank__
        if op.name == "getitem":
            params = {**params, "index": params.get("index", ())}
        if not any(holds(p, level) for p in params.values()):
            rule = rule_of(op)
            if rule is not None:
                found = rule(op, _Split(args, level), {**op.params, **params})
                if found is not NotImplemented:
                    return Batched(found, level)
        return self._each(lambda i: op(*pick(args, level, i), **pick(params, level, i)))

    def __gradcli_function__(self, definition: Any, args: tuple) -> Any:
        """A custom function: by its own vmap, or once for each element."""
        level = self.__gradcli_rank__
        if getattr(definition, "vmap", None) is not None:
            if getattr(definition, "generate_vmap_rule", False):
                raise RuntimeFault(
                    "E0412",
                    f"You tried to vmap over {definition.__name__}, but it has both "
                    "generate_vmap_rule=True and an overridden vmap staticmethod.",
                    help="set generate_vmap_rule to False, or leave the vmap method out",
                )
            return self._by_vmap(definition, args)
        return self._each(lambda i: call(definition, pick(args, level, i)))

    def _by_vmap(self, definition: Any, args: tuple) -> Any:
        """``vmap(info, in_dims, *args)`` of a custom function: its results and where they are."""
        level = self.__gradcli_rank__
        own = [is_batched(a, level) for a in args]
        values = [a.value if mine else a for a, mine in zip(args, own, strict=True)]
        dims = tuple(0 if mine else None for mine in own)
        result, out_dims = definition.vmap(VmapInfo(self.count, randomness[level]), dims, *values)
        if not isinstance(result, tuple):
            return _placed(result, out_dims, level)
        if not isinstance(out_dims, tuple):
            out_dims = (out_dims,) * len(result)
        return tuple(_placed(r, d, level) for r, d in zip(result, out_dims, strict=True))

    def each_of(self, function: Any, args: tuple, options: dict) -> Any:
        """A function that looks at numbers, once for each element."""
        level = self.__gradcli_rank__
        return self._each(lambda i: function(*pick(args, level, i), **pick(options, level, i)))

    def _each(self, function: Any) -> Any:
        level = self.__gradcli_rank__
        results = []
        for i in range(self.count):
            step()
            results.append(function(i))
        first = results[0]
        if isinstance(first, tuple):
            parts = (
                _side_by_side(OPERATORS["stack"](*map(as_value, part)), level)
                for part in zip(*results, strict=True)
            )
            return type(first)(parts, first.name) if isinstance(first, Results) else tuple(parts)
        return _side_by_side(OPERATORS["stack"](*map(as_value, results)), level)

    def become(self, other: Any) -> Batched:
        """Take over another value's place: what a write in place does."""
        level = self.__gradcli_rank__
        if is_batched(other, level):
            self.value = other.value
        else:
            self.value = OPERATORS["expand"](other, (self.count, *other.shape))
        return self

    @property
    def count(self) -> int:
        """How many values there are."""
        return self.value.shape[0]

    @property
    def shape(self) -> Size:
        """The shape of one value, without the dimension of the batch."""
        return Size(self.value.shape[1:])

    @property
    def dtype(self) -> Any:
        """The dtype that all values have."""
        return self.value.dtype

    @property
    def array(self) -> Batched:
        """Itself: as a parameter, such as the indices of gather, it is read element by element."""
        return self

    @property
    def requires_grad(self) -> bool:
        """Whether the values are recorded for a gradient."""
        return self.value.requires_grad

    def detach(self) -> Any:
        """The same values outside the graph, still a batch."""
        return Batched(self.value.detach(), self.__gradcli_rank__)

    def max(self, dim: Any = None, keepdim: bool = False) -> Any:
        """As Tensor's: of all entries, along a dimension, or of two values entry by entry."""
        return self._extreme("max", dim, keepdim)

    def min(self, dim: Any = None, keepdim: bool = False) -> Any:
        """As Tensor's: of all entries, along a dimension, or of two values entry by entry."""
        return self._extreme("min", dim, keepdim)

    def _extreme(self, name: str, dim: Any, keepdim: bool) -> Any:
        if getattr(dim, "__gradcli_rank__", 0):
            return OPERATORS[f"{name}imum"](self, dim)
        if dim is None:
            return OPERATORS[f"a{name}"](self)
        found = getattr(self.value, name)(normal_dim(dim, self.ndim) + 1, keepdim)
        return Extremes((Batched(part, self.__gradcli_rank__) for part in found), name)

    def __getitem__(self, index: Any) -> Any:
        if holds(index, self.__gradcli_rank__):
            return self.pick_from(self, index)
        return OPERATORS["getitem"](self, plain_index(index))

    def pick_from(self, source: Any, index: Any) -> Any:
        """``source[index]`` where the index differs along the batch: at once where it can be."""
        level = self.__gradcli_rank__
        parts = index if isinstance(index, tuple) else (index,)
        at_once = all(is_batched(p, level) and isinstance(p.value, Tensor) and p.dtype.kind == 1
                      for p in parts)  # fmt: skip
        if not at_once or source.__class__ not in (Tensor, Batched):
            return self._each(lambda i: pick(source, level, i)[pick(index, level, i)])
        rank = max(p.ndim for p in parts)
        arrays = tuple(
            p.value.array.reshape((self.count, *(1,) * (rank - p.ndim), *p.shape)) for p in parts
        )
        if is_batched(source, level):
            rows = np.arange(self.count).reshape((-1,) + (1,) * rank)
            return Batched(OPERATORS["getitem"](source.value, index=(rows, *arrays)), level)
        return Batched(OPERATORS["getitem"](source, index=arrays), level)

    def item(self) -> Any:
        """Raises RuntimeFault (E0414): a batch is not one number."""
        raise _depends("you call .item() on")

    tolist = item

    def __bool__(self) -> bool:
        raise _depends("the control flow depends on")

    def __float__(self) -> float:
        raise _depends("you convert to a number")

    __int__ = __index__ = __float__

    def __repr__(self) -> str:
        return f"Batched({self.value!r})"


def _placed(result: Any, dim: int | None, level: int) -> Any:
    """A result whose batch is along ``dim``; None: the same for all."""
    if dim is None:
        return result
    return Batched(result if dim == 0 else moveaxis(result, dim, 0), level)


def _side_by_side(stack: Any, level: int) -> Any:
    """Stacked results as a batch; one inside the tangents that were taken of them."""
    if stack.__class__ is Dual and stack.__gradcli_rank__ > level:
        parts = (_side_by_side(part, level) for part in (stack.primal, stack.tangent))
        return Dual(*parts, stack.__gradcli_rank__)
    return Batched(stack, level)


def _depends(what: str) -> RuntimeFault:
    return RuntimeFault(
        "E0414",
        f"inside vmap {what} a value that is a whole batch",
        help="choose entry by entry with where(); or write a loop instead of vmap",
    )


def is_batched(value: Any, level: int) -> bool:
    """Whether ``value`` is a batch of this level."""
    return value.__class__ is Batched and value.__gradcli_rank__ == level


def holds(tree: Any, level: int) -> bool:
    """Whether a parameter, an index for example, has a batch of this level in it."""
    if tree.__class__ in (tuple, list):
        return any(holds(part, level) for part in tree)
    return is_batched(tree, level)


def pick(tree: Any, level: int, i: int) -> Any:
    """``tree`` as element ``i`` of the batch sees it."""
    if tree.__class__ in (tuple, list):
        return tree.__class__(pick(part, level, i) for part in tree)
    if tree.__class__ is dict:
        return {name: pick(part, level, i) for name, part in tree.items()}
    if tree.__class__ is Dual and tree.__gradcli_rank__ > level:
        parts = (pick(part, level, i) for part in (tree.primal, tree.tangent))
        return Dual(*parts, tree.__gradcli_rank__)
    return tree.value[i] if is_batched(tree, level) else tree


class _Split:
    """An operator's arguments as a batch rule reads them."""

    def __init__(self, args: Sequence[Any], level: int) -> None:
        self.own = [is_batched(a, level) for a in args]
        self.args = list(args)
        self.values = [a.value if mine else a for a, mine in zip(args, self.own, strict=True)]
        self.ranks = [len(getattr(a, "shape", ())) for a in args]
        self.count = next(v.shape[0] for v, mine in zip(self.values, self.own, strict=True) if mine)

    def full(self, i: int) -> Any:
        """Argument ``i`` with the batch in front, repeated where it is the same for all."""
        value = self.values[i]
        if self.own[i]:
            return value
        value = as_value(value)
        return OPERATORS["expand"](value, (self.count, *value.shape))
