"""Help for the text of a flag's value that is not a number: the number that was probably meant.

Loaded after an error. A guess is offered only where it reads as a number.
"""

from __future__ import annotations

import re
from contextlib import suppress

_LOOK_ALIKES = str.maketrans({"o": "0", "O": "0", "l": "1", "I": "1"})
_MINUSES = str.maketrans(dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\u2014\ufe63\uff0d", "-"))
_SPACES = str.maketrans(dict.fromkeys("\u00a0\u202f\u2009\u2007\u3000\ufeff\u200b", None))


def mend(text: str, kind: str = "f") -> str | None:
    """A help line for `text`, which should have been a number of NumPy kind `kind`.

    >>> mend("2o"), mend("1.000.000"), mend("3.5kg")
    ('did you mean 20?', 'did you mean 1000000?', 'did you mean 3.5?')
    >>> mend("apple")
    """
    if len(text) > 100:  # no slip of the finger
        return None
    if text.lower() in ("true", "false"):
        return f"did you mean bool:{text.lower()}?"
    if not text.isascii():
        return _mend_unicode(text, kind)
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?", text):
        return f"the exponent has no digits; did you mean {text}0?"
    guess = _guess(text, kind)
    if guess is not None:
        return f"did you mean {guess}?"
    if re.search(r"[\[\](){}]", text):
        return "is a bracket missing?"
    return None


def _guess(text: str, kind: str) -> str | None:
    pieces = text.split()
    if len(pieces) > 1 and all(_reads(piece, kind) for piece in pieces):
        return ",".join(pieces)
    candidates = [text.translate(_LOOK_ALIKES)]
    if re.fullmatch(r"[+-]?\d{1,3}(\.\d{3}){2,}", text):
        candidates.append(text.replace(".", ""))  # 1.000.000
    if re.fullmatch(r"[+-]?0[xX][0-9a-fA-F]{1,13}|[+-]?0[bB][01]{1,52}", text):
        candidates.append(str(int(text, 0)))
    if re.fullmatch(r"[+-]?[\d.]+[dD][+-]?\d+", text):
        candidates.append(re.sub("[dD]", "e", text))  # Fortran
    if re.fullmatch(r"[+-]?[\d.]+[iI]", text) or re.fullmatch(r".*[+-][\d.]*[iI]", text):
        imaginary = text[:-1] + "j"
        with suppress(ValueError):
            complex(imaginary)
            return imaginary
    candidates.append(re.sub(r"_+", "_", text).strip("_"))
    candidates.append(text.strip("'\"$ "))
    if unit := re.fullmatch(r"([+-]?(?:\d+\.?\d*|\.\d+))[A-Za-z_%]+", text):
        candidates.append(unit[1])
    for candidate in candidates:
        if candidate != text and _reads(candidate, kind):
            return candidate
    return None


def _reads(text: str, kind: str) -> bool:
    try:
        number = float(text)
        return kind not in "iu" or number.is_integer()
    except ValueError:
        return False


def _mend_unicode(text: str, kind: str) -> str:
    import unicodedata  # large tables, not needed for ASCII

    plain = text.translate(_SPACES).translate(_MINUSES)
    plain = unicodedata.normalize("NFKC", plain).translate(_MINUSES)
    odd = next(character for character in text if not character.isascii())
    name = f"U+{ord(odd):04X}"
    if plain.isascii() and _reads(plain, kind):
        what = "this minus sign" if odd.translate(_MINUSES) == "-" else "a character here"
        return f"did you mean {plain.strip()}? ({what} is {name})"
    return f"numbers are plain ASCII; this holds {name}"
