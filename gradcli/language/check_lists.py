"""Which lists with ``for`` are computed in place, as loops, and not by a function of their own.

CPython 3.11 gives a comprehension a frame of its own, so calls through comprehensions would nest
half as deep as others. One that may call back into the program becomes a loop, where that means the
same: where no lambda in it keeps its variables, and no variable is read before it is set.
"""

from __future__ import annotations

from gradcli.language import nodes as n
from gradcli.language.names import CALLED, NAMES

MOST_READ = 200_000
"""Nodes looked at for the order of names in one program; lists after that have their functions."""


def in_place(module: n.Module) -> frozenset[int]:
    """The ids of the comprehensions of a program that are computed in place."""
    found: set[int] = set()
    lambdas: set[int] = set()  # nodes that hold one
    calls: set[int] = set()
    names = _named(module)
    read = 0
    for node in reversed(list(n.walk(module))):
        children = n.children(node)
        if isinstance(node, n.Lambda) or any(id(child) in lambdas for child in children):
            lambdas.add(id(node))
        own = isinstance(node, n.Call) and _may_call_back(node.func, names)
        if own or any(id(child) in calls for child in children):
            calls.add(id(node))
        if not isinstance(node, n.ListComp) or id(node) in lambdas or read > MOST_READ:
            continue
        inner = [node.element]
        for i, clause in enumerate(node.clauses):
            inner += [*clause.conditions, *([clause.iter] if i else [])]
        if any(id(part) in calls for part in inner):
            ordered, seen = _in_order(node)
            read += seen
            if ordered:
                found.add(id(node))
    return frozenset(found)


def _named(module: n.Module) -> set[str]:
    """Every name that the program itself gives to something."""
    found: set[str] = set()
    for node in n.walk(module):
        if isinstance(node, n.Def | n.FunctionClass | n.Param):
            found.add(node.name)
        elif isinstance(node, n.Assign):
            found |= {target.id for target in node.targets if isinstance(target, n.Name)}
        elif isinstance(node, n.For | n.Clause) and isinstance(node.target, n.Name):
            found.add(node.target.id)
    return found


def _may_call_back(func: n.Node, names: set[str]) -> bool:
    """Whether what is called may run functions of the program."""
    if not isinstance(func, n.Name) or func.id in names:
        return True
    return func.id not in NAMES and func.id not in CALLED


def _in_order(node: n.ListComp) -> tuple[bool, int]:
    """Whether no variable is read before its clause sets it, and how many nodes were looked at."""
    targets = [list(n.walk(clause.target)) for clause in node.clauses]
    if not all(isinstance(t, n.Name | n.Tuple | n.List) for part in targets for t in part):
        return False, 0
    names = [{t.id for t in part if isinstance(t, n.Name)} for part in targets]
    seen = 0
    known: set[str] = set()
    for i, clause in enumerate(node.clauses):
        for part in (*([clause.iter] if i else []), *clause.conditions):
            own = names[i] if part is not clause.iter else set()
            late = set().union(*names[i:]) - known - own
            for inner in n.walk(part) if late else ():
                seen += 1
                if isinstance(inner, n.Name) and inner.id in late:
                    return False, seen
        known |= names[i]
    return True, seen
