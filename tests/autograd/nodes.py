"""Cells on what tensors, nodes and passes can be asked and told: attributes, callbacks, ctx.

As in tests/autograd/corners.py.
"""

# ruff: noqa: E402, I001

import torch

# %% a tensor keeps what the user sets on it
import copy
import pickle

x, w = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        w.main_grad = g * x
        return g * w, None


Product.apply(x, w).sum().backward()
print(x.grad, w.grad, w.main_grad)
w.tag = [1]
other = copy.deepcopy(w)
print(other.tag, other.tag is w.tag, pickle.loads(pickle.dumps(w)).tag)
print((w * 2).__dict__, w.detach().__dict__, sorted(vars(w)))
del w.tag
print(hasattr(w, "tag"))


# %% hooks as an attribute
from collections import OrderedDict

x = torch.ones(2, requires_grad=True)
y = x * 2
print(x._backward_hooks, y._backward_hooks)
y.register_hook(lambda g: g * 3)
print(len(y._backward_hooks))
y.sum().backward()
print(x.grad)
a = torch.ones(2)
a._backward_hooks = OrderedDict()
a._backward_hooks[0] = lambda g: print("of a", g)
b = a + y.detach()
print(b.requires_grad)
a.requires_grad_()
(a * 2).sum().backward()
for name in ("data", "requires_grad", "_grad_fn", "_backward_hooks"):
    try:
        delattr(x, name)
    except RuntimeError:
        print("refused")


# %% requires_grad belongs to leaves
x = torch.ones(4, requires_grad=True)
y = x * 2
for value in (True, False):
    try:
        y.requires_grad = value
    except RuntimeError as error:
        print(str(error)[:66])
print(y.requires_grad_() is y)
z = torch.ones(2) * 2
z.requires_grad = True
print(z.is_leaf)


# %% callbacks at the end of a pass
queue = torch.autograd.Variable._execution_engine.queue_callback


