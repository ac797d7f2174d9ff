"""A batch of values that a function sees as one: the value of ``vmap``.

A ``Batched`` answers the operators' protocol. Its ``value`` has the batch in its first dimension,
which ``shape`` and every parameter of an operator leave out. How an operator works on the whole
batch at once stands in ``batch_rules``; one without a rule there runs once for each element, and
the results are stacked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.engine.creation.factories import eye
from gradcli.engine.custom_function.node import call
from gradcli.engine.grad_mode import enable_grad, mode, refuse_in_transform, transformed
from gradcli.engine.graph.own_passes import made_by
from gradcli.engine.named_tuples import Results
from gradcli.engine.record.apply import share_memory
from gradcli.engine.record.composite import bottom, dynamic_shape, laid_like, parts_of, version_of
from gradcli.engine.tensor.attributes import Size
from gradcli.engine.tensor.storage import References, Slots
from gradcli.engine.tensor.tensor import Plain
from gradcli.functions.scatter import index_put
from gradcli.functions.subscripts import plain_index
from gradcli.ops.dims import in_order, normal_dim
from gradcli.ops.errors import IndexFault, RuntimeFault
from gradcli.ops.memory_budget import step
from gradcli.ops.operator import OPERATORS
from gradcli.ops.reduction import moveaxis
from gradcli.transforms.batch_rules import rule_of
from gradcli.transforms.dual import data_within
from gradcli.transforms.func_checks import drawn
from gradcli.transforms.levels import running
from gradcli.transforms.memory import (
    leave,
    movable,
    moved,
    note_promoted,
    show_written,
    zeros_beside,
)
from gradcli.transforms.reverse import gradients
from gradcli.transforms.tracer import (
    Layer,
    as_value,
    become,
    chain_of,
    operands_of,
    overlaps,
    rank_of,
    shares,
    snapshot,
    store,
)
from gradcli.transforms.tree import flatten, over, unflatten

SAME = ()


class VmapInfo(NamedTuple):
    """What a custom function's own ``vmap`` is told."""

    batch_size: int
    randomness: str


