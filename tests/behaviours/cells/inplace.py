"""Cells on writes in place, views in the graph, hooks and kinks."""

# The cells stand as a notebook has them.

import torch

# %% a leaf refuses
x = torch.ones(2, requires_grad=True)
for f in (
    lambda: x.add_(1),
    lambda: x.zero_(),
    lambda: x.__setitem__(0, 1.0),
    lambda: x.view(2).mul_(2),
):
    try:
        f()
    except RuntimeError:
        print("a leaf")
with torch.no_grad():
    x += 1
    x[0] = 10
print(x, x.is_leaf)

# %% an intermediate accepts
x = torch.ones(2, requires_grad=True)
y = x * 2
y += 1
y.mul_(3)
print(y)
y.sum().backward()
print(x.grad)

# %% a write by index
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * 1
y[1] = 7
y[2] = x[0] * 5
print(y)
y.sum().backward()
print(x.grad)

# %% zeros filled from the graph
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = torch.zeros(2, 2)
for i in range(2):
    for j in range(2):
        out[i, j] = x[i] * x[j]
print(out)
out.sum().backward()
print(x.grad)

# %% a view written to
x = torch.ones(2, 2, requires_grad=True)
y = x.clone()
v = y[0]
v.mul_(3)
print(y, v)
(y * y).sum().backward()
print(x.grad)

# %% a base written to
x = torch.ones(4, requires_grad=True)
y = x * 2
v = y.view(2, 2)
y.mul_(5)
print(v)
v.sum().backward()
print(x.grad)

# %% a saved value changed
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
z = y * y
y.add_(1)
try:
    z.sum().backward()
except RuntimeError:
    print("modified")

# %% a saved result changed
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.exp()
y.mul_(2)
try:
    y.sum().backward()
except RuntimeError:
    print("modified")

# %% nothing saved, nothing lost
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x + 1
z = y * 2
y.add_(1)
z.sum().backward()
print(x.grad)

# %% a write through data is not seen
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * x
x.data.add_(1)
y.sum().backward()
print(x.grad)

# %% a write through detach is seen
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * x
x.detach().add_(1)
try:
    y.sum().backward()
except RuntimeError:
    print("modified")

# %% names of nodes after writes
x = torch.ones(3, requires_grad=True)
y = x * 1
for f in (
    lambda: y.add_(1),
    lambda: y.mul_(2),
    lambda: y.zero_(),
    lambda: y.fill_(2.0),
    lambda: y.copy_(x),
    lambda: y.exp_(),
    lambda: y.clamp_(0, 1),
    lambda: y.masked_fill_(y > 0, 3.0),
    lambda: y.sub_(x),
    lambda: y.div_(2),
):
    print(f().grad_fn)
y[0] = 1
print(y.grad_fn)
y[:] = x
print(y.grad_fn)

# %% expanded memory refuses
x = torch.ones(1).expand(3)
try:
    x.add_(1)
except RuntimeError:
    print("clone it")

# %% masked writes
x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
y = x * 2
y[y < 0] = 0
y.sum().backward()
print(y, x.grad)

# %% swapping rows
x = torch.arange(4.0).view(2, 2).requires_grad_()
y = x.clone()
y[[0, 1]] = y[[1, 0]]
(y * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
print(y, x.grad)

# %% hooks see and replace
x = torch.tensor(2.0, requires_grad=True)
y = x * 3
y.register_hook(lambda g: print("y", g))
x.register_hook(lambda g: g * 10)
y.backward()
print(x.grad)

# %% hooks in order
x = torch.tensor(3.0, requires_grad=True)
y1 = x + 1
y2 = 2 * x
y1.register_hook(lambda g: print("y1", g))
y2.register_hook(lambda g: print("y2", g))
d = y1 - y2
loss = d**2
loss.retain_grad()
loss.backward()
print(loss.grad, x.grad)

# %% several hooks on one tensor
x = torch.tensor(1.0, requires_grad=True)
x.register_hook(lambda g: g + 1)
h = x.register_hook(lambda g: g * 2)
(x * 1).backward()
print(x.grad)
h.remove()
x.grad = None
(x * 1).backward()
print(x.grad)

# %% a hook's order with retain_grad
x = torch.tensor(1.0, requires_grad=True)
y = x * 2
y.retain_grad()
y.register_hook(lambda g: g * 100)
(y * 3).backward()
print(y.grad, x.grad)

# %% post accumulate hooks
x = torch.tensor(1.0, requires_grad=True)


def clear(p):
    print("accumulated", p.grad)
    p.grad = None


x.register_post_accumulate_grad_hook(clear)
(x * 5).backward()
print(x.grad)

# %% node hooks
x = torch.tensor(2.0, requires_grad=True)
y = x * x
y.grad_fn.register_prehook(lambda gs: print("before", gs))
y.grad_fn.register_hook(lambda inputs, outputs: print("after", inputs, outputs))
y.backward()
print(x.grad)

# %% a hook on what needs no grad
for f in (lambda: torch.ones(1).register_hook(print), lambda: torch.ones(1).retain_grad()):
    try:
        f()
    except RuntimeError:
        print("no grad")

# %% a hook removed by with
x = torch.tensor(1.0, requires_grad=True)
with x.register_hook(lambda g: print("inside", g)):
    (x * 2).backward()
(x * 2).backward()
print(x.grad)

# %% gradients recorded in hooks
seen = {}
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = (x * 2).sigmoid()
h.register_hook(lambda g: seen.update(h=g))
h.sum().backward()
print(seen)

# %% kinks: absolute value and rectifier
for f in (torch.abs, torch.relu, torch.sqrt, torch.norm, torch.nn.functional.hardtanh):
    x = torch.tensor([0.0], requires_grad=True)
    f(x).sum().backward()
    print(x.grad)

# %% kinks: clamp at its bounds
x = torch.tensor([-1.0, 0.0, 1.0, 2.0], requires_grad=True)
x.clamp(-1, 1).sum().backward()
print(x.grad)

# %% kinks: ties
x = torch.tensor([1.0, 3.0, 3.0], requires_grad=True)
y = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
torch.maximum(x, y).sum().backward()
print(x.grad, y.grad)
for f in (
    lambda: x.amax(),
    lambda: x.max(),
    lambda: x.max(0)[0],
    lambda: x.min(),
    lambda: torch.fmax(x, y).sum(),
):
    print(torch.autograd.grad(f(), x)[0])

# %% kinks: products with zeros
x = torch.tensor([0.0, 2.0, 3.0], requires_grad=True)
x.prod().backward()
print(x.grad)
x = torch.tensor([0.0, 0.0, 3.0], requires_grad=True)
x.prod().backward()
print(x.grad)

# %% kinks: powers
x = torch.tensor(0.0, requires_grad=True)
for n in (0, 1, 2, 0.5):
    print(torch.autograd.grad(x**n, x)[0])
y = torch.tensor(0.0, requires_grad=True)
print(torch.autograd.grad(x**y, [x, y]))

# %% kinks: rounding
x = torch.tensor([1.5, -0.5], requires_grad=True)
for f in (torch.floor, torch.ceil, torch.round, torch.trunc, torch.frac):
    print(torch.autograd.grad(f(x).sum(), x)[0])

# %% kinks: spread of a constant
x = torch.ones(3, requires_grad=True)
x.var().backward()
print(x.grad)

# %% kinks: logarithms
x = torch.tensor([0.0, -1.0], requires_grad=True)
x.log().sum().backward()
print(x.grad)
