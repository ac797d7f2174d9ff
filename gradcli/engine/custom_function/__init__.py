"""Custom functions: ``Function``, its ``ctx`` and its node in the graph."""
