"""What ``import torch``, ``import numpy`` and ``import math`` give under a prefix.

The same functions as the bare names, and PyTorch's meaning where it differs (``max(a, b)`` is
elementwise, ``torch.max(x)`` PyTorch's). Namespaces inside a module (``torch.linalg``,
``torch.optim``) are filled when a program first asks for one of their names, so that a program pays
for what it uses.
"""

from __future__ import annotations

import math as python
from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce
from importlib import import_module
from threading import RLock
from typing import Any

import gradcli.engine as engine
from gradcli.engine import dtypes
from gradcli.engine.backward import gradient_edges
from gradcli.engine.creation import factories
from gradcli.engine.creation.generator import Generator
from gradcli.engine.graph.node import Node
from gradcli.engine.tensor.attributes import Size
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions import methods, overloads, reshaping
from gradcli.language.limits.sizes import counted
from gradcli.language.names import (
    argument_checks,
    builtins,
    context_managers,
    exceptions,
    functions,
    settings,
)
from gradcli.language.names.calling import named
from gradcli.language.syntax.actions import MODULES
from gradcli.language.type_names import a_value
from gradcli.ops.errors import LimitFault, bad_dtype, bad_type
from gradcli.ops.operator import OPERATORS


class Namespace(Mapping):
    """The names of one module.

    ``inner`` says how the tables of dotted names are made, and under "" what further names there
    are.
    """

    def __init__(self, table: dict[str, Any], inner: dict[str, Callable[[], dict]]) -> None:
        self.table = table
        self.inner = inner
        self._filled: set[str] = set()
        self._parts: dict[str, tuple[int, dict[str, Any]]] = {}  # with how long the table was

    def __getitem__(self, name: str) -> Any:
        if name not in self.table:
            with _filling:
                self._fill(name)
        return self.table[name]

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self.table))  # to which another thread may add

    def __len__(self) -> int:
        return len(self.table)

    def _fill(self, name: str) -> None:
        for prefix, make in self.inner.items():
            front = f"{prefix}." if prefix else ""
            fits = name.startswith(front) if prefix else "." not in name
            if fits and prefix not in self._filled:
                self._filled.add(prefix)
                made = {f"{front}{key}": value for key, value in make().items()}
                self.table.update(made if prefix else {**made, **self.table})

    def below(self, prefix: str) -> dict[str, Any] | None:
        """The names under ``prefix``, without it; None where there are none."""
        with _filling:
            size, found = self._parts.get(prefix, (-1, {}))
            if size != len(self.table):
                for inner in self.inner:
                    if inner == prefix or inner.startswith(f"{prefix}."):
                        self._fill(f"{inner}.")
                found = {
                    name.removeprefix(f"{prefix}."): value
                    for name, value in self.table.items()
                    if name.startswith(f"{prefix}.")
                }
                self._parts[prefix] = len(self.table), found
            return found or None


_filling = RLock()
"""Held while names are added, for which other threads wait: a namespace may ask another."""


def _asking(name: str) -> Callable[[Tensor], bool]:
    """The function of a question that is a method: ``torch.is_complex(x)``."""
    return named(lambda input: getattr(input, name)(), name)


_WRITING = (
    "zero_", "fill_", "detach_", "index_put_", "clip_", "clamp_max_", "clamp_min_", "nan_to_num_",
    "xlogy_", "gcd_", "lcm_", "ldexp_", "addmv_", "fix_",
)  # fmt: skip
"""Further functions of PyTorch that write to their first tensor."""


def _in_place() -> dict[str, Any]:
    """``torch.sin_`` and the like: the operators of one tensor that write to it."""
    single = [op for op in OPERATORS.values() if op.arity == 1 and not op.variadic]
    names = [f"{name}_" for op in single for name in (op.name, *op.aliases)]
    methods = {name: getattr(Tensor, name, None) for name in (*names, *_WRITING)}
    return {name: _writing(name, method) for name, method in methods.items() if method is not None}


