"""Where the entries of results lie in memory: layers of images, and memory formats that are asked
for. PyTorch 2.13.0 has the strides of these."""

from __future__ import annotations

from functools import partial

import pytest

import gradcli as torch
from gradcli.nn import functional as F
from tests.support.families import family

LAST, LAST_3D, ROWS = torch.channels_last, torch.channels_last_3d, torch.contiguous_format


def images(*shape):
    return (torch.zeros(shape).uniform_() + 0.1).to(torch.float64)


KEEPS = {
    "conv2d": lambda x: F.conv2d(x, images(3, 4, 3, 3), images(3), padding=1),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, images(4, 3, 3, 3)),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "places of max_pool2d": lambda x: F.max_pool2d(x, 2, return_indices=True)[1],
    "avg_pool2d": lambda x: F.avg_pool2d(x, 3, 2, 1, True, False),
    "lp_pool2d": lambda x: F.lp_pool2d(x, 2.0, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    "adaptive_avg_pool2d of 1": lambda x: F.adaptive_avg_pool2d(x, 1),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, (2, 3)),
    "batch_norm": lambda x: F.batch_norm(x, images(4), images(4), images(4), images(4), True),
    "group_norm": lambda x: F.group_norm(x, 2, images(4), images(4)),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "bilinear": lambda x: F.interpolate(x, (3, 9), mode="bilinear"),
    "bicubic": lambda x: F.interpolate(x, (3, 9), mode="bicubic"),
    "area": lambda x: F.interpolate(x, (3, 9), mode="area"),
    "pad": lambda x: F.pad(x, (1, 1, 2, 1)),
    "reflect": lambda x: F.pad(x, (1, 1, 2, 1), mode="reflect"),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "relu": F.relu,
    "cat": lambda x: torch.cat([x, x], 1),
    "roll": lambda x: x.roll(1, 1),
    "zeros_like": torch.zeros_like,
    "clone": torch.clone,
    "to": lambda x: x.to(torch.float32),
}
TAKES_ROWS = {
    "circular": lambda x: F.pad(x, (1, 1, 2, 1), mode="circular"),
    "instance_norm": F.instance_norm,
    "grid_sample": lambda x: F.grid_sample(x, images(2, 3, 4, 2), align_corners=False),
    "logsigmoid": F.logsigmoid,
    "cat": lambda x: torch.cat([x, x.contiguous()], 1),
    "contiguous": lambda x: x.contiguous(),
    "to": lambda x: x.to(memory_format=ROWS),
    "zeros_like": lambda x: torch.zeros_like(x, memory_format=ROWS),
    "half": lambda x: x.half(memory_format=ROWS),
}


def steps(shape, order):
    found, step = [0] * len(shape), 1
    for d in reversed(order):
        found[d] = step
        step *= shape[d]
    return tuple(found)


@family("name", KEEPS)
def test_results_of_images_have_their_channels_innermost(name):
    x = images(2, 4, 6, 6)
    there = x.to(memory_format=LAST)
    found, plain = KEEPS[name](there), KEEPS[name](x)
    assert found.stride() == steps(found.shape, (0, 2, 3, 1))
    assert plain.is_contiguous()
    if name not in ("conv2d", "conv_transpose2d", "batch_norm", "group_norm"):
        assert torch.equal(found, plain)  # drawn anew in those


@family("name", TAKES_ROWS)
def test_results_that_lie_in_rows_whatever_the_images_do(name):
    found = TAKES_ROWS[name](images(2, 4, 6, 6).to(memory_format=LAST))
    assert found.stride() == steps(found.shape, range(4))


@family(
    "function",
    [
        F.gumbel_softmax,
        F.rrelu,
        partial(F.rrelu, training=True),
        lambda x: x.masked_scatter(x > 0, x * 2),
        lambda x: x.count_nonzero(0),
        lambda x: F.pixel_shuffle(x, 1),
        lambda x: F.pixel_unshuffle(x, 1),
    ],
)
def test_results_of_turned_inputs_lie_and_are_drawn_in_rows(function):
    turned, found = images(4, 3, 5).sub(0.5).transpose(1, 2), []
    for x in (turned, turned.contiguous()):
        torch.manual_seed(3)
        found.append(function(x))
    assert torch.equal(*found) and found[0].is_contiguous()


def test_gradients_through_images_are_those_of_rows():
    weight = images(3, 4, 3, 3)
    grads = []
    for memory_format in (ROWS, LAST):
        torch.manual_seed(3)
        x = torch.rand(2, 4, 6, 6, dtype=torch.float64).to(memory_format=memory_format)
        x.requires_grad_()
        out = F.interpolate(F.max_pool2d(F.pad(F.conv2d(x, weight), (1, 1)), 2), scale_factor=2)
        (out * torch.arange(out.numel()).reshape(out.shape)).sum().backward()
        grads.append(x.grad)
    assert torch.allclose(*grads, rtol=1e-12)


