"""Random texts: expressions and programs of the language, and soups of its tokens. Seeded."""

from __future__ import annotations

import random

BINARY = ("+", "-", "*", "/", "//", "%", "@", "**")
COMPARE = ("<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in")
AUGMENT = ("+=", "-=", "*=", "/=", "//=", "%=", "**=", "@=")
NAMES = ("x", "y", "W", "b2", "loss", "sin", "dot", "a_b", "E", "j", "rf", "match", "print")
NUMBERS = (
    "0", "1", "42", "3.5", ".5", "2.", "1e3", "1E-7", "1_000", "0xff", "0b101", "0o17", "2j",
    "1.5e2J", "00", "0.0", "1_0.2_5", "01.5", "1_0j",
)  # fmt: skip
STRINGS = (
    "'a'", '"b\\n"', "r'\\d'", "'''m\nn'''", "'it' 's'", "f'{x}'", "f'{x:.3f} {y=}'", "f''", "''",
    'f"a{{b}}{x + 1:>8d}c"', "f'{x[0]}' 'z'", "'\\x41\\u00e9\\101\\\\'",
    "f'{x!=y}{x==y=:d}'", "f'{W @ x = }'", "u'q'", "F'{x}' \"s\"", "f'''{\n x\n}'''", "rf'\\{x}'",
)  # fmt: skip
SOUP = (
    *BINARY, *COMPARE, *AUGMENT, *NAMES[:4], *NUMBERS[:4], *STRINGS[:1], "(", ")", "[", "]", ",",
    ":", ";", "=", ".", "...", "if", "else", "elif", "for", "while", "in", "lambda", "not", "and",
    "or", "return", "def", "with", "as", "pass", "import", "from", "torch", "True", "\n", "\n    ",
    "assert", "class", "Function", "f'{x}'",
)  # fmt: skip


