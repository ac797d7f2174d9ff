"""Batches: one expression over many rows, or jobs of any kind, one record out for each.

sources    lines and arrays, cut into chunks     lines      a byte stream, line by line
readers    a line as a row                       fields     a cell or JSON value as a number
columns    lines of a CSV as arrays              plan       paths of an expression, compiled
evaluate   rows to values and gradients          jobs       a line as an expression and command
task       chunks in, results out                encode     results as bytes
workers    processes that compute                worker     what runs in one of them
cluster    Dask workers that compute             session    a whole batch
journal    what is done, to go on after a kill   outputs    the files that are written
table      ``gradcli.batch.run``, for Python
"""

from gradcli.batch.api import Outcome, run

__all__ = ["Outcome", "run"]
