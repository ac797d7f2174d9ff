"""Programs with loops and branches: generated code against the engine, and what stays there."""

from __future__ import annotations

from itertools import product, repeat
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.jit.ir import NotTraceable
from gradcli.jit.program import Generated
from gradcli.language.runtime.run import Limits, prepare
from gradcli.ops.errors import Fault, LimitFault
from tests.jit.programs import Writer
from tests.support.families import family


@pytest.fixture(autouse=True)
def in_float64():
    before = gradcli.get_default_dtype()
    gradcli.set_default_dtype(gradcli.float64)
    yield
    gradcli.set_default_dtype(before)


def leaves_of(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: gradcli.tensor(v, requires_grad=not isinstance(v, int)) for name, v in values.items()
    }


def both(text: str, forward: bool | None = None, **values: Any) -> tuple:
    """The program, what generated code gives, and what the engine gives."""
    program = prepare(text, "file")
    leaves = leaves_of({n: v for n, v in values.items() if program.takes(n)})
    by = [name for name, leaf in leaves.items() if leaf.requires_grad]
    made = Generated(program, leaves, by, forward=forward)
    found = made.run(*(leaves[name] for name in by))
    if forward and not any(leaves[name].shape for name in by):  # by one variable after another
        each = [Generated(program, leaves, [name], forward=True) for name in by]
        assert all(one.forward and "reversed" not in one.text for one in each)
        runs = [one.run(leaves[name]) for one, name in zip(each, by, strict=True)]
        found = None if None in runs else (runs[0][0], tuple(one[1][0] for one in runs))
    value = program.run(leaves).value
    grads = gradcli.autograd.grad(
        value, [leaves[n] for n in by], allow_unused=True, materialize_grads=True
    )
    return made, found, (value.item(), [g.numpy() for g in grads])


def same(found: Any, want: Any, tolerance: float = 1e-13) -> None:
    got = [found[0], *found[1]]
    want = [want[0], *want[1]]
    scale = max(1.0, *(float(np.max(np.abs(w))) for w in want))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale)


EULER = "y = y0\nfor i in range(steps):\n    y = y - 1.5 / steps * k * y\ny\n"
PROGRAMS = {
    "items": "b = zeros(9)\nb[0] = k\nfor i in range(8):\n    b[i + 1] = 0.9 * b[i] + y0 * k\n"
    "(b * b).sum() * k",
    "euler": EULER,
    "while": "a = y0\nwhile a > 0.1:\n    a = a * k\na + k",
    "doubling": "b = k * 2\nwhile abs(b) < 1000:\n    b = b * 2\nb if b > 0 else 100 * b",
    "break": "s = 0.0\nfor i in range(100):\n    s = s + k * i\n    if s > 20:\n"
    "        break\ns * y0",
    "continue": "s = 0\nfor i in range(9):\n    if i % 3 == 0:\n        continue\n"
    "    s = s + k**i\ns",
    "no turn": "s = y0\nfor i in range(5, 2):\n    s = s * k\ns",
    "nested": "s = y0\nfor i in range(4):\n    for j in range(i):\n"
    "        s = s + sin(s * k) * j\ns",
    "nested while": "s = y0\nfor i in range(3):\n    u = s\n    while u > 0.3:\n        u = u * k\n"
    "    s = s + u\ns",
    "two loops deep": "s = y0\nfor i in range(70):\n    for j in range(90):\n"
    "        s = s - 0.001 * s * k\ns",
    "swap": "a = k\nb = y0\nfor i in range(5):\n    a, b = b, sin(a)\na - b",
    "previous": "p = k\ny = y0\nfor i in range(5):\n    q = y\n    y = sin(y) * p\n"
    "    p = q\ny + p",
    "set in the loop": "for i in range(3):\n    z = k * i + y0\nz * z",
    "return": "def f(u):\n    for j in range(9):\n        if u > 10:\n            return u * 2\n"
    "        u = u * u + k\n    return u\nf(y0)",
    "newton": "def g(x):\n    return x**3 - k * x - 5\nx = y0\nfor i in range(20):\n"
    "    d = g(x) / (3 * x**2 - k)\n    x = x - d\n    if abs(d) < 1e-12:\n        break\nx",
    "functions": "f = lambda u, v=2: u * v + k\nh = lambda u: f(f(u), v=y0)\n"
    "h(k) if k > 0 else h(y0)",
    "chain of elif": "s = 0.0\nfor i in range(8):\n    if i == 0:\n        s += k\n"
    "    elif i < 3:\n"
    "        s += y0 * i\n    elif i < 5 and s > 1:\n        s *= k\n    else:\n"
    "        s = s + 0.5 * i\ns",
    "lists": "p = [k, y0]\nfor i in range(6):\n    p = [p[1], p[0] + 0.1 * sin(p[1])]\np[0] * p[1]",
    "list of turns": "p = []\nfor i in range(6):\n    p.append(k * i)\nsum(p) + y0",
    "comprehension": "sum([sin(k * i) for i in range(5) if i != 2]) + y0",
    "time": "t = 0.0\ny = y0\nwhile t < 1:\n    y = y + 0.1 * (sin(t) - k * y)\n    t += 0.1\ny",
    "in place": "s = y0 * 1\nfor i in range(5):\n    s += k * i\n    s -= 0.5\ns * s",
    "no_grad": "s = y0\nfor i in range(3):\n    with no_grad():\n        c = s * k\n"
    "    s = s + c * k\ns",
    "detach": "s = y0\nfor i in range(3):\n    s = s * s.detach() * k\ns",
    "item": "s = y0\nfor i in range(4):\n    s = s * k + s.item()\ns",
    "assert": "s = y0\nfor i in range(4):\n    s = s + k\n    assert s > 0\ns",
    "vector": "s = 0\nfor i in range(3):\n"
    "    s = s + 100 * (w[i + 1] - w[i]**2)**2 + (1 - w[i])**2\n"
    "s + k * 0 + y0 * 0",
    "one entry twice": "s = k * y0\nfor i in range(3):\n    s = s + (w[i] + w[i]) * w[2]\ns",
    "array": "v = w\nfor i in range(4):\n    v = v - 0.1 * sin(v) * k\n(v * v).sum() + y0",
    "matrix": "v = w[0:2]\nA = tensor([[0.5, 0.1], [-0.2, 0.7]])\nfor i in range(4):\n"
    "    v = tanh(A @ v + k)\nv.sum() * y0",
}  # fmt: skip


