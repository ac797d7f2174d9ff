"""Cells on modules, and on how tensors print."""

# ruff: noqa: E402, UP031
# The cells stand as a notebook has them.

import torch


# %% apply init
def init(m):
    if isinstance(m, torch.nn.Linear):
        torch.nn.init.constant_(m.weight, 0.5)
        torch.nn.init.zeros_(m.bias)


net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
net.apply(init)
print(net(torch.ones(1, 2)))


# %% parameter list and dict
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.ps = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(i + 1)) for i in range(2)])
        self.pd = torch.nn.ParameterDict({"w": torch.nn.Parameter(torch.zeros(2, 2))})


m = M()
print(m)
print([n for n, _ in m.named_parameters()])

# %% dtypes print
for dt in (
    torch.float64,
    torch.float16,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.bool,
    torch.complex64,
):
    print(torch.tensor([0, 1, 2]).to(dt))

# %% print wide and small
print(torch.tensor([1e-8, 1.0, 1e8]))
print(torch.tensor([0.001, 123456.0]))
print(torch.tensor([float("inf"), -float("inf"), float("nan"), 1.5]))
print(torch.tensor([[1, 20], [300, -4]]))
print(torch.tensor(3.0), torch.tensor([]), torch.zeros(0, 3))

# %% print complex and bool
print(torch.tensor([1 + 2j, -0.5j]))
print(torch.tensor([[True, False], [False, True]]))
print(torch.tensor(1 - 1j, dtype=torch.complex128))

# %% print 3d and 4d
print(torch.arange(8).reshape(2, 2, 2))
print(torch.arange(4.0).reshape(1, 2, 1, 2))

# %% print summarised
print(torch.arange(2000))
print(torch.ones(40, 40))

# %% print options
torch.set_printoptions(precision=2, sci_mode=False)
print(torch.tensor([3.14159, 1e-6, 1e6]))
torch.set_printoptions(profile="default")
print(torch.tensor([3.14159]))

# %% print with grad tails
x = torch.ones(2, requires_grad=True)
print(x, x * 2, (x * 2).detach(), x.view(1, 2), x[0], x.sum().double())

# %% format strings
x = torch.tensor(3.14159265)
print(f"{x:.3f} {x:10.2f}| {x:e}")
print(f"{x} {x!r}")
print(f"{torch.tensor([1, 2])}")
print("%.2f %d" % (x, torch.tensor(4)))

# %% indexing corners
x = torch.arange(12).reshape(3, 4)
print(x[-1], x[:, -1], x[1:, ::2], x[..., 0], x[None, 0].shape)
print(x[[0, 2], [1, 3]], x[torch.tensor([True, False, True])])
print(x[x > 5], x[:, [True, False, False, True]])

# %% index assignment corners
x = torch.zeros(3, 3)
x[0] = torch.tensor([1.0, 2.0, 3.0])
x[:, 1] = 9
x[torch.eye(3).bool()] = -1
x[[2, 2], [0, 1]] = torch.tensor([5.0, 6.0])
print(x)

# %% gradient through indexing
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
y = x[:, [0, 0, 2]].sum() + x[1, 1] * 10 + x[x > 3].prod()
y.backward()
print(x.grad)

# %% in place on slices with grad
x = torch.ones(4, requires_grad=True)
y = x * 2
y[1:3] *= 3
y[0] = 100
y.sum().backward()
print(y)
print(x.grad)

# %% in place versions
x = torch.ones(2)
print(x._version)
x.add_(1)
x[0] = 5
print(x._version)
v = x.view(2)
v.mul_(2)
print(x._version, v._version, x)

# %% strides and views
x = torch.arange(6).reshape(2, 3)
t = x.t()
print(t.stride(), t.is_contiguous(), x.stride(), x[:, 1].stride())
print(t.contiguous().stride(), t.reshape(6), x.data_ptr() == t.data_ptr())
print(x.expand(2, 2, 3).stride(), x.unsqueeze(1).shape, x.as_strided((2, 2), (1, 2)))

# %% view errors printed
x = torch.arange(6).reshape(2, 3)
for f in (lambda: x.t().view(6), lambda: x.view(4, 2), lambda: x.expand(3, 3)):
    try:
        f()
    except RuntimeError as e:
        print(e)

# %% broadcasting
a, b = torch.ones(3, 1), torch.arange(4)
print((a + b).shape, torch.broadcast_shapes((3, 1), (1, 4), (2, 1, 1)))
print(a * b)
w = torch.ones(1, 4, requires_grad=True)
(a * w).sum().backward()
print(w.grad)

