"""What holds for all tests: the same examples on every run, and the default dtype as it was."""

import pytest
from hypothesis import settings

from gradcli.engine import dtypes

# Derandomized, so that a failure repeats; without a deadline, because machines are shared; and a
# failing example prints the blob that reproduces it.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def default_dtype():
    """A test that sets the default dtype, as every command does, leaves it to no other."""
    before = dtypes.get_default_dtype()
    yield
    dtypes.set_default_dtype(before)
