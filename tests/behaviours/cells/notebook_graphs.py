"""Cells on graphs: saved tensors, Functions, hooks, double backward, checkpoints."""

# ruff: noqa: B007, E402
# The cells stand as a notebook has them.

import torch

# %% saved tensors by name
x = torch.tensor([2.0, 3.0], requires_grad=True)
y = x**3
print(y.grad_fn._saved_self, y.grad_fn._saved_exponent)
z = y.exp()
print(torch.equal(z.grad_fn._saved_result, z), z.grad_fn._saved_result is z)
print(y.grad_fn.name(), [f[0].name() for f in z.grad_fn.next_functions])

# %% pack and unpack count
seen = []


def pack(t):
    seen.append(("pack", tuple(t.shape)))
    return t.numpy() if not t.requires_grad else t.detach().numpy()


def unpack(a):
    seen.append(("unpack", a.shape))
    return torch.from_numpy(a)


w = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    loss = (w.sin() * w).sum()
loss.backward()
print(seen)
print(w.grad)

# %% disable saved hooks raises
with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    try:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
    except RuntimeError as e:
        print(type(e).__name__, e)

# %% save on cpu
a = torch.randn(3, generator=torch.Generator().manual_seed(5), dtype=torch.float64).requires_grad_()
with torch.autograd.graph.save_on_cpu():
    b = (a * a * 2).sum()
b.backward()
print(torch.allclose(a.grad, 4 * a.detach()))


# %% function with two outputs
class MinMax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        lo, hi = x.argmin(), x.argmax()
        ctx.save_for_backward(lo, hi)
        ctx.n = x.numel()
        return x[lo].clone(), x[hi].clone()

    @staticmethod
    def backward(ctx, g_lo, g_hi):
        lo, hi = ctx.saved_tensors
        out = torch.zeros(ctx.n)
        out[lo] += g_lo
        out[hi] += g_hi
        return out


x = torch.tensor([3.0, -1.0, 7.0], requires_grad=True)
lo, hi = MinMax.apply(x)
print(lo, hi)
(2 * hi - lo).backward()
print(x.grad)


# %% function setup_context
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x, factor):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]
        ctx.shape = output.shape

    @staticmethod
    def backward(ctx, g):
        print("shape", ctx.shape, "needs", ctx.needs_input_grad)
        return g * ctx.factor, None


x = torch.ones(2, 2, requires_grad=True)
out = Scale.apply(x, 2.5)
print(out)
out.sum().backward()
print(x.grad)


# %% function wrong number of gradients
class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * y

    @staticmethod
    def backward(ctx, g):
        return g


x = torch.ones(2, requires_grad=True)
try:
    Bad.apply(x, x).sum().backward()
except RuntimeError as e:
    print(e)