MORE = (
    "((x>0)+(x>-1))*x",
    "((x>0)*(x>-1))*x",
    "s=x\nfor i in range(3):\n    s = s + ((x>0)+(s>-1))*x\ns",
    "s=x\nfor i in range(3):\n    b = x > 0\n    s = s + b * i\ns",
    "s=x\nfor i in range(4):\n    s = s + x**i\n    if s > 1e9:\n        s = s*2\ns",
    "s = x\nfor i in range(3):\n    s = s + (s // 2) + s % 3 + round(s) + floor(s)\ns",
    "s = x\nfor i in range(3):\n    s = where(s > 1, s*0.5, s*2)\ns",
    "s = x\nfor i in range(3):\n    s = s + clamp(s, 0, 1) + relu(s) + abs(s-1)\ns",
    "n = 0\nfor i in range(5):\n    n += i\n    n *= 2\nx * n",
    "s=x\nfor i in range(3):\n    s = s + hypot(s, x) + atan2(s, x) + logaddexp(s, x)\ns",
    "s=x\nfor i in range(10):\n"
    "    s = s + (i // 3) * x - (-i) % 4 + i**2 * 0.1 + max(i, 3) + min(i, 2.5) + abs(i - 5)\n"
    "s",
    "s=x\nfor i in range(3):\n    for j in range(i, 0, -1):\n        s = s*1.1 + j\n"
    "    t = j if i > 0 else 1\n    s = s + t\ns",
    "s = x\nfor a, b in [(1, 2.0), (3, x)]:\n    s = s * a + b\ns",
    "s = x\nfor i, v in enumerate([x, 2*x, 3.0]):\n    s = s + i * v\ns",
    "def f(u, *, k=2):\n    return u*k\nf(x)",
    "s = x\nk = 0\nwhile True:\n    s = s * 1.5\n    k += 1\n    if s > 100 or k > 50:\n"
    "        break\ns * k",
    "s = x\nfor i in range(4):\n    if i == 2:\n        u = s * 2\n    elif i == 3:\n"
    "        s = s + u\ns",
    "f = lambda z: z * z\ng = f\ns = x\nfor i in range(3):\n    s = g(s) - 0.1\ns",
    "s = x * 1\nt = s\nfor i in range(3):\n    s = s + 1\n    t = t * s\nt",
    "x if x > 0 else -x",
    "max(True, w[0])",
    "q = 2.5\nfor i in range(2):\n    q -= exp(q != 1)\nx * q if x > q else x",
    "max(not x > 9, w[0])",
    "s = 0\nfor v in w:\n    s = s + v * x\ns",
    "s = 0\nfor i in range(len(w)):\n    s = s + w[i] * x if w[i] > 0 else s\ns",
    "sum([w[i]**2 for i in range(4)]) * x",
    "s = x\nfor i in range(3):\n    s = s * sigmoid(s) + softplus(s) * 0.1\ns",
    "s = x\nfor i in range(2):\n    s = s + (w * s).sum() + (w @ w) * s\ns",
    "s = x\nfor i in range(3):\n    s = s + int(s) + float(s) * x\ns",
    "s = 0.5\nfor i in range(300):\n    s = s*0.9 + 0.1*sin(s)/(s + 1) + x*max(s, 1)\ns.detach()*s",
    "s = 0\nwhile s < 5:\n    s = s + x\ns.detach()*s",
    "s = x\nfor i in range(5):\n    s = s*1.1\nelse:\n    s = s + 100\ns",
    "s = x\nwhile s < 50:\n    s: float = s*1.7\nelse:\n    s = s * 2\ns",
    "def g(u, a=2, /, *, b=3):\n    return u*a*b\ng(x, 5, b=1.5) + g(x)",
    "s=x\nfor i in range(3):\n    s = s + (1 if s > 2 and i < 2 or x < 0 else 2) * x\ns",
    "s = x\nwhile s < 9:\n    if s > 3:\n        break\n    s = s*2\nelse:\n    s = -s\ns",
    "s = x\nwhile s < 9:\n    if s > 30:\n        break\n    s = s*2\nelse:\n    s = -s\ns",
    "s = x\nfor j in range(3):\n    for i in range(300):\n        if s > 3:\n            break\n"
    "        s = s*1.001\n    else:\n        continue\n    s = s - j\n    break\ns",
    "v = linspace(0, 1, 300) * x\ns = x\n"
    "for i, (a, b) in enumerate(zip(v, reversed(range(900)))):\n"
    "    s = s * 0.99 + a * b * i * 1e-4\ns + i + a",
    "s = x\nfor a, b in zip((1, 2, 3) * 99, reversed([0.5, 1.5] * 200)):\n"
    "    s = s + a//2*b*w[a]\ns",
    "s = x\nfor v in reversed(linspace(0, 1, 300) * x):\n    s = s * v + x\ns * v",
    "s = x\nfor i in range(3):\n    if 0 < s < 1 + i:\n        s = s * 1.5\ns",
    "s = x\nfor i in range(3):\n    s = s*2 if i > 0 < s else s + 1\ns",
    "s = x\nfor i in range(int(x * 10)):\n    s = s + max(i, s) + (not i)\ns",
    "s = x\nfor i in range(300):\n    s = s + float(i) * x * 1e-3 + int(i / 2) * 1e-3 + bool(i)\n"
    "    s = s + pow(i, 2) * 1e-6 * x + pow(i, 0.5) * 1e-3 + (-i // 7) * 0.01\ns",
    "k = 1\ns = x\nfor i in range(5):\n    k = k / 2 if i > 2 else k * 2\n    s = s * k\ns",
    "s = x\nfor i in range(5):\n    c = s > 2\n    s = s * 1.5 if c.item() else s * 2\ns",
    "s = x\nt = tensor(True)\nfor i in range(4):\n    if t and s > 0:\n        s = s * 1.5\ns",
    "a, b = x, (x, 2.0)\nfor i in range(3):\n    a, b = b[0] * b[1], (a, b[1] + 1)\na",
    "import math\ns = x\nfor i in range(3):\n    s = s * math.pi + math.sin(i)\ns",
    "def f(u):\n    for i in range(5):\n        u = u * 1.5\n        if u > 2:\n"
    "            return u * i\n    return u\nf(x)",
    "s = x\nassert 1 < 2\nfor i in range(300):\n    assert s > -1e9\n    s = s * 1.01\n"
    "    if s > 3:\n        break\n    s = s + i * x * 0.001\ns",
    "z = None\ns = x\nfor i in range(3):\n    s = s * 2 if z is None else s\n"
    "    if s is not None:\n        s = s + (i in (1, 2)) + (i is None)\ns",
)  # fmt: skip


