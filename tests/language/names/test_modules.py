"""Layers in a program: they compute what they should, and hostile arguments end in a fault."""

from __future__ import annotations

import pytest

from gradcli.language.names.table import namespace
from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from tests.support.families import family

HEAD = "import torch\nimport torch.nn as nn\n"


def printed(text):
    out = []
    prepare(HEAD + text, "file").run({}, write=out.append)
    return "".join(out)


def test_a_model_learns():
    assert printed(
        "torch.manual_seed(0)\n"
        "m = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))\n"
        "opt = torch.optim.Adam(m.parameters(), lr=0.1)\n"
        "x = torch.linspace(-1, 1, 9).unsqueeze(1)\n"
        "for i in range(150):\n"
        "    opt.zero_grad()\n"
        "    loss = nn.MSELoss()(m(x), x**2)\n"
        "    loss.backward()\n"
        "    opt.step()\n"
        "print(loss.item() < 0.01, len(m), isinstance(m[0], nn.Linear))\n"
        "for layer in m:\n"
        "    print(layer)\n"
    ) == (
        "True 3 True\nLinear(in_features=1, out_features=4, bias=True)\nTanh()\n"
        "Linear(in_features=4, out_features=1, bias=True)\n"
    )


@family(
    "text, code",
    [
        ("nn.Linear(10**6, 10**6)", "E0602"),
        ("nn.Linear('a', 2)", "E0303"),
        ("nn.Linear(2, 2)('x')", "E0303"),
        ("nn.Linear(2, 2)(print)", "E0303"),
        ("m = nn.Linear(2, 2)\nm.weight = 3", "E0303"),
        ("m = nn.Linear(2, 2)\nlist(m.parameters())[0].data = 3", "E0303"),
        ("m = nn.Linear(2, 2)\nm._parameters = 3", "E0204"),
        ("m = nn.Linear(2, 2)\nm._modules['a'] = 3", "E0303"),
        ("m = nn.Linear(2, 2)\nm.register_buffer('_parameters', torch.ones(1))", "E0304"),
        ("m = nn.Linear(2, 2)\nm.load_state_dict(3)", "E0303"),
        ("nn.Linear(2, 2).weight.tile(10**9)", "E0602"),
        ("nn.Parameter(torch.ones(3)).repeat(10**9)", "E0602"),
        ("m = nn.Sequential()\nm.append(m)\nm(torch.ones(1))", "E0606"),
        ("m = nn.Sequential()\nm.append(m)\nprint(m)", "E0606"),
        ("nn.Sequential(nn.ReLU)", "E0303"),
        ("nn.init.uniform_(torch.ones(2), 'a')", "E0303"),
        ("nn.utils.clip_grad_norm_(3, 1)", "E0303"),
        ("torch.multinomial(torch.ones(3), 10**12, True)", "E0602"),
        ("nn.GRU(1, 1, num_layers=100000)", "E0601"),
        ("nn.LSTM(1, 1, 10**9, bidirectional=True)", "E0601"),
        ("nn.RNN(1, 1, 0)", "E0304"),
        ("m = nn.ReLU()\nfor i in range(30): m = nn.ModuleList([m, m])\nprint(m)", "E0601"),
        ("torch.combinations(torch.ones(10**6), 10**6, True)", "E0602"),
    ],
)
def test_hostile_arguments_end_in_a_fault(text, code):
    with pytest.raises(Fault) as caught:
        printed(text)
    assert caught.value.code == code


def test_the_names_of_a_module_are_gathered_once():
    assert namespace("torch.nn.functional") is namespace("torch.nn.functional")
