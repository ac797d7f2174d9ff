"""Rows as arrays: the same bits as row by row, the engine's numbers, branches and domains apart."""

from __future__ import annotations

import decimal
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradcli.batch
from gradcli.batch.evaluate import Evaluator, Row
from gradcli.language.runtime.run import Limits, prepare
from gradcli.ops.errors import Fault, LimitFault
from gradcli.ops.memory_budget import held_from_here, look, put_back, set_budget
from gradcli.symbolic import diff
from tests.support.batches import output_of
from tests.support.families import family

N = 300
rng = np.random.default_rng(5)
SCALARS = {name: rng.normal(size=N) * scale for name, scale in (("a", 2), ("b", 1), ("t", 10))}
for _column in SCALARS.values():
    _column[rng.integers(0, N, 12)] = 0
    _column[rng.integers(0, N, 3)] = np.nan
    _column[rng.integers(0, N, 3)] = np.inf
ARRAYS = {
    "x": rng.normal(size=(N, 5)), "w": rng.normal(size=(N, 5)), "A": rng.normal(size=(N, 5, 5)),
    "y": rng.normal(size=(N, 100)),
}  # fmt: skip


def evaluator(text, **options):
    mode = "file" if "\n" in text else "line"
    return Evaluator(prepare(text, mode), limits=Limits(steps=100), **options)


def by_row(found, count):
    """The value and gradients of each row, as bytes; the code of its error."""
    rows = [None] * count
    for group in found.groups:
        for i, p in enumerate(group.positions.tolist()):
            grads = group.grads or {}
            # NaN has many forms, and no text or file shows which it is.
            rows[p] = [np.where(np.isnan(v), np.nan, v).tobytes()
                       for v in (group.value[i], *(g[i] for g in grads.values()))]  # fmt: skip
    for p, fault in found.errors.items():
        rows[p] = fault.code
    return rows


def check_bits(text, table, cuts, **options):
    names = evaluator(text, **options).names
    columns = {n: a for n, a in table.items() if n in names}
    count = len(next(iter(table.values())))  # a text may read no column
    whole = by_row(evaluator(text, **options).of_columns(columns, count), count)
    other = evaluator(text, **options)
    found = []
    for low, high in zip([0, *cuts], [*cuts, count], strict=True):
        part = {n: a[low:high] for n, a in columns.items()}
        found += by_row(other.of_columns(part, high - low, 1 + low), high - low)
    assert found == whole
    return whole


ONE_BY_ONE = list(range(1, 20))

TEXTS = [
    "a*exp(-b*t)", "sin(a*t)*cos(b) + tan(a)", "a**b", "a**3 + t**-1.5", "log(a)*sqrt(b)",
    "tanh(t)/(1 + a*a)", "where(a > 0, log(a), a*t)", "a*t if a > b else a - b",
    "max(a, b)*min(t, b)", "erf(a) + lgamma(b)", "atan2(a, b) + hypot(a, t)",
    "norm(stack([a, b]))*t", "norm(stack([a, b, t]), 3)",  # infinite in some rows
    "y = a\nwhile y*y > 9:\n    y = y/2 + b*0\ny*t",
]  # fmt: skip
VECTORS = [
    "sum(x*w)", "dot(x, w)", "x @ A @ w", "norm(x)", "sum(softmax(x)*w)", "logsumexp(y)",
    "mean(y)*sum(x)", "x[0]*x[1] - sum(x[2:])", "sum(inv(A))", "max(x)", "std(y)",
    "c = tensor([1.0, 2.0])\nv = a*c\nb if b > 0 else sum(v)",  # an array that one path reads
    "sum(cumsum(y, 0)**2)", "sum(x if x[0] > 0 else w)", "sum(sort(x)[0]*w)", "trace(A @ A.T)",
    "sum(kron(A[:3, :3], A[:3, :3]))",  # its gradient adds along two dimensions that lie apart
]  # fmt: skip


@family("text", TEXTS + VECTORS)
def test_the_same_bits_row_by_row(text):
    table = SCALARS if text in TEXTS else ARRAYS
    check_bits(text, table, ONE_BY_ONE)
    check_bits(text, table, [7, 150, 151])


leaves = st.sampled_from(["a", "b", "t", "2", "0.5", "a", "t"])


