"""Cells on what PyTorch's autograd notes say: hooks, saved tensors, edges, rules of writing."""

# The cells stand as a notebook has them.

import torch

# %% a hook's order: tensor, prehook, retain_grad, post
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.grad_fn.register_hook(lambda gi, go: print("post", gi, go))
y.grad_fn.register_prehook(lambda go: print("pre", go))
y.register_hook(lambda g: print("tensor", g))
y.retain_grad()
y.sum().backward()
print(y.grad, x.grad)

# %% a tensor hook after a prehook still runs first
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
y.grad_fn.register_prehook(lambda go: (go[0] * 10,))
y.register_hook(lambda g: g + 1)
y.backward()
print(x.grad)

# %% retain_grad sees what the hooks made
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
y.retain_grad()
y.register_hook(lambda g: g * 3)
y.register_hook(lambda g: g + 1)
y.backward()
print(y.grad, x.grad)

# %% hooks of a leaf, then its accumulation
x = torch.tensor([1.0], requires_grad=True)
x.register_post_accumulate_grad_hook(lambda p: print("post", p.grad))
x.register_hook(lambda g: print("first", g))
x.register_hook(lambda g: g * 2)
x.register_hook(lambda g: print("third", g))
(x * 3).backward()
(x * 3).backward()

# %% a post accumulate hook may clear the gradient
x = torch.tensor([1.0], requires_grad=True)


def step(p):
    with torch.no_grad():
        p -= 0.5 * p.grad
    p.grad = None


x.register_post_accumulate_grad_hook(step)
(x * x).backward()
print(x, x.grad)

# %% a post accumulate hook needs a leaf
x = torch.tensor([1.0], requires_grad=True)
try:
    (x * 2).register_post_accumulate_grad_hook(print)
except RuntimeError:
    print("leaves only")

# %% hooks run for autograd.grad too
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
x.register_hook(lambda g: print("leaf", g))
y.register_hook(lambda g: g * 5)
x.register_post_accumulate_grad_hook(lambda p: print("never"))
print(torch.autograd.grad(y, x))

# %% hooks of a tensor asked for
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
z = y * y
y.register_hook(lambda g: g * 10)
print(torch.autograd.grad(z, y))

# %% a node's prehook and a gradient asked for
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
z = y * y
y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
print(torch.autograd.grad(z, [x], retain_graph=True))
print(torch.autograd.grad(z, [y], retain_graph=True))

# %% a handle removed while running
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
handles = []
handles.append(y.register_hook(lambda g: handles[1].remove()))
handles.append(y.register_hook(lambda g: print("second", g)))
y.backward(retain_graph=True)
print("again")
y.backward()

# %% a hook that registers another
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
y.register_hook(lambda g: y.register_hook(lambda h: print("new", h)) and None)
y.backward(retain_graph=True)
print("again")
y.backward()

# %% a removed hook may be removed again
x = torch.tensor([1.0], requires_grad=True)
h = x.register_hook(print)
h.remove()
h.remove()
(x * 2).backward()
print(x.grad)

# %% hooks on a tensor written to later
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
y.register_hook(lambda g: print("before", g))
y.mul_(3)
y.register_hook(lambda g: print("after", g))
y.backward()
print(x.grad)

# %% retain_grad and a write in place
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
y.retain_grad()
y.mul_(3)
(y * 1).backward()
print(y.grad, y.retains_grad)

# %% retain_grad twice and on a leaf
x = torch.tensor([1.0], requires_grad=True)
x.retain_grad()
y = x * 2
y.retain_grad()
y.retain_grad()
y.backward()
print(x.retains_grad, y.retains_grad, y.grad, x.grad)

# %% retained gradients add up
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
y.retain_grad()
y.backward(retain_graph=True)
y.backward()
print(y.grad)

# %% a hook that gives the wrong thing
x = torch.tensor([1.0, 2.0], requires_grad=True)
for bad in (lambda g: 3, lambda g: torch.ones(3)):
    y = x * 2
    y.register_hook(bad)
    try:
        y.sum().backward()
    except (RuntimeError, TypeError):
        print("refused")

