"""``Module``: parameters, buffers and modules inside one another, found by assignment.

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(2, 8)            # a module inside
            self.scale = nn.Parameter(torch.ones(1)) # a parameter

What is assigned is kept in ``_parameters``, ``_buffers`` or ``_modules``, in the order of
assignment, which is the order of everything that walks a module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import update_wrapper
from types import FunctionType
from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.backward.hooks import clear
from gradcli.engine.graph.node import RemovableHandle
from gradcli.nn.modules.state import State, check_ends
from gradcli.nn.parameter import Buffer, Parameter
from gradcli.ops.errors import RuntimeFault, UnwrittenFault, ValueFault, bad_type
from gradcli.ops.memory_budget import step

_WANTED = {
    "_parameters": ("parameter", "nn.Parameter"),
    "_buffers": ("buffer", "Tensor"),
    "_modules": ("child module", "nn.Module"),
}
_KINDS = tuple(_WANTED)
"""Where a module keeps what is assigned; what that is, and of which class."""
_HOOKS = (
    "_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks",
    "_result_hooks", "_state_pre_hooks", "_state_hooks", "_load_pre_hooks", "_load_hooks",
)  # fmt: skip
PARAMETER = 500
"""How many turns of a program's loop a parameter takes to make."""
SHOWN = 100
"""How many a module takes where modules inside each other are walked again and again."""


