"""The fast path: each operator's function for floating tensors of one dtype, made of one template.

``method`` builds what Tensor's methods are, ``function`` the free functions with ``out=``. Both are
written out and compiled when they are first called: the operator's parameters, what its rules save
and its node class stand in the text itself, so that a call runs no loop and asks nothing that the
declaration already answers. ``mul`` of two tensors becomes::

    def mul(input, other):
        ...
        out = new(Tensor)
        out.array = compute(x0, x1)
        ...
        node.edges = (e0, e1)
        node.saved = (input if e1 is not None else None, other if e0 is not None else None, None)

Whatever does not fit (another dtype, an array, a tangent, a wrong argument) falls back to
``record.apply`` or to the operator itself. What an operation costs is decided here: each line is
there because measuring said so.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from sys import _getframe
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.grad_mode import current, mode
from gradcli.engine.graph.node import EMPTY, Extra
from gradcli.engine.record.apply import (
    MISFITS,
    NUMBERS,
    QUIET,
    apply,
    explained,
    finish,
    note_columns,
    note_view,
    stamp,
)
from gradcli.engine.record.arguments import ABSENT, Parameters, Source, looked_at, parameters_of
from gradcli.engine.record.index_writes import stamp_index, writes
from gradcli.engine.record.out import has_out, into
from gradcli.engine.record.rule_compiler import node_class
from gradcli.engine.record.whole_numbers import computed_whole
from gradcli.engine.source_location import outside, theirs
from gradcli.engine.tensor.tensor import Plain, Tensor, marked, wrap
from gradcli.ops import memory_budget
from gradcli.ops.dims import in_rows, laid_as
from gradcli.ops.errors import Fault
from gradcli.ops.indexing import Apart
from gradcli.ops.operator import OPERATORS, Operator
from gradcli.ops.torch_messages import not_a, too_big


class _Functions(dict[str, Callable[..., Any]]):
    """Fast functions by operator; each is made when it is first asked for."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        op = OPERATORS[name]
        self[name] = made = op if op.variadic else method(op)
        return made


FUNCTIONS = _Functions()
"""Every operator's fast function by the operator's name: what composed functions call."""

_ARRAYS = frozenset((np.ndarray, bool, complex, *(np.dtype(c).type for c in "?bhilqBHILQefdFD")))
"""Classes of operands that count as tensors or numbers: NumPy's, but those of 80 bits."""
_NO_OPERANDS = frozenset((str, list, tuple, dict, set))
_PARAMETERS = frozenset((int, float, bool, tuple, str, slice, type(None), np.ndarray, Apart))
"""Classes of parameters that go to the computation as they are."""
_OFTEN = 8
"""Calls of an operator itself after which its function is written out."""
_OWN_FILE = __file__.removesuffix(".py")


def _ordinary(value: Any) -> bool:
    """Whether a first call takes an operand; for all others there is the written function."""
    kind = value.__class__
    return kind is Tensor or kind is float or (kind is int and -(2**63) <= value < 2**64)


_calls: dict[str, int] = {}


def dispatched(op: Operator, args: tuple[Any, ...], params: dict[str, Any]) -> Tensor:
    """``op`` itself on values of which the highest is a Tensor, as rules and transforms call it:
    by its function, which takes a tenth of the time, where that surely takes them."""
    times = _calls.get(op.name, 0)
    if times < _OFTEN:
        _calls[op.name] = times + 1
    elif _takes(op, args, params):
        return FUNCTIONS[op.name](*args, **params)  # type: ignore[no-any-return]
    return apply(op, args, params)


def _takes(op: Operator, args: tuple[Any, ...], params: dict[str, Any]) -> bool:
    """Whether an operator's function computes with these itself, or by ``apply``."""
    if op.variadic or len(args) != op.arity or args[0].__class__ is not Tensor:
        return False
    for name, value in params.items():
        kind = op.params[name].__class__
        if value.__class__ is not bool if kind is bool else value.__class__ not in _PARAMETERS:
            return False
    numbers = [a for a in args if a.__class__ is not Tensor]
    if not numbers:
        return True
    kind = numbers[0].__class__
    one = len(numbers) == 1 and (kind is float or kind is int)
    of_two = op.arity == 2 and op.dtypes in ("float", "promote", "compare")
    return one and (of_two or op.dtypes == "where")


