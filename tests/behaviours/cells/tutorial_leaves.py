"""Cells on leaves, kept gradients, hooks that watch gradients, and what goes wrong."""

# ruff: noqa: E402, E501
# The cells stand as a notebook has them.

import torch

# %% leaf and non-leaf
x = torch.ones(1, requires_grad=True)
y = x + 1
z = y * 2
print(x.is_leaf, y.is_leaf, z.is_leaf, torch.ones(1).is_leaf, (torch.ones(1) + 1).is_leaf)
print(x.grad_fn, y.grad_fn, z.grad_fn)
print(x.output_nr, z.output_nr)

# %% what the history of the graph looks like
x = torch.tensor(2.0, requires_grad=True)
y = (x * 3).exp().sum()
fn = y.grad_fn
depth = 0
while fn is not None:
    print("  " * depth + fn.name())
    fn = fn.next_functions[0][0] if fn.next_functions else None
    depth += 1

# %% retain_grad and the toy of two weights
x = torch.tensor(0.5)
w1 = torch.tensor(1.0, requires_grad=True)
w2 = torch.tensor(-2.0, requires_grad=True)
h = torch.tanh(w1 * x)
h.retain_grad()
o = w2 * h
o.retain_grad()
loss = (o - 1) ** 2
loss.retain_grad()
loss.backward()
for name, t in [("w1", w1), ("w2", w2), ("h", h), ("o", o), ("loss", loss)]:
    print(
        f"{name:>5}: value={t.item():+.4f} grad={t.grad.item():+.4f} retains={t.retains_grad} leaf={t.is_leaf}"
    )

# %% grad of a non-leaf warns and is None
import warnings

x = torch.tensor(1.0, requires_grad=True)
y = x * 2
y.backward()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(y.grad)
print(len(caught), caught[0].category.__name__)
print(str(caught[0].message)[:61])

# %% freeze by requires_grad False
w = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([0.5, 0.5], requires_grad=True)
b.requires_grad = False
loss = ((w * 3 + b) ** 2).sum()
loss.backward()
print(w.grad, b.grad)
print(b.requires_grad, loss.requires_grad)

# %% requires_grad of a non-leaf cannot be turned off
x = torch.ones(2, requires_grad=True)
y = x * 2
try:
    y.requires_grad = False
except RuntimeError as e:
    print(str(e)[:59])

# %% requires_grad of whole numbers
try:
    torch.tensor([1, 2], requires_grad=True)
except RuntimeError as e:
    print(str(e)[:70])
try:
    torch.tensor([1, 2]).requires_grad_()
except RuntimeError as e:
    print(type(e).__name__)

# %% backward without requires_grad
try:
    torch.tensor(1.0).backward()
except RuntimeError as e:
    print(str(e)[:70])

# %% backward of a vector without a gradient
x = torch.ones(3, requires_grad=True)
try:
    (x * 2).backward()
except RuntimeError as e:
    print(str(e)[:54])

# %% backward twice
x = torch.ones(3, requires_grad=True)
y = (x * x).sum()
y.backward()
try:
    y.backward()
except RuntimeError as e:
    print(str(e)[:62])
    print(type(e).__name__)

# %% numpy of a tensor that requires grad
x = torch.ones(2, requires_grad=True)
try:
    x.numpy()
except RuntimeError as e:
    print(str(e)[:85])
print(x.detach().numpy(), x.data.numpy(), x.detach().cpu().numpy(), x.numpy(force=True))

# %% leaf written in place
x = torch.ones(2, requires_grad=True)
try:
    x += 1
except RuntimeError as e:
    print(str(e)[:74])
try:
    x[0] = 5
except RuntimeError as e:
    print(type(e).__name__)
with torch.no_grad():
    x += 1
print(x)

# %% saved value modified
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = a.exp()
b.add_(1)
try:
    b.sum().backward()
except RuntimeError as e:
    print(type(e).__name__, "inplace" in str(e))

# %% version counters
x = torch.ones(2)
print(x._version)
x.add_(1)
x[0] = 3
print(x._version, x.detach()._version, x.view(2)._version, x.clone()._version)

# %% grad of unused input
x = torch.tensor(1.0, requires_grad=True)
y = torch.tensor(2.0, requires_grad=True)
z = x**2
try:
    torch.autograd.grad(z, [x, y])
except RuntimeError as e:
    print(str(e)[:135])
z = x**2
print(torch.autograd.grad(z, [x, y], allow_unused=True))
z = x**2
print(torch.autograd.grad(z, [x, y], materialize_grads=True))

# %% sizes that do not broadcast
try:
    torch.ones(2, 3) + torch.ones(4)
except RuntimeError as e:
    print(type(e).__name__)
try:
    torch.ones(2, 3) @ torch.ones(2, 3)
except RuntimeError as e:
    print(type(e).__name__)
try:
    torch.arange(6).view(4, 2)
except RuntimeError as e:
    print(str(e)[:43])

# %% indices out of range
x = torch.arange(3)
try:
    x[5]
except IndexError as e:
    print(str(e)[:45])
try:
    torch.ones(2, 2).sum(dim=3)
except IndexError as e:
    print(str(e)[:70])

# %% view of what is not contiguous
x = torch.arange(6).view(2, 3).t()
try:
    x.view(6)
except RuntimeError as e:
    print(type(e).__name__, "reshape" in str(e))
