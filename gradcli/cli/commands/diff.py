"""``gradcli diff``: the closed form of a derivative, checked before it is printed."""

# Annotations are objects here: Typer reads texts by compiling them, twice.

import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import typer

from gradcli.cli import inputs, options, output, watchdog
from gradcli.cli.arguments import assigned
from gradcli.cli.options import entry
from gradcli.display.answers import Answer
from gradcli.display.values import show_rows, show_value
from gradcli.engine import dtypes
from gradcli.language.diagnostics.render import closest
from gradcli.language.runtime.run import Limits, Program, prepare
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import Fault, ValueFault
from gradcli.symbolic import Declaration, directional_derivative
from gradcli.symbolic import diff as closed_form
from gradcli.symbolic.program.conditions import conditions_text
from gradcli.symbolic.program.let import named
from gradcli.symbolic.shapes.declarations import KINDS, TRAITS, declared_as, declares, sizes_at
from gradcli.symbolic.unsupported import as_reals

_VALUES = "a value is 2, 1,2,3 or pi/4, a declaration scalar, vector or matrix:n,m"

OPTIONS: options.Group = {
    **options.TEXT,
    "wrt": entry(
        "--wrt", "By these; with --order 2, x,y is the mixed one: by x, then by y.", "NAMES"
    ),
    "order": entry("--order", "Differentiate N times (default 1).", "N", kind=int),
    "along": entry(
        "--along", "In a direction: a name for it (x=v) or its values (x=1,0); may be repeated.",
        "NAME=V", kind=list[str],
    ),
    "structured": entry(
        "--structured", "By symmetric matrices as such: 2G - diag(G).", default=False
    ),
    "at": entry("--at", "Evaluate there; may be repeated.", "NAME=VALUE", kind=list[str]),
    "zeros": entry("--zeros", "Where the derivative is zero (one scalar variable).", default=False),
    "range": entry("--range", "Look for zeros from A to B (default -10,10).", "A,B"),
    "taylor": entry("--taylor", "The Taylor series to order N instead.", "N", kind=int),
    "around": entry("--around", "The point of the series: 0 (default), pi/2, a.", "A"),
    "let": entry("--let/--no-let", "Name what stands twice (not in JSON).", default=True),
    "latex": entry("--latex", "Write LaTeX.", default=False),
    "code": entry("--code", "Write a function: numpy, torch or jax.", "LIBRARY"),
    "given": options.VALUES["given"],
    **{name: options.SHOWN[name] for name in ("json", "precision", "color")},
    **{name: options.LIMITS[name] for name in ("max_steps", "max_mem", "timeout")},
}  # fmt: skip


@options.taking(OPTIONS)
def diff(ctx: typer.Context, **given: Any) -> None:
    """A variable is declared by its shape: scalar, vector, vector:n, matrix, matrix:n,m or
    tensor:n,m,p, with symmetric, spd or positive after it. A value declares its shape, and the
    formula is evaluated at it. What is not declared is inferred and told. A program with loops and
    branches is followed along the path that the values take, and the formula holds on that path.

    Example: gradcli diff "x.T @ A @ x" --x vector --A matrix --wrt x
    """
    asked = SimpleNamespace(**given)
    digits = output.read_precision(asked.precision)
    output.check_colour(asked.color)
    if asked.range is not None and not asked.zeros:
        said = f"--range {asked.range}: without --zeros nothing is looked for"
        mend = "--zeros --range A,B looks for zeros of the derivative from A to B"
        raise ValueFault("E0907", said, help=mend)
    if asked.around is not None and asked.taylor is None:
        mend = "--taylor N --around A is the series to order N at A"
        raise ValueFault("E0907", f"--around {asked.around}: there is no series", help=mend)
    here = {name: getattr(asked, name) not in (None, False) for name in OPTIONS}
    for apart in (
        "along structured taylor zeros", "latex code json", "zeros latex code", "at latex code",
        "taylor order", "taylor code", "taylor at", "taylor of", "along of", "structured of",
        "along wrt",
    ):  # fmt: skip
        both = [f"--{name}" for name in apart.split() if here[name]]
        if len(both) > 1:
            raise ValueFault("E0907", f"{both[0]} and {both[1]} exclude each other")
    source, mode = inputs.read_source(asked.expression, asked.pieces, asked.file)
    limits = inputs.limits(asked.max_steps, asked.max_mem)
    watchdog.start(inputs.read_seconds(asked.timeout), limits.memory or 0)
    job = _Job(prepare(source, mode), limits)
    job.program.rebinds &= ctx.obj.prefix != ":"  # a session has tensors
    job.read(inputs.given_texts(job.program, ctx.obj, asked.given), asked.at or ())
    if asked.taylor is not None:
        return job.taylor(asked.wrt, asked.taylor, asked.around or "0", asked.json, asked.latex)
    order = 1 if asked.order is None else asked.order
    result = job.result(asked.wrt, order, asked.along or (), asked.structured, asked.of)
    answer = job.answer(result, asked.structured, bool(asked.at), bool(asked.zeros))
    looked = job.zeros(result, asked.range) if asked.zeros else None
    if asked.code is not None:
        return say(result.code(asked.code), "#", result, constants=False)
    if asked.latex:
        # Needed by --latex only.
        from gradcli.symbolic.printers.latex.writer import result_latex, symbol_of_derivative

        alone = len(result.derivatives) == 1
        left = symbol_of_derivative(next(iter(result.derivatives)), result, result.along)
        text = result_latex(result, asked.let, left if alone else None)
        return say(text + "\n", "%", result)
    watchdog.stop()
    if asked.json:
        return write_json(answer, looked)
    return write_text(answer, looked, asked.let, digits)


