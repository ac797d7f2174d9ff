"""Tensor: an array, its place in the graph, and PyTorch's names on it.

Four slots, because a tensor is made at every operation:

    array   the numbers: a NumPy (or CuPy) array, or a NumPy scalar where the tensor is 0-d.
            A scalar is several times cheaper than a 0-d array; ``own_array`` makes it an array
            when something needs its memory (a view, a write in place, ``numpy()``)
    _dtype  the element type, which ``dtype`` reads
    edge    where the gradient goes: None, the AccumulateGrad of a leaf, or the node that made it
    meta    rarely more: version counter, kept gradient, base of a view

What needs the floors above is bound there: the constructor in ``creation``, ``backward()`` in
``backward``, operators and composed functions in ``functions``.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Container
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.dtypes import DType
from gradcli.engine.grad_mode import current, mode, refuse_in_transform, transformed
from gradcli.engine.graph.level_detach import detached
from gradcli.engine.graph.node import (
    AccumulateGrad,
    Kept,
    Node,
    RemovableHandle,
    hooked,
    keeps_result,
    more,
    registered,
    sharing,
)
from gradcli.engine.graph.own_passes import in_own_passes, leaves_of, made_by, own_edge
from gradcli.engine.graph.torch_names import dressed
from gradcli.engine.graph.view_edges import Severed, Stale
from gradcli.engine.source_location import warn
from gradcli.engine.tensor.attributes import Facts, at_place, placed, twin
from gradcli.engine.tensor.conversion import Conversions, Numbers
from gradcli.engine.tensor.storage import InferenceMeta, Meta, Slots
from gradcli.ops import OPERATORS
from gradcli.ops.errors import (
    AttributeFault,
    RuntimeFault,
    TypeFault,
    UnwrittenFault,
    bad_dim,
    bad_dtype,
    bad_shape,
    bad_type,
)

_new = object.__new__
_GRAD_DTYPE = "_gradcli_grad_dtype"
_WAITING = "_gradcli_hooks"
"""Attributes: the element type that ``grad`` was asked to have, and hooks that were set on a tensor
before it required a gradient."""

_OUTSIDE = (
    "You are attempting to call Tensor.{} inside of a function being transformed by a functorch "
    "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, "
    "vjp, jacrev, jacfwd, hessian) or call {} outside of a function being transformed instead."
)
_NOT_A_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
    "access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead."
)


def _not_a_leaf(wanted: bool) -> RuntimeFault:
    """The error of changing ``requires_grad`` of a tensor that was computed."""
    message = "you can only change requires_grad flags of leaf variables."
    detached = (
        " If you want to use a computed variable in a subgraph that doesn't require "
        "differentiation use var_no_grad = var.detach()."
    )
    mend = "write y.detach() for a tensor outside the graph"
    return RuntimeFault("E0404", message, help=mend, torch=message + ("" if wanted else detached))


def _is_plain(value: Any) -> bool:
    return getattr(value, "__gradcli_rank__", 1) == 1


class Kind(type):
    """The class of Tensor: the values inside transforms are tensors to ``isinstance`` too.

    What a user puts in the place of a method or an operator, of Tensor or of a class of parameters,
    is noted, once the library has bound its own (``begin``): generated code has the library's.
    """

    changes = object()
    """Another one after every change."""
    _begun: ClassVar[set[Kind]] = set()
    _own: ClassVar[dict[tuple[Kind, str], Any]] = {}  # what the library has bound

    def begin(cls) -> None:
        """From here on changes are a user's."""
        Kind._begun.add(cls)

    @staticmethod
    def replaced(words: Container[str]) -> str:
        """The name of a method of tensors that another stands in the place of, or of one of
        ``words`` that is a user's; empty where there is none."""
        for (cls, name), own in list(Kind._own.items()):
            if _found(cls, name) is not own and (own is not None or name in words):
                return name
        return ""

    def __setattr__(cls, name: str, value: Any) -> None:
        cls._change(name, partial(type.__setattr__, cls, name, value))

    def __delattr__(cls, name: str) -> None:
        cls._change(name, partial(type.__delattr__, cls, name))

    def _change(cls, name: str, change: Callable[[], None]) -> None:
        if cls in Kind._begun:
            Kind._own.setdefault((cls, name), _found(cls, name))
        change()
        if cls in Kind._begun:  # after it: what another thread traced until now had the old one
            Kind.changes = object()

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Slots) if cls is Tensor else type.__instancecheck__(cls, value)


