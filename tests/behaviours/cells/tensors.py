"""Cells on making tensors, their types and their shapes; see ../snippets.py for how they are run."""

# ruff: noqa: E501, RUF005
# The cells stand as a notebook has them.

import numpy as np
import torch

# %% a number of each kind
print(torch.tensor(1), torch.tensor(2.0), torch.tensor(True))
print(torch.tensor(1).dtype, torch.tensor(2.0).dtype, torch.tensor(True).dtype)

# %% a complex number
print(torch.tensor(1 + 2j), torch.tensor([1j]).dtype)

# %% dtype decides
print(torch.tensor(1, dtype=torch.int32))
print(torch.tensor([1.9, -1.9], dtype=torch.int64))
print(torch.tensor([1, 2], dtype=torch.double))
print(torch.tensor([1, 0, 2], dtype=torch.bool))
print(torch.tensor(3, dtype=torch.float), torch.tensor(3, dtype=float), torch.ones(1, dtype=int))
print(torch.tensor([1.5], dtype=torch.float16), torch.tensor([1], dtype=torch.uint8))

# %% dtypes print under their module
for d in (torch.float64, torch.float32, torch.float16, torch.int64, torch.int32, torch.int16):
    print(d, d.is_floating_point, d.is_complex, d.itemsize)
print(torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128)

# %% other names of dtypes
print(torch.double, torch.float, torch.half, torch.long, torch.int, torch.short)
print(torch.double is torch.float64, torch.long == torch.int64, torch.float == torch.float64)

# %% numpy decides its own dtype
print(torch.tensor(np.array([1.0, 2.0])))
print(torch.tensor(np.arange(3, dtype=np.int32)))
print(torch.tensor(np.float32(2.5)), torch.tensor(np.array(True)))

# %% typed constructors
print(torch.Tensor(np.array([2.0])), torch.Tensor([1, 2]).dtype)
print(torch.IntTensor([1, 2]), torch.LongTensor([1, 2]), torch.BoolTensor([1, 0, 2, 0]))
print(torch.FloatTensor([1, 2]), torch.DoubleTensor([[1, 2], [3, 4]]))
print(torch.ShortTensor([7]), torch.CharTensor([7]), torch.ByteTensor([7]), torch.HalfTensor([7]))

# %% typed constructors of a shape
print(torch.Tensor(2, 3).shape, torch.FloatTensor(4).shape, torch.Tensor().shape)

# %% typed constructor of a 0-d array
print(torch.Tensor(np.array(2.0)), torch.Tensor(np.array(2.0)).shape)

# %% conversions by method
x = torch.tensor([1.7, -2.2, 0.0])
print(x.int(), x.long(), x.bool(), x.double(), x.half(), x.float(), x.short(), x.char())
print(torch.tensor([3, 4]).byte(), x.cfloat().dtype, x.cdouble().dtype)

# %% type and to
x = torch.tensor([1, 2])
print(x.to(float), x.type(torch.float32), x.to(torch.int8), x.to(int), x.to(bool))
print(x.type("torch.DoubleTensor").dtype, x.type_as(torch.tensor(1.0)))
print(x.type(), torch.tensor(1.0).type(), torch.tensor(True).type())

# %% to the type it has
x = torch.tensor([1.0])
print(x.to(torch.float32) is x, x.float() is x, x.double() is x, x.to("cpu") is x, x.cpu() is x)
print(x.to(torch.tensor([1, 2])), x.to(dtype=torch.float64), x.to("cpu", torch.float64))

# %% where a tensor is
x = torch.tensor([1.0])
print(x.device, x.is_cuda, x.layout, torch.device("cpu"), torch.cuda.is_available())

