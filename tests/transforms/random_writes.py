"""Random functions with views and writes in place, and every transform held against plain loops.

A function is straight-line code over ``x`` (what is differentiated by, or mapped over) and ``w``:
views, writes through them, constants made inside. The reference is plain: the function runs once
for each element, and the engine's backward gives its derivatives row by row. The text of a function
runs with PyTorch too, so that what gradcli refuses can be held against what PyTorch refuses.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Function(NamedTuple):
    """A function as text, the shape of ``x``, and what it writes."""

    source: str
    shape: tuple
    mixes: frozenset  # "x", "w": depends on it, and is written to what does not; vmap refuses it


class _Value:
    def __init__(self, name: str, shape: tuple, family: dict, writable: bool = True) -> None:
        self.name = name
        self.shape = shape
        self.family = family  # shared by views: which arguments it depends on
        self.writable = writable


class _Writer:
    """Builds one function, statement by statement."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.shape = rng.choice([(3,), (3,), (2, 3), (2, 3), (4,), (), (3, 2), (2, 2), (1, 3)])
        if rng.random() < 0.02:
            self.shape = (0,)
        self.lines: list[str] = []
        self.values = [
            _Value("x", self.shape, {"on": {"x"}, "own": False}, False),
            _Value("w", self.shape, {"on": {"w"}, "own": False}, False),
        ]
        self.count = 0
        self.mixes: set[str] = set()

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def put(self, text: str, shape: tuple, on: set, writable: bool = True) -> _Value:
        value = _Value(self.name(), shape, {"on": set(on), "own": True}, writable)
        self.lines.append(f"{value.name} = {text}")
        self.values.append(value)
        return value

    def build(self) -> Function:
        rng = self.rng
        self.fresh()
        for _ in range(rng.randint(2, 11)):
            rng.choice([self.fresh, self.view, self.view, self.write, self.write, self.write,
                        self.item, self.item])()  # fmt: skip
        chosen = [v for v in self.values if v.name not in ("x", "w")]
        chosen = rng.sample(chosen, min(len(chosen), rng.randint(1, 3)))
        if not any("x" in v.family["on"] for v in chosen):
            chosen.append(self.values[0])
        parts = []
        for v in chosen:
            size = int(np.prod(v.shape))
            how = "reshape(-1)" if size <= 6 else "sum().reshape(-1)"
            parts.append(f"{v.name}.{how}")
        if len(parts) == 1 and rng.random() < 0.5:
            self.lines.append(f"return {chosen[0].name}")
        else:
            self.lines.append(f"return torch.cat([{', '.join(parts)}])")
        body = "".join(f"    {line}\n" for line in self.lines)
        return Function(f"def f(x, w):\n{body}", self.shape, frozenset(self.mixes))

    # -- new values ------------------------------------------------------------------------------

    def pick(self, **wanted: Any) -> _Value:
        return self.rng.choice(self.values)

    def fresh(self) -> None:
        rng = self.rng
        kind = rng.random()
        if kind < 0.22:
            self.constant()
            return
        v = self.pick()
        on = v.family["on"]
        if kind < 0.62:
            text = rng.choice([
                "{0} * 1", "{0} * 1", "{0}.clone()", "{0} + 0.5", "{0}.sin()", "torch.cos({0})",
                "{0} * {0}", "-{0}", "({0} * 0.3).exp()", "2.0 - {0}", "{0} / 1.5", "{0} ** 2",
                "torch.tanh({0})", "torch.sigmoid({0})", "{0}.erf()", "torch.asinh({0})",
                "torch.expm1({0})", "torch.sinc({0})", "torch.special.ndtr({0})", "{0}.abs()",
                "torch.fmod({0}, 0.7)", "torch.lgamma({0} * {0} + 1)", "torch.square({0})",
                "torch.nn.functional.gelu({0})", "torch.nn.functional.softplus({0})",
                "torch.nn.functional.hardtanh({0}, 0.2, 0.9)", "{0}.masked_fill({0} > 0.7, 0.3)",
                "({0} * (1 + 2j)).conj().imag * 1", "torch.view_as_real({0} * (1 - 1j))[..., 1]",
                "torch.func.grad(lambda a: (a**3).sum())({0})", "{0}.flip(())",
                "{0}.detach() * {0}", "cube({0})", "cube({0} * 0.5) * {0}", "{0} * k",
                "{0}.to(torch.complex128).real", "torch.hypot({0}, k)", "{0}.frac()",
                "torch.func.grad(lambda a: (a * k).sin().sum())({0})",
                "(lambda a: a.as_strided(a.shape, a.stride(), a.storage_offset()) * 1)"
                "({0}.contiguous())",
                "torch.func.jvp(torch.sin, ({0},), ({0},))[1]", "torch.func.vjp(torch.sin, {0})[0]",
                "torch.func.grad(lambda a: (k, a * {0}), has_aux=True)({0})[1]",
                "torch.func.vjp(lambda a: (k, a.sin()), {0}, has_aux=True)[2]",
                "torch.func.jvp(lambda a: (a, a.exp()), ({0},), ({0},), has_aux=True)[2]",
                "torch.func.jacrev(lambda a: (k * a, a.cos()), has_aux=True)({0})[1]",
                "(lambda a: a.as_strided((a.numel(),), (1,)).sin().as_strided(a.shape, a.stride()))"
                "({0}.contiguous())",
                "torch.linalg.solve(torch.eye(2, dtype=torch.float64) * ({0} * {0} + 1)[..., None, "
                "None], torch.ones(2, 1, dtype=torch.float64))[..., 0, 0]",
            ])  # fmt: skip
            self.put(text.format(v.name), v.shape, on)
        elif kind < 0.8:
            u = self.pick()
            try:
                shape = np.broadcast_shapes(v.shape, u.shape)
            except ValueError:
                return
            text = rng.choice([
                "{0} * {1}", "{0} + {1}", "{0} - {1}", "{0} / ({1} * {1} + 1)",
                "torch.maximum({0}, {1})", "torch.where({0} > {1}, {0} * {1}, {1})",
                "torch.atan2({0}, {1} * {1} + 1)", "torch.lerp({0}, {1}, 0.3)",
                "torch.logaddexp({0}, {1})", "torch.xlogy({0}, {1} * {1} + 1)",
                "torch.func.jvp(lambda a: a.sin() * {1}, ({0},), ({0},))[1]",
                "torch.func.vjp(lambda a: a * {1}, {0})[0]", "cube({0}) * {1}",
                "torch.func.linearize(lambda a: a.sin() * {1}, {0})[1]({0})",
            ])  # fmt: skip
            self.put(text.format(v.name, u.name), tuple(shape), on | u.family["on"])
        elif kind < 0.86:
            self.put(f"{v.name}.sum()", (), on)
        elif v.shape:
            dim = rng.randrange(-len(v.shape), len(v.shape))
            if rng.random() < 0.6:
                text = rng.choice([
                    "{0}.cumsum({1})", "{0}.roll(1)", "{0}.flip({1})", "{0}.sort({1}).values",
                    "torch.where({0} > 0.7, {0} * 2, 0.5)", "{0}.gather({1}, {0}.argsort({1}))",
                    "{0}.contiguous() * 1", "torch.cat([{0}[1:], {0}[:1]])", "{0}.clamp(0.3, 0.9)",
                    "{0}.softmax({1})", "torch.stack(list({0}))" if v.shape[0] else "{0} * 1",
                    "{0}.cumprod({1})", "{0}.logcumsumexp({1})", "{0}.log_softmax({1})",
                    "torch.take_along_dim({0}, {0}.argsort({1}, descending=True), {1})",
                    "{0}.index_select({1}, torch.arange({0}.shape[{1}]).flip(0))",
                    "torch.fft.fft({0} + 1, dim={1}).real", "{0} - {0}.mean({1}, keepdim=True)",
                    "{0} * ({0} + 2).norm(dim={1}, keepdim=True)",
                    "torch.func.vmap(lambda a: a * a.sum(), in_dims={1}, out_dims={1})({0})",
                    "torch.where({0} > {0}.mean({1}, keepdim=True), {0}, k)",
                    "{0}.cummax({1}).values", "{0}.scatter_add({1}, {0}.argsort({1}), {0})",
                    "torch.einsum('...i,...i->...i', {0}, {0})", "{0}.mT.mT @ {0}.mT @ {0}",
                    "torch.func.vmap(lambda a: a.flip(0).clone(), {1}, {1})({0})",
                    "torch.func.vmap(lambda i: {0}[i])(torch.arange({0}.shape[0]).flip(0))",
                    "torch.func.vmap(lambda i, a: a.index_fill(0, i, 0.3) if a.dim() else a + 1)"
                    "(torch.zeros({0}.shape[0]).long(), {0})",
                    "torch.nn.functional.layer_norm({0}, {0}.shape[-1:])",
                    "torch.nn.functional.pad({0}[None], (1, 0), mode='replicate')[0][..., 1:]",
                ])  # fmt: skip
                self.put(text.format(v.name, dim), v.shape, on)
            else:
                shape = list(v.shape)
                shape.pop(dim)
                text = rng.choice(
                    ["sum", "sum", "logsumexp", "mean"] + ["prod"] * bool(v.shape[dim])
                )
                self.put(f"{v.name}.{text}({dim})", tuple(shape), on)

    def constant(self) -> None:
        rng = self.rng
        v = self.pick()
        shape = v.shape
        if rng.random() < 0.5:
            text, on = rng.choice([
                (f"torch.zeros({shape}, dtype=torch.float64)", set()),
                (f"torch.ones({shape}, dtype=torch.float64)", set()),
                (f"torch.full({shape}, 0.5, dtype=torch.float64)", set()),
                ("torch.tensor(0.7, dtype=torch.float64)", set()),
            ])  # fmt: skip
            shape = () if "tensor(" in text else shape
        else:
            text = rng.choice([
                f"torch.zeros_like({v.name})", f"torch.ones_like({v.name})",
                f"{v.name}.new_zeros({shape})", f"{v.name}.new_ones({shape})",
                f"torch.full_like({v.name}, 0.25)",
            ])  # fmt: skip
            on = v.family["on"]
        self.put(text, shape, on)

    # -- views -----------------------------------------------------------------------------------

    def view(self) -> None:
        rng = self.rng
        own = [v for v in self.values if v.family["own"]]
        v = rng.choice(own) if own and rng.random() < 0.85 else self.pick()
        found = self.view_of(v)
        if found is not None:
            text, shape, writable = found
            view = _Value(self.name(), shape, v.family, writable and v.writable)
            self.lines.append(f"{view.name} = {text}")
            self.values.append(view)

    def view_of(self, v: _Value) -> tuple[str, tuple, bool] | None:
        rng, name, shape = self.rng, v.name, v.shape
        rank = len(shape)
        kind = rng.choice(["slice", "slice", "select", "select", "transpose", "reshape", "diagonal",
                           "unsqueeze", "expand", "unbind", "split", "index", "narrow", "squeeze",
                           "flatten", "view_as", "swap", "unfold", "same"])  # fmt: skip
        if kind in ("slice", "select", "narrow", "index", "unbind", "split", "unfold") and not rank:
            return None
        if kind == "slice":
            part, out = self.sliced(shape)
            return f"{name}[{part}]", out, True
        if kind == "select":
            if not shape[0]:
                return None
            i = rng.randrange(-shape[0], shape[0])
            return f"{name}[{i}]", shape[1:], True
        if kind == "index" and rank == 2 and shape[1]:
            i = rng.randrange(shape[1])
            return rng.choice([f"{name}[:, {i}]", f"{name}[..., {i}]"]), shape[:1], True
        if kind == "narrow" and shape[-1] >= 2:
            return f"{name}.narrow(-1, 1, {shape[-1] - 1})", (*shape[:-1], shape[-1] - 1), True
        if kind == "transpose" and rank == 2:
            text = rng.choice([".T", ".mT", ".t()", ".transpose(0, 1)", ".permute(1, 0)",
                               ".swapaxes(-1, 0)"])  # fmt: skip
            return name + text, shape[::-1], True
        size = int(np.prod(shape))
        if kind == "reshape":
            out = rng.choice([(-1,), (size,), (1, size), (size, 1)])
            if size % 2 == 0 and size:
                out = rng.choice([out, (2, size // 2), (-1, 2)])
            if not size:
                out = (0,)
            full = tuple(np.empty(shape).reshape(out).shape)
            return f"{name}.reshape({out})", full, True  # a copy or not, as of one element
        if kind == "view_as" and rank == 1:
            return f"{name}.view({shape[0]}, 1)", (shape[0], 1), True
        if kind == "flatten":
            return f"{name}.flatten()", (size,), True
        if kind == "same":
            return name + rng.choice([
                ".real", f".view_as({name})", "[...]", ".positive()", ".resolve_conj()",
                f".broadcast_to({shape})", ".movedim((), ())",
            ]), shape, True  # fmt: skip
        if kind == "unfold" and shape[-1] >= 2:
            return f"{name}.unfold(-1, 2, 2)", (*shape[:-1], shape[-1] // 2, 2), True
        if kind == "diagonal" and rank == 2:
            return f"{name}.diagonal()", (min(shape),), True
        if kind == "unsqueeze":
            d = rng.randrange(rank + 1)
            return rng.choice([f"{name}.unsqueeze({d})", f"torch.unsqueeze({name}, {d})"]), (
                *shape[:d], 1, *shape[d:]), True  # fmt: skip
        if kind == "squeeze" and 1 in shape:
            d = rng.choice([d for d, n in enumerate(shape) if n == 1])
            return f"{name}.squeeze({d})", (*shape[:d], *shape[d + 1 :]), True
        if kind == "expand":
            return f"{name}.expand(2, {', '.join(map(str, shape))})".replace(", )", ")"), (
                2, *shape), False  # fmt: skip
        if kind == "unbind" and shape[0]:
            i = rng.randrange(shape[0])
            return f"{name}.unbind(0)[{i}]", shape[1:], False
        if kind == "split" and shape[0] >= 2:
            return f"{name}.split(1)[1]", (1, *shape[1:]), False
        return None

    def sliced(self, shape: tuple) -> tuple[str, tuple]:
        n = shape[0]
        part = self.rng.choice(["1:", ":1", ":-1", "::2", "0:2", ":", "..."])
        taken = np.empty(shape)[eval(f"np.s_[{part}]")]
        return part, taken.shape if n or part != "..." else shape

    # -- writes ----------------------------------------------------------------------------------

    def target(self) -> _Value | None:
        found = [v for v in self.values if v.writable and v.family["own"]]
        return self.rng.choice(found) if found else None

    def value_for(self, shape: tuple, within: _Value | None = None) -> tuple[str, set]:
        """Something that broadcasts to ``shape``, and what it depends on."""
        rng = self.rng
        fits = []
        for v in self.values:
            try:
                if np.broadcast_shapes(v.shape, shape) == shape:
                    fits.append(v)
            except ValueError:
                pass
        if not fits or rng.random() < 0.2:
            return rng.choice(["0.5", "2", "1.5", "-0.75"]), set()
        v = rng.choice(fits)
        text = rng.choice(["{0}", "{0}", "{0} * 0.5", "{0}.sin()", "({0} + 1)"])
        return text.format(v.name), v.family["on"]

    def wrote(self, target: _Value, on: set) -> None:
        have = target.family["on"]
        self.mixes |= on - have
        if on and not have:
            self.mixes.add("both")
        target.family["on"] |= on

    def write(self) -> None:
        rng, v = self.rng, self.target()
        if v is None:
            return
        name = v.name
        kind = rng.choice(["aug", "aug", "aug", "method", "method", "copy", "fill", "zero",
                           "function", "masked", "scaled", "chosen", "placed"])  # fmt: skip
        if kind == "aug":
            text, on = self.value_for(v.shape)
            op = rng.choice(["+=", "*=", "-=", "*=", "/="])
            text = f"({text}) * 0.1 + 2" if op == "/=" else text
            self.lines.append(f"{name} {op} {text}")
            self.wrote(v, on)
        elif kind == "method":
            text, on = self.value_for(v.shape)
            op = rng.choice(["add_", "mul_", "sub_"])
            self.lines.append(f"{name}.{op}({text})")
            self.wrote(v, on)
        elif kind == "copy":
            text, on = self.value_for(v.shape)
            if on or "v" in text or "x" in text or "w" in text:
                self.lines.append(f"{name}.copy_({text})")
                self.wrote(v, on)
        elif kind == "fill":
            self.lines.append(f"{name}.fill_({rng.choice(['0.3', '2', '-1.0'])})")
            if rng.random() < 0.4:
                single = [u for u in self.values if u.shape == ()]
                if single:
                    u = rng.choice(single)
                    self.lines[-1] = f"{name}.fill_({u.name})"
                    self.wrote(v, u.family["on"])
        elif kind == "zero":
            self.lines.append(f"{name}.zero_()")
        elif kind == "function":
            how = rng.choice([
                "sin_()", "cos_()", "tanh_()", "sigmoid_()", "neg_()", "square_()", "erf_()",
                "abs_()", "clamp_(0.1, 1.5)", "nan_to_num_()", "conj().mul_(1.5)", "atan_()",
                "lerp_(torch.ones((), dtype=torch.float64), 0.3)", "as_strided((), ()).mul_(2)",
                "relu_()", "hypot_(k)", "clamp_(min=k)", "addcmul_(k, k)", "detach().mul_(1.5)",
                "cumsum_(0)", "index_fill_(0, torch.tensor([0]), 0.5)", "unfold(0, 1, 1).mul_(2)",
            ])  # fmt: skip
            whole = not any(part in how for part in ("strided", "(0, ", "(0)"))
            if whole or (v.shape and all(v.shape)):
                self.lines.append(f"{name}.{how}")
        elif kind == "masked":
            mask = rng.choice([self.mask_for(v), f"{name} > 0.6"])
            self.lines.append(f"{name}.masked_fill_({mask}, 0.25)")
        elif kind == "chosen":
            text, on = self.value_for(v.shape)
            self.lines.append(f"{name}.copy_(torch.where({name} > 0.5, {name}, {text}))")
            self.wrote(v, on)
        elif kind == "placed":
            if not v.shape or not v.shape[0]:
                return
            text, on = self.value_for(v.shape[1:])
            value = f"torch.as_tensor({text}, dtype=torch.float64)"
            row = f"{value}.expand{(1, *v.shape[1:])}"
            self.lines.append(f"{name}." + rng.choice([
                f"index_put_((torch.tensor([0]),), {value})",
                f"index_put_((torch.tensor([0]),), {value}, accumulate=True)",
                f"index_add_(0, torch.tensor([0]), {row})",
                f"index_copy_(0, torch.tensor([0]), {row})",
                f"scatter_(0, torch.zeros({(1, *v.shape[1:])}, dtype=torch.int64), {row})",
            ]))  # fmt: skip
            self.wrote(v, on)
        else:
            text, on = self.value_for(v.shape)
            if text[0] not in "0123456789-":
                self.lines.append(f"{name}.{rng.choice(['add_', 'sub_'])}({text}, alpha=0.5)")
                self.wrote(v, on)

    def mask_for(self, v: _Value) -> str | None:
        numbers = np.arange(int(np.prod(v.shape))).reshape(v.shape) % 2 == 0
        return f"torch.tensor({numbers.tolist()})"

    def item(self) -> None:
        """A write by index."""
        rng, v = self.rng, self.target()
        if v is None or not v.shape or not v.shape[0]:
            return
        shape, name = v.shape, v.name
        kind = rng.choice(["int", "int", "slice", "slice", "aug", "aug", "list", "mask", "two",
                           "ellipsis"])  # fmt: skip
        if kind == "int":
            i = rng.randrange(-shape[0], shape[0])
            part, out = str(i), shape[1:]
        elif kind in ("slice", "aug"):
            part, out = self.sliced(shape)
        elif kind == "list":
            part, out = ("[0]", (1, *shape[1:])) if shape[0] < 2 else ("[1, 0]", (2, *shape[1:]))
        elif kind == "two" and len(shape) == 2 and shape[1]:
            part, out = rng.choice([(f":, {shape[1] - 1}", shape[:1]), ("0, 0", ()),
                                    ("0, 1:", (shape[1] - 1,))])  # fmt: skip
        elif kind == "mask":
            self.lines.append(f"{name}[{self.mask_for(v)}] = {rng.choice(['0.5', '-2.0'])}")
            return
        else:
            part, out = "...", shape
        text, on = self.value_for(tuple(out))
        op = rng.choice(["+=", "*=", "-="]) if kind == "aug" else "="
        self.lines.append(f"{name}[{part}] {op} {text}")
        self.wrote(v, on)


def random_function(seed: int) -> Function:
    """The function of this number."""
    return _Writer(random.Random(seed)).build()


# ---- The reference: loops over plain backward ----------------------------------------------------


def cube_of(torch: Any) -> Callable:
    """The cube as a custom function."""

    class Cube(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * g

        jvp = backward

    apply: Callable = Cube.apply
    return apply


class Case:
    """One function at one point, and what plain backward says of it."""

    def __init__(self, torch: Any, function: Function, seed: int) -> None:
        self.torch = torch
        self.function = function
        room: dict[str, Any] = {"torch": torch, "cube": cube_of(torch)}
        room["k"] = torch.tensor(0.7, dtype=torch.float64)  # captured
        exec(function.source, room)
        self.f = room["f"]
        rng = np.random.default_rng(seed)
        self.draws = iter([rng.uniform(0.2, 1.2, (2, 2, *function.shape)) for _ in range(8)])
        self.x, self.w, self.t, self.u = (self.drawn()[0, 0] for _ in range(4))
        self.X, self.W = self.drawn()[0], self.drawn()[0]  # for one vmap: 2 points
        self.XX = self.drawn()  # for two: 2 times 2
        self.kept: dict[Any, Any] = {}

    def drawn(self) -> Any:
        return self.torch.tensor(next(self.draws), dtype=self.torch.float64)

    def weights(self, out: Any) -> Any:
        size = int(np.prod(tuple(out.shape)))
        numbers = np.cos(np.arange(size, dtype=np.float64)).reshape(tuple(out.shape))
        return self.torch.tensor(numbers, dtype=self.torch.float64)

    def s(self, x: Any, w: Any) -> Any:
        """A number, so that it has a gradient and a Hessian."""
        out = self.f(x, w)
        return (out * out * self.weights(out)).sum() + (out * self.weights(out)).sum()

    def by_rows(self, out: Any, leaf: Any) -> np.ndarray:
        flat = out.reshape(-1)
        rows = []
        for k in range(int(np.prod(tuple(out.shape)))):
            g = None
            if out.requires_grad:
                (g,) = self.torch.autograd.grad(flat[k], leaf, retain_graph=True, allow_unused=True)
            rows.append(np.zeros(leaf.shape) if g is None else _numpy(g))
        return np.array(rows).reshape((*tuple(out.shape), *tuple(leaf.shape)))

    def once(self, key: Any, make: Callable) -> Any:
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def leaf(self, x: Any) -> Any:
        return x.detach().clone().requires_grad_()

    def value(self, x: Any, w: Any) -> np.ndarray:
        return self.once(("v", id(x), id(w)), lambda: _numpy(self.f(x, w)))

    def jacobian(self, x: Any, w: Any) -> np.ndarray:
        def make() -> np.ndarray:
            leaf = self.leaf(x)
            return self.by_rows(self.f(leaf, w), leaf)

        return self.once(("j", id(x), id(w)), make)

    def gradient(self, x: Any, w: Any) -> np.ndarray:
        def make() -> np.ndarray:
            leaf = self.leaf(x)
            return self.by_rows(self.s(leaf, w), leaf)

        return self.once(("g", id(x), id(w)), make)

    def hessian(self, x: Any, w: Any) -> np.ndarray:
        def make() -> np.ndarray:
            leaf = self.leaf(x)
            out = self.s(leaf, w)
            g = None
            if out.requires_grad:
                (g,) = self.torch.autograd.grad(out, leaf, create_graph=True, allow_unused=True)
            if g is None:
                return np.zeros((*tuple(x.shape), *tuple(x.shape)))
            return self.by_rows(g, leaf)

        return self.once(("h", id(x), id(w)), make)

    def third(self, t: Any, u: Any) -> np.ndarray:
        """The gradient of the second derivative along ``t`` and ``u``."""
        leaf = self.leaf(self.x)
        out = self.s(leaf, self.w)
        for v in (t, u):
            g = None
            if out.requires_grad:
                (g,) = self.torch.autograd.grad(out, leaf, create_graph=True, allow_unused=True)
            if g is None:
                return np.zeros(tuple(leaf.shape))
            out = (g * v).sum()
        return self.by_rows(out, leaf)


def _numpy(value: Any) -> np.ndarray:
    return np.array(value.detach().numpy())


# ---- Every transform, and what it should give ----------------------------------------------------


def _along(rows: np.ndarray, direction: Any) -> np.ndarray:
    v = _numpy(direction)
    return np.tensordot(rows, v, v.ndim)


def _first(c: Case) -> dict[str, tuple[Callable, Callable]]:
    """Transforms of one point: what computes it, and what plain loops say."""
    torch, f, s, x, w, t, u = c.torch, c.f, c.s, c.x, c.w, c.t, c.u
    F = torch.func
    A = torch.autograd

    def at(g: Callable) -> Callable:
        return lambda a: g(a, w)

    def J() -> np.ndarray:
        return c.jacobian(x, w)

    def G() -> np.ndarray:
        return c.gradient(x, w)

    def H() -> np.ndarray:
        return c.hessian(x, w)

    def Ht() -> np.ndarray:
        return _along(H(), t)

    def T() -> np.ndarray:
        return c.once("T", lambda: c.third(t, u))

    def second(a: Any) -> Any:
        return F.jvp(lambda b: F.jvp(at(s), (b,), (t,))[1], (a,), (u,))[1]

    def weighed(hessian: Callable) -> Callable:
        return lambda a: (hessian(s)(a, w) * torch.tensordot(t, u, 0)).sum()

    def plainly(g: Callable) -> Any:
        leaf = c.leaf(x)
        out = g(leaf)
        return torch.tensor(c.by_rows(out, leaf))

    def dual(g: Callable) -> Any:
        with A.forward_ad.dual_level():
            out = g(A.forward_ad.make_dual(x, t.clone()))
            tangent = A.forward_ad.unpack_dual(out).tangent
            return torch.zeros_like(out) if tangent is None else tangent

    def dual_of_grad() -> Any:
        with A.forward_ad.dual_level():
            leaf = x.detach().requires_grad_()
            point = A.forward_ad.make_dual(leaf, t.clone())
            out = at(s)(point)
            if not out.requires_grad:
                return torch.zeros_like(x)
            (g,) = A.grad(out, point, create_graph=True, allow_unused=True)
            if g is None:
                return torch.zeros_like(x)
            tangent = A.forward_ad.unpack_dual(g).tangent
            return torch.zeros_like(x) if tangent is None else tangent

    return {
        "jacrev": (lambda: F.jacrev(f)(x, w), J),
        "jacrev chunks": (lambda: F.jacrev(f, chunk_size=2)(x, w), J),
        "jacfwd": (lambda: F.jacfwd(f)(x, w), J),
        "linearize": (lambda: F.linearize(at(f), x)[1](t), lambda: _along(J(), t)),
        "linearize grad": (lambda: F.linearize(F.grad(at(s)), x)[1](t), Ht),
        "jvp value": (lambda: F.jvp(at(f), (x,), (t,))[0], lambda: c.value(x, w)),
        "jvp": (lambda: F.jvp(at(f), (x,), (t,))[1], lambda: _along(J(), t)),
        "vjp": (lambda: F.vjp(at(s), x)[1](torch.ones((), dtype=torch.float64))[0], G),
        "vjp value": (lambda: F.vjp(at(f), x)[0], lambda: c.value(x, w)),
        "grad": (lambda: F.grad(s)(x, w), G),
        "dual": (lambda: dual(at(f)), lambda: _along(J(), t)),
        "grad in dual": (dual_of_grad, Ht),
        "hessian": (lambda: F.hessian(s)(x, w), H),
        "jacfwd jacrev": (lambda: F.jacfwd(F.jacrev(s))(x, w), H),
        "jacrev jacfwd": (lambda: F.jacrev(F.jacfwd(s))(x, w), H),
        "jacrev jacrev": (lambda: F.jacrev(F.jacrev(s))(x, w), H),
        "jacfwd jacfwd": (lambda: F.jacfwd(F.jacfwd(s))(x, w), H),
        "jvp grad": (lambda: F.jvp(F.grad(at(s)), (x,), (t,))[1], Ht),
        "grad jvp": (lambda: F.grad(lambda a: F.jvp(at(s), (a,), (t,))[1])(x), Ht),
        "grad grad": (lambda: F.grad(lambda a: (F.grad(at(s))(a) * t).sum())(x), Ht),
        "jvp jvp": (
            lambda: F.jvp(lambda a: F.jvp(at(s), (a,), (t,))[1], (x,), (u,))[1],
            lambda: _along(Ht(), u),
        ),
        "dual jvp": (
            lambda: dual(lambda a: F.jvp(at(s), (a,), (u,))[1]), lambda: _along(Ht(), u)
        ),
        "backward jvp jvp": (lambda: plainly(second), T),
        "grad jvp jvp": (lambda: F.grad(second)(x), T),
        "backward jacfwd jacfwd": (
            lambda: plainly(weighed(lambda g: F.jacfwd(F.jacfwd(g)))), T
        ),
        "grad jacfwd jacrev": (lambda: F.grad(weighed(lambda g: F.jacfwd(F.jacrev(g))))(x), T),
        "jacfwd hessian": (
            lambda: F.jacfwd(weighed(lambda g: F.jacrev(F.jacfwd(g))))(x), T
        ),
        "functional jacobian": (lambda: A.functional.jacobian(at(f), x), J),
        "functional jacobian vectorize": (
            lambda: A.functional.jacobian(at(f), x, vectorize=True), J
        ),
        "functional jacobian forward": (
            lambda: A.functional.jacobian(at(f), x, strategy="forward-mode", vectorize=True), J
        ),
        "functional hessian": (lambda: A.functional.hessian(at(s), x), H),
        "functional hessian vectorize": (
            lambda: A.functional.hessian(at(s), x, vectorize=True), H
        ),
        "functional hessian forward": (
            lambda: A.functional.hessian(
                at(s), x, vectorize=True, outer_jacobian_strategy="forward-mode"
            ),
            H,
        ),
        "functional jvp": (lambda: A.functional.jvp(at(f), x, t)[1], lambda: _along(J(), t)),
        "functional hvp": (lambda: A.functional.hvp(at(s), x, t)[1], Ht),
    }  # fmt: skip


def _mapped(c: Case) -> dict[str, tuple[Callable, Callable]]:
    """Transforms with a vmap over points."""
    torch, f, s, x, w, t = c.torch, c.f, c.s, c.x, c.w, c.t
    X, W, XX = c.X, c.W, c.XX
    F = torch.func
    rows = [X[i] for i in range(2)]
    c.kept["rows"] = (
        rows,
        [W[i] for i in range(2)],
        [[XX[i][j] for j in range(2)] for i in range(2)],
    )

    def at(g: Callable) -> Callable:
        return lambda a: g(a, w)

    def loop(of: Callable) -> Callable:
        return lambda: np.stack([of(a, w) for a in c.kept["rows"][0]])

    def both(of: Callable) -> Callable:
        return lambda: np.stack([of(a, b) for a, b in zip(*c.kept["rows"][:2], strict=True)])

    def twice(of: Callable) -> Callable:
        return lambda: np.stack([np.stack([of(a, w) for a in r]) for r in c.kept["rows"][2]])

    T = torch.stack([t, t * 0.5])
    one = (0, None)

    def pushed(of: Callable) -> Callable:
        def want() -> np.ndarray:
            rows = c.kept["rows"][0]
            return np.stack([_along(of(a, w), v) for a, v in zip(rows, (t, t * 0.5), strict=True)])

        return want

    def block(of: Callable) -> Callable:
        def want() -> np.ndarray:
            parts = [of(a, w) for a in c.kept["rows"][0]]
            rank = parts[0].ndim - X.ndim + 1
            full = np.zeros((2, *parts[0].shape[:rank], 2, *parts[0].shape[rank:]))
            for i, part in enumerate(parts):
                full[(i, *(slice(None),) * rank, i)] = part
            return full

        return want

    last, XL = (-1, None), X.movedim(0, -1).contiguous()  # elements between each other
    many = F.vmap(f, in_dims=one)
    total = F.vmap(s, in_dims=one)
    return {
        "vmap": (lambda: many(X, w), loop(c.value)),
        "vmap both": (lambda: F.vmap(f)(X, W), both(c.value)),
        "vmap last": (
            lambda: F.vmap(f, in_dims=last, out_dims=-1)(XL, w).movedim(-1, 0), loop(c.value)
        ),
        "vmap grad last": (lambda: F.vmap(F.grad(s), in_dims=last)(XL, w), loop(c.gradient)),
        "vmap jacfwd last": (lambda: F.vmap(F.jacfwd(f), in_dims=last)(XL, w), loop(c.jacobian)),
        "vmap hessian last": (lambda: F.vmap(F.hessian(s), in_dims=last)(XL, w), loop(c.hessian)),
        "vmap chunks": (
            lambda: F.vmap(lambda d: f(d["x"][0], w), chunk_size=1)({"x": (X,)}), loop(c.value)
        ),
        "grad vmap last": (
            lambda: F.grad(lambda X: F.vmap(s, in_dims=last)(X, w).sum())(XL).movedim(-1, 0),
            loop(c.gradient),
        ),
        "vmap grad": (lambda: F.vmap(F.grad(s), in_dims=one)(X, w), loop(c.gradient)),
        "vmap grad both": (lambda: F.vmap(F.grad(s))(X, W), both(c.gradient)),
        "vmap jacrev": (lambda: F.vmap(F.jacrev(f), in_dims=one)(X, w), loop(c.jacobian)),
        "vmap jacrev chunks": (
            lambda: F.vmap(F.jacrev(f, chunk_size=2), in_dims=one, chunk_size=1)(X, w),
            loop(c.jacobian),
        ),
        "vmap linearize": (
            lambda: F.vmap(lambda a, v: F.linearize(at(f), a)[1](v))(X, T), pushed(c.jacobian)
        ),
        "pull of many": (
            lambda: F.vmap(F.vjp(at(s), x)[1])(torch.ones(2, dtype=torch.float64))[0],
            lambda: np.stack([c.gradient(x, w)] * 2),
        ),
        "vmap jacfwd": (lambda: F.vmap(F.jacfwd(f), in_dims=one)(X, w), loop(c.jacobian)),
        "vmap hessian": (lambda: F.vmap(F.hessian(s), in_dims=one)(X, w), loop(c.hessian)),
        "vmap jvp": (
            lambda: F.vmap(lambda a, v: F.jvp(at(f), (a,), (v,))[1])(X, T), pushed(c.jacobian)
        ),
        "vmap jvp one tangent": (
            lambda: F.vmap(lambda a: F.jvp(at(f), (a,), (t,))[1])(X),
            lambda: np.stack([_along(c.jacobian(a, w), t) for a in c.kept["rows"][0]]),
        ),
        "grad vmap": (
            lambda: F.grad(lambda X: total(X, w).sum())(X), loop(c.gradient)
        ),
        "jvp vmap": (lambda: F.jvp(lambda X: many(X, w), (X,), (T,))[1], pushed(c.jacobian)),
        "jacrev vmap": (lambda: F.jacrev(lambda X: many(X, w))(X), block(c.jacobian)),
        "jacfwd vmap": (lambda: F.jacfwd(lambda X: many(X, w))(X), block(c.jacobian)),
        "vmap vmap": (
            lambda: F.vmap(F.vmap(f, in_dims=one), in_dims=one)(XX, w), twice(c.value)
        ),
        "vmap vmap grad": (
            lambda: F.vmap(F.vmap(F.grad(s), in_dims=one), in_dims=one)(XX, w), twice(c.gradient)
        ),
        "vmap grad vmap": (
            lambda: F.vmap(F.grad(lambda X: total(X, w).sum()))(XX), twice(c.gradient)
        ),
        "vmap jvp grad": (
            lambda: F.vmap(lambda a, v: F.jvp(F.grad(at(s)), (a,), (v,))[1])(X, T),
            pushed(c.hessian),
        ),
        "jvp vmap grad": (
            lambda: F.jvp(F.vmap(F.grad(at(s))), (X,), (T,))[1], pushed(c.hessian)
        ),
        "vmap w": (
            lambda: F.vmap(lambda b: f(c.x, b))(W),
            lambda: np.stack([c.value(c.x, b) for b in c.kept["rows"][1]]),
        ),
        "backward through vmap": (lambda: _plainly(c, total, X, w), loop(c.gradient)),
    }  # fmt: skip


def _plainly(c: Case, total: Callable, X: Any, w: Any) -> Any:
    leaf = c.leaf(X)
    out = total(leaf, w).sum()
    if not out.requires_grad:
        return c.torch.zeros_like(X)
    (g,) = c.torch.autograd.grad(out, leaf, allow_unused=True)
    return c.torch.zeros_like(X) if g is None else g


def transforms(c: Case) -> dict[str, tuple[Callable, Callable]]:
    """Every transform by name: what computes it, and what loops over plain backward say."""
    return {**_first(c), **_mapped(c)}


def refuses(function: Function, name: str) -> bool:
    """Whether the transform of this name refuses the function: a vmap of what mixes."""
    if "vmap" not in name or name == "functional jacobian vectorize":
        return False
    over = {"vmap both": "both", "vmap grad both": "both", "vmap w": "w"}.get(name, "x")
    return over in function.mixes


def plain_fault(c: Case) -> str | None:
    """What plain backward raises of this function, which then shows nothing; None where it runs."""
    try:
        c.hessian(c.x, c.w)
        c.jacobian(c.x, c.w)
    except (RuntimeError, IndexError, TypeError, ValueError) as fault:
        return f"{type(fault).__name__}: {str(fault)[:160]}"
    return None


def differs(found: Any, want: np.ndarray) -> bool:
    """Whether a result is not what the loops give."""
    array = _numpy(found)
    if array.shape != want.shape:
        return True
    if not want.size:
        return False
    big = np.abs(want) > 1e8  # writes that square their target over and over
    found, want = np.where(big, 0, array), np.where(big, 0, want)
    return not np.allclose(found, want, rtol=1e-7, atol=1e-9, equal_nan=True)
