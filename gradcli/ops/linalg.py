"""Square matrices: inverse, determinants, linear systems, Cholesky factors.

Everything takes leading batch dimensions. The derivatives of a determinant are right where the
matrix has no inverse too: they are built from the adjugate, which an SVD gives at any rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np

from gradcli.ops.comparison import all_finite, isnan, zeros_like
from gradcli.ops.declaration import cures
from gradcli.ops.declaration.batching import Batch, lined_up
from gradcli.ops.decompositions.matrix_errors import not_square, unsolved
from gradcli.ops.dims import in_columns, in_rows
from gradcli.ops.errors import RuntimeFault, UnwrittenFault, bad_shape
from gradcli.ops.kinds import general
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS, Operator, is_complex
from gradcli.ops.piecewise import where
from gradcli.ops.products import matmul
from gradcli.ops.reduction import sum
from gradcli.ops.shape import diagonal, mT, reshape, squeeze, tril, unsqueeze


def _square(name: str, x: Any) -> tuple[int, ...]:
    """The shape of x. Raises RuntimeFault (E0301) where its last two dimensions differ."""
    shape: tuple[int, ...] = np.shape(x)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise not_square(name, shape)
    return shape


def _solved(name: str, function: Callable[..., Any], x: Any, *others: Any) -> Any:
    """A function of ``numpy.linalg``. Raises LinAlgFault (E0304) for a singular matrix."""
    if not all_finite(x):  # some LAPACKs pass over a NaN, or take inf/inf as 0
        lost = np.isnan(x).any((-2, -1)) | (np.isinf(x).sum(-2) > 1).any(-1)
        x = np.where(lost[..., None, None], x.dtype.type(np.nan), x)
    try:
        return function(x, *others)
    except np.linalg.LinAlgError as fault:
        raise unsolved(name, x, "ositive definite" in str(fault)) from None


def _inv(x: Any) -> Any:
    _square("inv", x)
    return in_columns(_solved("inv", np.linalg.inv, x))


inv = general(
    "inv",
    _inv,
    lambda g, out: -matmul(matmul(mT(out), g), mT(out)),
    jvp=lambda tx, out: -matmul(matmul(out, tx), out),
    aliases=("inverse",),
    grad_name="LinalgInvExBackward0",
    refuses={"half": "linalg.inv: Low precision dtypes not supported. Got Half"},
    holds=3,
    doc="The inverse of a square matrix.",
    domain="det(x) != 0",
    core="(n,n)->(n,n)",
    transposes=True,
    node={"result": "inverse"},
)

# ---- Determinants --------------------------------------------------------------------------------
#
# With x = U S V: adj(x) = det(U) det(V) V' adj(S) U', products of the singular values, each without
# one (adj), without two (its derivative along y), without three (the second one along y and z).


def _not_lost(x: Any, of_none: Any, *found: Any) -> tuple[Any, ...]:
    """What was found of matrices, NaN where a pivot was 0 (``of_none``) beside an inf or NaN."""
    if of_none.any():
        lost = of_none & ~np.isfinite(x).all((-2, -1))
        found = tuple(np.where(lost, v.dtype.type(np.nan), v)[()] for v in found)
    return found


HELD = 10**9
"""Multiplications of determinants that are NumPy's, which keeps Python's lock: meanwhile neither
Ctrl-C nor a limit is heard."""


def _long(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.shape[-1] ** 3 > HELD


def _in_parts(function: Callable[[Any], tuple[Any, ...]], x: Any) -> tuple[Any, ...]:
    """What a function of NumPy finds of matrices, of as many at a time as ``HELD`` allows."""
    if not isinstance(x, np.ndarray) or x.size * x.shape[-1] <= HELD:
        return function(x)
    stack, step = x.reshape(-1, *x.shape[-2:]), HELD // x.shape[-1] ** 3
    parts = [function(stack[at : at + step]) for at in range(0, len(stack), step)]
    return tuple(np.concatenate(v).reshape(x.shape[:-2]) for v in zip(*parts, strict=True))


def _sign_and_log(x: Any) -> tuple[Any, ...]:
    """``slogdet`` of NumPy; of large matrices in double precision, without Python's lock."""
    if not _long(x):
        return _in_parts(np.linalg.slogdet, x)
    from scipy.linalg.lapack import get_lapack_funcs  # slow to load

    wide = np.result_type(x, np.float64)
    sign, size = np.empty(x.shape[:-2], wide), np.empty(x.shape[:-2])
    for place in np.ndindex(x.shape[:-2]):
        matrix = x[place].astype(wide, order="F")
        factors, pivots, _ = get_lapack_funcs("getrf", (matrix,))(matrix, overwrite_a=True)
        diagonal = np.diag(factors)
        odd = (pivots != np.arange(len(pivots))).sum() % 2
        sign[place] = np.sign(diagonal).prod() * (-1 if odd else 1)
        size[place] = np.log(np.abs(diagonal)).sum()
    return sign[()], size[()]


