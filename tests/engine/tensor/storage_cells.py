"""Cells on memory that tensors share: conjugate views, writes by index, detached twins."""

# The cells stand as a notebook has them.

# ruff: noqa: E402

import torch

# %% writes to a conjugate view and to its parts reach the base


def base():
    return torch.tensor([[1 + 2j, 3 - 1j], [0.5j, -2 + 1j]], dtype=torch.complex128)


for write in (
    lambda x: x.conj().mul_(2j), lambda x: x.conj().real.fill_(3), lambda x: x.conj().imag.mul_(3),
    lambda x: x.mH[0].copy_(x[1].clone()), lambda x: x.H.diagonal().fill_(1j),
    lambda x: x.adjoint().t_().add_(1j), lambda x: x.conj().conj().mul_(2),
    lambda x: x.conj().__setitem__(([0, 1], [0, 0]), 1j), lambda x: setattr(x.conj(), "imag", 7.0),
    lambda x: x.conj().masked_fill_(torch.tensor([True, False]), 1j), lambda x: x.add_(x.mH),
    lambda x: x.conj().view(4)[1:3].neg_(), lambda x: x.conj().as_strided((2,), (2,)).zero_(),
    lambda x: x.conj().detach().imag.add_(1), lambda x: x.conj().conj_physical_(),
    lambda x: torch.mul(x, 1j, out=x.conj()), lambda x: x.copy_(x.conj()),
):  # fmt: skip
    x = base()
    y, im = x.conj(), x.conj().imag
    write(x)
    print(x.tolist(), y.tolist() == x.resolve_conj().conj().tolist(), (im == -x.imag).all())

# %% what a conjugate view is
x = torch.tensor([[1 + 2j, 3 - 1j], [0.5j, -2 + 1j]], dtype=torch.complex128)
y = x.conj()
print([f(y) for f in (
    lambda y: y.is_conj(), lambda y: y.imag.is_neg(), lambda y: y.real.is_neg(),
    lambda y: y.conj().is_conj(), lambda y: y.clone().is_conj(), lambda y: y.mT[0].is_conj(),
    lambda y: y.reshape(-1).is_conj(), lambda y: y.T.reshape(-1).is_conj(),
    lambda y: y[[0, 1]].is_conj(), lambda y: y.detach().is_conj(), lambda y: (y * 2).is_conj(),
    lambda y: y.resolve_conj().is_conj(), lambda y: y.imag.resolve_neg().is_neg(),
    lambda y: y.unbind()[0].is_conj(), lambda y: y.imag.mT.is_neg(), lambda y: y.is_contiguous(),
    lambda y: y._base is x, lambda y: y.data_ptr() == x.data_ptr(), lambda y: y.imag.stride(),
    lambda y: y.grad_fn, lambda y: y, lambda y: y.imag, lambda y: y[0, 0].item(),
)])  # fmt: skip
for wrong in (
    lambda: y.numpy(), lambda: y.imag.numpy(), lambda: torch.view_as_real(y),
    lambda: y.view(torch.float64), lambda: y.imag.view(torch.int64), lambda: x.copy_(x.mH),
):  # fmt: skip
    try:
        wrong()
    except RuntimeError as fault:
        print(type(fault).__name__)
z = torch.zeros(1, dtype=torch.complex128)
z.data = y
x[0, 0] = 9j
print(z.is_conj(), z[0, 0], y.numpy(force=True)[0, 0], x.set_(y).is_conj())

# %% gradients through writes to conjugate views
start = torch.tensor([[1 + 2j, 3 - 1j], [0.5j, -2 + 1j]], dtype=torch.complex128)
weight = torch.tensor([[1, 2j], [3, 1 + 1j]], dtype=torch.complex128)
for write in (
    lambda z: None, lambda z: z.conj().mul_(2j), lambda z: z.conj().imag.mul_(3),
    lambda z: z.mH[0].copy_(z[1]), lambda z: z.conj().real.mul_(2),
    lambda z: z.conj().view(4)[1:].as_strided((2,), (1,), 0).mul_(2j),
    lambda z: z.conj().imag[0].mul_(z.real[1].clone()),
):  # fmt: skip
    leaf = start.clone().requires_grad_()
    z = leaf * 1
    y = z.conj()
    w = y.imag
    write(z)
    ((z * weight).abs().pow(2).sum() + (y * y * z).abs().sum() + (w**2).sum()).backward()
    print(leaf.grad.resolve_conj(), y.grad_fn.name(), z._version)
leaf = start.clone().requires_grad_()
with torch.no_grad():
    leaf.conj().mul_(2j)
print(leaf, leaf._version)
for wrong in (lambda: leaf.conj().mul_(2), lambda: leaf.mH.zero_()):
    try:
        wrong()
    except RuntimeError as fault:
        print(str(fault)[:60])

# %% conjugate views inside transforms
x = torch.tensor([[1 + 2j, 3 - 1j], [0.5j, -2 + 1j]], dtype=torch.complex128)


def through_view(x):
    z = x * 1
    z.conj().mul_(2j)
    return z


def through_base(x):
    z = x * 1
    y = z.conj()
    z.mul_(2j)
    return y


def norm(x):
    z = x * 1
    z.conj().imag.mul_(2)
    return (z.real**2 + z.imag**2).sum()


print(torch.func.vmap(through_view)(x), torch.func.vmap(through_base)(x).resolve_conj())
print(torch.func.grad(norm)(x).resolve_conj())
for function in (through_view, through_base):
    print([v.resolve_conj() for v in torch.func.jvp(function, (x,), (x * 1j,))])

# %% what a write by index refuses
place = torch.tensor([0, 1, 2])
for write in (
    lambda x: x.index_put_((place,), x), lambda x: x.__setitem__(place, x[0]),
    lambda x: x.index_copy_(0, place[:1], x[1:2]), lambda x: x.index_add_(0, place, x),
    lambda x: x.scatter_(0, place[None], x[1:2]), lambda x: x.put_(place, x[0]),
    lambda x: x.index_reduce_(0, place[:1], x[1:2], "prod"),
    lambda x: x.__setitem__(place, torch.ones(3, dtype=torch.float64)),
    lambda x: x.__setitem__(place, torch.tensor(2)),
    lambda x: x.index_put((place,), torch.ones(3).double()),
    lambda x: x.index_add(0, place, torch.ones(3, 3).long()),
    lambda x: x.index_copy(0, place, torch.ones(3, 3).double()),
    lambda x: x.scatter_add(0, place[None], torch.ones(1, 3).double()),
    lambda x: x.scatter_reduce(0, place[None], torch.ones(1, 3).double(), "amax"),
    lambda x: x.index_reduce(0, place, torch.ones(3, 3).double(), "prod"),
    lambda x: x.put(place, torch.ones(3).double()),
    lambda x: x.masked_scatter(x > 2, torch.ones(9).double()),
    lambda x: x.masked_scatter(x.long(), torch.ones(9)),
    lambda x: x.masked_scatter(x > 2, torch.ones(2)),
    lambda x: x.index_add(0, place - 1, x.clone()), lambda x: x.index_copy(0, -place, x.clone()),
    lambda x: x.index_fill(0, place - 4, 1.0), lambda x: x.index_fill_(0, place + 1, 1.0),
    lambda x: x.__setitem__(0, 1j), lambda x: x.fill_(1j), lambda x: x.masked_fill_(x > 1, 1j),
    lambda x: x.__setitem__((slice(None),) * 3, 1.0), lambda x: x.__delitem__(0),
    lambda x: x[place.to(torch.int8)], lambda x: x[0.0:1.0],
    lambda x: torch.view_as_complex(x.t()[:2].t()), lambda x: torch.meshgrid(place, x[0]),
    lambda x: torch.view_as_complex(x.flatten()[1:5].view(2, 2)),
    lambda x: torch.view_as_complex(x.as_strided((2, 2), (1, 1))),
):  # fmt: skip
    x = torch.arange(9.0).view(3, 3).clone()
    try:
        write(x)
        print("written", x)
    except (RuntimeError, IndexError, TypeError) as fault:
        print(next(c.__name__ for c in type(fault).__mro__ if c.__module__ == "builtins"))

