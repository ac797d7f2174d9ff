"""The REPL: a session's state and the statements that change it, apart from any terminal.

rollback     what a session holds, copied so that a statement can be taken back
session      statements as transactions: variables, the last values, undo, the lines that worked
splitting    when a text is complete, prompts in pasted text, a text's statements one by one
settings     what ``:set`` changes, and the configuration file
commands     ``:grad``, ``:vars``, ``:save`` and the others
evaluation   the commands that work on an expression, as the command line has them
describing   ``?name``: signature, rule and example
messages     errors in the words of the REPL
interrupts   Ctrl-C while something is computed
shell        inputs taken and what they show, lines of a pipe read
terminal     the line editor; it alone loads prompt_toolkit
completion   what can stand at a place of a line
highlighting colours from the lexer's tokens
"""
