"""The inputs of a command: the program's text, its variables as leaves, the limits of the run."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from gradcli.cli import output, watchdog
from gradcli.cli.arguments import Variables, assigned, no_choice, unknown
from gradcli.cli.streams import opened, standard_input
from gradcli.display import expression
from gradcli.engine import Tensor, dtypes, wrap
from gradcli.engine.creation import factories
from gradcli.engine.creation import generator as random
from gradcli.functions.index import found
from gradcli.language.diagnostics.render import did_you_mean
from gradcli.language.limits.sizes import OUTPUT_LIMIT
from gradcli.language.names.table import NAMES
from gradcli.language.runtime.run import (
    MAX_DEPTH,
    MAX_MEMORY,
    MOST_DEPTH,
    Limits,
    Outcome,
    Program,
    constant,
    prepare,
)
from gradcli.language.syntax.source import Source
from gradcli.language.type_names import a_value
from gradcli.language.values.flags import read_value
from gradcli.language.values.reader import MAX_BYTES, ValueFormFault
from gradcli.ops.errors import Fault, LimitFault, RuntimeFault, ValueFault

_FLOATS = {"float64": dtypes.float64, "float32": dtypes.float32, "float16": dtypes.float16}


class FlagFault(Fault, ValueError):
    """A value on the command line that cannot be read, with carets under it."""


def read_source(
    expression: str | None, pieces: Sequence[str] | None, file: str | None
) -> tuple[Source, str]:
    """The text to work on and its mode. Exactly one way of giving it; E0907, E0904."""
    ways = [w for w in (expression, pieces, file) if w]
    if len(ways) != 1:
        said = "give one expression, or -e pieces, or -f FILE"
        said = said if ways else "there is nothing to compute"
        raise ValueFault("E0907", said, help='gradcli grad "2*dot(x,x)" --x 0,1,2,3')
    if pieces:
        return Source("\n".join(pieces), "<expr>"), "line"
    name = file or expression or ""
    if name == "-":
        text = _decoded(standard_input().buffer.read(_MOST + 1), "<stdin>")
        return Source(text, "<stdin>"), "line" if file is None else "file"
    if file is None:
        return Source(name, "<expr>"), "line"
    return Source(read_text(file), os.path.basename(file)), "file"


_MOST = 4 << 20


def read_text(file: str) -> str:
    """A text file, whole; ``examples/...`` are there anywhere. Raises ValueFault (E0904)."""
    from gradcli.cli.examples import packaged  # a flag alone reads no file

    file = packaged(file) or file
    try:
        with opened(file) as f:
            return _decoded(f.read(_MOST + 1), file)
    except OSError as problem:
        raise ValueFault("E0904", f"cannot read {file}: {problem.strerror}") from None


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise ValueFault(
            "E0904", f"{name} is not UTF-8 text (byte {problem.start})", help="save it as UTF-8"
        ) from None


def limits(
    max_steps: int, max_mem: str, max_depth: int = MAX_DEPTH, max_output: int = OUTPUT_LIMIT
) -> Limits:
    """The limits of a run from their options. Raises ValueFault (E0907)."""
    size = read_size(max_mem)
    for name, number, most in (
        ("--max-steps", max_steps, None), ("--max-depth", max_depth, MOST_DEPTH),
        ("--max-output", max_output, None),
    ):  # fmt: skip
        if number < 1 or (most is not None and number > most):
            bound = f"1 to {most}" if most else "a whole number above 0"
            raise ValueFault("E0907", f"{name} {number}: {bound}")
    return Limits(max_steps, size, max_depth, max_output)


def read_seconds(timeout: float) -> float:
    """``--timeout``, checked. Raises ValueFault (E0907)."""
    if not 0 <= timeout < 1e9:
        raise ValueFault(
            "E0907", f"--timeout {timeout:g}: seconds, 0 or more", help="0 means no limit"
        )
    return timeout


def read_size(text: str) -> int:
    """``512M``, ``2G``, ``1e9`` as bytes. Raises ValueFault (E0907)."""
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}.get(text[-1:].upper(), 1)
    try:
        size = float(text[:-1] if unit > 1 else text) * unit
        if size > 0:
            return int(size)
    except (ValueError, OverflowError):
        pass
    raise ValueFault("E0907", f"--max-mem: {text!r} is not a size", help="write 512M or 2G")


DEFAULT_MEMORY = f"{MAX_MEMORY >> 30}G"


def set_dtype(name: str | None, program: Program | None = None) -> dtypes.DType:
    """The float type of this run: ``--dtype``, else float32 for ``import torch``, else float64."""
    if name is None:
        name = "float32" if program is not None and program.names.uses_torch else "float64"
    if name.removeprefix("torch.").removeprefix("gradcli.") not in _FLOATS:
        raise no_choice("--dtype", name, tuple(_FLOATS))
    dtype = _FLOATS[name.rpartition(".")[2]]
    dtypes.set_default_dtype(dtype)
    return dtype


def load(
    source: Source, mode: str, variables: Variables, given: Sequence[str] | None,
    file: str | None, dtype: str | None, rng: int | None, device: str, wrt: str | None = None,
    memory: int | None = None, fill: str | None = None,
) -> tuple[Program, dict[str, Tensor], list[str]]:  # fmt: skip
    """The program, its variables as leaves, and the names to differentiate by.

    ``memory`` bounds the bytes of all values together, None where nothing does. ``fill`` is the
    value of a variable that is given none, where it is the only one.
    Raises Fault: E0902 for a flag that no variable takes, E0202 for a variable without a value,
    E09xx for values that cannot be read.
    """
    program = prepare(source, mode)
    chosen = set_dtype(dtype, program)
    if rng is not None:
        random.manual_seed(rng)
    texts = given_texts(program, variables, given)
    values: dict[str, Any] = _from_json(file, chosen) if file else {}
    unread = [name for name in values if not program.takes(name)]
    if unread:
        names = ", ".join(map(repr, unread))[:60]
        warnings.warn(f"--vars {file}: the program reads no {names}", stacklevel=2)
    values = {name: value for name, value in values.items() if program.takes(name)}
    missing = [name for name in program.free if name not in values and name not in texts]
    if fill is not None and len(missing) == 1:
        texts[missing[0]] = fill
    values |= read_flags(texts, chosen, memory, values)
    program.origins |= {name: f"--{name}" for name in texts}
    program.names.require(values)
    leaves = {}
    for name, value in values.items():
        # Nobody else has an array that was read here: it need not be copied.
        leaf = (factories.as_tensor if np.ndim(value) else factories.tensor)(value)
        if leaf.dtype.differentiable:
            leaf.requires_grad_()
        leaves[name] = on_device(leaf, device)
    watchdog.hold_memory(device)
    return program, leaves, wanted(wrt, leaves, program)


def given_texts(
    program: Program, variables: Variables, given: Sequence[str] | None
) -> dict[str, str]:
    """The texts of the variables, from flags and ``--set``.

    One that a file does not read is a note; of a formula, which stands on the command line, and
    where a name is near, it is an error. Raises ValueFault (E0902, E0907, E0909).
    """
    texts = dict(variables.given)
    for name, value in assigned("--set", given).items():
        if name in texts:
            said = f"--{name} and --set {name} give one variable"
            raise ValueFault("E0909", said, help="give each variable once")
        texts[name] = value
    for name in list(texts):
        if not program.takes(name):
            if name in program.names.bound:
                mend = f"begin with {name} = {name}0, and give --{name}0 a value"
                raise ValueFault("E0902", f"--{name}: the program sets `{name}` itself", help=mend)
            fault = unknown(name, variables, sorted(program.names.outer.keys() - set(NAMES)))
            near = fault.help is not None and fault.help.startswith("did you mean")
            if program.formula or near or not name.isidentifier() or name.startswith("_"):
                raise fault
            # A file is run with the flags of its other versions, too.
            warnings.warn(f"--{name}: the program reads no variable of that name", stacklevel=2)
            del texts[name]
    return texts


def names_in(flag: str, text: str) -> list[str]:
    """The names that a flag lists, each once. Raises ValueFault (E0910) where it lists none."""
    names = dict.fromkeys(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueFault("E0910", f"{flag} names nothing", help=f"{flag} x,y; or leave it out")
    return list(names)


def wanted(wrt: str | None, leaves: Mapping[str, Tensor], program: Program) -> list[str]:
    """The variables to differentiate by: all, or those of ``--wrt``. Raises ValueFault (E0910)."""
    if wrt is None:
        order = [name for name in program.names.outer if name in leaves]
        return [name for name in order if leaves[name].requires_grad]
    chosen = names_in("--wrt", wrt)
    for name in chosen:
        if name not in leaves:
            mend = did_you_mean(name, leaves, f"given: {', '.join(leaves) or 'none'}")
            if name in program.names.bound:
                mend = (
                    f"the program sets {name} itself: without --wrt all leaves that it makes count"
                )
            raise ValueFault(
                "E0910", f"--wrt {name}: no variable of that name has a value", help=mend
            )
        if not leaves[name].requires_grad:
            said = f"--wrt {name}: {leaves[name].dtype.name} values have no derivative"
            help = f"give {name} as numbers without the int: or bool: prefix"
            raise ValueFault("E0910", said, help=help)
    return chosen


def read_flags(
    texts: Mapping[str, str], dtype: dtypes.DType, memory: int | None,
    beside: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:  # fmt: skip
    """The values that the texts of flags describe, by name.

    ``memory`` bounds the bytes of all of them and of the values ``beside`` them; None: nothing.
    """
    found: dict[str, Any] = {}
    room = None if memory is None else memory - sum(np.asarray(v).nbytes for v in beside.values())
    for name, text in texts.items():
        found[name] = read_flag(name, text, dtype, most=None if room is None else max(room, 0))
        if room is not None:
            room -= found[name].nbytes
    return found


def read_flag(
    name: str, text: str, dtype: dtypes.DType, *, files: bool = True, most: int | None = None
) -> Any:
    """The value that a flag's text describes, with carets under what is wrong in it.

    ``files``: whether ``@file`` may be read. A flag comes from the user, a text inside a data file
    from anybody. ``most``: the bytes that the value may take.
    """
    stdin = standard_input().buffer if files and "@-" in text else None
    if most is None:
        most = watchdog.memory() or MAX_BYTES
    try:
        value = read_value(
            text, dtype="float64", evaluate=partial(_constant, most), stdin=stdin,
            allow_files=files, max_bytes=most,
        )  # fmt: skip
    except ValueFormFault as problem:
        fault = FlagFault(problem.code, f"--{name}: {problem.message}", help=problem.help)
        fault.source = Source(text, "")  # type: ignore[attr-defined]
        fault.labels = [(problem.start, problem.end, "", True)]  # type: ignore[attr-defined]
        raise fault from None
    return value if _NAMED.search(text) else _narrowed(f"--{name}", value, dtype)


_NAMED = re.compile(r"\b(float64|double|complex|complex128)\s*:")


def _narrowed(said: str, value: Any, dtype: dtypes.DType) -> Any:
    """The value in the run's dtype. Raises ValueFault (E0901) for a number too large for it."""
    if dtype is dtypes.float64 or value.dtype not in (np.float64, np.complex128):
        return value
    if value.dtype.kind == "c" and not dtype.is_complex:
        dtype = dtypes.complex64
    with np.errstate(over="ignore"):
        found = value.astype(dtype.numpy)
    if np.any(np.isinf(found) & np.isfinite(value)):
        mend = "write inf for infinity, or choose a wider --dtype"
        raise ValueFault("E0901", f"{said}: a number is too large for {dtype.name}", help=mend)
    return found