# %% what a write by index takes
place = torch.tensor([0, 1, 2])
for write in (
    lambda x: x.__setitem__((place, 0), x[1]), lambda x: x.__setitem__(x > 2, torch.tensor(2)),
    lambda x: x.__setitem__(x > 2, torch.tensor([2])), lambda x: x.__setitem__(x > 2, x[0, 1]),
    lambda x: x.__setitem__((0, torch.tensor([True, False, True])), torch.tensor(7)),
    lambda x: x.__setitem__(True, torch.tensor(3)), lambda x: x.index_fill_(0, place, x[0, 1]),
    lambda x: x.masked_fill_(x > 2, x[0, 1]), lambda x: x.index_fill_(0, -place, 5.0),
    lambda x: x.__setitem__(torch.tensor([1, 0, 1], dtype=torch.uint8), torch.ones(2, 3)),
    lambda x: x.unsqueeze(-1).mul_(x[..., None]), lambda x: x.diag().zero_(),
    lambda x: x[1:].as_strided((2,), (1,), 0).zero_(), lambda x: torch.real(x).zero_(),
):  # fmt: skip
    x = torch.arange(9.0).view(3, 3).clone()
    write(x)
    print(x)
x = torch.arange(9.0).view(3, 3)
byte = torch.tensor([1, 0, 1], dtype=torch.uint8)
print(x[byte], x[torch.tensor(1, dtype=torch.int16)], x[:, byte], x[[range(2), range(2)]])
print(x.index_put((byte,), torch.zeros(3)), torch.ones(0, 5).double().stride())

# %% views after a write through a detached twin, of the base or of a view
for write in (
    lambda x: x.detach().add_(1), lambda x: x[0].detach().add_(1), lambda x: x.data.add_(1),
    lambda x: x.detach().detach().view(-1)[0].add_(1), lambda x: x.t_(),
):  # fmt: skip
    leaf = torch.arange(6.0, requires_grad=True)
    x = (leaf * 1).view(2, 3)
    part, row, one = x.split(1)[0], x[0], x.unbind()[1]
    with torch.no_grad():
        apart = x[1]
    write(x)
    for view in (part, row, one, apart):
        try:
            (view * 2).sum().backward(retain_graph=True)
            print(view.is_leaf)
        except RuntimeError as fault:
            print(str(fault)[:25])
    print(leaf.grad)

# %% views of one twin after a write to another
for twin in (
    torch.nn.Parameter, torch.nn.Buffer, lambda v: torch.nn.Parameter(torch.nn.Parameter(v)),
    lambda v: v.detach().detach(), lambda v: torch.nn.Parameter(v[1:]),
):  # fmt: skip
    for write in (
        lambda v, p: v.mul_(3), lambda v, p: v.data.mul_(3), lambda v, p: p.detach().mul_(3),
        lambda v, p: v[2:].detach().mul_(3),
    ):  # fmt: skip
        v = torch.arange(4.0)
        p = twin(v).requires_grad_()
        view, part, row = p[1:], p.split(2)[1], p.view(1, -1).t()
        loss = (view * 2).sum() + (row * 2).sum()
        write(v, p)
        for x in (view, row, p):
            y = loss + (x * x).sum()
            print([None if g is None else g.tolist()
                   for g in torch.autograd.grad(y, (x, p), retain_graph=True)])  # fmt: skip
        try:
            print((part * 2).sum())
        except RuntimeError as fault:
            print(str(fault)[:25])

# %% several entries of a number
for write in (
    lambda x, y, e: y.sigmoid_(), lambda x, y, e: x.mul_(3), lambda x, y, e: e[1].mul_(2),
    lambda x, y, e: e[1:2].mul_(x.detach().clone()),
):  # fmt: skip
    leaf = torch.tensor(2.0, requires_grad=True)
    x = leaf * 3
    y, e = x.view(1), x.expand(3)
    write(x, y, e)
    (e * torch.tensor([1.0, 2.0, 4.0])).sum().backward()
    print(x, e, leaf.grad)

# %% where new results lie: whether one vector is a view of them
F = torch.nn.functional
image, table = torch.arange(162.0).view(2, 1, 9, 9), torch.arange(12.0).view(3, 4)
pair = torch.tensor([0, 2])
for made in (
    F.avg_pool2d(image, 3), F.adaptive_avg_pool2d(image, 2), F.interpolate(image, scale_factor=2.0),
    F.pad(image, (1, 1, 0, 0), "reflect"), table[:, pair], table[None][:, :, pair],
    table.index_select(1, pair), torch.cat([table.t(), table.t()]),
    torch.stack([table.t(), table.t()], 1), torch.zeros_like(table.t()),
    torch.full_like(table[:, ::2], 3), torch.ones_like(table[:1].expand(3, 4)),
    torch.empty_like(table.t(), memory_format=torch.contiguous_format),
    table.t().double(memory_format=torch.contiguous_format), table.t().long(),
    table.t().mvlgamma(1), F.rms_norm(table.t(), (3,)),
):  # fmt: skip
    print(made.shape, made.stride(), made.is_contiguous())
for f in (lambda w, x: F.linear(x, w).sum(), lambda w, x: (x[None] @ w.T).tanh().sum()):
    made = torch.func.vmap(torch.func.grad(f), (None, 0))(torch.ones(2, 3), torch.ones(4, 3))
    print(made.stride(), made.view(4, -1).shape)
w = torch.ones(4, 5, requires_grad=True)
for turned in (w.swapaxes(0, 0), w.T.reshape(5, 4).T, w.T[:].T, w.permute(0, 1), w.T.view(5, 4).T):
    print(torch.autograd.grad((torch.ones(3, 4) @ turned).square().sum(), w)[0].stride())
w = torch.ones(2, 1, 3, 3, requires_grad=True)
made = F.conv_transpose2d(torch.ones(1, 2, 4, 4), w, stride=2).square().sum()
print(torch.autograd.grad(made, w)[0].stride())
w = torch.ones(4, 5, requires_grad=True)
made = torch.tensordot(torch.ones(2, 3, 5), w, ([2], [1])).square().sum()
print(torch.autograd.grad(made, w)[0].stride())

