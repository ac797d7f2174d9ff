"""no_grad and its kin: nested, as decorators, and when an exception passes through."""

from __future__ import annotations

import pytest

import gradcli as torch
from tests.support.families import family


def on():
    return (torch.tensor(1.0, requires_grad=True) * 2).requires_grad


def test_no_grad_in_the_middle_of_a_computation():
    x = torch.tensor(1.0, requires_grad=True)
    y1 = x**2
    with torch.no_grad():
        y2 = x**3
    assert not y2.requires_grad
    (y1 + y2).backward()
    assert x.grad.item() == 2


def test_nesting_restores_each_level():
    with torch.no_grad():
        assert not on()
        with torch.enable_grad():
            assert on()
            with torch.set_grad_enabled(False):
                assert not on()
            assert on()
        assert not on()
    assert on()


@family("make", [torch.no_grad, torch.inference_mode, lambda: torch.set_grad_enabled(False)])
def test_an_exception_restores(make):
    with pytest.raises(ZeroDivisionError), make():
        assert not torch.is_grad_enabled()
        raise ZeroDivisionError
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()


def test_decorators_switch_for_the_calls_only():
    @torch.no_grad()
    def off(depth):
        assert not on()
        return depth and off(depth - 1)

    @torch.enable_grad()
    def back():
        return on()

    @torch.set_grad_enabled(False)
    def set_off():
        return on()

    @torch.inference_mode()
    def inferring():
        return on(), torch.is_inference_mode_enabled()

    assert on()
    off(3)
    assert on()
    assert not set_off()
    assert inferring() == (False, True)
    with torch.no_grad():
        assert back()
        assert not on()
    assert on()
    assert off.__name__ == "off"


@family("make, seen", [
    (torch.no_grad, [False, False, False]), (torch.enable_grad, [True, True, True]),
    (lambda: torch.set_grad_enabled(False), [False, True, True]),
])  # fmt: skip
def test_one_switch_entered_twice(make, seen):
    """It remembers the mode of one entry alone, as in PyTorch."""
    switch, found = make(), []
    torch.set_grad_enabled(True)
    with switch:
        with switch:
            found.append(on())
        found.append(on())
    found.append(on())
    torch.set_grad_enabled(True)
    assert found == seen


def test_set_grad_enabled_as_a_call():
    torch.set_grad_enabled(False)
    assert not on()
    torch.set_grad_enabled(True)
    assert on()


def test_results_that_are_laid_out_anew_are_inference_tensors_too():
    x = torch.ones(1, 3, 4, 5).permute(0, 3, 1, 2)
    with torch.inference_mode():
        made = [torch.fft.fft(x), torch.fft.rfft(x), torch.fft.irfft(x)]
        made.append(torch.nn.functional.avg_pool2d(x, 2))
    assert [t.is_inference() for t in made] == [True] * 4


def test_what_is_detached_from_an_inference_tensor_outside_is_written_to():
    with torch.inference_mode():
        made = torch.ones(2)
        inside = made.detach()
    for seen in (made.data, made.detach(), made[:1].detach()):
        seen.add_(1)
        assert seen.is_inference() and seen._version == 1
        with pytest.raises(RuntimeError, match="cannot be saved"):
            torch.ones(1, requires_grad=True) * seen
    assert made.tolist() == [4, 3]
    for kept in (inside, made.detach()[:1]):
        with pytest.raises(RuntimeError, match="Inplace update"):
            kept.add_(1)
        with pytest.raises(RuntimeError, match="version counter"):
            kept._version  # noqa: B018


def test_inference_mode_off_is_nothing():
    with torch.inference_mode(False):
        assert on()
        assert not torch.is_inference_mode_enabled()


def test_the_modes_decorate_without_brackets_too():
    x = torch.tensor(3.0, requires_grad=True)
    assert not torch.no_grad(lambda: x * 2)().requires_grad
    assert not torch.inference_mode(lambda: x * 2)().requires_grad
    with torch.no_grad():
        assert torch.enable_grad(lambda: x * 2)().requires_grad
    for wrong, code in (
        (lambda: torch.no_grad(5), "E0302"), (lambda: torch.inference_mode(1), "E0303"),
        (lambda: torch.set_grad_enabled(lambda: 1), "E0303"),
        (lambda: torch.set_grad_enabled(mode=1), "E0303"),
    ):  # fmt: skip
        with pytest.raises(TypeError) as fault:
            wrong()
        assert fault.value.code == code
    with pytest.raises(TypeError, match="multiple values"):
        torch.inference_mode(print, mode=True)


def test_the_mode_does_not_change_what_was_recorded_or_what_a_leaf_is():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    with torch.no_grad():
        y.backward()
        z = torch.tensor(1.0, requires_grad=True)
    assert x.grad.item() == 6
    assert z.requires_grad
    assert z.is_leaf
    assert not x.grad.requires_grad


def test_a_generator_keeps_its_own_mode_only_while_it_runs():
    with torch.no_grad():
        results = [on() for _ in range(2)]
    assert results == [False, False]
    assert on()


def test_modes_are_put_back_where_a_signal_broke_off_their_switch():
    """As a time limit does that strikes between entering a switch and its ``try``."""
    from gradcli.engine.grad_mode import unchanged

    def broken_off():
        with unchanged():
            torch.no_grad().__enter__()
            torch.inference_mode().__enter__()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()


def test_transforms_and_passes_are_put_back_where_a_signal_broke_off_their_ends():
    from gradcli.engine.backward.traverse import DEEP, _depth
    from gradcli.engine.grad_mode import pushing, unchanged
    from gradcli.transforms.levels import running

    def broken_off():
        with unchanged():
            torch.autograd.forward_ad.enter_dual_level()
            running.vmaps.append(None)
            _depth.passes = DEEP
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert not running.vmaps and not running.dual and not pushing and not _depth.passes
    with torch.autograd.forward_ad.dual_level():
        pass


def test_passes_inside_many_others_know_the_transforms_around(monkeypatch):
    from gradcli.engine.backward import traverse

    monkeypatch.setattr(traverse._depth, "passes", traverse.DEEP)  # it gets a stack of its own
    x = torch.arange(1.0, 4.0)
    assert torch.func.jacrev(lambda t: t.outer(t).sum(0))(x).tolist() == [
        [7.0, 1.0, 1.0], [2.0, 8.0, 2.0], [3.0, 3.0, 9.0]
    ]  # fmt: skip
