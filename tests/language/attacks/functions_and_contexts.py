"""What a stranger may try with Functions' further methods, and with what ``with`` takes.

As in ``targets``, ``x`` is a tensor of two numbers, and each ends in a Fault or, where it
is harmless here, in a value.
"""

from __future__ import annotations

_LEAF = "import torch\na = torch.tensor([1.5, 2.5], requires_grad=True)\n"


def _function(*methods: str, rule: str = "") -> str:
    """A program with a Function ``F`` of the methods given, one a line."""
    lines = [f"    {rule}", *(f"    @staticmethod\n    def {one}" for one in methods)]
    return f"{_LEAF}class F(torch.autograd.Function):\n" + "\n".join(lines[not rule :]) + "\n"


_FORWARD, _BACKWARD = "forward(x): return x*2", "backward(ctx, g): return g"
_SETUP = "setup_context(ctx, inputs, output): pass"


def _setup(body: str) -> str:
    return _function(_FORWARD, f"setup_context(ctx, inputs, output): {body}", _BACKWARD)


def _vmap(body: str) -> str:
    return _function(_FORWARD, _SETUP, _BACKWARD, f"vmap(info, dims, x): {body}") + (
        "torch.vmap(F.apply)(torch.ones(3, 2))\n"
    )


def _jvp(body: str) -> str:
    return _function("forward(ctx, x): return x*2", f"jvp(ctx, t): {body}") + (
        "torch.func.jvp(F.apply, (a,), (a,))\n"
    )


_CALLS = "F.apply(a).sum().backward()\n"
METHODS = [
    _setup("return ctx.__class__") + _CALLS, _setup("ctx.inputs = inputs") + _CALLS,
    _setup("inputs.append(3)") + _CALLS, _setup("ctx.save_for_backward(inputs)") + _CALLS,
    _setup("ctx.save_for_backward(output)") + _CALLS, _setup("ctx.me = [ctx]") + _CALLS,
    _setup("F.apply(inputs[0])") + _CALLS, _setup("output.add_(1)") + _CALLS,
    _setup("inputs[0].add_(1)") + _CALLS, _setup("[0 for i in range(10**12)]") + _CALLS,
    _setup("ctx.save_for_forward(3)") + _CALLS, _setup("ctx.vmap = ctx.jvp") + _CALLS,
    _setup("ones(10**10)") + _CALLS, _setup("pass") + "F.setup_context(1, 2, 3)\n",
    _setup("pass") + "F.vmap\n", _setup("pass") + "F.jvp = print\n",
    _setup("pass") + "F.apply(a, a)\n", _setup("pass") + "F.apply()\n",
    _function(_FORWARD, "setup_context(): pass", _BACKWARD) + _CALLS,
    _function("forward(x=a, *b): pass", _SETUP, _BACKWARD) + _CALLS,
    _function(_FORWARD, _SETUP, _BACKWARD, rule="generate_vmap_rule = __import__('os')") + _CALLS,
    _function(_FORWARD, _SETUP, _BACKWARD, rule="generate_vmap_rule = True; x = 1") + _CALLS,
    _function(_FORWARD, _SETUP, _BACKWARD, rule="generate_vmap_rule = True")
    + "F.generate_vmap_rule",
    _vmap("return x, 10**30"), _vmap("return x, -10**30"), _vmap("return x, 'a'"),
    _vmap("return x, 7"), _vmap("return x, [0]"), _vmap("return x, (0, 0)"), _vmap("return x"),
    _vmap("return x, 1.5"), _vmap("return 3, 0"), _vmap("return 'a', 0"), _vmap("return None, 0"),
    _vmap("return (x, x), 0"), _vmap("return (x, x), (0,)"), _vmap("return [x], 0"),
    _vmap("return x[0], 0"), _vmap("return info, 0"), _vmap("return info.__class__, 0"),
    _vmap("return info.count(3), 0"), _vmap("info.batch_size = 3"), _vmap("return dims, 0"),
    _vmap("return torch.vmap(F.apply)(x), 0"), _vmap("return F.apply(x), 0"),
    _vmap("return ones(10**10), 0"), _vmap("return x.expand(10**6, 3, 2)*1, 1"),
    _vmap("[0 for i in range(10**12)]"), _vmap("return x._replace(), 0"),
    _vmap("return F.vmap(info, dims, x), 0"), _vmap("print(info, dims); return x, 0"),
    _jvp("return ctx"), _jvp("return None"), _jvp("return 'a'"), _jvp("return 3.0"),
    _jvp("return (t, t, t)"), _jvp("return [t]"), _jvp("return t.expand(10**10, 2)*1"),
    _jvp("return torch.func.jvp(F.apply, (t,), (t,))[1]"), _jvp("return ctx.saved_tensors"),
    _jvp("return ones(7)"), _jvp("[0 for i in range(10**12)]"), _jvp("return t.__class__"),
    _jvp("return t") + "F.apply(a).sum().backward()\n", _jvp("return ctx.vmap"),
]  # fmt: skip

