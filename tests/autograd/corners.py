"""Cells on corners of autograd: hooks, custom functions, views, edges, checkpoints.

As in tests/behaviours/cells, a cell starts at a line ``# %% name`` and prints under gradcli what it
prints under PyTorch (tests/oracles/record_behaviours.py). The language does not run these.
"""

# ruff: noqa: B023, E402

import torch


# %% a function runs where no gradient arrives
class Nothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return None


class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, a, b):
        print("Two", a, b)
        return a * 2 + b * 3


x = torch.ones(2, requires_grad=True)
Nothing.apply(Two.apply(x)[0]).sum().backward()
print(x.grad)
print(torch.autograd.grad(Nothing.apply(x).sum(), x, allow_unused=True))


# %% hooks see None
class Nothing(torch.autograd.Function):
    forward = staticmethod(lambda ctx, x: x * 2)
    backward = staticmethod(lambda ctx, g: None)


x = torch.ones(2, requires_grad=True)
y = x * 2
end = y.grad_fn.next_functions[0][0]
x.register_hook(lambda g: print("x", g))
y.register_hook(lambda g: print("y", g))
y.grad_fn.register_prehook(lambda g: print("before", g))
y.grad_fn.register_hook(lambda i, o: print("after", i, o))
end.register_prehook(lambda g: print("before the leaf", g))
x.register_post_accumulate_grad_hook(lambda t: print("accumulated", t.grad))
Nothing.apply(y).sum().backward()


# %% hooks of several outputs
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, a, b):
        return a * 2 + b * 3


x = torch.ones(2, requires_grad=True)
a, b = Two.apply(x)
b.register_hook(lambda g: print("b", g))
a.register_hook(lambda g: print("a", g))
a.retain_grad()
a.grad_fn.register_prehook(lambda gs: print("before", gs))
a.grad_fn.register_hook(lambda i, o: print("after", i, o))
(a + b).sum().backward(retain_graph=True)
print(a.grad)
print(torch.autograd.grad((a + b).sum(), (a, b), retain_graph=True))
print(torch.autograd.grad((2 * b).sum(), (a, x), retain_graph=True, allow_unused=True))
(2 * b).sum().backward(inputs=(a,))
print(a.grad, x.grad)

# %% what is captured and what hooks change
x = torch.ones(2, requires_grad=True)
y = x * 2
z = y * 2
y.register_hook(lambda g: g * 3)
y.grad_fn.register_prehook(lambda gs: (gs[0] * 7,))
print(torch.autograd.grad(z.sum(), (x, y), retain_graph=True))
print(torch.autograd.grad(z.sum(), (y,), retain_graph=True))
z.sum().backward(inputs=(y,), retain_graph=True)
print(y.grad, x.grad, y.retains_grad)
z.sum().backward()
print(y.grad, x.grad)

# %% what hooks may not give back
x = torch.ones(2, requires_grad=True)
for bad in (3, (torch.ones(2),), torch.ones(3), torch.ones(2, dtype=torch.double)):
    for register in ("tensor", "before", "after"):
        y = x * 2
        if register == "tensor":
            y.register_hook(lambda g: bad)
        elif register == "before":
            y.grad_fn.register_prehook(lambda gs: bad)
        else:
            y.grad_fn.register_hook(lambda i, o: bad)
        try:
            y.sum().backward()
        except (RuntimeError, TypeError) as error:
            print(register, type(error).__name__)

# %% hooks of a leaf in order
x = torch.ones(2, requires_grad=True)
end = x.view_as(x).grad_fn.next_functions[0][0]


def half(t):
    t.grad.add_(0.5)


def ten(i, o):
    x.grad = o[0].mul(10)


x.register_hook(lambda g: g.sub(2.0))
end.register_prehook(lambda g: (g[0].div(5.0),))
x.register_post_accumulate_grad_hook(half)
end.register_hook(ten)
x.sum().backward()
print(x.grad)
y = torch.ones(2, requires_grad=True)
y.register_post_accumulate_grad_hook(lambda t: t.grad)
try:
    y.sum().backward()
except RuntimeError as error:
    print(error)

# %% a kept gradient follows writes
base = torch.tensor([1.0], requires_grad=True).clone()
a, b = base[:], base[:]
a.retain_grad()
b.retain_grad()
a.mul_(2)
(a + b).sum().backward()
print(a.grad, b.grad)

# %% differentiable once
from torch.autograd.function import once_differentiable


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k, y):
        ctx.save_for_backward(x, y)
        return x * x + y * y

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return 2 * x * g, None, 2 * y * g


x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
w = torch.ones(2, requires_grad=True)
gx, gy = torch.autograd.grad(Square.apply(x, 3, y), (x, y), w, create_graph=True)
print(type(gx.grad_fn).__name__, len(gx.grad_fn.next_functions))
try:
    gx.sum().backward()
except RuntimeError as error:
    print("once_differentiable" in str(error))

