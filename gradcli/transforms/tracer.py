"""What tangents and batches have in common: Tensor's operators and methods, through the operators.

A subclass answers the operators' protocol (``__gradcli_rank__`` and ``__gradcli_apply__``); this
one gives it the ways in which a program reaches them: ``x + y``, ``x.sum(0)``, ``x[1]``.

Writing in place. A value stands on memory: at the bottom of its tower are Tensors, and a view of
the value has views of them there. So a write goes down the tower and becomes writes to Tensors,
which whoever shares the memory sees:

    y = Dual(p, t)     v = y[0] = Dual(p[0], t[0])     v.mul_(d)  writes to p[0] and to t[0]
    y = Batched(b)     v = y[0] = Batched(b[:, 0])     v.mul_(d)  writes to b[:, 0]

What is written may have a level that the target lacks. A target that is no batch cannot hold one:
that is refused, as in PyTorch. One without a tangent is given zeros for it, and so is whatever
shares its memory (``Dual.admit``).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from gradcli.engine import Tensor
from gradcli.engine.backward.api import backward
from gradcli.engine.creation import factories, sampling
from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.dtypes import Device, DType, contiguous_format
from gradcli.engine.grad_mode import inference_mode, mode, no_grad, pushing, shown_inside
from gradcli.engine.graph.level_detach import recorded_inside
from gradcli.engine.graph.node import hooked
from gradcli.engine.graph.own_passes import in_own_passes
from gradcli.engine.record.captures import refuse_captured
from gradcli.engine.record.composite import bottom, is_batch, named
from gradcli.engine.record.dtype_checks import one_number
from gradcli.engine.record.inplace import (
    check_writable,
    edge_before_write,
    overtake,
    put_item,
    settle,
    take_into_base,
)
from gradcli.engine.tensor.attributes import Facts
from gradcli.engine.tensor.conversion import Conversions, no_array
from gradcli.engine.tensor.storage import References, Slots
from gradcli.engine.tensor.tensor import Plain, wrap
from gradcli.functions.arithmetic import positive
from gradcli.functions.in_place import rebound
from gradcli.functions.methods import METHODS, TURNED, as_method, of_values
from gradcli.functions.subscripts import numbers_first, plain_index, reads_number
from gradcli.ops.declaration.infix import METHODS as SIGN_METHODS
from gradcli.ops.declaration.infix import by_sign, put_signs
from gradcli.ops.errors import RuntimeFault, TypeFault, UnwrittenFault, bad_shape, bad_size
from gradcli.ops.indexing import is_basic
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS, Operator
from gradcli.ops.torch_messages import no_cast, no_room
from gradcli.transforms.levels import running

# ---- Towers: a Tensor at the bottom, batches and tangents of enclosing transforms around it ------


def rank_of(value: Any) -> int:
    """The level of a value: 1 for a Tensor, more for what stands for one in a transform."""
    return getattr(value, "__gradcli_rank__", 0)


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """What a value of a transform is made of, to be looked at and not computed with.

    The Tensor inside it, or what one level is around unless ``recurse``.
    """
    return bottom(tensor) if recurse else getattr(tensor, "content", tensor)


def lasting(value: Any) -> Any:
    """``value`` without tangents of levels that have ended, inside of which it was computed."""
    while isinstance(value, Layer) and not value.batch and value.__gradcli_rank__ not in pushing:
        value = value.content
    return value


def operands_of(value: Any) -> Iterator[Layer]:
    """Every tangent and batch of a tower, those around tangents included."""
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, Layer):
            yield v
            stack += v.components()


def chain_of(value: Any) -> Iterator[Layer]:
    """The tangents and batches on the way down to the primal Tensor."""
    while isinstance(value, Layer):
        yield value
        value = value.content


def tensors_of(value: Any) -> list[Tensor]:
    """Every Tensor of a tower, tangents included."""
    if isinstance(value, Plain):
        return [value]
    return [p for v in operands_of(value) for p in v.components() if isinstance(p, Plain)]


def paired(value: Any, other: Any) -> Iterator[tuple[Tensor, Tensor]]:
    """The tensors in the same places of two towers, where those have the same layers down there."""
    waiting = [(value, other)]
    while waiting:
        a, b = waiting.pop()
        if isinstance(a, Plain) and isinstance(b, Plain):
            yield a, b
        elif isinstance(a, Layer) and a.__class__ is b.__class__ and rank_of(a) == rank_of(b):
            waiting += zip(a.components(), b.components(), strict=True)


def memory_of(value: Any) -> Tensor:
    """The tensor whose memory a value has: itself, or what it is a view of."""
    tensor = bottom(value)
    base = getattr(getattr(tensor, "meta", None), "base", None)
    return tensor if base is None else base


def shares(view: Any, source: Any) -> bool:
    """Whether a result has the memory of the value that it was made of."""
    return memory_of(view) is memory_of(source)


def overlaps(value: Any, others: Iterable[Any]) -> bool:
    """Whether numbers of ``value`` may lie in the memory of one of ``others``."""
    own, theirs = tensors_of(value), [t for other in others for t in tensors_of(other)]
    return any(np.may_share_memory(a.array, b.array) for a in own for b in theirs)


def snapshot(value: Any, write: bool = True) -> Any:
    """``value`` as it is now, in memory of its own: what a recorded write reads.

    A write passes by hooks of a view, which other operators (no ``write``) lead back to.
    """
    if isinstance(value, Layer):
        return value.over(lambda part: snapshot(part, write))
    if not mode.grad:
        return value
    edge = edge_before_write(value) if write else value.edge
    return wrap(value.array.copy(), value.dtype, edge)


# ---- Writes --------------------------------------------------------------------------------------


def become(target: Any, result: Any) -> Any:
    """``target``, whose entries are now those of ``result``: what an operator in place does.

    Raises RuntimeFault: E0301, E0309 where the result does not fit; E0414 for a batch that is
    written to what is none; and what a write to a Tensor raises.
    """
    refuse_captured(target)
    result = as_value(result)
    if tuple(result.shape) != tuple(target.shape):
        raise no_room(target.shape, result.shape)
    if result.dtype.kind > target.dtype.kind:
        raise no_cast(result.dtype, target.dtype, "make the target a float tensor first")
    store(target, result.to(target.dtype))
    return target


def assign(target: Any, value: Any) -> Any:
    """``target``, with ``value`` in all its entries: broadcast, and cast to its dtype."""
    refuse_captured(target)
    if hasattr(value, "shape") or isinstance(value, list | tuple):
        value = as_value(value).to(target.dtype)
        while len(value.shape) > len(target.shape) and value.shape[0] == 1:
            value = value[0]
        if tuple(value.shape) != tuple(target.shape):
            value = OPERATORS["expand"](value, tuple(target.shape))
    store(target, value)
    return target


def _numbers_taken(whole: Any, index: Any) -> tuple[Any, Any]:
    """``whole`` at the numbers of an index that NumPy would read otherwise, and what is left."""
    steps = numbers_first(index, whole.ndim) if isinstance(index, tuple) else None
    return (whole, index) if steps is None else (OPERATORS["getitem"](whole, steps[0]), steps[1])


def put(target: Any, index: Any, value: Any) -> None:
    """``target[index] = value``."""
    if index is Ellipsis:
        assign(target, value)
    elif is_basic(index):
        assign(OPERATORS["getitem"](target, index), value)
    else:
        refuse_captured(target)
        if hasattr(value, "shape"):
            value = as_value(value).to(target.dtype)
        store(target, OPERATORS["put"](snapshot(target), value, index))


def store(target: Any, value: Any) -> None:
    """Write ``value``, of the target's shape and dtype or a number, a level at a time."""
    if rank_of(value) > max(rank_of(target), 1):
        value.admit(target)
    if isinstance(target, Operand):
        target.write(value)
    else:
        put_item(target, Ellipsis, value, not hasattr(value, "shape"))


