"""Tensors of another element type or on another device: ``x.to(float64)``, ``x.double()``."""

from __future__ import annotations

from typing import Any

from gradcli.engine import dtypes
from gradcli.ops import OPERATORS
from gradcli.ops.errors import ValueFault


class Conversions:
    """The part of Tensor that converts."""

    __slots__ = ()
    array: Any
    dtype: dtypes.DType
    device: Any

    def to(
        self,
        *wanted: Any,
        dtype: Any = None,
        device: Any = None,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: Any = None,
    ) -> Any:
        """This tensor with another element type; itself where that changes nothing.

        Takes a dtype, a device, both, or another tensor to be like.
        """
        for given in wanted:
            if isinstance(given, Conversions):
                dtype = given.dtype
            elif isinstance(given, dtypes.Device) or (
                isinstance(given, str) and given.partition(":")[0] in ("cpu", "cuda")
            ):
                device = given
            elif not isinstance(given, bool):
                dtype = given
        if device is not None and str(device) != str(self.device):
            return _no_device(str(device))
        if isinstance(dtype, str) and not dtypes.is_name(dtype):
            raise dtypes.no_device_name(dtype)
        target = self.dtype if dtype is None else dtypes.to_dtype(dtype)
        if target is self.dtype:
            return OPERATORS["clone"](self) if copy else self
        return OPERATORS["cast"](self, target.numpy)

    def type(self, dtype: Any = None) -> Any:
        """The same as ``to``; without a dtype, the name of this tensor's type."""
        if dtype is not None:
            return self.to(dtype)
        return f"gradcli.{self.dtype.scalar_name}Tensor"

    def type_as(self, other: Any) -> Any:
        """This tensor with another tensor's element type."""
        return self.to(other.dtype)

    def float(self) -> Any:
        """As float32."""
        return self.to(dtypes.float32)

    def double(self) -> Any:
        """As float64."""
        return self.to(dtypes.float64)

    def long(self) -> Any:
        """As int64."""
        return self.to(dtypes.int64)

    def int(self) -> Any:
        """As int32."""
        return self.to(dtypes.int32)

    def bool(self) -> Any:
        """As bool."""
        return self.to(dtypes.bool_)

    def conj(self) -> Any:
        """The complex conjugate; a real tensor unchanged."""
        return OPERATORS["conj"](self) if self.dtype.is_complex else self

    def cpu(self) -> Any:
        """The tensor in the computer's own memory."""
        return self if self.device == "cpu" else _on_host(self)


def _on_host(tensor: Any) -> Any:
    from gradcli.engine.tensor import wrap

    return wrap(tensor.array.get(), tensor.dtype)


def _no_device(name: str) -> Any:
    raise ValueFault("E0905", f"no device {name!r} here", help="use cpu, or install gradcli[cuda]")