print(x.reshape(6), x.contiguous().view(6))

# %% the truth of many values
try:
    if torch.tensor([1, 2]):
        print("never")
except RuntimeError as e:
    print(str(e)[:61])
try:
    torch.tensor([1.0, 2.0]).item()
except RuntimeError as e:
    print(str(e)[:54])

# %% optimizers want leaves
try:
    torch.optim.SGD([torch.ones(1, requires_grad=True) * 2], lr=0.1)
except ValueError as e:
    print(str(e)[:32])
try:
    torch.optim.SGD([], lr=0.1)
except ValueError as e:
    print(str(e)[:37])
try:
    torch.optim.Adam([torch.ones(1)], lr=-1)
except ValueError as e:
    print(type(e).__name__)

# %% grad shapes
x = torch.ones(2, requires_grad=True)
y = x * 2
try:
    y.backward(torch.ones(3))
except RuntimeError as e:
    print(str(e)[:45])

# %% hooks on a chain for visualising gradients
grads = {}


def hook_of(name):
    def hook(grad):
        grads[name] = grad.abs().mean().item()

    return hook


torch.manual_seed(0)
x = torch.linspace(-1, 1, 6).reshape(2, 3)
ws = [torch.randn(3, 3, requires_grad=True) for i in range(4)]
h = x
for i, w in enumerate(ws):
    h = torch.sigmoid(h @ w)
    h.register_hook(hook_of(f"layer{i}"))
h.sum().backward()
for name, g in grads.items():
    print(f"{name} {g:.6f}")

# %% handles are removed
x = torch.tensor([1.0, 2.0], requires_grad=True)
h1 = x.register_hook(lambda g: g * 2)
h2 = x.register_hook(lambda g: g + 1)
(x**2).sum().backward()
print(x.grad)
h1.remove()
x.grad = None
(x**2).sum().backward()
print(x.grad)
h2.remove()
x.grad = None
(x**2).sum().backward()
print(x.grad)

# %% a with statement over a hook handle
x = torch.tensor([1.0], requires_grad=True)
with x.register_hook(lambda g: print("seen", g)):
    (x * 2).backward()
(x * 3).backward()
print(x.grad)

# %% clipping by a hook
x = torch.tensor([3.0, -4.0], requires_grad=True)
x.register_hook(lambda g: g.clamp(-1, 1))
(x**2).sum().backward()
print(x.grad)

# %% a hook may not change the shape
x = torch.tensor([3.0, -4.0], requires_grad=True)
x.register_hook(lambda g: g.sum())
try:
    (x**2).sum().backward()
except RuntimeError as e:
    print(type(e).__name__)

# %% nodes and their metadata
x = torch.ones(2, 3, requires_grad=True)
y = x.sum(dim=1)
z = y.mean()
print(z.grad_fn.name(), y.grad_fn.name(), z.grad_fn.next_functions[0][0] is y.grad_fn)
print(z.grad_fn.next_functions[0][1], len(y.grad_fn.next_functions))
acc = y.grad_fn.next_functions[0][0]
print(acc.name(), acc.variable is x, acc.next_functions)
print(y.grad_fn.metadata, type(z.grad_fn).__name__)

# %% saved attributes of nodes
a = torch.tensor([2.0, 3.0], requires_grad=True)
b = torch.tensor([4.0, 5.0], requires_grad=True)
m = a * b
print(m.grad_fn._saved_self, m.grad_fn._saved_other)
e = a.exp()
print(e.grad_fn._saved_result is e, torch.equal(e.grad_fn._saved_result, e))
p = a**3
print(p.grad_fn._saved_self, p.grad_fn._saved_exponent)
s = a.sum()
print(s.grad_fn._saved_self_sym_sizes)

# %% multi grad hook
from torch.autograd.graph import register_multi_grad_hook

a = torch.rand(2, 2, requires_grad=True)
b = torch.rand(2, 2, requires_grad=True)
c = a * b
d = a + b


def fn(grads):
    print([g is not None for g in grads])


handle = register_multi_grad_hook((a, b, c, d), fn)
c.sum().backward(retain_graph=True)
c.sum().backward(inputs=(a,), retain_graph=True)
handle.remove()
c.sum().backward()

# %% backward to chosen inputs
x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(3.0, requires_grad=True)
(x * y).backward(inputs=[x])
print(x.grad, y.grad)
(x * y).backward(inputs=y)
print(x.grad, y.grad)

# %% torch.autograd.backward of several
x = torch.tensor([1.0, 2.0], requires_grad=True)
a = x * 2
b = x**2
torch.autograd.backward([a.sum(), b.sum()])
print(x.grad)
x.grad = None
torch.autograd.backward([x * 2, x**2], grad_tensors=[torch.ones(2), torch.tensor([0.0, 1.0])])
print(x.grad)

# %% create_graph in backward
x = torch.tensor(3.0, requires_grad=True)
y = x**3
y.backward(create_graph=True)
g = x.grad
print(g)
x.grad = None
g.backward()
print(x.grad)

# %% detach, data, clone compared
x = torch.tensor([1.0, 2.0], requires_grad=True)
d, t, c = x.detach(), x.data, x.clone()
print(d.requires_grad, t.requires_grad, c.requires_grad, c.grad_fn.name())
d[0] = 100
print(x, t, c)
print(d.data_ptr() == x.data_ptr(), c.data_ptr() == x.data_ptr())
