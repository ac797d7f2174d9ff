"""Every operator by its row of the table: value, three orders, both modes, dtypes, shapes, saved
values.

What PyTorch gives for each case stands in tests/oracles/operators.json.gz; where it goes no
further, central differences of the order before are the judge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.autograd import gradcheck, gradgradcheck
from gradcli.engine.dtypes import to_dtype
from gradcli.ops import OPERATORS
from gradcli.ops.read import on_arrays
from tests.ops.rows import concrete, derivatives, differences, weights
from tests.ops.table import ROWS
from tests.support.families import family
from tests.support.oracles import load

RECORD = load("operators")
ORACLE = {(case["op"], case["case"]): case for case in RECORD["cases"]}
CASES = [(name, place) for name, row in ROWS.items() for place in range(len(row.cases))]
SMOOTH = [(name, place) for name, place in CASES if ROWS[name].wrt]
REAL = [
    (name, place)
    for name, place in SMOOTH
    if not any(np.iscomplexobj(a) for a in ROWS[name].arguments(place))
    and "complex" not in str(ROWS[name].cases[place].params)
    and "complex" not in ROWS[name].result
]
KINKS = [(name, i) for name, row in ROWS.items() for i in range(len(row.kinks))]
COMPLEX_ONLY = ("real", "imag", "fourier", "eig_parts", "eigvals", "of_parts")
RTOL = (1e-13, 1e-12, 1e-11, 1e-10)  # by order: what is left of 2.2e-16 after that many rules


@pytest.fixture(autouse=True)
def quiet():
    """Infinities and NaNs are values here; NumPy's word about them is not wanted."""
    with np.errstate(all="ignore"):
        yield


def operation(name: str, params: dict) -> Any:
    return lambda *args: OPERATORS[name](*args, **params)


def setup(name: str, place: int) -> tuple[Any, list, tuple[int, ...]]:
    """The operation of a case as a function, its arguments, and which of them have derivatives."""
    row = ROWS[name]
    arrays = row.arguments(place)
    wrt = tuple(i for i in row.wrt if isinstance(arrays[i], np.ndarray))
    return operation(name, row.cases[place].params), arrays, wrt


def tensors(arrays: list, wrt: tuple[int, ...], dtype: Any = None) -> list:
    return [
        gradcli.tensor(a if dtype is None or a.dtype.kind != "f" else a.astype(dtype),
            requires_grad=i in wrt)
        if isinstance(a, np.ndarray) else a
        for i, a in enumerate(arrays)
    ]  # fmt: skip


def recorded(entry: dict, dtype: np.dtype) -> Any:
    if "number" in entry:
        return entry["number"]
    data = [float(v) if isinstance(v, str) else v for v in entry["data"]]
    if dtype.kind == "c":
        pairs = np.array(data, dtype=np.float64).reshape(-1, 2)
        return (pairs[:, 0] + 1j * pairs[:, 1]).reshape(entry["shape"][:-1])
    return np.array(data, dtype=dtype).reshape(entry["shape"])


def close(got: Any, want: Any, rtol: float) -> None:
    """Equal to within ``rtol`` of the entry or of the array's largest entry; same shape, same
    NaNs.
    """
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    finite = np.abs(want[np.isfinite(want)])
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * np.max(finite, initial=1e-3))


def test_every_operator_has_a_row_and_every_row_an_operator():
    assert sorted(ROWS) == sorted(OPERATORS)
    for name, row in ROWS.items():
        op = OPERATORS[name]
        assert bool(row.wrt) == (op.kind != "constant"), name
        assert op.doc, name


def test_every_row_has_a_0d_and_an_empty_case_or_says_why_not():
    for name, row in ROWS.items():
        shapes = [np.shape(row.arguments(i)[0]) for i in range(len(row.cases))]
        missing = [
            w
            for w, has in (("0-d", () in shapes), ("empty", any(0 in s for s in shapes)))
            if not has
        ]
        assert not missing or row.apart, f"{name} lacks {missing}"


def test_the_recording_is_of_this_table():
    assert RECORD["made_with"]["torch"] == "2.13.0"
    wanted = {(n, i) for n, i in CASES if ROWS[n].expression(i) is not None}
    assert set(ORACLE) == wanted
    assert len(wanted) >= 800
    for key, case in ORACLE.items():
        for given, array in zip(case["args"], ROWS[key[0]].arguments(key[1]), strict=True):
            dtype = array.dtype if isinstance(array, np.ndarray) else np.dtype(float)
            np.testing.assert_array_equal(recorded(given, dtype), array, err_msg=str(key))