def _filled(make: Callable) -> Callable:
    """``new_zeros(2, 3)``, ``new_zeros((2, 3))`` and ``new_zeros(size=(2, 3))`` of a factory."""

    def method(self: Operand, *sizes: Any, **options: Any) -> Any:
        if "size" in options:
            sizes = tuple(options.pop("size"))
        elif len(sizes) == 1 and not isinstance(sizes[0], int):
            sizes = tuple(sizes[0])
        return self._like(make, sizes, **options)

    return named(method, f"new_{make.__name__}", "A value of this dtype, of a size.")


def follow(target: Any, value: Any) -> None:
    """Have ``target`` be where ``value``, that was detached from it, is in graphs since a write,
    with its tangents."""
    if isinstance(value, Plain):
        if value.edge is not None:
            settle(target, value.edge)
            take_into_base(target)
    elif value.batch and rank_of(target) < rank_of(value):
        store(target, value)
    elif value.batch:
        follow(target.content, value.content)
    else:
        if rank_of(target) < value.__gradcli_rank__:  # else by another argument of this memory
            value.admit(target)
        with value.recorded([value.content]):
            store(target.tangent, value.tangent)
        follow(target.content, value.content)


def follow_tangents(target: Any, value: Any) -> None:
    """Have ``target`` have the tangents of ``value``, which may be a batch at further levels.

    Raises RuntimeFault (E0412) where its elements differ there.
    """
    while any(not layer.batch for layer in chain_of(target)):
        if rank_of(target) != value.__gradcli_rank__:
            value = value.alike()
            if value is None:
                said = "an argument that is not mapped is written to with what differs along a vmap"
                raise RuntimeFault("E0412", said, help="write to a clone() of it")
            continue
        if not value.batch:
            target.own()
            with value.recorded([value.content]):
                store(target.tangent, value.tangent)
        target, value = target.content, value.content


