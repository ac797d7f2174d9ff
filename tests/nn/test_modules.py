"""Modules: what is found by assignment, what is refused, and what is the same after a copy."""

from __future__ import annotations

import copy
import pickle
import re
import sys
import warnings
from collections import namedtuple
from contextlib import ExitStack
from functools import partial
from itertools import product

import numpy as np
import pytest

import gradcli as torch
from gradcli import nn
from gradcli.nn.modules import module as every
from gradcli.nn.utils import parametrize
from gradcli.utils.checkpoint import checkpoint_sequential
from tests.support.families import family


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = self.a
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)

    def forward(self, x):
        return self.b(self.a(x)) * self.scale


def test_what_is_shared_appears_once():
    m = Shared()
    assert [n for n, _ in m.named_parameters()] == ["scale", "a.weight", "a.bias"]
    assert len(list(m.modules())) == 2
    assert "b.weight" in m.state_dict() and "scratch" not in m.state_dict()


def test_an_assignment_replaces_what_had_the_name():
    m = Shared()
    m.a = nn.Identity()
    assert "a.weight" not in dict(m.named_parameters())
    m.scale = None
    assert m.scale is None and "scale" not in dict(m.named_parameters())
    del m.b
    with pytest.raises(AttributeError, match="'Shared' object has no attribute 'b'"):
        m.b  # noqa: B018


def test_what_is_replaced_leaves_its_place_to_the_new():
    """The order of running, of parameters() and of state_dict() is that of the first names."""
    row = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid(), nn.ELU())
    assert [*(row * 2)] == [*(2 * row)] == [*row, *row]
    row[1] = nn.GELU()
    assert [type(m).__name__ for m in row] == ["ReLU", "GELU", "Sigmoid", "ELU"]
    del row[1]
    row[0] = nn.Mish()
    row.insert(1, nn.SiLU())
    assert [type(m).__name__ for m in row] == ["Mish", "SiLU", "Sigmoid", "ELU"]
    with pytest.raises(IndexError):
        row.insert(7, nn.ReLU())
    layer = nn.Linear(1, 1)
    layer.weight = nn.Parameter(torch.ones(1, 1))
    assert list(layer.state_dict()) == ["weight", "bias"]
    held = nn.ParameterList([torch.ones(1), torch.ones(1)])
    held[0] = torch.zeros(1)
    held += [torch.full((1,), 3.0)]
    assert torch.nn.utils.parameters_to_vector(held.parameters()).tolist() == [0, 1, 3]
    named = nn.ParameterDict({"a": torch.ones(1), "b": torch.ones(1)})
    more = named.copy() | nn.ParameterDict({"c": torch.ones(1)})
    assert list(more) == ["a", "b", "c"] and more.popitem()[0] == "c" and more.get("c") is None
    assert more["a"] is named["a"] and more.setdefault("d", torch.ones(1)) is more["d"]
    named["a"] = torch.zeros(1)
    assert list(named) == ["a", "b"]


def test_a_buffer_requires_a_gradient_as_its_data_and_a_parameter_of_inference_mode_cannot():
    assert nn.Buffer(torch.ones(2, requires_grad=True)).requires_grad
    with torch.inference_mode():
        made = torch.ones(2)
    with pytest.raises(RuntimeError, match="inference tensor"):
        nn.Parameter(made)


def test_a_parameter_of_a_conjugate_shares_its_memory():
    z = torch.tensor([1 + 2j, 3])
    p, b = nn.Parameter(z.conj()), nn.Buffer(z.imag.conj())
    with torch.no_grad():
        p[0] = 5j
    b[1] = 4.0
    assert z.tolist() == [-5j, 3 + 4j] and b.tolist() == [-5, 4]
    p.abs().square().sum().backward()
    torch.optim.SGD([p], lr=0.5).step()
    assert z.tolist() == [0, 0]
    turned = nn.Parameter(z.conj().imag, requires_grad=False)
    turned.add_(1)
    assert z.tolist() == [-1j, -1j] and isinstance(copy.deepcopy(p), nn.Parameter)
    p.data = torch.ones(2, dtype=torch.complex64)
    assert isinstance(p, nn.Parameter) and not p.is_conj() and z.tolist() == [-1j, -1j]


@family(
    "broken, error, said",
    [
        (lambda: nn.Linear(1, 1).add_module("a.b", nn.ReLU()), KeyError, "got: a.b"),
        (lambda: nn.Linear(1, 1).register_buffer("weight", None), KeyError, "already exists"),
        (lambda: setattr(nn.Linear(1, 1), "bias", nn.ReLU()), TypeError, "as parameter 'bias'"),
        (lambda: setattr(nn.Linear(1, 1), "bias", nn.Buffer()), TypeError, "as parameter 'bias'"),
        (lambda: nn.Sequential(nn.ReLU), TypeError, "is not a Module subclass"),
        (lambda: nn.Sequential({"a": nn.ReLU()}), TypeError, "is not a Module subclass"),
        (lambda: nn.ParameterDict({"a": 5}), TypeError, "tensors, not int"),
        (lambda: nn.ParameterList().append("a"), TypeError, "tensors, not str"),
        (lambda: nn.ParameterDict()["a"], AttributeError, "no attribute 'a'"),
        (lambda: nn.ParameterDict().pop("a"), AttributeError, "no attribute 'a'"),
        (lambda: nn.ModuleList([1]), TypeError, "is not a Module subclass"),
        (lambda: nn.Parameter([1.0]), AttributeError, "made of a tensor"),
        (lambda: nn.Dropout(1.5), ValueError, "between 0 and 1"),
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "divisible by groups"),
        (lambda: nn.GroupNorm(2, 3), ValueError, "divisible by num_groups"),
        (lambda: nn.BatchNorm2d(3)(torch.ones(2, 3)), ValueError, "expected 4D input"),
        (lambda: nn.RNNCell(1, 1, nonlinearity="sin"), ValueError, "Unknown nonlinearity"),
        (lambda: nn.Sequential(nn.ReLU())[3], IndexError, "out of range"),
        (lambda: nn.Sequential(nn.ReLU()) * 0, ValueError, "Non-positive multiplication factor 0"),
        (lambda: nn.Linear(1, 1).get_buffer("weight"), AttributeError, "`weight` is not a buffer"),
        (lambda: checkpoint_sequential([torch.sin], 2, torch.ones(1), False), ValueError, "2 segm"),
        (lambda: nn.init.xavier_uniform_(torch.ones(3)), ValueError, "fewer than 2 dimensions"),
        (lambda: nn.init.calculate_gain("cube"), ValueError, "Unsupported nonlinearity"),
        (lambda: nn.init.calculate_gain("leaky_relu", True), ValueError, "not a valid number"),
        (lambda: nn.init.eye_(torch.empty(3)), ValueError, "2 dimensions"),
        (lambda: nn.Threshold(1.0), TypeError, "value"),
        (lambda: nn.Hardtanh(1.0, 1.0), AssertionError, r"max_val \(1.0\) must be greater"),
        (lambda: nn.MultiMarginLoss(p=3), ValueError, "only p == 1 and p == 2"),
        (lambda: nn.MultiMarginLoss(weight=torch.ones(2, 2)), ValueError, "1D tensor, got 2D"),
        (lambda: nn.TripletMarginLoss(margin=0.0), ValueError, "TripletMarginLoss: expected marg"),
        (lambda: nn.TripletMarginWithDistanceLoss(margin=-1.0), ValueError, "got -1.0 instead"),
        (lambda: nn.MSELoss()(torch.ones(1)), TypeError, "takes 2 tensors"),
        (lambda: nn.Nothing, AttributeError, "no attribute 'Nothing'"),
    ],
)
def test_misuse_says_what_is_wrong(broken, error, said):
    with pytest.raises(error, match=said):
        broken()


