"""What parameters take: Python functions refuse what PyTorch's refuse, the language takes numbers.

Each declaration is compared with PyTorch's signatures, and each is held: a number, a text, a list
or an array where a tensor is declared is a TypeError, of a function, a method and one in place.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import gradcli
import gradcli.nn.functional as F
from gradcli.engine.record.arguments import parameters_of
from gradcli.engine.record.face import unchecked
from gradcli.engine.record.fast_path import FUNCTIONS
from gradcli.functions.methods import METHODS
from gradcli.language.names.table import function as of_language
from gradcli.language.runtime.run import prepare
from tests.support.families import family
from tests.support.oracles import load

SIGNATURES = load("arguments")["cases"]
NUMBERS_TOO = frozenset((
    "add", "div", "divide", "floor_divide", "mul", "multiply", "sub", "subtract", "true_divide",
))  # fmt: skip
"""PyTorch takes a number for their first tensor as well, though no signature says so."""
OTHERWISE = {
    "embedding max_norm": "PyTorch's is another function of that name",
    "embedding norm_type": "PyTorch's is another function of that name",
    "pinv atol": "PyTorch has another order of signatures",
    "ctc_loss input_lengths": "a list of lengths, too",
    "ctc_loss target_lengths": "a list of lengths, too",
    "narrow_copy start": "as narrow, a tensor as well",
    "pinv rtol": "a tensor of a number counts as one",
    "scatter value": "as src",
    "tensor_split indices_or_sections": "looked at by the function itself",
    "unflatten sizes": "a tensor is refused by the function itself, with its own error",
    "gradient spacing": "looked at by the function itself",
    "histogramdd bins": "looked at by the function itself",
}
WRONG = (2, 2.5, "a", [1.0], (1.0,), np.array([1.0, 2.0]), object())


def declared(name):
    """What the function of a name in Python takes."""
    function = getattr(gradcli, name)
    own = getattr(function, "operator", None) or unchecked(function)
    return parameters_of(own, name, strict=False)


NAMES = [name for name in SIGNATURES if declared(name) is not None]


def of_torch(name, place, parameter, takes):
    """The types that PyTorch's signatures have for a parameter."""
    found = set()
    for signature in SIGNATURES[name]:
        placed = [kind for _, kind, named in signature if not named]
        by_name = [kind for own, kind, _ in signature if own == parameter]
        if parameter in takes.order:
            found.update(placed[place : place + 1])
        else:
            found.update(by_name)
    return {kind.removeprefix("Optional[").removesuffix("]") for kind in found}


def test_tensors_and_truths_are_declared_as_pytorch_declares_them():
    differ, count = [], 0
    for name in NAMES:
        takes = declared(name)
        for place, parameter in enumerate((*takes.order, *takes.named)):
            wanted = of_torch(name, place, parameter, takes)
            ours = set(takes.kinds.get(parameter, ())) - {"None", "asked"}
            if f"{name} {parameter}" in OTHERWISE or not wanted:
                continue
            count += 1
            tensor, number = "Tensor" in wanted, bool(wanted & {"number", "float"})
            number = number or (place == 0 and name in NUMBERS_TOO)
            expected = {"Tensor", "Number"} if number else {"Tensor"}
            agree = ours - {"int"} == expected if tensor else "Tensor" not in ours
            if not agree or (wanted == {"bool"} and ours and "bool" not in ours):
                differ.append(f"{name} {parameter}: PyTorch {wanted}, here {ours}")
    assert not differ, "\n".join(differ)
    assert len(NAMES) > 400 and count > 1000


def given(takes, parameter):
    """A value of the kind that is declared."""
    kinds = takes.kinds.get(parameter, ())
    if parameter in takes.defaults:
        return takes.defaults[parameter]
    for kind, value in (("Tensor", gradcli.ones(2, 2)), ("int", 0), ("bool", False),
                        ("Sequence[int]", (0,)), ("Number", 1.0), ("float", 1.0), ("str", "a"),
                        ("Sequence[Tensor]", [gradcli.ones(2, 2)])):  # fmt: skip
        if kind in kinds:
            return value
    return 0


