"""What the calling thread records: gradient mode and the like, with their context managers.

Every thread has modes of its own and starts with the defaults, as in PyTorch; so has every asyncio
task, which starts with those of its creator. The modes of a thread are one ``State`` in a context
variable. A State never changes: to change a mode is to set another one.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from gradcli.ops.errors import RuntimeFault, TypeFault
from gradcli.ops.torch_messages import not_a

FUNCTIONS = (
    "enable_grad inference_mode is_grad_enabled is_inference_mode_enabled no_grad set_grad_enabled"
)
"""What ``gradcli`` has of this module."""
STRIDE = 1 << 24
"""The step of sequence numbers. In between, what a thread records inside a transform has the number
of that thread, so that others, which may record meanwhile, are known from it."""
_numbers = itertools.count(0, STRIDE)
next_number = _numbers.__next__
"""Sequence numbers: a node is always younger than the nodes it points at."""
_next_thread = itertools.cycle(range(1, STRIDE)).__next__


class State:
    """The modes of a thread; ``current()`` is that of the calling one. Never written to.

    grad        whether operations are recorded: where that is enabled, and inference mode is off
    enabled     whether the gradient mode is on
    inference   whether results stay out of every graph for good
    mixes       whether products take tensors of two element types: where formulas are computed
    rebinds     whether single numbers are as Python's own: ``a += b`` makes another, none is a view
    arrays      whether such a number may be NumPy's too, whose truths add up to a truth
    exact       whether a whole number that its element type has no room for is an error: in texts
    placed      whether a node notes the line of the user's program that made it
    annotate    whether a node notes the number it was given even where its rules do not need it:
                for those who explain a computation
    inspect     who looks at every step of backward: anomaly mode, or the search for the first NaN
    passing     the nodes that the backward pass under way runs, where anyone could look; one set a
                pass
    saving      the pairs of hooks on what graphs save, innermost last
    saving_off  why there may be no such hooks; None where they may
    number      gives the next node its sequence number
    plain       whether operations are recorded and no mode is on that has recording take notes:
                the state in which operators take their short ways
    """

    __slots__ = (
        "annotate", "arrays", "enabled", "exact", "grad", "inference", "inspect", "mixes", "number",
        "passing", "placed", "plain", "rebinds", "saving", "saving_off", "variants",
    )  # fmt: skip

    grad: bool
    enabled: bool
    inference: bool
    mixes: bool
    number: Callable[[], int]
    rebinds: bool
    arrays: bool
    exact: bool
    placed: bool
    annotate: bool
    inspect: Any
    passing: Any
    saving: tuple[tuple[Callable[..., Any], Callable[..., Any]], ...]
    saving_off: str | None
    plain: bool
    # Of a State without hooks and passes: those that differ in ``enabled``, ``inference`` alone.
    # Others are not kept here, since what they hold would stay alive in the cycle.
    variants: dict[tuple[bool, bool], State] | None

    def __init__(self, **modes: Any) -> None:
        for name in _FIELDS:
            setattr(self, name, modes[name])
        self.grad = self.enabled and not self.inference
        self.plain = self.grad and not (self.placed or self.annotate or self.saving)
        holds = self.saving or not (self.inspect is self.passing is self.saving_off is None)
        self.variants = None if holds else {(self.enabled, self.inference): self}

    def replaced(self, **changes: Any) -> State:
        """A State that differs in ``changes``."""
        return State(**{name: getattr(self, name) for name in _FIELDS} | changes)

    def recording(self, enabled: bool, inference: bool) -> State:
        """A State that differs in these two modes."""
        variants = self.variants
        if variants is None:
            return self.replaced(enabled=enabled, inference=inference)
        try:
            return variants[enabled, inference]
        except KeyError:
            found = self.replaced(enabled=enabled, inference=inference)
            found.variants = variants
            variants[enabled, inference] = found
            return found


_FIELDS = tuple(name for name in State.__slots__ if name not in ("grad", "plain", "variants"))
_DEFAULTS = State(
    enabled=True, inference=False, mixes=False, rebinds=False, arrays=False, exact=False,
    placed=False, annotate=False, inspect=None, passing=None, saving=(), saving_off=None,
    number=next_number,
)  # fmt: skip
_state: ContextVar[State] = ContextVar("modes", default=_DEFAULTS)

current = _state.get
"""The State of the calling thread: one call of C code, which every operation makes once."""
restore = _state.set
"""Makes a State that ``current`` gave before that of the calling thread again."""
restore(_DEFAULTS)  # a variable that is set in its context is found faster than a default


@contextlib.contextmanager
def unchanged() -> Iterator[None]:
    """The modes are afterwards what they were, also where a signal broke off a switch of them.

    An exception that a signal handler raises may come between a change and the ``try`` that would
    undo it. Then the transforms that are running are those from before, too.
    """
    state = current()
    shown: list[Any] = [(vars(one), dict(vars(one))) for one in of_transforms]
    held = [(v, v.copy()) for _, was in shown for v in was.values() if isinstance(v, list | dict)]
    try:
        yield
    except BaseException:
        begun = {*transformed.dual}
        for now, was in (*shown, *held):
            if isinstance(now, list):
                now[:] = was
            else:
                now.update(was)
                for key in now.keys() - was.keys():
                    del now[key]
        end_pushing(begun - {*transformed.dual})
        raise
    finally:
        restore(state)


of_transforms: list[threading.local] = []
"""What each thread knows of the transforms and passes that run in it."""


def _mode(name: str) -> Any:
    def get(mode: _Modes) -> Any:
        return getattr(current(), name)

    def put(mode: _Modes, value: Any) -> None:
        restore(current().replaced(**{name: value}))

    return property(get, put)


class _Modes:
    """The State of the calling thread to read and to write: ``mode.grad = False``.

    What only ever rises from False belongs to the process: it spares work that nobody asked for.

    branches         whether any graph so far chose between branches (``where`` and its like): only
                     then does backward look for slopes of branches that were not taken
    foreign          whether a custom function was ever recorded: only then, or where anyone is
                     watching, do functions of the user's run in backward passes
    inferring        whether inference mode was ever on
    marking          what asks for a mark on every tensor that is made: inference mode, for good,
                     and the transforms of functions that are running in any thread; how many
    twice            whether a pass that met choices was ever recorded, for a further one
    watching         whether any hook was ever registered: only then can anyone see in which order
                     leaves receive their gradients
    """

    __slots__ = ("branches", "foreign", "inferring", "marking", "twice", "watching")

    def __init__(self) -> None:
        self.branches = False
        self.foreign = False
        self.inferring = False
        self.marking = 0
        self.twice = False
        self.watching = False

    mixes = _mode("mixes")
    rebinds = _mode("rebinds")
    arrays = _mode("arrays")
    placed = _mode("placed")
    annotate = _mode("annotate")
    inspect = _mode("inspect")
    passing = _mode("passing")
    saving = _mode("saving")
    saving_off = _mode("saving_off")

    @property
    def grad(self) -> bool:
        return current().grad

    @grad.setter
    def grad(self, value: bool) -> None:
        state = current()
        if state.grad is not value:
            restore(state.recording(value, state.inference))

    @property
    def inference(self) -> bool:
        return current().inference

    @inference.setter
    def inference(self, value: bool) -> None:
        if value:
            self.infer()
        state = current()
        restore(state.recording(state.enabled, value))

    def infer(self) -> None:
        """Note that inference mode was on."""
        if not self.inferring:
            self.inferring = True
            self.mark(1)

    def mark(self, more: int) -> None:
        """So many more ask for marks."""
        with _counting:
            self.marking += more


mode = _Modes()
_counting = threading.Lock()


class Transform:
    """A transform of ``gradcli.func`` that is running.

    function   what it differentiates; None where it maps, for that may write to what it captures
    arguments  the tensors that it gave the function
    ends       where those were in the graph that it differentiates by, as ``detach_()`` moves them
    level      of the values that it made; None in reverse mode, whose values are tensors
    begun      the sequence number of a node of its thread when it began: what is computed inside
               has greater ones
    since      the same; None where it maps, since results that are no batches are nobody's there
    lifted     the levels of vmaps at which it made batches of what it differentiates by
    behind     what is known of the graph behind nodes, and by which ends (``own_passes.ends_of``)
    """

    __slots__ = ("arguments", "begun", "behind", "ends", "function", "level", "lifted", "since")

    def __init__(
        self,
        function: Callable[..., Any] | None,
        arguments: Sequence[Any] = (),
        level: int | None = None,
        records: bool = False,
    ) -> None:
        self.function, self.arguments, self.level = function, arguments, level
        self.ends: set[Any] = set()
        self.begun = transformed.number()
        self.since: Any = self.begun if records else None
        self.lifted: set[int] = set()
        self.behind: Any = (None, None)

    def made(self, node: Any) -> bool:
        """Whether a ``node`` that is no older was recorded inside, in the transform's thread."""
        return not (node.seq - self.since) % STRIDE

    def holds(self, begun: int | None) -> bool:
        """Whether what the mark ``begun`` is of was made inside, in the transform's thread."""
        return begun is not None and begun >= self.begun and not (begun - self.begun) % STRIDE

    def is_given(self, value: Any) -> bool:
        """Whether a value is one of the arguments."""
        return value is not None and any(value is argument for argument in self.arguments)

    def so_far(self) -> range:
        """The numbers of what was recorded inside until now."""
        return range(self.since, transformed.number(), STRIDE)


