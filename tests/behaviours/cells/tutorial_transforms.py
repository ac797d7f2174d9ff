"""Cells on forward mode, func's transforms and autograd.functional."""

# ruff: noqa: E402, E731, I001
# The cells stand as a notebook has them.

import torch

# %% dual numbers
import torch.autograd.forward_ad as fwAD

primal = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
tangent = torch.ones(2, 2)


def fn(x, y):
    return x**2 + y**2


with fwAD.dual_level():
    dual_input = fwAD.make_dual(primal, tangent)
    assert fwAD.unpack_dual(dual_input).tangent is tangent
    plain_tensor = torch.tensor([[0.5, 0.5], [0.5, 0.5]])
    dual_output = fn(dual_input, plain_tensor)
    jvp = fwAD.unpack_dual(dual_output).tangent
    print(fwAD.unpack_dual(dual_output).primal)
    print(fwAD.unpack_dual(plain_tensor).tangent)
assert fwAD.unpack_dual(dual_output).tangent is None
print(jvp)

# %% a dual prints
import torch.autograd.forward_ad as fwAD

with fwAD.dual_level():
    d = fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0]))
    print(d)
    p, t = fwAD.unpack_dual(d * d)
    print(p, t)
    print(fwAD.unpack_dual(d.sin()))

# %% make_dual outside a level
import torch.autograd.forward_ad as fwAD

try:
    fwAD.make_dual(torch.ones(1), torch.ones(1))
except RuntimeError as e:
    print(type(e).__name__)

# %% functional forward mode
import torch.func as ft

primal0, tangent0 = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 0.0, 1.0])
primal1, tangent1 = torch.tensor([4.0, 5.0, 6.0]), torch.tensor([0.0, 1.0, 0.0])
out, t = ft.jvp(lambda x, y: x * y, (primal0, primal1), (tangent0, tangent1))
print(out, t)
from functools import partial

print(ft.jvp(partial(torch.mul, torch.tensor(2.0)), (primal0,), (tangent0,)))

# %% computing a Jacobian row by row
import torch.nn.functional as F

torch.manual_seed(0)


def predict(weight, bias, x):
    return F.linear(x, weight, bias).tanh()


D = 4
weight = torch.randn(D, D)
bias = torch.randn(D)
x = torch.randn(D)
xp = x.clone().requires_grad_()
unit_vectors = torch.eye(D)


def compute_jac(xp):
    return torch.stack(
        [torch.autograd.grad(predict(weight, bias, xp), xp, vec)[0] for vec in unit_vectors]
    )


jacobian = compute_jac(xp)
print(jacobian.shape)
print(jacobian[0])
from torch.func import vmap, vjp, jacrev, jacfwd, hessian

out, vjp_fn = vjp(lambda t: predict(weight, bias, t), x)
(ft_jacobian,) = vmap(vjp_fn)(unit_vectors)
print(torch.allclose(ft_jacobian, jacobian))
print(torch.allclose(jacrev(predict, argnums=2)(weight, bias, x), jacobian))
print(torch.allclose(jacfwd(predict, argnums=2)(weight, bias, x), jacobian))
print(
    torch.allclose(
        hessian(predict, argnums=2)(weight, bias, x),
        jacfwd(jacrev(predict, argnums=2), argnums=2)(weight, bias, x),
        atol=1e-6,
    )
)

# %% jacrev with several arguments and aux
from torch.func import jacrev, jacfwd


def f(x, y):
    return x * y.sum(), (x**2).sum()


x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
print(jacrev(f)(x, y))
print(jacfwd(f, argnums=(0, 1))(x, y))


def g(x):
    return x.sin(), x.sum()


print(jacrev(g, has_aux=True)(x))

# %% hessian of a quadratic and of a sum of sines
from torch.func import hessian

A = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
print(hessian(lambda x: 0.5 * x @ A @ x)(torch.tensor([1.0, 1.0])))
print(hessian(lambda x: x.sin().sum())(torch.tensor([0.5, 1.0, 1.5])))

# %% grad, nested grad, grad_and_value
from torch.func import grad, grad_and_value

f = lambda x: torch.sin(x)
x = torch.tensor(1.0)
print(grad(f)(x), grad(grad(f))(x), grad(grad(grad(f)))(x))
print(torch.allclose(grad(f)(x), x.cos()))
print(grad_and_value(lambda x, y: (x * y).sum())(torch.ones(2), torch.tensor([3.0, 4.0])))
print(grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(torch.ones(2), torch.tensor([3.0, 4.0])))


def loss_aux(x):
    y = x**2
    return y.sum(), y