class _Job:
    """The program, what its variables are, and the answers to what is asked of it."""

    def __init__(self, program: Program, limits: Limits) -> None:
        self.program = program
        self.limits = limits
        self.declared: dict[str, Any] = {}
        self.values: dict[str, Any] = {}
        self.directions: dict[str, Any] = {}

    def read(self, texts: Mapping[str, str], at: Sequence[str]) -> None:
        """Declarations and values of variables, from their flags and from --at.

        Raises ValueFault: E0901, E0909, E0910, E0912 (a value of another shape than declared).
        """
        for name, text in texts.items():
            if declares(text):
                self.declared[name] = text
            else:
                self.values[name] = _value(name, text)
        for name, value in _pairs("--at", at).items():
            if not self.program.takes(name):
                said = f"--at {name}={value}: the expression has no variable {name!r}"
                mend = f"its variables: {', '.join(self.program.free) or 'none'}"
                raise ValueFault("E0910", said, help=mend)
            try:
                self.values[name] = inputs.read_flag(f"at {name}", value, dtypes.float64)
            except Fault as fault:
                if fault.code != "E0202":
                    raise
                said = f"--at {name}={value}: {value!r} is not a value"
                raise ValueFault("E0901", said) from None
        for name, value in self.values.items():
            as_reals(name, value)
            if name not in self.declared:
                self.declared[name] = Declaration.of_shape(np.shape(value))
        self.declared = dict(declared_as(self.declared))
        sizes_at(self.declared, self.values)

    def result(
        self, wrt: str | None, order: int, along: Sequence[str], structured: bool, of: str | None
    ) -> Any:
        """The derivative that is asked for."""
        if along or structured:
            if structured:
                return directional_derivative.structured(self.program, wrt, self.declared, order)
            return directional_derivative.directional(
                self.program, self.named(along), self.declared, order
            )
        program, rest, first = self.program, of, None
        if of is not None:
            from gradcli.symbolic.program.tape import ending_with  # needed by --of only

            shorter = ending_with(self.program, of)
            if shorter is not None:
                program, rest = shorter, None
        if rest is None:
            try:
                return closed_form(program, wrt, order=order, declared=self.declared)
            except Fault as fault:
                if fault.code != "E0701":
                    raise
                first = fault
            if not _branches(self.program) and of is None:
                raise first
        from gradcli.symbolic.path_diff import diff_program  # for programs with control flow only

        try:
            return diff_program(
                self.program, wrt, order=order, declared=self.declared, values=self.values, of=of,
                limits=self.limits,
            )  # fmt: skip
        except Fault:
            if first is None or len(program.names.module.body) > 1:
                raise
            raise first from None  # a formula with an index or a list, and no path

    def named(self, along: Sequence[str]) -> dict[str, str]:
        """The name of each direction; one given by its values is called dx."""
        found: dict[str, str] = {}
        for name, text in _pairs("--along", along).items():
            if text.isidentifier() and text not in self.program.names.outer:
                found[name] = text
                continue
            direction = f"d{name}"
            while direction in self.program.names.outer:
                direction += "_"
            found[name] = direction
            self.directions[direction] = inputs.read_flag(f"along {name}", text, dtypes.float64)
        return found

    def answer(self, result: Any, formula_alone: bool, at: bool, zeros: bool) -> Answer:
        """The derivatives at the given values, where all that they need is given; else an error
        (E0202) where that is asked for by ``at``. At ``zeros`` none are taken.
        """
        found = Answer(result, {} if zeros else self.values | self.directions, formula_alone)
        if at and not zeros and found.missing:
            missing = ", ".join(found.missing)
            mend = f"add --at {found.missing[0]}=VALUE"
            raise ValueFault("E0202", f"--at: no value for {missing}", help=mend)
        return found

    def zeros(self, result: Any, span: str | None) -> dict[str, Any]:
        """Where each derivative is zero in its own variable."""
        from gradcli.symbolic.roots import no_answer, zeros  # needed by --zeros only

        interval = _interval(span)
        for name in {x for key in result.derivatives for x in key.split(",")}:
            if result.declared[name].rank:
                raise no_answer(
                    f"zeros in {name}, which is a {result.declared[name]}", "only of a scalar"
                )
        return {
            name: zeros(text, name.split(",")[0], self.values, interval)
            for name, text in result.derivatives.items()
        }

    def taylor(self, wrt: str | None, order: int, around: str, as_json: bool, latex: bool) -> None:
        """Print the Taylor series."""
        from gradcli.symbolic.series import taylor  # needed by --taylor only

        name = wrt or (self.program.free[0] if len(self.program.free) == 1 else None)
        if name is None:
            raise ValueFault("E0907", "--taylor: in which variable?", help="add --wrt NAME")
        declared = {k: d for k, d in self.declared.items() if k not in self.values}
        series = taylor(self.program, name, order, around, declared)
        watchdog.stop()
        if as_json:
            output.write_record("diff", taylor=series.record())
        elif latex:
            from gradcli.symbolic.printers.latex.writer import latex as in_latex  # by --latex only

            output.write(in_latex(series.text, {}, False)[0] + "\n")
        else:
            output.write(f"{series.text} + {series.remainder}\n")
            output.write(
                f"# {name} around {around}      checked against the derivatives there: "
                f"{series.max_rel_error:.0e}\n"
            )


