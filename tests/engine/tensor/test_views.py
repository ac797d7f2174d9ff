"""Writes to views, whatever was recorded when: what PyTorch does, case by case (view_cases.py)."""

from __future__ import annotations

import copy
import itertools
import pickle
from itertools import product
from pathlib import Path

import pytest

import gradcli
from tests.behaviours.snippets import cells, printed
from tests.engine.tensor.view_cases import CASES, MODES, outcome
from tests.support.families import family
from tests.support.oracles import load
from tests.support.recorded import difference

RECORD = load("views")
CELLS = cells([Path(__file__).with_name("storage_cells.py")])
STORAGE = load("storage")["cases"]
# PyTorch fails in backward where a number was written through an expanded view; gradcli does not.
APART = {("enable_grad", "enable_grad", "computed", "expand", "zero_")}


def test_the_recording_is_of_these_cases():
    assert RECORD["made_with"]["torch"] == "2.13.0"
    assert len(RECORD["cases"]) == len(CASES)


def test_the_recording_is_of_these_cells():
    assert list(STORAGE) == list(CELLS)


@family("name", CELLS)
def test_prints_what_pytorch_prints(name):
    assert not difference(printed(gradcli, CELLS[name]), STORAGE[name])


@family("made, written", product(MODES, MODES))
def test_a_view_is_made_and_written_to(made, written):
    differ = []
    for case, place in zip(CASES, RECORD["cases"], strict=True):
        if case[:2] != (made, written) or case in APART:
            continue
        got, want = outcome(gradcli, case), RECORD["outcomes"][place]
        if got != want:
            differ.append(f"{case}\n  PyTorch {want}\n  here    {got}")
    assert not differ, "\n".join(differ)


@family(
    "view, number",
    product(
        [
            lambda x: gradcli.unsqueeze(x, 0),
            lambda x: gradcli.reshape(x, (1,)),
            gradcli.flatten,
            gradcli.squeeze,
            lambda x: gradcli.broadcast_to(x, (1,)),
            gradcli.atleast_2d,
            lambda x: gradcli.permute(x, ()),
            lambda x: gradcli.movedim(x, 0, 0),
            lambda x: gradcli.transpose(x, 0, 0),
            lambda x: x.T,
            lambda x: x[None],
            lambda x: x[...],
            lambda x: x[()],
            lambda x: x.expand(1),
            lambda x: x.expand_as(gradcli.zeros(1)),
            lambda x: x.view(1),
            lambda x: x.as_strided((1,), (1,)),
        ],
        [lambda: gradcli.tensor(3.0), lambda: gradcli.ones(3).sum()],
    ),
)
def test_a_view_of_a_number_shares_its_memory(view, number):
    x = number()
    view(x).zero_()
    assert x.item() == 0
    leaf = gradcli.tensor(2.0, requires_grad=True)
    y = leaf * 1
    view(y).mul_(3)
    y.backward()
    assert (y.item(), leaf.grad.item()) == (6, 3)


def test_a_write_to_an_empty_view_of_a_number_changes_nothing():
    x = gradcli.tensor(1.5, requires_grad=True)
    y = x * x
    v = y.unsqueeze(0)
    v[:-1].fill_(3)
    empty = v[1:]
    v.mul_(2)
    (y + v.sum() + empty.sum()).backward()
    assert (y.item(), x.grad.item()) == (4.5, 12)


def test_an_empty_view_of_a_number_sees_a_write_to_another_view():
    y = gradcli.ones(2, requires_grad=True).sum()
    v = y.flatten()
    empty = v[:-1]
    v *= v
    assert empty.grad_fn.name() == "AsStridedBackward0"
    v[...] = 3.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        empty.sum().backward()


def test_reversed_is_a_tensor():
    x = gradcli.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert reversed(x).tolist() == [[3, 4], [1, 2]]
    assert reversed(gradcli.tensor(2.0)).item() == 2


def test_a_mask_of_more_dimensions_than_the_tensor():
    x = gradcli.zeros(2, 2)
    mask = gradcli.ones(2, 2, 1).bool()
    with pytest.raises(IndexError, match="too many indices"):
        x[mask]
    with pytest.raises(IndexError, match="too many indices"):
        x[mask] = 1


def test_a_single_truth_writes_all_or_nothing_of_any_kind():
    x, v = gradcli.zeros(2), gradcli.ones(3, requires_grad=True)
    x[False] = v
    assert x.tolist() == [0, 0] and not x.requires_grad and x._version == 0
    x[True] = gradcli.tensor(3)
    assert x.tolist() == [3, 3]


def test_a_view_names_the_base_it_had():
    x = gradcli.zeros(3, requires_grad=True)
    view = x[:]
    x.data = gradcli.ones(3)
    assert view._base is x and view.tolist() == [0, 0, 0]  # but its memory is its own
    with gradcli.no_grad():
        view[0] = 5
    assert x.tolist() == [1, 1, 1]


