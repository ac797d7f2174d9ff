"""Square matrices beyond the table: singular ones, what is refused; sums by letters."""

from __future__ import annotations

import contextlib
from functools import partial
from itertools import permutations, product

import numpy as np
import pytest

import gradcli
import gradcli as torch
from gradcli.ops import OPERATORS, linalg
from gradcli.ops.einsum import einsum
from gradcli.ops.errors import Fault
from tests.support.families import family

RNG = np.random.default_rng(5)
FULL = RNG.normal(size=(4, 4))
INF = float("inf")
NAN = float("nan")


def of_rank(rank: int) -> np.ndarray:
    u, s, v = np.linalg.svd(FULL)
    return (u * np.where(np.arange(4) < rank, s, 0.0)) @ v


def minors(x: np.ndarray) -> np.ndarray:
    """The matrix of cofactors, each from its own determinant."""
    n = len(x)
    rest = [[i for i in range(n) if i != k] for k in range(n)]
    return np.array(
        [[(-1) ** (i + j) * np.linalg.det(x[np.ix_(rest[i], rest[j])]) for j in range(n)]
         for i in range(n)]
    )  # fmt: skip


@family("rank", [4, 3, 2, 1, 0])
def test_the_derivatives_of_a_determinant_at_every_rank(rank: int) -> None:
    x = gradcli.tensor(of_rank(rank), requires_grad=True)
    (first,) = gradcli.autograd.grad(OPERATORS["det"](x), x, create_graph=True)
    np.testing.assert_allclose(first.detach().numpy(), minors(x.detach().numpy()), atol=1e-12)
    w = gradcli.tensor(RNG.normal(size=(4, 4)))
    (second,) = gradcli.autograd.grad((first * w).sum(), x, create_graph=True)
    (third,) = gradcli.autograd.grad((second * w).sum(), x)

    def along(y: np.ndarray) -> float:
        return float(np.sum(minors(y) * w.numpy()))

    h = 1e-3
    for order, got in ((2, second), (3, third)):
        want = np.zeros((4, 4))
        for place in np.ndindex(4, 4):
            e = np.zeros((4, 4))
            e[place] = h
            if order == 2:
                want[place] = (along(of_rank(rank) + e) - along(of_rank(rank) - e)) / (2 * h)
            else:
                d = w.numpy() * h
                ends = [along(of_rank(rank) + a * e + b * d) for a, b in
                        ((1, 1), (1, -1), (-1, 1), (-1, -1))]  # fmt: skip
                want[place] = (ends[0] - ends[1] - ends[2] + ends[3]) / (4 * h * h)
        np.testing.assert_allclose(got.detach().numpy(), want, atol=1e-5)


@pytest.mark.parametrize("rank", [4, 3])
def test_the_derivatives_of_a_determinant_of_long_and_short_rows(rank: int) -> None:
    rows, columns = 2.0 ** np.array([[90], [-70], [3], [0]]), 2.0 ** np.array([0, 60, 0, -80])
    found = []
    for scale in (np.ones((4, 4)), rows * columns):
        x = gradcli.tensor(of_rank(rank) * scale, requires_grad=True)
        whole = rows.prod() * columns.prod() if scale[0, 0] != 1 else 1.0
        (first,) = gradcli.autograd.grad(OPERATORS["det"](x) / whole, x, create_graph=True)
        weights = gradcli.tensor(FULL * scale)
        (second,) = gradcli.autograd.grad((first * weights).sum(), x)
        found.append([g.detach().numpy() * scale for g in (first, second)])
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=0, atol=1e-12)


@family("scale", [2.0**-50, 2.0**-33, 2.0**50])
def test_a_determinant_that_is_no_float_leaves_its_gradient(scale: float) -> None:
    a = of_rank(4)[:3, :3]
    x = gradcli.tensor(a * scale, dtype=gradcli.float32, requires_grad=True)
    (got,) = gradcli.autograd.grad(OPERATORS["det"](x), x)
    np.testing.assert_allclose(got.numpy() / np.float64(scale) ** 2, minors(a), atol=1e-5)


def test_an_entry_far_beyond_the_others_leaves_a_determinant_its_gradient() -> None:
    a = np.array([[1e30, 2.0, 1.0], [1.0, 3.0, 1.0], [2.0, 1.0, 4.0]])
    x = gradcli.tensor(a, requires_grad=True)
    (got,) = gradcli.autograd.grad(OPERATORS["det"](x), x)
    np.testing.assert_allclose(got.numpy(), minors(a), rtol=1e-12)