print(grad(loss_aux, has_aux=True)(torch.tensor([1.0, 2.0])))

# %% grad over dictionaries of parameters
from torch.func import grad

params = {"w": torch.tensor([1.0, -1.0]), "b": torch.tensor(0.5)}


def loss(params, x):
    return ((params["w"] * x).sum() + params["b"]) ** 2


print(grad(loss)(params, torch.tensor([2.0, 1.0])))

# %% vmap basics
from torch.func import vmap

x = torch.arange(6.0).view(2, 3)
y = torch.ones(2, 3) * 2
print(vmap(torch.dot)(x, y))
print(vmap(torch.dot, in_dims=(0, None))(x, y[0]))
print(vmap(lambda a: a.sum())(x), vmap(lambda a: a * 2, in_dims=1, out_dims=1)(x))
print(vmap(vmap(torch.mul))(x, y))
print(vmap(lambda a: (a, a + 1))(x))
try:
    vmap(torch.dot)(torch.ones(2, 3), torch.ones(4, 3))
except ValueError as e:
    print(type(e).__name__)
try:
    vmap(lambda a: a.item())(x)
except RuntimeError as e:
    print(type(e).__name__)

# %% vmap randomness
from torch.func import vmap

torch.manual_seed(0)
x = torch.zeros(3, 2)
try:
    vmap(lambda a: a + torch.rand(2))(x)
except RuntimeError as e:
    print(type(e).__name__)
r = vmap(lambda a: a + torch.rand(2), randomness="same")(x)
print(torch.equal(r[0], r[1]))
r = vmap(lambda a: a + torch.rand(2), randomness="different")(x)
print(torch.equal(r[0], r[1]))

# %% per-sample gradients by vmap and grad
from torch.func import vmap, grad

torch.manual_seed(0)
data = torch.randn(4, 3)
targets = torch.tensor([0.0, 1.0, 1.0, 0.0])
w = torch.zeros(3)


def compute_loss(w, sample, target):
    p = torch.sigmoid(sample @ w)
    return -(target * p.log() + (1 - target) * (1 - p).log())


per_sample = vmap(grad(compute_loss), in_dims=(None, 0, 0))(w, data, targets)
print(per_sample)
print(
    per_sample.shape,
    torch.allclose(
        per_sample.sum(0),
        grad(lambda w: vmap(compute_loss, (None, 0, 0))(w, data, targets).sum())(w),
    ),
)
norms = per_sample.norm(dim=1)
clipped = per_sample * (0.5 / norms).clamp(max=1.0).unsqueeze(1)
print(clipped.mean(0))

# %% neural tangent kernel of a linear map
from torch.func import vmap, jacrev

torch.manual_seed(1)
W = torch.randn(2, 3)
x1, x2 = torch.randn(4, 3), torch.randn(5, 3)


def fnet(W, x):
    return torch.tanh(W @ x)


jac1 = vmap(jacrev(fnet), (None, 0))(W, x1)
jac2 = vmap(jacrev(fnet), (None, 0))(W, x2)
j1, j2 = jac1.flatten(2), jac2.flatten(2)
ntk = torch.einsum("Naf,Mbf->NMab", j1, j2)
print(ntk.shape)
print(ntk[0, 0])
print(torch.einsum("Naf,Maf->NM", j1, j2))

# %% an ensemble of weights by vmap
from torch.func import vmap

torch.manual_seed(2)
ws = torch.stack([torch.randn(3, 2) for _ in range(5)])
x = torch.randn(4, 3)
out = vmap(lambda w: torch.relu(x @ w))(ws)
print(out.shape)
print(torch.allclose(out[2], torch.relu(x @ ws[2])))
print(vmap(lambda w, s: s @ w, in_dims=(0, 0))(ws, torch.randn(5, 3)).shape)

# %% vjp and jvp of functions with structure
from torch.func import vjp, jvp

x = torch.tensor([1.0, 2.0])
out, pull = vjp(lambda x: {"a": x.sin(), "b": x**2}, x)
print(out["a"], out["b"])
print(pull({"a": torch.ones(2), "b": torch.zeros(2)}))
print(jvp(torch.sin, (x,), (torch.tensor([1.0, 0.0]),)))
out, pull = vjp(torch.mul, x, x * 3)
print(pull(torch.ones(2)))
_, pull, aux = vjp(lambda t: (t**2, t + 1), x, has_aux=True)
print(aux, pull(torch.ones(2)))

# %% linearize
from torch.func import linearize

