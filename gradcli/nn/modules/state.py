"""What a module holds as a whole: saved and loaded by name, moved and converted at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gradcli.engine import Tensor
from gradcli.engine.creation.factories import tensor
from gradcli.engine.grad_mode import no_grad
from gradcli.engine.graph.node import RemovableHandle
from gradcli.nn.parameter import Parameter
from gradcli.ops.errors import RuntimeFault, TypeFault, bad_type, bad_value

_EXTRA = "_extra_state"
"""The name of what a module's own ``get_extra_state`` gives and ``set_extra_state`` takes."""


class LoadedKeys(NamedTuple):
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

    named_modules: Callable[..., Any]
    modules: Callable[..., Any]
    _get_name: Callable[[], str]
    _state_pre_hooks: dict[int, Any]
    _state_hooks: dict[int, Any]
    _load_pre_hooks: dict[int, Any]
    _load_hooks: dict[int, Any]
    _version = 1
    """Of what a module saves: a dict of an older one may lack ``_later``."""
    _later: tuple[str, ...] = ()

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Parameters and persistent buffers by dotted name; their memory is shared.

        They are added to ``destination`` where that is given.
        """
        fronts = self._fronts(prefix)
        for front, module in fronts:
            for hook in module._state_pre_hooks.values():
                hook(module, front, keep_vars)
        found: Any = OrderedDict() if destination is None else destination
        found.update(self._collected(fronts, keep_vars))
        versions = {front[:-1]: {"version": module._version} for front, module in fronts}
        if destination is None:
            found._metadata = OrderedDict()
        if hasattr(found, "_metadata"):
            found._metadata.update(versions)
        for front, module in reversed(fronts):  # inner ones first
            for hook in module._state_hooks.values():
                hook(module, found, front, versions[front[:-1]])
        return found

    @staticmethod
    def _collected(
        fronts: list[tuple[str, Any]], keep_vars: bool, extra: bool = True
    ) -> OrderedDict:
        found: OrderedDict = OrderedDict()
        for front, module in fronts:
            for name, value in (*module._parameters.items(), *module._buffers.items()):
                if value is not None and name not in module._not_saved:
                    kept = keep_vars or hasattr(value, "become")  # of a lazy layer
                    found[front + name] = value if kept else value.detach()
            if extra and hasattr(module, "get_extra_state"):
                found[front + _EXTRA] = module.get_extra_state()
        return found

    def _fronts(self, prefix: str) -> list[tuple[str, Any]]:
        """Every module inside, itself first, and what the names in it begin with."""
        found = self.named_modules(remove_duplicate=False)
        return [(f"{prefix}{place}." if place else prefix, module) for place, module in found]

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
        return RemovableHandle(self._load_pre_hooks, hook)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after ``load_state_dict``."""
        return RemovableHandle(self._load_hooks, hook)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> LoadedKeys:
        """Copy what ``state_dict`` holds into the parameters and buffers of the same names.

        With ``assign`` its tensors take their places; of them only ``requires_grad`` changes.

        Raises RuntimeFault (E0304) for shapes that differ and, where ``strict``, for names.
        """
        if not isinstance(state_dict, Mapping):
            raise bad_type(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        fronts, given_dict = self._fronts(""), OrderedDict(state_dict)
        faults: list[str] = []
        missing: list[str] = []
        unexpected: list[str] = []
        versions = getattr(state_dict, "_metadata", {})
        for front, module in fronts:
            said = versions.get(front[:-1], {})
            for hook in module._load_pre_hooks.values():
                hook(module, given_dict, front, said, strict, missing, unexpected, faults)
            for name in module._later if said.get("version", 1) < module._version else ():
                if module._buffers[name] is not None:
                    given_dict.setdefault(front + name, module._buffers[name])
            if hasattr(module, "take_shapes"):
                module.take_shapes(given_dict, front)
        state_dict, own = given_dict, self._collected(fronts, True, extra=False)
        extras = {
            front + _EXTRA: module.set_extra_state
            for front, module in fronts
            if hasattr(module, "set_extra_state")
        }
        missing += [n for n in (*own, *extras) if n not in state_dict]
        unexpected += [n for n in state_dict if n not in own and n not in extras]
        keys = LoadedKeys(missing, unexpected)  # type: ignore[call-arg]  # __str__ is no field
        for _, module in reversed(fronts):
            for hook in module._load_hooks.values():
                hook(module, keys)
        for what, names in (("Unexpected", keys[1]), ("Missing", keys[0])) if strict else ():
            if names:
                listed = ", ".join(f'"{n}"' for n in names)
                faults.append(f"{what} key(s) in state_dict: {listed}. ")
        own = OrderedDict((n, v) for n, v in own.items() if not hasattr(v, "become"))
        for name, value in own.items():
            given = state_dict.get(name, value)
            if not isinstance(given, Tensor):
                faults.append(
                    f'While copying the parameter named "{name}", expected gradcli.Tensor or '
                    f"Tensor-like object from checkpoint but received {type(given)}"
                )
            elif given.shape != value.shape:
                faults.append(
                    f"size mismatch for {name}: copying a param with shape {given.shape} from "
                    f"checkpoint, the shape in current model is {value.shape}."
                )
        if faults:
            lines = "".join(f"\n\t{fault}" for fault in faults)
            name = self._get_name()
            raise bad_value(f"Error(s) in loading state_dict for {name}:{lines}")
        modules = dict(fronts)
        with no_grad():
            for name, value in own.items():
                if name not in state_dict:
                    continue
                given = state_dict[name]
                if not assign:
                    value.copy_(given)
                    continue
                if isinstance(value, Parameter) and not isinstance(given, Parameter):
                    given = Parameter(given, value.requires_grad)
                elif isinstance(value, Parameter):
                    given.requires_grad_(value.requires_grad)
                cut = name.rfind(".") + 1
                setattr(modules[name[:cut]], name[cut:], given)
        for name, take in extras.items():
            if name in state_dict:
                take(state_dict[name])
        return keys

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
            raise TypeFault(
                "E0309",
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={probe!r}",
            )

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
        return self._converted(lambda t: t.cuda())
