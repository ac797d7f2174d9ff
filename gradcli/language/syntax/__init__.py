"""Text to tokens to a tree and back: lexer, grammar and its tables, parser, printer."""
