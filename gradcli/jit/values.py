"""The values of a program that is lowered, and what its operations make of them.

    Value      a tensor that depends on an input        Tensor, list, number, ...   what is known
    PyNumber   a Python number that is not known yet    Closure   a function of the program

A tensor may be written to where one name has it and no view does (``fresh``): the write gives a new
value. What is carried by a loop, or comes out of a branch, has one type (``spec``, ``join``).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.dtypes import DType
from gradcli.engine.grad_mode import mode
from gradcli.engine.tensor.tensor import Tensor, constant
from gradcli.functions import methods
from gradcli.jit import loops, scalars
from gradcli.jit.control import EXACT, Check, Scalar
from gradcli.jit.emit import is_fresh
from gradcli.jit.grown import Grown
from gradcli.jit.ir import Instruction, NotTraceable, Value
from gradcli.jit.iteration import UNROLLED, ByTurn, Range, iterator
from gradcli.jit.specs import FLOATS, KINDS, SMALL, UNSET, PyNumber
from gradcli.jit.trace import Trace
from gradcli.language.names import attributes, builtins, settings
from gradcli.language.names import table as names
from gradcli.language.names.argument_checks import with_checks
from gradcli.ops.declaration.infix import MIRRORED, by_sign
from gradcli.ops.indexing import is_basic
from gradcli.ops.operator import OPERATORS, Operator

_DTYPES = {
    "int": dtypes.int64, "float": dtypes.float64, "bool": dtypes.bool_, "mixed": dtypes.float64,
}  # fmt: skip
_OF_TENSORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "^": operator.pow,
    "@": operator.matmul,
}  # fmt: skip
_KNOWN = {
    **_OF_TENSORS, "+": builtins.add, "*": builtins.multiply, "%": builtins.modulo,
    "**": builtins.power, "^": builtins.power,
}  # fmt: skip
"""The same on what is known, within the limits of a program."""
_COMPARISONS = {sign: op.compute for sign, op in by_sign().items() if sign in MIRRORED}
_STATEFUL = frozenset(("iter", "next", "map", "filter"))
"""Python's own functions that are not lowered: what they make changes as it is used."""
# Methods that are lowered as they are: no write, no random number, nothing that is printed.
_TENSOR_METHODS = frozenset((
    "size", "dim", "numel", "nelement", "item", "detach", "float", "double", 
    "repeat", "flatten", "max", "min", "tolist", "is_floating_point",
    "is_complex",
))  # fmt: skip
_MEMORY = frozenset(("zeros", "ones", "full", "zeros_like", "ones_like", "full_like"))
"""Functions that make memory for entries to be written to."""
_SAMPLES: dict[str, tuple] = {
    "int": (1,), "float": (0.5,), "bool": (True,), "mixed": (0.5, 1),
    "tensor": (constant(0.5),),
}  # fmt: skip
"""Numbers of each kind, and a tensor."""
_MADE = {"float": scalars.FLOAT, "int": scalars.INT, "bool": scalars.BOOL}
TENSOR_READ = frozenset(("shape", "ndim", "dtype", "T", "mT"))


@functools.cache
def _pure() -> frozenset[str]:
    """The names of functions that do nothing but compute."""
    made = ("tensor", "as_tensor", "ones", "zeros", "full", "eye", "arange", "linspace",
            "logspace", "ones_like", "zeros_like", "full_like")  # fmt: skip
    own = (*(builtins.TABLE.keys() - _STATEFUL), "numel", "is_tensor")
    whole = ("gcd", "lcm", "factorial", "comb", "isclose", "fabs", "degrees", "radians")
    return frozenset((*methods.public_operators(), *methods.COMPOSED, *own, *made, *whole))


@functools.cache
def _allowed(module: str) -> dict[int, Any]:
    """The functions of a module that do nothing but compute, by id; "" for bare names."""
    table = {**names.CALLED, **names.NAMES} if not module else names.namespace(module) or {}
    return {id(f): f for name, f in table.items() if name.rpartition(".")[2] in _pure()}


class Closure:
    """A function of the program."""

    __slots__ = ("body", "by_name", "by_place", "defaults", "frame", "node")

    def __init__(self, node: Any, body: Any, defaults: list[Any], frame: Frame) -> None:
        self.node = node
        self.body = body
        self.by_place = [p.name for p in node.params if p.kind != "="]
        self.by_name = frozenset(p.name for p in node.params if p.kind != "/")
        self.defaults = {p.name: d for p, d in zip(node.params, defaults, strict=True)}
        self.frame = frame


