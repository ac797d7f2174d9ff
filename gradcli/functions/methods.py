"""What Tensor has as methods: one table, bound once.

The operators by their names, as written out by ``fast_path``; over them the composed functions,
which have PyTorch's optional parameters; over them what a method takes otherwise than the function
(``x.reshape(2, 3)``); and for each that has one its form that writes in place, ``x.exp_()``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.engine.creation import factories
from gradcli.engine.dtypes import DType
from gradcli.engine.record.apply import apply, note_view
from gradcli.engine.record.composite import reshaped
from gradcli.engine.record.fast_path import FUNCTIONS, function, method
from gradcli.engine.record.inplace import check_writable
from gradcli.engine.record.out import with_out
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.functions import (
    arithmetic,
    bitwise,
    copies,
    counting,
    in_place,
    matrices,
    overloads,
    products,
    reductions,
    reshaping,
    scatter,
    sorting,
    statistics,
    strided,
)
from gradcli.functions.lazy_table import LazyTable
from gradcli.functions.subscripts import get_item, put_item
from gradcli.ops.declaration.infix import METHODS as SIGN_METHODS
from gradcli.ops.declaration.infix import MIRRORED, by_sign
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import RuntimeFault
from gradcli.ops.operator import OPERATORS, Operator

COMPOSED = (
    arithmetic, reductions, products, bitwise, reshaping, sorting, counting, statistics, scatter,
    strided, matrices, copies,
)  # fmt: skip
"""The modules of functions that are composed of operators."""


def sizes_method(op: Callable) -> Callable:
    """view(2, 3) and view((2, 3)) alike."""

    def method(self: Tensor, *sizes: Any, **params: Any) -> Any:
        if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
            sizes = tuple(sizes[0])
        return op(self, tuple(sizes), **params) if sizes or not params else op(self, **params)

    method.__name__ = method.__qualname__ = op.__name__
    return method


def reshape(input: Tensor, shape: Any = ()) -> Tensor:
    """The entries in another shape; a view where the strides allow one."""
    return reshaped(FUNCTIONS["reshape"](input, shape), input)


def view(self: Tensor, shape: Any = (), *, dtype: DType | None = None) -> Tensor:
    """The same memory in another shape, or its bits read as another ``dtype``.

    Raises RuntimeFault (E0306) where that needs a copy.
    """
    if dtype is not None or (shape and isinstance(shape[0], DType)):
        return _reread(self, shape[0] if dtype is None else dtype)
    out = FUNCTIONS["reshape"](self, shape)
    if self.array.ndim and self.array.size and not np.may_share_memory(out.array, self.array):
        raise RuntimeFault(
            "E0306",
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
        )
    return out


def _reread(x: Tensor, dtype: DType) -> Tensor:
    """The bits of a tensor as numbers of another type, which have no derivative by the first."""
    own, size = x.dtype.itemsize, dtype.itemsize
    steps, words = _stride(x), f"{x.dtype.scalar_name} as {dtype.scalar_name}"
    wrong = ""
    if own != size and not x.ndim:
        wrong = "self.dim() cannot be 0"
    elif own != size and steps[-1] != 1:
        wrong = f"self.stride(-1) must be 1, but got {steps[-1]}"
    elif size > own:
        times = size // own
        parts = {"self.size(-1)": x.shape[-1], "self.storage_offset()": _storage_offset(x)}
        parts |= {f"self.stride({d})": step for d, step in enumerate(steps[:-1])}
        odd = next((name for name, n in parts.items() if n % times), None)
        wrong = f"{odd} must be divisible by {times}, but got {parts[odd]}" if odd else ""
    if wrong:
        first, comma, got = wrong.partition(", but got ")
        raise RuntimeFault(
            "E0306", f"{first} to view {words} (different element sizes){comma}{got}",
            help="clone() it first" if x.ndim else "unsqueeze(0) it first",
        )  # fmt: skip
    out = wrap(x.own_array().view(dtype.numpy), dtype)
    note_view(out, x)
    return out


def _repeat(self: Tensor, *repeats: Any) -> Tensor:
    """The tensor repeated along each dimension. Raises RuntimeFault (E0306) for too few of them."""
    if len(repeats) == 1 and isinstance(repeats[0], tuple | list):
        repeats = tuple(repeats[0])
    shape = tuple(self.shape)
    if len(repeats) < len(shape):
        raise RuntimeFault(
            "E0306",
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor",
            help="x.tile(...) takes fewer",
        )
    sizes = (1,) * (len(repeats) - len(shape)) + shape
    if repeats and min(repeats) < 0:
        wanted = [r * n for r, n in zip(repeats, sizes, strict=True)]
        raise RuntimeFault(
            "E0306", f"Trying to create tensor with negative dimension {min(wanted)}: {wanted}"
        )
    return FUNCTIONS["tile"](self, tuple(repeats))


def _where(self: Tensor, condition: Any, other: Any) -> Tensor:
    return FUNCTIONS["where"](condition, self, other)


def _like(make: Callable) -> Callable:
    def method(
        self: Tensor, *size: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None
    ) -> Tensor:
        return make(
            *size, dtype=self.dtype if dtype is None else dtype, requires_grad=requires_grad
        )

    return method


def _new(self: Tensor, *data: Any) -> Tensor:
    return factories.typed(self.dtype, "new")(*data)


def _set(self: Tensor, source: Tensor) -> Tensor:
    """Take the memory of ``source``; a leaf begins anew: graphs made before do not lead to it."""
    check_writable(self, (source,))
    self.data = source
    self._meta().version.bump()
    if self.edge is not None:
        self.edge = None
        self.requires_grad_()
    return self


def _contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    return self if self.is_contiguous() else self.clone()


def _conjugate_transpose(self: Any) -> Any:
    if len(self.shape) not in (0, 2):
        raise RuntimeFault(
            "E0305",
            "tensor.H is only supported on matrices (2-D tensors). Got "
            f"{len(self.shape)}-D tensor.",
            help="For batches of matrices, consider using tensor.mH",
        )
    return self.t().conj()


def _stride(self: Tensor, dim: int | None = None) -> Any:
    steps = tuple(s // self.dtype.itemsize for s in self.own_array().strides)
    return steps if dim is None else steps[normal_dim(dim, len(steps))]


def _storage_offset(self: Tensor) -> int:
    array = base = self.own_array()
    while isinstance(base.base, np.ndarray):
        base = base.base
    start, first = (a.__array_interface__["data"][0] for a in (array, base))
    return (start - first) // self.dtype.itemsize


def _resize_as(self: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    return strided.resize_(self, tuple(other.shape))


def _compare(op: Operator) -> Callable:
    compute = op.compute

    def method(self: Tensor, other: Any) -> Any:
        kind = other.__class__
        if kind is not float and kind is not int and kind is not Tensor and other is None:
            return NotImplemented
        if not self.array.ndim and (kind is float or kind is int) and self.dtype.kind < 3:
            return _truth(compute(self.array, other))
        if isinstance(other, str | list | tuple):
            return NotImplemented
        return op(self, other)

    return method


def _truth(value: Any) -> Tensor:
    from gradcli.engine.dtypes import bool_

    return wrap(value, bool_)


def _commuted(op: Callable) -> Callable:
    return lambda self, other: op(other, self)


def _signs() -> dict[str, Callable]:
    """Python's operators: ``x + y``, ``2 - x``, ``x += y``, ``x < y``, ``x & y``."""
    found: dict[str, Callable] = {}
    for sign, op in by_sign().items():
        if sign in MIRRORED:
            found[f"__{op.name}__"] = _compare(op)
            continue
        word = SIGN_METHODS[sign]
        if op.dtypes == "keep":  # & | ^ are those of truths and of bits
            bits = getattr(bitwise, f"bitwise_{word}")
            found[f"__{word}__"], found[f"__r{word}__"] = bits, _commuted(bits)
            continue
        steps = op.kind == "constant"
        found[f"__{word}__"] = FUNCTIONS[op.name] if steps else method(op, symbol=True)
        found[f"__r{word}__"] = _commuted(op) if steps else method(op, reverse=True)
        if op.entrywise:
            found[f"__i{word}__"] = in_place.augmented(op)
    for word, name in (("lshift", "left_shift"), ("rshift", "right_shift")):
        bits = getattr(bitwise, f"bitwise_{name}")
        found[f"__{word}__"], found[f"__r{word}__"] = bits, _commuted(bits)
    return found


