"""The graph itself: names, links, long chains, and that nothing of it stays behind."""

from __future__ import annotations

import gc
import re
import tracemalloc
import weakref

import numpy as np
import pytest

import gradcli as torch
from gradcli.engine.graph.node import AccumulateGrad
from gradcli.nn import functional as F
from tests.support.families import family

TWO = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


@family("make, name", [
        (lambda x: x + 1, "AddBackward0"), (lambda x: x * 2, "MulBackward0"),
            (lambda x: x / 2, "DivBackward0"),
        (lambda x: x - 1, "SubBackward0"), (lambda x: 1 - x, "RsubBackward1"),
            (lambda x: x**2, "PowBackward0"),
        (lambda x: x**x, "PowBackward1"), (lambda x: 2**x, "PowBackward2"),
            (lambda x: -x, "NegBackward0"),
        (lambda x: x.sum(), "SumBackward0"), (lambda x: x.sum(0), "SumBackward1"),
        (lambda x: x.mean(), "MeanBackward0"), (lambda x: x.mean(0), "MeanBackward1"),
        (lambda x: x.view(4), "ViewBackward0"), (lambda x: x.reshape(4), "ViewBackward0"),
        (lambda x: torch.dot(x[0], x[1]), "DotBackward0"), (lambda x: x @ x, "MmBackward0"),
        (lambda x: x @ x[0], "MvBackward0"), (lambda x: x.mT, "TransposeBackward0"),
            (lambda x: x.T, "PermuteBackward0"),
        (lambda x: x[0], "SelectBackward0"), (lambda x: x[0:1], "SliceBackward0"),
        (lambda x: x[torch.tensor([0])], "IndexBackward0"),
            (lambda x: torch.sin(x), "SinBackward0"),
        (lambda x: torch.exp(x), "ExpBackward0"), (lambda x: torch.relu(x), "ReluBackward0"),
        (lambda x: torch.rsub(x, 2, alpha=3), "RsubBackward1"),
        (lambda x: F.cross_entropy(x, TWO), "DivBackward1"),
        (lambda x: F.cross_entropy(x, TWO, reduction="sum"), "NegBackward0"),
        (lambda x: F.cross_entropy(x, TWO, reduction="none"), "NegBackward0"),
        (lambda x: x.rot90(0), "Rot90Backward0"), (lambda x: x.rot90(3), "Rot90Backward0"),
        (lambda x: torch.linalg.solve(x, TWO, left=False), "LinalgSolveExBackward0"),
        (lambda x: torch.linalg.lstsq(x, TWO).solution, "LinalgLstsqBackward0"),
        (lambda x: torch.linalg.lstsq(x, TWO).residuals, "LinalgLstsqBackward0"),
        (lambda x: torch.sigmoid(x), "SigmoidBackward0"),
            (lambda x: x.norm(), "LinalgVectorNormBackward0"),
        (lambda x: x.clone(), "CloneBackward0"), (lambda x: x.double(), "ToCopyBackward0"),
        (lambda x: x.expand(2, 2, 2), "ExpandBackward0"),
            (lambda x: torch.cat([x, x]), "CatBackward0"),
        (lambda x: torch.stack([x, x]), "StackBackward0"),
            (lambda x: torch.where(x > 1, x, x), "WhereBackward0"),
        (lambda x: x.unsqueeze(0), "UnsqueezeBackward0"),
            (lambda x: x.transpose(0, 1), "TransposeBackward0"),
        (lambda x: x.prod(), "ProdBackward0"), (lambda x: x.prod(0), "ProdBackward1"),
        (lambda x: x.view(1, 4).squeeze(), "SqueezeBackward0"),
            (lambda x: x.view(1, 4).squeeze(0), "SqueezeBackward1"),
        (lambda x: x % 2, "RemainderBackward0"), (lambda x: x % x, "RemainderBackward1"),
        (lambda x: x.xlogy(2), "XlogyBackward2"), (lambda x: torch.xlogy(2, x), "XlogyBackward1"),
        (lambda x: x[0] @ x[1], "DotBackward0"), (lambda x: x[:, 1], "SelectBackward0"),
        (lambda x: x[1, 0:1], "SliceBackward0"), (lambda x: x[..., None], "UnsqueezeBackward0"),
        (lambda x: x[:], "SliceBackward0"), (lambda x: x[...], "AliasBackward0"),
            (lambda x: x[x > 2], "IndexBackward0"),
        (lambda x: x.clamp(0, 1), "ClampBackward1"), (lambda x: torch.log1p(x), "Log1PBackward0"),
        (lambda x: x.square(), "PowBackward0"), (lambda x: x.amax(), "AmaxBackward0"),
        (lambda x: torch.softmax(x, 0), "SoftmaxBackward0"),
            (lambda x: x.cumsum(0), "CumsumBackward0"),
        (lambda x: F.margin_ranking_loss(x, -x, x, reduction="none"), "ClampMinBackward0"),
        (lambda x: F.triplet_margin_loss(x, -x, x, reduction="none"), "ClampMinBackward0"),
        (lambda x: x.masked_fill(x > 1, x[0, 0]), "MaskedFillBackward1"),
        (lambda x: x.index_fill(0, torch.tensor([0]), x[0, 0]), "IndexFillBackward1"),
        (lambda x: x.scatter(0, torch.tensor([[0]]), 1.0), "ScatterBackward1"),
        (lambda x: x.clamp_min(x), "ClampMinBackward1"),
            (lambda x: torch.rsub(x, x), "RsubBackward0"),
        (lambda x: torch.meshgrid(x[0], x[1], indexing="xy")[0], "ExpandBackward0"),
        (lambda x: torch.linalg.matrix_norm(x, "nuc"), "SumBackward1"),
        (lambda x: torch.linalg.matrix_norm(x, 1), "AmaxBackward0"),
        (lambda x: x.quantile(0.5), "SqueezeBackward4"), (lambda x: x.cov(), "SqueezeBackward0"),
        (lambda x: x[0].vdot(x[1]), "VdotBackward0"), (lambda x: F.celu(x), "CeluBackward0"),
        (lambda x: F.pairwise_distance(x, x), "NormBackward1"), (F.softsign, "DivBackward0"),
        (lambda x: F.lp_pool1d(x, 2, 1), "PowBackward0"),
            (lambda x: F.unfold(x[None], 1), "Im2ColBackward0"),
        (lambda x: F.interpolate(x[None, None], 3, mode="bicubic", antialias=True),
         "UpsampleBicubic2DAaBackward0"),
        (torch.fft.rfftn, "FftR2CBackward0"), (lambda x: torch.istft(
            torch.complex(x, x), 2, 1, length=9), "ConstantPadNdBackward0"),
    ])  # fmt: skip
