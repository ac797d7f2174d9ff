"""Cells on tensors: indices, writes, views, dtypes, NumPy, errors that are caught."""

# ruff: noqa: E402, RUF005
# The cells stand as a notebook has them.

import torch

# %% backward to some inputs
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
(a * b * 3).sum().backward(inputs=[a])
print(a.grad, b.grad)

# %% complex gradients
z = torch.tensor(1 + 2j, requires_grad=True)
(z * z.conj()).real.backward()
print(z.grad, z.is_leaf)
w = torch.tensor([1 + 1j, 2.0], requires_grad=True)
w.abs().sum().backward()
print(w.grad)

# %% deepcopy and pickle free clone
import copy

x = torch.ones(2, requires_grad=True)
(x * 2).sum().backward()
y = copy.deepcopy(x)
print(y, y.grad, y is x)
try:
    copy.deepcopy(x * 2)
except RuntimeError as e:
    print(e)

# %% iterate and unpack
a, b = torch.tensor([1.0, 2.0])
print(a, b)
for row in torch.eye(2):
    print(row)
print(len(torch.ones(3, 2)), 2.0 in torch.tensor([1.0, 2.0]), [t.item() for t in torch.arange(3)])

# %% min max family
x = torch.tensor([[1.0, 5.0, 5.0], [7.0, 2.0, 0.0]])
print(x.max(), x.max(1), x.argmax(), x.amax(1, keepdim=True))
v, i = x.sort(dim=1, descending=True)
print(v, i)
print(x.topk(2))
print(torch.maximum(x[0], x[1]), x.clamp(1, 5), x.median())

# %% reductions with dtype
x = torch.tensor([[1, 2], [3, 4]])
print(x.sum(), x.sum(0), x.prod(1), x.float().mean(0), x.sum(dtype=torch.float32), x.cumsum(1))
print(x.float().std(), x.float().var(0, unbiased=False), x.bool().all(), x.any(1))

# %% matrix things
A = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
print(torch.linalg.det(A), torch.linalg.inv(A), torch.linalg.eigvalsh(A))
print(torch.linalg.solve(A, torch.tensor([1.0, 2.0])), torch.linalg.cholesky(A))
print(
    torch.trace(A), torch.diag(A), A.tril(), torch.linalg.norm(A), torch.linalg.matrix_power(A, 3)
)

# %% einsum and tensordot
a, b = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(3, 4)
print(
    torch.einsum("ij,jk->ik", a, b),
    torch.tensordot(a, b, 1).shape,
    torch.einsum("ij->ji", a),
    torch.einsum("ii", torch.eye(3)),
)

# %% losses
p, t = torch.tensor([[2.0, -1.0, 0.5], [0.0, 1.0, 2.0]], requires_grad=True), torch.tensor([0, 2])
loss = torch.nn.CrossEntropyLoss()(p, t)
print(loss)
loss.backward()
print(p.grad)
print(
    torch.nn.BCEWithLogitsLoss()(torch.tensor([0.5, -1.0]), torch.tensor([1.0, 0.0])),
    torch.nn.SmoothL1Loss()(torch.zeros(3), torch.tensor([0.5, 2.0, -3.0])),
)

# %% training loop prints
torch.manual_seed(7)
X = torch.randn(20, 1)
Y = 3 * X + 1
model = torch.nn.Linear(1, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(60):
    loss = torch.nn.functional.mse_loss(model(X), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 20 == 19:
        print(epoch + 1, f"{loss.item():.6f}")
print({n: round(p.item(), 3) for n, p in model.named_parameters()})

# %% grad clipping
ps = [torch.tensor([3.0, 4.0], requires_grad=True), torch.tensor([12.0], requires_grad=True)]
sum((p**2).sum() / 2 for p in ps).backward()
print(torch.nn.utils.clip_grad_norm_(ps, 1.0))
print([p.grad for p in ps])
print(torch.nn.utils.parameters_to_vector(ps))

# %% tensor attributes
x = torch.zeros(2, 3, dtype=torch.float64)
print(
    x.shape,
    x.size(0),
    x.dim(),
    x.ndim,
    x.numel(),
    x.dtype,
    x.device,
    x.layout,
    x.element_size(),
    x.nbytes,
    x.is_floating_point(),
    x.type(),
)
print(
    x.new_ones(2),
    x.new_tensor([1, 2]),
    torch.zeros_like(x, dtype=torch.int8),
    x.requires_grad,
    x.is_leaf,
    x.grad_fn,
    x.T.shape,
)

# %% finfo and iinfo
print(torch.finfo(torch.float32))
print(torch.iinfo(torch.int8).max, torch.finfo(torch.float64).eps)

# %% chunk split stack
x = torch.arange(7)
print(torch.chunk(x, 3), x.split(3), x.split([2, 5]), torch.tensor_split(x, 3))
print(torch.stack([x[:2], x[2:4]]), torch.hstack([x[:1], x[5:]]), x.unfold(0, 3, 2))

# %% where nonzero unique
x = torch.tensor([3, 1, 3, 0])
print(
    torch.where(x > 1),
    x.nonzero(),
    torch.unique(x, return_counts=True),
    torch.bincount(x),
    (x == 3).sum(),
)

# %% floor division and remainder
a = torch.tensor([-7.0, 7.0, 5.5])
print(
    a // 2,
    a % 2,
    torch.fmod(a, 2),
    torch.div(a, 2, rounding_mode="trunc"),
    -7 // torch.tensor(2),
    torch.tensor(-7) % 3,
)

# %% size object
s = torch.ones(2, 3, 4).shape
print(s, s[0], s[1:], s + (1,), list(s), s.numel(), s == (2, 3, 4), tuple(s))

# %% linear algebra errors caught by name
A = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
try:
    torch.linalg.inv(A)
except torch.linalg.LinAlgError as e:
    print(type(e).__name__, isinstance(e, RuntimeError), e)
print(torch.linalg.inv_ex(A).info, torch.linalg.matrix_rank(A))
print(torch.linalg.pinv(A))

# %% products of other dtypes are refused
w = torch.ones(2, 2)
for f in (
    lambda: w @ torch.ones(2, 2, dtype=torch.int64),
    lambda: torch.nn.Linear(2, 1)(torch.ones(1, 2).double()),
    lambda: torch.dot(torch.ones(2), torch.ones(2).long()),
):
    try:
        f()
    except RuntimeError as e:
        print(e)
print((w @ torch.ones(2, 2, dtype=torch.int64).float()).dtype)

# %% losses that warn or refuse
import warnings

p, t = torch.ones(2, 1), torch.zeros(2)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    print(torch.nn.functional.mse_loss(p, t))
    print(seen[0].category.__name__, str(seen[0].message)[:20])
try:
    torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0.0, 1.0]))