# %% outputs that are not differentiable
for zeros in (True, False):

    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            a, b = x.clone(), x.clone()
            ctx.mark_non_differentiable(b)
            ctx._materialize_non_diff_grads = zeros
            return a, b

        @staticmethod
        def backward(ctx, a, b):
            print(a, b)
            return a

    x = torch.tensor(1.0, requires_grad=True)
    Pair.apply(x)[0].backward()


# %% arguments by name
class Power(torch.autograd.Function):
    @staticmethod
    def forward(x, y=3):
        return torch.pow(x, y)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.y = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.y * torch.pow(x, ctx.y - 1), None


x = torch.tensor(2.0, requires_grad=True)
print(torch.autograd.grad(Power.apply(x), x), torch.autograd.grad(Power.apply(x, y=2), x))


class Weighted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, factor=2):
        ctx.factor = factor
        return x * factor + y * 3

    @staticmethod
    def backward(ctx, g):
        print(ctx.needs_input_grad)
        return (g * ctx.factor, g * 3, None)[: len(ctx.needs_input_grad)]


y = torch.tensor(5.0, requires_grad=True)
for args, options in (
    ((x,), {"y": y}),
    ((), {"factor": 6, "y": y, "x": x}),
    ((x, y), {"factor": 3}),
):
    print(torch.autograd.grad(Weighted.apply(*args, **options), x))
for args, options in (
    ((x, y), {"z": 1}),
    ((x,), {"x": y}),
    ((), {"y": y}),
    ((x,), {"factor": 2}),
    ((x,), {"ctx": 1}),
):
    try:
        print(Weighted.apply(*args, **options))
    except TypeError as error:
        print(error)

# %% gradients by name
x = torch.tensor([1.0, 2.0], requires_grad=True)
u = torch.tensor([3.0], requires_grad=True)
print(torch.autograd.grad((x * x).sum(), {"x": x}), torch.autograd.grad((x * x).sum(), {0: x}))
print(torch.autograd.grad((x * x).sum(), {"x": x, "u": u}, allow_unused=True))
print(torch.autograd.grad(x * x, {"x": x}, torch.ones(2, 2), is_grads_batched=True))
(x * x * u).sum().backward(inputs={"x": x})
print(x.grad, u.grad)
y = x * x
places = {
    0: torch.autograd.graph.get_gradient_edge(x),
    1: torch.autograd.graph.get_gradient_edge(y),
}
print(torch.vmap(lambda v: torch.autograd.grad(y * 1, places, v, retain_graph=True))(torch.eye(2)))
for inputs in ({}, {"x": x, "u": u}, {"x": torch.ones(2)}):
    try:
        torch.autograd.grad((x * x).sum(), inputs)
    except RuntimeError as error:
        print(error)

# %% gradients in one list
from torch.autograd.function import once_differentiable


class Boxed(torch.autograd.Function):
    boxed_grads_call = True

    @staticmethod
    def forward(ctx, x, y):
        return x * 2, y * 3

    @staticmethod
    def backward(ctx, gs):
        print(gs)
        b, a = gs.pop(), gs.pop()
        return a * 2, b * 3


x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
a, b = Boxed.apply(x, y)
torch.autograd.backward([a.sum(), b.sum()])
print(x.grad, y.grad, torch.autograd.Function.boxed_grads_call)
a, b = Boxed.apply(x, y)
print(torch.autograd.grad(a.sum(), (x, y)), a.grad_fn.apply(torch.ones(2), torch.ones(2)))


class BoxedOnce(Boxed):
    backward = staticmethod(once_differentiable(Boxed.backward))


print(torch.autograd.grad(BoxedOnce.apply(x, y)[1].sum(), y))


# %% both names of backward, and none
class Both(torch.autograd.Function):
    forward = staticmethod(lambda ctx, x: x.clone())
    backward = staticmethod(lambda ctx, g: g)
    vjp = staticmethod(lambda ctx, g: g)


class Neither(torch.autograd.Function):
    forward = staticmethod(lambda ctx, x: x.clone())


for function in (Both, Neither):
    try:
        function.apply(torch.ones(1, requires_grad=True)).sum().backward()
    except (RuntimeError, NotImplementedError) as error:
        print(type(error).__name__, str(error)[:40])


# %% marked dirty
class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x if x.dim() else x.clone().view_as(x)
        out.add_(1)
        ctx.mark_dirty(out)
        return out

    @staticmethod
    def backward(ctx, g):
        return g


leaf = torch.tensor([1.0, 2.0], requires_grad=True)
for x in (leaf.split(1)[0], leaf.view_as(leaf), leaf, leaf.sum()):
    try:
        Dirty.apply(x)
    except RuntimeError as error:
        print(str(error)[:30])
y = leaf * 1
print(Dirty.apply(y) is y, y._version)


# %% views that functions return
class View(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, pure=False):
        ctx._is_pure_view = pure
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        print("called")
        return g, None


