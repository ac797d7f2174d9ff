"""``python -m gradcli``: the command line."""

if __name__ == "__main__":
    try:
        from gradcli.cli.main import program
    except KeyboardInterrupt:  # Ctrl-C in the first hundredths of a second
        raise SystemExit(130) from None
    program()
