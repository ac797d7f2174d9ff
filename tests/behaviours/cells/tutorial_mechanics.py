"""Cells on autograd's mechanics: saved tensors, modes, complex numbers, views, checkpoint."""

# ruff: noqa: B007, E402
# The cells stand as a notebook has them.

import torch


# %% pack and unpack hooks print
def pack_hook(x):
    print("Packing", x)
    return x


def unpack_hook(x):
    print("Unpacking", x)
    return x


a = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True) * 2
with torch.autograd.graph.saved_tensors_hooks(pack_hook, unpack_hook):
    y = a * b
y.sum().backward()
print(a.grad)

# %% hooks that keep numpy copies
with torch.autograd.graph.saved_tensors_hooks(
    lambda t: t.detach().numpy().copy(), lambda n: torch.from_numpy(n)
):
    x = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
    y = x.sqrt() * x
y.sum().backward()
print(x.grad, 1.5 * x.sqrt())

# %% hooks that store in half precision
saved = []


def pack(t):
    saved.append(t.dtype)
    return t.half()


def unpack(h):
    return h.float()


x = torch.tensor([0.1, 0.2], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = (x**2).sum()
y.backward()
print(saved, x.grad)

# %% nested hooks: the inner pair wins
x = torch.tensor([0.5], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: print("outer") or t, lambda t: t):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: print("inner") or t, lambda t: t):
        y = x.exp()
    z = y.exp()
z.backward()
print(x.grad)

# %% disabled hooks refuse
with torch.autograd.graph.disable_saved_tensors_hooks("saved tensors hooks are disabled here"):
    try:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
    except RuntimeError as e:
        print(str(e)[:37])

# %% save on cpu
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.autograd.graph.save_on_cpu(pin_memory=False):
    y = (x * x * x).sum()
y.backward()
print(x.grad)


# %% hooks see what a custom Function saves
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


