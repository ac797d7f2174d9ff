"""Values of flags: numbers, arrays and ranges as text, and data files."""