def method(
    op: Operator, *, reverse: bool = False, symbol: bool = False, checked: bool = False
) -> Callable[..., Any]:
    """The operator as a method of Tensor; ``checked`` as Python calls it: see ``arguments``.

    ``reverse`` builds the one for a number on the left (``2 - x``), ``symbol`` Python's own
    (``x - 2``), which lets the other side try what it cannot take.
    """
    return _specialised(op, checked=checked, reverse=reverse, symbol=symbol)


def function(op: Operator, *, checked: bool = False) -> Callable[..., Any]:
    """The operator as a free function: ``sin(x)``, with PyTorch's ``out=``."""
    return _specialised(op, with_out=not checked or has_out(op), checked=checked, free=True)


def _specialised(
    op: Operator, with_out: bool = False, checked: bool = False, free: bool = False, **form: bool
) -> Callable[..., Any]:
    """A function whose code is written out by the second call; until then it has a stand-in's.

    The first call of tensors and numbers goes through the operator itself: writing and compiling
    take as long as a hundred such calls, and an expression calls most of its operators once.
    """
    names = (*_input_names(op), *op.params)
    scope: dict[str, Any] = {"__name__": __name__}
    strict = _is_strict(op, with_out or checked)
    code = _stand_in(names, strict, with_out)
    made = FunctionType(code, scope, op.name, _defaults(op, strict, checked))
    made.__kwdefaults__ = {"out": None} if with_out else None
    made.__qualname__ = op.name
    made.__doc__ = op.doc
    made.operator, made.checked = op, checked  # type: ignore[attr-defined]

    def first(*given: Any, **named: Any) -> Any:
        scope["call"] = later
        inputs = given[: op.arity]
        bound = len(given) == len(names) and len(named) == with_out and named.get("out") is None
        if not bound or inputs[0].__class__ is not Tensor or not all(map(_ordinary, inputs)):
            return later(*given, **named)
        if takes is not None:
            takes.check(dict(zip(names, given, strict=True)))
        params = dict(zip(op.params, given[op.arity :], strict=True))
        return op(*(reversed(inputs) if form.get("reverse") else inputs), **params)

    def later(*given: Any, **named: Any) -> Any:
        scope.update(_NAMES, op=op, compute=op.compute, this=made, takes=takes)
        if checked:
            scope["lenient"] = FUNCTIONS[op.name]
        text = _text(op, with_out=with_out, takes=takes, scope=scope, **form)
        scope["__loader__"] = Source(text)  # tracebacks show the lines
        exec(compile(text, f"{_OWN_FILE}[{op.name}].py", "exec"), scope)
        made.__code__ = scope[op.name].__code__
        return made(*given, **named)

    takes = parameters_of(op, op.name, not free) if checked else None
    scope["call"] = first
    return made


@functools.cache
def _stand_in(names: tuple[str, ...], strict: bool, with_out: bool) -> CodeType:
    """The code of a function of these arguments that calls ``call`` with them."""
    same = ("input", "other", *(f"argument{i}" for i in range(2, len(names))))[: len(names)]
    if names != same:  # compiled once for each number of arguments
        code = _stand_in(same, strict, with_out)
        return code.replace(co_varnames=(*names, *code.co_varnames[len(names) :]))
    passed = [*names, *([] if strict else ["*more", "**named"]), *(["out=out"] if with_out else [])]
    scope: dict[str, Any] = {}
    signature = _signature(names, strict, with_out)
    text = f"def stand_in({signature}): return call({', '.join(passed)})"
    exec(compile(text, f"{_OWN_FILE}[stand_in].py", "exec"), scope)
    result: CodeType = scope["stand_in"].__code__
    return result


def _signature(names: Sequence[str], strict: bool, with_out: bool) -> str:
    """The arguments; unless ``strict`` the function takes any, and binds as the operator does."""
    if strict:
        return ", ".join((*names, "*", "out") if with_out else names)
    return ", ".join((*names, "*more", *(("out",) if with_out else ()), "**named"))


def _defaults(op: Operator, strict: bool, checked: bool) -> tuple[Any, ...]:
    """The defaults of the function's last arguments."""
    missing = () if strict else (ABSENT,) * (op.arity - 1)
    wanted = op.required.split() if checked else ()
    return (*missing, *(ABSENT if name in wanted else v for name, v in op.params.items()))


