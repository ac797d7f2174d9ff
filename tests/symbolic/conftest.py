"""Shared by the tests of closed forms: the folder of helpers on the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
