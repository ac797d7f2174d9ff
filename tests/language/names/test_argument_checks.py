"""Arguments by name in programs, as in Python: what a call takes by place it takes by name."""

from __future__ import annotations

import inspect

import pytest

import gradcli
from gradcli.engine.record.arguments import parameters_of
from gradcli.engine.record.face import unchecked
from gradcli.language.names.table import CALLED, NAMES
from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from tests.support.families import family

HEAD = "import numpy as np\nimport torch\nM = torch.tensor([[1.0, 2.0], [3.0, 4.0]])\n"


def said(text):
    out = []
    try:
        prepare(f"{HEAD}print({text})\n", "file").run({}, write=out.append)
    except (Fault, TypeError) as fault:
        return type(fault).__name__
    return "".join(out).strip()


@family(
    "by_name, wanted",
    [
        ("torch.max(input=M, dim=0).values", "torch.max(M, 0).values"),
        ("torch.max(M, axis=0).indices", "torch.max(M, 0).indices"),
        ("torch.min(input=M)", "torch.min(M)"),
        ("torch.flatten(input=M)", "M.flatten()"),
        ("torch.numel(input=M)", "4"),
        ("torch.diag(input=M)", "torch.diag(M)"),
        ("torch.diag_embed(input=M, offset=1)", "torch.diag_embed(M, 1)"),
        ("torch.abs(input=M)", "M"),
        ("torch.chunk(input=M, chunks=2)", "M.chunk(2)"),
        ("torch.chunk(chunks=2, input=M)", "M.chunk(2)"),
        ("torch.split(tensor=M, split_size_or_sections=1)", "M.split(1)"),
        ("torch.unbind(input=M, dim=1)", "M.unbind(1)"),
        ("torch.cat(tensors=[M, M], dim=1)", "torch.cat([M, M], 1)"),
        ("torch.stack((M, M), axis=1)", "torch.stack((M, M), 1)"),
        ("np.max(M, axis=1)", "M.max(1).values"),
        ("np.min(M, 0)", "M.min(0).values"),
    ],
)
def test_an_argument_may_be_named(by_name, wanted):
    assert said(by_name) == said(wanted)


def test_no_argument_is_dropped():
    assert said("torch.numel(3.0, 4.0)") == "TypeError"


GIVEN = {
    "Tensor": "M", "Sequence[Tensor]": "[M, M]", "int": "0", "Sequence[int]": "(0,)",
    "Number": "0.5", "float": "0.5", "str": "'sum'",
}  # fmt: skip
"""An argument of each kind, the first that is declared."""


def calls(name):
    """A call with each option that a function declares given as a truth, and as None."""
    function = getattr(gradcli, name)
    try:
        takes = parameters_of(getattr(function, "operator", None) or unchecked(function), name)
    except TypeError:
        return []
    if takes is None or name in ("cholesky", "tensor", "vmap"):  # which have their own rules
        return []
    needed = [p for p in takes.order if p not in takes.defaults]
    kinds = [next((k for k in GIVEN if k in takes.kinds.get(p, ())), "Tensor") for p in needed]
    given = ", ".join(GIVEN[kind] for kind in kinds)
    options = [*takes.order[len(needed) :], *takes.named]
    truths = [(o, v) for o in options if "bool" in takes.kinds.get(o, ()) for v in (True, False)]
    nones = [
        (o, None) for o in options if takes.kinds.get(o) and takes.defaults.get(o, 0) is not None
    ]
    return [f"torch.{name}({given}, {o}={v})" for o, v in truths + nones]


def test_programs_are_refused_what_pythons_functions_refuse():
    """Every function that has options, each of them as a truth and as None."""
    scope = {"torch": gradcli, "M": gradcli.tensor([[1.0, 2.0], [3.0, 5.0]])}
    names = [n for n in sorted({*NAMES, *CALLED}) if inspect.isroutine(getattr(gradcli, n, None))]
    differ, count = [], 0
    for call in [call for name in names for call in calls(name)]:
        try:
            eval(call, dict(scope))
            taken = True
        except Exception:
            taken = False
        found = said(call)
        count += 1
        if taken is found.endswith(("Fault", "Error")):
            differ.append(f"{call}: Python {'takes' if taken else 'refuses'} it, here {found[:60]}")
    assert not differ, "\n".join(differ)
    assert count > 300


@family("text, slope", [
    ("clamp(0.2, x)", 1.0), ("clamp(0.2, max=x)", 0.0), ("clamp(2, 0, x)", 1.0),
    ("torch.clip(0.2, x, 1)", 1.0), ("torch.clamp_min(0, x)", 1.0),
])  # fmt: skip
def test_a_number_between_tensors_is_recorded(text, slope):
    x = gradcli.tensor(0.5, requires_grad=True)
    prepare(f"import torch\n{text}\n", "file").run({"x": x}).value.backward()
    assert x.grad.item() == slope


def test_an_operator_of_whole_numbers_gives_them_exactly_or_refuses():
    """square(2**40) was 0: what 64 bits leave of it."""
    for text, wanted in (("square(2**31)", 2**62), ("remainder(-7, 3)", 2), ("abs(-3)", 3)):
        assert prepare(text).run({}).value == wanted
    with pytest.raises(Fault, match="past 64 bits"):
        prepare("square(2**40)").run({})
