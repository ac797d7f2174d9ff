"""Cells with the layers, losses and containers of nn."""

# ruff: noqa: B007, B905, C416, E402, E501, E741, F401, I001, RUF010
# The cells stand as a notebook has them.

import torch

# %% linear layer, its parameters and its repr
import torch.nn as nn

torch.manual_seed(0)
m = nn.Linear(3, 2)
print(m)
print(m.weight)
print(m.bias)
print(m(torch.ones(1, 3)))
for name, p in m.named_parameters():
    print(name, p.shape, p.requires_grad, p.is_leaf)

# %% sequential: order, indexing, length, add
import torch.nn as nn

m = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1), nn.Sigmoid())
print(m)
print(len(m), m[0], m[-1], m[1:3])
m.append(nn.Identity())
print([type(l).__name__ for l in m])
from collections import OrderedDict

m = nn.Sequential(
    OrderedDict(
        [("fc1", nn.Linear(2, 4)), ("act", nn.GELU()), ("fc2", nn.Linear(4, 1, bias=False))]
    )
)
print(m)
print(m.fc2.bias, list(m.state_dict().keys()))

# %% state dict and loading
import torch.nn as nn

torch.manual_seed(1)
a = nn.Linear(2, 2)
b = nn.Linear(2, 2)
print(dict(a.state_dict()))
print(b.load_state_dict(a.state_dict()))
print(torch.equal(a.weight, b.weight))
try:
    nn.Linear(2, 2, bias=False).load_state_dict(a.state_dict())
except RuntimeError as e:
    print(str(e)[:84])
try:
    nn.Linear(3, 2).load_state_dict(a.state_dict())
except RuntimeError as e:
    print(str(e)[:75])
print(nn.Linear(2, 2, bias=False).load_state_dict(a.state_dict(), strict=False))

# %% activations as modules
import torch.nn as nn

x = torch.tensor([-2.0, -0.5, 0.0, 0.5, 2.0])
for m in [
    nn.ReLU(),
    nn.Sigmoid(),
    nn.Tanh(),
    nn.LeakyReLU(0.1),
    nn.ELU(),
    nn.GELU(),
    nn.SiLU(),
    nn.Softplus(),
    nn.Softmax(dim=0),
    nn.LogSoftmax(dim=0),
    nn.Hardtanh(),
    nn.ReLU6(),
    nn.Identity(),
    nn.Softsign(),
    nn.LogSigmoid(),
    nn.SELU(),
    nn.CELU(),
    nn.Mish(),
    nn.Hardswish(),
    nn.Hardsigmoid(),
    nn.Tanhshrink(),
    nn.PReLU(),
]:
    print(m, m(x))

# %% losses as modules
import torch.nn as nn

torch.manual_seed(0)
x = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]], requires_grad=True)
y = torch.tensor([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
t = torch.tensor([2, 0])
for loss in [
    nn.MSELoss(),
    nn.L1Loss(),
    nn.SmoothL1Loss(),
    nn.HuberLoss(),
    nn.BCEWithLogitsLoss(),
    nn.MSELoss(reduction="sum"),
    nn.MSELoss(reduction="none"),
]:
    print(loss, loss(x, y))
print(nn.CrossEntropyLoss()(x, t), nn.NLLLoss()(x.log_softmax(1), t), nn.BCELoss()(x.sigmoid(), y))
print(
    nn.CrossEntropyLoss(label_smoothing=0.1)(x, t),
    nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]))(x, t),
)
print(
    nn.KLDivLoss(reduction="batchmean")(x.log_softmax(1), y.softmax(1)),
    nn.CosineSimilarity(dim=1)(x, y),
)

# %% embedding
import torch.nn as nn

torch.manual_seed(0)
e = nn.Embedding(5, 3)
print(e)
print(e.weight)
out = e(torch.tensor([[1, 2], [1, 4]]))
print(out.shape)
out.sum().backward()
print(e.weight.grad)
print(nn.Embedding(4, 2, padding_idx=0))
print(nn.Embedding(4, 2, padding_idx=0).weight[0])

# %% normalisations
import torch.nn as nn