b = torch.ones(1, requires_grad=True)
for base in (torch.ones(2), torch.ones(2, requires_grad=True) * 1):
    v = View.apply(base)
    try:
        v += b
    except RuntimeError as error:
        print("created inside a custom Function" in str(error))
x = torch.ones(2, requires_grad=True)
v = View.apply(x * 1, True)
v += b
v.sum().backward()
print(x.grad, b.grad)
with torch.no_grad():
    v = View.apply(x)
print(v.requires_grad, v.grad_fn)
v = torch.ones(1, 2).unbind()[0]
try:
    v.copy_(b)
except RuntimeError as error:
    print("returns multiple views" in str(error))

# %% forms in place that turn a tensor
for name, args in (
    ("t_", ()),
    ("transpose_", (0, 1)),
    ("unsqueeze_", (0,)),
    ("squeeze_", (0,)),
    ("as_strided_", ((2,), (1,), 1)),
):
    x = torch.arange(3.0).reshape(1, 3).requires_grad_()
    y = x * 2
    turned = getattr(y, name)(*args)
    print(name, turned is y, y.shape, y._version, type(y.grad_fn).__name__)
    (y * torch.arange(1.0, y.numel() + 1).reshape(y.shape)).sum().backward()
    print(x.grad)
    for view in (x.view_as(x), (x * 1).unbind()[0]):
        try:
            getattr(view, name)(*args)
        except RuntimeError as error:
            print(str(error)[:20])

# %% places in the graph
from torch.autograd.graph import GradientEdge, get_gradient_edge

x = torch.tensor([1.0, 2.0], requires_grad=True)
t = x.sin()
edge = get_gradient_edge(t)
out = t.exp().sum()
(g,) = torch.autograd.grad(out, edge, retain_graph=True)
print(g, torch.autograd.grad(edge, x, grad_outputs=g, retain_graph=True))
wrong = (
    lambda: torch.autograd.grad(edge, x),
    lambda: torch.autograd.grad(edge, x, grad_outputs=torch.ones(3)),
    lambda: torch.autograd.grad(edge, x, grad_outputs=torch.ones(2, dtype=torch.complex64)),
    lambda: torch.autograd.grad(out, (x, get_gradient_edge(x.exp())), materialize_grads=True),
)
for call in wrong:
    try:
        call()
    except RuntimeError as error:
        print(str(error)[:20])
y = x * 1
edge = GradientEdge(y.grad_fn, y.output_nr)
y *= 2
print(torch.autograd.grad(y.sum(), (edge, y)))

# %% gradients made of nothing
x = torch.tensor(0.5, requires_grad=True)
a = torch.tensor(1.0, requires_grad=True)
d = torch.autograd.grad(x * a, x, create_graph=True)
d2 = torch.autograd.grad(d, x, create_graph=True, materialize_grads=True)
print(d2, torch.autograd.grad(d2, x, materialize_grads=True))

# %% nodes are called
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.exp()
print(y.grad_fn(torch.ones(2)).detach())
for gs in ((), (torch.ones(2), torch.ones(2)), (3,), ("g",)):
    try:
        y.grad_fn(*gs)
    except TypeError as error:
        print(error)
print(y.grad_fn(None), (x * x).grad_fn(None), x.unbind()[0].grad_fn(None, None))
end = y.grad_fn.next_functions[0][0]
x.register_hook(lambda g: print("of the tensor"))
x.register_post_accumulate_grad_hook(lambda x: print("of the sum", x.grad))
print(end(torch.ones(2)), end(torch.tensor([3.0, 0.5])), end(None), x.grad.requires_grad)
try:
    end(torch.ones(3))
except RuntimeError:
    print(x.grad)
print(y.grad_fn._input_metadata[0].dtype, tuple(y.grad_fn._input_metadata[0].shape))

# %% saved tensors as they are kept
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * x
kept = y.grad_fn._raw_saved_self
print(kept.data is x, kept.unpack_hook)
kept.register_hooks(lambda t: 2 * t, lambda t: t)
print(y.grad_fn._saved_self)
y.sum().backward()
print(x.grad)
z = x.exp()
z.grad_fn._raw_saved_result.register_hooks(lambda t: t * 1, lambda t: t)
print(z.grad_fn._saved_result.grad_fn is z.grad_fn)


def doubled(t):
    t *= 2
    return t


attempts = (
    lambda: z.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t),
    lambda: (x * x).grad_fn._raw_saved_self.register_hooks(1, 1),
    lambda: (x * x).grad_fn._raw_saved_self.register_hooks(doubled, lambda t: t),
    lambda: y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t),
)
for attempt in attempts:
    try:
        attempt()
    except (RuntimeError, TypeError) as error:
        print(type(error).__name__)

# %% lists that stand for tuples
x = torch.arange(25.0).view(5, 5)
for index in ([[0, 1]], [[0, 1], [1, 1]], [[[0, 1]]], [slice(0, 1)], [None, 0], [...], [(0, 1)]):
    print(x[index])