def _plain_det(x: Any) -> Any:
    if not _long(x):
        return _in_parts(lambda part: (np.linalg.det(part),), x)[0]
    sign, size = _sign_and_log(x)
    return (sign * np.exp(size)).astype(x.dtype)


def _det(x: Any) -> Any:
    _square("det", x)
    with np.errstate(all="ignore"):
        found = _solved("det", _plain_det, x)
    return _not_lost(x, found == 0, found)[0]


def _slogdet(x: Any, name: str = "slogdet") -> tuple[Any, Any]:
    _square(name, x)
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    with np.errstate(all="ignore"):
        sign, size = _solved("slogdet", _sign_and_log, wide)
    return _not_lost(wide, (sign == 0) | np.isnan(size), sign, size)


def times_powers(x: Any, powers: Any) -> Any:
    """Entries times powers of 2, which leave no rounding."""
    if x.dtype.kind != "c":
        return np.ldexp(x, powers)
    return np.ldexp(x.real, powers) + np.ldexp(x.imag, powers) * 1j


def _powers(size: Any, axis: int) -> Any:
    """Those of 2 of rows or columns: of one of zeros as of the shortest, which it would drown."""
    most = size.max(axis, keepdims=True, initial=0)
    found = np.frexp(most)[1]
    return np.where(most == 0, found.min(-3 - axis, keepdims=True, initial=0), found)


def _equilibrated(x: Any, *along: Any) -> tuple[Any, ...]:
    """Matrices with rows and columns scaled by powers of 2 to bring the entries of x near 1, and
    the powers that an adjugate of it is then short of.

    A singular value is exact beside the largest alone: a long row would drown the others.
    """
    size = np.abs(x)
    size = np.where(np.isfinite(size), size, 1)
    rows = _powers(size, -1)
    columns = _powers(np.ldexp(size, -rows), -2)
    short = rows.sum(-2, keepdims=True) + columns.sum(-1, keepdims=True)
    short = short - np.swapaxes(rows, -1, -2) - np.swapaxes(columns, -1, -2)
    return *(times_powers(a, -rows - columns) for a in (x, *along)), short


def _decomposed(x: Any) -> tuple[Any, Any, Any, Any]:
    """U, s, V' and det(U)*det(V'); NaN of every matrix that is not finite."""
    _square("adjugate", x)
    finite = np.isfinite(x).all((-2, -1))[..., None]
    u, s, vh = np.linalg.svd(np.where(finite[..., None], x, 0))
    return u, np.where(finite, s, np.nan), vh, _plain_det(u) * _plain_det(vh)


def _without(s: Any, many: int) -> Any:
    """Products of s without ``many`` different entries, by their places; 0 where two are one."""
    n = s.shape[-1]
    charge_shape((3, *s.shape[:-1]) + (n,) * many)
    zero = s == 0
    safe = np.where(zero, 1.0, s).astype(s.dtype)
    lead = s.shape[:-1]
    total = np.prod(safe, axis=-1).reshape(lead + (1,) * many)
    zeros = np.sum(zero, axis=-1).reshape(lead + (1,) * many)
    places = [lead + (1,) * i + (n,) + (1,) * (many - 1 - i) for i in range(many)]
    for at in places:
        total = total / safe.reshape(at)
        zeros = zeros - zero.reshape(at)
    found = np.where(zeros == 0, total, 0.0).astype(s.dtype)
    index = [np.arange(n, like=s).reshape(at[len(lead) :]) for at in places]
    for a, b in combinations(index, 2):
        found = np.where(a == b, 0.0, found).astype(s.dtype)
    return found


