"""``gradcli plot``: a value and its derivative over a range of one variable."""

from __future__ import annotations

import shutil
import sys
from typing import Annotated, Any

import numpy as np

from gradcli.cli import inputs, options, output, runner, watchdog
from gradcli.cli.job import Job
from gradcli.cli.options import option
from gradcli.display.expression import gradients
from gradcli.display.plot import WIDTH, save_curves, show_curves
from gradcli.display.records import write_csv
from gradcli.engine import Tensor, wrap
from gradcli.ops.errors import RuntimeFault, ValueFault

Over = Annotated[str | None, option("--over", "The variable along the axis.", "NAME")]
Out = Annotated[str | None, option("--out", "A picture instead: .png, .svg or .pdf.", "FILE")]
Ascii = Annotated[bool, option("--ascii", "Plain characters only.")]
MOST = 1_000_000

RANGE = "-5:5.001:0.05"
"""The points of a variable that is given none."""
AROUND = 5.0
"""How far points go to both sides of a number."""


@options.command(options.TEXT, options.VALUES, options.SHOWN, options.LIMITS, fill=RANGE)
def plot(
    job: Job, over: Over = None, out: Out = None, ascii: Ascii = False,
    run_by: runner.Runner = "auto",
) -> None:  # fmt: skip
    """Without a range a variable goes from -5 to 5, or that far around its value.

    Example: gradcli plot "sin(x)" --x 0:10:0.1
    """
    chosen = _chosen(job, over)
    name = _axis(job, over)
    points = job.leaves[name].detach().cpu().array
    values, slopes = _sampled(job, name, points, runner.checked(run_by))
    if chosen:
        points, values, slopes = _finite(points, values, slopes)
    watchdog.stop()
    if np.isnan(values).all():
        said = f"the value is NaN at each of the {points.size} points of {name}"
        mend = "gradcli doctor says where it comes from; give another range"
        raise RuntimeFault("E0501", said, help=mend)
    form = output.form_of(job.json, job.format)
    text = _shortened(job.program.source.text)
    curves = [(text, values), (f"d/d{name}", slopes)]
    if out is not None:
        _save(out, name, points, curves)
    elif form == "text":
        plain = ascii or not _draws(sys.stdout)
        output.write(show_curves(points, curves, width=_width(), ascii=plain) + "\n")
    else:
        _emit(job, form, name, points, values, slopes)


def _chosen(job: Job, over: str | None) -> bool:
    """Whether the range was not given: a single number becomes the middle of one."""
    rows = [n for n, leaf in job.leaves.items() if leaf.array.ndim == 1 and leaf.array.size > 1]
    numbers = [
        n for n, leaf in job.leaves.items() if not leaf.array.shape and leaf.dtype.differentiable
    ]
    name = over or next(iter(rows), None) or (numbers[0] if len(numbers) == 1 else None)
    if name in rows:
        here = job.leaves[name].detach().cpu().array
        filled = inputs.read_flag(name, RANGE, job.leaves[name].dtype)
        return here.shape == filled.shape and bool(np.array_equal(here, filled))
    if name not in numbers or rows or not np.isfinite(job.leaves[name].detach().cpu().array):
        return False
    leaf = job.leaves[name]
    middle = float(leaf.array)
    points = np.linspace(middle - AROUND, middle + AROUND, 201).astype(leaf.array.dtype)
    job.leaves[name] = wrap(points, leaf.dtype).requires_grad_()
    return True


def _finite(points: Any, values: Any, slopes: Any) -> tuple[Any, Any, Any]:
    """The part of a range that was chosen here in which there are values."""
    have = np.flatnonzero(np.isfinite(values))
    if have.size < 2:
        return points, values, slopes
    part = slice(have[0], have[-1] + 1)
    return points[part], values[part], slopes[part]


def _width() -> int:
    """The columns of a canvas: the terminal's, where there is one, but for the numbers."""
    if not sys.stdout.isatty():
        return WIDTH
    return max(16, min(shutil.get_terminal_size().columns - 14, 200))


