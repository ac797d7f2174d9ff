"""Programs do what Python does with them."""

from __future__ import annotations

import contextlib
import io
import math
import random

import numpy as np
import pytest

import gradcli
from gradcli.language.names.table import NAMES
from gradcli.language.runtime.run import Limits, prepare
from gradcli.ops.errors import Fault
from tests.support.families import family


def ran(text, mode="file", limits=None, **values):
    """Printed text and outcome of a program."""
    printed = []
    outcome = prepare(text, mode).run(values, write=printed.append, limits=limits)
    return "".join(printed), outcome


def fault(text, mode="file", **values):
    """The fault that a program raises."""
    with pytest.raises(Fault) as caught:
        ran(text, mode, **values)
    return caught.value


def by_python(text):
    """The same program under CPython: printed text."""
    printed = []

    def show(*values, sep=" ", end="\n"):
        printed.append(sep.join(map(str, values)) + end)

    exec(compile(text, "twin", "exec"), {"print": show})
    return "".join(printed)


PROGRAMS = {
    "closures bind late": "fs = [lambda: i for i in range(3)]\nprint([f() for f in fs])\n",
    "defaults are evaluated once": (
        "n = 1\ndef f(a, b=n, c=[]):\n    c.append(a)\n    return a + b, c\n"
        "n = 5\nprint(f(1), f(2))\n"
    ),
    "keywords": "def f(a, b=2, c=3): return a*100 + b*10 + c\nprint(f(1, c=9), f(b=4, a=7))\n",
    "recursion": "def fact(n):\n    return 1 if n <= 1 else n*fact(n - 1)\nprint(fact(20))\n",
    "nested functions see their scope": (
        "def outer(x):\n    y = x*2\n    def inner(z):\n        return x + y + z\n"
        "    y = 100\n    return inner\nprint(outer(1)(5))\n"
    ),
    "a function may use what comes later": (
        "def f(): return g() + 1\ndef g(): return 41\nprint(f())\n"
    ),
    "comprehensions have a scope": (
        "x = 10\ny = [x for x in range(3)]\nprint(x, y, [a*b for a in y for b in y if a != b])\n"
    ),
    "comprehensions may assign to items": (
        "x = [0, 0]\n"
        "y = [x[0]*a for x[0], a in [(1, 2), (3, 4)] if x[0]]\nprint(x, y)\n"
    ),
    "unpacking": (
        "a, (b, c), d = 1, (2, 3), [4]\n(e, f) = g = d[0], 5\nprint(a, b, c, d, e, f, g)\n"
        "a, b = b, a\nprint(a, b)\n"
    ),
    "items and slices": (
        "l = [0, 1, 2, 3, 4]\nl[0] = 9\nl[1:3] = [7, 7, 7]\nl[-1] += 10\n"
        "print(l, l[::-1], l[1:3], (1, 2, 3)[1])\n"
    ),
    "loops": (
        "l = [0, 1, 2]\nfor i in reversed(l):\n    l[0] = 9\n    print(i)\n"
        "s = 0\nfor i in range(10):\n    if i % 2: continue\n    if i > 6: break\n    s += i\n"
        "print(s, i)\n"
        "while True:\n    s -= 1\n    if s < 0: break\nprint(s)\n"
    ),
    "chains and short circuits": (
        "def t(x):\n    print('t', x)\n    return x\n"
        "print(t(1) < t(2) < t(3), t(3) < t(2) < t(1), t(0) and t(1), t(0) or t(5), not t(0))\n"
    ),
    "numbers": (
        "print(7//2, -7//2, 7 % 3, -7 % 3, 7/2, 2**10, -2**2, 1e3, 0x1f, 1_000, 3.0, 2j*2j)\n"
    ),
    "augmented": (
        "x = 5\nx += 2; x -= 1; x *= 3; x //= 2; x **= 2; x %= 50\nprint(x)\n"
        "l = [1]\nm = l\nl += [2]\nprint(m)\ns = '%d!'\ns %= 3\nprint(s)\n"
    ),
    "strings": (
        "s = 'a' 'b'\n"
        "print(s + \"c\"*3, len(s), s[0], 'b' in s, 'x' not in s, \"it's\", '\\t|')\n"
    ),
    "formats": "x = 2.5\nn = 7\nprint(f'{x:.3f} {n:>4d}|{x=} {n=:03d} {{}} {x*2}')\n",
    "conditional expressions": (
        "for i in range(3): print('a' if i == 0 else 'b' if i == 1 else 'c')\n"
    ),
    "is and in": "a = None\nprint(a is None, a is not None, 3 in [1, 2, 3], 4 not in (1, 2))\n",
    "builtins": (
        "print(len([1, 2]), sum([1, 2, 3]), max(3, 1, 2), min([4, 2]), abs(-3), round(2.567, 1), "
        "sorted([3, 1, 2]))\n"
        "print(list(zip([1, 2], [3, 4])), list(enumerate(['a', 'b'], 1)), "
        "list(reversed([1, 2, 3])))\n"
        "print(all([1, 1]), any([0, 0]), int(3.7), float(2), bool(0), str(1.5), tuple([1]))\n"
    ),
    "list methods": (
        "l = [3, 1]\nl.append(2)\nl.extend([5])\nl.insert(0, 9)\n"
        "print(l, l.pop(), l.index(1), l.count(3))\nl.reverse()\nprint(l)\n"
    ),
    "asserts": "assert 1 < 2, 'never'\nprint('fine')\n",
    "printing": "print(1, 2.0, True, None, [1.5, 'a', (1,)], sep='-', end='!\\n')\nprint()\n",
    "shadowing a builtin": "print(sum([1, 2]))\nsum = 3\nprint(sum)\n",
    "docstrings": "def f():\n    'what it does'\n    return 1\n'text'\nprint(f())\n",
    "chained assignment": "a = b = [1]\na.append(2)\nprint(b)\n",
}  # fmt: skip


@family("text", PROGRAMS.values())
def test_program_prints_what_python_prints(text):
    assert ran(text)[0] == by_python(text)


def expression(rng, depth):
    """A random arithmetic expression over numbers and the names a, b, x."""
    if depth == 0:
        return rng.choice(["a", "b", "x", "2", "3.5", "0.5", "7", "pi"])
    kind = rng.randrange(9)
    parts = [expression(rng, depth - rng.randint(1, depth)) for _ in range(3)]
    if kind < 5:
        return f"({parts[0]} {rng.choice(['+', '-', '*', '/', '//', '%'])} {parts[1]})"
    if kind == 5:
        return (
            f"-{parts[0]}"
            if rng.random() < 0.5
            else f"({parts[0]} if {parts[1]} > 1 else {parts[2]})"
        )
    if kind == 6:
        return f"{rng.choice(['sin', 'exp', 'tanh', 'abs'])}({parts[0]}*0.1)"
    if kind == 7:
        return f"({parts[0]} < {parts[1]} <= {parts[2]} or {parts[2]})"
    return f"max({parts[0]}, {parts[1]})"


