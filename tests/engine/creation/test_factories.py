"""Making tensors, and the way out of them: memory that is shared, copies, shapes, Python
numbers.
"""

from __future__ import annotations

import collections
import math

import numpy as np
import pytest

import gradcli as torch
from gradcli.ops.errors import Fault
from tests.support.families import family


def test_the_default_generator_is_whichever_draws():
    default = torch.default_generator
    for seed in (3, 4):
        torch.manual_seed(seed)
        first, state = torch.rand(2), default.get_state()
        assert default.initial_seed() == seed and isinstance(default, torch.Generator)
        second = torch.rand(2, generator=default)
        default.set_state(state)
        assert torch.equal(torch.rand(2), second)
        default.manual_seed(seed)
        assert torch.equal(torch.rand(2), first)


@family("create", [
    lambda **k: torch.randint(3, (2,), **k), lambda **k: torch.randperm(3, **k),
    lambda **k: torch.randint_like(torch.ones(2), 3, **k), lambda **k: torch.rand(2, **k),
    lambda **k: torch.normal(0.0, 1.0, (2,), **k), lambda **k: torch.tril_indices(2, 2, **k),
])  # fmt: skip
def test_creators_take_a_layout(create):
    assert create(layout=torch.strided, pin_memory=False).numel()


def test_from_numpy_and_numpy_share_memory():
    a = np.ones(3)
    t = torch.from_numpy(a)
    np.add(a, 1, out=a)
    assert t.tolist() == [2, 2, 2]
    t.add_(1)
    assert a.tolist() == [3, 3, 3]
    assert t.numpy() is a
    assert t.dtype is torch.float64
    c = t.clone()
    c.add_(1)
    assert a.tolist() == [3, 3, 3]


@family("make, shares", [
    (np.asarray, True), (lambda t: np.asarray(t, t.numpy().dtype), True),
    (np.array, False), (np.copy, False), (lambda t: np.asarray(t, np.float16), False),
])  # fmt: skip
def test_numpy_has_a_tensors_memory_unless_it_copies(make, shares):
    t = torch.zeros(2)
    make(t)[0] = 5
    assert t.tolist() == [5 * shares, 0]


def test_typed_constructors_share_an_arrays_memory_of_their_dtype():
    for make, dtype in ((torch.Tensor, "f4"), (torch.LongTensor, "i8"), (torch.ones(1).new, "f4")):
        for given in ("f4", "f8", "i8"):
            a = np.zeros(2, given)
            make(a)[0] = 5
            assert a[0] == 5 * (given == dtype)


def test_a_0d_tensor_shares_memory_too():
    t = torch.tensor(1.0)
    a = t.numpy()
    t.add_(1)
    assert a[()] == 2
    a += 5
    assert t.item() == 7


def test_tensor_of_tensors_warns_that_no_gradient_comes_back():
    x = torch.tensor(2.0, requires_grad=True)
    for made, said in (
        (lambda: torch.tensor(x), "To copy construct from a tensor"),
        (lambda: torch.tensor([x, 1.0]), "no gradient comes back"),
    ):
        with pytest.warns(UserWarning, match=said):
            assert not made().requires_grad
    with pytest.warns(UserWarning, match="no gradient comes back"):  # nor a tangent
        assert not torch.func.jvp(lambda x: torch.tensor([x, 1.0]), (x,), (x,))[1].any()
    assert torch.tensor([x.detach(), 1.0]).tolist() == torch.as_tensor([2.0, 1.0]).tolist()


