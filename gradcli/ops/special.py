"""Special functions: error functions, the Gamma family, Bessel functions, sinc.

SciPy computes them and is loaded at the first call. Derivatives stay within the family, so that
every order is exact: formulas as in Abramowitz and Stegun, chapters 6, 7 and 9.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.arithmetic import along
from gradcli.ops.comparison import logical_and, sign
from gradcli.ops.cupy_compat import on_host, special
from gradcli.ops.exponential import exp, log, logistic, sigmoid, softplus
from gradcli.ops.kinds import composite, elementwise
from gradcli.ops.operator import Operator, is_complex, is_number
from gradcli.ops.piecewise import abs as magnitude
from gradcli.ops.piecewise import where
from gradcli.ops.trigonometric import tanh

_ROOT_PI = math.sqrt(math.pi)
_ROOT_2 = math.sqrt(2.0)
_ROOT_8_PI = math.sqrt(8.0 / math.pi)
_ROOT_2PI = math.sqrt(2.0 * math.pi)


def _one(name: str) -> Callable[[Any], Any]:
    """SciPy's function of one argument, in the argument's precision."""

    def compute(x: Any) -> Any:
        return special(name, x, x)

    compute.__qualname__ = f"special.{name}"  # where generated code finds the function
    return compute


def _erfcx_slope(x: Any, n: int) -> Any:
    """The derivative of order n of erfcx.

    By f^(n) = 2 x f^(n-1) + 2 (n - 1) f^(n-2); far out, where that cancels, by the terms
    of A&S 7.1.23.
    """
    kind = x.dtype if hasattr(x, "dtype") else np.float64
    with np.errstate(all="ignore"):
        x = x.astype(np.float64) if hasattr(x, "astype") else x
        last, added = special("erfcx", x, x), -2.0 / _ROOT_PI
        for m in range(1, n + 1):
            last, added = 2.0 * x * last + added, 2.0 * m * last
        far, total = np.maximum(x, 8.0 + n), 0.0
        term = (-1.0) ** n * math.factorial(n) / (far ** (n + 1) * _ROOT_PI)
        for k in range(1, 26 + 2 * n):
            total = total + term
            term = term * (-(2 * k - 1 + n) * (2 * k + n) / (4.0 * k)) / (far * far)
        out = np.where(x > 8.0 + n, total, last)
    return out.astype(kind)[()]


def _bell(times: Callable[[Any, Any], Any], x: Any, rate: float, n: int) -> Any:
    last, before = exp(-rate * (x * x)), 0.0
    for m in range(n):
        last, before = -2.0 * rate * (times(x, last) + m * before), last
    return last


bell: Operator = composite(
    "bell",
    lambda x, rate=1.0, n=0: _bell(operator.mul, x, rate, n),
    lambda x, rate=1.0, n=0: _bell(along, x, rate, n),  # where the power is 0 no factor counts
    lambda x, rate, n: bell(x, rate, n + 1),
    doc="The derivative of order n of exp(-rate*x**2), 0 at infinity.",
    public=False,
)
erf = elementwise(
    "erf",
    _one("erf"),
    lambda x: bell(x) * (2.0 / _ROOT_PI),
    doc="The error function, 2/sqrt(pi) times the integral of exp(-t**2) from 0 to x.",
    parity="odd",
    refuses={"complex": "erf_vml_cpu"},
)
erfc = elementwise(
    "erfc",
    _one("erfc"),
    lambda x: bell(x) * (-2.0 / _ROOT_PI),
    doc="1 - erf(x), exact where erf is near 1.",
    values={0: 1},
    refuses={"complex": "erfc_vml_cpu"},
)
erfcx = elementwise(
    "erfcx",
    _one("erfcx"),
    lambda x: erfcx_slope(x, 1),
    doc="exp(x**2)*erfc(x), without overflow.",
    grad_name="SpecialErfcxBackward0",
    values={0: 1},
    refuses={"half complex": "erfcx_cpu"},
)
erfcx_slope: Operator = composite(
    "erfcx_slope",
    lambda x, n=1: (
        2.0 * x * erfcx_slope(x, n - 1) + 2.0 * (n - 1) * erfcx_slope(x, n - 2)
        if n > 1 else 2.0 * x * erfcx(x) - 2.0 / _ROOT_PI if n else erfcx(x)
    ),
    _erfcx_slope,
    lambda x, n: erfcx_slope(x, n + 1),
    holds=8,
    doc="The derivative of order n of erfcx.",
    public=False,
)  # fmt: skip
erfinv = elementwise(
    "erfinv",
    lambda x: np.copysign(special("erfinv", x, x), x),  # SciPy's of -0.0 is 0.0
    lambda out: exp(out * out) * (0.5 * _ROOT_PI),
    holds=2,
    doc="The inverse of erf.",
    domain="-1 < x < 1",
    example="erfinv(x) --x 0.3",
    parity="odd",
    latex=r"\operatorname{erf}^{-1}",
    refuses={"complex": "erfinv_vml_cpu"},
)
ndtr = elementwise(
    "ndtr",
    _one("ndtr"),
    lambda x: bell(x, 0.5) / _ROOT_2PI,
    doc="The distribution function of the standard normal.",
    values={0: 0.5},
    latex=r"\Phi",
    refuses={"complex": "erf_vml_cpu"},
)
ndtri = elementwise(
    "ndtri",
    _one("ndtri"),
    lambda out: exp(0.5 * (out * out)) * _ROOT_2PI,
    doc="The inverse of ndtr: quantiles of the standard normal.",
    domain="0 < x < 1",
    grad_name="SpecialNdtriBackward0",
    example="ndtri(x) --x 0.3",
    latex=r"\Phi^{-1}",
    refuses={"half complex": "ndtri_cpu"},
)


def _mills_slope(x: Any, n: int) -> Any:
    """The derivative of order n of mills, h' = -h*(x + h) by Leibniz; below -9, where that
    cancels, by the terms of its series in 1/x, of which h' has the coefficients as well.
    """
    kind = x.dtype if hasattr(x, "dtype") else np.float64
    with np.errstate(all="ignore"):
        x = x.astype(np.float64) if hasattr(x, "astype") else x
        last = special("erfcx", x, x * (-1.0 / _ROOT_2))
        slopes = [(2.0 / _ROOT_2PI) / last]
        apart = [np.where(x < -1, _erfcx_slope(x * (-1.0 / _ROOT_2), 1) / (-_ROOT_2 * last),
                          x + slopes[0])]  # fmt: skip
        for m in range(n):
            slopes.append(-sum(math.comb(m, k) * slopes[k] * apart[m - k] for k in range(m + 1)))
            apart.append(slopes[-1] + (m == 0))
        far, total, known = np.maximum(-x, 9.0), 0.0, [1]
        for m in range(40):
            if m:
                known.append(
                    (3 - 2 * m) * known[-1] - sum(map(operator.mul, known[1:], known[:0:-1]))
                )
            rising = math.prod(2 * m - 1 + k for k in range(n))
            total = total + float(known[m] * rising) / far ** (2 * m - 1 + n)
        out = np.where(x < -9, total, np.where(slopes[0] == 0, 0.0, slopes[n]))
    return out.astype(kind)[()]


mills = composite(
    "mills",
    lambda x: (2.0 / _ROOT_2PI) / erfcx(x * (-1.0 / _ROOT_2)),
    lambda x: (2.0 / _ROOT_2PI) / special("erfcx", x, x * (-1.0 / _ROOT_2)),
    lambda x: mills_slope(x, 1),
    refuses={"half": "log_ndtr_cpu"},
    doc="The density of the standard normal over ndtr: the slope of log_ndtr.",
    positive=True,
    public=False,
)
mills_slope: Operator = composite(
    "mills_slope",
    lambda x, n=1: (
        -sum(math.comb(n - 1, k) * mills_slope(x, k) * (mills_slope(x, n - 1 - k)
             + (x if k == n - 1 else float(k == n - 2))) for k in range(n)) if n else mills(x)
    ),
    _mills_slope,
    lambda x, n: mills_slope(x, n + 1),
    holds=13,
    doc="The derivative of order n of mills.",
    public=False,
)  # fmt: skip
log_ndtr = elementwise(
    "log_ndtr",
    _one("log_ndtr"),
    lambda x: mills(x),
    doc="log(ndtr(x)), without underflow.",
    grad_name="SpecialLogNdtrBackward0",
    refuses={"half complex": "log_ndtr_cpu"},
    latex=r"\log\Phi",
)


def _times_log(x: Any, y: Any, function: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        # The logarithm of a number is a number, which widens nothing.
        product = x * (float(function(float(y))) if is_number(y) else function(y))
    # Of 0 times a logarithm, infinite or none, 0 is left; where y is NaN that stays.
    return np.where((x == 0) & (y == y), product.dtype.type(0), product)[()]


def _log_for(t: Any, x: Any, y: Any, times: Any, of_number: Any, end: float) -> Any:
    """t times a logarithm of y; 0 where x is 0 and y is not above the ``end`` of its domain."""
    if is_number(y) and y > end:
        return t * of_number(y)
    return where(logical_and(x == 0, y <= end), 0.0, times(t, y))


def _log_product(
    name: str, logarithm: str, end: int, node: str, by_y: Callable[..., Any]
) -> Operator:
    """x times a logarithm of y, whose domain begins at ``end``."""
    function, of_number = getattr(np, logarithm), getattr(math, logarithm)
    made: Operator = elementwise(
        name,
        lambda x, y: _times_log(x, y, function),
        lambda t, x, y: _log_for(t, x, y, made, of_number, end),
        by_y,
        numbers="xy",
        holds=2.2,
        doc=f"x*{logarithm}(y), 0 where x is 0.",
        domain=f"y > {end}",
        edges=f"where x is 0 and y is not above {end}, slope 0 by x; by y NaN at (0, {end})",
        grad_name=f"{node}0",
        example=f"{name}(x, y) --x 2 --y 3",
        node={"name": lambda recorded: node + {None: "0", 1: "1", 0: "2"}[recorded.only]},
        refuses={"complex": f"{name}_cpu"},
    )
    return made


xlogy = _log_product("xlogy", "log", 0, "XlogyBackward", lambda t, x, y: t * x / y)
xlog1py = _log_product(
    "xlog1py", "log1p", -1, "SpecialXlog1PyBackward", lambda t, x, y: t * x / (1.0 + y)
)


entr = elementwise(
    "entr",
    _one("entr"),
    lambda x: -(log(x) + 1.0),
    doc="-x*log(x), 0 at 0: a term of the entropy.",
    domain="x > 0",
    grad_name="SpecialEntrBackward0",
    example="entr(x) --x 0.3",
    refuses={"complex": "entr_cpu"},
)


def _polygamma(x: Any, n: int) -> Any:
    if n == 0:
        return special("psi", x, x)
    # Above 170 the factorial is no float, and the result infinite.
    factor = (-1.0) ** (n % 2 + 1) * (float(math.factorial(n)) if n <= 170 else math.inf)
    return factor * _hurwitz(n + 1, x)


def _hurwitz(order: Any, y: Any) -> Any:
    """SciPy's zeta, which from y < 0 goes up to 0 by ones, for minutes from -1e10.

    From far below, the sums to both sides of the first y above 0, less what lies beyond y.
    """
    far = (y < -1000.0) & (y > -np.inf) & (order > 1)
    if not np.any(far):
        return special("zeta", y, order, y)
    first = special("zeta", y, order, np.where(far, y - np.floor(y), y))
    below, beyond = (special("zeta", y, order, np.where(far, 1.0 - q, 1.0)) for q in (y % 1.0, y))
    parity = np.where(far, order % 2, 0)
    below = np.where(far, np.where(np.isinf(below), below, below - beyond), 0.0)
    signed = np.where(parity == 0, below, np.where(parity == 1, -below, np.nan))
    # Infinite are a pole, and a power that is the largest term: that of the y nearest to 0.
    # Roots of negative y are no number.
    near = y % 1.0
    infinite = far & np.isinf(first) & ((parity % 1.0 == 0) | (near == 0))
    signed = np.where(infinite & (near < 0.5), 0.0, signed)
    return (np.where(infinite & (near > 0.5), 0.0, first) + signed).astype(first.dtype)[()]


gamma = elementwise(
    "gamma",
    _one("gamma"),
    lambda x, out: out * digamma(x),
    holds=1.4,
    doc="The Gamma function: (x - 1)! for whole numbers.",
    domain="x > 0",
    example="gamma(x) --x 4.5",
    values={1: 1, 2: 1},
    pytorch="""def _gamma(x):
    mirrored = torch.pi / (torch.sin(torch.pi * x) * torch.exp(torch.lgamma(1 - x)))
    return torch.where(x > 0, torch.exp(torch.lgamma(x)), mirrored)""",
    latex=r"\Gamma",
)


def _lgamma(x: Any) -> Any:
    out = special("gammaln", x, x)
    near = np.abs(np.abs(x - 1.5) - 0.5) < 0.2
    if np.any(near):  # of the zeros at 1 and 2, where SciPy's has an absolute error
        z = (x[near] if np.ndim(x) else x) + 0j
        series = special("loggamma", z, z).real + 0.0  # not -0.0
        if np.ndim(x):
            out[near] = series
        else:
            out = series.astype(out.dtype)
    if np.any(x == -np.inf):  # where SciPy has -inf
        out = np.where(x == -np.inf, np.asarray(np.inf, out.dtype), out)[()]
    least = (np.abs(x) < np.finfo(np.float64).tiny) & (x != 0)
    if not np.any(least):
        return out
    with np.errstate(divide="ignore"):  # near 0 it is -log(abs(x)); SciPy has inf for subnormals
        return np.where(least, -np.log(np.abs(x)), out)[()]


lgamma = elementwise(
    "lgamma",
    _lgamma,
    lambda x: digamma(x),
    aliases=("gammaln",),
    pytorch="torch.lgamma",
    holds=6,
    doc="The logarithm of abs(gamma(x)).",
    numpy="special.gammaln",
    domain="x > 0",
    example="lgamma(x) --x 4.5",
    values={1: 0, 2: 0},
    latex=r"\log\Gamma",
    refuses={"complex": "lgamma_vml_cpu"},
)


def _digamma(x: Any) -> Any:
    out, gap = special("psi", x, x), x - np.round(x)
    # Of a pole, where SciPy's takes the tangent of pi*x.
    near = (np.abs(gap) < 0.1) & (gap != 0) & (x < -0.5)
    if not np.any(near):
        return out
    mirrored = special("psi", x, 1.0 - np.where(near, x, 0.0))
    turned = mirrored - math.pi / np.tan(math.pi * np.where(near, gap, 0.25))
    return np.where(near, turned.astype(out.dtype), out)[()]


digamma: Operator = elementwise(
    "digamma",
    lambda x: _digamma(x),
    lambda x: polygamma(x, 1),
    aliases=("psi",),
    holds=6,
    doc="The slope of lgamma.",
    domain="x > 0",
    example="digamma(x) --x 4.5",
    refuses={"complex": "digamma"},
    latex=r"\psi",
)
polygamma: Operator = elementwise(
    "polygamma",
    lambda x, n=1: _polygamma(x, n),
    lambda x, n: polygamma(x, n + 1),
    holds=1.2,
    required="n",
    refuses={"complex": "polygamma"},
    doc="The derivative of order n of digamma; as a function, polygamma(n, x).",
    domain="x > 0",
    example="polygamma(2, x) --x 1.5",
    numpy="special.polygamma({n}, {0})",
    pytorch="torch.polygamma({n}, {0})",
    # JAX's sums begin at the pole there: another number from about -7 on.
    jax="np.where({0} > -6, special.polygamma({n}, {0}), np.nan)",
    latex=r"\psi^{({n})}",
)
zeta: Operator = elementwise(
    "zeta",
    lambda x, y: _hurwitz(x, y),
    lambda x, y: zeta_slope(x, y, 1),
    lambda x, y: -x * zeta(x + 1.0, y),
    numbers="xy",
    holds=1.2,
    doc="Hurwitz's zeta function, the sum of (k + y)**-x.",
    domain="x > 1, y > 0",
    grad_name="SpecialZetaBackward0",
    example="zeta(3, y) --y 2",
    latex=r"\zeta",
    jax="np.where({1} > -6, special.zeta({0}, {1}), np.nan)",
    refuses={"half complex": "zeta_cpu"},
)


def _late(name: str) -> Any:
    """A function of ``order_slopes``: quadrature and series, of which few programs use any."""
    from gradcli.ops.numerics import order_slopes

    return getattr(order_slopes, name)


def _density_vjp(t: Any, x: Any, y: Any, out: Any, n: int) -> Any:
    # As a sum its own slopes do not cancel beside 0, as a product it does not near x.
    beside = along(x - 1.0 - n, gamma_density(x, where(y < 0.1, y, 1.0), n + 1)) - out
    return along(t, where(y < 0.1, beside, out * ((x - 1.0 - n - y) / y)))


log_ratio: Operator = composite(
    "log_ratio",
    lambda x, y: log(y) - digamma(x),
    lambda x, y: _late("log_ratio")(x, y),
    lambda t, x, y: -t * polygamma(x, 1),
    lambda t, x, y: t / y,
    holds=7,
    doc="log(y) - digamma(x), whose digits cancel where x is large and y near it.",
    public=False,
)
gamma_density: Operator = composite(
    "gamma_density",
    lambda x, y, n=0: exp((x - 1.0 - n) * log(y) - y - lgamma(x)),
    lambda x, y, n=0: _late("gamma_density")(x, y, n),
    lambda t, x, y, out: t * (out * log_ratio(x, y)),
    _density_vjp,
    holds=10,
    doc="y**(x - 1 - n) exp(-y)/gamma(x), for n = 0 gammainc's slope, by Stirling's series there.",
    public=False,
)


def _incomplete(name: str, x: Any, y: Any) -> Any:
    """gammainc or gammaincc. SciPy's series divide by x: of a tiny one the first term is left."""
    found = special(name, y, x, y)
    tiny = (x > 0) & (x < 1e-100) & (y > 0)
    if not np.any(tiny):
        return found
    above = x * special("exp1", y, y)
    return np.where(tiny, above if name == "gammaincc" else 1.0 - above, found)[()]