def _back(m: Any, u: Any, vh: Any, sign: Any, like: Any) -> Any:
    turned = np.swapaxes(np.conj(vh), -1, -2) @ m @ np.swapaxes(np.conj(u), -1, -2)
    return (turned * sign[..., None, None]).astype(like.dtype)


def _inside(u: Any, vh: Any, y: Any) -> Any:
    return np.swapaxes(np.conj(u), -1, -2) @ y @ np.swapaxes(np.conj(vh), -1, -2)


def _adjugate(x: Any) -> Any:
    _square("adjugate", x)
    if x.shape[-1] in (2, 3):
        m = _minors(x)
        found = m[..., 0, 0]
        if x.shape[-1] == 3:  # exact by entries, not beside the largest
            found = found * m[..., 1, 1] - m[..., 0, 1] * m[..., 1, 0]
        finite = np.isfinite(x).all((-2, -1))[..., None, None]
        return np.where(finite, _signed(found), x.dtype.type(np.nan))
    exact, inverse = _by_inverse(x)
    if (np.abs(x).max((-2, -1), initial=0) * inverse.max((-2, -1), initial=0) < 1e3).all():
        return exact
    x, short = _equilibrated(x)
    exact, inverse = _by_inverse(x)
    with np.errstate(all="ignore"):  # the error of an inverse beside its largest entry
        far = (inverse @ np.abs(x) @ inverse).max((-2, -1)) / inverse.max((-2, -1)) < 1e3
    u, s, vh, sign = _decomposed(x)
    found = _back(_without(s, 1)[..., :, None] * np.eye(s.shape[-1], like=s), u, vh, sign, x)
    return times_powers(np.where(far[..., None, None], exact, found), short)


def _by_inverse(x: Any) -> tuple[Any, Any]:
    """Adjugates by inverses, and the sizes of these: infinite where a matrix is singular, or its
    determinant has too few digits left.

    Far from singular each entry is exact, not beside the largest alone.
    """
    limits = np.finfo(x.dtype)
    with np.errstate(all="ignore"):
        det = _plain_det(x)[..., None, None]
        inverse = np.linalg.inv(np.where(det == 0, np.eye(x.shape[-1], dtype=x.dtype, like=x), x))
        kept = (np.abs(det) > limits.tiny / limits.eps) & np.isfinite(det)
        return inverse * det, np.where(kept, np.abs(inverse), np.inf)


def _minors(x: Any) -> Any:
    """Matrices without each row i and column j, at [..., i, j]."""
    at, kept = np.arange(x.shape[-1], like=x)[:, None], np.arange(x.shape[-1] - 1, like=x)
    kept = kept + (kept >= at)
    charge_shape((2, *x.shape, *kept.shape[1:], *kept.shape[1:]), x.itemsize)
    return x[..., kept[:, None, :, None], kept[None, :, None, :]]


def _signed(of_minors: Any) -> Any:
    """The adjugate with such minors, or what else is linear in them."""
    at = np.arange(of_minors.shape[-1], like=of_minors)
    signs = (1 - 2 * ((at + at[:, None]) % 2)).astype(of_minors.dtype)
    return np.swapaxes(signs * of_minors, -1, -2)


def _along_minors(x: Any, y: Any) -> Any:
    """The derivative along y by that of each minor: what an entry does not depend on stays out,
    however long a row of y is beside the others."""
    slopes = np.swapaxes(_adjugate(_minors(x)), -1, -2) * _minors(y)
    return _signed(slopes.sum((-2, -1)))


