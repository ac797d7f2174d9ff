"""Values of flags and files."""