def deeper(inner):
    return st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(
            lambda p: f"({p[0]} {p[1]} {p[2]})"
        ),
        st.tuples(st.sampled_from(["sin", "exp", "tanh", "sqrt", "log", "abs"]), inner).map(
            lambda p: f"{p[0]}({p[1]})"
        ),
        inner.map(lambda e: f"{e}^2"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} > 0 else {p[2]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"where({p[0]} > {p[1]}, {p[1]}, {p[2]})"),
    )


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.recursive(leaves, deeper, max_leaves=8), st.lists(st.integers(1, N - 1), max_size=4))
def test_the_same_bits_however_the_rows_are_cut(text, cuts):
    if any(name in text for name in "abt"):
        check_bits(text, SCALARS, sorted(set(cuts)))


def test_large_blocks_have_the_bits_of_small_ones():
    table = {n: np.resize(a, 40_000) for n, a in SCALARS.items()}
    check_bits("sin(a)*exp(-b*t) + cos(t)**2", table, [1, 16384, 16385, 30_000])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_row_has_its_bits_in_a_table_of_any_size(dtype):
    """Spreads round large arrays in another way: blocks of rows and a row alone are no less."""
    x = np.random.default_rng(0).uniform(0.5, 3.0, (2049, 5))
    places = [0, 1, 255, 2047, 2048]
    for text in ("var(x)", "std(x)"):
        whole = gradcli.batch.run(text, {"x": np.asfortranarray(x)}, dtype=dtype)
        some = gradcli.batch.run(text, {"x": x[places].astype(">f8")}, dtype=dtype)
        np.testing.assert_array_equal(whole.value[places], some.value)
        np.testing.assert_array_equal(whole.grads["x"][places], some.grads["x"])


WRITES = [
    "z = x*w\np = z[0, ...]\nq = p\nq += w[1]\np*z[0]", "p = np.array(x[0])\nq = p\nq *= w[0]\np*q",
]  # fmt: skip


@family("text", TEXTS + VECTORS + WRITES)
def test_the_numbers_of_the_engine(text):
    table = SCALARS if text in TEXTS else ARRAYS
    fast, slow = evaluator(text), evaluator(text)
    columns = {n: a[:60] for n, a in table.items() if n in fast.names}
    answers = fast.of_columns(columns, 60)
    rows = {}
    for group in answers.groups:
        for i, p in enumerate(group.positions.tolist()):
            rows[p] = [group.value[i], *(g[i] for g in group.grads.values())]
    for p in range(60):
        try:
            value, grads = slow.row({n: a[p] for n, a in columns.items()}, p + 1)
        except Fault:
            assert p in answers.errors
            continue
        for mine, engine in zip(rows[p], (value, *grads.values()), strict=True):
            np.testing.assert_allclose(mine, engine, rtol=1e-9, atol=1e-12)


def test_sums_of_products_that_overflow_are_those_of_the_engine():
    row = {"W": np.array([[-1.17, 3.14], [1e22, -2.81]]), "y": np.float64(1e308)}
    for text in ("sum(W @ W)*y", "sum(tanh(W @ W.T * y))"):
        fast = evaluator(text)
        (group,) = fast.of_columns({n: np.array([v] * 3) for n, v in row.items()}, 3).groups[:1]
        value, grads = evaluator(text).row(row)
        np.testing.assert_array_equal(group.value[0], value)
        for name, g in grads.items():
            np.testing.assert_array_equal(group.grads[name][0], g)


CAUGHT = "try:\n    q = {}\nexcept RuntimeError:\n    q = 7.0\nq*t"


@family("text", [
    CAUGHT.format("sum(inv(A))"), "amax(arange(3))**sum(inv(A))*t", "inv(A)\n2*t",
    CAUGHT.format("0.0 if inv(A).ndim == 3 else 3.0"),
])  # fmt: skip
@pytest.mark.parametrize("singular", [0, 2])
def test_a_row_that_fails_does_not_say_what_others_do(text, singular):
    """The first row shows a path: one with a singular matrix showed every row its handler's."""
    A = ARRAYS["A"][:20, :3, :3].copy()
    A[singular] = 0
    rows = check_bits(text, {"A": A, "t": np.ones(20)}, ONE_BY_ONE)
    slow = evaluator(text)
    for p in (0, 1, 2, 3):
        try:
            value, _ = slow.row({"A": A[p], "t": np.float64(1)}, p + 1)
        except Fault as fault:
            assert rows[p] == fault.code
            continue
        np.testing.assert_allclose(np.frombuffer(rows[p][0]), value, rtol=1e-12)


