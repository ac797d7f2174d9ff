"""What the recorded cells of embeddings do not show: frozen tables, refusals, bounds."""

from __future__ import annotations

import pytest

import gradcli as torch
from gradcli import nn
from gradcli.nn import functional as F
from gradcli.ops.errors import Fault
from tests.support.families import family

TABLE = [[1.0, 2.0], [3.0, 6.0]]


@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_a_table_that_was_learnt_before(kind):
    frozen = kind.from_pretrained(torch.tensor(TABLE), max_norm=100.0)
    assert not frozen.weight.requires_grad
    assert frozen.max_norm == 100.0
    assert kind.from_pretrained(torch.tensor(TABLE), freeze=False).weight.requires_grad
    picked = frozen(torch.tensor([[0], [1]]))
    assert picked.reshape(2, 2).tolist() == TABLE


def test_rows_are_scaled_once_and_a_saved_table_notices():
    w = torch.tensor([[3.0, 4.0], [0.3, 0.4]], requires_grad=True)
    y = (w * w).sum()
    F.embedding(torch.tensor([0]), w, max_norm=1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    before = w._version
    F.embedding(torch.tensor([0, 1]), w, max_norm=1.0)
    assert w._version == before + 1  # it may have been written to, whether or not it was
    assert w[0].norm().item() <= 1.0


def test_rows_of_the_padding_are_scaled_too():
    w = torch.tensor([[3.0, 4.0], [6.0, 8.0]])
    F.embedding_bag(torch.tensor([[0, 1]]), w, max_norm=5.0, padding_idx=1)
    assert w[1].norm().item() == pytest.approx(5.0)


@family(
    "code, given",
    [
        ("E0307", {"input": [[2]]}),
        ("E0307", {"input": [[-1]]}),
        ("E0309", {"input": [[0.5]]}),
        ("E0304", {"input": [[0]], "mode": "all"}),
        ("E0304", {"input": [[0]], "per_sample_weights": [[1.0]]}),
        ("E0304", {"input": [[0]], "per_sample_weights": [1.0], "mode": "sum"}),
        ("E0304", {"input": [[0]], "mode": "max", "scale_grad_by_freq": True}),
        ("E0304", {"input": [[[0]]]}),
        ("E0304", {"input": [0, 1], "offsets": [0, 5]}),
        ("E0304", {"input": [0, 1], "offsets": [0, 2, 1]}),
    ],
)
def test_refusals(code, given):
    made = {k: torch.tensor(v) if isinstance(v, list) else v for k, v in given.items()}
    with pytest.raises(Fault) as fault:
        F.embedding_bag(weight=torch.tensor(TABLE), **made)
    assert fault.value.code == code


@family("mode", ["sum", "mean", "max"])
def test_the_last_bag_ends_with_the_input_whatever_the_last_offset_is(mode):
    w = torch.tensor([[1.0], [2.0], [4.0]], requires_grad=True)
    bags = [
        F.embedding_bag(
            torch.tensor([0, 1, 2]), w, torch.tensor([0, 2, end]), mode=mode,
            include_last_offset=True,
        )
        for end in (2, 3)
    ]  # fmt: skip
    slopes = [torch.autograd.grad(found[1].sum(), w)[0] for found in bags]
    assert torch.equal(*bags) and bags[0][1].tolist() == [4]
    assert torch.equal(*slopes) and slopes[0].tolist() == [[0], [0], [1]]
    with pytest.raises(RuntimeError, match="at least 1"):
        F.embedding_bag(torch.tensor([0]), w, torch.tensor([]).long(), include_last_offset=True)


def test_the_greatest_of_many_bags_is_what_each_gives():
    rng = torch.manual_seed(4)
    w = torch.randn(9, 3, generator=rng, dtype=torch.double, requires_grad=True)
    bags = [[1, 5, 2], [0], [8, 8, 3, 1]]
    flat = torch.tensor([i for bag in bags for i in bag])
    offsets = torch.tensor([0, 3, 4])
    found = F.embedding_bag(flat, w, offsets, mode="max")
    want = torch.stack([w[torch.tensor(b)].max(0).values for b in bags])
    assert torch.equal(found, want)
    weights = torch.arange(9.0, dtype=torch.double).view(3, 3)
    (a,) = torch.autograd.grad((found * weights).sum(), w)
    (b,) = torch.autograd.grad((want * weights).sum(), w)
    assert torch.equal(a, b)
    assert torch.autograd.gradcheck(lambda w: F.embedding_bag(flat, w, offsets), w)


@pytest.mark.parametrize("dims", [(0, None, None), (None, 0, None), (0, 0, 0), (None, None, 0)])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_a_batch_are_those_of_its_elements(dims, mode):
    rng = torch.manual_seed(5)
    tables = torch.randn(2, 4, 3, generator=rng)
    flat, offsets = torch.tensor([[0, 3, 3], [2, 1, 0]]), torch.tensor([[0, 1], [0, 2]])

    def slope(table, rows, starts):
        bags = torch.func.grad(lambda t: F.embedding_bag(rows, t, starts, mode=mode).square().sum())
        return F.embedding_bag(rows, table, starts, mode=mode), bags(table)

    given = [v if d == 0 else v[0] for v, d in zip((tables, flat, offsets), dims, strict=True)]
    found = torch.vmap(slope, in_dims=dims)(*given)
    for b in range(2):
        want = slope(*(v[b] if d == 0 else v for v, d in zip(given, dims, strict=True)))
        assert all(torch.equal(f[b], w) for f, w in zip(found, want, strict=True))


def test_bags_refuse_rows_that_the_table_lacks():
    table = torch.zeros(3, 2)
    for row in (3, -1):
        with pytest.raises(RuntimeError, match=f"Index 1 of input takes value {row}"):
            F.embedding_bag(torch.tensor([0, row]), table, torch.tensor([0]))
    with pytest.raises(RuntimeError, match="to have the same type"):
        F.embedding_bag(
            torch.tensor([0]), table, torch.tensor([0]), mode="sum",
            per_sample_weights=torch.ones(1, dtype=torch.float64),
        )  # fmt: skip