gammainc = elementwise(
    "gammainc",
    lambda x, y: _incomplete("gammainc", x, y),
    lambda x, y: gammainc_slope(x, y, 1),
    lambda x, y: gamma_density(x, y),
    aliases=("igamma",),
    holds=1.5,
    doc="The lower incomplete Gamma function over gamma(x).",
    domain="x > 0, y > 0",
    grad_name="IgammaBackward0",
    example="gammainc(2, y) --y 1.5",
    refuses={"bool int complex": "igamma_cpu"},
    latex="P",
)
gammaincc = elementwise(
    "gammaincc",
    lambda x, y: _incomplete("gammaincc", x, y),
    lambda x, y: -gammainc_slope(x, y, 1),
    lambda x, y: -gamma_density(x, y),
    aliases=("igammac",),
    holds=1.5,
    doc="1 - gammainc(x, y).",
    domain="x > 0, y > 0",
    grad_name="IgammacBackward0",
    example="gammaincc(2, y) --y 1.5",
    refuses={"bool int complex": "igammac_cpu"},
    latex="Q",
)


zeta_slope: Operator = elementwise(
    "zeta_slope",
    lambda x, y, n=1: _late("zeta_slope")(x, y, n),
    lambda x, y, n: zeta_slope(x, y, n + 1),
    lambda x, y, n: -x * zeta_slope(x + 1.0, y, n) - n * _zeta_slope(x + 1.0, y, n - 1),
    refuses={"half": "zeta_cpu"},
    holds=21,
    doc="The derivative of order n of zeta by its first argument.",
    domain="x > 1, y > 0",
    public=False,
)
gammainc_slope: Operator = elementwise(
    "gammainc_slope",
    lambda x, y, n=1: _late("gammainc_slope")(x, y, n),
    lambda x, y, n: gammainc_slope(x, y, n + 1),
    lambda x, y, n: _density_slope(x, y, n),
    holds=13,
    doc="The derivative of order n of gammainc by its first argument.",
    domain="x > 0, y > 0",
    public=False,
)