class Batched(Layer):
    """``count`` values side by side."""

    __slots__ = ()
    batch = True
    value = Layer.content
    # Of an argument that is mapped over: what it is, and the dimension. SAME for all elements: of
    # what is a batch only for each to have a gradient of its own, and was computed from that alone.
    given: Any = Slots.edge  # type: ignore[attr-defined]

    def __init__(self, value: Any, level: int, given: Any = None) -> None:
        self.value = value
        self.__gradcli_rank__ = level
        self.aliases = None
        self.given = given

    def components(self) -> tuple:
        """The content alone."""
        return (self.value,)

    def around(self, content: Any) -> Batched:
        """A batch of other values at this level, which are the same for all where these are."""
        return Batched(content, self.__gradcli_rank__, SAME if self.given == SAME else None)

    def over(self, change: Callable[[Any], Any]) -> Batched:
        """The batch of the changed values."""
        return Batched(change(self.value), self.__gradcli_rank__)

    def __gradcli_apply__(self, op: Any, args: tuple, params: dict) -> Any:
        level = self.__gradcli_rank__
        if self.given == SAME and self.count and level not in running.randomness:  # one for all
            one = (a.value[0] if is_batched(a, level) and a.given == SAME else a for a in args)
            return op(*one, **params)
        self.alive()
        if not any(holds(p, level) for p in params.values()):
            rule = rule_of(op)
            if rule is not None:
                found = rule(op, _Split(args, level), {**op.params, **params})
                if found is not NotImplemented:
                    same = all(a.given == SAME for a in args if is_batched(a, level))
                    return self._noted(Batched(found, level, SAME if same else None), op, args)
        return self._each(lambda i: op(*pick(args, level, i), **pick(params, level, i)))

    def alive(self) -> int:
        """Its level. Raises RuntimeFault (E0414) where the vmap has ended."""
        level: int = self.__gradcli_rank__
        if level not in running.randomness:
            said = "a value of a vmap that has ended is used: your tensor may have escaped from"
            mend = "return it from the function that was mapped"
            raise RuntimeFault("E0414", f"{said} inside a function being vmapped", help=mend)
        return level

    def __gradcli_function__(self, definition: Any, args: tuple, made: Any = None) -> Any:
        """A custom function: by its own vmap, or once for each element.

        Where a gradient is taken inside of the vmap, that is ``backward``'s, of each element: not
        of what its vmap is computed by, which gives the values alone.
        """
        level = self.alive()
        generated = getattr(definition, "generate_vmap_rule", False)
        if made is None and getattr(definition, "vmap", None) is not None:
            if generated:
                said = f"You tried to vmap over {definition.__name__}, but it has both"
                said += " generate_vmap_rule=True and an overridden vmap staticmethod."
                mend = "set generate_vmap_rule to False, or leave the vmap method out"
                raise RuntimeFault("E0412", said, help=mend)
            own = [a for a in args if is_batched(a, level)]
            if not mode.grad or not any(a.requires_grad for a in own):
                return self._by_vmap(definition, args)
            if any(a.alike() is None for a in own):  # else one for all
                made = self._by_vmap(definition, args, recorded=False)
                if any(all(v is not a for a in own) and overlaps(v, own) for v in flatten(made)[0]):
                    made = None  # a view, which forward makes of each element
        elif made is None and not generated and not running.internal(level):
            said = f"You tried to vmap over {definition.__name__}, but it does not have vmap"
            mend = "implement the vmap staticmethod or set generate_vmap_rule=True"
            raise RuntimeFault("E0412", f"{said} support.", help=mend)
        shared = [a for a in args if rank_of(a) and not is_batched(a, level)]
        versions = [version_of(a) for a in shared]
        given, results, shape = [], [], None

        def one(i: int) -> tuple:
            nonlocal shape
            given.append(pick(args, level, i))
            elements = {id(a): element for a, element in zip(args, given[i], strict=True)}
            value = over(
                lambda v: elements.get(id(v), v) if not rank_of(v) or id(v) in elements
                else pick(v, level, i).detach(),
                made,
            )  # fmt: skip
            leaves, shape = flatten(call(definition, given[i], made=value))
            results.append(leaves)
            return tuple(leaf for leaf in leaves if rank_of(leaf))

        found = self._each(one)
        if versions != [version_of(a) for a in shared]:
            said = f"{definition.__name__} wrote to an argument that is not mapped over, once for"
            mend = "give the function x.clone()"
            raise RuntimeFault("E0412", f"{said} each element of the batch", help=mend)
        outputs = iter(found)
        placed = [
            self._on_memory(next(outputs), parts, args, given) if rank_of(parts[0]) else parts[0]
            for parts in zip(*results, strict=True)
        ]
        return unflatten(placed, shape)

    def _on_memory(self, out: Any, parts: Sequence[Any], args: tuple, given: list) -> Any:
        """Results side by side: an argument where each is its element, a view where each is one."""
        for arg, own in zip(args, zip(*given, strict=True), strict=True):
            if not is_batched(arg, self.__gradcli_rank__):
                continue
            if all(part is one for part, one in zip(parts, own, strict=True)):
                return arg
            if is_batched(out, self.__gradcli_rank__):
                _lay_on(out, parts, arg)
        return out

    def _by_vmap(self, definition: Any, args: tuple, recorded: bool = True) -> Any:
        """``vmap(info, in_dims, *args)`` of a custom function: its results and where they are."""
        level = self.__gradcli_rank__
        leaves, form = flatten(list(args))

        def part(a: Any) -> tuple:
            return (a.given or (a.value, 0)) if is_batched(a, level) else (a, None)

        parts = list(map(part, leaves))
        dims = [dim for _, dim in parts]
        given = [v if recorded or not rank_of(v) else v.detach() for v, _ in parts]
        info = VmapInfo(self.count, running.randomness[level])
        returned = definition.vmap(info, tuple(unflatten(dims, form)), *unflatten(given, form))
        if not isinstance(returned, tuple) or len(returned) != 2:
            several = isinstance(returned, tuple)
            said = "Expected the vmap staticmethod to have two returns, an output and out_dims with"
            got = f"{len(returned)} returns" if several else f"a {type(returned)}"
            said += f" pytree structure compatible with the output. Got {got} instead"
            raise RuntimeFault("E0411", said)
        result, out_dims = returned
        outputs, shape = flatten(result)
        places, nested = flatten(out_dims)
        if nested is None:
            places = places * len(outputs)
        elif nested != shape:
            said = "The autograd.Function's vmap staticmethod returned an incompatible (output,"
            said += f" out_dims) tuple: the output has structure {drawn(shape)}, out_dims is"
            mend = "give one dimension or None for each output, nested as they are"
            raise RuntimeFault("E0411", f"{said} {out_dims}", help=mend)

        def placed(result: Any, dim: int | None) -> Any:
            """A result whose batch is along ``dim``; None: the same for all."""
            if dim is None:
                return result
            for a, value, own in zip(leaves, given, dims, strict=True):
                if value is result and own == dim:
                    return a  # forward wrote to it
            made = batch_of(result, dim, level)
            source = next((a for a in leaves if is_batched(a, level) and shares(a, made)), None)
            return made if source is None else source.note_view(made)

        return unflatten([placed(r, d) for r, d in zip(outputs, places, strict=True)], shape)

    def each_of(self, function: Any, args: tuple, options: dict) -> Any:
        """A function that looks at numbers, once for each element."""
        level = self.__gradcli_rank__
        return self._each(lambda i: function(*pick(args, level, i), **pick(options, level, i)))

    def at_once(self, function: Callable, *args: Any) -> Any:
        """``function`` of values with the batch in front, where it takes them so; once for all."""
        level = self.__gradcli_rank__

        def front(value: Any, dim: int = 0) -> Any:
            if rank_of(value) > level:  # a batch of a higher level has its dimension before ours
                return value.over(lambda part: front(part, dim + value.batch))
            if not rank_of(value):
                return value
            own = is_batched(value, level)
            value = value.value if own else OPERATORS["expand"](value, (self.count, *value.shape))
            return moveaxis(value, 0, dim) if dim else value

        return _side_by_side(function(*map(front, args)), level)

    def _each(self, function: Any) -> Any:
        level = self.__gradcli_rank__
        results = []
        for i in range(max(1, self.count)):  # of none, zeros show the shape
            step()
            results.append(function(i))

        def joined(parts: Sequence[Any]) -> Any:
            stack = OPERATORS["stack"](*map(as_value, parts))
            laid_like(stack, parts[0])
            return _side_by_side(stack if self.count else stack[:0], level)

        first = results[0]
        if isinstance(first, tuple):
            columns = map(joined, zip(*results, strict=True))
            return type(first)(columns) if isinstance(first, Results) else (*columns,)
        return joined(results)

    def hook_below(self, hook: Callable) -> Callable:
        """``hook`` for the gradients of all elements, side by side."""
        level = self.__gradcli_rank__

        @functools.wraps(hook, assigned=())
        def below(g: Any) -> Any:
            # With a tangent of a transform inside the vmap, that is around each batch.
            def raised(part: Any) -> Any:
                return part.over(raised) if rank_of(part) > level else self.around(part)

            def lowered(part: Any) -> Any:
                if rank_of(part) > level:
                    return part.over(lowered)
                if is_batched(part, level):
                    return part.value
                return OPERATORS["expand"](part, g.shape)  # the same for every element

            changed = hook(raised(g))
            return None if changed is None else lowered(changed)

        below.gradcli_whole = getattr(hook, "gradcli_whole", hook)  # type: ignore[attr-defined]
        return below

    def _noted(self, out: Batched, op: Any, args: tuple) -> Batched:
        """A result, noted to share the memory of what it is a view of."""
        source = args[0]
        if op.kind == "linear" and source.__class__ is Batched and shares(out, source):
            source.note_view(out)
        else:
            _apart(out, 0, args)
        return out

    def write(self, value: Any) -> None:
        """Write to all values of the batch, each its own or all the same."""
        own, target = is_batched(value, self.alive()), self.value
        if self.given == SAME and own and value.given != SAME:
            for member in self.sharing():
                member.given = None  # type: ignore[attr-defined]  # a batch, as this is
        in_one = self.count and not self._across()  # memory for all
        if own and not running.internal(self.__gradcli_rank__):
            in_one = False  # what is written has a gradient for each
        same = None if not in_one else value.alike() if own else value
        if same is not None:
            target, value = target[0], same
        elif own:
            value = value.value
        elif hasattr(value, "shape"):
            value = OPERATORS["expand"](value, (self.count, *self.shape))
        store(target, value)
        # What is one in memory has a tangent for each.
        for layer in chain_of(self.value) if same is not None else ():
            if not layer.batch:
                tangent = layer.tangent
                store(tangent, OPERATORS["expand"](tangent[0], tangent.shape))
        show_written(self)

    def admit(self, target: Any) -> None:
        """Make batches of ``target`` and of what shares its memory, in a vmap that nobody wrote,
        or with values that are the same for all, where a reverse transform made batches of them.

        Elsewhere raises RuntimeFault (E0414), as in PyTorch: what is the same for the whole batch
        cannot hold this one.
        """
        level = self.__gradcli_rank__
        internal = {vmap.level for vmap in running.vmaps if vmap.internal}
        lifted = {level for transform in transformed.by for level in transform.lifted}
        have = {v.__gradcli_rank__ for v in chain_of(target)}
        own: Any = {v.__gradcli_rank__: v for v in chain_of(self) if v.batch}
        if all(k in internal or (k in lifted and own[k].is_uniform()) for k in own.keys() - have):
            members = movable(target, self)
            batches = zeros_beside(members, self)
            aliases = References()
            before = moved(members)
            with enable_grad():  # only the memory changes
                for was, batch in zip(before, batches, strict=True):
                    if 0 not in bottom(was).own_array().strides:  # else others hold what it shows
                        store(batch, was)
            for member, was, batch in zip(members, before, batches, strict=True):
                member.__class__ = Batched
                member.__init__(batch.content, level)
                member.aliases = aliases
                aliases.note(member)
                note_promoted(member, was, level)
                leave(was)
            aliases.shown = [*zip(batches, before, strict=True)]
            return
        said = "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a"
        said += " Tensor `other` in extra_args that has more elements than `self`."
        mend = "make the target of a mapped value: x.new_zeros(3) in the place of zeros(3)"
        raise RuntimeFault("E0414", said, help=mend)

    def put_at(self, target: Any, index: Any, value: Any) -> None:
        """``target[index] = value`` where the index differs along the batch."""
        index, differs = _alike(index, self.__gradcli_rank__)
        if not differs:
            target[index] = value
            return
        become(target, self.put_into(target, index, value))

    def put_into(self, target: Any, index: Any, value: Any, accumulate: bool = False) -> Any:
        """``target`` with ``value`` written where an index says that differs along the batch."""
        index, differs = _alike(index, self.__gradcli_rank__)
        if not differs:
            return index_put(target, index, value, accumulate)
        where = _Where(self, target, index)
        before = snapshot(target)
        shape = tuple(self.at_once(where.read, before).shape)
        value = as_value(value).to(target.dtype)
        while len(value.shape) > len(shape) and value.shape[0] == 1:
            value = value[0]
        value = OPERATORS["expand"](value, shape)
        return self.at_once(lambda x, v: where.write(x, v, accumulate), before, value)

    def __gradcli_grad__(self, *asked: Any) -> tuple:
        return gradients(*asked)

    def __gradcli_like__(self, create: Callable, *value: Any, **options: Any) -> Any:
        self.alive()
        made = self.around(create(self.value, *value, **options))
        _apart(made, 0, ())
        return made

    def _like(self, make: Callable, size: tuple, *value: Any, **options: Any) -> Any:
        made = super()._like(make, (self.count, *size), *value, **options)
        return Batched(made, self.alive())

    @property
    def count(self) -> int:
        """How many values there are."""
        return self.value.shape[0]

    @property
    def shape(self) -> Size:
        """The shape of one value, without the dimension of the batch."""
        return tuple.__new__(Size, self.value.shape[1:])

    @property
    def array(self) -> Batched:
        """Itself: as a parameter, such as the indices of gather, it is read element by element."""
        return self

    def detach(self) -> Any:
        """The same values outside the graph, still a batch."""
        self.alive()
        return self.around(self.value.detach())

    def become_view(self, view: Any) -> Any:
        """As Layer's; what the caller mapped over is turned with it.

        Raises RuntimeFault (E0412) for an argument that is mapped over along a later dimension.
        """
        source, dim = self.given or (None, 0)
        if dim:
            raise RuntimeFault(
                "E0412",
                "an argument that vmap maps over along a later dimension cannot be turned in place",
                help="write y = x.t(), and the like",
            )
        if source is None:
            return super().become_view(view)
        if isinstance(source, Layer):
            source.become_view(view.content)
        else:
            part = view.content
            source.as_strided_(part.shape, part.stride(), part.storage_offset())
        return self

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
        line = not self.ndim  # an element counts as a line of one entry
        rows = self.value.reshape(self.count, 1) if line else self.value
        found = getattr(rows, name)(normal_dim(dim, max(1, self.ndim)) + 1, keepdim and not line)
        return type(found)(map(self.around, found))

    def pick_from(self, source: Any, index: Any) -> Any:
        """``source[index]`` where the index differs along the batch."""
        index, differs = _alike(index, self.__gradcli_rank__)
        if not differs:
            return source[index]
        where = _Where(self, source, index)
        return self.at_once(where.read, source)

    @property
    def data(self) -> Any:
        """Raises RuntimeFault (E0414), as in PyTorch, but inside another transform."""
        if transformed.by and transformed.by[-1].level == self.alive():
            raise RuntimeFault("E0414", "accessing `data` under vmap transform is not allowed")
        return self.around(data_within(self.value, made_by(None)))

    @data.setter
    def data(self, value: Any) -> None:
        refuse_in_transform(
            "mutating directly with `.data` under vmap transform is not allowed.",
            "write y = y * 2, or y.copy_(value)",
        )

    def _leave_graph(self) -> Any:
        """As Tensor's, inside another transform; in the vmap itself see ``Operand``."""
        if transformed.by and transformed.by[-1].level == self.alive():
            return super()._leave_graph()
        self.value._leave_graph()
        return self

    def item(self) -> Any:
        """Raises RuntimeFault (E0414): a batch is not one number."""
        return self._one(_ITEM).item()

    def tolist(self) -> Any:
        """Raises RuntimeFault (E0414), as ``item()`` does."""
        return self._one(_ITEM.replace("item", "tolist")).tolist()

    def __bool__(self) -> bool:
        return bool(self._one("attempting to use a Tensor in some data-dependent control flow"))

    def __float__(self) -> float:
        return float(self._one(_ITEM))

    def __int__(self) -> int:
        return int(self._one(_ITEM))

    __index__ = __int__

    def __format__(self, spec: str) -> str:
        return format(self._one(_ITEM), spec) if spec else repr(self)

    def _one(self, what: str) -> Any:
        value = self.alike()
        if value is None:
            raise _depends(what)
        return value

    def alike(self) -> Any:
        """Any value of the batch, where nothing makes them differ. None elsewhere.

        So it is in a vmap that the user did not write: over the directions of another transform,
        ``hessian`` for example. What the function computes from its arguments is then the same for
        all. In a vmap around ``grad`` so are arguments that are not mapped over, whose gradients
        differ: the numbers of this value count, not its place in the graph.
        """
        same = self.given == SAME or running.internal(self.__gradcli_rank__)
        return self.content[0] if same and self.count and self.is_uniform() else None

    def is_uniform(self) -> bool:
        """Whether all values of the batch are the same, but for NaN."""
        place = sum(v.batch for v in chain_of(self)) - 1
        numbers = np.moveaxis(bottom(self).array, place, 0)
        return bool(np.all((numbers == numbers[:1]) | (numbers != numbers)))