def test_grad_fns_have_pytorchs_names(make, name):
    out = make(TWO.clone().requires_grad_())
    assert out.grad_fn.name() == name
    assert re.fullmatch(rf"<{name} object at 0x[0-9a-f]+>", repr(out.grad_fn))


def test_next_functions_lead_to_the_leaves():
    x, w = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    h = x * w
    y = h + 1
    assert y.grad_fn.next_functions[0] == (h.grad_fn, 0)
    assert y.grad_fn.next_functions[1:] in ((), ((None, 0),))
    ends = [node for node, _ in h.grad_fn.next_functions]
    assert [type(node).__name__ for node in ends] == ["AccumulateGrad"] * 2
    assert [node.variable for node in ends] == [x, w]
    assert ends[0].next_functions == ()
    assert type(ends[0]) is AccumulateGrad


@family("make", [
        lambda x, y: x.put(torch.tensor([0, 1]), y[0]), lambda x, y: x.diagonal_scatter(y[0]),
        lambda x, y: x.as_strided_scatter(y, (2, 2), (2, 1)),
        lambda x, y: x.scatter_reduce(0, torch.tensor([[0, 1]]), y, "sum"),
        lambda x, y: x.index_reduce(0, torch.tensor([0, 1]), y, "prod"),
        lambda x, y: x.masked_scatter(x > 1, y), lambda x, y: torch.fill(x, y[0, 0]),
        lambda x, y: x.masked_fill(x > 1, y[0, 0]), torch.polar, torch.rsub, torch.block_diag,
    ])  # fmt: skip