# %% bits and quotients written in place
x = torch.tensor([5, 4, 7])
same = x
x &= 5
x |= torch.tensor([0, 2, 0])
x ^= 1
x <<= 2
print(same, same.div_(3, rounding_mode="floor"), x is same)
truths = torch.tensor([True, False])
kept = truths
truths &= torch.tensor([True, True])
print(kept, torch.ones(2).div_(torch.tensor([2.0, -3.0]), rounding_mode="trunc"))


def bits(row):
    row = row.clone()
    kept = row
    row &= 1
    row <<= 1
    return kept


print(torch.vmap(bits)(torch.tensor([[5, 4], [2, 3]])))
for call in (
    lambda b: b[:5].lerp_(b[1:], 0.5), lambda b: b[:5].addcdiv_(b[1:], b[1:]), lambda b: ~b,
    lambda b: b.gt_(b[2]), lambda b: torch.bitwise_not(b), lambda b: (b > 1) << 1,
    lambda b: torch.gcd(b > 1, b > 1), lambda b: setattr(b, "T", b), lambda b: delattr(b, "shape"),
    lambda b: setattr(b, "is_sparse", 1), lambda b: b.clamp_(b[1]),
    lambda b: setattr(b, "dtype", torch.float64),
):  # fmt: skip
    try:
        print(call(torch.arange(6.0)))
    except (RuntimeError, TypeError, AttributeError) as fault:
        print(next(c.__name__ for c in type(fault).__mro__ if c.__module__ == "builtins"))

# %% bounds in the dtype of the result
F, whole = torch.nn.functional, torch.tensor([1, 5, 9])
print(torch.clamp(whole, torch.tensor([2, 2, 2]), torch.tensor(6)), whole.clamp_max(whole[1:2]))
print(whole.clone().clamp_(torch.tensor([2, 2, 20])), F.threshold(whole, 5, 2))
print(
    torch.clamp(whole, torch.tensor([2.0, 6.0, 2.0])), torch.linspace(4.3, -3, 5, dtype=torch.int64)
)
print(
    torch.arange(0.0, -8.000001, -4.0, dtype=torch.int64),
    torch.arange(0.5, 3, 0.5, dtype=torch.int32),
)
print(torch.logspace(0, 1.2, 2, dtype=torch.int64), torch.linspace(0, 1j, 3))
print(F.avg_pool1d(torch.tensor([[[1, 2, 4, -3]]]), 2))
print(
    F.interpolate(
        torch.arange(4, dtype=torch.uint8).view(1, 1, 2, 2), scale_factor=2, mode="bilinear"
    )
)

# %% what makes tensors writes into one that is given, and refuses what that cannot hold
y = torch.ones(3)
for name, given in (
    ("zeros", (3,)), ("ones", (3,)), ("full", ((3,), 2.0)), ("arange", (3,)),
    ("linspace", (0, 1, 3)), ("logspace", (0, 1, 3)), ("eye", (3,)),
    ("rand", (3,)), ("randn", (3,)), ("randperm", (3,)),
    ("randint", (5, (3,))), ("normal", (0.0, 1.0, (3,))), ("range", (0, 2)), ("complex", (y, y)),
):  # fmt: skip
    for out in (torch.empty(0), torch.zeros(0, dtype=torch.int64), torch.zeros(0).to(torch.cfloat)):
        try:
            made = getattr(torch, name)(*given, out=out)
            drawn = name[:4] in ("rand", "norm")
            print(name, made is out, out.shape, out.dtype, drawn or out.sum())
        except (RuntimeError, NotImplementedError) as fault:
            print(name, out.dtype, type(fault).__name__)

# %% random numbers of dtypes that hold none
for d in (torch.int64, torch.bool, torch.complex64, torch.float16, torch.uint8):
    for draw in (
        lambda z: torch.rand(3, dtype=z.dtype), lambda z: torch.randn_like(z),
        lambda z: z.normal_(), lambda z: z.uniform_(), lambda z: z.exponential_(),
        lambda z: z.cauchy_(), lambda z: z.log_normal_(), lambda z: z.geometric_(0.5),
        lambda z: z.bernoulli_(0.5), lambda z: z.random_(0, 3), lambda z: z.random_(300, 305),
        lambda z: torch.randperm(3, dtype=z.dtype), lambda z: torch.bernoulli(z),
        lambda z: torch.poisson(z), lambda z: torch.multinomial(z + 1, 2),
        lambda z: torch.normal(z, 1.0), lambda z: torch.linspace(0, 1, 3, dtype=z.dtype),
        lambda z: torch.randint(0, 2, (3,), dtype=z.dtype),
        lambda z: torch.arange(3, dtype=z.dtype),
    ):  # fmt: skip
        try:
            print(draw(torch.zeros(3, dtype=d)).dtype)
        except (RuntimeError, NotImplementedError) as fault:
            print(d, type(fault).__name__)

# %% arguments that cannot be meant
for wrong in (
    lambda: torch.tensor_split(torch.ones(4), torch.tensor(1.1)),
    lambda: torch.tensor_split(torch.ones(4), torch.tensor([1, 2], dtype=torch.int32)),
    lambda: torch.LongTensor((6, 0), 1), lambda: torch.Tensor([1.0], 2),
    lambda: torch.empty(2**40, 2**40), lambda: torch.zeros(0, 4, 2**61),
    lambda: torch.arange(2**62), lambda: torch.empty(()).resize_([0, 4, 2**61]),
    lambda: torch.rand(2**40, 2**40), lambda: torch.cross(torch.ones(2, 2), torch.ones(2, 2)),
    lambda: torch.tensor([1]).unflatten(0, []),
):  # fmt: skip
    try:
        print(wrong())
    except (RuntimeError, TypeError) as fault:
        print(type(fault).__name__)
print(torch.ones(2).int().type(torch.Tensor), torch.tensor_split(torch.ones(3), torch.tensor(2)))

# %% the dimension of a vector product
for shape in ((3, 2, 3), (3, 3), (3, 2), (2, 3), (3,)):
    a = torch.arange(1.0, torch.Size(shape).numel() + 1).double()
    a = a.reshape(shape).sin().requires_grad_()
    c = torch.cross(a, a.detach().cos())
    print(c, torch.autograd.grad((c * a.detach().exp()).sum(), a)[0])
a = a.detach().expand(3, 3)
print(torch.linalg.cross(a, a.t()), a.cross(a.t(), dim=1))

# %% an empty vector joins anything, and is part of the graph
a, b = torch.zeros(0, dtype=torch.float64, requires_grad=True), torch.ones(2, 3)
for parts, dim in (((a, b), 0), ((b, a), 1), ((a, b, a), -1), ((a, a), 0)):
    c = torch.cat(parts, dim)
    print(c.shape, c.dtype, c.requires_grad, torch.autograd.grad(c.sum(), a))

# %% the middle of nothing
for dtype in (torch.float64, torch.int64):
    x = torch.zeros(0, 3, dtype=dtype)
    x.requires_grad_(dtype.is_floating_point)
    for middle in (x.median(), x.nanmedian()):
        print(middle, x.requires_grad and torch.autograd.grad(middle, x))

# %% copies of what shares memory share theirs
import copy