class Operand(Conversions):
    """A value that stands for a Tensor inside a transformed function."""

    __slots__ = ()
    __array_priority__ = 2000

    def write(self, value: Any) -> None:
        """Write a value of this level or lower ones, or a number, into the memory below."""
        raise NotImplementedError

    def admit(self, target: Any) -> None:
        """Give a target of lower levels what it needs to hold a value of this one."""
        raise NotImplementedError

    def __gradcli_write__(self, target: Any, op: Any, others: tuple, params: dict) -> Any:
        """A write in place to a Tensor, of an operator that has this value among its operands."""
        return become(target, op(snapshot(target), *others, **params))

    def __gradcli_put__(self, target: Any, index: Any) -> None:
        put(target, index, self)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    T, mT, H = METHODS["T"], METHODS["mT"], METHODS["H"]
    mH, real, imag = Tensor.mH, Tensor.real, Tensor.imag

    def dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    def numel(self) -> int:
        """The number of entries."""
        return math.prod(self.shape)

    nelement, ndimension = numel, dim

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of one dimension."""
        return self.shape if dim is None else self.shape[dim]

    def view(self, *shape: Any) -> Any:
        """The same memory in another shape, or as another dtype of as many bytes, which has no
        derivative. Raises RuntimeFault (E0306) where that needs a copy."""
        if len(shape) == 1 and isinstance(shape[0], DType):
            if shape[0].itemsize != self.dtype.itemsize:
                raise bad_size("a view in a transform has as many bytes an entry")
            part = self.content.view(shape[0])  # type: ignore[attr-defined]
            return self.around(part) if self.batch else part  # type: ignore[attr-defined]
        out = self.reshape(*shape)
        if self.ndim and self.numel() and not shares(out, self):
            raise bad_size(
                "view size is not compatible with input tensor's size and stride. Use "
                ".reshape(...) instead."
            )
        return out

    # What follows from the element type alone.
    layout, itemsize, element_size = Facts.layout, Facts.itemsize, Facts.element_size
    is_signed, is_complex = Facts.is_signed, Facts.is_complex
    is_floating_point = Facts.is_floating_point
    grad = None
    is_cuda = is_sparse = False
    is_cpu = True

    def get_device(self) -> int:
        """-1: the CPU."""
        return -1

    @property
    def nbytes(self) -> int:
        """Bytes of all entries."""
        return self.numel() * self.dtype.itemsize

    def is_inference(self) -> bool:
        """False: a transform records what it is given."""
        return False

    def is_nonzero(self) -> bool:
        """What ``bool`` says."""
        return bool(self)

    def cpu(self) -> Any:
        """Itself."""
        return self

    @property
    def _version(self) -> int:
        return int(self.content._version)

    @property
    def _base(self) -> Any:
        return None

    def _is_view(self) -> bool:
        return self._base is not None

    def data_ptr(self) -> int:
        """Raises RuntimeFault (E0412): the value has no memory of its own."""
        return self.numpy()

    requires_grad_ = Tensor.requires_grad_

    def _require(self, requires_grad: bool) -> Any:
        """Itself where it is recorded already. Raises RuntimeFault (E0412) elsewhere: a transform
        says what is differentiated."""
        if requires_grad is self.requires_grad is True:
            return self
        said = "a value of a transform cannot become a leaf of a graph"
        raise RuntimeFault("E0412", said, help="differentiate by an argument of the function")

    def detach_(self) -> Any:
        """Be out of the graph, or without a tangent, from here on, as Tensor's."""
        refuse_captured(self, numbers=False)
        return self._leave_graph()

    def _leave_graph(self) -> Any:
        """Raises RuntimeFault (E0409), as of a view: use ``detach()``."""
        raise RuntimeFault("E0409", "Can't detach views in-place. Use detach() instead.")

    def resize_(self, *size: Any, **options: Any) -> Any:
        """Raises RuntimeFault (E0412): the value has no memory of its own to grow."""
        raise RuntimeFault("E0412", "cannot resize variables that are values of a transform")

    resize_as_ = resize_

    def fill_diagonal_(self, fill_value: Any, wrap: bool = False) -> Any:
        """As Tensor's, which writes by index too."""
        return METHODS["fill_diagonal_"](self, fill_value, wrap)

    def retain_grad(self) -> None:
        """Raises RuntimeFault (E0404): there is no backward pass to keep a gradient of."""
        raise RuntimeFault("E0404", "can't retain_grad on Tensor that has requires_grad=False")

    def register_hook(self, hook: Callable) -> Any:
        """Raises RuntimeFault (E0404): there is no backward pass to call it."""
        raise RuntimeFault(
            "E0404", "cannot register a hook on a tensor that doesn't require gradient"
        )

    def _like(self, make: Callable, size: tuple, *value: Any, **options: Any) -> Any:
        """A new value like this one: a batch where this is one, for nobody knows it the same."""
        return make(size, *value, **{"dtype": self.dtype, **options})

    def new_full(self, size: Any, fill_value: Any, **options: Any) -> Any:
        """A value of this dtype with one number in every place."""
        return self._like(factories.full, tuple(size), fill_value, **options)

    new_zeros, new_ones = _filled(factories.zeros), _filled(factories.ones)
    new_empty = _filled(factories.empty)

    def new_empty_strided(self, size: Any, stride: Any, **options: Any) -> Any:
        """A value of this dtype to be written to, whose entries lie so far apart."""
        last = sum((n - 1) * step for n, step in zip(size, stride, strict=False))
        memory = self.new_empty((0 if 0 in size else last + 1,), **options)
        return memory.as_strided(size, stride)

    def new_tensor(self, data: Any, **options: Any) -> Any:
        """A plain Tensor of this dtype from data."""
        return factories.tensor(data, **{"dtype": self.dtype, **options})

    def __gradcli_like__(self, create: Callable, *value: Any, **options: Any) -> Any:
        """``zeros_like`` and the like, of this value."""
        raise NotImplementedError

    def backward(
        self, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False,
        inputs: Any = None,
    ) -> None:  # fmt: skip
        """As Tensor's in a dual level. Raises RuntimeFault (E0412) in a transform, which
        differentiates what it is given."""
        backward([self], [gradient], retain_graph, create_graph, inputs=inputs)  # type: ignore

    def numpy(self, *, force: bool = False) -> Any:
        """Raises RuntimeFault (E0412): a value inside a transform is no array of numbers."""
        raise no_array()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.numpy()

    def untyped_storage(self, *args: Any) -> Any:
        """Raises UnwrittenFault (E0412): the value has no memory of its own."""
        raise UnwrittenFault("E0412", "Cannot access storage of a value of a transform")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """As Tensor's of a number or array of a program without tensors, refused elsewhere."""
        return OPERATORS["clone"](self) if mode.rebinds else self.untyped_storage()

    __reduce_ex__ = storage = set_ = is_set_to = untyped_storage
    apply_ = map_ = map2_ = untyped_storage

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeFault("E0310", "iteration over a 0-d tensor")
        return map(self.__getitem__, range(len(self))) if mode.rebinds else iter(self.unbind(0))

    def __getitem__(self, index: Any) -> Any:
        part: Any = max(index if isinstance(index, tuple) else (index,), key=rank_of, default=None)
        if rank_of(part) > 1:
            return part.pick_from(self, index)
        whole, index = _numbers_taken(self, plain_index(index))
        out = OPERATORS["getitem"](whole, index)
        return OPERATORS["clone"](out) if reads_number(out, index) else out

    def __setitem__(self, index: Any, value: Any) -> None:
        part: Any = max(index if isinstance(index, tuple) else (index,), key=rank_of, default=None)
        if rank_of(part) > 1:
            part.put_at(self, index, value)
        else:
            put(*_numbers_taken(self, plain_index(index)), value)

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        """Write the entries of ``src``."""
        return assign(self, src)

    def fill_(self, value: Any) -> Any:
        """Write one number to every entry; in a batch of values, each element its own entries."""
        if not is_batch(value):
            one_number(value)
        return assign(self, value)

    def zero_(self) -> Any:
        """Write zeros."""
        return assign(self, 0)

    def __getattr__(self, name: str) -> Any:
        """Tensor's methods by name, ``x.sum(0)``; ``x.mul_(y)`` writes what ``x.mul(y)`` gives."""
        written = name.endswith("_")
        plain = name.removesuffix("_")
        if plain not in METHODS or (written and name not in METHODS):
            raise AttributeError(name)
        function = as_method(plain)
        if name in TURNED:
            # Recorded whatever the mode is, as Tensor's; what is in no graph is no leaf's view.
            inside = tensors_of(self)
            leaf = all(t._is_leaf for t in inside) and any(t.edge is not None for t in inside)
            seen = (no_grad() if leaf else inference_mode(False))(function)
            return lambda *args, **params: self.become_view(seen(self, *args, **params))
        if written:
            return lambda *args, **params: become(self, function(snapshot(self), *args, **params))
        return lambda *args, **params: function(self, *args, **params)

    __hash__ = object.__hash__