def _of_operators() -> dict[str, Any]:
    """The operators as methods, each with the form that writes in place where it has one."""
    found: dict[str, Any] = {}
    for op in OPERATORS.values():
        if not op.public or op.variadic:
            continue
        own = FUNCTIONS[op.name]
        written = in_place.of_operator(op) if in_place.writes(op) else None
        if written is None and op.entrywise and op.infix:  # x.lt_(y): numbers 0 and 1
            written = in_place.rewritten(own)
        for name in (op.name, *op.aliases):
            if name not in vars(Tensor):  # real is a property
                found[name] = own
                if written is not None:
                    found[f"{name}_"] = written
    for name in ("logical_not", "tril", "triu"):
        found[f"{name}_"] = in_place.rewritten(FUNCTIONS[name])
    return found


def _named(module: Any) -> dict[str, Any]:
    return {f.__name__: f for f in module.BOTH} | getattr(module, "ALIASES", {})


def _of_functions() -> dict[str, Any]:
    """The composed functions as methods, and those that write in place what they give."""
    found: dict[str, Any] = {}
    for module in COMPOSED:
        named = _named(module)
        found.update(named)
        again = getattr(module, "WRITTEN", ())
        found.update({f"{n}_": in_place.rewritten(f) for n, f in named.items() if f in again})
    return found


