"""A text as a flat list of steps: assignments followed, calls resolved to operators."""
