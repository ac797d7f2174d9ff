"""Record what PyTorch gives for samples of its own operator tests.

Run in an environment that has torch 2.13.0, NumPy and expecttest:
    python -m tests.oracles.record_samples
Writes tests/oracles/samples.json.gz. For each operator of PyTorch's database that a CPU
differentiates in float64, a few of its sample inputs, the smallest of each form: arguments, value,
and the gradients of a weighted sum. What is drawn, sparse, or no plain function of its arguments is
left out, and so are operators whose samples PyTorch's tests first change (to symmetric matrices),
and those whose derivative it has wrong where a place is written twice (max_unpool) or not at all.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np

from tests.support.oracles import save

MOST = 28
"""Numbers in one tensor of a case."""
EACH = 4
"""Cases of one variant of an operator."""
LEFT_OUT = {
    "as_strided", "as_strided_scatter", "linalg.eigh", "linalg.eigvalsh", "linalg.pinv",
    "native_dropout_backward", "nn.functional.max_unpool1d", "nn.functional.max_unpool2d",
    "nn.functional.max_unpool3d", "nn.functional.multi_head_attention_forward", "slice",
    "to_sparse",
}  # fmt: skip


def plain(value: Any) -> Any:
    """An argument or a result as JSON. Raises TypeError for what is none of the known kinds."""
    import torch

    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.numel() > MOST:
            raise TypeError("too large")
        raw = value.detach().resolve_conj().resolve_neg()
        if raw.is_complex():
            raw = torch.view_as_real(raw)
        data = [v if np.isfinite(v) else str(v) for v in raw.reshape(-1).tolist()]
        return {
            "shape": list(value.shape), "data": data, "dtype": str(value.dtype)[6:],
            "grad": value.requires_grad and value.is_leaf,
        }  # fmt: skip
    if isinstance(value, torch.dtype):
        return {"name": str(value)[6:]}
    if isinstance(value, float) and not np.isfinite(value):
        return {"number": str(value)}
    if value is Ellipsis or isinstance(value, slice):
        raise TypeError("an index")
    if isinstance(value, dict):
        return {"items": {k: plain(v) for k, v in value.items()}}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(type(value).__name__)


def tensors(value: Any) -> list:
    """Every tensor in nested lists, tuples and dictionaries, in order."""
    if isinstance(value, list | tuple):
        return [t for v in value for t in tensors(v)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in tensors(v)]
    return [value] if hasattr(value, "requires_grad") else []


def case(op: Any, sample: Any) -> list:
    """Arguments, values and gradients of one sample."""
    import torch

    given = [sample.input, list(sample.args), dict(sample.kwargs)]
    arguments = plain(given)
    found = tensors(op.op(sample.input, *sample.args, **sample.kwargs))
    values = plain([t.detach() for t in found])
    leaves = [t for t in tensors(given) if t.requires_grad]
    outs = [t for t in found if t.requires_grad]
    grads = []
    if outs and leaves:
        counts = [torch.arange(t.numel(), dtype=torch.float64) for t in outs]
        weights = [torch.cos(n + 1.0).reshape(t.shape).to(t.dtype)
                   for n, t in zip(counts, outs, strict=True)]  # fmt: skip
        taken = torch.autograd.grad(outs, leaves, weights, allow_unused=True)
        grads = plain([torch.zeros_like(x).detach() if g is None else g
                       for g, x in zip(taken, leaves, strict=True)])  # fmt: skip
    return [arguments, values, grads]


def drawn(op: Any, sample: Any) -> bool:
    """Whether two calls give two results."""
    import torch

    once, again = (tensors(op.op(sample.input, *sample.args, **sample.kwargs)) for _ in range(2))
    return not all(torch.equal(a.nan_to_num(), b.nan_to_num()) if a.dtype.is_floating_point
                   else torch.equal(a, b) for a, b in zip(once, again, strict=True))  # fmt: skip


def main() -> None:
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    warnings.simplefilter("ignore")
    cases: dict[str, list] = {}
    for op in op_db:
        if not op.supports_autograd or op.name in LEFT_OUT or op.name.startswith(("_", "torch.")):
            continue
        if torch.float64 not in op.supported_backward_dtypes("cpu"):
            continue
        if getattr(op.op, "__module__", "").startswith("torch.testing"):
            continue
        torch.manual_seed(0)
        kept: list = []
        forms: set = set()
        for sample in op.sample_inputs("cpu", torch.float64, requires_grad=True):
            if len(kept) == EACH:
                break
            form = (tuple(map(type, sample.args)), tuple(sample.kwargs), len(tensors(sample.input)))
            try:
                if (form in forms and len(kept) > 1) or drawn(op, sample):
                    continue
                kept.append(case(op, sample))
            except (TypeError, RuntimeError, AttributeError, ValueError):
                continue
            forms.add(form)
        if kept:
            cases.setdefault(op.name, []).extend(kept)
    record = {
        "made_with": {"torch": torch.__version__.partition("+")[0], "numpy": np.__version__},
        "script": "tests/oracles/record_samples.py",
    }
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(kept, separators=(',', ':'))}"
        for name, kept in sorted(cases.items())
    )
    text = json.dumps(record)[:-1] + ', "cases": {\n' + lines + "\n}}\n"
    save("samples", text)
    print(f"{len(cases)} operators, {sum(map(len, cases.values()))} cases, {len(text)} bytes")


if __name__ == "__main__":
    main()
