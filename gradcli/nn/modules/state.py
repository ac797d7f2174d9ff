"""What a module holds as a whole: saved and loaded by name, moved and converted at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gradcli.engine import Tensor
from gradcli.engine.creation.factories import tensor
from gradcli.engine.grad_mode import no_grad
from gradcli.engine.graph.node import RemovableHandle
from gradcli.engine.source_location import warn
from gradcli.nn.parameter import Parameter
from gradcli.ops.errors import AssertionFault, RuntimeFault, TypeFault, bad_type, bad_value
from gradcli.ops.memory_budget import step

_EXTRA = "_extra_state"
"""The name of what a module's own ``get_extra_state`` gives and ``set_extra_state`` takes."""
_ASSIGN = "assign_to_params_buffers"
"""Where the metadata that a module loads with have it, given tensors take places themselves."""


class _IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` did not find, and what it had no place for."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )

    __str__ = __repr__  # type: ignore[misc]


class State:
    """The part of Module that works on everything inside it."""

    modules: Callable[..., Any]
    _get_name: Callable[[], str]
    _state_pre_hooks: dict[int, Any]
    _state_hooks: dict[int, Any]
    _load_pre_hooks: dict[int, Any]
    _load_hooks: dict[int, Any]
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _not_saved: set[str]
    get_extra_state: Callable[[], Any]
    set_extra_state: Callable[[Any], None]
    _version = 1
    """Of what a module saves, kept beside it: an override of ``_load_from_state_dict`` reads it."""

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Parameters and persistent buffers by dotted name; their memory is shared.

        They are added to ``destination`` where that is given.
        """
        check_ends(self)
        found: Any = destination
        if found is None:
            found = OrderedDict()
            found._metadata = OrderedDict()
        work: list[tuple[Any, str, Any]] = [(self, prefix, None)]
        while work:
            module, front, said = work.pop()
            if said is not None:  # what is inside was saved
                for hook in module._state_hooks.values():
                    if hook(module, found, front, said) is not None:
                        raise RuntimeFault("E0407", "state_dict post-hook must return None")
                continue
            step()
            if module is not self and type(module).state_dict is not State.state_dict:
                module.state_dict(destination=found, prefix=front, keep_vars=keep_vars)
                continue
            said = {"version": module._version}
            if hasattr(found, "_metadata"):
                found._metadata[front[:-1]] = said
            for hook in module._state_pre_hooks.values():
                hook(module, front, keep_vars)
            module._save_to_state_dict(found, front, keep_vars)
            work.append((module, front, said))
            work += [(inner, place, None) for inner, place in _inside(module, front)]
        return found

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put what this module alone saves into ``destination``: for subclasses that save more."""
        for name, value in self._saved().items():
            kept = keep_vars or hasattr(value, "become")  # of a lazy layer
            destination[prefix + name] = value if kept else value.detach()
        if hasattr(self, "get_extra_state"):
            destination[prefix + _EXTRA] = self.get_extra_state()

    def _saved(self) -> dict[str, Any]:
        """The parameters and persistent buffers of this module alone."""
        held = (*self._parameters.items(), *self._buffers.items())
        return {n: v for n, v in held if v is not None and n not in self._not_saved}

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict``."""
        return RemovableHandle(self._state_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after ``state_dict``."""
        return RemovableHandle(self._state_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call a hook before ``load_state_dict``, with a copy of the dict that it may change.

        ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)``
        """
        return self._register_load_state_dict_pre_hook(hook, True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable, with_module: bool = False
    ) -> RemovableHandle:
        return RemovableHandle(self._load_pre_hooks, (hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after ``load_state_dict``."""
        return RemovableHandle(self._load_hooks, hook)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy what ``state_dict`` holds into the parameters and buffers of the same names.

        With ``assign`` its tensors take their places; of them only ``requires_grad`` changes.

        Raises RuntimeFault (E0304) for shapes that differ and, where ``strict``, for names.
        """
        if not isinstance(state_dict, Mapping):
            raise bad_type(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        check_ends(self)
        faults: list[str] = []
        keys = _IncompatibleKeys([], [])  # type: ignore[call-arg]  # __str__ is no field
        metadata = getattr(state_dict, "_metadata", {})
        work: list[tuple[Any, str, Any]] = [(self, "", OrderedDict(state_dict))]
        while work:
            module, front, given = work.pop()
            if given is None:  # what is inside was loaded
                for hook in module._load_hooks.values():
                    if hook(module, keys) is not None:
                        told = "Hooks of load_state_dict are not expected to return new values"
                        raise AssertionFault("E0407", told, help="change the keys in place")
                continue
            said = {**metadata.get(front[:-1], {}), **({_ASSIGN: True} if assign else {})}
            module._load_from_state_dict(given, front, said, True, *keys, faults)
            work.append((module, front, None))
            for inner, place in _inside(module, front):
                part = {name: value for name, value in given.items() if name.startswith(place)}
                work.append((inner, place, part))
        for what, names in (("Unexpected", keys[1]), ("Missing", keys[0])) if strict else ():
            if names:
                listed = ", ".join(f'"{name}"' for name in names)
                faults.insert(0, f"{what} key(s) in state_dict: {listed}. ")
        if faults:
            lines = "".join(f"\n\t{fault}" for fault in faults)
            name = self._get_name()
            raise bad_value(f"Error(s) in loading state_dict for {name}:{lines}")
        return keys

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Mapping[str, Any], strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Load what this module alone has in ``state_dict``, and note in the lists what is wrong.

        ``state_dict`` is a copy of what is given for this module and those inside.
        """
        for hook, with_module in self._load_pre_hooks.values():
            hook(
                *((self,) if with_module else ()), state_dict, prefix, local_metadata, strict,
                missing_keys, unexpected_keys, error_msgs,
            )  # fmt: skip
        own, extra = self._saved(), prefix + _EXTRA
        for name, value in own.items():
            key = prefix + name
            if key in state_dict:
                self._load(name, value, state_dict[key], key, _ASSIGN in local_metadata, error_msgs)
            elif strict:
                missing_keys.append(key)
        takes = hasattr(self, "set_extra_state")
        if takes and extra in state_dict:
            self.set_extra_state(state_dict[extra])
        elif takes and strict:
            missing_keys.append(extra)
        for key in state_dict if strict else ():
            if key.startswith(prefix) and not (takes and key == extra):
                name, inner, _ = key[len(prefix) :].partition(".")
                if name not in (self._modules if inner else own):
                    unexpected_keys.append(key)

    def _load(
        self, name: str, value: Tensor, given: Any, key: str, assign: bool, faults: list[str]
    ) -> None:
        """Copy ``given`` into ``value``, or put it into its place."""
        if not isinstance(given, Tensor):
            faults.append(
                f'While copying the parameter named "{key}", expected gradcli.Tensor or '
                f"Tensor-like object from checkpoint but received {type(given)}"
            )
            return
        if hasattr(value, "become"):  # of a lazy layer, and so is what is given
            return
        if value.shape == () and given.shape == (1,):
            given = given[0]
        if given.shape != value.shape:
            faults.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from "
                f"checkpoint, the shape in current model is {value.shape}."
            )
            return
        with no_grad():
            if not assign:
                value.copy_(given)
                return
            if isinstance(value, Parameter) and not isinstance(given, Parameter):
                given = Parameter(given, value.requires_grad)
            elif isinstance(value, Parameter):
                given.requires_grad_(value.requires_grad)
            setattr(self, name, given)

    def _converted(self, convert: Callable[[Tensor], Tensor]) -> Any:
        for module in self.modules():
            for param in module._parameters.values():
                if param is None:
                    continue
                if hasattr(param, "_convert"):  # of a lazy layer
                    param._convert(convert)
                    continue
                param.data = convert(param.data)
                if param.grad is not None:
                    param.grad.data = convert(param.grad.data)
            for name, value in module._buffers.items():
                if value is not None:
                    module._buffers[name] = convert(value)
        return self

    def to(self, *args: Any, memory_format: Any = None, **options: Any) -> Any:
        """Move and convert; whole numbers keep their type, as ``num_batches_tracked`` must.

        A ``memory_format`` is that of images: of what has 4 or 5 dimensions.
        """
        probe = tensor(0.0).to(*args, **options).dtype
        if "copy" in options or (len(args) > 2 and isinstance(args[-2], bool)):
            raise RuntimeFault("E0302", ".to() does not accept copy argument")
        if probe.kind < 2:
            said = "nn.Module.to only accepts floating point or complex dtypes, but got desired"
            raise TypeFault("E0309", f"{said} dtype={probe!r}")
        if probe.is_complex:
            warn("Complex modules are a new feature: some may not take complex parameters.")

        def convert(value: Tensor) -> Tensor:
            if value.dtype.kind < 2 and probe is not value.dtype:
                return value
            images = memory_format if value.ndim in (4, 5) else None
            return value.to(*args, memory_format=images, **options)

        return self._converted(convert)

    def type(self, dst_type: Any) -> Any:
        """Every parameter and buffer in another element type."""
        return self._converted(lambda t: t.type(dst_type))

    def float(self) -> Any:
        """float32."""
        return self._converted(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Any:
        """float64."""
        return self._converted(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Any:
        """float16."""
        return self._converted(lambda t: t.half() if t.is_floating_point() else t)

    def cpu(self) -> Any:
        """On the CPU."""
        return self._converted(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Any:
        """On the GPU."""
        return self._converted(lambda t: t.to("cuda" if device is None else device))


def check_ends(module: Any) -> None:
    """Raise RecursionError where a module is inside itself: a walk along all names has no end."""
    entered: set[int] = set()
    done: set[int] = set()
    work = [(module, False)]
    while work:
        inner, left = work.pop()
        if left:
            done.add(id(inner))
        elif id(inner) not in done:
            if id(inner) in entered:
                raise RecursionError(f"{inner._get_name()} is a module inside itself")
            entered.add(id(inner))
            work.append((inner, True))
            work += [(held, False) for held in inner._modules.values() if held is not None]


def _inside(module: Any, front: str) -> list[tuple[Any, str]]:
    """The modules directly inside, the last first, and what their names begin with."""
    held = reversed(module._modules.items())
    return [(inner, f"{front}{name}.") for name, inner in held if inner is not None]