class Frame:
    """The variables of the text or of one call, by name."""

    __slots__ = ("local", "names", "parent")

    def __init__(self, parent: Frame | None, local: Sequence[str] = ()) -> None:
        self.parent = parent
        self.local = frozenset(local)
        self.names: dict[str, Any] = {}


def _holds(dtype: DType, value: Any) -> bool:
    """Whether a tensor has room for a value, if that is a Python number."""
    if value.__class__ is PyNumber:
        return dtype is dtypes.float64 and value.kind == "float"
    fits = value.__class__ is not int or abs(value) <= EXACT
    return fits and (value.__class__ not in KINDS or dtype.numpy.type(value) == value)


def _fails(op: Operator) -> bool:
    """Whether Python refuses an operation on numbers by which a tensor becomes infinite."""
    return op.name == "reciprocal" or op.infix in ("/", "//", "%", "**")


def _refuse_long(args: Sequence[Any]) -> None:
    if any(a.__class__ is int and abs(a) >= 1 << 63 for a in args):
        raise NotTraceable("a whole number that no tensor takes")


class Notes(Trace):
    """A trace in which every tensor of the program itself is a constant."""

    taken = Trace.constant

    def __init__(self) -> None:
        super().__init__()
        # Which are tensors or Python numbers, as the run goes; True where those may be whole.
        self.either: dict[Value, bool] = {}
        self.whole: set[Value] = set()  # which Python numbers may be whole

    def apply(
        self, op: Operator, args: Sequence[Any], params: dict, recorded: bool | None = None
    ) -> Value:
        _refuse_long(args)
        out = super().apply(op, args, params, recorded)
        assert out.source is not None
        given = [a for a in out.source.args if a.__class__ is Value]
        if not all(a in self.numbers or a in self.either for a in given):
            return out
        out.source.fails = _fails(op)
        whole = all(
            a.__class__ is not float if a.__class__ is not Value
            else self.either.get(a, a in self.whole) for a in args
        )  # fmt: skip
        if all(a in self.numbers for a in given):
            self.numbers.add(out)  # what a rule computes with numbers alone
            if whole:
                self.whole.add(out)
        elif out.dtype is dtypes.float32:
            raise NotTraceable("a tensor of 32 bits or a number, which has 64")
        else:
            self.either[out] = whole
        if whole and op.of_whole and not op.infix:
            raise NotTraceable("a division of what may be whole numbers")
        if whole and op.grows:  # the engine has whole numbers of any size, or says that it has not
            size = self.number(scalars.ABSOLUTE, (out,), "float").value
            self.check("<", size, EXACT)
        if whole and (op.name == "neg" or op.infix in ("*", "//", "%")):  # and no -0.0
            self.check("!=", out, 0)
        return out

    def number(self, op: Scalar, args: Sequence[Any], kind: str, small: bool = False) -> PyNumber:
        """An operation of Python's on numbers."""
        _refuse_long(args)
        out = Value(self, (), _DTYPES[kind])
        return PyNumber(self.note(op, args, out, recorded=False), kind, small)

    def check(self, sign: str, a: Any, b: Any) -> None:
        """Where a comparison does not hold, the engine runs."""
        self.tape.append(Check(self.number(scalars.COMPARED[sign], (a, b), "bool").value))

    def _weak(self, operands: list) -> list:
        weak = [1.0 if a.__class__ is Value and a in self.numbers else a for a in operands]
        return weak if any(a.__class__ is Value for a in weak) else operands

    def _promoted(self, op: Operator, operands: list) -> list:
        weak = self._weak(operands)
        met = super()._promoted(op, weak)
        return [a if w is not a else m for a, w, m in zip(operands, weak, met, strict=True)]

    def _typed(self, op: Operator, operands: list, params: dict) -> tuple:
        return super()._typed(op, self._weak(operands), params)


@dataclass(eq=False, slots=True)
class Region:
    """A block that is lowered, and the one around it."""

    around: Region | None


@dataclass(eq=False, slots=True)
class Lost:
    """A variable that has two types at once: whoever reads it finds that out."""

    why: str


