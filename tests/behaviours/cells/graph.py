"""Cells on leaves, nodes and when the graph is recorded."""

# The cells stand as a notebook has them.

import torch

# %% a leaf
x = torch.tensor([1.0, 2.0], requires_grad=True)
print(x.is_leaf, x.grad_fn, x.requires_grad, x.grad, x.data, x.output_nr)

# %% a result
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x + 2
print(y.is_leaf, y.grad_fn, y.requires_grad)
print(y.grad_fn.name(), type(y.grad_fn).__name__)

# %% names of nodes: arithmetic
x = torch.tensor([1.0, 2.0], requires_grad=True)
for y in (
    x + 1,
    x - 1,
    1 - x,
    x * 2,
    x / 2,
    2 / x,
    -x,
    x**2,
    2**x,
    x**x,
    x % 2,
    x * x,
    x.abs(),
    x @ x,
):
    print(y.grad_fn)

# %% names of nodes: functions
x = torch.tensor([0.25, 0.5], requires_grad=True)
names = "exp log sqrt sin cos tan tanh sigmoid relu square reciprocal rsqrt log1p expm1 asin acos"
names += " atan sinh cosh floor ceil round sign clone neg log2 log10 exp2 abs t frac trunc"
for name in names.split():
    print(name, getattr(torch, name)(x).grad_fn)

# %% names of nodes: reductions
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
for y in (x.sum(), x.sum(0), x.mean(), x.mean(1), x.prod(), x.prod(0), x.var(), x.std(), x.norm()):
    print(y.grad_fn)
for y in (x.max(), x.min(), x.max(0)[0], x.min(1).values, x.amax(0), x.amin(), x.cumsum(0)):
    print(y.grad_fn)
for y in (x.logsumexp(0), x.softmax(0), x.log_softmax(0), x.median(), x.sort(0)[0], x.topk(1)[0]):
    print(y.grad_fn)
print(x.cumprod(0).grad_fn, torch.linalg.norm(x).grad_fn, x.norm(p=1).grad_fn, x.trace().grad_fn)

# %% names of nodes: shapes
x = torch.ones(2, 3, requires_grad=True)
for y in (x.view(6), x.reshape(3, 2), x.t().reshape(6), x.t(), x.T, x.mT, x.transpose(0, 1)):
    print(y.grad_fn)
for y in (
    x.permute(1, 0),
    x.unsqueeze(0),
    x.squeeze(),
    x.squeeze(0),
    x.expand(2, 2, 3),
    x.repeat(2, 1),
):
    print(y.grad_fn)
for y in (
    x[0],
    x[0, 1],
    x[:, 1],
    x[:1],
    x[x > 0],
    x[[0, 1]],
    x[None],
    x[...],
    x.flatten(),
    x.flip(0),
):
    print(y.grad_fn)
for y in (torch.cat([x, x]), torch.stack([x, x]), x.tril(), x.triu(), x.diagonal(), x.roll(1)):
    print(y.grad_fn)
print(x.contiguous().grad_fn, x.t().contiguous().grad_fn, x.double().grad_fn, x.float().grad_fn)
print(x.movedim(0, 1).grad_fn, x.swapaxes(0, 1).grad_fn, x.unflatten(1, (3, 1)).grad_fn)

# %% names of nodes: selections
x = torch.ones(2, 3, requires_grad=True)
print(x.select(0, 1).grad_fn, x.narrow(1, 0, 2).grad_fn, x.masked_fill(x > 0, 0).grad_fn)
print(x.index_select(0, torch.tensor([1])).grad_fn, x.masked_select(x > 0).grad_fn)
print(x.gather(0, torch.zeros(1, 3, dtype=torch.int64)).grad_fn, torch.where(x > 0, x, 0).grad_fn)
print(x.split(1)[0].grad_fn, x.chunk(2)[1].grad_fn, x.unbind()[0].grad_fn)

# %% names of nodes: two tensors
x = torch.tensor([1.0, 2.0], requires_grad=True)
A = torch.eye(2, requires_grad=True)
for y in (x.dot(x), A @ x, A @ A, x @ A, torch.outer(x, x), A[None] @ A[None], torch.maximum(x, x)):
    print(y.grad_fn)
for y in (torch.minimum(x, x), torch.atan2(x, x), torch.hypot(x, x), x.clamp(0, 1), x.clamp(min=0)):
    print(y.grad_fn)
