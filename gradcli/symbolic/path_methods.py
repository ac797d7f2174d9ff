"""What a Pair can do: a tensor's operators and methods in the language, or a refusal by name."""

from __future__ import annotations

from typing import Any

from gradcli.engine.creation import as_tensor
from gradcli.engine.tensor import Tensor
from gradcli.language import names
from gradcli.ops.core import OPERATORS, Operator
from gradcli.symbolic.path import Pair
from gradcli.symbolic.unsupported import no_closed_form

_WORDS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "matmul": "matmul",
    "mod": "remainder", "floordiv": "floor_divide", "and": "logical_and", "or": "logical_or",
}  # fmt: skip
for _word, _name in _WORDS.items():
    _op = OPERATORS[_name]
    setattr(Pair, f"__{_word}__", lambda self, other, op=_op: op(self, other))
    setattr(Pair, f"__r{_word}__", lambda self, other, op=_op: op(other, self))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Pair, f"__{_name}__", lambda self, other, op=OPERATORS[_name]: op(self, other))
Pair.__hash__ = object.__hash__  # type: ignore[method-assign]


def _in_place(op: Operator) -> Any:
    """The operator with its result written into its first argument, whose shape it keeps."""

    def method(self: Pair, *args: Any, **params: Any) -> Pair:
        if self.tape.steps[self.index].op == "name" and not self.version:
            raise no_closed_form("a write in place to a variable")
        made = op(self, *args, **params)
        if tuple(made.shape) != tuple(self.shape):
            raise no_closed_form("a write in place that changes the shape")
        return self.become(made)

    return method


for _word in ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv"):
    setattr(Pair, f"__i{_word}__", _in_place(OPERATORS[_WORDS[_word]]))


def _same(self: Pair, *_args: Any, **_options: Any) -> Pair:
    """For methods that change nothing about a formula."""
    return self


def _sized(op: str) -> Any:
    def method(self: Pair, *sizes: Any) -> Any:
        if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
            sizes = tuple(sizes[0])
        return OPERATORS[op](self, tuple(sizes))

    return method


def _extreme(name: str) -> Any:
    def method(self: Pair, *args: Any, **options: Any) -> Any:
        if not args and not options:
            return OPERATORS[f"a{name}"](self)
        if args and getattr(args[0], "__gradcli_rank__", 0):
            return OPERATORS[f"{name}imum"](self, args[0])
        raise no_closed_form(f"`.{name}` along a dimension")

    return method


def _methods() -> dict[str, Any]:
    """Every method that a tensor has in the language: done on pairs, or refused by name."""
    table: dict[str, Any] = {}
    for op in OPERATORS.values():
        for name in (op.name, *op.aliases):
            table[name] = lambda self, *args, op=op, **params: op(self, *args, **params)
    for op in OPERATORS.values():
        if op.kind in ("elementwise", "constant", "linear", "bilinear"):
            table.setdefault(f"{op.name}_", _in_place(op))
    for name in ("requires_grad_", "retain_grad", "contiguous", "to", "double", "cpu", "type_as"):
        table[name] = _same
    for name, op in (
        ("reshape", "reshape"), ("view", "reshape"), ("expand", "expand"), ("permute", "permute"),
    ):  # fmt: skip
        table[name] = _sized(op)
    table |= {
        "item": Pair.item, "detach": Pair.detach, "backward": Pair.backward,
        "size": lambda self, *a: as_tensor(self.value).size(*a), "dim": lambda self: self.ndim,
        "numel": lambda self: as_tensor(self.value).numel(),
        "t": lambda self: OPERATORS["mT"](self) if self.ndim == 2 else self,
        "max": _extreme("max"), "min": _extreme("min"),
    }  # fmt: skip

    def refused(name: str) -> Any:
        def method(self: Pair, *_args: Any, **_options: Any) -> Any:
            raise no_closed_form(f"`.{name}` in a program")

        return method

    return {name: table.get(name) or refused(name) for name in {*names.CALL[Tensor], *table}}


names.CALL[Pair] = _methods()
names.READ[Pair] = ("shape", "ndim", "dtype", "T", "mT", "data", "requires_grad", "is_leaf", "grad")
