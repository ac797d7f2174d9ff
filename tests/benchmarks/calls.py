"""The commonest calls on small tensors, forward and backward, against PyTorch in one process.

Run as ``python -m tests.benchmarks.calls [PATTERN]`` with an interpreter that has PyTorch and what
gradcli needs. Each call takes vectors of 4 entries or matrices of 4x4 in float64, and its result is
differentiated with a cotangent of ones. The two libraries take turns in short rounds, so that a
busy machine slows both; a call's ratio is the median of the rounds' ratios.

Prints a line for each call, the geometric mean of all, and the ten worst.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

ROUNDS = 25
SECONDS = 5e-4
"""What a round of one call and one library takes, about."""


class Inputs:
    """The tensors that the calls take, made by either library."""

    def __init__(self, m: Any) -> None:
        def leaf(values: Any) -> Any:
            return m.tensor(values, dtype=m.float64, requires_grad=True)

        self.m = m
        self.F = m.nn.functional
        self.v = leaf([0.3, 0.1, 0.7, 0.4])
        self.w = leaf([0.5, 0.2, 0.6, 0.9])
        rows = [
            [0.3, 0.1, 0.7, 0.4],
            [0.2, 0.9, 0.5, 0.1],
            [0.8, 0.3, 0.6, 0.2],
            [0.4, 0.7, 0.1, 0.5],
        ]
        self.A = leaf(rows)
        self.B = leaf([row[::-1] for row in rows])
        self.S = leaf([[4.0 * (i == j) + 1.0 / (1 + i + j) for j in range(4)] for i in range(4)])
        self.image = leaf([[rows]])
        self.kernel = leaf([[[[0.1, 0.2], [0.3, 0.4]]]])
        self.bias = leaf([0.1, 0.2, 0.3, 0.4])
        self.t = m.tensor([0.1, 0.9, 0.2, 0.6], dtype=m.float64)
        self.mask = m.tensor([True, False, True, False])
        self.index = m.tensor([2, 0, 3, 1])
        self.columns = m.tensor([[0, 1], [2, 3], [1, 0], [3, 3]])
        self.classes = m.tensor([1, 0, 3, 2])

    @property
    def leaves(self) -> list:
        """The tensors that gradients arrive at."""
        return [v for v in vars(self).values() if getattr(v, "requires_grad", False)]


UNARY = [
    "exp", "log", "log1p", "expm1", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "sigmoid", "relu", "abs", "neg", "square", "reciprocal", "erf",
]  # fmt: skip
CALLS: dict[str, Callable[[Inputs], Any]] = {
    **{f"x.{name}()": lambda i, name=name: getattr(i.v, name)() for name in UNARY},
    "x + y": lambda i: i.v + i.w,
    "x - y": lambda i: i.v - i.w,
    "x * y": lambda i: i.v * i.w,
    "x / y": lambda i: i.v / i.w,
    "x ** y": lambda i: i.v**i.w,
    "x ** 2": lambda i: i.v**2,
    "x * 2": lambda i: i.v * 2.0,
    "1 / x": lambda i: 1.0 / i.v,
    "torch.exp(x)": lambda i: i.m.exp(i.v),
    "torch.mul(x, y)": lambda i: i.m.mul(i.v, i.w),
    "torch.maximum(x, y)": lambda i: i.m.maximum(i.v, i.w),
    "torch.atan2(x, y)": lambda i: i.m.atan2(i.v, i.w),
    "torch.where(m, x, y)": lambda i: i.m.where(i.mask, i.v, i.w),
    "torch.lerp(x, y, 0.3)": lambda i: i.m.lerp(i.v, i.w, 0.3),
    "torch.addcmul(x, y, y)": lambda i: i.m.addcmul(i.v, i.w, i.w),
    "x.clamp(0.2, 0.5)": lambda i: i.v.clamp(0.2, 0.5),
    "x.sum()": lambda i: i.v.sum(),
    "x.mean()": lambda i: i.v.mean(),
    "x.prod()": lambda i: i.v.prod(),
    "x.var()": lambda i: i.v.var(),
    "x.std()": lambda i: i.v.std(),
    "x.norm()": lambda i: i.v.norm(),
    "x.max()": lambda i: i.v.max(),
    "x.amax()": lambda i: i.v.amax(),
    "A.sum(0)": lambda i: i.A.sum(0),
    "A.sum(dim=1, keepdim=True)": lambda i: i.A.sum(dim=1, keepdim=True),
    "A.mean(0)": lambda i: i.A.mean(0),
    "A.norm(dim=1)": lambda i: i.A.norm(dim=1),
    "A.max(1).values": lambda i: i.A.max(1).values,
    "A.logsumexp(1)": lambda i: i.A.logsumexp(1),
    "x.cumsum(0)": lambda i: i.v.cumsum(0),
    "x.cumprod(0)": lambda i: i.v.cumprod(0),
    "x.softmax(0)": lambda i: i.v.softmax(0),
    "A.log_softmax(1)": lambda i: i.A.log_softmax(1),
    "x.sort().values": lambda i: i.v.sort().values,
    "x.topk(2).values": lambda i: i.v.topk(2).values,
    "x.median()": lambda i: i.v.median(),
    "x.diff()": lambda i: i.v.diff(),
    "x @ y": lambda i: i.v @ i.w,
    "torch.dot(x, y)": lambda i: i.m.dot(i.v, i.w),
    "A @ x": lambda i: i.A @ i.v,
    "A @ B": lambda i: i.A @ i.B,
    "torch.mm(A, B)": lambda i: i.m.mm(i.A, i.B),
    "torch.outer(x, y)": lambda i: i.m.outer(i.v, i.w),
    "torch.addmm(x, A, B)": lambda i: i.m.addmm(i.v, i.A, i.B),
    "torch.einsum('ij,jk->ik')": lambda i: i.m.einsum("ij,jk->ik", i.A, i.B),
    "x[1]": lambda i: i.v[1],
    "x[1:3]": lambda i: i.v[1:3],
    "A[:, 1]": lambda i: i.A[:, 1],
    "x[index]": lambda i: i.v[i.index],
    "x[mask]": lambda i: i.v[i.mask],
    "A.gather(1, index)": lambda i: i.A.gather(1, i.columns),
    "A.index_select(0, index)": lambda i: i.A.index_select(0, i.index),
    "A.select(0, 1)": lambda i: i.A.select(0, 1),
    "A.narrow(1, 0, 2)": lambda i: i.A.narrow(1, 0, 2),
    "x.masked_fill(m, 0)": lambda i: i.v.masked_fill(i.mask, 0.0),
    "x.reshape(2, 2)": lambda i: i.v.reshape(2, 2),
    "x.view(2, 2)": lambda i: i.v.view(2, 2),
    "A.flatten()": lambda i: i.A.flatten(),
    "A.T": lambda i: i.A.T,
    "A.transpose(0, 1)": lambda i: i.A.transpose(0, 1),
    "A.permute(1, 0)": lambda i: i.A.permute(1, 0),
    "x.unsqueeze(0)": lambda i: i.v.unsqueeze(0),
    "x.expand(3, 4)": lambda i: i.v.expand(3, 4),
    "x.repeat(2)": lambda i: i.v.repeat(2),
    "x.flip(0)": lambda i: i.v.flip(0),
    "A.diagonal()": lambda i: i.A.diagonal(),
    "torch.diag(x)": lambda i: i.m.diag(i.v),
    "A.tril()": lambda i: i.A.tril(),
    "A.trace()": lambda i: i.A.trace(),
    "x.clone()": lambda i: i.v.clone(),
    "torch.cat([x, y])": lambda i: i.m.cat([i.v, i.w]),
    "torch.stack([x, y])": lambda i: i.m.stack([i.v, i.w]),
    "x.chunk(2)[0]": lambda i: i.v.chunk(2)[0],
    "x.unbind()[0]": lambda i: i.v.unbind()[0],
    "torch.linalg.inv(S)": lambda i: i.m.linalg.inv(i.S),
    "torch.linalg.det(S)": lambda i: i.m.linalg.det(i.S),
    "torch.linalg.solve(S, x)": lambda i: i.m.linalg.solve(i.S, i.v),
    "torch.linalg.cholesky(S)": lambda i: i.m.linalg.cholesky(i.S),
    "torch.linalg.eigvalsh(S)": lambda i: i.m.linalg.eigvalsh(i.S),
    "torch.linalg.norm(A)": lambda i: i.m.linalg.norm(i.A),
    "F.relu(x)": lambda i: i.F.relu(i.v),
    "F.leaky_relu(x)": lambda i: i.F.leaky_relu(i.v),
    "F.elu(x)": lambda i: i.F.elu(i.v),
    "F.gelu(x)": lambda i: i.F.gelu(i.v),
    "F.silu(x)": lambda i: i.F.silu(i.v),
    "F.softplus(x)": lambda i: i.F.softplus(i.v),
    "F.logsigmoid(x)": lambda i: i.F.logsigmoid(i.v),
    "F.hardtanh(x)": lambda i: i.F.hardtanh(i.v),
    "F.softmax(A, 1)": lambda i: i.F.softmax(i.A, 1),
    "F.linear(A, B, bias)": lambda i: i.F.linear(i.A, i.B, i.bias),
    "F.layer_norm(A, (4,))": lambda i: i.F.layer_norm(i.A, (4,)),
    "F.normalize(A)": lambda i: i.F.normalize(i.A),
    "F.mse_loss(x, t)": lambda i: i.F.mse_loss(i.v, i.t),
    "F.l1_loss(x, t)": lambda i: i.F.l1_loss(i.v, i.t),
    "F.smooth_l1_loss(x, t)": lambda i: i.F.smooth_l1_loss(i.v, i.t),
    "F.huber_loss(x, t)": lambda i: i.F.huber_loss(i.v, i.t),
    "F.cross_entropy(A, k)": lambda i: i.F.cross_entropy(i.A, i.classes),
    "F.nll_loss(A, k)": lambda i: i.F.nll_loss(i.A, i.classes),
    "F.binary_cross_entropy(x, t)": lambda i: i.F.binary_cross_entropy(i.v, i.t),
    "F.bce_with_logits(x, t)": lambda i: i.F.binary_cross_entropy_with_logits(i.v, i.t),
    "F.embedding(index, A)": lambda i: i.F.embedding(i.index, i.A),
    "F.conv2d(image, kernel)": lambda i: i.F.conv2d(i.image, i.kernel),
    "F.max_pool2d(image, 2)": lambda i: i.F.max_pool2d(i.image, 2),
}  # fmt: skip


class Peer:
    """One library, ready to run a call forward and backward."""

    def __init__(self, module: Any) -> None:
        self.inputs = Inputs(module)
        self.leaves = self.inputs.leaves
        self.ones_like = module.ones_like

    def forget(self) -> None:
        """Drop the gradients that were accumulated."""
        for leaf in self.leaves:
            leaf.grad = None

    def seed(self, call: Callable[[Inputs], Any]) -> Any:
        """The cotangent that ``call``'s result is differentiated with."""
        return self.ones_like(call(self.inputs)).detach()

    def time(self, call: Callable[[Inputs], Any], seed: Any, number: int) -> float:
        """Seconds that one call, forward and backward, takes on the mean of ``number``."""
        inputs = self.inputs
        start = time.perf_counter()
        for _ in range(number):
            call(inputs).backward(seed)
        return (time.perf_counter() - start) / number


