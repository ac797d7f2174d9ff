"""What holds for all tests: the same examples on every run, the default dtype, the long tests."""

import gc

import pytest
from hypothesis import settings

from gradcli.engine import dtypes

# Derandomized, so that a failure repeats; without a deadline, because machines are shared; and a
# failing example prints the blob that reproduces it.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long tests out unless ``-m long`` asks for them."""
    if "long" not in config.getoption("markexpr"):
        long = [item for item in items if item.get_closest_marker("long")]
        if long:
            config.hook.pytest_deselected(items=long)
            items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.fixture(autouse=True)
def default_dtype():
    """A test that sets the default dtype, as every command does, leaves it to no other."""
    before = dtypes.get_default_dtype()
    yield
    dtypes.set_default_dtype(before)


def pytest_collection_finish() -> None:
    """What is there for the whole run is not looked through at every collection of garbage, and
    collections are few: they would take a tenth of the time. A test of them asks for one itself.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)
