"""From index notation back to the language: every base once, in the order in which they came.

A base is written when all that it is made of has been written, so no recursion is needed however
deep the expression is. A term becomes scalars in front of a matrix product (``contraction``), a sum
of terms is factored where that is shorter (``collect``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from gradcli.ops.declaration.infix import is_comparison
from gradcli.ops.errors import Fault
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.emit import tree as w
from gradcli.symbolic.emit.collect import Piece, gathered
from gradcli.symbolic.emit.comparisons import choice, comparison, outer_first, smaller
from gradcli.symbolic.emit.contraction import Graph, Matrix, Vector, atom, elementwise, reciprocal
from gradcli.symbolic.emit.joined_axes import reach, unjoined
from gradcli.symbolic.emit.reductions import logsumexp, reduction, row_length, row_spread, spread
from gradcli.symbolic.emit.slices import Acting, Operand, absorbed, alone, size_text
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.algebra import open_factor
from gradcli.symbolic.expr.elementwise import applied
from gradcli.symbolic.expr.selectors import KINDS
from gradcli.symbolic.unsupported import no_closed_form

_PLAIN = (None, Fraction(1))
_SHARES = {
    "softmax": ("softmax", False), "softmax0": ("softmax", True),
    "log_softmax": ("log_softmax", False), "log_softmax0": ("log_softmax", True),
}  # fmt: skip
"""Bases over a row or a column (True), and how they are called."""


class Writer:
    """Writes tensors; remembers the bases that it has written."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.sizes = sizes
        self.sums_written: dict[tuple, Text] = {}
        self.written: dict[int, Text] = {}
        self.inside = 0  # in how many bases: what stands in them is used further
        self.sums: dict[str, tuple[str, ...]] = {}  # texts that are sums: over which dimensions
        self.squares: dict[int, Text] = {}  # of sums over squares u**2: u
        self.positive: set[str] = set()  # variables that are declared positive
        self.symmetric: set[str] = set()  # texts that are symmetric matrices
        self.powers: dict[int, tuple[Text, Fraction]] = {}  # of sums over u**p: u and p

    def tensor(self, t: v.Tensor, labels: tuple[v.Label, ...], full: bool) -> Text:
        """A tensor over these labels; ``full`` where it must have their shape by itself."""
        self.bases(t)
        found = self.sum(t, labels, full)
        if len(labels) == 2:
            try:
                other = w.transposed(self.sum(t, labels[::-1], True))
            except Exception:  # only the other way round can be said
                return found
            factor = bool(self.inside) and len(t.terms) > 1  # which may be wanted turned
            if other.cost < found.cost + factor:
                return other
        return found

    def bases(self, t: v.Tensor) -> None:
        """Write the bases that a tensor is made of."""
        for b in v.bases_of(t):  # each after those it is made of
            if b.serial not in self.written:
                self.inside += 1
                self.written[b.serial] = self.base(b)
                self.inside -= 1

    def dimension(self, d: str) -> Text:
        """A dimension as a number or a name."""
        return size_text(self.resized(d))

    def resized(self, d: str) -> str:
        """A dimension with the numbers that replace it."""
        return str(self.sizes[d]) if d in self.sizes else d

    # -- bases -----------------------------------------------------------------------------------

    def base(self, b: v.Base) -> Text:
        """A base on its own axes."""
        if b.kind in ("name", "constant"):
            if "positive" in b.traits:
                self.positive.add(b.name)
            return w.name(b.name)
        if b.kind == "number":
            return w.numeral(b.name)
        if b.kind == "size":
            return self.dimension(b.name)
        if b.kind == "delta":
            return w.called("eye", self.dimension(b.dims[0]))
        if b.kind in KINDS:
            return alone(b, self.resized)
        labels = v.labels_of(b.dims)
        if b.kind == "sum":
            return self.sum_base(b, labels)
        if b.kind == "reduce":
            return reduction(self, b, labels)
        if b.kind == "matrix":
            if len(b.args) > 1:
                return w.name(b.name)  # see alongs_applied
            return self.of_matrix(b.name, self.sum(b.args[0], tuple(b.args[0].free()), True))
        if is_comparison(b.name):
            return comparison(self, b, labels)
        args = [self.argument(a, labels, len(b.args) == 1) for a in b.args]
        if b.name in _SHARES:
            name, first = _SHARES[b.name]
            dim = 0 if first else len(labels) - 1
            return w.called(name, *args, *([w.numeral(dim)] if len(labels) > 1 else []))
        if b.name in ("softmax_of_all", "log_softmax_of_all"):
            below = w.binary("-", args[0], w.called("logsumexp", args[0]))
            return below if b.name.startswith("log") else w.called("exp", below)
        if b.name == "pow":
            return w.binary("**", *args)
        if b.name == "where":
            return w.called("where", args[0], args[1], w.numeral(0 if b.args[1].number() else 1))
        if b.name == "log":
            found = logsumexp(self, b.args[0], labels)
            if found is not None:
                return found
        if b.name == "minimum":
            return smaller(args)
        return w.called("max" if b.name == "maximum" else b.name, *args)

    def of_matrix(self, name: Any, x: Text) -> Text:
        """A function of a matrix."""
        if isinstance(name, tuple):
            op, part = name
            return w.filled(OPERATORS[op].parts[part], x)
        if name == "logabsdet":
            return w.called("log", w.called("abs", w.called("det", x)))
        return w.called("sign", w.called("det", x)) if name == "detsign" else w.called(name, x)

    def argument(self, t: v.Tensor, labels: tuple[v.Label, ...], full: bool) -> Text:
        """An argument of a call; ``full`` where it may not be shorter than the labels."""
        return self.sum(t, labels, full or (len(labels) > 2 and bool(t.free())))

    def sum_base(self, b: v.Base, labels: tuple[v.Label, ...]) -> Text:
        """A sum that is a base: a matrix product where its only term is one, else term by term."""
        body = b.args[0]
        if not labels and len(body.terms) == 1:
            ((m, c),) = body.terms.items()
            if any(idx for _, idx, _ in m) and c == 1:
                try:
                    graph, number, tops, below = self.graph(m)
                    found = graph.fold() if number == 1 else None
                except Fault:  # no matrix product: by letters
                    return self.tensor(body, (), True)
                if found is not None and not tops and not below:
                    if graph.square is not None:
                        self.squares[b.serial] = graph.square
                    elif graph.power is not None:
                        self.powers[b.serial] = graph.power
                    return found
        return self.tensor(body, labels, True)

    # -- factors ---------------------------------------------------------------------------------

    def raised(self, b: v.Base, e: Fraction) -> tuple[Text, Fraction]:
        """A base to a power as (text, exponent left): exp takes it inside, a root is a norm."""
        if b.serial not in self.written:  # made of others while these were written
            self.bases(v.factor(b, v.labels_of(b.dims)))
        if b.kind == "call" and b.name == "exp" and e != 1:
            labels = v.labels_of(b.dims)
            return w.called("exp", self.sum(v.scale(b.args[0], e), labels, True)), Fraction(1)
        u, p = self.powers.get(b.serial, _PLAIN)
        if u is not None and e.denominator > 1 and (e * p).denominator == 1:
            inner = w.inside(u, "abs")
            signless = isinstance(u.node, w.n.Name) and u.node.id in self.positive
            if inner is not None or signless or (p.denominator == 1 and not p.numerator % 2):
                size = w.numeral(p.numerator if p.denominator == 1 else float(p))
                return w.called("norm", inner or u, size), e * p
        rows = row_length(self, b, e)
        if rows is not None:
            return rows, 2 * e
        square = self.squares.get(b.serial)
        if square is not None and (e.denominator == 2 or (e.denominator == 1 and square.cost)):
            length = w.called("norm", square)
            if e == 1:
                ((m, _),) = b.args[0].terms.items()
                dims = tuple(x[0] for x in sorted(v.bound_of(m)))
                self.sums[w.raised(length, Fraction(2)).key] = dims
            return length, 2 * e
        return self.written[b.serial], e

    def operands(self, factors: Sequence[tuple]) -> list[Operand]:
        """The factors of a product as texts, entries and slices written into what they meet."""
        found = []
        for b, idx, e in factors:
            if (
                not isinstance(b, Text)
                and b.kind == "entry"
                and b.dims == ("1",)
                and idx[0][1] >= 0
            ):
                continue  # there is no other entry
            if not isinstance(b, Text) and b.kind == "matrix" and len(b.args) > 1:
                name = b.name.removesuffix("_along")  # the user wrote no derivative
                raise no_closed_form(f"`{name}` of a matrix by every entry")
            text, exponent = (b, e) if isinstance(b, Text) else self.raised(b, e)
            found.append(Operand(text, exponent, idx, None if isinstance(b, Text) else b))
        if any(f.kind in ("entry", "slice") for f in found):
            return absorbed(found, self.resized)
        return found

    def graph(
        self, m: v.Monomial, ends: tuple[v.Label, ...] = ()
    ) -> tuple[Graph, Fraction, list[Text], list[Text]]:
        """The indexed factors of a product as a graph, a number, scalars above and below the line.

        ``ends`` are the labels of a delta that the product stands beside.
        """
        graph = Graph(self.sums)
        scalars: list[tuple[Text, Fraction]] = []
        factors, number = self.prepared(m)
        for f in self.operands(on_diagonal(self, factors, ends) if ends else factors):
            idx, exponent = f.idx, f.exponent
            if not idx:
                scalars.append((f.text, exponent))
            elif len(idx) == 1:
                graph.hang(idx[0], Vector((f.text,), exponent))
            elif len(idx) == 2:
                if isinstance(f.text, Acting):
                    both: tuple = (f.text, Acting(f.text.b, True, self.resized))
                else:
                    symmetric = (
                        f.text.key in self.symmetric if f.base is None
                        else "symmetric" in f.base.traits
                    )  # fmt: skip
                    both = atom(f.text, symmetric, exponent)
                    if symmetric:
                        self.symmetric.add(both[0].key)
                graph.matrices.append(Matrix(idx[0], idx[1], (both,)))
            else:
                raise no_closed_form("a tensor of more than two dimensions")
        return graph, number, *above_and_below(scalars)

    def prepared(self, m: v.Monomial) -> tuple[list[tuple[Any, tuple, Fraction]], Fraction]:
        """The factors, with those taken together that are written as one, and a number."""
        factors = alongs_applied(self, unjoined(self, m))
        return spread(self, *powers_merged(self, factors))

    # -- terms -----------------------------------------------------------------------------------

    def piece(self, m: v.Monomial, c: Fraction, labels: tuple[v.Label, ...]) -> Piece:
        """A term as scalars and a matrix product, and which of the labels it covers."""
        if len(labels) > 2:
            return lettered(self, m, c, labels)
        try:
            found = averaged(self, self.folded(m, c, labels))
            return row_spread(self, found) if len(labels) == 1 else found
        except Fault:
            return lettered(self, m, c, labels)

    def folded(self, m: v.Monomial, c: Fraction, labels: tuple[v.Label, ...]) -> Piece:
        """A term as scalars and a matrix product. Raises a fault where it is none."""
        deltas = [f for f in m if f[0].kind == "delta"]
        ends = deltas[0][1] if deltas else ()
        rest = tuple(f for f in m if f[0].kind != "delta")
        graph, number, tops, below = self.graph(rest, ends)
        c *= number
        if not labels:
            if graph.matrices or graph.vectors:
                raise no_closed_form("a sum over products that is no matrix product")
            return Piece(c, tops, below, (), 0)
        graph.fold()
        vectors = [graph.vectors.get(x, []) for x in labels]
        if len(labels) == 1:
            return vector_piece(c, tops, below, vectors[0])
        if deltas:
            return diagonal_piece(self, c, tops, below, vectors, graph, labels)
        matrix = graph.matrices[0].towards(labels[0]) if graph.matrices else None
        left, right = vectors
        columns = [Vector((column(self, x.text()),), x.exponent) for x in left]
        if matrix is None:
            if left and not right:
                ones = Vector((w.called("ones", self.dimension(labels[1][0])),))
                if labels[1][0] == "1":
                    return Piece(c, tops, below, (elementwise(columns),), 2)
                found = Piece(c, tops, below, (elementwise(columns),), 1)
                found.whole = outer_piece(self, c, tops, below, left, [ones])
                return found
            if not left:
                return Piece(c, tops, below, (elementwise(right),), 1) if right else Piece(
                    c, tops, below, (), 0
                )  # fmt: skip
            return outer_piece(self, c, tops, below, left, right)
        chain = matrix.texts()
        if left and right and len(chain) == 1 and isinstance(chain[0], Acting):
            masked = chain[0].mask(w.called("outer", elementwise(left), elementwise(right)))
            if masked is not None:
                return Piece(c, tops, below, (masked,), 2)
        entries = reciprocal(chain)
        if left:
            every = elementwise([entries, *columns, *right])
            if right:
                outer = w.called("outer", elementwise(left), elementwise(right))
                every = min(elementwise([entries, Vector((outer,))]), every, key=lambda x: x.cost)
            outside = [w.called("diag", elementwise(x)) if x else None for x in (left, right)]
            parts = [x for x in (outside[0], *chain, outside[1]) if x is not None]
            plain = w.joined(parts, "@")
            if every.cost < plain.cost or (right and len(chain) == 1):
                found = Piece(c, tops, below, (every,), 2)
                if len(chain) > 1 and not right:
                    found.apart = (elementwise([Vector(chain[:1]), *columns]), *chain[1:])
                return found
            chain = (w.called("diag", elementwise(left)), *chain)
        elif right:
            if entries.exponent < 0:
                return Piece(c, tops, below, (elementwise([*right, entries]),), 2)
            whole = w.joined(chain, "@")
            if all(x.exponent < 0 for x in right):  # over a row: entry by entry, as over a number
                rows = [w.raised(x.text(), -x.exponent) for x in right]
                return Piece(c, tops, [*below, *rows], chain, 2)
            found = Piece(c, tops, below, (w.binary("*", whole, elementwise(right)),), 2)
            if len(chain) > 1:
                found.apart = (*chain[:-1], elementwise([Vector(chain[-1:]), *right]))
            return found
        if right:
            chain = (*chain, w.called("diag", elementwise(right)))
        return Piece(c, tops, below, chain, 2)

    # -- sums ------------------------------------------------------------------------------------

    def sum(self, t: v.Tensor, labels: tuple[v.Label, ...], full: bool) -> Text:
        """A sum of terms, choices of one condition joined, common factors of products taken out."""
        key = (t.key, labels, full, bool(self.inside))
        found = self.sums_written.get(key)
        if found is None:
            found = self.sums_written[key] = self.summed(t, labels, full)
        return found

    def summed(self, t: v.Tensor, labels: tuple[v.Label, ...], full: bool) -> Text:
        """``sum``, worked out: zeros, entries side by side as a stack, or term by term."""
        if not t.terms:
            if not labels or not full:
                return w.numeral(0)
            return w.called("zeros", *(self.dimension(x[0]) for x in labels))
        if labels and any(f[0].kind == "entry" for m in t.terms for f in m):
            entries = stacked(self, t, labels)
            if entries is not None:
                return entries
        return self.plainly(t, labels, full)

    def plainly(self, t: v.Tensor, labels: tuple[v.Label, ...], full: bool) -> Text:
        """A sum of terms, term by term."""
        plain: dict[v.Monomial, Fraction] = {}
        choices: dict[Any, list[dict]] = {}
        ordered = t.sorted()
        tests = [  # indicators that a where can take over
            [f for f in m if f[0].kind == "call" and f[0].name == "where" and f[1] in ((), labels)]
            for m, _ in ordered
        ]
        first = outer_first(tests)
        for (m, c), found in zip(ordered, first, strict=True):
            if found is None:
                plain[m] = c
                continue
            rest = tuple(f for f in m if f is not found)
            sides = choices.setdefault((found[0].args[0], found[1]), [{}, {}])
            sides[0 if found[0].args[1].number() else 1][rest] = c
        for key in [k for k, (yes, no) in choices.items() if yes == no]:  # there is no choice
            for rest, c in choices.pop(key)[0].items():
                plain[rest] = plain.get(rest, Fraction(0)) + c
        pieces = [self.piece(m, c, labels) for m, c in plain.items()]
        inside = {p: multiplied(self, p, m) for p, m in zip(pieces, plain, strict=True)}
        if len(plain) == 1 and not choices:
            pieces = [*inside.values()]
        for (condition, idx), sides in choices.items():
            own = tuple((d, i) for i, d in enumerate(x[0] for x in idx))
            test = self.sum(condition, own, True)
            whole = full and not idx and bool(labels)
            texts = [self.sum(v.Tensor(s), labels, whole and bool(s)) for s in sides]
            chosen = choice(test, texts[0], texts[1], self.positive)
            pieces.append(
                Piece(Fraction(1), [], [], (chosen,), 2 if whole or len(idx) == len(labels) else 0)
            )
        if pieces and () in plain and any(p.c > 0 for p in pieces[1:]):
            pieces.append(pieces.pop(0))  # x**2 + 1
        # A row and a column have the whole shape together.
        both = len({p.whole is None for p in pieces if p.cover == 1}) > 1
        if full and labels and not both and not any(p.cover == 2 for p in pieces):
            best = max(pieces, key=lambda p: p.cover)
            if best.whole is not None:
                pieces[pieces.index(best)] = best.whole
            else:
                self.fill(best, labels)
        text = gathered(pieces)
        others = [inside.get(p, p) for p in pieces]
        return text if others == pieces else min(text, gathered(others), key=lambda x: x.cost)

    def fill(self, p: Piece, labels: tuple[v.Label, ...]) -> None:
        """Give a term the whole shape by ones."""
        if p.cover == 1:
            ones = w.called("ones", self.dimension(labels[0][0]))
            p.chain = (w.called("outer", ones, w.joined(p.chain, "@")),)
        else:
            p.tops = [*p.tops, *([w.joined(p.chain, "@")] if p.chain else [])]
            p.chain = (w.called("ones", *(self.dimension(x[0]) for x in labels)),)
        p.cover = 2