def _zeta_slope(x: Any, y: Any, n: int) -> Any:
    return zeta_slope(x, y, n) if n else zeta(x, y)


def _density_slope(x: Any, y: Any, n: int) -> Any:
    """The derivative of order n by x of gammainc's slope by y: that times a Bell polynomial."""
    slopes = [log_ratio(x, y), *(-polygamma(x, m) for m in range(1, n))]
    found: list[Any] = [gamma_density(x, y)]
    for m in range(n):
        first, *others = (math.comb(m, i) * (found[m - i] * slopes[i]) for i in range(m + 1))
        found.append(sum(others, first))
    return found[n]


def _of_order(name: str, x: Any, n: int) -> Any:
    """``iv`` or ``ive``, with their ends where SciPy gives up: A&S 9.6.7 and 9.7.1."""
    out = special(name, x, float(n), x)
    lost = np.isnan(out) & ~np.isnan(x)
    if not np.any(lost):
        return out
    with np.errstate(all="ignore"):
        size = np.abs(x)
        near = (0.5 * size) ** n / math.factorial(n)
        far = (1.0 - (4 * n * n - 1) / (8.0 * size)) / np.sqrt(2.0 * np.pi * size)
        far = np.exp(size) * far if name == "iv" else far
        found = np.where(size < 1, near, far) * (np.sign(x) if n % 2 else 1.0)
        return np.where(lost, found, out).astype(out.dtype)[()]


