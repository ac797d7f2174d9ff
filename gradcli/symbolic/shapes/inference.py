"""Ranks and shapes of variables: as declared, and where not, as the expression needs them.

A variable that no tensor operator touches is a scalar. Operators of tensors (``@``, dot, trace,
``.T``, sum ...) make vectors of lower-case names and matrices of upper-case ones; sizes are unified
over the whole expression. A contradiction names both places.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gradcli.ops.dims import normal_dims
from gradcli.ops.errors import ValueFault
from gradcli.symbolic.expr.sizes import names as names_of
from gradcli.symbolic.program.lookup import called_by_name
from gradcli.symbolic.program.steps import CREATION, Step
from gradcli.symbolic.shapes.declarations import Declaration
from gradcli.symbolic.shapes.rules import (
    SHAPES,
    core_of,
    is_entrywise,
    listed,
    rank_needed,
    reduces,
)
from gradcli.symbolic.shapes.rules import rank_of as rank_of_part
from gradcli.symbolic.shapes.unify import Unifier

_ANY = 9  # needs a tensor, of whatever rank its names suggest


class Shapes:
    """The shapes of all steps: ``of[i]`` is a tuple of dimension names (None for size 1)."""

    __slots__ = ("declarations", "given", "least", "of", "rigid", "sizes")

    def __init__(self) -> None:
        self.rigid = False  # whether numbered sizes hang together, so that none can be changed
        self.least: dict[str, int] = {}  # how large sizes are at least, because of indices
        self.of: list[tuple[str | None, ...]] = []
        self.declarations: dict[str, Declaration] = {}
        self.given: frozenset[str] = frozenset()
        self.sizes: set[str] = set()

    @property
    def assumed(self) -> dict[str, str]:
        """What was not declared in full, by name."""
        return {k: str(d) for k, d in self.declarations.items() if k not in self.given}


def infer(
    steps: list[Step], declared: Mapping[str, Declaration], source: Any,
    known: Collection[str] = (), printed: bool = False,
) -> Shapes:  # fmt: skip
    """Shapes for every step; ``known`` are names that stand for sizes.

    Composed functions among the steps are expanded in place, which adds steps.
    Where they are to be ``printed``, those that mathematics has a sign for stay as they are.

    Raises a fault: E0301 where shapes contradict, E0701 where one is unknown.
    """
    texts = {d for s in steps for d in sizes_in(s)}
    texts |= {d for x in declared.values() for d in x.dims}
    sizes = {name for d in texts for name in names_of(str(d))} | set(known)
    for name in sizes & set(declared):
        if declared[name].rank:
            raise ValueFault(
                "E0901", f"`{name}` is declared as a {declared[name]} and is a size too"
            )
    declared = {name: d for name, d in declared.items() if name not in sizes}
    ranks = _ranks(steps, declared, sizes)
    work = Unifier(steps, declared, ranks, source)
    work.printed = printed
    shapes = Shapes()
    shapes.sizes = sizes
    shapes.of = work.run()
    shapes.declarations = work.declarations(sizes)
    shapes.least = work.smallest()
    shapes.rigid = any(s.op in SHAPES for s in steps)
    shapes.given = frozenset(k for k, d in declared.items() if d.rank == len(d.dims))
    return shapes


def sizes_in(s: Step) -> list[str]:
    """The sizes that a step names, as the user or a composed function has put them there."""
    if s.op in CREATION:
        return list(s.value)
    if s.op == "size":
        return [str(s.value)]
    if s.op not in ("getitem", "put"):
        sizes = {"pad": "pad", "tile": "repeats"}.get(s.op, "shape")
        return [str(d) for d in listed(s.params.get(sizes, ()))]
    index = s.params["index"]
    slices = [p for p in (index if isinstance(index, tuple) else (index,)) if isinstance(p, slice)]
    return [e for p in slices for e in (p.start, p.stop) if isinstance(e, str)]


def _ranks(
    steps: Sequence[Step], declared: Mapping[str, Declaration], sizes: set[str]
) -> dict[str, int]:
    """The rank of every name: declared, or found from use, or 0."""
    known = {name: d.rank for name, d in declared.items()} | dict.fromkeys(sizes, 0)
    names = {s.value for s in steps if s.op == "name"}
    while True:
        ranks = _forward(steps, known)
        found = _backward(steps, ranks, known)
        if not found:
            break
        known.update(found)
    return {name: known.get(name, 0) for name in names}


def _forward(steps: Sequence[Step], known: Mapping[str, int]) -> list[int | None]:
    """The rank of every step, None where it is not known yet."""
    ranks: list[int | None] = []
    for s in steps:
        inner = [ranks[i] for i in s.inputs]
        first = inner[0] if inner else None
        if s.op == "name":
            rank = known.get(s.value)
        elif s.op in ("number", "constant"):
            rank = 0
        elif (core := core_of(s.op, s.params.get("part", 0))) is not None:
            taken, kept = len(core[0][0]), len(core[1])
            rank = kept + max((taken if first is None else first) - taken, 0)
        elif s.op == "solve":
            sides = [r for r in inner if r is not None]
            rank = inner[1] if len(sides) < 2 else max(sides) - (sides[1] == 1)
        elif s.op == "contract":
            rank = len(s.params["labels"].partition("->")[2])
        elif s.op in CREATION:
            rank = 2 if s.op == "eye" else len(s.value)
        elif s.op == "matmul":
            left, right = inner
            if left is None or right is None:
                rank = None
            else:
                rank = max(left, right) if min(left, right) > 1 else max(0, left + right - 2)
        elif s.op == "diag":
            rank = None if first is None else 3 - first
        elif s.op == "composed":
            rank = _composed_rank(s, inner)
        elif s.op in SHAPES:
            rank = rank_of_part(s, inner)
        elif reduces(s.op):
            dim = s.params.get("dim")
            if dim is None:
                rank = 0
            elif first is None:
                rank = None
            else:
                rank = first if s.params.get("keepdim") else first - len(normal_dims(dim, first))
        else:
            rank = (
                None if None in inner and 2 not in inner else max(r for r in inner if r is not None)
            )
        ranks.append(rank)
    return ranks


_COMPOSED_RANKS = {
    "flatten": 1, "ravel": 1, "cross": 1, "mv": 1, "addmv": 1, "diagflat": 2, "mm": 2, "addmm": 2,
    "addr": 2, "matrix_power": 2, "chain_matmul": 2, "multi_dot": 2, "cdist": 2, "vdot": 0,
    "dist": 0, "trapezoid": 0, "trapz": 0, "addbmm": 2, "bilinear": 2,
}  # fmt: skip
"""Ranks of what composed functions give, where their arguments' ranks do not say it."""
_ENTRYWISE = frozenset(
    ["lerp", "addcdiv", "copysign", "deg2rad", "rad2deg", "clamp_min",
     "clamp_max", "float_power", "rsub", "positive", "ldexp", "logaddexp2",
     "mvlgamma", "selu", "celu", "hardsigmoid", "hardshrink", "softshrink",
     "tanhshrink", "relu6", "threshold"]
)  # fmt: skip
_MATRICES = frozenset(("mat", "mat1", "mat2"))


