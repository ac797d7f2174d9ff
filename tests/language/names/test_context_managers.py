"""``with`` in programs: what it takes, what that does, and that nothing of it outlives the run."""

from __future__ import annotations

import pytest

import gradcli
from gradcli.autograd import forward_ad
from gradcli.engine.grad_mode import mode
from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from tests.support.families import family

HEAD = "import torch\nimport torch.autograd.forward_ad as fwAD\nx = torch.tensor([1.0, 4.0])\n"
LEAF = f"{HEAD}x.requires_grad_()\n"


def printed(text):
    out = []
    prepare(text, "file").run({}, write=out.append)
    return "".join(out)


def fault(text):
    with pytest.raises(Fault) as caught:
        prepare(text, "file").run({})
    return caught.value


def test_hooks_see_what_is_saved_and_what_comes_back_is_used():
    text = (
        f"{LEAF}kept = []\n"
        "def pack(t):\n    kept.append(t.shape)\n    return t.tolist()\n"
        "h = torch.autograd.graph.saved_tensors_hooks(pack, lambda v: torch.tensor(v)*10)\n"
        "with h:\n    y = (x*x).sum()\n"
        "(x*x).sum()\ny.backward()\nprint(len(kept), x.grad)\n"
    )
    assert printed(text) == "2 tensor([20., 80.])\n"


def test_a_handle_removes_its_hook_and_is_there_inside():
    text = (
        f"{LEAF}with x.register_hook(lambda g: print('seen')) as h, torch.no_grad():\n"
        "    with torch.enable_grad(): x.sum().backward()\n"
        "x.sum().backward()\nprint(x.grad, h)\n"
    )
    assert printed(text) == "seen\ntensor([2., 2.]) <RemovableHandle>\n"


def test_dual_numbers():
    text = (
        f"{HEAD}with fwAD.dual_level():\n    d = fwAD.make_dual(x, torch.ones(2))\n"
        "    both = fwAD.unpack_dual(d.sqrt()*2)\n    p, t = both\n"
        "print(p, t, both.tangent is t, fwAD.unpack_dual(d).tangent)\n"
    )
    assert printed(text) == "tensor([2., 4.]) tensor([1.0000, 0.5000]) True None\n"


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_anomaly_mode_points_at_the_forward_call():
    found = fault(
        f"{LEAF}with torch.autograd.detect_anomaly():\n    y = torch.sqrt(x*0)\n"
        "    (y*0).sum().backward()\n"
    )
    assert found.code == "E0501"
    places = [found.source.text[start:end] for start, end, *_ in found.labels]
    assert "torch.sqrt(x*0)" in places


@family(
    "end, place, said",
    [
        ("with x.sum(): pass", "x.sum()", "a tensor"),
        ("with torch.ones(3): pass", "torch.ones(3)", "a tensor"),
        ("with torch.no_grad: pass", "torch.no_grad", "write with no_grad():"),
        ("with sin(x): pass", "sin(x)", "sin"),
        ("n = None\nwith n as m: pass", "n", "None"),
        ("with (3, 4): pass", "3", "an int"),
    ],
)
def test_what_with_cannot_take(end, place, said):
    found = fault(f"{HEAD}{end}\n")
    assert found.code == "E0164" and said in f"{found.message} {found.help}"
    start, stop = found.labels[0][:2]
    assert found.source.text[start:stop] == place


@pytest.mark.parametrize("end", ["", "1/0\n"])
def test_what_a_program_switched_on_ends_with_it(end):
    text = (
        f"{LEAF}torch.autograd.set_detect_anomaly(True)\nfwAD.enter_dual_level()\n"
        "print(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())\n"
        "with torch.autograd.graph.saved_tensors_hooks(print, print): (x*x).sum()\n"
        f"with torch.autograd.graph.disable_saved_tensors_hooks('no'):\n    3\n    {end}"
    )
    out = []
    try:
        prepare(text, "file").run({}, write=out.append)
    except Fault as found:
        assert found.code == "E0311" and end
    assert out[0] == "True True\n"
    assert not gradcli.is_anomaly_enabled() and mode.inspect is None
    assert mode.saving == () and mode.saving_off is None
    with forward_ad.dual_level():  # a level that was left open would refuse another
        pass


def test_anomaly_mode_that_was_on_stays_on():
    with gradcli.autograd.set_detect_anomaly(True, check_nan=False):
        prepare("import torch\ntorch.autograd.set_detect_anomaly(False)\n", "file").run({})
        assert gradcli.is_anomaly_enabled() and not gradcli.is_anomaly_check_nan_enabled()
    assert not gradcli.is_anomaly_enabled()