for y in (
    torch.mm(A, A),
    torch.mv(A, x),
    torch.addmm(A, A, A),
    torch.addcmul(x, x, x),
    torch.lerp(x, x, 0.5),
):
    print(y.grad_fn)
print(torch.addcdiv(x, x, x).grad_fn, torch.max(x, x).grad_fn, torch.logaddexp(x, x).grad_fn)
print(
    torch.einsum("i,i->", x, x).shape, torch.kron(A, A).shape, torch.bmm(A[None], A[None]).grad_fn
)

# %% names of nodes: losses
F = torch.nn.functional
x = torch.tensor([0.25, 0.5], requires_grad=True)
print(F.mse_loss(x, torch.ones(2)).grad_fn, F.relu(x).grad_fn, F.softmax(x, 0).grad_fn)
print(F.leaky_relu(x).grad_fn, F.elu(x).grad_fn, F.softplus(x).grad_fn, F.logsigmoid(x).grad_fn)
print(F.hardtanh(x).grad_fn, F.sigmoid(x).grad_fn, F.tanh(x).grad_fn)

# %% next functions
x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(3.0, requires_grad=True)
z = (x * y + y).sin()
print(z.grad_fn, z.grad_fn.next_functions)
print(z.grad_fn.next_functions[0][0].next_functions)
print(z.grad_fn.next_functions[0][0].next_functions[0][0].next_functions)
print(z.grad_fn.next_functions[0][0].next_functions[0][0].next_functions[0][0].variable is x)

# %% next functions of constants
x = torch.ones(2, requires_grad=True)
print((x * 2).grad_fn.next_functions, (x * torch.ones(2)).grad_fn.next_functions)
print((2 - x).grad_fn.next_functions, (x / torch.ones(2)).grad_fn.next_functions)
print(torch.cat([x, torch.zeros(1)]).grad_fn.next_functions)

# %% walking the graph
x = torch.ones(2, requires_grad=True)
node = ((x + 2) ** 2 * 3).mean().grad_fn
while node is not None:
    print(node)
    node = node.next_functions[0][0] if node.next_functions else None

# %% the same leaf ends both ways
x = torch.tensor(1.0, requires_grad=True)
y = x * x
print(y.grad_fn.next_functions[0][0] is y.grad_fn.next_functions[1][0])
print(y.grad_fn.next_functions[0][0].variable is x)

# %% requires_grad spreads
x = torch.ones(1)
w = torch.ones(1, requires_grad=True)
print((x + 1).requires_grad, (x * w).requires_grad, (x * w).is_leaf, (x * 2).is_leaf)

# %% requires_grad_ turns a leaf on
x = torch.ones(2)
print(x.requires_grad)
print(x.requires_grad_() is x, x)
x.requires_grad = False
print(x)
x.requires_grad = True
print(x.requires_grad_(False).requires_grad)

# %% integers cannot require grad
for make in (
    lambda: torch.tensor([1, 2], requires_grad=True),
    lambda: torch.tensor([1, 2]).requires_grad_(),
    lambda: torch.ones(2, dtype=torch.int64, requires_grad=True),
):
    try:
        make()
    except RuntimeError:
        print("floats only")

# %% only leaves turn off
x = torch.ones(2, requires_grad=True)
y = x * 2
try:
    y.requires_grad_(False)
except RuntimeError:
    print("use detach")
print(y.requires_grad_().requires_grad)

# %% operations without gradient
x = torch.tensor([1.5, -2.5], requires_grad=True)
print((x > 0).requires_grad, x.argmax().requires_grad, x.int().requires_grad, (x == 1).grad_fn)
print(x.floor().requires_grad, x.sign().requires_grad, x.long().is_leaf, x.isnan().requires_grad)

# %% a leaf of a result
x = torch.ones(2, requires_grad=True)
y = (x * 2).detach().requires_grad_()
print(y.is_leaf, y, x.clone().is_leaf, x.to(torch.float64).is_leaf, x.data.requires_grad)

# %% freed after backward
x = torch.tensor(2.0, requires_grad=True)
y = x * x
y.backward()
try:
    y.backward()
except RuntimeError:
    print("a second time")
z = x + 1
z.backward()
z.backward()
print(x.grad)

# %% retain_graph
x = torch.tensor(2.0, requires_grad=True)
y = x**3
y.backward(retain_graph=True)
y.backward(retain_graph=True)
y.backward()
print(x.grad)
try:
    y.backward()
except RuntimeError:
    print("freed")