def _adjugate_along(x: Any, y: Any) -> Any:
    if x.shape[-2:] == (2, 2):  # linear, whatever x is
        return _adjugate(y + np.zeros_like(x))
    if x.shape[-1] in range(3, 9):  # n**5 operations
        return _along_minors(x, y)
    x, y, short = _equilibrated(x, y)
    u, s, vh, sign = _decomposed(x)
    e, p = _inside(u, vh, y), _without(s, 2)
    own = np.einsum("...ij,...ii->...j", p, e)
    inner = own[..., :, None] * np.eye(s.shape[-1], like=s) - p * e
    return times_powers(_back(inner, u, vh, sign, x), short)


def _adjugate_along_two(x: Any, y: Any, z: Any) -> Any:
    if x.shape[-2:] == (3, 3):
        return _along_minors(y + np.zeros_like(x), z)
    x, y, z, short = _equilibrated(x, y, z)
    u, s, vh, sign = _decomposed(x)
    e, f, p = _inside(u, vh, y), _inside(u, vh, z), _without(s, 3)
    own = np.einsum("...ijk,...ii,...jj->...k", p, e, f, optimize=True)
    own = own - np.einsum("...ijk,...ij,...ji->...k", p, e, f, optimize=True)
    mixed = np.einsum("...ijk,...ij,...jk->...ik", p, e, f, optimize=True)
    mixed = mixed + np.einsum("...ijk,...ij,...jk->...ik", p, f, e, optimize=True)
    mixed = mixed - np.einsum("...ijk,...ik,...jj->...ik", p, e, f, optimize=True)
    mixed = mixed - np.einsum("...ijk,...ik,...jj->...ik", p, f, e, optimize=True)
    inner = own[..., :, None] * np.eye(s.shape[-1], like=s) + mixed
    return times_powers(_back(inner, u, vh, sign, x), short)


def _along_many(x: Any, directions: Sequence[Any]) -> Any:
    """The derivative of adj(x) along any number of directions, where x has an inverse.

    det(x) times a sum over permutations: the cycle through 0 is a product of matrices, every other
    cycle the trace of one.
    """
    a = inv(x)
    steps = [None, *(matmul(a, d) for d in directions)]
    total: Any = 0.0
    for order in permutations(range(len(steps))):
        seen: set[int] = set()
        term: Any = 1.0
        for start in range(len(steps)):
            if start in seen:
                continue
            cycle = [start]
            while order[cycle[-1]] != start:
                cycle.append(order[cycle[-1]])
            seen.update(cycle)
            if len(cycle) % 2 == 0:
                term = -term
            chain = None
            for i in cycle if start else cycle[1:]:
                chain = steps[i] if chain is None else matmul(chain, steps[i])
            if not start:
                chain = a if chain is None else matmul(chain, a)
                term = chain * term
            else:
                term = term * _column(_column(sum(diagonal(chain), -1)))
        total = total + term
    return total * _column(_column(det(x)))


def _column(x: Any) -> Any:
    return unsqueeze(x, -1)


det = general(
    "det",
    _det,
    lambda g, x: zeros_like(x) if 0 in x.shape else _column(_column(g)) * mT(adjugate(x)),
    jvp=lambda tx, x: sum(mT(adjugate(x)) * tx, (-2, -1)),
    grad_name="LinalgDetBackward0",
    refuses={"half": "lu_cpu"},
    doc="The determinant of a square matrix.",
    edges="the derivatives hold at any rank",
    kink="where {0} is singular: the formula divides by its determinant",
    core="(n,n)->()",
    latex=r"\det",
    node={"operands": {"": ("A",)}},
)
adjugate: Operator = general(
    "adjugate",
    _adjugate,
    lambda g, x: mT(adjugate_along(x, mT(g))),
    jvp=lambda tx, x: adjugate_along(x, tx),
    refuses={"half": "lu_cpu"},
    holds=4,
    doc="det(x)*inv(x), at any rank: the transpose of the matrix of cofactors.",
    core="(n,n)->(n,n)",
    latex=r"\operatorname{adj}",
)
adjugate_along: Operator = general(
    "adjugate_along",
    _adjugate_along,
    lambda g, x, y: mT(adjugate_along_two(x, y, mT(g))),
    lambda g, x: mT(adjugate_along(x, mT(g))),
    jvp=lambda tx, ty, x, y: adjugate_along_two(x, y, tx) + adjugate_along(x, ty),
    refuses={"half": "lu_cpu"},
    doc="The derivative of adjugate(x) along y.",
    public=False,
)
adjugate_along_two: Operator = general(
    "adjugate_along_two",
    _adjugate_along_two,
    lambda g, x, y, z: mT(_along_many(x, (y, z, mT(g)))),
    lambda g, x, z: mT(adjugate_along_two(x, z, mT(g))),
    lambda g, x, y: mT(adjugate_along_two(x, y, mT(g))),
    jvp=lambda tx, ty, tz, x, y, z: (
        _along_many(x, (y, z, tx)) + adjugate_along_two(x, ty, z) + adjugate_along_two(x, y, tz)
    ),
    refuses={"half": "lu_cpu"},
    doc="The second derivative of adjugate(x) along y and z; its own derivative needs an inverse.",
    public=False,
)


