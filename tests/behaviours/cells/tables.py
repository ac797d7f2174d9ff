"""Cells with tables of rows, strides, slopes of samples, outputs of namespaces."""

# ruff: noqa: E402
# The cells stand as a notebook has them.

import torch

# %% embedding with a bound on norms
import torch.nn.functional as F

w = torch.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]], requires_grad=True)
r = F.embedding(torch.tensor([0, 1, 0]), w, max_norm=1.0)
r.sum().backward()
print(r)
print(w)
print(w.grad)
w = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
print(F.embedding(torch.tensor([[0], [1]]), w, max_norm=1.0, norm_type=1.0), w)
for wrong in (-1, 2):
    try:
        print(F.embedding(torch.tensor([0, wrong]), w))
    except IndexError as error:
        print(str(error)[:25])

# %% embedding whose gradients are shared
import torch.nn as nn
import torch.nn.functional as F

w = torch.ones(3, 2, requires_grad=True)
r = F.embedding(torch.tensor([0, 1, 0, 0]), w, scale_grad_by_freq=True)
(r * torch.tensor([[1.0], [2.0], [3.0], [4.0]])).sum().backward()
print(r.grad_fn.name(), w.grad)
print(nn.Embedding(3, 2, padding_idx=1, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True))

# %% embedding bags: sum, mean, greatest
import torch.nn.functional as F

for mode in ("sum", "mean", "max"):
    w = torch.tensor([[3.0, 4.0], [0.3, 5.0], [6.0, 8.0]], requires_grad=True)
    i, o = torch.tensor([0, 1, 0, 2]), torch.tensor([0, 3, 3])
    r = F.embedding_bag(i, w, o, mode=mode)
    (r * torch.tensor([[1.0, 2.0]])).sum().backward()
    print(r)
    print(w.grad)
    o = torch.tensor([0, 3, 3, 4])
    print(F.embedding_bag(i, w, o, mode=mode, include_last_offset=True, padding_idx=0).tolist())

# %% embedding bags: weights, rows, refusals
import torch.nn.functional as F

w = torch.tensor([[3.0, 4.0], [0.5, 5.0], [6.0, 8.0]], requires_grad=True)
s = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
i = torch.tensor([[0, 1], [2, 2]])
r = F.embedding_bag(i, w, mode="sum", per_sample_weights=s)
r.sum().backward()
print(r, w.grad, s.grad)
print(F.embedding_bag(i, w))
print(F.embedding_bag(torch.zeros(0).long(), w, torch.tensor([0, 0])))
for call in (
    lambda: F.embedding_bag(i, w, torch.tensor([0])),
    lambda: F.embedding_bag(torch.tensor([0, 1]), w),
    lambda: F.embedding_bag(torch.tensor([0, 1]), w, torch.tensor([1])),
    lambda: F.embedding_bag(i, w, mode="min"),
):
    try:
        print(call())
    except (ValueError, RuntimeError) as error:
        print(type(error).__name__)

# %% embedding bag as a module
import torch.nn as nn

for m in (
    nn.EmbeddingBag(3, 2),
    nn.EmbeddingBag(3, 2, mode="sum"),
    nn.EmbeddingBag(3, 2, max_norm=1.0, scale_grad_by_freq=True, padding_idx=0),
):
    print(m, m.weight.shape)
m = nn.EmbeddingBag(2, 2)
with torch.no_grad():
    m.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, 6.0]]))
print(m(torch.tensor([[0, 1], [1, 1]])), m.weight.requires_grad)
print(m(torch.tensor([0, 1, 1]), torch.tensor([0, 2])))

# %% gradient of samples
x = torch.tensor([1.0, 2.0, 4.0, 8.0], requires_grad=True)
print(torch.gradient(x))
print(torch.gradient(x, spacing=2.0))
print(torch.gradient(x, edge_order=2))
at = torch.tensor([0.0, 1.0, 3.0, 7.0])
print(torch.gradient(x * x, spacing=(at,)))
print(torch.gradient(x * x, spacing=(at,), edge_order=2))
print(torch.autograd.grad((torch.gradient(x)[0] ** 2).sum(), x))
print(torch.gradient(x)[0].grad_fn.name(), torch.gradient(torch.arange(4)))

# %% gradient along dimensions
m = torch.arange(12.0).view(3, 4) ** 2
print(torch.gradient(m))
print(torch.gradient(m, dim=1))
print(torch.gradient(m, dim=(1, 0), spacing=[2.0, 3.0], edge_order=2))
print(torch.gradient(m, spacing=(torch.tensor([0.0, 1.0, 3.0]), torch.arange(4.0))))
for wrong in ({"spacing": [1.0, 2.0, 3.0]}, {"edge_order": 3}, {"dim": 5}):
    try:
        print(torch.gradient(m, **wrong))
    except (RuntimeError, IndexError) as error:
        print(type(error).__name__)

# %% as_strided reads memory
m = torch.arange(12.0).view(3, 4)
print(torch.as_strided(m, (2, 2), (1, 2)))
print(m.as_strided((2, 2), (1, 2), 3))
print(m.t().as_strided((3, 4), (4, 1)))
print(m[1:].as_strided((2,), (3,)), m.as_strided((), ()), m.as_strided((2, 0), (1, 1)).shape)
print(m.as_strided((3, 3), (0, 1)).stride())
for size, stride in (((3,), (20,)), ((3,), (2, 1)), ((3,), (-1,))):
    try:
        print(m.as_strided(size, stride))
    except RuntimeError as error:
        print(str(error)[:8])

# %% as_strided in the graph
x = torch.tensor([1.0, 2.0, 4.0, 8.0], requires_grad=True)
z = (x * 1).as_strided((3, 2), (1, 1))
(z * z).sum().backward()
print(z)
print(x.grad)
y = torch.zeros(4)
v = y.as_strided((2,), (2,))
v.add_(1)
print(y, v.stride(), v._version, y._version)
w = torch.arange(4.0, requires_grad=True)
y = w * 1
v = y.as_strided((2,), (2,), 1)
v.mul_(3)
y.sum().backward()
print(w.grad, y.detach(), v.grad_fn.name())

# %% what slogdet, logdet and trapezoid show
A = torch.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
print(torch.slogdet(A))
print(torch.linalg.slogdet(A))
print(torch.logdet(A))
x = torch.tensor([1.0, 2.0, 4.0, 8.0], requires_grad=True)
print(torch.trapezoid(x), torch.trapezoid(x, dx=2.0), torch.trapezoid(x, x.detach()))

# %% out= of Fourier transforms
x = torch.tensor([1.0, 2.0, 4.0, 8.0])
c = torch.empty(3, dtype=torch.complex64)
print(torch.fft.rfft(x, out=c) is c, c)
back = torch.empty(4)
print(torch.fft.irfft(c, out=back), back)
print(torch.fft.fft2(torch.eye(2), out=torch.empty(2, 2, dtype=torch.complex64)))
print(torch.fft.fftfreq(4, out=back), torch.fft.rfftfreq(4, out=torch.empty(3)))
try:
    torch.fft.rfft(x.requires_grad_(), out=c)
except RuntimeError as error:
    print("out=..." in str(error))


# %% what a function's node does not know
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.factor = 2
        return x * ctx.factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor


y = Twice.apply(torch.ones(2, requires_grad=True))
print(y.grad_fn.factor)
try:
    print(y.grad_fn.nothing)
except AttributeError as error:
    print(error)
