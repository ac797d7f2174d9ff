"""The recorded graph: nodes, what they are called, what they saved, views."""
