"""Running a compiled program: its scope, settings, printed text."""
