"""Further syntax errors of a text after the first, so that one run reports several.

The statement with the error is replaced by ``pass``, with the block under it, and the rest is
parsed again. That is sound only where the end of the statement is certain: it stands on one line
and its brackets and quotes are closed there. Elsewhere the search ends, because the next error
might be a consequence of the first. (Unknown names are all found at once, see ``unknown_names``.)
"""

from __future__ import annotations

from gradcli.language.diagnostics.parsing import parse
from gradcli.language.diagnostics.render import SyntaxFault
from gradcli.language.diagnostics.unknown_names import MOST
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault

LATE = ("else", "elif", "except", "finally")
"""Words that go on with the statement before them."""


def further(fault: Fault) -> list[Fault]:
    """The mistakes after ``fault`` in its own source, in order; empty where none is certain."""
    source = getattr(fault, "source", None)
    if not isinstance(fault, SyntaxFault) or source is None:
        return []
    if not fault.code.startswith("E01") or fault.further:
        return list(fault.further)
    if "\n" not in source.text:
        return []
    found: list[Fault] = []
    text: str = source.text
    last = fault
    while len(found) < MOST - 1:
        shorter = _without(text, last.start)
        if shorter is None:
            break
        text = shorter
        try:
            parse(Source(text, source.name), "file")
            break
        except SyntaxFault as next_fault:
            if next_fault.start <= last.start:
                break
            next_fault.source = source
            found.append(next_fault)
            last = next_fault
        except Fault:
            break
    return found


def _without(text: str, at: int) -> str | None:
    """The text with the statement around ``at`` blanked out; None where its limits are unsure."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    line = text[start:end]
    bare = line.split("#")[0]
    margin = len(line) - len(line.lstrip())
    if (
        any(bare.count(a) != bare.count(b) for a, b in ("()", "[]"))
        or bare.count("'") % 2
        or bare.count('"') % 2
        or line.rstrip().endswith("\\")
        or len(line.strip()) < len("pass")
        or (text[:start].count('"""') + text[:start].count("'''")) % 2
    ):
        return None
    while True:  # the block under it, and what goes on with it
        next_end = text.find("\n", end + 1)
        next_end = len(text) if next_end < 0 else next_end
        following = text[end + 1 : next_end]
        deeper = len(following) - len(following.lstrip()) > margin or not following.strip()
        late = following.strip().startswith(LATE)
        if end >= len(text) or not (deeper or late):
            break
        end = next_end
    blank = "".join("\n" if char == "\n" else " " for char in text[start:end])
    filled = blank[:margin] + "pass" + blank[margin + 4 :]
    return text[:start] + filled + text[end:]
