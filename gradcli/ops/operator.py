"""What an operator is: a computation on arrays, one derivative rule per input, and its facts.

A rule is an ordinary function. Its parameter names say what it needs, and therefore what is kept
alive until backward:

    g or t      the cotangent or tangent it is linear in (first, where present)
    x, y, ...   an input, by the name in ``Operator.inputs``: that input is saved
    out         the result: saved
    shape       the shape of the input the rule belongs to (never saves the input)
    shapes      the shapes of all inputs, and ``index`` which one this is (joins only)
    dim, ...    any parameter of the call

Rules are written with Python's operators and with other operators. Both dispatch on what they are
given, so one rule runs on NumPy arrays (first order), Tensors (any order), tangents and symbols.
A type that is not an array takes part by two attributes, see ``Operator.__call__``. The kinds of
operator are declared by the functions of ``kinds``; ``read`` reads a rule forward and on arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gradcli.ops.errors import TypeFault
from gradcli.ops.torch_messages import NO_DERIVATIVE, not_a

OPERATORS: dict[str, Operator] = {}
"""Every operator by name, in order of declaration."""

_NAMES = ("x", "y", "z")
_NOTHING: Mapping[Any, Any] = {}
# Types that compute at once. Anything else is asked for its rank; 0 means "an array after all".
_PLAIN = frozenset(
    (np.ndarray, float, int, bool, complex, np.float64, np.float32, np.bool_, np.int64)
)


class Operator:
    """A differentiable operation: callable on arrays, Tensors, tangents and symbols alike.

    What mathematics, the language and other libraries know of it are its facts, below.

    Example:
        >>> from gradcli.ops import OPERATORS
        >>> float(OPERATORS["square"](3.0))
        9.0
    """

    # The facts: here, with what holds where a declaration says nothing of them. What follows from
    # others (arity, reads, saves ...) is found in __init__ or when it is first wanted.

    inputs: tuple[str, ...]
    """The names of the operands, where the computation is not of these: see ``inputs_of``."""
    entrywise: bool
    """An entry of the result depends on one entry of each input, after broadcasting: so it is
    where there is no dimension and no rule for batches."""
    holds: float
    """What a computation holds at most, its result with it: arrays like the result where it works
    entry by entry, else like the operands, and the result of a reduction besides. Where nothing is
    said it is one, and two by a formula; none of a view and of a reduction; what multiplies
    matrices charges its result itself."""
    complex_holds: float
    """The same where an operand is complex, if that is another."""
    variadic: bool = False
    jvp: Callable[..., Any] | None = None
    slope: Callable[..., Any] | None = None
    batching: Callable[..., Any] | None = None
    """How it works on a batch, where that does not follow: see ``batching``."""
    dtypes: str = "float"
    """How the element types of the inputs meet, where the kind does not say it: see ``kinds``."""
    out: str
    """Which dtype an ``out=`` may have, the "same" as the result or a "wider" one: see the engine's
    ``may_be``. Wider where operands meet in a type, by entry; there is none of a view."""
    apart: bool = False
    """An ``out=`` has to lie apart from the operands, for what is read is not where is written."""
    wraps: bool = True
    """A whole number that the type of a tensor has no room for counts by its last bits."""
    grows: bool | Callable[..., Any]
    """Whole numbers may come out that their element type has no room for: so it is where entries
    are added up or multiplied. A function gives what their size does not pass, of those given."""
    of_whole: bool = False
    """Whole numbers of some values have no result: it raises an error, as a division by 0."""
    without_bounds: Callable[..., Any] | None = None
    """Computes the same in floats, where ``compute`` of floats does not."""
    one_dtype: bool = False
    """Two Tensors have to have one element type."""
    refuses: Mapping[str, Any] | Callable[[Sequence[Any], int], str | None] | None = None
    """Element types that it is not for ("bool int half complex") with PyTorch's words: the name of
    its kernel, or a sentence; or a function of the element types. {} is the element type."""
    by_result: str = ""
    """The input in whose place a node reads the result, and saves that: relu's have one sign."""
    node: Mapping[str, Any] = _NOTHING
    """What PyTorch shows of a node, where the rest does not say it: see ``node_names``."""
    numbers: str = ""
    """The inputs that may be plain numbers where PyTorch's functions are called: "y", "xy"."""
    required: str = ""
    """The parameters that Python's calls have to give; a program may leave them out."""
    halves: str = ""
    """Which halves are computed in float32, rounded once: "all", with a plain "number", or "many".

    There are "many" where their count may be none of them.
    """
    alone: bool = False
    """Whether these functions take numbers alone, of which they make a tensor."""
    grad_name: str
    by_index: str = ""
    """The parameter that holds indices, arrays among them: a later write to these is noticed."""
    masks: bool = False
    """It chooses between branches: what is not taken gets a cotangent of 0."""
    few: int = 0
    """It rounds arrays of more entries in another way. 0: the size shows in no digit."""
    vanishes: str = ""
    """The inputs of which one that is 0 makes the result 0, whatever the other."""
    aliases: tuple[str, ...] = ()
    torch: tuple[str, ...] = ("input", "other", "value")
    """PyTorch's names of the inputs."""
    public: bool = True
    """Callable by its name; else reached by syntax or through a function."""
    doc: str = ""
    domain: str = "all x"
    edges: str = ""
    example: str = ""
    family: str = ""
    of_truths: str = ""
    """What it is of two truth values: of 2 that hold a sum is true, not 2."""
    keeps_truths: str = ""
    """What it is of truth values where these stay so, of single numbers too: see ``of_truths``. A
    view is itself."""
    infix: str = ""
    """The sign of the call in the language: ``+``, ``<=``; ``&`` for logical_and."""
    core: str = ""
    """Core dimensions as NumPy's generalized ufuncs have them: ``(n,n)->()`` for det. A letter of
    the result alone is the smaller of the sizes that are given."""
    parts: tuple[str, ...] = ()
    """How the language writes each of several results that come in one array, of ``{x}``."""
    transposes: bool = False
    """f(x.T) is f(x).T, of matrices."""
    symmetrizes: bool = False
    """It is of (x + x.mH)/2, where other libraries read one triangle of x."""
    sorted: int = 0
    """The last dimension of the result is in ascending (1) or descending (-1) order."""
    sizes: str = ""
    """The parameter that methods take as separate arguments: x.reshape(2, 3)."""
    rows: bool = False
    """The result lies in rows, in whatever order the dimensions of the operands lie in memory."""
    moves: str = ""
    """Each entry of the result is one of the inputs' ("copy"), in the same memory where it can be
    ("view")."""
    neutral: float | None = None
    """The second operand that leaves the first as it is, bit by bit; True: what leaves its input as
    it is where shape and element type stay."""
    parity: str = ""
    """"odd" or "even": f(-x) is -f(x) or f(x)."""
    positive: bool = False
    """f(x) > 0 wherever it is defined."""
    values: Mapping[int, float] = _NOTHING
    """Exact values at whole numbers: {0: 1} for cos; {0: 0} of all that are odd."""
    square: tuple[str, int, int] | None = None
    """(g, a, b) where f**2 is a + b*g**2."""
    quotient: tuple[str, str] | None = None
    """(g, h) where f is g/h."""
    kink: str = ""
    """What a formula of the derivative says of points without one; {0} is an input, {op} the
    name."""
    breaks: str = ""
    """Where one smooth piece meets another: at numbers ("-1 1"), at whole ones ("whole") or halfway
    between ("half"), where both inputs are equal ("ties") or one a multiple of the other
    ("multiples"), or as a "condition" has it."""
    cures: Sequence[tuple[str, str, str]] = ()
    """Why it, or its gradient, is no finite number, and what to do: see ``cures``."""
    python: str = ""
    """The call on Python floats, sqrt, fabs, exp and log1p being math's; a single number for a
    reduction or a shape."""
    numpy: str | None = None
    """The call in NumPy, where another name: ``np.clip({0}, {min}, {max})``, ``{*}`` for all
    arguments, a bare name, or the source of a small function; "" where it has none."""
    pytorch: str | None = None
    jax: str | None = None
    latex: str | Callable[[Mapping[str, Any], int], str | None] = ""
    """What stands before the arguments, or a text with ``{x}`` for the only one; parameters by
    name; or a function of parameters and the argument's rank."""

    def __init__(
        self,
        kind: str,
        name: str,
        compute: Callable[..., Any] | None,
        rules: Sequence[Callable[..., Any] | None],
        *,
        formula: Callable[..., Any] | None = None,
        **facts: Any,
    ) -> None:
        """Declare an operator. Raises TypeError for a fact that there is not, among others."""
        unknown = facts.keys() - Operator.__annotations__.keys()
        if unknown:
            raise TypeError(f"{name}: no operator has the fact {', '.join(sorted(unknown))}")
        self.kind = kind
        self.name = name
        if compute is not None:
            self.compute: Callable[..., Any] = compute
        self.formula = formula
        self.inputs = inputs_of(formula or compute) or _NAMES[: max(1, len(rules))]
        self.grad_name = "".join(map(str.capitalize, name.split("_"))) + "Backward0"
        self.params: dict[str, Any] = defaults_of(formula or compute)
        self.__dict__.update(facts)
        self.arity = len(self.inputs)
        self.__dict__.setdefault("entrywise", self.batching is None and "dim" not in self.params)
        product = kind == "bilinear" and not self.entrywise
        none = self.moves == "view" or "keepdim" in self.params or product
        self.__dict__.setdefault("holds", 0 if none else 1 if formula is None else 2)
        self.__dict__.setdefault("complex_holds", self.holds)
        computes = kind not in ("constant", "elementwise") and not (self.moves or self.masks)
        self.__dict__.setdefault("grows", computes)
        if self.parity == "odd":
            self.values = {0: 0}
        if self.dtypes == "compare" and not self.params:
            self.numbers = "y"
        if "out" not in facts:
            meets = self.entrywise and (self.arity > 1 or self.dtypes == "float")
            self.out = "none" if self.moves == "view" else "wider" if meets else "same"
        if formula is None or rules:
            self.read_rules(rules)
        if name in OPERATORS:
            raise TypeError(f"operator {name} is declared twice")
        OPERATORS[name] = self

    def read_rules(self, rules: Sequence[Callable[..., Any] | None]) -> None:
        """Take the rules, one for each input."""
        self.rules = tuple(rules) or (None,) * self.arity
        if not self.variadic and len(self.rules) != self.arity:
            raise TypeError(f"{self.name}: {len(self.rules)} rules for {self.arity} inputs")
        self.recorded = any(rule is not None for rule in self.rules)

    @cached_property
    def reads(self) -> tuple[tuple[str, ...], ...]:
        """The names of what each rule needs. Raises TypeError for a name that nothing has."""
        known = {*self.inputs, *self.params, "g", "t", "out", "shape", "shapes", "index"}
        found = tuple(parameters(rule) for rule in self.rules)
        for n in (n for names in found for n in names if n not in known):
            raise TypeError(f"{self.name}: its rule asks for {n!r}: no input or parameter")
        return found

    @cached_property
    def scaled(self) -> tuple[bool, ...]:
        """Whether each rule of an elementwise operator gives t times the partial (its first
        parameter is t), and not the partial itself."""
        return tuple(bool(names) and names[0] == "t" for names in self.reads)

    @cached_property
    def saves(self) -> tuple[tuple[str, ...], ...]:
        """The inputs, and the result as "out", that a node keeps for each rule."""
        return tuple(
            tuple(
                "out" if n == self.by_result else n for n in names if n == "out" or n in self.inputs
            )
            for names in self.reads
        )

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def __call__(self, *args: Any, **params: Any) -> Any:
        """Apply to values of any reading.

        A value whose type is not an array takes over when its type has ``__gradcli_rank__`` (a
        positive number on the type or the instance) and ``__gradcli_apply__(op, args, params)``.
        The highest rank wins, so that a tangent of a Tensor is handled by the tangent first.
        """
        if params or (len(args) != self.arity and not self.variadic):
            args, params = self.bind(args, params)
        if self.params:
            params = {**self.params, **params}
        top = 0
        chosen = None
        for value in args:
            if value.__class__ not in _PLAIN:
                rank = getattr(value, "__gradcli_rank__", 0)
                if rank > top:
                    top = rank
                    chosen = value
        if chosen is not None:
            return chosen.__gradcli_apply__(self, args, params)
        return self.compute(*args, **params)

    def bind(
        self, args: tuple[Any, ...], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Sort a call's positional and keyword arguments into inputs and parameters.

        Raises TypeFault (E0302) where an input is missing, a name is unknown or given twice.
        """
        if self.variadic:
            return args, self._known(params)
        for at in range(len(args), self.arity) if params else ():
            known = (self.inputs[at], *self.torch[at : at + 1])
            name = next((n for n in known if n in params and n not in self.params), None)
            if name is None:
                break
            args = (*args, params.pop(name))
        if len(args) < self.arity:
            missing = ", ".join(self.inputs[len(args) :])
            raise TypeFault(
                "E0302",
                f"{self.name} needs {self.arity} argument{'s' * (self.arity > 1)}, got {len(args)}",
                help=f"write {self.signature()} (missing: {missing})",
            )
        extra = args[self.arity :]
        if len(extra) > len(self.params):
            most = self.arity + len(self.params)
            said = f"{self.name} takes at most {most} argument{'s' * (most > 1)}, got {len(args)}"
            raise TypeFault("E0302", said, help=f"write {self.signature()}")
        for name, value in zip(self.params, extra, strict=False):
            if name in params:
                raise TypeFault("E0302", f"{self.name} got {name!r} twice")
            params[name] = value
        return args[: self.arity], self._known(params) if params else params

    def _known(self, params: dict[str, Any]) -> dict[str, Any]:
        if "keepdim" in params and not isinstance(params["keepdim"], bool | np.bool_):
            said = f"{self.name}: keepdim is True or False, not {params['keepdim']!r}"
            raise TypeFault("E0302", said, help="several dimensions go into one tuple: dim=(0, 1)")
        for place, (name, value) in enumerate(params.items(), self.arity + 1):
            if differentiated(value):
                raise not_a("Number", self.name, name, place, value, NO_DERIVATIVE)
        if params.keys() <= self.params.keys():
            return params
        for name in list(params):
            if name in self.params:
                continue
            alias = PARAM_ALIASES.get(name)
            if alias in self.params:
                params[alias] = params.pop(name)
                continue
            given = ", ".join(self.params) or "none"
            mend = f"its parameters: {given}; write {self.signature()}"
            raise TypeFault("E0302", f"{self.name} has no parameter {name!r}", help=mend)
        return params

    def signature(self) -> str:
        """The call as a reader writes it, for example ``sum(x, dim=None, keepdim=False)``."""
        parts = [f"*{self.inputs[0]}"] if self.variadic else list(self.inputs)
        parts += [f"{k}={v!r}" for k, v in self.params.items()]
        return f"{self.name}({', '.join(parts)})"


PARAM_ALIASES = {
    "axis": "dim", "keepdims": "keepdim", "axis0": "dim0", "axis1": "dim1", "dims": "repeats",
    "size": "shape",
}  # fmt: skip
"""NumPy's names of parameters, and what they are called here."""


def parameters(rule: Callable[..., Any] | None) -> tuple[str, ...]:
    """The names of a rule's parameters."""
    return () if rule is None else rule.__code__.co_varnames[: rule.__code__.co_argcount]


def defaults_of(function: Any) -> dict[str, Any]:
    """The parameters of an operator, by its formula or computation: what has a default there."""
    if not hasattr(function, "__code__"):  # one of NumPy's
        return {}
    names = parameters(function)[len(inputs_of(function)) :]
    given = dict(zip(names, function.__defaults__ or (), strict=True))
    return {**given, **(function.__kwdefaults__ or {})}


def inputs_of(function: Any) -> tuple[str, ...]:
    """The inputs of an operator, by its formula or computation; none of what NumPy has itself."""
    names = parameters(function) if hasattr(function, "__code__") else ()
    return names[: len(names) - len(getattr(function, "__defaults__", None) or ())]


def differentiated(value: Any) -> bool:
    """Whether a derivative by ``value`` is asked for: it requires grad, or has a tangent."""
    rank = getattr(value, "__gradcli_rank__", 0)
    return bool(rank) and (
        getattr(value, "requires_grad", False) or getattr(value, "tangent", None) is not None
    )


def refuse_derivative(function: str, **parameters: Any) -> None:
    """Raise TypeFault (E0303) where a derivative by a parameter is asked for, and none is known."""
    for place, (name, value) in enumerate(parameters.items(), 2):
        if value.__class__ not in _PLAIN and differentiated(value):
            raise not_a("Number", function, name, place, value, NO_DERIVATIVE)


def is_number(value: Any) -> bool:
    """Whether ``value`` is a plain Python number (a NumPy float64 scalar counts as data)."""
    return value.__class__ in (int, float, complex, bool)


def plain_number(value: Any) -> Any:
    """A number as one of Python's own classes: that of an ``IntEnum`` is an int."""
    kinds: tuple[Any, ...] = (bool, int, float, complex)
    return next((kind(value) for kind in kinds if isinstance(value, kind)), value)


def is_complex(value: Any) -> bool:
    """Whether ``value`` (a number, an array, a Tensor ...) holds complex numbers."""
    dtype = getattr(value, "dtype", None)
    return isinstance(value, complex) if dtype is None else dtype.kind in ("c", 3)