torch.manual_seed(0)
x = torch.randn(4, 3)
ln = nn.LayerNorm(3)
print(ln, ln(x))
bn = nn.BatchNorm1d(3)
print(bn, bn(x))
print(bn.running_mean, bn.running_var, bn.num_batches_tracked)
bn.eval()
print(bn(x), bn.training)
print(bn.state_dict().keys())
gn = nn.GroupNorm(2, 4)
print(gn, gn(torch.randn(2, 4)).shape)
print(
    nn.BatchNorm2d(3),
    nn.LayerNorm([2, 3], elementwise_affine=False),
    nn.InstanceNorm1d(2),
    nn.RMSNorm(4),
)

# %% dropout in training and evaluation
import torch.nn as nn

torch.manual_seed(0)
d = nn.Dropout(p=0.3)
x = torch.ones(10)
print(d)
print(d(x))
d.eval()
print(d(x))
d.train()
print(d.training, d(x))

# %% convolutions and pools
import torch.nn as nn

torch.manual_seed(0)
c = nn.Conv2d(1, 2, 3, padding=1)
print(c)
print(c.weight.shape, c.bias)
x = torch.arange(16.0).reshape(1, 1, 4, 4)
print(c(x).shape)
print(c(x)[0, 0])
print(
    nn.Conv1d(2, 4, kernel_size=3, stride=2),
    nn.Conv1d(2, 4, 3, stride=2)(torch.ones(1, 2, 7)).shape,
)
print(nn.MaxPool2d(2)(x), nn.AvgPool2d(2)(x), nn.AdaptiveAvgPool2d(1)(x))
print(
    nn.MaxPool2d(2),
    nn.AvgPool2d(3, stride=1),
    nn.AdaptiveAvgPool2d((1, 1)),
    nn.Conv2d(3, 6, 5, bias=False),
)
print(
    nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten())(
        torch.ones(2, 1, 12, 12)
    ).shape
)

# %% Parameter and no_grad
import torch.nn as nn

p = nn.Parameter(torch.tensor([1.0, 2.0]))
print(p, p.requires_grad, p.is_leaf)
print(p.data, p * 2)
with torch.no_grad():
    p.mul_(2)
print(p)
print(nn.Parameter(torch.tensor([1.0]), requires_grad=False))
l = nn.Linear(1, 1)
try:
    l.weight = torch.ones(1, 1)
except TypeError as e:
    print(type(e).__name__)

# %% freezing a part and fine tuning the rest
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
for p in model[0].parameters():
    p.requires_grad = False
print([p.requires_grad for p in model.parameters()])
opt = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1)
model(torch.ones(1, 3)).sum().backward()
print([None if p.grad is None else tuple(p.grad.shape) for p in model.parameters()])
model.requires_grad_(False)
print(any(p.requires_grad for p in model.parameters()))

# %% clip_grad_norm_ and clip_grad_value_
import torch.nn as nn

a = nn.Parameter(torch.tensor([3.0, 4.0]))
b = nn.Parameter(torch.tensor([1.0]))
((a**2).sum() + b.sum() * 5).backward()
print(a.grad, b.grad)
total = nn.utils.clip_grad_norm_([a, b], max_norm=1.0)
print(total, a.grad, b.grad)
nn.utils.clip_grad_value_([a, b], 0.3)
print(a.grad, b.grad)
print(torch.nn.utils.clip_grad_norm_(a, 100.0, norm_type=1))

# %% parameters to a vector and back
import torch.nn as nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

torch.manual_seed(0)
m = nn.Linear(2, 1)
v = parameters_to_vector(m.parameters())
print(v)
vector_to_parameters(torch.arange(3.0), m.parameters())
print(m.weight, m.bias)

# %% initialisations
import torch.nn as nn

torch.manual_seed(0)
w = torch.empty(2, 3)
print(nn.init.uniform_(w))
print(nn.init.normal_(w, 0, 0.02))
print(nn.init.xavier_uniform_(w))
print(nn.init.xavier_normal_(w))
print(nn.init.kaiming_uniform_(w, nonlinearity="relu"))
print(nn.init.kaiming_normal_(w, mode="fan_out"))
print(nn.init.constant_(w, 0.3), nn.init.zeros_(w), nn.init.ones_(w), nn.init.eye_(w))
print(nn.init.calculate_gain("tanh"), nn.init.calculate_gain("leaky_relu", 0.2))


