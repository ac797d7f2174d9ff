"""Closed forms at values: the record and the warnings of ``diff``, as a command and as a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.display.records import tensor_record
from gradcli.display.values import show_value
from gradcli.language.runtime.run import prepare

if TYPE_CHECKING:
    from gradcli.symbolic.closed_form import Result


class Answer:
    """The derivatives of a ``Result``, and what they are at values.

    values     of each derivative; None where the formulas need more than is given
    missing    the variables of the formulas that have no value
    settled    the derivatives whose value is the engine's: their formulas lose digits there
    doubtful   those whose value may have lost digits
    others     those of which the engine has another value, and that
    undefined  whether the expression itself is NaN there
    """

    def __init__(
        self, result: Result, given: Mapping[str, Any], formula_alone: bool = False
    ) -> None:
        """``formula_alone`` keeps a formula's value also where rounding spoils it."""
        self.result = result
        self.values: dict[str, Any] | None = None
        self.settled: list[str] = []
        self.doubtful: list[str] = []
        self.others: dict[str, Any] = {}
        self.undefined = False
        have = {**given, **result.constants}
        needed = {name for text in result.derivatives.values() for name in prepare(text).free}
        self.missing = sorted(needed - result.sizes - have.keys())
        if not given or self.missing:
            return
        self.undefined = result.undefined(**have)
        if formula_alone:
            found = result.evaluate(**have)
            several = isinstance(found, dict)
            self.values = found if several else dict.fromkeys(result.derivatives, found)
        else:
            self.values, self.settled, self.doubtful, self.others = result.settled(**have)

    def record(self) -> dict[str, Any]:
        """The formulas, what was assumed, and how they were checked, for JSON."""
        result = self.result
        found: dict[str, Any] = {
            "order": result.order, "derivatives": result.derivatives, "assumed": result.assumed,
            "checked": result.checked,
        }  # fmt: skip
        if result.along:
            found["along"] = result.along
        if result.conditions:
            found["conditions"] = [c.record() for c in result.conditions]
        if result.constants:
            found["constants"] = {k: tensor_record(x) for k, x in result.constants.items()}
        if self.values is not None:
            found["values"] = {k: tensor_record(x) for k, x in self.values.items()}
        if self.settled:
            found["values_of_engine"] = self.settled
        if result.kinks:
            found["kinks"] = result.kinks
        return found

    def warnings(self) -> list[str]:
        """What is to be known about the values."""
        said = ["the expression itself is NaN there"] if self.undefined else []
        for name, value in self.others.items():
            numbers = " ".join(show_value(value, None).split())
            what = f"{self.result.label(name)} by gradcli grad is {numbers} there"
            said.append(f"{what}: at a kink a slope is chosen")
        return said + [
            f"the value of {self.result.label(name)} "
            + ("may have lost digits to rounding" if np.isfinite(value).all() else "is not finite")
            for name, value in (self.values or {}).items()
            if name in self.doubtful or not np.isfinite(value).all()
        ]  # fmt: skip
