"""``checkpoint``: compute a part of the graph again on the way back instead of keeping it.

Forward runs under hooks on what the graph saves: each saved tensor is kept as a number only. The
first time a backward pass reads one of them, the function runs again, and what it saves then takes
the numbers' places, in the same order. The second run stops early, when it has saved as much as is
asked for.

The older form, ``use_reentrant=True``, is one node: its backward runs the function again, recorded,
and a backward pass over that.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine import Tensor, backward
from gradcli.engine.backward.traverse import Towards
from gradcli.engine.creation import generator as random
from gradcli.engine.creation.factories import tensor
from gradcli.engine.custom_function.function import Function
from gradcli.engine.grad_mode import (
    current,
    enable_grad,
    mode,
    no_grad,
    pushing,
    pushing_again,
    restore,
    transformed,
)
from gradcli.engine.graph.torch_names import dressed
from gradcli.engine.record.saved_tensor_hooks import refuse_written, saved_tensors_hooks
from gradcli.engine.source_location import warn
from gradcli.engine.tensor.tensor import Plain
from gradcli.ops.errors import RuntimeFault, ValueFault, bad_argument, bad_type

__all__ = ["CheckpointError", "GraphExecGroup", "checkpoint", "checkpoint_sequential",
           "noop_context_fn", "set_checkpoint_debug_enabled",
           "set_checkpoint_early_stop"]  # fmt: skip


class CheckpointError(RuntimeFault):
    """The second run of a checkpointed function is not what the first was."""


class _Local(threading.local):
    early_stop: bool | None = None
    debug: bool | None = None
    group: GraphExecGroup | None = None


_local = _Local()


class GraphExecGroup:
    """Inside, backward passes over separate parts of a checkpointed function share a second run.

    What one of them has read the others cannot read: CheckpointError (E0407). Groups do not nest:
    RuntimeFault.
    """

    def __enter__(self) -> GraphExecGroup:
        if _local.group is not None:
            raise RuntimeFault("E0407", "GraphExecGroup contexts cannot be nested.")
        _local.group = self
        return self

    def __exit__(self, *exc: object) -> None:
        _local.group = None


class _Enough(Exception):
    """The second run has saved all that is asked for."""


@contextlib.contextmanager
def _setting(name: str, value: bool | None) -> Iterator[None]:
    before = getattr(_local, name)
    setattr(_local, name, value)
    try:
        yield
    finally:
        setattr(_local, name, before)


def set_checkpoint_early_stop(enable: bool) -> contextlib.AbstractContextManager[None]:
    """Whether checkpoints made inside stop their second run early; they do by themselves."""
    return _setting("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> contextlib.AbstractContextManager[None]:
    """Whether checkpoints made inside explain a second run that differs, whatever they say."""
    return _setting("debug", enabled)


def noop_context_fn() -> tuple[Any, Any]:
    """The contexts of the first run and of the second: none."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def _facts(value: Tensor) -> tuple[Any, ...]:
    return tuple(value.shape), value.dtype, value.device


@contextlib.contextmanager
def _drawn_from(state: Any) -> Iterator[None]:
    """Inside, random numbers are drawn as from a ``snapshot`` on; None leaves them as they are."""
    if state is None:
        yield
        return
    before = random.snapshot()
    random.restore(state)
    try:
        yield
    finally:
        random.restore(before)


class _Inputs(Function):
    """A node that saves the arguments of a checkpointed call: hooks on what is saved see them."""

    @staticmethod
    def forward(start: Tensor, *tensors: Tensor) -> Tensor:
        """Nothing of them."""
        return start.detach()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        """Save them, and which version of them."""
        ctx.save_for_backward(*inputs[1:])


_START = tensor((), requires_grad=True)


