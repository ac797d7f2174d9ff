"""Functions of a matrix: the pseudoinverse; exponential, principal square root and logarithm.

Formulas: Higham, Functions of Matrices (2008). The derivative of an analytic function f at x along
y is a block of f of a matrix twice as large, so that one rule gives every order:

    f([[x, y], [0, x]]) = [[f(x), Df(x)[y]], [0, f(x)]]        (Mathias 1996)

That of the square root solves a Sylvester equation, which is cheaper: s z + z s = y, s = sqrtm(x).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.conversion import conj, real
from gradcli.ops.cupy_compat import on_host
from gradcli.ops.decompositions.packing import matrix_shape, mH
from gradcli.ops.decompositions.svd import singular
from gradcli.ops.errors import LinAlgFault, bad_shape
from gradcli.ops.indexing import getitem
from gradcli.ops.joining import cat
from gradcli.ops.kinds import general
from gradcli.ops.linalg import _square, inv, times_powers
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import Operator
from gradcli.ops.piecewise import where
from gradcli.ops.products import matmul
from gradcli.ops.reduction import sum
from gradcli.ops.shape import diagonal, expand, mT, unsqueeze


def _pinv(x: Any, rtol: Any = None, atol: Any = 0.0) -> Any:
    shape = matrix_shape("pinv", x)
    u, s, vh = singular(x)
    if rtol is None:
        rtol = (atol <= 0) * max(shape[-2:]) * float(np.finfo(x.dtype).eps)
    # A tolerance for each matrix, or one.
    rtol, atol = (t[..., None] if np.ndim(t) else t for t in (rtol, atol))
    least = np.maximum(rtol * s[..., :1], atol) if s.shape[-1] else s
    inverse = np.where(s > least, 1.0 / np.where(s == 0, 1.0, s), 0.0).astype(s.dtype)
    turned = np.conj(np.swapaxes(vh, -1, -2)) * inverse[..., None, :]
    return (turned @ np.conj(np.swapaxes(u, -1, -2))).astype(x.dtype)


def _pinv_vjp(g: Any, x: Any, out: Any) -> Any:
    """From dP = -P dA P + P P' dA' (I - A P) + (I - P A) dA' P' P, at constant rank."""
    ph, gh = mH(out), mH(g)
    first = matmul(matmul(ph, g), ph)
    second = matmul(matmul(gh - matmul(x, matmul(out, gh)), out), ph)
    third = matmul(matmul(ph, out), gh - matmul(matmul(gh, out), x))
    return second + third - first


def _pinv_jvp(tx: Any, x: Any, out: Any) -> Any:
    ph, th = mH(out), mH(tx)
    first = matmul(matmul(out, tx), out)
    second = matmul(matmul(out, ph), th - matmul(matmul(th, x), out))
    third = matmul(matmul(th - matmul(out, matmul(x, th)), ph), out)
    return second + third - first


def _cut(rtol: Any, atol: Any) -> bool:
    return rtol is not None or not isinstance(atol, (int, float)) or atol != 0


def _across(times: Callable[[Any, Any], Any], t: Any, p: Any, x: Any) -> Any:
    """What of the slope of p.H along t joins columns that p keeps with rows that a tolerance drops.

    In singular vectors, with s kept and d dropped, the entries (t + (d / s) t.H) / (s**2 - d**2):
    the w = p.H p (t - t p x + p.H t.H rest + w rest.H rest), where ``rest`` is what is dropped of
    x. Doubling sums it: Smith, SIAM J. Appl. Math. 16 (1968). With ``times`` the product of
    matrices from behind, what joins rows kept with columns dropped.
    """
    rest = x
    for _ in range(2):  # once leaves the rounding of x p, which a small s is no larger than
        rest = rest - matmul(x, matmul(p, rest))
        rest = rest - matmul(matmul(rest, p), x)
    left, right = times(mH(p), p), times(mH(rest), rest)
    found = times(left, t - times(times(t, p), x) + times(times(mH(p), mH(t)), rest))
    for _ in range(52):  # gaps down to rounding
        size = unsqueeze(real(sum(diagonal(left), -1, True)), -1)
        # Their squares stay within the floats; nothing is kept where the size is 0.
        left, right = left / where(size == 0, 1.0, size), right * size
        raw = getattr(right, "array", right)
        if isinstance(raw, np.ndarray) and not np.any(np.abs(raw) > 1e-40):
            break
        found = found + times(times(left, found), right)
        left, right = matmul(left, left), matmul(right, right)
    return found


def _cut_slope(t: Any, x: Any, p: Any) -> Any:
    """The derivative of p.H along t where a tolerance drops values: its own transpose."""
    behind = _across(lambda a, b: matmul(b, a), t, p, x)
    return behind + _across(matmul, t, p, x) - matmul(matmul(mH(p), mH(t)), mH(p))


pinv = general(
    "pinv",
    _pinv,
    lambda g, x, out, rtol, atol: conj(
        _cut_slope(mT(g), x, out) if _cut(rtol, atol) else _pinv_vjp(conj(g), x, out)
    ),
    jvp=lambda tx, x, out, rtol, atol: (
        mH(_cut_slope(tx, x, out)) if _cut(rtol, atol) else _pinv_jvp(tx, x, out)
    ),
    aliases=("pinverse",),
    grad_name="LinalgPinvBackward0",
    refuses={"half": "linalg.pinv: expected a tensor of float, double, cfloat or cdouble types"},
    doc="The Moore-Penrose inverse: singular values up to rtol times the largest count as 0.",
    edges="without a tolerance at constant rank",
    core="(m,n)->(n,m)",
    transposes=True,
    numpy="np.linalg.pinv({0})",
)

_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0,
    960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


def _matrix_exp(x: Any) -> Any:
    """Scaling and squaring with the Pade approximant of order 13: Higham, SIAM J. Matrix Anal.

    Appl. 26 (2005).
    """
    shape = _square("matrix_exp", x)
    a = x.astype(np.float32) if x.dtype == np.float16 else x
    if not a.size:
        return np.zeros_like(x)
    with np.errstate(over="ignore"):
        size = np.abs(a).sum(axis=-2).max(axis=-1)
    finite = np.isfinite(size)[..., None, None]
    if not finite.all():  # of a stack the others have theirs
        return np.where(finite, _matrix_exp(np.where(finite, x, 0)), x.dtype.type(np.nan))
    times = np.ceil(np.log2(np.maximum(size / 5.371920351148152, 1.0))).astype(int)
    a = (a / (2.0**times)[..., None, None]).astype(a.dtype)
    eye = np.broadcast_to(np.eye(shape[-1], dtype=a.dtype, like=a), a.shape)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a2 @ a4
    b = _PADE
    odd = a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2
    odd = a @ (odd + b[1] * eye)
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2
    even = even + b[0] * eye
    out = eye + 2 * np.linalg.solve(even - odd, odd)  # exact for a matrix of zeros
    for k in range(int(times.max())):
        out = np.where((times > k)[..., None, None], out @ out, out)
    return out.astype(x.dtype)


# ---- Derivatives of analytic functions -----------------------------------------------------------


def _block(x: Any, y: Any) -> Any:
    """[[x, y], [0, x]] for each matrix of stacks, which broadcast."""
    shape = np.broadcast_shapes(tuple(x.shape), tuple(y.shape))
    x, y = (v if tuple(v.shape) == shape else expand(v, shape) for v in (x, y))
    return cat(cat(x, y, dim=-1), cat(0.0 * x, x, dim=-1), dim=-2)


def _powers(x: Any) -> Any:
    """Exponents of 2 by which ``_levelled`` scales the rows and columns of matrices."""
    half = x.shape[-1] // 2
    full = x[..., half:, :half].any((-2, -1))
    if not half or full.all():
        return np.zeros_like(x[..., 0], int)
    first, last = _powers(x[..., :half, :half]), _powers(x[..., half:, half:])
    beyond = np.ldexp(np.abs(x[..., :half, half:]), last[..., None, :] - first[..., None])
    last = last - np.maximum(np.frexp(beyond.max((-2, -1)))[1], 0)[..., None]
    return np.where(full[..., None], 0, np.concatenate([first, last], -1))


def _levelled(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``compute`` of similar matrices, in which no block beside a triangle's diagonal is large.

    Squares and roots of one that is would round the diagonal away: what ``_block`` makes for a
    gradient of 1e10 lost six digits.
    """

    def call(x: Any) -> Any:
        square = x.ndim > 1 and x.shape[-1] == x.shape[-2] and x.size
        powers = _powers(x) if square else None
        if powers is None or not powers.any():
            return compute(x)
        powers = powers[..., None, :] - powers[..., None]
        return times_powers(compute(times_powers(x, powers)), -powers)

    return call


