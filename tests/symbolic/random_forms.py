"""Random expressions over scalars, vectors and matrices, right by their shapes.

``expression(rng)`` gives a text, the variables that it may be differentiated by, and the order. The
shapes are names of dimensions, so that every product fits.
"""

from __future__ import annotations

import random

SHAPES = {
    "t": "scalar", "s": "scalar positive", "x": "vector:n", "a": "vector:n", "y": "vector:m",
    "b": "vector:m", "X": "matrix:n,m", "Y": "matrix:n,m", "A": "matrix:n,n", "B": "matrix:m,m",
    "S": "matrix:n,n symmetric", "P": "matrix:n,n spd",
}  # fmt: skip
Shape = tuple[str, ...]
LEAVES: dict[Shape, list[str]] = {
    (): ["t", "s", "2", "3", "0.5", "t"],
    ("n",): ["x", "a", "x", "ones(n)"],
    ("m",): ["y", "b", "y"],
    ("n", "m"): ["X", "Y", "X"],
    ("m", "n"): ["X.T", "Y.T"],
    ("n", "n"): ["A", "S", "P", "A.T", "eye(n)"],
    ("m", "m"): ["B", "B.T", "eye(m)"],
}
PARTS: dict[Shape, list[str]] = {
    (): ["x[0]", "x[-1]", "X[0, 1]", "A[1, 1]", "y[1]", "S[0, 1]"],
    ("n",): [
        "X[:, 0]",
        "A[0]",
        "S[1]",
        "flip(x, 0)",
        "roll(a, 1)",
        "cumsum(x, 0)",
        "pad(x[1:], (1, 0))",
        "cat([x[:1], x[1:]])",
        "A[:, -1]",
    ],
    ("m",): [
        "X[0]",
        "Y[-1]",
        "flip(y, 0)",
        "cumsum(b, 0)",
        "B[:, 1]",
        "pad(y[:-1], (0, 1))",
        "cat([y[1:], y[:1]])",
    ],
    ("n", "m"): [
        "flip(X, 1)",
        "roll(Y, 1, 0)",
        "cumsum(X, 1)",
        "pad(X[:, 1:], (1, 0))",
        "cat([X[:1], Y[1:]])",
        "tril(X)",
        "triu(Y, 1)",
    ],
    ("m", "n"): ["X.T", "flip(Y.T, 0)", "cumsum(X, 0).T"],
    ("n", "n"): [
        "tril(A)",
        "triu(S, 1)",
        "(A[:, 0]*eye(n))",
        "outer(x, x)",
        "tril(ones(n, n), -1)",
    ],
    ("m", "m"): ["triu(B)", "(B[0]*B)", "flip(B, 0)"],
}
FUNCTIONS = ["sin", "cos", "exp", "tanh", "sigmoid", "abs", "relu", "square", "atan", "softplus"]


def made(rng: random.Random, shape: Shape, depth: int) -> str:
    """An expression of a shape, with at most ``depth`` operations inside one another."""
    if depth <= 0 or rng.random() < 0.12:
        return rng.choice(PARTS[shape] if rng.random() < 0.25 else LEAVES[shape])
    ways = [_elementwise, _function, _elementwise, _own[len(shape)], _own[len(shape)]]
    return f"({rng.choice(ways)(rng, shape, depth - 1)})"


def _elementwise(rng: random.Random, shape: Shape, depth: int) -> str:
    other = rng.choice([shape, shape, shape[1:], ()])
    left, right = made(rng, shape, depth), made(rng, other, depth)
    if rng.random() < 0.5 and other != shape:
        left, right = right, left
    op = rng.choice("+-*+-*/")
    if op == "/":
        return f"({left})/(1 + ({right})**2)"
    return f"({left} {op} {right})"


def _function(rng: random.Random, shape: Shape, depth: int) -> str:
    inner = made(rng, shape, depth)
    kind = rng.randrange(6)
    if kind == 0:
        return f"({inner})**{rng.choice([2, 3])}"
    if kind == 1:
        other = made(rng, rng.choice([shape, ()]), depth)
        return rng.choice(
            ["max({0}, {1})", "min({0}, {1})", "where({0} > {1}, {0}, 2*{1})"]
        ).format(inner, other)
    if kind == 2:
        return f"log(1 + ({inner})**2)"
    return f"{rng.choice(FUNCTIONS)}({inner})"