# %% integers and floats promote
i = torch.tensor([1, 2, 3])
print(i + 0.5, i * 2, i / 2, i // 2, i % 2, -i, i**2)
print((i + torch.tensor(0.5)).dtype, (i + torch.tensor(0.5, dtype=torch.float64)).dtype)

# %% a 0-d tensor does not widen
x = torch.ones(2)
print((x + torch.tensor(1.0, dtype=torch.float64)).dtype)
print((x * torch.ones(1, dtype=torch.float64)).dtype)
print((torch.ones(2, dtype=torch.float16) * 3.5).dtype)
print((torch.tensor([1], dtype=torch.int8) + torch.tensor(300)).dtype)

# %% result types
print(torch.result_type(torch.tensor([1, 2]), 1.0), torch.promote_types(torch.int32, torch.float16))
print(torch.can_cast(torch.double, torch.int), torch.can_cast(torch.int, torch.double))

# %% bool arithmetic
b = torch.tensor([True, False])
print(b + b, b * 2, b & ~b, b | True, b ^ b, b.sum(), (b + 1.0).dtype)
try:
    print(b - b)
except RuntimeError:
    print("bools do not subtract")

# %% a default dtype
torch.set_default_dtype(torch.float64)
print(torch.tensor(1.0).dtype, torch.ones(2), torch.get_default_dtype())
torch.set_default_dtype(torch.float32)
print(torch.ones(1).dtype, torch.tensor([1.0], dtype=torch.float64))

# %% shape, size and dim
x = torch.zeros(2, 3, 4)
print(x.shape, x.size(), x.size(1), x.size(-1), x.dim(), x.ndim, x.numel(), len(x), x.nelement())
print(torch.tensor(1.0).shape, torch.tensor([1.0]).size(), list(x.shape), x.shape[1])

# %% sizes are tuples
s = torch.zeros(2, 3).size()
print(s == (2, 3), s[0], s[-1], s.numel(), len(s), isinstance(s, tuple), s + (4,), s[:1])
print(torch.Size([4]), torch.Size((1, 2)), torch.Size([]))

# %% item and tolist
x = torch.tensor([[1.5, 2.0], [3.0, 4.0]])
print(x.tolist(), x[0, 0].item(), type(x[0, 0].item()).__name__, torch.tensor(3).item())
print(torch.tensor(True).item(), torch.tensor(2.5).tolist(), torch.tensor([]).tolist())
try:
    x.item()
except RuntimeError:
    print("one element only")

# %% as python numbers
x = torch.tensor(3.7)
print(float(x), int(x), bool(x), round(x.item(), 1), f"{x:.2f}", f"{x.item():.3f}")
print(f"{torch.tensor([1.0, 2.0])}", [10, 20, 30][torch.tensor(1)])

# %% an ambiguous truth
try:
    if torch.tensor([1, 2]):
        print("never")
except RuntimeError:
    print("ambiguous")
print(bool(torch.tensor([0])), bool(torch.tensor([[5.0]])))

# %% filled tensors
print(torch.zeros(2), torch.ones(2, 3), torch.full((2,), 7), torch.full((2, 2), 0.5))
print(torch.zeros((2, 1)), torch.ones([2]), torch.eye(2), torch.eye(2, 3))
print(torch.zeros(2, dtype=torch.int64), torch.ones(1, requires_grad=True))
print(torch.empty(2, 3).shape, torch.empty(0), torch.full((1,), True), torch.zeros(()))

# %% like another
x = torch.tensor([[1, 2, 3]])
print(torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 9), torch.empty_like(x).shape)
print(torch.zeros_like(x, dtype=torch.float32), torch.ones_like(x.float(), requires_grad=True))
print(torch.rand_like(x.float()).shape, torch.randn_like(x.double()).dtype)

# %% new from another
x = torch.ones(2, dtype=torch.float64)
print(x.new_zeros(2), x.new_ones(1, 2), x.new_full((2,), 3), x.new_tensor([1, 2]))
print(x.new_empty(3).shape, x.new_zeros((1,), dtype=torch.int32), x.new(2).shape)

# %% ranges
print(torch.arange(5), torch.arange(1, 4), torch.arange(1, 2, 0.25), torch.arange(3.0))
print(torch.arange(0, -3, -1), torch.arange(0, 10, 3), torch.arange(2, dtype=torch.float64))
print(torch.linspace(0, 1, 5), torch.linspace(0, 10, steps=3), torch.logspace(0, 2, 3))
print(torch.linspace(1, 2, 1), torch.arange(0), torch.linspace(-1, 1, 4, dtype=torch.float64))

# %% seeded random numbers
torch.manual_seed(0)
print(torch.rand(3), torch.rand(2, dtype=torch.float64), torch.randn(3))
print(torch.randn(4, 5), torch.randint(0, 10, (5,)), torch.randperm(5))
print(torch.randn(17), torch.randn(3, dtype=torch.float64), torch.randn(1), torch.rand(1))

# %% another seed
torch.manual_seed(42)
w = torch.randn(2, 3, requires_grad=True)
b = torch.rand(3)
print(w, b, torch.randint(3, (2, 2)), torch.randint(5, 9, (3,)))

# %% a seed again
torch.manual_seed(1234)
a = torch.randn(100)
torch.manual_seed(1234)
print(torch.equal(a, torch.randn(100)), a[:3], a[-3:], a.mean(), torch.normal(0.0, 1.0, (2,)))

# %% numpy shares memory
a = np.ones(5)
t = torch.from_numpy(a)
np.add(a, 1, out=a)
print(a, t)
t.add_(1)
print(a, t)

# %% numpy of a tensor shares memory
t = torch.ones(3)
n = t.numpy()
t.add_(1)
print(n, type(n).__name__, n.dtype)
n[0] = 7
print(t)

# %% as_tensor shares, tensor copies
a = np.array([1.0, 2.0, 3.0])
shared, copied = torch.as_tensor(a), torch.tensor(a)
a[0] = -1
print(shared, copied, torch.as_tensor([1, 2]), torch.as_tensor(5.0))

