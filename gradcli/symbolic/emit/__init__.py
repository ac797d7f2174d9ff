"""From index notation back to the language."""
