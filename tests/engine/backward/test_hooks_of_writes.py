"""Writes to views as hooks and called nodes see them: one node over the base and the operands."""

from __future__ import annotations

import contextlib
import random
from collections import Counter

import pytest

import gradcli as torch
from gradcli.autograd import grad

VIEWS = {
    "conj": lambda v: v.conj(), "mH": lambda v: v.mH, "real": lambda v: v.real,
    "imag": lambda v: v.imag, "parts": lambda v: torch.view_as_real(v.resolve_conj()),
    "negative": lambda v: v.conj().imag, "row": lambda v: v[1:], "column": lambda v: v[..., :1],
    "turned": lambda v: v.transpose(0, 1), "whole": lambda v: v[...], "entry": lambda v: v[0],
}  # fmt: skip
OF_COMPLEX = {"conj", "mH", "real", "imag", "parts", "negative"}
WRITES = {
    "mul": lambda v, k: v.mul_(k), "add": lambda v, k: v.add_(k, alpha=2),
    "div": lambda v, k: v.div_(k), "copy": lambda v, k: v.copy_(k),
    "put": lambda v, k: v.__setitem__(..., k), "lerp": lambda v, k: v.lerp_(k, 0.25),
    "where": lambda v, k: v.masked_fill_(torch.ones(v.shape).bool(), k.detach()[(0,) * k.ndim]),
    "number": lambda v, k: v.masked_fill_(torch.ones(v.shape).bool(), 0.5),
    "fill": lambda v, k: v.fill_(0.5), "sin": lambda v, k: v.sin_(), "exp": lambda v, k: v.exp_(),
}  # fmt: skip
OF_NO_OPERAND = {"where", "number", "fill", "sin", "exp"}


def drawn(draw, shape, is_complex):
    parts = torch.tensor([draw.uniform(0.5, 1.5) for _ in range(2 * torch.Size(shape).numel())])
    numbers = parts.double().reshape(*shape, 2)
    return torch.view_as_complex(numbers) if is_complex else numbers[..., 0].clone()


def program(seed):
    """A leaf, what was written to a view of its multiple, that, the view, and its node before."""
    draw = random.Random(seed)
    x = drawn(draw, (2, 2), draw.random() < 0.7).requires_grad_()
    base = x * 1.5
    view = base
    for _ in range(draw.randint(1, 2)):
        names = [n for n in VIEWS if view.is_complex() or n not in OF_COMPLEX]
        names = [n for n in names if view.ndim == 2 or n not in ("mH", "turned")]
        view = VIEWS[draw.choice(names)](view)
    operand = drawn(draw, view.shape, view.is_complex()).requires_grad_()
    name = draw.choice([*WRITES])
    before = base.grad_fn
    WRITES[name](view, operand)
    inputs = [x, *[operand] * (name not in OF_NO_OPERAND)]
    return inputs, base, view, before, name


def weighted(*tensors):
    parts = [torch.view_as_real(t.resolve_conj()) if t.is_complex() else t for t in tensors]
    return sum((p * p).sum() for p in parts)


