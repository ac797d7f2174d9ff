"""Layers that take the size of their input from their first call: LazyLinear, LazyConv2d ...

Until then their parameters are ``UninitializedParameter``, which an optimizer may hold already.
With the first call they get their values, and the layer is what it is called after: a Linear.
"""

from __future__ import annotations

from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.creation.factories import zeros
from gradcli.nn.modules import batchnorm, conv, linear
from gradcli.nn.modules.module import Module
from gradcli.nn.parameter import Parameter, UninitializedParameter


class _Lazy(Module):
    """The first base of a lazy layer; ``size`` is the attribute that its first call sets."""

    becomes: Any
    size: str

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(0, *args, **options)  # type: ignore[call-arg]
        self.__dict__["_given"] = args, options
        for name, held in self._parameters.items():
            if held is not None:
                self._parameters[name] = UninitializedParameter(dtype=held.dtype)

    def reset_parameters(self) -> None:
        """Nothing: there are no values yet."""

    def has_uninitialized_params(self) -> bool:
        """Whether it was neither called yet nor given a state."""
        buffers = self._buffers.values()
        return any(hasattr(held, "become") for held in self._parameters.values()) or any(
            not held.numel() for held in buffers if held is not None
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *noted: Any) -> None:
        """Have room for the tensors that are loaded, whose names begin with ``prefix``."""
        for mine in (self._parameters, self._buffers):
            for name, held in mine.items():
                value = state_dict.get(prefix + name)
                if held is None or not isinstance(value, Tensor) or hasattr(value, "become"):
                    continue
                if isinstance(held, UninitializedParameter):
                    held.become(Parameter(zeros(*value.shape, dtype=held.dtype)))
                elif not held.numel():
                    mine[name] = zeros(*value.shape, dtype=held.dtype)
        super()._load_from_state_dict(state_dict, prefix, *noted)

    def forward(  # type: ignore[override]  # what the full layer takes
        self, input: Tensor, *further: Any, **options: Any
    ) -> Any:
        """Become the full layer, for inputs of that size, and call it."""
        unbatched = self.size == "in_channels" and input.ndim == self.rank + 1
        size = input.shape[-1 if self.size == "in_features" else 1 - unbatched]
        if self.has_uninitialized_params():
            self._materialize(size)
        del self.__dict__["_given"]
        setattr(self, self.size, size)
        self.__class__ = self.becomes
        return self.forward(input, *further, **options)

    def _materialize(self, size: int) -> None:
        """Take the values of a full layer of that size where there are none yet."""
        args, options = self.__dict__["_given"]
        every = (*self._parameters.values(), *self._buffers.values())
        kept = [held.dtype for held in every if held is not None]
        full = self.becomes(size, *args, **{**options, **({"dtype": kept[0]} if kept else {})})
        for name, parameter in full._parameters.items():
            held = self._parameters[name]
            if isinstance(held, UninitializedParameter):
                held.become(parameter)
        for name, buffer in full._buffers.items():
            if buffer is not None and not self._buffers[name].numel():
                self._buffers[name] = buffer


def _lazy(becomes: Any, size: str) -> Any:
    doc = f"A {becomes.__name__} that takes ``{size}`` from its first input."
    body = {"becomes": becomes, "size": size, "__doc__": doc, "__module__": __name__}
    return type(f"Lazy{becomes.__name__}", (_Lazy, becomes), body)


LazyLinear = _lazy(linear.Linear, "in_features")
LazyConv1d = _lazy(conv.Conv1d, "in_channels")
LazyConv2d = _lazy(conv.Conv2d, "in_channels")
LazyConv3d = _lazy(conv.Conv3d, "in_channels")
LazyConvTranspose1d = _lazy(conv.ConvTranspose1d, "in_channels")
LazyConvTranspose2d = _lazy(conv.ConvTranspose2d, "in_channels")
LazyConvTranspose3d = _lazy(conv.ConvTranspose3d, "in_channels")
LazyBatchNorm1d = _lazy(batchnorm.BatchNorm1d, "num_features")
LazyBatchNorm2d = _lazy(batchnorm.BatchNorm2d, "num_features")
LazyBatchNorm3d = _lazy(batchnorm.BatchNorm3d, "num_features")
