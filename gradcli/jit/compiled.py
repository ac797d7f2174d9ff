"""``gradcli.compile``: a function whose values and derivatives run as generated code.

The function is traced once for each combination of shapes and dtypes and each derivative asked
for: in the second call, if nothing outside was changed by the first, which the engine runs. What a
trace does before it meets a value that it would have to know, that run did too, so a call has the
effects of one run. Where the function cannot be traced, and where generated code meets an error or
a result that is not finite, the engine computes: it is the reference, and its errors are the ones
that a user sees.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.engine import Tensor, dtypes, grad_mode
from gradcli.engine.creation import generator as random
from gradcli.engine.grad_mode import Transform, current, transformed, transforming
from gradcli.engine.tensor.tensor import constant
from gradcli.jit import derive, eager
from gradcli.jit.emit import build
from gradcli.jit.ir import NotTraceable, Program, Value
from gradcli.jit.outside import Outside, is_own, put_back
from gradcli.jit.simplify import simplify
from gradcli.jit.trace import Trace, Traced
from gradcli.jit.unroll import unroll
from gradcli.ops.comparison import all_finite
from gradcli.ops.errors import LimitFault, RuntimeFault, ValueFault, bad_type
from gradcli.ops.memory_budget import budget, charge, no_collection
from gradcli.transforms.tree import unflatten

_MOST = 256
"""How many combinations of shapes and derivatives are kept."""
_OFTEN, _REST = 8, 64
"""Where what is outside changes before so many looks, code for it was not worth its making: up to
so many calls then run on the engine without a look."""


@dataclass(eq=False, slots=True)
class Entry:
    """Generated code for one combination of shapes, dtypes and derivative.

    ``program`` is None where the function cannot be traced; ``reason`` then says why.
    """

    reason: str = ""
    program: Program | None = None
    run: Any = None
    code: str = ""
    finish: Any = None
    captures: list[tuple] = field(default_factory=list)
    nbytes: int = 0


class Compiled:
    """A function of numbers, arrays or tensors, run as generated code; made by ``compile``.

    The function is given tensors: of an array ``a.std()`` is a tensor's, as ``a.repeat(2)`` is.
    Floats and arrays give floats and arrays; where an argument is a Tensor the results are too,
    outside any graph but that of a transform around. Python numbers count as float64. Arrays of
    integers or booleans are data: they have no derivative, and None in the place of one.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"compile takes a function, not {type(function).__name__}")
        self.function = function
        self.__name__ = getattr(function, "__name__", "compiled")
        self.__doc__ = getattr(function, "__doc__", None)
        self._outside: Any = None  # an Outside, from the first call on, but for a rest
        self._vain = 0  # how many of them in a row changed too soon
        self._rest = 0  # calls to come that run on the engine without a look

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}>"

    def __call__(self, *inputs: Any) -> Any:
        """The function's value.

        Tensors are recorded as usual where one of them, or what the function may read outside,
        needs a gradient, and values of a transform around it pass through: the function then runs
        on the engine.

        Example:
            >>> import gradcli
            >>> gradcli.compile(lambda x: x * gradcli.exp(x))(0.0)
            0.0
        """
        if self._passes(inputs, any(isinstance(x, Tensor) for x in inputs)):
            return eager.with_tensors(self.function)(*map(_given, inputs))
        return self._run("value", inputs)

    def value_and_grad(self, *inputs: Any) -> tuple:
        """The value, a scalar, and a tuple with its gradient by each input.

        Raises RuntimeFault (E0403) where the value is not a single number.

        Example:
            >>> import gradcli
            >>> gradcli.compile(lambda x, y: x * x * y).value_and_grad(3.0, 2.0)
            (18.0, (12.0, 9.0))
        """
        return self._derived("gradient", inputs)

    def hessian(self, *inputs: Any) -> Any:
        """The second derivatives of a scalar: shape + shape for one input.

        Several inputs give a tuple of tuples, with the block of inputs i and j in place [i][j].

        Example:
            >>> import numpy as np
            >>> import gradcli
            >>> gradcli.compile(lambda x: (x**3).sum()).hessian(np.array([1.0, 2.0]))
            array([[ 6.,  0.],
                   [ 0., 12.]])
        """
        return self._derived("hessian", inputs)

    def jacobian(self, *inputs: Any) -> Any:
        """The first derivatives of a result of any shape: its shape + the input's.

        Several inputs give a tuple with one for each of them.

        Example:
            >>> import numpy as np
            >>> import gradcli
            >>> gradcli.compile(lambda x: x * x.sum()).jacobian(np.array([1.0, 2.0]))
            array([[4., 1.],
                   [2., 5.]])
        """
        return self._derived("jacobian", inputs)

    def jvp(self, inputs: Sequence[Any], tangents: Sequence[Any]) -> tuple:
        """The value at ``inputs`` and its derivative in the direction ``tangents``.

        Both are tuples of as many; one input alone needs none. Raises RuntimeFault (E0302) where
        their numbers or shapes differ.

        Example:
            >>> import gradcli
            >>> gradcli.compile(lambda x, y: x * y).jvp((3.0, 2.0), (1.0, 0.0))
            (6.0, 2.0)
        """
        return self._derived("jvp", _paired("tangents", inputs, tangents))

    def hvp(self, inputs: Sequence[Any], vectors: Sequence[Any]) -> tuple:
        """The value, a scalar, and the Hessian times ``vectors``: a product for each input.

        Inputs and vectors are given as to ``jvp``.

        Example:
            >>> import gradcli
            >>> gradcli.compile(lambda x, y: x * x * y).hvp((3.0, 2.0), (1.0, 0.0))
            (18.0, (4.0, 6.0))
        """
        return self._derived("hvp", _paired("vectors", inputs, vectors))

    def ir(self, *inputs: Any, of: str = "gradient") -> str:
        """The program that runs for inputs of these shapes, a line for each operator.

        ``of`` is one of value, gradient, hessian, jacobian, jvp and hvp; raises ValueFault
        (E0907) for another, NotTraceable where the function runs eagerly.

        Example:
            >>> import gradcli
            >>> print(gradcli.compile(lambda x: x * gradcli.sin(x)).ir(1.0))
            program(x0: float64)
              v0: float64 = sin x0
              v1: float64 = mul x0 v0
              v2: float64 = cos x0
              v3: float64 = mul x0 v2
              v4: float64 = add v0 v3
              return v1, v4
        """
        return str(self._wanted(of, inputs).program)

    def code(self, *inputs: Any, of: str = "gradient") -> str:
        """The text of the generated function, with the type of each result in a comment.

        Example:
            >>> import gradcli
            >>> print(gradcli.compile(lambda x: gradcli.exp(2 * x)).code(1.0))
            def program(x0):
                v0 = 2 * x0  # float64
                v1 = exp(v0)  # float64
                v2 = v1 * 2  # float64
                return (v1, v2,)
            <BLANKLINE>
        """
        return self._wanted(of, inputs).code

    # ---- Running ---------------------------------------------------------------------------------

    def _wanted(self, what: str, inputs: tuple) -> Entry:
        if what not in eager.RUN:
            raise ValueFault("E0907", f"of={what!r}: no such choice",
                             help=f"one of {', '.join(eager.RUN)}")  # fmt: skip
        if what in ("jvp", "hvp"):
            inputs = (*inputs, *inputs)
        key, args, _ = _prepared(what, inputs)
        saved: list[Any] = []
        outside = self._look()
        before = outside.prints(saved)
        entry = self._entry(key, what, args)
        if before != outside.prints([]):
            put_back(saved)
        if entry.program is None:
            raise NotTraceable(f"{self.__name__} runs eagerly: {entry.reason}")
        return entry

    def _passes(self, inputs: tuple, recorded: bool = False) -> bool:
        """Whether results are values of a transform around, or have a graph: where that is wanted
        of values (``recorded``), in transforms and in ``autograd.functional``."""
        given = [x for x in inputs if isinstance(x, Tensor)]
        return any(x.__gradcli_rank__ > 1 for x in given) or bool(
            (recorded or transformed.by or transformed.differentiated)
            and current().grad
            and (any(x.edge is not None for x in given) or self._rests() or self._look().records)
        )

    def _derived(self, what: str, inputs: tuple) -> Any:
        if self._passes(inputs):
            given = tuple(map(_given, inputs))
            return eager.INSIDE[what](eager.with_tensors(self.function), given)
        return self._run(what, inputs)

    def _run(self, what: str, inputs: tuple) -> Any:
        if what != "value" and not current().grad:
            with grad_mode.outside_inference(), grad_mode.enable_grad():
                return self._run(what, inputs)
        key, args, tensors = _prepared(what, inputs)

        def engine() -> Any:
            # The function may look at a tensor, or write to it.
            given = [
                a if not isinstance(x, Tensor) else x if what == "value" else x.detach()
                for x, a in zip(inputs, args, strict=True)
            ]
            return eager.RUN[what](eager.with_tensors(self.function), given, tensors)

        if self._rests() or (tensors and any(map(_of_its_own, inputs))):
            return engine()
        outside = self._look()
        if key not in outside.entries:
            before = outside.prints([])
            found = engine()
            if before == outside.prints([]):
                outside.entries.setdefault(key, None)
            return found
        entry = outside.entries[key] or self._entry(key, what, args)
        # Nobody looks at what the engine does, and random numbers are as usual.
        state = current()
        usual = not (state.inspect or state.saving or random.drawing.get())
        if usual and entry.program is not None:
            if budget.on:
                charge(entry.nbytes)
            try:
                found = self._generated(entry, args)
            except LimitFault:
                raise
            except Exception:  # the engine gives the exact error, or another result
                found = None
            if found is not None:
                return entry.finish(found, tensors)
        return engine()

    def _generated(self, entry: Entry, args: list) -> tuple | None:
        """The results of the generated code; None where the engine should look at them."""
        if entry.captures:
            args = [*args]
            for held, shape, dtype in entry.captures:
                array = held.array if isinstance(held, Tensor) else held
                if array.shape != shape or array.dtype != dtype:
                    return None
                args.append(float(array) if not shape and dtype == np.float64 else array)
        found = entry.run(*args)
        # The engine lets nothing flow through a branch not taken, or of another entry's direction,
        # where 0 * inf is NaN here, and has ways of its own for values that are not finite.
        for v in found:
            if not (all_finite(v) if v.__class__ is np.ndarray else cmath.isfinite(v)):
                return None
        return found

    def _look(self) -> Outside:
        """What is outside now, with the code that was made for it."""
        outside = self._outside
        other = outside is None or outside.function is not self.function
        if other or outside.changed() or len(outside.entries) > _MOST:
            if outside is not None:
                self._vain = self._vain + 1 if outside.looks < _OFTEN else 0
                self._rest = min(1 << self._vain, _REST) if self._vain > 2 else 0
            outside = Outside(self.function)
            self._outside = None if self._rest > 0 else outside
        outside.looks += 1
        return outside

    def _rests(self) -> bool:
        self._rest -= 1
        return self._rest >= 0

    def _entry(self, key: tuple, what: str, args: list) -> Entry:
        outside = self._look()
        entry = outside.entries.get(key)
        if entry is None:
            entry = outside.entries[key] = self._traced(outside, what, args)
        return entry

    def _traced(self, outside: Outside, what: str, args: list) -> Entry:
        if outside.reason:
            return Entry(f"it has {outside.reason}")
        arrays = [np.float64(a) if a.__class__ is float else a for a in args]
        saved: list[Any] = []
        before, taken, shown = outside.prints(saved), transformed.taken, transformed.shown
        try:
            within = Transform(self.function, records=what == "jvp")  # as the engine's own is
            # What NumPy warns of, or raises, in the function it is to tell of in every run.
            told = np.errstate(all="raise")
            with told, no_collection(), transforming(within):
                entry = _compiled(self.function, what, arrays)
            if transformed.shown > shown:
                raise NotTraceable("a tensor's text")
        except NotTraceable as why:
            entry = Entry(f"it has {why}")
        except LimitFault:
            raise
        except Exception as fault:  # whatever it is, the engine gives the exact error
            entry = Entry(f"{type(fault).__name__}: {fault}")
        if before != outside.prints([]):
            if entry.program is None:  # a whole run changes nothing: other threads did
                put_back([one for one in saved if not isinstance(one[0], np.ndarray)])
            return Entry("it changes what is outside")
        if entry.program is not None:
            outside.compare(entry.captures, whole=transformed.taken > taken)
        return Entry(f"it has {outside.reason}") if outside.reason else entry