def close(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("seed", range(60))
def test_a_written_view_is_one_node_over_its_base_and_what_was_written(seed):
    inputs, base, view, before, name = program(seed)
    plain = grad(weighted(base), inputs, retain_graph=True)
    if view._base is None:  # resolve_conj() gave a copy
        return
    node, (first, *rest) = base.grad_fn, base.grad_fn.next_functions
    assert node.name() == "torch::autograd::CopySlices" and first[0] is before
    assert [n and n.variable is inputs[1] for n, _ in rest] == {"where": [None]}.get(
        name, [True] * (len(inputs) - 1)
    )
    for factors in ((1, 1), (2, 1), (1, 3)):
        seen = []

        def hook(given, gradients, factors=factors, seen=seen):
            seen[:] = given, gradients
            rest = [g if g is None else factors[1] * g for g in given[1:]]
            return factors[0] * given[0], *rest

        with node.register_hook(hook):
            close(
                grad(weighted(base), inputs, retain_graph=True),
                [f * g for f, g in zip(factors, plain, strict=False)],
            )
    shown = node(seen[1][0])
    shown = shown if isinstance(shown, tuple) else (shown,)
    assert [g is None for g in shown] == [g is None for g in seen[0]]
    close(*([g for g in gradients if g is not None] for gradients in (shown, seen[0])))


@pytest.mark.parametrize("seed", range(60))
def test_hooks_that_give_what_they_get_change_nothing(seed):
    for twice in (False, True):
        found = []
        for hooked in (False, True):
            inputs, base, view, _, _ = program(seed)
            for node in (base.grad_fn, view.grad_fn) if hooked else ():
                node.register_hook(lambda given, _: given)
                node.register_prehook(lambda gradients: gradients)
            got = grad(weighted(base, view), inputs, create_graph=twice)
            found.append(grad(weighted(*got), inputs, allow_unused=True) if twice else got)
        close(*found)


@pytest.mark.parametrize("write, by_result", [
    ("exp_", True), ("sigmoid_", True), ("rsqrt_", True), ("sin_", False), ("log_", False),
])  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("then", ["kept", "dropped", "written to"])
def test_a_second_gradient_passes_the_hooks_of_what_the_first_one_saved(
    write, by_result, packed, then
):
    """A saved result is the view as it was written to, while that is; an operand as it was before.
    Both as PyTorch."""
    x, seen = torch.tensor([0.3, 0.7], requires_grad=True), Counter()
    base = x * 1.5
    view = base[:1]
    view.register_hook(lambda g: seen.update(["view before"]))
    pack = contextlib.nullcontext()
    if packed:
        pack = torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t)
    with pack:
        getattr(view, write)()
    view.register_hook(lambda g: seen.update(["view"]))
    if then == "written to":
        if not packed:
            return  # which is refused
        view.add_(1)
    elif then == "dropped":
        del view
    base.register_hook(lambda g: seen.update(["base"]))
    (g,) = grad(base.sum(), x, create_graph=True)
    assert seen == {"base": 1}
    grad(g.sum(), x)
    here = by_result and then != "dropped"
    again = 1 + (here and then == "kept")
    assert seen == {"base": again, "view" if here else "view before": 1}


@pytest.mark.parametrize("asked, order", [
    ("v w", "w v"), ("w v", "v w"), ("v y w", "w y v"), ("y w v", "v w y"), ("y", "y"),
])  # fmt: skip
def test_nodes_of_views_of_a_written_base_are_as_old_as_the_first_look_at_them(asked, order):
    """The youngest runs first, and PyTorch makes these when they are asked for."""
    x, ran = torch.tensor([0.3, 0.7], requires_grad=True), []
    base = x * 1.5
    tensors = {"v": base[0], "w": base[1]}
    base.mul_(2)
    for name in asked.split():
        if name == "y":
            tensors[name] = base * 3
        tensors[name].grad_fn.register_hook(lambda *_, name=name: ran.append(name))
    sum(t.sum() for t in tensors.values()).backward()
    assert " ".join(ran) == order


def test_views_of_a_base_that_is_a_conjugate_follow_a_write():
    x = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    base = torch.ones(2).to(x.dtype).conj().detach()
    assert base.is_conj()
    part, parts = base[:1], base[1:]
    part.sub_(x[:1])
    for shown in (base[:1], part, base.conj()[:1].conj()):
        (g,) = grad(shown.imag.sum(), x, retain_graph=True)
        assert g.tolist() == [-1j, 0]
    base.mul_(x)
    assert grad(parts.imag.sum(), x)[0].tolist() == [0, 1j]


def test_a_hook_gets_a_place_for_every_constant_that_its_node_shows():
    x, c, seen = torch.ones(2, requires_grad=True), torch.ones(2) * 2, []
    base = x * 1
    base.addcdiv_(c, c)
    base.grad_fn.register_hook(lambda given, _: seen.append(given) or (given[0] * 3, None, None))
    base.sum().backward(retain_graph=True)
    ((_, *rest),) = seen
    assert rest == [None, None] and len(base.grad_fn.next_functions) == 3
    assert base.grad_fn(c)[1:] == (None, None) and x.grad.tolist() == [3, 3]
