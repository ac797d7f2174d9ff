"""A one-liner as a flat list of steps: assignments traced through, calls resolved to operators.

The list is in order of evaluation, so everything that follows it (shapes, tracing) is a loop. What
is not a formula (loops, branches, functions, lists, indexing) is refused here with its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from inspect import unwrap
from itertools import pairwise
from typing import Any

from gradcli.language.compile.resolve import Checked
from gradcli.language.names.settings import BY_NUMPY, WRITING
from gradcli.language.names.table import CALLED, CONSTANTS, NAMES, namespace
from gradcli.language.runtime.run import Program
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.printer import unparse
from gradcli.ops.comparison import TRUTH
from gradcli.ops.declaration.infix import METHODS, MIRRORED, by_sign
from gradcli.ops.einsum import plan
from gradcli.ops.errors import Fault
from gradcli.ops.operator import OPERATORS, Operator
from gradcli.symbolic.expr import sizes
from gradcli.symbolic.program.lookup import called_by_name, composed_function, not_imported
from gradcli.symbolic.unsupported import at, no_closed_form, norm_of_order, too_large, unturned

BINARY = {sign: op.name for sign, op in by_sign().items() if sign in METHODS}
COMPARISON = {sign: op.name for sign, op in by_sign().items() if sign in MIRRORED}
CREATION = ("eye", "ones", "zeros")
DATA = object()
"""Stands in the arguments of a composed function where a value of the formula goes."""


class Step:
    """One operation: the operator's name, the steps it reads, parameters, and its place.

    ``op`` is "name", "number" or "constant" for a leaf, whose ``value`` says which; "eye", "ones"
    and "zeros" hold their dimensions in ``value``. ``ties`` is what became of the ties of its
    arguments where it was differentiated (see ``trace.symbol.Ties``), None before that.
    """

    __slots__ = ("inputs", "node", "op", "params", "ties", "value")

    def __init__(
        self, op: str, node: n.Node, inputs: Sequence[int] = (), params: Any = None,
        value: Any = None,
    ) -> None:  # fmt: skip
        self.op = op
        self.node = node
        self.inputs = tuple(inputs)
        self.params = params or {}
        self.value = value
        self.ties: frozenset[str] | None = None


COUNTED = "counted"
"""The ``value`` of a sum in which truths of single numbers are numbers, as Python adds them."""


def is_test(name: str) -> bool:
    """Whether an operator takes and gives truth values, or gives them."""
    op = OPERATORS.get(name)
    return op is not None and (op.dtypes == "compare" or op.holds == TRUTH)


def of_truths(step: Step, truths: Sequence[bool], shape: tuple) -> str:
    """The operator of a step as one of truth values; "" where it gives numbers."""
    if is_test(step.op):
        return step.op
    op = OPERATORS.get(step.op)
    if op is None or not step.inputs or not all(truths[i] for i in step.inputs):
        return ""
    if op.of_truths:
        return op.of_truths if shape or step.value != COUNTED else ""
    return op.keeps_truths or (op.name if op.moves == "view" else "")


def writes_decimals(checked: Checked) -> bool:
    """Whether a text has numbers such as 0.3; halves are as good as fractions."""
    return any(
        isinstance(value, float) and 2 * value % 1
        for node in n.walk(checked.module)
        for value in (
            (node.value,) if isinstance(node, n.Number)
            else node.values if isinstance(node, n.Column) else ()
        )
    )  # fmt: skip


def steps_of(program: Program, checked: Checked | None = None) -> list[Step]:
    """The steps of a program, or of its text as ``checked``; the last one is the value. Truths of
    single numbers add up to a number where they do so in the program.

    Raises a fault (E0701, E0201).
    """
    steps = _Flattening(checked or program.checked, program.modes["arrays"]).run()
    for step in steps if program.rebinds else ():
        if step.op in OPERATORS and OPERATORS[step.op].of_truths:
            step.value = COUNTED
    return steps


def _exact(value: float, text: str) -> Fraction:
    """A number as it is written: 0.1 is a tenth. A long text, and what is too small for a float,
    may stand for a whole number of any length, which takes its time."""
    decimal = isinstance(value, float) and "x" not in text.lower() and value and len(text) < 1000
    return Fraction(text.replace("_", "")) if decimal else Fraction(value)


def _like_terms(total: n.Sum) -> tuple[list[n.Expr], list[Fraction]]:
    """The different terms of a long sum, and how often each stands there. Raises Fault (E0701).

    Terms that are a number times the same are one.
    """
    often = [0] * sum(total.counts)
    for i in total.order:
        often[i if i >= 0 else ~i] += 1 if i >= 0 else -1
    terms: list[n.Expr] = []
    times: list[Fraction] = []
    at = 0
    for term, count in zip(total.terms, total.counts, strict=True):
        counted, at = often[at : at + count], at + count
        split = _coefficient(term)
        if split is not None:
            column, rest = split
            terms.append(rest)
            numbers = zip(column.values, column.texts, counted, strict=True)
            times.append(sum((_exact(x, text) * k for x, text, k in numbers), Fraction()))
            continue
        if len(terms) + count > MOST_TERMS:
            raise too_large()
        terms += n.rows(term, count)
        times += map(Fraction, counted)
    return terms, times


MOST_TERMS = 2_000
"""Different terms of a long sum: the form of more is not written down. A function that adds more is
too deep for Python's compiler."""