def init_weights(m):
    if isinstance(m, nn.Linear):
        torch.nn.init.xavier_uniform_(m.weight)
        m.bias.data.fill_(0.01)


net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
print(net.apply(init_weights) is net)
print(net[1].weight, net[1].bias)

# %% forward and backward hooks of modules
import torch.nn as nn

m = nn.Linear(2, 1)
with torch.no_grad():
    m.weight.copy_(torch.tensor([[1.0, 2.0]]))
    m.bias.zero_()
h1 = m.register_forward_pre_hook(lambda mod, inp: print("pre", inp))
h2 = m.register_forward_hook(lambda mod, inp, out: print("forward", out))
h3 = m.register_full_backward_hook(lambda mod, gi, go: print("backward", gi, go))
x = torch.ones(1, 2, requires_grad=True)
m(x).sum().backward()
h1.remove(), h2.remove(), h3.remove()
print(m(x))

# %% forward hooks collect activations
import torch.nn as nn

torch.manual_seed(0)
activation = {}


def get_activation(name):
    def hook(model, input, output):
        activation[name] = output.detach()

    return hook


net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
for name, layer in net.named_children():
    layer.register_forward_hook(get_activation(name))
net(torch.ones(1, 2))
for k, v in activation.items():
    print(k, v)

# %% train, eval and double
import torch.nn as nn

m = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
print(m.training, m[1].training)
m.eval()
print(m.training, m[1].training)
m.double()
print(m[0].weight.dtype)
m.to(torch.float32)
print(m[0].weight.dtype, next(m.parameters()).device)