ITEMS = (
    "b = zeros(400)\nb[0] = x\nfor i in range(399):\n    b[i+1] = b[i]*0.99\nb.sum()",
    "s = x\nfor i in range(300):\n    v = zeros(3)\n    v[0] = s\n    v[1:] = s*2\n"
    "    s = v.sum()*0.2\ns",
    "b = zeros(300)\nfor i in range(300):\n    b[i - 300] += x*i\n    b[i] -= 1\nb.sum()",
    "b = zeros(300)\nfor i in range(300):\n    if i%3==0:\n        b[i] = x*i\n"
    "    elif x*i > 40:\n        b[i] = x\nb.sum()",
    "b = zeros(300)\nc = zeros(300)\nfor i in range(300):\n    b[i] = x*i\n    b, c = c, b\n"
    "c.sum() + 2*b.sum()",
    "b = zeros(3, 2)\nb[0, 1] = x\nb[1] = x*2\nb[:, 0] = 3*x\nb.sum()",
    "u = zeros(9)\nfor k in range(30):\n    v = zeros(9)\n    for i in range(1, 8):\n"
    "        v[i] = u[i] + 0.1*(u[i-1]-2*u[i]+u[i+1]) + x*0.01\n    u = v\nu.sum()",
)  # fmt: skip


LISTS = (
    "y = []\nfor i in range(300):\n    y.append(x*i)\nsum(y) / len(y) + y[-1]",
    "y = [w[0]]\nfor i in range(300):\n    y.append(0.99*y[-1] + 0.01*x*y[i//2])\ny[-1]*y[100]",
    "y = [x]\nz = [w[1], x]\nt = 0\nwhile len(y) < 90:\n    t += 1\n    if t % 3 == 0:\n"
    "        y.append(sin(y[-1]) + z[-2])\n    else:\n        for j in range(2):\n"
    "            z.append(z[j]*0.3 + y[0]*x)\ns = 0\nfor i, v in enumerate(y):\n"
    "    s = s + i*v*z[i]\ns + sum(z)",
    "s = 0\nfor j in range(9):\n    y = [w[j % 4], x]\n    while len(y) < 9:\n"
    "        y.append(y[-1]*y[-2] + x)\n    s = s*0.1 + sum(y)\ns",
    "n = [1.0]\nfor i in range(300):\n    n.append(n[-1]*0.5 + i)\n"
    "s = x\nfor v in n:\n    s = s*0.9 + v*w[2]\ns",
    "n = []\nfor i in range(300):\n    n.append(float(i) * 0.01)\nsum(n) * x",
    "s = 0.5\ny = []\nfor i in range(300):\n    y.append(s)\n    s = s*0.9 + x*y[i//2]\nsum(y)",
    "l = [1.0, 2.0]\nl[0] = 3.0\nl[1] += 2\ns = x\nfor v in l:\n    s = s * v\ns",
    "fs = [lambda q: q*k + v for k, v in enumerate([x, 2.0, w[1]]) if k != 2]\n"
    "s = 0\nfor f in fs:\n    s = s*0.9 + f(x)\ns",
)  # fmt: skip


