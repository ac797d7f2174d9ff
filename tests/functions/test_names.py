"""Names of functions and methods: made when they are wanted, and those that are left out."""

from __future__ import annotations

import re
from pathlib import Path

import gradcli
from gradcli.cli.operator_table import entries
from gradcli.functions import index, methods
from gradcli.functions.methods import METHODS

TEXT = Path(__file__).resolve().parents[2].joinpath("CONTRIBUTING.md").read_text("utf-8")


def there(name: str) -> bool:
    found = gradcli
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is not None or hasattr(gradcli.Tensor, name)


def test_what_is_said_to_be_left_out_is_not_there():
    part = TEXT.partition("## Names of PyTorch that are left out")[2].partition("And these")[0]
    rows = [line.split("|") for line in part.splitlines() if line.startswith("| `")]
    names = [n for _, names, why, _ in rows for n in re.findall(r"`([^`]+)`", names) if why.strip()]
    assert len(names) == 15
    listed = {n for e in entries(False) for n in (e.name, e.prefixed, *e.aliases)}
    for name in names:
        assert not there(name) and name not in listed, name


def test_the_first_look_up_of_a_method_respects_a_subclass_of_its_owner():
    class Doubled(gradcli.nn.Parameter):
        def logcumsumexp(self, dim):
            return 2 * super().logcumsumexp(dim)

    type.__setattr__(gradcli.Tensor, "logcumsumexp", methods._Unmade("logcumsumexp"))
    x = gradcli.tensor([1.0, 2.0])
    both = Doubled(x).logcumsumexp(0), x.logcumsumexp(0)
    assert both[0].tolist() == [2 * v for v in both[1].tolist()]
    assert vars(gradcli.Tensor)["logcumsumexp"] is methods.as_method("logcumsumexp")


def test_every_name_of_the_index_is_a_function_of_its_module():
    for name, source in index.LATER.items():
        assert callable(index.found(source)), name
    for name in METHODS:
        assert name in vars(gradcli.Tensor) and hasattr(METHODS[name], "__get__"), name
    for module, home in index.HOMES.items():
        for name, own in home.functions():
            assert methods.COMPOSED[name] is index.found(f"{module}.{own}"), name
