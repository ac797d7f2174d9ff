"""Cells with modules written as classes."""

# ruff: noqa: B007, B018, E402, E741, I001, UP008, UP032
# The cells stand as a notebook has them.

import torch

# %% a network class as the quickstart has it
from torch import nn


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28 * 28, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
        )

    def forward(self, x):
        x = self.flatten(x)
        logits = self.linear_relu_stack(x)
        return logits


model = NeuralNetwork().to("cpu")
print(model)
X = torch.rand(1, 28, 28)
logits = model(X)
pred_probab = nn.Softmax(dim=1)(logits)
print(logits.shape, pred_probab.sum().round(decimals=3))
for name, param in model.named_parameters():
    print(f"Layer: {name} | Size: {param.size()}")
print(sum(p.numel() for p in model.parameters()))


# %% the tiny model of the fundamentals
class TinyModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = torch.nn.Linear(10, 5)
        self.relu = torch.nn.ReLU()
        self.layer2 = torch.nn.Linear(5, 3)

    def forward(self, x):
        x = self.layer1(x)
        x = self.relu(x)
        x = self.layer2(x)
        return x


torch.manual_seed(0)
some_input = torch.randn(4, 10)
ideal_output = torch.randn(4, 3)
model = TinyModel()
print(model.layer2.weight[0][0:10])
print(model.layer2.weight.grad)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
prediction = model(some_input)
loss = (ideal_output - prediction).pow(2).sum()
print(loss)
loss.backward()
print(model.layer2.weight[0][0:10])
print(model.layer2.weight.grad[0][0:10])
optimizer.step()
print(model.layer2.weight[0][0:10])
for i in range(0, 5):
    prediction = model(some_input)
    loss = (ideal_output - prediction).pow(2).sum()
    loss.backward()
print(model.layer2.weight.grad[0][0:10])
optimizer.zero_grad(set_to_none=False)
print(model.layer2.weight.grad[0][0:10])
print("The model:")
print(model)
print("\n\nJust one layer:")
print(model.layer2)
print("\n\nModel params:")
for param in model.parameters():
    print(param)

# %% a LeNet prints itself
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, input):
        c1 = F.relu(self.conv1(input))
        s2 = F.max_pool2d(c1, (2, 2))
        c3 = F.relu(self.conv2(s2))
        s4 = F.max_pool2d(c3, 2)
        s4 = torch.flatten(s4, 1)
        f5 = F.relu(self.fc1(s4))
        f6 = F.relu(self.fc2(f5))
        output = self.fc3(f6)
        return output


torch.manual_seed(0)
net = Net()
print(net)
params = list(net.parameters())
print(len(params))
print(params[0].size())
input = torch.randn(1, 1, 32, 32)
out = net(input)
print(out.shape)
net.zero_grad()
target = torch.randn(10).view(1, -1)
criterion = nn.MSELoss()
loss = criterion(net(input), target)
print(loss.grad_fn)
print(loss.grad_fn.next_functions[0][0])
print(loss.grad_fn.next_functions[0][0].next_functions[0][0])
net.zero_grad()
print(net.conv1.bias.grad)
loss.backward()
print(net.conv1.bias.grad.shape)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
optimizer.zero_grad()
optimizer.step()

# %% parameters, buffers, children, modules
import torch.nn as nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("offset", torch.zeros(2))
        self.inner = nn.Linear(2, 2)
        self.plain = torch.ones(3)

    def forward(self, x):
        return self.inner(x) * self.scale + self.offset


m = M()
print(
    [n for n, p in m.named_parameters()],
    [n for n, b in m.named_buffers()],
    [n for n, c in m.named_children()],
)
print([n for n, c in m.named_modules()])
print(list(m.state_dict()))
print(m)
print(m.scale)
print(type(m.scale).__name__, isinstance(m.scale, torch.Tensor))
m.extra = nn.ParameterList([nn.Parameter(torch.ones(1)) for _ in range(2)])
print([n for n, _ in m.named_parameters()])

# %% module lists and dicts
import torch.nn as nn


class MyModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.linears = nn.ModuleList([nn.Linear(4, 4) for i in range(3)])
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 1), "b": nn.Linear(4, 2)})

    def forward(self, x, which):
        for i, l in enumerate(self.linears):
            x = self.linears[i // 2](x) + l(x)
        return self.heads[which](x)


m = MyModule()
print(m)
print(m(torch.ones(2, 4), "b").shape, len(m.linears), list(m.heads.keys()), "a" in m.heads)
print(len(list(m.parameters())))

# %% a module that extends with a custom Function
import torch.nn as nn


class DoubleFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Linear(nn.Module):
    def __init__(self, input_features, output_features, bias=True):
        super().__init__()
        self.input_features = input_features
        self.output_features = output_features
        self.weight = nn.Parameter(torch.empty(output_features, input_features))
        if bias:
            self.bias = nn.Parameter(torch.empty(output_features))
        else:
            self.register_parameter("bias", None)
        nn.init.uniform_(self.weight, -0.1, 0.1)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -0.1, 0.1)

    def forward(self, input):
        return DoubleFn.apply(nn.functional.linear(input, self.weight, self.bias))

    def extra_repr(self):
        return "input_features={}, output_features={}, bias={}".format(
            self.input_features, self.output_features, self.bias is not None
        )


torch.manual_seed(0)
m = Linear(2, 3)
print(m)
print(m(torch.ones(1, 2)))
print(Linear(2, 3, bias=False))

# %% parametrisations
import torch.nn as nn
import torch.nn.utils.parametrize as parametrize


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)


torch.manual_seed(0)
layer = nn.Linear(3, 3)
parametrize.register_parametrization(layer, "weight", Symmetric())
A = layer.weight
print(torch.allclose(A, A.T))
print(layer)
print(parametrize.is_parametrized(layer, "weight"), [n for n, _ in layer.named_parameters()])

# %% missing attributes and forgotten super
import torch.nn as nn

m = nn.Linear(1, 1)
try:
    m.nothing
except AttributeError as e:
    print(e)


class Bad(nn.Module):
    def __init__(self):
        self.l = nn.Linear(1, 1)


try:
    Bad()
except AttributeError as e:
    print(e)


class NoForward(nn.Module):
    pass


try:
    NoForward()(1)
except NotImplementedError as e:
    print(str(e)[:60])

# %% residual block
import torch.nn as nn


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU())

    def forward(self, x):
        return x + self.net(x)


torch.manual_seed(2)
model = nn.Sequential(*[Residual(3) for _ in range(2)])
print(model)
x = torch.ones(1, 3, requires_grad=True)
y = model(x)
y.sum().backward()
print(y.shape, x.grad.shape)

# %% a module with a buffer and a step counter
import torch.nn as nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(1, dtype=torch.long))
        self.fc = nn.Linear(1, 1)

    def forward(self, x):
        self.steps += 1
        return self.fc(x)


m = Counter()
m(torch.ones(1, 1))
m(torch.ones(1, 1))
print(m.steps, list(m.state_dict().keys()))
m2 = Counter()
m2.load_state_dict(m.state_dict())
print(m2.steps, dict(m.named_buffers()))

# %% a loss of one's own as a module
import torch.nn as nn


class LogCosh(nn.Module):
    def forward(self, pred, target):
        return torch.log(torch.cosh(pred - target)).mean()


crit = LogCosh()
p = torch.tensor([1.0, -2.0], requires_grad=True)
loss = crit(p, torch.zeros(2))
loss.backward()
print(crit, loss, p.grad)

# %% a learnable activation
import torch.nn as nn


class Swish(nn.Module):
    def __init__(self):
        super().__init__()
        self.beta = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return x * torch.sigmoid(self.beta * x)


s = Swish()
out = s(torch.tensor([-1.0, 0.0, 2.0]))
out.sum().backward()
print(out)
print(s.beta, s.beta.grad)

# %% a dataset class
from torch.utils.data import Dataset, DataLoader


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return {"x": torch.tensor(float(i)), "y": float(i * i)}


for batch in DataLoader(Squares(5), batch_size=2):
    print(batch)