for kept in (
    lambda a: [a, a.view(4)], lambda a: [a.t(), a], lambda a: [a.detach(), a],
    lambda a: [a[0, 0], a], lambda a: [a.expand(3, 2, 2), a], lambda a: [a.view(4)[1::2], a],
    lambda a: [a, a.clone()], lambda a: [a.data, a.requires_grad_()],
):  # fmt: skip
    a = torch.arange(4.0).view(2, 2)
    first, second = copy.deepcopy(kept(a))
    with torch.no_grad():
        second.view(-1)[1:].add_(10)
    print(first, first.stride(), second, a, first._is_view(), second.requires_grad)

# %% a line of numbers keeps the shape of what it is written to; unequal sizes by one letter
for make in (
    lambda x: torch.logspace(0, 3, 4, out=x.narrow(1, 1, 2)), lambda x: torch.arange(6, out=x),
    lambda x: torch.linspace(0, 1, 2, out=x[0, 1:]), lambda x: torch.range(0, 5, out=x.t()),
    lambda x: torch.einsum("aa", x), lambda x: torch.einsum("aab->b", torch.ones(2, 3, 4)),
    lambda x: torch.einsum("...ii->...i", torch.ones(4, 2, 3)),
    lambda x: torch.einsum("aa,ab", x, x),
):  # fmt: skip
    x = torch.zeros(2, 3)
    try:
        print(make(x).shape, x)
    except RuntimeError as fault:
        print(type(fault).__name__)

# %% which dtypes an out may have, and the tuple that comes back
x, m = torch.tensor([2.5, 1.5, 3.5]), torch.tensor([[2.0, 1.0], [1.0, 3.0]])
k, n, long = torch.tensor([True, False, True]), torch.tensor([3, 1, 2]), torch.int64


def out_like(call, dtype, at=0):
    made = call()
    parts = [made] if isinstance(made, torch.Tensor) else list(made)
    given = [torch.zeros(p.shape, dtype=p.dtype) for p in parts]
    given[at] = torch.zeros(parts[at].shape, dtype=dtype)
    return call(out=given[0] if isinstance(made, torch.Tensor) else tuple(given))


DTYPES = (
    torch.float64,
    torch.float32,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
    torch.cfloat,
)
for call in (
    lambda **o: torch.sin(x, **o), lambda **o: torch.add(n, 1, **o), lambda **o: torch.abs(x, **o),
    lambda **o: torch.floor(x, **o),
    lambda **o: torch.lt(x, 2, **o),
    lambda **o: torch.pow(n, 2, **o),
    lambda **o: torch.square(n, **o), lambda **o: torch.neg(n, **o), lambda **o: torch.all(k, **o),
    lambda **o: torch.logical_not(k, **o), lambda **o: torch.heaviside(x, x, **o),
    lambda **o: torch.clamp(x, x, x, **o), lambda **o: torch.bitwise_and(n, 1, **o),
    lambda **o: torch.sum(x, 0, **o),
    lambda **o: torch.prod(n, 0, **o),
    lambda **o: torch.mean(x, 0, **o),
    lambda **o: torch.cumsum(x, 0, **o), lambda **o: torch.cumprod(n, 0, **o),
    lambda **o: torch.sum(x, 0, dtype=long, **o), lambda **o: torch.cumsum(x, 0, dtype=long, **o),
    lambda **o: torch.nansum(n, 0, **o), lambda **o: torch.norm(x, 2, 0, **o),
    lambda **o: torch.softmax(x, 0, **o), lambda **o: torch.logsumexp(x, 0, **o),
    lambda **o: torch.logcumsumexp(x, 0, **o), lambda **o: torch.amax(x, 0, **o),
    lambda **o: torch.argmax(x, 0, **o), lambda **o: torch.quantile(x, 0.5, **o),
    lambda **o: torch.gather(x, 0, n - 1, **o), lambda **o: torch.index_select(x, 0, n - 1, **o),
    lambda **o: torch.take(x, n - 1, **o), lambda **o: torch.masked_select(x, k, **o),
    lambda **o: torch.where(k, x, x, **o), lambda **o: torch.nonzero(k, **o),
    lambda **o: torch.cat([x, x], **o), lambda **o: torch.stack([n, n], **o),
    lambda **o: torch.matmul(m, m, **o), lambda **o: torch.mm(m, m, **o),
    lambda **o: torch.outer(x, x, **o),
    lambda **o: torch.tril(m, **o),
    lambda **o: torch.histc(x, **o),
    lambda **o: torch.searchsorted(x, x, **o), lambda **o: torch.isin(n, n, **o),
    lambda **o: torch.linalg.inv(m, **o), lambda **o: torch.linalg.pinv(m, **o),
    lambda **o: torch.linalg.vector_norm(x, **o), lambda **o: torch.fft.fft(x, **o),
    lambda **o: torch.fft.irfft(x, **o), lambda **o: torch.special.polygamma(1, x, **o),
):  # fmt: skip
    told = []
    for dtype in DTYPES:
        try:
            told.append(out_like(call, dtype).tolist() != [])
        except (RuntimeError, TypeError) as fault:
            told.append(type(fault).__name__[:3])
    print(told)
for call in (
    lambda **o: torch.sort(x, **o),
    lambda **o: torch.max(m, 1, **o),
    lambda **o: torch.topk(x, 2, **o),
    lambda **o: torch.kthvalue(n, 2, **o), lambda **o: torch.median(x, 0, **o),
    lambda **o: torch.mode(n, **o),
    lambda **o: torch.cummax(x, 0, **o),
    lambda **o: torch.frexp(x, **o),
    lambda **o: torch.aminmax(x, **o), lambda **o: torch.linalg.inv_ex(m, **o),
    lambda **o: torch.linalg.eigh(m, **o), lambda **o: torch.linalg.slogdet(m, **o),
):  # fmt: skip
    told = []
    for at, dtype in ((0, torch.float64), (0, torch.int64), (1, torch.int64), (1, torch.float32)):
        try:
            made = out_like(call, dtype, at)
            names = "values", "max", "exponent", "info", "sign", "eigenvalues"
            told.append([name for name in names if hasattr(made, name)])
        except RuntimeError as fault:
            told.append(type(fault).__name__[:3])
    print(told)

# %% an out of another shape takes the result's, in its own memory where that has room
import warnings

x, m = torch.tensor([2.5, 1.5, 3.5]), torch.tensor([[2.0, 1.0], [1.0, 3.0]])
k, n = torch.tensor([True, False, True]), torch.tensor([3, 1, 2])
for base, part in (
    (torch.zeros(2, 3), lambda b: b.narrow(1, 1, 2)), (torch.zeros(3, 4), lambda b: b[1]),
    (torch.zeros(4, 3), lambda b: b[:, 1]), (torch.zeros(8), lambda b: b[::2]),
    (torch.zeros(9),
    lambda b: b[2:5]), (torch.zeros(6),
    lambda b: b), (torch.zeros(0),
    lambda b: b),
    (torch.tensor(0.0), lambda b: b), (torch.zeros(3, 4), lambda b: b.t()),
):  # fmt: skip
    for write in (
        lambda o: torch.add(torch.arange(4.0), 1, out=o), lambda o: torch.eye(2, out=o),
        lambda o: torch.masked_select(torch.arange(3.0), k, out=o),
        lambda o: torch.sum(m, 0, out=o),
        lambda o: torch.take(x, n - 1, out=o), lambda o: torch.sum(m, (0, 1), out=o),
        lambda o: torch.cat([x[1:], x[1:]], out=o),
        lambda o: torch.sort(x, out=(o, torch.empty(0).long())),
    ):  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            b = base.clone()
            o = part(b)
            try:
                write(o)
                print(o.tolist(), o.stride(), b.tolist())
            except RuntimeError as fault:
                print(type(fault).__name__)


