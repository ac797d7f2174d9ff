"""Batches: one program on many rows, in this process or over several, one record out for each.

readers    JSON lines and CSV as rows            evaluate   one row to one record
lines      a byte stream, line by line           worker     the process that evaluates rows
fields     a cell or a JSON value as a number    workers    rows handed out to processes
writers    records in the order of their rows    run        a whole batch in this process
"""