# ---- Entries of a known dimension, one by one as a stack -----------------------------------------

MOST_STACKED = 8
"""Entries that are written one by one."""


def stacked(writer: Writer, t: v.Tensor, labels: tuple[v.Label, ...]) -> Text | None:
    """Terms that are entries of a known dimension as a stack, where that is shorter."""
    first = labels[0]
    size = writer.resized(first[0])
    if not size.isdigit() or not 1 < int(size) <= MOST_STACKED or len(labels) > 2:
        return None
    t = _entries_opened(t, first)
    rows: list[dict] = [{} for _ in range(int(size))]
    rest: dict[v.Monomial, Fraction] = {}
    for m, c in t.terms.items():
        here = next((f for f in m if f[0].kind == "entry" and f[1] == (first,)), None)
        if here is None:
            rest[m] = c
        else:
            rows[here[0].name][tuple(f for f in m if f is not here)] = c
    if len(rest) == len(t.terms):
        return None
    whole = v.Tensor({m: c for m, c in t.terms.items() if m not in rest})
    c = v.content(whole) * (-1 if all(x < 0 for x in whole.terms.values()) else 1)
    inside = len(labels) == 1 and bool(first[1])  # a row of a stack
    fronts = [Fraction(1)] if inside else [c, Fraction(1)]
    options = [_of_rows(writer, rows, rest, labels, k) for k in fronts]
    same = {m: x for m, x in rest.items() if all(first not in f[1] for f in m)}
    if same:  # what every entry has: 1 + stack([x - 1, y]) is stack([x, 1 + y])
        joined = [v.add(v.Tensor(row), v.Tensor(same)).terms for row in rows]
        others = {m: x for m, x in rest.items() if m not in same}
        options += [_of_rows(writer, joined, others, labels, k) for k in fronts]
    found = min(options, key=lambda x: x.cost)
    try:
        other = writer.plainly(t, labels, True)
    except Fault:  # only so can it be said
        return found
    return found if found.cost <= other.cost else None


