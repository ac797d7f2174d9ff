"""Polynomials in several variables over the whole numbers: products, exact quotients, divisors.

A polynomial maps exponents (one tuple, a number for each variable) to a coefficient that is not 0.
Work is counted: where a ring's budget is spent, TooMuch is raised and the caller does without.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

Poly = dict[tuple[int, ...], int]
MOST_BITS = 6000
"""Size of the numbers that the heuristic divisor may work with."""


class TooMuch(Exception):
    """The budget is spent."""


class Ring:
    """Arithmetic in a fixed number of variables, within a budget of term operations."""

    __slots__ = ("left", "one", "size", "unit")

    def __init__(self, size: int, budget: int) -> None:
        self.size = size
        self.left = budget
        self.unit = (0,) * size
        self.one: Poly = {self.unit: 1}

    def spend(self, work: int) -> None:
        """Count work. Raises TooMuch."""
        self.left -= work
        if self.left < 0:
            raise TooMuch

    def variable(self, k: int, power: int = 1) -> Poly:
        """One variable to a power."""
        exponents = list(self.unit)
        exponents[k] = power
        return {tuple(exponents): 1}

    def add(self, a: Poly, b: Poly, factor: int = 1) -> Poly:
        """a + factor*b."""
        self.spend(len(b))
        found = dict(a)
        for m, c in b.items():
            total = found.get(m, 0) + factor * c
            if total:
                found[m] = total
            else:
                found.pop(m, None)
        return found

    def mul(self, a: Poly, b: Poly) -> Poly:
        """a*b."""
        self.spend(len(a) * len(b) + 1)
        if len(a) > len(b):
            a, b = b, a
        found: Poly = {}
        for m1, c1 in a.items():
            for m2, c2 in b.items():
                m = tuple([i + j for i, j in zip(m1, m2, strict=True)])
                found[m] = found.get(m, 0) + c1 * c2
        return {m: c for m, c in found.items() if c}

    def power(self, a: Poly, n: int) -> Poly:
        """a**n for n >= 0."""
        found = self.one
        while n:
            if n & 1:
                found = self.mul(found, a)
            n >>= 1
            if n:
                a = self.mul(a, a)
        return found

    def divide(self, a: Poly, b: Poly) -> Poly | None:
        """a/b where that is a polynomial over the whole numbers, else None."""
        if len(b) == 1:
            ((m2, c2),) = b.items()
            if any(c % c2 or any(i < j for i, j in zip(m, m2, strict=True)) for m, c in a.items()):
                return None
            self.spend(len(a))
            return {
                tuple([i - j for i, j in zip(m, m2, strict=True)]): c // c2 for m, c in a.items()
            }
        if not a:
            return {}
        lead = max(b)
        top = max(a)
        if any(self.degree(b, k) > self.degree(a, k) for k in range(self.size)):
            return None
        rest, found = dict(a), {}
        while rest:
            top = max(rest)
            shift = tuple([i - j for i, j in zip(top, lead, strict=True)])
            if min(shift) < 0 or rest[top] % b[lead]:
                return None
            c = rest[top] // b[lead]
            found[shift] = c
            self.spend(len(b) + len(rest))
            for m, x in b.items():
                at = tuple([i + j for i, j in zip(m, shift, strict=True)])
                total = rest.get(at, 0) - c * x
                if total:
                    rest[at] = total
                else:
                    del rest[at]
        return found

    def degree(self, a: Poly, k: int) -> int:
        """The degree in one variable; -1 of zero."""
        return max((m[k] for m in a), default=-1)

    def slope(self, a: Poly, k: int) -> Poly:
        """The derivative by one variable."""
        found = {}
        for m, c in a.items():
            if m[k]:
                found[(*m[:k], m[k] - 1, *m[k + 1 :])] = c * m[k]
        return found

    def primitive(self, a: Poly) -> tuple[int, tuple[int, ...], Poly]:
        """(c, m, p) with a = c * x**m * p: p has no common factor, its leading sign is +."""
        c = gcd(*a.values())
        least = tuple(map(min, zip(*a, strict=True))) if len(a) > 1 else next(iter(a))
        if a[max(a)] < 0:
            c = -c
        if any(least):
            p = {
                tuple([i - j for i, j in zip(m, least, strict=True)]): x // c for m, x in a.items()
            }
        else:
            p = {m: x // c for m, x in a.items()} if c != 1 else a
        return c, least, p

    def gcd(self, a: Poly, b: Poly) -> Poly:
        """A greatest common divisor of two primitive polynomials; 1 where it was not found."""
        shared = [k for k in range(self.size) if self.degree(a, k) > 0 and self.degree(b, k) > 0]
        if not shared or len(a) < 2 or len(b) < 2:
            return self.one
        levels = [k for k in range(self.size) if self.degree(a, k) > 0 or self.degree(b, k) > 0]
        found = self._by_digits(a, b, levels)
        return self.one if found is None else self.primitive(found)[2]

    def _by_digits(self, a: Poly, b: Poly, levels: Sequence[int]) -> Poly | None:
        """The divisor by evaluation at a large number and reading the digits of the result.

        Char, Geddes and Gonnet's GCDHEU, one of the variables ``levels`` after the other; what it
        finds is verified by division.
        """
        if not levels:
            return {self.unit: gcd(*a.values(), *b.values())}
        *others, k = levels
        content = gcd(gcd(*a.values()), gcd(*b.values()))
        a = {m: c // content for m, c in a.items()} if content > 1 else a
        b = {m: c // content for m, c in b.items()} if content > 1 else b
        x = 2 * min(max(map(abs, a.values())), max(map(abs, b.values()))) + 29
        highest = max(self.degree(a, k), self.degree(b, k))
        for _ in range(4):
            if x.bit_length() * highest > MOST_BITS:
                return None
            low_a, low_b = self._at(a, k, x), self._at(b, k, x)
            if low_a and low_b:
                # Depth is the number of variables, at most a dozen.
                inner = self._by_digits(low_a, low_b, others)
                if inner is None:
                    return None
                found = self._read(inner, k, x)
                c = gcd(*found.values())
                found = {m: v // c for m, v in found.items()}
                if self.divide(a, found) is not None and self.divide(b, found) is not None:
                    return {m: v * content for m, v in found.items()}
            x = x * 73794 // 27011
        return None

    def _at(self, a: Poly, k: int, x: int) -> Poly:
        """The value at one variable."""
        powers = [1]
        for _ in range(self.degree(a, k)):
            powers.append(powers[-1] * x)
        self.spend(len(a) + len(powers))
        found: Poly = {}
        for m, c in a.items():
            at = (*m[:k], 0, *m[k + 1 :])
            found[at] = found.get(at, 0) + c * powers[m[k]]
        return {m: c for m, c in found.items() if c}

    def _read(self, a: Poly, k: int, x: int) -> Poly:
        """The polynomial whose value at a variable this is: its digits to the base x, balanced."""
        found: Poly = {}
        place = 0
        while a:
            self.spend(len(a) * (1 + x.bit_length() // 200))
            rest: Poly = {}
            for m, c in a.items():
                digit = c % x
                if digit > x // 2:
                    digit -= x
                if digit:
                    found[(*m[:k], place, *m[k + 1 :])] = digit
                c = (c - digit) // x
                if c:
                    rest[m] = c
            a, place = rest, place + 1
        return found

    def squarefree(self, a: Poly) -> list[tuple[Poly, int]]:
        """Powers whose product is the primitive polynomial a: by Yun's algorithm."""
        found: list[tuple[Poly, int]] = []
        waiting = [a]
        while waiting:
            p = waiting.pop()
            k = next((k for k in range(self.size) if self.degree(p, k) > 0), None)
            if k is None:
                continue
            content = self._content(p, k)
            if len(content) > 1:
                rest = self.divide(p, content)
                if rest is not None:
                    waiting.append(content)
                    p = rest
            d = self.slope(p, k)
            g = self._gcd_of(p, d)
            if g == self.one:
                found.append((p, 1))
                continue
            found += self._yun(p, d, g, k)
        return found

    def _gcd_of(self, a: Poly, b: Poly) -> Poly:
        """The divisor of two polynomials without regard to numbers."""
        if not a or not b:
            return a or b
        one, two = self.primitive(a), self.primitive(b)
        least = tuple(map(min, one[1], two[1]))
        return self.mul({least: 1}, self.gcd(one[2], two[2]))

    def _content(self, p: Poly, k: int) -> Poly:
        """What the coefficients of the powers of one variable share."""
        parts: dict[int, Poly] = {}
        for m, c in p.items():
            parts.setdefault(m[k], {})[(*m[:k], 0, *m[k + 1 :])] = c
        found: Poly = {}
        for part in parts.values():
            found = self._gcd_of(found, part) if found else self.primitive_part(part)
            if found == self.one:
                break
        return found

    def primitive_part(self, a: Poly) -> Poly:
        """a without the number that its coefficients share."""
        _, m, p = self.primitive(a)
        return self.mul({m: 1}, p) if any(m) else p

    def _yun(self, p: Poly, d: Poly, g: Poly, k: int) -> list[tuple[Poly, int]]:
        found = []
        b, c = self.divide(p, g), self.divide(d, g)
        power = 1
        while b is not None and c is not None and self.degree(b, k) > 0:
            rest = self.add(c, self.slope(b, k), -1)
            factor = self._gcd_of(b, rest) if rest else b
            if self.degree(factor, k) > 0:
                found.append((factor, power))
            b, c = self.divide(b, factor), self.divide(rest, factor) if rest else {}
            power += 1
            if power > 60:
                break
        whole = self.one
        for factor, n in found:
            whole = self.mul(whole, self.power(factor, n))
        quotient = self.divide(p, whole)
        if quotient is None:
            return [(p, 1)]
        return found if len(quotient) == 1 else [*found, (quotient, 1)]