@family("name, place", sorted(ORACLE, key=CASES.index), by=lambda name, place: OPERATORS[name].kind)
def test_value_and_three_orders_are_pytorchs(name, place):
    function, arrays, wrt = setup(name, place)
    case = ORACLE[name, place]
    levels = derivatives(gradcli, function, arrays, wrt, len(case["levels"]) - 1)
    assert levels[0][0].dtype.name == (ROWS[name].result or case["dtype"])
    assert case["dtype"] == levels[0][0].dtype.name
    for order, (level, expected) in enumerate(zip(levels, case["levels"], strict=True)):
        for got, entry in zip(level, expected, strict=True):
            close(got, recorded(entry, got.dtype), RTOL[order])


def below(name: str, place: int) -> tuple:
    """A case, its derivatives to the third order, and a function of its arguments: the sums of the
    value and of the first two, of which the next order is the slope.
    """
    function, arrays, wrt = setup(name, place)

    def sums(*shifted: Any) -> np.ndarray:
        found = derivatives(gradcli, function, shifted, wrt, 2)
        return np.array(
            [sum(np.sum(weights(f.shape, n) * f) for f in level) for n, level in enumerate(found)]
        )

    return arrays, wrt, derivatives(gradcli, function, arrays, wrt, 3), sums


@family("name, place", REAL, by=lambda name, place: OPERATORS[name].kind)
def test_three_orders_against_differences(name, place):
    """Along a direction in which every entry of every input moves: a wrong one shows in it."""
    arrays, wrt, levels, sums = below(name, place)
    rng = np.random.default_rng(place)
    along = {i: rng.choice([-1.0, 1.0], arrays[i].shape) * rng.uniform(0.5, 1, arrays[i].shape)
             for i in wrt}  # fmt: skip

    def moved(t: Any) -> np.ndarray:
        return sums(
            *(np.asarray(a + t * along[i]) if i in along else a for i, a in enumerate(arrays))
        )

    for level in levels[1:]:
        assert [g.shape for g in level] == [along[i].shape for i in wrt]
    if not sum(d.size for d in along.values()):
        return  # the mean of nothing is NaN
    slopes = differences(moved, [np.zeros(())], 0, 1e-3, (3,))
    for level, slope in zip(levels[1:], slopes, strict=True):
        found = sum(np.sum(g * along[i]) for g, i in zip(level, wrt, strict=True))
        largest = max(np.max(np.abs(g), initial=1e-3) for g in level)
        np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-6 * largest)


@pytest.mark.long
@family("name, place", REAL, by=lambda name, place: OPERATORS[name].kind)
def test_three_orders_against_differences_by_each_entry(name, place):
    arrays, wrt, levels, sums = below(name, place)
    for place_in_level, i in enumerate(wrt):
        slopes = differences(sums, arrays, i, 2e-3, (3,))
        for order in (1, 2, 3):
            close(levels[order][place_in_level], slopes[..., order - 1], 1e-6)


@family("name", [name for name, row in ROWS.items() if row.wrt])
def test_gradcheck_to_second_order(name):
    """One case of each; ``test_three_orders_against_differences`` has all of them."""
    checked = [(n, place) for n, place in REAL if n == name][:1]
    for _, place in checked:
        function, arrays, wrt = setup(name, place)
        own = [gradcli.tensor(arrays[i], requires_grad=True) for i in wrt]

        def free(*values: Any, function=function, arrays=arrays, wrt=wrt) -> Any:
            full = list(arrays)
            for i, v in zip(wrt, values, strict=True):
                full[i] = v
            return function(*full)

        assert gradcheck(free, own, atol=1e-7, rtol=1e-6)
        assert gradgradcheck(free, own, atol=1e-7, rtol=1e-6)
    assert checked or name in COMPLEX_ONLY


@family("name, place", REAL, by=lambda name, place: OPERATORS[name].kind)
def test_forward_equals_reverse_and_reverse_over_forward(name, place):
    function, arrays, wrt = setup(name, place)
    leaves = [gradcli.tensor(arrays[i], requires_grad=True) for i in wrt]
    directions = [gradcli.tensor(weights(arrays[i].shape, 7 + i)) for i in wrt]

    def free(*values: Any) -> Any:
        full = [gradcli.tensor(a) if isinstance(a, np.ndarray) else a for a in arrays]
        for i, v in zip(wrt, values, strict=True):
            full[i] = v
        return function(*full)

    value, tangent = gradcli.func.jvp(free, tuple(leaves), tuple(directions))
    out = free(*leaves)
    np.testing.assert_array_equal(value.detach().numpy(), out.detach().numpy())
    assert tangent.shape == out.shape
    assert tangent.dtype is out.dtype
    w = gradcli.tensor(weights(out.shape, 0))
    first = gradcli.autograd.grad(out, leaves, w, create_graph=True)
    along = sum((g * t).sum() for g, t in zip(first, directions, strict=True))
    if np.isfinite(out.detach().numpy()).all():  # the mean of nothing is NaN, its derivative too
        close((tangent * w).sum().item(), along.item(), 1e-11)
    if along.requires_grad and tangent.requires_grad:
        ways = [
            gradcli.autograd.grad(end, leaves, allow_unused=True, materialize_grads=True)
            for end in (along, (tangent * w).sum())
        ]
        for reverse, forward in zip(*ways, strict=True):
            close(forward.numpy(), reverse.numpy(), 1e-10)


