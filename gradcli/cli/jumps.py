"""A warning where the point is on a kink and second derivatives depend on the slope chosen there.

abs(x)**2 is smooth, and by the rules its second derivative at 0 is 2*sign(0)**2, which is 0. What
stands beside the point tells: smooth functions differ there the less, the nearer it is. Those of
relu(x)**1.5 differ the more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from gradcli.cli.job import Job
from gradcli.engine import Tensor, grad, wrap
from gradcli.ops.errors import Fault
from gradcli.ops.operator import OPERATORS

_ASIDE = 0.3, 0.45
"""How far from the point is looked, as powers of the element type's precision."""
_GRADIENTS = re.compile(r"create_graph|\b(grad|grad_and_value|[jvh]vp|jac\w+|hess\w+)\(")


def jumps(
    job: Job, names: Sequence[str], order: int = 2, along: Sequence[Tensor] = (),
    derive: Callable[..., Sequence[Any]] | None = None,
) -> list[str]:  # fmt: skip
    """The warning, where derivatives up to ``order`` by these variables jump at their values.

    ``along`` is the direction that they are wanted in; ``derive`` gives them at values along it.
    Of order 1 they are those of a text with gradients in it.
    """
    text = job.program.source.text
    loud = job.long or "print" in text or "hook" in text
    if not names or loud or (order == 1 and not _GRADIENTS.search(text)):
        return []
    rng = np.random.default_rng(0)
    at = [job.leaves[name].detach() for name in names]
    sizes = [np.where(x.array == 0, np.max(abs(x.array), initial=0) or 1, x.array) for x in at]
    ways = [s * rng.choice((-1, 1), s.shape) * rng.uniform(0.5, 1, s.shape) for s in sizes]
    along = along or [_like(x, rng.uniform(0.5, 1, x.array.shape)) for x in at]
    derive = derive or partial(_derivatives, job.function(*names), order)
    eps = max(np.finfo(x.array.dtype).eps for x in at)

    def beside(step: float) -> Any:
        values = [_like(x, x.array + step * way) for x, way in zip(at, ways, strict=True)]
        return np.concatenate([np.ravel(np.asarray(y)) for y in derive(values, along)])

    with np.errstate(all="ignore"), suppress(Fault):  # where there is no value beside the point
        here = beside(0.0)
        for side in (1, -1):
            far, near = (beside(side * eps**power) for power in _ASIDE)
            off, size = abs(near - here), np.max(abs(np.array([here, near])), initial=0)
            jumped = (off > eps**0.5 * size) & (abs(far - near) < 0.25 * off)
            grown = (off > eps**0.5 * max(size, 1)) & (off > 1.25 * abs(far - here))
            if np.any(jumped | grown):
                return _said(job, names)
    return []


def _like(x: Tensor, array: Any) -> Tensor:
    return wrap(np.asarray(array).astype(x.array.dtype)[()], x.dtype)


def _derivatives(
    function: Any, order: int, values: Sequence[Tensor], along: Sequence[Tensor]
) -> list[Any]:
    """Gradients, of the value's entries in one sum, and of those in the direction ``along``."""
    leaves = [x.requires_grad_() for x in values]
    outputs: Any = [function(*leaves).sum()]
    weights: Any = None
    found: list[Any] = []
    for _ in range(order):
        if any(y.requires_grad for y in outputs):
            outputs = grad(outputs, leaves, weights, create_graph=True, materialize_grads=True)
        else:
            outputs = [0 * x.detach() for x in leaves]
        found += [y.detach() for y in outputs]
        weights = along
    return found


def _said(job: Job, names: Sequence[str]) -> list[str]:
    from gradcli.symbolic.kinks import kinks  # loaded late: there mostly is no kink
    from gradcli.symbolic.program.steps import steps_of

    said = "the point is on a kink, where second derivatives may be wrong"
    try:
        steps = steps_of(job.program)
    except Fault:  # a program that is no sequence of steps
        return [said]
    if found := kinks(steps, names, ("abs(1/x)",), 2):
        return [f"{said} ({'; '.join(found)})"]
    kinds = {OPERATORS[s.op].kind if s.op in OPERATORS else "" for s in steps if s.inputs}
    return [] if kinds <= {"elementwise", "linear", "bilinear"} else [said]  # steep, not a kink