class Values:
    """The operations of one program on its values, noted on a trace."""

    def __init__(self, modules: Sequence[str], writes: bool) -> None:
        self.trace = Notes()
        self.note = self.trace.number
        self.writes = writes  # whether the program writes to items
        self.region = Region(None)
        self.born: dict[int, tuple[list, Region]] = {}  # lists, and where they were made
        self.named: set[int] = set()  # lists that a name has
        self.shared: set[int] = set()  # and those that something else has besides
        self.grown: list[Grown] = []
        self.fresh: set[Value] = set()  # tensors that one name has, and nothing else
        self.bound: set[Value] = set()  # tensors that have a name, or a place in a list
        self.placed: set[Value] = set()  # tensors that have a place in a list or a tuple
        self.sources: dict[Value, list[Any]] = {}  # of what joins values: those
        self.unset: set[Value] = set()  # what stands for a variable that may not be set
        self.overwritten: set[Value] = set()
        self.writers: dict[Instruction, Value] = {}  # operations in place, and their targets
        self.pure = dict(_allowed(""))
        for module in modules:
            self.pure.update(_allowed(module))

    def operand(self, value: Any) -> Any:
        """What stands for a value in an instruction or among results."""
        kind = value.__class__
        if kind is Value or kind in KINDS:
            return value
        if kind is PyNumber:
            return value.value
        if isinstance(value, Tensor):
            if not value.dtype.differentiable and value.dtype is not dtypes.bool_:
                raise NotTraceable("a tensor of whole numbers")
            return self.trace.constant(value.array if value.array.ndim else value.array[()])
        raise NotTraceable(f"a value of class {kind.__name__} that depends on an input")

    def tensor(self, value: Any) -> Any:
        """What a tensor is computed with: a number as a float."""
        if value.__class__ is not PyNumber:
            return value
        if value.kind == "float":
            return value.value
        mixed = value.kind == "mixed"
        word = value if mixed else self.note(scalars.AS_FLOAT, (value.value,), "float")
        self.trace.whole.add(word.value)
        return word.value

    def as_float(self, value: Any) -> Any:
        """What a function may give back as it is: a number as a float."""
        if value.__class__ is not PyNumber or value.kind == "float":
            return value
        return self.note(scalars.FLOAT, (value.value,), "float")

    def tensors(self, values: Sequence[Any]) -> list[Any]:
        """What an operator computes with. Raises NotTraceable for truths with whole numbers, which
        give whole ones."""
        truths = {v for v in values if v.__class__ is Value and v.dtype not in FLOATS}
        whole = any(v.__class__ is PyNumber and v.kind != "float" for v in values)
        if truths and (whole or not truths.isdisjoint(self.trace.either)):
            raise NotTraceable("truths computed with whole numbers")
        return [self.tensor(v) for v in values]

    def bind(self, value: Any) -> Any:
        """A value that is about to get a second name."""
        if value.__class__ is Value:
            self.fresh.discard(value)
            self.bound.add(value)
        elif value.__class__ is list:
            self.shared.add(id(value))
        elif value.__class__ is ByTurn:  # which is used up by the loop that goes over it
            raise NotTraceable("an iterator with a name")
        return value

    def keep(self, value: Any) -> Any:
        """A value that is about to get a place in a list or a tuple."""
        if value.__class__ is Value:
            self.placed.add(value)
        return self.bind(value)

    def computed(self, value: Any) -> Any:
        """The result of an operation, new memory where the last instruction made it."""
        if value.__class__ is Value:
            ins = value.source
            if ins is not None and ins.op.__class__ is not Scalar and is_fresh(ins):
                self.fresh.add(value)
        return value

    def binary(self, op: str, a: Any, b: Any) -> Any:
        """``a op b``."""
        kinds = (a.__class__, b.__class__)
        if op == "+" and mode.arrays and _is_truth(a) and _is_truth(b):
            raise NotTraceable("a sum of truths that may be NumPy's")
        if Value in kinds:
            for v in (a, b):
                if not (
                    v.__class__ in (Value, PyNumber, int, float, bool) or isinstance(v, Tensor)
                ):
                    raise NotTraceable("a tensor computed with a list or a text")
            if op == "@" and PyNumber in kinds:
                raise NotTraceable("a product of a number")
            if op == "-" and any(v.__class__ is PyNumber and v.kind == "bool" for v in (a, b)):
                raise NotTraceable("a difference with a truth")
            return self.computed(_OF_TENSORS[op](*self.tensors((a, b))))
        if PyNumber not in kinds:
            return _KNOWN[op](a, b)
        if any(isinstance(v, Tensor) for v in (a, b)):
            constant = [self.operand(v) if isinstance(v, Tensor) else v for v in (a, b)]
            return self.binary(op, *constant)
        return self.numbers(op, a, b)

    def numbers(self, op: str, a: Any, b: Any) -> PyNumber:
        """``a op b`` of Python numbers."""
        kinds = [v.kind if v.__class__ is PyNumber else KINDS.get(v.__class__) for v in (a, b)]
        if None in kinds:
            raise NotTraceable("a number computed with something else")
        if op == "-" and "bool" in kinds:  # which may be a tensor's, of which there is none
            raise NotTraceable("a difference with a truth")
        args = (self.operand(a), self.operand(b))
        kind = "float" if "float" in kinds else "mixed" if "mixed" in kinds else "int"
        if op == "/":
            return self.note(scalars.DIVIDE, args, "float")
        if op in ("**", "^"):
            whole = kind == "int" and b.__class__ is int and b >= 0
            return self.note(scalars.POWER, args, kind if kind == "float" or whole else "mixed")
        if op not in scalars.ARITHMETIC:
            raise NotTraceable(f"{op} of numbers")
        small = [v.__class__ is PyNumber and v.small for v in (a, b)]
        short = [s or (v.__class__ in (int, bool) and abs(v) < SMALL)
                 for s, v in zip(small, (a, b), strict=True)]  # fmt: skip
        # A sum with a small number takes more turns than there are steps to become too large.
        free = kind == "float" or op in ("//", "%") or (kind == "int" and op in "+-" and any(short))
        made = scalars.ARITHMETIC[op] if free else scalars.BOUNDED[op]
        return self.note(made, args, kind)

    def compared(self, op: str, a: Any, b: Any) -> Any:
        """One comparison."""
        kinds = (a.__class__, b.__class__)
        if Value not in kinds and PyNumber not in kinds:
            if op in ("is", "is not"):
                return (a is b) == (op == "is")
            if op in ("in", "not in"):
                if any(isinstance(v, list | tuple) for v in (a,)) or is_dynamic(b):
                    raise NotTraceable("a search")
                return (a in b) == (op == "in")
            if is_dynamic(a) or is_dynamic(b):
                raise NotTraceable("lists that are compared")
            return _COMPARISONS[op](a, b)
        if op in ("is", "is not") and (a is None or b is None):
            return op == "is not"
        if op not in _COMPARISONS:
            raise NotTraceable(f"{op} of values")
        if Value in kinds or any(isinstance(v, Tensor) for v in (a, b)):
            given = [self.operand(v) if isinstance(v, Tensor) else self.tensor(v) for v in (a, b)]
            return _COMPARISONS[op](*given)
        return self.note(scalars.COMPARED[op], (self.operand(a), self.operand(b)), "bool")

    def truth(self, value: Any) -> Any:
        """What a test looks at: a value, or True or False."""
        if value.__class__ is PyNumber:
            return value.value
        if value.__class__ is Value:
            if value.shape or value.dtype not in (dtypes.bool_, *FLOATS):
                raise NotTraceable("a test of more than one number")
            return value
        if isinstance(value, list | tuple | str | range) or value is None:
            return bool(value)
        if value.__class__ in KINDS or isinstance(value, Tensor):
            return bool(value)
        raise NotTraceable("a test of something that is no number")

    def boolean(self, value: Any) -> Any:
        """The truth of a value, which has to be a boolean: a side of ``and`` or ``or``."""
        if value.__class__ is PyNumber and value.kind == "bool":
            return value
        if value.__class__ is bool:
            return value
        if value.__class__ is Value and not value.shape and value.dtype is dtypes.bool_:
            return self.note(scalars.BOOL, (value,), "bool")
        if isinstance(value, Tensor) and value.dtype is dtypes.bool_ and not value.array.ndim:
            return bool(value)
        raise NotTraceable("`and` or `or` of what is no boolean")

    def made_list(self, made: list) -> list:
        """A new list, which may be written to where it was made."""
        self.born[id(made)] = made, self.region
        return made

    def pick(self, value: Any, index: Any) -> Any:
        """An entry of a vector at a place that is computed in the run."""
        if isinstance(value, Tensor):
            value = self.operand(value)
        whole = index.__class__ is PyNumber and index.kind == "int"
        if not whole or len(value.shape) != 1 or value.dtype not in FLOATS:
            raise NotTraceable("a computed index, but of a vector")
        out = Value(self.trace, (), value.dtype, example=value.dtype.numpy.type(1))
        return self.trace.note(scalars.PICK, (value, index.value), out)

    def items(self, over: Any) -> list:
        """What a loop that is written out goes over."""
        if over.__class__ is Value:
            if not over.shape or over.shape[0] > UNROLLED:
                raise NotTraceable("a loop over a long tensor")
            return [over[i] for i in range(over.shape[0])]
        if isinstance(over, range) and len(over) > UNROLLED:
            raise NotTraceable("a long list")
        if isinstance(over, list | tuple | range | str | Tensor) or hasattr(over, "items"):
            found = list(over)
            if len(found) > UNROLLED:
                raise NotTraceable("a long list")
            return found
        raise NotTraceable("a loop over something else")

    def function(self, target: Any, args: list, options: dict) -> Any:
        """A function of the language."""
        if args and args[0].__class__ is Grown and len(args) == 1 and not options:
            if target is names.NAMES["len"]:
                return args[0].length()
            if target is names.NAMES["sum"]:
                return args[0].total()
        for name in ("enumerate", "zip", "reversed"):
            if target is names.NAMES[name]:
                turns = iterator(self, name, [*args], dict(options))
                if turns is not None:
                    args = [a.known if a.__class__ is ByTurn else a for a in args]
                    if not any(a is None or is_dynamic(a) for a in args):
                        turns.known = with_checks(target)(*args, **options)
                    return turns
        if any(a.__class__ is ByTurn for a in args):
            args = [a.known if a.__class__ is ByTurn else a for a in args]
            if None in args:
                raise NotTraceable("a long iterator that no loop goes over")
        given = [*args, *options.values()]
        if id(target) not in self.pure:
            raise NotTraceable(f"a call of {getattr(target, '__name__', target)}")
        if any(options.get(word) for word in ("requires_grad", "out", "generator", "inplace")):
            raise NotTraceable("a call with such an option")
        if len(given) == 1 and args and args[0].__class__ is Value:
            made = self.number_of(target, args[0])
            if made is not None:
                return made
        if any(v.__class__ is PyNumber for v in given) or self.maybe_number(given):
            return self.of_numbers(target, args, options)
        if any(v.__class__ in (Closure, Grown) for v in given):
            raise NotTraceable("a function or a list that grows as an argument")
        found = with_checks(target)(*args, **options)
        if any(is_dynamic(v) for v in given):
            return self.computed(found)
        if self.writes and isinstance(found, Tensor) and found.dtype in FLOATS and (
            getattr(target, "__name__", "") in _MEMORY and found.array.ndim
        ):  # fmt: skip
            found = self.trace.constant(found.array)
            self.fresh.add(found)
        return self.made_list(found) if found.__class__ is list else found

    def number_of(self, target: Any, value: Value) -> Value | PyNumber | None:
        """``float(x)``, ``int(x)`` or ``bool(x)`` of a tensor; None for another function."""
        kind = _kind_made_by(target)
        if kind and (value.shape or value.dtype not in FLOATS):
            raise NotTraceable("the number of such a tensor")
        if kind == "float":
            return self.float_of(value)
        return self.note(_MADE[kind], (value,), kind) if kind else None

    def float_of(self, value: Value) -> Value | PyNumber:
        """A single number of a tensor as Python's float, which that of float64 is already; in a
        text of NumPy's arrays it has a derivative."""
        if mode.arrays:
            return value.to(dtypes.float64)  # type: ignore[no-any-return]
        made = scalars.ITEM if value.dtype is dtypes.float64 else scalars.FLOAT
        return self.note(made, (value,), "float")

    def of_numbers(self, target: Any, args: list, options: dict) -> Any:
        """A function of the language with numbers that are not known among its arguments."""
        known = names.NAMES
        if options:
            raise NotTraceable("a computed option")
        tensors = any(v.__class__ is Value or isinstance(v, Tensor) for v in args)
        op = target if isinstance(target, Operator) else getattr(target, "operator", None)
        if op is None and target in (known["max"], known["min"]) and tensors and len(args) == 2:
            op = OPERATORS["maximum" if target is known["max"] else "minimum"]
        if op is None and target is known["pow"] and tensors:
            op = OPERATORS["pow"]
        if tensors:
            if op is None or not op.entrywise or len(args) != op.arity:
                raise NotTraceable("a number among the arguments of such a function")
            found = self.sampled(target, args) if self.maybe_number(args) else set()
            if not found <= {int, float, Tensor}:
                raise NotTraceable("a function of what may be a number that gives something else")
            made = op(*self.tensors([self.as_float(self.lifted(a)) for a in args]))
            if int in found:
                self.trace.either[made] = True
            return self.computed(made)
        (first, *rest) = args
        if target is known["abs"] and not rest and first.kind != "bool":
            return self.note(scalars.ABSOLUTE, (first.value,), first.kind)
        kind = _kind_made_by(target)
        if kind and not rest:
            return self.note(_MADE[kind], (first.value,), kind)
        if target is known["pow"] and len(args) == 2:
            return self.numbers("**", *args)
        if target in (known["max"], known["min"]) and len(args) == 2:
            kinds = {a.kind if a.__class__ is PyNumber else KINDS[a.__class__] for a in args}
            made = scalars.LARGEST if target is known["max"] else scalars.SMALLEST
            if len(kinds) > 1 and "bool" in kinds:
                raise NotTraceable("a truth or a number")
            return self.note(made, [self.operand(a) for a in args],
                             kinds.pop() if len(kinds) == 1 else "mixed")  # fmt: skip
        if target is known["range"]:
            return Range(args)
        if op is None or not op.entrywise or len(args) != op.arity or op.params:
            raise NotTraceable("a function of numbers")
        if self.sampled(target, args) != {float}:
            raise NotTraceable("a function of numbers that gives something else")
        given = [self.tensor(self.as_float(a)) for a in args]
        out = self.trace.apply(op, given, {}, recorded=False)
        if out.shape or out.dtype is not dtypes.float64:
            raise NotTraceable("a function of numbers that gives something else")
        return PyNumber(out, "float")

    def sampled(self, target: Any, args: list) -> set[Any]:
        """The classes of what a function gives of single numbers such as these."""
        kinds = [
            a.kind if a.__class__ is PyNumber
            else KINDS.get(a.__class__, "tensor") if a not in self.trace.either
            else "mixed" if self.trace.either[a] else "float"
            for a in args
        ]  # fmt: skip
        function = with_checks(target)
        return {function(*(_SAMPLES[kind][way] for kind in kinds)).__class__ for way in (0, -1)}

    def maybe_number(self, value: Any) -> bool:
        """Whether a value, or one in a list of them, is a tensor or a number as the run goes."""
        stack = [value] if self.trace.either else []
        while stack:
            one = stack.pop()
            if one.__class__ is Value and one in self.trace.either:
                return True
            stack += one if one.__class__ in (list, tuple) else ()
        return False

    def of_tensor(self, value: Any) -> None:
        """Raises NotTraceable where a value that is used as a tensor may be a number."""
        if self.maybe_number(value):
            raise NotTraceable("an attribute or an item of what may be a number")

    def lifted(self, value: Any) -> Any:
        """A tensor of the program as a constant."""
        return self.operand(value) if isinstance(value, Tensor) else value

    def method(self, target: Any, name: str, args: list, options: dict) -> Any:
        """``target.name(...)``."""
        if target.__class__ is Grown and name == "append" and len(args) == 1 and not options:
            return target.append(args[0])
        if target.__class__ is list:
            return self.list_method(target, name, args, options)
        given = [*args, *options.values()]
        self.of_tensor([target, *given])
        if target.__class__ is not Value and not isinstance(target, Tensor):
            raise NotTraceable(f"the method {name}")
        pure = name in _TENSOR_METHODS or name in methods.COMPOSED or name in OPERATORS
        other = mode.arrays and name in settings.BY_NUMPY and (given or name not in ("max", "min"))
        pure = pure and not other and name not in settings.OF_ARRAYS
        if name.endswith("_") or not pure or any(options.get(w) for w in ("requires_grad", "out")):
            raise NotTraceable(f"the method {name}")
        if name == "item" and target.__class__ is Value and not given:
            if target.shape or target.dtype not in (*FLOATS, dtypes.bool_):
                raise NotTraceable("the number of such a tensor")
            if target.dtype is dtypes.bool_:
                return self.note(scalars.ITEM, (target,), "bool")
            return self.float_of(target)
        if any(v.__class__ in (Closure, PyNumber) for v in given):
            raise NotTraceable("a computed argument of a method")
        return self.computed(attributes.attribute(target, name)(*args, **options))

    def list_method(self, target: list, name: str, args: list, options: dict) -> Any:
        """``append`` and its like, on a list that was made in the same block."""
        if name not in ("append", "extend", "pop", "insert", "reverse", "clear", "copy") or options:
            raise NotTraceable(f"the method {name} of a list")
        if any(is_dynamic(a) for a in args) and name in ("pop", "insert"):
            raise NotTraceable("a computed index of a list")
        if name != "copy":
            self.writable(target)
        for a in args:
            self.keep(a)
        found = builtins.LIST_METHODS[name](target, *args)
        return self.made_list(found) if name == "copy" else found

    def name(self, target: list) -> None:
        """A list gets a name."""
        (self.shared if id(target) in self.named else self.named).add(id(target))

    def is_new(self, target: list) -> bool:
        """Whether no other turns and no other sides of a branch see a list."""
        return self.born.get(id(target), (None, None))[1] is self.region

    def writable(self, target: list) -> None:
        """Raises NotTraceable for a list that others see."""
        if not self.is_new(target):
            raise NotTraceable("a list that is written to in a loop or a branch")

    def spec(self, value: Any) -> tuple:
        """The type of a value: what is carried or merged as one."""
        kind = value.__class__
        if kind is Value:
            shape, dtype, either = tuple(value.shape), value.dtype, self.trace.either
            if value in either:
                return "either", shape, dtype, either[value]
            return "tensor", shape, dtype
        if kind is PyNumber:
            return "number", value.kind
        if kind in KINDS:
            return "constant", kind, value, str(value)
        if isinstance(value, Tensor):
            return "held", id(value), tuple(value.array.shape), value.dtype, value
        if kind in (list, tuple):
            if kind is list and len(value) > 64:
                raise NotTraceable("a long list that changes")
            return (kind, *(self.spec(v) for v in value))
        if kind is Lost:
            raise NotTraceable(value.why)
        return "same", id(value), value

    def join(self, spec: tuple, values: list, outs: list, results: list[list]) -> Any:
        """A new value of a type for those of several ways; its parts are added to the lists."""
        head = spec[0]
        if head in ("same", "held", "constant"):
            return values[0]
        if head in (list, tuple):
            parts = []
            for place, inner in enumerate(spec[1:]):
                items = [v if v is UNSET else v[place] for v in values]
                parts.append(self.keep(self.join(inner, items, outs, results)))
            return self.made_list(parts) if head is list else tuple(parts)
        tensor = head != "number"
        dtype = spec[2] if tensor else _DTYPES[spec[1]]
        shape = spec[1] if tensor else ()
        out = Value(self.trace, shape, dtype, example=np.ones(shape, dtype.numpy)[()])
        own = True
        for value, into in zip(values, results, strict=True):
            if value is UNSET:
                into.append(None)
                continue
            if head == "either" and not _holds(dtype, value):
                raise NotTraceable("a number that a tensor does not hold")
            if value.__class__ is int and abs(value) > EXACT:
                raise NotTraceable("a whole number that is no float")
            found = self.operand(value)
            if tensor and found.__class__ in (int, bool):
                found = float(found)
            into.append(found)
            own = own and (value.__class__ is not Value or value in self.fresh)
        self.sources[out] = [v for v in values if v.__class__ is Value]
        if any(v is None or (v.__class__ is Value and v in self.unset) for v in
               (into[-1] for into in results)):  # fmt: skip
            self.unset.add(out)
        outs.append(out)
        if tensor:
            if head == "either":
                self.trace.either[out] = spec[3]
            if own:
                self.fresh.add(out)
                self.bound.add(out)
            return out
        return PyNumber(out, spec[1])

    def read(self, found: Any) -> Any:
        """What a variable holds; where it is not set, the engine gives the error."""
        stack = [found] if self.unset else []
        while stack:
            one = stack.pop()
            if one.__class__ in (list, tuple):
                stack += one
            value = one.value if one.__class__ is PyNumber else one
            if value.__class__ is Value and value in self.unset:
                self.trace.tape.append(Check(self.note(scalars.IS_SET, (value,), "bool").value))
        return found

    def written(self, held: Value, index: Any, value: Any) -> Value:
        """What a tensor is after ``x[index] = value``: a new value."""
        value = self.lifted(self.tensor(value))
        value = float(value) if value.__class__ in (int, bool) else value
        if held not in self.fresh:
            raise NotTraceable("a write to a tensor that something else may have")
        if held.dtype not in FLOATS or getattr(value, "dtype", held.dtype) is not held.dtype:
            raise NotTraceable("a write to a tensor of another dtype")
        if index.__class__ is PyNumber:
            if index.kind != "int" or len(held.shape) != 1 or np.shape(value):
                raise NotTraceable("a write to a computed place, but of a vector")
            made = self.trace.note(scalars.PUT, (held, index.value, value), loops.like(held))
        else:
            if not is_basic(index):
                raise NotTraceable("a write to several places")
            mask = np.zeros(held.shape, bool)
            mask[index] = True
            region = mask[index].shape
            if region:
                value = OPERATORS["expand"](value, region)
                value = OPERATORS["scatter"](value, tuple(held.shape), index)
            made = OPERATORS["where"](self.trace.constant(mask), value, held)
        assert made.source is not None
        self.writers[made.source] = held
        self.overwrite(held)
        self.fresh.add(made)
        self.bound.add(made)
        return made

    def marks(self) -> tuple:
        """What is known of memory and of lists, to go back to."""
        kinds = [g.kind for g in self.grown]
        return set(self.fresh), set(self.bound), set(self.overwritten), kinds

    def reset(self, marks: tuple) -> None:
        """Go back to what was known."""
        self.fresh, self.bound, self.overwritten, kinds = marks
        for grown, kind in zip(self.grown, kinds, strict=False):
            grown.kind = kind

    def only(self, value: Value, others: list) -> None:
        """A tensor that is written to in the next turn. Raises NotTraceable where one of
        ``others``, or a list, may have it too."""
        own = self.behind(value)
        if own & self.placed or any(own & self.behind(v) for v in others if v.__class__ is Value):
            raise NotTraceable("a write to a tensor that something else may have")

    def behind(self, value: Value) -> set[Value]:
        """A tensor and all that it may be, where it joins several."""
        found: set[Value] = set()
        stack = [value]
        while stack:
            v = stack.pop()
            if v not in found:
                found.add(v)
                stack += self.sources.get(v, ())
        return found

    def overwrite(self, value: Value) -> None:
        """A tensor is written to. Raises NotTraceable where a rule has saved what it was.

        An operation that writes keeps a copy of what it needs of its target.
        """
        views = self.behind(value)
        self.overwritten |= views
        for ins in self.trace.noted:
            target = self.writers.get(ins)
            if (ins.op is scalars.PICK or not is_fresh(ins)) and any(
                self.behind(v) & views for v in ins.inputs()
            ):
                if ins.out in self.bound:
                    raise NotTraceable("a write to a tensor that has a view")
                views.add(ins.out)
            if ins.recorded and any(
                v is not target and self.behind(v) & views for v in _saved(ins)
            ):
                raise NotTraceable("a write to a tensor that a rule has saved")