def _own() -> dict[str, Any]:
    """What a method takes otherwise than the function of its name, or what has no function."""
    makers = {"zeros": factories.zeros, "ones": factories.ones, "full": factories.full,
              "empty": factories.empty, "tensor": factories.tensor}  # fmt: skip
    expand = sizes_method(FUNCTIONS["expand"])
    return {
        **{op.name: sizes_method(FUNCTIONS[op.name]) for op in OPERATORS.values() if op.sizes},
        **{f"new_{name}": _like(make) for name, make in makers.items()},
        "T": property(FUNCTIONS["reverse_dims"], doc="All dimensions in reverse order."),
        "mT": property(FUNCTIONS["mT"], doc="The last two dimensions exchanged."),
        "__neg__": FUNCTIONS["neg"], "__abs__": FUNCTIONS["abs"], "__pos__": lambda self: self,
        "__invert__": bitwise.bitwise_not, "__getitem__": get_item, "__setitem__": put_item,
        "broadcast_to": expand, "expand": expand,
        "reshape": sizes_method(reshape), "view": sizes_method(view),
        "repeat": _repeat, "where": _where, "flatten": overloads.flatten, "unfold": scatter.unfold,
        "flip": sizes_method(FUNCTIONS["flip"]),
        "max": sorting.extreme_method("max"), "min": sorting.extreme_method("min"),
        "fill_diagonal_": counting.fill_diagonal_, "stride": _stride, "new": _new,
        "set_": _set,
        "slogdet": overloads.slogdet, "put_": in_place.rewritten(scatter.put),
        "resize_as_": _resize_as, "storage_offset": _storage_offset,
        "contiguous": _contiguous, "resize_": strided.resize_, "dim_order": strided.dim_order,
        "new_empty_strided": _like(strided.empty_strided),
        "H": property(_conjugate_transpose, doc="The conjugate transpose of a matrix."),
    }  # fmt: skip