def outcome_of(work):
    """A number to 12 digits, or the kind of error."""
    try:
        value = work()
    except (ZeroDivisionError, OverflowError, Fault) as problem:
        known = {"E0311": "ZeroDivisionError", "E0312": "OverflowError"}
        return known.get(getattr(problem, "code", ""), type(problem).__name__)
    value = value.item() if isinstance(value, gradcli.Tensor) else value
    return "nan" if value != value else float(f"{float(value):.12g}")


def test_random_expressions_equal_python():
    """500 expressions, evaluated by CPython over the same names and by gradcli, with tensors."""
    rng = random.Random(20261121)
    names = {name: NAMES[name] for name in ("sin", "exp", "tanh", "max", "abs", "pi")}
    for _ in range(500):
        text = expression(rng, 5)
        values = {"a": rng.choice([1, 2, -3, 0.25]), "b": rng.choice([3, -0.5, 2.0])}
        values["x"] = gradcli.tensor(rng.choice([0.5, -1.25, 2.0]), dtype=gradcli.float64)
        expected = outcome_of(lambda text=text, v=values: eval(text, {**names, **v}))
        found = outcome_of(lambda text=text, v=values: prepare(text).run(v).value)
        assert found == expected, (text, values)


def test_gradient_flows_through_control_flow():
    text = (
        "b = a*2\nwhile b.norm() < 1000:\n    b = b*2\n"
        "d = b if b.sum() > 0 else 100*b\nd.backward()\n"
    )
    a = gradcli.tensor(0.7, dtype=gradcli.float64, requires_grad=True)
    _, outcome = ran(text, a=a)
    assert a.grad.item() == outcome.variables["d"].item() / 0.7


def test_import_torch_gives_the_same_names():
    text = (
        "import torch\nimport torch.nn.functional as F\nimport numpy as np\nimport math\n"
        "from torch import sin as s\nx = torch.tensor([1., -2.], requires_grad=True)\n"
        "y = F.relu(x).sum() + s(x).sum() + np.pi*math.sin(0.5)\n"
        "y.backward()\nprint(x.grad, torch.max(x).item(), torch.max(x, 0).indices, torch.float32)\n"
    )
    printed, _ = ran(text)
    assert printed == (
        f"tensor([ {1 + math.cos(1):.4f}, {math.cos(-2):.4f}]) 1.0 tensor(0) torch.float32\n"
    )


def test_every_augmented_sign_writes_into_a_view():
    for sign, number in {"%=": 4, "**=": 2, "*=": 3, "<<=": 1, ">>=": 1, "//=": 2, "&=": 2}.items():
        for held in ("v", "d['k']"):
            text = f"d = {{}}\na = tensor([6, 9])\n{held} = a[:1]\n{held} {sign} {number}\nprint(a)"
            wanted = eval(f"6 {sign[:-1]} {number}")
            printed = ran(text)[0].replace(" ", "").strip()
            assert printed == f"tensor([{wanted},9])", (sign, held)


@family("text", [
    "s = x\ns += 1\ns*x", "s = x*1\nt = s\nt -= y\ns*t", "d = {'a': x}\nd['a'] *= y\nd['a']*x",
    "def f(t):\n    t /= y\n    return t*x\nu = x*y\nf(u)*u",
    "s = [x, y]\nt = s[0]\nt **= 2\nt*s[0]",
    "best = s = x*y\nfor i in range(3):\n    s += i*x\nbest*s", "s = x\ns += 1\ns += y\ns*s*x",
    "class Sum:\n    def __init__(self, s):\n        self.s = s\na = Sum(x)\na.s += y\na.s*x",
    "# a tensor's grad, after backward\ns = x*1\nt = s\nt -= y\nprint('tensor')\ns*t",
    "s = max(x, y)\nt = s\ns += x\ns*t", "s = x//1\nt = s\nt %= 2\ns*x*t + x",
    "import copy\nt = copy.deepcopy([x, [x*y]])\nt[0] += y\nt[1][0] *= x\nt[0]*t[1][0]*x",
    "from copy import copy\nt = copy(x)\nt += y\nt*x",
])  # fmt: skip
def test_a_number_has_another_value_after_augmented_assignment(text):
    def python(**values):
        head, _, last = text.rpartition("\n")
        exec(head, values)
        return eval(last, values)

    at = {"x": 2.5, "y": 1.5}
    leaves = {name: gradcli.tensor(v, dtype=gradcli.float64) for name, v in at.items()}
    assert prepare(text, "file").run(leaves).value == python(**at)
    slopes = [(python(**{**at, n: v + 1e-6}) - python(**{**at, n: v - 1e-6})) / 2e-6
              for n, v in at.items()]  # fmt: skip
    for leaf in leaves.values():
        leaf.requires_grad_()
    prepare(text, "file").run(leaves).value.backward()
    found = [0 if leaf.grad is None else leaf.grad.item() for leaf in leaves.values()]
    assert found == pytest.approx(slopes, rel=1e-6, abs=1e-6)
    assert dict(leaves.items())["x"].item() == 2.5


@family("text", [
    "# its gradient, as a tensor\nb = a = x*1\nb += 1\na*b", "grad = a = x*1\ngrad += 1\na*grad",
    "def hessian_free(b):\n    b += 1\n    return b\na = x*1\nhessian_free(a)*a",
    "def step(a, grad):\n    grad += 1\n    return a*grad\na = x*1\nstep(a, a)",
    "b = a = x*1\nb += 1\nb*a*np.gradient(np.array([1.0, 2.0]))[0]",
    "class V:\n    def __init__(self, x):\n        self.grad = x\n    def backward(self):\n"
    "        self.grad += 1\n        return self.grad\na = x*1\nV(a).backward()*a",
])  # fmt: skip
def test_no_word_of_a_text_says_that_numbers_are_written_to_but_a_name_that_is_used(text):
    assert prepare(text, "file").run({"x": gradcli.tensor(3.0)}).value.item() == 12


