"""Cells on what operators give, print and pass back."""

# ruff: noqa: E402
# The cells stand as a notebook has them.

import numpy as np
import torch

# %% cat, stack, chunk, split
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
c = torch.cat([a, b, a])
print(c)
s = torch.stack([a, b], dim=1)
print(s)
x, y, z = c.chunk(3)
print(x, y, z)
p, q = c.split([2, 4])
print(p, q)
(c * torch.arange(6.0)).sum().backward()
print(a.grad, b.grad)
print(torch.hstack([a, b]), torch.vstack([a, b]), torch.concat([a, b]))

# %% where and masked_fill
x = torch.tensor([-1.0, 2.0, -3.0], requires_grad=True)
y = torch.where(x > 0, x**2, x * 0.1)
print(y)
y.sum().backward()
print(x.grad)
m = x.masked_fill(x < 0, 0.0)
print(m)
print(torch.masked_select(x, x > 0), x[x < 0])

# %% gather and scatter
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
idx = torch.tensor([[0, 2], [1, 1]])
g = x.gather(1, idx)
print(g)
g.sum().backward()
print(x.grad)
src = torch.tensor([[10.0, 20.0]], requires_grad=True)
out = torch.zeros(2, 3).scatter(1, torch.tensor([[0, 2]]), src)
print(out)
out.sum().backward()
print(src.grad)
print(torch.zeros(3).scatter_add_(0, torch.tensor([0, 0, 2]), torch.ones(3)))
print(torch.zeros(3).index_add(0, torch.tensor([1, 1]), torch.tensor([1.0, 2.0])))
print(
    x.take_along_dim(torch.tensor([[0], [2]]), dim=1),
    torch.index_select(x, 1, torch.tensor([2, 0])),
)

# %% einsum in several costumes
a = torch.arange(4.0).reshape(2, 2).requires_grad_()
b = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
print(torch.einsum("ij,jk->ik", a, b))
print(torch.einsum("ij,ij->", a, b), torch.einsum("ii", a), torch.einsum("ij->ji", a))
e = torch.einsum("ij,kj->ik", a, b).sum()
e.backward()
print(a.grad, b.grad)
print(torch.einsum("bij,bjk->bik", torch.ones(2, 2, 3), torch.ones(2, 3, 1)).shape)

# %% reductions and their gradients
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
for f in [
    lambda t: t.sum(),
    lambda t: t.mean(),
    lambda t: t.prod(),
    lambda t: t.std(),
    lambda t: t.var(),
    lambda t: t.logsumexp(0).sum(),
    lambda t: t.norm(),
    lambda t: t.median(),
    lambda t: t.max(),
    lambda t: t.cumsum(0).sum(),
    lambda t: t.cumprod(1).sum(),
]:
    x.grad = None
    y = f(x)
    y.backward()
    print(y, x.grad)

# %% reductions by dimension
x = torch.tensor([[1.0, 5.0, 2.0], [4.0, 0.0, 3.0]])
print(x.sum(0), x.sum(1, keepdim=True), x.mean(dim=1), x.max(1), x.min(dim=0))
print(x.argmax(1), x.argmin(0), x.sort(dim=1), x.topk(2))
print(x.std(0), x.var(1, unbiased=False), x.median(1), torch.aminmax(x))
print(torch.var_mean(x, dim=1), torch.logsumexp(x, 1), x.kthvalue(2))

# %% grad_fn names of common operations
x = torch.tensor([[0.5, 0.2], [0.3, 0.4]], requires_grad=True)
for f in [
    torch.sin,
    torch.cos,
    torch.exp,
    torch.log,
    torch.tanh,
    torch.sigmoid,
    torch.sqrt,
    torch.abs,
    torch.neg,
    torch.relu,
    torch.t,
    torch.sum,
    torch.mean,
    torch.prod,
    torch.det,
    torch.trace,
    torch.norm,
    torch.erf,
    torch.clone,
    torch.reciprocal,
    torch.square,
    torch.log1p,
    torch.softmax,
]:
    y = f(x, 0) if f is torch.softmax else f(x)
    print(f.__name__, y.grad_fn.name())