def test_what_is_refused() -> None:
    for name in ("inv", "det", "adjugate", "logdet", "logabsdet", "detsign", "cholesky"):
        for bad in (np.zeros(3), np.zeros((2, 3)), np.float64(1)):
            with pytest.raises(Fault) as caught:
                OPERATORS[name](bad)
            assert caught.value.code == "E0301"
    for name, args in (
        ("inv", (np.ones((2, 2)),)), ("solve", (np.ones((2, 2)), np.ones(2))),
        ("cholesky", (-np.eye(2),)),
    ):  # fmt: skip
        with pytest.raises(Fault) as caught:
            OPERATORS[name](*args)
        assert caught.value.code == "E0304"
    with pytest.raises(Fault) as caught:
        OPERATORS["solve"](np.eye(3), np.ones(2))
    assert caught.value.code == "E0301"


def test_orthogonal_factors_without_a_derivative_refuse_in_backward():
    rows = torch.rand(4, 2, requires_grad=True)
    for mode, shape, said in (("complete", (4, 4), "nrows > ncols"), ("r", (0,), "depends on Q")):
        for part in torch.linalg.qr(rows, mode=mode):
            assert part.grad_fn.name() == "LinalgQrBackward0"
            with pytest.raises(RuntimeError, match=said):
                part.sum().backward()
        assert torch.linalg.qr(rows, mode=mode)[0].shape == shape
        with pytest.raises(RuntimeError, match=said):
            torch.func.jvp(partial(torch.linalg.qr, mode=mode), (rows,), (rows,))
        assert torch.func.vmap(partial(torch.linalg.qr, mode=mode))(rows[None])[1].shape[2] == 2


def test_logdet_of_a_negative_determinant_is_nan_and_of_a_singular_matrix_minus_infinity() -> None:
    assert np.isnan(OPERATORS["logdet"](np.diag([1.0, -1.0])))
    assert OPERATORS["logdet"](np.zeros((2, 2))) == -np.inf
    sign, size = gradcli.slogdet(gradcli.tensor([[1.0, 2.0], [3.0, 1.0]]))
    assert (sign.item(), round(size.item(), 5)) == (-1.0, 1.60944)


def test_the_sign_of_a_determinant_has_a_gradient_of_zeros() -> None:
    stack = gradcli.eye(2).expand(3, 2, 2).clone().requires_grad_()
    gradcli.slogdet(stack).sign.sum().backward()
    assert stack.grad.tolist() == [[[0.0, 0.0], [0.0, 0.0]]] * 3


@family("equation", [
     "ij,jk->ik", "ij,jk", "ii->i", "ii", "ij->ji", "ij->", "ij,ij,ij->i", "ij,jk,kl->il",
     "ij,kl->iljk", "ij,ij->ij", "iij->j", "ij, jk -> k", "i,j->ji", "ij,k->k", "i->i"],
)  # fmt: skip
def test_einsum_is_numpys(equation: str) -> None:
    parts = equation.replace(" ", "").partition("->")[0].split(",")
    given = [RNG.normal(size=(3,) * len(p)) for p in parts]
    np.testing.assert_allclose(einsum(equation, *given), np.einsum(equation, *given), atol=1e-13)
    leaves = [gradcli.tensor(a, requires_grad=True) for a in given]
    assert gradcli.autograd.gradcheck(lambda *xs: einsum(equation, *xs), leaves)
    assert gradcli.autograd.gradgradcheck(lambda *xs: einsum(equation, *xs), leaves)


@family("equation", ["ij->ik", "ij,jk->ik", "ijk->i", "ij->ii", "i1->i", "ij->i->j"])
def test_equations_that_are_none(equation: str) -> None:
    with pytest.raises(Fault) as caught:
        einsum(equation, np.eye(2))
    assert caught.value.code in ("E0301", "E0304")
    with pytest.raises(Fault):
        einsum("ij,jk->ik", np.eye(2), np.eye(3))