@family("sign", ["*", "/", "**", "-"])
def test_an_item_of_an_array_is_given_another_value_by_what_leads(sign):
    v = gradcli.tensor([1.5, 2.0], dtype=gradcli.float64, requires_grad=True)
    x = gradcli.tensor(1.5, dtype=gradcli.float64, requires_grad=True)

    def value(text):
        return prepare(text, "file").run({"x": x, "v": v}).value

    found = value(f"w = v*1\nw[0] {sign}= x\n(w*w).sum()")
    wanted = value(f"(v[0] {sign} x)**2 + v[1]**2")
    assert found.item() == pytest.approx(wanted.item())
    gradients = [gradcli.autograd.grad(one, (x, v)) for one in (found, wanted)]
    for ours, direct in zip(*gradients, strict=True):
        assert ours.tolist() == pytest.approx(direct.tolist())


@family("text", ["w.prod()*x", "w[0:2].prod()*x", "exp(w).prod()*x + w.prod()"])
def test_second_derivatives_read_an_array_as_it_was_when_it_was_saved(text):
    v = gradcli.tensor([0.5, 2.0], dtype=gradcli.float64, requires_grad=True)
    x = gradcli.tensor(1.5, dtype=gradcli.float64, requires_grad=True)

    def second(begin, end=""):
        value = prepare(f"{begin}\ns = {text}\n{end}s", "file").run({"x": x, "v": v}).value
        slopes = gradcli.autograd.grad(value, (x, v), create_graph=True)
        return [gradcli.autograd.grad(s.sum(), (x, v), retain_graph=True) for s in slopes]

    direct = second("w = stack([x, v[1]])")
    for found in (second("w = v*1\nw[0] = x"), second("w = v*1\nw[0] = x", "w[1] = 7\n")):
        for ours, wanted in zip(sum(found, ()), sum(direct, ()), strict=True):
            assert ours.tolist() == pytest.approx(wanted.tolist())


@family("text", [
    "u[0], u[1] = u[1], u[0]\n(u*v*u[0]).sum()", "t = u[0]\nu[0] += 5\nt*t",
    "u += u[1]\nu.sum()**2",
    "a, b, c = u\nu[0] = 5\na*u[0]", "s = 0\nfor a in u:\n    s += a*a\n    u[2] = 9\ns*u[0]",
    "A = np.outer(v, u)\ns = 0\nfor r in A:\n    r[0] = r[1]*r[1]\n    s += r[0]\ns*A[2][0]",
    "for i in range(2):\n    for j in range(2 - i):\n        if u[j] < u[j + 1]:\n"
    "            t = u[j]\n            u[j] = u[j + 1]\n            u[j + 1] = t\nu[0]*u[2]*u[2]",
    "A = np.outer(u, v)\nt = A[1, 2]\nA[1] *= 2\nt*A[1, 2]", "t = u[:1]\nu[0] = v[1]\n(t*u).sum()",
    "t = u.flatten()\nt[0] = 7\n(t*u).sum()", "t = u.ravel()\nt[0] = v[1]\n(t*u*u).sum()",
    "u[np.arange(2)] += u[2]\nu[np.argmin(u)] *= 2\n(u*u).sum()",
    "class Pair:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n"
    "    def __mul__(self, o):\n        if isinstance(o, (int, float)):\n"
    "            return Pair(self.a*o, self.b*o)\n"
    "        return Pair(self.a*o.a, self.a*o.b + self.b*o.a)\n"
    "(Pair(u[0], 1)*u[1]*Pair(v[0], 2)*3).b + isinstance(u, float)",
    "t = +u\nt[0] = 7\n(t*u).sum()", "t = np.positive(u)\nt[0] = 7\n(t*u).sum()",
    "t = np.conj(u)\nt[0] = 7\n(t*u).sum()", "t = np.flip(u)\nt[0] = v[1]\nu[1] = 7\n(t*u).sum()",
    "A = np.outer(u, v)\nnp.fliplr(A)[0] = u\nnp.flipud(A)[0] *= u\n(A*A).sum()",
    "A = np.outer(u, v)\nt = [np.rot90(A, k) for k in range(4)]\nfor k in range(4):\n"
    "    t[k][0, 1:] += (k + 1)*u[0]\n(A*t[1]*t[2]*t[3]).sum()/1e4",
    "A = np.outer(u, v)\nt = np.diag(A)\nA[0, 0] = u[1]\nA[1] *= 2\n"
    "(t*np.diag(np.diag(A, 1))[0, 0]).sum()",
    "X, Y = np.meshgrid(u, v)\nX[0, 0] = 7\n(X*Y*u).sum()",
    "s = 0\nfor a in reversed(u):\n    s = s*v[0] + a\n    u[0] = 7\ns",
    "A = np.outer(u, v)\na, b, c = A\na[0] = 3\nb[:] = c + a\nfor r in A:\n    r += u\n"
    "(a*b*c).sum()",
    "t = u[0, ...]\ns = t\nt += u[1]\ns*u[0]", "t = np.squeeze(u[:1])\nt *= v[1]\nt*u[0]",
    "t = u[:1].reshape(())\nt -= 5\nt*u[0]", "t = u @ v\ns = t\nt += u[0]\ns*t",
    "t = np.array(u[0])\ns = t\nt += u[1]\ns*u[0]", "t = np.median(u)\ns = t\ns += 1\ns*t",
    "t = np.asarray(u[0])\nt[...] = u[1]\nt*u[0]", "u[0]*isinstance(u[:2], np.ndarray)",
    "t = copy.copy(u)\nt[0] = 7\n(t*u).sum()",
    "t = np.flip(u)*u[1]\nt.sort()\n(t*u).sum()",
    "f = lambda w, value: w.fill(value)\nt = np.copy(u)\nf(t[1:], v[1])\n(t*u).sum()",
    "A = np.outer(u, -v)\nA.sort()\nf = A.T[0].sort\nA[1, 0] = 7\nf()\n(A*u).sum()",
    "t = np.atleast_1d(u[0])\nt[0] *= 3\nt[0]*u[0]",
    "s = u @ v\nt = np.reshape(s, 1)\nt[0] *= 3\na = s[None]\na += t\ns*t[0]*a[0]/1e4",
    "s = np.array(u[1])\nt = np.atleast_2d(s)\nt[0, 0] *= 3\ns*t[0, 0]",
    "float(u[0])*u.tolist()[1]*np.dot(u, u).item()", "np.dot(u*v[0], np.arange(len(u)))",
    "A = np.outer(u, v)\nA.tolist()[1][2]*A.item(2)*A.item(1, 0)*np.float64(float(A[0][0]))",
    "sum(np.outer(u, v))[1]*u[0]", "sum(np.outer(u, v), 1)[1]*u[0] + sum(u, 2)",
    "np.expand_dims(u, 0)[0, 1]*np.outer(np.outer(u, v), u)[1, 2]",
    "A = np.outer(u, v)\n(np.tensordot(A, A*u, axes=2) + np.tensordot(A, u, axes=(0, 0))[1])*1.0",
    "t = copy.deepcopy([u, (u,)])\nt[0][0] = 7\nt[0][0]*u[0] + isinstance(u[0], np.ndarray)",
])  # fmt: skip
def test_a_number_read_of_an_array_is_no_view_of_it(text):
    start, (head, _, last) = [1.5, 2.0, 3.5], f"u = v*2\n{text}".rpartition("\n")
    head = f"import copy\n{head}"

    def python(at):
        values = {"v": np.array(at), "np": np}
        exec(head, values)
        return eval(last, values)

    program, steps = prepare(f"{head}\n{last}", "file"), np.eye(3) * 1e-6
    slopes = [(python(start + step) - python(start - step)) / 2e-6 for step in steps]
    v = gradcli.tensor(start, dtype=gradcli.float64, requires_grad=True)

    def value(v):
        return program.run({"v": v}).value

    assert value(v).item() == python(start)
    assert gradcli.autograd.grad(value(v), v)[0].tolist() == pytest.approx(slopes, abs=1e-5)
    along = gradcli.func.jvp(value, (v.detach(),), (gradcli.ones(3, dtype=gradcli.float64),))
    assert [one.item() for one in along] == pytest.approx([python(start), sum(slopes)])