bessel_i: Operator = elementwise(
    "bessel_i",
    lambda x, n=0: special(("i0", "i1")[n], x, x) if n < 2 else _of_order("iv", x, n),
    lambda x, n: 0.5 * (bessel_i(x, abs(n - 1)) + bessel_i(x, n + 1)),
    doc="The modified Bessel function of the first kind, of whole order.",
    latex="I_{{n}}",
    public=False,
)
bessel_ie: Operator = elementwise(
    "bessel_ie",
    lambda x, n=0: special(("i0e", "i1e")[n], x, x) if n < 2 else _of_order("ive", x, n),
    lambda x, n, out: 0.5 * (bessel_ie(x, abs(n - 1)) + bessel_ie(x, n + 1)) - sign(x) * out,
    doc="exp(-abs(x)) times the modified Bessel function of the first kind, of whole order.",
    edges="slope at 0 as if exp(-abs(x)) were flat there",
    kink="at {0} = 0: derivative as if exp(-abs({0})) were flat there",
    latex=r"\operatorname{ie}_{{n}}",
    public=False,
)


def _waves(x: Any, n: int = 0) -> Any:
    """J of order n; far out by its series in 1/x: SciPy rounds the phase x - pi/4 (A&S 9.2.5)."""
    out = special(("j0", "j1")[n], x, x) if n < 2 else special("jv", x, float(n), x)
    far = (x > 1e4) | (x < -1e4)
    if not np.any(far):
        return out
    far = far & np.isfinite(x)
    large = np.where(far, np.abs(x), 1e4).astype(np.float64)
    term: Any = np.ones_like(large)
    parts: list[Any] = [0.0, 0.0]  # beside the cosine, and beside the sine
    for k in range(8):
        parts[k % 2] = parts[k % 2] + (1 - (k & 2)) * term
        term = term * ((4 * n * n - (2 * k + 1) ** 2) / (8 * k + 8)) / large
    waves = np.cos(large), np.sin(large)
    for _ in range(n % 4):  # a quarter turn back
        waves = waves[1], -waves[0]
    found = parts[0] * (waves[0] + waves[1]) - parts[1] * (waves[1] - waves[0])
    found = found / np.sqrt(np.pi) / np.sqrt(large) * (np.sign(x) if n % 2 else 1.0)
    return np.where(far, found, out).astype(getattr(out, "dtype", found.dtype))[()]