def test_what_a_kernel_made_is_no_view_and_leads_to_its_inputs(make):
    for x in (TWO, TWO.clone().requires_grad_()):
        out = make(x, TWO)
        assert not out._is_view() and out._base is None
    ends = [None if node is None else node.name() for node, _ in out.grad_fn.next_functions]
    assert ends == ["torch::autograd::AccumulateGrad", None]


def test_the_real_part_of_a_real_tensor_is_itself():
    x = TWO.clone().requires_grad_()
    assert torch.real(x) is x and torch.real(torch.complex(x, x))._is_view()


@family("layer", [
        lambda x: F.avg_pool2d(x, 2), lambda x: F.adaptive_avg_pool2d(x, 2),
        lambda x: F.channel_shuffle(x, 2), lambda x: F.channel_shuffle(x, 1),
        lambda x: F.avg_pool2d(x, 2, 1, 1, True, False), lambda x: torch.fft.rfft(x),
    ])  # fmt: skip
def test_layers_lead_to_their_image(layer):
    out = layer(torch.ones(1, 4, 4, 4, requires_grad=True))
    ends = [node.name() for node, _ in out.grad_fn.next_functions]
    assert ends == ["torch::autograd::AccumulateGrad"] and not out._is_view()


@family("write", [
        lambda x: x.mul_(2), lambda x: x.sub_(x, alpha=2), lambda x: x.addcdiv_(x, x),
        lambda x: x.lerp_(x, x),
    ])  # fmt: skip
def test_a_view_that_was_written_to_leads_through_its_base(write):
    base = TWO.clone().requires_grad_() * 1
    view = base[0]
    write(view)
    assert view.grad_fn.name() == "AsStridedBackward0"
    assert base.grad_fn.name() == "torch::autograd::CopySlices"


def test_names_of_nodes_of_numbers_and_of_writes_by_one_truth():
    def after(start, index):
        v = start.clone().requires_grad_() * 1
        v[index] = 1.5
        return v.grad_fn.name().removeprefix("torch::autograd::")

    for index in (TWO[0] > 0, torch.tensor([0])):
        assert after(TWO[0], index) == "IndexPutBackward0"
    for start in (TWO, torch.tensor(2.0)):
        for index in (True, torch.tensor(True), (True, ...)):
            assert after(start, index) == "CopySlices"
    assert [after(torch.tensor(2.0), i) for i in ((), ...)] == ["CopyBackwards"] * 2
    number = torch.tensor(2.0, requires_grad=True)
    assert number.movedim(0, 0).grad_fn.name() == "AliasBackward0"


def test_no_operators_node_pays_for_a_getattr():
    """A class with __getattr__ reads each of its attributes several times slower."""
    x = torch.ones(2, requires_grad=True)
    for node in ((x * x).grad_fn, x.sin().grad_fn, x.sum().grad_fn, x.sum().grad_fn.edges[0]):
        assert not hasattr(type(node), "__getattr__")
        assert type(node).__getattribute__ is object.__getattribute__


@family("name", ["sum", "mean", "amin", "amax", "logsumexp", "var", "std"])
def test_saved_dimensions_are_a_tuple_without_signs(name):
    x = torch.ones(2, 2, requires_grad=True)
    assert getattr(x, name)(1).grad_fn._saved_dim == (1,)
    assert getattr(x, name)(dim=(0, -1)).grad_fn._saved_dim == (0, 2**64 - 1)


def test_dir_shows_the_saved_values_that_a_node_has():
    x = torch.ones(2, requires_grad=True)
    assert [n for n in dir((x * x).grad_fn) if n.startswith("_saved")] == [
        "_saved_other",
        "_saved_self",
    ]
    assert not hasattr((x * x).grad_fn, "_saved_result")
    with pytest.raises(AttributeError, match=r"_saved_result.*it has _saved_other, _saved_self"):
        _ = (x * x).grad_fn._saved_result


