"""Cells on the functional transforms, then on optimisers and their schedules."""

# ruff: noqa: E402, E731, F811, I001
# The cells stand as a notebook has them.

import torch


# %% functional strict
def f(x):
    return torch.tensor([1.0, 2.0])


try:
    torch.autograd.functional.jacobian(f, torch.ones(2), strict=True)
except RuntimeError as e:
    print(e)

# %% functional vjp needs v
try:
    torch.autograd.functional.vjp(lambda x: x * 2, torch.ones(2))
except RuntimeError as e:
    print(e)
try:
    torch.autograd.functional.vjp(lambda x: x * 2, torch.ones(2), torch.ones(3))
except RuntimeError as e:
    print(e)

# %% func grad argnums and aux
from torch.func import grad, grad_and_value


def loss(w, b, x):
    y = w * x + b
    return (y**2).sum(), y


g, aux = grad(loss, argnums=(0, 1), has_aux=True)(
    torch.tensor(2.0), torch.tensor(1.0), torch.tensor([1.0, 3.0])
)
print(g, aux)
print(grad_and_value(lambda x: x.sin())(torch.tensor(0.5)))

# %% func grad of vector raises
from torch.func import grad

try:
    grad(lambda x: x * 2)(torch.ones(2))
except RuntimeError as e:
    print(e)

# %% func vmap in dims out dims
from torch.func import vmap

a = torch.arange(6.0).reshape(2, 3)
print(vmap(torch.dot)(a, a))
print(vmap(lambda x, y: x * y, in_dims=(0, None), out_dims=1)(a, torch.tensor([1.0, 10.0, 100.0])))
print(vmap(lambda d: d["x"].sum() + d["y"])({"x": a, "y": torch.tensor([1.0, 2.0])}))

# %% func per sample gradients
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
lin = torch.nn.Linear(2, 1)
params = dict(lin.named_parameters())


def loss(params, x, y):
    return ((functional_call(lin, params, (x,)) - y) ** 2).mean()


xs = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, -1.0]])
ys = torch.tensor([[0.0], [1.0], [2.0]])
gs = vmap(grad(loss), in_dims=(None, 0, 0))(params, xs, ys)
for k, v in gs.items():
    print(k, v)

# %% func jacrev jacfwd hessian agree
from torch.func import jacrev, jacfwd, hessian

f = lambda x: torch.stack([x[0] * x[1], x.sum() ** 2, x[1].exp()])
x = torch.tensor([1.0, 0.5])
print(jacrev(f)(x))
print(torch.allclose(jacrev(f)(x), jacfwd(f)(x)))
print(hessian(lambda x: f(x).sum())(x))

# %% func jvp vjp linearize
from torch.func import jvp, vjp

out, tangent = jvp(
    lambda x, y: x * y,
    (torch.tensor(2.0), torch.tensor(3.0)),
    (torch.tensor(1.0), torch.tensor(0.5)),
)
print(out, tangent)
out, pull = vjp(lambda x: (x**2, x.sum()), torch.tensor([1.0, 2.0]))
print(out)
print(pull((torch.tensor([1.0, 1.0]), torch.tensor(10.0))))

# %% forward ad dual
import torch.autograd.forward_ad as fwAD

x = torch.tensor([1.0, 2.0])
with fwAD.dual_level():
    d = fwAD.make_dual(x, torch.tensor([1.0, 0.0]))
    y = (d**2).sum()
    print(fwAD.unpack_dual(y))
    print(fwAD.unpack_dual(d).tangent)

# %% func functional_call buffers
from torch.func import functional_call

bn = torch.nn.BatchNorm1d(2).eval()
out = functional_call(
    bn, {"weight": torch.tensor([2.0, 3.0]), "bias": torch.tensor([1.0, 1.0])}, (torch.ones(1, 2),)
)
print(out)
print(bn.weight)

# %% sgd with momentum and nesterov
w = torch.tensor([1.0, 2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)
for _ in range(3):
    opt.zero_grad()
    (w**2).sum().backward()
    opt.step()
    print(w.detach())
print(opt)

# %% adam state
w = torch.tensor([1.0, -1.0], requires_grad=True)
opt = torch.optim.Adam([w], lr=0.01)
(w**2).sum().backward()
opt.step()
sd = opt.state_dict()
print(sd["param_groups"][0]["lr"], sd["param_groups"][0]["params"], sorted(sd["state"][0]))
print(sd["state"][0]["step"], sd["state"][0]["exp_avg"])

# %% lbfgs closure
x = torch.tensor([-1.2, 1.0], requires_grad=True)
opt = torch.optim.LBFGS([x], lr=1, max_iter=20, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    loss.backward()
    return loss


for _ in range(3):
    print(f"{opt.step(closure).item():.4f}")
print(x.detach())

# %% step with closure returns the loss
w = torch.tensor(3.0, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.5)


def closure():
    opt.zero_grad()
    loss = (w - 1) ** 2
    loss.backward()
    return loss


print(opt.step(closure))
print(w)

# %% param groups and schedulers
a, b = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(2))
opt = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.1)
for _ in range(5):
    opt.step()
    sched.step()
    print(sched.get_last_lr())