def _constant(memory: int, text: str) -> Any:
    """A constant expression in a value: ``pi/4``, ``randn(3,3)``."""
    try:
        found = constant(text, Limits(100_000, memory))
    except LimitFault as fault:
        if fault.code in ("E0602", "E0608"):  # limits of the command: other values take as much
            fault.source = None  # type: ignore[attr-defined]
        elif fault.code == "E0601":
            fault.help = "a value has no longer computation; write it in the program"
        raise
    if found is None:
        raise ValueFault("E0901", f"{text!r} has no value")
    return found


def from_json(option: str, file: str) -> Any:
    """What a JSON file holds. Raises ValueFault (E0904), for digits that overflow too, and (E0924)
    for a name that stands twice."""
    import json  # needed by --vars and --against-file only

    from gradcli.batch.readers import Twice, without_twins
    from gradcli.language.values.arrays import finite

    text = read_text(file)
    if len(text.encode()) > _MOST:
        mend = "large arrays are read as a value: --x @x.npy"
        raise ValueFault("E0904", f"{option} {file} is larger than 4 MiB", help=mend)
    try:
        return json.loads(
            text, parse_float=finite, parse_constant=str, object_pairs_hook=without_twins
        )
    except Twice as name:
        said = f"{option} {file}: {str(name)[:60]!r} stands twice"
        raise ValueFault("E0924", said, help="keep one of them") from None
    except OverflowError as number:
        problem = f"{str(number)[:20]} is too large for float64"
        raise ValueFault("E0904", f"{option} {file}: {problem}", help="write Infinity") from None
    except (ValueError, RecursionError) as problem:
        raise ValueFault("E0904", f"{option} {file}: not JSON: {problem}") from None


