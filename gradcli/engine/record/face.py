"""The functions of PyTorch as Python calls them, with the checks that ``arguments`` declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache, wraps
from types import FunctionType
from typing import Any

from gradcli.engine.record import fast_path
from gradcli.engine.record.arguments import (
    ABSENT,
    UNSAID,
    Parameters,
    Source,
    looked_at,
    of_any_number,
    parameters_of,
)
from gradcli.engine.record.out import has_out, into
from gradcli.engine.tensor.tensor import Plain, Tensor
from gradcli.ops.errors import bad_type
from gradcli.ops.operator import Operator
from gradcli.ops.torch_messages import not_a


def _stand_in(*args: Any, **options: Any) -> Any:
    return call(*args, **options)  # type: ignore[name-defined]  # noqa: F821


_STAND_IN = _stand_in.__code__
_OWN_FILE = __file__.removesuffix(".py")
_RANK = "__gradcli_rank__"


def _all_tensors(values: Any) -> bool:
    if values.__class__ is not list and values.__class__ is not tuple:
        return False
    return not [v for v in values if v.__class__ is not Tensor and not hasattr(v, _RANK)]


_SCOPE = {
    "ABSENT": ABSENT,
    "ANY": (),
    "UNSAID": UNSAID,
    "Plain": Plain,
    "Tensor": Tensor,
    "all_tensors": _all_tensors,
}


@cache
def face(
    function: Callable[..., Any], name: str = "", *, method: bool = False, strict: bool = False
) -> Callable[..., Any]:
    """``function`` as Python calls it: what is not declared is refused, NumPy's names are known.

    Unless it is a ``method`` it takes ``out=``; a ``strict`` one has the names of its parameters
    and no others, as what is written in Python in PyTorch. Its code is written out by the second
    call, with one look at the class of each argument; the first goes the long way.
    """
    op = function if isinstance(function, Operator) else getattr(function, "operator", None)
    if op is not None and not op.variadic:
        return _of_operator(op, method)
    named: Any = function
    declared = getattr(function, "declared", function)
    inner = inspect.unwrap(declared)
    code = None if hasattr(inner, "operator") else getattr(inner, "__code__", None)
    if (method or strict) and code is not None and code.co_flags & inspect.CO_VARARGS:
        return looking(function) if method else function
    own = getattr(named, "__name__", "") or named.name
    if name == own:
        return face(function, method=method, strict=strict)  # one for both names
    name = name or own
    scope: dict[str, Any] = {"__name__": __name__}
    made: Any = FunctionType(_STAND_IN, scope, name)
    if op is not None:
        made.operator = op
    made.__qualname__ = name
    made.__doc__ = named.__doc__ or getattr(named, "doc", None)
    made.__module__ = getattr(named, "__module__", None) or __name__
    made.__wrapped__ = getattr(named, "__wrapped__", named)
    made.unchecked = function
    into_out = not method and has_out(function)
    made.__kwdefaults__ = no_out = {"out": None} if into_out else {}

    def first(*args: Any, **options: Any) -> Any:
        takes = parameters_of(declared, name, method, strict)
        scope["call"] = looking(function, name, into_out) if takes is None else later
        if takes is None or (strict and options):
            return scope["call"](*args, **options)
        out = options.pop("out", None) if into_out else None
        return looked_at(function, takes, takes.bind(args, options), out)

    def later(*args: Any, **options: Any) -> Any:
        takes: Any = parameters_of(declared, name, method, strict)
        scope.update(_SCOPE, _function=function, _takes=takes, _looked_at=looked_at)
        short = getattr(function, "short", None)
        text = _text(name, takes, scope, short is not None, into_out, not strict)
        scope["_short"] = short
        scope["__loader__"] = Source(text)  # tracebacks show the lines
        exec(compile(text, f"{_OWN_FILE}[{name}].py", "exec"), scope)
        written = scope[name]
        missing = (ABSENT,) * len([n for n in takes.order if n not in takes.defaults])
        made.__defaults__ = (*missing, *(takes.defaults[n] for n in takes.order[len(missing) :]))
        named_only = {n: takes.defaults.get(n, ABSENT) for n in takes.named}
        made.__kwdefaults__ = {**no_out, **named_only}
        made.__code__ = written.__code__
        return made(*args, **options)

    scope["call"] = first
    return _by_name(made, declared.by_name) if hasattr(declared, "by_name") else made


def _by_name(function: Callable[..., Any], option: str) -> Callable[..., Any]:
    """A function that takes all but its first argument by name where ``option`` is given."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if option in options and len(args) > 1:
            said = f"{function.__name__}() takes {option} with its other arguments by name"
            raise bad_type(said, help="write x.sort(dim=0, stable=True)")
        return function(*args, **options)

    return call


