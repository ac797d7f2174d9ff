"""Functions with a state around them: compiled, they do what they do plain, in every call.

Each piece is what stands outside, a term that reads or changes it, what is changed between calls,
and what is looked at afterwards; ``#`` in it is the number of the piece in its function.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import math
import operator
import random
import sys
import threading
import types
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.jit import compiled as module
from gradcli.jit import eager
from gradcli.jit.ir import NotTraceable
from gradcli.transforms.tree import flatten

PIECES = [
    piece
    for piece in """
a# = 2.0 | a# | a# = 3.0; a# = True | 0
q# = [float(i) for i in range(90)] | q#.pop() | q#.append(9.0) | q#
q# = [1.0] | (q#.append(2.0), float(x), q#.pop())[2] | q#[0] = 4.0 | q#
q# = [] | (q#.append(x), len(q#))[1] | q#.clear() | [type(v) for v in q#]
d# = {} | d#.setdefault('k', 2.0) | d#.clear(); d#['k'] = 3.0 | d#
class C#: pass $o# = C#(); o#.k = 0 | (setattr(o#, 'k', o#.k + 1), o#.k)[1] | o#.k = 5 | o#.k
class C#: k = 0 | (setattr(C#, 'k', C#.k + 1), 2.0)[1] | C#.k = 5 | C#.k
class B#: k = 2.0 $class C#(B#): pass | C#.k | B#.k = 3.0; C#.k = 5.0 | 0
class L#(list): pass $q# = L#([2.0]) | q#[0] | L#.__getitem__ = lambda *_: 9.0 | 0
q# = [2.0] $class C#: __str__ = lambda _: str(q#[0]) $o# = C#() | float(str(o#)) | q#[0] = 3.0 | 0
q# = [] $class C#: __init__ = lambda _: q#.append(1) $d# = [C#] | len([d#[0]()]) | q#.clear() | q#
q# = [2.0] $class C#: __getattr__ = lambda self, name: q#[0] $o# = C#() | o#.k | q#[0] = 3.0 | 0
def h#(k=2.0): return k | h#() | h#.__defaults__ = (3.0,) | 0
def h#(*, k=2.0): return k | h#() | h#.__kwdefaults__['k'] = 3.0 | 0
def h#(): return 2.0 | h#() | h#.__code__ = (lambda: 3.0).__code__ | 0
q# = [2]; h# = cache(lambda: q#[0]) | h#() | q#[0] = 3; h#.cache_clear() | 0
i# = iter(range(90)) | [*zip((1,), i#)][0][1] | pass | 0
q# = [2.0]; g# = gradcli.no_grad()(lambda v: v * q#[0]) | g#(x) | q#[0] = 3.0 | 0
w# = gradcli.tensor(1.0, requires_grad=True) | w#.grad or 3.0 | w#.grad = w# + 1; w#.grad = None | 0
m# = gradcli.nn.Linear(1, 1) | len([m#.zero_grad()]) | m#.bias.grad = gradcli.ones(1) | m#.bias.grad
w# = gradcli.ones(9000) | float(w#.mean()) | w#.fill_(3.0) | 0
w# = gradcli.ones(9000) | w#.sum() * x * w#[3].item() | w#.fill_(3.0) | 0
w# = gradcli.ones(9000) | (w# * x).sum() * (2.0 if w#[3] > 2 else w#.tolist()[3]) | w#.fill_(3) | 0
w# = gradcli.ones(9000) | (w# * x).sum() * w#.nonzero().shape[0] | w#[:90].zero_(); w#.fill_(2) | 0
w# = gradcli.ones(9000) | (w# * x).sum() * (x * w#[w#[0].long():].numpy()[8]) | w#.fill_(3.0) | 0
w# = gradcli.ones(9000) | (w#.view(90, 100) * x).sum() | w#.data = w# * 3; w#.fill_(5.0) | 0
w# = np.ones(9000) | (gradcli.as_tensor(w#) * x).sum() * float(w#[5]) | w#[:] = 3.0 | 0
w# = np.ones(9000) | float(w#[5]) | w#[:] = 3.0 | 0
w# = gradcli.tensor(1); q# = [slice(w#)] | gradcli.ones(3)[q#[0]].sum() | w#.fill_(2) | 0
w# = gradcli.zeros(3) | w#.add_(1).sum() | w#.zero_() | w#.tolist()
w# = gradcli.ones(2, 3) | w#.stride()[0] | w# = w#.mT | 0
w# = [gradcli.zeros(9000)] | (w#[0].data.zero_(), (w#[0] * x + x).sum())[1] | w#[0].fill_(3.0) | 0
w# = [gradcli.zeros(9000)] | (w#[0].zero_() * x + x).sum() | w#[0].fill_(3.0) | w#[0].sum()
k# = 2.0; h# = functools.wraps(gradcli.sin)(lambda v: v * k#) | h#(x) | k# = 3.0 | 0
h# = functools.partial(lambda v, k: v * k, k=2.0) | h#(x) | h#.keywords['k'] = 3.0 | 0
d# = {}; exec('class C: k = 2.0', d#); C# = d#['C'] | C#.k | C#.k = 3.0 | 0
class C#: k = 2.0 | operator.attrgetter('k')(C#) | C#.k = 3.0 | 0
k# = 2.0; u# = np.frompyfunc(lambda v: v * k#, 1, 1) | float(u#(2.0)) | k# = 3.0 | 0
class Q#(dict): values = lambda _: () $q# = Q#(k=2.0) | q#['k'] | q#['k'] = 3.0 | 0
class M#(int): __slots__ = (); __repr__ = lambda _: '' $q# = [M#(2)] | +q#[0] | q#[0] = M#(3) | 0
class C#: k = 2.0 | float('{0.k}'.format(C#)) | C#.k = 3.0 | 0
class C#: k = 2.0 $h# = '{0.k}'.format | float(h#(C#)) | C#.k = 3.0 | 0
class C#: k = 2.0 $o# = C#() | o#.__getattribute__('k') | C#.k = 3.0 | 0
w# = gradcli.ones(9000) | (w# * x).sum() * float(w#.array[5]) | w#.fill_(3.0) | 0
q# = [2.0] $class C#: k = classmethod(property(lambda _: q#[0])) | C#.k | q#[0] = 3.0 | 0
q# = [2.0]; d# = {'p': property(lambda _: q#[0])} | d#['p'].fget(0) | q#[0] = 3.0 | 0
q# = [2.0] $class C#: __class_getitem__ = classmethod(lambda *_: q#[0]) | C#[0] | q#[0] = 3.0 | 0
m# = types.ModuleType(''); m#.__getattr__ = lambda _: q#[0]; q# = [2] | m#.k | q#[0] = 3; m#.k = 4|0
class C#: keys = lambda _: q#; __getitem__ = abs $q# = [2]; o# = C#() | sum(dict(o#)) | q#[0] = 3|0
class E#(Enum): A = 2; B = 3; _missing_ = lambda _: E#(q#[0]) $q# = [2] | E#(7).value | q#[0] = 3|0
q# = [] $class C#: close = lambda _: q#.append(1) | closing(C#()).__exit__() or 2 | q#.clear() | q#
class B#: k = 2.0 $class D#: k = 3.0 $class C#(B#): pass | C#.k | C#.__bases__ = (D#,) | 0
p# = functools.partial(abs); p#.k = 2.0 | p#.k | p#.k = 3.0 | 0
k# = 10**5000; q# = [k#] | k# % 7 + q#[0] % 9 | q#[0] = k# = k# + 1 | 0
d# = defaultdict(lambda: 2.0) | d#.default_factory() | d#.default_factory = lambda: 3.0 | 0
h# = functools.partial(pow, 2.0) | h#(2) | h#.__setstate__((h#.func, (3.0,), {}, {})) | 0
class C#: p = property(lambda _: 2.0) $o# = C#() | o#.p | C#.p.__init__(lambda _: 3.0) | 0
class P#(functools.partial): __call__ = lambda _: q#[0] $q# = [2]; h# = P#(abs) | h#() | q#[0] = 3|0
class M#(types.ModuleType): k = property(lambda _: q#[0]) $q# = [2]; m# = M#('') | m#.k |q#[0] = 3|0
C# = make_dataclass('C', [('k', int, 2)]) | C#().k * C#.k | C#.__init__.__defaults__ = (3,) | 0
C# = types.new_class('C#'); C#.k = 2.0 | C#.k | C#.k = 3.0 | 0
a# = np.ones(2) | 2.0 if a#.flags.writeable else 3.0 | a#.flags.writeable = False | 0
class C#: pass | len(C#.__name__) | C#.__name__ = 'another' | 0
def h#(): return 2.0 | len(h#.__name__) | h#.__name__ = 'another' | 0
def h#(v): return abs(v) | h#(-2.0) | abs = lambda v: 5.0 | 0
s# = staticmethod(abs); s#.k = 2.0 | s#.k | s#.k = 3.0 | 0
class P#(property): pass $s# = P#(abs); s#.k = 2.0 | s#.k | s#.k = 3.0 | 0
w# = gradcli.ones(1, requires_grad=True) | len(str(w#)) | pass | 0
class M#(type): __getattr__ = lambda _, n: 1 / (n < 'a') $C# = M#('', (), {'k': 2}) | C#.k | pass |0
w# = gradcli.ones(1, requires_grad=True) | 2.0 if (w# * 2).requires_grad else 3.0 | pass | 0
""".strip().splitlines()
    if sys.version_info < (3, 13) or "classmethod(property" not in piece
]
"""A class method around a property reads it up to Python 3.12 alone."""


class World:
    """The pieces' state, and a function of it."""

    def __init__(self, pieces: list[str]) -> None:
        parts = [
            [word.strip() for word in piece.replace("#", str(n)).split("|")]
            for n, piece in enumerate(pieces)
        ]
        terms = " + ".join(f"({part[1]})" for part in parts)
        lines = [line for part in parts for line in part[0].split("$")]
        self.names: dict[str, Any] = {
            "gradcli": gradcli, "np": np, "cache": functools.cache, "__name__": "of_the_user",
            "functools": functools, "operator": operator, "types": types,
            "Enum": enum.Enum, "closing": contextlib.closing,
            "defaultdict": collections.defaultdict, "make_dataclass": dataclasses.make_dataclass,
        }  # fmt: skip
        exec("\n".join([*lines, f"def f(x): return x * x * ({terms})"]), self.names)
        self.changes = [change for part in parts for change in part[2].split(";")]
        self.looked_at = [part[3] for part in parts]

    def change(self, which: int) -> None:
        """What is done between two calls."""
        exec(self.changes[which % len(self.changes)].strip(), self.names)

    def state(self) -> str:
        """What is outside now."""
        return str([eval(text, self.names) for text in self.looked_at])