def _corner(x: Any) -> Any:
    n = x.shape[-1] // 2
    return getitem(x, (Ellipsis, slice(0, n), slice(n, 2 * n)))


def analytic(
    name: str, compute: Callable[[Any], Any], slope: Callable[[Any], Any], **facts: Any
) -> Operator:
    """Declare an analytic function f of square matrices, and with it the operator ``NAME_along``.

    ``slope`` is f' as a function of matrices. The operator is Df(x)[y], the derivative of f at x
    along y. It is linear in y, its transpose is Df(x.T), and its own derivative by x is once more a
    block.
    """
    compute = _levelled(compute)

    def along_value(x: Any, y: Any) -> Any:
        _square(along.name, x)  # then of a matrix of twice the side
        charge_shape((4 * facts["holds"] + 8, *np.shape(x)), x.itemsize)
        x, y = np.broadcast_arrays(x, y)
        return _corner(compute(_block(x, y)))

    def along_vjp(g: Any, x: Any, y: Any) -> Any:
        return _corner(along(_block(mT(x), g), _block(mT(y), 0.0 * g)))

    def along_jvp(tx: Any, ty: Any, x: Any, y: Any) -> Any:
        return _corner(along(_block(x, tx), _block(y, ty)))

    def written(library: str, call: str) -> str:
        """The block in another library's words; "" where that has no such function."""
        zeros = f"{library}.zeros_like(x)"
        block = f"np.block([[x, y], [{zeros}, x]])"
        if library == "torch":
            block = f"torch.cat([torch.cat([x, y], -1), torch.cat([{zeros}, x], -1)], -2)"
        lines = f"    n = len(x)\n    return {call}({block})[:n, n:]"
        return call and f"def _{name}_along(x, y):\n{lines}"

    along: Operator = general(
        f"{name}_along",
        along_value,
        along_vjp,
        lambda g, x: along(mT(x), g),
        jvp=along_jvp,
        slope=slope,
        numpy=written("np", facts["numpy"]),
        jax=written("np", facts["jax"]),
        pytorch=written("torch", facts["pytorch"]),
        latex=rf"\operatorname{{D}}{facts['latex']}",
        doc=f"The derivative of {name}(x) along y.",
        example=f'sum({name}_along(A, B)) --A "2,1;1,3" --B "1,0;2,1"',
        core="(n,n),(n,n)->(n,n)",
    )
    return general(
        name,
        compute,
        lambda g, x: along(mT(x), g),
        jvp=lambda tx, x: along(x, tx),
        core="(n,n)->(n,n)",
        transposes=True,
        **facts,
    )


