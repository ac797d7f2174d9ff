"""The language: text to a tree, the tree to Python code, and the code run within limits.

From the bottom up; an import contract keeps this order.

    syntax       text to tokens to a tree, and back: lexer, grammar, parser, printer, formatter
    type_names   what messages call the type of a value
    limits       sizes that a running program may build, and its budget of steps
    names        the functions, constants and attributes that a program can reach
    diagnostics  errors as a user reads them: messages, help, marks in the source
    compile      names resolved, then the tree lowered to Python code
    values       what flags carry: ``--x 0,1,2,3``, ``--x @points.csv``
    runtime      running compiled code: its scope, printed text, traces
"""