def agrees(pieces: list[str], rng: random.Random) -> int:
    """Nine calls of one function; in how many the generated code ran."""
    one, two = World(pieces), World(pieces)
    what = rng.choice(["value", "gradient", "hvp", "hessian"])
    compiled = gradcli.compile(one.names["f"])
    ran = 0
    for call in range(9):
        at = rng.choice([1.5, -0.75])
        given = (at, 1.0) if what == "hvp" else (at,)
        found = compiled._run(what, given)
        want = eager.RUN[what](eager.with_tensors(two.names["f"]), list(given), False)
        np.testing.assert_allclose(flatten(found)[0], flatten(want)[0], err_msg=str(pieces))
        assert one.state() == two.state(), (pieces, call)
        entries = compiled._outside.entries if compiled._outside else {}
        ran += any(e and e.program for e in entries.values())
        if call % 3 == 2:
            which = rng.randrange(9)
            one.change(which)
            two.change(which)
    return ran


@pytest.mark.parametrize("piece", PIECES)
def test_what_is_read_or_changed_outside(piece):
    for seed in range(4):
        agrees([piece], random.Random(seed))


def test_states_together():
    rng = random.Random(7)
    assert sum(agrees(rng.sample(PIECES, 2), rng) for _ in range(60)) > 50


def test_tangents_where_nothing_is_recorded():
    weight = gradcli.ones(1, requires_grad=True)

    def function(x):
        with gradcli.no_grad():
            y = x * x * (3.0 if (weight * 2).requires_grad else 2.0)
        return y * x + x.detach() * y

    c = gradcli.compile(function)
    want = gradcli.func.jvp(function, (gradcli.tensor(1.5),), (gradcli.tensor(1.0),))
    for _ in range(3):
        assert c.jvp(1.5, 1.0) == tuple(v.item() for v in want)
    assert "x0" in c.code(1.5, of="jvp")


