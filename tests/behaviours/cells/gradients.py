"""Cells on backward, accumulation, autograd.grad, detach and writes in place."""

# ruff: noqa: E402
# The cells stand as a notebook has them.

import torch

# %% two times the dot product
x = torch.arange(4.0, requires_grad=True)
y = 2 * torch.dot(x, x)
print(y)
y.backward()
print(x.grad, x.grad == 4 * x)

# %% gradients add up
x = torch.arange(4.0, requires_grad=True)
y = 2 * torch.dot(x, x)
y.backward()
x.grad.zero_()
y = x.sum()
y.backward()
print(x.grad)

# %% z is the mean of 3 y^2
x = torch.ones(2, 2, requires_grad=True)
y = x + 2
z = y * y * 3
out = z.mean()
print(x, y, z, out)
out.backward()
print(x.grad)
x.sum().backward()
print(x.grad)
print(x.grad.zero_(), x.grad)
out2 = x.sum()
out2.backward()
print(x.grad)
x.grad.data.zero_()
print(x.grad)

# %% grad set to None
x = torch.ones(2, requires_grad=True)
x.sum().backward()
x.grad = None
print(x.grad)
(x * 3).sum().backward()
print(x.grad)

# %% a grad given by hand
x = torch.ones(2, requires_grad=True)
x.grad = torch.tensor([10.0, 20.0])
x.sum().backward()
print(x.grad)
try:
    x.grad = torch.ones(3)
except RuntimeError:
    print("of its own shape")

# %% y is x squared plus 2x plus 1
x = torch.tensor(2.0, requires_grad=True)
y = x**2 + 2 * x + 1
y.backward()
print(y, x.grad, y.item())

# %% several leaves
x = torch.tensor(1.0, requires_grad=True)
w = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
y = w * x + b
y.backward()
print(x.grad, w.grad, b.grad)

# %% x y z
x, y, z = (torch.tensor(v, requires_grad=True) for v in (-2.0, 5.0, -4.0))
f = (x + y) * z
f.backward()
print(f, x.grad, y.grad, z.grad)

# %% a cotangent is needed
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = 2 * x
try:
    y.backward()
except RuntimeError as e:
    print(str(e).splitlines()[0][:54])
y.backward(torch.tensor([1.0, 0.1]))
print(x.grad)

# %% a cotangent of the view's shape
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
y = 2 * x
z = y.view(2, 2)
print(z)
v = torch.tensor([[1.0, 0.1], [0.01, 0.001]], dtype=torch.float)
z.backward(v)
print(x.grad)

# %% a cotangent as a keyword
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * x
y.backward(gradient=torch.ones_like(y))
print(x.grad)
gradient = torch.tensor([1.0, 3.0])
x.grad = None
(x * x * gradient).sum().backward()
print(x.grad)

# %% a cotangent of the wrong shape
x = torch.ones(2, requires_grad=True)
try:
    (x * 2).backward(torch.ones(3))
except RuntimeError:
    print("shape")

# %% autograd.grad
x = torch.tensor(0.0, requires_grad=True)
y = x**2 - 2 * x + 1
dy = torch.autograd.grad(y, x, create_graph=True)[0]
print(dy)
d2y = torch.autograd.grad(dy, x)[0]
print(d2y, x.grad)

# %% several inputs and outputs
x1 = torch.tensor(1.0, requires_grad=True)
x2 = torch.tensor(2.0, requires_grad=True)
y1, y2 = x1 * x2, x1 + x2
d1, d2 = torch.autograd.grad(outputs=[y1, y2], inputs=[x1, x2])
print(d1, d2)
print(torch.autograd.grad(x1 * x2, (x1, x2)))

# %% unused inputs
x = torch.tensor(1.0, requires_grad=True)
y = torch.tensor(2.0, requires_grad=True)
try:
    torch.autograd.grad(x * 2, [x, y])
except RuntimeError:
    print("unused")
print(torch.autograd.grad(x * 2, [x, y], allow_unused=True))
print(torch.autograd.grad(x * 2, [x, y], allow_unused=True, materialize_grads=True))

# %% grad_outputs
x = torch.tensor([1.0, 2.0], requires_grad=True)
print(torch.autograd.grad(x * x, x, grad_outputs=torch.tensor([1.0, 10.0])))
print(torch.autograd.grad([x * x, 3 * x], x, grad_outputs=[torch.ones(2), torch.ones(2)]))

# %% gradients of a batch of cotangents
x = torch.tensor([1.0, 2.0], requires_grad=True)
print(torch.autograd.grad(x * x, x, grad_outputs=torch.eye(2), is_grads_batched=True))

# %% gradients by intermediate results
x = torch.tensor(3.0, requires_grad=True)
h = x * x
y = h.sin()
print(torch.autograd.grad(y, [h, x]), x.grad)