TURNING = [
    (name, place)
    for name, place in SMOOTH
    if any(np.iscomplexobj(a) for a in ROWS[name].arguments(place))
    and name != "eig_parts"  # its vectors are determined up to a phase that differences do not keep
]


@family("name, place", TURNING)
def test_forward_of_complex_numbers_is_the_derivative_along_the_direction(name, place):
    function, arrays, wrt = setup(name, place)
    directions = {
        i: weights(arrays[i].shape, 7 + i, np.iscomplexobj(arrays[i])).astype(arrays[i].dtype)
        for i in wrt
    }

    def moved(step: float) -> np.ndarray:
        shifted = [a + step * directions[i] if i in wrt else a for i, a in enumerate(arrays)]
        out = function(
            *(gradcli.tensor(a) if isinstance(a, np.ndarray | np.generic) else a for a in shifted)
        )
        return out.numpy()

    def free(*values: Any) -> Any:
        given = dict(zip(wrt, values, strict=True))
        rest = [gradcli.tensor(a) if isinstance(a, np.ndarray) else a for a in arrays]
        return function(*(given.get(i, a) for i, a in enumerate(rest)))

    leaves = [gradcli.tensor(arrays[i]) for i in wrt]
    along = tuple(gradcli.tensor(directions[i]) for i in wrt)
    _, tangent = gradcli.func.jvp(free, tuple(leaves), along)
    h = 1e-3
    along = (-moved(2 * h) + 8 * moved(h) - 8 * moved(-h) + moved(-2 * h)) / (12 * h)
    assert tangent.numpy().dtype == along.dtype
    close(tangent.numpy(), along, 1e-7)


@family("name", ["norm", "var", "std", "logabsdet", "svdvals", "eigvalsh", "abs"])
def test_real_functions_of_complex_numbers_in_both_modes(name):
    rng = np.random.default_rng(5)
    x, along = (rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)) for _ in range(2))
    if name == "eigvalsh":
        x, along = x + x.conj().T, along + along.conj().T
    op, h = OPERATORS[name], 1e-5
    want = (op(x + h * along) - op(x - h * along)) / (2 * h)
    _, tangent = gradcli.func.jvp(op, (gradcli.tensor(x),), (gradcli.tensor(along),))
    assert tangent.dtype is gradcli.float64
    close(tangent.numpy(), want, 1e-8)
    leaf = gradcli.tensor(x, requires_grad=True)
    op(leaf).sum().backward()
    close(np.sum(leaf.grad.numpy().conj() * along).real, np.sum(want), 1e-8)


@family(
    "name, dtype",
    [
        (name, dtype)
        for name, row in ROWS.items()
        if row.wrt and name not in COMPLEX_ONLY
        for dtype in ("float32", "float64", "float16")
    ],
    by=lambda name, dtype: OPERATORS[name].kind,
)
def test_dtypes_are_kept(name, dtype):
    for place in [p for n, p in REAL if n == name]:
        function, arrays, wrt = setup(name, place)
        args = tensors(arrays, wrt, dtype)
        leaves = [args[i] for i in wrt]
        refuses = OPERATORS[name].refuses
        if isinstance(refuses, dict) and to_dtype(dtype).family in " ".join(refuses).split():
            with pytest.raises((NotImplementedError, RuntimeError), match=r"Half|float"):
                function(*args)
            continue
        out = function(*args)
        wanted = "float64" if name == "cast" else dtype
        assert out.dtype is to_dtype(wanted), ROWS[name].cases[place]
        first = gradcli.autograd.grad(
            out, leaves, gradcli.ones(out.shape, dtype=to_dtype(wanted)), create_graph=True
        )
        for leaf, g in zip(leaves, first, strict=True):
            assert g.dtype is leaf.dtype, ROWS[name].cases[place]
            assert g.array.dtype == np.dtype(dtype)
            assert g.shape == leaf.shape
        linked = [g for g in first if g.requires_grad]
        if linked:
            ones = [gradcli.ones(g.shape, dtype=to_dtype(dtype)) for g in linked]
            second = gradcli.autograd.grad(linked, leaves, ones, allow_unused=True)
            assert all(g is None or g.array.dtype == np.dtype(dtype) for g in second)


