"""What ``torch.func`` refuses of arguments and of what functions give, and what it takes."""

# ruff: noqa

# %% what vjp and grad refuse
import torch
from torch import func

x = torch.tensor([1.0, 2.0])
o = torch.ones(2)


def attempt(name, call):
    try:
        found = call()
    except Exception as fault:
        kind = next(c.__name__ for c in type(fault).__mro__ if c.__module__ == "builtins")
        print(name, kind)
    else:
        print(name, "ok" if callable(found) else found)


out, p = func.vjp(lambda x: {"a": x, "b": 2 * x}, x)
attempt("order", lambda: p({"b": 10 * o, "a": o}))
attempt("one", lambda: p(o))
attempt("two", lambda: p(o, o))
attempt("list", lambda: p([o, o]))
attempt("missing", lambda: p({"a": o}))
out, p = func.vjp(lambda x: (x, 2 * x), x)
attempt("tuple", lambda: p((o, 10 * o)))
attempt("args", lambda: p(o, 10 * o))
attempt("list", lambda: p([o, 10 * o]))
attempt("one", lambda: p(o))
attempt("three", lambda: p((o, o, o)))
out, p = func.vjp(lambda x: x * 2, x)
attempt("shape", lambda: p(torch.ones(3)))
attempt("scalar", lambda: p(torch.tensor(1.0)))
attempt("number", lambda: p(1.0))
attempt("tup", lambda: p((o,)))
attempt("none", lambda: p())
attempt("none out", lambda: func.vjp(lambda x: None, x))
attempt("int in", lambda: func.vjp(lambda x: x * 2, 3.0))
attempt("intT", lambda: func.vjp(lambda x: x * 2.0, torch.tensor([1, 2])))
attempt("grad vec", lambda: func.grad(lambda x: x * 2)(x))
attempt("grad none", lambda: func.grad(lambda x: None)(x))
attempt("grad num", lambda: func.grad(lambda x: 3.0)(x))
attempt("grad tuple", lambda: func.grad(lambda x: (x.sum(), x.sum()))(x))
attempt("grad argnums", lambda: func.grad(lambda x: x.sum(), argnums=2)(x))
attempt("grad argnums neg", lambda: func.grad(lambda x, y: x.sum(), argnums=-1)(x, x))
attempt("grad int", lambda: func.grad(lambda x: x.sum())(torch.tensor([1, 2])))
attempt("grad float arg", lambda: func.grad(lambda x: x * 2)(3.0))
attempt("grad aux", lambda: func.grad(lambda x: x.sum(), has_aux=True)(x))
attempt("grad list arg", lambda: func.grad(lambda t: (t[0] * t[1]).sum())([x, x]))
attempt("grad dict", lambda: func.grad(lambda t: (t["a"] ** 2).sum())({"a": x}))
attempt("grad dup", lambda: func.grad(lambda a, b: (a * b).sum(), argnums=(0, 0))(x, x))
attempt("grad empty argnums", lambda: func.grad(lambda a, b: (a * b).sum(), argnums=())(x, x))
attempt("argnums str", lambda: func.grad(lambda a, b: (a * b).sum(), argnums="a")(x, x))
attempt("grad cplx", lambda: func.grad(lambda a: a.sum())(x + 1j))
attempt("grad unused", lambda: func.grad(lambda a, b: a.sum(), argnums=1)(x, x))
attempt("grad detach", lambda: func.grad(lambda a: a.detach().sum())(x))
attempt("no args", lambda: func.grad(lambda: x.sum())())

# %% what jvp and jacobians refuse
import torch
from torch import func

x = torch.tensor([1.0, 2.0])
o = torch.ones(2)


def attempt(name, call):
    try:
        found = call()
    except Exception as fault:
        kind = next(c.__name__ for c in type(fault).__mro__ if c.__module__ == "builtins")
        print(name, kind)
    else:
        print(name, "ok" if callable(found) else found)