bessel_j: Operator = elementwise(
    "bessel_j",
    _waves,
    lambda x, n: 0.5 * ((-1.0 if n == 0 else 1.0) * bessel_j(x, abs(n - 1)) - bessel_j(x, n + 1)),
    doc="The Bessel function of the first kind, of whole order.",
    latex="J_{{n}}",
    public=False,
)


def _decay(x: Any, order: int = 0, n: int = 1, second: bool = False) -> Any:
    """By the recurrences DLMF 10.29.1, of which far out only the last digits are left."""
    if n:
        same, mean = _decay(x, order, n - 1, second), _decay(x, order + 1, n - 1, second)
        if order:
            mean = 0.5 * (_decay(x, order - 1, n - 1, second) + mean)
        return same - mean if second else mean - sign(x) * same
    if order < 2:
        kinds = scaled_modified_bessel_k0, scaled_modified_bessel_k1
        return (kinds if second else (i0e, i1e))[order](x)
    if not second:
        return bessel_ie(x, order)
    beside = _decay(x, order - 1, 0, True) * (2.0 * (order - 1)) / x
    return _decay(x, order - 2, 0, True) + beside


@on_host
def _decay_slope(x: Any, order: int = 0, n: int = 1, second: bool = False) -> Any:
    """From 40 on the derivatives of the series in 1/x, whose terms do not cancel: DLMF 10.40."""
    wide = np.asarray(x, np.float64)
    far = (wide if second else np.abs(wide)) > 40.0
    large = np.where(far, np.abs(wide), 40.0)
    term = math.sqrt(math.pi / 2.0 if second else 0.5 / math.pi) * (-1.0) ** n
    series = np.zeros_like(large)
    for k in range(20):
        series = series + term * math.prod(k + j + 0.5 for j in range(n)) * large**-k
        term *= ((2 * k + 1) ** 2 - 4 * order**2) / (8 * k + 8) * (-1 if second else 1)
    odd = (order + n) % 2 and not second
    series = series * large ** (-0.5 - n) * np.where(odd & (wide < 0), -1.0, 1.0)
    found = np.where(far, series, _decay(np.where(far, 1.0, wide), order, n, second))
    return found.astype(getattr(x, "dtype", found.dtype))[()]


