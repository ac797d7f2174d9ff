"""Record PyTorch's values and gradients at special values: zeros, NaN, infinities, huge numbers.

Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_edges
Writes tests/oracles/edges.npz. The calls come from tests/functions/edge_table.py, which also says
where gradcli differs on purpose.
"""

from __future__ import annotations

import json
import warnings

import numpy as np

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
    record = {
        "made_with": {"torch": torch.__version__.partition("+")[0], "numpy": np.__version__},
        "script": "tests/oracles/record_edges.py",
    }
    # One array for each dtype, and where in it each result lies: thousands of members are slow.
    index: dict[str, list] = {}
    flat: dict[str, list] = {}
    for key, value in found.items():
        name = value.dtype.name
        start = sum(v.size for v in flat.setdefault(name, []))
        flat[name].append(value.ravel())
        index[key] = [name, start, list(value.shape)]
    arrays = {name: np.concatenate(values) for name, values in flat.items()}
    text = json.dumps({**record, "index": index}, separators=(",", ":"))
    np.savez_compressed(ORACLES / "edges.npz", about=np.array(text), **arrays)
    print(f"{len(found)} results, {sum(v.size for v in found.values())} numbers")


if __name__ == "__main__":
    main()
