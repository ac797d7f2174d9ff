"""A tree to a code object: names resolved, then lowered to ``ast`` nodes."""
