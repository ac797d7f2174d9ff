"""The entry point: finds the command, runs it, and maps errors to exit codes.

Imports inside functions keep NumPy and Typer out of ``--help`` and load the module of one command
only: start-up is most of what a one-line gradient costs.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings

from gradcli import silence_numpy
from gradcli.cli import streams
from gradcli.cli.catalogue import COMMANDS, module_of

TYPE_CHECKING = False  # the module typing would take a tenth of the time until main() runs
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gradcli.ops.errors import Fault


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 good, 1 mathematics, 2 words, 3 a limit, 130 Ctrl-C."""
    # Imports make many objects and no garbage: the collector rests until a command's work begins.
    gc.disable()
    # OpenBLAS's threads start with NumPy and wait for work at full speed before they sleep: by
    # default 2**26 cycles, longer than a small command runs, which doubles its CPU time. After
    # 2**16 the products of large matrices were as fast.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")
    try:
        import signal  # with enum, half of what is imported until here: inside the try

        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _ignored
        streams.secure()
        code = run(list(sys.argv[1:] if argv is None else argv))
        problem = streams.flush()
        if problem is not None:
            code = _complain(streams.unwritable(problem), False)
            streams.flush()
    except KeyboardInterrupt:  # also while the first modules are imported
        code = 130
    sys.exit(code)


def program() -> None:
    """Run the command of the command line, and end the process.

    Without taking apart all that was imported, which costs more than a small gradient, and the
    system takes the memory back anyway. The usual exit stays where anything waits for it: exit
    handlers, threads, a debugger, a profiler.
    """
    try:
        main()
    except SystemExit as end:
        if sys.gettrace() or sys.getprofile() or sys.flags.interactive or _waiting():
            gc.freeze()  # Python collects once more at its end
            raise
        os._exit(int(end.code or 0))


def _waiting() -> bool:
    threading = sys.modules.get("threading")
    handlers: Callable[[], int] = getattr(atexit, "_ncallbacks", lambda: 1)
    return handlers() > 0 or (threading is not None and threading.active_count() > 1)


_interrupts: list[int] = []
"""A signal for each Ctrl-C so far."""


def _interrupt(number: int, _frame: object) -> None:
    _interrupts.append(number)
    raise KeyboardInterrupt


def _ignored(exception: sys.UnraisableHookArgs) -> None:
    """End at once where Python would drop a Ctrl-C: it came in a callback, as imports have some."""
    if exception.exc_type is KeyboardInterrupt:
        os._exit(130)
    sys.__unraisablehook__(exception)


def run(argv: list[str]) -> int:
    """Run one command and give its exit code."""
    return _guarded(lambda: _dispatch(argv), "--json" in argv[1:])


def _dispatch(argv: list[str]) -> int:
    if argv in ([], ["repl"]):
        from gradcli.cli.repl.start import configured, on_terminal, start

        if on_terminal():  # Typer would take as long as NumPy
            _own_warnings()
            return start(*configured())
    if not argv or argv[0] in ("--help", "-h", "help"):
        if len(argv) > 1 and argv[0] == "help":
            return _help(argv[1])
        print(overview())
        return 0 if argv else 2
    if argv[0] == "--version":
        from gradcli import __version__

        print(f"gradcli {__version__}")
        return 0
    name, rest = argv[0], argv[1:]
    if name not in COMMANDS:
        raise _unknown(name)
    return _command(name, rest)


def _help(name: str) -> int:
    """``gradcli help NAME``: a topic, or a command's options."""
    from gradcli.cli.topics import TOPICS

    if name in TOPICS:
        sys.stdout.write(TOPICS[name])
        return 0
    if name not in COMMANDS:
        raise _unknown(name, [*COMMANDS, *TOPICS], "help")
    return _dispatch([name, "--help"])