def test_the_phase_of_a_complex_determinant_has_a_derivative():
    """It was a zero that nothing said; against differences, backward and forward."""
    rng = np.random.default_rng(5)
    a, d = (rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)) for _ in range(2))
    weight = 0.3 - 0.8j

    def phase(m):
        return np.linalg.slogdet(m)[0]

    step = 1e-6
    slope = (phase(a + step * d) - phase(a - step * d)) / (2 * step)
    x = torch.tensor(a, requires_grad=True)
    sign = torch.linalg.slogdet(x)[0]
    sign.backward(torch.tensor(weight))
    assert np.isclose(np.sum(np.conj(x.grad.numpy()) * d).real, (np.conj(weight) * slope).real)
    _, pushed = torch.func.jvp(
        lambda m: torch.linalg.slogdet(m)[0], (torch.tensor(a),), (torch.tensor(d),)
    )
    assert np.isclose(complex(pushed), slope)
    assert torch.autograd.gradgradcheck(
        lambda m: torch.linalg.slogdet(m)[0], torch.tensor(a, requires_grad=True)
    )


@family("dtype, hermitian", product(["float64", "complex128"], [False, True]))
def test_ldl_solves_what_is_not_definite(dtype, hermitian):
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(3, 4, 4)), rng.normal(size=(4, 2)).astype(dtype)
    A = A + 1j * rng.normal(size=A.shape) if dtype == "complex128" else A
    A = A + (np.conj(A) if hermitian else A).swapaxes(-1, -2)
    A[0, :2, :2] = [[0.0, 1.0], [1.0, 0.0]]  # a block of two
    factor = gradcli.linalg.ldl_factor(gradcli.tensor(A), hermitian=hermitian)
    assert (factor.pivots[0] < 0).any()
    X = gradcli.linalg.ldl_solve(*factor, gradcli.tensor(B), hermitian=hermitian)
    np.testing.assert_allclose(A @ X.numpy(), np.broadcast_to(B, (3, 4, 2)), atol=1e-12)


def test_low_rank_decompositions_have_derivatives():
    gradcli.manual_seed(3)
    A = gradcli.randn(2, 5, 2).double() @ gradcli.randn(2, 2, 4).double()
    for given in (A, A.mT):
        u, s, v = gradcli.svd_lowrank(given, 2)
        np.testing.assert_allclose((u * s.unsqueeze(-2) @ v.mT).numpy(), given.numpy(), atol=1e-10)
    middle = A - A.mean(-2, True)
    found = gradcli.pca_lowrank(A, 2)[1]
    np.testing.assert_allclose(found.numpy(), gradcli.linalg.svdvals(middle)[:, :2].numpy())
    X = gradcli.randn(4, 3).double().requires_grad_()
    assert gradcli.autograd.gradcheck(lambda x: gradcli.pca_lowrank(x, 3)[1], X)


def test_a_matrix_without_an_answer_has_gradients_that_are_nan():
    pair = [[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 4.0]]]
    side = gradcli.ones(2, 2, 1)
    for name, given in (("inv_ex", ()), ("solve_ex", (side,)), ("cholesky_ex", ())):
        A = gradcli.tensor(pair, requires_grad=True)
        value, info = getattr(gradcli.linalg, name)(A, *given)
        (g,) = gradcli.autograd.grad(value.sum(), A)
        assert info.ne(0).tolist() == [True, False]
        assert g[0].isnan().all() and value[0].isnan().all()
        assert g[1].isfinite().all() and value[1].isfinite().all()


def test_a_matrix_that_is_not_finite_leaves_the_others_their_derivative():
    good = np.array([[2.0, 1.0, 0.0], [0.5, 3.0, 1.0], [0.0, 1.0, 4.0]])
    x = gradcli.tensor(np.stack([good, np.full((3, 3), np.nan), good]), requires_grad=True)
    for function in (gradcli.linalg.det, gradcli.logdet):
        (slope,) = gradcli.autograd.grad(function(x).sum(), x)
        alone = gradcli.func.grad(function)(gradcli.tensor(good)).numpy()
        np.testing.assert_allclose(slope.numpy()[[0, 2]], [alone, alone], rtol=1e-14)
        assert np.isnan(slope.numpy()[1]).all()
    sign, size = gradcli.linalg.slogdet(gradcli.tensor([[0.0, np.nan], [np.nan, 0.0]]))
    assert np.isnan(sign.item()) and np.isnan(size.item())