def _logdet(x: Any) -> Any:
    sign, size = _slogdet(x, "logdet")
    found = np.log(sign) + size if x.dtype.kind == "c" else np.where(sign < 0, np.nan, size)
    return found.astype(x.dtype)[()]


def _slope_of_log(x: Any) -> Any:
    """The transpose of inv(x), the slope of log(det(x)); at a singular matrix as PyTorch has it.

    There the numbers are those of a division by the pivots, which are 0: infinite, or NaN. A
    further derivative does not exist: then RuntimeFault (E0304), as ``inv`` raises.
    """
    try:
        return mT(inv(x))
    except RuntimeFault:
        if hasattr(x, "each_of"):
            return x.each_of(_slope_of_log, (x,), {})
        x = x.array if getattr(x, "edge", x) is None else x  # outside of a graph
        if not isinstance(x, np.ndarray) or x.shape[-1] != x.shape[-2]:
            raise
    if x.ndim == 2:
        with np.errstate(all="ignore"):
            return _by_factors(x, np.eye(len(x), dtype=x.dtype))[0]
    return np.stack([_slope_of_log(part) for part in x])  # of which others may have an inverse


def _by_factors(a: Any, b: Any) -> tuple[Any, int]:
    """The z with a.T @ z = b by the LU factors of one matrix, whatever the pivots are; and LAPACK's
    ``info`` of these, 0 where none is 0."""
    from scipy.linalg import lapack  # slow to load

    factor, solve = lapack.get_lapack_funcs(("getrf", "getrs"), (a,))
    both, pivots, info = factor(a)
    return solve(both, pivots, b, trans=1)[0], info


def _nothing(x: Any) -> Any:
    """0 for each matrix, NaN for one that has entries that are not finite."""
    return sum(x * 0.0, (-2, -1))


logdet: Operator = general(
    "logdet",
    _logdet,
    # PyTorch composes it of slogdet and where: below 0 NaN is a branch without a slope.
    # It keeps no result, to which ``loss += 1`` may write.
    lambda g, x: _column(_column(where(isnan(logdet(x)), _nothing(x), g))) * _slope_of_log(x),
    jvp=lambda tx, x, out: where(out == out, sum(_slope_of_log(x) * tx, (-2, -1)), _nothing(x)),
    grad_name="WhereBackward0",
    refuses={"half": "logdet: Low precision dtypes not supported. Got Half"},
    doc="The logarithm of the determinant; NaN where that is negative.",
    domain="det(x) > 0",
    core="(n,n)->()",
    numpy="np.linalg.slogdet({0})[1]",
    pytorch="torch.linalg.slogdet({0})[1]",
    latex=r"\log\det",
    cures=cures.LOGDET,
    out="none",
)


def _conjugate(x: Any) -> Any:
    return OPERATORS["conj"](x) if is_complex(x) else x


def _real_part(x: Any) -> Any:
    return OPERATORS["real"](x) if is_complex(x) else x


