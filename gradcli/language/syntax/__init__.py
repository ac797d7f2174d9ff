"""Text to tokens to a tree, and back: lexer, grammar and its tables, parser, printer, formatter.

Nothing here imports another part of the language: a text that is not in the language raises a
``SyntaxFailure``, which ``diagnostics`` explains.
"""