# %% a number as an entry of a type, and beside tensors of it
def told(make):
    try:
        made = make()
        return made.tolist(), str(made.dtype).rpartition(".")[2]
    except (RuntimeError, TypeError) as fault:
        return type(fault).__name__


def entries(x, v):
    k, at = torch.tensor([True, False]), torch.tensor([1])
    calls = [
        lambda: torch.full((2,), v, dtype=x.dtype), lambda: x.masked_fill(k, v),
        lambda: x.clone().fill_(v), lambda: x.scatter(0, at, v),
        lambda: torch.tensor([v], dtype=x.dtype), lambda: torch.full_like(x, v),
    ]  # fmt: skip
    if v.__class__ is int and not x.is_floating_point():
        calls += [lambda: x * v, lambda: v - x, lambda: x & v, lambda: torch.where(k, x, v)]
        calls += [lambda: x < v, lambda: x == v, lambda: x.clone().add_(1, alpha=2)]
    return [told(call) for call in calls]


for dtype in (torch.uint8, torch.int8, torch.int32, torch.bool, torch.float16, torch.float32):
    for v in (300, -1, -300, 2**40, 1e30, float("inf"), float("nan"), 2.7, -2.7, 1j):
        print(v, entries(torch.ones(2).to(dtype), v))


# %% factors of another kind than what they multiply
def told(make):
    try:
        made = make()
        return made.tolist(), str(made.dtype).rpartition(".")[2]
    except (RuntimeError, TypeError) as fault:
        return type(fault).__name__


def scaled(x, by):
    return [told(call) for call in (
        lambda: torch.add(x, x, alpha=by), lambda: torch.sub(x, x, alpha=by),
        lambda: x.clone().add_(x, alpha=by), lambda: x.clone().sub_(1, alpha=by),
        lambda: torch.addmm(x, x, x, beta=by), lambda: torch.addmv(x[0], x, x[1], alpha=by),
        lambda: torch.addr(x, x[0], x[1], beta=by), lambda: torch.addbmm(x, x[None], x[None]),
        lambda: torch.addr(x, x[0], x[1], alpha=by),
        lambda: torch.baddbmm(x[None], x[None], x[None], alpha=by),
        lambda: torch.index_add(x, 0, torch.tensor([1, 0]), x, alpha=by),
        lambda: torch.addcdiv(x, x + 1, x + 1, value=by),
    )]  # fmt: skip


for dtype in (torch.bool, torch.uint8, torch.int32, torch.float32, torch.cfloat):
    for by in (2, 2.5, True, 1j, 0):
        print(by, scaled((torch.arange(4).view(2, 2) % 2).to(dtype), by))

# %% odd arguments: dimensions a 0-d element does not have, several ellipses, sizes, sorters
x = torch.arange(6.0).view(2, 3)
one, seq, loss = (1,), torch.tensor([3.0, 1.0, 2.0]), torch.nn.functional.cosine_embedding_loss
for call in (
    *(lambda f=f: torch.func.vmap(f)(torch.ones(4)) for f in (
        lambda a: a.sum(1), lambda a: a.cumsum(1), lambda a: a.transpose(0, 1),
        lambda a: a.argmax(-2), lambda a: a.sum(0), lambda a: a.cumprod(-1),
    )),
    lambda: torch.func.vmap(lambda a: a.squeeze(1))(torch.ones(4)),
    lambda: x[..., ...], lambda: x[..., 0, ...], lambda: x[..., None, ...],
    lambda: torch.tril_indices(-1, 2), lambda: torch.triu_indices(2, 2, dtype=torch.float32),
    lambda: torch.nanmean(torch.ones(2, dtype=torch.cfloat)), lambda: torch.einsum("", []),
    lambda: type(x.shape * 2) is type(2 * x.shape) is type(one + x.shape) is torch.Size,
    lambda: loss(x, x, torch.tensor(1.0)), lambda: loss(x[0], x[0], torch.tensor(1.0)) < 1e-5,
    lambda: torch.searchsorted(seq, torch.tensor([1.5, 2.5]), sorter=torch.tensor([1, 2, 0])),
    lambda: torch.searchsorted(seq, seq, sorter=torch.tensor([1, 2, 7])),
    lambda: torch.searchsorted(seq, 2.0, side="left", right=True),
):  # fmt: skip
    try:
        print(call())
    except (RuntimeError, IndexError, ValueError) as fault:
        print(type(fault).__name__)

# %% what scans and softmax give of a transposed tensor lies in rows
x = (torch.arange(12.0).view(3, 4) / 12).t()
for make in (
    lambda: x.softmax(0), lambda: x.log_softmax(-1), lambda: x.cumsum(0), lambda: x.cumprod(1),
    lambda: x.logcumsumexp(0), lambda: x.cummax(0)[0], lambda: x.roll(1, 0), lambda: x.tril(),
):  # fmt: skip
    y = make()
    y.view(-1)[1] = 7.0
    print(y.stride(), y.sum())

# %% operands of types that do not meet, flags and values of another kind
x, n, k = torch.tensor([3.0, 1.0, 2.0]), torch.tensor([3, 1, 2]), torch.tensor([True, False, True])
c, d = x + 1j, x.double()
for call in (
    lambda: torch.nextafter(x.half(), x)[:1].dtype, lambda: torch.nextafter(x, n) - x,
    lambda: torch.nextafter(n, n), lambda: torch.heaviside(x, n), lambda: torch.heaviside(x, d),
    lambda: torch.copysign(c, x), lambda: torch.logaddexp2(x, c), lambda: torch.lerp(x, d, 0.5),
    lambda: x.clone().lerp_(d, 0.5), lambda: torch.pow(k, k), lambda: torch.pow(k, 2),
    lambda: torch.cross(x, d, dim=0), lambda: x - True, lambda: True - n, lambda: n.sub(True),
    lambda: torch.unique(n, 0), lambda: torch.unique_consecutive(n, 1), lambda: torch.histc(x / 0),
    lambda: torch.bincount(n.byte()), lambda: n.index_fill(0, n[1:] - 1, torch.ones(1).long()),
    lambda: c.scatter_reduce(0, n - 1, c, "amax"),
):  # fmt: skip
    try:
        print(call())
    except (RuntimeError, TypeError) as fault:
        print(type(fault).__name__)

# %% numbers of NumPy's
import numpy as np

x = torch.zeros(3, requires_grad=True)
y = x * 2
y[1:] = np.float64(9.5)
print(y.detach(), torch.autograd.grad(y.sum(), x))
print([torch.full((2,), n) for n in (np.float64(9.5), np.float32(2.5), np.int64(3), np.int8(-3))])

