"""The command line: a module for each command, and what they share.

    main         entry: finds the command, maps errors to exit codes
    arguments    sorts the arguments into options and variables before Typer parses them
    options      the options that several commands share
    inputs       texts, values and data files as programs and leaves
    job          one command's program, variables and results
    output       results and errors as text, JSON, CSV and NPY
    diff_output  the formulas of ``gradcli diff``
    streams      standard streams that are closed, full or broken pipes
    watchdog     limits on wall-clock time and memory

Only this package imports Typer and Rich, prints, reads the arguments and exits.
"""
