"""``gradcli completion``: a script that teaches a shell the commands and options."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.main import get_command

from gradcli.cli import output
from gradcli.cli.arguments import no_choice
from gradcli.cli.catalogue import COMMANDS, module_of
from gradcli.cli.examples import listed
from gradcli.cli.topics import TOPICS

SHELLS = ("bash", "zsh", "fish")
ALONE = {"--version": "Show the version", "--help": "Show the commands"}
"""Options without a command."""


def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """To use it: source <(gradcli completion bash), or gradcli completion fish | source

    Example: gradcli completion bash
    """
    if shell not in SHELLS:
        raise no_choice("completion", shell, SHELLS)
    options = {name: _options(name) for name in COMMANDS}
    words = {
        "help": [*TOPICS, *COMMANDS], "example": [n.removesuffix(".grad") for n in listed()],
        "completion": list(SHELLS),
    }  # fmt: skip
    output.write({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](options, words))


def _options(command: str) -> dict[str, str]:
    """The options of a command with what they say."""
    module = importlib.import_module(f"gradcli.cli.commands.{module_of(command)}")
    app = typer.Typer(add_completion=False)
    app.command(command)(module.__dict__[command])
    parameters: Any = get_command(app).params
    found = {}
    for parameter in parameters:
        for spelled in (*parameter.opts, *parameter.secondary_opts):
            if spelled.startswith("--"):
                help = getattr(parameter, "help", None) or ""
                found[spelled] = help.partition(". ")[0].removesuffix(".")
    return {**found, "--help": "Show the options"}


def _bash(options: dict[str, dict[str, str]], words: dict[str, list[str]]) -> str:
    cases = "\n".join(
        f'        {name}) words="{" ".join([*words.get(name, []), *options.get(name, {})])}" ;;'
        for name in [*COMMANDS, "help"]
    )
    first = " ".join([*COMMANDS, "help", *ALONE])
    return f"""\
# gradcli for bash: source <(gradcli completion bash)
_gradcli() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{first}" -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    case "$current" in
        @*) compopt -o nospace 2>/dev/null
            COMPREPLY=($(compgen -f -P @ -- "${{current#@}}")) ;;
        -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
        *) COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current")) ;;
    esac
}}
complete -F _gradcli gradcli
"""


def _zsh(options: dict[str, dict[str, str]], words: dict[str, list[str]]) -> str:
    def said(pairs: dict[str, str]) -> str:
        return " ".join(f"'{name}:{_plain(text)}'" for name, text in pairs.items())

    both = {
        name: dict.fromkeys(words.get(name, []), "") | options.get(name, {})
        for name in [*COMMANDS, "help"]
    }
    cases = "\n".join(f"        {name}) given=({said(pairs)}) ;;" for name, pairs in both.items())
    return f"""\
#compdef gradcli
# gradcli for zsh: source <(gradcli completion zsh)
_gradcli() {{
    local -a given
    if (( CURRENT == 2 )); then
        given=({said({**COMMANDS, "help": "a command or a topic", **ALONE})})
        _describe 'command' given
        return
    fi
    case "$words[2]" in
{cases}
    esac
    if [[ "$PREFIX" == @* ]]; then
        compset -P '@'
        _files
    elif [[ "$PREFIX" == -* ]]; then
        _describe 'option' given
    else
        _describe 'argument' given
        _files
    fi
}}
compdef _gradcli gradcli
"""


def _plain(text: str) -> str:
    return text.replace("'", "").replace(":", " -").replace("\\n", " ")


_FISH_FILES = """\
# gradcli for fish: gradcli completion fish | source
function __gradcli_files
    set -l name (string sub -s 2 -- (commandline -ct))
    printf '@%s\\n' (__fish_complete_path $name | string replace -r '\\t.*' '')
end
complete -c gradcli -n 'string match -q -- "@*" (commandline -ct)' -f -a '(__gradcli_files)'"""


def _fish(options: dict[str, dict[str, str]], words: dict[str, list[str]]) -> str:
    lines = [_FISH_FILES]
    for option, said in ALONE.items():
        lines.append(f"complete -c gradcli -n __fish_use_subcommand -f -l {option[2:]} -d '{said}'")
    for name, said in {**COMMANDS, "help": "a command or a topic"}.items():
        lines.append(
            f"complete -c gradcli -n __fish_use_subcommand -f -a {name} -d '{_plain(said)}'"
        )
    for name in [*COMMANDS, "help"]:
        seen = f"complete -c gradcli -n '__fish_seen_subcommand_from {name}'"
        lines.extend(f"{seen} -f -a {word}" for word in words.get(name, []))
        for option, said in options.get(name, {}).items():
            lines.append(f"{seen} -l {option[2:]} -d '{_plain(said)}'")
    return "\n".join(lines) + "\n"