# %% lines between infinities and of complex bounds; what is no number; NumPy's in lists
import numpy as np

inf = float("inf")
for make in (
    lambda: torch.linspace(0, inf, 4), lambda: torch.linspace(3, inf, 1),
    lambda: torch.linspace(-2, 3, 6), lambda: torch.logspace(0, 1j, 3),
    lambda: torch.logspace(0, 1, 2, dtype=torch.bool), lambda: torch.full((2,), None),
    lambda: torch.full_like(torch.zeros(2), "a"), lambda: torch.vander(torch.tensor([1, 2]).byte()),
    lambda: torch.tensor([np.int8(1)]), lambda: torch.tensor([[np.float16(1.5)]]),
    lambda: torch.tensor([2**63]), lambda: torch.zeros(2).tile((None,)),
    lambda: torch.zeros(2).expand(1.0),
):  # fmt: skip
    try:
        print(make())
    except (RuntimeError, TypeError, ValueError) as fault:
        print(type(fault).__name__)

# %% how results of mixed layouts lie in memory, and what view and reshape make of that
import itertools


def laid(order, shape=(2, 3, 4)):
    """Whole numbers of a shape whose dimensions lie in memory in an order."""
    inner = torch.arange(24.0).reshape([shape[d] for d in order])
    return inner.permute([order.index(d) for d in range(3)])


orders = list(itertools.permutations(range(3)))
for one, other in itertools.product(orders, orders):
    x, y = laid(one), laid(other)
    print([f(x, y).stride() for f in (
        torch.add, torch.maximum, torch.eq, torch.atan2, lambda x, y: torch.where(x > y, y, x),
        lambda x, y: torch.lerp(x, y, 0.5), lambda x, y: x[:1] * y, lambda x, y: y - x[:, 1:2],
        lambda x, y: x.expand(2, 2, 3, 4)[1] + y, lambda x, y: x[..., ::2] ** y[..., 1::2],
    )])  # fmt: skip
for order in orders:
    x = laid(order)
    for f in (
        lambda x: x.sum(1), lambda x: x.mean(2, True), lambda x: x.amax(0), lambda x: x.var(1),
        lambda x: x.norm(dim=2), lambda x: x.logsumexp(0), lambda x: x.bool().any(1),
        lambda x: x.prod(2), lambda x: x.flip(0), lambda x: x.sort(1)[0], lambda x: x.argsort(0),
        lambda x: x.gather(0, torch.zeros(1, 3, 4, dtype=torch.int64)), lambda x: x.rot90(),
        lambda x: x.index_select(1, torch.tensor([2, 0])), lambda x: x.masked_fill(x > 3, 0.0),
        lambda x: x.scatter(1, torch.zeros(1, 1, 1, dtype=torch.int64), 1.0), lambda x: x @ x.mT,
        lambda x: x.index_add(0, torch.tensor([1]), x[:1]), lambda x: x.renorm(2, 0, 1.0),
        lambda x: torch.permute_copy(x, (1, 0, 2)), lambda x: x.unsqueeze(3).expand(2, 3, 4, 5),
        lambda x: torch.nn.functional.layer_norm(x, (4,)), lambda x: x.diag_embed(dim1=0, dim2=2),
        lambda x: x.nonzero(), lambda x: x[0, :, 1].unsqueeze(0).expand(1, 1, 3),
    ):  # fmt: skip
        y = f(x)
        print(y.stride(), y.is_contiguous(), y.reshape(-1).data_ptr() == y.data_ptr())
a = torch.arange(6.0).reshape(2, 3)
b = a.t() * torch.ones(3, 2)
b.reshape(-1).zero_()
print(b)
try:
    b.view(-1)
except RuntimeError as fault:
    print(type(fault).__name__)

# %% as_strided is a function of what its input shows
for pick in (
    lambda b: b[:2], lambda b: b[1], lambda b: b.t(), lambda b: b[0].expand(3, 4), lambda b: b,
    lambda b: b[:, 1:3].t(), lambda b: b.view(12)[::3], lambda b: b[1:, 2].unsqueeze(0),
):  # fmt: skip
    for size, stride, offset in (
        ((2, 2), (4, 1), None), ((6,), (2,), 0), ((2, 2), (1, 1), 3), ((3, 2), (0, 4), 1),
        ((), (), 5),
    ):  # fmt: skip
        x = torch.arange(12.0, dtype=torch.float64).add(0.5).requires_grad_()
        b = (x * x).view(3, 4)
        v = pick(b)
        y = v.as_strided(size, stride, offset)
        g, h = torch.autograd.grad((y**3).sum(), [x, v], create_graph=True)
        print(g.detach(), h.detach(), torch.autograd.grad((g * g).sum(), x)[0])
x = torch.arange(6.0, dtype=torch.float64).requires_grad_()
b = x * 1
part = b[4:].as_strided((2, 2), (2, 1), 0)
part.mul_(3)
part[1].mul_(2)
print(b.detach(), torch.autograd.grad((b * b).sum(), x))
for start, size, stride, offset in (
    (2, (2,), (2,), None),
    (2, (2,), (2,), 1),
    (0, (2, 2), (3, 1), 0),
):
    print(
        torch.as_strided_scatter(torch.arange(6.0)[start:], torch.ones(size), size, stride, offset)
    )

# %% siblings of a tensor that is turned in place read its base
for turn in (
    lambda t: t.unsqueeze_(0), lambda t: t.t_(), lambda t: t.transpose_(0, 1),
    lambda t: t.squeeze_(), lambda t: t.swapaxes_(0, 1),
):  # fmt: skip
    for which in range(3):
        x = torch.arange(6.0).reshape(2, 3).requires_grad_()
        b = x * 1.5
        v = b[:, :2]
        w = v[1:]
        w.retain_grad()
        turn((b, v, w)[which])
        ((v * v).sum() + (w * w * w).sum() + b.sum()).backward()
        print(x.grad, w.grad)

# %% memory that grows
import numpy as np


def told(write, *tensors):
    try:
        write()
    except RuntimeError as fault:
        print(str(fault)[:45])
    print([t.tolist() for t in tensors])


a = np.zeros(3, dtype=np.float32)
x = torch.from_numpy(a)
told(lambda: torch.add(torch.ones(5), 1, out=x), a)
x = torch.from_numpy(a)
told(lambda: x.resize_(5), a)
x = torch.from_numpy(a)
told(lambda: x.resize_(2).fill_(3), x, a)
x = torch.zeros(2)
a = x.numpy()
told(lambda: x.resize_(4), a)
for pick in (lambda x: x[:2], lambda x: x[4:], lambda x: x.view(3, 2).t(), lambda x: x[::2]):
    x = torch.zeros(6)
    y, z = pick(x), x.as_strided((2, 2), (1, 2), 1)
    for write in (
        lambda x, y, z: torch.add(torch.ones(8), 1, out=y), lambda x, y, z: x.add_(1),
        lambda x, y, z: torch.add(torch.ones(4, 3), 1, out=x), lambda x, y, z: z[0].mul_(3),
    ):  # fmt: skip
        write(x, y, z)
        print(x, y, z)

