"""gradcli in Python: tensors that can be differentiated, under PyTorch's names.

    import gradcli as torch

    x = torch.tensor([0.0, 1, 2, 3], requires_grad=True)
    y = 2 * torch.dot(x, x)
    y.backward()
    x.grad                      # tensor([ 0.,  4.,  8., 12.])

Importing this loads NumPy and nothing else heavy.
"""

import math as _math
import warnings as _warnings

from gradcli import engine as _engine
from gradcli.engine.creation import (
    arange,
    as_tensor,
    eye,
    from_numpy,
    full,
    linspace,
    manual_seed,
    ones,
    rand,
    randint,
    randn,
    tensor,
    zeros,
)
from gradcli.engine.dtypes import bool_ as bool
from gradcli.engine.dtypes import (
    cdouble,
    cfloat,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    int8,
    int16,
    int32,
    int64,
    long,
    set_default_dtype,
    short,
    uint8,
)
from gradcli.engine.dtypes import float32 as float
from gradcli.engine.dtypes import int32 as int
from gradcli.engine.functions import allclose, equal, is_tensor, numel, public_operators
from gradcli.engine.functions import torch_max as max
from gradcli.engine.functions import torch_min as min
from gradcli.engine.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)

__version__ = "0.1.0"

Tensor = _engine.Tensor
Size = _engine.Size
pi = 3.141592653589793
e = 2.718281828459045
inf = _math.inf
nan = _math.nan

globals().update(
    {name: value for name, value in public_operators().items() if name not in ("max", "min")}
)

# NumPy announces 1/0 and log(0); in the engine they are values like any other, as in PyTorch.
_warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gradcli\.")


def set_printoptions(**options: object) -> None:
    """How tensors print: precision, threshold, edgeitems, linewidth, profile, sci_mode."""
    from gradcli.engine.printing import set_printoptions as change

    change(**options)


def __getattr__(name: str) -> object:
    """Load the namespaces when they are first used."""
    if name in ("autograd", "func", "optim", "symbolic", "transforms"):
        import importlib

        return importlib.import_module(f"gradcli.{name}")
    raise AttributeError(f"module 'gradcli' has no attribute {name!r}")


__all__ = [
    "Size", "Tensor", "allclose", "arange", "as_tensor", "bool", "cdouble", "cfloat", "complex64",
    "complex128", "double", "enable_grad", "equal", "eye", "float", "float16", "float32", "float64",
    "from_numpy", "full", "get_default_dtype", "half", "inference_mode", "int", "int8", "int16",
    "int32", "int64", "is_grad_enabled", "is_inference_mode_enabled", "is_tensor", "linspace",
    "long", "manual_seed", "max", "min", "no_grad", "numel", "ones", "rand", "randint", "randn",
    "set_default_dtype", "set_grad_enabled", "set_printoptions", "short", "tensor", "uint8",
    "zeros",
]  # fmt: skip