class _Run:
    """One checkpointed call: what it saved, and what it takes to make that again."""

    def __init__(
        self, call: Callable[..., Any], args: tuple[Any, ...], context: Any, keep_random: bool,
        early_stop: bool, compares: bool, debug: bool,
    ) -> None:  # fmt: skip
        self.call, self.args, self.context = call, args, context
        tensors = () if transformed.by else [a for a in args if isinstance(a, Plain)]
        self.inputs = dressed(_Inputs.apply(_START, *tensors).edge.origin)
        self.facts: list[Any] = []  # shape, element type and place of each that was saved
        self.early_stop, self.compares, self.debug = early_stop, compares, debug
        self.running = True
        self.pushing = frozenset(pushing)  # the second run may come when these have ended
        # For each backward pass that asks, or group of them, by its id, while it is there: what a
        # second run saved, with the versions. A weak reference: it holds nodes, and they hold this.
        self.found: dict[int, tuple[Any, dict[int, tuple[Tensor, int]]]] = {}
        self.random = random.snapshot() if keep_random else None

    def pack(self, value: Tensor) -> int:
        """A number in the place of a tensor."""
        self.facts.append(_facts(value))
        return len(self.facts) - 1

    def unpack(self, number: int) -> Tensor:
        """The tensor again: of one second run for each pass, which hands each out once, unless it
        wrote to it since: RuntimeFault (E0402)."""
        passing = mode.passing if _local.group is None else _local.group
        key, known = id(passing), self.found
        if key in known:
            found = known[key][1]
        else:
            found = self._again()
            if passing is not None:
                known[key] = weakref.ref(passing, lambda _: known.pop(key, None)), found
        if number not in found:
            overlap = (
                " Performing two backward calls that overlap (i.e. require the same saved "
                "activation in order to compute gradients) is not allowed in one GraphExecGroup."
            )
            raise CheckpointError(
                "E0407",
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already "
                "unpacked once. If you are calling ctx.saved_tensors in backward, make sure to do "
                "so only once." + (overlap if passing is _local.group else ""),
                help="keep what ctx.saved_tensors gave",
            )
        value, then = found.pop(number)
        refuse_written(value._meta().version, then)
        return value

    def _given(self) -> tuple[Any, ...]:
        """The arguments of the call. Raises RuntimeFault (E0402) where one was written to since."""
        saved = iter(self.inputs.saved_tensors)
        return tuple(next(saved, a) if isinstance(a, Plain) else a for a in self.args)

    def _again(self) -> dict[int, tuple[Tensor, int]]:
        args, found = self._given(), list[tuple[Tensor, int]]()

        def collect(value: Tensor) -> Tensor:
            if len(found) == len(self.facts):
                raise self._differs("trying to save more tensors during recomputation than before.")
            then = value._meta().version.number
            found.append((value.detach() if value.requires_grad else value, then))
            if len(found) == len(self.facts) and (self.early_stop or self.running):
                raise _Enough
            return value

        hooks = saved_tensors_hooks(collect, lambda value: value)
        with (
            _drawn_from(self.random), enable_grad(), pushing_again(self.pushing), self.context,
            contextlib.suppress(_Enough), hooks,
        ):  # fmt: skip
            self.call(*args)
        if len(found) != len(self.facts):
            raise self._differs(
                "A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.facts)}\n"
                f"Number of tensors saved during recomputation: {len(found)}."
            )
        now = [_facts(value) for value, _ in found]
        others = [i for i, (a, b) in enumerate(zip(self.facts, now, strict=True)) if a != b]
        if others and self.compares:
            raise self._differs(
                "Recomputed values for the following tensors have different metadata than during "
                "the forward pass.\n"
                + "\n".join(
                    f"tensor at position {i}:\nsaved metadata: {self.facts[i]}\n"
                    f"recomputed metadata: {now[i]}"
                    for i in others
                )
            )
        return dict(enumerate(found))

    def _differs(self, text: str) -> CheckpointError:
        if self.debug:
            text = (
                "You are seeing this error because you passed `debug=True` to checkpoint and "
                f"tensors to be saved during the original forward and differ between those saved "
                f"during recomputation: {text}"
            )
        return CheckpointError(
            "E0407", f"torch.utils.checkpoint: {text}",
            help="the function has to do the same thing each time it is called",
        )  # fmt: skip