_G, _A, _F = "torch.autograd.graph.", "torch.autograd.", "import torch.autograd.forward_ad as d\n"


def _hooks(pack: str, unpack: str = "lambda t: t", body: str = "y = (a*a).sum()") -> str:
    """A program whose saved tensors go through two hooks, and a backward pass."""
    return f"{_LEAF}with {_G}saved_tensors_hooks({pack}, {unpack}): {body}\ny.backward()\n"


def _with(context: str, body: str = "pass") -> str:
    return f"{_LEAF}{_F}with {context}: {body}\n"


CONTEXTS = [
    _hooks("1"), _hooks("a"), _hooks("None"), _hooks("'a'"), _hooks("print"), _hooks("lambda: 0"),
    _hooks("lambda t: t.array"), _hooks("lambda t: t.__class__"), _hooks("lambda t: 'a'"),
    _hooks("lambda t: t", "1"), _hooks("lambda t: t", "print"), _hooks("lambda t: t", "lambda: 0"),
    _hooks("lambda t: t", "lambda t: t.sum()"), _hooks("lambda t: t", "lambda t: ones(10**10)"),
    _hooks("lambda t: t", "lambda t: ones(7)"), _hooks("lambda t: t", "lambda t: [t]"),
    _hooks("lambda t: t", "lambda t: t.long()"), _hooks("lambda t: t", "lambda t: t.bool()"),
    _hooks("lambda t: [0 for i in range(10**12)]"), _hooks("lambda t: [0]*10**12"),
    _hooks("lambda t: t", "lambda t: [0 for i in range(10**12)]"), _hooks("lambda t: t.add_(1)"),
    _hooks("lambda t: t", "lambda t: (t*t).sum().backward() or t"), _hooks("lambda t: t.fill_(0)"),
    _hooks("lambda t: t", "lambda t: y.backward() or t"), _hooks("lambda t: t.resize_(10**10)"),
    _hooks("lambda t: t.backward()"), _hooks("lambda t: t.requires_grad_()"),
    _hooks("lambda t: t", "lambda t: y.backward(retain_graph=True) or t"),
    _hooks("lambda t: t", body="while True: y = (a*a).sum()"),
    _hooks("lambda t: t.tolist()", "torch.tensor", "y = (a*a).sum()"),
    _hooks("torch.tensor", "torch.tensor"), _hooks("torch.ones", "torch.ones"),
    _hooks("lambda t: t.expand(10**5, 2)*1", "lambda t: t[0]"), _hooks("a.register_hook"),
    f"{_LEAF}def p(t):\n    with torch.enable_grad(): (t*t).sum()\n    return t\n"
    f"with {_G}saved_tensors_hooks(p, p): y = (a*a).sum()\ny.backward()",
    f"{_LEAF}def p(t):\n    with {_G}saved_tensors_hooks(p, p): t.requires_grad_()*t\n"
    "    return t\n"
    f"with {_G}saved_tensors_hooks(p, p): y = (a*a).sum()\ny.backward()",
    f"{_LEAF}h = {_G}saved_tensors_hooks(lambda t: t, lambda t: t)\n"
    "def f():\n    with h: f()\nf()",
    f"{_LEAF}h = {_G}saved_tensors_hooks\nwhile True:\n    with h(print, print): pass",
    _with(f"{_G}saved_tensors_hooks"), _with(f"{_G}saved_tensors_hooks()"),
    _with(f"{_G}saved_tensors_hooks(print, print) as h", "h.hooks"),
    _with(f"{_G}saved_tensors_hooks(print, print) as h", "print(h)"),
    _with(f"{_G}disable_saved_tensors_hooks(a)"), _with(f"{_G}disable_saved_tensors_hooks()"),
    _with(f"{_G}disable_saved_tensors_hooks('{{0.__class__}}')", f"{_G}save_on_cpu()"),
    f"{_LEAF}f = {_G}disable_saved_tensors_hooks('m')(print)\nf(f, a)\nf.__wrapped__",
    f"{_LEAF}f = {_G}disable_saved_tensors_hooks('m')(3)\nf(f, a)",
    f"{_LEAF}f = {_G}disable_saved_tensors_hooks('m')(a)\nf()",
    _with(f"{_G}disable_saved_tensors_hooks('m')", "while True: pass"),
    _with(f"{_G}save_on_cpu(a, a)", "y = a*a"), _with(f"{_G}save_on_cpu().__enter__()"),
    _with(f"{_G}allow_mutation_on_saved_tensors() as m", "m.clear(); m.hooks"),
    _with(f"{_G}allow_mutation_on_saved_tensors()", "while True: a = a*a"),
    _with(f"{_A}detect_anomaly", "pass"), _with(f"{_A}detect_anomaly(a)", "(a*a).sum().backward()"),
    _with(f"{_A}detect_anomaly(print)", "(a*a).sum().backward()"),
    _with(f"{_A}detect_anomaly()", "(torch.sqrt(a*0)*0).sum().backward()"),
    _with(f"{_A}detect_anomaly().looker"), _with(f"{_A}detect_anomaly() as x", "x.looker"),
    _with(f"{_A}set_detect_anomaly('a')"), f"{_LEAF}{_A}set_detect_anomaly(True)\nwhile True: a*a",
    f"{_LEAF}{_A}set_detect_anomaly(a, a)", f"{_LEAF}while True: {_A}set_detect_anomaly(True)",
    _with("d.dual_level", "pass"), _with("d.dual_level()", "d.enter_dual_level()"),
    _with("d.dual_level() as n", "n.x"), _with("d.dual_level(), d.dual_level()"),
    _with("d.dual_level()", "d.exit_dual_level()"), f"{_F}d.exit_dual_level()",
    f"{_F}d.exit_dual_level(level='a')", f"{_F}d.enter_dual_level()\nwhile True: pass",
    _with("d.dual_level()", "d.make_dual(1, 2)"), _with("d.dual_level()", "d.make_dual('a', 'b')"),
    _with("d.dual_level()", "d.make_dual(a, print)"),
    _with("d.dual_level()", "d.unpack_dual(print)"),
    _with("d.dual_level()", "d.make_dual(a, a).tangent"), _with("d.dual_level()", "d.leave()"),
    _with("d.dual_level()", "d.make_dual(a, a).primal"), _with("d.dual_level()", "d.levels()"),
    _with("d.dual_level()", "d.make_dual(a, a).__class__"),
    _with("d.dual_level()", "d.unpack_dual(d.make_dual(a, a)).count(a)"),
    _with("d.dual_level()", "d.unpack_dual(d.make_dual(a, a)).tangent.array"),
    _with("d.dual_level()", "d.make_dual(a, torch.ones(7))"),
    _with("d.dual_level()", "d.make_dual(a, a).expand(10**10, 2)*1"),
    _with("d.dual_level()", "d.make_dual(a, d.make_dual(a, a)).sin().sum()"),
    _with("d.dual_level()", "a.register_hook(lambda g: d.make_dual(g, g)); (a*a).sum().backward()"),
    "import torch.autograd.forward_ad as d\nwith d.dual_level():\n    e = d.make_dual(x, x)\n"
    "    while True: e = e*e",
    "from torch import ones as no_grad\nwith no_grad(3): pass", "with [no_grad()]: pass",
    "from torch import tensor as no_grad\nwith no_grad: pass", "with (lambda: no_grad())(): pass",
    "def no_grad(): return x\nwith no_grad(): pass", "no_grad = 3\nwith no_grad: pass",
    "h = x.register_hook(print)\nwith h, h, h: pass\nh.hooks", "with x.register_hook(print): while",
    "with x.register_hook(print) as h: h.remove()\nh.number", "with print: pass", "with 'a': pass",
    "with None: pass", "with no_grad: pass", "n = no_grad\nwith n: pass", "with n: pass",
    "n = no_grad()\nwith n, n, n: pass\nn.previous", "with sin: pass", "with sin(1): pass",
    "n = no_grad()\ndef f():\n    with n: f()\nf()", "with ...: pass", "with x.T.sum: pass",
]  # fmt: skip