def _of_rows(
    writer: Writer, rows: Sequence[Mapping], rest: Mapping, labels: tuple[v.Label, ...], c: Fraction
) -> Text:
    """A stack of rows with a number in front, and what is added to it."""
    parts = [
        writer.sum(v.Tensor({m: x / c for m, x in row.items()}), labels[1:], True) for row in rows
    ]
    if writer.inside and all(isinstance(p.node, w.n.Number) for p in parts):
        parts = [w.numeral(float(p.node.value)) for p in parts]  # whole numbers have no norm
    items = w.n.List(tuple(p.node for p in parts))
    found = w.called("stack", Text(items, sum(p.cost for p in parts)))
    if not rest:
        return w.scaled(c, [found], [])
    found = w.scaled(abs(c), [found], [])
    sign = -1 if all(x < 0 for x in rest.values()) else 1
    added = writer.sum(v.scale(v.Tensor(rest), sign), labels, False)
    return w.total([(sign, added), (1 if c > 0 else -1, found)])


def _entries_opened(t: v.Tensor, label: v.Label) -> v.Tensor:
    """The tensor with groups multiplied out that hold entries of a label."""
    while True:
        for m in t.terms:
            place = next((i for i, f in enumerate(m) if _holds_entries(f, label)), None)
            if place is not None:
                rest = v.Tensor({k: c for k, c in t.terms.items() if k != m})
                t = v.add(rest, v.scale(open_factor(m, place), t.terms[m]))
                break
        else:
            return t