x = torch.tensor([1.0, 2.0])
out, jvp_fn = linearize(torch.sin, x)
print(out, jvp_fn(torch.tensor([1.0, 0.0])))

# %% Hessian-vector products three ways
from torch.func import jvp, grad, vjp


def hvp(f, primals, tangents):
    return jvp(grad(f), primals, tangents)[1]


def f(x):
    return x.sin().sum()


x, t = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([1.0, 0.0, -1.0])
print(hvp(f, (x,), (t,)))
print(-x.sin() * t)
_, vjp_fn = vjp(grad(f), x)
print(vjp_fn(t)[0])
print(torch.autograd.functional.hvp(f, x, t))

# %% functional api: jacobian and friends
from torch.autograd.functional import jacobian, hessian, vjp, jvp, vhp, hvp


def exp_reducer(x):
    return x.exp().sum(dim=1)


x = torch.tensor([[0.1, 0.2], [0.3, 0.4]])
print(jacobian(exp_reducer, x))
print(jacobian(exp_reducer, x, create_graph=True).requires_grad)
print(jacobian(lambda x, y: 2 * x + 3 * y, (torch.ones(2), torch.ones(2))))
print(hessian(lambda x: x.pow(3).sum(), torch.tensor([1.0, 2.0])))
print(hessian(lambda x, y: (2 * x.pow(2) + 3 * y).sum(), (torch.ones(1), torch.ones(1))))
print(vjp(exp_reducer, x, torch.ones(2)))
print(jvp(exp_reducer, x, torch.ones(2, 2)))
print(vhp(lambda x: x.pow(3).sum(), torch.ones(2), torch.tensor([1.0, 2.0])))
print(hvp(lambda x: x.pow(3).sum(), torch.ones(2), torch.tensor([1.0, 2.0])))

# %% functional call on a module
import torch.nn as nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
model = nn.Linear(3, 2)
params = {k: v.detach() for k, v in model.named_parameters()}
x = torch.ones(4, 3)
print(functional_call(model, params, (x,)).shape)


def loss(params, x):
    return functional_call(model, params, (x,)).pow(2).sum()


g = grad(loss)(params, x)
print({k: tuple(v.shape) for k, v in g.items()})
ps = vmap(
    grad(lambda p, s: functional_call(model, p, (s.unsqueeze(0),)).pow(2).sum()), in_dims=(None, 0)
)(params, x)
print(ps["weight"].shape, ps["bias"].shape)

# %% stack_module_state
import torch.nn as nn
from torch.func import stack_module_state, functional_call, vmap
import copy

torch.manual_seed(0)
models = [nn.Linear(2, 1) for _ in range(3)]
params, buffers = stack_module_state(models)
print({k: tuple(v.shape) for k, v in params.items()}, buffers)
base = copy.deepcopy(models[0])
x = torch.ones(4, 2)
out = vmap(lambda p, b: functional_call(base, (p, b), (x,)))(params, buffers)
print(out.shape, torch.allclose(out[1], models[1](x)))

# %% Jacobian of a batch by vmap over jacrev
from torch.func import jacrev, vmap

torch.manual_seed(3)
W = torch.randn(2, 3)
X = torch.randn(4, 3)
print(vmap(jacrev(lambda x: (W @ x).sigmoid()))(X).shape)
J = jacrev(lambda X: (X @ W.T).sigmoid().sum(0))(X).movedim(1, 0)
print(J.shape)

# %% laplacian by forward over reverse
from torch.func import hessian, vmap


def u(x):
    return (x**2).sum() + x[0] * x[1]


pts = torch.tensor([[1.0, 2.0], [0.0, 0.0]])
print(vmap(hessian(u))(pts))
print(vmap(lambda x: torch.trace(hessian(u)(x)))(pts))

# %% functionalised side effects: detach inside grad
from torch.func import grad

print(grad(lambda x: (x.detach() * x).sum())(torch.tensor([2.0, 3.0])))
with torch.no_grad():
    print(grad(lambda x: (x**2).sum())(torch.tensor([2.0, 3.0])))


def f(x):
    with torch.no_grad():
        c = x**2
    return (x - c).sum()


print(grad(f)(torch.tensor([2.0])))

# %% methods that ask inside a map
import numpy as np

x = torch.arange(6.0).reshape(2, 3)
print(torch.vmap(lambda v: v * v.numel() + v.dim() + v.size(0) + v.element_size())(x))
print(torch.vmap(lambda v: v if v.is_floating_point() and isinstance(v, torch.Tensor) else -v)(x))
device = torch.device(type="cpu")
print(torch.ones(2, device=device), x.numpy()[:, np.newaxis].shape)