def overview() -> str:
    """The text of ``gradcli --help``."""
    width = max(map(len, COMMANDS))
    lines = [
        "Usage: gradcli COMMAND EXPRESSION [--NAME VALUE ...] [OPTIONS]",
        "",
        "Differentiate by number and by formula.",
        "",
        *(f"  {name:<{width}}  {said}" for name, said in COMMANDS.items()),
        "",
        '  gradcli grad "2*dot(x,x)" --x 0,1,2,3',
        '  gradcli diff "x.T @ A @ x" --x vector --A matrix',
        "",
        "gradcli COMMAND --help shows a command's options; gradcli help TOPIC says more of",
        "language, values, limits, pytorch, formulas.",
    ]
    return "\n".join(lines)


def _unknown(name: str, known: Iterable[str] = COMMANDS, before: str = "") -> Fault:
    """The error of a command that there is not, or of a topic of the command ``before``."""
    from gradcli.language.diagnostics.render import closest
    from gradcli.ops.errors import ValueFault

    near = closest(name, known)
    full = f"{before} {near}".strip()
    mend = f"did you mean `gradcli {full}`?" if near else "all commands: gradcli --help"
    if not near and not before and any(c in name for c in "+-*/^( "):
        mend = f'did you mean gradcli eval "{name}"?'
    kind = "topic" if before else "command"
    return ValueFault("E0906", f"no {kind} `{name}`", help=mend)


def _own_warnings() -> None:
    warnings.showwarning = _warned
    # Commands name the step that gives NaN themselves, and where it stands.
    warnings.filterwarnings("ignore", message=r"\w+\(\): degrees of freedom")
    silence_numpy()


def _warned(message: Warning | str, *_place: object, **_more: object) -> None:
    """A warning of the engine on stderr, without the place in gradcli's own files.

    Once: what runs the same program at several points would say the same of each.
    """
    from gradcli.cli.arguments import noted  # where a command runs these are loaded
    from gradcli.cli.output import warn

    if str(message) not in noted:
        noted.append(str(message))
        warn(message)


def _command(name: str, rest: list[str]) -> int:
    import importlib

    from gradcli.cli.arguments import invoke

    _own_warnings()
    module = importlib.import_module(f"gradcli.cli.commands.{module_of(name)}")
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    return invoke(name, module.__dict__[name], rest, COMMANDS[name])


def _guarded(work: Callable[[], int], as_json: bool) -> int:
    try:
        return work()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        streams.discard(1)  # what the reader of a pipe did not want is no error
        return 0
    except Exception as problem:
        _unwatched()  # else a limit that was passed is told twice
        return _failed(problem, as_json)
    finally:
        # A timer that outlived Python's handlers would end the process with its signal.
        _unwatched()


def _unwatched() -> None:
    """The computation is over."""
    watchdog = sys.modules.get("gradcli.cli.watchdog")
    if watchdog is not None:
        watchdog.stop()


def _failed(problem: Exception, as_json: bool) -> int:
    """Say what ended a command; gives the exit code that it means."""
    from gradcli.ops.errors import Fault, LimitFault, RuntimeFault

    if isinstance(problem, Fault):
        return _complain(problem, as_json)
    if os.environ.get("GRADCLI_DEBUG"):
        raise problem
    if isinstance(problem, OSError):
        streams.discard(1)
        return _complain(streams.unwritable(problem), as_json)
    said = f"{type(problem).__name__}: {problem}"
    if isinstance(problem, RecursionError | MemoryError):
        deep = LimitFault("E0604", f"the input is too deep or too large ({said})")
        return _complain(deep, as_json)
    if _interrupts:  # an import that Ctrl-C broke off fails in its own way
        return 130
    help = "this is a fault of gradcli: GRADCLI_DEBUG=1 shows where"
    return _complain(RuntimeFault("E0999", f"gradcli stumbled: {said}", help=help), as_json)


def _complain(fault: Fault, as_json: bool) -> int:
    """Show a fault; gives the exit code that it means."""
    from gradcli.cli.output import complain

    try:
        return complain(fault, as_json)
    except BrokenPipeError:
        streams.discard(1)
        return 0
    except OSError as problem:
        streams.discard(1)
        return complain(streams.unwritable(problem), False)


if __name__ == "__main__":
    main()