@pytest.mark.parametrize(
    ("library", "text"),
    [
        (gradcli, str), (np, str), (np, lambda w: f"{w}"), (np, lambda w: "%s" % w),  # noqa: UP031
        (np, lambda w: operator.mod("%s", w)), (np, lambda w: np.array2string(w)),
    ],
)  # fmt: skip
def test_texts_by_the_options_in_force(library, text):
    weight = (library.ones(1) / 3).astype("float64") if library is np else gradcli.ones(1) / 3
    c, of = gradcli.compile(lambda x: x * len(text(weight))), eager.RUN["value"]
    wanted = [c(1.0) for _ in range(3)]
    library.set_printoptions(precision=3)
    try:
        assert c(1.0) == of(c.function, [1.0], False) != wanted[0]
    finally:
        library.set_printoptions(precision=4 if library is gradcli else 8)
    assert wanted == [c(1.0)] * 3


def test_what_is_set_for_all_of_numpy_is_set_in_every_run():
    def function(x):
        np.seterr(over="ignore")
        np.set_printoptions(precision=6)
        return x * 2

    before, precision = np.geterr(), np.get_printoptions()["precision"]
    c = gradcli.compile(function)
    try:
        for _ in range(4):
            np.seterr(over="warn")
            np.set_printoptions(precision=5)
            assert c(1.5) == 3.0
            assert np.geterr()["over"] == "ignore" and np.get_printoptions()["precision"] == 6
    finally:
        np.seterr(**before)
        np.set_printoptions(precision=precision)