# %% autograd.backward
x = torch.tensor(3.0, requires_grad=True)
torch.autograd.backward([x * x, 2 * x])
print(x.grad)
torch.autograd.backward(x * torch.ones(2), grad_tensors=torch.ones(2))
print(x.grad)

# %% backward into chosen inputs
x = torch.tensor(3.0, requires_grad=True)
w = torch.tensor(2.0, requires_grad=True)
(x * w).backward(inputs=[w])
print(x.grad, w.grad)

# %% third derivatives
x = torch.tensor(2.0, requires_grad=True)
y = x**4
for _ in range(3):
    (y,) = torch.autograd.grad(y, x, create_graph=True)
    print(y)

# %% backward with create_graph
x = torch.tensor(3.0, requires_grad=True)
(x**3).backward(create_graph=True)
print(x.grad)
g = x.grad
x.grad = None
g.backward()
print(x.grad)

# %% the norm of a gradient
x = torch.tensor([1.0, 2.0], requires_grad=True)
(g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
penalty = (g**2).sum()
penalty.backward()
print(g, penalty, x.grad)

# %% detach
x = torch.arange(4.0, requires_grad=True)
y = x * x
u = y.detach()
z = u * x
z.sum().backward()
print(x.grad == u, u)
x.grad.zero_()
y.sum().backward()
print(x.grad == 2 * x)

# %% detach shares memory
x = torch.ones(2, requires_grad=True)
d = x.detach()
d[0] = 5
print(x, d, d.requires_grad, d.is_leaf)

# %% detach_
x = torch.ones(2, requires_grad=True)
y = x * 2
y.detach_()
print(y, y.is_leaf, y.grad_fn)

# %% no_grad in the middle
x = torch.tensor(1.0, requires_grad=True)
y1 = x**2
with torch.no_grad():
    y2 = x**3
y3 = y1 + y2
print(x.requires_grad, y1.requires_grad, y2.requires_grad, y3.requires_grad)
y3.backward()
print(x.grad)

# %% data outside the graph
x = torch.ones(1, requires_grad=True)
print(x.data, x.data.requires_grad)
y = 2 * x
x.data *= 100
y.backward()
print(x, x.grad)

# %% a step by hand
w = torch.tensor([1.0, 2.0], requires_grad=True)
for _ in range(3):
    loss = (w**2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad.zero_()
print(w)
w.data = w.data - 1
print(w, w.requires_grad)

# %% control flow: while
a = torch.tensor(0.5, requires_grad=True)


def f(a):
    b = a * 2
    while b.norm() < 1000:
        b = b * 2
    if b.sum() > 0:
        c = b
    else:
        c = 100 * b
    return c


d = f(a)
d.backward()
print(d, a.grad, a.grad == d / a)

# %% control flow: doubled until its norm passes 1000
x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
y = x * 2
while y.data.norm() < 1000:
    y = y * 2
print(y)
v = torch.tensor([0.1, 1.0, 0.0001], dtype=torch.float)
y.backward(v)
print(x.grad)

# %% control flow: a branch
for value in (2.0, -2.0):
    x = torch.tensor(value, requires_grad=True)
    y = x**2 if x > 0 else -3 * x
    y.backward()
    print(x.grad)

# %% control flow: a loop over entries
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
total = 0
for i, v in enumerate(x):
    total = total + v ** (i + 1)
total.backward()
print(total, x.grad)


# %% control flow: recursion
def power(x, n):
    return x if n == 1 else x * power(x, n - 1)


x = torch.tensor(2.0, requires_grad=True)
y = power(x, 5)
y.backward()
print(y, x.grad)

# %% a Newton iteration
a = torch.tensor(2.0, requires_grad=True)
x = torch.tensor(1.0)
for _ in range(6):
    x = (x + a / x) / 2
x.backward()
print(x, a.grad)

# %% non-leaf gradients
x = torch.tensor(3.0, requires_grad=True)
y = x * 2
z = y * y
y.retain_grad()
z.backward()
print(x.grad, y.grad, y.retains_grad, z.is_leaf, x.retains_grad)

# %% a non-leaf's gradient is None
import warnings

x = torch.tensor(3.0, requires_grad=True)
y = x * 2
y.backward()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    print(y.grad)

# %% reading a non-leaf's gradient warns
import warnings

x = torch.tensor(3.0, requires_grad=True)
y = x * 2
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(y.grad, len(caught), caught[0].category.__name__)

# %% gradients through indexing
x = torch.arange(6.0).view(2, 3).requires_grad_()
(x[0, 1] * 3 + x[1].sum() + x[:, 2].prod()).backward()
print(x.grad)

# %% gradients through repeated indices
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
x[torch.tensor([0, 0, 2])].sum().backward()
print(x.grad)

# %% gradients through broadcasting
a = torch.ones(2, 3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
c = torch.tensor(2.0, requires_grad=True)
(a * b + c).sum().backward()
print(a.grad, b.grad, c.grad)

# %% gradients through products
A = torch.arange(6.0).view(2, 3).requires_grad_()
B = torch.ones(3, 2, requires_grad=True)
(A @ B).sum().backward()
print(A.grad, B.grad)

# %% gradients through joins
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0], requires_grad=True)
(torch.cat([a, b]) * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
print(a.grad, b.grad)
a.grad = None
torch.stack([a, a * 2]).prod().backward()
print(a.grad)

# %% gradients through dtypes
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.double() ** 2
y.sum().backward()
print(y, x.grad, x.grad.dtype)

# %% gradients through max and sort
x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
v, i = torch.sort(x)
(v * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
print(v, i, x.grad)
x.grad = None
torch.topk(x, 2).values.sum().backward()
print(x.grad)

# %% gradients through where and masks
x = torch.tensor([-1.0, 2.0, -3.0], requires_grad=True)
torch.where(x > 0, x * 2, x * 3).sum().backward()
print(x.grad)
x.grad = None
x.masked_fill(x < 0, 0.0).sum().backward()
print(x.grad)
x.grad = None
x.masked_select(x < 0).prod().backward()
print(x.grad)

# %% gradients through more operators
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0], requires_grad=True)
for f in (
    lambda: torch.addcmul(x, x, y, value=2),
    lambda: torch.addcdiv(x, x, y),
    lambda: torch.lerp(x, y, 0.25),
    lambda: x.cumprod(0),
    lambda: torch.diff(x * y),
    lambda: torch.kron(x, y),
    lambda: torch.einsum("i,j->ij", x, y),
    lambda: torch.outer(x, y),
    lambda: x.median(),
    lambda: torch.hypot(x, y),
    lambda: x.unflatten(0, (2, 1)),
    lambda: torch.fmod(y, x),
    lambda: torch.xlogy(x, y),
):
    print(torch.autograd.grad(f().sum(), [x, y], allow_unused=True))

# %% complex gradients
z = torch.tensor([1 + 2j], requires_grad=True)
(z * z.conj()).real.sum().backward()
print(z.grad)
z.grad = None
z.abs().sum().backward()
print(z.grad)

# %% loops over leaves
ws = [torch.tensor(float(i), requires_grad=True) for i in range(3)]
loss = sum(w * w * i for i, w in enumerate(ws))
loss.backward()
print([w.grad for w in ws])

# %% an error at backward names what to do
x = torch.tensor(2.0, requires_grad=True)
y = x.exp()
y.add_(1)
try:
    y.backward()
except RuntimeError:
    print("modified in place")

# %% Jacobian by rows
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.stack([x[0] * x[1], x[0] ** 2])
rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(2)]
print(torch.stack(rows))