@family("make", [
        lambda x: x.to(memory_format=LAST), lambda x: x.float(memory_format=LAST),
        lambda x: x.clone(memory_format=LAST), lambda x: x.contiguous(memory_format=LAST),
        lambda x: torch.empty_like(x, memory_format=LAST),
        lambda x: torch.rand_like(x, memory_format=LAST),
        lambda x: torch.randint_like(x, 3, memory_format=LAST),
        lambda x: torch.empty(x.shape, memory_format=LAST),
        lambda x: torch.zeros(1000).resize_(x.shape, memory_format=LAST),
        lambda x: torch.zeros(1000).resize_as_(x, memory_format=LAST),
    ],
)  # fmt: skip
def test_a_memory_format_that_is_asked_for(make):
    found = make(images(2, 4, 5, 6))
    assert found.stride() == (120, 1, 24, 4) and found.is_contiguous(memory_format=LAST)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        make(images(3, 4))


def test_solids_and_kept_formats():
    lone = images(1, 6, 5, 4, 6).to(memory_format=LAST_3D)[0]
    for found in F.max_pool3d(lone, 2, return_indices=True):
        assert found.stride() == (1, 36, 18, 6)
    thin = torch.arange(6.0).reshape(1, 3, 2, 1).permute(0, 2, 1, 3)
    assert F.batch_norm(thin, torch.zeros(2), torch.ones(2)).stride() == (6, 1, 2, 2)
    assert F.batch_norm(images(2, 2, 1, 1).to(memory_format=LAST), *images(2, 2)).stride()[1:] == (
        1, 1, 1,
    )  # fmt: skip
    solid = images(2, 4, 3, 5, 6)
    there = solid.to(memory_format=LAST_3D)
    assert there.stride() == (360, 1, 120, 24, 4)
    assert F.max_pool3d(there, 2).stride() == (24, 1, 24, 12, 4)
    assert F.avg_pool3d(there, 2).is_contiguous()
    assert (
        torch.zeros(1000).resize_as_(there, memory_format=torch.preserve_format).stride()
        == there.stride()
    )
    assert torch.nn.Conv2d(4, 3, 2).to(memory_format=LAST).weight.stride() == (16, 1, 8, 4)
    pair = torch.stack([images(2, 4, 6, 6).to(memory_format=LAST)] * 2, 1)
    assert pair.stride() == (288, 4, 1, 48, 8)
    assert solid.contiguous(memory_format=torch.preserve_format) is solid
    with pytest.raises(RuntimeError, match="preserve memory format is unsupported"):
        solid.mT.contiguous(memory_format=torch.preserve_format)
    with pytest.raises(TypeError):
        solid.is_contiguous(memory_format=3)


def test_a_shuffle_is_a_copy_where_nothing_moves():
    for shuffle, shape in ((F.pixel_shuffle, (1, 4, 1, 1)), (F.pixel_unshuffle, (1, 1, 2, 2))):
        x = torch.zeros(shape, requires_grad=True)
        shuffle(x, 2).add_(1).sum().backward()
        assert x.sum() == 0 and x.grad.sum() == 4


FLAT = {
    "conv_transpose1d": (F.conv_transpose1d, (2, 3, 5), (3, 4, 3)),
    "conv_transpose2d": (F.conv_transpose2d, (2, 3, 5, 5), (3, 4, 3, 3)),
    "linear of a vector": (F.linear, (3,), (4, 3), (4,)),
    "linear of stacks": (F.linear, (2, 5, 3), (4, 3), (4,)),
    "prod": (lambda x: x.prod(0), (2, 3)),
    "what broadcasts beside turned matrices": (lambda x, y: (x.mT * y).exp(), (3, 2, 4), (4, 2)),
    "a vector times a turned matrix": (lambda x, w: x @ w.T, (3,), (4, 3)),
}


@family("name", FLAT)
def test_gradients_of_what_lies_in_rows_have_a_flat_view(name):
    function, *shapes = FLAT[name]
    given = [torch.rand(*shape, requires_grad=True) for shape in shapes]
    grads = torch.autograd.grad(function(*given).sum(), given)
    assert torch.cat([g.view(-1) for g in grads]).shape == (sum(t.numel() for t in given),)


def test_a_linear_map_of_stacks_is_a_view_of_one_of_rows():
    x, w = torch.rand(2, 5, 3), torch.rand(4, 3, requires_grad=True)
    for given in ((x, w, torch.ones(4)), (x.half(), w.half(), torch.ones(4).half())):
        y, seen = F.linear(*given), []
        assert y.grad_fn.name() == "ViewBackward0" and y._base.shape == (10, 4)
        ((product, _),) = y.grad_fn.next_functions
        assert product.name() == "AddmmBackward0"
        for node in (y.grad_fn, product):
            node.register_hook(
                lambda into, _, seen=seen: seen.append([getattr(g, "shape", g) for g in into])
            )
        y.sum().backward()
        assert seen == [[(10, 4)], [None, None, (3, 4)]]
    assert F.linear(x.transpose(0, 1), w, torch.ones(4)).grad_fn.name() == "AddBackward0"
