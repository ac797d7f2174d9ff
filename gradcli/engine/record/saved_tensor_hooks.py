"""Hooks on what a graph saves: ``saved_tensors_hooks`` and what is made of it.

While such hooks are set no operator takes its short way (``State.plain``), so that recording pays
nothing for them otherwise; the general way then packs what it saves. The node holds a ``Packed`` in
the place of its saved values, which gives them back unpacked whenever a rule reads them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from gradcli.engine import source_location
from gradcli.engine.grad_mode import mode, unrecorded
from gradcli.engine.graph.node import Freed, Node, freed
from gradcli.engine.graph.torch_names import operand_words
from gradcli.engine.tensor.storage import Meta, Version
from gradcli.engine.tensor.tensor import Tensor, constant, wrap
from gradcli.engine.undo_log import current_log, open_log, owner_of
from gradcli.ops.errors import AssertionFault, RuntimeFault, TypeFault, bad_type
from gradcli.ops.operator import is_number


class PackedTensor:
    """One tensor as the pack hook left it, with its place in the graph."""

    __slots__ = ("dtype", "edge", "packed", "sizes", "then", "unpack", "version")

    def __init__(
        self, value: Tensor, edge: Node | None, hooks: tuple[Any, Any] | None = None
    ) -> None:
        pack, self.unpack = hooks or mode.saving[-1]
        self.dtype, self.sizes = value.dtype, value.shape
        self.edge = edge
        version = self.version = value._meta().version
        self.then = version.number
        packed = unrecorded(pack, value)
        if version.number != self.then:
            said = "A saved tensor pack hook is modifying its input in place."
            raise RuntimeFault("E0407", said, help="have the hook work on a clone()")
        if packed is value and edge is None:  # an output, which would be a cycle
            packed = value._alias()
            packed.meta = Meta(version)
        self.packed = packed

    def tensor(self) -> Tensor:
        """What the unpack hook makes of it, in its place in the graph.

        Raises TypeFault (E0407), RuntimeFault (E0407) where it has another shape, or complex
        numbers for real ones, (E0402) where its memory was written to since.
        """
        found = self.unpack(self.packed)
        if not isinstance(found, Tensor):
            said = "Output of saved tensor unpack_hook expected to be a Tensor but got result of"
            mend = "unpack gives back the tensor that pack was given"
            raise TypeFault("E0407", f"{said} type {type(found).__name__}", help=mend)
        if (found.dtype.is_complex, found.shape) != (self.dtype.is_complex, self.sizes):
            said = f"unpack_hook gave {found.dtype} of shape {list(found.shape)} in the place of"
            said += f" {self.dtype} of shape {list(self.sizes)}"
            raise RuntimeFault("E0407", said, help="unpack what has the shape that pack was given")
        if found.meta is not None and found.meta.version is self.version:
            refuse_written(self.version, self.then)
        told = found.meta is None or found.meta.version.number == self.then
        if told and found.edge is self.edge:
            return found
        return wrap(found.array, found.dtype, self.edge)


def refuse_written(version: Version, then: int) -> None:
    """Raise RuntimeFault (E0402) where what hooks kept has been written to after ``then``."""
    if version.number != then:
        said = "one of the variables needed for gradient computation has been modified by an"
        said += f" inplace operation: it is at version {version.number}; expected {then} instead"
        mend = "write a = a + 1 instead of a += 1, or pack a clone()"
        raise source_location.told(RuntimeFault("E0402", said, help=mend), changed=version.place)


class Packed:
    """A node's saved values, some of them packed; it reads like the tuple it stands for.

    Hooks see operands in the order of PyTorch's words for them, the second before the first where
    these are "other" and "self"; then the result.
    """

    __slots__ = ("entries", "order")

    def __init__(self, node: Node) -> None:
        """The same values, none of them packed yet."""
        self.entries: list[Any] = list(node.saved)
        words, last = operand_words(node), len(self.entries) - 1
        places = sorted(range(last - 1, -1, -1), key=lambda place: words[place : place + 1])
        self.order = (*places, last)

    def packed(self, node: Node) -> Packed:
        """The same, once the pack hook was given all tensors."""
        for place in self.order:
            value = self.entries[place]
            if isinstance(value, Tensor):
                self.entries[place] = PackedTensor(value, value.edge)
        if self.entries[-1] is not None:
            self.entries[-1] = PackedTensor(wrap(self.entries[-1], node.dtype, node), None)
        return self

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, place: int) -> Any:
        entry = self.entries[place]
        if entry.__class__ is not PackedTensor:
            return entry
        tensor = entry.tensor()
        return tensor.to(entry.dtype).array if place in (-1, self.order[-1]) else tensor

    def __iter__(self) -> Iterator[Any]:
        found = {place: self[place] for place in self.order}
        return iter([found[place] for place in range(len(found))])


class SavedTensor:
    """One value as its node keeps it: ``y.grad_fn._raw_saved_self``.

    ``data`` is what is kept, ``unpack()`` the tensor that it stands for.
    """

    __slots__ = ("edge", "node", "place")

    def __init__(self, node: Node, place: int, edge: Node | None) -> None:
        self.node, self.place, self.edge = node, place, edge

    def _value(self) -> Any:
        """The tensor, an output of the node as one outside the graph; or what hooks made of it."""
        saved = self.node.saved
        entries = () if saved.__class__ is Freed else getattr(saved, "entries", saved)
        entry = entries[self.place] if self.place < len(entries) else None  # or given away
        entry = entry[0] if isinstance(entry, tuple) else entry  # of a custom function
        if entry is None or isinstance(entry, Tensor | PackedTensor):
            return entry
        return constant(entry) if is_number(entry) else wrap(entry, self.node.dtype)

    @property
    def data(self) -> Any:
        """What the pack hook made of the tensor, or the tensor."""
        value = self._value()
        return value.packed if isinstance(value, PackedTensor) else value

    @property
    def unpack_hook(self) -> Callable[[Any], Tensor] | None:
        """The hook that will make the tensor of ``data`` again; None without hooks."""
        value = self._value()
        return value.unpack if isinstance(value, PackedTensor) else None

    def unpack(self) -> Any:
        """The tensor that was saved. Raises RuntimeFault (E0401: freed)."""
        if self.node.saved.__class__ is Freed:
            raise freed(self.node)
        value = self._value()
        return value.tensor() if isinstance(value, PackedTensor) else value

    def register_hooks(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor] | None = None
    ) -> None:
        """Keep what ``pack_hook`` makes of a tensor, not of a number, for backward to unpack.

        Raises RuntimeFault (E0407) where nothing is saved or hooks are set already, TypeFault.
        """
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise bad_type(
                "register_hooks(): incompatible function arguments: it takes two functions"
            )
        node, value = self.node, self._value()
        which = "Calling register_hooks on a saved tensor"
        if node.saved.__class__ is Freed:
            raise RuntimeFault("E0407", f"{which} after it has been freed is forbidden")
        if value is None:
            raise RuntimeFault("E0407", f"{which} with value None is forbidden")
        if isinstance(value, PackedTensor):
            raise RuntimeFault("E0407", f"{which} whose hooks have already been set is forbidden")
        mode.watching = True
        packed = PackedTensor(value.detach(), self.edge, (pack_hook, unpack_hook))
        if not hasattr(node.saved, "entries"):
            node.saved = Packed(node)
        before = node.saved.entries[self.place]
        if not is_number(before):
            again = (packed, before[1], Version(), 0) if isinstance(before, tuple) else packed
            node.saved.entries[self.place] = again


class saved_tensors_hooks:
    """Inside, what graphs save goes through ``pack_hook`` and comes back through ``unpack_hook``.

    ``pack_hook(tensor)`` may give anything, ``unpack_hook`` makes the same tensor of it again: a
    rule may read the result where PyTorch's reads an operand. The innermost pair holds. A backward
    pass raises RuntimeFault, where PyTorch computes with what it has: (E0407) of another shape or
    with complex for real numbers, (E0402) of the saved memory that was written to since.

    Example:
        >>> import gradcli
        >>> x = gradcli.ones(2, requires_grad=True)
        >>> hooks = gradcli.autograd.graph.saved_tensors_hooks
        >>> with hooks(lambda t: t.tolist(), lambda n: gradcli.tensor(n)):
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 2.])
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.hooks = pack_hook, unpack_hook

    def __enter__(self) -> Any:
        if mode.saving_off is not None:
            raise RuntimeFault("E0407", mode.saving_off)
        mode.watching = True  # what a hook does in a pass may be seen, as a hook that it registers
        mode.saving = (*mode.saving, self.hooks)

    def __exit__(self, *exc: object) -> None:
        mode.saving = mode.saving[:-1]


