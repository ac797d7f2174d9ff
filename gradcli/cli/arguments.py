"""Options or variables: the arguments are sorted before Typer sees them.

``--name`` is an option where the command declares it. Any other ``--name VALUE`` or
``--name=VALUE`` gives a variable of the expression, takes exactly one value (a negative number
too), and must be one that the expression reads; the command checks that once it has parsed the
text. Left to itself an option parser would read ``--jsn 3`` as a variable, and eat ``-j`` out
of an expression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import cleandoc, signature
from typing import Any

import typer
from typer.main import get_command

from gradcli.language.diagnostics.render import closest
from gradcli.ops.errors import ValueFault

noted: list[str] = []
"""The warnings that the command at hand gave on standard error, which JSON has as well."""


class Variables:
    """The variables given on the command line, and the option names to compare a typo with."""

    __slots__ = ("alone", "given", "options")
    prefix = "gradcli "  # of a command's name, as it is written here

    def __init__(self) -> None:
        self.alone = ""  # the command, where it takes no variables
        self.given: list[tuple[str, str]] = []
        self.options: Sequence[str] = ()

    def refused(self, name: str) -> ValueFault:
        """The error (E0902) for ``--name`` of a command without variables."""
        near = _nearest(name, self, ())
        said = f"{self.alone} has no option --{name}, and takes no variables"
        mend = f"did you mean {near}?" if near else f"{self.alone} --help"
        return ValueFault("E0902", said, help=mend)

    def job(self, asked: Mapping[str, Any]) -> Any:
        """The work on one expression with these variables, where it is not a plain Job."""
        return None


def invoke(
    name: str, function: Callable[..., Any], args: list[str], said: str,
    variables: Variables | None = None,
) -> int:  # fmt: skip
    """Run one command's function on ``args``; gives its exit code.

    ``variables`` takes what the arguments give, and may know of more.
    """
    noted.clear()
    variables = variables or Variables()
    shown = f"{variables.prefix}{name}"
    example = cleandoc(function.__doc__ or "").replace(f"gradcli {name}", shown)
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(
        name,
        help=f"{said[0].upper()}{said[1:]}.\n\n{example}",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )(function)
    command = get_command(app)
    flags, takers = _declared(command)
    variables.options = [*flags, *takers]
    variables.alone = "" if "ctx" in signature(function).parameters else shown
    sorted_args = split(args, flags, takers, variables)
    usage: Any = typer.BadParameter.__base__
    try:
        result = command.main(sorted_args, prog_name=shown, standalone_mode=False, obj=variables)
    except (EOFError, typer.Abort):
        # Click's word for Ctrl-C.
        raise KeyboardInterrupt from None
    except SystemExit:
        # Click's word for a pipe that nobody reads.
        raise BrokenPipeError from None
    except usage as problem:
        raise ValueFault(
            "E0907", problem.format_message().rstrip("."), help=f"gradcli {name} --help"
        ) from None
    return result if isinstance(result, int) else 0


def _declared(command: Any) -> tuple[set[str], dict[str, str]]:
    """The option names that stand alone, and those that take a value with the option that each is
    a name of: none where that may be given several times."""
    flags = {"--help", "-h"}
    takers: dict[str, str] = {}
    for param in command.params:
        for spelled in (*param.opts, *param.secondary_opts):
            if spelled.startswith("-") and getattr(param, "is_flag", False):
                flags.add(spelled)
            elif spelled.startswith("-"):
                takers[spelled] = "" if param.multiple else param.name
    return flags, takers


def split(
    args: Sequence[str], flags: set[str], takers: Mapping[str, str], variables: Variables
) -> list[str]:
    """``args`` for Typer: options first, then ``--`` and the words; variables go aside.

    Raises ValueFault: E0902 (neither option nor possible variable), E0908 (a value is missing),
    E0909 (a variable given twice, or an option that takes one value).
    """
    options: list[str] = []
    once: set[str] = set()
    words: list[str] = []
    rest = iter(args)
    for arg in rest:
        long = arg.startswith("--")
        name, equals, value = arg.partition("=") if long else (arg, "", "")
        if arg == "--":
            words.extend(rest)
        elif name in flags:
            options.append(arg)
        elif name in takers or long:
            if name not in takers and not _is_name(name[2:]):
                raise unknown(name[2:], variables)
            if not equals:
                found = next(rest, None)
                if found is None:
                    raise _no_value(name, name in takers, variables)
                value = found
            if name not in takers:
                _give(name[2:], value, variables)
                continue
            if takers[name] in once:
                raise ValueFault("E0909", f"{name} is given twice", help="give each option once")
            once.update(filter(None, [takers[name]]))
            options += [name, value]
        elif words and len(arg) == 2 and arg[0] == "-" and _is_name(arg[1]):
            raise ValueFault(
                "E0902", f"{arg} is no option", help=f"a variable takes two dashes: -{arg} VALUE"
            )
        else:
            words.append(arg)
    return [*options, "--", *words] if words else options


def _is_name(word: str) -> bool:
    """Whether the language could have a variable of this name."""
    return word.isascii() and word.isidentifier() and (word == "_" or word[0] != "_")


def _give(name: str, value: str, variables: Variables) -> None:
    if variables.alone:
        raise variables.refused(name)
    if any(name == other for other, _ in variables.given):
        raise ValueFault("E0909", f"--{name} is given twice", help="give each variable once")
    variables.given.append((name, value))


def assigned(option: str, items: Sequence[str] | None) -> dict[str, str]:
    """What ``NAME=VALUE`` of an option that may be repeated gives each name.

    Raises ValueFault: E0907 (no such pair), E0909 (a name given twice).
    """
    found: dict[str, str] = {}
    for item in items or ():
        name, equals, value = item.partition("=")
        name = name.strip()
        if not equals or not name:
            raise ValueFault("E0907", f"{option} {item}: write {option} NAME=VALUE")
        if name in found:
            raise ValueFault("E0909", f"{option} {name} is given twice", help="give each name once")
        found[name] = value
    return found


def _no_value(name: str, is_option: bool, variables: Variables) -> ValueFault:
    if is_option:
        return ValueFault("E0908", f"{name} needs a value", help=f"write {name} VALUE")
    if variables.alone:
        return variables.refused(name[2:])
    near = _nearest(name[2:], variables, ())
    mend = f"did you mean {near}?" if near else f"write {name} VALUE for the variable {name[2:]}"
    return ValueFault(
        "E0908", f"{name} is no option, and as a variable it needs a value", help=mend
    )


def unknown(name: str, variables: Variables, free: Sequence[str] | None = None) -> ValueFault:
    """The error for ``--name`` that is neither an option nor a variable of the expression.

    ``free`` are its variables; None where ``name`` can be none in any expression.
    """
    near = _nearest(name, variables, free or ())
    have = f"the expression's variables: {', '.join(free)}" if free else "it has no variables"
    if free is None:
        have = "a variable has letters, digits and _ in its name; --help lists the options"
    said = f"--{name} is neither an option nor a variable of this expression"
    return ValueFault("E0902", said, help=f"did you mean {near}?" if near else have)


def no_choice(option: str, given: str, allowed: Sequence[str]) -> ValueFault:
    """The error (E0907) for a value that is none of an option's."""
    near = closest(given, allowed)
    words = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
    mend = f"did you mean {near}? ({words})" if near else f"one of {words}"
    return ValueFault("E0907", f"{option} {given}: no such choice", help=mend)


def _nearest(name: str, variables: Variables, free: Sequence[str]) -> str | None:
    near = closest(name, [o[2:] for o in variables.options if o.startswith("--")] + list(free))
    return None if near is None else f"--{near}"
