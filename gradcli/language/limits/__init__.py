"""What a running program may use: sizes of what it builds, and steps."""
