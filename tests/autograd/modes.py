"""Cells on forward mode, checkpoints inside one another, and modes around a backward pass.

They run as those of corners.py do.
"""

# ruff: noqa: E402, F811

import torch

# %% checkpoints inside gradients inside checkpoints
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop


def slope(function):
    return lambda x: torch.autograd.grad(function(x), x, create_graph=True)[0]


def kept_short(function):
    return lambda x: checkpoint(function, x, use_reentrant=False)


def run(x):
    return x.sin().exp().sin()


x = torch.tensor(0.3, requires_grad=True, dtype=torch.float64)
for early in (True, False):
    with set_checkpoint_early_stop(early):
        for function in (
            slope(kept_short(slope(kept_short(run)))),
            kept_short(slope(slope(kept_short(run)))),
            slope(kept_short(slope(kept_short(slope(kept_short(run)))))),
        ):
            y = function(x)
            print(y, torch.autograd.grad(y, x))

# %% a checkpoint lets go of its graph
import gc
import weakref

from torch.utils.checkpoint import checkpoint


class Mark:
    pass


def marked():
    a = torch.tensor(0.7, requires_grad=True)
    out = checkpoint(lambda x: x.sin().exp(), a, use_reentrant=False)
    torch.autograd.grad(out, a, create_graph=True)
    mark = Mark()
    out.grad_fn.metadata["mark"] = mark
    return weakref.ref(mark)


gc.disable()
print(marked()() is None)
gc.enable()

# %% hooks of several tensors where a pass reaches some of them
a, b, c = (torch.ones(2, requires_grad=True).mul(k) for k in (1, 2, 3))
seen = []
handle = torch.autograd.graph.register_multi_grad_hook(
    (a, b, c), lambda gs: seen.append([g is not None for g in gs])
)
out = (b * c).sum()
for inputs in ((b, c), (a,), (a, c)):
    torch.autograd.grad(out, inputs, retain_graph=True, allow_unused=True)
    print(inputs[0] is a, seen)

# %% a dual shares memory with what it was made of
import torch.autograd.forward_ad as fw

x, t = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0])
with fw.dual_level():
    dual = fw.make_dual(x, t)
    dual *= 2
    print(x, t, fw.unpack_dual(dual).tangent is t, fw.unpack_dual(dual).primal is x)
    with torch.inference_mode():
        print(fw.unpack_dual(dual), fw.unpack_dual(dual * 2))
    copy = dual.clone()
    copy.detach_()
    print(fw.unpack_dual(copy), fw.unpack_dual(copy * 3))
    for refused in (
        lambda: fw.make_dual(x, dual),
        lambda: fw.make_dual(x, t, level=1),
        lambda: fw.unpack_dual(3),
    ):
        try:
            refused()
        except (RuntimeError, TypeError) as fault:
            print(type(fault).__name__)
    print(dual.sum())

# %% powers and tables of real and complex numbers
r = torch.tensor([-0.7, 0.4], dtype=torch.float64, requires_grad=True)
c = torch.tensor([0.3 + 0.2j, -0.6 + 0.9j], dtype=torch.complex128, requires_grad=True)
for function in (torch.pow, torch.outer, lambda r, c: torch.pow(-0.7, c) * r):
    for pair in ((r, c), (c, r)):
        if function is torch.pow or pair[0] is r:
            y = function(*pair)
            w = torch.linspace(0.5, 1.5, y.numel(), dtype=torch.float64).reshape(y.shape) * (1 + 1j)
            print([g.detach() for g in torch.autograd.grad(y, (r, c), w, create_graph=True)])
print(torch.ldexp(r.detach(), c.detach()), torch.ldexp(r.detach().float(), r.detach()).dtype)
for refused in (
    lambda: r.detach().index_put((torch.tensor([0]),), c[:1]),
    lambda: r.index_put((torch.tensor([0]),), torch.tensor([1])),
    lambda: torch.polar(r, c),
    lambda: torch.polar(r, r.float()),
):
    try:
        print(refused())
    except RuntimeError as fault:
        print(fault)