attempt("jvp", lambda: func.jvp(lambda x: x * 2, (x,), (o,)))
attempt("jvp notuple", lambda: func.jvp(lambda x: x * 2, x, o))
attempt("jvp shape", lambda: func.jvp(lambda x: x * 2, (x,), (torch.ones(3),)))
attempt("jvp count", lambda: func.jvp(lambda x: x * 2, (x,), (o, o)))
attempt("jvp none", lambda: func.jvp(lambda x: None, (x,), (o,)))
attempt("jvp num", lambda: func.jvp(lambda x: 3, (x,), (o,)))
attempt("jvp empty", lambda: func.jvp(lambda: x, (), ()))
attempt("jvp const", lambda: func.jvp(lambda x: o, (x,), (o,)))
attempt("jvp strict", lambda: func.jvp(lambda x: o, (x,), (o,), strict=True))
attempt("jvp list", lambda: func.jvp(lambda t: t[0] * t[1], ([x, x],), ([o, o],)))
attempt("jvp struct", lambda: func.jvp(lambda t: t[0] * t[1], ([x, x],), ((o, o),)))
attempt("jvp float", lambda: func.jvp(lambda x: x * 2, (1.0,), (1.0,)))
attempt("jvp aux", lambda: func.jvp(lambda x: (x, x), (x,), (o,), has_aux=True))
attempt("jvp auxbad", lambda: func.jvp(lambda x: x, (x,), (o,), has_aux=True))
attempt(
    "jvp int", lambda: func.jvp(lambda x: x * 2, (torch.tensor([1, 2]),), (torch.tensor([1, 1]),))
)
attempt("jacrev none", lambda: func.jacrev(lambda x: None)(x))
attempt("jacrev num", lambda: func.jacrev(lambda x: 3.0)(x))
attempt("jacrev dict", lambda: func.jacrev(lambda x: {"a": x * 2, "b": x.sum()})(x))
attempt("jacrev argn", lambda: func.jacrev(lambda x, y: x * y, argnums=(0, 1))(x, x))
attempt("jacrev -1", lambda: func.jacrev(lambda x, y: x * y, argnums=-1)(x, o))
attempt("jacrev 5", lambda: func.jacrev(lambda x, y: x * y, argnums=5)(x, o))
attempt("jacrev chunk0", lambda: func.jacrev(lambda x: x, chunk_size=0)(x))
attempt("jacrev chunk1", lambda: func.jacrev(lambda x: x * x, chunk_size=1)(x))
attempt("jacrev int", lambda: func.jacrev(lambda x: x)(torch.tensor([1, 2])))
attempt("jacrev list", lambda: func.jacrev(lambda x: [x, x * 2])(x))
attempt("jacrev tuplein", lambda: func.jacrev(lambda t: t[0] * t[1])((x, x)))
attempt("jacrev aux", lambda: func.jacrev(lambda x: (x, x), has_aux=True)(x))
attempt("jacrev auxbad", lambda: func.jacrev(lambda x: x, has_aux=True)(x))
attempt("jacrev const", lambda: func.jacrev(lambda x: o)(x))
attempt("jacrev 0arg", lambda: func.jacrev(lambda: x)())
attempt("jacfwd none", lambda: func.jacfwd(lambda x: None)(x))
attempt("jacfwd dict", lambda: func.jacfwd(lambda x: {"a": x * 2, "b": x.sum()})(x))
attempt("jacfwd rand", lambda: func.jacfwd(lambda x: x * torch.rand(2))(x))
attempt(
    "jacfwd rand2", lambda: func.jacfwd(lambda x: x * torch.rand(2).shape[0], randomness="same")(x)
)
attempt("jacfwd arg", lambda: func.jacfwd(lambda x, y: x * y, argnums=(1, 0))(x, x))
attempt("jacfwd const", lambda: func.jacfwd(lambda x: o)(x))
attempt("jacfwd int", lambda: func.jacfwd(lambda x: x)(torch.tensor([1, 2])))
attempt("hess", lambda: func.hessian(lambda x: (x**3).sum())(x))
attempt("hess vec", lambda: func.hessian(lambda x: x**3)(x))
attempt("hess arg", lambda: func.hessian(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, x))

# %% what vmap refuses
import torch
from torch import func

x = torch.tensor([1.0, 2.0])
o = torch.ones(2)


def attempt(name, call):
    try:
        found = call()
    except Exception as fault:
        kind = next(c.__name__ for c in type(fault).__mro__ if c.__module__ == "builtins")
        print(name, kind)
    else:
        print(name, "ok" if callable(found) else found)