def _value(name: str, text: str) -> Any:
    """The value of a variable. Words that are none may be meant as a declaration."""
    try:
        return inputs.read_flag(name, text, dtypes.float64)
    except Fault as fault:
        found = _undeclared(name, text, fault) if text.strip() else None
        if found is None:
            if fault.code == "E0202":
                fault.help = _VALUES
            raise
    raise found


def _undeclared(name: str, text: str, fault: Fault) -> ValueFault | None:
    """The fault for a text that is neither a value nor a declaration; None where it looks like
    neither."""
    kind, traits, sizes = "", [], ""
    for word in text.split():
        head, _, after = word.partition(":")
        sizes = sizes or after
        if head in TRAITS:
            traits.append(head)
        elif head in KINDS:
            kind = head
    if kind or traits:
        kind = kind or ("scalar" if traits == ["positive"] else "matrix")
        whole = " ".join([f"{kind}:{sizes}" if sizes else kind, *traits])
        said = f"--{name}: {text!r} declares no variable: its kind comes first"
        return ValueFault("E0901", said, help=f'write --{name} "{whole}"')
    first, colon, sizes = text.split()[0].partition(":")
    low = first.lower()
    near = low if low in KINDS else closest(low, KINDS)
    if not first.isidentifier() or (near is None and fault.code != "E0202"):
        return None
    said = f"--{name}: {text!r} is neither a value nor a declaration"
    mend = f"did you mean --{name} {near}{colon}{sizes}?" if near else _VALUES
    return ValueFault("E0901", said, help=mend)


def _pairs(option: str, items: Sequence[str]) -> dict[str, str]:
    found = assigned(option, items)
    for item in items:
        parts = re.split(r"[,;]\s*(?=[^\W\d]\w*\s*=)", item)
        if len(parts) > 1:
            mend = " ".join(f"{option} {part.strip()}" for part in parts)
            raise ValueFault("E0907", f"{option} {item}: one variable at a time", help=mend)
    return {name: text.strip() for name, text in found.items()}