def test_what_lapack_gives_lies_in_columns_as_in_pytorch():
    A = torch.tensor(np.random.default_rng(2).normal(size=(2, 4, 3)))
    L, S = torch.linalg, A.mT @ A
    given = (
        L.inv(S), L.solve(S, A.mT), L.cholesky(S), L.cholesky(S, upper=True), *L.qr(A),
        *L.svd(A)[::2], L.eigh(S)[1], L.eig(S)[1], L.lu_factor(A)[0], L.ldl_factor(S)[0],
        L.householder_product(A, A[:, 0]), torch.geqrf(A)[0], torch.vmap(L.inv)(S),
    )  # fmt: skip
    for matrix in given:
        assert matrix.stride()[-2:] == (1, matrix.shape[-2])
    assert all(matrix.is_contiguous() for matrix in (L.lu(A)[0], L.svd(A)[1], L.eigh(S)[0]))


def test_no_reflections_are_a_function_of_all_their_arguments():
    given = torch.ones(3, 0), torch.ones(0), torch.ones(3, 2)
    for k in range(3):
        leaves = [v.clone().requires_grad_(i == k) for i, v in enumerate(given)]
        found = [torch.ormqr(*leaves)]
        found += [torch.linalg.householder_product(*leaves[:2])] if k < 2 else []
        for out in found:
            (slope,) = torch.autograd.grad(out.sum(), leaves[k])
            assert slope.shape == leaves[k].shape and (slope == (k == 2)).all()