def _holds_entries(f: tuple, label: v.Label) -> bool:
    b, idx, e = f
    if b.kind != "sum" or e != 1 or label not in idx:
        return False
    own = (label[0], idx.index(label))
    return any(k.kind == "entry" and i == (own,) for m in b.args[0].terms for k, i, _ in m)


# ---- One term, with the factors over its labels --------------------------------------------------


def powers_merged(
    writer: Writer, m: Sequence[tuple]
) -> tuple[list[tuple[Any, tuple, Fraction]], Fraction]:
    """The factors, ``x**n * x**-1`` as ``x**(n - 1)``, also where one is (2*x)**-1."""
    number = Fraction(1)
    factors: list[Any] = list(m)
    for b, idx, e in m:
        if isinstance(b, Text) or b.kind != "call" or b.name != "pow" or abs(e) != 1:
            continue
        under = v.place(b.args[0], idx)
        for other in m:
            if other[0] is b or isinstance(other[0], Text):
                continue
            times = multiple(under, v.add(v.factor(other[0], other[1])))
            if other[0].kind == "sum" and other[1] == idx and not times:  # K @ w
                times = multiple(b.args[0], other[0].args[0])
            if other in factors and (times == 1 or (times > 0 and other[2].denominator == 1)):
                number /= times ** int(other[2]) if times != 1 else 1
                labels = v.labels_of(b.dims)
                exponent = writer.sum(v.add(b.args[1], v.number(e * other[2])), labels, False)
                base = writer.sum(b.args[0], labels, True)
                factors.remove(other)
                factors[factors.index((b, idx, e))] = (w.binary("**", base, exponent), idx, e)
                break
    return factors, number