# %% node hooks replace gradients
x = torch.tensor([1.0], requires_grad=True)
w = torch.tensor([3.0], requires_grad=True)
y = x * w
y.grad_fn.register_hook(lambda gi, go: (gi[0] * 100, gi[1]))
y.backward()
print(x.grad, w.grad)

# %% node hooks see None where nothing flows
x = torch.tensor([1.0], requires_grad=True)
y = x * torch.tensor([3.0])
y.grad_fn.register_hook(lambda gi, go: print(gi, go))
y.backward()

# %% hooks on AccumulateGrad
x = torch.tensor([1.0], requires_grad=True)
acc = (x * 1).grad_fn.next_functions[0][0]
acc.register_prehook(lambda g: print("pre", g))
acc.register_hook(lambda gi, go: print("post", gi, go))
(x * 2).backward()
print(x.grad, acc.variable is x)

# %% metadata and names
x = torch.tensor([1.0], requires_grad=True)
node = (x * 2).grad_fn
node.metadata["mine"] = 5
print(node.metadata, node.name(), isinstance(node, torch.autograd.graph.Node))

# %% several tensors, one hook
a = torch.tensor([1.0], requires_grad=True)
b = torch.tensor([2.0], requires_grad=True)
c, d = a * b, a + b
handle = torch.autograd.graph.register_multi_grad_hook((a, b, c, d), lambda gs: print(gs))
(c + d).backward(retain_graph=True)
handle.remove()
handle = torch.autograd.graph.register_multi_grad_hook((c, d), lambda gs: print(gs))
(d * 1).backward(retain_graph=True)
with handle:
    (c * 1).backward(retain_graph=True)
c.backward()

# %% any of several tensors
a = torch.tensor([1.0], requires_grad=True)
b = torch.tensor([2.0], requires_grad=True)
h = torch.autograd.graph.register_multi_grad_hook((a, b), lambda g: print("any", g), mode="any")
(a * b).backward()
(a * 3).backward()

# %% saved tensors through hooks
x = torch.tensor([1.0, 2.0], requires_grad=True)
hooks = torch.autograd.graph.saved_tensors_hooks(
    lambda t: print("pack", t) or t * 10, lambda t: print("unpack", t) or t / 10
)
with hooks:
    y = x * x
    z = y + 1
y.sum().backward()
print(x.grad)

# %% nested hooks: the innermost hold
x = torch.tensor([2.0], requires_grad=True)
hooks = torch.autograd.graph.saved_tensors_hooks
with hooks(lambda t: t, lambda t: t * 100):
    with hooks(lambda t: t, lambda t: t * 10):
        y = x * torch.tensor([3.0], requires_grad=True)
    z = y * torch.tensor([1.0])
z.backward()
print(x.grad)

# %% hooks that count
x = torch.tensor([0.5], requires_grad=True)
kept = []


def pack(t):
    kept.append(tuple(t.shape))
    return len(kept) - 1, t.tolist()


with torch.autograd.graph.saved_tensors_hooks(pack, lambda p: torch.tensor(p[1])):
    y = (x.exp() * x.sin()).log().sum()
y.backward()
print(kept, x.grad)