@family("text", (*MORE, *ITEMS, *LISTS))
def test_what_programs_are_made_of_agrees(text):
    values = {"x": 1.3, "w": np.array([0.3, -0.2, 0.9, 0.4])}
    _, found, want = both(text, **values)
    same(found, want)
    assert found[0].__class__ is float


@family("name", PROGRAMS)
def test_programs_agree(name):
    _, found, want = both(
        PROGRAMS[name], k=0.7, y0=2.0, steps=100, w=np.array([0.3, -0.2, 0.9, 0.4])
    )
    same(found, want)


@family("name", ["euler", "while", "break", "nested while", "newton", "swap"])
def test_forward_mode_agrees(name):
    _, found, want = both(PROGRAMS[name], True, k=0.7, y0=2.0, steps=100)
    same(found, want)


def test_forward_mode_gives_every_entry_its_slope():
    made, found, want = both("(w * w).sum() * y0", True, w=np.array([1.0, 2.0, -3.0]), y0=2.0)
    assert not made.forward
    same(found, want)


def compared(seeds: range, forward: bool | None) -> int:
    """How many random programs ran as generated code; each has to agree."""
    ran = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        text = Writer(seed).text()
        values = {"x": rng.uniform(-1, 1), "y": rng.uniform(-1, 1), "w": rng.uniform(-1, 1, 4)}
        try:
            _, found, want = both(text, forward, **values)
        except NotTraceable:
            continue
        except RuntimeError as fault:  # no variable decides anything
            assert "does not require grad" in str(fault), (seed, fault)
            continue
        if found is not None:
            ran += 1
            same(found, want)
    return ran


@family("name", [*PROGRAMS, *range(24)])
def test_programs_in_float32_are_equal(name):
    """To the dtype and, but for the order of a sum, the last digit."""
    gradcli.set_default_dtype(gradcli.float32)
    text = Writer(name).text() if isinstance(name, int) else PROGRAMS[name]
    w = np.array([0.3, -0.2, 0.9, 0.4], np.float32)
    try:
        _, found, want = both(text, k=0.7, y0=2.0, x=0.3, y=-0.6, steps=100, w=w)
    except NotTraceable:
        assert name != "euler"
        return
    if found is not None:
        got = [found[0], *found[1]]
        assert {a.dtype for a in got} == {np.dtype(np.float32)}
        same(found, want, 2e-6)
        assert np.float32(want[0]) == got[0]