@family("make, shown", [
        (lambda x: x[-1], {"dim": 0, "index": 2**64 - 1, "self_sym_sizes": (2, 2)}),
        (lambda x: x[:, 1:], {"dim": 1, "start": 1, "end": 2**63 - 1, "step": 1,
                              "self_sym_sizes": (2, 2)}),
        (lambda x: x[:, None], {"dim": 1, "self_sym_sizes": (2, 2)}),
        (lambda x: x.sum(), {"self_sym_sizes": (2, 2)}),
        (lambda x: x.tril(-1), {"diagonal": 2**64 - 1}),
        (lambda x: x.roll(1, 0), {"dims": (0,), "shifts": (1,)}),
        (lambda x: x.unfold(-1, 2, 1), {"dimension": 2**64 - 1, "size": 2, "step": 1,
                                        "self_sym_sizes": (2, 2)}),
        (lambda x: x.unsqueeze(0).unsqueeze(-1), {"dim": 2**64 - 1, "self_sym_sizes": (1, 2, 2)}),
        (lambda x: x.sub(x, alpha=2), {}), (lambda x: x.put(torch.tensor([0]), x[0, :1]), {}),
        (lambda x: F.group_norm(x, 1), {}),
        (lambda x: torch.einsum("ij,kj->ik", x, x), {}),
    ])  # fmt: skip
def test_a_node_shows_the_numbers_of_its_call_and_none_of_what_it_is_composed_of(make, shown):
    node = make(TWO.clone().requires_grad_()).grad_fn
    assert {n[7:]: getattr(node, n) for n in dir(node) if n.startswith("_saved")} == shown


@family("make, shown", [
        (torch.logit, {"eps": None}), (F.hardtanh, {"min_val": -1.0, "max_val": 1.0}),
        (F.elu, {"alpha": 1.0, "scale": 1, "input_scale": 1}),
    ])  # fmt: skip
def test_a_node_shows_numbers_that_its_operator_does_not_ask_for(make, shown):
    node = make(TWO.clone().requires_grad_()).grad_fn
    assert {n[7:] for n in dir(node) if n.startswith("_saved")} == {*shown, "self"}
    assert {name: getattr(node, f"_saved_{name}") for name in shown} == shown


@family("make", [
        lambda x: x**3, lambda x: 3**x, lambda x: x**x, lambda x: x / 2, lambda x: 2 / x,
        lambda x: x * x, lambda x: x @ x, lambda x: torch.atan2(x, x), lambda x: x.norm(),
        lambda x: x.hypot(x),
    ])  # fmt: skip
def test_what_dir_shows_can_be_read(make):
    node = make(TWO.clone().requires_grad_()).grad_fn
    for name in dir(node):
        value = getattr(node, name) if name.startswith("_saved") else None
        assert not isinstance(value, torch.Tensor) or value.array is not None


def test_backward_frees_saved_tensors_and_leaves_the_numbers():
    x = TWO.clone().requires_grad_()
    y = x.amax(0)
    y.sum().backward()
    assert y.grad_fn._saved_dim == (0,) and not y.grad_fn._saved_keepdim
    for name in ("_saved_self", "_saved_result"):
        with pytest.raises(RuntimeError, match="after they have already been freed"):
            getattr(y.grad_fn, name)
        with pytest.raises(RuntimeError, match="after they have already been freed"):
            getattr(y.grad_fn, f"_raw{name}").unpack()
    assert "_raw_saved_mat2" in dir((x @ x).grad_fn) and "_raw_saved_self" not in dir(
        x.exp().grad_fn
    )
    (taken,) = [i for i in x[:, torch.tensor([1])].grad_fn._saved_indices if i is not None]
    assert taken.tolist() == [1]


def test_a_saved_result_shares_memory_and_version_with_the_result():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    saved = y.grad_fn._saved_result
    with torch.no_grad():
        y += 1
    assert torch.equal(saved, y) and saved._version == y._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_metadata_is_room_for_notes():
    y = torch.ones(1, requires_grad=True) * 2
    y.grad_fn.metadata["why"] = "because"
    assert y.grad_fn.metadata == {"why": "because"}


