"""Help for calls that do not match the called function: wrong keywords, wrong counts."""

from __future__ import annotations

import re
from inspect import signature
from typing import Any

from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.diagnostics.render import closest
from gradcli.language.names.attributes import CALL
from gradcli.language.names.table import CALLED, NAMES, namespace
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import Fault
from gradcli.ops.operator import OPERATORS

_NAMELESS = ("self", "args", "options", "given")
_UNEXPECTED = re.compile(r"(?:unexpected keyword argument|has no parameter) '(\w+)'")
_WRONG_COUNT = re.compile(r"missing \d+ required|takes .*positional arguments?")
_JOINED = re.compile(r"`\+` cannot join (an? \w+) and (an? \w+)")


def call_help(fault: Fault, node: n.Node, program: Any) -> str | None:
    """What to write instead of what stands at ``node``, where the fault and the text tell."""
    if isinstance(node, n.Binary):
        return _join_help(fault.message)
    if not isinstance(node, n.Call):
        return None
    if fault.message.endswith("cannot be called"):
        return _hidden(node, program) or _product_help(node, program.source.text)
    keyword = _UNEXPECTED.search(fault.message)
    if keyword is None and not _WRONG_COUNT.search(fault.message):
        return None
    func = node.func
    name = func.id if isinstance(func, n.Name) else getattr(func, "name", "")
    if name == "transpose" and not keyword and len(node.args) == isinstance(func, n.Name):
        return "the transpose is x.T; x.transpose(0, 1) exchanges two dimensions"
    known, said = _parameters(node.func, program)
    if not known:
        return None
    near = closest(keyword[1], known) or _other_word(keyword[1], known) if keyword else None
    if near is None and fault.help is not None:
        return None
    return f"did you mean `{near}`?" if near else said


def _other_word(word: str, known: list[str]) -> str | None:
    """PyTorch's word for what is called otherwise elsewhere."""
    words = {"learning_rate": "lr", "axis": "dim", "keepdims": "keepdim", "rate": "lr",
             "epochs": "max_iter", "decay": "weight_decay", "size": "shape"}  # fmt: skip
    return words[word] if words.get(word) in known else None


def _parameters(func: n.Node, program: Any) -> tuple[list[str], str]:
    """The parameters of what is called, and a sentence that names them."""
    if isinstance(func, n.Name):
        for statement in n.walk(program.checked.module):
            if (own := _defined(statement, func.id)) is not None:
                known = [param.name for param in own.params]
                place = program.source.place(statement.start)[0]
                return known, f"{func.id}({', '.join(known)}) is defined at line {place}"
        outer = program.checked.imported.get(func.id)
        known = _of_table(outer or {**NAMES, **CALLED}.get(func.id))
        rule = OPERATORS.get(func.id)
        known = [*dict.fromkeys([*known, *getattr(rule, "params", ())])] or _of_table(rule)
    elif isinstance(func, n.Attribute):
        known = _of_table(CALL[Tensor].get(func.name)) or _of_table(OPERATORS.get(func.name))
        known = known or _of_table(_from_module(func, program))
    else:
        known = []
    known = [name for name in known if name != "self"]
    return known, f"its parameters: {', '.join(known)}"


def _defined(statement: n.Node, name: str) -> n.Def | n.Lambda | None:
    """The function that a statement gives a name."""
    if isinstance(statement, n.Def) and statement.name == name:
        return statement
    if isinstance(statement, n.Assign) and isinstance(statement.value, n.Lambda):
        names = [t.id for t in statement.targets if isinstance(t, n.Name)]
        return statement.value if name in names else None
    return None


def _from_module(func: n.Attribute, program: Any) -> Any:
    """What ``torch.optim.SGD`` stands for, where a module was imported under that name."""
    root, _, rest = n.dotted_text(func).partition(".")
    table = namespace(program.checked.modules.get(root, ""))
    try:
        return None if table is None else table[rest]
    except KeyError:
        return None


def _of_table(function: Any) -> list[str]:
    """The parameters of a function of the tables."""
    kind = getattr(function, "__gradcli_kind__", None)
    if kind is not None:  # a layer, an optimizer: those of the class
        for base in kind().__mro__:
            if "__init__" in vars(base):
                known = [k for k in signature(base.__init__).parameters if k not in _NAMELESS]
                if known:
                    return known
    code = getattr(function, "__code__", None)
    if code is not None:
        return [*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
    return [*getattr(function, "inputs", ()), *getattr(function, "params", ())]


def _hidden(node: n.Call, program: Any) -> str | None:
    """A function of the tables whose name the program took for a value."""
    if not isinstance(node.func, n.Name) or node.func.id not in {**NAMES, **CALLED}:
        return None
    place = program.checked.bound.get(node.func.id)
    if place is None:
        return None
    line = program.source.place(place.start)[0]
    return f"line {line} made `{node.func.id}` a value: choose another name there"


def _product_help(node: n.Call, text: str) -> str | None:
    """``2(x + 1)`` is read as a call; what is meant is a product."""
    if len(node.args) != 1 or isinstance(node.func, n.Attribute):
        return None
    left, inner = (text[one.start : one.end] for one in (node.func, node.args[0]))
    return f"to multiply, write {left}*({inner})" if len(left + inner) < 60 else "multiply with *"


def _join_help(message: str) -> str | None:
    """``[1, 2] + 3`` and ``'a' + 1``."""
    found = _JOINED.search(message)
    if found is None:
        return None
    if "a string" in found.groups():
        return 'write str(x) for the text of a value, or f"{x}"'
    return "tensor([...]) + x adds to each item; [...] + [x] makes the list longer"
