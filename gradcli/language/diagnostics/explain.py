"""A SyntaxFailure as the Fault that a user reads."""

from __future__ import annotations

from gradcli.language.diagnostics import constraints, lexical
from gradcli.language.diagnostics.render import SyntaxFault
from gradcli.language.diagnostics.unexpected_token import unexpected_token
from gradcli.language.syntax.failures import SyntaxFailure
from gradcli.ops.errors import Fault

EXPLANATIONS = {
    **lexical.EXPLANATIONS,
    **constraints.EXPLANATIONS,
    "unexpected_token": unexpected_token,
}
"""By the kind of a failure: a function of the place and the details."""


def explain(failure: SyntaxFailure) -> Fault:
    """The SyntaxFault or LimitFault of a failure.

    An open bracket that is never closed explains what follows it, so it is reported instead of a
    mistake after it.
    """
    make = EXPLANATIONS[failure.kind]
    fault = make((failure.source, failure.start, failure.end), **failure.details)
    late = failure.unclosed
    if late is not None and isinstance(fault, SyntaxFault) and fault.start > late.start:
        return explain(late)
    return fault