def test_a_direction_at_one_singular_matrix_leaves_the_others():
    a = torch.tensor([[[2.0, 1.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]], dtype=torch.float64)
    for f in (torch.logdet, lambda a: torch.linalg.slogdet(a)[1]):
        along = torch.func.jvp(f, (a,), (torch.ones_like(a),))[1]
        assert along[0] == 1.0 and along[1].isnan()


def test_the_tolerances_of_pinv_have_no_tangent():
    a, r = torch.eye(2), torch.tensor(0.1)
    for of in ("rtol", "atol"):
        f = lambda a, r, of=of: torch.linalg.pinv(a, **{of: r})  # noqa: E731
        assert torch.equal(torch.func.jvp(f, (a, r), (a, r))[1], -a)
        rows = torch.vmap(lambda r, f=f: torch.func.jvp(f, (a, r), (a, r))[1])
        assert torch.equal(rows(torch.tensor([0.1, 2.0])), torch.stack([-a, 0 * a]))


def test_two_infinities_in_a_column_have_no_ratio():
    A = torch.tensor([[[INF, 1.0], [INF, 2.0]], [[2.0, 1.0], [INF, 4.0]], [[INF, 1.0], [1.0, INF]]])
    for function in (
        torch.linalg.inv,
        torch.linalg.det,
        torch.logdet,
        lambda A: torch.linalg.solve(A, torch.ones(3, 2, 1)),
        lambda A: torch.linalg.slogdet(A).logabsdet,
    ):
        leaf = A.clone().requires_grad_()
        found = function(leaf)
        (slope,) = torch.autograd.grad(found.sum(), leaf)
        assert found[0].isnan().all() and slope[0].isnan().all()
        assert not found[2].isnan().any()


def test_a_nan_makes_its_own_matrix_nan_whatever_the_pivots_are():
    A = torch.tensor([[[NAN, 1.0], [2.0, 3.0]], [[NAN, 2.0], [2.0, 4.0]], [[2.0, 1.0], [1.0, 3.0]]])
    for function in (
        torch.linalg.inv,
        torch.linalg.det,
        torch.logdet,
        lambda A: torch.linalg.inv_ex(A).inverse,
        lambda A: torch.linalg.matrix_power(A, -2),
        lambda A: torch.linalg.solve(A, torch.ones(3, 2, 1)),
        lambda A: torch.linalg.solve_triangular(A, torch.ones(3, 2, 1), upper=False),
        lambda A: torch.linalg.slogdet(A).logabsdet,
    ):
        leaf = A.clone().requires_grad_()
        found = function(leaf)
        (slope,) = torch.autograd.grad(found.sum(), leaf, create_graph=True)
        assert found[:2].isnan().all() and slope[:2].tril().isnan().any((1, 2)).all()
        single = A[2:].clone().requires_grad_()
        alone = function(torch.cat([A[2:], A[2:], single]))
        assert torch.equal(found[2], alone[2])
        assert torch.equal(slope[2:], torch.autograd.grad(alone.sum(), single)[0])
    assert torch.linalg.inv_ex(A).info.tolist() == [0, 0, 0]


def test_the_condition_of_a_singular_matrix_has_no_slope():
    singular = torch.tensor([[[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]])
    A = torch.cat([singular, torch.eye(2)[None]])
    for p in (1, -1, INF, "fro"):
        for jacobian in (torch.func.jacrev, torch.func.jacfwd):
            slopes = jacobian(lambda A, p=p: torch.linalg.cond(A, p))(A)
            assert slopes[0, 0].isnan().all() and slopes[1, 1].isnan().all()
            assert slopes[2, 2].isfinite().all() and not slopes[2, 0].any()
        assert torch.linalg.cond(A, p)[:2].tolist() == [INF, INF]


@family("other", (np.zeros((3, 3)), np.full((3, 3), 1e200), np.full((3, 3), np.nan), np.eye(3)))
def test_small_entries_of_an_adjugate_stay_exact_beside_another_matrix(other):
    graded = np.array([[1.0, 2.0, 3.0], [0.0, 1e-9, 2.0], [1e-12, 0.0, 3.0]])
    alone = OPERATORS["adjugate"](graded)
    np.testing.assert_allclose(OPERATORS["adjugate"](np.stack([graded, other]))[0], alone, 1e-13)


@family("n", (3, 4, 6))
def test_second_slopes_of_a_determinant_are_minors_whatever_the_scales(n):
    random = np.random.default_rng(n)
    scales = 10.0 ** random.integers(-6, 7, size=(2, n))
    x = random.normal(size=(n, n)) * scales[0][:, None] * scales[1]
    found = torch.func.hessian(torch.linalg.det)(torch.tensor(x)).numpy()
    for i, j, k, m in np.ndindex(n, n, n, n):
        rows, columns = ([a for a in range(n) if a not in gone] for gone in ((i, k), (j, m)))
        sign = np.sign(k - i) * np.sign(m - j) * (-1) ** (i + j + k + m)
        want = sign * np.linalg.det(x[np.ix_(rows, columns)]) if sign else 0.0
        np.testing.assert_allclose(found[i, j, k, m], want, 1e-10)


def test_what_was_solved_has_a_derivative_though_the_transpose_has_a_zero_pivot():
    x = gradcli.tensor([[1.0, 2, 3], [4, 5, 6], [5, 7, 9]], dtype=gradcli.float64)
    x, b = x.requires_grad_(), gradcli.tensor([1.0, 2, 3], dtype=gradcli.float64)
    found = gradcli.linalg.solve(x, b)
    (slope,) = gradcli.autograd.grad(found.sum(), x)
    assert np.isfinite(slope.numpy()).all()
    batch = gradcli.stack([x.detach(), gradcli.eye(3, dtype=gradcli.float64)])
    each = gradcli.func.vmap(gradcli.func.grad(lambda a: gradcli.linalg.solve(a, b).sum()))(batch)
    np.testing.assert_allclose(each[0], slope)


def test_a_triangle_with_an_infinite_entry_is_solved_by_substitution():
    inf = np.inf
    x = gradcli.tensor([[1.0, inf, 3], [0, 5, 6], [0, 0, 9]], dtype=gradcli.float64)
    x, b = x.requires_grad_(), gradcli.tensor([[1.0], [2], [3]], dtype=gradcli.float64)
    found = gradcli.linalg.solve_triangular(x, b, upper=True)
    np.testing.assert_allclose(found.tolist(), [[np.nan], [0], [1 / 3]], atol=1e-12)
    (slope,) = gradcli.autograd.grad(found.sum(), x)
    np.testing.assert_allclose(slope, [[np.nan, 0, -1 / 3], [0, np.nan, inf], [0, 0, -inf]])


@pytest.mark.parametrize(("shape", "right"), [((2, 3), (2, 2)), ((3, 2), (3, 2)), ((2, 2), (3, 2))])
def test_a_triangle_with_a_zero_on_its_diagonal_is_refused_where_any_of_its_shape_is(shape, right):
    for A in (torch.zeros(shape), torch.zeros(4, *shape)):
        for solved in (
            lambda A, B: torch.linalg.solve_triangular(A, B, upper=True),
            lambda A, B: torch.triangular_solve(B, A, upper=False),
            lambda A, B: torch.cholesky_solve(B, A),
        ):
            with pytest.raises(RuntimeError):
                solved(A, torch.ones(right))


def test_a_symmetric_matrix_with_an_infinite_entry_has_the_slopes_in_a_batch_that_it_has_alone():
    a = torch.tensor([[0.5, INF, 1.0], [INF, 1.0, 0.3], [1.0, 0.3, 2.0]], dtype=torch.float64)

    def total(a):
        return torch.linalg.pinv(a, hermitian=True).sum()

    alone = torch.func.grad(total)(a)
    batch = torch.stack([a, torch.eye(3, dtype=torch.float64)])
    each = torch.func.vmap(torch.func.grad(total))(batch)
    assert torch.equal(alone.isnan(), each[0].isnan())


BATCHED = {
    "pinv": lambda a: torch.linalg.pinv(a, hermitian=True), "eigvalsh": torch.linalg.eigvalsh,
    "cholesky_ex": lambda a: torch.linalg.cholesky_ex(a)[0], "det": torch.linalg.det,
    "inv_ex": lambda a: torch.linalg.inv_ex(a)[0], "svdvals": torch.linalg.svdvals,
    "solve_ex": lambda a: torch.linalg.solve_ex(a, SIDES)[0], "matrix_exp": torch.matrix_exp,
    "slogdet": lambda a: torch.linalg.slogdet(a)[1],
    "matrix_norm": lambda a: torch.linalg.matrix_norm(a, "nuc"),
}  # fmt: skip
SIDES = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], dtype=torch.float64)
MATRICES = torch.tensor([
    [[2.0, 1.0, 0.5], [0.3, 3.0, 1.0], [0.2, 0.1, 4.0]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0],
    [5.0, 7.0, 9.0]], [[0.0] * 3] * 3, [[2.0, INF, 0.0], [INF, 3.0, 1.0], [0.0, 1.0, 4.0]],
    [[0.5, INF, 1.0], [0.2, 1.0, 0.3], [0.1, 0.7, 2.0]],
    [[NAN, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]],
], dtype=torch.float64)  # fmt: skip


