"""save and load: what holds numbers comes back; what would run code is refused."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict

import pytest

import gradcli as torch


def again(value: object, **options: object) -> object:
    """``value`` written and read."""
    file = io.BytesIO()
    torch.save(value, file, **{k: v for k, v in options.items() if k == "pickle_protocol"})
    file.seek(0)
    return torch.load(file, **{k: v for k, v in options.items() if k != "pickle_protocol"})


@pytest.mark.parametrize("protocol", [2, 4])
def test_data_comes_back(protocol, tmp_path):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    scalar = torch.tensor(2.5, dtype=torch.float16)
    mask, z = torch.tensor([True, False]), torch.tensor([1 + 2j])
    given = {"x": x, "more": [scalar, mask, z, None, 1.5, "text", (torch.float32, x.shape)]}
    found = again(given, pickle_protocol=protocol)
    assert torch.equal(found["x"], x) and found["x"].requires_grad and found["x"].is_leaf
    for have, want in zip(found["more"][:3], given["more"][:3], strict=True):
        assert have.dtype is want.dtype and torch.equal(have, want)
    assert found["more"][3:] == given["more"][3:] and found["more"][6][0] is torch.float32
    torch.save(x, tmp_path / "x.pt")
    assert torch.equal(torch.load(str(tmp_path / "x.pt"), map_location="cpu"), x)
    with pytest.raises(TypeError, match="not to cuda"):
        torch.load(tmp_path / "x.pt", map_location="cuda")


def test_state_of_models_and_optimizers():
    model, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    state = again(model.state_dict())
    assert type(state) is OrderedDict
    other.load_state_dict(state)
    assert torch.equal(other.weight, model.weight)
    kept = again(optimizer.state_dict())["state"][0]["exp_avg"]
    assert torch.equal(kept, optimizer.state_dict()["state"][0]["exp_avg"])
    weight = again(model.weight)
    assert type(weight) is torch.nn.Parameter and weight.requires_grad


class Evil:
    """What runs a function when it is read."""

    def __reduce__(self):
        return print, ("run",)


def test_code_is_refused_unless_the_file_is_trusted(capsys):
    for value in (Evil(), torch.nn.Linear(1, 1), torch.nn.functional.relu, pickle.loads):
        with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
            again([value])
    assert not capsys.readouterr().out
    assert type(again(torch.nn.Linear(1, 1), weights_only=False)) is torch.nn.Linear
    for text in (b"", b"garbage", b"\x80\x04.", pickle.dumps([1])[:-3]):
        with pytest.raises(pickle.UnpicklingError):
            torch.load(io.BytesIO(text))
    with pytest.raises(FileNotFoundError):
        torch.load("nowhere.pt")
