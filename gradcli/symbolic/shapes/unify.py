"""Sizes by unification: which dimensions of an expression are one, and what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradcli.language.syntax.printer import unparse
from gradcli.ops.dims import normal_dim, normal_dims
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.expr import sizes
from gradcli.symbolic.program.composed import expand
from gradcli.symbolic.program.steps import Step
from gradcli.symbolic.shapes.declarations import Declaration, conflict
from gradcli.symbolic.shapes.rules import SHAPES, core_of, reduces
from gradcli.symbolic.unsupported import no_closed_form

_LETTERS = ("n", "m", "p", "k", "q", "l", "r", "s")


class Unifier:
    """One pass over the steps. A dimension is a member of a class; classes join as they meet.

    Members of a class differ by known numbers (``shift``): where x has size n, x[1:] has n-1.
    """

    def __init__(
        self, steps: list[Step], declared: Mapping[str, Declaration], ranks: Mapping[str, int],
        source: Any,
    ) -> None:  # fmt: skip
        self.steps = steps
        self.declared = declared
        self.ranks = ranks
        self.source = source
        self.printed = False  # see infer
        self.parent: list[int] = []
        self.shift: list[int] = []  # how much larger than its parent
        self.made: dict[Any, int] = {}  # sizes that are made of others
        self.least: list[tuple[int, int, int]] = []  # dimensions, entries asked from both ends
        self.label: dict[int, str] = {}  # the size's name or number, by the root of its class
        self.origin: dict[int, tuple[str, Any]] = {}  # what first gave a class its size
        self.named: dict[str, int] = {}
        self.variables: dict[str, tuple[Any, ...]] = {}
        self.places: dict[str, Any] = {}

    def new(self, name: str | None = None) -> int:
        """A new dimension, or the known one of that size."""
        if name is not None and name in self.named:
            return self.named[name]
        self.parent.append(len(self.parent))
        self.shift.append(0)
        place = len(self.parent) - 1
        if name is None:
            return place
        try:
            found = {} if sizes.is_plain(name) else sizes.terms(name)
        except ValueError:
            raise no_closed_form(f"the size {name}", self.source) from None
        number = found.pop((), 0)
        if number and len(found) == 1:
            place = self.moved(self.new(sizes.text(found)), number)
        else:
            self.label[place] = name
        self.named[name] = place
        return place

    def moved(self, d: int, number: int) -> int:
        """A dimension that is larger by a number."""
        root, offset = self.root(d), self.offset(d) + number
        if not offset:
            return root
        if (root, offset) not in self.made:
            self.parent.append(root)
            self.shift.append(offset)
            self.made[root, offset] = len(self.parent) - 1
        return self.made[root, offset]

    def later(self, how: tuple) -> int:
        """A dimension whose size is made of others', by their numbers: see ``_made_size``."""
        if how not in self.made:
            self.parent.append(len(self.parent))
            self.shift.append(0)
            self.made[how] = len(self.parent) - 1
            self._settle(how)
        return self.made[how]

    def _settle(self, how: tuple) -> None:
        """Give a made size its text as soon as those that it is made of have theirs."""
        kind, *rest = how
        parts = rest[:1] if kind == "slice" else rest
        found = [self.size(d) if d is not None else "1" for d in parts]
        if None in found:
            return
        total = "0"
        for size in found:
            total = sizes.plus(total, size or "0")
        if kind == "min":
            total = sizes.smaller(*map(str, found))
        if kind == "product":
            total = "1"
            for size in found:
                total = sizes.times(total, size or "1")
        if kind == "slice":
            total = sizes.extent(total, *rest[1:])[0]
        self.join(self.made[how], self.new(total), self.steps[-1])

    def smallest(self) -> dict[str, int]:
        """How large each size has to be for the indices to be inside and different."""
        ends: dict[str, list[int]] = {}
        for d, front, back in self.least:
            size = self.size(d)
            if size is not None:
                have = ends.setdefault(size, [0, 0])
                have[0], have[1] = max(have[0], front), max(have[1], back)
        return {size: front + back for size, (front, back) in ends.items()}

    def root(self, d: int) -> int:
        """The dimension that stands for all of the class of ``d``."""
        while self.parent[d] != d:
            d = self.parent[d]
        return d

    def offset(self, d: int) -> int:
        """How much larger a dimension is than the root of its class."""
        total = 0
        while self.parent[d] != d:
            total += self.shift[d]
            d = self.parent[d]
        return total

    def join(self, a: int, b: int, step: Step) -> None:
        """Make two dimensions one size. Raises a fault (E0301) where they are known to differ."""
        shift = self.offset(a) - self.offset(b)
        first, second = a, b
        a, b = self.root(a), self.root(b)
        if a == b and not shift:
            return
        x, y = self.label.get(a), self.label.get(b)
        if a == b or (x is not None and y is not None and sizes.plus(x, shift) != y):
            one, two = self.size(first), self.size(second)
            name, other = self._owner(a, b)
            said = f"{name} is {self._shown(name)}" if name else ""
            raise conflict(
                f"sizes {one or '?'} and {two or '?'} meet here" + (f" ({said})" if said else ""),
                self.source, step.node, other, said,
                help="declare both with one name where the sizes are equal",
            )  # fmt: skip
        if x is None:  # a size that is known stays the root
            a, b, shift = b, a, -shift
        self.parent[b] = a
        self.shift[b] = shift

    def _owner(self, a: int, b: int) -> tuple[str, Any]:
        for name, dims in self.variables.items():
            if any(d is not None and self.root(d) in (a, b) for d in dims):
                return name, self.places[name]
        return "", None

    def _shown(self, name: str) -> str:
        return str(
            Declaration(
                self.ranks[name],
                tuple("1" if d is None else self.size(d) or "?" for d in self.variables[name]),
            )
        )

    def size(self, d: int) -> str | None:
        """The size of a dimension as a text, None where it has none yet."""
        known = self.label.get(self.root(d))
        return None if known is None else sizes.plus(known, self.offset(d))

    def run(self) -> list[tuple[str | None, ...]]:
        """The shapes of all steps, by name."""
        shapes: list[tuple[int | None, ...]] = []
        if any(s.op == "composed" for s in self.steps):
            self.expand_composed(shapes)
        else:
            for s in self.steps:
                shapes.append(self.shape(s, [shapes[i] for i in s.inputs]))
        self._name_the_rest()
        for d, front, back in self.least:
            known = self.size(d)
            if known is not None and known.isdigit() and int(known) < max(front, back):
                raise no_closed_form(f"an index outside a dimension of size {known}", self.source)
        return [tuple(None if d is None else self.size(d) for d in shape) for shape in shapes]

    def expand_composed(self, shapes: list[tuple[int | None, ...]]) -> None:
        """Shapes of all steps; composed functions are replaced by what they are made of."""
        given, steps = list(self.steps), self.steps
        del steps[:]
        places: list[int] = []
        for s in given:
            s.inputs = tuple(places[i] for i in s.inputs)
            if s.op == "composed":
                places.append(expand(self, steps, shapes, s))
                continue
            steps.append(s)
            shapes.append(self.shape(s, [shapes[i] for i in s.inputs]))
            places.append(len(steps) - 1)
        if places[-1] != len(steps) - 1:
            steps.append(Step("clone", given[-1].node, (places[-1],)))
            shapes.append(shapes[places[-1]])

    def shape(self, s: Step, inner: list[tuple]) -> tuple:
        """The shape of one step from those it reads; dimensions that must agree are joined."""
        first = inner[0] if inner else ()
        if s.op == "name":
            return self.variable(s)
        if s.op in ("number", "constant", "size"):
            return ()
        if s.op in ("eye", "ones", "zeros"):
            dims = tuple(None if d == "1" else self.new(d) for d in s.value)
            return dims * 2 if s.op == "eye" and len(dims) == 1 else dims
        if s.op == "matmul":
            left, right = inner
            if not left or not right:
                raise self.wrong(
                    s, "@ needs vectors or matrices on both sides; a scalar multiplies with *"
                )
            turned = [self.steps[i].op == "reverse_dims" for i in s.inputs]
            if len(left) == len(right) == 1 and turned == [False, True]:
                raise self.wrong(s, "x @ y.T of two vectors: write outer(x, y)")
            self.meet(left[-1], right[-2 if len(right) > 1 else 0], s)
            if max(len(left), len(right)) > 2:
                return self.stacked(s, left, right)
            return (*left[:-1], *(right[1:] if len(right) > 1 else ()))
        core = core_of(s.op, s.params.get("part", 0))
        if core is not None:
            return self.core(s, inner, *core)
        if s.op == "solve":
            right = inner[1]
            if len(first) < 2 or not right:
                raise self.wrong(s, "solve needs a matrix, then a vector or a matrix", s.inputs)
            self.meet(first[-2], first[-1], s)
            if len(right) == 1:
                self.meet(first[-1], right[0], s)
                return (*first[:-2], *right)
            self.meet(first[-1], right[-2], s)
            return (*self.broadcast(s, [first[:-2], right[:-2]]), *right[-2:])
        if s.op == "contract":
            return self.letters(s, inner)
        if s.op == "permute":
            return tuple(first[d] for d in normal_dims(s.params["dims"], len(first)))
        if s.op == "diag" and len(first) == 2:
            self.meet(first[0], first[1], s)
            return (first[0],)
        if s.op == "diag":
            if len(first) != 1:
                raise self.wrong(s, "diag needs a vector or a matrix", s.inputs)
            return (first[0], first[0])
        return self.rest(s, inner)

    def core(self, s: Step, inner: list[tuple], taken: list[str], kept: str) -> tuple:
        """The shape of what a declaration has core dimensions for, of stacks of matrices too."""
        lead: tuple = ()
        if len(taken) == 1 and len(taken[0]) == 2 and s.op != "trace":
            lead, inner = inner[0][:-2], [inner[0][-2:]]
        if any(len(x) != len(letters) for x, letters in zip(inner, taken, strict=True)):
            needed = "matrices" if len(taken[0]) > 1 else "two vectors"
            raise self.wrong(s, f"{s.op} needs {needed if taken[1:] else 'a matrix'}", s.inputs)
        known = self.lettered(s, taken, inner)
        if s.params.get("square") and self.root(inner[0][0]) != self.root(inner[0][1]):
            written = OPERATORS[s.op].parts[s.params["part"]]
            raise no_closed_form(f"all of `{unparse(s.node)}` (write {written.format(x='X')})",
                                 self.source, s.node)  # fmt: skip
        for letter in kept:
            if letter not in known:
                known[letter] = self.smaller(*known.values())
        return (*lead, *(known[c] for c in kept))

    def smaller(self, a: int | None, b: int | None) -> int | None:
        """The dimension that is as large as the smaller of two."""
        if a is None or b is None or self.root(a) == self.root(b):
            return b if a is not None else a
        return self.later(("min", a, b))

    def stacked(self, s: Step, left: tuple, right: tuple) -> tuple:
        """The shape of products of stacks of matrices."""
        lead = self.broadcast(s, [left[:-2], right[:-2]])
        return (
            *lead, *(left[-2:-1] if len(left) > 1 else ()), *(right[-1:] if len(right) > 1 else ()),
        )  # fmt: skip

    def rest(self, s: Step, inner: list[tuple]) -> tuple:
        """Reductions, transposes and elementwise operators."""
        first = inner[0]
        if s.op in ("reverse_dims",):
            return first[::-1]
        if s.op in ("mT", "transpose"):
            dims = list(first)
            if len(dims) > 1:
                i = normal_dim(s.params.get("dim0", -2), len(dims))
                j = normal_dim(s.params.get("dim1", -1), len(dims))
                dims[i], dims[j] = dims[j], dims[i]
            return tuple(dims)
        if s.op in ("softmax", "log_softmax"):
            if not first:
                raise self.wrong(s, f"{s.op} needs a vector or a matrix", s.inputs)
            return first
        if s.op == "centred":
            return first
        if reduces(s.op):
            gone = normal_dims(s.params.get("dim"), len(first))
            if s.params.get("keepdim"):
                return tuple(None if i in gone else d for i, d in enumerate(first))
            return tuple(d for i, d in enumerate(first) if i not in gone)
        if s.op in SHAPES:
            return SHAPES[s.op](self, s, inner)
        op = OPERATORS.get(s.op)
        if op is None or not (op.entrywise or op.kind == "constant"):
            raise no_closed_form(f"`{s.op}`", self.source, s.node)
        return self.broadcast(s, inner)

    def broadcast(self, s: Step, inner: Sequence[tuple]) -> tuple:
        """The shape of what is computed entry by entry."""
        rank = max(len(x) for x in inner)
        out: list[Any] = [None] * rank
        for x in inner:
            for i, d in enumerate(x, rank - len(x)):
                if out[i] is None:
                    out[i] = d
                elif d is not None:
                    self.join(out[i], d, s)
        return tuple(out)

    def letters(self, s: Step, inner: list[tuple]) -> tuple:
        """One step of an einsum: dimensions with one letter are one."""
        left, _, out = s.params["labels"].partition("->")
        parts = left.split(",")
        for part, shape in zip(parts, inner, strict=True):
            if len(part) != len(shape):
                raise self.wrong(
                    s, f"einsum: {part!r} stands for a tensor of {len(part)} dimensions", s.inputs
                )
        known = self.lettered(s, parts, inner)
        return tuple(known[c] for c in out)

    def lettered(self, s: Step, parts: Sequence[str], shapes: Sequence[tuple]) -> dict[str, Any]:
        """The dimension of each letter; dimensions of one letter are made one size."""
        known: dict[str, Any] = {}
        for part, shape in zip(parts, shapes, strict=True):
            for letter, d in zip(part, shape, strict=True):
                if letter in known:
                    self.meet(known[letter], d, s)
                else:
                    known[letter] = d
        return known

    def meet(self, a: Any, b: Any, s: Step) -> None:
        """Make two axes one size; None is an axis of size 1. Raises a fault (E0301) as ``join``."""
        if a is not None and b is not None:
            self.join(a, b, s)
        elif a is not b:
            self.join(self.new("1"), a if b is None else b, s)

    def variable(self, s: Step) -> tuple[int, ...]:
        """The dimensions of a variable, the same wherever it stands: as declared, or new ones."""
        name = s.value
        if name not in self.variables:
            given = self.declared.get(name)
            dims: tuple[Any, ...]
            if given is not None and given.dims:
                dims = tuple(None if d == "1" else self.new(d) for d in given.dims)
            else:
                dims = tuple(self.new() for _ in range(self.ranks[name]))
            if given is not None and "symmetric" in given.traits and None not in dims:
                self.join(dims[0], dims[1], s)
            self.variables[name] = dims
            self.places[name] = s.node
        return self.variables[name]

    def wrong(self, s: Step, message: str, inputs: Sequence[int] = ()) -> Exception:
        """A contradiction of ranks: the operator, and the variable that was used otherwise."""
        for i in inputs:
            inner = self.steps[i]
            if inner.op == "name":
                shown = self._shown(inner.value)
                where = "declared" if inner.value in self.declared else "used first"
                return conflict(
                    f"{message}; `{inner.value}` is a {shown}", self.source, s.node,
                    self.places[inner.value], f"{where} as {shown}",
                    help=f"declare it: --{inner.value} vector, or --{inner.value} matrix",
                )  # fmt: skip
        return conflict(message, self.source, s.node)

    def _name_the_rest(self) -> None:
        taken = set(self.ranks) | set(self.named) | set(self.declared)
        free = [x for x in _LETTERS if x not in taken]
        number = 1
        made = [how for how in self.made if isinstance(how[0], str)]
        for waiting in (True, False):
            later = {self.root(self.made[how]) for how in made} if waiting else set()
            for d in range(len(self.parent)):
                r = self.root(d)
                if r in self.label or r in later:
                    continue
                if free:
                    self.label[r] = free.pop(0)
                else:
                    while f"n{number}" in taken:
                        number += 1
                    self.label[r] = f"n{number}"
                    number += 1
            for how in made:
                self._settle(how)

    def declarations(self, sizes: set[str]) -> dict[str, Declaration]:
        """Every variable of the expression with its full shape."""
        found = {}
        for name, dims in self.variables.items():
            if name in sizes:
                continue
            traits = self.declared[name].traits if name in self.declared else frozenset()
            found[name] = Declaration(
                len(dims),
                tuple("1" if d is None else self.size(d) or "?" for d in dims),
                tuple(traits),
            )
        return found