def multiple(t: v.Tensor, u: v.Tensor) -> Fraction:
    """The number that makes one sum of the other; 0 where there is none."""
    if t.terms.keys() != u.terms.keys() or not t.terms:
        return Fraction(0)
    ratios = {t.terms[m] / u.terms[m] for m in t.terms}
    return ratios.pop() if len(ratios) == 1 else Fraction(0)


_LETTERS = "ijklmnopqrstuvwxyzabcdefgh"
_KEEPING = {
    op.name: op.arity + list(op.params).index("keepdim") for op in OPERATORS.values()
    if list(op.params)[-2:] == ["dim", "keepdim"]
}  # fmt: skip
"""Functions that can keep a dimension, by the number of arguments before the one that says so."""


def column(writer: Writer, u: Text) -> Text:
    """A vector as a column: along the rows of a matrix. A sum over rows keeps its dimension."""
    node = u.node
    if name := w.n.called(node):
        places = _KEEPING.get(name)
        if places == len(node.args) and w.n.is_number(node.args[-1], 1):
            args = (*node.args, w.n.Literal(True))
            found = Text(w.n.Call(node.func, args, ()), u.cost)
            if u.key in writer.sums:
                writer.sums[found.key] = writer.sums[u.key]
            return found
        if name in ("var", "std") and len(node.args) == 2 and not node.keywords:
            keep = w.n.Keyword("keepdim", w.n.Literal(True))
            if w.n.is_number(node.args[1], 1):
                return Text(w.n.Call(node.func, node.args, (keep,)), u.cost)
    return w.called("unsqueeze", u, w.numeral(1))