def _axis(job: Job, over: str | None) -> str:
    """The variable that is swept. Raises ValueFault (E0910)."""
    rows = [name for name, leaf in job.leaves.items() if leaf.array.ndim == 1]
    name = over or next((n for n in rows if job.leaves[n].array.size > 1), None)
    if name is None:
        mend = "give a range: --x 0:10:0.1, or say which variable with --over NAME"
        raise ValueFault("E0910", "no variable has points to plot over", help=mend)
    if name not in rows or job.leaves[name].array.size < 2:
        said = f"--over {name}: not a variable with two points or more"
        raise ValueFault("E0910", said, help=f"a range, as in --{name} 0:10:0.1")
    if not job.leaves[name].dtype.differentiable:
        raise ValueFault("E0910", f"--over {name}: its points have to be floats")
    if job.leaves[name].array.size > MOST:
        raise ValueFault("E0910", f"--over {name}: more than {MOST:,} points")
    if not np.isfinite(job.leaves[name].detach().cpu().array).all():
        raise ValueFault("E0910", f"--over {name}: its points have to be finite")
    return name


def _sampled(job: Job, name: str, points: Any, run_by: str) -> tuple[Any, Any]:
    """The value and its derivative at every point, each point a run of its own."""
    job.fix([name])
    dtype = job.leaves[name].dtype
    values, slopes = np.empty(points.size), np.empty(points.size)
    compiled: Any = None
    first = {"auto": runner.WARM, "generated": 1}.get(run_by)
    if run_by == "auto" and len(points):
        compiled = runner.where_long(job, name, wrap(points[0], dtype))
    for i, point in enumerate(points):
        if i == first and compiled is None:
            compiled = runner.generated(job, [name], inputs=[wrap(point, dtype)])
        if compiled is not None:
            values[i], (slopes[i],) = compiled.value_and_grad(point)
            continue
        x = wrap(point, dtype).requires_grad_()
        value = job.result({name: x})
        if value.array.size != 1 or value.dtype.is_complex:
            said = f"at one point the result has shape {tuple(value.array.shape)}"
            mend = "sum(...) it, or take one entry"
            fault = RuntimeFault("E0403", f"{said}; a curve needs a real number", help=mend)
            inputs.mark_last(fault, job.program)
            raise fault
        values[i] = value.array.item()
        slopes[i] = _slope(value, x)
    return values, slopes


def _slope(value: Any, x: Tensor) -> float:
    return gradients(value.reshape(()), [x], None)[0].array.item()


def _shortened(text: str) -> str:
    first = text.strip().splitlines()[-1] if text.strip() else ""
    return first if len(first) <= 60 else first[:57] + "..."


def _draws(stream: Any) -> bool:
    """Whether the stream can take the characters of the canvas."""
    try:
        "⡇│┤└─".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _save(out: str, name: str, points: Any, curves: list[tuple[str, Any]]) -> None:
    try:
        save_curves(out, name, points, curves)
    except ImportError:
        said = "a picture needs matplotlib, which is not installed"
        mend = "pip install gradcli[plot] (.png, .svg, .pdf), or leave out --out: a plot in text"
        raise RuntimeFault("E0905", said, help=mend) from None
    except ValueError:
        said = f"no form of picture for {out}"
        raise ValueFault("E0904", said, help=".png, .svg or .pdf") from None
    except OSError as problem:
        said = f"cannot write {out}: {problem.strerror or problem}"
        raise ValueFault("E0904", said) from None


def _emit(job: Job, form: str, name: str, points: Any, values: Any, slopes: Any) -> None:
    if form == "csv":
        header = [name, "value", f"d/d{name}"]
        output.write(write_csv([header, *np.stack([points, values, slopes], 1).tolist()]))
        return
    dtype = job.leaves[name].dtype
    parts = [
        (f"points.{name}", "", wrap(points, dtype), ""),
        ("value", "value", wrap(values, dtype), ""),
        (f"grads.{name}", f"d/d{name}", wrap(slopes, dtype), ""),
    ]
    job.emit("plot", parts)
