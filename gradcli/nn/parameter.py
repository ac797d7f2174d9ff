"""``Parameter``: a leaf that a module counts among what it learns; ``Buffer``: what it keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.creation.factories import empty, requiring, tensor
from gradcli.engine.dtypes import DType, get_default_dtype
from gradcli.engine.tensor.conj_view import ConjView
from gradcli.engine.tensor.tensor import Plain, Tensor
from gradcli.ops.errors import AttributeFault, RuntimeFault, bad_argument, bad_value


class Parameter(Tensor):
    """A tensor to learn: a leaf that requires grad; set on a module it is one of its parameters.

    It shares the memory of ``data``. Raises TypeFault (E0303) for what is no tensor, RuntimeFault
    for one that cannot require a gradient (E0404, E0415).

    Example:
        >>> import gradcli
        >>> gradcli.nn.Parameter(gradcli.tensor([1.0, 2.0]))
        Parameter containing:
        tensor([1., 2.], requires_grad=True)
    """

    __slots__ = ()
    _grad_is_copied = False

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        """A leaf with the memory of ``data``."""
        data = empty(0) if data is None else data
        if not isinstance(data, Tensor):
            given, mend = type(data).__name__, "write nn.Parameter(torch.tensor(...))"
            told = f"'{given}' object has no attribute 'detach'"
            said = f"a Parameter is made of a tensor, got {given}"
            raise AttributeFault("E0303", said, help=mend, torch=told)
        out: Parameter = _sharing(cls, data)
        requiring(out, requires_grad)
        return out

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return super().__format__(spec) if spec else repr(self)


class UninitializedParameter(Parameter):
    """A parameter of a lazy layer before its first call. Any use raises ValueFault (E0304)."""

    __slots__ = ()
    requires_grad = True

    def __new__(
        cls, requires_grad: bool = True, device: Any = None, dtype: DType | None = None
    ) -> UninitializedParameter:
        """A parameter without a value."""
        made = object.__new__(cls)
        made.edge = made.meta = None
        made.__dict__["requires_grad"] = requires_grad
        made._dtype = dtype or get_default_dtype()
        return made

    def _convert(self, convert: Callable[[Tensor], Tensor]) -> None:
        """Become a parameter of the type that its layer is converted to."""
        self._dtype = convert(tensor([], dtype=self.dtype)).dtype

    @property
    def array(self) -> Any:
        """There is none yet."""
        said = "Attempted to use an uninitialized parameter: its layer is a lazy one"
        raise bad_argument(said, help="call the layer with a batch first: its size is known then")

    @array.setter
    def array(self, _value: Any) -> None:
        raise self.array

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """There is nothing yet that could be frozen."""
        return self.array

    @property
    def shape(self) -> Any:
        """There is none yet, as where its state is loaded into a layer that has values."""
        raise bad_value("Can't access the shape of an uninitialized parameter")

    def become(self, value: Parameter) -> None:
        """Be a parameter of that value from now on."""
        self.__class__ = Parameter  # type: ignore[assignment]
        self.array, self._dtype = value.array, value.dtype
        self._require(self.__dict__.pop("requires_grad"))

    def __reduce_ex__(self, _protocol: Any) -> Any:
        return type(self), (self.requires_grad, None, self.dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedParameter:
        made = memo[id(self)] = type(self)(self.requires_grad, None, self.dtype)
        return made

    def __repr__(self) -> str:
        return "<UninitializedParameter>"

    __str__ = __repr__


class Buffer(Tensor):
    """A tensor that a module keeps but does not learn; ``register_buffer`` as an assignment."""

    __slots__ = ()
    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        """``data`` itself, marked as state of the module it is set on."""
        data = empty(0) if data is None else data
        out: Buffer = _sharing(cls, data)
        out._require(data.requires_grad)
        out.persistent = persistent
        return out


for _kind in (Parameter, Buffer):  # in the memory of a conjugate view
    _kind._turned = type(_kind.__name__, (ConjView, _kind), {"__slots__": (), "_turned": _kind})
    _kind.begin()


def _sharing(kind: Any, data: Any) -> Any:
    """One of ``kind`` outside the graph, in the memory of ``data``."""
    shared = data.detach()
    if not isinstance(shared, Plain):
        mend = "func.functional_call(module, {name: value}, args) takes any value"
        said = f"a {kind.__name__} cannot be made of a value that is a batch"
        raise RuntimeFault("E0412", said, help=mend)
    flips = getattr(shared, "_flips", False)
    if flips and "_turned" not in vars(kind):  # a class of the user's has no such twin
        shared, flips = shared.resolve_conj().resolve_neg(), False
    shared.__class__ = kind._turned if flips else kind
    return shared


def reserve(module: Any, shapes: dict[str, tuple[int, ...] | None], **options: Any) -> None:
    """Give a module parameters of these shapes, with no values yet; none where one has no shape."""
    for name, shape in shapes.items():
        made = None if shape is None else Parameter(empty(shape, **options))
        module.register_parameter(name, made)
