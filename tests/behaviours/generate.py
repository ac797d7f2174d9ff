"""Random programs on tensors, for a comparison with PyTorch: ``program(seed)`` is one's text.

A program makes a few leaves, computes with them (arithmetic, functions, reductions, views, writes
in place, detached and unrecorded parts, branches, loops), hangs hooks on some results and runs
backward in one of several ways, printing as it goes. Numbers are multiples of 1/4, and values are
kept near 1, so that hardly a printed digit hangs on the order of a sum. A write in place that would
spread a part of its own target over it reads a copy: PyTorch gives such a write no meaning (what it
reads after it wrote hangs on the processor's vectors). Nothing here imports gradcli or PyTorch.
"""

from __future__ import annotations

import random

SHAPES = ((), (2,), (3,), (2, 3), (2, 2))
UNARY = ("sin", "cos", "tanh", "sigmoid", "abs", "log1p", "exp", "square", "neg", "atan")


class _Program:
    """One program as it grows: its lines, and the shape of each name."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.leaves: list[str] = []
        self.fixed: set[str] = set()  # names that no write in place may touch
        self.memory: dict[str, str] = {}  # of a view: the name whose memory it may share
        self.depth = ""

    def write(self, *lines: str) -> None:
        self.lines += [f"{self.depth}{line}" for line in lines]

    def guarded(self, *lines: str) -> None:
        """Lines of which one may raise: what is raised is printed by its kind."""
        self.write("try:", *(f"    {line}" for line in lines), "except RuntimeError:",
                   "    print('RuntimeError')")  # fmt: skip

    def fresh(self, text: str, shape: tuple[int, ...]) -> str:
        name = f"v{len(self.shapes)}"
        self.write(f"{name} = {text}")
        self.shapes[name] = shape
        return name

    def shared(self, text: str, shape: tuple[int, ...], source: str) -> str:
        """A fresh name for what may lie in the memory of ``source``."""
        name = self.fresh(text, shape)
        self.memory[name] = self.memory.get(source, source)
        return name

    def pick(self, *ranks: int) -> str:
        names = [n for n, s in self.shapes.items() if not ranks or len(s) in ranks]
        return self.rng.choice(names[-6:] or list(self.shapes))

    def numbers(self, shape: tuple[int, ...]) -> str:
        if not shape:
            return str(self.rng.randrange(-8, 9) / 4)
        return "[" + ", ".join(self.numbers(shape[1:]) for _ in range(shape[0])) + "]"

    # ---- Statements -----------------------------------------------------------------------------

    def leaf(self, wanted: bool) -> None:
        shape = self.rng.choice(SHAPES)
        dtype = self.rng.choice(("", "", "", ", dtype=torch.float64"))
        name = f"v{len(self.shapes)}"
        grad = ", requires_grad=True" if wanted else ""
        self.write(f"{name} = torch.tensor({self.numbers(shape)}{dtype}{grad})")
        self.shapes[name] = shape
        self.fixed.add(name)
        if wanted:
            self.leaves.append(name)

    def arithmetic(self) -> None:
        x = self.pick()
        fits = [n for n, s in self.shapes.items() if _fits(self.shapes[x], s)]
        y = self.rng.choice(fits)
        shape = _joined(self.shapes[x], self.shapes[y])
        form = self.rng.choice(
            ("{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / ({y} * {y} + 1)", "{k} * {x}",
             "{x} + {k}",
             "{k} - {x}", "{x} / 2", "{x}**2", "torch.maximum({x}, {y})", "{x} * {x}",
             "torch.where({x} > {y}, {x}, {y})", "torch.add({x}, {y}, alpha=2)", "-{x}",
             "torch.lerp({x}, {x} * 2, 0.5)", "{x}.clamp(-1, 1)")
        )  # fmt: skip
        if "{y}" not in form:
            shape = self.shapes[x]
        self.fresh(form.format(x=x, y=y, k=self.rng.choice((2, 0.5, -1, 3))), shape)

    def function(self) -> None:
        x = self.pick()
        name = self.rng.choice(UNARY)
        held = f"{x}.clamp(-1, 1)" if name in ("exp", "square", "tanh") else x
        if name == "log1p":
            held = f"({x} * {x})"
        text = self.rng.choice((f"torch.{name}({held})", f"{held}.{name}()"))
        self.fresh(text, self.shapes[x])

    def reduction(self) -> None:
        x = self.pick(1, 2)
        shape = self.shapes[x]
        name = self.rng.choice(("sum", "mean", "amax", "amin", "cumsum", "max", "logsumexp"))
        if not shape:
            name = "sum"
        dim = self.rng.randrange(len(shape)) if shape else 0
        rest = (*shape[:dim], *shape[dim + 1 :])
        if name == "cumsum":
            self.fresh(f"{x}.{name}({dim})", shape)
        elif name == "max":
            self.fresh(f"{x}.max({dim}).values" if shape else f"{x}.max()", rest)
        elif name == "logsumexp" or (shape and self.rng.random() < 0.6):
            self.fresh(f"{x}.{name}(dim={dim})", rest)
        else:
            self.fresh(f"{x}.{name}()", ())

    def view(self) -> None:
        x = self.pick(1, 2)
        shape = self.shapes[x]
        if not shape:
            self.shared(f"{x}.reshape(1, 1)", (1, 1), x)
        elif len(shape) == 1:
            n = shape[0]
            text, made = self.rng.choice(
                ((f"{x}[0]", ()), (f"{x}[:1]", (1,)), (f"{x}.view({n}, 1)", (n, 1)),
                 (f"{x}[1:]", (n - 1,)), (f"{x}.unsqueeze(0)", (1, n)), (f"{x}.flip(0)", (n,)),
                 (f"{x}.expand(2, {n})", (2, n)), (f"{x}[-1]", ()))
            )  # fmt: skip
            self.shared(text, made, x)
        else:
            m, n = shape
            text, made = self.rng.choice(
                ((f"{x}[0]", (n,)), (f"{x}[:, -1]", (m,)), (f"{x}.t()", (n, m)),
                 (f"{x}.reshape({m * n})", (m * n,)), (f"{x}.transpose(0, 1)", (n, m)),
                 (f"{x}.flatten()", (m * n,)), (f"{x}[:, :1]", (m, 1)),
                 (f"{x}.T.reshape(-1)", (m * n,)))
            )  # fmt: skip
            self.shared(text, made, x)

    def product(self) -> None:
        x = self.pick(1, 2)
        shape = self.shapes[x]
        fits = [n for n, s in self.shapes.items()
                if s and shape and s[0] == shape[-1] and len(s) <= 2]  # fmt: skip
        if fits and shape:
            y = self.rng.choice(fits)
            both = (*shape[:-1], *self.shapes[y][1:])
            # Element types must agree in a product.
            self.fresh(f"{x}.float() @ {y}.float()", both)

    def in_place(self) -> None:
        free = [n for n in self.shapes if n not in self.fixed]
        if not free or self.rng.random() < 0.3:
            source = self.pick()
            free = [self.fresh(f"{source} * 1", self.shapes[source])]
        x = self.rng.choice(free[-4:])
        shape = self.shapes[x]
        fits = [n for n, s in self.shapes.items() if _joined_is(shape, s)]
        y = self.rng.choice(fits)
        memory = self.memory.get
        if self.shapes[y] != shape and memory(y, y) == memory(x, x):
            y = f"{y}.clone()"
        forms = ["{x} += {k}", "{x}.mul_({k})", "{x}.add_({y})", "{x} *= {y}", "{x}.sub_({y})",
                 "{x}.zero_()", "{x}.copy_({y})"]  # fmt: skip
        if shape:
            forms += ["{x}[0] = {k}", "{x}[-1] *= 2", "{x}[{x} > 1] = 0", "{x}[:1] += 1"]
        form = self.rng.choice(forms)
        self.guarded(form.format(x=x, y=y, k=self.rng.choice((2, 0.5, -1))))
        self.write(f"print({x})")

    def outside(self) -> None:
        x = self.pick()
        name = f"v{len(self.shapes)}"
        kind = self.rng.randrange(3)
        if kind == 0:
            self.shared(f"{x}.detach()", self.shapes[x], x)
            self.fixed.add(name)
        elif kind == 1:
            self.write("with torch.no_grad():", f"    {name} = {x} * 2 + 1", f"print({name})")
            self.shapes[name] = self.shapes[x]
        else:
            self.fresh(f"{x}.clone()", self.shapes[x])

    def branch(self) -> None:
        x = self.pick()
        name = f"v{len(self.shapes)}"
        k = self.rng.choice((0, 1, -1))
        self.write(
            f"if {x}.sum() > {k}:", f"    {name} = {x} * 2", "else:", f"    {name} = 1 - {x}"
        )
        self.shapes[name] = self.shapes[x]

    def loop(self) -> None:
        x, y = self.pick(), self.pick()
        while not _joined_is(self.shapes[x], self.shapes[y]):
            y = x
        name = f"v{len(self.shapes)}"
        self.write(f"{name} = {x} * 1", f"for i in range({self.rng.randrange(1, 4)}):",
                   f"    {name} = {name} * 0.5 + i * {y}")  # fmt: skip
        self.shapes[name] = self.shapes[x]

    def hook(self) -> None:
        x = self.pick()
        change = self.rng.choice(
            (
                "print('{x}', g.detach())",
                "print('{x}', g.shape)",
                "g * 2",
                "print('{x}', g.detach() * 2)",
            )
        )
        self.write(f"if {x}.requires_grad:",
                   f"    {x}.register_hook(lambda g: {change.format(x=x)})")  # fmt: skip
        self.fixed.add(x)

    def keep(self) -> None:
        x = self.pick()
        self.write(f"if {x}.requires_grad:", f"    {x}.retain_grad()")
        self.fixed.add(x)

    def show(self) -> None:
        x = self.pick()
        self.write(self.rng.choice(
            (f"print({x})", f"print({x}.requires_grad, {x}.is_leaf, {x}.shape)",
             f"print({x}.grad_fn)", f"print(f'{{{x}.sum().item():.4f}}', {x}.dtype)")
        ))  # fmt: skip

    def backward(self) -> None:
        x = self.pick()
        shape = self.shapes[x]
        kind = self.rng.randrange(6)
        wanted = ", ".join(self.leaves)
        weight = f"torch.ones({shape}, dtype={x}.dtype)"
        if kind == 0:
            self.guarded(f"{x}.backward({weight}, retain_graph=True)")
        elif kind == 1:
            self.guarded(f"(({x} * {x}).sum() / 2).backward(retain_graph=True)")
        elif kind == 2:
            self.guarded(
                f"print(torch.autograd.grad({x}.sum(), [{wanted}], allow_unused=True,",
                "      retain_graph=True))",
            )
        elif kind == 3:
            first = self.leaves[0]
            self.guarded(
                f"(g,) = torch.autograd.grad(({x} * {x}).sum(), {first}, create_graph=True)",
                "print(g.detach())",
                f"print(torch.autograd.grad(g.sum() + 0 * {first}.sum(), {first})[0])",
            )
        elif kind == 4:
            self.guarded(f"{x}.backward(retain_graph=True)")
        else:
            self.guarded(f"{x}.sum().backward(None, True)")
        self.grads()

    def grads(self) -> None:
        self.write(f"print({', '.join(f'{n}.grad' for n in self.leaves)})")
        if self.rng.random() < 0.3:
            n = self.rng.choice(self.leaves)
            self.write(self.rng.choice((f"{n}.grad = None", f"{n}.grad = None",
                                        f"print({n}.grad is None)")))  # fmt: skip


def _joined(a: tuple, b: tuple) -> tuple:
    rank = max(len(a), len(b))
    a, b = ((1,) * (rank - len(s)) + s for s in (a, b))
    return tuple(max(m, n) for m, n in zip(a, b, strict=True))


def _fits(a: tuple, b: tuple) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False))


def _joined_is(a: tuple, b: tuple) -> bool:
    return _fits(a, b) and _joined(a, b) == a


def program(seed: int) -> str:
    """The text of program number ``seed``; the same for the same number."""
    p = _Program(seed)
    p.leaf(True)
    for _ in range(p.rng.randrange(1, 3)):
        p.leaf(p.rng.random() < 0.8)
    steps = (
        [p.arithmetic] * 6 + [p.function] * 4 + [p.reduction] * 2 + [p.view] * 4 + [p.in_place] * 3
        + [p.outside, p.branch, p.loop, p.hook, p.hook, p.keep, p.show, p.show, p.product]
    )  # fmt: skip
    for _ in range(p.rng.randrange(5, 14)):
        p.rng.choice(steps)()
    for _ in range(p.rng.randrange(1, 3)):
        p.backward()
    return "\n".join(p.lines) + "\n"