# %% views of what has left the graph, and of a base that shows less
for leave in (
    lambda x, y: y.detach_(), lambda x, y: x.requires_grad_(False),
    lambda x, y: y.as_strided_((2,), (1,)), lambda x, y: x,
):  # fmt: skip
    for mode in (torch.enable_grad, torch.no_grad):
        for again in (False, True):
            x = torch.ones(3, requires_grad=True)
            y = x * 2
            v, w = x[:2], y[:2]
            b = leave(x, y)
            try:
                with mode():
                    b.mul_(3)
            except RuntimeError as fault:
                print(str(fault)[:45])
            if again and not b.requires_grad:
                b.requires_grad_()
            print(v.requires_grad, v.grad_fn.name(), w.requires_grad, w.grad_fn.name())
            ((v * v).sum() + (w * w).sum()).backward()
            print(x.grad, b.grad if b.is_leaf else None)
x = torch.arange(1.0, 9.0).requires_grad_()
y = x * 2
v = y.view(8)
y.as_strided_((2, 2), (2, 1))
with torch.no_grad():
    v.square_()
(y * y).sum().backward(retain_graph=True)
v.sum().backward()
print(x.grad)

# %% strides of new dimensions and of transforms
x = torch.arange(12.0).reshape(3, 4)
for f in (
    lambda x: x[None], lambda x: x[:, None], lambda x: x[..., None], lambda x: x[0, None],
    lambda x: x[:, 1][None, :, None], lambda x: x.t()[None], lambda x: x.t()[..., None, None],
    lambda x: x.expand(2, *x.shape)[None], lambda x: x[0, 0][None], lambda x: x[::2][:, None],
    torch.fft.fft, torch.fft.rfft, torch.fft.irfft, torch.fft.hfft, torch.fft.ihfft,
    torch.fft.rfft2, torch.fft.irfft2, torch.fft.fftn, torch.fft.ihfftn,
    lambda x: torch.fft.fft(x, dim=0), lambda x: torch.fft.fft(x, 5, 0),
    lambda x: torch.fft.irfftn(x[None] * x[:, None], dim=(2, 0)),
    lambda x: torch.fft.rfftn(x[None] * x[:, None], dim=(0, 1)),
):  # fmt: skip
    print(f(x).stride(), f(x.t()).stride(), f(x).is_contiguous())

# %% pieces that may be written to, and the layout of a gradient that is recorded
x = torch.arange(6.0).requires_grad_()
for f in (
    lambda y: y.unsafe_split(2), lambda y: y.unsafe_chunk(3),
    lambda y: y.unsafe_split_with_sizes([1, 2, 3]),
):  # fmt: skip
    y = x * x
    v = f(y)
    print([t.grad_fn.name() for t in v], v[0]._is_view())
    v[0].mul_(2)
    (v[0].sum() + (v[1] ** 2).sum() + y.sum()).backward()
    print(y, v[0].grad_fn.name(), y._version, v[0]._version, x.grad)
    with torch.no_grad():
        print(f(x)[0].add_(1), x)
x = torch.ones(3, 4).t().requires_grad_()
(x * 2).sum().backward(create_graph=True)
print(x.grad.stride())

# %% functions of NumPy give tensors
import numpy as np

x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
for f in (
    np.sin, np.isnan, np.linalg.inv, np.cumsum, np.transpose, np.argmax, lambda x: np.add(1, x),
    lambda x: np.greater(x, 2), lambda x: np.exp(x[0, 0]), lambda x: np.sqrt(x.long()),
):  # fmt: skip
    print(f(x))

# %% the memory of another
import numpy as np

x, y = torch.ones(2), torch.arange(3.0)
for args in ((y,), (y.untyped_storage(), 1, (2,), (1,)), (y.untyped_storage(),), (), (3,)):
    try:
        x.set_(*args)[:1].add_(1)
    except TypeError:
        print("TypeError")
    print(x, y)
for a in (np.arange(3)[::-1], np.ones((2, 3))[:, ::-1], np.ones((2, 2)).T):
    try:
        print(torch.from_numpy(a))
    except ValueError as fault:
        print(fault)

# %% no gradient passes what set_ took, or starts where nothing was recorded
x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
y, v, kept = x * 2, torch.ones(2), x * 3
y.set_(torch.zeros(2))
v.set_(w)
with torch.no_grad():
    kept.set_(torch.full((2,), 5.0))
    apart = x[:1]
for z in (y, v, kept * kept, apart):
    try:
        z.backward(torch.ones_like(z))
    except RuntimeError as fault:
        print(str(fault).splitlines()[0])
    print(z.requires_grad, z.is_leaf, x.grad, w.grad, apart.grad)

# %% a gradient with a graph lies as its leaf does
x = torch.ones(2, 3, requires_grad=True)
(x.t() * torch.ones(3, 2)).sum().backward(create_graph=True)
print(x.grad.stride(), x.grad.tolist())

# %% a retained gradient lies by rows; what inference mode made is not resized outside
x = torch.ones(2, 3, requires_grad=True)
v = (x * 1).t()
v.retain_grad()
v.abs().sum().backward()
with torch.inference_mode():
    a = torch.ones(2, 3)
try:
    a.resize_(2)
except RuntimeError as fault:
    print(v.grad.stride(), str(fault)[:40])

# %% a gradient that lies in the memory of another tensor
buffer = torch.zeros(6)
x = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([x], lr=0.1)
for make in (
    lambda: buffer[1:4], lambda: torch.ones(1).expand(3), lambda: buffer[::2],
    lambda: torch.view_as_complex(buffer.view(3, 2)).conj().imag, lambda: (x * 2)[:],
):  # fmt: skip
    x.grad = make()
    seen = x.grad.detach().view(3, 1)
    for write in (lambda: (x * 2).sum().backward(), lambda: optimizer.zero_grad(set_to_none=False)):
        try:
            write()
        except RuntimeError as fault:
            print(str(fault)[:45])
        print(buffer, x.grad, seen, x.grad._version, x.grad.stride())
with torch.inference_mode():
    x.grad = torch.ones(3)
try:
    x.sum().backward()
except RuntimeError as fault:
    print(str(fault)[:45])

# %% where gradients lie that grad gives
F = torch.nn.functional
rows, columns = torch.rand(2, 3), torch.rand(3, 2).t()
for f in (
    lambda x, y: x * y, lambda x, y: x / y, lambda x, y: x.exp() + y.tanh(),
    lambda x, y: x + y.square(),
):  # fmt: skip
    for x, y in ((rows, columns), (columns, rows), (rows, rows[:1].expand(2, 3))):
        x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
        for g in (rows, columns, rows[0].expand(2, 3)):
            print([h.stride() for h in torch.autograd.grad(f(x, y), (x, y), g)])
x = rows.requires_grad_()
for f in (lambda x: x.mean(), lambda x: x.mean(1), lambda x: x[None].mean((0, 2), keepdim=True)):
    print(torch.autograd.grad(f(x).sum(), x)[0].stride())