class Writer:
    """Writes random texts from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def space(self) -> str:
        return self.rng.choice((" ", " ", "", "  "))

    def expression(self, depth: int) -> str:
        """An expression; now and then one that neither language takes."""
        pick, go = self.rng.random(), self.expression
        if depth <= 0 or pick < 0.12:
            pool = self.rng.choice((NAMES, NAMES, NUMBERS, STRINGS, ("True", "None", "...")))
            return self.rng.choice(pool)
        d = depth - 1
        if pick < 0.36:
            space = self.space()
            return f"{go(d)}{space}{self.rng.choice(BINARY)}{space}{go(d)}"
        if pick < 0.44:
            return self.rng.choice(("-", "+", "- ", "not ")) + go(d)
        if pick < 0.52:
            return f"{go(d)} {self.rng.choice(COMPARE)} {go(d)}"
        if pick < 0.60:
            return f" {self.rng.choice(('and', 'or'))} ".join(
                go(d) for _ in range(self.rng.randint(2, 3))
            )
        if pick < 0.68:
            return f"({go(d)})"
        if pick < 0.76:
            return f"{self.postfix(d)}({self.arguments(d)})"
        if pick < 0.82:
            return f"{self.postfix(d)}[{self.index(d)}]"
        if pick < 0.86:
            return f"{self.postfix(d)}.{self.rng.choice(NAMES)}"
        if pick < 0.89:
            return f"{go(d)} if {go(d)} else {go(d)}"
        if pick < 0.92:
            return f"lambda {self.parameters(d)}: {go(d)}"
        if pick < 0.95:
            items = ", ".join(go(d) for _ in range(self.rng.randint(0, 3)))
            return self.rng.choice((f"[{items}]", f"({items})", f"({items},)", f"[{items},]"))
        more = "".join(f" if {go(d)}" for _ in range(self.rng.randint(0, 2)))
        more += f" for {self.target(1)} in {go(d)}" if self.rng.random() < 0.3 else ""
        return f"[{go(d)} for {self.target(1)} in {go(d)}{more}]"

    def postfix(self, depth: int) -> str:
        return self.rng.choice(NAMES) if self.rng.random() < 0.6 else f"({self.expression(depth)})"

    def arguments(self, depth: int) -> str:
        plain = [self.expression(depth) for _ in range(self.rng.randint(0, 2))]
        named = [f"{name}={self.expression(depth)}" for name in self.rng.sample(NAMES, 2)]
        items = plain + named[: self.rng.randint(0, 2)]
        if self.rng.random() < 0.05:
            self.rng.shuffle(items)
        return ", ".join(items) + ("," if items and self.rng.random() < 0.1 else "")

    def index(self, depth: int) -> str:
        def part() -> str:
            return self.expression(depth) if self.rng.random() < 0.5 else ""

        forms = (
            lambda: self.expression(depth),
            lambda: f"{part()}:{part()}",
            lambda: f"{part()}:{part()}:{part()}",
            lambda: "...",
        )
        items = [self.rng.choice(forms)() for _ in range(self.rng.choice((1, 1, 2, 3)))]
        return ", ".join(items) + ("," if self.rng.random() < 0.1 else "")

    def parameters(self, depth: int) -> str:
        names = self.rng.sample(NAMES, self.rng.randint(0, 3))
        split = self.rng.randint(0, len(names))
        return ", ".join(
            name if place < split else f"{name}={self.expression(depth)}"
            for place, name in enumerate(names)
        )

    def target(self, depth: int) -> str:
        pick = self.rng.random()
        if pick < 0.5 or depth <= 0:
            return self.rng.choice(NAMES)
        if pick < 0.6:
            return f"{self.rng.choice(NAMES)}[{self.index(1)}]"
        if pick < 0.7:
            return f"{self.rng.choice(NAMES)}.grad"
        items = ", ".join(self.target(depth - 1) for _ in range(self.rng.randint(1, 3)))
        return self.rng.choice((f"{items},", f"({items},)", f"[{items}]", f"({items})"))

    def values(self, depth: int) -> str:
        items = [self.expression(depth) for _ in range(self.rng.choice((1, 1, 1, 2)))]
        return ", ".join(items) + ("," if self.rng.random() < 0.05 else "")

    def simple(self, depth: int) -> str:
        go, rng = self.expression, self.rng
        return rng.choice((
            lambda: self.values(depth),
            lambda: f"{self.target(2)} = {self.values(depth)}",
            lambda: f"{self.target(2)} = {self.target(1)} = {self.values(depth)}",
            lambda: f"{self.target(0)} {rng.choice(AUGMENT)} {self.values(depth)}",
            lambda: f"return {self.values(depth)}",
            lambda: "return",
            lambda: f"assert {go(depth)}",
            lambda: f"assert {go(depth)}, {go(depth)}",
            lambda: rng.choice(("pass", "break", "continue", "import torch", "import numpy as np")),
            lambda: "from torch import sin, cos as c",
            lambda: "import torch.nn.functional as F",
        ))()  # fmt: skip

    def program(self, depth: int, margin: str = "") -> str:
        """Statements, each on a line of its own or with others, indented by ``margin``."""
        rng = self.rng
        out = []
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.1:
                out.append(rng.choice(("\n", "   \n", f"{margin}# note\n", "# note\n")))
            if depth <= 0 or rng.random() < 0.5:
                line = rng.choice(("; ", ";")).join(
                    self.simple(2) for _ in range(rng.choice((1, 1, 2)))
                )
                tail = rng.choice(("", "", ";", "  # why"))
                out.append(f"{margin}{line}{tail}\n")
                continue
            out.append(self.block(depth - 1, margin))
        return "".join(out)

    def body(self, depth: int, margin: str) -> str:
        if self.rng.random() < 0.2:
            return f" {self.simple(1)}\n"
        return "\n" + self.program(depth, margin + self.rng.choice(("    ", "  ", "\t")))

    def block(self, depth: int, margin: str) -> str:
        go, rng = self.expression, self.rng
        pick = rng.random()
        if pick < 0.4:
            text = f"{margin}if {go(2)}:{self.body(depth, margin)}"
            for _ in range(rng.randint(0, 2)):
                text += f"{margin}elif {go(1)}:{self.body(depth, margin)}"
            if rng.random() < 0.5:
                text += f"{margin}else:{self.body(depth, margin)}"
            return text
        head = rng.choice((
            lambda: f"while {go(2)}",
            lambda: f"for {self.target(2)} in {self.values(2)}",
            lambda: f"def {rng.choice(NAMES)}({self.parameters(1)})",
            lambda: f"with {go(1)}",
            lambda: f"with no_grad(), {go(1)} as z",
        ))()  # fmt: skip
        return f"{margin}{head}:{self.body(depth, margin)}"

    def soup(self) -> str:
        """Tokens in no order."""
        return " ".join(self.rng.choice(SOUP) for _ in range(self.rng.randint(1, 9)))
