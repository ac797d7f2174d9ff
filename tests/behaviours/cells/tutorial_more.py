"""More cells: small models, losses by hand, indexing, views."""

# ruff: noqa: B007, B905, E402, E741, RUF007
# The cells stand as a notebook has them.

import numpy as np
import torch

# %% type of a tensor and of its parts
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
print(type(x), type(x.shape), type(x.dtype), type(y.grad_fn).__name__, type(x.item()))

# %% bigram language model step
import torch.nn.functional as F

words = ["ada", "bob", "anna"]
chars = sorted(set("".join(words)))
stoi = {c: i + 1 for i, c in enumerate(chars)}
stoi["."] = 0
xs, ys = [], []
for w in words:
    w = "." + w + "."
    for a, b in zip(w, w[1:]):
        xs.append(stoi[a])
        ys.append(stoi[b])
xs, ys = torch.tensor(xs), torch.tensor(ys)
W = torch.zeros(len(stoi), len(stoi), requires_grad=True)
for k in range(20):
    logits = F.one_hot(xs, num_classes=len(stoi)).float() @ W
    counts = logits.exp()
    probs = counts / counts.sum(1, keepdim=True)
    loss = -probs[torch.arange(len(xs)), ys].log().mean()
    W.grad = None
    loss.backward()
    W.data += -10 * W.grad
print(f"{loss.item():.4f}")
print(chars, len(xs))

# %% micrograd expression checked
x = torch.tensor(-4.0, requires_grad=True)
z = 2 * x + 2 + x
q = z.relu() + z * x
h = (z * z).relu()
y = h + q + q * x
y.backward()
print(y.item(), x.grad.item())

# %% a neuron with tanh
x1 = torch.Tensor([2.0]).double()
x1.requires_grad = True
x2 = torch.Tensor([0.0]).double()
x2.requires_grad = True
w1 = torch.Tensor([-3.0]).double()
w1.requires_grad = True
w2 = torch.Tensor([1.0]).double()
w2.requires_grad = True
b = torch.Tensor([6.8813735870195432]).double()
b.requires_grad = True
n = x1 * w1 + x2 * w2 + b
o = torch.tanh(n)
print(o.data.item())
o.backward()
print("x2", x2.grad.item())
print("w2", w2.grad.item())
print("x1", x1.grad.item())
print("w1", w1.grad.item())


# %% the gradient tape is dynamic
def f(x):
    if x.sum() > 0:
        return (x**2).sum()
    return (x**3).sum()


for start in [torch.tensor([1.0, 2.0]), torch.tensor([-1.0, -2.0])]:
    x = start.requires_grad_()
    y = f(x)
    y.backward()
    print(y, x.grad, y.grad_fn.next_functions[0][0].name())

# %% jacobian by hand and by function
from torch.autograd.functional import jacobian


def f(x):
    return torch.stack([x[0] ** 2 * x[1], 5 * x[0] + torch.sin(x[1])])


x = torch.tensor([1.0, 2.0])
print(jacobian(f, x))
print(torch.tensor([[2 * x[0] * x[1], x[0] ** 2], [5.0, x[1].cos()]]))

# %% second derivative plots numbers
x = torch.linspace(-2, 2, 5, requires_grad=True)
y = x.tanh()
(dy,) = torch.autograd.grad(y, x, torch.ones_like(x), create_graph=True)
(d2y,) = torch.autograd.grad(dy, x, torch.ones_like(x))
for a, b, c, d in zip(x.tolist(), y.tolist(), dy.tolist(), d2y.tolist()):
    print(f"{a:6.2f} {b:8.4f} {c:8.4f} {d:8.4f}")

# %% Laplace of a function on a grid
xy = torch.tensor([[0.5, 1.0], [1.0, -1.0]], requires_grad=True)
u = (xy[:, 0] ** 2 * xy[:, 1]).sum()
(g,) = torch.autograd.grad(u, xy, create_graph=True)
print(g)
lap = torch.zeros(2)
for i in range(2):
    (gi,) = torch.autograd.grad(g[:, i].sum(), xy, retain_graph=True)
    lap = lap + gi[:, i]