matrix_exp: Operator = analytic(
    "matrix_exp",
    _matrix_exp,
    lambda x: matrix_exp(x),
    aliases=("expm",),
    grad_name="LinalgMatrixExpBackward0",
    holds=11,
    doc="The exponential of a square matrix: the sum of x^k / k!.",
    example='sum(matrix_exp(A)) --A "0,1;-1,0"',
    numpy="scipy.linalg.expm",
    jax="jax.scipy.linalg.expm",
    pytorch="torch.linalg.matrix_exp",
    latex=r"\operatorname{expm}",
    out="none",
)

# ---- Principal roots and logarithms --------------------------------------------------------------


def _diagonal_blocks(x: Any) -> list[Any]:
    """The blocks on the diagonal of what ``_block`` makes, whose eigenvalues are those of x.

    Those of [[x, y], [0, x]] itself all repeat, and come out wrong by the root of rounding.
    """
    n = x.shape[-1] // 2
    if x.shape[-1] % 2 or not n or np.any(x[..., n:, :n]):
        return [x]
    return [*_diagonal_blocks(x[..., :n, :n]), *_diagonal_blocks(x[..., n:, n:])]


def _principal(name: str, x: Any, zero: bool) -> None:
    """Raise LinAlgFault (E0304) where an eigenvalue leaves no principal value.

    A negative number never has one; 0 has a root where ``zero`` allows it.
    """
    for part in _diagonal_blocks(x):
        values = np.linalg.eigvals(part)
        size = np.abs(values).max(axis=-1, keepdims=True, initial=0.0)
        rounding = part.shape[-1] * float(np.finfo(x.dtype).eps) * size
        refused = (np.abs(values.imag) <= rounding) & (values.real < -rounding)
        if not zero:
            refused |= np.abs(values) <= rounding
        if not np.any(refused):
            continue
        worst = float(values.real[refused].min())
        raise LinAlgFault(
            "E0304",
            f"{name}: the matrix has the eigenvalue {worst:.6g}, so it has no principal "
            f"{'square root' if zero else 'logarithm'}",
            help=f"an eigenvalue may not be a negative number{'' if zero else ' or 0'}; "
            "linalg.eigvals lists them",
        )