def test_hessians_in_float32():
    gradcli.set_default_dtype(gradcli.float32)
    program = prepare(PROGRAMS["items"], "file")
    leaves = leaves_of({"k": 0.7, "y0": 2.0})
    made = Generated(program, leaves, list(leaves), what="hvp")
    found = made.hessian(*(leaf.detach() for leaf in leaves.values()))
    want = gradcli.autograd.functional.hessian(
        lambda k, y0: program.run({"k": k, "y0": y0}).value, tuple(leaves.values())
    )
    for row, wanted in zip(found, want, strict=True):
        for h, w in zip(row, wanted, strict=True):
            assert h.dtype is gradcli.float32 and h.shape == w.shape
            np.testing.assert_allclose(h.item(), w.item(), rtol=1e-4)


def test_random_programs_agree():
    """The number of the branches taken is part of the result: another branch is another value."""
    assert compared(range(50), None) > 33
    assert compared(range(100, 115), False) > 9


@pytest.mark.long
def test_twenty_thousand_random_programs_agree():
    assert compared(range(20_000), None) > 14_000


@family(
    "text, why",
    [
        ("for i in range(3):\n    print(k)\nk", "a call of print"),
        ("s = k\nfor i in range(300):\n    s = s + randn(1)[0]\ns", "randn"),
        ("y = k * 2\ny.retain_grad()\ny", "retain_grad"),
        ("y = k * 2\ny.register_hook(lambda g: g)\ny", "register_hook"),
        ("y = k * k\ny.backward()\ny * 2", "backward"),
        ("y = k * k\ny.grad_fn.name()\ny", "grad_fn"),
        ("def f(n):\n    return k if n == 0 else k * f(n - 1)\nf(3)", "recursion"),
        (
            "def f(u):\n    for i in range(9):\n        if u > 5:\n            return u\n"
            "        u = u * 2\n    else:\n        u = -u\n    return u\nf(k)",
            "a loop with else",
        ),
        ("e = enumerate(range(300))\nfor i, j in e:\n    k = k + i\nk", "an iterator"),
        (
            "def g(f):\n    return lambda u: 3*f(u)\n@g\ndef h(u):\n    return u*k\nh(k)",
            "decorators",
        ),
        ("def g(u, *rest):\n    return u*len(rest)\ng(k, 1, 2)", "any number of arguments"),
        ("def g(u, *, a=2):\n    return u*a\ng(k, 3)", "an argument that there is not"),
        (
            "def g(u):\n    if False:\n        yield u\n    return [u]\nsum([v for v in g(k)]) + k",
            "a generator",
        ),
        ("b = zeros(4)\nc = b\nb[0] = k\nc.sum() * k", "something else may have"),
        ("b = zeros(4)\nv = b[1]\nb[1] = k\nv + b[1]", "has a view"),
        ("b = zeros(9)\nfor i in range(9):\n    b[i] = k\n    k = k * b[i]\nk", "has saved"),
        ("b = zeros(4)\ndef f(u):\n    u[0] = k\n    return k\nf(b) + b.sum()", "else may have"),
        ("y = k * 1\nz = y\nz += 1\ny * z", "something else may have"),
        (
            "b = zeros(9)\nfor i in range(9):\n    b[i] = k*(b[i-1] if i > 0 else 1)\nsum(b)",
            "a rule has saved",
        ),
        (
            "b = zeros(9)\nfor i in range(9):\n    p = b[0] if k > 0 else b[1]\n"
            "    b[i] = sum(p*k)\nsum(b)",
            "has a view|a rule has saved",
        ),
        ("y = exp(k)\ny *= 2\ny", "a rule has saved"),
        ("y = k * 1\nfor i in range(3):\n    y += y * y\ny", "a rule has saved"),
        ("k += 1\nk", "something else may have"),
        ("y = k * 1\nz = y.detach()\ny += 1\ny * z", "has a view"),
        ("y = k * ones(3)\nz = y[0]\ny += 1\ny.sum() * z", "has a view"),
        ("y = [k]\nz = y\nfor i in range(300):\n    y.append(k)\ny[0]", "written to in a loop"),
        ("y = []\nfor i in range(300):\n    y.append([k])\ny[0]", "than single numbers"),
        (
            "for j in range(3):\n    y = [k*j]\n    while len(y) < 9:\n        y.append(y[-1])\n"
            "sum(y)",
            "not set on every way",
        ),
        ("y = [k]\nfor i in range(300):\n    y.append(k)\nsum(y[1:3])", "such items of a list"),
        (
            "t = k*3\ns = k*1\nfor i in range(3):\n    s += k\n    k = k + t\n    t = s\nk",
            "may have",
        ),
        ("int(k) * 2", "whole number"),
        ("n = int(k)\n((k > 0) - n) % 2 * k", "truths computed with whole numbers"),
        ("k * int(1e300)", "a whole number that no tensor takes"),
        ("min(k, int(1e300))", "a whole number that no tensor takes"),
        ("n = 1 if k > 9 else 2**53 + 1\nsquare(n) * k", "a whole number that is no float"),
        ("n = 2.0 if k > 9 else 2**64 + 1\nn * k", "a whole number that no tensor takes"),
        (
            "n = 2.0\nfor i in range(3):\n    n = max(10**20, n)\nn * k",
            "a whole number that no tensor takes",
        ),
        ("n = 2 if k > 5 else 2.5\nfmod(n, 3) * k", "something else"),
        ("n = 2.0 if k > 9 else True\nk - n", "a truth or a number"),
        ("(k > 0 and k > 1) - k", "a difference with a truth"),
        ("-(k > 0 and k < 9) * k", "the sign of a truth"),
        ("abs(k > 0 and k < 9) * k", "a function of numbers"),
        ("((k > 0 and k < 9) - 1) * k", "a difference with a truth"),
        ("p = (k > 0)\nq = p and k > 1\nk - p", "bool tensor is not supported"),
        ("p = False\nif k > 5:\n    p = -1\nk - p", "a truth or a number"),
        (
            "p = 2**64 + 1\nif k > 5:\n    p = 0.5\nk / p",
            "a whole number that (is no float|no tensor takes)",
        ),
        ("n = 16\nfor i in range(1):\n    n = n * 1\nif k > 5:\n    n = k\nk * n ** n", "not hold"),
        ("p = int(3 * k)\nif k > 5:\n    p = k\np * p", "does not hold"),
        ("p = 3\nif k > 5:\n    p = k\np.detach() * k", "what may be a number"),
        ("p = 3\nif k > 5:\n    p = k\nxlogy(p, 2) * k", "no attribute"),
        ("p = 3\nif k > 5:\n    p = k\nclone(p) * k", "no attribute"),
        ("neg(k > 0 and k < 9) ** -1 + k", "gives something else"),
        ("b = 2**53 + 1 if k > 5 else k\nb * k", "a number that a tensor does not hold"),
        ("if k > 99:\n    f = sin\nf(k)", "not set on every way"),
        (
            "for i in range(3):\n    if k > 99:\n        f = [k, sin]\nf[1](k)",
            "not set on every way",
        ),
        ("p = 1\nif k > 5:\n    p = [k]\np", "depends on nothing|one thing or another"),
        *[
            (text, "what may be a number|a number among|truths computed")
            for text in (
                "b = (k if k > 5 else 2).detach()\nb * k",
                "def f(u):\n    if u > 5:\n        return u\n    return 2\nf(k).exp() * k",
                "b = [0, k]\nif k > 5:\n    b = [k, k]\nb[0].sum() * k",
                "b = k\nfor i in range(3):\n    c = b.detach()\n    b = 2 if k > 5 else b*k\nc*k",
                "y = []\nb = 2\nfor i in range(300):\n    y.append(b)\n    b = b*k\ny[0].T*k",
                "b = k if k > 5 else 2\n(-(b + 1)).T * k",
                "b = k if k > 5 else 2\nb[...] * k",
                "b = k if k > 5 else 2\nlen(b) * k",
                "b = k if k > 5 else 2\nround(b * 1.3375, 2) * k",
                "b = k if k > 5 else 2\n(b > 1).float() * k",
                "b = k if k > 5 else 2\n((b > 1) + (b > 1)) * k",
            )
        ],
    ],
)
def test_what_stays_on_the_engine(text, why):
    program = prepare(text, "file")
    with pytest.raises(NotTraceable, match=why):
        Generated(program, leaves_of({"k": 1.5}), ["k"])


