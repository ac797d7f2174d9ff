"""Cells in the manner of the first tutorials: tensors, random numbers, a first loss."""

# ruff: noqa: E741
# The cells stand as a notebook has them.

import numpy as np
import torch

# %% a tensor straight from data, from numpy, from another
data = [[1, 2], [3, 4]]
x_data = torch.tensor(data)
np_array = np.array(data)
x_np = torch.from_numpy(np_array)
x_ones = torch.ones_like(x_data)
print(f"Ones Tensor: \n {x_ones} \n")
torch.manual_seed(0)
x_rand = torch.rand_like(x_data, dtype=torch.float)
print(f"Random Tensor: \n {x_rand} \n")
print(x_np)

# %% shape tuples
torch.manual_seed(1)
shape = (2, 3)
rand_tensor = torch.rand(shape)
ones_tensor = torch.ones(shape)
zeros_tensor = torch.zeros(shape)
print(f"Random Tensor: \n {rand_tensor} \n")
print(f"Ones Tensor: \n {ones_tensor} \n")
print(f"Zeros Tensor: \n {zeros_tensor}")

# %% attributes of a tensor
tensor = torch.rand(3, 4)
print(f"Shape of tensor: {tensor.shape}")
print(f"Datatype of tensor: {tensor.dtype}")
print(f"Device tensor is stored on: {tensor.device}")
print(
    tensor.layout,
    tensor.is_cuda,
    tensor.ndim,
    tensor.numel(),
    tensor.nelement(),
    tensor.element_size(),
)

# %% is an accelerator there
if torch.cuda.is_available():
    tensor = torch.ones(2).to("cuda")
else:
    tensor = torch.ones(2).to("cpu")
device = "cuda" if torch.cuda.is_available() else "cpu"
print(f"Using {device} device", tensor)

# %% standard indexing and slicing
tensor = torch.ones(4, 4)
print(f"First row: {tensor[0]}")
print(f"First column: {tensor[:, 0]}")
print(f"Last column: {tensor[..., -1]}")
tensor[:, 1] = 0
print(tensor)

# %% joining tensors
tensor = torch.ones(4, 4)
tensor[:, 1] = 0
t1 = torch.cat([tensor, tensor, tensor], dim=1)
print(t1)
print(torch.stack([tensor[0], tensor[1]], dim=-1))

# %% arithmetic three ways
tensor = torch.ones(2, 2) * 2
y1 = tensor @ tensor.T
y2 = tensor.matmul(tensor.T)
y3 = torch.rand_like(y1)
torch.matmul(tensor, tensor.T, out=y3)
print(y1, y2, y3)
z1 = tensor * tensor
z2 = tensor.mul(tensor)
z3 = torch.rand_like(tensor)
torch.mul(tensor, tensor, out=z3)
print(z1, z2, z3)

# %% single element tensors
agg = torch.arange(12.0).sum()
agg_item = agg.item()
print(agg_item, type(agg_item))

# %% in place has an underscore
tensor = torch.eye(2) + 1
print(f"{tensor} \n")
tensor.add_(5)
print(tensor)
print(tensor.t_(), tensor.copy_(torch.zeros(2, 2)))

# %% tensor to numpy and back
t = torch.ones(5)
print(f"t: {t}")
n = t.numpy()
print(f"n: {n}")
t.add_(1)
print(f"t: {t}")
print(f"n: {n}")
n = np.ones(5)
t = torch.from_numpy(n)
np.add(n, 1, out=n)
print(f"t: {t}")
print(f"n: {n}")

# %% one step of training on a linear loss
torch.manual_seed(0)
x = torch.ones(5)
y = torch.zeros(3)
w = torch.randn(5, 3, requires_grad=True)
b = torch.randn(3, requires_grad=True)
z = torch.matmul(x, w) + b
loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
print(f"Gradient function for z = {z.grad_fn}")
print(f"Gradient function for loss = {loss.grad_fn}")
loss.backward()
print(w.grad)
print(b.grad)
z = torch.matmul(x, w) + b
print(z.requires_grad)
with torch.no_grad():
    z = torch.matmul(x, w) + b
print(z.requires_grad)
z_det = (torch.matmul(x, w) + b).detach()
print(z_det.requires_grad)

# %% optional reading: tensor gradients and Jacobian products
inp = torch.eye(4, 5, requires_grad=True)
out = (inp + 1).pow(2).t()
out.backward(torch.ones_like(out), retain_graph=True)
print(f"First call\n{inp.grad}")
out.backward(torch.ones_like(out), retain_graph=True)
print(f"\nSecond call\n{inp.grad}")
inp.grad.zero_()
out.backward(torch.ones_like(out), retain_graph=True)
print(f"\nCall after zeroing gradients\n{inp.grad}")

