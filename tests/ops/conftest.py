"""Puts this folder on the path: the tests and the recording script share ``rows`` and ``table``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