@family(
    "text",
    [
        "b = 0.1 if k > 0 else k\n(b * 1e9 - 1e8) * k",
        "s = 0.0\nfor i in range(300):\n    s = s * 0.5 + 0.1 if k > 0 else k\n(s - 0.2) * k",
        "n = 0\nfor i in range(300):\n    n = i * 100000 if k > 0 else k\n(n % 7) * k",
    ],
)
def test_numbers_of_64_bits_do_not_become_those_of_32(text):
    gradcli.set_default_dtype(gradcli.float32)
    with pytest.raises(NotTraceable, match=r"which has 64|does not hold"):
        Generated(prepare(text, "file"), leaves_of({"k": 1.5}), ["k"])


def test_the_reason_has_its_place():
    text = "s = k\nfor i in range(300):\n    s = s + randn(1)[0]\ns"
    with pytest.raises(NotTraceable) as caught:
        Generated(prepare(text, "file"), leaves_of({"k": 1.5}), ["k"])
    assert text[slice(*caught.value.at)] == "randn(1)"


@family(
    "text",
    [
        "s = k\nfor i in range(3):\n    s = s / (i - 1)\ns",  # 1/0 is inf for tensors
        "t = 2.0\nfor i in range(3):\n    t = t / (i - 1)\nk * t",  # and an error for numbers
        # Numbers whose quotient nobody reads, too, and what is a number in some of the turns.
        "for i in range(2):\n    t = reciprocal(1.0 * i)\nk * 1.0",
        "b = k\nfor i in range(2):\n    t = 1 / b\n    b = 0.0\nk * 1.0",
        "b = k\nfor i in range(2):\n    t = b**-1\n    b = 0.0\nk * 1.0",
        "b = k\nfor i in range(2):\n    t = k if 2 % b > 0 else 2 * k\n    b = 0.0\nt",
        "s = k\nfor i in range(5):\n    s = log(s - 1)\ns",
        "s = k\nfor i in range(600):\n    s = exp(s)\ns",
        "n = 1\nfor i in range(90):\n    n = n * 2\nk * n",
        # So do whole numbers that are tensors on another way.
        "n = 1\nfor i in range(40):\n    n = n * 3 if k > 0 else n + k\nn % 7 * k",
        "n = 3 if k > 0 else k\nfor i in range(40):\n    n = n**3 if k > 0 else k\nn % 7 * k",
        "p = 94906267\nif k > 5:\n    p = k\n(square(p) - 9007199515875288) * k",
        "p = 0\nif k > 5:\n    p = k\natan2(-p, -k)",
        "r = -1 % signbit(k)\nk * 1",
        "n = 2**53 - 1 if k > 0 else k\n(n + 1 + 1 - n) * k",
        "for i in range(int(k) - 9):\n    z = k * i\nz",
        "if k > 99:\n    z = k\nz * z",
        # A variable that is not set is nowhere None, which equals nothing and is no truth.
        "if k > 99:\n    z = k\n(2 if z == 1 else 3) * k",
        "if k > 99:\n    z = k > 100\n(2 if not z else 3) * k",
        "if k > 99:\n    z = k\nwhere(k > 0, k, z)",
        "if k > 99:\n    z = 1\nz\nk * k",
        "for i in range(3):\n    if k > 99:\n        z = [k, i]\nw = z\nk * k",
        "for i in range(3):\n    if i == 1:\n        z = i\n(2 if z == 1 else 3) * k",
        "def f(u):\n    if u > 99:\n        return u\n(2 if f(k) == 1 else 3) * k",
        "w[int(k) + 7] * k",
        "s = k\nwhile s > 0:\n    s = s + 1\ns",
        "t = -2.0\nfor i in range(2):\n    t = t ** 0.5\nk * 1.0",
        "s = k\nfor i in range(9):\n    s = s + 1\n    assert s < 4, s\ns",
    ],
)
def test_what_goes_wrong_is_left_to_the_engine(text):
    program = prepare(text, "file")
    leaves = leaves_of({"k": 1.5, **({"w": np.ones(3)} if "w[" in text else {})})
    made = Generated(program, leaves, ["k"], limits=Limits(steps=2000))
    try:
        assert made.run(leaves["k"]) is None
    except Fault as fault:
        pytest.fail(f"{fault} came from generated code")


