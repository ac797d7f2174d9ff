"""Symmetric matrices over several derivatives: S.T is S once the last of them has been taken.

A derivative says how each entry of a matrix counts by itself, of a symmetric one too. In its text
S.T may stand for S, but the derivative of that text is another one: what is differentiated again
must still say which of the two it means.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from gradcli.language.runtime.run import prepare
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.program.steps import Step, steps_of
from gradcli.symbolic.shapes.declarations import Declaration
from gradcli.symbolic.shapes.inference import Shapes, infer
from gradcli.symbolic.trace.trace import primal


def without_symmetry(shapes: Shapes, path: Sequence[str]) -> Shapes:
    """The shapes, with nothing said of symmetric matrices where a path differentiates again.

    ``path`` names by what is differentiated, one after the other.
    """
    symmetric = {k for k in path if "symmetric" in shapes.declarations[k].traits}
    if len(path) < 2 or not symmetric:
        return shapes
    found = copy(shapes)
    found.declarations = {
        k: Declaration(d.rank, d.dims) if k in symmetric else d
        for k, d in shapes.declarations.items()
    }
    return found


def reread(text: Text, shapes: Shapes) -> tuple[list[Step], Shapes, Any]:
    """The steps of a text, their shapes with all that was declared, and its source."""
    program = prepare(text.key)
    steps = steps_of(program)
    known = infer(steps, shapes.declarations, program.source, shapes.sizes)
    known.declarations = shapes.declarations | known.declarations
    return steps, known, program.source


def retraced(text: Text, shapes: Shapes) -> tuple[v.Tensor, tuple]:
    """The value of a text over its labels, and their sizes, with all that was declared.

    Raises a fault (E0701) for what a derivative can say and a value cannot.
    """
    v.reset()
    steps, known, _ = reread(text, shapes)
    return primal(steps, known)
