"""Random numbers: new tensors of them, choices, numbers written in place, the one generator.

The words of the generator become numbers as they do in PyTorch on a CPU without Intel's library:

    bernoulli    a uniform number below p: of float64 for one p, else of the dtype of the p's
    exponential  -log1p(-u) / rate, u of float64
    multinomial  with replacement: a uniform number placed among the cumulative weights
                 without: the largest of weight / exponential, all categories at once
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation import generator as random
from gradcli.engine.creation.factories import (
    beneath,
    finish,
    laid,
    like,
    memory_order,
    refuse_kinds,
    requiring,
    shape_of,
    sizes_of,
)
from gradcli.engine.creation.generator import manual_seed as manual_seed
from gradcli.engine.dtypes import DType, float16, float32, float64, int64, to_dtype
from gradcli.engine.record.arguments import UNSAID, is_whole
from gradcli.engine.record.composite import bottom, called, is_batch, named
from gradcli.engine.record.face import face
from gradcli.engine.record.inplace import check_writable, share_memory, written_twice
from gradcli.engine.record.out import TARGET, may_be
from gradcli.engine.source_location import warn
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.ops.errors import RuntimeFault, bad_dtype, bad_type, bad_value
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS
from gradcli.ops.torch_messages import not_a

FUNCTIONS = (
    "bernoulli get_rng_state initial_seed manual_seed multinomial normal poisson rand rand_like "
    "randint randint_like randn randn_like randperm seed set_rng_state"
)
"""What ``gradcli`` has of this module."""

# ---- New tensors ---------------------------------------------------------------------------------


def drawn(
    draw: str, shape: tuple[int, ...], target: DType, generator: Any, *of: float,
    requires_grad: bool = False, device: Any = None,
) -> Tensor:  # fmt: skip
    """Numbers by a method of Generator: ``"uniform"`` from and to, ``"normal"`` of mean and std."""
    if draw == "uniform" or 0 not in shape:  # no numbers are no normal ones of any type
        refuse_kinds("bool int", _KERNELS[draw], target)
    out = _target(shape)
    if draw == "normal" and out is not None and not out.own_array().flags.c_contiguous:
        draw = "normals_in_pairs"

    def make(shape: tuple[Any, ...]) -> Tensor:
        charge_shape((2 + (target.itemsize < 4), *shape), target.itemsize)  # words of 32 bits, too
        source = random.generator(generator)
        if target.is_complex:  # both parts are drawn, of half the variance each
            given = of or (0.0, 1.0)
            parts = given if draw == "uniform" else (given[0], given[1] * math.sqrt(0.5))
            pairs = getattr(source, draw)(2 * math.prod(shape), target.itemsize > 8, *parts)
            numbers = pairs.view(target.numpy)
        else:
            count = math.prod(shape)
            odd = target is float16 and draw == "normal" and count > random.BLOCK
            more = -count % random.BLOCK if odd else 0
            numbers = getattr(source, draw)(count + more, target.itemsize > 4, *of)
            if more:  # halves are drawn in whole blocks, the last of which ends the tensor
                ends = numbers[: count - random.BLOCK], numbers[-random.BLOCK :]
                numbers = np.concatenate(ends)
        numbers = numbers.astype(target.numpy)
        if draw == "uniform":  # what rounding has brought to the upper bound
            low, high = of or (0.0, 1.0)
            numbers[numbers == high] = low
        return finish(numbers.reshape(shape)[()], target, requires_grad)

    return _made(make, shape, device)


_KERNELS = dict.fromkeys(("normal", "normals_in_pairs"), "normal_kernel_cpu")
_KERNELS["uniform"] = "check_uniform_bounds"


def _made(
    make: Callable[[tuple[Any, ...]], Tensor], shape: tuple[Any, ...], device: Any = None
) -> Tensor:
    """A random tensor of a shape, by ``make``: inside vmap as that says of random numbers.

    Raises RuntimeFault (E0905) for a device that is not there, before any number is drawn.
    """
    if device is not None:
        wrap(np.zeros(()), float64).to(device=device)
    inside = _inside_vmap()
    if inside is None and (out := _target(shape)) is not None:
        return laid(make, out)
    return make(shape) if inside is None else inside.of(make, shape)


def _inside_vmap(*parameters: Any) -> random.Drawing | None:
    """What the vmaps around say of random numbers.

    Raises RuntimeFault (E0414) for an ``out=`` inside of one, and for parameters that are a batch
    of one that draws the same for all, where they differ.
    """
    inside = around = random.drawing.get()
    if inside is not None and TARGET.get() is not None:
        said = "vmap: We do not support calling out variants of random operations inside of vmap."
        raise RuntimeFault("E0414", said, help="leave out= away")
    layers = (t for value in parameters for t in _layers(value))
    ranks = {t.__gradcli_rank__ for t in layers if not t.batch or t.alike() is None}
    while around is not None:
        if around.randomness == "same" and around.level in ranks:
            said = "Vmap does not currently support same randomness with a batched tensor input"
            mend = 'draw the numbers outside, or write randomness="different"'
            raise RuntimeFault("E0414", said, help=mend)
        around = around.outer
    return inside


def _layers(value: Any) -> Iterator[Any]:
    while hasattr(value, "content"):
        yield value
        value = value.content


def _target(shape: tuple[Any, ...]) -> Plain | None:
    """The ``out=`` that numbers of this shape are drawn for; one that grows lies in rows."""
    out = TARGET.get()
    return out if out is not None and tuple(out.shape) == tuple(shape) else None


def _chosen(choose: Callable[[np.ndarray], np.ndarray], input: Tensor, dtype: DType) -> Tensor:
    """What ``choose`` draws by the numbers of ``input``, whose leading dimensions it keeps."""

    def of(value: Any) -> Any:
        return wrap(choose(value.array)[()], dtype) if isinstance(value, Plain) else value.over(of)

    _inside_vmap(input)
    result: Tensor = beneath(input.detach(), of)
    return result


def _drawing(draw: str) -> Any:
    def create(
        *sizes: Any, size: Any = None, dtype: Any = None, requires_grad: bool = False,
        device: Any = None, generator: Any = None, layout: Any = None, pin_memory: Any = False,
    ) -> Tensor:  # fmt: skip
        target = dtypes.get_default_dtype() if dtype is None else to_dtype(dtype)
        return drawn(
            draw, shape_of(sizes, size, create.__name__), target, generator,
            requires_grad=requires_grad, device=device,
        )  # fmt: skip

    return create


rand = named(_drawing("uniform"), "rand", "Random numbers, uniform in [0, 1).")
randn = named(_drawing("normal"), "randn", "Random numbers, normal with mean 0 and variance 1.")
_randn_in_pairs = named(_drawing("normals_in_pairs"), "randn", randn.__doc__)


def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, dtype: Any = None,
    requires_grad: bool = False, device: Any = None, generator: Any = None, layout: Any = None,
    pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """Random numbers, normal with the mean and the standard deviation given.

    As in PyTorch the derivative by a mean or a deviation is 0: ``mean + std * randn_like(mean)``
    has one.
    """
    _inside_vmap(mean, std)
    given = [v for v in (mean, std) if isinstance(v, Tensor)]
    if given and (size is not None or dtype is not None):  # with numbers, also in tensors
        if size is None or any(v.ndim or v.requires_grad for v in given):
            raise bad_type("normal takes a size and a dtype with numbers, not with tensors")
        mean, std = (v.item() if isinstance(v, Tensor) else v for v in (mean, std))
        given = []
    _numbers("normal", *(v for v in (mean, std) if not isinstance(v, Tensor)))
    for value in given:
        refuse_kinds("bool int", "normal_kernel_cpu", value.dtype)
    if isinstance(std, Tensor) and std.is_complex():
        raise bad_dtype("normal expects standard deviation to be non-complex")
    if isinstance(std, Tensor) and not (bottom(std.detach()) >= 0).all():
        raise bad_value("normal expects all elements of std >= 0.0")
    if not isinstance(std, Tensor) and not std >= 0:
        raise bad_value(f"normal expects std >= 0.0, but found std {std:g}")
    if given:
        both = (mean + std).to(given[0].dtype)
        mean, std = (v.detach() if isinstance(v, Tensor) else v for v in (mean, std))
        unit = randn(tuple(both.shape), dtype=both.dtype, device=device, generator=generator)
        out = (unit * std + mean).to(both.dtype)
        form = 1 + isinstance(std, Tensor) + (len(given) == 2)
        out = _from(both, out, f"NormalBackward{form}")
    else:
        target = dtypes.get_default_dtype() if dtype is None else to_dtype(dtype)
        shape = shape_of((), size, "normal")
        out = drawn("normal", shape, target, generator, mean, std, device=device)
    return out if requires_grad is False else requiring(out, requires_grad)


def _from(chances: Tensor, numbers: Tensor, name: str) -> Tensor:
    """Numbers drawn by the ``chances``: as in PyTorch the derivative is 0, not missing."""
    if is_batch(numbers):  # which differ where what they are drawn by may not
        chances = chances + OPERATORS["zeros_like"](numbers)
    out: Tensor = OPERATORS["drawn"](chances, numbers=numbers.array)
    result: Tensor = called(out, name)
    return result


def randint(
    low: Any = UNSAID, high: Any = UNSAID, size: Any = UNSAID, *, dtype: Any = None,
    requires_grad: bool = False, device: Any = None, generator: Any = None, layout: Any = None,
    pin_memory: Any = False, _narrow: bool = False,
) -> Tensor:  # fmt: skip
    """Random whole numbers from ``low`` (0 if left out) up to but without ``high``."""
    if size is UNSAID:
        low, high, size = UNSAID, low, high
    if high is UNSAID:
        low, high = UNSAID, low
    low = 0 if low is UNSAID else low
    if not isinstance(size, tuple | list):
        raise not_a("tuple of ints", "randint", "size", 2, size, "write randint(0, 10, (2, 3))")
    target = dtypes.int64 if dtype is None else to_dtype(dtype)
    if target.is_complex:
        raise bad_dtype(
            "check_random_bounds handles only integral, floating-point and boolean types"
        )
    if not (is_whole(low) and is_whole(high)):
        raise not_a("int", "randint", "high", 1, high)
    low, high = int(low), int(high)
    if high <= low:
        said = f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        raise RuntimeFault("E0303", said, help="write randint(0, 10, (2, 3))")
    least, most = dtypes.bounds(target)
    for bound, name in ((low, "from"), (high - 1, "to - 1")):
        if not least <= bound <= most:
            raise RuntimeFault("E0303", f"{name} is out of bounds for {target.c_name}")
        if target.kind == 2 and abs(bound) >= _WHOLE[target.name]:
            warn(f"{name} is out of bounds of the whole numbers that {target.name} holds exactly")
    if target.kind == 2 and high - low < 1 << 64:
        low, high = _inside(low, 1, target), _inside(high, -1, target)

    def make(shape: tuple[Any, ...]) -> Tensor:
        charge_shape(shape)
        numbers = random.generator(generator).integers(low, high, math.prod(shape), _narrow)
        numbers = numbers.astype(target.numpy).reshape(shape)[()]
        return finish(numbers, target, requires_grad)

    return _made(make, sizes_of((tuple(size),)), device)


def _inside(bound: int, step: int, dtype: DType) -> int:
    """A bound moved by ``step`` to where no float drawn beside it is rounded to what lies outside.

    PyTorch's ``update_from`` and ``update_to``.
    """
    near = int(dtype.numpy.type(bound + step))
    if (bound - near) * step + (step < 0) <= 0:
        return bound
    return near + (step << (abs(bound + step).bit_length() - np.finfo(dtype.numpy).nmant - 1))


def randperm(
    n: int, *, dtype: Any = None, requires_grad: bool = False, device: Any = None,
    generator: Any = None, layout: Any = None, pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """The whole numbers below ``n`` in a random order."""
    target = dtypes.int64 if dtype is None else to_dtype(dtype)
    refuse_kinds("bool complex", "randperm", target)
    whole = target.kind < 2
    if n - 1 > (dtypes.bounds(target)[1] if whole else 2 << np.finfo(target.numpy).nmant):
        said = f"value cannot be converted to type {target.name}_t without overflow"
        raise RuntimeFault("E0303", said)

    def make(shape: tuple[Any, ...]) -> Tensor:
        charge_shape(shape)
        source = random.generator(generator)
        rows = [source.permutation(shape[-1]) for _ in range(math.prod(shape[:-1]))]
        # In nested vmaps those of the innermost one come one after the other.
        numbers = np.array(rows, target.numpy).reshape(*shape[-2::-1], shape[-1])
        numbers = np.ascontiguousarray(np.moveaxis(numbers.T, 0, -1))
        return finish(numbers, target, requires_grad)

    return _made(make, sizes_of((n,)), device)


rand_like, randn_like = like(rand, rand), like(randn, _randn_in_pairs)


def randint_like(
    input: Tensor, low: int = UNSAID, high: int = UNSAID, *, dtype: Any = None,
    requires_grad: bool = False, device: Any = None, memory_format: Any = None,
    generator: Any = None, layout: Any = None, pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """Random whole numbers in the shape and the dtype of ``input``, as ``randint`` draws them."""
    low, high = (UNSAID, low) if high is UNSAID else (low, high)
    kept = input.dtype if dtype is None else dtype

    def draw(shape: tuple[int, ...]) -> Tensor:
        return randint(low, high, shape, dtype=kept, device=device, generator=generator)

    made = laid(draw, input, memory_format)
    return made if requires_grad is False else requiring(made, requires_grad)


# ---- Choices -------------------------------------------------------------------------------------


def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None) -> Tensor:
    """1 with the probability that each entry says (or ``p``), else 0.

    Raises RuntimeFault (E0304) for a number that is no probability.

    Example:
        >>> import gradcli
        >>> gradcli.bernoulli(gradcli.tensor([0.0, 1.0]))
        tensor([0., 1.])
    """
    _inside_vmap(input, p)
    if not (p is None or isinstance(p, int | float | np.generic)):
        raise not_a("number", "bernoulli", "p", 2, p, "write torch.bernoulli(p)")
    if p is None:
        refuse_kinds("bool int complex", "bernoulli_tensor_cpu_p_", input.dtype)
    refuse_kinds("complex", "bernoulli_scalar_cpu_", input.dtype)
    chance: Any = input.detach() if p is None else p
    out = (_drawn_by(chance, chance, generator, input.shape) < chance).to(input.dtype)
    return _from(input, out, "NotImplemented" if p is not None else "BernoulliBackward0")


_IMPROPER = (
    "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be "
    "improved?  If so, please report an enhancement request to PyTorch.)"
)


def _drawn_by(chance: Any, in_order: Any, generator: Any, shape: Any) -> Any:
    """The uniform numbers of a shape that are compared with ``chance``.

    Raises RuntimeFault (E0304) where that, as the numbers are drawn ``in_order``, is none.
    """
    one = not isinstance(chance, Tensor)
    kind = float64 if one or chance.dtype is float64 else float32
    known = np.ravel(in_order if one else bottom(in_order).array)
    proper = (known >= 0) & (known <= 1)
    if not proper.all():
        first = int(np.argmin(proper))
        rand((first,), dtype=kind, generator=generator)  # the draws before it move the generator
        said = f"bernoulli_ expects p to be in [0, 1], but got p={chance:.6g}" if one else _IMPROPER
        raise bad_value(f"{known[first]} is no probability", torch=said)
    return rand(tuple(shape), dtype=kind, generator=generator)


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Numbers of the Poisson distribution whose rates are the entries.

    Below a rate of 10 uniform numbers are multiplied until they come below exp(-rate), else the
    transformed rejection of Hormann (1993) decides. Raises RuntimeFault (E0304) for a negative
    rate.

    Example:
        >>> import gradcli
        >>> gradcli.poisson(gradcli.zeros(2))
        tensor([0., 0.])
    """

    refuse_kinds("bool int complex", "poisson_cpu", input.dtype)

    def counts(rates: np.ndarray) -> np.ndarray:
        if not np.all(rates >= 0):
            raise bad_value("invalid Poisson rate, expected rate to be non-negative")
        source = random.generator(generator)
        before, used = source.get_state(), 0

        def uniform() -> Iterator[float]:
            nonlocal used
            while True:
                for u in source.uniform(4096, True).tolist():
                    used += 1
                    yield u

        stream = uniform()
        found = [_poisson(rate, stream) for rate in rates.ravel().tolist()]
        source.set_state(before)  # only those that were taken count as drawn
        for start in range(0, used, 4096):
            source.uniform(min(4096, used - start), True)
        return np.array(found, rates.dtype).reshape(rates.shape)

    return _from(input, _chosen(counts, input, input.dtype), "PoissonBackward0")


