"""What a program finds under ``np`` and ``np.linalg``.

For arrays and lists these are NumPy's functions, for tensors and numbers those of the language.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation import factories
from gradcli.engine.grad_mode import mode
from gradcli.language.names import argument_checks, settings
from gradcli.language.names.calling import named
from gradcli.language.names.numpy.arrays import (
    NumpyArray,
    array_of,
    as_numpy,
    by_numpy,
    element_type,
    fitting,
    is_traced,
    named_type,
    of_arrays,
    options_of,
)
from gradcli.language.names.numpy.meanings import MEANINGS
from gradcli.ops.memory_budget import charge, charge_shape
from gradcli.ops.operator import OPERATORS


def _functions(home: Any, names: str) -> dict[str, Callable]:
    return {name: getattr(home, name) for name in names.split()}


ELEMENTWISE: dict[str, Callable] = {
    name: getattr(np, name) for name in dir(np) if isinstance(getattr(np, name), np.ufunc)
}
"""Functions whose results are as large as what their arguments broadcast to."""
OTHERS = _functions(np, """
    round where clip sum mean std var median prod max min amax amin argmax argmin all any cumsum
    cumprod sort argsort reshape ravel transpose squeeze expand_dims concatenate stack hstack
    vstack dot trace flip unique allclose isclose array_equal nonzero ptp count_nonzero zeros_like
    append roll polyval ones_like triu tril argwhere average real imag atleast_1d atleast_2d
    atleast_3d ix_
""")  # fmt: skip
"""Functions whose results are no larger than all their arguments, or twice that."""


def _diag(v: Any, k: Any = 0) -> Any:
    v = np.asarray(v)
    if v.ndim == 1:
        charge(8 * (v.size + abs(int(k))) ** 2)
    return np.diag(v, k)


def _diff(a: Any, n: Any = 1, axis: Any = -1) -> Any:
    """Differences, of an order that the size along the axis bounds."""
    a = np.asarray(a)
    return np.diff(a, min(int(n), max(a.shape, default=0)), axis)


def _over(names: dict[str, Any], home: Any, functions: dict[str, Callable]) -> dict[str, Any]:
    """Functions of NumPy over what has their names; others that ``home`` has make arrays."""
    found: dict[str, Any] = {}
    for name in names.keys() & (functions.keys() | vars(home).keys()):
        function = argument_checks.with_checks(names[name])
        if name in functions:
            found[name] = by_numpy(functions[name], function)
        elif function is not names[name] or name in MEANINGS:
            found[name] = of_arrays(function)
    return {**{name: by_numpy(f) for name, f in functions.items()}, **found}


def table(names: dict[str, Any]) -> dict[str, Any]:
    """NumPy's functions over those of the language; ``names`` are what they do with tensors."""
    functions: dict[str, Callable] = {**ELEMENTWISE, **OTHERS, "diag": _diag, "diff": _diff}
    found = _over(names | MEANINGS, np, functions)
    for name, meaning in MEANINGS.items():
        found[name].of_numpy = True  # no operator has this name
        found[name].__wrapped__ = meaning  # has the parameters
    makers = (factories.eye, factories.arange)
    found.update({f.__name__: _made(f) for f in makers})
    found.update({f.__name__: _spaced(f) for f in (np.linspace, np.logspace, np.geomspace)})
    found.update({f.__name__: _indices(f) for f in (np.tril_indices, np.triu_indices)})
    found.update(identity=found["eye"], empty_like=found["zeros_like"], around=found["round"])
    found.update(empty=_filled(0.0), zeros=_filled(0.0), ones=_filled(1.0))
    return found | {f.__name__: f for f in (array, asarray, copy, full, full_like)}


def array(object: Any, dtype: Any = None, copy: bool = True) -> Any:
    """``np.array``: NumPy's of numbers; where a gradient is to come back to a tensor in ``object``,
    a tensor that leads it there.
    """
    lists = argument_checks.bounded_lists(object)
    options = options_of({"dtype": dtype})
    number = mode.rebinds and lists.__class__ is not NumpyArray and getattr(lists, "ndim", 1) == 0
    if not argument_checks.holds_traced(lists):
        given = as_numpy(lists)
        made = np.array(given, copy=copy or number or None, **options)
        return array_of(fitting(made, given), (lists,))
    settings.arrays_lead()
    with dtypes.default_dtype(dtypes.float64):
        made = lists if is_traced(lists) else argument_checks.stacked(lists, whole=True)
    if dtype is not None:
        made = made.to(element_type(dtype))
    if number:  # which may be written to, as one that a number was read of may not
        return OPERATORS["reshape"](OPERATORS["clone"](OPERATORS["reshape"](made, (1,))), ())
    return OPERATORS["clone"](made) if copy and made is lists else made


def asarray(a: Any, dtype: Any = None) -> Any:
    """``np.asarray``, which copies only what it has to."""
    return array(a, dtype, copy=False)


def copy(a: Any) -> Any:
    """``np.copy``."""
    return array(a)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """``np.full``; a tensor where a gradient is to come back to ``fill_value``."""
    sizes = factories.sizes_of((shape,), "full")
    charge_shape(sizes)
    value = array(fill_value, dtype)
    if value.__class__ is NumpyArray:
        return array_of(np.full(sizes, value.array))
    return OPERATORS["clone"](OPERATORS["expand"](value, sizes))


def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    """``np.full_like``: of the shape and type of ``a``."""
    like = a if argument_checks.rank_of(a) else array(a)
    return full(tuple(like.shape), fill_value, like.dtype if dtype is None else dtype)


def _filled(value: float) -> Callable:
    return lambda shape, dtype=dtypes.float64: full(shape, value, dtype)


def number_of(dtype: dtypes.DType) -> Callable:
    """``np.float32``: makes numbers of that type, and names the type as ``dtype=np.float32``."""
    return named(lambda value=0: array(value, dtype)[()], dtype.name)


def _made(make: Callable) -> Callable:
    """What makes tensors, so that it makes arrays: of float64 where nothing else is asked for."""
    make = argument_checks.with_checks(make)

    def call(*args: Any, **options: Any) -> Any:
        if options.get("dtype") is not None:
            options["dtype"] = named_type(options["dtype"]) or options["dtype"]
        with dtypes.default_dtype(dtypes.float64):
            return array_of(make(*args, **options).array)

    return named(call, make.__name__)


def _spaced(make: Callable) -> Callable:
    """So many numbers between two; gradients lead to the ends of a line."""

    def call(start: Any, stop: Any, num: int = 50, **options: Any) -> Any:
        charge(8 * num)
        if make is np.linspace and argument_checks.holds_traced([start, stop]):
            settings.arrays_lead()
            return start + (stop - start) * call(0, 1, num, **options)
        return array_of(make(as_numpy(start), as_numpy(stop), num, **options_of(options)))

    return named(call, make.__name__)


def _indices(make: Callable) -> Callable:
    """The places of a triangle."""

    def call(n: int, k: int = 0, m: int | None = None) -> Any:
        charge(20 * n * (n if m is None else m))
        return array_of(make(n, k, m))

    return named(call, make.__name__)


_LINALG = _functions(np.linalg, """
    inv det norm solve eig eigh eigvals svd qr pinv matrix_rank cholesky lstsq slogdet
""")  # fmt: skip


def linalg(names: dict[str, Any]) -> dict[str, Any]:
    """``np.linalg`` over the functions of ``torch.linalg``, which tensors go to."""
    return {**names, **_over(names, np.linalg, _LINALG)}