@pytest.mark.parametrize(
    ("kind", "scale", "other"), [("divide", 0.0, 1.0), ("under", 1e-300, 1e-300)]
)
def test_what_numpy_raises_where_it_is_asked_to(kind, scale, other):
    of = np.divide if kind == "divide" else np.multiply  # what the function's own NumPy meets
    given = np.full(1, other), np.full(1, scale)
    c = gradcli.compile(lambda x: x * float(np.minimum(2.0 + of(*given), 2.0)[0]))
    with np.errstate(all="ignore"):
        assert [c(1.5) for _ in range(3)] == [3.0] * 3
    with np.errstate(**{kind: "raise"}), pytest.raises(FloatingPointError):
        c(1.5)


@pytest.mark.parametrize(
    "register",
    [
        lambda m: m.register_full_backward_hook(lambda m, given, out: (given[0] * 5,)),
        lambda m: m.register_full_backward_pre_hook(lambda m, out: (out[0] * 5,)),
        lambda _: gradcli.nn.modules.module.register_module_full_backward_hook(
            lambda m, given, out: (given[0] * 5,)
        ),
    ],
)
@pytest.mark.parametrize("what", ["gradient", "jacobian", "hvp"])
def test_hooks_of_modules_on_the_way_back(register, what):
    layer = gradcli.nn.Tanh()
    c = gradcli.compile(lambda x: (layer(x) * x).sum())
    given = [np.ones(2)] * (2 if what == "hvp" else 1)
    for _ in range(3):
        c._run(what, given)
    handle = register(layer)
    try:
        want = flatten(eager.RUN[what](c.function, given, False))[0][-1]
        for _ in range(3):
            np.testing.assert_allclose(flatten(c._run(what, given))[0][-1], want)
    finally:
        handle.remove()