def strided(array: np.ndarray) -> gradcli.Tensor:
    """The same numbers, neither contiguous nor in row order, the first dimension reversed."""
    if not array.ndim:
        return gradcli.tensor(array)
    wide = np.zeros((*array.shape[::-1], 2), array.dtype)
    view = wide[..., 0].T
    view[...] = array[::-1]
    return gradcli.from_numpy(view)[::-1]


@family("name, place", CASES, by=lambda name, place: OPERATORS[name].kind)
def test_strides_do_not_matter(name, place):
    function, arrays, wrt = setup(name, place)
    results = []
    for lay in (gradcli.tensor, strided):
        args = [
            lay(a).requires_grad_(i in wrt) if isinstance(a, np.ndarray) else a
            for i, a in enumerate(arrays)
        ]
        out = function(*args)
        found = [out.detach().numpy()]
        if wrt:
            w = gradcli.tensor(weights(out.shape, 0).astype(out.array.dtype))
            found += [g.numpy() for g in gradcli.autograd.grad(out, [args[i] for i in wrt], w)]
        results.append(found)
    for plain, odd in zip(*results, strict=True):
        np.testing.assert_allclose(odd, plain, rtol=1e-14, atol=1e-15)


SYMBOLS = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y, "pow": lambda x, y: x**y, "remainder": lambda x, y: x % y,
    "neg": lambda x: -x, "abs": abs,
}  # fmt: skip


@family(
    "name, place",
    [
        (n, p)
        for n, p in SMOOTH
        if ROWS[n].elementwise and n != "where" and not ROWS[n].cases[p].params
    ],
)
def test_the_short_way_of_methods_and_symbols_is_the_long_way(name, place):
    function, arrays, wrt = setup(name, place)
    ways = [function]
    numbers = all(isinstance(a, np.ndarray) for a in arrays) or "y" in OPERATORS[name].numbers
    if isinstance(arrays[0], np.ndarray) and OPERATORS[name].public and numbers:
        ways.append(lambda x, *rest: getattr(x, name)(*rest))
    if name in SYMBOLS:
        ways.append(SYMBOLS[name])
    results = []
    for way in ways:
        args = tensors(arrays, wrt)
        out = way(*args)
        kept = [v is not None and not isinstance(v, int | float) for v in out.grad_fn.saved]
        w = gradcli.tensor(weights(out.shape, 0).astype(out.array.dtype))
        found = [g.numpy() for g in gradcli.autograd.grad(out, [args[i] for i in wrt], w)]
        results.append((out.grad_fn.name(), kept, [out.detach().numpy(), *found]))
        assert out.grad_fn.op is OPERATORS[name]
    for kind, kept, found in results[1:]:
        assert kind == results[0][0]
        assert kept == results[0][1]
        for a, b in zip(found, results[0][2], strict=True):
            np.testing.assert_array_equal(a, b)


@family("name", [name for name, row in ROWS.items() if row.wrt])
def test_a_node_keeps_what_its_rules_name_and_is_freed_when_it_keeps_something(name):
    row = ROWS[name]
    function, arrays, wrt = setup(name, 0)
    out = function(*tensors(arrays, wrt))
    op = OPERATORS[name]
    names = (*op.inputs, "out")
    saved = out.grad_fn.saved
    assert (
        tuple(n for n, value in zip(names, saved, strict=False) if value is not None) == row.saves
    )
    ones = gradcli.ones(out.shape, dtype=out.dtype)
    out.backward(ones)
    if row.saves:
        assert not out.grad_fn.saved
        with pytest.raises(RuntimeError, match="retain_graph=True") as fault:
            out.backward(ones)
        assert fault.value.code == "E0401"
    else:
        out.backward(ones)


@family("name, place", SMOOTH, by=lambda name, place: OPERATORS[name].kind)
def test_backward_and_grad_pull_the_same(name, place):
    """The step written out for backward() and the pull that grad() uses come from one text."""
    function, arrays, wrt = setup(name, place)
    args = tensors(arrays, wrt)
    out = function(*args)
    w = gradcli.tensor(weights(out.shape, 0).astype(out.array.dtype))
    found = gradcli.autograd.grad(out, [args[i] for i in wrt], w, retain_graph=True)
    out.backward(w)
    for i, g in zip(wrt, found, strict=True):
        assert args[i].grad.dtype is g.dtype is args[i].dtype
        assert args[i].grad.shape == args[i].shape
        np.testing.assert_array_equal(args[i].grad.numpy(), g.numpy())