# %% hooks and second derivatives
x = torch.tensor([2.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    y = x**3
(g,) = torch.autograd.grad(y, x, create_graph=True)
print(g, torch.autograd.grad(g, x))

# %% save_on_cpu
x = torch.tensor([2.0], requires_grad=True)
with torch.autograd.graph.save_on_cpu():
    y = x * x
y.backward()
print(x.grad)

# %% saved-tensor hooks switched off
with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    try:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
    except RuntimeError as fault:
        print(str(fault).split(" [")[0])

# %% mutation allowed
x = torch.tensor([2.0, 3.0], requires_grad=True)
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    y = x.clone()
    z = (y**2).sum()
    y.sin_()
    z.backward()
print(x.grad, y)

# %% increment_version
x = torch.tensor([2.0], requires_grad=True)
w = torch.tensor([3.0])
y = x * w
print(w._version)
torch.autograd.graph.increment_version(w)
print(w._version)
try:
    y.backward()
except RuntimeError:
    print("changed")

# %% gradient edges
x = torch.tensor([2.0], requires_grad=True)
y = x * x
z = y * 3
edge = torch.autograd.graph.get_gradient_edge(y)
print(edge.node, edge.output_nr)
print(torch.autograd.grad(z, edge, retain_graph=True))
print(torch.autograd.grad(z, torch.autograd.graph.get_gradient_edge(x)))

# %% a gradient edge as what is differentiated
x = torch.tensor([2.0], requires_grad=True)
edge = torch.autograd.graph.get_gradient_edge(x * x)
print(torch.autograd.grad(edge, x, grad_outputs=torch.ones(1), retain_graph=True))
torch.autograd.backward(edge, torch.ones(1))
print(x.grad)

# %% no edge without a gradient
try:
    torch.autograd.graph.get_gradient_edge(torch.ones(1))
except RuntimeError:
    print("no edge")

# %% materialize_grads
x = torch.tensor([2.0], requires_grad=True)
w = torch.tensor([1.0, 2.0], requires_grad=True)
print(torch.autograd.grad(x * 2, [x, w], materialize_grads=True))
try:
    torch.autograd.grad(x * 2, [x, w], allow_unused=False, materialize_grads=True)
except ValueError:
    print("the two contradict each other")

# %% batches of cotangents
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x**2
print(torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True))

# %% backward into a tensor that is no leaf
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
z = y * y
z.backward(inputs=[y])
print(x.grad)

# %% backward into inputs, with hooks
x = torch.tensor([1.0], requires_grad=True)
w = torch.tensor([5.0], requires_grad=True)
x.register_hook(lambda g: print("hook", g))
x.register_post_accumulate_grad_hook(lambda p: print("post", p.grad))
w.register_hook(lambda g: print("not asked for"))
(x * w).backward(inputs=[x])
print(x.grad, w.grad)

# %% backward into no inputs
x = torch.tensor([1.0], requires_grad=True)
try:
    (x * 2).backward(inputs=[])
except RuntimeError:
    print("inputs cannot be empty")

# %% a leaf that is its own result
x = torch.tensor([1.0], requires_grad=True)
x.backward()
print(x.grad, torch.autograd.grad(x, x))

# %% the same output twice
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
print(torch.autograd.grad([y, y], x, retain_graph=True))
torch.autograd.backward([y, y])
print(x.grad)

# %% the same input twice
x = torch.tensor([1.0], requires_grad=True)
print(torch.autograd.grad(x * 2, [x, x]))

# %% an output behind another
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
z = y * 3
print(torch.autograd.grad([z, y], [x, y]))

# %% modes in the notes
x = torch.tensor([1.0], requires_grad=True)
with torch.no_grad():
    y = x * 2
    with torch.enable_grad():
        z = x * 2
print(y.requires_grad, z.requires_grad)
with torch.no_grad():
    z.requires_grad_()
    w = torch.ones(1, requires_grad=True)
print(w.requires_grad, w.is_leaf)

# %% writes inside no_grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():
    x.mul_(10)
    x[0] = 5.0
print(x, x.is_leaf, x._version)

# %% a recorded tensor written to inside no_grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
with torch.no_grad():
    y.mul_(10)
print(y)
y.sum().backward()
print(x.grad)

# %% inference tensors
with torch.inference_mode():
    a = torch.ones(2)
    b = a * 2
    b.add_(1)
    print(b, b.is_inference(), b[0].is_inference())
x = torch.ones(2, requires_grad=True)
print((x + a).is_inference(), (b * 2).is_inference(), b.view(2, 1).is_inference())
for wrong in (lambda: x * a, lambda: b.add_(1), lambda: b.requires_grad_(), lambda: b._version):
    try:
        wrong()
    except RuntimeError:
        print("refused")
print(x * a.clone())

# %% ordinary tensors in inference mode
x = torch.ones(2)
w = torch.ones(2, requires_grad=True)
with torch.inference_mode():
    x.add_(1)
    print(x, x.is_inference(), x[0].is_inference(), x.clone().is_inference())
    print((w * 2).requires_grad, w.requires_grad)
    with torch.inference_mode(False):
        print((w * 2).requires_grad)

# %% a view of several outputs refuses writes
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
for pieces in ((x * 1).unbind(), (x * 1).split(1), (x * 1).chunk(3)):
    try:
        pieces[0].mul_(2)
        print("written", pieces[0])
    except RuntimeError:
        print("refused")

# %% a view made in no_grad refuses writes outside
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 1
with torch.no_grad():
    v = y[0]
try:
    v.mul_(2)
    print("written")
except RuntimeError:
    print("refused")

# %% a chain of views follows a write
x = torch.arange(6.0, requires_grad=True)
y = x * 1
a = y.view(2, 3)
b = a[1]
c = b[1:]
c.mul_(10)
print(y, a, b)
y.sum().backward()
print(x.grad)

# %% a write to the base changes views recorded before
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 1
v = y[:1]
y.mul_(3)
print(v, v.grad_fn)
v.backward()
print(x.grad)

# %% the gradient of a write's value
x = torch.zeros(3, requires_grad=True)
v = torch.tensor([5.0], requires_grad=True)
y = x * 1
y[1:] = v * 2
y.sum().backward()
print(x.grad, v.grad)

# %% out of place where in place is refused
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.sigmoid()
y = y + 1
y.sum().backward()
print(x.grad)
z = x.sigmoid()
z += 1
try:
    z.sum().backward()
except RuntimeError:
    print("changed")

# %% versions count writes
x = torch.ones(2)
v = x[0]
print(x._version, v._version)
x.add_(1)
v.mul_(2)
x[1] = 3
print(x._version, v._version, x.detach()._version, x.clone()._version, x.data._version)


# %% what a custom function's ctx holds
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


x = torch.tensor([0.0, 1.0], requires_grad=True)
y = Exp.apply(x)
print(y)
y.sum().backward()
print(x.grad, type(y.grad_fn).__name__)


# %% arguments that are no tensors
class MulConstant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, constant):
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.constant, None


