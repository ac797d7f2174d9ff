"""``gradcli.compile``: what it takes and gives, when it traces, and when the engine runs."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import functools
import gc
import types
import warnings
import weakref

import numpy as np
import pytest

import gradcli
import gradcli.batch
from gradcli.autograd import functional
from gradcli.func import jacrev
from gradcli.jit import compiled as module
from gradcli.jit import eager
from gradcli.jit.ir import NotTraceable
from gradcli.jit.outside import Outside
from gradcli.jit.rows import path_of
from gradcli.transforms.tree import flatten
from tests.support.families import family


@pytest.fixture
def engine_is_shut(monkeypatch):
    """Code is made in the first call, and anything that runs on the engine fails."""

    def shut(*args):
        raise AssertionError("ran on the engine")

    def run(self, what, inputs):
        key, args, _ = module._prepared(what, inputs)
        self._vain = 0
        self._entry(key, what, args)
        return usual(self, what, inputs)

    usual = module.Compiled._run
    monkeypatch.setattr(module.Compiled, "_run", run)
    for what in eager.RUN:
        monkeypatch.setitem(eager.RUN, what, shut)


def test_floats_arrays_and_tensors_give_their_like(engine_is_shut):
    c = gradcli.compile(lambda x, y: (x * x).sum() * y)
    x = np.array([1.0, 2.0])
    value, (by_x, by_y) = c.value_and_grad(x, 3.0)
    assert (type(value), type(by_x), type(by_y)) == (float, np.ndarray, float)
    assert (value, by_x.tolist(), by_y) == (15.0, [6.0, 12.0], 5.0)
    value, (by_x, by_y) = c.value_and_grad(gradcli.tensor(x), 3.0)
    assert all(isinstance(t, gradcli.Tensor) for t in (value, by_x, by_y))
    assert value.dtype is gradcli.float64 and by_x.tolist() == [6.0, 12.0]
    assert c(x, np.array(3.0)) == c(x, 3) == 15.0


def test_a_result_is_never_the_callers_array():
    c = gradcli.compile(lambda x, y: (x, x.reshape((2, 1)), (x * y).sum()))
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    same, column, _ = c(x, y)
    assert not np.shares_memory(same, x) and not np.shares_memory(column, x)
    _, (by_x, by_y) = gradcli.compile(lambda x, y: (x * y).sum()).value_and_grad(x, y)
    assert not np.shares_memory(by_x, y) and not np.shares_memory(by_y, x)
    _, (a, b) = gradcli.compile(lambda x, y: (x + y).sum()).value_and_grad(x, y)
    assert not np.shares_memory(a, b)
    a[0] = 7.0
    assert b[0] == 1.0


def test_trees_of_results(engine_is_shut):
    c = gradcli.compile(lambda x: {"sum": x.sum(), "parts": [x * 2, (x > 1,)]})
    found = c(np.array([1.0, 2.0]))
    assert found["sum"] == 3.0 and found["parts"][0].tolist() == [2.0, 4.0]
    assert found["parts"][1][0].tolist() == [False, True]


def test_whole_numbers_are_data(engine_is_shut):
    c = gradcli.compile(lambda x, n: (x * n).sum())
    value, grads = c.value_and_grad(np.array([0.5, 2.0]), np.array([2, 3]))
    assert value == 7.0 and grads[0].tolist() == [2.0, 3.0] and grads[1] is None


@family(
    "function",
    [
        lambda x: x * 2 if x > 0 else x * 3,
        lambda x: x * float(x),
        lambda x: x * x.item(),
        lambda x: gradcli.tensor(np.array(x.tolist())) + x,
        lambda x: x.clone().add_(1.0) * x,
        lambda x: x * int(x),
        lambda x: x * len(f"{x}"),
    ],
)
def test_what_cannot_be_traced_runs_on_the_engine(function):
    c = gradcli.compile(function)
    assert c(2.0) == eager.value(function, [2.0], False)
    assert c.value_and_grad(2.0) == eager.gradient(function, [2.0], False)
    assert c.value_and_grad(-2.0) == eager.gradient(function, [-2.0], False)
    with pytest.raises(NotTraceable, match="runs eagerly"):
        c.code(2.0)


@pytest.mark.parametrize(
    "inner", [lambda x: x * float(x), lambda x: x if x > 0 else 2 * x,
              lambda x: gradcli.linalg.inv(gradcli.stack([x, x * 0, x * 0, x]).reshape(2, 2)).sum()]
)  # fmt: skip
def test_a_handler_in_the_function_does_not_catch_what_only_tracing_raises(inner):
    def function(x):
        try:
            return inner(x)
        except Exception:
            return 7 * x

    c = gradcli.compile(function)
    for x in (0.0, 2.0, -2.0):
        assert c(x) == eager.value(function, [x], False)


def test_random_numbers_and_prints_run_in_every_call(capsys):
    c = gradcli.compile(lambda x: x + gradcli.rand(2, dtype=gradcli.float64))
    assert c(0.0).tolist() != c(0.0).tolist()

    def says(x):
        print("called")
        return x * x

    c = gradcli.compile(says)
    assert [c(1.0), c(2.0), c(3.0)] == [1.0, 4.0, 9.0]
    assert capsys.readouterr().out == "called\n" * 3


def test_what_is_read_from_outside_may_change(engine_is_shut):
    factor, table, weight = 2.0, {"k": [1.0]}, gradcli.tensor([1.0, 2.0], dtype=gradcli.float64)
    point = np.array([3.0])
    c = gradcli.compile(lambda x: factor * x * table["k"][0] * point[0] * weight.sum())
    assert c(1.0) == 18.0
    factor = 3.0
    assert c(1.0) == 27.0
    table["k"][0] = 2.0
    assert c(1.0) == 54.0
    point[0] = 1.0
    assert c(1.0) == 18.0
    weight.array[0] = 0.0
    assert c(1.0) == 12.0
    weight = weight * 2
    assert c(1.0) == 24.0


def test_what_is_read_by_attribute_may_change():
    module, scale = types.ModuleType("settings"), 2.0

    class Held:
        factor = 2.0

        def method(self, x):
            return x * scale

        @property
        def of_scale(self):
            return scale

    held, module.factor = Held(), 2.0
    held.function, held.number, held.table = lambda x: x * scale, 2, {"a": 2.0}
    table = {"function": held.function}
    functions = (
        held.method,
        lambda x: held.method(x),
        lambda x: held.function(x),
        lambda x: table["function"](x),
        lambda x: x * held.of_scale,
        lambda x: x * held.factor,
        lambda x: x * Held.factor,
        lambda x: x * module.factor,
        lambda x: x * held.table.get("a", 3.0),
    )
    compiled = [gradcli.compile(f) for f in functions]
    assert [c(1.0) for c in compiled] == [2.0] * 9
    scale = Held.factor = module.factor = 3.0
    held.table["b"] = held.table.pop("a")
    assert [c(1.0) for c in compiled] == [3.0] * 9
    c, x = gradcli.compile(lambda x: x * held.number), gradcli.tensor([1])
    assert not c(x).dtype.is_floating_point
    held.number = 2.0
    assert c(x).dtype.is_floating_point


def test_what_took_the_place_of_a_freed_function_is_another():
    def multiply(n):
        return lambda x: x * n

    held = types.SimpleNamespace()
    c = gradcli.compile(lambda x: held.f(x))
    for n in range(20):
        held.f = multiply(float(n))
        assert c(1.0) == n
        del held.f


def test_large_arrays_outside_are_read_in_every_run(engine_is_shut):
    data = gradcli.ones(1000, dtype=gradcli.float64)
    c = gradcli.compile(lambda x: (data * x).sum() + (data.view(10, 100) * x).sum())
    assert c.value_and_grad(2.0) == (4000.0, (2000.0,))
    data.fill_(2.0)
    assert c.value_and_grad(2.0) == (8000.0, (4000.0,))


def test_what_changes_after_every_call_is_looked_at_seldom(monkeypatch):
    looks = []
    monkeypatch.setattr(module, "Outside", lambda f: looks.append(f) or Outside(f))
    weight = gradcli.ones(2)
    c = gradcli.compile(lambda x: (weight * x).sum())
    for n in range(1, 300):
        assert c(1.0) == 2.0 * n
        weight.add_(1)
    assert len(looks) < 20
    for _ in range(80):
        assert c(1.0) == 600.0
    assert c._outside.looks > 8 and all(e.program for e in c._outside.entries.values())


def test_domain_errors_are_the_engines_answer():
    c = gradcli.compile(lambda x: gradcli.log(x) + x**0.5)
    assert np.isnan(c(-1.0)) and c(0.0) == -np.inf
    assert c.value_and_grad(0.0) == (-np.inf, (np.inf,))
    assert gradcli.compile(lambda x: 1 / x)(0.0) == np.inf
    assert gradcli.compile(lambda x: gradcli.exp(x))(1e3) == np.inf


def test_powers_that_are_roots_are_the_engines():
    for power in (0.5, -0.5, 1.5):
        c = gradcli.compile(lambda x, power=power: x**power)
        for x in (-0.0, -np.inf, np.inf, 4.0):
            np.testing.assert_equal(c(x), eager.value(c.function, [x], False))
            found, wanted = c.value_and_grad(x), eager.gradient(c.function, [x], False)
            np.testing.assert_equal(found, wanted)
    assert gradcli.compile(lambda x: x**0.5).value_and_grad(-0.0) == (0.0, (-np.inf,))


@pytest.mark.parametrize("index", [(..., None), (None, ...), (..., None, None), (), True])
def test_indices_of_a_single_number(index):
    c = gradcli.compile(lambda x: (x[index] ** 3).sum() + (x * x)[index].mean())
    for what, name in (("gradient", "value_and_grad"), ("hessian", "hessian")):
        want = flatten(eager.RUN[what](c.function, [1.5], False))[0]
        for _ in range(3):
            found = flatten(getattr(c, name)(1.5))[0]
            np.testing.assert_allclose(found, want, rtol=1e-12)
        assert "return" in c.code(1.5, of=what)


def test_numpy_says_nothing_of_generated_code():
    x = np.array([-np.inf, -np.inf])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gradcli\.")  # as in ops
        value, (by_x,) = gradcli.compile(lambda x: gradcli.logsumexp(x, 0)).value_and_grad(x)
    assert value == -np.inf and np.isnan(by_x).all()


def test_errors_are_the_engines():
    c = gradcli.compile(lambda x, y: (x @ y).sum())
    x, y = np.ones((2, 3)), np.ones((2, 3))
    with pytest.raises(gradcli.ops.errors.Fault) as generated:
        c.value_and_grad(x, y)
    with pytest.raises(gradcli.ops.errors.Fault) as wanted:
        eager.gradient(c.function, [x, y], False)
    assert str(generated.value) == str(wanted.value)
    with pytest.raises(gradcli.ops.errors.Fault, match="scalar"):
        gradcli.compile(lambda x: x * 2).value_and_grad(np.ones(2))


@pytest.mark.parametrize("text", ["x - (2 > 1)", "(2 > 1) - x", "x - (x.item() > 1)"])
def test_a_truth_is_refused_where_the_engine_refuses_it(text):
    function = eval(f"lambda x: {text}")
    calls = (
        lambda: function(gradcli.tensor(1.5)), lambda: gradcli.compile(function)(1.5),
        lambda: gradcli.compile(function).jvp(1.5, 1.0),
        lambda: eager.gradient(function, [1.5], False),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(gradcli.ops.errors.Fault, match="bool tensor"):
            call()
    found = gradcli.batch.run(text, {"x": [1.5, 2.5]})
    assert [error["code"] for error in found.errors] == ["E0309", "E0309"]


@pytest.mark.parametrize("number", [0.1, 3, True])
def test_a_result_may_be_a_number_of_pythons(number):
    """A float keeps all its digits; the derivatives are zero."""
    c = gradcli.compile(lambda x: x * x if x > 0 else number)
    assert c(-1.0) == c.value_and_grad(-1.0)[0] == c.hvp(-1.0, 1.0)[0] == number
    assert c.jvp(-1.0, 1.0) == (number, 0)
    assert c.value_and_grad(-1.0)[1] == (0.0,) and c.hvp(-1.0, 1.0)[1] == (0.0,)
    many = gradcli.compile(lambda x: {"a": x, "b": [number, -number]} if x < 0 else x)
    assert many(-1.0) == {"a": -1.0, "b": [number, -number]}
    assert many(gradcli.tensor(-1.0))["b"][0].item() == number


@pytest.mark.parametrize("alpha", [1, 2, True, 2.5, 1j])
def test_truths_are_added_and_scaled_as_on_the_engine(alpha):
    cases = (
        lambda x: gradcli.add(x > 1, x > 0, alpha=alpha), lambda x: gradcli.add(x, x, alpha=alpha),
        lambda x: gradcli.sub(x, 2, alpha=alpha), lambda x: (x > 1) * (x > 0),
    )  # fmt: skip
    for function in cases:
        try:
            want = function(gradcli.tensor(1.5, dtype=gradcli.float64)).item()
        except gradcli.ops.errors.Fault as fault:
            with pytest.raises(type(fault), match=str(fault).splitlines()[0]):
                gradcli.compile(function)(1.5)
        else:
            found = gradcli.compile(function)(1.5)
            assert found == want and isinstance(found, type(want))


def test_nothing_flows_through_a_branch_not_taken():
    c = gradcli.compile(lambda x: gradcli.where(x > 0, gradcli.sqrt(x), 0 * x).sum())
    _, (g,) = c.value_and_grad(np.array([4.0, 0.0, -1.0]))
    assert g.tolist() == [0.25, 0.0, 0.0]


def test_a_decision_never_goes_the_other_way(engine_is_shut):
    """A comparison with NumPy's own digit, where math's may be another one."""
    points = np.linspace(0.1, 3.0, 400)
    c = gradcli.compile(lambda x, y: gradcli.where(gradcli.exp(gradcli.sin(x)) > y, x, -x))
    for x in points:
        y = float(np.exp(np.sin(np.asarray(x))))
        assert c(float(x), y) == -x


def test_detached_values_have_no_derivative(engine_is_shut):
    c = gradcli.compile(lambda x: x * x.detach())
    assert c.value_and_grad(3.0) == (9.0, (3.0,))

    def partly(x):
        with gradcli.no_grad():
            y = x * x
        return x * y

    assert gradcli.compile(partly).value_and_grad(3.0) == (27.0, (9.0,))


def test_a_tangent_passes_what_is_not_recorded():
    """As in func.jvp: no_grad is of reverse mode."""

    def partly(x, y):
        with gradcli.no_grad():
            a = x * x
        return a * y

    assert gradcli.compile(partly).jvp((3.0, 2.0), (1.0, 1.0)) == (18.0, 21.0)
    c = gradcli.compile(lambda x: x * x.detach())
    assert c.jvp((3.0,), (1.0,)) == (9.0, 3.0)


def test_what_a_tangent_passes_has_no_gradient_of_what_stands_outside():
    weight = gradcli.tensor(1.0, requires_grad=True)

    def asking(x):
        with gradcli.enable_grad():
            return x * (2.0 if (weight * 1).requires_grad else 3.0)

    c = gradcli.compile(asking)
    assert [c.jvp((1.5,), (1.0,)) for _ in range(3)] == [(4.5, 3.0)] * 3


def test_tensors_that_need_a_gradient_are_recorded():
    x = gradcli.tensor([1.0, 2.0], requires_grad=True)
    gradcli.compile(lambda x: (x * x).sum())(x).backward()
    assert x.grad.tolist() == [2.0, 4.0]


@family("transform", [
    functional.jacobian, lambda f, x: functional.jacobian(f, x, vectorize=True),
    lambda f, x: functional.jacobian(f, x, create_graph=True), lambda f, x: jacrev(f)(x),
    lambda f, x: functional.jacobian(f, x, vectorize=True, strategy="forward-mode"),
])  # fmt: skip
def test_derivatives_are_differentiated_by_what_asks_for_all(transform):
    c, x = gradcli.compile(lambda x: (x**3).sum()), gradcli.tensor([1.0, 2.0])
    for _ in range(3):  # on the engine, and compiled
        for of in (lambda x: c.value_and_grad(x)[1][0], c.jacobian):
            assert transform(of, x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
        assert transform(lambda x: c.hessian(x).sum(0), x).tolist() == [[6.0, 0.0], [0.0, 6.0]]


def test_hessians_of_several_inputs(engine_is_shut):
    c = gradcli.compile(lambda x, A, s: s * (x @ A @ x))
    x, A = np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0]])
    blocks = c.hessian(x, A, 2.0)
    assert blocks[0][0].tolist() == (2 * (A + A.T)).tolist()
    assert blocks[0][1].shape == (2, 2, 2) and blocks[1][0].shape == (2, 2, 2)
    assert blocks[2][2] == 0.0 and blocks[0][2].tolist() == ((A + A.T) @ x).tolist()
    assert blocks[1][2].tolist() == np.outer(x, x).tolist()
    np.testing.assert_array_equal(blocks[0][1], np.moveaxis(blocks[1][0], 2, 0))


def test_jacobians():
    a = np.arange(12.0).reshape(3, 4)
    for f, inputs in (
        (lambda x: gradcli.sin(a @ x), [np.ones(4)]),
        (lambda x, y: x * y.sum(), [np.ones((2, 2)), np.arange(3.0)]),
        (lambda x, y: x * x * y, [2.0, 3.0]),
        (lambda x: gradcli.where(x > 0, gradcli.sqrt(x), x), [np.array([1.0, 0.0])]),
    ):
        c = gradcli.compile(f)
        found, want = c.jacobian(*inputs), eager.jacobian(f, inputs, False)
        assert c._wanted("jacobian", tuple(inputs)).program
        for one, other in zip(*((found, want) if len(inputs) > 1 else ((found,), (want,))),
                              strict=True):  # fmt: skip
            np.testing.assert_allclose(one, other, rtol=1e-15)
            assert np.shape(one) == np.shape(other)


def test_inner_transforms_are_traced(engine_is_shut):
    def slope(x):
        return gradcli.func.jvp(gradcli.sin, (x,), (x * 0 + 1,))[1]

    c = gradcli.compile(slope)
    assert c.value_and_grad(0.0) == (1.0, (0.0,))
    rows = gradcli.compile(lambda X: gradcli.func.vmap(lambda r: r @ r)(X).sum())
    assert rows.value_and_grad(np.array([[1.0, 2.0], [3.0, 4.0]]))[0] == 30.0


def test_the_program_and_its_text_can_be_read():
    c = gradcli.compile(lambda x: (gradcli.exp(x) * 1.0).sum())
    x = np.zeros(9)
    assert c.ir(x).splitlines() == [
        "program(x0: float64[9])",
        "  v0: float64[9] = exp x0",
        "  v1: float64 = sum v0 dim=None keepdim=False",
        "  return v1, v0",
    ]
    assert "v0 = exp(x0)  # float64[9]" in c.code(x)
    assert c.ir(x, of="value").endswith("return v1")


def test_long_programs(engine_is_shut):
    def chain(x):
        for _ in range(5_000):
            x = gradcli.sin(x) * 1.01
        return x

    value, (slope,) = gradcli.compile(chain).value_and_grad(0.5)
    want, (at,) = eager.gradient(chain, [0.5], False)
    assert value == pytest.approx(want, rel=1e-12) and slope == pytest.approx(at, rel=1e-10)


def test_functions_that_change_with_each_run_stay_on_the_engine():
    rng, log, count = np.random.default_rng(0), [], 0

    def counts(x):
        nonlocal count
        count += 1
        return x * count

    def logs(x):
        log.append(1)
        return x * len(log)

    drawn = gradcli.compile(lambda x: x * rng.normal())
    assert drawn(1.0) != drawn(1.0)
    for function in (counts, logs):
        c = gradcli.compile(function)
        found = [c(1.0) for _ in range(3)]
        assert found[1] - found[0] == found[2] - found[1] == 1.0
    asks = lambda x: x * 2 if isinstance(x, gradcli.Tensor) else x * 3  # noqa: E731
    for function in asks, gradcli.func.functionalize(asks):
        assert gradcli.compile(function)(1.0) == 2.0


@pytest.mark.parametrize(
    "effect",
    [
        lambda x, held: x * held.pop(), lambda x, held: x * held.pop() if x > 0 else x,
        lambda x, held: x.item() * held.pop(0) + x,
        lambda x, held: x * held[0] if held.append(x) is None else x,
        lambda x, held: x * len([held.insert(0, 7.0)]) + held[1],
    ],
)  # fmt: skip
def test_every_call_has_the_effects_of_one(effect):
    held, plain = ([float(n) for n in range(9)] for _ in range(2))
    c = gradcli.compile(lambda x: effect(x, held))
    for at in (2.0, -2.0, 3.0, 4.0):
        assert c(at) == float(effect(gradcli.tensor(at, dtype=gradcli.float64), plain))
        assert held == plain and all(type(h) is not module.Value for h in held)


def test_what_is_filled_once_is_compiled_then():
    cache = {}

    def cached(x):
        if "k" not in cache:
            cache["k"] = 3.0
        return x * cache["k"]

    c = gradcli.compile(cached)
    assert [c(float(n)) for n in range(4)] == [0.0, 3.0, 6.0, 9.0]
    assert c._wanted("value", (1.0,)).program


def test_the_default_dtype_is_that_of_the_call():
    c = gradcli.compile(lambda x: (gradcli.ones(2) * x).sum())
    x = np.ones(2, np.float32)
    assert c(x).dtype == np.float32
    gradcli.set_default_dtype(gradcli.float64)
    assert c(x).dtype == np.float64 if isinstance(c(x), np.generic) else isinstance(c(x), float)


def test_more_outside_than_can_be_looked_at_keeps_the_engine():
    table = list(range(5000))
    c = gradcli.compile(lambda x: x * table[4999])
    assert c(2.0) == 9998.0
    table[4999] = 1
    assert c(2.0) == 2.0
    with pytest.raises(NotTraceable, match="more outside"):
        c.code(2.0)


def test_modules_are_read_in_every_run():
    model = gradcli.nn.Sequential(
        gradcli.nn.Linear(3, 4), gradcli.nn.Tanh(), gradcli.nn.Sequential(gradcli.nn.Linear(4, 1))
    )
    c = gradcli.compile(lambda x: model(x).sum())
    x = np.ones(3, np.float32)

    def same():
        value, (slope,) = c.value_and_grad(x)
        want, (at,) = eager.gradient(c.function, [x], False)
        np.testing.assert_allclose(slope, at, rtol=1e-6)
        np.testing.assert_allclose(value, want, rtol=1e-6)
        return value

    first = same()
    with gradcli.no_grad():
        model[2][0].weight.mul_(2.0)
    assert same() != first
    model[2][0].weight = gradcli.nn.Parameter(gradcli.zeros(1, 4))
    assert same() == pytest.approx(float(model[2][0].bias[0].item()))
    assert "@" in c.code(x)


def test_programs_that_are_too_long_run_on_the_engine(monkeypatch):
    monkeypatch.setattr("gradcli.jit.trace.Trace.longest", 100)

    def chain(x):
        for _ in range(101):
            x = x * 1.01
        return x

    c = gradcli.compile(chain)
    assert c(1.0) == eager.value(chain, [1.0], False)
    with pytest.raises(NotTraceable, match="of that length"):
        c.code(1.0)


def test_wrong_calls_are_refused():
    c = gradcli.compile(lambda *xs: sum(x * x for x in xs))
    with pytest.raises(RuntimeError, match="3 inputs and 1 tangents"):
        c.jvp((1.0, 2.0, 3.0), (1.0,))  # four numbers in all: no two and two
    with pytest.raises(RuntimeError, match="1 inputs and 2 vectors"):
        c.hvp(1.0, (1.0, 2.0))
    with pytest.raises(ValueError, match="of='grad'"):
        c.code(1.0, of="grad")
    with pytest.raises(TypeError, match="takes a function, not int"):
        gradcli.compile(3)


def test_signs_of_truths_are_traced_and_those_of_bits_run_as_they_are():
    numbers = gradcli.tensor([0, 2, 5])
    for function in (
        lambda x: (x & 1) + 0, lambda x: (4 | x) + 0, lambda x: (x ^ 3) + 0, lambda x: ~x + 0,
        lambda x: ((x > 0) & (x < 5)) * x + (~(x > 1)) * 2,
    ):  # fmt: skip
        compiled = gradcli.compile(function)
        for _ in range(3):
            assert compiled(numbers).tolist() == function(numbers).tolist()


class _Swallows:
    def __enter__(self):
        return self

    def __exit__(self, *caught):
        return True


def _bare(x):
    try:
        return x * 2 if x > 0 else x * 3
    except:  # noqa: E722
        return 7 * x


def _finally(x):
    found = 7 * x
    try:
        found = x * 2 if x > 0 else x * 3
    finally:
        return found  # noqa: B012


def _block(x):
    found = 7 * x
    with _Swallows():
        found = x * 2 if x > 0 else x * 3
    return found


def _suppressed(x):
    found = 7 * x
    with contextlib.suppress(BaseException):
        found = x * 2 if x > 0 else x * 3
    return found


def _refused(x):
    try:
        return x * 2 if gradcli.equal(x, x) else x * 3
    except Exception:
        return 7 * x


def _only_of_tensors(x):
    return x * (7 if x.__class__ is not gradcli.Tensor else 2)


def _matched(x):
    match x:
        case gradcli.Tensor():
            return 2 * x
    return 7 * x


@pytest.mark.parametrize(
    "function", [_bare, _finally, _block, _suppressed, _refused, _only_of_tensors, _matched]
)
def test_code_that_tells_a_trace_from_a_run_is_not_traced(function):
    c = gradcli.compile(function)
    for x in (2.0, -2.0):
        assert c(x) == eager.value(function, [x], False)
        assert c.value_and_grad(x) == eager.gradient(function, [x], False)


def test_an_error_is_raised_though_nobody_reads_the_result():
    def function(a):
        gradcli.linalg.inv(a)
        return a.sum()

    c = gradcli.compile(function)
    assert c(np.eye(2)) == c.value_and_grad(np.eye(2))[0] == 2.0
    for call in (c, c.value_and_grad):
        with pytest.raises(gradcli.linalg.LinAlgError, match="singular"):
            call(np.zeros((2, 2)))


class _Slotted:
    __slots__ = ("k",)


def _tagged(x):
    return x * _tagged.k


class _Scaled(gradcli.nn.Module):
    def forward(self, x):
        return x * SCALES[0]


class _Ordered:
    def __lt__(self, other):
        return SCALES[1] < other


HELD = types.SimpleNamespace()
SCALES = [1.0, 1.0]


@pytest.mark.parametrize(
    ("start", "read", "write"),
    [
        (collections.deque([1.0]), lambda x: x * HELD.o[0], lambda o: o.__setitem__(0, 5.0)),
        (bytearray(b"\x01"), lambda x: x * HELD.o[0], lambda o: o.__setitem__(0, 5)),
        (_Slotted(), lambda x: x * HELD.o.k, lambda o: setattr(o, "k", 5.0)),
        (type("List", (list,), {})(), lambda x: x * HELD.o.k, lambda o: setattr(o, "k", 5.0)),
        (gradcli.ones(2), lambda x: x * HELD.o.k, lambda o: setattr(o, "k", 5.0)),
        (_tagged, _tagged, lambda o: setattr(o, "k", 5.0)),
        (gradcli.ones(2), lambda x: x * (1.0 if HELD.o.requires_grad else 5.0),
         lambda o: o.requires_grad_(o.k == 1.0)),
        (contextvars.ContextVar("v", default=1.0), lambda x: x * HELD.o.get(),
         lambda o: o.set(5.0)),
        (functools.partial(lambda k, x: x * k[0], [1.0]), lambda x: HELD.o(x),
         lambda o: o.args[0].__setitem__(0, 5.0)),
        ({"a": 1.0}.get, lambda x: x * HELD.o("a"), lambda o: o.__self__.update(a=5.0)),
        (_Scaled(), lambda x: HELD.o(x), lambda o: SCALES.__setitem__(0, 5.0)),
        (_Ordered(), lambda x: x * (1.0 if HELD.o < 2 else 5.0),
         lambda o: SCALES.__setitem__(1, 5.0)),
        (gradcli.ones(9000), lambda x: x * (HELD.o * 2).sum() / 18000, lambda o: o.fill_(5.0)),
    ],
)  # fmt: skip
def test_whatever_is_read_outside_may_change(start, read, write):
    HELD.o = start
    if "k" in getattr(start, "__slots__", ()) or hasattr(start, "__dict__"):
        start.k = 1.0
    c = gradcli.compile(read)
    first = c(2.0), c(2.0)
    write(start)
    assert (*first, c(2.0)) in [(2.0, 2.0, 10.0), (10.0, 10.0, 2.0)]


def test_a_write_to_a_tensor_outside_is_made_once_in_every_call():
    for size in (1, 9000):
        total = gradcli.zeros(size)
        c = gradcli.compile(lambda x, total=total: x * total.add_(1).mean())
        assert [c(1.0) for _ in range(3)] == [1.0, 2.0, 3.0]


def test_what_inference_mode_makes_is_saved_by_no_rule():
    def function(x):
        with gradcli.inference_mode():
            y = 2 * x
        return x * y

    for calls in (eager.gradient, lambda f, args, _: gradcli.compile(f).value_and_grad(*args)):
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
            calls(function, [1.5], False)
    assert gradcli.compile(function)(1.5) == 4.5
    text = "with inference_mode():\n    y = 2*x\nx*y"
    assert len(gradcli.batch.run(text, {"x": [1.5, 2.5]}).errors) == 2


def test_values_of_a_transform_pass_through():
    c, f = gradcli.compile(lambda x: gradcli.sin(x) * x), lambda x: gradcli.sin(x) * x
    x = gradcli.tensor([0.3, -0.4], dtype=gradcli.float64)
    for transform in (gradcli.func.vmap, gradcli.func.jacfwd, gradcli.func.hessian):
        assert transform(c)(x).tolist() == transform(f)(x).tolist()
    found, want = (gradcli.func.jvp(g, (x,), (x,)) for g in (c, f))
    assert found[1].tolist() == want[1].tolist()


WIDTHS = np.array([1.0, 2.0, 4.0])


@family("function, given", [
    (lambda x, b: x * b.std(), WIDTHS), (lambda x, b: x + b / 2, np.array([1, 2, 4])),
    (lambda x, b: b, WIDTHS), (lambda x, b: (x, [b]), WIDTHS), (lambda x, b: WIDTHS, 2.0),
    (lambda x, b: WIDTHS * 2, 2), (lambda x, b: {"a": np.float32(1.5)}, True),
    (lambda x, b: b.sum() * x, 2.5), (lambda x, b: b // 2 + x, 3), (lambda x, b: b, np.True_),
])  # fmt: skip
def test_arrays_and_numbers_are_tensors_where_a_graph_is_made_too(function, given):
    """So NumPy's ways, of a standard deviation or a type, have no part in it."""
    found = []
    for wanted in (False, True):
        c = gradcli.compile(function)
        x = gradcli.tensor(3.0, requires_grad=wanted)
        for _ in range(3):
            leaves = flatten(c(x, given))[0]
            found.append([(t.__class__, t.dtype, t.tolist()) for t in leaves])
    assert all(one == found[0] for one in found)
    batch = gradcli.vmap(lambda x: c(x, given))(gradcli.tensor([3.0, 3.0]))
    assert [(t.__class__, t.dtype, t[0].tolist()) for t in flatten(batch)[0]] == found[0]


