"""No message shows where a value lies in memory, or which module of gradcli made it."""

from __future__ import annotations

import re

from gradcli.language.runtime.run import Program, prepare
from gradcli.ops.errors import Fault
from tests.support.families import family

SETUP = """import torch, math, itertools, functools, random, copy
import numpy as np
from torch import nn
import torch.nn.functional as F
def f(a): return a
def g():
    yield 1
class A:
    def m(self): return 1
    def __len__(self): return 1
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * x
    @staticmethod
    def backward(ctx, g): return g
class Net(nn.Module):
    def forward(self, x): return x
x = torch.ones(2, requires_grad=True)
caught = None
try:
    [][0]
except IndexError as e:
    caught = e
"""
VALUES = """
print abs len int str list f lambda:1 g g() A A() A().m A.m Square Square.apply Net Net()
Net().forward torch.sin F.relu x.sum x.backward [].append {}.get {}.keys() {}.items()
torch.vmap(f) torch.func.grad(f) functools.partial(f,1) map(f,[1]) zip([1],[2]) enumerate([1])
filter(f,[1]) iter([1]) reversed([1]) range(3) itertools.count() itertools.chain([1]) np.sin
np.float32 np.ones(2) torch.float32 torch.Size torch.device("cpu") torch.Generator()
torch.optim.SGD([x],lr=1.) torch.optim.SGD nn.Linear nn.Linear(1,1) nn.Parameter(x) nn.Parameter
nn.ModuleList() torch.no_grad() torch.no_grad (x*2).grad_fn (x*2).grad_fn.next_functions
x.register_hook(f) caught ValueError type(x) type(f) type(A()) [print] (print,) {1:print} {print}
... 1j "a" None x A().m.__name__ torch.Tensor torch.autograd.graph.get_gradient_edge(x*2)
nn.Linear(1,1).parameters() nn.Linear(1,1).state_dict() torch.utils.data.TensorDataset(x)
torch.utils.data.DataLoader([1]) functools.reduce torch.jit.script(f)
torch.optim.lr_scheduler.StepLR(torch.optim.SGD([x],lr=1.),1) torch.finfo(torch.float32)
"""
OPERATIONS = """{}[V]
{}.pop(V)
d = {}; del d[V]
set().remove(V)
[].index(V)
[].remove(V)
().index(V)
"a".index(V)
{V: 1}[1]
{1}.add([V])
nn.ModuleDict()[V]
nn.ParameterDict()[V]
nn.Module().register_buffer(V, 1)
nn.Module().register_buffer("a", V)
nn.Module().register_parameter("a", V)
nn.Module().register_parameter(V, V)
nn.Module().add_module("a", V)
nn.Module().load_state_dict(V)
nn.Linear(V, 1)
nn.Linear(1, 1)(V)
nn.Sequential(V)
nn.ModuleList([V])
nn.Conv2d(1, 1, 1, padding=V)
nn.GELU(approximate=V)(x)
nn.LSTM(V, 1)
np.ones(V)
np.array(V) + "a"
np.zeros(2, dtype=V)
np.ones(2)[V]
torch.ones(V)
torch.zeros(2, dtype=V)
torch.zeros(2, device=V)
torch.tensor(V)
torch.tensor([V])
torch.arange(V)
torch.full((2,), V)
torch.stack([V])
torch.cat(V)
torch.einsum(V, x)
torch.device(V)
torch.Size([V])
torch.manual_seed(V)
torch.set_default_dtype(V)
torch.autograd.grad(V, x)
torch.autograd.grad(x.sum(), V)
torch.autograd.grad(x.sum(), x, grad_outputs=V)
x.sum().backward(V)
(x * 2).register_hook(V)
(x * 2).register_hook(lambda g: V).foo
torch.func.grad(V)(x)
torch.func.vmap(V)(x)
torch.func.vmap(f, in_dims=V)(x)
torch.func.vmap(lambda a: V)(x)
torch.func.grad(lambda a: V)(x)
torch.func.functional_call(V, {}, x)
torch.autograd.functional.jacobian(V, x)
torch.utils.checkpoint.checkpoint(V, x)
torch.optim.SGD(V, lr=0.1)
torch.optim.SGD([x], lr=V)
torch.optim.Adam([x], betas=V)
torch.optim.lr_scheduler.StepLR(V, 1)
x.view(V)
x.sum(V)
x.sum(dim=V)
x.to(V)
x[V]
x[0] + V
x @ V
V + x
V @ V
-V
V < 1
x == V
x.requires_grad_(V)
x.data = V
x.grad = V
x.foo = V
getattr(x, V)
setattr(x, V, 1)
hasattr(x, V)
F.relu(V)
F.pad(x, (1, 1), mode=V)
F.interpolate(torch.ones(1, 1, 4), scale_factor=2, mode="linear", align_corners=V)
F.mse_loss(x, x, reduction=V)
F.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 1), groups=V)
F.embedding(V, x)
torch.norm(torch.ones(2, 2), p=V)
torch.div(x, x, rounding_mode=V)
math.sin(V)
V()
V(1, 2, 3, 4, 5)
V(a=3)
V.foo
V[0]
V["a"]
V[0] = 1
V.foo = 1
int(V)
float(V)
len(V)
abs(V)
sum(V)
max(V)
sorted([V, 1])
round(1.5, V)
range(V)
next(V)
for i in V: i.foo
with V: pass
a, b, c, d, e, f1 = V
isinstance(1, V)
issubclass(V, V)
raise V
raise ValueError(V)
raise KeyError(V)
assert False, V
f(**V)
f(*V)
f(V, V)
f(b=V)
dict(V)
dict([V])
{**V}
",".join(V)
",".join([V])
"a".split(V)
"%d" % V
"{:d}".format(V)
"{a}".format_map(V)
f"{V:d}"
f"{V:.3f}"
1 in V
V in "a"
"a" + V
[1] + V
[1] * V
[1][V]
(1)[V]
"a"[V]
[1].insert(V, 1)
[1].sort(key=V)
set(V)
{1} | V
super(V, V)
functools.reduce(V, [1, 2])
itertools.islice([1], V)
list(map(V, [1]))
Square.apply(V)
Square.apply(V, V)
print(1, sep=V)
random.choice(V)
torch.where(V, x, x)
torch.clamp(x, V)
torch.linalg.norm(x, V)
x.scatter(0, V, x)
x.index_select(0, V)
x.__getitem__(V)
torch.utils.data.DataLoader(V)
torch.utils.data.DataLoader([V], batch_size=1).foo
next(iter(torch.utils.data.DataLoader([V])))
torch.utils.data.TensorDataset(V)
nn.utils.clip_grad_norm_(V, 1.0)
nn.init.zeros_(V)
copy.deepcopy(V).foo
torch.jit.script(V)(x)
torch.no_grad()(V)(1, 2, 3)
torch.autograd.gradcheck(V, (x,))
torch.autograd.graph.saved_tensors_hooks(V, V)""".splitlines()
SHOWN = re.compile(r"0x(?!7f00000)[0-9a-f]{4}|gradcli\.(?:engine|language|ops)\b")
"""An address (``identity`` gives a program other numbers), or a module of gradcli."""
TOLD = "print(str(e), repr(e), e.args)"