# %% autograd.functional
print(torch.autograd.functional.jacobian(lambda x: x**2, torch.tensor([1.0, 2.0])))
print(torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0])))

# %% func
print(torch.func.grad(lambda x: x**3)(torch.tensor(2.0)))

# %% linear regression
torch.manual_seed(0)
X = torch.rand(20, 1)
t = 3 * X + 1
w = torch.zeros(1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for epoch in range(50):
    loss = ((X * w + b - t) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.5 * w.grad
        b -= 0.5 * b.grad
        w.grad.zero_()
        b.grad.zero_()
    if epoch % 10 == 0:
        print(epoch, f"{loss.item():.4f}")
print(w, b)

# %% a small network
torch.manual_seed(1)
x, y = torch.randn(8, 4), torch.randn(8, 2)
w1 = torch.randn(4, 5, requires_grad=True)
w2 = torch.randn(5, 2, requires_grad=True)
for t in range(5):
    loss = (x.mm(w1).clamp(min=0).mm(w2) - y).pow(2).sum()
    print(t, f"{loss.item():.3f}")
    loss.backward()
    with torch.no_grad():
        w1 -= 1e-3 * w1.grad
        w2 -= 1e-3 * w2.grad
        w1.grad.zero_()
        w2.grad.zero_()

# %% a value held between tensors, at its bounds too
x = torch.tensor([0.0, 1, 1.5, 2, 3], requires_grad=True)
low = torch.full((5,), 1.0, requires_grad=True)
high = torch.full((5,), 2.0, requires_grad=True)
y = torch.clamp(x, low, high)
y.sum().backward()
print(y, x.grad, low.grad, high.grad)
above = x.clamp(min=low)
print(torch.autograd.grad(above.sum(), [x, low]))
