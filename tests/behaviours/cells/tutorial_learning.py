"""Cells that learn something from scratch, and classic uses of gradients."""

# ruff: noqa: B007, B905, E402, E501, E731
# The cells stand as a notebook has them.

import numpy as np
import torch

# %% polynomial fit by numpy
x = np.linspace(-np.pi, np.pi, 2000)
y = np.sin(x)
a, b, c, d = 0.1, -0.2, 0.3, -0.1
lr = 1e-6
for t in range(300):
    y_pred = a + b * x + c * x**2 + d * x**3
    loss = np.square(y_pred - y).sum()
    if t % 100 == 99:
        print(t, f"{loss:.4f}")
    grad_y_pred = 2.0 * (y_pred - y)
    a -= lr * grad_y_pred.sum()
    b -= lr * (grad_y_pred * x).sum()
    c -= lr * (grad_y_pred * x**2).sum()
    d -= lr * (grad_y_pred * x**3).sum()
print(f"Result: y = {a:.5f} + {b:.5f} x + {c:.5f} x^2 + {d:.5f} x^3")

# %% polynomial fit by autograd
import math

dtype = torch.float
device = torch.device("cpu")
torch.set_default_device(device)
torch.manual_seed(0)
x = torch.linspace(-math.pi, math.pi, 200, dtype=dtype, device=device)
y = torch.sin(x)
a = torch.randn((), device=device, dtype=dtype, requires_grad=True)
b = torch.randn((), device=device, dtype=dtype, requires_grad=True)
c = torch.randn((), device=device, dtype=dtype, requires_grad=True)
d = torch.randn((), device=device, dtype=dtype, requires_grad=True)
learning_rate = 1e-5
for t in range(200):
    y_pred = a + b * x + c * x**2 + d * x**3
    loss = (y_pred - y).pow(2).sum()
    if t % 50 == 49:
        print(t, f"{loss.item():.3f}")
    loss.backward()
    with torch.no_grad():
        a -= learning_rate * a.grad
        b -= learning_rate * b.grad
        c -= learning_rate * c.grad
        d -= learning_rate * d.grad
        a.grad = None
        b.grad = None
        c.grad = None
        d.grad = None
print(f"Result: y = {a.item():.3f} + {b.item():.3f} x + {c.item():.3f} x^2 + {d.item():.3f} x^3")

# %% Legendre polynomial Function
import math


class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


x = torch.linspace(-math.pi, math.pi, 500)
y = torch.sin(x)
a = torch.full((), 0.0, requires_grad=True)
b = torch.full((), -1.0, requires_grad=True)
c = torch.full((), 0.0, requires_grad=True)
d = torch.full((), 0.3, requires_grad=True)
P3 = LegendrePolynomial3.apply
for t in range(100):
    y_pred = a + b * P3(c + d * x)
    loss = (y_pred - y).pow(2).sum()
    if t % 25 == 24:
        print(t, f"{loss.item():.3f}")
    loss.backward()
    with torch.no_grad():
        for p in [a, b, c, d]:
            p -= 2e-5 * p.grad
            p.grad = None
a, c = abs(a), abs(c)  # nothing is left of them but the sign of a rounding
print(f"Result: y = {a.item():.3f} + {b.item():.3f} * P3({c.item():.3f} + {d.item():.3f} x)")

# %% nn polynomial
import math

torch.manual_seed(0)
x = torch.linspace(-math.pi, math.pi, 200)
y = torch.sin(x)
p = torch.tensor([1, 2, 3])
xx = x.unsqueeze(-1).pow(p)
model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0, 1))
loss_fn = torch.nn.MSELoss(reduction="sum")
learning_rate = 1e-5
for t in range(200):
    y_pred = model(xx)
    loss = loss_fn(y_pred, y)
    if t % 50 == 49:
        print(t, f"{loss.item():.3f}")
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for param in model.parameters():
            param -= learning_rate * param.grad
linear_layer = model[0]
print(
    f"Result: y = {linear_layer.bias.item():.3f} + {linear_layer.weight[:, 0].item():.3f} x + {linear_layer.weight[:, 1].item():.3f} x^2 + {linear_layer.weight[:, 2].item():.3f} x^3"
)

# %% optim polynomial
import math

