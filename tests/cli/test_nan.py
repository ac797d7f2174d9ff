"""NaN and infinity: where the first one comes from, by ``--nan``."""

from __future__ import annotations

import json

from tests.support.families import family


def test_error_points_at_the_operation(cli):
    done = cli("grad", "sum(log(x - 2))", "--x", "1,5,6,7", "--nan", "error")
    assert done.code == 1
    assert "error[E0501]: log of a negative number gives NaN" in done.err
    assert "    ^^^^^^^^^^ x - 2 is -1 at index 0; 1 of 4 elements" in done.err
    assert "note: NaN appears first here, on the forward pass" in done.err
    assert "--nan allow" in done.err and not done.out


def test_warning_is_the_default(cli):
    done = cli("eval", "sum(log(x - 2))", "--x", "1,5")
    assert done.code == 0 and done.out == "value  nan\n"
    assert "warning: the value is not finite: log of a negative number gives NaN" in done.err
    assert "(line 1, column 5)" in done.err


def test_allow_says_nothing(cli):
    done = cli("grad", "1/x", "--x", "0", "--nan", "allow")
    assert done.code == 0 and not done.err


@family(
    "text, said",
    [
        ("1/x", "division by zero gives an infinite number"),
        ("sqrt(x)*0 + x", "the slope of sqrt at zero gives NaN"),
        ("y = x - 1\nlog(y)", "log of a negative number gives NaN"),
    ],
)
def test_reasons(cli, text, said):
    done = cli("grad", text, "--x", "0", "--nan", "error")
    assert done.code == 1 and said in done.err


def test_a_given_nan_is_named(cli):
    done = cli("eval", "x + 1", "--x", "nan", "--nan", "error")
    assert done.code == 1 and "`x` was given as a number that is not finite" in done.err


def test_finite_results_are_not_looked_at(cli):
    assert cli("grad", "x^2", "--x", "3", "--nan", "error").code == 0
    assert cli("eval", "x > 2", "--x", "3", "--nan", "error").code == 0
    assert cli("grad", "x", "--x", "3", "--nan", "often").code == 2


def test_a_jacobian_of_complex_results_says_what_it_is(cli):
    done = cli("jac", "x*1j", "--x", "2")
    assert done.code == 0 and "by x, which is real, this is the real part" in done.err
    done = cli("jac", "z**2", "--z", "1+2j")  # z**2 has the derivative 2+4j
    assert "2-4j" in done.out and "these are gradients of the real part, conj(f')" in done.err
    assert "2+4j" in cli("jvp", "z**2", "--z", "1+2j", "--along", "z=1").out
    assert not cli("jac", "abs(z)", "--z", "2+1j").err and not cli("jac", "x*2", "--x", "2").err


@family(
    "words, said",
    [
        ("eval x*log(x) --x 0", "the value is not finite: log of zero"),
        ("grad sqrt(x) --x 0", "the gradient by x is not finite: the slope of sqrt at zero"),
        ("vjp sqrt(x) --x 0", "the gradient by x is not finite: the slope of sqrt at zero"),
        ("jvp sqrt(x) --x 0 --along x=1", "the tangent is not finite: the slope of sqrt at zero"),
        ("hvp sqrt(x) --x 0 --along x=1", "the product for x is not finite: the slope of sqrt"),
        ("jac sqrt(x) --x 0,1", "the Jacobian by x is not finite: the slope of sqrt at zero"),
        ("hess x**1.5*y --x 0 --y 1", "the second derivative by x is not finite"),
        ("hess x*sqrt(y) --x 1 --y 0", "the second derivative by x,y is not finite"),
    ],
)
def test_every_command_warns_of_what_is_not_finite(cli, words, said):
    done = cli(*words.split())
    assert done.code == 0 and f"warning: {said}" in done.err
    assert said in " ".join(json.loads(cli(*words.split(), "--json").out)["warnings"])
    assert not cli(*words.split(), "--nan", "allow").err
    refused = cli(*words.split(), "--nan", "error")
    assert refused.code == 1 and "error[E0501]" in refused.err and not refused.out


@family(
    "command, text, point, said",
    [
        ("hess", "abs(x)**2", "0", "at x = 0: derivative of abs taken as 0"),
        ("hess", "sum(relu(x - 1)**2)", "1,3", "at (x - 1) = 0: derivative of relu taken as 0"),
        ("hess", "norm(x, 1)**2", "0,2", "where an entry of x is 0: derivative of abs taken as 0"),
        ("hess", "amax(x, dim=0)**2", "1,1", "where largest entries of x tie"),
        ("hess", "abs(x)", "0", "at x = 0: derivative of abs taken as 0"),
        ("hess", "median(x)**2", "1,1,2", "may be wrong"),
        ("hess", "abs(cos(x) - 1)", "0", "(cos(x) - 1) = 0"),
        ("hess", "sum(relu(x)**1.5)", "0,2", "at x = 0: derivative of relu taken as 0"),
        ("hess", "where(norm(x) > 0, norm(x)**1.5, 0)", "0,0", "where norm(x) > 0 changes"),
        ("hvp --along x=1", "(sign(x)*x)**2", "0", "where sign of x jumps"),
        ("hess", "i1e(x)", "0", "as second derivative"),
        ("jac", "torch.func.grad(lambda v: v.abs()**2)(x)", "0", "may be wrong"),
        ("grad", "torch.func.grad(lambda v: v.abs()**2)(x)", "0", "may be wrong"),
    ],
)
def test_second_derivatives_on_a_kink_are_told(cli, command, text, point, said):
    command, *options = command.split()
    done = cli(command, text, "--x", point, *options)
    assert done.code == 0 and "the point is on a kink" in done.err and said in done.err
    given = json.loads(cli(command, text, "--x", point, *options, "--json").out)
    assert said in given["warnings"][0]


@family(
    "command, text, point",
    [
        ("jac", "abs(x)", "0"), ("grad", "relu(x)", "0"),  # of first order the slope is PyTorch's
        ("hess", "abs(x)**3", "0"), ("hess", "where(x > 0, abs(x - x)**2, x)", "-1"),
        ("hess", "max_pool1d(relu(x), 2).sum()", "-1,-2;-3,-4"), ("hess", "norm(x)**2", "0,1"),
        ("hess", "sin(1e12*x)", "3"), ("hess", "exp(-(1e12*x)**2)", "0"),
        ("hvp --along x=0", "abs(x)**2", "0"), ("hess", "prod(x)", "0,0,1"),
    ],
)  # fmt: skip
def test_elsewhere_nothing_is_said_of_kinks(cli, command, text, point):
    command, *options = command.split()
    done = cli(command, text, f"--x={point}", *options)
    assert done.code == 0 and not done.err
