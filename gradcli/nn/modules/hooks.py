"""Calling a module that has hooks: before, forward, after, and on the way back.

Hooks on the way back need the gradients of the module's inputs and of its outputs, so both pass
through an identity Function, whose nodes are where the gradients are seen:

    inputs -> [identity] -> forward -> [identity] -> outputs
                 |  grad_input             |  grad_output
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.custom_function.function import Function


class BackwardHookFunction(Function):
    """The identity, so that there is a node to watch."""

    @staticmethod
    def forward(ctx: Any, *values: Tensor) -> tuple[Tensor, ...]:
        """The same tensors as views."""
        ctx.mark_non_differentiable(*[v for v in values if not v.requires_grad])
        return tuple(v.view_as(v) for v in values)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        """The same gradients."""
        return grads


def called(module: Any, args: tuple, options: dict) -> Any:
    """``module.forward`` with its hooks around it."""
    for hook, with_options in list(module._pre_hooks.values()):
        if with_options:
            changed = hook(module, args, options)
            if changed is not None:
                args, options = changed
            continue
        changed = hook(module, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    watch = _Watch(module) if module._backward_hooks or module._backward_pre_hooks else None
    if watch is not None:
        args = watch.inputs(args)
    out = module.forward(*args, **options)
    for hook, with_options in list(module._hooks.values()):
        changed = hook(module, args, options, out) if with_options else hook(module, args, out)
        if changed is not None:
            out = changed
    return out if watch is None else watch.outputs(out)


class _Watch:
    """One call of a module with backward hooks: what its gradients are, and whom to tell."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.grad_output: tuple | None = None
        self.entered = False

    def inputs(self, args: tuple) -> tuple:
        """The arguments through the identity; its node tells the hooks."""
        args, node, places = _through(args)
        if node is not None:
            self.entered = True

            def tell(grads: Sequence, _: Sequence) -> tuple | None:
                full = [None] * len(args)
                for place, grad in zip(places, grads, strict=True):
                    full[place] = grad
                changed = self._tell(tuple(full))
                return None if changed is None else tuple(changed[p] for p in places)

            node.register_hook(tell)
        return args

    def outputs(self, out: Any) -> Any:
        """The results through the identity; its node sees their gradients first."""
        values = out if isinstance(out, tuple) else (out,)
        values, node, places = _through(values)
        if node is not None:

            def see(grads: Sequence) -> tuple:
                full = [None] * len(values)
                for place, grad in zip(places, grads, strict=True):
                    full[place] = grad
                self.grad_output = tuple(full)
                for hook, _ in list(self.module._backward_pre_hooks.values()):
                    changed = hook(self.module, self.grad_output)
                    if changed is not None:
                        self.grad_output = changed if isinstance(changed, tuple) else (changed,)
                grads = tuple(self.grad_output[p] for p in places)
                if not self.entered:  # nothing differentiable went in: there is nothing to wait for
                    self._tell((None,) * len(values))
                return grads

            node.register_prehook(see)
        return values if isinstance(out, tuple) else values[0]

    def _tell(self, grad_input: tuple) -> tuple | None:
        replaced = None
        for hook, _ in list(self.module._backward_hooks.values()):
            changed = hook(self.module, grad_input, self.grad_output)
            if changed is not None:
                grad_input = replaced = changed if isinstance(changed, tuple) else (changed,)
        return replaced


def _through(values: tuple) -> tuple[tuple, Any, list[int]]:
    """Values, the tensors among them through the identity; its node, None where none is recorded;
    and the places of the tensors."""
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
    if not any(values[i].requires_grad for i in places):
        return values, None, []
    passed = BackwardHookFunction.apply(*[values[i] for i in places])
    passed = passed if isinstance(passed, tuple) else (passed,)
    out = list(values)
    for place, value in zip(places, passed, strict=True):
        out[place] = value
    node = next(v.grad_fn for v in passed if v.requires_grad)
    return tuple(out), node, places