# %% gradients of functions that are linear between their kinks lead to the input
F = torch.nn.functional
x = torch.tensor([[-1.3, 0.4, 2.2, 0.9]], requires_grad=True)
w = torch.tensor([[0.5, 1.0, -1.0, 2.0]], requires_grad=True)
for function in (
    F.relu, F.relu6, F.leaky_relu, F.hardtanh, F.hardshrink, F.softshrink,
    lambda x: F.threshold(x, 0.1, 0.5), lambda x: F.max_pool1d(x, 2), lambda x: F.avg_pool1d(x, 2),
    lambda x: F.max_pool2d(x[None], (1, 2)), lambda x: F.nll_loss(x, torch.tensor([1])),
    lambda x: F.hardtanh(x, -2.0, 0.5), lambda x: F.prelu(x, torch.tensor([0.2])),
    lambda x: x.clamp(-1, 1), lambda x: F.relu(x * w),
):  # fmt: skip
    (g,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    print(g.requires_grad, end=" ")
    if g.requires_grad:
        print(torch.autograd.grad((g * g).sum(), x, retain_graph=True)[0] + 0)
        x.grad = None
        g.sum().backward()
        print(x.grad + 0, w.grad)

y = F.hardtanh(x) * w
z = y.relu()
(g,) = torch.autograd.grad(z.sum(), x, create_graph=True)
for ends in ((x, w), (y,), (z,)):
    print(torch.autograd.grad(g.sum(), ends, allow_unused=True, retain_graph=True))

layer = torch.nn.Linear(4, 2)
with torch.no_grad():
    for p in layer.parameters():
        p.copy_(torch.linspace(-0.5, 0.7, p.numel()).reshape(p.shape))
(g,) = torch.autograd.grad(layer(x).relu().sum(), x, create_graph=True)
g.norm().backward()
print(layer.weight.grad, layer.bias.grad)
print(torch.autograd.functional.hessian(lambda x: layer(x).relu().sum(), x))

# %% writing to what a graph saved
allowed = torch.autograd.graph.allow_mutation_on_saved_tensors
x = torch.tensor([0.5, 2.0], requires_grad=True)
with allowed():
    y = x.clone()
    out = (y**2).sum()
    y.sin_()
    out.backward()
    later = (y**2).sum()
    try:
        with allowed():
            pass
    except RuntimeError as fault:
        print(fault)
print(x.grad)
for context in (allowed(), torch.enable_grad()):
    try:
        with context:
            later.backward()
    except AssertionError as fault:
        print("refused", str(fault)[:30])
x = torch.ones(1)
x.resize_(1, 2).resize_(1, 2)
x.resize_as_(torch.ones(3))
print(x._version)

# %% jacobians of complex numbers by forward mode
jacobian = torch.autograd.functional.jacobian
c = torch.tensor([0.5 + 1j, -2.0 + 0.25j])
for function, point in ((lambda x: x * x, c), (torch.abs, c), (lambda x: x * (1 + 2j), c.real)):
    print(jacobian(function, point, vectorize=True, strategy="forward-mode"))

# %% data and detach_ inside nested transforms leave the innermost graph alone
F = torch.func


def by_data(x):
    return x.data * x


def by_detaching(x):
    return (x * x).detach_() * x


def summed(function):
    return lambda x: function(x).sum()


x, v = torch.tensor([0.5, -2.0]), torch.tensor([1.0, 3.0])
for f in (by_data, by_detaching):
    print(F.grad(summed(f))(x), F.jvp(f, (x,), (v,)))
    print(F.grad(summed(F.grad(summed(f))))(x), F.hessian(summed(f))(x) + 0)
    print(F.jvp(F.grad(summed(f)), (x,), (v,)), F.vmap(F.grad(f))(x))
    print(F.jvp(lambda x, f=f: F.jvp(f, (x,), (v,))[1], (x,), (v,)))
    a = x.clone().requires_grad_()
    print(torch.autograd.grad(F.grad(summed(f))(a).sum(), a, allow_unused=True, retain_graph=True))


def mutated(x):
    y = x * 1
    y.data = y.data * 2
    return y.sum()


for transform in (F.grad, F.jacfwd, F.vmap):
    try:
        transform(mutated)(torch.ones(2))
    except RuntimeError:
        print("refused")

# %% entries that are read where others of them are written
for write in (
    lambda x: x.__setitem__(slice(1, 3), x[:2]),
    lambda x: x.__setitem__(slice(1, 5), x[0]),
    lambda x: x.__setitem__(slice(0, 3), x[3:]),
    lambda x: x.__setitem__(slice(None), x.flip(0)),
    lambda x: x.view(2, 3).t().__setitem__(..., x.view(3, 2)),
    lambda x: x.view(3, 2).__setitem__(slice(0, 2), x[:2]),
):
    x = torch.arange(6.0)
    try:
        write(x)
        print(x)
    except RuntimeError:
        print("refused")

# %% a tangent that lies otherwise than its primal is copied before it is written to
import torch.autograd.forward_ad as fwAD

for primal in (
    torch.arange(4.0), torch.arange(5.0)[:4], torch.arange(5.0)[:4].detach(),
    torch.arange(8.0)[::2].detach(), torch.arange(4.0).detach(),
):  # fmt: skip
    tangent = torch.ones(4)
    with fwAD.dual_level():
        seen = fwAD.unpack_dual(fwAD.make_dual(primal, tangent)).tangent
        seen *= 2
    print(tangent, seen)

# %% the spread of too few entries is inf, or NaN, and so is its slope
for shape in ((2, 3), (1, 1)):
    for spread in (torch.var, torch.std, lambda *a, **k: torch.var_mean(*a, **k)[0]):
        for dim, correction in ((None, 6), (None, 7.5), (0, 2), ((0, 1), 6), (None, 1)):
            x = torch.arange(6.0)[: shape[0] * shape[1]].reshape(shape).requires_grad_()
            y = spread(x, dim, correction=correction)
            print(y.detach(), *torch.autograd.grad(y.sum(), x))
            batch = torch.stack([x, 2 * x]).detach()
            slopes = torch.func.vmap(
                torch.func.grad(lambda v: spread(v, dim, correction=correction).sum())  # noqa: B023
            )(batch)
            print(slopes)

# %% writes to what relu and rsqrt were given, and to what they gave
for f in (torch.relu, torch.rsqrt):
    for of_result in (False, True):
        x = torch.tensor([1.0, 4.0], requires_grad=True)
        y = x * 1
        z = f(y)
        (z if of_result else y).add_(1)
        try:
            print(torch.autograd.grad(z.sum(), x))
        except RuntimeError as fault:
            print(type(fault).__name__)

# %% what PyTorch refuses inside vmap, and what it does not: own arguments turned, graphs below
square = [[1.0, 2.0], [3.0, 4.0]]
for turn in ("t_", "squeeze_", "unsqueeze_", "mul_"):

    def turned(v, turn=turn):
        getattr(v, turn)(*{"unsqueeze_": (0,), "mul_": (2,)}.get(turn, ()))
        return (v**3).sum()

    for run in (
        torch.func.vmap(torch.func.grad(turned)), torch.func.hessian(turned),
        torch.func.vmap(torch.func.jacrev(turned)), torch.func.vmap(turned), turned,
        torch.func.grad(lambda b: torch.func.vmap(turned)(b).sum()),
    ):  # fmt: skip
        try:
            print(
                run(torch.tensor([square, square]) if run is not turned else torch.tensor(square))
            )
        except RuntimeError as fault:
            print(type(fault).__name__)
w = torch.tensor([1.0, 2.0], requires_grad=True)
for asked in (
    lambda r: torch.autograd.grad((w * r).sum(), w)[0],
    lambda g: torch.autograd.grad(w * w, w, g)[0],
    lambda r: torch.autograd.grad((r * r).sum(), r)[0],
):  # fmt: skip
    try:
        print(torch.func.vmap(asked)(torch.tensor(square, requires_grad=True)))
    except RuntimeError as fault:
        print(type(fault).__name__)

# %% buffers that a function lends to a module are its own, unless it captures them
square = [[1.0, 2.0], [3.0, 4.0]]
norm = torch.nn.BatchNorm1d(2)
held = dict(norm.named_buffers())
for buffers in (lambda: {k: v.clone() for k, v in held.items()}, lambda: held):

    def normed(v, buffers=buffers):
        return (torch.func.functional_call(norm, buffers(), (v,)) * v).sum()

    try:
        print(torch.func.grad(normed)(torch.tensor(square)))
    except RuntimeError as fault:
        print(type(fault).__name__)

# %% a quotient rounded towards 0 has a slope of 0 wherever it is
x = torch.tensor([1.0, 0.0, 3.0, -2.0], requires_grad=True, dtype=torch.float64)
y = torch.tensor([1e-200, 0.0, 2.0, 1e-310], requires_grad=True, dtype=torch.float64)
print(torch.autograd.grad(torch.div(x, y, rounding_mode="trunc").sum(), (x, y)))
print(torch.autograd.grad(torch.nextafter(x, torch.tensor(3.0).double()).sum(), x))

# %% a custom function asks the gradient mode alone, and has a node in inference mode too


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.inference_mode():
    print(Twice.apply(x).requires_grad)
    with torch.enable_grad():
        y = Twice.apply(x)
        print(y.requires_grad, y.is_inference(), y.is_leaf, (y * 2).requires_grad)
print((y * 1).requires_grad)
y.backward(torch.ones(2))
print(x.grad)

# %% the gradient mode inside inference mode says what it was set to, and records nothing
x = torch.ones(2, requires_grad=True)
with torch.inference_mode():
    for switch in (torch.enable_grad(), torch.no_grad(), torch.set_grad_enabled(True)):
        with switch:
            y = x * 2
            print(torch.is_grad_enabled(), y.requires_grad, y.is_inference())
            with torch.inference_mode(False):
                y = x * 2
                print(torch.is_grad_enabled(), y.requires_grad, y.is_inference())
    torch.set_grad_enabled(True)
    print(torch.is_grad_enabled(), (x * 2).requires_grad)
print(torch.is_grad_enabled(), (x * 2).requires_grad)
