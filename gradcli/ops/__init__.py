"""The operators: what each computes and its derivative rule, a file per family.

    comparison      ==, <, logic, tests, sign and other operators without a derivative
    exponential     exp, log and the sigmoid family
    special         erf, gamma, Bessel functions, sinc
    piecewise       where, abs, minimum, maximum, clamp, rectifiers
    arithmetic      + - * / ** and rounding
    trigonometric   circular and hyperbolic functions and their inverses
    shape           reshape, expand, transpose, flip, diagonal ...
    indexing        x[...], scatter, gather
    joining         cat, stack
    reduction       sum, mean, prod, var, norm, amax, softmax ...
    scans           cumsum, cumprod, logcumsumexp, running extremes
    products        dot, matmul, outer, trace
    linalg          inv, det, logdet, solve, cholesky
    einsum          sums over products, by letters
    fft             the discrete Fourier transform
    conversion      other element types, clone, complex parts
    decompositions  eigenvalues, singular values, QR, LU; pinv, exp, roots and logarithms

``operator`` says what an operator is, ``kinds`` how each kind is declared, ``read`` how a rule is
read forward and on arrays. This package knows arrays only.
"""

from gradcli.ops import (  # noqa: I001  (the order is that of dependence, and of `gradcli ops`)
    comparison,
    exponential,
    special,
    piecewise,
    arithmetic,
    trigonometric,
    shape,
    indexing,
    joining,
    reduction,
    scans,
    products,
    linalg,
    einsum,
    fft,
    conversion,
)
from gradcli.ops.decompositions import eigen, svd, qr_lu, matrix_functions
from gradcli.ops.operator import OPERATORS, Operator
from gradcli.ops.read import partial, push_forward

__all__ = ["OPERATORS", "Operator", "partial", "push_forward"]


def _name_families() -> None:
    for module in (comparison, exponential, special, piecewise, arithmetic, trigonometric,
                   shape, indexing, joining, reduction, scans, products, linalg, einsum, fft,
                   conversion, eigen, svd, qr_lu, matrix_functions):  # fmt: skip
        family = module.__name__.rpartition(".")[2]
        for value in vars(module).values():
            if isinstance(value, Operator) and not value.family:
                value.family = family


_name_families()
