"""The command line: a module for each command, and what they share.

    main         entry: finds the command, maps errors to exit codes
    catalogue    the commands and what each is for
    arguments    sorts the arguments into options and variables before Typer parses them
    options      the options that several commands share
    inputs       texts, values and data files as programs and leaves
    job          one command's program, variables and results
    runner       whether an expression runs on the engine or as generated code
    output       results and errors as text, JSON, CSV and NPY
    against      ``gradcli check --against``: a gradient that was worked out by hand
    topics, examples   what ``help`` and ``example`` show
    streams      standard streams that are closed, full or broken pipes
    watchdog     limits on wall-clock time and memory
    repl/        the session behind ``gradcli repl``

Only this package imports Typer and Rich, prints, reads the arguments and exits.
"""
