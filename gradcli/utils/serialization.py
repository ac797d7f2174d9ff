"""``save`` and ``load``: tensors, and what holds them, in files.

A file is a pickle. ``load`` reads only what holds numbers unless it is told to trust the file: a
pickle may otherwise call any function.
"""

from __future__ import annotations

import contextlib
import os
import pickle
from typing import Any

from gradcli.engine import dtypes
from gradcli.engine.dtypes import DType
from gradcli.ops.errors import TypeFault

__all__ = ["load", "save"]

_HARMLESS = {
    "_codecs": {"encode"},
    "collections": {"OrderedDict"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "builtins": {"complex", "frozenset", "range", "set", "slice"},
    "gradcli": {"Size", "Tensor", *(v.name for v in vars(dtypes).values() if isinstance(v, DType))},
    "gradcli.engine.dtypes": {"Device"},
    "gradcli.engine.tensor.tensor": {"_unpickled"},
    "gradcli.nn.parameter": {"Buffer", "Parameter"},
}
"""The names that data may use, by module: none of them does more than make a value."""


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name not in _HARMLESS.get(module, ()):
            raise pickle.UnpicklingError(
                f"Weights only load failed: the file asks for {module}.{name}, which is no data. "
                "If you trust its source, write load(f, weights_only=False)"
            )
        return super().find_class(module, name)


def _opened(f: Any, mode: str) -> Any:
    """A file by name, or what is one already, which stays open."""
    return open(f, mode) if isinstance(f, str | os.PathLike) else contextlib.nullcontext(f)


def save(
    obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = 4,
    _use_new_zipfile_serialization: bool = True,
) -> None:  # fmt: skip
    """Write ``obj`` to a file: its name, or what has a ``write`` method.

    Example:
        >>> import io
        >>> import gradcli
        >>> file = io.BytesIO()
        >>> save({"w": gradcli.ones(2)}, file)
        >>> _ = file.seek(0)
        >>> load(file)
        {'w': tensor([1., 1.])}
    """
    with _opened(f, "wb") as file:
        pickle_module.dump(obj, file, protocol=pickle_protocol)


def load(
    f: Any, map_location: Any = None, pickle_module: Any = pickle, *,
    weights_only: bool | None = None, mmap: bool | None = None, **options: Any,
) -> Any:  # fmt: skip
    """What ``save`` wrote to a file: its name, or what has ``read`` and ``readline``.

    Views come back as tensors of their own, what was computed as leaves.
    ``weights_only=False`` also loads modules and objects of any class, which runs code that the
    file names: for files that you trust. Tensors come back in the computer's own memory, where
    ``map_location`` may say ``"cpu"``. Raises pickle.UnpicklingError for what is no such file, or
    holds more than data; TypeFault (E0303) for another place.
    """
    if map_location is not None and str(getattr(map_location, "type", map_location)) != "cpu":
        raise TypeFault(
            "E0303", f"load() brings tensors to the CPU, not to {map_location}",
            help="write load(f).to(device)",
        )  # fmt: skip
    with _opened(f, "rb") as file:
        if weights_only is False:
            return pickle_module.load(file)
        try:
            return _Reader(file).load()
        except pickle.UnpicklingError:
            raise
        except Exception as error:  # what bytes that are no pickle lead to
            raise pickle.UnpicklingError(
                f"Weights only load failed: this is no file that save() wrote ({error})"
            ) from None
