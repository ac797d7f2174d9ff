"""Rewriting rules: functions of a tensor, marked with the operators that they rewrite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gradcli.symbolic.expr import tensor as v


class Rule(Protocol):
    """A function of a tensor; ``operators`` are those that the tensor has to hold."""

    operators: frozenset[str]

    def __call__(self, t: v.Tensor, /) -> v.Tensor: ...


def rewrites(*names: str) -> Callable[[Callable[[v.Tensor], v.Tensor]], Rule]:
    """Mark a rule with the operators without which it changes nothing."""

    def mark(rule: Callable[[v.Tensor], v.Tensor]) -> Rule:
        rule.operators = frozenset(names)  # type: ignore[attr-defined]
        return rule  # type: ignore[return-value]

    return mark