x = torch.tensor([3.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(
    lambda t: print("pack", t) or t, lambda t: print("unpack", t) or t
):
    y = Square.apply(x)
y.backward()
print(x.grad)

# %% modes, nested and as decorators
x = torch.ones(1, requires_grad=True)


@torch.no_grad()
def doubler(x):
    return x * 2


print(doubler(x).requires_grad)
with torch.no_grad():
    with torch.enable_grad():
        print((x * 2).requires_grad)
    print((x * 2).requires_grad, torch.is_grad_enabled())
with torch.set_grad_enabled(False):
    print((x * 2).requires_grad)
torch.set_grad_enabled(True)
print((x * 2).requires_grad)


@torch.enable_grad()
def tripler(x):
    return x * 3


with torch.no_grad():
    print(tripler(x).requires_grad)


@torch.inference_mode()
def quad(x):
    return x * 4


print(quad(x).requires_grad, quad(x).is_inference())

# %% inference tensors outside
with torch.inference_mode():
    t = torch.ones(2)
    print(t.is_inference(), torch.is_inference_mode_enabled())
x = torch.ones(2, requires_grad=True)
try:
    (x * t).sum().backward()
except RuntimeError as e:
    print(str(e)[:131])
print((t + 1).is_inference(), t.clone().is_inference())

# %% a complex loss by hand
z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
L = (z * z.conj()).real.sum()
L.backward()
print(L)
print(z.grad)

# %% complex parts
z = torch.tensor([1 + 2j, -1 + 0.5j], requires_grad=True)
print(z.real, z.imag, z.abs(), z.angle())
z.abs().sum().backward()
print(z.grad)
z.grad = None
z.imag.sum().backward()
print(z.grad)
z.grad = None
(z**2).real.sum().backward()
print(z.grad)

# %% view_as_real and view_as_complex
z = torch.tensor([1 + 2j, 3 + 4j])
r = torch.view_as_real(z)
print(r, torch.view_as_complex(r))
r.requires_grad_()
w = torch.view_as_complex(r)
(w * w.conj()).real.sum().backward()
print(r.grad)
print(
    torch.complex(torch.tensor([1.0]), torch.tensor([2.0])),
    torch.polar(torch.tensor([1.0]), torch.tensor([0.0])),
)

# %% complex backward asks for a real loss
z = torch.tensor(1 + 1j, requires_grad=True)
try:
    (z * 2).backward()
except RuntimeError as e:
    print(str(e)[:68])
(z * 2).backward(torch.tensor(1 + 0j))
print(z.grad)

# %% gradient descent on a complex number
z = torch.tensor(3.0 + 4.0j, requires_grad=True)
opt = torch.optim.SGD([z], lr=0.25)
for i in range(5):
    opt.zero_grad()
    loss = (z - (1 + 1j)).abs() ** 2
    loss.backward()
    opt.step()
    print(f"{i} {loss.item():.5f}", z)

# %% points without a derivative
x = torch.tensor([-1.0, 0.0, 1.0], requires_grad=True)
for f in [
    torch.abs,
    torch.relu,
    torch.sign,
    torch.sqrt,
    torch.floor,
    lambda t: t.clamp(0, 1),
    lambda t: t.pow(0.5),
    lambda t: torch.where(t > 0, t, 0.0),
]:
    x.grad = None
    f(x).sum().backward()
    print(x.grad)

# %% max and min share or choose
x = torch.tensor([1.0, 3.0, 3.0, 2.0], requires_grad=True)
x.max().backward()
print(x.grad)
x.grad = None
v, i = x.max(dim=0)
v.backward()
print(v, i, x.grad)
x.grad = None
x.amax().backward()
print(x.grad)
x.grad = None
torch.maximum(x, torch.tensor(3.0)).sum().backward()
print(x.grad)

# %% norm at zero and its kin
x = torch.zeros(2, requires_grad=True)
x.norm().backward()
print(x.grad)
x.grad = None
torch.linalg.vector_norm(x, 1).backward()
print(x.grad)
x.grad = None
x.prod().backward()
print(x.grad)

# %% nan from a masked branch avoided the documented way
x = torch.tensor([1.0, 0.0], requires_grad=True)
div = torch.tensor([0.0, 1.0])
y = x / div
mask = div != 0
loss = y[mask]
loss.backward()
print(x.grad)

# %% views and their bases
base = torch.arange(6.0)
v = base.view(2, 3)
print(v._base is base, v._is_view(), base._is_view(), base._base)
v[0, 0] = 100
print(base)
print(v[0]._base is base, v.t()._base is base)
print(base[1:4].storage_offset(), v[1].storage_offset(), base.data_ptr() == v.data_ptr())

# %% diagonals and unfolded rows
x = torch.arange(9.0).reshape(3, 3)
print(x.diagonal(), x.t()[0], x[::2, 1:])
print(torch.arange(7.0).unfold(0, 3, 2))
d = x.diagonal()
d.fill_(0)
print(x)

# %% in place through a view flows
x = torch.arange(4.0, requires_grad=True)
y = x * 1
v = y[:2]
v *= 10
y.sum().backward()
print(y, x.grad)
print(v.grad_fn, y.grad_fn)

# %% a view of a leaf refuses
x = torch.ones(3, requires_grad=True)
v = x[:2]
try:
    v.mul_(2)
except RuntimeError as e:
    print(str(e)[:84])

# %% unbind and split views refuse in place writes
x = torch.ones(2, 2, requires_grad=True) * 1
a, b = x.unbind(0)
try:
    a.mul_(2)
except RuntimeError as e:
    print(type(e).__name__)

# %% detect anomaly names the forward operation
import warnings

x = torch.tensor([-1.0], requires_grad=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    with torch.autograd.detect_anomaly():
        y = torch.sqrt(x)
        try:
            y.backward()
        except RuntimeError as e:
            print(str(e)[:63])
print(torch.is_anomaly_enabled())
with torch.autograd.set_detect_anomaly(True):
    print(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())

# %% anomaly in a custom Function
import warnings


class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g * float("nan")


x = torch.ones(2, requires_grad=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    with torch.autograd.set_detect_anomaly(True):
        try:
            Bad.apply(x).sum().backward()
        except RuntimeError as e:
            print(str(e)[:60])

# %% order of all hooks on one value
x = torch.tensor([1.0, 1.0], requires_grad=True)
y = x.exp()
log = []
y.register_hook(lambda g: log.append("tensor hook 1"))
y.retain_grad()
y.register_hook(lambda g: log.append("tensor hook 2"))
y.grad_fn.register_prehook(lambda g: log.append("node prehook"))
y.grad_fn.register_hook(lambda gi, go: log.append("node hook"))
x.register_hook(lambda g: log.append("leaf hook"))
x.register_post_accumulate_grad_hook(lambda p: log.append("post accumulate"))
y.sum().backward()
for line in log:
    print(line)

# %% an optimiser step folded into backward
params = [torch.tensor([1.0, -1.0], requires_grad=True), torch.tensor([0.5], requires_grad=True)]
opts = {p: torch.optim.SGD([p], lr=0.1) for p in params}


def step_hook(p):
    opts[p].step()
    opts[p].zero_grad()


for p in params:
    p.register_post_accumulate_grad_hook(step_hook)
for i in range(3):
    ((params[0] ** 2).sum() * params[1]).sum().backward()
print(params, [p.grad for p in params])

# %% gradient edges
x = torch.tensor([2.0], requires_grad=True)
y = x * 3
z = y**2
edge = torch.autograd.graph.get_gradient_edge(y)
print(type(edge).__name__, edge.node.name(), edge.output_nr)
print(torch.autograd.grad(z, edge))


# %% node sequence and graph walking
def walk(fn, indent=0):
    if fn is None:
        return
    print(" " * indent + type(fn).__name__)
    for nxt, idx in fn.next_functions:
        walk(nxt, indent + 2)


x = torch.ones(2, 2, requires_grad=True)
w = torch.ones(2, 2, requires_grad=True)
walk(((x @ w).relu() + x.t()).mean().grad_fn)

# %% batched vector-Jacobian products
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x**2
(J,) = torch.autograd.grad(y, x, grad_outputs=torch.eye(3), is_grads_batched=True)
print(J)

# %% retain graph for rows of a Jacobian
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.stack([x[0] * x[1], x[0] ** 2, x[1].sin()])
rows = []
for i in range(3):
    rows.append(torch.autograd.grad(y[i], x, retain_graph=True)[0])
print(torch.stack(rows))

# %% accumulate with retain_graph and different weights
x = torch.tensor(1.0, requires_grad=True)
y = x * 2
z = y**2
z.backward(retain_graph=True)
print(x.grad)
y.backward()
print(x.grad)

# %% grad attribute assignments
x = torch.ones(2, requires_grad=True)
try:
    x.grad = 1.0
except TypeError as e:
    print(type(e).__name__)
try:
    x.grad = torch.ones(2, dtype=torch.float64)
except RuntimeError as e:
    print(type(e).__name__)
x.grad = torch.zeros(2)
x.grad += 3
print(x.grad)
del x.grad
print(x.grad)

# %% deepcopy and pickling of leaves
import copy

x = torch.tensor([1.0, 2.0], requires_grad=True)
c = copy.deepcopy(x)
print(c, c.is_leaf, c is x)
y = x * 2
try:
    copy.deepcopy(y)
except RuntimeError as e:
    print(type(e).__name__)

# %% allow mutation on saved tensors
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    a = torch.ones(2, 3, requires_grad=True)
    b = a.clone()
    out = (b**2).sum()
    b.sin_()
    out.sum().backward()
print(a.grad)

# %% gradients through indexing
x = torch.arange(6.0, requires_grad=True)
y = x[[0, 0, 2]] + x[torch.tensor([1, 2, 5])]
print(y)
y.backward(torch.tensor([1.0, 10.0, 100.0]))
print(x.grad)
x.grad = None
x[x > 2].prod().backward()
print(x.grad)

# %% checkpoint recomputes
from torch.utils.checkpoint import checkpoint

calls = []


def block(x):
    calls.append("run")
    return (x.sin() * x).exp()


x = torch.tensor([0.5, 1.0], requires_grad=True)
y = checkpoint(block, x, use_reentrant=False)
print(len(calls), y)
y.sum().backward()
print(len(calls), x.grad)
x2 = torch.tensor([0.5, 1.0], requires_grad=True)
block(x2).sum().backward()
print(torch.equal(x.grad, x2.grad))

# %% checkpoint of a sequence
from torch.utils.checkpoint import checkpoint_sequential

fns = [torch.sin, torch.exp, torch.tanh, torch.cos]
x = torch.tensor([0.1, 0.2], requires_grad=True)
out = checkpoint_sequential(fns, 2, x, use_reentrant=False)
out.sum().backward()
print(out, x.grad)

# %% checkpoint with dropout keeps the mask
import torch.utils.checkpoint as cp

torch.manual_seed(0)
x = torch.ones(10, requires_grad=True)
y = cp.checkpoint(lambda t: torch.nn.functional.dropout(t, 0.5) * t, x, use_reentrant=False)
y.sum().backward()
print(y)
print(x.grad)