def compile(function: Callable[..., Any]) -> Compiled:
    """``function`` as generated code: ``c(x)``, ``c.value_and_grad(x)``, ``c.hessian(x)`` and more.

    ``function`` takes tensors and gives a tensor, or nested tuples, lists and dicts of them. The
    engine runs it the first time for each combination of shapes. Where that changed nothing outside
    it is called once more, and then not again as long as what it reads from outside stays the same.
    The entries of large tensors that it computes with may change. Where it branches on a value,
    writes in place, draws random numbers, prints, handles errors or reads an object that cannot be
    looked into, it runs on the engine in every call, at the engine's speed.

    Example:
        >>> import numpy as np
        >>> import gradcli
        >>> c = gradcli.compile(lambda x: 2 * gradcli.dot(x, x))
        >>> c.value_and_grad(np.array([0.0, 1.0, 2.0, 3.0]))
        (28.0, (array([ 0.,  4.,  8., 12.]),))
    """
    return Compiled(function)


def _of_its_own(x: Any) -> bool:
    """Whether an input is a tensor of a user's class, or one whose memory holds other numbers."""
    usual = x.__class__ is Tensor or not isinstance(x, Tensor)
    return not usual and (x._flips or is_own(x.__class__))


def _paired(what: str, inputs: Any, along: Any) -> tuple:
    """Inputs and as many directions; one alone is taken for a tuple of it."""
    at, ways = (v if isinstance(v, tuple | list) else (v,) for v in (inputs, along))
    if len(at) != len(ways):
        mend = f"give one of the {what} for each input, zeros where it does not move"
        raise RuntimeFault("E0302", f"{len(at)} inputs and {len(ways)} {what}", help=mend)
    return (*at, *ways)