def program(operation: str, values: str) -> Program:
    """Every value meets the operation; the last one's error is not caught."""
    work = re.sub(r"\bV\b", "v", operation).replace("; ", "\n        ")
    made = ", ".join(f"lambda: {value}" for value in values.split())
    text = f"""{SETUP}
def met(v):
    try:
        {work}
    except Exception as e:
        {TOLD}
        raise
for one in [{made}]:
    v = one()
    try:
        met(v)
    except Exception as e:
        {TOLD}
met(v)
"""
    return prepare(text, "file")


@family("operation", OPERATIONS)
def test_no_message_shows_an_address(operation):
    said: list[object] = []
    try:
        program(operation, VALUES).run({}, write=said.append)
    except Fault as fault:
        assert said or fault.code == "E0204"  # nothing else stops it before it runs
    assert not SHOWN.search(" ".join(map(str, said)))


@family(
    "operation, value",
    [(o, v) for o in OPERATIONS[:16] for v in ("print", "A().m", "g()", "torch.sin", "lambda:1")],
    long=[(o, v) for o in OPERATIONS for v in VALUES.split()],
)
def test_no_error_shows_an_address(operation, value):
    try:
        program(operation, value).run({})
    except Fault as fault:
        said = [fault.message, fault.help, *fault.notes, *fault.operands]
        assert not SHOWN.search(" ".join(map(str, said)))
