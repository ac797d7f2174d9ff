"""LaTeX that says what the formula says: every parameter shown, broadcasting in matrices."""

from __future__ import annotations

import pytest

from gradcli.ops import OPERATORS
from gradcli.ops.declaration.infix import is_comparison
from gradcli.ops.errors import Fault
from gradcli.symbolic import diff
from gradcli.symbolic.printers.latex.notation import head
from gradcli.symbolic.printers.latex.writer import _Writer, latex
from gradcli.symbolic.shapes.declarations import parse_declaration
from tests.support.families import family

DECLARED = {
    name: parse_declaration(kind)
    for name, kind in {
        "M": "matrix:m,n", "A": "matrix:n,n", "B": "matrix:n,n", "X": "matrix:n,n",
        "S": "matrix:n,n symmetric", "u": "vector:n", "v": "vector:n", "w": "vector:n",
        "r": "vector:m", "T": "tensor:n,n,n", "a": "scalar", "c": "scalar", "x": "scalar",
    }.items()
}  # fmt: skip


def short(text: str) -> str:
    """A formula and its names, its brackets and bold letters taken off: easier to compare."""
    formula, names = latex(text, DECLARED)
    said = "; ".join([formula, *(f"{a} = {b}" for a, b in names)])
    for mark in (r"\left", r"\right"):
        said = said.replace(mark, "")
    for letter in "MABXSuvwrTRUI1":
        said = said.replace(rf"\mathbf{{{letter}}}", letter)
    return said


@family("text, want", [
        ("polygamma(1, x)", r"\psi^{(1)}\left(x\right)"),
        ("polygamma(2, x)", r"\psi^{(2)}\left(x\right)"),
        ("digamma(x)*lgamma(x)", r"\psi\left(x\right) \log\Gamma\left(x\right)"),
        ("gamma(x)", r"\Gamma\left(x\right)"),
        ("i0(x)", r"I_{0}\left(x\right)"),
        ("i1(x)", r"I_{1}\left(x\right)"),
        ("bessel_j0(x)", r"J_{0}\left(x\right)"),
        ("erf(x)", r"\operatorname{erf}\left(x\right)"),
        ("zeta(a, x)", r"\zeta\left(a, x\right)"),
        ("ndtr(x)", r"\Phi\left(x\right)"),
        ("log_ndtr(x)", r"\log\Phi\left(x\right)"),
        ("gammainc(a, x)", r"P\left(a, x\right)"),
        ("gammaincc(a, x)", r"Q\left(a, x\right)"),
        ("leaky_relu(x, 0.2)", r"\operatorname{LeakyReLU}_{0.2}\left(x\right)"),
        ("clamp(x, 0, 1)", r"\min\left(\max\left(x, 0\right), 1\right)"),
        ("remainder(x, a)", r"x \bmod a"),
    ],
)  # fmt: skip
def test_functions_show_their_parameters(text, want):
    assert latex(text, DECLARED) == (want, [])


@family("text, want", [
        ("std(M, 0, 0)", r"\operatorname{std}_{\mathrm{dim}\,0, \mathrm{correction}\,0}(M)"),
        ("roll(M, 1, 0)", r"\operatorname{roll}_{1, \mathrm{dim}\,0}(M)"),
        ("tril(X, -1)", r"\operatorname{tril}_{-1}(X)"),
        ("amax(M, 0, True)", r"\max_{\mathrm{dim}\,0}(M)^{\top}"),
        ("softmax(M, 1)", r"\operatorname{softmax}_{\mathrm{dim}\,1}(M)"),
        ("softmax(u)", r"\operatorname{softmax}(u)"),
        ("norm(M, 1, 1)", r"\lVert M \rVert_{1, \mathrm{dim}\,1}"),
    ],
)  # fmt: skip
def test_functions_of_matrices_show_their_parameters(text, want):
    assert short(text) == want


def test_every_operator_has_a_notation_with_all_its_parameters_or_is_refused():
    """A parameter that changes the value changes what is written."""
    unknown = set()
    for name, op in OPERATORS.items():
        if hasattr(_Writer, f"do_{name}") or is_comparison(name) or name == "contract":
            continue
        default = head(name, {}, 3)
        if default is None:
            unknown.add(name)
            continue
        other = {"dim": 1, "dims": (1,), "correction": 0, "rtol": 0.5, "atol": 0.5}
        for p, value in op.params.items():
            if p == "keepdim":  # the shape that it makes is the printer's part
                continue
            changed = other.get(p, (value or 0) + 1 if not isinstance(value, tuple) else (1,))
            assert head(name, {p: changed}, 3) != default, (name, p)
    assert unknown == {
        "adjugate_along", "adjugate_along_two", "argcummax", "argcummin", "argsort", "cast",
        "centred", "drawn", "eig_parts", "eigh_parts", "eigvals", "fourier", "gather", "isclose",
        "lerp_number", "lu_compact", "prod_others", "put", "qr_parts", "recurrence",
        "running_largest", "scatter", "sum_to", "svd_parts", "unfold", "ungather",
    }  # fmt: skip