def _lay_on(out: Any, parts: Sequence[Any], source: Any) -> None:
    """Lay a result on the memory of ``source`` where each of its ``parts`` is a view of that."""
    wholes, sources, first, last = map(list, map(parts_of, (out, source, parts[0], parts[-1])))
    if not len(wholes) == len(sources) == len(first) == len(last):
        return
    laid = []
    for (t, levels), (base, depth), (one, _), (end, _) in zip(
        wholes, sources, first, last, strict=True
    ):
        if levels != depth or not isinstance(one, Plain) or not shares(one, base):
            return
        steps, place = list(one.array.strides), levels - 1
        steps.insert(place, base.array.strides[place])
        array = np.lib.stride_tricks.as_strided(one.array, t.array.shape, steps)
        far = array[(slice(None),) * place + (slice(-1, None),)]
        if _address(far) != _address(end.array):
            return
        laid.append((t, base, array, t.edge, one.meta.made))
    for t, base, t.array, edge, made in laid:
        share_memory(t, base)
        t.edge, t.meta.made = edge or t.edge, made
    for layer, below in zip(operands_of(out), operands_of(source), strict=True):
        below.note_view(layer)


def _address(array: np.ndarray) -> Any:
    return array.__array_interface__["data"][0]


def _apart(value: Any, levels: int, args: Sequence[Any]) -> None:
    """Lay out a new result with the elements one behind the other, each as if it were alone.

    NumPy lays a result out like its operands, so that elements which are mapped over along a later
    dimension lie between each other. Of one alone ``reshape`` gives a view, of those a copy.
    """
    if isinstance(value, Layer):
        for part in value.components():
            _apart(part, levels + value.batch, args)
        return
    array = value.array if isinstance(value, Plain) else None  # a traced value has no numbers
    if not isinstance(array, np.ndarray) or array.flags.c_contiguous or not array.size:
        return
    steps = [s if n > 1 else 0 for n, s in zip(array.shape, array.strides, strict=True)]
    if max(steps[levels:], default=0) <= min((s for s in steps[:levels] if s), default=0):
        return
    if not any(steps[:levels]) or overlaps(value, args):
        return
    order = [*range(levels), *sorted(range(levels, array.ndim), key=lambda d: -steps[d])]
    value.array = in_order(array, order)
    value.meta = None  # no longer a view of what the rule made on the way


