"""Benchmarks: ``python -m tests.benchmarks``. Ratios against a named peer in the same run."""