def _given(x: Any) -> Tensor:
    """An input as the function sees it: numbers and arrays are tensors too."""
    return x if isinstance(x, Tensor) else constant(_plain(x))


def _plain(x: Any) -> Any:
    """An input that is no tensor as a float or an array. Raises TypeFault (E0303)."""
    if isinstance(x, int):
        return float(x)
    if x.__class__ is float:
        return x
    if not isinstance(x, float | complex | np.ndarray | np.generic):
        said = f"a compiled function takes numbers, arrays and tensors, not {type(x).__name__}"
        raise bad_type(said, help="give the parts as arguments of their own")
    return np.asarray(x)


def _prepared(what: str, inputs: tuple) -> tuple[tuple, list, bool]:
    """What kind of call it is, and the inputs as floats and arrays; whether any was a Tensor.

    Raises TypeFault (E0303) for an input of another class.
    """
    key: list = [what, dtypes.get_default_dtype()]
    args: list = []
    tensors = False
    for x in inputs:
        if x.__class__ is not np.ndarray and x.__class__ is not float:
            tensors = tensors or isinstance(x, Tensor)
            x = np.asarray(x.array) if isinstance(x, Tensor) else _plain(x)
        if x.__class__ is np.ndarray and not x.shape and x.dtype == np.float64:
            x = float(x)
        key += [float] if x.__class__ is float else [x.dtype, x.shape]
        args.append(x)
    return tuple(key), args, tensors


