"""Curves as text: a value and its slope over a range, in panels one below the other.

    sin(x)
       1 ┤⡠⠒⠢⡀     ⡠⠒⠢⡀
         │    ⠱⡀  ⡜    ⠱
      -1 ┤     ⠑⠒⠊
         └──────────────
          0           10

Each character of the canvas holds two by four dots (Braille), or one (``ascii``). Where a curve
leaves the canvas, because a pole would flatten all else, it is cut at the edge and the panel says
so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.display.values import show_value

WIDTH, HEIGHT = 64, 12
"""Characters of a panel's canvas."""
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def show_curves(
    x: Any, curves: Sequence[tuple[str, Any]], *, width: int = WIDTH, height: int = HEIGHT,
    ascii: bool = False,
) -> str:  # fmt: skip
    """A panel for each ``(title, values)``, over the points ``x`` (1-d, rising or falling).

    Values that are not finite leave a gap. The text has no newline at its end.

    >>> print(show_curves([0, 1, 2], [("x**2", [0.0, 1.0, 4.0])], width=9, height=3, ascii=True))
    x**2
      4 |       **
        |      *
      0 |******
        +---------
         0       2
    """
    points = np.asarray(x, dtype=np.float64)
    return "\n\n".join(
        _panel(title, points, np.asarray(values, np.float64), width, height, ascii)
        for title, values in curves
    )


def bounds(values: Any) -> tuple[float, float, bool]:
    """The least and the largest value to show, and whether the curve goes past them.

    A few points near a pole do not decide: what is more than twenty times as far out as nine
    tenths of the points is cut.
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0, False
    low, high = float(finite.min()), float(finite.max())
    inner_low, inner_high = (float(v) for v in np.quantile(finite, (0.05, 0.95)))
    spread = inner_high - inner_low
    cut = spread > 0 and high - low > 20 * spread
    if cut:
        low, high = max(low, inner_low - spread / 2), min(high, inner_high + spread / 2)
    if low == high:
        low, high = low - abs(low) / 2 - 0.5, high + abs(high) / 2 + 0.5
    return low, high, cut


def _panel(title: str, x: Any, y: Any, width: int, height: int, ascii: bool) -> str:
    low, high, cut = bounds(y)
    across, down = (1, 1) if ascii else (2, 4)
    lit = _lit(x, y, low, high, width * across, height * down)
    rows = [_row(lit, r, across, down) for r in range(height)]
    bar, tick, corner, line = "||+-" if ascii else "│┤└─"
    labels = {0: show_value(high, 4), height - 1: show_value(low, 4)}
    margin = 1 + max(map(len, labels.values()))
    said = [title + ("   (cut at a pole)" if cut else "")]
    for r, row in enumerate(rows):
        mark = tick if r in labels else bar
        said.append(f" {labels.get(r, ''):>{margin}} {mark}{row}".rstrip())
    said.append(f" {'':>{margin}} {corner}{line * width}")
    first, last = show_value(float(x[0]), 4), show_value(float(x[-1]), 4)
    said.append(f" {'':>{margin}}  {first}{last:>{max(1, width - len(first))}}")
    return "\n".join(said)


def _lit(x: Any, y: Any, low: float, high: float, columns: int, rows: int) -> Any:
    """Which dots a curve passes through; neighbours are joined by vertical runs."""
    lit = np.zeros((rows, columns), bool)
    span = float(x[-1] - x[0]) or 1.0
    finite = np.isfinite(y)
    across = np.clip(np.rint((x - x[0]) / span * (columns - 1)), 0, columns - 1).astype(int)
    # What lies beyond the canvas stays next to it, so that a run to it leaves by the edge.
    down = np.rint((high - np.where(finite, y, 0.0)) / (high - low) * (rows - 1))
    down = np.clip(down, -1, rows).astype(int)
    for i in np.flatnonzero(finite):
        start = i - 1 if i and finite[i - 1] else i
        steps = max(abs(across[i] - across[start]), abs(down[i] - down[start]))
        part = np.arange(steps + 1) / max(steps, 1)
        r, c = (a[start] + np.rint((a[i] - a[start]) * part).astype(int) for a in (down, across))
        inside = (r >= 0) & (r < rows)
        lit[r[inside], c[inside]] = True
    return lit


def _row(lit: Any, r: int, across: int, down: int) -> str:
    if down == 1:
        return "".join("*" if dot else " " for dot in lit[r])
    cells = lit[r * down : (r + 1) * down].reshape(down, -1, across)
    codes = np.einsum("ica,ia->c", cells, _DOTS)
    return "".join(chr(0x2800 + code) if code else " " for code in codes.tolist())


def save_curves(path: str, name: str, x: Any, curves: Sequence[tuple[str, Any]]) -> None:
    """The same curves as a picture (PNG, SVG, PDF by the file's ending), drawn by matplotlib.

    Raises ImportError without matplotlib, ValueError for an ending that it does not know, OSError
    where the file cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for title, values in curves:
        shown = np.asarray(values, np.float64)
        # A "$" would begin a formula of matplotlib's own.
        axes.plot(x, np.where(np.isfinite(shown), shown, np.nan), label=title.replace("$", r"\$"))
    limits = [bounds(np.asarray(values, np.float64)) for _, values in curves]
    if any(cut for _, _, cut in limits):
        axes.set_ylim(min(low for low, _, _ in limits), max(high for _, high, _ in limits))
    axes.set_xlabel(name)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)