for y in [
    x + 1,
    x - 1,
    1 - x,
    x * 2,
    x / 2,
    2 / x,
    x**2,
    2**x,
    x @ x,
    x[0],
    x[:, 1],
    x.view(4),
    x.reshape(4),
    x.T,
    x.transpose(0, 1),
    x.permute(1, 0),
    x.unsqueeze(0),
    x.squeeze(),
    x.expand(2, 2, 2),
    x.repeat(2, 1),
    x.flatten(),
    x.double(),
    x.clamp(min=0),
    x.max(),
    x.max(0)[0],
    x.sort()[0],
    x.cumsum(0),
    x.tril(),
    x.diagonal(),
    x.contiguous(),
    x.mm(x),
    x.mv(x[0]),
    x[0].dot(x[1]),
    x[0].outer(x[1]),
    x[[0, 1]],
    x[x > 0.3],
    -x,
    x.select(0, 1),
    x.narrow(0, 0, 1),
    x.roll(1),
    x.flip(0),
    x.pow(x),
    x.atan2(x),
    x.lerp(x, 0.5),
    torch.addmm(x, x, x),
    torch.bmm(x[None], x[None]),
    torch.cat([x, x]),
    torch.stack([x, x]),
    torch.where(x > 0, x, x),
    torch.maximum(x, x),
    torch.logsumexp(x, 0),
    torch.log_softmax(x, 0),
]:
    print(y.grad_fn.name() if y.grad_fn else None, end=" ")
print()

# %% linear algebra and its gradients
A = torch.tensor([[4.0, 1.0], [2.0, 3.0]], requires_grad=True)
print(torch.linalg.det(A), torch.linalg.inv(A), torch.linalg.norm(A), torch.trace(A))
torch.linalg.det(A).backward()
print(A.grad.round(decimals=3))
A.grad = None
b = torch.tensor([1.0, 2.0])
x = torch.linalg.solve(A, b)
print(x)
x.sum().backward()
print(A.grad)
S = torch.tensor([[2.0, 0.5], [0.5, 1.0]], requires_grad=True)
print(torch.linalg.cholesky(S), torch.logdet(S).detach())
torch.logdet(S).backward()
print(S.grad)
print(torch.linalg.matrix_power(A, 3), torch.linalg.slogdet(A)[0].detach())

# %% broadcasting gradients
a = torch.ones(3, 1, requires_grad=True)
b = torch.ones(1, 4, requires_grad=True)
c = torch.tensor(2.0, requires_grad=True)
out = a * b + c
print(out.shape)
out.sum().backward()
print(a.grad, b.grad, c.grad)

# %% products of matrices of every rank
v = torch.arange(3.0)
M = torch.arange(6.0).reshape(2, 3)
B = torch.arange(12.0).reshape(2, 3, 2)
print(M @ v, v @ v, v @ M.T, (M @ B).shape, torch.matmul(B, torch.ones(2)).shape)
print(
    torch.outer(v, v), torch.mm(M, M.T), torch.mv(M, v), torch.dot(v, v), torch.bmm(B, B.mT).shape
)
print(
    torch.tensordot(M, M, dims=2),
    torch.kron(torch.eye(2), torch.ones(1, 2)),
    torch.cross(v, torch.ones(3), dim=0),
)
print(
    torch.baddbmm(torch.zeros(2, 3, 3), B, B.mT).shape,
    torch.addmv(torch.ones(2), M, v),
    torch.addcmul(v, v, v, value=2),
    torch.addcdiv(v, v, v + 1),
)

# %% special values print
print(torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0]))
print(
    torch.tensor([1e-10, 1.0]),
    torch.tensor([1e10, 1.0]),
    torch.tensor([1e5, 1e-5]),
    torch.tensor([123456.789]),
)
print(
    torch.tensor([0.1, 100.0, 1000.5]),
    torch.tensor([1e8]),
    torch.tensor([1e7, 3.0]),
    torch.tensor(1e-5),
    torch.tensor(12345678.0),
)
print(torch.tensor([1 + 1e-7]), torch.tensor([1.0, 2.0, 3.0]) / 3, torch.tensor([[1.5], [22.25]]))
print(
    torch.tensor([True, False]),
    torch.tensor([]),
    torch.tensor([[]]),
    torch.tensor(5),
    torch.tensor([1 + 2j, -0.5j]),
)

