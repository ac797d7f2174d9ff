"""What holds for all tests: property tests draw the same examples on every run."""

from hypothesis import settings

# Derandomized, so that a failure repeats; without a deadline, because machines are shared; and a
# failing example prints the blob that reproduces it.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")
