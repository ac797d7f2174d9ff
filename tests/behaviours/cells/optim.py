"""Cells on the optimizers."""

# The cells stand as a notebook has them.

import torch

# %% 500 steps of SGD
x = torch.tensor(0.0, requires_grad=True)
optimizer = torch.optim.SGD(params=[x], lr=0.01)
for _ in range(500):
    optimizer.zero_grad()
    y = x**2 - 2 * x + 1
    y.backward()
    optimizer.step()
print("y=", y.data, ";", "x=", x.data)

# %% momentum, Nesterov and decay
for options in ({"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {"weight_decay": 0.1}):
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1, **options)
    for _ in range(5):
        optimizer.zero_grad()
        (x**2).sum().backward()
        optimizer.step()
        print(x.data)

# %% adaptive steps
for make in (torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop):
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    optimizer = make([x], lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        ((x - 3) ** 2).sum().backward()
        optimizer.step()
    print(x)

# %% a closure
x = torch.tensor(0.0, requires_grad=True)
optimizer = torch.optim.SGD([x], lr=0.25)


def closure():
    optimizer.zero_grad()
    loss = (x - 2) ** 2
    loss.backward()
    return loss


for _ in range(3):
    print(optimizer.step(closure), x.item())

# %% LBFGS
x = torch.tensor([-1.2, 1.0], requires_grad=True)
optimizer = torch.optim.LBFGS([x])


def closure():
    optimizer.zero_grad()
    loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    loss.backward()
    return loss


# In float32 the second step depends on the last digits of the first.
print(optimizer.step(closure), x.data)

# %% LBFGS with a line search
x = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    loss.backward()
    return loss


for _ in range(3):
    print(optimizer.step(closure), x.data)

# %% zero_grad
x = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([x], lr=0.1)
x.sum().backward()
optimizer.zero_grad(set_to_none=False)
print(x.grad)
optimizer.zero_grad()
print(x.grad)

# %% printed optimizer
x = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([x], lr=0.1, momentum=0.9)
print(optimizer.param_groups[0]["lr"], len(optimizer.param_groups), optimizer.defaults["momentum"])
optimizer.param_groups[0]["lr"] = 0.5
x.sum().backward()
optimizer.step()
print(x, optimizer.state[x]["momentum_buffer"])

# %% parameter groups
a = torch.ones(1, requires_grad=True)
b = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1)
(a + b).backward()
optimizer.step()
print(a, b)

# %% only leaves
x = torch.ones(1, requires_grad=True)
try:
    torch.optim.SGD([x * 2], lr=0.1)
except ValueError:
    print("leaves only")
try:
    torch.optim.SGD([], lr=0.1)
except ValueError:
    print("no parameters")
try:
    torch.optim.SGD(x, lr=0.1)
except TypeError:
    print("a list")