def _writing(name: str, method: Callable) -> Callable:
    def call(input: Any, *args: Any, **options: Any) -> Any:
        if not isinstance(input, Tensor):
            raise bad_type(f"{name} writes to a tensor, got {a_value(input)}", help=f"x.{name}()")
        return argument_checks.method_with_checks(name, method, None)(input, *args, **options)

    return named(call, name)


def _torch_table(names: Mapping[str, Any]) -> dict[str, Any]:
    table = dict(names)
    for name in builtins.PYTHON_ONLY:
        table.pop(name, None)
    table.update(methods.COMPOSED)
    table.update(functions.created())
    table.update(_in_place())
    table.update(factories.TYPED)
    table.update(
        max=overloads.torch_max, min=overloads.torch_min, all=OPERATORS["all"],
        abs=Tensor.abs,  # type: ignore[attr-defined]
        any=OPERATORS["any"], Tensor=Tensor,
        from_numpy=named(_from_numpy, "from_numpy"), as_tensor=named(_as_tensor, "as_tensor"),
        Size=size,
        device=_device, complex=factories.complex_of, result_type=overloads.result_type,
        broadcast_shapes=overloads.broadcast_shapes, set_default_device=_default_device,
        promote_types=dtypes.promote_types, can_cast=dtypes.can_cast, strided=dtypes.strided,
        get_default_dtype=dtypes.get_default_dtype, set_default_dtype=settings.set_default_dtype,
        set_printoptions=settings.set_printoptions, float=dtypes.float32, int=dtypes.int32,
        bool=dtypes.bool_, long=dtypes.int64, half=dtypes.float16, short=dtypes.int16,
        cfloat=dtypes.complex64, cdouble=dtypes.complex128, where=reshaping.where, vmap=_vmap,
        Generator=_generator, compile=named(_compiled, "compile"),
    )  # fmt: skip
    table.update({name: _asking(name) for name in (
        "is_floating_point", "is_complex", "is_inference")})  # fmt: skip
    table.update({name: _anomaly(name) for name in (
        "is_anomaly_enabled", "is_anomaly_check_nan_enabled")})  # fmt: skip
    table.update({"cuda.is_available": lambda: False, "cuda.device_count": lambda: 0})
    return table


def _vmap(func: Any, in_dims: Any = 0, out_dims: Any = 0, **options: Any) -> Any:
    return _transforms("func")()["vmap"](func, in_dims, out_dims, **options)


_vmap.__name__ = _vmap.__qualname__ = "vmap"


def _compiled(model: Any = None, **_options: Any) -> Any:
    """``torch.compile``, which changes no value: programs are compiled as it is."""
    return (lambda function: function) if model is None else model


def size(sizes: Any = ()) -> Size:
    """``torch.Size``. Raises TypeFault (E0303) for what is no whole number."""
    return Size(builtins.as_list(sizes))


def _device(type: Any, index: int | None = None) -> dtypes.Device:
    if str(type) != "cpu":  # programs compute where gradcli was told to
        raise bad_dtype(f"there is no device {type!r} for a program", help='write "cpu"')
    return engine.dtypes.CPU


def _from_numpy(ndarray: Any) -> Tensor:
    from gradcli.language.names.numpy import arrays  # few programs have arrays

    return arrays.tensor_of(ndarray)


def _as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    if isinstance(data, Tensor) and data.__class__.__name__ == "NumpyArray":
        data = _from_numpy(data)
    make = argument_checks.with_checks(factories.as_tensor)
    made: Tensor = make(data, dtype=dtype, device=device)
    return made


def _generator(device: Any = "cpu") -> Generator:
    _device(str(device))
    return Generator()


_generator.__qualname__ = "Generator"


def _default_device(device: Any = "cpu") -> None:
    _device(str(device))


def _public(module: str) -> Callable[[], dict[str, Any]]:
    """The functions that a namespace of the Python face says it has."""

    def make() -> dict[str, Any]:
        found = import_module(f"gradcli.{module}")
        return {name: getattr(found, name) for name in found.__all__}

    return make


