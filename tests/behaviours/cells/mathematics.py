"""Cells on arithmetic, reductions, products and the calls PyTorch takes them in."""

# The cells stand as a notebook has them.

import torch

# %% arithmetic as functions
x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
print(torch.add(x, y), torch.add(x, y, alpha=2), torch.sub(x, y, alpha=2), torch.mul(x, 2))
print(x.add(y, alpha=10), x.sub(1), torch.div(x, y), torch.true_divide(x, 2), torch.rsub(x, 1))
print(torch.div(y, x, rounding_mode="floor"), torch.div(-y, 3, rounding_mode="trunc"))
print(torch.floor_divide(y, 2), torch.remainder(y, 2.5), torch.fmod(-y, 2.5), torch.neg(x), +x)

# %% arithmetic with keywords
x = torch.tensor([1.0, 2.0])
print(torch.add(input=x, other=1), torch.mul(x, other=3), torch.pow(x, exponent=2))
print(torch.sum(input=x), torch.clamp(x, max=1.5), torch.maximum(x, other=x * 2))

# %% operators between numbers and tensors
x = torch.tensor([2.0, 4.0])
print(2 + x, 2 - x, 2 * x, 2 / x, 2**x, 9 // x, 9 % x, x**2, x**-1, x**0.5, abs(-x))

# %% in place arithmetic
x = torch.tensor([1.0, 2.0])
y = x
x += 1
x *= 2
x -= 0.5
x /= 2
x **= 2
print(x, y is x, x.add_(1, alpha=2), x.sub_(1), x.clamp_(max=6), x.neg_(), x.abs_(), x.sqrt_())
print(x.fill_(3), x.zero_(), x.exp_(), x.copy_(torch.tensor([5.0, 6.0])), x.pow_(2), x.round_())

# %% in place cannot widen
i = torch.tensor([1, 2])
try:
    i += 0.5
except RuntimeError:
    print("not into integers")
i += 1
print(i)
try:
    torch.ones(2).add_(torch.ones(3, 2))
except RuntimeError:
    print("not into a smaller one")

# %% addcmul, addcdiv and lerp
x = torch.tensor([1.0, 2.0])
print(torch.addcmul(x, x, x, value=0.5), torch.addcdiv(x, x, x), torch.lerp(x, x + 10, 0.25))
print(x.lerp(x + 1, torch.tensor([0.0, 1.0])), x.addcmul(x, x), x.addcdiv_(x, x, value=2))

# %% unary functions
x = torch.tensor([0.25, 0.5])
print(x.exp(), x.log(), x.sqrt(), x.rsqrt(), x.sin(), x.cos(), x.tan(), x.tanh(), x.sigmoid())
print(x.asin(), x.acos(), x.atan(), x.sinh(), x.cosh(), x.square(), x.reciprocal(), x.log1p())
print(x.expm1(), x.log2(), x.log10(), x.exp2(), x.asinh(), x.atanh(), x.logit())
print(torch.arcsin(x), torch.arctan(x), torch.arccos(x), torch.deg2rad(x), torch.rad2deg(x))

# %% rounding
x = torch.tensor([-1.5, 0.5, 2.5, 1.25])
print(x.floor(), x.ceil(), x.round(), x.trunc(), x.frac(), x.sign(), torch.round(x, decimals=1))

# %% clamp
x = torch.tensor([-2.0, 0.5, 3.0])
print(x.clamp(-1, 1), x.clamp(min=0), torch.clamp(x, max=1), x.clamp_min(0), x.clamp_max(1))
print(x.clip(0, 1), torch.clamp(x, torch.tensor([-1.0, 1.0, 1.0])), x.relu(), torch.relu(x))

# %% integers to floating functions
i = torch.tensor([1, 4])
print(i.sqrt(), i.exp(), torch.sin(i).dtype, i.float().mean(), torch.sigmoid(i))
try:
    i.mean()
except RuntimeError:
    print("mean needs floats")
print(i.mean(dtype=torch.float32))

# %% sums
x = torch.arange(6.0).view(2, 3)
print(x.sum(), x.sum(0), x.sum(1), x.sum(dim=1, keepdim=True), x.sum((0, 1)), x.sum(-1))
print(torch.sum(x, dim=0), torch.sum(x, 0, True), x.sum(dtype=torch.float64), x.nansum())
print(torch.tensor([1, 2]).sum(), torch.tensor([True, True]).sum(), torch.tensor([]).sum())
print(torch.tensor([1, 2], dtype=torch.int32).sum().dtype, x.sum(axis=0), x.sum(0, keepdim=True))

# %% means and spreads
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
print(x.mean(), x.mean(0), x.mean(dim=1, keepdim=True), torch.mean(x, 1), x.mean((0, 1)))
print(x.var(), x.std(), x.var(unbiased=False), x.std(dim=1), x.std(1, unbiased=False))
print(x.var(dim=0, keepdim=True), torch.std(x, dim=1, correction=0), torch.var_mean(x))
print(x.median(), torch.tensor([3.0, 1.0, 2.0, 4.0]).median(), torch.std_mean(x, dim=1))

# %% products and running sums
x = torch.tensor([1.0, 2.0, 3.0])
print(x.prod(), x.prod(0), x.cumsum(0), x.cumprod(dim=0), x.diff(), x.cumsum(0) - x)
print(torch.cumsum(torch.ones(2, 2), dim=1), torch.tensor([1, 2]).cumsum(0), x.cumsum(-1))
print(torch.prod(torch.tensor([2, 3])))
print(torch.trapezoid(x), torch.trapz(x, dx=2.0), torch.diff(x, n=2))

# %% largest and smallest
x = torch.tensor([[1.0, 5.0], [7.0, 3.0]])
print(x.max(), x.min(), x.argmax(), x.argmin(dim=1), x.amax(0), x.amin(dim=1, keepdim=True))
print(x.max(0))
print(torch.max(x, 1))
print(
    torch.max(x, dim=1).indices, torch.min(x, torch.tensor(4.0)), torch.max(x, 1, keepdim=True)[0]
)
values, indices = x.min(dim=1)
print(values, indices, torch.maximum(x, x.t()), torch.aminmax(x), x.max(1).values.sum())

# %% logic
x = torch.tensor([1, 0, 2])
print(x > 0, (x > 0).any(), (x > 0).all(), torch.any(x), torch.logical_not(x), x.ge(1), x.lt(1))
print(
    torch.logical_and(x, x > 1), torch.isnan(torch.tensor([1.0, float("nan")])), x.count_nonzero()
)
print(torch.isinf(torch.tensor([1.0, float("inf")])), torch.all(torch.ones(2, 2) > 0, dim=1))
print((x > 0) & (x < 2), ~(x > 0), torch.isfinite(torch.tensor([1.0, -torch.inf])))

# %% nan and inf
x = torch.tensor([float("nan"), float("inf"), -1.0])
print(x, torch.nan_to_num(x, nan=0.0), x.nansum(), x[1] - x[1], 1 / torch.tensor(0.0), 0 * x)
print(torch.nan_to_num(x).tolist(), torch.log(torch.tensor([0.0, -1.0])))

# %% matrix products
a, b, v = torch.arange(6.0).view(2, 3), torch.ones(3, 2), torch.tensor([1.0, 2.0, 3.0])
print(a @ b, torch.mm(a, b), a.matmul(v), torch.mv(a, v), torch.dot(v, v), v @ v, v.dot(v))
print(torch.outer(v, v), torch.bmm(a[None], b[None]), torch.inner(v, v), torch.ger(v, v).shape)
print(torch.addmm(torch.ones(2, 2), a, b), torch.addmv(torch.ones(2), a, v), torch.vdot(v, v))
print(torch.kron(torch.eye(2), torch.ones(1, 2)), torch.chain_matmul(a, b), torch.trace(a))
print(torch.linalg.multi_dot([a, b]), torch.tensordot(a, b, dims=1))

# %% products of the wrong shapes
a, v = torch.ones(2, 3), torch.ones(3)
for f in (lambda: a @ a, lambda: torch.mm(a, v), lambda: torch.mv(v, a), lambda: torch.bmm(a, a)):
    try:
        f()
    except RuntimeError:
        print("shapes")
try:
    torch.dot(a, a)
except RuntimeError:
    print("vectors only")
try:
    torch.mm(torch.ones(2, 2), torch.ones(2, 2).long())
except RuntimeError:
    print("one dtype")

# %% einsum
a, b, v = torch.arange(6.0).view(2, 3), torch.ones(3, 2), torch.tensor([1.0, 2.0, 3.0])
print(torch.einsum("ij,jk->ik", a, b), torch.einsum("i,i", v, v), torch.einsum("ij->ji", a))
print(torch.einsum("ii", torch.eye(3)), torch.einsum("i,j->ij", v, v), torch.einsum("ij->i", a))
print(torch.einsum("bij,bjk->bik", a[None], b[None]))
print(torch.einsum("ii->i", torch.eye(3)), torch.einsum("ij,j,i->", a, v, torch.ones(2)))

# %% norms
x = torch.tensor([3.0, 4.0])
print(x.norm(), torch.norm(x), x.norm(p=1), x.norm(float("inf")), torch.linalg.norm(x))
print(torch.eye(2).norm(), torch.ones(2, 2).norm(dim=1), torch.linalg.vector_norm(x, ord=3))
print(
    torch.dist(x, torch.zeros(2)),
    x.norm(2, dim=0, keepdim=True),
    torch.linalg.matrix_norm(torch.eye(2)),
)

# %% softmax and kin
x = torch.tensor([1.0, 2.0, 3.0])
print(torch.softmax(x, dim=0), x.softmax(0), torch.log_softmax(x, 0), torch.logsumexp(x, dim=0))
print(torch.nn.functional.softmax(x, dim=0), torch.nn.functional.relu(-x), x.log_softmax(dim=-1))

# %% functional losses
F = torch.nn.functional
x, y = torch.tensor([0.5, 1.5]), torch.tensor([1.0, 1.0])
print(F.mse_loss(x, y), F.l1_loss(x, y), F.mse_loss(x, y, reduction="sum"), F.smooth_l1_loss(x, y))
print(F.binary_cross_entropy(x / 2, y), F.binary_cross_entropy_with_logits(x, y))
logits = torch.tensor([[1.0, 2.0, 0.5], [0.1, 0.2, 3.0]])
print(
    F.cross_entropy(logits, torch.tensor([1, 2])),
    F.nll_loss(F.log_softmax(logits, 1), torch.tensor([0, 2])),
)
print(F.linear(torch.ones(1, 2), torch.tensor([[1.0, 2.0]]), torch.tensor([0.5])), F.softplus(x))
print(F.leaky_relu(-x), F.elu(-x), F.sigmoid(x), F.tanh(x), F.silu(x), F.huber_loss(x, y))
print(F.one_hot(torch.tensor([0, 2]), 3), F.normalize(torch.tensor([[3.0, 4.0]])), F.logsigmoid(x))

# %% complex numbers
z = torch.tensor([1 + 1j, 2 - 1j])
print(z, z.real, z.imag, z.abs(), z.conj(), z * 1j, z.angle(), torch.complex(z.real, z.imag))
print(torch.polar(torch.tensor([1.0]), torch.tensor([0.0])), torch.view_as_real(z), z.sum())

# %% two-argument functions
x, y = torch.tensor([1.0, 2.0]), torch.tensor([2.0, 1.0])
print(
    torch.atan2(x, y),
    torch.hypot(x, y),
    torch.logaddexp(x, y),
    torch.fmax(x, y),
    torch.copysign(x, -y),
)
print(torch.minimum(x, y), torch.xlogy(x, y), torch.heaviside(x - 1, y), torch.float_power(x, 2))

# %% bits
x = torch.tensor([5, 6])
print(
    x & 3, x | 8, x ^ 1, ~x, x << 1, x >> 1, torch.bitwise_and(x, 4), torch.gcd(x, torch.tensor(3))
)

# %% cross products and distances
a, b = torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0])
print(torch.linalg.cross(a, b), torch.cdist(a[None], b[None]), torch.cross(a, b, dim=0))
print(torch.nn.functional.cosine_similarity(a, a + b, dim=0))
