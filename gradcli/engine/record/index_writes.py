"""Writes to tensors of whole numbers and truths, which nodes keep as their indices.

    values, order = x.sort();  order.zero_();  values.sum().backward()

An index is a parameter of an operator: an array, and no saved tensor with a version. Few programs
write to such tensors, so these writes are counted by the memory, once there is one at all.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from gradcli.engine.dtypes import dtype_of
from gradcli.engine.graph.node import Node, changed, more
from gradcli.engine.tensor.storage import Version
from gradcli.engine.undo_log import owner_of

writes: dict[int, Version] = {}
"""By the id of the array that owns the memory, for as long as that lives."""


def count_write(array: Any) -> None:
    """Count one more write to the memory of ``array``."""
    owner = owner_of(array)
    version = writes.get(id(owner))
    if version is None:
        version = writes[id(owner)] = Version()
        weakref.finalize(owner, writes.pop, id(owner), None).atexit = False
    version.bump()


def counts() -> dict[int, int]:
    """How often each memory was written to, for ``restore_counts``."""
    return {key: version.number for key, version in writes.items()}


def restore_counts(before: dict[int, int]) -> None:
    """Forget the writes since ``before``, which were undone."""
    for key, version in writes.items():
        version.number = before.get(key, 0)


def _versions(node: Node) -> Iterator[tuple[Any, Version | None]]:
    """The arrays among a node's indices, with the writes to each."""
    index = node.extra.params.get(node.op.by_index, ())  # the node of all pieces has none
    for part in index if isinstance(index, tuple) else (index,):
        if getattr(part, "ndim", 0):
            yield part, writes.get(id(owner_of(part)))


def stamp_index(node: Node) -> None:
    """Note how often a new node's indices had been written to before."""
    then = tuple([0 if v is None else v.number for _, v in _versions(node)])
    if any(then):
        more(node).index_versions = then


def verify_index(node: Node) -> None:
    """Check that a node's indices have not been written to since. Raises RuntimeFault (E0402)."""
    then = node.extra.index_versions
    for place, (array, version) in enumerate(_versions(node)):
        before = then[place] if then else 0
        if version is not None and version.number != before:
            made = array.shape, dtype_of(array), None
            raise changed(f"the index of {node.op.name}", node, version, before, made)
