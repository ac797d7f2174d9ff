"""Cross products come back by their name, however they are nested."""

from __future__ import annotations

from gradcli.symbolic import diff
from tests.support.families import family


@family("expression, wrt, answer", [
        ("dot(a, cross(b, x))", "x", "cross(a, b)"),
        ("dot(a, cross(b, x))", "a", "cross(b, x)"),
        ("dot(a, cross(b, x))", "b", "cross(x, a)"),
        ("dot(a + b, cross(b, x))", "b", "cross(x, a)"),
        ("norm(cross(a, x))**2/2", "x", "cross(cross(a, x), a)"),
        ("norm(cross(a, x) - b)**2", "x", "2*cross(cross(a, x) - b, a)"),
        ("dot(cross(a, b), cross(c, x))", "x", "cross(cross(a, b), c)"),
        ("dot(y, cross(A @ x, b))", "x", "A.T @ cross(b, y)"),
        ("norm(A @ cross(a, x) - b)**2", "x", "2*cross(A.T @ (A @ cross(a, x) - b), a)"),
        ("norm(cross(a, A @ x) - b)**2", "x", "2*A.T @ cross(cross(a, A @ x) - b, a)"),
        (
            "norm(cross(b - a, c - a))/2", "c",
            "cross(a - b, cross(b - a, c - a))/(2*norm(cross(b - a, c - a)))",
        ),
        (
            "norm(cross(x - a, b - a))/norm(b - a)", "x",
            "cross(b - a, cross(x - a, b - a))/(norm(b - a)*norm(cross(x - a, b - a)))",
        ),
        ("dot(x, cross(a, x))", "x", "zeros(3)"),
    ],
)  # fmt: skip
def test_a_derivative_of_a_cross_product_is_one(expression: str, wrt: str, answer: str) -> None:
    found = diff(expression, wrt)
    assert found.text == answer
    assert found.checked is not None and found.checked["max_rel_error"] < 1e-8


def test_rotations_of_other_vectors_stay() -> None:
    shapes = dict.fromkeys("xyz", "vector:4")
    wide = "dot(z, roll(x, 1)*roll(y, 2) - roll(x, 2)*roll(y, 1))"
    assert "cross" not in diff(wide, "z", declared=shapes).text
    three = dict.fromkeys("xyz", "vector:3")
    assert diff(wide, "z", declared=three).text == "cross(y, x)"
    other = wide.replace("roll(y, 1)", "roll(y, 3)")
    assert "cross" not in diff(other, "z", declared=three).text


def test_in_latex_and_in_code_it_is_one_operation() -> None:
    found = diff("norm(cross(a, x) - b)**2", "x")
    a, x, b = (rf"\mathbf{{{name}}}" for name in "axb")
    product = rf"\left({a} \times {x} - {b}\right) \times {a}"
    assert found.latex.endswith(rf"2 \left({product}\right)")
    for library, name in (("numpy", "np."), ("torch", "torch.linalg."), ("jax", "jnp.")):
        code = found.code(library)
        assert code.count(f"{name}cross(") == 2
        assert "roll" not in code
