"""What has a closed form: every operator, by the forms that it takes, or its plain refusal.

An operator without an entry fails: a new one gets its forms here, or a refusal that names it.
``diff`` checks every closed form against the numeric engine, so that one that is given is right.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from gradcli.language.names.table import NAMES
from gradcli.ops import OPERATORS
from gradcli.ops.errors import Fault
from gradcli.ops.kinds import elementwise
from gradcli.symbolic import diff
from gradcli.symbolic.program import lookup
from tests.support.families import family

V, W, M, Q, S = "vector:n", "vector:m", "matrix:n,m", "matrix:n,n", "scalar"
P = "matrix:n,n spd"

FORMS: dict[str, list[tuple[str, dict]]] = {
    "add": [("X + x", {"X": M, "x": W})], "sub": [("x - X", {"X": M, "x": W})],
    "neg": [("-X", {"X": M})], "add_scaled": [("sum(x*add_scaled(X, x, -3))", {"X": M, "x": W})],
    "mul": [("sum(X*x)", {"X": M, "x": W})],
    "sum": [("sum(X)", {"X": M}), ("sum(X, 0)", {"X": M}), ("sum(X, 1)", {"X": M}),
            ("sum(X, (0, 1))", {"X": M}), ("sum(X**2, 1, True) @ x", {"X": M, "x": "vector:1"})],
    "mean": [("mean(X)", {"X": M}), ("mean(X, 0)", {"X": M}), ("mean(X**2, 1)", {"X": M}),
             ("sum(X/mean(X, 1, True))", {"X": M})],
    "var": [("var(X)", {"X": M}), ("var(X, 0)", {"X": M}), ("sum(var(X, 1)**2)", {"X": M}),
            ("var(x, 0, 0)", {"x": V}), ("sum(X/var(X, 1, keepdim=True))", {"X": M})],
    "std": [("std(X)", {"X": M}), ("sum(std(X, 0))", {"X": M}), ("sum(std(X, 1)**3)", {"X": M})],
    "norm": [("norm(x)", {"x": V}), ("norm(X)", {"X": M}), ("norm(x, 1)", {"x": V}),
             ("norm(x, inf)", {"x": V}), ("norm(x, -inf)", {"x": V}), ("norm(x, 3)", {"x": V}),
             ("norm(x, 4)", {"x": V}), ("norm(X, 1.5)", {"X": M}), ("norm(X, 'fro')", {"X": M}),
             ("sum(norm(X, 2, 1))", {"X": M}), ("sum(norm(X, inf, 0))", {"X": M}),
             ("sum(X/norm(X, 2, 1, True))", {"X": M})],
    "amax": [("amax(x)", {"x": V}), ("amax(X)", {"X": M}), ("amax(X, 0)", {"X": M}),
             ("sum(amax(X, 1)**2)", {"X": M}), ("X - amax(X, 1, True)", {"X": M}),
             ("max(x)", {"x": V}), ("x.max()", {"x": V})],
    "amin": [("amin(x)", {"x": V}), ("amin(X, 1)", {"X": M}), ("min(X)", {"X": M})],
    "prod": [("prod(x)", {"x": V}), ("prod(X, 0)", {"X": M}), ("sum(prod(X, 1)**2)", {"X": M}),
             ("prod(x)*x", {"x": "vector:1"}), ("prod(X)", {"X": "matrix:1,1"})],
    "logsumexp": [("logsumexp(x)", {"x": V}), ("logsumexp(X)", {"X": M}),
                  ("logsumexp(X, 0)", {"X": M}), ("sum(logsumexp(X, 1))", {"X": M})],
    "softmax": [("softmax(x)", {"x": V}), ("softmax(X, 0)", {"X": M}), ("sum(softmax(X, 1)**2)",
                {"X": M}), ("softmax(X, 1) @ x", {"X": M, "x": W})],
    "log_softmax": [("log_softmax(x)", {"x": V}), ("sum(log_softmax(X, 1)*X)", {"X": M}),
                    ("log_softmax(X, 0)", {"X": M})],
    "cumsum": [("cumsum(x, 0)", {"x": V}), ("sum(cumsum(X, 0)**2)", {"X": M}),
               ("cumsum(X, 1) @ x", {"X": M, "x": W})],
    "getitem": [("x[0]", {"x": V}), ("x[-1]**2", {"x": V}), ("x[1:]", {"x": V}),
                ("x[:-1]", {"x": V}), ("x[::2]", {"x": V}), ("X[0]", {"X": M}),
                ("X[:, 1]", {"X": M}), ("X[1, 2]**2", {"X": M}), ("X[:2, :2]", {"X": M}),
                ("X[1:, :-1]", {"X": M}), ("X.T[0]", {"X": M}), ("x[None] @ X", {"x": V, "X": M}),
                ("x[1:3] @ x[:2]", {"x": "vector:4"}), ("X[..., 0]", {"X": M})],
    "cat": [("cat([x, y])", {"x": V, "y": W}), ("sum(cat([X, Y], 1)**2)", {"X": M, "Y": Q}),
            ("cat([x, x]) @ y", {"x": V, "y": "vector:2*n"})],
    "stack": [("stack([x[1], x[0]])", {"x": V}), ("stack([x, 2*x]) @ y", {"x": V, "y": V}),
              ("sum(stack([x, y], 1)**2)", {"x": V, "y": V})],
    "pad": [("pad(x, (1, 2))", {"x": V}), ("sum(pad(X, (1, 0, 0, 1))**2)", {"X": M})],
    "flip": [("flip(x, 0)", {"x": V}), ("flip(X, 1) @ x", {"X": M, "x": W})],
    "roll": [("roll(x, 1)", {"x": V}), ("sum(roll(X, 1, 0)*X)", {"X": M})],
    "tril": [("tril(X)", {"X": M}), ("sum(tril(X, -1) @ x)", {"X": M, "x": W})],
    "triu": [("triu(X)", {"X": M}), ("trace(triu(X, 1) @ X)", {"X": Q})],
    "transpose": [("transpose(X, 0, 1) @ y", {"X": M, "y": V})],
    "permute": [("permute(X, (1, 0)) @ y", {"X": M, "y": V})],
    "reverse_dims": [("X.T @ y", {"X": M, "y": V})], "mT": [("X.mT @ y", {"X": M, "y": V})],
    "squeeze": [("squeeze(unsqueeze(x, 0))", {"x": V})],
    "unsqueeze": [("sum(unsqueeze(x, 1)*X)", {"x": V, "X": M})],
    "expand": [("sum(expand(x, (3, 4))*X)", {"x": "vector:4", "X": "matrix:3,4"})],
    "sum_to": [("sum_to(X, (3,)) @ y", {"X": "matrix:2,3", "y": "vector:3"})],
    "diagonal": [("diagonal(X)", {"X": Q}), ("diag(X) @ x", {"X": Q, "x": V})],
    "undiagonal": [("sum(diag(x) @ X)", {"x": V, "X": M}), ("diag(x)", {"x": V})],
    "trace": [("trace(X)", {"X": Q}), ("trace(X @ X.T)", {"X": M})],
    "matmul": [("X @ y", {"X": M, "y": W}), ("X @ X.T", {"X": M})],
    "dot": [("dot(x, x)", {"x": V})], "outer": [("outer(x, y)", {"x": V, "y": W})],
    "contract": [("einsum('ij,kj->ik', X, X)", {"X": M}), ("einsum('ij,i,j->', X, y, z)",
                 {"X": M, "y": V, "z": W})],
    "clone": [("clone(x) @ x", {"x": V})], "conj": [("conj(x) @ x", {"x": V})],
    "real": [("real(x) @ x", {"x": V})],
    "inv": [("inv(X)", {"X": Q}), ("trace(inv(X))", {"X": Q})],
    "det": [("det(X)", {"X": Q})], "logdet": [("logdet(X)", {"X": Q})],
    "logabsdet": [("slogdet(X)[1]", {"X": Q})], "detsign": [("slogdet(X)[0]*trace(X)", {"X": Q})],
    "pinv": [("sum(pinv(X))", {"X": M}), ("trace(X @ pinv(Y))", {"X": M, "Y": M}),
             ("pinv(X.T) @ x", {"X": M, "x": W})],
    "svdvals": [("sum(svdvals(X))", {"X": M}), ("max(svdvals(X.T))", {"X": M}),
                ("svdvals(X)[-1]", {"X": "matrix:4,3"}), ("norm(X, 'nuc')**2", {"X": M}),
                ("sum(log(svdvals(X)))", {"X": Q})],
    "eigvalsh": [("sum(eigvalsh(X)**3)", {"X": Q}), ("eigvalsh(X)[1]", {"X": P}),
                 ("min(eigvalsh(X + X.T))", {"X": Q})],
    "svd_parts": [("norm(svd(X, False)[2] @ x)", {"X": Q, "x": V}),
                  ("svd(X)[0] @ x", {"X": Q, "x": V}),
                  ("sum(svd(X, False)[1]**2)", {"X": M})],
    "eigh_parts": [("eigh(X)[1][:, 0] @ x", {"X": P, "x": V}), ("sum(eigh(X)[0])", {"X": P})],
    "qr_parts": [("trace(qr(X)[1])", {"X": Q}), ("sum(qr(X)[0]**3)", {"X": "matrix:4,3"})],
    "matrix_exp": [("trace(matrix_exp(X))", {"X": Q}), ("sum(expm(x*X))", {"x": S, "X": Q}),
                   ("x.T @ matrix_exp(X) @ y", {"X": Q, "x": V, "y": V})],
    "logm": [("trace(logm(X @ Y))", {"X": P, "Y": P}), ("trace(X @ logm(X))", {"X": P}),
             ("trace(Y @ logm(X))", {"X": P, "Y": Q})],
    "sqrtm": [("trace(sqrtm(X))", {"X": P}), ("sum(sqrtm(X))", {"X": P})],
    "solve_sylvester": [("sum(solve_sylvester(X, Y, Z))", {"Z": M, "X": P, "Y": "matrix:m,m spd"})],
    "solve": [("solve(X, x)", {"X": Q, "x": V}), ("sum(solve(X, Y))", {"X": Q, "Y": M})],
    "reshape": [("reshape(x, (2, 2))", {"x": "vector:4"}), ("X.reshape(-1) @ x",
                {"X": M, "x": "vector:n*m"}), ("x.reshape(n, m) @ y", {"x": "vector:n*m", "y": W}),
                ("norm(X.flatten())", {"X": M}), ("sum(exp(flatten(X @ X.T)))", {"X": M}),
                ("flatten(X)", {"X": M}), ("x @ flatten(diag(y))", {"x": "vector:n*n", "y": V}),
                ("sum(X*reshape(flatten(eye(n)), (n, n)))", {"X": Q}),
                ("norm(flatten(eye(n)*x) - y)**2", {"x": V, "y": "vector:n*n"}),
                ("T.reshape(n, -1) @ x", {"T": "tensor:n,2,3", "x": "vector:6"})],
    "tile": [("tile(x, (2,))", {"x": V}), ("x.repeat(3) @ y", {"x": V, "y": "vector:3*n"}),
             ("sum(X.tile(2, 1)**2)", {"X": M})],
    "cholesky": [("trace(cholesky(X))", {"X": P}), ("sum(cholesky(X))", {"X": P}),
                 ("sum(log(diag(cholesky(X))))", {"X": P}), ("cholesky(X)", {"X": P}),
                 ("norm(inv(cholesky(X)) @ x)**2", {"X": P, "x": V})],
}  # fmt: skip

COMPOSED: list[tuple[str, dict]] = [
    ("kron(x, y)", {"x": V, "y": W}), ("sum(kron(X, Y) @ x)", {"X": M, "Y": Q, "x": "vector:m*n"}),
    ("trace(kron(X, Y))", {"X": Q, "Y": "matrix:m,m"}), ("kron(X, Y)", {"X": M, "Y": Q}),
    ("cross(x, y) @ z", dict.fromkeys("xyz", "vector:3")), ("cross(x, y)", {"x": "vector:3",
     "y": "vector:3"}), ("trace(matrix_power(X, 3))", {"X": Q}),
    ("x @ matrix_power(X, -2) @ x", {"X": Q, "x": V}), ("lerp(x, y, z)", dict.fromkeys("xyz", V)),
    ("sum(addmm(X, Y, Z))", {"X": M, "Y": Q, "Z": M}), ("inner(x, y)", {"x": V, "y": V}),
    ("sum(diff(x)**2)", {"x": V}), ("trapezoid(x)", {"x": V}), ("dist(x, y)", {"x": V, "y": V}),
    ("sum(cdist(X, Y))", {"X": M, "Y": "matrix:k,m"}), ("xlogy(x, y)", {"x": S, "y": S}),
    ("addcdiv(x, y, z)", dict.fromkeys("xyz", V)), ("sum(bmm(T, U))",
     {"T": "tensor:k,n,m", "U": "tensor:k,m,p"}), ("cov(X)", {"X": M}),
    *((f"x*{f}(-0.5)", {"x": S}) for f in ("silu", "gelu", "mish", "selu", "celu", "hardswish")),
    ("x*tanhshrink(2.0)", {"x": S}), ("relu6(7) - huber_loss(x, y)", {"x": S, "y": S}),
    *(
        (f"import torch.nn.functional as F; F.{call}", {"x": V, "y": V})
        for call in (
            "mse_loss(x, y)", "l1_loss(x, y)", "huber_loss(x, y)", "smooth_l1_loss(x, y)",
            "cross_entropy(x, y)", "kl_div(x, y)", "binary_cross_entropy_with_logits(x, y)",
            "cosine_similarity(x, y, 0)", "soft_margin_loss(x, y)", "poisson_nll_loss(x, y)",
            "gelu(x) @ y", "silu(x) @ y", "mish(x) @ y", "normalize(x, dim=0) @ y",
        )
    ),
    ("import torch.nn.functional as F; sum(F.linear(X, Y, x))", {"X": M, "Y": M, "x": V}),
    ("import torch.nn.functional as F; sum(F.layer_norm(x, (4,))**2)", {"x": "vector:4"}),
    ("group_norm(x, 2)[0, 1]", {"x": "matrix:3,6"}),
    ("import torch; torch.linalg.multi_dot([x, X, y])", {"x": V, "X": M, "y": W}),
]  # fmt: skip
"""Functions that are composed of operators: spelled out."""

TENSORS: list[tuple[str, dict]] = [
    ("sum(T**2*U)", {"T": "tensor:n,m,p", "U": "tensor:n,m,p"}),
    ("sum(logdet(T)*det(T))", {"T": "tensor:k,n,n"}), ("sum(inv(T) @ x)", {"T": "tensor:k,n,n",
     "x": V}), ("sum(solve(T, U)**2)", {"T": "tensor:k,n,n", "U": "tensor:k,n,m"}),
    ("sum(solve(X, T))", {"X": Q, "T": "tensor:k,n,m"}),
    ("sum(T, 0)", {"T": "tensor:n,m,p"}),
    ("einsum('ijk,i,j,k->', T, x, y, z)", {"T": "tensor:n,m,p", "x": V, "y": W, "z": "vector:p"}),
    ("sum(softmax(T, 2)*U)", {"T": "tensor:n,m,p", "U": "tensor:n,m,p"}),
    ("sum(tanh(T @ X))", {"T": "tensor:k,n,m", "X": "matrix:m,p"}), ("T[0] @ x",
     {"T": "tensor:k,n,m", "x": W}), ("norm(T)", {"T": "tensor:2,3,4"}),
    ("sum(T.permute(2, 0, 1)*U)", {"T": "tensor:n,m,p", "U": "tensor:p,n,m"}),
    ("sum(X[[0, 2]]**2)", {"X": "matrix:4,m"}), ("prod(X)", {"X": M}),
]  # fmt: skip

REFUSED: dict[str, tuple[str, dict]] = {
    "matrix_exp_along": ("sum(matrix_exp_along(X, Y))", {"X": Q, "Y": Q}),
    "logm_along": ("sum(logm_along(X, Y))", {"X": P, "Y": Q}),
    "imag": ("imag(x)", {"x": V}),
    "adjugate": ("adjugate(X)", {"X": Q}), "all": ("x*all(x)", {"x": V}),
    "any": ("x*any(x)", {"x": V}), "count_nonzero": ("x*count_nonzero(x)", {"x": V}),
    "argmax": ("x*argmax(x)", {"x": V}), "argmin": ("x*argmin(x)", {"x": V}),
    "argsort": ("x*argsort(x)", {"x": V}), "isclose": ("where(isclose(x, 1), x, 0)", {"x": V}),
    "cumprod": ("cumprod(x, 0)", {"x": V}), "logcumsumexp": ("logcumsumexp(x, 0)", {"x": V}),
}  # fmt: skip
ELSEWHERE = {
    "drawn": "random numbers, in programs", "unfold": "windows, in programs",
    "of_parts": "complex numbers",
    "argcummax": "in the rule of cummax", "argcummin": "in the rule of cummin",
    "fourier": "complex, by gradcli.functions.fft", "bessel_i": "in the rules of i0 and i1",
    "logistic": "in the rules of softplus and logaddexp", "softplus_beta": "by F.softplus",
    **dict.fromkeys(("silu", "mish", "gelu", "gelu_tanh", "hardswish"), "by their F functions"),
    "glu": "by F.glu",
    "asin_slope": "in the rules of asin and acos", "acosh_slope": "in the rule of acosh",
    "atanh_slope": "in the rule of atanh",
    "asinh_slope": "in the rule of asinh",
    "over_squares": "in the rules of atan2", "hypot_slope": "in the rules of hypot",
    "direction": "in the rules of norm and std",
    "lerp_tensor": "by lerp", "along": "in the rules of pow",
    "power_slope": "the slopes of pow",
    "gamma_density": "in the rules of gammainc",
    "log_ratio": "in the rule of gamma_density", "bernoulli_nll": "by F.binary_cross_entropy",
    "bernoulli_slope": "in the rule of bernoulli_nll",
    "logit_nll": "by F.binary_cross_entropy_with_logits", "logit_slope": "in its rule",
    "bell": "in the rules of erf and ndtr", "gelu_tanh_slope": "in the rule of gelu_tanh",
    "erfcx_slope": "in the rule of erfcx", "mills": "in the rule of log_ndtr",
    "mills_slope": "in the rule of mills",
    "bessel_ie": "in the rules of i0e and i1e", "decay_slope": "their rule",
    "bessel_j": "in the rules of bessel_j0, bessel_j1",
    "sinc_slope": "in the rule of sinc", "zeta_slope": "in the rule of zeta",
    "gammainc_slope": "in the rule of gammainc",
    "lerp_number": "lerp, its weight a symbol too",
    "put": "an assignment to entries, in programs (test_paths)",
    "scatter": "the transpose of getitem", "prod_others": "in the rule of prod",
    "centred": "in the rules of var and std",
    "gather": "takes an array of numbers", "ungather": "the transpose of gather",
    "running_largest": "in the rule of logcumsumexp",
    "recurrence": "in the rules of scans", "cast": "a change of type, in programs",
    "trunc_divide": "by div with a rounding_mode",
    "adjugate_along": "in the rule of adjugate", "adjugate_along_two": "in the rule of adjugate",
    **dict.fromkeys(("eig_parts", "eigvals", "lu_compact"), "by gradcli.functions.linalg"),
}  # fmt: skip
SPECIAL = {
    "polygamma": "polygamma(2, {0})",
    "where": "where({0} > 0, {0}**2, 3*{0})",
    "clamp": "clamp({0}, -1, 1)",
}
BY_ORDER = ("zeta", "gammainc", "gammaincc")
ENTRYWISE = [
    name for name, op in OPERATORS.items()
    if op.kind in ("elementwise", "constant") and name not in (*REFUSED, *FORMS, *ELSEWHERE)
]  # fmt: skip


def test_every_operator_has_an_entry() -> None:
    entries = {*FORMS, *REFUSED, *ELSEWHERE, *ENTRYWISE}
    assert set(OPERATORS) - entries == set(), "add a closed form, or a refusal that names it"
    assert entries - set(OPERATORS) == set()


@family("name", ENTRYWISE)
def test_entry_by_entry(name: str) -> None:
    """First and second derivatives of a number, gradients by a matrix."""
    has_closed_forms(name, ("{}", S, 2), ("sum({})", M, 1))


@pytest.mark.long
@family("name", ENTRYWISE)
def test_further_derivatives_entry_by_entry(name: str) -> None:
    has_closed_forms(name, ("{}", S, 1), ("{}", V, 1), ("sum({})", V, 2))


def has_closed_forms(name: str, *wanted: tuple[str, str, int]) -> None:
    call = SPECIAL.get(name) or f"{name}({', '.join(['{0}', 'y', 'z'][: OPERATORS[name].arity])})"
    call = call.format("x")
    for whole, kind, order in wanted:
        text = whole.format(call)
        declared = {k: kind for k in "xy" if re.search(rf"\b{k}\b", text)}
        if name in BY_ORDER:  # what the slope by x is, has no name
            with pytest.raises(Fault, match="no closed form"):
                diff(text, "x", order=order, declared=declared)
        found = diff(text, "y" if name in BY_ORDER else "x", order=order, declared=declared)
        assert found.checked["max_rel_error"] <= 1e-8


EVERY = [form for forms in FORMS.values() for form in forms]


@family("text, declared", EVERY)
def test_closed_forms(text: str, declared: dict) -> None:
    """By every variable."""
    for name in declared:
        found = diff(text, name, declared=declared)
        assert found.checked["max_rel_error"] <= 1e-8


OF_VECTORS = [(text, given) for text, given in EVERY if next(iter(given.values()))[:6] == "vector"]


@family("text, declared", OF_VECTORS[::3], long=OF_VECTORS)
def test_closed_forms_of_hessians_of_squares(text: str, declared: dict) -> None:
    diff(f"sum(({text})**2)", next(iter(declared)), order=2, declared=declared)


@family("text, declared", [*COMPOSED, *TENSORS])
def test_composed_functions_and_tensors(text: str, declared: dict) -> None:
    for name in declared:
        found = diff(text, name, declared=declared)
        assert found.checked["max_rel_error"] <= 1e-8


@family("name", ["median(x)", "sum(sort(x))", "quantile(x, 0.3)", "topk(x, 2)"])
def test_composed_functions_that_look_at_numbers(name: str) -> None:
    with pytest.raises(Fault) as caught:
        diff(name, declared={"x": V})
    assert caught.value.code == "E0701" and "gradcli jac" in (caught.value.help or "")


@family("text", ["x*torch.initial_seed()", "x*torch.is_inference_mode_enabled()"])
def test_numbers_of_the_process_are_refused(text: str) -> None:
    with pytest.raises(Fault) as caught:
        diff(text, declared={"x": V})
    assert caught.value.code == "E0701"


@family("name", REFUSED)
def test_refused_by_name(name: str) -> None:
    text, declared = REFUSED[name]
    with pytest.raises(Fault) as caught:
        diff(text, declared=declared)
    assert caught.value.code == "E0701"
    assert name in caught.value.message and "gradcli jac" in (caught.value.help or "")


@family("text", ["x.roll('a')", "sum(x*int(inf))", "x.roll(1.5)"])
def test_arguments_of_another_kind_are_refused_by_name(text: str) -> None:
    with pytest.raises(Fault) as caught:
        diff(text, "x", declared={"x": "vector"})
    assert caught.value.code in ("E0701", "E0303")
    assert "`_" not in str(caught.value)


@family("text, said", [
    ("sum(layer_norm(x, [n]))", "normalized_shape=[n]"),
    ("sum(layer_norm(x, [2*n]))", "shape [*, 2*n], but got input of size[?]"),
    ("sum(adaptive_avg_pool1d(x, n))", "`adaptive_avg_pool1d`"),
])  # fmt: skip
def test_a_variable_where_a_function_wants_sizes_is_refused_by_its_name(text, said):
    with pytest.raises(Fault) as caught:
        diff(text, "x")
    assert said in caught.value.message


def test_bounds_that_are_values():
    """Huber's own answer, ``clamp(r, -d, d)``, can be differentiated again and printed."""
    result = diff("clamp(x, a, b)**2", "x,a,b")
    assert result.checked["max_rel_error"] < 1e-12
    huber = diff(
        "sum(where(abs(r) <= d, r**2/2, d*abs(r) - d**2/2))", "r",
        declared={"r": "vector", "d": "scalar positive"},
    )  # fmt: skip
    assert huber.text == "clamp(r, -d, d)"
    assert "np.where" in huber.code() and huber.latex
    assert huber.diff("r").checked["max_rel_error"] < 1e-12