def vector_piece(c: Fraction, tops: list[Text], below: list[Text], vectors: list[Vector]) -> Piece:
    """Factors that share one label: a matrix product alone as it is, else entry by entry."""
    if not vectors:
        return Piece(c, tops, below, (), 0)
    if len(vectors) == 1 and vectors[0].exponent == 1:
        return Piece(c, tops, below, vectors[0].chain, 2)
    if any(x.exponent == 1 and w.chosen(x.text()) is not None for x in vectors):
        return Piece(c, tops, below, (elementwise(vectors),), 2)
    above, under = w.above_and_below((x.text(), x.exponent) for x in vectors)
    above.sort(key=w.is_sum)
    chain = (w.joined(above),) if above else ()
    return Piece(c, tops, [*below, *under], chain, 2 if above or under else 0)


def outer_piece(
    writer: Writer, c: Fraction, tops: list[Text], below: list[Text], left: list[Vector],
    right: list[Vector],
) -> Piece:  # fmt: skip
    """``outer(u, v)``; matrices in front of u or behind v are kept apart for collecting."""
    found = Piece(c, tops, below, (w.called("outer", elementwise(left), elementwise(right)),), 2)
    head: tuple[Text, ...] = ()
    tail: tuple[Text, ...] = ()
    u, x = elementwise(left), elementwise(right)
    if len(left) == 1 and left[0].exponent == 1:
        *front, u = left[0].chain
        head = tuple(front)
    if len(right) == 1 and right[0].exponent == 1:
        *front, x = right[0].chain
        tail = tuple(t if t.key in writer.symmetric else w.transposed(t) for t in reversed(front))
    found.apart = (*head, w.called("outer", u, x), *tail)
    return found


