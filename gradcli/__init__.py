"""gradcli in Python: tensors that can be differentiated, under PyTorch's names.

    import gradcli as torch

    x = torch.tensor([0.0, 1, 2, 3], requires_grad=True)
    y = 2 * torch.dot(x, x)
    y.backward()
    x.grad                      # tensor([ 0.,  4.,  8., 12.])

Importing this loads nothing else. The first name that is used loads NumPy and the engine and
nothing else heavy; the command line says its help, or sets NumPy up, before that.
"""

from _thread import RLock as _RLock
from importlib import import_module as _import_module

__version__ = "0.1.0"

_PACKAGES = frozenset((
    "autograd", "batch", "cuda", "engine", "fft", "func", "functions", "jit", "language",
    "linalg", "masked", "nn", "ops", "optim", "random", "return_types", "special", "surface",
    "symbolic", "testing", "transforms", "utils",
))  # fmt: skip
_loading = _RLock()
"""Held while names are loaded: a thread that imports parts of a package may see half of another.

Modules import each other by their whole names, which do not ask here: no thread that loads one of
them waits for a thread that waits for it. Python itself waits for a package that another thread
loads where a statement names the package, but not where it names a module in it: so a module that
users import begins with a statement for the package below, whose parts are whole after it.
"""


def silence_numpy() -> None:
    """Have NumPy announce no 1/0 and log(0) in gradcli: they are values, as in PyTorch.

    Called when the first name is used, and when a command or a worker starts; importing a module
    of gradcli changes no filter. The filter speaks of this package's modules alone: ``np.seterr``
    silences the user's own arithmetic, and setting NumPy's context variable around each computation
    makes log of four entries 1.4 times as slow. Where a later filter makes errors of warnings, or
    NumPy's settings, an operator that raises one computes once more without them.
    """
    from warnings import filterwarnings

    filterwarnings("ignore", category=RuntimeWarning, module=r"gradcli\.")


def __getattr__(name: str) -> object:
    """A package, or one of the names in ``surface``, which all come with the first."""
    if name not in _PACKAGES and name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'gradcli' has no attribute {name!r}")
    with _loading:
        if name in _PACKAGES:
            return _import_module(f"gradcli.{name}")
        surface = _import_module("gradcli.surface")
        if name not in surface.__all__ and name != "__all__":
            return getattr(surface, name)  # an error, with what Python finds alike
        silence_numpy()
        here = globals()
        loaded = vars(surface)
        for key in ("__all__", *surface.__all__):
            if key in loaded:
                here.setdefault(key, loaded[key])
        return here.setdefault(name, getattr(surface, name))


def __dir__() -> list[str]:
    return sorted({*_import_module("gradcli.surface").__all__, *_PACKAGES, *globals()})