decay_slope: Operator = composite(
    "decay_slope",
    _decay,
    _decay_slope,
    lambda x, order, n, second: decay_slope(x, order, n + 1, second),
    holds=9,
    doc="The derivative of order n of i0e or i1e, of the second kind's scaled_modified_bessel.",
    public=False,
)


def _bessel(name: str, kind: str, n: int, slope: Callable[..., Any], **facts: Any) -> Operator:
    found = "the formula" if n else "second derivative"
    return elementwise(
        name,
        _one(name) if name[0] == "i" else lambda x: _waves(x, n),
        slope,
        doc=f"The {kind} of order {n}.",
        kink=f"at {{0}} = 0: {found} divides by it (gradcli grad does not)",
        values={0: 1 - n},
        **facts,
    )


i0 = _bessel(
    "i0", "modified Bessel function", 0, lambda x: i1(x),
    latex="I_{0}", refuses={"complex": "i0_vml_cpu"},
)  # fmt: skip
i1: Operator = _bessel(
    "i1", "modified Bessel function", 1, lambda x: 0.5 * (i0(x) + bessel_i(x, 2)),
    grad_name="SpecialI1Backward0", latex="I_{1}", refuses={"complex": "i1_cpu"},
)  # fmt: skip
i0e = elementwise(
    "i0e",
    _one("i0e"),
    lambda x: decay_slope(x, 0),
    doc="exp(-abs(x))*i0(x), without overflow.",
    kink="at {0} = 0: derivative of i0e taken as 0",
    grad_name="SpecialI0EBackward0",
    refuses={"complex": "i0e_cpu"},
)
i1e: Operator = elementwise(
    "i1e",
    _one("i1e"),
    lambda x: decay_slope(x, 1),
    doc="exp(-abs(x))*i1(x), without overflow.",
    kink="at {0} = 0: the formula divides by it (gradcli grad takes 0 as second derivative)",
    grad_name="SpecialI1EBackward0",
    refuses={"complex": "i1e_cpu"},
)
bessel_j0 = _bessel(
    "bessel_j0", "Bessel function", 0, lambda x: -bessel_j1(x),
    numpy="special.j0({0})", jax="", latex="J_{0}", refuses={"half complex": "bessel_j0_cpu"},
)  # fmt: skip
bessel_j1: Operator = _bessel(
    "bessel_j1", "Bessel function", 1, lambda x: 0.5 * (bessel_j0(x) - bessel_j(x, 2)),
    numpy="special.j1({0})", jax="", latex="J_{1}", refuses={"half complex": "bessel_j1_cpu"},
)  # fmt: skip


