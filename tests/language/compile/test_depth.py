"""How deep calls nest, and lists that are computed in place so that they do."""

from __future__ import annotations

import pytest

from gradcli.language.runtime.run import Limits, prepare
from gradcli.ops.errors import Fault
from tests.support.families import family

CALLS = {
    "plain": "def f(n): return 0 if n == 0 else f(n - 1)\n",
    "lambda": "f = lambda n: 0 if n == 0 else f(n - 1)\n",
    "keyword": "def f(n): return 0 if n == 0 else f(n=n - 1)\n",
    "and": "def f(n): return n == 0 or (1 and f(n - 1))\n",
    "in a call": "def f(n): return 0 if n == 0 else abs(max(0, f(n - 1)))\n",
    "with": "def f(n):\n    with no_grad():\n        return 0 if n == 0 else f(n - 1)\n",
    "f-string": "def f(n): return '' if n == 0 else f'{f(n - 1)}'\n",
    "loop": "def f(n):\n    for _ in range(1):\n        if n: f(n - 1)\n",
    "list": "def f(n): return [0 if n == 0 else f(n - 1) for _ in range(1)][0]\n",
    "condition of a list": "def f(n): return [i for i in [1] if n == 0 or f(n - 1)]\n",
    "list in a list": (
        "def f(n): return [[0 if n == 0 else f(n - 1) for _ in [1]] for _ in range(1)][0][0]\n"
    ),
    "list of two clauses": "def f(n): return [i for i in [1] for _ in [n and f(n - 1)]]\n",
    "list in a lambda": "f = lambda n: [0 if n == 0 else f(n - 1) for _ in range(1)]\n",
}
THROUGH = {
    "default": (
        "def f(n):\n    def g(m=0 if n == 0 else f(n - 1)): return m\n    return g()\nf({n})\n"
    ),
    "hook": (
        "def f(n):\n    with enable_grad(): y = tensor(1.0, requires_grad=True)*2\n"
        "    y.register_hook(lambda g: g if n == 0 else f(n - 1))\n    y.backward()\nf({n})\n"
    ),
    "hook of a node": (
        "def f(n):\n    with enable_grad(): y = tensor(1.0, requires_grad=True)*2\n"
        "    y.grad_fn.register_hook(lambda i, o: None if n == 0 else f(n - 1))\n"
        "    y.backward()\nf({n})\n"
    ),
    "Function": (
        "class F(Function):\n    @staticmethod\n"
        "    def forward(ctx, a, n): return a*2 if n == 0 else F.apply(a, n - 1)\n"
        "    @staticmethod\n    def backward(ctx, g): return g, None\n"
        "F.apply(tensor(1.0, requires_grad=True), {n})\n"
    ),
    "backward of a Function": (
        "class F(Function):\n    @staticmethod\n    def forward(ctx, a, n):\n        ctx.n = n\n"
        "        return a*2\n    @staticmethod\n    def backward(ctx, g):\n"
        "        with enable_grad():\n"
        "            if ctx.n: F.apply(tensor(1.0, requires_grad=True), ctx.n - 1).backward()\n"
        "        return g, None\nF.apply(tensor(1.0, requires_grad=True), {n}).backward()\n"
    ),
    "transform": (
        "import torch\ndef f(x, n):\n"
        "    return x*x if n == 0 else torch.func.grad(lambda y: f(y, n - 1))(x)\n"
        "f(torch.tensor(2.0), {n})\n"
    ),
    "list with a lambda": (
        "def f(n): return [(lambda: f(n - 1) if n else 0)() for _ in range(1)][0]\nf({n})\n"
    ),
}


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("depth", [500, 900])
def test_calls_nest_as_deep_as_is_said(text, depth):
    limits = Limits(depth=depth)
    prepare(f"{text}f({depth - 1})\n", "file").run({}, limits=limits)
    with pytest.raises(Fault, match=f"deeper than {depth}"):
        prepare(f"{text}f({depth})\n", "file").run({}, limits=limits)


@family("text", THROUGH.values())
def test_calls_through_gradcli_nest_80_deep(text):
    prepare(text.replace("{n}", "80"), "file").run({})
    with pytest.raises(Fault) as caught:
        prepare(text.replace("{n}", "3000"), "file").run({})
    assert caught.value.code == "E0606"


@family("text", [
        "i = 7\nf = lambda a: a + 1\nl = [f(i) for i in range(3)]\nprint(i, l)",
        "def f(a): return a\nprint([[f(i + j) for i in range(2)] for j in range(2)])",
        "def f(a): return a\nprint([f(i) for i in range(3) if f(i) for _ in range(i)])",
        "def f(a): return a\nfs = []\nfor k in range(2): fs += [lambda: i + f(k) for i in [k]]\n"
        "print([g() for g in fs])",
        "def f(a): return [f(i) for i in range(a)]\nprint(f(4))",
        "def f(i): return [f2(i) + i for i in [i, i + 1]]\nf2 = lambda i: i*10\nprint(f(2))",
        "f = lambda a: a\nprint([f(a) for a, (b, _) in [(1, (2, 3))]])",
        "f = lambda a: a\nl = [0]\nprint([f(l[0]) for l[0] in range(3)], l)",
        "f = lambda a: a\nprint([f(j) for i in range(2) for j in range(j)])",
        "f = lambda a: a\nx = 0\nwhile [f(i) for i in range(x)] != [0, 1]: x += 1\nprint(x)",
        "f = lambda a: a\nprint(1 and [f(i) for i in [1]] or 2, 0 and [f(1/0) for i in [1]])",
        "f = lambda a, b: (a, b)\nprint(f([f(i, i) for i in [1]], f(2, [f(i, 3) for i in [4]])))",
        "f = lambda a, l=[print(i) for i in [1]]: l\nprint(f(1))",
        "".join(f"{' ' * k}for a{k} in [1]:\n" for k in range(19))
        + " " * 19 + "print([[abs(f(a)) for a in [a18]] for _ in [1]])",
    ],
)  # fmt: skip
def test_lists_in_place_mean_what_they_mean_in_python(text):
    said, printed = [], []
    text = f"f = lambda a: a\n{text}"
    names = {
        "print": lambda *a: said.append(" ".join(map(str, a)) + "\n"),
        "abs": abs,
        "range": range,
    }
    failed = own = None
    try:
        exec(compile(text, "a", "exec"), names)
    except NameError:
        failed = "E0203"
    try:
        prepare(text, "file").run({}, write=printed.append)
    except Fault as fault:
        own = fault.code
    assert (printed and "".join(printed), own) == (said and "".join(said), failed)