# %% promotion
i, f, d = torch.tensor([1, 2]), torch.tensor([1.5, 2.5]), torch.tensor(2.0, dtype=torch.float64)
print(
    (i + f).dtype,
    (f * d).dtype,
    (i * d).dtype,
    (i / 2).dtype,
    (i // 2).dtype,
    (i + True).dtype,
    (f + 1j).dtype,
)
print(
    torch.result_type(i, 2.0),
    torch.promote_types(torch.int32, torch.float16),
    torch.can_cast(torch.float32, torch.int64),
)

# %% seeds
torch.manual_seed(42)
print(torch.rand(3))
print(torch.randn(2, 2))
print(torch.randint(0, 10, (5,)), torch.randperm(6))
torch.manual_seed(42)
print(torch.rand(1))

# %% generator state
g = torch.Generator().manual_seed(9)
s = g.get_state()
a = torch.rand(2, generator=g)
g.set_state(s)
print(torch.equal(a, torch.rand(2, generator=g)), g.initial_seed())

# %% numpy both ways
import numpy as np

a = np.arange(4, dtype=np.float32).reshape(2, 2)
t = torch.from_numpy(a)
t[0, 0] = 7
print(a)
a += 1
print(t, t.dtype)
print(np.asarray(t).dtype, np.sin(t.numpy())[0], torch.tensor(a).dtype, torch.as_tensor(a) is t)
print(t.numpy().sum(), (t.double().numpy() ** 0.5).round(2))

# %% numpy of grad errors
x = torch.ones(2, requires_grad=True)
for f in (x.numpy, lambda: np.array(x * 2)):
    try:
        f()
    except RuntimeError as e:
        print(e)
import numpy as np

print(x.detach().numpy())

# %% modes nest
print(torch.is_grad_enabled())
with torch.no_grad():
    print(torch.is_grad_enabled())
    with torch.enable_grad():
        print(torch.is_grad_enabled(), (torch.ones(1, requires_grad=True) * 2).requires_grad)


@torch.no_grad()
def f(x):
    return x * 2


print(f(torch.ones(1, requires_grad=True)).requires_grad)
with torch.inference_mode():
    y = torch.ones(2)
print(y.is_inference())

# %% errors of the graph
x = torch.ones(2, requires_grad=True)


def attempt(f):
    try:
        f()
    except Exception as e:
        print(type(e).__name__ + ":", e)


attempt(lambda: (x * 2).backward())
attempt(lambda: x.detach().sum().backward())
attempt(lambda: x.add_(1))
attempt(lambda: torch.autograd.grad((x * 2).sum(), torch.ones(1, requires_grad=True)))
attempt(lambda: x.long().requires_grad_())


# %% errors of shapes and dtypes
def attempt(f):
    try:
        f()
    except Exception as e:
        print(type(e).__name__ + ":", e)


attempt(lambda: torch.ones(2, 3) @ torch.ones(2, 3))
attempt(lambda: torch.ones(2) + torch.ones(3))
attempt(lambda: torch.cat([torch.ones(2), torch.ones(2, 2)]))
attempt(lambda: torch.ones(3)[5])
attempt(lambda: torch.tensor([1, 2]).mean())
attempt(lambda: torch.linalg.inv(torch.zeros(2, 2)))

# %% higher grads of norm and softmax
x = torch.tensor([3.0, 4.0], requires_grad=True)
n = x.norm()
(g,) = torch.autograd.grad(n, x, create_graph=True)
print(g, torch.autograd.grad(g.sum(), x)[0])
p = torch.softmax(x, 0)
print(torch.stack([torch.autograd.grad(p[i], x, retain_graph=True)[0] for i in range(2)]))

# %% allow unused and materialize
x, y = torch.ones(1, requires_grad=True), torch.ones(2, requires_grad=True)
print(torch.autograd.grad((x * 3).sum(), (x, y), allow_unused=True))
print(torch.autograd.grad((x * 3).sum(), (x, y), materialize_grads=True))

# %% batched grads
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x**2
print(torch.autograd.grad(y, x, torch.eye(2), is_grads_batched=True))

# %% retain graph and accumulate
x = torch.tensor(2.0, requires_grad=True)
y = x**2
y.backward(retain_graph=True)
y.backward(retain_graph=True)
print(x.grad)
y.backward()
try:
    y.backward()
except RuntimeError as e:
    print(str(e)[:60])
