"""What only computes besides signs and functions by name: entries, methods, functions of modules,
functions of the text.

``walk`` asks for it in a text with a long sum, whose terms it computes once each. Elsewhere such
parts mostly stand in programs whose next line is left to generated code: what was computed before
that line would be computed twice.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.compile.resolve import Checked
from gradcli.language.names import table as names
from gradcli.language.names.argument_checks import with_checks
from gradcli.language.syntax import nodes as n

_MODULES = ("torch", "gradcli", "torch.nn.functional", "math")
_WRITING = frozenset(("out", "inplace"))
_METHODS = frozenset(("detach", "view", "item", "float", "double"))
ACTIVATIONS = frozenset((
    "celu", "glu", "hardshrink", "hardsigmoid", "relu6", "selu", "softmin", "softshrink",
    "tanhshrink", "threshold",
))  # fmt: skip
"""Functions of ``torch.nn.functional`` that only compute, where they are not to write."""
_WHOLE = (n.Number, n.Column, n.Name)
OPERANDS = frozenset((Tensor, float, int))
"""What operators take here."""


@functools.cache
def _parameters(function: Any) -> tuple[str, ...]:
    import inspect  # texts of kilobytes only

    return (*inspect.signature(function).parameters,)


class GivenUp(Exception):
    """The text has something that is left to generated code."""


class _Function:
    """A function of the text whose lines only compute, one after the other. Raises GivenUp.

    reads  the names that its lines read and do not assign
    """

    __slots__ = ("lines", "params", "reads")

    def __init__(self, node: n.Def | n.Lambda) -> None:
        simple = all(not p.kind and p.default is None for p in node.params)
        self.params = [p.name for p in node.params]
        if isinstance(node, n.Lambda):
            self.lines: list[n.Node] = [n.Return(node.body)]
        else:
            simple = simple and not node.decorators
            self.lines = [
                one for one in node.body
                if not (isinstance(one, n.ExprStmt) and isinstance(one.value, n.String))
            ]  # fmt: skip
        own = {*self.params, *(assigned(one) for one in self.lines if isinstance(one, n.Assign))}
        if not simple or not names.NAMES.isdisjoint(own):
            raise GivenUp
        parts = (part for line in self.lines for part in n.walk(line))
        self.reads = {part.id for part in parts if isinstance(part, n.Name)} - own


def assigned(node: n.Assign) -> str:
    """The one name that an assignment binds. Raises GivenUp."""
    target, *more = node.targets
    if more or not isinstance(target, n.Name):
        raise GivenUp
    return target.id


class Parts:
    """Computes parts of one text.

    value     computes a node, so many levels deep
    computes  whether functions and methods of a name do nothing but compute
    calls     how many calls of the text's functions may still be made: none where the limit could
              end a run of all that stands there
    """

    def __init__(
        self, checked: Checked, value: Callable[[Any, int], Any], computes: Callable[[str], bool],
        calls: int,
    ) -> None:  # fmt: skip
        self.checked, self.value, self.computes = checked, value, computes
        size = len(checked.source.text)
        self.calls = size if calls >= size else 0
        self.functions: dict[str, _Function] = {}

    def part(self, node: n.Node, depth: int) -> Any:
        """The value of a node. Raises GivenUp."""
        links: list[n.Node] = []  # x[0].T.sum() may be 100,000 long
        while (inner := self.inner(node)) is not None:
            links.append(node)
            node = inner
        found: Any = self.value(node, depth) if links else None
        if not links and isinstance(node, n.Attribute):
            found = self.of_module(node)
            if found.__class__ is not float:
                raise GivenUp
        elif not links:
            found = self.call(node, depth)
        while links:
            if found.__class__ is not Tensor:
                raise GivenUp
            node = links.pop()
            if isinstance(node, n.Subscript):
                found = found[self.index(node.index)]
            elif isinstance(node, n.Call):
                found = self.call(node, depth, found)
            else:
                found = getattr(found, node.name)  # type: ignore[attr-defined]
        return found

    def inner(self, node: n.Node) -> n.Node | None:
        """The node of whose value this one is an entry, the transpose or the result of a method."""
        if isinstance(node, n.Subscript):
            return node.value
        of = node.func if isinstance(node, n.Call) else node
        if not isinstance(of, n.Attribute) or self.checked.in_module(of) is not None:
            return None
        return of.value if of is not node or of.name in ("T", "mT") else None

    def index(self, node: n.Node | None) -> Any:
        """An index of whole numbers, slices, None, ``...`` and tuples of them."""
        if isinstance(node, n.Tuple) and not any(isinstance(one, n.Tuple) for one in node.items):
            return tuple([self.index(one) for one in node.items])
        if isinstance(node, n.Slice):
            return slice(*map(self.index, (node.lower, node.upper, node.step)))
        if node is None or (isinstance(node, n.Literal) and node.value.__class__ is not bool):
            return None if node is None else node.value
        negative = isinstance(node, n.Unary) and node.op == "-"
        plain = node.operand if negative else node  # type: ignore[attr-defined]
        number = self.value(plain, 0) if isinstance(plain, _WHOLE) else None
        if number.__class__ is not int:
            raise GivenUp
        return -number if negative else number

    def call(self, node: n.Node, depth: int, *given: Any) -> Any:
        """``torch.sum(x, dim=0)``, or of a Tensor that is given ``x.sum(0)``."""
        func = getattr(node, "func", None)
        if not isinstance(node, n.Call) or not isinstance(func, n.Attribute):
            raise GivenUp
        named = {one.name or "out": one.value for one in node.keywords}
        computes = self.computes(func.name) or func.name in _METHODS
        if not computes or not _WRITING.isdisjoint(named):
            raise GivenUp
        count = None if named else len(node.args)
        if given:
            from gradcli.language.runtime.scope import caller  # texts of kilobytes only

            function = caller(func.name, count)
        else:
            function = self.of_module(func)
            if "inplace" in _parameters(function)[: len(node.args)]:
                raise GivenUp
            function = with_checks(function, count)
        args = [self.argument(one, depth) for one in node.args]
        return function(
            *given, *args, **{name: self.argument(one, depth) for name, one in named.items()}
        )

    def argument(self, node: n.Node, depth: int) -> Any:
        """What is given to a function or method."""
        if isinstance(node, n.Literal):
            return node.value
        if isinstance(node, n.Tuple):
            return self.index(node)
        found = self.value(node, depth)
        if found.__class__ not in OPERANDS:
            raise GivenUp
        return found

    def of_module(self, node: n.Attribute) -> Any:
        """What ``torch.sin`` stands for; None where no module stands first. Raises GivenUp."""
        held = self.checked.in_module(node)
        if held is None:
            return None
        module, dotted = self.checked.modules[held[0].id], held[1]
        found = (names.namespace(module) or {}).get(dotted)
        own = f"{module}.{dotted}".rpartition(".")[0] in _MODULES
        if found.__class__ is not float and not (own and self.computes(node.name)):
            raise GivenUp
        return found

    def imported(self, name: str) -> Any:
        """What ``from torch import ...`` brought in under its own name; else None."""
        found = self.checked.imported[name]
        return found if found is (names.namespace("torch") or {}).get(name) else None

    def define(self, name: str, node: n.Def | n.Lambda) -> None:
        """Take a function of the text."""
        self.functions[name] = _Function(node)

    def frame(self, name: str, args: list[Any], outside: dict[str, Any]) -> dict[str, Any]:
        """The variables with which a call of a function of the text begins."""
        function = self.functions[name]
        self.calls -= 1
        if self.calls < 0 or len(args) != len(function.params):
            raise GivenUp
        frame = {key: outside[key] for key in function.reads if key in outside}
        return frame | dict(zip(function.params, args, strict=True))