class Numbered:
    """A sequence by its ``__len__`` and ``__getitem__`` alone."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return [index, 2.5][index : index + 2] + [1] * index


@pytest.mark.parametrize("data", [collections.deque([[0, 2.5], [2.5, 1]]), Numbered()])
def test_a_tensor_is_made_of_whatever_reads_as_a_list(data):
    assert torch.tensor(data).tolist() == [[0, 2.5], [2.5, 1]]
    assert torch.tensor([data, data]).shape == (2, 2, 2)


def test_tensor_copies_and_as_tensor_does_not():
    a = np.ones(2)
    t, s = torch.tensor(a), torch.as_tensor(a)
    a[0] = 9
    assert t.tolist() == [1, 1]
    assert s.tolist() == [9, 1]


def test_numpy_of_a_recorded_tensor_says_detach():
    x = torch.ones(2, requires_grad=True)
    for t in (x, x * 2):
        with pytest.raises(RuntimeError, match=r"detach\(\)\.numpy\(\)") as fault:
            t.numpy()
        assert fault.value.code == "E0404"
        assert t.detach().numpy().shape == (2,)


def test_float_of_a_tensor_in_a_graph_warns_that_no_gradient_comes_back():
    x = torch.tensor(2.5, requires_grad=True)
    for number in (float, complex, math.sin):
        with pytest.warns(UserWarning, match="no gradient or tangent comes back"):
            assert number(x * 2) == number(5.0)
    with pytest.warns(UserWarning, match="no gradient or tangent comes back"):
        assert torch.func.jvp(lambda v: float(v) * v, (x.detach(),), (x.detach(),))[1] == 6.25
    assert (float(x.detach()), int(x), x.item()) == (2.5, 2, 2.5)
    with torch.no_grad():  # as of PyTorch: nothing is recorded that it might leave
        assert (float(x), complex(x)) == (2.5, 2.5)


@family("code", "bhilBHILefdFD")
def test_numbers_of_numpy_of_every_type_count_as_pythons(code):
    two = np.dtype(code).type(2)
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    for y, value in ((x * two, [6, 8]), (two * x, [6, 8]), (two - x, [-1, -2]), (x**two, [9, 16])):
        assert y.requires_grad
        assert y.dtype is (torch.complex64 if code in "FD" else torch.float32)
        assert y.tolist() == value
    one = torch.tensor(1.0)  # of no dimension: an array of one would widen its tangent
    out, tangent = torch.func.jvp(lambda v: v * two - two, (one,), (one,))
    assert tangent.dtype is torch.float32 or code in "FD"
    assert (out.item(), tangent.item()) == (0, 2)
    if code in "bhilBHIL":
        assert (torch.tensor([6, 5]) & two).tolist() == (two & torch.tensor([6, 5])).tolist()
        assert (torch.tensor([6, 5]) << two).tolist() == [24, 20]


def test_array_operations_with_numpy_on_either_side_give_tensors():
    x = torch.tensor([1.0, 2.0], dtype=torch.double, requires_grad=True)
    a = np.array([3.0, 4.0])
    for y in (x * a, a * x, np.float64(2) * x, x + np.int64(1)):
        assert isinstance(y, torch.Tensor)
        assert y.requires_grad
    (a * x).sum().backward()
    assert x.grad.tolist() == [3, 4]


def test_shapes():
    t = torch.zeros(2, 3, 4)
    assert t.dim() == t.ndim == 3
    assert t.shape == t.size() == (2, 3, 4)
    assert repr(torch.zeros(4).shape) == "gradcli.Size([4])"
    assert t.size(-1) == 4
    assert t.numel() == t.shape.numel() == 24
    assert torch.tensor(1).shape == ()
    assert len(t) == 2
    with pytest.raises(IndexError) as fault:
        t.size(3)
    assert fault.value.code == "E0305"


def test_items_and_lists_are_pythons():
    assert torch.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    for data, kind in ((1.5, float), (2, int), (True, bool), (1j, complex)):
        value = torch.tensor([data]).item()
        assert type(value) is kind
        assert value == data
        assert type(torch.tensor(data).tolist()) is kind
    with pytest.raises(RuntimeError) as fault:
        torch.ones(2).item()
    assert fault.value.code == "E0310"
    assert float(torch.tensor(2.5)) == 2.5
    assert int(torch.tensor(2.5)) == 2
    assert [10, 20, 30][torch.tensor(1)] == 20


@pytest.mark.filterwarnings("ignore:volatile was removed")
def test_every_name_that_dir_tells_is_there():
    def known(x):
        assert "shape" in dir(x)
        assert all(hasattr(x, name) for name in dir(x) if name != "imag")
        return x.sum()

    x = torch.ones(1, 1)
    known(x)
    torch.func.jvp(known, (x,), (x,))
    torch.func.grad(known)(x)


def test_truth():
    assert torch.tensor([2.0])
    assert not torch.tensor(0)
    for t in (torch.ones(2), torch.ones(0)):
        with pytest.raises(RuntimeError, match="ambiguous") as fault:
            bool(t)
        assert fault.value.code == "E0310"


def test_views_and_contiguity():
    x = torch.arange(12)
    assert x.view(3, 4).shape == (3, 4)
    assert x.view(4, -1).shape == (4, 3)
    t = x.view(3, 4).t()
    assert not t.is_contiguous()
    assert t.stride() == (1, 4)
    with pytest.raises(RuntimeError, match=r"\.reshape") as fault:
        t.view(12)
    assert fault.value.code == "E0306"
    assert t.reshape(12).tolist()[:4] == [0, 4, 8, 1]
    assert t.contiguous().is_contiguous()
    assert t.contiguous().view(12).tolist()[:2] == [0, 4]


def test_filled_ranges_and_identity():
    assert torch.zeros(2, 3).tolist() == [[0.0] * 3] * 2
    assert torch.ones((2,)).tolist() == [1.0, 1.0]
    assert torch.full((2,), 7).dtype is torch.int64
    assert torch.full((), 2.5).item() == 2.5
    assert torch.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert torch.arange(5).tolist() == [0, 1, 2, 3, 4]
    assert torch.arange(5).dtype is torch.int64
    assert torch.arange(1, 2, 0.5).tolist() == [1.0, 1.5]
    assert torch.arange(3, 0, -1).tolist() == [3, 2, 1]
    assert torch.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert torch.arange(-1, 1, 0.1, dtype=torch.float64)[10] == 0
    for dtype in (torch.float32, torch.float64):
        near = float(np.finfo(dtype.numpy).eps)
        found, even = (
            torch.arange(100, 200, 0.1, dtype=dtype),
            torch.linspace(-1, 3, 45, dtype=dtype),
        )
        assert found.dtype is even.dtype is dtype
        assert len(found) == 1000 and len(even) == 45 and even[-1] == 3
        for i, value in enumerate(found.tolist()):
            assert abs(value - (1000 + i) / 10) <= 200 * near
        for i, value in enumerate(even.tolist()):
            assert abs(value - (i / 11 - 1)) <= 3 * near
    assert torch.ones(2, dtype=torch.int8, requires_grad=False).dtype is torch.int8
    x = torch.arange(3.0, requires_grad=True)
    assert x.is_leaf
    assert x.requires_grad


@family("code, call", [
        ("E0303", lambda: torch.zeros(-1)), ("E0303", lambda: torch.zeros(1.5)),
        ("E0303", lambda: torch.arange(0, 5, -1)), ("E0303", lambda: torch.arange(0, 5, 0)),
        ("E0309", lambda: torch.arange(0, 5, np.inf, dtype=torch.int64)),
        ("E0309", lambda: torch.arange(0, 5, 1e30, dtype=torch.uint8)),
        ("E0303", lambda: torch.tensor([[1.0], [1.0, 2.0]])),
            ("E0303", lambda: torch.from_numpy([1.0])),
        ("E0309", lambda: torch.from_numpy(np.array(["a"]))),
    ],
)  # fmt: skip
def test_refusals(code, call):
    with pytest.raises(Fault) as fault:
        call()
    assert fault.value.code == code


@family(
    "error, message, call",
    [
        (ValueError, "length 3 at dim 1", lambda: torch.tensor([[1, 2, 3], np.ones(2)])),
        (ValueError, "length 2 at dim 2", lambda: torch.tensor([np.ones((2, 2)), [[1, 2], [3]]])),
        (TypeError, "not a sequence", lambda: torch.tensor([[np.ones(3), 1.5]])),
        (TypeError, "only 0-dimensional", lambda: torch.tensor([1.5, np.ones(3)])),
        (TypeError, "invalid data type 'bytes'", lambda: torch.tensor(b"a")),
        (ValueError, "buffer protocol", lambda: torch.frombuffer([1], dtype=torch.uint8)),
        (ValueError, "not a multiple", lambda: torch.from_numpy(np.zeros(2, "u1,f4")["f1"])),
        (TypeError, "number, not str", lambda: torch.bernoulli(torch.ones(2), "a")),
        (RuntimeError, "got 1.1", lambda: torch.broadcast_shapes(1.1)),
        (ValueError, "Overflow", lambda: torch.mean(torch.ones(2), np.uint64(2**64 - 1))),
        (RuntimeError, "could not retrieve", lambda: torch.asarray(np.ones((2, 2)).T.data)),
    ],
)
def test_refusals_as_pytorch_names_them(error, message, call):
    with pytest.raises(error, match=message):
        call()


def test_the_bytes_of_other_memory():
    memory = bytearray(8)
    numbers = torch.asarray(memory, dtype=torch.int32)
    numbers += 1
    assert memory[4] == 1 and torch.tensor(memory).tolist() == [1, 0, 0, 0] * 2
    assert torch.asarray(memoryview(np.arange(3.0))).tolist() == [0, 0, 0, 1.875, 0, 2]
    with pytest.warns(UserWarning, match="not writable"):
        assert torch.asarray(b"ab", dtype=torch.uint8).tolist() == [97, 98]


def test_asarray_of_what_requires_a_gradient_gives_what_does():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        for made in (torch.asarray(x, copy=True), torch.asarray(x, dtype=torch.float64)):
            assert made.requires_grad and made.is_leaf
        assert not torch.asarray(x.detach(), copy=True).requires_grad
        assert not torch.asarray(x, copy=True, requires_grad=False).requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        torch.asarray(x, dtype=torch.int64)
    assert torch.asarray(x * 2, copy=True).grad_fn is not None


def test_seeds_repeat():
    draws = []
    for _ in range(2):
        torch.manual_seed(7)
        draws.append(
            (torch.rand(2, 2).tolist(), torch.randn(3).tolist(), torch.randint(0, 9, (4,)).tolist())
        )
    assert draws[0] == draws[1]
    assert all(0 <= v < 1 for row in draws[0][0] for v in row)
    assert torch.rand(2).dtype is torch.float32
    assert torch.randint(0, 9, (4,)).dtype is torch.int64


def test_what_is_refused_draws_nothing():
    x = torch.ones(2)
    before = torch.get_rng_state()
    for draw in (
        lambda: torch.randn(3, device="cuda"),
        lambda: torch.randint(3, (2,), device="cuda"),
        lambda: torch.randperm(3, device="cuda"),
        lambda: torch.rand_like(x, device="cuda"),
        lambda: torch.normal(x, x, device="cuda"),
        lambda: torch.rand(3, dtype=torch.int64),
        lambda: torch.normal(0.0, math.nan, (2,)),
        lambda: torch.normal(x, x * math.nan),
        lambda: torch.zeros(2).normal_(0.0, math.nan),
    ):
        with pytest.raises(RuntimeError):
            draw()
        assert torch.equal(torch.get_rng_state(), before)


def test_a_refused_draw_leaves_the_generator_as_pytorch_does():
    chances, whole = torch.tensor([0.5, 0.2, 2.0, 0.1]), torch.ones(3, dtype=torch.int64)
    wide = torch.tensor([0.5, 0.2, -2.0, 0.1], dtype=torch.float64)
    drop = torch.nn.functional
    torch.manual_seed(0)
    for draw, next_one in (  # PyTorch's numbers
        (lambda: drop.dropout(whole), 0.4901),
        (lambda: torch.bernoulli(chances), 0.6323),
        (lambda: drop.alpha_dropout(whole, training=True), 0.6977),
        (lambda: torch.ones(4).bernoulli_(wide), 0.9152),
        (lambda: torch.ones(4).bernoulli_(2.0), 0.3971),
    ):
        with pytest.raises(RuntimeError):
            draw()
        assert torch.rand(1).item() == pytest.approx(next_one, abs=1e-4)


def test_a_tensor_of_tensors():
    x = torch.tensor(2.0)
    assert torch.tensor([x, 3]).tolist() == [2, 3]
    assert torch.tensor([torch.ones(1), torch.ones(1, 1)]).tolist() == [1, 1]
    with pytest.raises(ValueError, match="only one element tensors"):
        torch.tensor([torch.ones(2), [3, 4]])


def test_whole_numbers_like_a_tensor_and_trials_until_one_succeeds():
    torch.manual_seed(0)
    like = torch.randint_like(torch.zeros(2, 3), 5, 9)
    assert like.dtype is torch.float32
    assert set(like.flatten().tolist()) <= {5, 6, 7, 8}
    assert torch.randint_like(like.t(), 3, requires_grad=True).requires_grad
    torch.manual_seed(0)  # PyTorch's numbers
    assert torch.zeros(5).geometric_(0.3).tolist() == [1, 1, 3, 1, 2]
    with pytest.raises(RuntimeError, match="geometric_ expects p"):
        torch.zeros(5).geometric_(1.0)
    assert torch.zeros_like(like, memory_format=torch.preserve_format).shape == (2, 3)


def test_ranges_of_many_numbers_are_drawn_as_pytorch_draws_them():
    def drawn(make):
        torch.manual_seed(3)
        return make().tolist()

    for high, numbers in (
        (2**28 - 1, [218175346, 35325593, 88681732]),
        (2**28, [35325592, 117892739, 252666824]),
        (2**32, [303761048, 3607553667, 521102280]),
    ):
        torch.manual_seed(3)
        assert torch.randint(0, high, (3,)).tolist() == numbers, high
    with pytest.warns(UserWarning) as said:
        wide = drawn(lambda: torch.randint(0, 2**25, (3,), dtype=torch.float32))
        assert wide == [16848886, 1771178, 21573036]
        assert drawn(lambda: torch.empty(2).random_(-(2**28), 2**28)) == [44490456, 194875568]
    bounds = [str(warning.message).split(" is out")[0] for warning in said]
    assert bounds == ["to - 1", "from", "to - 1"]
    assert drawn(lambda: torch.empty(2, dtype=torch.int32).random_()) == [218175338, 303761048]
    above = drawn(lambda: torch.empty(2, dtype=torch.int32).random_(3, None))
    assert above == [1612813097, 381547642]
    torch.manual_seed(5)
    whole = torch.empty(3, dtype=torch.int64).random_(-(2**63), None)
    assert whole.tolist() == [4095051218741643470, -2384568111206373699, 3813295331020233846]


def test_memory_formats_are_taken_and_asked_for():
    x = torch.rand(2, 3, 4, 5, requires_grad=True)
    for made in (
        x.clone(memory_format=torch.contiguous_format),
        torch.clone(x, memory_format=None),
    ):
        assert made.is_contiguous(memory_format=torch.contiguous_format)
        assert made.grad_fn.name() == "CloneBackward0"
    assert not x.is_contiguous(memory_format=torch.channels_last)
    last = x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    assert last.is_contiguous(memory_format=torch.channels_last) and not last.is_contiguous()
    assert not torch.detach(x).requires_grad and torch.is_signed(x)


def test_evenly_spaced_numbers_of_a_batch():
    ends = torch.tensor([1.0, 4.0])
    found = torch.func.vmap(lambda end: torch.linspace(0, end, steps=3))(ends)
    assert found.tolist() == [[0, 0.5, 1], [0, 2, 4]]
    powers = torch.func.vmap(lambda end: torch.logspace(start=0, end=end, steps=2, base=2))(ends)
    assert powers.tolist() == [[1, 2], [1, 16]]


def test_the_ends_of_a_line_are_numbers_of_its_type():
    assert torch.linspace(-1, 3, 5, dtype=torch.uint8).tolist() == [255, 192, 129, 66, 3]
    for end, dtype in ((300, torch.uint8), (200, torch.int8)):
        with pytest.raises(RuntimeError, match="without overflow"):
            torch.linspace(0, end, 5, dtype=dtype)
    for data in (2**64, [2**64, 1]):  # beyond int64, and asked for as a float
        assert torch.tensor(data, dtype=torch.float32).max().item() == 2.0**64
        assert torch.tensor(data, dtype=torch.bool).all()


def test_entries_with_a_type_of_their_own_decide():
    single, double = np.float32(1), np.float64(1)
    for data, want in (
        ([single, double], torch.float64), ((double,), torch.float64), ([2, single], torch.float32),
        ([2, double], torch.float64), ([torch.tensor(1, dtype=torch.int32)], torch.int32),
        ([np.ones(2), np.ones(2, np.float32)], torch.float64), ([True, 2.0], torch.float32),
        ([np.complex128(1)], torch.complex128),
    ):  # fmt: skip
        assert torch.tensor(data).dtype is want, data


def test_lines_of_complex_numbers_are_no_real_ones():
    for line in (torch.linspace, torch.logspace):
        with pytest.raises(RuntimeError, match="can't be safely cast"):
            line(0, 1j, 3, dtype=torch.float32)
        with pytest.raises(RuntimeError, match="0-dimensional"):
            line(torch.ones(1), 1, 3)
    assert torch.scalar_tensor(2).dtype is torch.float32


def test_a_size_is_a_size_for_out_too():
    out = torch.empty(2)
    assert torch.ones(torch.Size([2]), out=out).tolist() == [1, 1]
    sizes = [1]
    sizes += torch.Size([2])
    assert sizes == [1, 2]


def test_range_says_that_it_ends():
    with pytest.warns(UserWarning, match="deprecated"):
        assert torch.range(0, 2).tolist() == [0, 1, 2]


def test_names_of_older_programs():
    assert torch.scalar_tensor(3).dtype is torch.float32
    assert torch.scalar_tensor(True, dtype=torch.bool).item() is True
    with pytest.raises(TypeError):
        torch.scalar_tensor([1])
    torch.set_warn_always(True)  # whatever a test before has warned of
    try:
        with pytest.warns(UserWarning, match="deprecated"):
            torch.set_default_tensor_type("torch.DoubleTensor")
        torch.set_warn_always(False)
        assert torch.tensor(1.5).dtype is torch.float64
        with pytest.raises(TypeError, match="only floating-point types"):
            torch.set_default_tensor_type(torch.IntTensor)
    finally:
        torch.set_warn_always(False)
        torch.set_default_dtype(torch.float32)
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert torch.zeros(1).volatile is False
    assert torch.int8.is_signed and not torch.uint8.is_signed and not torch.bool.is_signed


def test_random_numbers_in_a_fork():
    torch.random.manual_seed(7)
    with torch.random.fork_rng():
        inside = torch.rand(3)
    assert torch.random.initial_seed() == 7 and torch.equal(torch.rand(3), inside)
    with torch.random.fork_rng(enabled=False):
        first = torch.rand(3)
    assert not torch.equal(torch.rand(3), first)


@family("name", ["float16", "float32", "float64"])
def test_uniform_numbers_stay_below_their_upper_bound(name):
    kind = getattr(torch, name)
    low, high = 1.0, 1 + 4 * torch.finfo(kind).eps
    x = torch.empty(500, dtype=kind).uniform_(low, high)
    assert (x < high).all() and (x >= low).all() and x.unique().numel() == 4
    assert (torch.rand(20_000, dtype=torch.float16) < 1).all()


def test_uniform_numbers_up_to_the_largest():
    most = torch.finfo(torch.float64).max
    torch.manual_seed(0)  # PyTorch 2.13.0 has these
    found = torch.empty(3, dtype=torch.float64).uniform_(0, most).tolist()
    assert found == [1.743857621800222e308, 1.272442910950674e308, 8.25829563133064e307]
    for low, high in ((-most, 0), (42, most), (-most / 2, most / 2)):
        x = torch.empty(9, dtype=torch.float64).uniform_(low, high)
        assert low <= x.min() <= x.max() <= high


@family("dtype", (torch.float16, torch.float32, torch.float64))
def test_infinite_parameters_of_normal_numbers(dtype):
    for size in (3, 20):
        assert torch.normal(math.inf, 1.0, (size,), dtype=dtype).eq(math.inf).all()
        assert torch.zeros(size, dtype=dtype).normal_(0.0, math.inf).isinf().all()
        assert torch.zeros(size, dtype=dtype).log_normal_(math.inf, 1.0).eq(math.inf).all()


def test_what_draws_is_a_generator_of_a_device():
    for draw in (torch.rand, torch.randperm, torch.ones(3).uniform_, torch.ones(3).multinomial):
        with pytest.raises(TypeError, match="must be a Generator, not int"):
            draw(1, generator=5)
    with pytest.raises(RuntimeError, match="device"):
        torch.Generator("foo")
    with pytest.raises(RuntimeError, match="OPENGL device type not an accelerator"):
        torch.Generator("opengl")


@family("frequencies", [torch.fft.fftfreq, torch.fft.rfftfreq])
def test_frequencies_are_leaves_on_a_device(frequencies):
    x = frequencies(2, device="cpu", layout=torch.strided, requires_grad=True)
    assert x.is_leaf and x.requires_grad


def test_arguments_of_to():
    x = torch.zeros(2)
    assert x.to("cpu", torch.float64, True, True).dtype is torch.float64
    assert x.to(None) is x and x.to(torch.float32, False, True) is not x
    for given in (("cpu", True), (None, True), (torch.float64, 3), ("cpu", torch.float64, 3)):
        with pytest.raises(TypeError):
            x.to(*given)
        with pytest.raises(TypeError):
            torch.nn.Linear(1, 1).to(*given)
    with pytest.raises(RuntimeError, match="copy"):
        torch.nn.Linear(1, 1).to(torch.float64, False, True)


def test_a_class_of_the_users_makes_instances_of_it():
    class Named(torch.Tensor):
        def __new__(cls, data, name=""):
            return super().__new__(cls, data)

        def __init__(self, data, name=""):
            self.name = name

        def twice(self):
            return self * 2

    x = Named([1.0, 2.0], "x").requires_grad_()
    x.twice().sum().backward()
    assert (type(x), x.name, x.grad.tolist()) == (Named, "x", [2, 2])
    y = (x * 1j).conj().as_subclass(Named)
    assert y.twice().imag.tolist() == [-2, -4] and y.requires_grad
    with pytest.raises(NotImplementedError, match="__torch_function__"):
        type("Traced", (torch.Tensor,), {"__torch_function__": None})
