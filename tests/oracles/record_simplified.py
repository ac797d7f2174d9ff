"""What SymPy simplifies derivatives to, for tests/symbolic/test_scalar.py and test_normal.py.

Run with sympy 1.14.0 beside gradcli and its test extra:
    python -m tests.oracles.record_simplified
Writes tests/oracles/simplified.json.gz: text, variable, and sympy.simplify of the derivative.
"""

from __future__ import annotations

import json

import sympy

from tests.support.oracles import save
from tests.symbolic.test_normal import QUOTIENTS
from tests.symbolic.test_scalar import TEXTBOOK


def main() -> None:
    """Record all of both lists."""
    names = {n: sympy.Symbol(n, real=True) for n in "abcdxyz"}
    lines = []
    for text, wrt in dict.fromkeys([*((text, "x") for text in TEXTBOOK), *QUOTIENTS]):
        slope = sympy.diff(sympy.sympify(text, locals=names), names[wrt])
        lines.append(json.dumps([text, wrt, str(sympy.simplify(slope))]))
    head = json.dumps({"sympy": sympy.__version__})
    script = "tests/oracles/record_simplified.py"
    cases = ",\n".join(lines)
    save("simplified", f'{{"made_with": {head}, "script": "{script}", "cases": [\n{cases}\n]}}\n')


if __name__ == "__main__":
    main()
