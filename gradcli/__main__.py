"""``gradcli`` and ``python -m gradcli``: the command line."""


def program() -> None:
    """Run the command line and end the process; Ctrl-C while it is loaded ends it with 130."""
    try:
        from gradcli.cli.main import program as run
    except KeyboardInterrupt:  # in the first hundredths of a second
        raise SystemExit(130) from None
    run()


if __name__ == "__main__":
    program()