except RuntimeError as e:
    print(e)

# %% bool arithmetic
m = torch.tensor([True, False])
print(m + m, m * 2, ~m, m & True, m.sum())
for f in (lambda: -m, lambda: m - m, lambda: 1 - m):
    try:
        f()
    except RuntimeError as e:
        print(e)

# %% data that is no tensor
for d in ("a", None, [1, [2]], [[1, 2], [3]], [torch.ones(2), torch.ones(2)], {}):
    try:
        torch.tensor(d)
    except Exception as e:
        print(type(e).__name__, e)
print(torch.tensor([torch.tensor(1.0), 2.0]))

# %% implicit softmax dimension
import warnings

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    print(torch.nn.functional.softmax(torch.zeros(2, 2, 2)).sum(0))
    print(seen[0].message)

# %% indices out of range
x = torch.arange(4.0)
for f in (
    lambda: x.gather(0, torch.tensor([-1])),
    lambda: x.index_select(0, torch.tensor([4])),
    lambda: x.take(torch.tensor([9])),
    lambda: x.scatter(0, torch.tensor([4]), 1.0),
    lambda: x[torch.tensor([7])],
):
    try:
        f()
    except (IndexError, RuntimeError) as e:
        print(type(e).__name__, e)
print(x.take(torch.tensor([-1])), x[-1], x[[-2]])

# %% hook returning the wrong thing
x = torch.ones(2, requires_grad=True)
h = x.register_hook(lambda g: "no")
try:
    (x * 2).sum().backward()
except TypeError as e:
    print(e)
h.remove()


def shrink(g):
    return g[:1]


x.register_hook(shrink)
try:
    (x * 2).sum().backward()
except RuntimeError as e:
    print(e)

# %% retained gradients along a chain
x = torch.tensor([1.0, 2.0], requires_grad=True)
a = x.exp()
b = a.log()
c = b.sum()
for t in (a, b, c):
    t.retain_grad()
c.backward()
print(a.grad, b.grad, c.grad, x.grad)
print([t.retains_grad for t in (x, a, b, c)])

# %% detach shares and severs
x = torch.ones(2, requires_grad=True)
d = x.detach()
d[0] = 5
print(x, d.requires_grad, x._version)
y = x * x
y.detach_()
print(y.requires_grad, y.grad_fn)

# %% saved value changed
x = torch.ones(2, requires_grad=True)
y = x.sigmoid()
z = y * 2
y += 1
try:
    z.sum().backward()
except RuntimeError as e:
    print(str(e).split(";")[0])

# %% gradient of a view after a write to its base
x = torch.ones(3, requires_grad=True)
y = x.clone()
v = y[:2]
y.mul_(3)
print(v.grad_fn.name(), v)
v.sum().backward()
print(x.grad)

# %% norm and cosine similarity
a, b = torch.tensor([3.0, 4.0], requires_grad=True), torch.tensor([4.0, 3.0])
c = torch.nn.functional.cosine_similarity(a, b, dim=0)
c.backward()
print(c, a.grad)
print(torch.dist(a, b), torch.cdist(a[None], b[None]), a.dist(b).grad_fn.name())

# %% copysign and its gradients
m, s = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([-1.0, 3.0], requires_grad=True)
y = torch.copysign(m, s)
y.sum().backward()
print(y, m.grad, s.grad)

# %% interpolating and padding
x = torch.arange(4.0).reshape(1, 1, 2, 2)
print(torch.nn.functional.pad(x, (1, 0, 0, 1), value=-1.0))
print(torch.nn.functional.interpolate(x, scale_factor=2, mode="nearest"))

# %% convolution by hand
k = torch.tensor([[[1.0, 0.0, -1.0]]], requires_grad=True)
x = torch.arange(6.0).reshape(1, 1, 6) ** 2
y = torch.nn.functional.conv1d(x, k)
y.sum().backward()
print(y, k.grad)

# %% embedding rows
e = torch.nn.Embedding(4, 2)
with torch.no_grad():
    e.weight.copy_(torch.arange(8.0).reshape(4, 2))
out = e(torch.tensor([1, 1, 3]))
out.sum().backward()
print(out)
print(e.weight.grad)
print(e)

# %% gru cell shapes and repr
torch.manual_seed(2)
c = torch.nn.GRUCell(2, 3)
print(c, c(torch.ones(1, 2)).shape)
print(torch.nn.LSTM(2, 3, num_layers=2, batch_first=True))

# %% zero grad and set to none
w = torch.nn.Parameter(torch.ones(2))
o = torch.optim.SGD([w], lr=1.0)
w.sum().backward()
o.zero_grad(set_to_none=False)
print(w.grad)
o.zero_grad()
print(w.grad, w)