# %% printing large and summarised
print(torch.arange(1001.0))
print(torch.arange(2000).reshape(2, 1000))
print(torch.zeros(3, 3, 3))
print(torch.arange(40.0))
print(torch.ones(30, 40))

# %% print options
torch.set_printoptions(precision=2)
print(torch.tensor([3.14159, 2.71828]))
torch.set_printoptions(sci_mode=True)
print(torch.tensor([1.5, 100.0]))
torch.set_printoptions(profile="default")
torch.set_printoptions(linewidth=40, threshold=5, edgeitems=1)
print(torch.arange(20.0))
torch.set_printoptions(profile="full")
print(torch.arange(12))
torch.set_printoptions(profile="default")
torch.set_printoptions(precision=8)
print(torch.tensor(1 / 3))
torch.set_printoptions(profile="default")

# %% tails of what is recorded
x = torch.tensor([1.0, 2.0], requires_grad=True)
print(x, x * 2, x.double(), (x * 2).detach(), x.sum(), x.half())
print([x, x + 1], (x, x - 1), {"x": x})
print(f"{x} and {x[0]}")
print(repr(x), str(x))
print(torch.ones(2, 3, requires_grad=True) + 1)

# %% clamp, lerp, interpolation
x = torch.tensor([-2.0, 0.5, 3.0], requires_grad=True)
print(x.clamp(-1, 1), x.clamp(min=0), x.clip(max=1), torch.lerp(x, torch.zeros(3), 0.25))
x.clamp(-1, 1).sum().backward()
print(x.grad)
print(torch.nan_to_num(torch.tensor([float("nan"), float("inf")]), nan=0.0, posinf=1.0))

# %% cumulative and difference
x = torch.tensor([1.0, 2.0, 4.0, 7.0], requires_grad=True)
print(x.cumsum(0), x.cumprod(0), x.diff(), x.cummax(0), x.logcumsumexp(0))
x.diff().pow(2).sum().backward()
print(x.grad)
print(torch.trapezoid(x.detach()), torch.cumulative_trapezoid(x))