@family("text", [
    "import torch\ny.std()", "import torch\nf = y.var\nf()", "import torch\ny.nonzero()",
    "import torch\nnp.stack([y, y]).max(axis=0)[0]", "import torch\ny.repeat(2)",
    "y.put([0], [5.0])\ny[0]", "f = lambda w: w.put([0], [5.0])\nf(y)",
])  # fmt: skip
def test_methods_that_arrays_have_otherwise_give_no_other_number(text):
    x = gradcli.tensor(2.0, requires_grad=True)
    with pytest.raises(TypeError, match=r"of an array "):
        prepare(f"y = np.array([x, 2*x])\n{text}", "file").run({"x": x})


@family("text", [
    "y.std()", "y.var(ddof=1)*2", "f = y.std\nf()", "getattr(y, 'var')()", "x.std() + np.var(x)",
    "np.stack([y, y]).max(axis=0)[0]", "A.max(0)[1]", "A.min(axis=1, keepdims=True)[1, 0]",
    "A.transpose(0, 1)[1][0]", "A.transpose()[1][0]", "A.transpose((1, 0))[0][1]",
    "A.cumsum()[2]", "A.cumprod(axis=0)[1][0]", "A.repeat(2)[5]", "A.repeat(2, axis=0)[1][1]",
    "y[y.nonzero()[0][1]]", "A.nonzero()[1].sum()*y[1]", "A.size*x", "x*3\nA.std(axis=0).sum()",
])  # fmt: skip
def test_a_tensor_that_stands_for_an_array_has_the_methods_of_one(text):
    *head, last = f"import numpy as np\ny = np.array([x, 2*x])\n{text}".split("\n")
    made = "A = np.array([[x, 2.0*x], [x*x, 7.0]])"

    def by_numpy(at):
        values = {"x": np.float64(at)}
        exec("\n".join([*head[:2], made, *head[2:]]), values)
        return eval(last, values)

    program = prepare("\n".join([*head[:2], made, *head[2:], last]), "file")
    x = gradcli.tensor(1.5, dtype=gradcli.float64, requires_grad=True)
    value = gradcli.as_tensor(program.run({"x": x}).value)
    (slope,) = gradcli.autograd.grad(value, x, allow_unused=True, materialize_grads=True)
    assert value.item() == pytest.approx(float(by_numpy(1.5)), rel=1e-15)
    step = 1e-6
    wanted = (by_numpy(1.5 + step) - by_numpy(1.5 - step)) / (2 * step)
    assert slope.item() == pytest.approx(float(wanted), rel=1e-7, abs=1e-7)


def test_an_empty_axis_is_no_axis_to_numpy():
    for text in ("x.sum(axis=())", "np.mean(x, axis=())"):
        with pytest.raises(ValueError, match="empty axis"):
            prepare(f"import numpy as np\n{text}", "file").run({"x": gradcli.ones(2)})


@family(
    "text",
    [
        "class Twice(autograd.Function):\n    def forward(ctx, a):\n        return a*2\n"
        "    def backward(ctx, g):\n        return g*2\nTwice.apply(x)",
        "leaky_relu(x*1, inplace=True)",
        "torch.sin(x)",
    ],
)
def test_a_text_that_speaks_of_pytorch_keeps_its_rules(text):
    assert not prepare(text, "file").rebinds


@family("text, value", [
    ("from torch import sin\ns = x*1\nt = s\nt += 1\ns", 3),
    ("import torch\ns = x*1\nt = s\nt += 1\ns", 3), ("s = tensor(2.0)\nt = s\nt += x\ns", 4),
    ("s = v*1\nt = s\nt += 1\ns.sum()", 4), ("s = v*1\nt = s[0]\nt += 1\ns.sum()", 2),
    ("s = v*1\ns[0] += 1\ns.sum()", 3), ("s = v*1\nt = s[0]\nt.add_(2)\ns.sum()", 4),
])  # fmt: skip
def test_arrays_and_the_tensors_of_a_program_are_written_to(text, value):
    found = prepare(text, "file").run({"x": gradcli.tensor(2.0), "v": gradcli.ones(2)}).value
    assert found.item() == value


def test_in_place_on_tensors_and_no_grad():
    text = (
        "x = torch_like\ny = x*1\nz = y\ny += 1\nprint(z[0].item())\n"
        "w = ones(2, requires_grad=True)\nwith no_grad():\n    w -= 0.5\n"
        "print(w.requires_grad, w[0].item())\n"
    ).replace("torch_like", "tensor([1.0, 2.0])")
    assert ran(text)[0] == "2.0\nTrue 0.5\n"