def accepted(call, takes, values, shown):
    """The calls that are not refused as an argument of the wrong kind."""
    found = []
    for parameter in (*takes.order, *takes.named):
        if set(takes.kinds.get(parameter, ())) - {"None"} != {"Tensor"}:
            continue
        for wrong in WRONG:
            these = {**values, parameter: wrong}
            order = takes.order[:1] if "stable" in takes.named else takes.order  # of sort
            args = [these[p] for p in order]
            options = {p: these[p] for p in (*takes.order[len(order) :], *takes.named)}
            for _ in range(2):  # by the stand-in, then by what was written
                try:
                    call(*args, **options)
                except TypeError as fault:
                    if "must be Tensor" in str(fault):
                        continue
                    found.append(f"{shown}, {parameter}={wrong!r}: {fault}")
                except Exception as fault:
                    found.append(f"{shown}, {parameter}={wrong!r}: {type(fault).__name__} {fault}")
                else:
                    found.append(f"{shown}, {parameter}={wrong!r}")
    return found


@family("form", ["function", "method", "in place"])
def test_what_is_no_tensor_is_refused_where_one_is_declared(form):
    found, count = [], 0
    for name in NAMES:
        takes = declared(name)
        own = f"{name}_" if form == "in place" else name
        home = gradcli if form == "function" else gradcli.Tensor
        if form != "function" and own not in METHODS:
            continue
        values = {p: given(takes, p) for p in (*takes.order, *takes.named)}
        call = getattr(home, own)
        if form == "function":
            found += accepted(call, takes, values, name)
        else:  # of a tensor, so its own first argument is one
            takes = parameters_of(getattr(METHODS[own], "declared", METHODS[own]), own, True)
            if takes is None or takes.order[1:] != declared(name).order[1:]:
                continue
            rest = type(takes)(own, True)
            rest.order, rest.named, rest.defaults = takes.order[1:], takes.named, takes.defaults
            rest.kinds = takes.kinds
            bound = functools.partial(call, gradcli.ones(2, 2))
            found += accepted(bound, rest, values, f"x.{own}")
        count += 1
    assert not found, "\n".join(found)
    assert count > {"function": 400, "method": 150, "in place": 60}[form]


def test_programs_of_the_language_take_numbers_for_tensors():
    assert of_language("maximum")(gradcli.ones(2), 2).tolist() == [2.0, 2.0]
    assert of_language("relu")(2) == 2
    assert of_language("add")(2, 3) == 5
    for name in ("atan2", "hypot", "fmod", "logaddexp", "minimum"):
        assert of_language(name)(0.5, 0.25) == FUNCTIONS[name](0.5, 0.25)


def test_pythons_signs_take_numbers():
    x = gradcli.tensor([1.0, 4.0])
    assert (2 + x).tolist() == [3.0, 6.0] and (x == 4).tolist() == [False, True]
    assert (2**x).tolist() == [2.0, 16.0] and (x**2).tolist() == [1.0, 16.0]
    assert (2 % x).tolist() == [0.0, 2.0]