# %% sorting and unique with gradients
x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
v, i = torch.sort(x, descending=True)
print(v, i)
(v * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
print(x.grad)
r = x.sort()
print(r.values, r.indices)
print(r)
print(torch.argsort(x), torch.topk(x, 2).indices, torch.flip(x, [0]), torch.roll(x, 1))

# %% triangles and diagonals
x = torch.arange(1.0, 10.0).reshape(3, 3).requires_grad_()
print(
    x.tril(),
    x.triu(1),
    torch.diag(x),
    torch.diag(torch.tensor([1.0, 2.0])),
    torch.diag_embed(torch.ones(2)),
)
x.tril().sum().backward()
print(x.grad)
print(
    torch.tril_indices(3, 3),
    torch.eye(3).trace(),
    torch.block_diag(torch.ones(1, 1), torch.ones(2, 2)),
)

# %% repeat, tile, expand, repeat_interleave
x = torch.tensor([1.0, 2.0], requires_grad=True)
print(x.repeat(2), x.repeat(2, 2), x.tile(2), x.repeat_interleave(2), x.expand(3, 2))
x.repeat(2, 3).sum().backward()
print(x.grad)
print(
    torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij"),
    torch.cartesian_prod(torch.arange(2), torch.arange(2)),
)

# %% ranges and grids
print(
    torch.arange(5),
    torch.arange(1, 2.5, 0.5),
    torch.arange(10, 0, -3),
    torch.linspace(0, 1, 5),
    torch.logspace(0, 2, 3),
)
print(
    torch.full((2, 2), 7),
    torch.full((2,), 1.5),
    torch.zeros(2, dtype=torch.int),
    torch.ones_like(torch.arange(3)),
    torch.eye(2, dtype=torch.int64),
)
print(
    torch.empty(0),
    torch.zeros(0, 3),
    torch.arange(0),
    torch.tensor([[1, 2]]).new_zeros(2),
    torch.ones(1).new_tensor([1, 2]),
    torch.ones(2).new_full((1,), 3.0),
)

# %% in place arithmetic
x = torch.ones(3)
x += 1
x *= 3
x -= 0.5
x /= 2
print(x)
x[1:] += 10
print(x)
x[x > 5] = 0
print(x)
print(
    x.fill_(2),
    x.zero_(),
    x.add_(torch.arange(3)),
    x.mul_(x),
    x.sqrt_(),
    x.clamp_(max=1.5),
    x.neg_(),
    x.abs_(),
    x.exp_(),
    x.pow_(2),
)
i = torch.ones(2, dtype=torch.int64)
try:
    i += 0.5
except RuntimeError as e:
    print(type(e).__name__)

# %% assignment with index arrays
x = torch.zeros(3, 3)
x[[0, 2], [1, 2]] = torch.tensor([5.0, 6.0])
x[1] = torch.arange(3.0)
x[:, 0] = -1
x[..., 2].mul_(2)
print(x)
x[torch.eye(3).bool()] = 9
print(x, x[1, 1], x[1, 1].item())
y = x.index_fill(0, torch.tensor([0]), 1.0)
print(y, x.index_put((torch.tensor([0]),), torch.tensor(0.0)))

# %% numpy interplay
a = np.arange(3.0)
t = torch.from_numpy(a)
print(t, t.dtype, torch.tensor(np.float32(2.0)), torch.as_tensor(a) is t)
print(
    np.sin(torch.tensor([0.0, 1.0]).numpy()),
    np.asarray(torch.ones(2)),
    np.array(torch.tensor([1, 2])),
)
t[0] = 50
print(a)
print(
    torch.tensor(np.array([[1, 2], [3, 4]], dtype=np.int32)),
    torch.from_numpy(np.array([True, False])),
)
print(type(t.numpy()).__name__, t.numpy().dtype, isinstance(t, torch.Tensor))

# %% comparisons of tensors
a, b = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-6])
print(a == b, torch.equal(a, b), torch.allclose(a, b), torch.isclose(a, b), a.eq(b).all().item())
print(
    torch.isnan(torch.tensor([float("nan")])),
    torch.isinf(a),
    torch.isfinite(a),
    a.ne(b),
    a.lt(b),
    a.ge(b),
)
print(
    (a < b).any(),
    torch.logical_and(a > 1, b > 1),
    torch.logical_not(torch.tensor([True])),
    torch.count_nonzero(a),
)

# %% softmax family
x = torch.tensor([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]], requires_grad=True)
p = torch.softmax(x, dim=1)
print(p, p.sum(1))
p[0, 2].backward()
print(x.grad)
print(
    torch.log_softmax(x, -1),
    torch.nn.functional.softmin(x, dim=1),
    x.sigmoid(),
    torch.nn.functional.softplus(x),
)
print(torch.nn.functional.one_hot(torch.tensor([0, 2, 1])), torch.nn.functional.normalize(x, dim=1))

# %% rounding and remainders
x = torch.tensor([-1.5, -0.5, 0.5, 1.5, 2.6])
print(x.round(), x.floor(), x.ceil(), x.trunc(), x.frac(), x.sign())
print(
    x % 1,
    torch.fmod(x, 1),
    torch.remainder(x, -1),
    x // 1,
    torch.div(x, 0.4, rounding_mode="floor"),
    torch.div(x, 0.4, rounding_mode="trunc"),
)
print(
    torch.tensor(7) // 2,
    torch.tensor(-7) // 2,
    torch.tensor(-7) % 3,
    torch.tensor([5, 6]) / 2,
    torch.round(torch.tensor(3.14159), decimals=2),
)

# %% iteration, len, in, unpacking
x = torch.arange(6).reshape(3, 2)
for row in x:
    print(row)
a, b = torch.tensor([1.0, 2.0])
print(a, b, len(x), 3 in x, 10 in x, [int(v) for v in x.flatten()])
print(
    list(torch.tensor([1, 2])),
    x.unbind(1),
    max(torch.tensor([1, 3, 2])),
    sum(torch.tensor([1, 2, 3])),
)
print(*torch.arange(3.0))

