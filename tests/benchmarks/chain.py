"""One measurement in one process: microseconds an operation for a chain, forward and backward.

Run as ``python chain.py MODULE SHAPE``: MODULE is ``gradcli`` or ``torch`` (they share the names
used here), SHAPE is ``scalar`` or ``vector``. Prints one number: the median over repeats.
"""

import statistics
import sys
import time

OPERATIONS = 1000
REPEATS = 60


def chain(x):
    """1,000 operations: a product, a sum, a sine and a scaling, 250 times."""
    y = x
    for _ in range(OPERATIONS // 4):
        y = y * x
        y = y + x
        y = y.sin()
        y = y * 1.01
    return y


def measure(module, shape):
    """The median cost of one operation, in microseconds, in float64."""
    values = 0.3 if shape == "scalar" else [0.1, 0.2, 0.3, 0.4]
    x = module.tensor(values, dtype=module.float64, requires_grad=True)
    seed = module.ones_like(x).detach()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        chain(x).backward(seed)
        times.append(time.perf_counter() - start)
    return statistics.median(times) / OPERATIONS * 1e6


if __name__ == "__main__":
    name, kind = sys.argv[1:]
    if name == "torch":
        import torch as peer

        peer.set_num_threads(1)
    else:
        import gradcli as peer
    print(measure(peer, kind))