class _Transformed(threading.local):
    """The transforms that run in the calling thread, innermost last."""

    multithreading = True  # as the thread set it
    taken = 0  # how often something inside one took a tensor's numbers as Python's, or wrote
    shown = 0  # how often something inside one took a tensor's text
    differentiated = False  # whether ``autograd.functional`` is running a function

    def __init__(self) -> None:
        self.by: list[Transform] = []
        own = itertools.repeat(_next_thread())
        self.number = map(operator.add, _numbers, own).__next__  # inside those with ``since``
        self.turns: frozenset[Any] = frozenset()  # the locks that it holds of modules
        self.dual: dict[int, int] = {}  # the levels of ``forward_ad`` that are on
        # Levels whose tangents are recorded, whatever the mode, and whether it mattered.
        self.linear: dict[int, bool] = {}


transformed = _Transformed()
of_transforms.append(transformed)
pushing: dict[int, int] = {}
"""The levels of tangents that are on, in any thread, and how often: once by itself, and once for
each second run of what was computed there."""


def begin_pushing(levels: Iterable[int]) -> None:
    """From now on values have the tangents that they have at ``levels``."""
    with _counting:
        for level in levels:
            pushing[level] = pushing.get(level, 0) + 1


def end_pushing(levels: Iterable[int]) -> None:
    """Take back one ``begin_pushing`` of ``levels``."""
    with _counting:
        for level in levels:
            if (times := pushing.get(level, 0)) > 1:
                pushing[level] = times - 1
            else:
                pushing.pop(level, None)