def test_layers_use_no_more_than_numpy_to_be_imported():
    import subprocess
    import sys

    code = "import sys, gradcli; print('gradcli.nn' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def test_a_copy_is_of_its_own():
    m = Shared()
    m(torch.ones(1, 2)).sum().backward()
    other = copy.deepcopy(m)
    assert other.a is other.b and other.a.weight is not m.a.weight
    assert other.scale.grad is None and m.scale.grad is not None
    with torch.no_grad():
        other.scale.zero_()
    assert m.scale.sum() == 2


def test_assigned_state_takes_the_place_of_parameters():
    m = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
    m[0].bias.requires_grad_(False)
    given = {
        "0.weight": torch.ones(1, 2, dtype=torch.float64), "0.bias": nn.Parameter(torch.ones(1)),
        "1.running_mean": torch.ones(1, dtype=torch.float64),
    }  # fmt: skip
    before = m[1].weight
    m.load_state_dict(given, strict=False, assign=True)
    weight = m[0].weight
    assert type(weight) is nn.Parameter and weight.dtype is torch.float64 and weight.requires_grad
    assert weight.data_ptr() == given["0.weight"].data_ptr() and m[1].weight is before
    assert m[0].bias is given["0.bias"] and not m[0].bias.requires_grad
    assert m[1].running_mean is given["1.running_mean"]
    assert [n for n, _ in m.named_parameters()][:2] == ["0.weight", "0.bias"]


class Doubled(nn.Module):
    """A parametrization."""

    def forward(self, x):
        return 2 * x


@family(
    "make, name",
    product(
        [nn.RNN, nn.LSTM, nn.GRU, nn.RNNCell, nn.LSTMCell, nn.GRUCell], ["weight_ih", "bias_hh"]
    ),
)
def test_a_recurrent_layer_reads_weights_that_are_parametrized(make, name):
    plain, bent = make(2, 3), make(2, 3)
    bent.load_state_dict(plain.state_dict())
    name += "" if hasattr(plain, name) else "_l0"
    nn.utils.parametrize.register_parametrization(bent, name, Doubled())
    with torch.no_grad():
        getattr(plain, name).mul_(2)
    x = torch.ones(1, 2)
    found, wanted = (o[0] if isinstance(o, tuple) else o for o in (bent(x), plain(x)))
    assert torch.equal(found, wanted)


class Tallying(nn.Module):
    """Has a state that is no tensor."""

    def __init__(self, count):
        super().__init__()
        self.count, self.inner = count, nn.Linear(1, 1, bias=False)

    def get_extra_state(self):
        return {"count": self.count}

    def set_extra_state(self, state):
        self.count = state["count"] if isinstance(state, dict) else state


def test_a_module_saves_a_state_of_its_own_too():
    first, second = nn.Sequential(Tallying(3)), nn.Sequential(Tallying(0))
    saved = first.state_dict()
    assert list(saved) == ["0._extra_state", "0.inner.weight"]
    second.load_state_dict(saved)
    assert second[0].count == 3
    with pytest.raises(RuntimeError, match=r'Unexpected key.*"_extra_state"'):
        nn.ReLU().load_state_dict({"_extra_state": 1})
    first[0].count = nn.Linear(1, 1)  # becomes a module inside, which is loaded as well
    assert second.load_state_dict({**saved, "0._extra_state": first[0].count}, strict=False)
    assert second[0].count is first[0].count
    del saved["0._extra_state"]
    with pytest.raises(RuntimeError, match=r'Missing key.*"0\._extra_state"'):
        second.load_state_dict(saved)


class Serial(nn.Linear):
    """A layer that saves a number beside its weights, by PyTorch's protocol."""

    factor = 1.0

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "factor"] = self.factor

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        self.factor = state_dict.pop(prefix + "factor")
        super()._load_from_state_dict(state_dict, prefix, *rest)


def test_each_module_saves_and_loads_by_methods_that_it_may_override():
    first, second = nn.Sequential(Serial(1, 1), nn.Tanh()), nn.Sequential(Serial(1, 1), nn.Tanh())
    first[0].factor = 3.0
    saved = first.state_dict()
    assert list(saved) == ["0.weight", "0.bias", "0.factor"]
    assert second.load_state_dict(saved) == ([], []) and second[0].factor == 3.0
    assert torch.equal(second[0].weight, first[0].weight)


def test_a_child_is_given_what_its_part_of_the_state_is():
    model, seen = nn.Sequential(nn.Sequential(nn.Linear(1, 1)), nn.BatchNorm1d(1)), []
    for module in model.modules():
        module.register_load_state_dict_pre_hook(
            lambda module, state, prefix, said, *_: seen.append((prefix, len(state), said))
        )
    model[0]._register_load_state_dict_pre_hook(
        lambda state, prefix, *_: state.pop(prefix + "0.weight")
    )
    missing, _ = model.load_state_dict(model.state_dict(), strict=False)
    versions = {"version": 1}, {"version": 2}
    assert seen == [("", 7, versions[0]), ("0.", 2, versions[0]), ("0.0.", 1, versions[0]),
                    ("1.", 5, versions[1])]  # fmt: skip
    assert missing == ["0.0.weight"]


def test_a_hook_after_loading_changes_the_keys_in_place():
    layer = nn.Linear(1, 1)
    layer.register_load_state_dict_post_hook(lambda _, keys: keys.missing_keys.clear())
    layer.load_state_dict({})
    layer.register_load_state_dict_post_hook(lambda _, keys: keys)
    with pytest.raises(AssertionError, match="not expected to return"):
        layer.load_state_dict({})


def test_a_state_is_loaded_as_far_as_it_fits():
    layer = nn.Linear(1, 1)
    with pytest.raises(RuntimeError, match=r"Linear:\n\tMissing.*\n\tUnexpected.*\n\tsize mism"):
        layer.load_state_dict({"bias": torch.ones(7), "b": torch.ones(1)})
    with pytest.raises(RuntimeError, match="Unexpected"):
        layer.load_state_dict({"weight": torch.ones(1, 1), "bias": torch.ones(1), "b": 1})
    assert layer.weight == layer.bias == 1
    layer.scale = nn.Parameter(torch.tensor(0.0))
    layer.load_state_dict({"scale": torch.tensor([4.0])}, strict=False)  # of one number
    assert layer.scale == 4
    with pytest.raises(RuntimeError, match="shape of an uninitialized"):
        layer.load_state_dict(nn.LazyLinear(1).state_dict(), strict=False)
    layer.register_state_dict_post_hook(lambda *given: given[1])
    with pytest.raises(RuntimeError, match="must return None"):
        layer.state_dict()


