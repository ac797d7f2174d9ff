"""``python -m gradcli``: the command line."""

from gradcli.cli.main import main

main()
