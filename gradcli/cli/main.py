"""The entry point: which command, its arguments, and what a fault means as an exit code.

A command's module is imported when the command is asked for, and nothing else is: start-up is most
of what a one-line gradient costs.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Callable, Sequence

# Imports make many objects and no garbage: the collector rests until a command's work begins.
gc.disable()
# OpenBLAS's threads start with NumPy and wait for work at full speed before they sleep: by default
# 2**26 cycles, longer than a small command runs, which doubles its CPU time. After 2**16 the
# products of large matrices were as fast.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")

COMMANDS = {
    "eval": "the value of an expression",
    "grad": "the value and its gradient by every variable",
    "jac": "the Jacobian: all partial derivatives of a vector or matrix result",
    "hess": "the Hessian: all second derivatives of a scalar result",
    "jvp": "the derivative in a direction (forward mode)",
    "vjp": "a cotangent pulled back to the variables (reverse mode)",
    "hvp": "the Hessian times a vector, without forming it",
    "diff": "the closed form of a derivative, checked",
    "check": "the gradient against central differences, entry by entry",
    "doctor": "where the first NaN or infinity comes from, forward and backward",
    "explain": "the chain rule step by step, forward and backward",
    "graph": "the recorded graph as text, Graphviz, JSON or for TensorBoard",
    "plot": "a value and its derivative over a range of one variable",
    "minimize": "where a scalar is smallest, from a given start",
    "run": "run a program; its prints are its output",
    "fmt": "a program in canonical form, comments kept",
    "batch": "one gradient per row of a JSONL or CSV file",
    "repl": "the same, live",
    "ops": "the operators, or one operator with its rule",
    "why": "what an error code means, with an example",
}
_MODULES = {"hess": "jac", "vjp": "jvp", "hvp": "jvp"}
"""Commands that share a file with a sibling."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 good, 1 mathematics, 2 words, 3 a limit, 130 Ctrl-C."""
    code = run(list(sys.argv[1:] if argv is None else argv))
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (BrokenPipeError, ValueError):
        # The reader of a pipe went away; what it did not want is not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    # Python collects once more at its end; going through all that was imported costs as much as
    # a small gradient, and the system takes the memory back anyway.
    gc.freeze()
    sys.exit(code)


def run(argv: list[str]) -> int:
    """Run one command and give its exit code."""
    if not argv or argv[0] in ("--help", "-h", "help"):
        if len(argv) > 1 and argv[0] == "help":
            return run([argv[1], "--help"])
        print(overview())
        return 0 if argv else 2
    if argv[0] == "--version":
        from gradcli import __version__

        print(f"gradcli {__version__}")
        return 0
    name, rest = argv[0], argv[1:]
    if name not in COMMANDS:
        return _unknown_command(name)
    return _guarded(lambda: _command(name, rest), "--json" in rest, name)


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
        "gradcli COMMAND --help shows a command's options.",
    ]
    return "\n".join(lines)


def _unknown_command(name: str) -> int:
    from gradcli.cli.output import complain
    from gradcli.language.diagnostics.render import closest
    from gradcli.ops.errors import ValueFault

    near = closest(name, COMMANDS)
    mend = f"did you mean `gradcli {near}`?" if near else "all commands: gradcli --help"
    if not near and any(c in name for c in "+-*/^( "):
        mend = f'did you mean gradcli eval "{name}"?'
    return complain(ValueFault("E0906", f"no command `{name}`", help=mend), False, name)


def _warned(message: Warning | str, *_place: object, **_more: object) -> None:
    """A warning of the engine on stderr, without the place in gradcli's own files."""
    sys.stderr.write(f"warning: {message}\n")


def _command(name: str, rest: list[str]) -> int:
    import importlib

    from gradcli.cli.arguments import invoke

    warnings.showwarning = _warned
    module = importlib.import_module(f"gradcli.cli.commands.{_MODULES.get(name, name)}")
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    return invoke(name, module.__dict__[name], rest, COMMANDS[name])


def _guarded(work: Callable[[], int], as_json: bool, name: str) -> int:
    from gradcli.ops.errors import Fault

    try:
        return work()
    except Fault as fault:
        from gradcli.cli.output import complain

        return complain(fault, as_json, name)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except (RecursionError, MemoryError) as problem:
        return _complain_of(problem, "E0604", as_json, name)
    except Exception as problem:
        if os.environ.get("GRADCLI_DEBUG"):
            raise
        return _complain_of(problem, "E0999", as_json, name)
    finally:
        # A timer that outlived Python's handlers would end the process with its signal.
        watchdog = sys.modules.get("gradcli.cli.watchdog")
        if watchdog is not None:
            watchdog.stop()


def _complain_of(problem: BaseException, code: str, as_json: bool, name: str) -> int:
    from gradcli.cli.output import complain
    from gradcli.ops.errors import LimitFault, RuntimeFault

    said = f"{type(problem).__name__}: {problem}"
    if code == "E0604":
        return complain(
            LimitFault(code, f"the input is too deep or too large ({said})"), as_json, name
        )
    mend = "this is a fault of gradcli: GRADCLI_DEBUG=1 shows where"
    return complain(RuntimeFault(code, f"gradcli stumbled: {said}", help=mend), as_json, name)


if __name__ == "__main__":
    main()
