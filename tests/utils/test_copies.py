"""Copies and pickles of what is no tensor: names, generators, nodes of the graph."""

from __future__ import annotations

import copy
import pickle

import pytest

import gradcli as torch
from tests.support.families import family


def pickled(value):
    return pickle.loads(pickle.dumps(value))


@family("name", ["strided", "contiguous_format", "channels_last", "preserve_format", "float32"])
def test_a_copy_of_a_name_is_the_name(name):
    value = getattr(torch, name)
    assert all(of(value) is value for of in (copy.copy, copy.deepcopy, pickled))


@family("of", [copy.copy, copy.deepcopy, pickled, torch.Generator.clone_state])
def test_a_copy_of_a_generator_draws_apart(of):
    g = torch.Generator().manual_seed(3)
    torch.randn(1, generator=g)  # half a pair waits
    twin, state = of(g), g.get_state()
    drawn = torch.randn(5, generator=twin)
    assert torch.equal(g.get_state(), state)
    assert torch.equal(drawn, torch.randn(5, generator=g))
    assert twin.initial_seed() == 3


@family("of", [copy.copy, copy.deepcopy, pickled])
def test_nodes_are_not_copied(of):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    x = torch.ones(4, requires_grad=True)
    y = x * 2
    for node in (y.grad_fn, y.split(2)[0].grad_fn, Twice.apply(x).grad_fn,
                 y.grad_fn.next_functions[0][0]):  # fmt: skip
        with pytest.raises(TypeError, match="cannot pickle"):
            of(node)