@family(
    "call, words",
    [
        (
            lambda x: gradcli.remainder(2, 3),
            "argument 'input' (position 1) must be Tensor, not int",
        ),
        (lambda x: gradcli.pow(2, 3), "argument 'input' (position 1) must be Tensor, not int"),
        (lambda x: x.add("a"), "add(): argument 'other' (position 1) must be Tensor, not str"),
        (lambda x: x.add_("a"), "add_(): argument 'other' (position 1) must be Tensor, not str"),
        (lambda x: x.sum(keepdim=2), "argument 'keepdim' (position 2) must be bool, not int"),
        (lambda x: x.narrow(0, 0, 1.5), "argument 'length' (position 3) must be int, not float"),
        (lambda x: x.narrow(0, 0, True), "argument 'length' (position 3) must be int, not bool"),
        (lambda x: gradcli.cat([x, 2]), "expected Tensor as element 1 in argument 0, but got int"),
        *(
            (lambda x, f=f: f([x, x]), "(position 1) must be Tensor, not list")
            for f in (
                gradcli.block_diag,
                gradcli.broadcast_tensors,
                gradcli.cartesian_prod,
                gradcli.chain_matmul,
            )
        ),
        (lambda x: gradcli.maximum(x), "missing 1 required positional argument: 'other'"),
        (lambda x: gradcli.dot(x), "missing 1 required positional argument: 'tensor'"),
        (lambda x: gradcli.lerp(x, x, 0.5, 1), "positional arguments but 4 were given"),
        (lambda x: gradcli.lerp(x, x, wait=0.5), "unexpected keyword argument 'wait'"),
    ],
)
def test_the_error_names_the_argument(call, words):
    x = gradcli.ones(2)
    for _ in range(2):
        with pytest.raises(TypeError) as fault:
            call(x)
        assert words in str(fault.value)


def test_numbers_count_where_numbers_are_declared():
    x, two = gradcli.tensor([1.0, 4.0]), gradcli.tensor(2)
    assert x.sum(two - 2).tolist() == 5.0  # a tensor of a whole number is a dimension
    assert gradcli.mul(2, x).tolist() == gradcli.mul(x, np.float64(2)).tolist() == [2.0, 8.0]
    assert gradcli.add(x, x, alpha=two).tolist() == [3.0, 12.0]
    assert gradcli.sum(x, axis=0).tolist() == x.sum(axis=0).tolist() == 5.0


@family(
    "call, same",
    [
        (lambda x: x.view(size=(2, 3)), lambda x: x.view(2, 3)),
        (lambda x: x.expand(size=(2, 6)), lambda x: x.expand(2, 6)),
        (lambda x: x.repeat(repeats=(2,)), lambda x: x.repeat(2)),
        (lambda x: gradcli.cat(x.split(split_size=2)), lambda x: x),
        (lambda x: gradcli.arange(end=3), lambda x: gradcli.arange(3)),
        (lambda x: gradcli.clamp(x, np.int64(1)), lambda x: gradcli.clamp(x, 1)),
        (lambda x: x.clone().copy_(2), lambda x: x + 1),
        (lambda x: gradcli.copysign(x, x.double()[:1]), lambda x: x.double().abs() * x[0].sign()),
        (lambda x: F.mse_loss(x, x > 0), lambda x: F.mse_loss(x, (x > 0).float())),
        (lambda x: F.huber_loss(x, x > 0), lambda x: F.huber_loss(x, (x > 0).float())),
        (lambda x: F.soft_margin_loss(x.half(), x), lambda x: F.soft_margin_loss(x, x).half()),
        (lambda x: F.soft_margin_loss(x, x.byte()), lambda x: gradcli.log1p((-x).exp()).mean()),
        (lambda x: gradcli.max_pool1d_with_indices(x[None], 6)[0], lambda x: x[None].amax(1, True)),
    ],
)
def test_what_pytorch_takes_is_taken(call, same):
    x = gradcli.ones(6)
    for _ in range(2):
        assert call(x).dtype is same(x).dtype
        assert gradcli.allclose(call(x), same(x))


def test_losses_refuse_whole_numbers_and_pooling_gives_tuples():
    x = gradcli.arange(6)
    for loss in (F.mse_loss, F.smooth_l1_loss, F.huber_loss):
        with pytest.raises(NotImplementedError, match="Long"):
            loss(x, x)
    with pytest.raises(RuntimeError, match="Integral"):
        F.kl_div(x.float(), x > 0)
    for truths in (x[:2], x[:2] > 0):
        with pytest.raises(NotImplementedError, match="binary_cross_entropy"):
            F.binary_cross_entropy(truths, truths)
    with pytest.raises(RuntimeError, match="Float can't be cast to the desired output type Long"):
        F.huber_loss(x, x.float(), reduction="sum")
    assert type(F.max_pool1d(gradcli.ones(1, 4), 2, return_indices=True)) is tuple