def test_hooks_on_what_is_saved_inside_see_it():
    def function(x):
        with gradcli.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * 2):
            return x * x

    c = gradcli.compile(function)
    assert [c.value_and_grad(1.5) for _ in range(3)] == [(2.25, (6.0,))] * 3


def test_parameters_that_are_kept_for_a_block():
    layer = gradcli.nn.Linear(1, 1, bias=False).double()
    gradcli.nn.utils.parametrize.register_parametrization(layer, "weight", gradcli.nn.Tanh())
    held, x = layer.parametrizations.weight.original, np.ones(1)

    def agrees():
        want = eager.value(lambda x: layer(x).sum(), [x], False)
        assert [c(x) for _ in range(3)] == [want] * 3

    for before in (False, True):
        c = gradcli.compile(lambda x: layer(x).sum())
        if before:
            agrees()
        with gradcli.nn.utils.parametrize.cached():
            agrees()
            with gradcli.no_grad():
                held.mul_(0.5)
            agrees()
        agrees()


def test_hooks_of_all_modules_where_one_stands_in_a_container():
    box = [gradcli.nn.Identity()]
    c = gradcli.compile(lambda x: box[0](x).sum())
    assert [c(1.5) for _ in range(3)] == [1.5] * 3
    handle = gradcli.nn.modules.module.register_module_forward_hook(lambda m, given, out: out * 2)
    try:
        assert c(1.5) == 3.0
    finally:
        handle.remove()
    assert c(1.5) == 1.5


def test_results_that_are_not_finite_are_the_engines():
    triangle, right = np.triu(np.ones((3, 3))), np.ones((3, 1))
    c = gradcli.compile(lambda A, B: gradcli.linalg.solve_triangular(A, B, upper=True))
    for _ in range(3):
        c(triangle, right)
    triangle[0, 1] = np.inf
    want = eager.value(c.function, [triangle, right], False)
    assert np.isfinite(want[1:]).all()
    np.testing.assert_array_equal(c(triangle, right), want)


def test_draws_of_a_module_of_numpys():
    from numpy import random as drawn

    c = gradcli.compile(lambda x: x * drawn.rand())
    assert len({c(1.0) for _ in range(4)}) == 4


def test_tensors_are_recorded_where_something_outside_needs_a_gradient():
    weight = gradcli.tensor([2.0, 3.0], requires_grad=True)
    c = gradcli.compile(lambda x: (x * weight).sum())
    for times in (1, 2, 3):
        c(gradcli.ones(2)).backward()
        assert weight.grad.tolist() == [times, times]
    with gradcli.no_grad():
        assert not c(gradcli.ones(2)).requires_grad


def test_one_tensor_given_twice_is_one():
    x = gradcli.ones(2)
    c = gradcli.compile(lambda x, y: x * 2 if x is y else x * 3)
    assert [c(x, x).tolist(), c(x, gradcli.ones(2)).tolist()] * 2 == [[2.0] * 2, [3.0] * 2] * 2
    assert [c(x, x).tolist() for _ in range(3)] == [[2.0] * 2] * 3


@pytest.mark.parametrize("mode", [gradcli.no_grad, gradcli.inference_mode])
@pytest.mark.parametrize("what", ["gradient", "hessian", "jacobian", "jvp", "hvp"])
def test_derivatives_where_nothing_is_recorded(what, mode):
    c, again = (gradcli.compile(lambda x: (x * x * x).sum()) for _ in range(2))
    given = np.ones(2), *([np.ones(2)] if what in ("jvp", "hvp") else [])
    want = flatten(c._run(what, given))[0]
    with mode():
        for _ in range(3):
            for found, wanted in zip(flatten(again._run(what, given))[0], want, strict=True):
                np.testing.assert_array_equal(found, wanted)


def test_asking_for_the_code_changes_nothing():
    log = [1.0]
    c = gradcli.compile(lambda x: x * log.pop())
    with pytest.raises(gradcli.jit.ir.NotTraceable, match="changes what is outside"):
        c.code(1.0)
    assert log == [1.0]


