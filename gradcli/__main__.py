"""``gradcli`` and ``python -m gradcli``: the command line."""

import os


def program() -> None:
    """Run the command line and end the process; Ctrl-C while it is loaded ends it with 130."""
    import _signal  # built in: `signal` itself takes a while to load

    # Python drops an exception that is raised in the callbacks of an import's locks.
    _signal.signal(_signal.SIGINT, lambda *_: os._exit(130))
    from gradcli.cli.main import program as run

    run()


if __name__ == "__main__":
    program()