# %% clone does not share
t = torch.ones(2)
c = t.clone()
t.add_(1)
print(t, c)

# %% numpy of a tensor in the graph
x = torch.ones(2, requires_grad=True)
try:
    x.numpy()
except RuntimeError:
    print("use detach")
print(x.detach().numpy(), x.detach().numpy().sum())

# %% numpy functions on tensors
t = torch.tensor([1.0, 4.0, 9.0])
print(np.sqrt(t.numpy()), np.asarray(t), np.array(t.tolist()))

# %% stack and cat
a, b = torch.tensor([1, 2]), torch.tensor([3, 4])
print(torch.cat([a, b]), torch.cat((a, b), dim=0), torch.stack([a, b]), torch.stack((a, b), dim=1))
print(torch.hstack([a, b]), torch.vstack([a, b]), torch.dstack([a, b]), torch.concat([a, b]))
print(torch.cat([a, b.float()]).dtype, torch.cat([torch.ones(1, 2), torch.zeros(1, 2)], 1))

# %% split, chunk and unbind
x = torch.arange(10)
print(torch.split(x, 4), x.chunk(3), x.split([2, 3, 5]))
print(torch.unbind(torch.eye(2)), torch.eye(2).unbind(1), torch.tensor_split(x, 3))

# %% constants of the module
print(torch.pi, torch.e, torch.inf, torch.nan, -torch.inf)

# %% is_tensor and friends
x = torch.ones(2)
print(torch.is_tensor(x), torch.is_tensor([1]), isinstance(x, torch.Tensor), torch.numel(x))
print(torch.is_floating_point(x), x.is_floating_point(), x.is_complex(), x.is_signed())
print(x.is_same_size(torch.zeros(2)), x.element_size(), x.itemsize, x.nbytes)

# %% equal and allclose
a = torch.tensor([1.0, 2.0])
print(torch.equal(a, a.clone()), a.equal(a + 1), torch.allclose(a, a + 1e-9), a.allclose(a + 0.1))
print(torch.isclose(a, a + 1e-9), a == a, a.eq(2), a != 1, torch.eq(a, a))

# %% ragged lists
try:
    torch.tensor([[1, 2], [3]])
except ValueError:
    print("ragged")
try:
    torch.tensor("words")
except TypeError:
    print("not numbers")

# %% no such attribute
try:
    torch.ones(2).no_such_method()
except AttributeError:
    print("no such attribute")

# %% shapes in memory, whole ranges and what is asked of values


def attempt(call):
    try:
        print(call())
    except Exception as fault:
        print(next(c.__name__ for c in type(fault).__mro__ if c.__module__ == "builtins"), fault)


x = torch.tensor([[1, 2], [3, 4], [5, 6]])
a = torch.tensor([1.0, 2.0])
y = a.clone().requires_grad_() + 2
for call in (
    lambda: x.clone().resize_(2, 2),
    lambda: x.clone().resize_((3,)).shape,
    lambda: torch.ones(2, requires_grad=True).resize_(1),
    lambda: x.dim_order(),
    lambda: x.t().dim_order(),
    lambda: torch.empty_strided((2, 3), (1, 2)).stride(),
    lambda: torch.empty_permuted((2, 3, 5, 7), (0, 2, 3, 1)).stride(),
    lambda: x.new_empty_strided((2, 3), (3, 1)).stride(),
    lambda: torch.range(1, 4),
    lambda: torch.range(1, 4, 0.5),
    lambda: torch.range(1, -4),
    lambda: torch.range(4, 1, -1),
    lambda: torch.range(0, 1, 0),
    lambda: torch.is_nonzero(torch.tensor([0.0])),
    lambda: torch.is_nonzero(torch.tensor([1, 3])),
    lambda: torch.typename(x),
    lambda: torch.typename([1]),
    lambda: torch.asarray(a).data_ptr() == a.data_ptr(),
    lambda: torch.asarray(a, copy=True) is a,
    lambda: torch.asarray(np.array([1.0, 2.0])),
    lambda: torch.asarray([1, 2], dtype=torch.float32, requires_grad=True),
    lambda: torch.asarray([1, 2], copy=False),
    lambda: torch.asarray(y),
):
    attempt(call)

# %% an ellipsis of no dimensions keeps no index arrays apart
x = torch.arange(12.0).reshape(2, 2, 3).requires_grad_()
i, j, v = torch.tensor([0, 1]), torch.tensor([2, 0]), torch.tensor([[1.0, 2], [3, 4]])
y = x[:, i, ..., j]
(y * v).sum().backward()
print(y, x.grad, torch.ones(2, 3, 3, 2)[:, 0, [-2, 1, 0], ..., [0, 1, 1]].shape)
z = x.detach().clone()
z[:, i, ..., j] = v
print(z, torch.func.grad(lambda z: (z[:, i, ..., j] * v).sum())(z))
print(torch.vmap(lambda z: z[:, i, ..., j])(z[None]))
