"""One product of factors as a matrix expression: a small graph, folded until no sum is left.

    labels are nodes, vectors have one node, matrices join two

    a vector at the end of a matrix      M @ v            one that ends nowhere     sum(M, dim)
    a label between two matrices         M @ N            with a vector on it       M @ diag(v) @ N
    two matrices on the same labels      M*N              one on a single label    diag(M), trace(M)

What cannot be folded (three matrices at one label) has no closed form in this language.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from gradcli.symbolic.emit import tree as w
from gradcli.symbolic.emit.slices import Acting, acted
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.expr.tensor import Label
from gradcli.symbolic.unsupported import no_closed_form

Atom = tuple[Text, Text]
"""A matrix and its transpose."""


class Vector(NamedTuple):
    """A factor over one label: a matrix product (its factors) or a single text, to a power."""

    chain: tuple[Text, ...]
    exponent: Fraction = Fraction(1)

    def text(self) -> Text:
        """It as one text, without its exponent."""
        return w.joined(self.chain, "@")


class Matrix(NamedTuple):
    """A product of matrices from a row label to a column label."""

    row: Label
    column: Label
    chain: tuple[Atom, ...]

    def turned(self) -> Matrix:
        """The same, read from the other side."""
        return Matrix(self.column, self.row, tuple((b, a) for a, b in reversed(self.chain)))

    def towards(self, row: Label) -> Matrix:
        """The same with this label for its rows."""
        return self if self.row == row else self.turned()

    def texts(self) -> tuple[Text, ...]:
        """The factors; as a whole transpose where that is shorter."""
        plain = acted([a for a, _ in self.chain], False)
        other = acted([b for _, b in reversed(self.chain)], False)
        if len(plain) > 1 and sum(t.cost for t in other) + 1 < sum(t.cost for t in plain):
            return (w.transposed(w.joined(other, "@")),)
        return plain

    def text(self) -> Text:
        """The product as one text."""
        return w.joined(self.texts(), "@")


def atom(x: Text, symmetric: bool = False, exponent: Fraction = Fraction(1)) -> Atom:
    """A text, to a power entry by entry, as a matrix with its transpose."""
    return _raised(x, exponent), _raised(x if symmetric else w.transposed(x), exponent)


def _raised(x: Text, exponent: Fraction) -> Text:
    if exponent < 0:
        return w.binary("/", w.numeral(1), w.raised(x, -exponent))
    return w.raised(x, exponent)


def elementwise(vectors: Sequence[Vector]) -> Text:
    """The entrywise product of the factors over one label."""
    if len(vectors) == 1 and vectors[0].exponent == 1:
        return vectors[0].text()
    for v in vectors:
        test = w.chosen(v.text()) if v.exponent == 1 else None
        if test is not None:
            rest = elementwise([x for x in vectors if x is not v])
            return w.called("where", test, rest, w.numeral(0))
    top, below = w.above_and_below((v.text(), v.exponent) for v in vectors)
    if not top and not below:  # all cancels: it keeps its shape
        one = vectors[0].text()
        return w.binary("/", one, one)
    top.sort(key=w.is_sum)
    found = w.joined(top) if top else w.numeral(1)
    return w.binary("/", found, w.joined(below)) if below else found


def _choice(x: Vector) -> bool:
    return x.exponent == 1 and w.chosen(x.text()) is not None


def reciprocal(chain: tuple[Text, ...]) -> Vector:
    """A product of matrices by its entries: ``1/X`` as X below the line."""
    node = chain[0].node
    single = len(chain) == 1 and isinstance(node, w.n.Binary) and node.op == "/"
    if single and w.n.is_number(node.left, 1):
        return Vector((Text(node.right, chain[0].cost - 1),), Fraction(-1))
    return Vector(chain)


def _times(a: Matrix, b: Matrix) -> Text:
    """Two matrices multiplied entry by entry."""
    if a.text().key == b.text().key:
        return w.raised(a.text(), Fraction(2))
    for one, other in ((a, b), (b, a)):
        if len(one.chain) == 1 and isinstance(one.chain[0][0], Acting):
            found = one.chain[0][0].mask(other.text())
            if found is not None:
                return found
    for one, other in ((b, a), (a, b)):
        entries = reciprocal((one.text(),))
        if entries.exponent < 0:
            return w.binary("/", other.text(), entries.text())
    return w.binary("*", a.text(), b.text())


class Graph:
    """Vectors by label, and matrices between labels, of one product."""

    def __init__(self, sums: dict[str, tuple[str, ...]] | None = None) -> None:
        self.vectors: dict[Label, list[Vector]] = {}
        self.matrices: list[Matrix] = []
        self.sums = {} if sums is None else sums  # texts that are sums: over which dimensions
        self.square: Text | None = None  # u where the whole is the sum of u**2
        self.power: tuple[Text, Fraction] | None = None  # (u, p) where it is the sum of u**p

    def added(self, dims: tuple[str, ...], *args: Text) -> Text:
        """A sum as a text; it is noted over what, since divided by the size it is a mean."""
        size = w.inside(args[0], "abs")
        found = w.called("sum", *args)
        if size is not None:
            found = w.called("norm", size, w.numeral(1), *args[1:])
        self.sums[found.key] = dims
        return found

    def hang(self, label: Label, vector: Vector) -> None:
        """Put a vector on a label."""
        self.vectors.setdefault(label, []).append(vector)

    def masked(self) -> None:
        """Vectors beside an indicator go into it: ``where(test, v, 0)``."""
        for k, m in enumerate(self.matrices):
            test = w.chosen(m.chain[0][0]) if len(m.chain) == 1 and m.row != m.column else None
            if test is None:
                continue
            chosen: list[Text] = []
            for label, is_row in ((m.row, True), (m.column, False)):
                ends = sum(label in (x.row, x.column) for x in self.matrices) == 1
                if label in self.vectors and not (ends and label[1] < 0):
                    part = elementwise(self.vectors.pop(label))
                    chosen.append(w.called("unsqueeze", part, w.numeral(1)) if is_row else part)
            if chosen:
                whole = w.called("where", test, w.joined(chosen), w.numeral(0))
                self.matrices[k] = Matrix(m.row, m.column, (atom(whole),))

    def fold(self) -> Text | None:
        """Fold all summed labels away; the scalar that is left where nothing is free."""
        self.masked()
        while True:
            if len(self.matrices) == 1 and not self.vectors:
                m = self.matrices[0]
                if m.row == m.column and m.row[1] < 0:
                    self.matrices = []
                    return w.called("trace", min(m.text(), m.turned().text(), key=lambda t: t.cost))
            self._loops()
            self._parallel()
            bound = sorted(
                {x for m in self.matrices for x in (m.row, m.column) if x[1] < 0}
                | {x for x in self.vectors if x[1] < 0},
                key=lambda x: -x[1],
            )
            if not bound:
                return None
            degree = {x: sum(x in (m.row, m.column) for m in self.matrices) for x in bound}
            if not self.matrices:
                return self._closed(bound[0])
            if max(degree.values()) > 2:
                # Ends folded and chains multiplied, matrices may come to lie side by side.
                pendant = next((x for x in bound if degree[x] == 1), None)
                middle = next((x for x in bound if degree[x] == 2), None)
                if pendant is not None:
                    self._fold_end(pendant)
                elif middle is not None:
                    self._join(middle)
                else:
                    raise no_closed_form("a sum over products that is no matrix product")
                continue
            if len(self.matrices) == 1 and not self.vectors and len(bound) == 2:
                return self._whole(self.matrices[0])
            ends = [x for x in bound if degree[x] == 1]
            if len(ends) == 2 and self._halved(ends, len(bound)):
                continue
            if ends:
                # The column end first: M @ v needs no transpose.
                columns = [x for x in ends if any(m.column == x for m in self.matrices)]
                self._fold_end((columns or ends)[0])
                continue
            ring = self._ring(degree)
            if ring is not None:
                return ring
            self._join(next(x for x in bound if degree[x] == 2))

    def _loops(self) -> None:
        for m in [m for m in self.matrices if m.row == m.column]:
            self.matrices.remove(m)
            self.hang(m.row, Vector((w.called("diag", m.text()),)))

    def _parallel(self) -> None:
        """Matrices on the same labels become one, entry by entry (but a trace of two stays one)."""
        if len(self.matrices) == 2 and not self.vectors:
            a, b = self.matrices
            if (a.row, a.column) == (b.column, b.row) and a.row[1] < 0 and a.column[1] < 0:
                return
        pairs: dict[frozenset, Matrix] = {}
        for m in self.matrices:
            ends = frozenset((m.row, m.column))
            if ends in pairs:
                first = pairs[ends]
                same = m.towards(first.row)
                both = _times(first, same), _times(first.turned(), same.turned())
                turned = min(both[1], w.transposed(both[0]), key=lambda t: t.cost)
                pairs[ends] = Matrix(first.row, first.column, ((both[0], turned),))
            else:
                pairs[ends] = m
        self.matrices = list(pairs.values())

    def _closed(self, label: Label) -> Text:
        """The sum over a label on which only vectors are left."""
        vectors = self.vectors.pop(label)
        exponents = [v.exponent for v in vectors]
        if len(set(exponents)) == 1 and exponents[0] > 0:
            self.power = elementwise([Vector(v.chain) for v in vectors]), exponents[0]
        if all(e == 2 for e in exponents):
            self.square = elementwise([Vector(v.chain) for v in vectors])
        if len(vectors) == 1 and exponents == [1]:
            return self.added((label[0],), vectors[0].text())
        if len(vectors) == 2 and exponents == [1, 1]:
            if vectors[0].text().key == vectors[1].text().key:
                self.square = vectors[0].text()
            return w.called("dot", vectors[0].text(), vectors[1].text())
        if len(vectors) == 1 and exponents == [2]:
            return w.called("dot", vectors[0].text(), vectors[0].text())
        whole = elementwise(vectors)
        first = next((v for v in vectors if v.exponent == 1), None)
        if first is not None and len(vectors) > 2 and not any(map(_choice, vectors)):
            rest = elementwise([v for v in vectors if v is not first])
            both = w.called("dot", first.text(), rest)
            if both.cost <= whole.cost:  # the sum itself costs one more
                return both
        return self.added((label[0],), whole)

    def _whole(self, m: Matrix) -> Text:
        """The sum of all entries of a matrix."""
        whole = min(m.text(), m.turned().text(), key=lambda t: t.cost)
        node = whole.node
        squared = isinstance(node, w.n.Binary) and node.op == "**"
        if squared and w.n.is_number(node.right, 2):
            self.square = Text(node.left, whole.cost - 1)
        elif squared and isinstance(node.right, w.n.Number):
            self.power = Text(node.left, whole.cost - 1), Fraction(repr(node.right.value))
        return self.added((m.row[0], m.column[0]), whole)

    def _halved(self, ends: Sequence[Label], labels: int) -> bool:
        """Fold v.T @ A @ A.T @ v from both ends, where that leaves dot(A.T @ v, A.T @ v)."""
        if len(self.matrices) % 2 or labels != len(self.matrices) + 1:
            return False
        both = [self.vectors.get(x) for x in ends]
        one, two = both
        if one is None or two is None or elementwise(one).key != elementwise(two).key:
            return False
        trial = Graph(self.sums)
        trial.matrices = list(self.matrices)
        trial.vectors = {label: list(vectors) for label, vectors in self.vectors.items()}
        for label in ends:
            for _ in range(len(self.matrices) // 2):
                m = next(m for m in trial.matrices if label in (m.row, m.column))
                trial._fold_end(label)
                label = m.row if m.column == label else m.column
        left, *right = trial.vectors[label]
        if len(right) != 1 or left.exponent != 1 or right[0].exponent != 1:
            return False
        if left.text().key != right[0].text().key:
            return False
        self.matrices, self.vectors = [], trial.vectors
        return True

    def _fold_end(self, label: Label) -> None:
        m = next(m for m in self.matrices if label in (m.row, m.column))
        self.matrices.remove(m)
        other = m.row if m.column == label else m.column
        m = m.towards(other)
        vectors = self.vectors.pop(label, None)
        if vectors is None:
            turned = m.turned()
            if turned.text().cost < m.text().cost:
                summed = self.added((label[0],), turned.text(), w.numeral(0))
            else:
                summed = self.added((label[0],), m.text(), w.numeral(1))
            self.hang(other, Vector((summed,)))
        else:
            single = len(vectors) == 1 and vectors[0].exponent == 1
            chain = vectors[0].chain if single else (elementwise(vectors),)
            if any(isinstance(a, Acting) for a, _ in m.chain):
                self.hang(other, Vector(acted([*(a for a, _ in m.chain), *chain], True)))
            else:
                self.hang(other, Vector((*m.texts(), *chain)))

    def _join(self, label: Label) -> None:
        first, second = [m for m in self.matrices if label in (m.row, m.column)]
        self.matrices = [m for m in self.matrices if m is not first and m is not second]
        a = first if first.column == label else first.turned()
        b = second.towards(label)
        middle: tuple[Atom, ...] = ()
        vectors = self.vectors.pop(label, None)
        if vectors is not None:
            middle = (atom(w.called("diag", elementwise(vectors)), True),)
        self.matrices.append(Matrix(a.row, b.column, (*a.chain, *middle, *b.chain)))

    def _ring(self, degree: dict) -> Text | None:
        """The trace of a product, where all matrices lie in one ring of summed labels."""
        inside = {x for m in self.matrices for x in (m.row, m.column)}
        if any(x[1] >= 0 for x in inside) or any(degree[x] != 2 for x in inside):
            return None
        if any(x[1] >= 0 for x in self.vectors):
            return None
        start = next((m.row for m in self.matrices if m.row not in self.vectors), None)
        if start is None:
            return None
        left = list(self.matrices)
        at, chain = start, []  # type: ignore[var-annotated]
        while left:
            m = next((m for m in left if m.row == at), None) or next(
                (m for m in left if m.column == at), None
            )
            if m is None:
                return None  # more than one ring
            left.remove(m)
            m = m.towards(at)
            chain += m.chain
            at = m.column
            if at in self.vectors and at != start:
                chain.append(atom(w.called("diag", elementwise(self.vectors[at])), True))
        self.matrices, self.vectors = [], {}
        if len(chain) > 1 and chain[-1][0].key.startswith("inv("):
            chain = [chain[-1], *chain[:-1]]  # an inverse before what it solves for
        plain = w.joined(acted([a for a, _ in chain], False), "@")
        other = w.joined(acted([b for _, b in reversed(chain)], False), "@")
        return w.called("trace", min(plain, other, key=lambda t: t.cost))