@family(
    "text, code, place",
    [
        ("x = 1\ny = x + z\n", "E0202", "z"),
        ("y = sni(1)\n", "E0201", "sni"),
        ("print(x)\nx = 1\n", "E0203", "x"),
        ("x = [1]\nprint(x.foo)\n", "E0204", "x.foo"),
        ("import math\nmath = 3\n", "E0205", "math"),
        ("import math\nx = math\n", "E0206", "math"),
        ("import os\n", "E0134", None),
        ("x = 1/0\n", "E0311", "1/0"),
        ("x = 1e308\nfor i in range(3): x = x*1e308\ny = 10**400 * 1.0\n", "E0312", None),
        ("assert 1 > 2, 'no'\n", "E0313", None),
        ("x = [1][3]\n", "E0307", "[1][3]"),
        ("x = ones(2)[5]\n", "E0307", "ones(2)[5]"),
        ("x = 'a' + 1\n", "E0303", "'a' + 1"),
        ("x = 2.5 << 1\n", "E0303", "2.5 << 1"),
        ("x = (1/2) >> 1\n", "E0303", "(1/2) >> 1"),
        ("x = ~(1 > 0)\n", "E0303", "~(1 > 0)"),
        ("return 3\n", "E0160", "return 3"),
        ("break\n", "E0161", "break"),
        ("with ones(3): pass\n", "E0164", "ones(3)"),
        ("x = ones(2)\nx.backward()\n", "E0405", "x.backward()"),
        ("for i in 5: pass\n", "E0303", "5"),
        ("class A:\n    def __bool__(self): return 3\nif A(): print(1)\n", "E0303", None),
        ("def f(n): return f(n)\nf(1)\n", "E0606", None),
    ],
)
def test_errors_have_a_code_and_a_place(text, code, place):
    found = fault(text)
    assert found.code == code or (
        place is None and code == "E0134" and found.code.startswith("E01")
    )
    assert found.source is not None
    start, end = found.labels[0][:2]
    if place is not None:
        assert found.source.text[start:end] == place


def test_an_error_inside_a_function_names_the_calls():
    found = fault("def f(x):\n    return x/0\ndef g(x):\n    return f(x)\ng(1)\n")
    assert found.code == "E0311"
    assert found.notes == ("called at line 4, in g: f(x)", "called at line 5: g(1)")


def test_operands_are_labelled_with_shape_and_origin():
    program = prepare("W = ones(3, 4)\ny = W @ x\n", "file")
    program.origins["x"] = "--x"
    with pytest.raises(Fault) as caught:
        program.run({"x": gradcli.ones(3)})
    labels = [label[2] for label in caught.value.labels]
    assert labels == ["", "W: shape (3, 4)   from line 1", "x: shape (3,)   from --x"]


def test_deep_and_long_texts():
    assert ran("+".join(["x"] * 20_000), "line", x=1.0)[1].value == 20_000.0
    assert ran("-" * 2_000 + "x", "line", x=1.0)[1].value == 1.0
    assert ran("(" * 900 + "x" + ")" * 900, "line", x=1.0)[1].value == 1.0
    assert ran("f(" * 300 + "x" + ")" * 300, "line", x=1.0, f=abs)[1].value == 1.0
    assert ran("[" * 200 + "]" * 200, "line")[1].value is not None
    nested = "1 if x else (" * 300 + "0" + ")" * 300
    assert ran(nested, "line", x=0)[1].value == 0
    assert ran("x and (" * 300 + "x" + ")" * 300, "line", x=1)[1].value == 1
    assert ran("lambda: (" * 100 + "x" + ")" * 100, "line", x=1)[1].value is not None


def test_evaluation_order_survives_deep_operands():
    deep = "+".join(["1"] * 200)
    start = "l = []\ndef t(x):\n    l.append(x)\n    return x\n"
    text = start + f"y = t(1) + (t(2) + ({deep}))*t(3)\nprint(l)\n"
    assert ran(text)[0] == "[1, 2, 3]\n"
    text = start + f"z = t(0) and ({deep})\nw = t(5) if t(0) else ({deep})\nprint(l, w)\n"
    assert ran(text)[0] == "[0, 0] 200\n"
    for depth in range(36, 44):  # one of these is the first that is computed before
        deep = "(1 + " * depth + "t(2)" + ")" * depth
        assert ran(start + f"y = t(1) - {deep}\nprint(l)\n")[0] == "[1, 2]\n"


@family("text, code", [
        ("while True: pass\n", "E0601"),
        ("for i in range(10**9): pass\n", "E0601"),
        ("x = [i for i in range(10**9)]\n", "E0601"),
        ("def f(n):\n    for i in range(n): f(n - 1)\nf(30)\n", "E0601"),
        ("x = 9**9**9\n", "E0605"),
        ("x = 2\nfor i in range(100): x = x*x\n", "E0605"),
        ("x = [0]\nfor i in range(100): x = x + x\n", "E0605"),
        ("x = [0]\nfor i in range(100): x += x\n", "E0605"),
        ("x = [0]\nfor i in range(100): x.extend(x)\n", "E0605"),
        ("x = [0]\nfor i in range(100): x[0:0] = x\n", "E0605"),
        ("x = 'a'\nfor i in range(100): x = x + x\n", "E0605"),
        ("x = 'a'*10**9\n", "E0605"),
        ("x = list(range(10**12))\n", "E0605"),
        ("x = ones(10**6, 10**6)\n", "E0602"),
        ("x = ones(10**5)\ny = x.reshape(-1, 1)*x\n", "E0602"),
        ("x = outer(ones(10**5), ones(10**5))\n", "E0602"),
        ("x = ones(10**5, 1) @ ones(1, 10**5)\n", "E0602"),
        ("x = ones(10).repeat(10**9)\n", "E0602"),
        ("while True: print('x'*1000)\n", "E0607"),
        ("x = arange(0, 10**12)\n", "E0602"),
        ("x = ones(10**7)\ny = []\nwhile True: y.append(x*1.5)\n", "E0602"),
    ],
)  # fmt: skip
def test_limits_hold(text, code):
    with pytest.raises(Fault) as caught:
        ran(text, limits=Limits(steps=100_000, memory=512 << 20))
    assert caught.value.code == code


CUBE = """
from torch.autograd import Function
class Cube(Function):
    @staticmethod
    def forward(ctx, x, times):
        ctx.save_for_backward(x)
        ctx.times = times
        return x**3*times
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3*x**2*g*ctx.times, None
"""


def test_a_custom_function_is_a_record_of_two_functions():
    text = CUBE + "y = Cube.apply(x, 2)\ny.backward()\nprint(y, x.grad, Cube)\n"
    x = gradcli.tensor(2.0, requires_grad=True)
    printed, _ = ran(text, x=x)
    assert printed == "tensor(16., grad_fn=<CubeBackward>) tensor(24.) <function Cube>\n"


NEW_STYLE = """
import torch
class Scale(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x, s=3.0):
        return x*s, s
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])
        ctx.s = inputs[1]
        print(len(inputs), len(output))
    @staticmethod
    def backward(ctx, g, none):
        return g*ctx.s, None
class Square(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x*x
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(inputs[0])
    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 2*t*x + 100
"""


def test_a_function_may_leave_ctx_to_setup_context():
    text = NEW_STYLE + "Scale.apply(x)[0].backward()\nprint(x.grad)\n"
    printed, _ = ran(text, x=gradcli.tensor(2.0, requires_grad=True))
    assert printed == "2 2\ntensor(3.)\n"