def _autograd() -> dict[str, Any]:
    # Loaded only by a program that has a custom Function.
    from gradcli.engine.custom_function.function import Function

    return {"Function": Function, "grad": engine.grad, "backward": engine.backward,
            "Variable": named(_variable, "Variable", Tensor), **_transforms("autograd")(),
            **context_managers.anomaly()}  # fmt: skip


def _variable(data: Any, requires_grad: bool = False) -> Tensor:
    from gradcli.autograd.variable import Variable  # of programs older than PyTorch 0.4

    made: Tensor = Variable(data, requires_grad)
    return made


def _function() -> dict[str, Any]:
    from gradcli.engine.custom_function.function import Function
    from gradcli.language.names.custom_function import once

    return {"Function": Function, "once_differentiable": once}


def _graph() -> dict[str, Any]:
    return {
        **context_managers.saving(),
        "Node": Node, "get_gradient_edge": gradient_edges.get_gradient_edge,
        "increment_version": gradient_edges.increment_version,
        "register_multi_grad_hook": gradient_edges.register_multi_grad_hook,
    }  # fmt: skip


def _anomaly(name: str) -> Callable[[], bool]:
    def ask() -> bool:
        return getattr(import_module("gradcli.engine.backward.anomaly"), name)()

    return named(ask, name)


# What takes functions, layers and schedulers is a hundredth of the time at start-up each, and few
# programs ask for one: the modules that hold them are loaded then.


def _late(module: str, name: str, *args: Any) -> Callable[[], dict[str, Any]]:
    """The table that a function of a module beside this one makes."""
    return lambda: getattr(import_module(f"gradcli.language.names.{module}"), name)(*args)


_transforms, _modules = partial(_late, "transforms"), partial(_late, "modules")

_TORCH: dict[str, Callable[[], dict[str, Any]]] = {
    "nn.functional": _public("nn.functional"), "nn.init": _modules("package", "init"),
    "nn.utils.parametrize": _modules("parametrize"), "nn.utils": _modules("package", "utils"),
    "nn": _modules("nn"), "utils.data": _modules("data"),
    "utils.checkpoint": _transforms("checkpoints"), 
    "linalg": lambda: {**_public("linalg")(), "LinAlgError": exceptions.LINALG},
    "special": _public("special"), "fft": _public("fft"), "masked": _public("masked"),
    "autograd.function": _function,
    "autograd.functional": _transforms("functional"), "autograd.graph": _graph,
    "autograd.forward_ad": context_managers.forward_ad,
    "autograd": _autograd, "func": _transforms("func"),
    "optim.lr_scheduler": _late("schedulers", "lr_scheduler"), "optim": _transforms("optim"),
    "": functions.later,
}  # fmt: skip
"""What fills each namespace inside torch, called when a program first asks for one of its names."""


def package(name: str) -> dict[str, Any]:
    """The names of a package inside torch: ``linalg``, ``nn.functional``."""
    return _TORCH[name]()


def torch(names: Mapping[str, Any]) -> Namespace:
    """``import torch``."""
    return Namespace(_torch_table(names), dict(_TORCH))


def numpy(names: Mapping[str, Any]) -> Namespace:
    """``import numpy``: the same tensors; those made here are float64, as NumPy's arrays are."""
    table = dict(names)
    table.update(methods.COMPOSED)
    table.update(max=table["amax"], min=table["amin"], sum=OPERATORS["sum"],
                 abs=Tensor.abs)  # type: ignore[attr-defined]  # fmt: skip
    table.update(fabs=table["abs"], mod=table["remainder"], degrees=table["rad2deg"],
                 radians=table["deg2rad"], rint=table["round"])  # fmt: skip
    del table["put"]  # NumPy's writes into its argument
    # Few programs have arrays, and NumPy's functions are many.
    from gradcli.language.names.numpy import arrays
    from gradcli.language.names.numpy import table as numpy_table
    from gradcli.language.names.numpy.random import random_table

    for dtype in dtypes.ALL:
        if dtype.name in table:
            table[dtype.name] = made = numpy_table.number_of(dtype)
            argument_checks.TYPES[made] = dtype
    table.update(numpy_table.table(table))
    table.update(ndarray=arrays.NDARRAY, int_=table["int64"], bool_=table["bool"])
    table["finfo"] = named(
        lambda dtype: dtypes.finfo(argument_checks.checked_option(dtype)), "finfo"
    )
    table["newaxis"] = None
    return Namespace(table, {
        "linalg": lambda: numpy_table.linalg(_public("linalg")()), "random": random_table,
    })  # fmt: skip