logabsdet = general(
    "logabsdet",
    lambda x: _slogdet(x)[1].astype(x.real.dtype)[()],
    # A real function of complex numbers, unlike the determinant itself.
    lambda g, x: _column(_column(g)) * _conjugate(_slope_of_log(x)),
    jvp=lambda tx, x: _real_part(sum(_slope_of_log(x) * tx, (-2, -1))),
    grad_name="LinalgSlogdetBackward0",
    refuses={"half": "linalg.slogdet: Low precision dtypes not supported. Got Half"},
    doc="The logarithm of the determinant's size: the second part of slogdet.",
    domain="det(x) != 0",
    example='slogdet(A)[1] --A "1,2;3,1"',
    core="(n,n)->()",
    numpy="np.linalg.slogdet({0})[1]",
    latex=r"\log\left\lvert \det\left({x}\right) \right\rvert",
    pytorch="torch.linalg.slogdet({0})[1]",
    public=False,
)


def _turning(g: Any, x: Any, out: Any) -> Any:
    """The vjp of the sign: a complex one turns by Im(tr(inv(x) dx)), a real one stays."""
    if not is_complex(x):
        return zeros_like(x)
    # The engine conjugates g before and the result after, as for a holomorphic operator.
    return 1j * _column(_column(OPERATORS["imag"](g * out))) * _slope_of_log(x)


def _turned(tx: Any, x: Any, out: Any) -> Any:
    if not is_complex(x):
        return zeros_like(out)
    return 1j * OPERATORS["imag"](sum(_slope_of_log(x) * tx, (-2, -1))) * out


detsign = general(
    "detsign",
    lambda x: _slogdet(x)[0].astype(x.dtype)[()],
    _turning,
    jvp=_turned,
    grad_name="LinalgSlogdetBackward0",
    refuses={"half": "linalg.slogdet: Low precision dtypes not supported. Got Half"},
    doc="The sign of the determinant, the first part of slogdet: of a complex one its phase.",
    core="(n,n)->()",
    numpy="np.linalg.slogdet({0})[0]",
    pytorch="torch.linalg.slogdet({0})[0]",
    latex=r"\operatorname{sign}\det",
    public=False,
)

# ---- Linear systems ------------------------------------------------------------------------------


def _solve(x: Any, y: Any) -> Any:
    a, b = _square("solve", x), np.shape(y)
    if not b or b[-1 if len(b) == 1 else -2] != a[-1]:
        raise bad_shape(
            f"solve needs a right side with {a[-1]} rows, got shape {tuple(b)}",
            operands=((0, f"shape {tuple(a)}"), (1, f"shape {tuple(b)}")),
            torch=_no_side(a, b),
        )
    if len(b) == 1:
        return in_rows(_solved("solve", _factored, x, y[:, None])[..., 0])
    return in_columns(_solved("solve", _factored, x, y))


def _factored(x: Any, y: Any) -> Any:
    """The solution by the factors of x, or of what lies in rows and x is the transpose of: with
    these that was solved, so that its derivative can be, whose own factors might have a pivot 0."""
    try:
        return np.linalg.solve(x, y)
    except np.linalg.LinAlgError:
        if x.flags.c_contiguous:
            raise
        if max(x.ndim, y.ndim) > 2:  # those that are solved as they are, as they would be alone
            return np.vectorize(_factored, signature="(n,n),(n,k)->(n,k)")(x, y)
        found, info = _by_factors(x.T, y)
        if info:
            raise
        return found


def _no_side(a: tuple[Any, ...], b: tuple[Any, ...]) -> str | None:
    if not b:
        return None
    columns = b[-1] if len(b) > 1 else 1
    return (
        "linalg.solve: Incompatible shapes of A and B for the equation AX = B "
        f"({a[-2]}x{a[-1]} and {b[-2] if len(b) > 1 else b[0]}x{columns})"
    )


def _solve_by_matrix(g: Any, x: Any, out: Any, shape: Sequence[int]) -> Any:
    if len(out.shape) < len(shape):
        return -matmul(solve(mT(x), unsqueeze(g, -1)), unsqueeze(out, -2))
    return -matmul(solve(mT(x), g), mT(out))