# %% parts of a graph freed
x = torch.tensor(2.0, requires_grad=True)
h = x * x
a, b = h * 2, h * 3
a.backward()
try:
    b.backward()
except RuntimeError:
    print("h was freed")
print(x.grad)

# %% nothing to run backward
for make in (lambda: torch.ones(1).backward(), lambda: (torch.ones(1) * 2).sum().backward()):
    try:
        make()
    except RuntimeError:
        print("no graph")

# %% versions
x = torch.zeros(2)
print(x._version)
x.add_(1)
x[0] = 5
print(x._version, x.view(2, 1)._version, x.detach()._version, x.clone()._version)

# %% the graph is of the values then
x = torch.tensor(1.0, requires_grad=True)
y = x * 2 if x > 0 else x * 3
print(y.grad_fn.next_functions[0][0], y)

# %% saved tensors of a node
x = torch.tensor(2.0, requires_grad=True)
y = x.exp()
print(y.grad_fn._saved_result, (x**2).grad_fn._saved_self, (x**2).grad_fn._saved_exponent)

# %% views know their base
x = torch.ones(4)
y = x.view(2, 2)
print(y._base is x, x._base, y._is_view(), x._is_view())

# %% no_grad
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    y = x * 2
    print(y.requires_grad, y.grad_fn, y.is_leaf, torch.is_grad_enabled())
print((x * 2).requires_grad, torch.is_grad_enabled())

# %% enable_grad inside
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    with torch.enable_grad():
        print((x * 2).requires_grad)
    print((x * 2).requires_grad)

# %% set_grad_enabled
x = torch.ones(1, requires_grad=True)
for on in (False, True):
    with torch.set_grad_enabled(on):
        print((x * 2).requires_grad)
torch.set_grad_enabled(False)
print((x * 2).requires_grad)
torch.set_grad_enabled(True)
print((x * 2).requires_grad)


# %% as decorators
@torch.no_grad()
def double(x):
    return x * 2


@torch.enable_grad()
def triple(x):
    return x * 3


x = torch.ones(1, requires_grad=True)
print(double(x).requires_grad, double.__name__)
with torch.no_grad():
    print(triple(x).requires_grad)


# %% no_grad without brackets
@torch.no_grad
def double(x):
    return x * 2


print(double(torch.ones(1, requires_grad=True)))

# %% inference_mode
x = torch.ones(1, requires_grad=True)
with torch.inference_mode():
    y = x * 2
    print(y.requires_grad, torch.is_inference_mode_enabled(), y.is_inference())
print(torch.is_inference_mode_enabled(), torch.is_inference(y), x.is_inference())

# %% an exception restores the mode
try:
    with torch.no_grad():
        raise ValueError
except ValueError:
    print(torch.is_grad_enabled())

# %% creating inside no_grad
with torch.no_grad():
    x = torch.ones(2, requires_grad=True)
    y = x.requires_grad_()
print(x.requires_grad, y.is_leaf, (x * 2).requires_grad)


# %% what functions of several results and of no entries give
def nodes(*results):
    print([(r.requires_grad, r.grad_fn and r.grad_fn.name()) for r in results])


x, w = torch.arange(24.0).reshape(2, 4, 3), torch.ones(4, requires_grad=True)
out, mean, rstd = torch.native_group_norm(x, w, None, 2, 4, 3, 2, 1e-5)
nodes(out, mean, rstd)
print(torch.autograd.grad((out * x).sum() + mean.sum(), w))
y = torch.ones(2, 3, requires_grad=True) * 2
z = torch.ormqr(torch.ones(2, 0), torch.ones(0), y)
nodes(y, z)
print(z is y, y.stride(), z.stride())
print(type(torch.lu(torch.eye(2), get_infos=True)).__name__, torch.lu(torch.eye(2))[1])
print(torch.ones(3, 3, dtype=torch.complex128)[:1].expand(2, 3).log1p().stride())
print([t.dtype for t in torch.func.linearize(lambda a: (a.max(0)[1], a > 0), x)[1](x)])
print(torch.histogramdd(torch.zeros(5, 0), 2))
print(torch.bernoulli(torch.ones(3), out=torch.zeros(3, dtype=torch.bool)))

# %% permutations of as many numbers as a type has
for dtype, n in ((torch.uint8, 256), (torch.int8, 128), (torch.float16, 2049)):
    print(torch.randperm(n, dtype=dtype).sort()[0][-1].item())
    try:
        torch.randperm(n + 1, dtype=dtype)
    except RuntimeError:
        print("too many")
