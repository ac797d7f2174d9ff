"""Arguments by name in programs, as in Python: what a call takes by place it takes by name."""

from __future__ import annotations

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