def on_diagonal(writer: Writer, factors: list[tuple], ends: tuple[v.Label, ...]) -> list[tuple]:
    """Factors beside a delta, matrices at its two labels by their diagonals.

    ``eye(n)*(1/A)`` would be 0/0 beside the diagonal of a triangular matrix: ``diag(1/diag(A))``.
    """
    found = []
    for b, idx, e in factors:
        if len(idx) != 2 or not set(idx) <= set(ends):
            found.append((b, idx, e))
        elif isinstance(b, Text):
            found.append((w.called("diag", b), ends[:1], e))
        elif b.kind in ("name", "sum", "call"):
            op = OPERATORS.get(b.name) if b.kind == "call" else None
            if op is not None and op.kind == "elementwise":
                inner = applied(b.name, [v.place(a, (ends[0], ends[0])) for a in b.args])
                writer.bases(inner)
                text = writer.sum(inner, ends[:1], True)
            else:
                text = w.called("diag", writer.written[b.serial])
            found.append((text, ends[:1], e))
        else:
            found.append((b, idx, e))
    return found


def alongs_applied(writer: Writer, factors: list[tuple]) -> list[tuple]:
    """Factors with a derivative of a matrix function, a base over four labels, as a call.

    What closes over its last two labels is the direction; over its first two, that of the
    transposed map: ``matrix_exp_along(A.T, G)``. Where neither closes, it stays.
    """
    for f in factors:
        b, idx, e = f
        if isinstance(b, Text) or b.kind != "matrix" or len(b.args) < 2 or e != 1:
            continue
        rest = [g for g in factors if g is not f]
        for ends, out, turned in ((idx[2:], idx[:2], False), (idx[:2], idx[2:], True)):
            if any(x[1] >= 0 for x in ends) or set(ends) & set(out):
                continue
            found = reach(rest, f, set(ends))
            if found is None:
                continue
            names = {x: (x[0], i) for i, x in reversed(list(enumerate(ends)))}
            moved = [(g, tuple(names.get(x, x) for x in i), p) for g, i, p in found]
            inner = v.product(moved, v.ONE, v.bound_of(moved))
            labels = ((ends[0][0], 0), (ends[1][0], 1))
            if ends[0] == ends[1]:  # a trace with weights
                inner = v.mul(inner, v.delta(*labels))
            writer.bases(inner)
            op = OPERATORS[b.name]
            given = []
            for a in b.args[: op.arity - 1]:
                own = tuple(a.free())
                given.append(writer.sum(a, own[::-1] if turned else own, True))
            text = w.called(b.name, *given, writer.sum(inner, labels, True))
            return alongs_applied(writer, [*(g for g in rest if g not in found), (text, out, e)])
    return factors


def diagonal_piece(
    writer: Writer, c: Fraction, tops: list[Text], below: list[Text], vectors: list[list[Vector]],
    graph: Graph, labels: tuple[v.Label, ...],
) -> Piece:  # fmt: skip
    """A term that is 0 off the diagonal: ``eye``, ``eye`` times a matrix, or ``diag``."""
    eye = w.called("eye", writer.dimension(labels[0][0]))
    every = [*vectors[0], *vectors[1]]
    every.extend(Vector((w.called("diag", m.text()),)) for m in graph.matrices)
    if not every:
        return Piece(c, tops, below, (eye,), 2)
    one = every[0]
    inner = w.inside(one.text(), "diag") if len(every) == 1 and one.exponent == 1 else None
    if inner is not None:
        return Piece(c, tops, below, (w.binary("*", eye, inner),), 2)
    return Piece(c, tops, below, (w.called("diag", elementwise(every)),), 2)