def test_backward_hooks_see_and_replace():
    m = nn.Linear(2, 1, bias=False)
    torch.nn.init.ones_(m.weight)
    m.register_full_backward_pre_hook(lambda mod, go: (go[0] * 2,))
    m.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 10,))
    x = torch.ones(1, 2, requires_grad=True)
    m(x).sum().backward()
    assert x.grad.tolist() == [[20.0, 20.0]]
    seen, m = [], nn.Linear(2, 1, bias=False)
    m.register_full_backward_hook(lambda mod, gi, go: seen.append((gi, go[0].item())))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        m(torch.ones(1, 2)).sum().backward()
    assert seen == [((None,), 1.0)]
    seen, m = [], nn.EmbeddingBag(4, 2)
    m.register_full_backward_hook(lambda mod, gi, go: seen.append(gi))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        m(torch.tensor([0, 1, 2]), torch.tensor([0, 2])).sum().backward()
    assert seen == [(None, None)]


def test_a_complex_module_is_warned_of():
    with pytest.warns(UserWarning, match="Complex modules are a new feature"):
        assert nn.Linear(2, 2).to(torch.complex64).weight.is_complex()


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
@family("returned, taken", [
    (None, True), ((None,), True), ((), True),
    (torch.ones(1, 2), False), ((torch.ones(1, 2),), False), ([None], False), (5, False),
])  # fmt: skip
def test_a_backward_hook_replaces_nothing_where_no_input_has_a_gradient(returned, taken):
    m = nn.Linear(2, 3)
    m.register_full_backward_hook(lambda mod, gi, go: returned)
    loss = m(torch.ones(1, 2)).sum()
    if taken:
        loss.backward()
        return
    with pytest.raises(RuntimeError, match="always return None or None for all gradients"):
        loss.backward()


@family("make, given, said", [
    (nn.Sigmoid(), lambda x: x, "forward contains multiple"),
    (nn.Sequential(nn.Sigmoid(), nn.Tanh()), lambda x: x, "forward contains multiple"),
    (nn.Sigmoid(), lambda x: x * 2, None),
    (nn.Identity(), lambda x: [x * 2], "does not return a single Tensor"),
    (nn.Identity(), lambda x: (x * 2, x * 3), "does not take as input"),
    (nn.LSTMCell(2, 2), lambda x: x[None], "outputs are generated by different"),
    (nn.GRUCell(2, 2), lambda x: x[None], "forward contains multiple"),
])  # fmt: skip
def test_a_backward_hook_of_the_older_form_says_what_it_does_not_see(make, given, said):
    handle = make.register_backward_hook(lambda *_: None)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        make(given(torch.ones(2, requires_grad=True)))
    handle.remove()
    assert [said and said in str(w.message) for w in seen] == [True] * (said is not None)
    assert all(w.category is FutureWarning for w in seen)


def test_grids_whose_corners_are_not_chosen_are_remarked_on():
    with pytest.warns(UserWarning, match="documentation of affine_grid"):
        grid = torch.nn.functional.affine_grid(torch.eye(2, 3)[None], (1, 1, 2, 2))
    with pytest.warns(UserWarning, match="documentation of grid_sample"):
        torch.nn.functional.grid_sample(torch.ones(1, 1, 2, 2), grid)


def test_conversions_keep_parameters_and_whole_numbers():
    m = nn.BatchNorm1d(2)
    weight = m.weight
    grad = weight.grad = torch.ones(2)
    m.double()
    assert weight.grad is grad and grad.dtype is torch.float64
    assert m.weight is weight and weight.dtype is torch.float64
    assert m.running_mean.dtype is torch.float64 and m.num_batches_tracked.dtype is torch.int64
    m.to(torch.float32)
    assert m.num_batches_tracked.dtype is torch.int64 and weight.dtype is torch.float32


def test_a_lazy_layer_is_made_in_the_type_that_it_was_converted_to():
    torch.manual_seed(3)
    lazy = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d()).double()
    assert lazy[0].weight.dtype is torch.float64
    found = lazy(torch.ones(2, 4, dtype=torch.float64))
    torch.manual_seed(3)
    full = nn.Sequential(nn.Linear(4, 3, dtype=torch.float64), nn.BatchNorm1d(3)).double()
    assert torch.equal(found, full(torch.ones(2, 4, dtype=torch.float64)))
    assert [v.dtype for v in lazy.state_dict().values()] == [
        v.dtype for v in full.state_dict().values()
    ]


def test_a_lazy_layer_without_parameters_keeps_its_type_and_one_with_them_is_not_frozen():
    norm = nn.LazyBatchNorm1d(affine=False).double()
    assert norm(torch.ones(3, 2).double()).dtype is norm.running_mean.dtype is torch.float64
    with pytest.raises(ValueError, match="uninitialized parameter"):
        nn.LazyLinear(2).requires_grad_(False)


def test_a_lazy_layer_takes_an_uninitialized_parameter_that_requires_no_gradient():
    lazy = nn.LazyLinear(3)
    lazy.bias = nn.parameter.UninitializedParameter(False, dtype=torch.float64)
    assert lazy.weight.requires_grad and not copy.deepcopy(lazy).bias.requires_grad
    lazy(torch.ones(2, 2))
    assert lazy.weight.requires_grad and not lazy.bias.requires_grad


def test_a_lazy_layer_saves_and_loads():
    x = torch.ones(2, 3, 4)
    for lazy, full in (
        (nn.LazyLinear(2), nn.Linear(4, 2)),
        (nn.LazyConv1d(2, 2), nn.Conv1d(3, 2, 2)),
        (nn.LazyConvTranspose1d(2, 2), nn.ConvTranspose1d(3, 2, 2)),
        (nn.LazyBatchNorm1d(), nn.BatchNorm1d(3)),
        (nn.LazyBatchNorm1d(affine=False), nn.BatchNorm1d(3, affine=False)),
    ):
        full(x)  # whose statistics move
        assert lazy.load_state_dict(lazy.state_dict()) == ([], [])  # before there is a value
        lazy = pickle.loads(pickle.dumps(copy.deepcopy(lazy)))
        assert lazy.has_uninitialized_params() and type(lazy).__name__.startswith("Lazy")
        lazy.load_state_dict(full.state_dict())
        assert not lazy.has_uninitialized_params()
        drawn = torch.get_rng_state()
        assert torch.equal(lazy.eval()(x), full.eval()(x)) and type(lazy) is type(full)
        assert torch.equal(torch.get_rng_state(), drawn)


def test_a_lazy_layer_passes_on_all_that_it_is_called_with():
    layer = nn.LazyConvTranspose2d(4, 3, stride=2)
    assert layer(torch.ones(1, 3, 4, 4), output_size=(10, 10)).shape == (1, 4, 10, 10)


def test_a_state_of_an_older_version_lacks_the_number_of_batches():
    norm = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
    state = norm.state_dict()
    versions = {"": 1, "0": 1, "1": 2}
    assert state._metadata == {name: {"version": n} for name, n in versions.items()}
    norm[1].num_batches_tracked.fill_(7)
    del state["1.num_batches_tracked"]
    norm.load_state_dict(dict(state))
    assert norm[1].num_batches_tracked == 7 and norm.get_buffer("1.num_batches_tracked") == 7
    with pytest.raises(RuntimeError, match="Missing"):
        norm.load_state_dict(state)
    found = {}
    assert nn.Linear(1, 1).state_dict(destination=found, prefix="a.") is found
    assert list(found) == ["a.weight", "a.bias"]


