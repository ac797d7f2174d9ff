"""Cells on how tensors print."""

# ruff: noqa: UP031
# The cells stand as a notebook has them.

import torch

# %% decimals
print(torch.tensor(3.14159265), torch.tensor([1.0, 2.5]), torch.tensor([1.0, 2.0]))
print(torch.tensor([0.1, 100.25]), torch.tensor([-102.4, 0.5]), torch.tensor(1e-3))

# %% scientific
print(torch.tensor([1e-5, 1.0]), torch.tensor([1e9]), torch.tensor([123456.0, 0.001]))
print(torch.tensor(1e10), torch.tensor([1.0, 1001.5]), torch.tensor([1e-4]))

# %% nan and infinities print
print(
    torch.tensor([float("nan"), 1.0]), torch.tensor([float("inf"), -2.5]), torch.tensor(-torch.inf)
)

# %% aligned rows
print(torch.tensor([[1.0, -200.5], [30.25, 4.0]]))
print(torch.tensor([[1, -200], [30, 4]]))
print(torch.tensor([[True], [False]]))

# %% matrices in a stack
print(torch.zeros(2, 2, 2))
print(torch.zeros(2, 1, 2, 2, dtype=torch.int64))

# %% broken rows
print(torch.arange(30))
print(torch.linspace(0, 1, 23))

# %% summarised
print(torch.arange(2000))
print(torch.zeros(40, 40))

# %% empty
print(torch.tensor([]), torch.zeros(0, 3), torch.zeros(2, 0, dtype=torch.int64), [torch.tensor(1)])

# %% tails
x = torch.ones(2, requires_grad=True)
print(x)
print(x * 2)
print(torch.ones(2, dtype=torch.float64, requires_grad=True))
print((x.double() * 2).sum())
print(torch.tensor([1], dtype=torch.int32), torch.tensor([1], dtype=torch.uint8))
print(x.detach(), x.data, x.grad, x.sum().item())

# %% a long tail
x = torch.full((12,), 0.12345, requires_grad=True)
print(x)
print(x.exp())
print(x.view(3, 4) * 1000)

# %% print options
torch.set_printoptions(precision=2)
print(torch.tensor([1.23456]))
torch.set_printoptions(sci_mode=True)
print(torch.tensor([1.5]))
torch.set_printoptions(profile="default")
print(torch.tensor([1.23456]))

# %% repr and str
x = torch.tensor([1.0])
print(repr(x), str(x), f"{x}", f"{x!r}", "%s" % x, [x], {"x": x})

# %% parameters of formats
print(f"{torch.tensor(3.14159):.3f} {torch.tensor(7)} {torch.tensor(1.0):8.2f}|")