# -- the template ----------------------------------------------------------------------------------


def _is_plain(op: Operator) -> bool:
    """Whether the operator takes one or two operands and nothing else."""
    if op.params or op.kind == "constant" or op.arity > 2:
        return False
    alone = op.dtypes == "keep" and op.arity == 1 and op.kind == "elementwise"  # relu, abs
    return alone or op.dtypes == "float" or op.dtypes == "promote"


def _is_strict(op: Operator, with_out: bool) -> bool:
    """Whether the function has no arguments but its operands, which have no other names."""
    return _is_plain(op) and (op.arity == 1 or not with_out or op.torch[1] == "other")


def _text(
    op: Operator,
    reverse: bool = False,
    symbol: bool = False,
    with_out: bool = False,
    takes: Parameters | None = None,
    scope: Any = None,
) -> str:
    """The text of an operator's function; ``takes`` where that looks at its arguments."""
    plain = _is_plain(op)
    names = _input_names(op)
    given = _tuple(reversed(names) if reverse else names)
    params = _dict(op.params)
    strict = _is_strict(op, with_out or takes is not None)
    lines = [f"def {op.name}({_signature((*names, *op.params), strict, with_out)}):"]
    otherwise = f"return elsewhere(op, {given}, {params})"
    foreign = f"return of_numbers(op, {given})" if plain else otherwise
    if reverse or symbol:
        foreign = f"return of_others(op, {names[0]}, {given})"
    if takes is not None:
        out, named = "out" if with_out else "None", "" if strict else ", named, more"
        otherwise = foreign = (
            f"return looked_at(lenient, takes, {_dict(takes.order)}, {out}{named})"
        )
    if with_out and takes is not None:
        lines.append(f"    if out is not None: {otherwise}")
    elif with_out:
        options = params if strict else f"{{**{params}, **named}}"
        lines.append(f"    if out is not None: return into(out, this, {given}, {options})")
    if not strict:
        absent = "".join(f" or {name} is ABSENT" for name in names[1:])
        lines.append(f"    if more or named{absent}:")
        rebound = f"return rebound(op, {given}, {params}, more, named)"
        lines.append(f"        {rebound if takes is None else otherwise}")
    general = f"return apply(op, {given}, {params})"
    lines.append(f"    if {names[0]}.__class__ is not Tensor:")
    lines.append(f"        if not isinstance({names[0]}, Plain): {foreign}")
    if _may_be_view(op):
        lines.append(f"        if {names[0]}._flips: {general}")
    unfit = [
        f"{p}.__class__ is not bool" if value.__class__ is bool else
        f"{p}.__class__ not in PARAMETERS" for p, value in op.params.items()
    ]  # fmt: skip
    if takes is not None:
        unfit = [test for p in op.params if (test := takes.test(p, scope))] + unfit
    if unfit:
        lines.append(f"    if {' or '.join(unfit)}: {otherwise}")
    if op.arity == 1:
        lines += _operation(op, names, (False,), reverse, general)
    elif op.arity == 2:
        lines += _of_two(op, names, reverse, takes, general, symbol or reverse)
        if plain and takes is None:
            if symbol or reverse:
                test = "kind is int and not current().mixes"
                lines.append(f"    if {test}: raise too_big({names[1]})")
            lines.append(f"    if kind in ARRAYS or isinstance({names[1]}, NUMBERS): {general}")
            lines.append(f"    if getattr({names[1]}, '__gradcli_rank__', 0): return op(*{given})")
            if symbol or reverse:
                lines.append("    return NotImplemented")
            else:
                lines.append(f"    raise not_a('Tensor', op.name, 'other', 1, {names[1]})")
        else:
            lines.append(f"    {otherwise}")
    else:
        lines += _of_many(op, names, reverse, takes, general)
        lines.append(f"    {otherwise}")
    return "\n".join(lines) + "\n"