def _root(t: Any) -> Any:
    """The principal square root of an upper triangular matrix: Bjorck and Hammarling (1983)."""
    from scipy.linalg.lapack import ztrtrs

    root = np.zeros_like(t)
    diagonal = np.sqrt(np.diag(t))
    for j, own in enumerate(diagonal):
        root[j, j] = own
        if j:
            sums = diagonal[:j] + own
            system = root[:j, :j] + np.diag(sums - diagonal[:j] + (sums == 0))
            root[:j, j] = ztrtrs(system, t[:j, j])[0]
    return root


def _log(t: Any) -> Any:
    """The principal logarithm of an upper triangular matrix, by roots until it is near 1.

    Inverse scaling and squaring with the Pade approximant of order 7 in partial fractions: Higham,
    Functions of Matrices, 11.5.
    """
    power, scale, eye = t, 1.0, np.eye(len(t))
    while np.abs(power - eye).sum(axis=0).max() > 0.264:
        power, scale = _root(power), 2.0 * scale
    nodes, weights = np.polynomial.legendre.leggauss(7)
    near, found = power - eye, np.zeros_like(t)
    for at, weight in zip(nodes, weights, strict=True):
        found += scale * weight * np.linalg.solve(2.0 * eye + (1.0 + at) * near, near)
    np.fill_diagonal(found, np.log(np.diag(t)))
    return found


def _by_schur(name: str, function: Callable[[Any], Any], x: Any, zero: bool) -> Any:
    """A function of triangular matrices of the Schur form of each matrix, in double precision."""
    from scipy.linalg import schur  # takes 20 ms, which few programs need

    _square(name, x)
    finite = np.isfinite(x).all((-2, -1))[..., None, None]
    if not finite.all():
        others = np.where(finite, x, np.eye(x.shape[-1], dtype=x.dtype))
        return np.where(finite, _by_schur(name, function, others, zero), x.dtype.type(np.nan))
    wide = x.astype(np.result_type(x.dtype, np.float64))
    if x.size:
        _principal(name, wide, zero)
    found = np.empty(x.shape, np.complex128)
    for place in np.ndindex(*x.shape[:-2]) if x.shape[-1] else ():
        t, u = schur(wide[place], output="complex")
        found[place] = u @ function(t) @ np.conj(u.T)
    return (found if x.dtype.kind == "c" else found.real).astype(x.dtype)


@on_host
def _sqrtm(x: Any) -> Any:
    out = _by_schur("sqrtm", _root, x, True)
    off = np.abs(out @ out - x).max(axis=(-2, -1), initial=0.0)
    if np.any(off > 1e-3 * np.abs(x).max(axis=(-2, -1), initial=0.0)):
        said = "sqrtm: the matrix is singular and has no square root"
        mend = "where 0 is an eigenvalue the matrix has to be diagonalisable"
        raise LinAlgFault("E0304", said, help=mend)
    return out


@on_host
def _logm(x: Any) -> Any:
    return _by_schur("logm", _log, x, False)