torch.manual_seed(0)
x = torch.linspace(-math.pi, math.pi, 200)
y = torch.sin(x)
xx = x.unsqueeze(-1).pow(torch.tensor([1, 2, 3]))
model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0, 1))
loss_fn = torch.nn.MSELoss(reduction="sum")
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for t in range(150):
    y_pred = model(xx)
    loss = loss_fn(y_pred, y)
    if t % 50 == 49:
        print(t, f"{loss.item():.2f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %% a Module of one's own: Polynomial3
import math


class Polynomial3(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.randn(()))
        self.b = torch.nn.Parameter(torch.randn(()))
        self.c = torch.nn.Parameter(torch.randn(()))
        self.d = torch.nn.Parameter(torch.randn(()))

    def forward(self, x):
        return self.a + self.b * x + self.c * x**2 + self.d * x**3

    def string(self):
        return f"y = {self.a.item():.3f} + {self.b.item():.3f} x + {self.c.item():.3f} x^2 + {self.d.item():.3f} x^3"


torch.manual_seed(0)
x = torch.linspace(-math.pi, math.pi, 200)
y = torch.sin(x)
model = Polynomial3()
criterion = torch.nn.MSELoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
for t in range(100):
    y_pred = model(x)
    loss = criterion(y_pred, y)
    if t % 25 == 24:
        print(t, f"{loss.item():.3f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"Result: {model.string()}")
print(model)

# %% control flow and weight sharing
import random


class DynamicNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.randn(()))
        self.b = torch.nn.Parameter(torch.randn(()))
        self.e = torch.nn.Parameter(torch.randn(()))

    def forward(self, x):
        y = self.a + self.b * x
        for exp in range(4, random.randint(4, 6)):
            y = y + self.e * x**exp
        return y


random.seed(0)
torch.manual_seed(0)
x = torch.linspace(-1, 1, 50)
y = torch.sin(x)
model = DynamicNet()
opt = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
for t in range(40):
    loss = (model(x) - y).pow(2).sum()
    if t % 10 == 9:
        print(t, f"{loss.item():.4f}")
    opt.zero_grad()
    loss.backward()
    opt.step()
print([name for name, p in model.named_parameters()])

# %% linear regression by hand
torch.manual_seed(0)
X = torch.linspace(0, 1, 20).unsqueeze(1)
Y = 3 * X + 0.5 + 0.01 * torch.randn(20, 1)
w = torch.zeros(1, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for epoch in range(200):
    loss = ((X @ w + b - Y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (w, b):
            p.sub_(0.5 * p.grad)
            p.grad.zero_()
    if epoch % 50 == 0:
        print(f"epoch {epoch:3d} loss {loss.item():.6f}")
print(w, b)

# %% logistic regression from scratch
torch.manual_seed(1)
X = torch.randn(40, 2)
Y = (X[:, 0] + X[:, 1] > 0).float()
w = torch.zeros(2, requires_grad=True)
b = torch.zeros((), requires_grad=True)


def model(x):
    return torch.sigmoid(x @ w + b)


for i in range(50):
    p = model(X)
    loss = -(Y * p.log() + (1 - Y) * (1 - p).log()).mean()
    gw, gb = torch.autograd.grad(loss, (w, b))
    with torch.no_grad():
        w -= gw
        b -= gb
acc = ((model(X) > 0.5).float() == Y).float().mean()
print(f"{loss.item():.4f} {acc:.3f}")
print(w.detach())

# %% softmax regression with cross entropy
import torch.nn.functional as F

torch.manual_seed(2)
X = torch.randn(30, 4)
Y = torch.randint(0, 3, (30,))
W = torch.zeros(4, 3, requires_grad=True)
b = torch.zeros(3, requires_grad=True)


def accuracy(out, yb):
    preds = torch.argmax(out, dim=1)
    return (preds == yb).float().mean()


print(F.cross_entropy(X @ W + b, Y), accuracy(X @ W + b, Y))
for epoch in range(30):
    loss = F.cross_entropy(X @ W + b, Y)
    loss.backward()
    with torch.no_grad():
        W -= W.grad * 0.5
        b -= b.grad * 0.5
        W.grad.zero_()
        b.grad.zero_()
print(f"{F.cross_entropy(X @ W + b, Y).item():.4f}")


# %% log softmax and nll by hand
def log_softmax(x):
    return x - x.exp().sum(-1).log().unsqueeze(-1)


def nll(input, target):
    return -input[range(target.shape[0]), target].mean()


x = torch.tensor([[1.0, 2.0, 0.5], [0.1, 0.2, 3.0]], requires_grad=True)
t = torch.tensor([1, 2])
loss = nll(log_softmax(x), t)
print(loss)
loss.backward()
print(x.grad)
print(torch.nn.functional.cross_entropy(x, t))
print(torch.nn.functional.nll_loss(torch.log_softmax(x, dim=1), t))

# %% an MLP of bare tensors on xor
torch.manual_seed(4)
X = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
Y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
W1 = torch.randn(2, 8, requires_grad=True)
b1 = torch.zeros(8, requires_grad=True)
W2 = torch.randn(8, 1, requires_grad=True)
b2 = torch.zeros(1, requires_grad=True)
params = [W1, b1, W2, b2]
for step in range(300):
    h = torch.tanh(X @ W1 + b1)
    out = torch.sigmoid(h @ W2 + b2)
    loss = ((out - Y) ** 2).mean()
    for p in params:
        p.grad = None
    loss.backward()
    for p in params:
        p.data -= 1.0 * p.grad
    if step % 100 == 0:
        print(step, f"{loss.item():.4f}")
print((out > 0.5).int().flatten())

# %% a recurrent network by hand
torch.manual_seed(5)
T, H = 5, 3
Wxh = (torch.randn(2, H) * 0.5).requires_grad_()
Whh = (torch.randn(H, H) * 0.5).requires_grad_()
Why = (torch.randn(H, 1) * 0.5).requires_grad_()
xs = torch.randn(T, 2)
h = torch.zeros(H)
states = []
for t in range(T):
    h = torch.tanh(xs[t] @ Wxh + h @ Whh)
    h.retain_grad()
    states.append(h)
loss = (h @ Why).pow(2).sum()
loss.backward()
for t, s in enumerate(states):
    print(t, f"{s.grad.norm():.5f}")
print(Wxh.grad.shape, Whh.grad)

# %% truncated backpropagation through time
w = torch.tensor(0.9, requires_grad=True)
h = torch.tensor(1.0)
for t in range(6):
    h = w * h
    if t % 3 == 2:
        loss = h**2
        loss.backward()
        print(t, h.item() == h.item(), w.grad)
        h = h.detach()

# %% gradient accumulation equals the whole batch
torch.manual_seed(6)
X, Y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3, requires_grad=True)
((X @ w - Y) ** 2).mean().backward()
whole = w.grad.clone()
w.grad = None
for xb, yb in zip(X.chunk(4), Y.chunk(4)):
    (((xb @ w - yb) ** 2).mean() / 4).backward()
print(torch.allclose(whole, w.grad))
print(whole)

# %% gradient penalty
torch.manual_seed(7)
w = torch.randn(3, 1, requires_grad=True)
x = torch.randn(4, 3, requires_grad=True)
critic = torch.tanh(x @ w).sum()
grads = torch.autograd.grad(critic, x, create_graph=True)[0]
penalty = ((grads.norm(2, dim=1) - 1) ** 2).mean()
print(penalty)
penalty.backward()
print(w.grad)

# %% double backprop for a second order optimum: Newton
x = torch.tensor(4.0, requires_grad=True)
for i in range(5):
    y = x**4 - 3 * x**3 + 2
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g, x)
    with torch.no_grad():
        x -= g / h
    print(i, x, y.item())

# %% one MAML step
torch.manual_seed(8)
w = torch.tensor([0.5, -0.3], requires_grad=True)


def task_loss(w, a):
    return ((w - a) ** 2).sum()


outer = 0
for a in [torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])]:
    (g,) = torch.autograd.grad(task_loss(w, a), w, create_graph=True)
    fast = w - 0.1 * g
    outer = outer + task_loss(fast, a)
