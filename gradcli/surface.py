"""The names of ``gradcli`` itself: what ``gradcli.NAME`` is, loaded when the first one is used.

Operators and what is composed of them stand under PyTorch's names; element types too, so that
``float``, ``int`` and ``bool`` are not Python's here.
"""

# ruff: noqa: F401  (what is imported without an underscore is what the module gives)
import builtins as _builtins
import math as _math
from importlib import import_module as _import_module
from typing import Any as _Any

import gradcli.engine as _engine
import gradcli.functions
from gradcli.engine import dtypes as _dtypes
from gradcli.engine import grad_mode as _grad_mode
from gradcli.engine.creation import factories as _creation
from gradcli.engine.creation import sampling as _sampling
from gradcli.engine.creation.factories import complex_of as complex
from gradcli.engine.creation.factories import inclusive_range as range
from gradcli.engine.creation.generator import Generator, default_generator
from gradcli.engine.creation.given import filling as _filling
from gradcli.engine.dtypes import Device as device
from gradcli.engine.dtypes import bool_ as bool
from gradcli.engine.dtypes import float32 as float
from gradcli.engine.dtypes import int32 as int
from gradcli.engine.record.face import face as _face
from gradcli.engine.record.face import looking as _looking
from gradcli.engine.record.face import published as _published
from gradcli.engine.source_location import is_warn_always_enabled, set_warn_always
from gradcli.engine.source_location import warn_once as _warn_once
from gradcli.functions.index import LATER as _FUNCTIONS_LATER
from gradcli.functions.methods import COMPOSED as _COMPOSED
from gradcli.functions.methods import later as _later
from gradcli.functions.methods import public_operators as _public_operators
from gradcli.functions.overloads import broadcast_shapes, is_tensor, numel, result_type
from gradcli.functions.overloads import torch_max as _torch_max
from gradcli.functions.overloads import torch_min as _torch_min
from gradcli.ops.errors import TypeFault as _TypeFault
from gradcli.ops.errors import bad_value as _bad_value
from gradcli.ops.torch_messages import not_a as _not_a

Tensor = _engine.Tensor
Size = _engine.Size
pi = 3.141592653589793
e = 2.718281828459045
inf = _math.inf
nan = _math.nan
newaxis = None
dtype = _dtypes.DType
layout = memory_format = _dtypes.Layout

_NAMES = {
    _creation: _creation.FUNCTIONS,
    _sampling: _sampling.FUNCTIONS,
    _dtypes: "can_cast cdouble cfloat channels_last channels_last_3d complex64 complex128 "
    "contiguous_format double float16 float32 float64 get_default_dtype half int8 int16 int32 "
    "int64 long preserve_format promote_types set_default_dtype short strided uint8",
    _grad_mode: _grad_mode.FUNCTIONS,
}
"""What keeps its name, by the module that it is of."""
globals().update((n, getattr(home, n)) for home, names in _NAMES.items() for n in names.split())

# PyTorch's names: operators, then what is composed of them or takes PyTorch's optional parameters;
# what stands above keeps its name.
_own = frozenset(globals())
_table = {**{n: v for n, v in _public_operators().items() if n not in _own}, **_COMPOSED}
globals().update({name: _face(function, name) for name, function in _table.items()})
globals().update(_creation.TYPED)
_DRESSED: dict[str, _Any] = {
    "arange empty eye full linspace logspace ones rand randn randperm zeros": (
        lambda name, made: _filling(_face(made, name))
    ),
    "normal randint range": lambda name, made: _filling(_looking(made, name)),
    "bernoulli complex multinomial": lambda name, made: _face(made),
    "as_tensor asarray empty_like frombuffer full_like ones_like poisson rand_like randint_like "
    "randn_like scalar_tensor tensor tril_indices triu_indices zeros_like": (
        lambda name, made: _looking(made)
    ),
}
"""How what creates tensors is called by Python, by its names."""
for _names, _dress in _DRESSED.items():
    globals().update((n, _dress(n, globals()[n])) for n in _names.split())