# %% training a classifier with modules
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(64, 2)
y = (X.pow(2).sum(1) > 1.2).long()
model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(40):
    pred = model(X)
    loss = loss_fn(pred, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 10 == 0:
        print(
            f"epoch {epoch} loss {loss.item():.4f} acc {(pred.argmax(1) == y).type(torch.float).mean().item():.3f}"
        )

# %% the quickstart training loop
import torch.nn as nn

torch.manual_seed(0)
data = torch.randn(32, 4)
labels = data.sum(1, keepdim=True)
model = nn.Linear(4, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train_loop(data, labels, model, loss_fn, optimizer):
    size = len(data)
    model.train()
    for batch in range(4):
        X, y = data[batch * 8 : (batch + 1) * 8], labels[batch * 8 : (batch + 1) * 8]
        pred = model(X)
        loss = loss_fn(pred, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if batch % 2 == 0:
            loss, current = loss.item(), batch * 8 + len(X)
            print(f"loss: {loss:>7.4f}  [{current:>5d}/{size:>5d}]")


for t in range(3):
    print(f"Epoch {t + 1}\n-------------------------------")
    train_loop(data, labels, model, loss_fn, optimizer)
print("Done!")

# %% datasets and loaders
from torch.utils.data import TensorDataset, DataLoader

ds = TensorDataset(torch.arange(10.0), torch.arange(10) % 2)
print(len(ds), ds[3])
for xb, yb in DataLoader(ds, batch_size=4):
    print(xb, yb)

# %% rnn cells and recurrent layers
import torch.nn as nn

torch.manual_seed(0)
cell = nn.RNNCell(3, 2)
h = torch.zeros(1, 2)
for t in range(3):
    h = cell(torch.ones(1, 3), h)
print(cell, h)
lstm = nn.LSTMCell(3, 2)
h, c = lstm(torch.ones(1, 3), (torch.zeros(1, 2), torch.zeros(1, 2)))
print(lstm, h, c)
print(nn.GRUCell(3, 2)(torch.ones(1, 3)))

# %% model parallel to formula: numel by layer
import torch.nn as nn

net = nn.Sequential(nn.Linear(10, 20), nn.BatchNorm1d(20), nn.ReLU(), nn.Linear(20, 1))
for name, p in net.named_parameters():
    print(f"{name:<10} {str(tuple(p.shape)):<10} {p.numel()}")
print(f"total {sum(p.numel() for p in net.parameters() if p.requires_grad):,}")

# %% wrong shapes into a linear
import torch.nn as nn

try:
    nn.Linear(3, 2)(torch.ones(1, 4))
except RuntimeError as e:
    print(type(e).__name__)

# %% bilinear, flatten, unflatten, upsample
import torch.nn as nn

torch.manual_seed(0)
b = nn.Bilinear(2, 3, 1)
print(b, b(torch.ones(1, 2), torch.ones(1, 3)))
print(nn.Flatten()(torch.zeros(2, 3, 4)).shape, nn.Unflatten(1, (2, 2))(torch.zeros(3, 4)).shape)
print(nn.Flatten(), nn.Unflatten(1, (2, 2)))

# %% lazily clear the gradients of a model
import torch.nn as nn

m = nn.Linear(1, 1)
m(torch.ones(1, 1)).backward()
m.zero_grad()
print(m.weight.grad)
m(torch.ones(1, 1)).backward()
m.zero_grad(set_to_none=False)
print(m.weight.grad)

# %% a parameter's type
import torch.nn as nn

p = nn.Parameter(torch.zeros(1))
print(type(p), type(nn.Linear(1, 1)), type(nn.ReLU()), type(nn.MSELoss()), type(p.data))
print(
    isinstance(p, nn.Parameter), isinstance(p, torch.Tensor), isinstance(nn.Linear(1, 1), nn.Module)
)

# %% house prices with three features
import torch.nn as nn

torch.manual_seed(42)
X = torch.rand(12, 3)
y = X @ torch.tensor([[2.0], [-1.0], [0.5]]) + 0.3
model = nn.Linear(3, 1)
crit = nn.L1Loss()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(1, 61):
    opt.zero_grad()
    loss = crit(model(X), y)
    loss.backward()
    opt.step()
    if epoch % 20 == 0:
        print(f"Epoch [{epoch}/60], Loss: {loss.item():.3f}")
print(model.weight.shape, model.bias.shape)

# %% spiral data and an MLP with batch norm
import torch.nn as nn

torch.manual_seed(3)
n = 20
r = torch.linspace(0.1, 1, n)
t = torch.linspace(0, 4, n)
X = torch.cat(
    [torch.stack([r * t.cos(), r * t.sin()], 1), torch.stack([-r * t.cos(), -r * t.sin()], 1)]
)
y = torch.cat([torch.zeros(n), torch.ones(n)]).long()
net = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.AdamW(net.parameters(), lr=0.02)
for epoch in range(30):
    net.train()
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(X), y)
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    acc = (net(X).argmax(1) == y).float().mean()
print(loss.item() < 0.5, acc.item() > 0.8)
print(net[1].num_batches_tracked)

# %% layer norm against its module
import torch.nn as nn

x = torch.tensor([[1.0, 2.0, 4.0], [0.0, -1.0, 1.0]], requires_grad=True)
mean = x.mean(-1, keepdim=True)
var = ((x - mean) ** 2).mean(-1, keepdim=True)
mine = (x - mean) / torch.sqrt(var + 1e-5)
print(torch.allclose(mine, nn.LayerNorm(3)(x), atol=1e-6))
print(nn.LayerNorm(3)(x).grad_fn.name())
(mine**3).sum().backward()
print(x.grad)

# %% transposed convolution grows
import torch.nn as nn

torch.manual_seed(0)
up = nn.ConvTranspose2d(1, 1, 2, stride=2, bias=False)
print(up)
with torch.no_grad():
    up.weight.fill_(1.0)
print(up(torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])))

# %% an LSTM over a sequence
import torch.nn as nn

torch.manual_seed(0)
lstm = nn.LSTM(3, 2, batch_first=True)
x = torch.randn(2, 4, 3)
out, (h, c) = lstm(x)
print(out.shape, h.shape, c.shape)
print(out[0])
print(torch.allclose(out[:, -1], h[0]))
print([n for n, _ in lstm.named_parameters()])

# %% GRU and RNN in two layers
import torch.nn as nn