def test_a_function_may_have_a_jvp_of_its_own():
    text = NEW_STYLE + "print(torch.func.jvp(Square.apply, (x,), (torch.ones(()),)))\n"
    printed, _ = ran(text, x=gradcli.tensor(3.0))
    assert printed == "(tensor(9.), tensor(106.))\n"
    found = fault(f"{NEW_STYLE}Square.apply(x, 1)\n", x=gradcli.ones(()))
    assert found.message == "forward() takes 1 positional argument but 2 were given"
    found = fault(
        f"{NEW_STYLE}Square.apply(x).backward()\n", x=gradcli.ones((), requires_grad=True)
    )
    assert found.code == "E0412" and "backward" in found.message


def test_a_function_may_say_how_it_is_mapped():
    text = (
        "import torch\nclass Twice(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(x, k): return x*k\n"
        "    @staticmethod\n    def setup_context(ctx, inputs, output): pass\n"
        "    @staticmethod\n    def backward(ctx, g): return g, None\n"
        "    @staticmethod\n    def vmap(info, dims, x, k):\n"
        "        print(info.batch_size, info.randomness, dims)\n"
        "        return (x*k).T, 1\n"
        "print(torch.vmap(lambda r: Twice.apply(r, 2))(torch.ones(3, 2)).shape)\n"
    )
    assert ran(text)[0] == "3 error (0, None)\ntorch.Size([3, 2])\n"


@family(
    "end, code",
    [
        ("Cube.apply(x)\n", "E0302"),
        ("Cube(x)\n", "E0412"),
        ("Cube.forward\n", "E0204"),
        ("Cube.apply = 3\n", "E0204"),
        ("Cube.apply(x, 2).grad_fn.ctx\n", "E0204"),
    ],
)
def test_what_a_custom_function_does_not_open(end, code):
    found = fault(CUBE + end, x=gradcli.tensor(2.0, requires_grad=True))
    assert found.code == code and found.source is not None


@family(
    "text, said",
    [
        ("def f(alpha, beta=1): return alpha\nf(1, bta=2)\n", "did you mean `beta`?"),
        ("def f(alpha): return alpha\nf(1, zzzzz=2)\n", "f(alpha) is defined at line 1"),
        ("sorted([1], revers=True)\n", "did you mean `reverse`?"),
    ],
)
def test_a_wrong_keyword_gets_the_nearest(text, said):
    assert fault(text).help == said


def test_a_tensor_in_an_fstring_is_its_number():
    assert (
        ran("x = tensor(0.5)\nprint(f'{x} {x:.2f} {ones(2)}')\n")[0]
        == "0.5 0.50 tensor([1., 1.])\n"
    )


def test_gradient_mode_does_not_outlive_a_run():
    ran("set_grad_enabled(False)\n")
    assert gradcli.is_grad_enabled()


def test_a_call_of_a_number_is_a_fault_without_a_warning():
    assert fault("x = 3(4)\n").code == "E0303"


def said(text, **origins):
    """The labels of the operands in a program's fault."""
    program = prepare(text, "file")
    program.origins.update(origins)
    x = gradcli.tensor([1.0, 2.0, 3.0])
    with pytest.raises(Fault) as caught:
        program.run({"x": x, "W": gradcli.ones(3, 4)})
    return [label[2] for label in caught.value.labels if not label[3]], caught.value


@family("text, labels", [
        ("a = ones(2)\na += x\n", ["a: shape (2,)   from line 1", "x: shape (3,)   from --x"]),
        ("y = W.matmul(x)\n", ["W: shape (3, 4)", "x: shape (3,)   from --x"]),
        ("import torch\ny = torch.matmul(W, x)\n",
         ["W: shape (3, 4)", "x: shape (3,)   from --x"]),
        ("y = einsum('ij,j->i', W, x)\n", ["W: shape (3, 4)", "x: shape (3,)   from --x"]),
        ("y = cat([x, W])\n", ["x: shape (3,)   from --x", "W: shape (3, 4)"]),
        ("y = stack([x, ones(2)])\n", ["x: shape (3,)   from --x", "shape (2,)"]),
        ("y = x < ones(2)\n", ["x: shape (3,)   from --x", "shape (2,)"]),
        ("y = [W @ t for t in [x]]\n", ["W: shape (3, 4)", "t: shape (3,)   from line 1"]),
        ("def f(a, b):\n    c = a*2\n    return c @ b\ndef g(w):\n    return f(w, b=x)\ng(W)\n",
         ["c: shape (3, 4)   from line 2", "b: shape (3,)   from --x"]),
        ("f = lambda a: W @ a\ndef g(b):\n    return f(b)\ng(x)\n",
         ["W: shape (3, 4)", "a: shape (3,)   from --x"]),
        ("def f(a, b=ones(2)):\n    return a + b\nf(x)\n",
         ["a: shape (3,)   from --x", "b: shape (2,)   from line 1"]),
        ("x = x*2\nx = x + 1\ny = x + W\n", ["x: shape (3,)   from line 2", "W: shape (3, 4)"]),
    ],
)  # fmt: skip
def test_each_operand_says_where_it_came_from(text, labels):
    assert said(text, x="--x")[0] == labels


def test_a_message_names_the_operands_as_written():
    assert said("y = W @ x\n")[1].message.startswith("cannot multiply W @ x: inner sizes 4 and 3")
    assert said("y = W @ x\n")[1].help.startswith("W.T @ x works: (4, 3) @ (3,)")
    assert said("y = (x + 1)*ones(2)\n")[1].message.startswith("(x + 1)*ones(2): shapes (3,) and")


RECURSIONS = {
    "itself": "def f(n): return f(n + 1)\nf(0)\n",
    "each other": "def f(n): return g(n)\ndef g(n): return f(n)\nf(0)\n",
    "comprehension": "def f(n): return [f(n) for i in [1]]\nf(0)\n",
    "nested comprehension": "def f(n): return [[[f(n) for i in [1]] for j in [1]] for k in [1]]\nf(0)\n",  # noqa: E501
    "lambda": "f = lambda n: (lambda m: f(m))(n)\nf(0)\n",
    "default": "def f(n, g=lambda h: h(0)): return g(f)\nf(0)\n",
    "default inside": "def f(n):\n    def g(b=f(n)): return 1\n    return g()\nf(0)\n",
    "method": "def f(n): return x.sum(f(n))\nf(0)\n",
    "hook": "y = x*2\ndef h(g): return h(g)\ny.register_hook(h)\ny.sum().backward()\n",
    "hook in hook": (
        "def h(g):\n    with enable_grad():\n        a = tensor(1.0, requires_grad=True)*2\n"
        "        a.register_hook(h)\n        a.backward()\nh(0)\n"
    ),
    "Function": (
        "class F(Function):\n    def forward(ctx, a): return F.apply(a)\n"
        "    def backward(ctx, g): return g\nF.apply(x)\n"
    ),
    "backward of a Function": (
        "class F(Function):\n    def forward(ctx, a): return a*1\n"
        "    def backward(ctx, g):\n        with enable_grad():\n"
        "            F.apply(tensor(1.0, requires_grad=True)).backward()\n        return g\n"
        "F.apply(tensor(1.0, requires_grad=True)).backward()\n"
    ),
}