print(lap)

# %% power iteration and a gradient through it
A = torch.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
v = torch.ones(2) / 2**0.5
for _ in range(30):
    v = A @ v
    v = v / v.norm()
lam = v @ A @ v
lam.backward()
print(f"{lam.item():.4f}")
print(A.grad.round(decimals=3))

# %% soft clustering loss
torch.manual_seed(10)
X = torch.cat([torch.randn(5, 2) - 2, torch.randn(5, 2) + 2])
C = torch.tensor([[-1.0, 0.0], [1.0, 0.0]], requires_grad=True)
for i in range(20):
    d = torch.cdist(X, C)
    w = torch.softmax(-d, dim=1)
    loss = (w * d).sum()
    (g,) = torch.autograd.grad(loss, C)
    with torch.no_grad():
        C -= 0.05 * g
print(f"{loss.item():.3f}")
print(C.detach().round(decimals=2))

# %% contrastive loss on normalised vectors
import torch.nn.functional as F

torch.manual_seed(15)
z1 = F.normalize(torch.randn(4, 3), dim=1).requires_grad_()
z2 = F.normalize(torch.randn(4, 3), dim=1)
sim = z1 @ z2.T / 0.5
loss = F.cross_entropy(sim, torch.arange(4))
loss.backward()
print(loss)
print(z1.grad)

# %% huber, quantile and focal losses by hand
p = torch.tensor([0.5, 2.0, -3.0], requires_grad=True)
t = torch.zeros(3)
d = (p - t).abs()
huber = torch.where(d < 1, 0.5 * d**2, d - 0.5).sum()
quantile = torch.max(0.9 * (t - p), -0.1 * (t - p)).sum()
pt = torch.sigmoid(p)
focal = (-((1 - pt) ** 2) * torch.log(pt)).sum()
for loss in [huber, quantile, focal]:
    (g,) = torch.autograd.grad(loss, p, retain_graph=True)
    print(loss, g)

# %% normal log density and its score
mu = torch.tensor(1.0, requires_grad=True)
log_sigma = torch.tensor(0.0, requires_grad=True)
x = torch.tensor([0.5, 2.0, 1.5])
logp = (-0.5 * ((x - mu) / log_sigma.exp()) ** 2 - log_sigma - 0.5 * np.log(2 * np.pi)).sum()
logp.backward()
print(logp, mu.grad, log_sigma.grad)

# %% loss curves stored as floats
w = torch.tensor([3.0], requires_grad=True)
losses = []
for i in range(5):
    loss = (w**2).sum()
    losses.append(loss.item())
    loss.backward()
    with torch.no_grad():
        w -= 0.2 * w.grad
        w.grad.zero_()
print([round(v, 4) for v in losses])
print(w)

# %% learning rate decay by hand
x = torch.tensor(5.0, requires_grad=True)
lr = 0.4
for step in range(6):
    y = x**2
    y.backward()
    with torch.no_grad():
        x.sub_(lr * x.grad)
    x.grad.zero_()
    lr *= 0.8
    print(f"step {step}: x={x.item():.5f} lr={lr:.4f}")

