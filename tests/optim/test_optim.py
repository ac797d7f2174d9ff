"""Optimizers follow PyTorch's recorded paths (tests/oracles/optim.json.gz) and leave the graph
alone.
"""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import gradcli as torch
from gradcli.ops.errors import Fault
from tests.oracles import record_optim as recorder
from tests.support.families import family
from tests.support.oracles import load

RECORD = load("optim")


def test_hooks_around_a_step():
    p = torch.tensor([1.0], requires_grad=True)
    p.grad = torch.ones(1)
    sgd, seen = torch.optim.SGD([p], lr=0.5), []
    before = sgd.register_step_pre_hook(lambda *given: seen.append((p.item(), *given)))
    sgd.register_step_post_hook(lambda *given: seen.append((p.item(), *given)))
    sgd.step()
    assert seen == [(1.0, sgd, (sgd,), {}), (0.5, sgd, (sgd,), {})]
    before.remove()
    sgd.register_step_pre_hook(lambda sgd, args, kwargs: ((sgd, lambda: 5), {}))
    assert sgd.step() == 5 and len(seen) == 3
    sgd.register_step_pre_hook(lambda *given: 3)
    with pytest.raises(RuntimeError, match="None or a tuple"):
        sgd.step()
    for copied in (copy.deepcopy(sgd), pickle.loads(pickle.dumps(sgd))):
        assert copied.step() is None and copied.param_groups[0]["lr"] == 0.5  # without the hooks


def test_the_recording_is_of_the_recipes():
    assert RECORD["made_with"]["torch"] == "2.13.0"
    recipes = json.loads(json.dumps(recorder.RECIPES))
    assert [[case["name"], case["options"]] for case in RECORD["cases"]] == recipes


@family("i", range(len(RECORD["cases"])))
def test_paths_are_pytorchs(i):
    case = RECORD["cases"][i]
    path = recorder.run(torch, case["name"], case["options"])
    np.testing.assert_allclose(path, case["path"], rtol=1e-11)


@family("name, options", [*recorder.RECIPES, ("LBFGS", {"lr": 0.5})])
def test_a_complex_parameter_moves_as_its_pairs_of_reals(name, options):
    z = torch.tensor([-0.7 + 0.8j, 0.3j], dtype=torch.complex128, requires_grad=True)
    pairs = torch.view_as_real(z.detach()).clone().requires_grad_()
    first, second = (getattr(torch.optim, name)([p], **options) for p in (z, pairs))

    def loss(p, optimizer):
        optimizer.zero_grad()
        x, y = (torch.view_as_real(p) if p.is_complex() else p).unbind(-1)
        found = ((1 - x) ** 2 + 5 * (y - x * x) ** 2).sum()
        found.backward()
        return found

    for _ in range(4):
        first.step(lambda: loss(z, first))
        second.step(lambda: loss(pairs, second))
    assert torch.equal(torch.view_as_real(z.detach()), pairs.detach())
    kept, real = first.state[z], second.state[pairs]
    for key, value in kept.items():
        if isinstance(value, torch.Tensor):
            parts = torch.view_as_real(value) if value.is_complex() else value
            assert value.shape in ((), z.shape) or name == "LBFGS", key
            assert torch.equal(parts, real[key]), key


def test_the_documented_descent():
    """500 steps on x^2 - 2x + 1 from 0 end at x = 1, y = 0 to four decimals."""
    x = torch.tensor(0.0, requires_grad=True)
    sgd = torch.optim.SGD([x], lr=0.01)
    for _ in range(500):
        sgd.zero_grad()
        y = x**2 - 2 * x + 1
        y.backward()
        sgd.step()
    assert f"{y.item():.4f}" == "0.0000"
    assert repr(x) == "tensor(1.0000, requires_grad=True)"