def _found(cls: type, name: str) -> Any:
    """What a class has under a name, not looked up; None where there is nothing."""
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)


class Tensor(Slots, Facts, Conversions, Numbers, metaclass=Kind):
    """A multi-dimensional array that can be differentiated through.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """

    __slots__ = ()
    __array_priority__ = 1000  # NumPy's operators leave Tensors to ours
    __gradcli_rank__ = 1
    _grad_is_copied = True
    _flips = False  # numbers are not what memory holds: see conj_view
    _turned: type  # of a class itself, if any: that of its conjugates, of conjugates the plain one

    array: Any
    _dtype: DType
    edge: Any  # a Node, or None
    meta: Any  # a Meta, or None: who reads either has asked

    if TYPE_CHECKING:  # the methods that upper floors bind; the stub of gradcli declares them

        def __getattr__(self, name: str) -> Any: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = cast(Any, None)
        __truediv__ = __rtruediv__ = __pow__ = __matmul__ = __neg__ = cast(Any, None)
        copy_: Callable[..., Tensor]
        _renew: Callable[[Tensor, Tensor], None]
        _refuse_captured: Callable[..., None]
        __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = __setitem__ = cast(Any, None)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in {"__torch_function__", "__torch_dispatch__"} & vars(cls).keys():
            said = f"functions of tensors do not call {name} of {cls.__name__}"
            raise UnwrittenFault("E0412", said, help="write methods of the class")

    def as_subclass(self, cls: type) -> Any:
        """Itself as one of a class of the user's; what is computed from it is a plain tensor."""
        out = self.resolve_conj().resolve_neg()[...]
        out.__class__ = cls
        return out

    # -- what it is ------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor; settable on a leaf."""
        edge = self.edge
        return edge is not None and own_edge(edge, self) is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if not isinstance(wanted, bool):
            raise RuntimeFault("E0404", "requires_grad must be a bool", help="True or False")
        if not self._is_leaf:
            raise _not_a_leaf(wanted)
        self._require(wanted)

    @property
    def is_leaf(self) -> bool:
        """Whether the user made this tensor: its gradient is accumulated in ``grad``."""
        own = own_edge(self.edge, self)
        return own is None or own.leaf or any(own in leaves_of(t) for t in transformed.by)

    @property
    def _is_leaf(self) -> bool:
        edge = self.edge
        return edge is None or edge.leaf or not (transformed.by or self.requires_grad)

    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor; None for a leaf."""
        return None if self.is_leaf else dressed(self.edge.origin)

    @property
    def _grad_fn(self) -> Node | None:
        return self.grad_fn

    @_grad_fn.setter
    def _grad_fn(self, value: None) -> None:
        if value is not None:
            raise RuntimeFault("E0404", "_grad_fn can be only set to None")
        self.detach_()

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward left here: on a leaf, or after ``retain_grad()``."""
        meta = self.meta
        if meta is not None and meta.kept is not None:  # a view is not asked for its place
            kept: Tensor | None = meta.kept.grad
            return kept
        edge = self.edge
        if edge.__class__ is AccumulateGrad:
            own: Tensor | None = edge.grad
            return own
        if not self._is_leaf and (meta is None or meta.grad is None):
            warn(_NOT_A_LEAF)
        return None if meta is None else meta.grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise bad_type(
                    "assigned grad expected to be a Tensor or None but got grad of type "
                    f"{type(value).__name__}"
                )
            if value is self:
                raise RuntimeFault("E0404", "can't assign Variable as its own grad")
            if value.array.shape != self.array.shape:
                raise bad_shape(
                    f"grad has shape {list(value.array.shape)}, "
                    f"the tensor {list(self.array.shape)}",
                    help="a gradient has its tensor's shape",
                    torch=f"attempting to assign a gradient of size '{list(value.array.shape)}' to "
                    f"a tensor of size '{list(self.array.shape)}'. Please ensure that the gradient "
                    "and the tensor are the same size",
                )
            wanted = self.__dict__.get(_GRAD_DTYPE, self.dtype)
            if wanted is not None and value.dtype is not wanted:
                raise bad_dtype(
                    "assigned grad has data of a different type: "
                    f"{value.dtype.name}, the tensor {wanted.name}",
                    help=f"write grad.to({wanted})",
                    torch=f"attempting to assign a gradient with dtype '{value.dtype.c_name}' to a "
                    f"tensor with grad_dtype '{wanted.scalar_name}'. The gradient must match the "
                    "tensor's grad_dtype (defaults to the tensor's dtype). You can set the "
                    "tensor's grad_dtype attribute with a specific dtype, or None to allow any "
                    "dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its "
                    "gradient may break downstream systems that assume they match.",
                )
        if self.meta is not None and self.meta.kept is not None:
            self.meta.kept.grad = value
        elif self.edge.__class__ is AccumulateGrad:
            self.edge.grad = value
        elif value is not None or self.meta is not None:
            self._meta().grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    _grad = grad

    @property
    def grad_dtype(self) -> DType | None:
        """The element type of a leaf's ``grad``: its own unless set, None for any that arrives.

        Raises RuntimeFault (E0404) for what is no leaf, and where ``grad`` is of another type.
        """
        if not self._is_leaf:
            raise RuntimeFault("E0404", "grad_dtype can only be accessed on leaf tensors.")
        own: DType | None = self.__dict__.get(_GRAD_DTYPE, self.dtype)
        return own

    @grad_dtype.setter
    def grad_dtype(self, dtype: DType | None) -> None:
        if not self._is_leaf:
            raise RuntimeFault("E0404", "grad_dtype can only be set on leaf tensors.")
        if dtype is not None and not isinstance(dtype, DType):
            raise RuntimeFault(
                "E0303", f"grad_dtype must be a dtype or None, but got {type(dtype).__name__}"
            )
        if dtype is not None and not dtype.differentiable:
            raise bad_dtype(f"a gradient has no dtype {dtype}: it would be rounded to that")
        have = self.grad
        if have is not None and dtype is not None and have.dtype is not dtype:
            raise RuntimeFault(
                "E0404",
                f"Cannot set grad_dtype to '{dtype.scalar_name}' because there is already a "
                f"gradient of dtype '{have.dtype.scalar_name}'",
                help="set x.grad = None first",
            )
        self.__dict__[_GRAD_DTYPE] = dtype
        if self.edge.__class__ is AccumulateGrad:
            self.edge.dtype = dtype

    @property
    def data(self) -> Tensor:
        """The same memory outside the graph; writes through it are not tracked.

        Inside nested transforms outside that of the innermost: see ``level_detach``.
        """
        out = self._alias(detached(self.edge, self))
        out.meta = InferenceMeta(counted=not current().inference) if self.is_inference() else None
        return out._data_of(self)

    @data.setter
    def data(self, value: Tensor) -> None:
        by = transformed.by
        inside = any(t.function is not None for t in by)
        if transformed.linear or inside or (by and not _is_plain(value)):
            said = "mutating directly with `.data` inside functorch transform is not allowed."
            raise RuntimeFault("E0412", said, help="write y = y * 2, or y.copy_(value)")
        while not _is_plain(value) and isinstance(value, Tensor):  # without its tangent
            value = value.content
        if not isinstance(value, Tensor):
            raise bad_type(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.edge is not None and not value.dtype.differentiable:
            raise bad_dtype(
                "data set to a tensor that requires gradients must be floating point or complex "
                "dtype"
            )
        if not self._is_leaf and value.array.shape != self.array.shape:
            said = "data of another shape is set on a tensor that a graph leads to"
            raise RuntimeFault("E0404", said, help="write y = value for a tensor outside the graph")
        if value._flips is not self._flips:
            turned = self.__class__.__dict__.get("_turned")
            if turned is None:
                said = f"a {type(self).__name__} cannot hold a conjugate that is yet to be taken"
                raise RuntimeFault("E0404", said, help="write value.resolve_conj().resolve_neg()")
            self.__class__ = turned
        self.array = value.own_array()
        self._dtype = value.dtype
        if self.meta is not None and (self.meta.base is not None or self.meta.views):
            self._part()
        if self.edge.__class__ is AccumulateGrad:
            self._outgrow()
            self.edge.dtype = self.grad_dtype

    def _outgrow(self, always: bool = False) -> None:
        """Be another leaf where the shape has changed: graphs lead to what this was.

        ``always``: where it has not too; the hooks are then those of both.
        """
        before = self.edge
        if before.__class__ is not AccumulateGrad:  # no gradient arrives there
            before.shape = self.array.shape
        elif always or before.shape != self.array.shape:
            with sharing:
                self.edge = now = AccumulateGrad(self)
                now.grad, now.dtype, now.extra = before.grad, before.dtype, before.extra
                if not always:
                    before.extra = None
                more(before).rested = True
                known = more(now).before
                if known is None or known() is None:
                    more(now).before = weakref.ref(before)

    def _part(self) -> None:
        """With other memory: no view of its base any more, nor the base of its views.

        Asked for its base, a view goes on to name the one that it had.
        """
        base = self.meta.base
        for view in [self] if base is not None else [v() for v in self.meta.views]:
            root = None if view is None else view.meta.base
            if root is not None and not np.may_share_memory(view.own_array(), root.own_array()):
                root.meta.views[:] = [v for v in root.meta.views if v() is not view]
                view.meta.base, view.meta.former = None, root

    @property
    def mH(self) -> Tensor:
        """The last two dimensions exchanged, and conjugated."""
        if self.ndim == 1:
            raise bad_dim(
                "tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor."
            )
        result: Tensor = self.mT.conj()
        return result

    @property
    def real(self) -> Tensor:
        """The real part; a real tensor itself."""
        return OPERATORS["real"](self) if self.dtype.is_complex else self

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Tensor:
        """The imaginary part of a complex tensor."""
        result: Tensor = OPERATORS["imag"](self)
        return result

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    @property
    def _version(self) -> int:
        if self.meta is not None and not self.meta.counted:
            raise RuntimeFault("E0415", "Inference tensors do not track version counter.")
        return 0 if self.meta is None else self.meta.version.number

    def is_inference(self) -> bool:
        """Whether this tensor was made in inference mode."""
        return self.meta is not None and self.meta.inference

    def _meta(self) -> Meta:
        """The tensor's Meta, made when first needed, shown to the node that saved this result."""
        if self.meta is None:
            with sharing:
                if self.meta is None:
                    meta = Meta()
                    edge = self.edge
                    if transformed.by:
                        recorded = edge is not None and not edge.leaf
                        known = getattr(self, "_begun", None)
                        meta.version.begun = edge.seq if recorded else known
                    if edge is not None and keeps_result(edge):
                        extra = more(edge)
                        if extra.out_meta is not None:  # of who asked for the saved result
                            meta.version = extra.out_meta.version
                        extra.out_meta = meta
                    self.meta = meta
        result: Meta = self.meta
        return result

    def own_array(self) -> Any:
        """The array itself; a 0-d scalar becomes an array first, so that memory can be shared."""
        if isinstance(self.array, np.generic):
            with sharing:
                if isinstance(self.array, np.generic):
                    self.array = np.array(self.array)
        return self.array

    def _data_of(self, outer: Tensor) -> Tensor:
        """Itself, whose writes are those of another tensor too, in the graphs of transforms."""
        if made_by(None) is not None:
            mode.watching = True
            self._meta().outer = outer
            outer._meta().add_data(self)
        passes = sum(t.since is not None for t in transformed.by)
        if self.edge is not None or passes > 1 or transformed.linear:  # saved for a graph around
            self._meta().version = outer._meta().version
        return self

    def _alias(self, edge: Node | None = None) -> Tensor:
        """A tensor of the same numbers in the same memory, in another place of the graph."""
        return wrap(self.own_array(), self.dtype, edge)

    @property
    def output_nr(self) -> int:
        """Which output of its node this tensor is."""
        return 0 if self.edge is None else self.edge.number

    @property
    def _base(self) -> Tensor | None:
        meta = self.meta
        if meta is None or meta.inference:
            return None
        base: Tensor | None = getattr(meta, "former", None) if meta.base is None else meta.base
        return base

    def _is_view(self) -> bool:
        return self._base is not None

    # -- the graph -------------------------------------------------------------------------------

    def _turn_on(self) -> None:
        """Become a leaf; again the same one where it was turned off: graphs may lead there."""
        with sharing:
            resting = getattr(self.meta, "resting", None)
            if resting is not None:
                resting.grad = self.meta.grad
                self.edge, self.meta.resting, self.meta.grad = resting, None, None
            elif self.edge.__class__ is not AccumulateGrad:
                before = None if self.meta is None else self.grad
                hooks = self._backward_hooks
                self.edge = AccumulateGrad(self)
                self.edge.grad = before
                if self.meta is not None:
                    self.meta.grad = self.meta.kept = None
                if _GRAD_DTYPE in self.__dict__:
                    self.edge.dtype = self.grad_dtype
                if hooks is not None:
                    self.__dict__.pop(_WAITING, None)
                    self._backward_hooks = hooks
            self._views_follow()

    def _views_follow(self) -> None:
        """Views that were made before requires_grad was set require it as this tensor does."""
        known = () if self.meta is None or self.meta.inference else self.meta.views or ()
        for view in (view for view in (reference() for reference in known) if view is not None):
            place = Slots.edge.__get__(view)  # type: ignore[attr-defined]
            if isinstance(place, Tensor):  # a LateView, which is yet to read this tensor
                place.edge = self.edge
                continue
            if place.__class__ is Stale:
                if self.edge is None and place.source is None:  # nothing is ambiguous any more
                    view.edge, view.meta.overtaken = place.own, True
                continue
            overtaken = self.edge is not None and getattr(view.meta, "overtaken", False)
            if view.edge is None or view.edge.__class__ is Severed or (overtaken and view._is_leaf):
                follows = self.edge is not None and view.dtype.differentiable
                if view.edge.__class__ is AccumulateGrad:  # a leaf before
                    view.meta.grad, more(view.edge).rested = view.edge.grad, True
                view.edge = Severed(view, self.edge) if follows else None
                if follows and overtaken:
                    view._renew(self)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Turn gradient flow to this leaf on or off. Raises RuntimeFault or TypeFault (E0404).

        RuntimeFault (E0412) inside a transform, which says itself what is differentiated.
        """
        if transformed.by:
            said = "requires_grad_() (or perhaps using torch.autograd.functional.* APIs)"
            mend = "write func.grad(f)(x), which makes leaves of its own"
            refuse_in_transform(_OUTSIDE.format(said, "requires_grad_()"), mend)
        return self._require(requires_grad)

    def _require(self, requires_grad: bool) -> Tensor:
        if not isinstance(requires_grad, bool):
            raise TypeFault(
                "E0404",
                f"requires_grad must be bool, not {type(requires_grad).__name__}",
                help="True or False",
                torch="requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                f"{type(requires_grad).__name__}",
            )
        if requires_grad:
            if self._is_leaf and self.edge.__class__ is not AccumulateGrad:
                if self.is_inference() and not current().inference:
                    raise RuntimeFault(
                        "E0415",
                        "Setting requires_grad=True on inference tensor outside InferenceMode is "
                        "not allowed.",
                        help="take a clone(), which is an ordinary tensor",
                    )
                if not self.dtype.differentiable:
                    raise RuntimeFault(
                        "E0404",
                        "Only Tensors of floating point and complex dtype can require gradients, "
                        f"this one is {self.dtype.name}",
                        help="give the numbers a decimal point, or write x.float() or x.double()",
                        torch="only Tensors of floating point dtype can require gradients",
                    )
                self._turn_on()
        elif self.edge.__class__ is AccumulateGrad:
            meta = self._meta()
            meta.resting, meta.grad = self.edge, self.edge.grad
            around = None if meta.base is None else meta.base.edge
            self.edge = None if around is None else Severed(self, around)
            meta.resting.grad = None  # what still arrives there is lost
            with sharing:
                more(meta.resting).rested = True
            self._views_follow()
        elif not self._is_leaf:
            raise _not_a_leaf(requires_grad)
        return self

    def detach(self) -> Tensor:
        """The same memory outside the graph."""
        if self.is_inference():
            return self.data
        out = self._alias()  # of a conjugate view, such a view
        meta = self.meta or self._meta()
        out.meta = meta.__class__(meta.version)
        meta.version.add_twin(self if meta.base is None else meta.base, out)
        return out

    def detach_(self) -> Tensor:
        """Take this tensor itself out of the graph. Raises RuntimeFault (E0409) for a view."""
        if current().inference:
            return self
        self._refuse_captured(numbers=False)
        return self._leave_graph()

    def _leave_graph(self) -> Tensor:
        if self._is_view():
            said = "Can't detach views in-place. Use detach() instead."
            more = (
                "If you are using DistributedDataParallel (DDP) for training, and "
                "gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and "
                "hence detach_() cannot be called on these gradients. To fix this error, please "
                "refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as the "
                "solution."
            )
            mend = "write v = v.detach(), which is a tensor of its own"
            raise RuntimeFault("E0409", said, help=mend, torch=f"{said} {more}")
        if self.edge is not None and made_by(self.edge) is not made_by(None):
            return self  # it is in the graph of a transform around alone
        if self.edge.__class__ is AccumulateGrad:
            return self._require(False)
        self._meta()  # who saved this tensor looks whether it is still in the graph
        if (hooks := self._backward_hooks) is not None:
            self.__dict__[_WAITING] = hooks
        self.edge = detached(self.edge)
        if self.edge is None:
            self._views_follow()
        return self

    def cpu(self) -> Tensor:
        """The tensor in the computer's own memory."""
        return self if self.device == "cpu" else wrap(self.array.get(), self.dtype)

    def cuda(self, device: Any = None) -> Any:
        """The tensor on the GPU. Raises RuntimeFault (E0905) where there is none."""
        return self.to("cuda" if device is None else device)

    def retain_grad(self) -> None:
        """Keep this tensor's gradient in ``grad`` though it is not a leaf. Raises E0404."""
        mend = "differentiate by that value: make it an argument of its own"
        refuse_in_transform(_OUTSIDE.format("retain_grad()", "retain_grad()"), mend)
        edge = registered(self.edge, "kept") or self.edge
        if not self.requires_grad:
            said = "can't retain_grad on Tensor that has requires_grad=False"
            raise RuntimeFault("E0404", said, help="start from a leaf with requires_grad=True")
        if self._is_leaf:
            return
        mode.watching = True
        with sharing:
            kept, meta = more(edge).kept or Kept(edge), self._meta()
            if meta.kept is not kept:
                kept.grad, meta.grad = meta.grad, None
            meta.kept = kept

    @property
    def retains_grad(self) -> bool:
        """Whether ``retain_grad()`` keeps this non-leaf's gradient."""
        return self.meta is not None and self.meta.kept is not None

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook(grad)`` when the gradient is known; a returned tensor replaces it."""
        if own_edge(self.edge, self) is None:
            said = "cannot register a hook on a tensor that doesn't require gradient"
            raise RuntimeFault("E0404", said, help="start from a leaf with requires_grad=True")
        edge = registered(self.edge, "hooks") or self.edge
        return hooked(edge, "hooks", in_own_passes(hook, edge))

    @property
    def _backward_hooks(self) -> Any:
        """The hooks of ``register_hook`` by number; None where there are none."""
        if self.edge is None:
            return self.__dict__.get(_WAITING)
        edge = registered(self.edge, "hooks")
        return None if edge is None else edge.extra.hooks

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: Any) -> None:
        if self.edge is None:
            self.__dict__[_WAITING] = hooks
        else:
            mode.watching = True
            with sharing:
                more(self.edge).hooks = hooks

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(leaf)`` after backward has added to this leaf's ``grad``."""
        if self.edge is None or not self.edge.leaf:
            said = "post accumulate grad hooks cannot be registered on non-leaf tensors"
            if self.edge is None:
                said = "cannot register a hook on a tensor that doesn't require gradient"
            raise RuntimeFault("E0404", said)
        if self.edge.__class__ is AccumulateGrad:
            self.edge.owner = lambda: self  # the hook is given it, whoever let go of it
        return hooked(self.edge, "post_hooks", hook)

    def __hash__(self) -> int:
        return id(self)

    def _refuse_copy(self) -> None:
        """Raise UnwrittenFault (E0412) for what a transform differentiates by."""
        if any(self is own for transform in transformed.by for own in transform.arguments):
            raise UnwrittenFault("E0412", "Cannot access storage of a value of a transform")

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """A leaf of its own with the same numbers and, but of a Parameter, the same gradient.

        What shares memory and is copied in one call shares memory again, but for a Parameter. A
        number or array of a program without tensors stays in the graph.
        """
        if mode.rebinds:
            joined: Tensor = self.clone()
            return joined
        self._refuse_copy()
        if not self._is_leaf:
            said = (
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment."
            )
            more = (
                "If you were attempting to deepcopy a module, this may be because of a "
                "gradcli.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001"
            )
            raise RuntimeFault("E0404", said, help="copy y.detach()", torch=f"{said}  {more}")
        out: Tensor = _new(self._turned if self._flips else type(self))
        # Of memory that is its own alone: a Parameter, and a conjugate, which is taken.
        apart = self._flips or not self._grad_is_copied
        out.array = np.array(self.array)[()] if apart else twin(self.array, memo)
        out._dtype, out.edge, out.meta = self.dtype, None, None
        # PyTorch writes the memory in.
        marked(out)._meta().version.number = 0 if apart else 1
        if self.requires_grad:
            out.edge = AccumulateGrad(out)
        if self._grad_is_copied and self.grad is not None:
            out.grad = self.grad.__deepcopy__(memo)
        memo[id(self)] = out
        if self.__dict__:
            out.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return out

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickled as its memory and its place there, with what the user has set on it; it comes
        back as a leaf, also where it was computed, and shares no memory, as in PyTorch."""
        self._refuse_copy()
        whole, place = placed(self.own_array())
        needs = self.requires_grad  # asked first: of a late view this makes an ordinary one
        kind = self._turned if self._flips else type(self)
        made = _unpickled, (kind, whole[...], needs, place, self._flips)
        return (*made, self.__dict__) if self.__dict__ else made


def _unpickled(
    kind: Any, whole: Any, requires_grad: bool, place: Any, flips: bool = False
) -> Tensor:
    """The tensor, parameter or buffer that an array was pickled for."""
    array = at_place(whole, place)
    out = wrap(array, dtypes.dtype_of(array))
    if flips:
        out.__class__ = Tensor._turned
    out._meta().version.number = 1  # as in PyTorch, where the memory is written in
    if kind is not Tensor:
        out = kind.__new__(kind, out)
    return out if out.requires_grad == requires_grad else out.requires_grad_(requires_grad)


def _kept(name: str, read: property) -> Callable[[Tensor], None]:
    def delete(self: Tensor) -> None:
        if read.fset is None:
            raise AttributeFault("E0404", f"attribute {name!r} of a tensor is not writable")
        raise RuntimeFault("E0404", f"cannot delete attribute {name!r} of a tensor")

    return delete


# Not by __delattr__: a class that has one assigns its slots in twice the time, and every operation
# assigns four.
for _name in dir(Tensor):
    _read = getattr(Tensor, _name)
    if isinstance(_read, property) and _read.fdel is None:
        setattr(Tensor, _name, _read.deleter(_kept(_name, _read)))


def wrap(array: Any, dtype: DType, edge: Node | None = None) -> Tensor:
    """A Tensor around an array, without copying or checking."""
    out = _new(Tensor)
    out.array = array
    out._dtype = dtype
    out.edge = edge
    out.meta = None
    return marked(out) if mode.marking else out


def marked(out: Tensor) -> Tensor:
    """A tensor that is made now, marked where inference mode is on or a transform is running."""
    if transformed.by:
        out._begun = transformed.by[-1].begun
    if mode.inferring and current().inference:
        out.meta = own_meta()
    return out


def own_meta() -> Meta | None:
    """What is known of the memory of a tensor that is made now and is no view."""
    if not (mode.inferring and current().inference):
        return None
    meta = InferenceMeta()
    if transformed.by:
        meta.version.begun = transformed.by[-1].begun
    return meta


def constant(value: Any) -> Tensor:
    """A number, or an array that no graph holds, as a tensor."""
    array = np.asarray(value)
    return wrap(array, dtypes.dtype_of(array))


if TYPE_CHECKING:
    Plain = Tensor
else:
    Plain = Numbers
"""A Tensor itself, to ``isinstance``: not what stands for one inside a transform."""
Tensor.__module__ = "gradcli"  # what type(x) shows: where users find it