def _compiled(function: Callable[..., Any], what: str, arrays: list) -> Entry:
    count = len(arrays) // 2 if what in ("jvp", "hvp") else len(arrays)
    trace = Trace(forward=what == "jvp", records=what != "value")
    # The engine records nothing for a value or a tangent, which a function may see.
    traced = Traced(function, arrays[:count], trace, recorded=what not in ("value", "jvp"))
    inputs = traced.inputs
    outputs, form = traced.outputs, traced.form
    extra: list[Value] = []
    if what in ("gradient", "hessian", "hvp"):
        if form is not None or outputs[0].shape or not outputs[0].dtype.is_floating_point:
            raise NotTraceable("a result that is not a single real number")
        y = outputs[0]
        seed = trace.constant(np.ones((), y.dtype.numpy))
        by = [v for v in inputs if v.dtype.differentiable]
        grads = derive.gradients(trace, y, seed, by)
    if what == "value":
        results, finish = outputs, _finish_value(form)
    elif what == "gradient":
        results, finish = [y, *grads], _finish_gradient([v.dtype.differentiable for v in inputs])
    elif what in ("hessian", "jacobian"):
        of = grads if what == "hessian" else outputs
        dtypes_met = {v.dtype for v in (*inputs, *of)}
        if form is not None or len(dtypes_met) > 1 or not outputs[0].dtype.is_floating_point:
            raise NotTraceable("inputs or results that are not real, or of several types")
        results = [
            derive.zeros(trace, o, (math.prod(v.shape),) if v.shape else ()) if t is None else t
            for v, row in zip(inputs, derive.directions(trace, inputs, of), strict=True)
            for o, t in zip(of, row, strict=True)
        ]
        shapes = [v.shape for v in inputs]
        finish = _finish_blocks([o.shape for o in of], shapes, what == "jacobian")
    else:
        extra = [trace.input(a) for a in arrays[count:]]
        for v, t in zip(inputs, extra, strict=True):
            if v.shape != t.shape or v.dtype is not t.dtype or not v.dtype.differentiable:
                raise NotTraceable("tangents of another type")
        of = outputs if what == "jvp" else grads
        found = derive.push(list(trace.tape), dict(zip(inputs, extra, strict=True)))
        pushed = [derive.zeros(trace, o) if (p := found.get(o)) is None else p for o in of]
        results = [*(outputs if what == "jvp" else [y]), *pushed]
        finish = _finish_jvp(form, len(outputs)) if what == "jvp" else _finish_gradient(
            [True] * count
        )  # fmt: skip
    captures = [v for _, v in trace.captures()]
    whole = Program([*inputs, *extra], captures, trace.tape, results)
    entry = Entry()
    entry.program = unroll(simplify(whole))
    entry.run, entry.code = build(entry.program)
    entry.captures = [(held, v.shape, v.dtype.numpy) for held, v in trace.captures()]
    entry.nbytes = entry.program.held()
    entry.finish = finish
    for i in trace.tape:
        i.out.example = None
    for v in (*inputs, *extra, *captures):
        v.example = None
    return entry