outer.backward()
print(outer, w.grad)

# %% learning the learning rate
lr = torch.tensor(0.1, requires_grad=True)
w = torch.tensor(2.0, requires_grad=True)
for i in range(3):
    (g,) = torch.autograd.grad(w**2, w, create_graph=True)
    w = w - lr * g
(w**2).backward()
print(w, lr.grad)

# %% implicit differentiation of a fixed point
a = torch.tensor(2.0, requires_grad=True)
with torch.no_grad():
    x = torch.tensor(1.0)
    for i in range(30):
        x = 0.5 * (x + a / x)
x = x.detach()
fx = lambda x, a: 0.5 * (x + a / x)
xv = x.clone().requires_grad_()
F = xv**2 - a
dFdx, dFda = torch.autograd.grad(F, (xv, a))
print(x, -dFda / dFdx, 0.5 / a.sqrt())

# %% FGSM on a linear classifier
import torch.nn.functional as F

w = torch.tensor([[1.0, -1.0], [-0.5, 1.5]])
x = torch.tensor([[0.3, 0.1]], requires_grad=True)
t = torch.tensor([0])
loss = F.cross_entropy(x @ w.t(), t)
loss.backward()
sign = x.grad.data.sign()
adv = torch.clamp(x + 0.3 * sign, 0, 1)
print(sign, adv)
print((x @ w.t()).argmax(1).item(), (adv @ w.t()).argmax(1).item())

# %% the gradient of attention
import torch.nn.functional as F

torch.manual_seed(9)
q, k, v = (torch.randn(2, 3, 4, requires_grad=True) for _ in range(3))
scores = q @ k.transpose(-2, -1) / 4**0.5
attn = F.softmax(scores, dim=-1)
out = attn @ v
out.sum().backward()
print(out.shape, torch.allclose(attn.sum(-1), torch.ones(2, 3)))
print(v.grad[0])
print(
    q.grad.abs().max() < 1e-6,
    torch.allclose(out, F.scaled_dot_product_attention(q, k, v), atol=1e-6),
)

