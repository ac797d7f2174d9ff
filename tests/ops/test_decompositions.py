"""Decompositions beyond the tables: their results' form, what is refused, forward mode of abs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.linalg

import gradcli as torch
from gradcli.ops import OPERATORS
from gradcli.ops.errors import Fault
from tests.support.families import family

RNG = np.random.default_rng(11)
A = torch.tensor([[2.0, 1.0], [1.0, 3.0]])


def test_results_have_pytorchs_names_and_print_so():
    found = torch.linalg.eigh(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    assert repr(found).startswith(
        "gradcli.return_types.linalg_eigh(\neigenvalues=tensor([1., 2.]),"
    )
    fields = {
        "eig": "eigenvalues eigenvectors", "eigh": "eigenvalues eigenvectors", "svd": "U S Vh",
        "qr": "Q R", "lu": "P L U", "lu_factor": "LU pivots", "lu_factor_ex": "LU pivots info",
        "slogdet": "sign logabsdet", "inv_ex": "inverse info", "cholesky_ex": "L info",
    }  # fmt: skip
    for name, places in fields.items():
        found = getattr(torch.linalg, name)(A)
        assert found.fields == tuple(places.split())
        assert type(found) is getattr(torch.return_types, f"linalg_{name}")
    assert torch.linalg.lstsq(A, A).fields == ("solution", "residuals", "rank", "singular_values")


@family("name", ["eigh", "eigvalsh", "eig", "eigvals", "matrix_exp", "lu_factor"])
def test_what_is_no_square_matrix_is_refused(name):
    for bad in (torch.tensor(1.0), torch.ones(3)):
        with pytest.raises(RuntimeError) as fault:
            getattr(torch.linalg, name)(bad)
        assert fault.value.code == "E0301"


@family("name", ["eigh", "eigvals"])
def test_infinite_entries_are_refused(name):
    with pytest.raises(Fault, match=r"non-finite|infs or NaNs"):
        getattr(torch.linalg, name)(torch.tensor([[float("inf"), 1.0], [1.0, 1.0]]))


def test_eigenvalues_of_a_defective_matrix_have_no_tangents():
    x = torch.tensor([[[1.0, 1.0], [0.0, 1.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]])
    t = torch.tensor([[0.0, 0.0], [1.0, 0.0]]).expand(3, 2, 2)
    for found in (torch.linalg.eigvals, lambda a: torch.linalg.eig(a).eigenvalues):
        tangent = torch.func.jvp(found, (x,), (t,))[1]
        assert tangent[0].isnan().all()
        assert tangent[2].tolist() == [0, 0]
        np.testing.assert_allclose(tangent[1], [-2 / 33**0.5, 2 / 33**0.5], rtol=1e-6)


def test_norms_of_infinite_entries_are_nan():
    x = torch.tensor([[[float("inf"), 1.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]])
    assert str(torch.linalg.matrix_norm(x, "nuc")) == "tensor([nan, 3.])"
    assert torch.linalg.matrix_rank(x).tolist() == [0, 2]
    for name in ("svdvals", "svd", "pinv"):
        with pytest.raises(Fault, match="non-finite"):
            getattr(torch.linalg, name)(x - x[:1])


@family("name", {
    "svd": lambda x: torch.linalg.svd(x).U, "svdvals": torch.linalg.svdvals,
    "pinv": torch.linalg.pinv, "qr": lambda x: torch.linalg.qr(x).R[..., 1],
    "nuc": lambda x: torch.linalg.matrix_norm(x, "nuc"), "cond": torch.linalg.cond,
}.items())  # fmt: skip
def test_derivatives_at_infinite_entries_are_nan(name):
    f = name[1]
    x = torch.tensor([[1.0, float("nan" if name[0] == "qr" else "inf")], [1.0, 1.0]])
    x = torch.stack([x, torch.tensor([[2.0, 1.0], [0.0, 1.0]])])
    y, pull = torch.func.vjp(f, x)
    for found in (y, pull(y)[0], torch.func.jvp(f, (x,), (x.cos(),))[1]):
        assert found[0].isnan().all() and found[1].isfinite().all()


@family("f", [
    lambda a: torch.linalg.inv_ex(a)[0],
    lambda a: torch.linalg.solve_ex(a, torch.ones_like(a))[0],
    lambda a: torch.linalg.cholesky_ex(a - a.mT)[0],
])  # fmt: skip
def test_all_derivatives_where_there_is_no_answer_are_nan(f):
    a = torch.ones(2, 2, dtype=torch.double, requires_grad=True)
    (g,) = torch.autograd.grad(f(a).sum(), a, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), a, create_graph=True)
    for found in (g, h, torch.autograd.grad(h.sum(), a)[0]):
        assert found.isnan().all()


@family("name", ["matrix_exp", "sqrtm", "logm"])
def test_functions_of_finite_matrices_beside_others(name):
    function = getattr(torch.linalg, name)
    x = torch.tensor([[[float("inf"), 1.0], [1.0, 1.0]], [[2.0, 1.0], [1.0, 3.0]]])
    found = function(x)
    assert found[0].isnan().all() and torch.equal(found[1], function(x[1]))


def test_a_loss_that_hangs_on_phases_is_refused():
    z = torch.complex(*(torch.tensor(RNG.normal(size=(3, 3))) for _ in "ri"))
    for name, vectors in (
        ("linalg_eig", lambda z: torch.linalg.eig(z)[1]),
        ("linalg_eigh", lambda z: torch.linalg.eigh(z + z.mH)[1]),
        ("svd", lambda z: torch.linalg.svd(z)[0]),
    ):
        leaf = z.clone().requires_grad_()
        with pytest.raises(
            RuntimeError, match=rf"{name}_backward: .* multiplication by e\^\{{i phi"
        ):
            vectors(leaf).imag.sum().backward()
        vectors(leaf).abs().sum().backward()
        assert leaf.grad is not None


@family(
    "other, function",
    product(
        [9.0, 1e30, float("nan"), float("inf")],
        [
            lambda x, upper: torch.linalg.eigvalsh(x, UPLO="LU"[upper]),
            lambda x, upper: torch.linalg.eigh(x, "LU"[upper]).eigenvalues,
            lambda x, upper: torch.linalg.cholesky(x, upper=upper),
            lambda x, upper: torch.linalg.cholesky_ex(x, upper=upper).L,
            lambda x, upper: x.cholesky(upper),
            lambda x, upper: torch.func.vmap(lambda v: torch.cholesky(v, upper))(x[None])[0],
        ],
    ),
)
def test_one_triangle_is_read(function, other):
    for upper in (False, True):
        given = A.clone()
        given[(1, 0) if upper else (0, 1)] = other
        want = function(A, upper)
        assert torch.allclose(function(given, upper), want, rtol=1e-5)
        slopes = [torch.func.grad(lambda x: (function(x, upper) ** 2).sum())(x) for x in (given, A)]  # noqa: B023
        if other == 9.0:
            assert torch.allclose(*slopes, rtol=1e-5)


@pytest.mark.parametrize("upper", [False, True])
def test_the_triangle_of_a_factor_that_is_not_read_has_no_derivative(upper):
    for f in (torch.cholesky_inverse, lambda x, upper: torch.cholesky_solve(x[:, :1], x, upper)):
        leaf = (A + torch.triu(A)).double().requires_grad_()
        assert torch.autograd.gradcheck(lambda x: f(x, upper), [leaf], check_forward_ad=True)  # noqa: B023


@family("factor", [torch.linalg.cholesky, lambda a: torch.linalg.qr(a).R])
def test_zeros_of_a_triangle_have_no_second_derivative_that_is_not_0(factor):
    a = torch.tensor([[1.0, 0.1j], [-0.1j, 1.0]], dtype=torch.complex128)
    b = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.complex128)
    f = lambda x: factor(a + x * b).abs().sum()  # noqa: E731
    x, h = torch.ones((), dtype=torch.double), 1e-4
    slope = torch.func.grad(f)
    expected = (slope(x + h) - slope(x - h)).item() / (2 * h)
    for found in torch.func.jacrev(slope)(x), torch.func.hessian(f)(x):
        np.testing.assert_allclose(found.item(), expected, rtol=1e-6)


def test_rank_condition_and_least_squares():
    low = torch.tensor(np.outer([1.0, 2, 3], [1.0, -1]))
    assert torch.linalg.matrix_rank(low).item() == 1
    assert torch.linalg.matrix_rank(A).item() == 2
    stack = torch.stack([torch.diag(torch.tensor([1.0, 0.1, 0.001])) * k for k in (1, 10)])
    assert torch.linalg.matrix_rank(stack, 0.01, True).tolist() == [2, 3]
    assert torch.linalg.matrix_rank(stack, atol=torch.tensor([0.0, 2.0])).tolist() == [3, 1]
    assert torch.linalg.matrix_rank(stack[:0], atol=torch.tensor([])).tolist() == []
    assert torch.linalg.matrix_power(torch.eye(2).bool(), 0).dtype is torch.bool
    with pytest.raises(torch.linalg.LinAlgError, match="diagonal element 2 is zero"):
        torch.cholesky_inverse(torch.tensor([[1.0, 2, 3], [4, 0, 6], [7, 8, 9]]))
    tall, right = torch.tensor(RNG.normal(size=(5, 2))), torch.tensor(RNG.normal(size=(5, 3)))
    found = torch.linalg.lstsq(tall, right, driver="gelsd")
    assert torch.linalg.lstsq(tall, right).residuals.shape == (0,)  # the default is gelsy
    want = np.linalg.lstsq(tall.numpy(), right.numpy())
    np.testing.assert_allclose(found.solution.numpy(), want[0], rtol=1e-12)
    np.testing.assert_allclose(found.residuals.numpy(), want[1], rtol=1e-12)
    x = torch.tensor(RNG.normal(size=(3, 3)) + 2 * np.eye(3))
    for p in (None, 1, -1, np.inf, "fro", 2, -2):
        want = np.linalg.cond(x.numpy(), p)
        np.testing.assert_allclose(torch.linalg.cond(x, p).item(), want, rtol=1e-12)
    for p in ("fro", "nuc", 1, np.inf):
        leaf = x.detach().requires_grad_()
        assert torch.autograd.gradcheck(lambda x, p=p: torch.linalg.cond(x, p), [leaf])


SINGULAR = ([[0.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]], [[0.0, 2.0], [0.0, 1.0]])


@pytest.mark.parametrize("matrix", SINGULAR)
@pytest.mark.parametrize("name, part", [("lu", 1), ("lu", 2), ("qr", 0), ("qr", 1)])
@pytest.mark.parametrize("rows", [(0, 1), (0, 1, 1)])
def test_a_singular_matrix_takes_no_derivative_from_the_one_beside_it(matrix, name, part, rows):
    def factor(x):
        return getattr(torch.linalg, name)(x)[part]

    def pushed(x):
        return torch.func.jvp(factor, (x,), (x.cos(),))[1]

    slope = torch.func.grad(lambda x: factor(x).sum())
    both = torch.tensor([matrix, [[3.0, 1.0], [2.0, 4.0]]])[:, list(rows)]
    assert factor(both).isfinite().all()
    for found, own in (
        (slope(both), slope(both[1])),
        (torch.func.vmap(slope)(both), slope(both[1])),
        (pushed(both), pushed(both[1])),
    ):
        assert torch.allclose(found[1], own)
        if name == "lu":  # a zero of R may come out as a small number
            last = len(rows) == 2 and matrix == SINGULAR[1]  # the pivot that divides nothing
            assert bool(found[0].isfinite().all()) is last


def test_out_takes_the_results():
    values, vectors = torch.empty(0), torch.empty(0)
    torch.linalg.eigh(A, out=(values, vectors))
    np.testing.assert_allclose((vectors @ torch.diag(values) @ vectors.T).numpy(), A.numpy(),
        rtol=1e-5)  # fmt: skip


def test_forward_mode_of_the_size_of_complex_numbers_is_real():
    z, t = ((RNG.normal(size=3) + 1j * RNG.normal(size=3)) for _ in "zt")
    _, tangent = torch.func.jvp(torch.abs, (torch.tensor(z),), (torch.tensor(t),))
    np.testing.assert_allclose(tangent.numpy(), (np.conj(z) * t).real / np.abs(z), rtol=1e-12)


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_principal_roots_and_logarithms(name):
    function = getattr(torch.linalg, name)
    for x in (
        RNG.normal(size=(4, 4)),
        np.triu(RNG.normal(size=(3, 3))),
        np.array([[1.0, 9.0], [0.0, 1.0]]),
    ):
        whole = scipy.linalg.expm(x)  # not normal, and defective
        np.testing.assert_allclose(
            function(torch.tensor(whole)).numpy(), getattr(scipy.linalg, name)(whole), rtol=1e-9,
            atol=1e-12,
        )  # fmt: skip
    refused = [[[-1.0, 0.0], [0.0, 2.0]], [[-1.0, 0.0], [0.0, -1.0]], [[0.0, 1.0], [0.0, 0.0]]]
    for x in [*refused, *([[[0.0, 0.0], [0.0, 1.0]]] if name == "logm" else [])]:
        with pytest.raises(torch.linalg.LinAlgError, match=r"eigenvalue|has no square root"):
            function(torch.tensor(x))
    singular = torch.tensor([[0.0, 0.0], [0.0, 4.0]], requires_grad=True)
    if name == "sqrtm":
        with pytest.raises(torch.linalg.LinAlgError, match="a singular matrix has none"):
            function(singular).sum().backward()


@family("shape", [(0, 2), (2, 0), (2, 1, 0), (3, 0, 2), (0, 3, 2)])
def test_empty_matrices(shape):
    empty = torch.zeros(shape, dtype=torch.float64)
    (*batch, rows, columns), few = shape, min(shape[-2:])
    found = torch.svd(empty, compute_uv=False)
    assert [tuple(v.shape) for v in found] == [
        (*batch, rows, rows), (*batch, few), (*batch, columns, columns),
    ]  # fmt: skip
    assert torch.linalg.matrix_rank(empty, hermitian=True).shape == tuple(batch)
    assert torch.linalg.pinv(empty, atol=torch.zeros(batch)).shape == (*batch, columns, rows)
    for p in ("fro", "nuc"):
        with pytest.raises(RuntimeError, match="must be batches of square matrices"):
            torch.linalg.cond(empty, p)


def test_a_tolerance_for_each_matrix():
    diagonal = torch.diag(torch.tensor([2.0, 0.5]).double())
    pair = torch.stack([diagonal, diagonal]).requires_grad_()
    for tolerance in ({"atol": torch.tensor([0.0, 1.0])}, {"rtol": torch.tensor([0.0, 0.3])}):
        found = torch.linalg.pinv(pair, **tolerance)
        assert found.diagonal(dim1=-2, dim2=-1).tolist() == [[0.5, 2.0], [0.5, 0.0]]
        (slope,) = torch.autograd.grad(found.sum(), pair)
        alone = [torch.linalg.pinv(m, atol=a) for m, a in zip(pair, (0.0, 1.0), strict=True)]
        (want,) = torch.autograd.grad(torch.stack(alone).sum(), pair)
        assert torch.allclose(slope, want)
    with pytest.raises(RuntimeError, match="2-tuple"):
        torch.norm(pair, "nuc")


@family("shape, dtype", product([(4, 3), (3, 5), (2, 3, 3)], ["float64", "complex128"]))
def test_what_the_tolerance_of_pinv_drops_has_slopes(shape, dtype):
    random = np.random.default_rng(5)

    def drawn(*sizes):
        imaginary = 1j * random.normal(size=sizes) if dtype == "complex128" else 0.0
        return random.normal(size=sizes) + imaginary

    *batch, m, n = shape
    left, right = (np.linalg.qr(drawn(*batch, k, 3))[0] for k in (m, n))
    spectra = ((2.0, 2.0, 0.6), 0.4), ((3.0, 0.5, 0.5), 0.4), ((1.0, 0.3, 0.0), 0.4)
    for values, rtol in (*spectra, ((2.0, 1.0, 0.5), 1.0)):  # which drops all of them
        x = (left * values) @ np.conj(np.swapaxes(right, -1, -2))
        t = torch.tensor(drawn(*shape))

        def kept(at, rtol=rtol):
            return torch.linalg.pinv(at, rtol=rtol)

        step = 1e-4 * t.numpy()
        ahead, behind = (kept(torch.tensor(x + sign * step)).numpy() for sign in (1, -1))
        (found,) = torch.func.jvp(kept, (torch.tensor(x),), (t,))[1:]
        assert np.allclose(found.numpy(), (ahead - behind) / 2e-4, rtol=1e-6, atol=1e-6)
        at = torch.tensor(x, requires_grad=True)
        assert torch.autograd.gradcheck(kept, (at,), check_forward_ad=True)
        assert torch.autograd.gradgradcheck(kept, (at,))


def test_a_least_squares_solution_of_lower_rank_has_slopes():
    a = torch.tensor([[2.0, 1.0], [1.0, 0.8], [0.3, 0.4]], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert torch.linalg.lstsq(a, b, rcond=0.2, driver="gelsy").rank == 1
    solved = lambda x: torch.linalg.lstsq(x, b, rcond=0.2).solution  # noqa: E731
    assert torch.autograd.gradcheck(solved, (a,))


def test_one_size_for_transforms_of_several_dimensions():
    x = torch.arange(12.0).view(3, 4)
    for name in ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"):
        transform = getattr(torch.fft, name)
        assert torch.equal(transform(x, 3), transform(x, (3,), (-1,)))
    with pytest.raises(RuntimeError, match="same length"):
        torch.fft.fft2(x, 3)


@pytest.mark.parametrize("name", ["matrix_exp", "logm"])
def test_the_derivatives_of_a_function_of_matrices_are_linear_in_large_cotangents(name):
    a = np.array([[2.0, 1.0, 0.3], [0.5, 3.0, -1.0], [0.2, 0.1, 1.5]])
    w = np.array([[1.0, -2.0, 0.5], [0.3, 1.0, 2.0], [-1.0, 0.4, 0.7]])
    found = []
    for large, also in ((1.0, 1.0), (2.0**40, 1.0), (2.0**100, 2.0**50)):
        x = torch.tensor(a, requires_grad=True)
        out = OPERATORS[name](x) * torch.tensor(w)
        (first,) = torch.autograd.grad(large * out.sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((first * torch.tensor(a * also)).sum(), x)
        found.append((first.detach().numpy() / large, second.numpy() / large / also))
    for first, second in found[1:]:
        np.testing.assert_allclose(first, found[0][0], rtol=1e-12)
        np.testing.assert_allclose(second, found[0][1], rtol=1e-12)


def test_the_exponential_of_a_triangle_keeps_its_diagonal_beside_large_entries():
    got = torch.matrix_exp(torch.tensor([[1.0, 1e15], [0.0, 1.0]], dtype=torch.float64))
    np.testing.assert_allclose(got.numpy(), [[np.e, 1e15 * np.e], [0.0, np.e]], rtol=1e-14)


def test_the_exponential_of_zeros_is_exact_and_of_small_entries_keeps_them():
    for dtype in (torch.float32, torch.float64, torch.complex128):
        zeros = torch.zeros(20, 20, dtype=dtype)
        assert torch.equal(torch.matrix_exp(zeros), torch.eye(20, dtype=dtype))
    small = torch.tensor([[0.0, 1e-9], [2e-9, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(torch.matrix_exp(small).fill_diagonal_(0), small, rtol=1e-15, atol=0)


def test_the_last_pivot_of_an_lu_divides_no_derivative():
    A = torch.tensor([[8, 4, 8], [4, 6, 4], [3, 2.5, 3]], dtype=torch.double)  # of rank 2
    A = torch.stack([A, A @ A.mT + torch.eye(3, dtype=torch.double)])
    both = lambda A: torch.cat([*torch.linalg.lu(A)[1:]])  # noqa: E731
    forward = torch.func.jacfwd(both)(A)
    steps = 1e-6 * torch.eye(18, dtype=torch.double).reshape(18, 2, 3, 3)
    differences = torch.stack([(both(A + h) - both(A - h)) / 2e-6 for h in steps], -1)
    assert torch.allclose(forward, differences.reshape(4, 3, 3, 2, 3, 3), atol=1e-7)
    assert torch.allclose(torch.func.jacrev(both)(A), forward, atol=1e-12)
    assert torch.func.hessian(lambda A: (both(A) ** 2).sum())(A).isfinite().all()
    # Of rank 1 the second column of L is none of the matrix.
    assert torch.func.jacfwd(both)(torch.ones(3, 3)).isnan().any()


def test_least_squares_reads_a_matrix_where_there_is_no_vector_for_each_system():
    A = torch.tensor([[[2.0, 1.0], [0.0, 4.0]]], dtype=torch.double)
    B = torch.tensor([[2.0, 4.0], [8.0, 12.0]], dtype=torch.double)  # not two vectors
    torch.testing.assert_close(torch.linalg.lstsq(A, B).solution, torch.linalg.solve(A, B))
    assert torch.linalg.lstsq(A, B[:1]).solution.shape == (1, 2)  # as the sizes are those of A
    with pytest.raises(RuntimeError, match=r"should match other.size\(-2\)"):
        torch.linalg.lstsq(A.expand(3, 2, 2), B[:1])


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_singular_vectors_have_their_second_slopes_at_any_scale(shape):
    A, V, W = np.random.default_rng(3).standard_normal((3, *shape))

    def second(scale, dtype):
        a, v, w = (torch.tensor(part, dtype=dtype) for part in (A * scale, V, W))

        def total(a):
            u, s, vh = torch.linalg.svd(a, full_matrices=False)
            return (((u * (s / scale) ** 2) @ vh) * w).sum()

        slope = torch.func.jvp(total, (a,), (v,))[1]
        back = torch.func.grad(lambda a: (torch.func.grad(total)(a) * v).sum())(a)
        return float(slope) * scale, float((back * v).sum()) * scale * scale

    for dtype, scales in ((torch.float64, (1e-110, 1e140)), (torch.float32, (1e-14, 1e18))):
        for scale in scales:
            assert second(scale, dtype) == pytest.approx(second(1.0, dtype), rel=1e-3)


@pytest.mark.parametrize("shape", [(3, 3), (3, 4)])
def test_a_q_of_all_columns_has_its_slopes_whatever_the_scales_of_the_rows(shape):
    draw = np.random.default_rng(0).standard_normal
    rows = np.array([1.0, 1e-2, 1e-4])[:, None]
    A, V, W, U = draw(shape) * rows, draw(shape) * rows, draw((3, 3)), draw(shape)

    def slopes(dtype):
        a, v, w, u = (torch.tensor(np.float32(part), dtype=dtype) for part in (A, V, W, U))

        def total(a):
            q, r = torch.linalg.qr(a)
            return (q * w).sum() + (r * u).sum()

        forward = lambda a: torch.func.jvp(total, (a,), (v,))[1]  # noqa: E731
        back = lambda a: (torch.func.grad(total)(a) * v).sum()  # noqa: E731
        second = torch.func.jvp(forward, (a,), (v,))[1], (torch.func.grad(back)(a) * v).sum()
        return [float(slope) for slope in (forward(a), back(a), *second)]

    exact, *others = slopes(torch.float64)
    assert slopes(torch.float32)[:2] == pytest.approx([exact, exact], rel=1e-4)
    assert slopes(torch.float32)[2:] == pytest.approx(others[1:], rel=1e-3)


def test_a_zero_singular_value_of_a_complex_matrix_keeps_the_slopes_of_the_other_vectors():
    A = torch.tensor([[0, 1], [0, 2]], dtype=torch.complex128)
    weights = torch.tensor([[1.0, 2], [3, 5]], dtype=torch.float64)
    for project in (lambda u, s, vh: u[:, :1] @ u[:, :1].mH, lambda u, s, vh: vh[:1].mH @ vh[:1]):
        total = lambda a: (project(*torch.linalg.svd(a)).real * weights).sum()  # noqa: B023, E731
        slope = torch.func.grad(total)(A).real
        assert torch.allclose(slope, torch.func.grad(total)(A.real), atol=1e-12)
        assert slope.abs().max() > 0.01
