"""Modules as functions of their parameters: ``func.functional_call``, ``func.stack_module_state``.

A call with other values puts them in the modules' own places for its duration, so that a value may
be anything that a tensor may: a batch of ``vmap``, a tangent, a tensor being differentiated. Other
threads go on to see what is the modules' own there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import starmap
from operator import methodcaller
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.grad_mode import transformed
from gradcli.engine.tensor.storage import Slots
from gradcli.nn.modules.batchnorm import _BatchNorm
from gradcli.nn.modules.module import Module
from gradcli.ops.errors import LimitFault, ValueFault, bad_argument, bad_value

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


_MISSING = object()
_locks: WeakKeyDictionary[Module, Any] = WeakKeyDictionary()
_PATIENCE = 60.0
"""Seconds after which a thread that waits for another takes it for one that waits for this one."""


@contextmanager
def _turn(module: Module) -> Iterator[None]:
    """Inside, no other thread gives ``module``, or one inside it, values. What the call starts has
    the turn already: a pass deep inside others, which has a stack and so a thread of its own, too.
    """
    before = transformed.turns
    locks = {_locks.setdefault(m, RLock()) for m in module.modules()} - before
    back = map(methodcaller("release"), filter(methodcaller("_is_owned"), locks))
    try:
        transformed.turns = before | locks
        for lock in sorted(locks, key=id):  # in the order of any other thread
            if not lock.acquire(timeout=_PATIENCE):
                said = "another thread calls this module with values of its own, and does not end"
                raise LimitFault("E0608", said, help="give each thread a deepcopy() of the module")
        yield
    finally:
        transformed.turns = before
        list(back)  # in one step, which no interrupt cuts short


class _Lent(dict[str, Any]):
    """The parameters or the buffers of a module during a call with values for ``names``: ``lent``
    to who has the turn, and to other threads the module's ``own``."""

    def __init__(self, own: dict[str, Any], lock: Any) -> None:
        self.own, self.lent, self.lock, self.names = own, dict(own), lock, set[str]()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (self.copy(),)


def _asked(name: str) -> Any:
    def ask(self: _Lent, *given: Any) -> Any:
        here = self.lock in transformed.turns
        if here and name in _CHANGES and given[0] not in self.names:
            getattr(self.own, name)(*given)  # what the call assigns besides is the module's
        return getattr(self.lent if here else self.own, name)(*given)

    return ask


_CHANGES = ("__delitem__", "__setitem__", "pop", "setdefault")
for _name in vars(dict).keys() - vars(object).keys() - {"__class_getitem__", "fromkeys"}:
    setattr(_Lent, _name, _asked(_name))


def _place(module: Module, path: str, value: Any) -> tuple[Module, str, str | None]:
    """Which module a dotted name is in, its own name, and among what that has it, parameters or
    buffers. Raises KeyError for no name, and TypeError for what is no tensor, ``value`` or there.
    """
    where, _, name = path.rpartition(".")
    inner = module.get_submodule(where)
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    if value is not None and not isinstance(value, Slots):
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    kind = next((kind for kind in ("_parameters", "_buffers") if name in vars(inner)[kind]), None)
    before = None if kind is not None else getattr(inner, name, None)
    if before is not None and not isinstance(before, Slots):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    return inner, name, kind