def test_limits_hold():
    program = prepare("s = k\nwhile s > 0:\n    s = s + 1\ns", "file")
    made = Generated(program, leaves_of({"k": 1.0}), ["k"], limits=Limits(steps=5000))
    assert made.run(1.0) is None
    with pytest.raises(LimitFault, match="5,000 steps"):
        program.run(leaves_of({"k": 1.0}), limits=Limits(steps=5000))
    calls = prepare("f = lambda u: u * k\ns = k\nfor i in range(900):\n    s = f(s) / k\ns", "file")
    leaves = leaves_of({"k": 1.0})
    assert Generated(calls, leaves, ["k"], limits=Limits(steps=1800)).run(1.0) is not None
    assert Generated(calls, leaves, ["k"], limits=Limits(steps=1700)).run(1.0) is None


def test_a_decision_never_goes_the_other_way():
    """The tests of the program stand where NumPy's digit and math's may differ."""
    text = "c = 0\nfor i in range(40):\n    if exp(tanh(x + i * 0.01)) > w[i]:\n"
    text += "        c = c + 1\nx * c"
    points = np.linspace(0.1, 2.0, 25)
    program = prepare(text, "file")
    for x in points:
        w = np.exp(np.tanh(x + np.arange(40) * 0.01))
        leaves = leaves_of({"x": float(x), "w": w})
        found = Generated(program, leaves, ["x", "w"]).run(float(x), w)
        assert found[0] == program.run(leaves).value.item()