def test_an_operator_without_a_notation_is_refused():
    with pytest.raises(Fault) as caught:
        latex("argsort(v)", DECLARED)
    assert caught.value.code == "E0701"
    assert str(caught.value).startswith("`argsort` has no notation in LaTeX")


@family("text, want", [
        ("M - v", r"M - 1 v^{\top}"),
        ("A - A.T @ v", r"A - 1 v^{\top} A"),
        ("c - X", r"c 1 1^{\top} - X"),
        ("v - c", "v - c 1"),
        ("v - 1", "v - 1"),
        ("M + unsqueeze(r, 1)", r"M + r 1^{\top}"),
        ("M + r[:, None]", r"M + r 1^{\top}"),
        ("M*v", r"M \operatorname{diag}(v)"),
        ("M*unsqueeze(r, 1)", r"\operatorname{diag}(r) M"),
        ("M/v", r"M \operatorname{diag}(v)^{-1}"),
        ("unsqueeze(r, 1)*v", r"r v^{\top}"),
        ("X*A", r"X \odot A"),
        ("c/v", r"c v^{\odot -1}"),
        ("v**(a - 1)", r"v^{\odot (a - 1)}"),
        ("max(M, v)", r"\max(M, 1 v^{\top})"),
        ("sum(M, 0)", r"M^{\top} 1"),
        ("sum(M, 1)", "M 1"),
        ("M - sum(M, 1, True)", r"M - M 1 1^{\top}"),
        ("mean(M, 0)", r"\frac{1}{m} M^{\top} 1"),
        ("v @ A + u", r"A^{\top} v + u"),
        ("v @ S + u", "S v + u"),
    ],
)  # fmt: skip
def test_broadcasting_is_written_in_matrices(text, want):
    assert short(text) == want


@family("text, want", [
        ("dot(u, v)*v", r"(u^{\top} v) v"),
        ("2*dot(u, v)", r"2 u^{\top} v"),
        ("-2*X @ A @ v", "-2 X A v"),
        ("-2*cos(2*x)*sin(2*x)", r"-2 \cos(2 x) \sin(2 x)"),
        ("(-c*a)*v/x", r"-\frac{c a v}{x}"),
        ("X @ X @ X @ v", "X^{3} v"),
        ("inv(X) @ inv(X) @ v", "X^{-2} v"),
        ("(A + B) @ X @ (A - B)", "(A + B) X (A - B)"),
        ("-(A + B) @ v", "-(A + B) v"),
        ("u - (-v)*w", r"u + v \odot w"),
        ("outer(A @ u, v)", r"A u v^{\top}"),
        ("inv(X.T) @ u", r"X^{-\top} u"),
        ("c - sum(u)", r"c - \sum_{i} u_{i}"),
        ("sum(u)*c", r"(\sum_{i} u_{i}) c"),
        ("2e-7**x", r"(2 \cdot 10^{-7})^{x}"),
        ("log(x)**2", r"\log^{2}(x)"),
        ("kron(A, B) @ kron(v, v)", r"(A \otimes B) (v \otimes v)"),
    ],
)  # fmt: skip
def test_products(text, want):
    assert short(text) == want


@family("text, want", [
        ("einsum('ij,jk->ik', A, B)", r"[ \sum_{k} A_{ik} B_{kj} ]_{ij}"),
        ("einsum('ij,jk,kl->il', A, B, X)", r"[ \sum_{k,l} A_{il} B_{lk} X_{kj} ]_{ij}"),
        ("einsum('ij,ij->', A, B)", r"\sum_{i,j} A_{ij} B_{ij}"),
        ("2*einsum('i,j,k->ijk', u, v, w) - c*einsum('ij,k->ijk', X @ X, v)",
         r"[ 2 u_{i} v_{j} w_{k} - c (X^{2})_{ij} v_{k} ]_{ijk}"),
        ("einsum('ik,jl->ijkl', eye(n), inv(X).T)", r"[ \delta_{ik} (X^{-1})_{lj} ]_{ijkl}"),
        ("-einsum('i,ij,ik->ijk', 1/v**3, eye(n), eye(n))",
         r"[ -\frac{\delta_{ij} \delta_{ik}}{v_{i}^{3}} ]_{ijk}"),
        ("T*c - v", r"[ c T_{ijk} - v_{k} ]_{ijk}"),
        ("einsum('ij,jk->ik', A - B, X) @ v", r"[ \sum_{k} (A_{ik} - B_{ik}) X_{kj} ]_{ij} v"),
    ],
)  # fmt: skip
def test_einsum_is_written_by_its_entries(text, want):
    assert short(text) == want


def test_an_index_is_no_size():
    declared = {k: parse_declaration("matrix:k,k") for k in ("A", "B")}
    formula, _ = latex("einsum('ij,jk->ik', A, B)", declared)
    assert formula == r"\left[ \sum_{l} A_{il} B_{lj} \right]_{ij}"


def test_many_terms_need_no_stack():
    text = " + ".join(f"einsum('i,j,k->ijk', {x}, v, w)" for x in ["u", "v"] * 300)
    assert latex(text, DECLARED, False)[0].count("v_{j}") == 600