def published(names: Mapping[str, Any], module: str) -> None:
    """Have faces say where they are found by name: pickle looks for them there."""
    for name, made in names.items():
        known = isinstance(made, FunctionType) and made.__name__ == name
        if known and (hasattr(made, "__wrapped__") or hasattr(made, "checked")):
            made.__module__ = module


def direct(*functions: Any) -> None:
    """Declare that with all options left out these are the operators of their names."""
    for function in functions:
        function.short = fast_path.FUNCTIONS[function.__name__]


def unchecked(function: Any) -> Any:
    """The function behind a face, which takes numbers for tensors."""
    if getattr(function, "checked", False):
        return fast_path.function(function.operator)
    return getattr(function, "unchecked", function)


@cache
def _of_operator(op: Operator, method: bool) -> Callable[..., Any]:
    if not method:
        return fast_path.function(op, checked=True)
    alone = op.arity == 1 and not op.params
    return fast_path.FUNCTIONS[op.name] if alone else fast_path.method(op, checked=True)


def _text(
    name: str, takes: Parameters, scope: dict[str, Any], short: bool, out: bool, more: bool
) -> str:
    """The code of a face; ``short`` where ``_short`` does the same with all options left out."""
    names = (*takes.order, *takes.named)
    options = (*takes.named, *["out"] * out)
    older = bool(takes.factors)
    star = ["*rest" if older else "*"] * bool(options)
    signature = (*takes.order, *star, *options, *["**more"] * more)
    tests = [t for t in (takes.test(n, scope) for n in names) if t]
    tests += [*["rest"] * older, *["more"] * more, *["out is not None"] * out]
    tests += ["dim is UNSAID is not keepdim"] * takes.kept
    values = ", ".join(f"{n!r}: {n}" for n in names)
    call = ", ".join((*takes.order, *(f"{n}={n}" for n in takes.named)))
    shortly = ""
    if takes.kept:
        shortly = "    if dim is UNSAID: dim, keepdim = None, False\n"
        shortly += "    elif keepdim is UNSAID: keepdim = False\n"
    if short:
        scope.update({f"_{n}": takes.defaults[n] for n in takes.named})
        left_out = " and ".join(f"{n} is _{n}" for n in takes.named) or "True"
        shortly += f"    if {left_out}: return _short({', '.join(takes.order)})\n"
    given = f"{{{values}}}{', out' * out}{', named=more' * more}{', more=rest' * older}"
    return (
        f"def {name}({', '.join(signature)}):\n"
        f"    if {' or '.join(tests) or False}:\n"
        f"        return _looked_at(_function, _takes, {given})\n"
        f"{shortly}    return _function({call})\n"
    )


def looking(function: Callable[..., Any], name: str = "", out: bool = False) -> Any:
    """A function of any number of arguments: those with a name are looked at and given as they are.

    Of ``*several: Tensor`` each is a tensor.
    """
    inner: Any = inspect.unwrap(function)
    code = getattr(inner, "__code__", None)
    if code is None:
        return function
    takes = of_any_number(function, name or function.__name__)
    rest = (*code.co_varnames, "")[code.co_argcount + code.co_kwonlyargcount]
    tensors_alone = inner.__annotations__.get(rest) == "Tensor"
    given_order = any(takes.kinds.get(n) for n in takes.order)
    ordinary: set[tuple[str, type]] = set()

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        target = options.pop("out", None) if out and options else None
        if tensors_alone:
            for place, value in enumerate(args):
                if not hasattr(value, _RANK):
                    raise not_a("Tensor", function.__name__, rest, place + 1, value)
        named = dict(zip(takes.order, args, strict=False)) if given_order else {}
        named.update(options)
        for name, value in named.items():
            if (name, value.__class__) not in ordinary:
                takes.check(named)
                ordinary.update(takes.ordinary(named))
                break
        if target is None:
            return function(*args, **options)
        return into(target, function, args, options)

    return call
