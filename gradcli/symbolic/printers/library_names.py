"""How NumPy (and JAX, which has the same names) and PyTorch say what the language says.

An entry is a function's name, a text with places ``{0}``, or a function of (arguments, parameters,
rank of the argument) where parameters matter. ``NP.`` stands for the library, ``SP.`` for its
special functions (NumPy's are SciPy's). A name that begins with an underscore is one of
``HELPERS``, which are written above the function that needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradcli.symbolic.emit.slices import size_text

Entry = str | Callable[[list[str], dict[str, Any], int], str | None]

INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "matmul": "@", "dot": "@",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
MATH = {
    name: name
    for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
        "atanh", "exp", "expm1", "log", "log2", "log10", "log1p", "sqrt",
    )
} | {"abs": "fabs"}  # fmt: skip


def _sizes(values: Any) -> str:
    return "(" + "".join(f"{v}, " for v in values).rstrip() + ")" if values else "()"


def _dim(params: Mapping[str, Any]) -> Any:
    dim = params.get("dim")
    return tuple(dim) if isinstance(dim, list) else dim


# ---- NumPy and JAX -------------------------------------------------------------------------------


def _np_reduction(name: str) -> Entry:
    def entry(args: list[str], params: dict, rank: int) -> str:
        dim = _dim(params)
        said = "" if dim is None else f", axis={dim}"
        if params.get("keepdim"):
            said += ", keepdims=True"
        if "correction" in params or name in ("var", "std"):
            said += f", ddof={params.get('correction', 1)}"
        return f"NP.{name}({args[0]}{said})"

    return entry


def _np_logsumexp(args: list[str], params: dict, rank: int) -> str:
    return f"_logsumexp({args[0]}, {_dim(params)}, {bool(params.get('keepdim'))})"


def _np_norm(args: list[str], params: dict, rank: int) -> str | None:
    x, p, dim = args[0], params.get("p", 2), _dim(params)
    if dim is None and not params.get("keepdim"):
        inner = x if rank < 2 else f"NP.ravel({x})"
        if p in (2, "fro", None):
            return f"NP.linalg.norm({x})"
        return f"NP.linalg.norm({inner}, {_number(p)})"
    axis = f", axis={dim}" + (", keepdims=True" if params.get("keepdim") else "")
    if p in (2, "fro", None):
        return f"NP.sqrt(NP.sum(({x})**2{axis}))"
    if p == 1:
        return f"NP.sum(NP.abs({x}){axis})"
    return f"NP.max(NP.abs({x}){axis})" if p == float("inf") else None


def _number(value: Any) -> str:
    return 'float("inf")' if value == float("inf") else repr(value)


def _np_clamp(args: list[str], params: dict, rank: int) -> str:
    return f"NP.clip({args[0]}, {params.get('min')!r}, {params.get('max')!r})"


def _np_transpose(args: list[str], params: dict, rank: int) -> str:
    return f"NP.swapaxes({args[0]}, {params.get('dim0', -2)}, {params.get('dim1', -1)})"


def _einsum(args: list[str], params: dict, rank: int) -> str | None:
    labels = params.get("labels") or params.get("equation") or params.get("spec")
    if not isinstance(labels, str):
        return None
    return f"NP.einsum({labels!r}, {', '.join(args)})"


def _simple(name: str, *keys: tuple[str, Any]) -> Entry:
    """A function with parameters that follow in order."""

    def entry(args: list[str], params: dict, rank: int) -> str:
        return f"{name}({', '.join([*args, *(repr(params.get(k, d)) for k, d in keys)])})"

    return entry


def _np_shape(name: str, key: str) -> Entry:
    def entry(args: list[str], params: dict, rank: int) -> str | None:
        value = params.get(key)
        shape = value if isinstance(value, tuple | list) else (value,)
        parts = [str(x) if isinstance(x, int) else size_text(str(x)).key for x in shape]
        return f"NP.{name}({args[0]}, ({', '.join(parts)}{',' * (len(parts) == 1)}))"

    return entry


def index_text(index: Any) -> str:
    """An index as it stands between brackets."""
    parts = index if isinstance(index, tuple) else (index,)
    return ", ".join(_between(p) for p in parts) or "..."


def _between(part: Any) -> str:
    if isinstance(part, slice):
        ends = ["" if e is None else str(e) for e in (part.start, part.stop)]
        return ":".join([*ends, *([] if part.step is None else [str(part.step)])])
    return "..." if part is Ellipsis else str(part)


def _np_pad(args: list[str], params: dict, rank: int) -> str:
    pairs = list(zip(params["pad"][::2], params["pad"][1::2], strict=True))[::-1]
    pairs = [("0", "0")] * (rank - len(pairs)) + pairs
    said = ", ".join(f"({a}, {b})" for a, b in pairs)
    return f"NP.pad({args[0]}, ({said}{',' * (len(pairs) == 1)}))"


def _torch_pad(args: list[str], params: dict, rank: int) -> str:
    return f"NP.nn.functional.pad({args[0]}, ({', '.join(map(str, params['pad']))}))"


def _joining(name: str) -> Entry:
    def entry(args: list[str], params: dict, rank: int) -> str:
        return f"NP.{name}([{', '.join(args)}], {params.get('dim', 0)})"

    return entry


def _of_order(name: str) -> Entry:
    """A function of its whole order and a value."""

    def entry(args: list[str], params: dict, rank: int) -> str:
        return f"{name}({params['n']}, {args[0]})"

    return entry


def _flip(args: list[str], params: dict, rank: int) -> str:
    dims = params.get("dims")
    dims = tuple(range(rank)) if dims is None else (dims,) if isinstance(dims, int) else dims
    return f"NP.flip({args[0]}, {tuple(dims)})"


_PLAIN = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log", "log2", "log10",
    "log1p", "sqrt", "abs", "sign", "floor", "ceil", "trunc", "maximum", "minimum", "fmax", "fmin",
    "hypot", "logaddexp", "where", "isnan", "isinf", "isfinite", "logical_and", "logical_or",
    "logical_xor", "logical_not", "floor_divide", "remainder", "fmod", "heaviside", "outer", "kron",
    "cross",
)  # fmt: skip

NUMPY: dict[str, Entry] = {name: f"NP.{name}" for name in _PLAIN} | {
    "asin": "NP.arcsin", "acos": "NP.arccos", "atan": "NP.arctan", "asinh": "NP.arcsinh",
    "acosh": "NP.arccosh", "atanh": "NP.arctanh", "atan2": "NP.arctan2", "cbrt": "NP.cbrt",
    "round": "NP.round", "square": "NP.square", "reciprocal": "(1/({0}))", "signbit": "NP.signbit",
    "rsqrt": "(1/NP.sqrt({0}))", "sigmoid": "_sigmoid", "softplus": "NP.logaddexp({0}, 0.0)",
    "logsigmoid": "(-NP.logaddexp(-({0}), 0.0))", "softsign": "_softsign", "logit": "_logit",
    "relu": "NP.maximum({0}, 0.0)", "hardtanh": "NP.clip({0}, -1.0, 1.0)",
    "leaky_relu": _simple("_leaky_relu", ("negative_slope", 0.01)),
    "elu": _simple("_elu", ("alpha", 1.0)), "clamp": _np_clamp, "frac": "NP.fmod({0}, 1.0)",
    "clone": "{0}", "conj": "{0}", "real": "{0}", "zeros_like": "NP.zeros_like",
    "ones_like": "NP.ones_like",
    "trace": "NP.trace", "diag": "NP.diag", "diagonal": "NP.diag", "undiagonal": "NP.diag",
    "reverse_dims": "NP.transpose", "mT": "NP.swapaxes({0}, -1, -2)", "transpose": _np_transpose,
    "permute": _np_shape("transpose", "dims"), "reshape": _np_shape("reshape", "shape"),
    "expand": _np_shape("broadcast_to", "shape"), "tile": _np_shape("tile", "repeats"),
    "unsqueeze": _simple("NP.expand_dims", ("dim", 0)),
    "tril": _simple("NP.tril", ("diagonal", 0)), "triu": _simple("NP.triu", ("diagonal", 0)),
    "inv": "NP.linalg.inv", "det": "NP.linalg.det", "logdet": "NP.linalg.slogdet({0})[1]",
    "logabsdet": "NP.linalg.slogdet({0})[1]", "detsign": "NP.linalg.slogdet({0})[0]",
    "solve": "NP.linalg.solve", "cholesky": "NP.linalg.cholesky", "einsum": _einsum,
    "contract": _einsum, "cumsum": _simple("NP.cumsum", ("dim", 0)),
    "pad": _np_pad, "stack": _joining("stack"), "cat": _joining("concatenate"),
    "flip": _flip, "roll": _simple("NP.roll", ("shifts", 1), ("dims", None)),
    "squeeze": _simple("NP.squeeze", ("dim", None)),
    "sum": _np_reduction("sum"), "mean": _np_reduction("mean"), "prod": _np_reduction("prod"),
    "amax": _np_reduction("max"), "amin": _np_reduction("min"), "var": _np_reduction("var"),
    "std": _np_reduction("std"), "all": _np_reduction("all"), "any": _np_reduction("any"),
    "norm": _np_norm, "logsumexp": _np_logsumexp,
    "softmax": _simple("_softmax", ("dim", -1)),
    "log_softmax": _simple("_log_softmax", ("dim", -1)),
}  # fmt: skip

_SPECIAL = {
    name: f"SP.{name}"
    for name in (
        "erf", "erfc", "erfcx", "erfinv", "ndtr", "ndtri", "log_ndtr", "entr", "digamma", "zeta",
        "gammainc", "gammaincc", "i0", "i1", "i0e", "i1e", "xlogy", "xlog1py",
    )
} | {"lgamma": "SP.gammaln", "sinc": "NP.sinc"}  # fmt: skip
NUMPY |= _SPECIAL | {
    "gamma": "SP.gamma", "polygamma": _of_order("SP.polygamma"), "bessel_j0": "SP.j0",
    "bessel_j1": "SP.j1",
}  # fmt: skip
JAX: dict[str, Entry] = {
    name: entry for name, entry in NUMPY.items() if not name.startswith("bessel")
}

# ---- PyTorch -------------------------------------------------------------------------------------


def _torch_reduction(name: str, full: str | None = None) -> Entry:
    def entry(args: list[str], params: dict, rank: int) -> str | None:
        dim, keep = _dim(params), params.get("keepdim")
        extra = f", correction={params.get('correction', 1)}" if name in ("var", "std") else ""
        if dim is None and not keep:
            return f"NP.{full or name}({args[0]}{extra})"
        if name == "prod" and not isinstance(dim, int):
            return None
        where = tuple(range(rank)) if dim is None else dim
        return f"NP.{name}({args[0]}, dim={where}{extra}{', keepdim=True' if keep else ''})"

    return entry


def _torch_logsumexp(args: list[str], params: dict, rank: int) -> str:
    dim = _dim(params)
    where = tuple(range(rank)) if dim is None else dim
    return f"NP.logsumexp({args[0]}, dim={where}, keepdim={bool(params.get('keepdim'))})"


def _torch_norm(args: list[str], params: dict, rank: int) -> str:
    p, dim = params.get("p", 2), _dim(params)
    p = 2 if p in ("fro", None) else p
    said = f", dim={dim}" if dim is not None else ""
    said += ", keepdim=True" if params.get("keepdim") else ""
    return f"NP.linalg.vector_norm({args[0]}, {_number(p)}{said})"


def _torch_clamp(args: list[str], params: dict, rank: int) -> str:
    return f"NP.clamp({args[0]}, min={params.get('min')!r}, max={params.get('max')!r})"


TORCH: dict[str, Entry] = {name: f"NP.{name}" for name in _PLAIN} | {
    name: f"NP.{name}"
    for name in (
        "asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2", "round", "square", "reciprocal",
        "rsqrt", "sigmoid", "logit", "relu", "signbit", "frac", "clone", "conj", "real",
        "zeros_like", "ones_like", "trace", "diag", "inv",
    )
} | {
    "cbrt": "_cbrt", "softplus": "NP.logaddexp({0}, NP.zeros_like({0}))",
    "cross": "NP.linalg.cross",
    "logsigmoid": "NP.nn.functional.logsigmoid", "softsign": "NP.nn.functional.softsign",
    "hardtanh": "NP.clamp({0}, -1.0, 1.0)", "diagonal": "NP.diag", "undiagonal": "NP.diag",
    "leaky_relu": _simple("NP.nn.functional.leaky_relu", ("negative_slope", 0.01)),
    "elu": _simple("NP.nn.functional.elu", ("alpha", 1.0)), "clamp": _torch_clamp,
    "reverse_dims": "({0}).mT", "mT": "({0}).mT",
    "transpose": _simple("NP.transpose", ("dim0", -2), ("dim1", -1)),
    "permute": _np_shape("permute", "dims"), "reshape": _np_shape("reshape", "shape"),
    "expand": _np_shape("broadcast_to", "shape"), "tile": _np_shape("tile", "repeats"),
    "unsqueeze": _simple("NP.unsqueeze", ("dim", 0)),
    "tril": _simple("NP.tril", ("diagonal", 0)), "triu": _simple("NP.triu", ("diagonal", 0)),
    "inv": "NP.linalg.inv", "det": "NP.linalg.det", "logdet": "NP.linalg.slogdet({0})[1]",
    "logabsdet": "NP.linalg.slogdet({0})[1]", "detsign": "NP.linalg.slogdet({0})[0]",
    "solve": "NP.linalg.solve", "cholesky": "NP.linalg.cholesky", "einsum": _einsum,
    "contract": _einsum, "cumsum": _simple("NP.cumsum", ("dim", 0)),
    "pad": _torch_pad, "stack": _joining("stack"), "cat": _joining("cat"),
    "flip": _flip, "roll": _simple("NP.roll", ("shifts", 1), ("dims", None)),
    "squeeze": _simple("NP.squeeze", ("dim", None)),
    "sum": _torch_reduction("sum"), "mean": _torch_reduction("mean"),
    "prod": _torch_reduction("prod"), "amax": _torch_reduction("amax", "max"),
    "amin": _torch_reduction("amin", "min"), "var": _torch_reduction("var"),
    "std": _torch_reduction("std"), "all": _torch_reduction("all"), "any": _torch_reduction("any"),
    "norm": _torch_norm, "logsumexp": _torch_logsumexp,
    "softmax": _simple("NP.softmax", ("dim", -1)),
    "log_softmax": _simple("NP.log_softmax", ("dim", -1)),
}  # fmt: skip

TORCH |= _SPECIAL | {
    "lgamma": "NP.lgamma", "gamma": "_gamma", "polygamma": _of_order("NP.polygamma"),
    "bessel_j0": "SP.bessel_j0", "bessel_j1": "SP.bessel_j1",
}  # fmt: skip

# ---- Small functions written above ---------------------------------------------------------------

HELPERS: dict[str, dict[str, str]] = {
    "numpy": {
        "_sigmoid": """def _sigmoid(x):
    return NP.exp(-NP.logaddexp(-x, 0.0))""",
        "_softsign": """def _softsign(x):
    return x / (1 + NP.abs(x))""",
        "_logit": """def _logit(x):
    return NP.log(x) - NP.log1p(-x)""",
        "_leaky_relu": """def _leaky_relu(x, slope):
    return NP.where(x > 0, x, slope * x)""",
        "_elu": """def _elu(x, alpha):
    return NP.where(x > 0, x, alpha * NP.expm1(NP.minimum(x, 0)))""",
        "_logsumexp": """def _logsumexp(x, axis, keepdims):
    top = NP.max(x, axis=axis, keepdims=True)
    total = NP.log(NP.sum(NP.exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdims else NP.squeeze(total, axis=axis)""",
        "_softmax": """def _softmax(x, axis):
    top = NP.exp(x - NP.max(x, axis=axis, keepdims=True))
    return top / NP.sum(top, axis=axis, keepdims=True)""",
        "_log_softmax": """def _log_softmax(x, axis):
    x = x - NP.max(x, axis=axis, keepdims=True)
    return x - NP.log(NP.sum(NP.exp(x), axis=axis, keepdims=True))""",
    },
    "torch": {
        "_cbrt": """def _cbrt(x):
    return NP.sign(x) * NP.abs(x) ** (1 / 3)""",
        "_gamma": """def _gamma(x):
    mirrored = NP.pi / (NP.sin(NP.pi * x) * NP.exp(NP.lgamma(1 - x)))
    return NP.where(x > 0, NP.exp(NP.lgamma(x)), mirrored)""",
    },
}
