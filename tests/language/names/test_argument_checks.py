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


@family("text, wanted", [
    ("square(2**31)", 2**62), ("remainder(-7, 3)", 2), ("abs(-3)", 3), ("abs(-2**63)", 2**63),
    ("2**40 * 2**40", 2**80), ("power(10, 18)", 10**18), ("lcm(tensor(2**62), 4)", 2**62),
    ("tensor(1) << 62", 2**62), ("tensor([200, 100], dtype=uint8).sum()", 300),
    ("tensor([44], dtype=uint8) == 300", [False]),
    ("add(tensor(-2**62), -2**62)", -(2**63)), ("tensor(-2.9).int()", -2),
    ("(tensor([-2**62, 2**62, 2**62, -1])).sum()", 2**62 - 1),
    ("x = tensor([1, 2], dtype=uint8); x[:] = tensor([-2, 200]); x", [254, 200]),
    ("tensor([0, 1]) << 62", [0, 2**62]), ("tensor([0]) << tensor([2**40])", [0]),
    ("tensor([1, -1, -1, 3]) ** tensor([-5, -2, -3, 2])", [1, 1, -1, 9]),
    ("exp(True) - exp(1)", 0), ("hypot(2 > 1, other=True) - hypot(1, 1)", 0),
    ("spherical_bessel_j0(True) - spherical_bessel_j0(1)", 0),
])  # fmt: skip
def test_whole_numbers_are_exact_in_a_text(text, wanted):
    """Or refused: square(2**40) was 0, what 64 bits leave of it."""
    found = prepare(text).run({}).value
    assert (found.tolist() if hasattr(found, "tolist") else found) == wanted


@family("text", [
    "square(2**40)", "power(10, 30)", "add(2**62, 2**62)", "add([2**62], 2**62)",
    "prod([10**10, 10**10])", "cumsum([2**62, 2**62], 0)", "cumprod([2**40, 2**40], 0)",
    "dot([2**40], [2**40])", "matmul([[2**40]], [[2**40]])", "lcm(2**62, 2**62 - 1)",
    "einsum('i,j->ij', [2**40], [2**40])", "bitwise_left_shift(1, 63)", "tensor(3) << 62",
    "tensor(2**63 - 1) + 1", "n = tensor(2**62)\nn *= 4\nn", "-tensor(-2**63)",
    "abs(tensor(-2**63))", "tensor(-2**63) // -1", "tensor(10) ** 30", "3 ** tensor([50])",
    "tensor(1e30).long()", "tensor(nan).long()", "tensor(3e9).int()", "tensor(300).to(uint8)",
    "tensor([100], dtype=int8) * 2", "tensor([5], dtype=uint8) - 6", "-tensor([5], dtype=uint8)",
    "tensor([2**31 - 1, 1], dtype=int32).sum(dtype=int32)", "tensor([1], dtype=int32) & 2**32 - 1",
    "x = tensor([1, 2])\nx[0] = tensor(1e30)\nx", "matrix_power(tensor([[2**20]]), 5)",
    "x = tensor([1], dtype=uint8)\nx += tensor([300])\nx", "vander(tensor([2**20]), 5)",
    "tensor([0]).index_add(0, tensor([0, 0]), tensor([2**62, 2**62]))",
    "2 ** tensor(-1)", "power(3, [1, -2])", "tensor([0, 1]) ** tensor([-1, -1])",
    "tensor([1]).index_reduce(0, tensor([0, 0]), tensor([2**40, 2**40]), 'prod')",
    *(f"import numpy as np\n{text}" for text in (
        "np.array([2**62]) * 4", "np.array([1, 300], dtype=np.uint8)", "2 ** np.array([63])",
        "np.uint8(3) - np.uint8(5)", "x = np.array([3], dtype=np.uint8)\nx -= 4\nx",
        "np.diff(np.array([2**62, -2**62 - 1]))", "1 - np.array([-2**63 + 1])",
        "x = np.array([1, 5])\nnp.add(x[1:], 2**63 - 1, out=x[:-1])\nx",
        "np.prod(np.arange(1, 30))", "np.arange(1, 30).cumprod()",
        "np.sum([2**62, 2**62])", "np.left_shift(1, 63)", "np.uint8(200) + np.uint8(100)",
        "np.array([1e30]).astype(int)", "np.lcm(np.array([2**62]), np.array([3*2**61 + 1]))",
        "np.array([3]) << 62", "x = np.array([3])\nx <<= 62\nx", "np.polyval([1, 0, 0], [2**40])",
        "x = np.array([2**62])\nx += x\nx", "x = np.zeros(1, int)\nx[:] = np.array([1e30])\nx",
        "np.sum(np.array([100, 100], dtype=np.int8), dtype=np.int8)",
    )),
])  # fmt: skip
def test_whole_numbers_that_lose_bits_are_refused_in_a_text(text):
    with pytest.raises(Fault, match=r"past \d+ bits|to a negative power"):
        prepare(text, "file").run({})


def test_programs_that_draw_and_hash_keep_the_bits_that_they_name():
    loop = "a = 12345\nfor i in range(50):\n    a = (a*1103515245 + 12345) % 2**31\na"
    hashed = "import torch\nh = torch.tensor(5381)\nfor c in (104, 101):\n"
    hashed += "    h = (h*33 + c) & 0xFFFFFFFF\nh"
    for text in (loop, hashed):
        wanted: dict = {}
        exec(text.replace("import torch\n", "").replace("torch.tensor", ""), wanted)
        assert int(prepare(text, "file").run({}).value) == wanted["a" if "a" in wanted else "h"]


def test_python_keeps_pytorch_s_meaning_of_whole_numbers():
    big = gradcli.tensor(2**62)
    assert (big * 4).item() == 0
    assert gradcli.tensor([200], dtype=gradcli.uint8).add(100).tolist() == [44]
    assert gradcli.tensor(300).to(gradcli.uint8).item() == 44