class Module(State):
    """The base of every layer: a subclass writes ``__init__`` and ``forward``.

    Example:
        >>> import gradcli as torch
        >>> class Double(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.weight = torch.nn.Parameter(torch.tensor(2.0))
        ...     def forward(self, x):
        ...         return x * self.weight
        >>> Double()(torch.tensor(3.0))
        tensor(6., grad_fn=<MulBackward0>)
    """

    training: bool

    def __init_subclass__(cls, **options: Any) -> None:
        """What Python says of a wrong call names the layer, not a private class that it is made of.

        A name is part of a function, so a layer has functions of its own, of the same code.
        """
        super().__init_subclass__(**options)
        if not cls.__module__.startswith("gradcli.") or cls.__name__.startswith("_"):
            return
        for name in ("__init__", "forward"):
            of: Any = getattr(cls, name)
            if of.__qualname__.startswith("_"):
                own = FunctionType(
                    of.__code__, of.__globals__, name, of.__defaults__, of.__closure__
                )
                own.__kwdefaults__ = of.__kwdefaults__
                update_wrapper(own, of).__qualname__ = f"{cls.__name__}.{name}"
                setattr(cls, name, own)

    def __init__(self) -> None:
        put = super().__setattr__
        for name in (*_KINDS, *_HOOKS):
            put(name, {})
        put("_not_saved", set())
        put("training", True)

    def forward(self, *inputs: Any) -> Any:
        """What the module computes. Raises UnwrittenFault where the subclass has none."""
        said = f'Module [{self._get_name()}] is missing the required "forward" function'
        raise UnwrittenFault("E0304", said)

    def __call__(self, *args: Any, **options: Any) -> Any:
        if not (
            self._forward_pre_hooks or self._forward_hooks or self._backward_hooks
            or self._backward_pre_hooks or self._result_hooks or EVERYWHERE
        ):  # fmt: skip
            return self.forward(*args, **options)
        from gradcli.nn.modules.hooks import called

        return called(self, args, options)

    # -- attributes --------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for kind in _KINDS:
            if kind in own and name in own[kind]:
                return own[kind][name]
        raise AttributeError(f"'{self._get_name()}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        held = next((kind for kind in _KINDS if name in own.get(kind, ())), None)
        parameter = isinstance(value, Parameter)
        if parameter or (isinstance(value, Module) and held != "_parameters"):
            kind = "_parameters" if parameter else "_modules"
            if kind not in own:
                what = "parameters" if parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            own.pop(name, None)
            self._not_saved.discard(name)
            for other in _KINDS:
                if other != kind:
                    own[other].pop(name, None)
            if parameter:
                self.register_parameter(name, value)
            else:
                step(PARAMETER)
                self._keep(kind, name, value)  # in the place of what it replaces
        elif isinstance(value, Buffer) and held in (None, "_buffers"):
            given = () if value.persistent else (False,)  # an override may take no more than these
            self.register_buffer(name, value, *given)
        elif held is not None:
            self._check_kind(name, value, held)
            self._keep(held, name, value)
        else:
            super().__setattr__(name, value)

    def _check_kind(self, name: str, value: Any, held: str) -> None:
        if value is None or (held == "_buffers" and isinstance(value, Tensor)):
            return
        given = value.type() if isinstance(value, Tensor) else type(value).__name__
        what, wanted = _WANTED[held]
        said = f"cannot assign '{given}' as {what} '{name}' (gradcli.{wanted} or None"
        raise bad_type(f"{said} expected)", help=f"write nn.Parameter(...), or del {name}")

    def __delattr__(self, name: str) -> None:
        for kind in _KINDS:
            if name in self.__dict__[kind]:
                del self.__dict__[kind][name]
                self._not_saved.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        held = (n for k in _KINDS for n in self.__dict__[k] if not n[:1].isdigit())  # no m.0
        return sorted({*super().__dir__(), *held})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Keep ``param`` under ``name``; None keeps the place."""
        if param is not None and not isinstance(param, Parameter):
            given = f"{type(param).__module__}.{type(param).__name__}".removeprefix("builtins.")
            said = f"cannot assign '{given}' object to parameter '{name}' (gradcli.nn.Parameter or"
            raise bad_type(f"{said} None required)", help="wrap the tensor: nn.Parameter(x)")
        step(PARAMETER)
        self._free(name, "_parameters")
        self._keep("_parameters", name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Keep a tensor that is not learnt; ``persistent`` ones are in the state_dict."""
        if tensor is not None and not isinstance(tensor, Tensor):
            said = f"cannot assign '{type(tensor).__name__}' object to buffer '{name}'"
            raise bad_type(f"{said} (gradcli Tensor or None required)")
        self._free(name, "_buffers")
        self._keep("_buffers", name, tensor)
        (self._not_saved.discard if persistent else self._not_saved.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Keep a module under ``name``. Raises TypeFault (E0303) for what is none."""
        if module is not None and not isinstance(module, Module):
            mend = "write the call: nn.ReLU(), not nn.ReLU"
            raise bad_type(f"{type(module).__name__} is not a Module subclass", help=mend)
        self._free(name, "_modules")
        self._keep("_modules", name, module)

    register_module = add_module

    def _keep(self, kind: str, name: str, value: Any) -> None:
        """Keep a value, or what a hook of all modules gives for it, among those of its kind."""
        for _, (hook, *_) in _everywhere(kind):
            if value is not None or kind != "_parameters":
                changed = hook(self, name, value)
                value = value if changed is None else changed
        self.__dict__[kind][name] = value

    def _free(self, name: str, kind: str) -> None:
        if kind not in self.__dict__:
            raise AttributeError(f"cannot assign {kind[1:-1]} before Module.__init__() call")
        if not isinstance(name, str):
            raise bad_type(f"{kind[1:-1]} name should be a string. Got {type(name).__name__}")
        if "." in name or not name:
            said = 'can\'t contain "."' if name else 'can\'t be empty string ""'
            got = f", got: {name}" if name and kind == "_modules" else ""
            raise KeyError(f"{kind[1:-1]} name {said}{got}")
        if hasattr(self, name) and name not in self.__dict__[kind]:
            raise KeyError(f"attribute '{name}' already exists")

    # -- walking -----------------------------------------------------------------------------------

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Every module inside, itself first, each with its dotted name."""
        if not remove_duplicate:
            check_ends(self)
        seen = set() if memo is None else memo
        work = [(prefix, self)]
        while work:
            name, module = work.pop()
            step()
            if remove_duplicate:
                if module in seen:
                    continue
                seen.add(module)
            yield name, module
            inner = [(f"{name}.{n}" if name else n, m) for n, m in module._modules.items()
                     if m is not None]  # fmt: skip
            work.extend(reversed(inner))

    def modules(self) -> Iterator[Module]:
        """Every module inside, itself first."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly inside."""
        return self._named("_modules", "", False, True)

    def children(self) -> Iterator[Module]:
        """The modules directly inside, without names."""
        return (module for _, module in self.named_children())

    def _named(
        self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        found = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for place, module in found if recurse else [(prefix, self)]:
            for name, value in module.__dict__[kind].items():
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (f"{place}.{name}" if place else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Every parameter with its dotted name; one that is shared appears once."""
        yield from self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Every parameter: what an optimizer takes."""
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Every buffer with its dotted name."""
        yield from self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Every buffer."""
        return (value for _, value in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted name."""
        module = self
        for name in target.split(".") if target else ():
            module = _attribute(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted name; ``strict`` wants one to be there already."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        place, _, name = target.rpartition(".")
        parent = self.get_submodule(place)
        if strict or hasattr(parent, name):
            parent.get_submodule(name)
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted name."""
        _, name, found = self._found(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted name."""
        module, name, found = self._found(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _found(self, target: str) -> tuple[Any, str, Any]:
        """What a dotted name names, with its module and its own name."""
        place, _, name = target.rpartition(".")
        module = self.get_submodule(place)
        return module, name, _attribute(module, name)

    # -- changing all at once ----------------------------------------------------------------------

    def apply(self, fn: Callable[[Module], None]) -> Module:
        """Call ``fn`` on every module inside, inner ones first, then on this one."""
        check_ends(self)
        order, work = [], [self]
        while work:  # the last ones inside first: all in reverse
            order.append(module := work.pop())
            step(SHOWN)
            work.extend(module.children())
        for module in reversed(order):
            fn(module)
        return self

    def train(self, mode: bool = True) -> Module:
        """Into training: dropout drops, batch normalisation reads the batch."""
        if not isinstance(mode, bool):
            raise ValueFault("E0303", "training mode is expected to be boolean")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Out of training."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Let gradients flow to every parameter, or to none."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the parameters' gradients: None, or zeros where ``set_to_none`` is False."""
        for param in self.parameters():
            clear(param, set_to_none)

    # -- hooks -------------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, inputs)`` before forward; what it returns replaces the inputs."""
        return RemovableHandle(self._forward_pre_hooks, (hook, with_kwargs, False), prepend)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:  # fmt: skip
        """Call ``hook(module, inputs, output)`` after forward; what it returns replaces output.

        With ``always_call`` also where forward, or another hook, raises; with the output that
        there is by then, else None. What it raises then itself is a warning.
        """
        return RemovableHandle(self._forward_hooks, (hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before backward passes through this module."""
        return RemovableHandle(self._backward_pre_hooks, (hook, False, False), prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when its inputs' gradients are known."""
        _one_kind(self._result_hooks, "on a single Module")
        return RemovableHandle(self._backward_hooks, (hook, False, False), prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """The older form: what it sees as inputs are those of the node that made the result."""
        _one_kind(self._backward_hooks, "on a single Module")
        return RemovableHandle(self._result_hooks, (hook, False, False))

    def _hooks_of(self, kind: str) -> list[tuple[int, Any]]:
        """The hooks of a kind that run, with their numbers: those of all modules first."""
        return _everywhere(kind) + list(self.__dict__[kind].items())

    # -- how it looks ------------------------------------------------------------------------------

    _shown = ""
    """The repr between the parentheses: ``{0.p}`` is an attribute, ``{bias}`` whether one is."""
    _usual: Mapping[str, Any] = {}
    """Attributes that it ends with where they are not as here."""

    def extra_repr(self) -> str:
        """What stands between the parentheses before the modules inside."""
        shown = self._shown.format(self, bias=getattr(self, "bias", None) is not None)
        return shown + self._unusual(**self._usual)

    def _unusual(self, **usual: Any) -> str:
        """``, name=value`` for each attribute that is not as usual."""
        given = {name: getattr(self, name) for name in usual}
        return "".join(f", {name}={v}" for name, v in given.items() if v != usual[name])

    def _get_name(self) -> str:
        return type(self).__name__

    def _inner_lines(self) -> list[str]:
        return [f"({name}): " + indented(repr(m)) for name, m in self._modules.items()]

    def __repr__(self) -> str:
        step(SHOWN)
        extra = self.extra_repr()
        lines = self._inner_lines()
        if not lines and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        lines = (extra.split("\n") if extra else []) + lines
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def _attribute(module: Module, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    return getattr(module, name)


def indented(text: str) -> str:
    """``text`` with all lines but the first moved in, as a module's repr has those inside it."""
    return text.replace("\n", "\n  ")


EVERYWHERE: dict[int, Any] = {}
"""Hooks of all modules by their numbers, each with the name that a module has for its kind."""


def _everywhere(kind: str) -> list[tuple[int, Any]]:
    return [(number, entry) for number, (of, entry) in EVERYWHERE.items() if of == kind]


def _one_kind(other: Any, where: str) -> None:
    if other:
        said = "Cannot use both regular backward hooks and full backward hooks"
        raise RuntimeFault("E0407", f"{said} {where}. Please use only one of them.")


def _of_all(
    kind: str, doc: str = "A hook of every module, which runs before those that a module has."
) -> Callable[..., RemovableHandle]:
    other = {"_result_hooks": "_backward_hooks", "_backward_hooks": "_result_hooks"}.get(kind, "")

    def register(
        hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        _one_kind(_everywhere(other), "as a global Module hook")
        return RemovableHandle(EVERYWHERE, (kind, (hook, with_kwargs, always_call)))

    register.__doc__ = doc
    return register


register_module_forward_pre_hook = _of_all("_forward_pre_hooks")
register_module_forward_hook = _of_all("_forward_hooks")
register_module_full_backward_pre_hook = _of_all("_backward_pre_hooks")
register_module_full_backward_hook = _of_all("_backward_hooks")
register_module_backward_hook = _of_all("_result_hooks")
_KEPT = "Call ``hook(module, name, value)`` where a module keeps one; what it returns replaces it."
register_module_parameter_registration_hook = _of_all("_parameters", _KEPT)
register_module_buffer_registration_hook = _of_all("_buffers", _KEPT)
register_module_module_registration_hook = _of_all("_modules", _KEPT)
