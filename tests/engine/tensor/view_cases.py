"""Every way to make a view, to write to it and to go on, told as text: for gradcli and for PyTorch.

Nothing here imports either: the library is passed in.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

MODES = ("enable_grad", "no_grad", "inference_mode")
BASES = ("leaf", "plain", "computed")
VIEWS = {
    "item": lambda x: x[0],
    "slice": lambda x: x[:2],
    "view": lambda x: x.view(3, 1),
    "expand": lambda x: x.expand(2, 3),
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "unbind": lambda x: x.unbind()[0],
    "split": lambda x: x.split(2)[0],
    "t": lambda x: x.view(1, 3).t(),
    "diagonal": lambda x: x.view(1, 3).diagonal(),
}
WRITES = {
    "mul_": lambda lib, v: v.mul_(2),
    "zero_": lambda lib, v: v.zero_(),
    "add_": lambda lib, v: v.add_(lib.tensor(1.0, requires_grad=True)),
    "copy_": lambda lib, v: v.copy_(lib.tensor(5.0)),
    "setitem": lambda lib, v: v.__setitem__(..., lib.tensor(7.0, requires_grad=True)),
    "requires_grad_": lambda lib, v: v.requires_grad_(),
    "detach_": lambda lib, v: v.detach_(),
}
CASES = tuple(itertools.product(MODES, MODES, BASES, VIEWS, WRITES))


def _told(fault: Exception) -> str:
    kinds = [c.__name__ for c in type(fault).__mro__ if c.__module__ == "builtins"]
    return f"{kinds[0]}: {str(fault)[:50].split(' [')[0]}"


def _tried(action: Any) -> str:
    try:
        return str(action())
    except Exception as fault:
        return _told(fault)


def _state(t: Any) -> tuple:
    made = None if t.grad_fn is None else t.grad_fn.name().removeprefix("torch::autograd::")
    return t.requires_grad, t.is_leaf, made, t._version, t.tolist()


def outcome(lib: Any, case: tuple) -> str:
    """What happens, step by step: the view, the write, what is left, gradients, another write."""
    made, written, base, view, write = case
    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=base != "plain")
    if base == "computed":
        x = x * 1
    with getattr(lib, made)():
        v = VIEWS[view](x)
    lines = [_tried(lambda: _state(v))]
    with getattr(lib, written)():
        lines.append(_tried(lambda: (WRITES[write](lib, v), None)[1]))
    lines += [_tried(lambda: _state(v)), _tried(lambda: _state(x))]
    if x.requires_grad:
        lines.append(_tried(lambda: (x * 2).sum().backward()))
    lines.append(_tried(lambda: v.sum().backward() if v.requires_grad else None))
    lines.append(_tried(lambda: (v.mul_(1), None)[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines.append(_tried(lambda: None if x.grad is None else x.grad.tolist()))
    return "; ".join(lines)
