"""Cells on custom functions, their second derivatives and gradcheck."""

# ruff: noqa: E402, RUF059
# The cells stand as a notebook has them.

import numpy as np
import torch


# %% linear as a Function of the old style
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


x = torch.tensor([[1.0, 2.0]], requires_grad=True)
w = torch.tensor([[1.0, -1.0], [0.5, 2.0], [0.0, 1.0]], requires_grad=True)
b = torch.zeros(3, requires_grad=True)
y = LinearFunction.apply(x, w, b)
print(y)
y.pow(2).sum().backward()
print(x.grad, w.grad, b.grad)
linear = LinearFunction.apply
print(linear(x, w))
xd = torch.randn(4, 2, dtype=torch.double, requires_grad=True)
wd = torch.randn(3, 2, dtype=torch.double, requires_grad=True)
print(torch.autograd.gradcheck(linear, (xd, wd), eps=1e-6, atol=1e-4))

# %% setup_context style
from torch.autograd import Function


class MulConstant(Function):
    @staticmethod
    def forward(tensor, constant):
        return tensor * constant

    @staticmethod
    def setup_context(ctx, inputs, output):
        tensor, constant = inputs
        ctx.constant = constant

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.constant, None


x = torch.tensor([1.0, 2.0], requires_grad=True)
y = MulConstant.apply(x, 5)
print(y)
y.sum().backward()
print(x.grad)

# %% set_materialize_grads false
from torch.autograd import Function


class MulConstant(Function):
    @staticmethod
    def forward(tensor, constant):
        return tensor * constant

    @staticmethod
    def setup_context(ctx, inputs, output):
        tensor, constant = inputs
        ctx.set_materialize_grads(False)
        ctx.constant = constant

    @staticmethod
    def backward(ctx, grad_output):
        if grad_output is None:
            return None, None
        return grad_output * ctx.constant, None


x = torch.tensor(3.0, requires_grad=True)
MulConstant.apply(x, 2.0).backward()
print(x.grad)


# %% two outputs, one unused: zeros or None
class TwoOut(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, materialize):
        ctx.set_materialize_grads(materialize)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g1, g2):
        print("got", g1, g2)
        total = 0
        if g1 is not None:
            total = total + 2 * g1
        if g2 is not None:
            total = total + 3 * g2
        return total, None


x = torch.tensor([1.0, 2.0], requires_grad=True)
TwoOut.apply(x, True)[0].sum().backward()
TwoOut.apply(x, False)[1].sum().backward()
print(x.grad)


# %% double backward of a Function: MyCube
class MyCube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        result = x**3
        dx = 3 * x**2
        return result, dx

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        result, dx = output
        ctx.save_for_backward(x, dx)

    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        x, dx = ctx.saved_tensors
        return grad_output * dx + grad_dx * 6 * x


def my_cube(x):
    result, dx = MyCube.apply(x)
    return result


x = torch.tensor(2.0, dtype=torch.double, requires_grad=True)
y = my_cube(x)
(g,) = torch.autograd.grad(y, x, create_graph=True)
print(y, g)
(gg,) = torch.autograd.grad(g, x)
print(gg)
print(torch.autograd.gradcheck(my_cube, (x,)), torch.autograd.gradgradcheck(my_cube, (x,)))


# %% saving the inputs: Square twice
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x


x = torch.rand(3, 3, requires_grad=True, dtype=torch.double)
print(torch.autograd.gradcheck(Square.apply, x), torch.autograd.gradgradcheck(Square.apply, x))
a = torch.tensor(3.0, requires_grad=True)
out = Square.apply(a)
(ga,) = torch.autograd.grad(out, a, create_graph=True)
print(out, ga)
(gga,) = torch.autograd.grad(ga, a)
print(gga)


# %% saving the output: Exp
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = torch.exp(x)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_out):
        (result,) = ctx.saved_tensors
        return result * grad_out