def _from_json(file: str, dtype: dtypes.DType) -> dict[str, Any]:
    """Variables from a JSON object of numbers, lists and value texts."""
    from gradcli.language.values.arrays import from_json as array_of  # needed by --vars only

    found = from_json("--vars", file)
    if not isinstance(found, dict):
        raise ValueFault("E0904", f"--vars {file}: not a JSON object", help='{"x": [1, 2], "a": 3}')
    values = {}
    for name, value in found.items():
        if isinstance(value, str):
            values[name] = read_flag(name, value, dtype, files=False)
            continue
        said = f"--vars {file}: {name}"
        try:
            array = array_of(value)[()]
        except (ValueError, TypeError, OverflowError):
            said += " is not a number or a table of numbers"
            mend = "write NaN for a number that is missing"
            raise ValueFault("E0904", said, help=mend) from None
        values[name] = _narrowed(said, array, dtype)
    return values


def on_device(leaf: Tensor, device: str) -> Tensor:
    """The leaf where it is to be computed with. Raises RuntimeFault (E0905) without a GPU."""
    if device == "cpu":
        return leaf
    if device.partition(":")[0] != "cuda":
        raise no_choice("--device", device, ("cpu", "cuda"))
    try:
        import cupy  # optional, slow to load
    except ImportError:
        said = "--device cuda needs CuPy, which is not installed"
        raise RuntimeFault("E0905", said, help="pip install gradcli[cuda]") from None
    try:
        moved = wrap(cupy.asarray(leaf.array), leaf.dtype)
    except cupy.cuda.runtime.CUDARuntimeError as problem:
        raise RuntimeFault(
            "E0905", f"--device cuda: {problem}", help="--device cpu always works"
        ) from None
    return moved.requires_grad_(leaf.requires_grad)


