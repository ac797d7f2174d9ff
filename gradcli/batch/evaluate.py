"""One row of a batch to one record: the program prepared once, run on each row's values.

    {"schema": 1, "row": 1, "id": "a", "ok": true, "value": T, "grads": {"x": T}}
    {"schema": 1, "row": 2, "id": "b", "ok": false, "error": {"code", "message", "help", "span"}}

with ``T = {"data": nested lists, "shape": [...], "dtype": ...}``. Whatever goes wrong with a row
stays in its own record; what its program switches (gradient mode, default dtype) is switched back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gradcli.batch.readers import Row
from gradcli.display.records import tensor_record
from gradcli.engine.backward.api import backward
from gradcli.engine.creation import generator as random
from gradcli.engine.creation.factories import tensor
from gradcli.engine.dtypes import float64, get_default_dtype, set_default_dtype, to_dtype
from gradcli.engine.grad_mode import mode
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.functions.overloads import stack
from gradcli.language.diagnostics.render import Diagnostic
from gradcli.language.diagnostics.runtime import placed
from gradcli.language.names.table import NAMES
from gradcli.language.runtime.run import MAX_MEMORY, Limits, Program
from gradcli.language.syntax.nodes import Assign, Name
from gradcli.ops.errors import Fault, LimitFault, RuntimeFault, TypeFault, ValueFault

_SEEDS = 0x9E3779B1  # odd and far from a power of two: seeds of one row and the next stay apart
RECORD_LIMIT = 1_000_000
"""The most numbers that one record may hold, its value and gradients together."""

FLOATS = ("float64", "float32", "float16")


class Evaluator:
    """A program, and what is asked of it for every row.

    A program's value is its last expression, or the variable that its last line assigns.

    program    from ``gradcli.language.runtime.run.prepare``
    wrt        the variables to differentiate by; all of the row's that can be when left out
    grad       False gives values only
    cotangent  weights a result that is no scalar: an array of its shape
    dtype      of values that name none themselves: float64, float32 or float16
    limits     of each row's run
    seed       of the random numbers: every row draws its own, whatever rows ran before it

    Raises SyntaxFault (E0201) where the program calls an unknown function, ValueFault (E0910) for a
    name in ``wrt`` that the program does not read, (E0905) for another dtype.

    >>> from gradcli.language.runtime.run import prepare
    >>> record = Evaluator(prepare("a*x^2")).record(Row(1, "p", {"a": 2.0, "x": 3.0}))
    >>> record["value"]["data"], record["grads"]["x"]["data"]
    (18.0, 12.0)
    """

    def __init__(
        self,
        program: Program,
        *,
        wrt: Iterable[str] | None = None,
        grad: bool = True,
        cotangent: object = None,
        dtype: str = "float64",
        limits: Limits | None = None,
        seed: int = 0,
    ) -> None:
        if dtype not in FLOATS:
            raise ValueFault("E0905", f"a batch has no dtype {dtype!r}", help=", ".join(FLOATS))
        self.program = program
        self.dtype = dtype
        self.limits = limits or Limits()
        self.seed = seed
        # The functions that a program calls are its own; a row cannot put a number in their place.
        self.names = {
            name: None
            for name in program.checked.outer
            if name not in program.checked.called and not callable(NAMES.get(name))
        }
        self.wrt = None if wrt is None else tuple(dict.fromkeys(wrt))
        for name in self.wrt or ():
            if name not in self.names:
                raise ValueFault(
                    "E0910", f"{name!r} is not a variable of this program",
                    help=f"its variables: {', '.join(self.names) or 'none'}",
                )  # fmt: skip
        program.checked.require(program.free)
        self.grad = grad
        self.cotangent = None if cotangent is None else tensor(cotangent, dtype=dtype)
        self._dtype = to_dtype(dtype)
        torch = program.checked.uses_torch and dtype == "float64"
        self._default = to_dtype("float32") if torch else self._dtype
        self._last = _last_assigned(program)
        self._known: set[tuple[str, ...]] = set()

    def takes(self, name: str) -> bool:
        """Whether a row's field of this name is a variable of the program."""
        return name in self.names

    @property
    def max_bytes(self) -> int:
        """The most that one value of a row may take in memory."""
        return self.limits.memory or MAX_MEMORY

    def begin(self, number: int) -> None:
        """Start the random numbers of the row with this number."""
        random.seed_when_asked((self.seed * _SEEDS + number) & 0xFFFFFFFF)

    def record(self, row: Row) -> dict[str, Any]:
        """The record of one row; never raises for anything that the row did."""
        head = {"schema": 1, "row": row.number, "id": row.id}
        default, recording = get_default_dtype(), mode.grad
        set_default_dtype(self._default)
        mode.grad = True
        try:
            if row.problem is not None:
                raise row.problem
            with np.errstate(all="ignore"):  # infinities are results here, not warnings
                return {**head, "ok": True, **self._evaluated(row.values)}
        except Fault as fault:
            error = fault
        except Exception as fault:
            error = placed(fault, self.program, [])
        finally:
            set_default_dtype(default)
            mode.grad = recording
        return {**head, "ok": False, "error": Diagnostic.of(error).to_json()}

    def _evaluated(self, values: dict[str, Any]) -> dict[str, Any]:
        given = tuple([name for name in self.names if name in values])
        if given not in self._known:
            self._require(given)
        leaves = {name: self._leaf(name, values[name]) for name in given}
        outcome = self.program.run(leaves, limits=self.limits)
        value = _result(outcome.value, outcome.variables.get(self._last))
        result = _number_of(value)
        if not self.grad:
            return {"value": self._shown(result, [])}
        asked = given if self.wrt is None else self.wrt
        by = [name for name in asked if self.wrt or leaves[name].dtype.differentiable]
        grads = self._gradients(value, [leaves[name] for name in by])
        shown = self._shown(result, grads)
        return {
            "value": shown,
            "grads": {name: _record(g) for name, g in zip(by, grads, strict=True)},
        }

    def _require(self, given: tuple[str, ...]) -> None:
        """Check once for each set of fields that nothing is missing. Raises SyntaxFault (E0202)."""
        try:
            self.program.checked.require([*given, *self.program.checked.called])
        except Fault as fault:
            name = next((n for n in self.program.free if n not in given), "")
            fault.help = f"give the row a field `{name}`"
            raise
        missing = [name for name in self.wrt or () if name not in given]
        if missing:
            raise ValueFault(
                "E0202", f"no value for `{missing[0]}`, by which to differentiate",
                help=f"give the row a field `{missing[0]}`",
            )  # fmt: skip
        self._known.add(given)

    def _leaf(self, name: str, value: Any) -> Tensor:
        """A variable's value as a leaf of the graph, where its type allows that."""
        if value.__class__ is np.float64:
            leaf = wrap(value, float64)  # what tensor(value) makes, sooner
        elif isinstance(value, np.ndarray | np.generic):
            leaf = tensor(value)
        else:
            leaf = tensor(value, dtype=self._dtype)
        wanted = self.grad and (self.wrt is None or name in self.wrt)
        if wanted and leaf.dtype.differentiable:
            leaf.requires_grad_()
        elif wanted and self.wrt is not None:
            raise TypeFault(
                "E0910", f"cannot differentiate by `{name}`: its type is {leaf.dtype.name}",
                help="leave out the type, so that it is a float",
            )  # fmt: skip
        return leaf

    def _gradients(self, value: Any, leaves: list[Tensor]) -> list[Any]:
        """The gradient by each leaf, as arrays; zero where the result does not depend on it."""
        if isinstance(value, Tensor):
            if self.cotangent is None and value.array.size != 1:
                raise RuntimeFault(
                    "E0403",
                    f"the result has shape {tuple(value.shape)}; a gradient needs a scalar",
                    help="sum(...) of it, a cotangent, or values without gradients",
                )
            if self.cotangent is not None and self.cotangent.shape != value.shape:
                raise RuntimeFault(
                    "E0912",
                    f"the cotangent has shape {tuple(self.cotangent.shape)}, the result "
                    f"{tuple(value.shape)}",
                    help="a cotangent has one entry per entry of the result",
                )
            if value.edge is not None:
                for leaf in leaves:
                    if leaf.edge is not None:
                        # What the program's own backward() left.
                        leaf.edge.grad = None  # type: ignore[attr-defined]
                backward([value], [self.cotangent])
        found = []
        for leaf in leaves:
            g = leaf.grad
            found.append(np.zeros(leaf.array.shape, leaf.dtype.numpy) if g is None else g.array)
        return found

    def _shown(self, result: Any, grads: list[Any]) -> dict[str, Any]:
        """The value's record, once the sizes of all are known to be bearable."""
        total = np.size(result) + sum(map(np.size, grads))
        if total > RECORD_LIMIT:
            raise LimitFault(
                "E0609",
                f"the row's result has {total:,} numbers; a record holds {RECORD_LIMIT:,}",
                help="reduce it with sum() or mean(), or run it alone with --format npy",
            )
        return _record(result)