x = torch.tensor([0.5, 1.0], requires_grad=True, dtype=torch.double)
print(torch.autograd.gradcheck(Exp.apply, x), torch.autograd.gradgradcheck(Exp.apply, x))
y = Exp.apply(x)
print(y)
(g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
print(g, g.grad_fn)


# %% saving intermediates: Sinh
class Sinh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        expx = torch.exp(x)
        expnegx = torch.exp(-x)
        ctx.save_for_backward(expx, expnegx)
        return (expx - expnegx) / 2, expx, expnegx

    @staticmethod
    def backward(ctx, grad_out, grad_out_exp, grad_out_negexp):
        expx, expnegx = ctx.saved_tensors
        grad_input = grad_out * (expx + expnegx) / 2
        grad_input += grad_out_exp * expx
        grad_input -= grad_out_negexp * expnegx
        return grad_input


def sinh(x):
    return Sinh.apply(x)[0]


x = torch.rand(3, 3, requires_grad=True, dtype=torch.double)
print(torch.autograd.gradcheck(sinh, x), torch.autograd.gradgradcheck(sinh, x))


# %% saving intermediates the wrong way
class SinhBad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        expx = torch.exp(x)
        expnegx = torch.exp(-x)
        ctx.expx = expx
        ctx.expnegx = expnegx
        return (expx - expnegx) / 2

    @staticmethod
    def backward(ctx, grad_out):
        return grad_out * (ctx.expx + ctx.expnegx) / 2


x = torch.tensor([0.3, 0.7], requires_grad=True, dtype=torch.double)
print(torch.autograd.gradcheck(SinhBad.apply, x))
try:
    torch.autograd.gradgradcheck(SinhBad.apply, x)
    print("passed")
except RuntimeError as e:
    print(type(e).__name__)


# %% cube with its own forward and backward functions
def cube_forward(x):
    return x**3


def cube_backward(grad_out, x):
    return grad_out * 3 * x**2


def cube_backward_backward(grad_out, sav_grad_out, x):
    return grad_out * sav_grad_out * 6 * x


def cube_backward_backward_grad_out(grad_out, x):
    return grad_out * 3 * x**2


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return cube_forward(x)

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return CubeBackward.apply(grad_out, x)


class CubeBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, grad_out, x):
        ctx.save_for_backward(x, grad_out)
        return cube_backward(grad_out, x)

    @staticmethod
    def backward(ctx, grad_out):
        x, sav_grad_out = ctx.saved_tensors
        dx = cube_backward_backward(grad_out, sav_grad_out, x)
        dgrad_out = cube_backward_backward_grad_out(grad_out, x)
        return dgrad_out, dx


x = torch.tensor(2.0, requires_grad=True, dtype=torch.double)
print(torch.autograd.gradcheck(Cube.apply, x), torch.autograd.gradgradcheck(Cube.apply, x))
out = Cube.apply(x)
(g,) = torch.autograd.grad(out, x, create_graph=True)
(g2,) = torch.autograd.grad(g, x)
print(out, g, g2)

# %% once differentiable
from torch.autograd.function import once_differentiable


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ((x > -1) & (x < 1))