def _poisson(rate: float, uniform: Iterator[float]) -> float:
    if rate < 10:
        count, product, least = -1, 1.0, math.exp(-rate)
        while product > least or count < 0:
            product *= next(uniform) if rate else 0.0
            count += 1
        return float(count)
    root, height = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    quick, scale = 0.9277 - 3.6224 / (b - 2), math.log(1.1239 + 1.1328 / (b - 3.4))
    while True:
        u, v = next(uniform) - 0.5, next(uniform)
        edge = 0.5 - abs(u)
        count = math.floor((2 * a / edge + b) * u + rate + 0.43)
        if edge >= 0.07 and v <= quick:
            return float(count)
        if count < 0 or (edge < 0.013 and v > edge):
            continue
        chance = math.log(v) + scale - math.log(a / (edge * edge) + b)
        if chance <= count * height - rate - math.lgamma(count + 1):
            return float(count)


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> Tensor:
    """``num_samples`` places for each row of weights, chosen with those weights.

    Raises RuntimeFault (E0304) for more places than there are, or for weights that cannot be ones.

    Example:
        >>> import gradcli
        >>> gradcli.multinomial(gradcli.tensor([0.0, 1.0, 0.0]), 1)
        tensor([1])
    """
    if not 0 < len(input.shape) < 3:
        raise bad_value("prob_dist must be 1 or 2 dim")
    if input.dtype.kind != 2:
        said = "multinomial only supports floating-point dtypes for input, got: "
        raise bad_dtype(f"{said}{input.dtype.scalar_name}", help="write weights.float()")
    places = input.shape[-1]
    if num_samples < 1:
        raise bad_value("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > places:
        raise bad_value("cannot sample n_sample > prob_dist.size(-1) samples without replacement")

    def places_of(weights: np.ndarray) -> np.ndarray:
        if not np.all(np.isfinite(weights)) or np.any(weights < 0):
            raise bad_value("probability tensor contains either `inf`, `nan` or element < 0")
        if np.any(np.add.reduce(weights, -1) <= 0):
            raise bad_value("invalid multinomial distribution (sum of probabilities <= 0)")
        rows = weights.shape[:-1]
        weights = weights.reshape(-1, places) if len(rows) > 1 else weights
        charge_shape((*rows, num_samples))
        source = random.generator(generator)
        if replacement and num_samples > 1:
            numbers = source.uniform(math.prod(rows) * num_samples, True).reshape(-1, num_samples)
            heights = np.cumsum(weights.reshape(-1, places).astype(np.float64), -1)
            heights /= heights[:, -1:]
            chosen = [np.searchsorted(h, u) for h, u in zip(heights, numbers, strict=True)]
            return np.reshape(np.array(chosen, np.int64), (*rows, num_samples))
        waits = (-np.log1p(-source.uniform(weights.size, True))).astype(weights.dtype)
        steps = weights.strides  # drawn as the weights lie, in rows where they are expanded
        keys = range(weights.ndim) if 0 in steps else [-step for step in steps]
        order = np.argsort(keys, kind="stable")
        waits = waits.reshape([weights.shape[d] for d in order]).transpose(np.argsort(order))
        with np.errstate(divide="ignore", invalid="ignore"):
            np.divide(weights, waits, out=waits)
        best = np.argsort(np.negative(waits, out=waits), -1, kind="stable")[..., :num_samples]
        return np.ascontiguousarray(best, np.int64).reshape(*rows, num_samples)

    return _chosen(places_of, input, int64)


# ---- Methods that write in place -----------------------------------------------------------------


def _numbers(name: str, *values: Any) -> None:
    for value in values:
        if not isinstance(value, int | float):
            raise bad_type(f"{name} needs numbers, got a {type(value).__name__}")


def _above_zero(name: str, what: str, value: Any) -> None:
    if not value > 0:
        raise bad_value(f"{name} expects {what} > 0.0, but found {what}={value:g}")


def _continuous(name: str, shown: str, dtype: DType) -> None:
    if dtype.kind != 2:
        raise bad_dtype(
            f"{name} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {shown}"
        )


def _written(
    self: Tensor, name: str, draw: Callable[[Any], Tensor], *chances: Any, apart: Any = None,
    made: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:  # fmt: skip
    """``self``, with what ``draw`` gives for a shape, or ``made`` of that, by ``chances``.

    ``name`` is what PyTorch calls the node; for ``apart`` and what is refused see ``laid``. A write
    that is refused leaves the generator where it was.
    """
    check_writable(bottom(self), ())
    if isinstance(self, Plain) and share_memory(self.own_array()):
        raise written_twice()
    numbers = laid(draw, self, written=True, apart=apart)
    numbers = numbers if made is None else made(numbers)
    before = wrap(self.array, self.dtype, self.edge) if isinstance(self, Plain) else self
    self.copy_(numbers)
    is_view = self.meta is not None and self.meta.base is not None
    return self if is_view else called(self, name, before, *chances)


def uniform_(self: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Tensor:
    """Write uniform numbers in [low, high)."""
    _numbers("uniform_", low, high)
    if self.dtype.kind > 1:
        most = dtypes.bounds(self.dtype)[1]
        for bound, name in ((low, "from"), (high, "to")):
            if not abs(bound) <= most:
                raise bad_value(f"{name} is out of bounds for {self.dtype.c_name}")
        said = f"found from={low:g} > to={high:g}"
        if low > high:
            raise bad_value(f"uniform_ expects to return a [from, to) range, but {said}")
        if high - low > most:
            raise bad_value(
                "uniform_ expects to-from <= "
                f"std::numeric_limits<{self.dtype.scalar_name}>::max(), but found to={high:g} and "
                f"from={low:g} which result in to-from to exceed the limit"
            )
    of = self.dtype, generator, low, high
    return _written(self, "UniformBackward0", lambda shape: drawn("uniform", shape, *of))


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Write normal numbers."""
    _numbers("normal_", mean, std)
    if not std >= 0:
        raise bad_value(f"normal expects std >= 0.0, but found std {std:g}")
    of = self.dtype, generator, mean, std
    return _written(
        self,
        "NormalBackward0",
        lambda shape: drawn("normal", shape, *of),
        apart=lambda shape: drawn("normals_in_pairs", shape, *of),
    )


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Write 1 with probability ``p``, else 0."""
    _inside_vmap(p)
    if isinstance(p, Tensor):
        refuse_kinds("bool int", "bernoulli_tensor_cpu_p_", p.dtype)
    refuse_kinds("complex", "bernoulli_scalar_cpu_", self.dtype)
    several = isinstance(p, Tensor)
    chances = OPERATORS["expand"](p, tuple(self.shape)) if isinstance(p, Plain) else p
    in_order = chances.detach().permute(*memory_order(self)) if isinstance(p, Plain) else p
    graph = p if isinstance(p, Plain) and p.edge is not None else None

    def compared(numbers: Tensor) -> Tensor:
        out: Tensor = (numbers < p).to(self.dtype)
        return out if graph is None else _from(chances, out, "")

    return _written(
        self,
        f"BernoulliBackward{2 - several}",
        lambda shape: _drawn_by(p, in_order, generator, shape),
        *[graph] * several,
        made=compared,
    )


def _uniform(shape: tuple[int, ...], generator: Any) -> Any:
    """Uniform numbers of float64 that are to become those of another distribution."""
    return rand(shape, dtype=float64, generator=generator)


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Write exponentially distributed numbers of rate ``lambd``."""
    _above_zero("exponential_", "lambda", lambd)
    if self.numel():
        _continuous("Exponential", self.dtype.scalar_name, self.dtype)
    return _written(
        self, "ExponentialBackward0", lambda shape: -(-_uniform(shape, generator)).log1p() / lambd
    )


def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None
) -> Tensor:
    """Write numbers of the Cauchy distribution."""
    _above_zero("cauchy_", "sigma", sigma)
    _continuous("Cauchy", self.dtype.c_name, self.dtype)
    return _written(
        self,
        "CauchyBackward0",
        lambda shape: (math.pi * (_uniform(shape, generator) - 0.5)).tan() * sigma + median,
    )


def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None
) -> Tensor:
    """Write numbers whose logarithm is normal."""
    _above_zero("log_normal_", "std", std)
    if self.numel():
        refuse_kinds("bool int complex", "log_normal_cpu", self.dtype)
    of = float64, generator, mean, std
    return _written(
        self, "LogNormalBackward0", lambda shape: drawn("normals_in_pairs", shape, *of).exp()
    )


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Write how many trials of probability ``p`` it takes until one succeeds."""
    _numbers("geometric_", p)
    if not 0 < p < 1:
        raise bad_value(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if self.numel():
        refuse_kinds("bool complex", "geometric_cpu", self.dtype)
    return _written(
        self,
        "GeometricBackward0",
        lambda shape: (_uniform(shape, generator).log() / math.log1p(-p)).ceil(),
    )


def random_(
    self: Tensor, low: int = UNSAID, high: int | None = UNSAID, *, generator: Any = None
) -> Tensor:
    """Write whole numbers from ``low`` (0) up to but without ``high``.

    Where ``high`` is None or both are left out: any that the element type holds, for floats any
    that it holds exactly.
    """
    form = (low is UNSAID) + (high is UNSAID)
    if high is None or form == 2:
        refuse_kinds("complex", "random_kernel_cpu", self.dtype)
        high = _WHOLE.get(self.dtype.name) or np.iinfo(self.dtype.numpy).max + 1
        high = 1 << 63 if low == -(1 << 63) else high
    elif high is UNSAID:
        low, high = 0, low
    of = 0 if low is UNSAID else low, high
    options = {"generator": generator, "_narrow": form == 2 and self.dtype.itemsize < 8}
    return _written(
        self,
        f"RandomBackward{form}",
        lambda shape: randint(*of, shape, dtype=self.dtype, **options),
    )


_WHOLE = {"float16": 2**11 + 1, "float32": 2**24 + 1, "float64": 2**53 + 1, "bool": 2}


# ---- The process's generator ---------------------------------------------------------------------


def get_rng_state() -> Tensor:
    """The state of the random numbers, as bytes that ``set_rng_state`` takes back."""
    result: Tensor = random.generator().get_state()
    return result


def set_rng_state(new_state: Tensor) -> None:
    """Go back to a state that ``get_rng_state`` gave."""
    random.generator().set_state(new_state)


def initial_seed() -> int:
    """The seed that the random numbers started from."""
    return random.generator().initial_seed()


def seed() -> int:
    """Start the random numbers from a seed that the system gives, and return it."""
    return random.generator().manual_seed(random.system_seed()).initial_seed()


METHODS = (
    uniform_, normal_, bernoulli_, exponential_, cauchy_, log_normal_, random_, geometric_,
    bernoulli, multinomial,
)  # fmt: skip
may_be("real numbers", bernoulli)
for _method in METHODS:
    setattr(Tensor, _method.__name__, face(_method, method=True))
