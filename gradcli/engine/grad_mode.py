"""What the engine is allowed to record: gradient mode, as context managers and decorators.

The state is one plain object for the process, because every operation reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.ops.errors import TypeFault


class _Mode:
    __slots__ = (
        "annotate", "branches", "grad", "inference", "inspect", "mixes", "passing", "placing",
        "saving", "saving_off", "warned_of_cycle", "watching",
    )  # fmt: skip

    def __init__(self) -> None:
        self.grad = True
        self.inference = False
        # Whether products take tensors of two element types: where formulas are computed.
        self.mixes = False
        # Whether any graph so far chose between branches (``where`` and kin): only then does
        # backward look for slopes of branches that were not taken.
        self.branches = False
        # Whether any hook was ever registered: only then can anyone see in which order leaves
        # receive their gradients.
        self.watching = False
        # Whether a node notes the number it was given even where its rules do not need it: for
        # those who explain a computation.
        self.annotate = False
        # Who looks at every step of backward: anomaly mode, or the search for the first NaN.
        self.inspect: Any = None
        # The nodes that the backward pass under way runs, where anyone could look; one set a pass.
        self.passing: Any = None
        # Whether every node notes where the user's program recorded it.
        self.placing = False
        # The hooks on what graphs save, innermost last, and why there may be none.
        self.saving: list = []
        self.saving_off: str | None = None
        # Whether backward(create_graph=True) has warned: once is enough.
        self.warned_of_cycle = False


mode = _Mode()


def is_grad_enabled() -> bool:
    """Whether operations are recorded now."""
    return mode.grad


def is_inference_mode_enabled() -> bool:
    """Whether ``inference_mode`` is on."""
    return mode.inference


class _Switch:
    """A context manager that sets the gradient mode, restores it, and decorates functions."""

    value = False
    bare = True  # decorates without brackets too

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if args and callable(args[0]) and cls.bare:  # @no_grad without brackets
            return cls()(args[0])
        return super().__new__(cls)

    def __init__(self, *given: Any) -> None:
        self.previous: list = []
        if given:
            raise TypeFault(
                "E0302",
                f"{type(self).__name__} takes no {type(given[0]).__name__}",
                help=f"write @{type(self).__name__}() or with {type(self).__name__}():",
            )

    def __enter__(self) -> None:
        self.previous.append(mode.grad)
        mode.grad = self.value and not mode.inference

    def __exit__(self, *exc: object) -> None:
        mode.grad = self.previous.pop()

    def __call__(self, function: Callable) -> Callable:
        import functools

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._twin():
                return function(*args, **kwargs)

        return wrapped

    def _twin(self) -> _Switch:
        """A fresh switch of the same kind, so that a decorated function may call itself."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, previous=[])
        return twin


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


class set_grad_enabled(_Switch):
    """Switch recording on or off at once; as a context manager, until its end."""

    bare = False

    def __init__(self, enabled: bool) -> None:
        if not isinstance(enabled, bool | int):
            raise TypeFault(
                "E0302",
                f"set_grad_enabled(): argument 'enabled' must be bool, not "
                f"{type(enabled).__name__}",
                help="write set_grad_enabled(True) or set_grad_enabled(False)",
                torch="set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                f"{type(enabled).__name__}",
            )
        super().__init__()
        self.value = bool(enabled)
        self.previous = [mode.grad]
        mode.grad = self.value

    def __call__(self, function: Callable) -> Callable:
        # A decorator switches for the calls only.
        if self.previous:
            mode.grad = self.previous.pop()
        return super().__call__(function)

    def __enter__(self) -> None:
        if not self.previous:
            self.previous.append(mode.grad)
        mode.grad = self.value


class inference_mode(_Switch):
    """Like ``no_grad``, and tensors made inside stay out of every graph.

    They have no version counter; outside, a write in place to one and a graph that would save it
    are errors (E0415). ``inference_mode(False)`` records again inside another one.
    """

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.enabled = mode

    def __enter__(self) -> None:
        self.previous.append((mode.grad, mode.inference))
        mode.grad, mode.inference = not self.enabled, self.enabled

    def __exit__(self, *exc: object) -> None:
        mode.grad, mode.inference = self.previous.pop()