def _as_output(v: Any, tensors: bool) -> Any:
    return constant(v) if tensors else v


def _finish_value(form: Any) -> Callable:
    return lambda found, tensors: unflatten([_as_output(v, tensors) for v in found], form)


def _finish_gradient(differentiable: list[bool]) -> Callable:
    without = [place for place, has in enumerate(differentiable) if not has]

    def finish(found: tuple, tensors: bool) -> tuple:
        value, *grads = [_as_output(v, tensors) for v in found]
        for place in without:
            grads.insert(place, None)
        return value, tuple(grads)

    return finish


def _finish_blocks(rows: Sequence[tuple], shapes: Sequence[tuple], alone: bool) -> Callable:
    """Blocks by what is differentiated and by the input; ``alone``: one row of them."""
    n = len(rows)

    def finish(found: tuple, tensors: bool) -> Any:
        blocks = tuple(
            tuple(
                _as_output(_block(found[j * n + i], rows[i], shapes[j]), tensors)
                for j in range(len(shapes))
            )
            for i in range(n)
        )
        found = blocks if len(shapes) > 1 else blocks[0]
        return found[0] if alone or len(shapes) == 1 else found

    return finish


def _block(found: Any, shape: tuple, along: tuple) -> Any:
    """Directions along one input in front of the gradient by another, the other way round."""
    if not along:
        return found
    turned = np.moveaxis(found, 0, -1) if shape else found
    return np.ascontiguousarray(turned).reshape((*shape, *along))


def _finish_jvp(form: Any, count: int) -> Callable:
    def finish(found: tuple, tensors: bool) -> tuple:
        parts = [_as_output(v, tensors) for v in found]
        return unflatten(parts[:count], form), unflatten(parts[count:], form)

    return finish