def _scalar(rng: random.Random, shape: Shape, depth: int) -> str:
    d = rng.choice("nm")
    v, w = made(rng, (d,), depth), made(rng, (d,), depth)
    e = rng.choice("nm")
    m = made(rng, ("n", "m"), depth)
    q = made(rng, (e, e), depth)
    return rng.choice([
        f"dot({v}, {w})", f"sum({v})", f"mean({v})", f"norm({v})**2", f"logsumexp({v})",
        f"sum({m})", f"norm({m})", f"trace({q})", f"({v}).T @ {q if e == d else f'eye({d})'} @ {w}",
        f"logdet(2*eye({e}) + ({q}) @ ({q}).T)", f"det({q} + eye({e}))", f"norm({v}, 1)",
        f"mean({m})", f"var({v})", f"sum(({m}) @ ({made(rng, ('m',), depth)}))",
        f"amax({v})", f"amin({m})", f"({v})[{rng.choice(['0', '1', '-1'])}]", f"({m})[1, 0]",
        f"sum((({v})[1:] - ({v})[:-1])**2)", f"dot(({v})[1:], ({w})[:-1])", f"norm({v}, inf)",
        f"prod(1 + ({v})**2)", f"std({v})", f"norm({m}, 3)**3", f"sum(({m})[:, 1:]*({m})[:, :-1])",
        f"sum(stack([{v}, {w}])**2)", f"sum(cat([{v}, {w}])**2)", f"sum(({v})[::2])",
        f"sum(({m})*unsqueeze({made(rng, ('n',), depth)}, 1))",
        f"sum(({m})/sum(1 + ({m})**2, {rng.choice('01')}, True))",
        f"norm(flatten({m}))**2", f"sum(kron({v}, {w})**2)", f"dist({v}, {w})",
        f"trace(kron({q}, {q}))", f"sum(tile({v}, 2)*cat([{w}, {v}]))", f"sum(diff({v})**2)",
    ])  # fmt: skip


def _vector(rng: random.Random, shape: Shape, depth: int) -> str:
    (d,) = shape
    e = "m" if d == "n" else "n"
    v, w = made(rng, (d,), depth), made(rng, (e,), depth)
    m, q = made(rng, (d, e), depth), made(rng, (d, d), depth)
    return rng.choice([
        f"({m}) @ ({w})", f"({q}) @ ({v})", f"({v}) @ ({q})", f"softmax({v})", f"diag({q})",
        f"sum({m}, 1)", f"mean({m}, 1)", f"logsumexp({m}, 1)", f"log_softmax({v})",
        f"({v} - mean({v}))", f"sum(({m}).T, 0)", f"solve({q} + 3*eye({d}), {v})",
        f"amax({m}, 1)", f"prod(1 + ({m})**2, 1)", f"cumsum({v}, 0)", f"flip({v}, 0)",
        f"roll({v}, {rng.choice(['1', '-1'])})", f"({m})[:, {rng.choice(['0', '-1'])}]",
        f"pad(({v})[1:], (0, 1))", f"std({m}, 1)", f"norm({m}, {rng.choice(['1', 'inf', '2'])}, 1)",
        f"cat([({v})[:1], ({v})[1:]])", f"({q})[0]", f"where({v} > 0, {v}, 0.5*({v}))",
        f"stack([{v}, {made(rng, (d,), depth)}])[1]", f"({v} - amax({v}))",
        f"lerp({v}, {made(rng, (d,), depth)}, 0.3)", f"sum(reshape(tile({v}, 2), (2, {d})), 0)",
        f"(kron({m}, eye(2)) @ tile({w}, 2))[:1]*({v})",
    ])  # fmt: skip


def _matrix(rng: random.Random, shape: Shape, depth: int) -> str:
    r, c = shape
    v, w = made(rng, (r,), depth), made(rng, (c,), depth)
    k = rng.choice("nm")
    left, right = made(rng, (r, k), depth), made(rng, (k, c), depth)
    own = made(rng, shape, depth)
    ways = [
        f"outer({v}, {w})", f"({left}) @ ({right})", f"({made(rng, (c, r), depth)}).T",
        f"softmax({own}, {rng.choice('01')})", f"diag({v}) @ ({own})",
        f"einsum('ij,ik->jk', {made(rng, (k, r), depth)}, {right})",
        f"cumsum({own}, {rng.choice('01')})", f"tril({own})", f"triu({own}, 1)",
        f"flip({own}, {rng.choice('01')})", f"roll({own}, 1, {rng.choice('01')})",
        f"({own} - amax({own}, {rng.choice('01')}, True))", f"unsqueeze({v}, 1)*({own})",
        f"({own} - mean({own}, {rng.choice('01')}, True))",
        f"({own})/sum(1 + ({own})**2, {rng.choice('01')}, True)",
        f"pad(({own})[1:], (0, 0, 1, 0))", f"cat([({own})[:, :1], ({own})[:, 1:]], 1)",
        f"where({own} > {w}, {own}, {own}**2)", f"log_softmax({own}, {rng.choice('01')})",
        f"reshape(flatten({own}), ({r}, {c}))", f"reshape(kron({v}, {w}), ({r}, {c}))",
    ]  # fmt: skip
    if r == c:
        ways += [f"inv({own} + 3*eye({r}))", f"diag({v})", f"({own})*eye({r})",
                 f"matrix_power({own}, 2)",
                 f"cholesky(({own}) @ ({own}).T + eye({r}))"]  # fmt: skip
    return rng.choice(ways)


