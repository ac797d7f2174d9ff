"""Calling a module that has hooks: before, forward, after, and on the way back.

Hooks on the way back need the gradients of the module's inputs and of its outputs, so both pass
through an identity Function, whose nodes are where the gradients are seen:

    inputs -> [identity] -> forward -> [identity] -> outputs
                 |  grad_input             |  grad_output
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.custom_function.function import Function
from gradcli.engine.record.composite import in_graph
from gradcli.engine.source_location import warn
from gradcli.functions.overloads import is_tensor
from gradcli.ops.errors import RuntimeFault


class BackwardHookFunction(Function):
    """The identity, so that there is a node to watch."""

    @staticmethod
    def forward(ctx: Any, *values: Tensor) -> tuple[Tensor, ...]:
        """The same tensors as views."""
        views = tuple(v.view_as(v) for v in values)
        ctx.mark_non_differentiable(
            *[view for view, v in zip(views, values, strict=True) if not in_graph(v)]
        )
        return views

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        """The same gradients."""
        return grads


def called(module: Any, args: tuple, options: dict) -> Any:
    """``module.forward`` with its hooks around it."""
    ran: set[int] = set()
    out = None
    kinds = ("_backward_pre_hooks", "_backward_hooks")
    pre_hooks, hooks = ([hook for _, (hook, *_) in module._hooks_of(kind)] for kind in kinds)
    watch = _Watch(module, pre_hooks, hooks) if pre_hooks or hooks else None
    try:
        for _, (hook, with_options, _) in module._hooks_of("_forward_pre_hooks"):
            if with_options:
                changed = hook(module, args, options)
                if changed is None:
                    continue
                if not isinstance(changed, tuple) or len(changed) != 2:
                    said = "forward pre-hook must return None or a tuple of (new_args, new_kwargs)"
                    raise RuntimeFault("E0407", f"{said}, but got {changed}.")
                args, options = changed
                continue
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        if watch is not None:
            args = watch.inputs(args)
        out = module.forward(*args, **options)
        for number, entry in module._hooks_of("_forward_hooks"):
            ran.add(number)
            out = _after(entry, module, args, options, out)
        out = out if watch is None else watch.outputs(out)
        _hook_results(module, args, out)
    except Exception:
        for number, entry in module._hooks_of("_forward_hooks"):
            always = entry[2]
            if always and number not in ran:
                try:
                    out = _after(entry, module, args, options, out)
                except Exception as wrong:  # what was raised first is what counts
                    said = "module forward hook with ``always_call=True`` raised an exception that"
                    warn(f"{said} was silenced as another error was raised in forward: {wrong}")
        raise
    return out


def _after(entry: tuple, module: Any, args: tuple, options: dict, out: Any) -> Any:
    """The result, or what a hook after forward returns in its place."""
    hook, with_options, _ = entry
    changed = hook(module, args, options, out) if with_options else hook(module, args, out)
    return out if changed is None else changed


def _hook_results(module: Any, args: tuple, out: Any) -> None:
    """Register the hooks of the older form at the node of the first tensor of a result."""
    for _, (hook, *_) in module._hooks_of("_result_hooks"):
        node = next((v.grad_fn for v in _tensors(out)), None)
        if node is not None:
            node.register_hook(partial(hook, module))
            if reason := _not_seen(args, out, node):
                warn(
                    f"{reason} is deprecated and will be removed in future versions. Please use "
                    "register_full_backward_hook to get the documented behavior.",
                    FutureWarning,
                )


def _not_seen(args: tuple, out: Any, node: Any) -> str | None:
    """Why a hook of the older form may see other gradients than the module's."""
    results = (out,) if isinstance(out, Tensor) else out
    for values, when in ((results, "return"), (args, "take as input")):
        if not (isinstance(values, tuple) and all(isinstance(v, Tensor) for v in values)):
            what = f"that does not {when} a single Tensor or a tuple of Tensors"
            return f"Using non-full backward hooks on a Module {what}"
    before, after = ({v.grad_fn for v in vs if v.grad_fn is not None} for vs in (args, results))
    when = "outputs are generated by different autograd Nodes"
    if after == {node}:
        when = "the forward contains multiple autograd Nodes"
        if {inner for inner, _ in node.next_functions} == before:
            return None
    return f"Using a non-full backward hook when {when}"