class CheckpointFunction(Function):
    """The older form: a node whose backward runs the function again and a pass over that."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], keep_random: bool, *args: Any) -> Any:
        """The function's result, of which nothing is recorded."""
        ctx.function, ctx.random = function, random.snapshot() if keep_random else None
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        """The gradients of a second run. Raises RuntimeFault (E0404, E0405)."""
        if mode.passing.__class__ is Towards:
            said = "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or"
            said += " passing an `inputs` parameter to .backward()."
            raise RuntimeFault("E0404", said, help="set use_reentrant=False")
        args = list(ctx.others)
        for place, saved in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = saved.detach().requires_grad_(saved.requires_grad)
        with _drawn_from(ctx.random), enable_grad():
            outputs = ctx.function(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        reached = [
            (out, g)
            for out, g in zip(outputs, gradients, strict=True)
            if isinstance(out, Tensor) and out.requires_grad
        ]
        if not reached:
            said = "none of output has requires_grad=True, this checkpoint() is not necessary"
            raise RuntimeFault("E0405", said)
        backward([out for out, _ in reached], [g for _, g in reached])
        return None, None, *(a.grad if isinstance(a, Tensor) else None for a in args)


_NOT_SAID = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
    "use_reentrant=False is recommended, but if you need to preserve the current default behavior, "
    "you can pass use_reentrant=True."
)


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default", debug: bool = False, early_stop: bool = True,
    preserve_rng_state: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """``function(*args)``, whose intermediate values are computed again when backward needs them.

    ``preserve_rng_state`` gives the second run the random numbers of the first; ``context_fn``
    gives the contexts of both. Arguments by name, ``context_fn`` and ``debug`` are for
    ``use_reentrant=False``. Raises CheckpointError (E0407) where the second run saves something
    else than the first, ValueFault (E0304), TypeFault.

    Example:
        >>> import gradcli as torch
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> checkpoint(lambda t: (t.exp() * t).sum(), x, use_reentrant=False).backward()
        >>> x.grad
        tensor([ 5.4366, 22.1672])
    """
    if use_reentrant is None:
        warn(_NOT_SAID)
        use_reentrant = True
    mode.watching = True  # a pass over a checkpoint is known to its nodes
    if use_reentrant:
        if kwargs:
            raise ValueFault("E0302", f"Unexpected keyword arguments: {', '.join(kwargs)}")
        if context_fn is not noop_context_fn or debug is not False:
            said = "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            raise ValueFault("E0302", said)
        if not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            warn("None of the inputs have requires_grad=True. Gradients will be None")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        said = f"one of ['default', 'none'], but got {determinism_check!r}"
        raise bad_argument(f"determinism_check should be {said}")
    contexts = context_fn()
    if not isinstance(contexts, tuple) or [hasattr(c, "__exit__") for c in contexts] != [True] * 2:
        raise bad_type("context_fn has to return a tuple of two context managers")
    first, second = contexts
    if not mode.grad:
        with first:
            return function(*args, **kwargs)
    run = _Run(
        functools.partial(function, **kwargs), args, second, preserve_rng_state,
        early_stop if _local.early_stop is None else _local.early_stop,
        determinism_check == "default", debug if _local.debug is None else _local.debug,
    )  # fmt: skip
    state = current()
    try:
        with saved_tensors_hooks(run.pack, run.unpack), first:
            return function(*args, **kwargs)
    except BaseException:
        restore(state)  # an interrupt may have come between the hooks and their ``with``
        raise
    finally:
        run.running = False


def checkpoint_sequential(
    functions: Sequence[Callable[[Any], Any]], segments: int, input: Any,
    use_reentrant: bool | None = None, preserve_rng_state: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """Functions one after another, all but the last of ``segments`` parts checkpointed."""
    if kwargs:
        raise ValueFault("E0302", f"Unexpected keyword arguments: {', '.join(kwargs)}")
    if use_reentrant is None:
        warn(_NOT_SAID)
        use_reentrant = True
    functions = list(functions)
    if segments < 1:
        raise bad_argument(f"checkpoint_sequential needs a segment at least, got {segments}")
    size = len(functions) // segments
    if not size:
        said = f"checkpoint_sequential has {segments} segments for {len(functions)} functions"
        raise bad_argument(said)

    def part(start: int, end: int) -> Callable[[Any], Any]:
        return functools.partial(functools.reduce, lambda value, f: f(value), functions[start:end])

    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(
            part(start, start + size), input, use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )  # fmt: skip
    return part(last, len(functions))(input)