def _scaled_k(n: int) -> Operator:
    return elementwise(
        f"scaled_modified_bessel_k{n}",
        _one(f"k{n}e"),
        lambda x: decay_slope(x, n, second=True),
        refuses={"half complex": f"scaled_modified_bessel_k{n}_cpu"},
        doc=f"exp(x) times the modified Bessel function of the second kind of order {n}.",
        domain="x > 0",
        example=f"scaled_modified_bessel_k{n}(x) --x 2",
        jax="",
        latex=rf"e^{{{{x}}}} K_{{{n}}}({{x}})",
    )


scaled_modified_bessel_k0, scaled_modified_bessel_k1 = _scaled_k(0), _scaled_k(1)


@on_host
def _airy(x: Any, order: int) -> Any:
    from scipy.special import airy  # SciPy is loaded at the first call

    found = np.where(np.greater(x, 150.0), 0.0, airy(x)[order])  # SciPy gives up far out
    return found.astype(getattr(x, "dtype", found.dtype))[()]


def _airy_operator(name: str, order: int, slope: Callable[..., Any]) -> Operator:
    return elementwise(
        name,
        lambda x: _airy(x, order),
        slope,
        refuses={"half complex": "airy_ai_cpu"},
        holds=4,
        doc=f"The {'derivative of the ' * order}Airy function Ai.",
        numpy=f"special.airy({{0}})[{order}]",
        pytorch="" if order else "torch.special.airy_ai",
        jax="",
        latex=r"\operatorname{Ai}" + "'" * order,
    )


airy_ai = _airy_operator("airy_ai", 0, lambda x: airy_ai_slope(x))
airy_ai_slope: Operator = _airy_operator("airy_ai_slope", 1, lambda x: x * airy_ai(x))