def math(names: Mapping[str, Any]) -> Namespace:
    """``import math``: of numbers what Python computes, of tensors the operators."""
    wanted = (
        "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 "
        "log10 log1p sqrt cbrt hypot floor ceil trunc pow isnan isinf isfinite pi e inf nan "
        "erf erfc gamma lgamma copysign"
    )
    known = {**methods.COMPOSED, **names}
    table = {name: known[name] for name in wanted.split()}
    for name in ("floor", "ceil", "trunc", "pow"):
        table[name] = _of_numbers(names[name], getattr(python, name))
    table.update(tau=python.tau, fabs=_of_numbers(Tensor.abs, python.fabs),  # type: ignore[attr-defined]
                 degrees=known["rad2deg"], radians=known["deg2rad"], prod=named(_product, "prod"),
                 fsum=named(_exact_sum, "fsum"), log=named(_logarithm, "log"))  # fmt: skip
    for name in ("gcd", "lcm", "factorial", "comb", "isclose"):
        table[name] = _counting(getattr(python, name))
    return Namespace(table, {})


def _of_numbers(of_tensors: Any, of_numbers: Callable) -> Callable:
    """Python's own function of numbers, where an operator makes others of them: whole ones, say."""

    def call(*args: Any) -> Any:
        if {*map(type, args)} != {float}:
            args = (*map(builtins.number, args),)
        numbers = {*map(type, args)} <= {float, int, bool}
        return of_numbers(*args) if numbers else of_tensors(*args)

    return named(call, of_numbers.__name__)


_log = argument_checks.with_checks(OPERATORS["log"])


def _logarithm(x: Any, base: Any = None, /) -> Any:
    """``math.log``: natural, or to a base."""
    return _log(x) if base is None else _log(x) / _log(base)


def _product(values: Any, /, *, start: Any = 1) -> Any:
    """``math.prod``: items multiplied as ``*`` does, whole numbers beyond 64 bits too."""
    return reduce(builtins.multiply, counted(values), start)


def _exact_sum(values: Any, /) -> Any:
    """``math.fsum``: of numbers rounded once, of tensors their sum."""
    items = [builtins.number(value) for value in counted(values)]
    numbers = all(isinstance(one, int | float) for one in items)
    return python.fsum(items) if numbers else builtins.TABLE["sum"](items)


MOST_FACTORS = 500
"""The largest whole number that factorial and comb take."""


def _counting(function: Callable) -> Callable:
    """A function of whole numbers, which stay small. Raises LimitFault (E0605), TypeFault."""
    name = function.__name__

    def call(*numbers: Any, **options: Any) -> Any:
        numbers = tuple(map(builtins.number, numbers))
        for number in numbers:
            if not isinstance(number, int | float):
                raise bad_type(f"math.{name} takes numbers, got {a_value(number)}")
            if name in ("factorial", "comb") and number > MOST_FACTORS:
                said = f"math.{name} takes whole numbers up to {MOST_FACTORS}, got {number}"
                raise LimitFault("E0605", said, help="exp(lgamma(n + 1)) is n! as a float")
        return builtins.bounded(function(*numbers, **options))

    return named(call, name)


def standard(name: str) -> Callable[[Mapping[str, Any]], Namespace]:
    """What fills the namespace of one of Python's modules, loaded when a program imports it."""
    return lambda _names: Namespace(_late("standard_modules", name)(), {})


MAKERS: dict[str, Callable[[Mapping[str, Any]], Namespace]] = {
    **{name: standard(name) for name in MODULES},
    "torch": torch, "gradcli": torch, "numpy": numpy, "math": math,
}  # fmt: skip
"""What makes the namespace of a module that a program imports, from the bare names."""