@family("name", list(BATCHED))
def test_a_matrix_comes_out_of_a_batch_as_it_does_alone(name):
    def derivatives(x):
        out, tangent = torch.func.jvp(BATCHED[name], (x,), (x.nan_to_num(0, 1, 1).sin(),))
        weights = torch.arange(3.0, dtype=torch.float64).expand(out.shape) if out.ndim else 1.0
        x = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad((BATCHED[name](x) * weights).sum(), x)
        return out, tangent, slope

    alone = {}
    for k, matrix in enumerate(MATRICES):
        with contextlib.suppress(RuntimeError):
            alone[k] = derivatives(matrix[None])
    for pair in permutations(alone, 2):
        for part, found in enumerate(derivatives(MATRICES[list(pair)])):
            for k, one in zip(pair, found, strict=True):
                np.testing.assert_allclose(one, alone[k][part][0], 1e-6, 1e-12, err_msg=f"{pair}")


@family("size", (1.7e308, 1e308, 5e-324))
def test_symmetric_matrices_of_the_largest_and_the_smallest_numbers(size):
    x = torch.diag(torch.tensor([size, size], dtype=torch.float64))
    beside = torch.tensor([[4.0, 1.0], [2.0, 3.0]], dtype=torch.float64)  # not symmetric
    for f, wanted in (
        (torch.linalg.cholesky, size**0.5 * np.eye(2)), (torch.linalg.eigvalsh, [size, size]),
        (lambda a: torch.linalg.eigh(a)[0], [size, size]),
    ):  # fmt: skip
        for found in f(x), f(torch.stack([x, beside]))[0], f(x.cdouble()):
            np.testing.assert_allclose(found, wanted, rtol=1e-15, atol=0)
    slope = torch.func.grad(lambda a: torch.linalg.cholesky(a).sum())(x)
    if size > 1:
        np.testing.assert_allclose(slope, np.full((2, 2), 0.5 * size**-0.5), rtol=1e-15)
    for name in ("cholesky", "eigvalsh"):  # as texts have them: of the mean of both triangles
        found = OPERATORS[name](np.array([[size, 0.0], [-0.0, size]]))
        np.testing.assert_array_equal(found, OPERATORS[name](x.numpy()))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", [(40, 40), (3, 5, 5), (2, 2, 1, 1)])
