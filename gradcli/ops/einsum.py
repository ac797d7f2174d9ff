"""einsum: sums over products of tensors, by letters; every step of it an operator.

``einsum("ij,jk,k->i", A, B, x)`` is carried out two operands at a time. ``plan`` says which steps,
so that arrays, Tensors and symbols take the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gradcli.ops.declaration import cures
from gradcli.ops.declaration.batching import Batch
from gradcli.ops.declaration.node_names import einsum_viewed, of_einsum
from gradcli.ops.dims import in_rows
from gradcli.ops.errors import bad_shape, bad_type, bad_value
from gradcli.ops.kinds import bilinear
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS, Operator

FEW = 1 << 12


def _contract(x: Any, y: Any, labels: str = "") -> Any:
    left, _, out = labels.partition("->")
    sizes: dict[str, int] = {}
    for part, shape in zip(left.split(","), (np.shape(x), np.shape(y)), strict=True):
        if len(part) != len(shape):
            raise bad_shape(f"einsum: {len(part)} letters for a tensor of {len(shape)} dimensions")
        for letter, n in zip(part, shape, strict=True):
            if sizes.setdefault(letter, n) != n:
                raise bad_shape(
                    f"einsum: the sizes {sizes[letter]} and {n} meet at {letter!r}",
                    operands=((0, f"shape {np.shape(x)}"), (1, f"shape {np.shape(y)}")),
                    torch=f"einsum(): subscript {letter} has size {n} for operand 1 which does not "
                    f"broadcast with previously seen size {sizes[letter]}",
                )  # fmt: skip
    charge_shape([sizes[letter] for letter in out])
    # To find out whether BLAS can do it takes longer than a few sums.
    found = np.einsum(labels, x, y, optimize=math.prod(sizes.values()) > FEW)
    return in_rows(found) if sizes.keys() - set(out) else found  # sums lie in rows, as in PyTorch


def _turned(labels: str, by: int) -> str:
    """The labels of the transpose by one side: the result's take that side's place."""
    left, _, out = labels.partition("->")
    parts = left.split(",")
    return f"{out},{parts[1 - by]}->{parts[by]}"


# ---- Under vmap: the batch is the first dimension ---------------------------------------------


def contracted(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """One more letter, on the sides that have the batch and on the result."""
    left, _, out = params["labels"].partition("->")
    letter = next((c for c in _LETTERS if c not in params["labels"]), None)
    if letter is None:
        return NotImplemented
    sides = [letter * mine + s for s, mine in zip(left.split(","), batch.own, strict=True)]
    return op(*batch.values, labels=f"{','.join(sides)}->{letter}{out}")


contract: Operator = bilinear(
    "contract",
    _contract,
    lambda g, y, labels: contract(g, y, _turned(labels, 0)),
    lambda g, x, labels: contract(g, x, _turned(labels, 1)),
    grad_name="EinsumBackward0",
    doc="The sum over a product of two tensors, by letters; every letter occurs twice at least.",
    numpy="np.einsum({labels}, {0}, {1})",
    pytorch="torch.einsum({labels}, {0}, {1})",
    batching=contracted,
    node={"name": of_einsum, "operands": {"": ()}, "views": einsum_viewed},
    public=False,
    cures=cures.TOO_LARGE,
)


def plan(equation: Any, ranks: Sequence[int]) -> list[tuple[str, tuple[int, ...], dict[str, Any]]]:
    """The steps of an einsum: (operator, operands, parameters). Step i makes operand len(ranks)+i.

    Raises ValueFault (E0304) for an equation that is none, RuntimeFault (E0301) where it does not
    fit the ranks of the operands.
    """
    if not isinstance(equation, str):
        raise bad_type("einsum begins with its equation", help=_HELP)
    return _planned(equation, tuple(ranks))


@lru_cache
def _planned(
    equation: str, ranks: tuple[int, ...]
) -> list[tuple[str, tuple[int, ...], dict[str, Any]]]:
    parts, out = _read(equation, ranks)
    steps: list[tuple[str, tuple[int, ...], dict[str, Any]]] = []
    total = len(ranks)

    def emit(op: str, operands: tuple[int, ...], params: dict[str, Any]) -> int:
        steps.append((op, operands, params))
        return total + len(steps) - 1

    live: list[tuple[int, str]] = []
    for place, part in enumerate(parts):
        at = place
        while len(set(part)) < len(part):
            twice = next(c for c in part if part.count(c) > 1)
            i, j = part.index(twice), part.rindex(twice)
            rest = [k for k in range(len(part)) if k not in (i, j)]
            at = emit("permute", (at,), {"dims": (*rest, i, j)})
            at = emit("diagonal", (at,), {})
            part = "".join(part[k] for k in rest) + twice
        live.append((at, part))
    while True:
        for k, (at, part) in enumerate(live):
            others = out + "".join(p for i, (_, p) in enumerate(live) if i != k)
            lone = tuple(i for i, c in enumerate(part) if c not in others)
            if lone:
                at = emit("sum", (at,), {"dim": lone, "keepdim": False})
                live[k] = at, "".join(c for c in part if c in others)
        if len(live) == 1:
            break
        (a, x), (b, y) = live[:2]
        later = out + "".join(p for _, p in live[2:])
        last = len(live) == 2
        kept = out if last else "".join(dict.fromkeys(c for c in x + y if c in later))
        live[:2] = [(emit("contract", (a, b), {"labels": f"{x},{y}->{kept}"}), kept)]
    at, part = live[0]
    if part != out or not steps:  # a view in any case
        emit("permute", (at,), {"dims": tuple(part.index(c) for c in out)})
    return steps


def _read(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    _check_signs(equation)
    left, arrow, out = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    letters = "".join(parts)
    if not arrow:
        out = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    if len(parts) != len(ranks):
        said = f"einsum: {len(parts)} operands in {equation!r}, {len(ranks)} given"
        told = "fewer" if len(ranks) < len(parts) else "more"
        told = f"einsum(): {told} operands were provided than specified in the equation"
        raise bad_shape(said, torch=told)
    for place, (part, rank) in enumerate(zip(parts, ranks, strict=True)):
        if len(part) != rank:
            said = f"einsum: {part!r} stands for a tensor of {rank} dimensions"
            told = f"einsum(): the number of subscripts in the equation ({len(part)}) does not"
            told += f" match the number of dimensions ({rank}) for operand {place} and no ellipsis"
            raise bad_shape(said, torch=f"{told} was given")
    for c in out:
        if out.count(c) > 1 or c not in letters:
            said = f"einsum: the letter {c!r} of the result is {_WHY[c in letters]}"
            raise bad_value(said, torch=f"einsum(): output subscript {c} {_TORCHS[c in letters]}")
    return parts, out


def _check_signs(equation: str) -> None:
    """Raise RuntimeFault (E0304) for what is no letter and no ellipsis, or an ellipsis too many."""
    left, arrow, _ = equation.partition("->")
    place, seen, after = 0, False, len(left + arrow)
    at = 0
    while at < len(equation):
        sign, output = equation[at], bool(arrow) and at >= after
        said = None
        if at == len(left):  # the arrow
            seen, at = False, at + 1
        elif sign == "," and not output:
            place, seen = place + 1, False
        elif sign == ".":
            where = "output" if output else f"operand {place}"
            if seen and output:
                said = "found '.' for output but an ellipsis (...) was already found"
            elif seen:
                said = f"found '.' for {where} for which an ellipsis was already found"
            elif equation[at : at + 3] != "...":
                said = f"found '.' for {where} that is not part of any ellipsis{' (...)' * output}"
            seen, at = True, at + 2
        elif sign != " " and not (sign.isalpha() and sign.isascii()):
            said = f"invalid subscript given at index {at} in the equation string, subscripts must "
            said += "be in [a-zA-Z]"
        if said:
            wrong = f"{equation!r} is no equation of einsum"
            raise bad_value(wrong, help=_HELP, torch=f"einsum(): {said}")
        at += 1


_TORCHS = {
    False: "does not appear in the equation for any input operand",
    True: "appears more than once in the output",
}
_WHY = {False: "in no operand", True: "there twice"}
_HELP = "write einsum('ij,jk->ik', A, B): letters for dimensions, the result's behind the arrow"


def _spelt_out(equation: str, operands: list[Any]) -> tuple[str, list[Any]]:
    """The equation with letters for ``...``, and the operands without sizes 1 that broadcast."""
    _check_signs(equation)
    left, arrow, out = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    free = [c for c in _LETTERS if c not in left + out]
    if len(parts) != len(operands):
        return equation, operands
    ranks = [len(x.shape) - len(p.replace("...", "")) for p, x in zip(parts, operands, strict=True)]
    most = max([0, *(r for r, p in zip(ranks, parts, strict=True) if "..." in p)])
    names = "".join(free[:most])
    given: list[dict[str, int]] = []
    sizes: dict[str, int] = {}
    for i, (part, rank) in enumerate(zip(parts, ranks, strict=True)):
        if "..." in part:
            if rank < 0:
                count = len(operands[i].shape)
                raise bad_shape(
                    f"einsum(): the number of subscripts in the equation ({count - rank}) is more "
                    f"than the number of dimensions ({count}) for operand {i}"
                )
            parts[i] = part.replace("...", names[most - max(0, rank) :])
    for part, x in zip(parts, operands, strict=True):
        own: dict[str, int] = {}
        for letter, size in zip(part, x.shape, strict=False):
            known = own.setdefault(letter, size)
            if known != size and isinstance(known, int) and isinstance(size, int):
                raise bad_shape(
                    f"einsum(): subscript {letter} is repeated for operand {len(given)} but the "
                    f"sizes don't match, {size} != {own[letter]}"
                )
        given.append(own)
    for own in given:
        for letter, size in own.items():
            sizes[letter] = size if sizes.get(letter, 1) == 1 else sizes[letter]
    for i, (part, x) in enumerate(zip(parts, operands, strict=True)):
        dull = [
            k for k, (c, n) in enumerate(zip(part, x.shape, strict=False)) if n == 1 != sizes[c]
        ]
        if dull:
            operands[i] = OPERATORS["squeeze"](x, dim=tuple(dull))
            parts[i] = "".join(c for k, c in enumerate(part) if k not in dull)
    if not arrow:
        once = sorted(c for c in set(left) - set(".,") if left.count(c) == 1)
        out = "..." + "".join(once)
    return f"{','.join(parts)}->{out.replace('...', names)}", operands


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def einsum(equation: str, *operands: Any) -> Any:
    """The sum over a product of tensors, by letters, as NumPy's and PyTorch's.

    ``...`` stands for further dimensions. Sizes 1 broadcast.

    ``operands`` are arrays or values of any other reading; a letter that the result does not have
    is summed over.

    Example:
        >>> float(einsum("i,i->", np.array([1.0, 2.0]), np.array([3.0, 4.0])))
        11.0
    """
    made = list(operands)
    if isinstance(equation, str) and (
        "..." in equation
        or any(1 in x.shape for x in operands)
        or any(len(set(part)) < len(part) for part in equation.partition("->")[0].split(","))
    ):
        equation, made = _spelt_out(equation, made)
        operands = tuple(made)
    for op, at, params in plan(equation, [len(x.shape) for x in operands]):
        made.append(OPERATORS[op](*(made[i] for i in at), **params))
    return made[-1]