def _tensors(out: Any) -> Iterator[Any]:
    """The tensors of a result: of nested tuples, lists and dicts of them."""
    work = [out]
    while work:
        value = work.pop()
        if is_tensor(value):
            yield value
        elif isinstance(value, tuple | list):
            work += reversed(value)
        elif isinstance(value, dict):
            work += reversed(value.values())


class _Watch:
    """One call of a module with backward hooks, those of then: its gradients, and whom to tell."""

    def __init__(self, module: Any, pre_hooks: list, hooks: list) -> None:
        self.module, self.pre_hooks, self.hooks = module, pre_hooks, hooks
        self.grad_output: tuple | None = None
        self.entered = False
        self.given = 0

    def inputs(self, args: tuple) -> tuple:
        """The arguments through the identity; its node tells the hooks."""
        self.given = len(args)
        args, node, places = _through(args)
        if node is not None:
            self.entered = True

            def tell(grads: Sequence, _: Sequence) -> tuple | None:
                if self.grad_output is None:  # second order: nothing came through the outputs
                    return None
                changed = self._tell(_placed(grads, places, [None] * len(args)))
                return None if changed is None else tuple(changed[p] for p in places)

            node.register_hook(tell)
        return args

    def outputs(self, out: Any) -> Any:
        """The results through the identity; its node sees their gradients first."""
        values = out if isinstance(out, tuple) else (out,)
        if not any(map(is_tensor, values)):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(out)}"
            )
        values, node, places = _through(values)
        if node is not None:

            def see(_: Sequence, grads: Sequence) -> tuple:
                self.grad_output = _placed(grads, places, [None] * len(values))
                for hook in self.pre_hooks:
                    changed = hook(self.module, self.grad_output)
                    if changed is not None:
                        self.grad_output = _as_many(changed, values, "pre hook", "grad_output")
                grads = tuple(self.grad_output[p] for p in places)
                if not self.entered:  # nothing differentiable went in: there is nothing to wait for
                    warn(
                        "Full backward hook is firing when gradients are computed with respect to "
                        "module outputs since no inputs require gradients."
                    )
                    self._tell((None,) * self.given)
                return grads

            node.register_hook(see)
        if not isinstance(out, tuple):
            return values[0]
        return type(out)(*values) if hasattr(out, "_fields") else values

    def _tell(self, grad_input: tuple) -> tuple | None:
        replaced = None
        for hook in self.hooks:
            changed = hook(self.module, grad_input, self.grad_output)
            if changed is None:
                continue
            if self.entered:
                grad_input = replaced = _as_many(changed, grad_input, "hook", "grad_input")
            elif not isinstance(changed, tuple) or any(part is not None for part in changed):
                said = "Backward hook for Modules where no input requires gradient should always"
                raise RuntimeFault("E0407", f"{said} return None or None for all gradients.")
        self.grad_output = None
        return replaced


def _as_many(changed: Any, values: Sequence[Any], hook: str, what: str) -> tuple[Any, ...]:
    """What a hook returned, as many gradients as there are ``values``. Raises E0407."""
    if len(changed) != len(values):
        said = f"Backward {hook} returned an invalid number of {what}, got {len(changed)}, but"
        raise RuntimeFault("E0407", f"{said} expected {len(values)}")
    return tuple(changed)  # PyTorch takes the rows of a tensor, too


def _through(values: tuple) -> tuple[tuple, Any, list[int]]:
    """Values, the tensors among them through the identity; its node, None where none is recorded;
    and the places of the tensors."""
    places = [i for i, v in enumerate(values) if is_tensor(v)]
    if not any(values[i].requires_grad for i in places):
        return values, None, []
    passed = BackwardHookFunction.apply(*[values[i] for i in places])
    passed = passed if isinstance(passed, tuple) else (passed,)
    node = next(v.grad_fn for v in passed if v.requires_grad)
    return _placed(passed, places, list(values)), node, places


def _placed(values: Sequence[Any], places: list[int], among: list[Any]) -> tuple[Any, ...]:
    for place, value in zip(places, values, strict=True):
        among[place] = value
    return tuple(among)