@on_host
def _solve_sylvester(x: Any, y: Any, z: Any) -> Any:
    """By the Schur forms of x and y: Bartels and Stewart, Comm. ACM 15 (1972)."""
    from scipy import linalg

    m, n = _square("solve_sylvester", x)[-1], _square("solve_sylvester", y)[-1]
    if tuple(np.shape(z))[-2:] != (m, n):
        said = f"solve_sylvester needs a right side of shape ({m}, {n}), got {tuple(np.shape(z))}"
        raise bad_shape(said, operands=((2, f"shape {tuple(np.shape(z))}"),))
    dtype = np.result_type(x, y, z)
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2], z.shape[:-2])
    found = np.empty((*lead, m, n), np.result_type(dtype, np.complex128))
    wide = np.result_type(dtype, np.float32)  # LAPACK has no halves
    x, y, z = (np.broadcast_to(a.astype(wide), (*lead, *a.shape[-2:])) for a in (x, y, z))
    for place in np.ndindex(*lead) if m and n else ():
        if not all(np.all(np.isfinite(a[place])) for a in (x, y, z)):
            found[place] = np.nan
            continue
        r, u = linalg.schur(x[place], output="complex")
        s, w = linalg.schur(np.conj(y[place].T), output="complex")
        sums = np.abs(np.diag(r)[:, None] + np.conj(np.diag(s))[None, :])
        size = np.abs(np.diag(r)).max(initial=0.0) + np.abs(np.diag(s)).max(initial=0.0)
        if sums.min() <= np.finfo(r.dtype).eps * size:
            said = "solve_sylvester: an eigenvalue of x and one of y add up to 0, so there is no"
            mend = "the derivative of sqrtm is such an equation: a singular matrix has none"
            raise LinAlgFault("E0304", f"{said} single solution", help=mend)
        (trsyl,) = linalg.get_lapack_funcs(("trsyl",), (r, s))
        inner, scale, _ = trsyl(r, s, np.conj(u.T) @ z[place] @ w, tranb="C")
        found[place] = u @ (scale * inner) @ np.conj(w.T)
    return (found if dtype.kind == "c" else found.real).astype(dtype)


solve_sylvester: Operator = general(
    "solve_sylvester",
    _solve_sylvester,
    lambda g, x, y, out: -matmul(solve_sylvester(mT(x), mT(y), g), mT(out)),
    lambda g, x, y, out: -matmul(mT(out), solve_sylvester(mT(x), mT(y), g)),
    lambda g, x, y: solve_sylvester(mT(x), mT(y), g),
    jvp=lambda tx, ty, tz, x, y, out: solve_sylvester(x, y, tz - matmul(tx, out) - matmul(out, ty)),
    holds=7.5,
    doc="The q with x @ q + q @ y = z.",
    domain="no eigenvalue of x is minus one of y",
    example='sum(solve_sylvester(A, B, C)) --A "2,1;1,3" --B "1,0;2,1" --C "1,2;3,4"',
    core="(m,m),(n,n),(m,n)->(m,n)",
    slope=lambda x: 0.5 * inv(x),  # of sqrtm, by its value
    numpy="scipy.linalg.solve_sylvester",
    jax="",
)
sqrtm = general(
    "sqrtm",
    _sqrtm,
    lambda g, out: solve_sylvester(mT(out), mT(out), g),
    jvp=lambda tx, out: solve_sylvester(out, out, tx),
    holds=13.5,
    doc="The principal square root of a square matrix: no eigenvalue has a negative real part.",
    domain="no eigenvalue of x is a negative number",
    edges="refused where zero is an eigenvalue",
    core="(n,n)->(n,n)",
    transposes=True,
    numpy="scipy.linalg.sqrtm",
    jax="jax.scipy.linalg.sqrtm",
)
logm = analytic(
    "logm",
    _logm,
    lambda x: inv(x),
    holds=18,
    doc="The principal logarithm of a square matrix: imaginary parts between -pi and pi.",
    domain="no eigenvalue of x is zero or a negative number",
    example='sum(logm(A)) --A "2,1;1,3"',
    numpy="scipy.linalg.logm",
    jax="",
    pytorch="",
    latex=r"\operatorname{logm}",
)
