"""The command line: one file per command, and what they share.

    main        entry: finds the command, splits the arguments, turns faults into exit codes
    arguments   options or variables: the arguments sorted before Typer sees them
    options     the options that several commands share
    inputs      texts, values and data files turned into programs and leaves
    output      results and diagnostics as text, JSON, CSV and NPY
    watchdog    the wall-clock limit

Only this package imports Typer and Rich, prints, reads the arguments and exits.
"""
