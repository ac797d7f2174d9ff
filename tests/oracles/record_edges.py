"""Record PyTorch's values and gradients at special values: zeros, NaN, infinities, huge numbers.

Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_edges
Writes tests/oracles/edges.npz and edge_calls.npz. The calls come from tests/functions/edge_table.py
and edge_calls.py, which also say where gradcli differs on purpose.
"""

from __future__ import annotations

import json
import warnings

import numpy as np

from tests.functions import edge_calls
from tests.functions.edge_table import evaluate, situations
from tests.support.oracles import ORACLES


def main() -> None:
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found: dict[str, np.ndarray] = {}
    with np.errstate(all="ignore"):
        for key, (text, arrays, slopes) in situations().items():
            for part, value in evaluate(torch, text, arrays, slopes).items():
                found[f"{key}|{part}"] = np.asarray(value)
        save("edges", found)
        found = {}
        for i, (x, texts) in enumerate(edge_calls.CALLS):
            for text in texts:
                for part, value in edge_calls.evaluate(torch, text, x).items():
                    found[f"{i} {text}|{part}"] = value
        save("edge_calls", found)


def save(name: str, found: dict[str, np.ndarray]) -> None:
    """Writes results by their key to ``tests/oracles/NAME.npz``."""
    import torch

    record = {
        "made_with": {"torch": torch.__version__.partition("+")[0], "numpy": np.__version__},
        "script": "tests/oracles/record_edges.py",
    }
    # One array for each dtype, and where in it each result lies: thousands of members are slow.
    index: dict[str, list] = {}
    flat: dict[str, list] = {}
    for key, value in found.items():
        kind = value.dtype.name
        start = sum(v.size for v in flat.setdefault(kind, []))
        flat[kind].append(value.ravel())
        index[key] = [kind, start, list(value.shape)]
    arrays = {kind: np.concatenate(values) for kind, values in flat.items()}
    text = json.dumps({**record, "index": index}, separators=(",", ":"))
    np.savez_compressed(ORACLES / f"{name}.npz", about=np.array(text), **arrays)
    print(f"{len(found)} results, {sum(v.size for v in found.values())} numbers")


if __name__ == "__main__":
    main()