x = torch.tensor([1.0], requires_grad=True)
MulConstant.apply(x, 5).backward()
print(x.grad)


# %% gradients not materialised
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        print(g, h)
        return g * 2 if h is None else h * 3


x = torch.tensor([1.0], requires_grad=True)
a, b = Two.apply(x)
b.backward()
print(x.grad, a.output_nr, b.output_nr)


# %% gradients materialised
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        print(g, h)
        return g * 2 + h * 3


x = torch.tensor([1.0], requires_grad=True)
Two.apply(x)[1].backward()
print(x.grad)


# %% outputs without a gradient
class Sort(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        values, order = x.sort()
        ctx.mark_non_differentiable(order)
        ctx.save_for_backward(x, order)
        return values, order

    @staticmethod
    def backward(ctx, g, _):
        x, order = ctx.saved_tensors
        return torch.zeros_like(x).index_add_(0, order, g)


x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
values, order = Sort.apply(x)
print(values.requires_grad, order.requires_grad, order)
(values * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
print(x.grad)


# %% an input written to
class Inplace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


x = torch.tensor([1.0], requires_grad=True)
y = x.clone()
z = Inplace.apply(y)
print(z is y, y.grad_fn is z.grad_fn, y._version)
z.backward()
print(x.grad)
try:
    Inplace.apply(x)
except RuntimeError:
    print("leaves refuse")


# %% differentiated once only
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


x = torch.tensor([3.0], requires_grad=True)
(g,) = torch.autograd.grad(Square.apply(x), x, create_graph=True)
print(g.requires_grad)
try:
    torch.autograd.grad(g, x)
except RuntimeError:
    print("once only")


# %% second derivatives of a custom function
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


x = torch.tensor([2.0], requires_grad=True)
(g,) = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
(h,) = torch.autograd.grad(g, x, create_graph=True)
print(g, h, torch.autograd.grad(h, x)[0])


# %% setup_context
class Square(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


x = torch.tensor([3.0], requires_grad=True)
Square.apply(x).backward()
print(x.grad)


# %% needs_input_grad
class Dot(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, k):
        ctx.save_for_backward(x, y)
        return x * y * k

    @staticmethod
    def backward(ctx, g):
        print(ctx.needs_input_grad)
        x, y = ctx.saved_tensors
        return g * y, g * x, None


x = torch.tensor([3.0], requires_grad=True)
Dot.apply(x, torch.tensor([4.0]), 1).backward()
Dot.apply(torch.tensor([4.0]), x, 1).backward()
print(x.grad)


# %% a wrong number of gradients
class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, g):
        return g


x = torch.tensor([3.0], requires_grad=True)
try:
    Bad.apply(x, x).backward()
except RuntimeError:
    print("two are needed")


# %% a custom function inside no_grad
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print(ctx.needs_input_grad, torch.is_grad_enabled())
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


x = torch.tensor([3.0], requires_grad=True)
with torch.no_grad():
    print(Twice.apply(x))
print(Twice.apply(x.detach()), Twice.apply(x))


# %% freed saved tensors of a custom function
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


x = torch.tensor([3.0], requires_grad=True)
y = Square.apply(x)
print(y.grad_fn.saved_tensors)
y.backward()
for read in (lambda: y.grad_fn.saved_tensors, y.backward):
    try:
        read()
    except RuntimeError:
        print("freed")

# %% the names of what nodes save
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
print((x * w).grad_fn._saved_self, (x * w).grad_fn._saved_other)
print((x / w).grad_fn._saved_other, x.sin().grad_fn._saved_self, x.tanh().grad_fn._saved_result)
print((x @ w).grad_fn._saved_tensor, (x**w).grad_fn._saved_exponent)
print(x.sum().grad_fn._saved_self_sym_sizes, x.cumsum(0).grad_fn._saved_dim)
print(x.clamp(0, 1).grad_fn._saved_max, x.square().grad_fn._saved_exponent)
try:
    print((x + w).grad_fn._saved_other)
except AttributeError:
    print("not saved")

# %% freed saved values
x = torch.tensor([1.0], requires_grad=True)
y = x.exp()
y.backward()
try:
    print(y.grad_fn._saved_result)
except RuntimeError:
    print("freed")

# %% points without a derivative
x = torch.tensor([0.0, 1.0, -1.0], requires_grad=True)
for f in (torch.abs, torch.relu, torch.sign, torch.sqrt, lambda t: t.clamp(0, 1)):
    print(torch.autograd.grad(f(x).sum(), x)[0])
for f in (torch.norm, lambda t: t.max(), lambda t: t.prod(), lambda t: t.amax()):
    print(torch.autograd.grad(f(x), x)[0])

# %% gradients of complex numbers
z = torch.tensor([1.0 + 2.0j], requires_grad=True)
for f in (lambda t: (t * t.conj()).real, lambda t: t.abs(), lambda t: t.real, lambda t: t.imag):
    print(torch.autograd.grad(f(z).sum(), z)[0])
print(torch.autograd.grad((z**2).real.sum(), z)[0])
try:
    (z * z).backward()
except RuntimeError:
    print("real losses only")

# %% anomaly mode finds the operation
x = torch.tensor([0.0], requires_grad=True)
with torch.autograd.detect_anomaly():
    y = (torch.sqrt(x) * 0).sum()
    try:
        y.backward()
    except RuntimeError as fault:
        print(str(fault).split(" [")[0])
with torch.autograd.set_detect_anomaly(True, check_nan=False):
    (torch.sqrt(x) * 0).sum().backward()
    print(x.grad)
