"""``ctx``: what the forward of a custom function leaves for its backward.

Tensors go through ``save_for_backward``, which notes their versions and frees them with the graph;
anything else may be an attribute.
"""

from __future__ import annotations

import warnings
from abc import ABCMeta
from collections.abc import Sequence
from typing import Any

from gradcli.engine.grad_mode import current
from gradcli.engine.graph.node import Freed, Lasting, changed, freed, result_at
from gradcli.engine.record.apply import saves_inference
from gradcli.engine.record.saved_tensor_hooks import PackedTensor, SavedTensor
from gradcli.engine.tensor.storage import Version
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.ops.errors import RuntimeFault, TypeFault
from gradcli.ops.torch_messages import not_a

OF_NODE = frozenset((
    "_input_metadata", "_sequence_nr", "apply", "metadata", "name", "next_functions",
    "register_hook", "register_prehook",
))  # fmt: skip
"""What a user may ask of the node of a call, also through ``ctx``."""


class Context(metaclass=ABCMeta):  # noqa: B024  # so that nodes count as instances
    """The first argument of forward and backward; what the user leaves on it is its __dict__."""

    # Names of our own that no user's attribute has.
    __slots__ = (
        "__dict__", "__weakref__", "_gradcli_dirty", "_gradcli_fixed", "_gradcli_for_forward",
        "_gradcli_materialize", "_gradcli_node", "_gradcli_pushing", "_gradcli_to_save",
        "_materialize_non_diff_grads", "needs_input_grad",
    )  # fmt: skip

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool, ...] = ()
        self._gradcli_to_save: tuple[Any, ...] = ()
        self._gradcli_for_forward: tuple[Any, ...] = ()
        self._gradcli_pushing = False  # jvp is running: it gets what was saved for it
        self._gradcli_dirty: tuple[Any, ...] = ()
        self._gradcli_fixed: tuple[Any, ...] = ()
        self._gradcli_materialize = True
        self._materialize_non_diff_grads = True
        self._gradcli_node: Any = None  # a weak reference: the node holds this

    def __getattr__(self, name: str) -> Any:
        """What the node of the call has: in PyTorch the node is ctx."""
        if name in OF_NODE and self._gradcli_node is not None:
            node = self._gradcli_node()
            if node is not None:
                return getattr(node, name)
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
        )

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (or None) for backward, where ``saved_tensors`` gives them back."""
        self._gradcli_to_save = _saveable("save_for_backward", tensors)

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (or None) for jvp, where ``saved_tensors`` gives them back."""
        self._gradcli_for_forward = _saveable("save_for_forward", tensors)

    def _gradcli_pushed(self, again: bool) -> None:
        """Let go of what was saved for jvp, whose outputs point at the node that holds this.

        Their values stay where jvp may be asked ``again``.
        """
        kept = self._gradcli_for_forward if again else ()
        self._gradcli_for_forward = tuple([None if t is None else t.detach() for t in kept])

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say that forward wrote to these inputs in place; they must be returned."""
        self._only_tensors(tensors, "mark_dirty can only accept variables, but argument")
        self._gradcli_dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that no gradient flows to these outputs."""
        self._only_tensors(
            tensors, "mark_non_differentiable only accepts variable arguments, but got"
        )
        self._gradcli_fixed = tensors

    def _gradcli_placed(self, outputs: Sequence[Any]) -> None:
        """Let go of the outputs without gradients: their places among ``outputs`` are enough."""
        fixed = {id(t) for t in self._gradcli_fixed}
        self._gradcli_fixed = tuple(i for i, t in enumerate(outputs) if id(t) in fixed)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (True, the default) or None for outputs not used."""
        if not isinstance(value, bool):
            raise not_a("bool", "set_materialize_grads", "value", 1, value)
        self._gradcli_materialize = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What ``save_for_backward`` kept, in jvp what ``save_for_forward`` did.

        Raises E0401 (freed) and E0402 (written to).
        """
        if self._gradcli_pushing:
            return self._gradcli_for_forward
        if self._gradcli_node is None:
            return tuple(self._gradcli_to_save)
        node = self._gradcli_node()
        if node is None:
            raise RuntimeFault("E0401", "the node that saved these tensors is gone with its graph")
        saved = node.saved
        if saved.__class__ is Freed:
            raise freed(node)
        if saved.__class__ is Accessed:
            raise RuntimeFault(
                "E0401",
                "saved_tensors can only be accessed once where clear_saved_tensors_on_access=True",
                help="keep what the first access gave",
            )
        if saved.__class__ is not Store:
            return ()
        found = tuple(saved.unpacked(node))
        if getattr(node.definition, "clear_saved_tensors_on_access", False):
            node.saved = Accessed()
            saved.entries = []  # the pass that called backward still holds the store
        return found

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The old name of ``saved_tensors``."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        node = self._gradcli_node()
        if node.saved.__class__ is Freed:
            raise freed(node)
        entries = getattr(node.saved, "entries", ())
        return tuple(SavedTensor(node, i, _edge(entry)) for i, entry in enumerate(entries))

    @staticmethod
    def _only_tensors(values: tuple[Any, ...], message: str) -> None:
        for value in values:
            if not isinstance(value, Tensor):
                raise RuntimeFault("E0412", f"{message} {type(value).__name__}")


def _saveable(method: str, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    for i, t in enumerate(tensors):
        if t is not None and not isinstance(t, Tensor):
            raise TypeFault(
                "E0412",
                f"{method} can only save variables, but argument {i} is of type {type(t).__name__}",
                help="keep what is no tensor as an attribute: ctx.k = k",
            )
    return tensors


class Store(tuple[Any, ...]):
    """What a node keeps in ``saved``: to the engine one entry without a value.

    The engine lets go of the whole when backward has run. An output is kept outside the graph,
    where it points at the node and a way back would be a cycle.
    """

    entries: list[Any]

    def __new__(cls, tensors: tuple[Any, ...], outputs: dict[int, tuple[int, Tensor]]) -> Store:
        store = super().__new__(cls, (None,))
        store.entries = [None if t is None else _entry(t, outputs) for t in tensors]
        return store

    def unpacked(self, node: Any) -> list[Tensor | None]:
        """The saved tensors, outputs attached to their own node again."""
        return [None if entry is None else _unpacked(entry, node) for entry in self.entries]


class Accessed(Lasting):
    """What stands for the saved tensors of a function that gives them away: once."""

    __slots__ = ()


def _edge(entry: Any) -> Any:
    return entry[0].edge if entry is not None and isinstance(entry[0], Tensor) else None


def _entry(t: Tensor, outputs: dict[int, tuple[int, Tensor]]) -> tuple[Any, ...]:
    """The tensor, which output it is, and the version it has now."""
    if t.is_inference():
        raise saves_inference()
    number, kept = outputs.get(id(t), (None, t))
    if current().saving:
        return PackedTensor(kept, None if number is not None else kept.edge), number, Version(), 0
    version = kept._meta().version
    value = kept if number is None else wrap(kept.array, kept.dtype)
    return value, number, version, version.number


def _unpacked(entry: tuple[Any, Any, Any, Any], node: Any) -> Any:
    value, number, version, then = entry
    if version.number != then:
        what = "a tensor" if number is None else f"output {number}"
        place = tuple(value.shape), value.dtype, value.edge if number is None else node
        raise changed(f"{what} of shape {list(value.shape)}", node, version, then, place)
    if isinstance(value, PackedTensor):
        value = value.tensor()
    return value if number is None else wrap(value.array, value.dtype, result_at(node).port(number))