# %% differentiation in the blitz: Q = 3a^3 - b^2
a = torch.tensor([2.0, 3.0], requires_grad=True)
b = torch.tensor([6.0, 4.0], requires_grad=True)
Q = 3 * a**3 - b**2
print(Q)
external_grad = torch.tensor([1.0, 1.0])
Q.backward(gradient=external_grad)
print(9 * a**2 == a.grad)
print(-2 * b == b.grad)
print(a.grad, b.grad)

# %% exclusion from the DAG
torch.manual_seed(3)
x = torch.rand(5, 5)
y = torch.rand(5, 5)
z = torch.rand((5, 5), requires_grad=True)
a = x + y
print(f"Does `a` require gradients?: {a.requires_grad}")
b = x + z
print(f"Does `b` require gradients?: {b.requires_grad}")

# %% resize by view
x = torch.arange(16.0).view(4, 4)
y = x.view(16)
z = x.view(-1, 8)
print(x.size(), y.size(), z.size())
print(z)

# %% empty of a size has that size
x = torch.empty(5, 3)
print(x.size(), x.shape[0], len(x), list(x.shape), tuple(x.shape))
x = x.new_ones(5, 3, dtype=torch.double)
print(x)
torch.manual_seed(2)
x = torch.randn_like(x, dtype=torch.float)
print(x)
print(x.size())

# %% addition with an out argument
torch.manual_seed(4)
x = torch.rand(2, 3)
y = torch.rand(2, 3)
result = torch.empty(2, 3)
torch.add(x, y, out=result)
print(result)
y.add_(x)
print(y)
print(torch.add(x, y, alpha=10))

# %% the classic loop y = 2y until the norm is large
x = torch.tensor([0.5, -1.2, 0.3], requires_grad=True)
y = x * 2
i = 0
while y.data.norm() < 1000:
    y = y * 2
    i += 1
print(y, i)
v = torch.tensor([0.1, 1.0, 0.0001], dtype=torch.float)
y.backward(v)
print(x.grad)
print(x.requires_grad, (x**2).requires_grad)
with torch.no_grad():
    print((x**2).requires_grad)
y = x.detach()
print(y.requires_grad, x.eq(y).all())

# %% requires_grad_ switches in place
torch.manual_seed(5)
a = torch.randn(2, 2)
a = (a * 3) / (a - 1)
print(a.requires_grad)
a.requires_grad_(True)
print(a.requires_grad)
b = (a * a).sum()
print(b.grad_fn)

# %% printing inside a comprehension
params = [torch.full((2,), float(k), requires_grad=True) for k in range(3)]
loss = sum((p**2).sum() for p in params)
loss.backward()
for p in params:
    print(p, p.grad)
print([p.grad for p in params])

# %% item, tolist and float of a scalar
x = torch.tensor(3.5)
print(x.item(), float(x), int(x), bool(x), x.tolist())
print(torch.tensor([[1, 2], [3, 4]]).tolist())
print(f"{x:.2f} {x.item():8.3f}")

# %% a table of epochs as tutorials print
w = torch.tensor(0.0, requires_grad=True)
X = torch.tensor([1, 2, 3, 4], dtype=torch.float32)
Y = torch.tensor([2, 4, 6, 8], dtype=torch.float32)


def forward(x):
    return w * x


def loss(y, y_pred):
    return ((y_pred - y) ** 2).mean()


print(f"Prediction before training: f(5) = {forward(5):.3f}")
for epoch in range(20):
    y_pred = forward(X)
    l = loss(Y, y_pred)
    l.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
    w.grad.zero_()
    if epoch % 5 == 0:
        print(f"epoch {epoch + 1}: w = {w:.3f}, loss = {l:.8f}")
print(f"Prediction after training: f(5) = {forward(5):.3f}")

# %% random numbers of every kind from one seed
torch.manual_seed(42)
print(torch.rand(2, 3))
print(torch.randn(2, 3))
print(torch.randint(10, (3, 3)))
print(torch.randint(3, 10, (2,)))
print(torch.randperm(6))
print(torch.normal(2.0, 3.0, size=(2, 2)))
print(torch.normal(torch.arange(1.0, 4.0), 1.0))
print(torch.bernoulli(torch.full((2, 3), 0.5)))
print(torch.multinomial(torch.tensor([1.0, 10.0, 3.0]), 2))
print(torch.rand(1), torch.rand(()))