def _of_two(
    op: Operator, names: tuple[str, ...], reverse: bool, takes: Parameters | None, general: str,
    symbol: bool,
) -> list[str]:  # fmt: skip
    """The lines for a Tensor and another, or a number."""
    other = names[1]
    test = "kind is Tensor or (kind is not float and kind is not int and "
    lines = [f"    kind = {other}.__class__", f"    if {test}isinstance({other}, Plain)):"]
    if reverse:
        lines.append(f"        {general}")
    else:
        lines += _indented(_operation(op, names, (False, False), reverse, general))
    if op.dtypes in ("float", "promote", "compare") and (takes is None or "y" in op.numbers):
        within = f" and {-(2**63)} <= {other} < {2**64}" if symbol or takes is not None else ""
        lines.append(f"    if kind is float or kind is int{within}:")
        numbers = (True, False) if reverse else (False, True)
        lines += _indented(_operation(op, names, numbers, reverse, general))
    return lines


def _of_many(
    op: Operator, names: tuple[str, ...], reverse: bool, takes: Parameters | None, general: str
) -> list[str]:
    """The lines for three Tensors and more; ``where`` takes a number for one of its values."""
    everyone = " and ".join(f"{n}.__class__ is Tensor" for n in names[1:])
    lines = [f"    if {everyone}:"]
    lines += _indented(_operation(op, names, (False,) * op.arity, reverse, general))
    if op.dtypes == "where" and takes is None:
        for i in (1, 2):
            kind = f"{names[i]}.__class__"
            lines.append(f"    if {names[3 - i]}.__class__ is Tensor and "
                         f"({kind} is float or {kind} is int):")  # fmt: skip
            places = tuple(j == i for j in range(3))
            lines += _indented(_operation(op, names, places, reverse, general))
    return lines


def _input_names(op: Operator) -> tuple[str, ...]:
    """The names that the function has for the operator's inputs."""
    return ("input", "other")[: op.arity] if op.arity < 3 else op.inputs


def _operation(
    op: Operator, names: Sequence[str], numbers: tuple[bool, ...], reverse: bool, general: str
) -> list[str]:
    """The lines for inputs of which ``numbers`` are plain numbers: check, compute, record.

    ``numbers`` has an entry per input of the operator; ``names`` are the function's arguments, in
    the other order where ``reverse``.
    """
    values = tuple(reversed(names)) if reverse else tuple(names)
    tensors = [i for i in range(op.arity) if not numbers[i]]
    judged = [i for i in tensors if i or op.dtypes != "where"]  # that of a condition is any
    lines = [f"dtype = {values[judged[0]]}._dtype"]
    lines += [f"x{i} = {values[i]}.array" for i in tensors]
    unfit = [f"{values[i]}._dtype is not dtype" for i in judged[1:]] + ["not dtype.quick"]
    if op.holds or len(tensors) == 1 or not _is_plain(op):
        size = " * ".join(f"x{i}.size" for i in tensors)
        unfit.append(f"(budget.on and {size} > LARGE)")
    if _may_be_view(op):
        unfit.append("not x0.ndim")  # a number has no memory that a view could share
    lines.append(f"if {' or '.join(unfit)}: {general}")
    raw = [
        f"x{i}" if i in tensors else
        f"dtype.numpy.type({values[i]})" if op.dtypes == "where" else values[i]
        for i in range(op.arity)
    ]  # fmt: skip
    call = f"array = compute({', '.join((*raw, *op.params))})"
    lines += ["try:", f"    {call}", f"except QUIET: {general}"]
    if op.kind != "elementwise" or op.arity > 1 or op.params:
        misfit = f"raise explained(op, {_tuple(raw)}, fault) from None"
        lines += ["except Fault: raise", f"except MISFITS as fault: {misfit}"]
    if op.rows:
        lines.append("if array.ndim > 1: array = in_rows(array)")
    elif op.entrywise and len(tensors) > 1:  # where the last alone has an order NumPy takes that
        turned = " or ".join(f"not x{i}.flags.c_contiguous" for i in tensors[:-1])
        operands = ", ".join(f"x{i}" for i in tensors)
        lines.append(
            f"if x{tensors[0]}.ndim > 1 and ({turned}): array = laid_as(array, {operands})"
        )
    return ["    " + line for line in (*lines, *_recording(op, values, numbers, tensors))]


