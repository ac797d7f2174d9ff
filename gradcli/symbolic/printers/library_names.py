"""How NumPy, PyTorch and JAX call what the language calls: read from the operators' declarations.

A declaration states only what differs (``Operator.numpy``, ``pytorch``, ``jax``). NumPy's name is
that of the function which the operator computes with, SciPy's special functions included; PyTorch's
is the operator's name where NumPy has the function too; JAX has NumPy's names. An operator that is
none of these has no counterpart, unless its call takes code to write: see ``WRITTEN``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.ops.declaration.formula import Line, traced
from gradcli.ops.operator import OPERATORS, Operator
from gradcli.symbolic.emit.slices import size_text

Writer = Callable[[Mapping[str, Any], int], str | None]
WRITTEN: dict[tuple[str, str], Writer] = {}
"""Calls that depend on parameters: (library, operator) -> the call for parameters and a rank."""
_PLACE = re.compile(r"\{([a-z]\w*)\}")
_NUMPY_CALL = re.compile(r"np\.(?:\w+\.)*(\w+)(\(.*)?")


def library_call(library: str, name: str, params: Mapping[str, Any], rank: int) -> str | None:
    """An operator's call in a library, with ``{0}``, ``{1}`` for its arguments, ``{*}`` for all.

    library   "numpy", "torch" or "jax"; in the text NumPy, JAX and PyTorch are ``np.``, ``torch.``,
              their special functions ``special.``
    rank      the number of dimensions of the argument

    The text may be a sign that stands between two arguments (``+``), the name of a function, or the
    source of a small one, which is to be written above. None where the library has no counterpart.
    """
    op = OPERATORS.get(name)
    params = {**(op.params if op is not None else {}), **params}
    written = WRITTEN.get((library, name))
    if written is None and library == "jax":
        written = WRITTEN.get(("numpy", name))
    if written is not None:
        return written(params, rank)
    if op is None:
        return FUNCTIONS[library].get(name)
    call = _stated(op, library)
    if call is None:
        return None
    if call.startswith("def "):
        return call
    if "keepdim" in op.params and "(" not in call:
        return (_torch_reduction if library == "torch" else _numpy_reduction)(op, params, rank)
    if op.params and "(" not in call:
        return None  # how the library takes the parameters is not known
    return _PLACE.sub(lambda found: _parameter(op, found[1], params), call)


FUNCTIONS = {
    "numpy": {"diag": "np.diag", "cross": "np.cross"},
    "torch": {"diag": "torch.diag", "cross": "torch.linalg.cross"},
    "jax": {"diag": "np.diag", "cross": "np.cross"},
}
"""Functions of the language that are no operators."""


def has_call(library: str, name: str) -> bool:
    """Whether a library has a counterpart of an operator, for some parameters at least."""
    op = OPERATORS.get(name)
    pair = ("numpy" if library == "jax" else library, name)
    known = name in FUNCTIONS[library] if op is None else _stated(op, library) is not None
    return known or pair in WRITTEN


def _stated(op: Operator, library: str) -> str | None:
    """The call as declared or derived, parameters unfilled."""
    if library == "torch":
        call = _torch(op)
    else:
        call = op.jax or None if library == "jax" and op.jax is not None else _numpy(op)
    return call if call is not None or op.formula is None else _composed(op, library)


def _composed(op: Operator, library: str) -> str | None:
    """The source of a small function that computes a formula; None where a part has no call."""
    given, lines, out = traced(op)
    body = []
    for i, line in enumerate(lines):
        call = library_call(library, line.op.name, line.params, 0) if line.op is not None else None
        if call is None or call.startswith("def "):
            return None
        args = [a.name if isinstance(a, Line) else repr(a) for a in line.args]
        line.name = f"v{i}"
        if "{" in call:
            text = call.replace("{*}", ", ".join(args)).format(*args)
        else:
            text = line.written(call)
        body.append(f"    return {text}" if line is out else f"    {line.name} = {text}")
    return "\n".join([f"def _{op.name}({', '.join(x.name for x in given)}):", *body])


def _numpy(op: Operator) -> str | None:
    if op.numpy is not None:
        return op.numpy or None
    compute = op.compute
    if getattr(compute, "__qualname__", "").startswith("special."):
        return compute.__qualname__
    if isinstance(compute, np.ufunc) or getattr(compute, "__module__", "") == "numpy":
        return f"np.{compute.__name__}"
    if op.infix:
        return op.infix
    plain = op.public and not op.params
    if hasattr(np, op.name) and ("keepdim" in op.params or (plain and (op.entrywise or op.core))):
        return f"np.{op.name}"
    if plain and op.core and hasattr(np.linalg, op.name):
        return f"np.linalg.{op.name}"
    return f"special.{op.name}" if plain and op.family == "special" and op.formula is None else None


def _torch(op: Operator) -> str | None:
    if op.pytorch is not None:
        return op.pytorch or None
    call = _numpy(op)
    if call is None or not (call[0].isalpha() or "{" in call):
        return call  # a sign
    if call.startswith("special."):
        return f"special.{op.name}"
    same = _NUMPY_CALL.fullmatch(call)
    if same is not None and same[1] == op.name:
        return f"torch.{call[3:]}"
    plain = op.entrywise and op.public and not op.params
    return f"torch.{op.name}" if op.numpy is None or plain else None


def _parameter(op: Operator, name: str, params: Mapping[str, Any]) -> str:
    value = params[name]
    if name == op.sizes and not isinstance(value, tuple | list):
        value = (value,)
    return value_text(value)


def value_text(value: Any) -> str:
    """A parameter as Python writes it; sizes by their names."""
    if isinstance(value, tuple | list):
        plain = (bool, int, float, type(None))
        parts = [value_text(x) if isinstance(x, plain) else size_text(str(x)).key for x in value]
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    return 'float("inf")' if value == float("inf") else repr(value)


def index_text(index: Any) -> str:
    """An index as it stands between brackets."""
    parts = index if isinstance(index, tuple) else (index,)
    return ", ".join(_between(p) for p in parts) or "..."


def _between(part: Any) -> str:
    if isinstance(part, slice):
        ends = ["" if e is None else str(e) for e in (part.start, part.stop)]
        return ":".join([*ends, *([] if part.step is None else [str(part.step)])])
    return "..." if part is Ellipsis else str(part)


# ---- Reductions ----------------------------------------------------------------------------------


def _numpy_reduction(op: Operator, params: Mapping[str, Any], rank: int) -> str:
    dim = params["dim"]
    said = "" if dim is None else f", axis={value_text(dim)}"
    said += ", keepdims=True" if params["keepdim"] else ""
    said += f", ddof={params['correction']}" if "correction" in params else ""
    return f"{_numpy(op)}({{0}}{said})"


def _torch_reduction(op: Operator, params: Mapping[str, Any], rank: int) -> str:
    dim, keep = params["dim"], params["keepdim"]
    more = f", correction={params['correction']}" if "correction" in params else ""
    if dim is None and not keep:  # PyTorch's max of everything has NumPy's name
        return f"torch.{(_numpy(op) or op.name).removeprefix('np.')}({{0}}{more})"
    where = tuple(range(rank)) if dim is None else dim
    return f"{_torch(op)}({{0}}, dim={value_text(where)}{more}{', keepdim=True' if keep else ''})"


# ---- Calls that depend on their parameters -------------------------------------------------------


def written(library: str, *names: str) -> Callable[[Writer], Writer]:
    """Register how a library (JAX has NumPy's) calls the operators of these names."""

    def keep(writer: Writer) -> Writer:
        WRITTEN.update(dict.fromkeys(((library, name) for name in names), writer))
        return writer

    return keep


@written("numpy", "norm")
def _numpy_norm(params: Mapping[str, Any], rank: int) -> str | None:
    p, dim, keep = params["p"], params["dim"], params["keepdim"]
    if dim is None and not keep:
        if p in (2, "fro", None):
            return "np.linalg.norm({0})"
        inner = "{0}" if rank < 2 else "np.ravel({0})"
        return f"np.linalg.norm({inner}, {value_text(p)})"
    axis = f", axis={value_text(dim)}" + (", keepdims=True" if keep else "")
    if p in (2, "fro", None):
        return f"np.sqrt(np.sum(({{0}})**2{axis}))"
    if p == 1:
        return f"np.sum(np.abs({{0}}){axis})"
    return f"np.max(np.abs({{0}}){axis})" if p == float("inf") else None


@written("torch", "norm")
def _torch_norm(params: Mapping[str, Any], rank: int) -> str:
    p, dim = params["p"], params["dim"]
    said = f", dim={value_text(dim)}" if dim is not None else ""
    said += ", keepdim=True" if params["keepdim"] else ""
    return f"torch.linalg.vector_norm({{0}}, {value_text(2 if p in ('fro', None) else p)}{said})"


@written("torch", "logsumexp")
def _torch_logsumexp(params: Mapping[str, Any], rank: int) -> str:
    dim = tuple(range(rank)) if params["dim"] is None else params["dim"]
    return f"torch.logsumexp({{0}}, dim={value_text(dim)}, keepdim={bool(params['keepdim'])})"


@written("torch", "prod")
def _torch_prod(params: Mapping[str, Any], rank: int) -> str | None:
    """PyTorch multiplies over one dimension, or all."""
    several = not isinstance(params["dim"], int) and (
        params["dim"] is not None or params["keepdim"]
    )
    return None if several else _torch_reduction(OPERATORS["prod"], params, rank)


@written("numpy", "flip")
def _numpy_flip(params: Mapping[str, Any], rank: int) -> str:
    dims = params["dims"]
    dims = tuple(range(rank)) if dims is None else (dims,) if isinstance(dims, int) else dims
    return f"np.flip({{0}}, {value_text(tuple(dims))})"


@written("torch", "flip")
def _torch_flip(params: Mapping[str, Any], rank: int) -> str:
    return (_numpy_flip(params, rank) or "").replace("np.", "torch.", 1)


@written("torch", "squeeze")
def _torch_squeeze(params: Mapping[str, Any], rank: int) -> str:
    dim = params["dim"]
    return "torch.squeeze({0})" if dim is None else f"torch.squeeze({{0}}, {value_text(dim)})"


@written("numpy", "pad")
def _numpy_pad(params: Mapping[str, Any], rank: int) -> str:
    pairs = list(zip(params["pad"][::2], params["pad"][1::2], strict=True))[::-1]
    pairs = [("0", "0")] * (rank - len(pairs)) + pairs
    said = ", ".join(f"({a}, {b})" for a, b in pairs)
    return f"np.pad({{0}}, ({said}{',' * (len(pairs) == 1)}))"


@written("torch", "pad")
def _torch_pad(params: Mapping[str, Any], rank: int) -> str:
    return f"torch.nn.functional.pad({{0}}, ({', '.join(map(str, params['pad']))}))"
