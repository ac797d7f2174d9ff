"""Cells on optimizers: how they print, what they save, each of them for some steps."""

# ruff: noqa: B007, C408, E402, E741
# The cells stand as a notebook has them.

import torch

# %% optimizers print their groups
p = torch.nn.Parameter(torch.zeros(2))
print(torch.optim.SGD([p], lr=0.1))
print(torch.optim.SGD([p], lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4))
print(torch.optim.Adam([p]))
print(torch.optim.AdamW([p], lr=1e-2))
print(torch.optim.RMSprop([p]))
print(torch.optim.Adagrad([p]))

# %% parameter groups
a = torch.zeros(1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 1e-3}], lr=1e-2, momentum=0.9)
print(opt)
print(len(opt.param_groups), opt.param_groups[1]["lr"])
for g in opt.param_groups:
    g["lr"] *= 0.1
print([round(g["lr"], 6) for g in opt.param_groups])

# %% state dict of an optimizer
p = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([p], lr=0.1, momentum=0.9)
(p**2).backward()
opt.step()
print(opt.state_dict())
for var_name in opt.state_dict():
    print(var_name)


# %% each optimizer for five steps on a bowl
def run(make):
    p = torch.tensor([1.0, -1.5], requires_grad=True)
    opt = make([p])
    for i in range(5):
        opt.zero_grad()
        loss = (p**2 * torch.tensor([1.0, 4.0])).sum()
        loss.backward()
        opt.step()
    return p.detach()


for make in [
    lambda p: torch.optim.SGD(p, 0.05),
    lambda p: torch.optim.SGD(p, 0.05, momentum=0.5, dampening=0.1),
    lambda p: torch.optim.Adam(p, 0.1),
    lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.1),
    lambda p: torch.optim.RMSprop(p, 0.05),
    lambda p: torch.optim.Adagrad(p, 0.5),
    lambda p: torch.optim.Adadelta(p, 1.0),
    lambda p: torch.optim.Adamax(p, 0.1),
    lambda p: torch.optim.NAdam(p, 0.1),
    lambda p: torch.optim.RAdam(p, 0.1),
    lambda p: torch.optim.Rprop(p, 0.1),
]:
    print(run(make))

# %% LBFGS with a closure on Rosenbrock
p = torch.tensor([-1.2, 1.0], requires_grad=True)
opt = torch.optim.LBFGS([p], lr=1, max_iter=30, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    loss = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
    loss.backward()
    return loss


for i in range(3):
    l = opt.step(closure)
print(p.detach().round(decimals=3))


# %% an optimiser of one's own
class PlainSGD:
    def __init__(self, params, lr):
        self.params, self.lr = list(params), lr

    def step(self):
        with torch.no_grad():
            for p in self.params:
                if p.grad is not None:
                    p.add_(p.grad, alpha=-self.lr)

    def zero_grad(self):
        for p in self.params:
            p.grad = None


x = torch.tensor([5.0], requires_grad=True)
opt = PlainSGD([x], lr=0.1)
for i in range(10):
    opt.zero_grad()
    ((x - 2) ** 2).backward()
    opt.step()
print(x)

# %% a subclass of Optimizer
from torch.optim import Optimizer


class SignSGD(Optimizer):
    def __init__(self, params, lr=0.01):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.add_(p.grad.sign(), alpha=-group["lr"])


x = torch.tensor([1.0, -1.0], requires_grad=True)
opt = SignSGD([x], lr=0.25)
for i in range(3):
    opt.zero_grad()
    (x**2).sum().backward()
    opt.step()
print(x)
print(opt)

# %% clipping before a step
x = torch.tensor([10.0, -10.0], requires_grad=True)
opt = torch.optim.SGD([x], lr=1.0)
(x**2).sum().backward()
n = torch.nn.utils.clip_grad_norm_([x], max_norm=1.0)
print(n, x.grad, x.grad.norm())
opt.step()
print(x)

# %% zero_grad sets None
x = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([x], lr=0.1)
(x * 2).backward()
opt.zero_grad()
print(x.grad)
(x * 2).backward()
opt.zero_grad(set_to_none=False)
print(x.grad)

# %% exponential moving average of weights
w = torch.tensor([1.0, 2.0], requires_grad=True)
ema = w.detach().clone()
for i in range(3):
    with torch.no_grad():
        w += 1
    ema.lerp_(w.detach(), 0.1)
    print(ema)
ema.mul_(0.9).add_(w.detach(), alpha=0.1)
print(ema)

# %% maximise
x = torch.tensor([0.5], requires_grad=True)
opt = torch.optim.SGD([x], lr=0.1, maximize=True)
for i in range(3):
    opt.zero_grad()
    (-((x - 2) ** 2)).backward()
    opt.step()
print(x)

# %% weight decay against a penalty in the loss
a = torch.tensor([1.0, -2.0], requires_grad=True)
b = a.detach().clone().requires_grad_()
oa = torch.optim.SGD([a], lr=0.1, weight_decay=0.1)
ob = torch.optim.SGD([b], lr=0.1)
for i in range(3):
    oa.zero_grad()
    ob.zero_grad()
    a.sum().backward()
    (b.sum() + 0.05 * (b**2).sum()).backward()
    oa.step()
    ob.step()
print(a, b)

# %% step returns the loss of the closure
x = torch.tensor([3.0], requires_grad=True)
opt = torch.optim.SGD([x], lr=0.1)


def closure():
    opt.zero_grad()
    loss = (x**2).sum()
    loss.backward()
    return loss


print(opt.step(closure), opt.step(closure), opt.step(closure))