for sides in ((1, 1), (0, 0), (1, 0, 0, 2), (1, -1, -1, 0), (-1, -1)):
    for value in (0, 2.5):
        y = F.pad(x, sides, value=value)
        g = torch.ones_like(y)
        (h,) = torch.autograd.grad(y, x, g)
        g.zero_()
        print(h, h.stride(), y.grad_fn.name(), [n.name() for n, _ in y.grad_fn.next_functions])

# %% leaves of another shape, views turned before their base is a leaf, strides of casts
for f in (lambda x: x * 2, lambda x: x.t(), lambda x: x.sum(0)):
    x = torch.ones(2, 3, requires_grad=True)
    y = f(x)
    x.data = torch.ones(2)
    try:
        y.sum().backward()
    except RuntimeError:
        print("RuntimeError")
for turn in (lambda v: v.squeeze_(), lambda v: v.t_(), lambda v: v):
    x = torch.ones(1, 3)
    v, w = x[:], x.view(3)
    turn(v)
    x.requires_grad_()
    for view in (v, w):
        print(view.requires_grad, view.is_leaf, view.grad_fn)
        (view * 2).sum().backward()
    print(x.grad)
for x in (torch.ones(0, 2), torch.ones(2, 3), torch.ones(2, 1)):
    x.requires_grad_()
    with torch.no_grad():
        u = x[:].unsqueeze_(0)
        v, w = x.squeeze(), x.unfold(-1, 1, 1)
    for view in (v, w):
        print(view._is_view(), view.requires_grad, view.is_leaf, tuple(view.shape))
for dtype in (torch.bool, torch.int64, torch.float32):
    x = torch.ones(3).to(dtype)
    print([f(x.expand(2, 3)).stride() for f in (torch.sqrt, torch.sin, lambda x: x / 3)])

# %% writes to views without entries
a = torch.ones(0, 2, requires_grad=True)
for b in (torch.ones(0, 2), torch.ones(3, 2), torch.ones(0, 2) * a, torch.ones(3, 2) * a.sum()):
    c, d = b.view(-1), b[:0]
    d.add_(a)
    print([(t.requires_grad, t.is_leaf, t.grad_fn.name()) for t in (b, c, d)])
    (b.sum() + c.sum() + d.sum()).backward()
    b.detach_()
    print(a.grad, b._version)

# %% a cotangent that is a gradient as it is, an index that does not fit
a = torch.ones(2, 3, requires_grad=True)
for f in (lambda a: a, lambda a: a + 1, lambda a: 2 - a, lambda a: a * 1, lambda a: a.clone()):
    for g in (torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)):
        (h,) = torch.autograd.grad(f(a), a, g)
        print(h is g, h.requires_grad)
b = torch.ones(2, 3, requires_grad=True)
for f in (lambda a, b: a * b, lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a.sum(0) + b):
    for create in (False, True):
        grads = torch.autograd.grad((f(a, b) * 2).sum(), [a, b, a, b], create_graph=create)
        print([grads[i] is grads[0] for i in range(4)], grads[1] is grads[3])
        if not create:
            grads[1].data.mul_(2)
            print(grads[3])
for index in (5, (0, 7), (0, 0, 0), 1):
    try:
        a[index] = 1
    except (IndexError, RuntimeError) as fault:
        print(isinstance(fault, IndexError))

# %% a gradient by a matrix that lies by columns does so too
W, x = torch.ones(5, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)
T = torch.ones(3, 5).t().requires_grad_()
A, B = torch.ones(4, 5, requires_grad=True), torch.ones(2, 5, 3, requires_grad=True)
v = torch.ones(3, requires_grad=True)
for f, inputs in (
    (lambda: torch.nn.functional.linear(x, W), (x, W)), (lambda: x @ W.t(), (x, W)),
    (lambda: W @ x.mT, (W, x)), (lambda: A.T @ x, (A, x)), (lambda: T @ x.permute(1, 0), (T, x)),
    (lambda: torch.addmm(v.sum(), x, W.transpose(0, 1)), (x, W)), (lambda: W @ v, (W, v)),
    (lambda: torch.nn.functional.linear(B, W), (B, W)), (lambda: B @ B.mT, (B,)),
):  # fmt: skip
    for create in (False, True):
        found = torch.autograd.grad(f().sum(), inputs, create_graph=create)
        print([g.stride() for g in found])
q = torch.ones(2, 4, 6).view(2, 4, 2, 3).transpose(1, 2)
print(
    [torch.nn.functional.scaled_dot_product_attention(a, a, a).stride() for a in (q, q + 0, q[0])]
)
for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
    module = kind(3, 5, batch_first=True)
    print([module(a)[0].stride() for a in (torch.ones(2, 4, 3), torch.ones(4, 3))])

# %% a copy of what requires no gradient keeps the one that it was given
import copy

t = torch.ones(2)
t.grad = torch.ones(2)
print(copy.deepcopy(t).grad)

# %% samples that are written in place leave views and a kept gradient with the tensor
for write in (
    lambda v: v.uniform_(), lambda v: v.normal_(), lambda v: v.bernoulli_(), lambda v: v.random_(),
    lambda v: v.exponential_(), lambda v: v.geometric_(0.5), torch.nn.init.normal_,
):  # fmt: skip
    for mode in (torch.enable_grad, torch.no_grad):
        x = torch.ones(2, 2, requires_grad=True)
        v = x * 1
        w = v.view(-1)
        v.retain_grad()
        with mode():
            write(v)
        v.zero_()
        v.add_(x * 3)
        w.sum().backward()
        print(v.retains_grad, x.grad, v.grad, w._base is v)

# %% turned in place: a base that left the graph, what views were detached from
for turn in (lambda v: v.t_(), lambda v: v.unsqueeze_(0), lambda v: v.as_strided_((3, 2), (2, 1))):
    x = torch.ones(2, 3, requires_grad=True)
    v = x * 2
    w = v.view(-1)
    v.detach_()
    turn(v)
    print(w.requires_grad, torch.autograd.grad(w.sum(), x, allow_unused=True))
for f in (lambda v: v.split(1)[0], lambda v: v[:]):
    v = f(torch.ones(2, 3, requires_grad=True))
    v.detach()[0].unsqueeze_(0)
    try:
        print(v.grad_fn.name(), v._version)
    except RuntimeError:
        print("cut")

# %% views of a gradient that is added to, versions of gradients in the graph
x = torch.ones(2, requires_grad=True)
y = x * x
v, w = y.view(2, 1), y.unbind()[0]
x.grad = y
(x * 3).sum().backward()
print(v.grad_fn.name(), v, y._version, torch.autograd.grad(v.sum(), x))
try:
    print(w.grad_fn.name())
except RuntimeError:
    print("cut")
x.register_post_accumulate_grad_hook(lambda x: print(x.grad._version, x.grad.requires_grad))
for f in (lambda x: x * x, lambda x: x + 1):
    x.grad = None
    for _ in range(2):
        f(x).sum().backward(create_graph=True)

# %% writes beside a view that was cut, a hook of a view outside the graph


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g


x = torch.ones(4).view(2, 2).requires_grad_()
v = Same.apply(x.t())
for _ in range(2):
    x.detach().add_(1)
print(v.tolist(), x._version)
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    v = x[:1]
v.register_post_accumulate_grad_hook(print)
(v * x).sum().backward()
print(v.grad, x.grad)
