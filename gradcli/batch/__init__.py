"""Batches: one expression over many rows, or jobs of any kind, one record out for each.

lines      rows from the lines of a stream       arrays     rows from arrays, NPY, NPZ, Parquet
chunk      following rows, cut off of those      readers    a line as a row
fields     a cell or JSON value as a number      columns    lines of a CSV as arrays
task       chunks of rows in, results out        jobs       chunks of jobs in, results out
evaluate   rows to values and gradients          plan       paths of an expression, compiled
encode     results as bytes                      outputs    the files that are written
session    a whole batch, in this process        workers    processes that compute
worker     what runs in one of them              cluster    Dask workers that compute
journal    what is done, to go on after a kill   api        ``gradcli.batch.run``, for Python
"""

import gradcli.transforms  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.batch.api import Outcome, run

__all__ = ["Outcome", "run"]