def _interval(span: str | None) -> tuple[float, float] | None:
    if span is None:
        return None
    found = inputs.read_flag("range", span, dtypes.float64)
    if np.shape(found) != (2,) or not found[0] < found[1] or not np.all(np.isfinite(found)):
        raise ValueFault("E0907", f"--range {span}: two numbers, the smaller first", help="-5,5")
    return float(found[0]), float(found[1])


def _branches(program: Program) -> bool:
    """Whether a text is more than one formula: then it has a path to follow."""
    control = (
        n.If | n.While | n.For | n.Def | n.With | n.AugAssign | n.Assert | n.Lambda
        | n.Comprehension | n.List | n.Data | n.Tuple | n.Conditional | n.BoolOp | n.Subscript
    )  # fmt: skip
    body = program.names.module.body
    return len(body) != 1 or any(isinstance(node, control) for node in n.walk(body[0]))


# ---- What is shown -------------------------------------------------------------------------------

WIDTH = 100
"""Notes that are longer together get a line each."""


def notes_of(result: Any, constants: bool = True) -> list[str]:
    """What was assumed, on which path the formula holds, and how it was checked."""
    notes = []
    if result.conditions:
        notes.append(conditions_text(result.conditions))
    for name, array in result.constants.items() if constants else ():
        in_a_line = " ".join(show_value(array, None).split()).replace("[ ", "[")
        notes.append(f"{name} = {in_a_line}")
    notes += result.kinks
    if result.assumed:
        assumed = ", ".join(f"{name} {kind}" for name, kind in result.assumed.items())
        notes.append(f"assumed: {assumed}")
    if result.checked is not None:
        points = result.checked["points"]
        where = f"{points} point" + "s" * (points != 1)
        notes.append(f"checked at {where}: {result.checked['max_rel_error']:.0e}")
        if lost := result.checked.get("loses_digits_near"):
            notes.append(f"loses digits or its value near {', '.join(map(_short, lost))}")
    return notes


def _short(size: float) -> str:
    return f"{size:g}".replace("e-0", "e-").replace("e+0", "e")


def say(text: str, comment: str, result: Any, constants: bool = True) -> None:
    """A text for another program, what is to be known about it in comments."""
    watchdog.stop()
    output.write(text)
    for note in notes_of(result, constants):
        output.write(f"{comment} {note}\n")


def write_json(answer: Answer, looked: Mapping[str, Any] | None) -> None:
    """One object: the derivatives, what was assumed and checked, and what was asked besides."""
    record = answer.record()
    if looked is not None:
        record["zeros"] = {name: z.record() for name, z in looked.items()}
    output.write_record("diff", answer.warnings(), **record)


def write_text(answer: Answer, looked: Mapping[str, Any] | None, let: bool, digits: Any) -> None:
    """Print the formulas in rows, each with its value or its zeros below, and the notes last.

    ``let`` gives parts that come up again a name; ``digits`` is the precision of values.
    """
    result, found = answer.result, answer.values
    rows: list[tuple[str, str]] = []
    for name, formula in result.derivatives.items():
        bindings: list[tuple[str, str]] = []
        if let:
            formula, bindings = named(formula, result.declared)
        lines = [formula]
        for i, (short, meaning) in enumerate(bindings):
            lines.append(f"{'where' if not i else '     '} {short} = {meaning}")
        rows.append((result.label(name), "\n".join(lines)))
        if found is not None:
            rows.append(("  at", show_value(found[name], digits)))
        if looked is not None:
            rows.append(("  zero", _zeros_text(name, looked[name], digits)))
    output.write(show_rows(rows) + "\n")
    notes = notes_of(result)
    if answer.settled:
        notes.append(
            "value by the engine, as in gradcli grad: there the formula has none, or rounding "
            "costs it its digits"
        )
    if looked is not None:
        notes += sorted({z.method for z in looked.values()})
    line = "# " + "      ".join(notes)
    output.write((line if len(line) <= WIDTH else "# " + "\n# ".join(notes)) + "\n")
    for warning in answer.warnings():
        output.warn(warning)


def _zeros_text(name: str, z: Any, digits: Any) -> str:
    if z.everywhere:
        return "everywhere"
    if not z.points:
        return "nowhere"
    shown = []
    for x, exact in zip(z.points, z.exact, strict=True):
        shown.append(show_value(np.float64(x), digits) if exact is None else str(exact))
    return ", ".join(f"{name} = {x}" for x in shown)