@pytest.mark.parametrize(
    "count", [200_000, pytest.param(1_000_000, marks=pytest.mark.long, id="a million")]
)
def test_a_long_chain_of_nodes_is_built_run_and_freed(count):
    x = torch.tensor(1.0, dtype=torch.double, requires_grad=True)
    y = x
    for _ in range(count // 2):
        y = y * 0.5 + 0.5
    end = weakref.ref(y.grad_fn)
    y.backward()
    assert y.item() == 1
    assert x.grad.item() == 0.0
    del y
    assert end() is None


def test_what_a_node_of_a_chain_weighs():
    """Node, tensor and value of ``y * c`` on 0-d tensors: a bound, so that nobody adds a dict to
    each.
    """
    count = 20_000
    x = torch.tensor(1.0, requires_grad=True)
    kept = [x * 1.0]
    gc.collect()
    tracemalloc.start()
    try:
        y = x
        for _ in range(count):
            y = torch.sin(y)
            kept.append(y)
        weight = tracemalloc.get_traced_memory()[0] / count
    finally:
        tracemalloc.stop()
    assert weight < 500, f"{weight:.0f} bytes a node"


def test_a_wide_graph_is_walked_too():
    x = torch.tensor(1.0, dtype=torch.double, requires_grad=True)
    total = torch.stack([x * float(i) for i in range(2000)]).sum()
    total.backward()
    assert x.grad.item() == 1999 * 1000


def test_recording_a_long_chain_twice():
    x = torch.tensor(1.0, dtype=torch.double, requires_grad=True)
    y = x
    for _ in range(3000):
        y = torch.sin(y)
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert np.isfinite(second.item())
    assert second.item() < 0


@pytest.fixture
def no_collector():
    """Whatever dies in this test dies by reference counting: there are no cycles."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def everything(x):
    """A computation with hooks, kept gradients, views, writes and saved results."""
    y = torch.exp(x) * torch.sin(x)
    y.retain_grad()
    y.register_hook(lambda g: g * 1)
    z = y.reshape(-1)[:2]
    w = z * 2
    w.mul_(3)
    w[0] = x[1]
    return w, [y, z, w]


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("create_graph", [False, True])
def test_no_cycles(create_graph):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    out, parts = everything(x)
    watched = [weakref.ref(t) for t in parts] + [weakref.ref(t.grad_fn) for t in parts]
    if create_graph:
        (g,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        watched.append(weakref.ref(g.grad_fn))
        (g.sum()).backward()
        del g
    else:
        out.sum().backward()
    del out, parts
    assert [r() for r in watched] == [None] * len(watched)


@pytest.mark.usefixtures("no_collector")
def test_a_graph_never_run_dies_with_its_result():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    out, parts = everything(x)
    watched = [weakref.ref(t.grad_fn) for t in parts]
    del out, parts
    assert [r() for r in watched] == [None] * len(watched)


@pytest.mark.usefixtures("no_collector")
def test_a_leaf_and_its_gradient_die_with_the_last_name():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    watched = [weakref.ref(x), weakref.ref(x.grad)]
    del x
    assert [r() for r in watched] == [None, None]


@pytest.mark.usefixtures("no_collector")
def test_saved_arrays_are_gone_after_backward():
    x = torch.tensor(np.arange(4.0), requires_grad=True)
    y = torch.exp(x)
    saved = weakref.ref(y.array)
    z = (y * y).sum()
    del y
    assert saved() is not None
    z.backward()
    assert saved() is None
    node = z.grad_fn
    assert not node.next_functions[0][0].saved


def test_the_result_is_not_kept_alive_by_a_graph_that_does_not_need_it():
    x = torch.tensor(np.arange(4.0), requires_grad=True)
    y = x + 1
    saved = weakref.ref(y.array)
    z = (y * 2).sum()
    del y
    assert saved() is None
    z.backward()
    assert x.grad.tolist() == [2] * 4


def test_memory_does_not_grow_over_many_steps():
    x = torch.ones(1000, requires_grad=True)

    def step():
        x.grad = None
        (torch.exp(x) * x).sum().backward()

    for _ in range(5):
        step()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            step()
        gc.collect()  # NumPy's own broadcast_to leaves cycles behind
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 20_000


def test_a_view_made_under_no_grad_has_no_node():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        view = x.view(2)
    assert (view * 2).grad_fn.next_functions == ((None, 0), (None, 0))