@pytest.mark.parametrize("text", RECURSIONS.values(), ids=RECURSIONS)
@pytest.mark.parametrize("depth", [500, 900])
def test_recursion_ends_in_a_short_diagnostic(text, depth):
    from gradcli.language.diagnostics.render import Diagnostic

    with pytest.raises(Fault) as caught:
        limits = Limits(depth=depth)
        prepare(text, "file").run({"x": gradcli.ones(3, requires_grad=True)}, limits=limits)
    found = caught.value
    assert found.code == "E0606", found
    shown = Diagnostic.of(found).render()
    assert len(shown.split("\n")) < 20 and "t_" not in shown and "listcomp" not in shown
    assert " times)" in shown or " more calls ..." in shown


@family(
    "text, wanted",
    [
        ("s = 0\nfor _ in range(4): s += 2\ns", 8),
        ("for _ in range(3): pass\n_", 2),
        ("a, _ = 3, 4\na + _", 7),
        ("(a, _), _ = (1, 2), 3\n_", 3),
        ("[1 for _ in range(3)]", [1, 1, 1]),
        ("_ = 7\nl = [_ for _ in range(3)]\n[_, l]", [7, [0, 1, 2]]),
        ("f = lambda _: 5\nf(1)", 5),
        ("f = lambda x, _=2: x*_\n[f(3), f(3, _=4)]", [6, 12]),
        ("def _(a): return a + 1\n_(1)", 2),
        ("def f(_): return _*2\nf(_=4)", 8),
        ("(lambda _: _)(0) or [_ for _ in 'ab'][1]", "b"),
    ],
)
def test_one_underscore_is_a_name(text, wanted):
    assert prepare(text, "file").run({}).value == wanted


@family(
    "text, said",
    [
        ("F = torch.nn.functional\nprint(F.relu(torch.tensor(-1.0)))", "tensor(0.)"),
        ("nn = torch.nn\nF = nn.functional\nprint(F.relu(torch.tensor(2.0)))", "tensor(2.)"),
        ("L = torch.linalg\ndef f(x): return L.norm(x)\nprint(f(torch.ones(4)))", "tensor(2.)"),
    ],
)
def test_a_module_may_get_a_name_by_assignment(text, said):
    assert ran(f"import torch\n{text}\n")[0] == f"{said}\n"


@family(
    "text",
    [
        "F = torch.nn.functional\nF = 3",
        "F = torch.nn.functional\ndef f(F): return F",
        "F = G = torch.nn.functional",
        "if True: F = torch.nn.functional",
        "F = torch.nn.functional\nprint(F)",
        "F = torch.nn.functional\ny = [F for F in [1]]",
        "F = torch",
    ],
)
def test_a_module_that_is_used_otherwise_is_no_value(text):
    assert fault(f"import torch\n{text}\n").code == "E0206"


SHADOWS = """
import torch
class F(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x): return x*2
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.shape, ctx.name, ctx.edges = inputs[0].shape, "mine", 3
        ctx.save_for_backward(output)
    @staticmethod
    def backward(ctx, g):
        print(ctx.shape, ctx.name, ctx.edges)
        return g*2
    %s
a = torch.ones(2, requires_grad=True)
y = F.apply(a)
n = y.grad_fn
print(n.shape, n.name, n.edges, n.saved_tensors[0].tolist(), n.next_functions[0][1])
(y*1).sum().backward()
print((y*1).grad_fn.next_functions[0][0] is n)
"""


def test_attributes_of_ctx_stand_before_those_of_its_node():
    printed, _ = ran(SHADOWS % "")
    assert printed == ("torch.Size([2]) mine 3 [2.0, 2.0] 0\ntorch.Size([2]) mine 3\nTrue\n")


def test_a_vmap_method_and_a_generated_rule_are_too_many():
    text = SHADOWS % "@staticmethod\n    def vmap(info, dims, x): return x, 0"
    with pytest.raises(Fault, match="both generate_vmap_rule=True"):
        ran(text + "torch.vmap(F.apply)(a)\n")


SCHEDULED = """
import torch
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau as R
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.5)
s = %s
for i in range(4):
    opt.zero_grad()
    (w*w).sum().backward()
    opt.step()
    s.step(%s)
print([round(r, 5) for r in s.get_last_lr()], s.last_epoch)
"""


