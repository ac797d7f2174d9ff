"""Modules as functions of their parameters: ``func.functional_call``, ``func.stack_module_state``.

A call with other values writes them into the modules' own places for its duration, so that a value
may be anything that a tensor may: a batch of ``vmap``, a tangent, a tensor being differentiated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gradcli.engine.grad_mode import transformed
from gradcli.nn.modules.batchnorm import _BatchNorm
from gradcli.nn.modules.module import Module
from gradcli.ops.errors import ValueFault, bad_argument, bad_value

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def _place(module: Module, path: str) -> tuple[dict, str]:
    """The dict that holds what a dotted name names, and its key there."""
    where, _, name = path.rpartition(".")
    inner = module.get_submodule(where)
    return (inner._parameters if name in inner._parameters else inner._buffers), name


def functional_call(
    module: Module, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """``module(*args, **kwargs)`` with the parameters and buffers of a dict (or of several).

    Parameters that are shared are replaced wherever they are where ``tie_weights``. Names that the
    module has not are left out, and what is not named stays as it is; with ``strict`` either raises
    RuntimeFault (E0304). Raises AttributeError for a name inside a module that is not there.

    Example:
        >>> import gradcli as torch
        >>> layer = torch.nn.Linear(1, 1, bias=False)
        >>> functional_call(layer, {"weight": torch.tensor([[3.0]])}, (torch.tensor([2.0]),))
        tensor([6.])
    """
    dicts = parameter_and_buffer_dicts
    if not isinstance(dicts, Mapping | list | tuple):
        raise ValueFault(
            "E0303",
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}",
        )
    dicts = [dicts] if isinstance(dicts, Mapping) else list(dicts)
    for name, times in Counter(name for found in dicts for name in found).items():
        if times > 1:
            raise bad_argument(
                f"{name} appears in multiple dictionaries; behavior of functional call is ambiguous"
            )
    values = {name: value for found in dicts for name, value in found.items()}
    own = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    if strict and values.keys() != own.keys():
        more, missing = values.keys() - own.keys(), own.keys() - values.keys()
        said = [f"Error(s) in reparametrizing for {type(module).__name__}:"]
        for title, names in (("Unexpected", more), ("Missing", missing)):
            if names:
                said.append(f"{title} key(s): {', '.join(map(repr, sorted(names)))}.")
        raise bad_value("\n\t".join(said))
    for name in values.keys() - own.keys():
        module.get_submodule(name.rpartition(".")[0])
    values = {name: value for name, value in values.items() if name in own}
    if tie_weights:
        shared: dict[int, Any] = {}
        for name, value in values.items():
            if shared.setdefault(id(own[name]), value) is not value:
                tied = [n for n in values if own[n] is own[name]]
                raise bad_argument(
                    f"functional_call got multiple values for keys {tied}, which are tied. "
                    "Consider using tie_weights=False"
                )
        values = {**{n: shared[id(t)] for n, t in own.items() if id(t) in shared}, **values}
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    before = []
    lent = transformed.lent
    transformed.lent = [*lent, *values.values()]
    try:
        for path, value in values.items():
            held, name = _place(module, path)
            before.append((held, name, held[name]))
            held[name] = value
        return module(*args, **(kwargs or {}))
    finally:
        transformed.lent = lent
        for held, name, value in reversed(before):
            held[name] = value


def stack_module_state(models: Sequence[Module]) -> tuple[dict, dict]:
    """Parameters and buffers of equal modules, each stacked along a first dimension for vmap."""
    from gradcli.functions.overloads import stack

    if not models:
        raise bad_value("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise bad_value(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if len({type(m) for m in models}) > 1:
        raise bad_value("stack_module_state: Expected all models to be of the same class.")

    def stacked(named: list[dict]) -> dict:
        found = {}
        for name, first in named[0].items():
            if any(d[name].requires_grad != first.requires_grad for d in named):
                raise bad_value(f"Expected {name} from each model to have the same .requires_grad")
            value = stack([d[name].detach() for d in named], 0)
            found[name] = value.requires_grad_() if first.requires_grad else value
        return found

    return (
        stacked([dict(m.named_parameters()) for m in models]),
        stacked([dict(m.named_buffers()) for m in models]),
    )


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """``root``, whose batch norms keep no running statistics from here on: vmap cannot share them.

    They normalise by the statistics of the batch that they are given, in training or not.
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.track_running_stats = False
            module.running_mean = module.running_var = module.num_batches_tracked = None
    return root
