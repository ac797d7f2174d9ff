"""What all optimizers share: parameter groups, ``zero_grad``, ``step`` and the state to save."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import wraps
from types import MethodType
from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.backward.hooks import clear
from gradcli.engine.creation.factories import tensor
from gradcli.engine.dtypes import float32, float64, get_default_dtype
from gradcli.engine.grad_mode import enable_grad, set_grad_enabled
from gradcli.engine.graph.node import RemovableHandle
from gradcli.engine.source_location import warn
from gradcli.functions.arithmetic import view_as_real
from gradcli.functions.scatter import view_as_complex
from gradcli.ops import OPERATORS
from gradcli.ops.errors import (
    AssertionFault,
    UnwrittenFault,
    ValueFault,
    bad_argument,
    bad_type,
    bad_value,
)  # fmt: skip
from gradcli.ops.memory_budget import step as turn

State = dict[str, Any]
"""What an optimizer keeps of one parameter."""
Group = Mapping[str, Any]
"""The options of a group of parameters."""
_SPOKEN = {"lr": "learning rate", "eps": "epsilon value"}


def _hooked_step(*args: Any, **kwargs: Any) -> Any:
    """``step`` between its hooks, which get the optimizer among the arguments, as in PyTorch."""
    self, (before, after) = args[0], args[0]._hooks
    for hook in list(before.values()):
        found = hook(self, args, kwargs)
        if found is not None:
            if not (isinstance(found, tuple) and len(found) == 2):
                wanted = "None or a tuple of (new_args, new_kwargs)"
                raise bad_value(f"{hook} must return {wanted}, but got {found}.")
            args, kwargs = found
    result = type(self).step(*args, **kwargs)
    for hook in list(after.values()):
        hook(self, args, kwargs)
    return result


def _noted(step: Callable[..., Any]) -> Callable[..., Any]:
    """``step`` that tells a scheduler that it ran."""

    @wraps(step)
    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.stepped is not None:
            self.stepped = True
        return step(self, *args, **kwargs)

    return noted


class Optimizer:
    """Holds parameters in groups and updates them in place by their ``grad``.

    ``params`` is an iterable of leaves, or of dicts ``{"params": [...], "lr": ...}`` whose other
    entries replace the defaults for that group. Raises ValueFault (E0304) for an empty list or a
    number out of range, TypeFault (E0303) for what is no tensor, ValueFault (E0404) for a tensor
    that is no leaf.
    """

    switches: tuple[str, ...] = ()
    """The last options in PyTorch's order; most choose among ways to compute the same step.

    These are accepted, shown and without effect, but for ``differentiable``: the step is recorded,
    for parameters that are no leaves.
    """

    kept: tuple[str, ...] = ()
    """What the state of a parameter has besides its ``step``, which begins as 0."""

    linear = False
    """Whether a step is linear in the gradient: that of complex numbers is that of their parts."""

    _update: Any = None
    """Writes the new value of one parameter: ``(p, gradient, state, group, steps so far)``."""

    stepped: bool | None = None
    """Whether ``step`` has run since there is a scheduler."""

    own_step: Any = None
    """The ``step`` put over the class's before there was a scheduler."""

    def __init_subclass__(cls) -> None:
        """A class may bring its own ``step``."""
        if "step" in vars(cls):
            cls.step = _noted(cls.step)  # type: ignore[method-assign]

    def __init__(
        self,
        params: Iterable[Any],
        defaults: Mapping[str, Any],
        switches: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(params, Tensor):
            said = "params argument given to the optimizer should be an iterable of Tensors or"
            raise bad_type(f"{said} dicts, but got {params.type()}", help="write SGD([x], lr=0.1)")
        given = {**defaults, **(switches or {})}
        chosen = {name: given.pop(name, _unset(name)) for name in self.switches}
        if unknown := given.keys() - defaults.keys():
            said = f"got an unexpected keyword argument {min(unknown)!r}"
            raise TypeError(f"{type(self).__name__}.__init__() {said}")
        if chosen.get("fused") and chosen.get("differentiable"):
            raise bad_value("`fused` does not support `differentiable`")
        if chosen.get("fused") and chosen.get("foreach"):
            raise bad_value("`fused` and `foreach` cannot be `True` together.")
        self.defaults = {**given, **chosen}
        if switches is not None:  # what the options of a user's class mean is not known
            self._check(self.defaults)
        self.state: dict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise bad_argument("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _begin(self, given: Mapping[str, Any]) -> None:
        """Start with what a constructor was given, its ``locals()``: the options in order."""
        options: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in given.items()
        }
        del options["self"]
        Optimizer.__init__(self, options.pop("params"), options, options.pop("switches"))

    def add_param_group(self, group: dict[str, Any]) -> None:
        """Add parameters with options of their own; ``group`` gets the defaults of the others."""
        if not isinstance(group, dict):
            raise bad_type(f"param_group must be a dict, but got {type(group)}")
        listed = group["params"]
        if isinstance(listed, set):
            said = "optimizer parameters need to be organized in ordered collections, but the "
            said += "ordering of tensors in sets will change between runs. Please use a list "
            raise bad_type("a set of parameters has no order", torch=said + "instead.")
        tensors = [listed] if isinstance(listed, Tensor) else list(listed)
        names = [p[0] for p in tensors if isinstance(p, tuple)]  # of named_parameters()
        if names and len(names) < len(tensors):
            said = "with/without names. Some param names are missing"
            raise bad_argument(f"all optimizer params should be {said}")
        if names:
            group["param_names"], tensors = names, [p for _, p in tensors]
        if len({id(p) for p in tensors}) < len(tensors):
            warn("optimizer contains a parameter group with duplicate parameters")
        seen = {id(p) for g in self.param_groups for p in g["params"]}
        for p in tensors:
            if not isinstance(p, Tensor):
                said = "optimizer can only optimize Tensors, but one of the params is "
                raise bad_type(said + type(p).__name__)
            if not (p.is_leaf or p.retains_grad or self.defaults.get("differentiable")):
                mend = "make the leaf last: x.detach().requires_grad_()"
                raise ValueFault("E0404", "can't optimize a non-leaf Tensor", help=mend)
            if id(p) in seen:
                raise bad_argument("some parameters appear in more than one parameter group")
        if self.param_groups and bool(names) is not ("param_names" in self.param_groups[0]):
            said = f"cannot add param group {'with' if names else 'without'} names to the optimizer"
            raise bad_argument(f"all optimizer param groups should be with/without names. {said}")
        group["params"] = tensors
        group.update({name: v for name, v in self.defaults.items() if name not in group})
        self.param_groups.append(group)

    def _check(self, group: Mapping[str, Any]) -> None:
        for name, value in group.items():
            if name == "lr" and isinstance(value, Tensor) and value.numel() != 1:
                raise bad_argument("Tensor lr must be 1-element")
            if name in _NOT_NEGATIVE and not value >= 0.0:
                said = f"Invalid {_SPOKEN.get(name, f'{name} value')}: {value}"
                raise bad_argument(f"{name} must not be negative, got {value}", torch=said)
        for i, beta in enumerate(group.get("betas", ())):
            if not 0.0 <= beta < 1.0:
                said = f"betas[{i}] must be at least 0 and below 1, got {beta}"
                raise bad_argument(said, torch=f"Invalid beta parameter at index {i}: {beta}")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients: None, or zeros where ``set_to_none`` is False."""
        for group in self.param_groups:
            for p in group["params"]:
                clear(p, set_to_none)

    @_noted
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        ``closure`` clears the gradients, computes the loss, calls backward and returns the loss,
        which ``step`` then returns. Raises UnwrittenFault (E0304) for a class that does not say
        how it changes a parameter.
        """
        if self._update is None:
            said = f"{type(self).__name__} does not say how it changes a parameter"
            mend = "write def step(self, closure=None) in it, which writes p under no_grad()"
            raise UnwrittenFault("E0304", said, help=mend)
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        followed = bool(self.defaults.get("differentiable"))
        with set_grad_enabled(followed):
            for whole in self.param_groups:
                # What is missing is missed before a parameter of the group is written.
                given = [p for p in whole["params"] if p.grad is not None]
                states = [self._started(p, whole) for p in given]
                # A key that is none of this class's options says nothing, as in PyTorch.
                group = {name: whole[name] for name in self.defaults}
                if isinstance(group["lr"], Tensor):
                    group["lr"] = group["lr"].squeeze()
                if given and group.get("capturable"):
                    said = "If capturable=True, params and state_steps must be on supported devices"
                    raise AssertionFault("E0304", said, help="leave capturable out")
                for p, state in zip(given, states, strict=True):
                    turn()
                    g = p.grad if followed else p.grad.detach()
                    g = self._decayed(p, -g if group["maximize"] else g, group)
                    self._in_reals(p, g, state, group)
        return loss

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return both anew."""
        return RemovableHandle(self._step_hooks()[0], hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return RemovableHandle(self._step_hooks()[1], hook)

    def _step_hooks(self) -> tuple[dict, dict]:
        """The hooks before and after ``step``, which is covered with the first of them."""
        held: tuple[dict, dict] = vars(self).setdefault("_hooks", ({}, {}))
        vars(self)["step"] = MethodType(_hooked_step, self)
        return held

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` before each ``state_dict``."""
        return self._registered("before_saving", hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state)`` after each ``state_dict``; it may return another."""
        return self._registered("after_saving", hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state)`` before a state is loaded; it may return another."""
        return self._registered("before_loading", hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after a state was loaded."""
        return self._registered("after_loading", hook, prepend)

    def _registered(self, when: str, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
        hooks: dict[int, Any] = vars(self).setdefault("_state_hooks", {}).setdefault(when, {})
        return RemovableHandle(hooks, hook, prepend)

    def _told(self, when: str, *state: Any) -> Any:
        """The state as the hooks of a moment leave it; None at moments without one."""
        for hook in [*vars(self).get("_state_hooks", {}).get(when, {}).values()]:
            found = hook(self, *state)
            state = (found,) if state and found is not None else state
        return state[0] if state else None

    def _decayed(self, p: Tensor, g: Tensor, group: Mapping[str, Any]) -> Tensor:
        """The gradient with weight decay, or the parameter shrunk where that is decoupled."""
        decay = group.get("weight_decay")
        if not decay:
            return g
        if group.get("decoupled_weight_decay"):
            factor = 1.0 - group["lr"] * decay
            p.copy_(p.clone() * factor) if is_followed(factor) else p.mul_(factor)
            return g
        return g + p.clone() * decay if is_followed(decay) else g.add(p, alpha=decay)

    def _kept(self, group: Group) -> dict[str, float]:
        """What the state of a parameter has besides its ``step``, and the numbers it begins as."""
        return dict.fromkeys(self.kept, 0.0)

    def _started(self, p: Tensor, group: Group) -> State:
        """The state of a parameter, which its first step begins.

        Raises KeyError where it lacks what an option needs that was set later.
        """
        state, kept = self.state[p], {"step": 0.0, **self._kept(group)}
        if not state:
            for name, start in kept.items():
                state[name] = count(start) if name in _COUNTS else OPERATORS["zeros_like"](p)
                if start and name not in _COUNTS:
                    as_reals(state[name]).add_(start)
        if missing := kept.keys() - state.keys():
            raise KeyError(min(missing))
        return state

    def _in_reals(self, p: Tensor, g: Any, state: State, group: Group) -> None:
        """Count a step and call ``_update``, with pairs of reals for all that is complex.

        The state of a complex parameter is complex between steps, as in PyTorch.
        """
        if "step" in state:
            state["step"] += 1
        n = int(state.get("step", 0))
        if self.linear or not p.is_complex():
            self._update(p, g, state, group, n)
            return
        pairs = {name: as_reals(value) for name, value in state.items()}
        left = dict(pairs)
        self._update(as_reals(p), as_reals(g), left, group, n)
        for name, value in left.items():
            if value is not pairs.get(name):
                like = isinstance(value, Tensor) and value.ndim > p.ndim
                state[name] = view_as_complex(value) if like else value

    def state_dict(self) -> dict[str, Any]:
        """The state by parameter number, and the groups with numbers for their parameters."""
        self._told("before_saving")
        numbers: dict[Tensor, int] = {}
        groups, start = [], 0
        for group in self.param_groups:
            seen = enumerate(group["params"], start)
            numbers.update({p: number for number, p in seen if p not in numbers})
            start += len(group["params"])
            named = {name: v for name, v in group.items() if name != "params"}
            groups.append({**named, "params": [numbers[p] for p in group["params"]]})
        state = {numbers[p] if isinstance(p, Tensor) else p: s for p, s in self.state.items()}
        whole: dict[str, Any] = self._told("after_saving", {"state": state, "param_groups": groups})
        return whole

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave; switches that it does not have are off.

        Raises ValueFault where groups or their sizes differ.
        """
        state_dict = self._told("before_loading", state_dict.copy())
        saved = deepcopy(state_dict["param_groups"])
        sizes = [len(g["params"]) for g in self.param_groups]
        if len(sizes) != len(saved):
            raise bad_argument("loaded state dict has a different number of parameter groups")
        if sizes != [len(g["params"]) for g in saved]:
            said = "contains a parameter group that doesn't match the size of optimizer's group"
            raise bad_argument(f"loaded state dict {said}")
        by_number: dict[Any, Any] = {}
        for group, loaded in zip(self.param_groups, saved, strict=True):
            by_number.update(zip(loaded["params"], group["params"], strict=True))
            loaded["params"] = group["params"]
            if "param_names" in group:
                loaded.setdefault("param_names", group["param_names"])
            for name, value in self.defaults.items():
                if isinstance(value, bool) or name in self.switches:
                    loaded.setdefault(name, _unset(name))
        self.param_groups = saved
        self.state = defaultdict(dict)
        for number, state in state_dict["state"].items():
            p = by_number.get(number, number)  # users keep more in it
            whose = isinstance(p, Tensor)
            self.state[p] = {k: _own(p, k, v) for k, v in state.items()} if whose else state
        self._told("after_loading")

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: all but the hooks, as in PyTorch."""
        return {k: v for k, v in vars(self).items() if k not in ("step", "_hooks", "_state_hooks")}

    def __repr__(self) -> str:
        shown = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            shown += f"\nParameter Group {i}\n"
            shown += "".join(f"    {k}: {v}\n" for k, v in sorted(group.items()) if k != "params")
        return shown + ")"


def is_followed(option: Any) -> bool:
    """Whether an option is a tensor with a gradient, which no number beside a step can have."""
    return isinstance(option, Tensor) and option.requires_grad


def _unset(name: str) -> bool | None:
    """What a switch is that nobody set."""
    return None if name in ("foreach", "fused") else False


def count(value: float) -> Tensor:
    """A number of the state, which PyTorch keeps in a tensor; a half could not count far."""
    default = get_default_dtype()
    return tensor(float(value), dtype=default if default is float64 else float32)


_COUNTS = frozenset(("step", "mu_product", "eta", "mu"))
"""What a state has one number of."""


def number_of(loss: Any) -> float:
    """A loss that was given as a number or as a tensor, in a graph or not."""
    return float(loss.detach() if isinstance(loss, Tensor) else loss)


def as_reals(value: Any) -> Any:
    """A complex tensor as its pairs of real and imaginary part, anything else as it is."""
    paired = isinstance(value, Tensor) and value.is_complex()
    return view_as_real(value) if paired else value


def _own(p: Tensor, name: str, value: Any) -> Any:
    """What was saved of ``p``, as this optimizer keeps it."""
    if isinstance(value, dict):
        return {inner: _own(p, inner, v) for inner, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_own(p, "", v) for v in value)
    if not isinstance(value, Tensor):
        return count(value) if name in _COUNTS else value
    if name == "step" or not p.is_floating_point():
        return value.clone()
    return value.to(p.dtype, copy=True)


_NOT_NEGATIVE = frozenset((
    "lr", "eps", "weight_decay", "momentum", "alpha", "lr_decay", "initial_accumulator_value",
    "momentum_decay",
))  # fmt: skip
