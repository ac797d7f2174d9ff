"""The operator table: one row per operator, from which every operator test is derived.

A row says how to call the operator, what PyTorch calls the same thing, what a node of it keeps
alive and which slope it has at its kinks. An operator without a row, or a row without an operator,
fails the run. Families stand in the order of ``gradcli.ops``. The values and derivatives that
PyTorch gives for each case are recorded in ``tests/oracles/operators.json.gz``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.rows import Case, Draw, Kink, Number, Row

inf, nan = float("inf"), float("nan")
ALL_DIMS = (
    {},
    {"dim": 1},
    {"dim": -1, "keepdim": True},
    {"dim": (0, 2)},
    {"dim": 0, "keepdim": True},
)
FLAT_DIMS = (
    {},
    {"dim": 1},
    {"dim": -1, "keepdim": True},
    {"dim": (0, 1)},
    {"dim": 0, "keepdim": True},
)
ONE_DIM = ({}, {"dim": 1}, {"dim": -1, "keepdim": True}, {"dim": 0})


def unary(name: str, torch: str | None, low: float = -2, high: float = 2, **more: Any) -> Row:
    """An elementwise operator of one tensor: 1-d, 2-d, 0-d and empty; complex where PyTorch has
    it.
    """
    avoid = more.pop("avoid", ())
    params = more.pop("params", ({},))
    shapes = [(5,), (), (0,), (2, 3)]
    cases = [Case((Draw(s, low, high, avoid),), p) for p in params for s in shapes]
    if more.pop("complex", False):
        bound = min(high, 2)
        cases += [Case((Draw(s, max(low, -2), bound, avoid, complex=True),), p)
                  for p in params for s in ((3,), ())]  # fmt: skip
    return Row(name, tuple(cases), torch, elementwise=True, **more)


def binary(name: str, torch: str | None, low: float = -2, high: float = 2, **more: Any) -> Row:
    """An elementwise operator of two tensors, in all ways that they can be broadcast together."""
    low2, high2 = more.pop("second", (low, high))
    pairs = [((4,), (4,)), ((), ()), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (3,)), ((3,), ()),
        ((1,), (2, 2)),
             ((0,), (1,)), ((2, 0), ())]  # fmt: skip
    cases = [Case((Draw(a, low, high), Draw(b, low2, high2))) for a, b in pairs]
    number = Number(round(0.37 * low2 + 0.63 * high2, 3))
    if "right" in (numbers := more.pop("numbers", "left right")):
        cases += [Case((Draw(s, low, high), number)) for s in ((3,), ())]
    if "left" in numbers:
        cases.append(Case((number, Draw((3,), low2, high2))))
    if more.pop("complex", False):
        cases += [Case((Draw(a, low, high, complex=True), Draw(b, low2, high2, complex=True)))
                  for a, b in (((3,), (3,)), ((2, 1), (2,)), ((), ()))]  # fmt: skip
    cases += more.pop("extra", [])
    return Row(name, tuple(cases), torch, wrt=more.pop("wrt", (0, 1)), elementwise=True, **more)


def test_of(name: str, torch: str | None, *args: tuple, **more: Any) -> Row:
    """An operator without a derivative, at given arguments."""
    params = more.pop("params", ({},))
    cases = tuple(Case(a, p) for p in params for a in args)
    return Row(name, cases, torch, wrt=(), **more)


test_of.__test__ = False


def over(
    name: str, torch: str | None, shape: tuple = (2, 3, 2), params: tuple = ALL_DIMS, **more: Any
) -> Row:
    """A reduction: over all entries, along dimensions, of a 0-d and of an empty tensor."""
    low, high, avoid = more.pop("low", -2), more.pop("high", 2), more.pop("avoid", ())
    cases = [Case((Draw(shape, low, high, avoid, gap=0.2),), p) for p in params]
    cases += [Case((Draw((), low, high),), p) for p in more.pop("scalar", ({},))]
    cases += [Case((Draw(s),), p) for s, p in more.pop("empty", (((0,), {}), ((2, 0), {"dim": 0})))]
    if more.pop("complex", False):
        cases += [Case((Draw((2, 3), low, high, complex=True),), p) for p in ({}, {"dim": 1})]
    cases += more.pop("extra", [])
    return Row(name, tuple(cases), torch, **more)


def moved(name: str, torch: str | None, *cases: tuple, **more: Any) -> Row:
    """A linear operator that moves entries: pairs of a shape and parameters."""
    made = [Case((Draw(s),), p) for s, p in cases]
    if more.pop("complex", True):
        made.append(Case((Draw(cases[0][0], complex=True),), cases[0][1]))
    return Row(name, (*made, *more.pop("extra", ())), torch, **more)


TWO = (
    ([1.0, 2.0, -3.0, nan], [1.0, 3.0, -4.0, nan]), (2.0, 2.0), ([[1, 2], [3, 4]], [2, 2]),
    ([True, False], [1, 0]), ([], []), ([1.5, 2.0], Number(2)),
)  # fmt: skip
BOOLS = (([True, True, False, False], [True, False, True, False]), (True, False), ([], []),
         ([0.0, 2.0, -1.0], [1.0, 0.0, nan]))  # fmt: skip
ODD = ([1.0, -0.0, 0.0, nan, inf, -inf, -2.5],)
ORDERED = ([[3.0, 1.0, 2.0], [1.0, 4.0, 1.0]],)

COMPARISON = (
    test_of("eq", "torch.eq(x, y)", *TWO, result="bool"),
    test_of("ne", "torch.ne(x, y)", *TWO, result="bool"),
    test_of("lt", "torch.lt(x, y)", *TWO, result="bool"),
    test_of("le", "torch.le(x, y)", *TWO, result="bool"),
    test_of("gt", "torch.gt(x, y)", *TWO, result="bool"),
    test_of("ge", "torch.ge(x, y)", *TWO, result="bool"),
    test_of("logical_and", "torch.logical_and(x, y)", *BOOLS, result="bool"),
    test_of("logical_or", "torch.logical_or(x, y)", *BOOLS, result="bool"),
    test_of("logical_xor", "torch.logical_xor(x, y)", *BOOLS, result="bool"),
    test_of("logical_not", "torch.logical_not(x)", *((a,) for a, _ in BOOLS), result="bool"),
    test_of("isnan", "torch.isnan(x)", ODD, (nan,), ([],), result="bool"),
    test_of("isinf", "torch.isinf(x)", ODD, (inf,), ([],), result="bool"),
    test_of("isfinite", "torch.isfinite(x)", ODD, (inf,), ([],), result="bool"),
    test_of("isclose", "torch.isclose(x, y, rtol, atol, equal_nan)",
        ([1.0, 1.0, nan, inf, 0.0], [1.00001, 1.1, nan, inf, 1e-9]), (1.0, 1.0), ([], []),
        params=({"rtol": 1e-5, "atol": 1e-8, "equal_nan": False},
                {"rtol": 0.2, "atol": 0.0, "equal_nan": False},
                {"rtol": 1e-5, "atol": 1e-8, "equal_nan": True}), result="bool"),
    test_of("all", "torch.all(x) if dim is None else torch.all(x, dim, keepdim)",
        ([[True, True], [False, True]],), ([[1.0, nan], [0.0, 1.0]],),
        params=({}, {"dim": 0}, {"dim": -1, "keepdim": True}), result="bool",
        apart="0-d and empty: test_reductions.py"),
    test_of("any", "torch.any(x) if dim is None else torch.any(x, dim, keepdim)",
        ([[True, True], [False, False]],), ([[0.0, nan], [0.0, 0.0]],),
        params=({}, {"dim": 0}, {"dim": -1, "keepdim": True}), result="bool",
        apart="0-d and empty: test_reductions.py"),
    test_of("count_nonzero", "torch.count_nonzero(x, dim)", ([[1.0, 0.0], [nan, 2.0]],),
        params=({}, {"dim": 0}, {"dim": 1}), result="int64",
        apart="0-d and empty: test_reductions.py"),
    test_of("argmax", "torch.argmax(x, dim, keepdim)", ORDERED,
        params=({}, {"dim": 0}, {"dim": -1, "keepdim": True}), result="int64",
        apart="0-d and empty: test_reductions.py"),
    test_of("argmin", "torch.argmin(x, dim, keepdim)", ORDERED,
        params=({}, {"dim": 0}, {"dim": -1, "keepdim": True}), result="int64",
        apart="0-d and empty: test_reductions.py"),
    test_of("argsort", "torch.argsort(x, dim=dim, descending=descending, stable=True)", ORDERED,
        params=({}, {"dim": 0}, {"descending": True}), result="int64",
        apart="0-d and empty: test_reductions.py"),
    test_of("zeros_like", "torch.zeros_like(x)", ODD, (2.0,), ([],), ([True],), ([3, 4],)),
    test_of("ones_like", "torch.ones_like(x)", ODD, (2.0,), ([],), ([True],), ([3, 4],)),
    test_of("sign", "torch.sign(x)", ([1.0, -0.0, 0.0, inf, -inf, -2.5],), (-2.0,), ([],),
        ([-3, 0, 4],)),
    test_of("signbit", "torch.signbit(x)", ([1.0, -0.0, 0.0, -inf, -2.5],), (-2.0,), ([],),
        result="bool"),
)  # fmt: skip

DOUBLE = "torch.as_tensor(%s, dtype=torch.float64)"  # for operators of PyTorch that take no number
EXPONENTIAL = (
    unary("exp", "torch.exp(x)", saves=("out",), complex=True),
    unary("exp2", "torch.exp2(x)", saves=("out",)),
    unary("expm1", "torch.expm1(x)", saves=("x",), complex=True),
    unary("log", "torch.log(x)", 0.3, 3, saves=("x",), complex=True, kinks=(
        Kink(([-1.0, 0.0],), [nan, -inf], ([-1.0, inf],)),
    )),
    unary("log2", "torch.log2(x)", 0.3, 3, saves=("x",), complex=True),
    unary("log10", "torch.log10(x)", 0.3, 3, saves=("x",), complex=True),
    unary("log1p", "torch.log1p(x)", -0.5, 3, saves=("x",), complex=True, kinks=(
        Kink(([1e-18, -1.0],), [1e-18, -inf], ([1.0, inf],)),
    )),
    unary("sigmoid", "torch.sigmoid(x)", -4, 4, saves=("out",), complex=True, kinks=(
        Kink(([1000.0, -1000.0],), [1.0, 0.0], ([0.0, 0.0],)),
    )),
    unary("logistic", "torch.sigmoid(x)", -4, 4, saves=("x", "out")),
    unary("logsigmoid", "F.logsigmoid(x)", -4, 4, saves=("x",), kinks=(
        Kink(([0.0, 1000.0, -1000.0],), [-0.6931471805599453, 0.0, -1000.0], ([0.5, 0.0, 1.0],)),
    )),
    unary("softplus", "F.softplus(x)", -4, 4, saves=("x",), kinks=(
        Kink(([0.0, 1000.0, -1000.0],), [0.6931471805599453, 1000.0, 0.0], ([0.5, 1.0, 0.0],)),
    )),
    unary("logit", "torch.logit(x)", 0.1, 0.9, saves=("x",), kinks=(
        Kink(([0.0, 1.0],), [-inf, inf], ([inf, inf],)),
    )),
    binary("logaddexp", f"torch.logaddexp({DOUBLE % 'x'}, {DOUBLE % 'y'})", saves=("x", "y"),
        kinks=(
        Kink(([1000.0, -1000.0], [1000.0, 0.0]), [1000.6931471805599, 0.0],
        ([0.5, 0.0], [0.5, 1.0])),
    )),
    unary("softsign", "F.softsign(x)", saves=("x",), avoid=(0.0,), order=3, kinks=(
        Kink(([0.0],), [0.0], ([1.0],)),
    )),
)  # fmt: skip

SPECIAL = (
    unary("bell", None, saves=("x",), params=({}, {"rate": 0.5}, {"rate": 0.5, "n": 3}), kinks=(
        Kink(([inf, -inf, 1e308],), [0.0, 0.0, 0.0], ([-0.0, 0.0, -0.0],)),
    )),
    unary("erf", "torch.erf(x)", saves=("x",)),
    unary("erfc", "torch.erfc(x)", saves=("x",)),
    unary("erfcx", "torch.special.erfcx(x)", saves=("x",)),
    unary("erfcx_slope", None, saves=("x",), params=({"n": 1}, {"n": 2})),
    unary("mills", None, saves=("x",)),
    unary("mills_slope", None, saves=("x",), params=({"n": 1}, {"n": 2})),
    unary("erfinv", "torch.erfinv(x)", -0.8, 0.8, saves=("out",), kinks=(
        Kink(([1.0, -1.0],), [inf, -inf], ([inf, inf],)),
    )),
    unary("ndtr", "torch.special.ndtr(x)", saves=("x",)),
    unary("ndtri", "torch.special.ndtri(x)", 0.1, 0.9, saves=("out",)),
    unary("log_ndtr", "torch.special.log_ndtr(x)", saves=("x",), kinks=(
        Kink(([-1e10],), [-5e19], ([1e10],), torch="its slope is infinite there"),
    )),
    unary("entr", "torch.special.entr(x)", 0.3, 3, saves=("x",), kinks=(
        Kink(([0.0, -1.0],), [0.0, -inf], ([inf, nan],)),
    )),
    # PyTorch's trigamma has ten digits only: its derivatives are not asked for. Its zeta is exact.
    unary("gamma", "torch.exp(torch.lgamma(x))", 0.3, 3, saves=("x", "out"), order=1),
    unary("lgamma", "torch.lgamma(x)", 0.3, 3, saves=("x",), order=1),
    unary("digamma", "torch.digamma(x)", 0.3, 3, saves=("x",), order=0),
    unary("polygamma", f"(-1.0)**(n + 1) * n * torch.special.zeta({DOUBLE % '(n + 1)'}, x)",
        0.3, 3, saves=("x",), params=({"n": 1}, {"n": 2})),
    binary("zeta", f"torch.special.zeta({DOUBLE % 'x'}, y)", 1.5, 4, second=(0.5, 3),
        numbers="left", wrt=(1,), saves=("x", "y")),
    binary("gammainc", f"torch.special.gammainc({DOUBLE % 'x'}, y)", 0.5, 3, second=(0.3, 3),
        numbers="left", wrt=(1,), saves=("x", "y")),
    binary("gammaincc", f"torch.special.gammaincc({DOUBLE % 'x'}, y)", 0.5, 3, second=(0.3, 3),
        numbers="left", wrt=(1,), saves=("x", "y")),
    unary("bessel_i", "torch.special.i0(x) if n == 0 else torch.special.i1(x)", saves=("x",),
        params=({"n": 0}, {"n": 1}), avoid=(0.0,)),
    unary("bessel_ie", "torch.special.i0e(x) if n == 0 else torch.special.i1e(x)",
        saves=("x", "out"), params=({"n": 0}, {"n": 1}), avoid=(0.0,)),
    unary("decay_slope", None, 0.3, 3, saves=("x",),
        params=({"order": 0}, {"order": 1}, {"order": 1, "n": 2, "second": True})),
    unary("bessel_j", "torch.special.bessel_j0(x) if n == 0 else torch.special.bessel_j1(x)",
        saves=("x",), params=({"n": 0}, {"n": 1}), order=0),
    unary("i0", "torch.special.i0(x)", saves=("x",), avoid=(0.0,), kinks=(
        Kink(([0.0],), [1.0], ([0.0],)),
    )),
    unary("i1", "torch.special.i1(x)", saves=("x",), avoid=(0.0,), kinks=(
        Kink(([0.0],), [0.0], ([0.5],)),
    )),
    unary("i0e", "torch.special.i0e(x)", saves=("x",), avoid=(0.0,), kinks=(
        Kink(([0.0],), [1.0], ([0.0],)),
    )),
    unary("i1e", "torch.special.i1e(x)", saves=("x",), avoid=(0.0,), kinks=(
        Kink(([0.0],), [0.0], ([0.5],)),
    )),
    unary("airy_ai", "torch.special.airy_ai(x)", saves=("x",), order=0),
    unary("airy_ai_slope", None, saves=("x",)),
    unary("scaled_modified_bessel_k0", "torch.special.scaled_modified_bessel_k0(x)", 0.3, 3,
        saves=("x",), order=0),
    unary("scaled_modified_bessel_k1", "torch.special.scaled_modified_bessel_k1(x)", 0.3, 3,
        saves=("x",), order=0),
    unary("spherical_bessel_j0", "torch.special.spherical_bessel_j0(x)", saves=("x",), order=0),
    unary("bessel_j0", "torch.special.bessel_j0(x)", saves=("x",), order=0),
    unary("bessel_j1", "torch.special.bessel_j1(x)", saves=("x",), order=0),
    binary("xlogy", "torch.xlogy(x, y)", 0.3, 2, saves=("x", "y"), kinks=(
        Kink(([0.0, 0.0, 0.0], [2.0, inf, 0.0]), [0.0, 0.0, 0.0],
            ([float(np.log(2)), inf, 0.0], [0.0, 0.0, nan])),
        Kink(([0.0, 1.0], [nan, nan]), [nan, nan], ([nan, nan], [nan, nan])),
    )),
    binary("xlog1py", "torch.special.xlog1py(x, y)", 0.3, 2, saves=("x", "y"), kinks=(
        Kink(([0.0, 0.0], [1.0, -1.0]), [0.0, 0.0], ([float(np.log(2)), 0.0], [0.0, nan])),
    )),
    unary("sinc", "torch.sinc(x)", saves=("x",), avoid=(0.0,), kinks=(
        Kink(([0.0],), [1.0], ([0.0],)),
    )),
    binary("zeta_slope", None, 1.5, 4, second=(0.5, 3), numbers="", saves=("x", "y"),
        extra=[Case((Draw((3,), 1.5, 4), Draw((3,), 0.5, 3)), {"n": 2})]),
    binary("log_ratio", None, 0.5, 40, second=(0.3, 40), numbers="", saves=("x", "y")),
    binary("gamma_density", None, 0.5, 3, second=(0.3, 3), numbers="", saves=("x", "y", "out"),
        extra=[Case((Draw((3,), 0.5, 3), Draw((3,), 0.3, 3)), {"n": 2})]),
    binary("gammainc_slope", None, 0.5, 3, second=(0.3, 3), numbers="", saves=("x", "y"),
        extra=[Case((Draw((3,), 0.5, 3), Draw((3,), 0.3, 3)), {"n": 2})]),
    binary("glu", None, numbers="", saves=("x", "y")),
    unary("silu", "F.silu(x)", saves=("x",)), unary("mish", "F.mish(x)", saves=("x",)),
    unary("gelu", "F.gelu(x)", saves=("x",)),
    unary("gelu_tanh", "F.gelu(x, approximate='tanh')", saves=("x",)),
    unary("gelu_tanh_slope", None, saves=("x",)),
    unary("sinc_slope", None, saves=("x",), params=({"n": 1}, {"n": 2}, {"n": 3, "unit": 1.0})),
)  # fmt: skip

TIE = ([1.0, 2.0, 3.0], [1.0, 5.0, -1.0])
NAN_LEFT, NAN_RIGHT = ([nan, 1.0], [1.0, nan])
WHERE_PAIRS = (((4,), (4,), (4,)), ((2, 3), (3,), ()), ((2, 1), (1, 3), (2, 3)), ((), (), ()),
               ((0,), (0,), (1,)))  # fmt: skip

PIECEWISE = (
    Row("where", (
        *(Case((np.arange(int(np.prod(c, dtype=int))).reshape(c) % 2 == 0, Draw(a), Draw(b)))
          for c, a, b in WHERE_PAIRS),
        Case(([True, False], Draw((2,)), Number(2.5))), Case(([True, False], Number(2.5),
        Draw((2,)))),
        Case(([True, False], Draw((2,), complex=True), Draw((2,), complex=True))),
    ), "torch.where(x, y, z)", saves=("condition",), wrt=(1, 2), elementwise=True),
    unary("abs", "torch.abs(x)", saves=("x",), avoid=(0.0,), complex=True, order=3, kinks=(
        Kink(([0.0, -0.0, inf, -inf],), [0.0, 0.0, inf, inf], ([0.0, 0.0, 1.0, -1.0],)),
    )),
    binary("maximum", "torch.maximum(x, y)", saves=("x", "y"), numbers="", kinks=(
        Kink(TIE, [1.0, 5.0, 3.0], ([0.5, 0.0, 1.0], [0.5, 1.0, 0.0])),
    )),
    binary("minimum", "torch.minimum(x, y)", saves=("x", "y"), numbers="", kinks=(
        Kink(TIE, [1.0, 2.0, -1.0], ([0.5, 1.0, 0.0], [0.5, 0.0, 1.0])),
    )),
    binary("fmax", "torch.fmax(x, y)", saves=("x", "y"), numbers="", kinks=(
        Kink(TIE, [1.0, 5.0, 3.0], ([1.0, 0.0, 1.0], [0.0, 1.0, 0.0])),
        Kink((NAN_LEFT, NAN_RIGHT), [1.0, 1.0], ([0.0, 1.0], [1.0, 0.0])),
    )),
    binary("fmin", "torch.fmin(x, y)", saves=("x", "y"), numbers="", kinks=(
        Kink(TIE, [1.0, 2.0, -1.0], ([1.0, 1.0, 0.0], [0.0, 0.0, 1.0])),
        Kink((NAN_LEFT, NAN_RIGHT), [1.0, 1.0], ([0.0, 1.0], [1.0, 0.0])),
    )),
    unary("clamp", "torch.clamp(x, min=min, max=max)", saves=("x",), avoid=(-1.0, 1.0),
        params=({"min": -1.0, "max": 1.0}, {"min": -1.0}, {"max": 1.0}), kinks=(
        Kink(([-1.0, 1.0, 0.0, 3.0],), [-1.0, 1.0, 0.0, 1.0], ([1.0, 1.0, 1.0, 0.0],),
        {"min": -1.0, "max": 1.0}),
    )),
    unary("relu", "torch.relu(x)", saves=("out",), avoid=(0.0,), kinks=(
        Kink(([0.0, -0.0],), [0.0, 0.0], ([0.0, 0.0],)),
    )),
    binary("heaviside", "torch.heaviside(x, y)", 0.3, 2, saves=("x",), order=0, numbers=""),
    unary("leaky_relu", "F.leaky_relu(x, negative_slope)", saves=("x",), avoid=(0.0,),
        params=({}, {"negative_slope": 0.2}), kinks=(Kink(([0.0],), [0.0], ([0.01],)),)),
    unary("elu", "F.elu(x, alpha)", saves=("x",), avoid=(0.0,), params=({}, {"alpha": 2.0}),
        kinks=(Kink(([0.0, 1000.0],), [0.0, 1000.0], ([2.0, 1.0],), {"alpha": 2.0}),)),
    unary("softplus_beta", "F.softplus(x, beta, threshold)", -4, 4, saves=("x",), avoid=(2.0,),
        params=({}, {"beta": 1.5, "threshold": 3.0}), kinks=(
        Kink(([0.0, 1.0],), [float(np.log(2)), 1.0], ([0.5, 1.0],), {"threshold": 0.0}),)),
    unary("hardswish", "F.hardswish(x)", saves=("x",), avoid=(-3.0, 3.0), kinks=(
        Kink(([-3.0, 3.0],), [0.0, 3.0], ([0.0, 1.0],)),
    )),
    unary("hardtanh", "F.hardtanh(x)", saves=("x",), avoid=(-1.0, 1.0), kinks=(
        Kink(([-1.0, 1.0],), [-1.0, 1.0], ([0.0, 0.0],)),
    )),
)  # fmt: skip

POW_NUMBERS = (2, 3, 4, -1, -2, 0.5, 1.5, 1, 0, 2.0, -0.5, 3.0)

ARITHMETIC = (
    binary("add", "torch.add(x, y)", complex=True),
    binary("sub", "torch.sub(x, y)", complex=True),
    binary("mul", "torch.mul(x, y)", complex=True, saves=("x", "y")),
    binary("along", None, complex=True, saves=("x", "y"), kinks=(
        Kink(([0.0, inf, 2.0, 0.0], [inf, 0.0, inf, nan]), [0.0, 0.0, inf, nan],
             ([inf, 0.0, inf, nan], [0.0, inf, 2.0, 0.0])),
    )),
    binary("add_scaled", "torch.add(x, y, alpha=alpha)", numbers="right", complex=True,
           extra=[Case((Draw((3,)), Draw((2, 3))), {"alpha": a}) for a in (-0.3, 2, 1)]),
    Row("lerp_tensor", tuple(
        Case(tuple(Draw(s, complex=z) for s in shapes)) for z in (False, True) for shapes in (
            ((4,), (4,), (4,)), ((), (), ()), ((3,), (2, 1), (2, 3)), ((0,), (0,), (1,)))
    ), None, saves=("x", "y", "z"), elementwise=True, wrt=(0, 1, 2)),
    Row("addcmul", (
        *(Case((Draw(a), Draw(b), Draw(c)), p) for p in ({}, {"value": -0.3}) for a, b, c in (
            ((4,), (4,), (4,)), ((), (), ()), ((3,), (2, 1), (2, 3)), ((2, 2), (), (2,)),
            ((0,), (0,), (1,)))),
        Case((Draw((3,), complex=True), Draw((3,), complex=True), Draw((), complex=True))),
    ), "torch.addcmul(x, y, z, value=value)", saves=("tensor1", "tensor2"), elementwise=True,
        wrt=(0, 1, 2)),
    binary("div", "torch.div(x, y)", second=(0.5, 2), complex=True, saves=("x", "y"), kinks=(
        Kink(([1.0, 0.0], [0.0, 2.0]), [inf, 0.0], ([inf, 0.5], [-inf, 0.0])),
    )),
    Row("lerp_number", (
        Case((Draw((3,)), Draw((3,))), {"weight": 0.25}),
        Case((Draw((2, 3)), Draw((3,))), {"weight": 0.75}),
        Case((Draw(()), Draw(())), {"weight": 0.5}),
        Case((Draw((0,)), Draw((0,))), {"weight": 0.5}),
    ), "torch.lerp(x, y, weight)", wrt=(0, 1)),
    unary("neg", "torch.neg(x)", complex=True),
    test_of("trunc_divide", "torch.div(x, y, rounding_mode='trunc')",
        ([7.0, -7.0, 1.0], [2.0, 2.0, 3.0]), (7.0, -2.0),
        ([], []), ([7.5, 2.0], Number(2)), (Number(7), [2.0, -3.0])),
    test_of("floor_divide", "torch.floor_divide(x, y)", ([7.0, -7.0, 1.0], [2.0, 2.0, 3.0]),
        (7.0, -2.0),
        ([], []), ([7, -7], [2, 2]), ([7.5, 2.0], Number(2)), (Number(7), [2.0, -3.0])),
    binary("remainder", "torch.remainder(x, y)", 0.1, 4, second=(0.7, 0.9), numbers="right",
        saves=("x", "y"), kinks=(
        Kink(([4.0, -4.0], [2.0, 2.0]), [0.0, 0.0], ([1.0, 1.0], [-2.0, 2.0])),
    )),
    binary("fmod", "torch.fmod(x, y)", 1.0, 1.3, second=(0.7, 0.9), numbers="right",
        saves=("x", "y"), kinks=(
        Kink(([4.0, -4.0], [2.0, 2.0]), [0.0, -0.0], ([1.0, 1.0], [-2.0, 2.0])),
    )),
    binary("nextafter", "torch.nextafter(x, y)", 1.0, 1.3, second=(0.7, 0.9), numbers="",
        saves=("x", "y")),
    binary("pow", "torch.pow(x, y)", 0.5, 2, second=(-2, 2), complex=True, saves=("x", "y", "out"),
        extra=[Case((Draw((2,), -2, -0.5), Number(3))),
        *(Case((Draw((3,), 0.5, 2), Number(n))) for n in POW_NUMBERS),
        Case((Number(2), Draw((3,)))), Case((Draw((2,), complex=True), Number(3)))],
        kinks=(
        Kink(([0.0, 3.0], Number(0)), [1.0, 1.0], ([0.0, 0.0],)),
        Kink(([0.0, 0.0, 0.0], [0.0, 1.0, 2.0]), [1.0, 0.0, 0.0],
        ([0.0, 1.0, 0.0], [0.0, 0.0, 0.0])),
        Kink((Number(0), [0.0, 2.0]), [1.0, 0.0], ([0.0, 0.0],)),
        Kink(([-2.0, -1.5], [2.0, 3.0]), [4.0, -3.375], ([-4.0, 6.75], [nan, nan])),
        Kink(([0.0], Number(0.5)), [0.0], ([inf],)),
        Kink(([0.0, -1.0], Number(1)), [0.0, -1.0], ([1.0, 1.0],)),
        Kink(([0.0], Number(-1)), [inf], ([-inf],)),
    )),
    unary("sqrt", "torch.sqrt(x)", 0.3, 3, saves=("out",), complex=True, kinks=(
        Kink(([0.0, -1.0],), [0.0, nan], ([inf, nan],)),
    )),
    binary("power_slope", None, 0.5, 2, second=(-2, 2), numbers="", complex=True, saves=("x", "y"),
        kinks=(
        Kink(([0.0, 0.0, 0.0, 0.0], [0.5, 1.0, 3.0, 0.0]), [inf, 1.0, 0.0, 0.0],
             ([-inf, 0.0, 0.0, 0.0], [-inf, -inf, 0.0, inf])),
        Kink(([1e160, 1e-200], [2.0, 2.0]), [2e160, 2e-200],
             ([2.0, 2.0], [7.37827229758094e162, -9.20034037197618e-198])),
    )),
    unary("rsqrt", "torch.rsqrt(x)", 0.3, 3, saves=("out",), complex=True),
    unary("cbrt", "torch.sign(x) * torch.abs(x) ** (1 / 3)", saves=("out",), avoid=(0.0,), kinks=(
        Kink(([0.0],), [0.0], ([inf],), torch="has no cbrt; the stand-in's slope at 0 is NaN"),
    )),
    unary("square", "torch.square(x)", saves=("x",), complex=True),
    unary("reciprocal", "torch.reciprocal(x)", 0.3, 3, saves=("out",), complex=True),
    test_of("floor", "torch.floor(x)", ([1.5, -1.5, 2.0],), (2.5,), ([],)),
    test_of("ceil", "torch.ceil(x)", ([1.5, -1.5, 2.0],), (2.5,), ([],)),
    test_of("round", "torch.round(x)", ([1.5, -1.5, 2.5, 0.4],), (2.5,), ([],)),
    test_of("trunc", "torch.trunc(x)", ([1.5, -1.5, 2.0],), (2.5,), ([],)),
    unary("frac", "torch.frac(x)", avoid=(-1.0, 0.0, 1.0), kinks=(
        Kink(([2.0, -2.0],), [0.0, -0.0], ([1.0, 1.0],)),
    )),
)  # fmt: skip

EDGE = "infinite slope at the ends"
TRIGONOMETRIC = (
    unary("sin", "torch.sin(x)", -3, 3, saves=("x",), complex=True),
    unary("cos", "torch.cos(x)", -3, 3, saves=("x",), complex=True),
    unary("tan", "torch.tan(x)", -1.2, 1.2, saves=("out",), complex=True),
    unary("asin_slope", None, -0.8, 0.8, saves=("x", "out"), complex=True),
    unary("asin", "torch.asin(x)", -0.8, 0.8, saves=("x",), complex=True, kinks=(
        Kink(([1.0, -1.0],), [np.pi / 2, -np.pi / 2], ([inf, inf],)),
    )),
    unary("acos", "torch.acos(x)", -0.8, 0.8, saves=("x",), complex=True, kinks=(
        Kink(([1.0, -1.0],), [0.0, np.pi], ([-inf, -inf],)),
    )),
    unary("atan", "torch.atan(x)", saves=("x",), complex=True),
    unary("sinh", "torch.sinh(x)", saves=("x",), complex=True),
    unary("cosh", "torch.cosh(x)", saves=("x",), complex=True),
    unary("tanh", "torch.tanh(x)", saves=("out",), complex=True),
    unary("asinh_slope", None, saves=("x", "out"), complex=True, kinks=(
        Kink(([inf, -inf],), [0.0, 0.0], ([-0.0, 0.0],)),
    )),
    unary("asinh", "torch.asinh(x)", saves=("x",), complex=True),
    unary("acosh_slope", None, 1.3, 3, saves=("x", "out"), complex=True),
    unary("acosh", "torch.acosh(x)", 1.3, 3, saves=("x",), complex=True, kinks=(
        Kink(([1.0],), [0.0], ([inf],)),
    )),
    unary("atanh_slope", None, -0.8, 0.8, saves=("x", "out"), complex=True),
    unary("atanh", "torch.atanh(x)", -0.8, 0.8, saves=("x",), complex=True),
    binary("atan2", "torch.atan2(x, y)", 0.3, 2, numbers="", saves=("x", "y"), kinks=(
        Kink(([0.0, 1.0], [0.0, 0.0]), [0.0, np.pi / 2], ([0.0, 0.0], [0.0, -1.0])),
        Kink(([1e-200, 3e200], [2e-200, 1e200]), [0.4636476090008061, 1.2490457723982544],
             ([4e199, 1e-201], [-2e199, -3e-201]), torch="its sum of squares leaves the floats"),
    )),
    binary("logit_slope", None, 0.3, 0.7, numbers="", saves=("x",)),
    binary("logit_nll", None, 0.3, 0.7, numbers="", saves=("x", "y")),
    binary("bernoulli_slope", None, 0.3, 0.7, numbers="", saves=("x", "y")),
    binary("bernoulli_nll", None, 0.3, 0.7, numbers="", saves=("x", "y"), kinks=(
        Kink(([0.0, 1.0], [0.0, 0.0]), [0.0, 100.0],
             ([0.0, 1 / 9.999999960041972e-13], [100.0, -100.0])),
    )),
    binary("over_squares", None, 0.3, 2, numbers="", saves=("x", "y"), kinks=(
        Kink(([0.0], [0.0]), [0.0], ([np.nan], [np.nan])),
    )),
    binary("hypot_slope", None, 0.3, 2, numbers="", saves=("x", "y", "out"), kinks=(
        Kink(([0.0], [0.0]), [0.0], ([np.nan], [np.nan])),
    )),
    binary("direction", None, 0.3, 2, numbers="", saves=("y", "out"), kinks=(
        Kink(([0.0], [0.0]), [0.0], ([inf], [np.nan])),
    )),
    binary("hypot", "torch.hypot(x, y)", 0.3, 2, numbers="", saves=("x", "y"), kinks=(
        Kink(([0.0, 3.0], [0.0, 4.0]), [0.0, 5.0], ([0.0, 0.6], [0.0, 0.8]),
        torch="its hypot divides by the result, so (0, 0) gives NaN"),
    )),
)  # fmt: skip

RECTANGLE = "torch.diagonal_scatter(torch.zeros(shape, dtype=x.dtype), x, 0, -2, -1)"
SHAPE = (
    moved("reshape", "torch.reshape(x, shape)", ((2, 3), {"shape": (3, 2)}),
        ((2, 3), {"shape": (-1,)}),
        ((), {"shape": (1, 1)}), ((0, 2), {"shape": (2, 0)}), ((1,), {"shape": ()})),
    moved("expand", "x.expand(shape)", ((3, 1), {"shape": (2, 3, 4)}), ((), {"shape": (2,)}),
        ((0, 1), {"shape": (0, 3)}), ((2, 1), {"shape": (-1, 2)})),
    moved("sum_to", "x.sum_to_size(shape)", ((2, 3, 4), {"shape": (3, 1)}), ((2, 3), {"shape": ()}),
        ((), {"shape": ()}), ((0, 2), {"shape": (1, 2)})),
    moved("transpose", "torch.transpose(x, dim0, dim1)", ((2, 3, 4), {}),
        ((2, 3), {"dim0": 0, "dim1": 1}),
        ((2, 3, 4), {"dim0": 0, "dim1": 2}), ((), {"dim0": 0, "dim1": -1}), ((0, 2), {})),
    moved("reverse_dims", "x.permute(tuple(range(x.ndim - 1, -1, -1)))", ((2, 3, 4), {}), ((), {}),
        ((0, 2), {})),
    moved("mT", "x.mT", ((2, 3, 4), {}), ((2, 3), {}), ((0, 2), {}),
        apart="0-d has no such dimensions"),
    moved("permute", "torch.permute(x, dims)", ((2, 3, 4), {"dims": (2, 0, 1)}),
        ((2, 3), {"dims": (1, 0)}),
        ((), {"dims": ()}), ((0, 2), {"dims": (-1, 0)})),
    moved("squeeze", "torch.squeeze(x) if dim is None else torch.squeeze(x, dim)", ((1, 3, 1), {}),
        ((1, 3, 1), {"dim": 0}), ((1, 3), {"dim": 1}), ((1, 3, 1), {"dim": (0, 2)}), ((), {}),
        ((0, 1), {})),
    moved("unsqueeze", "torch.unsqueeze(x, dim)", ((2, 3), {"dim": 1}), ((2,), {"dim": -1}),
        ((), {"dim": 0}),
        ((0,), {"dim": 0})),
    moved("flip",
        "torch.flip(x, tuple(range(x.ndim)) if dims is None else np.atleast_1d(dims).tolist())",
        ((2, 3), {}), ((2, 3), {"dims": 1}), ((2, 3, 2), {"dims": (0, -1)}), ((), {}),
        ((0, 2), {"dims": 0})),
    moved("roll", "torch.roll(x, shifts, dims)", ((2, 3), {"shifts": 1}),
        ((2, 3), {"shifts": -2, "dims": 1}),
        ((2, 3), {"shifts": (1, 2), "dims": (0, 1)}), ((0,), {"shifts": 1}), ((), {"shifts": 1})),
    moved("tile", "torch.tile(x, repeats)", ((2, 3), {"repeats": (2, 2)}),
        ((2,), {"repeats": (3,)}),
        ((2,), {"repeats": (2, 3)}), ((2, 2), {"repeats": (3,)}), ((), {"repeats": (2,)}),
        ((0,), {"repeats": (2,)}), ((2,), {"repeats": (0,)})),
    moved("diagonal", "torch.diagonal(x, dim1=-2, dim2=-1)", ((3, 3), {}), ((2, 3), {}),
        ((2, 3, 2), {}),
        ((0, 2), {}), apart="0-d has no diagonal"),
    moved("unfold", "x.unfold(dim, size, step)", ((2, 5), {"dim": 1, "size": 3, "step": 1}),
        ((5, 2), {"dim": 0, "size": 2, "step": 3}), ((2, 0), {"dim": 0, "size": 1, "step": 1}),
        apart="0-d has no windows"),
    moved("undiagonal", RECTANGLE, ((3,), {"shape": (3, 3)}), ((2,), {"shape": (2, 3)}),
        ((2, 2), {"shape": (2, 3, 2)}), ((0,), {"shape": (0, 2)}), apart="0-d is no diagonal"),
    moved("tril", "torch.tril(x, diagonal)", ((3, 3), {}), ((2, 3), {"diagonal": 1}),
        ((2, 3, 3), {"diagonal": -1}), ((0, 2), {}), apart="0-d has no triangle"),
    moved("triu", "torch.triu(x, diagonal)", ((3, 3), {}), ((2, 3), {"diagonal": 1}),
        ((2, 3, 3), {"diagonal": -1}), ((0, 2), {}), apart="0-d has no triangle"),
)  # fmt: skip

INDICES = (
    1, slice(0, 2), (slice(None), 1), (Ellipsis, -1), (None, 0), (slice(None), slice(0, 3, 2)),
    np.array([0, 2, 0]), (np.array([0, 1]), np.array([1, 1])), (slice(None), np.array([2, 0])), (),
    np.array([[True, False, True], [False, True, False], [True, True, True]]),
    np.array([True, False, True]), (np.array([[0], [2]]), np.array([0, 1])), slice(0, 0),
)  # fmt: skip
PLACES = (
    "torch.as_tensor(np.arange(np.prod(shape, dtype=int)).reshape(shape)[index].reshape(-1).copy())"
)
ADDED = (f"torch.zeros(shape, dtype=x.dtype).reshape(-1).index_add(0, {PLACES}, x.reshape(-1))"
         ".reshape(shape)")  # fmt: skip
WRITTEN = (
    "(lambda places: x.reshape(-1).index_copy(0, torch.as_tensor(places.reshape(-1).copy()), "
    "torch.as_tensor(y, dtype=x.dtype).expand(places.shape).reshape(-1)).reshape(x.shape))"
    "(np.arange(x.numel()).reshape(x.shape)[index])"
)
SMALL = np.array([[0, 1], [2, 2]])

INDEXING = (
    Row("getitem", (
        *(Case((Draw((3, 3)),), {"index": i}) for i in INDICES),
        Case((Draw((4,)),), {"index": slice(None, None, -1)}, torch=None),
        Case((Draw(()),), {"index": ()}), Case((Draw(()),), {"index": Ellipsis}),
        Case((Draw((0, 2)),), {"index": slice(0, 1)}),
        Case((Draw((3, 3), complex=True),), {"index": 1}),
        Case((Draw((2, 3, 2)),), {"index": (0, np.array([0, 0, 2]))}),
    ), "x[index]"),
    Row("scatter", (
        Case((Draw(()),), {"shape": (4,), "index": 2}),
        Case((Draw((2,)),), {"shape": (4,), "index": slice(1, 3)}),
        Case((Draw((3,)),), {"shape": (3, 2), "index": (slice(None), 1)}),
        Case((Draw((3,)),), {"shape": (4,), "index": np.array([1, 1, 3])}),
        Case((Draw((2,)),), {"shape": (3,), "index": np.array([True, False, True])}),
        Case((Draw((2, 2)),), {"shape": (3, 2), "index": np.array([2, 2])}),
        Case((Draw((0,)),), {"shape": (3,), "index": slice(0, 0)}),
    ), ADDED),
    Row("put", (
        Case((Draw((3,)), Draw(())), {"index": 1}),
        Case((Draw((3, 2)), Draw((2,))), {"index": slice(0, 2)}),
        Case((Draw((3, 2)), Draw((3,))), {"index": (slice(None), 0)}),
        Case((Draw((3,)), Draw((2,))), {"index": np.array([2, 0])}),
        Case((Draw((3,)), Draw((1,))), {"index": np.array([True, False, True])}),
        Case((Draw((3,)), Number(2.5)), {"index": 0}), Case((Draw(()), Draw(())), {"index": ()}),
        Case((Draw((0,)), Draw((0,))), {"index": slice(None)}),
    ), WRITTEN, wrt=(0, 1)),
    Row("gather", (
        Case((Draw((3, 2)),), {"indices": SMALL, "dim": 0}),
        Case((Draw((2, 3)),), {"indices": SMALL, "dim": 1}),
        Case((Draw((2, 3)),), {"indices": np.array([[1], [1]]), "dim": -1}),
        Case((Draw((0, 3)),), {"indices": np.zeros((0, 2), int), "dim": 1}),
    ), "torch.gather(x, dim, torch.as_tensor(indices))", apart="0-d: test_reductions.py"),
    Row("ungather", (
        Case((Draw((2, 2)),), {"indices": SMALL, "shape": (3, 2), "dim": 0}),
        Case((Draw((2, 2)),), {"indices": SMALL, "shape": (2, 3), "dim": 1}),
        Case((Draw((0, 2)),), {"indices": np.zeros((0, 2), int), "shape": (0, 3), "dim": 1}),
    ), "torch.zeros(shape, dtype=x.dtype).scatter_add(dim, torch.as_tensor(indices), x)",
        apart="0-d: gather's transpose"),
)  # fmt: skip

JOINING = (
    Row("cat", (
        Case((Draw((2,)), Draw((3,))), {"dim": 0}), Case((Draw((2, 2)), Draw((2, 1))), {"dim": -1}),
        Case((Draw((2, 2)), Draw((1, 2))), {"dim": 0}), Case((Draw((0,)), Draw((2,))), {"dim": 0}),
        Case((Draw((2,), complex=True), Draw((1,), complex=True)), {"dim": 0}),
    ), "torch.cat([x, y], dim)", wrt=(0, 1), apart="0-d tensors cannot be joined, as in PyTorch"),
    Row("stack", (
        Case((Draw((2,)), Draw((2,))), {"dim": 0}), Case((Draw((2, 3)), Draw((2, 3))), {"dim": -1}),
        Case((Draw(()), Draw(())), {"dim": 0}), Case((Draw((2, 3)), Draw((2, 3))), {"dim": 1}),
        Case((Draw((0,)), Draw((0,))), {"dim": 0}),
    ), "torch.stack([x, y], dim)", wrt=(0, 1)),
    moved("pad", "torch.nn.functional.pad(x, pad)", ((3,), {"pad": (1, 2)}),
        ((2, 3), {"pad": (0, 1)}), ((2, 3), {"pad": (1, 0, 0, 2)}), ((2, 2, 2), {"pad": (1, 1)}),
        ((0,), {"pad": (1, 0)}), ((), {"pad": ()})),
)  # fmt: skip

DIM = "dim=dim, keepdim=keepdim"
EVERY = "tuple(range(x.ndim)) if dim is None else dim"
NORMS = tuple({"p": p, **d} for p in (2, 1, 3, inf, -inf, 1.5) for d in ({}, {"dim": 1}))
PARTIAL = (
    "torch.stack([torch.prod(torch.cat([x[..., :i], x[..., i + 1:]], -1), -1) "
    "for i in range(x.shape[-1])], -1)"
)
NONE = "an empty tensor has none: test_reductions.py"
REDUCTION = (
    over("sum", f"torch.sum(x, {DIM})", complex=True,
        scalar=({}, {"dim": 0}, {"dim": -1, "keepdim": True})),
    over("mean", f"torch.mean(x, {DIM})", complex=True, scalar=({}, {"dim": 0})),
    over("centred", f"x - torch.mean(x, {EVERY}, True)", params=(
        {}, {"dim": 1}, {"dim": (0, 2)}), scalar=({}, {"dim": 0}), complex=True),
    over("prod_others", PARTIAL, (2, 4), ({},), saves=("x",), scalar=(), empty=(((0, 2), {}),),
        apart="0-d has no last dimension", extra=[Case(([[0.0, 2.0, 3.0], [0.0, 0.0, 2.0]],))]),
    over("prod", "torch.prod(x) if dim is None else torch.prod(x, dim, keepdim)", (2, 3), ONE_DIM,
        saves=("x", "out"),
        complex=True, extra=[Case(([0.0, 2.0, 3.0],)), Case(([0.0, 0.0, 3.0],)),
        Case(([[0.0, 2.0], [1.0, 3.0]],), {"dim": 1})]),
    over("var", "torch.var(x, dim=dim, correction=correction, keepdim=keepdim)", (3, 4),
        saves=("x",),
        params=(*FLAT_DIMS, {"correction": 0}, {"dim": 1, "correction": 0.5}),
        scalar=({"correction": 0},),
        empty=(((2, 0), {"dim": 0}),), complex=True),
    over("std", "torch.std(x, dim=dim, correction=correction, keepdim=keepdim)", (3, 4),
        saves=("x", "out"),
        params=(*FLAT_DIMS, {"correction": 0}), scalar=(), empty=(((2, 0), {"dim": 0}),),
        complex=True,
        apart="0-d is a kink", kinks=(
        Kink(([2.0, 2.0, 2.0],), 0.0, ([0.0, 0.0, 0.0],)),
        Kink((2.0,), 0.0, (0.0,), {"correction": 0}),
    )),
    over("norm", f"torch.linalg.vector_norm(x, ord=p, {DIM})", saves=("x", "out"), avoid=(0.0,),
        params=(*ALL_DIMS, *NORMS), complex=True,
        extra=[Case((Draw((2, 2), complex=True),), {"p": p}) for p in (1, 3, inf)], kinks=(
        Kink(([0.0, 0.0],), 0.0, ([0.0, 0.0],)),
        Kink(([0.0, 0.0],), 0.0, ([0.0, 0.0],), {"p": 1}),
        Kink(([0.0, 0.0],), 0.0, ([0.0, 0.0],), {"p": 3}),
        Kink(([0.0, 2.0],), 2.0, ([0.0, 1.0],), {"p": 1.5}),
        Kink(([2.0, -2.0],), 2.0, ([0.5, -0.5],), {"p": inf}),
        Kink(([2.0, -2.0],), 2.0, ([0.5, -0.5],), {"p": -inf}),
        Kink(([3.0, 0.0],), 1.0, ([0.0, 0.0],), {"p": 0}),
    )),
    over("amax", f"torch.amax(x, {EVERY}, keepdim)", saves=("x", "out"),
        empty=(((2, 0), {"dim": 0}),), kinks=(
        Kink(([1.0, 3.0, 3.0],), 3.0, ([0.0, 0.5, 0.5],)),
        Kink(([[1.0, 1.0], [0.0, 2.0]],), [1.0, 2.0], ([[0.5, 0.5], [0.0, 1.0]],), {"dim": 1}),
    )),
    over("amin", f"torch.amin(x, {EVERY}, keepdim)", saves=("x", "out"),
        empty=(((2, 0), {"dim": 0}),), kinks=(
        Kink(([4.0, 3.0, 3.0],), 3.0, ([0.0, 0.5, 0.5],)),
    )),
    over("logsumexp", f"torch.logsumexp(x, {EVERY}, keepdim)", saves=("x", "out"), kinks=(
        Kink(([1000.0, 1000.0],), 1000.6931471805599, ([0.5, 0.5],), {"dim": 0}),
        Kink(([-inf, 0.0],), 0.0, ([0.0, 1.0],), {"dim": 0}),
    )),
    over("softmax", "torch.softmax(x, dim)", params=({}, {"dim": 0}, {"dim": 1}), scalar=({},),
        empty=(((0,), {}), ((2, 0), {"dim": 0})), saves=("out",), kinks=(
        Kink(([1000.0, 0.0],), [1.0, 0.0], ([0.0, 0.0],), {"dim": 0}),
        Kink(([-inf, 0.0],), [0.0, 1.0], ([0.0, 0.0],), {"dim": 0}),
    )),
    over("log_softmax", "torch.log_softmax(x, dim)", params=({}, {"dim": 0}, {"dim": 1}),
        scalar=({},),
        empty=(((0,), {}), ((2, 0), {"dim": 0})), saves=("out",), kinks=(
        Kink(([1000.0, 0.0],), [0.0, -1000.0], ([-1.0, 1.0],), {"dim": 0}),
    )),
)  # fmt: skip

PRODUCTS_OF = (((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 2, 3), (3, 2)),
               ((2, 3), (2, 3, 2)), ((2, 1, 2, 3), (3, 3, 1)), ((3,), (2, 3, 2)), ((2, 2, 3), (3,)),
               ((0, 3), (3, 2)), ((2, 0), (0, 2)), ((0,), (0,)))  # fmt: skip
PRODUCTS = (
    Row("matmul", (*(Case((Draw(a), Draw(b))) for a, b in PRODUCTS_OF),
        *(Case((Draw(a, complex=True), Draw(b, complex=True))) for a,
        b in PRODUCTS_OF[:4])),
        "torch.matmul(x, y)", saves=("x", "y"), wrt=(0, 1),
        apart="0-d is refused: test_reductions.py"),
    Row("dot", (Case((Draw((3,)), Draw((3,)))), Case((Draw((0,)), Draw((0,)))),
        Case((Draw((3,), complex=True), Draw((3,), complex=True)))),
        "torch.dot(x, y)", saves=("x", "y"), wrt=(0, 1),
        apart="0-d is refused: test_reductions.py"),
    Row("outer", (Case((Draw((2,)), Draw((3,)))), Case((Draw((0,)), Draw((2,)))),
        Case((Draw((2,), complex=True), Draw((2,), complex=True)))),
        "torch.outer(x, y)", saves=("x", "y"), wrt=(0, 1),
        apart="0-d is refused: test_reductions.py"),
    moved("trace", "torch.trace(x)", ((3, 3), {}), ((2, 3), {}), ((0, 0), {}),
        apart="0-d is refused"),
)  # fmt: skip

SQUARE = [[2.0, 0.5, -0.3], [0.4, 1.5, 0.6], [-0.7, 0.2, 1.8]]
PAIR = [[[1.5, 0.4], [-0.6, 1.2]], [[0.9, -0.5], [0.7, 1.4]]]
TILTED = [[[-1.5, 0.4], [0.6, 1.2]], [[0.9, -0.5], [0.7, 1.4]]]
UNREAL = [[1.5 + 0.5j, 0.4], [0.6j, 1.2 - 0.3j]]
DEFINITE = [[2.0, 0.5, -0.3], [0.5, 1.5, 0.6], [-0.3, 0.6, 1.8]]
ALONG = [[0.7, -0.2, 0.4], [0.1, 0.9, -0.8], [0.5, 0.3, -0.6]]
ALONG2 = [[-0.4, 0.6, 0.2], [0.8, -0.1, 0.3], [0.9, -0.7, 0.5]]
NO_SCALAR = "0-d is refused: test_linalg.py"


def square(name: str, torch: str, *cases: Any, **more: Any) -> Row:
    """An operator of square matrices: one, a stack, none, of size 0."""
    made = [Case((x,)) for x in (SQUARE, PAIR, *cases)]
    made += [Case((Draw(s),)) for s in more.pop("empty", ((0, 2, 2), (0, 0)))]
    return Row(name, tuple(made), torch, apart=NO_SCALAR, **more)


LINALG = (
    square("inv", "torch.linalg.inv(x)", UNREAL, saves=("out",)),
    square("det", "torch.linalg.det(x)", TILTED, UNREAL, saves=("x",)),
    square("adjugate", "torch.linalg.det(x)[..., None, None]*torch.linalg.inv(x)", UNREAL,
        saves=("x",)),
    Row("adjugate_along", (Case((SQUARE, ALONG)), Case((PAIR, TILTED)),
        Case((Draw((0, 2, 2)), Draw((0, 2, 2))))), None, saves=("x", "y"), wrt=(0, 1),
        apart=NO_SCALAR),
    Row("adjugate_along_two", (Case((SQUARE, ALONG, ALONG2)), Case((PAIR, TILTED, PAIR)),
        Case((Draw((0, 2, 2)), Draw((0, 2, 2)), Draw((0, 2, 2))))), None, saves=("x", "y", "z"),
        wrt=(0, 1, 2), apart=NO_SCALAR),
    square("logdet", "torch.logdet(x)", saves=("x",), empty=((0, 2, 2),)),
    square("logabsdet", "torch.linalg.slogdet(x)[1]", TILTED, saves=("x",)),
    square("detsign", "torch.linalg.slogdet(x)[0]", TILTED, UNREAL, saves=("x", "out")),
    Row("solve", (Case((SQUARE, Draw((3,)))), Case((SQUARE, Draw((3, 2)))),
        Case((PAIR, Draw((2, 2, 3)))), Case((PAIR, Draw((2, 1)))),
        Case((UNREAL, Draw((2, 2), complex=True))), Case((Draw((0, 2, 2)), Draw((0, 2, 1))))),
        "torch.linalg.solve(x, y)", saves=("x", "out"), wrt=(0, 1), apart=NO_SCALAR),
    Row("cholesky", (Case((DEFINITE,)), Case(([DEFINITE, DEFINITE],)), Case((Draw((0, 2, 2)),))),
        "torch.linalg.cholesky((x + x.mT)/2)", saves=("out",), apart=NO_SCALAR),
)  # fmt: skip
EINSUM = (
    Row("contract", (
        Case((Draw((2, 3)), Draw((3, 4))), {"labels": "ij,jk->ik"}),
        Case((Draw((2, 3)), Draw((3, 2))), {"labels": "ij,kl->iljk"}),
        Case((Draw((2, 3)), Draw((2,))), {"labels": "ij,i->j"}),
        Case((Draw(()), Draw((2,))), {"labels": ",i->i"}),
        Case((Draw((2, 0)), Draw((0,))), {"labels": "ij,j->i"}),
        Case((Draw((2, 2), complex=True), Draw((2,), complex=True)), {"labels": "ij,j->i"}),
    ), "torch.einsum(labels, x, y)", saves=("x", "y"), wrt=(0, 1)),
)  # fmt: skip

RUN = ([[3.0, 1.0, 3.0, 5.0], [nan, 4.0, nan, 1.0]],)
SCANS = (
    over("cumsum", "torch.cumsum(x, dim)", params=({}, {"dim": 1}, {"dim": -1}), complex=True,
        empty=(((0,), {}), ((2, 0), {"dim": 0})), scalar=({}, {"dim": -1})),
    Row("recurrence", (
        Case((Draw((4,)), Draw((4,)))),
        Case((Draw((3, 2)), Draw((3, 2)))), Case((Draw((3, 20)), Draw((3, 20))), {"dim": -1}),
        Case((Draw((3,), complex=True), Draw((3,), complex=True))),
        Case((Draw((0,)), Draw((0,)))), Case((Draw((1, 2)), Draw((1, 2)))),
    ), None, saves=("a", "out"), wrt=(0, 1), apart="0-d has no dimension to go along"),
    over("cumprod", "torch.cumprod(x, dim)", params=({}, {"dim": 1}, {"dim": -1}), complex=True,
        saves=("x", "out"), empty=(((0,), {}), ((2, 0), {"dim": 0})), scalar=({}, {"dim": -1}),
        extra=[Case(([2.0, 0.0, 3.0, 0.0, 5.0],))]),
    over("logcumsumexp", "torch.logcumsumexp(x, dim)", order=2, params=({}, {"dim": 1}),
        saves=("x", "out"), empty=(((0,), {}), ((2, 0), {"dim": 0})), scalar=({}, {"dim": -1}),
        complex=True),
    test_of("argcummax", "torch.cummax(x, dim)[1]", RUN, params=({"dim": 0}, {"dim": 1}),
        result="int64", apart="0-d and empty: test_statistics.py"),
    test_of("running_largest", None, RUN, params=({"dim": 0}, {"dim": 1}),
        apart="0-d and empty: as logcumsumexp's, whose rule has it"),
    test_of("argcummin", "torch.cummin(x, dim)[1]", RUN, params=({"dim": 0}, {"dim": -1}),
        result="int64", apart="0-d and empty: test_statistics.py"),
)  # fmt: skip
FOURIER = (
    Row("fourier", tuple(
        Case((Draw((2, 3), complex=True),), {"dim": dim, "inverse": inverse, "norm": norm})
        for dim, inverse, norm in (
            (-1, False, "backward"), (0, False, "ortho"), (1, True, "backward"),
            (0, True, "forward"), (-1, False, "forward"),
        )
    ), "(torch.fft.ifft if inverse else torch.fft.fft)(x, dim=dim, norm=norm)",
        apart="0-d and empty: PyTorch refuses them"),
)  # fmt: skip

COMPLEX = ((3,), (), (0,))
CONVERSION = (
    Row("cast", (Case((Draw((3,)),), {"dtype": np.dtype("float64")}),
        Case((Draw(()),), {"dtype": np.dtype("float64")}),
        Case((Draw((0,)),), {"dtype": np.dtype("float64")}),
        Case((Draw((3,)),), {"dtype": np.dtype("complex128")}),
        Case((Draw((3,), complex=True),), {"dtype": np.dtype("float64")})),
        "x.to(getattr(torch, dtype.name))", order=3),
    moved("clone", "torch.clone(x)", ((2, 3), {}), ((), {}), ((0,), {})),
    moved("conj", "torch.conj(x).resolve_conj()", ((2, 3), {}), ((), {}), ((0,), {})),
    Row("drawn", tuple(Case((Draw(s),), {"numbers": np.ones(s)}) for s in ((3,), (), (0,))), None,
        wrt=()),
    Row("of_parts", tuple(Case((Draw(s), Draw(s))) for s in ((3,), (2, 2), (), (0,))), None,
        wrt=(0, 1), result="complex128"),
    Row("real", tuple(Case((Draw(s, complex=True),)) for s in COMPLEX), "torch.real(x)"),
    Row("imag", tuple(Case((Draw(s, complex=True),)) for s in COMPLEX), "torch.imag(x)"),
)  # fmt: skip

APARTS = [[1.0, 0.2, -0.3], [0.1, 2.2, 0.25], [-0.2, 0.3, 3.7]]
TALL = [[1.2, 0.3], [-0.4, 2.1], [0.6, 0.7]]
TURNING = [[1.0 + 0.4j, 0.2], [-0.3j, 2.5 - 0.2j]]
NO_VECTORS = "0-d is refused: test_decompositions.py"


def decomposed(name: str, torch: str | None, *cases: Any, **more: Any) -> Row:
    """A decomposition: one matrix, a stack, none, of size 0."""
    stack = np.array([APARTS, np.array(APARTS).T * 1.3 + 0.1])
    made = [Case((x,)) for x in (APARTS, stack, *cases)]
    made += [Case((Draw(s),)) for s in ((0, 2, 2), (0, 0))]
    return Row(name, tuple(made), torch, apart=NO_VECTORS, **more)


SYMMETRIC = "((x + x.mH)/2)"
DECOMPOSITIONS = (
    decomposed("eigh_parts", None, saves=("out",)),
    decomposed("eigvalsh", f"torch.linalg.eigvalsh{SYMMETRIC}", saves=("x",)),
    Row("eig_parts", (Case((TURNING,)), Case(([TURNING, TURNING],))), None, saves=("out",),
        apart=NO_VECTORS),
    Row("eigvals", (Case((TURNING,)), Case(([TURNING, TURNING],))), "torch.linalg.eigvals(x)",
        saves=("x",), apart=NO_VECTORS),
    decomposed("svd_parts", None, TALL, np.array(TALL).T, saves=("out",)),
    decomposed("svdvals", "torch.linalg.svdvals(x)", TALL, np.array(TALL).T, saves=("x",)),
    decomposed("qr_parts", None, TALL, saves=("out",)),
    decomposed("lu_compact", None, saves=("out",)),
    decomposed("pinv", "torch.linalg.pinv(x)", TALL, np.array(TALL).T, saves=("x", "out")),
    decomposed("matrix_exp", "torch.linalg.matrix_exp(x)", saves=("x",)),
    decomposed("sqrtm", None, TURNING, saves=("out",)),
    decomposed("logm", None, TURNING, saves=("x",)),
    *(Row(f"{name}_along", (Case((PAIR[0], TILTED[0])), Case((Draw((0, 2, 2)), Draw((0, 2, 2))))),
        None, saves=("x", "y"), wrt=(0, 1), apart=NO_SCALAR) for name in ("matrix_exp", "logm")),
    Row("solve_sylvester", (Case((APARTS, PAIR[0], Draw((3, 2)))), Case((PAIR, PAIR, TILTED)),
        Case((TURNING, TURNING, Draw((2, 2), complex=True))),
        Case((Draw((0, 2, 2)), Draw((0, 3, 3)), Draw((0, 2, 3))))), None, saves=("x", "y", "out"),
        wrt=(0, 1, 2), apart=NO_SCALAR),
)  # fmt: skip

ROWS: dict[str, Row] = {
    row.name: row
    for family in (COMPARISON, EXPONENTIAL, SPECIAL, PIECEWISE, ARITHMETIC, TRIGONOMETRIC, SHAPE,
                   INDEXING, JOINING, REDUCTION, SCANS, PRODUCTS, LINALG, EINSUM, FOURIER,
                   CONVERSION, DECOMPOSITIONS)
    for row in family
}  # fmt: skip