def test_views_without_entries_and_of_memory_beyond():
    source = gradcli.zeros(0, 2)
    assert gradcli.view_as_complex(source)._base is source
    part = gradcli.arange(5.0)[1:4].detach()
    assert part.as_strided((5,), (1,), 0).tolist() == [0, 1, 2, 3, 4]
    forward_ad = gradcli.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(part, gradcli.tensor([7.0, 8.0, 9.0]))
        whole = dual.as_strided((5,), (1,), 0)
        assert forward_ad.unpack_dual(whole).tangent.tolist() == [0, 7, 8, 9, 0]
    turned = gradcli.zeros(3, 5).t().expand(1, 5, 3)
    assert turned.add_(1).sum() == 15  # where no two entries lie in one place


def test_whether_two_tensors_show_the_same_memory():
    x = gradcli.arange(6.0)
    assert x.is_set_to(x[:]) and not x.is_set_to(x.view(2, 3)) and not x[1:].is_set_to(x[:5])
    with pytest.raises(TypeError):
        x.is_set_to(2)


def test_entries_mapped_by_a_function():
    x = gradcli.zeros(2, 3)
    assert x.map_(gradcli.arange(3.0), lambda a, b: a + 2 * b).tolist() == [[0, 2, 4]] * 2
    assert x.map2_(x, gradcli.ones(1), lambda a, b, c: a * b + c).tolist() == [[1, 5, 17]] * 2
    assert x.apply_(lambda a: a - 1).tolist() == [[0, 4, 16]] * 2
    assert x.new(size=(2, 3)).shape == (2, 3)
    for wrong, kind in ((gradcli.arange(3), TypeError), (gradcli.zeros(4), RuntimeError),
                        (gradcli.zeros(3, requires_grad=True), RuntimeError)):  # fmt: skip
        with pytest.raises(kind):
            x.map_(wrong, lambda a, b: a)


def test_a_storage_counts_entries():
    whole = gradcli.arange(6)
    memory = whole[::2].storage()
    assert len(memory) == memory.size() == 6 and memory.nbytes() == 48
    assert memory.tolist() == [*range(6)] and memory[-1] == 5
    assert memory.data_ptr() == whole.data_ptr()


def test_a_storage_is_read_as_its_own_type_and_shared():
    x = gradcli.tensor([1.0, 2.0])
    for made in (gradcli.tensor, gradcli.as_tensor, gradcli.FloatTensor, x.new):
        assert made(x.storage()).data_ptr() == x.data_ptr()
    assert gradcli.FloatTensor(x.untyped_storage()).tolist() == [1.0, 2.0]
    assert gradcli.tensor(x.untyped_storage()).dtype is gradcli.int64
    others = gradcli.tensor([1, 2]).storage()
    for wrong in (lambda: x.set_(others), lambda: x.set_(others, 0, (2,)), lambda: x.new(others),
                  lambda: gradcli.tensor(others)):  # fmt: skip
        with pytest.raises(RuntimeError, match="Expected a Storage of type Float"):
            wrong()


def test_a_result_is_an_instance_of_its_return_type():
    found = gradcli.tensor([[1.0, 3.0], [4.0, 2.0]]).max(1)
    assert isinstance(found, gradcli.return_types.max)
    assert not isinstance(found, gradcli.return_types.min)
    assert not isinstance(tuple(found), gradcli.return_types.max)


def test_results_with_names_are_copied_and_pickled():
    found = gradcli.linalg.slogdet(gradcli.eye(2))
    for twin in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert type(twin) is gradcli.return_types.linalg_slogdet
        assert repr(twin) == repr(found)
    assert type(found[:1]) is tuple and found.n_fields == 2
    with pytest.raises(AttributeError):
        found.sign = 1
    with pytest.raises(TypeError, match="takes a 2-sequence"):
        gradcli.return_types.max([1])
    assert not hasattr(gradcli.return_types, "sum")


def test_data_of_another_shape_is_for_leaves():
    x = gradcli.ones(2, requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match="data of another shape"):
        y.data = gradcli.ones(3)
    y.data, x.data = gradcli.full((2,), 5.0), gradcli.ones(3)
    assert y.tolist() == [5.0, 5.0]
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_a_leaf_that_is_a_view_follows_its_base_once_that_is_a_leaf_and_was_written_to():
    """Not before: then each is a leaf with a gradient of its own."""
    for write in (0, 1, 2, None):
        base = gradcli.arange(4.0)
        view = base[1:]
        for step in range(3):
            if step == write:
                with gradcli.no_grad():
                    (view if write else base).mul_(2)
            (view if not step else base).requires_grad_()
        (view * view).sum().backward()
        assert view.is_leaf is (write is None)
        leaf = view if write is None else base
        assert leaf.grad.tolist() == ([2.0, 4.0, 6.0] if write is None else [0.0, 4.0, 8.0, 12.0])


def test_a_view_of_no_entries_is_written_to_where_hooks_look_on():
    x = gradcli.zeros(0, 2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: None)
    y[..., 0] *= 3
    y.sum().backward()
    assert x.grad.shape == (0, 2)


def test_what_a_view_that_went_stale_is_pickled_as():
    x = gradcli.ones(2, 2, requires_grad=True)
    part = x.unbind(0)[0]
    with gradcli.no_grad():
        x.mul_(2)
    assert pickle.loads(pickle.dumps(part)).tolist() == [2.0, 2.0]