# %% random in place
torch.manual_seed(7)
x = torch.empty(2, 2)
print(x.uniform_(-1, 1))
print(x.normal_(0, 0.1))
print(x.random_(0, 5))
print(x.bernoulli_(0.3))
print(torch.empty(3).exponential_())
print(torch.rand(3, dtype=torch.float64))
print(torch.randn(17).sum() == torch.randn(17).sum())

# %% a generator of its own
g = torch.Generator()
g.manual_seed(2147483647)
print(torch.rand(3, generator=g))
print(torch.randint(0, 27, (4,), generator=g))
print(torch.randn((2, 2), generator=g))
print(torch.randperm(5, generator=g))
print(
    torch.multinomial(torch.tensor([0.6, 0.3, 0.1]), num_samples=6, replacement=True, generator=g)
)
print(g.initial_seed())

# %% seeds start the same numbers again
torch.manual_seed(1234)
a = torch.rand(3)
torch.manual_seed(1234)
b = torch.rand(3)
print(torch.equal(a, b), torch.allclose(a, b), torch.initial_seed())
state = torch.get_rng_state()
a = torch.randn(2)
torch.set_rng_state(state)
print(torch.equal(a, torch.randn(2)))

# %% dropout by its seed
torch.manual_seed(0)
x = torch.ones(8, requires_grad=True)
y = torch.nn.functional.dropout(x, p=0.5)
print(y)
y.sum().backward()
print(x.grad)
print(torch.nn.functional.dropout(x, 0.5, training=False))

# %% logical counts and comparisons
x = torch.tensor([1, 2, 3, 4])
print(x > 2, (x > 2).sum(), (x % 2 == 0).nonzero(), torch.where(x > 2))
print((x > 1) & (x < 4), ~(x > 2), (x == 1) | (x == 4))
print(torch.any(x > 3), torch.all(x > 0), x.max(), x.argmax().item())
print(torch.unique(torch.tensor([3, 1, 1, 2])), torch.bincount(torch.tensor([0, 1, 1, 3])))

# %% squeeze, unsqueeze, permute, transpose
x = torch.arange(6.0).reshape(1, 2, 3)
print(x.squeeze(0).shape, x.unsqueeze(-1).shape, x.permute(2, 0, 1).shape, x.transpose(1, 2).shape)
print(x.mT.shape, x.movedim(0, 2).shape, x.flatten().shape, x.flatten(1).shape, x[None].shape)
print(
    x.expand(4, 2, 3).stride(),
    x.stride(),
    x.transpose(1, 2).stride(),
    x.transpose(1, 2).is_contiguous(),
)

# %% promotion shown by dtypes
i, f, d, b, c = (
    torch.tensor(1),
    torch.tensor(1.0),
    torch.tensor(1.0, dtype=torch.float64),
    torch.tensor(True),
    torch.tensor(1j),
)
print((i + f).dtype, (i / i).dtype, (f + d).dtype, (b + b).dtype, (b + i).dtype, (f * c).dtype)
print(
    (torch.ones(2) + d).dtype,
    (torch.ones(2, dtype=torch.int32) + i).dtype,
    (torch.ones(2, dtype=torch.int8) * 2.5).dtype,
)
print(torch.result_type(torch.tensor([1, 2]), 1.0), torch.promote_types(torch.uint8, torch.int8))
print(
    torch.can_cast(torch.double, torch.int),
    (b * 1.5).dtype,
    (torch.ones(2, dtype=torch.uint8) // 2).dtype,
)

# %% every dtype prints its tail
for dt in [
    torch.float16,
    torch.float32,
    torch.float64,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
    torch.complex64,
    torch.complex128,
]:
    print(dt, torch.tensor([0, 1, 2], dtype=dt), torch.zeros(2, 0, dtype=dt))

# %% finfo and iinfo
print(
    torch.finfo(torch.float32).eps, torch.finfo(torch.float64).max, torch.finfo(torch.float16).tiny
)
print(torch.iinfo(torch.int8).min, torch.iinfo(torch.int64).max, torch.iinfo(torch.uint8).bits)
print(torch.finfo(torch.float32).bits, torch.finfo(torch.float32).min)

# %% casts
x = torch.tensor([1.7, -1.7, 0.0])
print(x.int(), x.long(), x.bool(), x.double(), x.half(), x.to(torch.int16), x.byte()[:1])
print(x.type(), x.int().type(), x.type(torch.int32))
print(
    x.to(dtype=torch.float64).dtype, x.to(x.double()).dtype, x.is_floating_point(), x.float() is x
)