# %% sizes
s = torch.ones(2, 3, 4).size()
print(s, s[0], s[-1], len(s), s.numel(), s[1:], list(s), s == (2, 3, 4), torch.Size([1, 2]))
print(
    torch.ones(2, 3).size(0),
    torch.ones(2, 3).shape == torch.Size([2, 3]),
    torch.tensor(1.0).shape,
    torch.ones(2, 3).dim(),
)
print(str(torch.ones(2, 1).shape))

# %% activation gradients at several points
import torch.nn.functional as F

x = torch.tensor([-3.0, -1.0, 0.0, 1.0, 3.0])
for f in [
    F.relu,
    F.leaky_relu,
    F.elu,
    F.gelu,
    F.silu,
    F.softplus,
    F.hardtanh,
    F.softsign,
    F.mish,
    F.selu,
    F.hardswish,
    torch.tanh,
    torch.sigmoid,
]:
    t = x.clone().requires_grad_()
    f(t).sum().backward()
    print(f.__name__, t.grad)

# %% loss functions and their gradients
import torch.nn.functional as F

p = torch.tensor([0.2, 0.7, 0.9], requires_grad=True)
t = torch.tensor([0.0, 1.0, 1.0])
for f in [
    F.mse_loss,
    F.l1_loss,
    F.smooth_l1_loss,
    F.huber_loss,
    F.binary_cross_entropy,
    F.binary_cross_entropy_with_logits,
    F.kl_div,
]:
    p.grad = None
    loss = f(p, t)
    loss.backward()
    print(f.__name__, loss, p.grad)

# %% bitwise and shifts
a, b = torch.tensor([5, 6]), torch.tensor([3, 3])
print(a & b, a | b, a ^ b, ~a, a << 1, a >> 1)
print(torch.bitwise_and(a, b), torch.bitwise_xor(a, b), torch.tensor(True) ^ torch.tensor(True))

# %% histograms and statistics
torch.manual_seed(0)
x = torch.randn(1000)
print(torch.histc(x, bins=4, min=-2, max=2), x.mean(), x.std())
print(
    torch.quantile(torch.tensor([1.0, 2.0, 3.0, 4.0]), 0.5),
    torch.quantile(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0.25, 0.75])),
)
print(
    torch.corrcoef(torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 2.5]])),
    torch.cov(torch.tensor([[0.0, 2.0], [1.0, 1.0]])),
)
print(
    torch.mode(torch.tensor([1, 2, 2, 3])),
    torch.bucketize(torch.tensor([1.5, 3.5]), torch.tensor([1.0, 2.0, 3.0])),
    torch.searchsorted(torch.tensor([1.0, 2.0, 3.0]), 2.0),
)

# %% fft
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
y = torch.fft.fft(x)
print(y)
y.abs().pow(2).sum().backward()
print(x.grad)
print(torch.fft.ifft(y).real, torch.fft.rfft(x), torch.fft.fftfreq(4))

# %% sums over python numbers and mixed operations
x = torch.tensor(2.0, requires_grad=True)
print(1 + x, 3 - x, 3 * x, 1 / x, 2**x, x**-1, -x, abs(-x), +x)
print(x + 1j, x > 1, x == 2, round(x.item(), 1), pow(x, 2))
print(
    torch.tensor(3) + 2.5,
    torch.tensor([1, 2]) * 1.5,
    torch.tensor([1, 2]) / 2,
    torch.tensor(5) ** 2,
    torch.tensor([2]) ** -1.0,
)

# %% special functions
x = torch.tensor([0.5, 1.5, 3.0], requires_grad=True)
for f in [
    torch.lgamma,
    torch.digamma,
    torch.erf,
    torch.erfc,
    torch.special.i0,
    torch.expm1,
    torch.special.entr,
    torch.logit,
    torch.sinc,
    torch.special.ndtr,
]:
    t = torch.tensor([0.2, 0.5, 0.7], requires_grad=True)
    y = f(t)
    y.sum().backward()
    print(y.detach(), t.grad)
print(torch.special.expit(x), torch.xlogy(x, x), torch.special.log_ndtr(x), torch.polygamma(1, x))

# %% memory format and storage facts
x = torch.arange(12).reshape(3, 4)
print(x.stride(), x.T.stride(), x[::2].stride(), x[:, 1].stride(), x[1:, 2:].storage_offset())
print(
    x.is_contiguous(),
    x.T.is_contiguous(),
    x.T.contiguous().stride(),
    x.untyped_storage().nbytes(),
    x.nbytes,
    x.itemsize,
)
print(
    x.expand(2, 3, 4).stride(),
    torch.ones(1, 3).expand(4, 3).stride(),
    x.element_size() * x.nelement(),
)