def test_cells_and_layers_agree():
    torch.manual_seed(0)
    gru, cell = nn.GRU(3, 2), nn.GRUCell(3, 2)
    for p, q in zip(cell.parameters(), gru.parameters(), strict=True):
        p.data = q.data
    x = torch.rand(4, 1, 3)
    h = torch.zeros(1, 2)
    for step in x:
        h = cell(step, h)
    out, last = gru(x)
    assert torch.allclose(out[-1], h) and torch.allclose(last[0], h)
    both = nn.LSTM(3, 2, bidirectional=True)
    out, (h, c) = both(x)
    assert out.shape == (4, 1, 4) and h.shape == c.shape == (2, 1, 2)
    assert torch.allclose(out[0, :, 2:], h[1])


@family("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_a_sequence_goes_on_from_the_state_that_was_left(kind):
    torch.manual_seed(0)
    layer, x = kind(3, 2, num_layers=2), torch.rand(5, 2, 3)
    out, last = layer(x)
    first, between = layer(x[:2])
    then, end = layer(x[2:], between)
    assert torch.allclose(torch.cat([first, then]), out)
    assert torch.allclose(torch.cat(end), torch.cat(last)) if kind is nn.LSTM else (
        torch.allclose(end, last))  # fmt: skip
    single = tuple(s[:, 1] for s in between) if kind is nn.LSTM else between[:, 1]
    assert torch.allclose(layer(x[2:, 1], single)[0], then[:, 1])
    dropped = kind(3, 2, num_layers=2, dropout=1.0)
    assert not torch.equal(dropped(x)[0], dropped.eval()(x)[0])
    dropped.weight_ih_l1.data.zero_()  # what the second layer reads is dropped in training alone
    assert torch.equal(dropped(x)[0], dropped.train()(x)[0])


@family("kind, x, pair", [
    (nn.LSTM, torch.rand(4, 2, 3), torch.rand(2, 1, 2, 2)),
    (nn.LSTMCell, torch.rand(2, 3), torch.rand(2, 2, 2)),
])  # fmt: skip
def test_the_state_of_an_lstm_is_two_tensors_and_no_stack_of_a_batch_is_split(kind, x, pair):
    layer = kind(3, 2)
    first = layer(x, tuple(pair))[0]
    assert torch.equal(layer(x, list(pair))[0], first)
    for wrong, error in ((pair, TypeError), (pair[0], TypeError), ((pair[0],), RuntimeError)):
        with pytest.raises(error):
            layer(x, wrong)
    single = layer(x[:, 0] if kind is nn.LSTM else x[0], pair[..., 0, :])[0]
    assert torch.allclose(single, first[:, 0] if kind is nn.LSTM else first[0])


def test_forward_hooks_with_keywords_in_order_and_after_an_error():
    class Scaled(nn.Module):
        def forward(self, x, scale):
            return x * scale

    layer, seen = Scaled(), []
    changed = lambda m, args, kw: ((args[0] + 1,), {"scale": kw["scale"] * 2})  # noqa: E731
    layer.register_forward_pre_hook(changed, with_kwargs=True)
    layer.register_forward_pre_hook(lambda m, args, kw: seen.append(kw), with_kwargs=True)
    layer.register_forward_hook(lambda m, args, kw, out: out + kw["scale"], with_kwargs=True)
    layer.register_forward_hook(lambda m, args, out: seen.append("first"), prepend=True)
    layer.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    assert layer(torch.tensor(1.0), scale=3.0).item() == 18
    assert seen == [{"scale": 6.0}, "first", torch.tensor(18.0)]
    with pytest.raises(TypeError):
        layer(torch.tensor(1.0), scale=[])
    assert seen[3:] == [{"scale": []}, None]


def test_a_norm_over_no_dimension_is_refused_where_it_is_called():
    for layer in (nn.LayerNorm(()), nn.RMSNorm(())):
        assert layer.weight.shape == ()
        with pytest.raises(RuntimeError, match="at least 1-dimensional"):
            layer(torch.tensor([2.0, 5.0]))


def test_hooks_that_are_always_called_see_what_there_is_by_then():
    class Halved(nn.Module):
        def forward(self, x):
            return x / 2

    def fails(*_):
        raise ValueError("the first")

    layer, seen = Halved(), []
    layer.register_forward_pre_hook(lambda m, args: (args[0] + 3,))
    layer.register_forward_hook(lambda m, args, out: out * 10)
    layer.register_forward_hook(fails)
    layer.register_forward_hook(lambda m, args, out: out + 1, always_call=True)
    layer.register_forward_hook(lambda m, args, out: seen.append((*args, out)), always_call=True)
    layer.register_forward_hook(lambda *_: {}["gone"], always_call=True)
    with pytest.warns(UserWarning, match="silenced.*gone"), pytest.raises(ValueError):
        layer(torch.tensor(1.0))
    assert seen == [(4.0, 21.0)]
    layer.forward = lambda x: sys.exit()
    with pytest.raises(SystemExit):  # not an error of the computation
        layer(torch.tensor(1.0))
    assert len(seen) == 1


def test_hooks_of_all_modules_see_and_replace_what_is_kept():
    kinds, seen = ("parameter", "buffer", "module"), []
    register = {kind: getattr(every, f"register_module_{kind}_registration_hook") for kind in kinds}
    note = {kind: partial(lambda kind, m, n, v: seen.append((kind, n)), kind) for kind in kinds}
    swapped = nn.Tanh()
    with ExitStack() as stack:
        for kind in kinds:
            stack.enter_context(register[kind](note[kind]))
        m = nn.BatchNorm1d(2, track_running_stats=False)
        assert sorted(seen) == [("buffer", "num_batches_tracked"), ("buffer", "running_mean"),
                                ("buffer", "running_var"), ("parameter", "bias"),
                                ("parameter", "weight")]  # fmt: skip
        seen.clear()
        m.bias, m.running_mean = None, torch.ones(2)
        m.last = nn.ReLU()
        assert seen == [("buffer", "running_mean"), ("module", "last")]
        stack.enter_context(register["module"](lambda m, name, child: swapped))
        stack.enter_context(register["buffer"](lambda m, name, value: value + 1))
        m.last, m.running_var = nn.ReLU(), torch.ones(1)
        assert m.last is swapped and m.running_var.item() == 2
    m.last = nn.ReLU()
    assert m.last is not swapped


def test_backward_hooks_of_all_modules_are_of_one_form():
    layer, seen = nn.Sigmoid(), []
    layer.register_backward_hook(lambda *_: seen.append("its own"))
    x = torch.zeros(1, requires_grad=True)
    double = lambda m, gi, go: (seen.append("all"), (gi[0] * 2,))[1]  # noqa: E731
    with every.register_module_backward_hook(double):
        with pytest.raises(RuntimeError, match="as a global Module hook"):
            every.register_module_full_backward_hook(double)
        layer(x * 1).backward()
    assert seen == ["all", "its own"] and x.grad.item() == 0.5
    with every.register_module_full_backward_hook(double), pytest.raises(RuntimeError):
        every.register_module_backward_hook(double)
    picked = nn.Identity()  # the hook is at the node of the first tensor, which has none here
    picked.register_backward_hook(lambda *_: seen.append("none"))
    picked((x.detach(), x * 2))[1].backward()
    assert len(seen) == 2


def test_containers_join_and_lose_what_they_hold():
    a, b = nn.ReLU(), nn.Tanh()
    joined = nn.Sequential(a) + nn.Sequential(b)
    assert [*joined] == [a, b] and [*joined[1:]] == [b]
    assert joined.pop(0) is a and [*joined] == [b]
    assert [*(nn.ModuleList([a]) + nn.ModuleList([b]))] == [a, b]
    named = nn.ParameterDict({"p": torch.ones(2)})
    named["q"] = torch.zeros(1)
    assert [*reversed(named)] == ["q", "p"] and [v.shape[0] for v in named.values()] == [2, 1]
    assert named.pop("p").tolist() == [1, 1] and [n for n, _ in named.named_parameters()] == ["q"]
    named.clear()
    assert not len(named) and not [*named.parameters()]
    held = nn.ParameterList([torch.ones(1), torch.ones(2)])
    assert held[1].shape == (2,) and len(held[1:]) == 1 and [len(p) for p in held] == [1, 2]


def test_a_second_parametrization_inverts_what_it_makes():
    class Twice(nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, y):
            seen.append(y.item())
            return y / 2

    seen = []
    layer = nn.Linear(1, 1)
    nn.init.constant_(layer.weight, 8.0)
    for _ in range(2):
        parametrize.register_parametrization(layer, "weight", Twice())
    assert seen == [8.0, 16.0] and layer.weight.item() == 16.0


def test_the_original_of_a_parametrization_may_be_computed_and_of_another_shape():
    class Diagonal(nn.Module):
        def forward(self, x):
            return x.diag() * 2

        def right_inverse(self, y):
            return y.diagonal() / 2

    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Diagonal())
    held = layer.parametrizations.weight
    parametrize.register_parametrization(held, "original", nn.Tanh())
    assert list(layer.state_dict()) == [
        "bias", "parametrizations.weight.parametrizations.original.original"
    ]  # fmt: skip
    inner = held.parametrizations.original.original
    with torch.no_grad():
        inner.copy_(torch.tensor([1.0, 2.0]))
    layer.weight.sum().backward()
    assert torch.equal(layer.weight, 2 * inner.tanh().diag())
    torch.testing.assert_close(inner.grad, 2 - 2 * inner.tanh().detach() ** 2)
    layer = nn.Linear(2, 2)
    with pytest.raises(
        ValueError, match=r"^Registering a parametrization may not change the shape"
    ):
        parametrize.register_parametrization(layer, "weight", nn.Flatten(0))