# %% schedulers cosine and lambda
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR

w = torch.nn.Parameter(torch.ones(1))
opt = torch.optim.Adam([w], lr=1.0)
s1 = LambdaLR(opt, lambda e: 0.5**e)
for _ in range(3):
    opt.step()
    s1.step()
    print(round(opt.param_groups[0]["lr"], 6))
opt = torch.optim.SGD([w], lr=1.0)
s2 = CosineAnnealingLR(opt, T_max=4)
for _ in range(4):
    opt.step()
    s2.step()
    print(f"{s2.get_last_lr()[0]:.5f}")

# %% reduce on plateau
from torch.optim.lr_scheduler import ReduceLROnPlateau

w = torch.nn.Parameter(torch.ones(1))
opt = torch.optim.SGD([w], lr=1.0)
s = ReduceLROnPlateau(opt, patience=1, factor=0.5)
for v in (1.0, 1.0, 1.0, 0.5, 0.6, 0.7, 0.8):
    s.step(v)
    print(opt.param_groups[0]["lr"])

# %% one cycle and exponential
from torch.optim.lr_scheduler import OneCycleLR

w = torch.nn.Parameter(torch.ones(1))
opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
s = OneCycleLR(opt, max_lr=1.0, total_steps=6)
for _ in range(5):
    opt.step()
    s.step()
    print(f"{s.get_last_lr()[0]:.4f} {opt.param_groups[0]['momentum']:.4f}")

# %% sequential scheduler
from torch.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR

w = torch.nn.Parameter(torch.ones(1))
opt = torch.optim.SGD([w], lr=1.0)
s = SequentialLR(opt, [ConstantLR(opt, 0.1, 2), ExponentialLR(opt, 0.9)], milestones=[2])
for _ in range(5):
    opt.step()
    s.step()
    print(f"{opt.param_groups[0]['lr']:.4f}")


# %% module repr nested
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Conv2d(1, 4, 3, padding=1)
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])
        self.heads = torch.nn.ModuleDict(
            {"a": torch.nn.Linear(4, 1, bias=False), "b": torch.nn.Dropout(0.2)}
        )
        self.act = torch.nn.LeakyReLU(0.1)


net = Net()
print(net)
print([n for n, _ in net.named_modules()])
print(sum(p.numel() for p in net.parameters()))

# %% named children and buffers
bn = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
for n, c in bn.named_children():
    print(n, c)
for n, b in bn.named_buffers():
    print(n, b, b.dtype)
print(list(bn.state_dict()))

# %% state dict load messages
a, b = torch.nn.Linear(2, 2), torch.nn.Linear(3, 2)
try:
    a.load_state_dict(b.state_dict())
except RuntimeError as e:
    print(e)
print(a.load_state_dict({"weight": torch.zeros(2, 2)}, strict=False))

# %% forward hooks
lin = torch.nn.Linear(2, 1, bias=False)
with torch.no_grad():
    lin.weight.fill_(2.0)
h1 = lin.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
h2 = lin.register_forward_hook(lambda m, args, out: out * 10)
print(lin(torch.ones(1, 2)))
h1.remove()
print(lin(torch.ones(1, 2)))
h2.remove()
print(lin(torch.ones(1, 2)))

# %% full backward hook
lin = torch.nn.Linear(2, 1, bias=False)
with torch.no_grad():
    lin.weight.copy_(torch.tensor([[1.0, -1.0]]))
lin.register_full_backward_hook(lambda m, gi, go: print("gi", gi, "go", go))
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
lin(x).sum().backward()

# %% freeze and requires_grad_
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
net[0].requires_grad_(False)
print([(n, p.requires_grad) for n, p in net.named_parameters()])
net(torch.ones(1, 2)).sum().backward()
print(net[0].weight.grad, net[1].weight.grad is not None)
net.zero_grad()
print(net[1].weight.grad)

# %% train eval dropout
torch.manual_seed(0)
d = torch.nn.Dropout(0.5)
print(d(torch.ones(8)))
d.eval()
print(d(torch.ones(8)), d.training)