def _solve_by_side(g: Any, x: Any, shape: Sequence[int]) -> Any:
    if len(shape) == 1:
        return squeeze(solve(mT(x), unsqueeze(g, -1)), -1)
    return solve(mT(x), g)


def _solve_jvp(tx: Any, ty: Any, x: Any, out: Any) -> Any:
    if len(out.shape) < len(x.shape) and len(x.shape) > 2:
        moved = unsqueeze(ty, -1) - matmul(tx, unsqueeze(out, -1))
        return squeeze(solve(x, moved), -1)
    return solve(x, ty - matmul(tx, out))


# ---- Under vmap: the batch is the first dimension ---------------------------------------------


def solved(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """A right side that is a vector as a matrix of one column; leading dimensions broadcast."""
    if batch.ranks[0] < 2 or not batch.ranks[1]:
        return NotImplemented
    if batch.ranks[1] > 1:
        return op(*lined_up(batch))
    x, y = batch.values
    columns = unsqueeze(y, -1)
    if batch.own[1]:
        columns = reshape(columns, (batch.count, *(1,) * (batch.ranks[0] - 2), *columns.shape[1:]))
    return squeeze(op(x, columns), -1)


solve = general(
    "solve",
    _solve,
    lambda g, x, out, shape: _solve_by_matrix(g, x, out, shape),
    lambda g, x, shape: _solve_by_side(g, x, shape),
    jvp=_solve_jvp,
    grad_name="LinalgSolveExBackward0",
    refuses={
        "bool int": "linalg.solve: Expected a floating point or complex tensor as input. Got {}",
        "half": (UnwrittenFault, "\"lu_cpu\" not implemented for 'Half'"),
    },
    holds=1.5,
    doc="The z with x @ z = y, for a vector y or for the columns of a matrix.",
    domain="det(x) != 0",
    example='sum(solve(A, b)) --A "2,1;1,3" --b 1,2',
    numpy="np.linalg.solve",
    batching=solved,
    node={"operands": {"": ("A", "B")}},
)


def hermitian(x: Any) -> Any:
    """(x + x.mH)/2; of the largest numbers the sum would leave the floats, of the least halves."""
    turned = x.swapaxes(-1, -2)
    turned = np.conj(turned) if is_complex(x) else turned
    same = x == turned
    return x if same.all() else np.where(same, x, 0.5 * x + 0.5 * turned)


def _cholesky(x: Any) -> Any:
    _square("cholesky", x)
    found = _solved("cholesky", np.linalg.cholesky, hermitian(x))
    if np.isnan(found).any():
        raise unsolved("cholesky", x, definite=True)
    return in_columns(found)


def _half(x: Any) -> Any:
    """The lower triangle with half the diagonal: what makes x of half + half.T."""
    return 0.5 * (tril(x, 0) + tril(x, -1))


def _mH(x: Any) -> Any:
    return _conjugate(mT(x))


def _cholesky_vjp(g: Any, out: Any) -> Any:
    a = inv(out)
    # The engine conjugates g before and the result after: see _turning.
    s = matmul(matmul(mT(a), _half(matmul(mT(out), tril(g, 0)))), _conjugate(a))
    return 0.5 * (s + _mH(s))


def _cholesky_jvp(tx: Any, out: Any) -> Any:
    a = inv(out)
    return matmul(out, _half(matmul(matmul(a, 0.5 * (tx + _mH(tx))), _mH(a))))


cholesky = general(
    "cholesky",
    _cholesky,
    lambda g, out: _cholesky_vjp(g, out),
    jvp=_cholesky_jvp,
    grad_name="LinalgCholeskyExBackward0",
    refuses={"half": "cholesky_cpu"},
    holds=3,
    doc="The lower triangular L with L @ L.T = x, for a symmetric positive definite x.",
    domain="symmetric positive definite x",
    edges="of (x + x.H)/2, so that value and derivative agree where x is not symmetric",
    core="(n,n)->(n,n)",
    symmetrizes=True,
    latex=r"\operatorname{chol}",
    node={"result": "L"},
)