def test_parametrizations_come_and_go():
    class Exp(nn.Module):
        def forward(self, x):
            return x.exp()

        def right_inverse(self, y):
            return y.log()

    layer = nn.Linear(1, 1)
    torch.nn.init.constant_(layer.weight, 3.0)
    before = layer.weight
    parametrize.register_parametrization(layer, "weight", Exp())
    assert layer.parametrizations.weight.original is before  # which an optimizer may have
    assert abs(layer.weight.item() - 3.0) < 1e-6
    layer.weight.sum().backward()
    assert layer.parametrizations.weight.original.grad is not None
    late = layer.parametrizations.weight.original.square().sum()
    layer.weight = torch.tensor([[5.0]])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        late.backward()
    assert abs(layer.weight.item() - 5.0) < 1e-6
    copied = copy.deepcopy(layer)
    assert copied.weight.tolist() == layer.weight.tolist()
    assert copied.parametrizations.weight.original is not before
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(layer)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and layer.weight is before
    layer.register_buffer("kept", torch.ones(2))
    nn.utils.parametrizations.weight_norm(layer, "kept")
    parametrize.remove_parametrizations(layer, "kept")
    assert "kept" in layer._buffers
    with pytest.raises(ValueError, match="does not have a parameter"):
        parametrize.register_parametrization(layer, "nothing", Exp())


def test_functional_call_leaves_the_module_as_it_was():
    layer = nn.Linear(2, 1)
    before = layer.weight
    with pytest.raises(RuntimeError):
        torch.func.functional_call(layer, {"weight": torch.ones(1, 3)}, (torch.ones(1, 2),))
    assert layer.weight is before
    plain = layer(torch.ones(1, 2))
    assert torch.equal(torch.func.functional_call(layer, {"w": before}, (torch.ones(1, 2),)), plain)
    with pytest.raises(RuntimeError, match=r"reparametrizing for Linear:\n\tMissing key"):
        torch.func.functional_call(layer, {"weight": before}, torch.ones(1, 2), strict=True)
    parts = ({"weight": torch.ones(1, 2)}, {"bias": torch.ones(1)})
    assert torch.func.functional_call(layer, parts, torch.ones(1, 2)).item() == 3


def test_walks_along_names_of_a_module_inside_itself_end():
    m = nn.Sequential(nn.Linear(1, 1, bias=False))
    m[0].around = m
    for walk in (
        lambda: list(m.named_parameters(remove_duplicate=False)),
        lambda: list(m.named_modules(remove_duplicate=False)),
        m.state_dict,
        lambda: m.load_state_dict({}),
        lambda: m.apply(print),
        lambda: repr(m),
        lambda: torch.func.functional_call(m, {}, torch.ones(1)),
    ):
        with pytest.raises(RecursionError):
            walk()
    assert len(list(copy.deepcopy(m).modules())) == len(list(m.parameters())) + 1 == 2
    for name in ("0.weight", "0.around.0.weight"):
        given = {name: torch.full((1, 1), 3.0)}
        assert torch.func.functional_call(m, given, torch.ones(1), tie_weights=False) == 3