def test_the_program_and_its_text():
    program = prepare(EULER, "file")
    made = Generated(program, leaves_of({"y0": 2.0, "k": 0.7, "steps": 9}), ["y0", "k"])
    shown = made.ir().splitlines()
    assert shown[0] == "program(x0: float64, x1: float64)"
    assert any(line.lstrip().startswith("save p") for line in shown)
    assert any("backward i" in line for line in shown)
    assert "for i" in made.code() and "reversed(s0)" in made.code()


def test_saved_values_take_eight_bytes():
    program = prepare(EULER, "file")
    leaves = leaves_of({"y0": 2.0, "k": 0.7, "steps": 9})
    made = Generated(program, leaves, ["y0", "k"])
    stacks = [line for line in made.text.splitlines() if "append" in line]
    assert len(stacks) == 1 and 'array("d")' in made.text
    assert made._call(2.0, 0.7, repeat(True))[0] == program.run(leaves).value.item()


@family(
    "checkpoint, name",
    product(
        [0, 1, 2, 7],
        ["euler", "break", "nested while", "two loops deep", "newton", "functions", "array"],
    ),
)
def test_checkpoints_give_the_same(name, checkpoint):
    text = PROGRAMS[name]
    values = {"k": 0.7, "y0": 2.0, "steps": 900, "w": np.array([0.3, -0.2, 0.9, 0.4])}
    program = prepare(text, "file")
    leaves = leaves_of({n: v for n, v in values.items() if program.takes(n)})
    by = [n for n, leaf in leaves.items() if leaf.requires_grad]
    limits = Limits(steps=7000)
    plain = Generated(program, leaves, by, forward=False, limits=limits)
    kept = Generated(program, leaves, by, forward=False, limits=limits, checkpoint=checkpoint)
    want, found = (made.run(*(leaves[n] for n in by)) for made in (plain, kept))
    assert want is not None and found is not None
    same(found, want, 0.0)


def test_random_programs_agree_with_checkpoints():
    for seed in range(20):
        text = Writer(seed).text() + "for i0 in range(70):\n    a = sin(a + b) * x\n"
        text += "    if a > 0.1:\n        b = b + 0.1 * a\na + b * total\n"
        program = prepare(text, "file")
        leaves = leaves_of({"x": 0.3, "y": -0.4, "w": np.array([0.3, -0.2, 0.9, 0.4])})
        by = [n for n in leaves if program.takes(n)]
        try:
            made = [Generated(program, leaves, by, forward=False, checkpoint=c)
                    for c in (None, 0, 3)]  # fmt: skip
        except NotTraceable:
            continue
        want, *found = (m.run(*(leaves[n] for n in by)) for m in made)
        for one in found:
            assert (one is None) == (want is None)
            if want is not None:
                same(one, want, 0.0)


def test_checkpoints_bound_the_memory():
    import tracemalloc

    program = prepare(EULER, "file")
    leaves = leaves_of({"y0": 2.0, "k": 0.7, "steps": 20_000})
    peaks = []
    for checkpoint in (None, 0, 10):
        made = Generated(program, leaves, ["y0", "k"], checkpoint=checkpoint)
        tracemalloc.start()
        made.run(leaves["y0"], leaves["k"])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert 160_000 < peaks[0] < 40 * 20_000
    assert peaks[1] < 40_000 and peaks[2] < 10_000


@family("name", ["euler", "break", "nested while", "newton", "swap", "array", "items"])
def test_products_with_the_hessian(name):
    values = {"k": 0.7, "y0": 2.0, "steps": 40, "w": np.array([0.3, -0.2, 0.9, 0.4])}
    program = prepare(PROGRAMS[name], "file")
    leaves = leaves_of({n: v for n, v in values.items() if program.takes(n)})
    by = [n for n, leaf in leaves.items() if leaf.requires_grad]
    along = [np.cos(np.arange(leaves[n].numel())).reshape(leaves[n].shape) for n in by]
    second = Generated(program, leaves, by, what="hvp")
    inputs = [leaves[n] for n in by]
    found = second.run(*inputs, *along)
    want = gradcli.autograd.functional.hessian(
        lambda *v: program.run({**leaves, **dict(zip(by, v, strict=True))}).value, tuple(inputs)
    )
    blocks = second.hessian(*inputs)
    blocks = ((blocks,),) if len(by) == 1 else blocks
    for row, wanted in zip(blocks, want, strict=True):
        same((0.0, row), (0.0, [h.numpy() for h in wanted]), 1e-12)
    value = program.run(leaves).value
    inputs = [leaves[n] for n in by]
    slopes = gradcli.autograd.grad(value, inputs, create_graph=True)
    total = sum((g * gradcli.tensor(t)).sum() for g, t in zip(slopes, along, strict=True))
    want = gradcli.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True)
    same(found, (value.item(), [h.numpy() for h in want]), 1e-12)
