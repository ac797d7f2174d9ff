"""Random programs with loops, branches and functions, for comparing the two runners."""

from __future__ import annotations

import random

FUNCTIONS = ("sin", "cos", "tanh", "atan", "exp", "abs", "sqrt")
"""What is called; exp and sqrt on arguments that are brought into their range."""


class Writer:
    """Writes one random program of the variables x and y (numbers) and w (a vector)."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.tensors = ["x", "y", "a", "b"]
        self.numbers = ["t", "n"]
        self.counters: list[str] = []
        self.functions: list[str] = []
        self.made = 0

    def text(self) -> str:
        """The program."""
        for _ in range(self.rng.randint(0, 2)):
            self.function()
        self.lines += ["a = x * y", "b = y + 0.5", "t = 0.25", "n = 1", "path = 0", "total = 0.0",
                       "z = zeros(4)"]  # fmt: skip
        self.block(1, "", 3, loop=False)
        self.lines.append("a + 0.5 * sin(b) + 0.001 * (path % 1000) + 0.01 * t + total + z.sum()")
        return "\n".join(self.lines) + "\n"

    def function(self) -> None:
        name = f"f{len(self.functions)}"
        rng = self.rng
        kind = rng.randint(0, 2)
        if kind == 0:
            self.lines += [f"def {name}(u, v=0.5):", f"    return {self.of('u', 'v')}"]
        elif kind == 1:
            self.lines += [
                f"def {name}(u, v=0.5):", f"    if u > {rng.uniform(-1, 1):.2f}:",
                f"        return {self.of('u', 'v')}", f"    return {self.of('v', 'u')}",
            ]  # fmt: skip
        else:
            self.lines += [
                f"def {name}(u, v=0.5):", f"    for k in range({rng.randint(1, 4)}):",
                f"        u = {self.of('u', 'v')}",
                f"        if u < {rng.uniform(-1, 0.5):.2f}:", "            return u * v",
                "    return u",
            ]  # fmt: skip
        self.functions.append(name)

    def of(self, u: str, v: str) -> str:
        rng = self.rng
        return rng.choice((
            f"sin({u} * {v}) + {u} / 3", f"tanh({u} - {v})", f"cos({u}) * {v}",
            f"{u} / (1.5 + {v} ** 2)", f"exp(-{u} ** 2) + {v} / 2",
        ))  # fmt: skip

    def tensor(self) -> str:
        return self.rng.choice(self.tensors)

    def number(self) -> str:
        rng = self.rng
        pool = [f"{rng.uniform(-2, 2):.3f}", str(rng.randint(1, 3)), *self.numbers, *self.counters]
        return rng.choice(pool)

    def expression(self) -> str:
        """A tensor expression whose value stays of moderate size."""
        rng = self.rng
        a, b, c = self.tensor(), self.tensor(), self.number()
        kind = rng.randint(0, 13)
        if kind == 0 and self.functions:
            return f"{rng.choice(self.functions)}({a}, {b})"
        if kind == 1 and self.functions:
            return f"{rng.choice(self.functions)}({a})"
        if kind == 2 and self.counters:
            return f"w[{rng.choice(self.counters)} % 4] * sin({a})"
        if kind == 3:
            return f"w[{rng.randint(-4, 3)}] + tanh({a} * {b})"
        if kind == 4:
            return f"({a} if {a} > {b} else sin({b}) * {c})"
        if kind == 5:
            return f"sqrt(1 + {a} * {a}) - {b} / 2"
        if kind == 6:
            return f"max(sin({a}), {b} / (1 + {b} * {b}))"
        if kind == 7:
            return f"exp(-abs({a})) * {c}"
        return rng.choice((
            f"sin({a} + {c} * {b})", f"tanh({a}) * {c} - {b} / 4", f"{a} / (2 + {b} * {b})",
            f"cos({a} * {b}) + 0.1 * {c}", f"atan({a} - {b}) ** 2", f"-{a} / 2 + sin({b})",
        ))  # fmt: skip

    def test(self) -> str:
        rng = self.rng
        one = rng.choice((
            f"{self.tensor()} > {rng.uniform(-1, 1):.3f}", f"{self.tensor()} < {self.tensor()}",
            f"{self.number()} < {self.number()}", f"abs({self.tensor()}) <= 0.7",
            f"not {self.tensor()} > 0",
            *([f"{rng.choice(self.counters)} % 2 == 0"] if self.counters else []),
        ))  # fmt: skip
        if rng.random() < 0.2:
            return f"{one} {rng.choice(('and', 'or'))} {self.tensor()} > {rng.uniform(-1, 1):.2f}"
        return one

    def block(self, depth: int, pad: str, most: int, loop: bool) -> None:
        for _ in range(self.rng.randint(1, most)):
            self.statement(depth, pad, loop)

    def statement(self, depth: int, pad: str, loop: bool) -> None:
        rng = self.rng
        say = self.lines.append
        kind = rng.randint(0, 16)
        if depth < 4 and kind in (0, 1, 2):
            return self.branch(depth, pad, loop)
        if depth < 4 and kind in (3, 4, 5):
            return self.loop(depth, pad)
        if loop and kind == 6:
            say(f"{pad}if {self.test()}:")
            say(f"{pad}    path = path + {rng.randint(1, 50)}")
            say(f"{pad}    {rng.choice(('break', 'continue'))}")
            return None
        if kind == 7:
            say(f"{pad}t = {rng.choice(('t * 0.5 + 0.1', 't + 0.125', 'sin(t) + 0.3'))}")
        elif kind == 8:
            say(f"{pad}t {rng.choice('+-')}= 0.0625")
        elif kind == 9:
            say(f"{pad}n = {rng.choice(('n % 4 + 1', 'n % 3 + 1', '1'))}")
        elif kind == 10:
            say(f"{pad}total += 0.1 * {self.expression()}")
        elif kind == 11:
            say(f"{pad}a, b = b, {self.expression()}")
        elif kind == 12:
            say(f"{pad}a = sin({self.expression()})")
            say(f"{pad}a *= {rng.uniform(0.2, 1):.2f}" if rng.random() < 0.3 else f"{pad}b = a")
        elif kind == 13:
            place = f"{rng.choice(self.counters)} % 4" if self.counters else rng.randint(-4, 3)
            say(f"{pad}z[{place}] {rng.choice(('', '', '+', '-'))}= {self.expression()}")
            if rng.random() < 0.5:
                say(f"{pad}a = 0.5 * a + z[{rng.randint(-4, 3)}] / 4")
        else:
            target = rng.choice(("a", "b"))
            say(f"{pad}{target} = {self.expression()}")
        return None

    def branch(self, depth: int, pad: str, loop: bool) -> None:
        say, rng = self.lines.append, self.rng
        say(f"{pad}if {self.test()}:")
        say(f"{pad}    path = path * 3 % 1009 + {rng.randint(1, 9)}")
        self.block(depth + 1, pad + "    ", 2, loop)
        if rng.random() < 0.3:
            say(f"{pad}elif {self.test()}:")
            self.block(depth + 1, pad + "    ", 2, loop)
        if rng.random() < 0.6:
            say(f"{pad}else:")
            say(f"{pad}    path = path * 2 % 1009 + 1")
            self.block(depth + 1, pad + "    ", 2, loop)

    def loop(self, depth: int, pad: str) -> None:
        say, rng = self.lines.append, self.rng
        self.made += 1
        name = f"i{self.made}"
        if rng.random() < 0.6:
            over = rng.choice((str(rng.randint(1, 5)), "n", f"1, {rng.randint(2, 6)}", "7, 1, -2"))
            say(f"{pad}for {name} in range({over}):")
            self.counters.append(name)
            self.block(depth + 1, pad + "    ", 3, True)
            self.counters.pop()
            return
        say(f"{pad}{name} = 0")
        extra = f" and ({self.test()})" if rng.random() < 0.5 else ""
        say(f"{pad}while {name} < {rng.randint(1, 5)}{extra}:")
        say(f"{pad}    {name} = {name} + 1")
        self.block(depth + 1, pad + "    ", 3, True)