class Counting(nn.Module):
    """A module that reassigns a buffer, and reads an attribute that it may not have."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))
        self.step = 1.0

    def forward(self, x):
        self.seen = self.seen + self.step
        return x + self.extra


def test_functional_call_passes_on_what_the_module_assigned():
    call, x = torch.func.functional_call, torch.zeros(1)
    inner = Counting()
    state = {"0.seen": x, "0.extra": x + 2}
    assert call(nn.Sequential(inner, inner), state, x).item() == 4
    assert state["0.seen"].item() == 2 and inner.seen.item() == 0 and not hasattr(inner, "extra")
    for named, said in (
        ({"step": x}, "attribute `step`: 1.0 is not"),
        ({"extra": x, "seen": 1.0}, "1.0 is not an instance"),
    ):
        with pytest.raises(TypeError, match=said):
            call(inner, named, x)
        assert inner.seen.item() == 0 and not hasattr(inner, "extra")
    tied = nn.Linear(1, 1)
    tied.same = tied.bias
    assert call(tied, {"weight": x[None], "same": x + 3}, x, strict=True).item() == 3
    assert call(nn.Linear(1, 1, bias=False), {"weight": x[None], "bias": x + 3}, x).item() == 3


def test_clipping_by_a_norm_of_more():
    x = torch.zeros(2, requires_grad=True)
    x.grad = torch.tensor([3.0, 4.0])
    nn.utils.clip_grads_with_norm_([x], 1.0, torch.tensor(10.0))
    np.testing.assert_allclose(x.grad.numpy(), [0.3, 0.4], rtol=1e-6)
    with pytest.raises(TypeError, match="expected"):
        nn.utils.vector_to_parameters([1.0], [x])
    with pytest.raises(RuntimeError, match="not empty"):
        nn.utils.clip_grad_value_([torch.ones(1)], 1.0)


def test_clipping_an_endless_norm():
    x = torch.ones(1, requires_grad=True)
    x.grad = torch.tensor([np.inf], dtype=torch.float32)
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_(x, 1.0, error_if_nonfinite=True)
    assert not nn.utils.get_total_norm([x]).requires_grad


def test_clipping_warns_of_parameters_that_are_used_up():
    named = nn.Linear(1, 1).parameters()
    list(named)
    with pytest.warns(UserWarning, match="empty generator"):
        nn.utils.clip_grad_norm_(named, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.utils.clip_grad_norm_((), 1.0)
        nn.utils.clip_grad_norm_(nn.Linear(1, 1).parameters(), 1.0)


def test_an_override_that_registers_buffers_need_not_know_of_persistence():
    class Counted(nn.Module):
        def register_buffer(self, name, tensor):
            super().register_buffer("of_" + name, tensor)

    m = Counted()
    m.mean = nn.Buffer(torch.ones(2))
    assert list(m.state_dict()) == ["of_mean"]
    with pytest.raises(TypeError, match="positional"):
        m.mean = nn.Buffer(torch.ones(2), persistent=False)


def test_completion_offers_no_numbers():
    names = dir(nn.Sequential(nn.Linear(1, 1)))
    assert "0" not in names and "append" in names


def test_a_projection_is_of_the_state_that_is_passed_on():
    torch.manual_seed(0)
    lstm, x = nn.LSTM(2, 4, proj_size=3, num_layers=2), torch.randn(5, 1, 2)
    assert [len(weights) for weights in lstm.all_weights] == [5, 5]
    out, (h, c) = lstm(x)
    values = x
    for layer in range(2):
        w, u, b, d, r = (
            getattr(lstm, f"{name}_l{layer}")
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        )
        state, cell, found = torch.zeros(1, 3), torch.zeros(1, 4), []
        for value in values:
            i, f, g, o = (value @ w.T + b + state @ u.T + d).chunk(4, -1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            state = (o.sigmoid() * cell.tanh()) @ r.T
            found.append(state)
        values = torch.stack(found)
        assert torch.allclose(h[layer], state) and torch.allclose(c[layer], cell)
    assert out.shape == (5, 1, 3) and torch.allclose(out, values)


def test_one_sample_without_a_batch():
    x = torch.arange(32.0).reshape(2, 4, 4).sin()
    for function in (nn.InstanceNorm2d(2), lambda x: nn.functional.unfold(x, 2)):
        assert torch.equal(function(x), function(x[None])[0])
    assert torch.equal(nn.InstanceNorm1d(2)(x[0, :2]), nn.InstanceNorm1d(2)(x[:1, :2])[0])


def test_an_empty_batch_leaves_the_statistics():
    norm = nn.BatchNorm1d(3)
    norm(torch.zeros(0, 3, 4))
    assert norm.running_mean.tolist() == [0, 0, 0] and norm.running_var.tolist() == [1, 1, 1]
    assert norm.num_batches_tracked == 1
    norm = nn.InstanceNorm1d(3, track_running_stats=True)
    assert norm(torch.zeros(1, 3, 0)).shape == (1, 3, 0) and norm.running_var.tolist() == [1, 1, 1]
    assert norm(torch.zeros(0, 3, 4)).shape == (0, 3, 4) and norm.running_mean.isnan().all()
    spread = nn.ConvTranspose1d(2, 1, 2, stride=2, output_padding=2)
    assert spread(torch.zeros(0, 2, 3)).shape == (0, 1, 8)


def test_an_infinite_variance_that_was_given_leaves_0():
    norm = nn.BatchNorm1d(2).eval()
    norm.running_var.copy_(torch.tensor([float("inf"), 1.0]))
    assert norm(torch.ones(3, 2))[:, 0].tolist() == [0, 0, 0]


@pytest.mark.filterwarnings("ignore:size_average")
def test_older_arguments_of_losses_are_a_reduction():
    loss = nn.L1Loss(size_average=False)
    assert loss.reduction == "sum" and nn.NLLLoss(reduce=False).reduction == "none"
    loss.reduction = "none"
    assert loss(torch.ones(2), torch.zeros(2)).tolist() == [1, 1]


def test_an_empty_batch_is_normalised_by_a_weight_alone():
    x = torch.zeros(0, 3, requires_grad=True)
    for affine in (False, True):
        y = nn.BatchNorm1d(3, affine=affine)(x)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        assert y.shape == (0, 3) and y.requires_grad and g.requires_grad is affine


def test_normalisations_of_halves_are_computed_in_float32_and_rounded_once():
    x = torch.tensor([[100.0, 1.0], [3.0, -700.0], [0.1, 2.0]], dtype=torch.float16)
    x.requires_grad_()
    weight, bias = torch.tensor([30.0, 0.1], requires_grad=True), torch.tensor([1.0, 2.0])
    affine, kept = {"weight": weight, "bias": bias}, (torch.ones(2), torch.tensor([2.0, 9e4]))
    trained = [[43.40625, 2.0703125], [-19.265625, 1.8583984375], [-21.140625, 2.0703125]]
    rows = [[31.0, 1.900390625], [31.0, 1.900390625], [-29.0, 2.099609375]]
    F = nn.functional
    found = {
        F.batch_norm(x, *kept, training=True, **affine): trained,
        F.instance_norm(x.T[None], **affine): [[list(row) for row in zip(*trained, strict=True)]],
        F.layer_norm(x, (2,), **affine): rows,
        F.group_norm(x, 1, **affine): rows,
        torch.native_layer_norm(x, (2,), weight, bias, 1e-5)[0]: rows,
    }
    for out, want in found.items():
        assert out.dtype is torch.float16 and out.tolist() == want
        by = torch.autograd.grad(out.sum(), (x, weight))
        assert [g.dtype for g in by] == [torch.float16, torch.float32]
    assert F.batch_norm(x, *kept, **affine).dtype is torch.float16
    for norm in ("batch_norm", "instance_norm"):  # torch's has the affine map first
        more, first = (*kept, weight, bias, False, 0.1, 1e-5), (weight, bias, *kept)
        out = getattr(torch, norm)(x.T[None], *first, False, 0.1, 1e-5, False)
        assert out.equal(getattr(F, norm)(x.T[None], *more))
    assert torch.native_batch_norm(x, weight, bias, *kept, True, 0.1, 1e-5)[1].dtype is weight.dtype
    for wrong, more in ((x, affine | {"bias": bias.half()}), (x.double(), affine)):
        for norm, given in ((F.batch_norm, wrong), (F.instance_norm, wrong.T[None])):
            with pytest.raises(RuntimeError, match="mixed dtype"):
                norm(given, *kept, **more)


@family(
    "options, error, said",
    [
        ({"attn_mask": torch.ones(3)}, AssertionError, "2-D or 3-D but found 1-D tensor"),
        ({"attn_mask": torch.ones(3, 3, dtype=torch.int64)}, AssertionError, "only bool and float"),
        ({"attn_mask": torch.ones(1, 3)}, RuntimeError, "should be (3, 3)"),
        ({"attn_mask": torch.ones(4, 3, 2)}, RuntimeError, "should be (4, 3, 3)"),
        ({"key_padding_mask": torch.zeros(3)}, AssertionError, "`None` or 2-D but found 1-D"),
        ({"key_padding_mask": torch.zeros(1, 3)}, AssertionError, "to be (2, 3) but got"),
        (
            dict.fromkeys(("query", "key", "value"), torch.ones(3, 4))
            | {"attn_mask": torch.ones(4, 3, 3)},
            AssertionError,
            "Expected `attn_mask` shape to be (2, 3, 3) but got",
        ),
        ({"key": torch.ones(1, 3, 4), "value": torch.ones(1, 3, 4)}, RuntimeError, "sequences"),
        ({"query": torch.ones(1, 2, 3, 4)}, AssertionError, "received 4-D query tensor"),
        ({"key": torch.ones(3, 4)}, AssertionError, "found 2-D and 3-D tensors respectively"),
    ],
)
def test_attention_broadcasts_no_mask(options, error, said):
    x = torch.ones(2, 3, 4)
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    with pytest.raises(error, match=re.escape(said)):
        attention(**{"query": x, "key": x, "value": x} | options)


def test_attention_adds_no_bias_to_what_stands_in_place():
    x, b, k = torch.ones(3, 2, 4), torch.ones(1, 1, 4), torch.ones(4, 3, 2)
    given = (x, x, x, 4, 2, torch.ones(12, 4), None, b, b, False, 0.0, torch.ones(4, 4), None)
    for name in ("key", "value"):
        with pytest.raises(AssertionError, match=f"bias cannot be added to static {name}."):
            nn.functional.multi_head_attention_forward(*given, **{f"static_{name[0]}": k})


def test_pools_of_no_window():
    x = torch.ones(1, 2, 3, requires_grad=True)
    for pool in (nn.functional.adaptive_avg_pool1d, nn.functional.adaptive_max_pool1d):
        y = pool(x, 0)
        assert y.shape == (1, 2, 0)
        with pytest.raises(RuntimeError, match="non-zero size for non-batch dim"):
            torch.autograd.grad(y.sum(), x)
        with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
            pool(x, 2**62 - 1)


def test_the_gradients_of_convolutions_are_functions():
    x, w = (torch.randn(*s, dtype=torch.double, requires_grad=True) for s in ((1, 4, 7), (2, 2, 3)))
    options = {"stride": 2, "padding": 1, "groups": 2}
    out = nn.functional.conv1d(x, w, **options)
    g = torch.randn(*out.shape, dtype=torch.double, requires_grad=True)
    by_x, by_w = torch.autograd.grad(out, (x, w), g)
    assert torch.allclose(nn.grad.conv1d_input(x.shape, w, g, **options), by_x)
    assert torch.allclose(nn.grad.conv1d_weight(x, w.shape, g, **options), by_w)
    assert torch.autograd.gradcheck(
        lambda w, g: nn.grad.conv1d_input(x.shape, w, g, **options), (w, g)
    )


def test_a_transposed_convolution_of_long_strides_needs_memory_for_its_windows_alone():
    layer = nn.ConvTranspose3d(1, 1, kernel_size=16, stride=16, padding=7, bias=False)
    nn.init.ones_(layer.weight)
    x = torch.ones(1, 4, 5, 5, requires_grad=True)
    y = layer(x, output_size=(1, 64, 67, 80))
    assert y.shape == (1, 64, 67, 80) and y[0, :57, :, :73].eq(1).all()
    assert y[0, 57:].eq(0).all() and y[0, :, :, 73:].eq(0).all()
    y.sum().backward()
    assert x.grad[0, 0, 0, 0] == 9 * 9 * 9 and x.grad[0, 1, 1, 1] == 16**3
    wide = nn.functional.conv_transpose2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 400, 400))
    assert wide.sum() == 4 * 400**2 and wide[0, 0, 0, 0] == 1 and wide[0, 0, 1, 1] == 4


def test_transposed_convolutions_of_overlapping_windows_have_every_derivative():
    x, w, b = (
        torch.randn(*s, dtype=torch.double, requires_grad=True)
        for s in ((1, 2, 3, 2), (2, 1, 2, 3), (2,))
    )
    options = {"stride": (2, 1), "padding": (1, 2), "output_padding": (1, 2), "groups": 2}

    def turned(x, w, b):
        return nn.functional.conv_transpose2d(x, w, b, **options, dilation=(1, 3))

    assert torch.autograd.gradcheck(turned, (x, w, b), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(turned, (x, w, b))
    forward = nn.functional.conv2d(
        g := torch.randn(turned(x, w, b).shape, dtype=torch.double), w, stride=(2, 1),
        padding=(1, 2), groups=2, dilation=(1, 3),
    )  # fmt: skip
    assert torch.allclose(torch.autograd.grad(turned(x, w, b), x, g)[0], forward[..., :2])


def test_a_convolution_of_time_first():
    x, w, b = (torch.randn(*s, dtype=torch.double) for s in ((5, 2, 3), (2, 3, 4), (4,)))
    want = nn.functional.conv1d(x.permute(1, 2, 0), w.permute(2, 1, 0), b, padding=1)
    assert torch.allclose(torch.conv_tbc(x, w, b, 1), want.permute(2, 0, 1))


@family("name, rank", [("dropout2d", 2), ("dropout2d", 3), ("dropout3d", 3)])
def test_dropout_of_channels_warns_of_ranks(name, rank):
    with pytest.warns(UserWarning, match=f"{name}: Received a {rank}-?D input"):
        getattr(nn.functional, name)(torch.ones((2,) * rank))


def test_dropout_of_nothing_and_without_a_batch():
    empty, x = torch.ones(0, 2, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    assert nn.Dropout(0.5)(empty) is empty
    assert nn.functional.dropout1d(x, training=False).grad_fn.name() == "SqueezeBackward1"
    y = x * 1
    assert nn.functional.dropout1d(y, 1.0, inplace=True) is y and y.tolist() == [[0.0] * 3] * 2
    assert nn.Dropout(0.5, inplace=True)(x * 1).grad_fn.name() == "MulBackward0"


def test_dropout_with_its_mask():
    x = torch.ones(100, requires_grad=True)
    out, mask = torch.native_dropout(x, 0.2, True)
    assert out.tolist() == (mask * 1.25).tolist() and 50 < mask.sum() < 100
    assert torch.autograd.grad(out.sum(), x)[0].equal(out)
    out, mask = torch.native_dropout(x, 0.2, False)
    assert out.equal(x) and mask.all() and out.grad_fn.name() == "NativeDropoutBackward0"


def test_parametrizations_go_over_to_another_module():
    class Double(nn.Module):
        def forward(self, x):
            return 2 * x

    one, other = nn.Linear(2, 3), nn.Linear(2, 3)
    parametrize.register_parametrization(one, "weight", Double())
    assert parametrize.transfer_parametrizations_and_params(one, other) is other
    assert torch.equal(one.weight, other.weight)
    assert one.parametrizations.weight.original is other.parametrizations.weight.original


@family("dim, sizes", [(0, (3, 1)), (1, (1, 2)), (None, ())])
def test_a_weight_is_its_norm_and_its_direction(dim, sizes):
    layer = nn.Linear(2, 3)
    before, start = layer.weight, layer.weight.detach().clone()
    nn.utils.parametrizations.weight_norm(layer, dim=dim)
    held = layer.parametrizations.weight
    assert held.original1 is not before
    assert held.original0.shape == sizes
    assert torch.allclose(layer.weight, start)
    with torch.no_grad():
        held.original1.mul_(5.0)
    assert torch.allclose(layer.weight, start)


def test_a_vector_of_weights_has_a_norm_for_each():
    net = nn.Module()
    net.weight = nn.Parameter(torch.tensor([1.0, 2.0, -3.0]))
    nn.utils.parametrizations.weight_norm(net)
    assert net.parametrizations.weight.original0.tolist() == [1, 2, 3]
    assert net.weight.tolist() == [1, 2, -3]


def test_a_module_put_at_a_name():
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU()))
    net.set_submodule("1.0", nn.Tanh(), strict=True)
    net.set_submodule("1.more", nn.Sigmoid())
    assert isinstance(net[1][0], nn.Tanh) and isinstance(net[1].more, nn.Sigmoid)
    for target, module, strict, kind in (
        ("", nn.Tanh(), False, ValueError), ("0", 3, False, ValueError),
        ("1.none", nn.Tanh(), True, AttributeError), ("0.weight", nn.Tanh(), False, AttributeError),
    ):  # fmt: skip
        with pytest.raises(kind):
            net.set_submodule(target, module, strict)


def test_a_negative_eps_is_refused_outside_training_too():
    with pytest.raises(ValueError, match="non-negative"):
        torch.nn.BatchNorm1d(3, eps=-0.5).eval()(torch.ones(2, 3))


def test_what_replaces_a_buffer_is_saved():
    for other in (nn.Parameter(torch.ones(2)), nn.Linear(1, 1), nn.Buffer()):
        m = nn.Module()
        m.a = nn.Buffer(torch.zeros(2), persistent=False)
        assert not m.state_dict()
        m.a = other
        assert m.state_dict()


def test_names_of_what_a_module_keeps_are_texts():
    m = nn.Module()
    for keep, what in (
        (m.register_buffer, "buffer"), (m.register_parameter, "parameter"), (m.add_module, "module")
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"{what} name should be a string. Got int"):
            keep(1, None)


def test_files_of_modules_have_pytorchs_names():
    assert nn.modules.module.Module is nn.Module
    assert nn.modules.linear.Linear is nn.Linear


@family("make", (
    lambda d: nn.Linear(2, 3, device=d), lambda d: nn.Bilinear(1, 1, 1, device=d),
    lambda d: nn.Conv2d(1, 2, 2, device=d), lambda d: nn.ConvTranspose1d(1, 2, 2, device=d),
    lambda d: nn.BatchNorm1d(2, device=d), lambda d: nn.LayerNorm(2, device=d),
    lambda d: nn.RMSNorm(2, device=d), lambda d: nn.GroupNorm(1, 2, device=d),
    lambda d: nn.LSTM(2, 3, device=d), lambda d: nn.GRUCell(2, 3, device=d),
    lambda d: nn.Embedding(2, 2, device=d), lambda d: nn.PReLU(device=d),
    lambda d: nn.MultiheadAttention(2, 1, device=d),
))  # fmt: skip
def test_a_layer_is_made_on_the_device_that_is_asked_for(make):
    assert next(make("cpu").parameters()).device.type == "cpu"
    with pytest.raises(RuntimeError, match="no device 'meta'"):
        make("meta")
    with pytest.raises(TypeError, match="must be torch\\.device, not float"):
        make(1.5)


@family("make, shape", (
    (lambda n: nn.AvgPool1d(n, n), (1, 2, 3)), (lambda n: nn.AdaptiveAvgPool1d(n), (1, 2, 2)),
    (lambda n: nn.AdaptiveMaxPool1d(n), (1, 2, 2)), (lambda n: nn.Conv1d(2, 2, n), (1, 2, 5)),
    (lambda n: nn.LayerNorm(n + 4), (1, 2, 6)), (lambda n: nn.RMSNorm(n + 4), (1, 2, 6)),
    (lambda n: nn.Linear(n + 4, n), (1, 2, 2)),
))  # fmt: skip
def test_sizes_of_layers_may_be_numpys_whole_numbers(make, shape):
    assert make(np.int64(2))(torch.ones(1, 2, 6)).shape == shape


def test_parameters_are_written_once_when_a_layer_is_made():
    layers = (
        nn.LayerNorm(2), nn.RMSNorm(2), nn.GroupNorm(1, 2), nn.BatchNorm1d(2), nn.PReLU(2),
        nn.InstanceNorm1d(2, affine=True), nn.Linear(2, 2),
    )  # fmt: skip
    for layer in layers:
        assert {p._version for p in (*layer.parameters(), *layer.buffers())} == {1}, layer
    prelu, rms = nn.PReLU(2, 0.5), nn.RMSNorm(2)
    for layer, first in ((prelu, [0.5, 0.5]), (rms, [1.0, 1.0])):
        layer.weight.data.mul_(7)
        layer.reset_parameters()
        assert layer.weight.tolist() == first


def test_a_layer_norm_of_no_dimensions_refuses_its_input_alone():
    for module in (nn.LayerNorm(()), nn.RMSNorm(())):
        assert module.weight.shape == ()
        with pytest.raises(RuntimeError, match="at least 1"):
            module(torch.tensor(1.0))


def test_bytes_are_interpolated_where_there_are_kernels():
    for mode, rank in (("linear", 1), ("trilinear", 3), ("area", 2)):
        with pytest.raises(NotImplementedError, match="not implemented for 'Byte'"):
            nn.functional.interpolate(torch.ones(1, 1, *[2] * rank).to(torch.uint8), 3, mode=mode)
    assert nn.functional.interpolate(
        torch.ones(1, 1, 2, 2).to(torch.uint8), 3, mode="bicubic"
    ).all()


def test_an_error_of_a_wrong_call_names_no_private_class():
    layers = [getattr(nn, name) for name in nn.__all__ if name[0].isupper()]
    layers = [cls for cls in layers if issubclass(cls, nn.Module)]
    assert len(layers) > 100
    for cls in layers:
        for function in (cls.__init__, cls.forward):
            assert not function.__qualname__.startswith("_"), cls
    with pytest.raises(TypeError, match=r"^Conv2d\.__init__\(\) missing 3 required"):
        nn.Conv2d()
    with pytest.raises(TypeError, match=r"^GRU\.forward\(\) missing 1 required"):
        nn.GRU(2, 3)()


def test_named_results_keep_their_names_through_backward_hooks():
    pair = namedtuple("pair", "double square")

    class Both(nn.Module):
        def forward(self, x):
            return pair(2 * x, x * x)

    both, seen = Both(), []
    both.register_full_backward_hook(lambda _module, _given, grads: seen.append(grads))
    x = torch.tensor(3.0, requires_grad=True)
    found = both(x)
    assert isinstance(found, pair)
    found.square.backward()
    assert x.grad == 6 and seen == [(None, 1)]