# %% weight tying
E = torch.tensor([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]], requires_grad=True)
idx = torch.tensor([0, 2])
h = E[idx]
logits = h @ E.t()
loss = torch.nn.functional.cross_entropy(logits, torch.tensor([1, 0]))
loss.backward()
print(loss, E.grad)


# %% momentum SGD by hand against the library
def quad(p):
    return (p**2 * torch.tensor([1.0, 10.0])).sum()


p = torch.tensor([1.0, 1.0], requires_grad=True)
v = torch.zeros(2)
q = torch.tensor([1.0, 1.0], requires_grad=True)
opt = torch.optim.SGD([q], lr=0.01, momentum=0.9)
for i in range(10):
    (g,) = torch.autograd.grad(quad(p), p)
    v = 0.9 * v + g
    with torch.no_grad():
        p -= 0.01 * v
    opt.zero_grad()
    quad(q).backward()
    opt.step()
print(p, q, torch.allclose(p, q))

# %% Adam by hand against the library
p = torch.tensor([1.0, -2.0], requires_grad=True)
q = p.detach().clone().requires_grad_()
opt = torch.optim.Adam([q], lr=0.1)
m = torch.zeros(2)
s = torch.zeros(2)
for t in range(1, 6):
    (g,) = torch.autograd.grad((p**2).sum(), p)
    m = 0.9 * m + 0.1 * g
    s = 0.999 * s + 0.001 * g * g
    mh = m / (1 - 0.9**t)
    sh = s / (1 - 0.999**t)
    with torch.no_grad():
        p -= 0.1 * mh / (sh.sqrt() + 1e-8)
    opt.zero_grad()
    (q**2).sum().backward()
    opt.step()
    print(t, p.detach(), torch.allclose(p, q))

# %% physics: an ODE by Euler and the sensitivity
k = torch.tensor(0.5, requires_grad=True)
y = torch.tensor(1.0)
dt = 0.1
for i in range(20):
    y = y + dt * (-k * y)
y.backward()
print(y, k.grad)

# %% physics informed residual
x = torch.linspace(0, 1, 5, requires_grad=True)
u = torch.sin(3 * x)
(du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
(d2u,) = torch.autograd.grad(du.sum(), x, create_graph=True)
print(du)
print(d2u)
print((d2u + 9 * u).abs().max() < 1e-5)

# %% reinforce by the score function
torch.manual_seed(11)
logits = torch.zeros(3, requires_grad=True)
rewards = torch.tensor([0.0, 1.0, 5.0])
probs = torch.softmax(logits, 0)
actions = torch.multinomial(probs, 8, replacement=True)
logp = torch.log(probs)[actions]
loss = -(logp * rewards[actions]).mean()
loss.backward()
print(actions)
print(logits.grad)

# %% reparametrisation of a normal
torch.manual_seed(12)
mu = torch.tensor([0.5, -0.5], requires_grad=True)
logvar = torch.zeros(2, requires_grad=True)
eps = torch.randn(2)
z = mu + torch.exp(0.5 * logvar) * eps
kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
loss = (z**2).sum() + kl
loss.backward()
print(kl, mu.grad, logvar.grad)

# %% batch normalisation by hand
torch.manual_seed(13)
x = torch.randn(6, 2, requires_grad=True)
gamma = torch.ones(2, requires_grad=True)
beta = torch.zeros(2, requires_grad=True)
mean = x.mean(0, keepdim=True)
var = x.var(0, unbiased=False, keepdim=True)
xhat = (x - mean) / torch.sqrt(var + 1e-5)
out = gamma * xhat + beta
(out**3).sum().backward()
print(out.mean(0).abs().max() < 1e-6, out.std(0, unbiased=False))
print(gamma.grad, beta.grad)

# %% total variation and a convolution
import torch.nn.functional as F

img = torch.arange(16.0).reshape(1, 1, 4, 4).requires_grad_()
kernel = torch.tensor([[[[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]]]])
out = F.conv2d(img, kernel, padding=1)
print(out)
out.pow(2).sum().backward()
print(img.grad)
print(F.max_pool2d(img, 2), F.avg_pool2d(img, 2))

# %% matrix factorisation
torch.manual_seed(14)
R = torch.tensor([[5.0, 3.0, 0.0], [4.0, 0.0, 1.0]])
mask = R > 0
U = torch.full((2, 1), 1.0, requires_grad=True)
V = torch.full((3, 1), 1.0, requires_grad=True)
for i in range(50):
    loss = ((U @ V.T - R)[mask] ** 2).sum()
    loss.backward()
    with torch.no_grad():
        U -= 0.02 * U.grad
        V -= 0.02 * V.grad
    U.grad, V.grad = None, None
print(f"{loss.item():.4f}")
print(U.detach() @ V.detach().T)