def batch_of(value: Any, dim: int, level: int) -> Batched:
    """The batch of what is along a dimension of ``value``."""
    dim = normal_dim(dim, len(value.shape))
    return Batched(moveaxis(value, dim, 0) if dim else value, level, (value, dim))


def _side_by_side(stack: Any, level: int, dim: int = 0) -> Any:
    """Results stacked along ``dim`` as a batch, inside what higher levels put around them."""
    if rank_of(stack) > level:
        deeper = dim + stack.batch  # a batch has its own dimension in front
        return stack.over(lambda part: _side_by_side(part, level, deeper))
    return Batched(moveaxis(stack, dim, 0) if dim else stack, level)


_ITEM = "calling .item() on a Tensor"


def _depends(what: str) -> RuntimeFault:
    mend = "choose entry by entry with where(); or write a loop instead of vmap"
    said = f"vmap: It looks like you're {what}. We don't support that: it is a whole batch"
    return RuntimeFault("E0414", said, help=mend)


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
    if rank_of(tree) > level:
        return tree.over(lambda part: pick(part, level, i))
    if not is_batched(tree, level):
        return tree
    if i < tree.count:
        return tree.value[i]
    found = tree.value.new_zeros(tree.shape)  # of none: a regular matrix, for what asks for one
    matrix = found.ndim > 1 and found.dtype.differentiable
    return found + eye(*found.shape[-2:], dtype=found.dtype) if matrix else found