def test_kinds_of_numbers_that_layers_do_not_take():
    x = gradcli.ones(2, 2)
    with pytest.raises(NotImplementedError, match="clamp is not supported for complex types"):
        F.hardtanh(x.to(gradcli.complex64))
    for logits in (x.to(gradcli.complex64), x.long(), x > 0):
        with pytest.raises(NotImplementedError, match="log_sigmoid"):
            F.binary_cross_entropy_with_logits(logits, x)
    with pytest.raises(RuntimeError, match="unsigned type with negative limits"):
        F.hardtanh(x.byte())
    assert F.hardtanh(x.byte() * 3, -0.5, 2).tolist() == [[2, 2], [2, 2]]  # from 0 to 2
    lines = gradcli.tensor([[3, 1, 4, 1]], dtype=gradcli.int8)
    with pytest.raises(NotImplementedError, match="max_pool1d"):
        F.max_pool1d(lines, 2)
    largest, places = F.max_pool1d(lines, 2, return_indices=True)
    assert largest.dtype is gradcli.int8 and largest.tolist() == [[3, 4]]
    assert places.tolist() == [[0, 2]]
    with pytest.raises(NotImplementedError, match="prelu_cpu"):
        F.prelu(x.long(), x[0, :1].long())
    with pytest.raises(RuntimeError, match="query, key, and value to have the same dtype"):
        F.scaled_dot_product_attention(x.half(), x, x)
    with pytest.raises(TypeError, match="complex"):
        gradcli.normal(1j, 0.3, (2, 3))
    for options in ({"size": (2,)}, {"dtype": gradcli.float64}):
        with pytest.raises(TypeError, match="normal takes a size and a dtype with numbers"):
            gradcli.normal(x, 0.3, **options)
    drawn = gradcli.normal(gradcli.tensor(1.0), 0.3, (2, 3), dtype=gradcli.float64)
    assert drawn.shape == (2, 3) and drawn.dtype is gradcli.float64


def test_what_is_added_grows_no_result():
    x = gradcli.ones(2, 2)
    for call in (
        lambda: F.linear(x[0], x[0], x[0]),
        lambda: F.linear(x[0], x, x),
        lambda: F.soft_margin_loss(x[0], x),
    ):
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            call()
    with pytest.raises(ValueError, match="weight has to be a 2D Tensor"):
        F.embedding_bag(gradcli.tensor([[0]]), x[0])


def test_bytes_name_classes_and_no_rows_and_are_never_a_mask():
    x = gradcli.tensor([[0.0, 1, 2], [1, 0, 3], [2, 2, 1]], requires_grad=True)
    classes = gradcli.tensor([1, 2, 1], dtype=gradcli.uint8)
    weight = gradcli.tensor([1.0, 2, 4])
    loss = F.cross_entropy(x, classes, weight=weight)
    loss.backward()
    assert loss.item() == pytest.approx(0.6523231863975525)
    assert x.grad[0].tolist() == pytest.approx([0.0225, -0.1888, 0.1663], abs=1e-4)
    assert F.nll_loss(x[..., None], classes[:, None], weight=weight).item() == -2.25
    for kind in (gradcli.uint8, gradcli.int16, gradcli.bool):
        with pytest.raises(RuntimeError, match="scalar types: Long, Int"):
            F.embedding(classes.to(kind), x)