def test_determinants_of_large_matrices_are_those_of_small_ones(monkeypatch, dtype, shape):
    rng = np.random.default_rng(3)
    x = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype("c16")
    x = np.stack([x if dtype[0] == "c" else x.real, np.zeros(shape)]).astype(dtype)
    names = ("det", "detsign", "logabsdet", "logdet")
    small = [OPERATORS[name].compute(x) for name in names]
    monkeypatch.setattr(linalg, "HELD", 0)
    for name, found in zip(names, small, strict=True):
        again = OPERATORS[name].compute(x)
        assert again.dtype == found.dtype and again.shape == found.shape
        np.testing.assert_allclose(again, found, rtol=1e-4 if dtype in ("f4", "c8") else 1e-11)


@pytest.mark.parametrize("dtype", ["f8", "c8"])
def test_determinants_of_many_small_matrices_are_numpys_a_part_at_a_time(monkeypatch, dtype):
    x = np.random.default_rng(3).normal(size=(5, 3, 4, 4)).astype(dtype)
    names = ("det", "detsign", "logabsdet", "logdet")
    whole = [OPERATORS[name].compute(x) for name in names]
    monkeypatch.setattr(linalg, "HELD", 2 * 4**3)
    for name, found in zip(names, whole, strict=True):
        again = OPERATORS[name].compute(x)
        assert again.dtype == found.dtype
        np.testing.assert_array_equal(again, found)


def test_the_second_slope_of_a_determinant_of_two_rows_is_exact():
    """It does not depend on the matrix, however its entries differ in size."""
    along = torch.tensor([[0.3, -1.7], [0.9, 2.1]], dtype=torch.float64)
    wanted = [[2.1, -0.9], [1.7, 0.3]]
    for rows in ([[1e-13, 3e2], [-40.0, 9e11]], [[2.0, 4.0], [1.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]):
        x = torch.tensor(rows, dtype=torch.float64)
        slope = torch.func.grad(torch.linalg.det)
        assert torch.func.jvp(slope, (x,), (along,))[1].tolist() == wanted
        assert torch.func.vjp(slope, x)[1](along)[0].tolist() == wanted
        forward = torch.vmap(lambda x, f=slope: torch.func.jvp(f, (x,), (along,))[1])
        assert forward(x[None])[0].tolist() == wanted


def test_the_second_and_third_slopes_of_a_determinant_of_three_rows_keep_small_entries():
    rng = np.random.default_rng(4)
    for _ in range(3):
        sizes = 10.0 ** rng.integers(-8, 9, size=(3, 1)) * 10.0 ** rng.integers(-8, 9, size=3)
        x, y, z = rng.normal(size=(3, 3, 3)) * np.stack([sizes, np.ones((3, 3)), sizes.T])
        wanted = np.zeros((2, 3, 3))
        for i, j in np.ndindex(3, 3):
            (p, q), (k, m) = ([n for n in range(3) if n != at] for at in (i, j))
            for a, b, out in ((x, y, wanted[0]), (y, z, wanted[1])):
                terms = a[p, k] * b[q, m] + b[p, k] * a[q, m], a[p, m] * b[q, k] + b[p, m] * a[q, k]
                out[i, j] = (-1) ** (i + j) * (terms[0] - terms[1])
        slope, (x, y, z) = torch.func.grad(torch.linalg.det), map(torch.tensor, (x, y, z))

        def along(x, slope=slope, y=y):
            return torch.func.jvp(slope, (x,), (y,))[1]

        for found in (along(x), torch.func.vjp(slope, x)[1](y)[0]):
            np.testing.assert_allclose(found, wanted[0], rtol=1e-9)
        np.testing.assert_allclose(torch.func.jvp(along, (x,), (z,))[1], wanted[1], rtol=1e-9)


@pytest.mark.parametrize("turned", [False, True])
def test_zeros_between_short_rows_leave_a_determinant_its_slopes(turned):
    def slopes(x, y):
        x, y = (v.T.contiguous() if turned else v for v in (x, y))
        return torch.func.jvp(torch.func.grad(torch.linalg.det), (x,), (y,))

    x, y = torch.tensor(FULL), torch.tensor(FULL[::-1].copy())
    x[1] = 0.0
    sizes = torch.tensor(2.0 ** np.array([[0], [-80], [-80], [-80]]))
    for powers in (sizes, sizes.flip(0), 0 * sizes + 2.0**-80):
        shares = (powers.prod() / powers).expand(4, 4)
        for found, wanted in zip(slopes(x * powers, y * powers), slopes(x, y), strict=True):
            wanted = wanted * (shares.T if turned else shares)
            largest = wanted.abs().max().item()
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-13 * largest)
