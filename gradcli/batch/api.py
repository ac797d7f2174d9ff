"""``gradcli.batch.run``: an expression over the rows of arrays, from Python."""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.batch.arrays import columns_by_name, kinds_of, plain
from gradcli.batch.encode import MISFIT, fitting
from gradcli.batch.evaluate import Answers
from gradcli.batch.task import Task
from gradcli.language.diagnostics.render import Diagnostic
from gradcli.language.runtime.run import Limits


class Outcome(NamedTuple):
    """The results of a batch, an array (rows, ...) each.

    value   NaN in a row that failed
    grads   by name
    errors  of rows that failed: {"row": from 0, "code", "message", "help"}; and of rows whose
            results have other shapes than those of the first row
    rows    the numbers of these rows, from 0: fewer than were given under ``where``
    """

    value: np.ndarray
    grads: dict[str, np.ndarray]
    errors: list[dict[str, Any]]
    rows: Sequence[int]


def run(
    expression: str, table: Any, wrt: Sequence[str] | str | None = None, *, grad: bool = True,
    const: Mapping[str, Any] | None = None, where: str | None = None, cotangent: Any = None,
    dtype: str = "float64", seed: int = 0, limits: Limits | None = None, program: bool = False,
) -> Outcome:  # fmt: skip
    """The value of ``expression`` and its gradients in every row of ``table``, at array speed.

    table      a dict of arrays with the rows in front, a structured array, a table of pyarrow or a
               data frame; columns are variables, those that are none may hold anything
    wrt        the variables to differentiate by; all real columns that are read when left out
    grad       False gives values only, of any shape
    const      values that are the same in every row; those without a dtype are real numbers
    where      a condition: only rows for which it holds
    cotangent  weights of a result that is no scalar
    dtype      that the columns are computed in
    program    the text is a program of lines, valid Python, and no one-line expression

    A row that fails harms no other: it is NaN, with an entry in ``errors``. Raises Fault for what
    no row can satisfy: a syntax error, a column that is missing (E0910), arrays that are no rows,
    a variable that is no column of numbers (E0926).

    Example:
        >>> import numpy as np
        >>> import gradcli.batch
        >>> found = gradcli.batch.run("a*x^2", {"a": [1.0, 2.0], "x": [3.0, 4.0]}, wrt="x")
        >>> found.value, found.grads["x"], found.errors
        (array([ 9., 32.]), array([ 6., 16.]), [])
    """
    columns = columns_by_name(table)
    names = [n.strip() for n in wrt.split(",")] if isinstance(wrt, str) else wrt
    options: dict[str, Any] = {
        "wrt": None if names is None else tuple(names), "grad": grad, "dtype": dtype, "seed": seed,
    }  # fmt: skip
    make: Any = _worker
    if const or cotangent is not None or limits is not None:
        make, options = _worker.__wrapped__, {
            **options, "constants": const, "cotangent": cotangent,
            "limits": limits,
        }  # fmt: skip
    kinds = tuple(kinds_of(columns).items())
    worker = make(threading.get_ident(), expression, program, kinds, where, **options)
    count = len(next(iter(columns.values()))) if columns else 0
    kept, answers = worker.answers({n: plain(columns[n], n) for n in worker.wanted}, count)
    rows: Any = range(count)
    place = None
    if not kept.all():
        rows = np.flatnonzero(kept)
        place = np.cumsum(kept) - 1
    errors = [
        _error(position, Diagnostic.of(fault).to_json())
        for position, fault in sorted(answers.errors.items()) if kept[position]
    ]  # fmt: skip
    return _joined(answers, worker.names, rows, place, errors)


@functools.lru_cache(maxsize=64)
def _worker(
    thread: int, expression: str, program: bool, columns: tuple[tuple[str, str], ...],
    where: str | None,
    limits: Limits | None = None, **options: Any,
) -> Any:  # fmt: skip
    """What computes an expression, with its compiled code; each thread has its own."""
    mode = "file" if program else "line"
    task = Task(
        expression, "<expr>", mode, "arrays", limits or Limits(), options, where=where,
        columns=dict(columns),
    )  # fmt: skip
    return task.worker()


def _error(row: int, said: dict[str, Any]) -> dict[str, Any]:
    return {"row": row, **{name: said[name] for name in ("code", "message", "help")}}


def _joined(
    answers: Answers, names: Sequence[str], rows: Sequence[int], place: np.ndarray | None,
    errors: list[dict[str, Any]],
) -> Outcome:  # fmt: skip
    """One array for each result. Results of all rows in one group are taken as they are."""
    groups, count = answers.groups, len(rows)
    if len(groups) > 1:
        groups = sorted(groups, key=lambda g: int(g.positions[0]))
    if len(groups) == 1 and len(groups[0].value) == count:
        grads = groups[0].grads or {}
        return Outcome(groups[0].value, {n: grads[n] for n in names if n in grads}, errors, rows)
    results = [{"": g.value, **(g.grads or {})} for g in groups]
    found = {}
    for n in ["", *names] if not groups else [n for n in ["", *names] if n in results[0]]:
        floats = [r[n].dtype for r in results if r[n].dtype.kind in "fc"]
        dtype = np.result_type(*floats) if floats else np.dtype(np.float64)
        found[n] = np.full((count, *(results[0][n].shape[1:] if groups else ())), np.nan, dtype)
    for group, arrays in zip(groups, results, strict=True):
        fits = np.all([fitting(arrays[n], a.shape[1:], a.dtype) for n, a in found.items()], axis=0)
        errors += [_error(int(p), _MISFIT) for p in group.positions[~fits]]
        if fits.any():
            at = group.positions if place is None else place[group.positions]
            for n, array in found.items():
                array[at[fits]] = arrays[n][fits]
    value = found.pop("")
    return Outcome(value, found, sorted(errors, key=lambda e: int(e["row"])), rows)


_MISFIT = Diagnostic.of(MISFIT).to_json()