ENTRYWISE = [(n, p) for n, p in SMOOTH if OPERATORS[n].entrywise and not OPERATORS[n].variadic]


@family("name, place", ENTRYWISE)
def test_cotangents_of_entrywise_operators_have_the_results_shape(name, place):
    """Their step does not look at the shape of what a rule gives, because it is known."""
    function, arrays, wrt = setup(name, place)
    out = function(*tensors(arrays, wrt))
    node = out.grad_fn
    pulled = node.pull(node, weights(out.shape, 0).astype(out.array.dtype)[()])
    for r in pulled if isinstance(pulled, tuple) else (pulled,):
        assert r is None or np.shape(r) == node.shape


@family("name", [n for n, row in ROWS.items() if len(row.wrt) == 2 and row.saves])
def test_only_inputs_that_need_a_gradient_are_saved_for(name):
    function, arrays, wrt = setup(name, 0)
    op = OPERATORS[name]
    for one in wrt:
        out = function(*tensors(arrays, (one,)))
        kept = {
            n for n, v in zip((*op.inputs, "out"), out.grad_fn.saved, strict=False) if v is not None
        }
        assert kept == set(op.saves[one])


@family("name, i", KINKS)
def test_slopes_at_kinks(name, i):
    row, kink = ROWS[name], ROWS[name].kinks[i]
    arrays = [concrete(a) for a in kink.args]
    wrt = tuple(j for j in row.wrt if isinstance(arrays[j], np.ndarray))
    ways = [operation(name, kink.params)]
    if isinstance(arrays[0], np.ndarray) and OPERATORS[name].public:
        ways.append(lambda x, *rest: getattr(x, name)(*rest, **kink.params))
    for way in ways:
        args = tensors(arrays, wrt)
        out = way(*args)
        np.testing.assert_allclose(out.detach().numpy(), kink.value, rtol=1e-13)
        found = gradcli.autograd.grad(
            out, [args[j] for j in wrt], gradcli.ones(out.shape, dtype=out.dtype), create_graph=True
        )
        for g, want in zip(found, kink.grads, strict=True):
            np.testing.assert_allclose(g.detach().numpy(), want, rtol=1e-13)


@family("name, i", [(n, i) for n, i in KINKS if ROWS[n].elementwise])
def test_slopes_at_kinks_forward(name, i):
    row, kink = ROWS[name], ROWS[name].kinks[i]
    arrays = [concrete(a) for a in kink.args]
    wrt = [j for j in row.wrt if isinstance(arrays[j], np.ndarray)]
    for j, want in zip(wrt, kink.grads, strict=True):

        def free(x: Any, j: int = j) -> Any:
            args = [gradcli.tensor(a) if isinstance(a, np.ndarray) else a for a in arrays]
            return OPERATORS[name](*(x if k == j else a for k, a in enumerate(args)), **kink.params)

        at = gradcli.tensor(arrays[j])
        _, tangent = gradcli.func.jvp(free, (at,), (gradcli.ones(at.shape, dtype=at.dtype),))
        np.testing.assert_allclose(tangent.numpy(), want, rtol=1e-13)


@family("name", [name for name, row in ROWS.items() if not row.wrt])
def test_operators_without_derivative_make_no_edge_or_one_of_zeros(name):
    for place in range(len(ROWS[name].cases)):
        function, arrays, _ = setup(name, place)
        floats = tuple(
            i for i, a in enumerate(arrays) if getattr(a, "dtype", np.dtype(int)).kind == "f"
        )
        args = tensors(arrays, floats)
        out = function(*args)
        if not OPERATORS[name].recorded:
            assert not out.requires_grad
            assert out.grad_fn is None
        elif floats:  # floor and kin: a node, and zeros arrive
            found = gradcli.autograd.grad(out.sum(), [args[i] for i in floats], create_graph=True)
            assert not any(g.requires_grad or g.numpy().any() for g in found)


def test_the_array_reading_of_a_freed_rule_is_not_given_to_another():
    def made(text):
        scope = {"__name__": "gradcli.ops.made"}
        exec(text, scope)
        return scope.pop("f")

    for n in range(20):
        on_arrays(made("def f(): return 0"))
        assert on_arrays(made(f"n{n} = {n}\ndef f(): return n{n}"))() == n