@contextlib.contextmanager
def pushing_again(levels: frozenset[int]) -> Iterator[None]:
    """Inside, values have the tangents that they had at ``levels``, which may have ended."""
    begin_pushing(levels)
    try:
        yield
    finally:
        end_pushing(levels)


def unrecorded(function: Callable[..., Any], *args: Any) -> Any:
    """What ``function(*args)`` gives with nothing recorded; other modes that it sets stay set.

    One call of C code ends it, so that an interrupt cannot leave the gradient mode off.
    """
    before = current()
    after = inside = before.recording(False, before.inference)
    try:
        restore(inside)
        try:
            return function(*args)
        finally:
            after = current()
    finally:
        restore(before)
        if after is not inside:
            restore(after.recording(before.enabled, after.inference))


@contextlib.contextmanager
def outside_inference() -> Iterator[None]:
    """Inside, inference mode is off where it is on, and nothing is recorded there."""
    state = current()
    try:
        if state.inference:
            restore(state.recording(False, False))
        yield
    finally:
        if state.inference:
            restore(state)


@contextlib.contextmanager
def transforming(transform: Transform) -> Iterator[None]:
    """Inside, a function is run by ``transform``: out of inference mode.

    An exception leaves the modes as they were: it may be an interrupt of a switch inside.
    """
    before, state = transformed.by, current()
    marks = transform.function is not None
    numbered = not marks or state.number is transformed.number
    inside = state if numbered else state.replaced(number=transformed.number)
    try:
        transformed.by = [*before, transform]
        if marks:
            mode.mark(1)
        restore(inside)
        with outside_inference():
            yield
        after = current()
        # Another one where it set a mode for good.
        restore(state if after is inside else after.replaced(number=state.number))
    except BaseException:
        restore(state)
        raise
    finally:
        transformed.by = before
        if marks:
            mode.mark(-1)


@contextlib.contextmanager
def outside_transforms() -> Iterator[None]:
    """Inside, nothing is recorded, and what a transformed function captures may be written to."""
    before, transformed.by = transformed.by, []
    try:
        with no_grad():
            yield
    finally:
        transformed.by = before


def shown_inside(text: str, batch: dict[int, bool], tracked: bool = True) -> str:
    """The text of a tensor in that of the transforms around it, as PyTorch shows them.

    ``batch`` says of the levels that the value has whether it is a batch there; ``tracked``,
    whether it is recorded, as what reverse mode differentiates by is.
    """
    for place, transform in enumerate(transformed.by, 1):
        if tracked if transform.level is None else transform.level in batch:
            mapped = batch.get(transform.level or 0, False)
            kind = "BatchedTensor" if mapped else "GradTrackingTensor"
            dim = "bdim=0, " if mapped else ""
            inner = "\n".join(line and f"    {line}" for line in text.split("\n"))
            text = f"{kind}(lvl={place}, {dim}value=\n{inner}\n)"
    return text


def refuse_in_transform(message: str, instead: str) -> None:
    """Raise RuntimeFault (E0412) inside a function that a transform runs."""
    if transformed.by:
        raise RuntimeFault("E0412", message, help=instead)