@family("made, given, rate", [
        ("torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.1)", "", 0.005),
        ("LambdaLR(opt, lambda t: 1/(t + 1))", "", 0.1),
        ("lr_scheduler.ExponentialLR(opt, 0.5)", "", 0.03125),
        ("lr_scheduler.SequentialLR(opt, [lr_scheduler.ConstantLR(opt, 0.1), "
         "lr_scheduler.ExponentialLR(opt, 0.5)], milestones=[3])", "", 0.25),
        ("R(opt, 'min', patience=1)", "1.0", 0.05),
    ],
)  # fmt: skip
def test_rates_follow_a_scheduler(made, given, rate):
    printed, _ = ran(SCHEDULED % (made, given))
    assert printed == f"[{rate}] 4\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("s = S.ExponentialLR(o, gamma=3)\ns.step(10**18)", "E0312"),
        ("s = S.ExponentialLR(o, 3)\ns.step(10**18)", "E0312"),
        ("S.LambdaLR(o, lambda t: [0]*1000)", "E0303"),
        ("S.LambdaLR(o, 3)", "E0303"),
        ("S.SteppLR(o, 1)", "E0204"),
        ("s = S.StepLR(o, 1)\ns.optimizer", "E0204"),
        ("s = S.StepLR(o, 1)\nfor i in range(12): s = S.ChainedScheduler([s]*50)\ns.step()",
         "E0601"),
        ("s = S.StepLR(o, 1)\nfor i in range(3000): s = S.ChainedScheduler([s])\ns.step()",
         "E0606"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Detected call", "ignore:The epoch")
def test_schedulers_are_closed(text, code):
    head = "import torch\nimport torch.optim.lr_scheduler as S\n"
    head += "o = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1)\n"
    with pytest.raises(Fault) as fault:
        prepare(head + text, "file").run({}, limits=Limits(steps=20_000))
    assert fault.value.code == code


def test_rates_that_grow_become_floats():
    text = (
        "import torch\nimport torch.optim.lr_scheduler as S\n"
        "o = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1)\n"
        "s = S.MultiplicativeLR(o, lambda t: 10**300)\no.step()\n"
        "for i in range(9): s.step()\nprint(s.get_last_lr())\n"
    )
    assert ran(text)[0] == "[inf]\n"


@family("call", ["mul(input=x, other=y)", "mul(other=y, input=x)", "add(input=x, other=y)*y",
             "maximum(input=x, other=y)", "dot(input=ones(2)*x, other=ones(2)*y)"],
)  # fmt: skip
def test_tensors_given_by_name_keep_their_gradient(call):
    x, y = (gradcli.tensor(v, dtype=gradcli.float64, requires_grad=True) for v in (2.0, 3.0))
    value = prepare(call).run({"x": x, "y": y}).value
    value.backward()
    assert value.requires_grad and y.grad is not None and y.grad.item() != 0


def test_imports_and_lists_are_found_inside_functions_and_blocks():
    printed, _ = ran(
        "def f(n):\n    if n > 0:\n        with torch.no_grad():\n            import math as m\n"
        "    return m.sqrt(n) + sum([m.floor(x) for x in [1.5, 2.5]])\n"
        "import torch\nprint(f(4))\n"
    )
    assert printed == "5.0\n"


@family("behind", ["0, i", "i, 0", "i"])
def test_gather_takes_the_dimension_before_the_indices_as_pytorch_does(behind):
    text = f"x = tensor([1.0, 2.0])\ni = tensor([1, 1, 0])\nprint(gather(x, {behind}))\n"
    assert ran(text)[0] == "tensor([2., 2., 1.])\n"


def test_a_view_of_an_array_that_was_written_to_is_copied():
    text = "import copy\na = u*1\nt = a[:2]\na[0] = u[1]*2\ns = copy.copy(t)\nt[0] = 7\n(s*t).sum()"
    u = gradcli.tensor([1.0, 2.0, 3.0], requires_grad=True)
    prepare(text, "file").run({"u": u}).value.backward()
    assert u.grad.tolist() == [0, 18, 0]


@family("text", [
    "d = {x: 1, y: 2}\nprint(d[x*1], d.get(2.0), (x + 1 - 1) in d, len({x, x*1, y, 2.0}))",
    "d = {}\nd[x] = 1\nd[2.0] += 2\nd[(x, y)] = 3\nprint(d[2], d[(2.0, y*1)], len(d), d.pop(x))",
    "s = {x, y, 7}\ns.add(x*1)\ns.discard(y + 0)\nprint(sum(s), x in s, s & {2.0} == {x}, y in s)",
    "import numpy as np\na = np.array([2.0, 2.0, 3.0])\nd = {a[0]: 1}\nprint(d[x], len(set(a)))",
    "from collections import Counter\nprint(Counter([x, y, x*1]).most_common(1)[0][1])",
    "import functools\nn = [0]\n@functools.cache\ndef f(t):\n    n[0] += 1\n    return t\n"
    "f(x)\nf(x*1)\nprint(n)",
])  # fmt: skip
def test_numbers_are_keys_by_their_value(text):
    names = {"print": print, "x": np.float64(2.0), "y": np.float64(3.0)}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(text, names)
    given = {name: gradcli.tensor(names[name], dtype=gradcli.float64) for name in "xy"}
    assert ran(text, **given)[0] == printed.getvalue()


def test_a_key_leads_a_gradient_to_one_value():
    given = [gradcli.tensor(v, requires_grad=True) for v in (2.0, 2.0, 3.0)]
    x, y, z = given
    text = "s = {x, z, x}\nt = 0\nfor v in s:\n    t += v*v\nt*({x: z}[x] + (x in {2.0}))"
    ran(text, x=x, y=y, z=z)[1].value.backward()
    assert [v.grad and v.grad.item() for v in given] == [16, None, 37]
    text = "d = {1.0: 3, 2.0: x*x}\nd[x]*d.get(x)*({2.0} == {2.0})*(x in d)"
    assert ran(text, x=x)[1].value.item() == 16
    of_constants = ("{2.0, x}", "{x, 2.0}", "d = {2.0: 1}\nd[x] = 3", "{(x, 1), (2.0, 1)}",
                    "set([2.0]) | {x}", "d = {x: 1}\nd[2.0] = 3", "{2.0}.add(x)")  # fmt: skip
    for text in ("{x, y}", "{x: 1}.get(y)", "{(x, 1): 2}[y, 1]", *of_constants):
        assert fault(text, x=x, y=y).code == "E0303"
    text = "import functools\n@functools.cache\ndef f(t):\n    return t*t\nf(x)*f(y)*f(2.0)"
    ran(text, x=x, y=y)[1].value.backward()
    assert y.grad.item() == 4 * 4 * 4
    for text in ("d = {u: 1}", "u in {1.0}", "{((x, 1), 2)}"):
        assert fault(text, u=gradcli.tensor([1.0, 2.0]), x=x).code == "E0303"
    with pytest.raises(Fault, match="is no key"):
        gradcli.func.jvp(lambda t: ran("{x: x}[x]", x=t)[1].value, (x,), (x,))


@family("text", [
    "(x > 0) + (y > 0)", "a = x > 0\nb = y > 0\na += b\na", "sum([x > 0, y > 0])",
    "(x > 0) + bool(y > 0)", "(x > 0 and x < 9) + (y > 0)",
])  # fmt: skip
def test_truths_of_numbers_add_up_as_pythons(text):
    for x, y in ((1.0, 2.0), (1.0, -2.0), (-1.0, -2.0)):
        given = {"x": gradcli.tensor(x), "y": gradcli.tensor(y)}
        assert ran(text, **given)[1].value == (x > 0) + (y > 0)
    both = ran(f"import torch\n{text}", x=gradcli.tensor(1.0), y=gradcli.tensor(1.0))[1].value
    assert both == (2 if "sum" in text else 1)
    if "sum" not in text:  # of NumPy's numbers they are True
        one = gradcli.tensor(1.0)
        for head in ("import numpy as np", "from numpy import array", "import numpy.linalg"):
            assert fault(f"{head}\n{text}", x=one, y=one).code == "E0303"
            assert ran(f"{head}\n{text}", x=one, y=-one)[1].value == 1
    with pytest.raises(Fault, match="~ of a truth"):
        ran(text.replace("(x > 0)", "~(x > 0)").replace("x > 0", "~(x > 0)"), **given)