def test_addr_keeps_the_dtype_of_a_number_it_adds_to():
    number, vector = gradcli.tensor(0.5, dtype=gradcli.float64), gradcli.ones(2)
    assert gradcli.addr(number, vector, vector).dtype is gradcli.float64
    assert gradcli.block_diag(vector, number).dtype is gradcli.float32  # which it does not widen
    assert gradcli.addr(number.float(), vector.half(), vector.half()).dtype is gradcli.float32


@family("wrong", [2.0, np.float64(1.5), [1.0, 2.0]])
def test_what_pytorchs_python_asks_lacks_an_attribute_where_it_is_no_tensor(wrong):
    x = gradcli.ones(2)
    for call in (
        lambda: F.softsign(wrong), lambda: F.sigmoid(wrong), lambda: F.normalize(wrong, dim=0),
        lambda: F.dropout2d(wrong, 0.0), lambda: F.interpolate(wrong, 2),
    ):  # fmt: skip
        for _ in range(2):
            with pytest.raises(AttributeError, match="has no attribute"):
                call()
    with pytest.raises(TypeError if hasattr(wrong, "size") else AttributeError):
        F.mse_loss(x, wrong)  # which calls its size
    for layer in (gradcli.nn.Tanh(), gradcli.nn.Sigmoid(), gradcli.nn.LogSigmoid()):
        with pytest.raises(TypeError, match="must be Tensor"):
            layer(wrong)


def test_numbers_are_no_dtypes_and_whole_ones_of_any_kind_bound_randint():
    for wrong in (np.float64(1.5), np.ones(2)):
        with pytest.raises(TypeError, match="must be torch"):
            gradcli.zeros(2, dtype=wrong)
    assert gradcli.randint(np.int64(0), gradcli.tensor(1), (2,)).tolist() == [0, 0]


def test_python_gives_softmax_a_dimension_and_programs_need_not():
    x = gradcli.ones(2)
    for call in (gradcli.softmax, gradcli.log_softmax, gradcli.Tensor.softmax):
        for _ in range(2):
            with pytest.raises(TypeError, match="missing 1 required positional argument: 'dim'"):
                call(x)
    assert of_language("softmax")(x).tolist() == gradcli.softmax(x, 0).tolist() == [0.5, 0.5]


def test_python_gives_what_flip_roll_tile_and_logsumexp_need_and_programs_need_not():
    x = gradcli.tensor([[1.0, 2.0], [3.0, 5.0]])
    for call in (gradcli.flip, gradcli.roll, gradcli.tile, gradcli.logsumexp):
        for _ in range(2):  # the second call runs other code
            with pytest.raises(TypeError, match="missing 1 required positional argument"):
                call(x)
    assert of_language("flip")(x).tolist() == gradcli.flip(x, (0, 1)).tolist()
    assert of_language("roll")(x).tolist() == gradcli.roll(x, 1).tolist()


def test_trapezes_have_places_or_a_distance():
    y = gradcli.tensor([1.0, 2.0])
    for area in (gradcli.trapezoid, gradcli.cumulative_trapezoid):
        with pytest.raises(TypeError, match="not both"):
            area(y, y, dx=3)


def test_a_number_is_compared_as_one_of_the_dtype():
    """Of 0-d tensors as of longer ones: -1 is 255 among bytes, 2**24 + 1 is no float32."""
    for value, dtype, number, less in (
        (3, "uint8", -1, True), (100, "uint8", 300, False), (100, "int8", 300, False),
        (100, "int32", 2**40, False), (2**24 + 1, "int64", 2.0**24 + 2, True),
        (2**24, "int64", 2.0**24 + 1, False), (3, "int64", 4, True), (0.5, "float32", 1, True),
    ):  # fmt: skip
        for shape in ((), (1,)):
            x = gradcli.full(shape, value, dtype=getattr(gradcli, dtype))
            assert bool(x < number) is bool(gradcli.lt(x, number)) is less