torch.manual_seed(1)
gru = nn.GRU(2, 3, num_layers=2)
out, h = gru(torch.ones(4, 1, 2))
print(gru, out.shape, h.shape)
print(h)
rnn = nn.RNN(2, 2, nonlinearity="relu")
out, h = rnn(torch.ones(3, 2))
print(out)

# %% an autoencoder's reconstruction falls
import torch.nn as nn

torch.manual_seed(5)
X = torch.rand(10, 4)
ae = nn.Sequential(nn.Linear(4, 2), nn.Sigmoid(), nn.Linear(2, 4))
opt = torch.optim.Adam(ae.parameters(), lr=0.05)
first = last = None
for i in range(30):
    loss = nn.functional.mse_loss(ae(X), X)
    opt.zero_grad()
    loss.backward()
    opt.step()
    first = loss.item() if first is None else first
    last = loss.item()
print(f"{first:.3f} -> {last:.3f}")

# %% hooks that check for nan gradients
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
seen = []
for name, p in net.named_parameters():
    p.register_hook(lambda g, name=name: seen.append((name, bool(torch.isnan(g).any()))))
net(torch.ones(3, 2)).sum().backward()
print(sorted(seen))

# %% gradient norms by layer
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
net(torch.ones(2, 4)).pow(2).mean().backward()
for name, p in net.named_parameters():
    print(f"{name:10s} {p.grad.norm().item():.4f}")

# %% clip by global norm and go on
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=1.0)
loss = (net(torch.full((4, 3), 10.0)) ** 2).sum()
loss.backward()
norm = nn.utils.clip_grad_norm_(net.parameters(), 2.0)
print(f"{norm.item():.2f}", torch.sqrt(sum((p.grad**2).sum() for p in net.parameters())))
opt.step()
print(net.bias)

# %% freezing batch norm statistics
import torch.nn as nn

bn = nn.BatchNorm1d(2)
x = torch.tensor([[1.0, 10.0], [3.0, 30.0]])
bn(x)
print(bn.running_mean, bn.running_var)
bn.eval()
bn(x)
print(bn.running_mean)
bn.reset_running_stats()
print(bn.running_mean, bn.running_var)
print([p.requires_grad for p in bn.parameters()])

# %% dropout is inverted
import torch.nn as nn

torch.manual_seed(0)
x = torch.ones(1000)
d = nn.Dropout(0.25)
print(f"{d(x).mean().item():.1f}", sorted(set(d(x).tolist())))

# %% module dict of parameters
import torch.nn as nn

params = nn.ParameterDict({"w": nn.Parameter(torch.ones(2)), "b": nn.Parameter(torch.zeros(1))})
print(params)
print(sorted(params.keys()), params["w"] * 2)
plist = nn.ParameterList([nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(2, 2))])
print(plist, len(plist))

# %% sequential with named layers by add_module
import torch.nn as nn

m = nn.Sequential()
m.add_module("first", nn.Linear(2, 2))
m.add_module("act", nn.ReLU())
print(m)
print(m.first.in_features, [n for n, _ in m.named_children()])
del m[1]
print(len(m))

# %% nested modules have dotted names
import torch.nn as nn

m = nn.Sequential(nn.Sequential(nn.Linear(1, 2), nn.ReLU()), nn.Sequential(nn.Linear(2, 1)))
for name, mod in m.named_modules():
    print(repr(name), type(mod).__name__)
print(m)
print(m.get_submodule("0.0"), sum(1 for _ in m.modules()))

# %% transfer of weights with no_grad copies
import torch.nn as nn

torch.manual_seed(0)
a, b = nn.Linear(2, 2), nn.Linear(2, 2)
tau = 0.1
with torch.no_grad():
    for p, q in zip(a.parameters(), b.parameters()):
        p.mul_(1 - tau).add_(q, alpha=tau)
print(a.weight)
print(all(p.is_leaf and p.requires_grad for p in a.parameters()))

# %% batches by a loader, shuffled
from torch.utils.data import TensorDataset, DataLoader, random_split

torch.manual_seed(0)
X = torch.arange(12.0).view(6, 2)
y = torch.arange(6)
loader = DataLoader(TensorDataset(X, y), batch_size=4, shuffle=True)
for epoch in range(2):
    for xb, yb in loader:
        print(epoch, yb.tolist(), xb.sum().item())