def _alike(index: Any, level: int) -> tuple[Any, bool]:
    """An index whose masks are no batches where all elements have the same; has it batches yet?"""
    parts = list(index) if isinstance(index, tuple) else [index]
    for i, part in enumerate(parts):
        if is_batched(part, level) and part.dtype.kind == 0:
            same = part.alike()
            parts[i] = part if same is None else same
    return tuple(parts), holds(parts, level)


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


class _Where:
    """An index that differs along a batch, as one into what has the batch in front.

    NumPy puts the dimensions of index arrays in the place of the first where they stand side by
    side, else in front; with the array of the batch they are in front always, behind the batch::

        x[:, i]     x (3, 4), i (2)       gives (3, 2)
        batch of 5  x (5, 3, 4), i (5, 2) gives (5, 2, 3), and then (5, 3, 2)

    Raises RuntimeFault (E0414) for a mask that differs: it would pick as many entries as it likes.
    """

    def __init__(self, batch: Batched, source: Any, index: Any) -> None:
        level = batch.__gradcli_rank__
        parts: list[Any] = []
        for part in index if isinstance(index, tuple) else (index,):
            if is_batched(part, level) and part.dtype.kind == 0:
                raise dynamic_shape("indexing with a boolean mask")
            plain = part if rank_of(part) > 1 else plain_index(part)
            if getattr(plain, "dtype", None) == np.bool_:
                parts += np.nonzero(plain)
            else:
                parts.append(plain)
        place = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
        left = len(source.shape) - sum(p is not None and p is not Ellipsis for p in parts)
        if left < 0:
            raise IndexFault(
                "E0307", f"too many indices for tensor of dimension {len(source.shape)}"
            )
        parts[place : place + 1] = [slice(None)] * left
        arrays = [i for i, p in enumerate(parts) if p is not None and not isinstance(p, slice)]
        rank = max(len(getattr(parts[i], "shape", ())) for i in arrays)
        self.index: tuple = (np.arange(batch.count).reshape((-1,) + (1,) * rank),)
        for part in parts:
            if is_batched(part, level):
                shape = (batch.count, *(1,) * (rank - len(part.shape)), *part.shape)
                part = part.value.reshape(shape)
            self.index += (part,)
        # Of one element numbers are taken first, and stand between no others.
        rest = [p for p in parts if p is None or isinstance(p, slice) or np.ndim(p)]
        wide = [i for i, p in enumerate(rest) if p is not None and not isinstance(p, slice)]
        together = wide and wide[-1] - wide[0] + 1 == len(wide)
        before = wide[0] if together else 0
        behind = len(rest) - len(wide) - before
        # Where each dimension of the result stands in what NumPy gives.
        places = range(1 + rank + before + behind)
        self.order = (
            0, *places[1 + rank : 1 + rank + before], *places[1 : 1 + rank],
            *places[1 + rank + before :],
        )  # fmt: skip
        self.moved = self.order != tuple(places)

    def read(self, x: Any) -> Any:
        """The entries of ``x``, which has the batch in front."""
        found = x[self.index]
        return OPERATORS["permute"](found, self.order) if self.moved else found

    def write(self, x: Any, value: Any, accumulate: bool) -> Any:
        """``x`` with ``value`` where the entries are, which is laid out as they are read."""
        if self.moved:
            value = OPERATORS["permute"](value, tuple(np.argsort(self.order).tolist()))
        return index_put(x, self.index, value, accumulate)