# %% early stopping
w = torch.zeros(2, requires_grad=True)
target = torch.tensor([1.0, -1.0])
best, patience = float("inf"), 0
for i in range(100):
    loss = ((w - target) ** 2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.3 * w.grad
        w.grad = None
    if loss.item() < best - 1e-4:
        best, patience = loss.item(), 0
    else:
        patience += 1
        if patience == 3:
            print("stopped at", i)
            break
print(w.detach())

# %% embedding bag by hand
E = torch.arange(12.0).reshape(4, 3).requires_grad_()
bags = [torch.tensor([0, 1]), torch.tensor([3]), torch.tensor([1, 1, 2])]
out = torch.stack([E[b].mean(0) for b in bags])
print(out)
out.sum().backward()
print(E.grad)

# %% sum of squares in three spellings
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
for y in [
    x.pow(2).sum(),
    (x * x).sum(),
    torch.dot(x, x),
    x @ x,
    x.norm() ** 2,
    torch.einsum("i,i", x, x),
]:
    (g,) = torch.autograd.grad(y, x)
    print(y.item(), g)

# %% slices assigned in a leaf under no_grad
W = torch.zeros(3, 3, requires_grad=True)
with torch.no_grad():
    W[0] = torch.tensor([1.0, 2.0, 3.0])
    W[:, 2] += 1
    W.diagonal().fill_(7)
print(W)
(W**2).sum().backward()
print(W.grad)

# %% cumulative products and their gradient
x = torch.tensor([2.0, 0.5, 3.0], requires_grad=True)
torch.cumprod(x, 0).sum().backward()
print(x.grad)
x.grad = None
torch.cumsum(x, 0).prod().backward()
print(x.grad)

# %% padding and masking a batch of sequences
import torch.nn.functional as F

seqs = [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0]), torch.tensor([6.0])]
n = max(len(s) for s in seqs)
batch = torch.stack([F.pad(s, (0, n - len(s))) for s in seqs])
mask = torch.stack([torch.arange(n) < len(s) for s in seqs])
print(batch)
print(mask)
print((batch * mask).sum(1) / mask.sum(1))

# %% causal attention weights
import torch.nn.functional as F

scores = torch.arange(9.0).reshape(3, 3)
mask = torch.tril(torch.ones(3, 3)) == 0
att = F.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
print(att)
print(att.sum(-1))

# %% positional encodings
pos = torch.arange(4.0).unsqueeze(1)
div = torch.exp(torch.arange(0, 6, 2) * (-np.log(10000.0) / 6))
pe = torch.zeros(4, 6)
pe[:, 0::2] = torch.sin(pos * div)
pe[:, 1::2] = torch.cos(pos * div)
print(pe)

# %% multi-head split and merge
x = torch.arange(24.0).reshape(2, 3, 4)
heads = x.view(2, 3, 2, 2).transpose(1, 2)
print(heads.shape, heads.is_contiguous())
print(heads[0, 1])
merged = heads.transpose(1, 2).contiguous().view(2, 3, 4)
print(torch.equal(merged, x))

# %% weights of a convolution by its gradient
import torch.nn.functional as F

x = torch.arange(9.0).view(1, 1, 3, 3)
w = torch.ones(1, 1, 2, 2, requires_grad=True)
y = F.conv2d(x, w, stride=1)
print(y)
y.sum().backward()
print(w.grad)
print(F.unfold(x, 2).shape)

# %% softmax temperature
logits = torch.tensor([2.0, 1.0, 0.1])
for T in [0.5, 1.0, 2.0, 10.0]:
    print(T, torch.softmax(logits / T, dim=0))

# %% KL divergence both ways
import torch.nn.functional as F

p = torch.tensor([0.7, 0.2, 0.1])
q = torch.tensor([0.5, 0.3, 0.2])
print((p * (p / q).log()).sum(), (q * (q / p).log()).sum())
print(F.kl_div(q.log(), p, reduction="sum"), F.kl_div(p.log(), q, reduction="sum"))

# %% accuracy, confusion matrix, top k
logits = torch.tensor([[2.0, 1.0, 0.0], [0.1, 0.2, 0.3], [1.0, 3.0, 2.0], [0.0, 0.0, 5.0]])
y = torch.tensor([0, 2, 2, 2])
pred = logits.argmax(dim=1)
print((pred == y).float().mean().item())
cm = torch.zeros(3, 3, dtype=torch.long)
for t, p in zip(y, pred):
    cm[t, p] += 1
print(cm)
print(logits.topk(2, dim=1).indices.eq(y.unsqueeze(1)).any(1).sum())

# %% standardise columns
X = torch.tensor([[1.0, 200.0], [2.0, 300.0], [3.0, 400.0]])
mu, sd = X.mean(0), X.std(0)
Z = (X - mu) / sd
print(mu, sd)
print(Z)
print(Z.mean(0), Z.std(0))

# %% least squares by the normal equations
X = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
y = torch.tensor([1.0, 3.0, 5.0])
w = torch.linalg.solve(X.T @ X, X.T @ y)
print(w)
print(X @ w - y)


