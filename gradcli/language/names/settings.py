"""What a program may set for itself: the default dtype and how tensors print.

Both belong to the thread, so ``Program.run`` puts back what a program changed when it ends: rows
of a batch and later programs never see it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar

from gradcli.engine import dtypes
from gradcli.engine.grad_mode import mode
from gradcli.ops.errors import bad_argument, bad_type

_MOST = {"precision": 100, "threshold": 1_000_000, "edgeitems": 1000, "linewidth": 100_000}

_changed: ContextVar[tuple[tuple[str, Callable[[], None]], ...]] = ContextVar("changed", default=())
"""The settings that the thread's program changed, each with what puts it back."""


def undone(name: str, undo: Callable[[], None]) -> None:
    """What puts a setting back when the program ends; the first one of a name counts."""
    changed = _changed.get()
    if name not in dict(changed):
        _changed.set((*changed, (name, undo)))


class Drawing:
    """Random numbers of a run, made when it first asks for some: from 0 until the program sets a
    seed, the same in every process."""

    every: ClassVar[list[Drawing]] = []

    def __init__(self, name: str, make: Callable[[int], Any]) -> None:
        self.every.append(self)
        self.name = name
        self.make = make
        self.source: ContextVar[Any] = ContextVar(name, default=None)

    def __call__(self) -> Any:
        """The generator of the run."""
        if self.source.get() is None:
            self.source.set(self.make(0))
            undone(self.name, lambda: self.source.set(None))  # type: ignore[arg-type]
        return self.source.get()


def drawing_states() -> dict[Drawing, Any]:
    """Where the generators of the run are; None where nothing was drawn. For a session's undo."""
    return {drawing: copy.deepcopy(drawing.source.get()) for drawing in Drawing.every}


def restore_drawing(states: dict[Drawing, Any]) -> None:
    """Go back to ``drawing_states``."""
    for drawing in Drawing.every:
        drawing.source.set(states.get(drawing))


def set_default_dtype(dtype: Any) -> None:
    """``torch.set_default_dtype``, until the program ends."""
    before = dtypes.get_default_dtype()
    dtypes.set_default_dtype(dtype)
    undone("dtype", lambda: dtypes.set_default_dtype(before))


def set_printoptions(
    precision: Any = None, threshold: Any = None, edgeitems: Any = None, linewidth: Any = None,
    profile: Any = None, sci_mode: Any = None,
) -> None:  # fmt: skip
    """``torch.set_printoptions``, until the program ends. Raises ValueFault (E0304)."""
    from gradcli.engine import printing  # few programs print tensors

    given: dict[str, Any] = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems,
             "linewidth": linewidth}  # fmt: skip
    for name, value in given.items():
        if value is None or (value == float("inf") and name == "threshold"):
            continue
        if not isinstance(value, int) or value > _MOST[name]:
            raise bad_argument(
                f"{name} is a whole number up to {_MOST[name]:,}", help="precision=6"
            )
    before: dict[str, Any] = printing.get_printoptions()
    printing.set_printoptions(**given, profile=profile, sci_mode=sci_mode)
    undone("print", lambda: printing.set_printoptions(**before))


def put_back(keep: bool = False) -> None:
    """Undo what the program set; ``keep`` lets it stand (a session goes on)."""
    if changed := _changed.get():
        _changed.set(())
        for _, undo in changed:
            if not keep:
                undo()


_leading: ContextVar[bool] = ContextVar("leading", default=False)
OTHERWISE = ("std", "var", "repeat", "nonzero")
"""Methods of arrays that are something else of tensors."""
ALONG_ALL = ("cumsum", "cumprod")
"""Methods of arrays that need no axis."""
BY_NUMPY = frozenset((*OTHERWISE, *ALONG_ALL, "max", "min", "transpose"))
"""Methods that a tensor has as NumPy's where a text has arrays only, for which it stands."""
WRITING = ("sort", "fill", "put")
"""Methods of arrays that write to them, where those of tensors give another."""
INSTEAD = BY_NUMPY | {*WRITING, "size"}
"""What a tensor has otherwise in such a text."""
OF_ARRAYS = frozenset((*OTHERWISE, *WRITING))
"""Methods that arrays have and tensors have otherwise."""


def unused(made: Any) -> Any:
    """What a method of ``WRITING`` gave and nothing takes. Raises TypeFault (E0303) for a tensor,
    where a program has arrays only."""
    if mode.rebinds and (isinstance(made, tuple) or hasattr(made, "__gradcli_rank__")):
        said = "sort(), fill() and put() give another array here, which nothing takes"
        raise bad_type(said, help="write x[:] = np.sort(x), x[:] = 0, or x[i] = 0")
    return made


def arrays_lead() -> None:
    """The run has made a tensor where NumPy would have an array."""
    _leading.set(True)
    undone("leading", lambda: _leading.set(False))  # type: ignore[arg-type]


def plain_tensor(value: Any, name: str) -> Any:
    """``value``, whose method ``name`` is called. Raises TypeFault (E0303) for one of ``OTHERWISE``
    of a tensor that may stand for an array."""
    if _leading.get() and hasattr(value, "__gradcli_rank__") and not hasattr(value, "of_numpy"):
        said = f"{name}() of an array is not {name}() of a tensor, and this may be either"
        raise bad_type(said, help=f"write np.{name}(x) for NumPy's, torch.{name} for PyTorch's")
    return value