@pytest.mark.parametrize("among", [lambda x: {x: 1}, lambda x: {x}, lambda x: frozenset([x])])
def test_a_tensor_that_is_a_key_outside(among):
    x = gradcli.ones(2)
    known = among(x)
    c = gradcli.compile(lambda y: y * (2 if y in known else 3))
    for _ in range(3):
        assert c(x).tolist() == [2.0, 2.0] and c(gradcli.ones(2)).tolist() == [3.0, 3.0]


def test_what_another_thread_writes_during_a_trace_stays(monkeypatch):
    weight, log = gradcli.ones(2), []
    c = gradcli.compile(lambda x: (weight * x).sum() + len(log))

    def compiled(*args):
        writer = threading.Thread(target=lambda: (weight.add_(1), log.append(1)))
        writer.start()
        writer.join()
        return usual(*args)

    usual = module._compiled
    monkeypatch.setattr(module, "_compiled", compiled)
    assert [c(1.0), c(1.0), c(1.0)] == [2.0, 5.0, 5.0]
    assert weight.tolist() == [2.0, 2.0] and log == [1]


def _of_graph():
    return gradcli.tensor([1.0, 2.0], requires_grad=True)


@pytest.mark.parametrize(
    ("make", "factor"),
    [
        (_of_graph, lambda x: 2 if x.requires_grad else 3),
        (lambda: _of_graph() * 2, lambda x: 2 if x.is_leaf else 3),
        (lambda: _of_graph() * 2, lambda x: 2 if x.grad_fn is None else 3),
        (lambda: _of_graph()[1:].detach(), lambda x: 2 if x._base is None else 3),
        (lambda: gradcli.ones(3)[1:], lambda x: 2 if x._base is None else 3),
        (lambda: gradcli.ones(2), lambda x: 2 if x.is_inference() else 3),
        (gradcli.inference_mode()(lambda: gradcli.ones(2)), lambda x: 2 if x.is_inference() else 3),
        (lambda: gradcli.tensor([1j]).conj(), lambda x: 2 if x.is_conj() else 3),
        (lambda: gradcli.tensor([1j]).conj().imag, lambda x: 2 if x.is_neg() else 3),
    ],
)
@pytest.mark.parametrize("mode", [gradcli.enable_grad, gradcli.no_grad, gradcli.inference_mode])
def test_what_a_function_sees_of_a_tensor(make, factor, mode):
    x = make()
    c = gradcli.compile(lambda x: x * factor(x))
    with mode():
        want = c.function(x)
        for _ in range(3):
            assert gradcli.equal(c(x), want) and c(x).requires_grad == want.requires_grad


def test_writes_to_a_tensor_that_was_given_are_seen():
    x, w = gradcli.tensor([1.0, 2.0]), _of_graph()
    saved = (w * x).sum()
    gradcli.compile(lambda x: x.add_(1).sum())(x)
    assert x.tolist() == [2.0, 3.0] and x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.backward()


def test_methods_of_a_users_class_of_tensors():
    cls = type("cls", (gradcli.Tensor,), {"sin": lambda self: self * 100})
    x = gradcli.ones(2).as_subclass(cls)
    c = gradcli.compile(lambda x: x.sin())
    assert [c(x).tolist() for _ in range(3)] == [[100.0, 100.0]] * 3
    assert [c(gradcli.zeros(2)).tolist() for _ in range(3)] == [[0.0, 0.0]] * 3


def test_what_is_recorded_where_nothing_else_is():
    @gradcli.compile
    def c(x):
        with gradcli.enable_grad():
            return x * x

    x = _of_graph()
    with gradcli.no_grad():
        found = [c(x) for _ in range(3)]
    for y in found:
        assert gradcli.autograd.grad(y.sum(), x)[0].tolist() == [2.0, 4.0]
    assert [c(3.0) for _ in range(3)] == [9.0] * 3


@pytest.mark.parametrize("given", [[1.0, 2.0], (gradcli.ones(1),), {"a": 1.0}, "3", None, range(3)])
def test_what_is_no_number_array_or_tensor_is_refused(given):
    with pytest.raises(TypeError, match="takes numbers, arrays and tensors"):
        gradcli.compile(lambda x: x)(given)


