"""Random well-typed programs: functions, closures, loops, branches, comprehensions, in-place
writes, views, tensors, hooks, backward and prints. Seeded; every one is valid Python.

``p`` and ``q`` are given: leaves of three numbers. Values stay small, so that rounding does not
grow into differences.
"""

from __future__ import annotations

import random

FLOAT, INT, VECTOR, SCALAR, LIST = "float", "int", "vector", "scalar", "list"
UNARY = ("sin", "cos", "tanh", "sigmoid", "exp", "sqrt", "abs")


class Generator:
    """Writes one program after another from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def program(self) -> str:
        """A program that ends with a backward pass and prints."""
        self.count = 0
        self.depth = 0
        self.functions: list[tuple[str, tuple[str, ...], str]] = []
        self.scopes = [{"p": VECTOR, "q": VECTOR}]
        lines: list[str] = []
        for _ in range(self.rng.randint(1, 2)):
            lines += self.function(0)
        for _ in range(self.rng.randint(4, 9)):
            lines += self.statement(0)
        value = self.expression(SCALAR, 3)
        lines.append(f"loss = {value} + (p*q).sum()*0.01")
        lines.append("loss.backward()")
        lines.append("print(loss, p.grad, q.grad)")
        names = [name for name in self.scopes[0] if name not in "pq"]
        lines.append(f"print({', '.join(names[:6]) or '1'})")
        return "\n".join(lines) + "\n"

    # ---- Statements ------------------------------------------------------------------------------

    def statement(self, depth: int) -> list[str]:
        """Lines at one margin, the margin included."""
        pick = self.rng.random()
        margin = "    " * depth
        if depth < 3 and pick < 0.30:
            return self.block(depth)
        if depth == 0 and pick < 0.33:
            return self.record()
        if depth < 3 and pick < 0.345:
            return self.handled(depth)
        if pick < 0.36 and depth < 2:
            return self.function(depth)
        return [margin + line for line in self.simple()]

    def simple(self) -> list[str]:
        rng = self.rng
        pick = rng.random()
        if pick < 0.40:
            kind = rng.choice((FLOAT, INT, VECTOR, SCALAR, LIST, VECTOR))
            value = self.expression(kind, 3)
            return [f"{self.bind(kind)} = {value}"]
        if pick < 0.43:
            values = self.expression(LIST, 1)
            return [f"{self.bind(FLOAT)}, *{self.bind(LIST)} = [{self.number()}, *{values}]"]
        if pick < 0.50:
            kind = rng.choice((FLOAT, SCALAR))
            first, second = self.expression(kind, 2), self.expression(INT, 2)
            other = "_" if rng.random() < 0.3 else self.bind(INT)
            return [f"{self.bind(kind)}, {other} = {first}, {second}"]
        if pick < 0.60:
            kind = rng.choice((VECTOR, FLOAT, INT))
            value = self.expression(kind, 2)
            name = self.own(kind)
            if name is None:
                return [f"{self.bind(kind)} = {value}"]
            # Whole numbers would grow without end in nested loops, and CPython lets them.
            ops = ("+=", "-=") if kind == INT else ("+=", "-=", "*=")
            return [f"{name} {rng.choice(ops)} {value}"]
        if pick < 0.68:
            value = self.expression(SCALAR, 2)
            fresh = self.bind(VECTOR)
            index = rng.choice(("0", "1", "-1", "0:2", ":", "::2"))
            return [f"{fresh} = p*1 + {self.number()}", f"{fresh}[{index}] = {value}"]
        if pick < 0.76:
            name = self.name(LIST)
            if name is None:
                value = self.expression(LIST, 2)
                return [f"{self.bind(LIST)} = {value}"]
            return [
                rng.choice(
                    (
                        f"{name}.append({self.expression(FLOAT, 1)}); {name}.pop(0)",
                        f"{name}[0] = {self.expression(FLOAT, 1)}",
                        f"{name}[:2] = [{self.number()}, {self.number()}]",
                        f"{name}.reverse()",
                        f"{name} = ({name} + [{self.number()}])[-3:]",
                    )
                )
            ]
        if pick < 0.84:
            kind = rng.choice((FLOAT, INT, SCALAR, VECTOR, LIST))
            return [f"print({self.expression(kind, 2)}, {self.text()})"]
        if pick < 0.90:
            value = self.expression(VECTOR, 2)
            name = self.bind(VECTOR)
            hook = rng.choice(
                ("lambda g: g*0.5", "lambda g: print('hook', g)", "lambda g: g.tanh()")
            )
            return [f"{name} = {value} + p", f"{name}.register_hook({hook})"]
        if pick < 0.95:
            value = self.expression(VECTOR, 2)
            return [f"with no_grad(): {self.bind(VECTOR)} = {value}"]
        return [f"assert {self.truth(2)} or True, 'never'"]

    def record(self) -> list[str]:
        """A class, and an instance of it."""
        rng, go = self.rng, self.expression
        self.count += 1
        name, held = f"C{self.count}", f"o{self.count}"
        lines = [
            f"class {name}:", f"    k = {self.number()}",
            f"    def __init__(self, a, b={self.number()}):",
            "        self.a, self.b = a, b",
            "    def total(self, *more, **named):",
            "        return self.a*0.5 + self.k + sum(more)*0.1 + named.get('z', 0.25)",
            "    def __call__(self, t): return self.b*t*0.5",
            "    @property",
            "    def twice(self): return self.a*2",
            "    @staticmethod",
            "    def half(t): return t*0.5",
            "    def __repr__(self): return f'" + name + "({self.a!r})'",
        ]  # fmt: skip
        if rng.random() < 0.5:
            lines += [
                f"class {name}b({name}):", "    def __init__(self, a):",
                f"        super().__init__(a, b={self.number()})",
                "    def total(self, *more, **named): return super().total(*more)*0.5",
            ]  # fmt: skip
            name += "b"
        lines.append(f"{held} = {name}({go(FLOAT, 1)})")
        lines.append(f"print(repr({held}), {held}.twice, {name}.k)")
        uses = (
            f"{held}.total({go(FLOAT, 1)}, z={go(FLOAT, 1)})", f"{held}({go(FLOAT, 1)})",
            f"{held}.half({held}.a)", f"{name}.total({held}, *[0.5], **{{'z': 1.5}})",
        )  # fmt: skip
        values = [rng.choice(uses) for _ in range(2)]
        return [*lines, *[f"{self.bind(FLOAT)} = {value}" for value in values]]

    def handled(self, depth: int) -> list[str]:
        """A ``try`` whose body may fail."""
        rng, margin = self.rng, "    " * depth
        fails = rng.choice(
            ("1/0", "{}['q']", "[][2]", "raise ValueError('v', 2)", "int('x')", "pass",
             "raise RuntimeError", "assert False, 'a'", "None.shape", "[].index(1)")
        )  # fmt: skip
        kinds = rng.choice(
            ("", " Exception as e", " (ZeroDivisionError, LookupError) as e", " ValueError as e")
        )
        shown = "print(type(e).__name__)" if "as e" in kinds else "print('failed')"
        lines = [f"{margin}try:", *self.body(depth), f"{margin}    {fails}"]
        lines += [f"{margin}except{kinds}:", f"{margin}    {shown}"]
        if kinds not in ("", " Exception as e"):
            lines += [f"{margin}except:", f"{margin}    print('other')"]
        if rng.random() < 0.5:
            lines += [f"{margin}else:", f"{margin}    print('fine')"]
        if rng.random() < 0.5:
            lines += [f"{margin}finally:", f"{margin}    print('last')"]
        return lines

    def block(self, depth: int) -> list[str]:
        rng, margin = self.rng, "    " * depth
        pick = rng.random()
        if pick < 0.45:
            lines = [f"{margin}if {self.truth(2)}:", *self.body(depth)]
            if rng.random() < 0.4:
                lines += [f"{margin}elif {self.truth(2)}:", *self.body(depth)]
            if rng.random() < 0.6:
                lines += [f"{margin}else:", *self.body(depth)]
            return lines
        if pick < 0.85:
            kind, items = rng.choice(
                (
                    (INT, f"range({rng.randint(1, 3)})"),
                    (FLOAT, f"{self.expression(LIST, 1)} + []"),
                    (SCALAR, self.expression(VECTOR, 1)),
                )
            )
            self.scopes.append({})
            name = "_" if rng.random() < 0.2 else self.bind(kind)
            inner = self.body(depth)
            self.scopes.pop()
            if rng.random() < 0.3:
                word = rng.choice(("break", "continue"))
                inner.append(f"{margin}    if {self.truth(1)}: {word}")
            return [f"{margin}for {name} in {items}:", *inner]
        self.count += 1
        counter = f"n{self.count}"
        return [
            f"{margin}{counter} = 0",
            f"{margin}while {counter} < {rng.randint(1, 3)}:",
            f"{margin}    {counter} += 1",
            *self.body(depth),
        ]

    def body(self, depth: int) -> list[str]:
        """A block whose new names are not used after it: it may not have run."""
        self.scopes.append({})
        lines = []
        for _ in range(self.rng.randint(1, 2)):
            lines += self.statement(depth + 1)
        self.scopes.pop()
        return lines

    def function(self, depth: int) -> list[str]:
        rng, margin = self.rng, "    " * depth
        self.count += 1
        name = f"f{self.count}"
        kinds = tuple(rng.choice((FLOAT, SCALAR, VECTOR)) for _ in range(rng.randint(1, 2)))
        result = rng.choice((FLOAT, SCALAR, VECTOR))
        outer, self.functions = self.functions, []  # no recursion by chance
        self.scopes.append({})
        self.depth += 1
        params = []
        for kind in kinds:
            self.count += 1
            params.append(f"a{self.count}")
            self.scopes[-1][params[-1]] = kind
        shown = list(params)
        if kinds[-1] == FLOAT and rng.random() < 0.5:
            shown[-1] += f"={self.number()}"
        lines = [f"{margin}def {name}({', '.join(shown)}):"]
        for _ in range(rng.randint(0, 2)):
            lines += [f"{margin}    {line}" for line in self.simple()]
        if rng.random() < 0.3:
            early = self.expression(result, 1)
            lines.append(f"{margin}    if {self.truth(1)}: return {early}")
        lines.append(f"{margin}    return {self.expression(result, 2)}")
        self.depth -= 1
        self.scopes.pop()
        self.functions = outer
        if depth == 0:
            self.functions.append((name, kinds, result))
        return lines

    # ---- Names -----------------------------------------------------------------------------------

    def bind(self, kind: str) -> str:
        """A fresh name of the innermost scope."""
        self.count += 1
        name = f"v{self.count}"
        self.scopes[-1][name] = kind
        return name

    def name(self, kind: str) -> str | None:
        found = [n for scope in self.scopes for n, k in scope.items() if k == kind]
        return self.rng.choice(found) if found else None

    def own(self, kind: str) -> str | None:
        """A name that may be assigned here: of this function, and no given leaf."""
        scopes = self.scopes[-1:] if self.depth else self.scopes
        found = [n for s in scopes for n, k in s.items() if k == kind and n not in "pq"]
        found = [n for n in found if not n.startswith("a")]
        return self.rng.choice(found) if found else None

    # ---- Expressions -----------------------------------------------------------------------------

    def number(self) -> str:
        return str(self.rng.choice((0.5, 1.5, -0.25, 2.0, 0.125, 1e-1)))

    def text(self) -> str:
        kind = self.rng.choice((FLOAT, INT, SCALAR))
        spec = {FLOAT: ".3f", INT: ">4d", SCALAR: ".4f"}[kind]
        name = self.name(kind)
        if name is None:
            return repr("no name")
        if self.rng.random() < 0.2 and kind != SCALAR:
            older = (f"'{{}} {{n}}'.format(1, n={name})", f"'%s %5.2f' % ({name}, {name})")
            return self.rng.choice((f"f'{{{name}!r}} {{{name}=}}'", *older))
        return self.rng.choice((f"f'{name} {{{name}:{spec}}}'", f"f'{{{name}}}'", "'it' 's'"))

    def truth(self, depth: int) -> str:
        rng = self.rng
        kind = rng.choice((FLOAT, INT, SCALAR))
        a, b, c = (self.expression(kind, depth - 1) for _ in range(3))
        return rng.choice(
            (
                f"{a} < {b}",
                f"{a} > {b}",
                f"{a} <= {b} < {c}",
                f"not {a} < {b}",
                f"({a} < {b} and {b} < {c})",
                f"({a} > {b} or {c} > 0)",
                f"{rng.randint(0, 3)} in [1, 2]",
                f"{rng.randint(0, 3)} not in range(2)",
            )
        )

    def expression(self, kind: str, depth: int) -> str:
        """An expression of a kind."""
        rng = self.rng
        if depth > 0 and rng.random() < 0.15:
            found = [f for f in self.functions if f[2] == kind]
            if found:
                name, kinds, _ = rng.choice(found)
                return f"{name}({', '.join(self.expression(k, depth - 1) for k in kinds)})"
        if depth <= 0 or rng.random() < 0.2:
            name = self.name(kind)
            if name is not None and rng.random() < 0.8:
                return name
            return {
                FLOAT: self.number(),
                INT: str(rng.randint(-3, 5)),
                VECTOR: rng.choice("pq"),
                SCALAR: f"{rng.choice('pq')}[{rng.randint(-3, 2)}]",
                LIST: f"[{self.number()}, {self.number()}]",
            }[kind]
        if rng.random() < 0.08:
            yes, no = self.expression(kind, depth - 1), self.expression(kind, depth - 1)
            return f"({yes} if {self.truth(1)} else {no})"
        return f"({getattr(self, f'{kind}_')(depth - 1)})"

    def float_(self, d: int) -> str:
        go = self.expression
        return self.rng.choice(
            (
                lambda: f"({go(FLOAT, d)} {self.rng.choice('+-*')} {go(FLOAT, d)})*0.5",
                lambda: f"{go(FLOAT, d)} / (2.5 + abs({go(FLOAT, d)}))",
                lambda: f"float({go(INT, d)})*0.1",
                lambda: f"{go(SCALAR, d)}.item()",
                lambda: f"{go(LIST, d)}[0]",
                lambda: f"sum({go(LIST, d)})*0.1",
                lambda: f"max({go(FLOAT, d)}, {go(FLOAT, d)})",
                lambda: f"({go(FLOAT, d)} % 1.75)",
                lambda: f"-{go(FLOAT, d)}",
                lambda: f"round({go(FLOAT, d)}, 3)",
                lambda: f"(lambda z: z*0.5 + {self.number()})({go(FLOAT, d)})",
                lambda: f"(lambda _, z=0.5: z)({go(FLOAT, d)})",
                lambda: f"sum(k*0.5 for k in {go(LIST, d)})",
                lambda: f"max({go(LIST, d)}, key=lambda k: -k)",
                lambda: f"{{'a': {go(FLOAT, d)}, 2: 0.5}}['a']",
                lambda: f"dict(u={go(FLOAT, d)}).get('u', 1.0)",
                lambda: f"(lambda *a, s=1.0: sum(a)*s)({go(FLOAT, d)}, *{go(LIST, d)}, s=0.25)",
                lambda: f"next(k for k in {go(LIST, d)})",
                lambda: f"[*{go(LIST, d)}, {go(FLOAT, d)}][-1]",
                lambda: f"list({{'b': {go(FLOAT, d)}}}.values())[0]",
            )
        )()

    def int_(self, d: int) -> str:
        go = self.expression
        return self.rng.choice(
            (
                lambda: f"({go(INT, d)} {self.rng.choice('+-*')} {go(INT, d)}) % 17",
                lambda: f"len({go(LIST, d)})",
                lambda: f"{go(INT, d)} // 3",
                lambda: f"abs({go(INT, d)})",
                lambda: f"int({go(FLOAT, d)}*3)",
                lambda: f"len([k for k in range(5) if k > {go(INT, d)}])",
                lambda: f"sum([{go(INT, d)} for _ in range(3)]) % 17",
                lambda: f"sum([_ for _ in range(4) if _ > {go(INT, d)}])",
                lambda: "p.shape[0]",
                lambda: f"min({go(INT, d)}, 4)",
            )
        )()

    def vector_(self, d: int) -> str:
        go = self.expression
        return self.rng.choice(
            (
                lambda: f"({go(VECTOR, d)} {self.rng.choice('+-*')} {go(VECTOR, d)})*0.5",
                lambda: f"{self.rng.choice(UNARY[:4])}({go(VECTOR, d)})",
                lambda: f"{go(VECTOR, d)}.tanh()",
                lambda: f"({go(FLOAT, d)}*{go(VECTOR, d)}).sin()",
                lambda: f"{go(VECTOR, d)} * {go(SCALAR, d)}.tanh()",
                lambda: f"stack([{go(SCALAR, d)}, {go(SCALAR, d)}, {go(SCALAR, d)}])",
                lambda: f"{go(VECTOR, d)}.flip(0)",
                lambda: f"{go(VECTOR, d)}[[2, 0, 1]]",
                lambda: f"where({go(VECTOR, d)} > 0, {go(VECTOR, d)}, {self.number()})",
                lambda: f"cat([{go(VECTOR, d)}[:1], {go(VECTOR, d)}[1:]])",
                lambda: f"{go(VECTOR, d)}.detach()",
                lambda: f"{go(VECTOR, d)}.reshape(3, 1).sum(1)",
                lambda: f"maximum({go(VECTOR, d)}, {go(VECTOR, d)})",
                lambda: f"stack([t*{go(FLOAT, d)} for t in {go(VECTOR, d)}])",
                lambda: f"{go(VECTOR, d)}.clone()",
            )
        )()

    def scalar_(self, d: int) -> str:
        go = self.expression
        return self.rng.choice(
            (
                lambda: f"{go(VECTOR, d)}.mean()",
                lambda: f"{go(VECTOR, d)}[{self.rng.randint(-3, 2)}]",
                lambda: f"dot({go(VECTOR, d)}, {go(VECTOR, d)}).tanh()",
                lambda: f"{go(SCALAR, d)}.sin()",
                lambda: f"({go(SCALAR, d)} {self.rng.choice('+-*')} {go(SCALAR, d)})*0.5",
                lambda: f"{go(FLOAT, d)}*{go(SCALAR, d)}",
                lambda: f"norm({go(VECTOR, d)} + 0.1)*0.3",
                lambda: f"{go(VECTOR, d)}.max()",
                lambda: f"sum({go(VECTOR, d)})*0.2",
                lambda: f"sum([{go(SCALAR, d)}, {go(SCALAR, d)}])*0.3",
                lambda: f"{go(SCALAR, d)}**2*0.25",
            )
        )()

    def list_(self, d: int) -> str:
        go = self.expression
        return self.rng.choice(
            (
                lambda: f"[{go(FLOAT, d)}, {go(FLOAT, d)}, {go(FLOAT, d)}]",
                lambda: f"sorted({go(LIST, d)})",
                lambda: f"sorted({go(LIST, d)}, key=lambda k: -k)",
                lambda: f"list(map(lambda k: k*0.5, {go(LIST, d)}))",
                lambda: f"[*{go(LIST, d)}, *{go(LIST, d)}][:3]",
                lambda: f"[v for v in {{i: k for i, k in enumerate({go(LIST, d)})}}.values()]",
                lambda: f"[k*{go(FLOAT, d)} for k in range({self.rng.randint(2, 4)})]",
                lambda: f"{go(LIST, d)} + [{go(FLOAT, d)}]",
                lambda: f"[k*0.5 for k in {go(LIST, d)} + [0.25]]",
                lambda: f"({go(LIST, d)} + [1.0, 2.0])[:3]",
                lambda: f"[a*b for a, b in zip({go(LIST, d)}, [0.5, 2.0, 1.0])]",
                lambda: f"{go(VECTOR, d)}.tolist()",
                lambda: f"[i + k for i, k in enumerate({go(LIST, d)})]",
                lambda: f"[k for _, k in enumerate({go(LIST, d)})]",
                lambda: f"list(reversed({go(LIST, d)}))",
            )
        )()