class disable_saved_tensors_hooks(contextlib.ContextDecorator):
    """Inside, setting saved-tensor hooks is an error with the message given; also a decorator."""

    def __init__(self, error_message: str) -> None:
        self.message = error_message
        self.previous: list[Any] = []

    def __enter__(self) -> None:
        if mode.saving:
            raise RuntimeFault("E0407", self.message)
        self.previous.append(mode.saving_off)
        mode.saving_off = self.message

    def __exit__(self, *exc: object) -> None:
        mode.saving_off = self.previous.pop()


class save_on_cpu(saved_tensors_hooks):
    """Inside, saved tensors wait for backward in the computer's own memory."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: (t.device, t.cpu()), lambda kept: kept[1].to(kept[0]))


class _Handle:
    """What a graph keeps in the place of a tensor that may be written to."""

    __slots__ = ("__weakref__",)


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Inside, what graphs save may be written to in place: the first write to its memory copies it.

    Such a graph is for backward passes inside too. ``original`` has the saved tensors that nobody
    wrote to, ``cloned`` the copies; both forget what no graph keeps any more. Raises RuntimeFault
    (E0407) inside another; AssertionFault (E0407) for a backward pass that comes after.
    """

    def __init__(self) -> None:
        super().__init__(self._pack, self._unpack)
        self.open = False
        self.outer: Any = None  # the log of the session around, which notes writes too
        self.original: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[Any, _Handle] = WeakValueDictionary()
        self._of_memory: dict[int, WeakSet[_Handle]] = {}

    def __enter__(self) -> allow_mutation_on_saved_tensors:
        owners = (getattr(pack, "__self__", None) for pack, _ in mode.saving)
        if any(isinstance(owner, allow_mutation_on_saved_tensors) for owner in owners):
            said = "allow_mutation_on_saved_tensors contexts cannot be nested"
            raise RuntimeFault("E0407", said, help="the outer one allows it here too")
        super().__enter__()
        self.open, self.outer = True, current_log()
        open_log(self)
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        open_log(self.outer)
        self.open = False
        self.clear()

    def _pack(self, value: Tensor) -> _Handle:
        memory, version = value.own_array(), value._meta().version
        place = memory.__array_interface__["data"][0], memory.shape, memory.strides, memory.dtype
        tid = (id(version), version.number, value._flips, *place)
        handle = self.tid_to_weakhandle.get(tid)
        if handle is None:
            handle = self.tid_to_weakhandle[tid] = _Handle()
            self.original[handle] = value.detach()  # which keeps the version, and its id
            self._of_memory.setdefault(id(owner_of(memory)), WeakSet()).add(handle)
        return handle

    def _unpack(self, handle: _Handle) -> Tensor:
        if not self.open:
            said = "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in"
            said += " which the graph was originally recorded."
            raise AssertionFault("E0407", said, help="call backward() inside the same `with`")
        kept = self.cloned.get(handle)
        return (self.original[handle] if kept is None else kept)._alias()

    def write(self, array: Any) -> None:
        """``array`` is about to be written to: copy what graphs saved of its memory."""
        if self.outer is not None:
            self.outer.write(array)
        for handle in list(self._of_memory.get(id(owner_of(array)), ())):
            if handle in self.original:
                self.cloned[handle] = self.original.pop(handle).clone()

    def release(self, order: Iterable[Any]) -> None:
        """Saved values are about to be let go of: of interest to the session around alone."""
        if self.outer is not None:
            self.outer.release(order)

    def clear(self) -> None:
        """Forget all that was saved."""
        for known in (self.original, self.cloned, self.tid_to_weakhandle, self._of_memory):
            known.clear()