def compare(own: Peer, other: Peer, call: Callable[[Inputs], Any]) -> tuple[float, float, float]:
    """Seconds of both libraries, and the median of the rounds' ratios."""
    seeds = own.seed(call), other.seed(call)
    number = max(2, int(SECONDS / min(own.time(call, seeds[0], 5), other.time(call, seeds[1], 5))))
    rounds = []
    for _ in range(ROUNDS):
        own.forget()
        other.forget()
        rounds.append((own.time(call, seeds[0], number), other.time(call, seeds[1], number)))
    ours, theirs = (statistics.median(r[k] for r in rounds) for k in (0, 1))
    return ours, theirs, statistics.median(a / b for a, b in rounds)


def loop(m: Any) -> float:
    """Seconds for a random vector that is doubled until its norm passes 1,000, and its gradient."""
    start = time.perf_counter()
    for _ in range(20):
        a = m.tensor([0.3, -0.1, 0.7], dtype=m.float64, requires_grad=True)
        b = a * 2
        while b.norm() < 1000:
            b = b * 2
        b.sum().backward()
    return time.perf_counter() - start


def main(pattern: str = "") -> None:
    """Measure all calls that contain ``pattern``, and print the table."""
    import torch

    import gradcli
    import gradcli.nn

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    own, other = Peer(gradcli), Peer(torch)
    ratios = {}
    print(f"{'call, forward and backward':<32} gradcli us  PyTorch us  ratio")
    for name, call in CALLS.items():
        if pattern in name:
            ours, theirs, ratios[name] = compare(own, other, call)
            print(f"{name:<32} {ours * 1e6:>10.2f} {theirs * 1e6:>11.2f} {ratios[name]:>6.2f}")
    if not pattern:
        rounds = [loop(gradcli) / loop(torch) for _ in range(ROUNDS)]
        print(f"{'while b.norm() < 1000: b = b*2':<55} {statistics.median(rounds):>6.2f}")
    mean = math.exp(statistics.fmean(math.log(r) for r in ratios.values()))
    print(f"\ngeometric mean of {len(ratios)} calls: {mean:.3f}")
    print("worst: " + ", ".join(f"{n} {r:.2f}" for n, r in
                                sorted(ratios.items(), key=lambda e: -e[1])[:10]))  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