def refuse_node_hook() -> None:
    """Raise RuntimeFault (E0412) where a node's gradients are batches or have tangents.

    A hook of the node would be called for them as they lie.
    """
    if transformed.dual or any(t.level is not None for t in transformed.by):
        said = "a hook on a node of the graph is not supported inside vmap or jvp"
        raise RuntimeFault("E0412", said, help="register it on the tensor: y.register_hook(hook)")


def is_grad_enabled() -> bool:
    """Whether the gradient mode is on; operations are recorded where inference mode is off too."""
    return current().enabled


def is_inference_mode_enabled() -> bool:
    """Whether ``inference_mode`` is on."""
    return mode.inference


_GENERATOR = 0x20
"""The flag of a generator's code, ``inspect.CO_GENERATOR``: that module takes long to load."""


class _Switch:
    """A context manager that sets the gradient mode, restores it, and decorates functions."""

    value = False
    bare = True  # decorates without brackets too

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if cls.bare and len(given) == 1 and callable(given[0]):  # @no_grad without brackets
            return cls()(given[0])
        return super().__new__(cls)

    def __init__(self, *given: Any) -> None:
        # What it was when the switch was last entered: one that is entered twice ends, as in
        # PyTorch, with what it was at the second time.
        self.previous: Any = None
        if given:
            said = f"{type(self).__name__} takes no {type(given[0]).__name__}"
            mend = f"write @{type(self).__name__}() or with {type(self).__name__}():"
            raise TypeFault("E0302", said, help=mend)

    def __enter__(self) -> None:
        before = current()
        inside = before.recording(self.value, before.inference)
        self.previous = before, inside
        restore(inside)

    def __exit__(self, *exc: object) -> None:
        before, inside = self.previous
        state = current()  # another one where a mode was changed that goes on
        restore(before if state is inside else state.recording(before.enabled, state.inference))

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(function, type):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.", FutureWarning, stacklevel=2,
            )  # fmt: skip
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _GENERATOR:
            return self._generator(function)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return wrapped

    def _generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A generator that runs under the switch and hands over control outside it."""

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            resume, sent = generator.send, None
            while True:
                try:
                    with self.clone():
                        value = resume(sent)
                except StopIteration as end:
                    return end.value
                try:
                    resume, sent = generator.send, (yield value)
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as fault:
                    resume, sent = generator.throw, fault

        return wrapped

    def clone(self) -> _Switch:
        """A fresh switch of the same kind, so that a decorated function may call itself."""
        return type(self)()


class no_grad(_Switch):
    """Record nothing inside: results do not require a gradient.

    Example:
        >>> import gradcli
        >>> x = gradcli.ones(2, requires_grad=True)
        >>> with gradcli.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """


class enable_grad(_Switch):
    """Record inside, also within ``no_grad``."""

    value = True


class _Told(_Switch):
    """A switch that is told whether it sets its mode or ends it."""

    bare = False

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            name = type(self).__name__
            raise not_a("bool", name, "enabled", 1, mode, f"write {name}(True)")
        super().__init__()
        self.value = mode

    def clone(self) -> _Told:
        """A fresh switch to the same."""
        return type(self)(self.value)


class set_grad_enabled(_Told):
    """Switch recording on or off at once; as a context manager, until its end."""

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        super().__enter__()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        self.__exit__()  # a decorator switches for the calls only
        return super().__call__(function)

    def __enter__(self) -> None:
        before = self.previous[0]
        super().__enter__()
        self.previous = before, self.previous[1]


class set_multithreading_enabled(_Told):
    """Accepted for programs that switch it: backward runs in the calling thread either way.

    Switches at once; as a context manager, until its end.
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        self.previous, transformed.multithreading = transformed.multithreading, mode

    def __enter__(self) -> None:
        """It is on already."""

    def __exit__(self, *exc: object) -> None:
        transformed.multithreading = self.previous


def is_multithreading_enabled() -> bool:
    """What ``set_multithreading_enabled`` was told."""
    return transformed.multithreading


class inference_mode(_Told):
    """Like ``no_grad``, and tensors made inside stay out of every graph.

    They have no version counter; outside, a write in place to one and a graph that would save it
    are errors (E0415). ``inference_mode(False)`` records again inside another one.
    """

    bare = True

    def __init__(self, mode: bool = True) -> None:
        super().__init__(mode)

    def __enter__(self) -> None:
        if self.value:
            mode.infer()
        state = current()
        # As in PyTorch, where a guard ends when the next one takes its place.
        grad, inference = self.previous or (not self.value, self.value)
        self.previous = state.enabled, state.inference
        restore(state.recording(grad, inference))

    def __exit__(self, *exc: object) -> None:
        if self.previous is not None:
            restore(current().recording(*self.previous))
        self.previous = None