def test_a_new_operator_needs_nothing_here(monkeypatch):
    """Declared by computation and rule alone: LaTeX by its name, code nowhere, and that is said."""
    op = elementwise("softeps", lambda x, eps=0.25: np.sqrt(x * x + eps), lambda x, out: x / out)
    monkeypatch.setitem(NAMES._made, "softeps", op)
    try:
        found = diff("x*softeps(x, 0.5)", "x")
        assert found.text == "x**2/softeps(x, 1/2) + softeps(x, 1/2)"
        head = r"\operatorname{softeps}_{\mathrm{eps}\,0.5}\left(x\right)"
        assert found.latex == rf"\frac{{x^{{2}}}}{{{head}}} + {head}"
        with pytest.raises(Fault, match="`softeps` has no counterpart in torch"):
            found.code("torch")
    finally:
        del OPERATORS["softeps"]
        lookup._by_name.cache_clear()


@pytest.mark.parametrize("text", ["1<<2", "x*(8>>1)"])
def test_shifts_are_refused_plainly(text: str) -> None:
    with pytest.raises(Fault, match="a shift of bits has no closed form"):
        diff(text, "x")


@pytest.mark.parametrize("number", ["1." + "1" * 5000, "1e-99999999", "0e99999999"])
def test_numbers_that_are_long_in_decimals_take_no_time(number: str) -> None:
    assert diff(f"x*{number}", "x").evaluate(x=2.0) == float(number)