def test_an_einsum_that_has_a_name_is_written_where_the_name_is_said():
    """The name stands in the formula; what it stands for is not the name again."""
    text = "einsum('ij,jk,kl->il', A + B, B, X)"
    named = r"R = [ \sum_{k,l} (A_{il} + B_{il}) B_{lk} X_{kj} ]_{ij}"
    assert short(f"sin({text}) @ v + cos({text}) @ u") == rf"\sin(R) v + \cos(R) u; {named}"
    assert short(f"{text}*c - einsum('ij,k->ijk', {text}, v)") == (
        rf"[ c R_{{jk}} - R_{{ij}} v_{{k}} ]_{{ijk}}; {named}"
    )


def test_a_product_of_few_entries_has_no_name():
    text = "einsum('ik,jl,im->ijklm', eye(n), eye(n), A)"
    assert short(f"{text} + einsum('ijklm,ijklm->ijklm', {text}, {text})") == (
        r"[ \delta_{ik} \delta_{jl} A_{im} + \delta_{ik} \delta_{jl} A_{im}"
        r" \delta_{ik} \delta_{jl} A_{im} ]_{ijklm}"
    )


def test_the_second_derivative_through_rows_of_softmax_has_its_entries():
    result = diff("sum(C*softmax(S, 1))", "S", order=2)
    terms = [
        r"\delta_{ik} \delta_{jl} C_{ij}",
        r"\left(\sum_{p} \delta_{ik} \delta_{jl} P_{ip} C_{ip}\right)",
        r"\left(\sum_{p} 2 \delta_{ik} P_{ip} P_{il} C_{ip}\right)",
        r"\delta_{ik} P_{il} C_{ij}",
        r"\delta_{ik} P_{il} C_{il}",
    ]
    inner = "{} - {} + {} - {} - {}".format(*terms)
    formula, names = latex(result.text, result.declared)
    assert formula == rf"\left[ \left({inner}\right) P_{{ij}} \right]_{{ijkl}}"
    softmax = r"\operatorname{softmax}_{\mathrm{dim}\,1}\left(\mathbf{S}\right)"
    assert names == [(r"\mathbf{P}", softmax)]


MATRICES = {"S": "matrix", "W": "matrix", "x": "vector", "c": "scalar positive"}


@family(
    "expr, wrt",
    [
        ("norm(softmax(S, 1))**2", "S"),
        ("sum(ndtr(W @ x)*(W @ x))", "W"),
        ("logdet(A - S @ inv(V) @ S.T)", "S"),
        ("sum(log_softmax(S, 1)*softmax(S, 1))", "S"),
        ("norm(softmax(Q @ K.T, 1) @ V - Y)**2", "Q"),
        ("sum(Y*((S - mean(S, 0))/sqrt(var(S, 0) + c)))", "S"),
    ],
)
def test_second_derivatives_by_matrices_have_a_notation(expr, wrt):
    declared = {k: d for k, d in MATRICES.items() if k in expr}
    said = diff(expr, wrt, order=2, declared=declared).latex
    assert said.count("{") == said.count("}")
    assert said.count(r"\left") == said.count(r"\right")


@family(
    "start, step, count",
    [
        ("A", "einsum('ij,jk->ik', B/{}, A)", r"\sum_{k}"),
        ("A", "(einsum('ij,jk->ik', {}, A) + B)", r"\sum"),
        ("A", "einsum('ij,jk->ik', sin({}), A)", r"\sum_{k}"),
        ("a", "einsum('i,i->', v/{}, v)", r"\sum_{i}"),
    ],
)
def test_einsums_within_one_another_need_no_stack(start, step, count):
    text = start
    for _ in range(300):
        text = step.format(text)
    assert latex(text, DECLARED, False)[0].count(count) == 300


@pytest.mark.parametrize(
    ("expr", "wrt", "order", "want"),
    [
        ("lgamma(x)", "x", 2, r"\psi^{(1)}\left(x\right)"),
        ("norm(X @ W + b - Y)**2", "b", 1,
         r"2 \left(\mathbf{X} \mathbf{W} + \mathbf{1} \mathbf{b}^{\top}"
         r" - \mathbf{Y}\right)^{\top} \mathbf{1}"),
    ],
)  # fmt: skip
def test_derivatives(expr, wrt, order, want):
    declared = {"b": "vector"} if "b" in wrt else {}
    assert diff(expr, wrt, order=order, declared=declared).latex == want


def test_what_reads_better_spelled_out_is_not_named():
    assert short("X.T @ A @ X.T @ B @ X.T @ v") == r"X^{\top} A X^{\top} B X^{\top} v"
    assert short("(A + eye(n)) @ (B + eye(n)) @ (X + eye(n)) @ v") == (
        "(A + I_{n}) (B + I_{n}) (X + I_{n}) v"
    )
    assert short("inv(A + B) @ v + inv(A + B) @ u") == "R v + R u; R = (A + B)^{-1}"
