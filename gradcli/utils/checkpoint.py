"""``checkpoint``: compute a part of the graph again on the way back instead of keeping it.

Forward runs under hooks on what the graph saves: each saved tensor is kept as a number only. The
first time backward reads one of them, the function runs again, and what it saves then takes the
numbers' places, in the same order. The second run stops early, when it has saved as much as is
asked for.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.creation import generator as random
from gradcli.engine.grad_mode import enable_grad, mode
from gradcli.engine.record.saved_tensor_hooks import saved_tensors_hooks
from gradcli.ops.errors import RuntimeFault, ValueFault

__all__ = ["checkpoint", "checkpoint_sequential", "set_checkpoint_early_stop"]


class _Local(threading.local):
    early_stop = True


_local = _Local()


class _Enough(Exception):
    """The second run has saved all that is asked for."""


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether checkpoints made inside stop their second run early; they do by themselves."""
    before = _local.early_stop
    _local.early_stop = enable
    try:
        yield
    finally:
        _local.early_stop = before


class _Run:
    """One checkpointed call: how many tensors it saved, and what it takes to make them again."""

    def __init__(self, function: Callable, args: tuple, options: dict, keep_random: bool) -> None:
        self.function, self.args, self.options = function, args, options
        self.count = 0
        self.early_stop = _local.early_stop
        self.running = True
        self.found: dict[int, Tensor] = {}
        self.keep_random = keep_random
        if keep_random:
            random.generator()  # so that there is a state to come back to
            self.random = random.snapshot()

    def pack(self, value: Tensor) -> int:
        """A number in the place of a tensor."""
        self.count += 1
        return self.count - 1

    def unpack(self, number: int) -> Tensor:
        """The tensor again; each is handed out once and then forgotten."""
        if number not in self.found:
            self._again()
        return self.found.pop(number)

    def _again(self) -> None:
        found: list[Tensor] = []

        def collect(value: Tensor) -> Tensor:
            found.append(value.detach())
            if len(found) == self.count and (self.early_stop or self.running):
                raise _Enough
            return value

        before = random.snapshot() if self.keep_random else None
        if self.keep_random:
            random.restore(self.random)
        try:
            with enable_grad(), saved_tensors_hooks(collect, lambda value: value):
                self.function(*self.args, **self.options)
        except _Enough:
            pass
        finally:
            if self.keep_random:
                random.restore(before)
        if len(found) != self.count:
            raise RuntimeFault(
                "E0407",
                "checkpoint: A different number of tensors was saved during the original forward "
                f"and recomputation: {self.count} and then {len(found)}",
                help="the function has to do the same thing each time it is called",
            )
        self.found = dict(enumerate(found))


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
    preserve_rng_state: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """``function(*args)``, whose intermediate values are computed again when backward needs them.

    ``preserve_rng_state`` gives the second run the random numbers of the first. Both meanings of
    ``use_reentrant`` are one here. Raises RuntimeFault (E0407) where the second run saves something
    else than the first.

    Example:
        >>> import gradcli as torch
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> checkpoint(lambda t: (t.exp() * t).sum(), x, use_reentrant=False).backward()
        >>> x.grad
        tensor([ 5.4366, 22.1672])
    """
    if not mode.grad:
        return function(*args, **kwargs)
    run = _Run(function, args, kwargs, preserve_rng_state)
    try:
        with saved_tensors_hooks(run.pack, run.unpack):
            return function(*args, **kwargs)
    finally:
        run.running = False


def checkpoint_sequential(
    functions: Sequence[Callable[[Any], Any]], segments: int, input: Any,
    use_reentrant: bool | None = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """Functions one after another, all but the last of ``segments`` parts checkpointed."""
    functions = list(functions)
    if segments < 1:
        raise ValueFault("E0304", f"checkpoint_sequential needs a segment at least, got {segments}")
    size = max(1, len(functions) // segments)

    def part(start: int, end: int) -> Callable:
        def run(value: Any) -> Any:
            for function in functions[start:end]:
                value = function(value)
            return value

        return run

    start = 0
    while start + size < len(functions) and start // size < segments - 1:
        input = checkpoint(part(start, start + size), input, use_reentrant=use_reentrant, **kwargs)
        start += size
    return part(start, len(functions))(input)