def _recording(
    op: Operator, values: Sequence[str], numbers: tuple[bool, ...], tensors: list[int]
) -> list[str]:
    """The lines that wrap ``array`` and, where an input needs a gradient, make its node."""
    active = [i for i in tensors if op.rules[i] is not None]
    if not active:
        return ["return wrap(array, dtype_of(array))"]
    raw = _tuple(f"x{i}" if i in tensors else values[i] for i in range(op.arity))
    general = f"op, {_tuple(values)}, {_dict(op.params)}, array, {raw}"
    edges = _tuple(f"e{i}" if i in active else "None" for i in range(op.arity))
    kind = "".join("n" if number else "t" for number in numbers)
    return [
        # The dtype of what two operands of one dtype give needs no look.
        *([] if op.kind == "elementwise" or _is_plain(op) else
          [f"if array.dtype is not dtype.numpy: return finish({general})"]),
        "out = new(Tensor)",
        "out.array = array",
        "out._dtype = dtype",
        "out.meta = None",
        *(f"e{i} = {values[i]}.edge" for i in active),
        *(["state = current()", f"if not state.plain: return finish({general})",
           "if array is x0 or getattr(array, 'base', None) is not None: "
           f"note_view(out, {values[0]})",
           "if e0 is None or (mode.inferring and out.is_inference()):",
           "    out.edge = None",
           "    return marked(out) if mode.marking else out"] if _may_be_view(op) else
          [f"if {' and '.join(f'e{i} is None' for i in active)}:",
           "    out.edge = None",
           "    return marked(out) if mode.marking else out",
           "state = current()", f"if not state.plain: return in_a_mode(out, {general})"]),
        f"node = new(node_{kind} or class_of(op, {numbers!r}, globals(), 'node_{kind}'))",
        f"node.edges = {edges}",
        "node.seq = state.number()",
        "shape = array.shape",
        "node.shape = shape" if active[1:] else
        f"node.shape = e{active[0]}.shape if e{active[0]}.shape == shape else shape",  # one tuple
        "node.dtype = dtype",
        *(["node.extra = extra = new(Extra)", f"extra.params = {_dict(op.params)}"] if op.params
          else ["node.extra = None"]),
        *(["if not (x0.flags.c_contiguous and x1.flags.c_contiguous): note_columns(node, x0, x1)"]
          if op.node.get("columns") else []),
        *(["if writes: stamp_index(node)"] if op.by_index else []),
        *_saving(op, values, numbers, active),
        "out.edge = node",
        "return out",
    ]  # fmt: skip


def _may_be_view(op: Operator) -> bool:
    """Whether the result may share its input's memory, or be the input itself."""
    return op.kind == "linear" and op.arity == 1 and (op.moves == "view" or not op.entrywise)


def _saving(
    op: Operator, values: Sequence[str], numbers: tuple[bool, ...], active: list[int]
) -> list[str]:
    """The lines that keep what the rules of the ``active`` inputs read."""
    readers = {n: [i for i in active if n in op.saves[i]] for n in (*op.inputs, "out")}
    savers = [i for i in active if op.saves[i]]
    if not savers:
        return ["node.saved = EMPTY"]
    entries = [
        value if number else _kept(value, readers[n], savers)
        for n, value, number in zip(op.inputs, values, numbers, strict=True)
    ]
    lines = [f"node.saved = {_tuple((*entries, _kept('array', readers['out'], savers)))}"]
    read = [values[i] for i, n in enumerate(op.inputs) if readers[n] and not numbers[i]]
    if read:
        written = " or ".join(f"{value}.meta is not None" for value in read)
        lines.append(f"if {written}: stamp(node, {_tuple(values)})")
    if read or readers["out"]:
        lines += [
            "frame = getframe(1)",
            "code = frame.f_code",
            "if code.co_filename not in theirs:",
            "    frame = outside(frame)",
            "    code = frame.f_code",
            "node.code = code",
            "node.lasti = frame.f_lasti",
        ]
    if len(savers) < len(active):
        some = " or ".join(f"e{i} is not None" for i in savers)
        return [f"if {some}:", *_indented(lines), "else:", "    node.saved = EMPTY"]
    return lines


def _kept(value: str, readers: list[int], savers: list[int]) -> str:
    """The text of one saved value: it, None, or which of the two the edges decide."""
    if readers == savers:
        return value
    some = " or ".join(f"e{i} is not None" for i in readers)
    return f"{value} if {some} else None" if readers else "None"


def _tuple(items: Any) -> str:
    items = list(items)
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


def _dict(names: Any) -> str:
    return "{" + ", ".join(f"{name!r}: {name}" for name in names) + "}"


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


# -- what the written functions call when something does not fit -----------------------------------