@family("call, held", [
    (lambda c, x: c.value_and_grad(x, 2)[0], False),
    (lambda c, x: c.value_and_grad(x, 2.0)[1][0], False),
    (lambda c, x: c.value_and_grad(2.0, x.sum())[1][0], False),
    (lambda c, x: c.value_and_grad(np.ones(2), 2)[1][0], True),
    (lambda c, x: c(np.ones(2), 2), True),
    (lambda c, x: c.hessian(x, x[0])[0][1], False), (lambda c, x: c.jacobian(x, 2.0)[0], False),
    (lambda c, x: c.hessian(np.ones(2), 2.0)[1][0], True),
    (lambda c, x: c.jvp((x, 2.0), (x.sin(), 1.0))[1], False),
    (lambda c, x: c.jvp((np.ones(2), 2.0), (x, 1.0))[1], False),
    (lambda c, x: c.hvp((x, 2.0), (x.sin(), 1.0))[1][0], False),
    (lambda c, x: c.hvp((np.ones(2), 2.0), (np.ones(2), 1.0))[1][1], True),
])  # fmt: skip
def test_derivatives_in_a_transform_have_derivatives(call, held):
    """By the arguments, and by what the function captures (``held``)."""
    func, one = gradcli.func, gradcli.compile(lambda x, y: (x**3 * y**2).sum())

    def f(x):
        def inner(u, y):
            return (u**3 * x * y**2).sum()

        c = gradcli.compile(inner) if held else one
        return sum((call(c, x) for _ in range(4)), x.sum() * 0).sum() / 4

    x = gradcli.tensor([0.5, 2.0], dtype=gradcli.float64)
    v, h = gradcli.tensor([1.0, -2.0], dtype=gradcli.float64), 1e-3
    near, far = ((f(x + s * v) - f(x - s * v)) / (2 * s) for s in (h, 2 * h))
    want = ((4 * near - far) / 3).item()
    found = [
        (func.grad(f)(x) * v).sum(), func.jvp(f, (x,), (v,))[1], (func.jacfwd(f)(x) * v).sum(),
        (func.jacrev(f)(x) * v).sum(), (func.vmap(func.grad(f))(x[None])[0] * v).sum(),
    ]  # fmt: skip
    np.testing.assert_allclose([t.item() for t in found], want, rtol=1e-7)
    second = func.hessian(f)(x)
    np.testing.assert_allclose(func.jacrev(func.jacrev(f))(x).numpy(), second.numpy(), rtol=1e-12)
    np.testing.assert_allclose(func.vmap(f)(x[None]).numpy(), [f(x).item()], rtol=1e-12)