def execute(
    program: Program, leaves: Mapping[str, Tensor], bounds: Limits, of: str | None = None,
    long: Callable[[], Any] | None = None, quiet: bool = False,
) -> tuple[Tensor, Outcome]:  # fmt: skip
    """Run, and the result as a Tensor: the last expression, or the variable ``of``. ``quiet``: its
    prints are not shown."""
    write = _unseen if quiet else output.inert_writer(sys.stderr)
    outcome = program.run(leaves, limits=bounds, write=write, long=long)
    value = program.result(outcome, of)
    if value is None and of is None and (value := program.differentiated(outcome)) is None:
        mend = "end with an expression, or name one with --of NAME"
        raise ValueFault("E0314", "the text ends without a value", help=mend)
    return as_result(value), outcome


def _unseen(_text: str) -> None:
    pass


def as_result(value: Any) -> Any:
    """A program's value as a Tensor (values of other readings pass). Raises ValueFault (E0314)."""
    if getattr(value, "__gradcli_rank__", 0):
        return value
    try:
        if isinstance(value, list | tuple) and any(
            getattr(v, "__gradcli_rank__", 0) for v in value
        ):
            # A list of results is one result with a row for each; stacking keeps the graph.
            return found("overloads.stack")(value)
        return factories.as_tensor(value)
    except Fault:
        said = f"the result is {a_value(value)}, not a number or a tensor"
        mend = "end with an expression that has a numeric value, or name one with --of"
        if isinstance(value, int):
            said, mend = "the result is a whole number past 64 bits", "write a float: 2.0**100"
        raise ValueFault("E0314", said, help=mend) from None


def need_scalar(value: Tensor, program: Program) -> None:
    """Check that a gradient makes sense without a cotangent. Raises RuntimeFault (E0403)."""
    mend = "sum(...) it, or give --cotangent (vector-Jacobian product), or use gradcli jac"
    try:
        expression.need_scalar(value, mend)
    except RuntimeFault as fault:
        mark_last(fault, program)
        raise


def mark_last(fault: Any, program: Program) -> None:
    """Put a fault under the text's last statement."""
    body = program.names.module.body
    if body:
        fault.source = program.source
        fault.labels = [(body[-1].start, body[-1].end, "", True)]
