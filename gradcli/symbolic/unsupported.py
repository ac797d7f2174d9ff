"""What the machine says when it has no closed form, or withholds one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.errors import RuntimeFault

HELP = "gradcli grad gives the gradient at numbers, gradcli jac the Jacobian"
NO_CLOSED_FORM, WITHHELD = "E0701", "E0702"


def no_closed_form(what: str, source: Any = None, node: Any = None) -> RuntimeFault:
    """The fault (E0701) that says what has no closed form yet."""
    fault = RuntimeFault(NO_CLOSED_FORM, f"{what} has no closed form yet", help=HELP)
    return at(fault, source, node)


def no_value(what: str) -> RuntimeFault:
    """The fault (E0701) for an expression that has no value anywhere."""
    return RuntimeFault(NO_CLOSED_FORM, f"no closed form: {what}", help=HELP)


def as_reals(name: str, value: Any) -> Any:
    """A value as float64. Raises E0701 for complex numbers: formulas hold for real ones."""
    if np.iscomplexobj(value):
        raise no_closed_form(f"an expression of complex numbers, as those of {name},")
    return np.asarray(value, dtype=np.float64)


def too_large() -> RuntimeFault:
    """The fault (E0701) for an expression that grew past what a person would read."""
    return RuntimeFault(NO_CLOSED_FORM, "the closed form is too large to write down", help=HELP)


def norm_of_order(x: str, p: str, more: Sequence[str] = ()) -> RuntimeFault:
    """The fault (E0701) for a norm whose order is a variable: as a sum it has a closed form."""
    q = p if p.isidentifier() else f"({p})"
    said = f"a norm of order {p}, which is no plain number, has no closed form yet"
    mend = f"write sum({', '.join([f'abs({x})**{q}', *more])})**(1/{q})"
    return RuntimeFault(NO_CLOSED_FORM, said, help=mend)


def unturned(name: str) -> RuntimeFault:
    """The fault (E0302) for ``x.transpose()``, which does not say what to exchange."""
    said = "transpose() missing 2 required positional arguments: 'dim0' and 'dim1'"
    mend = f"write {name if name.isidentifier() else f'({name})'}.T"
    return RuntimeFault("E0302", said, help=mend)


def at(fault: Any, source: Any, node: Any) -> Any:
    """The fault with its place in the user's text, where it has none yet."""
    if source is not None and node is not None and getattr(fault, "source", None) is None:
        # Loaded late: only a fault needs the renderer.
        from gradcli.language.diagnostics.render import located

        located(fault, source, node.start, node.end)
    return fault