def _class_of(op: Operator, numbers: tuple[bool, ...], scope: dict[Any, Any], name: str) -> type:
    """The node class, made when the operator is first recorded, and kept under its name."""
    found = scope[name] = node_class(op, numbers)
    return found


def _in_a_mode(out: Tensor, *operation: Any) -> Tensor:
    """The result of an operation on what requires a gradient, where the state is not plain."""
    if current().grad:
        return finish(*operation)
    out.edge = None
    return marked(out) if mode.marking else out


def _of_numbers(op: Operator, args: tuple[Any, ...]) -> Any:
    """The operator on values of which the first is no Tensor; numbers give a number."""
    for i, value in enumerate(args):
        if value is None or value.__class__ in _NO_OPERANDS:
            raise not_a("Tensor", op.name, op.torch[i], i + 1, value)
    out = op(*args)
    if all(a.__class__ in NUMBERS for a in args) and isinstance(out, np.generic | np.ndarray):
        return of_numbers(op, out, args, {})
    return out


def of_numbers(op: Operator, out: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """What an operator gave of numbers alone, as Python's number.

    Raises ValueFault (E0314) for whole numbers whose result 64 bits do not hold.
    """
    if out.dtype.kind in "iu":
        with np.errstate(all="ignore"):
            computed_whole(op, out, [np.asarray(a) for a in args], params)
    return out.item()


def _of_others(op: Operator, self: Any, args: tuple[Any, ...]) -> Any:
    """One of Python's operators, of what is no Tensor but stands for one."""
    if not getattr(self, "__gradcli_rank__", 0):
        raise not_a("Tensor", op.name, "self", 0, self)
    return _of_numbers(op, args)


def _elsewhere(op: Operator, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The operator itself, on what the fast path does not take."""
    return op(*(a for a in args if a is not ABSENT), **params)


def _rebound(
    op: Operator,
    args: tuple[Any, ...],
    params: dict[str, Any],
    more: tuple[Any, ...],
    named: dict[str, Any],
) -> Any:
    """The operator itself, called with arguments that its signature has no place for."""
    if _is_plain(op):  # two operands, of which the second has a name besides ``other``
        second = op.torch[1]
        if args[1] is ABSENT and not more and named.keys() == {second}:
            return op(args[0], named[second])
        for name in named:
            raise TypeError(f"{op.name}() got an unexpected keyword argument {name!r}")
        if more:
            raise TypeError(f"{op.name}() takes 2 positional arguments but more were given")
        raise TypeError(f"{op.name}() missing 1 required positional argument: {second!r}")
    if more:
        return op(*args, *params.values(), *more, **named)
    given = {p: value for p, value in params.items() if value is not op.params[p]}
    return _elsewhere(op, args, {**given, **named})


_NAMES: dict[str, Any] = {
    "ARRAYS": _ARRAYS, "EMPTY": EMPTY, "Extra": Extra, "Fault": Fault, "MISFITS": MISFITS,
    "LARGE": memory_budget.LARGE, "PARAMETERS": _PARAMETERS, "Tensor": Tensor, "ABSENT": ABSENT,
    "NUMBERS": (int, float, complex), "QUIET": QUIET,
    "apply": apply, "budget": memory_budget.budget, "class_of": _class_of, "current": current,
    "Plain": Plain, "dtype_of": dtypes.dtype_of, "elsewhere": _elsewhere, "explained": explained,
    "finish": finish, "getframe": _getframe, "in_a_mode": _in_a_mode, "in_rows": in_rows,
    "into": into, "laid_as": laid_as, "looked_at": looked_at, "marked": marked, "mode": mode,
    "new": object.__new__, "not_a": not_a,
    "note_columns": note_columns, "note_view": note_view,
    "of_numbers": _of_numbers, "of_others": _of_others, "outside": outside, "rebound": _rebound,
    "stamp": stamp, "stamp_index": stamp_index, "theirs": theirs,
    "too_big": too_big, "wrap": wrap, "writes": writes,
    "__name__": __name__,
    # node classes, by what the inputs are: tensors or numbers
    "node_t": None, "node_tt": None, "node_tn": None, "node_nt": None, "node_ttt": None,
    "node_ttn": None, "node_tnt": None,
}  # fmt: skip
"""What the written functions name besides their operator."""