def test_jacobians_have_the_types_and_the_infinities_of_the_engine():
    x, y = np.ones(2, np.float32), np.ones(2)
    for block, like in zip(gradcli.compile(lambda x, y: x * y).jacobian(x, y), (x, y), strict=True):
        assert block.dtype == like.dtype
    big = np.array([1e308, 1.0])
    c = gradcli.compile(lambda x: (x * (3 * x)).sum())
    assert c.jacobian(big).tolist() == eager.jacobian(c.function, [big], False).tolist()
    assert c.jacobian(big).tolist() == [np.inf, 6.0]


def test_a_trace_lets_go_of_what_it_captured() -> None:
    seen = []

    def function(x: gradcli.Tensor) -> gradcli.Tensor:
        factor = gradcli.ones(3)
        seen.append(weakref.ref(factor))
        return (x * factor).sum()

    gc.disable()
    try:
        path_of(function, [np.float64(2.0)], [0])
        assert seen and not any(found() is not None for found in seen)
    finally:
        gc.enable()


@pytest.mark.parametrize("given", [2.5, np.float32(2.5), np.array([2.5, 0.0])])
@pytest.mark.parametrize("what", ["value", "jvp"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * 1, x.bool(), x.long(), gradcli.tensor(2.0), gradcli.tensor(True)),
        lambda x: x.bool() * 3,
        lambda x: (x.bool().sign(), gradcli.zeros_like(x), gradcli.ones_like(x.bool())),
        lambda x: x.long().to(x.dtype) * x,
        lambda x: x.bool().to(x.dtype) + x.int() * x,
    ],
)
def test_integers_of_inputs_and_constant_results(function, what, given):
    c, args = gradcli.compile(function), [given, given][: 1 + (what == "jvp")]
    want = eager.RUN[what](eager.with_tensors(function), args, False)
    for _ in range(3):
        for found, wanted in zip(flatten(c._run(what, args))[0], flatten(want)[0], strict=True):
            assert type(found) is type(wanted)
            np.testing.assert_array_equal(found, wanted, strict=True)


def test_hooks_of_all_modules_are_those_of_each_call():
    scale = gradcli.nn.Identity()
    c = gradcli.compile(lambda x: scale(x) * 2.0)
    every = gradcli.nn.modules.module
    assert [c(1.0) for _ in range(3)] == [2.0, 2.0, 2.0]
    for register, hook in (
        (every.register_module_forward_hook, lambda _, inputs, out: out * 5.0),
        (every.register_module_forward_pre_hook, lambda _, inputs: inputs[0] * 5.0),
    ):
        handle = register(hook)
        try:
            assert [c(1.0) for _ in range(3)] == [10.0, 10.0, 10.0]
        finally:
            handle.remove()
        assert [c(1.0) for _ in range(3)] == [2.0, 2.0, 2.0]