def _kind_made_by(target: Any) -> str:
    """Which kind of number a function of the language makes; empty for another function."""
    return next((kind for kind in _MADE if target is names.NAMES[kind]), "")


def _saved(ins: Instruction) -> Iterator[Any]:
    """What the rules of an instruction save."""
    op = ins.op
    for place, (rule, words) in enumerate(zip(op.rules, op.saves, strict=True)):
        by = ins.args if op.variadic else ins.args[place : place + 1]
        if rule is None or not any(a.__class__ is Value and a.const is None for a in by):
            continue
        for word in words:
            if word == "out":
                yield ins.out
            elif op.variadic:
                yield from ins.args
            else:
                yield ins.args[op.inputs.index(word)]


def _is_truth(value: Any) -> bool:
    """Whether a value is a single truth."""
    if value.__class__ is PyNumber:
        return value.kind == "bool"
    truths = getattr(value, "dtype", None) is dtypes.bool_ and not value.shape
    return truths or value.__class__ is bool


def is_dynamic(value: Any) -> bool:
    """Whether a value is not known before the run."""
    stack = [value]
    while stack:
        one = stack.pop()
        if one.__class__ in (Value, PyNumber, Range, Grown):
            return True
        if one.__class__ in (list, tuple):
            stack += one
        elif one.__class__ is Lost:
            raise NotTraceable(one.why)
    return False