print(len(loader), len(loader.dataset))
a, b = random_split(range(10), [7, 3], generator=torch.Generator().manual_seed(42))
print(list(a), list(b))

# %% forward mode through layers
import torch.autograd.forward_ad as fwAD
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(3, 2)
x = torch.ones(1, 3)
params = {name: p for name, p in model.named_parameters()}
tangents = {name: torch.ones_like(p) for name, p in params.items()}
with fwAD.dual_level():
    for name, p in params.items():
        delattr(model, name)
        setattr(model, name, fwAD.make_dual(p, tangents[name]))
    out = model(x)
    print(fwAD.unpack_dual(out).tangent.detach())

# %% vjp of a model's loss by functional_call
import torch.nn as nn
from torch.func import functional_call, vjp, grad

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
params = dict(net.named_parameters())
x = torch.ones(1, 2)
out, pull = vjp(lambda p: functional_call(net, p, (x,)), params)
(g,) = pull(torch.ones(1, 1))
print(sorted(g.keys()), g["2.weight"].detach())

# %% hessian of a network by its input
import torch.nn as nn
from torch.func import hessian

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
H = hessian(lambda x: net(x).sum())(torch.tensor([0.5, -0.5]))
print(H.shape, torch.allclose(H, H.T))

# %% lazy layers take their sizes from the first call
import torch.nn as nn

torch.manual_seed(3)
net = nn.Sequential(
    nn.LazyConv2d(2, kernel_size=3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2)
)
print(net)
first = net[3].weight
print(first, isinstance(first, nn.Parameter), type(net[3]) is nn.Linear)
try:
    first.sum()
except ValueError as fault:
    print(str(fault)[:43])
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.ones(2, 1, 4, 4) * torch.tensor([1.0, 2.0]).view(2, 1, 1, 1)).pow(2).sum()
loss.backward()
opt.step()
print(net, net[3].weight is first, type(net[3]) is nn.Linear, loss.detach())
print(net[3].weight.shape, [name for name, p in net.named_parameters()])

# %% a parametrised weight is computed
import torch.nn as nn
import torch.nn.utils.parametrize as parametrize


class Even(nn.Module):
    def forward(self, X):
        return (X + X.T) / 2

    def right_inverse(self, A):
        return A


class Loud(nn.Module):
    def forward(self, X):
        print("computed")
        return X


torch.manual_seed(4)
layer = nn.Linear(2, 2)
parametrize.register_parametrization(layer, "weight", Even())
print(layer)
print(torch.equal(layer.weight, layer.weight.T), sorted(dict(layer.named_parameters())))
print(parametrize.is_parametrized(layer), layer.parametrizations.weight[0])
layer.weight = torch.eye(2)
print(layer.weight.detach(), layer.parametrizations.weight.original.detach())
parametrize.remove_parametrizations(layer, "weight")
print(layer)
parametrize.register_parametrization(layer, "bias", Loud())
print(layer.bias.shape)
with parametrize.cached():
    print(layer.bias.shape, layer.bias.shape)

# %% old programs, copies and groups
import copy

import torch.nn as nn
from torch.autograd import Variable


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(1, 1)

    def forward(self, x):
        return self.inner(x)


torch.manual_seed(5)
net = Net()
other = copy.deepcopy(net)
with torch.no_grad():
    net.inner.weight.fill_(7.0)
print(other, other.inner.weight.item() != 7.0)
v = Variable(torch.ones(2), requires_grad=True)
(v * v).sum().backward()
print(v.grad, isinstance(v, Variable), v.type(torch.LongTensor))
group = torch.optim.SGD([{"params": v, "lr": 0.5}], lr=0.1).param_groups[0]
print(list(group)[:3], torch.fill_(torch.zeros(2), 3), torch.zero_(torch.ones(1)))

# %% a decorator that keeps the name
from functools import wraps


def timed(f):
    @wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs)

    return inner


@timed
def square(x):
    return x * x


print(square(torch.tensor(3.0)), square.__name__)