y = torch.zeros(5, 5)
y[[[0, 4], [2, 2]]] = torch.ones(2)
print(y)

# %% checkpoints count their runs
from torch.utils.checkpoint import checkpoint

runs = []


def function(x):
    runs.append(1)
    y = x.sin()
    return y, y.cos()


x = torch.tensor([0.5, 1.0], requires_grad=True)
y, z = checkpoint(function, x, use_reentrant=False)
(g,) = torch.autograd.grad(z.sum(), y)
print(len(runs), torch.autograd.grad(y, x, g), len(runs))
z = checkpoint(function, x, use_reentrant=False)[1]
print(torch.allclose(z.grad_fn._saved_self, x.sin()), len(runs))

# %% module hooks under second order
module = torch.nn.Tanh()
log = []
module.register_full_backward_pre_hook(lambda m, o: log.append("before"))
module.register_full_backward_hook(lambda m, i, o: log.append("after"))
x = torch.ones(2, requires_grad=True)
(g,) = torch.autograd.grad(module(x).sum(), x, create_graph=True)
print(log)
g.sum().backward()
print(log)


class Product(torch.nn.Module):
    def forward(self, a, b):
        return a * b, a + b


module = Product()
module.register_full_backward_hook(lambda m, i, o: print(i, o))
a, b = module(torch.ones(2, requires_grad=True), torch.ones(2))
(a + b).sum().backward()

# %% distinct entries have no gradient
x = torch.tensor([1.0, 2.0, 1.0], requires_grad=True)
for y in (torch.unique(x), torch.unique(x, dim=0), torch.unique_consecutive(x)):
    print(y.grad_fn.name())
    try:
        y.sum().backward()
    except NotImplementedError as error:
        print(error)


# %% a pass inside a pass, many times
class Deep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_() - 1
        return ctx.x.detach()

    @staticmethod
    def backward(ctx, g):
        if ctx.x < 0:
            return g
        with torch.enable_grad():
            Deep.apply(ctx.x).sum().backward()
        return g


x = torch.tensor(300.0, requires_grad=True)
Deep.apply(x).sum().backward()
print(x.grad)

# %% a stale view prints
x = torch.ones(1, requires_grad=True)
with torch.no_grad():
    v = x[:]
    v *= 2
print(v, x)

# %% a node of several results
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
v, m = torch.var_mean(x, dim=1)
print(v.grad_fn is m.grad_fn, v.grad_fn.name(), v.output_nr, m.output_nr)
print([node.name() for node, _ in v.grad_fn.next_functions])
m.grad_fn.register_prehook(lambda gs: (gs[0] * 2, gs[1] * 3))
(v + m).sum().backward()
print(x.grad)

# %% entries written twice, looked at forward
x, v = torch.zeros(3), torch.tensor([1.0, 2.0])
put = lambda v: x.index_put((torch.tensor([0, 0]),), v)  # noqa: E731
print(torch.func.jvp(put, (v,), (torch.tensor([10.0, 20.0]),)))

# %% writes to parts of complex numbers
z = torch.tensor([1 + 2j, -3 + 1j], requires_grad=True)
w = torch.tensor([0.5 - 1j, 2 + 1j])
for write in (
    lambda y: y.real.mul_(2),
    lambda y: y.imag.copy_(torch.tensor([1.0, 2.0])),
    lambda y: y.real.__setitem__(0, 5.0),
    lambda y: torch.view_as_real(y).mul_(3),
    lambda y: torch.view_as_real(y)[:, 1].mul_(torch.tensor([2.0, 4.0])),
    lambda y: setattr(y, "imag", y.real.detach()),
    lambda y: y[1:].real.mul_(y[:1].imag.clone()),
):
    y = z * 1
    before = y.imag
    write(y)
    (g,) = torch.autograd.grad((y * w).abs().sum(), z, retain_graph=True)
    print(y.detach(), before.detach(), g)
    (g,) = torch.autograd.grad((before * before).sum(), z, allow_unused=True)
    print(g)
x = torch.arange(1.0, 5.0).reshape(2, 2).requires_grad_()
y = x * 1
torch.view_as_complex(y).mul_(1j)
print(y.detach(), torch.autograd.grad((y * x.detach()).sum(), x))

# %% indices and the shapes of values
x, i = torch.arange(24.0).reshape(2, 3, 4).requires_grad_(), torch.tensor([2, 1])
for index in ((0, slice(None), i), (0, None, [0, 1]), (slice(None), 1, i), (i - 1, slice(None), 0)):
    picked = x[index]
    print(picked.shape, torch.autograd.grad((picked * picked).sum(), x)[0].sum((0, 2)))
    y, v = x * 1, torch.arange(1.0, picked.numel() + 1).reshape(1, 1, *picked.shape)
    v.requires_grad_()
    y[index] = v
    print(y.sum(), torch.autograd.grad((y * y).sum(), v))