x = torch.tensor([0.5, 2.0], requires_grad=True)
y = Clip.apply(x)
(g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
print(g)
try:
    g.sum().backward()
except RuntimeError as e:
    print(str(e)[:70])


# %% mark_dirty
class InplaceDouble(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.clone()
z = InplaceDouble.apply(y)
print(z is y, y)
z.sum().backward()
print(x.grad)


# %% mark_non_differentiable
class SortWithIndex(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sorted, idx = x.sort()
        ctx.mark_non_differentiable(idx)
        ctx.save_for_backward(x, idx)
        return sorted, idx

    @staticmethod
    def backward(ctx, g1, g2):
        x, idx = ctx.saved_tensors
        grad_input = torch.zeros_like(x)
        grad_input.index_add_(0, idx, g1)
        return grad_input


x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
v, i = SortWithIndex.apply(x)
print(v, i, i.requires_grad)
(v * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
print(x.grad)


# %% the wrong number of gradients
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, g):
        return g


a = torch.ones(1, requires_grad=True)
try:
    Wrong.apply(a, a).backward()
except RuntimeError as e:
    print(str(e)[:84])


# %% a Function is not called by its instance
class F1(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a


try:
    F1()(torch.ones(1))
except Exception as e:
    print(type(e).__name__)
x = torch.ones(1, requires_grad=True)
y = F1.apply(x)
try:
    y.backward()
except NotImplementedError as e:
    print(type(e).__name__)


# %% names of nodes of custom functions
class GradientReversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lambd):
        ctx.lambd = lambd
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad.neg() * ctx.lambd, None


x = torch.ones(2, requires_grad=True)
y = GradientReversal.apply(x, 0.5)
print(y.grad_fn.name(), type(y.grad_fn).__name__, y.grad_fn.next_functions[0][0].name())
print(y)
y.sum().backward()
print(x.grad)


# %% straight-through estimator
class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


x = torch.tensor([0.2, 0.7, 1.5, 2.5], requires_grad=True)
y = RoundSTE.apply(x)
print(y)
(y**2).sum().backward()
print(x.grad)
z = x + (x.round() - x).detach()
x.grad = None
(z**2).sum().backward()
print(x.grad)

# %% forward mode of a Function
import torch.autograd.forward_ad as fwAD


class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, foo):
        result = torch.exp(foo)
        ctx.result = result
        return result

    @staticmethod
    def jvp(ctx, gI):
        gO = gI * ctx.result
        del ctx.result
        return gO


fn = Fn.apply
primal = torch.tensor([0.0, 1.0], dtype=torch.double, requires_grad=True)
tangent = torch.tensor([1.0, 2.0], dtype=torch.double)
with fwAD.dual_level():
    dual_input = fwAD.make_dual(primal, tangent)
    dual_output = fn(dual_input)
    jvp = fwAD.unpack_dual(dual_output).tangent
print(jvp)


# %% vmap staticmethod
class Exp2(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return 2**x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * 0.6931471805599453

    @staticmethod
    def vmap(info, in_dims, x):
        print("batch", info.batch_size, len(in_dims), info.randomness)
        return Exp2.apply(x), in_dims[0]


x = torch.arange(6.0).reshape(2, 3)
print(torch.func.vmap(Exp2.apply)(x))
print(torch.func.vmap(Exp2.apply, in_dims=1)(x))
print(torch.func.grad(lambda t: Exp2.apply(t).sum())(x))


# %% generate_vmap_rule
class MyScale(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, s):
        return x * s

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, s = inputs
        ctx.save_for_backward(x, s)

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        return g * s, (g * x).sum()


x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
s = torch.tensor([10.0, 100.0])
print(torch.vmap(MyScale.apply)(x, s))
print(torch.vmap(torch.func.grad(lambda x, s: MyScale.apply(x, s).sum()), in_dims=(0, 0))(x, s))


# %% needs_input_grad is told
class Ask(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, flag):
        print(ctx.needs_input_grad)
        return a * b

    @staticmethod
    def backward(ctx, g):
        print(ctx.needs_input_grad)
        return g, None, None


a = torch.ones(1, requires_grad=True)
b = torch.ones(1)
Ask.apply(a, b, True).backward()
Ask.apply(b, b, True)
with torch.no_grad():
    print(Ask.apply(a, a, 3).requires_grad)


# %% saved tensors after being freed
class S(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return g * 2


x = torch.ones(1, requires_grad=True)
y = S.apply(x)
print(y.grad_fn.saved_tensors)
y.backward()
try:
    y.backward()
except RuntimeError as e:
    print(str(e)[:62])


# %% attributes of the node are the context
class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, k):
        ctx.k = k
        return a * k

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None


y = Keep.apply(torch.ones(2, requires_grad=True), 4)
print(y.grad_fn.k)


# %% a numpy function inside a Function
class NumpySort(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        a = x.detach().numpy()
        idx = a.argsort()
        ctx.idx = idx
        return torch.from_numpy(a[idx])

    @staticmethod
    def backward(ctx, g):
        out = np.zeros(3, dtype=np.float32)
        out[ctx.idx] = g.numpy()
        return torch.from_numpy(out)


x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
y = NumpySort.apply(x)
print(y)
(y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
print(x.grad)


# %% batch norm fused by hand as a Function
class FusedNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, X, eps=1e-3):
        sum = X.sum(dim=0)
        n = X.numel() / X.size(1)
        mean = sum / n
        var = ((X - mean.unsqueeze(0)) ** 2).sum(0) / n
        sqrt_var = (var + eps).sqrt()
        out = (X - mean.unsqueeze(0)) / sqrt_var.unsqueeze(0)
        ctx.save_for_backward(X)
        ctx.eps, ctx.sqrt_var, ctx.mean, ctx.n = eps, sqrt_var, mean, n
        return out

    @staticmethod
    def backward(ctx, grad_out):
        (X,) = ctx.saved_tensors
        tmp = ((X - ctx.mean) * grad_out).sum(0)
        tmp = tmp * -1
        d_denom = tmp / (ctx.sqrt_var**2)
        d_var = d_denom / (2 * ctx.sqrt_var)
        d_mean_dx = grad_out / ctx.sqrt_var
        d_mean = -d_mean_dx.sum(0) / ctx.n
        grad_input = X * d_var * (2 / ctx.n)
        grad_input += ctx.mean * d_var * (-2 / ctx.n)
        grad_input += d_mean_dx + d_mean
        return grad_input, None


torch.manual_seed(0)
a = torch.rand(4, 3, requires_grad=True, dtype=torch.float64)
print(torch.autograd.gradcheck(FusedNorm.apply, (a,), fast_mode=False))
print(FusedNorm.apply(a))


# %% gradcheck tells what is wrong
class WrongGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x


x = torch.tensor([1.0, 2.0], dtype=torch.double, requires_grad=True)
try:
    torch.autograd.gradcheck(WrongGrad.apply, (x,))
except RuntimeError as e:
    print(type(e).__name__)
print(torch.autograd.gradcheck(WrongGrad.apply, (x,), raise_exception=False))

# %% gradcheck of built-in functions
x = torch.randn(3, dtype=torch.double, requires_grad=True)
A = torch.randn(3, 3, dtype=torch.double, requires_grad=True)
print(
    torch.autograd.gradcheck(torch.sigmoid, x),
    torch.autograd.gradcheck(lambda A, x: (A @ x).sum(), (A, x)),
)
print(torch.autograd.gradgradcheck(torch.tanh, x), torch.autograd.gradcheck(torch.linalg.det, A))
print(
    torch.autograd.gradcheck(lambda x: x.exp(), x, fast_mode=True),
    torch.autograd.gradcheck(torch.sin, x, check_forward_ad=True),
)
