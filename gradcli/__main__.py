"""``python -m gradcli``: the command line."""

from gradcli.cli.main import main

if __name__ == "__main__":
    main()