mask = x.detach() % 2 == 0
v = torch.ones(1, 12, requires_grad=True)
y = x * 1
y[mask] = v * 2
print(y.sum(), torch.autograd.grad((y * y).sum(), v))

# %% saved, then detached in place
a = torch.tensor(1.0, requires_grad=True).clone()
b, c = a.sin(), a.exp()
a.detach_()
for out in (b, c):
    try:
        out.backward()
        print("no error")
    except RuntimeError as error:
        print(str(error)[:60])

# %% views of inference tensors
with torch.inference_mode():
    c = torch.ones(2, 3, requires_grad=True)
    v = c.view(-1)
    print(v.requires_grad, v.is_leaf, v._is_view())
for v in (c.view(-1), c[0], c.t()):
    print(v.requires_grad, v.is_leaf, v._is_view(), v.is_inference())

# %% out= inside forward mode
import torch.autograd.forward_ad as fw

with fw.dual_level():
    print(fw._current_level)
    d, plain = fw.make_dual(torch.ones(2), torch.ones(2)), torch.zeros(2)
    for args, out in (((d, plain), plain), ((plain, plain), d)):
        try:
            torch.add(*args, out=out)
        except NotImplementedError as error:
            print("out= function" in str(error))
    print(d._version == d.detach()._version)
print(fw._current_level)

# %% pieces that may be written to
for f in (lambda t: t.unsafe_split(1), lambda t: t.unsafe_chunk(2)):
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    one, two = f(a * 2)
    one.mul_(two)
    print(torch.autograd.grad(one.sum(), a))

# %% inplace activations
import torch.nn as nn

x = torch.tensor([-2.5, -2.0, 0.0, 0.25, 2.0])
for m in (
    nn.LeakyReLU(0.1, True), nn.LeakyReLU(0.0, True), nn.ELU(2.0, True), nn.SiLU(True),
    nn.Mish(True), nn.Hardswish(True), nn.Hardtanh(inplace=True), nn.CELU(0.5, True),
    nn.SELU(True), nn.ReLU6(True), nn.Hardsigmoid(True), nn.Threshold(0.5, 7.0, True),
):  # fmt: skip
    a = x.clone().requires_grad_()
    b = a * 1
    c = m(b)
    print(c is b, c.detach(), torch.autograd.grad(c.sum(), a)[0])
b = x.clone()
print(nn.functional.leaky_relu_(b, 0.5) is b, b, nn.functional.threshold_(b, 0.5, 7.0))

# %% running statistics of each sample alone
import torch.nn as nn

m = nn.InstanceNorm1d(2, track_running_stats=True)
x = torch.arange(12.0).reshape(2, 2, 3)
m(x * x)
print(m.running_mean, m.running_var, m.eval()(x))
for bad in (
    lambda: nn.InstanceNorm1d(2)(torch.ones(2, 2, 1)),
    lambda: nn.Conv1d(2, 2, 3, padding_mode="wrap"),
    lambda: nn.Conv1d(2, 2, 3, padding="full"),
    lambda: nn.functional.gaussian_nll_loss(x, x, -torch.ones(2, 2, 3)),
    lambda: nn.Linear(1, 1).train("yes"),
):
    try:
        bad()
    except ValueError as error:
        print(str(error)[:20])

# %% convolutions that pad in other ways
import torch.nn as nn

for mode in ("zeros", "circular", "reflect", "replicate"):
    m = nn.Conv1d(1, 1, 4, padding="same", padding_mode=mode, bias=False)
    nn.init.ones_(m.weight)
    x = torch.arange(1.0, 7.0).reshape(1, 1, 6).requires_grad_()
    print(m(x).detach(), torch.autograd.grad((m(x) ** 2).sum(), x))

# %% hooks of all modules, and of results
import torch.nn as nn
import torch.nn.modules.module as modules

seen = []
handles = [
    modules.register_module_forward_pre_hook(lambda m, i: seen.append("before")),
    modules.register_module_forward_hook(lambda m, i, o: seen.append("after")),
    modules.register_module_full_backward_pre_hook(lambda m, o: seen.append("back")),
    modules.register_module_full_backward_hook(lambda m, i, o: seen.append("back again")),
]
m = nn.Sigmoid()
m.register_forward_hook(lambda m, i, o: seen.append("its own"))
m(torch.zeros(1, requires_grad=True)).backward()
print(seen)
for handle in handles:
    handle.remove()
m = nn.Linear(2, 1, bias=False)
nn.init.ones_(m.weight)
m.register_backward_hook(lambda m, i, o: print(o))
m(torch.ones(2, requires_grad=True)).sum().backward()
try:
    m.register_full_backward_hook(print)
except RuntimeError as error:
    print(str(error)[:45])

# %% hooks of a state dict
import torch.nn as nn

m = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
m.register_state_dict_pre_hook(lambda m, prefix, keep: print("before", prefix, keep))
m[0].register_state_dict_post_hook(lambda m, sd, prefix, _: print("after", prefix, list(sd)[:1]))
m[1].register_load_state_dict_pre_hook(
    lambda m, sd, prefix, meta, strict, missing, unexpected, errors: sd.pop(prefix + "bias")
)
m.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
print(m.load_state_dict(m.state_dict()))
try:
    nn.Linear(1, 1).load_state_dict({"weight": 3, "bias": 4})
except RuntimeError as error:
    print(str(error).partition(", expected")[0])


# %% strides, kept gradients and hooks behind views
class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Tripled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    @staticmethod
    def backward(ctx, g):
        return g * 3


x = torch.arange(1.0, 7.0).requires_grad_()
print(torch.autograd.grad(Doubled.apply(x * 1).as_strided((2,), (2,), 1).sum(), x))
y = (x * 1)[1:]
y.register_hook(lambda g: g * 10)
print(torch.autograd.grad(y.as_strided((2,), (1,), 2).sum(), x))
z = torch.tensor([1 + 2j, 3 + 4j], requires_grad=True)
y = z * 1
v = torch.view_as_real(y).as_strided((2,), (2,), 1)
with torch.no_grad():
    y.imag.mul_(0.5)
