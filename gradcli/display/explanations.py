"""The chain rule step by step: what was computed, and how each gradient came about.

    forward   y1 = x + 1 = 4
              y2 = 2*x = 6
              y3 = y1 - y2 = -2
              y = y3**2 = 4
    backward  dy/dy3 = 2*y3 = -4
              dy/dy1 = dy/dy3 = -4
              dy/dy2 = -dy/dy3 = 4
              dy/dx = dy/dy1 + dy/dy2*2 = 4      (x is used 2 times: the parts add)

Every factor is the operator's declared rule, with the operands' names put in.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection
from typing import Any

import numpy as np

from gradcli.display.graphs import Graph, GraphNode, Ref, argument
from gradcli.display.values import show_value
from gradcli.engine import wrap
from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.dtypes import dtype_of
from gradcli.language.diagnostics.parsing import parse
from gradcli.language.runtime.run import Program, prepare
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.printer import unparse
from gradcli.ops.errors import Fault, LimitFault
from gradcli.ops.operator import OPERATORS, is_number
from gradcli.symbolic import partial_text

_SLOPE = re.compile(r"\b(d\w+)/(d\w+)")
STEPS = 200
"""The longest computation that is explained: nobody reads more."""


def _too_many(steps: str) -> LimitFault:
    said = f"{steps} steps are too many to explain; the limit is {STEPS}"
    mend = "explain a shorter expression, or see the whole with gradcli graph"
    return LimitFault("E0611", said, help=mend)


def need_short(program: Program, leaves: Collection[str]) -> None:
    """Raises LimitFault (E0611) for a sum of ``leaves`` that is surely too long to explain."""
    for total in n.walk(program.names.module) if program.names.sums else ():
        if isinstance(total, n.Sum) and len(total.order) > STEPS and any(
            isinstance(node, n.Name) and node.id in leaves for node in n.walk(total)
        ):  # fmt: skip
            raise _too_many(f"more than {len(total.order) - 1:,}")


def explain(graph: Graph) -> str:
    """The explanation of a graph whose nodes carry values and gradients (``graph_of``).

    Raises LimitFault (E0611) beyond ``STEPS`` nodes.
    """
    if len(graph) > STEPS:
        raise _too_many(f"{len(graph):,}")
    names = _names(graph)
    forward = [
        f"{names[node.id]} = {_operation(node, names)} = {_value(node.value)}"
        for node in graph
        if node.op not in ("leaf", "constant")
    ]
    root = names[graph[-1].id]
    known = {names[node.id]: node.value for node in graph if node.value is not None}
    uses: dict[int, list[tuple[GraphNode, int]]] = {}
    for node in graph:
        for place, given in enumerate(node.inputs):
            if isinstance(given, Ref):
                uses.setdefault(given.id, []).append((node, place))
    backward = []
    for node in reversed(graph[:-1]):
        if node.id not in uses or node.grad is None:
            continue
        terms = [_term(node, user, place, names, root) for user, place in uses[node.id]]
        name = names[node.id]
        line = f"d{root}/d{name} = {_sum(terms)}"
        if _sum(terms) != _value(node.grad):
            line += f" = {_value(node.grad)}"
        notes = dict.fromkeys(filter(None, (_edge(user, names) for user, _ in uses[node.id])))
        if notes and not _gives(_sum(terms), node.grad, known):
            line += "".join(f"      ({note})" for note in notes)
        known[_SLOPE.sub(r"\1_\2", f"d{root}/d{name}")] = node.grad
        if len(terms) > 1:
            line += f"      ({name} is used {len(terms)} times: the parts add)"
        backward.append(line)
    if not forward and graph[-1].op == "constant":
        return "nothing is recorded: the result depends on no variable that has a derivative"
    if not forward:
        return f"nothing is computed: the result is {root}, and its gradient by itself is 1"
    lines = _titled("forward", forward) + _titled("backward", backward)
    return "\n".join(lines)


def _gives(formula: str, value: Any, known: dict[str, Any]) -> bool:
    """Whether a formula of ``known`` values, as it is shown, gives this one, or cannot be read."""
    given = {k: wrap(np.asarray(v), dtype_of(np.asarray(v))) for k, v in known.items()}
    try:
        with np.errstate(all="ignore"):
            found = as_tensor(prepare(_SLOPE.sub(r"\1_\2", formula)).run(given).value).array
            return bool(np.allclose(found, value, rtol=1e-3, atol=1e-300, equal_nan=True))
    except Fault:
        return True


def _edge(user: GraphNode, names: dict[int, str]) -> str:
    """What is said of the points where the formula of an operation's rule does not hold."""
    op = OPERATORS.get(user.op)
    if op is None or not op.kink:
        return op.edges if op else ""
    return op.kink.format(*(_operand(given, names) for given in user.inputs), op=op.name)


