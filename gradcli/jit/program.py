"""Programs with control flow as generated code: lowered once, then run on numbers.

A run is pure. Whatever goes wrong in it, or gives a result that is not finite, is thrown away, and
the caller runs the program eagerly for the exact result or error.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.grad_mode import current, restore
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.jit import eager, loops
from gradcli.jit.control import Loop, Structured, walk
from gradcli.jit.emit_control import build
from gradcli.jit.ir import Instruction, NotTraceable
from gradcli.jit.lower import lower
from gradcli.jit.optimize import optimize
from gradcli.jit.scalars import APPEND
from gradcli.jit.specs import FLOATS
from gradcli.language.limits.sizes import LIST_LIMIT, running_steps
from gradcli.language.limits.step_budget import tokens
from gradcli.language.runtime.run import Limits, Program
from gradcli.ops.errors import LimitFault
from gradcli.ops.memory_budget import no_collection, put_back, set_budget

PAYS = 1_000_000
"""Operations of a run from which making machine code of it pays: that takes some 40 ms."""


class Generated:
    """A program as a function of some of its variables, by generated code.

    Raises NotTraceable where the program has to run eagerly. ``what`` is one of value, gradient and
    hvp: the last takes a direction behind the inputs, and gives the products of the Hessian with
    it. ``forward``: whether a gradient by one number is taken in forward mode; None: where loops
    would have to save what is read backwards.
    ``eagerly`` is the program as a function of tensors, which is called where generated code gives
    no result; ``run`` does without. ``checkpoint`` is how many states the loops keep instead of all
    that is read backwards; 0 stands for ``sqrt``.
    """

    def __init__(
        self, program: Program, given: Mapping[str, Any], by: Sequence[str],
        of: str | None = None, limits: Limits | None = None, what: str = "gradient",
        forward: bool | None = None, eagerly: Callable[..., Any] | None = None,
        checkpoint: int | None = None,
    ) -> None:  # fmt: skip
        self.limits = limits or Limits()
        self.what = what
        self.eagerly: Any = eagerly
        self.by = list(by)
        self.dtype = dtypes.get_default_dtype()
        if not by or self.dtype not in FLOATS or any(given[n].dtype is not self.dtype for n in by):
            raise NotTraceable("variables that are not of the default dtype")

        def make() -> None:
            # It may be called in the middle of a run, whose steps are not its own.
            running_steps.set(itertools.repeat(True))
            set_budget(self.limits.memory)
            restore(current().replaced(**program.modes))
            with no_collection(), np.errstate(all="ignore"):
                self._make(program, given, of, forward, checkpoint)

        try:
            copy_context().run(make)
        except RecursionError:
            raise NotTraceable("a program that nests that deep") from None

    def _make(
        self, program: Program, given: Mapping[str, Any], of: str | None, forward: bool | None,
        checkpoint: int | None,
    ) -> None:  # fmt: skip
        plain = lower(program.checked, given, self.by, of, self.limits.depth)
        trace = plain.inputs[0].trace
        (y,) = plain.block.results
        if getattr(y, "shape", ()) or getattr(y, "dtype", None) is not self.dtype:
            raise NotTraceable("a result that is not a single real number")
        scalar = all(not v.shape for v in plain.inputs)
        if self.what == "hvp":
            along = [loops.like(v) for v in plain.inputs]
            plain = loops.Forward(plain, trace).along(dict(zip(plain.inputs, along, strict=True)))
            plain.block.results = plain.block.results[1:]
            plain.inputs = [*plain.inputs, *along]
        if forward is None:
            forward = any(n.__class__ is Loop for n in walk(plain.block))
        # By one number alone: nothing is saved.
        self.forward = forward and scalar and len(plain.inputs) == 1 and self.what == "gradient"
        # Nothing is simplified before it is differentiated: detached values look like the others.
        pairs: dict = {}
        if self.what == "value":
            self.program: Structured = plain
        elif self.forward:
            one = trace.constant(self.dtype.numpy.type(1.0))
            self.program = loops.Forward(plain, trace).along({plain.inputs[0]: one})
        else:
            reverse = loops.Reverse(plain, trace)
            self.program = reverse.gradient()
            grads = self.program.block.results[1:]
            self.program.block.results = [y, *grads[: len(self.by)]]
            pairs = reverse.pairs
        appends = sum(n.__class__ is Instruction and n.op is APPEND for n in walk(plain.block))
        if appends and checkpoint is not None:
            raise NotTraceable("a list that grows, whose turns cannot be run again")
        self._steps = self.limits.steps
        if appends:  # longer lists are left to the engine, which ends there
            self._steps = min(self._steps, LIST_LIMIT // appends)
        optimize(self.program)
        loops.save(self.program, pairs)
        self.pairs = pairs
        self._native: Any = None
        self._may_be_native = checkpoint is None and scalar and self.dtype is dtypes.float64
        self._size = sum(n.__class__ is Instruction for n in walk(self.program.block))
        self._call, self.text = build(self.program, pairs, checkpoint)
        for ins in trace.noted:
            ins.out.example = None

    def ir(self, *_inputs: Any, of: str = "gradient") -> str:
        """The program, a line for each operation."""
        return str(self.program)

    def code(self, *_inputs: Any, of: str = "gradient") -> str:
        """The text of the generated function."""
        return self.text

    def __call__(self, *inputs: Any) -> Any:
        """The value, eagerly where generated code gives none."""
        found = self.run(*inputs)
        arrays, tensors = _arrays(inputs)
        return eager.value(self.eagerly, arrays, tensors) if found is None else (
            _given(found[0], tensors))  # fmt: skip

    def value_and_grad(self, *inputs: Any) -> tuple:
        """The value and a tuple of gradients, eagerly where generated code gives none."""
        return self._derived(eager.gradient, inputs)

    def hvp(self, inputs: Sequence[Any], vectors: Sequence[Any]) -> tuple:
        """The value, and the Hessian times ``vectors``: a product for each input."""
        return self._derived(eager.hvp, [*inputs, *vectors])

    def _derived(self, eagerly: Callable[..., tuple], inputs: Sequence[Any]) -> tuple:
        found = self.run(*inputs)
        arrays, tensors = _arrays(inputs)
        if found is None:
            return eagerly(self.eagerly, arrays, tensors)
        return _given(found[0], tensors), tuple(_given(g, tensors) for g in found[1])

    def hessian(self, *inputs: Any) -> Any:
        """The second derivatives: one program, run for each entry of the inputs.

        One array for one input, else a tuple of tuples of blocks.
        """
        arrays, tensors = _arrays(inputs)
        rows = []
        for j, array in enumerate(arrays):
            columns = []
            for place in np.ndindex(np.shape(array)):
                along = [np.zeros(np.shape(a), self.dtype.numpy) for a in arrays]
                along[j][place] = 1.0
                found = self.run(*arrays, *along)
                if found is None:
                    return eager.hessian(self.eagerly, arrays, tensors)
                columns.append(found[1])
            rows.append([
                np.stack([c[i] for c in columns], -1).reshape(np.shape(a) + np.shape(array))
                for i, a in enumerate(arrays)
            ])  # fmt: skip
        blocks = tuple(tuple(_given(row[i], tensors) for row in rows) for i in range(len(rows)))
        return blocks[0][0] if len(blocks) == 1 else blocks

    def run(self, *inputs: Any) -> tuple[Any, tuple] | None:
        """The value and a tuple of gradients; None where the program has to run eagerly.

        Raises LimitFault for the limits of time and memory.
        """
        state = current()
        if state.inspect or state.saving:
            return None
        args = []
        for x, given in zip(inputs, self.program.inputs, strict=True):
            array = x.array if isinstance(x, Tensor) else np.asarray(x)
            if array.shape != given.shape or array.dtype != self.dtype.numpy:
                return None
            number = array.dtype == np.float64 and not array.shape
            args.append(float(array) if number else array[()])
        found = self._numbers(args)
        if found is None:
            return None
        results = []
        for v in found:
            if self.dtype is not dtypes.float64:
                if getattr(v, "dtype", None) != self.dtype.numpy:  # a number has become no tensor
                    return None
            elif v.__class__ in (int, bool):  # a whole number that a tensor was joined with
                v = float(v)
            number = v.__class__ is float
            if v is None or not (math.isfinite(v) if number else np.isfinite(v).all()):
                return None
            results.append(v)
        return results[0], tuple(results[1:])

    def _numbers(self, args: list) -> tuple | None:
        """What generated code gives, by machine code where the run turns out to be long."""
        if self._native is not None:
            found = self._native.run(args, self.limits.steps, self.limits.memory)
            if found is not None:
                return found
        hurried = self._native is None and self._may_be_native
        after = max(2000, PAYS // max(1, self._size))
        budget = tokens(self._steps, self.limits.memory, self._long if hurried else None, after)
        before = set_budget(self.limits.memory, budget.__next__)
        try:
            with np.errstate(all="ignore"):
                return self._call(*args, budget)
        except _Faster:
            put_back(before)
            return self._numbers(args)
        except LimitFault as fault:
            if fault.code != "E0601":
                raise
            return None  # the engine says in which turns the steps went
        except Exception:
            return None
        finally:
            put_back(before)

    def _long(self) -> None:
        """Make machine code of a long run, where llvmlite is installed; it then begins anew."""
        self._may_be_native = False
        try:
            from gradcli.jit.native import Native  # an extra, slow to load

            self._native = Native(self.program, self.pairs)
        except (ImportError, NotTraceable):
            return
        raise _Faster


def _arrays(inputs: Sequence[Any]) -> tuple[list[Any], bool]:
    """The inputs as arrays and numbers; whether any was a Tensor."""
    tensors = any(isinstance(x, Tensor) for x in inputs)
    return [x.array if isinstance(x, Tensor) else x for x in inputs], tensors


def _given(value: Any, tensors: bool) -> Any:
    """A result as it is given back: single numbers of float64 as Python's."""
    array = np.asarray(value)
    if tensors:
        return wrap(array[()], dtypes.dtype_of(array))
    if array.shape:
        return value
    return array.item() if array.dtype == np.float64 else array[()]


class _Faster(BaseException):
    """Ends a run of generated code, where machine code is there."""