def _coefficient(term: n.Expr) -> tuple[n.Column, n.Expr] | None:
    """The numbers and the rest of a term that is a number times what has no column."""
    if isinstance(term, n.Column):
        return term, n.Number(1, "1", term.start, term.end)
    if isinstance(term, n.Binary) and term.op == "*":
        for column, rest in ((term.left, term.right), (term.right, term.left)):
            if isinstance(column, n.Column) and not any(
                isinstance(node, n.Column) for node in n.walk(rest)
            ):
                return column, rest
    return None


class _Flattening:
    def __init__(self, checked: Checked, arrays: bool) -> None:
        self.checked = checked
        self.arrays = arrays  # whether a method is NumPy's
        self.source = checked.source
        self.steps: list[Step] = []
        self.bound: dict[str, int] = {}

    def refuse(self, what: str, node: n.Node) -> Exception:
        return no_closed_form(what, self.source, node)

    def run(self) -> list[Step]:
        result: int | None = None
        *_, last = self.checked.module.body or [None]
        for statement in self.checked.module.body:
            if isinstance(statement, n.ExprStmt):
                call: Any = statement.value
                writes = isinstance(call, n.Call) and isinstance(call.func, n.Attribute)
                if writes and call.func.name in WRITING and statement is not last:
                    raise self.refuse("a method that writes", statement)
                result = self.expression(statement.value)
            elif isinstance(statement, n.Assign) and self.unpacks(statement):
                targets: Any = statement.targets[0]
                read = [x.id for x in n.walk(self.checked.module) if isinstance(x, n.Name)]
                for i, target in enumerate(targets.items):
                    if read.count(target.id) > 1:
                        part = n.Subscript(statement.value, n.Number(i, str(i)))
                        self.bound[target.id] = self.expression(part)
            elif isinstance(statement, n.Assign):
                place = self.expression(statement.value)
                for target in statement.targets:
                    if not isinstance(target, n.Name):
                        raise self.refuse("an assignment to more than a name", target)
                    self.bound[target.id] = place
            elif not isinstance(statement, n.Import | n.FromImport | n.Pass):
                what = {"If": "a branch", "For": "a loop", "While": "a loop", "Def": "a function"}
                raise self.refuse(what.get(type(statement).__name__, "this statement"), statement)
        if result is None:
            raise self.refuse("a text without an expression at its end", self.checked.module)
        del self.steps[result + 1 :]
        return self.steps

    def unpacks(self, statement: n.Assign) -> bool:
        """Whether an assignment gives names to all results of a decomposition: ``Q, R = qr(A)``."""
        (target, *more), call = statement.targets, statement.value
        if more or not isinstance(target, n.Tuple) or not isinstance(call, n.Call):
            return False
        name = getattr(call.func, "id", getattr(call.func, "name", ""))
        op = OPERATORS.get(f"{name}_parts")
        named = all(isinstance(x, n.Name) for x in target.items)
        return op is not None and named and len(op.parts) == len(target.items)

    def expression(self, root: n.Node) -> int:
        """Flatten one expression without recursion; the index of its value."""
        done: dict[int, int] = {}
        waiting: list[tuple[n.Node, Any]] = [(root, None)]
        while waiting:
            node, plan = waiting.pop()
            if plan is None:
                plan = self.plan(node)
                waiting.append((node, plan))
                waiting.extend((child, None) for child in reversed(plan[1]))
                continue
            op, children, params, value = plan
            inputs = [done[id(child)] for child in children]
            done[id(node)] = self.emit(op, node, inputs, params, value)
        return done[id(root)]

    def emit(self, op: str, node: n.Node, inputs: list[int], params: dict, value: Any) -> int:
        if op == "alias":
            return value if value is not None else inputs[0]
        if op == "einsum":
            return self.by_letters(node, inputs, value)
        if op == "long_sum":
            return self.multiples(node, inputs, value)
        if op in ("maximum", "minimum", "chain"):
            pairs = list(pairwise(inputs))
            if op == "chain":
                for i, (a, b) in enumerate(pairs):
                    self.steps.append(Step(value[i], node, (a, b)))
                    if i:
                        last = len(self.steps) - 1
                        self.steps.append(Step("logical_and", node, (last - 1, last)))
                return len(self.steps) - 1
            found = inputs[0]
            for i in inputs[1:]:
                self.steps.append(Step(op, node, (found, i)))
                found = len(self.steps) - 1
            return found
        self.steps.append(Step(op, node, inputs, params, value))
        return len(self.steps) - 1

    def multiples(self, node: n.Node, terms: list[int], times: Sequence[Fraction]) -> int:
        """The steps of a long sum: its different terms, each as often as it stands there."""
        found = None
        for term, count in zip(terms, times, strict=True):
            if count != 1:
                self.steps.append(Step("number", node, [], {}, count))
                self.steps.append(Step("mul", node, (len(self.steps) - 1, term)))
                term = len(self.steps) - 1
            if found is not None:
                self.steps.append(Step("add", node, (found, term)))
                term = len(self.steps) - 1
            found = term
        assert found is not None  # a sum has terms
        return found

    def by_letters(self, node: n.Node, inputs: list[int], equation: Any) -> int:
        """The steps of an einsum, as the operator itself takes them."""
        parts = str(equation).replace(" ", "").partition("->")[0].split(",")
        try:
            steps = plan(equation, [len(p) for p in parts] if len(parts) == len(inputs) else [])
        except Exception as fault:
            raise at(fault, self.source, node) from None
        made = list(inputs)
        for op, operands, params in steps:
            self.steps.append(Step(op, node, [made[i] for i in operands], params))
            made.append(len(self.steps) - 1)
        return made[-1]

    def plan(self, node: Any) -> tuple[str, list[Any], dict, Any]:
        """The operator of a node, the nodes it reads, its parameters, and a leaf's value."""
        kind = type(node)
        if kind is n.Name:
            if node.id in self.bound and id(node) in self.checked.variables:
                return "alias", [], {}, self.bound[node.id]
            if node.id in CONSTANTS and node.id not in self.checked.bound:
                if node.id in ("pi", "e"):
                    return "constant", [], {}, node.id
                raise self.refuse(f"`{node.id}`", node)
            if node.id in NAMES and node.id in self.checked.called:
                raise self.refuse(f"`{node.id}` as a value", node)
            return "name", [], {}, node.id
        if kind is n.Number:
            if isinstance(node.value, complex) or node.value - node.value != 0:
                raise self.refuse("a complex or infinite number", node)
            return "number", [], {}, _exact(node.value, node.text)
        if kind is n.Binary and node.op in BINARY:
            if node.op in "&|" and n.Number in (type(node.left), type(node.right)):
                raise self.refuse("an operation on bits", node)
            return BINARY[node.op], [node.left, node.right], {}, None
        if kind is n.Sum:
            terms, times = _like_terms(node)
            return "long_sum", terms, {}, times
        if kind is n.Unary and node.op in "+-":
            return ("neg" if node.op == "-" else "alias"), [node.operand], {}, None
        if kind is n.Unary and _is_truth(node.operand):
            return "logical_not", [node.operand], {}, None
        if kind is n.BoolOp and all(map(_is_truth, node.values)):
            first = node.values[0] if len(node.values) == 2 else n.BoolOp(node.op, node.values[:-1])
            return f"logical_{node.op}", [first, node.values[-1]], {}, None
        if kind is n.Compare and all(op in COMPARISON for op in node.ops):
            return "chain", [node.left, *node.rights], {}, [COMPARISON[op] for op in node.ops]
        if kind is n.Attribute:
            return self.attribute(node)
        if kind is n.Call:
            return self.call(node)
        if kind is n.Subscript:
            return self.subscript(node)
        words = {
            n.Conditional: "a branch (write where)",
            n.Lambda: "a function", n.List: "a list", n.ListComp: "a list",
            n.GeneratorExp: "a generator", n.Tuple: "a tuple", n.BoolOp: "and/or",
            n.Binary: "a shift of bits",
        }  # fmt: skip
        raise self.refuse(words.get(kind, f"a {kind.__name__.lower()}"), node)

    def subscript(self, node: n.Subscript) -> tuple[str, list[Any], dict, Any]:
        """``slogdet(X)[1]``, and entries by number."""
        inner: Any = node.value
        called: Any = inner.func if isinstance(inner, n.Call) else None
        known = isinstance(called, n.Name) and id(called) not in self.checked.variables
        name = called.name if isinstance(called, n.Attribute) else getattr(called, "id", "")
        if known and called.id == "slogdet" and len(inner.args) == 1:
            part = self.literal(node.index)
            if part in (0, 1):
                return ("detsign", "logabsdet")[part], list(inner.args), {}, None
        module = isinstance(called, n.Attribute) and "linalg" in unparse(called.value)
        found = self.part(node, name) if known or module else None
        if found is not None:
            return found
        if isinstance(node.index, n.List) and node.index.items:
            parts = [n.Subscript(inner, item) for item in node.index.items]
            return "stack", list(parts), {"dim": 0}, None
        if isinstance(inner, n.Attribute) and inner.name == "shape":
            raise self.refuse("`.shape` as a value", node)
        return "getitem", [inner], {"index": self.index(node.index)}, None

    def part(self, node: n.Subscript, name: str) -> tuple[str, list[Any], dict, Any] | None:
        """One of the results of a decomposition: ``eigh(A)[1]``; None for anything else."""
        op, call = OPERATORS.get(f"{name}_parts"), node.value
        if op is None or not op.parts or not isinstance(call, n.Call):
            return None
        place = self.whole(node.index)
        if not call.args or not -len(op.parts) <= place < len(op.parts):
            raise self.refuse(f"part {place} of `{name}`", node)
        params: dict[str, Any] = {"part": place % len(op.parts)}
        given = [*map(unparse, call.args[1:]), *(unparse(k.value) for k in call.keywords)]
        if f"{name}({', '.join(['{x}', *given])})[{place}]" != op.parts[place]:
            if given and op.parts[place].startswith(f"{name}("):
                raise self.refuse(f"`{unparse(node)}`", node)
            params["square"] = op.parts[place].startswith(
                f"{name}("
            )  # svd(X)[0] has more columns than svd(X, False)[0]
        return op.name, list(call.args[:1]), params, None

    def index(self, node: n.Node) -> Any:
        """What stands between brackets, as Python has it."""
        if isinstance(node, n.Slice):
            low, high = (e and self.bound_of(e) for e in (node.lower, node.upper))
            return slice(low, high, node.step and self.whole(node.step))
        if isinstance(node, n.Tuple):
            return tuple(self.index(item) for item in node.items)
        if isinstance(node, n.Literal) and node.value in (None, Ellipsis):
            return node.value
        return self.whole(node)

    def bound_of(self, node: n.Node) -> int | str:
        """The end of a slice: a whole number, or a size."""
        found = node.operand if isinstance(node, n.Unary) else node
        return self.whole(node) if isinstance(found, n.Number) else self.dimension(node)

    def whole(self, node: n.Node) -> int:
        """A whole number written out."""
        found = node.operand if isinstance(node, n.Unary) and node.op == "-" else node
        if isinstance(found, n.Number) and isinstance(found.value, int):
            return found.value if found is node else -found.value
        raise self.refuse("an index that is not a whole number written out", node)

    def attribute(self, node: n.Attribute) -> tuple[str, list[Any], dict, Any]:
        if isinstance(node.value, n.Name) and node.value.id in self.checked.modules:
            if node.name in ("pi", "e"):
                return "constant", [], {}, node.name
        elif node.name in ("T", "mT"):
            return {"T": "reverse_dims", "mT": "mT"}[node.name], [node.value], {}, None
        if (prefix := not_imported(self.checked, node)) is not None:
            raise prefix[0]
        raise self.refuse(f"`.{node.name}`", node)

    def call(self, node: n.Call) -> tuple[str, list[Any], dict, Any]:
        """A call; of a function under a prefix that is not imported, the fault for that."""
        prefix = not_imported(self.checked, node.func)
        if prefix is None:
            return self.called(node)
        if prefix[1]:
            raise prefix[0]
        try:
            return self.called(node)
        except Fault:
            raise prefix[0] from None

    def called(self, node: n.Call) -> tuple[str, list[Any], dict, Any]:
        func, args = node.func, list(node.args)
        if isinstance(func, n.Name):
            name = func.id
            if id(func) in self.checked.variables:
                raise self.refuse("a call of a function of the program", node)
            if name in self.checked.imported:
                name = getattr(self.checked.imported[name], "__name__", name)
            elif name not in NAMES and name not in CALLED:
                self.checked.require(self.checked.free)
        elif isinstance(func, n.Attribute):
            held, name = self.checked.in_module(func), func.name
            if held is not None:
                self.require_known(func, held[0].id, held[1])
            else:
                args.insert(0, func.value)
                plain = name in ("max", "min") and len(args) == 1 and not node.keywords
                if self.arrays and name in BY_NUMPY and not plain:
                    raise self.refuse(f"the method `{name}` of an array (`np.{name}` has)", node)
        else:
            raise self.refuse("this call", node)
        if hasattr(composed_function(self.checked, func, name), "of_numpy"):
            return self.composed(name, node, args)
        if name == "einsum" and args and not node.keywords:
            return "einsum", args[1:], {}, self.literal(args[0])
        if name in CREATION:
            return name, [], {}, tuple(self.dimension(a) for a in args)
        if name == "pad" and len(args) == 2 and isinstance(args[1], n.Tuple | n.List):
            return name, args[:1], {"pad": tuple(map(self.dimension, args[1].items))}, None
        if name in ("max", "min") and len(args) > 1 and not node.keywords:
            return f"{name}imum", args, {}, None
        if name == "t":
            name = "reverse_dims"
        if name == "transpose" and len(args) == 1 and not node.keywords:
            raise at(unturned(unparse(args[0])), self.source, node)
        if name in ("max", "min") and node.keywords:
            raise self.refuse(
                f"`{name}` along a dimension (a value and an index; `a{name}` has one)", node
            )
        if name == "diag" and len(args) == 1 and not node.keywords:
            return "diag", args, {}, None
        op = called_by_name({"max": "amax", "min": "amin", "view": "reshape"}.get(name, name))
        if op is None or self.richer(op, node, name, args):
            return self.composed(name, node, args)
        if op.sizes and not node.keywords:
            return self.shaped(op.name, node, args)
        if name == "polygamma" and len(args) == 2 and not node.keywords:
            return name, args[1:], {"n": self.whole(args[0])}, None
        if op.name == "norm":
            self.check_order(args, {str(k.name): k.value for k in node.keywords})
        params = {str(k.name): self.literal(k.value) for k in node.keywords}
        if op.variadic:
            return self.joining(op.name, node, args, params)
        inputs, rest = args[: op.arity], args[op.arity :]
        try:
            _, bound = op.bind((*inputs, *(self.literal(a) for a in rest)), params)
        except Exception as fault:
            raise at(fault, self.source, node) from None
        return op.name, inputs, bound, None

    def require_known(self, func: n.Attribute, prefix: str, dotted: str) -> None:
        """Raise a fault (E0204) for a function that the module of a prefix does not have."""
        module = self.checked.modules[prefix]
        if dotted not in (namespace(module) or ()):
            # Needed after an error only.
            from gradcli.language.diagnostics.unknown_names import not_in_module

            raise not_in_module(self.source, func, prefix, module, dotted)

    def richer(self, op: Operator, node: n.Call, name: str, args: Sequence[n.Node]) -> bool:
        """Whether a call has parameters that only the function composed of an operator takes."""
        function: Any = composed_function(self.checked, node.func, name)
        own = getattr(unwrap(function), "__code__", None)
        if op.name == "norm":  # linalg.norm and the nuclear one: of matrices by singular values
            given = [*args, *(k.value for k in node.keywords)]
            nuclear = any(isinstance(a, n.String) and a.value == "nuc" for a in given)
            if nuclear or "linalg" in unparse(node.func) or (own and "ord" in own.co_varnames):
                return True
        if op.name == "clamp":  # between bounds that are values too
            bounds = [*args[1:], *(k.value for k in node.keywords)]
            return not all(map(self.is_literal, bounds))
        asked = {k.name for k in node.keywords}
        if own is None or not (op.public or op.variadic):
            return own is not None
        if asked <= op.params.keys():
            return not op.variadic and op.arity + len(op.params) < len(args) <= own.co_argcount
        return asked <= set(own.co_varnames)

    def check_order(self, args: list[Any], named: dict[str, n.Expr]) -> None:
        """The order of a norm is a number. Raises a fault (E0701) that says what to write."""
        order = named.pop("p", named.pop("ord", None)) or (args[1] if len(args) > 1 else None)
        if order is None or self.is_literal(order) or not args:
            return
        more = [*map(unparse, args[2:]), *(f"{k}={unparse(x)}" for k, x in named.items())]
        raise at(norm_of_order(unparse(args[0]), unparse(order), more), self.source, order)

    def shaped(self, name: str, node: n.Call, args: list[Any]) -> tuple[str, list[Any], dict, Any]:
        """``x.reshape(n, 2)``, ``x.expand((n, 2))``: sizes by name or number, -1 as it is."""
        sizes_given = args[1:]
        if len(sizes_given) == 1 and isinstance(sizes_given[0], n.Tuple | n.List):
            sizes_given = list(sizes_given[0].items)
        if not sizes_given:
            raise self.refuse(f"`{name}` without sizes", node)
        found = tuple(self.bound_of(a) if _is_number(a) else self.dimension(a) for a in sizes_given)
        if name == "permute" and not all(isinstance(d, int) for d in found):
            raise self.refuse("`permute` by what are no whole numbers", node)
        return name, args[:1], {OPERATORS[name].sizes: found}, None

    def composed(
        self, name: str, node: n.Call, args: list[Any]
    ) -> tuple[str, list[Any], dict, Any]:
        """A function that is made of operators: see ``composed.expand``."""
        function = composed_function(self.checked, node.func, name)
        op = getattr(function, "operator", function)
        if isinstance(op, Operator) and op.sizes:
            return self.shaped(op.name, node, args)
        if not hasattr(function, "__code__"):
            raise self.refuse(f"`{name}`", node)
        data: list[Any] = []

        def read(a: n.Node) -> Any:
            try:
                return self.literal(a)
            except Fault:
                if isinstance(a, n.List | n.Tuple):
                    return [read(item) for item in a.items]
                data.append(a)
                return DATA

        given = [read(a) for a in args]
        if args and not data and unwrap(function).__code__.co_varnames[:1] == ("input",):
            data, given[0] = [args[0]], DATA  # `silu(2)`: a function of a constant
        options = {k.name: read(k.value) for k in node.keywords}
        params = {"function": function, "name": name, "args": given, "options": options}
        return "composed", data, params, None

    def joining(
        self, name: str, node: n.Call, args: list[Any], params: dict
    ) -> tuple[str, list[Any], dict, Any]:
        """``cat`` and ``stack``: a list of tensors, and the dimension."""
        if not args or not isinstance(args[0], n.List | n.Tuple) or not args[0].items:
            raise self.refuse(f"`{name}` of what is no list written out", node)
        if "axis" in params:
            params["dim"] = params.pop("axis")
        if len(args) == 2:
            params["dim"] = self.whole(args[1])
        if len(args) > 2 or set(params) - {"dim"}:
            raise self.refuse(f"`{name}` with these parameters", node)
        return name, list(args[0].items), params, None

    def dimension(self, node: n.Node) -> str:
        """A size: a number, a name, or sums and products of them."""
        text = unparse(node)
        try:
            found = sizes.text(sizes.terms(text))
        except ValueError:
            raise self.refuse("a size that is neither a name nor a number", node) from None
        if found.startswith("-"):
            raise self.refuse("a size below 0", node)
        return found

    def is_literal(self, node: n.Node) -> bool:
        """Whether a parameter is written out."""
        try:
            self.literal(node)
        except Fault:
            return False
        return True

    def literal(self, node: n.Node) -> Any:
        """A parameter's value: a number, a truth value, None or a tuple of them."""
        if isinstance(node, n.Number | n.Literal | n.String):
            return node.value
        if isinstance(node, n.Name) and node.id == "inf" and node.id not in self.checked.bound:
            return float("inf")
        if isinstance(node, n.Unary) and node.op == "-" and isinstance(node.operand, n.Name):
            return -self.literal(node.operand)
        if isinstance(node, n.Unary) and node.op == "-" and isinstance(node.operand, n.Number):
            return -node.operand.value
        if isinstance(node, n.Tuple | n.List):
            return tuple(self.literal(item) for item in node.items)
        if isinstance(node, n.Binary) and node.op == "/":
            parts = (self.literal(node.left), self.literal(node.right))
            if all(type(x) in (int, float) for x in parts) and parts[1]:
                return parts[0] / parts[1]
        raise self.refuse("a parameter that is not a plain number", node)


def _is_number(node: n.Node) -> bool:
    return isinstance(node.operand if isinstance(node, n.Unary) else node, n.Number)


def _is_truth(node: n.Node) -> bool:
    """Whether a node is a condition: what ``not`` and ``~`` of others give is no 0 or 1."""
    negated = isinstance(node, n.Unary) and node.op in ("not", "~")
    joined = isinstance(node, n.Binary) and node.op in "&|"
    return negated or joined or isinstance(node, n.Compare | n.BoolOp)