def _of_method(name: str) -> object:
    """The function of a method: of a tangent or a batch it is theirs."""

    def function(input: Tensor, *args: object, **options: object) -> object:
        if not hasattr(input, "__gradcli_rank__"):
            raise _not_a("Tensor", name, "input", 1, input)
        return getattr(input, name)(*args, **options)

    method = getattr(Tensor, name)
    function.__name__ = function.__qualname__ = name
    function.__doc__, function.__wrapped__ = method.__doc__, method  # type: ignore[attr-defined]
    return function


_METHODS = (
    "detach", "is_complex", "is_floating_point", "is_inference", "is_nonzero", "is_signed", "zero_",
)  # fmt: skip
globals().update(
    (n, _of_method(n)) for n in dir(Tensor) if n in _METHODS or (n[-1] == "_" and n[:-1] in _table)
)
max, min = _face(_torch_max, "max"), _face(_torch_min, "min")


@_face
def solve(B: _Any, A: _Any) -> None:
    """Removed from PyTorch, where it took the matrix last, and refused: see ``linalg.solve``."""
    raise _bad_value(
        "torch.solve(B, A) took the matrix last: write linalg.solve(A, B)",
        torch="This function was deprecated since version 1.9 and is now removed.",
    )


type.__setattr__(Tensor, "solve", solve)  # no user's change


def set_default_device(device: object) -> None:
    """Where tensors are made: the CPU. Raises as ``device`` does for another."""
    if device is not None:
        _creation.as_tensor(0).to(device)


def get_default_device() -> device:
    """Where tensors are made: the CPU."""
    return _dtypes.CPU


def set_default_tensor_type(t: _Any) -> None:
    """``set_default_dtype`` by a type of tensors, or its name: ``DoubleTensor``.

    Raises TypeFault (E0309) for one of whole numbers.
    """
    _warn_once("set_default_tensor_type() is deprecated: write set_default_dtype(float64)")
    name = t if isinstance(t, str) else getattr(t, "__name__", "")
    if not _dtypes.is_name(name):
        raise _TypeFault("E0309", f"invalid type object: {t!r}", help="DoubleTensor")
    if not _dtypes.to_dtype(name).is_floating_point:
        raise _TypeFault("E0309", "only floating-point types are supported as the default type")
    _dtypes.set_default_dtype(name)


def typename(obj: object) -> str:
    """What PyTorch calls the type of a value: ``"gradcli.LongTensor"`` for whole numbers."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind: _Any = obj if hasattr(obj, "__qualname__") else type(obj)
    return f"{'' if kind.__module__ == 'builtins' else kind.__module__ + '.'}{kind.__qualname__}"


def set_printoptions(**options: _Any) -> None:
    """How tensors print: precision, threshold, edgeitems, linewidth, profile, sci_mode."""
    from gradcli.engine.printing import set_printoptions as change

    change(**options)


numel = _face(numel, strict=True)

LATER_IN_PROGRAMS = {
    **_FUNCTIONS_LATER,
    "finfo": "engine.dtypes", "iinfo": "engine.dtypes",
    "is_anomaly_enabled": "engine.backward.anomaly",
    "is_anomaly_check_nan_enabled": "engine.backward.anomaly",
    "vmap": "func",
}  # fmt: skip
"""Functions whose modules are loaded with their first use, each with its module. They compute, and
do nothing else: programs of the language, which a stranger may have written, call them too."""

LATER = {**LATER_IN_PROGRAMS, "compile": "jit"}
"""These and what only Python has: code is made there, and files could be touched."""


def __getattr__(name: str) -> object:
    """A function whose module is loaded with its first use."""
    if name not in LATER:
        raise AttributeError(f"module 'gradcli' has no attribute {name!r}")
    found = _face(_later(name), name) if name in _FUNCTIONS_LATER else getattr(
        _import_module(f"gradcli.{LATER[name]}"), name
    )  # fmt: skip
    globals()[name] = found
    _published({name: found}, "gradcli")
    return found


_published(globals(), "gradcli")
__all__ = sorted(name for name in {*globals(), *LATER} if not name.startswith(("_", "LATER")))


def __dir__() -> list[str]:
    """What Python suggests in place of a wrong name: it looks through 750 names at most."""
    return [name for name in __all__ if not name.endswith("_")]
