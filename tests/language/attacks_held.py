"""What a stranger may try with what a program holds on to: the further methods of a Function.

As in ``attacks_outside``, ``x`` is a tensor of two numbers, and each ends in a Fault or, where it
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

HELD = {"methods of a Function": METHODS}
