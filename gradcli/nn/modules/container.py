"""Modules that hold modules or parameters: in a row, in a list, under names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gradcli.engine import Tensor
from gradcli.nn.modules.module import Module, indented
from gradcli.nn.parameter import Parameter
from gradcli.ops.errors import AssertionFault, IndexFault, bad_argument, bad_type
from gradcli.ops.memory_budget import step


class _Numbered(Module):
    """What Sequential and ModuleList share: modules under the names "0", "1" ..."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def _name(self, index: int) -> str:
        if not -len(self) <= index < len(self):
            raise IndexFault("E0307", f"index {index} is out of range")
        name = str(range(len(self))[index])
        return name if name in self._modules else list(self._modules)[index]

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._of(list(self._modules.items())[index])
        return self._modules[self._name(index)]

    def _of(self, items: list[tuple[str, Module]]) -> Any:
        return type(self)([module for _, module in items])  # type: ignore[call-arg]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name(index)]
        for name in names:
            delattr(self, name)
        self._renumber(list(self._modules.values()))

    def _renumber(self, modules: list[Module]) -> None:
        step(1 + 5 * len(modules))
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(modules))

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Put a module before the one at ``index``.

        Raises IndexFault (E0307) outside, AssertionFault (E0303) for what is no module.
        """
        if not -len(self) <= index <= len(self):
            raise IndexFault("E0307", f"index {index} is out of range")
        if not isinstance(module, Module):
            raise AssertionFault("E0303", f"module should be of type: {Module}")
        *modules, last = self.append(module)
        modules.insert(index, last)
        self._renumber(modules)
        return self

    def pop(self, index: int) -> Module:
        """Take the module at ``index`` out."""
        module = self[index]
        del self[index]
        return module


class Sequential(_Numbered):
    """Modules that run one after another; an OrderedDict gives them names.

    Example:
        >>> import gradcli as torch
        >>> torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU())
        Sequential(
          (0): Flatten(start_dim=1, end_dim=-1)
          (1): ReLU()
        )
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], OrderedDict):
            items: Any = modules[0].items()
        else:
            items = ((str(i), module) for i, module in enumerate(modules))
        for name, module in items:
            self.add_module(name, module)

    def _of(self, items: list[tuple[str, Module]]) -> Sequential:
        return Sequential(OrderedDict(items))

    def __add__(self, other: Sequential) -> Sequential:
        if not isinstance(other, Sequential):
            said = f"supports only objects of Sequential class, but {type(other)} is given."
            raise bad_argument(f"add operator {said}")
        return Sequential(*self, *other)

    def __mul__(self, count: int) -> Sequential:
        if not isinstance(count, int):
            return NotImplemented
        if count < 1:
            raise bad_argument(f"Non-positive multiplication factor {count} for {type(self)}")
        return Sequential(*(module for _ in range(count) for module in self))

    __rmul__ = __mul__

    def forward(self, input: Any) -> Any:
        """The input through every module in order."""
        for module in self:
            step(5)
            input = module(input)
        return input


class ModuleList(_Numbered):
    """A list of modules, all known to the module that it is set on."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(() if modules is None else modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def _inner_lines(self) -> list[str]:
        """Equal neighbours once: ``(0-2): 3 x Linear(...)``."""
        runs: list[list] = []
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        return [
            f"({a}): {indented(text)}" if a == b else f"({a}-{b}): {b - a + 1} x {indented(text)}"
            for a, b, text in runs
        ]


class _Named:
    """What ModuleDict and ParameterDict share with a dict."""

    def __init__(self, values: Any = None) -> None:
        super().__init__()
        self.update({} if values is None else values)

    _kind = "_modules"  # which of a module's dicts it shows
    __setitem__: Callable[..., None]

    @property
    def _held(self) -> dict[str, Any]:
        return self.__dict__[self._kind]

    def __getitem__(self, key: str) -> Any:
        return self._held[key]

    def __delitem__(self, key: str) -> None:
        del self._held[key]

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._held)

    def __contains__(self, key: str) -> bool:
        return key in self._held

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._held.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names with what they hold."""
        return self._held.items()

    def values(self) -> Iterable[Any]:
        """What is held."""
        return self._held.values()

    def update(self, values: Any) -> None:
        """Add from a dict or pairs."""
        pairs = values.items() if hasattr(values, "items") else values
        for key, value in pairs:
            self[key] = value

    def pop(self, key: str) -> Any:
        """Take what is under ``key`` out."""
        found = self[key]
        del self._held[key]
        return found

    def clear(self) -> None:
        """Take everything out."""
        self._held.clear()


class ModuleDict(_Named, Module):
    """A dict of modules, all known to the module that it is set on."""

    def __setitem__(self, key: str, value: Module) -> None:
        self.add_module(key, value)


class ParameterDict(_Named, Module):
    """A dict of parameters, all known to the module that it is set on."""

    _kind = "_parameters"

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def __setitem__(self, key: str, value: Tensor) -> None:
        setattr(self, key, _parameter(value))

    def update(self, values: Any) -> None:
        """Add from a dict, in the order of its names as PyTorch does, or from pairs."""
        plain = isinstance(values, dict) and not isinstance(values, OrderedDict)
        super().update(sorted(values.items()) if plain else values)

    def get(self, key: str, default: Any = None) -> Any:
        """What is under ``key``, where there is nothing ``default``."""
        return self._held.get(key, default)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """What is under ``key``, where there is nothing ``default``, as a parameter."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Take the last one out, with its name."""
        return self._held.popitem()

    def copy(self) -> ParameterDict:
        """The same parameters in another dict."""
        return ParameterDict(self.items())

    def __or__(self, other: ParameterDict) -> ParameterDict:
        return ParameterDict((*self.items(), *other.items()))

    def extra_repr(self) -> str:
        """A line for each parameter."""
        return _lines((name, p, p.type()) for name, p in self.items())


class ParameterList(Module):
    """A list of parameters, all known to the module that it is set on."""

    def __init__(self, values: Iterable[Tensor] | None = None) -> None:
        super().__init__()
        self.extend(() if values is None else values)

    def append(self, value: Tensor) -> ParameterList:
        """Add a parameter at the end; a tensor is made one."""
        setattr(self, str(len(self)), _parameter(value))
        return self

    def extend(self, values: Iterable[Tensor]) -> ParameterList:
        """Add parameters at the end. Raises TypeFault (E0303) for a tensor instead of several."""
        if isinstance(values, Tensor):
            said = "ParameterList.extend should be called with an iterable, but got"
            raise bad_type(f"{said} {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    __iadd__ = extend

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters.values())

    def __getitem__(self, index: int | slice) -> Any:
        found = list(self)[index]
        return ParameterList(found) if isinstance(index, slice) else found

    def __setitem__(self, index: int, value: Tensor) -> None:
        setattr(self, str(range(len(self))[index]), _parameter(value))

    def extra_repr(self) -> str:
        """A line for each parameter."""
        return _lines((name, p, p.dtype) for name, p in self._parameters.items())


def _parameter(value: Tensor) -> Parameter:
    """As a parameter. Raises TypeFault (E0303) for what is no tensor, which PyTorch keeps aside."""
    if not isinstance(value, Tensor):
        raise bad_type(f"a container of parameters takes tensors, not {type(value).__name__}")
    return value if isinstance(value, Parameter) else Parameter(value)


def _lines(held: Iterable[tuple[str, Parameter, Any]]) -> str:
    sizes = ((name, kind, "x".join(map(str, p.shape))) for name, p, kind in held)
    return "\n".join(f"  ({n}): Parameter containing: [{k} of size {size}]" for n, k, size in sizes)