@family("text, fails", [
    ("(argmax(x) + 2)**63 * x[0]", True), ("sum(x.long()*2**62) * x[0]", True),
    ("n = (x > 0).sum() + 2\nfor i in range(70):\n    n = n*3\nn*x[0]", True),
    ("((x > 0).sum()*2 + argmax(x)) * x[0]", False),
])  # fmt: skip
def test_rows_of_whole_numbers_lose_no_bits(text, fails):
    x = np.array([[1.0, 2.0], [3.0, 2.0], [2.0, 5.0], [2.0, 2.0]] * 5)
    rows = check_bits(text, {"x": x}, ONE_BY_ONE)
    assert [row == "E0314" for row in rows] == [fails] * 20


@family("text", [
    f"q = {dead}\n2*x" for dead in ("2 % n", "n // n", "fmod(n, n)", "2 // (n > 0)")
])  # fmt: skip
def test_whole_numbers_are_divided_where_nobody_reads_it(text):
    columns = {"n": np.array([0, 2]), "x": np.array([1.5, 2.5])}
    found = evaluator(text).of_columns(columns, 2)
    assert {i: e.code for i, e in found.errors.items()} == {0: "E0304"}
    assert found.groups[0].value.tolist() == [5.0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_whole_numbers_between_fractions_are_floats_of_the_batch(dtype):
    for text in ("clamp(n, -1, 0.1)", "n.clamp_max(0.1)"):
        fast = evaluator(text, dtype=dtype).of_columns({"n": np.array([0, 5])}, 2).groups[0].value
        alone, _ = evaluator(text, dtype=dtype).row({"n": np.int64(5)})
        assert fast.dtype == alone.dtype == dtype and fast[1] == alone


@family("text", [
    "try:\n    q = t._version + 2.0\nexcept AttributeError:\n    q = 7.0\nq*t",
    "try:\n    q = 2.0 if equal(t, t) else 3.0\nexcept:\n    q = 7.0\nq*t",
    "def f(t):\n    try:\n        return 2.0 * t.item()\n    finally:\n        return t\n2*f(t)",
    "getattr(t, 'retains_grad', 7) * t + 2*t", "2*t if hasattr(t, 'is_leaf') else 7*t",
])  # fmt: skip
def test_what_only_a_trace_meets_is_not_caught(text):
    rows = check_bits(text, {"t": np.arange(20.0)}, ONE_BY_ONE)
    assert [np.frombuffer(row[0]).item() for row in rows] == [2.0 * t for t in range(20)]


def test_slopes_of_powers_have_the_bits_of_the_engine():
    columns = {n: np.abs(SCALARS[n][20:140]) + 0.1 for n in "abt"}
    for group in evaluator(text := "a**2.5 + t**-3 + a**b").of_columns(columns, 120).groups:
        for i, p in enumerate(group.positions.tolist()):
            _, grads = evaluator(text).row({n: a[p] for n, a in columns.items()}, p + 1)
            for name, slope in grads.items():
                assert np.array_equal(group.grads[name][i], slope, equal_nan=True), p


def test_constants_and_conditions():
    text = "x,y\n1,2\n3,4\n-1,5\noops,6\n"
    found, summary = output_of("x*y*k", text, "csv", constants={"k": 10.0}, where="x > 0 and y < 5")
    records = [json.loads(line) for line in found.splitlines()]
    assert [r["row"] for r in records] == [1, 2, 4] and summary.rows == 4
    assert records[1]["value"]["data"] == 120 and list(records[1]["grads"]) == ["x", "y"]
    assert records[2]["error"]["code"] == "E0901"
    found, _ = output_of("k*x", '{"x": 2}', wrt=["k"], constants={"k": np.array([1.0, 2.0])},
                         cotangent=[1, 1])  # fmt: skip
    assert json.loads(found)["grads"]["k"]["data"] == [2, 2]
    found, _ = output_of("x", '{"x": 1, "k": 2}', where="k*x > 1")
    assert json.loads(found)["value"]["data"] == 1


def test_a_condition_that_fails_says_so():
    found, summary = output_of("x", "x,y\n1,2\n-1,oops\n", "csv", where="log(y) > q[5]",
                               constants={"q": [1.0, 2]})  # fmt: skip
    first, second = (json.loads(line)["error"] for line in found.splitlines())
    assert first["code"] == "E0307" and first["message"].startswith("--where: ")
    assert second["code"] == "E0901" and second["message"].startswith("y: ")
    assert summary.failed == 2


def test_what_no_row_can_satisfy_is_one_error():
    for options, said in (
        ({"wrt": ["z"]}, "'z' is not a variable"), ({"id": "nr"}, "--id nr"),
        ({"where": "q > 1"}, "`q`, which --where reads"), ({"constants": {"y": 1.0}}, "--const y"),
        ({"where": "x >"}, "--where"), ({"where": "x = 1"}, "sets a variable"),
    ):  # fmt: skip
        with pytest.raises(Fault) as caught:
            output_of("x*y", "x,y\n1,2\n", "csv", **options)
        assert said in caught.value.message
    with pytest.raises(Fault) as caught:
        output_of("x*z", "x,y\n1,2\n", "csv")
    assert caught.value.code == "E0910" and "`z`" in caught.value.message


def test_from_python():
    found = gradcli.batch.run("a*x^2", {"a": [1.0, 2.0], "x": [3.0, 4.0]}, wrt=["x"])
    assert found.value.tolist() == [9, 32] and found.grads["x"].tolist() == [6, 16]
    assert found.errors == [] and list(found.rows) == [0, 1]
    table = np.array([(1.0, 2), (3.0, 4), (-1.0, 1)], dtype=[("x", float), ("n", int)])
    found = gradcli.batch.run("log(x)*n if n < 4 else x[5]", table, where="x > 0")
    assert list(found.rows) == [0, 1] and found.errors[0]["row"] == 1
    assert np.isnan(found.value[1]) and np.isnan(found.grads["x"][1]) and found.value[0] == 0
    vectors = gradcli.batch.run("sum(v*v)", {"v": np.ones((3, 4))})
    assert vectors.grads["v"].shape == (3, 4)
    for table, code in (({"x": [1.0], "y": [1.0, 2]}, "E0926"), (np.ones((2, 2)), "E0926"),
                        ({"y": [1.0]}, "E0910"), ({"x": ["a"]}, "E0926")):  # fmt: skip
        with pytest.raises(Fault) as caught:
            gradcli.batch.run("x*y" if "y" in str(table) and code == "E0926" else "x", table)
        assert caught.value.code == code


def test_a_table_of_pyarrow():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"x": [1.0, 2.0], "v": [[1.0, 2.0], [3.0, 4.0]]})
    found = gradcli.batch.run("sum(v)*x", table)
    assert found.value.tolist() == [3, 14] and found.grads["v"].tolist() == [[1, 1], [2, 2]]


