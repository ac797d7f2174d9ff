"""``Parameter``: a leaf that a module counts among what it learns."""

from __future__ import annotations

from typing import Any

from gradcli.engine.graph.node import AccumulateGrad
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.errors import RuntimeFault, bad_type


class Parameter(Tensor):
    """A tensor to learn: a leaf that requires grad; set on a module it is one of its parameters.

    It shares the memory of ``data``. Raises TypeFault (E0303) for what is no tensor.

    Example:
        >>> import gradcli
        >>> gradcli.nn.Parameter(gradcli.tensor([1.0, 2.0]))
        Parameter containing:
        tensor([1., 2.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        """A leaf with the memory of ``data``; of a conjugate view it is a copy."""
        if data is None:
            from gradcli.engine.creation.factories import empty

            data = empty(0)
        if not isinstance(data, Tensor):
            raise bad_type(
                f"a Parameter is made of a tensor, got {type(data).__name__}",
                help="write nn.Parameter(torch.tensor(...))",
            )
        if requires_grad and not data.dtype.differentiable:
            raise RuntimeFault(
                "E0404",
                "Only Tensors of floating point and complex dtype can require gradients",
                help="write nn.Parameter(x, requires_grad=False), or x.float()",
            )
        shared = data.resolve_conj().resolve_neg().detach()
        out = object.__new__(cls)
        out.array, out.dtype, out.edge, out.meta = shared.array, shared.dtype, None, shared.meta
        if requires_grad:
            out.edge = AccumulateGrad(out)
        return out

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return super().__format__(spec) if spec else repr(self)


class Buffer(Tensor):
    """A tensor that a module keeps but does not learn; ``register_buffer`` as an assignment."""

    __slots__ = ()
    persistent: bool

    def __new__(cls, data: Tensor, *, persistent: bool = True) -> Buffer:
        """``data`` itself, marked as state of the module it is set on."""
        shared = data.detach()
        out = object.__new__(cls)
        out.array, out.dtype, out.edge, out.meta = shared.array, shared.dtype, None, shared.meta
        out.persistent = persistent
        return out