class Layer(Slots, Operand):
    """A tangent or a batch: a level of a tower, around a content of lower levels."""

    __slots__ = ()

    content: Any = Slots.array  # type: ignore[attr-defined]  # of a lower level
    __gradcli_rank__: Any = Slots._dtype  # type: ignore[attr-defined]
    # Weak references to the values that share this one's memory, itself among them; None: nobody.
    aliases: Any = Slots.meta  # type: ignore[attr-defined]

    batch: bool  # a batch, else a tangent

    # -- what a subclass answers -----------------------------------------------------------------

    def components(self) -> tuple:
        """What it is made of: the content, and the tangent where there is one."""
        raise NotImplementedError

    def around(self, content: Any) -> Any:
        """The same level around another content: a batch of it, or it with the same tangent."""
        raise NotImplementedError

    def over(self, change: Callable[[Any], Any]) -> Any:
        """The same level around what ``change`` makes of the content."""
        raise NotImplementedError

    def _like(self, make: Callable, size: tuple, *value: Any, **options: Any) -> Any:
        like = self.content._like if isinstance(self.content, Layer) else super()._like
        return like(make, size, *value, **options)

    def frozen(self) -> Any:
        """This value as it is, whatever is written to it later."""
        return self.over(lambda part: part.frozen() if isinstance(part, Layer) else _frozen(part))

    def register_hook(self, hook: Callable) -> Any:
        """As Tensor's, where a reverse transform runs inside: the gradient is such a value too.

        Raises RuntimeFault (E0404) where nothing is recorded.
        """
        if not self.requires_grad:
            return super().register_hook(hook)
        running.hooked.append(self.frozen())
        edge = bottom(self).edge
        hook = in_own_passes(hook, edge)
        for layer in chain_of(self):
            hook = layer.hook_below(hook)
        return hooked(edge, "hooks", hook)

    def hook_below(self, hook: Callable) -> Callable:
        """``hook`` for the gradient of the content, in a pass that knows no tangents."""
        return hook

    # -- what shares memory ----------------------------------------------------------------------

    def sharing(self) -> Iterator[Layer]:
        """This value and those that share its memory."""
        if self.aliases is None:
            self.aliases = References.of(self)
        return self.aliases.alive()  # type: ignore[no-any-return]

    def note_view(self, view: Layer) -> Any:
        """``view``, noted to share this value's memory."""
        if self.aliases is None:
            self.aliases = References.of(self)
        self.aliases.note(view)
        view.aliases = self.aliases
        return view

    def _steps(self) -> tuple[int, ...]:
        """Steps in memory of each dimension of one element, in entries."""
        return tuple(bottom(self).stride()[sum(v.batch for v in chain_of(self)) :])

    def _across(self) -> int:
        """Steps in memory from one element of a batch to the next, in entries."""
        levels = sum(v.batch for v in chain_of(self.content))
        return bottom(self).stride()[levels]

    def stride(self, dim: int | None = None) -> Any:
        """Steps between neighbours, in entries: of one element, as it lies among the others."""
        steps = self._steps()
        return steps if dim is None else steps[dim]

    def storage_offset(self) -> int:
        """Where the first entry of the first element is, in entries."""
        return int(bottom(self).storage_offset())

    def is_contiguous(self, *, memory_format: Any = None) -> bool:
        """Whether the entries of one element lie in memory in row order, without gaps."""
        if memory_format not in (None, contiguous_format):
            if not self.batch:
                return bool(self.content.is_contiguous(memory_format=memory_format))
            said = "NYI: querying is_contiguous inside of vmap for memory_format other than "
            raise RuntimeFault("E0414", said + "torch.contiguous_format")
        expected = 1
        for n, step in zip(self.shape[::-1], self._steps()[::-1], strict=True):
            if n != 1 and step != expected:
                return 0 in self.shape
            expected *= n
        return True

    def contiguous(self, memory_format: Any = None) -> Any:
        """Itself where each element lies in row order, else a copy."""
        if self.is_contiguous(memory_format=memory_format):
            return self
        return OPERATORS["clone"](self, memory_format=memory_format or contiguous_format)

    def strided(self, view: Callable, shape: tuple, steps: tuple, ahead: int) -> Any:
        """``view``, ``as_strided``, of the memory below from so many entries after the first.

        Raises RuntimeFault (E0301) where a view of one element reaches beyond it; where it has a
        gradient of its own, into others.
        """
        if self.batch:
            own, wanted = _places(self.shape, self._steps()), _places(shape, steps) + ahead
            if not self.requires_grad:
                fits = ahead >= 0 and wanted.max(initial=0) <= own.max(initial=0)
            else:  # that has no place for others
                fits = np.isin(wanted, own).all()
            if not fits:
                said = f"as_strided(sizes={list(shape)}, strides={list(steps)}, storage_offset="
                said += f"{self.storage_offset() + ahead}) would access memory out of bounds of an"
                said += " element. This is not supported inside of vmap"
                raise bad_shape(said, help="an element has these strides: x.stride()")
            across = self._across()
            if not across and bottom(self).edge is not None:
                # The elements are in one memory, and have gradients of their own: each gets what
                # that memory begins with, where a view of the view finds its places.
                where, first, counts = np.unique(own, return_index=True, return_counts=True)
                if counts.max(initial=0) < 2:
                    start = self.storage_offset()
                    there = np.searchsorted(where, np.arange(-start, own.max(initial=-1) + 1))
                    line = self.reshape(-1)[first[there]]
                    return line.as_strided(shape, steps, start + ahead)
                raise RuntimeFault("E0412", "as_strided of an expanded value in a transform")
            shape, steps = (self.content.shape[0], *shape), (across, *steps)

        def part(value: Any) -> Any:
            if isinstance(value, Layer):
                return value.strided(view, shape, steps, ahead)
            return view(value, shape, steps, value.storage_offset() + ahead)

        return self.viewed(part)

    def viewed(self, view: Callable[[Any], Any]) -> Any:
        """This value with a view of each part: one that shares its memory."""
        if not self.batch:
            self.own()
        return self.note_view(self.over(view))

    # -- what it is ------------------------------------------------------------------------------

    @property
    def edge(self) -> Any:
        """None of its own: the Tensors inside have places in the graph."""
        raise AttributeError("edge")

    @property
    def meta(self) -> Any:
        """What the Tensor inside has: a graph that saved it looks there for its version."""
        return bottom(self).meta

    @property
    def array(self) -> Any:
        """The numbers, for what is decided by them and has no derivative."""
        return self.content.array

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        """The element type."""
        return self.content.dtype

    @property
    def device(self) -> Device:
        """Where the numbers are."""
        return bottom(self).device

    def _recorded_inside(self) -> bool:
        return recorded_inside(self.__gradcli_rank__, bottom(self).edge)

    @property
    def retains_grad(self) -> bool:
        """Whether ``retain_grad()`` keeps a gradient."""
        return bool(self.content.retains_grad)

    @property
    def requires_grad(self) -> bool:
        """Whether the value is recorded for a gradient, by what runs inside of its level."""
        return self.content.requires_grad and self._recorded_inside()

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if wanted is not self.requires_grad:  # the content may be the caller's
            self._require(wanted)

    def __repr__(self) -> str:
        """The Tensor inside, and around it the levels, as PyTorch shows them."""
        levels = {v.__gradcli_rank__: v.batch for v in operands_of(self)}
        tensor = bottom(self)
        return shown_inside(repr(tensor.detach()), levels, tensor.edge is not None)

    def become_view(self, view: Any) -> Any:
        """This object as a view of what it was: ``x.t_()``.

        Raises RuntimeFault (E0408) for what a transform differentiates by, (E0412) for what its
        function captures.
        """
        refuse_captured(self)
        check_writable(bottom(self), ())
        for slot in ("array", "edge", "meta"):
            part = getattr(Slots, slot)
            with contextlib.suppress(AttributeError):  # a batch has no tangent
                part.__set__(self, part.__get__(view))
        bottom(self)._meta().version.bump()
        for tensor in tensors_of(self):
            if tensor.meta is not None:
                overtake(tensor)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no graph leads to the value."""
        return self.content.is_leaf or not self._recorded_inside()

    output_nr = property(lambda self: self.content.output_nr, doc="Which output of its node it is.")
    _backward_hooks = property(lambda self: self.content._backward_hooks, doc="As of Tensor.")

    @property
    def grad_fn(self) -> Any:
        """The node of the graph that the value comes from."""
        return self.content.grad_fn if self._recorded_inside() else None


def _frozen(value: Any) -> Any:
    return value._alias(value.edge) if isinstance(value, Plain) else value


def _places(shape: tuple, steps: tuple) -> np.ndarray:
    """Where the entries are, counted from the first, of what has these strides."""
    charge_shape(shape, 8)
    places = np.zeros((), np.int64)
    for n, step in zip(shape, steps, strict=True):
        places = places[..., None] + np.arange(n) * step
    return places


def _augmented(op: Operator) -> Callable:
    return rebound(lambda self, other: become(self, op(snapshot(self), other)))


put_signs(Operand)
setattr(Operand, "__pos__", positive)  # noqa: B010
for _sign, _op in by_sign().items():
    if _sign in SIGN_METHODS:
        setattr(Operand, f"__i{SIGN_METHODS[_sign]}__", _augmented(_op))
    else:
        setattr(Operand, f"__{_op.name}__", of_values(_op))


for _method in sampling.METHODS:
    setattr(Operand, _method.__name__, _method)
_WORDS = ("and", "or", "xor", "lshift", "rshift")  # of truths, and of bits
for _name in ("__invert__", *(f"__{side}{w}__" for w in _WORDS for side in ("", "r", "i"))):
    setattr(Layer, _name, METHODS[_name])


def as_value(value: Any) -> Any:
    """``value`` where it is a Tensor or stands for one, else a Tensor of it."""
    return lasting(value) if isinstance(value, Tensor | Operand) else as_tensor(value)