def test_numbers_that_a_column_lacks_are_nan_and_the_others_exact():
    masked = {
        "b": np.ma.array([True, True], mask=[0, 1]), "c": np.ma.array([1 + 1j, 5], mask=[0, 1]),
        "u": np.ma.array(["s", "t"], mask=[0, 1]),
    }  # fmt: skip
    found = gradcli.batch.run("b*c", masked, grad=False).value
    assert found[0] == 1 + 1j and np.isnan(found[1])
    pa = pytest.importorskip("pyarrow")
    texts = [str(n / 100) for n in range(-2000, 12000)]
    exact = pa.array([decimal.Decimal(text) for text in texts] + [None])
    found = gradcli.batch.run("x", pa.table({"x": exact}), grad=False).value
    assert found[:-1].tolist() == list(map(float, texts)) and np.isnan(found[-1])
    found = gradcli.batch.run("x", pa.table({"x": pa.array([2**53 + 1, None])}), grad=False).value
    assert found[0] == 2.0**53 and np.isnan(found[1])


def test_what_has_no_variable_in_it_and_complex_columns_are_of_the_dtype_asked_for():
    for text in ("sin(1)", "if x > 0:\n    y = 0.1\nelse:\n    y = sqrt(2)\ny", "[0.1, x][0]"):
        out, _ = output_of(text, '{"x": 1}\n{"x": -1}', mode="file", dtype="float32")
        kinds = {json.loads(line)["value"]["dtype"] for line in out.splitlines()}
        assert kinds == {"float32"}
    given = np.array([1.1 + 1j])
    for dtype, wide in (("float32", "complex64"), ("float64", "complex128")):
        for narrow in ("complex64", "complex128"):
            table = {"x": given.astype(narrow)}
            found = gradcli.batch.run("x/3", table, dtype=dtype, grad=False).value
            assert found.dtype == wide and found[0] == given.astype(narrow).astype(wide)[0] / 3