LATER = {
    **dict.fromkeys(("cholesky_inverse", "cholesky_solve", "geqrf", "ormqr", "triangular_solve",
                     "lu_unpack"), "functions.decompositions"),
    **{name: f"functions.decompositions:torch_{name}" for name in ("lu", "lu_solve", "qr", "svd")},
    "orgqr": "functions.linalg:householder_product",
    **dict.fromkeys(("pca_lowrank", "svd_lowrank"), "functions.low_rank"),
    **dict.fromkeys(("stft", "istft"), "functions.spectral"),
    "constant_pad_nd": "functions.nn.padding",
    **dict.fromkeys(("native_batch_norm", "native_group_norm", "native_layer_norm"),
                    "functions.nn.layers"),
    **dict.fromkeys(("grid_sampler", "grid_sampler_2d", "grid_sampler_3d"),
                    "functions.nn.resampling:grid_sampler"),
    **dict.fromkeys((
        "batch_norm", "bilinear", "group_norm", "instance_norm", "layer_norm", "rms_norm",
    ), "functions.nn.layers"),
    **dict.fromkeys((
        "binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss",
    ), "functions.nn.losses"),
    **dict.fromkeys((
        "alpha_dropout", "celu", "dropout", "feature_alpha_dropout", "hardshrink", "prelu",
        "rrelu", "selu", "threshold",
    ), "functions.nn.activations"),
    **dict.fromkeys((
        "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
        "conv_transpose3d", "pixel_shuffle", "pixel_unshuffle",
    ), "functions.nn.convolution"),
    **dict.fromkeys((
        "adaptive_avg_pool1d", "adaptive_max_pool1d", "avg_pool1d", "max_pool1d",
        "max_pool1d_with_indices", "max_pool2d", "max_pool3d",
    ), "functions.nn.pooling"),
    "ctc_loss": "functions.nn.class_losses", "embedding": "functions.nn.embedding",
    **dict.fromkeys((
        "cosine_embedding_loss", "cosine_similarity", "hinge_embedding_loss",
        "margin_ranking_loss", "pairwise_distance", "pdist", "triplet_margin_loss",
    ), "functions.nn.pair_losses"),
}  # fmt: skip
"""Functions whose modules are loaded with their first use, each with its module."""
LATER_METHODS = (
    "cholesky_inverse", "cholesky_solve", "geqrf", "ormqr", "triangular_solve", "lu", "lu_solve",
    "qr", "svd", "orgqr", "stft", "istft", "hardshrink", "prelu",
)  # fmt: skip
"""Those that are methods too."""


def later(name: str) -> Any:
    """The function of a name of ``LATER``."""
    module, _, other = LATER[name].partition(":")
    found = getattr(import_module(f"gradcli.{module}"), other or name)
    return with_out(found) if module == "functions.decompositions" else found


def _later_method(name: str) -> Callable:
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        return later(name)(self, *args, **options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``torch.{name}`` of the tensor."
    return method


TURNED = {
    f"{name}_": in_place.turned(name, function)
    for name, function in (
        *_named(reshaping).items(),
        ("squeeze", FUNCTIONS["squeeze"]),
        ("as_strided", strided.as_strided),
    )
    if function in reshaping.TURNED or name in ("squeeze", "as_strided")
}
"""Methods in place that change the shape and not the entries."""
METHODS: dict[str, Any] = {
    **_of_operators(), **_of_functions(), **_own(), **TURNED, **in_place.METHODS,
    **_signs(), **{name: _later_method(name) for name in LATER_METHODS},
}  # fmt: skip
"""Every method by name. Where several have one, the later is PyTorch's method."""
for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
Tensor.__gradcli_apply__ = staticmethod(apply)  # type: ignore[attr-defined]


@cache
def public_operators() -> Mapping[str, Any]:
    """Operators by the names that a user calls them by, aliases included."""
    public = [op for op in OPERATORS.values() if op.public]
    by_name = {name: op for op in public for name in (op.name, *op.aliases)}
    own = (overloads.cat, overloads.stack, overloads.flatten, overloads.einsum, overloads.slogdet,
           reshaping.split, reshaping.chunk, reshaping.unbind, scatter.diag,
           scatter.diag_embed)  # fmt: skip
    tile = OPERATORS["tile"]
    made = {**{f.__name__: f for f in own}, "concat": overloads.cat, "tile": tile, "repeat": tile}
    return LazyTable(by_name, _public, made)


@cache
def _public(op: Operator) -> Any:
    return op if op.variadic else function(op)


def functions() -> dict[str, Any]:
    """What the module ``gradcli`` offers beside the operators."""
    table: dict[str, Any] = {}
    for module in COMPOSED:
        for composed in (*module.BOTH, *getattr(module, "ALONE", ())):
            table[composed.__name__] = composed
        table.update(getattr(module, "ALIASES", {}))
    return table
