"""Random programs on tensors, for a comparison with PyTorch: ``program(seed)`` is one's text.

A program makes a few leaves, computes with them (arithmetic, functions, reductions, views, pieces,
picks, writes in place, custom Functions, detached and unrecorded parts, branches, loops), hangs
hooks on some results and runs backward in one of several ways, printing as it goes. Numbers are
multiples of 1/4, and values are kept near 1, so that hardly a printed digit hangs on the order of a
sum.

Left out is what PyTorch gives no meaning. A write in place that would spread a part of its own
target over it reads a copy: what PyTorch reads after it wrote hangs on the processor's vectors.
Entries that share memory are not written to by a mask or all at once: PyTorch warns of it, and its
own backward fails. A piece of a tensor has no hook, which gets None where another piece alone has a
gradient; a tensor with pieces is not written to: PyTorch then refuses to read them, gradcli to
differentiate them. A leaf that is switched off or on has no views: PyTorch finds their
place in the graph anew, but only once they are asked for it.

Left out too is what cancels to rounding, or has more digits than float32: two products of matrices
in a row, third derivatives but of float64.

Nothing here imports gradcli or PyTorch.
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
        self.repeated: set[str] = set()  # entries of these may share memory
        self.products: set[str] = set()  # what products of matrices made, and what they led to
        self.pieces_of: set[str] = set()  # memory that was cut in pieces
        self.siblings: set[str] = set()  # the pieces
        self.switched: set[str] = set()  # leaves whose requires_grad was set anew
        self.double = self.rng.random() < 0.25  # all leaves are
        self.custom = 0  # how many Functions there are
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
        root = self.memory.get(source, source)
        if root in self.switched:
            return self.fresh(f"{text}.clone()", shape)
        name = self.fresh(text, shape)
        self.memory[name] = root
        if source in self.repeated or ".expand(" in text:
            self.repeated.add(name)
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
        if self.double:
            dtype = ", dtype=torch.float64"
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
        fits = [n for n in fits if n not in self.products]
        if fits and shape and x not in self.products:
            y = self.rng.choice(fits)
            both = (*shape[:-1], *self.shapes[y][1:])
            # Element types must agree in a product.
            self.products.add(self.fresh(f"{x}.float() @ {y}.float()", both))

    def join(self) -> None:
        x = self.pick(1, 2)
        shape = self.shapes[x]
        if not shape:
            return
        alike = [n for n, s in self.shapes.items() if s == shape]
        y = self.rng.choice(alike)
        text, made = self.rng.choice(
            ((f"torch.cat([{x}, {y}])", (2 * shape[0], *shape[1:])),
             (f"torch.cat([{x}, {y}], dim=-1)", (*shape[:-1], 2 * shape[-1])),
             (f"{x}.roll(1, 0)", shape), (f"{x}.repeat(2, *[1] * {len(shape) - 1})",
                                          (2 * shape[0], *shape[1:])))
        )  # fmt: skip
        if len(shape) == 1 and self.rng.random() < 0.5:
            text, made = f"torch.stack([{x}, {y}])", (2, *shape)
        if max(made) <= 6:
            self.fresh(text, made)

    def pieces(self) -> None:
        """What split, chunk and unbind give; sometimes PyTorch's refusal to write to one."""
        x = self.pick(1, 2)
        shape = self.shapes[x]
        memory = self.memory.get(x, x)
        if not shape or shape[0] < 2 or memory in self.pieces_of | self.switched:
            return
        a, b = f"v{len(self.shapes)}", f"v{len(self.shapes) + 1}"
        first, rest = (1, *shape[1:]), (shape[0] - 1, *shape[1:])
        text, made, last = self.rng.choice(
            ((f"{x}.split([1, {shape[0] - 1}])", first, rest),
             (f"torch.split({x}, {shape[0] - 1})", rest, first),
             (f"{x}.unbind()[:2]", shape[1:], shape[1:]),
             (f"{x}.tensor_split([1])", first, rest))
        )  # fmt: skip
        if shape[0] == 2 and self.rng.random() < 0.5:
            text, made, last = f"{x}.chunk(2)", first, first
        self.write(f"{a}, {b} = {text}")
        self.pieces_of.add(memory)
        self.siblings |= {a, b}
        for name, size in ((a, made), (b, last)):
            self.shapes[name] = size
            self.memory[name] = memory
            if x in self.repeated:
                self.repeated.add(name)
        if self.rng.random() < 0.4:
            self.guarded(self.rng.choice((f"{a}.mul_(2)", f"{b} += 1")))
            self.write(f"print({a}, {b})")

    def select(self) -> None:
        """Entries by index or mask, and their places written over in a new tensor.

        What PyTorch saves whole though no derivative needs it (gather's input) is a new tensor.
        """
        x = self.pick(1, 2)
        shape = self.shapes[x]
        if not shape or not shape[0]:
            return
        n = shape[0]
        places = [self.rng.randrange(n) for _ in range(2)]
        rest = shape[1:]
        along = f"torch.tensor({[[p] * rest[0] for p in places] if rest else places})"
        text, made = self.rng.choice(
            ((f"{x}.index_select(0, torch.tensor({places}))", (2, *rest)),
             (f"{x}[torch.tensor({places})]", (2, *rest)), (f"{x}[{places}]", (2, *rest)),
             (f"({x} * 1).gather(0, {along})", (2, *rest)),
             (f"torch.take_along_dim({x} + 0, {along}, 0)", (2, *rest)),
             (f"{x}.masked_fill({x} > 0, 0.5)", shape), (f"{x}.where({x} > 0, -{x})", shape),
             (f"torch.where({x} < 0, {x}, 0.5)", shape), (f"{x}.narrow(0, 0, 1)", (1, *rest)),
             (f"{x}.index_fill(0, torch.tensor([{places[0]}]), 0.5)", shape),
             (f"{x}.sort(0).values", shape), (f"{x}.topk(1, 0).values", (1, *rest)),
             (f"{x}[{x} > 0].sum()", ()), (f"({x} / 2).masked_select({x} > -1).sum()", ()),
             (f"{x}.min(0)[0]", rest), (f"{x}.max()", ()), (f"{x}.min()", ()),
             (f"{x}.prod(0)", rest), (f"{x}.diff(dim=0)", (n - 1, *rest)))
        )  # fmt: skip
        if 0 in made:
            return
        if ".narrow(" in text:
            self.shared(text, made, x)
        else:
            self.fresh(text, made)

    def in_place(self) -> None:
        free = [n for n in self.shapes if n not in self.fixed
                and self.memory.get(n, n) not in self.pieces_of | self.switched]  # fmt: skip
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
                 "{x}.clamp_(-1, 1)", "{x}.div_(2)", "{x}.neg_()"]  # fmt: skip
        if x not in self.repeated:
            forms += ["{x}.zero_()", "{x}.copy_({y})", "{x}.fill_({k})",
                      "{x}.masked_fill_({x} > 0, {k})"]  # fmt: skip
        if shape:
            forms += ["{x}[0] = {k}", "{x}[-1] *= 2", "{x}[:1] += 1"]
            if x not in self.repeated:
                forms.append("{x}[{x} > 1] = 0")
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

    def detached(self) -> None:
        """A result cut from its graph in place, or a leaf made of a result."""
        x = self.pick()
        name = self.fresh(f"{x} * 2", self.shapes[x])
        if self.rng.random() < 0.5:
            self.guarded(f"{name}.detach_()")
        else:
            self.write(f"{name} = {name}.detach().requires_grad_()")
            self.leaves.append(name)
        self.fixed.add(name)
        self.write(f"print({name}.requires_grad, {name}.is_leaf)")

    def toggled(self) -> None:
        """A leaf that stops asking for a gradient, or begins to."""
        whole = [x for x in self.leaves if x not in self.memory.values()]
        if not whole:
            return
        x = self.rng.choice(whole)
        self.switched.add(x)
        flag = self.rng.choice(("True", "False"))
        self.write(self.rng.choice((f"{x}.requires_grad_({flag})", f"{x}.requires_grad = {flag}")))

    def moded(self) -> None:
        """A part that is recorded or not by a switch."""
        x = self.pick()
        name = f"v{len(self.shapes)}"
        k = self.rng.choice((2, 0.5, -1))
        how = self.rng.choice(("torch.set_grad_enabled(False)", "torch.set_grad_enabled(True)",
                               "torch.enable_grad()", "torch.no_grad()"))  # fmt: skip
        self.write(f"with {how}:", f"    {name} = {x} * {k}")
        self.shapes[name] = self.shapes[x]
        self.write(f"print({name}.requires_grad)")

    def called(self) -> None:
        """A nested function, or a closure over a tensor."""
        x, y = self.pick(), self.pick()
        if not _joined_is(self.shapes[x], self.shapes[y]):
            y = x
        body = self.rng.choice(("a * b + 1", "(a - b).abs()", "torch.maximum(a, b).neg()",
                                "inner(a) + b"))  # fmt: skip
        name = f"v{len(self.shapes)}"
        self.write("def outer(a, b):", "    def inner(c):", "        return c.tanh() * a",
                   f"    return {body}", f"{name} = outer({x}, {y})")  # fmt: skip
        self.shapes[name] = self.shapes[x]

    def repeat(self) -> None:
        """A loop whose end hangs on a value."""
        x = self.pick()
        name = self.fresh(f"{x} * 1", self.shapes[x])
        self.write("n = 0", f"while {name}.abs().sum() < 3 and n < 4:",
                   f"    {name} = {name} * 2 + 0.25", "    n += 1", "print(n)")  # fmt: skip

    def own(self) -> None:
        """A Function with ctx, applied."""
        x = self.pick()
        self.custom += 1
        kept, back = self.rng.choice(
            (("ctx.save_for_backward(a)", "(a,) = ctx.saved_tensors\n        return g * a * 2"),
             ("ctx.k = k", "return g * ctx.k"),
             ("ctx.save_for_backward(a)", "print(len(ctx.saved_tensors), ctx.needs_input_grad)\n"
              "        return g * 3"))
        )  # fmt: skip
        lines = f"class F{self.custom}(torch.autograd.Function):\n    @staticmethod\n" \
                f"    def forward(ctx, a, k):\n        {kept}\n        return a * k\n" \
                f"    @staticmethod\n    def backward(ctx, g):\n        {back}, None"  # fmt: skip
        self.write(*lines.split("\n"))
        self.fresh(f"F{self.custom}.apply({x}, {self.rng.choice((2, 0.5))})", self.shapes[x])

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
        if x in self.siblings:
            return
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

    def post_hook(self) -> None:
        x = self.rng.choice(self.leaves)
        self.write(f"if {x}.requires_grad and {x}.is_leaf:",
                   f"    {x}.register_post_accumulate_grad_hook(lambda t: print('{x} has', t.grad))"
                   )  # fmt: skip

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
        kind = self.rng.randrange(9)
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
        elif kind == 5:  # the second time the graph may be gone
            self.guarded(f"{x}.sum().backward()", "print('once')", f"{x}.sum().backward()")
        elif kind == 6:
            self.guarded(f"y = ({x} * {x}).sum()", "y.backward()", "print('once')", "y.backward()")
        elif kind == 7 and self.double:
            first = self.leaves[-1]
            self.guarded(
                f"y = ({x} * {x} * {x}).sum()",
                f"(g,) = torch.autograd.grad(y, {first}, create_graph=True)",
                f"(h,) = torch.autograd.grad(g.sum() + 0 * {first}.sum(), {first},",
                "           create_graph=True)",
                "print(g.detach(), h.detach())",
                "h.sum().backward()",
            )
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
        + [p.join, p.pieces, p.pieces, p.select, p.select, p.detached, p.toggled, p.moded]
        + [p.called, p.repeat, p.own, p.post_hook]
    )  # fmt: skip
    for _ in range(p.rng.randrange(5, 14)):
        p.rng.choice(steps)()
    for _ in range(p.rng.randrange(1, 3)):
        p.backward()
    return "\n".join(p.lines) + "\n"