attempt("v0", lambda: func.vmap(lambda x: x)(torch.tensor(1.0)))
attempt("v size", lambda: func.vmap(torch.mul)(x, torch.ones(3)))
attempt("v none", lambda: func.vmap(lambda x: None)(x))
attempt("v in", lambda: func.vmap(lambda x: x, in_dims=1)(x))
attempt("v in none", lambda: func.vmap(lambda x: x, in_dims=None)(x))
attempt("v in len", lambda: func.vmap(lambda x: x, in_dims=(0, 0))(x))
attempt("v in str", lambda: func.vmap(lambda x: x, in_dims="a")(x))
attempt("v out", lambda: func.vmap(lambda x: x, out_dims=1)(x))
attempt("v out neg", lambda: func.vmap(lambda x: torch.stack([x, x]), out_dims=-1)(x))
attempt("v out len", lambda: func.vmap(lambda x: x, out_dims=(0, 0))(x))
attempt("v empty", lambda: func.vmap(lambda x: x)(torch.ones(0, 2)))
attempt("v rand", lambda: func.vmap(lambda x: x + torch.rand(1))(x))
attempt(
    "v rand same",
    lambda: func.vmap(lambda x: torch.zeros(1) + 0 * torch.rand(1), randomness="same")(x),
)
attempt("v rand bad", lambda: func.vmap(lambda x: x, randomness="x")(x))
attempt("v item", lambda: func.vmap(lambda x: x.item())(x))
attempt("v if", lambda: func.vmap(lambda x: x if x > 0 else -x)(x))
attempt("v chunk", lambda: func.vmap(lambda x: x * 2, chunk_size=1)(x))
attempt("v chunk0", lambda: func.vmap(lambda x: x * 2, chunk_size=0)(x))
attempt("v int arg", lambda: func.vmap(lambda x, y: x * y, in_dims=(0, None))(x, 3))
attempt("v int arg0", lambda: func.vmap(lambda x, y: x * y)(x, 3))
attempt("v noargs", lambda: func.vmap(lambda: x)())
attempt("v dict", lambda: func.vmap(lambda d: d["a"] * 2)({"a": x}))
attempt("v dict in", lambda: func.vmap(lambda d: d["a"] * 2, in_dims=({"a": 0},))({"a": x}))
attempt("v nested", lambda: func.vmap(func.vmap(lambda x: x * 2))(torch.ones(2, 2)))
attempt("v inplace", lambda: func.vmap(lambda x: x.add_(1))(torch.ones(2)))
attempt("v backward", lambda: func.vmap(lambda x: x.sum().backward())(x))
attempt("v data", lambda: func.vmap(lambda x: x.data)(x))
attempt("v tolist", lambda: func.vmap(lambda x: x.tolist())(x))
attempt("v bool", lambda: func.vmap(lambda x: bool(x))(x))
attempt("v outnone", lambda: func.vmap(lambda x: x, out_dims=None)(x))
attempt("v outtuple", lambda: func.vmap(lambda x: (x, x), out_dims=(0, None))(x))
attempt("v kw", lambda: func.vmap(lambda x, y=None: x * y)(x, y=o))
attempt("v str", lambda: func.vmap(lambda x, y: x)(x, "a"))
attempt("v numpy", lambda: func.vmap(lambda x: x.numpy())(x))
attempt("v float", lambda: func.vmap(lambda x: float(x))(x))

# %% functional_call of names
import torch

torch.manual_seed(2)
from torch import func

x = torch.tensor([1.0, 2.0])
o = torch.ones(2)


def attempt(name, call):
    try:
        found = call()
    except Exception as fault:
        kind = next(c.__name__ for c in type(fault).__mro__ if c.__module__ == "builtins")
        print(name, kind)
    else:
        print(name, "ok" if callable(found) else found)


attempt("stack", lambda: func.stack_module_state([]))
attempt("lin", lambda: func.linearize(lambda x: x**2, x)[1](o))
attempt(
    "fc",
    lambda: func.functional_call(
        torch.nn.Linear(2, 1), {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, (x,)
    ),
)
attempt(
    "fc bad", lambda: func.functional_call(torch.nn.Linear(2, 1), {"wrong": torch.ones(1, 2)}, (x,))
)
attempt(
    "fc strict",
    lambda: func.functional_call(
        torch.nn.Linear(2, 1), {"weight": torch.ones(1, 2)}, (x,), strict=True
    ),
)

# %% what values inside transforms answer
import torch
from torch import func

x, v = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.ones(2, 2)


def asked(name):
    def f(d):
        found = getattr(d, name)
        print(name, found() if callable(found) else found)
        return d * 1.0

    return f


for name in (
    "grad",
    "requires_grad",
    "dtype",
    "device",
    "shape",
    "ndim",
    "layout",
    "is_cuda",
    "is_sparse",
    "itemsize",
    "nbytes",
    "is_contiguous",
    "element_size",
    "nelement",
    "is_signed",
    "get_device",
    "size",
    "dim",
    "numel",
    "is_inference",
    "is_leaf",
    "is_complex",
    "is_floating_point",
):
    func.jvp(asked(name), (x,), (v,))
    func.vmap(asked(name))(x)
for name in (
    "data_ptr",
    "numpy",
    "requires_grad_",
    "retain_grad",
    "backward",
    "tolist",
    "nonsense",
):
    for call in (lambda f: func.vmap(f)(x), lambda f: func.jvp(f, (x,), (v,))):
        try:
            call(lambda d: getattr(d, name)())
        except Exception as fault:
            print(name, next(c.__name__ for c in type(fault).__mro__ if c.__module__ == "builtins"))