_own = {0: _scalar, 1: _vector, 2: _matrix}


def expression(seed: int) -> tuple[str, str, int]:
    """(text, variable, order) number ``seed``."""
    rng = random.Random(seed)
    shape: Shape = rng.choice([(), (), (), (), ("n",), ("m",), ("n", "m"), ("n", "n")])
    text = made(rng, shape, rng.choice([1, 2, 2, 3]))
    present = [v for v in SHAPES if any(v == word for word in _words(text))]
    wrt = rng.choice(present or ["t"])
    rank = {"scalar": 0, "vector": 1, "matrix": 2}[SHAPES[wrt].split(":")[0].split()[0]]
    order = 2 if rank + len(shape) < 2 and rng.random() < 0.3 else 1
    return (text if present else f"{text} + 0*t"), wrt, order


def _spectral(rng: random.Random) -> str:
    """A scalar made of traces, determinants, inverses, norms and spectral functions."""
    e = rng.choice("nm")
    q, r = made(rng, (e, e), 1), made(rng, (e, e), 1)
    m, v, w = made(rng, ("n", "m"), 2), made(rng, (e,), 1), made(rng, (e,), 1)
    near, spd = f"({q} + 4*eye({e}))", f"(({q}) @ ({q}).T + eye({e}))"
    return rng.choice([
        f"trace(inv({near}) @ ({r}))", f"logdet({spd})", f"det({near})", f"sum(inv({near}))",
        f"dot({v}, solve({near}, {w}))", f"sum(solve({near}, ({r}).T)**2)", f"norm({m}, 'nuc')",
        f"({v}).T @ inv({spd}) @ ({v})", f"matrix_norm({m}, 2)", f"sum(svdvals({m})**3)",
        f"max(eigvalsh({q}))", f"sum(exp(eigvalsh({spd})/9))", f"eigvalsh({spd})[1]",
        f"trace(matrix_exp(({q})/4))", f"sum(({r})*matrix_exp(({q})/4))", f"norm(inv({near}))**2",
        f"trace(logm({spd}))", f"sum(({r})*logm({spd}))", f"trace(sqrtm({spd}))",
        f"dot({v}, sqrtm({spd}) @ ({w}))", f"trace(({m}).T @ pinv(({m}).T))", f"sum(pinv({m}))",
        f"trace(matrix_power({q}, 3))", f"trace(({q})*({r}))", f"sum(({q} @ ({r})).T @ ({v}))",
        f"sum(tanh(({m}).T @ ({m})))", f"trace(inv(inv({near}) + {spd}))", f"cond({near})",
        f"logdet({spd}) - ({v}).T @ solve({spd}, {v})", f"trace(({r}) @ inv({spd}) @ ({r}).T)",
        f"sum(({m})*({m} @ ({made(rng, ('m', 'm'), 1)})))", f"det({spd})*trace(inv({spd}))",
    ])  # fmt: skip


def matrix_expression(seed: int) -> tuple[str, str, int]:
    """(text, variable, order) of scalars of matrices, number ``seed``."""
    rng = random.Random(seed)
    text = _spectral(rng)
    if rng.random() < 0.4:
        text = f"({text}){rng.choice(['+', '-', '*'])}({_spectral(rng)})"
    present = [v for v in SHAPES if v in _words(text)]
    wrt = rng.choice(present or ["t"])
    return (text if present else f"{text} + 0*t"), wrt, 1


def _words(text: str) -> list[str]:
    word, found = "", []
    for c in text + " ":
        if c.isalnum() or c == "_":
            word += c
        else:
            found.append(word)
            word = ""
    return found