@family("part", [lambda z: z.conj(), lambda z: z.conj().imag, lambda z: z.conj()[1:].imag])
def test_a_copy_of_a_conjugate_follows_its_base(part):
    z = gradcli.tensor([1 + 2j, 3 - 1j, 5j])
    view = part(z)
    view.note = [1]
    for twin in (copy.copy(view), pickle.loads(pickle.dumps(view)), copy.deepcopy(view)):
        assert twin.tolist() == view.tolist() and twin.note == [1]
    one = copy.copy(view)
    assert (one.is_conj(), one.is_neg(), one.stride()) == (
        view.is_conj(), view.is_neg(), view.stride()
    )  # fmt: skip
    z.mul_(2)
    assert one.tolist() == view.tolist()
    one.zero_()
    assert not view.any() and one.data_ptr() == view.data_ptr()


@family("axes", list(itertools.permutations(range(3))))
def test_a_copy_shares_memory_in_whatever_order_its_axes_lie(axes):
    x = gradcli.arange(24.0).reshape(2, 3, 4).permute(axes).clone()
    stored = pickle.loads(pickle.dumps(x[1:]))
    assert stored.tolist() == x[1:].tolist() and stored.stride() == x[1:].stride()
    apart, view = copy.deepcopy([x, x[1:]])
    view.zero_()
    assert not apart[1:].any() and x[1:].all()
    copy.copy(x).zero_()
    assert not x.any()


def test_a_copied_conjugate_parameter_shares_memory_and_a_deep_copy_does_not():
    p = gradcli.nn.Parameter(gradcli.tensor([1 + 2j, 3j]).conj())
    p.grad = gradcli.ones(2, dtype=p.dtype)
    one, apart = copy.copy(p), copy.deepcopy(p)
    assert type(one) is type(p) and type(apart) is gradcli.nn.Parameter
    with gradcli.no_grad():
        p.mul_(2)
    assert one.tolist() == p.tolist() == [2 - 4j, -6j]
    assert apart.tolist() == [1 - 2j, -3j] and not apart.is_conj() and apart.requires_grad


@family("part", [lambda z: z, lambda z: z.conj(), lambda z: z.conj().imag])
def test_a_stale_view_is_refused_where_it_is_used(part):
    z = gradcli.ones(2, 3, dtype=gradcli.complex128, requires_grad=True)
    v = part(z * 1j)
    one = v.unbind(0)[0]
    with gradcli.no_grad():
        other = v[0]
    v.mul_(2)
    for stale in (one, other):
        assert stale.requires_grad
        for use in (lambda x: x * 2, lambda x: x.is_leaf, lambda x: x.grad_fn):
            with pytest.raises(RuntimeError, match=r"is a view|A view was"):
                use(stale)
        with gradcli.no_grad():
            assert (stale * 2).tolist() == (v[0] * 2).tolist()
            stale.data = gradcli.zeros(3, dtype=stale.dtype)
            assert not stale.detach().any()


def test_a_view_is_held_whose_memory_its_base_shows_no_more():
    x = gradcli.ones(2, 3, dtype=gradcli.complex128, requires_grad=True)
    y = x * 1j
    part = y.imag
    y.as_strided_((2, 2), (1, 2))
    assert y.shape == (2, 2) and part.detach().sum() == 6
    with pytest.raises(RuntimeError, match="base no longer shows"):
        part * 2
    y.real.sum().backward()
    assert x.grad.any()


def test_a_recorded_gradient_of_complex_numbers_is_no_view():
    x = gradcli.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (g,) = gradcli.autograd.grad((x**3).abs().sum(), x, create_graph=True)
    assert not g.is_conj() and not g._is_view()
    g.detach().numpy()


def test_a_leaf_that_takes_the_memory_of_another_keeps_its_hooks():
    w = gradcli.ones(2, requires_grad=True)
    w.register_hook(lambda g: g * 10)
    twice = w + w
    before = (w + 1).sum()
    with gradcli.no_grad():
        w.set_(gradcli.full((2,), 3.0))
    with pytest.raises(RuntimeError, match="for a leaf that"):  # w is another leaf since
        gradcli.autograd.grad(twice.sum(), w, retain_graph=True)
    assert gradcli.autograd.grad((twice * w).sum(), w)[0].tolist() == [20.0, 20.0]
    before.backward()
    (w * w).sum().backward()
    assert w.grad.tolist() == [70.0, 70.0]


@family("function", (lambda x: x * 2, lambda x: x * x, lambda x: x.prod(1), lambda x: x.exp() * x))
def test_no_gradient_by_a_leaf_as_it_was_in_another_shape(function):
    x = gradcli.ones(2, 3, requires_grad=True)
    y = function(x).sum()
    x.data = gradcli.ones(2)
    for refused in (y.backward, lambda: gradcli.autograd.grad(y, x, allow_unused=True)):
        with pytest.raises(RuntimeError, match="has come to have"):
            refused()
    y = refused = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]