print(v.detach(), v.requires_grad, torch.autograd.grad(v.sum(), z))
i = torch.tensor([0])
for write in (
    Tripled.apply,
    lambda y: y.index_add_(0, i, torch.ones(1)),
    lambda y: y.clamp_(0, 2),
    lambda y: y.scatter_(0, i, torch.ones(1)),
    lambda y: y.cumsum_(0),
    lambda y: y.pow_(2),
    lambda y: y.index_put_((i,), torch.ones(1), accumulate=True),
):
    y = torch.arange(3.0, requires_grad=True) * 1
    y.retain_grad()
    write(y)
    (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    print(y.retains_grad, y.grad)
try:
    torch.ones(2)[torch.tensor([True, False])] = torch.tensor(1j)
except RuntimeError:
    print("refused")

# %% a hook inside a transform runs in the passes of that transform
grad, x = torch.func.grad, torch.tensor([1.0, 2.0])


def hooked(x):
    y = x * 2
    y.register_hook(lambda g: g * 10)
    return (y * y).sum()


print(grad(hooked)(x), grad(lambda x: grad(hooked)(x).sum())(x))
print(torch.func.jacrev(grad(hooked))(x), torch.func.vjp(grad(hooked), x)[1](x))
print(grad(lambda s: hooked(x * s))(torch.tensor(1.0)))
a = x.clone().requires_grad_()
print(torch.autograd.grad(grad(hooked)(a).sum(), a))

# %% a checkpoint saves its arguments as any node does
from torch.utils.checkpoint import checkpoint

hooks = torch.autograd.graph.saved_tensors_hooks
for function in (lambda t, c: t.sin() * c, lambda t, c: t + c, lambda t, c: c * c * t):
    for reentrant in (False, True):
        for written in (0, 1):
            x = torch.ones(2, requires_grad=True)
            args = x * 2, torch.ones(2)
            out = checkpoint(function, *args, use_reentrant=reentrant)
            args[written].mul_(3)
            try:
                out.sum().backward()
                print(x.grad)
            except RuntimeError as error:
                print("modified" in str(error), x.grad)
    calls = []
    with hooks(lambda t: calls.append("pack") or t * 2, lambda t: calls.append("unpack") or t):
        out = checkpoint(function, x, torch.ones(2), use_reentrant=False)
    print(torch.autograd.grad(out.sum(), x), calls)


# %% a stale view is refused where it is used
def stale(how):
    y = torch.ones(3, requires_grad=True) * 2
    if how == "no_grad":
        with torch.no_grad():
            v = y[:2]
    else:
        v = y.split(1)[0] if how == "split" else y.view(1, 3).unbind()[0]
    y.mul_(2)
    return y, v


for how in ("split", "unbind", "no_grad"):
    for use in (
        lambda y, v: v * 2, lambda y, v: 2 - v, lambda y, v: torch.cat([v, v]), lambda y, v: v[0],
        lambda y, v: v.grad_fn, lambda y, v: v.is_leaf, lambda y, v: v.mul_(2), lambda y, v: v + v,
        lambda y, v: torch.autograd.grad(y.sum(), v), lambda y, v: v.detach(), lambda y, v: v > 1,
        lambda y, v: (v, v.data, v.requires_grad, v._base is y, v.tolist(), v.output_nr, v.grad),
        lambda y, v: torch.no_grad()(lambda: v * 2)(),
    ):  # fmt: skip
        y, v = stale(how)
        try:
            print(use(y, v))
        except RuntimeError as error:
            print(str(error).partition("inplace")[0])
leaf = torch.ones(2, requires_grad=True)
y, v = stale("split")
try:
    ((leaf * 2).sum() + v.sum()).backward()
except RuntimeError:
    print(leaf.grad)

# %% views require a gradient with their base
for wanted in (True, False):
    base = torch.ones(2)
    v, w = base[:1], base.unbind()[1]
    base.requires_grad_()
    base.requires_grad_(wanted)
    print(v.requires_grad, w.requires_grad, v.is_leaf, v.grad_fn, base.is_leaf)
    if wanted:
        ((v * 2).sum() + base.sum()).backward()
        print(v.grad, base.grad)
        with torch.no_grad():
            base.mul_(2)
        print(torch.autograd.grad((v * 5).sum(), base))

# %% a gradient that was set is added to
x = torch.ones(2, requires_grad=True)
for inputs in (None, 0, 1):
    y = x * 2
    y.grad = torch.full((2,), 5.0)
    if inputs is None:
        y.retain_grad()
    (y if inputs != 1 else x).sum().backward(inputs=None if inputs is None else [y, x])
    print(y.grad, y.retains_grad)
w = torch.ones(2, requires_grad=True)
for accumulate in (lambda: (x * 3).sum().backward(), lambda: x.backward(torch.ones(2))):
    kept = x.grad
    out = (kept * w).sum()
    accumulate()
    try:
        out.backward()
    except RuntimeError as error:
        print("modified" in str(error), kept is x.grad, x.grad)
m = torch.arange(6.0).reshape(3, 2).t().detach().requires_grad_()
(m * m).sum().backward()
print(m.grad, m.grad.stride())

# %% the hooks of a module are those of the forward call
kinds = ("register_full_backward_hook", "register_full_backward_pre_hook")
for before in kinds:
    for after in kinds:
        for removed in (False, True):
            module, seen = torch.nn.Linear(2, 2), []
            handle = getattr(module, before)(lambda *given: seen.append(1))
            out = module(torch.ones(1, 2, requires_grad=True))
            getattr(module, after)(lambda *given: seen.append(2))
            if removed:
                handle.remove()
            out.sum().backward()
            print(seen)

# %% hooks of the only root run
for roots in (1, 2):
    for leaf in (False, True):
        x, z = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        y = x if leaf else x * 2
        y.retain_grad()
        y.register_hook(lambda g: print("y", g))
        outputs = [y, z * 1][:roots]
        ones = [torch.ones(2)] * roots
        print(torch.autograd.grad(outputs, z, ones, allow_unused=True, retain_graph=True))
        torch.autograd.backward(outputs, ones, inputs=[z])
        print(y.grad, z.grad)
with torch.no_grad():
    v = x[:1]
y = v * 2
y.register_hook(print)
print(torch.autograd.grad(y.sum(), v, allow_unused=True))


# %% what a write shows of the graph
def shown(node, depth=2):
    if node is None or not depth:
        return node and node.name()
    return node.name(), *(shown(n, depth - 1) for n, _ in node.next_functions)


x = torch.ones(2, 2, requires_grad=True)
for write in (
    lambda t: t.zero_(), lambda t: t.fill_(2.0), lambda t: t.fill_(torch.tensor(2.0)),
    lambda t: t.masked_fill_(t > 0, 1.0), lambda t: t[:1].mul_(2), lambda t: t[:1].add_(x[:1]),
    lambda t: t[:1].copy_(x[1:]), lambda t: t.view(-1).addcmul_(x.view(-1), x.view(-1)),
    lambda t: t.__setitem__(0, 5.0), lambda t: t.__setitem__(0, x[0]), lambda t: t.copy_(x),
):  # fmt: skip
    y = x * 2
    write(y)
    print(shown(y.grad_fn), str(y).rpartition("grad_fn")[2])

# %% a view whose data is replaced is none any more
base, a = torch.zeros(2), torch.ones(2, requires_grad=True)
v = base.view(2)
v.data = torch.ones(2)
print(v.add_(a).detach(), base.detach())
base = a * 2
v = base[:1]
base.data = torch.full((2,), 7.0)
base.mul_(3)
print(base.detach(), v.detach(), base._version == v._version)

# %% post hooks see the gradients of next_functions
x = torch.tensor([1.0, 2.0], requires_grad=True)
for function in (
    lambda x: 1 - x, lambda x: 2 * x, lambda x: x**2, lambda x: torch.where(x > 1, x, 0.0),
    lambda x: x.masked_fill(x > 1, 0.0), lambda x: x * x, lambda x: x.clone().zero_(),
):  # fmt: skip
    y = function(x)
    node = y.grad_fn
    node.register_hook(lambda given, _: tuple(None if g is None else g * 3 for g in given))
    node.register_hook(lambda given, _: print(given))
    print(len(node.next_functions), torch.autograd.grad(y.sum(), x))

# %% what an unpack hook makes has no version to check
from torch.utils.checkpoint import checkpoint

hooks = torch.autograd.graph.saved_tensors_hooks
for unpack in (lambda t: t / 2, lambda t: t.clone().div_(2)):
    for pack in (lambda t: t * 2, lambda t: t.clone().mul_(2)):
        for function in (
            lambda x, y: x * y,
            lambda x, y: checkpoint(torch.mul, x, y, use_reentrant=False),
        ):
            x, y = torch.ones(2, requires_grad=True), torch.ones(2)
            y.mul_(3)
            with hooks(pack, unpack):
                out = function(x, y)
            y.mul_(5)
            print(torch.autograd.grad(out.sum(), x))

# %% a copy of what is expanded lies in rows
x = torch.arange(4.0).reshape(2, 2)
for expanded in (x.expand(3, 2, 2), x[:, None].expand(2, 3, 2), x[:1].expand(4, 2)):
    print(expanded.clone().stride(), expanded.double().stride(), expanded.clone().view(-1))
print(x.t().clone().stride(), x.t().double().stride())

# %% hooks write to gradients: of a number, behind a mean


def tripled(*given):
    gradients = given[0] if isinstance(given[0], tuple) else given[:1]
    for g in gradients:
        if g is not None:
            g.mul_(3)


for shape in ((), (3,), (1, 3)):
    for function in (lambda x: x * x, lambda x: x.mean(), lambda x: x.mean(-1, keepdim=True)):
        x = torch.full(shape, 2.0, requires_grad=True)
        for where in ("tensor", "before", "after"):
            y = x * 2
            if where == "tensor":
                y.register_hook(tripled)
            elif where == "before":
                y.grad_fn.register_prehook(tripled)
            else:
                y.grad_fn.register_hook(tripled)
            out = function(y)
            print(torch.autograd.grad(out, x, torch.ones_like(out))[0])

# %% hooks of an output that is the only root run in any case
x = torch.ones(2, requires_grad=True)
y = x * 2
piece = y.split(1)[1]
piece.register_hook(print)
print(torch.autograd.grad(piece, y.exp(), allow_unused=True))

# %% views that have no base, or need none
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * 2
v = y.view(torch.float32)
print(v.requires_grad, v._is_view(), x.view(torch.int32)._is_view(), v._version)
v.mul_(2)
print(v._version, torch.autograd.grad(y.sum(), x, retain_graph=True))
print([f(x)._is_view() for f in (torch.median, torch.nanmedian)], x.quantile(0.5)._is_view())
a, b = torch.unsafe_chunk(y, 2)
with torch.no_grad():
    y.mul_(2)
print(torch.autograd.grad((a * b).sum(), x))

# %% a view from before its base required a gradient, written to at any time
for write in (lambda b, v: b.mul_(2), lambda b, v: v.mul_(2), lambda b, v: None):
    for first in (True, False):
        b = torch.ones(3)
        v = b[:2]
        if first:
            write(b, v)
        b.requires_grad_()
        with torch.no_grad():
            if not first:
                write(b, v)
        (v * v + b[:2]).sum().backward()
        print(v.requires_grad, v.is_leaf, b.grad)

# %% in inference mode what is seen in another shape stays in its graph
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
for name in ("t_", "squeeze_", "detach_"):
    y = (x * 3).view(1, 2)
    with torch.inference_mode():
        getattr(y, name)()
    print(y.is_leaf, torch.autograd.grad((y * y).sum(), x))

# %% a function in place forgets the gradient that its input kept


class Tripled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    @staticmethod
    def backward(ctx, g):
        return g * 3


x = torch.ones(2, requires_grad=True)
y = x * 2
y.retain_grad()
y.sum().backward(retain_graph=True)
Tripled.apply(y)
print(y.grad)
y.sum().backward()
print(y.grad, x.grad)

# %% a copy of Parameters that share memory has them apart
import copy

w = torch.arange(4.0)
p = torch.nn.Parameter(w)
for shared in ([p, torch.nn.Parameter(w[:2])], [p, w], [w, w[:2]]):
    one, other = copy.deepcopy(shared)
    with torch.no_grad():
        one.mul_(10)
    print(one.detach(), other.detach())

# %% post hooks see what arrives at the inputs of a function, however many operators it has here
F = torch.nn.functional


def show(given, _):
    for g in given:
        print(g if g is None else g.detach())


x, w = torch.tensor([[1.0, -2.0]], requires_grad=True), torch.full((2, 2), 0.5, requires_grad=True)
for function in (
    lambda a: F.silu(a), lambda a: F.mse_loss(a, x), lambda a: torch.addmm(x, a, w),
    lambda a: F.layer_norm(a, (2,), w[0]), lambda a: torch.dist(a, x, 3), lambda a: a.std(),
):  # fmt: skip
    for create in (False, True):
        out = function(x * 3)
        out.grad_fn.register_hook(show)
        print(torch.autograd.grad(out.sum(), x, create_graph=create)[0].detach())
