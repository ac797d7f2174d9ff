"""One measurement in one process: the peak memory of a chain of operations on a large array.

Run as ``python memory.py MODULE``: MODULE is ``gradcli`` or ``torch`` (they share the names used
here). Prints one number: how much the process's peak rose, in arrays of the chain's size, while 20
operations on 10 million float64 ran forward and backward. The leaf and its gradient are among them.
"""

import resource
import sys

LENGTH = 10_000_000


def chain(x):
    """20 operations: a product, a sum, a sine and a scaling, five times."""
    y = x
    for _ in range(5):
        y = y * x
        y = y + x
        y = y.sin()
        y = y * 1.01
    return y


def peak():
    """The most memory that this process has held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(module):
    """The rise of the peak, in arrays."""
    small = module.full((10_000,), 0.5, dtype=module.float64).requires_grad_()
    chain(small).sum().backward()  # whatever is loaded late is loaded now
    before = peak()
    x = module.full((LENGTH,), 0.5, dtype=module.float64).requires_grad_()
    chain(x).sum().backward()
    return (peak() - before) / (8 * LENGTH)


if __name__ == "__main__":
    (name,) = sys.argv[1:]
    if name == "torch":
        import torch as peer

        peer.set_num_threads(1)
    else:
        import gradcli as peer
    print(measure(peer))