# %% finite differences agree
def f(x):
    return (x.sin() * x.exp()).sum()


x = torch.tensor([0.3, 0.6], dtype=torch.float64, requires_grad=True)
(g,) = torch.autograd.grad(f(x), x)
eps = 1e-6
num = torch.stack(
    [
        (f(x.detach() + eps * e) - f(x.detach() - eps * e)) / (2 * eps)
        for e in torch.eye(2, dtype=torch.float64)
    ]
)
print(g)
print(torch.allclose(g, num, atol=1e-8))

# %% optimiser state survives a reload
w = torch.tensor([1.0, 2.0], requires_grad=True)
opt = torch.optim.Adam([w], lr=0.1)
(w**2).sum().backward()
opt.step()
saved = opt.state_dict()
opt2 = torch.optim.Adam([w], lr=0.5)
opt2.load_state_dict(saved)
print(opt2.param_groups[0]["lr"], sorted(saved["state"][0].keys()))
opt2.step()
print(w)

# %% two optimisers on two players
x = torch.tensor(1.0, requires_grad=True)
y = torch.tensor(1.0, requires_grad=True)
ox, oy = torch.optim.SGD([x], 0.1), torch.optim.SGD([y], 0.1, maximize=True)
for i in range(5):
    ox.zero_grad()
    oy.zero_grad()
    (x * y).backward()
    ox.step()
    oy.step()
    print(f"{x.item():.4f} {y.item():.4f}")

# %% complex derivative rules
z = torch.tensor(0.5 + 1.0j, requires_grad=True)
for f in [
    lambda z: z.abs() ** 2,
    lambda z: (z * z).real,
    lambda z: z.exp().imag,
    lambda z: z.angle(),
    lambda z: (1 / z).real,
]:
    (g,) = torch.autograd.grad(f(z), z)
    print(g)

# %% complex printing
print(torch.tensor([1 + 2j, 3.5 - 4j]), torch.zeros(2, dtype=torch.cfloat), torch.tensor(1j).dtype)
print(torch.tensor([[1e-3 + 1e3j]]), torch.complex(torch.ones(2), -torch.ones(2)))
z = torch.tensor([1 + 1j])
print(z.abs(), z.angle(), z.conj(), z.real, z.imag, z**2, z * 1j, torch.view_as_real(z))

# %% integer tensors refuse means
x = torch.tensor([1, 2, 3])
try:
    x.mean()
except RuntimeError as e:
    print(type(e).__name__)
print(x.float().mean(), x.sum(), x.prod(), x.max(), x.type(torch.float32).std())

# %% broadcasting rules
a = torch.arange(3).view(3, 1)
b = torch.arange(2)
print(a + b, (a + b).shape, a * torch.ones(4, 1, 1, dtype=torch.int64).shape[0])
print(torch.ones(5, 1, 4, 1).add(torch.ones(3, 1, 1)).shape, (a == b).long())

# %% advanced indexing tour
x = torch.arange(12).view(3, 4)
print(x[1], x[-1, -1], x[:, 1:3], x[::2, ::3], x[[0, 2]], x[[0, 1], [1, 2]], x[x % 2 == 0])
print(
    x[..., 0],
    x[None].shape,
    x[:, None, 1].shape,
    x[torch.tensor([[0], [2]])].shape,
    x[1][2],
    x.take(torch.tensor([0, 5])),
)
y = x.clone()
y[y > 6] = -1
y[0] += 100
print(y)

# %% views share and copies do not
x = torch.zeros(4)
views = [x.view(2, 2), x[1:], x.reshape(4), x.detach(), x.expand(1, 4), x.unsqueeze(0), x.t()]
copies = [x.clone(), x[[0, 1, 2, 3]], x + 0, torch.tensor(x.tolist()), x.repeat(1)]
x.fill_(1)
print([bool((v == 1).all()) for v in views])
print([bool((c == 1).all()) for c in copies])