def functional_call(
    module: Module, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """``module(*args, **kwargs)`` with the parameters and buffers of a dict (or of several).

    Parameters that are shared are replaced wherever they are where ``tie_weights``. What is not
    named stays as it is, and names that the module has not are attributes for the call; with
    ``strict`` either raises RuntimeFault (E0304). One dict receives what the module assigned to the
    names in it. Raises AttributeError for a name inside a module that is not there, and TypeError
    for what is no tensor, given or replaced. Threads that call one module, or one inside it, take
    turns; LimitFault (E0608) where one waits a minute, as for a thread that waits for it. To all
    other threads, those that the call starts as well, the module has its own parameters.

    Example:
        >>> import gradcli as torch
        >>> layer = torch.nn.Linear(1, 1, bias=False)
        >>> functional_call(layer, {"weight": torch.tensor([[3.0]])}, (torch.tensor([2.0]),))
        tensor([6.])
    """
    dicts = parameter_and_buffer_dicts
    if not isinstance(dicts, Mapping | list | tuple):
        said = "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got"
        raise ValueFault("E0303", f"{said} {type(dicts)}")
    dicts = [dicts] if isinstance(dicts, Mapping) else list(dicts)
    if not all(isinstance(found, Mapping) for found in dicts):
        said = "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
        raise ValueFault("E0303", said)
    times = Counter(name for found in dicts for name in found)
    if twice := [name for name in times if times[name] > 1]:
        said = "appeared in multiple dictionaries; behavior of functional call is ambiguous"
        raise bad_argument(f"{twice} {said}")
    given = dicts[0] if len(dicts) == 1 else {n: t for found in dicts for n, t in found.items()}
    with _turn(module):
        own: dict[str, Any] = {}
        if tie_weights or strict:
            own |= module.named_parameters(remove_duplicate=False)
            own |= module.named_buffers(remove_duplicate=False)
        values = dict(given)
        if tie_weights:
            shared: dict[int, Any] = {}
            for name in values.keys() & own.keys():
                if shared.setdefault(id(own[name]), values[name]) is not values[name]:
                    tied = sorted(n for n in values if n in own and own[n] is own[name])
                    said = f"multiple values for keys {tied}, which are tied. Consider using"
                    raise bad_argument(f"functional_call got {said} tie_weights=False")
            values |= {name: shared[id(t)] for name, t in own.items() if id(t) in shared}
        if strict and values.keys() != own.keys():
            more, missing = values.keys() - own.keys(), own.keys() - values.keys()
            lines = [f"Error(s) in reparametrizing for {type(module).__name__}:"]
            for title, names in (("Unexpected", more), ("Missing", missing)):
                if names:
                    lines.append(f"{title} key(s): {', '.join(map(repr, sorted(names)))}.")
            raise bad_value("\n\t".join(lines))
        args = () if args is None else args if isinstance(args, tuple) else (args,)
        kept: list[tuple[dict, str, Any]] = []
        lent: dict[str, tuple[_Lent, str]] = {}
        attributes: dict[str, tuple[Module, str, Any]] = {}
        back = starmap(dict.__setitem__, kept)
        try:
            for path, value in values.items():
                inner, name, kind = _place(module, path, value)
                if kind is None:
                    attributes[path] = inner, name, getattr(inner, name, _MISSING)
                    setattr(inner, name, value)
                    continue
                held = vars(inner)[kind]
                if all(held is not place for place, _ in lent.values()):
                    kept.append((vars(inner), kind, held))
                    held = vars(inner)[kind] = _Lent(held, _locks[inner])
                lent[path] = held, name
                held.names.add(name)
                held.lent[name] = value
            return module(*args, **(kwargs or {}))
        finally:
            list(back)  # in one step: no interrupt leaves a module with values of others
            now = {path: place.lent.get(name) for path, (place, name) in lent.items()}
            for path, (inner, name, was) in reversed(attributes.items()):
                now[path] = getattr(inner, name, values[path])
                if was is not _MISSING:
                    setattr(inner, name, was)
                elif hasattr(inner, name):
                    delattr(inner, name)
            if given is parameter_and_buffer_dicts:  # what the module assigned is its next state
                for path in given.keys() & now.keys():
                    given[path] = now[path]


def stack_module_state(models: Sequence[Module]) -> tuple[dict, dict]:
    """Parameters and buffers of equal modules, each stacked along a first dimension for vmap."""
    from gradcli.functions.overloads import stack

    if not models:
        raise bad_value("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        said = "Expected all models to have the same training/eval mode."
        raise bad_value(f"stack_module_state: {said}")
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
