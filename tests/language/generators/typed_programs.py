"""Random programs that are well-typed by construction, with tensors of known shapes.

To the programs of ``programs`` come tensors of 0 to 3 dimensions, broadcasting, views and
in-place writes, closures, recursion, keyword and default arguments, custom Functions, hooks that
are removed again, passes in the middle of a program and passes through passes.
"""

# ruff: noqa: E501 (pieces of programs)

from __future__ import annotations

from tests.language.generators.programs import FLOAT, SCALAR, VECTOR, Generator

SHAPES = ((), (2,), (3,), (4,), (1, 3), (2, 3), (3, 2), (3, 1), (2, 2), (2, 3, 2), (2, 1, 3))
SMOOTH = ("sin", "cos", "tanh", "sigmoid", "exp", "square")

FUNCTIONS = """\
class {name}(Function):
    @staticmethod
    def forward(ctx, a, k):
        ctx.save_for_backward(a)
        ctx.k = k
        return a*a*k
    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return {rule}, None
"""
RULES = ("2*a*g*ctx.k", "g*ctx.k", "a.tanh()*g", "g*2 if ctx.k > 0 else g*a")


def size(shape: tuple[int, ...]) -> int:
    total = 1
    for n in shape:
        total *= n
    return total


class Typed(Generator):
    """Writes one program after another from one seed."""

    def program(self) -> str:
        self.count = 0
        self.depth = 0
        self.functions = []
        self.records: list[str] = []
        self.makers: list[str] = []
        self.scopes = [{"p": VECTOR, "q": VECTOR, "w": (2, 3), "u": ()}]
        rng = self.rng
        lines = ["w = tensor([[0.5, -1.0, 0.25], [1.5, 0.75, -0.5]], requires_grad=True)",
                 "u = tensor(0.8, requires_grad=True)"]  # fmt: skip
        for _ in range(rng.randint(0, 1)):
            lines += self.record()
        for _ in range(rng.randint(1, 2)):
            lines += rng.choice((self.function, self.maker, self.recursive))(0)
        for _ in range(rng.randint(4, 10)):
            lines += self.statement(0)
        lines += self.ending()
        names = [name for name in self.scopes[0] if name not in "pqwu"]
        rng.shuffle(names)
        lines.append(f"print({', '.join(names[:6]) or '1'})")
        return "\n".join(lines) + "\n"

    def ending(self) -> list[str]:
        """The pass at the end, sometimes a second through the first."""
        rng = self.rng
        shape = rng.choice(SHAPES)
        lines = [f"loss = {self.tensor(shape, 3)}.sum() + (p*q).sum()*0.01 + w.sum()*u"]
        pick = rng.random()
        if pick < 0.2:
            lines += ["loss.backward(create_graph=True)", "again = (p.grad*p).sum() + u.grad*u",
                      "p.grad = None", "again.backward()"]  # fmt: skip
        elif pick < 0.35:
            lines += ["loss.backward(retain_graph=True)", "loss.backward()"]
        else:
            lines.append("loss.backward()")
        return [*lines, "print(loss, p.grad, q.grad, w.grad, u.grad)"]

    # ---- Definitions -----------------------------------------------------------------------------

    def record(self) -> list[str]:
        """A custom Function."""
        self.count += 1
        name = f"F{self.count}"
        self.records.append(name)
        return FUNCTIONS.format(name=name, rule=self.rng.choice(RULES)).splitlines()

    def maker(self, depth: int) -> list[str]:
        """A function that returns a function; what it holds may be changed between calls."""
        self.count += 1
        name, rng = f"make{self.count}", self.rng
        margin = "    " * depth
        if depth == 0:
            self.makers.append(name)
        held = rng.choice(("k", "k*2", "held[0]"))
        lines = [f"def {name}(k, held=[{self.number()}]):", f"    n = {self.number()}",
                 "    def inner(v, scale=1.0):"]  # fmt: skip
        if rng.random() < 0.5:
            lines.append("        held[0] = held[0]*0.5 + 0.1")
        if rng.random() < 0.3:
            lines += [
                "        if scale > 1.5:",
                f"            return [(v + j)*n for j in range(2)][{rng.randint(0, 1)}]",
            ]
        lines += [f"        return v*{held}*0.1 + n*scale", f"    n = {self.number()}"]
        if rng.random() < 0.5:
            lines.append("    inner2 = lambda v, scale=2.0: inner(v, scale=scale*0.5)")
            lines.append("    return inner2")
        else:
            lines.append("    return inner")
        return [margin + line for line in lines]

    def recursive(self, depth: int) -> list[str]:
        """A function that calls itself a few times."""
        self.count += 1
        name, margin = f"r{self.count}", "    " * depth
        if depth == 0:
            self.functions.append((name, (FLOAT, SCALAR), SCALAR))
        return [
            margin + line
            for line in (
                f"def {name}(f, s, n={self.rng.randint(1, 4)}):",
                "    if n <= 0: return s",
                f"    return {name}(f*0.5, (s*0.9 + f).sin(), n=n - 1)*{self.number()}",
            )
        ]

    # ---- Statements ------------------------------------------------------------------------------

    def simple(self) -> list[str]:
        rng = self.rng
        if rng.random() < 0.45:
            return super().simple()
        shape = rng.choice(SHAPES)
        pick = rng.random()
        if pick < 0.30:
            value = self.tensor(shape, 3)
            return [f"{self.bind(shape)} = {value}"]
        if pick < 0.42:
            return self.written(shape)
        if pick < 0.50 and self.makers:
            value = self.tensor(shape, 2)
            call = f"{rng.choice(self.makers)}({self.number()})"
            extra = rng.choice(("", ", scale=0.5", f", {self.number()}"))
            return [f"{self.bind(shape)} = {call}({value}{extra})"]
        if pick < 0.58 and self.records:
            value = self.tensor(shape, 2)
            return [
                f"{self.bind(shape)} = {rng.choice(self.records)}.apply({value}, {self.number()})"
            ]
        if pick < 0.66:
            value = self.tensor(shape, 2)
            name = self.bind(shape)
            self.count += 1
            handle = f"h{self.count}"
            lines = [f"{name} = {value}*1 + u*0.1",
                     f"{handle} = {name}.register_hook(lambda g: g*{self.number()})"]  # fmt: skip
            if rng.random() < 0.4:
                lines.append(f"{handle}.remove()")
            return lines
        if pick < 0.74 and not self.depth:
            value = self.tensor(shape, 2)
            lines = [f"({value}*w.sum()).sum().backward()", "print(w.grad, u.grad)"]
            return lines if rng.random() < 0.5 else [*lines, "w.grad = None"]
        if pick < 0.82:
            return self.listed()
        if pick < 0.90:
            word = rng.choice(
                ("no_grad()", "enable_grad()", f"set_grad_enabled({rng.random() < 0.5})")
            )
            value = self.tensor(shape, 2)
            name = self.bind(shape)
            return [f"with {word}:", f"    {name} = {value}", f"    print({name}.requires_grad)"]
        return [f"print({self.tensor(shape, 2)}, {self.text()})"]

    def written(self, shape: tuple[int, ...]) -> list[str]:
        """A fresh tensor, and writes to it or to a view of it."""
        rng = self.rng
        value = self.tensor(shape, 2)
        name = self.bind(shape)
        lines = [f"{name} = {value}*1"]
        small = self.narrower(shape)
        lines.append(
            rng.choice(
                (
                    f"{name} {rng.choice(('+=', '-=', '*='))} {self.tensor(small, 1)}",
                    f"{name}.mul_({self.number()})",
                    f"{name}.add_({self.tensor(small, 1)})",
                    f"{name}[...] = {self.tensor(small, 1)}",
                )
            )
        )
        if shape and rng.random() < 0.6:
            at = rng.randrange(shape[0])
            inner = shape[1:]
            self.count += 1
            view = f"w{self.count}"
            lines += rng.choice(
                (
                    [f"{name}[{at}] = {self.tensor(inner, 1)}"],
                    [f"{name}[{at}] *= {self.number()}"],
                    [f"{view} = {name}[{at}]", f"{view} += {self.tensor(inner, 1)}"],
                    [f"{view} = {name}[{at}:]", f"{view}[0] = {self.number()}", f"print({view})"],
                    [f"{view} = {name}.reshape(-1)", f"{view}[-1] += {self.number()}"],
                )
            )
        return lines

    def listed(self) -> list[str]:
        """Lists that are shared, nested, cut and looped over."""
        rng = self.rng
        self.count += 1
        a, b = f"l{self.count}", f"m{self.count}"
        one, two = self.number(), self.expression(FLOAT, 1)
        return rng.choice(
            (
                [
                    f"{a} = [{one}, {two}]",
                    f"{b} = [{a}]*2",
                    f"{b}[0].append({one})",
                    f"print({b}, {a} is {b}[1])",
                ],
                [
                    f"{a} = [[i, j] for i in range(3) if i != 1 for j in range(i)]",
                    f"print({a}, len({a}))",
                ],
                [f"{a} = [{one}, {two}, 3]", f"{a}[1:] = {a}[::-1]", f"{a}[0] += 1", f"print({a})"],
                [
                    f"{a}, ({b}, z{self.count}) = {one}, ({two}, 3)",
                    f"print({a}, {b}, z{self.count})",
                ],
                [
                    f"{a} = [lambda v, i=i: v*i + {one} for i in range(3)]",
                    f"print([f({two}) for f in {a}])",
                ],
                [f"{a} = [lambda: i for i in range(3)]", f"print([f() for f in {a}])"],
                [
                    f"{a} = 0",
                    f"for i, {b} in enumerate([{one}, {two}, 2]):",
                    "    if i == 1: continue",
                    f"    {a} += {b}*i",
                    f"print({a}, i)",
                ],
                [
                    f"{a} = sorted([{one}, {two}, 0.3], reverse=True)",
                    f"{b} = {a}.pop()",
                    f"print({a}, {b}, {b} in {a}, {b} not in {a})",
                ],
                [
                    f"{a} = 'n' + str(len([{one}]))*2",
                    f"print({a}, {a}[0], f'{{{a}:>6}}|{{{one}:+.2e}}')",
                ],
                [
                    f"{a} = ({one}, {two})",
                    f"{b} = {a} + ({a},)",
                    f"print({b}, {b}[2][0], {a} == {b}[:2])",
                ],
                [
                    f"{a} = {one} if {self.truth(1)} else None",
                    f"print({a} is None, {a} is not None)",
                ],
                [f"{a} = [t.sum() for t in w]", f"{b} = stack({a})*{one}", f"print({b})"],
            )
        )

    # ---- Tensors ---------------------------------------------------------------------------------

    def expression(self, kind, depth: int) -> str:
        """A tensor of a shape, or what the plain generator knows."""
        if isinstance(kind, tuple):
            return self.tensor(kind, depth)
        if kind in (SCALAR, VECTOR) and depth > 0 and self.rng.random() < 0.2:
            return self.tensor(() if kind == SCALAR else (3,), depth - 1)
        return super().expression(kind, depth)

    def narrower(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to this one."""
        rng = self.rng
        cut = shape[rng.randint(0, len(shape)) :] if rng.random() < 0.4 else shape
        return tuple(1 if rng.random() < 0.15 else n for n in cut)

    def literal(self, shape: tuple[int, ...]) -> str:
        if not shape:
            return f"tensor({self.number()})"
        if self.rng.random() < 0.3:
            return f"full({shape}, {self.number()})"
        flat = ", ".join(self.number() for _ in range(size(shape)))
        return f"tensor([{flat}]).reshape({shape})"

    def tensor(self, shape: tuple[int, ...], depth: int) -> str:
        """An expression of exactly this shape."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.15:
            kinds = {(): (shape, SCALAR), (3,): (shape, VECTOR)}.get(shape, (shape,))
            found = [name for name in map(self.name, kinds) if name is not None]
            return rng.choice(found) if found and rng.random() < 0.8 else self.literal(shape)
        ways = [self.smooth, self.paired, self.moved, self.reduced, self.chosen]
        if shape:
            ways += [self.product, self.joined, self.cut, self.along]
        return f"({rng.choice(ways)(shape, depth - 1)})"

    def smooth(self, s: tuple[int, ...], d: int) -> str:
        rng, inner = self.rng, self.tensor(s, d)
        if rng.random() < 0.2:
            return f"-{inner}"
        name = rng.choice(SMOOTH[:4])
        return rng.choice((f"{name}({inner})", f"{inner}.{name}()", f"{inner}**2*0.3"))

    def paired(self, s: tuple[int, ...], d: int) -> str:
        rng = self.rng
        left, right = self.tensor(s, d), self.tensor(self.narrower(s), d)
        if rng.random() < 0.5:
            left, right = right, left
        op = rng.choice(("+", "-", "*", "*0.5*", "/ (3 + abs"))
        return f"{left} {op}({right})" + (")" if op.startswith("/") else "")

    def moved(self, s: tuple[int, ...], d: int) -> str:
        """The same entries in another order or shape."""
        rng = self.rng
        total = size(s)
        if len(s) == 2 and rng.random() < 0.6:
            turned = self.tensor(s[::-1], d)
            return rng.choice(
                (f"{turned}.T", f"{turned}.permute(1, 0)", f"{turned}.transpose(0, 1)")
            )
        if s and s[0] == 1 and rng.random() < 0.5:
            return rng.choice(
                (f"{self.tensor(s[1:], d)}[None]", f"{self.tensor(s[1:], d)}.unsqueeze(0)")
            )
        same = [other for other in SHAPES if size(other) == total and other != s]
        if not same:
            return f"{self.tensor(s, d)}.clone()"
        other = self.tensor(rng.choice(same), d)
        spelled = ", ".join(map(str, s)) if s and rng.random() < 0.5 else str(s)
        return f"{other}.{rng.choice(('reshape', 'view') if '.' not in other else ('reshape',))}({spelled})"

    def reduced(self, s: tuple[int, ...], d: int) -> str:
        rng = self.rng
        if len(s) < 3 and size(s) <= 12:
            at = rng.randint(0, len(s))
            larger = (*s[:at], rng.choice((2, 3)), *s[at:])
            word = rng.choice(("sum", "mean", "amax", "logsumexp"))
            dim = rng.choice((f"{at}", f"dim={at - len(larger)}"))
            return f"{self.tensor(larger, d)}.{word}({dim})"
        return f"{self.tensor(s, d)}.detach()"

    def chosen(self, s: tuple[int, ...], d: int) -> str:
        rng = self.rng
        a, b = self.tensor(s, d), self.tensor(s, d)
        return rng.choice(
            (
                f"where({a} > {self.number()}, {a}, {b})",
                f"maximum({a}, {b})",
                f"{a} if {self.truth(1)} else {b}",
                f"[{a}, {b}][{rng.randint(-2, 1)}]",
                f"(lambda v, k={self.number()}: v*k)({a})",
                f"sum([{a}, {b}])*0.5",
            )
        )

    def product(self, s: tuple[int, ...], d: int) -> str:
        rng = self.rng
        k = rng.choice((2, 3))
        if len(s) == 1:
            if rng.random() < 0.5:
                return f"{self.tensor((s[0], k), d)} @ {self.tensor((k,), d)}*0.3"
            return f"matmul({self.tensor((k,), d)}, {self.tensor((k, s[0]), d)})*0.3"
        if len(s) == 2 and rng.random() < 0.3:
            return f"outer({self.tensor(s[:1], d)}, {self.tensor(s[1:], d)})"
        left, right = (*s[:-1], k), (k, s[-1])
        if len(s) == 2 and rng.random() < 0.3:
            return f"einsum('ij,jk->ik', {self.tensor(left, d)}, {self.tensor(right, d)})*0.3"
        return f"{self.tensor(left, d)} @ {self.tensor(right, d)}*0.3"

    def joined(self, s: tuple[int, ...], d: int) -> str:
        at = self.rng.randrange(len(s))
        if s[at] >= 2:
            first = self.rng.randint(1, s[at] - 1)
            pieces = [self.tensor((*s[:at], n, *s[at + 1 :]), d) for n in (first, s[at] - first)]
            return f"cat([{', '.join(pieces)}], dim={at})"
        return f"stack([{self.tensor((*s[:at], *s[at + 1 :]), d)}], dim={at})"

    def cut(self, s: tuple[int, ...], d: int) -> str:
        """Part of something larger."""
        rng = self.rng
        more = rng.choice((1, 2))
        pick = rng.random()
        if pick < 0.4:
            low = rng.randint(0, more)
            larger = self.tensor((s[0] + more, *s[1:]), d)
            return rng.choice(
                (f"{larger}[{low}:{low + s[0]}]", f"{larger}[{low - s[0] - more}:][:{s[0]}]")
            )
        if pick < 0.6 and len(s) < 3:
            return f"{self.tensor((2, *s), d)}[{rng.choice((0, -1))}]"
        if pick < 0.8:
            rows = [rng.randrange(-2, 2) for _ in range(s[0])]
            return f"{self.tensor((2, *s[1:]), d)}[{rows}]"
        if len(s) < 3:
            return f"{self.tensor((*s, 2), d)}[..., {rng.choice((0, 1))}]"
        return f"{self.tensor(s, d)}[::1]"

    def along(self, s: tuple[int, ...], d: int) -> str:
        """What keeps the shape and runs along a dimension."""
        rng, at = self.rng, self.rng.randrange(len(s))
        inner = self.tensor(s, d)
        return rng.choice(
            (f"{inner}.flip({at})", f"cumsum({inner}, {at})*0.5", f"softmax({inner}, dim={at})",
             f"{inner}.expand({', '.join(map(str, s))})*1", f"{inner}.flip({at})*0.5")
        )  # fmt: skip