def test_the_parameter_stays_the_leaf_and_the_memory():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    memory = x.detach().numpy()
    sgd = torch.optim.SGD([x], lr=0.5, momentum=0.9)
    (x * x).sum().backward()
    assert sgd.step() is None
    assert x.is_leaf
    assert x.requires_grad
    assert x.dtype is torch.float32
    assert memory.tolist() == [0.0, 0.0]
    assert not sgd.state[x]["momentum_buffer"].requires_grad


@family("name", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_a_step_between_forward_and_backward_is_caught(name):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    x.grad = torch.ones(2)
    getattr(torch.optim, name)([x]).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as fault:
        y.backward()
    assert fault.value.code == "E0402"


def test_closure():
    x = torch.tensor(3.0, requires_grad=True)
    adam = torch.optim.Adam([x], lr=0.1)
    calls = []

    def closure():
        adam.zero_grad()
        y = x * x
        y.backward()
        calls.append(y.item())
        return y

    with torch.no_grad():
        y = adam.step(closure)
    assert y.item() == 9
    assert calls == [9.0]
    assert x.item() == pytest.approx(2.9)


def test_zero_grad():
    x = torch.tensor([1.0], requires_grad=True)
    untouched = torch.tensor([1.0], requires_grad=True)
    sgd = torch.optim.SGD([x, untouched], lr=1.0)
    x.sum().backward()
    sgd.zero_grad(set_to_none=False)
    assert x.grad.tolist() == [0.0]
    sgd.zero_grad()
    assert x.grad is None
    x.sum().backward()
    sgd.step()
    assert untouched.item() == 1.0
    assert untouched not in sgd.state


@family("name", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_a_restored_optimizer_goes_on_the_same_path(name):
    options = {"lr": 0.05} | ({"momentum": 0.9} if name in ("SGD", "RMSprop") else {})
    make = getattr(torch.optim, name)

    def advance(x, optimizer, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            (x**4).sum().backward()
            optimizer.step()

    x = torch.tensor([1.0, -2.0], dtype=torch.double, requires_grad=True)
    first = make([x], **options)
    advance(x, first, 3)
    state = first.state_dict()
    twin = x.detach().clone().requires_grad_()
    second = make([twin], lr=9.0)
    second.load_state_dict(state)
    assert second.param_groups[0]["lr"] == 0.05
    advance(x, first, 3)
    advance(twin, second, 3)
    assert twin.tolist() == x.tolist()
    half = x.detach().half().requires_grad_()
    third = make([half], **options)
    third.load_state_dict(state)
    for name, kept in third.state[half].items():
        assert kept.dtype is (torch.float32 if name == "step" else torch.float16)


def _whole(p):
    p.grad = torch.ones_like(p)
    torch.optim.LBFGS([p], lr=0.6).step(lambda: torch.tensor(1.0))


@family("code, make", [
        ("E0304", lambda x: torch.optim.SGD([])), ("E0303", lambda x: torch.optim.SGD(x)),
        ("E0303", lambda x: torch.optim.SGD([1.0])), ("E0404", lambda x: torch.optim.SGD([x * 2])),
        ("E0304", lambda x: torch.optim.SGD([x], lr=-1.0)),
        ("E0304", lambda x: torch.optim.SGD([{"params": x}, {"params": x}])),
        ("E0303", lambda x: torch.optim.SGD([{"params": {x}}])),
        ("E0303", lambda x: torch.optim.SGD([{"params": x}, x])),
        ("E0304", lambda x: torch.optim.SGD([("x", x), x.detach()])),
        ("E0304", lambda x: torch.optim.Adam([x], lr=float("nan"))),
        ("E0304", lambda x: torch.optim.Adam([x], lr=torch.tensor([0.1, 0.2]))),
        ("E0304", lambda x: torch.optim.Adagrad([x], lr_decay=-1.0)),
        ("E0304", lambda x: torch.optim.SGD([x], nesterov=True)),
        ("E0304", lambda x: torch.optim.Adam([x], betas=(1.0, 0.9))),
        ("E0304", lambda x: torch.optim.Adam([x], eps=-1.0)),
        ("E0304", lambda x: torch.optim.RMSprop([x], alpha=-0.1)),
        ("E0309", lambda x: _whole(torch.tensor([3, 4]))),
        ("E0304", lambda x: torch.optim.SGD([x]).load_state_dict({"state": {},
            "param_groups": []})),
    ],
)  # fmt: skip
def test_refusals(code, make):
    with pytest.raises(Fault) as fault:
        make(torch.tensor([1.0], requires_grad=True))
    assert fault.value.code == code


def test_adagrad_has_its_state_before_the_first_step():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    state = torch.optim.Adagrad([x], initial_accumulator_value=0.5).state_dict()["state"][0]
    assert state["step"].item() == 0 and state["sum"].tolist() == [0.5, 0.5]
    group = {"params": [x], "initial_accumulator_value": 4.0}
    assert torch.optim.Adagrad([group]).state[x]["sum"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "name, option",
    [("Rprop", "weight_decay"), ("Adagrad", "decoupled_weight_decay"), ("SGD", "amsgrad")],
)
def test_a_group_may_hold_options_that_its_optimizer_does_not_have(name, option):
    x, y = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    decay = {} if name == "Rprop" else {"weight_decay": 0.5}
    for held in ({"params": [x]}, {"params": [y], option: 0.5}):
        optimizer = getattr(torch.optim, name)([held], lr=0.1, **decay)
        held["params"][0].grad = torch.tensor([0.2, -0.3])
        optimizer.step()
    assert x.tolist() == y.tolist()


@family("name, option", [
    ("Adam", "amsgrad"), ("AdamW", "amsgrad"), ("RMSprop", "centered"), ("AdamW", None),
])  # fmt: skip
def test_a_step_without_what_it_needs_changes_nothing(name, option):
    x, y = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    optimizer = getattr(torch.optim, name)([x, y], lr=0.1, weight_decay=0.1)
    x.grad = y.grad = torch.ones(2)
    optimizer.step()
    if option is None:
        del optimizer.param_groups[0]["lr"]
    else:
        optimizer.param_groups[0][option] = True
    kept = str(optimizer.state)
    with pytest.raises(KeyError):
        optimizer.step()
    assert str(optimizer.state) == kept


@family("name, key", [
    ("Adamax", "exp_inf"), ("Rprop", "prev"), ("Rprop", "step_size"), ("ASGD", "eta"),
    ("ASGD", "mu"),
])  # fmt: skip
def test_what_is_kept_stays_the_same_tensor(name, key):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = getattr(torch.optim, name)([x], **({"t0": 0.0} if name == "ASGD" else {}))
    x.grad = torch.ones(2)
    optimizer.step()
    kept = optimizer.state_dict()["state"][0][key]
    for _ in range(2):
        optimizer.step()
    assert kept is optimizer.state[x][key]


def test_what_is_chosen_stands_in_pytorchs_order_and_works_on_a_processor():
    x = torch.ones(1, requires_grad=True)
    x.grad = torch.ones(1)
    rprop = torch.optim.Rprop([x], capturable=True)
    assert [*rprop.defaults][-4:] == ["foreach", "maximize", "differentiable", "capturable"]
    with pytest.raises(AssertionError, match="capturable"):
        rprop.step()


def test_repr_names_the_options():
    x = torch.tensor([1.0], requires_grad=True)
    text = repr(torch.optim.SGD([x], lr=0.1, momentum=0.9))
    assert text.startswith("SGD (\nParameter Group 0\n")
    assert "    momentum: 0.9" in text


def test_a_class_without_an_update_says_so():
    class Still(torch.optim.Optimizer):
        pass

    x = torch.tensor([1.0], requires_grad=True)
    still = Still([x], {"lr": 0.1})  # whether there is a gradient or not
    with pytest.raises(NotImplementedError, match="Still does not say") as fault:
        still.step()
    assert fault.value.code == "E0304"
    assert x.tolist() == [1.0]


def test_a_differentiable_step_is_recorded_and_named_parameters_are_kept():
    w, g = (torch.tensor([v], dtype=torch.float64, requires_grad=True) for v in (1.0, 0.5))
    p = w.clone()
    p.grad = g * 1
    torch.optim.SGD([p], lr=0.1, differentiable=True).step()  # 0.95
    dw, dg = torch.autograd.grad(p * p, (w, g))
    assert abs(dw.item() - 1.9) < 1e-12 and abs(dg.item() + 0.19) < 1e-12
    w.grad = g.detach()
    with pytest.raises(RuntimeError, match="in-place"):
        torch.optim.SGD([w], differentiable=True).step()
    optimizer = torch.optim.Adam(torch.nn.Linear(2, 1).named_parameters(), lr=0.1)
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]


@pytest.mark.parametrize(
    ("options", "then"), [({"dampening": 0.1}, 0.9814), ({"nesterov": True}, 0.6183)]
)
def test_a_parameter_that_is_there_twice_steps_twice(options, then):
    x = torch.tensor([-1.5], requires_grad=True)
    with pytest.warns(UserWarning, match="duplicate"):
        sgd = torch.optim.SGD([x, x], lr=0.1, momentum=0.9, **options)
    for _ in range(3):
        sgd.zero_grad()
        (x * x).sum().backward()
        sgd.step()
    assert x.item() == pytest.approx(then, abs=1e-4)  # PyTorch's: both begin with the first step


def test_an_older_state_turns_off_what_it_does_not_have():
    p = torch.nn.Parameter(torch.ones(1))
    sgd = torch.optim.SGD([p], lr=0.1, maximize=True)
    state = sgd.state_dict()
    del state["param_groups"][0]["maximize"]
    sgd.load_state_dict(state)
    p.grad = torch.ones(1)
    sgd.step()
    assert p.item() == pytest.approx(0.9)


def test_lbfgs_steps_one_group_alone():
    a, b = (torch.nn.Parameter(torch.ones(1)) for _ in range(2))
    lbfgs = torch.optim.LBFGS([a])
    lbfgs.add_param_group({"params": [b]})
    with pytest.raises(AssertionError, match="exactly one param_group"):
        lbfgs.step(lambda: (a * b).sum())


@pytest.mark.parametrize(
    ("search", "steps", "wanted"),
    [
        (None, 12, [-1.16048913172, 1.02160799017]),
        ("strong_wolfe", 15, [-0.135945854776, -0.0183054412123]),
    ],
)
def test_lbfgs_forgets_the_oldest_step(search, steps, wanted):
    x = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    rate = 1.0 if search else 0.02
    lbfgs = torch.optim.LBFGS([x], rate, steps, history_size=2, line_search_fn=search)

    def closure():
        lbfgs.zero_grad()
        loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        loss.backward()
        return loss

    lbfgs.step(closure)
    assert x.tolist() == pytest.approx(wanted, rel=1e-9)
    with pytest.raises(TypeError, match="closure"):
        lbfgs.step()


@pytest.mark.parametrize(("name", "wanted"), [("SGD", -12.862321265), ("Adam", -15.048435917)])
def test_a_rate_gets_its_gradient_through_differentiable_steps(name, wanted):
    def ended(rate):
        q = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True).clone()
        optimizer = getattr(torch.optim, name)([q], lr=rate, differentiable=True)
        for _ in range(3):
            (q.grad,) = torch.autograd.grad((q.clone() ** 4).sum() / 4, q, create_graph=True)
            optimizer.step()
        return (q**2).sum()

    lr = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(ended(lr), lr)
    assert slope.item() == pytest.approx(wanted, rel=1e-9)  # PyTorch 2.13, but for its rounding
    by_difference = (ended(0.1 + 1e-6) - ended(0.1 - 1e-6)).item() / 2e-6
    assert slope.item() == pytest.approx(by_difference, rel=1e-7)


def test_lbfgs_keeps_tensors_that_another_loads_in_its_own_dtype():
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    y = x.detach().double().requires_grad_()
    first, second = (torch.optim.LBFGS([p], lr=0.1, max_iter=4) for p in (x, y))

    def loss():
        x.grad = 4 * x.detach() ** 3
        return (x**4).sum()

    first.step(loss)
    assert [*first.state[x]] == [
        "func_evals", "n_iter", "d", "t", "old_dirs", "old_stps", "ro", "H_diag",
        "prev_flat_grad", "prev_loss",
    ]  # fmt: skip
    second.load_state_dict(first.state_dict())
    kept = second.state[y]
    assert kept["d"].dtype is kept["old_dirs"][0].dtype is torch.float64
    first.step(loss)
    assert len(first.state[x]["old_dirs"]) == 7 and len(kept["old_dirs"]) == 3


def test_lbfgs_takes_its_rate_as_a_tensor():
    ends = []
    for lr in (0.5, torch.tensor(0.5)):
        p = torch.nn.Parameter(torch.tensor([1.0, -3.0]))
        lbfgs = torch.optim.LBFGS([p], lr=lr, max_iter=3)

        def closure(p=p, lbfgs=lbfgs):
            lbfgs.zero_grad()
            loss = (p**4 - p).sum()
            loss.backward()
            return loss

        lbfgs.step(closure)
        ends.append(p.tolist())
    assert ends[0] == ends[1]


def test_hooks_around_saving_and_loading():
    p = torch.nn.Parameter(torch.ones(1))
    sgd, seen = torch.optim.SGD([p], lr=0.1), []
    sgd.register_state_dict_pre_hook(lambda one: seen.append("last"))
    handle = sgd.register_state_dict_pre_hook(lambda one: seen.append("first"), prepend=True)
    sgd.register_state_dict_post_hook(lambda one, state: {**state, "more": 1})
    state = sgd.state_dict()
    assert seen == ["first", "last"] and state["more"] == 1
    handle.remove()
    sgd.state_dict()
    assert seen == ["first", "last", "last"]

    def halved(one, state):
        return {**state, "param_groups": [{**state["param_groups"][0], "lr": 0.05}]}

    sgd.register_load_state_dict_pre_hook(halved)
    sgd.register_load_state_dict_post_hook(lambda one: seen.append(one.param_groups[0]["lr"]))
    sgd.load_state_dict({**state, "state": {"mine": 3}})
    assert seen[-1] == 0.05 and sgd.state["mine"] == 3


def test_adamw_that_loads_adam_stays_adamw():
    p = torch.nn.Parameter(torch.ones(1))
    adam = torch.optim.Adam([p], lr=0.1, weight_decay=0.1)
    w = torch.optim.AdamW([p], lr=0.1, weight_decay=0.1)
    w.load_state_dict(adam.state_dict())
    assert w.param_groups[0]["decoupled_weight_decay"] and w.param_groups[0]["lr"] == 0.1


@family("name, options", [
        ("SGD", {"momentum": 0.9, "nesterov": True}), ("Adam", {}), ("AdamW", {}), ("Adamax", {}),
        ("NAdam", {}), ("RAdam", {}), ("Adagrad", {}), ("Adadelta", {}),
        ("RMSprop", {"momentum": 0.5}), ("Rprop", {}), ("ASGD", {"t0": 1, "lambd": 0.1}),
    ],
)  # fmt: skip
def test_differentiable_steps_and_what_they_keep_have_their_gradients(name, options):
    def trained(start):
        p = start.clone()
        optimizer = getattr(torch.optim, name)([p], lr=0.1, differentiable=True, **options)
        for _ in range(3):
            q = p.clone()
            (p.grad,) = torch.autograd.grad((q**4).sum() + q.prod(), q, create_graph=True)
            optimizer.step()
        kept = optimizer.state[p].values()
        return p, *(v for v in kept if isinstance(v, torch.Tensor) and v.requires_grad)

    start = torch.tensor([1.0, -0.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(trained, (start,))


@family("name", ["Adam", "AdamW", "SGD"])
def test_options_of_a_step_have_their_gradients(name):
    def trained(start, rate, decay, *betas):
        p = start.clone()
        more = {"betas": betas, "amsgrad": True} if betas else {}
        optimizer = getattr(torch.optim, name)(
            [p], lr=rate, weight_decay=decay, differentiable=True, **more
        )
        for _ in range(2):
            q = p.clone()
            (p.grad,) = torch.autograd.grad((q**2).sum(), q, create_graph=True)
            optimizer.step()
        return p

    numbers = [0.1, 0.2] + [0.7, 0.8] * (name != "SGD")
    given = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in numbers]
    start = torch.tensor([1.0, -0.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(trained, (start, *given))


def test_what_a_step_starts_from_may_be_given():
    p = torch.ones(2, requires_grad=True)
    sgd = torch.optim.SGD([p], lr=1.0, momentum=0.5)
    sgd.state[p]["momentum_buffer"] = torch.tensor([4.0, 8.0])
    p.grad = torch.ones(2)
    sgd.step()
    assert p.tolist() == [-2.0, -4.0]


def test_a_rate_in_a_vector_is_scheduled_in_place():
    rate = torch.tensor([0.5])
    sgd = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=rate)
    schedule = torch.optim.lr_scheduler.ExponentialLR(sgd, 0.5)
    sgd.step()
    schedule.step()
    assert rate.item() == 0.25 and sgd.param_groups[0]["lr"] is rate
    with pytest.raises(NotImplementedError):
        torch.optim.lr_scheduler.LRScheduler(sgd)


@pytest.mark.parametrize("other", ["foreach", "differentiable"])
def test_a_fused_step_is_no_other(other):
    with pytest.raises(RuntimeError, match=other):
        torch.optim.Adam([torch.ones(1, requires_grad=True)], fused=True, **{other: True})


def test_a_group_is_the_dict_that_was_given_and_a_loaded_one_is_of_its_own():
    x = torch.ones(1, requires_grad=True)
    x.grad = torch.ones(1)
    group = {"params": x, "lr": 0.25}
    sgd = torch.optim.SGD([group], lr=1.0, momentum=0.5)
    assert sgd.param_groups[0] is group and group["params"] == [x]
    group["lr"] = 0.5
    sgd.step()
    assert x.item() == 0.5
    saved = sgd.state_dict()
    assert saved["state"][0] is sgd.state[x]
    sgd.load_state_dict(saved)
    assert sgd.param_groups[0] is not group and sgd.param_groups[0]["lr"] == 0.5
    del saved["param_groups"][0]["lr"]
    sgd.load_state_dict(saved)
    with pytest.raises(KeyError, match="lr"):
        sgd.step()


def test_groups_have_names_or_not():
    p, q = (torch.nn.Parameter(torch.ones(1)) for _ in range(2))
    with pytest.raises(ValueError, match="with/without names"):
        torch.optim.SGD([{"params": [("w", p)]}, {"params": [q]}], lr=0.1)


def test_a_parameter_of_several_groups_has_one_number_in_the_state():
    w, b = (torch.zeros(n, requires_grad=True) for n in (2, 1))
    sgd = torch.optim.SGD([{"params": [w]}, {"params": [b]}], lr=0.1)
    sgd.param_groups.insert(0, sgd.param_groups[0])
    assert [g["params"] for g in sgd.state_dict()["param_groups"]] == [[0], [0], [2]]