# %% function returning wrong shape
class WrongShape(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return torch.ones(5)


x = torch.ones(2, requires_grad=True)
try:
    WrongShape.apply(x).sum().backward()
except RuntimeError as e:
    print(e)


# %% function without backward
class Forward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()


x = torch.ones(2, requires_grad=True)
y = Forward.apply(x)
print(y)
try:
    y.sum().backward()
except NotImplementedError as e:
    print(e)


# %% set materialize grads
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x.clone(), x * 2

    @staticmethod
    def backward(ctx, a, b):
        print(a, b)
        return b * 2


x = torch.ones(2, requires_grad=True)
a, b = Two.apply(x)
b.sum().backward()
print(x.grad)


# %% double backward of a function
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


x = torch.tensor(2.0, requires_grad=True)
(g,) = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
print(g)
(gg,) = torch.autograd.grad(g, x)
print(gg)
print(
    torch.autograd.gradcheck(
        Cube.apply, (torch.tensor([1.0, 2.0], dtype=torch.double, requires_grad=True),)
    )
)

# %% third derivatives by a loop
x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
y = torch.sin(x)
for k in range(4):
    print(k, y.detach())
    (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)

# %% hessian vector product twice
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
f = (x**2).prod()
(g,) = torch.autograd.grad(f, x, create_graph=True)
v = torch.tensor([1.0, 0.0, -1.0])
(hv,) = torch.autograd.grad(g, x, grad_outputs=v, retain_graph=True)
print(g)
print(hv.round(decimals=3))


# %% walk and count nodes
def walk(fn, depth=0, lines=None):
    lines = [] if lines is None else lines
    if fn is not None:
        lines.append("  " * depth + fn.name())
        for nxt, number in fn.next_functions:
            walk(nxt, depth + 1, lines)
    return lines


a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
c = torch.where(a > 1, a * b, b.log()).mean()
print("\n".join(walk(c.grad_fn)))

# %% walk of a small network
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
out = net(torch.ones(1, 2)).squeeze()
fn = out.grad_fn
while fn is not None:
    print(type(fn).__name__, len(fn.next_functions))
    fn = next(
        (
            f
            for f, _ in fn.next_functions
            if f is not None and f.name() != "torch::autograd::AccumulateGrad"
        ),
        None,
    )

# %% leaf accumulate node
x = torch.ones(2, requires_grad=True)
node = (x * 2).grad_fn.next_functions[0][0]
print(node.name(), node.variable is x)
print(node.next_functions)

# %% hooks order on tensors
order = []
x = torch.tensor(1.0, requires_grad=True)
y = x * 2
z = y * 3
for name, t in (("x", x), ("y", y), ("z", z)):
    t.register_hook(lambda g, name=name: order.append((name, g.item())))
x.register_post_accumulate_grad_hook(lambda t: order.append(("done", t.grad.item())))
z.backward()
print(order)

# %% hook that scales and removes itself
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x.register_hook(lambda g: g * 10)
(x * x).sum().backward()
print(x.grad)
h.remove()
x.grad = None
(x * x).sum().backward()
print(x.grad)

# %% two hooks chain
x = torch.tensor([1.0, -1.0], requires_grad=True)
x.register_hook(lambda g: g + 1)
x.register_hook(lambda g: g * 2)
(3 * x).sum().backward()
print(x.grad)

# %% node prehook
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 5
y.grad_fn.register_prehook(lambda gs: tuple(g / 2 for g in gs))
y.grad_fn.register_hook(lambda gi, go: print("in", gi, "out", go))
y.sum().backward()
print(x.grad)

# %% clip by hooks
torch.manual_seed(3)
lin = torch.nn.Linear(3, 2)
for p in lin.parameters():
    p.register_hook(lambda g: g.clamp(-0.5, 0.5))
lin(torch.tensor([[1.0, -2.0, 0.1]])).sum().backward()
print(lin.weight.grad)
print(lin.bias.grad)

# %% multi grad hook
a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
seen = []
torch.autograd.graph.register_multi_grad_hook(
    (a, b), lambda gs: seen.append([None if g is None else g.tolist() for g in gs])
)
(a * 2 + b * 3).sum().backward()
print(seen)

# %% anomaly shows text
try:
    with torch.autograd.detect_anomaly(check_nan=True):
        x = torch.tensor(0.0, requires_grad=True)
        y = torch.sqrt(x) * 0
        y.backward()
except RuntimeError as e:
    print(e)
print(torch.is_anomaly_enabled())

# %% checkpoint gives the same gradients
from torch.utils.checkpoint import checkpoint


def block(x, w):
    print("block")
    return torch.tanh(x @ w)


x = torch.ones(2, 2, requires_grad=True)
w = torch.full((2, 2), 0.3, requires_grad=True)
checkpoint(block, x, w, use_reentrant=False).sum().backward()
print(x.grad)
print(w.grad)

# %% checkpoint sequential
from torch.utils.checkpoint import checkpoint_sequential

torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
x = torch.ones(1, 2, requires_grad=True)
out = checkpoint_sequential(net, 2, x, use_reentrant=False)
out.backward()
print(out)
print(x.grad)


# %% functional jacobian of several inputs
def f(x, y):
    return x * y.sum(), y**2


J = torch.autograd.functional.jacobian(f, (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])))
for row in J:
    for part in row:
        print(part)


# %% functional hessian block
def f(x, y):
    return (x * y).sum() ** 2


H = torch.autograd.functional.hessian(f, (torch.tensor([1.0]), torch.tensor([2.0])))
print(H)


# %% functional vhp hvp jvp vjp
def f(x):
    return (x**3).sum()


x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0])
print(torch.autograd.functional.vhp(f, x, v))
print(torch.autograd.functional.hvp(f, x, v))
print(torch.autograd.functional.jvp(lambda x: x**2, x, v))
print(torch.autograd.functional.vjp(lambda x: x**2, x, v))