_R = f"{_LEAF}g = torch.Generator()\n"
_STATE = "import torch\ns = torch.get_rng_state()\n"
_SETS = ("torch.set_rng_state(s)\ntorch.rand(3)",
         "g = torch.Generator().set_state(s)\ntorch.rand(3, generator=g)")  # fmt: skip
_C = f"{_LEAF}from torch.utils.checkpoint import checkpoint_sequential as c\n"
DRAWN = [
    f"{_STATE}s[{place}] = {byte}\n{use}"
    for place, byte in ((2496, 255), (2497, 255), (2498, 255), (2503, 255), (2503, 128))
    for use in _SETS
]
DRAWN += [
    f"{_STATE}s[:2496] = 0\ntorch.set_rng_state(s)\ntorch.{call}"
    for call in ("randn(3)", "randn(3, 100)", "randperm(9)", "randint(0, 9, (9,))",
                 "multinomial(torch.ones(9), 9)", "bernoulli(torch.ones(9)/2)",
                 "ones(3).exponential_()", "normal(0.0, 1.0, (40,))", "ones(3).random_()")
] + [
    _R + "torch.rand(3, generator=a)", _R + "torch.rand(3, generator='a')", _R + "g.bits",
    _R + "torch.rand(3, generator=g.bits)", _R + "torch.rand(3, generator=print)", _R + "g()",
    _R + "torch.rand(10**10, generator=g)", _R + "g.manual_seed('a')", _R + "g.started = 3",
    _R + "g.manual_seed(10**1000)\ng.get_state()", _R + "g.manual_seed(-1)\ntorch.rand(1)",
    _R + "g.manual_seed(a)", _R + "g.manual_seed()", _R + "g.set_state(a)", _R + "g.waiting",
    _R + "g.set_state('a')", _R + "g.set_state(g)", _R + "g.set_state([0]*2520)", _R + "print(g)",
    _R + "g.manual_seed.__self__", _R + "while True: g.seed()", _R + "while True: g.get_state()",
    _R + "g.set_state(torch.zeros(2520, dtype=torch.uint8))\ntorch.randn(9, generator=g)",
    _R + "g.set_state(g.get_state().T[None])", f"{_LEAF}torch.Generator('cuda')", _R + "g.words(9)",
    f"{_LEAF}torch.Generator(device=a)", f"{_LEAF}torch.Generator(seed=3)", _R + "g.uniform(9, 1)",
    "s = x.untyped_storage()\ns.array", "x.untyped_storage().data_ptr()", "x.untyped_storage()[0]",
    "print(x.untyped_storage())", "for i in x.untyped_storage(): pass", "len(x.untyped_storage())",
    "x.untyped_storage().resize_(10**10)", "x.expand(10**9, 2).untyped_storage().nbytes()",
    _C + "c([torch.sin]*10**6, 2, a)", _C + "while True: c([torch.sin]*1000, 1, a)",
    _C + "c([torch.sin], 0, a)", _C + "c([torch.sin], 10**30, a)", _C + "c([torch.sin], 'a', a)",
    _C + "c([1, 2], 2, a)", _C + "c([a], 1, a)", _C + "c([], 1, a)", _C + "c(torch.sin, 1, a)",
    _C + "c([torch.sin, c], 1, a)", _C + "c([lambda t: [t]]*3, 2, a)", _C + "c(a, 1, a)",
    _C + "c([lambda t: c([torch.sin], 1, t)]*3, 3, a).sum().backward()",
    _C + "f = lambda t: c([f], 1, t)\nf(a)", _C + "c([print]*9, 3, a)", _C + "c([c]*9, 3, a)",
    _C + "c([lambda t: t.expand(10**5, 2)*1]*9, 3, a)", _C + "c([lambda: 0], 1, a)",
    _C + "c([lambda t: ones(10**10)], 1, a)", _C + "c([lambda t, u: t], 1, a, use_reentrant='a')",
]  # fmt: skip

HELD = {"methods of a Function": METHODS, "contexts": CONTEXTS, "drawn": DRAWN}