def test_a_data_frame_and_columns_that_no_program_reads():
    class Frame:
        """What pandas and polars have in common."""

        def __init__(self, **columns):
            self.data, self.columns = columns, list(columns)

        def __getitem__(self, name):
            return Frame(**{name: self.data[name]})

        def to_numpy(self):
            return np.array(self.data[self.columns[0]], object if "o" in self.columns else None)

    frame = Frame(x=[1.0, 2], o=["a", None], when=np.array(["2026-01-01"] * 2, "M8[s]"))
    assert gradcli.batch.run("x^2", frame).grads["x"].tolist() == [2, 4]
    for name in ("o", "when"):
        with pytest.raises(Fault, match=f"`{name}`, a variable, holds neither") as caught:
            gradcli.batch.run(f"x*{name}", frame)
        assert caught.value.code == "E0926"
    found = gradcli.batch.run("x*k", {"x": np.ones(3, ">f4"), "k": [1, 2, 3], "no": ["a"] * 3},
                              where="k > c", const={"c": 1})  # fmt: skip
    assert found.value.tolist() == [2, 3] and list(found.rows) == [1, 2]
    found = gradcli.batch.run("x if x < 2 else x*1j if x < 3 else ones(2)", {"x": [1.0, 2, 3]},
                              grad=False)  # fmt: skip
    assert found.value.tolist()[:2] == [1, 2j] and found.errors[0]["code"] == "E0912"
    assert np.isnan(found.value[2]) and found.errors[0]["row"] == 2
    masked = np.ma.masked_array([1.0, 2], [False, True])
    found = gradcli.batch.run("x*k", {"x": masked}, "k", const={"k": 3})
    assert found.value[0] == 3 and np.isnan(found.value[1]) and found.grads["k"][0] == 1
    large = {"x": np.array([[1, 2], [1, 1e300], [3, -np.inf]]), "k": [1e39, 2.0, 3]}
    found = gradcli.batch.run("sum(x)*k", large, dtype="float32")
    assert [e["code"] for e in found.errors] == ["E0923"] * 2 and found.value[2] == -np.inf


def test_threads_do_not_meet():
    from concurrent.futures import ThreadPoolExecutor

    def one(k):
        return gradcli.batch.run(f"x*{k} if x > 0 else x^2", {"x": np.arange(-50.0, 50)}).value

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(one, [i % 4 for i in range(40)]))
    for i, value in enumerate(found):
        assert (value == one(i % 4)).all()


def test_only_the_different_terms_of_a_long_sum_are_read():
    program = prepare("+".join(["x"] * 9000))
    assert Evaluator(program).row({"x": np.asarray(0.5)})[0] == 4500
    assert not diff(program, "x").undefined(x=0.5)
    assert program.names.sums and program.names is not program.checked


def test_a_gradient_takes_no_more_memory_than_a_run_may():
    text = "y = x*1\ny.register_hook(lambda g: g*ones(2000000)[0])\ny"
    for memory, fails in ((10 << 20, True), (40 << 20, False)):
        by = Evaluator(prepare(text, "file"), limits=Limits(memory=memory))
        found = by.answers([Row(1, "a", {"x": 2.0})])
        assert [fault.code for fault in found.errors.values()] == ["E0602"] * fails


def test_the_error_of_a_row_keeps_nothing_that_the_row_made():
    text = "a = ones(1000)\nb = a*2\nb.backward()\nsum(b)*x"
    found = Evaluator(prepare(text, "file")).answers([Row(1, "a", {"x": 2.0})])
    (fault,) = found.errors.values()
    assert fault.__traceback__ is fault.__context__ is fault.__cause__ is None


def test_what_a_run_takes_a_little_at_a_time_is_looked_at():
    before = set_budget(8 << 20)
    try:
        held_from_here()
        assert 0 < look(0) <= 8 / 1024
        pieces = [bytes(1000) for _ in range(150_000)]  # more than other tests left
        with pytest.raises(LimitFault, match="the evaluation holds"):
            look(0)
        assert pieces
    finally:
        put_back(before)