def averaged(writer: Writer, p: Piece) -> Piece:
    """A sum over a dimension divided by its size is a mean."""
    places = [(p.tops, i) for i in range(len(p.tops))]
    chain = list(p.chain)
    if len(chain) == 1:
        places.append((chain, 0))
    for texts, i in places:
        dims = writer.sums.get(texts[i].key)
        if dims is None:
            continue
        below, c = list(p.below), p.c
        for d in dims:
            size = writer.dimension(d)
            found = next((t for t in below if t.key == size.key), None)
            if found is not None:
                below.remove(found)
            elif size.key.isdigit() and c.denominator % int(size.key) == 0:
                c *= int(size.key)
            else:
                break
        else:
            node = texts[i].node
            if isinstance(node, w.n.Call) and w.choice(node.args[0]):
                continue  # whole numbers have no mean
            texts[i] = w.averaged(texts[i])
            p.below, p.c, p.chain = below, c, tuple(chain)
    return p


def lettered(writer: Writer, m: v.Monomial, c: Fraction, labels: tuple[v.Label, ...]) -> Piece:
    """A term as scalars and an einsum, which takes every sum and every shape."""
    scalars: list[tuple[Text, Fraction]] = []
    letters = {x: chr(ord("i") + i) for i, x in enumerate(labels)}
    parts: list[str] = []
    operands: list[Text] = []
    for f in writer.operands(unjoined(writer, m)):
        text, exponent, idx = f.text, f.exponent, f.idx
        if not idx:
            scalars.append((text, exponent))
            continue
        for x in idx:
            if x not in letters:
                letters[x] = _LETTERS[len(letters)]
        parts.append("".join(letters[x] for x in idx))
        if exponent < 0:
            text, exponent = w.binary("/", w.numeral(1), w.raised(text, -exponent)), Fraction(1)
        operands.append(w.raised(text, exponent))
    for x in labels:
        if not any(letters[x] in p for p in parts):
            parts.append(letters[x])
            operands.append(w.called("ones", writer.dimension(x[0])))
    tops, below = above_and_below(scalars)
    whole = "".join(letters[x] for x in labels)
    if len(parts) == 1 and len(whole) > 2 and parts[0] == whole[:-2] + whole[:-3:-1]:
        turned = w.attribute(operands[0], "mT")
        return Piece(c, tops, below, (turned,), 2)
    if len(parts) == 1 and parts[0] == whole:
        return Piece(c, tops, below, (operands[0],), 2 if labels else 0)
    equation = ",".join(parts) + "->" + whole
    found = w.called("einsum", w.quoted(equation), *operands)
    return Piece(c, tops, below, (found,), 2 if labels else 0)


def multiplied(writer: Writer, p: Piece, m: v.Monomial) -> Piece:
    """A term with its number in the terms of a bracket: ``6*x - 32`` for ``2*(3*x - 16)``."""
    if p.c in (1, -1) or any(b.kind == "delta" for b, _, _ in m):
        return p
    for b, idx, e in m:
        if b.kind != "sum" or idx or e != 1 or len(b.args[0].terms) < 2:
            continue
        number = abs(p.c)
        key = writer.written[b.serial].key
        place = next((i for i, t in enumerate(p.tops) if t.key == key), None)
        if place is not None:
            tops = list(p.tops)
            tops[place] = writer.sum(v.scale(b.args[0], number), (), True)
            other = Piece(p.c / number, tops, p.below, p.chain, p.cover)
            other.apart, other.whole = p.apart, p.whole
            if other.text().cost < p.text().cost:
                return other
    return p


def above_and_below(scalars: Sequence[tuple[Text, Fraction]]) -> tuple[list[Text], list[Text]]:
    """Scalar factors above and below the line; those that are written alike as one power."""
    if not scalars:
        return [], []
    tops, below = w.above_and_below(scalars)
    if len(tops) > 1:
        tops.sort(key=place_of)
    return tops, below


def place_of(t: Text) -> tuple[int, str]:
    """Where a scalar factor stands: roots of constants, names by name, functions, sums."""
    node = t.node
    root = w.inside(t, "sqrt")
    if root is not None and (isinstance(root.node, w.n.Number) or root.key == "pi"):
        return -1, ""
    if isinstance(node, w.n.Binary) and node.op == "**" and isinstance(node.right, w.n.Number):
        node = node.left
    if isinstance(node, w.n.Name):
        return 0, node.id
    return (2 if isinstance(node, w.n.Binary) and node.op in "+-" else 1), ""