def _titled(title: str, lines: list[str]) -> list[str]:
    return [f"{title if i == 0 else '':<8}  {line}" for i, line in enumerate(lines)]


def _names(graph: Graph) -> dict[int, str]:
    """The program's names where it has them, else y1, y2, ...; the result is y."""
    taken = {node.name for node in graph if node.name}
    names: dict[int, str] = {}
    free = (name for name in map("y{}".format, itertools.count(1)) if name not in taken)
    for node in graph:
        if node.name:
            names[node.id] = node.name
        elif node is graph[-1] and "y" not in taken:
            names[node.id] = "y"
        else:
            names[node.id] = next(free)
    return names


def _operand(given: Any, names: dict[int, str]) -> str:
    if isinstance(given, Ref):
        return names[given.id]
    if isinstance(given, str):
        return given
    return _value(given) if given is not None else "c"


def _value(value: Any) -> str:
    return "?" if value is None else " ".join(show_value(value).split())


def _operation(node: GraphNode, names: dict[int, str]) -> str:
    parts = [_operand(given, names) for given in node.inputs]
    sign = OPERATORS[node.op].infix if node.op in OPERATORS else ""
    if sign and len(parts) == 2:
        gap = "" if sign in ("*", "/", "//", "**") else " "
        return f"{parts[0]}{gap}{sign}{gap}{parts[1]}"
    if node.op == "neg":
        return f"-{parts[0]}"
    if node.op == "getitem":
        index = node.params.get("index", ())
        places = index if isinstance(index, tuple) else (index,)
        return f"{parts[0]}[{', '.join(map(_argument, places)) or '()'}]"
    parts += [f"{name}={_argument(value)}" for name, value in node.params.items()]
    return f"{node.op}({', '.join(parts)})"


def _argument(value: Any) -> str:
    """A parameter as a program writes it, an array by its entries."""
    return _value(value) if isinstance(value, np.ndarray) or is_number(value) else argument(value)


def _term(node: GraphNode, user: GraphNode, place: int, names: dict[int, str], root: str) -> str:
    """What one use contributes: the user's gradient times the rule by this operand.

    An operand that was repeated gets the sum of what its copies would.
    """
    above = f"d{root}/d{names[user.id]}" if names[user.id] != root else ""
    op = OPERATORS.get(user.op)  # None for one of several results, and for a custom function
    if user.op == "add" or (user.op == "sub" and place == 0):
        text = above or "1"
    elif user.op in ("neg", "sub"):
        text = f"-{above}" if above else "-1"
    elif user.op == "mul":
        text = _times(above, _operand(user.inputs[1 - place], names))
    elif op and op.kind == "elementwise" and (partial := _partial(user, place, names)) is not None:
        text = _times(above, partial)
    else:
        return f"{user.op} pulls back {above or '1'}"
    if user.shape == node.shape:
        return text
    return f"sum_to({text}, {node.shape})" if node.shape else f"sum({text})"


def _times(above: str, factor: str) -> str:
    if not above:
        return factor
    loose = any(sign in factor for sign in " /") or factor.startswith("-")
    return f"{above}*({factor})" if loose else f"{above}*{factor}"


def _partial(user: GraphNode, place: int, names: dict[int, str]) -> str | None:
    """A rule's text with numbers put in, and then the operands' own names; None without a text."""
    op = OPERATORS[user.op]
    values = {**dict(zip(op.inputs, user.inputs, strict=True)), **op.params, **user.params}
    fixed = {
        name: value for name, value in values.items()
        if is_number(value) or (value is None and name in op.params)
    }  # fmt: skip
    text = partial_text(op, place, fixed)
    if text is None:
        return None
    given = {name: _operand(value, names) for name, value in values.items() if name in op.inputs}
    given["out"] = names[user.id]
    pieces = []
    end = 0
    written = (x for x in n.walk(parse(text)) if isinstance(x, n.Name))
    for node in sorted(written, key=lambda x: x.start):
        if node.id in given:
            word = given[node.id]
            pieces += [text[end : node.start], f"({word})" if word.startswith("-") else word]
            end = node.end
    return unparse(parse("".join(pieces) + text[end:]))


def _sum(terms: list[str]) -> str:
    text = terms[0]
    for term in terms[1:]:
        text += f" - {term[1:]}" if term.startswith("-") else f" + {term}"
    return text