class Inner(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        queue(lambda: print("the inner pass has ended"))
        return g


class Outer(Inner):
    @staticmethod
    def backward(ctx, g):
        queue(lambda: (print("the outer pass has ended", x.grad), queue(lambda: print("last"))))
        with torch.enable_grad():
            Inner.apply(g.detach().requires_grad_()).sum().backward()
        print("back in the outer one")
        return g


x = torch.ones(2, requires_grad=True)
Outer.apply(x).sum().backward()
for recorded in (False, True):
    y = x * 2
    y.register_hook(lambda g: queue(lambda: print(torch.is_grad_enabled())))
    torch.autograd.grad(y.sum(), x, create_graph=recorded)


def fails():
    raise KeyError("from a callback")


y = x * 2
y.register_hook(lambda g: queue(fails))
try:
    y.sum().backward()
except KeyError as error:
    print(error)
try:
    queue(fails)
except RuntimeError as error:
    print(error)


# %% a node called, and its ctx
x = torch.ones(1, requires_grad=True)
y = x**2
print(y.grad_fn(x.detach()))
y.backward()
try:
    y.grad_fn(x.detach())
except RuntimeError as error:
    print(str(error)[:56])
Node = torch.autograd.graph.Node


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print(isinstance(ctx, Node))
        return x * 2

    @staticmethod
    def backward(ctx, g):
        print(isinstance(ctx, Node), ctx.name(), len(ctx.next_functions))
        return g * 2


y = Twice.apply(x)
print(type(y.grad_fn) is Twice._backward_cls, issubclass(Twice._backward_cls, Node))
print(Node in type(y.grad_fn).mro(), isinstance(Node, Node), isinstance(x, Node))
y.backward()


# %% nothing that a custom function wrote to or a checkpoint saved stays behind
import gc
import weakref


class Written(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


def scope():
    x = torch.ones(2, requires_grad=True).clone()
    x = x.view_as(x)
    Written.apply(x)
    return weakref.ref(x)


gc.disable()
try:
    print(scope()() is None)
finally:
    gc.enable()

# %% a group of passes shares one second run
import contextlib

from torch.utils.checkpoint import GraphExecGroup, checkpoint

runs = []


def function(x):
    runs.append(1)
    y = x.sin().cos()
    return y, y.sin().cos()


x = torch.ones(2, requires_grad=True)
for group in (GraphExecGroup(), contextlib.nullcontext()):
    runs.clear()
    y, z = checkpoint(function, x, use_reentrant=False)
    with group:
        (g,) = torch.autograd.grad(z, (y,), (torch.ones(2),))
        print(torch.autograd.grad(y, (x,), (g,)), len(runs))
out = checkpoint(lambda x: x.sin().cos(), x, use_reentrant=False)
with GraphExecGroup():
    out.sum().backward(retain_graph=True)
    try:
        out.sum().backward()
    except RuntimeError as error:
        print("Performing two backward calls that overlap" in str(error))
    try:
        GraphExecGroup().__enter__()
    except RuntimeError as error:
        print(str(error)[:41])

# %% warnings that come once, or always
import warnings

x = torch.ones(2, requires_grad=True)
torch.set_warn_always(True)
try:
    for _ in range(2):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            (x * x).sum().backward(create_graph=True)
        print(len(seen), torch.is_warn_always_enabled())
finally:
    torch.set_warn_always(False)
x.grad = None


# %% a gradient of another element type than its leaf
class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g.to(torch.float64)


for wanted in (torch.float32, None, torch.float16, torch.float64):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.grad_dtype = wanted
    for _ in range(2):
        Doubled.apply(x).sum().backward()
        print(x.grad_dtype, x.grad)
    x.grad = None
    (x * x).sum().backward(create_graph=True)
    print(x.grad, torch.autograd.grad(Doubled.apply(x).sum(), x))
    x.grad = None
    x.backward(torch.ones(2, dtype=torch.float64))
    print(x.grad)
    x.grad = None
    x.data = torch.ones(3, dtype=torch.float64)
    x.requires_grad_(False).requires_grad_()
    (x * 2).sum().backward()
    print(x.grad_dtype, x.grad)
a = torch.ones(2)
a.grad_dtype = torch.float64
(a.requires_grad_() * 2).sum().backward()
print(a.grad)
for change in (
    lambda: setattr(a, "grad_dtype", torch.float16),
    lambda: setattr(a * 2, "grad_dtype", torch.float16),
    lambda: (a * 2).grad_dtype,
    lambda: setattr(a, "grad", torch.ones(2)),
):
    try:
        change()
    except RuntimeError as error:
        print(str(error)[:40])

# %% threads of the engine
enabled = torch.autograd.is_multithreading_enabled
with torch.autograd.set_multithreading_enabled(False):
    print(enabled())
print(enabled())


@torch.autograd.set_multithreading_enabled(False)
def inside():
    return enabled()


torch.autograd.set_multithreading_enabled(True)
print(inside(), enabled())


# %% a gradient that is complex where the input is not
class Turned(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 1j


x = torch.ones(2, requires_grad=True)
try:
    Turned.apply(x).sum().backward()
except RuntimeError:
    print("refused", x.grad)
z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
Turned.apply(z).abs().sum().backward()
print(z.grad)


class Marked(Turned):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(3)
        return x * 2


try:
    Marked.apply(x)
except RuntimeError as error:
    print(str(error)[:35])


# %% a hook that an unpack hook registers
x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
y = x * x
node = y.grad_fn


def unpack(value):
    if not registered:
        registered.append(node.register_hook(lambda out, given: (out[0] / 2, out[1])))
    return value


registered = []
with torch.autograd.graph.saved_tensors_hooks(lambda value: value, unpack):
    y = x * x
    node = y.grad_fn
y.sum().backward()
print(x.grad)

# %% views made where nothing is recorded say so
x = torch.zeros(2)
for block in (torch.no_grad(), torch.inference_mode()):
    x = torch.zeros(2)
    with block:
        y = x.view(2)
    y.requires_grad_(True)
    for view in (y, y.view(2)):
        try:
            view.mul_(2)
        except RuntimeError as error:
            print(error)
a = torch.ones(3, requires_grad=True).clone()
try:
    a[:1].detach_()
except RuntimeError as error:
    print(error)

# %% writes to a view pass by its hooks, whatever writes
i = torch.tensor([0])
for write in (
    lambda v: v.mul_(3),
    lambda v: v.index_add_(0, i, v[:1] * 2),
    lambda v: v.scatter_(0, i[None], 7.0),
    lambda v: v.cumsum_(0),
    lambda v: v.clamp_(0, 10),
    lambda v: v.index_put_((i,), v[:1] * 3),
    lambda v: v.index_fill_(0, i, 3.0),
    lambda v: v.index_copy_(0, i, v[:1] * 3),
):
    for view in (lambda a: a.view(1, 3), lambda a: a[None, 1:]):
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        a = x * 1
        v = view(a)
        v.register_hook(lambda g: g * 2)
        write(v)
        (a * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
        print(x.grad)

# %% hooks of a node see gradients in their inputs' shapes, and those that are computed
a, b = torch.ones(3, requires_grad=True), torch.full((2, 3), 2.0, requires_grad=True)


def seen(given, arrived):
    print([None if g is None else g.tolist() for g in given], arrived[0].tolist())
    return tuple(None if g is None else g * 2 for g in given)


y = a + b
y.grad_fn.register_hook(seen)
y.sum().backward()
print(a.grad, b.grad)
for inputs in ((a,), (b,), (a, b)):
    y = a * b
    y.grad_fn.register_hook(seen)
    print(torch.autograd.grad(y.sum(), inputs))
y = a * b
y.grad_fn.register_hook(seen)
y.sum().backward(inputs=[b])

# %% what a leaf keeps when it is detached
x = torch.ones(3, requires_grad=True)
y = (x * 2).sum()
x.register_hook(lambda g: g * 10)
(x * x).sum().backward()
x.detach_()
print(x.grad, x.requires_grad)
x.requires_grad_()
print(x.grad)
(x * 3).sum().backward()
print(x.grad, torch.autograd.grad(y, x, retain_graph=True))
y.backward()
print(x.grad)
z = torch.ones(3, requires_grad=True) * 2
z.retain_grad()
z.register_hook(lambda g: g * 10)
(z * z).sum().backward()
z.detach_()
print(z.grad, z.retains_grad)
z.requires_grad_()
(z * 3).sum().backward()
print(z.grad)
t = torch.ones(2)
t.grad = torch.ones(2)
t.requires_grad_()
print(t.grad)

# %% a view that was made where nothing is recorded takes no gradient
x = torch.ones(3, requires_grad=True)
with torch.no_grad():
    v = x.view(3)
v.register_hook(lambda g: print("of v", g))
print(v.requires_grad, torch.autograd.grad((v * x).sum(), (v, x), allow_unused=True))
(v * x).sum().backward(inputs=[v, x])
print(x.grad)

# %% a leaf that was detached and written to is no place for gradients
x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
y = x * 1
x.detach_()
y.sum().backward(retain_graph=True)
print(x.grad)
x.add_(w)
try:
    y.sum().backward(retain_graph=True)
except RuntimeError as error:
    print(error)


# %% what a custom function gives where nothing is recorded, and for whole numbers
class Several(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        y.mul_(2)
        ctx.mark_dirty(y)
        return x, y, y, (x > 0).long(), x * 2

    @staticmethod
    def backward(ctx, a, b, c, d, e):
        print([g if g is None else g.tolist() for g in (a, b, c, d, e)])
        return e, b + c


def facts(t, *inputs):
    return t.requires_grad, t.is_leaf, any(t is i for i in inputs), t._version, t._is_view()


x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
with torch.no_grad():
    out = Several.apply(x, y)
print([facts(t, x, y) for t in out], x.requires_grad, y.requires_grad)
(out[1] * x).sum().backward()
print(x.grad, y.grad)
y = torch.ones(2)
print([facts(t, x, y) for t in Several.apply(torch.ones(2), y)])
y = x * 1
out = Several.apply(x, y)
print([facts(t, x, y) for t in out])
out[4].sum().backward()
print(x.grad)

# %% a hook on several tensors, of which one requires no gradient
x = torch.ones(2, requires_grad=True)
for mode in ("all", "any"):
    try:
        torch.autograd.graph.register_multi_grad_hook((x, torch.ones(2)), print, mode=mode)
    except AssertionError as error:
        print(str(error)[:36])
    x.sum().backward()


# %% behind a Function that gives no gradient, after a write, a second time, and a dropped result
class Given(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gives):
        ctx.gives = gives
        return x.clone(), x * 2

    @staticmethod
    def backward(ctx, g, h):
        return (g + h if ctx.gives and ctx.saved_tensors == () else None), None


x = torch.ones(2, requires_grad=True)
y = x * 1
z, _ = Given.apply(y * y, False)
y.add_(1)
try:
    z.sum().backward()
except RuntimeError as error:
    print(str(error)[:72])
first, second = Given.apply(x, True)
second.register_hook(lambda g: print("dropped", g))
del second
total = first.sum()
total.backward(retain_graph=True)
total.backward()
print(x.grad)
try:
    total.backward()
except RuntimeError as error:
    print(str(error)[:64])
x = torch.tensor([1.0, 3.0], requires_grad=True)
for f, written in ((torch.exp, 0), (torch.sort, 1), (torch.sin, None)):
    y = x * 1
    found = f(y)
    results = (found,) if isinstance(found, torch.Tensor) else tuple(found)
    z, _ = Given.apply(results[0], False)
    (y if written is None else results[written].detach()).add_(1)
    try:
        z.sum().backward()
    except RuntimeError as error:
        print(str(error)[:72])

# %% gradients in the memory of what they were weighted with
x = torch.ones(2, 2, requires_grad=True)
pad = torch.nn.functional.pad
for f in (torch.t, torch.ravel, torch.sin, lambda x: pad(x, (1, 1)), lambda x: x**1):
    for create_graph in (False, True):
        y = f(x)
        g = torch.ones_like(y, requires_grad=True)
        (r,) = torch.autograd.grad(y, x, g, create_graph=create_graph)
        before = r.tolist()
        with torch.no_grad():
            g.mul_(5)
        print(r.requires_grad, r.tolist() == before)

# %% gradients of what comparisons and random numbers write over, or leave
x, z = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
y = (x * 1).eq_(z)
y.sum().backward()
print(y.requires_grad, x.grad, z.grad, x.detach().clone().lt_(z).requires_grad)
print(torch.bernoulli(x, 1.0).requires_grad, torch.bernoulli(x.detach(), 1.0).requires_grad)


# %% flags of copies, of several results, of a number transposed
import copy
import pickle

x = torch.ones(3)
for twin in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
    print(twin._version, twin.add_(1)._version, x._version)
A = torch.tensor([[2.0, 0.5], [0.5, 5.0]], requires_grad=True)
b = torch.ones(2, 2, requires_grad=True)
for found in (
    *torch.linalg.eigh(A), *torch.linalg.eigh(A.to(torch.complex64)), *torch.linalg.svd(A),
    *torch.linalg.eig(A), *torch.triangular_solve(b, A), *torch.triangular_solve(b, A.detach()),
    torch.frexp(A)[0],
):  # fmt: skip
    print(found.grad_fn.name(), found._is_view(), found.stride(), found.is_leaf)
for x in (torch.tensor(2.0), torch.tensor(2.0 + 1j, requires_grad=True)):
    print([(y is x, y._is_view(), y.grad_fn is None) for y in (x.mT, x.mH, x.H, x.adjoint())])


# %% numbers drawn in place
p = torch.full((3,), 0.5, requires_grad=True)
for draw in (
    lambda y: y.uniform_(), lambda y: y.normal_(), lambda y: y.exponential_(),
    lambda y: y.cauchy_(), lambda y: y.log_normal_(), lambda y: y.geometric_(0.5),
    lambda y: y.random_(), lambda y: y.random_(3), lambda y: y.random_(1, 3),
    lambda y: y.bernoulli_(), lambda y: y.bernoulli_(p), lambda y: y.bernoulli_(p.detach()),
):  # fmt: skip
    for y in (torch.ones(3, requires_grad=True) * 1, torch.ones(3)):
        draw(y)
        node = y.grad_fn
        print(y.is_leaf, y._version, node and node.name(), node and len(node.next_functions))
print(torch.autograd.grad(torch.ones(3).bernoulli_(p).sum(), p))

# %% a view that was made in no_grad, captured by a transform
x = torch.ones(3, requires_grad=True)
with torch.no_grad():
    v = x[1:]
print(torch.func.grad(lambda t: (v * t).sum())(torch.ones(2)).requires_grad)
torch.func.grad(lambda t: (v * t * t).sum())(torch.ones(2)).sum().backward()
print(x.grad, v.grad, torch.func.vjp(lambda t: v * t, v.detach())[1](v)[0].requires_grad)

# %% flags where a level is on, of a view that cannot follow, of what is copied
import torch.autograd.forward_ad as fwAD

x = torch.ones(2, requires_grad=True)
with fwAD.dual_level():
    d = fwAD.make_dual(torch.ones(2), torch.ones(2))
    print(d.output_nr, d.grad)
    d.grad = torch.ones(2)
    del d.grad
    print(d.grad, fwAD.make_dual(x, torch.ones(2)).output_nr)
torch.func.jvp(lambda t: (print(t.data.requires_grad, x.requires_grad), t * x)[1], (x,), (x,))
with torch.no_grad():
    v = x[1:]
    x[:] = 2.0
    try:
        print(v.is_leaf)
    except RuntimeError as fault:
        print(str(fault)[:40])
print([torch.tensor(t).stride() for t in (torch.ones(3).expand(2, 3), torch.ones(2, 3).t())])

# %% names of squeeze_, writes to gradients that repeat a number, gradients of complex numbers
for squeeze in (lambda t: t.squeeze_(), lambda t: t.squeeze_(0), lambda t: t.squeeze_((0,))):
    print(squeeze(torch.ones(1, 2, requires_grad=True) * 1).grad_fn.name())
x = torch.ones(3, requires_grad=True)
for write in (
    lambda g: g.zero_(), lambda g: g.data.fill_(2.0), lambda g: g[0].zero_(),
    lambda g: torch.nn.init.constant_(g, 3.0), lambda g: g.mul_(2),
):  # fmt: skip
    (g,) = torch.autograd.grad(x.sum(), [x])
    try:
        write(g)
    except RuntimeError as fault:
        print(str(fault)[:40])
    print(g)
z = torch.ones(2, dtype=torch.complex64)
for wrong in (lambda t: (t * t).sum(), lambda t: t * t):
    try:
        print(torch.vmap(torch.func.grad(wrong))(z))
    except RuntimeError as fault:
        print(str(fault)[:60])

# %% flags of an argument, its data and what is captured, inside transforms
x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
y = x * 1


def shown(t):
    print([(u.requires_grad, u.is_leaf) for u in (t, t.data, t.detach(), y, y.data, w, w.data * 2)])
    return t * w


one = torch.ones(3)
for v in (x, y, x.detach()):
    torch.func.jvp(shown, (v,), (one,))
    torch.func.vjp(shown, v)
    torch.func.grad(lambda s: torch.func.jvp(shown, (s,), (one,))[1].sum())(v)
    torch.func.jvp(lambda s: torch.func.vjp(shown, s)[1](one)[0], (v,), (one,))
p = torch.nn.Parameter(torch.tensor([2.0, 3.0]))
twice = torch.func.jvp(lambda t: torch.func.jvp(lambda s: s[1:] * s, (t,), (t,))[1], (p,), (p,))
print([t.detach() for t in twice])

# %% powers of a number lie in rows, a filled diagonal is a slice that was copied to
for x in (torch.ones(2, 3).t(), torch.ones(3).expand(2, 3)):
    x = x.detach().requires_grad_()
    y = 2.0**x
    print(y.stride(), torch.pow(1, x).stride(), torch.autograd.grad(y.sum(), x)[0].stride())
y = torch.ones(2, 2, requires_grad=True) * 1
v = y[:]
print(y.fill_diagonal_(0.0).grad_fn.name(), v.grad_fn.name(), v.fill_diagonal_(1.0).grad_fn.name())
print(
    [
        torch.einsum(labels, *(torch.ones(n, n).t() for n in (sizes, sizes))).stride()
        for labels in ("ij,jk->ki", "ij,jk->ik", "ij,kj->ki", "ij,ij->ij")
        for sizes in (3, 30)
    ]
)

# %% gradients in a list, results that are nested inside vmap, an input that is saved and no result
x = torch.tensor([1.0, 2.0], requires_grad=True)
(x * 2).backward([torch.ones(2)])
(x * 2).backward((torch.ones(2),), retain_graph=True)
print(x.grad)


def function(result, leave=lambda ctx, x, y: None):
    class Twice(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return result(x, 2 * x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            leave(ctx, *inputs, output)

        @staticmethod
        def backward(ctx, g, *rest):
            return 2 * g

    return Twice.apply


a, (b,) = torch.vmap(function(lambda x, y: (y, (3 * x,))))(x)
print(a.tolist(), a.requires_grad, b)
print(torch.vmap(lambda q: function(lambda x, y: (y, 5, None))(q)[0])(x).tolist())
try:
    torch.vmap(function(lambda x, y: (y, 5)))(x)
except ValueError:
    print("refused")


def saved(ctx, x, y):
    ctx.save_for_backward(x)
    ctx.mark_non_differentiable(y)


print(function(lambda x, y: x, saved)(x))


# %% names of comparisons in place, versions, copies of a switch
import warnings

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
for name in ("ge_", "lt_", "eq_", "not_equal_"):
    for other in (1, x, torch.ones(3)):
        y = x * 1
        getattr(y, name)(other)
        print(y.grad_fn.name(), [f and f.name() for f, _ in y.grad_fn.next_functions])
print(x.angle().grad_fn.name(), (x + 1j).angle().grad_fn.next_functions[0][0].name())
torch.autograd.graph.increment_version(t for t in [x, x])
print(x._version, type(torch.no_grad().clone()).__name__)


class Marked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, part):
        y = x[:2] if part else 2 * x
        ctx.mark_dirty(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g, None


print(Marked.apply(x.detach(), True))
with warnings.catch_warnings(action="ignore"):
    print(Marked.apply(x, False)._version)
try:
    Marked.apply(x, True)
except RuntimeError:
    print("refused")


# %% hooks of a module see what hooks of its results' node make of gradients
class Doubled(torch.nn.Module):
    def forward(self, x):
        return 2 * x, 3 * x


x = torch.ones(3, requires_grad=True)
for first in (True, False):
    module = Doubled()
    module.register_full_backward_hook(lambda module, given, seen: print("full", given, seen))
    if first:
        module.register_full_backward_pre_hook(lambda module, seen: print("pre", seen))
    a, b = module(x)
    a.register_hook(lambda g: print("tensor", g))
    a.grad_fn.register_prehook(lambda seen: tuple(g if g is None else 3 * g for g in seen))
    a.grad_fn.register_hook(lambda given, seen: print("node", given, seen))
    (2 * a + b).sum().backward()
    print(x.grad)
