"""What each error code means, for ``gradcli why CODE``; loaded by that command only.

``CODES`` maps a code to (title, explanation, example). An example is the text of a program that
makes the error; one that begins with ``>>>`` is Python, one that begins with ``$`` a command, and
those of E0920 to E0925 are rows of a batch. It is empty where it would have to be too large, or
where nothing a user writes makes the error.

    E01xx syntax    E02xx names    E03xx shapes and values    E04xx the graph    E06xx limits
    E07xx closed forms             E09xx commands, flag values and batch rows
"""

from __future__ import annotations

from . import codes_graph, codes_syntax, codes_usage, codes_values

CODES: dict[str, tuple[str, str, str]] = {
    **codes_syntax.CODES,
    **codes_values.CODES,
    **codes_graph.CODES,
    **codes_usage.CODES,
}