# %% resize, ravel, unflatten, swapaxes
x = torch.arange(6)
print(
    x.ravel(),
    x.unflatten(0, (2, 3)),
    x.view(2, 3).swapaxes(0, 1),
    torch.atleast_2d(x),
    x.view(1, 6).squeeze(),
    x.view(3, 2).view_as(torch.ones(2, 3)),
)
print(
    x.reshape(2, -1).tolist(),
    torch.squeeze(torch.ones(1, 2, 1)).shape,
    torch.broadcast_to(x, (2, 6)).shape,
    torch.broadcast_shapes((2, 1), (1, 3)),
)
print(
    [t.shape for t in torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))],
    x.view(2, 3).T.flatten(),
    torch.rot90(x.view(2, 3)),
)

# %% pad, unfold, convolutions in one dimension
import torch.nn.functional as F

x = torch.arange(5.0).reshape(1, 1, 5).requires_grad_()
print(F.pad(x, (1, 2)), F.pad(x, (1, 1), mode="reflect"), F.pad(x, (2, 0), value=9.0))
k = torch.tensor([[[1.0, 0.0, -1.0]]], requires_grad=True)
y = F.conv1d(x, k, padding=1)
print(y)
y.sum().backward()
print(x.grad, k.grad)
print(F.interpolate(torch.arange(4.0).reshape(1, 1, 2, 2), scale_factor=2, mode="nearest"))

# %% vander, combinations, and cdist
print(
    torch.vander(torch.tensor([1, 2, 3])),
    torch.combinations(torch.arange(3)),
    torch.cdist(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]])),
)
print(
    torch.dist(torch.tensor([1.0, 2.0]), torch.tensor([4.0, 6.0])),
    torch.renorm(torch.ones(2, 2), 2, 0, 1.0),
)
x = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
torch.cdist(x, x)[0, 1].backward()
print(x.grad)

# %% probabilities in full
x = torch.arange(10.0) / 4 - 1
wide = x.double().reshape(2, 5)
print(torch.log_softmax(x, 0).tolist())
print(torch.log_softmax(wide, 1).tolist(), torch.log_softmax(wide, 0).tolist())
print(torch.softmax(wide, -1).tolist(), torch.softmax(wide, 0).sum(0).tolist())

# %% random numbers to the last digit
torch.manual_seed(5)
print(torch.randn(20).tolist(), torch.randn(3).tolist())
print(torch.empty(4).uniform_(-0.3, 0.7).tolist(), torch.normal(1.5, 0.3, (18,)).tolist())
print(torch.randn(5, dtype=torch.float64).tolist(), torch.randn(17, dtype=torch.float64).tolist())
layer = torch.nn.Linear(3, 2)
print(layer.weight.tolist(), layer.bias.tolist())

# %% steps and fused products in full
x = torch.linspace(-1, 3, 45)
y = torch.arange(-2.0, 2.5, 0.1)
print(y[:12].tolist(), torch.arange(-1, 3, 0.3, dtype=torch.float64).tolist())
z = (x[:40] * y[:40]).reshape(8, 5)
print(z.sum(0).tolist(), z.sum(1).tolist(), z.mean(0, keepdim=True).tolist())
print(torch.add(x, y, alpha=0.3)[:6].tolist(), torch.lerp(x, y, 0.7)[:6].tolist())
print(torch.addcmul(x, x, y, value=0.1)[:6].tolist(), y.clone().sub_(x, alpha=0.7)[:6].tolist())

# %% gradients of biases in full
torch.manual_seed(3)
for dtype in (torch.float32, torch.float64):
    g = torch.randn(20, 5, dtype=dtype)
    b = torch.zeros(5, dtype=dtype, requires_grad=True)
    c = torch.tensor(0.5, dtype=dtype, requires_grad=True)
    ((b + c) * g + c * g[:, :1] * g).sum().backward()
    print(b.grad.tolist(), ((g + b) * c).sum(0).tolist())