def _last_assigned(program: Program) -> str:
    """The variable that the last line assigns, or "": a text that ends so means that variable."""
    body = program.checked.module.body
    if body and isinstance(body[-1], Assign) and isinstance(body[-1].targets[0], Name):
        return body[-1].targets[0].id
    return ""


def _result(value: Any, assigned: Any) -> Any:
    """What a program gives; several results in a list are one with a row for each."""
    if value is None:
        value = assigned
    if isinstance(value, list | tuple):
        if any(isinstance(item, Tensor) for item in value):
            return stack(value)
        try:
            return tensor(value)
        except Fault:
            return value
    return value


def _number_of(value: Any) -> Any:
    """What a program's result is as an array or number. Raises TypeFault (E0314)."""
    if isinstance(value, Tensor):
        return value.array
    if isinstance(value, bool | int | float | complex | np.ndarray | np.generic):
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise TypeFault(
                "E0314", "the result is a whole number past 64 bits", help="write a float: 2.0**100"
            )
        return value
    what = "nothing" if value is None else f"a {type(value).__name__}"
    raise TypeFault(
        "E0314", f"the program gives {what}; a row needs a number or a tensor",
        help="end the program with an expression that has a numeric value",
    )  # fmt: skip


def _record(value: Any) -> dict[str, Any]:
    if value.__class__ is np.float64 and value - value == 0:  # nearly every value of a batch
        return {"data": float(value), "shape": [], "dtype": "float64"}
    return tensor_record(value)