def test_another_function_in_the_place_of_the_wrapped_one():
    c = gradcli.compile(lambda x: x * 2)
    assert [c(1.5) for _ in range(3)] == [3.0] * 3
    c.function = lambda x: x * 5
    assert [c.value_and_grad(1.5)[1] for _ in range(3)] == [(5.0,)] * 3 and c(1.5) == 7.5
    twin = copy.copy(c)
    twin.function = lambda x: x * 7
    assert [(twin(1.5), c(1.5)) for _ in range(3)] == [(10.5, 7.5)] * 3


def test_what_stands_among_the_builtins(monkeypatch):
    monkeypatch.setattr(builtins, "of_all", 2.0, raising=False)
    c = gradcli.compile(lambda x: x * of_all)  # noqa: F821
    assert [c(1.5) for _ in range(3)] == [3.0] * 3
    monkeypatch.setattr(builtins, "of_all", 4.0)
    assert c(1.5) == 6.0


def _imported(x):
    from gradcli.nn import functional

    return functional.relu(x)


_LINEAR = gradcli.nn.Linear(1, 1, dtype=gradcli.float64)
_CELL = gradcli.nn.GRUCell(1, 1, dtype=gradcli.float64)
_BUFFER = gradcli.nn.Buffer(gradcli.ones(1, dtype=gradcli.float64))


@pytest.mark.parametrize(
    ("function", "held", "name"),
    [
        (lambda x: gradcli.sin(x), gradcli, "sin"),
        (lambda x: gradcli.nn.functional.relu(x), gradcli.nn.functional, "relu"),
        (_imported, gradcli.nn.functional, "relu"),
        (lambda x: x.sin(), gradcli.Tensor, "sin"),
        (lambda x: x * x, gradcli.Tensor, "__mul__"),
        (lambda x: sum([x, x]), gradcli.Tensor, "__add__"),
        (lambda x: (_LINEAR.bias * x).sum(), gradcli.nn.Parameter, "__mul__"),
        (lambda x: (_BUFFER - x).sum(), gradcli.nn.Buffer, "__sub__"),
        (lambda x: x * math.exp(0.5), math, "exp"),
        (lambda x: x * np.exp(0.5), np, "exp"),
        (lambda x: functools.reduce(operator.mul, [x, x]), operator, "mul"),
        (lambda x: _LINEAR(x.reshape(1)).sum(), gradcli.nn.Linear, "forward"),
        (lambda x: _LINEAR(x.reshape(1)).sum(), gradcli.nn.functional, "linear"),
        (lambda x: _CELL(x.reshape(1), x.reshape(1)).sum(), gradcli.nn.functional, "linear"),
        (lambda x: gradcli.nn.Tanh()(x), gradcli.nn.Tanh, "forward"),
        (lambda x: gradcli.nn.Sigmoid()(x), gradcli.nn.Module, "__call__"),
        (lambda x: gradcli.nn.MSELoss()(x * 3, x), gradcli.nn.MSELoss, "forward"),
        (lambda x: gradcli.special.erf(x), gradcli.special, "erf"),
        (lambda x: x.double().sin(), gradcli.Tensor.__mro__[3], "double"),
    ],
)
def test_another_function_in_the_place_of_a_librarys(function, held, name, monkeypatch):
    c, scale = gradcli.compile(function), [3.0]
    before = [c.value_and_grad(1.5) for _ in range(3)]
    assert c._outside.entries and None not in c._outside.entries.values()
    with monkeypatch.context() as patch:
        patch.setattr(held, name, lambda *given: given[-1] * scale[0])
        of = functools.partial(eager.RUN["gradient"], eager.with_tensors(function), [1.5], False)
        for scale[0] in (3.0, 4.0, 4.0, 5.0):
            assert c.value_and_grad(1.5) == of() != before[0]
    assert c.value_and_grad(1.5) == before[0]


