"""Learning rates follow PyTorch's over 30 steps (tests/oracles/schedules.json.gz), to the digit."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

import gradcli as torch
from gradcli.ops.errors import Fault
from gradcli.optim import lr_scheduler
from tests.oracles import record_schedules as recorder
from tests.support.families import family
from tests.support.oracles import load

RECORD = load("schedules")
CASES = {case["name"]: case for case in RECORD["cases"]}
# What PyTorch's schedulers keep beside what they need: flags of a call that is under way.
PASSING = {"_get_lr_called_within_step", "_is_initial"}


def sgd(lr=1.0, **options):
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr, **options)


def test_the_recording_is_of_the_recipes():
    assert RECORD["made_with"]["torch"] == "2.13.0"
    assert list(CASES) == list(recorder.RECIPES)


@family("name", recorder.RECIPES)
def test_rates_are_pytorchs(name):
    found = recorder.run(torch, name)
    assert len(found) == recorder.STEPS + 1
    np.testing.assert_allclose(found, CASES[name]["rows"], rtol=1e-13, atol=1e-17)


@family("name", recorder.RECIPES)
def test_the_state_has_pytorchs_names(name):
    found = set(recorder.saved(torch, name))
    assert found - PASSING == set(CASES[name]["saved"]) - PASSING


@family("name", recorder.RECIPES)
def test_a_restored_scheduler_goes_on(name):
    optimizer, scheduler = recorder.start(torch, name)
    recorder.advance(name, optimizer, scheduler, range(9))
    second, twin = recorder.start(torch, name)
    twin.load_state_dict(scheduler.state_dict())
    second.load_state_dict(optimizer.state_dict())
    rest = range(9, recorder.STEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert recorder.advance(name, second, twin, rest) == recorder.advance(
            name, optimizer, scheduler, rest
        )


def test_steps_in_the_wrong_order_are_remarked_on():
    optimizer = sgd()
    scheduler = lr_scheduler.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match=r"`lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        scheduler.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step()  # once is enough
        for make in (sgd, lambda: torch.optim.LBFGS([torch.zeros(1, requires_grad=True)])):
            optimizer = make()
            scheduler = lr_scheduler.StepLR(optimizer, 1)
            x = optimizer.param_groups[0]["params"][0]
            optimizer.step(lambda x=x: (x * x).sum())
            scheduler.step()

        class Own(torch.optim.SGD):
            def step(self, closure=None):
                return None

        own = Own([torch.zeros(1, requires_grad=True)])
        scheduler = lr_scheduler.StepLR(own, 1)
        own.step()
        scheduler.step()
    for optimizer in (Own([torch.zeros(1, requires_grad=True)]), sgd()):
        optimizer.step()  # before there is a scheduler: not counted
        scheduler = lr_scheduler.StepLR(optimizer, 1)
        with pytest.warns(UserWarning, match="before `optimizer.step"):
            scheduler.step()


def test_the_number_of_the_step_may_be_given():
    for scheduler, rate in (
        (lr_scheduler.StepLR(sgd(), 3, 0.5), 0.125),
        (lr_scheduler.MultiStepLR(sgd(), [2, 2, 30], 0.5), 0.25),
        (lr_scheduler.ConstantLR(sgd(), 0.5, 20), 0.5),
        (lr_scheduler.LinearLR(sgd(), 0.5, 1.0, 20), 0.75),
        (lr_scheduler.ExponentialLR(sgd(), 0.5), 0.5**10),
        (lr_scheduler.PolynomialLR(sgd(), 20, 2.0), 0.25),
        (lr_scheduler.CosineAnnealingLR(sgd(), 20), 0.5),
        (lr_scheduler.LambdaLR(sgd(), lambda t: t), 10),
    ):
        scheduler.optimizer.step()
        with pytest.warns(UserWarning, match="epoch parameter"):
            scheduler.step(10)
        assert scheduler.get_last_lr() == [pytest.approx(rate)]
    restarts = lr_scheduler.CosineAnnealingWarmRestarts(sgd(), 4, 2)
    restarts.step(4 + 4 + 0.0)
    assert restarts.get_last_lr() == [pytest.approx(0.5)]
    restarts.step(2)
    assert restarts.get_last_lr() == [pytest.approx(0.5)]


def test_a_scheduler_goes_on_with_a_saved_optimizer():
    optimizer = sgd()
    first = lr_scheduler.ExponentialLR(optimizer, 0.5)
    for _ in range(3):
        optimizer.step()
        first.step()
    second = lr_scheduler.ExponentialLR(optimizer, 0.5, last_epoch=2)
    assert (second.last_epoch, second.get_last_lr()) == (3, [0.125])
    with pytest.raises(KeyError, match="initial_lr"):
        lr_scheduler.StepLR(sgd(), 3, last_epoch=4)


@family("make", [
    lambda o: lr_scheduler.StepLR(o, 1, 0.5),
    lambda o: lr_scheduler.CyclicLR(o, 0.25, 0.5, 1, cycle_momentum=False),
    lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ConstantLR(o, 0.5),
                                             lr_scheduler.StepLR(o, 1)], [1]),
])  # fmt: skip
def test_a_rate_that_is_a_tensor_stays_the_same_tensor(make):
    lr = torch.tensor(1.0)
    sgd = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    schedule = make(sgd)
    seen = schedule.get_last_lr()[0].item()
    sgd.step()
    schedule.step()
    assert sgd.param_groups[0]["lr"] is lr
    assert lr.item() == schedule.get_last_lr()[0].item() != seen
    assert sgd.param_groups[0]["initial_lr"].item() in (0.25, 1.0)


def test_a_rate_is_used():
    x = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=1.0)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    for _ in range(2):
        x.grad = torch.tensor(1.0)
        optimizer.step()
        scheduler.step()
    assert x.item() == -0.5


def test_an_object_that_is_called_keeps_its_attributes():
    class Down:
        factor = 0.5

        def __call__(self, t):
            return self.factor**t

    one = lr_scheduler.LambdaLR(sgd(), Down())
    one.lr_lambdas[0].factor = 0.25
    other = lr_scheduler.LambdaLR(sgd(), Down())
    other.load_state_dict(one.state_dict())
    assert other.lr_lambdas[0].factor == 0.25


@family("code, make", [
        ("E0303", lambda: lr_scheduler.StepLR(3, 1)),
        ("E0303", lambda: lr_scheduler.MultiplicativeLR(sgd(), 0.5)),
        ("E0304", lambda: lr_scheduler.LRScheduler(sgd())),
        ("E0303", lambda: lr_scheduler.ChainedScheduler([3])),
        ("E0304", lambda: lr_scheduler.LambdaLR(sgd(), [])),
        ("E0304", lambda: lr_scheduler.ConstantLR(sgd(), 1.5)),
        ("E0304", lambda: lr_scheduler.LinearLR(sgd(), 0)),
        ("E0304", lambda: lr_scheduler.LinearLR(sgd(), 1.0, 2.0)),
        ("E0304", lambda: lr_scheduler.CyclicLR(sgd(), 0.1, 1, mode="square")),
        ("E0304", lambda: lr_scheduler.CyclicLR(sgd(), [0.1, 0.2], 1)),
        ("E0304", lambda: lr_scheduler.CyclicLR(
            torch.optim.Adagrad([torch.zeros(1, requires_grad=True)]), 0.1, 1)),
        ("E0304", lambda: lr_scheduler.OneCycleLR(sgd(), 1.0)),
        ("E0304", lambda: lr_scheduler.OneCycleLR(sgd(), 1.0, 0)),
        ("E0304", lambda: lr_scheduler.OneCycleLR(sgd(), 1.0, epochs=2.0, steps_per_epoch=1)),
        ("E0304", lambda: lr_scheduler.OneCycleLR(sgd(), 1.0, 5, pct_start=2.0)),
        ("E0304", lambda: lr_scheduler.OneCycleLR(sgd(), 1.0, 5, anneal_strategy="log")),
        ("E0304", lambda: lr_scheduler.CosineAnnealingWarmRestarts(sgd(), 0)),
        ("E0304", lambda: lr_scheduler.CosineAnnealingWarmRestarts(sgd(), 1, 0.5)),
        ("E0304", lambda: lr_scheduler.CosineAnnealingWarmRestarts(sgd(), 1).step(-1)),
        ("E0304", lambda: lr_scheduler.ReduceLROnPlateau(sgd(), "least")),
        ("E0304", lambda: lr_scheduler.ReduceLROnPlateau(sgd(), factor=1.0)),
        ("E0304", lambda: lr_scheduler.ReduceLROnPlateau(sgd(), threshold_mode="both")),
        ("E0304", lambda: lr_scheduler.ReduceLROnPlateau(sgd(), min_lr=[0, 0])),
        ("E0304", lambda: lr_scheduler.ChainedScheduler([])),
        ("E0304", lambda: lr_scheduler.ChainedScheduler([lr_scheduler.ReduceLROnPlateau(sgd())])),
        ("E0304", lambda: lr_scheduler.ChainedScheduler(
            [lr_scheduler.StepLR(sgd(), 1), lr_scheduler.StepLR(sgd(), 1)])),
        ("E0304", lambda: _one_scheduler_and_a_milestone()),
    ],
)  # fmt: skip
def test_refusals(code, make):
    with pytest.raises(Fault) as fault:
        make()
    assert fault.value.code == code


def _one_scheduler_and_a_milestone():
    optimizer = sgd()
    lr_scheduler.SequentialLR(optimizer, [lr_scheduler.StepLR(optimizer, 1)], [3])


def test_a_group_that_comes_later_is_annealed_from_its_rate():
    optimizer = sgd()
    scheduler = lr_scheduler.CosineAnnealingLR(optimizer, 4)
    optimizer.add_param_group({"params": [torch.zeros(1, requires_grad=True)], "lr": 0.5})
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr()[-1] == 0.5 * (1 + 0.5**0.5) / 2


def test_warm_restarts_at_the_ends_of_their_cycles():
    optimizer = sgd()
    scheduler = lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 4, 2)
    rates = []
    for epoch in (4, 11, 12, 3.5, 0, 28):
        scheduler.step(epoch)
        rates.append(optimizer.param_groups[0]["lr"])
    share = [1, 0.0380602337, 1, 0.0380602337, 1, 1]
    assert rates == pytest.approx([s * rates[0] for s in share], rel=1e-8)
    assert rates[0] == scheduler.base_lrs[0]


def test_one_step_too_many():
    optimizer = sgd(momentum=0.9)
    scheduler = lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=2)
    optimizer.step()
    scheduler.step()
    scheduler.step()
    with pytest.raises(ValueError, match="Tried to step 3 times"):
        scheduler.step()


def test_schedulers_are_loaded_where_they_are_asked_for():
    text = "import sys, gradcli.optim; print('gradcli.optim.lr_scheduler' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    assert torch.optim.lr_scheduler is lr_scheduler
    with pytest.raises(AttributeError, match="lr_schedule"):
        _ = torch.optim.lr_schedule


def test_a_step_put_over_the_optimizers_after_the_schedule_is_told_of():
    sgd = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedule = lr_scheduler.StepLR(sgd, 3)
    sgd.step = lambda: None
    with pytest.warns(UserWarning, match=r"`optimizer.step\(\)` has been overridden"):
        schedule.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()
        lr_scheduler.StepLR(sgd, 3)


@pytest.mark.filterwarnings("error:float")
def test_losses_in_a_graph_are_taken_without_a_warning():
    w = torch.ones(2, requires_grad=True)
    sgd = torch.optim.SGD([w], lr=1.0)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(sgd, patience=0)
    for _ in range(3):
        plateau.step((w * w).sum())
    assert sgd.param_groups[0]["lr"] == pytest.approx(0.01)
    lbfgs = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")

    def closure():
        lbfgs.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    assert lbfgs.step(closure).item() == 2.0
    assert w.tolist() == pytest.approx([0, 0], abs=1e-6)


def test_a_schedule_keeps_the_rates_and_momentums_that_it_was_given():
    """Also where they are tensors that change later, or that become the rate of a group."""
    x = torch.zeros(1, requires_grad=True)
    given = [torch.tensor(v) for v in (0.25, 0.5, 0.75, 1.0)]
    optimizer = torch.optim.SGD([x], lr=0.125)
    schedule = lr_scheduler.CyclicLR(
        optimizer, given[0], given[1], 2, base_momentum=given[2], max_momentum=given[3]
    )
    for value in given:
        value.zero_()
    found = []
    for _ in range(6):
        group = optimizer.param_groups[0]
        found.append((float(group["lr"]), float(group["momentum"])))
        optimizer.step()
        schedule.step()
    climb = [(0.25, 1.0), (0.375, 0.875), (0.5, 0.75), (0.375, 0.875)]
    assert found == climb + climb[:2]