def _sinc_slope(x: Any, n: int, unit: float = math.pi) -> Any:
    """The derivative of order n of sin(z)/z at z = unit*x, times unit**n.

    Near 0 by its series, the sum of (-1)**k z**(2k - n)/((2k + 1)(2k - n)!); elsewhere by the
    recurrence of (z f)^(n) = z f^(n) + n f^(n - 1) = sin(z + n pi/2), which loses digits only below
    n/2.
    """
    if getattr(x, "dtype", None) == np.float16:  # pi*x would be rounded to a half
        return _sinc_slope(np.float32(x), n, unit).astype(np.float16)
    z = unit * x
    near = np.abs(z) < 1.0 + 0.5 * n
    safe = np.where(near, 1.0, z)
    turn, flip = safe, 1.0
    if unit == math.pi and not is_complex(x):  # half turns taken off without rounding
        whole = np.rint(x)
        turn, flip = math.pi * (x - whole), 1.0 - 2.0 * (whole % 2.0)
    waves = flip * np.sin(turn) + 0.0, flip * np.cos(turn)
    far = waves[0] / safe
    for m in range(1, n + 1):
        far = ((-1 if m & 2 else 1) * waves[m & 1] - m * far) / safe
    small = np.where(near, z, 0.0)
    series = 0.0 * small
    for k in range((n + 1) // 2, 18 + n):
        term = (-1.0) ** k / ((2 * k + 1) * math.factorial(2 * k - n))
        series = series + term * small ** (2 * k - n)
    out = np.where(near, series, far) * unit**n
    return out.astype(x.dtype) if hasattr(x, "dtype") else out


sinc = elementwise(
    "sinc",
    lambda x: _sinc_slope(x, 0),
    lambda x: sinc_slope(x, 1),
    holds=12.2,
    doc="sin(pi*x)/(pi*x), 1 at 0.",
    values={0: 1},
    kink="at {0} = 0: the formula divides by it (gradcli grad does not)",
)


def _sine_over(x: Any) -> Any:
    with np.errstate(invalid="ignore"):
        found = np.sin(x) / np.where(x == 0, 1.0, x)
    return np.where(x == 0, 1.0, np.where(np.isinf(x), 0.0, found)).astype(found.dtype)[()]


spherical_bessel_j0 = elementwise(
    "spherical_bessel_j0",
    _sine_over,
    lambda x: sinc_slope(x, 1, 1.0),
    refuses={"half complex": "spherical_bessel_j0_cpu"},
    holds=3,
    doc="sin(x)/x, 1 at 0: the spherical Bessel function of order 0.",
    values={0: 1},
    kink="at {0} = 0: the formula divides by it (gradcli grad does not)",
    numpy="np.sinc({0}/np.pi)",
    pytorch="torch.sinc({0}/torch.pi)",
    jax="jnp.sinc({0}/jnp.pi)",
    latex="j_{0}",
)
sinc_slope: Operator = elementwise(
    "sinc_slope",
    lambda x, n=1, unit=math.pi: _sinc_slope(x, n, unit),
    lambda x, n, unit: sinc_slope(x, n + 1, unit),
    holds=12.2,
    doc="The derivative of order n of sin(z)/z at z = unit*x: of sinc, of spherical_bessel_j0.",
    latex=lambda given, rank: (
        (r"\operatorname{sinc}" if given["unit"] == math.pi else "j_{0}")
        + ("'" if given["n"] == 1 else f"^{{({given['n']})}}")
    ),
    public=False,
)
glu = composite("glu", lambda x, y: x * sigmoid(y), doc="x*sigmoid(y).", public=False)
silu = composite("silu", lambda x: x * logistic(x), doc="x*sigmoid(x).", public=False)
mish = composite(
    "mish",
    lambda x: x * tanh(softplus(x)),
    holds=3,
    doc="x*tanh(softplus(x)).",
    refuses={"bool int complex": "mish_cpu"},
    public=False,
)
gelu = composite(
    "gelu",
    lambda x: x * ndtr(x),
    lambda x: x * ndtr(x),
    lambda x: ndtr(x) - bell(x, 0.5, 1) / _ROOT_2PI,  # x*bell(x) is no product to overflow
    doc="x*ndtr(x).",
    public=False,
)


def _tanh_gate(x: Any) -> tuple[Any, Any, Any, Any]:
    # 0.5*(1 + tanh(u)) is the logistic function of 2*u, which does not cancel below 0. Beyond 30
    # that is 0 or 1, and its powers overflow further out.
    held = where(magnitude(x) > 30.0, 30.0 * sign(x), x)
    turn = _ROOT_8_PI * (held + 0.044715 * held * held * held)
    return held, logistic(turn), logistic(-turn), _ROOT_8_PI * (1.0 + 0.134145 * held * held)


def _gelu_tanh_slope(x: Any) -> Any:
    x, share, rest, rate = _tanh_gate(x)
    return share + x * share * rest * rate


def _gelu_tanh_curve(x: Any) -> Any:
    x, share, rest, rate = _tanh_gate(x)
    return share * rest * ((2.0 + x * (rest - share) * rate) * rate + 0.26829 * _ROOT_8_PI * x * x)


gelu_tanh_slope = composite(
    "gelu_tanh_slope",
    _gelu_tanh_slope,
    _gelu_tanh_slope,
    lambda x: _gelu_tanh_curve(x),
    holds=6,
    doc="The slope of gelu_tanh.",
    public=False,
)
gelu_tanh = composite(
    "gelu_tanh",
    lambda x: x * logistic(_ROOT_8_PI * (x + 0.044715 * x * x * x)),
    lambda x: x * logistic(_ROOT_8_PI * (x + 0.044715 * x * x * x)),
    lambda x: gelu_tanh_slope(x),
    holds=3,
    grad_name="GeluBackward0",
    doc="gelu as it was first computed, by a logistic function.",
    public=False,
)