# %% numbers become tensors of the default type
print(
    torch.tensor(1.5).dtype,
    torch.tensor(1).dtype,
    torch.tensor([1, 2.5]).dtype,
    torch.tensor([True, 2]).dtype,
)
torch.set_default_dtype(torch.float64)
print(torch.tensor(1.5), torch.zeros(1).dtype, torch.tensor([1.0, 2.0]))
torch.set_default_dtype(torch.float32)
print(
    torch.get_default_dtype(),
    torch.as_tensor([1, 2]),
    torch.Tensor([1, 2]),
    torch.FloatTensor(2).shape,
)

# %% copies of numpy and their dtypes
a = np.array([1, 2, 3])
print(torch.tensor(a).dtype, torch.from_numpy(a.astype(np.float32)).dtype, torch.tensor(a / 2))
t = torch.from_numpy(np.zeros(2))
t += 1
print(t, t.numpy(), torch.ones(2).numpy().dtype, np.float64(2.0) * torch.ones(2))

# %% multi-output max and gradient routing
x = torch.tensor([[1.0, 9.0], [7.0, 3.0]], requires_grad=True)
vals, idx = torch.max(x, dim=1)
print(vals, idx)
vals.sum().backward()
print(x.grad)
x.grad = None
torch.sort(x, dim=1)[0][:, 0].sum().backward()
print(x.grad)
x.grad = None
torch.topk(x.flatten(), 2)[0].prod().backward()
print(x.grad)

# %% gradient of a gather in cross entropy
logits = torch.tensor([[1.0, 2.0], [3.0, 0.5]], requires_grad=True)
y = torch.tensor([1, 0])
logp = torch.log_softmax(logits, dim=1)
nll = -logp.gather(1, y.unsqueeze(1)).mean()
nll.backward()
print(nll, logits.grad)
print((torch.softmax(logits, 1) - torch.nn.functional.one_hot(y)) / 2)

# %% chunked loss equals the whole
torch.manual_seed(21)
X = torch.randn(9, 2)
w = torch.ones(2, requires_grad=True)
(whole,) = torch.autograd.grad((X @ w).pow(2).sum(), w)
parts = torch.zeros(2)
for piece in torch.split(X, 4):
    (g,) = torch.autograd.grad((piece @ w).pow(2).sum(), w)
    parts += g
print(torch.allclose(whole, parts), [p.shape[0] for p in torch.split(X, 4)])

# %% stop gradient in one branch
x = torch.tensor(2.0, requires_grad=True)
a = x**2
b = a.detach()
(a * b).backward()
print(x.grad)
x.grad = None
(a.detach() * x).backward()
print(x.grad)

# %% the reparametrised Bernoulli
torch.manual_seed(17)
logit = torch.tensor([0.2, -0.4, 1.0], requires_grad=True)
u = torch.rand(3)
soft = torch.sigmoid((logit + torch.log(u) - torch.log(1 - u)) / 0.5)
hard = (soft > 0.5).float()
st = hard + soft - soft.detach()
(st * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
print(hard, logit.grad)

# %% in-place accumulation in a loop
x = torch.tensor([1.0, 2.0], requires_grad=True)
acc = torch.zeros(2)
for i in range(3):
    acc += x * i
acc.sum().backward()
print(acc, x.grad)

# %% writing results into a preallocated tensor
x = torch.tensor(2.0, requires_grad=True)
out = torch.zeros(4)
for i in range(4):
    out[i] = x**i
print(out)
out.sum().backward()
print(x.grad)

# %% a list of losses, stacked
w = torch.tensor(1.5, requires_grad=True)
losses = [(w - k) ** 2 for k in range(3)]
total = torch.stack(losses).mean()
total.backward()
print([round(l.item(), 2) for l in losses], total, w.grad)

# %% printing requires_grad of many
a = torch.ones(1)
b = torch.ones(1, requires_grad=True)
c = a + b
d = c.detach()
e = torch.zeros_like(b)
f = torch.empty(1).requires_grad_()
print([t.requires_grad for t in (a, b, c, d, e, f)])
print([t.is_leaf for t in (a, b, c, d, e, f)])
print([t.grad_fn is None for t in (a, b, c, d, e, f)])