def test_a_whole_number_is_of_the_dtype_of_the_tensor_before_its_bits_count():
    many, one = gradcli.tensor([5, 0, 200], dtype=gradcli.uint8), gradcli.tensor(-5).char()
    assert gradcli.gcd(many, one).tolist() == [1, 251, 1]
    assert gradcli.lcm(many, one).tolist() == [231, 0, 24]
    assert gradcli.bitwise_right_shift(one, many // 5).tolist() == [125, 251, 0]


def test_a_masked_sum_is_in_the_dtype_that_is_asked_for():
    numbers = gradcli.tensor([100, 100, 7], dtype=gradcli.int8)
    mask = gradcli.tensor([True, True, False])
    for dtype, want in ((gradcli.int8, -56), (gradcli.bool, True), (gradcli.int32, 200)):
        found = gradcli.masked.sum(numbers, dtype=dtype, mask=mask)
        assert (found.dtype, found.item()) == (dtype, want)
    assert gradcli.masked.sum(numbers, mask=mask).item() == 200


def test_complex_numbers_make_no_real_norm_and_no_real_curve():
    with pytest.raises(RuntimeError, match="dtype should be complex for complex inputs"):
        gradcli.masked.norm(gradcli.tensor([3 + 4j]), dtype=gradcli.float64)
    for name in ("amax", "amin", "argmax", "argmin"):
        with pytest.raises(RuntimeError, match="omplex"):
            getattr(gradcli.masked, name)(gradcli.tensor([3 + 4j]), 0, dtype=gradcli.float64)
    with pytest.raises(RuntimeError, match="cannot be converted to type float without overflow"):
        F.celu(gradcli.tensor([1.0, -3.0]), 1j)
    x = gradcli.tensor([1.0, -3.0])
    assert gradcli.equal(F.celu(x, 0.5 + 0j), F.celu(x, 0.5))


def test_a_number_in_a_tensor_is_a_dimension_beside_keepdim():
    x = gradcli.tensor([[1.0, 2.0], [3.0, 5.0]])
    assert gradcli.max(x, gradcli.tensor(1), True).values.tolist() == [[2], [5]]
    with pytest.raises(TypeError):
        gradcli.max(x, gradcli.tensor(1.0), True)
    assert gradcli.max(x, other=5 - x).tolist() == x.max(other=5 - x).tolist() == [[4, 3], [3, 5]]


class Other:
    """What is no number, but has the signs' reflected methods."""

    def __radd__(self, other):
        return "reflected"

    __rmod__ = __rfloordiv__ = __rand__ = __rlshift__ = __gt__ = __eq__ = __radd__


def test_signs_leave_what_is_no_value_to_its_own_methods():
    x, i, o = gradcli.ones(2), gradcli.tensor([1, 2]), Other()
    found = [x + o, x % o, x // o, i & o, i << o, x < o, x == o]
    assert found == ["reflected"] * 7
    assert (x == object()) is False and (x != object()) is True
    names = ("lt", "mod", "floordiv", "and", "lshift", "iadd", "iand", "ifloordiv", "rfloordiv")
    for name in names:
        assert getattr(i, f"__{name}__")(object()) is NotImplemented, name


def test_a_device_is_named_with_a_number_too():
    assert gradcli.zeros(2, device="cpu:0").to(gradcli.device("cpu", 0)).device == "cpu"
    for name in ("cpu:-1", "cpu:x", "cpu:", "cpu:01", "cuda:0:1"):
        with pytest.raises(RuntimeError, match=f"Invalid device string: '{name}'"):
            gradcli.device(name)


def test_copysign_gives_nan_its_sign_everywhere():
    for dtype in (gradcli.float16, gradcli.float32, gradcli.float64):
        x = gradcli.full((37,), math.nan, dtype=dtype, requires_grad=True)
        for sign in (-1.0, 1.0):
            out = gradcli.copysign(x, gradcli.full((37,), sign, dtype=dtype))
            assert bool((out.signbit() == (sign < 0)).all())
        out.sum().backward()
        assert x.grad.isnan().all()


def test_a_gradient_has_its_older_name():
    x = gradcli.ones(2, requires_grad=True)
    x._grad = gradcli.ones(2)
    assert x.grad.tolist() == [1, 1]


def test_truths_are_not_divided_by_truths():
    b = gradcli.tensor([True, False])
    for divide in (lambda: b // True, lambda: gradcli.fmod(b, True), lambda: True % b):
        with pytest.raises(NotImplementedError, match="Bool"):
            divide()
    assert (b // 1).dtype is gradcli.int64


def test_a_power_by_one_exponent_has_the_bits_of_that_by_many():
    for dtype in (gradcli.float32, gradcli.float64):
        for base in (-0.0, 3.0, 7.0):
            for y in (0.5, -1.0, 2.0):
                many = (base ** gradcli.full((9,), y, dtype=dtype)).tolist()
                assert str([(base ** gradcli.tensor(y, dtype=dtype)).item()] * 9) == str(many)


def test_of_two_zeros_the_first_stays_at_every_place():
    for dtype in (gradcli.float16, gradcli.float32, gradcli.float64):
        for step in (1, 2):
            x = gradcli.full((37,), -0.0, dtype=dtype)[::step]
            y = gradcli.zeros(37, dtype=dtype)[::step]
            for call in (gradcli.fmax, gradcli.fmin, gradcli.maximum, gradcli.minimum):
                assert call(x, y).signbit().all() and not call(y, x).signbit().any(), call
            for out in (x.relu(), F.relu6(x), x.clamp(0.0, 1.0), x.clamp(max=0.0)):
                assert out.signbit().all()
    nan = gradcli.tensor([math.nan, 2.0, math.nan])
    assert str(gradcli.fmax(nan, nan.flip(0))) == str(nan) == str(gradcli.fmin(nan, nan))
    assert gradcli.fmax(nan, gradcli.tensor([1.0, math.nan, 3.0])).tolist() == [1.0, 2.0, 3.0]


def test_a_result_held_between_bounds_may_be_written_to():
    for low, high in ((0.0, 6.0), (-2.0, 3.0), (-1.0, 1.0), (0.0, 0.0)):
        x = gradcli.tensor([-9.0, 0.5, 9.0], requires_grad=True)
        y = F.hardtanh(x * 3, low, high)
        y.add_(1)
        y.sum().backward()
        assert x.grad.tolist() == [0.0, 3.0 * (low < 1.5 < high), 0.0]


def test_factors_may_stand_among_tensors_as_in_pytorchs_older_order():
    x = gradcli.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = x + 1
    for _ in range(2):  # the second call runs other code
        assert gradcli.add(x, 2, y).tolist() == x.add(2, y).tolist() == (x + 2 * y).tolist()
        assert x.clone().sub_(2, y).tolist() == (x - 2 * y).tolist()
        assert gradcli.rsub(x, 2, 3).tolist() == (2 - 3 * x).tolist()
        wanted = (2 * x + 3 * (y @ y)).tolist()
        assert gradcli.addmm(2, x, 3, y, y).tolist() == x.addmm(2, 3, y, y).tolist() == wanted
        assert x.clone().addcmul_(2, y, y).tolist() == (x + 2 * y * y).tolist()
        with pytest.raises(TypeError):
            gradcli.addcmul(x, y, y, 2)
    assert gradcli.hsplit(x, sections=2)[1].tolist() == [[2.0], [4.0]]
    assert gradcli.pinverse(x, rcond=0.9).tolist() == gradcli.pinverse(x, 0.9).tolist()
    assert gradcli.softmax(gradcli.zeros(0, dtype=gradcli.int64), 0).dtype is gradcli.int64
    assert gradcli.zeros(0, dtype=gradcli.bool).median().item() is True
    assert gradcli.zeros(0, dtype=gradcli.complex64).median().isnan()


def test_an_infinite_factor_meets_the_slices_that_are_added_alone():
    x = gradcli.zeros(3, 2, requires_grad=True)
    source = gradcli.ones(1, 2, requires_grad=True)
    out = x.index_add(0, gradcli.tensor([1]), source, alpha=float("inf"))
    assert out.tolist() == [[0.0, 0.0], [float("inf")] * 2, [0.0, 0.0]]
    own, added = gradcli.autograd.grad(out.sum(), (x, source))
    assert own.tolist() == [[1.0, 1.0]] * 3 and added.tolist() == [[float("inf")] * 2]


def test_factors_below_0_and_numbers_that_unsigned_types_take():
    x = gradcli.tensor([1, 2, 3], dtype=gradcli.uint8)
    assert gradcli.fill(x, -1).tolist() == [255, 255, 255]
    for out in (gradcli.addcmul(x, x, x, value=-1), x.clone().addcmul_(x, x, value=-1)):
        assert out.dtype is gradcli.uint8 and out.tolist() == [0, 254, 250]


def test_a_formula_takes_whole_numbers_that_python_refuses():
    assert prepare("x*2**70 + 2**64").run({"x": gradcli.tensor(1.0)}).value.item() == 65 * 2.0**64
    x = gradcli.ones(2)
    for call in (lambda: x * 2**64, lambda: -(2**63) - 1 + x, lambda: x.add_(2**64)):
        for _ in range(2):
            with pytest.raises(OverflowError):
                call()
    assert (x * (2**64 - 1)).tolist() == [2.0**64] * 2


@pytest.mark.filterwarnings("ignore:indexing with dtype uint8")
@pytest.mark.parametrize("written", [5, gradcli.tensor(5.0), gradcli.ones(3) * 5])
def test_bytes_stand_for_truths_where_they_are_written_to(written):
    for given in (0, 1, [1, 0], [0, 1]):
        found, wanted = gradcli.zeros(2, 3), gradcli.zeros(2, 3)
        found[gradcli.tensor(given, dtype=gradcli.uint8)] = written
        wanted[gradcli.tensor(given).bool()] = written
        assert found.equal(wanted)


def test_one_number_is_put_where_one_mask_holds_in_any_type():
    x, mask = gradcli.ones(2, 2), gradcli.tensor([True, False])
    for value in (gradcli.tensor(2.5, dtype=gradcli.float64), gradcli.tensor([[[2]]])):
        found = x.index_put((mask,), value)
        assert found.dtype is gradcli.float32
        assert found.tolist() == [[value.item()] * 2, [1, 1]]
        for index, more in ((mask, True), (gradcli.tensor([0]), False)):
            with pytest.raises(RuntimeError, match=r"dtypes match|shape mismatch"):
                x.index_put((index,), value, accumulate=more)
    with pytest.raises(RuntimeError, match="without overflow"):
        x.index_put((mask,), gradcli.tensor(1j))
    x = gradcli.ones(2, 2, requires_grad=True)
    y = x.index_put((mask,), gradcli.tensor(2.0).double())
    assert y.grad_fn.name() == "IndexPutBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [[0, 0], [1, 1]]


def test_index_put_without_an_index_is_refused():
    with pytest.raises(RuntimeError, match="at least one index"):
        gradcli.ones(3).index_put([], gradcli.tensor(1.0))


OUT = {
    "gelu": (), "softplus": (2,), "softshrink": (), "hardshrink": (), "normalize": (),
    "linear": (gradcli.ones(2, 3),),
}  # fmt: skip


@pytest.mark.parametrize("name", OUT)
def test_layers_that_are_built_in_functions_take_out(name):
    function, x = getattr(gradcli.nn.functional, name), gradcli.arange(6.0).reshape(2, 3)
    out = gradcli.empty(0)
    assert function(x, *OUT[name], out=out) is out
    assert out.equal(function(x, *OUT[name]))
