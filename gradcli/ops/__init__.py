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
    reduction       sum, mean, prod, var, norm, amax, softmax, cumsum ...
    products        dot, matmul, outer, trace
    linalg          inv, det, logdet, solve, cholesky
    einsum          sums over products, by letters
    running         where running extremes stand
    fourier         the discrete Fourier transform
    conversion      other element types, clone, complex parts
    eigenvalues     eigh, eig
    singular        svd
    factors         qr, lu
    matrix_functions
                    pinv, matrix_exp
    parts           what decompositions share

``core`` says what an operator is and how its one rule is read. This package knows arrays only.
"""

import warnings  # noqa: I001  (the order is that of dependence, and of `gradcli ops`)

from gradcli.ops import (
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
    products,
    linalg,
    einsum,
    reduction as running,
    fft,
    conversion,
)
from gradcli.ops.decompositions import eigen, svd, qr_lu, matrix_functions
from gradcli.ops.operator import OPERATORS, Operator, partial, push_forward

__all__ = ["OPERATORS", "Operator", "partial", "push_forward"]

# NumPy announces 1/0 and log(0); here they are values like any other, as in PyTorch.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gradcli\.")


def _name_families() -> None:
    for module in (comparison, exponential, special, piecewise, arithmetic, trigonometric,
                   shape, indexing, joining, reduction, products, linalg, einsum, running, fft,
                   conversion, eigen, svd, qr_lu, matrix_functions):  # fmt: skip
        family = module.__name__.rpartition(".")[2]
        for value in vars(module).values():
            if isinstance(value, Operator) and not value.family:
                value.family = family


_name_families()
