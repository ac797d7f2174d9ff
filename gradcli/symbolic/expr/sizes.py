"""Sizes of dimensions as texts: a number, a name, or made of them: ``n-1``, ``n+m``, ``n*m``.

A size is a polynomial in names with whole coefficients, written in one way only, so that equal
sizes are equal texts. What a step of a slice leaves, ``((n+1)//2)``, counts as a name, and so does
``min(n,m)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

Terms = dict[tuple[str, ...], int]
"""Coefficients by the names that are multiplied; () for the plain number."""


def is_plain(size: str) -> bool:
    """Whether a size is a number or a single name."""
    return size.isdigit() or size.isidentifier()


def terms(size: str) -> Terms:
    """A size as a polynomial. Raises ValueError where it is none."""
    return dict(_terms(size.replace(" ", "")))


@lru_cache(maxsize=1000)
def _terms(size: str) -> tuple[tuple[tuple[str, ...], int], ...]:
    found: Terms = {}
    depth, start = 0, 0
    for i, c in enumerate(size + "+"):
        depth += (c == "(") - (c == ")")
        if c in "+-" and not depth and i > 0:
            names, number = _product(size[start:i])
            found[names] = found.get(names, 0) + number
            start = i
    return tuple(found.items())


def _product(text: str) -> tuple[tuple[str, ...], int]:
    number = -1 if text.startswith("-") else 1
    names = []
    depth, parts = 0, [""]
    for c in text.lstrip("+-"):
        depth += (c == "(") - (c == ")")
        if c == "*" and not depth:
            parts.append("")
        else:
            parts[-1] += c
    for part in parts:
        if part.isdigit():
            number *= int(part)
        elif part.isidentifier() or (part.startswith(("((", "min(")) and part.endswith(")")):
            names.append(part)
        else:
            raise ValueError(text)
    return tuple(sorted(names)), number


def text(found: Terms) -> str:
    """A polynomial as a size: names in order, the plain number last."""
    parts = []
    for names, number in sorted(found.items(), key=lambda t: (-len(t[0]), -t[1], t[0])):
        if number:
            size = "*".join(
                [*([str(abs(number))] if abs(number) != 1 or not names else []), *names]
            )
            parts.append(("-" if number < 0 else "+") + size)
    return "".join(parts).removeprefix("+") or "0"


def plus(a: str, b: str | int, sign: int = 1) -> str:
    """The sum of two sizes."""
    found = terms(a)
    for names, number in terms(str(b)).items():
        found[names] = found.get(names, 0) + sign * number
    return text(found)


def times(a: str, b: str | int) -> str:
    """The product of two sizes."""
    found: Terms = {}
    for first, c in terms(a).items():
        for second, d in terms(str(b)).items():
            names = tuple(sorted((*first, *second)))
            found[names] = found.get(names, 0) + c * d
    return text(found)


def over(a: str, step: int) -> str:
    """A size divided by a number, rounded down."""
    found = terms(a)
    if all(c % step == 0 for c in found.values()):
        return text({k: c // step for k, c in found.items()})
    return str(int(a) // step) if a.isdigit() else f"(({a})//{step})"


def smaller(a: str, b: str) -> str:
    """The smaller of two sizes."""
    if a == b:
        return a
    return (
        str(min(int(a), int(b))) if a.isdigit() and b.isdigit() else f"min({min(a, b)},{max(a, b)})"
    )


def names(size: str) -> set[str]:
    """The names that a size is made of."""
    word, found = "", set()
    for c in size + " ":
        if c.isalnum() or c == "_":
            word += c
        else:
            if word and not word.isdigit() and (word, c) != ("min", "("):
                found.add(word)
            word = ""
    return found


def value(size: str, known: Mapping[str, int]) -> int | None:
    """The number that a size stands for, None where a name has none."""
    total = 0
    for parts, number in terms(size).items():
        for part in parts:
            one: int | None
            if part.startswith("min("):
                ends = [value(end, known) for end in part[4:-1].split(",")]
                one = None if None in ends else min(e for e in ends if e is not None)
            elif part.startswith("(("):
                inner, _, step = part[2:-1].rpartition(")//")
                whole = value(inner, known)
                one = None if whole is None else whole // int(step)
            else:
                one = known.get(part)
            if one is None:
                return None
            number *= one
        total += number
    return total


def solved(size: str, number: int) -> tuple[str, int] | None:
    """(name, its value) for which a size with one name, to the first power, is a number."""
    found = terms(size)
    rest = found.pop((), 0)
    if len(found) != 1:
        return None
    ((parts, factor),) = found.items()
    if len(parts) != 1 or not parts[0].isidentifier() or (number - rest) % factor:
        return None
    return parts[0], (number - rest) // factor


def known_from(sizes: Mapping[str, int]) -> dict[str, int]:
    """The value of every single name, from the sizes that dimensions have: n-1 is 3, so n is 4."""
    found = {k: x for k, x in sizes.items() if k.isidentifier()}
    for size, number in sizes.items():
        if not is_plain(size):
            one = solved(size, number)
            if one is not None:
                found.setdefault(*one)
    return found


def extent(
    size: str, lower: int | str | None, upper: int | str | None, step: int | None
) -> tuple[str, int | str]:
    """(how many, the first) of a slice along a dimension of that size; bounds may be sizes.

    Of a size with a name is assumed that it reaches to every bound. Raises ValueError for a step
    below 1 and for bounds that cannot be compared.
    """
    step = 1 if step is None else step
    if step < 1:
        raise ValueError("a step below 1")
    if isinstance(lower, str) or isinstance(upper, str):
        start = "0" if lower is None else str(lower)
        end = size if upper is None else str(upper)
        if step != 1 or start.startswith("-") or end.startswith("-"):
            raise ValueError("a bound that is a size, and a step or a bound below 0")
        return plus(end, start, -1), int(start) if start.isdigit() else start
    if size.isdigit():
        first, last, _ = slice(lower, upper, step).indices(int(size))
        return str(len(range(first, last, step))), first
    first = 0 if lower is None else lower
    if first < 0:
        if upper is not None and upper >= 0:
            raise ValueError("bounds from both ends")
        return str(max(0, -((first - (upper or 0)) // step))), first
    if upper is not None and upper >= 0:
        return str(max(0, -((first - upper) // step))), first
    if upper is not None and step > 1:
        raise ValueError("a step and an end that is counted from behind")
    return over(plus(size, (upper or 0) - first + step - 1), step), first


def never_negative(size: str) -> bool:
    """Whether a size is 0 or more, whatever its names stand for (1 at least)."""
    found = terms(size)
    rest = found.pop((), 0)
    return all(c > 0 for c in found.values()) and sum(found.values()) + rest >= 0
