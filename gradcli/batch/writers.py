"""Records of a batch as JSON lines: one record a line, in the order of the rows.

Every line is strict JSON in printable ASCII: NaN and the infinities are strings, control characters
and everything outside ASCII are escapes, so neither a terminal nor a line-wise reader is misled by
an id that a stranger chose. An id that begins with ``=``, ``+``, ``-`` or ``@`` stays as it is: no
spreadsheet takes JSON for formulas. Who turns the records into CSV for one should use
``gradcli.display.records.write_csv``, which puts an apostrophe in front.
"""

from __future__ import annotations

from gradcli.display.records import dump_json


def json_line(record: dict) -> str:
    """One record as a line, with its newline.

    >>> json_line({"row": 1, "id": "a\\u2028b", "ok": True})
    '{"row": 1, "id": "a\\\\u2028b", "ok": true}\\n'
    """
    return dump_json(record) + "\n"