@pytest.mark.parametrize("wrapped", [
    lambda user: functools.partial(user),
    lambda user: functools.wraps(gradcli.nn.functional.relu)(user),
])  # fmt: skip
def test_a_wrapped_function_in_the_place_of_a_librarys(wrapped, monkeypatch):
    scale = [3.0]
    made = wrapped(lambda x: x * scale[0])
    monkeypatch.setattr(gradcli.nn.functional, "relu", made)
    inside = gradcli.compile(lambda x: gradcli.nn.functional.relu(x))
    monkeypatch.setattr(gradcli.nn, "functional", types.SimpleNamespace(relu=made))
    whole = gradcli.compile(lambda x: gradcli.nn.functional.relu(x))
    for scale[0] in (3.0, 3.0, 3.0, 5.0, 4.0):
        assert whole(1.5) == 1.5 * scale[0]
    monkeypatch.undo()
    monkeypatch.setattr(gradcli.nn.functional, "relu", made)
    for scale[0] in (3.0, 3.0, 3.0, 5.0, 4.0):
        assert inside(1.5) == 1.5 * scale[0]


def test_another_operator_of_the_library_and_a_method_of_a_users(monkeypatch):
    c = gradcli.compile(lambda x: x + x * 0.5)
    assert [c(2.0) for _ in range(3)] == [3.0] * 3
    with monkeypatch.context() as patch:
        patch.setattr(gradcli.Tensor, "__add__", gradcli.Tensor.__sub__)
        assert [c(2.0) for _ in range(3)] == [1.0] * 3
    monkeypatch.setattr(gradcli.Tensor, "thrice", lambda x: x * 3.0, raising=False)
    assert [c(2.0) for _ in range(3)] == [3.0] * 3
    assert c.ir(2.0)  # nothing stands in the place of what it says
    with pytest.raises(NotTraceable, match="a user's thrice of tensors"):
        gradcli.compile(lambda x: x.thrice()).ir(2.0)


@pytest.mark.parametrize(
    ("asked", "turn"),
    [
        (gradcli.is_anomaly_enabled, gradcli.autograd.set_detect_anomaly),
        (gradcli.is_warn_always_enabled, gradcli.set_warn_always),
    ],
)
def test_modes_that_a_function_asks_for(asked, turn):
    c = gradcli.compile(lambda x: x * (2.0 if asked() else 3.0))
    turn(True)
    try:
        assert [c(1.5) for _ in range(3)] == [3.0] * 3
    finally:
        turn(False)
    assert c(1.5) == 4.5


def test_a_name_that_hides_one_above_in_the_place_of_another():
    above = type("above", (), {"k": 2.0})
    cls = type("cls", (above,), {"other": 1.0})
    c = gradcli.compile(lambda x: x * cls.k)
    assert [c(1.5) for _ in range(3)] == [3.0] * 3
    del cls.other
    cls.k = 4.0
    assert c(1.5) == 6.0


@pytest.mark.parametrize("mode", [gradcli.enable_grad, gradcli.no_grad])
@pytest.mark.parametrize(
    "of",
    [
        lambda f, k: gradcli.func.jvp(f, (k,), (k,))[1],
        lambda f, k: gradcli.func.linearize(f, k)[1](k),
        lambda f, k: gradcli.func.jacfwd(f)(k),
        lambda f, k: gradcli.func.vmap(f)(k),
        lambda f, k: gradcli.func.vmap(lambda v: gradcli.func.jvp(f, (v,), (v,))[1])(k),
    ],
)
def test_values_of_a_transform_around_that_stand_outside(of, mode):
    def loss(k, compiled):
        now["k"] = k
        with mode():
            return sum(compiled(x) for _ in range(3))

    now, x = {}, gradcli.tensor([0.5, 1.5])
    given = gradcli.tensor([1.0, 2.0])

    def plain(x):
        return (x * now["k"] * now["k"]).sum()

    want = of(lambda k: loss(k, plain), given).tolist()
    compiled = gradcli.compile(plain)
    for _ in range(2):
        assert of(lambda k: loss(k, compiled), given).tolist() == want
        loss(given, compiled)