def _composed_rank(s: Step, inner: Sequence[int | None]) -> int | None:
    name = s.params["name"]
    if name in _COMPOSED_RANKS:
        return _COMPOSED_RANKS[name]
    if "loss" in name or "entropy" in name or name == "kl_div":
        return 0
    return None if None in inner and 2 not in inner else max((r or 0 for r in inner), default=0)


def _composed_asks(s: Step, place: int, want: int) -> int:
    """The rank that a composed function asks of one of its values."""
    function = s.params["function"]
    name = s.params["name"]
    op = called_by_name(name)
    if name in _ENTRYWISE or (op is not None and op.entrywise):
        return want
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    name = names[place] if place < len(names) else ""
    return 2 if name in _MATRICES else 1 if name.startswith("vec") else _ANY


def _backward(
    steps: Sequence[Step], ranks: list[int | None], known: Mapping[str, int]
) -> dict[str, int]:
    """Names that the operators above them make vectors or matrices; those nearest the end first."""
    upper = _upper(steps, known)
    need: list[int] = [0] * len(steps)
    found: dict[str, int] = {}
    for i in range(len(steps) - 1, -1, -1):
        s, want = steps[i], need[i]
        if s.op == "name":
            if s.value not in known and want:
                if want == _ANY:
                    want = 2 if upper[i] else 1
                if want == 1 or upper[i]:
                    found[s.value] = max(want, found.get(s.value, 0))
            continue
        met = False
        if s.op in ("contract", "solve"):
            asked = _ANY
        elif s.op == "composed":
            asked = 0
        elif (core := core_of(s.op, s.params.get("part", 0))) is not None:
            asked = len(core[0][0])
        elif s.op == "getitem":
            asked = _ANY if rank_needed(s) < 2 else rank_needed(s)
        elif s.op == "stack":
            asked = max(0, want - 1) if want != _ANY else 0
        elif s.op in ("tril", "triu"):
            asked = 2
        elif not is_entrywise(s.op):
            asked = _ANY
        elif s.op in ("add", "sub") and want == 0:
            asked = max((ranks[j] or 0) for j in s.inputs)
        else:
            asked = want
            if want == _ANY:
                asked = 2 if upper[i] else 1
            elif not want and s.op == "mul":
                asked = ranks[i] or 0
            # Where the other factor has the rank already, this one may well be a number.
            met = s.op in ("mul", "div", "pow") and asked in [ranks[j] for j in s.inputs]
        for place, j in enumerate(s.inputs):
            if met and not (asked == 2 and upper[j]):
                continue
            divides = s.op == "div" and place and not upper[j]
            if divides and steps[s.inputs[0]].op != "name" and _one_name(steps, j):
                continue  # Q @ K.T/sqrt(d), (x - m)/s
            if s.op == "composed":
                asked = _composed_asks(s, place, want)
            elif s.op == "contract":
                asked = len(s.params["labels"].partition("->")[0].split(",")[place])
            elif s.op == "solve":
                asked = _ANY if place else 2
            if ranks[j] is None:
                need[j] = max(need[j], asked) if need[j] != _ANY else asked
    return found


def _one_name(steps: Sequence[Step], i: int) -> bool:
    """Whether a step is a name, a power of one or a multiple of that."""
    waiting, names = [i], 0
    while waiting:
        s = steps[waiting.pop()]
        if s.op not in ("name", "number", "sqrt", "pow", "square", "mul"):
            return False
        names += s.op == "name"
        waiting += s.inputs
    return names == 1


def _upper(steps: Sequence[Step], sides: Mapping[str, int]) -> list[bool]:
    """Whether a step, looked at through elementwise operators, holds what must be a matrix."""
    found: list[bool] = []
    for s in steps:
        if s.op == "name":
            rank = sides.get(s.value)
            found.append(rank == 2 if rank is not None else s.value[0].isupper())
        elif _is_mixed(s.op):
            found.append(s.op in ("tril", "triu"))
        else:
            found.append(s.op in ("outer", "eye") or any(found[i] for i in s.inputs))
    return found


def _is_mixed(name: str) -> bool:
    """Whether an operator's result says nothing of the rank of what it is given."""
    core = core_of(name)
    if core is not None:
        return not core[1]
    return reduces(name) or name in SHAPES or name in ("matmul", "solve", "contract", "composed")
